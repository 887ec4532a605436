//! Strings: Latin-1 and UTF-16 flat cells, ropes and slices, and the intern table.
//!
//! Invariants: a flat string is Latin-1 whenever it can be, so that content equality is a byte compare of
//! one encoding; an interned string is flat and unique by content, so name equality is ref equality;
//! hashes are computed lazily for heap strings and always present in an image.

pub mod builder;
pub mod intern;

use crate::bytecode::template::JsStr;
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Realm, Throw};
use crate::value::Value;

/// Header flag: the string is in the intern table.
pub const INTERNED: u8 = 1;
/// Most code units of a string, as in V8 on 64 bits.
pub const STRING_UNITS_MAX: u32 = (1 << 29) - 24;
/// Concatenations below this length are copied, above they become ropes.
const ROPE_UNITS_MIN: u32 = 24;
const SLICE_UNITS_MIN: u32 = 24;

/// The code units of a flat string, borrowed from the cage. Valid until the next allocation.
#[derive(Clone, Copy)]
pub enum StrView<'a> {
    Latin1(&'a [u8]),
    Utf16(&'a [u16]),
}

impl<'a> StrView<'a> {
    /// Number of code units.
    #[inline]
    pub fn len(self) -> usize {
        match self {
            StrView::Latin1(s) => s.len(),
            StrView::Utf16(s) => s.len(),
        }
    }

    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Code unit `index`; the index must be below the length.
    #[inline]
    pub fn at(self, index: usize) -> u16 {
        match self {
            StrView::Latin1(s) => u16::from(s[index]),
            StrView::Utf16(s) => s[index],
        }
    }

    /// The units `range`.
    pub fn slice(self, start: usize, end: usize) -> StrView<'a> {
        match self {
            StrView::Latin1(s) => StrView::Latin1(&s[start..end]),
            StrView::Utf16(s) => StrView::Utf16(&s[start..end]),
        }
    }

    /// All code units, copied.
    pub fn to_units(self) -> Vec<u16> {
        match self {
            StrView::Latin1(s) => s.iter().map(|&b| u16::from(b)).collect(),
            StrView::Utf16(s) => s.to_vec(),
        }
    }

    /// All code units, one by one.
    pub fn units(self) -> impl Iterator<Item = u16> + 'a {
        (0..self.len()).map(move |i| self.at(i))
    }

    /// As Rust text; lone surrogates become U+FFFD.
    pub fn to_text(self) -> String {
        let mut text = String::new();
        self.push_text(&mut text);
        text
    }

    /// Appends the text to `out`; lone surrogates become U+FFFD.
    pub fn push_text(self, out: &mut String) {
        match self {
            StrView::Latin1(s) => match str::from_utf8(s) {
                Ok(text) if s.is_ascii() => out.push_str(text),
                _ => out.extend(s.iter().map(|&b| b as char)),
            },
            StrView::Utf16(s) => out.extend(char::decode_utf16(s.iter().copied()).map(|c| c.unwrap_or('\u{FFFD}'))),
        }
    }

    /// Whether both have the same code units.
    pub fn equals(self, other: StrView) -> bool {
        match (self, other) {
            (StrView::Latin1(a), StrView::Latin1(b)) => a == b,
            (StrView::Utf16(a), StrView::Utf16(b)) => a == b,
            (StrView::Latin1(a), StrView::Utf16(b)) | (StrView::Utf16(b), StrView::Latin1(a)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(&x, &y)| u16::from(x) == y)
            }
        }
    }

    /// Order by code units (IsLessThan for strings).
    pub fn compare(self, other: StrView) -> std::cmp::Ordering {
        match (self, other) {
            (StrView::Latin1(a), StrView::Latin1(b)) => a.cmp(b),
            (StrView::Utf16(a), StrView::Utf16(b)) => a.cmp(b),
            _ => self.units().cmp(other.units()),
        }
    }

    /// Index of the first occurrence of `needle` at or after `from`.
    pub fn find(self, needle: StrView, from: usize) -> Option<usize> {
        if needle.len() > self.len() || from > self.len() - needle.len() {
            return None;
        }
        if needle.is_empty() {
            return Some(from);
        }
        match (self, needle) {
            (StrView::Latin1(h), StrView::Latin1(n)) => find_in(h, n, from),
            (StrView::Utf16(h), StrView::Utf16(n)) => find_in(h, n, from),
            (StrView::Utf16(h), StrView::Latin1(n)) => {
                let wide: Vec<u16> = n.iter().map(|&b| u16::from(b)).collect();
                find_in(h, &wide, from)
            }
            // A canonical UTF-16 needle has a unit that no Latin-1 string has, but slices may not be canonical.
            (StrView::Latin1(h), StrView::Utf16(n)) => {
                let narrow: Option<Vec<u8>> = n.iter().map(|&u| u8::try_from(u).ok()).collect();
                find_in(h, &narrow?, from)
            }
        }
    }

    /// The array index that the string is the canonical form of (below 2^32 - 1).
    pub fn array_index(self) -> Option<u32> {
        let len = self.len();
        if len == 0 || len > 10 {
            return None;
        }
        let first = self.at(0);
        if first == u16::from(b'0') {
            return if len == 1 { Some(0) } else { None };
        }
        let mut n = 0u64;
        for unit in self.units() {
            let digit = unit.wrapping_sub(u16::from(b'0'));
            if digit > 9 {
                return None;
            }
            n = n * 10 + u64::from(digit);
        }
        if n < u64::from(u32::MAX) { Some(n as u32) } else { None }
    }
}

fn find_in<T: PartialEq + Copy>(hay: &[T], needle: &[T], from: usize) -> Option<usize> {
    let first = needle[0];
    let last_start = hay.len() - needle.len();
    let mut at = from;
    while at <= last_start {
        at += hay[at..=last_start].iter().position(|&u| u == first)?;
        if &hay[at..at + needle.len()] == needle {
            return Some(at);
        }
        at += 1;
    }
    None
}

impl Realm {
    /// Length of a string in code units.
    #[inline(always)]
    pub fn string_len(&self, string: Ref) -> u32 {
        self.cage.u32(string, 4)
    }

    /// A new flat string of Latin-1 code units.
    ///
    /// # Errors
    /// Out of memory; RangeError above [`STRING_UNITS_MAX`].
    pub fn new_latin1(&mut self, units: &[u8]) -> Result<Ref, Throw> {
        if units.len() <= 1 {
            return Ok(match units.first() {
                None => self.names.empty,
                Some(&unit) => self.single_unit(unit),
            });
        }
        self.new_latin1_cell(units)
    }

    pub(crate) fn new_latin1_cell(&mut self, units: &[u8]) -> Result<Ref, Throw> {
        let len = self.check_string_len(units.len() as u64)?;
        let cell = self.allocate(Kind::String8, 16 + len)?;
        self.cage.init(cell.0 + 4, len);
        self.cage.init(cell.0 + 8, 0u32);
        self.cage.init(cell.0 + 12, u32::MAX);
        self.cage.write_bytes(cell.0 + 16, units);
        Ok(cell)
    }

    /// A new flat string of these code units, in the narrowest form.
    ///
    /// # Errors
    /// As [`Realm::new_latin1`].
    pub fn new_utf16(&mut self, units: &[u16]) -> Result<Ref, Throw> {
        if units.iter().all(|&u| u < 256) {
            let narrow: Vec<u8> = units.iter().map(|&u| u as u8).collect();
            return self.new_latin1(&narrow);
        }
        let len = self.check_string_len(units.len() as u64)?;
        let cell = self.allocate(Kind::String16, 16 + 2 * len)?;
        self.cage.init(cell.0 + 4, len);
        self.cage.init(cell.0 + 8, 0u32);
        self.cage.init(cell.0 + 12, u32::MAX);
        for (i, &unit) in units.iter().enumerate() {
            self.cage.init(cell.0 + 16 + 2 * i as u32, unit);
        }
        Ok(cell)
    }

    /// A new string from Rust text.
    ///
    /// # Errors
    /// As [`Realm::new_latin1`].
    pub fn new_string(&mut self, text: &str) -> Result<Ref, Throw> {
        if text.is_ascii() {
            return self.new_latin1(text.as_bytes());
        }
        let units: Vec<u16> = text.encode_utf16().collect();
        self.new_utf16(&units)
    }

    /// [`Realm::new_string`] as a value.
    ///
    /// # Errors
    /// As [`Realm::new_latin1`].
    pub fn string_value(&mut self, text: &str) -> Result<Value, Throw> {
        Ok(Value::string(self.new_string(text)?))
    }

    /// A new string of a host string.
    ///
    /// # Errors
    /// As [`Realm::new_latin1`].
    pub fn new_js_str(&mut self, s: &JsStr) -> Result<Ref, Throw> {
        match s {
            JsStr::Latin1(units) => self.new_latin1(units),
            JsStr::Utf16(units) => self.new_utf16(units),
        }
    }

    fn check_string_len(&mut self, len: u64) -> Result<u32, Throw> {
        if len > u64::from(STRING_UNITS_MAX) {
            return Err(self.throw_range("Invalid string length"));
        }
        Ok(len as u32)
    }

    /// The string of one Latin-1 code unit, without allocation.
    #[inline]
    pub fn single_unit(&self, unit: u8) -> Ref {
        self.cage.r(self.names.single_units, 8 + 8 * u32::from(unit))
    }

    /// The string of one code unit.
    ///
    /// # Errors
    /// Out of memory.
    pub fn unit_string(&mut self, unit: u16) -> Result<Ref, Throw> {
        match u8::try_from(unit) {
            Ok(unit) => Ok(self.single_unit(unit)),
            Err(_) => self.new_utf16(&[unit]),
        }
    }

    /// The code units of `string`; ropes are made flat first. The view is valid until the next
    /// allocation.
    ///
    /// # Errors
    /// Out of memory while flattening.
    #[inline]
    pub fn view<'a>(&mut self, string: Ref) -> Result<StrView<'a>, Throw> {
        if self.cage.is(string, Kind::Rope) {
            self.flatten_rope(string)?;
        }
        Ok(self.view_flat(string))
    }

    /// [`Realm::view`] for a string that is known not to be a rope.
    #[inline]
    pub fn view_flat<'a>(&self, string: Ref) -> StrView<'a> {
        let cage = self.cage;
        let len = cage.u32(string, 4);
        match cage.kind(string) {
            Kind::String8 => StrView::Latin1(cage.bytes(string.0 + 16, len)),
            Kind::String16 => StrView::Utf16(cage.units(string.0 + 16, len)),
            Kind::Slice => {
                let base = cage.r(string, 12);
                let start = cage.u32(string, 16);
                match cage.kind(base) {
                    Kind::String8 => StrView::Latin1(cage.bytes(base.0 + 16 + start, len)),
                    Kind::String16 => StrView::Utf16(cage.units(base.0 + 16 + 2 * start, len)),
                    _ => StrView::Latin1(&[]),
                }
            }
            _ => StrView::Latin1(&[]),
        }
    }

    /// Makes a rope flat: its cell becomes a slice over the new flat string.
    #[inline(never)]
    fn flatten_rope(&mut self, rope: Ref) -> Result<(), Throw> {
        let cage = self.cage;
        let len = cage.u32(rope, 4);
        let wide = self.rope_is_wide(rope);
        let flat = if wide {
            let cell = self.allocate(Kind::String16, 16 + 2 * len)?;
            cage.init(cell.0 + 4, len);
            cell
        } else {
            let cell = self.allocate(Kind::String8, 16 + len)?;
            cage.init(cell.0 + 4, len);
            cell
        };
        cage.init(flat.0 + 8, 0u32);
        cage.init(flat.0 + 12, u32::MAX);
        // Right to left: ropes are mostly built by appending, so the left spine is the deep one.
        let mut stack = vec![rope];
        let mut end = len;
        while let Some(part) = stack.pop() {
            if cage.is(part, Kind::Rope) {
                stack.push(cage.r(part, 12));
                stack.push(cage.r(part, 16));
                continue;
            }
            match self.view_flat(part) {
                StrView::Latin1(s) => {
                    end -= s.len() as u32;
                    if wide {
                        for (i, &b) in s.iter().enumerate() {
                            cage.init(flat.0 + 16 + 2 * (end + i as u32), u16::from(b));
                        }
                    } else {
                        cage.write_bytes(flat.0 + 16 + end, s);
                    }
                }
                StrView::Utf16(s) => {
                    end -= s.len() as u32;
                    for (i, &u) in s.iter().enumerate() {
                        cage.init(flat.0 + 16 + 2 * (end + i as u32), u);
                    }
                }
            }
        }
        cage.set(rope, 12, flat.0);
        cage.set(rope, 16, 0u32);
        cage.set(rope, 0, Kind::Slice as u32);
        Ok(())
    }

    /// Ropes note in header byte 2 whether a part is UTF-16.
    fn rope_is_wide(&self, rope: Ref) -> bool {
        self.cage.get::<u8>(rope, 2) != 0
    }

    fn is_wide(&self, string: Ref) -> bool {
        let cage = self.cage;
        match cage.kind(string) {
            Kind::String16 => true,
            Kind::Rope => self.rope_is_wide(string),
            Kind::Slice => cage.is(cage.r(string, 12), Kind::String16),
            _ => false,
        }
    }

    /// `left + right`.
    ///
    /// # Errors
    /// RangeError when the result is too long; out of memory.
    pub fn concat(&mut self, left: Ref, right: Ref) -> Result<Ref, Throw> {
        let cage = self.cage;
        let left_len = cage.u32(left, 4);
        let right_len = cage.u32(right, 4);
        if left_len == 0 {
            return Ok(right);
        }
        if right_len == 0 {
            return Ok(left);
        }
        let len = self.check_string_len(u64::from(left_len) + u64::from(right_len))?;
        if len < ROPE_UNITS_MIN {
            let (a, b) = (self.view(left)?, self.view(right)?);
            if let (StrView::Latin1(a), StrView::Latin1(b)) = (a, b) {
                let cell = self.allocate(Kind::String8, 16 + len)?;
                cage.init(cell.0 + 4, len);
                cage.init(cell.0 + 8, 0u32);
                cage.init(cell.0 + 12, u32::MAX);
                cage.write_bytes(cell.0 + 16, a);
                cage.write_bytes(cell.0 + 16 + left_len, b);
                return Ok(cell);
            }
            let mut units = a.to_units();
            units.extend(b.units());
            return self.new_utf16(&units);
        }
        let wide = self.is_wide(left) || self.is_wide(right);
        let cell = self.allocate(Kind::Rope, 24)?;
        cage.init(cell.0 + 2, wide as u8);
        cage.init(cell.0 + 4, len);
        cage.init(cell.0 + 8, 0u32);
        cage.init(cell.0 + 12, left.0);
        cage.init(cell.0 + 16, right.0);
        Ok(cell)
    }

    /// The units `start..end` of `string`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn substring(&mut self, string: Ref, start: u32, end: u32) -> Result<Ref, Throw> {
        let cage = self.cage;
        let len = end.saturating_sub(start);
        if len == 0 {
            return Ok(self.names.empty);
        }
        if start == 0 && len == cage.u32(string, 4) {
            return Ok(string);
        }
        let view = self.view(string)?.slice(start as usize, end as usize);
        if len < SLICE_UNITS_MIN {
            return match view {
                StrView::Latin1(s) => {
                    if len == 1 {
                        return Ok(self.single_unit(s[0]));
                    }
                    self.new_latin1(s)
                }
                StrView::Utf16(s) => self.new_utf16(s),
            };
        }
        // A part of a wide string that is narrow itself must be copied: flat strings are canonical.
        if let StrView::Utf16(s) = view
            && s.iter().all(|&u| u < 256)
        {
            return self.new_utf16(s);
        }
        let (base, offset) = match cage.kind(string) {
            Kind::Slice => (cage.r(string, 12), cage.u32(string, 16)),
            _ => (string, 0),
        };
        let cell = self.allocate(Kind::Slice, 24)?;
        cage.init(cell.0 + 4, len);
        cage.init(cell.0 + 8, 0u32);
        cage.init(cell.0 + 12, base.0);
        cage.init(cell.0 + 16, offset + start);
        Ok(cell)
    }

    /// Code unit `index` of `string`; the index must be below the length.
    ///
    /// # Errors
    /// Out of memory while flattening.
    #[inline]
    pub fn unit_at(&mut self, string: Ref, index: u32) -> Result<u16, Throw> {
        Ok(self.view(string)?.at(index as usize))
    }

    /// Whether two strings have the same code units.
    ///
    /// # Errors
    /// Out of memory while flattening.
    #[inline]
    pub fn strings_equal(&mut self, a: Ref, b: Ref) -> Result<bool, Throw> {
        if a == b {
            return Ok(true);
        }
        let cage = self.cage;
        if cage.u32(a, 4) != cage.u32(b, 4) {
            return Ok(false);
        }
        if cage.flags(a) & cage.flags(b) & INTERNED != 0 {
            return Ok(false);
        }
        self.view(a)?;
        let b = self.view(b)?;
        Ok(self.view_flat(a).equals(b))
    }

    /// Rust text of a string value's content, for messages and host calls; lone surrogates become U+FFFD.
    ///
    /// # Errors
    /// Out of memory while flattening.
    pub fn string_text(&mut self, string: Ref) -> Result<String, Throw> {
        Ok(self.view(string)?.to_text())
    }
}
