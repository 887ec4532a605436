//! Statements: blocks, declarations, if, switch, labels, jumps, with.
//!
//! Completion values are kept only where somebody may see them (scripts and eval); `completion` is the
//! register then.

use oxc_ast::ast::*;
use oxc_span::GetSpan;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::{FunctionKind, Suspension};

use crate::codegen::Codegen;
use crate::control::{Control, Exit};
use crate::functions::Name;
use crate::patterns::BindMode;
use crate::scope::*;

impl<'a> Codegen<'a> {
    pub fn statement(&mut self, s: &Statement<'a>) {
        if self.error.is_some() {
            return;
        }
        crate::stack::ensure(|| self.statement_inner(s, Vec::new()));
    }

    /// Statements that always set the completion value begin by making it undefined.
    pub fn reset_completion(&mut self) {
        if let Some(reg) = self.f.completion {
            self.op(Opcode::LoadUndefined, &[reg]);
        }
    }

    pub fn statement_inner(&mut self, s: &Statement<'a>, labels: Vec<&'a str>) {
        let mark = self.top();
        self.at(s.span().start);
        match s {
            Statement::BlockStatement(b) => {
                if labels.is_empty() {
                    self.block_statement(b);
                } else {
                    self.labelled(labels, &mut |me| me.block_statement(b));
                }
            }
            Statement::ExpressionStatement(e) => match self.f.completion {
                Some(reg) => self.expr_into(&e.expression, reg),
                None => self.discard(&e.expression),
            },
            Statement::VariableDeclaration(d) => self.variable_declaration(d),
            // Instantiated when the scope was entered; Annex B copies it out here.
            Statement::FunctionDeclaration(f) => self.annex_b_assignment(f),
            Statement::ClassDeclaration(c) => self.class_declaration(c),
            Statement::IfStatement(i) => {
                if labels.is_empty() {
                    self.if_statement(i);
                } else {
                    self.labelled(labels, &mut |me| me.if_statement(i));
                }
            }
            Statement::ReturnStatement(r) => self.return_statement(r),
            Statement::ThrowStatement(t) => {
                let value = self.expr(&t.argument);
                self.at(t.span.start);
                self.op(Opcode::Throw, &[value]);
            }
            Statement::ForStatement(f) => self.for_statement(f, labels),
            Statement::ForInStatement(f) => self.for_in(f, labels),
            Statement::ForOfStatement(f) => self.for_of(f, labels),
            Statement::WhileStatement(w) => self.while_statement(w, labels),
            Statement::DoWhileStatement(d) => self.do_while(d, labels),
            Statement::SwitchStatement(sw) => self.switch(sw, labels),
            Statement::TryStatement(t) => {
                if labels.is_empty() {
                    self.try_statement(t);
                } else {
                    self.labelled(labels, &mut |me| me.try_statement(t));
                }
            }
            Statement::BreakStatement(b) => {
                let label = b.label.as_ref().map(|l| l.name.as_str());
                match self.break_target(label) {
                    Some(index) => self.exit(Exit::Break(index), None),
                    None => self.fail(b.span.start, "Illegal break statement"),
                }
            }
            Statement::ContinueStatement(c) => {
                let label = c.label.as_ref().map(|l| l.name.as_str());
                match self.continue_target(label) {
                    Some(index) => self.exit(Exit::Continue(index), None),
                    None => self.fail(c.span.start, "Illegal continue statement: no surrounding iteration statement"),
                }
            }
            Statement::LabeledStatement(l) => {
                let mut labels = labels;
                labels.push(l.label.name.as_str());
                self.statement_inner(&l.body, labels);
            }
            Statement::WithStatement(w) => {
                if labels.is_empty() {
                    self.with_statement(w);
                } else {
                    self.labelled(labels, &mut |me| me.with_statement(w));
                }
            }
            Statement::EmptyStatement(_) | Statement::DebuggerStatement(_) => {}
            Statement::ImportDeclaration(_) | Statement::ExportAllDeclaration(_) => {}
            Statement::ExportNamedDeclaration(_) | Statement::ExportFromDeclaration(_) => {}
            Statement::ExportDeclaration(e) => match &e.declaration {
                Declaration::VariableDeclaration(d) => self.variable_declaration(d),
                Declaration::ClassDeclaration(c) => self.class_declaration(c),
                _ => {}
            },
            Statement::ExportDefaultDeclaration(e) => self.export_default(e),
            other => self.fail(other.span().start, "This syntax is not supported"),
        }
        self.free(mark);
    }

    /// A statement that only `break label` can leave early.
    fn labelled(&mut self, labels: Vec<&'a str>, body: &mut dyn FnMut(&mut Self)) {
        let end = self.label();
        self.f.control.push(Control::Target { labels, unlabeled: false, break_to: end, continue_to: None });
        body(self);
        self.f.control.pop();
        self.bind(end);
    }

    pub fn block_statement(&mut self, b: &BlockStatement<'a>) {
        let scope = self.scope_of(addr(b), tag::BLOCK);
        self.scoped_statements(scope, &b.body);
    }

    /// Statements with a scope of their own.
    pub fn scoped_statements(&mut self, scope: ScopeIdx, statements: &[Statement<'a>]) {
        let mark = self.top();
        self.enter_scope(scope);
        self.hoist_functions(statements);
        for statement in statements {
            self.statement(statement);
        }
        self.leave_scope(scope);
        self.free(mark);
    }

    /// A branch of if or a loop body: a lone function declaration gets a block.
    pub fn body_statement(&mut self, s: &Statement<'a>) {
        if let Statement::FunctionDeclaration(f) = s {
            let scope = self.scope_of(addr(s), tag::BLOCK);
            if scope != NONE {
                let mark = self.top();
                self.enter_scope(scope);
                self.declare_function(f);
                self.annex_b_assignment(f);
                self.leave_scope(scope);
                self.free(mark);
                return;
            }
        }
        self.statement(s);
    }

    fn annex_b_assignment(&mut self, f: &Function<'a>) {
        let Some(id) = &f.id else { return };
        let scope = self.scope();
        let Some(&binding) = self.an.scopes[scope as usize].names.get(id.name.as_str()) else { return };
        let func = &self.an.funcs[self.f.func as usize];
        if !func.annex_b.contains(&(scope, binding)) {
            return;
        }
        // The var of that name in the function's scope.
        let mut at = self.an.scopes[scope as usize].parent;
        while at != NONE {
            let s = &self.an.scopes[at as usize];
            if matches!(s.kind, ScopeKind::Top | ScopeKind::Function | ScopeKind::Body | ScopeKind::StaticBlock)
                && let Some(&var) = s.names.get(id.name.as_str())
            {
                let mark = self.top();
                let value = self.temp();
                let inner = self.var(binding, u32::MAX - 1);
                let inner = crate::codegen::Var { dynamic: Vec::new(), ..inner };
                self.load_var(&inner, value);
                let outer = self.var(var, u32::MAX - 1);
                let keep_dynamic = self.an.bindings[var as usize].global && self.outer.is_some();
                let dynamic = if keep_dynamic { outer.dynamic.clone() } else { Vec::new() };
                let outer = crate::codegen::Var { dynamic, ..outer };
                self.store_var(&outer, value);
                self.free(mark);
                return;
            }
            at = s.parent;
        }
    }

    pub fn variable_declaration(&mut self, d: &VariableDeclaration<'a>) {
        if d.kind.is_using() {
            return self.fail(d.span.start, "'using' declarations are not supported");
        }
        let is_var = d.kind == VariableDeclarationKind::Var;
        for declarator in &d.declarations {
            let mark = self.top();
            self.at(declarator.span.start);
            match (&declarator.id, &declarator.init) {
                (BindingPattern::BindingIdentifier(_), None) if is_var => {}
                (BindingPattern::BindingIdentifier(id), init) => {
                    let name = id.name.as_str();
                    if is_var {
                        if let Some(e) = init {
                            self.var_initializer(name, id.span.start, e);
                        }
                    } else if let Some(binding) = self.find_binding(name) {
                        self.let_initializer(binding, name, init.as_ref());
                    }
                }
                (pattern, Some(e)) => {
                    let mut value = self.expr(e);
                    if self.is_local(value) && is_var {
                        let temp = self.temp();
                        self.mov(temp, value);
                        value = temp;
                    }
                    let mode = if is_var { BindMode::Var } else { BindMode::Init };
                    self.bind_pattern(pattern, value, mode);
                }
                (_, None) => self.fail(declarator.span.start, "Missing initializer in destructuring declaration"),
            }
            self.free(mark);
        }
    }

    fn var_initializer(&mut self, name: &'a str, offset: u32, e: &Expression<'a>) {
        let var = self.lookup_name(name, offset);
        let given = Name::Static(name.into());
        if var.dynamic.is_empty()
            && !var.check
            && let crate::codegen::Place::Reg(reg) = var.place
        {
            return self.named_into(e, given, reg);
        }
        let value = self.named_expr(e, given);
        self.at(offset);
        self.store_var(&var, value);
    }

    fn let_initializer(&mut self, binding: BindIdx, name: &'a str, init: Option<&Expression<'a>>) {
        match (self.init_register(binding), init) {
            (Some(reg), Some(e)) => {
                let needs_hole = self.an.bindings[binding as usize].needs_hole;
                if needs_hole {
                    // The initialiser may meet the dead zone: keep the marker until it is done.
                    let value = self.named_expr(e, Name::Static(name.into()));
                    self.init_binding(binding, value);
                } else {
                    self.named_into(e, Name::Static(name.into()), reg);
                    self.mark_local(reg);
                }
            }
            (Some(reg), None) => {
                self.op(Opcode::LoadUndefined, &[reg]);
                self.mark_local(reg);
            }
            (None, init) => {
                let value = match init {
                    Some(e) => self.named_expr(e, Name::Static(name.into())),
                    None => {
                        let temp = self.temp();
                        self.op(Opcode::LoadUndefined, &[temp]);
                        temp
                    }
                };
                self.init_binding(binding, value);
            }
        }
    }

    pub fn class_declaration(&mut self, c: &Class<'a>) {
        let mark = self.top();
        let name = c.id.as_ref().map(|id| id.name.as_str());
        let value = self.temp();
        self.class(c, Name::Static(name.unwrap_or("default").into()), value);
        if let Some(binding) = self.find_binding(name.unwrap_or("*default*")) {
            self.init_binding(binding, value);
        }
        self.free(mark);
    }

    fn if_statement(&mut self, i: &IfStatement<'a>) {
        self.reset_completion();
        let otherwise = self.label();
        self.jump_if(&i.test, otherwise, false);
        self.body_statement(&i.consequent);
        match &i.alternate {
            Some(alternate) => {
                let end = self.label();
                self.jump(Opcode::Jump, &[], end);
                self.bind(otherwise);
                self.body_statement(alternate);
                self.bind(end);
            }
            None => self.bind(otherwise),
        }
    }

    fn return_statement(&mut self, r: &ReturnStatement<'a>) {
        let mark = self.top();
        match &r.argument {
            Some(e) => {
                let mut value = self.expr(e);
                self.at(r.span.start);
                if self.f.suspension == Suspension::AsyncGenerator {
                    let temp = self.temp();
                    self.await_into(temp, value);
                    value = temp;
                }
                if self.is_local(value) && self.f.control.iter().any(|c| matches!(c, Control::Iterator { .. })) {
                    let temp = self.temp();
                    self.mov(temp, value);
                    value = temp;
                }
                self.return_value(value);
            }
            None if self.f.control.is_empty() && self.f.kind != FunctionKind::DerivedConstructor => {
                self.op(Opcode::ReturnUndefined, &[]);
            }
            None => {
                let temp = self.temp();
                self.op(Opcode::LoadUndefined, &[temp]);
                self.return_value(temp);
            }
        }
        self.free(mark);
    }

    fn switch(&mut self, s: &SwitchStatement<'a>, labels: Vec<&'a str>) {
        self.reset_completion();
        let value = self.temp();
        self.expr_into(&s.discriminant, value);
        let scope = self.scope_of(addr(s), tag::BLOCK);
        let mark = self.top();
        self.enter_scope(scope);
        for case in &s.cases {
            self.hoist_functions(&case.consequent);
        }
        let end = self.label();
        self.f.control.push(Control::Target { labels, unlabeled: true, break_to: end, continue_to: None });
        let targets: Vec<_> = s.cases.iter().map(|_| self.label()).collect();
        let mut default = end;
        for (case, target) in s.cases.iter().zip(&targets) {
            match &case.test {
                Some(test) => {
                    let inner = self.top();
                    let test_value = self.expr(test);
                    self.at(test.span().start);
                    self.jump(Opcode::JumpIfStrictEqual, &[value, test_value], *target);
                    self.free(inner);
                }
                None => default = *target,
            }
        }
        self.jump(Opcode::Jump, &[], default);
        for (case, target) in s.cases.iter().zip(&targets) {
            self.bind(*target);
            for statement in &case.consequent {
                self.statement(statement);
            }
        }
        self.f.control.pop();
        self.leave_scope(scope);
        self.bind(end);
        self.free(mark);
    }

    fn with_statement(&mut self, w: &WithStatement<'a>) {
        self.reset_completion();
        let scope = self.scope_of(addr(w), tag::WITH);
        let object = self.expr(&w.object);
        let parent = self.current_env();
        let env = self.local();
        self.at(w.object.span().start);
        self.op(Opcode::NewWithEnv, &[env, parent, object]);
        self.f.scopes.push(scope);
        self.f.envs.push((scope, env));
        self.body_statement(&w.body);
        self.leave_scope(scope);
    }
}
