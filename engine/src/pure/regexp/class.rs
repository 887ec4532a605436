//! Sets of characters for the matcher (ECMA-262 22.2.1 CharacterClass, 22.2.2.7.3 Canonicalize).
//!
//! Invariant: a finished [`Class`] answers for the characters as they stand in the subject: case folding and
//! inversion have been worked in when it was made, apart from folding above U+00FF, which it does itself.

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

    fn is_everything(&self) -> bool {
        self.ranges == [(0, MAX)]
    }

    /// `\d` (22.2.1)
    pub fn digits() -> CharSet {
        CharSet { ranges: vec![(0x30, 0x39)] }
    }

    /// `\w` (22.2.2.7.1 WordCharacters, without Unicode folding)
    pub fn word() -> CharSet {
        CharSet { ranges: vec![(0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)] }
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

/// A class as the matcher tests it.
#[derive(Debug, Clone)]
pub struct Class {
    /// Answers for the first 256 characters.
    low: [u64; 4],
    /// The set above; its members in canonical form if `fold`.
    high: CharSet,
    inverted: bool,
    fold: bool,
}

impl Class {
    /// Makes the class of `set`, inverted or not, ignoring case or not.
    pub fn new(set: &CharSet, inverted: bool, fold: bool) -> Class {
        let mut high = set.clone();
        if fold && !set.is_everything() {
            high = CharSet::default();
            for &(low, end) in &set.ranges {
                // Code points above the basic plane are no code units; folding does not reach them.
                for c in low..=end.min(0xFFFF) {
                    let canonical = canonicalize(c);
                    if canonical != c || !high.contains(c) {
                        high.add(canonical, canonical);
                    }
                }
            }
        }
        let mut class = Class { low: [0; 4], high, inverted, fold };
        for c in 0..256 {
            if class.slow_contains(c) {
                class.low[(c / 64) as usize] |= 1 << (c % 64);
            }
        }
        class
    }

    fn slow_contains(&self, c: u32) -> bool {
        let c = if self.fold { canonicalize(c) } else { c };
        self.high.contains(c) != self.inverted
    }

    /// Whether the character is in the class.
    #[inline(always)]
    pub fn contains(&self, c: u32) -> bool {
        if c < 256 { self.low[(c / 64) as usize] >> (c % 64) & 1 != 0 } else { self.slow_contains(c) }
    }

    /// Whether the class may contain anything above U+00FF.
    pub fn may_contain_high(&self) -> bool {
        self.inverted || self.fold || self.high.ranges.last().is_some_and(|&(_, end)| end > 0xFF)
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
        assert!(CharSet::default().inverted().is_everything());
    }

    #[test]
    fn folding() {
        let mut set = CharSet::default();
        set.add(0x61, 0x63);
        let class = Class::new(&set, false, true);
        assert!(class.contains(0x41) && class.contains(0x63) && !class.contains(0x64));
        let mut set = CharSet::default();
        set.add(0xB5, 0xB5);
        let class = Class::new(&set, false, true);
        assert!(class.contains(0x39C) && class.contains(0x3BC) && class.contains(0xB5));
        assert!(!Class::new(&set, true, true).contains(0x3BC));
        assert_eq!(canonicalize(0xDF), 0xDF);
        assert_eq!(canonicalize(0x131), 0x131);
        assert_eq!(canonicalize(0x212A), 0x212A);
    }
}
