//! The state of code generation and the access to variables.
//!
//! Invariant: registers are a stack. Whoever allocates remembers the top before and frees to it; locals
//! of a scope lie below every temporary made inside it. A register that holds a variable is marked in
//! `locals`: such a register is never used as scratch space.

use std::rc::Rc;

use oxc_ast::ast::*;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::control::Control;
use crate::emit::{Assembler, Label, Reg};
use crate::scope::*;

/// Everything about the function that is being compiled.
pub struct FunctionState<'a> {
    pub asm: Assembler,
    pub func: FuncIdx,
    pub kind: FunctionKind,
    pub suspension: Suspension,
    pub strict: bool,
    /// Scopes that are entered, innermost last.
    pub scopes: Vec<ScopeIdx>,
    /// Environments that exist, innermost last. For a variable object the second entry.
    pub envs: Vec<(ScopeIdx, Reg)>,
    pub control: Vec<Control<'a>>,
    /// Register of the completion value, where one is kept.
    pub completion: Option<Reg>,
    /// Registers that hold variables.
    pub locals: Vec<bool>,
    pub fenv: Reg,
    pub fenv_loaded: bool,
    pub this: Reg,
    pub this_loaded: bool,
    /// Where the optional chain that is being compiled goes when it stops early.
    pub chain: Option<Label>,
    /// Registers that start as undefined.
    pub init_count: u16,
    /// Loops around the current place.
    pub loop_depth: u32,
}

/// Code generation for one source.
pub struct Codegen<'a> {
    pub an: Analysis<'a>,
    pub f: FunctionState<'a>,
    pub functions: Vec<Option<FunctionTemplate>>,
    /// Register of each binding that is not captured, while its scope is entered.
    pub regs: Vec<Reg>,
    pub error: Option<(String, u32, bool)>,
    pub outer: Option<Rc<ScopeInfo>>,
    pub kind: SourceKind,
    pub module: ModuleInfo,
    pub globals: GlobalDeclarations,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Reg(Reg),
    Env { env: Reg, hops: u16, slot: u16 },
    Global,
}

/// A resolved name.
#[derive(Clone, Debug)]
pub struct Var<'a> {
    pub name: &'a str,
    pub place: Place,
    pub kind: BindKind,
    pub check: bool,
    /// Environments of `with` and eval that may have the name first.
    pub dynamic: Vec<Dynamic>,
}

/// An object environment that has to be asked at run time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dynamic {
    pub env: Reg,
    pub hops: u16,
    /// The variable object of a sloppy direct eval, not a `with` object.
    pub is_vars: bool,
}

impl<'a> Codegen<'a> {
    /// Records the first error; code after it is never used.
    pub fn fail(&mut self, offset: u32, message: impl Into<String>) {
        if self.error.is_none() {
            self.error = Some((message.into(), offset, false));
        }
    }

    pub fn op(&mut self, op: Opcode, operands: &[u16]) {
        self.f.asm.op(op, operands);
    }

    pub fn op_int(&mut self, op: Opcode, operands: &[u16], value: i32) {
        self.f.asm.op_int(op, operands, value);
    }

    pub fn jump(&mut self, op: Opcode, operands: &[u16], label: Label) {
        self.f.asm.op_jump(op, operands, label);
    }

    pub fn label(&mut self) -> Label {
        self.f.asm.label()
    }

    pub fn bind(&mut self, label: Label) {
        self.f.asm.bind(label);
    }

    pub fn at(&mut self, offset: u32) {
        self.f.asm.at(offset);
    }

    pub fn top(&self) -> Reg {
        self.f.asm.top()
    }

    pub fn free(&mut self, mark: Reg) {
        for r in mark..self.f.asm.top() {
            if let Some(local) = self.f.locals.get_mut(usize::from(r)) {
                *local = false;
            }
        }
        self.f.asm.free_to(mark);
    }

    pub fn temp(&mut self) -> Reg {
        self.f.asm.alloc()
    }

    pub fn temps(&mut self, count: usize) -> Reg {
        self.f.asm.alloc_block(count as u32)
    }

    /// A register for a variable.
    pub fn local(&mut self) -> Reg {
        let reg = self.f.asm.alloc();
        self.mark_local(reg);
        reg
    }

    pub fn mark_local(&mut self, reg: Reg) {
        let index = usize::from(reg);
        if self.f.locals.len() <= index {
            self.f.locals.resize(index + 1, false);
        }
        self.f.locals[index] = true;
    }

    pub fn is_local(&self, reg: Reg) -> bool {
        reg >= crate::emit::PIN_BASE || self.f.locals.get(usize::from(reg)).copied().unwrap_or(false)
    }

    pub fn mov(&mut self, dst: Reg, src: Reg) {
        if dst != src {
            self.op(Opcode::Move, &[dst, src]);
        }
    }

    pub fn load_int(&mut self, dst: Reg, value: i32) {
        self.op_int(Opcode::LoadInt, &[dst], value);
    }

    pub fn load_string(&mut self, dst: Reg, value: JsStr) {
        let c = self.f.asm.string(value);
        self.op(Opcode::LoadConst, &[dst, c]);
    }

    pub fn load_number(&mut self, dst: Reg, value: f64) {
        match crate::strings::as_int32(value) {
            Some(int) => self.load_int(dst, int),
            None => {
                let c = self.f.asm.number(value);
                self.op(Opcode::LoadConst, &[dst, c]);
            }
        }
    }

    /// The environment that the function closed over.
    pub fn fenv(&mut self) -> Reg {
        if !self.f.fenv_loaded {
            self.f.fenv_loaded = true;
            let reg = self.f.fenv;
            self.f.asm.prologue.extend_from_slice(&[Opcode::LoadFunctionEnv as u16, reg]);
        }
        self.f.fenv
    }

    /// The innermost environment.
    pub fn current_env(&mut self) -> Reg {
        match self.f.envs.last() {
            Some(&(_, reg)) => reg,
            None => self.fenv(),
        }
    }

    pub fn scope(&self) -> ScopeIdx {
        self.f.scopes.last().copied().unwrap_or(NONE)
    }

    /// The scope in which the running function was made.
    fn outer_scope(&self) -> ScopeIdx {
        let own = self.an.funcs[self.f.func as usize].scope;
        if own == NONE { NONE } else { self.an.scopes[own as usize].parent }
    }

    /// Makes the environment of a scope and the registers of its variables.
    pub fn enter_scope(&mut self, scope: ScopeIdx) {
        self.open_env(scope);
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.captured || b.global {
                continue;
            }
            let needs_hole = b.needs_hole;
            let lexical = b.tdz && !needs_hole;
            let is_var = matches!(b.kind, BindKind::Var | BindKind::Function);
            let reg = if lexical { self.temp() } else { self.local() };
            self.regs[binding as usize] = reg;
            if needs_hole {
                self.op(Opcode::LoadHole, &[reg]);
            } else if is_var {
                // Vars of a static block.
                self.op(Opcode::LoadUndefined, &[reg]);
            }
        }
    }

    /// Makes the environment of a scope, if it needs one.
    pub fn open_env(&mut self, scope: ScopeIdx) {
        self.f.scopes.push(scope);
        let slots = self.an.scopes[scope as usize].env_slots;
        if slots > 0 {
            let parent = self.current_env();
            let env = self.local();
            self.op(Opcode::NewEnv, &[env, parent, slots]);
            self.f.envs.push((scope, env));
        }
    }

    /// Leaves a scope; registers are given back by the caller's mark.
    pub fn leave_scope(&mut self, scope: ScopeIdx) {
        self.f.scopes.pop();
        while self.f.envs.last().is_some_and(|&(s, _)| s == scope) {
            self.f.envs.pop();
        }
    }

    /// Register of the environment of a scope of this function.
    pub fn env_of(&self, scope: ScopeIdx) -> Option<Reg> {
        // The first entry of a scope is its plain environment, a second one its variable object.
        self.f.envs.iter().find(|&&(s, _)| s == scope).map(|&(_, r)| r)
    }

    /// Where `binding` is, seen from the current place.
    pub fn place(&mut self, binding: BindIdx) -> Place {
        let b = &self.an.bindings[binding as usize];
        if b.global {
            return Place::Global;
        }
        if !b.captured {
            return Place::Reg(self.regs[binding as usize]);
        }
        let (scope, slot) = (b.scope, b.slot);
        if self.an.scopes[scope as usize].func == self.f.func {
            if let Some(env) = self.env_of(scope) {
                return Place::Env { env, hops: 0, slot };
            }
            // The module's own environment comes from the engine.
            let env = self.fenv();
            return Place::Env { env, hops: 0, slot };
        }
        let mut hops = 0;
        let mut at = self.outer_scope();
        while at != scope && at != NONE {
            hops += self.an.scopes[at as usize].env_hops();
            at = self.an.scopes[at as usize].parent;
        }
        hops += u16::from(self.an.scopes[scope as usize].var_object);
        let env = self.fenv();
        Place::Env { env, hops, slot }
    }

    /// Resolves a use of a binding at a source offset.
    pub fn var(&mut self, binding: BindIdx, offset: u32) -> Var<'a> {
        if self.an.bindings[binding as usize].global && self.outer.is_some() {
            // A var of a direct eval lives around the eval.
            return self.outer_var(self.an.bindings[binding as usize].name);
        }
        let place = self.place(binding);
        let b = &self.an.bindings[binding as usize];
        let crossed = self.an.scopes[b.scope as usize].func != self.f.func;
        let in_switch = self.an.scopes[b.scope as usize].kind == ScopeKind::Switch;
        let check = b.tdz && (crossed || in_switch || offset < b.init_end);
        let (name, kind, scope) = (b.name, b.kind, b.scope);
        let dynamic = self.dynamic_between(scope);
        Var { name, place, kind, check, dynamic }
    }

    /// Resolves a reference.
    pub fn lookup(&mut self, id: &IdentifierReference<'a>) -> Var<'a> {
        let binding = id.reference_id.get().map_or(NONE, |r| self.an.resolution[r.index()]);
        if binding != NONE {
            return self.var(binding, id.span.start);
        }
        self.outer_var(id.name.as_str())
    }

    /// Resolves a name from the current scope outwards.
    pub fn lookup_name(&mut self, name: &'a str, offset: u32) -> Var<'a> {
        match self.find_binding(name) {
            Some(binding) => self.var(binding, offset),
            None => self.outer_var(name),
        }
    }

    pub fn find_binding(&self, name: &str) -> Option<BindIdx> {
        let mut at = self.scope();
        while at != NONE {
            let scope = &self.an.scopes[at as usize];
            if let Some(&binding) = scope.names.get(name) {
                return Some(binding);
            }
            at = scope.parent;
        }
        None
    }

    /// Reads a variable into `dst`.
    pub fn load_var(&mut self, var: &Var<'a>, dst: Reg) {
        if !var.dynamic.is_empty() {
            return self.load_dynamic(var, dst);
        }
        let name = self.f.asm.name(var.name);
        match var.place {
            Place::Reg(reg) => {
                if var.check {
                    self.op(Opcode::ThrowIfHole, &[reg, name]);
                }
                self.mov(dst, reg);
            }
            Place::Env { env, hops, slot } => {
                if var.kind == BindKind::Import {
                    self.op(Opcode::GetImport, &[dst, env, hops, slot, name]);
                } else if var.check {
                    self.op(Opcode::GetEnvChecked, &[dst, env, hops, slot, name]);
                } else {
                    self.op(Opcode::GetEnv, &[dst, env, hops, slot]);
                }
            }
            Place::Global => {
                let ic = self.f.asm.ic();
                self.op(Opcode::GetGlobal, &[dst, name, ic]);
            }
        }
    }

    /// The register of a variable, where it can be used as it is.
    pub fn var_register(&mut self, var: &Var<'a>) -> Option<Reg> {
        match var.place {
            Place::Reg(reg) if var.dynamic.is_empty() => {
                if var.check {
                    let name = self.f.asm.name(var.name);
                    self.op(Opcode::ThrowIfHole, &[reg, name]);
                }
                Some(reg)
            }
            _ => None,
        }
    }

    /// Assigns `src` to a variable.
    pub fn store_var(&mut self, var: &Var<'a>, src: Reg) {
        if !var.dynamic.is_empty() {
            return self.store_dynamic(var, src);
        }
        let name = self.f.asm.name(var.name);
        if var.kind.is_const() && var.place != Place::Global {
            if var.check {
                let mark = self.top();
                let temp = self.temp();
                self.load_var(var, temp);
                self.free(mark);
            }
            self.op(Opcode::ThrowConstAssign, &[name]);
            return;
        }
        if var.kind == BindKind::FunctionName {
            if self.strict() {
                self.op(Opcode::ThrowConstAssign, &[name]);
            }
            return;
        }
        match var.place {
            Place::Reg(reg) => {
                if var.check {
                    self.op(Opcode::ThrowIfHole, &[reg, name]);
                }
                self.mov(reg, src);
            }
            Place::Env { env, hops, slot } => {
                if var.check {
                    self.op(Opcode::SetEnvChecked, &[env, hops, slot, src, name]);
                } else {
                    self.op(Opcode::SetEnv, &[env, hops, slot, src]);
                }
            }
            Place::Global => {
                let ic = self.f.asm.ic();
                self.op(Opcode::SetGlobal, &[name, src, ic]);
            }
        }
    }

    /// Gives a binding its first value.
    pub fn init_binding(&mut self, binding: BindIdx, src: Reg) {
        match self.place(binding) {
            Place::Reg(reg) => {
                self.mov(reg, src);
                self.mark_local(reg);
            }
            Place::Env { env, hops, slot } => self.op(Opcode::SetEnv, &[env, hops, slot, src]),
            Place::Global => {
                let b = &self.an.bindings[binding as usize];
                let lexical = b.kind.is_lexical();
                let name = b.name;
                let name = self.f.asm.name(name);
                if lexical {
                    self.op(Opcode::InitGlobalLexical, &[name, src]);
                } else {
                    let ic = self.f.asm.ic();
                    self.op(Opcode::SetGlobal, &[name, src, ic]);
                }
            }
        }
    }

    /// The register that a binding's first value may be computed into.
    pub fn init_register(&mut self, binding: BindIdx) -> Option<Reg> {
        match self.place(binding) {
            Place::Reg(reg) => Some(reg),
            _ => None,
        }
    }

    pub fn strict(&self) -> bool {
        self.f.strict || self.an.scopes.get(self.scope() as usize).is_some_and(|s| s.strict)
    }

    /// Whether a variable in a register is assigned somewhere inside `span`.
    pub fn written_in(&self, binding: BindIdx, start: u32, end: u32) -> bool {
        self.an.bindings[binding as usize].writes.iter().any(|&w| w >= start && w < end)
    }
}
