//! Strings as oxc delivers them, turned into code units.
//!
//! oxc writes a lone surrogate as U+FFFD and four hex digits, and U+FFFD itself as U+FFFD `fffd`, in
//! strings that are flagged; others are plain UTF-8.

use zjs_engine::bytecode::template::JsStr;

/// Decodes a string or template value.
pub fn decode(value: &str, lone_surrogates: bool) -> JsStr {
    if !lone_surrogates {
        return JsStr::from(value);
    }
    let mut units = Vec::with_capacity(value.len());
    let mut chars = value.chars();
    let mut buffer = [0u16; 2];
    while let Some(c) = chars.next() {
        if c == '\u{FFFD}' {
            let digits: String = chars.by_ref().take(4).collect();
            units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xFFFD));
        } else {
            units.extend_from_slice(c.encode_utf16(&mut buffer));
        }
    }
    JsStr::from_units(&units)
}

/// The array index that `name` spells canonically, if it does.
pub fn array_index(name: &str) -> Option<u32> {
    let bytes = name.as_bytes();
    if bytes.is_empty() || bytes.len() > 10 || !bytes.iter().all(u8::is_ascii_digit) {
        return None;
    }
    if bytes[0] == b'0' && bytes.len() > 1 {
        return None;
    }
    match name.parse::<u64>() {
        Ok(n) if n < u64::from(u32::MAX) => Some(n as u32),
        _ => None,
    }
}

/// `value` as an int32, unless it is a fraction, out of range or -0.
pub fn as_int32(value: f64) -> Option<i32> {
    let int = value as i32;
    (f64::from(int) == value && !(int == 0 && value.is_sign_negative())).then_some(int)
}
