//! Property access of the interpreter: inline-cache misses, globals, elements, object literals.

use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind, SHAPE, SLOTS};
use crate::names::Intrinsic;
use crate::objects::{Descriptor, Key};
use crate::realm::{Completion, Realm, Throw};
use crate::shapes::{ACCESSOR, DEFAULT, DICTIONARY, GLOBAL_CELL, HIDDEN, NON_EXTENSIBLE, WRITABLE};
use crate::value::Value;

impl Realm {
    fn fill_cache(&self, at: u32, shape: Ref, second: Ref, code: u32) {
        self.cage.init(at, shape.0);
        self.cage.init(at + 4, second.0);
        self.cage.init(at + 8, code);
        self.cage.init(at + 12, self.prototype_epoch);
    }

    /// GetValue of a property reference with a name, after a cache miss; fills the cache at `at` (0: none).
    #[inline(never)]
    pub(crate) fn get_property(&mut self, base: Value, name: Ref, at: u32) -> Completion {
        let cage = self.cage;
        let start = if base.is_object() {
            let object = base.as_ref();
            let shape = cage.r(object, SHAPE);
            // A cache that is still empty gets filled first; this one is for sites that see many shapes.
            let site_is_empty = at != 0 && cage.read::<u32>(at) == 0;
            if !site_is_empty && let Some(code) = self.megamorphic.find(shape, name) {
                let value = self.read_code(object, code);
                if value != Value::LAZY {
                    return Ok(value);
                }
            }
            object
        } else if base.is_string() && name == self.name(crate::names::Name::length) {
            return Ok(Value::int(self.string_len(base.as_ref()) as i32));
        } else {
            match self.primitive_prototype(base) {
                Some(prototype) => prototype,
                None => return Err(self.throw_read_of_nullish(base, Key::Name(name))),
            }
        };
        // Walk ordinary objects; anything exotic takes the general way.
        let mut holder = start;
        let mut cacheable = true;
        loop {
            let kind = cage.kind(holder);
            if matches!(kind, Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace) {
                return self.get_with_receiver(holder, Key::Name(name), base);
            }
            let shape = cage.r(holder, SHAPE);
            if let Some(slot) = self.shape_lookup(shape, name)? {
                if slot.attributes & (ACCESSOR | GLOBAL_CELL) == 0 {
                    let code = self.slot_code(shape, slot.number);
                    let value = self.read_code(holder, code);
                    if value == Value::LAZY {
                        return self.make_lazy_property(holder, name, shape, slot.number);
                    }
                    self.remember_get(at, base, start, holder, shape, name, code, cacheable);
                    return Ok(value);
                }
                let found = self.property_in_slot(holder, shape, name, slot)?;
                if !found.is_accessor() {
                    return Ok(found.value);
                }
                let getter = cage.r(found.value.as_ref(), 4);
                if getter.is_null() {
                    return Ok(Value::UNDEFINED);
                }
                return self.call(Value::object(getter), base, &[]);
            }
            if matches!(kind, Kind::Array | Kind::PrimitiveObject)
                && let Some(found) = self.own_property(holder, Key::Name(name))?
            {
                return Ok(found.value);
            }
            if holder == start {
                // A dictionary may get the property later without a change of shape.
                cacheable = cage.flags(shape) & DICTIONARY == 0;
            }
            holder = cage.r(shape, 16);
            if holder.is_null() {
                return Ok(Value::UNDEFINED);
            }
        }
    }

    #[inline(always)]
    pub(crate) fn read_code(&self, object: Ref, code: u32) -> Value {
        if code & 0x8000_0000 == 0 {
            Value(self.cage.get(object, code))
        } else {
            Value(self.cage.read(self.cage.u32(object, SLOTS) + (code & 0x7FFF_FFFF)))
        }
    }

    #[allow(clippy::too_many_arguments)]
    fn remember_get(
        &mut self,
        at: u32,
        base: Value,
        start: Ref,
        holder: Ref,
        shape: Ref,
        name: Ref,
        code: u32,
        cacheable: bool,
    ) {
        if !base.is_object() {
            return;
        }
        if holder == start {
            if at != 0 {
                let polymorphic = self.cage.read::<u32>(at) != 0;
                self.fill_cache(at, shape, Ref::NULL, code);
                if !polymorphic {
                    return;
                }
            }
            self.megamorphic.insert(shape, name, code);
        } else if at != 0 && cacheable {
            // Every object on the way is a prototype: any change to one bumps the epoch.
            self.fill_cache(at, self.cage.r(start, SHAPE), holder, code);
        }
    }

    #[cold]
    pub(crate) fn throw_read_of_nullish(&mut self, base: Value, key: Key) -> Throw {
        let what = if base.is_null() { "null" } else { "undefined" };
        let text = self.key_text(key);
        self.throw_type(&format!("Cannot read properties of {what} (reading '{text}')"))
    }

    /// PutValue of a property reference with a name; fills the cache at `at` (0: none).
    #[inline(never)]
    pub(crate) fn set_property(&mut self, base: Value, name: Ref, value: Value, at: u32, fp: u32) -> Completion<()> {
        let key = Key::Name(name);
        let Some(object) = base.to_object_ref() else {
            return self.set_on_primitive(base, key, value, fp);
        };
        let cage = self.cage;
        let shape = cage.r(object, SHAPE);
        if !matches!(cage.kind(object), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace) {
            if let Some(slot) = self.shape_lookup(shape, name)? {
                if slot.attributes & (ACCESSOR | GLOBAL_CELL | WRITABLE) == WRITABLE {
                    let code = self.slot_code(shape, slot.number);
                    if at != 0 {
                        self.fill_cache(at, shape, Ref::NULL, code);
                    }
                    self.write_slot(object, shape, slot.number, value);
                    return Ok(());
                }
            } else if object != self.global()
                && !(cage.is(object, Kind::Array) && name == self.name(crate::names::Name::length))
            {
                let done = self.try_add_by_set(object, shape, name, value, at)?;
                if done {
                    return Ok(());
                }
            }
        }
        if !self.set_with_receiver(object, key, value, base)? && self.frame_is_strict(fp) {
            return Err(self.throw_read_only(base, key));
        }
        Ok(())
    }

    /// Adds the property when nothing on the prototype chain has a say.
    fn try_add_by_set(&mut self, object: Ref, shape: Ref, name: Ref, value: Value, at: u32) -> Completion<bool> {
        let cage = self.cage;
        if cage.flags(shape) & NON_EXTENSIBLE != 0 {
            return Ok(false);
        }
        let mut holder = cage.r(shape, 16);
        while !holder.is_null() {
            if matches!(cage.kind(holder), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace) {
                return Ok(false);
            }
            let holder_shape = cage.r(holder, SHAPE);
            if let Some(slot) = self.shape_lookup(holder_shape, name)? {
                if slot.attributes & (ACCESSOR | WRITABLE) != WRITABLE {
                    return Ok(false);
                }
                break;
            }
            if self.own_property(holder, Key::Name(name))?.is_some() {
                return Ok(false);
            }
            holder = cage.r(holder_shape, 16);
        }
        self.add_property(object, name, value, DEFAULT)?;
        let child = cage.r(object, SHAPE);
        let is_child = cage.flags(child) & DICTIONARY == 0 && cage.r(child, 4) == shape;
        if at != 0 && is_child {
            let number = cage.u32(child, 12) >> 8;
            self.fill_cache(at, shape, child, self.slot_code(child, number));
        }
        Ok(true)
    }

    #[inline(never)]
    fn set_on_primitive(&mut self, base: Value, key: Key, value: Value, fp: u32) -> Completion<()> {
        let Some(prototype) = self.primitive_prototype(base) else {
            let what = if base.is_null() { "null" } else { "undefined" };
            let text = self.key_text(key);
            return Err(self.throw_type(&format!("Cannot set properties of {what} (setting '{text}')")));
        };
        // A string's own length and indices are read-only; everything else goes to the prototype chain.
        let own_of_string = base.is_string()
            && match key {
                Key::Index(index) => index < self.string_len(base.as_ref()),
                Key::Name(name) => name == self.name(crate::names::Name::length),
            };
        let done = !own_of_string && self.set_with_receiver(prototype, key, value, base)?;
        if !done && self.frame_is_strict(fp) {
            let text = self.key_text(key);
            let what = self.describe(base);
            return Err(self.throw_type(&format!("Cannot create property '{text}' on primitive '{what}'")));
        }
        Ok(())
    }

    pub(crate) fn frame_is_strict(&self, fp: u32) -> bool {
        self.template_is_strict(self.frame_template(fp))
    }

    /// GetValue of `base[key]`.
    #[inline(never)]
    pub(crate) fn get_element(&mut self, base: Value, key: Value) -> Completion {
        let cage = self.cage;
        if base.is_object() {
            let object = base.as_ref();
            if key.is_int() && key.as_int() >= 0 {
                let index = key.as_int() as u32;
                if cage.is(object, Kind::TypedArray) {
                    return Ok(self.typed_array_element(object, index).unwrap_or(Value::UNDEFINED));
                }
                return self.get_with_receiver(object, Key::Index(index), base);
            }
            if key.is_string() {
                let name = self.intern(key.as_ref())?;
                if cage.u32(name, 12) == u32::MAX {
                    return self.get_property_computed(base, object, name);
                }
            }
        } else if base.is_string() && key.is_int() {
            let index = key.as_int() as u32;
            if index < self.string_len(base.as_ref()) {
                let unit = self.unit_at(base.as_ref(), index)?;
                return Ok(Value::string(self.unit_string(unit)?));
            }
        } else if base.is_nullish() {
            let what = if base.is_null() { "null" } else { "undefined" };
            let text = if key.is_object() {
                "[object]".into()
            } else {
                self.to_property_key(key).map(|k| self.key_text(k)).unwrap_or_default()
            };
            return Err(self.throw_type(&format!("Cannot read properties of {what} (reading '{text}')")));
        }
        let key = self.to_property_key(key)?;
        self.get_value(base, key)
    }

    fn get_property_computed(&mut self, base: Value, object: Ref, name: Ref) -> Completion {
        let shape = self.cage.r(object, SHAPE);
        if let Some(code) = self.megamorphic.find(shape, name) {
            let value = self.read_code(object, code);
            if value != Value::LAZY {
                return Ok(value);
            }
        }
        if !matches!(self.cage.kind(object), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace)
            && let Some(slot) = self.shape_lookup(shape, name)?
            && slot.attributes & (ACCESSOR | GLOBAL_CELL) == 0
        {
            let code = self.slot_code(shape, slot.number);
            let value = self.read_code(object, code);
            if value != Value::LAZY {
                self.megamorphic.insert(shape, name, code);
                return Ok(value);
            }
        }
        self.get_with_receiver(object, Key::Name(name), base)
    }

    /// PutValue of `base[key]`.
    #[inline(never)]
    pub(crate) fn set_element(&mut self, base: Value, key: Value, value: Value, fp: u32) -> Completion<()> {
        if base.is_object() {
            let object = base.as_ref();
            if key.is_int() && key.as_int() >= 0 && self.cage.is(object, Kind::TypedArray) {
                return self.typed_array_store(object, key.as_int() as u32, value);
            }
            if key.is_string() {
                let name = self.intern(key.as_ref())?;
                if self.cage.u32(name, 12) == u32::MAX {
                    return self.set_property(base, name, value, 0, fp);
                }
            }
        } else if base.is_nullish() && !key.is_object() {
            let key = self.to_property_key(key)?;
            return self.set_on_primitive(base, key, value, fp);
        }
        if base.is_nullish() {
            return Err(self.throw_type("Cannot set properties of undefined or null"));
        }
        let key = self.to_property_key(key)?;
        match base.to_object_ref() {
            Some(object) => {
                if !self.set_with_receiver(object, key, value, base)? && self.frame_is_strict(fp) {
                    return Err(self.throw_read_only(base, key));
                }
                Ok(())
            }
            None => self.set_on_primitive(base, key, value, fp),
        }
    }

    // --- globals

    /// The cell of a global binding: script-level lexicals first, then the global object's own property.
    pub(crate) fn global_cell(&mut self, name: Ref) -> Completion<Option<(Ref, u8)>> {
        for holder in [self.intrinsic(Intrinsic::GlobalLexicals), self.global()] {
            let shape = self.cage.r(holder, SHAPE);
            if let Some(slot) = self.shape_lookup(shape, name)?
                && slot.attributes & GLOBAL_CELL != 0
            {
                return Ok(Some((self.read_slot(holder, shape, slot.number).as_ref(), slot.attributes)));
            }
        }
        Ok(None)
    }

    /// GetValue of a global name. `at`: cache or 0. `quiet`: missing gives undefined.
    #[inline(never)]
    pub(crate) fn get_global(&mut self, name: Ref, at: u32, quiet: bool) -> Completion {
        if let Some((cell, attributes)) = self.global_cell(name)? {
            let value = Value(self.cage.get(cell, 8));
            if value.is_hole() {
                return Err(self.throw_uninitialized(Value::string(name)));
            }
            if attributes & ACCESSOR == 0 && value != Value::LAZY {
                if at != 0 {
                    self.fill_cache(at, Ref::NULL, cell, 0);
                }
                return Ok(value);
            }
        }
        let global = self.global();
        let key = self.key_of_interned(name);
        if self.has_property(global, key)? {
            return self.get(global, key);
        }
        if quiet {
            return Ok(Value::UNDEFINED);
        }
        let text = self.view_flat(name).to_text();
        Err(self.throw_reference(&format!("{text} is not defined")))
    }

    /// Value of a global binding (lexical or property of the global object) by interned name.
    ///
    /// # Errors
    /// ReferenceError where it is missing or uninitialized; what a getter throws.
    pub fn global_value(&mut self, name: Ref) -> Completion {
        self.get_global(name, 0, false)
    }

    /// PutValue of a global name.
    #[inline(never)]
    pub(crate) fn set_global(&mut self, name: Ref, value: Value, at: u32, fp: u32) -> Completion<()> {
        if let Some((cell, attributes)) = self.global_cell(name)? {
            let lexical = {
                let holder = self.intrinsic(Intrinsic::GlobalLexicals);
                let shape = self.cage.r(holder, SHAPE);
                self.shape_lookup(shape, name)?.is_some()
            };
            if lexical && Value(self.cage.get(cell, 8)).is_hole() {
                return Err(self.throw_uninitialized(Value::string(name)));
            }
            if attributes & (ACCESSOR | WRITABLE) == WRITABLE {
                if at != 0 {
                    self.fill_cache(at, Ref::NULL, cell, 0);
                }
                self.cage.set(cell, 8, value.0);
                return Ok(());
            }
            if lexical {
                return Err(self.throw_const_assign(Value::string(name)));
            }
        }
        let global = self.global();
        let key = self.key_of_interned(name);
        let strict = self.frame_is_strict(fp);
        if strict && !self.has_property(global, key)? {
            let text = self.view_flat(name).to_text();
            return Err(self.throw_reference(&format!("{text} is not defined")));
        }
        if !self.set_with_receiver(global, key, value, Value::object(global))? && strict {
            return Err(self.throw_read_only(Value::object(global), key));
        }
        Ok(())
    }

    pub(crate) fn init_global_lexical(&mut self, name: Ref, value: Value) -> Completion<()> {
        let holder = self.intrinsic(Intrinsic::GlobalLexicals);
        let shape = self.cage.r(holder, SHAPE);
        if let Some(slot) = self.shape_lookup(shape, name)? {
            let cell = self.read_slot(holder, shape, slot.number).as_ref();
            self.cage.set(cell, 8, value.0);
        }
        Ok(())
    }

    pub(crate) fn delete_global(&mut self, name: Ref) -> Completion {
        let lexicals = self.intrinsic(Intrinsic::GlobalLexicals);
        let shape = self.cage.r(lexicals, SHAPE);
        if self.shape_lookup(shape, name)?.is_some() {
            return Ok(Value::FALSE);
        }
        let key = self.key_of_interned(name);
        Ok(Value::boolean(self.delete_property(self.global(), key)?))
    }

    // --- literals and classes

    /// CreateDataProperty of an object literal; fills the cache with the transition.
    #[inline(never)]
    pub(crate) fn define_literal_property(&mut self, object: Ref, name: Ref, value: Value, at: u32) -> Completion<()> {
        let key = self.key_of_interned(name);
        let cage = self.cage;
        let shape = cage.r(object, SHAPE);
        if let (Key::Name(name), Kind::Object) = (key, cage.kind(object))
            && cage.flags(shape) & NON_EXTENSIBLE == 0
            && self.shape_lookup(shape, name)?.is_none()
            && object != self.global()
        {
            self.add_property(object, name, value, DEFAULT)?;
            let child = cage.r(object, SHAPE);
            if at != 0 && cage.flags(child) & DICTIONARY == 0 && cage.r(child, 4) == shape {
                let number = cage.u32(child, 12) >> 8;
                self.fill_cache(at, shape, child, self.slot_code(child, number));
            }
            return Ok(());
        }
        self.create_data_property_or_throw(object, key, value)
    }

    pub(crate) fn define_literal_element(&mut self, object: Value, key: Value, value: Value) -> Completion<()> {
        let key = self.to_property_key(key)?;
        self.create_data_property_or_throw(object.as_ref(), key, value)
    }

    /// DefineField (7.3.34) of a public or private field.
    pub(crate) fn define_field(&mut self, object: Value, key: Value, value: Value) -> Completion<()> {
        let key = self.to_property_key(key)?;
        if self.is_private(key) {
            return self.add_private(object, key, value, WRITABLE);
        }
        self.create_data_property_or_throw(object.as_ref(), key, value)
    }

    pub(crate) fn define_method(&mut self, object: Value, key: Value, value: Value, bits: u16) -> Completion<()> {
        let key = self.to_property_key(key)?;
        let attributes = if bits & 1 != 0 { DEFAULT } else { HIDDEN };
        self.define_or_throw(object.as_ref(), key, &Descriptor::data(value, attributes))
    }

    pub(crate) fn define_accessor(
        &mut self,
        object: Value,
        key: Value,
        function: Value,
        getter: bool,
        bits: u16,
    ) -> Completion<()> {
        let key = self.to_property_key(key)?;
        let mut d = Descriptor { enumerable: Some(bits & 1 != 0), configurable: Some(true), ..Default::default() };
        if getter {
            d.get = Some(function);
        } else {
            d.set = Some(function);
        }
        self.define_or_throw(object.as_ref(), key, &d)
    }

    /// PrivateFieldAdd / PrivateMethodOrAccessorAdd (7.3.31, 7.3.32).
    fn add_private(&mut self, object: Value, key: Key, value: Value, attributes: u8) -> Completion<()> {
        let Some(target) = object.to_object_ref() else {
            return Err(self.throw_type("Cannot define private name on a non-object"));
        };
        let Key::Name(name) = key else { return Ok(()) };
        let shape = self.cage.r(target, SHAPE);
        if self.shape_lookup(shape, name)?.is_some() {
            let text = self.key_text(key);
            return Err(self.throw_type(&format!("Cannot initialize {text} twice on the same object")));
        }
        self.add_property(target, name, value, attributes)
    }

    pub(crate) fn define_private_method(
        &mut self,
        object: Value,
        name: Value,
        function: Value,
        what: u16,
    ) -> Completion<()> {
        let key = Key::Name(name.as_ref());
        if what == 0 {
            return self.add_private(object, key, function, 0);
        }
        let target = object.as_ref();
        let function = function.as_ref();
        let shape = self.cage.r(target, SHAPE);
        if let Some(slot) = self.shape_lookup(shape, name.as_ref())? {
            // The other half of a getter and setter pair joins the accessor that is there.
            let accessor = self.read_slot(target, shape, slot.number);
            let at = if what == 1 { 4 } else { 8 };
            if slot.attributes & ACCESSOR != 0 && self.cage.r(accessor.as_ref(), at).is_null() {
                self.cage.set(accessor.as_ref(), at, function.0);
                return Ok(());
            }
        }
        let accessor =
            if what == 1 { self.new_accessor(function, Ref::NULL)? } else { self.new_accessor(Ref::NULL, function)? };
        self.add_private(object, key, Value::cell(accessor), ACCESSOR)
    }

    fn find_private(&mut self, base: Value, name: Value, doing: &str) -> Completion<(Ref, Ref, crate::shapes::Slot)> {
        let key = Key::Name(name.as_ref());
        if let Some(object) = base.to_object_ref() {
            let shape = self.cage.r(object, SHAPE);
            if let Some(slot) = self.shape_lookup(shape, name.as_ref())? {
                return Ok((object, shape, slot));
            }
        }
        let text = self.key_text(key);
        Err(self.throw_type(&format!(
            "Cannot {doing} private member {text} {} an object whose class did not declare it",
            if doing == "read" { "from" } else { "to" }
        )))
    }

    pub(crate) fn get_private(&mut self, base: Value, name: Value) -> Completion {
        let (object, shape, slot) = self.find_private(base, name, "read")?;
        let value = self.read_slot(object, shape, slot.number);
        if slot.attributes & ACCESSOR == 0 {
            return Ok(value);
        }
        let getter = self.cage.r(value.as_ref(), 4);
        if getter.is_null() {
            let text = self.key_text(Key::Name(name.as_ref()));
            return Err(self.throw_type(&format!("'{text}' was defined without a getter")));
        }
        self.call(Value::object(getter), base, &[])
    }

    pub(crate) fn set_private(&mut self, base: Value, name: Value, value: Value) -> Completion<()> {
        let (object, shape, slot) = self.find_private(base, name, "write")?;
        if slot.attributes & WRITABLE != 0 {
            self.write_slot(object, shape, slot.number, value);
            return Ok(());
        }
        let text = self.key_text(Key::Name(name.as_ref()));
        if slot.attributes & ACCESSOR == 0 {
            return Err(self.throw_type(&format!("Private method '{text}' is not writable")));
        }
        let setter = self.cage.r(self.read_slot(object, shape, slot.number).as_ref(), 8);
        if setter.is_null() {
            return Err(self.throw_type(&format!("'{text}' was defined without a setter")));
        }
        self.call(Value::object(setter), base, &[value])?;
        Ok(())
    }

    pub(crate) fn has_private(&mut self, base: Value, name: Value) -> Completion {
        let Some(object) = base.to_object_ref() else {
            return Err(self.throw_type("Cannot use 'in' operator to search for a private name in a non-object"));
        };
        let shape = self.cage.r(object, SHAPE);
        Ok(Value::boolean(self.shape_lookup(shape, name.as_ref())?.is_some()))
    }

    // --- operators on properties

    pub(crate) fn delete_operator(&mut self, base: Value, key: Value, fp: u32) -> Completion {
        if base.is_nullish() {
            return Err(self.throw_type("Cannot convert undefined or null to object"));
        }
        let object = self.to_object(base)?;
        let key = if key.is_string() { self.key_of_string(key.as_ref())? } else { self.to_property_key(key)? };
        let done = self.delete_property(object, key)?;
        if !done && self.frame_is_strict(fp) {
            let text = self.key_text(key);
            return Err(self.throw_type(&format!("Cannot delete property '{text}' of #<Object>")));
        }
        Ok(Value::boolean(done))
    }

    pub(crate) fn in_operator(&mut self, key: Value, object: Value) -> Completion {
        let Some(target) = object.to_object_ref() else {
            let text = self.describe(object);
            return Err(self.throw_type(&format!("Cannot use 'in' operator to search for a key in {text}")));
        };
        let key = self.to_property_key(key)?;
        Ok(Value::boolean(self.has_property(target, key)?))
    }

    /// CopyDataProperties (7.3.25); excluded keys lie in `count` registers at `excluded`.
    pub(crate) fn copy_data_properties(
        &mut self,
        target: Value,
        source: Value,
        excluded: u32,
        count: u32,
    ) -> Completion<()> {
        if source.is_nullish() {
            return Ok(());
        }
        let target = target.as_ref();
        let source = self.to_object(source)?;
        let mut skip = Vec::with_capacity(count as usize);
        for i in 0..count {
            skip.push(self.to_property_key(Value(self.cage.read(excluded + 8 * i)))?);
        }
        let keys = self.own_keys(source)?;
        for i in 0..self.cage.u32(keys, 4) {
            let key = self.to_property_key(Value(self.cage.get(keys, 8 + 8 * i)))?;
            if skip.contains(&key) {
                continue;
            }
            if let Some(own) = self.get_own_property(source, key)?
                && own.enumerable()
            {
                let value = if own.is_accessor() || self.cage.is(source, Kind::Proxy) {
                    self.get(source, key)?
                } else {
                    own.value
                };
                self.create_data_property_or_throw(target, key, value)?;
            }
        }
        Ok(())
    }

    // --- super

    fn home_object(&mut self, fp: u32) -> Completion<Ref> {
        let callee = Value(self.cage.read(fp - super::CALLEE)).as_ref();
        match self.cage.r(callee, crate::objects::function::HOME_OBJECT).some() {
            Some(home) => Ok(home),
            None => Err(self.throw_syntax("'super' keyword unexpected here")),
        }
    }

    pub(crate) fn get_super(&mut self, fp: u32, key: Value, receiver: Value) -> Completion {
        let home = self.home_object(fp)?;
        let parent = self.get_prototype_of(home)?;
        let key = self.to_property_key(key)?;
        if parent.is_null() {
            return Err(self.throw_read_of_nullish(Value::NULL, key));
        }
        self.get_with_receiver(parent, key, receiver)
    }

    pub(crate) fn set_super(&mut self, fp: u32, key: Value, value: Value, receiver: Value) -> Completion<()> {
        let home = self.home_object(fp)?;
        let parent = self.get_prototype_of(home)?;
        let key = self.to_property_key(key)?;
        if parent.is_null() {
            return Err(self.throw_type("Cannot set properties of null"));
        }
        if !self.set_with_receiver(parent, key, value, receiver)? && self.frame_is_strict(fp) {
            return Err(self.throw_read_only(receiver, key));
        }
        Ok(())
    }

    pub(crate) fn get_super_constructor(&mut self, function: Value) -> Completion {
        let parent = self.get_prototype_of(function.as_ref())?;
        let parent = Value::object_or_null(parent);
        if !self.is_constructor(parent) {
            let text = self.describe(parent);
            return Err(self.throw_type(&format!("Super constructor {text} of anonymous class is not a constructor")));
        }
        Ok(parent)
    }

    /// Makes room in a fresh array literal.
    pub(crate) fn new_array_with_room(&mut self, room: u32) -> Completion<Ref> {
        let array = self.new_array()?;
        if room > 8 {
            let elements = self.new_elements(Kind::ElementsInt, room)?;
            self.cage.set(array, ELEMENTS, elements.0);
        }
        Ok(array)
    }
}
