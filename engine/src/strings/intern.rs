//! The intern table: the image's frozen part is probed first (fixed hash), then the realm's overlay.
//!
//! Invariant: no two interned strings have the same content. The overlay's slots are chosen by the fixed
//! hash mixed with the realm's random seed and a second, seeded hash of the content, so that a file that
//! anyone can read does not tell which names collide. The overlay is weak: dead strings are dropped
//! when the collector asks.

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::{INTERNED, StrView};
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Realm, Throw};

/// Seed of the hash that is stored in string cells and used by frozen tables.
const FIXED_SEED: u64 = 0x7a6a_735f_6e61_6d65;

/// Interned strings of one realm that its image lacks.
#[derive(Default)]
pub struct InternOverlay {
    slots: Vec<u32>,
    used: usize,
    /// Random per realm.
    pub seed: u64,
}

/// The hash stored in string cells; never 0.
pub fn content_hash(view: StrView) -> u32 {
    let hash = hash_with(view, FIXED_SEED);
    (hash as u32).max(1)
}

/// Hashes Latin-1 content and the same content in 16-bit units alike: canonical strings have one form,
/// slices may have two.
fn hash_with(view: StrView, seed: u64) -> u64 {
    match view {
        StrView::Latin1(s) => xxh3_64_with_seed(s, seed),
        StrView::Utf16(s) if s.iter().all(|&u| u < 256) => {
            let narrow: Vec<u8> = s.iter().map(|&u| u as u8).collect();
            xxh3_64_with_seed(&narrow, seed)
        }
        StrView::Utf16(s) => {
            let bytes: Vec<u8> = s.iter().flat_map(|u| u.to_le_bytes()).collect();
            xxh3_64_with_seed(&bytes, seed ^ 0x5555)
        }
    }
}

impl Realm {
    /// The interned string with the content of `string`.
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub fn intern(&mut self, string: Ref) -> Result<Ref, Throw> {
        if self.cage.flags(string) & INTERNED != 0 {
            return Ok(string);
        }
        self.intern_slow(string)
    }

    #[inline(never)]
    fn intern_slow(&mut self, string: Ref) -> Result<Ref, Throw> {
        let cage = self.cage;
        if cage.is(string, Kind::Slice) && cage.u32(string, 16) == 0 {
            let base = cage.r(string, 12);
            if cage.flags(base) & INTERNED != 0 && cage.u32(base, 4) == cage.u32(string, 4) {
                return Ok(base);
            }
        }
        let view = self.view(string)?;
        if view.len() <= 1 {
            match view {
                _ if view.is_empty() => return Ok(self.names.empty),
                StrView::Latin1(s) if !self.names.single_units.is_null() => return Ok(self.single_unit(s[0])),
                _ => {}
            }
        }
        let found = self.find_interned(view);
        let interned = match found {
            Some(found) => found,
            None => {
                let cell = match cage.kind(string) {
                    Kind::String8 | Kind::String16 => string,
                    _ => match view {
                        StrView::Latin1(s) => self.new_latin1_cell(s)?,
                        StrView::Utf16(s) => self.new_utf16(s)?,
                    },
                };
                self.add_interned(cell);
                cell
            }
        };
        if cage.is(string, Kind::Slice) && string.0 >= cage.image_end() {
            // The next use of the same cell as a name is then one compare.
            cage.set(string, 12, interned.0);
            cage.set(string, 16, 0u32);
        }
        Ok(interned)
    }

    /// The interned string of Rust text.
    ///
    /// # Errors
    /// Out of memory.
    pub fn intern_str(&mut self, text: &str) -> Result<Ref, Throw> {
        if text.is_ascii()
            && let Some(found) = self.find_interned(StrView::Latin1(text.as_bytes()))
        {
            return Ok(found);
        }
        let cell = self.new_string(text)?;
        self.intern(cell)
    }

    /// The interned string of a host string.
    ///
    /// # Errors
    /// Out of memory.
    pub fn intern_js_str(&mut self, s: &crate::bytecode::template::JsStr) -> Result<Ref, Throw> {
        use crate::bytecode::template::JsStr;
        let view = match s {
            JsStr::Latin1(s) => StrView::Latin1(s),
            JsStr::Utf16(s) => StrView::Utf16(s),
        };
        if let Some(found) = self.find_interned(view) {
            return Ok(found);
        }
        let cell = self.new_js_str(s)?;
        self.intern(cell)
    }

    /// The interned string with this content, if there is one.
    pub fn find_interned(&self, view: StrView) -> Option<Ref> {
        let fixed = content_hash(view);
        self.find_frozen(view, fixed).or_else(|| self.find_overlay(view, fixed))
    }

    fn matches(&self, candidate: Ref, view: StrView, fixed: u32) -> bool {
        self.cage.u32(candidate, 8) == fixed && self.view_flat(candidate).equals(view)
    }

    fn find_frozen(&self, view: StrView, fixed: u32) -> Option<Ref> {
        let table = self.frozen.intern_table;
        if table.is_null() {
            return None;
        }
        let mask = self.cage.u32(table, 4) - 1;
        let mut slot = fixed & mask;
        loop {
            let candidate = self.cage.r(table, 8 + 4 * slot);
            if candidate.is_null() {
                return None;
            }
            if self.matches(candidate, view, fixed) {
                return Some(candidate);
            }
            slot = (slot + 1) & mask;
        }
    }

    fn overlay_slot(&self, view: StrView) -> usize {
        hash_with(view, self.interned.seed) as usize
    }

    fn find_overlay(&self, view: StrView, fixed: u32) -> Option<Ref> {
        if self.interned.used == 0 {
            return None;
        }
        let mask = self.interned.slots.len() - 1;
        let mut slot = self.overlay_slot(view) & mask;
        loop {
            let candidate = Ref(self.interned.slots[slot]);
            if candidate.is_null() {
                return None;
            }
            if self.matches(candidate, view, fixed) {
                return Some(candidate);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Adds a flat string that is known to be missing.
    fn add_interned(&mut self, cell: Ref) {
        let view = self.view_flat(cell);
        self.cage.set(cell, 8, content_hash(view));
        self.cage.set(cell, 12, view.array_index().unwrap_or(u32::MAX));
        self.cage.set(cell, 1, self.cage.flags(cell) | INTERNED);
        if (self.interned.used + 1) * 2 > self.interned.slots.len() {
            let size = (self.interned.slots.len() * 2).max(64);
            let old = std::mem::replace(&mut self.interned.slots, vec![0; size]);
            self.interned.used = 0;
            for slot in old {
                if slot != 0 {
                    self.place_interned(Ref(slot));
                }
            }
        }
        self.place_interned(cell);
    }

    fn place_interned(&mut self, cell: Ref) {
        let mask = self.interned.slots.len() - 1;
        let mut slot = self.overlay_slot(self.view_flat(cell)) & mask;
        while self.interned.slots[slot] != 0 {
            slot = (slot + 1) & mask;
        }
        self.interned.slots[slot] = cell.0;
        self.interned.used += 1;
    }

    /// Drops interned strings that the collector did not mark.
    pub(crate) fn sweep_interned(&mut self) {
        if self.interned.used == 0 {
            return;
        }
        let size = self.interned.slots.len();
        let old = std::mem::replace(&mut self.interned.slots, vec![0; size]);
        self.interned.used = 0;
        for slot in old {
            if slot != 0 && self.is_marked(Ref(slot)) {
                self.place_interned(Ref(slot));
            }
        }
    }

    /// Every interned string that the realm added, for the writer.
    pub fn overlay_strings(&self) -> impl Iterator<Item = Ref> + '_ {
        self.interned.slots.iter().filter(|&&s| s != 0).map(|&s| Ref(s))
    }

    /// Empties the overlay (slot reset).
    pub(crate) fn reset_interned(&mut self, seed: u64) {
        self.interned.slots.clear();
        self.interned.used = 0;
        self.interned.seed = seed;
    }
}
