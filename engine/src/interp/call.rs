//! Call and Construct (ECMA-262 7.3.14, 7.3.15, 10.2.1, 10.2.2) from Rust code.

use super::frame::ReturnTo;
use super::*;
use crate::builtins::Args;
use crate::bytecode::install::*;
use crate::cage::{Ref, STACK_END};
use crate::kinds::Kind;
use crate::objects::function::{BUILTIN, TEMPLATE};
use crate::realm::{Completion, Realm};
use crate::value::Value;

impl Realm {
    /// Call(callee, this, args).
    ///
    /// # Errors
    /// TypeError where `callee` is not callable; whatever it throws.
    pub fn call(&mut self, callee: Value, this: Value, args: &[Value]) -> Completion {
        let block = self.push_block(callee, this, args)?;
        self.call_block(block, args.len() as u32, block)
    }

    /// Construct(callee, args, new_target).
    ///
    /// # Errors
    /// TypeError where `callee` is no constructor; whatever it throws.
    pub fn construct(&mut self, callee: Value, args: &[Value], new_target: Value) -> Completion {
        let block = self.push_block(callee, Value::UNDEFINED, args)?;
        self.construct_block(block, args.len() as u32, new_target, block)
    }

    /// Call with the arguments of a `Values` cell.
    ///
    /// # Errors
    /// As `call`.
    pub fn call_list(&mut self, callee: Value, this: Value, list: Ref) -> Completion {
        let saved = self.stack_top;
        let block = self.push_block_list(callee, this, list)?;
        self.call_block(block, self.cage.u32(list, 4), saved)
    }

    /// Construct with the arguments of a `Values` cell.
    ///
    /// # Errors
    /// As `construct`.
    pub fn construct_list(&mut self, callee: Value, list: Ref, new_target: Value) -> Completion {
        let saved = self.stack_top;
        let block = self.push_block_list(callee, Value::UNDEFINED, list)?;
        self.construct_block(block, self.cage.u32(list, 4), new_target, saved)
    }

    fn push_block(&mut self, callee: Value, this: Value, args: &[Value]) -> Completion<u32> {
        let block = self.stack_top;
        let at = block + HEADER_BYTES;
        if u64::from(at) + 8 * args.len() as u64 + 4096 > u64::from(STACK_END) {
            return Err(self.throw_stack_overflow());
        }
        self.cage.init(at - CALLEE, callee.0);
        self.cage.init(at - THIS, this.0);
        for (i, arg) in args.iter().enumerate() {
            self.cage.init(at + 8 * i as u32, arg.0);
        }
        self.clear_block_header(block);
        self.stack_top = at + 8 * args.len() as u32;
        Ok(block)
    }

    /// The header words are scanned before the frame is complete: give them plain contents.
    fn clear_block_header(&self, block: u32) {
        for i in 0..4 {
            self.cage.init(block + 8 * i, 0u64);
        }
    }

    pub(crate) fn push_block_list(&mut self, callee: Value, this: Value, list: Ref) -> Completion<u32> {
        let block = self.stack_top;
        let at = block + HEADER_BYTES;
        let count = self.cage.u32(list, 4);
        if u64::from(at) + 8 * u64::from(count) + 4096 > u64::from(STACK_END) {
            return Err(self.throw_stack_overflow());
        }
        self.cage.init(at - CALLEE, callee.0);
        self.cage.init(at - THIS, this.0);
        if count > 0 {
            self.cage.copy(list.0 + 8, at, 8 * count);
        }
        self.clear_block_header(block);
        self.stack_top = at + 8 * count;
        Ok(block)
    }

    /// Runs the call whose block is complete; `stack_top` becomes `restore` afterwards.
    pub(crate) fn call_block(&mut self, block: u32, argc: u32, restore: u32) -> Completion {
        let result = self.call_block_inner(block, argc);
        self.stack_top = restore;
        result
    }

    fn call_block_inner(&mut self, block: u32, argc: u32) -> Completion {
        let cage = self.cage;
        let at = block + HEADER_BYTES;
        let callee = Value(cage.read(at - CALLEE));
        let Some(function) = callee.to_object_ref() else { return Err(self.throw_not_callable(callee)) };
        match cage.kind(function) {
            Kind::Function => {
                let template = cage.r(function, TEMPLATE);
                let flags = cage.flags(template);
                if flags & CLASS_CONSTRUCTOR != 0 {
                    return Err(self.throw_class_call(function));
                }
                self.check_native_stack()?;
                self.charge(1)?;
                self.run_closure(block, argc, template, Value::UNDEFINED, 0)
            }
            Kind::NativeFunction => {
                let this = Value(cage.read(at - THIS));
                self.call_native(function, Args::new(at, argc, this, function, Value::UNDEFINED))
            }
            Kind::HostFunction => {
                let this = Value(cage.read(at - THIS));
                self.call_host(function, Args::new(at, argc, this, function, Value::UNDEFINED))
            }
            Kind::BoundFunction => {
                self.check_native_stack()?;
                let list = self.bound_arguments(function, at, argc)?;
                let target = Value::object(cage.r(function, 16));
                let this = Value(cage.get(function, 24));
                self.call_list(target, this, list)
            }
            Kind::Proxy => {
                self.check_native_stack()?;
                let this = Value(cage.read(at - THIS));
                self.proxy_call(function, this, Args::new(at, argc, this, function, Value::UNDEFINED))
            }
            _ => Err(self.throw_not_callable(callee)),
        }
    }

    /// Runs the construction whose block is complete.
    pub(crate) fn construct_block(&mut self, block: u32, argc: u32, new_target: Value, restore: u32) -> Completion {
        let result = self.construct_block_inner(block, argc, new_target);
        self.stack_top = restore;
        result
    }

    fn construct_block_inner(&mut self, block: u32, argc: u32, new_target: Value) -> Completion {
        let cage = self.cage;
        let at = block + HEADER_BYTES;
        let callee = Value(cage.read(at - CALLEE));
        if !self.is_constructor(callee) {
            return Err(self.throw_not_constructor(callee));
        }
        let function = callee.as_ref();
        self.check_native_stack()?;
        match cage.kind(function) {
            Kind::Function => {
                let template = cage.r(function, TEMPLATE);
                self.charge(1)?;
                let this = self.this_for_construct(template, new_target)?;
                cage.init(at - THIS, this.0);
                self.run_closure(block, argc, template, new_target, FLAG_CONSTRUCT)
            }
            Kind::NativeFunction => {
                self.call_native(function, Args::new(at, argc, Value::UNDEFINED, function, new_target))
            }
            Kind::BoundFunction => {
                let list = self.bound_arguments(function, at, argc)?;
                let target = Value::object(cage.r(function, 16));
                let new_target = if new_target == callee { target } else { new_target };
                self.construct_list(target, list, new_target)
            }
            Kind::Proxy => self.proxy_construct(function, Args::new(at, argc, Value::UNDEFINED, function, new_target)),
            _ => Err(self.throw_not_constructor(callee)),
        }
    }

    /// The object that a base constructor gets as `this`, the uninitialized marker for derived ones.
    #[inline]
    pub(crate) fn this_for_construct(&mut self, template: Ref, new_target: Value) -> Completion {
        if self.cage.flags(template) & DERIVED != 0 {
            return Ok(Value::HOLE);
        }
        let prototype = self.prototype_from_constructor(new_target, crate::names::Intrinsic::ObjectPrototype)?;
        Ok(Value::object(self.new_object_with_prototype(prototype)?))
    }

    /// Runs a closure in a dispatch loop of its own.
    pub(crate) fn run_closure(
        &mut self,
        block: u32,
        argc: u32,
        template: Ref,
        new_target: Value,
        flags: u32,
    ) -> Completion {
        let to = ReturnTo { fp: self.fp, pc: self.pc, destination: 0, flags: flags | FLAG_ENTRY };
        let saved = (self.fp, self.pc);
        let entry_flags = self.cage.flags(template);
        let result = if entry_flags & ASYNC != 0 {
            self.start_async_call(block, argc, template, to)
        } else {
            match self.push_frame(block, argc, template, new_target, to) {
                Ok(fp) => self.run(fp),
                Err(throw) => Err(throw),
            }
        };
        (self.fp, self.pc) = saved;
        result
    }

    /// Calls a native function; its arguments lie on the register stack.
    #[inline]
    pub(crate) fn call_native(&mut self, function: Ref, args: Args) -> Completion {
        let number = self.cage.u32(function, BUILTIN);
        let builtin = crate::builtins::lookup(number);
        if args.new_target.is_undefined() {
            self.check_native_stack()?;
        }
        (builtin.function)(self, args)
    }

    fn bound_arguments(&mut self, function: Ref, at: u32, argc: u32) -> Completion<Ref> {
        let bound = self.cage.r(function, 20);
        let count = if bound.is_null() { 0 } else { self.cage.u32(bound, 4) };
        let list = self.new_values(count + argc, Value::UNDEFINED)?;
        if count > 0 {
            self.cage.copy(bound.0 + 8, list.0 + 8, 8 * count);
        }
        if argc > 0 {
            self.cage.copy(at, list.0 + 8 + 8 * count, 8 * argc);
        }
        Ok(list)
    }

    #[cold]
    pub(crate) fn throw_not_callable(&mut self, value: Value) -> crate::realm::Throw {
        let text = self.callee_text().unwrap_or_else(|| self.describe(value));
        self.throw_type(&format!("{text} is not a function"))
    }

    #[cold]
    pub(crate) fn throw_not_constructor(&mut self, value: Value) -> crate::realm::Throw {
        let text = self.callee_text().unwrap_or_else(|| self.describe(value));
        self.throw_type(&format!("{text} is not a constructor"))
    }

    #[cold]
    pub(crate) fn throw_class_call(&mut self, function: Ref) -> crate::realm::Throw {
        let name = self.function_name_text(function);
        self.throw_type(&format!("Class constructor {name} cannot be invoked without 'new'"))
    }

    /// Source text of the callee of the running call instruction, if it is a short plain expression.
    fn callee_text(&mut self) -> Option<String> {
        if self.fp == 0 || self.pc == 0 {
            return None;
        }
        let callee = Value(self.cage.read(self.fp - CALLEE)).to_object_ref()?;
        if !self.cage.is(callee, Kind::Function) {
            return None;
        }
        let template = self.cage.r(callee, TEMPLATE);
        let code = self.cage.u32(template, CODE) + 8;
        if self.pc < code || self.pc >= code + 2 * self.cage.u32(self.cage.r(template, CODE), 4) {
            return None;
        }
        use crate::bytecode::opcode::Opcode;
        let opcode = Opcode::from_raw(self.cage.read::<u16>(self.pc))?;
        if !matches!(opcode, Opcode::Call | Opcode::CallUndefined | Opcode::New) {
            return None;
        }
        let at = self.template_position(template, (self.pc - code) / 2) as usize;
        let source = self.cage.r(self.cage.r(template, SCRIPT), 4);
        let view = self.view(source).ok()?;
        let mut text = String::new();
        for i in at..view.len().min(at + 60) {
            let c = char::from_u32(u32::from(view.at(i)))?;
            if c.is_alphanumeric() || matches!(c, '_' | '$' | '.' | '#') {
                text.push(c);
            } else {
                break;
            }
        }
        let text = text.trim_start_matches("new").trim().to_string();
        if text.is_empty() || text.starts_with(|c: char| c.is_ascii_digit() || c == '.') { None } else { Some(text) }
    }
}
