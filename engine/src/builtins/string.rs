//! String (ECMA-262 22.1): the table, the constructor, and access to parts. Searching and replacing are in
//! `string_search`, case, padding and the like in `string_transform`.

use super::string_search as search;
use super::string_transform as transform;
use super::text::TextBuilder;
use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Sym};
use crate::objects::Key;
use crate::pure::Units;
use crate::strings::StrView;

builtin_table! { 14;
    STRING("String", 1, constructor) = string;
    FROM_CHAR_CODE("fromCharCode", 1) = from_char_code;
    FROM_CODE_POINT("fromCodePoint", 1) = from_code_point;
    RAW("raw", 1) = raw;
    AT("at", 1) = at;
    CHAR_AT("charAt", 1) = char_at;
    CHAR_CODE_AT("charCodeAt", 1) = char_code_at;
    CODE_POINT_AT("codePointAt", 1) = code_point_at;
    CONCAT("concat", 1) = concat;
    ENDS_WITH("endsWith", 1) = search::ends_with;
    INCLUDES("includes", 1) = search::includes;
    INDEX_OF("indexOf", 1) = search::index_of;
    IS_WELL_FORMED("isWellFormed", 0) = transform::is_well_formed;
    LAST_INDEX_OF("lastIndexOf", 1) = search::last_index_of;
    LOCALE_COMPARE("localeCompare", 1) = transform::locale_compare;
    MATCH("match", 1) = search::match_;
    MATCH_ALL("matchAll", 1) = search::match_all;
    NORMALIZE("normalize", 0) = transform::normalize;
    PAD_END("padEnd", 1) = transform::pad_end;
    PAD_START("padStart", 1) = transform::pad_start;
    REPEAT("repeat", 1) = transform::repeat;
    REPLACE("replace", 2) = search::replace;
    REPLACE_ALL("replaceAll", 2) = search::replace_all;
    SEARCH("search", 1) = search::search;
    SLICE("slice", 2) = slice;
    SPLIT("split", 2) = search::split;
    STARTS_WITH("startsWith", 1) = search::starts_with;
    SUBSTR("substr", 2) = substr;
    SUBSTRING("substring", 2) = substring;
    TO_LOCALE_LOWER_CASE("toLocaleLowerCase", 0) = transform::to_lower_case;
    TO_LOCALE_UPPER_CASE("toLocaleUpperCase", 0) = transform::to_upper_case;
    TO_LOWER_CASE("toLowerCase", 0) = transform::to_lower_case;
    TO_STRING("toString", 0) = to_string;
    TO_UPPER_CASE("toUpperCase", 0) = transform::to_upper_case;
    TO_WELL_FORMED("toWellFormed", 0) = transform::to_well_formed;
    TRIM("trim", 0) = transform::trim;
    TRIM_END("trimEnd", 0) = transform::trim_end;
    TRIM_START("trimStart", 0) = transform::trim_start;
    VALUE_OF("valueOf", 0) = value_of;
    ITERATOR("[Symbol.iterator]", 0) = iterator;
    ANCHOR("anchor", 1) = transform::anchor;
    BIG("big", 0) = transform::big;
    BLINK("blink", 0) = transform::blink;
    BOLD("bold", 0) = transform::bold;
    FIXED("fixed", 0) = transform::fixed;
    FONTCOLOR("fontcolor", 1) = transform::fontcolor;
    FONTSIZE("fontsize", 1) = transform::fontsize;
    ITALICS("italics", 0) = transform::italics;
    LINK("link", 1) = transform::link;
    SMALL("small", 0) = transform::small;
    STRIKE("strike", 0) = transform::strike;
    SUB("sub", 0) = transform::sub;
    SUP("sup", 0) = transform::sup;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    // String.prototype is itself a String object with the value "" (22.1.3).
    let parent = realm.intrinsic(Intrinsic::ObjectPrototype);
    let empty = realm.names.empty;
    let prototype = realm.new_primitive_object(Value::string(empty), parent)?;
    let constructor = realm.install_constructor(STRING, prototype, Intrinsic::String, Intrinsic::StringPrototype)?;
    realm.install_methods(constructor, &[FROM_CHAR_CODE, FROM_CODE_POINT, RAW])?;
    realm.install_methods(
        prototype,
        &[
            AT,
            CHAR_AT,
            CHAR_CODE_AT,
            CODE_POINT_AT,
            CONCAT,
            ENDS_WITH,
            INCLUDES,
            INDEX_OF,
            IS_WELL_FORMED,
            LAST_INDEX_OF,
            LOCALE_COMPARE,
            MATCH,
            MATCH_ALL,
            NORMALIZE,
            PAD_END,
            PAD_START,
            REPEAT,
            REPLACE,
            REPLACE_ALL,
            SEARCH,
            SLICE,
            SPLIT,
            STARTS_WITH,
            SUBSTR,
            SUBSTRING,
            TO_LOCALE_LOWER_CASE,
            TO_LOCALE_UPPER_CASE,
            TO_LOWER_CASE,
            TO_STRING,
            TO_UPPER_CASE,
            TO_WELL_FORMED,
            TRIM,
            VALUE_OF,
            ANCHOR,
            BIG,
            BLINK,
            BOLD,
            FIXED,
            FONTCOLOR,
            FONTSIZE,
            ITALICS,
            LINK,
            SMALL,
            STRIKE,
            SUB,
            SUP,
        ],
    )?;
    // trimLeft and trimRight are the same function objects as trimStart and trimEnd (B.2.2.15, B.2.2.16).
    for (number, alias) in [(TRIM_START, "trimLeft"), (TRIM_END, "trimRight")] {
        let function = Value::object(realm.new_native_function(number, Value::UNDEFINED)?);
        for name in [lookup(number).name, alias] {
            let key = realm.key(name)?;
            realm.define_data(prototype, key, function, crate::shapes::HIDDEN)?;
        }
    }
    realm.install_symbol_method(prototype, Sym::Iterator, ITERATOR)
}

/// RequireObjectCoercible(this) and ToString(this): how nearly every method of the prototype begins.
#[inline]
pub(crate) fn this_string(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    if args.this.is_string() {
        return Ok(args.this.as_ref());
    }
    realm.require_object_coercible(args.this, &format!("String.prototype.{method}"))?;
    realm.to_string(args.this)
}

/// String ( value ) (22.1.1.1)
fn string(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    let text = if args.is_empty() {
        realm.names.empty
    } else if value.is_symbol() && !args.is_construct() {
        return symbol_descriptive_string(realm, value.as_ref());
    } else {
        realm.to_string(value)?
    };
    if !args.is_construct() {
        return Ok(Value::string(text));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::StringPrototype)?;
    Ok(Value::object(realm.new_primitive_object(Value::string(text), prototype)?))
}

/// SymbolDescriptiveString (20.4.3.3.1)
pub(crate) fn symbol_descriptive_string(realm: &mut Realm, symbol: Ref) -> Completion {
    let mut out = TextBuilder::new();
    out.push_ascii("Symbol(");
    let description = realm.cage.r(symbol, 4);
    if !description.is_null() {
        out.push_string(realm, description)?;
    }
    out.push_ascii(")");
    Ok(Value::string(out.finish(realm)?))
}

/// String.fromCharCode (22.1.2.1)
fn from_char_code(realm: &mut Realm, args: Args) -> Completion {
    if args.len() == 1 {
        let value = args.get(realm, 0);
        let unit = realm.to_int32(value)? as u16;
        return Ok(Value::string(realm.unit_string(unit)?));
    }
    let mut out = TextBuilder::new();
    for i in 0..args.len() {
        let value = args.get(realm, i);
        out.push(realm.to_int32(value)? as u16);
    }
    Ok(Value::string(out.finish(realm)?))
}

/// String.fromCodePoint (22.1.2.2)
fn from_code_point(realm: &mut Realm, args: Args) -> Completion {
    let mut units = Vec::with_capacity(args.len());
    for i in 0..args.len() {
        let value = args.get(realm, i);
        let n = realm.to_number(value)?;
        if !(0.0..=1_114_111.0).contains(&n) || n.fract() != 0.0 {
            let text = realm.to_string(value)?;
            let text = realm.string_text(text)?;
            return Err(realm.throw_range(&format!("Invalid code point {text}")));
        }
        crate::pure::push_code_point(&mut units, n as u32);
    }
    Ok(Value::string(realm.new_utf16(&units)?))
}

/// String.raw (22.1.2.4)
fn raw(realm: &mut Realm, args: Args) -> Completion {
    let cooked = args.get(realm, 0);
    let cooked = realm.to_object(cooked)?;
    let literals = realm.get_name(cooked, crate::names::Name::raw)?;
    let literals = realm.to_object(literals)?;
    let count = realm.length_of(literals)?;
    let mut out = TextBuilder::new();
    let mut i = 0u32;
    while f64::from(i) < count {
        realm.charge(1)?;
        let literal = realm.get(literals, Key::Index(i))?;
        let literal = realm.to_string(literal)?;
        out.push_string(realm, literal)?;
        i += 1;
        if f64::from(i) < count && (i as usize) < args.len() {
            let substitution = args.get(realm, i as usize);
            let substitution = realm.to_string(substitution)?;
            out.push_string(realm, substitution)?;
        }
        if out.is_too_long() {
            break;
        }
    }
    Ok(Value::string(out.finish(realm)?))
}

/// Argument `index` as a relative position in `0..=length`: negative counts from the end.
fn relative(realm: &mut Realm, value: Value, length: u32) -> Completion<u32> {
    let n = realm.to_integer(value)?;
    let length = f64::from(length);
    Ok(if n < 0.0 { (length + n).max(0.0) } else { n.min(length) } as u32)
}

/// String.prototype.at (22.1.3.1)
fn at(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "at")?;
    let length = f64::from(realm.string_len(text));
    let index = args.get(realm, 0);
    let n = realm.to_integer(index)?;
    let n = if n < 0.0 { length + n } else { n };
    if n < 0.0 || n >= length {
        return Ok(Value::UNDEFINED);
    }
    let unit = realm.unit_at(text, n as u32)?;
    Ok(Value::string(realm.unit_string(unit)?))
}

/// The unit at the position given by the first argument, if there is one.
#[inline]
fn unit_at_argument(realm: &mut Realm, args: Args, method: &str) -> Completion<Option<(Ref, u32)>> {
    let text = this_string(realm, args, method)?;
    let position = args.get(realm, 0);
    let n = realm.to_integer(position)?;
    let inside = n >= 0.0 && n < f64::from(realm.string_len(text));
    Ok(inside.then_some((text, n as u32)))
}

/// String.prototype.charAt (22.1.3.2)
fn char_at(realm: &mut Realm, args: Args) -> Completion {
    match unit_at_argument(realm, args, "charAt")? {
        Some((text, index)) => {
            let unit = realm.unit_at(text, index)?;
            Ok(Value::string(realm.unit_string(unit)?))
        }
        None => Ok(Value::string(realm.names.empty)),
    }
}

/// String.prototype.charCodeAt (22.1.3.3)
fn char_code_at(realm: &mut Realm, args: Args) -> Completion {
    match unit_at_argument(realm, args, "charCodeAt")? {
        Some((text, index)) => Ok(Value::int(i32::from(realm.unit_at(text, index)?))),
        None => Ok(Value::NAN),
    }
}

/// String.prototype.codePointAt (22.1.3.4)
fn code_point_at(realm: &mut Realm, args: Args) -> Completion {
    match unit_at_argument(realm, args, "codePointAt")? {
        Some((text, index)) => {
            let view = realm.view(text)?;
            Ok(Value::int(view.code_point_at(index as usize).0 as i32))
        }
        None => Ok(Value::UNDEFINED),
    }
}

/// String.prototype.concat (22.1.3.5)
fn concat(realm: &mut Realm, args: Args) -> Completion {
    let mut text = this_string(realm, args, "concat")?;
    for i in 0..args.len() {
        let next = args.get(realm, i);
        let next = realm.to_string(next)?;
        text = realm.concat(text, next)?;
    }
    Ok(Value::string(text))
}

/// String.prototype.slice (22.1.3.22)
fn slice(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "slice")?;
    let length = realm.string_len(text);
    let start = args.get(realm, 0);
    let start = relative(realm, start, length)?;
    let end = args.get(realm, 1);
    let end = if end.is_undefined() { length } else { relative(realm, end, length)? };
    Ok(Value::string(realm.substring(text, start, end)?))
}

/// String.prototype.substring (22.1.3.25)
fn substring(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "substring")?;
    let length = f64::from(realm.string_len(text));
    let start = args.get(realm, 0);
    let start = realm.to_integer(start)?.clamp(0.0, length) as u32;
    let end = args.get(realm, 1);
    let end = if end.is_undefined() { length } else { realm.to_integer(end)?.clamp(0.0, length) } as u32;
    Ok(Value::string(realm.substring(text, start.min(end), start.max(end))?))
}

/// String.prototype.substr (B.2.2.1)
fn substr(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "substr")?;
    let size = realm.string_len(text);
    let start = args.get(realm, 0);
    let start = relative(realm, start, size)?;
    let length = args.get(realm, 1);
    let room = f64::from(size - start);
    let length = if length.is_undefined() { room } else { realm.to_integer(length)?.clamp(0.0, room) };
    Ok(Value::string(realm.substring(text, start, start + length as u32)?))
}

/// ThisStringValue (22.1.3.35.1)
fn this_string_value(realm: &mut Realm, args: Args, method: &str) -> Completion {
    if args.this.is_string() {
        return Ok(args.this);
    }
    if let Some(object) = args.this.to_object_ref()
        && realm.cage.is(object, Kind::PrimitiveObject)
    {
        let value = Value(realm.cage.get(object, 16));
        if value.is_string() {
            return Ok(value);
        }
    }
    Err(realm.throw_type(&format!("String.prototype.{method} requires that 'this' be a String")))
}

/// String.prototype.toString (22.1.3.29)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    this_string_value(realm, args, "toString")
}

/// String.prototype.valueOf (22.1.3.35)
fn value_of(realm: &mut Realm, args: Args) -> Completion {
    this_string_value(realm, args, "valueOf")
}

/// String.prototype [ %Symbol.iterator% ] (22.1.3.36)
fn iterator(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "[Symbol.iterator]")?;
    let sort = crate::interp::iterate::sort::STRING;
    Ok(Value::object(realm.new_iterator(Value::string(text), sort, Intrinsic::StringIteratorPrototype)?))
}

/// The index of the last occurrence of `needle` that starts at or before `from`.
pub(crate) fn find_last(hay: StrView, needle: StrView, from: usize) -> Option<usize> {
    let last = hay.len().checked_sub(needle.len())?.min(from);
    (0..=last).rev().find(|&at| hay.slice(at, at + needle.len()).equals(needle))
}
