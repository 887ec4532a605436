//! Patterns as trees, and their parser (ECMA-262 22.2.1 and B.1.2).
//!
//! Invariant: whatever this parser accepts is valid and means what the specification says; whatever it does
//! not know (set notation, properties together with folding, modifiers, repeated names) and whatever is wrong
//! gives `None`, and the general matcher decides. It is no validator.

use super::RegExpFlags;
use super::class::{CharSet, ClassParts, Folding, Property};

/// Deepest nesting of groups.
const DEPTH_MAX: u32 = 200;
/// No limit of a quantifier.
pub const UNBOUNDED: u32 = u32::MAX;

/// A part of a pattern.
#[derive(Debug, Clone)]
pub enum Node {
    Empty,
    Char(u32),
    /// `.`
    Any,
    Class(ClassParts),
    Sequence(Vec<Node>),
    Alternatives(Vec<Node>),
    /// A capturing group.
    Group {
        number: u32,
        body: Box<Node>,
    },
    /// `groups` are the numbers of the groups inside, first and behind the last.
    Repeat {
        body: Box<Node>,
        min: u32,
        max: u32,
        greedy: bool,
        groups: (u32, u32),
    },
    /// `^`
    Start,
    /// `$`
    End,
    /// `\b` or `\B`
    WordBoundary {
        negated: bool,
    },
    Look {
        body: Box<Node>,
        behind: bool,
        negated: bool,
    },
    BackReference(u32),
}

/// A parsed pattern.
pub struct Pattern {
    pub root: Node,
    /// Number of capturing groups.
    pub groups: u32,
}

/// Parses a pattern; `groups` and `names` are what a scan of the source found (groups by name, each once).
pub fn parse(source: &[u32], flags: RegExpFlags, groups: u32, names: &[super::GroupName]) -> Option<Pattern> {
    if flags.has(b'v') || names.iter().any(|name| name.groups.len() > 1) {
        return None;
    }
    let unicode = flags.is_unicode();
    let folding = super::code::folding(flags);
    let mut parser = Parser { source, at: 0, unicode, folding, groups: 0, total: groups, names, depth: 0 };
    let root = parser.alternatives()?;
    (parser.at == source.len() && parser.groups == groups).then_some(Pattern { root, groups })
}

struct Parser<'a> {
    source: &'a [u32],
    at: usize,
    unicode: bool,
    folding: Folding,
    groups: u32,
    total: u32,
    names: &'a [super::GroupName],
    depth: u32,
}

/// One member of a class, or an escape outside: a character or a set.
enum Atom {
    Char(u32),
    Set(CharSet),
    Property(Property),
}

impl Parser<'_> {
    fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    fn peek_at(&self, ahead: usize) -> Option<char> {
        // Lone surrogates are never syntax.
        self.source.get(self.at + ahead).map(|&c| char::from_u32(c).unwrap_or('\u{FFFD}'))
    }

    fn eat(&mut self, c: char) -> bool {
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn eat_text(&mut self, text: &str) -> bool {
        let found = text.chars().enumerate().all(|(i, c)| self.peek_at(i) == Some(c));
        if found {
            self.at += text.len();
        }
        found
    }

    fn alternatives(&mut self) -> Option<Node> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return None;
        }
        let mut all = vec![self.sequence()?];
        while self.eat('|') {
            all.push(self.sequence()?);
        }
        self.depth -= 1;
        if all.len() == 1 { all.pop() } else { Some(Node::Alternatives(all)) }
    }

    fn sequence(&mut self) -> Option<Node> {
        let mut items = Vec::new();
        while !matches!(self.peek(), None | Some('|' | ')')) {
            let first_group = self.groups;
            let (atom, quantifiable) = self.term()?;
            let item = match self.quantifier()? {
                None => atom,
                Some(_) if !quantifiable => return None,
                Some((min, max, greedy)) => {
                    let groups = (first_group + 1, self.groups + 1);
                    Node::Repeat { body: Box::new(atom), min, max, greedy, groups }
                }
            };
            items.push(item);
        }
        Some(match items.len() {
            0 => Node::Empty,
            1 => items.pop()?,
            _ => Node::Sequence(items),
        })
    }

    /// A term without its quantifier, and whether it may have one.
    fn term(&mut self) -> Option<(Node, bool)> {
        let c = *self.source.get(self.at)?;
        let node = match char::from_u32(c) {
            Some('^') => return self.assertion(1, Node::Start),
            Some('$') => return self.assertion(1, Node::End),
            Some('(') => return self.group(),
            Some('.') => {
                self.at += 1;
                Node::Any
            }
            Some('[') => {
                self.at += 1;
                self.class()?
            }
            Some('\\') => return self.escape_term(),
            Some('*' | '+' | '?') => return None,
            Some('{') => {
                if self.unicode || self.braces().is_some() {
                    return None;
                }
                self.at += 1;
                Node::Char(c)
            }
            Some(']' | '}') if self.unicode => return None,
            _ => {
                self.at += 1;
                Node::Char(c)
            }
        };
        Some((node, true))
    }

    fn assertion(&mut self, length: usize, node: Node) -> Option<(Node, bool)> {
        self.at += length;
        Some((node, false))
    }

    fn group(&mut self) -> Option<(Node, bool)> {
        for (opening, behind, negated) in
            [("(?=", false, false), ("(?!", false, true), ("(?<=", true, false), ("(?<!", true, true)]
        {
            if self.eat_text(opening) {
                let body = Box::new(self.alternatives()?);
                // Annex B lets lookaheads be repeated, nothing else of this sort.
                let repeatable = !behind && !self.unicode;
                return self.eat(')').then_some((Node::Look { body, behind, negated }, repeatable));
            }
        }
        if self.eat_text("(?:") {
            let body = self.alternatives()?;
            return self.eat(')').then_some((body, true));
        }
        if self.eat_text("(?<") {
            // The name was read by the scan, and checked by nobody yet: only plain ASCII names here.
            if matches!(self.peek(), Some('0'..='9' | '>')) {
                return None;
            }
            while !self.eat('>') {
                if !matches!(self.peek(), Some(c) if c.is_ascii_alphanumeric() || c == '_' || c == '$') {
                    return None;
                }
                self.at += 1;
            }
        } else {
            self.at += 1;
            if self.peek() == Some('?') {
                return None;
            }
        }
        self.groups += 1;
        let number = self.groups;
        let body = Box::new(self.alternatives()?);
        self.eat(')').then_some((Node::Group { number, body }, true))
    }

    /// A quantifier, if there is one. `None` outside: malformed.
    #[allow(clippy::type_complexity)]
    fn quantifier(&mut self) -> Option<Option<(u32, u32, bool)>> {
        let (min, max) = match self.peek() {
            Some('*') => (0, UNBOUNDED),
            Some('+') => (1, UNBOUNDED),
            Some('?') => (0, 1),
            Some('{') => match self.braces() {
                Some((min, max, length)) => {
                    self.at += length - 1;
                    (min, max)
                }
                None if self.unicode => return None,
                None => return Some(None),
            },
            _ => return Some(None),
        };
        self.at += 1;
        let greedy = !self.eat('?');
        (min <= max).then_some(Some((min, max, greedy)))
    }

    /// `{n}`, `{n,}` or `{n,m}` at the current position: limits and length.
    fn braces(&self) -> Option<(u32, u32, usize)> {
        let mut ahead = 1;
        let number = |ahead: &mut usize| {
            let start = *ahead;
            let mut value = 0u32;
            while let Some(digit) = self.peek_at(*ahead).and_then(|c| c.to_digit(10)) {
                value = value.saturating_mul(10).saturating_add(digit).min(UNBOUNDED - 1);
                *ahead += 1;
            }
            (*ahead > start).then_some(value)
        };
        let min = number(&mut ahead)?;
        let mut max = min;
        if self.peek_at(ahead) == Some(',') {
            ahead += 1;
            max = if self.peek_at(ahead) == Some('}') { UNBOUNDED } else { number(&mut ahead)? };
        }
        (self.peek_at(ahead) == Some('}')).then_some((min, max, ahead + 1))
    }

    fn escape_term(&mut self) -> Option<(Node, bool)> {
        match self.peek_at(1)? {
            'b' => self.assertion(2, Node::WordBoundary { negated: false }),
            'B' => self.assertion(2, Node::WordBoundary { negated: true }),
            '1'..='9' => {
                self.at += 1;
                let start = self.at;
                let mut number = 0u32;
                while let Some(digit) = self.peek().and_then(|c| c.to_digit(10)) {
                    number = number.saturating_mul(10).saturating_add(digit);
                    self.at += 1;
                }
                if number <= self.total {
                    return Some((Node::BackReference(number), true));
                }
                // Larger ones are legacy octal escapes (B.1.2), or errors with u and with named groups.
                self.at = start;
                let c = self.legacy_octal()?;
                Some((Node::Char(c), true))
            }
            'k' => {
                if self.names.is_empty() || self.peek_at(2) != Some('<') {
                    return None;
                }
                self.at += 3;
                let start = self.at;
                while self.peek()? != '>' {
                    self.at += 1;
                }
                let name = &self.source[start..self.at];
                self.at += 1;
                let same =
                    |known: &&super::GroupName| known.name.iter().map(|&u| u32::from(u)).eq(name.iter().copied());
                let group = self.names.iter().find(same)?;
                Some((Node::BackReference(*group.groups.first()?), true))
            }
            _ => {
                self.at += 1;
                let node = match self.escape(false)? {
                    Atom::Char(c) => Node::Char(c),
                    atom => {
                        let mut parts = ClassParts::default();
                        add_atom(&mut parts, atom);
                        Node::Class(parts)
                    }
                };
                Some((node, true))
            }
        }
    }

    /// An escape behind its backslash.
    fn escape(&mut self, in_class: bool) -> Option<Atom> {
        let c = *self.source.get(self.at)?;
        self.at += 1;
        let letter = char::from_u32(c).unwrap_or('\u{FFFD}');
        Some(match letter {
            'd' => Atom::Set(CharSet::digits()),
            'D' => Atom::Set(CharSet::digits().inverted()),
            'w' => Atom::Set(CharSet::word(self.folding)),
            'W' => Atom::Set(CharSet::word(self.folding).inverted()),
            's' => Atom::Set(CharSet::space()),
            'S' => Atom::Set(CharSet::space().inverted()),
            't' => Atom::Char(9),
            'n' => Atom::Char(10),
            'v' => Atom::Char(11),
            'f' => Atom::Char(12),
            'r' => Atom::Char(13),
            'b' if in_class => Atom::Char(8),
            '-' if in_class => Atom::Char(c),
            '0' if !matches!(self.peek(), Some('0'..='9')) => Atom::Char(0),
            '0'..='9' => {
                self.at -= 1;
                Atom::Char(self.legacy_octal()?)
            }
            'c' => Atom::Char(self.control(in_class)?),
            'k' if self.unicode || !self.names.is_empty() => return None,
            'p' | 'P' if self.unicode => Atom::Property(self.property(letter)?),
            // Without digits the letter is itself (B.1.2).
            'x' => Atom::Char(self.hex(2).or((!self.unicode).then_some(c))?),
            'u' => Atom::Char(self.unicode_escape().or((!self.unicode).then_some(c))?),
            // Identity escapes: only syntax characters with u; never what other engines extend (letters) there.
            _ if self.unicode && !"^$\\.*+?()[]{}|/".contains(letter) => return None,
            _ => Atom::Char(c),
        })
    }

    /// `{...}` of a property escape.
    fn property(&mut self, letter: char) -> Option<Property> {
        if self.folding != Folding::None {
            return None;
        }
        let mut escape = format!("\\{letter}");
        loop {
            let c = self.peek()?;
            self.at += 1;
            if !(c.is_ascii_alphanumeric() || matches!(c, '{' | '}' | '_' | '=')) {
                return None;
            }
            escape.push(c);
            if c == '}' {
                return Property::new(&escape);
            }
        }
    }

    /// LegacyOctalEscapeSequence (B.1.2): up to \377; \8 and \9 are themselves.
    fn legacy_octal(&mut self) -> Option<u32> {
        if self.unicode || !self.names.is_empty() {
            return None;
        }
        let first = self.peek()?.to_digit(10)?;
        self.at += 1;
        if first >= 8 {
            return Some(0x30 + first);
        }
        let mut value = first;
        let most = if first <= 3 { 3 } else { 2 };
        for _ in 1..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(8)) else { break };
            value = value * 8 + digit;
            self.at += 1;
        }
        Some(value)
    }

    /// `\cX`; without a fitting X the backslash is itself and `c` comes next (B.1.2).
    fn control(&mut self, in_class: bool) -> Option<u32> {
        let next = self.peek();
        let fits = next.is_some_and(|c| {
            c.is_ascii_alphabetic() || (in_class && !self.unicode && (c.is_ascii_digit() || c == '_'))
        });
        if fits {
            self.at += 1;
            return Some(u32::from(next?) % 32);
        }
        if self.unicode {
            return None;
        }
        self.at -= 1;
        Some(u32::from(b'\\'))
    }

    fn hex(&mut self, digits: usize) -> Option<u32> {
        let mut value = 0;
        for i in 0..digits {
            value = value * 16 + self.peek_at(i)?.to_digit(16)?;
        }
        self.at += digits;
        Some(value)
    }

    fn unicode_escape(&mut self) -> Option<u32> {
        if self.unicode && self.eat('{') {
            let mut value = 0u32;
            let mut digits = 0;
            while let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) {
                value = value.checked_mul(16)?.checked_add(digit)?;
                digits += 1;
                self.at += 1;
            }
            return (self.eat('}') && digits > 0 && value <= 0x10_FFFF).then_some(value);
        }
        let first = self.hex(4)?;
        if self.unicode
            && (0xD800..0xDC00).contains(&first)
            && self.peek() == Some('\\')
            && self.peek_at(1) == Some('u')
        {
            let saved = self.at;
            self.at += 2;
            if let Some(second @ 0xDC00..=0xDFFF) = self.hex(4) {
                return Some(super::super::combine_surrogates(first as u16, second as u16));
            }
            self.at = saved;
        }
        Some(first)
    }

    /// A class behind its opening bracket.
    fn class(&mut self) -> Option<Node> {
        let mut parts = ClassParts { inverted: self.eat('^'), ..Default::default() };
        while !self.eat(']') {
            let first = self.class_atom()?;
            let is_range = self.peek() == Some('-') && !matches!(self.peek_at(1), None | Some(']'));
            if !is_range {
                add_atom(&mut parts, first);
                continue;
            }
            self.at += 1;
            let second = self.class_atom()?;
            match (&first, &second) {
                (Atom::Char(low), Atom::Char(high)) if low <= high => parts.set.add(*low, *high),
                (Atom::Char(_), Atom::Char(_)) => return None,
                _ if self.unicode => return None,
                // Annex B: a hyphen beside a set is itself.
                _ => {
                    add_atom(&mut parts, first);
                    add_atom(&mut parts, second);
                    parts.set.add(0x2D, 0x2D);
                }
            }
        }
        Some(Node::Class(parts))
    }

    fn class_atom(&mut self) -> Option<Atom> {
        let c = *self.source.get(self.at)?;
        self.at += 1;
        if c == u32::from(b'\\') { self.escape(true) } else { Some(Atom::Char(c)) }
    }
}

fn add_atom(parts: &mut ClassParts, atom: Atom) {
    match atom {
        Atom::Char(c) => parts.set.add(c, c),
        Atom::Set(other) => parts.set.add_set(&other),
        Atom::Property(property) => parts.properties.push(property),
    }
}
