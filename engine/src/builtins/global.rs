//! The global object's own functions and values (ECMA-262 19), and Boolean (20.3).

use super::*;
use crate::bytecode::template::SourceKind;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};

builtin_table! { 4;
    EVAL("eval", 1) = eval;
    BOOLEAN("Boolean", 1, constructor) = boolean;
    BOOLEAN_TO_STRING("toString", 0) = boolean_to_string;
    BOOLEAN_VALUE_OF("valueOf", 0) = boolean_value_of;
    QUEUE_MICROTASK("queueMicrotask", 1) = queue_microtask;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let global = realm.global();
    let this = Value::object(global);
    realm.install_global("globalThis", this)?;
    realm.install_constant(global, "undefined", Value::UNDEFINED)?;
    realm.install_constant(global, "NaN", Value::NAN)?;
    realm.install_constant(global, "Infinity", Value::double(f64::INFINITY))?;
    realm.install_methods(global, &[EVAL, QUEUE_MICROTASK])?;
    let eval = realm.get_name(global, Name::eval)?;
    realm.set_intrinsic(Intrinsic::Eval, eval);
    let parent = realm.intrinsic(Intrinsic::ObjectPrototype);
    let prototype = realm.new_primitive_object(Value::FALSE, parent)?;
    realm.install_constructor(BOOLEAN, prototype, Intrinsic::Boolean, Intrinsic::BooleanPrototype)?;
    realm.install_methods(prototype, &[BOOLEAN_TO_STRING, BOOLEAN_VALUE_OF])
}

/// eval (19.2.1), called indirectly
fn eval(realm: &mut Realm, args: Args) -> Completion {
    let source = args.get(realm, 0);
    if !source.is_string() {
        return Ok(source);
    }
    let text = realm.string_text(source.as_ref())?;
    realm.evaluate(&text, "<eval>", &SourceKind::IndirectEval)
}

/// queueMicrotask (HTML), without arguments for the callback
fn queue_microtask(realm: &mut Realm, args: Args) -> Completion {
    let callback = args.get(realm, 0);
    if !realm.is_callable(callback) {
        return Err(realm.throw_type("queueMicrotask: the argument must be a function"));
    }
    let values = [callback, Value::UNDEFINED, Value::UNDEFINED];
    realm.jobs.push(crate::jobs::Job { kind: crate::jobs::JobKind::Call, values });
    Ok(Value::UNDEFINED)
}

/// Boolean ( value ) (20.3.1.1)
fn boolean(realm: &mut Realm, args: Args) -> Completion {
    let value = Value::boolean(realm.to_boolean(args.get(realm, 0)));
    if !args.is_construct() {
        return Ok(value);
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::BooleanPrototype)?;
    Ok(Value::object(realm.new_primitive_object(value, prototype)?))
}

/// ThisBooleanValue (20.3.3.3.1)
fn this_boolean(realm: &mut Realm, args: Args) -> Completion<bool> {
    let mut value = args.this;
    if let Some(object) = value.to_object_ref()
        && realm.cage.is(object, Kind::PrimitiveObject)
    {
        value = Value(realm.cage.get(object, 16));
    }
    if value.is_boolean() {
        return Ok(value.is_true());
    }
    Err(realm.throw_type("Boolean.prototype method requires that 'this' be a Boolean"))
}

/// Boolean.prototype.toString (20.3.3.2)
fn boolean_to_string(realm: &mut Realm, args: Args) -> Completion {
    let value = this_boolean(realm, args)?;
    Ok(realm.name_value(if value { Name::true_ } else { Name::false_ }))
}

/// Boolean.prototype.valueOf (20.3.3.3)
fn boolean_value_of(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(this_boolean(realm, args)?))
}
