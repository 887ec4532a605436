//! %TypedArray%.prototype (ECMA-262 23.2.3).

use super::*;
use crate::builtins::array::edit;
use crate::interp::iterate::sort as iterator_sort;

/// The receiver, in bounds or not.
fn this_array(realm: &mut Realm, args: Args) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::TypedArray) => Ok(object),
        _ => Err(realm.throw_type("this is not a typed array.")),
    }
}

/// ValidateTypedArray(this); the error names the running method.
fn validate(realm: &mut Realm, args: Args) -> Completion<(Ref, u32)> {
    if let Some(array) = args.this.to_object_ref()
        && realm.cage.is(array, Kind::TypedArray)
        && let Some(length) = realm.typed_array_length(array)
    {
        return Ok((array, length));
    }
    let name = realm.builtin_info(args.callee).name;
    realm.validate_typed_array(args.this, &format!("%TypedArray%.prototype.{name}"))
}

/// The length once more, after script ran.
fn revalidate(realm: &mut Realm, args: Args) -> Completion<u32> {
    Ok(validate(realm, args)?.1)
}

/// Get(array, index): undefined where the array shrank.
fn element(realm: &mut Realm, array: Ref, index: u32) -> Completion {
    Ok(realm.read_element(array, index)?.unwrap_or(Value::UNDEFINED))
}

fn number(n: u32) -> Value {
    Value::number(f64::from(n))
}

/// get %TypedArray%.prototype.buffer (23.2.3.2)
pub fn buffer(realm: &mut Realm, args: Args) -> Completion {
    let array = this_array(realm, args)?;
    Ok(Value::object(realm.cage.r(array, BUFFER)))
}

/// get %TypedArray%.prototype.byteLength (23.2.3.3)
pub fn byte_length(realm: &mut Realm, args: Args) -> Completion {
    let array = this_array(realm, args)?;
    let length = realm.typed_array_length(array).unwrap_or(0);
    Ok(number(length * realm.element_type(array).bytes()))
}

/// get %TypedArray%.prototype.byteOffset (23.2.3.4)
pub fn byte_offset(realm: &mut Realm, args: Args) -> Completion {
    let array = this_array(realm, args)?;
    Ok(if realm.typed_array_length(array).is_some() { number(realm.cage.u32(array, OFFSET)) } else { Value::ZERO })
}

/// get %TypedArray%.prototype.length (23.2.3.21)
pub fn length(realm: &mut Realm, args: Args) -> Completion {
    let array = this_array(realm, args)?;
    Ok(number(realm.typed_array_length(array).unwrap_or(0)))
}

/// get %TypedArray%.prototype [ @@toStringTag ] (23.2.3.38)
pub fn tag(realm: &mut Realm, args: Args) -> Completion {
    match args.this.to_object_ref() {
        Some(array) if realm.cage.is(array, Kind::TypedArray) => {
            let name = lookup(INT8_ARRAY + realm.element_type(array) as u32).name;
            Ok(Value::string(realm.intern_str(name)?))
        }
        _ => Ok(Value::UNDEFINED),
    }
}

/// %TypedArray%.prototype.at (23.2.3.1)
pub fn at(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let relative = realm.to_integer(args.get(realm, 0))?;
    let k = if relative >= 0.0 { relative } else { f64::from(length) + relative };
    if k < 0.0 || k >= f64::from(length) {
        return Ok(Value::UNDEFINED);
    }
    element(realm, array, k as u32)
}

/// %TypedArray%.prototype.copyWithin (23.2.3.6)
pub fn copy_within(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let length = f64::from(length);
    let to = realm.relative_index(args.get(realm, 0), length, 0.0)?;
    let from = realm.relative_index(args.get(realm, 1), length, 0.0)?;
    let end = realm.relative_index(args.get(realm, 2), length, length)?;
    let count = (end - from).min(length - to);
    if count > 0.0 {
        let now = f64::from(revalidate(realm, args)?);
        let count = count.min(now - from).min(now - to);
        if count > 0.0 {
            let size = realm.element_type(array).bytes();
            let bytes = realm.typed_array_bytes(array);
            realm.cage.copy(bytes + from as u32 * size, bytes + to as u32 * size, count as u32 * size);
        }
    }
    Ok(args.this)
}

fn iterate(realm: &mut Realm, args: Args, what: u32) -> Completion {
    validate(realm, args)?;
    Ok(Value::object(realm.new_iterator(args.this, what, Intrinsic::ArrayIteratorPrototype)?))
}

/// %TypedArray%.prototype.entries (23.2.3.7)
pub fn entries(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, iterator_sort::ARRAY_ENTRIES)
}

/// %TypedArray%.prototype.keys (23.2.3.19)
pub fn keys(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, iterator_sort::ARRAY_KEYS)
}

/// %TypedArray%.prototype.values (23.2.3.35)
pub fn values(realm: &mut Realm, args: Args) -> Completion {
    iterate(realm, args, iterator_sort::ARRAY_VALUES)
}

/// Array, length and the checked callback of the iterating methods.
fn with_callback(realm: &mut Realm, args: Args) -> Completion<(Ref, u32, Value)> {
    let (array, length) = validate(realm, args)?;
    let callback = args.get(realm, 0);
    if !realm.is_callable(callback) {
        let text = realm.describe(callback);
        return Err(realm.throw_type(&format!("{text} is not a function")));
    }
    Ok((array, length, callback))
}

/// Calls the callback for each element until `visit` (value, index, result) says false.
fn walk(
    realm: &mut Realm,
    args: Args,
    backwards: bool,
    mut visit: impl FnMut(&mut Realm, Value, u32, Value) -> Completion<bool>,
) -> Completion<()> {
    let (array, length, callback) = with_callback(realm, args)?;
    let this = args.get(realm, 1);
    for i in 0..length {
        realm.charge(1)?;
        let k = if backwards { length - 1 - i } else { i };
        let value = element(realm, array, k)?;
        let result = realm.call(callback, this, &[value, number(k), args.this])?;
        if !visit(realm, value, k, result)? {
            return Ok(());
        }
    }
    Ok(())
}

/// %TypedArray%.prototype.every (23.2.3.8)
pub fn every(realm: &mut Realm, args: Args) -> Completion {
    let mut all = true;
    walk(realm, args, false, |realm, _, _, result| {
        all = realm.to_boolean(result);
        Ok(all)
    })?;
    Ok(Value::boolean(all))
}

/// %TypedArray%.prototype.some (23.2.3.28)
pub fn some(realm: &mut Realm, args: Args) -> Completion {
    let mut any = false;
    walk(realm, args, false, |realm, _, _, result| {
        any = realm.to_boolean(result);
        Ok(!any)
    })?;
    Ok(Value::boolean(any))
}

/// %TypedArray%.prototype.forEach (23.2.3.15)
pub fn for_each(realm: &mut Realm, args: Args) -> Completion {
    walk(realm, args, false, |_, _, _, _| Ok(true))?;
    Ok(Value::UNDEFINED)
}

/// FindViaPredicate (23.1.3.12.1)
fn find_via(realm: &mut Realm, args: Args, backwards: bool, index: bool) -> Completion {
    let mut found = if index { Value::int(-1) } else { Value::UNDEFINED };
    walk(realm, args, backwards, |realm, value, k, result| {
        let hit = realm.to_boolean(result);
        if hit {
            found = if index { number(k) } else { value };
        }
        Ok(!hit)
    })?;
    Ok(found)
}

/// %TypedArray%.prototype.find (23.2.3.11)
pub fn find(realm: &mut Realm, args: Args) -> Completion {
    find_via(realm, args, false, false)
}

/// %TypedArray%.prototype.findIndex (23.2.3.12)
pub fn find_index(realm: &mut Realm, args: Args) -> Completion {
    find_via(realm, args, false, true)
}

/// %TypedArray%.prototype.findLast (23.2.3.13)
pub fn find_last(realm: &mut Realm, args: Args) -> Completion {
    find_via(realm, args, true, false)
}

/// %TypedArray%.prototype.findLastIndex (23.2.3.14)
pub fn find_last_index(realm: &mut Realm, args: Args) -> Completion {
    find_via(realm, args, true, true)
}

/// %TypedArray%.prototype.fill (23.2.3.9)
pub fn fill(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let element_type = realm.element_type(array);
    let raw = realm.value_to_raw(element_type, args.get(realm, 0))?;
    let length = f64::from(length);
    let start = realm.relative_index(args.get(realm, 1), length, 0.0)?;
    let end = realm.relative_index(args.get(realm, 2), length, length)?;
    let end = end.min(f64::from(revalidate(realm, args)?));
    if end <= start {
        return Ok(args.this);
    }
    let (start, end, size) = (start as u32, end as u32, element_type.bytes());
    realm.charge((end - start) / 16)?;
    let bytes = realm.typed_array_bytes(array);
    if size == 1 {
        realm.cage.fill(bytes + start, raw as u8, end - start);
        return Ok(args.this);
    }
    for k in start..end {
        realm.write_raw(element_type, bytes + k * size, raw);
    }
    Ok(args.this)
}

/// %TypedArray%.prototype.filter (23.2.3.10)
pub fn filter(realm: &mut Realm, args: Args) -> Completion {
    let kept = realm.new_array()?;
    walk(realm, args, false, |realm, value, _, result| {
        if realm.to_boolean(result) {
            realm.array_push(kept, value)?;
        }
        Ok(true)
    })?;
    let array = this_array(realm, args)?;
    let count = realm.array_length(kept);
    let made = realm.typed_array_species_create(array, &[number(count)], Some(f64::from(count)))?;
    for i in 0..count {
        let value = realm.stored_element(kept, i).map_or(Value::UNDEFINED, |own| own.value);
        realm.typed_array_store(made, i, value)?;
    }
    Ok(Value::object(made))
}

/// %TypedArray%.prototype.map (23.2.3.22)
pub fn map(realm: &mut Realm, args: Args) -> Completion {
    let (array, length, _) = with_callback(realm, args)?;
    let made = realm.typed_array_species_create(array, &[number(length)], Some(f64::from(length)))?;
    let (callback, this) = (args.get(realm, 0), args.get(realm, 1));
    for k in 0..length {
        realm.charge(1)?;
        let value = element(realm, array, k)?;
        let mapped = realm.call(callback, this, &[value, number(k), args.this])?;
        realm.typed_array_store(made, k, mapped)?;
    }
    Ok(Value::object(made))
}

/// First index of a forward search; `None` where there is nothing to search.
fn search_start(realm: &mut Realm, args: Args, length: u32) -> Completion<Option<u32>> {
    if length == 0 {
        return Ok(None);
    }
    let start = realm.relative_index(args.get(realm, 1), f64::from(length), 0.0)?;
    Ok(Some(start as u32))
}

/// %TypedArray%.prototype.includes (23.2.3.16)
pub fn includes(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let Some(start) = search_start(realm, args, length)? else { return Ok(Value::FALSE) };
    let wanted = args.get(realm, 0);
    for k in start..length {
        realm.charge(1)?;
        let value = element(realm, array, k)?;
        if realm.same_value_zero(value, wanted)? {
            return Ok(Value::TRUE);
        }
    }
    Ok(Value::FALSE)
}

/// %TypedArray%.prototype.indexOf (23.2.3.17)
pub fn index_of(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let Some(start) = search_start(realm, args, length)? else { return Ok(Value::int(-1)) };
    let wanted = args.get(realm, 0);
    for k in start..length {
        realm.charge(1)?;
        let Some(value) = realm.read_element(array, k)? else { break };
        if realm.is_strictly_equal(value, wanted)? {
            return Ok(number(k));
        }
    }
    Ok(Value::int(-1))
}

/// %TypedArray%.prototype.lastIndexOf (23.2.3.20)
pub fn last_index_of(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    if length == 0 {
        return Ok(Value::int(-1));
    }
    let last = f64::from(length) - 1.0;
    let n = if args.len() > 1 { realm.to_integer(args.get(realm, 1))? } else { last };
    let mut k = if n >= 0.0 { n.min(last) } else { f64::from(length) + n };
    let wanted = args.get(realm, 0);
    while k >= 0.0 {
        realm.charge(1)?;
        if let Some(value) = realm.read_element(array, k as u32)?
            && realm.is_strictly_equal(value, wanted)?
        {
            return Ok(Value::number(k));
        }
        k -= 1.0;
    }
    Ok(Value::int(-1))
}

/// %TypedArray%.prototype.join (23.2.3.18)
pub fn join(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let separator = args.get(realm, 0);
    let separator = if separator.is_undefined() { realm.new_string(",")? } else { realm.to_string(separator)? };
    realm.join_elements(array, f64::from(length), separator, false)
}

/// %TypedArray%.prototype.toLocaleString (23.2.3.31)
pub fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let separator = realm.new_string(",")?;
    realm.join_elements(array, f64::from(length), separator, true)
}

fn fold(realm: &mut Realm, args: Args, backwards: bool) -> Completion {
    let (array, length, callback) = with_callback(realm, args)?;
    let place = |i: u32| if backwards { length - 1 - i } else { i };
    let mut i = 0;
    let mut accumulator = if args.len() > 1 {
        args.get(realm, 1)
    } else {
        if length == 0 {
            return Err(realm.throw_type("Reduce of empty array with no initial value"));
        }
        i = 1;
        element(realm, array, place(0))?
    };
    while i < length {
        realm.charge(1)?;
        let k = place(i);
        let value = element(realm, array, k)?;
        accumulator = realm.call(callback, Value::UNDEFINED, &[accumulator, value, number(k), args.this])?;
        i += 1;
    }
    Ok(accumulator)
}

/// %TypedArray%.prototype.reduce (23.2.3.23)
pub fn reduce(realm: &mut Realm, args: Args) -> Completion {
    fold(realm, args, false)
}

/// %TypedArray%.prototype.reduceRight (23.2.3.24)
pub fn reduce_right(realm: &mut Realm, args: Args) -> Completion {
    fold(realm, args, true)
}

/// Writes the elements of `from` to `to` in reverse order (both in bounds, maybe the same array).
fn reverse_into(realm: &mut Realm, from: Ref, to: Ref, length: u32) {
    let element_type = realm.element_type(from);
    let size = element_type.bytes();
    let (source, target) = (realm.typed_array_bytes(from), realm.typed_array_bytes(to));
    for i in 0..length.div_ceil(2) {
        let j = length - 1 - i;
        let (low, high) =
            (realm.read_raw(element_type, source + i * size), realm.read_raw(element_type, source + j * size));
        realm.write_raw(element_type, target + i * size, high);
        realm.write_raw(element_type, target + j * size, low);
    }
}

/// %TypedArray%.prototype.reverse (23.2.3.25)
pub fn reverse(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    realm.charge(length / 8)?;
    reverse_into(realm, array, array, length);
    Ok(args.this)
}

/// %TypedArray%.prototype.toReversed (23.2.3.32)
pub fn to_reversed(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    realm.charge(length / 8)?;
    let made = realm.new_typed_array(realm.element_type(array), f64::from(length))?;
    reverse_into(realm, array, made, length);
    Ok(Value::object(made))
}

/// %TypedArray%.prototype.set (23.2.3.26)
pub fn set(realm: &mut Realm, args: Args) -> Completion {
    let target = this_array(realm, args)?;
    let offset = realm.to_integer(args.get(realm, 1))?;
    if offset < 0.0 {
        return Err(realm.throw_range("offset is out of bounds"));
    }
    let source = args.get(realm, 0);
    match source.to_object_ref() {
        Some(from) if realm.cage.is(from, Kind::TypedArray) => set_from_typed_array(realm, target, offset, from)?,
        _ => set_from_array_like(realm, target, offset, source)?,
    }
    Ok(Value::UNDEFINED)
}

/// SetTypedArrayFromTypedArray (23.2.3.26.1)
fn set_from_typed_array(realm: &mut Realm, target: Ref, offset: f64, source: Ref) -> Completion<()> {
    let name = "%TypedArray%.prototype.set";
    let Some(length) = realm.typed_array_length(target) else { return Err(realm.throw_out_of_bounds(name)) };
    let Some(count) = realm.typed_array_length(source) else { return Err(realm.throw_out_of_bounds(name)) };
    let (from, to) = (realm.element_type(source), realm.element_type(target));
    if from.is_bigint() != to.is_bigint() {
        return Err(realm.throw_type("Cannot mix BigInt and other types, use explicit conversions"));
    }
    if offset + f64::from(count) > f64::from(length) {
        return Err(realm.throw_range("offset is out of bounds"));
    }
    let bytes = count * from.bytes();
    let target_at = realm.typed_array_bytes(target) + offset as u32 * to.bytes();
    let mut source_at = realm.typed_array_bytes(source);
    if from == to {
        realm.charge(bytes >> 10)?;
        realm.cage.copy(source_at, target_at, bytes);
        return Ok(());
    }
    let mut scratch = Ref::NULL;
    if realm.cage.r(source, BUFFER) == realm.cage.r(target, BUFFER) {
        scratch = realm.new_buffer_store(bytes)?;
        realm.cage.copy(source_at, scratch.0 + array_buffer::BYTES, bytes);
        source_at = scratch.0 + array_buffer::BYTES;
    }
    let result = realm.copy_converted((from, source_at), (to, target_at), count);
    std::hint::black_box(scratch);
    result
}

/// SetTypedArrayFromArrayLike (23.2.3.26.2)
fn set_from_array_like(realm: &mut Realm, target: Ref, offset: f64, source: Value) -> Completion<()> {
    let Some(length) = realm.typed_array_length(target) else {
        return Err(realm.throw_out_of_bounds("%TypedArray%.prototype.set"));
    };
    let source = realm.to_object(source)?;
    let count = realm.length_of(source)?;
    if offset + count > f64::from(length) {
        return Err(realm.throw_range("offset is out of bounds"));
    }
    for i in 0..count as u32 {
        realm.charge(1)?;
        let value = realm.get(source, Key::Index(i))?;
        realm.typed_array_store(target, offset as u32 + i, value)?;
    }
    Ok(())
}

/// %TypedArray%.prototype.slice (23.2.3.27)
pub fn slice(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let length = f64::from(length);
    let start = realm.relative_index(args.get(realm, 0), length, 0.0)?;
    let end = realm.relative_index(args.get(realm, 1), length, length)?;
    let count = (end - start).max(0.0);
    let made = realm.typed_array_species_create(array, &[Value::number(count)], Some(count))?;
    if count == 0.0 {
        return Ok(Value::object(made));
    }
    let end = end.min(f64::from(revalidate(realm, args)?));
    let room = f64::from(realm.typed_array_length(made).unwrap_or(0));
    let count = (end - start).max(0.0).min(room) as u32;
    if count == 0 {
        return Ok(Value::object(made));
    }
    let (from, to) = (realm.element_type(array), realm.element_type(made));
    let source = realm.typed_array_bytes(array) + start as u32 * from.bytes();
    let target = realm.typed_array_bytes(made);
    if from != to {
        for i in 0..count {
            realm.charge(1)?;
            let value = element(realm, array, start as u32 + i)?;
            realm.typed_array_store(made, i, value)?;
        }
    } else if target > source && target < source + count * from.bytes() {
        // The species gave a view of the same bytes: the copy goes upwards, byte by byte.
        for i in 0..count * from.bytes() {
            let byte = realm.cage.read::<u8>(source + i);
            realm.cage.write(target + i, byte);
        }
    } else {
        realm.charge(count >> 8)?;
        realm.cage.copy(source, target, count * from.bytes());
    }
    Ok(Value::object(made))
}

/// The elements of `array` in ascending numeric order as raw content (23.2.4.7 without a comparator).
fn sorted_raw(realm: &mut Realm, array: Ref, length: u32) -> Completion<Vec<u64>> {
    let element_type = realm.element_type(array);
    let (bytes, size) = (realm.typed_array_bytes(array), element_type.bytes());
    realm.charge(length)?;
    let mut raw: Vec<u64> = (0..length).map(|i| realm.read_raw(element_type, bytes + i * size)).collect();
    match element_type {
        ElementType::BigUint64 => raw.sort_unstable(),
        ElementType::BigInt64 => raw.sort_unstable_by_key(|&r| r as i64),
        // Ascending, -0 before 0, NaN last.
        _ => raw.sort_by(|&a, &b| {
            let n = |r| element_types::raw_to_number(element_type, r).as_number();
            n(a).total_cmp(&n(b))
        }),
    }
    Ok(raw)
}

/// The elements of `array` in the comparator's order: a `Values` cell.
fn sorted_list(realm: &mut Realm, array: Ref, length: u32, comparator: Value) -> Completion<Ref> {
    let list = realm.new_values(length, Value::UNDEFINED)?;
    for i in 0..length {
        let value = element(realm, array, i)?;
        realm.cage.set(list, 8 + 8 * i, value.0);
    }
    edit::merge_sort(realm, list, length, comparator)?;
    Ok(list)
}

/// Sorts the elements of `array` into `target`.
fn sort_into(realm: &mut Realm, array: Ref, target: Ref, length: u32, comparator: Value) -> Completion<()> {
    if comparator.is_undefined() {
        let raw = sorted_raw(realm, array, length)?;
        for (i, &raw) in raw.iter().enumerate() {
            realm.store_raw_element(target, i as u32, raw);
        }
        return Ok(());
    }
    let list = sorted_list(realm, array, length, comparator)?;
    for i in 0..length {
        let value = Value(realm.cage.get(list, 8 + 8 * i));
        realm.typed_array_store(target, i, value)?;
    }
    Ok(())
}

fn check_comparator(realm: &mut Realm, args: Args) -> Completion {
    let comparator = args.get(realm, 0);
    if comparator.is_undefined() || realm.is_callable(comparator) {
        return Ok(comparator);
    }
    Err(realm.throw_type("The comparison function must be either a function or undefined"))
}

/// %TypedArray%.prototype.sort (23.2.3.29)
pub fn sort(realm: &mut Realm, args: Args) -> Completion {
    let comparator = check_comparator(realm, args)?;
    let (array, length) = validate(realm, args)?;
    sort_into(realm, array, array, length, comparator)?;
    Ok(args.this)
}

/// %TypedArray%.prototype.toSorted (23.2.3.33)
pub fn to_sorted(realm: &mut Realm, args: Args) -> Completion {
    let comparator = check_comparator(realm, args)?;
    let (array, length) = validate(realm, args)?;
    let made = realm.new_typed_array(realm.element_type(array), f64::from(length))?;
    sort_into(realm, array, made, length, comparator)?;
    Ok(Value::object(made))
}

/// %TypedArray%.prototype.subarray (23.2.3.30)
pub fn subarray(realm: &mut Realm, args: Args) -> Completion {
    let array = this_array(realm, args)?;
    let length = f64::from(realm.typed_array_length(array).unwrap_or(0));
    let start = realm.relative_index(args.get(realm, 0), length, 0.0)?;
    let tracks = realm.cage.u32(array, LENGTH) == TRACKS;
    let end = args.get(realm, 1);
    let new_length = if tracks && end.is_undefined() {
        None
    } else {
        let end = realm.relative_index(end, length, length)?;
        Some(Value::number((end - start).max(0.0)))
    };
    let size = f64::from(realm.element_type(array).bytes());
    let offset = Value::number(f64::from(realm.cage.u32(array, OFFSET)) + start * size);
    let buffer = Value::object(realm.cage.r(array, BUFFER));
    let made = match new_length {
        Some(new_length) => realm.typed_array_species_create(array, &[buffer, offset, new_length], None)?,
        None => realm.typed_array_species_create(array, &[buffer, offset], None)?,
    };
    Ok(Value::object(made))
}

/// %TypedArray%.prototype.with (23.2.3.36)
pub fn with(realm: &mut Realm, args: Args) -> Completion {
    let (array, length) = validate(realm, args)?;
    let relative = realm.to_integer(args.get(realm, 0))?;
    let k = if relative >= 0.0 { relative } else { f64::from(length) + relative };
    let element_type = realm.element_type(array);
    let raw = realm.value_to_raw(element_type, args.get(realm, 1))?;
    let now = realm.typed_array_length(array).unwrap_or(0);
    if k < 0.0 || k >= f64::from(now) {
        return Err(realm.throw_range("Invalid typed array index"));
    }
    let made = realm.new_typed_array(element_type, f64::from(length))?;
    for i in 0..length {
        realm.charge(1)?;
        if f64::from(i) == k {
            realm.store_raw_element(made, i, raw);
        } else {
            let value = element(realm, array, i)?;
            realm.typed_array_store(made, i, value)?;
        }
    }
    Ok(Value::object(made))
}
