//! JSON (ECMA-262 25.5): the table and JSON.parse. JSON.stringify is in `json_stringify`.
//!
//! The parser is a loop with a stack of open containers, so that depth costs no native stack. Every
//! container is stored in its parent at once, before it is filled: then the outermost one, which is a local
//! variable, keeps all of them alive, and the stack holds plain offsets.

use super::*;
use crate::convert::LENGTH_MAX;
use crate::kinds::SHAPE;
use crate::names::Intrinsic;
use crate::objects::Key;
use crate::pure::Units;
use crate::realm::Throw;
use crate::shapes::DEFAULT;
use crate::strings::StrView;

builtin_table! { 19;
    PARSE("parse", 2) = parse;
    STRINGIFY("stringify", 3) = super::json_stringify::stringify;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let object = realm.new_plain_prototype()?;
    realm.install_methods(object, &[PARSE, STRINGIFY])?;
    realm.install_tag(object, "JSON")?;
    realm.set_intrinsic(Intrinsic::Json, Value::object(object));
    realm.install_global("JSON", Value::object(object))
}

/// JSON.parse (25.5.1)
fn parse(realm: &mut Realm, args: Args) -> Completion {
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    let reviver = args.get(realm, 1);
    let value = match realm.view(text)? {
        StrView::Latin1(units) => Parser::new(units, text).run(realm)?,
        StrView::Utf16(units) => Parser::new(units, text).run(realm)?,
    };
    if !realm.is_callable(reviver) {
        return Ok(value);
    }
    let root = realm.new_object()?;
    let key = Key::Name(realm.names.empty);
    realm.create_data_property_or_throw(root, key, value)?;
    internalize(realm, root, key, reviver)
}

/// InternalizeJSONProperty (25.5.1.1)
fn internalize(realm: &mut Realm, holder: Ref, key: Key, reviver: Value) -> Completion {
    realm.check_native_stack()?;
    let value = realm.get(holder, key)?;
    if let Some(object) = value.to_object_ref() {
        if realm.is_array(value)? {
            let length = realm.length_of(object)?;
            let mut i = 0.0;
            while i < length && i < LENGTH_MAX {
                let key = realm.to_property_key(Value::number(i))?;
                internalize_element(realm, object, key, reviver)?;
                i += 1.0;
            }
        } else {
            let keys = realm.own_keys(object)?;
            for i in 0..realm.cage.u32(keys, 4) {
                let name = Value(realm.cage.get(keys, 8 + 8 * i));
                if !name.is_string() {
                    continue;
                }
                let key = realm.to_property_key(name)?;
                let own = realm.get_own_property(object, key)?;
                if own.is_some_and(|own| own.enumerable()) {
                    internalize_element(realm, object, key, reviver)?;
                }
            }
        }
    }
    let name = realm.key_value(key)?;
    realm.call(reviver, Value::object(holder), &[name, value])
}

fn internalize_element(realm: &mut Realm, object: Ref, key: Key, reviver: Value) -> Completion<()> {
    realm.charge(1)?;
    let new = internalize(realm, object, key, reviver)?;
    if new.is_undefined() {
        realm.delete_property(object, key)?;
    } else {
        realm.create_data_property(object, key, new)?;
    }
    Ok(())
}

/// What can be read from a slice of units: both encodings, monomorphised.
trait Source: Copy {
    fn len(self) -> usize;
    fn unit(self, at: usize) -> u16;
    fn view(&self, start: usize, end: usize) -> StrView<'_>;
}

impl Source for &[u8] {
    #[inline(always)]
    fn len(self) -> usize {
        <[u8]>::len(self)
    }
    #[inline(always)]
    fn unit(self, at: usize) -> u16 {
        u16::from(self[at])
    }
    fn view(&self, start: usize, end: usize) -> StrView<'_> {
        StrView::Latin1(&self[start..end])
    }
}

impl Source for &[u16] {
    #[inline(always)]
    fn len(self) -> usize {
        <[u16]>::len(self)
    }
    #[inline(always)]
    fn unit(self, at: usize) -> u16 {
        self[at]
    }
    fn view(&self, start: usize, end: usize) -> StrView<'_> {
        StrView::Utf16(&self[start..end])
    }
}

/// A container that is not closed yet. Its cell is reachable from the outermost container, so that an
/// offset is enough. (The key that waits for a value is a local variable: only there it is a root.)
struct Open {
    cell: u32,
    is_array: bool,
}

/// What comes next in the innermost container: the key for the next value (none in arrays), or the end.
enum Next {
    Value(Option<Key>),
    End,
}

struct Parser<S> {
    source: S,
    /// The text as a cell, for messages.
    text: Ref,
    at: usize,
}

/// Why a text is no JSON; V8's wordings.
enum Problem {
    /// Names the token at the position.
    Token,
    /// With ": in JSON at position n".
    At(&'static str),
}

const END: u16 = 0;

impl<S: Source> Parser<S> {
    fn new(source: S, text: Ref) -> Parser<S> {
        Parser { source, text, at: 0 }
    }

    /// The unit at the current position; [`END`] behind the end (NUL is no JSON token either).
    #[inline(always)]
    fn peek(&self) -> u16 {
        if self.at < self.source.len() { self.source.unit(self.at) } else { END }
    }

    #[inline(always)]
    fn skip_white(&mut self) -> u16 {
        loop {
            let unit = self.peek();
            if !matches!(unit, 0x20 | 0x0A | 0x0D | 0x09) {
                return unit;
            }
            self.at += 1;
        }
    }

    /// Parses the whole text (25.5.1 steps 2 to 6).
    fn run(mut self, realm: &mut Realm) -> Completion {
        realm.charge(1 + self.source.len() as u32 / 32)?;
        let mut open: Vec<Open> = Vec::new();
        // The outermost container; everything that is built hangs below it.
        let mut root = Value::UNDEFINED;
        let mut key: Option<Key> = None;
        let result = loop {
            let unit = self.skip_white();
            let is_container = matches!(unit, 0x7B | 0x5B);
            let value = if is_container {
                realm.charge(1)?;
                Value::object(if unit == 0x5B { realm.new_array()? } else { realm.new_object()? })
            } else {
                self.scalar(realm, unit)?
            };
            match open.last() {
                Some(parent) => store(realm, Ref(parent.cell), key, value)?,
                None => root = value,
            }
            if is_container {
                let is_array = unit == 0x5B;
                self.at += 1;
                if self.skip_white() != if is_array { 0x5D } else { 0x7D } {
                    key = if is_array { None } else { Some(self.key(realm, "Expected property name or '}'")?) };
                    open.push(Open { cell: value.as_ref().0, is_array });
                    continue;
                }
                self.at += 1;
            }
            match self.next(realm, &mut open)? {
                Next::Value(next) => key = next,
                Next::End => break root,
            }
        };
        if self.skip_white() != END || self.at < self.source.len() {
            return Err(self.fail(realm, Problem::At("Unexpected non-whitespace character after JSON")));
        }
        Ok(result)
    }

    /// Behind a value: reads a comma (and the next key) or closes containers.
    fn next(&mut self, realm: &mut Realm, open: &mut Vec<Open>) -> Completion<Next> {
        loop {
            let Some(top) = open.last() else { return Ok(Next::End) };
            let is_array = top.is_array;
            let unit = self.skip_white();
            if unit == 0x2C {
                self.at += 1;
                if is_array {
                    return Ok(Next::Value(None));
                }
                self.skip_white();
                let key = self.key(realm, "Expected double-quoted property name")?;
                return Ok(Next::Value(Some(key)));
            }
            if unit != if is_array { 0x5D } else { 0x7D } {
                let what = if is_array {
                    "Expected ',' or ']' after array element"
                } else {
                    "Expected ',' or '}' after property value"
                };
                return Err(self.fail(realm, Problem::At(what)));
            }
            self.at += 1;
            open.pop();
        }
    }

    /// A property name and its colon.
    fn key(&mut self, realm: &mut Realm, expected: &'static str) -> Completion<Key> {
        if self.peek() != 0x22 {
            return Err(self.fail(realm, Problem::At(expected)));
        }
        self.at += 1;
        let start = self.at;
        let key = match self.plain_end() {
            Some(end) => {
                self.at = end + 1;
                // Keys repeat: most are interned already and cost no allocation.
                match realm.find_interned(self.source.view(start, end)) {
                    Some(known) => realm.key_of_interned(known),
                    None => {
                        let string = new_string(realm, self.source.view(start, end))?;
                        realm.key_of_string(string)?
                    }
                }
            }
            None => {
                let string = self.string_with_escapes(realm)?;
                realm.key_of_string(string)?
            }
        };
        if self.skip_white() != 0x3A {
            return Err(self.fail(realm, Problem::At("Expected ':' after property name")));
        }
        self.at += 1;
        Ok(key)
    }

    /// The position of the closing quote if the string from here on has no escapes and nothing forbidden.
    fn plain_end(&self) -> Option<usize> {
        let mut end = self.at;
        while end < self.source.len() {
            match self.source.unit(end) {
                0x22 => return Some(end),
                0x5C | 0x00..=0x1F => return None,
                _ => end += 1,
            }
        }
        None
    }

    fn scalar(&mut self, realm: &mut Realm, unit: u16) -> Completion {
        match unit {
            0x22 => {
                self.at += 1;
                let start = self.at;
                let string = match self.plain_end() {
                    Some(end) => {
                        self.at = end + 1;
                        new_string(realm, self.source.view(start, end))?
                    }
                    None => self.string_with_escapes(realm)?,
                };
                Ok(Value::string(string))
            }
            0x2D | 0x30..=0x39 => self.number(realm),
            0x74 => self.word(realm, b"true", Value::TRUE),
            0x66 => self.word(realm, b"false", Value::FALSE),
            0x6E => self.word(realm, b"null", Value::NULL),
            _ => Err(self.fail(realm, Problem::Token)),
        }
    }

    fn word(&mut self, realm: &mut Realm, word: &[u8], value: Value) -> Completion {
        for &byte in word {
            if self.peek() != u16::from(byte) {
                return Err(self.fail(realm, Problem::Token));
            }
            self.at += 1;
        }
        Ok(value)
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while matches!(self.peek(), 0x30..=0x39) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self, realm: &mut Realm) -> Completion {
        let start = self.at;
        let negative = self.peek() == 0x2D;
        self.at += usize::from(negative);
        let first = self.peek();
        let digits_start = self.at;
        match self.digits() {
            0 => return Err(self.fail(realm, Problem::At("No number after minus sign"))),
            1 => {}
            _ if first == 0x30 => {
                self.at = digits_start + 1;
                return Err(self.fail(realm, Problem::At("Unexpected number")));
            }
            _ => {}
        }
        let mut is_integer = true;
        if self.peek() == 0x2E {
            is_integer = false;
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.fail(realm, Problem::At("Unterminated fractional number")));
            }
        }
        if matches!(self.peek(), 0x65 | 0x45) {
            is_integer = false;
            self.at += 1;
            if matches!(self.peek(), 0x2B | 0x2D) {
                self.at += 1;
            }
            if self.digits() == 0 {
                return Err(self.fail(realm, Problem::At("Exponent part is missing a number")));
            }
        }
        if is_integer && self.at - digits_start <= 9 {
            let magnitude = (digits_start..self.at).fold(0, |n, i| n * 10 + i32::from(self.source.unit(i)) - 0x30);
            if !(negative && magnitude == 0) {
                return Ok(Value::int(if negative { -magnitude } else { magnitude }));
            }
        }
        let view = self.source.view(start, self.at);
        let ascii: String = (0..view.len()).map(|i| char::from(Units::at(&view, i) as u8)).collect();
        Ok(Value::number(ascii.parse().unwrap_or(f64::NAN)))
    }

    /// A string with escapes; the position is behind the opening quote.
    fn string_with_escapes(&mut self, realm: &mut Realm) -> Completion<Ref> {
        let mut units: Vec<u16> = Vec::new();
        loop {
            if self.at >= self.source.len() {
                return Err(self.fail(realm, Problem::At("Unterminated string")));
            }
            match self.source.unit(self.at) {
                0x22 => {
                    self.at += 1;
                    return realm.new_utf16(&units);
                }
                0x00..=0x1F => {
                    return Err(self.fail(realm, Problem::At("Bad control character in string literal")));
                }
                0x5C => {
                    self.at += 1;
                    let unit = self.escape(realm)?;
                    units.push(unit);
                }
                unit => {
                    units.push(unit);
                    self.at += 1;
                }
            }
        }
    }

    fn escape(&mut self, realm: &mut Realm) -> Completion<u16> {
        if self.at >= self.source.len() {
            return Err(self.fail(realm, Problem::At("Unterminated string")));
        }
        let letter = self.source.unit(self.at);
        let unit = match u8::try_from(letter) {
            Ok(b'"' | b'\\' | b'/') => letter,
            Ok(b'b') => 0x08,
            Ok(b'f') => 0x0C,
            Ok(b'n') => 0x0A,
            Ok(b'r') => 0x0D,
            Ok(b't') => 0x09,
            Ok(b'u') => {
                let mut value = 0;
                for _ in 0..4 {
                    self.at += 1;
                    let digit = char::from_u32(u32::from(self.peek())).and_then(|c| c.to_digit(16));
                    let Some(digit) = digit else {
                        return Err(self.fail(realm, Problem::At("Bad Unicode escape")));
                    };
                    value = value * 16 + digit;
                }
                value as u16
            }
            _ => return Err(self.fail(realm, Problem::At("Bad escaped character"))),
        };
        self.at += 1;
        Ok(unit)
    }

    /// The SyntaxError for the current position.
    #[cold]
    fn fail(&self, realm: &mut Realm, problem: Problem) -> Throw {
        let at_end = self.at >= self.source.len();
        let message = match problem {
            Problem::At(what) => format!("{what} in JSON at position {}", self.at),
            Problem::Token if at_end => "Unexpected end of JSON input".to_owned(),
            Problem::Token => self.token_message(realm),
        };
        realm.throw_syntax(&message)
    }

    fn token_message(&self, realm: &mut Realm) -> String {
        let Ok(view) = realm.view(self.text) else { return String::new() };
        let whole = view.to_text();
        if matches!(whole.as_str(), "undefined" | "NaN" | "Infinity" | "[object Object]") {
            return format!("\"{whole}\" is not valid JSON");
        }
        let token = view.slice(self.at, self.at + view.code_point_at(self.at).1).to_text();
        // Ten units on each side of the token.
        let (start, end) = (self.at.saturating_sub(10), (self.at + 10).min(view.len()));
        if view.len() <= 40 {
            return format!("Unexpected token '{token}', \"{whole}\" is not valid JSON");
        }
        let before = if start > 0 { "..." } else { "" };
        let after = if end < view.len() { "..." } else { "" };
        let part = view.slice(start, end).to_text();
        format!("Unexpected token '{token}', {before}\"{part}\"{after} is not valid JSON")
    }
}

fn new_string(realm: &mut Realm, view: StrView) -> Completion<Ref> {
    match view {
        StrView::Latin1(units) => realm.new_latin1(units),
        StrView::Utf16(units) => realm.new_utf16(units),
    }
}

/// Stores a value in the innermost open container.
#[inline]
fn store(realm: &mut Realm, cell: Ref, key: Option<Key>, value: Value) -> Completion<()> {
    match key {
        None => realm.array_push(cell, value),
        Some(Key::Name(name)) => {
            let shape = realm.cage.r(cell, SHAPE);
            match realm.shape_lookup(shape, name)? {
                // The last of several equal names counts.
                Some(slot) => realm.write_slot(cell, shape, slot.number, value),
                None => realm.add_property(cell, name, value, DEFAULT)?,
            }
            Ok(())
        }
        Some(key) => realm.create_data_property_or_throw(cell, key, value),
    }
}
