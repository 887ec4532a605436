//! Number (ECMA-262 21.1), and the global functions on numbers and URIs (19.2.2 to 19.2.6, B.2.1).

use super::text::TextBuilder;
use super::*;
use crate::kinds::Kind;
use crate::names::Intrinsic;
use crate::pure::{number_format, number_parse, uri};

builtin_table! { 15;
    NUMBER("Number", 1, constructor) = number;
    IS_FINITE("isFinite", 1) = is_finite;
    IS_INTEGER("isInteger", 1) = is_integer;
    IS_NAN("isNaN", 1) = is_nan;
    IS_SAFE_INTEGER("isSafeInteger", 1) = is_safe_integer;
    PARSE_FLOAT("parseFloat", 1) = parse_float;
    PARSE_INT("parseInt", 2) = parse_int;
    TO_EXPONENTIAL("toExponential", 1) = to_exponential;
    TO_FIXED("toFixed", 1) = to_fixed;
    TO_LOCALE_STRING("toLocaleString", 0) = to_locale_string;
    TO_PRECISION("toPrecision", 1) = to_precision;
    TO_STRING("toString", 1) = to_string;
    VALUE_OF("valueOf", 0) = value_of;
    GLOBAL_IS_FINITE("isFinite", 1) = global_is_finite;
    GLOBAL_IS_NAN("isNaN", 1) = global_is_nan;
    DECODE_URI("decodeURI", 1) = decode_uri;
    DECODE_URI_COMPONENT("decodeURIComponent", 1) = decode_uri_component;
    ENCODE_URI("encodeURI", 1) = encode_uri;
    ENCODE_URI_COMPONENT("encodeURIComponent", 1) = encode_uri_component;
    ESCAPE("escape", 1) = escape;
    UNESCAPE("unescape", 1) = unescape;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let parent = realm.intrinsic(Intrinsic::ObjectPrototype);
    let prototype = realm.new_primitive_object(Value::ZERO, parent)?;
    let constructor = realm.install_constructor(NUMBER, prototype, Intrinsic::Number, Intrinsic::NumberPrototype)?;
    realm.install_methods(constructor, &[IS_FINITE, IS_INTEGER, IS_NAN, IS_SAFE_INTEGER])?;
    for (name, value) in [
        ("EPSILON", f64::EPSILON),
        ("MAX_SAFE_INTEGER", 9_007_199_254_740_991.0),
        ("MAX_VALUE", f64::MAX),
        ("MIN_SAFE_INTEGER", -9_007_199_254_740_991.0),
        ("MIN_VALUE", f64::from_bits(1)),
        ("NaN", f64::NAN),
        ("NEGATIVE_INFINITY", f64::NEG_INFINITY),
        ("POSITIVE_INFINITY", f64::INFINITY),
    ] {
        realm.install_constant(constructor, name, Value::number(value))?;
    }
    realm
        .install_methods(prototype, &[TO_EXPONENTIAL, TO_FIXED, TO_LOCALE_STRING, TO_PRECISION, TO_STRING, VALUE_OF])?;
    // Number.parseFloat and Number.parseInt are the global functions themselves (21.1.2.12, 21.1.2.13).
    for number in [PARSE_FLOAT, PARSE_INT] {
        let function = Value::object(realm.new_native_function(number, Value::UNDEFINED)?);
        let key = realm.key(lookup(number).name)?;
        realm.define_data(constructor, key, function, crate::shapes::HIDDEN)?;
        realm.install_global(lookup(number).name, function)?;
    }
    let global = realm.global();
    realm.install_methods(
        global,
        &[
            GLOBAL_IS_FINITE,
            GLOBAL_IS_NAN,
            DECODE_URI,
            DECODE_URI_COMPONENT,
            ENCODE_URI,
            ENCODE_URI_COMPONENT,
            ESCAPE,
            UNESCAPE,
        ],
    )
}

/// Number ( value ) (21.1.1.1)
fn number(realm: &mut Realm, args: Args) -> Completion {
    let value = if args.is_empty() {
        Value::ZERO
    } else {
        let value = args.get(realm, 0);
        let numeric = realm.to_numeric(value)?;
        if numeric.is_bigint() {
            let big = super::bigint::load(realm, numeric.as_ref());
            Value::number(crate::pure::bigint::to_f64(&big))
        } else {
            numeric
        }
    };
    if !args.is_construct() {
        return Ok(value);
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::NumberPrototype)?;
    Ok(Value::object(realm.new_primitive_object(value, prototype)?))
}

fn number_argument(realm: &Realm, args: Args) -> Option<f64> {
    let value = args.get(realm, 0);
    value.is_number().then(|| value.as_number())
}

/// Number.isFinite (21.1.2.2)
fn is_finite(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(number_argument(realm, args).is_some_and(f64::is_finite)))
}

fn is_integral(n: f64) -> bool {
    n.is_finite() && n.trunc() == n
}

/// Number.isInteger (21.1.2.3)
fn is_integer(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(number_argument(realm, args).is_some_and(is_integral)))
}

/// Number.isNaN (21.1.2.4)
fn is_nan(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::boolean(number_argument(realm, args).is_some_and(f64::is_nan)))
}

/// Number.isSafeInteger (21.1.2.5)
fn is_safe_integer(realm: &mut Realm, args: Args) -> Completion {
    let safe = |n: f64| is_integral(n) && n.abs() <= 9_007_199_254_740_991.0;
    Ok(Value::boolean(number_argument(realm, args).is_some_and(safe)))
}

/// parseFloat (19.2.4)
fn parse_float(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    if value.is_int() {
        return Ok(value);
    }
    let text = realm.to_string(value)?;
    let view = realm.view(text)?;
    Ok(Value::number(number_parse::parse_float(&view)))
}

/// parseInt (19.2.5)
fn parse_int(realm: &mut Realm, args: Args) -> Completion {
    let (value, radix) = (args.get(realm, 0), args.get(realm, 1));
    if value.is_int() && (radix.is_undefined() || radix == Value::int(10)) {
        return Ok(value);
    }
    let text = realm.to_string(value)?;
    let radix = realm.to_int32(radix)?;
    let view = realm.view(text)?;
    Ok(Value::number(number_parse::parse_int(&view, radix)))
}

/// isFinite (19.2.2)
fn global_is_finite(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.to_number(value)?.is_finite()))
}

/// isNaN (19.2.3)
fn global_is_nan(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.to_number(value)?.is_nan()))
}

/// ThisNumberValue (21.1.3.7.1)
fn this_number(realm: &mut Realm, args: Args, method: &str) -> Completion<f64> {
    if args.this.is_number() {
        return Ok(args.this.as_number());
    }
    if let Some(object) = args.this.to_object_ref()
        && realm.cage.is(object, Kind::PrimitiveObject)
    {
        let value = Value(realm.cage.get(object, 16));
        if value.is_number() {
            return Ok(value.as_number());
        }
    }
    Err(realm.throw_type(&format!("Number.prototype.{method} requires that 'this' be a Number")))
}

/// Number.prototype.toString (21.1.3.6)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let x = this_number(realm, args, "toString")?;
    let radix = args.get(realm, 0);
    let radix = if radix.is_undefined() { 10.0 } else { realm.to_integer(radix)? };
    if !(2.0..=36.0).contains(&radix) {
        return Err(realm.throw_range("toString() radix argument must be between 2 and 36"));
    }
    if radix == 10.0 {
        return Ok(Value::string(realm.to_string(Value::number(x))?));
    }
    realm.string_value(&number_format::to_string_radix(x, radix as u32))
}

/// Number.prototype.toFixed (21.1.3.3)
fn to_fixed(realm: &mut Realm, args: Args) -> Completion {
    let x = this_number(realm, args, "toFixed")?;
    let digits = args.get(realm, 0);
    let digits = realm.to_integer(digits)?;
    if !(0.0..=100.0).contains(&digits) {
        return Err(realm.throw_range("toFixed() digits argument must be between 0 and 100"));
    }
    realm.string_value(&number_format::to_fixed(x, digits as u32))
}

/// Number.prototype.toExponential (21.1.3.2)
fn to_exponential(realm: &mut Realm, args: Args) -> Completion {
    let x = this_number(realm, args, "toExponential")?;
    let argument = args.get(realm, 0);
    let digits = realm.to_integer(argument)?;
    if x.is_finite() && !(0.0..=100.0).contains(&digits) {
        return Err(realm.throw_range("toExponential() argument must be between 0 and 100"));
    }
    let digits = (!argument.is_undefined()).then_some(digits as u32);
    realm.string_value(&number_format::to_exponential(x, digits))
}

/// Number.prototype.toPrecision (21.1.3.5)
fn to_precision(realm: &mut Realm, args: Args) -> Completion {
    let x = this_number(realm, args, "toPrecision")?;
    let argument = args.get(realm, 0);
    if argument.is_undefined() {
        return realm.string_value(&number_format::to_string(x));
    }
    let precision = realm.to_integer(argument)?;
    if x.is_finite() && !(1.0..=100.0).contains(&precision) {
        return Err(realm.throw_range("toPrecision() argument must be between 1 and 100"));
    }
    realm.string_value(&number_format::to_precision(x, precision as u32))
}

/// Number.prototype.toLocaleString (21.1.3.4) as in en-US, with the two fraction options.
fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    let x = this_number(realm, args, "toLocaleString")?;
    let options = args.get(realm, 1);
    let minimum = fraction_option(realm, options, "minimumFractionDigits")?;
    let maximum = fraction_option(realm, options, "maximumFractionDigits")?;
    let at_least = minimum.unwrap_or(0);
    let at_most = maximum.unwrap_or(3.max(at_least));
    if at_least > at_most {
        return Err(realm.throw_range("maximumFractionDigits value is out of range."));
    }
    realm.string_value(&number_format::to_grouped(x, at_least, at_most))
}

fn fraction_option(realm: &mut Realm, options: Value, name: &str) -> Completion<Option<u32>> {
    let Some(options) = options.to_object_ref() else { return Ok(None) };
    let key = realm.key(name)?;
    let value = realm.get(options, key)?;
    if value.is_undefined() {
        return Ok(None);
    }
    let digits = realm.to_number(value)?;
    if !(0.0..=100.0).contains(&digits) {
        return Err(realm.throw_range(&format!("{name} value is out of range.")));
    }
    Ok(Some(digits as u32))
}

/// Number.prototype.valueOf (21.1.3.7)
fn value_of(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(this_number(realm, args, "valueOf")?))
}

// --- URIs

fn throw_malformed(realm: &mut Realm, _: uri::Malformed) -> crate::realm::Throw {
    realm.throw_new(Intrinsic::UriErrorPrototype, "URI malformed")
}

/// The first argument as a string.
fn text_argument(realm: &mut Realm, args: Args) -> Completion<Ref> {
    let value = args.get(realm, 0);
    realm.to_string(value)
}

/// decodeURI (19.2.6.1)
fn decode_uri(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    let units = uri::decode_uri(&view).map_err(|e| throw_malformed(realm, e))?;
    Ok(Value::string(realm.new_utf16(&units)?))
}

/// decodeURIComponent (19.2.6.2)
fn decode_uri_component(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    let units = uri::decode_uri_component(&view).map_err(|e| throw_malformed(realm, e))?;
    Ok(Value::string(realm.new_utf16(&units)?))
}

/// encodeURI (19.2.6.3)
fn encode_uri(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    let encoded = uri::encode_uri(&view).map_err(|e| throw_malformed(realm, e))?;
    realm.string_value(&encoded)
}

/// encodeURIComponent (19.2.6.4)
fn encode_uri_component(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    let encoded = uri::encode_uri_component(&view).map_err(|e| throw_malformed(realm, e))?;
    realm.string_value(&encoded)
}

/// escape (B.2.1.1)
fn escape(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    realm.string_value(&uri::escape(&view))
}

/// unescape (B.2.1.2)
fn unescape(realm: &mut Realm, args: Args) -> Completion {
    let text = text_argument(realm, args)?;
    let view = realm.view(text)?;
    let units = uri::unescape(&view);
    let mut out = TextBuilder::new();
    out.push_units(&units);
    Ok(Value::string(out.finish(realm)?))
}
