//! Iterator and its helpers (ECMA-262 27.1.2 to 27.1.4).
//!
//! A helper is an `Iterator` cell of a sort from `HELPER_FIRST` on; at 16 it holds its state, a `Values` cell.
//! The function at STEP's place gives the next value; suspending is returning from it.

use super::*;
use crate::interp::iterate::sort::HELPER_FIRST;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;

builtin_table! { 23;
    ITERATOR("Iterator", 0, constructor) = iterator;
    FROM("from", 1) = from;
    CONCAT("concat", 0) = concat;
    DROP("drop", 1) = drop;
    EVERY("every", 1) = every;
    FILTER("filter", 1) = filter;
    FIND("find", 1) = find;
    FLAT_MAP("flatMap", 1) = flat_map;
    FOR_EACH("forEach", 1) = for_each;
    MAP("map", 1) = map;
    REDUCE("reduce", 1) = reduce;
    SOME("some", 1) = some;
    TAKE("take", 1) = take;
    TO_ARRAY("toArray", 0) = to_array;
    HELPER_NEXT("next", 0) = helper_next;
    HELPER_RETURN("return", 0) = helper_return;
    WRAP_NEXT("next", 0) = wrap_next;
    WRAP_RETURN("return", 0) = wrap_return;
    TAG_GET("get [Symbol.toStringTag]", 0) = tag_get;
    TAG_SET("set [Symbol.toStringTag]", 1) = tag_set;
    CONSTRUCTOR_GET("get constructor", 0) = constructor_get;
    CONSTRUCTOR_SET("set constructor", 1) = constructor_set;
}

// Sorts of helpers.
const SORT_MAP: u32 = HELPER_FIRST;
const SORT_FILTER: u32 = HELPER_FIRST + 1;
const SORT_TAKE: u32 = HELPER_FIRST + 2;
const SORT_DROP: u32 = HELPER_FIRST + 3;
const SORT_FLAT_MAP: u32 = HELPER_FIRST + 4;
const SORT_CONCAT: u32 = HELPER_FIRST + 5;
const SORT_WRAP: u32 = HELPER_FIRST + 6;

// Offsets in a helper's state.
const ITERATOR_AT: u32 = 8;
const NEXT_AT: u32 = 16;
/// Callback; for concat the list of (method, iterable) pairs.
const FUNCTION: u32 = 24;
/// Counter, or what remains of a limit.
const COUNT: u32 = 32;
/// Inner iterator and its next method; undefined where there is none.
const INNER: u32 = 40;
const INNER_NEXT: u32 = 48;
const STATUS: u32 = 56;

const START: i32 = 0;
const SUSPENDED: i32 = 1;
const RUNNING: i32 = 2;
const COMPLETED: i32 = 3;

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.intrinsic(Intrinsic::IteratorPrototype);
    let constructor =
        realm.install_constructor(ITERATOR, prototype, Intrinsic::Iterator, Intrinsic::IteratorPrototype)?;
    realm.install_methods(constructor, &[FROM, CONCAT])?;
    realm.install_methods(
        prototype,
        &[DROP, EVERY, FILTER, FIND, FLAT_MAP, FOR_EACH, MAP, REDUCE, SOME, TAKE, TO_ARRAY],
    )?;
    // Both are accessors whose setters ignore prototypes (27.1.4.1, 27.1.4.14).
    let key = Key::Name(realm.symbol(Sym::ToStringTag));
    realm.install_accessor(prototype, key, TAG_GET, Some(TAG_SET))?;
    realm.install_accessor(prototype, realm.key_for(Name::constructor), CONSTRUCTOR_GET, Some(CONSTRUCTOR_SET))?;
    let helper = realm.new_object_with_prototype(prototype)?;
    realm.install_methods(helper, &[HELPER_NEXT, HELPER_RETURN])?;
    realm.install_tag(helper, "Iterator Helper")?;
    realm.set_intrinsic(Intrinsic::IteratorHelperPrototype, Value::object(helper));
    let wrapper = realm.new_object_with_prototype(prototype)?;
    realm.install_methods(wrapper, &[WRAP_NEXT, WRAP_RETURN])?;
    realm.set_intrinsic(Intrinsic::WrapForValidIteratorPrototype, Value::object(wrapper));
    Ok(())
}

/// Iterator ( ) (27.1.3.1.1)
fn iterator(realm: &mut Realm, args: Args) -> Completion {
    if !args.is_construct() {
        return Err(realm.throw_type("Constructor Iterator requires 'new'"));
    }
    if args.new_target == Value::object(args.callee) {
        return Err(realm.throw_type("Abstract class Iterator not directly constructable"));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::IteratorPrototype)?;
    Ok(Value::object(realm.new_object_with_prototype(prototype)?))
}

/// SetterThatIgnoresPrototypeProperties (7.3.37)
fn ignoring_setter(realm: &mut Realm, args: Args, key: Key) -> Completion {
    let Some(this) = args.this.to_object_ref() else {
        return Err(realm.throw_type("Iterator.prototype setter called on non-object"));
    };
    if this == realm.intrinsic(Intrinsic::IteratorPrototype) {
        return Err(realm.throw_type("Cannot assign to this property of Iterator.prototype"));
    }
    let value = args.get(realm, 0);
    if realm.get_own_property(this, key)?.is_none() {
        realm.create_data_property_or_throw(this, key, value)?;
    } else {
        realm.set(this, key, value)?;
    }
    Ok(Value::UNDEFINED)
}

/// get Iterator.prototype [ @@toStringTag ] (27.1.4.14.1)
fn tag_get(realm: &mut Realm, _: Args) -> Completion {
    realm.string_value("Iterator")
}

/// set Iterator.prototype [ @@toStringTag ] (27.1.4.14.2)
fn tag_set(realm: &mut Realm, args: Args) -> Completion {
    let key = Key::Name(realm.symbol(Sym::ToStringTag));
    ignoring_setter(realm, args, key)
}

/// get Iterator.prototype.constructor (27.1.4.1.1)
fn constructor_get(realm: &mut Realm, _: Args) -> Completion {
    Ok(realm.intrinsic_value(Intrinsic::Iterator))
}

/// set Iterator.prototype.constructor (27.1.4.1.2)
fn constructor_set(realm: &mut Realm, args: Args) -> Completion {
    let key = realm.key_for(Name::constructor);
    ignoring_setter(realm, args, key)
}

// --- records and state

fn field(realm: &Realm, state: Ref, at: u32) -> Value {
    Value(realm.cage.get(state, at))
}

fn set_field(realm: &mut Realm, state: Ref, at: u32, value: Value) {
    realm.cage.set(state, at, value.0);
}

/// A new helper of this sort.
fn new_helper(
    realm: &mut Realm,
    sort: u32,
    (iterator, next): (Value, Value),
    function: Value,
    count: Value,
) -> Completion {
    let state = realm.new_values(7, Value::UNDEFINED)?;
    for (at, value) in
        [(ITERATOR_AT, iterator), (NEXT_AT, next), (FUNCTION, function), (COUNT, count), (STATUS, Value::int(START))]
    {
        set_field(realm, state, at, value);
    }
    let prototype =
        if sort == SORT_WRAP { Intrinsic::WrapForValidIteratorPrototype } else { Intrinsic::IteratorHelperPrototype };
    Ok(Value::object(realm.new_iterator(Value::cell(state), sort, prototype)?))
}

/// The receiver of Iterator.prototype methods: any object.
fn this_object(realm: &mut Realm, args: Args) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(object) => Ok(object),
        None => {
            let name = realm.builtin_info(args.callee).name;
            Err(realm.throw_type(&format!("Iterator.prototype.{name} called on non-object")))
        }
    }
}

/// GetIteratorDirect (7.4.1)
fn direct(realm: &mut Realm, object: Ref) -> Completion<(Value, Value)> {
    let next = realm.get_name(object, Name::next)?;
    Ok((Value::object(object), next))
}

/// IfAbruptCloseIterator: closes `iterator` when `result` is an exception.
fn closing<T>(realm: &mut Realm, iterator: Value, result: Completion<T>) -> Completion<T> {
    if result.is_err() && realm.termination.is_none() {
        realm.iterator_close_throwing(iterator);
    }
    result
}

/// GetIteratorFlattenable (7.4.5)
fn flattenable(realm: &mut Realm, value: Value, strings: bool) -> Completion<(Value, Value)> {
    let accepted_string = strings && value.is_string();
    if !value.is_object() && !accepted_string {
        let text = realm.describe(value);
        return Err(realm.throw_type(&format!("{text} is not an object")));
    }
    let key = Key::Name(realm.symbol(Sym::Iterator));
    let method = realm.get_method(value, key)?;
    let iterator = if method.is_undefined() { value } else { realm.call(method, value, &[])? };
    match iterator.to_object_ref() {
        Some(object) => direct(realm, object),
        None => {
            let text = realm.describe(iterator);
            Err(realm.throw_type(&format!("{text} is not an object")))
        }
    }
}

/// The callback argument; a wrong one closes the receiver.
fn callback_of(realm: &mut Realm, args: Args) -> Completion {
    let function = args.get(realm, 0);
    if realm.is_callable(function) {
        return Ok(function);
    }
    let text = realm.describe(function);
    let error = Err(realm.throw_type(&format!("{text} is not a function")));
    closing(realm, args.this, error)
}

/// The limit argument of take and drop.
fn limit_of(realm: &mut Realm, args: Args) -> Completion<f64> {
    let limit = args.get(realm, 0);
    let number = realm.to_number(limit);
    let number = closing(realm, args.this, number)?;
    if number.is_nan() || number.trunc() < 0.0 {
        let text = realm.describe(limit);
        let error = Err(realm.throw_range(&format!("{text} must be positive")));
        return closing(realm, args.this, error);
    }
    Ok(number.trunc())
}

// --- making helpers

fn with_callback(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let object = this_object(realm, args)?;
    let function = callback_of(realm, args)?;
    let record = direct(realm, object)?;
    new_helper(realm, sort, record, function, Value::ZERO)
}

fn with_limit(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let object = this_object(realm, args)?;
    let limit = limit_of(realm, args)?;
    let record = direct(realm, object)?;
    new_helper(realm, sort, record, Value::UNDEFINED, Value::number(limit))
}

/// Iterator.prototype.drop (27.1.4.2)
fn drop(realm: &mut Realm, args: Args) -> Completion {
    with_limit(realm, args, SORT_DROP)
}

/// Iterator.prototype.filter (27.1.4.4)
fn filter(realm: &mut Realm, args: Args) -> Completion {
    with_callback(realm, args, SORT_FILTER)
}

/// Iterator.prototype.flatMap (27.1.4.6)
fn flat_map(realm: &mut Realm, args: Args) -> Completion {
    with_callback(realm, args, SORT_FLAT_MAP)
}

/// Iterator.prototype.map (27.1.4.8)
fn map(realm: &mut Realm, args: Args) -> Completion {
    with_callback(realm, args, SORT_MAP)
}

/// Iterator.prototype.take (27.1.4.11)
fn take(realm: &mut Realm, args: Args) -> Completion {
    with_limit(realm, args, SORT_TAKE)
}

/// Iterator.from (27.1.3.2.2)
fn from(realm: &mut Realm, args: Args) -> Completion {
    let record = flattenable(realm, args.get(realm, 0), true)?;
    let constructor = realm.intrinsic_value(Intrinsic::Iterator);
    if realm.ordinary_has_instance(constructor, record.0)? {
        return Ok(record.0);
    }
    new_helper(realm, SORT_WRAP, record, Value::UNDEFINED, Value::ZERO)
}

/// Iterator.concat (iterator sequencing)
fn concat(realm: &mut Realm, args: Args) -> Completion {
    let list = realm.new_values(2 * args.len() as u32, Value::UNDEFINED)?;
    let key = Key::Name(realm.symbol(Sym::Iterator));
    for i in 0..args.len() {
        let item = args.get(realm, i);
        if !item.is_object() {
            let text = realm.describe(item);
            return Err(realm.throw_type(&format!("{text} is not an object")));
        }
        let method = realm.get_method(item, key)?;
        if method.is_undefined() {
            return Err(realm.throw_type("object is not iterable"));
        }
        realm.cage.set(list, 8 + 16 * i as u32, method.0);
        realm.cage.set(list, 16 + 16 * i as u32, item.0);
    }
    let none = (Value::UNDEFINED, Value::UNDEFINED);
    new_helper(realm, SORT_CONCAT, none, Value::cell(list), Value::ZERO)
}

// --- steps: the next value, or None at the end

/// Takes the counter and counts on.
fn count_up(realm: &mut Realm, state: Ref) -> Value {
    let count = field(realm, state, COUNT);
    set_field(realm, state, COUNT, Value::number(count.as_number() + 1.0));
    count
}

/// The next value of the underlying iterator.
fn step_outer(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    realm.charge(1)?;
    realm.iterator_step_value(field(realm, state, ITERATOR_AT), field(realm, state, NEXT_AT))
}

/// Calls the callback with a value and its number; an exception closes the underlying iterator.
fn call_back(realm: &mut Realm, state: Ref, value: Value) -> Completion {
    let (iterator, function) = (field(realm, state, ITERATOR_AT), field(realm, state, FUNCTION));
    let count = count_up(realm, state);
    let result = realm.call(function, Value::UNDEFINED, &[value, count]);
    closing(realm, iterator, result)
}

fn step_map(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    match step_outer(realm, state)? {
        Some(value) => call_back(realm, state, value).map(Some),
        None => Ok(None),
    }
}

fn step_filter(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    while let Some(value) = step_outer(realm, state)? {
        let selected = call_back(realm, state, value)?;
        if realm.to_boolean(selected) {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

fn step_take(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    let remaining = field(realm, state, COUNT).as_number();
    if remaining == 0.0 {
        realm.iterator_close(field(realm, state, ITERATOR_AT))?;
        return Ok(None);
    }
    set_field(realm, state, COUNT, Value::number(remaining - 1.0));
    step_outer(realm, state)
}

fn step_drop(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    loop {
        let remaining = field(realm, state, COUNT).as_number();
        if remaining <= 0.0 {
            return step_outer(realm, state);
        }
        realm.charge(1)?;
        set_field(realm, state, COUNT, Value::number(remaining - 1.0));
        let (iterator, next) = (field(realm, state, ITERATOR_AT), field(realm, state, NEXT_AT));
        if realm.iterator_step(iterator, next)?.is_none() {
            return Ok(None);
        }
    }
}

/// The next value of the inner iterator; `None` when there is none (any more).
fn step_inner(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    let inner = field(realm, state, INNER);
    if inner.is_undefined() {
        return Ok(None);
    }
    realm.charge(1)?;
    let value = realm.iterator_step_value(inner, field(realm, state, INNER_NEXT))?;
    if value.is_none() {
        set_field(realm, state, INNER, Value::UNDEFINED);
    }
    Ok(value)
}

fn step_flat_map(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    let iterator = field(realm, state, ITERATOR_AT);
    loop {
        let value = step_inner(realm, state);
        if let Some(value) = closing(realm, iterator, value)? {
            return Ok(Some(value));
        }
        let Some(value) = step_outer(realm, state)? else { return Ok(None) };
        let mapped = call_back(realm, state, value)?;
        let record = flattenable(realm, mapped, false);
        let (inner, next) = closing(realm, iterator, record)?;
        set_field(realm, state, INNER, inner);
        set_field(realm, state, INNER_NEXT, next);
    }
}

fn step_concat(realm: &mut Realm, state: Ref) -> Completion<Option<Value>> {
    let list = field(realm, state, FUNCTION).as_ref();
    loop {
        if let Some(value) = step_inner(realm, state)? {
            return Ok(Some(value));
        }
        let position = field(realm, state, COUNT).as_int() as u32;
        if position >= realm.cage.u32(list, 4) / 2 {
            return Ok(None);
        }
        count_up(realm, state);
        let (method, item) =
            (Value(realm.cage.get(list, 8 + 16 * position)), Value(realm.cage.get(list, 16 + 16 * position)));
        let (inner, next) = realm.get_iterator_from_method(item, method)?;
        set_field(realm, state, INNER, inner);
        set_field(realm, state, INNER_NEXT, next);
    }
}

/// State and sort of a helper receiver.
fn helper_state(realm: &mut Realm, args: Args, method: &str) -> Completion<(Ref, u32)> {
    if let Some(cell) = args.this.to_object_ref()
        && realm.cage.is(cell, Kind::Iterator)
        && (SORT_MAP..SORT_WRAP).contains(&realm.cage.u32(cell, 36))
    {
        return Ok((Value(realm.cage.get(cell, 16)).as_ref(), realm.cage.u32(cell, 36)));
    }
    let text = realm.describe(args.this);
    Err(realm.throw_type(&format!("Iterator Helper.prototype.{method} called on incompatible receiver {text}")))
}

/// %IteratorHelperPrototype%.next (27.1.2.1.1)
fn helper_next(realm: &mut Realm, args: Args) -> Completion {
    let (state, sort) = helper_state(realm, args, "next")?;
    match field(realm, state, STATUS).as_int() {
        RUNNING => return Err(realm.throw_type("Generator is already running")),
        COMPLETED => return realm.new_iterator_result(Value::UNDEFINED, true),
        _ => {}
    }
    set_field(realm, state, STATUS, Value::int(RUNNING));
    let step = match sort {
        SORT_MAP => step_map(realm, state),
        SORT_FILTER => step_filter(realm, state),
        SORT_TAKE => step_take(realm, state),
        SORT_DROP => step_drop(realm, state),
        SORT_FLAT_MAP => step_flat_map(realm, state),
        _ => step_concat(realm, state),
    };
    let status = if matches!(step, Ok(Some(_))) { SUSPENDED } else { COMPLETED };
    set_field(realm, state, STATUS, Value::int(status));
    match step? {
        Some(value) => realm.new_iterator_result(value, false),
        None => realm.new_iterator_result(Value::UNDEFINED, true),
    }
}

/// %IteratorHelperPrototype%.return (27.1.2.1.2)
fn helper_return(realm: &mut Realm, args: Args) -> Completion {
    let (state, _) = helper_state(realm, args, "return")?;
    let iterator = field(realm, state, ITERATOR_AT);
    match field(realm, state, STATUS).as_int() {
        RUNNING => return Err(realm.throw_type("Generator is already running")),
        COMPLETED => {}
        START => {
            set_field(realm, state, STATUS, Value::int(COMPLETED));
            if !iterator.is_undefined() {
                realm.iterator_close(iterator)?;
            }
        }
        _ => {
            set_field(realm, state, STATUS, Value::int(RUNNING));
            let closed = close_suspended(realm, state, iterator);
            set_field(realm, state, STATUS, Value::int(COMPLETED));
            closed?;
        }
    }
    realm.new_iterator_result(Value::UNDEFINED, true)
}

/// A return completion at a yield: closes the inner iterator, then the underlying one.
fn close_suspended(realm: &mut Realm, state: Ref, iterator: Value) -> Completion<()> {
    let inner = field(realm, state, INNER);
    if !inner.is_undefined() {
        let closed = realm.iterator_close(inner);
        if iterator.is_undefined() {
            return closed;
        }
        closing(realm, iterator, closed)?;
    }
    if iterator.is_undefined() { Ok(()) } else { realm.iterator_close(iterator) }
}

fn wrapped(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    if let Some(cell) = args.this.to_object_ref()
        && realm.cage.is(cell, Kind::Iterator)
        && realm.cage.u32(cell, 36) == SORT_WRAP
    {
        return Ok(Value(realm.cage.get(cell, 16)).as_ref());
    }
    let text = realm.describe(args.this);
    Err(realm.throw_type(&format!("%WrapForValidIteratorPrototype%.{method} called on incompatible receiver {text}")))
}

/// %WrapForValidIteratorPrototype%.next (27.1.3.2.2.1.1)
fn wrap_next(realm: &mut Realm, args: Args) -> Completion {
    let state = wrapped(realm, args, "next")?;
    realm.call(field(realm, state, NEXT_AT), field(realm, state, ITERATOR_AT), &[])
}

/// %WrapForValidIteratorPrototype%.return (27.1.3.2.2.1.2)
fn wrap_return(realm: &mut Realm, args: Args) -> Completion {
    let state = wrapped(realm, args, "return")?;
    let iterator = field(realm, state, ITERATOR_AT);
    let method = realm.get_method(iterator, realm.key_for(Name::return_))?;
    if method.is_undefined() {
        return realm.new_iterator_result(Value::UNDEFINED, true);
    }
    realm.call(method, iterator, &[])
}

// --- methods that run the iterator to its end

/// Calls the callback with each value and its number until `visit` (value, result) says false; then the
/// iterator is closed.
fn consume(
    realm: &mut Realm,
    args: Args,
    mut visit: impl FnMut(&mut Realm, Value, Value) -> Completion<bool>,
) -> Completion<()> {
    let object = this_object(realm, args)?;
    let function = callback_of(realm, args)?;
    let (iterator, next) = direct(realm, object)?;
    let mut count = 0.0;
    while let Some(value) = realm.iterator_step_value(iterator, next)? {
        realm.charge(1)?;
        let result = realm.call(function, Value::UNDEFINED, &[value, Value::number(count)]);
        let result = closing(realm, iterator, result)?;
        if !visit(realm, value, result)? {
            return realm.iterator_close(iterator);
        }
        count += 1.0;
    }
    Ok(())
}

/// Iterator.prototype.every (27.1.4.3)
fn every(realm: &mut Realm, args: Args) -> Completion {
    let mut all = true;
    consume(realm, args, |realm, _, result| {
        all = realm.to_boolean(result);
        Ok(all)
    })?;
    Ok(Value::boolean(all))
}

/// Iterator.prototype.find (27.1.4.5)
fn find(realm: &mut Realm, args: Args) -> Completion {
    let mut found = Value::UNDEFINED;
    consume(realm, args, |realm, value, result| {
        let hit = realm.to_boolean(result);
        if hit {
            found = value;
        }
        Ok(!hit)
    })?;
    Ok(found)
}

/// Iterator.prototype.forEach (27.1.4.7)
fn for_each(realm: &mut Realm, args: Args) -> Completion {
    consume(realm, args, |_, _, _| Ok(true))?;
    Ok(Value::UNDEFINED)
}

/// Iterator.prototype.some (27.1.4.10)
fn some(realm: &mut Realm, args: Args) -> Completion {
    let mut any = false;
    consume(realm, args, |realm, _, result| {
        any = realm.to_boolean(result);
        Ok(!any)
    })?;
    Ok(Value::boolean(any))
}

/// Iterator.prototype.reduce (27.1.4.9)
fn reduce(realm: &mut Realm, args: Args) -> Completion {
    let object = this_object(realm, args)?;
    let function = callback_of(realm, args)?;
    let (iterator, next) = direct(realm, object)?;
    let mut count = 0.0;
    let mut accumulator = args.get(realm, 1);
    if args.len() < 2 {
        accumulator = match realm.iterator_step_value(iterator, next)? {
            Some(value) => value,
            None => return Err(realm.throw_type("Reduce of a done iterator with no initial value")),
        };
        count = 1.0;
    }
    while let Some(value) = realm.iterator_step_value(iterator, next)? {
        realm.charge(1)?;
        let result = realm.call(function, Value::UNDEFINED, &[accumulator, value, Value::number(count)]);
        accumulator = closing(realm, iterator, result)?;
        count += 1.0;
    }
    Ok(accumulator)
}

/// Iterator.prototype.toArray (27.1.4.12)
fn to_array(realm: &mut Realm, args: Args) -> Completion {
    let object = this_object(realm, args)?;
    let (iterator, next) = direct(realm, object)?;
    let array = realm.new_array()?;
    while let Some(value) = realm.iterator_step_value(iterator, next)? {
        realm.charge(1)?;
        realm.array_push(array, value)?;
    }
    Ok(Value::object(array))
}
