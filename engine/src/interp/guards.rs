//! What the interpreter checks at use because the verifier of snapshots does not prove it (design: trust is
//! explicit): an internal cell taken from a register or a slot is looked at by kind before it is touched.

use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Realm, Throw};
use crate::value::Value;

/// Offset of an environment's parent and first slot.
const PARENT: u32 = 8;
const SLOTS: u32 = 16;

impl Realm {
    /// The cell of this kind that `value` refers to.
    #[inline(always)]
    pub(crate) fn ref_of_kind(&self, value: Value, kind: Kind) -> Option<Ref> {
        let fits = value.is_ref() && !value.as_ref().is_null() && self.cage.is(value.as_ref(), kind);
        fits.then(|| value.as_ref())
    }

    /// Whether `value` is an environment, or stands for having none: undefined, or the null ref that functions
    /// outside of everything have.
    #[inline(always)]
    pub(crate) fn is_environment_or_none(&self, value: Value) -> bool {
        value.is_undefined()
            || value.is_cell() && (value.as_ref().is_null() || self.cage.is(value.as_ref(), Kind::Environment))
    }

    /// Address of slot `slot` of the environment `hops` above `environment`. Parents need no look: an
    /// environment's parent is an environment or null.
    #[inline(always)]
    pub(crate) fn environment_slot(&self, environment: Value, hops: u16, slot: u16) -> Option<u32> {
        let mut at = self.ref_of_kind(environment, Kind::Environment)?;
        for _ in 0..hops {
            at = self.cage.r(at, PARENT).some()?;
        }
        (u32::from(slot) < self.cage.u32(at, 4)).then(|| at.0 + SLOTS + 8 * u32::from(slot))
    }

    /// The error of an instruction whose operand is of a kind that the compiler never gives it.
    #[cold]
    #[inline(never)]
    pub(crate) fn throw_damaged_code(&mut self) -> Throw {
        self.throw_type("damaged code: an operand is of the wrong kind")
    }
}
