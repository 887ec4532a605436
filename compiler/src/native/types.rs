//! What native code knows about registers: exact integers with bounds, doubles, booleans, constants.
//!
//! Integers are exact mathematical values within ±2^53 and never -0; native code keeps them in 64 bits, so
//! most arithmetic needs no check: a result whose bounds leave ±2^53 is tested, and leaves. Types flow
//! forward over the blocks until nothing changes; bounds widen in a few steps.

use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::value::Value;

use super::decode::{Body, Inst, supported};
use super::{Const, Facts};

/// Largest integer that is kept as one: 2^53.
pub const LIMIT: i64 = 1 << 53;
const INT32_MIN: i64 = i32::MIN as i64;
const INT32_MAX: i64 = i32::MAX as i64;
const LOW_STEPS: [i64; 5] = [0, INT32_MIN, -(1 << 32), -(1 << 42), -LIMIT];
const HIGH_STEPS: [i64; 4] = [INT32_MAX, (1 << 32) - 1, 1 << 42, LIMIT];

/// What a register holds.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Type {
    /// Nothing that anybody reads.
    Unset,
    /// An integer between the bounds.
    Int(i64, i64),
    Double,
    Bool,
    /// This value.
    Const(u64),
    /// Any value, boxed.
    Boxed,
}

pub const INT32: Type = Type::Int(INT32_MIN, INT32_MAX);

impl Type {
    pub fn is_int32(self) -> bool {
        matches!(self, Type::Int(low, high) if low >= INT32_MIN && high <= INT32_MAX)
    }

    pub fn join(self, other: Type) -> Type {
        match (self, other) {
            (a, b) if a == b => a,
            (Type::Unset, _) | (_, Type::Unset) => Type::Unset,
            (Type::Int(a, b), Type::Int(c, d)) => Type::Int(a.min(c), b.max(d)),
            (Type::Int(..) | Type::Double, Type::Int(..) | Type::Double) => Type::Double,
            _ => Type::Boxed,
        }
    }

    /// `new`, which includes `self`, with bounds that moved put at the next step.
    pub fn widen(self, new: Type) -> Type {
        let (Type::Int(low, high), Type::Int(new_low, new_high)) = (self, new) else { return new };
        let low = if new_low < low { LOW_STEPS.into_iter().find(|&s| s <= new_low).unwrap_or(-LIMIT) } else { low };
        let high =
            if new_high > high { HIGH_STEPS.into_iter().find(|&s| s >= new_high).unwrap_or(LIMIT) } else { high };
        Type::Int(low, high)
    }

    /// How the value takes part in arithmetic: integer bounds, a double, or not at all.
    pub fn number(self) -> Option<Number> {
        match self {
            Type::Int(low, high) => Some(Number::Int(low, high)),
            Type::Bool => Some(Number::Int(0, 1)),
            Type::Double | Type::Boxed => Some(Number::Double),
            _ => None,
        }
    }
}

#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Number {
    Int(i64, i64),
    Double,
}

/// Arithmetic operators, whatever form their operands have.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Operator {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Exp,
    And,
    Or,
    Xor,
    Shl,
    Shr,
    UShr,
}

/// The operator of an arithmetic instruction and whether its second operand is an immediate.
pub fn operator(op: Opcode) -> Option<(Operator, bool)> {
    use Operator::*;
    Some(match op {
        Opcode::Add => (Add, false),
        Opcode::Sub => (Sub, false),
        Opcode::Mul => (Mul, false),
        Opcode::Div => (Div, false),
        Opcode::Mod => (Mod, false),
        Opcode::Exp => (Exp, false),
        Opcode::BitAnd => (And, false),
        Opcode::BitOr => (Or, false),
        Opcode::BitXor => (Xor, false),
        Opcode::Shl => (Shl, false),
        Opcode::Shr => (Shr, false),
        Opcode::UShr => (UShr, false),
        Opcode::AddInt => (Add, true),
        Opcode::SubInt => (Sub, true),
        Opcode::MulInt => (Mul, true),
        Opcode::DivInt => (Div, true),
        Opcode::ModInt => (Mod, true),
        Opcode::BitAndInt => (And, true),
        Opcode::BitOrInt => (Or, true),
        Opcode::BitXorInt => (Xor, true),
        Opcode::ShlInt => (Shl, true),
        Opcode::ShrInt => (Shr, true),
        Opcode::UShrInt => (UShr, true),
        _ => return None,
    })
}

/// Comparison conditions.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Condition {
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
}

/// The condition of a comparison, whether it is a jump, and whether the jump is taken where it holds.
pub fn comparison(op: Opcode) -> Option<(Condition, bool, bool)> {
    use Condition::*;
    Some(match op {
        Opcode::Less => (Less, false, true),
        Opcode::LessEqual => (LessEqual, false, true),
        Opcode::Greater => (Greater, false, true),
        Opcode::GreaterEqual => (GreaterEqual, false, true),
        Opcode::Equal | Opcode::StrictEqual => (Equal, false, true),
        Opcode::NotEqual | Opcode::StrictNotEqual => (NotEqual, false, true),
        Opcode::JumpIfLess => (Less, true, true),
        Opcode::JumpIfNotLess => (Less, true, false),
        Opcode::JumpIfLessEqual => (LessEqual, true, true),
        Opcode::JumpIfNotLessEqual => (LessEqual, true, false),
        Opcode::JumpIfGreater => (Greater, true, true),
        Opcode::JumpIfNotGreater => (Greater, true, false),
        Opcode::JumpIfGreaterEqual => (GreaterEqual, true, true),
        Opcode::JumpIfNotGreaterEqual => (GreaterEqual, true, false),
        Opcode::JumpIfEqual | Opcode::JumpIfStrictEqual => (Equal, true, true),
        Opcode::JumpIfNotEqual | Opcode::JumpIfStrictNotEqual => (NotEqual, true, true),
        _ => return None,
    })
}

/// Whether two types can be compared natively; equality of mixed types goes to the interpreter.
pub fn comparable(condition: Condition, a: Type, b: Type) -> bool {
    match condition {
        Condition::Equal | Condition::NotEqual => match (a, b) {
            (Type::Bool, Type::Bool) => true,
            (Type::Bool, _) | (_, Type::Bool) => false,
            _ => a.number().is_some() && b.number().is_some(),
        },
        _ => a.number().is_some() && b.number().is_some(),
    }
}

/// The exact bounds of an integer result before it is cut at the limit, or `None` for a double result.
pub fn exact_bounds(operator: Operator, a: (i64, i64), b: (i64, i64)) -> Option<(i64, i64)> {
    let whole = (INT32_MIN, INT32_MAX);
    let is_int32 = |(low, high): (i64, i64)| low >= INT32_MIN && high <= INT32_MAX;
    Some(match operator {
        Operator::Add => (a.0 + b.0, a.1 + b.1),
        Operator::Sub => (a.0 - b.1, a.1 - b.0),
        Operator::Mul => {
            let corners = [(a.0, b.0), (a.0, b.1), (a.1, b.0), (a.1, b.1)].map(|(x, y)| i128::from(x) * i128::from(y));
            let low = corners.into_iter().min().unwrap_or(0);
            let high = corners.into_iter().max().unwrap_or(0);
            (i64::try_from(low).ok()?, i64::try_from(high).ok()?)
        }
        Operator::Mod => {
            let most = b.0.abs().max(b.1.abs());
            if most == 0 {
                return None;
            }
            let low = if a.0 >= 0 { 0 } else { a.0.max(1 - most) };
            (low, a.1.min(most - 1).max(0))
        }
        Operator::Div | Operator::Exp => return None,
        Operator::And => {
            if b.0 >= 0 && is_int32(b) {
                (0, b.1)
            } else if a.0 >= 0 && is_int32(a) {
                (0, a.1)
            } else {
                whole
            }
        }
        Operator::Or | Operator::Xor => {
            if a.0 >= 0 && b.0 >= 0 && is_int32(a) && is_int32(b) {
                (0, ((a.1.max(b.1) + 1) as u64).next_power_of_two() as i64 - 1)
            } else if operator == Operator::Or && b == (0, 0) && is_int32(a) {
                a
            } else {
                whole
            }
        }
        Operator::Shl => whole,
        Operator::Shr => {
            if b.0 == b.1 && is_int32(a) {
                let count = b.0 as u32 & 31;
                (a.0 >> count, a.1 >> count)
            } else {
                whole
            }
        }
        Operator::UShr => {
            if b.0 == b.1 {
                let count = b.0 as u32 & 31;
                if is_int32(a) && a.0 >= 0 { (a.0 >> count, a.1 >> count) } else { (0, (u32::MAX >> count).into()) }
            } else {
                (0, u32::MAX.into())
            }
        }
    })
}

/// Type of an arithmetic result.
pub fn arithmetic_type(operator: Operator, a: Number, b: Number) -> Type {
    if let (Number::Int(al, ah), Number::Int(bl, bh)) = (a, b) {
        return match exact_bounds(operator, (al, ah), (bl, bh)) {
            Some((low, high)) => Type::Int(low.clamp(-LIMIT, LIMIT), high.clamp(-LIMIT, LIMIT)),
            None => Type::Double,
        };
    }
    match operator {
        Operator::Add | Operator::Sub | Operator::Mul | Operator::Div | Operator::Mod | Operator::Exp => Type::Double,
        _ => {
            let part = |n: Number| match n {
                Number::Int(low, high) => (low, high),
                Number::Double => (INT32_MIN, INT32_MAX),
            };
            let (low, high) = exact_bounds(operator, part(a), part(b)).unwrap_or((INT32_MIN, INT32_MAX));
            Type::Int(low, high)
        }
    }
}

/// How a variant returns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Return {
    Int(i64, i64),
    Double,
    Boxed,
}

impl Return {
    pub fn of(t: Option<Type>) -> Return {
        match t {
            Some(Type::Int(low, high)) => Return::Int(low, high),
            Some(Type::Double) => Return::Double,
            _ => Return::Boxed,
        }
    }

    pub fn as_type(self) -> Type {
        match self {
            Return::Int(low, high) => Type::Int(low, high),
            Return::Double => Type::Double,
            Return::Boxed => Type::Boxed,
        }
    }
}

/// Which variant of a function a call uses.
#[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord)]
pub struct Callee {
    pub function: usize,
    /// 0: integer parameters, 1: double parameters.
    pub variant: usize,
}

/// What happens at an instruction besides its effect on types.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Flow {
    Next,
    /// Leaves to the interpreter, always.
    Leave,
    /// A call of a variant that is not known to return yet.
    Stuck,
}

/// What the analysis of a variant found.
#[derive(Default)]
pub struct Analysis {
    /// Types at the start of each block that is reached.
    pub entry: Vec<Option<Vec<Type>>>,
    pub result: Option<Type>,
    /// Instruction that always leaves although it does not lead to a throw, and why.
    pub dead_end: Option<String>,
}

/// The call at `inst`, if it can be made natively: callee and its closure.
pub fn resolve_call(
    facts: &dyn Facts,
    inst: &Inst,
    state: &[Type],
    live: &dyn Fn(usize) -> Vec<usize>,
) -> Option<Callee> {
    let base = inst.reg(1);
    let Type::Const(bits) = state[base + 4] else { return None };
    let function = facts.closure(bits)?;
    if facts.parameter_count(function) != inst.reg(2) {
        return None;
    }
    let used = live(function);
    if used.iter().any(|&p| state[base + 6 + p].number().is_none()) {
        return None;
    }
    let ints = used.iter().all(|&p| state[base + 6 + p].is_int32());
    if ints && facts.has_variant(function, 0) {
        return Some(Callee { function, variant: 0 });
    }
    facts.has_variant(function, 1).then_some(Callee { function, variant: 1 })
}

/// Applies `inst` to `state`.
pub fn step(facts: &dyn Facts, me: usize, inst: &Inst, state: &mut [Type], live: &dyn Fn(usize) -> Vec<usize>) -> Flow {
    use Opcode::*;
    let result = match inst.op {
        LoadUndefined => Some(Type::Const(Value::UNDEFINED.0)),
        LoadNull => Some(Type::Const(Value::NULL.0)),
        LoadTrue | LoadFalse => Some(Type::Bool),
        LoadInt => Some(Type::Int(inst.operands[1].into(), inst.operands[1].into())),
        LoadConst => match facts.constant(me, inst.reg(1)) {
            Const::Number(n) => Some(match integer(n) {
                Some(i) => Type::Int(i, i),
                None => Type::Double,
            }),
            Const::Other => None,
        },
        Move => Some(state[inst.reg(1)]),
        LoadCallee => facts.own_closure(me).map(Type::Const),
        LoadFunctionEnv => facts.environment(me).map(Type::Const),
        GetEnv | GetEnvChecked => match state[inst.reg(1)] {
            Type::Const(_) => facts.environment_slot(me, inst.reg(2), inst.reg(3)).map(|slot| slot_type(facts, slot)),
            _ => None,
        },
        GetGlobal => facts.global(me, inst.reg(1)).map(|slot| slot_type(facts, slot)),
        SetGlobal | SetEnv | SetEnvChecked => {
            return if stored_slot(facts, me, inst, state).is_some() { Flow::Next } else { Flow::Leave };
        }
        CallUndefined => match resolve_call(facts, inst, state, live) {
            Some(callee) => match facts.result(callee) {
                Some(result) => Some(result.as_type()),
                None => return Flow::Stuck,
            },
            None => None,
        },
        Negate => match state[inst.reg(1)].number() {
            Some(Number::Int(low, high)) => Some(Type::Int(-high, -low)),
            Some(Number::Double) => Some(Type::Double),
            None => None,
        },
        BitNot => state[inst.reg(1)].number().map(|n| match n {
            Number::Int(low, high) if low >= INT32_MIN && high <= INT32_MAX => Type::Int(!high, !low),
            _ => INT32,
        }),
        Not => match state[inst.reg(1)] {
            Type::Unset => None,
            _ => Some(Type::Bool),
        },
        ToNumber | ToNumeric => state[inst.reg(1)].number().map(|n| match n {
            Number::Int(low, high) => Type::Int(low, high),
            Number::Double => Type::Double,
        }),
        Increment | Decrement => {
            let by = if inst.op == Increment { Operator::Add } else { Operator::Sub };
            state[inst.reg(1)].number().map(|n| arithmetic_type(by, n, Number::Int(1, 1)))
        }
        Return | ReturnUndefined | Jump | Loop => return Flow::Next,
        JumpIfTrue | JumpIfFalse | JumpIfUndefined | JumpIfNotUndefined => {
            return if state[inst.reg(0)] == Type::Unset { Flow::Leave } else { Flow::Next };
        }
        op => {
            if let Some((operator, immediate)) = operator(op) {
                let b = if immediate {
                    Some(Number::Int(inst.operands[2].into(), inst.operands[2].into()))
                } else {
                    state[inst.reg(2)].number()
                };
                match (state[inst.reg(1)].number(), b) {
                    (Some(a), Some(b)) => Some(arithmetic_type(operator, a, b)),
                    _ => None,
                }
            } else if let Some((condition, jump, _)) = comparison(op) {
                let first = if jump { 0 } else { 1 };
                if !comparable(condition, state[inst.reg(first)], state[inst.reg(first + 1)]) {
                    None
                } else if jump {
                    return Flow::Next;
                } else {
                    Some(Type::Bool)
                }
            } else {
                None
            }
        }
    };
    match result {
        Some(result) => {
            state[inst.reg(0)] = result;
            Flow::Next
        }
        None => Flow::Leave,
    }
}

/// Where a SetGlobal, SetEnv or SetEnvChecked stores, and the register that it stores.
pub fn stored_slot(facts: &dyn Facts, me: usize, inst: &Inst, state: &[Type]) -> Option<(super::Slot, usize)> {
    let (slot, source) = if inst.op == Opcode::SetGlobal {
        (facts.global(me, inst.reg(0))?, inst.reg(1))
    } else {
        let Type::Const(_) = state[inst.reg(0)] else { return None };
        (facts.environment_slot(me, inst.reg(1), inst.reg(2))?, inst.reg(3))
    };
    (slot.writable && state[source] != Type::Unset).then_some((slot, source))
}

fn slot_type(facts: &dyn Facts, slot: super::Slot) -> Type {
    if facts.closure(slot.value).is_some() { Type::Const(slot.value) } else { Type::Boxed }
}

/// The integer that a number is, if it is kept as one.
pub fn integer(n: f64) -> Option<i64> {
    let i = n as i64;
    (i as f64 == n && i.abs() <= LIMIT && (i != 0 || n.to_bits() == 0)).then_some(i)
}

/// Narrows bounds on the edge where `a condition b` is known to hold (or not).
fn refine(state: &mut [Type], condition: Condition, a: usize, b: usize, holds: bool) {
    let (Type::Int(al, ah), Type::Int(bl, bh)) = (state[a], state[b]) else { return };
    use Condition::*;
    let condition = match (condition, holds) {
        (c, true) => c,
        (Less, false) => GreaterEqual,
        (LessEqual, false) => Greater,
        (Greater, false) => LessEqual,
        (GreaterEqual, false) => Less,
        (Equal, false) => NotEqual,
        (NotEqual, false) => Equal,
    };
    let (na, nb) = match condition {
        Less => ((al, ah.min(bh - 1)), (bl.max(al + 1), bh)),
        LessEqual => ((al, ah.min(bh)), (bl.max(al), bh)),
        Greater => ((al.max(bl + 1), ah), (bl, bh.min(ah - 1))),
        GreaterEqual => ((al.max(bl), ah), (bl, bh.min(ah))),
        Equal => ((al.max(bl), ah.min(bh)), (al.max(bl), ah.min(bh))),
        NotEqual => {
            let cut = |(low, high): (i64, i64), (c, d): (i64, i64)| {
                if c == d && low == c {
                    (low + 1, high)
                } else if c == d && high == c {
                    (low, high - 1)
                } else {
                    (low, high)
                }
            };
            (cut((al, ah), (bl, bh)), cut((bl, bh), (al, ah)))
        }
    };
    // Contradictory bounds belong to an edge that is never taken.
    if na.0 <= na.1 && nb.0 <= nb.1 && a != b {
        state[a] = Type::Int(na.0, na.1);
        state[b] = Type::Int(nb.0, nb.1);
    }
}

/// Types on the way to the `edge`th successor of a block whose last instruction is `inst`.
pub fn on_edge(inst: &Inst, state: &[Type], edge: usize) -> Vec<Type> {
    let mut state = state.to_vec();
    if let Some((condition, true, sense)) = comparison(inst.op) {
        // Edge 0 falls through, edge 1 is the jump.
        refine(&mut state, condition, inst.reg(0), inst.reg(1), (edge == 1) == sense);
    }
    state
}

/// Runs the analysis of one variant.
pub fn analyze(
    facts: &dyn Facts,
    me: usize,
    body: &Body,
    entry: Vec<Type>,
    live: &dyn Fn(usize) -> Vec<usize>,
) -> Analysis {
    let mut analysis = Analysis { entry: vec![None; body.blocks.len()], ..Default::default() };
    let mut visits = vec![0u32; body.blocks.len()];
    let mut work = std::collections::BTreeSet::new();
    analysis.entry[0] = Some(entry);
    work.insert(0);
    while let Some(b) = work.pop_first() {
        let Some(mut state) = analysis.entry[b].clone() else { continue };
        let block = &body.blocks[b];
        let mut alive = true;
        for inst in &body.insts[block.first..block.end] {
            let before = if matches!(inst.op, Opcode::Return) { Some(state[inst.reg(0)]) } else { None };
            match step(facts, me, inst, &mut state, live) {
                Flow::Next => {}
                Flow::Leave => {
                    if !block.throws && analysis.dead_end.is_none() {
                        analysis.dead_end = Some(reason(inst, &state));
                    }
                    alive = false;
                    break;
                }
                Flow::Stuck => {
                    alive = false;
                    break;
                }
            }
            let returned = match inst.op {
                Opcode::Return => before,
                Opcode::ReturnUndefined => Some(Type::Const(Value::UNDEFINED.0)),
                _ => None,
            };
            if let Some(t) = returned {
                let t = if t == Type::Unset { Type::Boxed } else { t };
                analysis.result = Some(analysis.result.map_or(t, |old| old.join(t)));
            }
        }
        if !alive {
            continue;
        }
        let last = &body.insts[block.end - 1];
        for (edge, &target) in block.next.iter().enumerate() {
            let mut out = on_edge(last, &state, edge);
            let live_in = &body.live[body.blocks[target].first];
            for (r, t) in out.iter_mut().enumerate() {
                if !live_in.has(r) {
                    *t = Type::Unset;
                }
            }
            let joined = match &analysis.entry[target] {
                None => out,
                Some(old) => {
                    let widen = body.blocks[target].is_loop && visits[target] > 1 || visits[target] > 20;
                    old.iter()
                        .zip(&out)
                        .map(|(&old, &new)| {
                            let joined = old.join(new);
                            if widen { old.widen(joined) } else { joined }
                        })
                        .collect()
                }
            };
            if analysis.entry[target].as_ref() != Some(&joined) {
                analysis.entry[target] = Some(joined);
                visits[target] += 1;
                work.insert(target);
            }
        }
    }
    analysis
}

fn reason(inst: &Inst, state: &[Type]) -> String {
    if !supported(inst.op) {
        return format!("uses {}", inst.op.name());
    }
    match inst.op {
        Opcode::CallUndefined => match state[inst.reg(1) + 4] {
            Type::Const(_) => "calls a function with arguments that it is not compiled for".into(),
            _ => "calls a function that is not known at build time".into(),
        },
        Opcode::SetGlobal => "assigns a global that does not exist at build time or is constant".into(),
        Opcode::GetGlobal => "reads a global that does not exist at build time".into(),
        Opcode::LoadFunctionEnv | Opcode::LoadCallee => "has not exactly one closure at build time".into(),
        Opcode::LoadConst => "uses a string or BigInt constant".into(),
        op => format!("{} on operands that are no numbers", op.name()),
    }
}
