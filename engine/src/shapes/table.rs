//! `PropertyTable`: (key, info) entries in insertion order with a hash index behind them.
//!
//! ```text
//! 0 header   4 capacity   8 used   12 live   16 index mask   20 unused
//! 24 entries: capacity x (key, info)     then (mask + 1) x u32: entry number + 1, 0 = empty
//! ```
//!
//! Invariant: keys are unique; a removed entry has key 0 and stays in the index as a tombstone; the index
//! is at most half full.

use crate::cage::{Cage, Ref};
use crate::kinds::Kind;
use crate::realm::{Realm, Throw};

const ENTRIES: u32 = 24;

#[inline(always)]
pub fn hash(key: Ref) -> u32 {
    let h = (key.0 >> 4).wrapping_mul(0x9E37_79B1);
    h ^ (h >> 15)
}

#[inline(always)]
fn index_start(cage: Cage, table: Ref) -> u32 {
    ENTRIES + 8 * cage.u32(table, 4)
}

/// Entry number and info of `key`.
#[inline]
pub fn find(cage: Cage, table: Ref, key: Ref) -> Option<(u32, u32)> {
    let mask = cage.u32(table, 16);
    let index = index_start(cage, table);
    let mut slot = hash(key) & mask;
    loop {
        let entry = cage.u32(table, index + 4 * slot);
        if entry == 0 {
            return None;
        }
        let at = ENTRIES + 8 * (entry - 1);
        if cage.u32(table, at) == key.0 {
            return Some((entry - 1, cage.u32(table, at + 4)));
        }
        slot = (slot + 1) & mask;
    }
}

/// Appends an entry; the table has room and lacks the key.
pub fn push(cage: Cage, table: Ref, key: Ref, info: u32) {
    let used = cage.u32(table, 8);
    assert!(used < cage.u32(table, 4), "property table is full");
    cage.set(table, ENTRIES + 8 * used, key.0);
    cage.set(table, ENTRIES + 8 * used + 4, info);
    cage.set(table, 8, used + 1);
    cage.set(table, 12, cage.u32(table, 12) + 1);
    let mask = cage.u32(table, 16);
    let index = index_start(cage, table);
    let mut slot = hash(key) & mask;
    while cage.u32(table, index + 4 * slot) != 0 {
        slot = (slot + 1) & mask;
    }
    cage.set(table, index + 4 * slot, used + 1);
}

/// Removes `key` if it is there.
pub fn remove(cage: Cage, table: Ref, key: Ref) {
    if let Some((entry, _)) = find(cage, table, key) {
        cage.set(table, ENTRIES + 8 * entry, 0u32);
        cage.set(table, 12, cage.u32(table, 12) - 1);
    }
}

/// Live entries in insertion order.
pub fn entries(cage: Cage, table: Ref) -> Vec<(Ref, u32)> {
    (0..cage.u32(table, 8))
        .map(|i| (cage.r(table, ENTRIES + 8 * i), cage.u32(table, ENTRIES + 8 * i + 4)))
        .filter(|(key, _)| !key.is_null())
        .collect()
}

/// Bytes of a table with room for `capacity` entries, and its index mask.
pub fn geometry(capacity: u32) -> (u32, u32) {
    let mask = (capacity * 2).next_power_of_two().max(4) - 1;
    (ENTRIES + 8 * capacity + 4 * (mask + 1), mask)
}

/// Writes the header and an empty index of a table into fresh memory.
pub fn initialize(cage: Cage, table: Ref, capacity: u32) {
    let (_, mask) = geometry(capacity);
    for (at, value) in [(4, capacity), (8, 0), (12, 0), (16, mask), (20, 0)] {
        cage.set(table, at, value);
    }
    cage.fill(table.0 + ENTRIES, 0, 8 * capacity + 4 * (mask + 1));
}

impl Realm {
    /// An empty table with room for `capacity` entries.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_property_table(&mut self, capacity: u32) -> Result<Ref, Throw> {
        let capacity = capacity.max(4);
        let (bytes, _) = geometry(capacity);
        let table = self.allocate_tail(Kind::PropertyTable, 0, u64::from(bytes))?;
        initialize(self.cage, table, capacity);
        Ok(table)
    }

    /// `table` if it has room for one more entry, else a larger copy without removed entries.
    ///
    /// # Errors
    /// Out of memory.
    pub fn table_with_room(&mut self, table: Ref) -> Result<Ref, Throw> {
        let cage = self.cage;
        if cage.u32(table, 8) < cage.u32(table, 4) {
            return Ok(table);
        }
        let live = entries(cage, table);
        let grown = self.new_property_table(live.len() as u32 * 2 + 2)?;
        for (key, info) in live {
            push(cage, grown, key, info);
        }
        Ok(grown)
    }
}
