//! yield, yield* and await.
//!
//! A resumption delivers a value and a mode; behind each suspension stands a dispatch: mode 0 goes on,
//! 1 throws the value, 2 returns it (through finally blocks).

use oxc_ast::ast::*;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::Suspension;

use crate::codegen::Codegen;
use crate::emit::Reg;

impl<'a> Codegen<'a> {
    /// dst = await src.
    pub fn await_into(&mut self, dst: Reg, src: Reg) {
        let mark = self.top();
        let value = if self.is_local(dst) { self.temp() } else { dst };
        let mode = self.temp();
        let go_on = self.label();
        self.op(Opcode::Await, &[value, mode, src]);
        self.jump(Opcode::JumpIfFalse, &[mode], go_on);
        self.op(Opcode::Throw, &[value]);
        self.bind(go_on);
        self.mov(dst, value);
        self.free(mark);
    }

    /// What follows a Yield: throw and return resumptions.
    fn dispatch_resumption(&mut self, value: Reg, mode: Reg) {
        let mark = self.top();
        let go_on = self.label();
        let returns = self.label();
        self.jump(Opcode::JumpIfFalse, &[mode], go_on);
        let one = self.temp();
        self.load_int(one, 1);
        self.jump(Opcode::JumpIfStrictNotEqual, &[mode, one], returns);
        self.op(Opcode::Throw, &[value]);
        self.bind(returns);
        if self.is_async_generator() {
            self.await_into(value, value);
        }
        self.return_value(value);
        self.bind(go_on);
        self.free(mark);
    }

    pub fn yield_expression(&mut self, it: &YieldExpression<'a>, dst: Reg) {
        if it.delegate {
            return self.yield_delegate(it, dst);
        }
        let mark = self.top();
        let value = self.temp();
        let mode = self.temp();
        match &it.argument {
            Some(argument) => self.expr_into(argument, value),
            None => self.op(Opcode::LoadUndefined, &[value]),
        }
        self.at(it.span.start);
        if self.is_async_generator() {
            self.await_into(value, value);
        }
        self.op(Opcode::Yield, &[value, mode, value]);
        self.dispatch_resumption(value, mode);
        self.mov(dst, value);
        self.free(mark);
    }

    /// yield*: forwards next, throw and return to an inner iterator.
    fn yield_delegate(&mut self, it: &YieldExpression<'a>, dst: Reg) {
        let is_async = self.f.suspension == Suspension::AsyncGenerator;
        let mark = self.top();
        let base = self.temps(3);
        let received = self.temp();
        let mode = self.temp();
        let result = self.temp();
        let method = self.temp();
        if let Some(argument) = &it.argument {
            self.expr_into(argument, received);
        }
        self.at(it.span.start);
        let open = if is_async { Opcode::GetAsyncIterator } else { Opcode::GetIterator };
        self.op(open, &[base, received]);
        self.op(Opcode::LoadUndefined, &[received]);
        self.load_int(mode, 0);

        let top = self.f.asm.label_here();
        let not_next = self.label();
        let is_return = self.label();
        let got_result = self.label();
        let done = self.label();
        self.jump(Opcode::JumpIfTrue, &[mode], not_next);
        self.op(Opcode::IteratorCall, &[result, base, received]);
        self.await_if(is_async, result);
        self.jump(Opcode::Jump, &[], got_result);

        self.bind(not_next);
        self.load_int(method, 1);
        self.jump(Opcode::JumpIfStrictNotEqual, &[mode, method], is_return);
        // throw
        let no_throw = self.label();
        self.op(Opcode::IteratorMethod, &[method, base, 1]);
        self.jump(Opcode::JumpIfUndefined, &[method], no_throw);
        self.op(Opcode::CallIteratorMethod, &[result, base, method, received]);
        self.await_if(is_async, result);
        self.jump(Opcode::Jump, &[], got_result);
        self.bind(no_throw);
        self.close_iterator(base, is_async);
        let message = self.f.asm.name("The iterator does not provide a 'throw' method");
        self.op(Opcode::ThrowError, &[0, message]);

        self.bind(is_return);
        let no_return = self.label();
        let return_done = self.label();
        let suspend = self.label();
        self.op(Opcode::IteratorMethod, &[method, base, 0]);
        self.jump(Opcode::JumpIfUndefined, &[method], no_return);
        self.op(Opcode::CallIteratorMethod, &[result, base, method, received]);
        self.await_if(is_async, result);
        self.op(Opcode::CheckIteratorResult, &[result]);
        self.delegate_done(result, method, return_done);
        self.jump(Opcode::Jump, &[], suspend);
        self.bind(return_done);
        let ic = self.f.asm.ic();
        let name = self.f.asm.name("value");
        self.op(Opcode::GetProperty, &[received, result, name, ic]);
        self.return_value(received);
        self.bind(no_return);
        self.await_if(is_async, received);
        self.return_value(received);

        self.bind(got_result);
        self.op(Opcode::CheckIteratorResult, &[result]);
        self.delegate_done(result, method, done);
        self.bind(suspend);
        if is_async {
            // The inner value is handed out without another await.
            let ic = self.f.asm.ic();
            let name = self.f.asm.name("value");
            self.op(Opcode::GetProperty, &[result, result, name, ic]);
            self.op(Opcode::Yield, &[received, mode, result]);
            // A return resumption is awaited first; a rejection becomes a throw.
            let two = self.label();
            self.load_int(method, 2);
            self.jump(Opcode::JumpIfStrictNotEqual, &[mode, method], two);
            self.op(Opcode::Await, &[received, mode, received]);
            self.jump(Opcode::JumpIfTrue, &[mode], two);
            self.load_int(mode, 2);
            self.bind(two);
        } else {
            self.op(Opcode::YieldDelegate, &[received, mode, result]);
        }
        self.jump(Opcode::Loop, &[], top);

        self.bind(done);
        let ic = self.f.asm.ic();
        let name = self.f.asm.name("value");
        self.op(Opcode::GetProperty, &[dst, result, name, ic]);
        self.free(mark);
    }

    fn delegate_done(&mut self, result: Reg, scratch: Reg, done: crate::emit::Label) {
        let ic = self.f.asm.ic();
        let name = self.f.asm.name("done");
        self.op(Opcode::GetProperty, &[scratch, result, name, ic]);
        self.jump(Opcode::JumpIfTrue, &[scratch], done);
    }

    fn await_if(&mut self, is_async: bool, reg: Reg) {
        if is_async {
            self.await_into(reg, reg);
        }
    }
}
