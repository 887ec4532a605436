//! The methods of Set.prototype that take another set (ECMA-262 24.2.4.5 to 24.2.4.16).

use crate::builtins::Args;
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// A Set Record (24.2.1.1): what the methods know of the other set.
#[derive(Clone, Copy)]
struct SetRecord {
    object: Value,
    size: f64,
    has: Value,
    keys: Value,
}

impl SetRecord {
    /// SetDataHas by the other set's own `has`.
    fn has(self, realm: &mut Realm, value: Value) -> Completion<bool> {
        let result = realm.call(self.has, self.object, &[value])?;
        Ok(realm.to_boolean(result))
    }

    /// GetIteratorFromMethod(object, keys): (iterator, next).
    fn iterate(self, realm: &mut Realm) -> Completion<(Value, Value)> {
        realm.get_iterator_from_method(self.object, self.keys)
    }
}

/// GetSetRecord (24.2.1.2)
fn set_record(realm: &mut Realm, value: Value) -> Completion<SetRecord> {
    let Some(object) = value.to_object_ref() else {
        let text = realm.describe(value);
        return Err(realm.throw_type(&format!("{text} is not an object")));
    };
    let size = realm.get_name(object, Name::size)?;
    let size = realm.to_number(size)?;
    if size.is_nan() {
        return Err(realm.throw_type("The 'size' property must be a number"));
    }
    let size = size.trunc();
    if size < 0.0 {
        return Err(realm.throw_range("The 'size' property must not be negative"));
    }
    let has = realm.get_name(object, Name::has)?;
    if !realm.is_callable(has) {
        return Err(realm.throw_type("The 'has' property must be a function"));
    }
    let keys = realm.get_name(object, Name::keys)?;
    if !realm.is_callable(keys) {
        return Err(realm.throw_type("The 'keys' property must be a function"));
    }
    Ok(SetRecord { object: value, size, has, keys })
}

/// Receiver and other set of every method.
fn operands(realm: &mut Realm, args: Args, name: &str) -> Completion<(Ref, SetRecord)> {
    let set = realm.this_of_kind(args.this, Kind::Set, &format!("Set.prototype.{name}"))?;
    let other = set_record(realm, args.get(realm, 0))?;
    Ok((set, other))
}

fn new_set(realm: &mut Realm) -> Completion<Ref> {
    let prototype = realm.intrinsic(Intrinsic::SetPrototype);
    realm.new_collection(Kind::Set, prototype)
}

fn copy_of(realm: &mut Realm, set: Ref) -> Completion<Ref> {
    let copy = new_set(realm)?;
    each(realm, set, |realm, value| realm.map_set(copy, value, Value::UNDEFINED).map(|()| true))?;
    Ok(copy)
}

fn contains(realm: &mut Realm, set: Ref, value: Value) -> Completion<bool> {
    let table = realm.cage.r(set, 16);
    Ok(realm.map_find(table, value)?.is_some())
}

fn size(realm: &Realm, set: Ref) -> f64 {
    f64::from(realm.collection_size(set))
}

/// Visits the elements of `set`, those added meanwhile included, until `visit` says false.
fn each(realm: &mut Realm, set: Ref, mut visit: impl FnMut(&mut Realm, Value) -> Completion<bool>) -> Completion<()> {
    let mut position = (realm.cage.r(set, 16), 0);
    while let Some((table, entry)) = realm.map_next(position.0, position.1) {
        realm.charge(1)?;
        let value = realm.map_key(table, entry);
        if !visit(realm, value)? {
            return Ok(());
        }
        position = (table, entry + 1);
    }
    Ok(())
}

/// Visits the keys that the other set's iterator gives, until `visit` says false: then the iterator is closed.
fn each_key(
    realm: &mut Realm,
    (iterator, next): (Value, Value),
    mut visit: impl FnMut(&mut Realm, Value) -> Completion<bool>,
) -> Completion<()> {
    while let Some(value) = realm.iterator_step_value(iterator, next)? {
        realm.charge(1)?;
        if !visit(realm, value)? {
            return realm.iterator_close(iterator);
        }
    }
    Ok(())
}

/// Set.prototype.union (24.2.4.16)
pub fn union(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "union")?;
    let keys = other.iterate(realm)?;
    let result = copy_of(realm, set)?;
    each_key(realm, keys, |realm, value| realm.map_set(result, value, Value::UNDEFINED).map(|()| true))?;
    Ok(Value::object(result))
}

/// Set.prototype.intersection (24.2.4.9)
pub fn intersection(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "intersection")?;
    let result = new_set(realm)?;
    if size(realm, set) <= other.size {
        each(realm, set, |realm, value| {
            if other.has(realm, value)? {
                realm.map_set(result, value, Value::UNDEFINED)?;
            }
            Ok(true)
        })?;
    } else {
        let keys = other.iterate(realm)?;
        each_key(realm, keys, |realm, value| {
            if contains(realm, set, value)? {
                realm.map_set(result, value, Value::UNDEFINED)?;
            }
            Ok(true)
        })?;
    }
    Ok(Value::object(result))
}

/// Set.prototype.difference (24.2.4.5)
pub fn difference(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "difference")?;
    if size(realm, set) <= other.size {
        let result = copy_of(realm, set)?;
        each(realm, set, |realm, value| {
            if other.has(realm, value)? {
                realm.map_delete(result, value)?;
            }
            Ok(true)
        })?;
        return Ok(Value::object(result));
    }
    let keys = other.iterate(realm)?;
    let result = copy_of(realm, set)?;
    each_key(realm, keys, |realm, value| realm.map_delete(result, value).map(|_| true))?;
    Ok(Value::object(result))
}

/// Set.prototype.symmetricDifference (24.2.4.15)
pub fn symmetric_difference(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "symmetricDifference")?;
    let keys = other.iterate(realm)?;
    let result = copy_of(realm, set)?;
    each_key(realm, keys, |realm, value| {
        if contains(realm, set, value)? {
            realm.map_delete(result, value)?;
        } else {
            realm.map_set(result, value, Value::UNDEFINED)?;
        }
        Ok(true)
    })?;
    Ok(Value::object(result))
}

/// Set.prototype.isSubsetOf (24.2.4.11)
pub fn is_subset_of(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "isSubsetOf")?;
    if size(realm, set) > other.size {
        return Ok(Value::FALSE);
    }
    let mut holds = true;
    each(realm, set, |realm, value| {
        holds = other.has(realm, value)?;
        Ok(holds)
    })?;
    Ok(Value::boolean(holds))
}

/// Set.prototype.isSupersetOf (24.2.4.12)
pub fn is_superset_of(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "isSupersetOf")?;
    if size(realm, set) < other.size {
        return Ok(Value::FALSE);
    }
    let keys = other.iterate(realm)?;
    let mut holds = true;
    each_key(realm, keys, |realm, value| {
        holds = contains(realm, set, value)?;
        Ok(holds)
    })?;
    Ok(Value::boolean(holds))
}

/// Set.prototype.isDisjointFrom (24.2.4.10)
pub fn is_disjoint_from(realm: &mut Realm, args: Args) -> Completion {
    let (set, other) = operands(realm, args, "isDisjointFrom")?;
    let mut disjoint = true;
    if size(realm, set) <= other.size {
        each(realm, set, |realm, value| {
            disjoint = !other.has(realm, value)?;
            Ok(disjoint)
        })?;
    } else {
        let keys = other.iterate(realm)?;
        each_key(realm, keys, |realm, value| {
            disjoint = !contains(realm, set, value)?;
            Ok(disjoint)
        })?;
    }
    Ok(Value::boolean(disjoint))
}
