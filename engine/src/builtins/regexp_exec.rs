//! Matching: RegExpBuiltinExec, RegExpExec and what exec and test return (ECMA-262 22.2.7).
//!
//! A RegExp is *pristine* when nothing that a script can observe stands between a method and the matcher:
//! plain shape, the prototype's `exec` and flag getters as installed. The methods under symbols then run
//! the matcher directly; otherwise they follow the specification step by step.

use std::sync::Arc;

use super::*;
use crate::kinds::{ELEMENTS, Kind, SHAPE};
use crate::names::{Intrinsic, Name};
use crate::objects::Key;
use crate::objects::function::BUILTIN;
use crate::pure::regexp::{self as pattern, Captures, Exhausted, Program, RegExpFlags, Text};
use crate::strings::StrView;

/// Slot of `lastIndex` in every RegExp object.
pub(super) const LAST_INDEX_SLOT: u32 = 0;

impl<'a> From<StrView<'a>> for Text<'a> {
    fn from(view: StrView<'a>) -> Text<'a> {
        match view {
            StrView::Latin1(units) => Text::Latin1(units),
            StrView::Utf16(units) => Text::Utf16(units),
        }
    }
}

/// The receiver if it has [[RegExpMatcher]].
pub(super) fn this_regexp(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::RegExp) => Ok(object),
        _ => {
            let text = realm.describe(args.this);
            Err(realm.throw_type(&format!("Method RegExp.prototype.{method} called on incompatible receiver {text}")))
        }
    }
}

/// The receiver, which must be an object.
pub(super) fn this_object(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(object) => Ok(object),
        None => {
            let text = realm.describe(args.this);
            Err(realm.throw_type(&format!("Method RegExp.prototype.{method} called on incompatible receiver {text}")))
        }
    }
}

impl Realm {
    /// The compiled program of an interned source and flags (22.2.3.3 steps 6 to 16).
    ///
    /// # Errors
    /// SyntaxError.
    pub(crate) fn regexp_program(&mut self, source: Ref, flags: RegExpFlags) -> Completion<Arc<Program>> {
        let bits = u32::from(flags.bits());
        if let Some(program) = self.regexps.find(source, bits) {
            return Ok(program);
        }
        let view = self.view(source)?;
        // Compilation is the same charge wherever the program comes from: fuel does not depend on other realms.
        self.charge(16 + view.len() as u32)?;
        let shared = self.shared_programs.clone().filter(|_| source.0 < self.cage.image_end());
        if let Some(program) = shared.as_ref().and_then(|shared| shared.find(source, bits)) {
            self.regexps.insert(source, bits, program.clone());
            return Ok(program);
        }
        match pattern::compile(&view, flags) {
            Ok(program) => {
                let program = Arc::new(program);
                self.regexps.insert(source, bits, program.clone());
                if let Some(shared) = shared {
                    shared.insert(source, bits, &program);
                }
                Ok(program)
            }
            Err(message) => {
                let text = view.to_text();
                let letters = flags.letters();
                Err(self.throw_syntax(&format!("Invalid regular expression: /{text}/{letters}: {message}")))
            }
        }
    }

    /// Flags of a RegExp cell.
    pub(super) fn regexp_flags(&self, regexp: Ref) -> RegExpFlags {
        RegExpFlags::from_bits(self.cage.u32(regexp, 20) as u8)
    }

    /// Whether `object` is a RegExp whose behaviour is the built-in one, see the header.
    pub(super) fn is_pristine_regexp(&mut self, object: Ref) -> bool {
        if !self.cage.is(object, Kind::RegExp) || self.cage.r(object, SHAPE) != self.intrinsic(Intrinsic::RegExpShape) {
            return false;
        }
        // Shape and slots of the prototype as they were installed: methods may be assigned, and accessors
        // exchanged, without a change of shape.
        let prototype = self.intrinsic(Intrinsic::RegExpPrototype);
        let installed = self.intrinsic(Intrinsic::RegExpPristine);
        let shape = self.cage.r(prototype, SHAPE);
        if Value(self.cage.get(installed, 8)) != Value::cell(shape) {
            return false;
        }
        (1..self.cage.u32(installed, 4))
            .all(|i| self.read_slot(prototype, shape, i - 1).0 == self.cage.get::<u64>(installed, 8 + 8 * i))
    }

    /// Sets `lastIndex` as Set(R, "lastIndex", n, true) does.
    pub(super) fn set_last_index(&mut self, regexp: Ref, index: usize) -> Completion<()> {
        let shape = self.cage.r(regexp, SHAPE);
        if shape == self.intrinsic(Intrinsic::RegExpShape) && self.cage.is(regexp, Kind::RegExp) {
            self.write_slot(regexp, shape, LAST_INDEX_SLOT, Value::number(index as f64));
            return Ok(());
        }
        self.set(regexp, self.key_for(Name::last_index), Value::number(index as f64))
    }

    /// ToLength(Get(R, "lastIndex")) of any object.
    pub(super) fn last_index(&mut self, regexp: Ref) -> Completion<f64> {
        if self.cage.is(regexp, Kind::RegExp) {
            let shape = self.cage.r(regexp, SHAPE);
            let value = self.read_slot(regexp, shape, LAST_INDEX_SLOT);
            if value.is_int() && value.as_int() >= 0 {
                return Ok(f64::from(value.as_int()));
            }
        }
        let value = self.get_name(regexp, Name::last_index)?;
        self.to_length(value)
    }

    /// Runs a program on a string; fuel by the length that was looked at.
    pub(super) fn run_program(
        &mut self,
        program: &Program,
        view: StrView,
        at: usize,
        sticky: bool,
        captures: &mut Captures,
    ) -> Completion<bool> {
        let mut scratch = std::mem::take(&mut self.regexps.scratch);
        // One unit of fuel is worth this many steps.
        const STEPS_PER_UNIT: u64 = 16;
        let steps_max = (self.fuel.max(0) as u64).saturating_mul(STEPS_PER_UNIT);
        let (found, steps) = program.exec(view.into(), at, sticky, captures, &mut scratch, steps_max);
        self.regexps.scratch = scratch;
        self.charge(1 + u32::try_from(steps / STEPS_PER_UNIT).unwrap_or(u32::MAX - 1))?;
        match found {
            Ok(found) => Ok(found),
            Err(Exhausted) => Err(self.throw_range("Maximum call stack size exceeded")),
        }
    }

    /// RegExpBuiltinExec (22.2.7.2) without the result array: fills `captures`.
    ///
    /// # Errors
    /// Whatever converting `lastIndex` throws; TypeError when it cannot be set.
    pub(super) fn regexp_raw_exec(&mut self, regexp: Ref, text: Ref, captures: &mut Captures) -> Completion<bool> {
        let last_index = self.last_index(regexp)?;
        let flags = self.regexp_flags(regexp);
        let keeps_index = flags.has(b'g') || flags.has(b'y');
        let last_index = if keeps_index { last_index } else { 0.0 };
        let view = self.view(text)?;
        if last_index > view.len() as f64 {
            self.set_last_index(regexp, 0)?;
            return Ok(false);
        }
        let source = self.cage.r(regexp, 16);
        let program = self.regexp_program(source, flags)?;
        if !self.run_program(&program, view, last_index as usize, flags.has(b'y'), captures)? {
            if keeps_index {
                self.set_last_index(regexp, 0)?;
            }
            return Ok(false);
        }
        if keeps_index {
            self.set_last_index(regexp, captures.end())?;
        }
        Ok(true)
    }

    /// RegExpBuiltinExec (22.2.7.2): the result array or null.
    ///
    /// # Errors
    /// As `regexp_raw_exec`.
    pub(super) fn regexp_builtin_exec(&mut self, regexp: Ref, text: Ref) -> Completion {
        let mut captures = self.regexps.take_captures();
        let found = self.regexp_raw_exec(regexp, text, &mut captures);
        let result = match found {
            Ok(true) => self.match_result(regexp, text, &captures),
            Ok(false) => Ok(Value::NULL),
            Err(throw) => Err(throw),
        };
        self.regexps.give_back(captures);
        result
    }

    /// RegExpExec (22.2.7.1).
    ///
    /// # Errors
    /// TypeError where `exec` returns neither object nor null; whatever it throws.
    pub(super) fn regexp_exec(&mut self, regexp: Ref, text: Ref) -> Completion {
        if self.is_pristine_regexp(regexp) {
            return self.regexp_builtin_exec(regexp, text);
        }
        let exec = self.get_name(regexp, Name::exec)?;
        if self.is_callable(exec) {
            let result = self.call(exec, Value::object(regexp), &[Value::string(text)])?;
            if !result.is_object() && !result.is_null() {
                return Err(self.throw_type("object null is not a function"));
            }
            return Ok(result);
        }
        if !self.cage.is(regexp, Kind::RegExp) {
            return Err(self.throw_type("RegExp.prototype.exec called on incompatible receiver"));
        }
        self.regexp_builtin_exec(regexp, text)
    }

    /// A group's text, undefined where it took no part.
    pub(super) fn capture_value(&mut self, text: Ref, captures: &Captures, n: usize) -> Completion {
        match captures.group(n) {
            Some((start, end)) => Ok(Value::string(self.substring(text, start as u32, end as u32)?)),
            None => Ok(Value::UNDEFINED),
        }
    }

    /// Steps 22 to 36 of RegExpBuiltinExec: the array of a match.
    fn match_result(&mut self, regexp: Ref, text: Ref, captures: &Captures) -> Completion {
        let flags = self.regexp_flags(regexp);
        let source = self.cage.r(regexp, 16);
        let program = self.regexp_program(source, flags)?;
        let shape = self.intrinsic(Intrinsic::MatchShape);
        let array = self.new_object_cell(Kind::Array, shape)?;
        let count = captures.count() as u32;
        let elements = self.new_elements(Kind::ElementsValues, count)?;
        self.cage.set(array, ELEMENTS, elements.0);
        for n in 0..count {
            let value = self.capture_value(text, captures, n as usize)?;
            self.cage.set(elements, 16 + 8 * n, value.0);
            self.cage.set(elements, 8, n + 1);
        }
        self.cage.set(array, 16, count);
        let groups = self.groups_object(&program, |realm, n| realm.capture_value(text, captures, n))?;
        self.write_slot(array, shape, 0, Value::int(captures.start() as i32));
        self.write_slot(array, shape, 1, Value::string(text));
        self.write_slot(array, shape, 2, groups);
        if flags.has(b'd') {
            let indices = self.match_indices(&program, captures)?;
            let key = self.key_for(Name::indices);
            self.create_data_property_or_throw(array, key, indices)?;
        }
        Ok(Value::object(array))
    }

    /// The object of named groups, undefined where the pattern has none. Of groups that share a name the one
    /// that took part counts.
    pub(super) fn groups_object(
        &mut self,
        program: &Program,
        mut value_of: impl FnMut(&mut Realm, usize) -> Completion,
    ) -> Completion {
        if program.group_names().is_empty() {
            return Ok(Value::UNDEFINED);
        }
        let groups = self.new_object_with_prototype(Ref::NULL)?;
        for group in program.group_names() {
            let name = self.new_utf16(&group.name)?;
            let key = self.key_of_string(name)?;
            let mut value = Value::UNDEFINED;
            for &n in &group.groups {
                value = value_of(self, n as usize)?;
                if !value.is_undefined() {
                    break;
                }
            }
            self.create_data_property_or_throw(groups, key, value)?;
        }
        Ok(Value::object(groups))
    }

    /// MakeMatchIndicesIndexPairArray (22.2.7.8)
    fn match_indices(&mut self, program: &Program, captures: &Captures) -> Completion {
        let pair = |realm: &mut Realm, n: usize| match captures.group(n) {
            Some((start, end)) => {
                let pair = [Value::int(start as i32), Value::int(end as i32)];
                Ok(Value::object(realm.new_array_from(&pair)?))
            }
            None => Ok(Value::UNDEFINED),
        };
        let array = self.new_array()?;
        for n in 0..captures.count() {
            let value = pair(self, n)?;
            self.array_push(array, value)?;
        }
        let groups = self.groups_object(program, |realm, n| {
            // The pairs of groups and of indices are the same objects.
            Ok(realm.stored_element(array, n as u32).map_or(Value::UNDEFINED, |own| own.value))
        })?;
        let key = self.key_for(Name::groups);
        self.create_data_property_or_throw(array, key, groups)?;
        Ok(Value::object(array))
    }

    /// AdvanceStringIndex (22.2.7.3)
    pub(super) fn advance_string_index(&mut self, text: Ref, index: f64, unicode: bool) -> Completion<f64> {
        if unicode && index < f64::from(self.string_len(text)) {
            let view = self.view(text)?;
            return Ok(index + crate::pure::Units::code_point_at(&view, index as usize).1 as f64);
        }
        Ok(index + 1.0)
    }
}

/// RegExp.prototype.exec (22.2.6.2)
pub(super) fn exec(realm: &mut Realm, args: Args) -> Completion {
    let regexp = this_regexp(realm, args, "exec")?;
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    realm.regexp_builtin_exec(regexp, text)
}

/// RegExp.prototype.test (22.2.6.16)
pub(super) fn test(realm: &mut Realm, args: Args) -> Completion {
    let regexp = this_object(realm, args, "test")?;
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    if realm.is_pristine_regexp(regexp) {
        let mut captures = realm.regexps.take_captures();
        let found = realm.regexp_raw_exec(regexp, text, &mut captures);
        realm.regexps.give_back(captures);
        return Ok(Value::boolean(found?));
    }
    let result = realm.regexp_exec(regexp, text)?;
    Ok(Value::boolean(!result.is_null()))
}

/// Whether Get(object, "constructor") and its species are the built-in ones.
pub(super) fn species_is_plain(realm: &mut Realm) -> bool {
    let prototype = realm.intrinsic(Intrinsic::RegExpPrototype);
    let constructor = realm.intrinsic(Intrinsic::RegExp);
    let own = realm.get_own_quiet(prototype, realm.key_for(Name::constructor));
    if own.is_none_or(|own| own.is_accessor() || own.value != Value::object(constructor)) {
        return false;
    }
    let key = Key::Name(realm.symbol(crate::names::Sym::Species));
    let Some(own) = realm.get_own_quiet(constructor, key) else { return false };
    if !own.is_accessor() {
        return false;
    }
    let getter = realm.cage.r(own.value.as_ref(), 4);
    !getter.is_null()
        && realm.cage.is(getter, Kind::NativeFunction)
        && realm.cage.u32(getter, BUILTIN) == super::function::SPECIES
}
