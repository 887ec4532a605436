//! Arguments objects (ECMA-262 10.4.4): unmapped ones are plain, mapped ones alias environment slots.
//!
//! A mapped object keeps its environment at 16 and a `Values` cell at 20: slot number per index, or
//! undefined where the alias is gone.

use super::{Descriptor, Key};
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::realm::{Completion, Realm};
use crate::shapes::{DEFAULT, HIDDEN};
use crate::value::Value;

impl Realm {
    /// CreateUnmappedArgumentsObject / CreateMappedArgumentsObject for `count` values at register address
    /// `at`. Aliases are added by [`Realm::map_argument`].
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn new_arguments(&mut self, at: u32, count: u32, callee: Option<Ref>) -> Completion<Ref> {
        let prototype = self.intrinsic(Intrinsic::ObjectPrototype);
        let object = self.new_object_of(Kind::Arguments, prototype)?;
        for i in 0..count {
            let value = Value(self.cage.read(at + 8 * i));
            self.add_element(object, i, value, DEFAULT)?;
        }
        self.add_property(object, self.name(Name::length), Value::int(count as i32), HIDDEN)?;
        match callee {
            Some(callee) => self.add_property(object, self.name(Name::callee), Value::object(callee), HIDDEN)?,
            None => {
                let thrower = self.intrinsic(Intrinsic::ThrowTypeError);
                let accessor = self.new_accessor(thrower, thrower)?;
                self.add_property(object, self.name(Name::callee), Value::cell(accessor), crate::shapes::ACCESSOR)?;
            }
        }
        let values = self.intrinsic_value(Intrinsic::ArrayValues);
        self.add_property(object, self.symbol(Sym::Iterator), values, HIDDEN)?;
        Ok(object)
    }

    /// Makes index `index` of a mapped arguments object an alias of environment slot `slot`.
    pub(crate) fn map_argument(&mut self, object: Ref, environment: Ref, index: u32, slot: u32) -> Completion<()> {
        if self.stored_element(object, index).is_none() {
            return Ok(());
        }
        let mut map = self.cage.r(object, 20);
        if map.is_null() {
            let count = self.element_indices(object).len() as u32;
            map = self.new_values(count, Value::UNDEFINED)?;
            self.cage.set(object, 16, environment.0);
            self.cage.set(object, 20, map.0);
        }
        self.cage.set(map, 8 + 8 * index, Value::int(slot as i32).0);
        Ok(())
    }

    fn alias_slot(&self, object: Ref, index: u32) -> Option<u32> {
        if !self.cage.is(object, Kind::Arguments) {
            return None;
        }
        let map = self.cage.r(object, 20);
        if map.is_null() || index >= self.cage.u32(map, 4) {
            return None;
        }
        let slot = Value(self.cage.get(map, 8 + 8 * index));
        if slot.is_int() { Some(self.cage.r(object, 16).0 + 16 + 8 * slot.as_int() as u32) } else { None }
    }

    /// Current value of a mapped index.
    pub(crate) fn mapped_argument(&self, object: Ref, index: u32) -> Option<Value> {
        self.alias_slot(object, index).map(|at| Value(self.cage.read(at)))
    }

    pub(crate) fn store_mapped_argument(&mut self, object: Ref, index: u32, value: Value) -> bool {
        match self.alias_slot(object, index) {
            Some(at) => {
                self.cage.write(at, value.0);
                true
            }
            None => false,
        }
    }

    pub(crate) fn unmap_argument(&mut self, object: Ref, index: u32) {
        if self.alias_slot(object, index).is_some() {
            let map = self.cage.r(object, 20);
            self.cage.set(map, 8 + 8 * index, Value::UNDEFINED.0);
        }
    }

    /// A redefinition with other attributes, or as an accessor, ends the alias unless it stays writable data.
    pub(crate) fn unmap_argument_for_definition(&mut self, object: Ref, index: u32, value: Value, attributes: u8) {
        if let Some(at) = self.alias_slot(object, index) {
            if attributes & crate::shapes::ACCESSOR == 0 {
                self.cage.write(at, value.0);
            }
            if attributes & crate::shapes::ACCESSOR != 0 || attributes & crate::shapes::WRITABLE == 0 {
                self.unmap_argument(object, index);
            }
        }
    }

    pub(crate) fn arguments_define_own_property(&mut self, object: Ref, key: Key, d: &Descriptor) -> Completion<bool> {
        self.ordinary_define_own_property(object, key, d)
    }
}
