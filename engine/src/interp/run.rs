//! The dispatch loop.
//!
//! One plain match over the opcode list. Fast paths are inline; everything that allocates, converts or may
//! run other code is a call into `slow` and its neighbours, after `pc` was stored for stack traces.
//! Invariant: `self.fp` and `self.stack_top` describe the current frame whenever another function runs.

use super::frame::ReturnTo;
use super::*;
use crate::builtins::Args;
use crate::bytecode::install::*;
use crate::bytecode::opcode::{NO_IC, Opcode};
use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind, SHAPE, SLOTS};
use crate::objects::Key;
use crate::objects::function::{ENVIRONMENT, TEMPLATE};
use crate::realm::{Completion, Realm, Throw};
use crate::value::Value;

/// Top bit of a slot code: the slot is out of line.
const OUT_OF_LINE: u32 = 0x8000_0000;

impl Realm {
    /// Runs the complete frame at `fp` (an entry frame) from its first instruction.
    pub(crate) fn run(&mut self, fp: u32) -> Completion {
        let template = self.frame_template(fp);
        if self.cage.flags(template) & COERCE_THIS != 0
            && let Err(Throw) = self.coerce_this(fp)
        {
            self.pop_frame(fp);
            return Err(Throw);
        }
        let start = self.cage.u32(template, CODE) + 8;
        if self.cage.u32(template, NATIVE_ENTRY) != 0
            && let Some(outcome) = self.try_native(fp, template)
        {
            return match outcome {
                native::Outcome::Returned(value) => {
                    self.pop_frame(fp);
                    Ok(value)
                }
                native::Outcome::Threw => match self.unwind(fp, self.pc) {
                    Some((fp, pc)) => self.run_at(fp, pc),
                    None => Err(Throw),
                },
                native::Outcome::Exit(pc) => self.run_at(fp, pc),
            };
        }
        self.run_at(fp, start)
    }

    /// Runs the frame at `fp` from the instruction at `pc` until its entry frame returns.
    #[inline(never)]
    pub(crate) fn run_at(&mut self, fp: u32, pc: u32) -> Completion {
        let cage = self.cage;
        let mut fp = fp;
        let mut pc = pc;
        let mut constants: u32;
        let mut caches: u32;

        macro_rules! operand {
            ($n:expr) => {
                cage.read::<u16>(pc + 2 * $n)
            };
        }
        macro_rules! operand_i32 {
            ($n:expr) => {
                cage.read::<i32>(pc + 2 * $n)
            };
        }
        macro_rules! register {
            ($n:expr) => {
                Value(cage.read::<u64>(fp + 8 * u32::from(operand!($n))))
            };
        }
        macro_rules! set {
            ($n:expr, $value:expr) => {{
                let value: Value = $value;
                cage.init(fp + 8 * u32::from(operand!($n)), value.0)
            }};
        }
        macro_rules! constant {
            ($n:expr) => {
                Value(cage.read::<u64>(constants + 8 * u32::from(operand!($n))))
            };
        }
        macro_rules! load_frame {
            () => {{
                let template = self.frame_template(fp);
                constants = cage.u32(template, CONSTANTS) + 8;
                caches = self.feedback_if_any(template);
            }};
        }
        macro_rules! throw {
            () => {{
                match self.unwind(fp, pc) {
                    Some((handler_fp, handler_pc)) => {
                        fp = handler_fp;
                        pc = handler_pc;
                        load_frame!();
                        continue;
                    }
                    None => return Err(Throw),
                }
            }};
        }
        macro_rules! tri {
            ($e:expr) => {{
                self.pc = pc;
                match $e {
                    Ok(value) => value,
                    Err(Throw) => throw!(),
                }
            }};
        }
        macro_rules! next {
            ($units:expr) => {{
                pc += 2 * $units;
                continue;
            }};
        }
        // The compiler always gives these operands the right kind; forged code need not, and what the verifier
        // of snapshots does not prove is checked here (no cell is ever touched as what it is not).
        macro_rules! damaged {
            () => {{
                self.pc = pc;
                let _ = self.throw_damaged_code();
                throw!();
            }};
        }
        macro_rules! object {
            ($n:expr) => {
                match register!($n).to_object_ref() {
                    Some(object) => object,
                    None => damaged!(),
                }
            };
        }
        macro_rules! of_kind {
            ($n:expr, $kind:expr) => {
                match self.ref_of_kind(register!($n), $kind) {
                    Some(cell) => cell,
                    None => damaged!(),
                }
            };
        }
        macro_rules! private_name {
            ($n:expr) => {{
                let name = register!($n);
                if !name.is_symbol() {
                    damaged!()
                }
                name
            }};
        }
        // An environment, or undefined where there is none.
        macro_rules! environment {
            ($n:expr) => {{
                let environment = register!($n);
                if !self.is_environment_or_none(environment) {
                    damaged!()
                }
                environment
            }};
        }
        // Address of a slot of the environment some hops above the one in a register.
        macro_rules! environment_slot {
            ($n:expr, $hops:expr, $slot:expr) => {
                match self.environment_slot(register!($n), operand!($hops), operand!($slot)) {
                    Some(at) => at,
                    None => damaged!(),
                }
            };
        }
        macro_rules! jump {
            ($n:expr) => {{
                pc = pc.wrapping_add((operand_i32!($n) as u32).wrapping_mul(2));
                continue;
            }};
        }
        macro_rules! cache {
            ($n:expr) => {{
                let index = operand!($n);
                if caches != 0 && index != NO_IC { caches + 16 * u32::from(index) } else { 0 }
            }};
        }
        // What the cache at `$at` says about `$object`, whose shape fits; the lazy marker where it does not hold.
        macro_rules! cached_value {
            ($object:expr, $at:expr) => {{
                let code = cage.read::<u32>($at + 8);
                let holder = cage.read::<u32>($at + 4);
                if holder == 0 {
                    if code & OUT_OF_LINE == 0 {
                        Value(cage.get($object, code))
                    } else {
                        Value(cage.read(cage.u32($object, SLOTS) + (code & !OUT_OF_LINE)))
                    }
                } else if cage.read::<u32>($at + 12) == self.prototype_epoch {
                    if code & OUT_OF_LINE == 0 {
                        Value(cage.get(Ref(holder), code))
                    } else {
                        Value(cage.read(cage.u32(Ref(holder), SLOTS) + (code & !OUT_OF_LINE)))
                    }
                } else {
                    Value::LAZY
                }
            }};
        }
        // Arithmetic with an int32 fast path, a double fast path and a slow path.
        macro_rules! arithmetic {
            ($a:expr, $b:expr, $units:expr, |$x:ident, $y:ident| $int:expr, |$p:ident, $q:ident| $double:expr, $slow:ident) => {{
                let (a, b): (Value, Value) = ($a, $b);
                if a.is_int() && b.is_int() {
                    let ($x, $y) = (a.as_int(), b.as_int());
                    if let Some(result) = $int {
                        set!(1, result);
                        next!($units);
                    }
                }
                if a.is_number() && b.is_number() {
                    let ($p, $q) = (a.as_number(), b.as_number());
                    set!(1, $double);
                    next!($units);
                }
                let result = tri!(self.$slow(a, b));
                set!(1, result);
                next!($units);
            }};
        }
        macro_rules! bitwise {
            ($a:expr, $b:expr, $units:expr, |$x:ident, $y:ident| $int:expr, $slow:ident) => {{
                let (a, b): (Value, Value) = ($a, $b);
                if a.is_int() && b.is_int() {
                    let ($x, $y) = (a.as_int(), b.as_int());
                    set!(1, $int);
                    next!($units);
                }
                let result = tri!(self.$slow(a, b));
                set!(1, result);
                next!($units);
            }};
        }
        macro_rules! compare {
            ($op:tt, $slow:ident) => {{
                let (a, b) = (register!(2), register!(3));
                let result = if a.is_int() && b.is_int() {
                    a.as_int() $op b.as_int()
                } else if a.is_number() && b.is_number() {
                    a.as_number() $op b.as_number()
                } else {
                    tri!(self.$slow(a, b))
                };
                set!(1, Value::boolean(result));
                next!(4);
            }};
        }
        macro_rules! compare_jump {
            ($op:tt, $slow:ident, $sense:literal) => {{
                let (a, b) = (register!(1), register!(2));
                let result = if a.is_int() && b.is_int() {
                    a.as_int() $op b.as_int()
                } else if a.is_number() && b.is_number() {
                    a.as_number() $op b.as_number()
                } else {
                    tri!(self.$slow(a, b))
                };
                if result == $sense {
                    jump!(3);
                }
                next!(5);
            }};
        }
        macro_rules! equality {
            ($a:expr, $b:expr, $method:ident) => {{
                let (a, b): (Value, Value) = ($a, $b);
                if a.is_int() && b.is_int() {
                    a.0 == b.0
                } else if a.0 == b.0 && !a.is_double() {
                    true
                } else {
                    tri!(self.$method(a, b))
                }
            }};
        }
        // Return `value` from the current frame.
        macro_rules! leave {
            ($value:expr) => {{
                let mut value: Value = $value;
                let (caller, return_pc, destination, flags) = self.pop_frame(fp);
                if flags & FLAG_CONSTRUCT != 0 && !value.is_object() {
                    value = Value(cage.read(fp - THIS));
                }
                if flags & FLAG_ENTRY != 0 {
                    return Ok(value);
                }
                fp = caller;
                pc = return_pc;
                cage.init(fp + 8 * destination, value.0);
                let template = self.frame_template(fp);
                self.restore_stack_top(fp, template);
                constants = cage.u32(template, CONSTANTS) + 8;
                caches = self.feedback_if_any(template);
                continue;
            }};
        }
        // Enter the closure whose block starts at address `$block`.
        macro_rules! enter {
            ($block:expr, $argc:expr, $template:expr, $new_target:expr, $flags:expr, $units:expr) => {{
                let template: Ref = $template;
                self.fuel -= 1;
                if self.fuel < 0 {
                    self.pc = pc;
                    let _ = self.out_of_fuel();
                    throw!();
                }
                let destination = u32::from(operand!(1));
                let to = ReturnTo { fp, pc: pc + 2 * $units, destination, flags: $flags };
                self.pc = pc;
                match self.push_frame($block, $argc, template, $new_target, to) {
                    Ok(new_fp) => {
                        if cage.flags(template) & COERCE_THIS != 0
                            && let Err(Throw) = self.coerce_this(new_fp)
                        {
                            self.pop_frame(new_fp);
                            let caller = self.frame_template(fp);
                            self.restore_stack_top(fp, caller);
                            throw!();
                        }
                        if cage.u32(template, NATIVE_ENTRY) != 0
                            && let Some(outcome) = self.try_native(new_fp, template)
                        {
                            match outcome {
                                native::Outcome::Returned(value) => {
                                    fp = new_fp;
                                    leave!(value);
                                }
                                native::Outcome::Threw => {
                                    fp = new_fp;
                                    pc = self.pc;
                                    throw!();
                                }
                                native::Outcome::Exit(at) => {
                                    fp = new_fp;
                                    pc = at;
                                    constants = cage.u32(template, CONSTANTS) + 8;
                                    caches = self.feedback_if_any(template);
                                    continue;
                                }
                            }
                        }
                        fp = new_fp;
                        pc = cage.u32(template, CODE) + 8;
                        constants = cage.u32(template, CONSTANTS) + 8;
                        caches = self.feedback_for_call(template);
                        continue;
                    }
                    Err(Throw) => throw!(),
                }
            }};
        }
        macro_rules! call {
            ($block:expr, $argc:expr, $units:expr) => {{
                let block: u32 = $block;
                let argc: u32 = $argc;
                let callee = Value(cage.read::<u64>(block + 32));
                if callee.is_object() {
                    let function = callee.as_ref();
                    let kind = cage.kind_raw(function);
                    if kind == Kind::Function as u8 {
                        let template = cage.r(function, TEMPLATE);
                        let flags = cage.flags(template);
                        if flags & (CLASS_CONSTRUCTOR | ASYNC) == 0 {
                            enter!(block, argc, template, Value::UNDEFINED, 0, $units);
                        }
                    } else if kind == Kind::NativeFunction as u8 {
                        let at = block + HEADER_BYTES;
                        let saved_top = self.stack_top;
                        self.stack_top = at + 8 * argc;
                        let this = Value(cage.read(block + 40));
                        let args = Args::new(at, argc, this, function, Value::UNDEFINED);
                        let result = tri!(self.call_native(function, args));
                        self.stack_top = saved_top;
                        set!(1, result);
                        next!($units);
                    }
                }
                let restore = self.stack_top;
                self.stack_top = block + HEADER_BYTES + 8 * argc;
                let result = tri!(self.call_block(block, argc, restore));
                set!(1, result);
                next!($units);
            }};
        }

        load_frame!();
        loop {
            let Some(opcode) = Opcode::from_raw(cage.read::<u16>(pc)) else {
                self.pc = pc;
                let _ = self.throw_type("damaged bytecode");
                throw!();
            };
            match opcode {
                // --- loads and moves
                Opcode::LoadUndefined => {
                    set!(1, Value::UNDEFINED);
                    next!(2);
                }
                Opcode::LoadNull => {
                    set!(1, Value::NULL);
                    next!(2);
                }
                Opcode::LoadTrue => {
                    set!(1, Value::TRUE);
                    next!(2);
                }
                Opcode::LoadFalse => {
                    set!(1, Value::FALSE);
                    next!(2);
                }
                Opcode::LoadHole => {
                    set!(1, Value::HOLE);
                    next!(2);
                }
                Opcode::LoadInt => {
                    set!(1, Value::int(operand_i32!(2)));
                    next!(4);
                }
                Opcode::LoadConst => {
                    set!(1, constant!(2));
                    next!(3);
                }
                Opcode::Move => {
                    set!(1, register!(2));
                    next!(3);
                }
                Opcode::LoadThis => {
                    set!(1, Value(cage.read(fp - THIS)));
                    next!(2);
                }
                Opcode::LoadCallee => {
                    set!(1, Value(cage.read(fp - CALLEE)));
                    next!(2);
                }
                Opcode::LoadNewTarget => {
                    let value = Value(cage.read(fp - NEW_TARGET));
                    set!(1, if value.is_cell() { Value::UNDEFINED } else { value });
                    next!(2);
                }
                Opcode::LoadGlobalThis => {
                    set!(1, Value::object(self.global()));
                    next!(2);
                }
                Opcode::LoadIntrinsic => {
                    let value = Value(cage.get(self.record, 8 + 8 * u32::from(operand!(2))));
                    set!(1, value);
                    next!(3);
                }
                Opcode::ThrowIfHole => {
                    if register!(1).is_hole() {
                        let name = constant!(2);
                        self.pc = pc;
                        let _ = self.throw_uninitialized(name);
                        throw!();
                    }
                    next!(3);
                }
                Opcode::ThrowConstAssign => {
                    let name = constant!(1);
                    self.pc = pc;
                    let _ = self.throw_const_assign(name);
                    throw!();
                }
                Opcode::ThrowError => {
                    let message = constant!(2);
                    self.pc = pc;
                    let _ = self.throw_numbered_error(operand!(1), message);
                    throw!();
                }
                // --- environments
                Opcode::LoadFunctionEnv => {
                    let environment = cage.u32(Value(cage.read(fp - CALLEE)).as_ref(), ENVIRONMENT);
                    set!(1, Value::cell(Ref(environment)));
                    next!(2);
                }
                Opcode::NewEnv => {
                    let parent = environment!(2);
                    let value = tri!(self.new_environment(parent, u32::from(operand!(3))));
                    set!(1, value);
                    next!(4);
                }
                Opcode::CloneEnv => {
                    let source = of_kind!(2, Kind::Environment);
                    let value = tri!(self.clone_environment(source));
                    set!(1, value);
                    next!(3);
                }
                Opcode::GetEnv => {
                    let at = environment_slot!(2, 3, 4);
                    set!(1, Value(cage.read(at)));
                    next!(5);
                }
                Opcode::GetEnvChecked => {
                    let at = environment_slot!(2, 3, 4);
                    let value = Value(cage.read(at));
                    if value.is_hole() {
                        let name = constant!(5);
                        self.pc = pc;
                        let _ = self.throw_uninitialized(name);
                        throw!();
                    }
                    set!(1, value);
                    next!(6);
                }
                Opcode::SetEnv => {
                    let at = environment_slot!(1, 2, 3);
                    cage.write(at, register!(4).0);
                    next!(5);
                }
                Opcode::SetEnvChecked => {
                    let at = environment_slot!(1, 2, 3);
                    if Value(cage.read(at)).is_hole() {
                        let name = constant!(5);
                        self.pc = pc;
                        let _ = self.throw_uninitialized(name);
                        throw!();
                    }
                    cage.write(at, register!(4).0);
                    next!(6);
                }
                // --- globals
                Opcode::GetGlobal => {
                    let at = cache!(3);
                    if at != 0 {
                        let cell = cage.read::<u32>(at + 4);
                        if cell != 0 {
                            let value = Value(cage.read(cell + 8));
                            if !value.is_hole() {
                                set!(1, value);
                                next!(4);
                            }
                        }
                    }
                    let name = constant!(2).as_ref();
                    let value = tri!(self.get_global(name, at, false));
                    set!(1, value);
                    next!(4);
                }
                Opcode::GetGlobalOrUndefined => {
                    let name = constant!(2).as_ref();
                    let value = tri!(self.get_global(name, 0, true));
                    set!(1, value);
                    next!(4);
                }
                Opcode::SetGlobal => {
                    let at = cache!(3);
                    let value = register!(2);
                    if at != 0 {
                        let cell = cage.read::<u32>(at + 4);
                        if cell != 0 && !Value(cage.read(cell + 8)).is_hole() {
                            cage.write(cell + 8, value.0);
                            next!(4);
                        }
                    }
                    let name = constant!(1).as_ref();
                    tri!(self.set_global(name, value, at, fp));
                    next!(4);
                }
                Opcode::InitGlobalLexical => {
                    let name = constant!(1).as_ref();
                    let value = register!(2);
                    tri!(self.init_global_lexical(name, value));
                    next!(3);
                }
                Opcode::DeleteGlobal => {
                    let name = constant!(2).as_ref();
                    let value = tri!(self.delete_global(name));
                    set!(1, value);
                    next!(3);
                }
                // --- properties
                Opcode::GetProperty => {
                    let base = register!(2);
                    let at = cache!(4);
                    if base.is_object() && at != 0 {
                        let object = base.as_ref();
                        if cage.u32(object, SHAPE) == cage.read::<u32>(at) {
                            let value = cached_value!(object, at);
                            if value != Value::LAZY {
                                set!(1, value);
                                next!(5);
                            }
                        }
                    }
                    let name = constant!(3).as_ref();
                    let value = tri!(self.get_property(base, name, at));
                    set!(1, value);
                    next!(5);
                }
                Opcode::GetMethod => {
                    let base = register!(2);
                    let at = cache!(4);
                    let block = fp + 8 * u32::from(operand!(1));
                    if base.is_object() && at != 0 {
                        let object = base.as_ref();
                        if cage.u32(object, SHAPE) == cage.read::<u32>(at) {
                            let value = cached_value!(object, at);
                            if value != Value::LAZY {
                                cage.init(block + 32, value.0);
                                cage.init(block + 40, base.0);
                                next!(5);
                            }
                        }
                    }
                    let name = constant!(3).as_ref();
                    let value = tri!(self.get_property(base, name, at));
                    cage.init(block + 32, value.0);
                    cage.init(block + 40, base.0);
                    next!(5);
                }
                Opcode::SetProperty => {
                    let base = register!(1);
                    let value = register!(3);
                    let at = cache!(4);
                    if base.is_object() && at != 0 {
                        let object = base.as_ref();
                        if cage.u32(object, SHAPE) == cage.read::<u32>(at) {
                            let code = cage.read::<u32>(at + 8);
                            let child = cage.read::<u32>(at + 4);
                            if child == 0 {
                                if code & OUT_OF_LINE == 0 {
                                    cage.set(object, code, value.0);
                                } else {
                                    cage.write(cage.u32(object, SLOTS) + (code & !OUT_OF_LINE), value.0);
                                }
                                next!(5);
                            } else if cage.read::<u32>(at + 12) == self.prototype_epoch
                                && !self.may_be_prototype(object)
                            {
                                if code & OUT_OF_LINE == 0 {
                                    cage.set(object, code, value.0);
                                    cage.set(object, SHAPE, child);
                                    next!(5);
                                }
                                let slots = cage.u32(object, SLOTS);
                                let offset = code & !OUT_OF_LINE;
                                if slots != 0 && offset < 8 + 8 * cage.read::<u32>(slots + 4) {
                                    cage.write(slots + offset, value.0);
                                    cage.set(object, SHAPE, child);
                                    next!(5);
                                }
                            }
                        }
                    }
                    let name = constant!(2).as_ref();
                    tri!(self.set_property(base, name, value, at, fp));
                    next!(5);
                }
                Opcode::GetElement => {
                    let (base, key) = (register!(2), register!(3));
                    if base.is_object() && key.is_int() {
                        let object = base.as_ref();
                        let elements = cage.u32(object, ELEMENTS);
                        let index = key.as_int() as u32;
                        // Kinds whose indices are their elements and nothing else.
                        if elements != 0
                            && cage.kind_raw(object) <= Kind::Array as u8
                            && index < cage.read::<u32>(elements + 8)
                        {
                            let kind = cage.kind_raw(Ref(elements));
                            if kind == Kind::ElementsValues as u8 {
                                let value = Value(cage.read(elements + 16 + 8 * index));
                                if !value.is_hole() {
                                    set!(1, value);
                                    next!(5);
                                }
                            } else if kind == Kind::ElementsInt as u8 {
                                set!(1, Value::int(cage.read(elements + 16 + 4 * index)));
                                next!(5);
                            } else if kind == Kind::ElementsDouble as u8 {
                                set!(1, Value::number(cage.read(elements + 16 + 8 * index)));
                                next!(5);
                            }
                        }
                    }
                    let value = tri!(self.get_element(base, key));
                    set!(1, value);
                    next!(5);
                }
                Opcode::GetElementMethod => {
                    let (base, key) = (register!(2), register!(3));
                    let value = tri!(self.get_element(base, key));
                    let block = fp + 8 * u32::from(operand!(1));
                    cage.init(block + 32, value.0);
                    cage.init(block + 40, base.0);
                    next!(5);
                }
                Opcode::SetElement => {
                    let (base, key, value) = (register!(1), register!(2), register!(3));
                    if base.is_object() && key.is_int() {
                        let object = base.as_ref();
                        let elements = cage.u32(object, ELEMENTS);
                        let index = key.as_int() as u32;
                        if elements != 0
                            && cage.kind_raw(object) <= Kind::Array as u8
                            && index < cage.read::<u32>(elements + 8)
                        {
                            let kind = cage.kind_raw(Ref(elements));
                            if kind == Kind::ElementsValues as u8 {
                                let at = elements + 16 + 8 * index;
                                if !Value(cage.read(at)).is_hole() {
                                    cage.write(at, value.0);
                                    next!(5);
                                }
                            } else if kind == Kind::ElementsInt as u8 && value.is_int() {
                                cage.write(elements + 16 + 4 * index, value.as_int());
                                next!(5);
                            } else if kind == Kind::ElementsDouble as u8 && value.is_number() {
                                cage.write(elements + 16 + 8 * index, value.as_number());
                                next!(5);
                            }
                        } else if cage.kind_raw(object) == Kind::Array as u8
                            && tri!(self.try_store_array_element(object, index, value))
                        {
                            next!(5);
                        }
                    }
                    tri!(self.set_element(base, key, value, fp));
                    next!(5);
                }
                Opcode::GetLength => {
                    let base = register!(2);
                    if base.is_object() {
                        let object = base.as_ref();
                        if cage.kind_raw(object) == Kind::Array as u8 {
                            let length = cage.u32(object, 16);
                            set!(
                                1,
                                if length <= i32::MAX as u32 {
                                    Value::int(length as i32)
                                } else {
                                    Value::number(f64::from(length))
                                }
                            );
                            next!(4);
                        }
                    } else if base.is_string() {
                        set!(1, Value::int(cage.u32(base.as_ref(), 4) as i32));
                        next!(4);
                    }
                    let at = cache!(3);
                    let name = self.name(crate::names::Name::length);
                    let value = tri!(self.get_property(base, name, at));
                    set!(1, value);
                    next!(4);
                }
                Opcode::DefineProperty => {
                    let object = object!(1);
                    let value = register!(3);
                    let at = cache!(4);
                    if at != 0 && cage.u32(object, SHAPE) == cage.read::<u32>(at) {
                        let code = cage.read::<u32>(at + 8);
                        if code & OUT_OF_LINE == 0 {
                            cage.set(object, code, value.0);
                            cage.set(object, SHAPE, cage.read::<u32>(at + 4));
                            next!(5);
                        }
                    }
                    let name = constant!(2).as_ref();
                    tri!(self.define_literal_property(object, name, value, at));
                    next!(5);
                }
                Opcode::DefineElement => {
                    let (object, key, value) = (Value::object(object!(1)), register!(2), register!(3));
                    tri!(self.define_literal_element(object, key, value));
                    next!(4);
                }
                Opcode::DefineField => {
                    let (object, key, value) = (Value::object(object!(1)), register!(2), register!(3));
                    tri!(self.define_field(object, key, value));
                    next!(4);
                }
                Opcode::DefineMethod => {
                    let (object, key) = (Value::object(object!(1)), register!(2));
                    let value = Value::object(object!(3));
                    tri!(self.define_method(object, key, value, operand!(4)));
                    next!(5);
                }
                Opcode::DefineGetter | Opcode::DefineSetter => {
                    let (object, key) = (Value::object(object!(1)), register!(2));
                    let value = Value::object(object!(3));
                    let getter = opcode == Opcode::DefineGetter;
                    tri!(self.define_accessor(object, key, value, getter, operand!(4)));
                    next!(5);
                }
                Opcode::SetFunctionName => {
                    let (function, key) = (object!(1), register!(2));
                    tri!(self.set_function_name(function, key, u32::from(operand!(3))));
                    next!(4);
                }
                Opcode::SetHomeObject => {
                    let (function, home) = (of_kind!(1, Kind::Function), object!(2));
                    cage.set(function, crate::objects::function::HOME_OBJECT, home.0);
                    next!(3);
                }
                Opcode::SetPrototypeLiteral => {
                    let (object, prototype) = (object!(1), register!(2));
                    if prototype.is_object() || prototype.is_null() {
                        let prototype = prototype.to_object_ref().unwrap_or_default();
                        tri!(self.set_prototype_of(object, prototype));
                    }
                    next!(3);
                }
                Opcode::DeleteProperty => {
                    let (base, name) = (register!(2), constant!(3));
                    let value = tri!(self.delete_operator(base, name, fp));
                    set!(1, value);
                    next!(4);
                }
                Opcode::DeleteElement => {
                    let (base, key) = (register!(2), register!(3));
                    let value = tri!(self.delete_operator(base, key, fp));
                    set!(1, value);
                    next!(4);
                }
                Opcode::HasProperty => {
                    let (key, object) = (register!(2), register!(3));
                    let value = tri!(self.in_operator(key, object));
                    set!(1, value);
                    next!(4);
                }
                Opcode::InstanceOf => {
                    let (value, target) = (register!(2), register!(3));
                    let result = tri!(self.instance_of(value, target));
                    set!(1, Value::boolean(result));
                    next!(4);
                }
                Opcode::GetSuper => {
                    let (key, receiver) = (register!(2), register!(3));
                    let value = tri!(self.get_super(fp, key, receiver));
                    set!(1, value);
                    next!(4);
                }
                Opcode::SetSuper => {
                    let (key, value, receiver) = (register!(1), register!(2), register!(3));
                    tri!(self.set_super(fp, key, value, receiver));
                    next!(4);
                }
                Opcode::GetSuperConstructor => {
                    let function = Value::object(object!(2));
                    let value = tri!(self.get_super_constructor(function));
                    set!(1, value);
                    next!(3);
                }
                Opcode::CopyDataProperties => {
                    let (target, source) = (Value::object(object!(1)), register!(2));
                    let excluded = fp + 8 * u32::from(operand!(3));
                    tri!(self.copy_data_properties(target, source, excluded, u32::from(operand!(4))));
                    next!(5);
                }
                // --- private names
                Opcode::NewPrivateName => {
                    let description = constant!(2).as_ref();
                    let symbol = tri!(self.new_symbol(description, crate::objects::PRIVATE_SYMBOL));
                    set!(1, Value::symbol(symbol));
                    next!(3);
                }
                Opcode::GetPrivate => {
                    let (base, name) = (register!(2), private_name!(3));
                    let value = tri!(self.get_private(base, name));
                    set!(1, value);
                    next!(4);
                }
                Opcode::SetPrivate => {
                    let (base, name, value) = (register!(1), private_name!(2), register!(3));
                    tri!(self.set_private(base, name, value));
                    next!(4);
                }
                Opcode::DefinePrivateMethod => {
                    let (base, name) = (Value::object(object!(1)), private_name!(2));
                    let value = Value::object(object!(3));
                    tri!(self.define_private_method(base, name, value, operand!(4)));
                    next!(5);
                }
                Opcode::HasPrivate => {
                    let (base, name) = (register!(2), private_name!(3));
                    let value = tri!(self.has_private(base, name));
                    set!(1, value);
                    next!(4);
                }
                // --- literals
                Opcode::NewObject => {
                    let object = tri!(self.new_object());
                    set!(1, Value::object(object));
                    next!(2);
                }
                Opcode::NewArray => {
                    let array = tri!(self.new_array_with_room(u32::from(operand!(2))));
                    set!(1, Value::object(array));
                    next!(3);
                }
                Opcode::ArrayPush => {
                    let (array, value) = (of_kind!(1, Kind::Array), register!(2));
                    tri!(self.array_push(array, value));
                    next!(3);
                }
                Opcode::ArrayPushHole => {
                    let array = of_kind!(1, Kind::Array);
                    cage.set(array, 16, cage.u32(array, 16).saturating_add(1));
                    next!(2);
                }
                Opcode::ArraySpread => {
                    let (array, iterable) = (of_kind!(1, Kind::Array), register!(2));
                    tri!(self.array_spread(array, iterable));
                    next!(3);
                }
                Opcode::NewRegExp => {
                    let (source, flags) = (constant!(2), constant!(3));
                    let value = tri!(self.new_regexp_literal(source, flags));
                    set!(1, value);
                    next!(4);
                }
                Opcode::GetTemplateObject => {
                    let site = constant!(2).as_ref();
                    let value = tri!(self.template_object(site));
                    set!(1, value);
                    next!(3);
                }
                Opcode::NewClosure => {
                    let template = constant!(2).as_ref();
                    let environment = environment!(3);
                    let value = tri!(self.new_closure(template, environment, fp));
                    set!(1, value);
                    next!(4);
                }
                Opcode::NewClass => {
                    let template = constant!(3).as_ref();
                    let (heritage, environment) = (register!(2), environment!(4));
                    let (class, prototype) = tri!(self.new_class(template, heritage, environment));
                    let block = fp + 8 * u32::from(operand!(1));
                    cage.init(block, class.0);
                    cage.init(block + 8, prototype.0);
                    next!(5);
                }
                Opcode::SetClassFields => {
                    let (class, function) = (of_kind!(1, Kind::Function), of_kind!(2, Kind::Function));
                    cage.set(class, crate::objects::function::FIELDS, function.0);
                    next!(3);
                }
                Opcode::RunClassFields => {
                    let (class, object) = (register!(1), register!(2));
                    tri!(self.run_class_fields(class, object));
                    next!(3);
                }
                Opcode::CreateArguments => {
                    let mapped = operand!(2) != 0;
                    let value = tri!(self.create_arguments(fp, mapped));
                    set!(1, value);
                    next!(3);
                }
                Opcode::MapArgument => {
                    let (object, environment) = (of_kind!(1, Kind::Arguments), of_kind!(2, Kind::Environment));
                    let (index, slot) = (u32::from(operand!(3)), u32::from(operand!(4)));
                    if slot >= cage.u32(environment, 4) {
                        damaged!()
                    }
                    tri!(self.map_argument(object, environment, index, slot));
                    next!(5);
                }
                Opcode::CreateRest => {
                    let value = tri!(self.create_rest(fp, u32::from(operand!(2))));
                    set!(1, value);
                    next!(3);
                }
                Opcode::ArgumentsLength => {
                    let argc = (cage.read::<u64>(fp - CALL_INFO) >> 32) as i32;
                    set!(1, Value::int(argc));
                    next!(2);
                }
                Opcode::GetArgument => {
                    let index = register!(2);
                    let argc = (cage.read::<u64>(fp - CALL_INFO) >> 32) as u32;
                    if index.is_int() && (index.as_int() as u32) < argc {
                        let at = cage.read::<u64>(fp - ARGUMENTS) as u32 + 8 * index.as_int() as u32;
                        set!(1, Value(cage.read(at)));
                        next!(3);
                    }
                    let value = tri!(self.get_argument_slow(fp, index));
                    set!(1, value);
                    next!(3);
                }
                // --- calls
                Opcode::Call => call!(fp + 8 * u32::from(operand!(2)), u32::from(operand!(3)), 4),
                Opcode::CallUndefined => {
                    let block = fp + 8 * u32::from(operand!(2));
                    cage.init(block + 40, Value::UNDEFINED.0);
                    call!(block, u32::from(operand!(3)), 4)
                }
                Opcode::CallSpread => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let value = tri!(self.call_spread(block));
                    set!(1, value);
                    next!(3);
                }
                Opcode::CallEval => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let argc = u32::from(operand!(3));
                    cage.init(block + 40, Value::UNDEFINED.0);
                    let callee = Value(cage.read::<u64>(block + 32));
                    if callee == self.intrinsic_value(crate::names::Intrinsic::Eval) {
                        let environment = environment!(4);
                        let scope = constant!(5);
                        let value = tri!(self.direct_eval(fp, block, argc, environment, scope));
                        set!(1, value);
                        next!(6);
                    }
                    call!(block, argc, 6)
                }
                Opcode::New => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let argc = u32::from(operand!(3));
                    let callee = Value(cage.read::<u64>(block + 32));
                    if callee.is_object() && cage.is(callee.as_ref(), Kind::Function) {
                        let template = cage.r(callee.as_ref(), TEMPLATE);
                        if cage.flags(template) & CONSTRUCTOR != 0 {
                            let this = tri!(self.this_for_construct(template, callee));
                            cage.init(block + 40, this.0);
                            enter!(block, argc, template, callee, FLAG_CONSTRUCT, 4);
                        }
                    }
                    let restore = self.stack_top;
                    self.stack_top = block + HEADER_BYTES + 8 * argc;
                    let value = tri!(self.construct_block(block, argc, callee, restore));
                    set!(1, value);
                    next!(4);
                }
                Opcode::NewSpread => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let new_target = Value(cage.read::<u64>(block + 32));
                    let value = tri!(self.construct_spread(block, new_target));
                    set!(1, value);
                    next!(3);
                }
                Opcode::SuperCall => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let argc = u32::from(operand!(3));
                    let new_target = Value::object(object!(4));
                    let callee = Value(cage.read::<u64>(block + 32));
                    if callee.is_object() && cage.is(callee.as_ref(), Kind::Function) {
                        let template = cage.r(callee.as_ref(), TEMPLATE);
                        if cage.flags(template) & CONSTRUCTOR != 0 {
                            let this = tri!(self.this_for_construct(template, new_target));
                            cage.init(block + 40, this.0);
                            enter!(block, argc, template, new_target, FLAG_CONSTRUCT, 5);
                        }
                    }
                    let restore = self.stack_top;
                    self.stack_top = block + HEADER_BYTES + 8 * argc;
                    let value = tri!(self.construct_block(block, argc, new_target, restore));
                    set!(1, value);
                    next!(5);
                }
                Opcode::SuperCallSpread => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let new_target = Value::object(object!(3));
                    let value = tri!(self.construct_spread(block, new_target));
                    set!(1, value);
                    next!(4);
                }
                Opcode::ImportCall => {
                    let (specifier, options) = (register!(2), register!(3));
                    let value = tri!(self.import_call(fp, specifier, options));
                    set!(1, value);
                    next!(4);
                }
                Opcode::ImportMeta => {
                    let value = tri!(self.import_meta(fp));
                    set!(1, value);
                    next!(2);
                }
                Opcode::GetImport => {
                    let at = environment_slot!(2, 3, 4);
                    let reference = Value(cage.read(at));
                    let name = constant!(5);
                    let value = tri!(self.read_import(reference, name));
                    set!(1, value);
                    next!(6);
                }
                Opcode::Return => {
                    let value = register!(1);
                    if self.is_coroutine_frame(fp) {
                        let value = tri!(self.coroutine_returned(fp, value));
                        leave!(value);
                    }
                    leave!(value);
                }
                Opcode::ReturnUndefined => {
                    if self.is_coroutine_frame(fp) {
                        let value = tri!(self.coroutine_returned(fp, Value::UNDEFINED));
                        leave!(value);
                    }
                    leave!(Value::UNDEFINED);
                }
                Opcode::CheckConstructorReturn => {
                    let (value, this) = (register!(2), register!(3));
                    let value = tri!(self.check_constructor_return(value, this));
                    set!(1, value);
                    next!(4);
                }
                Opcode::Throw => {
                    let value = register!(1);
                    self.pc = pc;
                    let _ = self.throw(value);
                    throw!();
                }
                // --- arithmetic
                Opcode::Add => arithmetic!(
                    register!(2),
                    register!(3),
                    4,
                    |x, y| x.checked_add(y).map(Value::int),
                    |p, q| Value::number(p + q),
                    add_slow
                ),
                Opcode::Sub => arithmetic!(
                    register!(2),
                    register!(3),
                    4,
                    |x, y| x.checked_sub(y).map(Value::int),
                    |p, q| Value::number(p - q),
                    sub_slow
                ),
                Opcode::Mul => arithmetic!(
                    register!(2),
                    register!(3),
                    4,
                    |x, y| arith::mul_int(x, y),
                    |p, q| Value::number(p * q),
                    mul_slow
                ),
                Opcode::Div => arithmetic!(
                    register!(2),
                    register!(3),
                    4,
                    |x, y| arith::div_int(x, y),
                    |p, q| Value::number(p / q),
                    div_slow
                ),
                Opcode::Mod => arithmetic!(
                    register!(2),
                    register!(3),
                    4,
                    |x, y| arith::mod_int(x, y),
                    |p, q| Value::number(arith::mod_double(p, q)),
                    mod_slow
                ),
                Opcode::Exp => {
                    let (a, b) = (register!(2), register!(3));
                    let value = tri!(self.exp(a, b));
                    set!(1, value);
                    next!(4);
                }
                Opcode::BitAnd => bitwise!(register!(2), register!(3), 4, |x, y| Value::int(x & y), bit_and_slow),
                Opcode::BitOr => bitwise!(register!(2), register!(3), 4, |x, y| Value::int(x | y), bit_or_slow),
                Opcode::BitXor => bitwise!(register!(2), register!(3), 4, |x, y| Value::int(x ^ y), bit_xor_slow),
                Opcode::Shl => {
                    bitwise!(register!(2), register!(3), 4, |x, y| Value::int(x.wrapping_shl(y as u32)), shl_slow)
                }
                Opcode::Shr => {
                    bitwise!(register!(2), register!(3), 4, |x, y| Value::int(x.wrapping_shr(y as u32)), shr_slow)
                }
                Opcode::UShr => bitwise!(register!(2), register!(3), 4, |x, y| arith::ushr_int(x, y), ushr_slow),
                Opcode::AddInt => arithmetic!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| x.checked_add(y).map(Value::int),
                    |p, q| Value::number(p + q),
                    add_slow
                ),
                Opcode::SubInt => arithmetic!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| x.checked_sub(y).map(Value::int),
                    |p, q| Value::number(p - q),
                    sub_slow
                ),
                Opcode::MulInt => arithmetic!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| arith::mul_int(x, y),
                    |p, q| Value::number(p * q),
                    mul_slow
                ),
                Opcode::DivInt => arithmetic!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| arith::div_int(x, y),
                    |p, q| Value::number(p / q),
                    div_slow
                ),
                Opcode::ModInt => arithmetic!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| arith::mod_int(x, y),
                    |p, q| Value::number(arith::mod_double(p, q)),
                    mod_slow
                ),
                Opcode::BitAndInt => {
                    bitwise!(register!(2), Value::int(operand_i32!(3)), 5, |x, y| Value::int(x & y), bit_and_slow)
                }
                Opcode::BitOrInt => {
                    bitwise!(register!(2), Value::int(operand_i32!(3)), 5, |x, y| Value::int(x | y), bit_or_slow)
                }
                Opcode::BitXorInt => {
                    bitwise!(register!(2), Value::int(operand_i32!(3)), 5, |x, y| Value::int(x ^ y), bit_xor_slow)
                }
                Opcode::ShlInt => bitwise!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| Value::int(x.wrapping_shl(y as u32)),
                    shl_slow
                ),
                Opcode::ShrInt => bitwise!(
                    register!(2),
                    Value::int(operand_i32!(3)),
                    5,
                    |x, y| Value::int(x.wrapping_shr(y as u32)),
                    shr_slow
                ),
                Opcode::UShrInt => {
                    bitwise!(register!(2), Value::int(operand_i32!(3)), 5, |x, y| arith::ushr_int(x, y), ushr_slow)
                }
                Opcode::Negate => {
                    let a = register!(2);
                    let value = if a.is_number() { Value::number(-a.as_number()) } else { tri!(self.negate_slow(a)) };
                    set!(1, value);
                    next!(3);
                }
                Opcode::BitNot => {
                    let a = register!(2);
                    let value = if a.is_int() { Value::int(!a.as_int()) } else { tri!(self.bit_not_slow(a)) };
                    set!(1, value);
                    next!(3);
                }
                Opcode::Not => {
                    let a = register!(2);
                    set!(1, Value::boolean(!self.to_boolean(a)));
                    next!(3);
                }
                Opcode::TypeOf => {
                    let name = self.type_of(register!(2));
                    set!(1, self.name_value(name));
                    next!(3);
                }
                Opcode::ToNumber => {
                    let a = register!(2);
                    let value = if a.is_number() { a } else { Value::number(tri!(self.to_number(a))) };
                    set!(1, value);
                    next!(3);
                }
                Opcode::ToNumeric => {
                    let a = register!(2);
                    let value = if a.is_number() { a } else { tri!(self.to_numeric(a)) };
                    set!(1, value);
                    next!(3);
                }
                Opcode::Increment => {
                    let a = register!(2);
                    if a.is_int()
                        && let Some(sum) = a.as_int().checked_add(1)
                    {
                        set!(1, Value::int(sum));
                        next!(3);
                    }
                    let value = if a.is_number() {
                        Value::number(a.as_number() + 1.0)
                    } else {
                        tri!(self.increment_slow(a, 1))
                    };
                    set!(1, value);
                    next!(3);
                }
                Opcode::Decrement => {
                    let a = register!(2);
                    if a.is_int()
                        && let Some(difference) = a.as_int().checked_sub(1)
                    {
                        set!(1, Value::int(difference));
                        next!(3);
                    }
                    let value = if a.is_number() {
                        Value::number(a.as_number() - 1.0)
                    } else {
                        tri!(self.increment_slow(a, -1))
                    };
                    set!(1, value);
                    next!(3);
                }
                Opcode::ToStringOp => {
                    let a = register!(2);
                    let string = tri!(self.to_string(a));
                    set!(1, Value::string(string));
                    next!(3);
                }
                Opcode::ToPropertyKey => {
                    let a = register!(2);
                    if !(a.is_int() || a.is_string() || a.is_symbol()) {
                        let key = tri!(self.to_property_key(a));
                        let value = tri!(self.key_value(key));
                        set!(1, value);
                    } else {
                        set!(1, a);
                    }
                    next!(3);
                }
                Opcode::ToObjectCheck => {
                    let a = register!(1);
                    if a.is_nullish() {
                        self.pc = pc;
                        let _ = self.throw_not_destructurable(a);
                        throw!();
                    }
                    next!(2);
                }
                // --- comparison
                Opcode::Equal => {
                    let result = equality!(register!(2), register!(3), is_loosely_equal);
                    set!(1, Value::boolean(result));
                    next!(4);
                }
                Opcode::NotEqual => {
                    let result = !equality!(register!(2), register!(3), is_loosely_equal);
                    set!(1, Value::boolean(result));
                    next!(4);
                }
                Opcode::StrictEqual => {
                    let result = equality!(register!(2), register!(3), is_strictly_equal);
                    set!(1, Value::boolean(result));
                    next!(4);
                }
                Opcode::StrictNotEqual => {
                    let result = !equality!(register!(2), register!(3), is_strictly_equal);
                    set!(1, Value::boolean(result));
                    next!(4);
                }
                Opcode::Less => compare!(<, less_slow),
                Opcode::LessEqual => compare!(<=, less_equal_slow),
                Opcode::Greater => compare!(>, greater_slow),
                Opcode::GreaterEqual => compare!(>=, greater_equal_slow),
                // --- jumps
                Opcode::Jump => jump!(1),
                Opcode::Loop => {
                    self.fuel -= 1;
                    if self.fuel < 0 {
                        self.pc = pc;
                        let _ = self.out_of_fuel();
                        throw!();
                    }
                    if caches == 0 {
                        self.pc = pc;
                        caches = self.feedback_for_loop(fp);
                    }
                    jump!(1)
                }
                Opcode::JumpIfTrue => {
                    let a = register!(1);
                    if a == Value::TRUE || (a != Value::FALSE && self.to_boolean(a)) {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfFalse => {
                    let a = register!(1);
                    if a == Value::FALSE || (a != Value::TRUE && !self.to_boolean(a)) {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfNullish => {
                    if register!(1).is_nullish() {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfNotNullish => {
                    if !register!(1).is_nullish() {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfUndefined => {
                    if register!(1).is_undefined() {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfNotUndefined => {
                    if !register!(1).is_undefined() {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfHole => {
                    if register!(1).is_hole() {
                        jump!(2);
                    }
                    next!(4);
                }
                Opcode::JumpIfEqual => {
                    if equality!(register!(1), register!(2), is_loosely_equal) {
                        jump!(3);
                    }
                    next!(5);
                }
                Opcode::JumpIfNotEqual => {
                    if !equality!(register!(1), register!(2), is_loosely_equal) {
                        jump!(3);
                    }
                    next!(5);
                }
                Opcode::JumpIfStrictEqual => {
                    if equality!(register!(1), register!(2), is_strictly_equal) {
                        jump!(3);
                    }
                    next!(5);
                }
                Opcode::JumpIfStrictNotEqual => {
                    if !equality!(register!(1), register!(2), is_strictly_equal) {
                        jump!(3);
                    }
                    next!(5);
                }
                Opcode::JumpIfLess => compare_jump!(<, less_slow, true),
                Opcode::JumpIfNotLess => compare_jump!(<, less_slow, false),
                Opcode::JumpIfLessEqual => compare_jump!(<=, less_equal_slow, true),
                Opcode::JumpIfNotLessEqual => compare_jump!(<=, less_equal_slow, false),
                Opcode::JumpIfGreater => compare_jump!(>, greater_slow, true),
                Opcode::JumpIfNotGreater => compare_jump!(>, greater_slow, false),
                Opcode::JumpIfGreaterEqual => compare_jump!(>=, greater_equal_slow, true),
                Opcode::JumpIfNotGreaterEqual => compare_jump!(>=, greater_equal_slow, false),
                // --- iteration
                Opcode::ForInStart => {
                    let object = register!(2);
                    let value = tri!(self.for_in_start(object));
                    set!(1, value);
                    next!(3);
                }
                Opcode::ForInNext => {
                    let enumerator = of_kind!(2, Kind::Values);
                    match tri!(self.for_in_next(enumerator)) {
                        Some(name) => {
                            set!(1, name);
                            next!(5);
                        }
                        None => jump!(3),
                    }
                }
                Opcode::GetIterator => {
                    let block = fp + 8 * u32::from(operand!(1));
                    let iterable = register!(2);
                    tri!(self.get_iterator_block(block, iterable));
                    next!(3);
                }
                Opcode::GetAsyncIterator => {
                    let block = fp + 8 * u32::from(operand!(1));
                    let iterable = register!(2);
                    tri!(self.get_async_iterator_block(block, iterable));
                    next!(3);
                }
                Opcode::IteratorNext => {
                    let block = fp + 8 * u32::from(operand!(2));
                    match tri!(self.iterator_next_block(block)) {
                        Some(value) => {
                            set!(1, value);
                            next!(5);
                        }
                        None => jump!(3),
                    }
                }
                Opcode::IteratorCall => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let argument = register!(3);
                    let (iterator, method) = (Value(cage.read(block)), Value(cage.read(block + 8)));
                    let value = tri!(self.call(method, iterator, &[argument]));
                    set!(1, value);
                    next!(4);
                }
                Opcode::IteratorUnpack => {
                    let result = register!(2);
                    let (value, done) = tri!(self.unpack_iterator_result(result));
                    set!(1, value);
                    if done {
                        jump!(3);
                    }
                    next!(5);
                }
                Opcode::IteratorClose => {
                    let block = fp + 8 * u32::from(operand!(1));
                    tri!(self.iterator_close_block(block));
                    next!(2);
                }
                Opcode::IteratorCloseSilent => {
                    let block = fp + 8 * u32::from(operand!(1));
                    self.pc = pc;
                    self.iterator_close_silent(block);
                    if self.termination.is_some() {
                        throw!();
                    }
                    next!(2);
                }
                Opcode::IteratorMethod => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let iterator = Value(cage.read(block));
                    let name = if operand!(3) == 0 { crate::names::Name::return_ } else { crate::names::Name::throw };
                    let key = Key::Name(self.name(name));
                    let value = tri!(self.get_method(iterator, key));
                    set!(1, value);
                    next!(4);
                }
                Opcode::CallIteratorMethod => {
                    let block = fp + 8 * u32::from(operand!(2));
                    let (method, argument) = (register!(3), register!(4));
                    let iterator = Value(cage.read(block));
                    let value = tri!(self.call(method, iterator, &[argument]));
                    set!(1, value);
                    next!(5);
                }
                Opcode::CheckIteratorResult => {
                    let result = register!(1);
                    if !result.is_object() {
                        self.pc = pc;
                        let text = self.describe(result);
                        let _ = self.throw_type(&format!("Iterator result {text} is not an object"));
                        throw!();
                    }
                    next!(2);
                }
                // --- generators and async
                Opcode::StartGenerator => {
                    let value = tri!(self.start_generator(fp, pc + 2));
                    leave!(value);
                }
                Opcode::Yield | Opcode::YieldDelegate => {
                    let value = register!(3);
                    let delegate = opcode == Opcode::YieldDelegate;
                    let value = tri!(self.suspend_yield(fp, pc, value, delegate));
                    leave!(value);
                }
                Opcode::Await => {
                    let value = register!(3);
                    let value = tri!(self.suspend_await(fp, pc, value));
                    leave!(value);
                }
                // --- with and dynamic scope
                Opcode::DynamicGet | Opcode::DynamicTypeOf => {
                    let (environment, name) = (environment!(2), constant!(3));
                    let value = tri!(self.dynamic_get(environment, name, opcode == Opcode::DynamicTypeOf));
                    set!(1, value);
                    next!(4);
                }
                Opcode::DynamicSet => {
                    let (environment, name, value) = (environment!(1), constant!(2), register!(3));
                    tri!(self.dynamic_set(environment, name, value, fp));
                    next!(4);
                }
                Opcode::DynamicDelete => {
                    let (environment, name) = (environment!(2), constant!(3));
                    let value = tri!(self.dynamic_delete(environment, name));
                    set!(1, value);
                    next!(4);
                }
                Opcode::DynamicCallee => {
                    let block = fp + 8 * u32::from(operand!(1));
                    let (environment, name) = (environment!(2), constant!(3));
                    let (callee, this) = tri!(self.dynamic_callee(environment, name));
                    cage.init(block + 32, callee.0);
                    cage.init(block + 40, this.0);
                    next!(4);
                }
                Opcode::DynamicHas => {
                    let (environment, name) = (environment!(2), constant!(4));
                    let value = tri!(self.dynamic_has(environment, u32::from(operand!(3)), name));
                    set!(1, value);
                    next!(5);
                }
                Opcode::NewWithEnv => {
                    let (parent, object) = (environment!(2), register!(3));
                    let value = tri!(self.new_with_environment(parent, object));
                    set!(1, value);
                    next!(4);
                }
                Opcode::Debugger => next!(1),
            }
        }
    }

    /// Address of the caches of `template` if it has a vector already.
    #[inline(always)]
    pub(crate) fn feedback_if_any(&self, template: Ref) -> u32 {
        let number = self.cage.u32(template, NUMBER);
        if number >= crate::cage::FEEDBACK_TABLE_ENTRIES {
            return 0;
        }
        let entry: u32 = self.cage.read(crate::cage::FEEDBACK_TABLE + 4 * number);
        if entry >= feedback::FIRST_VECTOR { entry + feedback::CACHES } else { 0 }
    }

    #[inline(never)]
    fn feedback_for_loop(&mut self, fp: u32) -> u32 {
        let template = self.frame_template(fp);
        if self.cage.u32(template, IC_COUNT) == 0 {
            return 0;
        }
        self.make_feedback(template)
    }
}
