//! Bytecode as instructions and basic blocks, and which registers are live before each instruction.

use zjs_engine::bytecode::opcode::{Opcode, Operand};

/// One instruction.
pub struct Inst {
    /// First unit.
    pub at: u32,
    pub op: Opcode,
    /// Operands in code order; immediates signed, jumps as distances.
    pub operands: [i32; 5],
}

impl Inst {
    pub fn reg(&self, operand: usize) -> usize {
        self.operands[operand] as u16 as usize
    }

    /// Unit behind the instruction.
    pub fn next(&self) -> u32 {
        self.at + self.op.length_units() as u32
    }

    /// Target unit of the jump operand, if there is one.
    pub fn target(&self) -> Option<u32> {
        let index = self.op.operands().iter().position(|&o| o == Operand::J)?;
        Some(self.at.wrapping_add(self.operands[index] as u32))
    }
}

/// A run of instructions that is entered at its first only.
pub struct Block {
    pub first: usize,
    pub end: usize,
    /// Blocks that may follow: fall-through first.
    pub next: Vec<usize>,
    /// Every way from here ends in a throw.
    pub throws: bool,
    /// An edge from this block or a later one leads here.
    pub is_loop: bool,
}

/// A set of registers.
#[derive(Clone, PartialEq, Default)]
pub struct Registers(Vec<u64>);

impl Registers {
    fn new(count: usize) -> Registers {
        Registers(vec![0; count.div_ceil(64)])
    }

    pub fn has(&self, r: usize) -> bool {
        self.0[r / 64] >> (r % 64) & 1 != 0
    }

    fn add(&mut self, r: usize) {
        self.0[r / 64] |= 1 << (r % 64);
    }

    fn remove(&mut self, r: usize) {
        self.0[r / 64] &= !(1 << (r % 64));
    }

    fn join(&mut self, other: &Registers) -> bool {
        let mut changed = false;
        for (a, b) in self.0.iter_mut().zip(&other.0) {
            changed |= *b & !*a != 0;
            *a |= b;
        }
        changed
    }

    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len() * 64).filter(|&r| self.has(r))
    }
}

/// A decoded function.
pub struct Body {
    pub insts: Vec<Inst>,
    pub blocks: Vec<Block>,
    /// Live registers before each instruction; one more for the end, empty.
    pub live: Vec<Registers>,
    pub registers: usize,
    has_call: bool,
}

fn ends_block(op: Opcode) -> bool {
    use Opcode::*;
    matches!(op, Jump | Loop | Return | ReturnUndefined | Throw | ThrowError | ThrowConstAssign)
        || op.operands().contains(&Operand::J)
}

fn falls_through(op: Opcode) -> bool {
    use Opcode::*;
    !matches!(op, Jump | Loop | Return | ReturnUndefined | Throw | ThrowError | ThrowConstAssign)
}

/// Whether native code can be made for the instruction (for fitting operand types).
pub fn supported(op: Opcode) -> bool {
    use Opcode::*;
    matches!(
        op,
        LoadUndefined
            | LoadNull
            | LoadTrue
            | LoadFalse
            | LoadInt
            | LoadConst
            | Move
            | LoadCallee
            | LoadFunctionEnv
            | GetEnv
            | GetEnvChecked
            | SetEnv
            | SetEnvChecked
            | GetGlobal
            | SetGlobal
            | CallUndefined
            | Return
            | ReturnUndefined
            | Add
            | Sub
            | Mul
            | Div
            | Mod
            | Exp
            | BitAnd
            | BitOr
            | BitXor
            | Shl
            | Shr
            | UShr
            | AddInt
            | SubInt
            | MulInt
            | DivInt
            | ModInt
            | BitAndInt
            | BitOrInt
            | BitXorInt
            | ShlInt
            | ShrInt
            | UShrInt
            | Negate
            | BitNot
            | Not
            | ToNumber
            | ToNumeric
            | Increment
            | Decrement
            | Equal
            | NotEqual
            | StrictEqual
            | StrictNotEqual
            | Less
            | LessEqual
            | Greater
            | GreaterEqual
            | Jump
            | Loop
            | JumpIfTrue
            | JumpIfFalse
            | JumpIfUndefined
            | JumpIfNotUndefined
            | JumpIfEqual
            | JumpIfNotEqual
            | JumpIfStrictEqual
            | JumpIfStrictNotEqual
            | JumpIfLess
            | JumpIfNotLess
            | JumpIfLessEqual
            | JumpIfNotLessEqual
            | JumpIfGreater
            | JumpIfNotGreater
            | JumpIfGreaterEqual
            | JumpIfNotGreaterEqual
    )
}

/// Opcodes that do numeric work: a function without any is not worth an entry.
pub fn is_work(op: Opcode) -> bool {
    use Opcode::*;
    supported(op)
        && !matches!(
            op,
            LoadUndefined
                | LoadNull
                | LoadTrue
                | LoadFalse
                | LoadInt
                | LoadConst
                | Move
                | LoadCallee
                | LoadFunctionEnv
                | GetEnv
                | GetEnvChecked
                | SetEnv
                | SetEnvChecked
                | GetGlobal
                | SetGlobal
                | CallUndefined
                | Return
                | ReturnUndefined
                | Jump
        )
}

impl Body {
    /// Decodes `code`.
    ///
    /// # Errors
    /// Damaged code.
    pub fn decode(code: &[u16], registers: usize) -> Result<Body, String> {
        let mut insts = Vec::new();
        let mut index_of = vec![usize::MAX; code.len()];
        let mut at = 0;
        while at < code.len() {
            let op = Opcode::from_raw(code[at]).ok_or("damaged bytecode")?;
            let mut operands = [0i32; 5];
            let mut unit = at + 1;
            for (i, operand) in op.operands().iter().enumerate() {
                let low = *code.get(unit).ok_or("damaged bytecode")?;
                operands[i] = if operand.units() == 2 {
                    let high = *code.get(unit + 1).ok_or("damaged bytecode")?;
                    (u32::from(low) | u32::from(high) << 16) as i32
                } else {
                    i32::from(low)
                };
                if matches!(operand, Operand::W | Operand::R | Operand::RW) && usize::from(low) >= registers {
                    return Err("damaged bytecode".into());
                }
                unit += operand.units();
            }
            index_of[at] = insts.len();
            insts.push(Inst { at: at as u32, op, operands });
            at = unit;
        }
        let index = |unit: u32| index_of.get(unit as usize).copied().filter(|&i| i != usize::MAX).ok_or("damaged jump");
        let mut starts = vec![false; insts.len()];
        if let Some(first) = starts.first_mut() {
            *first = true;
        }
        for (i, inst) in insts.iter().enumerate() {
            if let Some(target) = inst.target() {
                starts[index(target)?] = true;
            }
            if ends_block(inst.op) && i + 1 < insts.len() {
                starts[i + 1] = true;
            }
        }
        let firsts: Vec<usize> = (0..insts.len()).filter(|&i| starts[i]).collect();
        let mut blocks = Vec::new();
        for (b, &first) in firsts.iter().enumerate() {
            let end = firsts.get(b + 1).copied().unwrap_or(insts.len());
            let last = &insts[end - 1];
            let mut next = Vec::new();
            if falls_through(last.op) {
                if b + 1 == firsts.len() {
                    return Err("code runs off its end".into());
                }
                next.push(b + 1);
            }
            if let Some(target) = last.target() {
                let target = index(target)?;
                next.push(firsts.binary_search(&target).map_err(|_| "damaged jump")?);
            }
            blocks.push(Block { first, end, next, throws: false, is_loop: false });
        }
        for b in 0..blocks.len() {
            for target in blocks[b].next.clone() {
                if target <= b {
                    blocks[target].is_loop = true;
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for b in (0..blocks.len()).rev() {
                let last = insts[blocks[b].end - 1].op;
                let throws = match last {
                    Opcode::Throw | Opcode::ThrowError | Opcode::ThrowConstAssign => true,
                    Opcode::Return | Opcode::ReturnUndefined | Opcode::Loop => false,
                    _ => blocks[b].next.iter().all(|&n| blocks[n].throws),
                };
                if throws && !blocks[b].throws {
                    blocks[b].throws = true;
                    changed = true;
                }
            }
        }
        let has_call = insts.iter().any(|i| i.op == Opcode::CallUndefined);
        let mut body = Body { insts, blocks, live: Vec::new(), registers, has_call };
        body.find_live();
        Ok(body)
    }

    pub fn has_call(&self) -> bool {
        self.has_call
    }

    fn find_live(&mut self) {
        let empty = Registers::new(self.registers);
        self.live = vec![empty.clone(); self.insts.len() + 1];
        let mut changed = true;
        while changed {
            changed = false;
            for block in self.blocks.iter().rev() {
                let mut live = empty.clone();
                for &next in &block.next {
                    live.join(&self.live[self.blocks[next].first]);
                }
                for i in (block.first..block.end).rev() {
                    transfer(&self.insts[i], &mut live, self.registers);
                    changed |= self.live[i].join(&live);
                }
            }
        }
    }

    /// Live registers behind instruction `i`, which does not end its block.
    pub fn live_behind(&self, i: usize) -> &Registers {
        &self.live[i + 1]
    }
}

fn transfer(inst: &Inst, live: &mut Registers, registers: usize) {
    let operands = inst.op.operands();
    for (i, operand) in operands.iter().enumerate() {
        if *operand == Operand::W {
            live.remove(inst.reg(i));
        }
    }
    for (i, operand) in operands.iter().enumerate() {
        match operand {
            Operand::R | Operand::RW => live.add(inst.reg(i)),
            Operand::B if inst.op == Opcode::CallUndefined => {
                let base = inst.reg(i);
                live.add((base + 4).min(registers - 1));
                for a in 0..inst.reg(2) {
                    live.add((base + 6 + a).min(registers - 1));
                }
            }
            // What a block operand reads depends on the instruction: everything from there on is kept.
            Operand::B => (inst.reg(i)..registers).for_each(|r| live.add(r)),
            _ => {}
        }
    }
}
