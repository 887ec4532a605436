//! BigInt arithmetic (ECMA-262 6.1.6.2) on a sign and little-endian 32-bit digits, by num-bigint.
//!
//! Invariant: results are normalised (no leading zero digits, zero is not negative) and never exceed
//! [`MAX_BITS`]; an operation that would is refused with [`BigIntError::TooBig`] *before* the work is
//! done, so that a script cannot buy unbounded time or memory with one operator.

use std::cmp::Ordering;

use num_bigint::{BigInt, BigUint, Sign};
use num_integer::Integer;
use num_traits::{One, Signed, ToPrimitive, Zero};

/// The largest number of bits of a BigInt, 2^30 as in V8.
pub const MAX_BITS: u64 = 1 << 30;

/// Why an operation has no result; the first three are RangeErrors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BigIntError {
    /// "Maximum BigInt size exceeded".
    TooBig,
    /// "Division by zero".
    DivisionByZero,
    /// "Exponent must be non-negative".
    NegativeExponent,
}

impl BigIntError {
    /// The message of the RangeError, as V8 words it.
    pub fn message(self) -> &'static str {
        match self {
            BigIntError::TooBig => "Maximum BigInt size exceeded",
            BigIntError::DivisionByZero => "Division by zero",
            BigIntError::NegativeExponent => "Exponent must be non-negative",
        }
    }
}

/// A result that may be refused.
pub type BigIntResult = Result<BigInt, BigIntError>;

/// The number with this sign and these little-endian digits.
pub fn from_digits(negative: bool, digits: &[u32]) -> BigInt {
    let sign = if negative { Sign::Minus } else { Sign::Plus };
    BigInt::from_slice(sign, digits)
}

/// Sign and little-endian digits without leading zeros.
pub fn to_digits(value: &BigInt) -> (bool, Vec<u32>) {
    let (sign, digits) = value.to_u32_digits();
    (sign == Sign::Minus, digits)
}

fn bounded(value: BigInt) -> BigIntResult {
    if value.bits() > MAX_BITS { Err(BigIntError::TooBig) } else { Ok(value) }
}

/// BigInt::add (ECMA-262 6.1.6.2.7).
pub fn add(a: &BigInt, b: &BigInt) -> BigIntResult {
    bounded(a + b)
}

/// BigInt::subtract (ECMA-262 6.1.6.2.8).
pub fn sub(a: &BigInt, b: &BigInt) -> BigIntResult {
    bounded(a - b)
}

/// BigInt::multiply (ECMA-262 6.1.6.2.4).
pub fn mul(a: &BigInt, b: &BigInt) -> BigIntResult {
    // The product has at least bits(a) + bits(b) - 1 bits.
    if a.bits() + b.bits() > MAX_BITS + 1 {
        return Err(BigIntError::TooBig);
    }
    bounded(a * b)
}

/// BigInt::divide (ECMA-262 6.1.6.2.5): towards zero.
pub fn div(a: &BigInt, b: &BigInt) -> BigIntResult {
    if b.is_zero() { Err(BigIntError::DivisionByZero) } else { Ok(a / b) }
}

/// BigInt::remainder (ECMA-262 6.1.6.2.6): the sign of the dividend.
pub fn rem(a: &BigInt, b: &BigInt) -> BigIntResult {
    if b.is_zero() { Err(BigIntError::DivisionByZero) } else { Ok(a % b) }
}

/// BigInt::exponentiate (ECMA-262 6.1.6.2.3).
pub fn pow(base: &BigInt, exponent: &BigInt) -> BigIntResult {
    if exponent.is_negative() {
        return Err(BigIntError::NegativeExponent);
    }
    if exponent.is_zero() || base.is_one() {
        return Ok(BigInt::one());
    }
    if base.is_zero() {
        return Ok(BigInt::zero());
    }
    if base.magnitude().is_one() {
        return Ok(if exponent.is_odd() { base.clone() } else { BigInt::one() });
    }
    let exponent = exponent.to_u32().ok_or(BigIntError::TooBig)?;
    // base^exponent has at least (bits - 1) * exponent + 1 bits.
    if (base.bits() - 1).saturating_mul(u64::from(exponent)) >= MAX_BITS {
        return Err(BigIntError::TooBig);
    }
    bounded(base.pow(exponent))
}

/// BigInt::unaryMinus (ECMA-262 6.1.6.2.1).
pub fn neg(a: &BigInt) -> BigInt {
    -a
}

/// BigInt::bitwiseNOT (ECMA-262 6.1.6.2.2): -a - 1.
pub fn not(a: &BigInt) -> BigIntResult {
    bounded(-(a + 1u32))
}

/// BigInt::leftShift (ECMA-262 6.1.6.2.9).
pub fn shl(a: &BigInt, count: &BigInt) -> BigIntResult {
    if count.is_negative() { shift_right(a, count.magnitude()) } else { shift_left(a, count.magnitude()) }
}

/// BigInt::signedRightShift (ECMA-262 6.1.6.2.10): rounds towards minus infinity.
pub fn shr(a: &BigInt, count: &BigInt) -> BigIntResult {
    if count.is_negative() { shift_left(a, count.magnitude()) } else { shift_right(a, count.magnitude()) }
}

fn shift_left(a: &BigInt, count: &BigUint) -> BigIntResult {
    if a.is_zero() || count.is_zero() {
        return Ok(a.clone());
    }
    let count = count.to_u64().filter(|&n| a.bits().saturating_add(n) <= MAX_BITS);
    count.map(|n| a << n).ok_or(BigIntError::TooBig)
}

fn shift_right(a: &BigInt, count: &BigUint) -> BigIntResult {
    match count.to_u64() {
        // num-bigint's shift rounds towards minus infinity.
        Some(n) if n <= a.bits() => Ok(a >> n),
        _ => Ok(if a.is_negative() { BigInt::from(-1) } else { BigInt::zero() }),
    }
}

/// BigInt::bitwiseAND (ECMA-262 6.1.6.2.17) on infinite two's complement.
pub fn and(a: &BigInt, b: &BigInt) -> BigInt {
    a & b
}

/// BigInt::bitwiseOR (ECMA-262 6.1.6.2.19).
pub fn or(a: &BigInt, b: &BigInt) -> BigInt {
    a | b
}

/// BigInt::bitwiseXOR (ECMA-262 6.1.6.2.18).
pub fn xor(a: &BigInt, b: &BigInt) -> BigInt {
    a ^ b
}

/// The order of a BigInt and a Number by mathematical value (ECMA-262 7.2.13 IsLessThan, 7.2.14
/// IsLooselyEqual); `None` for NaN.
pub fn compare_with_f64(a: &BigInt, x: f64) -> Option<Ordering> {
    if x.is_nan() {
        return None;
    }
    if x.is_infinite() {
        return Some(if x > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = libm::floor(x);
    let ordering = a.cmp(&integer_from_f64(whole));
    // Between floor(x) and x lies no integer: equality with the floor is "less" if x has a fraction.
    Some(if ordering == Ordering::Equal && whole < x { Ordering::Less } else { ordering })
}

/// NumberToBigInt (ECMA-262 21.2.1.1.1): `None` where the number is no integer (a RangeError).
pub fn from_f64(x: f64) -> Option<BigInt> {
    (x.is_finite() && libm::trunc(x) == x).then(|| integer_from_f64(x))
}

/// The exact value of a double that is an integer.
fn integer_from_f64(x: f64) -> BigInt {
    let bits = x.to_bits();
    let biased = ((bits >> 52) & 0x7FF) as i64;
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let exponent = biased - 1075;
    let magnitude = if exponent >= 0 {
        BigUint::from(mantissa) << exponent as u64
    } else if exponent > -64 {
        BigUint::from(mantissa >> -exponent)
    } else {
        BigUint::zero()
    };
    BigInt::from_biguint(if x < 0.0 { Sign::Minus } else { Sign::Plus }, magnitude)
}

/// Number(bigint) (ECMA-262 21.1.1.1): the nearest double, ties to even, Infinity when too large.
pub fn to_f64(a: &BigInt) -> f64 {
    let magnitude = magnitude_to_f64(a.magnitude());
    if a.is_negative() { -magnitude } else { magnitude }
}

/// The double nearest to an unsigned integer, ties to even.
pub fn magnitude_to_f64(value: &BigUint) -> f64 {
    let bits = value.bits();
    if bits <= 64 {
        return value.to_u64().unwrap_or(0) as f64;
    }
    if bits > 1024 {
        return f64::INFINITY;
    }
    // 64 top bits with everything below folded into the lowest: the cast rounds once, correctly.
    let shift = bits - 64;
    let top = (value >> shift).to_u64().unwrap_or(0);
    let sticky = value.trailing_zeros().is_some_and(|zeros| zeros < shift);
    libm::ldexp((top | u64::from(sticky)) as f64, shift as i32)
}

/// BigInt.asUintN (ECMA-262 21.2.2.2).
pub fn as_uint_n(bits: u64, a: &BigInt) -> BigIntResult {
    if !a.is_negative() && a.bits() <= bits {
        return Ok(a.clone());
    }
    if bits == 0 {
        return Ok(BigInt::zero());
    }
    if bits > MAX_BITS {
        // Only a negative number comes here, and its image has `bits` bits.
        return Err(BigIntError::TooBig);
    }
    let modulus = BigInt::one() << bits;
    Ok(a.mod_floor(&modulus))
}

/// BigInt.asIntN (ECMA-262 21.2.2.1).
pub fn as_int_n(bits: u64, a: &BigInt) -> BigIntResult {
    if bits == 0 {
        return Ok(BigInt::zero());
    }
    // |a| < 2^(bits-1) is its own image.
    if a.bits() < bits {
        return Ok(a.clone());
    }
    let modulus = BigInt::one() << bits;
    let image = a.mod_floor(&modulus);
    Ok(if image.bits() == bits { image - modulus } else { image })
}

/// The low 64 bits in two's complement (ECMA-262 7.1.15 ToBigInt64, 7.1.16 ToBigUint64).
pub fn to_u64_wrapping(a: &BigInt) -> u64 {
    let low = a.magnitude().iter_u64_digits().next().unwrap_or(0);
    if a.is_negative() { low.wrapping_neg() } else { low }
}

/// BigInt::toString (ECMA-262 6.1.6.2.23) for a radix of 2..=36.
pub fn to_string(a: &BigInt, radix: u32) -> String {
    a.to_str_radix(radix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn big(text: &str) -> BigInt {
        super::super::number_parse::string_to_bigint(text.as_bytes()).unwrap()
    }

    #[test]
    fn arithmetic() {
        assert_eq!(div(&big("-7"), &big("2")), Ok(big("-3")));
        assert_eq!(rem(&big("-7"), &big("2")), Ok(big("-1")));
        assert_eq!(rem(&big("7"), &big("0")), Err(BigIntError::DivisionByZero));
        assert_eq!(pow(&big("-2"), &big("3")), Ok(big("-8")));
        assert_eq!(pow(&big("2"), &big("-1")), Err(BigIntError::NegativeExponent));
        assert_eq!(pow(&big("2"), &big("99999999999999")), Err(BigIntError::TooBig));
        assert_eq!(pow(&big("-1"), &big("99999999999999")), Ok(big("-1")));
        assert_eq!(shr(&big("-5"), &big("1")), Ok(big("-3")));
        assert_eq!(shr(&big("-5"), &big("100000000000000000000")), Ok(big("-1")));
        assert_eq!(shl(&big("1"), &big("1073741824")), Err(BigIntError::TooBig));
        assert_eq!(shl(&big("0"), &big("100000000000000000000")), Ok(big("0")));
        assert_eq!(and(&big("-6"), &big("255")), big("250"));
        assert_eq!(or(&big("-6"), &big("1")), big("-5"));
        assert_eq!(xor(&big("-1"), &big("5")), big("-6"));
        assert_eq!(not(&big("5")), Ok(big("-6")));
        assert_eq!(to_digits(&from_digits(true, &[0, 0])), (false, vec![]));
        assert_eq!(to_digits(&from_digits(true, &[5, 1, 0])), (true, vec![5, 1]));
    }

    #[test]
    fn numbers() {
        assert_eq!(from_f64(1e21), Some(big("1000000000000000000000")));
        assert_eq!(from_f64(-3.0), Some(big("-3")));
        assert_eq!(from_f64(0.5), None);
        assert_eq!(from_f64(-0.0), Some(big("0")));
        assert_eq!(to_f64(&big("9007199254740993")), 9007199254740992.0);
        assert_eq!(to_f64(&big("9007199254740995")), 9007199254740996.0);
        assert_eq!(to_f64(&big("0x20000000000001")), 9007199254740992.0);
        let tie = (BigInt::from(1) << 100) + (BigInt::from(1) << 47);
        assert_eq!(to_f64(&tie), 2f64.powi(100));
        assert_eq!(to_f64(&(tie + 1)), 2f64.powi(100) + 2f64.powi(48));
        assert_eq!(to_f64(&(BigInt::from(1) << 1024)), f64::INFINITY);
        assert_eq!(to_f64(&((BigInt::from(1) << 1024) - 1)), f64::INFINITY);
        assert_eq!(compare_with_f64(&big("1"), 1.5), Some(Ordering::Less));
        assert_eq!(compare_with_f64(&big("-1"), -1.5), Some(Ordering::Greater));
        assert_eq!(compare_with_f64(&big("2"), 1.5), Some(Ordering::Greater));
        assert_eq!(compare_with_f64(&big("2"), 2.0), Some(Ordering::Equal));
        assert_eq!(compare_with_f64(&big("2"), f64::NAN), None);
    }

    #[test]
    fn wrapping() {
        assert_eq!(as_int_n(8, &big("255")), Ok(big("-1")));
        assert_eq!(as_int_n(8, &big("128")), Ok(big("-128")));
        assert_eq!(as_int_n(8, &big("-128")), Ok(big("-128")));
        assert_eq!(as_int_n(8, &big("-129")), Ok(big("127")));
        assert_eq!(as_uint_n(8, &big("-1")), Ok(big("255")));
        assert_eq!(as_uint_n(0, &big("5")), Ok(big("0")));
        assert_eq!(as_uint_n(1 << 53, &big("-5")), Err(BigIntError::TooBig));
        assert_eq!(as_int_n(1 << 53, &big("-5")), Ok(big("-5")));
        assert_eq!(to_u64_wrapping(&big("-1")), u64::MAX);
        assert_eq!(to_string(&big("-255"), 16), "-ff");
    }
}
