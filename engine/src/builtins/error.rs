//! Error and its siblings (ECMA-262 20.5).

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::objects::Key;
use crate::shapes::HIDDEN;

builtin_table! { 3;
    ERROR("Error", 1, constructor) = error;
    TYPE_ERROR("TypeError", 1, constructor) = type_error;
    RANGE_ERROR("RangeError", 1, constructor) = range_error;
    SYNTAX_ERROR("SyntaxError", 1, constructor) = syntax_error;
    REFERENCE_ERROR("ReferenceError", 1, constructor) = reference_error;
    EVAL_ERROR("EvalError", 1, constructor) = eval_error;
    URI_ERROR("URIError", 1, constructor) = uri_error;
    AGGREGATE_ERROR("AggregateError", 2, constructor) = aggregate_error;
    SUPPRESSED_ERROR("SuppressedError", 3, constructor) = suppressed_error;
    TO_STRING("toString", 0) = to_string;
    IS_ERROR("isError", 1) = is_error;
    CAPTURE_STACK_TRACE("captureStackTrace", 2) = capture_stack_trace;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let base = realm.install_constructor(ERROR, prototype, Intrinsic::Error, Intrinsic::ErrorPrototype)?;
    realm.install_methods(base, &[IS_ERROR, CAPTURE_STACK_TRACE])?;
    let key = realm.key("stackTraceLimit")?;
    realm.create_data_property_or_throw(base, key, Value::int(10))?;
    realm.install_method(prototype, TO_STRING)?;
    realm.define_data(prototype, realm.key_for(Name::message), realm.name_value(Name::empty), HIDDEN)?;
    let text = realm.string_value("Error")?;
    realm.define_data(prototype, realm.key_for(Name::name), text, HIDDEN)?;
    for (number, constructor, slot) in [
        (TYPE_ERROR, Intrinsic::TypeError, Intrinsic::TypeErrorPrototype),
        (RANGE_ERROR, Intrinsic::RangeError, Intrinsic::RangeErrorPrototype),
        (SYNTAX_ERROR, Intrinsic::SyntaxError, Intrinsic::SyntaxErrorPrototype),
        (REFERENCE_ERROR, Intrinsic::ReferenceError, Intrinsic::ReferenceErrorPrototype),
        (EVAL_ERROR, Intrinsic::EvalError, Intrinsic::EvalErrorPrototype),
        (URI_ERROR, Intrinsic::UriError, Intrinsic::UriErrorPrototype),
        (AGGREGATE_ERROR, Intrinsic::AggregateError, Intrinsic::AggregateErrorPrototype),
        (SUPPRESSED_ERROR, Intrinsic::SuppressedError, Intrinsic::SuppressedErrorPrototype),
    ] {
        let own = realm.new_object_with_prototype(prototype)?;
        let function = realm.install_constructor(number, own, constructor, slot)?;
        realm.set_prototype_of(function, base)?;
        realm.define_data(own, realm.key_for(Name::message), realm.name_value(Name::empty), HIDDEN)?;
        let text = realm.string_value(lookup(number).name)?;
        realm.define_data(own, realm.key_for(Name::name), text, HIDDEN)?;
    }
    Ok(())
}

/// The common part of all error constructors (20.5.1.1, 20.5.6.1.1).
fn make(realm: &mut Realm, args: Args, fallback: Intrinsic, message: Value, options: Value) -> Completion<Ref> {
    let new_target = if args.is_construct() { args.new_target } else { Value::object(args.callee) };
    let prototype = realm.prototype_from_constructor(new_target, fallback)?;
    let message = if message.is_undefined() { None } else { Some(realm.to_string(message)?) };
    let error = realm.new_error_object(prototype, message)?;
    // InstallErrorCause (20.5.8.1)
    if let Some(options) = options.to_object_ref() {
        let key = realm.key_for(Name::cause);
        if realm.has_property(options, key)? {
            let cause = realm.get(options, key)?;
            realm.define_data(error, key, cause, HIDDEN)?;
        }
    }
    Ok(error)
}

macro_rules! native_errors {
    ($($name:ident = $prototype:ident;)*) => {
        $(fn $name(realm: &mut Realm, args: Args) -> Completion {
            let (message, options) = (args.get(realm, 0), args.get(realm, 1));
            Ok(Value::object(make(realm, args, Intrinsic::$prototype, message, options)?))
        })*
    };
}

native_errors! {
    error = ErrorPrototype; type_error = TypeErrorPrototype; range_error = RangeErrorPrototype;
    syntax_error = SyntaxErrorPrototype; reference_error = ReferenceErrorPrototype; eval_error = EvalErrorPrototype;
    uri_error = UriErrorPrototype;
}

/// AggregateError (20.5.7.1.1)
fn aggregate_error(realm: &mut Realm, args: Args) -> Completion {
    let (message, options) = (args.get(realm, 1), args.get(realm, 2));
    let error = make(realm, args, Intrinsic::AggregateErrorPrototype, message, options)?;
    let errors = realm.iterable_to_array(args.get(realm, 0))?;
    realm.define_data(error, realm.key_for(Name::errors), Value::object(errors), HIDDEN)?;
    Ok(Value::object(error))
}

/// SuppressedError (explicit resource management)
fn suppressed_error(realm: &mut Realm, args: Args) -> Completion {
    let error = make(realm, args, Intrinsic::SuppressedErrorPrototype, args.get(realm, 2), Value::UNDEFINED)?;
    realm.define_data(error, realm.key_for(Name::error), args.get(realm, 0), HIDDEN)?;
    realm.define_data(error, realm.key_for(Name::suppressed), args.get(realm, 1), HIDDEN)?;
    Ok(Value::object(error))
}

/// Error.prototype.toString (20.5.3.4)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.this.to_object_ref() else {
        return Err(realm.throw_type("Error.prototype.toString requires that 'this' be an Object"));
    };
    let name = realm.get_name(object, Name::name)?;
    let name = if name.is_undefined() { realm.new_string("Error")? } else { realm.to_string(name)? };
    let message = realm.get_name(object, Name::message)?;
    let message = if message.is_undefined() { realm.name(Name::empty) } else { realm.to_string(message)? };
    if realm.string_len(name) == 0 {
        return Ok(Value::string(message));
    }
    if realm.string_len(message) == 0 {
        return Ok(Value::string(name));
    }
    let separator = realm.new_string(": ")?;
    let head = realm.concat(name, separator)?;
    Ok(Value::string(realm.concat(head, message)?))
}

/// Error.isError
fn is_error(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.object_kind(value) == Some(Kind::Error)))
}

/// Error.captureStackTrace (V8's extension): gives any object a `stack`.
fn capture_stack_trace(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.get(realm, 0).to_object_ref() else {
        return Err(realm.throw_type("Invalid argument: captureStackTrace needs an object"));
    };
    let key: Key = realm.key_for(Name::stack);
    realm.define_data(object, key, Value::UNDEFINED, HIDDEN)?;
    realm.capture_stack(object)?;
    Ok(Value::UNDEFINED)
}
