//! Promise (ECMA-262 27.2).
//!
//! A promise cell: state at 16, reactions at 20 (a `Values` list, 0 = none), result at 24, flags at 32
//! (1 = handled). A reaction is four values in the list: kind, first, second, capability promise.

use super::*;
use crate::interp::generator::ResumeMode;
use crate::jobs::{Job, JobKind};
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::objects::Key;
use crate::realm::Throw;

builtin_table! { 6;
    PROMISE("Promise", 1, constructor) = promise;
    ALL("all", 1) = all;
    ALL_SETTLED("allSettled", 1) = all_settled;
    ANY("any", 1) = any;
    RACE("race", 1) = race;
    REJECT("reject", 1) = reject;
    RESOLVE("resolve", 1) = resolve;
    TRY("try", 1) = try_;
    WITH_RESOLVERS("withResolvers", 0) = with_resolvers;
    CATCH("catch", 1) = catch;
    FINALLY("finally", 1) = finally;
    THEN("then", 2) = then;
    RESOLVE_FUNCTION("", 1) = resolve_function;
    REJECT_FUNCTION("", 1) = reject_function;
    EXECUTOR("", 2) = executor;
    THEN_FINALLY("", 1) = then_finally;
    CATCH_FINALLY("", 1) = catch_finally;
    VALUE_THUNK("", 0) = value_thunk;
    THROWER("", 0) = thrower;
    ELEMENT("", 1) = element;
}

pub const PENDING: u32 = 0;
pub const FULFILLED: u32 = 1;
pub const REJECTED: u32 = 2;
const STATE: u32 = 16;
const REACTIONS: u32 = 20;
const RESULT: u32 = 24;

/// What happens when a promise settles.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReactionKind {
    /// then(onFulfilled, onRejected): first and second are the handlers, then the derived promise or a capability.
    Then = 0,
    /// A coroutine (first) awaits.
    Await = 1,
    /// An async generator's `return` request (first: the generator) waits for its value.
    AsyncGeneratorReturn = 2,
    /// Async-from-sync iterator: first is done flag, third the promise of the result.
    Unwrap = 3,
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.install_constructor(PROMISE, prototype, Intrinsic::Promise, Intrinsic::PromisePrototype)?;
    realm.install_methods(constructor, &[ALL, ALL_SETTLED, ANY, RACE, REJECT, RESOLVE, TRY, WITH_RESOLVERS])?;
    realm.install_species(constructor)?;
    realm.install_methods(prototype, &[CATCH, FINALLY, THEN])?;
    realm.install_tag(prototype, "Promise")?;
    let then = realm.get_name(prototype, Name::then)?;
    realm.set_intrinsic(Intrinsic::PromiseThen, then);
    Ok(())
}

impl Realm {
    /// A new pending promise.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_promise(&mut self, prototype: Intrinsic) -> Completion<Ref> {
        let prototype = self.intrinsic(prototype);
        self.new_promise_with_prototype(prototype)
    }

    fn new_promise_with_prototype(&mut self, prototype: Ref) -> Completion<Ref> {
        let cell = self.new_object_of(Kind::Promise, prototype)?;
        self.cage.init(cell.0 + RESULT, Value::UNDEFINED.0);
        Ok(cell)
    }

    /// State and result of a promise.
    pub fn promise_state(&self, promise: Ref) -> (u32, Value) {
        (self.cage.u32(promise, STATE), Value(self.cage.get(promise, RESULT)))
    }

    /// The promise resolve function's steps (27.2.1.3.2).
    ///
    /// # Errors
    /// Only termination or memory.
    pub fn resolve_promise(&mut self, promise: Ref, resolution: Value) -> Completion<()> {
        if resolution == Value::object(promise) {
            let error =
                self.new_error(Intrinsic::TypeErrorPrototype, "Chaining cycle detected for promise #<Promise>")?;
            return self.reject_promise(promise, Value::object(error));
        }
        let Some(thenable) = resolution.to_object_ref() else {
            return self.settle_promise(promise, FULFILLED, resolution);
        };
        let then = match self.get_name(thenable, Name::then) {
            Ok(then) => then,
            Err(Throw) => {
                let reason = self.take_exception()?;
                return self.reject_promise(promise, reason);
            }
        };
        if !self.is_callable(then) {
            return self.settle_promise(promise, FULFILLED, resolution);
        }
        self.jobs.push(Job { kind: JobKind::ResolveThenable, values: [Value::object(promise), resolution, then] });
        Ok(())
    }

    /// RejectPromise (27.2.1.7).
    ///
    /// # Errors
    /// Only termination or memory.
    pub fn reject_promise(&mut self, promise: Ref, reason: Value) -> Completion<()> {
        self.settle_promise(promise, REJECTED, reason)
    }

    /// The pending exception, unless the realm is terminated.
    ///
    /// # Errors
    /// Termination.
    pub fn take_exception(&mut self) -> Completion {
        if self.termination.is_some() {
            return Err(Throw);
        }
        Ok(std::mem::replace(&mut self.exception, Value::UNDEFINED))
    }

    fn settle_promise(&mut self, promise: Ref, state: u32, result: Value) -> Completion<()> {
        if self.cage.u32(promise, STATE) != PENDING {
            return Ok(());
        }
        let reactions = self.cage.r(promise, REACTIONS);
        self.cage.set(promise, STATE, state);
        self.cage.set(promise, RESULT, result.0);
        self.cage.set(promise, REACTIONS, 0u32);
        if reactions.is_null() {
            return Ok(());
        }
        let count = self.cage.u32(reactions, 4);
        for i in 0..count {
            let reaction = Value(self.cage.get(reactions, 8 + 8 * i));
            if reaction.is_cell() {
                self.jobs.push(Job {
                    kind: JobKind::Reaction,
                    values: [reaction, result, Value::boolean(state == REJECTED)],
                });
            }
        }
        Ok(())
    }

    fn add_reaction(&mut self, promise: Ref, reaction: [Value; 4]) -> Completion<()> {
        let cell = self.new_values(4, Value::UNDEFINED)?;
        for (i, value) in reaction.iter().enumerate() {
            self.cage.set(cell, 8 + 8 * i as u32, value.0);
        }
        match self.cage.u32(promise, STATE) {
            PENDING => {
                let old = self.cage.r(promise, REACTIONS);
                let count = if old.is_null() { 0 } else { self.cage.u32(old, 4) };
                let list = self.new_values(count + 1, Value::UNDEFINED)?;
                if count > 0 {
                    self.cage.copy(old.0 + 8, list.0 + 8, 8 * count);
                }
                self.cage.set(list, 8 + 8 * count, Value::cell(cell).0);
                self.cage.set(promise, REACTIONS, list.0);
            }
            state => {
                let result = Value(self.cage.get(promise, RESULT));
                let values = [Value::cell(cell), result, Value::boolean(state == REJECTED)];
                self.jobs.push(Job { kind: JobKind::Reaction, values });
            }
        }
        self.cage.set(promise, 32, 1u32);
        Ok(())
    }

    /// Subscribes the engine itself to a promise.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn subscribe(&mut self, promise: Ref, kind: ReactionKind, first: Value) -> Completion<()> {
        self.add_reaction(promise, [Value::int(kind as i32), first, Value::UNDEFINED, Value::UNDEFINED])
    }

    /// Subscribes with a promise that is resolved by the reaction.
    ///
    /// # Errors
    /// Out of memory.
    pub(crate) fn subscribe_with(
        &mut self,
        promise: Ref,
        kind: ReactionKind,
        first: Value,
        result: Value,
    ) -> Completion<()> {
        self.add_reaction(promise, [Value::int(kind as i32), first, Value::UNDEFINED, result])
    }

    /// NewPromiseReactionJob (27.2.2.1) and its relatives.
    pub(crate) fn run_reaction(&mut self, reaction: Value, argument: Value, rejected: bool) -> Completion<()> {
        let cell = reaction.as_ref();
        let part = |i: u32| Value(self.cage.get(cell, 8 + 8 * i));
        let (kind, first, second, capability) = (part(0).as_int(), part(1), part(2), part(3));
        if kind == ReactionKind::Await as i32 {
            let mode = if rejected { ResumeMode::Throw } else { ResumeMode::Next };
            return self.coroutine_continue(first.as_ref(), mode, argument);
        }
        if kind == ReactionKind::AsyncGeneratorReturn as i32 {
            return self.async_generator_return_settled(first.as_ref(), argument, rejected);
        }
        if kind == ReactionKind::Unwrap as i32 {
            return self.async_from_sync_settled(first, capability, argument, rejected);
        }
        let handler = if rejected { second } else { first };
        let outcome = if !self.is_callable(handler) {
            if rejected { Err(argument) } else { Ok(argument) }
        } else {
            match self.call(handler, Value::UNDEFINED, &[argument]) {
                Ok(value) => Ok(value),
                Err(Throw) => Err(self.take_exception()?),
            }
        };
        self.settle_capability(capability, outcome)
    }

    /// Resolves or rejects a capability: a promise of the engine, or a `Values` cell (promise, resolve, reject).
    fn settle_capability(&mut self, capability: Value, outcome: Result<Value, Value>) -> Completion<()> {
        if let Some(promise) = capability.to_object_ref() {
            return match outcome {
                Ok(value) => self.resolve_promise(promise, value),
                Err(reason) => self.reject_promise(promise, reason),
            };
        }
        if !capability.is_cell() {
            return Ok(());
        }
        let cell = capability.as_ref();
        let (at, value) = match outcome {
            Ok(value) => (16, value),
            Err(reason) => (24, reason),
        };
        let function = Value(self.cage.get(cell, at));
        match self.call(function, Value::UNDEFINED, &[value]) {
            Ok(_) => Ok(()),
            Err(Throw) => self.take_exception().map(|_| ()),
        }
    }

    /// NewPromiseResolveThenableJob (27.2.2.2).
    pub(crate) fn run_resolve_thenable(&mut self, promise: Value, thenable: Value, then: Value) -> Completion<()> {
        let (resolve, reject) = self.new_resolving_functions(promise.as_ref())?;
        match self.call(then, thenable, &[resolve, reject]) {
            Ok(_) => Ok(()),
            Err(Throw) => {
                let reason = self.take_exception()?;
                self.call(reject, Value::UNDEFINED, &[reason]).map(|_| ())
            }
        }
    }

    /// CreateResolvingFunctions (27.2.1.3): both share a cell (promise, already resolved).
    pub(crate) fn new_resolving_functions(&mut self, promise: Ref) -> Completion<(Value, Value)> {
        let shared = self.new_values(2, Value::FALSE)?;
        self.cage.set(shared, 8, Value::object(promise).0);
        let empty = self.name_value(Name::empty);
        let resolve = self.new_native_function_named(RESOLVE_FUNCTION, Value::cell(shared), empty, 1)?;
        let reject = self.new_native_function_named(REJECT_FUNCTION, Value::cell(shared), empty, 1)?;
        Ok((Value::object(resolve), Value::object(reject)))
    }

    /// PromiseResolve(%Promise%, value) (27.2.4.7.1).
    ///
    /// # Errors
    /// Whatever reading `constructor` throws.
    pub fn promise_resolve_intrinsic(&mut self, value: Value) -> Completion<Ref> {
        let constructor = self.intrinsic_value(Intrinsic::Promise);
        Ok(self.promise_resolve(constructor, value)?.as_ref())
    }

    pub(crate) fn promise_resolve(&mut self, constructor: Value, value: Value) -> Completion {
        if let Some(object) = value.to_object_ref()
            && self.cage.is(object, Kind::Promise)
        {
            let own = self.get_name(object, Name::constructor)?;
            if own == constructor {
                return Ok(value);
            }
        }
        let capability = self.new_promise_capability(constructor)?;
        self.call(capability.resolve, Value::UNDEFINED, &[value])?;
        Ok(capability.promise)
    }

    /// NewPromiseCapability (27.2.1.5).
    ///
    /// # Errors
    /// TypeError where the constructor is none or does not call its executor right.
    pub(crate) fn new_promise_capability(&mut self, constructor: Value) -> Completion<Capability> {
        if constructor == self.intrinsic_value(Intrinsic::Promise) {
            let promise = self.new_promise(Intrinsic::PromisePrototype)?;
            let (resolve, reject) = self.new_resolving_functions(promise)?;
            return Ok(Capability { promise: Value::object(promise), resolve, reject });
        }
        if !self.is_constructor(constructor) {
            return Err(self.throw_not_constructor(constructor));
        }
        let slots = self.new_values(3, Value::UNDEFINED)?;
        let empty = self.name_value(Name::empty);
        let executor = self.new_native_function_named(EXECUTOR, Value::cell(slots), empty, 2)?;
        let promise = self.construct(constructor, &[Value::object(executor)], constructor)?;
        let (resolve, reject) = (Value(self.cage.get(slots, 16)), Value(self.cage.get(slots, 24)));
        if !self.is_callable(resolve) || !self.is_callable(reject) {
            return Err(self.throw_type("Promise resolve or reject function is not callable"));
        }
        Ok(Capability { promise, resolve, reject })
    }

    /// PerformPromiseThen (27.2.5.4.1) with a capability value (object, cell or undefined).
    pub(crate) fn perform_then(
        &mut self,
        promise: Ref,
        on_fulfilled: Value,
        on_rejected: Value,
        capability: Value,
    ) -> Completion<()> {
        self.add_reaction(promise, [Value::int(ReactionKind::Then as i32), on_fulfilled, on_rejected, capability])
    }
}

/// A PromiseCapability Record (27.2.1.1).
#[derive(Clone, Copy)]
pub(crate) struct Capability {
    pub promise: Value,
    pub resolve: Value,
    pub reject: Value,
}

impl Capability {
    /// As stored in a reaction.
    fn cell(self, realm: &mut Realm) -> Completion {
        let cell = realm.new_values(3, self.promise)?;
        realm.cage.set(cell, 16, self.resolve.0);
        realm.cage.set(cell, 24, self.reject.0);
        Ok(Value::cell(cell))
    }
}

fn data(realm: &Realm, args: Args) -> Ref {
    Value(realm.cage.get(args.callee, crate::objects::function::DATA)).as_ref()
}

/// Promise Resolve Functions (27.2.1.3.2)
fn resolve_function(realm: &mut Realm, args: Args) -> Completion {
    let shared = data(realm, args);
    if Value(realm.cage.get(shared, 16)).is_true() {
        return Ok(Value::UNDEFINED);
    }
    realm.cage.set(shared, 16, Value::TRUE.0);
    let promise = Value(realm.cage.get(shared, 8)).as_ref();
    realm.resolve_promise(promise, args.get(realm, 0))?;
    Ok(Value::UNDEFINED)
}

/// Promise Reject Functions (27.2.1.3.1)
fn reject_function(realm: &mut Realm, args: Args) -> Completion {
    let shared = data(realm, args);
    if Value(realm.cage.get(shared, 16)).is_true() {
        return Ok(Value::UNDEFINED);
    }
    realm.cage.set(shared, 16, Value::TRUE.0);
    let promise = Value(realm.cage.get(shared, 8)).as_ref();
    realm.reject_promise(promise, args.get(realm, 0))?;
    Ok(Value::UNDEFINED)
}

/// The executor of NewPromiseCapability.
fn executor(realm: &mut Realm, args: Args) -> Completion {
    let slots = data(realm, args);
    let taken = |at: u32| !Value(realm.cage.get(slots, at)).is_undefined();
    if taken(16) || taken(24) {
        return Err(realm.throw_type("Promise executor has already been invoked with non-undefined arguments"));
    }
    realm.cage.set(slots, 16, args.get(realm, 0).0);
    realm.cage.set(slots, 24, args.get(realm, 1).0);
    Ok(Value::UNDEFINED)
}

/// Promise ( executor ) (27.2.3.1)
fn promise(realm: &mut Realm, args: Args) -> Completion {
    if !args.is_construct() {
        return Err(realm.throw_type("Promise constructor cannot be invoked without 'new'"));
    }
    let executor = args.get(realm, 0);
    if !realm.is_callable(executor) {
        let text = realm.describe(executor);
        return Err(realm.throw_type(&format!("Promise resolver {text} is not a function")));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::PromisePrototype)?;
    let promise = realm.new_promise_with_prototype(prototype)?;
    let (resolve, reject) = realm.new_resolving_functions(promise)?;
    if let Err(Throw) = realm.call(executor, Value::UNDEFINED, &[resolve, reject]) {
        let reason = realm.take_exception()?;
        realm.call(reject, Value::UNDEFINED, &[reason])?;
    }
    Ok(Value::object(promise))
}

/// Promise.prototype.then (27.2.5.4)
fn then(realm: &mut Realm, args: Args) -> Completion {
    let promise = match args.this.to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::Promise) => object,
        _ => {
            let text = realm.describe(args.this);
            return Err(
                realm.throw_type(&format!("Method Promise.prototype.then called on incompatible receiver {text}"))
            );
        }
    };
    let constructor = realm.species_constructor(promise, Intrinsic::Promise)?;
    let (on_fulfilled, on_rejected) = (args.get(realm, 0), args.get(realm, 1));
    if constructor == realm.intrinsic_value(Intrinsic::Promise) {
        // The derived promise itself serves as the capability: nobody sees its functions.
        let derived = realm.new_promise(Intrinsic::PromisePrototype)?;
        realm.perform_then(promise, on_fulfilled, on_rejected, Value::object(derived))?;
        return Ok(Value::object(derived));
    }
    let capability = realm.new_promise_capability(constructor)?;
    let cell = capability.cell(realm)?;
    realm.perform_then(promise, on_fulfilled, on_rejected, cell)?;
    Ok(capability.promise)
}

fn invoke_then(realm: &mut Realm, target: Value, handlers: &[Value]) -> Completion {
    let then = realm.get_value(target, realm.key_for(Name::then))?;
    realm.call(then, target, handlers)
}

/// Promise.prototype.catch (27.2.5.1)
fn catch(realm: &mut Realm, args: Args) -> Completion {
    let handler = args.get(realm, 0);
    invoke_then(realm, args.this, &[Value::UNDEFINED, handler])
}

/// Promise.prototype.finally (27.2.5.3)
fn finally(realm: &mut Realm, args: Args) -> Completion {
    let Some(promise) = args.this.to_object_ref() else {
        return Err(realm.throw_type("Promise.prototype.finally called on a non-object"));
    };
    let constructor = realm.species_constructor(promise, Intrinsic::Promise)?;
    let on_finally = args.get(realm, 0);
    if !realm.is_callable(on_finally) {
        return invoke_then(realm, args.this, &[on_finally, on_finally]);
    }
    let shared = realm.new_values(2, on_finally)?;
    realm.cage.set(shared, 16, constructor.0);
    let empty = realm.name_value(Name::empty);
    let then = realm.new_native_function_named(THEN_FINALLY, Value::cell(shared), empty, 1)?;
    let catch = realm.new_native_function_named(CATCH_FINALLY, Value::cell(shared), empty, 1)?;
    invoke_then(realm, args.this, &[Value::object(then), Value::object(catch)])
}

fn run_finally(realm: &mut Realm, args: Args, thunk: u32) -> Completion {
    let shared = data(realm, args);
    let (on_finally, constructor) = (Value(realm.cage.get(shared, 8)), Value(realm.cage.get(shared, 16)));
    let result = realm.call(on_finally, Value::UNDEFINED, &[])?;
    let promise = realm.promise_resolve(constructor, result)?;
    let value = args.get(realm, 0);
    let empty = realm.name_value(Name::empty);
    let holder = realm.new_values(1, value)?;
    let function = realm.new_native_function_named(thunk, Value::cell(holder), empty, 0)?;
    invoke_then(realm, promise, &[Value::object(function)])
}

fn then_finally(realm: &mut Realm, args: Args) -> Completion {
    run_finally(realm, args, VALUE_THUNK)
}

fn catch_finally(realm: &mut Realm, args: Args) -> Completion {
    run_finally(realm, args, THROWER)
}

fn value_thunk(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value(realm.cage.get(data(realm, args), 8)))
}

fn thrower(realm: &mut Realm, args: Args) -> Completion {
    let reason = Value(realm.cage.get(data(realm, args), 8));
    Err(realm.throw(reason))
}

/// Promise.reject (27.2.4.6)
fn reject(realm: &mut Realm, args: Args) -> Completion {
    let capability = realm.new_promise_capability(args.this)?;
    let reason = args.get(realm, 0);
    realm.call(capability.reject, Value::UNDEFINED, &[reason])?;
    Ok(capability.promise)
}

/// Promise.resolve (27.2.4.7)
fn resolve(realm: &mut Realm, args: Args) -> Completion {
    if !args.this.is_object() {
        return Err(realm.throw_type("PromiseResolve called on non-object"));
    }
    let value = args.get(realm, 0);
    realm.promise_resolve(args.this, value)
}

/// Promise.try (27.2.4.8)
fn try_(realm: &mut Realm, args: Args) -> Completion {
    if !args.this.is_object() {
        return Err(realm.throw_type("Promise.try called on non-object"));
    }
    let capability = realm.new_promise_capability(args.this)?;
    let rest = args.rest(realm, 1);
    match realm.call(args.get(realm, 0), Value::UNDEFINED, &rest) {
        Ok(value) => realm.call(capability.resolve, Value::UNDEFINED, &[value])?,
        Err(Throw) => {
            let reason = realm.take_exception()?;
            realm.call(capability.reject, Value::UNDEFINED, &[reason])?
        }
    };
    Ok(capability.promise)
}

/// Promise.withResolvers (27.2.4.9)
fn with_resolvers(realm: &mut Realm, args: Args) -> Completion {
    let capability = realm.new_promise_capability(args.this)?;
    let object = realm.new_object()?;
    for (name, value) in
        [(Name::promise, capability.promise), (Name::resolve, capability.resolve), (Name::reject, capability.reject)]
    {
        realm.create_data_property_or_throw(object, realm.key_for(name), value)?;
    }
    Ok(Value::object(object))
}

/// Which combinator a shared state belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Combinator {
    All = 0,
    AllSettled = 1,
    Any = 2,
    Race = 3,
}

/// The common frame of Promise.all and its siblings (27.2.4.1 to 27.2.4.5).
fn combine(realm: &mut Realm, args: Args, which: Combinator) -> Completion {
    let capability = realm.new_promise_capability(args.this)?;
    match combine_inner(realm, args, which, capability) {
        Ok(()) => {}
        Err(Throw) => {
            let reason = realm.take_exception()?;
            realm.call(capability.reject, Value::UNDEFINED, &[reason])?;
        }
    }
    Ok(capability.promise)
}

fn combine_inner(realm: &mut Realm, args: Args, which: Combinator, capability: Capability) -> Completion<()> {
    let constructor = args.this;
    let promise_resolve = realm.get_value(constructor, realm.key_for(Name::resolve))?;
    if !realm.is_callable(promise_resolve) {
        return Err(realm.throw_type("Promise resolve or reject function is not callable"));
    }
    // Shared state: results array, remaining count, capability cell, combinator.
    let results = realm.new_array()?;
    let shared = realm.new_values(4, Value::int(1))?;
    realm.cage.set(shared, 8, Value::object(results).0);
    let cell = capability.cell(realm)?;
    realm.cage.set(shared, 24, cell.0);
    realm.cage.set(shared, 32, Value::int(which as i32).0);
    let mut index = 0;
    realm.for_each_value(args.get(realm, 0), |realm, item| {
        let next = realm.call(promise_resolve, constructor, &[item])?;
        let handlers = match which {
            Combinator::Race => [capability.resolve, capability.reject],
            _ => {
                realm.array_push(results, Value::UNDEFINED)?;
                let remaining = Value(realm.cage.get(shared, 16)).as_int();
                realm.cage.set(shared, 16, Value::int(remaining + 1).0);
                // The two functions of one element share "already called".
                let called = realm.new_values(1, Value::FALSE)?;
                let ok = element_function(realm, shared, called, index, false)?;
                match which {
                    Combinator::All => [ok, capability.reject],
                    Combinator::Any => {
                        let failed = element_function(realm, shared, called, index, true)?;
                        [capability.resolve, failed]
                    }
                    _ => [ok, element_function(realm, shared, called, index, true)?],
                }
            }
        };
        index += 1;
        invoke_then(realm, next, &handlers)?;
        Ok(())
    })?;
    if which != Combinator::Race {
        combinator_countdown(realm, shared)?;
    }
    Ok(())
}

fn element_function(realm: &mut Realm, shared: Ref, called: Ref, index: i32, rejected: bool) -> Completion {
    let cell = realm.new_values(4, Value::cell(shared))?;
    realm.cage.set(cell, 16, Value::cell(called).0);
    realm.cage.set(cell, 24, Value::int(index).0);
    realm.cage.set(cell, 32, Value::boolean(rejected).0);
    let empty = realm.name_value(Name::empty);
    Ok(Value::object(realm.new_native_function_named(ELEMENT, Value::cell(cell), empty, 1)?))
}

/// One element's promise settled.
fn element(realm: &mut Realm, args: Args) -> Completion {
    let cell = data(realm, args);
    let part = |at: u32| Value(realm.cage.get(cell, at));
    let (shared, called, index, rejected) =
        (part(8).as_ref(), part(16).as_ref(), part(24).as_int(), part(32).is_true());
    if Value(realm.cage.get(called, 8)).is_true() {
        return Ok(Value::UNDEFINED);
    }
    realm.cage.set(called, 8, Value::TRUE.0);
    let mut value = args.get(realm, 0);
    if Value(realm.cage.get(shared, 32)).as_int() == Combinator::AllSettled as i32 {
        let object = realm.new_object()?;
        let status = realm.name_value(if rejected { Name::rejected } else { Name::fulfilled });
        realm.create_data_property_or_throw(object, realm.key_for(Name::status), status)?;
        let key = realm.key_for(if rejected { Name::reason } else { Name::value });
        realm.create_data_property_or_throw(object, key, value)?;
        value = Value::object(object);
    }
    let results = Value(realm.cage.get(shared, 8)).as_ref();
    realm.create_data_property_or_throw(results, Key::Index(index as u32), value)?;
    combinator_countdown(realm, shared)
}

fn combinator_countdown(realm: &mut Realm, shared: Ref) -> Completion {
    let remaining = Value(realm.cage.get(shared, 16)).as_int() - 1;
    realm.cage.set(shared, 16, Value::int(remaining).0);
    if remaining > 0 {
        return Ok(Value::UNDEFINED);
    }
    let results = Value(realm.cage.get(shared, 8));
    let capability = Value(realm.cage.get(shared, 24)).as_ref();
    if Value(realm.cage.get(shared, 32)).as_int() == Combinator::Any as i32 {
        let error = realm.new_error(Intrinsic::AggregateErrorPrototype, "All promises were rejected")?;
        realm.define_data(error, realm.key_for(Name::errors), results, crate::shapes::HIDDEN)?;
        let reject = Value(realm.cage.get(capability, 24));
        return realm.call(reject, Value::UNDEFINED, &[Value::object(error)]);
    }
    let resolve = Value(realm.cage.get(capability, 16));
    realm.call(resolve, Value::UNDEFINED, &[results])
}

/// Promise.all (27.2.4.1)
fn all(realm: &mut Realm, args: Args) -> Completion {
    combine(realm, args, Combinator::All)
}

/// Promise.allSettled (27.2.4.2)
fn all_settled(realm: &mut Realm, args: Args) -> Completion {
    combine(realm, args, Combinator::AllSettled)
}

/// Promise.any (27.2.4.3)
fn any(realm: &mut Realm, args: Args) -> Completion {
    combine(realm, args, Combinator::Any)
}

/// Promise.race (27.2.4.5)
fn race(realm: &mut Realm, args: Args) -> Completion {
    combine(realm, args, Combinator::Race)
}
