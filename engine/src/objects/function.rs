//! Function objects: closures, native functions, their lazy own properties.
//!
//! `length`, `name` and `prototype` of a closure are slots that hold the lazy marker until somebody looks,
//! so making a closure is one allocation, and a native function costs nothing until it is changed.

use super::Key;
use crate::cage::Ref;
use crate::kinds::{Kind, SHAPE};
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm};
use crate::shapes::{HIDDEN, WRITABLE};
use crate::value::Value;

/// Byte offsets of a closure's fields.
pub const TEMPLATE: u32 = 16;
pub const ENVIRONMENT: u32 = 20;
pub const HOME_OBJECT: u32 = 24;
pub const FIELDS: u32 = 28;
pub const REALM: u32 = 32;
/// Byte offset of a native function's number and data.
pub const BUILTIN: u32 = 16;
pub const DATA: u32 = 24;

impl Realm {
    /// A native function object for built-in `number`, with data for the engine's own use.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_native_function(&mut self, number: u32, data: Value) -> Completion<Ref> {
        let shape = self.intrinsic(Intrinsic::NativeShape);
        let cell = self.new_object_cell(Kind::NativeFunction, shape)?;
        let cage = self.cage;
        cage.init(cell.0 + BUILTIN, number);
        cage.init(cell.0 + 20, self.record.0);
        cage.init(cell.0 + DATA, data.0);
        self.write_slot(cell, shape, 0, Value::LAZY);
        self.write_slot(cell, shape, 1, Value::LAZY);
        Ok(cell)
    }

    /// A native function with its own name and length (for functions made at run time).
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_native_function_named(&mut self, number: u32, data: Value, name: Value, length: u32) -> Completion<Ref> {
        let cell = self.new_native_function(number, data)?;
        let shape = self.shape_of(cell);
        self.write_slot(cell, shape, 0, Value::int(length as i32));
        self.write_slot(cell, shape, 1, name);
        Ok(cell)
    }

    /// Makes the value behind a lazy slot and stores it.
    #[inline(never)]
    pub(crate) fn make_lazy_property(&mut self, object: Ref, name: Ref, shape: Ref, slot: u32) -> Completion {
        let value = if name == self.name(Name::length) {
            match self.cage.kind(object) {
                Kind::Function => {
                    let template = self.cage.r(object, TEMPLATE);
                    Value::int(i32::from(self.template_length(template)))
                }
                _ => Value::int(i32::from(self.builtin_info(object).length)),
            }
        } else if name == self.name(Name::name) {
            match self.cage.kind(object) {
                Kind::Function => Value::string(self.template_name(self.cage.r(object, TEMPLATE))),
                _ => {
                    let text = self.builtin_info(object).name;
                    Value::string(self.intern_str(text)?)
                }
            }
        } else if name == self.name(Name::prototype) {
            self.make_prototype_property(object)?
        } else {
            Value::UNDEFINED
        };
        self.write_slot(object, shape, slot, value);
        Ok(value)
    }

    /// MakeConstructor's prototype object, or the prototype of a generator function.
    fn make_prototype_property(&mut self, function: Ref) -> Completion {
        let template = self.cage.r(function, TEMPLATE);
        use crate::bytecode::template::Suspension;
        let parent = match self.template_suspension(template) {
            Suspension::None | Suspension::Async => {
                let object = self.new_object()?;
                self.add_property(object, self.name(Name::constructor), Value::object(function), HIDDEN)?;
                return Ok(Value::object(object));
            }
            Suspension::Generator => self.intrinsic(Intrinsic::GeneratorPrototype),
            Suspension::AsyncGenerator => self.intrinsic(Intrinsic::AsyncGeneratorPrototype),
        };
        Ok(Value::object(self.new_object_with_prototype(parent)?))
    }

    /// SetFunctionName (10.2.9) on a fresh function whose name is still lazy.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn set_function_name(&mut self, function: Ref, key: Value, prefix: u32) -> Completion<()> {
        let name_key = self.name(Name::name);
        let shape = self.cage.r(function, SHAPE);
        let Some(slot) = self.shape_lookup(shape, name_key)? else { return Ok(()) };
        let is_lazy = self.read_slot(function, shape, slot.number) == Value::LAZY;
        if !is_lazy {
            return Ok(());
        }
        if self.cage.is(function, Kind::Function) {
            let template = self.cage.r(function, TEMPLATE);
            if self.string_len(self.template_name(template)) != 0 {
                return Ok(());
            }
        }
        let mut name = if key.is_symbol() {
            let symbol = key.as_ref();
            let description = self.cage.r(symbol, 4);
            match description.some() {
                None => self.names.empty,
                Some(text) if self.cage.flags(symbol) & super::PRIVATE_SYMBOL != 0 => text,
                Some(text) => {
                    let units: Vec<u16> = std::iter::once(u16::from(b'['))
                        .chain(self.view_flat(text).to_units())
                        .chain(std::iter::once(u16::from(b']')))
                        .collect();
                    self.new_utf16(&units)?
                }
            }
        } else {
            self.to_string(key)?
        };
        if prefix != 0 {
            let text = self.new_string(if prefix == 1 { "get " } else { "set " })?;
            name = self.concat(text, name)?;
        }
        self.write_slot(function, shape, slot.number, Value::string(name));
        Ok(())
    }

    /// IsConstructor (7.2.4).
    pub fn is_constructor(&self, value: Value) -> bool {
        let Some(object) = value.to_object_ref() else { return false };
        match self.cage.kind(object) {
            Kind::Function => self.template_is_constructor(self.cage.r(object, TEMPLATE)),
            Kind::NativeFunction => self.builtin_info(object).constructor,
            Kind::BoundFunction => self.is_constructor(Value::object(self.cage.r(object, 16))),
            Kind::Proxy => self.cage.flags(object) & crate::builtins::proxy::CONSTRUCTOR != 0,
            _ => false,
        }
    }

    /// GetPrototypeFromConstructor (10.1.14).
    ///
    /// # Errors
    /// Whatever reading `prototype` throws.
    pub fn prototype_from_constructor(&mut self, new_target: Value, fallback: Intrinsic) -> Completion<Ref> {
        let Some(constructor) = new_target.to_object_ref() else { return Ok(self.intrinsic(fallback)) };
        let key = Key::Name(self.name(Name::prototype));
        let prototype = self.get(constructor, key)?;
        match prototype.to_object_ref() {
            Some(object) => Ok(object),
            None => {
                self.check_function_realm(constructor)?;
                Ok(self.intrinsic(fallback))
            }
        }
    }

    /// The throwing part of GetFunctionRealm (7.3.25): a revoked proxy has no realm.
    fn check_function_realm(&mut self, function: Ref) -> Completion<()> {
        if self.cage.is(function, Kind::Proxy) && self.cage.r(function, 16).is_null() {
            return Err(self.throw_type("Cannot perform 'get' on a proxy that has been revoked"));
        }
        Ok(())
    }

    /// OrdinaryHasInstance (7.3.20).
    ///
    /// # Errors
    /// TypeError where `prototype` is no object.
    pub fn ordinary_has_instance(&mut self, constructor: Value, value: Value) -> Completion<bool> {
        if !self.is_callable(constructor) {
            return Ok(false);
        }
        let function = constructor.as_ref();
        if self.cage.is(function, Kind::BoundFunction) {
            let target = Value::object(self.cage.r(function, 16));
            return self.instance_of(value, target);
        }
        let Some(mut object) = value.to_object_ref() else { return Ok(false) };
        let prototype = self.get_name(function, Name::prototype)?;
        let Some(prototype) = prototype.to_object_ref() else {
            return Err(self.throw_type("Function has non-object prototype in instanceof check"));
        };
        loop {
            object = self.get_prototype_of(object)?;
            if object.is_null() {
                return Ok(false);
            }
            if object == prototype {
                return Ok(true);
            }
        }
    }

    /// InstanceofOperator (13.10.2).
    ///
    /// # Errors
    /// TypeError where the target is not callable; whatever Symbol.hasInstance throws.
    pub fn instance_of(&mut self, value: Value, target: Value) -> Completion<bool> {
        if !target.is_object() {
            return Err(self.throw_type("Right-hand side of 'instanceof' is not callable"));
        }
        let key = Key::Name(self.symbol(crate::names::Sym::HasInstance));
        let method = self.get_method(target, key)?;
        if !method.is_undefined() {
            let result = self.call(method, target, &[value])?;
            return Ok(self.to_boolean(result));
        }
        if !self.is_callable(target) {
            return Err(self.throw_type("Right-hand side of 'instanceof' is not callable"));
        }
        self.ordinary_has_instance(target, value)
    }

    /// Attributes of a class constructor's and a function's `prototype`.
    pub(crate) const FUNCTION_PROTOTYPE_ATTRIBUTES: u8 = WRITABLE;
}
