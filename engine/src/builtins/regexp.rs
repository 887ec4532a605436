//! RegExp (ECMA-262 22.2): the table, the constructor, and the prototype's getters. Matching is in
//! `regexp_exec`, the methods under symbols in `regexp_symbols` and `regexp_replace`.
//!
//! Invariant: the source in a RegExp cell is interned, so that source ref and flag bits name the compiled
//! program; `lastIndex` is always slot 0, and not configurable.

use super::regexp_exec::LAST_INDEX_SLOT;
use super::text::TextBuilder;
use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::pure::regexp::{self as pattern, RegExpFlags};
use crate::shapes::{DEFAULT, WRITABLE, layout_of};

builtin_table! { 10;
    REGEXP("RegExp", 2, constructor) = regexp;
    ESCAPE("escape", 1) = escape;
    EXEC("exec", 1) = super::regexp_exec::exec;
    FLAGS("get flags", 0) = flags;
    HAS_INDICES("get hasIndices", 0) = has_indices;
    GLOBAL("get global", 0) = global;
    IGNORE_CASE("get ignoreCase", 0) = ignore_case;
    MULTILINE("get multiline", 0) = multiline;
    DOT_ALL("get dotAll", 0) = dot_all;
    UNICODE("get unicode", 0) = unicode;
    UNICODE_SETS("get unicodeSets", 0) = unicode_sets;
    STICKY("get sticky", 0) = sticky;
    SOURCE("get source", 0) = source;
    COMPILE("compile", 2) = compile;
    TEST("test", 1) = super::regexp_exec::test;
    TO_STRING("toString", 0) = to_string;
    MATCH("[Symbol.match]", 1) = super::regexp_symbols::match_;
    MATCH_ALL("[Symbol.matchAll]", 1) = super::regexp_symbols::match_all;
    REPLACE("[Symbol.replace]", 2) = super::regexp_replace::replace;
    SEARCH("[Symbol.search]", 1) = super::regexp_symbols::search;
    SPLIT("[Symbol.split]", 2) = super::regexp_symbols::split;
    STRING_ITERATOR_NEXT("next", 0) = super::regexp_symbols::string_iterator_next;
}

/// Letter, property and getter of each flag, in the order of `flags` (22.2.6.4).
pub(super) const FLAG_GETTERS: [(u8, Name, u32); 8] = [
    (b'd', Name::has_indices, HAS_INDICES),
    (b'g', Name::global, GLOBAL),
    (b'i', Name::ignore_case, IGNORE_CASE),
    (b'm', Name::multiline, MULTILINE),
    (b's', Name::dot_all, DOT_ALL),
    (b'u', Name::unicode, UNICODE),
    (b'v', Name::unicode_sets, UNICODE_SETS),
    (b'y', Name::sticky, STICKY),
];

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(REGEXP, prototype, Intrinsic::RegExp, Intrinsic::RegExpPrototype)?;
    realm.install_species(constructor)?;
    realm.install_method(constructor, ESCAPE)?;
    realm.install_methods(prototype, &[EXEC, COMPILE, TEST, TO_STRING])?;
    for (_, name, getter) in FLAG_GETTERS {
        realm.install_accessor(prototype, realm.key_for(name), getter, None)?;
    }
    realm.install_accessor(prototype, realm.key_for(Name::flags), FLAGS, None)?;
    realm.install_accessor(prototype, realm.key_for(Name::source), SOURCE, None)?;
    for (symbol, number) in [
        (Sym::Match, MATCH),
        (Sym::MatchAll, MATCH_ALL),
        (Sym::Replace, REPLACE),
        (Sym::Search, SEARCH),
        (Sym::Split, SPLIT),
    ] {
        realm.install_symbol_method(prototype, symbol, number)?;
    }
    let exec = realm.get_name(prototype, Name::exec)?;
    realm.set_intrinsic(Intrinsic::RegExpExec, exec);
    let parent = realm.intrinsic(Intrinsic::IteratorPrototype);
    let iterator = realm.new_object_with_prototype(parent)?;
    realm.install_method(iterator, STRING_ITERATOR_NEXT)?;
    realm.install_tag(iterator, "RegExp String Iterator")?;
    realm.set_intrinsic(Intrinsic::RegExpStringIteratorPrototype, Value::object(iterator));
    install_shapes(realm, prototype)
}

/// The shapes of plain RegExp objects and of match results.
fn install_shapes(realm: &mut Realm, prototype: Ref) -> Completion<()> {
    let root = realm.root_shape(prototype, layout_of(32, 1))?;
    let shape = realm.add_transition(root, realm.name(Name::last_index), WRITABLE)?;
    realm.set_intrinsic(Intrinsic::RegExpShape, Value::cell(shape));
    let arrays = realm.intrinsic(Intrinsic::ArrayPrototype);
    let mut shape = realm.root_shape(arrays, layout_of(24, 3))?;
    for name in [Name::index, Name::input, Name::groups] {
        shape = realm.add_transition(shape, realm.name(name), DEFAULT)?;
    }
    realm.set_intrinsic(Intrinsic::MatchShape, Value::cell(shape));
    // What `is_pristine_regexp` compares with: the prototype's shape, then its slots.
    let shape = realm.shape_of(prototype);
    let count = realm.shape_properties(shape).len() as u32;
    let installed = realm.new_values(1 + count, Value::UNDEFINED)?;
    realm.cage.set(installed, 8, Value::cell(shape).0);
    for i in 0..count {
        let value = realm.read_slot(prototype, shape, i);
        realm.cage.set(installed, 16 + 8 * i, value.0);
    }
    realm.set_intrinsic(Intrinsic::RegExpPristine, Value::cell(installed));
    Ok(())
}

/// IsRegExp (7.2.8)
pub(super) fn is_regexp(realm: &mut Realm, value: Value) -> Completion<bool> {
    let Some(object) = value.to_object_ref() else { return Ok(false) };
    let key = Key::Name(realm.symbol(Sym::Match));
    let matcher = realm.get(object, key)?;
    if !matcher.is_undefined() {
        return Ok(realm.to_boolean(matcher));
    }
    Ok(realm.cage.is(object, Kind::RegExp))
}

/// RegExpAlloc (22.2.3.2) with a known prototype; source and flags must be set before script runs.
fn alloc(realm: &mut Realm, prototype: Ref) -> Completion<Ref> {
    let shape = if prototype == realm.intrinsic(Intrinsic::RegExpPrototype) {
        realm.intrinsic(Intrinsic::RegExpShape)
    } else {
        let root = realm.root_shape(prototype, layout_of(32, 1))?;
        realm.add_transition(root, realm.name(Name::last_index), WRITABLE)?
    };
    let object = realm.new_object_cell(Kind::RegExp, shape)?;
    realm.write_slot(object, shape, LAST_INDEX_SLOT, Value::ZERO);
    realm.cage.set(object, 16, realm.names.empty.0);
    realm.cage.set(object, 24, realm.names.empty.0);
    Ok(object)
}

/// RegExpInitialize (22.2.3.3) for strings, without the store to lastIndex.
fn initialize(realm: &mut Realm, object: Ref, source: Ref, flags: Ref) -> Completion<()> {
    let view = realm.view(flags)?;
    let Some(parsed) = RegExpFlags::parse(&view) else {
        let text = realm.string_text(flags)?;
        return Err(realm.throw_syntax(&format!("Invalid flags supplied to RegExp constructor '{text}'")));
    };
    let source = realm.intern(source)?;
    realm.regexp_program(source, parsed)?;
    set_fields(realm, object, source, parsed)
}

/// Writes source and flags; the flags string is the canonical one.
fn set_fields(realm: &mut Realm, object: Ref, source: Ref, flags: RegExpFlags) -> Completion<()> {
    let letters = realm.intern_str(&flags.letters())?;
    realm.cage.set(object, 16, source.0);
    realm.cage.set(object, 20, u32::from(flags.bits()));
    realm.cage.set(object, 24, letters.0);
    Ok(())
}

/// RegExpCreate (22.2.3.1) of strings.
pub(super) fn create(realm: &mut Realm, source: Ref, flags: Ref) -> Completion<Ref> {
    let prototype = realm.intrinsic(Intrinsic::RegExpPrototype);
    let object = alloc(realm, prototype)?;
    initialize(realm, object, source, flags)?;
    Ok(object)
}

impl Realm {
    /// A RegExp literal's object (13.2.7.3). The compiler has checked the pattern; the program is made at the
    /// first match.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn new_regexp_literal(&mut self, source: Value, flags: Value) -> Completion {
        if !source.is_string() || !flags.is_string() {
            return Err(self.throw_type("malformed regular expression constant"));
        }
        let prototype = self.intrinsic(Intrinsic::RegExpPrototype);
        let object = alloc(self, prototype)?;
        let source = self.intern(source.as_ref())?;
        let view = self.view(flags.as_ref())?;
        let Some(parsed) = RegExpFlags::parse(&view) else {
            return Err(self.throw_syntax("Invalid regular expression flags"));
        };
        if view.units().is_sorted() {
            // The usual case: the constant itself is the canonical text.
            let letters = self.intern(flags.as_ref())?;
            self.cage.set(object, 16, source.0);
            self.cage.set(object, 20, u32::from(parsed.bits()));
            self.cage.set(object, 24, letters.0);
            return Ok(Value::object(object));
        }
        set_fields(self, object, source, parsed)?;
        Ok(Value::object(object))
    }
}

/// `undefined` as the empty string, everything else by ToString.
fn text_or_empty(realm: &mut Realm, value: Value) -> Completion<Ref> {
    if value.is_undefined() { Ok(realm.names.empty) } else { realm.to_string(value) }
}

/// RegExp ( pattern, flags ) (22.2.4.1)
fn regexp(realm: &mut Realm, args: Args) -> Completion {
    let (pattern, flags) = (args.get(realm, 0), args.get(realm, 1));
    let pattern_is_regexp = is_regexp(realm, pattern)?;
    let mut new_target = args.new_target;
    if !args.is_construct() {
        new_target = Value::object(args.callee);
        if pattern_is_regexp && flags.is_undefined() {
            let constructor = realm.get_value(pattern, realm.key_for(Name::constructor))?;
            if constructor == new_target {
                return Ok(pattern);
            }
        }
    }
    let (source, flags) = match pattern.to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::RegExp) => {
            let source = Value::string(realm.cage.r(object, 16));
            let own_flags = Value::string(realm.cage.r(object, 24));
            (source, if flags.is_undefined() { own_flags } else { flags })
        }
        Some(object) if pattern_is_regexp => {
            let source = realm.get_name(object, Name::source)?;
            let flags = if flags.is_undefined() { realm.get_name(object, Name::flags)? } else { flags };
            (source, flags)
        }
        _ => (pattern, flags),
    };
    let prototype = realm.prototype_from_constructor(new_target, Intrinsic::RegExpPrototype)?;
    let object = alloc(realm, prototype)?;
    let source = text_or_empty(realm, source)?;
    let flags = text_or_empty(realm, flags)?;
    initialize(realm, object, source, flags)?;
    Ok(Value::object(object))
}

/// RegExp.escape (22.2.5.1)
fn escape(realm: &mut Realm, args: Args) -> Completion {
    let text = args.get(realm, 0);
    if !text.is_string() {
        return Err(realm.throw_type("RegExp.escape requires a string argument"));
    }
    let view = realm.view(text.as_ref())?;
    let units = pattern::escape_for_pattern(&view);
    Ok(Value::string(realm.new_utf16(&units)?))
}

/// RegExp.prototype.compile (B.2.4.1)
fn compile(realm: &mut Realm, args: Args) -> Completion {
    let object = super::regexp_exec::this_regexp(realm, args, "compile")?;
    let (pattern, flags) = (args.get(realm, 0), args.get(realm, 1));
    let (source, flags) = match pattern.to_object_ref() {
        Some(other) if realm.cage.is(other, Kind::RegExp) => {
            if !flags.is_undefined() {
                return Err(realm.throw_type("Invalid flags supplied to RegExp constructor"));
            }
            (realm.cage.r(other, 16), realm.cage.r(other, 24))
        }
        _ => (text_or_empty(realm, pattern)?, text_or_empty(realm, flags)?),
    };
    initialize(realm, object, source, flags)?;
    realm.set(object, realm.key_for(Name::last_index), Value::ZERO)?;
    Ok(Value::object(object))
}

fn this_object(realm: &mut Realm, args: Args, name: &str) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(object) => Ok(object),
        None => {
            let text = realm.describe(args.this);
            Err(realm.throw_type(&format!("RegExp.prototype.{name} getter called on non-object {text}")))
        }
    }
}

/// get RegExp.prototype.flags (22.2.6.4)
fn flags(realm: &mut Realm, args: Args) -> Completion {
    let object = this_object(realm, args, "flags")?;
    if realm.is_pristine_regexp(object) {
        return Ok(Value::string(realm.cage.r(object, 24)));
    }
    let mut letters = String::new();
    for (letter, name, _) in FLAG_GETTERS {
        let value = realm.get_name(object, name)?;
        if realm.to_boolean(value) {
            letters.push(char::from(letter));
        }
    }
    Ok(Value::string(realm.intern_str(&letters)?))
}

/// RegExpHasFlag (22.2.6.4.1)
fn has_flag(realm: &mut Realm, args: Args, letter: u8, name: &str) -> Completion {
    let object = this_object(realm, args, name)?;
    if realm.cage.is(object, Kind::RegExp) {
        let flags = RegExpFlags::from_bits(realm.cage.u32(object, 20) as u8);
        return Ok(Value::boolean(flags.has(letter)));
    }
    if object == realm.intrinsic(Intrinsic::RegExpPrototype) {
        return Ok(Value::UNDEFINED);
    }
    Err(realm.throw_type(&format!("RegExp.prototype.{name} getter called on non-RegExp object")))
}

/// The getters of single flags.
macro_rules! flag_getters {
    ($($(#[$doc:meta])* $function:ident = $letter:literal, $name:literal;)*) => {
        $($(#[$doc])* fn $function(realm: &mut Realm, args: Args) -> Completion {
            has_flag(realm, args, $letter, $name)
        })*
    };
}

flag_getters! {
    /// get RegExp.prototype.dotAll (22.2.6.3)
    dot_all = b's', "dotAll";
    /// get RegExp.prototype.global (22.2.6.5)
    global = b'g', "global";
    /// get RegExp.prototype.hasIndices (22.2.6.6)
    has_indices = b'd', "hasIndices";
    /// get RegExp.prototype.ignoreCase (22.2.6.7)
    ignore_case = b'i', "ignoreCase";
    /// get RegExp.prototype.multiline (22.2.6.10)
    multiline = b'm', "multiline";
    /// get RegExp.prototype.sticky (22.2.6.15)
    sticky = b'y', "sticky";
    /// get RegExp.prototype.unicode (22.2.6.18)
    unicode = b'u', "unicode";
    /// get RegExp.prototype.unicodeSets (22.2.6.19)
    unicode_sets = b'v', "unicodeSets";
}

/// get RegExp.prototype.source (22.2.6.13)
fn source(realm: &mut Realm, args: Args) -> Completion {
    let object = this_object(realm, args, "source")?;
    if !realm.cage.is(object, Kind::RegExp) {
        if object == realm.intrinsic(Intrinsic::RegExpPrototype) {
            return realm.string_value("(?:)");
        }
        return Err(realm.throw_type("RegExp.prototype.source getter called on non-RegExp object"));
    }
    let source = realm.cage.r(object, 16);
    let view = realm.view(source)?;
    match pattern::escape_source(&view) {
        Some(units) => Ok(Value::string(realm.new_utf16(&units)?)),
        None => Ok(Value::string(source)),
    }
}

/// RegExp.prototype.toString (22.2.6.17)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.this.to_object_ref() else {
        let text = realm.describe(args.this);
        return Err(
            realm.throw_type(&format!("Method RegExp.prototype.toString called on incompatible receiver {text}"))
        );
    };
    let mut out = TextBuilder::new();
    out.push_ascii("/");
    for (name, end) in [(Name::source, "/"), (Name::flags, "")] {
        let part = realm.get_name(object, name)?;
        let part = realm.to_string(part)?;
        out.push_string(realm, part)?;
        out.push_ascii(end);
    }
    Ok(Value::string(out.finish(realm)?))
}
