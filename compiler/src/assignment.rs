//! Assignment, compound and logical assignment, `++` and `--`.
//!
//! The parts of a target are evaluated before the value, the store comes last. With no destination the
//! value of the whole expression is not needed.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::JsStr;

use crate::codegen::{Codegen, Place, Var};
use crate::emit::Reg;
use crate::expressions::{binary_op, int_form, named_element};
use crate::functions::Name;
use crate::literals::int_literal;

/// A target whose parts are evaluated.
pub enum Target<'a> {
    Var(Var<'a>),
    Named { object: Reg, name: JsStr, offset: u32 },
    Element { object: Reg, key: Reg, offset: u32 },
    Private { object: Reg, name: Reg, offset: u32 },
    Super { key: Reg, this: Reg, offset: u32 },
}

impl<'a> Codegen<'a> {
    /// Evaluates the parts of a simple target; `later` is what is evaluated before the store.
    pub fn target(&mut self, t: &SimpleAssignmentTarget<'a>, later: Span, read_first: bool) -> Option<Target<'a>> {
        Some(match t {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => Target::Var(self.lookup(id)),
            SimpleAssignmentTarget::StaticMemberExpression(m) => {
                let offset = m.property.span.start;
                if let Expression::Super(s) = &m.object {
                    let this = self.this_register(s.span.start);
                    let key = self.temp();
                    self.load_string(key, m.property.name.as_str().into());
                    return Some(Target::Super { key, this, offset });
                }
                let object = self.operand(&m.object, later);
                Target::Named { object, name: m.property.name.as_str().into(), offset }
            }
            SimpleAssignmentTarget::ComputedMemberExpression(m) => {
                let offset = m.expression.span().start;
                if let Expression::Super(s) = &m.object {
                    let this = self.this_register(s.span.start);
                    let key = self.operand(&m.expression, later);
                    return Some(Target::Super { key, this, offset });
                }
                let both = Span::new(m.expression.span().start, later.end.max(m.expression.span().end));
                let object = self.operand(&m.object, both);
                if let Some(name) = named_element(&m.expression) {
                    return Some(Target::Named { object, name: name.into(), offset });
                }
                let mut key = self.operand(&m.expression, later);
                if read_first && !is_plain_key(&m.expression) {
                    // The key is converted once for the read and the write.
                    let converted = if self.is_local(key) { self.temp() } else { key };
                    self.at(offset);
                    self.op(Opcode::ToPropertyKey, &[converted, key]);
                    key = converted;
                }
                Target::Element { object, key, offset }
            }
            SimpleAssignmentTarget::PrivateFieldExpression(m) => {
                let object = self.operand(&m.object, later);
                let name = self.private_name_register(&m.field);
                Target::Private { object, name, offset: m.field.span.start }
            }
            other => {
                self.fail(other.span().start, "Invalid assignment target");
                return None;
            }
        })
    }

    pub fn load_target(&mut self, t: &Target<'a>, dst: Reg) {
        match t {
            Target::Var(var) => self.load_var(var, dst),
            Target::Named { object, name, offset } => {
                self.at(*offset);
                let ic = self.f.asm.ic();
                if *name == JsStr::from("length") {
                    return self.op(Opcode::GetLength, &[dst, *object, ic]);
                }
                let c = self.f.asm.string(name.clone());
                self.op(Opcode::GetProperty, &[dst, *object, c, ic]);
            }
            Target::Element { object, key, offset } => {
                self.at(*offset);
                let ic = self.f.asm.ic();
                self.op(Opcode::GetElement, &[dst, *object, *key, ic]);
            }
            Target::Private { object, name, offset } => {
                self.at(*offset);
                self.op(Opcode::GetPrivate, &[dst, *object, *name]);
            }
            Target::Super { key, this, offset } => {
                self.at(*offset);
                self.op(Opcode::GetSuper, &[dst, *key, *this]);
            }
        }
    }

    pub fn store_target(&mut self, t: &Target<'a>, src: Reg) {
        match t {
            Target::Var(var) => self.store_var(var, src),
            Target::Named { object, name, offset } => {
                self.at(*offset);
                let ic = self.f.asm.ic();
                let c = self.f.asm.string(name.clone());
                self.op(Opcode::SetProperty, &[*object, c, src, ic]);
            }
            Target::Element { object, key, offset } => {
                self.at(*offset);
                let ic = self.f.asm.ic();
                self.op(Opcode::SetElement, &[*object, *key, src, ic]);
            }
            Target::Private { object, name, offset } => {
                self.at(*offset);
                self.op(Opcode::SetPrivate, &[*object, *name, src]);
            }
            Target::Super { key, this, offset } => {
                self.at(*offset);
                self.op(Opcode::SetSuper, &[*key, src, *this]);
            }
        }
    }

    /// The variable's register, if an assignment may compute right into it.
    fn direct_register(&self, var: &Var<'a>) -> Option<Reg> {
        match var.place {
            Place::Reg(reg)
                if var.dynamic.is_empty()
                    && !var.check
                    && !var.kind.is_const()
                    && var.kind != crate::scope::BindKind::FunctionName =>
            {
                Some(reg)
            }
            _ => None,
        }
    }

    pub fn assignment(&mut self, a: &AssignmentExpression<'a>, dst: Option<Reg>) {
        let mark = self.top();
        if a.operator != AssignmentOperator::Assign {
            let Some(simple) = a.left.as_simple_assignment_target() else {
                return self.fail(a.span.start, "Invalid assignment target");
            };
            if a.operator.is_logical() {
                self.logical_assignment(a, simple, dst);
            } else {
                self.compound_assignment(a, simple, dst);
            }
            return self.free(mark);
        }
        let Some(simple) = a.left.as_simple_assignment_target() else {
            // Destructuring: the value of the expression is the right side.
            let value = self.expr(&a.right);
            // A variable that the pattern assigns must not change the value under its hands.
            let value = self.keep(value, &a.right, a.left.span());
            self.assign_pattern(&a.left, value);
            if let Some(dst) = dst {
                self.mov(dst, value);
            }
            return self.free(mark);
        };
        let Some(target) = self.target(simple, a.right.span(), false) else { return };
        let name = match (&target, simple) {
            (Target::Var(var), SimpleAssignmentTarget::AssignmentTargetIdentifier(_)) => {
                Name::Static(var.name_or(simple))
            }
            _ => Name::none(),
        };
        if let Target::Var(var) = &target
            && let Some(reg) = self.direct_register(var)
        {
            self.named_into(&a.right, name, reg);
            if let Some(dst) = dst {
                self.mov(dst, reg);
            }
            return self.free(mark);
        }
        let value = match dst {
            Some(dst) if !self.is_local(dst) => {
                self.named_into(&a.right, name, dst);
                dst
            }
            _ => self.named_expr(&a.right, name),
        };
        self.at(a.span.start);
        self.store_target(&target, value);
        if let Some(dst) = dst {
            self.mov(dst, value);
        }
        self.free(mark);
    }

    /// Copies `value` away if it is a variable that is assigned inside `span`.
    pub fn keep(&mut self, value: Reg, e: &Expression<'a>, span: Span) -> Reg {
        if self.is_local(value)
            && let Expression::Identifier(id) = e
        {
            let binding = id.reference_id.get().map_or(crate::scope::NONE, |r| self.an.resolution[r.index()]);
            if binding != crate::scope::NONE && self.written_in(binding, span.start, span.end) {
                let temp = self.temp();
                self.mov(temp, value);
                return temp;
            }
        }
        value
    }

    fn compound_assignment(
        &mut self,
        a: &AssignmentExpression<'a>,
        simple: &SimpleAssignmentTarget<'a>,
        dst: Option<Reg>,
    ) {
        let Some(operator) = a.operator.to_binary_operator() else { return };
        let Some(target) = self.target(simple, a.right.span(), true) else { return };
        // The old value is read before the right side runs.
        let result;
        let old = match &target {
            Target::Var(var) if var.dynamic.is_empty() && matches!(var.place, Place::Reg(_)) => {
                let reg = match self.var_register(var) {
                    Some(reg) => reg,
                    None => return,
                };
                let binding = self.find_binding(var.name);
                let span = a.right.span();
                let clobbered = binding.is_some_and(|b| self.written_in(b, span.start, span.end));
                result = match self.direct_register(var) {
                    Some(direct) => direct,
                    None => self.temp(),
                };
                if clobbered {
                    let temp = self.temp();
                    self.mov(temp, reg);
                    temp
                } else {
                    reg
                }
            }
            _ => {
                result = self.temp();
                self.load_target(&target, result);
                result
            }
        };
        if let (Some(op), Some(value)) = (int_form(operator), int_literal(&a.right)) {
            self.at(a.span.start);
            self.op_int(op, &[result, old], value);
        } else {
            let right = self.expr(&a.right);
            self.at(a.span.start);
            self.op(binary_op(operator), &[result, old, right]);
        }
        let direct = matches!(&target, Target::Var(var) if self.direct_register(var) == Some(result));
        if !direct {
            self.store_target(&target, result);
        }
        if let Some(dst) = dst {
            self.mov(dst, result);
        }
    }

    fn logical_assignment(
        &mut self,
        a: &AssignmentExpression<'a>,
        simple: &SimpleAssignmentTarget<'a>,
        dst: Option<Reg>,
    ) {
        let Some(target) = self.target(simple, a.right.span(), true) else { return };
        let value = self.temp();
        self.load_target(&target, value);
        let end = self.label();
        let op = match a.operator {
            AssignmentOperator::LogicalAnd => Opcode::JumpIfFalse,
            AssignmentOperator::LogicalOr => Opcode::JumpIfTrue,
            _ => Opcode::JumpIfNotNullish,
        };
        self.jump(op, &[value], end);
        let name = match &target {
            Target::Var(var) => Name::Static(var.name_or(simple)),
            _ => Name::none(),
        };
        self.named_into(&a.right, name, value);
        self.at(a.span.start);
        self.store_target(&target, value);
        self.bind(end);
        if let Some(dst) = dst {
            self.mov(dst, value);
        }
    }

    pub fn update(&mut self, u: &UpdateExpression<'a>, dst: Option<Reg>) {
        let mark = self.top();
        let op = match u.operator {
            UpdateOperator::Increment => Opcode::Increment,
            UpdateOperator::Decrement => Opcode::Decrement,
        };
        let here = Span::new(u.span.end, u.span.end);
        let Some(target) = self.target(&u.argument, here, true) else { return };
        self.at(u.span.start);
        if let Target::Var(var) = &target
            && let Some(reg) = self.direct_register(var)
        {
            match dst {
                Some(dst) if !u.prefix && dst != reg => {
                    self.op(Opcode::ToNumeric, &[dst, reg]);
                    self.op(op, &[reg, dst]);
                }
                Some(dst) if !u.prefix => {
                    // x = x++: the old number stays.
                    self.op(Opcode::ToNumeric, &[dst, reg]);
                }
                Some(dst) => {
                    self.op(op, &[reg, reg]);
                    self.mov(dst, reg);
                }
                None => self.op(op, &[reg, reg]),
            }
            return self.free(mark);
        }
        let value = self.temp();
        self.load_target(&target, value);
        self.at(u.span.start);
        match dst {
            Some(dst) if !u.prefix => {
                let old = self.temp();
                self.op(Opcode::ToNumeric, &[old, value]);
                self.op(op, &[value, old]);
                self.store_target(&target, value);
                self.mov(dst, old);
            }
            _ => {
                self.op(op, &[value, value]);
                self.store_target(&target, value);
                if let Some(dst) = dst {
                    self.mov(dst, value);
                }
            }
        }
        self.free(mark);
    }
}

impl Var<'_> {
    /// The name for an anonymous function assigned to this variable.
    pub fn name_or(&self, target: &SimpleAssignmentTarget<'_>) -> JsStr {
        match target {
            SimpleAssignmentTarget::AssignmentTargetIdentifier(id) => id.name.as_str().into(),
            _ => self.name.into(),
        }
    }
}

/// A key expression whose conversion to a property key runs no code.
fn is_plain_key(e: &Expression<'_>) -> bool {
    matches!(
        e,
        Expression::NumericLiteral(_)
            | Expression::StringLiteral(_)
            | Expression::TemplateLiteral(_)
            | Expression::UpdateExpression(_)
    ) || matches!(e, Expression::BinaryExpression(b) if !matches!(b.operator, BinaryOperator::Addition))
}
