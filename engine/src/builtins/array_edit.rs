//! Array.prototype (ECMA-262 23.1.3): the methods that change, copy and sort.

use crate::builtins::Args;
use crate::cage::Ref;
use crate::convert::LENGTH_MAX;
use crate::kinds::Kind;
use crate::names::{Name, Sym};
use crate::objects::Key;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// Absolute form of a relative index argument.
fn relative(realm: &mut Realm, value: Value, length: f64, default: f64) -> Completion<f64> {
    if value.is_undefined() {
        return Ok(default);
    }
    let n = realm.to_integer(value)?;
    Ok(if n < 0.0 { (length + n).max(0.0) } else { n.min(length) })
}

fn set_length(realm: &mut Realm, object: Ref, length: f64) -> Completion<()> {
    realm.set(object, realm.key_for(Name::length), Value::number(length))
}

fn delete_or_throw(realm: &mut Realm, object: Ref, key: Key) -> Completion<()> {
    if realm.delete_property(object, key)? {
        return Ok(());
    }
    let text = realm.key_text(key);
    Err(realm.throw_type(&format!("Cannot delete property '{text}' of [object Array]")))
}

/// Moves element `from` to `to`, or deletes `to` where `from` is missing.
fn move_element(realm: &mut Realm, object: Ref, from: f64, to: f64) -> Completion<()> {
    realm.charge(1)?;
    let to = realm.index_key(to)?;
    match realm.get_if_present(object, from)? {
        Some(value) => realm.set(object, to, value),
        None => delete_or_throw(realm, object, to),
    }
}

/// Array.prototype.push (23.1.3.23)
pub fn push(realm: &mut Realm, args: Args) -> Completion {
    if let Some(object) = args.this.to_object_ref()
        && realm.cage.is(object, Kind::Array)
    {
        let mut done = 0;
        while done < args.len() {
            let length = realm.array_length(object);
            let value = args.get(realm, done);
            if !realm.try_store_array_element(object, length, value)? {
                break;
            }
            done += 1;
        }
        if done == args.len() {
            return Ok(Value::number(f64::from(realm.array_length(object))));
        }
        if done > 0 {
            // The rest goes the general way from the new end.
            let rest = args.rest(realm, done);
            return push_general(realm, args.this, &rest);
        }
    }
    let values = args.rest(realm, 0);
    push_general(realm, args.this, &values)
}

fn push_general(realm: &mut Realm, this: Value, values: &[Value]) -> Completion {
    // The values lie in the caller's argument registers as well, so they stay alive.
    let object = realm.to_object(this)?;
    let mut length = realm.length_of(object)?;
    if length + values.len() as f64 > LENGTH_MAX {
        return Err(realm.throw_type("Pushing elements past 2^53 - 1"));
    }
    for &value in values {
        let key = realm.index_key(length)?;
        realm.set(object, key, value)?;
        length += 1.0;
    }
    set_length(realm, object, length)?;
    Ok(Value::number(length))
}

/// Array.prototype.pop (23.1.3.22)
pub fn pop(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    if let Some((elements, used)) = realm.dense_array(object)
        && used > 0
        && realm.cage.flags(object) == 0
    {
        let value = realm.dense_get(elements, used - 1);
        if !value.is_hole() {
            if realm.cage.is(elements, Kind::ElementsValues) {
                realm.cage.set(elements, 16 + 8 * (used - 1), Value::HOLE.0);
            }
            realm.cage.set(elements, 8, used - 1);
            realm.cage.set(object, 16, used - 1);
            return Ok(value);
        }
    }
    let length = realm.length_of(object)?;
    if length == 0.0 {
        set_length(realm, object, 0.0)?;
        return Ok(Value::UNDEFINED);
    }
    let key = realm.index_key(length - 1.0)?;
    let value = realm.get(object, key)?;
    delete_or_throw(realm, object, key)?;
    set_length(realm, object, length - 1.0)?;
    Ok(value)
}

/// Array.prototype.shift (23.1.3.27)
pub fn shift(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    if let Some((elements, used)) = realm.dense_array(object)
        && used > 0
        && realm.cage.flags(object) == 0
        && realm.no_indexed_accessors(object)
        && !realm.dense_get(elements, 0).is_hole()
    {
        realm.charge(1 + used / 16)?;
        let value = realm.dense_get(elements, 0);
        let width = if realm.cage.is(elements, Kind::ElementsInt) { 4 } else { 8 };
        realm.cage.copy(elements.0 + 16 + width, elements.0 + 16, width * (used - 1));
        if realm.cage.is(elements, Kind::ElementsValues) {
            realm.cage.set(elements, 16 + 8 * (used - 1), Value::HOLE.0);
        }
        realm.cage.set(elements, 8, used - 1);
        realm.cage.set(object, 16, used - 1);
        return Ok(value);
    }
    let length = realm.length_of(object)?;
    if length == 0.0 {
        set_length(realm, object, 0.0)?;
        return Ok(Value::UNDEFINED);
    }
    let first = realm.get(object, Key::Index(0))?;
    let mut k = 1.0;
    while k < length {
        move_element(realm, object, k, k - 1.0)?;
        k += 1.0;
    }
    let key = realm.index_key(length - 1.0)?;
    delete_or_throw(realm, object, key)?;
    set_length(realm, object, length - 1.0)?;
    Ok(first)
}

/// Array.prototype.unshift (23.1.3.37)
pub fn unshift(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let count = args.len() as f64;
    if count > 0.0 {
        if length + count > LENGTH_MAX {
            return Err(realm.throw_type("Invalid array length"));
        }
        let mut k = length;
        while k > 0.0 {
            move_element(realm, object, k - 1.0, k + count - 1.0)?;
            k -= 1.0;
        }
        for i in 0..args.len() {
            let value = args.get(realm, i);
            realm.set(object, Key::Index(i as u32), value)?;
        }
    }
    set_length(realm, object, length + count)?;
    Ok(Value::number(length + count))
}

/// Array.prototype.concat (23.1.3.2)
pub fn concat(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let target = realm.array_species_create(object, 0.0)?;
    let mut n = 0.0;
    for i in 0..=args.len() {
        let item = if i == 0 { Value::object(object) } else { args.get(realm, i - 1) };
        if !is_concat_spreadable(realm, item)? {
            if n >= LENGTH_MAX {
                return Err(realm.throw_type("Invalid array length"));
            }
            let key = realm.index_key(n)?;
            realm.create_data_property_or_throw(target, key, item)?;
            n += 1.0;
            continue;
        }
        let source = item.as_ref();
        let length = realm.length_of(source)?;
        if n + length > LENGTH_MAX {
            return Err(realm.throw_type("Invalid array length"));
        }
        let mut k = 0.0;
        while k < length {
            realm.charge(1)?;
            if let Some(value) = realm.get_if_present(source, k)? {
                let key = realm.index_key(n + k)?;
                realm.create_data_property_or_throw(target, key, value)?;
            }
            k += 1.0;
        }
        n += length;
    }
    set_length(realm, target, n)?;
    Ok(Value::object(target))
}

/// IsConcatSpreadable (23.1.3.2.1)
fn is_concat_spreadable(realm: &mut Realm, value: Value) -> Completion<bool> {
    let Some(object) = value.to_object_ref() else { return Ok(false) };
    let key = Key::Name(realm.symbol(Sym::IsConcatSpreadable));
    let spreadable = realm.get(object, key)?;
    if !spreadable.is_undefined() {
        return Ok(realm.to_boolean(spreadable));
    }
    realm.is_array(value)
}

/// Array.prototype.copyWithin (23.1.3.4)
pub fn copy_within(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let to = relative(realm, args.get(realm, 0), length, 0.0)?;
    let from = relative(realm, args.get(realm, 1), length, 0.0)?;
    let end = relative(realm, args.get(realm, 2), length, length)?;
    let count = (end - from).min(length - to);
    let backwards = from < to && to < from + count;
    let mut n = 0.0;
    while n < count {
        let k = if backwards { count - 1.0 - n } else { n };
        move_element(realm, object, from + k, to + k)?;
        n += 1.0;
    }
    Ok(Value::object(object))
}

/// Array.prototype.fill (23.1.3.7)
pub fn fill(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let mut k = relative(realm, args.get(realm, 1), length, 0.0)?;
    let end = relative(realm, args.get(realm, 2), length, length)?;
    let value = args.get(realm, 0);
    while k < end {
        realm.charge(1)?;
        let key = realm.index_key(k)?;
        realm.set(object, key, value)?;
        k += 1.0;
    }
    Ok(Value::object(object))
}

/// FlattenIntoArray (23.1.3.13.1); returns the next target index.
fn flatten(
    realm: &mut Realm,
    target: Ref,
    source: Ref,
    length: f64,
    start: f64,
    depth: f64,
    mapper: Option<(Value, Value)>,
) -> Completion<f64> {
    realm.check_native_stack()?;
    let mut to = start;
    let mut k = 0.0;
    while k < length {
        realm.charge(1)?;
        if let Some(mut value) = realm.get_if_present(source, k)? {
            if let Some((callback, this_arg)) = mapper {
                value = realm.call(callback, this_arg, &[value, Value::number(k), Value::object(source)])?;
            }
            if depth > 0.0 && realm.is_array(value)? {
                let inner = value.as_ref();
                let inner_length = realm.length_of(inner)?;
                to = flatten(realm, target, inner, inner_length, to, depth - 1.0, None)?;
            } else {
                let key = realm.index_key(to)?;
                realm.create_data_property_or_throw(target, key, value)?;
                to += 1.0;
            }
        }
        k += 1.0;
    }
    Ok(to)
}

/// Array.prototype.flat (23.1.3.13)
pub fn flat(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let depth = args.get(realm, 0);
    let depth = if depth.is_undefined() { 1.0 } else { realm.to_integer(depth)? };
    let target = realm.array_species_create(object, 0.0)?;
    flatten(realm, target, object, length, 0.0, depth, None)?;
    Ok(Value::object(target))
}

/// Array.prototype.flatMap (23.1.3.14)
pub fn flat_map(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let callback = args.get(realm, 0);
    if !realm.is_callable(callback) {
        return Err(realm.throw_type("flatMap mapper function is not callable"));
    }
    let target = realm.array_species_create(object, 0.0)?;
    let mapper = Some((callback, args.get(realm, 1)));
    flatten(realm, target, object, length, 0.0, 1.0, mapper)?;
    Ok(Value::object(target))
}

/// Array.prototype.reverse (23.1.3.26)
pub fn reverse(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let (mut lower, mut upper) = (0.0, length - 1.0);
    while lower < upper {
        realm.charge(1)?;
        let low_key = realm.index_key(lower)?;
        let high_key = realm.index_key(upper)?;
        let low = realm.get_if_present(object, lower)?;
        let high = realm.get_if_present(object, upper)?;
        match high {
            Some(value) => realm.set(object, low_key, value)?,
            None if low.is_some() => delete_or_throw(realm, object, low_key)?,
            None => {}
        }
        match low {
            Some(value) => realm.set(object, high_key, value)?,
            None if high.is_some() => delete_or_throw(realm, object, high_key)?,
            None => {}
        }
        lower += 1.0;
        upper -= 1.0;
    }
    Ok(Value::object(object))
}

/// Array.prototype.slice (23.1.3.28)
pub fn slice(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let mut k = relative(realm, args.get(realm, 0), length, 0.0)?;
    let end = relative(realm, args.get(realm, 1), length, length)?;
    let target = realm.array_species_create(object, (end - k).max(0.0))?;
    let mut n = 0.0;
    while k < end {
        realm.charge(1)?;
        if let Some(value) = realm.get_if_present(object, k)? {
            let key = realm.index_key(n)?;
            realm.create_data_property_or_throw(target, key, value)?;
        }
        k += 1.0;
        n += 1.0;
    }
    set_length(realm, target, n)?;
    Ok(Value::object(target))
}

/// Array.prototype.splice (23.1.3.31)
pub fn splice(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let start = relative(realm, args.get(realm, 0), length, 0.0)?;
    let items = args.len().saturating_sub(2) as f64;
    let deleted = match args.len() {
        0 => 0.0,
        1 => length - start,
        _ => realm.to_integer(args.get(realm, 1))?.clamp(0.0, length - start),
    };
    if length + items - deleted > LENGTH_MAX {
        return Err(realm.throw_type("Invalid array length"));
    }
    let removed = realm.array_species_create(object, deleted)?;
    let mut k = 0.0;
    while k < deleted {
        realm.charge(1)?;
        if let Some(value) = realm.get_if_present(object, start + k)? {
            let key = realm.index_key(k)?;
            realm.create_data_property_or_throw(removed, key, value)?;
        }
        k += 1.0;
    }
    set_length(realm, removed, deleted)?;
    if items < deleted {
        let mut k = start;
        while k < length - deleted {
            move_element(realm, object, k + deleted, k + items)?;
            k += 1.0;
        }
        let mut k = length;
        while k > length - deleted + items {
            let key = realm.index_key(k - 1.0)?;
            delete_or_throw(realm, object, key)?;
            k -= 1.0;
        }
    } else if items > deleted {
        let mut k = length - deleted;
        while k > start {
            move_element(realm, object, k + deleted - 1.0, k + items - 1.0)?;
            k -= 1.0;
        }
    }
    for i in 2..args.len() {
        let key = realm.index_key(start + (i - 2) as f64)?;
        let value = args.get(realm, i);
        realm.set(object, key, value)?;
    }
    set_length(realm, object, length - deleted + items)?;
    Ok(Value::object(removed))
}

/// SortIndexedProperties (23.1.3.30.1): a `Values` cell of the sorted present (or all) elements and their number.
fn sorted_list(
    realm: &mut Realm,
    object: Ref,
    length: f64,
    comparator: Value,
    skip_holes: bool,
) -> Completion<(Ref, u32)> {
    if length > 100_000_000.0 {
        return Err(realm.throw_range("Invalid array length"));
    }
    let list = realm.new_values(length as u32, Value::UNDEFINED)?;
    let mut count = 0;
    let mut k = 0.0;
    while k < length {
        realm.charge(1)?;
        let value = if skip_holes {
            realm.get_if_present(object, k)?
        } else {
            let key = realm.index_key(k)?;
            Some(realm.get(object, key)?)
        };
        if let Some(value) = value {
            realm.cage.set(list, 8 + 8 * count, value.0);
            count += 1;
        }
        k += 1.0;
    }
    merge_sort(realm, list, count, comparator)?;
    Ok((list, count))
}

/// Stable merge sort of `count` values of a cell; a second cell is the scratch space, so that every value
/// stays visible to the collector. Inconsistent comparators give some order, in bounded time.
pub(crate) fn merge_sort(realm: &mut Realm, list: Ref, count: u32, comparator: Value) -> Completion<()> {
    let scratch = realm.new_values(count, Value::UNDEFINED)?;
    let at = |i: u32| 8 + 8 * i;
    if comparator.is_undefined() {
        let all_ints = (0..count).all(|i| Value(realm.cage.get(list, at(i))).is_int());
        if !all_ints {
            // Keys are converted once, not at each comparison.
            return sort_by_strings(realm, list, count);
        }
    }
    let (mut from, mut to) = (list, scratch);
    let mut width = 1;
    while width < count {
        let mut start = 0;
        while start < count {
            let middle = (start + width).min(count);
            let end = (start + 2 * width).min(count);
            let (mut a, mut b, mut out) = (start, middle, start);
            while a < middle && b < end {
                realm.charge(1)?;
                let (x, y) = (Value(realm.cage.get(from, at(a))), Value(realm.cage.get(from, at(b))));
                let take_b = compare_elements(realm, x, y, comparator)? > 0.0;
                let taken = if take_b { y } else { x };
                if take_b {
                    b += 1;
                } else {
                    a += 1;
                }
                realm.cage.set(to, at(out), taken.0);
                out += 1;
            }
            if a < middle {
                realm.cage.copy(from.0 + at(a), to.0 + at(out), 8 * (middle - a));
            } else if b < end {
                realm.cage.copy(from.0 + at(b), to.0 + at(out), 8 * (end - b));
            }
            start = end;
        }
        (from, to) = (to, from);
        width *= 2;
    }
    if from != list && count > 0 {
        realm.cage.copy(from.0 + 8, list.0 + 8, 8 * count);
    }
    Ok(())
}

/// Default order: undefined last, everything else by its string.
fn sort_by_strings(realm: &mut Realm, list: Ref, count: u32) -> Completion<()> {
    let strings = realm.new_values(count, Value::UNDEFINED)?;
    let mut order: Vec<u32> = Vec::with_capacity(count as usize);
    let mut undefined = 0;
    for i in 0..count {
        let value = Value(realm.cage.get(list, 8 + 8 * i));
        if value.is_undefined() {
            undefined += 1;
            continue;
        }
        let string = realm.to_string(value)?;
        realm.view(string)?;
        realm.cage.set(strings, 8 + 8 * i, Value::string(string).0);
        order.push(i);
    }
    realm.charge(count)?;
    let view = |i: u32| realm.view_flat(Value(realm.cage.get(strings, 8 + 8 * i)).as_ref());
    order.sort_by(|&a, &b| view(a).compare(view(b)));
    let sorted: Vec<u64> = order.iter().map(|&i| realm.cage.get::<u64>(list, 8 + 8 * i)).collect();
    // No allocation between reading the values and writing them back.
    for (i, bits) in sorted.iter().enumerate() {
        realm.cage.set(list, 8 + 8 * i as u32, *bits);
    }
    for i in count - undefined..count {
        realm.cage.set(list, 8 + 8 * i, Value::UNDEFINED.0);
    }
    Ok(())
}

/// CompareArrayElements (23.1.3.30.2)
fn compare_elements(realm: &mut Realm, x: Value, y: Value, comparator: Value) -> Completion<f64> {
    match (x.is_undefined(), y.is_undefined()) {
        (true, true) => return Ok(0.0),
        (true, false) => return Ok(1.0),
        (false, true) => return Ok(-1.0),
        _ => {}
    }
    if comparator.is_undefined() {
        let (a, b) = (realm.to_string(x)?, realm.to_string(y)?);
        realm.view(a)?;
        let right = realm.view(b)?;
        return Ok(f64::from(realm.view_flat(a).compare(right) as i8));
    }
    let result = realm.call(comparator, Value::UNDEFINED, &[x, y])?;
    let n = realm.to_number(result)?;
    Ok(if n.is_nan() { 0.0 } else { n })
}

fn check_comparator(realm: &mut Realm, comparator: Value) -> Completion<()> {
    if comparator.is_undefined() || realm.is_callable(comparator) {
        return Ok(());
    }
    Err(realm.throw_type("The comparison function must be either a function or undefined"))
}

/// Array.prototype.sort (23.1.3.30)
pub fn sort(realm: &mut Realm, args: Args) -> Completion {
    let comparator = args.get(realm, 0);
    check_comparator(realm, comparator)?;
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let (list, count) = sorted_list(realm, object, length, comparator, true)?;
    for i in 0..count {
        let value = Value(realm.cage.get(list, 8 + 8 * i));
        realm.set(object, Key::Index(i), value)?;
    }
    let mut k = f64::from(count);
    while k < length {
        let key = realm.index_key(k)?;
        if realm.has_property(object, key)? {
            delete_or_throw(realm, object, key)?;
        }
        k += 1.0;
    }
    Ok(Value::object(object))
}

/// Array.prototype.toSorted (23.1.3.34)
pub fn to_sorted(realm: &mut Realm, args: Args) -> Completion {
    let comparator = args.get(realm, 0);
    check_comparator(realm, comparator)?;
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    realm.new_array_of_length(length)?;
    let (list, _) = sorted_list(realm, object, length, comparator, false)?;
    Ok(Value::object(realm.new_array_from_list(list)?))
}

/// Array.prototype.toReversed (23.1.3.33)
pub fn to_reversed(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    realm.new_array_of_length(length)?;
    let target = realm.new_array()?;
    let mut k = length;
    while k > 0.0 {
        realm.charge(1)?;
        k -= 1.0;
        let key = realm.index_key(k)?;
        let value = realm.get(object, key)?;
        realm.array_push(target, value)?;
    }
    Ok(Value::object(target))
}

/// Array.prototype.toSpliced (23.1.3.35)
pub fn to_spliced(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let start = relative(realm, args.get(realm, 0), length, 0.0)?;
    let items = args.len().saturating_sub(2) as f64;
    let skip = match args.len() {
        0 => 0.0,
        1 => length - start,
        _ => realm.to_integer(args.get(realm, 1))?.clamp(0.0, length - start),
    };
    let new_length = length + items - skip;
    if new_length > LENGTH_MAX {
        return Err(realm.throw_type("Invalid array length"));
    }
    realm.new_array_of_length(new_length)?;
    let target = realm.new_array()?;
    let mut k = 0.0;
    while k < length {
        realm.charge(1)?;
        if k == start {
            for i in 2..args.len() {
                let value = args.get(realm, i);
                realm.array_push(target, value)?;
            }
            k += skip;
            if k >= length {
                return Ok(Value::object(target));
            }
        }
        let key = realm.index_key(k)?;
        let value = realm.get(object, key)?;
        realm.array_push(target, value)?;
        k += 1.0;
    }
    if start >= length {
        for i in 2..args.len() {
            let value = args.get(realm, i);
            realm.array_push(target, value)?;
        }
    }
    Ok(Value::object(target))
}

/// Array.prototype.with (23.1.3.39)
pub fn with(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let n = realm.to_integer(args.get(realm, 0))?;
    let index = if n >= 0.0 { n } else { length + n };
    if index < 0.0 || index >= length {
        return Err(realm.throw_range("Invalid index : out of range"));
    }
    realm.new_array_of_length(length)?;
    let target = realm.new_array()?;
    let mut k = 0.0;
    while k < length {
        realm.charge(1)?;
        let value = if k == index {
            args.get(realm, 1)
        } else {
            let key = realm.index_key(k)?;
            realm.get(object, key)?
        };
        realm.array_push(target, value)?;
        k += 1.0;
    }
    Ok(Value::object(target))
}
