//! try, catch and finally.
//!
//! ```text
//!   try block        -> exceptions to the catch clause, or with kind 1 to the finally block
//!   catch clause     -> exceptions with kind 1 to the finally block
//!   kind = 0
//!   finally block
//!   dispatch on kind: 1 throws the value, n goes on with exit n - 2
//! ```

use oxc_ast::ast::*;
use zjs_engine::bytecode::opcode::Opcode;

use crate::codegen::Codegen;
use crate::control::{Control, Exit, Region};
use crate::patterns::BindMode;
use crate::scope::*;

impl<'a> Codegen<'a> {
    pub fn try_statement(&mut self, t: &TryStatement<'a>) {
        self.reset_completion();
        let Some(finalizer) = &t.finalizer else {
            return self.try_catch(t);
        };
        let mark = self.top();
        let kind = self.temp();
        let value = self.temp();
        let target = self.label();
        self.f.control.push(Control::Finally { region: Region::default(), kind, value, target, exits: Vec::new() });
        self.open_region();
        if t.handler.is_some() {
            self.try_catch(t);
        } else {
            self.block_statement(&t.block);
        }
        self.close_region();
        let entry = self.f.control.pop();
        self.load_int(kind, 0);
        self.jump(Opcode::Jump, &[], target);
        let handler = self.f.asm.label_here();
        let mut pending = Vec::new();
        if let Some(Control::Finally { region, exits, .. }) = entry {
            self.finish_region(region, handler, value);
            pending = exits;
        }
        self.load_int(kind, 1);
        self.bind(target);
        // The finally block's own value counts only if it is left abruptly.
        let saved = self.f.completion.map(|reg| {
            let temp = self.temp();
            self.mov(temp, reg);
            self.op(Opcode::LoadUndefined, &[reg]);
            temp
        });
        self.block_statement(finalizer);
        if let (Some(reg), Some(saved)) = (self.f.completion, saved) {
            self.mov(reg, saved);
        }
        let end = self.label();
        self.jump(Opcode::JumpIfFalse, &[kind], end);
        let number = self.temp();
        for (i, exit) in pending.iter().enumerate() {
            let next = self.label();
            self.load_int(number, i as i32 + 2);
            self.jump(Opcode::JumpIfStrictNotEqual, &[kind, number], next);
            let result = matches!(exit, Exit::Return).then_some(value);
            self.exit(*exit, result);
            self.bind(next);
        }
        self.op(Opcode::Throw, &[value]);
        self.bind(end);
        self.free(mark);
    }

    /// The try block and the catch clause.
    fn try_catch(&mut self, t: &TryStatement<'a>) {
        let Some(clause) = &t.handler else { return };
        let mark = self.top();
        let exception = self.temp();
        self.f.control.push(Control::Catch { region: Region::default() });
        self.open_region();
        self.block_statement(&t.block);
        self.close_region();
        let entry = self.f.control.pop();
        let end = self.label();
        self.jump(Opcode::Jump, &[], end);
        let handler = self.f.asm.label_here();
        if let Some(Control::Catch { region }) = entry {
            self.finish_region(region, handler, exception);
        }
        self.reset_completion();
        let scope = self.scope_of(addr(&**clause), tag::CATCH);
        self.enter_scope(scope);
        if let Some(param) = &clause.param {
            self.bind_pattern(&param.pattern, exception, BindMode::Init);
        }
        self.block_statement(&clause.body);
        self.leave_scope(scope);
        self.bind(end);
        self.free(mark);
    }
}
