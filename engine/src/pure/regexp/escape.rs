//! Escaping text for patterns, and patterns for literals (ECMA-262 22.2.5.1, 22.2.6.13.1).

use super::super::{Units, push_code_point, unicode};

/// EscapeRegExpPattern (ECMA-262 22.2.6.13.1): the source such that `/source/` reads back as the same
/// pattern. `None` where the source is already its own escape.
pub fn escape_source<U: Units + ?Sized>(source: &U) -> Option<Vec<u16>> {
    if source.is_empty() {
        return Some("(?:)".encode_utf16().collect());
    }
    let mut out = Vec::new();
    let mut changed = false;
    let mut in_class = false;
    let mut at = 0;
    while at < source.len() {
        let unit = source.at(at);
        let escape = match unit {
            0x5C => {
                out.push(unit);
                at += 1;
                // The escaped character itself may be a line terminator.
                match source.get(at) {
                    Some(next) => match line_terminator_escape(next) {
                        Some(letters) => {
                            changed = true;
                            out.extend(letters.bytes().map(u16::from));
                        }
                        None => out.push(next),
                    },
                    None => break,
                }
                at += 1;
                continue;
            }
            0x5B => {
                in_class = true;
                None
            }
            0x5D => {
                in_class = false;
                None
            }
            0x2F if !in_class => Some("/"),
            _ => line_terminator_escape(unit),
        };
        match escape {
            Some(letters) => {
                changed = true;
                out.push(0x5C);
                out.extend(letters.bytes().map(u16::from));
            }
            None => out.push(unit),
        }
        at += 1;
    }
    changed.then_some(out)
}

fn line_terminator_escape(unit: u16) -> Option<&'static str> {
    Some(match unit {
        0x0A => "n",
        0x0D => "r",
        0x2028 => "u2028",
        0x2029 => "u2029",
        _ => return None,
    })
}

/// RegExp.escape (ECMA-262 22.2.5.1) and EncodeForRegExpEscape (22.2.5.1.1).
pub fn escape_for_pattern<U: Units + ?Sized>(text: &U) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    for (at, code_point) in unicode::code_points(text) {
        let c = char::from_u32(code_point);
        if at == 0 && c.is_some_and(|c| c.is_ascii_alphanumeric()) {
            push_hex_escape(&mut out, code_point);
            continue;
        }
        let letter = match c {
            Some('^' | '$' | '\\' | '.' | '*' | '+' | '?' | '(' | ')' | '[' | ']' | '{' | '}' | '|' | '/') => {
                out.extend([0x5C, code_point as u16]);
                continue;
            }
            Some('\t') => Some('t'),
            Some('\n') => Some('n'),
            Some('\u{0B}') => Some('v'),
            Some('\u{0C}') => Some('f'),
            Some('\r') => Some('r'),
            _ => None,
        };
        let other_punctuator = c.is_some_and(|c| ",-=<>#&!%:;@~'`\"".contains(c));
        let white = code_point < 0x10000 && unicode::is_white_space_or_line_terminator(code_point as u16);
        if let Some(letter) = letter {
            out.extend([0x5C, letter as u16]);
        } else if other_punctuator || white || c.is_none() {
            push_hex_escape(&mut out, code_point);
        } else {
            push_code_point(&mut out, code_point);
        }
    }
    out
}

fn push_hex_escape(out: &mut Vec<u16>, code_point: u32) {
    let text = if code_point <= 0xFF { format!("\\x{code_point:02x}") } else { format!("\\u{code_point:04x}") };
    out.extend(text.bytes().map(u16::from));
}
