//! QuoteJSONString (ECMA-262 25.5.2.3) over code units.
//!
//! Invariant: the output is well-formed JSON text; unpaired surrogates are written as \uXXXX, so it is
//! also well-formed UTF-16.

use super::Units;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// Whether quoting changes nothing but adds the quotes: the fast path of JSON.stringify.
pub fn is_plain(latin1: &[u8]) -> bool {
    latin1.iter().all(|&b| b >= 0x20 && b != b'"' && b != b'\\')
}

/// The two-character escape of a unit below 0x5D, if it has one (ECMA-262 table 81).
fn short_escape(unit: u16) -> Option<u8> {
    Some(match unit {
        0x08 => b'b',
        0x09 => b't',
        0x0A => b'n',
        0x0C => b'f',
        0x0D => b'r',
        0x22 => b'"',
        0x5C => b'\\',
        _ => return None,
    })
}

/// The six ASCII characters \uXXXX (ECMA-262 25.5.2.4 UnicodeEscape).
fn unicode_escape(unit: u16) -> [u8; 6] {
    let digit = |shift: u16| HEX[usize::from(unit >> shift & 15)];
    [b'\\', b'u', digit(12), digit(8), digit(4), digit(0)]
}

/// QuoteJSONString of a Latin-1 string, appended to a Latin-1 buffer (ECMA-262 25.5.2.3).
pub fn quote_latin1(out: &mut Vec<u8>, text: &[u8]) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut start = 0;
    for (i, &byte) in text.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&text[start..i]);
        start = i + 1;
        match short_escape(u16::from(byte)) {
            Some(letter) => out.extend_from_slice(&[b'\\', letter]),
            None => out.extend_from_slice(&unicode_escape(u16::from(byte))),
        }
    }
    out.extend_from_slice(&text[start..]);
    out.push(b'"');
}

/// QuoteJSONString of any string, appended to code units (ECMA-262 25.5.2.3).
pub fn quote<U: Units + ?Sized>(out: &mut Vec<u16>, text: &U) {
    out.reserve(text.len() + 2);
    out.push(u16::from(b'"'));
    let mut at = 0;
    while at < text.len() {
        let unit = text.at(at);
        if let Some(letter) = short_escape(unit) {
            out.extend([u16::from(b'\\'), u16::from(letter)]);
        } else if unit < 0x20 {
            out.extend(unicode_escape(unit).map(u16::from));
        } else if (0xD800..0xE000).contains(&unit) {
            if text.code_point_at(at).1 == 2 {
                out.extend([unit, text.at(at + 1)]);
                at += 1;
            } else {
                out.extend(unicode_escape(unit).map(u16::from));
            }
        } else {
            out.push(unit);
        }
        at += 1;
    }
    out.push(u16::from(b'"'));
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    #[test]
    fn quoting() {
        let mut out = Vec::new();
        quote_latin1(&mut out, b"a\"\\\n\x01\x7f\xe4");
        assert_eq!(out, b"\"a\\\"\\\\\\n\\u0001\x7f\xe4\"");
        let mut out = Vec::new();
        quote(&mut out, [0x61u16, 0xD83D, 0xDE00, 0xDE00, 0xD83D, 0x0C, 0x1F].as_slice());
        assert_eq!(out, units("\"a😀\\ude00\\ud83d\\f\\u001f\""));
        assert!(is_plain(b"abc") && !is_plain(b"a\"") && !is_plain(b"\n"));
    }
}
