//! Text to numbers: StringToNumber (ECMA-262 7.1.4.1.1), parseFloat (19.2.4), parseInt (19.2.5) and
//! StringToBigInt (7.1.14).
//!
//! Invariant: results are the correctly rounded double of the exact value written (ties to even),
//! for decimal literals of any length and for power-of-two radixes of any length. Nothing here
//! recurses or needs more than time linear in the text, apart from huge parseInt texts in radixes that
//! are not powers of two and huge BigInts.

use num_bigint::{BigInt, BigUint, Sign};
use num_traits::{ToPrimitive, Zero};

use super::Units;
use super::unicode::is_white_space_or_line_terminator;

/// The range of `text` without white space and line terminators on both sides (ECMA-262 22.1.3.32.1
/// TrimString).
pub fn trimmed<U: Units + ?Sized>(text: &U) -> (usize, usize) {
    let (mut start, mut end) = (0, text.len());
    while start < end && is_white_space_or_line_terminator(text.at(start)) {
        start += 1;
    }
    while end > start && is_white_space_or_line_terminator(text.at(end - 1)) {
        end -= 1;
    }
    (start, end)
}

/// The value of a digit in radix 36, or `None`.
fn digit_value(unit: u16) -> Option<u32> {
    char::from_u32(u32::from(unit)).and_then(|c| c.to_digit(36))
}

fn matches_at<U: Units + ?Sized>(text: &U, at: usize, end: usize, word: &[u8]) -> bool {
    end - at >= word.len() && word.iter().enumerate().all(|(i, &b)| text.at(at + i) == u16::from(b))
}

/// StringToNumber (ECMA-262 7.1.4.1.1): the whole text must be a StringNumericLiteral, else NaN.
pub fn string_to_number<U: Units + ?Sized>(text: &U) -> f64 {
    let (start, end) = trimmed(text);
    if start == end {
        return 0.0;
    }
    // Short non-negative integers are by far the most frequent.
    if end - start <= 9 {
        let mut value = 0u32;
        let mut all_digits = true;
        for i in start..end {
            let unit = text.at(i);
            if !(0x30..=0x39).contains(&unit) {
                all_digits = false;
                break;
            }
            value = value * 10 + u32::from(unit - 0x30);
        }
        if all_digits {
            return f64::from(value);
        }
    }
    if end - start > 2 && text.at(start) == u16::from(b'0') {
        let bits = match text.at(start + 1) {
            0x78 | 0x58 => 4,
            0x6F | 0x4F => 3,
            0x62 | 0x42 => 1,
            _ => 0,
        };
        if bits > 0 {
            let digits = (start + 2)..end;
            let radix = 1 << bits;
            if digits.clone().all(|i| digit_value(text.at(i)).is_some_and(|d| d < radix)) {
                return power_of_two_radix(text, digits.start, digits.end, bits);
            }
            return f64::NAN;
        }
    }
    match decimal_prefix(text, start, end) {
        Some((value, stop)) if stop == end => value,
        _ => f64::NAN,
    }
}

/// The longest prefix of `start..end` that is a StrDecimalLiteral: its value and its end.
fn decimal_prefix<U: Units + ?Sized>(text: &U, start: usize, end: usize) -> Option<(f64, usize)> {
    let mut at = start;
    let mut negative = false;
    if at < end && matches!(text.at(at), 0x2B | 0x2D) {
        negative = text.at(at) == 0x2D;
        at += 1;
    }
    if matches_at(text, at, end, b"Infinity") {
        let value = if negative { f64::NEG_INFINITY } else { f64::INFINITY };
        return Some((value, at + 8));
    }
    let digits_from = |mut i: usize| {
        while i < end && (0x30..=0x39).contains(&text.at(i)) {
            i += 1;
        }
        i
    };
    let body = at;
    let whole_end = digits_from(at);
    let mut stop = whole_end;
    let mut digit_count = whole_end - at;
    if whole_end < end && text.at(whole_end) == u16::from(b'.') {
        let fraction_end = digits_from(whole_end + 1);
        digit_count += fraction_end - whole_end - 1;
        stop = fraction_end;
    }
    if digit_count == 0 {
        return None;
    }
    if stop < end && matches!(text.at(stop), 0x65 | 0x45) {
        let mut exponent = stop + 1;
        if exponent < end && matches!(text.at(exponent), 0x2B | 0x2D) {
            exponent += 1;
        }
        let exponent_end = digits_from(exponent);
        if exponent_end > exponent {
            stop = exponent_end;
        }
    }
    // Everything in body..stop is ASCII of the form that Rust's correctly rounding parser takes.
    let ascii: String = (body..stop).map(|i| char::from(text.at(i) as u8)).collect();
    let value = ascii.parse::<f64>().unwrap_or(f64::NAN);
    Some((if negative { -value } else { value }, stop))
}

/// parseFloat (ECMA-262 19.2.4).
pub fn parse_float<U: Units + ?Sized>(text: &U) -> f64 {
    let (start, end) = trimmed(text);
    decimal_prefix(text, start, end).map_or(f64::NAN, |(value, _)| value)
}

/// parseInt (ECMA-262 19.2.5) with `radix` after ToInt32.
pub fn parse_int<U: Units + ?Sized>(text: &U, radix: i32) -> f64 {
    let (mut at, end) = trimmed(text);
    let mut negative = false;
    if at < end && matches!(text.at(at), 0x2B | 0x2D) {
        negative = text.at(at) == 0x2D;
        at += 1;
    }
    let (mut radix, strip_prefix) = match radix {
        0 => (10u32, true),
        2..=36 => (radix.unsigned_abs(), radix == 16),
        _ => return f64::NAN,
    };
    if strip_prefix && end - at >= 2 && text.at(at) == u16::from(b'0') && matches!(text.at(at + 1), 0x78 | 0x58) {
        at += 2;
        radix = 16;
    }
    let mut stop = at;
    while stop < end && digit_value(text.at(stop)).is_some_and(|d| d < radix) {
        stop += 1;
    }
    if stop == at {
        return f64::NAN;
    }
    let value = integer_value(text, at, stop, radix);
    if negative { -value } else { value }
}

/// The correctly rounded value of the digits `start..end` in `radix`.
fn integer_value<U: Units + ?Sized>(text: &U, start: usize, end: usize, radix: u32) -> f64 {
    let mut small = 0u64;
    let mut at = start;
    // Ten digits of radix 36 stay below 2^53, so the result is exact.
    if end - start <= 10 {
        while at < end {
            small = small * u64::from(radix) + u64::from(digit_value(text.at(at)).unwrap_or(0));
            at += 1;
        }
        return small as f64;
    }
    if radix == 10 {
        let ascii: String = (start..end).map(|i| char::from(text.at(i) as u8)).collect();
        return ascii.parse::<f64>().unwrap_or(f64::NAN);
    }
    if radix.is_power_of_two() {
        return power_of_two_radix(text, start, end, radix.trailing_zeros());
    }
    // The largest double has 1024 bits: behind 1025 significant digits of any radix the value is
    // Infinity, whatever follows.
    while at < end && text.at(at) == u16::from(b'0') {
        at += 1;
    }
    if end - at > 1025 {
        return f64::INFINITY;
    }
    let digits: Vec<u8> = (at..end).map(|i| digit_value(text.at(i)).unwrap_or(0) as u8).collect();
    BigUint::from_radix_be(&digits, radix).map_or(0.0, |value| super::bigint::magnitude_to_f64(&value))
}

/// The correctly rounded value of digits in radix `2^bits`: the top 53 bits, then a round bit, then a
/// sticky bit for everything below.
fn power_of_two_radix<U: Units + ?Sized>(text: &U, start: usize, end: usize, bits: u32) -> f64 {
    let mut mantissa = 0u64;
    let mut dropped = 0u64;
    let mut sticky = false;
    for i in start..end {
        let digit = digit_value(text.at(i)).unwrap_or(0);
        for bit in (0..bits).rev() {
            let bit = u64::from(digit >> bit & 1);
            if mantissa >> 54 == 0 {
                mantissa = mantissa << 1 | bit;
            } else {
                dropped += 1;
                sticky |= bit == 1;
            }
        }
    }
    // With 55 bits kept the conversion below rounds once: the sticky bit breaks false ties.
    let value = (mantissa << 1 | u64::from(sticky)) as f64;
    if dropped > 2000 {
        return f64::INFINITY;
    }
    libm::ldexp(value, dropped as i32 - 1)
}

/// StringToBigInt (ECMA-262 7.1.14): `None` where the text is no StringIntegerLiteral.
pub fn string_to_bigint<U: Units + ?Sized>(text: &U) -> Option<BigInt> {
    let (mut start, end) = trimmed(text);
    if start == end {
        return Some(BigInt::zero());
    }
    let mut radix = 10u32;
    let mut sign = Sign::Plus;
    if end - start > 2 && text.at(start) == u16::from(b'0') {
        radix = match text.at(start + 1) {
            0x78 | 0x58 => 16,
            0x6F | 0x4F => 8,
            0x62 | 0x42 => 2,
            _ => 10,
        };
    }
    if radix != 10 {
        start += 2;
    } else if matches!(text.at(start), 0x2B | 0x2D) {
        if text.at(start) == 0x2D {
            sign = Sign::Minus;
        }
        start += 1;
    }
    if start == end {
        return None;
    }
    let mut digits = Vec::with_capacity(end - start);
    for i in start..end {
        digits.push(digit_value(text.at(i)).filter(|&d| d < radix)? as u8);
    }
    let magnitude = BigUint::from_radix_be(&digits, radix)?;
    Some(BigInt::from_biguint(sign, magnitude))
}

/// CanonicalNumericIndexString (ECMA-262 7.1.21): the number if `text` is exactly its own
/// Number::toString, or "-0".
pub fn canonical_numeric_index<U: Units + ?Sized>(text: &U) -> Option<f64> {
    let first = text.get(0)?;
    // Only these can start the text of a number: digits, '-', 'I'nfinity, 'N'aN.
    if !matches!(first, 0x30..=0x39 | 0x2D | 0x49 | 0x4E) {
        return None;
    }
    if text.len() == 2 && first == 0x2D && text.at(1) == 0x30 {
        return Some(-0.0);
    }
    let number = string_to_number(text);
    let printed = super::number_format::to_string(number);
    let same = printed.len() == text.len() && printed.bytes().enumerate().all(|(i, b)| text.at(i) == u16::from(b));
    same.then_some(number)
}

/// The array index that `text` names: a canonical integer below 2^32 - 1 (ECMA-262 6.1.7).
pub fn array_index<U: Units + ?Sized>(text: &U) -> Option<u32> {
    let length = text.len();
    if length == 0 || length > 10 {
        return None;
    }
    let mut value = 0u64;
    for i in 0..length {
        let unit = text.at(i);
        if !(0x30..=0x39).contains(&unit) {
            return None;
        }
        value = value * 10 + u64::from(unit - 0x30);
    }
    if (length > 1 && text.at(0) == 0x30) || value >= 0xFFFF_FFFF {
        return None;
    }
    value.to_u32()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> f64 {
        let units: Vec<u16> = text.encode_utf16().collect();
        string_to_number(units.as_slice())
    }

    #[test]
    fn whole_literals() {
        for (text, value) in [
            ("", 0.0),
            ("  \n\u{FEFF}", 0.0),
            ("12", 12.0),
            (" 12.5e1 ", 125.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("+5", 5.0),
            ("0x10", 16.0),
            ("0b101", 5.0),
            ("0O17", 15.0),
            ("-Infinity", f64::NEG_INFINITY),
            ("1e1000", f64::INFINITY),
            ("0x20000000000001", 9007199254740992.0),
            ("0x20000000000003", 9007199254740996.0),
        ] {
            assert_eq!(number(text), value, "{text:?}");
        }
        for text in ["-0x10", "0x", "1 2", "Infinityx", "infinity", ".", "+", "1e", "1_0", "0x1.5", "12n"] {
            assert!(number(text).is_nan(), "{text:?}");
        }
        assert!(number("-0").is_sign_negative());
        // One bit far below a tie decides: 2^53 + 1 is a tie, with a one far behind it is not.
        let mut text = String::from("0x20000000000001");
        text.push_str(&"0".repeat(20));
        assert_eq!(number(&text), 9007199254740992.0 * 2f64.powi(80));
        text.push('1');
        assert_eq!(number(&text), 9007199254740994.0 * 2f64.powi(84));
    }

    #[test]
    fn prefixes() {
        assert_eq!(parse_float(b"3.25abc".as_slice()), 3.25);
        assert_eq!(parse_float(b"1e5x".as_slice()), 1e5);
        assert_eq!(parse_float(b"1e+".as_slice()), 1.0);
        assert_eq!(parse_float(b"-.5.5".as_slice()), -0.5);
        assert!(parse_float(b".e1".as_slice()).is_nan());
        assert_eq!(parse_float(b"Infinityx".as_slice()), f64::INFINITY);
        assert_eq!(parse_int(b"0x1fz".as_slice(), 0), 31.0);
        assert_eq!(parse_int(b"0x1f".as_slice(), 10), 0.0);
        assert_eq!(parse_int(b" -12px".as_slice(), 10), -12.0);
        assert_eq!(parse_int(b"zz".as_slice(), 36), 1295.0);
        assert!(parse_int(b"9".as_slice(), 8).is_nan());
        assert!(parse_int(b"1".as_slice(), 1).is_nan());
        assert_eq!(parse_int(b"100000000000000000000000".as_slice(), 10), 1e23);
        assert_eq!(parse_int(b"900719925474099267n".as_slice(), 10), 900719925474099300.0);
        assert_eq!(parse_int("z".repeat(2000).as_bytes(), 36), f64::INFINITY);
        assert_eq!(parse_int(b"222222222222222222222222222222222222".as_slice(), 3), 150094635296999120.0);
    }

    #[test]
    fn bigints_and_indices() {
        assert_eq!(string_to_bigint(b" 0x10 ".as_slice()), Some(BigInt::from(16)));
        assert_eq!(string_to_bigint(b"-12".as_slice()), Some(BigInt::from(-12)));
        assert_eq!(string_to_bigint(b"".as_slice()), Some(BigInt::from(0)));
        for bad in ["-0x1", "1n", "1.0", "-", "0x", "1e3"] {
            assert_eq!(string_to_bigint(bad.as_bytes()), None, "{bad}");
        }
        assert_eq!(canonical_numeric_index(b"1.50".as_slice()), None);
        assert_eq!(canonical_numeric_index(b"1.5".as_slice()), Some(1.5));
        assert!(canonical_numeric_index(b"NaN".as_slice()).is_some());
        assert_eq!(array_index(b"4294967294".as_slice()), Some(4294967294));
        assert_eq!(array_index(b"4294967295".as_slice()), None);
        assert_eq!(array_index(b"01".as_slice()), None);
    }
}
