//! Async generators (ECMA-262 27.6) and %AsyncFromSyncIteratorPrototype% (27.1.6).
//!
//! A generator's queue (value at `PROMISE`): undefined, or a `Values` cell (first request, last request). A
//! request is a `Values` cell: mode, value, promise, next request or undefined. The state AWAITING_RETURN is
//! the specification's draining-queue; AWAITING and RUNNING are both its executing.

use super::*;
use crate::builtins::promise::ReactionKind;
use crate::bytecode::template::Suspension;
use crate::interp::generator::{PROMISE, ResumeMode, state};
use crate::interp::iterate::sort;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::realm::Throw;
use crate::shapes::CONFIGURABLE;

builtin_table! { 22;
    NEXT("next", 1) = next;
    RETURN("return", 1) = return_;
    THROW("throw", 1) = throw;
    FROM_SYNC_NEXT("next", 1) = from_sync_next;
    FROM_SYNC_RETURN("return", 1) = from_sync_return;
    FROM_SYNC_THROW("throw", 1) = from_sync_throw;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let parent = realm.intrinsic(Intrinsic::AsyncIteratorPrototype);
    let generator = realm.new_object_with_prototype(parent)?;
    realm.install_methods(generator, &[NEXT, RETURN, THROW])?;
    realm.install_tag(generator, "AsyncGenerator")?;
    realm.set_intrinsic(Intrinsic::AsyncGeneratorPrototype, Value::object(generator));
    let functions = realm.intrinsic(Intrinsic::AsyncGeneratorFunctionPrototype);
    realm.define_data(functions, realm.key_for(Name::prototype), Value::object(generator), CONFIGURABLE)?;
    realm.define_data(generator, realm.key_for(Name::constructor), Value::object(functions), CONFIGURABLE)?;
    let from_sync = realm.new_object_with_prototype(parent)?;
    realm.install_methods(from_sync, &[FROM_SYNC_NEXT, FROM_SYNC_RETURN, FROM_SYNC_THROW])?;
    realm.set_intrinsic(Intrinsic::AsyncFromSyncIteratorPrototype, Value::object(from_sync));
    Ok(())
}

/// A request as read from its cell.
#[derive(Clone, Copy)]
struct Request {
    mode: ResumeMode,
    value: Value,
    promise: Ref,
}

impl Realm {
    /// AsyncGeneratorEnqueue (27.6.3.4)
    fn enqueue_request(&mut self, generator: Ref, mode: ResumeMode, value: Value, promise: Ref) -> Completion<()> {
        let request = self.new_values(4, Value::UNDEFINED)?;
        self.cage.set(request, 8, Value::int(mode as i32).0);
        self.cage.set(request, 16, value.0);
        self.cage.set(request, 24, Value::object(promise).0);
        let queue = Value(self.cage.get(generator, PROMISE));
        if queue.is_cell() {
            let queue = queue.as_ref();
            let last = Value(self.cage.get(queue, 16)).as_ref();
            self.cage.set(last, 32, Value::cell(request).0);
            self.cage.set(queue, 16, Value::cell(request).0);
            return Ok(());
        }
        let queue = self.new_values(2, Value::cell(request))?;
        self.cage.set(generator, PROMISE, Value::cell(queue).0);
        Ok(())
    }

    /// The first request, which stays in the queue.
    fn first_request(&self, generator: Ref) -> Option<Request> {
        let queue = Value(self.cage.get(generator, PROMISE));
        if !queue.is_cell() {
            return None;
        }
        let request = Value(self.cage.get(queue.as_ref(), 8)).as_ref();
        let mode = match Value(self.cage.get(request, 8)).as_int() {
            0 => ResumeMode::Next,
            1 => ResumeMode::Throw,
            _ => ResumeMode::Return,
        };
        Some(Request {
            mode,
            value: Value(self.cage.get(request, 16)),
            promise: Value(self.cage.get(request, 24)).as_ref(),
        })
    }

    /// Takes the first request from the queue.
    fn take_request(&mut self, generator: Ref) -> Option<Request> {
        let first = self.first_request(generator)?;
        let queue = Value(self.cage.get(generator, PROMISE)).as_ref();
        let request = Value(self.cage.get(queue, 8)).as_ref();
        let next = Value(self.cage.get(request, 32));
        if next.is_cell() {
            self.cage.set(queue, 8, next.0);
        } else {
            self.cage.set(generator, PROMISE, Value::UNDEFINED.0);
        }
        Some(first)
    }

    /// AsyncGeneratorCompleteStep (27.6.3.5)
    fn complete_request(&mut self, generator: Ref, outcome: Result<Value, Value>, done: bool) -> Completion<()> {
        let Some(request) = self.take_request(generator) else { return Ok(()) };
        match outcome {
            Ok(value) => {
                let result = self.new_iterator_result(value, done)?;
                self.resolve_promise(request.promise, result)
            }
            Err(reason) => self.reject_promise(request.promise, reason),
        }
    }

    /// AsyncGeneratorResume (27.6.3.6), and on as long as requests wait at a yield.
    fn async_generator_run(&mut self, generator: Ref, mode: ResumeMode, value: Value) -> Completion<()> {
        let (mut mode, mut value) = (mode, value);
        loop {
            self.charge(1)?;
            let result = self.resume_coroutine(generator, mode, value);
            let outcome = match result {
                Ok(value) => Ok(value),
                Err(Throw) => Err(self.take_exception()?),
            };
            match self.generator_state(generator) {
                // AsyncGeneratorYield (27.6.3.8): resolving may run script, to which the generator still runs.
                state::SUSPENDED_YIELD => {
                    self.set_generator_state(generator, state::RUNNING);
                    self.complete_request(generator, outcome, false)?;
                    let Some(request) = self.first_request(generator) else {
                        self.set_generator_state(generator, state::SUSPENDED_YIELD);
                        return Ok(());
                    };
                    (mode, value) = (request.mode, request.value);
                }
                // AsyncGeneratorStart (27.6.3.2), the steps behind the body.
                state::COMPLETED => {
                    self.set_generator_state(generator, state::AWAITING_RETURN);
                    self.complete_request(generator, outcome, true)?;
                    return self.drain_requests(generator);
                }
                _ => return Ok(()),
            }
        }
    }

    /// AsyncGeneratorDrainQueue (27.6.3.10), with AsyncGeneratorAwaitReturn (27.6.3.9) for return requests.
    fn drain_requests(&mut self, generator: Ref) -> Completion<()> {
        while let Some(request) = self.first_request(generator) {
            self.charge(1)?;
            match request.mode {
                ResumeMode::Next => self.complete_request(generator, Ok(Value::UNDEFINED), true)?,
                ResumeMode::Throw => self.complete_request(generator, Err(request.value), true)?,
                ResumeMode::Return => match self.promise_resolve_intrinsic(request.value) {
                    Ok(promise) => {
                        return self.subscribe(promise, ReactionKind::AsyncGeneratorReturn, Value::object(generator));
                    }
                    Err(Throw) => {
                        let reason = self.take_exception()?;
                        self.complete_request(generator, Err(reason), true)?;
                    }
                },
            }
        }
        self.set_generator_state(generator, state::COMPLETED);
        Ok(())
    }

    /// What the coroutine awaited is settled.
    pub(crate) fn async_generator_continue(
        &mut self,
        generator: Ref,
        mode: ResumeMode,
        value: Value,
    ) -> Completion<()> {
        self.async_generator_run(generator, mode, value)
    }

    /// The value of a return request is settled (the closures of AsyncGeneratorAwaitReturn).
    pub(crate) fn async_generator_return_settled(
        &mut self,
        generator: Ref,
        value: Value,
        rejected: bool,
    ) -> Completion<()> {
        self.complete_request(generator, if rejected { Err(value) } else { Ok(value) }, true)?;
        self.drain_requests(generator)
    }

    /// The common part of the three methods: enqueues the request and starts what can start.
    fn async_generator_request(&mut self, this: Value, mode: ResumeMode, value: Value) -> Completion {
        let promise = self.new_promise(Intrinsic::PromisePrototype)?;
        let generator = match this.to_object_ref() {
            Some(object)
                if self.cage.is(object, Kind::Generator)
                    && self.coroutine_suspension(object) == Suspension::AsyncGenerator =>
            {
                object
            }
            _ => {
                let text = self.describe(this);
                let message = format!("AsyncGenerator method called on incompatible receiver {text}");
                let error = self.new_error(Intrinsic::TypeErrorPrototype, &message)?;
                self.reject_promise(promise, Value::object(error))?;
                return Ok(Value::object(promise));
            }
        };
        let mut now = self.generator_state(generator);
        if now == state::SUSPENDED_START && mode != ResumeMode::Next {
            // The body never runs.
            self.set_generator_state(generator, state::COMPLETED);
            self.cage.set(generator, 16, 0u32);
            now = state::COMPLETED;
        }
        if now == state::COMPLETED && mode != ResumeMode::Return {
            match mode {
                ResumeMode::Next => {
                    let result = self.new_iterator_result(Value::UNDEFINED, true)?;
                    self.resolve_promise(promise, result)?;
                }
                _ => self.reject_promise(promise, value)?,
            }
            return Ok(Value::object(promise));
        }
        self.enqueue_request(generator, mode, value, promise)?;
        match now {
            state::COMPLETED => {
                self.set_generator_state(generator, state::AWAITING_RETURN);
                self.drain_requests(generator)?;
            }
            state::SUSPENDED_START | state::SUSPENDED_YIELD => self.async_generator_run(generator, mode, value)?,
            _ => {}
        }
        Ok(Value::object(promise))
    }
}

/// %AsyncGeneratorPrototype%.next (27.6.1.2)
fn next(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.async_generator_request(args.this, ResumeMode::Next, value)
}

/// %AsyncGeneratorPrototype%.return (27.6.1.3)
fn return_(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.async_generator_request(args.this, ResumeMode::Return, value)
}

/// %AsyncGeneratorPrototype%.throw (27.6.1.4)
fn throw(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.async_generator_request(args.this, ResumeMode::Throw, value)
}

// --- async-from-sync iterators: sync iterator at 16 of the cell, its next method at 24

/// Runs `body`; an exception rejects the promise (IfAbruptRejectPromise).
fn rejecting(realm: &mut Realm, body: impl FnOnce(&mut Realm, Ref) -> Completion<()>) -> Completion {
    let promise = realm.new_promise(Intrinsic::PromisePrototype)?;
    if let Err(Throw) = body(realm, promise) {
        let reason = realm.take_exception()?;
        realm.reject_promise(promise, reason)?;
    }
    Ok(Value::object(promise))
}

fn sync_iterator(realm: &mut Realm, args: Args) -> Completion<(Value, Value)> {
    match args.this.to_object_ref() {
        Some(cell) if realm.cage.is(cell, Kind::Iterator) && realm.cage.u32(cell, 36) == sort::ASYNC_FROM_SYNC => {
            Ok((Value(realm.cage.get(cell, 16)), Value(realm.cage.get(cell, 24))))
        }
        _ => Err(realm.throw_type("not an async-from-sync iterator")),
    }
}

/// Calls a method of the sync iterator with the argument, if there is one.
fn call_sync(realm: &mut Realm, args: Args, method: Value, iterator: Value) -> Completion {
    let rest = args.rest(realm, 0);
    let rest = &rest[..rest.len().min(1)];
    let result = realm.call(method, iterator, rest)?;
    if !result.is_object() {
        let text = realm.describe(result);
        return Err(realm.throw_type(&format!("Iterator result {text} is not an object")));
    }
    Ok(result)
}

/// AsyncFromSyncIteratorContinuation (27.1.6.4)
fn continuation(realm: &mut Realm, result: Value, promise: Ref, iterator: Value, close: bool) -> Completion<()> {
    let object = result.as_ref();
    let done = realm.get_name(object, Name::done)?;
    let done = realm.to_boolean(done);
    let value = realm.get_name(object, Name::value)?;
    let wrapper = match realm.promise_resolve_intrinsic(value) {
        Ok(wrapper) => wrapper,
        Err(Throw) => {
            if !done && close {
                realm.iterator_close_throwing(iterator);
            }
            return Err(Throw);
        }
    };
    // What the reaction needs: the done flag, or the iterator that a rejection closes (then it is not done).
    let first = if done || !close { Value::boolean(done) } else { iterator };
    realm.subscribe_with(wrapper, ReactionKind::Unwrap, first, Value::object(promise))
}

impl Realm {
    /// The reaction of `continuation`: unwrap, or closeIterator.
    pub(crate) fn async_from_sync_settled(
        &mut self,
        done: Value,
        promise: Value,
        value: Value,
        rejected: bool,
    ) -> Completion<()> {
        let promise = promise.as_ref();
        if !rejected {
            let result = self.new_iterator_result(value, done.is_true())?;
            return self.resolve_promise(promise, result);
        }
        if done.is_object() {
            self.exception = value;
            self.iterator_close_throwing(done);
            self.take_exception()?;
        }
        self.reject_promise(promise, value)
    }
}

/// %AsyncFromSyncIteratorPrototype%.next (27.1.6.2.1)
fn from_sync_next(realm: &mut Realm, args: Args) -> Completion {
    let (iterator, next) = sync_iterator(realm, args)?;
    rejecting(realm, |realm, promise| {
        let result = call_sync(realm, args, next, iterator)?;
        continuation(realm, result, promise, iterator, true)
    })
}

/// %AsyncFromSyncIteratorPrototype%.return (27.1.6.2.2)
fn from_sync_return(realm: &mut Realm, args: Args) -> Completion {
    let (iterator, _) = sync_iterator(realm, args)?;
    rejecting(realm, |realm, promise| {
        let method = realm.get_method(iterator, realm.key_for(Name::return_))?;
        if method.is_undefined() {
            let value = args.get(realm, 0);
            let result = realm.new_iterator_result(value, true)?;
            return realm.resolve_promise(promise, result);
        }
        let result = call_sync(realm, args, method, iterator)?;
        continuation(realm, result, promise, iterator, false)
    })
}

/// %AsyncFromSyncIteratorPrototype%.throw (27.1.6.2.3)
fn from_sync_throw(realm: &mut Realm, args: Args) -> Completion {
    let (iterator, _) = sync_iterator(realm, args)?;
    rejecting(realm, |realm, promise| {
        let method = realm.get_method(iterator, realm.key_for(Name::throw))?;
        if method.is_undefined() {
            realm.iterator_close(iterator)?;
            return Err(realm.throw_type("The iterator does not provide a 'throw' method"));
        }
        let result = call_sync(realm, args, method, iterator)?;
        continuation(realm, result, promise, iterator, true)
    })
}
