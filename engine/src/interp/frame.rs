//! Pushing frames, walking them for stack traces, and unwinding to exception handlers.

use super::*;
use crate::bytecode::install::*;
use crate::cage::{Ref, STACK_END};
use crate::kinds::Kind;
use crate::objects::function::TEMPLATE;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// How a call returns.
#[derive(Clone, Copy)]
pub(crate) struct ReturnTo {
    pub fp: u32,
    pub pc: u32,
    pub destination: u32,
    pub flags: u32,
}

impl Realm {
    /// Turns the call block at `block` (callee and this in place, `argc` arguments) into a frame of the
    /// closure `function`; returns its fp. The frame is not current yet (see `fp`, `stack_top`).
    #[inline(always)]
    pub(crate) fn push_frame(
        &mut self,
        block: u32,
        argc: u32,
        template: Ref,
        new_target: Value,
        to: ReturnTo,
    ) -> Completion<u32> {
        let cage = self.cage;
        let mut fp = block + HEADER_BYTES;
        let parameters = u32::from(cage.get::<u16>(template, PARAM_COUNT));
        let registers = u32::from(cage.get::<u16>(template, REGISTER_COUNT));
        let arguments = fp;
        if argc > parameters {
            // Surplus arguments stay where they are; the frame proper starts behind them.
            fp = arguments + 8 * argc + HEADER_BYTES;
        }
        if self.depth >= self.depth_max || fp + 8 * registers + 256 > STACK_END {
            return Err(self.throw_stack_overflow());
        }
        if argc > parameters {
            cage.init(fp - CALLEE, cage.read::<u64>(arguments - CALLEE));
            cage.init(fp - THIS, cage.read::<u64>(arguments - THIS));
            for i in 0..parameters {
                cage.init(fp + 8 * i, cage.read::<u64>(arguments + 8 * i));
            }
        }
        cage.init(fp - RETURN, u64::from(to.fp) << 32 | u64::from(to.pc));
        cage.init(fp - CALL_INFO, u64::from(argc) << 32 | u64::from(to.flags << 16 | to.destination));
        cage.init(fp - ARGUMENTS, u64::from(arguments));
        cage.init(fp - NEW_TARGET, new_target.0);
        let initialized = u32::from(cage.get::<u16>(template, INIT_COUNT));
        let mut i = argc.min(parameters);
        while i < initialized {
            cage.init(fp + 8 * i, Value::UNDEFINED.0);
            i += 1;
        }
        self.depth += 1;
        self.fp = fp;
        self.stack_top = fp + 8 * registers;
        Ok(fp)
    }

    /// OrdinaryCallBindThis for sloppy functions that look at `this`.
    #[inline(never)]
    pub(crate) fn coerce_this(&mut self, fp: u32) -> Completion<()> {
        let this = Value(self.cage.read(fp - THIS));
        if this.is_object() {
            return Ok(());
        }
        let bound = if this.is_nullish() { self.global() } else { self.to_object(this)? };
        self.cage.init(fp - THIS, Value::object(bound).0);
        Ok(())
    }

    /// The template of the frame at `fp`.
    #[inline(always)]
    pub(crate) fn frame_template(&self, fp: u32) -> Ref {
        let callee = Value(self.cage.read(fp - CALLEE));
        self.cage.r(callee.as_ref(), TEMPLATE)
    }

    /// Makes the caller of `fp` current; returns (fp, pc, destination, flags).
    #[inline(always)]
    pub(crate) fn pop_frame(&mut self, fp: u32) -> (u32, u32, u32, u32) {
        let ret: u64 = self.cage.read(fp - RETURN);
        let info = self.cage.read::<u64>(fp - CALL_INFO) as u32;
        self.depth -= 1;
        let caller = (ret >> 32) as u32;
        self.fp = caller;
        (caller, ret as u32, info & 0xFFFF, info >> 16)
    }

    /// Sets `stack_top` for the frame at `fp`.
    #[inline(always)]
    pub(crate) fn restore_stack_top(&mut self, fp: u32, template: Ref) {
        self.stack_top = fp + 8 * u32::from(self.cage.get::<u16>(template, REGISTER_COUNT));
    }

    /// Looks for a handler of the pending exception from the frame at `fp` outwards, not beyond the entry
    /// frame. `unit_at` is any address inside the throwing instruction. Returns (fp, pc) of the handler.
    #[inline(never)]
    pub(crate) fn unwind(&mut self, fp: u32, at: u32) -> Option<(u32, u32)> {
        let (mut fp, mut at) = (fp, at);
        loop {
            let template = self.frame_template(fp);
            if self.termination.is_none()
                && let Some((target, register)) = self.find_handler(template, at)
            {
                self.fp = fp;
                self.restore_stack_top(fp, template);
                self.cage.init(fp + 8 * register, self.exception.0);
                self.exception = Value::UNDEFINED;
                return Some((fp, target));
            }
            self.coroutine_threw(fp);
            let entry_top = fp;
            let (caller, pc, _, flags) = self.pop_frame(fp);
            if flags & FLAG_ENTRY != 0 {
                let _ = entry_top;
                return None;
            }
            fp = caller;
            // The return address lies behind the call: one unit back is inside it.
            at = pc - 2;
        }
    }

    fn find_handler(&self, template: Ref, at: u32) -> Option<(u32, u32)> {
        let cage = self.cage;
        let table = cage.r(template, HANDLERS);
        if table.is_null() {
            return None;
        }
        let code = cage.u32(template, CODE) + 8;
        let unit = (at - code) / 2;
        for i in 0..cage.u32(table, 4) / 4 {
            let row = 8 + 16 * i;
            if unit >= cage.u32(table, row) && unit < cage.u32(table, row + 4) {
                return Some((code + 2 * cage.u32(table, row + 8), cage.u32(table, row + 12)));
            }
        }
        None
    }

    /// Appends a line for each of the innermost frames, innermost first: `at function (script:line:column)`.
    pub(crate) fn push_stack_frames(&mut self, text: &mut String, most: usize) {
        let (mut fp, mut pc, mut innermost, mut count) = (self.fp, self.pc, true, 0);
        while fp != 0 && count < most {
            let callee = Value(self.cage.read(fp - CALLEE));
            if let Some(function) = callee.to_object_ref()
                && self.cage.is(function, Kind::Function)
            {
                let template = self.cage.r(function, TEMPLATE);
                let code = self.cage.u32(template, CODE) + 8;
                let unit = pc.saturating_sub(code) / 2;
                let unit = if innermost { unit } else { unit.saturating_sub(1) };
                let at = self.template_position(template, unit);
                let script = self.cage.r(template, SCRIPT);
                let (line, column) = self.line_and_column(script, at);
                count += 1;
                text.push_str("\n    at ");
                let before = text.len();
                self.push_function_name(function, text);
                let named = text.len() > before;
                if named {
                    text.push_str(" (");
                }
                self.view_flat(self.cage.r(script, 8)).push_text(text);
                for number in [line, column] {
                    text.push(':');
                    push_decimal(number, text);
                }
                if named {
                    text.push(')');
                }
            }
            let ret: u64 = self.cage.read(fp - RETURN);
            fp = (ret >> 32) as u32;
            pc = ret as u32;
            innermost = false;
        }
    }
}

/// Appends `number` in decimal, without the cost of a formatter.
fn push_decimal(number: u32, text: &mut String) {
    if number >= 10 {
        push_decimal(number / 10, text);
    }
    text.push((b'0' + (number % 10) as u8) as char);
}
