//! Loops. Each iteration passes one conditional jump and one `Loop`, the only back edge.

use oxc_ast::ast::*;
use oxc_span::GetSpan;
use zjs_engine::bytecode::opcode::Opcode;

use crate::codegen::Codegen;
use crate::control::{Control, Region};
use crate::emit::{Label, Reg};
use crate::patterns::BindMode;
use crate::scope::*;

impl<'a> Codegen<'a> {
    fn push_loop(&mut self, labels: Vec<&'a str>) -> (Label, Label) {
        let end = self.label();
        let next = self.label();
        self.f.control.push(Control::Target { labels, unlabeled: true, break_to: end, continue_to: Some(next) });
        self.f.loop_depth += 1;
        (end, next)
    }

    fn pop_loop(&mut self) {
        self.f.control.pop();
        self.f.loop_depth -= 1;
    }

    pub fn while_statement(&mut self, w: &WhileStatement<'a>, labels: Vec<&'a str>) {
        self.reset_completion();
        let (end, next) = self.push_loop(labels);
        self.bind(next);
        self.jump_if(&w.test, end, false);
        self.body_statement(&w.body);
        self.jump(Opcode::Loop, &[], next);
        self.pop_loop();
        self.bind(end);
    }

    pub fn do_while(&mut self, d: &DoWhileStatement<'a>, labels: Vec<&'a str>) {
        self.reset_completion();
        let top = self.f.asm.label_here();
        let (end, next) = self.push_loop(labels);
        self.body_statement(&d.body);
        self.bind(next);
        self.jump_if(&d.test, end, false);
        self.jump(Opcode::Loop, &[], top);
        self.pop_loop();
        self.bind(end);
    }

    pub fn for_statement(&mut self, f: &ForStatement<'a>, labels: Vec<&'a str>) {
        let scope = self.scope_of(addr(f), tag::BLOCK);
        let mark = self.top();
        self.enter_scope(scope);
        match &f.init {
            Some(ForStatementInit::VariableDeclaration(d)) => self.variable_declaration(d),
            Some(init) => {
                if let Some(e) = init.as_expression() {
                    self.discard(e);
                }
            }
            None => {}
        }
        self.reset_completion();
        let env = if self.an.scopes[scope as usize].env_slots > 0 { self.env_of(scope) } else { None };
        let per_iteration = env.filter(|_| {
            self.an.scopes[scope as usize]
                .bindings
                .iter()
                .any(|&b| self.an.bindings[b as usize].kind == BindKind::Let && self.an.bindings[b as usize].captured)
        });
        if let Some(env) = per_iteration {
            self.op(Opcode::CloneEnv, &[env, env]);
        }
        let top = self.f.asm.label_here();
        let (end, next) = self.push_loop(labels);
        if let Some(test) = &f.test {
            self.jump_if(test, end, false);
        }
        self.body_statement(&f.body);
        self.bind(next);
        if let Some(env) = per_iteration {
            self.op(Opcode::CloneEnv, &[env, env]);
        }
        if let Some(update) = &f.update {
            self.discard(update);
        }
        self.jump(Opcode::Loop, &[], top);
        self.pop_loop();
        self.leave_scope(scope);
        self.bind(end);
        self.free(mark);
    }

    /// Makes the bindings of a for-in/of head anew for this iteration.
    fn fresh_iteration(&mut self, scope: ScopeIdx) {
        let slots = self.an.scopes[scope as usize].env_slots;
        if slots == 0 {
            return;
        }
        if let Some(position) = self.f.envs.iter().rposition(|&(s, _)| s == scope) {
            let env = self.f.envs[position].1;
            // The parent is what was current outside the loop's own environment.
            let parent = match position.checked_sub(1) {
                Some(i) => self.f.envs[i].1,
                None => self.fenv(),
            };
            self.op(Opcode::NewEnv, &[env, parent, slots]);
        }
    }

    /// Gives the value of an iteration to the head's left side.
    fn assign_left(&mut self, left: &ForStatementLeft<'a>, value: Reg) {
        match left {
            ForStatementLeft::VariableDeclaration(d) => {
                if d.kind.is_using() {
                    return self.fail(d.span.start, "'using' declarations are not supported");
                }
                let is_var = d.kind == VariableDeclarationKind::Var;
                let mode = if is_var { BindMode::Var } else { BindMode::Init };
                if let Some(declarator) = d.declarations.first() {
                    self.bind_pattern(&declarator.id, value, mode);
                }
            }
            other => {
                if let Some(target) = other.as_assignment_target() {
                    self.assign_pattern(target, value);
                }
            }
        }
    }

    /// The register that the head's variable has, if an iteration may write right into it.
    fn head_register(&mut self, left: &ForStatementLeft<'a>) -> Option<Reg> {
        let ForStatementLeft::VariableDeclaration(d) = left else { return None };
        let BindingPattern::BindingIdentifier(id) = &d.declarations.first()?.id else { return None };
        let var = self.lookup_name(id.name.as_str(), u32::MAX - 1);
        match var.place {
            crate::codegen::Place::Reg(reg) if var.dynamic.is_empty() => Some(reg),
            _ => None,
        }
    }

    pub fn for_in(&mut self, f: &ForInStatement<'a>, labels: Vec<&'a str>) {
        let scope = self.scope_of(addr(f), tag::BLOCK);
        let mark = self.top();
        self.enter_scope(scope);
        // Annex B: `for (var x = init in object)`.
        if let ForStatementLeft::VariableDeclaration(d) = &f.left
            && d.declarations.first().is_some_and(|d| d.init.is_some())
        {
            self.variable_declaration(d);
        }
        let enumerator = self.temp();
        self.expr_into(&f.right, enumerator);
        self.reset_completion();
        self.at(f.right.span().start);
        self.op(Opcode::ForInStart, &[enumerator, enumerator]);
        let (end, next) = self.push_loop(labels);
        self.bind(next);
        let direct = self.head_register(&f.left);
        let value = match direct {
            Some(reg) => reg,
            None => self.temp(),
        };
        self.jump(Opcode::ForInNext, &[value, enumerator], end);
        self.fresh_iteration(scope);
        match direct {
            Some(reg) => self.mark_local(reg),
            None => self.assign_left(&f.left, value),
        }
        self.body_statement(&f.body);
        self.jump(Opcode::Loop, &[], next);
        self.pop_loop();
        self.leave_scope(scope);
        self.bind(end);
        self.free(mark);
    }

    pub fn for_of(&mut self, f: &ForOfStatement<'a>, labels: Vec<&'a str>) {
        let scope = self.scope_of(addr(f), tag::BLOCK);
        let mark = self.top();
        self.enter_scope(scope);
        let base = self.temps(3);
        let direct = if f.r#await { None } else { self.head_register(&f.left) };
        let value = match direct {
            Some(reg) => reg,
            None => self.temp(),
        };
        let exception = self.temp();
        let source = self.expr(&f.right);
        self.reset_completion();
        self.at(f.right.span().start);
        self.op(if f.r#await { Opcode::GetAsyncIterator } else { Opcode::GetIterator }, &[base, source]);
        let (end, next) = self.push_loop(labels);
        self.f.control.push(Control::Iterator { region: Region::default(), base, is_async: f.r#await });
        self.bind(next);
        self.at(f.left.span().start);
        if f.r#await {
            // Errors of next() itself do not close the iterator, so the range starts behind it.
            let undefined = self.temp();
            self.op(Opcode::LoadUndefined, &[undefined]);
            self.op(Opcode::IteratorCall, &[value, base, undefined]);
            self.await_into(value, value);
            self.jump(Opcode::IteratorUnpack, &[value, value], end);
            self.open_region();
        } else {
            self.open_region();
            self.jump(Opcode::IteratorNext, &[value, base], end);
        }
        self.fresh_iteration(scope);
        match direct {
            Some(reg) => self.mark_local(reg),
            None => self.assign_left(&f.left, value),
        }
        self.body_statement(&f.body);
        self.close_region();
        let entry = self.f.control.pop();
        // `continue` goes to the next step from inside the protected range.
        self.jump(Opcode::Loop, &[], next);
        let handler = self.f.asm.label_here();
        if let Some(Control::Iterator { region, .. }) = entry {
            self.finish_region(region, handler, exception);
        }
        self.close_iterator_silent(base, f.r#await);
        self.op(Opcode::Throw, &[exception]);
        self.pop_loop();
        self.leave_scope(scope);
        self.bind(end);
        self.free(mark);
    }
}
