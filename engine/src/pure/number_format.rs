//! Numbers to text: ECMA-262 6.1.6.1.20 Number::toString and 21.1.3 toFixed, toExponential,
//! toPrecision.
//!
//! Invariant: every digit printed is a digit of the exact value of the double (or, for
//! `Number::toString`, of the shortest decimal that reads back as it). Rounding works on exact
//! integers (num-bigint), "let n be an integer for which n / 10^f - x is as close to zero as
//! possible; if there are two such n, pick the larger": half away from zero on the magnitude.

use num_bigint::BigUint;
use num_traits::{ToPrimitive, Zero};

/// Number::toString(x, 10) (ECMA-262 6.1.6.1.20).
pub fn to_string(x: f64) -> String {
    let mut buffer = ryu_js::Buffer::new();
    buffer.format(x).to_owned()
}

/// Appends Number::toString(x, 10) (ECMA-262 6.1.6.1.20).
pub fn write_to(out: &mut String, x: f64) {
    let mut buffer = ryu_js::Buffer::new();
    out.push_str(buffer.format(x));
}

/// A finite non-negative double as the exact product `mantissa * 2^exponent`.
fn decompose(x: f64) -> (u64, i32) {
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7FF) as i32;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

/// The integer nearest to `x * 10^power`, ties to the larger one, `x` finite and not negative.
fn scaled_round(x: f64, power: i32) -> BigUint {
    let (mantissa, exponent) = decompose(x);
    let mut numerator = BigUint::from(mantissa);
    let mut denominator = BigUint::from(1u32);
    if power >= 0 {
        numerator *= BigUint::from(10u32).pow(power as u32);
    } else {
        denominator *= BigUint::from(10u32).pow(power.unsigned_abs());
    }
    if exponent >= 0 {
        numerator <<= exponent as u32;
    } else {
        denominator <<= exponent.unsigned_abs();
    }
    // floor(n/d + 1/2) = floor((2n + d) / 2d)
    (numerator * 2u32 + &denominator) / (denominator * 2u32)
}

/// [`scaled_round`] where 128 bits are enough: the usual numbers of digits.
fn small_scaled_round(x: f64, digits: u32) -> Option<u128> {
    let (mantissa, exponent) = decompose(x);
    if digits > 20 || !(-126..0).contains(&exponent) {
        return None;
    }
    // Below 2^53 * 10^20 < 2^120.
    let numerator = u128::from(mantissa) * 10u128.pow(digits);
    let shift = exponent.unsigned_abs();
    Some((numerator + (1 << (shift - 1))) >> shift)
}

/// `e` and the decimal digits of `n` with `10^(p-1) <= n < 10^p` such that `n * 10^(e-p+1)` is as
/// close to `x` as possible; `x` is finite and positive.
fn precise_digits(x: f64, precision: u32) -> (i32, String) {
    // The estimate may be off by one in either direction; the digit count tells.
    let mut e = x.log10().floor() as i32;
    loop {
        let n = scaled_round(x, precision as i32 - 1 - e);
        let digits = n.to_str_radix(10);
        let length = digits.len() as i32;
        if length > precision as i32 {
            // Rounding up to 10^p means one more power; the digits are then 1000...
            e += 1;
        } else if length < precision as i32 {
            e -= 1;
        } else {
            // An estimate one too small with a value that still rounds to p digits cannot be: the
            // value is then at least 10^(e+1) and has more than p digits.
            return (e, digits);
        }
    }
}

fn sign_and_magnitude(x: f64) -> (&'static str, f64) {
    if x < 0.0 { ("-", -x) } else { ("", x.abs()) }
}

/// Number.prototype.toFixed (ECMA-262 21.1.3.3) for `digits` already checked to be 0..=100.
pub fn to_fixed(x: f64, digits: u32) -> String {
    if !x.is_finite() || x.abs() >= 1e21 {
        return to_string(x);
    }
    let (sign, magnitude) = sign_and_magnitude(x);
    let mut text = match small_scaled_round(magnitude, digits) {
        Some(n) => n.to_string(),
        None => scaled_round(magnitude, digits as i32).to_str_radix(10),
    };
    let digits = digits as usize;
    if digits > 0 {
        if text.len() <= digits {
            text.insert_str(0, &"0".repeat(digits + 1 - text.len()));
        }
        text.insert(text.len() - digits, '.');
    }
    // -0.0000001.toFixed(2) is "-0.00"; only the number zero itself has no sign.
    format!("{sign}{text}")
}

fn exponential(digits: &str, e: i32) -> String {
    let (first, rest) = digits.split_at(1);
    let dot = if rest.is_empty() { "" } else { "." };
    let sign = if e < 0 { '-' } else { '+' };
    format!("{first}{dot}{rest}e{sign}{}", e.unsigned_abs())
}

/// Number.prototype.toExponential (ECMA-262 21.1.3.2); `digits` is `None` for "as many as necessary".
pub fn to_exponential(x: f64, digits: Option<u32>) -> String {
    if !x.is_finite() {
        return to_string(x);
    }
    let (sign, magnitude) = sign_and_magnitude(x);
    let (e, text) = match digits {
        _ if magnitude == 0.0 => (0, "0".repeat(digits.unwrap_or(0) as usize + 1)),
        Some(digits) => precise_digits(magnitude, digits + 1),
        None => shortest_digits(magnitude),
    };
    format!("{sign}{}", exponential(&text, e))
}

/// The shortest digits that read back as `x`, without trailing zeros, and their exponent.
fn shortest_digits(x: f64) -> (i32, String) {
    let mut buffer = ryu_js::Buffer::new();
    let text = buffer.format_finite(x);
    let (mantissa, exponent) = match text.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().unwrap_or(0)),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all: String = [whole, fraction].concat();
    let leading = all.len() - all.trim_start_matches('0').len();
    let digits = all.trim_matches('0').to_owned();
    let e = whole.len() as i32 - 1 - leading as i32 + exponent;
    (e, digits)
}

/// Number.prototype.toPrecision (ECMA-262 21.1.3.5) for `precision` already checked to be 1..=100.
pub fn to_precision(x: f64, precision: u32) -> String {
    if !x.is_finite() {
        return to_string(x);
    }
    let (sign, magnitude) = sign_and_magnitude(x);
    let (e, digits) =
        if magnitude == 0.0 { (0, "0".repeat(precision as usize)) } else { precise_digits(magnitude, precision) };
    let p = precision as i32;
    if e < -6 || e >= p {
        return format!("{sign}{}", exponential(&digits, e));
    }
    if e == p - 1 {
        return format!("{sign}{digits}");
    }
    if e >= 0 {
        let (whole, fraction) = digits.split_at(e as usize + 1);
        return format!("{sign}{whole}.{fraction}");
    }
    format!("{sign}0.{}{digits}", "0".repeat((-(e + 1)) as usize))
}

const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";

/// Number::toString(x, radix) for 2..=36 (ECMA-262 6.1.6.1.20). The specification leaves the digits
/// of other radices than 10 to the implementation; this prints, as V8 does, the fewest fraction
/// digits that tell the double from its neighbours.
pub fn to_string_radix(x: f64, radix: u32) -> String {
    if radix == 10 || !x.is_finite() {
        return to_string(x);
    }
    let (sign, magnitude) = sign_and_magnitude(x);
    let whole = magnitude.trunc();
    let (mut integer, fraction) = fraction_digits(whole, magnitude - whole, magnitude, radix);
    if integer.is_empty() {
        integer.push(b'0');
    }
    let mut out = String::with_capacity(integer.len() + fraction.len() + 2);
    out.push_str(sign);
    out.extend(integer.iter().map(|&b| char::from(b)));
    if !fraction.is_empty() {
        out.push('.');
        out.extend(fraction.iter().map(|&b| char::from(b)));
    }
    out
}

/// Digits of the integer part (exact, or zero-filled below the precision as V8 does) and of the
/// fraction (until the rest is smaller than half the distance to the next double).
fn fraction_digits(mut whole: f64, mut rest: f64, x: f64, radix: u32) -> (Vec<u8>, Vec<u8>) {
    let base = f64::from(radix);
    let mut fraction = Vec::new();
    let next_up = f64::from_bits(x.to_bits() + 1);
    let mut delta = (0.5 * (next_up - x)).max(f64::from_bits(1));
    if rest >= delta {
        loop {
            rest *= base;
            delta *= base;
            let digit = rest as u32;
            fraction.push(digit as u8);
            rest -= f64::from(digit);
            // Round to even when the rest is more than half, or exactly half and the digit is odd.
            if (rest > 0.5 || (rest == 0.5 && digit & 1 == 1)) && rest + delta > 1.0 {
                // Propagate the carry through the digits, into the whole part at last.
                loop {
                    match fraction.pop() {
                        None => {
                            whole += 1.0;
                            break;
                        }
                        Some(last) if u32::from(last) + 1 < radix => {
                            fraction.push(last + 1);
                            break;
                        }
                        Some(_) => {}
                    }
                }
                break;
            }
            if rest < delta {
                break;
            }
        }
    }
    for digit in &mut fraction {
        *digit = DIGITS[usize::from(*digit)];
    }
    (integer_digits(whole, radix), fraction)
}

fn integer_digits(mut whole: f64, radix: u32) -> Vec<u8> {
    if whole == 0.0 {
        return Vec::new();
    }
    if whole < 9_007_199_254_740_992.0 {
        let mut n = whole as u64;
        let mut out = Vec::new();
        while n > 0 {
            out.push(DIGITS[(n % u64::from(radix)) as usize]);
            n /= u64::from(radix);
        }
        out.reverse();
        return out;
    }
    // Above 2^53 the low digits carry no information; V8 prints zeros for them, then goes on with
    // remainders. The limit of 3 was found by trial: it gives V8's digits more often than any other.
    let base = f64::from(radix);
    let mut out = Vec::new();
    while decompose(whole).1 > 3 {
        whole /= base;
        out.push(b'0');
    }
    loop {
        let remainder = libm::fmod(whole, base);
        out.push(DIGITS[remainder as usize % 36]);
        whole = (whole - remainder) / base;
        if whole <= 0.0 {
            break;
        }
    }
    out.reverse();
    out
}

/// Number.prototype.toLocaleString (ECMA-262 21.1.3.4) as in en-US: groups of three digits, and between
/// `at_least` and `at_most` fraction digits.
pub fn to_grouped(x: f64, at_least: u32, at_most: u32) -> String {
    if x.is_nan() {
        return "NaN".to_owned();
    }
    let sign = if x.is_sign_negative() { "-" } else { "" };
    if x.is_infinite() {
        return format!("{sign}∞");
    }
    let n = scaled_round_shortest(x.abs(), at_most);
    let mut digits = n.to_str_radix(10);
    let fraction_length = at_most as usize;
    if digits.len() <= fraction_length {
        digits.insert_str(0, &"0".repeat(fraction_length + 1 - digits.len()));
    }
    let (whole, fraction) = digits.split_at(digits.len() - fraction_length);
    let keep = fraction.trim_end_matches('0').len().max(at_least as usize);
    let mut out = String::from(sign);
    for (i, digit) in whole.char_indices() {
        if i > 0 && (whole.len() - i) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    if keep > 0 {
        out.push('.');
        out.push_str(&fraction[..keep]);
    }
    out
}

/// The shortest decimal of `x` scaled by `10^digits` and rounded half away from zero: what a locale
/// formatter rounds is the printed number, so that 1.005 with two digits gives 1.01.
fn scaled_round_shortest(x: f64, digits: u32) -> BigUint {
    if x == 0.0 {
        return BigUint::zero();
    }
    let (e, text) = shortest_digits(x);
    let n = BigUint::parse_bytes(text.as_bytes(), 10).unwrap_or_default();
    // x = n * 10^(e - length + 1)
    let power = e - text.len() as i32 + 1 + digits as i32;
    if power >= 0 {
        return n * BigUint::from(10u32).pow(power as u32);
    }
    if power < -400 {
        return BigUint::zero();
    }
    let divisor = BigUint::from(10u32).pow(power.unsigned_abs());
    (n * 2u32 + &divisor) / (divisor * 2u32)
}

/// Whether `x` is an array index or other small non-negative integer, and which (fast paths).
pub fn as_u32(x: f64) -> Option<u32> {
    let n = x.to_u32()?;
    (f64::from(n) == x && !(n.is_zero() && x.is_sign_negative())).then_some(n)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimal() {
        for (x, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.5, "1.5"),
            (1e21, "1e+21"),
            (1e-7, "1e-7"),
            (123456789012345680000.0, "123456789012345680000"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(to_string(x), text);
        }
    }

    #[test]
    fn fixed() {
        for (x, digits, text) in [
            (0.000001, 7, "0.0000010"),
            (1.005, 2, "1.00"),
            (1.45, 1, "1.4"),
            (-1.5, 0, "-2"),
            (2.5, 0, "3"),
            (0.5, 0, "1"),
            (-0.0000001, 2, "-0.00"),
            (-0.0, 2, "0.00"),
            (123.456, 0, "123"),
            (1e21, 2, "1e+21"),
            (1000000000000000128.0, 0, "1000000000000000128"),
            (1000000000000000128.0, 1, "1000000000000000128.0"),
            (0.1, 20, "0.10000000000000000555"),
        ] {
            assert_eq!(to_fixed(x, digits), text, "{x} {digits}");
        }
    }

    #[test]
    fn exponential_and_precision() {
        assert_eq!(to_exponential(123456.0, Some(2)), "1.23e+5");
        assert_eq!(to_exponential(123456.0, None), "1.23456e+5");
        assert_eq!(to_exponential(0.0, None), "0e+0");
        assert_eq!(to_exponential(0.0, Some(2)), "0.00e+0");
        assert_eq!(to_exponential(25.0, Some(0)), "3e+1");
        assert_eq!(to_exponential(-9.99e-10, Some(1)), "-1.0e-9");
        assert_eq!(to_exponential(1e21, None), "1e+21");
        assert_eq!(to_exponential(0.00015, None), "1.5e-4");
        assert_eq!(to_exponential(100.0, None), "1e+2");
        assert_eq!(to_precision(123.456, 4), "123.5");
        assert_eq!(to_precision(0.000123, 2), "0.00012");
        assert_eq!(to_precision(1e-7, 2), "1.0e-7");
        assert_eq!(to_precision(123456.0, 2), "1.2e+5");
        assert_eq!(to_precision(99.99, 3), "100");
        assert_eq!(to_precision(0.0, 3), "0.00");
        assert_eq!(to_precision(1.25, 2), "1.3");
        assert_eq!(to_precision(1.35, 2), "1.4");
        assert_eq!(to_precision(1e21, 22), "1000000000000000000000");
        assert_eq!(to_precision(5e-324, 3), "4.94e-324");
        assert_eq!(to_precision(f64::MAX, 5), "1.7977e+308");
    }

    #[test]
    fn grouped() {
        assert_eq!(to_grouped(1234567.8915, 0, 3), "1,234,567.892");
        assert_eq!(to_grouped(-1234.5, 2, 3), "-1,234.50");
        assert_eq!(to_grouped(0.0004, 0, 3), "0");
        assert_eq!(to_grouped(1.005, 0, 2), "1.01");
        assert_eq!(to_grouped(-0.0, 0, 3), "-0");
        assert_eq!(to_grouped(1e21, 0, 3), "1,000,000,000,000,000,000,000");
        assert_eq!(to_grouped(999.9999, 0, 3), "1,000");
    }

    #[test]
    fn radix() {
        for (x, radix, text) in [
            (255.0, 16, "ff"),
            (-255.0, 2, "-11111111"),
            (0.5, 2, "0.1"),
            (0.1, 2, "0.0001100110011001100110011001100110011001100110011001101"),
            (0.1, 3, "0.0022002200220022002200220022002201"),
            (std::f64::consts::PI, 36, "3.53i5ab8p5f"),
            (1e21, 7, "5135235413265003022600000"),
            (1e21, 36, "5v1j4f4ds7c000"),
            (123456.789, 7, "1022634.5344250266315"),
            (1e-7, 5, "0.000000000044201334330402232142411"),
            (0.0, 16, "0"),
            (1.0 / 3.0, 16, "0.55555555555554"),
        ] {
            assert_eq!(to_string_radix(x, radix), text, "{x} {radix}");
        }
    }
}
