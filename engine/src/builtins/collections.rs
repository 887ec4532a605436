//! Map and Set (ECMA-262 24.1, 24.2). A Map or Set cell holds its `MapTable` at 16; see `objects::map_table`
//! for how iterations survive changes. The set algebra is in `set_algebra`, weak collections in `weak`.

use super::*;
use crate::interp::iterate::sort;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::shapes::HIDDEN;

#[path = "set_algebra.rs"]
pub mod set_algebra;
#[path = "weak.rs"]
pub mod weak;

builtin_table! { 7;
    MAP("Map", 0, constructor) = map;
    MAP_GROUP_BY("groupBy", 2) = map_group_by;
    MAP_CLEAR("clear", 0) = map_clear;
    MAP_DELETE("delete", 1) = map_delete;
    MAP_ENTRIES("entries", 0) = map_entries;
    MAP_FOR_EACH("forEach", 1) = map_for_each;
    MAP_GET("get", 1) = map_get;
    MAP_HAS("has", 1) = map_has;
    MAP_KEYS("keys", 0) = map_keys;
    MAP_SET("set", 2) = map_set;
    MAP_SIZE("get size", 0) = map_size;
    MAP_VALUES("values", 0) = map_values;
    SET("Set", 0, constructor) = set;
    SET_ADD("add", 1) = set_add;
    SET_CLEAR("clear", 0) = set_clear;
    SET_DELETE("delete", 1) = set_delete;
    SET_ENTRIES("entries", 0) = set_entries;
    SET_FOR_EACH("forEach", 1) = set_for_each;
    SET_HAS("has", 1) = set_has;
    SET_SIZE("get size", 0) = set_size;
    SET_VALUES("values", 0) = set_values;
    SET_UNION("union", 1) = set_algebra::union;
    SET_INTERSECTION("intersection", 1) = set_algebra::intersection;
    SET_DIFFERENCE("difference", 1) = set_algebra::difference;
    SET_SYMMETRIC_DIFFERENCE("symmetricDifference", 1) = set_algebra::symmetric_difference;
    SET_IS_SUBSET_OF("isSubsetOf", 1) = set_algebra::is_subset_of;
    SET_IS_SUPERSET_OF("isSupersetOf", 1) = set_algebra::is_superset_of;
    SET_IS_DISJOINT_FROM("isDisjointFrom", 1) = set_algebra::is_disjoint_from;
    WEAK_MAP("WeakMap", 0, constructor) = weak::weak_map;
    WEAK_MAP_DELETE("delete", 1) = weak::weak_map_delete;
    WEAK_MAP_GET("get", 1) = weak::weak_map_get;
    WEAK_MAP_HAS("has", 1) = weak::weak_map_has;
    WEAK_MAP_SET("set", 2) = weak::weak_map_set;
    WEAK_SET("WeakSet", 0, constructor) = weak::weak_set;
    WEAK_SET_ADD("add", 1) = weak::weak_set_add;
    WEAK_SET_DELETE("delete", 1) = weak::weak_set_delete;
    WEAK_SET_HAS("has", 1) = weak::weak_set_has;
    WEAK_REF("WeakRef", 1, constructor) = weak::weak_ref;
    WEAK_REF_DEREF("deref", 0) = weak::weak_ref_deref;
    FINALIZATION_REGISTRY("FinalizationRegistry", 1, constructor) = weak::finalization_registry;
    FINALIZATION_REGISTER("register", 2) = weak::register;
    FINALIZATION_UNREGISTER("unregister", 1) = weak::unregister;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(MAP, prototype, Intrinsic::Map, Intrinsic::MapPrototype)?;
    realm.install_method(constructor, MAP_GROUP_BY)?;
    realm.install_species(constructor)?;
    realm.install_methods(
        prototype,
        &[MAP_CLEAR, MAP_DELETE, MAP_ENTRIES, MAP_FOR_EACH, MAP_GET, MAP_HAS, MAP_KEYS, MAP_SET, MAP_VALUES],
    )?;
    realm.install_getter(prototype, "size", MAP_SIZE)?;
    alias_iterator(realm, prototype, Name::entries)?;
    realm.install_tag(prototype, "Map")?;
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(SET, prototype, Intrinsic::Set, Intrinsic::SetPrototype)?;
    realm.install_species(constructor)?;
    realm.install_methods(
        prototype,
        &[
            SET_ADD,
            SET_CLEAR,
            SET_DELETE,
            SET_ENTRIES,
            SET_FOR_EACH,
            SET_HAS,
            SET_VALUES,
            SET_UNION,
            SET_INTERSECTION,
            SET_DIFFERENCE,
            SET_SYMMETRIC_DIFFERENCE,
            SET_IS_SUBSET_OF,
            SET_IS_SUPERSET_OF,
            SET_IS_DISJOINT_FROM,
        ],
    )?;
    realm.install_getter(prototype, "size", SET_SIZE)?;
    alias_iterator(realm, prototype, Name::values)?;
    let values = realm.get_name(prototype, Name::values)?;
    realm.define_data(prototype, realm.key_for(Name::keys), values, HIDDEN)?;
    realm.install_tag(prototype, "Set")?;
    weak::install(realm)
}

/// Defines `Symbol.iterator` as the same function as method `name`.
fn alias_iterator(realm: &mut Realm, prototype: Ref, name: Name) -> Completion<()> {
    let function = realm.get_name(prototype, name)?;
    let key = Key::Name(realm.symbol(Sym::Iterator));
    realm.define_data(prototype, key, function, HIDDEN)
}

impl Realm {
    /// An empty collection of `kind` (Map, Set, WeakMap, WeakSet or FinalizationRegistry).
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn new_collection(&mut self, kind: Kind, prototype: Ref) -> Completion<Ref> {
        let table = self.new_map_table(4)?;
        let cell = self.new_object_of(kind, prototype)?;
        self.cage.init(cell.0 + 16, table.0);
        Ok(cell)
    }

    /// Number of live entries of a Map or Set.
    pub(crate) fn collection_size(&self, collection: Ref) -> u32 {
        self.cage.u32(self.cage.r(collection, 16), 12)
    }

    /// Whether `value` is the native function with number `builtin`.
    pub(crate) fn is_native(&self, value: Value, builtin: u32) -> bool {
        matches!(value.to_object_ref(), Some(f) if self.cage.is(f, Kind::NativeFunction) && self.cage.u32(f, BUILTIN) == builtin)
    }

    /// Fails unless `this` is an object of `kind`; `method` is for the message.
    ///
    /// # Errors
    /// TypeError.
    pub(crate) fn this_of_kind(&mut self, this: Value, kind: Kind, method: &str) -> Completion<Ref> {
        match this.to_object_ref() {
            Some(object) if self.cage.is(object, kind) => Ok(object),
            _ => {
                let text = self.describe(this);
                Err(self.throw_type(&format!("Method {method} called on incompatible receiver {text}")))
            }
        }
    }

    /// The two halves of an entry object of an iterable.
    pub(crate) fn entry_of(&mut self, item: Value) -> Completion<(Value, Value)> {
        let Some(pair) = item.to_object_ref() else {
            let text = self.describe(item);
            return Err(self.throw_type(&format!("Iterator value {text} is not an entry object")));
        };
        Ok((self.get(pair, Key::Index(0))?, self.get(pair, Key::Index(1))?))
    }

    /// The adder of a collection constructor (`set` or `add`).
    pub(crate) fn collection_adder(&mut self, collection: Ref, name: Name) -> Completion {
        let adder = self.get_name(collection, name)?;
        if !self.is_callable(adder) {
            let text = self.describe(adder);
            let key = if name == Name::set { "set" } else { "add" };
            return Err(self.throw_type(&format!("'{text}' returned for property '{key}' of object is not a function")));
        }
        Ok(adder)
    }

    /// Fails for a constructor that was called without `new`.
    ///
    /// # Errors
    /// TypeError.
    pub(crate) fn require_construct(&mut self, args: Args) -> Completion<()> {
        if args.is_construct() {
            return Ok(());
        }
        let name = self.builtin_info(args.callee).name;
        Err(self.throw_type(&format!("Constructor {name} requires 'new'")))
    }
}

/// Map ( [ iterable ] ) (24.1.1.1)
fn map(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::MapPrototype)?;
    let map = realm.new_collection(Kind::Map, prototype)?;
    let iterable = args.get(realm, 0);
    if iterable.is_nullish() {
        return Ok(Value::object(map));
    }
    let adder = realm.collection_adder(map, Name::set)?;
    let plain = realm.is_native(adder, MAP_SET);
    realm.for_each_value(iterable, |realm, item| {
        let (key, value) = realm.entry_of(item)?;
        if plain {
            return realm.map_set(map, key, value);
        }
        realm.call(adder, Value::object(map), &[key, value]).map(|_| ())
    })?;
    Ok(Value::object(map))
}

/// Map.groupBy (24.1.2.1)
fn map_group_by(realm: &mut Realm, args: Args) -> Completion {
    let (items, callback) = (args.get(realm, 0), args.get(realm, 1));
    realm.require_object_coercible(items, "Map.groupBy")?;
    if !realm.is_callable(callback) {
        return Err(realm.throw_not_callable(callback));
    }
    let prototype = realm.intrinsic(Intrinsic::MapPrototype);
    let map = realm.new_collection(Kind::Map, prototype)?;
    let mut index = 0.0;
    realm.for_each_value(items, |realm, item| {
        let key = realm.call(callback, Value::UNDEFINED, &[item, Value::number(index)])?;
        index += 1.0;
        let table = realm.cage.r(map, 16);
        match realm.map_find(table, key)? {
            Some(entry) => {
                let group = realm.map_value(table, entry).as_ref();
                realm.array_push(group, item)
            }
            None => {
                let group = realm.new_array_from(&[item])?;
                realm.map_set(map, key, Value::object(group))
            }
        }
    })?;
    Ok(Value::object(map))
}

/// Map.prototype.clear (24.1.3.1)
fn map_clear(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "Map.prototype.clear")?;
    realm.map_clear(map)?;
    Ok(Value::UNDEFINED)
}

/// Map.prototype.delete (24.1.3.3)
fn map_delete(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "Map.prototype.delete")?;
    let key = args.get(realm, 0);
    Ok(Value::boolean(realm.map_delete(map, key)?))
}

fn iterate(realm: &mut Realm, args: Args, kind: Kind, what: u32, method: &str) -> Completion {
    let collection = realm.this_of_kind(args.this, kind, method)?;
    let prototype = if kind == Kind::Map { Intrinsic::MapIteratorPrototype } else { Intrinsic::SetIteratorPrototype };
    let table = realm.cage.r(collection, 16);
    Ok(Value::object(realm.new_iterator(Value::cell(table), what, prototype)?))
}

/// Map.prototype.entries (24.1.3.4)
fn map_entries(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, Kind::Map, sort::MAP_ENTRIES, "Map.prototype.entries")
}

/// Map.prototype.keys (24.1.3.8)
fn map_keys(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, Kind::Map, sort::MAP_KEYS, "Map.prototype.keys")
}

/// Map.prototype.values (24.1.3.11)
fn map_values(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, Kind::Map, sort::MAP_VALUES, "Map.prototype.values")
}

/// The walk of both forEach methods: entries that the callback adds are visited, too.
fn for_each(realm: &mut Realm, args: Args, kind: Kind, method: &str) -> Completion {
    let collection = realm.this_of_kind(args.this, kind, method)?;
    let (callback, this) = (args.get(realm, 0), args.get(realm, 1));
    if !realm.is_callable(callback) {
        let text = realm.describe(callback);
        return Err(realm.throw_type(&format!("{text} is not a function")));
    }
    let mut position = (realm.cage.r(collection, 16), 0);
    while let Some((table, entry)) = realm.map_next(position.0, position.1) {
        realm.charge(1)?;
        let key = realm.map_key(table, entry);
        let value = if kind == Kind::Map { realm.map_value(table, entry) } else { key };
        realm.call(callback, this, &[value, key, args.this])?;
        position = (table, entry + 1);
    }
    Ok(Value::UNDEFINED)
}

/// Map.prototype.forEach (24.1.3.5)
fn map_for_each(realm: &mut Realm, args: Args) -> Completion {
    for_each(realm, args, Kind::Map, "Map.prototype.forEach")
}

/// Map.prototype.get (24.1.3.6)
fn map_get(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "Map.prototype.get")?;
    let (table, key) = (realm.cage.r(map, 16), args.get(realm, 0));
    Ok(match realm.map_find(table, key)? {
        Some(entry) => realm.map_value(table, entry),
        None => Value::UNDEFINED,
    })
}

/// Map.prototype.has (24.1.3.7)
fn map_has(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "Map.prototype.has")?;
    let (table, key) = (realm.cage.r(map, 16), args.get(realm, 0));
    Ok(Value::boolean(realm.map_find(table, key)?.is_some()))
}

/// Map.prototype.set (24.1.3.9)
fn map_set(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "Map.prototype.set")?;
    let (key, value) = (args.get(realm, 0), args.get(realm, 1));
    realm.map_set(map, key, value)?;
    Ok(args.this)
}

/// get Map.prototype.size (24.1.3.10)
fn map_size(realm: &mut Realm, args: Args) -> Completion {
    let map = realm.this_of_kind(args.this, Kind::Map, "get Map.prototype.size")?;
    Ok(Value::number(f64::from(realm.collection_size(map))))
}

/// Set ( [ iterable ] ) (24.2.2.1)
fn set(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::SetPrototype)?;
    let set = realm.new_collection(Kind::Set, prototype)?;
    let iterable = args.get(realm, 0);
    if iterable.is_nullish() {
        return Ok(Value::object(set));
    }
    let adder = realm.collection_adder(set, Name::add)?;
    let plain = realm.is_native(adder, SET_ADD);
    realm.for_each_value(iterable, |realm, item| {
        if plain {
            return realm.map_set(set, item, Value::UNDEFINED);
        }
        realm.call(adder, Value::object(set), &[item]).map(|_| ())
    })?;
    Ok(Value::object(set))
}

/// Set.prototype.add (24.2.4.1)
fn set_add(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::Set, "Set.prototype.add")?;
    let value = args.get(realm, 0);
    realm.map_set(set, value, Value::UNDEFINED)?;
    Ok(args.this)
}

/// Set.prototype.clear (24.2.4.2)
fn set_clear(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::Set, "Set.prototype.clear")?;
    realm.map_clear(set)?;
    Ok(Value::UNDEFINED)
}

/// Set.prototype.delete (24.2.4.4)
fn set_delete(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::Set, "Set.prototype.delete")?;
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.map_delete(set, value)?))
}

/// Set.prototype.entries (24.2.4.6)
fn set_entries(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, Kind::Set, sort::SET_ENTRIES, "Set.prototype.entries")
}

/// Set.prototype.forEach (24.2.4.7)
fn set_for_each(realm: &mut Realm, args: Args) -> Completion {
    for_each(realm, args, Kind::Set, "Set.prototype.forEach")
}

/// Set.prototype.has (24.2.4.8)
fn set_has(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::Set, "Set.prototype.has")?;
    let (table, value) = (realm.cage.r(set, 16), args.get(realm, 0));
    Ok(Value::boolean(realm.map_find(table, value)?.is_some()))
}

/// get Set.prototype.size (24.2.4.14)
fn set_size(realm: &mut Realm, args: Args) -> Completion {
    let set = realm.this_of_kind(args.this, Kind::Set, "get Set.prototype.size")?;
    Ok(Value::number(f64::from(realm.collection_size(set))))
}

/// Set.prototype.values (24.2.4.17)
fn set_values(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, Kind::Set, sort::SET_VALUES, "Set.prototype.values")
}
