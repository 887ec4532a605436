//! The essential internal methods (ECMA-262 10.1 and the exotic sections of 10.4): own properties, get,
//! set, define, delete, keys, prototype and extensibility.

use super::{Descriptor, Key, OwnProperty};
use crate::cage::Ref;
use crate::kinds::{Kind, SHAPE};
use crate::names::Name;
use crate::realm::{Completion, Realm};
use crate::shapes::{ACCESSOR, CONFIGURABLE, DEFAULT, ENUMERABLE, GLOBAL_CELL, NON_EXTENSIBLE, Slot, WRITABLE};
use crate::value::Value;

/// Header flag of arrays whose `length` is not writable.
pub const LENGTH_READ_ONLY: u8 = 1;

impl Realm {
    /// The own property `key` of an object that is no proxy, without running any script. Lazy values stay
    /// lazy, uninitialized module bindings are absent.
    pub fn get_own_quiet(&mut self, object: Ref, key: Key) -> Option<OwnProperty> {
        if self.cage.is(object, Kind::Proxy) {
            return None;
        }
        self.own_property(object, key).ok().flatten()
    }

    /// [[GetOwnProperty]] of objects that are no proxies.
    ///
    /// # Errors
    /// ReferenceError for an uninitialized binding of a module namespace; out of memory.
    #[inline]
    pub fn own_property(&mut self, object: Ref, key: Key) -> Completion<Option<OwnProperty>> {
        match key {
            Key::Index(index) => self.own_element(object, index),
            Key::Name(name) => {
                let shape = self.cage.r(object, SHAPE);
                if let Some(slot) = self.shape_lookup(shape, name)? {
                    return self.property_in_slot(object, shape, name, slot).map(Some);
                }
                self.own_exotic_name(object, name)
            }
        }
    }

    /// Reads a found slot: follows global cells, makes lazy values.
    #[inline]
    pub(crate) fn property_in_slot(
        &mut self,
        object: Ref,
        shape: Ref,
        name: Ref,
        slot: Slot,
    ) -> Completion<OwnProperty> {
        let mut value = self.read_slot(object, shape, slot.number);
        if slot.attributes & GLOBAL_CELL != 0 {
            value = Value(self.cage.get(value.as_ref(), 8));
        }
        if value == Value::LAZY {
            value = self.make_lazy_property(object, name, shape, slot.number)?;
        }
        Ok(OwnProperty { value, attributes: slot.attributes & !GLOBAL_CELL })
    }

    fn own_exotic_name(&mut self, object: Ref, name: Ref) -> Completion<Option<OwnProperty>> {
        match self.cage.kind(object) {
            Kind::Array if name == self.name(Name::length) => {
                let length = self.cage.u32(object, 16);
                let attributes = if self.cage.flags(object) & LENGTH_READ_ONLY != 0 { 0 } else { WRITABLE };
                Ok(Some(OwnProperty { value: Value::number(f64::from(length)), attributes }))
            }
            Kind::PrimitiveObject if name == self.name(Name::length) => {
                let primitive = Value(self.cage.get(object, 16));
                if primitive.is_string() {
                    let length = self.string_len(primitive.as_ref());
                    return Ok(Some(OwnProperty { value: Value::int(length as i32), attributes: 0 }));
                }
                Ok(None)
            }
            Kind::ModuleNamespace => self.namespace_own_property(object, name),
            _ => Ok(None),
        }
    }

    /// [[GetOwnProperty]] of any object.
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    #[inline]
    pub fn get_own_property(&mut self, object: Ref, key: Key) -> Completion<Option<OwnProperty>> {
        if self.cage.is(object, Kind::Proxy) {
            return self.proxy_get_own_property(object, key);
        }
        self.own_property(object, key)
    }

    /// [[GetPrototypeOf]]: 0 for null.
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    #[inline]
    pub fn get_prototype_of(&mut self, object: Ref) -> Completion<Ref> {
        if self.cage.is(object, Kind::Proxy) {
            return self.proxy_get_prototype_of(object);
        }
        Ok(self.ordinary_prototype(object))
    }

    /// [[SetPrototypeOf]] (10.1.2).
    ///
    /// # Errors
    /// Whatever a proxy trap throws; out of memory.
    pub fn set_prototype_of(&mut self, object: Ref, prototype: Ref) -> Completion<bool> {
        match self.cage.kind(object) {
            Kind::Proxy => return self.proxy_set_prototype_of(object, prototype),
            Kind::ModuleNamespace => return Ok(prototype.is_null()),
            _ => {}
        }
        if self.ordinary_prototype(object) == prototype {
            return Ok(true);
        }
        let immutable = object == self.intrinsic(crate::names::Intrinsic::ObjectPrototype);
        if immutable || self.cage.flags(self.shape_of(object)) & NON_EXTENSIBLE != 0 {
            return Ok(false);
        }
        let mut at = prototype;
        while !at.is_null() {
            if at == object {
                return Ok(false);
            }
            if self.cage.is(at, Kind::Proxy) {
                break;
            }
            at = self.ordinary_prototype(at);
        }
        self.replace_prototype(object, prototype)?;
        Ok(true)
    }

    /// [[IsExtensible]].
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    pub fn is_extensible(&mut self, object: Ref) -> Completion<bool> {
        match self.cage.kind(object) {
            Kind::Proxy => self.proxy_is_extensible(object),
            Kind::ModuleNamespace => Ok(false),
            _ => Ok(self.cage.flags(self.shape_of(object)) & NON_EXTENSIBLE == 0),
        }
    }

    /// [[PreventExtensions]].
    ///
    /// # Errors
    /// Whatever a proxy trap throws; out of memory.
    pub fn prevent_extensions(&mut self, object: Ref) -> Completion<bool> {
        match self.cage.kind(object) {
            Kind::Proxy => return self.proxy_prevent_extensions(object),
            Kind::ModuleNamespace => return Ok(true),
            Kind::TypedArray if !self.typed_array_has_fixed_length(object) => return Ok(false),
            _ => {}
        }
        if self.cage.flags(self.shape_of(object)) & NON_EXTENSIBLE == 0 {
            self.restrict_shape(object, 7, 7)?;
        }
        Ok(true)
    }

    /// [[HasProperty]].
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    pub fn has_property(&mut self, object: Ref, key: Key) -> Completion<bool> {
        let mut at = object;
        loop {
            match self.cage.kind(at) {
                Kind::Proxy => return self.proxy_has(at, key),
                Kind::TypedArray => {
                    if let Some(has) = self.typed_array_has(at, key)? {
                        return Ok(has);
                    }
                }
                Kind::ModuleNamespace => return self.namespace_has(at, key),
                _ => {}
            }
            if self.own_property(at, key)?.is_some() {
                return Ok(true);
            }
            at = self.ordinary_prototype(at);
            if at.is_null() {
                return Ok(false);
            }
        }
    }

    /// HasOwnProperty (7.3.13).
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    pub fn has_own_property(&mut self, object: Ref, key: Key) -> Completion<bool> {
        Ok(self.get_own_property(object, key)?.is_some())
    }

    /// [[Get]] of `object` with `receiver`.
    ///
    /// # Errors
    /// Whatever a getter or proxy trap throws.
    pub fn get_with_receiver(&mut self, object: Ref, key: Key, receiver: Value) -> Completion {
        let mut at = object;
        loop {
            match self.cage.kind(at) {
                Kind::Proxy => {
                    self.check_native_stack()?;
                    return self.proxy_get(at, key, receiver);
                }
                Kind::TypedArray => {
                    if let Some(value) = self.typed_array_get(at, key)? {
                        return Ok(value);
                    }
                }
                _ => {}
            }
            if let Some(found) = self.own_property(at, key)? {
                if !found.is_accessor() {
                    return Ok(found.value);
                }
                let getter = self.cage.r(found.value.as_ref(), 4);
                if getter.is_null() {
                    return Ok(Value::UNDEFINED);
                }
                return self.call(Value::object(getter), receiver, &[]);
            }
            at = self.ordinary_prototype(at);
            if at.is_null() {
                return Ok(Value::UNDEFINED);
            }
        }
    }

    /// Get (7.3.2).
    ///
    /// # Errors
    /// Whatever a getter or proxy trap throws.
    #[inline]
    pub fn get(&mut self, object: Ref, key: Key) -> Completion {
        self.get_with_receiver(object, key, Value::object(object))
    }

    /// Get by engine name.
    ///
    /// # Errors
    /// Whatever a getter or proxy trap throws.
    pub fn get_name(&mut self, object: Ref, name: Name) -> Completion {
        let key = Key::Name(self.name(name));
        self.get(object, key)
    }

    /// GetV (7.3.3): property of any value.
    ///
    /// # Errors
    /// TypeError for undefined and null; whatever a getter throws.
    pub fn get_value(&mut self, base: Value, key: Key) -> Completion {
        if base.is_object() {
            return self.get_with_receiver(base.as_ref(), key, base);
        }
        if base.is_string() {
            let string = base.as_ref();
            match key {
                Key::Index(index) if index < self.string_len(string) => {
                    let unit = self.unit_at(string, index)?;
                    return Ok(Value::string(self.unit_string(unit)?));
                }
                Key::Name(name) if name == self.name(Name::length) => {
                    return Ok(Value::int(self.string_len(string) as i32));
                }
                _ => {}
            }
        }
        match self.primitive_prototype(base) {
            Some(prototype) => self.get_with_receiver(prototype, key, base),
            None => {
                let text = self.key_text(key);
                let what = if base.is_null() { "null" } else { "undefined" };
                Err(self.throw_type(&format!("Cannot read properties of {what} (reading '{text}')")))
            }
        }
    }

    /// GetMethod (7.3.11): undefined where the property is undefined or null.
    ///
    /// # Errors
    /// TypeError if it is not callable.
    pub fn get_method(&mut self, base: Value, key: Key) -> Completion {
        let method = self.get_value(base, key)?;
        if method.is_nullish() {
            return Ok(Value::UNDEFINED);
        }
        if !self.is_callable(method) {
            let text = self.key_text(key);
            return Err(self.throw_type(&format!("property '{text}' is not a function")));
        }
        Ok(method)
    }

    /// [[Set]] of `object` with `receiver`: false where the assignment is refused.
    ///
    /// # Errors
    /// Whatever a setter or proxy trap throws; out of memory.
    pub fn set_with_receiver(&mut self, object: Ref, key: Key, value: Value, receiver: Value) -> Completion<bool> {
        let mut at = object;
        let found = loop {
            match self.cage.kind(at) {
                Kind::Proxy => {
                    self.check_native_stack()?;
                    return self.proxy_set(at, key, value, receiver);
                }
                Kind::TypedArray => {
                    if let Some(result) = self.typed_array_set(at, key, value, receiver)? {
                        return Ok(result);
                    }
                }
                Kind::ModuleNamespace => return Ok(false),
                _ => {}
            }
            if let Some(found) = self.own_property(at, key)? {
                break Some(found);
            }
            at = self.ordinary_prototype(at);
            if at.is_null() {
                break None;
            }
        };
        if let Some(found) = found {
            if found.is_accessor() {
                let setter = self.cage.r(found.value.as_ref(), 8);
                if setter.is_null() {
                    return Ok(false);
                }
                self.call(Value::object(setter), receiver, &[value])?;
                return Ok(true);
            }
            if !found.writable() {
                return Ok(false);
            }
            if receiver == Value::object(at) {
                return self.store_existing(at, key, value);
            }
        }
        let Some(target) = receiver.to_object_ref() else { return Ok(false) };
        if self.cage.is(target, Kind::Proxy) || at != target || found.is_none() {
            return self.set_on_receiver(target, key, value);
        }
        self.store_existing(target, key, value)
    }

    /// The end of OrdinarySet (10.1.9.2): the receiver gets or changes an own property.
    fn set_on_receiver(&mut self, target: Ref, key: Key, value: Value) -> Completion<bool> {
        if let Some(own) = self.get_own_property(target, key)? {
            if own.is_accessor() || !own.writable() {
                return Ok(false);
            }
            let change = Descriptor { value: Some(value), ..Default::default() };
            return self.define_own_property(target, key, &change);
        }
        if matches!(self.cage.kind(target), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace) {
            return self.define_own_property(target, key, &Descriptor::data(value, DEFAULT));
        }
        self.create_new_property(target, key, value, DEFAULT)
    }

    /// Stores into an own writable data property that exists.
    fn store_existing(&mut self, object: Ref, key: Key, value: Value) -> Completion<bool> {
        match key {
            Key::Index(index) => self.store_element(object, index, value),
            Key::Name(name) => {
                let shape = self.cage.r(object, SHAPE);
                if let Some(slot) = self.shape_lookup(shape, name)? {
                    if slot.attributes & GLOBAL_CELL != 0 {
                        let cell = self.read_slot(object, shape, slot.number).as_ref();
                        self.cage.set(cell, 8, value.0);
                    } else {
                        self.write_slot(object, shape, slot.number, value);
                    }
                    return Ok(true);
                }
                if self.cage.is(object, Kind::Array) && name == self.name(Name::length) {
                    let length = self.to_array_length(value)?;
                    return self.set_array_length(object, length);
                }
                Ok(false)
            }
        }
    }

    /// Adds a property that a non-proxy object lacks; false if it is not extensible.
    fn create_new_property(&mut self, object: Ref, key: Key, value: Value, attributes: u8) -> Completion<bool> {
        if let (Kind::Array, Key::Index(index)) = (self.cage.kind(object), key)
            && self.cage.flags(object) & LENGTH_READ_ONLY != 0
            && index >= self.cage.u32(object, 16)
        {
            return Ok(false);
        }
        if self.cage.flags(self.shape_of(object)) & NON_EXTENSIBLE != 0 && !self.is_private(key) {
            return Ok(false);
        }
        match key {
            Key::Index(index) => self.add_element(object, index, value, attributes)?,
            Key::Name(name) if object == self.global() => self.add_global_property(object, name, value, attributes)?,
            Key::Name(name) => self.add_property(object, name, value, attributes)?,
        }
        Ok(true)
    }

    /// The global object keeps each property in a cell of its own.
    fn add_global_property(&mut self, object: Ref, name: Ref, value: Value, attributes: u8) -> Completion<()> {
        let cell = self.new_property_cell(name, value)?;
        self.add_property(object, name, Value::cell(cell), attributes | GLOBAL_CELL)
    }

    /// A cell that holds one global binding.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_property_cell(&mut self, name: Ref, value: Value) -> Completion<Ref> {
        let cell = self.allocate(Kind::PropertyCell, 16)?;
        self.cage.init(cell.0 + 4, name.0);
        self.cage.init(cell.0 + 8, value.0);
        Ok(cell)
    }

    /// Set (7.3.4) that throws when the assignment is refused.
    ///
    /// # Errors
    /// TypeError; whatever a setter throws.
    pub fn set(&mut self, object: Ref, key: Key, value: Value) -> Completion<()> {
        if self.set_with_receiver(object, key, value, Value::object(object))? {
            return Ok(());
        }
        Err(self.throw_read_only(Value::object(object), key))
    }

    #[cold]
    pub(crate) fn throw_read_only(&mut self, base: Value, key: Key) -> crate::realm::Throw {
        let text = self.key_text(key);
        if self.object_kind(base) == Some(Kind::Proxy) {
            return self.throw_type(&format!("'set' on proxy: trap returned falsish for property '{text}'"));
        }
        let own = base.to_object_ref().and_then(|o| self.get_own_quiet(o, key));
        if own.is_none() && base.is_object() {
            let extensible = self.cage.flags(self.shape_of(base.as_ref())) & NON_EXTENSIBLE == 0;
            if !extensible {
                return self.throw_type(&format!("Cannot add property {text}, object is not extensible"));
            }
        }
        if own.is_some_and(|o| o.is_accessor()) {
            return self.throw_type(&format!("Cannot set property {text} of #<Object> which has only a getter"));
        }
        let what = self.describe(base);
        self.throw_type(&format!("Cannot assign to read only property '{text}' of object '{what}'"))
    }

    /// [[DefineOwnProperty]].
    ///
    /// # Errors
    /// Whatever a proxy trap throws; RangeError for a bad array length; out of memory.
    pub fn define_own_property(&mut self, object: Ref, key: Key, descriptor: &Descriptor) -> Completion<bool> {
        match self.cage.kind(object) {
            Kind::Proxy => return self.proxy_define_own_property(object, key, descriptor),
            Kind::Array => return self.array_define_own_property(object, key, descriptor),
            Kind::TypedArray => {
                if let Some(result) = self.typed_array_define(object, key, descriptor)? {
                    return Ok(result);
                }
            }
            Kind::Arguments => return self.arguments_define_own_property(object, key, descriptor),
            Kind::ModuleNamespace => return self.namespace_define_own_property(object, key, descriptor),
            _ => {}
        }
        self.ordinary_define_own_property(object, key, descriptor)
    }

    /// ValidateAndApplyPropertyDescriptor (10.1.6.3) for objects that are no proxies.
    pub(crate) fn ordinary_define_own_property(&mut self, object: Ref, key: Key, d: &Descriptor) -> Completion<bool> {
        let Some(current) = self.own_property(object, key)? else {
            let mut attributes = 0;
            for (bit, on) in [(ENUMERABLE, d.enumerable), (CONFIGURABLE, d.configurable)] {
                attributes |= if on == Some(true) { bit } else { 0 };
            }
            let value = if d.is_accessor() {
                attributes |= ACCESSOR;
                let part = |v: Option<Value>| v.and_then(Value::to_object_ref).unwrap_or_default();
                Value::cell(self.new_accessor(part(d.get), part(d.set))?)
            } else {
                attributes |= if d.writable == Some(true) { WRITABLE } else { 0 };
                d.value.unwrap_or(Value::UNDEFINED)
            };
            return self.create_new_property(object, key, value, attributes);
        };
        if !self.is_compatible_change(current, d)? {
            return Ok(false);
        }
        self.apply_descriptor(object, key, current, d)?;
        Ok(true)
    }

    /// Steps 3 to 5 of ValidateAndApplyPropertyDescriptor: whether `current` may become `d`.
    pub(crate) fn is_compatible_change(&mut self, current: OwnProperty, d: &Descriptor) -> Completion<bool> {
        if current.configurable() {
            return Ok(true);
        }
        if d.configurable == Some(true) || d.enumerable.is_some_and(|e| e != current.enumerable()) {
            return Ok(false);
        }
        if current.is_accessor() {
            if d.is_data() {
                return Ok(false);
            }
            let cell = current.value.as_ref();
            for (at, part) in [(4, d.get), (8, d.set)] {
                if let Some(part) = part
                    && part.to_object_ref().unwrap_or_default() != self.cage.r(cell, at)
                {
                    return Ok(false);
                }
            }
            return Ok(true);
        }
        if d.is_accessor() {
            return Ok(false);
        }
        if !current.writable() {
            if d.writable == Some(true) {
                return Ok(false);
            }
            if let Some(value) = d.value {
                return self.same_value(value, current.value);
            }
        }
        Ok(true)
    }

    /// Step 6: writes the changed property.
    fn apply_descriptor(&mut self, object: Ref, key: Key, current: OwnProperty, d: &Descriptor) -> Completion<()> {
        let mut attributes = current.attributes;
        for (bit, on) in [(ENUMERABLE, d.enumerable), (CONFIGURABLE, d.configurable)] {
            match on {
                Some(true) => attributes |= bit,
                Some(false) => attributes &= !bit,
                None => {}
            }
        }
        let value = if d.is_accessor() {
            attributes = attributes & !WRITABLE | ACCESSOR;
            let (mut getter, mut setter) = (Ref::NULL, Ref::NULL);
            if current.is_accessor() {
                getter = self.cage.r(current.value.as_ref(), 4);
                setter = self.cage.r(current.value.as_ref(), 8);
            }
            if let Some(get) = d.get {
                getter = get.to_object_ref().unwrap_or_default();
            }
            if let Some(set) = d.set {
                setter = set.to_object_ref().unwrap_or_default();
            }
            Value::cell(self.new_accessor(getter, setter)?)
        } else if d.is_data() {
            let mut value = current.value;
            if current.is_accessor() {
                attributes &= !(ACCESSOR | WRITABLE);
                value = Value::UNDEFINED;
            }
            match d.writable {
                Some(true) => attributes |= WRITABLE,
                Some(false) => attributes &= !WRITABLE,
                None => {}
            }
            d.value.unwrap_or(value)
        } else {
            current.value
        };
        self.overwrite_property(object, key, value, attributes, current.attributes)
    }

    fn overwrite_property(&mut self, object: Ref, key: Key, value: Value, attributes: u8, old: u8) -> Completion<()> {
        match key {
            Key::Index(index) => self.add_element(object, index, value, attributes),
            Key::Name(name) => {
                let shape = self.cage.r(object, SHAPE);
                let Some(slot) = self.shape_lookup(shape, name)? else { return Ok(()) };
                if slot.attributes & GLOBAL_CELL != 0 {
                    let cell = self.read_slot(object, shape, slot.number).as_ref();
                    if attributes == old && attributes & ACCESSOR == 0 {
                        self.cage.set(cell, 8, value.0);
                        return Ok(());
                    }
                    // Code that knows the old cell must not read it any more: leave a hole there.
                    self.cage.set(cell, 8, Value::HOLE.0);
                    let cell = self.new_property_cell(name, value)?;
                    self.write_slot(object, shape, slot.number, Value::cell(cell));
                    return self.reconfigure_property(object, name, attributes | GLOBAL_CELL);
                }
                if attributes != old {
                    self.reconfigure_property(object, name, attributes)?;
                    if attributes & ACCESSOR != 0 || old & ACCESSOR != 0 {
                        self.prototype_epoch = self.prototype_epoch.wrapping_add(1);
                    }
                }
                let shape = self.cage.r(object, SHAPE);
                self.write_slot(object, shape, slot.number, value);
                Ok(())
            }
        }
    }

    /// DefinePropertyOrThrow (7.3.8).
    ///
    /// # Errors
    /// TypeError when refused.
    pub fn define_or_throw(&mut self, object: Ref, key: Key, descriptor: &Descriptor) -> Completion<()> {
        if self.define_own_property(object, key, descriptor)? {
            return Ok(());
        }
        let text = self.key_text(key);
        if self.cage.is(object, Kind::Proxy) {
            return Err(
                self.throw_type(&format!("'defineProperty' on proxy: trap returned falsish for property '{text}'"))
            );
        }
        let exists = self.get_own_quiet(object, key).is_some();
        Err(self.throw_type(&if exists {
            format!("Cannot redefine property: {text}")
        } else {
            format!("Cannot define property {text}, object is not extensible")
        }))
    }

    /// CreateDataProperty (7.3.5).
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    pub fn create_data_property(&mut self, object: Ref, key: Key, value: Value) -> Completion<bool> {
        self.define_own_property(object, key, &Descriptor::data(value, DEFAULT))
    }

    /// CreateDataPropertyOrThrow (7.3.7).
    ///
    /// # Errors
    /// TypeError when refused.
    pub fn create_data_property_or_throw(&mut self, object: Ref, key: Key, value: Value) -> Completion<()> {
        self.define_or_throw(object, key, &Descriptor::data(value, DEFAULT))
    }

    /// Defines a data property with these attributes on an ordinary object, replacing what was there.
    ///
    /// # Errors
    /// TypeError when refused.
    pub fn define_data(&mut self, object: Ref, key: Key, value: Value, attributes: u8) -> Completion<()> {
        self.define_or_throw(object, key, &Descriptor::data(value, attributes))
    }

    /// [[Delete]].
    ///
    /// # Errors
    /// Whatever a proxy trap throws.
    pub fn delete_property(&mut self, object: Ref, key: Key) -> Completion<bool> {
        match self.cage.kind(object) {
            Kind::Proxy => return self.proxy_delete(object, key),
            Kind::TypedArray => {
                if let Some(has) = self.typed_array_has(object, key)? {
                    return Ok(!has);
                }
            }
            Kind::ModuleNamespace => return self.namespace_delete(object, key),
            _ => {}
        }
        let Some(own) = self.own_property(object, key)? else { return Ok(true) };
        if !own.configurable() {
            return Ok(false);
        }
        match key {
            Key::Index(index) => self.delete_element(object, index)?,
            Key::Name(name) => {
                let shape = self.cage.r(object, SHAPE);
                if let Some(slot) = self.shape_lookup(shape, name)?
                    && slot.attributes & GLOBAL_CELL != 0
                {
                    let cell = self.read_slot(object, shape, slot.number).as_ref();
                    self.cage.set(cell, 8, Value::HOLE.0);
                }
                self.remove_property(object, name)?;
            }
        }
        Ok(true)
    }

    /// [[OwnPropertyKeys]] (10.1.11): a `Values` cell of strings and symbols: indices ascending, strings,
    /// then symbols. Private names are left out.
    ///
    /// # Errors
    /// Whatever a proxy trap throws; out of memory.
    pub fn own_keys(&mut self, object: Ref) -> Completion<Ref> {
        if self.cage.is(object, Kind::Proxy) {
            return self.proxy_own_keys(object);
        }
        if self.cage.is(object, Kind::ModuleNamespace) {
            return self.namespace_own_keys(object);
        }
        let indices = self.element_indices(object);
        let properties = self.shape_properties(self.shape_of(object));
        let has_length = match self.cage.kind(object) {
            Kind::Array => true,
            Kind::PrimitiveObject => Value(self.cage.get(object, 16)).is_string(),
            _ => false,
        };
        let list = self.new_values((indices.len() + properties.len() + 1) as u32, Value::UNDEFINED)?;
        let mut count = 0;
        for index in indices {
            let string = self.index_string(index)?;
            self.cage.set(list, 8 + 8 * count, Value::string(string).0);
            count += 1;
        }
        if has_length {
            self.cage.set(list, 8 + 8 * count, self.name_value(Name::length).0);
            count += 1;
        }
        for symbols in [false, true] {
            for &(key, _) in &properties {
                if self.cage.is(key, Kind::Symbol) != symbols {
                    continue;
                }
                if symbols && self.cage.flags(key) & super::PRIVATE_SYMBOL != 0 {
                    continue;
                }
                let value = if symbols { Value::symbol(key) } else { Value::string(key) };
                self.cage.set(list, 8 + 8 * count, value.0);
                count += 1;
            }
        }
        self.cage.set(list, 4, count);
        Ok(list)
    }

    /// SetIntegrityLevel (7.3.15) and [[PreventExtensions]] for all kinds; `frozen` or only sealed.
    ///
    /// # Errors
    /// Whatever a proxy trap throws; TypeError for typed arrays with elements.
    pub fn set_integrity_level(&mut self, object: Ref, frozen: bool) -> Completion<bool> {
        let ordinary =
            !matches!(self.cage.kind(object), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace | Kind::Arguments)
                && object != self.global();
        if ordinary {
            let keep_data = if frozen { ENUMERABLE } else { ENUMERABLE | WRITABLE };
            self.restrict_shape(object, keep_data, ENUMERABLE)?;
            if self.cage.is(object, Kind::Array) && frozen {
                self.cage.set(object, 1, self.cage.flags(object) | LENGTH_READ_ONLY);
            }
            self.restrict_elements(object, keep_data)?;
            return Ok(true);
        }
        if !self.prevent_extensions(object)? {
            return Ok(false);
        }
        let keys = self.own_keys(object)?;
        for i in 0..self.cage.u32(keys, 4) {
            let key = self.to_property_key(Value(self.cage.get(keys, 8 + 8 * i)))?;
            let mut change = Descriptor { configurable: Some(false), ..Default::default() };
            if frozen {
                let Some(current) = self.get_own_property(object, key)? else { continue };
                if !current.is_accessor() {
                    change.writable = Some(false);
                }
            }
            self.define_or_throw(object, key, &change)?;
        }
        Ok(true)
    }
}
