//! Dates to text (ECMA-262 21.4.4.36 to 21.4.4.43), and the plain en-US forms of the toLocale methods.
//!
//! Invariant: takes finite time values only; callers print "Invalid Date" or throw for NaN themselves.
//! All results are ASCII, apart from what a zone's abbreviation may contain.

use super::date::{Fields, fields, local_time};
use super::tzif::TimeZone;

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

fn day_name(f: &Fields) -> &'static str {
    DAYS[f.weekday.rem_euclid(7) as usize]
}

fn month_name(f: &Fields) -> &'static str {
    MONTHS[f.month.clamp(0, 11) as usize]
}

/// A year with at least four digits and a minus sign where needed (ECMA-262 21.4.4.41.2).
fn padded_year(year: i64) -> String {
    let sign = if year < 0 { "-" } else { "" };
    format!("{sign}{:04}", year.unsigned_abs())
}

/// Date.prototype.toISOString (ECMA-262 21.4.4.36).
pub fn to_iso_string(t: f64) -> String {
    let f = fields(t);
    let year = if (0..=9999).contains(&f.year) {
        format!("{:04}", f.year)
    } else {
        let sign = if f.year < 0 { '-' } else { '+' };
        format!("{sign}{:06}", f.year.unsigned_abs())
    };
    format!(
        "{year}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        f.month + 1,
        f.day,
        f.hour,
        f.minute,
        f.second,
        f.millisecond
    )
}

/// Date.prototype.toUTCString (ECMA-262 21.4.4.43).
pub fn to_utc_string(t: f64) -> String {
    let f = fields(t);
    format!(
        "{}, {:02} {} {} {:02}:{:02}:{:02} GMT",
        day_name(&f),
        f.day,
        month_name(&f),
        padded_year(f.year),
        f.hour,
        f.minute,
        f.second
    )
}

/// DateString (ECMA-262 21.4.4.41.2) of a local time.
fn date_string(f: &Fields) -> String {
    format!("{} {} {:02} {}", day_name(f), month_name(f), f.day, padded_year(f.year))
}

/// TimeString and TimeZoneString (ECMA-262 21.4.4.41.1, 21.4.4.41.3).
fn time_string(t: f64, f: &Fields, zone: &TimeZone) -> String {
    let offset = zone.at_utc_ms(t).offset_ms;
    let sign = if offset < 0 { '-' } else { '+' };
    let minutes = offset.unsigned_abs() / 60_000;
    format!(
        "{:02}:{:02}:{:02} GMT{sign}{:02}{:02} ({})",
        f.hour,
        f.minute,
        f.second,
        minutes / 60,
        minutes % 60,
        zone_display_name(t, zone)
    )
}

/// What stands in brackets behind the offset: "implementation-defined" by the specification. The long
/// English names of the frequent zones, else the abbreviation of the zone's data.
fn zone_display_name(t: f64, zone: &TimeZone) -> String {
    let local = zone.at_utc_ms(t);
    // Local mean time and war time are shown by the names of today.
    let abbreviation = match local.abbreviation {
        "LMT" | "EWT" | "EPT" | "CWT" | "CPT" | "MWT" | "MPT" | "PWT" | "PPT" => {
            zone.current_abbreviation(local.is_dst)
        }
        other => other,
    };
    let long = match abbreviation {
        "UTC" => "Coordinated Universal Time",
        "GMT" => "Greenwich Mean Time",
        "CET" => "Central European Standard Time",
        "CEST" => "Central European Summer Time",
        "EET" => "Eastern European Standard Time",
        "EEST" => "Eastern European Summer Time",
        "WET" => "Western European Standard Time",
        "WEST" => "Western European Summer Time",
        "EST" => "Eastern Standard Time",
        "EDT" => "Eastern Daylight Time",
        "CST" if local.offset_ms < 0 => "Central Standard Time",
        "CDT" if local.offset_ms < 0 => "Central Daylight Time",
        "MST" => "Mountain Standard Time",
        "MDT" => "Mountain Daylight Time",
        "PST" => "Pacific Standard Time",
        "PDT" => "Pacific Daylight Time",
        "JST" => "Japan Standard Time",
        "IST" if local.offset_ms == 19_800_000 => "India Standard Time",
        other => other,
    };
    long.to_owned()
}

/// Date.prototype.toString (ECMA-262 21.4.4.41.4 ToDateString).
pub fn to_string(t: f64, zone: &TimeZone) -> String {
    let f = fields(local_time(t, zone));
    format!("{} {}", date_string(&f), time_string(t, &f, zone))
}

/// Date.prototype.toDateString (ECMA-262 21.4.4.35).
pub fn to_date_string(t: f64, zone: &TimeZone) -> String {
    date_string(&fields(local_time(t, zone)))
}

/// Date.prototype.toTimeString (ECMA-262 21.4.4.42).
pub fn to_time_string(t: f64, zone: &TimeZone) -> String {
    time_string(t, &fields(local_time(t, zone)), zone)
}

/// Date.prototype.toLocaleDateString (ECMA-262 21.4.4.38) as in en-US.
pub fn to_locale_date_string(t: f64, zone: &TimeZone) -> String {
    let f = fields(local_time(t, zone));
    // Years before 1 are counted backwards, with an era.
    if f.year <= 0 {
        return format!("{}/{}/{} B", f.month + 1, f.day, 1 - f.year);
    }
    format!("{}/{}/{}", f.month + 1, f.day, f.year)
}

/// Date.prototype.toLocaleTimeString (ECMA-262 21.4.4.40) as in en-US.
pub fn to_locale_time_string(t: f64, zone: &TimeZone) -> String {
    let f = fields(local_time(t, zone));
    let hour = match f.hour % 12 {
        0 => 12,
        hour => hour,
    };
    let half = if f.hour < 12 { "AM" } else { "PM" };
    format!("{hour}:{:02}:{:02} {half}", f.minute, f.second)
}

/// Date.prototype.toLocaleString (ECMA-262 21.4.4.39) as in en-US.
pub fn to_locale_string(t: f64, zone: &TimeZone) -> String {
    format!("{}, {}", to_locale_date_string(t, zone), to_locale_time_string(t, zone))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let zone = TimeZone::named("CET-1CEST,M3.5.0,M10.5.0/3");
        let t = 1719835506789.0;
        assert_eq!(to_iso_string(t), "2024-07-01T12:05:06.789Z");
        assert_eq!(to_utc_string(t), "Mon, 01 Jul 2024 12:05:06 GMT");
        assert_eq!(to_string(t, &zone), "Mon Jul 01 2024 14:05:06 GMT+0200 (Central European Summer Time)");
        assert_eq!(to_locale_string(t, &zone), "7/1/2024, 2:05:06 PM");
        assert_eq!(to_iso_string(-8.64e15), "-271821-04-20T00:00:00.000Z");
        assert_eq!(to_utc_string(-8.64e15), "Tue, 20 Apr -271821 00:00:00 GMT");
        assert_eq!(to_date_string(-62198755200000.0, &TimeZone::utc()), "Fri Jan 01 -0001");
    }
}
