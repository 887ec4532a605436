//! Proxy (ECMA-262 10.5, 28.2). Target at 16, handler at 20, both 0 once revoked; whether the target could be
//! called or constructed is kept in the header flags.

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::objects::{Descriptor, Key, OwnProperty};
use crate::shapes::{ACCESSOR, CONFIGURABLE, ENUMERABLE, WRITABLE};

#[path = "reflect.rs"]
pub mod reflect;

/// Header flag: the target is callable.
pub const CALLABLE: u8 = 1;
/// Header flag: the target is a constructor.
pub const CONSTRUCTOR: u8 = 2;

const TARGET: u32 = 16;
const HANDLER: u32 = 20;

builtin_table! { 8;
    PROXY("Proxy", 2, constructor) = proxy;
    REVOCABLE("revocable", 2) = revocable;
    REVOKE("", 0) = revoke;
    REFLECT_APPLY("apply", 3) = reflect::apply;
    REFLECT_CONSTRUCT("construct", 2) = reflect::construct;
    REFLECT_DEFINE_PROPERTY("defineProperty", 3) = reflect::define_property;
    REFLECT_DELETE_PROPERTY("deleteProperty", 2) = reflect::delete_property;
    REFLECT_GET("get", 2) = reflect::get;
    REFLECT_GET_OWN_PROPERTY_DESCRIPTOR("getOwnPropertyDescriptor", 2) = reflect::get_own_property_descriptor;
    REFLECT_GET_PROTOTYPE_OF("getPrototypeOf", 1) = reflect::get_prototype_of;
    REFLECT_HAS("has", 2) = reflect::has;
    REFLECT_IS_EXTENSIBLE("isExtensible", 1) = reflect::is_extensible;
    REFLECT_OWN_KEYS("ownKeys", 1) = reflect::own_keys;
    REFLECT_PREVENT_EXTENSIONS("preventExtensions", 1) = reflect::prevent_extensions;
    REFLECT_SET("set", 3) = reflect::set;
    REFLECT_SET_PROTOTYPE_OF("setPrototypeOf", 2) = reflect::set_prototype_of;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let constructor = realm.new_native_function(PROXY, Value::UNDEFINED)?;
    realm.set_intrinsic(Intrinsic::Proxy, Value::object(constructor));
    realm.install_method(constructor, REVOCABLE)?;
    realm.install_global("Proxy", Value::object(constructor))?;
    reflect::install(realm)
}

/// ProxyCreate (10.5.14)
fn create(realm: &mut Realm, args: Args) -> Completion<Ref> {
    let (Some(target), Some(handler)) = (args.get(realm, 0).to_object_ref(), args.get(realm, 1).to_object_ref()) else {
        return Err(realm.throw_type("Cannot create proxy with a non-object as target or handler"));
    };
    let cell = realm.new_object_of(Kind::Proxy, Ref::NULL)?;
    let mut flags = 0;
    if realm.is_callable(Value::object(target)) {
        flags |= CALLABLE;
    }
    if realm.is_constructor(Value::object(target)) {
        flags |= CONSTRUCTOR;
    }
    realm.cage.init(cell.0 + 1, flags);
    realm.cage.init(cell.0 + TARGET, target.0);
    realm.cage.init(cell.0 + HANDLER, handler.0);
    Ok(cell)
}

/// Proxy ( target, handler ) (28.2.1.1)
fn proxy(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    Ok(Value::object(create(realm, args)?))
}

/// Proxy.revocable (28.2.2.1)
fn revocable(realm: &mut Realm, args: Args) -> Completion {
    let proxy = Value::object(create(realm, args)?);
    let name = realm.name_value(Name::empty);
    let revoke = realm.new_native_function_named(REVOKE, proxy, name, 0)?;
    let result = realm.new_object()?;
    realm.create_data_property_or_throw(result, realm.key_for(Name::proxy), proxy)?;
    realm.create_data_property_or_throw(result, realm.key_for(Name::revoke), Value::object(revoke))?;
    Ok(Value::object(result))
}

/// The function that revokes its proxy (28.2.2.1.1).
fn revoke(realm: &mut Realm, args: Args) -> Completion {
    let at = crate::objects::function::DATA;
    let data = Value(realm.cage.get(args.callee, at));
    if let Some(proxy) = data.to_object_ref() {
        realm.cage.set(args.callee, at, Value::NULL.0);
        realm.cage.set(proxy, TARGET, 0u32);
        realm.cage.set(proxy, HANDLER, 0u32);
    }
    Ok(Value::UNDEFINED)
}

/// What every trap starts from.
struct Trap {
    target: Ref,
    handler: Value,
    /// Undefined where the handler lacks the trap.
    function: Value,
}

impl Trap {
    fn is_missing(&self) -> bool {
        self.function.is_undefined()
    }

    /// Calls the trap with the target and these arguments.
    fn call(&self, realm: &mut Realm, args: &[Value]) -> Completion {
        let target = Value::object(self.target);
        match *args {
            [] => realm.call(self.function, self.handler, &[target]),
            [a] => realm.call(self.function, self.handler, &[target, a]),
            [a, b] => realm.call(self.function, self.handler, &[target, a, b]),
            [a, b, c, ..] => realm.call(self.function, self.handler, &[target, a, b, c]),
        }
    }

    fn call_boolean(&self, realm: &mut Realm, args: &[Value]) -> Completion<bool> {
        let result = self.call(realm, args)?;
        Ok(realm.to_boolean(result))
    }
}

impl Realm {
    fn proxy_trap(&mut self, proxy: Ref, name: Name) -> Completion<Trap> {
        self.check_native_stack()?;
        let handler = self.cage.r(proxy, HANDLER);
        if handler.is_null() {
            let text = self.string_text(self.name(name))?;
            return Err(self.throw_type(&format!("Cannot perform '{text}' on a proxy that has been revoked")));
        }
        let target = self.cage.r(proxy, TARGET);
        let handler = Value::object(handler);
        let function = self.get_method(handler, self.key_for(name))?;
        Ok(Trap { target, handler, function })
    }

    /// The TypeError of a broken invariant.
    #[cold]
    fn invariant<T>(&mut self, trap: &str, key: Option<Key>, what: &str) -> Completion<T> {
        let about = key.map(|key| format!(" for property '{}'", self.key_text(key))).unwrap_or_default();
        Err(self.throw_type(&format!("'{trap}' on proxy: trap result{about} is incompatible: {what}")))
    }

    /// [[GetPrototypeOf]] (10.5.1)
    pub(crate) fn proxy_get_prototype_of(&mut self, proxy: Ref) -> Completion<Ref> {
        let trap = self.proxy_trap(proxy, Name::get_prototype_of)?;
        if trap.is_missing() {
            return self.get_prototype_of(trap.target);
        }
        let result = trap.call(self, &[])?;
        if !result.is_object() && !result.is_null() {
            return self.invariant("getPrototypeOf", None, "it is neither object nor null");
        }
        let prototype = result.to_object_ref().unwrap_or_default();
        if self.is_extensible(trap.target)? || self.get_prototype_of(trap.target)? == prototype {
            return Ok(prototype);
        }
        self.invariant("getPrototypeOf", None, "the non-extensible target has another prototype")
    }

    /// [[SetPrototypeOf]] (10.5.2)
    pub(crate) fn proxy_set_prototype_of(&mut self, proxy: Ref, prototype: Ref) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::set_prototype_of)?;
        if trap.is_missing() {
            return self.set_prototype_of(trap.target, prototype);
        }
        if !trap.call_boolean(self, &[Value::object_or_null(prototype)])? {
            return Ok(false);
        }
        if self.is_extensible(trap.target)? || self.get_prototype_of(trap.target)? == prototype {
            return Ok(true);
        }
        self.invariant("setPrototypeOf", None, "the non-extensible target has another prototype")
    }

    /// [[IsExtensible]] (10.5.3)
    pub(crate) fn proxy_is_extensible(&mut self, proxy: Ref) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::is_extensible)?;
        if trap.is_missing() {
            return self.is_extensible(trap.target);
        }
        let result = trap.call_boolean(self, &[])?;
        if result != self.is_extensible(trap.target)? {
            return self.invariant("isExtensible", None, "it does not reflect the target's extensibility");
        }
        Ok(result)
    }

    /// [[PreventExtensions]] (10.5.4)
    pub(crate) fn proxy_prevent_extensions(&mut self, proxy: Ref) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::prevent_extensions)?;
        if trap.is_missing() {
            return self.prevent_extensions(trap.target);
        }
        let result = trap.call_boolean(self, &[])?;
        if result && self.is_extensible(trap.target)? {
            return self.invariant("preventExtensions", None, "the target is extensible");
        }
        Ok(result)
    }

    /// [[GetOwnProperty]] (10.5.5)
    pub(crate) fn proxy_get_own_property(&mut self, proxy: Ref, key: Key) -> Completion<Option<OwnProperty>> {
        let name = "getOwnPropertyDescriptor";
        let trap = self.proxy_trap(proxy, Name::get_own_property_descriptor)?;
        if trap.is_missing() {
            return self.get_own_property(trap.target, key);
        }
        let key_value = self.key_value(key)?;
        let result = trap.call(self, &[key_value])?;
        if !result.is_object() && !result.is_undefined() {
            return self.invariant(name, Some(key), "it is neither object nor undefined");
        }
        let own = self.get_own_property(trap.target, key)?;
        if result.is_undefined() {
            let Some(own) = own else { return Ok(None) };
            if !own.configurable() {
                return self.invariant(name, Some(key), "the target has it non-configurable");
            }
            if !self.is_extensible(trap.target)? {
                return self.invariant(name, Some(key), "the non-extensible target has it");
            }
            return Ok(None);
        }
        let extensible = self.is_extensible(trap.target)?;
        let descriptor = self.to_property_descriptor(result)?;
        let reported = self.complete_own_property(&descriptor)?;
        let full = self.complete_descriptor(reported);
        if !self.is_compatible_descriptor(extensible, &full, own)? {
            return self.invariant(name, Some(key), "it does not fit the target's property");
        }
        if !reported.configurable() {
            match own {
                Some(own) if !own.configurable() => {
                    if !full.is_accessor() && !reported.writable() && own.writable() {
                        return self.invariant(name, Some(key), "it is non-writable but writable in the target");
                    }
                }
                _ => return self.invariant(name, Some(key), "it is non-configurable but not so in the target"),
            }
        }
        Ok(Some(reported))
    }

    /// CompletePropertyDescriptor (6.2.6.6), as a found property.
    fn complete_own_property(&mut self, d: &Descriptor) -> Completion<OwnProperty> {
        let bit = |on: Option<bool>, bit: u8| if on == Some(true) { bit } else { 0 };
        let attributes = bit(d.enumerable, ENUMERABLE) | bit(d.configurable, CONFIGURABLE);
        if d.is_accessor() {
            let half = |v: Option<Value>| v.and_then(Value::to_object_ref).unwrap_or_default();
            let cell = self.new_accessor(half(d.get), half(d.set))?;
            return Ok(OwnProperty { value: Value::cell(cell), attributes: attributes | ACCESSOR });
        }
        let attributes = attributes | bit(d.writable, WRITABLE);
        Ok(OwnProperty { value: d.value.unwrap_or(Value::UNDEFINED), attributes })
    }

    /// IsCompatiblePropertyDescriptor (10.1.6.2)
    fn is_compatible_descriptor(
        &mut self,
        extensible: bool,
        d: &Descriptor,
        own: Option<OwnProperty>,
    ) -> Completion<bool> {
        match own {
            None => Ok(extensible),
            Some(own) => self.is_compatible_change(own, d),
        }
    }

    /// [[DefineOwnProperty]] (10.5.6)
    pub(crate) fn proxy_define_own_property(&mut self, proxy: Ref, key: Key, d: &Descriptor) -> Completion<bool> {
        let name = "defineProperty";
        let trap = self.proxy_trap(proxy, Name::define_property)?;
        if trap.is_missing() {
            return self.define_own_property(trap.target, key, d);
        }
        let descriptor = self.descriptor_object(d)?;
        let key_value = self.key_value(key)?;
        if !trap.call_boolean(self, &[key_value, descriptor])? {
            return Ok(false);
        }
        let own = self.get_own_property(trap.target, key)?;
        let extensible = self.is_extensible(trap.target)?;
        let fixes = d.configurable == Some(false);
        let Some(own) = own else {
            if !extensible {
                return self.invariant(name, Some(key), "the target is not extensible");
            }
            if fixes {
                return self.invariant(name, Some(key), "a non-configurable property is missing in the target");
            }
            return Ok(true);
        };
        if !self.is_compatible_descriptor(extensible, d, Some(own))? {
            return self.invariant(name, Some(key), "it does not fit the target's property");
        }
        if fixes && own.configurable() {
            return self.invariant(name, Some(key), "the target's property is configurable");
        }
        if !own.is_accessor() && !own.configurable() && own.writable() && d.writable == Some(false) {
            return self.invariant(name, Some(key), "the target's property is writable");
        }
        Ok(true)
    }

    /// [[HasProperty]] (10.5.7)
    pub(crate) fn proxy_has(&mut self, proxy: Ref, key: Key) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::has)?;
        if trap.is_missing() {
            return self.has_property(trap.target, key);
        }
        let key_value = self.key_value(key)?;
        let result = trap.call_boolean(self, &[key_value])?;
        if !result && let Some(own) = self.get_own_property(trap.target, key)? {
            if !own.configurable() {
                return self.invariant("has", Some(key), "the target has it non-configurable");
            }
            if !self.is_extensible(trap.target)? {
                return self.invariant("has", Some(key), "the non-extensible target has it");
            }
        }
        Ok(result)
    }

    /// [[Get]] (10.5.8)
    pub(crate) fn proxy_get(&mut self, proxy: Ref, key: Key, receiver: Value) -> Completion {
        let trap = self.proxy_trap(proxy, Name::get)?;
        if trap.is_missing() {
            return self.get_with_receiver(trap.target, key, receiver);
        }
        let key_value = self.key_value(key)?;
        let result = trap.call(self, &[key_value, receiver])?;
        if let Some(own) = self.get_own_property(trap.target, key)?
            && !own.configurable()
        {
            if own.is_accessor() {
                if self.cage.r(own.value.as_ref(), 4).is_null() && !result.is_undefined() {
                    return self.invariant("get", Some(key), "the target's accessor has no getter");
                }
            } else if !own.writable() && !self.same_value(result, own.value)? {
                return self.invariant("get", Some(key), "the target's constant has another value");
            }
        }
        Ok(result)
    }

    /// [[Set]] (10.5.9)
    pub(crate) fn proxy_set(&mut self, proxy: Ref, key: Key, value: Value, receiver: Value) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::set)?;
        if trap.is_missing() {
            return self.set_with_receiver(trap.target, key, value, receiver);
        }
        let key_value = self.key_value(key)?;
        if !trap.call_boolean(self, &[key_value, value, receiver])? {
            return Ok(false);
        }
        if let Some(own) = self.get_own_property(trap.target, key)?
            && !own.configurable()
        {
            if own.is_accessor() {
                if self.cage.r(own.value.as_ref(), 8).is_null() {
                    return self.invariant("set", Some(key), "the target's accessor has no setter");
                }
            } else if !own.writable() && !self.same_value(value, own.value)? {
                return self.invariant("set", Some(key), "the target's constant has another value");
            }
        }
        Ok(true)
    }

    /// [[Delete]] (10.5.10)
    pub(crate) fn proxy_delete(&mut self, proxy: Ref, key: Key) -> Completion<bool> {
        let trap = self.proxy_trap(proxy, Name::delete_property)?;
        if trap.is_missing() {
            return self.delete_property(trap.target, key);
        }
        let key_value = self.key_value(key)?;
        if !trap.call_boolean(self, &[key_value])? {
            return Ok(false);
        }
        let Some(own) = self.get_own_property(trap.target, key)? else { return Ok(true) };
        if !own.configurable() {
            return self.invariant("deleteProperty", Some(key), "the target has it non-configurable");
        }
        if !self.is_extensible(trap.target)? {
            return self.invariant("deleteProperty", Some(key), "the non-extensible target has it");
        }
        Ok(true)
    }

    /// [[OwnPropertyKeys]] (10.5.11)
    pub(crate) fn proxy_own_keys(&mut self, proxy: Ref) -> Completion<Ref> {
        let trap = self.proxy_trap(proxy, Name::own_keys)?;
        if trap.is_missing() {
            return self.own_keys(trap.target);
        }
        let result = trap.call(self, &[])?;
        let (list, unchecked) = self.trap_keys(result)?;
        let extensible = self.is_extensible(trap.target)?;
        let target_keys = self.own_keys(trap.target)?;
        let count = self.cage.u32(target_keys, 4);
        // Configurable keys are overwritten by the hole once the other ones were checked.
        let mut fixed = 0;
        let configurable = self.new_values(count, Value::HOLE)?;
        for i in 0..count {
            self.charge(1)?;
            let key_value = Value(self.cage.get(target_keys, 8 + 8 * i));
            let key = self.to_property_key(key_value)?;
            if self.get_own_property(trap.target, key)?.is_some_and(|own| !own.configurable()) {
                fixed += 1;
            } else {
                self.cage.set(configurable, 8 + 8 * i, key_value.0);
            }
        }
        if extensible && fixed == 0 {
            return Ok(list);
        }
        for wanted_fixed in [true, false] {
            for i in 0..count {
                let key_value = Value(self.cage.get(target_keys, 8 + 8 * i));
                let is_fixed = Value(self.cage.get(configurable, 8 + 8 * i)).is_hole();
                if is_fixed == wanted_fixed && !self.map_delete(unchecked, key_value)? {
                    let key = self.to_property_key(key_value)?;
                    return self.invariant("ownKeys", Some(key), "it is missing");
                }
            }
            if extensible {
                return Ok(list);
            }
        }
        if self.collection_size(unchecked) != 0 {
            return self.invariant("ownKeys", None, "it has keys that the non-extensible target lacks");
        }
        Ok(list)
    }

    /// CreateListFromArrayLike(result, property-key) without repetitions: the list, and the same as a set.
    fn trap_keys(&mut self, result: Value) -> Completion<(Ref, Ref)> {
        let Some(object) = result.to_object_ref() else {
            return Err(self.throw_type("CreateListFromArrayLike called on non-object"));
        };
        let length = self.length_of(object)?;
        if length > 4_000_000.0 {
            return Err(self.throw_range("Invalid array length"));
        }
        let list = self.new_values(length as u32, Value::UNDEFINED)?;
        let seen = self.new_collection(Kind::Set, Ref::NULL)?;
        let mut repeated = None;
        for i in 0..length as u32 {
            self.charge(1)?;
            let key_value = self.get(object, Key::Index(i))?;
            if !key_value.is_string() && !key_value.is_symbol() {
                let text = self.describe(key_value);
                return Err(self.throw_type(&format!("{text} is not a valid property name")));
            }
            let table = self.cage.r(seen, 16);
            if self.map_find(table, key_value)?.is_some() {
                repeated = Some(key_value);
            }
            self.map_set(seen, key_value, Value::UNDEFINED)?;
            self.cage.set(list, 8 + 8 * i, key_value.0);
        }
        if let Some(key_value) = repeated {
            let key = self.to_property_key(key_value)?;
            return self.invariant("ownKeys", Some(key), "it is there twice");
        }
        Ok((list, seen))
    }

    /// The arguments of a call as an array.
    fn arguments_array(&mut self, args: Args) -> Completion {
        let array = self.new_array()?;
        for i in 0..args.len() {
            let value = args.get(self, i);
            self.array_push(array, value)?;
        }
        Ok(Value::object(array))
    }

    /// [[Call]] (10.5.12)
    pub(crate) fn proxy_call(&mut self, proxy: Ref, this: Value, args: Args) -> Completion {
        let trap = self.proxy_trap(proxy, Name::apply)?;
        let target = Value::object(trap.target);
        if trap.is_missing() {
            let rest = args.rest(self, 0);
            return self.call(target, this, &rest);
        }
        let list = self.arguments_array(args)?;
        trap.call(self, &[this, list])
    }

    /// [[Construct]] (10.5.13)
    pub(crate) fn proxy_construct(&mut self, proxy: Ref, args: Args) -> Completion {
        let trap = self.proxy_trap(proxy, Name::construct)?;
        let target = Value::object(trap.target);
        if trap.is_missing() {
            let rest = args.rest(self, 0);
            return self.construct(target, &rest, args.new_target);
        }
        let list = self.arguments_array(args)?;
        let result = trap.call(self, &[list, args.new_target])?;
        if !result.is_object() {
            let text = self.describe(result);
            return Err(self.throw_type(&format!("proxy [[Construct]] must return an object, got {text}")));
        }
        Ok(result)
    }
}
