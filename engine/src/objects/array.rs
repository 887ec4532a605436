//! Array exotic objects (ECMA-262 10.4.2) and making arrays.

use super::{Descriptor, Key, property::LENGTH_READ_ONLY};
use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind};
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm};
use crate::value::Value;

impl Realm {
    /// A new empty array with %Array.prototype%.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_array(&mut self) -> Completion<Ref> {
        let shape = self.intrinsic(Intrinsic::ArrayShape);
        self.new_object_cell(Kind::Array, shape)
    }

    /// A new array of these values.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_array_from(&mut self, values: &[Value]) -> Completion<Ref> {
        let array = self.new_array()?;
        for &value in values {
            self.array_push(array, value)?;
        }
        Ok(array)
    }

    /// A new array of the values of a `Values` cell.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_array_from_list(&mut self, list: Ref) -> Completion<Ref> {
        let array = self.new_array()?;
        for i in 0..self.cage.u32(list, 4) {
            let value = Value(self.cage.get(list, 8 + 8 * i));
            self.array_push(array, value)?;
        }
        Ok(array)
    }

    /// Appends to an array that the engine itself made (no setters, not frozen).
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub fn array_push(&mut self, array: Ref, value: Value) -> Completion<()> {
        let length = self.cage.u32(array, 16);
        if length == u32::MAX {
            return Err(self.throw_range("Invalid array length"));
        }
        self.add_element(array, length, value, crate::shapes::DEFAULT)
    }

    /// Sets `length` of an array the engine made, leaving holes.
    pub fn set_raw_array_length(&mut self, array: Ref, length: u32) {
        self.cage.set(array, 16, length);
    }

    /// Length of an array object.
    #[inline(always)]
    pub fn array_length(&self, array: Ref) -> u32 {
        self.cage.u32(array, 16)
    }

    /// Steps 3 to 5 of ArraySetLength: the new length as a number.
    ///
    /// # Errors
    /// RangeError.
    pub(crate) fn to_array_length(&mut self, value: Value) -> Completion<u32> {
        if value.is_int() && value.as_int() >= 0 {
            return Ok(value.as_int() as u32);
        }
        let length = self.to_uint32(value)?;
        let number = self.to_number(value)?;
        if f64::from(length) != number {
            return Err(self.throw_range("Invalid array length"));
        }
        Ok(length)
    }

    /// ArraySetLength (10.4.2.4) without a descriptor's other fields: false if `length` is read-only or
    /// an element cannot be deleted.
    pub(crate) fn set_array_length(&mut self, array: Ref, length: u32) -> Completion<bool> {
        let old = self.cage.u32(array, 16);
        if self.cage.flags(array) & LENGTH_READ_ONLY != 0 {
            return Ok(length == old);
        }
        if length < old {
            let reached = self.truncate_elements(array, length);
            self.cage.set(array, 16, reached);
            return Ok(reached == length);
        }
        self.cage.set(array, 16, length);
        Ok(true)
    }

    pub(crate) fn array_define_own_property(&mut self, array: Ref, key: Key, d: &Descriptor) -> Completion<bool> {
        match key {
            Key::Name(name) if name == self.name(Name::length) => self.define_array_length(array, d),
            Key::Index(index) => {
                let length = self.cage.u32(array, 16);
                if index >= length && self.cage.flags(array) & LENGTH_READ_ONLY != 0 {
                    return Ok(false);
                }
                // The overwhelmingly common case: a plain element right behind the last one.
                if d.value.is_some()
                    && d.writable == Some(true)
                    && d.enumerable == Some(true)
                    && d.configurable == Some(true)
                    && !d.is_accessor()
                {
                    let fresh =
                        index == length && self.cage.flags(self.shape_of(array)) & crate::shapes::NON_EXTENSIBLE == 0;
                    if fresh {
                        self.add_element(array, index, d.value.unwrap_or(Value::UNDEFINED), crate::shapes::DEFAULT)?;
                        return Ok(true);
                    }
                }
                self.ordinary_define_own_property(array, key, d)
            }
            _ => self.ordinary_define_own_property(array, key, d),
        }
    }

    /// ArraySetLength (10.4.2.4).
    fn define_array_length(&mut self, array: Ref, d: &Descriptor) -> Completion<bool> {
        let length = match d.value {
            Some(value) => Some(self.to_array_length(value)?),
            None => None,
        };
        let read_only = self.cage.flags(array) & LENGTH_READ_ONLY != 0;
        if d.is_accessor() || d.configurable == Some(true) || d.enumerable == Some(true) {
            return Ok(false);
        }
        if read_only && d.writable == Some(true) {
            return Ok(false);
        }
        let mut done = true;
        if let Some(length) = length {
            done = self.set_array_length(array, length)?;
            if !done && read_only {
                return Ok(false);
            }
        }
        if d.writable == Some(false) {
            self.cage.set(array, 1, self.cage.flags(array) | LENGTH_READ_ONLY);
        }
        Ok(done)
    }

    /// Whether `object` is an array with dense elements and nothing unusual, so that built-ins may read
    /// `used` elements directly. Returns (elements, used) with 0 elements as (null, 0).
    #[inline]
    pub fn dense_array(&self, object: Ref) -> Option<(Ref, u32)> {
        let cage = self.cage;
        if !cage.is(object, Kind::Array) {
            return None;
        }
        let elements = cage.r(object, ELEMENTS);
        if elements.is_null() {
            return if cage.u32(object, 16) == 0 { Some((elements, 0)) } else { None };
        }
        if cage.is(elements, Kind::ElementsSparse) {
            return None;
        }
        let used = cage.u32(elements, 8);
        if used == cage.u32(object, 16) { Some((elements, used)) } else { None }
    }

    /// Element `index` (below `used`) of dense elements; the hole marker for holes.
    #[inline(always)]
    pub fn dense_get(&self, elements: Ref, index: u32) -> Value {
        match self.cage.kind(elements) {
            Kind::ElementsInt => Value::int(self.cage.get(elements, 16 + 4 * index)),
            Kind::ElementsDouble => Value::number(self.cage.get(elements, 16 + 8 * index)),
            _ => Value(self.cage.get(elements, 16 + 8 * index)),
        }
    }
}
