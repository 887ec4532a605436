//! Parts of the standard library that need no heap: numbers, dates, text, regular expressions,
//! sorting. Every function here is a pure function of its arguments.
//!
//! Invariant: nothing in this module knows of cells, realms or values, keeps global state, reads a
//! clock, or allocates in a cage. (The one exception to purity is [`tzif::TimeZone::system`], which
//! reads the zone files of the system because its caller asked for just that.)

pub mod bigint;
pub mod collate;
pub mod date;
pub mod date_format;
pub mod date_parse;
pub mod f16;
pub mod json_quote;
pub mod math;
pub mod number_format;
pub mod number_parse;
pub mod regexp;
pub mod sort;
pub mod tzif;
pub mod unicode;
pub mod uri;

/// A sequence of UTF-16 code units in either of the engine's two string encodings: Latin-1 bytes or
/// full code units. Functions over text are generic over it, so that neither encoding is converted.
pub trait Units {
    /// Number of code units.
    fn len(&self) -> usize;
    /// The code unit at `index`, which must be below [`Units::len`].
    fn at(&self, index: usize) -> u16;
    /// Whether there are no units.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// The code unit at `index`, or `None` behind the end.
    fn get(&self, index: usize) -> Option<u16> {
        if index < self.len() { Some(self.at(index)) } else { None }
    }
    /// All code units as an owned vector.
    fn to_units(&self) -> Vec<u16> {
        (0..self.len()).map(|i| self.at(i)).collect()
    }
    /// The code point that starts at `index` and its length in units (ECMA-262 11.1.4 CodePointAt):
    /// an unpaired surrogate is its own code point.
    fn code_point_at(&self, index: usize) -> (u32, usize) {
        let first = self.at(index);
        if (0xD800..0xDC00).contains(&first)
            && let Some(second @ 0xDC00..=0xDFFF) = self.get(index + 1)
        {
            return (combine_surrogates(first, second), 2);
        }
        (u32::from(first), 1)
    }
}

impl Units for [u8] {
    fn len(&self) -> usize {
        <[u8]>::len(self)
    }
    fn at(&self, index: usize) -> u16 {
        u16::from(self[index])
    }
}

impl Units for [u16] {
    fn len(&self) -> usize {
        <[u16]>::len(self)
    }
    fn at(&self, index: usize) -> u16 {
        self[index]
    }
    fn to_units(&self) -> Vec<u16> {
        self.to_vec()
    }
}

impl<const N: usize> Units for [u8; N] {
    fn len(&self) -> usize {
        N
    }
    fn at(&self, index: usize) -> u16 {
        u16::from(self[index])
    }
}

/// The code point of a surrogate pair (ECMA-262 11.1.3 UTF16SurrogatePairToCodePoint).
pub fn combine_surrogates(lead: u16, trail: u16) -> u32 {
    0x10000 + ((u32::from(lead) - 0xD800) << 10) + (u32::from(trail) - 0xDC00)
}

/// Appends the UTF-16 encoding of a code point (ECMA-262 11.1.1 UTF16EncodeCodePoint); surrogate
/// code points are appended as they are.
pub fn push_code_point(out: &mut Vec<u16>, code_point: u32) {
    if code_point < 0x10000 {
        out.push(code_point as u16);
    } else {
        let offset = code_point - 0x10000;
        out.push(0xD800 + (offset >> 10) as u16);
        out.push(0xDC00 + (offset & 0x3FF) as u16);
    }
}

/// Shorthand of the unit tests: the code units of a Rust string.
#[cfg(test)]
pub(crate) fn units(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}
