//! URI handling functions (ECMA-262 19.2.6) and Annex B.2.1 escape and unescape, over code units.
//!
//! Invariant: decoding accepts exactly the well-formed UTF-8 of the specification (shortest forms, no
//! surrogates, nothing above U+10FFFF); a failure is reported as [`Malformed`], which the caller
//! throws as URIError "URI malformed".

use super::{Units, push_code_point};

/// What encodeURI and friends throw as a URIError.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Malformed;

const HEX: &[u8; 16] = b"0123456789ABCDEF";

fn is_one_of(unit: u16, set: &[u8]) -> bool {
    u8::try_from(unit).is_ok_and(|b| set.contains(&b))
}

fn is_alphanumeric(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|b| b.is_ascii_alphanumeric())
}

/// encodeURIComponent (ECMA-262 19.2.6.4); the result is ASCII.
pub fn encode_uri_component<U: Units + ?Sized>(text: &U) -> Result<String, Malformed> {
    encode(text, b"-_.!~*'()")
}

/// encodeURI (ECMA-262 19.2.6.3); the result is ASCII.
pub fn encode_uri<U: Units + ?Sized>(text: &U) -> Result<String, Malformed> {
    encode(text, b"-_.!~*'();/?:@&=+$,#")
}

/// Encode (ECMA-262 19.2.6.5).
fn encode<U: Units + ?Sized>(text: &U, unescaped: &[u8]) -> Result<String, Malformed> {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let unit = text.at(at);
        if is_alphanumeric(unit) || is_one_of(unit, unescaped) {
            out.push(char::from(unit as u8));
            at += 1;
            continue;
        }
        let (code_point, length) = text.code_point_at(at);
        // char::from_u32 refuses exactly the unpaired surrogates.
        let c = char::from_u32(code_point).ok_or(Malformed)?;
        let mut buffer = [0; 4];
        for byte in c.encode_utf8(&mut buffer).bytes() {
            push_percent(&mut out, byte);
        }
        at += length;
    }
    Ok(out)
}

fn push_percent(out: &mut String, byte: u8) {
    out.push('%');
    out.push(char::from(HEX[usize::from(byte >> 4)]));
    out.push(char::from(HEX[usize::from(byte & 15)]));
}

/// decodeURIComponent (ECMA-262 19.2.6.2).
pub fn decode_uri_component<U: Units + ?Sized>(text: &U) -> Result<Vec<u16>, Malformed> {
    decode(text, b"")
}

/// decodeURI (ECMA-262 19.2.6.1).
pub fn decode_uri<U: Units + ?Sized>(text: &U) -> Result<Vec<u16>, Malformed> {
    decode(text, b";/?:@&=+$,#")
}

/// The `count` hexadecimal digits at `at`, or `None`.
fn hex<U: Units + ?Sized>(text: &U, at: usize, count: usize) -> Option<u32> {
    let mut value = 0;
    for i in at..at + count {
        let digit = char::from_u32(u32::from(text.get(i)?))?.to_digit(16)?;
        value = value * 16 + digit;
    }
    Some(value)
}

fn percent_byte<U: Units + ?Sized>(text: &U, at: usize) -> Result<u8, Malformed> {
    if text.get(at) != Some(u16::from(b'%')) {
        return Err(Malformed);
    }
    hex(text, at + 1, 2).map(|v| v as u8).ok_or(Malformed)
}

/// Decode (ECMA-262 19.2.6.6); escapes of the characters in `preserved` stay as they are.
fn decode<U: Units + ?Sized>(text: &U, preserved: &[u8]) -> Result<Vec<u16>, Malformed> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        if text.at(at) != u16::from(b'%') {
            out.push(text.at(at));
            at += 1;
            continue;
        }
        let start = at;
        let first = percent_byte(text, at)?;
        at += 3;
        let length = match first {
            0..=0x7F => 1,
            0xC2..=0xDF => 2,
            0xE0..=0xEF => 3,
            0xF0..=0xF4 => 4,
            _ => return Err(Malformed),
        };
        let mut bytes = [first, 0, 0, 0];
        for slot in bytes.iter_mut().take(length).skip(1) {
            *slot = percent_byte(text, at)?;
            at += 3;
        }
        let decoded = std::str::from_utf8(&bytes[..length]).map_err(|_| Malformed)?;
        if length == 1 && preserved.contains(&first) {
            out.extend((start..at).map(|i| text.at(i)));
        } else {
            for c in decoded.chars() {
                push_code_point(&mut out, u32::from(c));
            }
        }
    }
    Ok(out)
}

/// escape (ECMA-262 B.2.1.1); the result is ASCII.
pub fn escape<U: Units + ?Sized>(text: &U) -> String {
    let mut out = String::with_capacity(text.len());
    for i in 0..text.len() {
        let unit = text.at(i);
        if is_alphanumeric(unit) || is_one_of(unit, b"@*_+-./") {
            out.push(char::from(unit as u8));
        } else if unit < 256 {
            push_percent(&mut out, unit as u8);
        } else {
            out.push_str("%u");
            for shift in [12, 8, 4, 0] {
                out.push(char::from(HEX[usize::from(unit >> shift & 15)]));
            }
        }
    }
    out
}

/// unescape (ECMA-262 B.2.1.2).
pub fn unescape<U: Units + ?Sized>(text: &U) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let unit = text.at(at);
        if unit == u16::from(b'%') {
            if text.get(at + 1) == Some(u16::from(b'u'))
                && let Some(value) = hex(text, at + 2, 4)
            {
                out.push(value as u16);
                at += 6;
                continue;
            }
            if let Some(value) = hex(text, at + 1, 2) {
                out.push(value as u16);
                at += 3;
                continue;
            }
        }
        out.push(unit);
        at += 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    #[test]
    fn encoding() {
        assert_eq!(
            encode_uri_component(units("a b&ü€😀/").as_slice()).unwrap(),
            "a%20b%26%C3%BC%E2%82%AC%F0%9F%98%80%2F"
        );
        assert_eq!(encode_uri(b"http://a/?b=c d#e".as_slice()).unwrap(), "http://a/?b=c%20d#e");
        assert_eq!(encode_uri([0xFCu8].as_slice()).unwrap(), "%C3%BC");
        assert_eq!(encode_uri([0xD800u16].as_slice()), Err(Malformed));
        assert_eq!(encode_uri([0xDC00u16, 0xD800].as_slice()), Err(Malformed));
    }

    #[test]
    fn decoding() {
        assert_eq!(decode_uri_component(b"%F0%9F%98%80%2f".as_slice()).unwrap(), units("😀/"));
        assert_eq!(decode_uri(b"%2f%20%23".as_slice()).unwrap(), units("%2f %23"));
        for bad in ["%", "%1", "%C0%80", "%ED%A0%80", "%F4%90%80%80", "%80", "%E4%A", "%E4a", "%zz"] {
            assert_eq!(decode_uri_component(bad.as_bytes()), Err(Malformed), "{bad}");
        }
    }

    #[test]
    fn annex_b() {
        assert_eq!(escape(units("ä b€@").as_slice()), "%E4%20b%u20AC@");
        assert_eq!(unescape(b"%E4%20b%u20AC@%u12%4".as_slice()), units("ä b€@%u12%4"));
    }
}
