//! String.prototype.localeCompare without Intl: an approximation of the root collation order.
//!
//! Three levels, as in the Unicode collation algorithm: base characters first, then accents, then case
//! (lower before upper). Base characters order as the root collation does for ASCII (white space,
//! punctuation, symbols, digits, letters), and by code point elsewhere. ECMA-262 22.1.3.12 asks for an
//! order in which canonically equivalent strings are equal, which decomposing first gives.
//!
//! Invariant: a total order up to canonical equivalence; transitive, so sorting by it is sound.

use std::cmp::Ordering;

use super::Units;
use super::unicode::{NormalizationForm, code_points, normalize};

/// ASCII characters that are not ignored, in root collation order, letters as pairs at the end.
const ASCII_ORDER: &[u8] = b"\t\n\x0b\x0c\r _-,;:!?.'\"()[]{}@*/\\&#%`^+<=>|~$0123456789";

/// Primary weight of a code point; 0 for those that only matter on lower levels or not at all.
fn primary(code_point: u32) -> u32 {
    match code_point {
        0x61..=0x7A => 0x1000 + (code_point - 0x61),
        0x41..=0x5A => 0x1000 + (code_point - 0x41),
        0x00..=0x7F => ASCII_ORDER.iter().position(|&b| u32::from(b) == code_point).map_or(0, |i| i as u32 + 1),
        // Combining marks.
        0x300..=0x36F | 0x1AB0..=0x1AFF | 0x1DC0..=0x1DFF | 0x20D0..=0x20FF | 0xFE20..=0xFE2F => 0,
        _ => 0x2000 + lower(code_point),
    }
}

fn lower(code_point: u32) -> u32 {
    char::from_u32(code_point)
        .and_then(|c| {
            let mut lower = c.to_lowercase();
            let first = lower.next();
            if lower.next().is_some() { None } else { first }
        })
        .map_or(code_point, u32::from)
}

fn is_upper(code_point: u32) -> bool {
    lower(code_point) != code_point
}

/// Weights of one string.
fn keys<U: Units + ?Sized>(text: &U) -> (Vec<u32>, Vec<u32>, Vec<bool>) {
    let decomposed = normalize(text, NormalizationForm::Nfd);
    let (mut first, mut second, mut third) = (Vec::new(), Vec::new(), Vec::new());
    let mut push = |c: u32| {
        let weight = primary(c);
        if weight != 0 {
            first.push(weight);
            second.push(0);
            third.push(is_upper(c));
        } else if c >= 0x300 {
            second.push(c);
        }
    };
    for (_, c) in code_points(decomposed.as_slice()) {
        match c {
            // The frequent ligatures that sort as two letters.
            0xDF => "ss".bytes().for_each(|b| push(u32::from(b))),
            0xE6 => "ae".bytes().for_each(|b| push(u32::from(b))),
            0xC6 => "AE".bytes().for_each(|b| push(u32::from(b))),
            0x153 => "oe".bytes().for_each(|b| push(u32::from(b))),
            0x152 => "OE".bytes().for_each(|b| push(u32::from(b))),
            _ => push(c),
        }
    }
    // What sorts as the letters "ss" is still another string.
    if decomposed.contains(&0xDF) {
        second.push(0xDF);
    }
    (first, second, third)
}

/// The order of two strings (ECMA-262 22.1.3.12 String.prototype.localeCompare).
pub fn compare<A: Units + ?Sized, B: Units + ?Sized>(a: &A, b: &B) -> Ordering {
    let (a1, a2, a3) = keys(a);
    let (b1, b2, b3) = keys(b);
    a1.cmp(&b1).then_with(|| a2.cmp(&b2)).then_with(|| a3.cmp(&b3))
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    #[test]
    fn like_node() {
        for (a, b, expected) in [
            ("a", "á", -1),
            ("a", "B", -1),
            ("résumé", "resume", 1),
            ("a b", "ab", -1),
            ("\u{1}", "", 0),
            ("Z", "a", 1),
            ("co-op", "coop", -1),
            ("ß", "ss", 1),
            ("a", "A", -1),
            ("ab", "Aa", 1),
            ("1", "a", -1),
            ("10", "9", -1),
            ("á", "b", -1),
            ("é", "E", 1),
            ("\u{e9}", "e\u{301}", 0),
            ("a", "ab", -1),
            ("_", "-", -1),
        ] {
            let order = compare(units(a).as_slice(), units(b).as_slice());
            assert_eq!(order as i32, expected, "{a} {b}");
        }
    }
}
