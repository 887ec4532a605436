//! Coroutines: generators, async functions and async generators keep their registers in a cell.
//!
//! A `Generator` cell holds at 16 the saved frame (`Values`: pc unit, callee, this, argc, registers,
//! arguments), at 20 the state, at 24 the promise (async functions) or request queue (async generators), at
//! 32 the function. Its frame names the cell in the new.target slot. A frame of a coroutine is always an
//! entry frame once it was resumed, so suspending is returning from the dispatch loop.

use super::frame::ReturnTo;
use super::*;
use crate::builtins::promise::ReactionKind;
use crate::bytecode::install::*;
use crate::bytecode::template::Suspension;
use crate::cage::{Ref, STACK_END};
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm, Throw};
use crate::value::Value;

/// States of a coroutine (u32 at 20).
pub mod state {
    pub const SUSPENDED_START: u32 = 0;
    pub const SUSPENDED_YIELD: u32 = 1;
    pub const RUNNING: u32 = 2;
    pub const COMPLETED: u32 = 3;
    /// Async generator: waiting for the value of a `return` request.
    pub const AWAITING_RETURN: u32 = 4;
    /// Suspended at an `await`.
    pub const AWAITING: u32 = 5;
}

/// How a suspended coroutine goes on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResumeMode {
    Next = 0,
    Throw = 1,
    Return = 2,
}

const SAVED: u32 = 16;
const STATE: u32 = 20;
/// Promise of an async function, queue of an async generator.
pub const PROMISE: u32 = 24;
const FUNCTION: u32 = 32;
/// Values before the registers in a saved frame.
const SAVED_HEADER: u32 = 4;

impl Realm {
    /// Whether the frame belongs to a coroutine.
    #[inline(always)]
    pub(crate) fn is_coroutine_frame(&self, fp: u32) -> bool {
        Value(self.cage.read(fp - NEW_TARGET)).is_cell()
    }

    fn frame_coroutine(&self, fp: u32) -> Option<Ref> {
        let value = Value(self.cage.read(fp - NEW_TARGET));
        if value.is_cell() { Some(value.as_ref()) } else { None }
    }

    /// State of a generator object.
    pub fn generator_state(&self, generator: Ref) -> u32 {
        self.cage.u32(generator, STATE)
    }

    pub(crate) fn set_generator_state(&mut self, generator: Ref, state: u32) {
        self.cage.set(generator, STATE, state);
    }

    /// What suspends: the kind of the coroutine's function.
    pub(crate) fn coroutine_suspension(&self, coroutine: Ref) -> Suspension {
        let function = Value(self.cage.get(coroutine, FUNCTION)).as_ref();
        self.template_suspension(self.cage.r(function, crate::objects::function::TEMPLATE))
    }

    fn new_coroutine(&mut self, prototype: Ref, function: Value) -> Completion<Ref> {
        let cell = self.new_object_of(Kind::Generator, prototype)?;
        self.cage.init(cell.0 + PROMISE, Value::UNDEFINED.0);
        self.cage.init(cell.0 + FUNCTION, function.0);
        Ok(cell)
    }

    /// `StartGenerator`: makes the object and saves the frame; `resume_at` is where the first next() goes on.
    pub(crate) fn start_generator(&mut self, fp: u32, resume_at: u32) -> Completion {
        let function = Value(self.cage.read(fp - CALLEE));
        let template = self.frame_template(fp);
        let fallback = if self.template_suspension(template) == Suspension::AsyncGenerator {
            Intrinsic::AsyncGeneratorPrototype
        } else {
            Intrinsic::GeneratorPrototype
        };
        let prototype = self.get_name(function.as_ref(), Name::prototype)?;
        let prototype = prototype.to_object_ref().unwrap_or(self.intrinsic(fallback));
        let generator = self.new_coroutine(prototype, function)?;
        self.save_frame(generator, fp, resume_at)?;
        Ok(Value::object(generator))
    }

    fn save_frame(&mut self, coroutine: Ref, fp: u32, resume_at: u32) -> Completion<()> {
        let cage = self.cage;
        let template = self.frame_template(fp);
        let registers = u32::from(cage.get::<u16>(template, REGISTER_COUNT));
        let argc = (cage.read::<u64>(fp - CALL_INFO) >> 32) as u32;
        let arguments = cage.read::<u64>(fp - ARGUMENTS) as u32;
        let mut saved = cage.r(coroutine, SAVED);
        let count = SAVED_HEADER + registers + argc;
        if saved.is_null() || cage.u32(saved, 4) != count {
            saved = self.new_values(count, Value::UNDEFINED)?;
            cage.set(coroutine, SAVED, saved.0);
        }
        let unit = (resume_at - cage.u32(template, CODE) - 8) / 2;
        cage.set(saved, 8, Value::int(unit as i32).0);
        cage.set(saved, 16, cage.read::<u64>(fp - CALLEE));
        cage.set(saved, 24, cage.read::<u64>(fp - THIS));
        cage.set(saved, 32, Value::int(argc as i32).0);
        for i in 0..registers {
            let value = self.storable(Value(cage.read(fp + 8 * i)));
            cage.set(saved, 40 + 8 * i, value.0);
        }
        for i in 0..argc {
            cage.set(saved, 40 + 8 * (registers + i), cage.read::<u64>(arguments + 8 * i));
        }
        Ok(())
    }

    /// Registers that were never written may hold what is no live cell any more; a cell is traced
    /// precisely, so only refs to live cells of the right kind may enter it.
    fn storable(&self, value: Value) -> Value {
        if !value.is_ref() {
            return value;
        }
        let cell = value.as_ref();
        let live = if cell.0 < self.cage.image_end() {
            cell.0 >= crate::cage::IMAGE_START
        } else {
            self.heap_cell_at(cell) == Some(cell)
        };
        if !live {
            return Value::UNDEFINED;
        }
        let kind = self.cage.kind(cell);
        let fits = match value.tag() {
            crate::value::TAG_OBJECT => kind.info().is_object,
            crate::value::TAG_STRING => matches!(kind, Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice),
            crate::value::TAG_SYMBOL => kind == Kind::Symbol,
            crate::value::TAG_BIGINT => kind == Kind::BigInt,
            _ => !kind.info().is_object,
        };
        if fits { value } else { Value::UNDEFINED }
    }

    /// Pushes the saved frame and runs it until it suspends, returns or throws.
    pub(crate) fn resume_coroutine(&mut self, coroutine: Ref, mode: ResumeMode, value: Value) -> Completion {
        self.check_native_stack()?;
        let cage = self.cage;
        let saved = cage.r(coroutine, SAVED);
        let function = Value(cage.get(saved, 16));
        let template = cage.r(function.as_ref(), crate::objects::function::TEMPLATE);
        let registers = u32::from(cage.get::<u16>(template, REGISTER_COUNT));
        let argc = Value(cage.get(saved, 32)).as_int() as u32;
        let restore = self.stack_top;
        let fp = restore + HEADER_BYTES;
        if self.depth >= self.depth_max || fp + 8 * (registers + argc) + 256 > STACK_END {
            return Err(self.throw_stack_overflow());
        }
        let arguments = fp + 8 * registers;
        cage.init(fp - RETURN, u64::from(self.fp) << 32 | u64::from(self.pc));
        cage.init(fp - CALL_INFO, u64::from(argc) << 32 | u64::from(FLAG_ENTRY << 16));
        cage.init(fp - ARGUMENTS, u64::from(arguments));
        cage.init(fp - NEW_TARGET, Value::cell(coroutine).0);
        cage.init(fp - CALLEE, function.0);
        cage.init(fp - THIS, cage.get::<u64>(saved, 24));
        cage.copy(saved.0 + 40, fp, 8 * (registers + argc));
        let mut pc = cage.u32(template, CODE) + 8 + 2 * Value(cage.get(saved, 8)).as_int() as u32;
        let started = self.generator_state(coroutine) != state::SUSPENDED_START;
        if started {
            // The saved pc is that of the Yield or Await: its first operands receive value and mode.
            let (value_register, mode_register) = (cage.read::<u16>(pc + 2), cage.read::<u16>(pc + 4));
            cage.init(fp + 8 * u32::from(value_register), value.0);
            cage.init(fp + 8 * u32::from(mode_register), Value::int(mode as i32).0);
            pc += 2 * 4;
        }
        let caller = (self.fp, self.pc);
        self.depth += 1;
        self.fp = fp;
        // Arguments of the frame lie behind its registers: keep them below the stack top by widening it.
        self.stack_top = arguments + 8 * argc;
        self.set_generator_state(coroutine, state::RUNNING);
        let result = self.run_at(fp, pc);
        (self.fp, self.pc) = caller;
        self.stack_top = restore;
        result
    }

    /// `Yield`: saves the frame; returns what the dispatch loop hands to the resumer.
    pub(crate) fn suspend_yield(&mut self, fp: u32, pc: u32, value: Value, delegate: bool) -> Completion {
        let Some(coroutine) = self.frame_coroutine(fp) else {
            return Err(self.throw_type("yield outside of a generator"));
        };
        self.save_frame(coroutine, fp, pc)?;
        self.set_generator_state(coroutine, state::SUSPENDED_YIELD);
        if delegate || self.coroutine_suspension(coroutine) == Suspension::AsyncGenerator {
            return Ok(value);
        }
        self.new_iterator_result(value, false)
    }

    /// `Await`: saves the frame and subscribes to the promise.
    pub(crate) fn suspend_await(&mut self, fp: u32, pc: u32, value: Value) -> Completion {
        let Some(coroutine) = self.frame_coroutine(fp) else {
            return Err(self.throw_type("await outside of an async function"));
        };
        let promise = self.promise_resolve_intrinsic(value)?;
        self.save_frame(coroutine, fp, pc)?;
        self.set_generator_state(coroutine, state::AWAITING);
        self.subscribe(promise, ReactionKind::Await, Value::object(coroutine))?;
        Ok(Value::UNDEFINED)
    }

    /// A coroutine's frame returns `value`.
    pub(crate) fn coroutine_returned(&mut self, fp: u32, value: Value) -> Completion {
        let Some(coroutine) = self.frame_coroutine(fp) else { return Ok(value) };
        self.set_generator_state(coroutine, state::COMPLETED);
        self.cage.set(coroutine, SAVED, 0u32);
        if self.coroutine_suspension(coroutine) == Suspension::Generator {
            return self.new_iterator_result(value, true);
        }
        Ok(value)
    }

    /// An exception leaves the frame: its coroutine, if any, is finished.
    pub(crate) fn coroutine_threw(&mut self, fp: u32) {
        if let Some(coroutine) = self.frame_coroutine(fp) {
            self.set_generator_state(coroutine, state::COMPLETED);
            self.cage.set(coroutine, SAVED, 0u32);
        }
    }

    // --- generators (27.5.3)

    /// GeneratorResume and GeneratorResumeAbrupt.
    ///
    /// # Errors
    /// TypeError for a running generator; whatever its body throws.
    pub fn generator_resume(&mut self, this: Value, mode: ResumeMode, value: Value, method: &str) -> Completion {
        let generator = match this.to_object_ref() {
            Some(object)
                if self.cage.is(object, Kind::Generator)
                    && self.coroutine_suspension(object) == Suspension::Generator =>
            {
                object
            }
            _ => {
                let text = self.describe(this);
                return Err(self.throw_type(&format!("{method} method called on incompatible receiver {text}")));
            }
        };
        let mut now = self.generator_state(generator);
        if now == state::RUNNING {
            return Err(self.throw_type("Generator is already running"));
        }
        if now == state::SUSPENDED_START && mode != ResumeMode::Next {
            self.set_generator_state(generator, state::COMPLETED);
            self.cage.set(generator, SAVED, 0u32);
            now = state::COMPLETED;
        }
        if now == state::COMPLETED {
            return match mode {
                ResumeMode::Next => self.new_iterator_result(Value::UNDEFINED, true),
                ResumeMode::Return => self.new_iterator_result(value, true),
                ResumeMode::Throw => Err(self.throw(value)),
            };
        }
        self.resume_coroutine(generator, mode, value)
    }

    // --- async functions (27.7.5)

    /// Calls an async function whose block is complete: a promise.
    pub(crate) fn start_async_call(&mut self, block: u32, argc: u32, template: Ref, to: ReturnTo) -> Completion {
        let function = Value(self.cage.read(block + HEADER_BYTES - CALLEE));
        let promise = self.new_promise(Intrinsic::PromisePrototype)?;
        let coroutine = self.new_coroutine(Ref::NULL, function)?;
        self.cage.set(coroutine, PROMISE, Value::object(promise).0);
        self.set_generator_state(coroutine, state::RUNNING);
        let result = match self.push_frame(block, argc, template, Value::cell(coroutine), to) {
            Ok(fp) => self.run(fp),
            Err(throw) => Err(throw),
        };
        self.finish_async_step(coroutine, result)?;
        Ok(Value::object(promise))
    }

    /// After a step of an async function: settles its promise if it is over.
    fn finish_async_step(&mut self, coroutine: Ref, result: Completion) -> Completion<()> {
        let promise = Value(self.cage.get(coroutine, PROMISE)).as_ref();
        match result {
            Ok(value) => {
                if self.generator_state(coroutine) == state::COMPLETED {
                    self.resolve_promise(promise, value)?;
                }
                Ok(())
            }
            Err(Throw) => {
                if self.termination.is_some() {
                    return Err(Throw);
                }
                let reason = std::mem::replace(&mut self.exception, Value::UNDEFINED);
                self.reject_promise(promise, reason)
            }
        }
    }

    /// A promise that a coroutine awaits is settled.
    ///
    /// # Errors
    /// Only termination.
    pub(crate) fn coroutine_continue(&mut self, coroutine: Ref, mode: ResumeMode, value: Value) -> Completion<()> {
        match self.coroutine_suspension(coroutine) {
            Suspension::AsyncGenerator => self.async_generator_continue(coroutine, mode, value),
            _ => {
                let result = self.resume_coroutine(coroutine, mode, value);
                self.finish_async_step(coroutine, result)
            }
        }
    }
}
