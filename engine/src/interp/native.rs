//! Calling ahead-of-time code from the interpreter. See the compiler's `native` module for the code itself.
//!
//! ```text
//! code section: 0 magic   4 offset of the call-site table   8 number of sites   12 reserved   16 code ...
//! call site (16 bytes, ascending): return offset, frame distance, return address in bytecode, closure ref
//! ```
//!
//! Native functions pass `position` = depth << 32 | fp and fuel in registers and return (value, fuel); a
//! negative fuel is one of the `STATUS_*` below, and the true fuel is in the context. Frames of native
//! callees are not written; when one leaves, [`leave`] writes its header and those of its callers, found by
//! walking the frame pointers, so that stack traces are complete. The table of entry points and the
//! offsets of [`Context`] are part of the layout fingerprint.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::*;
use crate::bytecode::install::{CODE, NATIVE_ENTRY, PARAM_COUNT};
use crate::cage::{Cage, CageMemory, Ref};
use crate::realm::{Realm, Throw};
use crate::value::Value;

/// First word of a code section.
pub const MAGIC: u32 = 0x314E_4A5A;
/// Bytes of the section header.
pub const SECTION_HEADER: u32 = 16;
/// Bytes of a row of the call-site table.
pub const SITE_BYTES: u32 = 16;

/// In place of fuel: an exception is pending.
pub const STATUS_THREW: i64 = -1;
/// The outermost native frame leaves to the interpreter.
pub const STATUS_EXIT: i64 = -2;
/// The callee went on in the interpreter, and its result (in the context) has another representation.
pub const STATUS_BOXED: i64 = -3;
/// Result of an entry: the value is in the context.
pub const ENTERED_RETURNED: u64 = 0;
/// The arguments do not fit: nothing has happened.
pub const ENTERED_NOT_NOW: u64 = 4;

/// Run-time entry points, by index in the table.
pub const LEAVE_INT: usize = 0;
pub const LEAVE_DOUBLE: usize = 1;
pub const LEAVE_BOXED: usize = 2;
pub const TO_INT32: usize = 3;
pub const REMAINDER: usize = 4;
pub const POWER: usize = 5;
const TABLE_TEXT: &str = "leave_int(context,position,fuel,pc,frame)->(int,fuel) leave_double leave_boxed \
    to_int32(double)->int remainder(double,double)->double power";

/// What native code knows at run time, one per entry from the interpreter.
#[repr(C)]
pub struct Context {
    table: *const Table,
    /// Lowest native stack pointer with which a native function may call another.
    stack_limit: u64,
    /// Positions at or above it are too deep to call.
    depth_limit: u64,
    fuel: i64,
    result: u64,
    exit_pc: u64,
    outer_fp: u64,
    realm: *mut Realm,
    code: usize,
    /// One byte per image page.
    dirty: *mut u8,
    panic: Option<Box<dyn Any + Send>>,
}

pub const CONTEXT_TABLE: i32 = std::mem::offset_of!(Context, table) as i32;
pub const CONTEXT_STACK_LIMIT: i32 = std::mem::offset_of!(Context, stack_limit) as i32;
pub const CONTEXT_DEPTH_LIMIT: i32 = std::mem::offset_of!(Context, depth_limit) as i32;
pub const CONTEXT_DIRTY: i32 = std::mem::offset_of!(Context, dirty) as i32;
pub const CONTEXT_FUEL: i32 = std::mem::offset_of!(Context, fuel) as i32;
pub const CONTEXT_RESULT: i32 = std::mem::offset_of!(Context, result) as i32;

/// (int, fuel) as native functions return it.
#[repr(C)]
struct IntResult {
    value: i64,
    fuel: i64,
}

/// (double, fuel) as native functions return it.
#[repr(C)]
struct DoubleResult {
    value: f64,
    fuel: i64,
}

type Leave<R> = extern "C" fn(*mut Context, u64, i64, u64, *const usize) -> R;

#[repr(C)]
struct Table {
    leave_int: Leave<IntResult>,
    leave_double: Leave<DoubleResult>,
    leave_boxed: Leave<IntResult>,
    to_int32: extern "C" fn(f64) -> i32,
    remainder: extern "C" fn(f64, f64) -> f64,
    power: extern "C" fn(f64, f64) -> f64,
}

static TABLE: Table = Table {
    leave_int,
    leave_double,
    leave_boxed,
    to_int32: native_to_int32,
    remainder: native_remainder,
    power: native_power,
};

extern "C" fn native_to_int32(x: f64) -> i32 {
    crate::convert::double_to_int32(x)
}

extern "C" fn native_remainder(x: f64, y: f64) -> f64 {
    arith::mod_double(x, y)
}

extern "C" fn native_power(x: f64, y: f64) -> f64 {
    arith::number_pow(x, y)
}

/// 2^53: integers up to here are exact as doubles, and what native code keeps as integers.
const INT_MAX: f64 = 9_007_199_254_740_992.0;

extern "C" fn leave_int(context: *mut Context, position: u64, fuel: i64, pc: u64, frame: *const usize) -> IntResult {
    match leave(context, position, fuel, pc, frame) {
        Ok((value, fuel)) => {
            if value.is_int() {
                return IntResult { value: i64::from(value.as_int()), fuel };
            }
            if value.is_double() {
                let d = value.as_double();
                let i = d as i64;
                if i as f64 == d && d.abs() <= INT_MAX && (i != 0 || d.to_bits() == 0) {
                    return IntResult { value: i, fuel };
                }
            }
            IntResult { value: 0, fuel: STATUS_BOXED }
        }
        Err(status) => IntResult { value: 0, fuel: status },
    }
}

extern "C" fn leave_double(
    context: *mut Context,
    position: u64,
    fuel: i64,
    pc: u64,
    frame: *const usize,
) -> DoubleResult {
    match leave(context, position, fuel, pc, frame) {
        Ok((value, fuel)) if value.is_number() => DoubleResult { value: value.as_number(), fuel },
        Ok(_) => DoubleResult { value: 0.0, fuel: STATUS_BOXED },
        Err(status) => DoubleResult { value: 0.0, fuel: status },
    }
}

extern "C" fn leave_boxed(context: *mut Context, position: u64, fuel: i64, pc: u64, frame: *const usize) -> IntResult {
    match leave(context, position, fuel, pc, frame) {
        Ok((value, fuel)) => IntResult { value: value.0 as i64, fuel },
        Err(status) => IntResult { value: 0, fuel: status },
    }
}

/// A native frame goes on in the interpreter at `pc`; its registers are written. The outermost one returns
/// to the interpreter that entered it; an inner one is run to its end here.
fn leave(context: *mut Context, position: u64, fuel: i64, pc: u64, frame: *const usize) -> Result<(Value, i64), i64> {
    // SAFETY: native code passes on the context that `try_native` gave it, which lives on that frame; no
    // other reference to it exists while native code runs.
    let context = unsafe { &mut *context };
    let fp = position as u32;
    context.fuel = fuel;
    if u64::from(fp) == context.outer_fp {
        context.exit_pc = pc;
        return Err(STATUS_EXIT);
    }
    // SAFETY: `try_native` put its own `&mut Realm` there and does not touch it until native code returns.
    let realm = unsafe { &mut *context.realm };
    let cage = realm.cage;
    write_headers(cage, context, fp, frame);
    let callee = Value(cage.read(fp - CALLEE)).as_ref();
    let template = cage.r(callee, crate::objects::function::TEMPLATE);
    let parameters = u64::from(cage.get::<u16>(template, PARAM_COUNT));
    cage.init(fp - CALL_INFO, parameters << 32 | u64::from(FLAG_ENTRY << 16));
    cage.init(fp - ARGUMENTS, u64::from(fp));
    cage.init(fp - NEW_TARGET, Value::UNDEFINED.0);
    cage.init(fp - THIS, Value::UNDEFINED.0);
    realm.fuel = fuel;
    realm.depth = (position >> 32) as u32;
    realm.fp = fp;
    realm.pc = pc as u32;
    realm.restore_stack_top(fp, template);
    let outcome = catch_unwind(AssertUnwindSafe(|| realm.run_at(fp, pc as u32)));
    context.fuel = realm.fuel;
    match outcome {
        Ok(Ok(value)) => {
            context.result = value.0;
            Ok((value, realm.fuel))
        }
        Ok(Err(Throw)) => Err(STATUS_THREW),
        Err(panic) => {
            context.panic = Some(panic);
            Err(STATUS_THREW)
        }
    }
}

/// Stack traces show this many frames at most; no more headers are needed.
const HEADERS_MAX: usize = 12;

/// Writes callee and return words of the native frame at `fp` and of its callers.
fn write_headers(cage: Cage, context: &Context, mut fp: u32, mut frame: *const usize) {
    for _ in 0..HEADERS_MAX {
        if u64::from(fp) == context.outer_fp {
            return;
        }
        // SAFETY: `frame` is the frame pointer of a native function, below it the chain of its callers up
        // to the entry of native code (all compiled with frame pointers); this loop stops there.
        let (up, back) = unsafe { (*frame as *const usize, *frame.add(1)) };
        let Some((distance, pc, closure)) = call_site(context.code, back) else { return };
        let caller = fp - distance;
        cage.init(fp - CALLEE, Value::object(Ref(closure)).0);
        cage.init(fp - RETURN, u64::from(caller) << 32 | u64::from(pc));
        fp = caller;
        frame = up;
    }
}

/// The row of the call-site table for a return address: (frame distance, return pc, closure).
fn call_site(code: usize, back: usize) -> Option<(u32, u32, u32)> {
    // SAFETY: the code section has the form in the module comment; it was written by the compiler and is
    // mapped as long as the realm lives. `word` is only asked for offsets inside header and table.
    let word = |offset: usize| unsafe { ((code + offset) as *const u32).read_unaligned() };
    if word(0) != MAGIC {
        return None;
    }
    let offset = u32::try_from(back.wrapping_sub(code)).ok()?;
    let (table, mut low, mut high) = (word(4) as usize, 0, word(8) as usize);
    while low < high {
        let middle = (low + high) / 2;
        let row = table + middle * SITE_BYTES as usize;
        match word(row).cmp(&offset) {
            std::cmp::Ordering::Equal => return Some((word(row + 4), word(row + 8), word(row + 12))),
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
        }
    }
    None
}

/// How native code ended.
pub(crate) enum Outcome {
    /// The function returned this value; its frame is still pushed.
    Returned(Value),
    /// It threw; `pc` is set.
    Threw,
    /// It left at this instruction address; all registers are in the frame.
    Exit(u32),
}

/// Run-time state of native code.
#[derive(Default)]
pub(crate) struct NativeState {
    /// Host address of the code section; 0: not asked yet, `CODE_OFF`: there is none to be used.
    code: usize,
}

const CODE_OFF: usize = 1;

impl NativeState {
    pub(crate) fn visit(&self, _visit: &mut dyn FnMut(Value)) {}

    pub(crate) fn reset_stack_mark(&mut self, _memory: &CageMemory, _cage: Cage, _wipe: bool) {}
}

/// Calls the entry at `code`; the pinned register holds the cage's base meanwhile.
///
/// # Safety
/// `code` is an entry of a code section for the image in the cage at `base`, made for this engine.
#[inline(always)]
unsafe fn enter(code: usize, context: *mut Context, position: u64, fuel: i64, base: usize) -> u64 {
    let status: u64;
    // SAFETY: the entry follows the System V convention, except that r15 is an input that it preserves;
    // the compiler saves and restores r15 around this block since it is named as clobbered.
    unsafe {
        std::arch::asm!(
            "call {code}",
            code = in(reg) code,
            in("rdi") context,
            in("rsi") position,
            in("rdx") fuel,
            inlateout("r15") base => _,
            lateout("rax") status,
            clobber_abi("C"),
        );
    }
    status
}

impl Realm {
    #[cold]
    #[inline(never)]
    fn find_native_code(&mut self) {
        self.native_state.code = match &self.native {
            Some(code) if self.options.native_code => code.base(),
            _ => CODE_OFF,
        };
    }

    /// Runs the frame at `fp` natively if its function has code that may be used now.
    #[inline(never)]
    pub(crate) fn try_native(&mut self, fp: u32, template: Ref) -> Option<Outcome> {
        if self.native_state.code == 0 {
            self.find_native_code();
        }
        let code = self.native_state.code;
        if code == CODE_OFF {
            return None;
        }
        let entry = code + self.cage.u32(template, NATIVE_ENTRY) as usize - 1;
        // A quarter of the native stack is kept for what runs when a native frame leaves.
        let stack_limit = self.native_stack_limit + self.native_stack_bytes / 4;
        let marker = 0u8;
        if ((&raw const marker) as usize) < stack_limit {
            return None;
        }
        let (depth, stack_top) = (self.depth, self.stack_top);
        let mut context = Context {
            table: &TABLE,
            stack_limit: stack_limit as u64,
            depth_limit: u64::from(self.depth_max) << 32,
            fuel: 0,
            result: 0,
            exit_pc: 0,
            outer_fp: u64::from(fp),
            realm: self,
            code,
            dirty: self.cage.dirty_table(),
            panic: None,
        };
        let position = u64::from(depth) << 32 | u64::from(fp);
        let (fuel, base) = (self.fuel, self.cage.base_address());
        // SAFETY: only trusted snapshots have a code section (`realm.native`), and the writer put this
        // entry's offset into the template.
        let status = unsafe { enter(entry, &raw mut context, position, fuel, base) };
        if status == ENTERED_NOT_NOW {
            return None;
        }
        self.fuel = context.fuel;
        self.depth = depth;
        self.stack_top = stack_top;
        self.fp = fp;
        if let Some(panic) = context.panic.take() {
            std::panic::resume_unwind(panic);
        }
        Some(match status as i64 {
            0 => Outcome::Returned(Value(context.result)),
            STATUS_EXIT => Outcome::Exit(context.exit_pc as u32),
            _ => {
                self.pc = self.cage.u32(template, CODE) + 8;
                Outcome::Threw
            }
        })
    }

    /// The property cell of a global binding and whether it is writable, for a code generator; `None` for
    /// accessors. The cell gets a hole when any of that changes.
    pub fn global_data_cell(&mut self, name: Ref) -> Option<(Ref, bool)> {
        let (cell, attributes) = self.global_cell(name).ok()??;
        if attributes & crate::shapes::ACCESSOR != 0 {
            None
        } else {
            Some((cell, attributes & crate::shapes::WRITABLE != 0))
        }
    }
}

/// Adds everything in the run-time context that native code depends on.
pub(crate) const fn add_layout(hash: crate::image::Fingerprint) -> crate::image::Fingerprint {
    let numbers = [
        CONTEXT_TABLE as u64,
        CONTEXT_STACK_LIMIT as u64,
        CONTEXT_DEPTH_LIMIT as u64,
        CONTEXT_FUEL as u64,
        CONTEXT_DIRTY as u64,
        CONTEXT_RESULT as u64,
        SECTION_HEADER as u64,
        SITE_BYTES as u64,
        STATUS_THREW as u64,
        STATUS_EXIT as u64,
        STATUS_BOXED as u64,
        ENTERED_NOT_NOW,
        HEADER_BYTES as u64,
        CALLEE as u64,
    ];
    let (mut hash, mut i) = (hash.text("native-1"), 0);
    while i < numbers.len() {
        hash = hash.number(numbers[i]);
        i += 1;
    }
    hash.text(TABLE_TEXT)
}
