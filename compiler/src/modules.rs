//! Top-level code: scripts, modules and evals.
//!
//! Every binding of a module lies in the module's environment, which the engine makes and passes as the
//! top function's environment; imports are slots that hold references. Scripts declare globals by name.

use oxc_ast::ast::*;
use oxc_span::Span;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::codegen::Codegen;
use crate::functions::Name;
use crate::scope::*;
use crate::strings::decode;

fn export_name(name: &ModuleExportName<'_>) -> JsStr {
    match name {
        ModuleExportName::IdentifierName(id) => id.name.as_str().into(),
        ModuleExportName::IdentifierReference(id) => id.name.as_str().into(),
        ModuleExportName::StringLiteral(s) => decode(s.value.as_str(), s.lone_surrogates),
    }
}

impl<'a> Codegen<'a> {
    /// Compiles the top-level code as function 0.
    pub fn program(&mut self, program: &Program<'a>) {
        self.functions.push(None);
        let scope = self.scope_of(addr(program), tag::TOP);
        let is_module = matches!(self.kind, SourceKind::Module);
        self.f.fenv = self.local();
        self.f.this = self.local();
        if is_module {
            self.f.scopes.push(scope);
            let fenv = self.f.fenv;
            self.f.envs.push((scope, fenv));
            self.fenv();
            self.module_declarations(scope, &program.body);
            if let Some(&this) = self.an.scopes[scope as usize].names.get("this") {
                let mark = self.top();
                let temp = self.temp();
                self.op(Opcode::LoadUndefined, &[temp]);
                self.init_binding(this, temp);
                self.free(mark);
            }
        } else {
            self.open_env(scope);
            self.other_registers(scope);
            self.local_vars(scope);
            self.declare_globals(scope, &program.body);
            self.f.completion = None;
        }
        let last = if is_module { None } else { last_value_statement(&program.body) };
        let result = self.local();
        if !is_module {
            self.op(Opcode::LoadUndefined, &[result]);
        }
        for (i, statement) in program.body.iter().enumerate() {
            if Some(i) == last {
                self.f.completion = Some(result);
            }
            self.statement(statement);
        }
        if is_module {
            self.op(Opcode::ReturnUndefined, &[]);
        } else {
            // Directives are expression statements, too; a strict caller adds one in front.
            let prefixed = usize::from(self.outer.as_ref().is_some_and(|o| o.strict));
            if last.is_none()
                && program.directives.len() > prefixed
                && let Some(directive) = program.directives.last()
            {
                let text = decode(directive.expression.value.as_str(), directive.expression.lone_surrogates);
                self.load_string(result, text);
            }
            self.op(Opcode::Return, &[result]);
        }
    }

    /// The finished top function.
    pub fn finish_top(&mut self, program: &Program<'a>) {
        if self.error.is_none() {
            self.f.asm.finish(0);
        }
        if self.f.asm.overflow && self.error.is_none() {
            self.error = Some(("Function is too large".to_string(), 0, true));
        }
        let asm = std::mem::take(&mut self.f.asm);
        let span = Span::new(0, program.source_text.len() as u32);
        self.functions[0] = Some(FunctionTemplate {
            name: JsStr::from(""),
            kind: FunctionKind::Top,
            suspension: self.f.suspension,
            strict: self.f.strict,
            uses_this: true,
            param_count: 0,
            init_count: 0,
            register_count: asm.register_count(),
            length: 0,
            ic_count: asm.ic_count(),
            code: asm.code,
            constants: asm.constants,
            handlers: asm.handlers,
            positions: asm.positions,
            source_start: span.start,
            source_end: span.end,
        });
    }

    /// Vars of a strict eval stay inside; they start as undefined.
    fn local_vars(&mut self, scope: ScopeIdx) {
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.global || !matches!(b.kind, BindKind::Var | BindKind::Function) {
                continue;
            }
            if b.captured {
                let mark = self.top();
                let temp = self.temp();
                self.op(Opcode::LoadUndefined, &[temp]);
                self.init_binding(binding, temp);
                self.free(mark);
            } else {
                let reg = self.local();
                self.regs[binding as usize] = reg;
                self.op(Opcode::LoadUndefined, &[reg]);
            }
        }
    }

    fn declare_globals(&mut self, scope: ScopeIdx, statements: &[Statement<'a>]) {
        let into_object = self.var_environment();
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if !b.global {
                continue;
            }
            let name = JsStr::from(b.name);
            let (text, kind) = (b.name, b.kind);
            match kind {
                BindKind::Var if self.an.annex_b_globals.contains(&text) => {
                    if into_object.is_some() {
                        self.declare_eval_var(text, None);
                    } else {
                        self.globals.annex_b.push(name);
                    }
                }
                BindKind::Var => {
                    if into_object.is_some() {
                        self.declare_eval_var(text, None);
                    } else {
                        self.globals.vars.push(name);
                    }
                }
                BindKind::Let | BindKind::Class => self.globals.lexicals.push((name, false)),
                BindKind::Const => self.globals.lexicals.push((name, true)),
                _ => {}
            }
        }
        // Function declarations: the last one of a name wins.
        for (i, statement) in statements.iter().enumerate() {
            let Statement::FunctionDeclaration(f) = Self::unlabelled(statement) else { continue };
            let Some(id) = &f.id else { continue };
            let shadowed = statements[i + 1..].iter().any(|s| {
                matches!(Self::unlabelled(s), Statement::FunctionDeclaration(g)
                    if g.id.as_ref().is_some_and(|other| other.name == id.name))
            });
            if shadowed {
                continue;
            }
            let name = id.name.as_str();
            let binding = self.an.scopes[scope as usize].names.get(name).copied();
            let global = binding.is_some_and(|b| self.an.bindings[b as usize].global);
            if !global {
                self.declare_function(f);
                continue;
            }
            if into_object.is_some() {
                self.declare_eval_var(name, Some(f));
            } else {
                let index = self.function_template(f, &Name::Static(name.into()), FunctionKind::Normal, f.span, false);
                self.globals.functions.push((name.into(), index));
            }
        }
    }

    /// Index of the environment around a direct eval in which its vars are declared.
    pub fn var_environment(&self) -> Option<usize> {
        self.outer.as_ref()?.environments.iter().position(|e| e.is_var_scope)
    }

    /// Declares a var or function of a direct eval in the calling function.
    fn declare_eval_var(&mut self, name: &'a str, function: Option<&Function<'a>>) {
        let (Some(position), Some(info)) = (self.var_environment(), self.outer.clone()) else { return };
        let text = JsStr::from(name);
        for environment in &info.environments[..position] {
            let clash = environment
                .names
                .iter()
                .any(|(n, _, mode)| *n == text && matches!(mode, BindingMode::Let | BindingMode::Const));
            if clash {
                return self.fail(0, format!("Identifier '{name}' has already been declared"));
            }
        }
        let mark = self.top();
        let value = self.temp();
        if let Some(f) = function {
            self.function_closure(f, &Name::Static(name.into()), value, FunctionKind::Normal, f.span, false);
        }
        let env = self.fenv();
        let base = self.eval_hops();
        let hops = base + position as u16 + 1;
        let Some(own) = info.environments.get(position + 1) else { return self.free(mark) };
        if let Some((_, slot, mode)) = own.names.iter().find(|(n, _, _)| *n == text) {
            if matches!(mode, BindingMode::Let | BindingMode::Const) {
                return self.fail(0, format!("Identifier '{name}' has already been declared"));
            }
            if function.is_some() {
                self.op(Opcode::SetEnv, &[env, hops, *slot, value]);
            }
            return self.free(mark);
        }
        let vars = JsStr::from("%vars");
        let Some((_, slot, _)) = own.names.iter().find(|(n, _, _)| *n == vars) else { return self.free(mark) };
        let object = self.temp();
        self.op(Opcode::GetEnv, &[object, env, hops, *slot]);
        let c = self.f.asm.name(name);
        let end = self.label();
        if function.is_none() {
            let key = self.temp();
            self.op(Opcode::LoadConst, &[key, c]);
            self.op(Opcode::HasProperty, &[key, key, object]);
            self.jump(Opcode::JumpIfTrue, &[key], end);
            self.op(Opcode::LoadUndefined, &[value]);
        }
        let ic = self.f.asm.ic();
        self.op(Opcode::DefineProperty, &[object, c, value, ic]);
        self.bind(end);
        self.free(mark);
    }

    /// Hops from the eval's own function environment to the caller's innermost environment.
    fn eval_hops(&self) -> u16 {
        0
    }

    fn slot_of(&self, scope: ScopeIdx, name: &str) -> Option<(u16, BindKind)> {
        let binding = *self.an.scopes[scope as usize].names.get(name)?;
        let b = &self.an.bindings[binding as usize];
        Some((b.slot, b.kind))
    }

    fn request(&mut self, source: &StringLiteral<'a>, with: Option<&WithClause<'a>>) -> u32 {
        let specifier = decode(source.value.as_str(), source.lone_surrogates);
        let mut attributes: Vec<(JsStr, JsStr)> = with.map_or_else(Vec::new, |w| {
            w.with_entries
                .iter()
                .map(|e| {
                    let key = match &e.key {
                        ImportAttributeKey::Identifier(id) => id.name.as_str().into(),
                        ImportAttributeKey::StringLiteral(s) => decode(s.value.as_str(), s.lone_surrogates),
                    };
                    (key, decode(e.value.value.as_str(), e.value.lone_surrogates))
                })
                .collect()
        });
        attributes.sort();
        let entry = (specifier, attributes);
        match self.module.requests.iter().position(|r| *r == entry) {
            Some(index) => index as u32,
            None => {
                self.module.requests.push(entry);
                self.module.requests.len() as u32 - 1
            }
        }
    }

    fn module_declarations(&mut self, scope: ScopeIdx, statements: &[Statement<'a>]) {
        self.module.env_slots = self.an.scopes[scope as usize].env_slots;
        self.module.has_top_level_await = self.an.has_top_level_await;
        for &binding in &self.an.scopes[scope as usize].bindings {
            let b = &self.an.bindings[binding as usize];
            if b.kind == BindKind::Var {
                self.module.var_slots.push(b.slot);
            }
        }
        for statement in statements {
            self.module_requests(scope, statement);
        }
        for statement in statements {
            self.module_exports(scope, statement);
        }
        for statement in statements {
            let function = match Self::unlabelled(statement) {
                Statement::FunctionDeclaration(f) => Some(f),
                Statement::ExportDeclaration(e) => match &e.declaration {
                    Declaration::FunctionDeclaration(f) => Some(f),
                    _ => None,
                },
                Statement::ExportDefaultDeclaration(e) => match &e.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(f) => Some(f),
                    _ => None,
                },
                _ => None,
            };
            let Some(f) = function else { continue };
            let (variable, name) = match &f.id {
                Some(id) => (id.name.as_str(), id.name.as_str()),
                None => ("*default*", "default"),
            };
            if let Some((slot, _)) = self.slot_of(scope, variable) {
                let index = self.function_template(f, &Name::Static(name.into()), FunctionKind::Normal, f.span, false);
                self.module.functions.push((slot, index));
            }
        }
    }

    /// Requests in source order, and what imports put into slots.
    fn module_requests(&mut self, scope: ScopeIdx, statement: &Statement<'a>) {
        match statement {
            Statement::ImportDeclaration(i) => {
                if i.phase.is_some() {
                    return self.fail(i.span.start, "Import phases are not supported");
                }
                let request = self.request(&i.source, i.with_clause.as_deref());
                for specifier in i.specifiers.iter().flatten() {
                    let (local, name) = match specifier {
                        ImportDeclarationSpecifier::ImportSpecifier(s) => {
                            (&s.local, ImportName::Named(export_name(&s.imported)))
                        }
                        ImportDeclarationSpecifier::ImportDefaultSpecifier(s) => {
                            (&s.local, ImportName::Named("default".into()))
                        }
                        ImportDeclarationSpecifier::ImportNamespaceSpecifier(s) => (&s.local, ImportName::Namespace),
                    };
                    if let Some((slot, _)) = self.slot_of(scope, local.name.as_str()) {
                        self.module.imports.push(ImportEntry { request, name, slot });
                    }
                }
            }
            Statement::ExportAllDeclaration(e) => {
                self.request(&e.source, e.with_clause.as_deref());
            }
            Statement::ExportFromDeclaration(e) => {
                self.request(&e.source, e.with_clause.as_deref());
            }
            _ => {}
        }
    }

    fn export_local(&mut self, scope: ScopeIdx, local: &str, exported: JsStr) {
        let Some((slot, kind)) = self.slot_of(scope, local) else { return };
        if kind == BindKind::Import
            && let Some(import) = self.module.imports.iter().find(|i| i.slot == slot)
        {
            let entry =
                ExportEntry::Indirect { export_name: exported, request: import.request, name: import.name.clone() };
            return self.module.exports.push(entry);
        }
        self.module.exports.push(ExportEntry::Local { export_name: exported, slot });
    }

    fn module_exports(&mut self, scope: ScopeIdx, statement: &Statement<'a>) {
        match statement {
            Statement::ExportNamedDeclaration(e) => {
                for s in &e.specifiers {
                    let local = s.local.name();
                    self.export_local(scope, local.as_str(), export_name(&s.exported));
                }
            }
            Statement::ExportFromDeclaration(e) => {
                let request = self.request(&e.source, e.with_clause.as_deref());
                for s in &e.specifiers {
                    self.module.exports.push(ExportEntry::Indirect {
                        export_name: export_name(&s.exported),
                        request,
                        name: ImportName::Named(export_name(&s.local)),
                    });
                }
            }
            Statement::ExportAllDeclaration(e) => {
                let request = self.request(&e.source, e.with_clause.as_deref());
                self.module.exports.push(match &e.exported {
                    Some(name) => {
                        ExportEntry::Indirect { export_name: export_name(name), request, name: ImportName::Namespace }
                    }
                    None => ExportEntry::Star { request },
                });
            }
            Statement::ExportDeclaration(e) => match &e.declaration {
                Declaration::VariableDeclaration(d) => {
                    for declarator in &d.declarations {
                        for id in declarator.id.get_binding_identifiers() {
                            self.export_local(scope, id.name.as_str(), id.name.as_str().into());
                        }
                    }
                }
                Declaration::FunctionDeclaration(f) => {
                    if let Some(id) = &f.id {
                        self.export_local(scope, id.name.as_str(), id.name.as_str().into());
                    }
                }
                Declaration::ClassDeclaration(c) => {
                    if let Some(id) = &c.id {
                        self.export_local(scope, id.name.as_str(), id.name.as_str().into());
                    }
                }
                _ => {}
            },
            Statement::ExportDefaultDeclaration(e) => {
                let local = match &e.declaration {
                    ExportDefaultDeclarationKind::FunctionDeclaration(f) => f.id.as_ref().map(|id| id.name.as_str()),
                    ExportDefaultDeclarationKind::ClassDeclaration(c) => c.id.as_ref().map(|id| id.name.as_str()),
                    _ => None,
                };
                self.export_local(scope, local.unwrap_or("*default*"), "default".into());
            }
            _ => {}
        }
    }

    /// `export default` of a class or expression, when it is its turn.
    pub fn export_default(&mut self, e: &ExportDefaultDeclaration<'a>) {
        match &e.declaration {
            ExportDefaultDeclarationKind::FunctionDeclaration(_) => {}
            ExportDefaultDeclarationKind::ClassDeclaration(c) => self.class_declaration(c),
            other => {
                if let Some(expression) = other.as_expression() {
                    let mark = self.top();
                    let value = self.named_expr(expression, Name::Static("default".into()));
                    if let Some(binding) = self.find_binding("*default*") {
                        self.init_binding(binding, value);
                    }
                    self.free(mark);
                }
            }
        }
    }
}

/// The last statement whose completion value counts: what stands before it can be compiled without.
fn last_value_statement(statements: &[Statement<'_>]) -> Option<usize> {
    statements.iter().rposition(gives_value)
}

fn gives_value(s: &Statement<'_>) -> bool {
    match s {
        Statement::ExpressionStatement(_)
        | Statement::IfStatement(_)
        | Statement::ForStatement(_)
        | Statement::ForInStatement(_)
        | Statement::ForOfStatement(_)
        | Statement::WhileStatement(_)
        | Statement::DoWhileStatement(_)
        | Statement::SwitchStatement(_)
        | Statement::TryStatement(_)
        | Statement::WithStatement(_) => true,
        Statement::BlockStatement(b) => b.body.iter().any(gives_value),
        Statement::LabeledStatement(l) => gives_value(&l.body),
        _ => false,
    }
}
