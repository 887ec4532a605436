//! The walk over the syntax tree that builds scopes and resolves names.
//!
//! Names are resolved when a scope closes, because only then all of its declarations (hoisted ones
//! included) are known. A name that a scope does not declare is handed to the scope around it, marked
//! when it leaves a function; a marked use makes its binding live in an environment.

use oxc_allocator::Allocator;
use oxc_ast::ast::*;
use oxc_ast_visit::{Visit, walk};
use oxc_span::GetSpan;
use oxc_syntax::scope::ScopeFlags;

use crate::scope::*;

/// One use of a name on its way outwards.
#[derive(Clone, Copy)]
struct Use<'a> {
    name: &'a str,
    /// oxc's reference number, or `NONE`.
    reference: u32,
    offset: u32,
    crossed: bool,
    write: bool,
    /// `arguments.length` or `arguments[i]`, read.
    cheap_arguments: bool,
}

struct OpenScope<'a> {
    index: ScopeIdx,
    uses: Vec<Use<'a>>,
    /// Leaving this scope leaves its function.
    boundary: bool,
    /// Sloppy functions in blocks that may become vars: (block scope, binding).
    annex_b: Vec<(ScopeIdx, BindIdx)>,
}

/// What the source is, as far as scopes are concerned.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TopKind {
    Script,
    Module,
    /// Indirect or direct eval; `strict_vars`: vars stay inside.
    Eval {
        strict_vars: bool,
    },
}

pub struct Analyzer<'a> {
    out: Analysis<'a>,
    allocator: &'a Allocator,
    open: Vec<OpenScope<'a>>,
    func: FuncIdx,
    strict: bool,
    top: TopKind,
    depth: u32,
}

/// Analyses a program. `strict` is what the surroundings impose (strict caller of a direct eval).
pub fn analyze<'a>(
    program: &Program<'a>,
    allocator: &'a Allocator,
    top: TopKind,
    strict: bool,
    references: usize,
) -> Analysis<'a> {
    let strict = strict || top == TopKind::Module || program.directives.iter().any(|d| d.directive == "use strict");
    let mut analyzer = Analyzer {
        out: Analysis { resolution: vec![NONE; references], ..Analysis::default() },
        allocator,
        open: Vec::new(),
        func: NONE,
        strict,
        top,
        depth: 0,
    };
    analyzer.new_func(false);
    let func = analyzer.func;
    analyzer.out.funcs[func as usize].is_top = true;
    let scope = analyzer.push(ScopeKind::Top, true);
    analyzer.out.node_scope.insert((addr(program), tag::TOP), scope);
    analyzer.out.funcs[func as usize].scope = scope;
    for statement in &program.body {
        analyzer.visit_statement(statement);
    }
    analyzer.close_top();
    analyzer.out
}

impl<'a> Analyzer<'a> {
    fn new_func(&mut self, is_arrow: bool) -> FuncIdx {
        let index = self.out.funcs.len() as FuncIdx;
        self.out.funcs.push(FuncInfo {
            parent: self.func,
            scope: NONE,
            is_arrow,
            is_derived: false,
            is_field_init: false,
            is_top: false,
            strict: self.strict,
            uses_this: false,
            has_eval: false,
            arguments: NONE,
            arguments_escape: false,
            params_assigned: false,
            simple_params: true,
            annex_b: Vec::new(),
        });
        self.func = index;
        index
    }

    fn push(&mut self, kind: ScopeKind, boundary: bool) -> ScopeIdx {
        let index = self.out.scopes.len() as ScopeIdx;
        self.out.scopes.push(Scope {
            parent: self.open.last().map_or(NONE, |s| s.index),
            kind,
            func: self.func,
            strict: self.strict,
            names: FxMap::default(),
            bindings: Vec::new(),
            has_eval: false,
            var_object: false,
            env_slots: 0,
        });
        self.open.push(OpenScope { index, uses: Vec::new(), boundary, annex_b: Vec::new() });
        index
    }

    fn current(&self) -> ScopeIdx {
        self.open.last().map_or(NONE, |s| s.index)
    }

    fn info(&mut self) -> &mut FuncInfo {
        &mut self.out.funcs[self.func as usize]
    }

    /// Declares `name` in `scope`; a second declaration of a var or function keeps the first binding.
    fn declare(&mut self, scope: ScopeIdx, name: &'a str, kind: BindKind, init_end: u32) -> BindIdx {
        if let Some(&existing) = self.out.scopes[scope as usize].names.get(name) {
            let binding = &mut self.out.bindings[existing as usize];
            if kind == BindKind::Function && matches!(binding.kind, BindKind::Var) {
                binding.kind = BindKind::Function;
            }
            if kind == BindKind::Function && binding.kind == BindKind::Param {
                let func = self.out.scopes[scope as usize].func;
                self.out.funcs[func as usize].params_assigned = true;
            }
            return existing;
        }
        let index = self.out.bindings.len() as BindIdx;
        let in_top = self.out.scopes[scope as usize].kind == ScopeKind::Top;
        let global = in_top
            && match self.top {
                TopKind::Script => !matches!(kind, BindKind::Hidden | BindKind::Pseudo),
                TopKind::Module => false,
                TopKind::Eval { strict_vars } => !strict_vars && matches!(kind, BindKind::Var | BindKind::Function),
            };
        self.out.bindings.push(Binding {
            name,
            kind,
            scope,
            captured: in_top && self.top == TopKind::Module,
            slot: 0,
            global,
            tdz: kind.is_lexical(),
            init_end,
            needs_hole: false,
            writes: Vec::new(),
        });
        let target = &mut self.out.scopes[scope as usize];
        target.names.insert(name, index);
        target.bindings.push(index);
        index
    }

    /// The scope that `var` declarations of the current place go to.
    fn var_scope(&self) -> ScopeIdx {
        for open in self.open.iter().rev() {
            match self.out.scopes[open.index as usize].kind {
                ScopeKind::Top | ScopeKind::Function | ScopeKind::Body | ScopeKind::StaticBlock => return open.index,
                _ => {}
            }
        }
        self.current()
    }

    fn add_use(&mut self, name: &'a str, reference: u32, offset: u32, write: bool) {
        let item = Use { name, reference, offset, crossed: false, write, cheap_arguments: false };
        if let Some(open) = self.open.last_mut() {
            open.uses.push(item);
        }
    }

    fn resolve(&mut self, binding: BindIdx, item: Use<'a>) {
        if item.reference != NONE {
            self.out.resolution[item.reference as usize] = binding;
        }
        let b = &mut self.out.bindings[binding as usize];
        if item.crossed {
            b.captured = true;
        }
        let in_switch = self.out.scopes[b.scope as usize].kind == ScopeKind::Switch;
        if b.tdz && (item.crossed || in_switch || item.offset < b.init_end) {
            b.needs_hole = true;
        }
        if item.write {
            b.writes.push(item.offset);
            if b.kind == BindKind::Param {
                let func = self.out.scopes[b.scope as usize].func;
                self.out.funcs[func as usize].params_assigned = true;
            }
        }
    }

    /// Closes the innermost scope: resolves its names, hands on the rest, numbers captured slots.
    fn close(&mut self) {
        let Some(mut open) = self.open.pop() else { return };
        let index = open.index;
        let kind = self.out.scopes[index as usize].kind;
        let func = self.out.scopes[index as usize].func;
        self.hoist_annex_b(&mut open, kind, func);
        let has_eval = self.out.scopes[index as usize].has_eval;
        let implicit = kind == ScopeKind::Function && !self.out.funcs[func as usize].is_arrow;
        if implicit && has_eval {
            self.declare_for_eval(index, func);
        }
        let uses = std::mem::take(&mut open.uses);
        self.declared_arguments(index, func, kind, implicit);
        for mut item in uses {
            let mut found = self.out.scopes[index as usize].names.get(item.name).copied();
            if found.is_none() && implicit {
                found = self.implicit_binding(index, func, &item);
            }
            if let Some(binding) = found {
                if item.name == "arguments" && self.out.funcs[func as usize].arguments == binding {
                    let escape = !item.cheap_arguments || item.crossed || item.write;
                    self.out.funcs[func as usize].arguments_escape |= escape;
                }
                self.resolve(binding, item);
                continue;
            }
            item.crossed |= open.boundary;
            if let Some(parent) = self.open.last_mut() {
                parent.uses.push(item);
            }
        }
        if has_eval {
            for i in 0..self.out.scopes[index as usize].bindings.len() {
                let binding = self.out.scopes[index as usize].bindings[i];
                let b = &mut self.out.bindings[binding as usize];
                if !b.global {
                    b.captured = true;
                    b.needs_hole |= b.tdz;
                }
            }
            if kind == ScopeKind::Function && !self.out.scopes[index as usize].strict {
                self.out.scopes[index as usize].var_object = true;
            }
            if let Some(parent) = self.open.last() {
                self.out.scopes[parent.index as usize].has_eval = true;
            }
        }
        self.fix_arguments(index, func, kind);
        self.number_slots(index);
    }

    /// `var arguments` starts as the arguments object.
    fn declared_arguments(&mut self, index: ScopeIdx, func: FuncIdx, kind: ScopeKind, implicit: bool) {
        let Some(&binding) = self.out.scopes[index as usize].names.get("arguments") else { return };
        if self.out.bindings[binding as usize].kind != BindKind::Var {
            return;
        }
        if implicit {
            self.out.funcs[func as usize].arguments = binding;
            self.out.funcs[func as usize].arguments_escape = true;
        } else if kind == ScopeKind::Body {
            let item = Use {
                name: "arguments",
                reference: NONE,
                offset: 0,
                crossed: false,
                write: false,
                cheap_arguments: false,
            };
            if let Some(parent) = self.open.last_mut() {
                parent.uses.push(item);
            }
        }
    }

    fn number_slots(&mut self, index: ScopeIdx) {
        let mut slots = 0u16;
        for i in 0..self.out.scopes[index as usize].bindings.len() {
            let binding = self.out.scopes[index as usize].bindings[i];
            let b = &mut self.out.bindings[binding as usize];
            if b.captured && !b.global {
                b.slot = slots;
                slots = slots.saturating_add(1);
            }
        }
        self.out.scopes[index as usize].env_slots = slots;
    }

    /// Mapped arguments alias the parameters, so those must live in the environment.
    fn fix_arguments(&mut self, index: ScopeIdx, func: FuncIdx, kind: ScopeKind) {
        let info = &self.out.funcs[func as usize];
        if kind != ScopeKind::Function || info.arguments == NONE {
            return;
        }
        // The cheap form reads the arguments where they arrived: in the parameters' registers.
        if info.params_assigned || !info.simple_params {
            self.out.funcs[func as usize].arguments_escape = true;
        }
        let info = &self.out.funcs[func as usize];
        if info.arguments_escape && !info.strict && info.simple_params {
            for i in 0..self.out.scopes[index as usize].bindings.len() {
                let binding = self.out.scopes[index as usize].bindings[i];
                let b = &mut self.out.bindings[binding as usize];
                if b.kind == BindKind::Param {
                    b.captured = true;
                }
            }
        }
    }

    /// Bindings that a function has without declaring them.
    fn implicit_binding(&mut self, scope: ScopeIdx, func: FuncIdx, item: &Use<'a>) -> Option<BindIdx> {
        let (is_field_init, is_derived) = {
            let info = &self.out.funcs[func as usize];
            (info.is_field_init, info.is_derived)
        };
        match item.name {
            "arguments" if !is_field_init => {
                let binding = self.declare(scope, item.name, BindKind::Arguments, 0);
                self.out.funcs[func as usize].arguments = binding;
                Some(binding)
            }
            "this" => {
                let binding = self.declare(scope, item.name, BindKind::Pseudo, u32::MAX);
                self.out.bindings[binding as usize].tdz = is_derived;
                self.out.bindings[binding as usize].needs_hole = is_derived;
                self.out.funcs[func as usize].uses_this = true;
                Some(binding)
            }
            "new.target" | "%fn" => Some(self.declare(scope, item.name, BindKind::Pseudo, 0)),
            _ => None,
        }
    }

    /// A direct eval may name everything that its function has.
    fn declare_for_eval(&mut self, scope: ScopeIdx, func: FuncIdx) {
        let names: &[&'a str] = &["this", "new.target", "%fn", "arguments"];
        for name in names {
            if self.out.scopes[scope as usize].names.contains_key(name) {
                continue;
            }
            let item = Use { name, reference: NONE, offset: 0, crossed: true, write: false, cheap_arguments: false };
            if let Some(binding) = self.implicit_binding(scope, func, &item) {
                self.out.bindings[binding as usize].captured = true;
            }
        }
        self.out.funcs[func as usize].arguments_escape = true;
        self.out.funcs[func as usize].has_eval = true;
        if !self.out.scopes[scope as usize].strict {
            let binding = self.declare(scope, "%vars", BindKind::Hidden, 0);
            self.out.bindings[binding as usize].captured = true;
        }
    }

    /// Annex B.3.3: a block's function becomes a var of the function where no lexical name is in the way.
    fn hoist_annex_b(&mut self, open: &mut OpenScope<'a>, kind: ScopeKind, func: FuncIdx) {
        let candidates = std::mem::take(&mut open.annex_b);
        if candidates.is_empty() {
            return;
        }
        let is_var_scope =
            matches!(kind, ScopeKind::Top | ScopeKind::Function | ScopeKind::Body | ScopeKind::StaticBlock);
        for (block, binding) in candidates {
            let name = self.out.bindings[binding as usize].name;
            let own = self.out.scopes[open.index as usize].names.get(name).copied();
            if !is_var_scope {
                // A lexical binding between the block and the function stops the hoisting; a simple
                // catch parameter does not.
                let blocked = block != open.index
                    && own.is_some_and(|b| {
                        let b = &self.out.bindings[b as usize];
                        b.kind != BindKind::Catch || b.tdz
                    });
                if !blocked && let Some(parent) = self.open.last_mut() {
                    parent.annex_b.push((block, binding));
                }
                continue;
            }
            if let Some(b) = own {
                let kind = self.out.bindings[b as usize].kind;
                if !matches!(kind, BindKind::Var | BindKind::Function) {
                    continue;
                }
            } else {
                if kind == ScopeKind::Body {
                    // A parameter of that name also stops it.
                    let parent = self.out.scopes[open.index as usize].parent;
                    if self.out.scopes[parent as usize].names.contains_key(name) {
                        continue;
                    }
                }
                let var = self.declare(open.index, name, BindKind::Var, 0);
                if self.out.bindings[var as usize].global {
                    self.out.annex_b_globals.push(name);
                }
            }
            self.out.funcs[func as usize].annex_b.push((block, binding));
        }
    }

    fn close_top(&mut self) {
        // What is left unresolved is global, or belongs to the code around an eval.
        let Some(mut open) = self.open.pop() else { return };
        let index = open.index;
        let func = self.out.scopes[index as usize].func;
        self.hoist_annex_b(&mut open, ScopeKind::Top, func);
        if self.top == TopKind::Module && self.out.scopes[index as usize].has_eval {
            // An eval cannot see otherwise that `this` is undefined here.
            self.declare(index, "this", BindKind::Pseudo, 0);
        }
        for item in std::mem::take(&mut open.uses) {
            self.out.free_arguments |= item.name == "arguments";
            if let Some(&binding) = self.out.scopes[index as usize].names.get(item.name) {
                self.resolve(binding, item);
            }
        }
        if self.out.scopes[index as usize].has_eval {
            for i in 0..self.out.scopes[index as usize].bindings.len() {
                let b = &mut self.out.bindings[self.out.scopes[index as usize].bindings[i] as usize];
                b.captured |= !b.global;
                b.needs_hole |= b.tdz;
            }
        }
        self.number_slots(index);
    }

    fn pattern_names(&mut self, pattern: &BindingPattern<'a>, scope: ScopeIdx, kind: BindKind, init_end: u32) {
        match pattern {
            BindingPattern::BindingIdentifier(id) => {
                self.declare(scope, id.name.as_str(), kind, init_end);
                if kind == BindKind::Var {
                    self.add_use(id.name.as_str(), NONE, id.span.start, true);
                }
            }
            BindingPattern::ObjectPattern(object) => {
                for property in &object.properties {
                    self.pattern_names(&property.value, scope, kind, init_end);
                }
                if let Some(rest) = &object.rest {
                    self.pattern_names(&rest.argument, scope, kind, init_end);
                }
            }
            BindingPattern::ArrayPattern(array) => {
                for element in array.elements.iter().flatten() {
                    self.pattern_names(element, scope, kind, init_end);
                }
                if let Some(rest) = &array.rest {
                    self.pattern_names(&rest.argument, scope, kind, init_end);
                }
            }
            BindingPattern::AssignmentPattern(assignment) => {
                self.pattern_names(&assignment.left, scope, kind, init_end);
            }
        }
    }

    /// `this` used here, directly or through `super`.
    fn use_this(&mut self, offset: u32) {
        let info = &self.out.funcs[self.func as usize];
        if info.is_arrow || info.is_derived {
            self.add_use("this", NONE, offset, false);
        } else {
            self.info().uses_this = true;
        }
    }

    /// `new.target` or the active function: only arrows need to fetch them from elsewhere.
    fn use_pseudo(&mut self, name: &'static str, offset: u32) {
        if self.out.funcs[self.func as usize].is_arrow {
            self.add_use(name, NONE, offset, false);
        }
    }

    fn params(&mut self, params: &FormalParameters<'a>, scope: ScopeIdx, has_expressions: bool) {
        for param in &params.items {
            let end = param.span.end;
            let before = self.out.bindings.len();
            self.pattern_names(&param.pattern, scope, BindKind::Param, end);
            if has_expressions {
                for b in &mut self.out.bindings[before..] {
                    b.tdz = true;
                }
            }
        }
        if let Some(rest) = &params.rest {
            let before = self.out.bindings.len();
            self.pattern_names(&rest.rest.argument, scope, BindKind::Param, rest.span.end);
            if has_expressions {
                for b in &mut self.out.bindings[before..] {
                    b.tdz = true;
                }
            }
        }
        for param in &params.items {
            self.visit_binding_pattern(&param.pattern);
            if let Some(init) = &param.initializer {
                self.visit_expression(init);
            }
        }
        if let Some(rest) = &params.rest {
            self.visit_binding_pattern(&rest.rest.argument);
        }
    }

    /// Opens the scopes of a function-like node, runs its parts and closes them.
    fn function_like(
        &mut self,
        key: usize,
        is_arrow: bool,
        params: &FormalParameters<'a>,
        name: Option<&BindingIdentifier<'a>>,
        is_derived: bool,
        strict: bool,
        body: &mut dyn FnMut(&mut Self),
    ) {
        let saved = (self.func, self.strict);
        self.strict = strict;
        self.new_func(is_arrow);
        let has_expressions = params_have_expressions(params);
        let simple = params.rest.is_none()
            && params.items.iter().all(|p| p.initializer.is_none() && p.pattern.is_binding_identifier());
        self.info().is_derived = is_derived;
        self.info().simple_params = simple;
        let scope = self.push(ScopeKind::Function, true);
        self.info().scope = scope;
        self.out.node_scope.insert((key, tag::FUNCTION), scope);
        self.params(params, scope, has_expressions);
        if has_expressions {
            let body_scope = self.push(ScopeKind::Body, false);
            self.out.node_scope.insert((key, tag::BODY), body_scope);
            body(self);
            self.close();
        } else {
            body(self);
        }
        if let Some(id) = name
            && !self.out.scopes[scope as usize].names.contains_key(id.name.as_str())
        {
            self.declare(scope, id.name.as_str(), BindKind::FunctionName, 0);
        }
        self.close();
        (self.func, self.strict) = saved;
    }

    fn function(&mut self, it: &Function<'a>, is_derived: bool) {
        let strict = self.strict || it.has_use_strict_directive();
        let name = if it.is_expression() { it.id.as_ref() } else { None };
        self.function_like(addr(it), false, &it.params, name, is_derived, strict, &mut |me| {
            if let Some(body) = &it.body {
                for statement in &body.statements {
                    me.visit_statement(statement);
                }
            }
        });
    }

    fn block(&mut self, key: usize, tag: u8, kind: ScopeKind, run: &mut dyn FnMut(&mut Self)) {
        let scope = self.push(kind, false);
        self.out.node_scope.insert((key, tag), scope);
        run(self);
        self.close();
    }

    fn class(&mut self, it: &Class<'a>) {
        let saved_strict = self.strict;
        self.strict = true;
        let scope = self.push(ScopeKind::Class, false);
        self.out.node_scope.insert((addr(it), tag::CLASS), scope);
        if let Some(id) = &it.id {
            self.declare(scope, id.name.as_str(), BindKind::ClassName, it.span.end);
        }
        let mut counter = 0usize;
        for element in &it.body.body {
            if let Some(PropertyKey::PrivateIdentifier(id)) = element.property_key() {
                let name = self.private_name(id);
                self.declare(scope, name, BindKind::Private, 0);
            }
        }
        if let Some(heritage) = &it.heritage {
            self.visit_expression(&heritage.expression);
        }
        let is_derived = it.heritage.is_some();
        let mut has_instance = false;
        let mut has_static = false;
        for element in &it.body.body {
            match element {
                ClassElement::MethodDefinition(m) => {
                    if m.computed {
                        self.visit_property_key(&m.key);
                    }
                    let derived = is_derived && m.kind == MethodDefinitionKind::Constructor;
                    self.function(&m.value, derived);
                    if m.key.is_private_identifier() && !m.r#static {
                        has_instance = true;
                        self.hidden(scope, &mut counter);
                    }
                }
                ClassElement::PropertyDefinition(p) => {
                    if p.computed {
                        self.visit_property_key(&p.key);
                        self.hidden(scope, &mut counter);
                    }
                    if p.r#static {
                        has_static = true;
                    } else {
                        has_instance = true;
                    }
                }
                ClassElement::StaticBlock(_) => has_static = true,
                _ => {}
            }
        }
        if has_instance {
            self.initializer(it, tag::FIELDS, false);
        }
        if has_static {
            self.initializer(it, tag::STATICS, true);
        }
        self.close();
        self.strict = saved_strict;
    }

    /// A slot for a computed key or a private method; read by the initializer function.
    fn hidden(&mut self, scope: ScopeIdx, counter: &mut usize) {
        let name = HIDDEN_NAMES.get(*counter).copied().unwrap_or("%hidden");
        let index = self.out.bindings.len() as BindIdx;
        self.out.bindings.push(Binding {
            name,
            kind: BindKind::Hidden,
            scope,
            captured: true,
            slot: 0,
            global: false,
            tdz: false,
            init_end: 0,
            needs_hole: false,
            writes: Vec::new(),
        });
        self.out.scopes[scope as usize].bindings.push(index);
        *counter += 1;
    }

    /// The function that runs a class's instance fields or its static elements.
    fn initializer(&mut self, it: &Class<'a>, which: u8, is_static: bool) {
        let saved = self.func;
        self.new_func(false);
        self.info().is_field_init = true;
        let scope = self.push(ScopeKind::Function, true);
        self.info().scope = scope;
        self.out.node_scope.insert((addr(it), which), scope);
        for element in &it.body.body {
            match element {
                ClassElement::MethodDefinition(m) if m.key.is_private_identifier() && !m.r#static && !is_static => {
                    // Installed by the instance initializer: it names the private name.
                    if let PropertyKey::PrivateIdentifier(id) = &m.key {
                        let name = self.private_name(id);
                        self.add_use(name, NONE, id.span.start, false);
                    }
                    self.info().uses_this = true;
                }
                ClassElement::PropertyDefinition(p) if p.r#static == is_static => {
                    self.info().uses_this = true;
                    if let PropertyKey::PrivateIdentifier(id) = &p.key {
                        let name = self.private_name(id);
                        self.add_use(name, NONE, id.span.start, false);
                    }
                    if let Some(value) = &p.value {
                        self.visit_expression(value);
                    }
                }
                ClassElement::StaticBlock(block) if is_static => {
                    let scope = self.push(ScopeKind::StaticBlock, false);
                    self.out.node_scope.insert((addr(&**block), tag::BLOCK), scope);
                    for statement in &block.body {
                        self.visit_statement(statement);
                    }
                    self.close();
                }
                _ => {}
            }
        }
        self.close();
        self.func = saved;
    }

    fn for_left(&mut self, left: &ForStatementLeft<'a>, init_end: u32) {
        if let ForStatementLeft::VariableDeclaration(declaration) = left {
            self.declare_variables(declaration, Some(init_end));
            for declarator in &declaration.declarations {
                self.visit_binding_pattern(&declarator.id);
                if let Some(init) = &declarator.init {
                    self.visit_expression(init);
                }
            }
        } else {
            self.visit_for_statement_left(left);
        }
    }

    fn declare_variables(&mut self, it: &VariableDeclaration<'a>, init_end: Option<u32>) {
        let (kind, scope) = match it.kind {
            VariableDeclarationKind::Var => (BindKind::Var, self.var_scope()),
            VariableDeclarationKind::Let => (BindKind::Let, self.current()),
            _ => (BindKind::Const, self.current()),
        };
        for declarator in &it.declarations {
            self.pattern_names(&declarator.id, scope, kind, init_end.unwrap_or(declarator.span.end));
        }
    }

    /// `arguments.length` and `arguments[i]` need no object if nothing else does.
    fn cheap_arguments(&mut self, object: &Expression<'a>) -> bool {
        if let Expression::Identifier(id) = object
            && id.name == "arguments"
        {
            self.visit_identifier_reference(id);
            if let Some(last) = self.open.last_mut().and_then(|o| o.uses.last_mut()) {
                last.cheap_arguments = true;
            }
            return true;
        }
        false
    }

    /// The name under which scopes know `#x`.
    fn private_name(&self, id: &PrivateIdentifier<'a>) -> &'a str {
        self.allocator.alloc_str(&format!("#{}", id.name))
    }

    fn write_reference(&mut self, id: &IdentifierReference<'a>) {
        let reference = id.reference_id.get().map_or(NONE, |r| r.index() as u32);
        self.add_use(id.name.as_str(), reference, id.span.start, true);
    }
}

/// Hidden bindings are found by position, so their names only serve debugging.
const HIDDEN_NAMES: [&str; 4] = ["%h0", "%h1", "%h2", "%h3"];

/// Parameters whose evaluation may run code: then the body gets a scope of its own.
pub fn params_have_expressions(params: &FormalParameters<'_>) -> bool {
    fn trivial(e: &Expression<'_>) -> bool {
        match e {
            Expression::BooleanLiteral(_)
            | Expression::NullLiteral(_)
            | Expression::NumericLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::BigIntLiteral(_)
            | Expression::RegExpLiteral(_) => true,
            Expression::ObjectExpression(o) => o.properties.is_empty(),
            Expression::ArrayExpression(a) => a.elements.is_empty(),
            Expression::UnaryExpression(u) => {
                matches!(u.operator, UnaryOperator::UnaryNegation | UnaryOperator::Void) && trivial(&u.argument)
            }
            _ => false,
        }
    }
    fn pattern(p: &BindingPattern<'_>) -> bool {
        match p {
            BindingPattern::BindingIdentifier(_) => false,
            BindingPattern::ObjectPattern(o) => {
                o.properties.iter().any(|p| p.computed || pattern(&p.value))
                    || o.rest.as_ref().is_some_and(|r| pattern(&r.argument))
            }
            BindingPattern::ArrayPattern(a) => {
                a.elements.iter().flatten().any(pattern) || a.rest.as_ref().is_some_and(|r| pattern(&r.argument))
            }
            BindingPattern::AssignmentPattern(a) => !trivial(&a.right) || pattern(&a.left),
        }
    }
    params.items.iter().any(|p| p.initializer.as_ref().is_some_and(|e| !trivial(e)) || pattern(&p.pattern))
        || params.rest.as_ref().is_some_and(|r| pattern(&r.rest.argument))
}

impl<'a> Visit<'a> for Analyzer<'a> {
    fn visit_expression(&mut self, it: &Expression<'a>) {
        self.depth += 1;
        crate::stack::ensure(|| walk::walk_expression(self, it));
        self.depth -= 1;
    }

    fn visit_statement(&mut self, it: &Statement<'a>) {
        crate::stack::ensure(|| walk::walk_statement(self, it));
    }

    fn visit_identifier_reference(&mut self, it: &IdentifierReference<'a>) {
        let reference = it.reference_id.get().map_or(NONE, |r| r.index() as u32);
        self.add_use(it.name.as_str(), reference, it.span.start, false);
    }

    fn visit_simple_assignment_target(&mut self, it: &SimpleAssignmentTarget<'a>) {
        match it {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => self.write_reference(id),
            // Written members of `arguments` need the object.
            SimpleAssignmentTarget::StaticMemberExpression(m) => self.visit_expression(&m.object),
            SimpleAssignmentTarget::ComputedMemberExpression(m) => {
                self.visit_expression(&m.object);
                self.visit_expression(&m.expression);
            }
            _ => walk::walk_simple_assignment_target(self, it),
        }
    }

    fn visit_assignment_target_property_identifier(&mut self, it: &AssignmentTargetPropertyIdentifier<'a>) {
        self.write_reference(&it.binding);
        if let Some(init) = &it.init {
            self.visit_expression(init);
        }
    }

    fn visit_static_member_expression(&mut self, it: &StaticMemberExpression<'a>) {
        if it.property.name == "length" && !it.optional && self.cheap_arguments(&it.object) {
            return;
        }
        self.visit_expression(&it.object);
    }

    fn visit_computed_member_expression(&mut self, it: &ComputedMemberExpression<'a>) {
        if it.optional || !self.cheap_arguments(&it.object) {
            self.visit_expression(&it.object);
        }
        self.visit_expression(&it.expression);
    }

    fn visit_unary_expression(&mut self, it: &UnaryExpression<'a>) {
        if it.operator == UnaryOperator::Delete {
            match &it.argument {
                Expression::StaticMemberExpression(m) => return self.visit_expression(&m.object),
                Expression::ComputedMemberExpression(m) => {
                    self.visit_expression(&m.object);
                    return self.visit_expression(&m.expression);
                }
                _ => {}
            }
        }
        self.visit_expression(&it.argument);
    }

    fn visit_tagged_template_expression(&mut self, it: &TaggedTemplateExpression<'a>) {
        match &it.tag {
            Expression::ComputedMemberExpression(m) => {
                self.visit_expression(&m.object);
                self.visit_expression(&m.expression);
            }
            tag => self.visit_expression(tag),
        }
        for e in &it.quasi.expressions {
            self.visit_expression(e);
        }
    }

    fn visit_call_expression(&mut self, it: &CallExpression<'a>) {
        match &it.callee {
            Expression::Identifier(id) if id.name == "eval" => {
                let scope = self.current();
                self.out.scopes[scope as usize].has_eval = true;
                if !self.strict {
                    self.out.has_dynamic = true;
                }
                self.info().has_eval = true;
                self.visit_identifier_reference(id);
            }
            Expression::Super(s) => {
                self.use_this(s.span.start);
                self.use_pseudo("new.target", s.span.start);
                self.use_pseudo("%fn", s.span.start);
            }
            // The callee of a call of an element gets `arguments` as this value.
            Expression::ComputedMemberExpression(m) => {
                self.visit_expression(&m.object);
                self.visit_expression(&m.expression);
            }
            callee => self.visit_expression(callee),
        }
        for argument in &it.arguments {
            self.visit_argument(argument);
        }
    }

    fn visit_this_expression(&mut self, it: &ThisExpression) {
        self.use_this(it.span.start);
    }

    fn visit_super(&mut self, it: &Super) {
        self.use_this(it.span.start);
    }

    fn visit_new_target(&mut self, it: &NewTarget) {
        self.use_pseudo("new.target", it.span.start);
    }

    fn visit_private_identifier(&mut self, it: &PrivateIdentifier<'a>) {
        let name = self.private_name(it);
        self.add_use(name, NONE, it.span.start, false);
    }

    fn visit_private_field_expression(&mut self, it: &PrivateFieldExpression<'a>) {
        self.visit_expression(&it.object);
        self.visit_private_identifier(&it.field);
    }

    fn visit_await_expression(&mut self, it: &AwaitExpression<'a>) {
        if self.out.funcs[self.func as usize].is_top {
            self.out.has_top_level_await = true;
        }
        self.visit_expression(&it.argument);
    }

    fn visit_variable_declaration(&mut self, it: &VariableDeclaration<'a>) {
        self.declare_variables(it, None);
        for declarator in &it.declarations {
            self.visit_binding_pattern(&declarator.id);
            if let Some(init) = &declarator.init {
                self.visit_expression(init);
            }
        }
    }

    fn visit_binding_identifier(&mut self, _it: &BindingIdentifier<'a>) {}

    fn visit_function(&mut self, it: &Function<'a>, _flags: ScopeFlags) {
        if it.is_declaration()
            && let Some(id) = &it.id
        {
            let scope = self.current();
            let at_function_level = matches!(
                self.out.scopes[scope as usize].kind,
                ScopeKind::Top | ScopeKind::Function | ScopeKind::Body | ScopeKind::StaticBlock
            );
            if at_function_level {
                self.declare(scope, id.name.as_str(), BindKind::Function, 0);
            } else {
                let binding = self.declare(scope, id.name.as_str(), BindKind::BlockFunction, 0);
                if !self.strict
                    && !it.r#async
                    && !it.generator
                    && let Some(open) = self.open.last_mut()
                {
                    open.annex_b.push((scope, binding));
                }
            }
        }
        self.function(it, false);
    }

    fn visit_arrow_function_expression(&mut self, it: &ArrowFunctionExpression<'a>) {
        let strict = self.strict || it.has_use_strict_directive();
        self.function_like(addr(it), true, &it.params, None, false, strict, &mut |me| match &it.body {
            ArrowFunctionBody::FunctionBody(body) => {
                for statement in &body.statements {
                    me.visit_statement(statement);
                }
            }
            body => {
                if let Some(e) = body.as_expression() {
                    me.visit_expression(e);
                }
            }
        });
    }

    fn visit_class(&mut self, it: &Class<'a>) {
        if it.is_declaration()
            && let Some(id) = &it.id
        {
            let scope = self.current();
            self.declare(scope, id.name.as_str(), BindKind::Class, it.span.end);
        }
        self.class(it);
    }

    fn visit_block_statement(&mut self, it: &BlockStatement<'a>) {
        self.block(addr(it), tag::BLOCK, ScopeKind::Block, &mut |me| {
            for statement in &it.body {
                me.visit_statement(statement);
            }
        });
    }

    fn visit_if_statement(&mut self, it: &IfStatement<'a>) {
        self.visit_expression(&it.test);
        self.branch(&it.consequent);
        if let Some(alternate) = &it.alternate {
            self.branch(alternate);
        }
    }

    fn visit_labeled_statement(&mut self, it: &LabeledStatement<'a>) {
        self.visit_statement(&it.body);
    }

    fn visit_for_statement(&mut self, it: &ForStatement<'a>) {
        self.block(addr(it), tag::BLOCK, ScopeKind::Loop, &mut |me| {
            if let Some(init) = &it.init {
                me.visit_for_statement_init(init);
            }
            if let Some(test) = &it.test {
                me.visit_expression(test);
            }
            if let Some(update) = &it.update {
                me.visit_expression(update);
            }
            me.visit_statement(&it.body);
        });
    }

    fn visit_for_in_statement(&mut self, it: &ForInStatement<'a>) {
        self.block(addr(it), tag::BLOCK, ScopeKind::Loop, &mut |me| {
            me.for_left(&it.left, it.right.span().end);
            me.visit_expression(&it.right);
            me.visit_statement(&it.body);
        });
    }

    fn visit_for_of_statement(&mut self, it: &ForOfStatement<'a>) {
        if it.r#await && self.out.funcs[self.func as usize].is_top {
            self.out.has_top_level_await = true;
        }
        self.block(addr(it), tag::BLOCK, ScopeKind::Loop, &mut |me| {
            me.for_left(&it.left, it.right.span().end);
            me.visit_expression(&it.right);
            me.visit_statement(&it.body);
        });
    }

    fn visit_switch_statement(&mut self, it: &SwitchStatement<'a>) {
        self.visit_expression(&it.discriminant);
        self.block(addr(it), tag::BLOCK, ScopeKind::Switch, &mut |me| {
            for case in &it.cases {
                if let Some(test) = &case.test {
                    me.visit_expression(test);
                }
                for statement in &case.consequent {
                    me.visit_statement(statement);
                }
            }
        });
    }

    fn visit_catch_clause(&mut self, it: &CatchClause<'a>) {
        self.block(addr(it), tag::CATCH, ScopeKind::Catch, &mut |me| {
            if let Some(param) = &it.param {
                let scope = me.current();
                let before = me.out.bindings.len();
                me.pattern_names(&param.pattern, scope, BindKind::Catch, param.span.end);
                if !param.pattern.is_binding_identifier() {
                    for b in &mut me.out.bindings[before..] {
                        b.tdz = true;
                    }
                }
                me.visit_binding_pattern(&param.pattern);
            }
            me.visit_block_statement(&it.body);
        });
    }

    fn visit_with_statement(&mut self, it: &WithStatement<'a>) {
        self.out.has_dynamic = true;
        self.visit_expression(&it.object);
        self.block(addr(it), tag::WITH, ScopeKind::With, &mut |me| me.visit_statement(&it.body));
    }

    fn visit_import_declaration(&mut self, it: &ImportDeclaration<'a>) {
        let scope = self.current();
        for specifier in it.specifiers.iter().flatten() {
            let local = specifier.local();
            self.declare(scope, local.name.as_str(), BindKind::Import, 0);
        }
    }

    fn visit_export_specifier(&mut self, _it: &ExportSpecifier<'a>) {}

    fn visit_export_default_declaration(&mut self, it: &ExportDefaultDeclaration<'a>) {
        let scope = self.current();
        match &it.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(f) => {
                if f.id.is_none() {
                    self.declare(scope, "*default*", BindKind::Function, 0);
                }
                self.visit_function(f, ScopeFlags::empty());
            }
            ExportDefaultDeclarationKind::ClassDeclaration(c) => {
                if c.id.is_none() {
                    self.declare(scope, "*default*", BindKind::Let, it.span.end);
                }
                self.visit_class(c);
            }
            other => {
                self.declare(scope, "*default*", BindKind::Let, it.span.end);
                if let Some(e) = other.as_expression() {
                    self.visit_expression(e);
                }
            }
        }
    }

    fn visit_export_all_declaration(&mut self, _it: &ExportAllDeclaration<'a>) {}
    fn visit_export_from_declaration(&mut self, _it: &ExportFromDeclaration<'a>) {}
}

impl<'a> Analyzer<'a> {
    /// A branch of `if`: a function declaration there has a block of its own (Annex B.3.3).
    fn branch(&mut self, it: &Statement<'a>) {
        if matches!(it, Statement::FunctionDeclaration(_)) {
            self.block(addr(it), tag::BLOCK, ScopeKind::Block, &mut |me| me.visit_statement(it));
        } else {
            self.visit_statement(it);
        }
    }
}
