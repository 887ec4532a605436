//! Regular expressions (ECMA-262 22.2).
//!
//! Two matchers. Our own ([`code`], [`exec`]) runs most patterns: it works on both string encodings in place,
//! knows what a match can begin with, counts its steps against a limit, and takes no native stack. What its
//! parser does not know (property escapes, set notation, Unicode case folding and rarities) goes to the crate
//! regress, which is also the judge of syntax errors.
//!
//! Invariant: this is the only module that names regress; everything outside sees [`Program`],
//! [`Text`] and [`Captures`].
//!
//! Things that regress lacks are made good here:
//!
//! * It only searches. A sticky match, and any match of a pattern that begins with `^`, would scan the
//!   whole rest of the subject in vain: such programs are compiled as `(?:pattern)|()`, whose last,
//!   additional group says that the pattern did not match at the start position.
//! * It gives group names per match only. `scan` reads them from the source once.
//! * It has no step limit: `(a+)+b` on 24 characters runs for a second, and neither the fuel budget nor a
//!   stop request interrupts it. [`Program::may_backtrack_badly`] tells patterns with nested
//!   unbounded repetition, so that a caller with a budget can refuse or charge them. Its backtrack stack is
//!   on the heap and its parser limits nesting, so the native stack is safe.

mod ast;
mod class;
mod code;
mod escape;
mod exec;
mod scan;

pub use escape::{escape_for_pattern, escape_source};
pub use exec::{Exhausted, Scratch};
use scan::{begins_with_caret, has_nested_repetition, repeats_assertion, scan_groups};

use std::sync::OnceLock;

use super::Units;
use code::Code;

/// The flags of a regular expression (ECMA-262 22.2.3.1).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct RegExpFlags {
    bits: u8,
}

/// Flag letters in the order in which `flags` lists them, which is alphabetical (22.2.6.4).
const FLAG_LETTERS: &[u8; 8] = b"dgimsuvy";

impl RegExpFlags {
    /// Reads flag letters; `None` for an unknown or repeated letter, or `u` with `v` (22.2.3.3
    /// RegExpInitialize).
    pub fn parse<U: Units + ?Sized>(text: &U) -> Option<RegExpFlags> {
        let mut bits = 0u8;
        for i in 0..text.len() {
            let at = FLAG_LETTERS.iter().position(|&b| u16::from(b) == text.at(i))?;
            if bits & 1 << at != 0 {
                return None;
            }
            bits |= 1 << at;
        }
        let flags = RegExpFlags { bits };
        (!(flags.has(b'u') && flags.has(b'v'))).then_some(flags)
    }

    /// The flags with these bits, as [`RegExpFlags::bits`] gave them.
    pub fn from_bits(bits: u8) -> RegExpFlags {
        RegExpFlags { bits }
    }

    /// One bit per letter of `dgimsuvy`, lowest first.
    pub fn bits(self) -> u8 {
        self.bits
    }

    /// Whether the flag with this letter is set.
    pub fn has(self, letter: u8) -> bool {
        FLAG_LETTERS.iter().position(|&b| b == letter).is_some_and(|at| self.bits & 1 << at != 0)
    }

    /// `u` or `v`: the pattern and the subject are read by code points.
    pub fn is_unicode(self) -> bool {
        self.has(b'u') || self.has(b'v')
    }

    /// The letters in alphabetical order.
    pub fn letters(self) -> String {
        FLAG_LETTERS.iter().filter(|&&b| self.has(b)).map(|&b| char::from(b)).collect()
    }
}

/// A named group: its name and the numbers of the groups that bear it (several where they stand in
/// different alternatives).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupName {
    /// The name in code units, escapes decoded.
    pub name: Vec<u16>,
    /// Group numbers, counted from 1.
    pub groups: Vec<u32>,
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Program {
    flags: RegExpFlags,
    /// Our own program, where the pattern is one for it.
    code: Option<Code>,
    /// regress's program; made at once where there is no other.
    search: OnceLock<Option<regress::Regex>>,
    /// The pattern as `(?:pattern)|()`, made at first need; `None` where that changes its meaning.
    at_start: OnceLock<Option<regress::Regex>>,
    source: Vec<u32>,
    group_count: u32,
    group_names: Vec<GroupName>,
    begins_with_caret: bool,
    has_decimal_escape: bool,
    nested_repetition: bool,
    non_ascii_matters: bool,
}

/// A subject in either of the engine's encodings.
#[derive(Debug, Clone, Copy)]
pub enum Text<'a> {
    /// Latin-1.
    Latin1(&'a [u8]),
    /// Code units.
    Utf16(&'a [u16]),
}

impl Text<'_> {
    /// Number of code units.
    pub fn len(&self) -> usize {
        match self {
            Text::Latin1(text) => text.len(),
            Text::Utf16(text) => text.len(),
        }
    }

    /// Whether there are no units.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Marks a group that took no part.
pub const NO_POSITION: u32 = u32::MAX;

/// The ranges of one match in code units, kept between matches to save allocations: start and end of the
/// whole match, then of groups 1, 2, ...
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Captures {
    /// Two positions per group, [`NO_POSITION`] where it took no part.
    pub slots: Vec<u32>,
}

impl Captures {
    /// Start of the whole match.
    pub fn start(&self) -> usize {
        self.slots.first().map_or(0, |&s| s as usize)
    }

    /// End of the whole match.
    pub fn end(&self) -> usize {
        self.slots.get(1).map_or(0, |&s| s as usize)
    }

    /// Number of groups, the whole match included.
    pub fn count(&self) -> usize {
        self.slots.len() / 2
    }

    /// Range of group `n`, 0 being the whole match.
    pub fn group(&self, n: usize) -> Option<(usize, usize)> {
        match self.slots.get(2 * n..2 * n + 2) {
            Some(&[start, end]) if start != NO_POSITION && end != NO_POSITION => Some((start as usize, end as usize)),
            _ => None,
        }
    }
}

/// Compiles a pattern (ECMA-262 22.2.3.3 RegExpInitialize). The error is the part of the SyntaxError
/// message behind "Invalid regular expression: /source/flags: ".
pub fn compile<U: Units + ?Sized>(source: &U, flags: RegExpFlags) -> Result<Program, String> {
    // Without u or v a pattern is a sequence of code units, and so is what it matches.
    let source: Vec<u32> = if flags.is_unicode() {
        super::unicode::code_points(source).map(|(_, c)| c).collect()
    } else {
        (0..source.len()).map(|i| u32::from(source.at(i))).collect()
    };
    let scan = scan_groups(&source, flags);
    if repeats_assertion(&source, flags) {
        return Err("Nothing to repeat".to_owned());
    }
    let code = ast::parse(&source, flags, scan.count, &scan.names).and_then(|pattern| code::compile(&pattern, flags));
    let search = OnceLock::new();
    if code.is_none() {
        let regex = regress::Regex::from_unicode(source.iter().copied(), regress_flags(flags)).map_err(|e| e.text)?;
        let _ = search.set(Some(regex));
    }
    Ok(Program {
        flags,
        code,
        search,
        at_start: OnceLock::new(),
        group_count: scan.count,
        group_names: scan.names,
        begins_with_caret: begins_with_caret(&source) && !flags.has(b'm'),
        has_decimal_escape: scan.has_decimal_escape,
        nested_repetition: has_nested_repetition(&source, flags),
        // Folding by Unicode rules relates ASCII letters to others (K and the Kelvin sign), and an
        // ASCII matcher does not know them.
        non_ascii_matters: flags.has(b'i') && flags.is_unicode(),
        source,
    })
}

fn regress_flags(flags: RegExpFlags) -> regress::Flags {
    regress::Flags {
        icase: flags.has(b'i'),
        multiline: flags.has(b'm'),
        dot_all: flags.has(b's'),
        no_opt: false,
        unicode: flags.is_unicode(),
        unicode_sets: flags.has(b'v'),
    }
}

impl Program {
    /// The flags that the program was compiled with.
    pub fn flags(&self) -> RegExpFlags {
        self.flags
    }

    /// Number of capturing groups, the whole match not counted.
    pub fn group_count(&self) -> u32 {
        self.group_count
    }

    /// Names in the order of their first group (ECMA-262 22.2.7.2 step 33).
    pub fn group_names(&self) -> &[GroupName] {
        &self.group_names
    }

    /// Whether the pattern repeats something that itself repeats without bound, like `(a+)+`: the
    /// usual sign of exponential time. See the module's header.
    pub fn may_backtrack_badly(&self) -> bool {
        self.nested_repetition
    }

    /// Runs the program (ECMA-262 22.2.7.2 RegExpBuiltinExec steps 7-21): the first match at or after
    /// `last_index`, or exactly there if `sticky`. Whether there is one (then `captures` has it), and the steps
    /// that it took.
    pub fn exec(
        &self,
        text: Text<'_>,
        last_index: usize,
        sticky: bool,
        captures: &mut Captures,
        scratch: &mut Scratch,
        steps_max: u64,
    ) -> (Result<bool, Exhausted>, u64) {
        captures.slots.clear();
        if last_index > text.len() {
            return (Ok(false), 0);
        }
        if let Some(code) = &self.code {
            return match text {
                Text::Latin1(units) => exec::search(code, units, last_index, sticky, captures, scratch, steps_max),
                Text::Utf16(units) if code.unicode => {
                    exec::search(code, exec::CodePoints(units), last_index, sticky, captures, scratch, steps_max)
                }
                Text::Utf16(units) => {
                    exec::search(code, exec::CodeUnits(units), last_index, sticky, captures, scratch, steps_max)
                }
            };
        }
        let found = self.exec_regress(text, last_index, sticky, captures);
        // regress does not count; the length that was looked at is the best guess.
        let looked_at = if found { captures.end().saturating_sub(last_index) } else { text.len() - last_index };
        (Ok(found), looked_at as u64 / 4)
    }

    /// The same by regress.
    fn exec_regress(&self, text: Text<'_>, last_index: usize, sticky: bool, captures: &mut Captures) -> bool {
        captures.slots.clear();
        let Some(search) = self.regress() else { return false };
        if self.begins_with_caret && last_index > 0 {
            return false;
        }
        if !sticky && !self.begins_with_caret {
            return self.run(search, text, last_index, captures);
        }
        match self.at_start() {
            Some(regex) => {
                if !self.run(regex, text, last_index, captures) {
                    return false;
                }
                // The additional last group took part if the pattern did not match.
                let missed = captures.group(captures.count() - 1).is_some();
                captures.slots.truncate(captures.slots.len() - 2);
                !missed
            }
            None => self.run(search, text, last_index, captures) && captures.start() == last_index,
        }
    }

    fn regress(&self) -> Option<&regress::Regex> {
        self.search
            .get_or_init(|| regress::Regex::from_unicode(self.source.iter().copied(), regress_flags(self.flags)).ok())
            .as_ref()
    }

    /// Whether our own matcher runs the pattern.
    pub fn is_own(&self) -> bool {
        self.code.is_some()
    }

    fn at_start(&self) -> Option<&regress::Regex> {
        self.at_start
            .get_or_init(|| {
                // One more group could turn \1 from an octal escape into a reference.
                if self.has_decimal_escape {
                    return None;
                }
                let pattern: Vec<u32> = [b"(?:".as_slice(), b")|()".as_slice()]
                    .map(|part| part.iter().map(|&b| u32::from(b)).collect::<Vec<u32>>())
                    .join(self.source.as_slice());
                regress::Regex::from_unicode(pattern.iter().copied(), regress_flags(self.flags)).ok()
            })
            .as_ref()
    }

    fn run(&self, regex: &regress::Regex, text: Text<'_>, start: usize, captures: &mut Captures) -> bool {
        let found = match text {
            Text::Latin1(latin1) => match std::str::from_utf8(latin1) {
                Ok(ascii) if !self.non_ascii_matters && latin1.is_ascii() => regex.find_from_ascii(ascii, start).next(),
                _ => {
                    let units: Vec<u16> = latin1.iter().map(|&b| u16::from(b)).collect();
                    self.run_wide(regex, &units, start)
                }
            },
            Text::Utf16(units) => self.run_wide(regex, units, start),
        };
        let Some(found) = found else { return false };
        captures.slots.extend([found.range.start as u32, found.range.end as u32]);
        for group in &found.captures {
            match group {
                Some(range) => captures.slots.extend([range.start as u32, range.end as u32]),
                None => captures.slots.extend([NO_POSITION; 2]),
            }
        }
        true
    }

    fn run_wide(&self, regex: &regress::Regex, text: &[u16], start: usize) -> Option<regress::Match> {
        if !self.flags.is_unicode() {
            return regex.find_from_ucs2(text, start).next();
        }
        // A position inside a surrogate pair is moved to the pair's start, as the specification's list of
        // characters has it (22.2.7.2 step 12).
        let inside = start > 0 && start < text.len() && text.code_point_at(start - 1).1 == 2;
        let start = if inside { start - 1 } else { start };
        regex.find_from_utf16(text, start).next()
    }
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    fn program(source: &str, flags: &str) -> Program {
        compile(units(source).as_slice(), RegExpFlags::parse(flags.as_bytes()).unwrap()).unwrap()
    }

    /// Runs both matchers where both can, and compares.
    fn exec(program: &Program, text: Text<'_>, at: usize, sticky: bool) -> Option<Captures> {
        let sticky = sticky || program.flags().has(b'y');
        let mut captures = Captures::default();
        let (found, _) = program.exec(text, at, sticky, &mut captures, &mut Scratch::default(), 1 << 20);
        let found = found.unwrap().then_some(captures);
        let mut other = Captures::default();
        let other_found = program.exec_regress(text, at, sticky, &mut other).then_some(other);
        assert_eq!(found, other_found, "{:?} on {text:?} at {at}", program.source);
        found
    }

    fn range(source: &str, flags: &str, subject: &str, at: usize) -> Option<(usize, usize)> {
        let units = units(subject);
        let program = program(source, flags);
        let wide = exec(&program, Text::Utf16(&units), at, false);
        if subject.is_ascii() {
            assert_eq!(exec(&program, Text::Latin1(subject.as_bytes()), at, false), wide);
        }
        wide.map(|c| (c.start(), c.end()))
    }

    #[test]
    fn flags() {
        assert_eq!(RegExpFlags::parse(b"yg".as_slice()).unwrap().letters(), "gy");
        assert_eq!(RegExpFlags::parse(b"gg".as_slice()), None);
        assert_eq!(RegExpFlags::parse(b"uv".as_slice()), None);
        assert_eq!(RegExpFlags::parse(b"x".as_slice()), None);
    }

    #[test]
    fn searching() {
        assert_eq!(range("b+", "", "abbc", 0), Some((1, 3)));
        assert_eq!(range("b+", "", "abbc", 3), None);
        assert_eq!(range("", "", "abc", 3), Some((3, 3)));
        assert_eq!(range("", "", "abc", 4), None);
        assert_eq!(range("b", "y", "abb", 1), Some((1, 2)));
        assert_eq!(range("b", "y", "abb", 0), None);
        assert_eq!(range("(?=b)", "y", "abb", 1), Some((1, 1)));
        assert_eq!(range("^a", "", "aa", 0), Some((0, 1)));
        assert_eq!(range("^a", "", "aa", 1), None);
        assert_eq!(range("^a", "m", "b\na", 0), Some((2, 3)));
        assert_eq!(range("^a|b", "", "xb", 0), Some((1, 2)));
        assert_eq!(range("^(a|b)", "", "b", 0), Some((0, 1)));
        assert_eq!(range("(?<=a)b", "y", "ab", 1), Some((1, 2)));
        assert_eq!(range("\\1b", "y", "\u{1}b", 0), Some((0, 2)));
    }

    #[test]
    fn units_and_code_points() {
        assert_eq!(range(".", "", "😀", 0), Some((0, 1)));
        assert_eq!(range(".", "u", "😀", 0), Some((0, 2)));
        assert_eq!(range(".", "u", "a😀b", 3), Some((3, 4)));
        assert_eq!(range(".", "u", "a😀b", 2), Some((1, 3)));
        assert_eq!(range("^.$", "", "😀", 0), None);
        assert_eq!(range("[😀]", "u", "x😀", 0), Some((1, 3)));
        assert_eq!(range("\\ud83d", "", "😀", 0), Some((0, 1)));
        assert_eq!(range("\\ud83d", "u", "😀", 0), None);
        assert_eq!(range("k", "iu", "\u{212a}", 0), Some((0, 1)));
        assert_eq!(range("\u{212a}", "iu", "k", 0), Some((0, 1)));
        assert_eq!(range("\u{212a}", "i", "k", 0), None);
        assert_eq!(range("\\w", "", "é", 0), None);
    }

    #[test]
    fn groups() {
        let program = program("(?<year>\\d{4})-(\\d\\d)|(?<year>x)[(](?:y)(?<\\u0061b>z)", "");
        assert_eq!(program.group_count(), 4);
        assert_eq!(
            program.group_names(),
            [GroupName { name: units("year"), groups: vec![1, 3] }, GroupName { name: units("ab"), groups: vec![4] }]
        );
        let text = Text::Latin1(b"a 2020-01");
        let captures = exec(&program, text, 0, false).unwrap();
        assert_eq!(captures.slots[..6], [2, 9, 2, 6, 7, 9]);
        assert_eq!(captures.group(3), None);
        assert_eq!(exec(&program, text, 2, true).unwrap(), captures);
        assert!(exec(&program, text, 0, true).is_none());
    }

    /// Random patterns with what node 20 answered: source, flags, subject, lastIndex, positions ("N": no
    /// match); texts as decimal code units.
    #[test]
    fn random_cases_like_node() {
        let units = |text: &str| -> Vec<u16> { text.split(',').filter_map(|n| n.parse().ok()).collect() };
        let mut own = 0;
        for line in include_str!("cases.tsv").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let (source, flags) = (units(fields[0]), RegExpFlags::parse(fields[1].as_bytes()).unwrap());
            let (subject, at) = (units(fields[2]), fields[3].parse().unwrap());
            let program = compile(source.as_slice(), flags).unwrap();
            own += u32::from(program.is_own());
            let narrow: Option<Vec<u8>> = subject.iter().map(|&u| u8::try_from(u).ok()).collect();
            let mut texts = vec![Text::Utf16(&subject)];
            texts.extend(narrow.as_deref().map(Text::Latin1));
            for text in texts {
                let mut captures = Captures::default();
                let scratch = &mut Scratch::default();
                let (found, _) = program.exec(text, at, flags.has(b'y'), &mut captures, scratch, 1 << 24);
                let positions: Vec<String> = captures.slots.iter().map(|&s| (s as i32).to_string()).collect();
                let got = if found.unwrap() { positions.join(",") } else { "N".to_owned() };
                assert_eq!(got, fields[4], "{line}");
            }
        }
        assert!(own >= 400, "{own}");
    }

    /// What exponential patterns cost is bounded by the limit.
    #[test]
    fn steps_are_limited() {
        let program = program("(a+)+b", "");
        let text = Text::Latin1(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        let (found, steps) = program.exec(text, 0, false, &mut Captures::default(), &mut Scratch::default(), 10_000);
        assert_eq!(found, Err(Exhausted));
        assert!((10_000..20_000).contains(&steps));
    }

    #[test]
    fn errors_and_warnings() {
        for bad in ["(", "[", "a**", "\\", "(?<a>)(?<a>)", "(?<n", "^*", "\\b{2}", "(?<=a)?", "(?<1>a)"] {
            assert!(compile(units(bad).as_slice(), RegExpFlags::default()).is_err(), "{bad}");
        }
        assert!(program("(a+)+b", "").may_backtrack_badly());
        assert!(program("((a{2,}))*b", "").may_backtrack_badly());
        assert!(!program("a+b+(c|d)*", "").may_backtrack_badly());
        let deep = "(".repeat(100_000);
        assert!(compile(deep.as_bytes(), RegExpFlags::default()).is_err());
    }

    #[test]
    fn escaping() {
        assert_eq!(escape_source(b"a/b[/]\\/\n".as_slice()), Some(units("a\\/b[/]\\/\\n")));
        assert_eq!(escape_source(b"abc".as_slice()), None);
        assert_eq!(escape_source(b"".as_slice()), Some(units("(?:)")));
        assert_eq!(escape_for_pattern(b"a.b-c \n".as_slice()), units("\\x61\\.b\\x2dc\\x20\\n"));
        assert_eq!(escape_for_pattern([0x2028u16, 0xD800].as_slice()), units("\\u2028\\ud800"));
    }
}
