//! Dates and times as numbers (ECMA-262 21.4.1): day and year arithmetic, MakeTime, MakeDay, MakeDate,
//! TimeClip, and the way between UTC and local time.
//!
//! Invariant: a time value is a finite integral double of at most 8.64e15 in magnitude or NaN. Functions
//! on calendar parts work on i64 days and are exact far beyond that range; only the functions that the
//! specification defines on Numbers take doubles.

use super::tzif::TimeZone;

/// Milliseconds per day (ECMA-262 21.4.1.3).
pub const MS_PER_DAY: f64 = 86_400_000.0;
const MS_PER_HOUR: f64 = 3_600_000.0;
const MS_PER_MINUTE: f64 = 60_000.0;
const MAX_TIME: f64 = 8.64e15;

/// Day number of the first day of a year (ECMA-262 21.4.1.5 DayFromYear).
pub fn day_from_year(year: i64) -> i64 {
    let y = year - 1;
    365 * (year - 1970) + (y.div_euclid(4) - 492) - (y.div_euclid(100) - 19) + (y.div_euclid(400) - 4)
}

/// Whether the year has 366 days (ECMA-262 21.4.1.4).
pub fn is_leap_year(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// Days before a month (0..=11) within its year (ECMA-262 21.4.1.11).
pub fn month_start_day(year: i64, month: i64) -> i64 {
    const STARTS: [i64; 12] = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334];
    let month = month.clamp(0, 11);
    STARTS[month as usize] + i64::from(month > 1 && is_leap_year(year))
}

/// Number of days of a month (0..=11).
pub fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        1 => 28 + i64::from(is_leap_year(year)),
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

/// Day of the week of a day number, Sunday being 0 (ECMA-262 21.4.1.13 WeekDay).
pub fn weekday(day: i64) -> i64 {
    (day + 4).rem_euclid(7)
}

/// Day number of a time (ECMA-262 21.4.1.3 Day).
pub fn day(t: f64) -> i64 {
    libm::floor(t / MS_PER_DAY) as i64
}

/// Milliseconds within the day (ECMA-262 21.4.1.3 TimeWithinDay).
pub fn time_within_day(t: f64) -> f64 {
    t - libm::floor(t / MS_PER_DAY) * MS_PER_DAY
}

/// Year of a time (ECMA-262 21.4.1.7 YearFromTime).
pub fn year_from_time(t: f64) -> i64 {
    civil_from_day(day(t)).0
}

/// Year, month (0..=11) and day of the month (1..=31) of a day number (ECMA-262 21.4.1.7, 21.4.1.11,
/// 21.4.1.12), in constant time.
pub fn civil_from_day(day: i64) -> (i64, i64, i64) {
    // The mean year estimates the year to within one; step to the exact one.
    let mut year = 1970 + (day * 400).div_euclid(146_097);
    while day_from_year(year) > day {
        year -= 1;
    }
    while day_from_year(year + 1) <= day {
        year += 1;
    }
    let in_year = day - day_from_year(year);
    let mut month = in_year / 31;
    while month < 11 && month_start_day(year, month + 1) <= in_year {
        month += 1;
    }
    (year, month, in_year - month_start_day(year, month) + 1)
}

/// A time taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fields {
    /// Year, astronomical.
    pub year: i64,
    /// Month, 0..=11.
    pub month: i64,
    /// Day of the month, 1..=31.
    pub day: i64,
    /// Hour, 0..=23.
    pub hour: i64,
    /// Minute, 0..=59.
    pub minute: i64,
    /// Second, 0..=59.
    pub second: i64,
    /// Millisecond, 0..=999.
    pub millisecond: i64,
    /// Day of the week, Sunday being 0.
    pub weekday: i64,
}

/// Takes a finite time apart (ECMA-262 21.4.1.7 to 21.4.1.17).
pub fn fields(t: f64) -> Fields {
    let day_number = day(t);
    let (year, month, day) = civil_from_day(day_number);
    let ms = time_within_day(t) as i64;
    Fields {
        year,
        month,
        day,
        hour: ms / 3_600_000,
        minute: ms / 60_000 % 60,
        second: ms / 1000 % 60,
        millisecond: ms % 1000,
        weekday: weekday(day_number),
    }
}

fn to_integer(x: f64) -> f64 {
    libm::trunc(x) + 0.0
}

/// MakeTime (ECMA-262 21.4.1.27).
pub fn make_time(hour: f64, minute: f64, second: f64, ms: f64) -> f64 {
    if !(hour.is_finite() && minute.is_finite() && second.is_finite() && ms.is_finite()) {
        return f64::NAN;
    }
    to_integer(hour) * MS_PER_HOUR + to_integer(minute) * MS_PER_MINUTE + to_integer(second) * 1000.0 + to_integer(ms)
}

/// MakeDay (ECMA-262 21.4.1.28).
pub fn make_day(year: f64, month: f64, date: f64) -> f64 {
    if !(year.is_finite() && month.is_finite() && date.is_finite()) {
        return f64::NAN;
    }
    let (year, month, date) = (to_integer(year), to_integer(month), to_integer(date));
    let whole_year = year + libm::floor(month / 12.0);
    // "If it is not possible to find such a t": far outside the range of time values.
    if whole_year.abs() > 400_000.0 {
        return f64::NAN;
    }
    let month = month - libm::floor(month / 12.0) * 12.0;
    let first = day_from_year(whole_year as i64) + month_start_day(whole_year as i64, month as i64);
    first as f64 + date - 1.0
}

/// MakeDate (ECMA-262 21.4.1.29).
pub fn make_date(day: f64, time: f64) -> f64 {
    if !(day.is_finite() && time.is_finite()) {
        return f64::NAN;
    }
    let t = day * MS_PER_DAY + time;
    if t.is_finite() { t } else { f64::NAN }
}

/// MakeFullYear (ECMA-262 21.4.1.30): two-digit years belong to the twentieth century.
pub fn make_full_year(year: f64) -> f64 {
    if year.is_nan() {
        return f64::NAN;
    }
    let truncated = to_integer(year);
    if (0.0..=99.0).contains(&truncated) { truncated + 1900.0 } else { truncated }
}

/// TimeClip (ECMA-262 21.4.1.31).
pub fn time_clip(t: f64) -> f64 {
    if t.is_finite() && t.abs() <= MAX_TIME { to_integer(t) } else { f64::NAN }
}

/// LocalTime (ECMA-262 21.4.1.25) of a finite time.
pub fn local_time(t: f64, zone: &TimeZone) -> f64 {
    t + zone.at_utc_ms(t).offset_ms as f64
}

/// UTC (ECMA-262 21.4.1.26) of a local time.
pub fn utc(t: f64, zone: &TimeZone) -> f64 {
    // Beyond the range by more than a day no offset brings it back.
    if !t.is_finite() || t.abs() > MAX_TIME + MS_PER_DAY {
        return f64::NAN;
    }
    t - zone.offset_for_local_ms(t) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calendar() {
        assert_eq!(civil_from_day(0), (1970, 0, 1));
        assert_eq!(civil_from_day(-1), (1969, 11, 31));
        assert_eq!(civil_from_day(19782), (2024, 1, 29));
        assert_eq!(civil_from_day(100_000_000), (275760, 8, 13));
        assert_eq!(civil_from_day(-100_000_000), (-271821, 3, 20));
        let mut expected = civil_from_day(-800_000);
        for day in -800_000..800_000 {
            let (year, month, date) = civil_from_day(day);
            assert_eq!((year, month, date), expected);
            expected.2 += 1;
            if expected.2 > days_in_month(year, month) {
                expected = if month == 11 { (year + 1, 0, 1) } else { (year, month + 1, 1) };
            }
        }
        assert_eq!(weekday(0), 4);
        assert_eq!(
            fields(-1.0),
            Fields { year: 1969, month: 11, day: 31, hour: 23, minute: 59, second: 59, millisecond: 999, weekday: 3 }
        );
    }

    #[test]
    fn making() {
        assert_eq!(make_day(1970.0, 0.0, 1.0), 0.0);
        assert_eq!(make_day(1970.0, -1.0, 1.0), -31.0);
        assert_eq!(make_day(1969.0, 13.0, 1.0), 31.0);
        assert!(make_day(f64::MAX, 0.0, 1.0).is_nan());
        assert_eq!(make_full_year(99.9), 1999.0);
        assert!(time_clip(8.64e15 + 1.0).is_nan());
        assert_eq!(time_clip(8.64e15), 8.64e15);
        assert!(time_clip(-0.0).is_sign_positive());
        assert_eq!(make_date(1.0, 5.0), 86_400_005.0);
        let zone = TimeZone::named("CET-1");
        assert_eq!(local_time(0.0, &zone), 3_600_000.0);
        assert_eq!(utc(3_600_000.0, &zone), 0.0);
    }
}
