//! `Value`: a JavaScript value in 64 bits.
//!
//! ```text
//! bits 63..48     bits 47..0
//! below 0xFFF9    double (0xFFF8... is the processor's default NaN and a plain double)
//! 0xFFF9          int32 in bits 31..0
//! 0xFFFA..0xFFFE  reference (object, string, symbol, BigInt, internal cell) in bits 31..0
//! 0xFFFF          undefined, null, false, true, hole, lazy
//! ```
//!
//! Invariant: a double that enters from outside is canonicalised first ([`Value::number`]), so no NaN
//! payload looks like a tag. An integral double in int32 range (not -0) may appear in either form;
//! `Value::number` chooses int32, and comparisons treat both alike.

use crate::cage::Ref;

/// A JavaScript value, or one of the engine's internal markers.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(transparent)]
pub struct Value(pub u64);

pub const TAG_INT: u64 = 0xFFF9;
pub const TAG_OBJECT: u64 = 0xFFFA;
pub const TAG_STRING: u64 = 0xFFFB;
pub const TAG_SYMBOL: u64 = 0xFFFC;
pub const TAG_BIGINT: u64 = 0xFFFD;
pub const TAG_CELL: u64 = 0xFFFE;
pub const TAG_SPECIAL: u64 = 0xFFFF;
/// The one NaN that is stored.
pub const CANONICAL_NAN: u64 = 0x7FF8_0000_0000_0000;
const FIRST_TAG: u64 = TAG_INT << 48;

impl Value {
    pub const UNDEFINED: Value = Value(TAG_SPECIAL << 48 | 2);
    pub const NULL: Value = Value(TAG_SPECIAL << 48 | 3);
    pub const FALSE: Value = Value(TAG_SPECIAL << 48 | 4);
    pub const TRUE: Value = Value(TAG_SPECIAL << 48 | 5);
    /// Array hole, uninitialized binding, absent slot. Never visible to scripts.
    pub const HOLE: Value = Value(TAG_SPECIAL << 48 | 8);
    /// A property whose value the engine makes at first use (function name, length, prototype).
    pub const LAZY: Value = Value(TAG_SPECIAL << 48 | 9);
    pub const NAN: Value = Value(CANONICAL_NAN);
    pub const ZERO: Value = Value::int(0);

    #[inline(always)]
    pub const fn int(i: i32) -> Value {
        Value(TAG_INT << 48 | i as u32 as u64)
    }

    /// A number, as int32 where it is one (not -0), NaN made canonical.
    #[inline(always)]
    pub fn number(n: f64) -> Value {
        let i = n as i32;
        if f64::from(i) == n && (i != 0 || n.to_bits() == 0) { Value::int(i) } else { Value::double(n) }
    }

    /// A double without looking for an int32 form, NaN made canonical.
    #[inline(always)]
    pub fn double(n: f64) -> Value {
        if n.is_nan() { Value::NAN } else { Value(n.to_bits()) }
    }

    #[inline(always)]
    pub fn boolean(b: bool) -> Value {
        if b { Value::TRUE } else { Value::FALSE }
    }

    #[inline(always)]
    pub fn object(r: Ref) -> Value {
        debug_assert!(!r.is_null());
        Value(TAG_OBJECT << 48 | u64::from(r.0))
    }

    #[inline(always)]
    pub fn string(r: Ref) -> Value {
        debug_assert!(!r.is_null());
        Value(TAG_STRING << 48 | u64::from(r.0))
    }

    #[inline(always)]
    pub fn symbol(r: Ref) -> Value {
        Value(TAG_SYMBOL << 48 | u64::from(r.0))
    }

    #[inline(always)]
    pub fn bigint(r: Ref) -> Value {
        Value(TAG_BIGINT << 48 | u64::from(r.0))
    }

    /// An internal cell; never visible to scripts.
    #[inline(always)]
    pub fn cell(r: Ref) -> Value {
        Value(TAG_CELL << 48 | u64::from(r.0))
    }

    /// An object, or null for the null reference.
    #[inline(always)]
    pub fn object_or_null(r: Ref) -> Value {
        if r.is_null() { Value::NULL } else { Value::object(r) }
    }

    #[inline(always)]
    pub fn tag(self) -> u64 {
        self.0 >> 48
    }

    #[inline(always)]
    pub fn is_int(self) -> bool {
        self.tag() == TAG_INT
    }

    #[inline(always)]
    pub fn is_double(self) -> bool {
        self.0 < FIRST_TAG
    }

    #[inline(always)]
    pub fn is_number(self) -> bool {
        self.0 < (TAG_INT + 1) << 48
    }

    #[inline(always)]
    pub fn is_object(self) -> bool {
        self.tag() == TAG_OBJECT
    }

    #[inline(always)]
    pub fn is_string(self) -> bool {
        self.tag() == TAG_STRING
    }

    #[inline(always)]
    pub fn is_symbol(self) -> bool {
        self.tag() == TAG_SYMBOL
    }

    #[inline(always)]
    pub fn is_bigint(self) -> bool {
        self.tag() == TAG_BIGINT
    }

    #[inline(always)]
    pub fn is_cell(self) -> bool {
        self.tag() == TAG_CELL
    }

    #[inline(always)]
    pub fn is_undefined(self) -> bool {
        self == Value::UNDEFINED
    }

    #[inline(always)]
    pub fn is_null(self) -> bool {
        self == Value::NULL
    }

    #[inline(always)]
    pub fn is_nullish(self) -> bool {
        self.0 & !1 == Value::UNDEFINED.0
    }

    #[inline(always)]
    pub fn is_boolean(self) -> bool {
        self.0 & !1 == Value::FALSE.0
    }

    #[inline(always)]
    pub fn is_true(self) -> bool {
        self == Value::TRUE
    }

    #[inline(always)]
    pub fn is_hole(self) -> bool {
        self == Value::HOLE
    }

    /// Whether the value holds a reference of any kind.
    #[inline(always)]
    pub fn is_ref(self) -> bool {
        self.tag().wrapping_sub(TAG_OBJECT) <= TAG_CELL - TAG_OBJECT
    }

    /// The int32; only for values with `is_int`.
    #[inline(always)]
    pub fn as_int(self) -> i32 {
        debug_assert!(self.is_int());
        self.0 as u32 as i32
    }

    /// The double; only for values with `is_double`.
    #[inline(always)]
    pub fn as_double(self) -> f64 {
        debug_assert!(self.is_double());
        f64::from_bits(self.0)
    }

    /// The number of an int32 or double value.
    #[inline(always)]
    pub fn as_number(self) -> f64 {
        if self.is_int() { f64::from(self.as_int()) } else { self.as_double() }
    }

    /// The reference; only for values with `is_ref`.
    #[inline(always)]
    pub fn as_ref(self) -> Ref {
        debug_assert!(self.is_ref());
        Ref(self.0 as u32)
    }

    /// The object, if it is one.
    #[inline(always)]
    pub fn to_object_ref(self) -> Option<Ref> {
        if self.is_object() { Some(Ref(self.0 as u32)) } else { None }
    }
}

impl std::fmt::Debug for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.tag() {
            TAG_INT => write!(f, "{}", self.as_int()),
            TAG_OBJECT => write!(f, "object{:?}", self.as_ref()),
            TAG_STRING => write!(f, "string{:?}", self.as_ref()),
            TAG_SYMBOL => write!(f, "symbol{:?}", self.as_ref()),
            TAG_BIGINT => write!(f, "bigint{:?}", self.as_ref()),
            TAG_CELL => write!(f, "cell{:?}", self.as_ref()),
            TAG_SPECIAL => f.write_str(match *self {
                Value::UNDEFINED => "undefined",
                Value::NULL => "null",
                Value::FALSE => "false",
                Value::TRUE => "true",
                Value::HOLE => "hole",
                _ => "lazy",
            }),
            _ => write!(f, "{}", self.as_double()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_nan_payload_becomes_the_canonical_nan() {
        for bits in [0xFFF8_0000_0000_0000u64, 0xFFFA_0000_0000_1000, 0xFFFF_FFFF_FFFF_FFFF, 0x7FF0_0000_0000_0001] {
            let v = Value::number(f64::from_bits(bits));
            assert_eq!(v.0, CANONICAL_NAN);
            assert!(v.is_double() && !v.is_ref());
        }
    }

    #[test]
    fn integral_doubles_become_int32_except_minus_zero() {
        assert!(Value::number(3.0).is_int());
        assert!(Value::number(-0.0).is_double());
        assert!(Value::number(2147483648.0).is_double());
        assert_eq!(Value::number(-2147483648.0).as_int(), i32::MIN);
    }
}
