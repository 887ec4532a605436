//! Element types of typed arrays and DataView (ECMA-262 23.2, table 71; 25.1.3): values to bytes and back.
//!
//! "Raw" is the little-endian content of one element in the low bytes of a u64. Every NaN is made canonical in
//! both directions, so that no payload can look like a tag.

use crate::cage::Ref;
use crate::convert::double_to_int32;
use crate::realm::{Completion, Realm};
use crate::value::{CANONICAL_NAN, Value};

/// The element type, in the order of the intrinsics and of the constructors' table rows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum ElementType {
    Int8 = 0,
    Uint8,
    Uint8Clamped,
    Int16,
    Uint16,
    Int32,
    Uint32,
    BigInt64,
    BigUint64,
    Float16,
    Float32,
    Float64,
}

use ElementType::*;

impl ElementType {
    /// All types by number.
    pub const ALL: [ElementType; 12] =
        [Int8, Uint8, Uint8Clamped, Int16, Uint16, Int32, Uint32, BigInt64, BigUint64, Float16, Float32, Float64];

    /// The type with this number; bytes for a number that is none.
    #[inline(always)]
    pub fn from_raw(raw: u32) -> ElementType {
        Self::ALL.get(raw as usize).copied().unwrap_or(Uint8)
    }

    /// Bytes of one element.
    #[inline(always)]
    pub const fn bytes(self) -> u32 {
        match self {
            Int8 | Uint8 | Uint8Clamped => 1,
            Int16 | Uint16 | Float16 => 2,
            Int32 | Uint32 | Float32 => 4,
            BigInt64 | BigUint64 | Float64 => 8,
        }
    }

    /// Whether the content type is BigInt.
    #[inline(always)]
    pub const fn is_bigint(self) -> bool {
        matches!(self, BigInt64 | BigUint64)
    }
}

/// NumericToRawBytes (25.1.3.16) of a number.
pub fn number_to_raw(element_type: ElementType, n: f64) -> u64 {
    match element_type {
        Uint8Clamped => u64::from(n.clamp(0.0, 255.0).round_ties_even() as u8),
        Float16 => u64::from(crate::pure::f16::to_bits(n)),
        Float32 if n.is_nan() => 0x7FC0_0000,
        Float32 => u64::from((n as f32).to_bits()),
        Float64 if n.is_nan() => CANONICAL_NAN,
        Float64 => n.to_bits(),
        _ => double_to_int32(n) as u32 as u64,
    }
}

/// The number that `raw` means; BigInt types read as zero.
pub fn raw_to_number(element_type: ElementType, raw: u64) -> Value {
    match element_type {
        Int8 => Value::int(i32::from(raw as i8)),
        Uint8 | Uint8Clamped => Value::int(i32::from(raw as u8)),
        Int16 => Value::int(i32::from(raw as i16)),
        Uint16 => Value::int(i32::from(raw as u16)),
        Int32 => Value::int(raw as i32),
        Uint32 => Value::number(f64::from(raw as u32)),
        Float16 => Value::number(crate::pure::f16::from_bits(raw as u16)),
        Float32 => Value::number(f64::from(f32::from_bits(raw as u32))),
        Float64 => Value::number(f64::from_bits(raw)),
        BigInt64 | BigUint64 => Value::ZERO,
    }
}

impl Realm {
    /// Raw content of the element at cage address `at`.
    #[inline(always)]
    pub(crate) fn read_raw(&self, element_type: ElementType, at: u32) -> u64 {
        match element_type.bytes() {
            1 => u64::from(self.cage.read::<u8>(at)),
            2 => u64::from(self.cage.read::<u16>(at)),
            4 => u64::from(self.cage.read::<u32>(at)),
            _ => self.cage.read(at),
        }
    }

    /// Stores raw content at cage address `at`.
    #[inline(always)]
    pub(crate) fn write_raw(&mut self, element_type: ElementType, at: u32, raw: u64) {
        match element_type.bytes() {
            1 => self.cage.write(at, raw as u8),
            2 => self.cage.write(at, raw as u16),
            4 => self.cage.write(at, raw as u32),
            _ => self.cage.write(at, raw),
        }
    }

    /// RawBytesToNumeric (25.1.3.14).
    ///
    /// # Errors
    /// Out of memory (BigInt).
    #[inline]
    pub(crate) fn raw_to_value(&mut self, element_type: ElementType, raw: u64) -> Completion {
        match element_type {
            BigInt64 => self.bigint_from_parts((raw as i64) < 0, (raw as i64).unsigned_abs()),
            BigUint64 => self.bigint_from_parts(false, raw),
            _ => Ok(raw_to_number(element_type, raw)),
        }
    }

    /// Converts `value` to the content type and to bytes.
    ///
    /// # Errors
    /// Whatever conversion throws.
    #[inline]
    pub(crate) fn value_to_raw(&mut self, element_type: ElementType, value: Value) -> Completion<u64> {
        if element_type.is_bigint() {
            let bigint = self.to_bigint(value)?;
            return Ok(self.bigint_low_bits(bigint));
        }
        if value.is_int() && !matches!(element_type, Uint8Clamped | Float16 | Float32 | Float64) {
            return Ok(value.as_int() as u32 as u64);
        }
        let n = self.to_number(value)?;
        Ok(number_to_raw(element_type, n))
    }

    /// A BigInt of this sign and magnitude.
    fn bigint_from_parts(&mut self, negative: bool, magnitude: u64) -> Completion {
        let digits = [magnitude as u32, (magnitude >> 32) as u32];
        let used = digits.iter().rposition(|&d| d != 0).map_or(0, |i| i + 1);
        Ok(Value::bigint(self.new_bigint_cell(negative, &digits[..used])?))
    }

    /// The BigInt modulo 2^64.
    fn bigint_low_bits(&self, cell: Ref) -> u64 {
        let count = self.cage.u32(cell, 4);
        let digit = |i: u32| if i < count { u64::from(self.cage.u32(cell, 8 + 4 * i)) } else { 0 };
        let magnitude = digit(1) << 32 | digit(0);
        if self.cage.flags(cell) != 0 { magnitude.wrapping_neg() } else { magnitude }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clamped_bytes_round_to_even() {
        let clamp = |n| number_to_raw(Uint8Clamped, n);
        assert_eq!(
            [clamp(0.5), clamp(1.5), clamp(254.5), clamp(300.0), clamp(-1.0), clamp(f64::NAN)],
            [0, 2, 254, 255, 0, 0]
        );
    }
}
