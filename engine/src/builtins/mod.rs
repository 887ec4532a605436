//! Built-ins: one static table of native functions, by module, and the installer.
//!
//! A native function is a number: module << 10 | index in the module's table. The tables are static, so a
//! number means the same in every process of one engine version; they are part of the layout fingerprint.

pub mod array;
pub mod array_buffer;
pub mod async_generator;
pub mod atomics;
pub mod base64;
pub mod bigint;
pub mod collections;
pub mod console;
pub mod data_view;
pub mod date;
pub mod disposable;
pub mod element_types;
pub mod error;
pub mod function;
pub mod global;
pub mod install;
pub mod iterator_helpers;
pub mod iterators;
pub mod json_parse;
pub mod json_stringify;
pub mod math;
pub mod modules;
pub mod number;
pub mod number_support;
pub mod object;
pub mod promise;
pub mod proxy;
pub mod regexp;
pub mod regexp_cache;
pub mod regexp_exec;
pub mod regexp_replace;
pub mod regexp_symbols;
pub mod string;
pub mod string_search;
pub mod string_transform;
pub mod symbol;
pub mod text;
pub mod typed_array;

use crate::cage::Ref;
use crate::objects::function::BUILTIN;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// Arguments of a native call; they lie on the register stack, so they are roots.
#[derive(Clone, Copy, Debug)]
pub struct Args {
    at: u32,
    count: u32,
    pub this: Value,
    /// The function object that was called.
    pub callee: Ref,
    /// Undefined for a call; the constructor for a construction.
    pub new_target: Value,
}

impl Args {
    pub(crate) fn new(at: u32, count: u32, this: Value, callee: Ref, new_target: Value) -> Args {
        Args { at, count, this, callee, new_target }
    }

    /// Number of arguments given.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether no argument was given.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Argument `index`, undefined where it is missing.
    #[inline(always)]
    pub fn get(&self, realm: &Realm, index: usize) -> Value {
        if index < self.count as usize { Value(realm.cage.read(self.at + 8 * index as u32)) } else { Value::UNDEFINED }
    }

    /// All arguments from `from` on, copied: use at once, a collection does not see the vector.
    pub fn rest(&self, realm: &Realm, from: usize) -> Vec<Value> {
        (from..self.len()).map(|i| self.get(realm, i)).collect()
    }

    /// Whether this is a construction.
    #[inline(always)]
    pub fn is_construct(&self) -> bool {
        !self.new_target.is_undefined()
    }
}

/// A native function.
pub type NativeFn = fn(&mut Realm, Args) -> Completion;

/// One row of a built-in table.
pub struct Builtin {
    /// The `name` property.
    pub name: &'static str,
    /// The `length` property.
    pub length: u8,
    pub constructor: bool,
    pub function: NativeFn,
}

/// Declares a module's table: `NAME("name", length) = function;`, constructors with `, constructor` behind
/// the length. Gives a constant per row (its number) and `TABLE`.
macro_rules! builtin_table {
    ($module:literal; $($id:ident($name:literal, $length:literal $(, $constructor:ident)?) = $function:path;)*) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms, dead_code)]
        enum Row { $($id,)* }
        $(#[allow(dead_code)] pub const $id: u32 = $module << 10 | (Row::$id as u32);)*
        /// The rows of this module by index.
        pub static TABLE: &[$crate::builtins::Builtin] = &[$($crate::builtins::Builtin {
            name: $name,
            length: $length,
            constructor: builtin_table!(@flag $($constructor)?),
            function: $function,
        },)*];
    };
    (@flag constructor) => { true };
    (@flag) => { false };
}
pub(crate) use builtin_table;

/// The tables by module number (the number in each `builtin_table!`).
pub static MODULES: &[&[Builtin]] = &[
    object::TABLE,           // 0
    function::TABLE,         // 1
    array::TABLE,            // 2
    error::TABLE,            // 3
    global::TABLE,           // 4
    iterators::TABLE,        // 5
    promise::TABLE,          // 6
    collections::TABLE,      // 7
    proxy::TABLE,            // 8
    typed_array::TABLE,      // 9
    regexp::TABLE,           // 10
    bigint::TABLE,           // 11
    console::TABLE,          // 12
    modules::TABLE,          // 13
    string::TABLE,           // 14
    number::TABLE,           // 15
    math::TABLE,             // 16
    symbol::TABLE,           // 17
    date::TABLE,             // 18
    json_parse::TABLE,       // 19
    array_buffer::TABLE,     // 20
    data_view::TABLE,        // 21
    async_generator::TABLE,  // 22
    iterator_helpers::TABLE, // 23
    disposable::TABLE,       // 24
    atomics::TABLE,          // 25
    base64::TABLE,           // 26
];

fn not_a_builtin(realm: &mut Realm, _: Args) -> Completion {
    Err(realm.throw_type("no such built-in function"))
}

static MISSING: Builtin = Builtin { name: "", length: 0, constructor: false, function: not_a_builtin };

/// The row of built-in `number`; a harmless one for a number that does not exist.
#[inline(always)]
pub fn lookup(number: u32) -> &'static Builtin {
    MODULES.get((number >> 10) as usize).and_then(|m| m.get((number & 1023) as usize)).unwrap_or(&MISSING)
}

impl Realm {
    /// The table row of a native function object.
    pub fn builtin_info(&self, function: Ref) -> &'static Builtin {
        lookup(self.cage.u32(function, BUILTIN))
    }
}
