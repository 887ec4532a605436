//! Elements: the values under array indices.
//!
//! Kinds, from narrow to wide: `ElementsInt` (packed int32), `ElementsDouble` (packed doubles),
//! `ElementsValues` (any value, holes allowed), `ElementsSparse` (sorted entries with attributes).
//! Layout: capacity at 4, used at 8, data from 16. Invariant: indices at or above `used` are absent; int and
//! double elements have no holes; an object only ever goes to a wider kind, except when it is emptied.

use super::{Key, OwnProperty};
use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind};
use crate::realm::{Completion, Realm};
use crate::shapes::{ACCESSOR, CONFIGURABLE, DEFAULT};
use crate::value::Value;

/// A store beyond this distance behind the used part makes the elements sparse.
const GAP_MAX: u32 = 1024;

impl Realm {
    /// The own property under an index.
    pub(crate) fn own_element(&mut self, object: Ref, index: u32) -> Completion<Option<OwnProperty>> {
        match self.cage.kind(object) {
            Kind::PrimitiveObject => {
                let primitive = Value(self.cage.get(object, 16));
                if primitive.is_string() && index < self.string_len(primitive.as_ref()) {
                    let unit = self.unit_at(primitive.as_ref(), index)?;
                    let value = Value::string(self.unit_string(unit)?);
                    return Ok(Some(OwnProperty { value, attributes: crate::shapes::ENUMERABLE }));
                }
            }
            Kind::TypedArray => {
                return Ok(self
                    .typed_array_element(object, index)
                    .map(|value| OwnProperty { value, attributes: DEFAULT }));
            }
            Kind::Arguments => {
                if let Some(value) = self.mapped_argument(object, index) {
                    let attributes = self.stored_element(object, index).map_or(DEFAULT, |p| p.attributes);
                    return Ok(Some(OwnProperty { value, attributes }));
                }
            }
            Kind::ModuleNamespace => {
                let string = self.index_string(index)?;
                let name = self.intern(string)?;
                return self.namespace_own_property(object, name);
            }
            _ => {}
        }
        Ok(self.stored_element(object, index))
    }

    /// The element in the elements cell.
    #[inline]
    pub fn stored_element(&self, object: Ref, index: u32) -> Option<OwnProperty> {
        let cage = self.cage;
        let elements = cage.r(object, ELEMENTS);
        if elements.is_null() {
            return None;
        }
        let kind = cage.kind(elements);
        if kind == Kind::ElementsSparse {
            return self.find_sparse(elements, index).ok().map(|at| OwnProperty {
                value: Value(cage.get(elements, at + 8)),
                attributes: cage.u32(elements, at + 4) as u8,
            });
        }
        if index >= cage.u32(elements, 8) {
            return None;
        }
        let value = match kind {
            Kind::ElementsInt => Value::int(cage.get(elements, 16 + 4 * index)),
            Kind::ElementsDouble => Value::number(cage.get(elements, 16 + 8 * index)),
            _ => Value(cage.get(elements, 16 + 8 * index)),
        };
        if value.is_hole() { None } else { Some(OwnProperty { value, attributes: DEFAULT }) }
    }

    /// Offset of the entry for `index` in sparse elements, or where it would have to be.
    fn find_sparse(&self, elements: Ref, index: u32) -> Result<u32, u32> {
        let cage = self.cage;
        let (mut low, mut high) = (0, cage.u32(elements, 8));
        while low < high {
            let middle = (low + high) / 2;
            let at = 16 + 16 * middle;
            match cage.u32(elements, at).cmp(&index) {
                std::cmp::Ordering::Equal => return Ok(at),
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        Err(16 + 16 * low)
    }

    /// Indices of the own elements, ascending.
    pub fn element_indices(&mut self, object: Ref) -> Vec<u32> {
        let cage = self.cage;
        let mut indices = Vec::new();
        match cage.kind(object) {
            Kind::PrimitiveObject => {
                let primitive = Value(cage.get(object, 16));
                if primitive.is_string() {
                    indices.extend(0..self.string_len(primitive.as_ref()));
                }
            }
            Kind::TypedArray => indices.extend(0..self.typed_array_length(object).unwrap_or(0)),
            _ => {}
        }
        let elements = cage.r(object, ELEMENTS);
        if elements.is_null() {
            return indices;
        }
        let used = cage.u32(elements, 8);
        match cage.kind(elements) {
            Kind::ElementsSparse => indices.extend((0..used).map(|i| cage.u32(elements, 16 + 16 * i))),
            Kind::ElementsValues => {
                indices.extend((0..used).filter(|i| !Value(cage.get(elements, 16 + 8 * i)).is_hole()));
            }
            _ => indices.extend(0..used),
        }
        indices
    }

    /// An elements cell of a dense kind.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_elements(&mut self, kind: Kind, capacity: u32) -> Completion<Ref> {
        let width = if kind == Kind::ElementsInt { 4 } else { 8 };
        let capacity = capacity.max(4).next_multiple_of(8 / width * 2);
        let cell = self.allocate_tail(kind, 16, u64::from(capacity) * u64::from(width))?;
        self.cage.init(cell.0 + 4, capacity);
        self.cage.init(cell.0 + 8, 0u64);
        // Values must be defined for the collector; unused numbers may be anything, but fresh images want zero.
        for i in 0..capacity {
            match kind {
                Kind::ElementsInt => self.cage.init(cell.0 + 16 + 4 * i, 0u32),
                Kind::ElementsDouble => self.cage.init(cell.0 + 16 + 8 * i, 0u64),
                _ => self.cage.init(cell.0 + 16 + 8 * i, Value::HOLE.0),
            }
        }
        Ok(cell)
    }

    fn kind_for(value: Value) -> Kind {
        if value.is_int() {
            Kind::ElementsInt
        } else if value.is_double() {
            Kind::ElementsDouble
        } else {
            Kind::ElementsValues
        }
    }

    /// Elements of `kind` with at least `capacity`, contents converted; becomes the object's elements.
    fn convert_elements(&mut self, object: Ref, kind: Kind, capacity: u32) -> Completion<Ref> {
        let cage = self.cage;
        let old = cage.r(object, ELEMENTS);
        let used = if old.is_null() { 0 } else { cage.u32(old, 8) };
        let new = self.new_elements(kind, capacity.max(used))?;
        let old_kind = if old.is_null() { kind } else { cage.kind(old) };
        match (old_kind, kind) {
            (a, b) if a == b => {
                let width = if kind == Kind::ElementsInt { 4 } else { 8 };
                if used > 0 {
                    cage.copy(old.0 + 16, new.0 + 16, used * width);
                }
            }
            (Kind::ElementsInt, Kind::ElementsDouble) => {
                for i in 0..used {
                    cage.init(new.0 + 16 + 8 * i, f64::from(cage.get::<i32>(old, 16 + 4 * i)));
                }
            }
            (Kind::ElementsInt, _) => {
                for i in 0..used {
                    cage.init(new.0 + 16 + 8 * i, Value::int(cage.get(old, 16 + 4 * i)).0);
                }
            }
            (_, _) => {
                for i in 0..used {
                    cage.init(new.0 + 16 + 8 * i, Value::number(cage.get(old, 16 + 8 * i)).0);
                }
            }
        }
        cage.set(new, 8, used);
        cage.set(object, ELEMENTS, new.0);
        Ok(new)
    }

    fn make_sparse(&mut self, object: Ref, room: u32) -> Completion<Ref> {
        let cage = self.cage;
        let indices = if cage.r(object, ELEMENTS).is_null() { Vec::new() } else { self.stored_indices(object) };
        let capacity = (indices.len() as u32 + room).next_power_of_two().max(4);
        let cell = self.allocate_tail(Kind::ElementsSparse, 16, u64::from(capacity) * 16)?;
        cage.init(cell.0 + 4, capacity);
        cage.init(cell.0 + 8, indices.len() as u64);
        for (i, &index) in indices.iter().enumerate() {
            let own = self.stored_element(object, index);
            let at = cell.0 + 16 + 16 * i as u32;
            cage.init(at, index);
            cage.init(at + 4, own.map_or(u32::from(DEFAULT), |o| u32::from(o.attributes)));
            cage.init(at + 8, own.map_or(Value::UNDEFINED, |o| o.value).0);
        }
        for i in indices.len() as u32..capacity {
            cage.init(cell.0 + 16 + 16 * i, 0u64);
            cage.init(cell.0 + 24 + 16 * i, Value::UNDEFINED.0);
        }
        cage.set(object, ELEMENTS, cell.0);
        Ok(cell)
    }

    fn stored_indices(&self, object: Ref) -> Vec<u32> {
        let cage = self.cage;
        let elements = cage.r(object, ELEMENTS);
        let used = cage.u32(elements, 8);
        match cage.kind(elements) {
            Kind::ElementsSparse => (0..used).map(|i| cage.u32(elements, 16 + 16 * i)).collect(),
            Kind::ElementsValues => (0..used).filter(|i| !Value(cage.get(elements, 16 + 8 * i)).is_hole()).collect(),
            _ => (0..used).collect(),
        }
    }

    fn insert_sparse(&mut self, object: Ref, index: u32, value: Value, attributes: u8) -> Completion<()> {
        let cage = self.cage;
        let mut elements = cage.r(object, ELEMENTS);
        let at = match self.find_sparse(elements, index) {
            Ok(at) => at,
            Err(mut at) => {
                let used = cage.u32(elements, 8);
                if used == cage.u32(elements, 4) {
                    elements = self.make_sparse(object, used.max(4))?;
                    at = self.find_sparse(elements, index).unwrap_or_else(|at| at);
                }
                cage.copy(elements.0 + at, elements.0 + at + 16, 16 + 16 * used - at);
                cage.set(elements, 8, used + 1);
                at
            }
        };
        cage.set(elements, at, index);
        cage.set(elements, at + 4, u32::from(attributes));
        cage.set(elements, at + 8, value.0);
        Ok(())
    }

    /// Defines the element `index`, whatever was there. Arrays grow their length.
    pub(crate) fn add_element(&mut self, object: Ref, index: u32, value: Value, attributes: u8) -> Completion<()> {
        let cage = self.cage;
        if attributes & ACCESSOR != 0 || attributes != DEFAULT {
            self.prototype_epoch = self.prototype_epoch.wrapping_add(1);
        }
        self.unmap_argument_for_definition(object, index, value, attributes);
        let elements = cage.r(object, ELEMENTS);
        let is_sparse = !elements.is_null() && cage.is(elements, Kind::ElementsSparse);
        let used = if elements.is_null() { 0 } else { cage.u32(elements, 8) };
        if is_sparse {
            self.insert_sparse(object, index, value, attributes)?;
        } else if attributes != DEFAULT || (index > used && index - used > GAP_MAX.max(used / 2)) {
            self.make_sparse(object, 1)?;
            self.insert_sparse(object, index, value, attributes)?;
        } else {
            self.put_dense(object, elements, used, index, value)?;
        }
        if cage.is(object, Kind::Array) && index >= cage.u32(object, 16) {
            cage.set(object, 16, index + 1);
        }
        Ok(())
    }

    /// Stores into dense elements, converting and growing them as needed.
    #[inline]
    fn put_dense(&mut self, object: Ref, elements: Ref, used: u32, index: u32, value: Value) -> Completion<()> {
        let cage = self.cage;
        let wanted = Self::kind_for(value);
        let mut elements = elements;
        let mut kind = if elements.is_null() { wanted } else { cage.kind(elements) };
        let needs = if index > used {
            Kind::ElementsValues
        } else if kind == Kind::ElementsDouble && wanted == Kind::ElementsInt {
            Kind::ElementsDouble
        } else {
            kind.max_kind(wanted)
        };
        let capacity = if elements.is_null() { 0 } else { cage.u32(elements, 4) };
        if elements.is_null() || needs != kind || index >= capacity {
            // Growing by half keeps appending linear.
            let room = if index >= capacity { (capacity + capacity / 2).max(index + 1).max(4) } else { capacity };
            elements = self.convert_elements(object, needs, room)?;
            kind = needs;
        }
        match kind {
            Kind::ElementsInt => cage.set(elements, 16 + 4 * index, value.as_int()),
            Kind::ElementsDouble => cage.set(elements, 16 + 8 * index, value.as_number()),
            _ => cage.set(elements, 16 + 8 * index, value.0),
        }
        if index >= used {
            if kind == Kind::ElementsValues {
                for i in used..index {
                    cage.set(elements, 16 + 8 * i, Value::HOLE.0);
                }
            }
            cage.set(elements, 8, index + 1);
        }
        Ok(())
    }

    /// Stores into an existing writable data element.
    pub(crate) fn store_element(&mut self, object: Ref, index: u32, value: Value) -> Completion<bool> {
        if self.cage.is(object, Kind::Arguments) && self.store_mapped_argument(object, index, value) {
            return Ok(true);
        }
        let elements = self.cage.r(object, ELEMENTS);
        if elements.is_null() {
            return Ok(false);
        }
        if self.cage.is(elements, Kind::ElementsSparse) {
            if let Ok(at) = self.find_sparse(elements, index) {
                self.cage.set(elements, at + 8, value.0);
                return Ok(true);
            }
            return Ok(false);
        }
        let used = self.cage.u32(elements, 8);
        self.put_dense(object, elements, used, index, value)?;
        Ok(true)
    }

    /// Removes an element (configurable, as checked by the caller).
    pub(crate) fn delete_element(&mut self, object: Ref, index: u32) -> Completion<()> {
        let cage = self.cage;
        self.unmap_argument(object, index);
        let elements = cage.r(object, ELEMENTS);
        if elements.is_null() {
            return Ok(());
        }
        let used = cage.u32(elements, 8);
        match cage.kind(elements) {
            Kind::ElementsSparse => {
                if let Ok(at) = self.find_sparse(elements, index) {
                    cage.copy(elements.0 + at + 16, elements.0 + at, 16 * used - at);
                    cage.set(elements, 8, used - 1);
                }
            }
            _ if index + 1 == used => cage.set(elements, 8, used - 1),
            _ if index < used => {
                let elements = if cage.is(elements, Kind::ElementsValues) {
                    elements
                } else {
                    self.convert_elements(object, Kind::ElementsValues, used)?
                };
                cage.set(elements, 16 + 8 * index, Value::HOLE.0);
            }
            _ => {}
        }
        Ok(())
    }

    /// Cuts the elements at `length`; returns the length that could be reached (non-configurable elements
    /// stop the cut).
    pub(crate) fn truncate_elements(&mut self, object: Ref, length: u32) -> u32 {
        let cage = self.cage;
        let elements = cage.r(object, ELEMENTS);
        if elements.is_null() {
            return length;
        }
        let mut used = cage.u32(elements, 8);
        if cage.is(elements, Kind::ElementsSparse) {
            while used > 0 {
                let at = 16 + 16 * (used - 1);
                let index = cage.u32(elements, at);
                if index < length {
                    break;
                }
                if cage.u32(elements, at + 4) as u8 & CONFIGURABLE == 0 {
                    cage.set(elements, 8, used);
                    return index + 1;
                }
                used -= 1;
            }
            cage.set(elements, 8, used);
        } else if used > length {
            if length == 0 {
                cage.set(object, ELEMENTS, 0u32);
            } else {
                cage.set(elements, 8, length);
            }
        }
        length
    }

    /// Restricts the attributes of all elements (freeze, seal).
    pub(crate) fn restrict_elements(&mut self, object: Ref, keep_data: u8) -> Completion<()> {
        let cage = self.cage;
        if cage.r(object, ELEMENTS).is_null() {
            return Ok(());
        }
        let elements = self.make_sparse(object, 0)?;
        for i in 0..cage.u32(elements, 8) {
            let at = 16 + 16 * i + 4;
            let attributes = cage.u32(elements, at);
            let keep = if attributes as u8 & ACCESSOR != 0 { crate::shapes::ENUMERABLE | ACCESSOR } else { keep_data };
            cage.set(elements, at, attributes & u32::from(keep));
        }
        Ok(())
    }

    /// Makes sure that the elements are plain values (for built-ins that work in place); `None` where the
    /// object's elements are sparse.
    pub fn values_elements(&mut self, object: Ref) -> Completion<Option<Ref>> {
        let elements = self.cage.r(object, ELEMENTS);
        if elements.is_null() {
            return Ok(None);
        }
        match self.cage.kind(elements) {
            Kind::ElementsSparse => Ok(None),
            Kind::ElementsValues => Ok(Some(elements)),
            _ => {
                let used = self.cage.u32(elements, 8);
                self.convert_elements(object, Kind::ElementsValues, used).map(Some)
            }
        }
    }

    /// Whether `key` is an index.
    pub fn is_index(key: Key) -> bool {
        matches!(key, Key::Index(_))
    }

    /// Fast store for the interpreter and built-ins: `object[index] = value` where the object is an
    /// ordinary array, the index at most its length, everything writable and no setter can interfere.
    /// False: take the general way.
    #[inline]
    pub(crate) fn try_store_array_element(&mut self, object: Ref, index: u32, value: Value) -> Completion<bool> {
        let cage = self.cage;
        let elements = cage.r(object, ELEMENTS);
        let length = cage.u32(object, 16);
        if index > length
            || cage.flags(object) != 0
            || cage.flags(cage.r(object, 4)) & crate::shapes::NON_EXTENSIBLE != 0
        {
            return Ok(false);
        }
        let used = if elements.is_null() { 0 } else { cage.u32(elements, 8) };
        if index > used || index == u32::MAX {
            return Ok(false);
        }
        if !elements.is_null() && cage.is(elements, Kind::ElementsSparse) {
            return Ok(false);
        }
        let existing = index < used
            && !(cage.is(elements, Kind::ElementsValues) && Value(cage.get(elements, 16 + 8 * index)).is_hole());
        if !existing && !self.no_indexed_accessors(object) {
            return Ok(false);
        }
        self.put_dense(object, elements, used, index, value)?;
        if index == length {
            cage.set(object, 16, length + 1);
        }
        Ok(true)
    }

    /// Whether no object on the prototype chain has elements (so a missing element is just missing).
    #[inline]
    pub fn no_indexed_accessors(&self, object: Ref) -> bool {
        let cage = self.cage;
        let mut at = self.ordinary_prototype(object);
        while !at.is_null() {
            if !cage.r(at, ELEMENTS).is_null()
                || matches!(
                    cage.kind(at),
                    Kind::Proxy | Kind::TypedArray | Kind::PrimitiveObject | Kind::ModuleNamespace
                )
            {
                // %String.prototype% is a String object with an empty string: no elements.
                if !(cage.is(at, Kind::PrimitiveObject)
                    && cage.r(at, ELEMENTS).is_null()
                    && !Value(cage.get(at, 16)).is_string())
                {
                    return false;
                }
            }
            at = self.ordinary_prototype(at);
        }
        true
    }
}

impl Kind {
    /// The wider of two dense element kinds.
    fn max_kind(self, other: Kind) -> Kind {
        let rank = |k: Kind| match k {
            Kind::ElementsInt => 0,
            Kind::ElementsDouble => 1,
            _ => 2,
        };
        if rank(self) >= rank(other) { self } else { other }
    }
}
