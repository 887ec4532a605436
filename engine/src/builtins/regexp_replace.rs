//! RegExp.prototype [ %Symbol.replace% ] (ECMA-262 22.2.6.11) and replacement templates with named groups.

use super::regexp_exec::this_object;
use super::regexp_symbols::{each_match, observed_flags, step_over_empty};
use super::string_search::{MatchedText, substitute_one};
use super::text::TextBuilder;
use super::*;
use crate::names::Name;
use crate::objects::Key;
use crate::pure::regexp::{Captures, Program};
use crate::strings::StrView;

/// RegExp.prototype [ %Symbol.replace% ] (22.2.6.11)
pub(super) fn replace(realm: &mut Realm, args: Args) -> Completion {
    let regexp = this_object(realm, args, "[Symbol.replace]")?;
    let text = args.get(realm, 0);
    let text = realm.to_string(text)?;
    let replacement = args.get(realm, 1);
    let callable = realm.is_callable(replacement);
    let template = if callable { realm.names.empty } else { realm.to_string(replacement)? };
    if realm.is_pristine_regexp(regexp) {
        return replace_pristine(realm, regexp, text, replacement, callable, template);
    }
    let (_, global, unicode) = observed_flags(realm, regexp)?;
    if global {
        realm.set(regexp, realm.key_for(Name::last_index), Value::ZERO)?;
    }
    let results = realm.new_array()?;
    loop {
        realm.charge(1)?;
        let result = realm.regexp_exec(regexp, text)?;
        let Some(array) = result.to_object_ref() else { break };
        realm.array_push(results, result)?;
        if !global {
            break;
        }
        let matched = realm.get(array, Key::Index(0))?;
        let matched = realm.to_string(matched)?;
        if realm.string_len(matched) == 0 {
            step_over_empty(realm, regexp, text, unicode)?;
        }
    }
    replace_results(realm, text, results, replacement, callable, template)
}

/// Steps 12 to 16: builds the result from the list of match objects.
fn replace_results(
    realm: &mut Realm,
    text: Ref,
    results: Ref,
    replacement: Value,
    callable: bool,
    template: Ref,
) -> Completion {
    let length = realm.string_len(text);
    let mut out = TextBuilder::new();
    let mut copied = 0usize;
    for i in 0..realm.array_length(results) {
        let Some(own) = realm.stored_element(results, i) else { continue };
        let result = own.value.as_ref();
        let capture_count = (realm.length_of(result)? - 1.0).max(0.0);
        let matched = realm.get(result, Key::Index(0))?;
        let matched = realm.to_string(matched)?;
        let position = realm.get_name(result, Name::index)?;
        let position = realm.to_integer(position)?.clamp(0.0, f64::from(length)) as usize;
        // Arguments of the function: match, captures, position, subject and perhaps groups.
        let list = realm.new_array()?;
        realm.array_push(list, Value::string(matched))?;
        let mut n = 1;
        while f64::from(n) <= capture_count {
            let capture = realm.get(result, Key::Index(n))?;
            let capture = if capture.is_undefined() { capture } else { Value::string(realm.to_string(capture)?) };
            realm.array_push(list, capture)?;
            n += 1;
        }
        let groups = realm.get_name(result, Name::groups)?;
        let replaced = if callable {
            realm.array_push(list, Value::int(position as i32))?;
            realm.array_push(list, Value::string(text))?;
            if !groups.is_undefined() {
                realm.array_push(list, groups)?;
            }
            call_with_array(realm, replacement, list)?
        } else {
            let groups = if groups.is_undefined() { None } else { Some(realm.to_object(groups)?) };
            substitute_objects(realm, template, text, position, list, groups)?
        };
        if position >= copied {
            let view = realm.view(text)?;
            out.push_view(view.slice(copied, position));
            out.push_string(realm, replaced)?;
            copied = position + realm.string_len(matched) as usize;
        }
        if out.is_too_long() {
            break;
        }
    }
    let view = realm.view(text)?;
    if copied < view.len() {
        out.push_view(view.slice(copied, view.len()));
    }
    Ok(Value::string(out.finish(realm)?))
}

/// Calls a replacement function with the elements of an array the engine made; its result as a string.
fn call_with_array(realm: &mut Realm, function: Value, array: Ref) -> Completion<Ref> {
    let count = realm.array_length(array);
    let list = realm.new_values(count, Value::UNDEFINED)?;
    for i in 0..count {
        let value = realm.stored_element(array, i).map_or(Value::UNDEFINED, |own| own.value);
        realm.cage.set(list, 8 + 8 * i, value.0);
    }
    let result = realm.call_list(function, Value::UNDEFINED, list)?;
    realm.to_string(result)
}

/// GetSubstitution (22.1.3.19.1) where captures are values in `list` (the match first, then the groups) and
/// named groups are properties of an object.
fn substitute_objects(
    realm: &mut Realm,
    template: Ref,
    text: Ref,
    position: usize,
    list: Ref,
    groups: Option<Ref>,
) -> Completion<Ref> {
    let mut out = TextBuilder::new();
    let view = realm.view(template)?;
    let count = realm.array_length(list) as usize - 1;
    let element =
        |realm: &Realm, n: usize| realm.stored_element(list, n as u32).map_or(Value::UNDEFINED, |own| own.value);
    let matched = element(realm, 0).as_ref();
    let matched_length = realm.string_len(matched) as usize;
    let mut at = 0;
    while let Some(found) = view.find(StrView::Latin1(b"$"), at) {
        out.push_view(view.slice(at, found));
        at = found;
        let digit = |i: usize| {
            let unit = if i < view.len() { view.at(i) } else { 0 };
            (0x30..=0x39).contains(&unit).then(|| usize::from(unit - 0x30))
        };
        let next = if at + 1 < view.len() { view.at(at + 1) } else { 0 };
        if let Some(first) = digit(at + 1) {
            let (number, taken) = match digit(at + 2) {
                Some(second) if (1..=count).contains(&(10 * first + second)) => (10 * first + second, 3),
                _ => (first, 2),
            };
            if (1..=count).contains(&number) {
                let capture = element(realm, number);
                if capture.is_string() {
                    out.push_string(realm, capture.as_ref())?;
                }
                at += taken;
                continue;
            }
        } else if next == u16::from(b'<')
            && let Some(groups) = groups
            && let Some(end) = view.find(StrView::Latin1(b">"), at + 2)
        {
            let name = realm.substring(template, at as u32 + 2, end as u32)?;
            let key = realm.key_of_string(name)?;
            let capture = realm.get(groups, key)?;
            if !capture.is_undefined() {
                let capture = realm.to_string(capture)?;
                out.push_string(realm, capture)?;
            }
            at = end + 1;
            continue;
        } else if next == u16::from(b'&') {
            out.push_string(realm, matched)?;
            at += 2;
            continue;
        }
        let subject = realm.view(text)?;
        let end = (position + matched_length).min(subject.len());
        let plain = MatchedText { subject, start: position.min(end), end, groups: &[] };
        at += substitute_one(&mut out, view, at, &plain);
        if out.is_too_long() {
            break;
        }
    }
    out.push_view(view.slice(at, view.len()));
    out.finish(realm)
}

/// Replacement by a pristine RegExp: matches are positions only until a function needs values.
fn replace_pristine(
    realm: &mut Realm,
    regexp: Ref,
    text: Ref,
    replacement: Value,
    callable: bool,
    template: Ref,
) -> Completion {
    let flags = realm.regexp_flags(regexp);
    // All matches are found before the first function is called: positions, one group after the other.
    let mut matches: Vec<u32> = Vec::new();
    let mut width = 2;
    if flags.has(b'g') {
        realm.set_last_index(regexp, 0)?;
        each_match(realm, regexp, text, |_, captures| {
            width = captures.slots.len();
            matches.extend_from_slice(&captures.slots);
            Ok(())
        })?;
    } else {
        let mut captures = realm.regexps.take_captures();
        let found = realm.regexp_raw_exec(regexp, text, &mut captures);
        if found == Ok(true) {
            width = captures.slots.len();
            matches.extend_from_slice(&captures.slots);
        }
        realm.regexps.give_back(captures);
        found?;
    }
    if matches.is_empty() {
        return Ok(Value::string(text));
    }
    let source = realm.cage.r(regexp, 16);
    let program = realm.regexp_program(source, flags)?;
    let view = realm.view(text)?;
    let template_view = realm.view(template)?;
    let is_literal = template_view.find(StrView::Latin1(b"$"), 0).is_none();
    let mut out = TextBuilder::new();
    let mut copied = 0;
    let mut captures = Captures::default();
    for slots in matches.chunks_exact(width.max(2)) {
        captures.slots.clear();
        captures.slots.extend_from_slice(slots);
        out.push_view(view.slice(copied, captures.start()));
        copied = captures.end();
        if callable {
            let replaced = call_replacement(realm, &program, replacement, text, &captures)?;
            out.push_string(realm, replaced)?;
        } else if is_literal {
            out.push_view(template_view);
        } else {
            substitute_captures(&mut out, &program, template_view, view, &captures);
        }
        if out.is_too_long() {
            break;
        }
    }
    out.push_view(view.slice(copied, view.len()));
    Ok(Value::string(out.finish(realm)?))
}

/// Calls the replacement function for one match; its result as a string.
fn call_replacement(
    realm: &mut Realm,
    program: &Program,
    function: Value,
    text: Ref,
    captures: &Captures,
) -> Completion<Ref> {
    realm.charge(1)?;
    if captures.count() == 1 && program.group_names().is_empty() {
        let matched = realm.capture_value(text, captures, 0)?;
        let arguments = [matched, Value::int(captures.start() as i32), Value::string(text)];
        let result = realm.call(function, Value::UNDEFINED, &arguments)?;
        return realm.to_string(result);
    }
    let count = captures.count() as u32;
    let has_groups = !program.group_names().is_empty();
    let list = realm.new_values(count + 2 + u32::from(has_groups), Value::UNDEFINED)?;
    for n in 0..count {
        let value = realm.capture_value(text, captures, n as usize)?;
        realm.cage.set(list, 8 + 8 * n, value.0);
    }
    realm.cage.set(list, 8 + 8 * count, Value::int(captures.start() as i32).0);
    realm.cage.set(list, 16 + 8 * count, Value::string(text).0);
    if has_groups {
        let groups = realm.groups_object(program, |realm, n| realm.capture_value(text, captures, n))?;
        realm.cage.set(list, 24 + 8 * count, groups.0);
    }
    let result = realm.call_list(function, Value::UNDEFINED, list)?;
    realm.to_string(result)
}

/// GetSubstitution (22.1.3.19.1) on positions.
fn substitute_captures(
    out: &mut TextBuilder,
    program: &Program,
    template: StrView,
    subject: StrView,
    captures: &Captures,
) {
    let groups: Vec<Option<std::ops::Range<usize>>> =
        (1..captures.count()).map(|n| captures.group(n).map(|(start, end)| start..end)).collect();
    let matched = MatchedText { subject, start: captures.start(), end: captures.end(), groups: &groups };
    let mut at = 0;
    while let Some(found) = template.find(StrView::Latin1(b"$"), at) {
        out.push_view(template.slice(at, found));
        at = found;
        let is_name =
            !program.group_names().is_empty() && at + 1 < template.len() && template.at(at + 1) == u16::from(b'<');
        if is_name && let Some(end) = template.find(StrView::Latin1(b">"), at + 2) {
            let name = template.slice(at + 2, end);
            let group = program.group_names().iter().find(|group| name.equals(StrView::Utf16(&group.name)));
            let range = group.and_then(|group| group.groups.iter().find_map(|&n| captures.group(n as usize)));
            if let Some((start, end)) = range {
                out.push_view(subject.slice(start, end));
            }
            at = end + 1;
        } else {
            at += substitute_one(out, template, at, &matched);
        }
        if out.is_too_long() {
            return;
        }
    }
    out.push_view(template.slice(at, template.len()));
}
