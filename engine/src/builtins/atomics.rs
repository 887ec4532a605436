//! Atomics (ECMA-262 25.4). A realm has one agent that must not block, so `wait` is refused and nobody is ever
//! woken; the other operations are plain reads and writes.

use super::*;
use crate::builtins::element_types::ElementType;
use crate::names::Intrinsic;

builtin_table! { 25;
    ADD("add", 3) = add;
    AND("and", 3) = and;
    COMPARE_EXCHANGE("compareExchange", 4) = compare_exchange;
    EXCHANGE("exchange", 3) = exchange;
    IS_LOCK_FREE("isLockFree", 1) = is_lock_free;
    LOAD("load", 2) = load;
    NOTIFY("notify", 3) = notify;
    OR("or", 3) = or;
    PAUSE("pause", 0) = pause;
    STORE("store", 3) = store;
    SUB("sub", 3) = sub;
    WAIT("wait", 4) = wait;
    XOR("xor", 3) = xor;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let atomics = realm.new_plain_prototype()?;
    realm.set_intrinsic(Intrinsic::Atomics, Value::object(atomics));
    for number in ADD..=XOR {
        realm.install_method(atomics, number)?;
    }
    realm.install_tag(atomics, "Atomics")?;
    realm.install_global("Atomics", Value::object(atomics))
}

/// ValidateIntegerTypedArray (25.4.3.1) and ValidateAtomicAccess (25.4.3.2): array, type, index.
fn access(realm: &mut Realm, args: Args, waitable: bool) -> Completion<(Ref, ElementType, u32)> {
    let (array, length) = realm.validate_typed_array(args.get(realm, 0), "Atomics operation")?;
    let element_type = realm.element_type(array);
    let fits = if waitable {
        matches!(element_type, ElementType::Int32 | ElementType::BigInt64)
    } else {
        use ElementType::*;
        !matches!(element_type, Uint8Clamped | Float16 | Float32 | Float64)
    };
    if !fits {
        return Err(realm.throw_type("[object Array] is not an integer typed array."));
    }
    let index = realm.to_index(args.get(realm, 1))?;
    if index >= f64::from(length) {
        return Err(realm.throw_range("Invalid atomic access index"));
    }
    Ok((array, element_type, index as u32))
}

/// RevalidateAtomicAccess (25.4.3.4): the element's address.
fn address(realm: &mut Realm, array: Ref, index: u32) -> Completion<u32> {
    let Some(length) = realm.typed_array_length(array) else {
        return Err(realm.throw_out_of_bounds("Atomics operation"));
    };
    if index >= length {
        return Err(realm.throw_range("Invalid atomic access index"));
    }
    Ok(realm.typed_array_bytes(array) + index * realm.element_type(array).bytes())
}

/// The operand as an integer: the value that `store` returns, and its bytes.
fn operand(realm: &mut Realm, value: Value, element_type: ElementType) -> Completion<(Value, u64)> {
    let value = if element_type.is_bigint() {
        Value::bigint(realm.to_bigint(value)?)
    } else {
        Value::number(realm.to_integer(value)?)
    };
    Ok((value, realm.value_to_raw(element_type, value)?))
}

/// AtomicReadModifyWrite (25.4.3.15)
fn modify(realm: &mut Realm, args: Args, operation: fn(u64, u64) -> u64) -> Completion {
    let (array, element_type, index) = access(realm, args, false)?;
    let (_, raw) = operand(realm, args.get(realm, 2), element_type)?;
    let at = address(realm, array, index)?;
    let old = realm.read_raw(element_type, at);
    realm.write_raw(element_type, at, operation(old, raw));
    realm.raw_to_value(element_type, old)
}

/// Atomics.add (25.4.4)
fn add(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, u64::wrapping_add)
}

/// Atomics.and (25.4.5)
fn and(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, |a, b| a & b)
}

/// Atomics.compareExchange (25.4.6)
fn compare_exchange(realm: &mut Realm, args: Args) -> Completion {
    let (array, element_type, index) = access(realm, args, false)?;
    let (_, expected) = operand(realm, args.get(realm, 2), element_type)?;
    let (_, replacement) = operand(realm, args.get(realm, 3), element_type)?;
    let at = address(realm, array, index)?;
    let old = realm.read_raw(element_type, at);
    let mask = u64::MAX >> (64 - 8 * element_type.bytes());
    if old == expected & mask {
        realm.write_raw(element_type, at, replacement);
    }
    realm.raw_to_value(element_type, old)
}

/// Atomics.exchange (25.4.7)
fn exchange(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, |_, b| b)
}

/// Atomics.isLockFree (25.4.8)
fn is_lock_free(realm: &mut Realm, args: Args) -> Completion {
    let n = realm.to_integer(args.get(realm, 0))?;
    Ok(Value::boolean([1.0, 2.0, 4.0, 8.0].contains(&n)))
}

/// Atomics.load (25.4.9)
fn load(realm: &mut Realm, args: Args) -> Completion {
    let (array, element_type, index) = access(realm, args, false)?;
    let at = address(realm, array, index)?;
    let raw = realm.read_raw(element_type, at);
    realm.raw_to_value(element_type, raw)
}

/// Atomics.or (25.4.10)
fn or(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, |a, b| a | b)
}

/// Atomics.pause
fn pause(realm: &mut Realm, args: Args) -> Completion {
    let count = args.get(realm, 0);
    let is_integer = count.is_number() && count.as_number().fract() == 0.0;
    if !count.is_undefined() && !is_integer {
        return Err(realm.throw_type("The argument of Atomics.pause must be an integer"));
    }
    Ok(Value::UNDEFINED)
}

/// Atomics.store (25.4.11)
fn store(realm: &mut Realm, args: Args) -> Completion {
    let (array, element_type, index) = access(realm, args, false)?;
    let (value, raw) = operand(realm, args.get(realm, 2), element_type)?;
    let at = address(realm, array, index)?;
    realm.write_raw(element_type, at, raw);
    Ok(value)
}

/// Atomics.sub (25.4.12)
fn sub(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, u64::wrapping_sub)
}

/// Atomics.wait (25.4.13): the agent cannot suspend.
fn wait(realm: &mut Realm, args: Args) -> Completion {
    let (array, element_type, _) = access(realm, args, true)?;
    let buffer = realm.cage.r(array, typed_array::BUFFER);
    if !realm.is_shared_buffer(buffer) {
        return Err(realm.throw_type("Atomics.wait needs a typed array over a SharedArrayBuffer"));
    }
    operand(realm, args.get(realm, 2), element_type)?;
    realm.to_number(args.get(realm, 3))?;
    Err(realm.throw_type("Atomics.wait cannot be called in this context"))
}

/// Atomics.notify (25.4.15): nobody waits.
fn notify(realm: &mut Realm, args: Args) -> Completion {
    access(realm, args, true)?;
    let count = args.get(realm, 2);
    if !count.is_undefined() {
        realm.to_integer(count)?;
    }
    Ok(Value::ZERO)
}

/// Atomics.xor (25.4.16)
fn xor(realm: &mut Realm, args: Args) -> Completion {
    modify(realm, args, |a, b| a ^ b)
}
