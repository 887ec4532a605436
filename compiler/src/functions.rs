//! Functions: names, closures, parameters and the start of a function's code.
//!
//! Registers of a function: arguments, then `var`s (these start as undefined), then the function's
//! environment, `this`, other variables, temporaries. What the prologue needs only if the body uses it
//! (function environment, `this`) is put in front when the body is compiled.

use oxc_ast::ast::*;
use oxc_span::Span;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::codegen::{Codegen, FunctionState};
use crate::emit::{Assembler, Reg};
use crate::patterns::{BindMode, pattern_name};
use crate::scope::*;

/// The name that an anonymous function or class receives.
#[derive(Clone, Debug)]
pub enum Name {
    Static(JsStr),
    /// A property key in a register, and the prefix for `SetFunctionName`.
    Dynamic(Reg, u16),
}

impl Name {
    pub fn none() -> Name {
        Name::Static(JsStr::from(""))
    }

    /// `get name` or `set name`.
    pub fn prefixed(&self, prefix: &str) -> Name {
        match self {
            Name::Static(name) => {
                let mut units: Vec<u16> = prefix.encode_utf16().collect();
                units.push(u16::from(b' '));
                units.extend(name.to_units());
                Name::Static(JsStr::from_units(&units))
            }
            dynamic => dynamic.clone(),
        }
    }

    pub fn text(&self) -> JsStr {
        match self {
            Name::Static(name) => name.clone(),
            Name::Dynamic(..) => JsStr::from(""),
        }
    }
}

/// The code of a function.
pub enum Body<'x, 'a> {
    Statements(&'x [Statement<'a>]),
    Expression(&'x Expression<'a>),
    /// The constructor of a class without one; derived or not.
    DefaultConstructor,
    Fields(&'x Class<'a>, &'x crate::classes::ClassPlan),
    Statics(&'x Class<'a>, &'x crate::classes::ClassPlan),
}

/// A function to compile.
pub struct Spec<'x, 'a> {
    /// Its scope; `NONE` for a function without any.
    pub scope: ScopeIdx,
    pub body_scope: ScopeIdx,
    pub params: Option<&'x FormalParameters<'a>>,
    pub body: Body<'x, 'a>,
    pub name: JsStr,
    pub kind: FunctionKind,
    pub suspension: Suspension,
    pub strict: bool,
    pub span: Span,
    /// A base constructor of a class that has fields or private methods.
    pub run_fields: bool,
}

/// How a function suspends.
pub fn suspension(generator: bool, is_async: bool) -> Suspension {
    match (generator, is_async) {
        (false, false) => Suspension::None,
        (true, false) => Suspension::Generator,
        (false, true) => Suspension::Async,
        (true, true) => Suspension::AsyncGenerator,
    }
}

impl<'a> FunctionState<'a> {
    pub fn new(func: FuncIdx, kind: FunctionKind, suspension: Suspension, strict: bool) -> FunctionState<'a> {
        FunctionState {
            asm: Assembler::default(),
            func,
            kind,
            suspension,
            strict,
            scopes: Vec::new(),
            envs: Vec::new(),
            control: Vec::new(),
            completion: None,
            locals: Vec::new(),
            fenv: 0,
            fenv_loaded: false,
            this: 0,
            this_loaded: false,
            chain: None,
            init_count: 0,
            loop_depth: 0,
        }
    }
}

impl<'a> Codegen<'a> {
    /// Evaluates `e`, giving `name` to it if it is an anonymous function or class.
    pub fn named_into(&mut self, e: &Expression<'a>, name: Name, dst: Reg) {
        match e.without_parentheses() {
            Expression::FunctionExpression(f) => {
                let name = match &f.id {
                    Some(id) => Name::Static(id.name.as_str().into()),
                    None => name,
                };
                self.at(f.span.start);
                self.function_closure(f, &name, dst, FunctionKind::Normal, f.span, false);
                self.apply_dynamic_name(&name, dst);
            }
            Expression::ArrowFunctionExpression(f) => {
                self.at(f.span.start);
                self.arrow_closure(f, &name, dst);
                self.apply_dynamic_name(&name, dst);
            }
            Expression::ClassExpression(c) => {
                let name = match &c.id {
                    Some(id) => Name::Static(id.name.as_str().into()),
                    None => name,
                };
                self.class(c, name, dst);
            }
            other => self.expr_into(other, dst),
        }
    }

    fn apply_dynamic_name(&mut self, name: &Name, dst: Reg) {
        if let Name::Dynamic(key, prefix) = name {
            self.op(Opcode::SetFunctionName, &[dst, *key, *prefix]);
        }
    }

    /// `named_into` with a register of its choice.
    pub fn named_expr(&mut self, e: &Expression<'a>, name: Name) -> Reg {
        match e.without_parentheses() {
            Expression::FunctionExpression(_)
            | Expression::ArrowFunctionExpression(_)
            | Expression::ClassExpression(_) => {
                let temp = self.temp();
                self.named_into(e, name, temp);
                temp
            }
            _ => self.expr(e),
        }
    }

    pub fn scope_of(&self, key: usize, tag: u8) -> ScopeIdx {
        self.an.node_scope.get(&(key, tag)).copied().unwrap_or(NONE)
    }

    fn emit_closure(&mut self, index: u32, dst: Reg) {
        let c = self.f.asm.constant(Constant::Function(index));
        let env = self.current_env();
        self.op(Opcode::NewClosure, &[dst, c, env]);
    }

    /// Compiles a function and answers its number.
    pub fn function_template(
        &mut self,
        f: &Function<'a>,
        name: &Name,
        kind: FunctionKind,
        span: Span,
        run_fields: bool,
    ) -> u32 {
        let key = addr(f);
        let scope = self.scope_of(key, tag::FUNCTION);
        let strict = self.an.scopes.get(scope as usize).is_some_and(|s| s.strict);
        let statements: &[Statement<'a>] = f.body.as_ref().map_or(&[], |b| &b.statements);
        self.compile_function(&Spec {
            scope,
            body_scope: self.scope_of(key, tag::BODY),
            params: Some(&f.params),
            body: Body::Statements(statements),
            name: name.text(),
            kind,
            suspension: suspension(f.generator, f.r#async),
            strict,
            span,
            run_fields,
        })
    }

    pub fn function_closure(
        &mut self,
        f: &Function<'a>,
        name: &Name,
        dst: Reg,
        kind: FunctionKind,
        span: Span,
        run_fields: bool,
    ) {
        let index = self.function_template(f, name, kind, span, run_fields);
        self.emit_closure(index, dst);
    }

    /// A method, getter or setter; `span` covers the whole definition.
    pub fn method_closure(&mut self, f: &Function<'a>, name: &Name, dst: Reg, span: Span) {
        self.function_closure(f, name, dst, FunctionKind::Method, span, false);
    }

    fn arrow_closure(&mut self, f: &ArrowFunctionExpression<'a>, name: &Name, dst: Reg) {
        let key = addr(f);
        let scope = self.scope_of(key, tag::FUNCTION);
        let strict = self.an.scopes.get(scope as usize).is_some_and(|s| s.strict);
        let body = match &f.body {
            ArrowFunctionBody::FunctionBody(b) => Body::Statements(&b.statements),
            other => match other.as_expression() {
                Some(e) => Body::Expression(e),
                None => Body::Statements(&[]),
            },
        };
        let index = self.compile_function(&Spec {
            scope,
            body_scope: self.scope_of(key, tag::BODY),
            params: Some(&f.params),
            body,
            name: name.text(),
            kind: FunctionKind::Arrow,
            suspension: suspension(false, f.r#async),
            strict,
            span: f.span,
            run_fields: false,
        });
        self.emit_closure(index, dst);
    }

    /// Compiles a function; its code refers to enclosing scopes by hops only, so nothing of the
    /// enclosing function's state is needed.
    pub fn compile_function(&mut self, spec: &Spec<'_, 'a>) -> u32 {
        let index = self.functions.len() as u32;
        self.functions.push(None);
        let func = self.an.scopes.get(spec.scope as usize).map_or(self.f.func, |s| s.func);
        let mut state = FunctionState::new(func, spec.kind, spec.suspension, spec.strict);
        state.asm.expect_source(spec.span.size());
        let outer = std::mem::replace(&mut self.f, state);
        crate::stack::ensure(|| self.function_code(spec));
        let state = std::mem::replace(&mut self.f, outer);
        let template = self.finish_template(state, spec);
        self.functions[index as usize] = Some(template);
        index
    }

    fn finish_template(&mut self, mut state: FunctionState<'a>, spec: &Spec<'_, 'a>) -> FunctionTemplate {
        if self.error.is_none() {
            let param_count = spec.params.map_or(0, |p| p.items.len()) as u16;
            state.asm.finish(state.init_count.max(param_count));
        }
        if state.asm.overflow && self.error.is_none() {
            self.error = Some(("Function is too large".to_string(), spec.span.start, true));
        }
        let info = self.an.funcs.get(state.func as usize);
        let uses_this = spec.scope != NONE && info.is_some_and(|i| i.uses_this || i.has_eval);
        let param_count = spec.params.map_or(0, |p| p.items.len()) as u16;
        let length = spec.params.map_or(0, |p| {
            p.items.iter().take_while(|i| i.initializer.is_none() && !i.pattern.is_assignment_pattern()).count()
        }) as u16;
        FunctionTemplate {
            name: spec.name.clone(),
            kind: spec.kind,
            suspension: spec.suspension,
            strict: spec.strict,
            uses_this: uses_this || spec.run_fields || spec.kind == FunctionKind::FieldInitializer,
            param_count,
            init_count: state.init_count.max(param_count),
            register_count: state.asm.register_count().max(state.init_count),
            length,
            ic_count: state.asm.ic_count(),
            code: state.asm.code,
            constants: state.asm.constants,
            handlers: state.asm.handlers,
            positions: state.asm.positions,
            source_start: spec.span.start,
            source_end: spec.span.end,
        }
    }

    fn function_code(&mut self, spec: &Spec<'_, 'a>) {
        self.at(spec.span.start);
        if spec.scope == NONE {
            // A constructor that the class did not write.
            self.f.fenv = self.local();
            self.f.this = self.local();
            if spec.kind == FunctionKind::DerivedConstructor {
                self.default_derived_constructor();
            } else {
                if spec.run_fields {
                    self.run_own_fields();
                }
                self.op(Opcode::ReturnUndefined, &[]);
            }
            return;
        }
        self.prologue(spec);
        if matches!(spec.suspension, Suspension::Generator | Suspension::AsyncGenerator) {
            self.op(Opcode::StartGenerator, &[]);
        }
        if spec.run_fields && spec.kind == FunctionKind::ClassConstructor {
            self.run_own_fields();
        }
        match &spec.body {
            Body::Statements(statements) => {
                for statement in *statements {
                    self.statement(statement);
                }
                self.at(spec.span.end.saturating_sub(1));
                if spec.kind == FunctionKind::DerivedConstructor {
                    let temp = self.temp();
                    self.op(Opcode::LoadUndefined, &[temp]);
                    self.return_value(temp);
                } else {
                    self.op(Opcode::ReturnUndefined, &[]);
                }
            }
            Body::Expression(e) => {
                let value = self.expr(e);
                self.op(Opcode::Return, &[value]);
            }
            Body::Fields(class, plan) => self.field_code(class, plan, false),
            Body::Statics(class, plan) => self.field_code(class, plan, true),
            Body::DefaultConstructor => {}
        }
    }

    /// Runs the fields of the class whose constructor this is.
    fn run_own_fields(&mut self) {
        let mark = self.top();
        let callee = self.temp();
        self.op(Opcode::LoadCallee, &[callee]);
        let this = self.temp();
        self.op(Opcode::LoadThis, &[this]);
        self.op(Opcode::RunClassFields, &[callee, this]);
        self.free(mark);
    }

    /// Which parameter (by position) a binding is, when it is a plain name: the last one of that name.
    fn plain_param(params: &FormalParameters<'a>, name: &str) -> Option<usize> {
        params
            .items
            .iter()
            .rposition(|item| matches!(&item.pattern, BindingPattern::BindingIdentifier(id) if id.name == name))
    }

    fn prologue(&mut self, spec: &Spec<'_, 'a>) {
        let scope = spec.scope;
        let empty = spec.params.is_none();
        let param_count = spec.params.map_or(0, |p| p.items.len());
        let first = self.temps(param_count);
        debug_assert!(empty || first == 0);
        for i in 0..param_count {
            self.mark_local(i as Reg);
        }
        // Variables that start as undefined.
        self.var_registers(scope, spec.params);
        if spec.body_scope != NONE {
            self.var_registers(spec.body_scope, None);
        }
        self.f.init_count = self.top();
        self.f.fenv = self.local();
        self.f.this = self.local();
        self.open_env(scope);
        self.other_registers(scope);
        self.pseudo_bindings(scope);
        // Before the parameters: their expressions may evaluate code that declares vars, and closures in them
        // count this environment.
        if self.an.scopes[scope as usize].var_object {
            self.variable_object(scope);
        }
        if let Some(params) = spec.params {
            let simple = self.an.funcs[self.f.func as usize].simple_params;
            if simple {
                self.bind_params(params);
                self.arguments_object(scope, params);
            } else {
                self.arguments_object(scope, params);
                self.bind_params(params);
            }
        }
        self.undefined_vars(scope, None);
        if spec.body_scope != NONE {
            let body = spec.body_scope;
            self.open_env(body);
            self.other_registers(body);
            self.undefined_vars(body, Some(scope));
        }
        if let Body::Statements(statements) = &spec.body {
            self.hoist_functions(statements);
        }
    }

    /// Registers for vars and for the parameters that stay where the arguments are.
    fn var_registers(&mut self, scope: ScopeIdx, params: Option<&FormalParameters<'a>>) {
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.captured {
                continue;
            }
            match b.kind {
                BindKind::Param if !b.needs_hole => {
                    if let Some(position) = params.and_then(|p| Self::plain_param(p, b.name)) {
                        self.regs[binding as usize] = position as Reg;
                    }
                }
                BindKind::Var | BindKind::Function => {
                    let reg = self.local();
                    self.regs[binding as usize] = reg;
                }
                _ => {}
            }
        }
    }

    /// Registers for everything else that a function-level scope declares.
    pub fn other_registers(&mut self, scope: ScopeIdx) {
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.captured || b.global || matches!(b.kind, BindKind::Var | BindKind::Function) {
                continue;
            }
            if b.kind == BindKind::Param && self.regs[binding as usize] != Reg::MAX {
                continue;
            }
            let needs_hole = b.needs_hole;
            let lexical = b.tdz && !needs_hole;
            let reg = if lexical { self.temp() } else { self.local() };
            self.regs[binding as usize] = reg;
            if needs_hole {
                self.op(Opcode::LoadHole, &[reg]);
            }
        }
    }

    /// `this`, `new.target`, the function itself: for closures, evals and by its own name.
    fn pseudo_bindings(&mut self, scope: ScopeIdx) {
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            let op = match (b.kind, b.name) {
                (BindKind::Pseudo, "this") if b.tdz => continue,
                (BindKind::Pseudo, "this") => Opcode::LoadThis,
                (BindKind::Pseudo, "new.target") => Opcode::LoadNewTarget,
                (BindKind::Pseudo, _) | (BindKind::FunctionName, _) => Opcode::LoadCallee,
                _ => continue,
            };
            let mark = self.top();
            match self.init_register(binding) {
                Some(reg) => self.op(op, &[reg]),
                None => {
                    let temp = self.temp();
                    self.op(op, &[temp]);
                    self.init_binding(binding, temp);
                }
            }
            self.free(mark);
        }
    }

    fn bind_params(&mut self, params: &FormalParameters<'a>) {
        for (i, item) in params.items.iter().enumerate() {
            let reg = i as Reg;
            if let Some(init) = &item.initializer {
                self.default_value(init, reg, pattern_name(&item.pattern));
            }
            match &item.pattern {
                BindingPattern::BindingIdentifier(id) => {
                    let name = id.name.as_str();
                    if Self::plain_param(params, name) == Some(i)
                        && let Some(binding) = self.find_binding(name)
                    {
                        self.init_binding(binding, reg);
                    }
                }
                pattern => self.bind_pattern(pattern, reg, BindMode::Init),
            }
        }
        if let Some(rest) = &params.rest {
            let mark = self.top();
            let temp = self.temp();
            self.op(Opcode::CreateRest, &[temp, params.items.len() as u16]);
            self.bind_pattern(&rest.rest.argument, temp, BindMode::Init);
            self.free(mark);
        }
    }

    fn arguments_object(&mut self, scope: ScopeIdx, params: &FormalParameters<'a>) {
        let info = &self.an.funcs[self.f.func as usize];
        let binding = info.arguments;
        if binding == NONE || !info.arguments_escape {
            return;
        }
        let mapped = !info.strict && info.simple_params;
        let mark = self.top();
        let temp = match self.init_register(binding) {
            Some(reg) => reg,
            None => self.temp(),
        };
        self.op(Opcode::CreateArguments, &[temp, u16::from(mapped)]);
        if mapped && let Some(env) = self.env_of(scope) {
            for i in 0..params.items.len() {
                let BindingPattern::BindingIdentifier(id) = &params.items[i].pattern else { continue };
                let name = id.name.as_str();
                if Self::plain_param(params, name) != Some(i) {
                    continue;
                }
                if let Some(&b) = self.an.scopes[scope as usize].names.get(name)
                    && self.an.bindings[b as usize].captured
                {
                    let slot = self.an.bindings[b as usize].slot;
                    self.op(Opcode::MapArgument, &[temp, env, i as u16, slot]);
                }
            }
        }
        self.init_binding(binding, temp);
        self.free(mark);
    }

    /// The object in which a sloppy direct eval declares its vars.
    fn variable_object(&mut self, scope: ScopeIdx) {
        let object = self.local();
        let env = self.local();
        let mark = self.top();
        let null = self.temp();
        self.op(Opcode::NewObject, &[object]);
        self.op(Opcode::LoadNull, &[null]);
        self.op(Opcode::SetPrototypeLiteral, &[object, null]);
        if let Some(&binding) = self.an.scopes[scope as usize].names.get("%vars") {
            self.init_binding(binding, object);
        }
        let parent = self.current_env();
        self.op(Opcode::NewWithEnv, &[env, parent, object]);
        self.f.envs.push((scope, env));
        self.free(mark);
    }

    /// Captured vars start as undefined; vars of a separate body named like a parameter start as it.
    fn undefined_vars(&mut self, scope: ScopeIdx, params: Option<ScopeIdx>) {
        let mark = self.top();
        let mut undefined = None;
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.global || !matches!(b.kind, BindKind::Var | BindKind::Function) {
                continue;
            }
            if self.an.funcs[self.f.func as usize].arguments == binding {
                continue;
            }
            let (name, captured) = (b.name, b.captured);
            if let Some(outer) = params
                && let Some(&param) = self.an.scopes[outer as usize].names.get(name)
                && self.an.bindings[param as usize].kind != BindKind::FunctionName
            {
                let inner = self.top();
                let temp = self.temp();
                let var = self.var(param, u32::MAX - 1);
                let var = crate::codegen::Var { check: false, dynamic: Vec::new(), ..var };
                self.load_var(&var, temp);
                self.init_binding(binding, temp);
                self.free(inner);
                continue;
            }
            if captured {
                let reg = match undefined {
                    Some(reg) => reg,
                    None => {
                        let reg = self.temp();
                        self.op(Opcode::LoadUndefined, &[reg]);
                        undefined = Some(reg);
                        reg
                    }
                };
                self.init_binding(binding, reg);
            }
        }
        self.free(mark);
    }

    /// Instantiates the function declarations of a statement list.
    pub fn hoist_functions(&mut self, statements: &[Statement<'a>]) {
        for statement in statements {
            if let Statement::FunctionDeclaration(f) = Self::unlabelled(statement) {
                self.declare_function(f);
            }
        }
    }

    /// The statement behind its labels.
    pub fn unlabelled<'x>(mut statement: &'x Statement<'a>) -> &'x Statement<'a> {
        while let Statement::LabeledStatement(l) = statement {
            statement = &l.body;
        }
        statement
    }

    pub fn declare_function(&mut self, f: &Function<'a>) {
        let Some(id) = &f.id else { return };
        let name = id.name.as_str();
        let Some(&binding) = self.an.scopes[self.scope() as usize].names.get(name) else { return };
        let mark = self.top();
        let reg = match self.init_register(binding) {
            Some(reg) => reg,
            None => self.temp(),
        };
        self.at(f.span.start);
        self.function_closure(f, &Name::Static(name.into()), reg, FunctionKind::Normal, f.span, false);
        self.init_binding(binding, reg);
        self.free(mark);
    }
}
