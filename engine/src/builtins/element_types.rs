//! Element types of typed arrays and DataView (ECMA-262 23.2, table 71; 25.1.3): values to bytes and back.
//!
//! "Raw" is the little-endian content of one element in the low bytes of a u64. Every NaN is made canonical in
//! both directions, so that no payload can look like a tag.

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

/// The double that these binary16 bits mean.
pub fn f16_to_f64(bits: u16) -> f64 {
    let sign = if bits & 0x8000 != 0 { -1.0 } else { 1.0 };
    let (exponent, mantissa) = (bits >> 10 & 0x1F, bits & 0x3FF);
    let magnitude = match exponent {
        0 => f64::from(mantissa) / f64::from(1u32 << 24),
        0x1F if mantissa == 0 => f64::INFINITY,
        0x1F => f64::NAN,
        _ => f64::from_bits((u64::from(exponent) + 1008) << 52 | u64::from(mantissa) << 42),
    };
    sign * magnitude
}

/// The binary16 bits of a double, rounded to nearest, ties to even.
pub fn f64_to_f16(n: f64) -> u16 {
    if n.is_nan() {
        return 0x7E00;
    }
    let bits = n.to_bits();
    let sign = (bits >> 48) as u16 & 0x8000;
    let magnitude = n.abs();
    if magnitude >= 65520.0 {
        return sign | 0x7C00;
    }
    if magnitude < 6.103515625e-5 {
        // Below 2^-14: units of 2^-24; rounding up to 1024 gives the smallest normal number as it should.
        return sign | (magnitude * f64::from(1u32 << 24)).round_ties_even() as u16;
    }
    let exponent = (bits >> 52 & 0x7FF) - 1008;
    let mantissa = bits & ((1 << 52) - 1);
    let mut half = exponent << 10 | mantissa >> 42;
    let rest = mantissa & ((1 << 42) - 1);
    if rest > 1 << 41 || rest == 1 << 41 && half & 1 == 1 {
        half += 1;
    }
    sign | half as u16
}

/// NumericToRawBytes (25.1.3.16) of a number.
pub fn number_to_raw(element_type: ElementType, n: f64) -> u64 {
    match element_type {
        Uint8Clamped => u64::from(n.clamp(0.0, 255.0).round_ties_even() as u8),
        Float16 => u64::from(f64_to_f16(n)),
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
        Float16 => Value::number(f16_to_f64(raw as u16)),
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
            let bigint = self.to_bigint_value(value)?;
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
    fn bigint_low_bits(&self, bigint: Value) -> u64 {
        let cell = bigint.as_ref();
        let count = self.cage.u32(cell, 4);
        let digit = |i: u32| if i < count { u64::from(self.cage.u32(cell, 8 + 4 * i)) } else { 0 };
        let magnitude = digit(1) << 32 | digit(0);
        if self.cage.flags(cell) != 0 { magnitude.wrapping_neg() } else { magnitude }
    }

    /// ToBigInt (7.1.13)
    pub(crate) fn to_bigint_value(&mut self, value: Value) -> Completion {
        let primitive = self.to_primitive(value, crate::convert::Hint::Number)?;
        if primitive.is_bigint() {
            return Ok(primitive);
        }
        if primitive.is_boolean() {
            return self.bigint_from_parts(false, u64::from(primitive.is_true()));
        }
        let text = self.describe(primitive);
        if !primitive.is_string() {
            return Err(self.throw_type(&format!("Cannot convert {text} to a BigInt")));
        }
        let source = self.string_text(primitive.as_ref())?;
        self.charge(source.len() as u32 / 16)?;
        match parse_bigint(&source) {
            Some((negative, digits)) => Ok(Value::bigint(self.new_bigint_cell(negative, &digits)?)),
            None => Err(self.throw_syntax(&format!("Cannot convert {text} to a BigInt"))),
        }
    }
}

/// StringToBigInt (7.1.14): sign and digits.
fn parse_bigint(source: &str) -> Option<(bool, Vec<u32>)> {
    let text = source.trim_matches(|c: char| c == '\u{FEFF}' || c.is_whitespace() && c != '\u{85}');
    if text.is_empty() {
        return Some((false, Vec::new()));
    }
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    let (negative, digits) = if radix != 10 {
        (false, &text[2..])
    } else {
        match text.strip_prefix(['+', '-']) {
            Some(rest) => (text.starts_with('-'), rest),
            None => (false, text),
        }
    };
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = num_bigint::BigUint::parse_bytes(digits.as_bytes(), radix)?;
    let digits = magnitude.to_u32_digits();
    Some((negative && !digits.is_empty(), digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_binary16_number_survives_the_way_through_double() {
        for bits in 0..=0xFFFFu16 {
            let n = f16_to_f64(bits);
            if !n.is_nan() {
                assert_eq!(f64_to_f16(n), bits, "{bits:x}");
            }
        }
    }

    #[test]
    fn binary16_rounds_to_even() {
        assert_eq!(f64_to_f16(1.0 + 1.0 / 2048.0), 0x3C00);
        assert_eq!(f64_to_f16(1.0 + 3.0 / 2048.0), 0x3C02);
        assert_eq!(f64_to_f16(65519.99), 0x7BFF);
        assert_eq!(f64_to_f16(65520.0), 0x7C00);
        assert_eq!(f64_to_f16(2.98023223876953125e-8), 0);
        assert_eq!(f64_to_f16(2.980232238769532e-8), 1);
        assert_eq!(f64_to_f16(6.103515624999999e-5), 0x400);
    }

    #[test]
    fn clamped_bytes_round_to_even() {
        let clamp = |n| number_to_raw(Uint8Clamped, n);
        assert_eq!([clamp(0.5), clamp(1.5), clamp(254.5), clamp(300.0), clamp(-1.0), clamp(f64::NAN)], [0, 2, 254, 255, 0, 0]);
    }

    #[test]
    fn bigint_texts() {
        assert_eq!(parse_bigint(" -12 "), Some((true, vec![12])));
        assert_eq!(parse_bigint("0xFFFFFFFFFF"), Some((false, vec![0xFFFF_FFFF, 0xFF])));
        assert_eq!(parse_bigint("-0"), Some((false, vec![])));
        assert_eq!(parse_bigint("1_000"), None);
        assert_eq!(parse_bigint("-0x1"), None);
    }
}
