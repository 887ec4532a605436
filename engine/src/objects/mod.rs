//! Objects: property keys, descriptors, and the essential internal methods (ECMA-262 10.1) with dispatch
//! to the exotic kinds.
//!
//! Named properties lie in slots that the shape describes; index properties lie in elements. An array's
//! `length`, the indices of strings and typed arrays, and mapped arguments are not stored as properties.

pub mod arguments;
pub mod array;
pub mod elements;
pub mod function;
pub mod map_table;
pub mod property;

use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind, SHAPE, SLOTS};
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm};
use crate::shapes::{ACCESSOR, CONFIGURABLE, ENUMERABLE, WRITABLE, layout_of};
use crate::value::Value;

/// Header flag of symbols that are private names: invisible to reflection and proxies.
pub const PRIVATE_SYMBOL: u8 = 2;
/// Header flag of symbols from `Symbol.for`.
pub const REGISTERED_SYMBOL: u8 = 4;
/// Inline slots of an object literal's object.
pub const OBJECT_INLINE_SLOTS: u32 = 4;

/// A property key: an array index (below 2^32 - 1), or an interned string or symbol that is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    Index(u32),
    Name(Ref),
}

/// An own property as found: `value` is the data value, or the `Accessor` cell.
#[derive(Clone, Copy, Debug)]
pub struct OwnProperty {
    pub value: Value,
    pub attributes: u8,
}

impl OwnProperty {
    pub fn is_accessor(self) -> bool {
        self.attributes & ACCESSOR != 0
    }
    pub fn enumerable(self) -> bool {
        self.attributes & ENUMERABLE != 0
    }
    pub fn configurable(self) -> bool {
        self.attributes & CONFIGURABLE != 0
    }
    pub fn writable(self) -> bool {
        self.attributes & WRITABLE != 0
    }
}

/// A property descriptor (ECMA-262 6.2.6): absent fields are `None`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Descriptor {
    pub value: Option<Value>,
    /// Undefined or a callable.
    pub get: Option<Value>,
    pub set: Option<Value>,
    pub writable: Option<bool>,
    pub enumerable: Option<bool>,
    pub configurable: Option<bool>,
}

impl Descriptor {
    /// A full data descriptor with these attribute bits.
    pub fn data(value: Value, attributes: u8) -> Descriptor {
        Descriptor {
            value: Some(value),
            writable: Some(attributes & WRITABLE != 0),
            enumerable: Some(attributes & ENUMERABLE != 0),
            configurable: Some(attributes & CONFIGURABLE != 0),
            ..Default::default()
        }
    }

    pub fn is_accessor(&self) -> bool {
        self.get.is_some() || self.set.is_some()
    }

    pub fn is_data(&self) -> bool {
        self.value.is_some() || self.writable.is_some()
    }
}

impl Realm {
    // --- making objects

    /// A cell of an object kind with `inline` slots (undefined) and the fixed part behind offset 16 zeroed.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_object_cell(&mut self, kind: Kind, shape: Ref) -> Completion<Ref> {
        let cage = self.cage;
        let layout = cage.u32(shape, 36);
        let (fixed, inline) = (layout >> 16, layout & 0xFFFF);
        let cell = self.allocate(kind, fixed + 8 * inline)?;
        cage.init(cell.0 + 2, inline as u8);
        cage.init(cell.0 + SHAPE, shape.0);
        cage.init(cell.0 + SLOTS, 0u64);
        let mut at = 16;
        while at < fixed {
            cage.init(cell.0 + at, 0u64);
            at += 8;
        }
        for i in 0..inline {
            cage.init(cell.0 + fixed + 8 * i, Value::UNDEFINED.0);
        }
        Ok(cell)
    }

    /// OrdinaryObjectCreate(prototype) for objects of `kind` without inline slots of their own.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_object_of(&mut self, kind: Kind, prototype: Ref) -> Completion<Ref> {
        let shape = self.root_shape(prototype, layout_of(kind.info().fixed_bytes, 0))?;
        self.new_object_cell(kind, shape)
    }

    /// A new ordinary object with %Object.prototype%.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_object(&mut self) -> Completion<Ref> {
        let shape = self.intrinsic(Intrinsic::ObjectShape);
        self.new_object_cell(Kind::Object, shape)
    }

    /// OrdinaryObjectCreate with any prototype (0: null).
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_object_with_prototype(&mut self, prototype: Ref) -> Completion<Ref> {
        let shape = self.root_shape(prototype, layout_of(16, OBJECT_INLINE_SLOTS))?;
        self.new_object_cell(Kind::Object, shape)
    }

    /// A result object `{ value, done }` of the iteration protocol.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_iterator_result(&mut self, value: Value, done: bool) -> Completion<Value> {
        let shape = self.intrinsic(Intrinsic::IteratorResultShape);
        let cell = self.new_object_cell(Kind::Object, shape)?;
        self.write_slot(cell, shape, 0, value);
        self.write_slot(cell, shape, 1, Value::boolean(done));
        Ok(Value::object(cell))
    }

    // --- keys

    /// The key of an interned string.
    #[inline]
    pub fn key_of_interned(&self, string: Ref) -> Key {
        let index = self.cage.u32(string, 12);
        if index != u32::MAX { Key::Index(index) } else { Key::Name(string) }
    }

    /// The key of a string cell.
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub fn key_of_string(&mut self, string: Ref) -> Completion<Key> {
        let interned = self.intern(string)?;
        Ok(self.key_of_interned(interned))
    }

    /// The key for Rust text.
    ///
    /// # Errors
    /// Out of memory.
    pub fn key(&mut self, text: &str) -> Completion<Key> {
        let interned = self.intern_str(text)?;
        Ok(self.key_of_interned(interned))
    }

    /// ToPropertyKey (7.1.19).
    ///
    /// # Errors
    /// Whatever conversion throws.
    #[inline]
    pub fn to_property_key(&mut self, value: Value) -> Completion<Key> {
        if value.is_int() && value.as_int() >= 0 {
            return Ok(Key::Index(value.as_int() as u32));
        }
        if value.is_string() {
            return self.key_of_string(value.as_ref());
        }
        self.to_property_key_slow(value)
    }

    #[inline(never)]
    fn to_property_key_slow(&mut self, value: Value) -> Completion<Key> {
        if value.is_symbol() {
            return Ok(Key::Name(value.as_ref()));
        }
        if value.is_double() {
            let n = value.as_double();
            if n >= 0.0 && n < f64::from(u32::MAX) && n.fract() == 0.0 {
                return Ok(Key::Index(n as u32));
            }
        }
        let primitive = self.to_primitive(value, crate::convert::Hint::String)?;
        if primitive.is_symbol() {
            return Ok(Key::Name(primitive.as_ref()));
        }
        let string = self.to_string(primitive)?;
        self.key_of_string(string)
    }

    /// The key as a string or symbol value.
    ///
    /// # Errors
    /// Out of memory.
    pub fn key_value(&mut self, key: Key) -> Completion<Value> {
        match key {
            Key::Index(index) => {
                let string = self.index_string(index)?;
                Ok(Value::string(string))
            }
            Key::Name(name) => {
                Ok(if self.cage.is(name, Kind::Symbol) { Value::symbol(name) } else { Value::string(name) })
            }
        }
    }

    /// Decimal text of an array index.
    ///
    /// # Errors
    /// Out of memory.
    pub fn index_string(&mut self, index: u32) -> Completion<Ref> {
        let mut buffer = [0u8; 10];
        let mut at = buffer.len();
        let mut n = index;
        loop {
            at -= 1;
            buffer[at] = b'0' + (n % 10) as u8;
            n /= 10;
            if n == 0 {
                break;
            }
        }
        self.new_latin1(&buffer[at..])
    }

    /// Whether the key is a private name.
    pub fn is_private(&self, key: Key) -> bool {
        matches!(key, Key::Name(name) if self.cage.is(name, Kind::Symbol) && self.cage.flags(name) & PRIVATE_SYMBOL != 0)
    }

    /// Text of a key for error messages.
    pub fn key_text(&mut self, key: Key) -> String {
        match key {
            Key::Index(index) => index.to_string(),
            Key::Name(name) if self.cage.is(name, Kind::Symbol) => {
                let description = self.cage.r(name, 4);
                let text = description.some().map(|d| self.view_flat(d).to_text()).unwrap_or_default();
                if self.cage.flags(name) & PRIVATE_SYMBOL != 0 { text } else { format!("Symbol({text})") }
            }
            Key::Name(name) => self.view_flat(name).to_text(),
        }
    }

    // --- questions about objects

    /// Kind of the object of `value`, if it is an object.
    #[inline(always)]
    pub fn object_kind(&self, value: Value) -> Option<Kind> {
        if value.is_object() { Some(self.cage.kind(value.as_ref())) } else { None }
    }

    /// IsCallable (7.2.3).
    #[inline]
    pub fn is_callable(&self, value: Value) -> bool {
        match self.object_kind(value) {
            Some(kind) if kind.is_function() => true,
            Some(Kind::Proxy) => self.cage.flags(value.as_ref()) & crate::builtins::proxy::CALLABLE != 0,
            _ => false,
        }
    }

    /// IsArray (7.2.2).
    ///
    /// # Errors
    /// TypeError for a revoked proxy.
    pub fn is_array(&mut self, value: Value) -> Completion<bool> {
        let mut value = value;
        loop {
            match self.object_kind(value) {
                Some(Kind::Array) => return Ok(true),
                Some(Kind::Proxy) => {
                    let target = self.cage.r(value.as_ref(), 16);
                    if target.is_null() {
                        return Err(self.throw_type("Cannot perform 'IsArray' on a proxy that has been revoked"));
                    }
                    value = Value::object(target);
                }
                _ => return Ok(false),
            }
        }
    }

    /// The object's shape.
    #[inline(always)]
    pub fn shape_of(&self, object: Ref) -> Ref {
        self.cage.r(object, SHAPE)
    }

    /// Prototype of an object that is no proxy (0: null).
    #[inline(always)]
    pub fn ordinary_prototype(&self, object: Ref) -> Ref {
        self.cage.r(self.cage.r(object, SHAPE), 16)
    }

    /// The object's elements cell (0: none).
    #[inline(always)]
    pub fn elements_of(&self, object: Ref) -> Ref {
        self.cage.r(object, ELEMENTS)
    }

    /// The prototype that property lookup on a primitive starts from; `None` for undefined and null.
    pub fn primitive_prototype(&self, value: Value) -> Option<Ref> {
        Some(if value.is_string() {
            self.intrinsic(Intrinsic::StringPrototype)
        } else if value.is_number() {
            self.intrinsic(Intrinsic::NumberPrototype)
        } else if value.is_boolean() {
            self.intrinsic(Intrinsic::BooleanPrototype)
        } else if value.is_symbol() {
            self.intrinsic(Intrinsic::SymbolPrototype)
        } else if value.is_bigint() {
            self.intrinsic(Intrinsic::BigIntPrototype)
        } else {
            return None;
        })
    }

    /// A new symbol.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_symbol(&mut self, description: Ref, flags: u8) -> Completion<Ref> {
        let description = if description.is_null() { description } else { self.intern(description)? };
        let cell = self.allocate(Kind::Symbol, 16)?;
        self.cage.init(cell.0 + 1, flags);
        self.cage.init(cell.0 + 4, description.0);
        self.cage.init(cell.0 + 8, 0u64);
        Ok(cell)
    }

    /// A new accessor cell (0: undefined).
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_accessor(&mut self, getter: Ref, setter: Ref) -> Completion<Ref> {
        let cell = self.allocate(Kind::Accessor, 16)?;
        self.cage.init(cell.0 + 4, getter.0);
        self.cage.init(cell.0 + 8, setter.0);
        self.cage.init(cell.0 + 12, 0u32);
        Ok(cell)
    }

    /// Message part for "x is not ...": how values are shown in errors.
    pub fn describe(&mut self, value: Value) -> String {
        match self.object_kind(value) {
            Some(kind) if kind.is_function() => {
                let name = self.function_name_text(value.as_ref());
                if name.is_empty() { "function".into() } else { format!("function {name}") }
            }
            Some(Kind::Array) => "[object Array]".into(),
            Some(_) => "#<Object>".into(),
            None if value.is_string() => {
                let text = self.string_text(value.as_ref()).unwrap_or_default();
                let mut short: String = text.chars().take(40).collect();
                if short.len() < text.len() {
                    short.push_str("...");
                }
                format!("\"{short}\"")
            }
            None if value.is_symbol() => self.key_text(Key::Name(value.as_ref())),
            None => match self.to_string(value) {
                Ok(string) => self.string_text(string).unwrap_or_default(),
                Err(_) => "value".into(),
            },
        }
    }

    /// `name` property of a function if it is a plain string, else nothing. Runs no script.
    pub fn function_name_text(&mut self, function: Ref) -> String {
        let mut text = String::new();
        self.push_function_name(function, &mut text);
        text
    }

    /// Appends [`Realm::function_name_text`].
    pub fn push_function_name(&mut self, function: Ref, text: &mut String) {
        let key = Key::Name(self.name(Name::name));
        if let Some(found) = self.get_own_quiet(function, key)
            && found.value.is_string()
            && let Ok(name) = self.view(found.value.as_ref())
        {
            name.push_text(text);
        }
    }
}
