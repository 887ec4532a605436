//! Local time: zone files (RFC 9636 TZif) and POSIX TZ rules.
//!
//! Invariant: a [`TimeZone`] is an immutable value that belongs to whoever asked for it; there is no
//! global zone. A realm asks anew at its start, so a snapshot never carries the zone of the machine on
//! which it was built. Damaged or missing files give UTC, never an error.

use super::date::{day_from_year, days_in_month, month_start_day, weekday, year_from_time};

/// One kind of local time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct LocalType {
    offset_s: i32,
    abbreviation: String,
    is_dst: bool,
}

/// When a rule changes the time, within a year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RuleDate {
    /// `Jn`: day 1..=365, the 29th of February is never counted.
    Julian(i64),
    /// `n`: day 0..=365.
    Day(i64),
    /// `Mm.w.d`: the w-th weekday d of month m, 5 being the last.
    MonthWeekDay(i64, i64, i64),
}

/// The rule behind the last transition: standard time, and perhaps summer time between two dates.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    standard: LocalType,
    summer: Option<(LocalType, RuleMoment, RuleMoment)>,
}

/// A date of the rule and the seconds of local time within that day.
type RuleMoment = (RuleDate, i64);

/// A time zone: transitions in UTC seconds, each with the local type that it begins, then a rule.
#[derive(Debug, Clone)]
pub struct TimeZone {
    name: String,
    transitions_s: Vec<i64>,
    type_of: Vec<u8>,
    types: Vec<LocalType>,
    rule: Option<Rule>,
}

/// Local time as it is at one instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalOffset<'a> {
    /// Milliseconds to add to UTC.
    pub offset_ms: i64,
    /// Abbreviation, like "CET".
    pub abbreviation: &'a str,
    /// Whether this is summer time.
    pub is_dst: bool,
}

impl TimeZone {
    /// UTC.
    pub fn utc() -> TimeZone {
        let types = vec![LocalType { offset_s: 0, abbreviation: "UTC".to_owned(), is_dst: false }];
        TimeZone { name: "UTC".to_owned(), transitions_s: vec![], type_of: vec![], types, rule: None }
    }

    /// The zone of the system: the TZ variable (a name or a POSIX rule), else /etc/localtime, else UTC.
    pub fn system() -> TimeZone {
        match std::env::var("TZ") {
            Ok(name) if !name.is_empty() => TimeZone::named(name.trim_start_matches(':')),
            _ => {
                let name = std::fs::read_link("/etc/localtime")
                    .ok()
                    .and_then(|path| zone_name(path.to_str()?))
                    .unwrap_or_else(|| "UTC".to_owned());
                std::fs::read("/etc/localtime")
                    .ok()
                    .and_then(|bytes| TimeZone::from_tzif(&name, &bytes))
                    .unwrap_or_else(TimeZone::utc)
            }
        }
    }

    /// A zone by its IANA name, as a path of a zone file, or by a POSIX rule; UTC if there is none.
    pub fn named(name: &str) -> TimeZone {
        if matches!(name, "UTC" | "GMT" | "Etc/UTC") || name.contains("..") {
            return TimeZone::utc();
        }
        let path = if name.starts_with('/') { name.to_owned() } else { format!("/usr/share/zoneinfo/{name}") };
        if let Some(zone) = std::fs::read(&path).ok().and_then(|bytes| TimeZone::from_tzif(name, &bytes)) {
            return zone;
        }
        match parse_rule(name.as_bytes()) {
            Some(rule) => TimeZone {
                name: name.to_owned(),
                transitions_s: vec![],
                type_of: vec![],
                types: vec![rule.standard.clone()],
                rule: Some(rule),
            },
            None => TimeZone::utc(),
        }
    }

    /// The IANA name, as far as it is known.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Parses a TZif file; `None` if it is damaged.
    pub fn from_tzif(name: &str, bytes: &[u8]) -> Option<TimeZone> {
        let mut reader = Reader { bytes };
        let header = Header::read(&mut reader)?;
        if header.version == 0 {
            return read_block(name, &mut reader, &header, 4);
        }
        // Version 2 and later repeat everything with 64-bit times behind the first block.
        reader.take(header.block_bytes(4)?)?;
        let header = Header::read(&mut reader)?;
        let mut zone = read_block(name, &mut reader, &header, 8)?;
        let footer = reader.bytes;
        if footer.first() == Some(&b'\n')
            && let Some(end) = footer[1..].iter().position(|&b| b == b'\n')
        {
            zone.rule = parse_rule(&footer[1..1 + end]);
        }
        Some(zone)
    }

    /// The offset at an instant in UTC (ECMA-262 21.4.1.21 GetNamedTimeZoneOffsetNanoseconds).
    pub fn at_utc_ms(&self, utc_ms: f64) -> LocalOffset<'_> {
        let seconds = libm::floor(utc_ms / 1000.0) as i64;
        let local = self.local_type(seconds);
        LocalOffset {
            offset_ms: i64::from(local.offset_s) * 1000,
            abbreviation: &local.abbreviation,
            is_dst: local.is_dst,
        }
    }

    /// The offset for a local time (ECMA-262 21.4.1.26 UTC): of two possible instants the earlier; for
    /// a local time that is skipped, the offset before the transition.
    pub fn offset_for_local_ms(&self, local_ms: f64) -> i64 {
        // The offset before any transition that may lie near is the one a day earlier, the one after it
        // a day later. Two transitions within two days of each other do not occur in the data that
        // matters, and would give one of the two offsets all the same.
        const DAY_MS: f64 = 86_400_000.0;
        let before = self.at_utc_ms(local_ms - DAY_MS).offset_ms;
        let after = self.at_utc_ms(local_ms + DAY_MS).offset_ms;
        if before == after {
            return before;
        }
        // If the old offset gives an instant at which it still holds, that is the earlier (or only) one.
        if self.at_utc_ms(local_ms - before as f64).offset_ms == before {
            return before;
        }
        if self.at_utc_ms(local_ms - after as f64).offset_ms == after {
            return after;
        }
        before
    }

    /// The abbreviation of standard or summer time by the rule for the future, "LMT" where there is none.
    pub fn current_abbreviation(&self, is_dst: bool) -> &str {
        match &self.rule {
            Some(Rule { summer: Some((summer, ..)), .. }) if is_dst => &summer.abbreviation,
            Some(rule) => &rule.standard.abbreviation,
            None => "LMT",
        }
    }

    fn local_type(&self, seconds: i64) -> &LocalType {
        let index = self.transitions_s.partition_point(|&t| t <= seconds);
        if index == self.transitions_s.len()
            && let Some(rule) = &self.rule
        {
            return rule.local_type(seconds);
        }
        let kind = match index {
            // Before the first transition the first standard type holds.
            0 => self.types.iter().position(|t| !t.is_dst).unwrap_or(0),
            _ => usize::from(self.type_of[index - 1]),
        };
        &self.types[kind]
    }
}

fn zone_name(path: &str) -> Option<String> {
    let at = path.find("zoneinfo/")?;
    Some(path[at + "zoneinfo/".len()..].to_owned())
}

struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (head, rest) = self.bytes.split_at_checked(count)?;
        self.bytes = rest;
        Some(head)
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn time(&mut self, width: usize) -> Option<i64> {
        let bytes = self.take(width)?;
        Some(match width {
            4 => i64::from(i32::from_be_bytes(bytes.try_into().ok()?)),
            _ => i64::from_be_bytes(bytes.try_into().ok()?),
        })
    }
}

struct Header {
    version: u8,
    utc_flags: usize,
    standard_flags: usize,
    leap_seconds: usize,
    transitions: usize,
    types: usize,
    abbreviation_bytes: usize,
}

impl Header {
    fn read(reader: &mut Reader<'_>) -> Option<Header> {
        let head = reader.take(20)?;
        if &head[..4] != b"TZif" {
            return None;
        }
        let mut count = || reader.u32().map(|n| n as usize).filter(|&n| n < 1 << 20);
        Some(Header {
            version: head[4],
            utc_flags: count()?,
            standard_flags: count()?,
            leap_seconds: count()?,
            transitions: count()?,
            types: count()?,
            abbreviation_bytes: count()?,
        })
    }

    fn block_bytes(&self, width: usize) -> Option<usize> {
        Some(
            self.transitions * (width + 1)
                + self.types * 6
                + self.abbreviation_bytes
                + self.leap_seconds * (width + 4)
                + self.standard_flags
                + self.utc_flags,
        )
    }
}

fn read_block(name: &str, reader: &mut Reader<'_>, header: &Header, width: usize) -> Option<TimeZone> {
    let mut transitions_s = Vec::with_capacity(header.transitions);
    for _ in 0..header.transitions {
        transitions_s.push(reader.time(width)?);
    }
    let type_of = reader.take(header.transitions)?.to_vec();
    let mut raw = Vec::with_capacity(header.types);
    for _ in 0..header.types {
        let offset_s = reader.u32()? as i32;
        let rest = reader.take(2)?;
        raw.push((offset_s, rest[0] != 0, usize::from(rest[1])));
    }
    let names = reader.take(header.abbreviation_bytes)?;
    reader.take(header.leap_seconds * (width + 4) + header.standard_flags + header.utc_flags)?;
    let mut types = Vec::with_capacity(raw.len());
    for (offset_s, is_dst, at) in raw {
        let text = names.get(at..)?;
        let end = text.iter().position(|&b| b == 0).unwrap_or(text.len());
        let abbreviation = String::from_utf8_lossy(&text[..end]).into_owned();
        types.push(LocalType { offset_s, abbreviation, is_dst });
    }
    let sorted = transitions_s.windows(2).all(|pair| pair[0] <= pair[1]);
    let known = type_of.iter().all(|&t| usize::from(t) < types.len());
    (sorted && known && !types.is_empty()).then(|| TimeZone {
        name: name.to_owned(),
        transitions_s,
        type_of,
        types,
        rule: None,
    })
}

impl Rule {
    fn local_type(&self, seconds: i64) -> &LocalType {
        let Some((summer, start, end)) = &self.summer else {
            return &self.standard;
        };
        // The year of the local standard time: transitions never lie near the turn of a year.
        let local = seconds + i64::from(self.standard.offset_s);
        let year = year_from_time(local as f64 * 1000.0);
        let start_s = rule_seconds(*start, year) - i64::from(self.standard.offset_s);
        let end_s = rule_seconds(*end, year) - i64::from(summer.offset_s);
        let is_summer = if start_s < end_s {
            (start_s..end_s).contains(&seconds)
        } else {
            // Southern half: summer time runs over the turn of the year.
            !(end_s..start_s).contains(&seconds)
        };
        if is_summer { summer } else { &self.standard }
    }
}

/// Seconds of the rule's date and local time of day in `year`, counted from 1970 in local time.
fn rule_seconds((date, time_s): RuleMoment, year: i64) -> i64 {
    let first_day = day_from_year(year);
    let leap = days_in_month(year, 1) == 29;
    let day = match date {
        RuleDate::Julian(n) => first_day + n - 1 + i64::from(leap && n >= 60),
        RuleDate::Day(n) => first_day + n,
        RuleDate::MonthWeekDay(month, week, day_of_week) => {
            let start = first_day + month_start_day(year, month - 1);
            let first = (day_of_week - weekday(start)).rem_euclid(7);
            let mut offset = first + (week - 1) * 7;
            if offset >= days_in_month(year, month - 1) {
                offset -= 7;
            }
            start + offset
        }
    };
    day * 86400 + time_s
}

/// Parses a POSIX TZ rule such as `CET-1CEST,M3.5.0,M10.5.0/3`.
fn parse_rule(text: &[u8]) -> Option<Rule> {
    let mut p = RuleParser { text, at: 0 };
    let standard_name = p.name()?;
    let standard_offset = -p.time()?;
    let standard =
        LocalType { offset_s: i32::try_from(standard_offset).ok()?, abbreviation: standard_name, is_dst: false };
    if p.at == text.len() {
        return Some(Rule { standard, summer: None });
    }
    let summer_name = p.name()?;
    let mut summer_offset = standard_offset + 3600;
    if p.peek() != Some(b',') && p.at < text.len() {
        summer_offset = -p.time()?;
    }
    let mut dates = [(RuleDate::MonthWeekDay(3, 2, 0), 7200), (RuleDate::MonthWeekDay(11, 1, 0), 7200)];
    if p.at < text.len() {
        for date in &mut dates {
            p.expect(b',')?;
            *date = p.date()?;
        }
    }
    let offset_s = i32::try_from(summer_offset).ok()?;
    let summer = LocalType { offset_s, abbreviation: summer_name, is_dst: true };
    (p.at == text.len()).then_some(Rule { standard, summer: Some((summer, dates[0], dates[1])) })
}

struct RuleParser<'a> {
    text: &'a [u8],
    at: usize,
}

impl RuleParser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn expect(&mut self, byte: u8) -> Option<()> {
        (self.peek() == Some(byte)).then(|| self.at += 1)
    }

    fn name(&mut self) -> Option<String> {
        let quoted = self.peek() == Some(b'<');
        self.at += usize::from(quoted);
        let start = self.at;
        while self.peek().is_some_and(|b| if quoted { b != b'>' } else { b.is_ascii_alphabetic() }) {
            self.at += 1;
        }
        let name = std::str::from_utf8(&self.text[start..self.at]).ok()?.to_owned();
        if quoted {
            self.expect(b'>')?;
        }
        (name.len() >= 3).then_some(name)
    }

    fn number(&mut self) -> Option<i64> {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) && self.at - start < 6 {
            self.at += 1;
        }
        std::str::from_utf8(&self.text[start..self.at]).ok()?.parse().ok()
    }

    /// `[+-]hh[:mm[:ss]]` in seconds.
    fn time(&mut self) -> Option<i64> {
        let negative = self.peek() == Some(b'-');
        if matches!(self.peek(), Some(b'+' | b'-')) {
            self.at += 1;
        }
        let mut seconds = self.number()? * 3600;
        for unit in [60, 1] {
            if self.peek() == Some(b':') {
                self.at += 1;
                seconds += self.number()? * unit;
            }
        }
        Some(if negative { -seconds } else { seconds })
    }

    fn date(&mut self) -> Option<RuleMoment> {
        let date = match self.peek()? {
            b'M' => {
                self.at += 1;
                let month = self.number().filter(|m| (1..=12).contains(m))?;
                self.expect(b'.')?;
                let week = self.number().filter(|w| (1..=5).contains(w))?;
                self.expect(b'.')?;
                let day = self.number().filter(|d| (0..=6).contains(d))?;
                RuleDate::MonthWeekDay(month, week, day)
            }
            b'J' => {
                self.at += 1;
                RuleDate::Julian(self.number().filter(|d| (1..=365).contains(d))?)
            }
            _ => RuleDate::Day(self.number().filter(|d| (0..=365).contains(d))?),
        };
        let time_s = if self.peek() == Some(b'/') {
            self.at += 1;
            self.time()?
        } else {
            7200
        };
        Some((date, time_s))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules() {
        let zone = TimeZone::named("CET-1CEST,M3.5.0,M10.5.0/3");
        // 2024-03-31T01:00Z and 2024-10-27T01:00Z.
        for (utc_s, offset, name) in [
            (1711846799, 3600, "CET"),
            (1711846800, 7200, "CEST"),
            (1729990799, 7200, "CEST"),
            (1729990800, 3600, "CET"),
        ] {
            let local = zone.at_utc_ms(utc_s as f64 * 1000.0);
            assert_eq!((local.offset_ms / 1000, local.abbreviation), (offset, name));
        }
        // 02:30 on the spring day does not exist, 02:30 on the autumn day is taken as the earlier.
        assert_eq!(zone.offset_for_local_ms(1711852200e3), 3_600_000);
        assert_eq!(zone.offset_for_local_ms(1729996200e3), 7_200_000);
        let south = TimeZone::named("AEST-10AEDT,M10.1.0,M4.1.0/3");
        assert!(south.at_utc_ms(1704067200e3).is_dst && !south.at_utc_ms(1719792000e3).is_dst);
        assert_eq!(TimeZone::named("<-03>3").at_utc_ms(0.0).offset_ms, -3 * 3_600_000);
        assert_eq!(TimeZone::named("nonsense").name(), "UTC");
    }

    #[test]
    fn files() {
        assert!(TimeZone::from_tzif("x", b"TZif2").is_none());
        let Ok(bytes) = std::fs::read("/usr/share/zoneinfo/America/New_York") else {
            return;
        };
        let zone = TimeZone::from_tzif("America/New_York", &bytes).unwrap();
        assert_eq!(zone.at_utc_ms(1704067200e3).abbreviation, "EST");
        assert_eq!(zone.at_utc_ms(1719792000e3).offset_ms, -4 * 3_600_000);
        assert_eq!(zone.at_utc_ms(4102444800e3).abbreviation, "EST");
        assert_eq!(zone.at_utc_ms(0.0).offset_ms, -5 * 3_600_000);
        for cut in 0..bytes.len() {
            let _ = TimeZone::from_tzif("x", &bytes[..cut]);
        }
    }
}
