//! String.prototype: searching, splitting, replacing and matching (ECMA-262 22.1.3).

use super::string::{find_last, this_string};
use super::text::TextBuilder;
use super::*;
use crate::names::Sym;
use crate::objects::Key;
use crate::strings::StrView;

/// The first argument as a string, refusing regular expressions (steps 3 to 5 of includes, startsWith and
/// endsWith).
fn search_string(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    let value = args.get(realm, 0);
    if super::regexp::is_regexp(realm, value)? {
        return Err(
            realm.throw_type(&format!("First argument to String.prototype.{method} must not be a regular expression"))
        );
    }
    realm.to_string(value)
}

/// Argument `index` as a position clamped to `0..=length`.
fn position(realm: &mut Realm, args: Args, index: usize, length: u32) -> Completion<usize> {
    let value = args.get(realm, index);
    Ok(realm.to_integer(value)?.clamp(0.0, f64::from(length)) as usize)
}

/// String.prototype.includes (22.1.3.8)
pub(super) fn includes(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "includes")?;
    let needle = search_string(realm, args, "includes")?;
    let length = realm.string_len(text);
    let start = position(realm, args, 1, length)?;
    let hay = realm.view(text)?;
    let needle = realm.view(needle)?;
    Ok(Value::boolean(hay.find(needle, start).is_some()))
}

/// String.prototype.startsWith (22.1.3.24)
pub(super) fn starts_with(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "startsWith")?;
    let needle = search_string(realm, args, "startsWith")?;
    let length = realm.string_len(text);
    let start = position(realm, args, 1, length)?;
    let hay = realm.view(text)?;
    let needle = realm.view(needle)?;
    let end = start + needle.len();
    Ok(Value::boolean(end <= hay.len() && hay.slice(start, end).equals(needle)))
}

/// String.prototype.endsWith (22.1.3.7)
pub(super) fn ends_with(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "endsWith")?;
    let needle = search_string(realm, args, "endsWith")?;
    let length = realm.string_len(text);
    let end = if args.get(realm, 1).is_undefined() { length as usize } else { position(realm, args, 1, length)? };
    let hay = realm.view(text)?;
    let needle = realm.view(needle)?;
    let start = end.checked_sub(needle.len());
    Ok(Value::boolean(start.is_some_and(|start| hay.slice(start, end).equals(needle))))
}

fn index_value(index: Option<usize>) -> Value {
    index.map_or(Value::int(-1), |i| Value::int(i as i32))
}

/// String.prototype.indexOf (22.1.3.9)
pub(super) fn index_of(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "indexOf")?;
    let needle = args.get(realm, 0);
    let needle = realm.to_string(needle)?;
    let length = realm.string_len(text);
    let start = position(realm, args, 1, length)?;
    let hay = realm.view(text)?;
    let needle = realm.view(needle)?;
    Ok(index_value(hay.find(needle, start)))
}

/// String.prototype.lastIndexOf (22.1.3.11)
pub(super) fn last_index_of(realm: &mut Realm, args: Args) -> Completion {
    let text = this_string(realm, args, "lastIndexOf")?;
    let needle = args.get(realm, 0);
    let needle = realm.to_string(needle)?;
    let from = args.get(realm, 1);
    let from = realm.to_number(from)?;
    let length = f64::from(realm.string_len(text));
    let from = if from.is_nan() { length } else { from.trunc().clamp(0.0, length) };
    let hay = realm.view(text)?;
    let needle = realm.view(needle)?;
    Ok(index_value(find_last(hay, needle, from as usize)))
}

/// The method of a pattern argument under a well-known symbol, where the argument is an object (primitive
/// patterns are not asked).
fn pattern_method(realm: &mut Realm, pattern: Value, symbol: Sym) -> Completion<Option<Value>> {
    if !pattern.is_object() {
        return Ok(None);
    }
    let key = Key::Name(realm.symbol(symbol));
    let method = realm.get_method(pattern, key)?;
    Ok((!method.is_undefined()).then_some(method))
}

/// Steps of matchAll and replaceAll: a regular expression must be global.
fn require_global(realm: &mut Realm, pattern: Value, method: &str) -> Completion<()> {
    if !super::regexp::is_regexp(realm, pattern)? {
        return Ok(());
    }
    let flags = realm.get_value(pattern, realm.key_for(crate::names::Name::flags))?;
    realm.require_object_coercible(flags, &format!("String.prototype.{method}"))?;
    let flags = realm.to_string(flags)?;
    let view = realm.view(flags)?;
    if view.find(StrView::Latin1(b"g"), 0).is_none() {
        return Err(realm.throw_type(&format!("String.prototype.{method} called with a non-global RegExp argument")));
    }
    Ok(())
}

/// Makes a regular expression of a pattern and calls its method: how match, matchAll and search end.
fn with_new_regexp(realm: &mut Realm, text: Ref, pattern: Value, flags: &str, symbol: Sym) -> Completion {
    let source = if pattern.is_undefined() { realm.names.empty } else { realm.to_string(pattern)? };
    let flags = realm.new_string(flags)?;
    let regexp = super::regexp::create(realm, source, flags)?;
    let key = Key::Name(realm.symbol(symbol));
    let method = realm.get(regexp, key)?;
    realm.call(method, Value::object(regexp), &[Value::string(text)])
}

fn require_this(realm: &mut Realm, args: Args, method: &str) -> Completion<()> {
    if args.this.is_nullish() {
        realm.require_object_coercible(args.this, &format!("String.prototype.{method}"))?;
    }
    Ok(())
}

/// String.prototype.match (22.1.3.13)
pub(super) fn match_(realm: &mut Realm, args: Args) -> Completion {
    require_this(realm, args, "match")?;
    let pattern = args.get(realm, 0);
    if let Some(method) = pattern_method(realm, pattern, Sym::Match)? {
        return realm.call(method, pattern, &[args.this]);
    }
    let text = realm.to_string(args.this)?;
    with_new_regexp(realm, text, pattern, "", Sym::Match)
}

/// String.prototype.matchAll (22.1.3.14)
pub(super) fn match_all(realm: &mut Realm, args: Args) -> Completion {
    require_this(realm, args, "matchAll")?;
    let pattern = args.get(realm, 0);
    if pattern.is_object() {
        require_global(realm, pattern, "matchAll")?;
    }
    if let Some(method) = pattern_method(realm, pattern, Sym::MatchAll)? {
        return realm.call(method, pattern, &[args.this]);
    }
    let text = realm.to_string(args.this)?;
    with_new_regexp(realm, text, pattern, "g", Sym::MatchAll)
}

/// String.prototype.search (22.1.3.21)
pub(super) fn search(realm: &mut Realm, args: Args) -> Completion {
    require_this(realm, args, "search")?;
    let pattern = args.get(realm, 0);
    if let Some(method) = pattern_method(realm, pattern, Sym::Search)? {
        return realm.call(method, pattern, &[args.this]);
    }
    let text = realm.to_string(args.this)?;
    with_new_regexp(realm, text, pattern, "", Sym::Search)
}

/// String.prototype.replace (22.1.3.19)
pub(super) fn replace(realm: &mut Realm, args: Args) -> Completion {
    replace_with(realm, args, false)
}

/// String.prototype.replaceAll (22.1.3.20)
pub(super) fn replace_all(realm: &mut Realm, args: Args) -> Completion {
    replace_with(realm, args, true)
}

fn replace_with(realm: &mut Realm, args: Args, all: bool) -> Completion {
    let name = if all { "replaceAll" } else { "replace" };
    require_this(realm, args, name)?;
    let pattern = args.get(realm, 0);
    let replacement = args.get(realm, 1);
    if all && pattern.is_object() {
        require_global(realm, pattern, name)?;
    }
    if let Some(method) = pattern_method(realm, pattern, Sym::Replace)? {
        return realm.call(method, pattern, &[args.this, replacement]);
    }
    let text = realm.to_string(args.this)?;
    let needle = realm.to_string(pattern)?;
    let callable = realm.is_callable(replacement);
    let template = if callable { realm.names.empty } else { realm.to_string(replacement)? };
    let hay = realm.view(text)?;
    let needle_view = realm.view(needle)?;
    let template_view = realm.view(template)?;
    let mut out = TextBuilder::new();
    let mut copied = 0;
    let mut next = hay.find(needle_view, 0);
    if next.is_none() {
        return Ok(Value::string(text));
    }
    while let Some(at) = next {
        realm.charge(1)?;
        out.push_view(hay.slice(copied, at));
        copied = at + needle_view.len();
        if callable {
            let arguments = [Value::string(needle), Value::int(at as i32), Value::string(text)];
            let result = realm.call(replacement, Value::UNDEFINED, &arguments)?;
            let result = realm.to_string(result)?;
            out.push_string(realm, result)?;
        } else {
            let matched = MatchedText { subject: hay, start: at, end: copied, groups: &[] };
            substitute(&mut out, template_view, &matched);
        }
        if !all || out.is_too_long() {
            break;
        }
        // An empty needle matches once at every position (StringIndexOf with advance max(1, length)).
        next = if at + needle_view.len().max(1) > hay.len() {
            None
        } else {
            hay.find(needle_view, at + needle_view.len().max(1))
        };
    }
    out.push_view(hay.slice(copied, hay.len()));
    Ok(Value::string(out.finish(realm)?))
}

/// What a replacement template refers to: the subject, the match, and its groups (without names).
pub(super) struct MatchedText<'a> {
    pub subject: StrView<'a>,
    pub start: usize,
    pub end: usize,
    /// Range of each group in the subject, `None` where it did not take part.
    pub groups: &'a [Option<std::ops::Range<usize>>],
}

/// GetSubstitution (22.1.3.19.1) without named groups: those need property access, see
/// `regexp_replace`.
pub(super) fn substitute(out: &mut TextBuilder, template: StrView, matched: &MatchedText) {
    let mut at = 0;
    let dollar = StrView::Latin1(b"$");
    while let Some(found) = template.find(dollar, at) {
        out.push_view(template.slice(at, found));
        at = found + substitute_one(out, template, found, matched);
        if out.is_too_long() {
            return;
        }
    }
    out.push_view(template.slice(at, template.len()));
}

/// Handles the template from the dollar at `at`; returns how many units it took.
pub(super) fn substitute_one(out: &mut TextBuilder, template: StrView, at: usize, matched: &MatchedText) -> usize {
    let next = if at + 1 < template.len() { template.at(at + 1) } else { 0 };
    match u8::try_from(next) {
        Ok(b'$') => out.push(next),
        Ok(b'&') => out.push_view(matched.subject.slice(matched.start, matched.end)),
        Ok(b'`') => out.push_view(matched.subject.slice(0, matched.start)),
        Ok(b'\'') => {
            out.push_view(matched.subject.slice(matched.end.min(matched.subject.len()), matched.subject.len()))
        }
        Ok(b'0'..=b'9') => return substitute_group(out, template, at, matched),
        _ => {
            out.push(u16::from(b'$'));
            return 1;
        }
    }
    2
}

/// `$n` and `$nn`: two digits if that many groups exist, else one, else plain text.
fn substitute_group(out: &mut TextBuilder, template: StrView, at: usize, matched: &MatchedText) -> usize {
    let digit = |i: usize| {
        let unit = if i < template.len() { template.at(i) } else { 0 };
        (0x30..=0x39).contains(&unit).then(|| usize::from(unit - 0x30))
    };
    let first = digit(at + 1).unwrap_or(0);
    let count = matched.groups.len();
    let (number, taken) = match digit(at + 2) {
        Some(second) if (1..=count).contains(&(10 * first + second)) => (10 * first + second, 3),
        _ => (first, 2),
    };
    if number == 0 || number > count {
        out.push(u16::from(b'$'));
        return 1;
    }
    if let Some(range) = &matched.groups[number - 1] {
        out.push_view(matched.subject.slice(range.start, range.end));
    }
    taken
}

/// String.prototype.split (22.1.3.23)
pub(super) fn split(realm: &mut Realm, args: Args) -> Completion {
    require_this(realm, args, "split")?;
    let (separator, limit) = (args.get(realm, 0), args.get(realm, 1));
    if let Some(method) = pattern_method(realm, separator, Sym::Split)? {
        return realm.call(method, separator, &[args.this, limit]);
    }
    let text = realm.to_string(args.this)?;
    let limit = if limit.is_undefined() { u32::MAX } else { realm.to_uint32(limit)? };
    let separator_string = realm.to_string(separator)?;
    let array = realm.new_array()?;
    if limit == 0 {
        return Ok(Value::object(array));
    }
    if separator.is_undefined() {
        realm.array_push(array, Value::string(text))?;
        return Ok(Value::object(array));
    }
    let view = realm.view(text)?;
    let separator_view = realm.view(separator_string)?;
    if separator_view.is_empty() {
        for i in 0..view.len().min(limit as usize) {
            realm.charge(1)?;
            let unit = realm.unit_string(view.at(i))?;
            realm.array_push(array, Value::string(unit))?;
        }
        return Ok(Value::object(array));
    }
    let mut start = 0;
    let mut count = 0;
    while let Some(at) = view.find(separator_view, start) {
        realm.charge(1)?;
        let part = realm.substring(text, start as u32, at as u32)?;
        realm.array_push(array, Value::string(part))?;
        count += 1;
        if count == limit {
            return Ok(Value::object(array));
        }
        start = at + separator_view.len();
    }
    let part = realm.substring(text, start as u32, view.len() as u32)?;
    realm.array_push(array, Value::string(part))?;
    Ok(Value::object(array))
}
