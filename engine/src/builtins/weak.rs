//! WeakMap, WeakSet (ECMA-262 24.3, 24.4), WeakRef and FinalizationRegistry (26.1, 26.2).
//!
//! The collector treats tables of weak collections as ephemerons. A registry's table maps a target to a
//! `Values` list of pairs (held value, unregister token); when the target dies, the collector appends
//! (registry, list) to `Realm::finalized`, and the pairs become jobs once the queue is empty.

use super::*;
use crate::objects::REGISTERED_SYMBOL;

const TABLE: u32 = 16;
const TARGET: u32 = 16;
const CALLBACK: u32 = 24;

pub(super) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    realm.install_constructor(WEAK_MAP, prototype, Intrinsic::WeakMap, Intrinsic::WeakMapPrototype)?;
    realm.install_methods(prototype, &[WEAK_MAP_DELETE, WEAK_MAP_GET, WEAK_MAP_HAS, WEAK_MAP_SET])?;
    realm.install_tag(prototype, "WeakMap")?;
    let prototype = realm.new_plain_prototype()?;
    realm.install_constructor(WEAK_SET, prototype, Intrinsic::WeakSet, Intrinsic::WeakSetPrototype)?;
    realm.install_methods(prototype, &[WEAK_SET_ADD, WEAK_SET_DELETE, WEAK_SET_HAS])?;
    realm.install_tag(prototype, "WeakSet")?;
    let prototype = realm.new_plain_prototype()?;
    realm.install_constructor(WEAK_REF, prototype, Intrinsic::WeakRef, Intrinsic::WeakRefPrototype)?;
    realm.install_method(prototype, WEAK_REF_DEREF)?;
    realm.install_tag(prototype, "WeakRef")?;
    let prototype = realm.new_plain_prototype()?;
    let (constructor, slot) = (Intrinsic::FinalizationRegistry, Intrinsic::FinalizationRegistryPrototype);
    realm.install_constructor(FINALIZATION_REGISTRY, prototype, constructor, slot)?;
    realm.install_methods(prototype, &[FINALIZATION_REGISTER, FINALIZATION_UNREGISTER])?;
    realm.install_tag(prototype, "FinalizationRegistry")
}

impl Realm {
    /// CanBeHeldWeakly (9.13)
    pub(crate) fn can_be_held_weakly(&self, value: Value) -> bool {
        value.is_object() || value.is_symbol() && self.cage.flags(value.as_ref()) & REGISTERED_SYMBOL == 0
    }

    /// AddToKeptObjects (9.11): `target` lives until the running job ends.
    fn keep_during_job(&mut self, target: Value) -> Completion<()> {
        if self.kept_alive.is_null() {
            self.kept_alive = self.new_collection(Kind::Set, Ref::NULL)?;
        }
        let kept = self.kept_alive;
        self.map_set(kept, target, Value::UNDEFINED)
    }

    /// CleanupFinalizationRegistry (9.14) for one dead target: `list` holds its pairs.
    pub(crate) fn run_cleanup(&mut self, registry: Value, list: Value) -> Completion<()> {
        let callback = Value(self.cage.get(registry.as_ref(), CALLBACK));
        let list = list.as_ref();
        for i in 0..self.cage.u32(list, 4) / 2 {
            let held = Value(self.cage.get(list, 8 + 16 * i));
            self.call(callback, Value::UNDEFINED, &[held])?;
        }
        Ok(())
    }
}

/// WeakMap ( [ iterable ] ) (24.3.1.1)
pub fn weak_map(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::WeakMapPrototype)?;
    let map = realm.new_collection(Kind::WeakMap, prototype)?;
    let iterable = args.get(realm, 0);
    if !iterable.is_nullish() {
        let adder = realm.collection_adder(map, Name::set)?;
        realm.for_each_value(iterable, |realm, item| {
            let (key, value) = realm.entry_of(item)?;
            realm.call(adder, Value::object(map), &[key, value]).map(|_| ())
        })?;
    }
    Ok(Value::object(map))
}

/// Entry of the first argument in the weak collection `this`.
fn find(realm: &mut Realm, args: Args, kind: Kind, method: &str) -> Completion<(Ref, Option<u32>)> {
    let collection = realm.this_of_kind(args.this, kind, method)?;
    let key = args.get(realm, 0);
    if !realm.can_be_held_weakly(key) {
        return Ok((collection, None));
    }
    let table = realm.cage.r(collection, TABLE);
    Ok((collection, realm.map_find(table, key)?))
}

fn delete(realm: &mut Realm, args: Args, kind: Kind, method: &str) -> Completion {
    let (collection, found) = find(realm, args, kind, method)?;
    if found.is_none() {
        return Ok(Value::FALSE);
    }
    let key = args.get(realm, 0);
    Ok(Value::boolean(realm.map_delete(collection, key)?))
}

/// WeakMap.prototype.delete (24.3.3.2)
pub fn weak_map_delete(realm: &mut Realm, args: Args) -> Completion {
    delete(realm, args, Kind::WeakMap, "WeakMap.prototype.delete")
}

/// WeakMap.prototype.get (24.3.3.3)
pub fn weak_map_get(realm: &mut Realm, args: Args) -> Completion {
    let (map, found) = find(realm, args, Kind::WeakMap, "WeakMap.prototype.get")?;
    let table = realm.cage.r(map, TABLE);
    Ok(found.map_or(Value::UNDEFINED, |entry| realm.map_value(table, entry)))
}

/// WeakMap.prototype.has (24.3.3.4)
pub fn weak_map_has(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(find(realm, args, Kind::WeakMap, "WeakMap.prototype.has")?.1.is_some()))
}

/// WeakMap.prototype.set (24.3.3.5)
pub fn weak_map_set(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::WeakMap, "WeakMap.prototype.set")?;
    let (key, value) = (args.get(realm, 0), args.get(realm, 1));
    if !realm.can_be_held_weakly(key) {
        let text = realm.describe(key);
        return Err(realm.throw_type(&format!("Invalid value used as weak map key: {text}")));
    }
    realm.map_set(map, key, value)?;
    Ok(args.this)
}

/// WeakSet ( [ iterable ] ) (24.4.1.1)
pub fn weak_set(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::WeakSetPrototype)?;
    let set = realm.new_collection(Kind::WeakSet, prototype)?;
    let iterable = args.get(realm, 0);
    if !iterable.is_nullish() {
        let adder = realm.collection_adder(set, Name::add)?;
        realm.for_each_value(iterable, |realm, item| realm.call(adder, Value::object(set), &[item]).map(|_| ()))?;
    }
    Ok(Value::object(set))
}

/// WeakSet.prototype.add (24.4.3.1)
pub fn weak_set_add(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::WeakSet, "WeakSet.prototype.add")?;
    let value = args.get(realm, 0);
    if !realm.can_be_held_weakly(value) {
        let text = realm.describe(value);
        return Err(realm.throw_type(&format!("Invalid value used in weak set: {text}")));
    }
    realm.map_set(set, value, Value::UNDEFINED)?;
    Ok(args.this)
}

/// WeakSet.prototype.delete (24.4.3.3)
pub fn weak_set_delete(realm: &mut Realm, args: Args) -> Completion {
    delete(realm, args, Kind::WeakSet, "WeakSet.prototype.delete")
}

/// WeakSet.prototype.has (24.4.3.4)
pub fn weak_set_has(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(find(realm, args, Kind::WeakSet, "WeakSet.prototype.has")?.1.is_some()))
}

/// WeakRef ( target ) (26.1.1.1)
pub fn weak_ref(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let target = args.get(realm, 0);
    if !realm.can_be_held_weakly(target) {
        return Err(realm.throw_type("WeakRef: invalid target"));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::WeakRefPrototype)?;
    let cell = realm.new_object_of(Kind::WeakRef, prototype)?;
    realm.cage.init(cell.0 + TARGET, target.0);
    realm.keep_during_job(target)?;
    Ok(Value::object(cell))
}

/// WeakRef.prototype.deref (26.1.3.2)
pub fn weak_ref_deref(realm: &mut Realm, args: Args) -> Completion {
    let cell = realm.this_of_kind(args.this, Kind::WeakRef, "WeakRef.prototype.deref")?;
    let target = Value(realm.cage.get(cell, TARGET));
    if target.is_ref() {
        realm.keep_during_job(target)?;
    }
    Ok(target)
}

/// FinalizationRegistry ( cleanupCallback ) (26.2.1.1)
pub fn finalization_registry(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let callback = args.get(realm, 0);
    if !realm.is_callable(callback) {
        return Err(realm.throw_type("FinalizationRegistry: cleanup must be callable"));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::FinalizationRegistryPrototype)?;
    let registry = realm.new_collection(Kind::FinalizationRegistry, prototype)?;
    realm.cage.init(registry.0 + CALLBACK, callback.0);
    Ok(Value::object(registry))
}

/// FinalizationRegistry.prototype.register (26.2.3.2)
pub fn register(realm: &mut Realm, args: Args) -> Completion {
    let registry =
        realm.this_of_kind(args.this, Kind::FinalizationRegistry, "FinalizationRegistry.prototype.register")?;
    let (target, held, token) = (args.get(realm, 0), args.get(realm, 1), args.get(realm, 2));
    if !realm.can_be_held_weakly(target) {
        return Err(realm.throw_type("FinalizationRegistry.prototype.register: invalid target"));
    }
    if realm.same_value(target, held)? {
        return Err(realm.throw_type("FinalizationRegistry.prototype.register: target and holdings must not be same"));
    }
    if !realm.can_be_held_weakly(token) && !token.is_undefined() {
        let text = realm.describe(token);
        return Err(realm.throw_type(&format!("Invalid unregisterToken ('{text}')")));
    }
    let table = realm.cage.r(registry, TABLE);
    let old = realm.map_find(table, target)?.map(|entry| realm.map_value(table, entry).as_ref());
    let count = old.map_or(0, |list| realm.cage.u32(list, 4));
    let list = realm.new_values(count + 2, Value::UNDEFINED)?;
    if let Some(old) = old {
        realm.cage.copy(old.0 + 8, list.0 + 8, 8 * count);
    }
    realm.cage.set(list, 8 + 8 * count, held.0);
    realm.cage.set(list, 16 + 8 * count, token.0);
    realm.map_set(registry, target, Value::cell(list))?;
    Ok(Value::UNDEFINED)
}

/// FinalizationRegistry.prototype.unregister (26.2.3.3)
pub fn unregister(realm: &mut Realm, args: Args) -> Completion {
    let method = "FinalizationRegistry.prototype.unregister";
    let registry = realm.this_of_kind(args.this, Kind::FinalizationRegistry, method)?;
    let token = args.get(realm, 0);
    if !realm.can_be_held_weakly(token) {
        let text = realm.describe(token);
        return Err(realm.throw_type(&format!("Invalid unregisterToken ('{text}')")));
    }
    let table = realm.cage.r(registry, TABLE);
    let mut removed = false;
    for entry in 0..realm.cage.u32(table, 8) {
        realm.charge(1)?;
        let target = realm.map_key(table, entry);
        if target.is_hole() {
            continue;
        }
        let list = realm.map_value(table, entry).as_ref();
        let count = realm.cage.u32(list, 4) / 2;
        let mut kept = 0;
        for i in 0..count {
            let (held, own) = (Value(realm.cage.get(list, 8 + 16 * i)), Value(realm.cage.get(list, 16 + 16 * i)));
            if own != token {
                realm.cage.set(list, 8 + 16 * kept, held.0);
                realm.cage.set(list, 16 + 16 * kept, own.0);
                kept += 1;
            }
        }
        if kept == count {
            continue;
        }
        removed = true;
        realm.cage.set(list, 4, 2 * kept);
        if kept == 0 {
            realm.map_delete(registry, target)?;
        }
    }
    Ok(Value::boolean(removed))
}
