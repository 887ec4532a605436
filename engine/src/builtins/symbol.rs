//! Symbol (ECMA-262 20.4).
//!
//! The registry of `Symbol.for` is an object without prototype in the realm record, so that it freezes with
//! the realm; registered symbols carry a flag and their key as description.

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Sym};
use crate::objects::{Key, REGISTERED_SYMBOL};
use crate::shapes::{CONFIGURABLE, DEFAULT};

builtin_table! { 17;
    SYMBOL("Symbol", 0, constructor) = symbol;
    FOR("for", 1) = symbol_for;
    KEY_FOR("keyFor", 1) = key_for;
    DESCRIPTION("get description", 0) = description;
    TO_STRING("toString", 0) = to_string;
    VALUE_OF("valueOf", 0) = value_of;
    TO_PRIMITIVE("[Symbol.toPrimitive]", 1) = value_of_primitive;
}

/// Names of the well-known symbols as properties of the constructor (20.4.2).
const WELL_KNOWN: &[(&str, Sym)] = &[
    ("asyncDispose", Sym::AsyncDispose),
    ("asyncIterator", Sym::AsyncIterator),
    ("dispose", Sym::Dispose),
    ("hasInstance", Sym::HasInstance),
    ("isConcatSpreadable", Sym::IsConcatSpreadable),
    ("iterator", Sym::Iterator),
    ("match", Sym::Match),
    ("matchAll", Sym::MatchAll),
    ("replace", Sym::Replace),
    ("search", Sym::Search),
    ("species", Sym::Species),
    ("split", Sym::Split),
    ("toPrimitive", Sym::ToPrimitive),
    ("toStringTag", Sym::ToStringTag),
    ("unscopables", Sym::Unscopables),
];

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(SYMBOL, prototype, Intrinsic::Symbol, Intrinsic::SymbolPrototype)?;
    realm.install_methods(constructor, &[FOR, KEY_FOR])?;
    for &(name, symbol) in WELL_KNOWN {
        let value = Value::symbol(realm.symbol(symbol));
        realm.install_constant(constructor, name, value)?;
    }
    realm.install_methods(prototype, &[TO_STRING, VALUE_OF])?;
    realm.install_getter(prototype, "description", DESCRIPTION)?;
    let function = realm.new_native_function(TO_PRIMITIVE, Value::UNDEFINED)?;
    let key = Key::Name(realm.symbol(Sym::ToPrimitive));
    realm.define_data(prototype, key, Value::object(function), CONFIGURABLE)?;
    realm.install_tag(prototype, "Symbol")?;
    let registry = realm.new_object_with_prototype(Ref::NULL)?;
    realm.make_dictionary(registry)?;
    realm.set_intrinsic(Intrinsic::SymbolRegistry, Value::object(registry));
    Ok(())
}

/// Symbol ( description ) (20.4.1.1)
fn symbol(realm: &mut Realm, args: Args) -> Completion {
    if args.is_construct() {
        return Err(realm.throw_type("Symbol is not a constructor"));
    }
    let description = args.get(realm, 0);
    let description = if description.is_undefined() { Ref::NULL } else { realm.to_string(description)? };
    Ok(Value::symbol(realm.new_symbol(description, 0)?))
}

/// Symbol.for (20.4.2.2)
fn symbol_for(realm: &mut Realm, args: Args) -> Completion {
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    let key = realm.key_of_string(text)?;
    let registry = realm.intrinsic(Intrinsic::SymbolRegistry);
    if let Some(own) = realm.get_own_property(registry, key)? {
        return Ok(own.value);
    }
    let symbol = Value::symbol(realm.new_symbol(text, REGISTERED_SYMBOL)?);
    realm.define_data(registry, key, symbol, DEFAULT)?;
    Ok(symbol)
}

/// Symbol.keyFor (20.4.2.6)
fn key_for(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    if !value.is_symbol() {
        let text = if value.is_string() { realm.string_text(value.as_ref())? } else { realm.describe(value) };
        return Err(realm.throw_type(&format!("{text} is not a symbol")));
    }
    let symbol = value.as_ref();
    if realm.cage.flags(symbol) & REGISTERED_SYMBOL == 0 {
        return Ok(Value::UNDEFINED);
    }
    Ok(Value::string(realm.cage.r(symbol, 4)))
}

/// ThisSymbolValue (20.4.3.4.1)
fn this_symbol(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    if args.this.is_symbol() {
        return Ok(args.this.as_ref());
    }
    if let Some(object) = args.this.to_object_ref()
        && realm.cage.is(object, Kind::PrimitiveObject)
    {
        let value = Value(realm.cage.get(object, 16));
        if value.is_symbol() {
            return Ok(value.as_ref());
        }
    }
    Err(realm.throw_type(&format!("{method} requires that 'this' be a Symbol")))
}

/// get Symbol.prototype.description (20.4.3.2)
fn description(realm: &mut Realm, args: Args) -> Completion {
    let symbol = this_symbol(realm, args, "Symbol.prototype.description")?;
    let description = realm.cage.r(symbol, 4);
    Ok(if description.is_null() { Value::UNDEFINED } else { Value::string(description) })
}

/// Symbol.prototype.toString (20.4.3.3)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let symbol = this_symbol(realm, args, "Symbol.prototype.toString")?;
    super::string::symbol_descriptive_string(realm, symbol)
}

/// Symbol.prototype.valueOf (20.4.3.4)
fn value_of(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::symbol(this_symbol(realm, args, "Symbol.prototype.valueOf")?))
}

/// Symbol.prototype [ %Symbol.toPrimitive% ] (20.4.3.5)
fn value_of_primitive(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::symbol(this_symbol(realm, args, "Symbol.prototype [ @@toPrimitive ]")?))
}
