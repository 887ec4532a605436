//! RegExp.prototype: match, matchAll, search and split (ECMA-262 22.2.6), and the iterator of matchAll
//! (22.2.9).

use super::regexp_exec::{species_is_plain, this_object};
use super::*;
use crate::interp::iterate::sort;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::objects::Key;
use crate::pure::Units;
use crate::strings::StrView;

/// The receiver and the first argument as a string: how every method here begins.
fn receiver_and_text(realm: &mut Realm, args: Args, method: &str) -> Completion<(Ref, Ref)> {
    let regexp = this_object(realm, args, method)?;
    let text = args.get(realm, 0);
    Ok((regexp, realm.to_string(text)?))
}

/// ToString(Get(rx, "flags")): whether it has `g`, and `u` or `v`.
pub(super) fn observed_flags(realm: &mut Realm, regexp: Ref) -> Completion<(Ref, bool, bool)> {
    let flags = realm.get_name(regexp, Name::flags)?;
    let flags = realm.to_string(flags)?;
    let view = realm.view(flags)?;
    let has = |letter: &[u8]| view.find(StrView::Latin1(letter), 0).is_some();
    Ok((flags, has(b"g"), has(b"u") || has(b"v")))
}

/// After an empty match: Set(rx, "lastIndex", AdvanceStringIndex(S, ToLength(Get(rx, "lastIndex")))).
pub(super) fn step_over_empty(realm: &mut Realm, regexp: Ref, text: Ref, unicode: bool) -> Completion<()> {
    let index = realm.last_index(regexp)?;
    let next = realm.advance_string_index(text, index, unicode)?;
    realm.set(regexp, realm.key_for(Name::last_index), Value::number(next))
}

/// RegExp.prototype [ %Symbol.match% ] (22.2.6.8)
pub(super) fn match_(realm: &mut Realm, args: Args) -> Completion {
    let (regexp, text) = receiver_and_text(realm, args, "[Symbol.match]")?;
    if realm.is_pristine_regexp(regexp) {
        if !realm.regexp_flags(regexp).has(b'g') {
            return realm.regexp_builtin_exec(regexp, text);
        }
        return match_global(realm, regexp, text);
    }
    let (_, global, unicode) = observed_flags(realm, regexp)?;
    if !global {
        return realm.regexp_exec(regexp, text);
    }
    realm.set(regexp, realm.key_for(Name::last_index), Value::ZERO)?;
    let array = realm.new_array()?;
    loop {
        realm.charge(1)?;
        let result = realm.regexp_exec(regexp, text)?;
        let Some(result) = result.to_object_ref() else { break };
        let matched = realm.get(result, Key::Index(0))?;
        let matched = realm.to_string(matched)?;
        realm.array_push(array, Value::string(matched))?;
        if realm.string_len(matched) == 0 {
            step_over_empty(realm, regexp, text, unicode)?;
        }
    }
    Ok(if realm.array_length(array) == 0 { Value::NULL } else { Value::object(array) })
}

/// All matches of a pristine global RegExp as texts; `lastIndex` ends as 0.
fn match_global(realm: &mut Realm, regexp: Ref, text: Ref) -> Completion {
    realm.set_last_index(regexp, 0)?;
    let array = realm.new_array()?;
    each_match(realm, regexp, text, |realm, captures| {
        let matched = realm.capture_value(text, captures, 0)?;
        realm.array_push(array, matched)
    })?;
    Ok(if realm.array_length(array) == 0 { Value::NULL } else { Value::object(array) })
}

/// Calls `each` for every match of a pristine global RegExp from the start. `each` must not run script.
pub(super) fn each_match(
    realm: &mut Realm,
    regexp: Ref,
    text: Ref,
    mut each: impl FnMut(&mut Realm, &crate::pure::regexp::Captures) -> Completion<()>,
) -> Completion<()> {
    let flags = realm.regexp_flags(regexp);
    let source = realm.cage.r(regexp, 16);
    let program = realm.regexp_program(source, flags)?;
    let view = realm.view(text)?;
    let mut captures = realm.regexps.take_captures();
    let mut at = 0;
    let mut result = Ok(());
    while at <= view.len() {
        match realm.run_program(&program, view, at, flags.has(b'y'), &mut captures) {
            Ok(true) => {}
            Ok(false) => break,
            Err(throw) => {
                result = Err(throw);
                break;
            }
        }
        result = each(realm, &captures);
        if result.is_err() {
            break;
        }
        at = captures.end();
        if captures.start() == at {
            let is_pair = flags.is_unicode() && at < view.len() && view.code_point_at(at).1 == 2;
            at += if is_pair { 2 } else { 1 };
        }
    }
    realm.regexps.give_back(captures);
    result
}

/// RegExp.prototype [ %Symbol.matchAll% ] (22.2.6.9)
pub(super) fn match_all(realm: &mut Realm, args: Args) -> Completion {
    let (regexp, text) = receiver_and_text(realm, args, "[Symbol.matchAll]")?;
    let constructor = realm.species_constructor(regexp, Intrinsic::RegExp)?;
    let (flags, global, unicode) = observed_flags(realm, regexp)?;
    let matcher = realm.construct(constructor, &[Value::object(regexp), Value::string(flags)], constructor)?;
    let last_index = realm.last_index(regexp)?;
    realm.set(matcher.as_ref(), realm.key_for(Name::last_index), Value::number(last_index))?;
    // CreateRegExpStringIterator (22.2.9.1): global and unicode in the index word.
    let iterator = realm.new_iterator(matcher, sort::REGEXP_STRING, Intrinsic::RegExpStringIteratorPrototype)?;
    realm.cage.set(iterator, 24, Value::string(text).0);
    realm.cage.set(iterator, 32, u32::from(global) | u32::from(unicode) << 1);
    Ok(Value::object(iterator))
}

/// %RegExpStringIteratorPrototype%.next (22.2.9.2.1)
pub(super) fn string_iterator_next(realm: &mut Realm, args: Args) -> Completion {
    let iterator = match args.this.to_object_ref() {
        Some(cell) if realm.cage.is(cell, Kind::Iterator) && realm.cage.u32(cell, 36) == sort::REGEXP_STRING => cell,
        _ => {
            let text = realm.describe(args.this);
            return Err(realm.throw_type(&format!(
                "Method %RegExpStringIterator.prototype%.next called on incompatible receiver {text}"
            )));
        }
    };
    let matcher = Value(realm.cage.get(iterator, 16));
    let Some(regexp) = matcher.to_object_ref() else {
        return realm.new_iterator_result(Value::UNDEFINED, true);
    };
    let text = Value(realm.cage.get(iterator, 24)).as_ref();
    let bits = realm.cage.u32(iterator, 32);
    let finish = |realm: &mut Realm| realm.cage.set(iterator, 16, Value::UNDEFINED.0);
    let result = match realm.regexp_exec(regexp, text) {
        Ok(result) => result,
        Err(throw) => {
            finish(realm);
            return Err(throw);
        }
    };
    let Some(array) = result.to_object_ref() else {
        finish(realm);
        return realm.new_iterator_result(Value::UNDEFINED, true);
    };
    if bits & 1 == 0 {
        finish(realm);
        return realm.new_iterator_result(result, false);
    }
    let matched = realm.get(array, Key::Index(0))?;
    let matched = realm.to_string(matched)?;
    if realm.string_len(matched) == 0 {
        step_over_empty(realm, regexp, text, bits & 2 != 0)?;
    }
    realm.new_iterator_result(result, false)
}

/// RegExp.prototype [ %Symbol.search% ] (22.2.6.12)
pub(super) fn search(realm: &mut Realm, args: Args) -> Completion {
    let (regexp, text) = receiver_and_text(realm, args, "[Symbol.search]")?;
    if realm.is_pristine_regexp(regexp) {
        // lastIndex is put back in the end, so it need not be touched.
        let flags = realm.regexp_flags(regexp);
        let source = realm.cage.r(regexp, 16);
        let program = realm.regexp_program(source, flags)?;
        let view = realm.view(text)?;
        let mut captures = realm.regexps.take_captures();
        let found = realm.run_program(&program, view, 0, flags.has(b'y'), &mut captures);
        let index = captures.start();
        realm.regexps.give_back(captures);
        return Ok(Value::int(if found? { index as i32 } else { -1 }));
    }
    let key = realm.key_for(Name::last_index);
    let previous = realm.get(regexp, key)?;
    if !realm.same_value(previous, Value::ZERO)? {
        realm.set(regexp, key, Value::ZERO)?;
    }
    let result = realm.regexp_exec(regexp, text)?;
    let current = realm.get(regexp, key)?;
    if !realm.same_value(current, previous)? {
        realm.set(regexp, key, previous)?;
    }
    match result.to_object_ref() {
        Some(result) => realm.get_name(result, Name::index),
        None => Ok(Value::int(-1)),
    }
}

/// RegExp.prototype [ %Symbol.split% ] (22.2.6.14)
pub(super) fn split(realm: &mut Realm, args: Args) -> Completion {
    let (regexp, text) = receiver_and_text(realm, args, "[Symbol.split]")?;
    let limit = args.get(realm, 1);
    if realm.is_pristine_regexp(regexp) && species_is_plain(realm) && (limit.is_undefined() || limit.is_number()) {
        let limit = if limit.is_undefined() { u32::MAX } else { realm.to_uint32(limit)? };
        return split_pristine(realm, regexp, text, limit);
    }
    let constructor = realm.species_constructor(regexp, Intrinsic::RegExp)?;
    let (flags, _, unicode) = observed_flags(realm, regexp)?;
    let has_sticky = realm.view(flags)?.find(StrView::Latin1(b"y"), 0).is_some();
    let new_flags = if has_sticky { flags } else { realm.concat(flags, realm.single_unit(b'y'))? };
    let splitter = realm.construct(constructor, &[Value::object(regexp), Value::string(new_flags)], constructor)?;
    let splitter = splitter.as_ref();
    let array = realm.new_array()?;
    let limit = if limit.is_undefined() { u32::MAX } else { realm.to_uint32(limit)? };
    if limit == 0 {
        return Ok(Value::object(array));
    }
    let size = f64::from(realm.string_len(text));
    if size == 0.0 {
        if realm.regexp_exec(splitter, text)?.is_null() {
            realm.array_push(array, Value::string(text))?;
        }
        return Ok(Value::object(array));
    }
    let (mut piece_start, mut at) = (0.0, 0.0);
    while at < size {
        realm.charge(1)?;
        realm.set(splitter, realm.key_for(Name::last_index), Value::number(at))?;
        let result = realm.regexp_exec(splitter, text)?;
        let Some(result) = result.to_object_ref() else {
            at = realm.advance_string_index(text, at, unicode)?;
            continue;
        };
        let end = realm.last_index(splitter)?.min(size);
        if end == piece_start {
            at = realm.advance_string_index(text, at, unicode)?;
            continue;
        }
        let piece = realm.substring(text, piece_start as u32, at as u32)?;
        realm.array_push(array, Value::string(piece))?;
        if realm.array_length(array) == limit {
            return Ok(Value::object(array));
        }
        piece_start = end;
        let captures = (realm.length_of(result)? - 1.0).max(0.0);
        let mut i = 1;
        while f64::from(i) <= captures {
            let capture = realm.get(result, Key::Index(i))?;
            realm.array_push(array, capture)?;
            if realm.array_length(array) == limit {
                return Ok(Value::object(array));
            }
            i += 1;
        }
        at = piece_start;
    }
    let piece = realm.substring(text, piece_start as u32, size as u32)?;
    realm.array_push(array, Value::string(piece))?;
    Ok(Value::object(array))
}

/// The same for a RegExp without surprises: trying each position in turn is one search.
fn split_pristine(realm: &mut Realm, regexp: Ref, text: Ref, limit: u32) -> Completion {
    let mut captures = realm.regexps.take_captures();
    let result = split_with(realm, regexp, text, limit, &mut captures);
    realm.regexps.give_back(captures);
    result
}

fn split_with(
    realm: &mut Realm,
    regexp: Ref,
    text: Ref,
    limit: u32,
    captures: &mut crate::pure::regexp::Captures,
) -> Completion {
    let flags = realm.regexp_flags(regexp);
    let source = realm.cage.r(regexp, 16);
    let program = realm.regexp_program(source, flags)?;
    let array = realm.new_array()?;
    if limit == 0 {
        return Ok(Value::object(array));
    }
    let view = realm.view(text)?;
    let size = view.len();
    if size == 0 {
        if !realm.run_program(&program, view, 0, true, captures)? {
            realm.array_push(array, Value::string(text))?;
        }
        return Ok(Value::object(array));
    }
    let (mut piece_start, mut at) = (0, 0);
    while at < size && realm.run_program(&program, view, at, false, captures)? {
        let (start, end) = (captures.start(), captures.end());
        if start >= size {
            break;
        }
        if end == piece_start {
            let is_pair = flags.is_unicode() && view.code_point_at(start).1 == 2;
            at = start + if is_pair { 2 } else { 1 };
            continue;
        }
        let piece = realm.substring(text, piece_start as u32, start as u32)?;
        realm.array_push(array, Value::string(piece))?;
        if realm.array_length(array) == limit {
            return Ok(Value::object(array));
        }
        for n in 1..captures.count() {
            let value = realm.capture_value(text, captures, n)?;
            realm.array_push(array, value)?;
            if realm.array_length(array) == limit {
                return Ok(Value::object(array));
            }
        }
        piece_start = end;
        at = end;
    }
    let piece = realm.substring(text, piece_start as u32, size as u32)?;
    realm.array_push(array, Value::string(piece))?;
    Ok(Value::object(array))
}
