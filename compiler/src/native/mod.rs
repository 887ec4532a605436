//! Native code ahead of time for numeric functions: bytecode to one section of position-independent code.
//!
//! ```text
//! functions --decode--> blocks, liveness --types--> bounds and representations, to a fixpoint over all
//! functions --emit--> Cranelift --object--> code, symbols, one relocation per call --link--> section
//! ```
//!
//! Each function has an entry, called by the engine, and up to two variants: integer and double parameters.
//! Variants call each other directly. Code takes (context, position, fuel, parameters) and returns (value,
//! fuel); see the engine's `interp::native`. A guard that fails writes the live registers to the frame and
//! leaves to the interpreter *at* the guarded instruction, so nothing is done twice; out of fuel, too deep
//! and too little stack are such guards as well, so the interpreter alone throws. Invariant: same input,
//! same bytes.

mod decode;
mod emit;
mod types;

use std::collections::BTreeMap;

use zjs_engine::interp::native::{MAGIC, SECTION_HEADER, SITE_BYTES};

use decode::{Body, is_work, supported};
use types::{Analysis, Callee, INT32, Return, Type};

/// A constant of a template.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Const {
    Number(f64),
    /// Something that native code does not load.
    Other,
}

/// A memory word of the image that holds a value.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Slot {
    /// Where the value lies in every cage.
    pub address: u32,
    /// What it is in the image.
    pub value: u64,
    /// Assignments may store there, as long as it holds no hole.
    pub writable: bool,
}

/// A function that may be compiled, and what the heap says about it.
#[derive(Clone, Default, Debug)]
pub struct Function {
    pub code: Vec<u16>,
    pub constants: Vec<Const>,
    pub parameters: usize,
    pub initialized: usize,
    pub registers: usize,
    /// Cage address of its first code unit.
    pub code_address: u32,
    /// The one closure of this template in the image, if there is exactly one.
    pub closure: Option<u64>,
    /// That closure's environment.
    pub environment: Option<u64>,
    /// Global bindings by index of the name in the constants.
    pub globals: BTreeMap<u16, Slot>,
    /// Captured variables by hops and slot.
    pub captured: BTreeMap<(u16, u16), Slot>,
}

/// Native code of a set of functions.
#[derive(Debug)]
pub struct Unit {
    pub section: Vec<u8>,
    /// Per function: offset and bytes of its entry, or why it has none.
    pub functions: Vec<Result<(u32, u32), String>>,
    /// (function, 0 for integer and 1 for double parameters, offset, bytes).
    pub variants: Vec<(usize, usize, u32, u32)>,
}

/// Largest function that is compiled, in code units.
pub const CODE_UNITS_MAX: usize = 4096;
const REGISTERS_MAX: usize = 512;

/// Why the opcodes alone rule the function out, if they do.
pub fn refuse_by_opcodes(code: &[u16], registers: usize) -> Option<String> {
    if code.len() > CODE_UNITS_MAX || registers > REGISTERS_MAX {
        return Some("too large".into());
    }
    match Body::decode(code, registers) {
        Ok(body) => refuse(&body),
        Err(reason) => Some(reason),
    }
}

fn refuse(body: &Body) -> Option<String> {
    for block in body.blocks.iter().filter(|b| !b.throws) {
        for inst in &body.insts[block.first..block.end] {
            if !supported(inst.op) {
                return Some(format!("uses {}", inst.op.name()));
            }
        }
    }
    if body.blocks[0].throws {
        return Some("always throws".into());
    }
    if !body.insts.iter().any(|i| is_work(i.op)) {
        return Some("does nothing numeric".into());
    }
    None
}

/// Names of captured variables and globals that a function refers to, for whoever gathers the facts:
/// (constant indices of GetGlobal, (hops, slot) of GetEnv).
pub fn references(code: &[u16], registers: usize) -> (Vec<u16>, Vec<(u16, u16)>) {
    use zjs_engine::bytecode::opcode::Opcode;
    let (mut globals, mut captured) = (Vec::new(), Vec::new());
    if let Ok(body) = Body::decode(code, registers) {
        for inst in &body.insts {
            match inst.op {
                Opcode::GetGlobal => globals.push(inst.reg(1) as u16),
                Opcode::SetGlobal => globals.push(inst.reg(0) as u16),
                Opcode::SetEnv | Opcode::SetEnvChecked => captured.push((inst.reg(1) as u16, inst.reg(2) as u16)),
                Opcode::GetEnv | Opcode::GetEnvChecked => captured.push((inst.reg(2) as u16, inst.reg(3) as u16)),
                _ => {}
            }
        }
    }
    (globals, captured)
}

/// What the analysis may ask.
pub(crate) trait Facts {
    fn constant(&self, function: usize, index: usize) -> Const;
    fn global(&self, function: usize, index: usize) -> Option<Slot>;
    fn environment(&self, function: usize) -> Option<u64>;
    fn own_closure(&self, function: usize) -> Option<u64>;
    fn environment_slot(&self, function: usize, hops: usize, slot: usize) -> Option<Slot>;
    /// The function that a closure value belongs to, if it is compiled.
    fn closure(&self, value: u64) -> Option<usize>;
    fn parameter_count(&self, function: usize) -> usize;
    fn has_variant(&self, function: usize, variant: usize) -> bool;
    /// How a variant returns, as far as is known.
    fn result(&self, callee: Callee) -> Option<Return>;
}

struct World<'a> {
    functions: &'a [Function],
    closures: &'a BTreeMap<u64, usize>,
    variants: Vec<[bool; 2]>,
    results: Vec<[Option<Type>; 2]>,
}

impl Facts for World<'_> {
    fn constant(&self, function: usize, index: usize) -> Const {
        self.functions[function].constants.get(index).copied().unwrap_or(Const::Other)
    }

    fn global(&self, function: usize, index: usize) -> Option<Slot> {
        self.functions[function].globals.get(&(index as u16)).copied()
    }

    fn own_closure(&self, function: usize) -> Option<u64> {
        self.functions[function].closure
    }

    fn environment(&self, function: usize) -> Option<u64> {
        self.functions[function].environment
    }

    fn environment_slot(&self, function: usize, hops: usize, slot: usize) -> Option<Slot> {
        self.functions[function].captured.get(&(hops as u16, slot as u16)).copied()
    }

    fn closure(&self, value: u64) -> Option<usize> {
        let function = *self.closures.get(&value)?;
        self.variants[function].contains(&true).then_some(function)
    }

    fn parameter_count(&self, function: usize) -> usize {
        self.functions[function].parameters
    }

    fn has_variant(&self, function: usize, variant: usize) -> bool {
        self.variants[function][variant]
    }

    fn result(&self, callee: Callee) -> Option<Return> {
        self.results[callee.function][callee.variant].map(|t| Return::of(Some(t)))
    }
}

/// Parameters that a function reads.
fn live_parameters(function: &Function, body: &Body) -> Vec<usize> {
    (0..function.parameters).filter(|&p| body.live[0].has(p)).collect()
}

/// Types of the registers when variant `variant` starts.
fn entry_types(function: &Function, body: &Body, variant: usize) -> Vec<Type> {
    (0..function.registers)
        .map(|r| {
            if !body.live[0].has(r) {
                Type::Unset
            } else if r < function.parameters {
                if variant == 0 { INT32 } else { Type::Double }
            } else if r < function.initialized {
                Type::Const(zjs_engine::value::Value::UNDEFINED.0)
            } else {
                Type::Unset
            }
        })
        .collect()
}

/// Compiles what can be compiled of `functions`; `closures` says which closure values of the image belong
/// to which function.
///
/// # Errors
/// When the code generator fails, which is a defect.
pub fn compile(functions: &[Function], closures: &BTreeMap<u64, usize>) -> Result<Unit, String> {
    let mut reasons: Vec<Option<String>> = vec![None; functions.len()];
    let mut bodies: Vec<Option<Body>> = Vec::with_capacity(functions.len());
    for (i, function) in functions.iter().enumerate() {
        let body = Body::decode(&function.code, function.registers).and_then(|body| match refuse(&body) {
            Some(reason) => Err(reason),
            None => Ok(body),
        });
        match body {
            Ok(body) => bodies.push(Some(body)),
            Err(reason) => {
                reasons[i] = Some(reason);
                bodies.push(None);
            }
        }
    }
    let live: Vec<Vec<usize>> =
        functions.iter().zip(&bodies).map(|(f, b)| b.as_ref().map_or(Vec::new(), |b| live_parameters(f, b))).collect();
    let variants =
        (0..functions.len()).map(|i| [bodies[i].is_some(), bodies[i].is_some() && !live[i].is_empty()]).collect();
    let mut world = World { functions, closures, variants, results: Vec::new() };
    let analyses = loop {
        let analyses = solve(&mut world, &bodies, &live);
        let mut changed = false;
        for (&(i, variant), analysis) in &analyses {
            if let Some(reason) = &analysis.dead_end {
                world.variants[i][variant] = false;
                reasons[i].get_or_insert_with(|| reason.clone());
                changed = true;
            }
        }
        if !changed {
            break analyses;
        }
    };
    let mut emitter = emit::Emitter::new()?;
    for &(i, variant) in analyses.keys() {
        let result = Return::of(world.results[i][variant]);
        emitter.declare(Callee { function: i, variant }, result, live[i].len())?;
    }
    for (&(i, variant), analysis) in &analyses {
        let Some(body) = &bodies[i] else { continue };
        emitter.variant(&world, functions, Callee { function: i, variant }, body, analysis, &live)?;
    }
    for (i, function) in functions.iter().enumerate() {
        if world.variants[i].contains(&true) {
            emitter.entry(&world, function, i, &live[i], bodies[i].as_ref())?;
        }
    }
    let linked = emitter.finish()?;
    let functions = (0..functions.len())
        .map(|i| match linked.entries.get(&i) {
            Some(&at) => Ok(at),
            None => Err(reasons[i].clone().unwrap_or_else(|| "its operands are no numbers".into())),
        })
        .collect();
    Ok(Unit { section: linked.section, functions, variants: linked.variants })
}

type Analyses = BTreeMap<(usize, usize), Analysis>;

/// Analyses all variants until what they return changes no more.
fn solve(world: &mut World, bodies: &[Option<Body>], live: &[Vec<usize>]) -> Analyses {
    let count = world.functions.len();
    world.results = vec![[None; 2]; count];
    let live_of = |f: usize| live[f].clone();
    let mut analyses = Analyses::new();
    for assume_boxed in [false, true] {
        if assume_boxed {
            // What never returns may still be called: its result is any value.
            for i in 0..count {
                for variant in 0..2 {
                    if world.variants[i][variant] && world.results[i][variant].is_none() {
                        world.results[i][variant] = Some(Type::Boxed);
                    }
                }
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for (i, body) in bodies.iter().enumerate().take(count) {
                let Some(body) = body else { continue };
                for variant in 0..2 {
                    if !world.variants[i][variant] {
                        continue;
                    }
                    let entry = entry_types(&world.functions[i], body, variant);
                    let analysis = types::analyze(&*world, i, body, entry, &live_of);
                    let old = world.results[i][variant];
                    let new = match (old, analysis.result) {
                        (Some(old), Some(new)) => Some(old.widen(old.join(new))),
                        (old, new) => old.or(new),
                    };
                    if new != old {
                        world.results[i][variant] = new;
                        changed = true;
                    }
                    analyses.insert((i, variant), analysis);
                }
            }
        }
    }
    analyses
}

/// A finished section.
pub(crate) struct Linked {
    pub section: Vec<u8>,
    /// Entry offset and bytes by function.
    pub entries: BTreeMap<usize, (u32, u32)>,
    /// (function, variant, offset, bytes).
    pub variants: Vec<(usize, usize, u32, u32)>,
}

/// Puts header, code and call-site table together; rows are (return offset, distance, return pc, closure).
pub(crate) fn assemble(code: &[u8], mut sites: Vec<[u32; 4]>) -> Vec<u8> {
    sites.sort();
    let mut section = Vec::with_capacity(code.len() + 64);
    let table = (SECTION_HEADER as usize + code.len()).next_multiple_of(16);
    section.extend_from_slice(&MAGIC.to_le_bytes());
    section.extend_from_slice(&(table as u32).to_le_bytes());
    section.extend_from_slice(&(sites.len() as u32).to_le_bytes());
    section.resize(SECTION_HEADER as usize, 0);
    section.extend_from_slice(code);
    section.resize(table, 0);
    for row in sites {
        debug_assert_eq!(SITE_BYTES as usize, 4 * row.len());
        row.iter().for_each(|word| section.extend_from_slice(&word.to_le_bytes()));
    }
    section
}
