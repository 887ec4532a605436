//! The assembler of one function: code units, labels, constants, positions, handlers and registers.
//!
//! Invariant: an instruction is written by exactly one call of `op`, `op_int` or `op_jump`, so every
//! label that is bound lies at an instruction start. Limits that are passed (registers, constants) set
//! a flag that the caller turns into a `CompileError`; emission itself never fails.

use std::hash::Hasher;

use hashbrown::HashTable;
use zjs_engine::bytecode::opcode::{NO_IC, Opcode, Operand};
use zjs_engine::bytecode::template::{Constant, Handler, JsStr};

use crate::scope::Fx;

/// A register number.
pub type Reg = u16;

/// A place in the code that may not be known yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Label(u32);

const UNBOUND: u32 = u32::MAX;
/// Numbers from here on stand for pinned constants until the function is finished.
pub const PIN_BASE: Reg = 0xF000;
/// Constants that one function keeps in registers.
const PINS_MAX: usize = 8;
/// Register numbers stay below this, so that a call block never wraps around.
const REGISTER_LIMIT: u32 = 60_000;

/// A constant that loops keep in a register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pin {
    Int(i32),
    /// Index into the constants.
    Constant(u16),
}

/// Tables of constants up to this size are searched from the front; larger ones get an index.
const INDEX_FROM: usize = 8;

/// What a constant is looked up by, without owning it.
#[derive(Clone, Copy, PartialEq)]
enum ConstKey<'a> {
    Number(u64),
    Latin1(&'a [u8]),
    Utf16(&'a [u16]),
}

impl<'a> ConstKey<'a> {
    fn of(constant: &'a Constant) -> Option<ConstKey<'a>> {
        match constant {
            Constant::Number(value) => Some(ConstKey::Number(value.to_bits())),
            Constant::String(s) => Some(ConstKey::of_str(s)),
            _ => None,
        }
    }

    fn of_str(s: &'a JsStr) -> ConstKey<'a> {
        match s {
            JsStr::Latin1(s) => ConstKey::Latin1(s),
            JsStr::Utf16(s) => ConstKey::Utf16(s),
        }
    }

    fn hash(self) -> u64 {
        let mut hasher = Fx::default();
        match self {
            ConstKey::Number(bits) => hasher.write_u64(bits),
            ConstKey::Latin1(s) => {
                hasher.write(s);
                hasher.write_usize(s.len());
            }
            ConstKey::Utf16(s) => s.iter().for_each(|&unit| hasher.write_u64(u64::from(unit))),
        }
        hasher.finish()
    }
}

/// See the module documentation.
#[derive(Default)]
pub struct Assembler {
    pub code: Vec<u16>,
    pub constants: Vec<Constant>,
    pub handlers: Vec<Handler>,
    pub positions: Vec<(u32, u32)>,
    /// Indices of the numbers and strings among the constants, once there are many.
    const_index: HashTable<u16>,
    position: u32,
    labels: Vec<u32>,
    patches: Vec<(u32, u32, Label)>,
    /// Instructions that run before everything else; put in front when the function is finished.
    pub prologue: Vec<u16>,
    pins: Vec<Pin>,
    ic_count: u32,
    top: u32,
    max: u32,
    /// Some limit of the format was passed.
    pub overflow: bool,
}

impl Assembler {
    /// Makes room for the code of so many bytes of source.
    pub fn expect_source(&mut self, bytes: u32) {
        let bytes = bytes.min(16 * 1024) as usize;
        self.code.reserve(bytes + 16);
        self.positions.reserve(bytes / 6 + 4);
        self.constants.reserve(bytes / 24 + 2);
    }

    /// Offset of the next instruction.
    pub fn here(&self) -> u32 {
        self.code.len() as u32
    }

    /// Source offset of the instructions that follow.
    pub fn at(&mut self, offset: u32) {
        self.position = offset;
    }

    fn mark_position(&mut self) {
        match self.positions.last() {
            Some(&(_, p)) if p == self.position => {}
            _ => self.positions.push((self.here(), self.position)),
        }
    }

    /// Emits an instruction without immediate or jump operand.
    pub fn op(&mut self, op: Opcode, operands: &[u16]) {
        debug_assert_eq!(op.length_units(), 1 + operands.len(), "{op:?}");
        self.mark_position();
        self.code.push(op as u16);
        self.code.extend_from_slice(operands);
    }

    /// Emits an instruction whose last operand is a 32-bit immediate.
    pub fn op_int(&mut self, op: Opcode, operands: &[u16], value: i32) {
        debug_assert_eq!(op.length_units(), 3 + operands.len(), "{op:?}");
        self.mark_position();
        self.code.push(op as u16);
        self.code.extend_from_slice(operands);
        self.code.push(value as u32 as u16);
        self.code.push((value as u32 >> 16) as u16);
    }

    /// Emits an instruction whose last operand is a jump.
    pub fn op_jump(&mut self, op: Opcode, operands: &[u16], label: Label) {
        let start = self.here();
        self.op_int(op, operands, 0);
        self.patches.push((start, self.here() - 2, label));
    }

    /// A fresh unbound label.
    pub fn label(&mut self) -> Label {
        self.labels.push(UNBOUND);
        Label(self.labels.len() as u32 - 1)
    }

    /// Binds `label` to the next instruction.
    pub fn bind(&mut self, label: Label) {
        self.labels[label.0 as usize] = self.here();
    }

    /// A fresh label bound to the next instruction.
    pub fn label_here(&mut self) -> Label {
        let label = self.label();
        self.bind(label);
        label
    }

    /// Whether the place of `label` is known, so that a jump to it from here goes back.
    pub fn is_bound(&self, label: Label) -> bool {
        self.labels[label.0 as usize] != UNBOUND
    }

    /// The offset of a bound label.
    pub fn offset(&self, label: Label) -> u32 {
        self.labels[label.0 as usize]
    }

    /// Number of an inline cache, or `NO_IC` when the numbers are used up.
    pub fn ic(&mut self) -> u16 {
        if self.ic_count >= u32::from(NO_IC) - 1 {
            return NO_IC;
        }
        self.ic_count += 1;
        (self.ic_count - 1) as u16
    }

    /// Inline caches used.
    pub fn ic_count(&self) -> u16 {
        self.ic_count as u16
    }

    /// Adds a constant that is not shared.
    pub fn constant(&mut self, constant: Constant) -> u16 {
        if self.constants.len() >= usize::from(u16::MAX) {
            self.overflow = true;
            return 0;
        }
        self.constants.push(constant);
        (self.constants.len() - 1) as u16
    }

    fn find_constant(&self, key: ConstKey) -> Option<u16> {
        let is_key = |index: usize| ConstKey::of(&self.constants[index]) == Some(key);
        if self.const_index.is_empty() {
            return (0..self.constants.len()).find(|&i| is_key(i)).map(|i| i as u16);
        }
        self.const_index.find(key.hash(), |&index| is_key(usize::from(index))).copied()
    }

    /// Adds a number or string that `find_constant` did not find.
    fn add_constant(&mut self, constant: Constant) -> u16 {
        let added = self.constant(constant);
        let constants = &self.constants;
        if constants.len() > INDEX_FROM && !self.overflow {
            let key = |index: u16| ConstKey::of(&constants[usize::from(index)]);
            let first = if self.const_index.is_empty() { 0 } else { added };
            for index in (first..=added).filter(|&index| key(index).is_some()) {
                let hash = |&index: &u16| key(index).map_or(0, ConstKey::hash);
                self.const_index.insert_unique(hash(&index), index, hash);
            }
        }
        added
    }

    /// Index of a string constant.
    pub fn string(&mut self, s: JsStr) -> u16 {
        match self.find_constant(ConstKey::of_str(&s)) {
            Some(index) => index,
            None => self.add_constant(Constant::String(s)),
        }
    }

    /// Index of a string constant given as text.
    pub fn name(&mut self, s: &str) -> u16 {
        if s.is_ascii()
            && let Some(index) = self.find_constant(ConstKey::Latin1(s.as_bytes()))
        {
            return index;
        }
        self.string(JsStr::from(s))
    }

    /// Index of a number constant.
    pub fn number(&mut self, value: f64) -> u16 {
        match self.find_constant(ConstKey::Number(value.to_bits())) {
            Some(index) => index,
            None => self.add_constant(Constant::Number(value)),
        }
    }

    /// The lowest register that is not in use.
    pub fn top(&self) -> Reg {
        self.top as Reg
    }

    /// Takes the next register.
    pub fn alloc(&mut self) -> Reg {
        self.alloc_block(1)
    }

    /// Takes `count` consecutive registers.
    pub fn alloc_block(&mut self, count: u32) -> Reg {
        let first = self.top;
        if first + count > REGISTER_LIMIT {
            self.overflow = true;
            return first as Reg;
        }
        self.top += count;
        self.max = self.max.max(self.top);
        first as Reg
    }

    /// Gives back every register from `top` on.
    pub fn free_to(&mut self, top: Reg) {
        debug_assert!(u32::from(top) <= self.top);
        self.top = u32::from(top);
    }

    /// Number of registers used at most.
    pub fn register_count(&self) -> u16 {
        self.max as u16
    }

    /// The register that holds `pin` in the whole function, while there are some left.
    pub fn pin(&mut self, pin: Pin) -> Option<Reg> {
        let index = match self.pins.iter().position(|p| *p == pin) {
            Some(index) => index,
            None if self.pins.len() < PINS_MAX => {
                self.pins.push(pin);
                self.pins.len() - 1
            }
            None => return None,
        };
        Some(PIN_BASE + index as Reg)
    }

    /// Gives pinned constants the registers behind `first`, moving all others up.
    fn place_pins(&mut self, first: Reg) {
        let count = self.pins.len() as u16;
        if count == 0 {
            return;
        }
        let renumber = |r: Reg| match r {
            _ if r >= PIN_BASE => first + (r - PIN_BASE),
            _ if r >= first => r + count,
            _ => r,
        };
        let mut at = 0usize;
        while let Some(op) = self.code.get(at).and_then(|&raw| Opcode::from_raw(raw)) {
            let mut unit = at + 1;
            for operand in op.operands() {
                if matches!(operand, Operand::W | Operand::R | Operand::RW | Operand::B) {
                    self.code[unit] = renumber(self.code[unit]);
                }
                unit += operand.units();
            }
            at += op.length_units();
        }
        for handler in &mut self.handlers {
            handler.register = renumber(handler.register);
        }
        self.max += u32::from(count);
    }

    /// Resolves jumps, puts the prologue in front and places pinned constants behind register `first`.
    pub fn finish(&mut self, first: Reg) {
        for (i, pin) in self.pins.iter().enumerate() {
            let register = PIN_BASE + i as Reg;
            match *pin {
                Pin::Int(value) => self.prologue.extend_from_slice(&[
                    Opcode::LoadInt as u16,
                    register,
                    value as u32 as u16,
                    (value as u32 >> 16) as u16,
                ]),
                Pin::Constant(c) => self.prologue.extend_from_slice(&[Opcode::LoadConst as u16, register, c]),
            }
        }
        for &(start, operand, label) in &self.patches {
            let target = self.labels[label.0 as usize];
            debug_assert_ne!(target, UNBOUND, "label was never bound");
            let distance = (i64::from(target) - i64::from(start)) as i32 as u32;
            self.code[operand as usize] = distance as u16;
            self.code[operand as usize + 1] = (distance >> 16) as u16;
        }
        self.handlers.retain(|h| h.start < h.end);
        let shift = self.prologue.len() as u32;
        if shift > 0 {
            let mut code = std::mem::take(&mut self.prologue);
            code.append(&mut self.code);
            self.code = code;
            for (unit, _) in &mut self.positions {
                *unit += shift;
            }
            for handler in &mut self.handlers {
                handler.start += shift;
                handler.end += shift;
                handler.target += shift;
            }
        }
        self.place_pins(first);
    }
}
