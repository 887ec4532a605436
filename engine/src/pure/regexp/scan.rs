//! Quick looks at a pattern's source: groups and their names, and what else can be told without a tree.
//!
//! Invariant: right for valid patterns; for others the answers do not matter, but nothing here panics.

use super::{GroupName, RegExpFlags};

/// What a quick look at the source tells.
pub(super) struct GroupScan {
    pub count: u32,
    pub names: Vec<GroupName>,
    pub has_decimal_escape: bool,
}

/// Counts the groups of a pattern that is known to be valid, and reads their names.
pub(super) fn scan_groups(source: &[u32], flags: RegExpFlags) -> GroupScan {
    let mut scan = GroupScan { count: 0, names: Vec::new(), has_decimal_escape: false };
    let mut walker = Walker::new(source, flags);
    while let Some(token) = walker.next_token() {
        match token {
            Token::Open { capturing: true, name } => {
                scan.count += 1;
                let Some((start, end)) = name else { continue };
                let name = decode_group_name(&source[start..end]);
                match scan.names.iter_mut().find(|known| known.name == name) {
                    Some(known) => known.groups.push(scan.count),
                    None => scan.names.push(GroupName { name, groups: vec![scan.count] }),
                }
            }
            Token::DecimalEscape => scan.has_decimal_escape = true,
            _ => {}
        }
    }
    scan
}

/// Decodes `\uXXXX` and `\u{X}` in a group name.
fn decode_group_name(name: &[u32]) -> Vec<u16> {
    let mut out = Vec::new();
    let mut at = 0;
    while at < name.len() {
        if name[at] != u32::from(b'\\') {
            crate::pure::push_code_point(&mut out, name[at]);
            at += 1;
            continue;
        }
        at += 2;
        let braced = name.get(at) == Some(&u32::from(b'{'));
        let mut value = 0u32;
        let mut digits = 0;
        at += usize::from(braced);
        while let Some(digit) = name.get(at).and_then(|&c| char::from_u32(c)?.to_digit(16))
            && (braced || digits < 4)
        {
            value = (value * 16 + digit) & 0x1F_FFFF;
            digits += 1;
            at += 1;
        }
        at += usize::from(braced);
        crate::pure::push_code_point(&mut out, value);
    }
    out
}

/// Whether every match must begin where the input does. Only the plain case is recognised: `^` first,
/// and no alternative at the top level.
pub(super) fn begins_with_caret(source: &[u32]) -> bool {
    if source.first() != Some(&u32::from(b'^')) {
        return false;
    }
    let mut depth = 0usize;
    // Flags do not matter for the nesting of brackets in the patterns that get here, except that v
    // nests classes; a wrong depth there only loses the optimisation or sees a bar inside a class.
    let mut walker = Walker::new(source, RegExpFlags::default());
    while let Some(token) = walker.next_token() {
        match token {
            Token::Open { .. } => depth += 1,
            Token::Close => depth = depth.saturating_sub(1),
            Token::Bar if depth == 0 => return false,
            _ => {}
        }
    }
    // A quantified assertion is not possible for ^, so nothing else can undo it.
    true
}

/// Whether an unbounded repetition contains another one.
pub(super) fn has_nested_repetition(source: &[u32], flags: RegExpFlags) -> bool {
    // Per open group: whether it contains an unbounded repetition.
    let mut open = vec![false];
    let mut last_closed = false;
    let mut walker = Walker::new(source, flags);
    while let Some(token) = walker.next_token() {
        match token {
            Token::Open { .. } => {
                open.push(false);
                last_closed = false;
            }
            Token::Close => {
                last_closed = open.len() > 1 && open.pop().unwrap_or(false);
                if last_closed && let Some(outer) = open.last_mut() {
                    *outer = true;
                }
            }
            Token::Unbounded => {
                if last_closed {
                    return true;
                }
                if let Some(inner) = open.last_mut() {
                    *inner = true;
                }
            }
            _ => last_closed = false,
        }
    }
    false
}

/// Whether a quantifier follows an assertion, which regress lets pass. Annex B allows it for lookaheads.
pub(super) fn repeats_assertion(source: &[u32], flags: RegExpFlags) -> bool {
    // Per open group: whether it is an assertion that may not be repeated.
    let mut open = Vec::new();
    let mut after_assertion = false;
    let mut walker = Walker::new(source, flags);
    loop {
        let start = walker.at;
        let here = |ahead: usize| source.get(start + ahead).and_then(|&c| char::from_u32(c));
        let quantifier =
            matches!(here(0), Some('*' | '+' | '?')) || (here(0) == Some('{') && is_quantifier(&source[start..]));
        if after_assertion && quantifier {
            return true;
        }
        let Some(token) = walker.next_token() else { return false };
        after_assertion = match token {
            Token::Open { .. } => {
                let behind = here(1) == Some('?') && here(2) == Some('<') && matches!(here(3), Some('=' | '!'));
                let ahead = here(1) == Some('?') && matches!(here(2), Some('=' | '!'));
                open.push(behind || (ahead && flags.is_unicode()));
                false
            }
            Token::Close => open.pop().unwrap_or(false),
            _ => matches!((here(0), here(1)), (Some('^' | '$'), _) | (Some('\\'), Some('b' | 'B'))),
        };
    }
}

/// Whether the text begins with `{n}`, `{n,}` or `{n,m}`.
fn is_quantifier(source: &[u32]) -> bool {
    let text: String = source.iter().take(24).map(|&c| char::from_u32(c).unwrap_or('\u{FFFD}')).collect();
    let Some((inside, _)) = text[1..].split_once('}') else { return false };
    let (min, max) = inside.split_once(',').unwrap_or((inside, ""));
    !min.is_empty() && min.chars().chain(max.chars()).all(|c| c.is_ascii_digit())
}

/// The tokens that matter to the scans above.
enum Token {
    Open { capturing: bool, name: Option<(usize, usize)> },
    Close,
    Bar,
    Unbounded,
    DecimalEscape,
    Other,
}

/// Walks a valid pattern token by token; classes and escapes are one token each.
struct Walker<'a> {
    source: &'a [u32],
    at: usize,
    nested_classes: bool,
}

impl<'a> Walker<'a> {
    fn new(source: &'a [u32], flags: RegExpFlags) -> Walker<'a> {
        Walker { source, at: 0, nested_classes: flags.has(b'v') }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.source.get(self.at + ahead).and_then(|&c| char::from_u32(c))
    }

    fn next_token(&mut self) -> Option<Token> {
        let c = *self.source.get(self.at)?;
        self.at += 1;
        Some(match char::from_u32(c) {
            Some('\\') => {
                let next = self.peek(0);
                self.at += 1;
                match next {
                    Some('1'..='9') => Token::DecimalEscape,
                    _ => Token::Other,
                }
            }
            Some('[') => {
                self.skip_class();
                Token::Other
            }
            Some('(') => self.open_group(),
            Some(')') => Token::Close,
            Some('|') => Token::Bar,
            Some('*' | '+') => Token::Unbounded,
            Some('{') => self.braces(),
            _ => Token::Other,
        })
    }

    fn skip_class(&mut self) {
        let mut depth = 1;
        while depth > 0 && self.at < self.source.len() {
            match self.peek(0) {
                Some('\\') => self.at += 1,
                Some('[') if self.nested_classes => depth += 1,
                Some(']') => depth -= 1,
                _ => {}
            }
            self.at += 1;
        }
    }

    fn open_group(&mut self) -> Token {
        if self.peek(0) != Some('?') {
            return Token::Open { capturing: true, name: None };
        }
        if self.peek(1) != Some('<') || matches!(self.peek(2), Some('=' | '!')) {
            self.at += 1;
            return Token::Open { capturing: false, name: None };
        }
        let start = self.at + 2;
        let mut end = start;
        while end < self.source.len() && self.source[end] != u32::from(b'>') {
            end += 1;
        }
        self.at = (end + 1).min(self.source.len());
        Token::Open { capturing: true, name: Some((start, end)) }
    }

    /// `{n,}` is an unbounded repetition; everything else in braces is not of interest.
    fn braces(&mut self) -> Token {
        let mut ahead = 0;
        while matches!(self.peek(ahead), Some('0'..='9')) {
            ahead += 1;
        }
        if ahead > 0 && self.peek(ahead) == Some(',') && self.peek(ahead + 1) == Some('}') {
            self.at += ahead + 2;
            return Token::Unbounded;
        }
        Token::Other
    }
}
