//! Sets of characters for the matcher (ECMA-262 22.2.1 CharacterClass, 22.2.2.7.3 Canonicalize).
//!
//! Invariant: a finished [`Class`] answers for the characters as they stand in the subject: case folding and
//! inversion have been worked in when it was made, apart from folding above U+00FF, which it does itself.

use std::sync::{Arc, OnceLock};

/// A set of code points as sorted ranges that neither touch nor overlap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CharSet {
    ranges: Vec<(u32, u32)>,
}

/// The largest code point.
const MAX: u32 = 0x10_FFFF;

impl CharSet {
    /// Adds the code points `low..=high`.
    pub fn add(&mut self, low: u32, high: u32) {
        let start = self.ranges.partition_point(|&(_, end)| end.saturating_add(1) < low);
        let end = self.ranges.partition_point(|&(begin, _)| begin <= high.saturating_add(1));
        if start < end {
            let merged = (self.ranges[start].0.min(low), self.ranges[end - 1].1.max(high));
            self.ranges.splice(start..end, [merged]);
        } else {
            self.ranges.insert(start, (low, high));
        }
    }

    /// Adds all of `other`.
    pub fn add_set(&mut self, other: &CharSet) {
        for &(low, high) in &other.ranges {
            self.add(low, high);
        }
    }

    /// Everything that is not in the set.
    pub fn inverted(&self) -> CharSet {
        let mut ranges = Vec::with_capacity(self.ranges.len() + 1);
        let mut next = 0;
        for &(low, high) in &self.ranges {
            if low > next {
                ranges.push((next, low - 1));
            }
            next = high + 1;
        }
        if next <= MAX {
            ranges.push((next, MAX));
        }
        CharSet { ranges }
    }

    /// Whether the code point is in the set.
    pub fn contains(&self, code_point: u32) -> bool {
        let at = self.ranges.partition_point(|&(_, end)| end < code_point);
        self.ranges.get(at).is_some_and(|&(low, _)| low <= code_point)
    }

    /// `\d` (22.2.1)
    pub fn digits() -> CharSet {
        CharSet { ranges: vec![(0x30, 0x39)] }
    }

    /// `\w` (22.2.2.7.1 WordCharacters). With `u` and `i` together it has two more, which fold to s and k.
    pub fn word(folding: Folding) -> CharSet {
        let mut ranges = vec![(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)];
        if folding == Folding::Unicode {
            ranges.extend([(0x17F, 0x17F), (0x212A, 0x212A)]);
        }
        CharSet { ranges }
    }

    /// `\s`: white space and line terminators
    pub fn space() -> CharSet {
        let ranges = vec![
            (0x09, 0x0D),
            (0x20, 0x20),
            (0xA0, 0xA0),
            (0x1680, 0x1680),
            (0x2000, 0x200A),
            (0x2028, 0x2029),
            (0x202F, 0x202F),
            (0x205F, 0x205F),
            (0x3000, 0x3000),
            (0xFEFF, 0xFEFF),
        ];
        CharSet { ranges }
    }
}

/// How case is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Folding {
    /// Case matters.
    None,
    /// `i`: by upper case.
    Upper,
    /// `i` with `u`: by simple case folding.
    Unicode,
}

impl Folding {
    /// Canonicalize (22.2.2.7.3)
    #[inline]
    pub fn canonicalize(self, c: u32) -> u32 {
        match self {
            Folding::None => c,
            Folding::Upper => canonicalize(c),
            Folding::Unicode => fold(c),
        }
    }

    /// Every character that is not its own canonical form, with that form, in order. Made once per process:
    /// a constant of the Unicode version, not state.
    fn pairs(self) -> &'static [(u32, u32)] {
        static UPPER: OnceLock<Vec<(u32, u32)>> = OnceLock::new();
        static UNICODE: OnceLock<Vec<(u32, u32)>> = OnceLock::new();
        // No character behind Adlam has case.
        let make = |last: u32| {
            let pairs = (0..=last).map(|c| (c, self.canonicalize(c)));
            pairs.filter(|(c, canonical)| c != canonical).collect()
        };
        match self {
            Folding::None => &[],
            Folding::Upper => UPPER.get_or_init(|| make(0xFFFF)),
            Folding::Unicode => UNICODE.get_or_init(|| make(0x1_E95F)),
        }
    }
}

/// Simple case folding (the mappings C and S of CaseFolding.txt), by way of the upper case: most characters
/// fold to the lower case of their upper case.
fn fold(c: u32) -> u32 {
    if c < 0x80 {
        return if (0x41..=0x5A).contains(&c) { c + 32 } else { c };
    }
    match c {
        // Dotless i has no folding; Cherokee folds to its upper case.
        0x131 | 0x13A0..=0x13F5 => return c,
        0x13F8..=0x13FD => return c - 8,
        0xAB70..=0xABBF => return c - 0xAB70 + 0x13A0,
        _ => {}
    }
    let Some(character) = char::from_u32(c) else { return c };
    let single = |mut mapped: Box<dyn Iterator<Item = char>>| match (mapped.next(), mapped.next()) {
        (Some(one), None) => Some(one),
        _ => None,
    };
    let upper = single(Box::new(character.to_uppercase())).unwrap_or(character);
    single(Box::new(upper.to_lowercase())).map_or(c, u32::from)
}

/// Canonicalize (22.2.2.7.3) without `u`: upper case of one unit, unless that leaves the basic plane, takes
/// several units, or turns a non-ASCII character into an ASCII one.
pub fn canonicalize(c: u32) -> u32 {
    if c < 0x80 {
        return if (0x61..=0x7A).contains(&c) { c - 32 } else { c };
    }
    let Some(character) = char::from_u32(c) else { return c };
    let mut upper = character.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(one), None) if (0x80..0x10000).contains(&u32::from(one)) => u32::from(one),
        _ => c,
    }
}

/// A property escape; regress has the tables, and is asked character by character.
#[derive(Debug, Clone)]
pub struct Property {
    test: Arc<regress::Regex>,
}

impl Property {
    /// The property of `\p{...}` or `\P{...}`, given with backslash and braces; `None` for an unknown one.
    pub fn new(escape: &str) -> Option<Property> {
        let flags = regress::Flags { unicode: true, ..Default::default() };
        let pattern = format!("^{escape}$");
        regress::Regex::with_flags(&pattern, flags).ok().map(|test| Property { test: Arc::new(test) })
    }

    fn contains(&self, c: u32) -> bool {
        match char::from_u32(c) {
            Some(c) => self.test.find(c.encode_utf8(&mut [0; 4])).is_some(),
            // A lone surrogate.
            None => self.test.find_from_utf16(&[c as u16], 0).next().is_some(),
        }
    }
}

/// What a class consists of before folding and inversion.
#[derive(Debug, Clone, Default)]
pub struct ClassParts {
    pub set: CharSet,
    pub properties: Vec<Property>,
    pub inverted: bool,
}

/// A class as the matcher tests it.
#[derive(Debug, Clone)]
pub struct Class {
    /// Answers for the first 256 characters.
    low: [u64; 4],
    /// The set; with folding, the canonical forms of its members too.
    set: CharSet,
    properties: Vec<Property>,
    inverted: bool,
    folding: Folding,
}

impl Class {
    /// Makes the class. Properties and folding do not go together; the parser sees to that.
    pub fn new(parts: &ClassParts, folding: Folding) -> Class {
        let mut set = parts.set.clone();
        // Canonical forms are fixed points, so the other members do no harm.
        for &(c, canonical) in folding.pairs() {
            if parts.set.contains(c) {
                set.add(canonical, canonical);
            }
        }
        let properties = parts.properties.clone();
        let mut class = Class { low: [0; 4], set, properties, inverted: parts.inverted, folding };
        for c in 0..256 {
            if class.slow_contains(c) {
                class.low[(c / 64) as usize] |= 1 << (c % 64);
            }
        }
        class
    }

    fn slow_contains(&self, c: u32) -> bool {
        let c = self.folding.canonicalize(c);
        (self.set.contains(c) || self.properties.iter().any(|property| property.contains(c))) != self.inverted
    }

    /// Whether the character is in the class.
    #[inline(always)]
    pub fn contains(&self, c: u32) -> bool {
        if c < 256 { self.low[(c / 64) as usize] >> (c % 64) & 1 != 0 } else { self.slow_contains(c) }
    }

    /// Whether the class may contain anything above U+00FF.
    pub fn may_contain_high(&self) -> bool {
        self.inverted
            || self.folding != Folding::None
            || !self.properties.is_empty()
            || self.set.ranges.last().is_some_and(|&(_, end)| end > 0xFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets() {
        let mut set = CharSet::default();
        for (low, high) in [(5, 6), (1, 2), (8, 9), (3, 4), (20, 30), (25, 40), (7, 7)] {
            set.add(low, high);
        }
        assert_eq!(set.ranges, [(1, 9), (20, 40)]);
        assert_eq!(set.inverted().ranges, [(0, 0), (10, 19), (41, MAX)]);
        assert_eq!(set.inverted().inverted(), set);
        assert!(set.contains(9) && !set.contains(10) && set.contains(20));
        assert_eq!(CharSet::default().inverted().ranges, [(0, MAX)]);
    }

    fn class(low: u32, high: u32, inverted: bool, folding: Folding) -> Class {
        let mut set = CharSet::default();
        set.add(low, high);
        Class::new(&ClassParts { set, properties: Vec::new(), inverted }, folding)
    }

    #[test]
    fn folding() {
        let letters = class(0x61, 0x63, false, Folding::Upper);
        assert!(letters.contains(0x41) && letters.contains(0x63) && !letters.contains(0x64));
        let micro = class(0xB5, 0xB5, false, Folding::Upper);
        assert!(micro.contains(0x39C) && micro.contains(0x3BC) && micro.contains(0xB5));
        assert!(!class(0xB5, 0xB5, true, Folding::Upper).contains(0x3BC));
        assert!(class(0x6B, 0x6B, false, Folding::Unicode).contains(0x212A));
        assert!(!class(0x6B, 0x6B, false, Folding::Upper).contains(0x212A));
        assert_eq!(canonicalize(0xDF), 0xDF);
        assert_eq!(canonicalize(0x131), 0x131);
        assert_eq!(canonicalize(0x212A), 0x212A);
        for (c, folded) in
            [(0x1E9E, 0xDF), (0x17F, 0x73), (0x345, 0x3B9), (0x130, 0x130), (0x1F88, 0x1F80), (0x10400, 0x10428)]
        {
            assert_eq!(fold(c), folded, "{c:x}");
            assert_eq!(fold(folded), folded);
        }
    }

    #[test]
    fn properties() {
        let property = Property::new("\\p{Lu}").unwrap();
        assert!(property.contains(0x41) && !property.contains(0x61) && property.contains(0x10400));
        assert!(Property::new("\\p{Nonsense}").is_none());
        assert!(Property::new("\\p{Cs}").unwrap().contains(0xD800));
    }
}
