//! The installer: makes the intrinsics of a realm without an image.

use super::*;
use crate::kinds::Kind;
use crate::names::{FIRST_SYMBOL, INTRINSIC_NAMES, Intrinsic, NAME_TEXTS, Name, SYMBOL_TEXTS, Sym};
use crate::objects::{Key, OBJECT_INLINE_SLOTS};
use crate::shapes::{CONFIGURABLE, DEFAULT, HIDDEN, layout_of};

impl Realm {
    /// Makes names, symbols, intrinsics and the global object.
    pub(crate) fn install_intrinsics(&mut self) -> Completion<()> {
        self.install_names()?;
        self.install_fundamentals()?;
        object::install(self)?;
        function::install(self)?;
        error::install(self)?;
        iterators::install(self)?;
        array::install(self)?;
        bigint::install(self)?;
        iterator_helpers::install(self)?;
        async_generator::install(self)?;
        disposable::install(self)?;
        collections::install(self)?;
        promise::install(self)?;
        proxy::install(self)?;
        typed_array::install(self)?;
        base64::install(self)?;
        atomics::install(self)?;
        string::install(self)?;
        number::install(self)?;
        math::install(self)?;
        symbol::install(self)?;
        date::install(self)?;
        json_parse::install(self)?;
        regexp::install(self)?;
        console::install(self)?;
        modules::install(self)?;
        global::install(self)
    }

    fn install_names(&mut self) -> Completion<()> {
        // The empty string and the single units come first: making any other string uses them.
        let empty = self.new_latin1_cell(&[])?;
        self.names.empty = empty;
        self.cage.set(empty, 8, crate::strings::intern::content_hash(crate::strings::StrView::Latin1(&[])));
        self.cage.set(empty, 1, crate::strings::INTERNED);
        let singles = self.new_values(256, Value::UNDEFINED)?;
        for unit in 0..=255u8 {
            let cell = self.new_latin1_cell(&[unit])?;
            let cell = self.intern(cell)?;
            self.cage.set(singles, 8 + 8 * u32::from(unit), Value::string(cell).0);
        }
        self.names.single_units = singles;
        let table = self.new_values((NAME_TEXTS.len() + SYMBOL_TEXTS.len()) as u32, Value::UNDEFINED)?;
        self.names.table = table;
        for (i, text) in NAME_TEXTS.iter().enumerate() {
            let cell = self.intern_str(text)?;
            self.cage.set(table, 8 + 8 * i as u32, Value::string(cell).0);
        }
        for (i, text) in SYMBOL_TEXTS.iter().enumerate() {
            let description = self.intern_str(text)?;
            let symbol = self.new_symbol(description, 0)?;
            self.cage.set(table, 8 + 8 * (FIRST_SYMBOL + i as u32), Value::symbol(symbol).0);
        }
        let record = self.allocate_tail(Kind::RealmRecord, 8, 8 * INTRINSIC_NAMES.len() as u64)?;
        self.cage.init(record.0 + 4, INTRINSIC_NAMES.len() as u32);
        for i in 0..INTRINSIC_NAMES.len() as u32 {
            self.cage.init(record.0 + 8 + 8 * i, Value::UNDEFINED.0);
        }
        self.record = record;
        self.set_intrinsic(Intrinsic::Names, Value::cell(table));
        self.set_intrinsic(Intrinsic::SingleUnits, Value::cell(singles));
        Ok(())
    }

    /// Object.prototype, Function.prototype, the global object and the shapes that everything else needs.
    fn install_fundamentals(&mut self) -> Completion<()> {
        let object_prototype = self.new_object_with_prototype(Ref::NULL)?;
        self.set_intrinsic(Intrinsic::ObjectPrototype, Value::object(object_prototype));
        let shape = self.root_shape(object_prototype, layout_of(16, OBJECT_INLINE_SLOTS))?;
        self.set_intrinsic(Intrinsic::ObjectShape, Value::cell(shape));
        let result = self.add_transition(shape, self.name(Name::value), DEFAULT)?;
        let result = self.add_transition(result, self.name(Name::done), DEFAULT)?;
        self.set_intrinsic(Intrinsic::IteratorResultShape, Value::cell(result));
        // Function.prototype is itself a function that accepts anything and returns undefined.
        let root = self.root_shape(object_prototype, layout_of(32, 2))?;
        let shape = self.add_transition(root, self.name(Name::length), CONFIGURABLE)?;
        let shape = self.add_transition(shape, self.name(Name::name), CONFIGURABLE)?;
        let function_prototype = self.new_object_cell(Kind::NativeFunction, shape)?;
        self.cage.set(function_prototype, BUILTIN, function::PROTOTYPE);
        self.cage.set(function_prototype, 20, self.record.0);
        self.cage.set(function_prototype, 24, Value::UNDEFINED.0);
        self.write_slot(function_prototype, shape, 0, Value::LAZY);
        self.write_slot(function_prototype, shape, 1, Value::LAZY);
        self.set_intrinsic(Intrinsic::FunctionPrototype, Value::object(function_prototype));
        self.install_function_shapes()?;
        let array_root = self.root_shape(object_prototype, layout_of(24, 0))?;
        let array_prototype = self.new_object_cell(Kind::Array, array_root)?;
        self.set_intrinsic(Intrinsic::ArrayPrototype, Value::object(array_prototype));
        let array_shape = self.root_shape(array_prototype, layout_of(24, 0))?;
        self.set_intrinsic(Intrinsic::ArrayShape, Value::cell(array_shape));
        let global = self.new_object_with_prototype(object_prototype)?;
        self.set_intrinsic(Intrinsic::GlobalObject, Value::object(global));
        self.make_dictionary(global)?;
        let lexicals = self.new_object_with_prototype(Ref::NULL)?;
        self.make_dictionary(lexicals)?;
        self.set_intrinsic(Intrinsic::GlobalLexicals, Value::object(lexicals));
        Ok(())
    }

    // --- helpers of the modules' install functions

    /// Defines the native function `number` on `object` under its own name.
    pub(crate) fn install_method(&mut self, object: Ref, number: u32) -> Completion<()> {
        let key = self.key(lookup(number).name)?;
        self.install_method_at(object, key, number)
    }

    /// Defines the native function `number` on `object` under `key`.
    pub(crate) fn install_method_at(&mut self, object: Ref, key: Key, number: u32) -> Completion<()> {
        let function = self.new_native_function(number, Value::UNDEFINED)?;
        self.define_data(object, key, Value::object(function), HIDDEN)
    }

    /// Defines several methods under their own names.
    pub(crate) fn install_methods(&mut self, object: Ref, numbers: &[u32]) -> Completion<()> {
        numbers.iter().try_for_each(|&n| self.install_method(object, n))
    }

    /// Defines a method under a well-known symbol.
    pub(crate) fn install_symbol_method(&mut self, object: Ref, symbol: Sym, number: u32) -> Completion<()> {
        let key = Key::Name(self.symbol(symbol));
        self.install_method_at(object, key, number)
    }

    /// Defines an accessor under `key`; `setter` 0 means none (module 0, row 0 is no setter).
    pub(crate) fn install_accessor(
        &mut self,
        object: Ref,
        key: Key,
        getter: u32,
        setter: Option<u32>,
    ) -> Completion<()> {
        let getter = self.new_native_function(getter, Value::UNDEFINED)?;
        let setter = match setter {
            Some(number) => Value::object(self.new_native_function(number, Value::UNDEFINED)?),
            None => Value::UNDEFINED,
        };
        let d = crate::objects::Descriptor {
            get: Some(Value::object(getter)),
            set: Some(setter),
            enumerable: Some(false),
            configurable: Some(true),
            ..Default::default()
        };
        self.define_or_throw(object, key, &d)
    }

    /// Defines a getter under Rust text.
    pub(crate) fn install_getter(&mut self, object: Ref, name: &str, getter: u32) -> Completion<()> {
        let key = self.key(name)?;
        self.install_accessor(object, key, getter, None)
    }

    /// Makes a constructor with its prototype object, links them, records both and defines the global.
    pub(crate) fn install_constructor(
        &mut self,
        number: u32,
        prototype: Ref,
        constructor_slot: Intrinsic,
        prototype_slot: Intrinsic,
    ) -> Completion<Ref> {
        let constructor = self.new_native_function(number, Value::UNDEFINED)?;
        self.define_data(constructor, self.key_for(Name::prototype), Value::object(prototype), 0)?;
        self.define_data(prototype, self.key_for(Name::constructor), Value::object(constructor), HIDDEN)?;
        self.set_intrinsic(constructor_slot, Value::object(constructor));
        self.set_intrinsic(prototype_slot, Value::object(prototype));
        self.install_global(lookup(number).name, Value::object(constructor))?;
        Ok(constructor)
    }

    /// Defines a non-enumerable property of the global object.
    pub(crate) fn install_global(&mut self, name: &str, value: Value) -> Completion<()> {
        let key = self.key(name)?;
        let global = self.global();
        self.define_data(global, key, value, HIDDEN)
    }

    /// A new ordinary object with %Object.prototype%, for prototypes.
    pub(crate) fn new_plain_prototype(&mut self) -> Completion<Ref> {
        let parent = self.intrinsic(Intrinsic::ObjectPrototype);
        self.new_object_with_prototype(parent)
    }

    /// Defines `Symbol.toStringTag`.
    pub(crate) fn install_tag(&mut self, object: Ref, tag: &str) -> Completion<()> {
        let text = self.intern_str(tag)?;
        let key = Key::Name(self.symbol(Sym::ToStringTag));
        self.define_data(object, key, Value::string(text), CONFIGURABLE)
    }

    /// Defines the getter of `Symbol.species` that returns its receiver.
    pub(crate) fn install_species(&mut self, constructor: Ref) -> Completion<()> {
        let key = Key::Name(self.symbol(Sym::Species));
        self.install_accessor(constructor, key, function::SPECIES, None)
    }

    /// Defines a constant (not writable, not configurable).
    pub(crate) fn install_constant(&mut self, object: Ref, name: &str, value: Value) -> Completion<()> {
        let key = self.key(name)?;
        self.define_data(object, key, value, 0)
    }
}
