//! Leaving statements: break, continue and return through finally blocks and iterators.
//!
//! The control stack lists what an exit passes on its way out. A finally block is compiled once: whoever
//! leaves through it stores a number (0 normal, 1 throw, 2 and up its own exits) and a value, jumps to
//! the block, and the dispatch behind the block goes on with that exit. The protected ranges of
//! everything that an exit passes are interrupted while the exit's own code is emitted.

use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::{Handler, Suspension};

use crate::codegen::Codegen;
use crate::emit::{Label, Reg};

/// Why a statement is left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Exit {
    /// To the end of the entry with this index of the control stack.
    Break(usize),
    Continue(usize),
    /// Return what the value register holds.
    Return,
}

/// A protected range that can be interrupted.
#[derive(Debug, Default)]
pub struct Region {
    pub ranges: Vec<(u32, u32)>,
    pub open: Option<u32>,
}

/// One entry of the control stack.
#[derive(Debug)]
pub enum Control<'a> {
    /// A statement that can be left with `break` (and `continue`).
    Target { labels: Vec<&'a str>, unlabeled: bool, break_to: Label, continue_to: Option<Label> },
    /// A try block with a catch clause.
    Catch { region: Region },
    /// A try block with a finally block.
    Finally { region: Region, kind: Reg, value: Reg, target: Label, exits: Vec<Exit> },
    /// An iteration whose iterator must be closed when it is left.
    Iterator { region: Region, base: Reg, is_async: bool },
}

impl Control<'_> {
    fn region(&mut self) -> Option<&mut Region> {
        match self {
            Control::Target { .. } => None,
            Control::Catch { region } | Control::Finally { region, .. } | Control::Iterator { region, .. } => {
                Some(region)
            }
        }
    }
}

impl<'a> Codegen<'a> {
    /// Starts the protected range of the entry on top.
    pub fn open_region(&mut self) {
        let here = self.f.asm.here();
        if let Some(region) = self.f.control.last_mut().and_then(Control::region) {
            region.open = Some(here);
        }
    }

    /// Interrupts the ranges of all entries from `index` up.
    fn suspend_regions(&mut self, index: usize) {
        let here = self.f.asm.here();
        for entry in &mut self.f.control[index..] {
            if let Some(region) = entry.region()
                && let Some(start) = region.open.take()
                && start < here
            {
                region.ranges.push((start, here));
            }
        }
    }

    /// Emits handlers of a finished region; `target` is where exceptions go.
    pub fn finish_region(&mut self, mut region: Region, target: Label, register: Reg) {
        if let Some(start) = region.open.take() {
            region.ranges.push((start, self.f.asm.here()));
        }
        let target = self.f.asm.offset(target);
        for (start, end) in region.ranges {
            self.f.asm.handlers.push(Handler { start, end, target, register });
        }
    }

    /// Closes the region of the entry on top at this place, without handlers yet.
    pub fn close_region(&mut self) {
        let here = self.f.asm.here();
        if let Some(region) = self.f.control.last_mut().and_then(Control::region)
            && let Some(start) = region.open.take()
        {
            region.ranges.push((start, here));
        }
    }

    /// Leaves everything between the top of the control stack and the exit's target. `value` holds the
    /// value of a return.
    pub fn exit(&mut self, exit: Exit, value: Option<Reg>) {
        let floor = match exit {
            Exit::Break(index) => index + 1,
            // A for-of loop goes on with its own iterator, whose entry lies right above the target.
            Exit::Continue(index) => match self.f.control.get(index + 1) {
                Some(Control::Iterator { .. }) => index + 2,
                _ => index + 1,
            },
            Exit::Return => 0,
        };
        // Regions that are open now and have to go on afterwards.
        let reopen: Vec<bool> =
            self.f.control.iter_mut().map(|c| c.region().is_some_and(|r| r.open.is_some())).collect();
        let mut at = self.f.control.len();
        let mut routed = false;
        while at > floor {
            at -= 1;
            match &mut self.f.control[at] {
                Control::Target { .. } => {}
                Control::Catch { .. } => self.suspend_regions(at),
                Control::Iterator { base, is_async, .. } => {
                    let (base, is_async) = (*base, *is_async);
                    self.suspend_regions(at);
                    self.close_iterator(base, is_async);
                }
                Control::Finally { kind, value: slot, target, exits, .. } => {
                    let number = match exits.iter().position(|e| *e == exit) {
                        Some(n) => n,
                        None => {
                            exits.push(exit);
                            exits.len() - 1
                        }
                    };
                    let (kind, slot, target) = (*kind, *slot, *target);
                    self.suspend_regions(at);
                    if let Some(value) = value {
                        self.mov(slot, value);
                    }
                    self.load_int(kind, number as i32 + 2);
                    self.jump(Opcode::Jump, &[], target);
                    routed = true;
                    break;
                }
            }
        }
        if !routed {
            match exit {
                Exit::Break(index) => {
                    if let Control::Target { break_to, .. } = &self.f.control[index] {
                        let label = *break_to;
                        self.jump(Opcode::Jump, &[], label);
                    }
                }
                Exit::Continue(index) => {
                    if let Control::Target { continue_to: Some(label), .. } = &self.f.control[index] {
                        let label = *label;
                        // Back to a test that stands in front of the body: a back edge, which costs fuel.
                        let op = if self.f.asm.is_bound(label) { Opcode::Loop } else { Opcode::Jump };
                        self.jump(op, &[], label);
                    }
                }
                Exit::Return => self.emit_return(value),
            }
        }
        let here = self.f.asm.here();
        for (entry, open) in self.f.control.iter_mut().zip(reopen) {
            if let Some(region) = entry.region()
                && open
                && region.open.is_none()
            {
                region.open = Some(here);
            }
        }
    }

    /// The return itself, with nothing left to pass.
    fn emit_return(&mut self, value: Option<Reg>) {
        use zjs_engine::bytecode::template::FunctionKind;
        match value {
            None => self.op(Opcode::ReturnUndefined, &[]),
            Some(value) if self.f.kind == FunctionKind::DerivedConstructor => {
                let mark = self.top();
                let this = self.temp();
                self.load_this_unchecked(this);
                let result = self.temp();
                self.op(Opcode::CheckConstructorReturn, &[result, value, this]);
                self.op(Opcode::Return, &[result]);
                self.free(mark);
            }
            Some(value) => self.op(Opcode::Return, &[value]),
        }
    }

    /// `return value`: through everything that is open.
    pub fn return_value(&mut self, value: Reg) {
        self.exit(Exit::Return, Some(value));
    }

    /// Closes the iterator of a loop that is left by break or return.
    pub fn close_iterator(&mut self, base: Reg, is_async: bool) {
        if !is_async {
            return self.op(Opcode::IteratorClose, &[base]);
        }
        let mark = self.top();
        let method = self.temp();
        let skip = self.label();
        self.op(Opcode::IteratorMethod, &[method, base, 0]);
        self.jump(Opcode::JumpIfUndefined, &[method], skip);
        let argument = self.temp();
        // `return` is called without arguments; the engine passes one, which is undefined.
        self.op(Opcode::LoadUndefined, &[argument]);
        self.op(Opcode::CallIteratorMethod, &[method, base, method, argument]);
        self.await_into(method, method);
        self.op(Opcode::CheckIteratorResult, &[method]);
        self.bind(skip);
        self.free(mark);
    }

    /// Closes an iterator after an exception: errors of `return` are dropped.
    pub fn close_iterator_silent(&mut self, base: Reg, is_async: bool) {
        if !is_async {
            return self.op(Opcode::IteratorCloseSilent, &[base]);
        }
        let mark = self.top();
        let method = self.temp();
        let skip = self.label();
        let start = self.f.asm.here();
        self.op(Opcode::IteratorMethod, &[method, base, 0]);
        self.jump(Opcode::JumpIfUndefined, &[method], skip);
        let argument = self.temp();
        self.op(Opcode::LoadUndefined, &[argument]);
        self.op(Opcode::CallIteratorMethod, &[method, base, method, argument]);
        self.await_into(method, method);
        let end = self.f.asm.here();
        self.bind(skip);
        let target = self.f.asm.offset(skip);
        self.f.asm.handlers.push(Handler { start, end, target, register: method });
        self.free(mark);
    }

    /// Finds the target of `break`.
    pub fn break_target(&self, label: Option<&str>) -> Option<usize> {
        self.f.control.iter().rposition(|c| match c {
            Control::Target { labels, unlabeled, .. } => match label {
                Some(label) => labels.contains(&label),
                None => *unlabeled,
            },
            _ => false,
        })
    }

    /// Finds the target of `continue`.
    pub fn continue_target(&self, label: Option<&str>) -> Option<usize> {
        self.f.control.iter().rposition(|c| match c {
            Control::Target { labels, continue_to: Some(_), .. } => label.is_none_or(|l| labels.contains(&l)),
            _ => false,
        })
    }

    pub fn is_async_generator(&self) -> bool {
        self.f.suspension == Suspension::AsyncGenerator
    }
}
