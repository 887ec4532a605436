//! DisposableStack and AsyncDisposableStack (explicit resource management, 27.3 and 27.4 of the draft).
//!
//! A stack is an `Iterator` cell of a sort of its own: at 16 an array of resources (undefined once disposed), each
//! a `Values` cell (value, method, hint). Resources of hint ASYNC are awaited, those of hint CALLBACK get no
//! receiver but the value as argument.

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::objects::function::DATA;
use crate::realm::Throw;
use crate::shapes::HIDDEN;

/// Sorts of the cells.
const SORT_SYNC: u32 = 64;
const SORT_ASYNC: u32 = 65;

// How a resource is disposed of.
/// Calls the method on the value.
const METHOD: i32 = 0;
/// `adopt`: calls the method with the value.
const ADOPTED: i32 = 1;
/// `defer`: calls the method alone.
const DEFERRED: i32 = 2;

builtin_table! { 24;
    STACK("DisposableStack", 0, constructor) = sync_stack;
    ADOPT("adopt", 2) = sync_adopt;
    DEFER("defer", 1) = sync_defer;
    DISPOSE("dispose", 0) = sync_dispose;
    DISPOSED("get disposed", 0) = sync_disposed;
    MOVE("move", 0) = sync_move;
    USE("use", 1) = sync_use;
    ASYNC_STACK("AsyncDisposableStack", 0, constructor) = async_stack;
    ASYNC_ADOPT("adopt", 2) = async_adopt;
    ASYNC_DEFER("defer", 1) = async_defer;
    DISPOSE_ASYNC("disposeAsync", 0) = dispose_async;
    ASYNC_DISPOSED("get disposed", 0) = async_disposed;
    ASYNC_MOVE("move", 0) = async_move;
    ASYNC_USE("use", 1) = async_use;
    DISPOSED_ONE("", 1) = disposed_one;
    DISPOSAL_FAILED("", 1) = disposal_failed;
    ITERATOR_DISPOSE("[Symbol.dispose]", 0) = iterator_dispose;
    ITERATOR_DISPOSE_ASYNC("[Symbol.asyncDispose]", 0) = iterator_dispose_async;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    realm.install_constructor(STACK, prototype, Intrinsic::DisposableStack, Intrinsic::DisposableStackPrototype)?;
    realm.install_methods(prototype, &[ADOPT, DEFER, DISPOSE, MOVE, USE])?;
    realm.install_getter(prototype, "disposed", DISPOSED)?;
    realm.install_tag(prototype, "DisposableStack")?;
    alias(realm, prototype, "dispose", Sym::Dispose)?;
    let prototype = realm.new_plain_prototype()?;
    let (slot, prototype_slot) = (Intrinsic::AsyncDisposableStack, Intrinsic::AsyncDisposableStackPrototype);
    realm.install_constructor(ASYNC_STACK, prototype, slot, prototype_slot)?;
    realm.install_methods(prototype, &[ASYNC_ADOPT, ASYNC_DEFER, DISPOSE_ASYNC, ASYNC_MOVE, ASYNC_USE])?;
    realm.install_getter(prototype, "disposed", ASYNC_DISPOSED)?;
    realm.install_tag(prototype, "AsyncDisposableStack")?;
    alias(realm, prototype, "disposeAsync", Sym::AsyncDispose)?;
    let iterator = realm.intrinsic(Intrinsic::IteratorPrototype);
    realm.install_symbol_method(iterator, Sym::Dispose, ITERATOR_DISPOSE)?;
    let iterator = realm.intrinsic(Intrinsic::AsyncIteratorPrototype);
    realm.install_symbol_method(iterator, Sym::AsyncDispose, ITERATOR_DISPOSE_ASYNC)
}

fn alias(realm: &mut Realm, object: Ref, name: &str, symbol: Sym) -> Completion<()> {
    let key = realm.key(name)?;
    let function = realm.get(object, key)?;
    let key = Key::Name(realm.symbol(symbol));
    realm.define_data(object, key, function, HIDDEN)
}

/// The receiver as a stack of this sort, disposed or not.
fn this_stack(realm: &mut Realm, args: Args, sort: u32) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(cell) if realm.cage.is(cell, Kind::Iterator) && realm.cage.u32(cell, 36) == sort => Ok(cell),
        _ => {
            let text = realm.describe(args.this);
            Err(realm.throw_type(&format!("DisposableStack method called on incompatible receiver {text}")))
        }
    }
}

/// The resources of a stack that is not disposed yet.
fn resources(realm: &mut Realm, stack: Ref) -> Completion<Ref> {
    match Value(realm.cage.get(stack, 16)).to_object_ref() {
        Some(list) => Ok(list),
        None => Err(realm.throw_reference("Cannot use a stack that has already been disposed")),
    }
}

fn construct(realm: &mut Realm, args: Args, sort: u32, fallback: Intrinsic) -> Completion {
    realm.require_construct(args)?;
    let prototype = realm.prototype_from_constructor(args.new_target, fallback)?;
    let list = realm.new_array()?;
    new_stack(realm, Value::object(list), sort, prototype)
}

fn new_stack(realm: &mut Realm, list: Value, sort: u32, prototype: Ref) -> Completion {
    let cell = realm.new_object_of(Kind::Iterator, prototype)?;
    realm.cage.init(cell.0 + 16, list.0);
    realm.cage.init(cell.0 + 24, Value::UNDEFINED.0);
    realm.cage.init(cell.0 + 36, sort);
    Ok(Value::object(cell))
}

fn push(realm: &mut Realm, list: Ref, value: Value, method: Value, how: i32) -> Completion<()> {
    let resource = realm.new_values(3, value)?;
    realm.cage.set(resource, 16, method.0);
    realm.cage.set(resource, 24, Value::int(how).0);
    realm.array_push(list, Value::cell(resource))
}

/// GetDisposeMethod: undefined is refused by the caller.
fn dispose_method(realm: &mut Realm, value: Value, sort: u32) -> Completion {
    if sort == SORT_ASYNC {
        let key = Key::Name(realm.symbol(Sym::AsyncDispose));
        let method = realm.get_method(value, key)?;
        if !method.is_undefined() {
            return Ok(method);
        }
    }
    let key = Key::Name(realm.symbol(Sym::Dispose));
    realm.get_method(value, key)
}

fn use_value(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let stack = this_stack(realm, args, sort)?;
    let list = resources(realm, stack)?;
    let value = args.get(realm, 0);
    if value.is_nullish() {
        if sort == SORT_ASYNC {
            push(realm, list, Value::UNDEFINED, Value::UNDEFINED, METHOD)?;
        }
        return Ok(value);
    }
    if !value.is_object() {
        let text = realm.describe(value);
        return Err(realm.throw_type(&format!("{text} is not an object")));
    }
    let method = dispose_method(realm, value, sort)?;
    if method.is_undefined() {
        return Err(realm.throw_type("Property [Symbol.dispose] is not a function"));
    }
    push(realm, list, value, method, METHOD)?;
    Ok(value)
}

fn adopt(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let stack = this_stack(realm, args, sort)?;
    let list = resources(realm, stack)?;
    let (value, method) = (args.get(realm, 0), args.get(realm, 1));
    if !realm.is_callable(method) {
        return Err(realm.throw_type("onDispose is not a function"));
    }
    push(realm, list, value, method, ADOPTED)?;
    Ok(value)
}

fn defer(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let stack = this_stack(realm, args, sort)?;
    let list = resources(realm, stack)?;
    let method = args.get(realm, 0);
    if !realm.is_callable(method) {
        return Err(realm.throw_type("onDispose is not a function"));
    }
    push(realm, list, Value::UNDEFINED, method, DEFERRED)?;
    Ok(Value::UNDEFINED)
}

fn disposed(realm: &mut Realm, args: Args, sort: u32) -> Completion {
    let stack = this_stack(realm, args, sort)?;
    Ok(Value::boolean(!Value(realm.cage.get(stack, 16)).is_object()))
}

fn move_stack(realm: &mut Realm, args: Args, sort: u32, prototype: Intrinsic) -> Completion {
    let stack = this_stack(realm, args, sort)?;
    let list = resources(realm, stack)?;
    let prototype = realm.intrinsic(prototype);
    let made = new_stack(realm, Value::object(list), sort, prototype)?;
    realm.cage.set(stack, 16, Value::UNDEFINED.0);
    Ok(made)
}

/// Calls the dispose method of the resource at `index`.
fn dispose_one(realm: &mut Realm, list: Ref, index: u32) -> Completion {
    realm.charge(1)?;
    let Some(resource) = realm.stored_element(list, index) else { return Ok(Value::UNDEFINED) };
    let resource = resource.value.as_ref();
    let part = |at: u32| Value(realm.cage.get(resource, at));
    let (value, method, how) = (part(8), part(16), part(24).as_int());
    if method.is_undefined() {
        return Ok(Value::UNDEFINED);
    }
    match how {
        METHOD => realm.call(method, value, &[]),
        ADOPTED => realm.call(method, Value::UNDEFINED, &[value]),
        _ => realm.call(method, Value::UNDEFINED, &[]),
    }
}

/// A later error suppresses an earlier one; the hole means that there is none.
fn suppress(realm: &mut Realm, earlier: Value, error: Value) -> Completion {
    if earlier.is_hole() {
        return Ok(error);
    }
    let object = realm.new_error(Intrinsic::SuppressedErrorPrototype, "An error was suppressed during disposal")?;
    realm.define_data(object, realm.key_for(Name::error), error, HIDDEN)?;
    realm.define_data(object, realm.key_for(Name::suppressed), earlier, HIDDEN)?;
    Ok(Value::object(object))
}

/// DisposableStack ( )
fn sync_stack(realm: &mut Realm, args: Args) -> Completion {
    construct(realm, args, SORT_SYNC, Intrinsic::DisposableStackPrototype)
}

/// DisposableStack.prototype.adopt
fn sync_adopt(realm: &mut Realm, args: Args) -> Completion {
    adopt(realm, args, SORT_SYNC)
}

/// DisposableStack.prototype.defer
fn sync_defer(realm: &mut Realm, args: Args) -> Completion {
    defer(realm, args, SORT_SYNC)
}

/// DisposableStack.prototype.dispose
fn sync_dispose(realm: &mut Realm, args: Args) -> Completion {
    let stack = this_stack(realm, args, SORT_SYNC)?;
    let Some(list) = Value(realm.cage.get(stack, 16)).to_object_ref() else { return Ok(Value::UNDEFINED) };
    realm.cage.set(stack, 16, Value::UNDEFINED.0);
    let mut pending = Value::HOLE;
    for index in (0..realm.array_length(list)).rev() {
        if let Err(Throw) = dispose_one(realm, list, index) {
            let error = realm.take_exception()?;
            pending = suppress(realm, pending, error)?;
        }
    }
    if pending.is_hole() { Ok(Value::UNDEFINED) } else { Err(realm.throw(pending)) }
}

/// get DisposableStack.prototype.disposed
fn sync_disposed(realm: &mut Realm, args: Args) -> Completion {
    disposed(realm, args, SORT_SYNC)
}

/// DisposableStack.prototype.move
fn sync_move(realm: &mut Realm, args: Args) -> Completion {
    move_stack(realm, args, SORT_SYNC, Intrinsic::DisposableStackPrototype)
}

/// DisposableStack.prototype.use
fn sync_use(realm: &mut Realm, args: Args) -> Completion {
    use_value(realm, args, SORT_SYNC)
}

/// AsyncDisposableStack ( )
fn async_stack(realm: &mut Realm, args: Args) -> Completion {
    construct(realm, args, SORT_ASYNC, Intrinsic::AsyncDisposableStackPrototype)
}

/// AsyncDisposableStack.prototype.adopt
fn async_adopt(realm: &mut Realm, args: Args) -> Completion {
    adopt(realm, args, SORT_ASYNC)
}

/// AsyncDisposableStack.prototype.defer
fn async_defer(realm: &mut Realm, args: Args) -> Completion {
    defer(realm, args, SORT_ASYNC)
}

/// get AsyncDisposableStack.prototype.disposed
fn async_disposed(realm: &mut Realm, args: Args) -> Completion {
    disposed(realm, args, SORT_ASYNC)
}

/// AsyncDisposableStack.prototype.move
fn async_move(realm: &mut Realm, args: Args) -> Completion {
    move_stack(realm, args, SORT_ASYNC, Intrinsic::AsyncDisposableStackPrototype)
}

/// AsyncDisposableStack.prototype.use
fn async_use(realm: &mut Realm, args: Args) -> Completion {
    use_value(realm, args, SORT_ASYNC)
}

/// AsyncDisposableStack.prototype.disposeAsync
fn dispose_async(realm: &mut Realm, args: Args) -> Completion {
    let promise = realm.new_promise(Intrinsic::PromisePrototype)?;
    let stack = match this_stack(realm, args, SORT_ASYNC) {
        Ok(stack) => stack,
        Err(Throw) => {
            let reason = realm.take_exception()?;
            realm.reject_promise(promise, reason)?;
            return Ok(Value::object(promise));
        }
    };
    let Some(list) = Value(realm.cage.get(stack, 16)).to_object_ref() else {
        realm.resolve_promise(promise, Value::UNDEFINED)?;
        return Ok(Value::object(promise));
    };
    realm.cage.set(stack, 16, Value::UNDEFINED.0);
    // Shared state of the walk: resources, how many are left, the pending error, the promise.
    let state = realm.new_values(4, Value::object(list))?;
    let count = realm.array_length(list);
    realm.cage.set(state, 16, Value::int(count as i32).0);
    realm.cage.set(state, 24, Value::HOLE.0);
    realm.cage.set(state, 32, Value::object(promise).0);
    dispose_next(realm, state)?;
    Ok(Value::object(promise))
}

/// Disposes of the next resource and waits for it, or settles the promise.
fn dispose_next(realm: &mut Realm, state: Ref) -> Completion<()> {
    let part = |realm: &Realm, at: u32| Value(realm.cage.get(state, at));
    loop {
        let left = part(realm, 16).as_int();
        let promise = part(realm, 32).as_ref();
        if left == 0 {
            let pending = part(realm, 24);
            if pending.is_hole() {
                return realm.resolve_promise(promise, Value::UNDEFINED);
            }
            return realm.reject_promise(promise, pending);
        }
        realm.cage.set(state, 16, Value::int(left - 1).0);
        let list = part(realm, 8).as_ref();
        let waiting = match dispose_one(realm, list, left as u32 - 1) {
            Ok(result) => realm.promise_resolve_intrinsic(result),
            Err(throw) => Err(throw),
        };
        match waiting {
            Ok(waiting) => {
                let empty = realm.name_value(Name::empty);
                let done = realm.new_native_function_named(DISPOSED_ONE, Value::cell(state), empty, 1)?;
                let failed = realm.new_native_function_named(DISPOSAL_FAILED, Value::cell(state), empty, 1)?;
                return realm.perform_then(waiting, Value::object(done), Value::object(failed), Value::UNDEFINED);
            }
            Err(Throw) => {
                let error = realm.take_exception()?;
                note_failure(realm, state, error)?;
            }
        }
    }
}

fn note_failure(realm: &mut Realm, state: Ref, error: Value) -> Completion<()> {
    let pending = suppress(realm, Value(realm.cage.get(state, 24)), error)?;
    realm.cage.set(state, 24, pending.0);
    Ok(())
}

fn disposed_one(realm: &mut Realm, args: Args) -> Completion {
    let state = Value(realm.cage.get(args.callee, DATA)).as_ref();
    dispose_next(realm, state)?;
    Ok(Value::UNDEFINED)
}

fn disposal_failed(realm: &mut Realm, args: Args) -> Completion {
    let state = Value(realm.cage.get(args.callee, DATA)).as_ref();
    let error = args.get(realm, 0);
    note_failure(realm, state, error)?;
    dispose_next(realm, state)?;
    Ok(Value::UNDEFINED)
}

/// %Iterator.prototype% [ @@dispose ]
fn iterator_dispose(realm: &mut Realm, args: Args) -> Completion {
    let method = realm.get_method(args.this, realm.key_for(Name::return_))?;
    if !method.is_undefined() {
        realm.call(method, args.this, &[])?;
    }
    Ok(Value::UNDEFINED)
}

/// %AsyncIteratorPrototype% [ @@asyncDispose ]
fn iterator_dispose_async(realm: &mut Realm, args: Args) -> Completion {
    let promise = realm.new_promise(Intrinsic::PromisePrototype)?;
    let result = match realm.get_method(args.this, realm.key_for(Name::return_)) {
        Ok(method) if method.is_undefined() => Ok(Value::UNDEFINED),
        Ok(method) => realm.call(method, args.this, &[Value::UNDEFINED]),
        Err(throw) => Err(throw),
    };
    let waiting = match result {
        Ok(result) => realm.promise_resolve_intrinsic(result),
        Err(throw) => Err(throw),
    };
    match waiting {
        Ok(waiting) => {
            // The value is dropped: a state without resources ends the walk at once.
            let list = realm.new_array()?;
            let state = realm.new_values(4, Value::object(list))?;
            realm.cage.set(state, 16, Value::ZERO.0);
            realm.cage.set(state, 24, Value::HOLE.0);
            realm.cage.set(state, 32, Value::object(promise).0);
            let empty = realm.name_value(Name::empty);
            let done = realm.new_native_function_named(DISPOSED_ONE, Value::cell(state), empty, 1)?;
            let failed = realm.new_native_function_named(DISPOSAL_FAILED, Value::cell(state), empty, 1)?;
            realm.perform_then(waiting, Value::object(done), Value::object(failed), Value::UNDEFINED)?;
        }
        Err(Throw) => {
            let reason = realm.take_exception()?;
            realm.reject_promise(promise, reason)?;
        }
    }
    Ok(Value::object(promise))
}
