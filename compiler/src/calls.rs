//! Calls, `new`, `super()`, tagged templates, `import()`.
//!
//! A call block is taken from the top of the register stack; callee and `this` go to base+4 and base+5,
//! arguments behind them. Many or spread arguments travel in one array.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::{Constant, FunctionKind};

use crate::codegen::{Codegen, Place};
use crate::emit::Reg;
use crate::expressions::named_element;

/// More arguments than this go through an array.
const DIRECT_ARGUMENTS: usize = 250;

impl<'a> Codegen<'a> {
    fn needs_array(arguments: &[Argument<'a>]) -> bool {
        arguments.len() > DIRECT_ARGUMENTS || arguments.iter().any(|a| matches!(a, Argument::SpreadElement(_)))
    }

    /// Evaluates arguments behind a call block; the answer is their number, or `None` if base+6 holds an array.
    fn arguments(&mut self, arguments: &[Argument<'a>], base: Reg) -> Option<u16> {
        if Self::needs_array(arguments) {
            let array = self.temp();
            debug_assert_eq!(array, base + 6);
            self.op(Opcode::NewArray, &[array, arguments.len().min(65_535) as u16]);
            for argument in arguments {
                let mark = self.top();
                match argument {
                    Argument::SpreadElement(s) => {
                        let value = self.expr(&s.argument);
                        self.at(s.span.start);
                        self.op(Opcode::ArraySpread, &[array, value]);
                    }
                    other => {
                        if let Some(e) = other.as_expression() {
                            let value = self.expr(e);
                            self.op(Opcode::ArrayPush, &[array, value]);
                        }
                    }
                }
                self.free(mark);
            }
            return None;
        }
        for argument in arguments {
            let slot = self.temp();
            if let Some(e) = argument.as_expression() {
                self.expr_into(e, slot);
            }
        }
        Some(arguments.len() as u16)
    }

    fn block(&mut self) -> Reg {
        self.temps(6)
    }

    /// Puts callee and this of a call into the block; the answer says whether `this` is undefined.
    fn callee(&mut self, callee: &Expression<'a>, base: Reg, optional: bool) -> bool {
        let undefined_this = match callee {
            Expression::StaticMemberExpression(m) => {
                self.callee_static(m, base);
                false
            }
            Expression::ComputedMemberExpression(m) => {
                self.callee_computed(m, base);
                false
            }
            Expression::PrivateFieldExpression(m) => {
                self.callee_private(m, base);
                false
            }
            Expression::ParenthesizedExpression(p) => return self.callee(&p.expression, base, optional),
            Expression::ChainExpression(c) => {
                // `(a?.b)()`: a chain of its own that keeps its object.
                let short = self.label();
                let end = self.label();
                let saved = self.f.chain.replace(short);
                let undefined = match &c.expression {
                    ChainElement::StaticMemberExpression(m) => {
                        self.callee_static(m, base);
                        false
                    }
                    ChainElement::ComputedMemberExpression(m) => {
                        self.callee_computed(m, base);
                        false
                    }
                    ChainElement::PrivateFieldExpression(m) => {
                        self.callee_private(m, base);
                        false
                    }
                    ChainElement::CallExpression(call) => {
                        self.call(call, base + 4);
                        true
                    }
                    ChainElement::TSNonNullExpression(_) => true,
                };
                self.f.chain = saved;
                self.jump(Opcode::Jump, &[], end);
                self.bind(short);
                self.op(Opcode::LoadUndefined, &[base + 4]);
                if !undefined {
                    self.op(Opcode::LoadUndefined, &[base + 5]);
                }
                self.bind(end);
                undefined
            }
            Expression::Identifier(id) => {
                let var = self.lookup(id);
                self.at(id.span.start);
                if var.dynamic.is_empty() {
                    self.load_var(&var, base + 4);
                    true
                } else {
                    self.callee_dynamic(&var, base);
                    false
                }
            }
            other => {
                self.expr_into(other, base + 4);
                true
            }
        };
        if optional && let Some(label) = self.f.chain {
            self.jump(Opcode::JumpIfNullish, &[base + 4], label);
        }
        undefined_this
    }

    fn callee_static(&mut self, m: &StaticMemberExpression<'a>, base: Reg) {
        let mark = self.top();
        if let Expression::Super(s) = &m.object {
            let this = self.this_register(s.span.start);
            self.mov(base + 5, this);
            self.load_string(base + 4, m.property.name.as_str().into());
            self.at(m.property.span.start);
            self.op(Opcode::GetSuper, &[base + 4, base + 4, base + 5]);
            return self.free(mark);
        }
        let object = self.object_operand(&m.object, base, Span::new(0, 0));
        self.optional_check(m.optional, object);
        self.at(m.property.span.start);
        let c = self.f.asm.name(m.property.name.as_str());
        let ic = self.f.asm.ic();
        self.op(Opcode::GetMethod, &[base, object, c, ic]);
        self.free(mark);
    }

    /// The object of a method call: a variable's register, or base+5.
    fn object_operand(&mut self, object: &Expression<'a>, base: Reg, later: Span) -> Reg {
        match object {
            Expression::Identifier(_) | Expression::ThisExpression(_) => self.operand(object, later),
            _ => {
                self.expr_into(object, base + 5);
                base + 5
            }
        }
    }

    fn callee_computed(&mut self, m: &ComputedMemberExpression<'a>, base: Reg) {
        let mark = self.top();
        if let Expression::Super(s) = &m.object {
            let this = self.this_register(s.span.start);
            self.mov(base + 5, this);
            self.expr_into(&m.expression, base + 4);
            self.at(m.span.start);
            self.op(Opcode::GetSuper, &[base + 4, base + 4, base + 5]);
            return self.free(mark);
        }
        let object = self.object_operand(&m.object, base, m.expression.span());
        self.optional_check(m.optional, object);
        if let Some(name) = named_element(&m.expression) {
            self.at(m.expression.span().start);
            let c = self.f.asm.name(name);
            let ic = self.f.asm.ic();
            self.op(Opcode::GetMethod, &[base, object, c, ic]);
            return self.free(mark);
        }
        let key = self.expr(&m.expression);
        self.at(m.expression.span().start);
        let ic = self.f.asm.ic();
        self.op(Opcode::GetElementMethod, &[base, object, key, ic]);
        self.free(mark);
    }

    fn callee_private(&mut self, m: &PrivateFieldExpression<'a>, base: Reg) {
        let mark = self.top();
        self.expr_into(&m.object, base + 5);
        self.optional_check(m.optional, base + 5);
        let name = self.private_name_register(&m.field);
        self.at(m.field.span.start);
        self.op(Opcode::GetPrivate, &[base + 4, base + 5, name]);
        self.free(mark);
    }

    pub fn call(&mut self, c: &CallExpression<'a>, dst: Reg) {
        if matches!(c.callee, Expression::Super(_)) {
            return self.super_call(c, dst);
        }
        let mark = self.top();
        let base = self.block();
        let undefined_this = self.callee(&c.callee, base, c.optional);
        let count = self.arguments(&c.arguments, base);
        // Errors point at the callee's last part.
        let position = match &c.callee {
            Expression::StaticMemberExpression(m) => m.property.span.start,
            other => other.span().start,
        };
        self.at(position);
        let is_eval = matches!(&c.callee, Expression::Identifier(id) if id.name == "eval") && !c.optional;
        match count {
            Some(count) if is_eval => {
                let env = self.current_env();
                let info = self.scope_info();
                let constant = self.f.asm.constant(Constant::ScopeInfo(info));
                if !undefined_this {
                    self.op(Opcode::LoadUndefined, &[base + 5]);
                }
                self.op(Opcode::CallEval, &[dst, base, count, env, constant]);
            }
            Some(count) if undefined_this => self.op(Opcode::CallUndefined, &[dst, base, count]),
            Some(count) => self.op(Opcode::Call, &[dst, base, count]),
            None => {
                if undefined_this {
                    self.op(Opcode::LoadUndefined, &[base + 5]);
                }
                self.op(Opcode::CallSpread, &[dst, base]);
            }
        }
        self.free(mark);
    }

    pub fn new_expression(&mut self, n: &NewExpression<'a>, dst: Reg) {
        let mark = self.top();
        let base = self.block();
        self.expr_into(&n.callee, base + 4);
        let count = self.arguments(&n.arguments, base);
        self.at(n.span.start);
        match count {
            Some(count) => self.op(Opcode::New, &[dst, base, count]),
            None => self.op(Opcode::NewSpread, &[dst, base]),
        }
        self.free(mark);
    }

    fn super_call(&mut self, c: &CallExpression<'a>, dst: Reg) {
        let mark = self.top();
        let result = self.temp();
        let inner = self.top();
        let new_target = self.temp();
        self.at(c.span.start);
        self.pseudo("new.target", Opcode::LoadNewTarget, new_target);
        let base = self.block();
        self.pseudo("%fn", Opcode::LoadCallee, base + 4);
        self.op(Opcode::GetSuperConstructor, &[base + 4, base + 4]);
        let count = self.arguments(&c.arguments, base);
        self.at(c.span.start);
        match count {
            Some(count) => self.op(Opcode::SuperCall, &[result, base, count, new_target]),
            None => self.op(Opcode::SuperCallSpread, &[result, base, new_target]),
        }
        self.free(inner);
        self.bind_this(result);
        self.mov(dst, result);
        self.free(mark);
    }

    /// Gives `this` of a derived constructor its value and runs the fields.
    pub fn bind_this(&mut self, result: Reg) {
        let mark = self.top();
        let old = self.temp();
        let var = match self.find_binding("this") {
            Some(binding) => self.var(binding, u32::MAX),
            None => self.outer_var("this"),
        };
        let var = crate::codegen::Var { check: false, dynamic: Vec::new(), ..var };
        self.load_var(&var, old);
        let free = self.label();
        self.jump(Opcode::JumpIfHole, &[old], free);
        self.throw_error(1, "Super constructor may only be called once");
        self.bind(free);
        match var.place {
            Place::Reg(reg) => self.mov(reg, result),
            Place::Env { env, hops, slot } => self.op(Opcode::SetEnv, &[env, hops, slot, result]),
            Place::Global => self.fail(0, "'super' keyword unexpected here"),
        }
        self.pseudo("%fn", Opcode::LoadCallee, old);
        self.op(Opcode::RunClassFields, &[old, result]);
        self.free(mark);
    }

    /// The constructor of a derived class that has none of its own.
    pub fn default_derived_constructor(&mut self) {
        let mark = self.top();
        let result = self.temp();
        let inner = self.top();
        let new_target = self.temp();
        let base = self.block();
        let array = self.temp();
        self.op(Opcode::LoadCallee, &[base + 4]);
        self.op(Opcode::GetSuperConstructor, &[base + 4, base + 4]);
        self.op(Opcode::CreateRest, &[array, 0]);
        self.op(Opcode::LoadNewTarget, &[new_target]);
        self.op(Opcode::SuperCallSpread, &[result, base, new_target]);
        self.free(inner);
        let callee = self.temp();
        self.op(Opcode::LoadCallee, &[callee]);
        self.op(Opcode::RunClassFields, &[callee, result]);
        self.op(Opcode::Return, &[result]);
        self.free(mark);
        debug_assert_eq!(self.f.kind, FunctionKind::DerivedConstructor);
    }

    pub fn tagged_template(&mut self, t: &TaggedTemplateExpression<'a>, dst: Reg) {
        let mark = self.top();
        let base = self.block();
        let undefined_this = self.callee(&t.tag, base, false);
        let strings = self.temp();
        self.template_object(&t.quasi, strings);
        let expressions = &t.quasi.expressions;
        if expressions.len() >= DIRECT_ARGUMENTS {
            return self.fail(t.span.start, "Too many substitutions in a tagged template");
        }
        for e in expressions {
            let slot = self.temp();
            self.expr_into(e, slot);
        }
        self.at(t.span.start);
        let op = if undefined_this { Opcode::CallUndefined } else { Opcode::Call };
        self.op(op, &[dst, base, expressions.len() as u16 + 1]);
        self.free(mark);
    }

    pub fn import_expression(&mut self, i: &ImportExpression<'a>, dst: Reg) {
        if i.phase.is_some() {
            return self.fail(i.span.start, "Import phases are not supported");
        }
        let mark = self.top();
        let later = i.options.as_ref().map_or(Span::new(0, 0), |o| o.span());
        let specifier = self.operand(&i.source, later);
        let options = match &i.options {
            Some(o) => self.expr(o),
            None => {
                let temp = self.temp();
                self.op(Opcode::LoadUndefined, &[temp]);
                temp
            }
        };
        self.at(i.span.start);
        self.op(Opcode::ImportCall, &[dst, specifier, options]);
        self.free(mark);
    }
}
