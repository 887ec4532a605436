//! Text over UTF-16 code units: case mapping, white space, identifier characters, normalisation and
//! well-formedness (ECMA-262 11.1, 11.2, 22.1.3).
//!
//! Invariant: unpaired surrogates pass through every function here unchanged, except where replacing
//! them is the purpose (`to_well_formed`).

use unicode_normalization::UnicodeNormalization;

use super::{Units, push_code_point};

/// WhiteSpace or LineTerminator (ECMA-262 12.2, 12.3): what String.prototype.trim removes and `\s`
/// matches.
pub fn is_white_space_or_line_terminator(unit: u16) -> bool {
    matches!(
        unit,
        0x09..=0x0D
            | 0x20
            | 0xA0
            | 0x1680
            | 0x2000..=0x200A
            | 0x2028
            | 0x2029
            | 0x202F
            | 0x205F
            | 0x3000
            | 0xFEFF
    )
}

/// IdentifierStart without escapes (ECMA-262 12.7).
pub fn is_id_start(code_point: u32) -> bool {
    matches!(code_point, 0x24 | 0x5F) || char::from_u32(code_point).is_some_and(unicode_id_start::is_id_start)
}

/// IdentifierPart without escapes (ECMA-262 12.7): ID_Continue, `$`, ZWNJ and ZWJ.
pub fn is_id_continue(code_point: u32) -> bool {
    matches!(code_point, 0x24 | 0x200C | 0x200D)
        || char::from_u32(code_point).is_some_and(unicode_id_start::is_id_continue)
}

/// Code points of a string with their index in units (ECMA-262 11.1.5 StringToCodePoints).
pub fn code_points<U: Units + ?Sized>(text: &U) -> impl Iterator<Item = (usize, u32)> + '_ {
    let mut at = 0;
    std::iter::from_fn(move || {
        if at >= text.len() {
            return None;
        }
        let start = at;
        let (code_point, length) = text.code_point_at(at);
        at += length;
        Some((start, code_point))
    })
}

/// String.prototype.isWellFormed (ECMA-262 22.1.3.11).
pub fn is_well_formed(text: &[u16]) -> bool {
    code_points(text).all(|(_, c)| !(0xD800..0xE000).contains(&c))
}

/// String.prototype.toWellFormed (ECMA-262 22.1.3.31).
pub fn to_well_formed(text: &[u16]) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    for (_, c) in code_points(text) {
        push_code_point(&mut out, if (0xD800..0xE000).contains(&c) { 0xFFFD } else { c });
    }
    out
}

/// The result of a case mapping of a Latin-1 string: most stay Latin-1.
#[derive(Debug, PartialEq, Eq)]
pub enum CaseMapped {
    /// The string is its own image.
    Unchanged,
    /// The image fits into Latin-1.
    Latin1(Vec<u8>),
    /// The image has units above 0xFF.
    Wide(Vec<u16>),
}

/// String.prototype.toLowerCase (ECMA-262 22.1.3.28) of a Latin-1 string.
pub fn latin1_to_lower(text: &[u8]) -> CaseMapped {
    let lower = |b: u8| match b {
        b'A'..=b'Z' => b + 32,
        // 0xD7 is the multiplication sign.
        0xC0..=0xD6 | 0xD8..=0xDE => b + 32,
        _ => b,
    };
    match text.iter().position(|&b| lower(b) != b) {
        None => CaseMapped::Unchanged,
        Some(_) => CaseMapped::Latin1(text.iter().map(|&b| lower(b)).collect()),
    }
}

/// String.prototype.toUpperCase (ECMA-262 22.1.3.30) of a Latin-1 string: ß grows, ÿ and µ leave
/// Latin-1.
pub fn latin1_to_upper(text: &[u8]) -> CaseMapped {
    let upper = |b: u8| match b {
        b'a'..=b'z' => b - 32,
        // 0xF7 is the division sign.
        0xE0..=0xF6 | 0xF8..=0xFE => b - 32,
        _ => b,
    };
    if text.iter().any(|&b| matches!(b, 0xB5 | 0xFF)) {
        return CaseMapped::Wide(to_upper(text));
    }
    if text.iter().all(|&b| upper(b) == b && b != 0xDF) {
        return CaseMapped::Unchanged;
    }
    let mut out = Vec::with_capacity(text.len());
    for &b in text {
        if b == 0xDF {
            out.extend_from_slice(b"SS");
        } else {
            out.push(upper(b));
        }
    }
    CaseMapped::Latin1(out)
}

/// String.prototype.toUpperCase (ECMA-262 22.1.3.30), with the mappings of SpecialCasing.txt that
/// depend on no language.
pub fn to_upper<U: Units + ?Sized>(text: &U) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    for (_, code_point) in code_points(text) {
        match char::from_u32(code_point) {
            Some(c) => c.to_uppercase().for_each(|c| push_code_point(&mut out, u32::from(c))),
            None => out.push(code_point as u16),
        }
    }
    out
}

/// String.prototype.toLowerCase (ECMA-262 22.1.3.28). A capital sigma at the end of a word becomes the
/// final form, the only context that the specification asks for.
pub fn to_lower<U: Units + ?Sized>(text: &U) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    for (at, code_point) in code_points(text) {
        match char::from_u32(code_point) {
            Some('Σ') => out.push(if is_final_sigma(text, at) { 0x03C2 } else { 0x03C3 }),
            Some(c) => c.to_lowercase().for_each(|c| push_code_point(&mut out, u32::from(c))),
            None => out.push(code_point as u16),
        }
    }
    out
}

/// Final_Sigma of the Unicode standard (3.13): a cased letter before, none behind, case-ignorable
/// characters skipped on both sides.
fn is_final_sigma<U: Units + ?Sized>(text: &U, at: usize) -> bool {
    let mut before = at;
    let mut cased_before = false;
    while before > 0 {
        let mut start = before - 1;
        if start > 0 && text.code_point_at(start - 1).1 == 2 {
            start -= 1;
        }
        let code_point = text.code_point_at(start).0;
        before = start;
        if !is_case_ignorable(code_point) {
            cased_before = is_cased(code_point);
            break;
        }
    }
    if !cased_before {
        return false;
    }
    let mut after = at + 1;
    while after < text.len() {
        let (code_point, length) = text.code_point_at(after);
        if !is_case_ignorable(code_point) {
            return !is_cased(code_point);
        }
        after += length;
    }
    true
}

/// The derived property Cased.
fn is_cased(code_point: u32) -> bool {
    char::from_u32(code_point).is_some_and(|c| {
        c.is_lowercase() || c.is_uppercase() || matches!(c, '\u{1C5}' | '\u{1C8}' | '\u{1CB}' | '\u{1F2}' | '\u{1F88}'..='\u{1F8F}' | '\u{1F98}'..='\u{1F9F}' | '\u{1FA8}'..='\u{1FAF}' | '\u{1FBC}' | '\u{1FCC}' | '\u{1FFC}')
    })
}

/// The derived property Case_Ignorable. The standard library keeps its table private but applies it:
/// it lowers a sigma to the final form exactly if what follows is not cased after skipping these, so
/// "AΣ" + c + "a" tells whether c is skipped, and "aΣ" + c whether it is cased.
fn is_case_ignorable(code_point: u32) -> bool {
    let Some(c) = char::from_u32(code_point) else {
        return false;
    };
    if c.is_ascii() {
        return matches!(c, '\'' | '.' | ':' | '^' | '`');
    }
    let probe: String = ['A', 'Σ', c, 'A'].iter().collect();
    // With c skipped the sigma sees the cased 'A' and is not final; a c that is neither skipped nor
    // cased ends the word. A cased c that is not skipped also gives the non-final form, so the second
    // probe asks whether c itself, in last place, counts as cased letter.
    let skipped_or_cased = probe.to_lowercase().chars().nth(1) == Some('σ');
    let alone: String = ['A', 'Σ', c].iter().collect();
    let cased_unskipped = alone.to_lowercase().chars().nth(1) == Some('σ');
    skipped_or_cased && !cased_unskipped
}

/// The four forms of String.prototype.normalize.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NormalizationForm {
    /// Canonical composition.
    Nfc,
    /// Canonical decomposition.
    Nfd,
    /// Compatibility composition.
    Nfkc,
    /// Compatibility decomposition.
    Nfkd,
}

/// String.prototype.normalize (ECMA-262 22.1.3.15). Unpaired surrogates have combining class zero and
/// no mapping, so the text is normalised in the well-formed pieces between them.
pub fn normalize<U: Units + ?Sized>(text: &U, form: NormalizationForm) -> Vec<u16> {
    let mut out = Vec::with_capacity(text.len());
    let mut piece: Vec<char> = Vec::new();
    for (_, code_point) in code_points(text) {
        match char::from_u32(code_point) {
            Some(c) => piece.push(c),
            None => {
                normalize_piece(&mut out, &piece, form);
                piece.clear();
                out.push(code_point as u16);
            }
        }
    }
    normalize_piece(&mut out, &piece, form);
    out
}

fn normalize_piece(out: &mut Vec<u16>, piece: &[char], form: NormalizationForm) {
    let push = |c: char| push_code_point(out, u32::from(c));
    let chars = piece.iter().copied();
    match form {
        NormalizationForm::Nfc => chars.nfc().for_each(push),
        NormalizationForm::Nfd => chars.nfd().for_each(push),
        NormalizationForm::Nfkc => chars.nfkc().for_each(push),
        NormalizationForm::Nfkd => chars.nfkd().for_each(push),
    }
}

#[cfg(test)]
mod tests {
    use super::super::units;
    use super::*;

    fn lower(text: &str) -> String {
        String::from_utf16(&to_lower(units(text).as_slice())).unwrap()
    }

    #[test]
    fn case() {
        assert_eq!(lower("ΑΣ"), "ας");
        assert_eq!(lower("ΑΣΑ"), "ασα");
        assert_eq!(lower("Σ"), "σ");
        assert_eq!(lower("ΑΣ. Β"), "ας. β");
        assert_eq!(lower("ΑΣ.Β"), "ασ.β");
        assert_eq!(lower("A\u{180E}Σ"), "a\u{180E}ς");
        assert_eq!(lower("AΣ\u{180E}B"), "aσ\u{180E}b");
        assert_eq!(lower("A\u{1D167}Σ"), "a\u{1D167}ς");
        assert_eq!(lower("\u{1D4A2}Σ"), "\u{1D4A2}ς");
        assert_eq!(lower("İ"), "i̇");
        assert_eq!(to_upper(units("ßŉﬁ").as_slice()), units("SSʼNFI"));
        assert_eq!(to_lower([0xD800u16, 0x41].as_slice()), vec![0xD800, 0x61]);
        assert_eq!(latin1_to_upper(b"a\xdf\xe4"), CaseMapped::Latin1(b"ASS\xc4".to_vec()));
        assert_eq!(latin1_to_upper(b"\xb5\xff"), CaseMapped::Wide(vec![0x39C, 0x178]));
        assert_eq!(latin1_to_upper(b"\xf7A"), CaseMapped::Unchanged);
        assert_eq!(latin1_to_lower(b"\xd7\xc4"), CaseMapped::Latin1(b"\xd7\xe4".to_vec()));
        for b in 0..=255u8 {
            let expected = to_lower([b].as_slice());
            match latin1_to_lower(&[b]) {
                CaseMapped::Unchanged => assert_eq!(expected, [u16::from(b)]),
                CaseMapped::Latin1(v) => assert_eq!(expected, [u16::from(v[0])]),
                CaseMapped::Wide(v) => assert_eq!(expected, v),
            }
        }
    }

    #[test]
    fn forms() {
        let text = units("\u{1E9B}\u{0323}");
        assert_eq!(normalize(text.as_slice(), NormalizationForm::Nfc), units("\u{1E9B}\u{0323}"));
        assert_eq!(normalize(text.as_slice(), NormalizationForm::Nfd), units("\u{017F}\u{0323}\u{0307}"));
        assert_eq!(normalize(text.as_slice(), NormalizationForm::Nfkc), units("\u{1E69}"));
        assert_eq!(normalize(text.as_slice(), NormalizationForm::Nfkd), units("s\u{0323}\u{0307}"));
        assert_eq!(normalize([0x65u16, 0xD800, 0x301].as_slice(), NormalizationForm::Nfc), [0x65, 0xD800, 0x301]);
    }

    #[test]
    fn well_formed() {
        assert!(is_well_formed(&units("a😀")));
        assert!(!is_well_formed(&[0xDE00, 0xD83D]));
        assert_eq!(to_well_formed(&[0xD83D, 0x61, 0xD83D, 0xDE00]), [0xFFFD, 0x61, 0xD83D, 0xDE00]);
    }

    #[test]
    fn identifiers() {
        assert!(is_id_start(0x24) && is_id_start(0x5F) && !is_id_start(0x31) && is_id_start(0xE4));
        assert!(is_id_continue(0x31) && is_id_continue(0x200D) && is_id_continue(0x5F) && !is_id_continue(0x2D));
    }
}
