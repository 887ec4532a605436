//! Reflect (ECMA-262 28.1).

use super::*;

pub(super) fn install(realm: &mut Realm) -> Completion<()> {
    let reflect = realm.new_plain_prototype()?;
    realm.set_intrinsic(Intrinsic::Reflect, Value::object(reflect));
    realm.install_methods(
        reflect,
        &[
            REFLECT_APPLY,
            REFLECT_CONSTRUCT,
            REFLECT_DEFINE_PROPERTY,
            REFLECT_DELETE_PROPERTY,
            REFLECT_GET,
            REFLECT_GET_OWN_PROPERTY_DESCRIPTOR,
            REFLECT_GET_PROTOTYPE_OF,
            REFLECT_HAS,
            REFLECT_IS_EXTENSIBLE,
            REFLECT_OWN_KEYS,
            REFLECT_PREVENT_EXTENSIONS,
            REFLECT_SET,
            REFLECT_SET_PROTOTYPE_OF,
        ],
    )?;
    realm.install_tag(reflect, "Reflect")?;
    realm.install_global("Reflect", Value::object(reflect))
}

/// The target argument, which must be an object.
fn target(realm: &mut Realm, args: Args) -> Completion<Ref> {
    match args.get(realm, 0).to_object_ref() {
        Some(object) => Ok(object),
        None => {
            let name = realm.builtin_info(args.callee).name;
            Err(realm.throw_type(&format!("Reflect.{name} called on non-object")))
        }
    }
}

/// Target and property key of most functions.
fn target_and_key(realm: &mut Realm, args: Args) -> Completion<(Ref, Key)> {
    let object = target(realm, args)?;
    Ok((object, realm.to_property_key(args.get(realm, 1))?))
}

/// Reflect.apply (28.1.1)
pub fn apply(realm: &mut Realm, args: Args) -> Completion {
    let function = args.get(realm, 0);
    if !realm.is_callable(function) {
        let text = realm.describe(function);
        return Err(realm.throw_type(&format!("Reflect.apply was called on {text}, which is not a function")));
    }
    let list = realm.list_from_array_like(args.get(realm, 2))?;
    realm.call_list(function, args.get(realm, 1), list)
}

/// Reflect.construct (28.1.2)
pub fn construct(realm: &mut Realm, args: Args) -> Completion {
    let constructor = args.get(realm, 0);
    let new_target = if args.len() > 2 { args.get(realm, 2) } else { constructor };
    for value in [constructor, new_target] {
        if !realm.is_constructor(value) {
            let text = realm.describe(value);
            return Err(realm.throw_type(&format!("{text} is not a constructor")));
        }
    }
    let list = realm.list_from_array_like(args.get(realm, 1))?;
    realm.construct_list(constructor, list, new_target)
}

/// Reflect.defineProperty (28.1.3)
pub fn define_property(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    let descriptor = realm.to_property_descriptor(args.get(realm, 2))?;
    Ok(Value::boolean(realm.define_own_property(object, key, &descriptor)?))
}

/// Reflect.deleteProperty (28.1.4)
pub fn delete_property(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    Ok(Value::boolean(realm.delete_property(object, key)?))
}

/// Reflect.get (28.1.5)
pub fn get(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    let receiver = if args.len() > 2 { args.get(realm, 2) } else { Value::object(object) };
    realm.get_with_receiver(object, key, receiver)
}

/// Reflect.getOwnPropertyDescriptor (28.1.6)
pub fn get_own_property_descriptor(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    match realm.get_own_property(object, key)? {
        Some(own) => realm.from_property_descriptor(own),
        None => Ok(Value::UNDEFINED),
    }
}

/// Reflect.getPrototypeOf (28.1.7)
pub fn get_prototype_of(realm: &mut Realm, args: Args) -> Completion {
    let object = target(realm, args)?;
    Ok(Value::object_or_null(realm.get_prototype_of(object)?))
}

/// Reflect.has (28.1.8)
pub fn has(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    Ok(Value::boolean(realm.has_property(object, key)?))
}

/// Reflect.isExtensible (28.1.9)
pub fn is_extensible(realm: &mut Realm, args: Args) -> Completion {
    let object = target(realm, args)?;
    Ok(Value::boolean(realm.is_extensible(object)?))
}

/// Reflect.ownKeys (28.1.10)
pub fn own_keys(realm: &mut Realm, args: Args) -> Completion {
    let object = target(realm, args)?;
    let keys = realm.own_keys(object)?;
    Ok(Value::object(realm.new_array_from_list(keys)?))
}

/// Reflect.preventExtensions (28.1.11)
pub fn prevent_extensions(realm: &mut Realm, args: Args) -> Completion {
    let object = target(realm, args)?;
    Ok(Value::boolean(realm.prevent_extensions(object)?))
}

/// Reflect.set (28.1.12)
pub fn set(realm: &mut Realm, args: Args) -> Completion {
    let (object, key) = target_and_key(realm, args)?;
    let receiver = if args.len() > 3 { args.get(realm, 3) } else { Value::object(object) };
    let value = args.get(realm, 2);
    Ok(Value::boolean(realm.set_with_receiver(object, key, value, receiver)?))
}

/// Reflect.setPrototypeOf (28.1.13)
pub fn set_prototype_of(realm: &mut Realm, args: Args) -> Completion {
    let object = target(realm, args)?;
    let prototype = args.get(realm, 1);
    if !prototype.is_object() && !prototype.is_null() {
        let text = realm.describe(prototype);
        return Err(realm.throw_type(&format!("Object prototype may only be an Object or null: {text}")));
    }
    Ok(Value::boolean(realm.set_prototype_of(object, prototype.to_object_ref().unwrap_or_default())?))
}
