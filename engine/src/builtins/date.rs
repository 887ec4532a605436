//! Date (ECMA-262 21.4). Calendar arithmetic, parsing and formatting are in `pure`.
//!
//! Invariant: the value at offset 16 of a Date cell is always a time value: an integral number of at most
//! 8.64e15 in magnitude, or NaN.

use super::*;
use crate::convert::Hint;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::pure::date::{self as time, fields, make_date, make_day, make_time, time_clip};
use crate::pure::tzif::TimeZone;
use crate::pure::{date_format, date_parse};
use crate::shapes::CONFIGURABLE;
use std::sync::Arc;

builtin_table! { 18;
    DATE("Date", 7, constructor) = date;
    NOW("now", 0) = now;
    PARSE("parse", 1) = parse;
    UTC("UTC", 7) = utc;
    GET_DATE("getDate", 0) = get_date;
    GET_DAY("getDay", 0) = get_day;
    GET_FULL_YEAR("getFullYear", 0) = get_full_year;
    GET_HOURS("getHours", 0) = get_hours;
    GET_MILLISECONDS("getMilliseconds", 0) = get_milliseconds;
    GET_MINUTES("getMinutes", 0) = get_minutes;
    GET_MONTH("getMonth", 0) = get_month;
    GET_SECONDS("getSeconds", 0) = get_seconds;
    GET_TIME("getTime", 0) = get_time;
    GET_TIMEZONE_OFFSET("getTimezoneOffset", 0) = get_timezone_offset;
    GET_UTC_DATE("getUTCDate", 0) = get_utc_date;
    GET_UTC_DAY("getUTCDay", 0) = get_utc_day;
    GET_UTC_FULL_YEAR("getUTCFullYear", 0) = get_utc_full_year;
    GET_UTC_HOURS("getUTCHours", 0) = get_utc_hours;
    GET_UTC_MILLISECONDS("getUTCMilliseconds", 0) = get_utc_milliseconds;
    GET_UTC_MINUTES("getUTCMinutes", 0) = get_utc_minutes;
    GET_UTC_MONTH("getUTCMonth", 0) = get_utc_month;
    GET_UTC_SECONDS("getUTCSeconds", 0) = get_utc_seconds;
    GET_YEAR("getYear", 0) = get_year;
    SET_DATE("setDate", 1) = set_date;
    SET_FULL_YEAR("setFullYear", 3) = set_full_year;
    SET_HOURS("setHours", 4) = set_hours;
    SET_MILLISECONDS("setMilliseconds", 1) = set_milliseconds;
    SET_MINUTES("setMinutes", 3) = set_minutes;
    SET_MONTH("setMonth", 2) = set_month;
    SET_SECONDS("setSeconds", 2) = set_seconds;
    SET_TIME("setTime", 1) = set_time;
    SET_UTC_DATE("setUTCDate", 1) = set_utc_date;
    SET_UTC_FULL_YEAR("setUTCFullYear", 3) = set_utc_full_year;
    SET_UTC_HOURS("setUTCHours", 4) = set_utc_hours;
    SET_UTC_MILLISECONDS("setUTCMilliseconds", 1) = set_utc_milliseconds;
    SET_UTC_MINUTES("setUTCMinutes", 3) = set_utc_minutes;
    SET_UTC_MONTH("setUTCMonth", 2) = set_utc_month;
    SET_UTC_SECONDS("setUTCSeconds", 2) = set_utc_seconds;
    SET_YEAR("setYear", 1) = set_year;
    TO_DATE_STRING("toDateString", 0) = to_date_string;
    TO_ISO_STRING("toISOString", 0) = to_iso_string;
    TO_JSON("toJSON", 1) = to_json;
    TO_LOCALE_DATE_STRING("toLocaleDateString", 0) = to_locale_date_string;
    TO_LOCALE_STRING("toLocaleString", 0) = to_locale_string;
    TO_LOCALE_TIME_STRING("toLocaleTimeString", 0) = to_locale_time_string;
    TO_STRING("toString", 0) = to_string;
    TO_TIME_STRING("toTimeString", 0) = to_time_string;
    TO_UTC_STRING("toUTCString", 0) = to_utc_string;
    VALUE_OF("valueOf", 0) = get_time;
    TO_PRIMITIVE("[Symbol.toPrimitive]", 1) = to_primitive;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(DATE, prototype, Intrinsic::Date, Intrinsic::DatePrototype)?;
    realm.install_methods(constructor, &[NOW, PARSE, UTC])?;
    // All rows between the first getter and valueOf are methods of the prototype.
    for number in GET_DATE..=VALUE_OF {
        if number != TO_UTC_STRING {
            realm.install_method(prototype, number)?;
        }
    }
    // toGMTString is the same function object as toUTCString (B.2.3.3).
    let function = Value::object(realm.new_native_function(TO_UTC_STRING, Value::UNDEFINED)?);
    for name in ["toUTCString", "toGMTString"] {
        let key = realm.key(name)?;
        realm.define_data(prototype, key, function, crate::shapes::HIDDEN)?;
    }
    let function = realm.new_native_function(TO_PRIMITIVE, Value::UNDEFINED)?;
    let key = Key::Name(realm.symbol(Sym::ToPrimitive));
    realm.define_data(prototype, key, Value::object(function), CONFIGURABLE)
}

impl Realm {
    /// The realm's time zone, asked from the system at first use in each life of the realm (21.4.1.23
    /// SystemTimeZoneIdentifier).
    pub fn time_zone(&mut self) -> Arc<TimeZone> {
        if let Some(zone) = &self.zone {
            return zone.clone();
        }
        let zone = Arc::new(match &self.options().time_zone {
            Some(name) => TimeZone::named(name),
            None => TimeZone::system(),
        });
        self.zone = Some(zone.clone());
        zone
    }
}

/// The time value of `value` if it is a Date.
fn date_value(realm: &Realm, value: Value) -> Option<f64> {
    let object = value.to_object_ref().filter(|&object| realm.cage.is(object, Kind::Date))?;
    Some(Value(realm.cage.get(object, 16)).as_number())
}

/// The time value of the receiver.
fn this_time(realm: &mut Realm, args: Args) -> Completion<f64> {
    match date_value(realm, args.this) {
        Some(t) => Ok(t),
        None => Err(realm.throw_type("this is not a Date object.")),
    }
}

/// Stores a time value in the receiver, which is known to be a Date, and returns it.
fn store(realm: &mut Realm, args: Args, t: f64) -> Completion {
    let value = Value::number(t);
    realm.cage.set(args.this.as_ref(), 16, value.0);
    Ok(value)
}

/// The numbers of arguments `from..from + 7`, absent ones with these defaults.
fn parts(realm: &mut Realm, args: Args) -> Completion<[f64; 7]> {
    let mut parts = [f64::NAN, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0];
    for (i, part) in parts.iter_mut().enumerate().take(args.len()) {
        let value = args.get(realm, i);
        *part = realm.to_number(value)?;
    }
    Ok(parts)
}

fn date_from_parts([year, month, date, hour, minute, second, ms]: [f64; 7]) -> f64 {
    make_date(make_day(time::make_full_year(year), month, date), make_time(hour, minute, second, ms))
}

/// Date ( ...values ) (21.4.2.1)
fn date(realm: &mut Realm, args: Args) -> Completion {
    if !args.is_construct() {
        let now = time_clip(realm.now_ms());
        let zone = realm.time_zone();
        return realm.string_value(&date_format::to_string(now, &zone));
    }
    let t = match args.len() {
        0 => realm.now_ms(),
        1 => {
            let value = args.get(realm, 0);
            match date_value(realm, value) {
                Some(t) => t,
                None => {
                    let value = realm.to_primitive(value, Hint::Default)?;
                    if value.is_string() {
                        let zone = realm.time_zone();
                        let view = realm.view(value.as_ref())?;
                        date_parse::parse(&view, &zone)
                    } else {
                        realm.to_number(value)?
                    }
                }
            }
        }
        _ => {
            let local = date_from_parts(parts(realm, args)?);
            let zone = realm.time_zone();
            time::utc(local, &zone)
        }
    };
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::DatePrototype)?;
    let object = realm.new_object_of(Kind::Date, prototype)?;
    realm.cage.set(object, 16, Value::number(time_clip(t)).0);
    Ok(Value::object(object))
}

/// Date.now (21.4.3.1)
fn now(realm: &mut Realm, _: Args) -> Completion {
    Ok(Value::number(time_clip(realm.now_ms())))
}

/// Date.parse (21.4.3.2)
fn parse(realm: &mut Realm, args: Args) -> Completion {
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    let zone = realm.time_zone();
    let view = realm.view(text)?;
    Ok(Value::number(date_parse::parse(&view, &zone)))
}

/// Date.UTC (21.4.3.4)
fn utc(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(time_clip(date_from_parts(parts(realm, args)?))))
}

/// One part of the receiver's time, local or UTC; NaN for an invalid date.
fn part(realm: &mut Realm, args: Args, local: bool, pick: fn(&time::Fields) -> i64) -> Completion {
    let t = this_time(realm, args)?;
    if t.is_nan() {
        return Ok(Value::NAN);
    }
    let t = if local {
        let zone = realm.time_zone();
        time::local_time(t, &zone)
    } else {
        t
    };
    Ok(Value::number(pick(&fields(t)) as f64))
}

/// The getters in both forms.
macro_rules! getters {
    ($($(#[$doc:meta])* $name:ident($local:literal) = $field:ident;)*) => {
        $($(#[$doc])* fn $name(realm: &mut Realm, args: Args) -> Completion {
            part(realm, args, $local, |f| f.$field)
        })*
    };
}

getters! {
    /// Date.prototype.getDate (21.4.4.2)
    get_date(true) = day;
    /// Date.prototype.getDay (21.4.4.3)
    get_day(true) = weekday;
    /// Date.prototype.getFullYear (21.4.4.4)
    get_full_year(true) = year;
    /// Date.prototype.getHours (21.4.4.5)
    get_hours(true) = hour;
    /// Date.prototype.getMilliseconds (21.4.4.6)
    get_milliseconds(true) = millisecond;
    /// Date.prototype.getMinutes (21.4.4.7)
    get_minutes(true) = minute;
    /// Date.prototype.getMonth (21.4.4.8)
    get_month(true) = month;
    /// Date.prototype.getSeconds (21.4.4.9)
    get_seconds(true) = second;
    /// Date.prototype.getUTCDate (21.4.4.12)
    get_utc_date(false) = day;
    /// Date.prototype.getUTCDay (21.4.4.13)
    get_utc_day(false) = weekday;
    /// Date.prototype.getUTCFullYear (21.4.4.14)
    get_utc_full_year(false) = year;
    /// Date.prototype.getUTCHours (21.4.4.15)
    get_utc_hours(false) = hour;
    /// Date.prototype.getUTCMilliseconds (21.4.4.16)
    get_utc_milliseconds(false) = millisecond;
    /// Date.prototype.getUTCMinutes (21.4.4.17)
    get_utc_minutes(false) = minute;
    /// Date.prototype.getUTCMonth (21.4.4.18)
    get_utc_month(false) = month;
    /// Date.prototype.getUTCSeconds (21.4.4.19)
    get_utc_seconds(false) = second;
}

/// Date.prototype.getYear (B.2.3.1)
fn get_year(realm: &mut Realm, args: Args) -> Completion {
    part(realm, args, true, |f| f.year - 1900)
}

/// Date.prototype.getTime (21.4.4.10) and valueOf (21.4.4.44)
fn get_time(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(this_time(realm, args)?))
}

/// Date.prototype.getTimezoneOffset (21.4.4.11)
fn get_timezone_offset(realm: &mut Realm, args: Args) -> Completion {
    let t = this_time(realm, args)?;
    if t.is_nan() {
        return Ok(Value::NAN);
    }
    let zone = realm.time_zone();
    // Zones of the time before standard time have odd seconds, which V8 cuts off.
    Ok(Value::number(libm::trunc((t - time::local_time(t, &zone)) / 60_000.0)))
}

/// What a setter's first argument is.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
enum Part {
    Year,
    Month,
    Date,
    Hours,
    Minutes,
    Seconds,
    Milliseconds,
}

/// All setters but setTime and setYear (21.4.4.20 to 21.4.4.34): the arguments are converted first, absent
/// ones come from the old time, and an invalid date stays invalid unless the year is set.
fn set_parts(realm: &mut Realm, args: Args, local: bool, first: Part, most: usize) -> Completion {
    let t = this_time(realm, args)?;
    let mut given = [None; 4];
    // A missing first argument is NaN, not "absent".
    for (i, slot) in given.iter_mut().enumerate().take(most) {
        if i == 0 || i < args.len() {
            let value = args.get(realm, i);
            *slot = Some(realm.to_number(value)?);
        }
    }
    let t = match (t.is_nan(), first) {
        (true, Part::Year) => 0.0,
        (true, _) => return Ok(Value::NAN),
        (false, _) if local => {
            let zone = realm.time_zone();
            time::local_time(t, &zone)
        }
        (false, _) => t,
    };
    let f = fields(t);
    let mut all = [f.year, f.month, f.day, f.hour, f.minute, f.second, f.millisecond].map(|n| n as f64);
    let offset = first as usize;
    for (slot, part) in all[offset..].iter_mut().zip(given) {
        if let Some(part) = part {
            *slot = part;
        }
    }
    let day = if first <= Part::Date { make_day(all[0], all[1], all[2]) } else { time::day(t) as f64 };
    let in_day = if first <= Part::Date { time::time_within_day(t) } else { make_time(all[3], all[4], all[5], all[6]) };
    finish_set(realm, args, make_date(day, in_day), local)
}

fn finish_set(realm: &mut Realm, args: Args, date: f64, local: bool) -> Completion {
    let t = if local {
        let zone = realm.time_zone();
        time::utc(date, &zone)
    } else {
        date
    };
    store(realm, args, time_clip(t))
}

/// The setters in both forms.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident($local:literal) = $part:ident, $most:literal;)*) => {
        $($(#[$doc])* fn $name(realm: &mut Realm, args: Args) -> Completion {
            set_parts(realm, args, $local, Part::$part, $most)
        })*
    };
}

setters! {
    /// Date.prototype.setDate (21.4.4.20)
    set_date(true) = Date, 1;
    /// Date.prototype.setFullYear (21.4.4.21)
    set_full_year(true) = Year, 3;
    /// Date.prototype.setHours (21.4.4.22)
    set_hours(true) = Hours, 4;
    /// Date.prototype.setMilliseconds (21.4.4.23)
    set_milliseconds(true) = Milliseconds, 1;
    /// Date.prototype.setMinutes (21.4.4.24)
    set_minutes(true) = Minutes, 3;
    /// Date.prototype.setMonth (21.4.4.25)
    set_month(true) = Month, 2;
    /// Date.prototype.setSeconds (21.4.4.26)
    set_seconds(true) = Seconds, 2;
    /// Date.prototype.setUTCDate (21.4.4.28)
    set_utc_date(false) = Date, 1;
    /// Date.prototype.setUTCFullYear (21.4.4.29)
    set_utc_full_year(false) = Year, 3;
    /// Date.prototype.setUTCHours (21.4.4.30)
    set_utc_hours(false) = Hours, 4;
    /// Date.prototype.setUTCMilliseconds (21.4.4.31)
    set_utc_milliseconds(false) = Milliseconds, 1;
    /// Date.prototype.setUTCMinutes (21.4.4.32)
    set_utc_minutes(false) = Minutes, 3;
    /// Date.prototype.setUTCMonth (21.4.4.33)
    set_utc_month(false) = Month, 2;
    /// Date.prototype.setUTCSeconds (21.4.4.34)
    set_utc_seconds(false) = Seconds, 2;
}

/// Date.prototype.setTime (21.4.4.27)
fn set_time(realm: &mut Realm, args: Args) -> Completion {
    this_time(realm, args)?;
    let value = args.get(realm, 0);
    let t = realm.to_number(value)?;
    store(realm, args, time_clip(t))
}

/// Date.prototype.setYear (B.2.3.2)
fn set_year(realm: &mut Realm, args: Args) -> Completion {
    let t = this_time(realm, args)?;
    let year = args.get(realm, 0);
    let year = realm.to_number(year)?;
    if year.is_nan() {
        return store(realm, args, f64::NAN);
    }
    let zone = realm.time_zone();
    let t = if t.is_nan() { 0.0 } else { time::local_time(t, &zone) };
    let f = fields(t);
    let day = make_day(time::make_full_year(year), f.month as f64, f.day as f64);
    finish_set(realm, args, make_date(day, time::time_within_day(t)), true)
}

/// The receiver's text in local time, or "Invalid Date".
fn local_text(realm: &mut Realm, args: Args, format: fn(f64, &TimeZone) -> String) -> Completion {
    let t = this_time(realm, args)?;
    if t.is_nan() {
        return realm.string_value("Invalid Date");
    }
    let zone = realm.time_zone();
    realm.string_value(&format(t, &zone))
}

/// Date.prototype.toDateString (21.4.4.35)
fn to_date_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_date_string)
}

/// Date.prototype.toLocaleDateString (21.4.4.38)
fn to_locale_date_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_locale_date_string)
}

/// Date.prototype.toLocaleString (21.4.4.39)
fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_locale_string)
}

/// Date.prototype.toLocaleTimeString (21.4.4.40)
fn to_locale_time_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_locale_time_string)
}

/// Date.prototype.toString (21.4.4.41)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_string)
}

/// Date.prototype.toTimeString (21.4.4.42)
fn to_time_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, date_format::to_time_string)
}

/// Date.prototype.toUTCString (21.4.4.43)
fn to_utc_string(realm: &mut Realm, args: Args) -> Completion {
    local_text(realm, args, |t, _| date_format::to_utc_string(t))
}

/// Date.prototype.toISOString (21.4.4.36)
fn to_iso_string(realm: &mut Realm, args: Args) -> Completion {
    let t = this_time(realm, args)?;
    if t.is_nan() {
        return Err(realm.throw_range("Invalid time value"));
    }
    realm.string_value(&date_format::to_iso_string(t))
}

/// Date.prototype.toJSON (21.4.4.37)
fn to_json(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let primitive = realm.to_primitive(Value::object(object), Hint::Number)?;
    if primitive.is_number() && !primitive.as_number().is_finite() {
        return Ok(Value::NULL);
    }
    let method = realm.get_name(object, Name::to_iso_string)?;
    realm.call(method, Value::object(object), &[])
}

/// Date.prototype [ %Symbol.toPrimitive% ] (21.4.4.45): dates prefer their text.
fn to_primitive(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.this.to_object_ref() else {
        return Err(realm.throw_type("Date.prototype [ @@toPrimitive ] called on non-object"));
    };
    let hint = args.get(realm, 0);
    let name = if hint.is_string() { realm.string_text(hint.as_ref())? } else { String::new() };
    let order = match name.as_str() {
        "string" | "default" => [Name::to_string, Name::value_of],
        "number" => [Name::value_of, Name::to_string],
        _ => {
            let text = if hint.is_string() { name } else { realm.describe(hint) };
            return Err(realm.throw_type(&format!("Invalid hint: {text}")));
        }
    };
    // OrdinaryToPrimitive (7.1.1.1)
    for name in order {
        let method = realm.get_name(object, name)?;
        if realm.is_callable(method) {
            let result = realm.call(method, args.this, &[])?;
            if !result.is_object() {
                return Ok(result);
            }
        }
    }
    Err(realm.throw_type("Cannot convert object to primitive value"))
}
