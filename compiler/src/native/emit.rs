//! From typed blocks to machine code: one Cranelift function per variant and per entry.
//!
//! Registers of the bytecode are variables, one for integers, booleans and boxed values and one for doubles;
//! types say which one counts. Edges convert. Guards jump to cold blocks that are filled at the end: each
//! writes the live registers to the frame and ends in one tail, which tells the engine.

use std::collections::BTreeMap;

use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::types::{F64, I8, I32, I64};
use cranelift_codegen::ir::{AbiParam, Block, FuncRef, InstBuilder, MemFlagsData, Signature, UserFuncName, Value};
use cranelift_codegen::isa::CallConv;
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext, Variable};
use cranelift_module::{FuncId, Linkage, Module};
use cranelift_object::{ObjectBuilder, ObjectModule};
use object::{Object, ObjectSection, ObjectSymbol, RelocationTarget};
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::cage::{PAGE_BYTES, STACK_END};
use zjs_engine::interp::native as run;
use zjs_engine::interp::{CALLEE, HEADER_BYTES};
use zjs_engine::value::{CANONICAL_NAN, TAG_INT, TAG_OBJECT, Value as Js};

use super::decode::{Body, Inst};
use super::types::*;
use super::{Const, Facts, Function, Linked, World, assemble, entry_types};

const NOT_NUMBER: u64 = (TAG_INT + 1) << 48;
const INT_BITS: u64 = TAG_INT << 48;

fn flags() -> MemFlagsData {
    MemFlagsData::trusted()
}

/// One direct call: who is called, and the row of the call-site table (without the return offset).
struct Site {
    target: FuncId,
    /// (distance, return address in bytecode, closure); none for calls by entries.
    row: Option<[u32; 3]>,
}

/// Code generation of one section.
pub struct Emitter {
    module: ObjectModule,
    variants: BTreeMap<Callee, (FuncId, Signature)>,
    entries: BTreeMap<usize, FuncId>,
    sites: Vec<Site>,
    frontend: FunctionBuilderContext,
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

impl Emitter {
    pub fn new() -> Result<Emitter, String> {
        let mut builder = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("is_pic", "true"),
            ("enable_pinned_reg", "true"),
            ("preserve_frame_pointers", "true"),
            ("enable_probestack", "false"),
            ("unwind_info", "false"),
            ("enable_verifier", "true"),
        ] {
            builder.set(name, value).map_err(text)?;
        }
        let triple: target_lexicon::Triple = "x86_64-unknown-linux-gnu".parse().map_err(|_| "unknown target")?;
        let isa = cranelift_codegen::isa::lookup(triple)
            .map_err(text)?
            .finish(settings::Flags::new(builder))
            .map_err(text)?;
        let builder = ObjectBuilder::new(isa, "zjs", cranelift_module::default_libcall_names()).map_err(text)?;
        Ok(Emitter {
            module: ObjectModule::new(builder),
            variants: BTreeMap::new(),
            entries: BTreeMap::new(),
            sites: Vec::new(),
            frontend: FunctionBuilderContext::new(),
        })
    }

    pub fn declare(&mut self, callee: Callee, result: Return, parameters: usize) -> Result<(), String> {
        let mut signature = Signature::new(CallConv::SystemV);
        for _ in 0..3 {
            signature.params.push(AbiParam::new(I64));
        }
        let parameter = if callee.variant == 0 { I64 } else { F64 };
        for _ in 0..parameters {
            signature.params.push(AbiParam::new(parameter));
        }
        signature.returns.push(AbiParam::new(if result == Return::Double { F64 } else { I64 }));
        signature.returns.push(AbiParam::new(I64));
        let name = format!("f{}_{}", callee.function, callee.variant);
        let id = self.module.declare_function(&name, Linkage::Local, &signature).map_err(text)?;
        self.variants.insert(callee, (id, signature));
        Ok(())
    }

    pub fn variant(
        &mut self,
        world: &World,
        functions: &[Function],
        me: Callee,
        body: &Body,
        analysis: &Analysis,
        live: &[Vec<usize>],
    ) -> Result<(), String> {
        let (id, signature) = self.variants[&me].clone();
        let mut context = self.module.make_context();
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut frontend = std::mem::take(&mut self.frontend);
        let builder = FunctionBuilder::new(&mut context.func, &mut frontend);
        let result = world.result(me).unwrap_or(Return::Boxed);
        let mut code = Code {
            b: builder,
            world,
            functions,
            me: me.function,
            body,
            analysis,
            live,
            result,
            ints: vec![None; body.registers],
            doubles: vec![None; body.registers],
            fuel: Variable::from_u32(0),
            context: Value::from_u32(0),
            position: Value::from_u32(0),
            blocks: Vec::new(),
            exits: Vec::new(),
            edges: Vec::new(),
            tail: Block::from_u32(0),
            special: Block::from_u32(0),
            exit_here: None,
            state: Vec::new(),
            unsigned_zeros: Vec::new(),
            emitter: self,
        };
        code.run(me.variant)?;
        let config = code.emitter.module.target_config();
        code.b.finalize(config);
        self.frontend = frontend;
        self.module.define_function(id, &mut context).map_err(|e| format!("{e:?}"))
    }

    /// A function reference whose relocation names the call.
    fn call_site(
        &mut self,
        func: &mut cranelift_codegen::ir::Function,
        callee: Callee,
        row: Option<[u32; 3]>,
    ) -> Result<FuncRef, String> {
        let (target, signature) = self.variants[&callee].clone();
        let name = format!("s{}", self.sites.len());
        self.sites.push(Site { target, row });
        let id = self.module.declare_function(&name, Linkage::Import, &signature).map_err(text)?;
        let reference = self.module.declare_func_in_func(id, func);
        func.dfg.ext_funcs[reference].colocated = true;
        Ok(reference)
    }

    /// The function that the engine calls: checks the parameters in the frame and picks a variant.
    pub fn entry(
        &mut self,
        world: &World,
        function: &Function,
        me: usize,
        live: &[usize],
        body: Option<&Body>,
    ) -> Result<(), String> {
        let mut signature = Signature::new(CallConv::SystemV);
        for _ in 0..3 {
            signature.params.push(AbiParam::new(I64));
        }
        signature.returns.push(AbiParam::new(I64));
        let id = self.module.declare_function(&format!("e{me}"), Linkage::Export, &signature).map_err(text)?;
        self.entries.insert(me, id);
        let mut context = self.module.make_context();
        context.func.signature = signature;
        context.func.name = UserFuncName::user(0, id.as_u32());
        let mut frontend = std::mem::take(&mut self.frontend);
        let mut b = FunctionBuilder::new(&mut context.func, &mut frontend);
        let start = b.create_block();
        b.append_block_params_for_function_params(start);
        b.switch_to_block(start);
        let [ctx, position, fuel] = [0, 1, 2].map(|i| b.block_params(start)[i]);
        let base = b.ins().get_pinned_reg(I64);
        let fp = b.ins().ireduce(I32, position);
        let fp = b.ins().uextend(I64, fp);
        let frame = b.ins().iadd(base, fp);
        let not_now = b.create_block();
        let uses_environment =
            body.is_some_and(|b| b.insts.iter().any(|i| matches!(i.op, Opcode::LoadFunctionEnv | Opcode::LoadCallee)));
        if let (true, Some(closure)) = (uses_environment, function.closure) {
            let callee = b.ins().load(I64, flags(), frame, -(CALLEE as i32));
            let expected = constant(&mut b, closure);
            let same = b.ins().icmp(IntCC::Equal, callee, expected);
            let next = b.create_block();
            b.ins().brif(same, next, &[], not_now, &[]);
            b.switch_to_block(next);
        }
        let values: Vec<Value> = live.iter().map(|&p| b.ins().load(I64, flags(), frame, 8 * p as i32)).collect();
        let [ints, doubles] = world.variants[me];
        let doubles_block = b.create_block();
        if ints {
            if !values.is_empty() {
                let tag = constant(&mut b, TAG_INT);
                let shift = constant(&mut b, 48);
                let mut all = None;
                for &v in &values {
                    let t = b.ins().ushr(v, shift);
                    let is_int = b.ins().icmp(IntCC::Equal, t, tag);
                    all = Some(match all {
                        Some(all) => b.ins().band(all, is_int),
                        None => is_int,
                    });
                }
                let next = b.create_block();
                if let Some(all) = all {
                    b.ins().brif(all, next, &[], doubles_block, &[]);
                }
                b.switch_to_block(next);
            }
            let arguments: Vec<Value> = values
                .iter()
                .map(|&v| {
                    let low = b.ins().ireduce(I32, v);
                    b.ins().sextend(I64, low)
                })
                .collect();
            self.enter(world, &mut b, Callee { function: me, variant: 0 }, [ctx, position, fuel], &arguments)?;
            if values.is_empty() {
                b.switch_to_block(doubles_block);
                b.ins().jump(not_now, &[]);
            } else {
                b.switch_to_block(doubles_block);
            }
        } else {
            b.ins().jump(doubles_block, &[]);
            b.switch_to_block(doubles_block);
        }
        if !(ints && values.is_empty()) {
            if doubles {
                let limit = constant(&mut b, NOT_NUMBER);
                let mut all = None;
                for &v in &values {
                    let is_number = b.ins().icmp(IntCC::UnsignedLessThan, v, limit);
                    all = Some(match all {
                        Some(all) => b.ins().band(all, is_number),
                        None => is_number,
                    });
                }
                let next = b.create_block();
                match all {
                    Some(all) => b.ins().brif(all, next, &[], not_now, &[]),
                    None => b.ins().jump(next, &[]),
                };
                b.switch_to_block(next);
                let arguments: Vec<Value> = values.iter().map(|&v| unbox_number(&mut b, v)).collect();
                self.enter(world, &mut b, Callee { function: me, variant: 1 }, [ctx, position, fuel], &arguments)?;
            } else {
                b.ins().jump(not_now, &[]);
            }
        }
        b.switch_to_block(not_now);
        let status = constant(&mut b, run::ENTERED_NOT_NOW);
        b.ins().return_(&[status]);
        b.seal_all_blocks();
        let config = self.module.target_config();
        b.finalize(config);
        self.frontend = frontend;
        self.module.define_function(id, &mut context).map_err(|e| format!("{e:?}"))
    }

    fn enter(
        &mut self,
        world: &World,
        b: &mut FunctionBuilder,
        callee: Callee,
        leading: [Value; 3],
        arguments: &[Value],
    ) -> Result<(), String> {
        let reference = self.call_site(b.func, callee, None)?;
        let all: Vec<Value> = leading.iter().chain(arguments).copied().collect();
        let call = b.ins().call(reference, &all);
        let [value, fuel] = [0, 1].map(|i| b.inst_results(call)[i]);
        let zero = constant(b, 0);
        let special = b.ins().icmp(IntCC::SignedLessThan, fuel, zero);
        let (special_block, normal) = (b.create_block(), b.create_block());
        b.ins().brif(special, special_block, &[], normal, &[]);
        b.switch_to_block(special_block);
        b.set_cold_block(special_block);
        let boxed = constant(b, run::STATUS_BOXED as u64);
        let is_boxed = b.ins().icmp(IntCC::Equal, fuel, boxed);
        let status = b.ins().select(is_boxed, zero, fuel);
        b.ins().return_(&[status]);
        b.switch_to_block(normal);
        let t = world.result(callee).unwrap_or(Return::Boxed).as_type();
        let value = box_value(b, t, value);
        b.ins().store(flags(), value, leading[0], run::CONTEXT_RESULT);
        b.ins().store(flags(), fuel, leading[0], run::CONTEXT_FUEL);
        let returned = constant(b, run::ENTERED_RETURNED);
        b.ins().return_(&[returned]);
        Ok(())
    }

    /// Reads the object back and resolves its calls.
    pub fn finish(self) -> Result<Linked, String> {
        let bytes = self.module.finish().emit().map_err(text)?;
        let file = object::File::parse(&*bytes).map_err(text)?;
        let Some(section) = file.section_by_name(".text") else {
            return Ok(Linked { section: Vec::new(), entries: BTreeMap::new(), variants: Vec::new() });
        };
        let mut code = section.data().map_err(text)?.to_vec();
        let mut places = BTreeMap::new();
        for symbol in file.symbols() {
            if symbol.section_index() == Some(section.index())
                && let Ok(name) = symbol.name()
            {
                places.insert(name.to_string(), (symbol.address() as u32, symbol.size() as u32));
            }
        }
        let mut of_variant = BTreeMap::new();
        for (callee, (id, _)) in &self.variants {
            if let Some(&place) = places.get(&format!("f{}_{}", callee.function, callee.variant)) {
                of_variant.insert(*id, place);
            }
        }
        let mut sites = Vec::new();
        for (at, relocation) in section.relocations() {
            let pc_relative = matches!(
                relocation.flags(),
                object::RelocationFlags::Elf { r_type: object::elf::R_X86_64_PC32 | object::elf::R_X86_64_PLT32 }
            );
            let site = match relocation.target() {
                RelocationTarget::Symbol(index) => file
                    .symbol_by_index(index)
                    .ok()
                    .and_then(|s| s.name().ok()?.strip_prefix('s')?.parse::<usize>().ok())
                    .and_then(|n| self.sites.get(n)),
                _ => None,
            };
            let (true, Some(site)) = (pc_relative, site) else {
                return Err(format!("relocation {:?} at {at:#x} is not a call inside the section", relocation.flags()));
            };
            let (target, _) = of_variant.get(&site.target).ok_or("call of a function without code")?;
            let value = i64::from(*target) + relocation.addend() - at as i64;
            let value = i32::try_from(value).map_err(text)?;
            code[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes());
            if let Some([distance, pc, closure]) = site.row {
                sites.push([run::SECTION_HEADER + at as u32 + 4, distance, pc, closure]);
            }
        }
        for other in file.sections() {
            if other.index() != section.index() && other.relocations().next().is_some() {
                return Err("relocations outside the code".into());
            }
        }
        let mut entries = BTreeMap::new();
        for &function in self.entries.keys() {
            if let Some(&(at, size)) = places.get(&format!("e{function}")) {
                entries.insert(function, (run::SECTION_HEADER + at, size));
            }
        }
        let mut variants = Vec::new();
        for (callee, (id, _)) in &self.variants {
            if let Some(&(at, size)) = of_variant.get(id) {
                variants.push((callee.function, callee.variant, run::SECTION_HEADER + at, size));
            }
        }
        Ok(Linked { section: assemble(&code, sites), entries, variants })
    }
}

fn constant(b: &mut FunctionBuilder, value: u64) -> Value {
    b.ins().iconst(I64, value as i64)
}

/// A value of a register of type `t` in boxed form; `v` as its variable holds it.
fn box_value(b: &mut FunctionBuilder, t: Type, v: Value) -> Value {
    match t {
        Type::Boxed | Type::Unset => v,
        Type::Const(bits) => constant(b, bits),
        Type::Bool => {
            let f = constant(b, Js::FALSE.0);
            b.ins().bor(v, f)
        }
        Type::Int(..) => {
            let low = b.ins().ireduce(I32, v);
            let wide = b.ins().uextend(I64, low);
            let tag = constant(b, INT_BITS);
            let boxed = b.ins().bor(wide, tag);
            if t.is_int32() {
                return boxed;
            }
            let back = b.ins().sextend(I64, low);
            let fits = b.ins().icmp(IntCC::Equal, back, v);
            let double = b.ins().fcvt_from_sint(F64, v);
            let bits = b.ins().bitcast(I64, MemFlagsData::new(), double);
            b.ins().select(fits, boxed, bits)
        }
        Type::Double => {
            let i = b.ins().fcvt_to_sint_sat(I32, v);
            let back = b.ins().fcvt_from_sint(F64, i);
            let equal = b.ins().fcmp(FloatCC::Equal, back, v);
            let bits = b.ins().bitcast(I64, MemFlagsData::new(), v);
            let zero32 = b.ins().iconst(I32, 0);
            let zero = constant(b, 0);
            let not_zero = b.ins().icmp(IntCC::NotEqual, i, zero32);
            let plus_zero = b.ins().icmp(IntCC::Equal, bits, zero);
            let not_minus_zero = b.ins().bor(not_zero, plus_zero);
            let is_int = b.ins().band(equal, not_minus_zero);
            let wide = b.ins().uextend(I64, i);
            let tag = constant(b, INT_BITS);
            let int = b.ins().bor(wide, tag);
            let nan = b.ins().fcmp(FloatCC::Unordered, v, v);
            let canonical = constant(b, CANONICAL_NAN);
            let double = b.ins().select(nan, canonical, bits);
            b.ins().select(is_int, int, double)
        }
    }
}

/// The double of a boxed number.
fn unbox_number(b: &mut FunctionBuilder, v: Value) -> Value {
    let low = b.ins().ireduce(I32, v);
    let from_int = b.ins().fcvt_from_sint(F64, low);
    let direct = b.ins().bitcast(F64, MemFlagsData::new(), v);
    let first_int = constant(b, INT_BITS);
    let is_int = b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, v, first_int);
    b.ins().select(is_int, from_int, direct)
}

/// A number operand.
#[derive(Clone, Copy)]
enum Operand {
    Int(Value, i64, i64),
    Double(Value),
}

/// A guard's way out: registers to write, the instruction to go on at.
struct Exit {
    block: Block,
    pc: u32,
    registers: Vec<(usize, Type)>,
    /// A call came back with a boxed result for this register; fuel and result are in the context.
    result: Option<Option<usize>>,
}

struct Code<'a, 'b> {
    b: FunctionBuilder<'a>,
    world: &'b World<'b>,
    functions: &'b [Function],
    me: usize,
    body: &'b Body,
    analysis: &'b Analysis,
    live: &'b [Vec<usize>],
    result: Return,
    ints: Vec<Option<Variable>>,
    doubles: Vec<Option<Variable>>,
    fuel: Variable,
    context: Value,
    position: Value,
    blocks: Vec<Block>,
    exits: Vec<Exit>,
    edges: Vec<(Block, usize, Vec<Type>)>,
    tail: Block,
    special: Block,
    exit_here: Option<Block>,
    state: Vec<Type>,
    /// Registers that may hold 0 instead of -0, and the one instruction that reads each.
    unsigned_zeros: Vec<(usize, usize)>,
    emitter: &'b mut Emitter,
}

impl Code<'_, '_> {
    fn int_variable(&mut self, r: usize) -> Variable {
        *self.ints[r].get_or_insert_with(|| self.b.declare_var(I64))
    }

    fn double_variable(&mut self, r: usize) -> Variable {
        *self.doubles[r].get_or_insert_with(|| self.b.declare_var(F64))
    }

    fn use_int(&mut self, r: usize) -> Value {
        let variable = self.int_variable(r);
        self.b.use_var(variable)
    }

    fn use_double(&mut self, r: usize) -> Value {
        let variable = self.double_variable(r);
        self.b.use_var(variable)
    }

    fn define(&mut self, r: usize, t: Type, v: Value) {
        let variable = if t == Type::Double { self.double_variable(r) } else { self.int_variable(r) };
        self.b.def_var(variable, v);
    }

    fn constant(&mut self, value: u64) -> Value {
        constant(&mut self.b, value)
    }

    fn compare(&mut self, condition: IntCC, a: Value, b: u64) -> Value {
        let b = self.constant(b);
        self.b.ins().icmp(condition, a, b)
    }

    /// Boxed value of register `r` of type `t`.
    fn boxed(&mut self, r: usize, t: Type) -> Value {
        let v = match t {
            Type::Double => self.use_double(r),
            Type::Const(_) => Value::from_u32(0),
            _ => self.use_int(r),
        };
        box_value(&mut self.b, t, v)
    }

    fn pc(&self, unit: u32) -> u32 {
        self.functions[self.me].code_address + 2 * unit
    }

    fn live_types(&self, live: &super::decode::Registers, state: &[Type], except: Option<usize>) -> Vec<(usize, Type)> {
        live.iter().filter(|&r| Some(r) != except && state[r] != Type::Unset).map(|r| (r, state[r])).collect()
    }

    /// The block that leaves at instruction `i`, before its effect.
    fn exit_at(&mut self, i: usize) -> Block {
        if let Some(block) = self.exit_here {
            return block;
        }
        let block = self.b.create_block();
        let registers = self.live_types(&self.body.live[i], &self.state, None);
        self.exits.push(Exit { block, pc: self.pc(self.body.insts[i].at), registers, result: None });
        self.exit_here = Some(block);
        block
    }

    /// Leaves at instruction `i` where `condition` holds.
    fn leave_if(&mut self, i: usize, condition: Value) {
        let exit = self.exit_at(i);
        let next = self.b.create_block();
        self.b.ins().brif(condition, exit, &[], next, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    fn run(&mut self, variant: usize) -> Result<(), String> {
        let start = self.b.create_block();
        self.b.append_block_params_for_function_params(start);
        self.b.switch_to_block(start);
        self.b.seal_block(start);
        let parameters = self.b.block_params(start).to_vec();
        self.context = parameters[0];
        self.position = parameters[1];
        self.fuel = self.b.declare_var(I64);
        self.b.def_var(self.fuel, parameters[2]);
        self.tail = self.b.create_block();
        self.special = self.b.create_block();
        for _ in &self.body.blocks {
            let block = self.b.create_block();
            self.blocks.push(block);
        }
        let entry = entry_types(&self.functions[self.me], self.body, variant);
        let live = self.live[self.me].clone();
        for (i, &p) in live.iter().enumerate() {
            self.define(p, entry[p], parameters[3 + i]);
        }
        self.state = entry;
        if self.body.has_call() {
            self.check_depth();
        }
        let state = self.state.clone();
        let first = self.edge(0, state);
        self.b.ins().jump(first, &[]);
        for index in 0..self.body.blocks.len() {
            let block = self.blocks[index];
            self.b.switch_to_block(block);
            match &self.analysis.entry[index] {
                Some(entry) => {
                    self.state = entry.clone();
                    self.block(index)?;
                }
                None => {
                    // Never reached: no edge leads here.
                    let status = self.constant(run::STATUS_THREW as u64);
                    self.b.ins().jump(self.special, &[status.into()]);
                }
            }
        }
        self.finish_edges();
        self.finish_exits();
        self.finish_tail();
        self.b.seal_all_blocks();
        Ok(())
    }

    /// Functions that call leave at once where the callee could not be entered.
    fn check_depth(&mut self) {
        self.exit_here = None;
        let limit = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_DEPTH_LIMIT);
        let deep = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, self.position, limit);
        self.leave_if(0, deep);
        let sp = self.b.ins().get_stack_pointer(I64);
        let limit = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_STACK_LIMIT);
        let low = self.b.ins().icmp(IntCC::UnsignedLessThan, sp, limit);
        self.leave_if(0, low);
        let most = self.functions.iter().map(|f| f.registers).max().unwrap_or(0) + self.body.registers;
        let limit = STACK_END - 512 - HEADER_BYTES - 8 * most as u32;
        let fp = self.b.ins().ireduce(I32, self.position);
        let limit = self.b.ins().iconst(I32, i64::from(limit));
        let high = self.b.ins().icmp(IntCC::UnsignedGreaterThan, fp, limit);
        self.leave_if(0, high);
        self.exit_here = None;
    }

    /// The block to jump to for bytecode block `target` with registers as in `state`: itself, or one that
    /// converts first.
    fn edge(&mut self, target: usize, state: Vec<Type>) -> Block {
        let live = &self.body.live[self.body.blocks[target].first];
        let convert = match &self.analysis.entry[target] {
            Some(entry) => live.iter().any(|r| needs_conversion(state[r], entry[r])),
            None => false,
        };
        if !convert {
            return self.blocks[target];
        }
        let block = self.b.create_block();
        self.edges.push((block, target, state));
        block
    }

    fn finish_edges(&mut self) {
        for (block, target, state) in std::mem::take(&mut self.edges) {
            self.b.switch_to_block(block);
            let body = self.body;
            let analysis = self.analysis;
            if let Some(entry) = &analysis.entry[target] {
                for r in body.live[body.blocks[target].first].iter() {
                    if !needs_conversion(state[r], entry[r]) {
                        continue;
                    }
                    if entry[r] == Type::Double {
                        let v = self.use_int(r);
                        let d = self.b.ins().fcvt_from_sint(F64, v);
                        self.define(r, Type::Double, d);
                    } else {
                        let v = self.boxed(r, state[r]);
                        self.define(r, Type::Boxed, v);
                    }
                }
            }
            self.b.ins().jump(self.blocks[target], &[]);
        }
    }

    fn finish_exits(&mut self) {
        for exit in std::mem::take(&mut self.exits) {
            self.b.switch_to_block(exit.block);
            self.b.set_cold_block(exit.block);
            let base = self.b.ins().get_pinned_reg(I64);
            let fp = self.b.ins().ireduce(I32, self.position);
            let fp = self.b.ins().uextend(I64, fp);
            let frame = self.b.ins().iadd(base, fp);
            for (r, t) in exit.registers {
                let v = self.boxed(r, t);
                self.b.ins().store(flags(), v, frame, 8 * r as i32);
            }
            let mut fuel = self.b.use_var(self.fuel);
            if let Some(destination) = exit.result {
                if let Some(r) = destination {
                    let v = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_RESULT);
                    self.b.ins().store(flags(), v, frame, 8 * r as i32);
                }
                fuel = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_FUEL);
            }
            let pc = self.constant(exit.pc.into());
            self.b.ins().jump(self.tail, &[pc.into(), fuel.into()]);
        }
    }

    fn finish_tail(&mut self) {
        let pc = self.b.append_block_param(self.tail, I64);
        let fuel = self.b.append_block_param(self.tail, I64);
        self.b.switch_to_block(self.tail);
        self.b.set_cold_block(self.tail);
        let frame = self.b.ins().get_frame_pointer(I64);
        let (index, value_type) = match self.result {
            Return::Int(..) => (run::LEAVE_INT, I64),
            Return::Double => (run::LEAVE_DOUBLE, F64),
            Return::Boxed => (run::LEAVE_BOXED, I64),
        };
        let results =
            self.call_engine(index, &[self.context, self.position, fuel, pc, frame], &[I64; 5], &[value_type, I64]);
        let (value, fuel) = (results[0], results[1]);
        match self.result {
            Return::Int(low, high) if (low, high) != (-LIMIT, LIMIT) => {
                // The interpreter may return other integers than this code does.
                let below = self.compare(IntCC::SignedLessThan, value, low as u64);
                let above = self.compare(IntCC::SignedGreaterThan, value, high as u64);
                let outside = self.b.ins().bor(below, above);
                let returned = self.compare(IntCC::SignedGreaterThanOrEqual, fuel, 0);
                let other = self.b.ins().band(outside, returned);
                let boxed = self.constant(run::STATUS_BOXED as u64);
                let fuel = self.b.ins().select(other, boxed, fuel);
                self.b.ins().return_(&[value, fuel]);
            }
            _ => {
                self.b.ins().return_(&[value, fuel]);
            }
        }
        let status = self.b.append_block_param(self.special, I64);
        self.b.switch_to_block(self.special);
        self.b.set_cold_block(self.special);
        let value = if self.result == Return::Double { self.b.ins().f64const(0.0) } else { self.constant(0) };
        self.b.ins().return_(&[value, status]);
    }

    /// Calls an entry point of the engine.
    fn call_engine(
        &mut self,
        index: usize,
        arguments: &[Value],
        parameters: &[cranelift_codegen::ir::Type],
        results: &[cranelift_codegen::ir::Type],
    ) -> Vec<Value> {
        let mut signature = Signature::new(CallConv::SystemV);
        signature.params.extend(parameters.iter().map(|&t| AbiParam::new(t)));
        signature.returns.extend(results.iter().map(|&t| AbiParam::new(t)));
        let signature = self.b.import_signature(signature);
        let table = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_TABLE);
        let target = self.b.ins().load(I64, flags(), table, 8 * index as i32);
        let call = self.b.ins().call_indirect(signature, target, arguments);
        self.b.inst_results(call).to_vec()
    }

    fn block(&mut self, index: usize) -> Result<(), String> {
        let body = self.body;
        let block = &body.blocks[index];
        for i in block.first..block.end {
            self.exit_here = None;
            if !self.inst(i, index)? {
                return Ok(());
            }
        }
        // The next block starts because something jumps to it.
        let state = self.state.clone();
        let target = self.edge(block.next[0], state);
        self.b.ins().jump(target, &[]);
        Ok(())
    }

    /// Emits instruction `i`; false if the block has ended.
    fn inst(&mut self, i: usize, block: usize) -> Result<bool, String> {
        use Opcode::*;
        let body = self.body;
        let inst = &body.insts[i];
        let mut after = self.state.clone();
        let world = self.world;
        let live = self.live;
        let live_of = |f: usize| live[f].clone();
        let flow = step(world, self.me, inst, &mut after, &live_of);
        if flow != Flow::Next {
            let exit = self.exit_at(i);
            self.b.ins().jump(exit, &[]);
            return Ok(false);
        }
        let next = &body.blocks[block].next;
        let destination = inst.reg(0);
        match inst.op {
            LoadUndefined | LoadNull | LoadCallee | LoadFunctionEnv => {}
            LoadTrue | LoadFalse => {
                let v = self.constant(u64::from(inst.op == LoadTrue));
                self.define(destination, Type::Bool, v);
            }
            LoadInt => {
                let v = self.constant(i64::from(inst.operands[1]) as u64);
                self.define(destination, after[destination], v);
            }
            LoadConst => {
                let Const::Number(n) = world.constant(self.me, inst.reg(1)) else { return Err("constant".into()) };
                let v = match integer(n) {
                    Some(i) => self.constant(i as u64),
                    None => self.b.ins().f64const(n),
                };
                self.define(destination, after[destination], v);
            }
            Move => {
                let source = inst.reg(1);
                match self.state[source] {
                    Type::Const(_) | Type::Unset => {}
                    Type::Double => {
                        let v = self.use_double(source);
                        self.define(destination, Type::Double, v);
                    }
                    t => {
                        let v = self.use_int(source);
                        self.define(destination, t, v);
                    }
                }
            }
            GetGlobal | GetEnv | GetEnvChecked => {
                let slot = match inst.op {
                    GetGlobal => world.global(self.me, inst.reg(1)),
                    _ => world.environment_slot(self.me, inst.reg(2), inst.reg(3)),
                };
                let Some(slot) = slot else { return Err("slot".into()) };
                let base = self.b.ins().get_pinned_reg(I64);
                let v = self.b.ins().load(I64, flags(), base, slot.address as i32);
                if let Type::Const(bits) = after[destination] {
                    let changed = self.compare(IntCC::NotEqual, v, bits);
                    self.leave_if(i, changed);
                } else {
                    // Holes and lazy values have the largest bits.
                    if inst.op != GetEnv {
                        let hole = self.compare(IntCC::UnsignedGreaterThanOrEqual, v, Js::HOLE.0);
                        self.leave_if(i, hole);
                    }
                    self.define(destination, Type::Boxed, v);
                }
            }
            SetGlobal | SetEnv | SetEnvChecked => {
                let Some((slot, source)) = stored_slot(world, self.me, inst, &self.state) else {
                    return Err("slot".into());
                };
                let base = self.b.ins().get_pinned_reg(I64);
                if inst.op != SetEnv {
                    let old = self.b.ins().load(I64, flags(), base, slot.address as i32);
                    let hole = self.compare(IntCC::UnsignedGreaterThanOrEqual, old, Js::HOLE.0);
                    self.leave_if(i, hole);
                }
                let v = self.boxed(source, self.state[source]);
                let dirty = self.b.ins().load(I64, flags(), self.context, run::CONTEXT_DIRTY);
                let one = self.b.ins().iconst(I8, 1);
                self.b.ins().store(flags(), one, dirty, (slot.address / PAGE_BYTES) as i32);
                self.b.ins().store(flags(), v, base, slot.address as i32);
            }
            CallUndefined => self.call(i, inst, &after, &live_of)?,
            Return | ReturnUndefined => {
                let value = if inst.op == ReturnUndefined {
                    self.constant(Js::UNDEFINED.0)
                } else {
                    let t = self.state[destination];
                    match self.result {
                        self::Return::Boxed => self.boxed(destination, t),
                        self::Return::Int(..) => self.use_int(destination),
                        self::Return::Double if t == Type::Double => self.use_double(destination),
                        self::Return::Double => {
                            let v = self.use_int(destination);
                            self.b.ins().fcvt_from_sint(F64, v)
                        }
                    }
                };
                let fuel = self.b.use_var(self.fuel);
                self.b.ins().return_(&[value, fuel]);
                return Ok(false);
            }
            Jump | Loop => {
                if inst.op == Loop {
                    self.charge(i);
                }
                let target = self.edge(next[0], after);
                self.b.ins().jump(target, &[]);
                return Ok(false);
            }
            Negate => match self.number(i, inst.reg(1)) {
                Operand::Int(v, low, high) => {
                    if low <= 0 && high >= 0 && self.minus_zero_matters(i) {
                        let zero = self.compare(IntCC::Equal, v, 0);
                        self.leave_if(i, zero);
                    }
                    let v = self.b.ins().ineg(v);
                    self.define(destination, after[destination], v);
                }
                Operand::Double(v) => {
                    let v = self.b.ins().fneg(v);
                    self.define(destination, Type::Double, v);
                }
            },
            BitNot => {
                let a = self.number(i, inst.reg(1));
                let v = self.int32(a);
                let v = self.b.ins().bnot(v);
                let v = self.b.ins().sextend(I64, v);
                self.define(destination, after[destination], v);
            }
            Not => {
                let v = self.truth(i, inst.reg(1));
                let one = self.b.ins().iconst(I8, 1);
                let v = self.b.ins().bxor(v, one);
                let v = self.b.ins().uextend(I64, v);
                self.define(destination, Type::Bool, v);
            }
            ToNumber | ToNumeric => match self.number(i, inst.reg(1)) {
                Operand::Int(v, ..) | Operand::Double(v) => self.define(destination, after[destination], v),
            },
            Increment | Decrement => {
                let a = self.number(i, inst.reg(1));
                let one = Operand::Int(self.constant(1), 1, 1);
                let operator = if inst.op == Increment { Operator::Add } else { Operator::Sub };
                self.arithmetic(i, operator, a, one, destination, after[destination]);
            }
            JumpIfTrue | JumpIfFalse | JumpIfUndefined | JumpIfNotUndefined => {
                let condition = match inst.op {
                    JumpIfTrue | JumpIfFalse => self.truth(i, destination),
                    _ => match self.state[destination] {
                        Type::Boxed => {
                            let v = self.use_int(destination);
                            self.compare(IntCC::Equal, v, Js::UNDEFINED.0)
                        }
                        t => {
                            let is = t == Type::Const(Js::UNDEFINED.0);
                            self.b.ins().iconst(I8, i64::from(is))
                        }
                    },
                };
                self.branch(inst, condition, matches!(inst.op, JumpIfTrue | JumpIfUndefined), next, &after);
                return Ok(false);
            }
            op => {
                if let Some((operator, immediate)) = operator(op) {
                    let a = self.number(i, inst.reg(1));
                    let b = if immediate {
                        let n = i64::from(inst.operands[2]);
                        Operand::Int(self.constant(n as u64), n, n)
                    } else {
                        self.number(i, inst.reg(2))
                    };
                    self.arithmetic(i, operator, a, b, destination, after[destination]);
                } else if let Some((condition, jump, sense)) = comparison(op) {
                    let first = if jump { 0 } else { 1 };
                    let (x, y) = (inst.reg(first), inst.reg(first + 1));
                    let a = self.number(i, x);
                    let b = self.number(i, y);
                    let holds = self.holds(condition, a, b);
                    if jump {
                        self.branch(inst, holds, sense, next, &after);
                        return Ok(false);
                    }
                    let v = self.b.ins().uextend(I64, holds);
                    self.define(destination, Type::Bool, v);
                } else {
                    return Err(format!("{} has no native form", op.name()));
                }
            }
        }
        self.state = after;
        Ok(true)
    }

    fn branch(&mut self, inst: &Inst, condition: Value, sense: bool, next: &[usize], state: &[Type]) {
        let on = [on_edge(inst, state, 0), on_edge(inst, state, 1)];
        let [fall, jump] = on;
        let fall = self.edge(next[0], fall);
        let jump = self.edge(next[1], jump);
        let (yes, no) = if sense { (jump, fall) } else { (fall, jump) };
        self.b.ins().brif(condition, yes, &[], no, &[]);
    }

    /// Charges one unit; leaves at instruction `i` where there is none left.
    fn charge(&mut self, i: usize) {
        let fuel = self.b.use_var(self.fuel);
        let one = self.constant(1);
        let rest = self.b.ins().isub(fuel, one);
        let out = self.compare(IntCC::SignedLessThan, rest, 0);
        self.leave_if(i, out);
        self.b.def_var(self.fuel, rest);
    }

    /// Register `r` as a number; leaves at instruction `i` where it is none.
    fn number(&mut self, i: usize, r: usize) -> Operand {
        match self.state[r] {
            Type::Int(low, high) => Operand::Int(self.use_int(r), low, high),
            Type::Bool => Operand::Int(self.use_int(r), 0, 1),
            Type::Double => Operand::Double(self.use_double(r)),
            _ => {
                let v = self.use_int(r);
                let other = self.compare(IntCC::UnsignedGreaterThanOrEqual, v, NOT_NUMBER);
                self.leave_if(i, other);
                Operand::Double(unbox_number(&mut self.b, v))
            }
        }
    }

    fn double(&mut self, a: Operand) -> Value {
        match a {
            Operand::Int(v, low, high) if low == high => {
                let _ = v;
                self.b.ins().f64const(low as f64)
            }
            Operand::Int(v, ..) => self.b.ins().fcvt_from_sint(F64, v),
            Operand::Double(v) => v,
        }
    }

    /// ToInt32, in 32 bits.
    fn int32(&mut self, a: Operand) -> Value {
        match a {
            Operand::Int(v, low, high) if low == high => {
                let _ = v;
                self.b.ins().iconst(I32, i64::from(low as i32))
            }
            Operand::Int(v, ..) => self.b.ins().ireduce(I32, v),
            Operand::Double(v) => {
                let wide = self.b.ins().fcvt_to_sint_sat(I64, v);
                let low = self.b.ins().ireduce(I32, wide);
                let shift = self.constant(63);
                let sign = self.b.ins().sshr(wide, shift);
                let magnitude = self.b.ins().bxor(wide, sign);
                let saturated = self.compare(IntCC::Equal, magnitude, i64::MAX as u64);
                let (slow, done) = (self.b.create_block(), self.b.create_block());
                let result = self.b.append_block_param(done, I32);
                self.b.ins().brif(saturated, slow, &[], done, &[low.into()]);
                self.b.switch_to_block(slow);
                self.b.seal_block(slow);
                self.b.set_cold_block(slow);
                let exact = self.call_engine(run::TO_INT32, &[v], &[F64], &[I32])[0];
                self.b.ins().jump(done, &[exact.into()]);
                self.b.switch_to_block(done);
                self.b.seal_block(done);
                result
            }
        }
    }

    /// Whether register `r` is true, as 0 or 1 in 8 bits.
    fn truth(&mut self, i: usize, r: usize) -> Value {
        match self.state[r] {
            Type::Int(..) | Type::Bool => {
                let v = self.use_int(r);
                self.compare(IntCC::NotEqual, v, 0)
            }
            Type::Double => {
                let v = self.use_double(r);
                let zero = self.b.ins().f64const(0.0);
                self.b.ins().fcmp(FloatCC::OrderedNotEqual, v, zero)
            }
            Type::Const(bits) => {
                let falsy = bits == Js::UNDEFINED.0 || bits == Js::NULL.0 || bits == Js::FALSE.0;
                self.b.ins().iconst(I8, i64::from(!falsy))
            }
            _ => {
                let v = self.use_int(r);
                let yes = self.compare(IntCC::Equal, v, Js::TRUE.0);
                let no = self.compare(IntCC::Equal, v, Js::FALSE.0);
                let either = self.b.ins().bor(yes, no);
                let zero = self.b.ins().iconst(I8, 0);
                let neither = self.b.ins().icmp(IntCC::Equal, either, zero);
                self.leave_if(i, neither);
                yes
            }
        }
    }

    fn holds(&mut self, condition: Condition, a: Operand, b: Operand) -> Value {
        if let (Operand::Int(x, ..), Operand::Int(y, ..)) = (a, b) {
            let condition = match condition {
                Condition::Less => IntCC::SignedLessThan,
                Condition::LessEqual => IntCC::SignedLessThanOrEqual,
                Condition::Greater => IntCC::SignedGreaterThan,
                Condition::GreaterEqual => IntCC::SignedGreaterThanOrEqual,
                Condition::Equal => IntCC::Equal,
                Condition::NotEqual => IntCC::NotEqual,
            };
            return self.b.ins().icmp(condition, x, y);
        }
        let (x, y) = (self.double(a), self.double(b));
        let condition = match condition {
            Condition::Less => FloatCC::LessThan,
            Condition::LessEqual => FloatCC::LessThanOrEqual,
            Condition::Greater => FloatCC::GreaterThan,
            Condition::GreaterEqual => FloatCC::GreaterThanOrEqual,
            Condition::Equal => FloatCC::Equal,
            Condition::NotEqual => FloatCC::NotEqual,
        };
        self.b.ins().fcmp(condition, x, y)
    }

    fn arithmetic(&mut self, i: usize, operator: Operator, a: Operand, b: Operand, destination: usize, t: Type) {
        let v = if t == Type::Double {
            self.double_arithmetic(operator, a, b)
        } else if let (
            Operator::Add | Operator::Sub | Operator::Mul | Operator::Mod,
            Operand::Int(x, al, ah),
            Operand::Int(y, bl, bh),
        ) = (operator, a, b)
        {
            self.int_arithmetic(i, operator, (x, al, ah), (y, bl, bh))
        } else {
            let (x, y) = (self.int32(a), self.int32(b));
            let v = match operator {
                Operator::And => self.b.ins().band(x, y),
                Operator::Or => self.b.ins().bor(x, y),
                Operator::Xor => self.b.ins().bxor(x, y),
                Operator::Shl => self.b.ins().ishl(x, y),
                Operator::Shr => self.b.ins().sshr(x, y),
                _ => self.b.ins().ushr(x, y),
            };
            if operator == Operator::UShr { self.b.ins().uextend(I64, v) } else { self.b.ins().sextend(I64, v) }
        };
        self.define(destination, t, v);
    }

    fn double_arithmetic(&mut self, operator: Operator, a: Operand, b: Operand) -> Value {
        match operator {
            Operator::Mod => return self.double_remainder(a, b),
            Operator::Exp => {
                let (x, y) = (self.double(a), self.double(b));
                return self.call_engine(run::POWER, &[x, y], &[F64, F64], &[F64])[0];
            }
            _ => {}
        }
        let (x, y) = (self.double(a), self.double(b));
        match operator {
            Operator::Add => self.b.ins().fadd(x, y),
            Operator::Sub => self.b.ins().fsub(x, y),
            Operator::Mul => self.b.ins().fmul(x, y),
            _ => self.b.ins().fdiv(x, y),
        }
    }

    /// `%` of doubles: integers that are positive and exact go through the integer unit.
    fn double_remainder(&mut self, a: Operand, b: Operand) -> Value {
        let (x, y) = (self.double(a), self.double(b));
        let (slow, done) = (self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(done, F64);
        let mut parts = [Value::from_u32(0); 2];
        for (k, (operand, d)) in [(a, x), (b, y)].into_iter().enumerate() {
            parts[k] = match operand {
                Operand::Int(v, low, high) => {
                    if low <= 0 || high > LIMIT {
                        let positive = self.compare(IntCC::SignedGreaterThan, v, 0);
                        self.fast_if(positive, slow);
                    }
                    if low == high { self.constant(low as u64) } else { v }
                }
                Operand::Double(_) => {
                    let v = self.b.ins().fcvt_to_sint_sat(I64, d);
                    let back = self.b.ins().fcvt_from_sint(F64, v);
                    let same = self.b.ins().fcmp(FloatCC::Equal, back, d);
                    self.fast_if(same, slow);
                    let one = self.constant(1);
                    let less = self.b.ins().isub(v, one);
                    let in_range = self.compare(IntCC::UnsignedLessThan, less, LIMIT as u64);
                    self.fast_if(in_range, slow);
                    v
                }
            };
        }
        let rest = self.b.ins().urem(parts[0], parts[1]);
        let fast = self.b.ins().fcvt_from_sint(F64, rest);
        self.b.ins().jump(done, &[fast.into()]);
        self.b.switch_to_block(slow);
        self.b.seal_block(slow);
        self.b.set_cold_block(slow);
        let exact = self.call_engine(run::REMAINDER, &[x, y], &[F64, F64], &[F64])[0];
        self.b.ins().jump(done, &[exact.into()]);
        self.b.switch_to_block(done);
        self.b.seal_block(done);
        result
    }

    fn fast_if(&mut self, condition: Value, slow: Block) {
        let next = self.b.create_block();
        self.b.ins().brif(condition, next, &[], slow, &[]);
        self.b.switch_to_block(next);
        self.b.seal_block(next);
    }

    fn int_arithmetic(&mut self, i: usize, operator: Operator, a: (Value, i64, i64), b: (Value, i64, i64)) -> Value {
        let ((x, al, ah), (y, bl, bh)) = (a, b);
        let (low, high) = exact_bounds(operator, (al, ah), (bl, bh)).unwrap_or((-LIMIT, LIMIT));
        let v = match operator {
            Operator::Add => self.b.ins().iadd(x, y),
            Operator::Sub => self.b.ins().isub(x, y),
            Operator::Mul => self.b.ins().imul(x, y),
            _ => return self.int_remainder(i, a, b),
        };
        match (low < -LIMIT, high > LIMIT) {
            (true, true) => {
                let limit = self.constant(LIMIT as u64);
                let moved = self.b.ins().iadd(v, limit);
                let outside = self.compare(IntCC::UnsignedGreaterThan, moved, 2 * LIMIT as u64);
                self.leave_if(i, outside);
            }
            (true, false) => {
                let outside = self.compare(IntCC::SignedLessThan, v, (-LIMIT) as u64);
                self.leave_if(i, outside);
            }
            (false, true) => {
                let outside = self.compare(IntCC::SignedGreaterThan, v, LIMIT as u64);
                self.leave_if(i, outside);
            }
            (false, false) => {}
        }
        let has_zero = |low: i64, high: i64| low <= 0 && high >= 0;
        if operator == Operator::Mul
            && (has_zero(al, ah) && bl < 0 || has_zero(bl, bh) && al < 0)
            && self.minus_zero_matters(i)
        {
            // 0 times a negative number is -0.
            let zero = self.compare(IntCC::Equal, v, 0);
            let either = self.b.ins().bor(x, y);
            let negative = self.compare(IntCC::SignedLessThan, either, 0);
            let minus_zero = self.b.ins().band(zero, negative);
            self.leave_if(i, minus_zero);
        }
        v
    }

    /// Whether the result of instruction `i` must be -0 where it is: false if the one instruction that reads
    /// it, in the same block, gives the same for 0. That is true in the interpreter as well, so frames may
    /// hold the 0 until then.
    fn minus_zero_matters(&mut self, i: usize) -> bool {
        const LOOK_AHEAD: usize = 12;
        let body = self.body;
        let destination = body.insts[i].reg(0);
        let mut state = self.state.clone();
        let (world, live) = (self.world, self.live);
        let live_of = |f: usize| live[f].clone();
        // Registers written on the way: a guard there may fail because theirs is -0.
        let mut written = Vec::new();
        for j in i..body.insts.len().min(i + LOOK_AHEAD) {
            let inst = &body.insts[j];
            if j > i {
                if body.blocks.binary_search_by_key(&j, |b| b.first).is_ok() {
                    return true;
                }
                let reads = |k: usize| {
                    inst.op.operands().get(k) == Some(&zjs_engine::bytecode::opcode::Operand::R)
                        && inst.reg(k) == destination
                };
                let other_is_strict = |k: usize, code: &Self| {
                    matches!(state[inst.reg(k)], Type::Int(..))
                        && inst.reg(k) != destination
                        && !written.contains(&inst.reg(k))
                        && !code.unsigned_zeros.contains(&(inst.reg(k), j))
                };
                let harmless = match operator(inst.op) {
                    _ if !(0..4).any(reads) => None,
                    Some((Operator::Add, false)) => {
                        Some(if reads(1) { other_is_strict(2, self) } else { other_is_strict(1, self) })
                    }
                    Some((Operator::Add, true)) => Some(true),
                    Some((Operator::Sub, false)) => Some(!reads(1) && other_is_strict(1, self)),
                    Some((Operator::Sub, true)) => Some(inst.operands[2] != 0),
                    Some((Operator::Mul | Operator::Div | Operator::Mod | Operator::Exp, _)) => Some(false),
                    Some(_) => Some(true),
                    None => Some(comparison(inst.op).is_some()),
                };
                if let Some(harmless) = harmless {
                    let overwritten = inst.op.operands().first() == Some(&zjs_engine::bytecode::opcode::Operand::W)
                        && inst.reg(0) == destination;
                    let dies = overwritten || {
                        let ends_here = body.blocks.iter().find(|b| b.end == j + 1);
                        match ends_here {
                            Some(block) => {
                                block.next.iter().all(|&n| !body.live[body.blocks[n].first].has(destination))
                            }
                            None => !body.live[j + 1].has(destination),
                        }
                    };
                    if harmless && dies {
                        self.unsigned_zeros.push((destination, j));
                        return false;
                    }
                    return true;
                }
                // A call reads its arguments without naming them.
                if inst.op == Opcode::CallUndefined || inst.target().is_some() {
                    return true;
                }
            }
            if step(world, self.me, inst, &mut state, &live_of) != Flow::Next {
                return true;
            }
            if j > i && inst.op.operands().first() == Some(&zjs_engine::bytecode::opcode::Operand::W) {
                if inst.reg(0) == destination {
                    return true;
                }
                written.push(inst.reg(0));
            }
        }
        true
    }

    fn int_remainder(&mut self, i: usize, (x, al, ah): (Value, i64, i64), (y, bl, bh): (Value, i64, i64)) -> Value {
        if bl <= 0 && bh >= 0 {
            let zero = self.compare(IntCC::Equal, y, 0);
            self.leave_if(i, zero);
        }
        let u32_max = i64::from(u32::MAX);
        let (i32_min, i32_max) = (i64::from(i32::MIN), i64::from(i32::MAX));
        let narrow = |code: &mut Self, v: Value, low: i64, high: i64| {
            if low == high { code.b.ins().iconst(I32, i64::from(low as i32)) } else { code.b.ins().ireduce(I32, v) }
        };
        let v = if al >= 0 && ah <= u32_max && bl > 0 && bh <= i32_max {
            let (p, q) = (narrow(self, x, al, ah), narrow(self, y, bl, bh));
            let r = self.b.ins().urem(p, q);
            self.b.ins().uextend(I64, r)
        } else if al >= i32_min && ah <= i32_max && bl > 0 && bh <= i32_max {
            let (p, q) = (narrow(self, x, al, ah), narrow(self, y, bl, bh));
            let r = self.b.ins().srem(p, q);
            self.b.ins().sextend(I64, r)
        } else {
            let y = if bl == bh { self.constant(bl as u64) } else { y };
            if al >= 0 && bl > 0 { self.b.ins().urem(x, y) } else { self.b.ins().srem(x, y) }
        };
        if al < 0 && self.minus_zero_matters(i) {
            let zero = self.compare(IntCC::Equal, v, 0);
            let negative = self.compare(IntCC::SignedLessThan, x, 0);
            let minus_zero = self.b.ins().band(zero, negative);
            self.leave_if(i, minus_zero);
        }
        v
    }

    fn call(
        &mut self,
        i: usize,
        inst: &Inst,
        after: &[Type],
        live_of: &dyn Fn(usize) -> Vec<usize>,
    ) -> Result<(), String> {
        let world = self.world;
        let Some(callee) = resolve_call(world, inst, &self.state, live_of) else { return Err("call".into()) };
        let base = inst.reg(1);
        let Type::Const(closure) = self.state[base + 4] else { return Err("callee".into()) };
        debug_assert_eq!(closure >> 48, TAG_OBJECT);
        let mut arguments = Vec::new();
        for &p in &self.live[callee.function] {
            let operand = self.number(i, base + 6 + p);
            arguments.push(match (callee.variant, operand) {
                (0, Operand::Int(v, ..)) => v,
                _ => self.double(operand),
            });
        }
        self.charge(i);
        let distance = 8 * base as u32 + HEADER_BYTES;
        let step = self.constant((1 << 32) + u64::from(distance));
        let position = self.b.ins().iadd(self.position, step);
        let fuel = self.b.use_var(self.fuel);
        let all: Vec<Value> = [self.context, position, fuel].into_iter().chain(arguments).collect();
        let row = [distance, self.pc(inst.next()), closure as u32];
        let reference = self.emitter.call_site(self.b.func, callee, Some(row))?;
        let call = self.b.ins().call(reference, &all);
        let [value, fuel] = [0, 1].map(|k| self.b.inst_results(call)[k]);
        let special = self.compare(IntCC::SignedLessThan, fuel, 0);
        let (other, normal) = (self.b.create_block(), self.b.create_block());
        self.b.ins().brif(special, other, &[], normal, &[]);
        self.b.switch_to_block(other);
        self.b.seal_block(other);
        self.b.set_cold_block(other);
        let result = world.result(callee).unwrap_or(Return::Boxed);
        let destination = inst.reg(0);
        if result == Return::Boxed {
            self.b.ins().jump(self.special, &[fuel.into()]);
        } else {
            let is_boxed = self.compare(IntCC::Equal, fuel, run::STATUS_BOXED as u64);
            let exit = self.b.create_block();
            let behind = self.body.live_behind(i);
            let registers = self.live_types(behind, &self.state, Some(destination));
            let wanted = behind.has(destination).then_some(destination);
            self.exits.push(Exit { block: exit, pc: self.pc(inst.next()), registers, result: Some(wanted) });
            self.b.ins().brif(is_boxed, exit, &[], self.special, &[fuel.into()]);
        }
        self.b.switch_to_block(normal);
        self.b.seal_block(normal);
        self.b.def_var(self.fuel, fuel);
        self.define(destination, after[destination], value);
        Ok(())
    }
}

fn needs_conversion(from: Type, to: Type) -> bool {
    match to {
        Type::Double => from != Type::Double,
        Type::Boxed => from != Type::Boxed,
        _ => false,
    }
}
