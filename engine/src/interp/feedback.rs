//! Feedback vectors: inline caches of one function in one realm, found by the template's number.
//!
//! The table at a fixed place of the cage holds, per template number, a call count (below
//! [`FIRST_VECTOR`]) or the vector. An inline cache is 16 bytes: shape, second reference, code, epoch.

use crate::bytecode::install::{IC_COUNT, NUMBER, RUNS_ONCE};
use crate::cage::{FEEDBACK_TABLE, FEEDBACK_TABLE_ENTRIES, Ref};
use crate::kinds::Kind;
use crate::realm::Realm;

/// Table entries below this are call counts.
pub const FIRST_VECTOR: u32 = 0x1_0000;
/// A function gets its vector at this call.
const CALLS_BEFORE_VECTOR: u32 = 2;
/// Byte offset of the first inline cache in a vector.
pub const CACHES: u32 = 16;

impl Realm {
    /// Address of the caches of `template`, or 0 while it has none. Counts the call.
    #[inline(always)]
    pub(crate) fn feedback_for_call(&mut self, template: Ref) -> u32 {
        let number = self.cage.u32(template, NUMBER);
        if number >= FEEDBACK_TABLE_ENTRIES {
            return 0;
        }
        let entry: u32 = self.cage.read(FEEDBACK_TABLE + 4 * number);
        if entry >= FIRST_VECTOR {
            return entry + CACHES;
        }
        self.count_call(template, number, entry)
    }

    #[inline(never)]
    fn count_call(&mut self, template: Ref, number: u32, calls: u32) -> u32 {
        if self.cage.flags(template) & RUNS_ONCE != 0 || self.cage.u32(template, IC_COUNT) == 0 {
            return 0;
        }
        if calls + 1 >= CALLS_BEFORE_VECTOR {
            return self.make_feedback(template);
        }
        if calls == 0 {
            self.feedback_used.push(number);
        }
        self.cage.init(FEEDBACK_TABLE + 4 * number, calls + 1);
        0
    }

    /// Gives `template` a vector (again: the same). 0 when memory is short: code runs without caches.
    #[inline(never)]
    pub(crate) fn make_feedback(&mut self, template: Ref) -> u32 {
        let number = self.cage.u32(template, NUMBER);
        if number >= FEEDBACK_TABLE_ENTRIES {
            return 0;
        }
        let entry: u32 = self.cage.read(FEEDBACK_TABLE + 4 * number);
        if entry >= FIRST_VECTOR {
            return entry + CACHES;
        }
        let count = self.cage.u32(template, IC_COUNT);
        if self.heap_is_short(u64::from(count) * 16 + 4096) {
            return 0;
        }
        let Ok(vector) = self.allocate_tail(Kind::FeedbackVector, CACHES, 16 * u64::from(count)) else { return 0 };
        self.cage.init(vector.0 + 4, count);
        self.cage.init(vector.0 + 8, 0u64);
        self.cage.fill(vector.0 + CACHES, 0, 16 * count);
        if entry == 0 {
            self.feedback_used.push(number);
        }
        self.cage.init(FEEDBACK_TABLE + 4 * number, vector.0);
        vector.0 + CACHES
    }
}
