//! A per-realm cache (shape, key) -> slot code for sites that see many shapes and for computed names.
//!
//! Only own data slots are cached, so an entry is right as long as the shape exists; the collector
//! empties the cache because it may free shapes. Memory is taken at the first use.

use crate::cage::Ref;

const ENTRIES: usize = 1024;

#[derive(Clone, Copy, Default)]
struct Entry {
    shape: u32,
    key: u32,
    code: u32,
}

/// See the module documentation.
#[derive(Default)]
pub struct MegamorphicCache {
    entries: Vec<Entry>,
}

fn place(shape: Ref, key: Ref) -> usize {
    ((shape.0 >> 4) ^ (key.0 >> 4).wrapping_mul(0x9E37_79B1) >> 8) as usize & (ENTRIES - 1)
}

impl MegamorphicCache {
    /// Slot code of `key` in `shape`, if cached.
    #[inline(always)]
    pub fn find(&self, shape: Ref, key: Ref) -> Option<u32> {
        let entry = self.entries.get(place(shape, key))?;
        if entry.shape == shape.0 && entry.key == key.0 { Some(entry.code) } else { None }
    }

    /// Remembers a hit.
    pub fn insert(&mut self, shape: Ref, key: Ref, code: u32) {
        if self.entries.is_empty() {
            self.entries.resize(ENTRIES, Entry::default());
        }
        self.entries[place(shape, key)] = Entry { shape: shape.0, key: key.0, code };
    }

    /// Forgets everything (keeps the memory).
    pub fn clear(&mut self) {
        self.entries.fill(Entry::default());
    }
}
