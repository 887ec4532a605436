//! Building strings on the host side: stays Latin-1 until a wider unit comes.

use super::{STRING_UNITS_MAX, StrView};
use crate::cage::Ref;
use crate::realm::{Completion, Realm};

/// A growing string; no references inside, so a collection need not know it.
pub enum StringBuilder {
    Latin1(Vec<u8>),
    Utf16(Vec<u16>),
}

impl Default for StringBuilder {
    fn default() -> Self {
        StringBuilder::new()
    }
}

impl StringBuilder {
    /// An empty builder.
    pub fn new() -> StringBuilder {
        StringBuilder::Latin1(Vec::new())
    }

    /// Number of code units so far.
    pub fn len(&self) -> usize {
        match self {
            StringBuilder::Latin1(s) => s.len(),
            StringBuilder::Utf16(s) => s.len(),
        }
    }

    /// Whether there is nothing yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn widen(&mut self) -> &mut Vec<u16> {
        if let StringBuilder::Latin1(narrow) = self {
            *self = StringBuilder::Utf16(narrow.iter().map(|&b| u16::from(b)).collect());
        }
        match self {
            StringBuilder::Utf16(wide) => wide,
            StringBuilder::Latin1(_) => unreachable!("widened above"),
        }
    }

    /// Appends one code unit.
    pub fn push(&mut self, unit: u16) {
        match self {
            StringBuilder::Latin1(s) if unit < 256 => s.push(unit as u8),
            StringBuilder::Utf16(s) => s.push(unit),
            StringBuilder::Latin1(_) => self.widen().push(unit),
        }
    }

    /// Appends code units.
    pub fn push_units(&mut self, units: &[u16]) {
        units.iter().for_each(|&u| self.push(u));
    }

    /// Appends ASCII text.
    pub fn push_ascii(&mut self, text: &str) {
        text.bytes().for_each(|b| self.push(u16::from(b)));
    }

    /// Appends a string's content.
    pub fn push_view(&mut self, view: StrView) {
        match (&mut *self, view) {
            (StringBuilder::Latin1(s), StrView::Latin1(v)) => s.extend_from_slice(v),
            (StringBuilder::Utf16(s), StrView::Utf16(v)) => s.extend_from_slice(v),
            (StringBuilder::Utf16(s), StrView::Latin1(v)) => s.extend(v.iter().map(|&b| u16::from(b))),
            (StringBuilder::Latin1(_), StrView::Utf16(v)) => self.widen().extend_from_slice(v),
        }
    }

    /// Throws once the string is too long for the engine, before memory runs out.
    ///
    /// # Errors
    /// RangeError.
    pub fn check(&self, realm: &mut Realm) -> Completion<()> {
        if self.len() > STRING_UNITS_MAX as usize {
            return Err(realm.throw_range("Invalid string length"));
        }
        Ok(())
    }

    /// The string cell.
    ///
    /// # Errors
    /// RangeError when too long; out of memory.
    pub fn finish(self, realm: &mut Realm) -> Completion<Ref> {
        match self {
            StringBuilder::Latin1(s) => realm.new_latin1(&s),
            StringBuilder::Utf16(s) => realm.new_utf16(&s),
        }
    }
}
