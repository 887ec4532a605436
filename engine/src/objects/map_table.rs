//! `MapTable`: the ordered hash table behind Map, Set and the weak collections.
//!
//! ```text
//! 0 header   4 capacity   8 used   12 live   16 index mask   20 flags   24 successor   28 unused
//! 32 entries: capacity x (key, value)     then (mask + 1) x u32: entry number + 1, 0 = empty
//! ```
//!
//! Invariants: entries keep insertion order; a deleted entry has the hole as its key and stays in the
//! index. When a table is replaced (growth, compaction, clear) the old one points to its successor, and an
//! iterator finds its new position by counting live entries before the old one. String keys are interned,
//! so keys compare by bits; hashes mix refs with a seed: the fixed one in a frozen table, the realm's else.

use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// Table flag: the index uses the fixed seed (made by the snapshot writer).
pub const FIXED_SEED: u32 = 1;
/// Table flag: the successor came from `clear`.
pub const CLEARED: u32 = 2;
const ENTRIES: u32 = 32;

/// Hash of a normalized key.
pub fn key_hash(key: Value, seed: u64) -> u32 {
    let h = (key.0 ^ seed).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((h >> 32) ^ (h >> 15)) as u32
}

/// Equal BigInts are different cells: hash by length and lowest digit only.
pub fn bigint_hash(cage: crate::cage::Cage, cell: Ref) -> u32 {
    let digits = cage.u32(cell, 4);
    let low = if digits > 0 { cage.u32(cell, 8) } else { 0 };
    key_hash(Value(u64::from(low) << 8 | u64::from(digits)), 0)
}

/// Index mask of a table with room for `capacity` entries.
pub fn mask_for(capacity: u32) -> u32 {
    (capacity * 2).next_power_of_two() - 1
}

impl Realm {
    /// A new empty table.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_map_table(&mut self, capacity: u32) -> Completion<Ref> {
        let capacity = capacity.max(4);
        let mask = mask_for(capacity);
        let tail = 16 * u64::from(capacity) + 4 * (u64::from(mask) + 1);
        let table = self.allocate_tail(Kind::MapTable, ENTRIES, tail)?;
        let cage = self.cage;
        for (at, value) in [(4, capacity), (8, 0), (12, 0), (16, mask), (20, 0), (24, 0), (28, 0)] {
            cage.init(table.0 + at, value);
        }
        cage.fill(table.0 + ENTRIES, 0, tail as u32);
        Ok(table)
    }

    /// Keys that are SameValueZero become the same bits: -0 is 0, integral doubles are int32, strings are
    /// interned. BigInts are looked up by value instead (see `map_find`).
    fn normalize_map_key(&mut self, key: Value) -> Completion {
        if key.is_string() {
            return Ok(Value::string(self.intern(key.as_ref())?));
        }
        if key.is_double() {
            let n = key.as_double();
            return Ok(if n == 0.0 { Value::ZERO } else { Value::number(n) });
        }
        Ok(key)
    }

    fn map_hash(&self, table: Ref, key: Value) -> u32 {
        if key.is_bigint() {
            return bigint_hash(self.cage, key.as_ref());
        }
        let seed = if self.cage.u32(table, 20) & FIXED_SEED != 0 { 0 } else { self.interned.seed };
        key_hash(key, seed)
    }

    /// Entry number of `key`.
    ///
    /// # Errors
    /// Out of memory (interning).
    pub fn map_find(&mut self, table: Ref, key: Value) -> Completion<Option<u32>> {
        let key = self.normalize_map_key(key)?;
        Ok(self.map_find_normalized(table, key))
    }

    fn map_find_normalized(&self, table: Ref, key: Value) -> Option<u32> {
        let cage = self.cage;
        let mask = cage.u32(table, 16);
        let index = ENTRIES + 16 * cage.u32(table, 4);
        let mut slot = self.map_hash(table, key) & mask;
        loop {
            let entry = cage.u32(table, index + 4 * slot);
            if entry == 0 {
                return None;
            }
            let found = Value(cage.get(table, ENTRIES + 16 * (entry - 1)));
            if found == key
                || (key.is_bigint() && found.is_bigint() && self.bigint_cells_equal(found.as_ref(), key.as_ref()))
            {
                return Some(entry - 1);
            }
            slot = (slot + 1) & mask;
        }
    }

    /// Whether two BigInt cells have the same value.
    pub fn bigint_cells_equal(&self, a: Ref, b: Ref) -> bool {
        let cage = self.cage;
        let digits = cage.u32(a, 4);
        digits == cage.u32(b, 4)
            && cage.flags(a) == cage.flags(b)
            && cage.bytes(a.0 + 8, 4 * digits) == cage.bytes(b.0 + 8, 4 * digits)
    }

    /// Value of entry `entry`.
    pub fn map_value(&self, table: Ref, entry: u32) -> Value {
        Value(self.cage.get(table, ENTRIES + 16 * entry + 8))
    }

    /// Key of entry `entry`; the hole if it was deleted.
    pub fn map_key(&self, table: Ref, entry: u32) -> Value {
        Value(self.cage.get(table, ENTRIES + 16 * entry))
    }

    /// Sets `key` to `value` in the table that the collection `owner` holds at offset 16.
    ///
    /// # Errors
    /// Out of memory.
    pub fn map_set(&mut self, owner: Ref, key: Value, value: Value) -> Completion<()> {
        let key = self.normalize_map_key(key)?;
        let mut table = self.cage.r(owner, 16);
        if let Some(entry) = self.map_find_normalized(table, key) {
            self.cage.set(table, ENTRIES + 16 * entry + 8, value.0);
            return Ok(());
        }
        let cage = self.cage;
        let used = cage.u32(table, 8);
        if used == cage.u32(table, 4) || cage.u32(table, 20) & FIXED_SEED != 0 {
            table = self.replace_map_table(owner, table)?;
        }
        self.map_append(table, key, value);
        Ok(())
    }

    fn map_append(&mut self, table: Ref, key: Value, value: Value) {
        let cage = self.cage;
        let used = cage.u32(table, 8);
        cage.set(table, ENTRIES + 16 * used, key.0);
        cage.set(table, ENTRIES + 16 * used + 8, value.0);
        cage.set(table, 8, used + 1);
        cage.set(table, 12, cage.u32(table, 12) + 1);
        let mask = cage.u32(table, 16);
        let index = ENTRIES + 16 * cage.u32(table, 4);
        let mut slot = self.map_hash(table, key) & mask;
        while cage.u32(table, index + 4 * slot) != 0 {
            slot = (slot + 1) & mask;
        }
        cage.set(table, index + 4 * slot, used + 1);
    }

    fn replace_map_table(&mut self, owner: Ref, table: Ref) -> Completion<Ref> {
        let live = self.cage.u32(table, 12);
        let grown = self.new_map_table(live * 2 + 4)?;
        for entry in 0..self.cage.u32(table, 8) {
            let key = self.map_key(table, entry);
            if !key.is_hole() {
                let value = self.map_value(table, entry);
                self.map_append(grown, key, value);
            }
        }
        self.cage.set(table, 24, grown.0);
        self.cage.set(owner, 16, grown.0);
        Ok(grown)
    }

    /// Removes `key`; whether it was there.
    ///
    /// # Errors
    /// Out of memory (interning).
    pub fn map_delete(&mut self, owner: Ref, key: Value) -> Completion<bool> {
        let table = self.cage.r(owner, 16);
        let Some(entry) = self.map_find(table, key)? else { return Ok(false) };
        let cage = self.cage;
        cage.set(table, ENTRIES + 16 * entry, Value::HOLE.0);
        cage.set(table, ENTRIES + 16 * entry + 8, Value::UNDEFINED.0);
        cage.set(table, 12, cage.u32(table, 12) - 1);
        Ok(true)
    }

    /// Removes everything.
    ///
    /// # Errors
    /// Out of memory.
    pub fn map_clear(&mut self, owner: Ref) -> Completion<()> {
        let old = self.cage.r(owner, 16);
        let table = self.new_map_table(4)?;
        self.cage.set(old, 20, self.cage.u32(old, 20) | CLEARED);
        self.cage.set(old, 24, table.0);
        self.cage.set(owner, 16, table.0);
        Ok(())
    }

    /// Moves an iteration position from `table` to the newest successor: (table, entry).
    pub fn map_position(&self, table: Ref, entry: u32) -> (Ref, u32) {
        let (mut table, mut entry) = (table, entry);
        loop {
            let next = self.cage.r(table, 24);
            if next.is_null() {
                return (table, entry);
            }
            entry = if self.cage.u32(table, 20) & CLEARED != 0 {
                0
            } else {
                (0..entry.min(self.cage.u32(table, 8))).filter(|&e| !self.map_key(table, e).is_hole()).count() as u32
            };
            table = next;
        }
    }

    /// The next live entry at or after `entry`: (table, entry), or `None` at the end.
    pub fn map_next(&self, table: Ref, entry: u32) -> Option<(Ref, u32)> {
        let (table, mut entry) = self.map_position(table, entry);
        while entry < self.cage.u32(table, 8) {
            if !self.map_key(table, entry).is_hole() {
                return Some((table, entry));
            }
            entry += 1;
        }
        None
    }
}
