//! Helpers of the built-ins that work on text: views as code units, and a builder that stays Latin-1 as
//! long as it can.
//!
//! Invariant: a builder holds no reference into the cage, so nothing in it needs to be a root; it never
//! grows beyond the longest string, however much is pushed.

use crate::cage::Ref;
use crate::pure::Units;
use crate::realm::{Completion, Realm};
use crate::strings::{STRING_UNITS_MAX, StrView};

impl Units for StrView<'_> {
    #[inline]
    fn len(&self) -> usize {
        StrView::len(*self)
    }
    #[inline]
    fn at(&self, index: usize) -> u16 {
        StrView::at(*self, index)
    }
    fn to_units(&self) -> Vec<u16> {
        StrView::to_units(*self)
    }
}

enum Buffer {
    Latin1(Vec<u8>),
    Wide(Vec<u16>),
}

/// Builds a string.
pub(crate) struct TextBuilder {
    buffer: Buffer,
    /// More was pushed than a string may hold; `finish` throws.
    overflow: bool,
}

impl Default for TextBuilder {
    fn default() -> Self {
        TextBuilder::new()
    }
}

impl TextBuilder {
    pub fn new() -> TextBuilder {
        TextBuilder { buffer: Buffer::Latin1(Vec::new()), overflow: false }
    }

    /// Units so far.
    pub fn len(&self) -> usize {
        match &self.buffer {
            Buffer::Latin1(b) => b.len(),
            Buffer::Wide(b) => b.len(),
        }
    }

    /// Whether the text has grown too long already, so that building may stop.
    pub fn is_too_long(&self) -> bool {
        self.overflow
    }

    fn has_room(&mut self, units: usize) -> bool {
        if self.len() + units > STRING_UNITS_MAX as usize {
            self.overflow = true;
        }
        !self.overflow
    }

    fn widen(&mut self) -> &mut Vec<u16> {
        if let Buffer::Latin1(narrow) = &self.buffer {
            let mut wide = Vec::with_capacity(narrow.len() * 2 + 16);
            wide.extend(narrow.iter().map(|&b| u16::from(b)));
            self.buffer = Buffer::Wide(wide);
        }
        match &mut self.buffer {
            Buffer::Wide(wide) => wide,
            // Just replaced above.
            Buffer::Latin1(_) => unreachable!("widened buffer is wide"),
        }
    }

    /// A place to go back to with [`TextBuilder::truncate`].
    pub fn mark(&self) -> usize {
        self.len()
    }

    /// Forgets what was appended since `mark`. The buffer may stay wide, which `finish` makes good.
    pub fn truncate(&mut self, mark: usize) {
        match &mut self.buffer {
            Buffer::Latin1(narrow) => narrow.truncate(mark),
            Buffer::Wide(wide) => wide.truncate(mark),
        }
    }

    /// Appends one code unit.
    pub fn push(&mut self, unit: u16) {
        if !self.has_room(1) {
            return;
        }
        match (&mut self.buffer, u8::try_from(unit)) {
            (Buffer::Latin1(narrow), Ok(byte)) => narrow.push(byte),
            (Buffer::Wide(wide), _) => wide.push(unit),
            _ => self.widen().push(unit),
        }
    }

    /// Appends ASCII text.
    pub fn push_ascii(&mut self, text: &str) {
        self.push_latin1(text.as_bytes());
    }

    /// Appends Latin-1 text.
    pub fn push_latin1(&mut self, text: &[u8]) {
        if !self.has_room(text.len()) {
            return;
        }
        match &mut self.buffer {
            Buffer::Latin1(narrow) => narrow.extend_from_slice(text),
            Buffer::Wide(wide) => wide.extend(text.iter().map(|&b| u16::from(b))),
        }
    }

    /// Appends code units.
    pub fn push_units(&mut self, text: &[u16]) {
        if !self.has_room(text.len()) {
            return;
        }
        if let Buffer::Latin1(narrow) = &mut self.buffer
            && text.iter().all(|&u| u < 256)
        {
            narrow.extend(text.iter().map(|&u| u as u8));
            return;
        }
        self.widen().extend_from_slice(text);
    }

    /// Appends the text of a view.
    pub fn push_view(&mut self, view: StrView) {
        match view {
            StrView::Latin1(text) => self.push_latin1(text),
            StrView::Utf16(text) => self.push_units(text),
        }
    }

    /// Appends a string cell.
    ///
    /// # Errors
    /// Out of memory while flattening.
    pub fn push_string(&mut self, realm: &mut Realm, string: Ref) -> Completion<()> {
        let view = realm.view(string)?;
        self.push_view(view);
        Ok(())
    }

    /// Appends the JSON form of a string (ECMA-262 25.5.2.3 QuoteJSONString).
    pub fn push_json_quoted(&mut self, view: StrView) {
        // Six units per unit at most, and two quotes.
        if !self.has_room(view.len() + 2) {
            return;
        }
        match (&mut self.buffer, view) {
            (Buffer::Latin1(narrow), StrView::Latin1(text)) => crate::pure::json_quote::quote_latin1(narrow, text),
            (Buffer::Wide(wide), _) => crate::pure::json_quote::quote(wide, &view),
            _ => crate::pure::json_quote::quote(self.widen(), &view),
        }
        self.has_room(0);
    }

    /// The string cell.
    ///
    /// # Errors
    /// RangeError when too much was pushed; out of memory.
    pub fn finish(self, realm: &mut Realm) -> Completion<Ref> {
        if self.overflow {
            return Err(realm.throw_range("Invalid string length"));
        }
        match self.buffer {
            Buffer::Latin1(narrow) => realm.new_latin1(&narrow),
            Buffer::Wide(wide) => realm.new_utf16(&wide),
        }
    }
}
