//! Expressions: values into registers, and conditions into jumps.
//!
//! `expr_into` writes its destination last, so the destination may be a variable that the expression
//! reads; only scratch destinations (no variable) are used for intermediate values. `expr` hands out the
//! register of a variable as it is; `operand` copies it if what is evaluated later may assign to it.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::FunctionKind;

use crate::codegen::{Codegen, Place};
use crate::emit::{Label, Pin, Reg};
use crate::functions::Name;
use crate::literals::int_literal;
use crate::scope::NONE;
use crate::strings::array_index;

impl<'a> Codegen<'a> {
    /// Evaluates to some register: a variable's own, or a new temporary.
    pub fn expr(&mut self, e: &Expression<'a>) -> Reg {
        match e {
            Expression::Identifier(id) if id.name != "undefined" || id.reference_id.get().is_none() => {
                let var = self.lookup(id);
                self.at(id.span.start);
                if let Some(reg) = self.var_register(&var) {
                    return reg;
                }
                let temp = self.temp();
                self.load_var(&var, temp);
                temp
            }
            Expression::ThisExpression(_) => self.this_register(e.span().start),
            _ => {
                if let Some(reg) = self.pinned(e) {
                    return reg;
                }
                let temp = self.temp();
                self.expr_into(e, temp);
                temp
            }
        }
    }

    /// Inside loops, number and string operands are loaded once, at the start of the function.
    fn pinned(&mut self, e: &Expression<'a>) -> Option<Reg> {
        if self.f.loop_depth == 0 {
            return None;
        }
        let pin = match e {
            Expression::StringLiteral(s) if !s.lone_surrogates => Pin::Constant(self.f.asm.name(s.value.as_str())),
            Expression::NumericLiteral(n) => match int_literal(e) {
                Some(int) => Pin::Int(int),
                None => Pin::Constant(self.f.asm.number(n.value)),
            },
            _ => Pin::Int(int_literal(e)?),
        };
        self.f.asm.pin(pin)
    }

    /// Like `expr`, for an operand that must keep its value while `later` is evaluated.
    pub fn operand(&mut self, e: &Expression<'a>, later: Span) -> Reg {
        if let Expression::Identifier(id) = e {
            let binding = id.reference_id.get().map_or(NONE, |r| self.an.resolution[r.index()]);
            if binding != NONE && self.written_in(binding, later.start, later.end) {
                let temp = self.temp();
                self.expr_into(e, temp);
                return temp;
            }
        }
        self.expr(e)
    }

    /// Like `operand`, using `dst` for the value where it is scratch.
    fn operand_hint(&mut self, e: &Expression<'a>, later: Span, dst: Reg) -> Reg {
        match e {
            Expression::Identifier(_) | Expression::ThisExpression(_) => self.operand(e, later),
            _ if self.is_local(dst) => self.expr(e),
            _ => {
                self.expr_into(e, dst);
                dst
            }
        }
    }

    /// Evaluates for effects only.
    pub fn discard(&mut self, e: &Expression<'a>) {
        let mark = self.top();
        match e {
            Expression::AssignmentExpression(a) => self.assignment(a, None),
            Expression::UpdateExpression(u) => self.update(u, None),
            Expression::SequenceExpression(s) => {
                for e in &s.expressions {
                    self.discard(e);
                }
            }
            Expression::LogicalExpression(l) if l.operator != LogicalOperator::Coalesce => {
                let end = self.label();
                self.jump_if(&l.left, end, l.operator == LogicalOperator::Or);
                self.discard(&l.right);
                self.bind(end);
            }
            Expression::ConditionalExpression(c) => {
                let otherwise = self.label();
                let end = self.label();
                self.jump_if(&c.test, otherwise, false);
                self.discard(&c.consequent);
                self.jump(Opcode::Jump, &[], end);
                self.bind(otherwise);
                self.discard(&c.alternate);
                self.bind(end);
            }
            Expression::UnaryExpression(u) if u.operator == UnaryOperator::Void => self.discard(&u.argument),
            _ => {
                self.expr(e);
            }
        }
        self.free(mark);
    }

    /// Evaluates into `dst`.
    pub fn expr_into(&mut self, e: &Expression<'a>, dst: Reg) {
        // A destination may be the next argument of a call block: temporaries must not stay behind it.
        let mark = self.top();
        crate::stack::ensure(|| self.expr_into_inner(e, dst));
        self.free(mark);
    }

    fn expr_into_inner(&mut self, e: &Expression<'a>, dst: Reg) {
        if self.error.is_some() {
            return;
        }
        self.at(e.span().start);
        match e {
            Expression::BooleanLiteral(b) => {
                self.op(if b.value { Opcode::LoadTrue } else { Opcode::LoadFalse }, &[dst]);
            }
            Expression::NullLiteral(_) => self.op(Opcode::LoadNull, &[dst]),
            Expression::NumericLiteral(n) => self.load_number(dst, n.value),
            Expression::BigIntLiteral(b) => self.bigint(b, dst, false),
            Expression::StringLiteral(s) => {
                let s = crate::strings::decode(s.value.as_str(), s.lone_surrogates);
                self.load_string(dst, s);
            }
            Expression::RegExpLiteral(r) => self.regexp(r, dst),
            Expression::TemplateLiteral(t) => self.template(t, dst),
            Expression::Identifier(id) => self.identifier(id, dst),
            Expression::ArrayExpression(a) => self.array(a, dst),
            Expression::ObjectExpression(o) => self.object(o, dst),
            Expression::ArrowFunctionExpression(_)
            | Expression::FunctionExpression(_)
            | Expression::ClassExpression(_) => self.named_into(e, Name::none(), dst),
            Expression::AssignmentExpression(a) => self.assignment(a, Some(dst)),
            Expression::UpdateExpression(u) => self.update(u, Some(dst)),
            Expression::AwaitExpression(a) => {
                let mark = self.top();
                let value = self.expr(&a.argument);
                self.at(a.span.start);
                self.await_into(dst, value);
                self.free(mark);
            }
            Expression::YieldExpression(y) => self.yield_expression(y, dst),
            Expression::BinaryExpression(b) => self.binary(b, dst),
            Expression::LogicalExpression(l) => self.logical(l, dst),
            Expression::ConditionalExpression(c) => {
                let otherwise = self.label();
                let end = self.label();
                self.jump_if(&c.test, otherwise, false);
                self.expr_into(&c.consequent, dst);
                self.jump(Opcode::Jump, &[], end);
                self.bind(otherwise);
                self.expr_into(&c.alternate, dst);
                self.bind(end);
            }
            Expression::UnaryExpression(u) => self.unary(u, dst),
            Expression::SequenceExpression(s) => {
                if let Some((last, init)) = s.expressions.split_last() {
                    for e in init {
                        self.discard(e);
                    }
                    self.expr_into(last, dst);
                }
            }
            Expression::ParenthesizedExpression(p) => self.expr_into(&p.expression, dst),
            Expression::ThisExpression(_) => {
                let reg = self.this_register(e.span().start);
                self.mov(dst, reg);
            }
            Expression::CallExpression(c) => self.call(c, dst),
            Expression::NewExpression(n) => self.new_expression(n, dst),
            Expression::ChainExpression(c) => self.chain(c, dst),
            Expression::TaggedTemplateExpression(t) => self.tagged_template(t, dst),
            Expression::ImportExpression(i) => self.import_expression(i, dst),
            Expression::ImportMeta(_) => self.op(Opcode::ImportMeta, &[dst]),
            Expression::NewTarget(n) => self.new_target(dst, n.span.start),
            Expression::PrivateInExpression(p) => {
                let mark = self.top();
                let name = self.private_name_register(&p.left);
                let object = self.expr(&p.right);
                self.at(p.span.start);
                self.op(Opcode::HasPrivate, &[dst, object, name]);
                self.free(mark);
            }
            Expression::StaticMemberExpression(m) => self.static_member(m, dst),
            Expression::ComputedMemberExpression(m) => self.computed_member(m, dst),
            Expression::PrivateFieldExpression(m) => {
                let mark = self.top();
                let object = self.expr(&m.object);
                self.optional_check(m.optional, object);
                let name = self.private_name_register(&m.field);
                self.at(m.field.span.start);
                self.op(Opcode::GetPrivate, &[dst, object, name]);
                self.free(mark);
            }
            other => self.fail(other.span().start, "This syntax is not supported"),
        }
    }

    fn identifier(&mut self, id: &IdentifierReference<'a>, dst: Reg) {
        let var = self.lookup(id);
        if var.place == Place::Global && var.dynamic.is_empty() {
            match id.name.as_str() {
                "undefined" => return self.op(Opcode::LoadUndefined, &[dst]),
                "NaN" => return self.load_number(dst, f64::NAN),
                "Infinity" => return self.load_number(dst, f64::INFINITY),
                _ => {}
            }
        }
        self.load_var(&var, dst);
    }

    /// Whether `e` is the global `undefined` or `void 0`.
    pub fn is_undefined(&mut self, e: &Expression<'a>) -> bool {
        match e {
            Expression::Identifier(id) if id.name == "undefined" => {
                let var = self.lookup(id);
                var.place == Place::Global && var.dynamic.is_empty()
            }
            Expression::UnaryExpression(u) => {
                u.operator == UnaryOperator::Void && matches!(u.argument, Expression::NumericLiteral(_))
            }
            _ => false,
        }
    }

    /// A register with `this`.
    pub fn this_register(&mut self, offset: u32) -> Reg {
        self.at(offset);
        let derived = self.f.kind == FunctionKind::DerivedConstructor;
        let info = &self.an.funcs[self.f.func as usize];
        if info.is_arrow || derived {
            return match self.find_binding("this") {
                Some(binding) => {
                    let var = self.var(binding, offset);
                    self.fixed_var(&var)
                }
                None => self.top_this(),
            };
        }
        if info.is_top {
            return self.top_this();
        }
        if !self.f.this_loaded {
            self.f.this_loaded = true;
            let reg = self.f.this;
            self.f.asm.prologue.extend_from_slice(&[Opcode::LoadThis as u16, reg]);
        }
        self.f.this
    }

    /// `this` at the top level, also seen from arrows there.
    fn top_this(&mut self) -> Reg {
        if self.outer.is_some() {
            let mut var = self.outer_var("this");
            if var.place != Place::Global {
                var.dynamic.clear();
                let in_derived = self.outer.as_ref().is_some_and(|o| o.in_derived_constructor);
                var.check = in_derived;
                return self.fixed_var(&var);
            }
        }
        let temp = self.temp();
        let is_module = matches!(self.kind, zjs_engine::bytecode::template::SourceKind::Module);
        if is_module {
            self.op(Opcode::LoadUndefined, &[temp]);
        } else if self.outer.as_ref().is_some_and(|o| !o.in_function) {
            self.op(Opcode::LoadGlobalThis, &[temp]);
        } else if self.an.funcs[self.f.func as usize].is_top {
            self.op(Opcode::LoadThis, &[temp]);
        } else {
            self.op(Opcode::LoadGlobalThis, &[temp]);
        }
        temp
    }

    /// A variable in its own register or a temporary.
    fn fixed_var(&mut self, var: &crate::codegen::Var<'a>) -> Reg {
        match self.var_register(var) {
            Some(reg) => reg,
            None => {
                let temp = self.temp();
                self.load_var(var, temp);
                temp
            }
        }
    }

    /// `this` of a derived constructor, initialised or not.
    pub fn load_this_unchecked(&mut self, dst: Reg) {
        match self.find_binding("this") {
            Some(binding) => {
                let mut var = self.var(binding, u32::MAX);
                var.check = false;
                var.dynamic.clear();
                self.load_var(&var, dst);
            }
            None => self.op(Opcode::LoadHole, &[dst]),
        }
    }

    /// `new.target` or the active function (`%fn`).
    pub fn pseudo(&mut self, name: &'static str, own: Opcode, dst: Reg) {
        if !self.an.funcs[self.f.func as usize].is_arrow && !self.an.funcs[self.f.func as usize].is_top {
            return self.op(own, &[dst]);
        }
        match self.find_binding(name) {
            Some(binding) => {
                let mut var = self.var(binding, u32::MAX);
                var.dynamic.clear();
                self.load_var(&var, dst);
            }
            None => {
                let mut var = self.outer_var(name);
                var.dynamic.clear();
                if var.place == Place::Global {
                    self.op(Opcode::LoadUndefined, &[dst]);
                } else {
                    self.load_var(&var, dst);
                }
            }
        }
    }

    fn new_target(&mut self, dst: Reg, offset: u32) {
        self.at(offset);
        self.pseudo("new.target", Opcode::LoadNewTarget, dst);
    }

    /// In an optional chain: stop if `object` is nullish.
    pub fn optional_check(&mut self, optional: bool, object: Reg) {
        if optional && let Some(label) = self.f.chain {
            self.jump(Opcode::JumpIfNullish, &[object], label);
        }
    }

    fn chain(&mut self, it: &ChainExpression<'a>, dst: Reg) {
        let mark = self.top();
        let short = self.label();
        let end = self.label();
        let saved = self.f.chain.replace(short);
        match &it.expression {
            ChainElement::CallExpression(c) => self.call(c, dst),
            ChainElement::StaticMemberExpression(m) => self.static_member(m, dst),
            ChainElement::ComputedMemberExpression(m) => self.computed_member(m, dst),
            ChainElement::PrivateFieldExpression(m) => {
                let object = self.expr(&m.object);
                self.optional_check(m.optional, object);
                let name = self.private_name_register(&m.field);
                self.at(m.field.span.start);
                self.op(Opcode::GetPrivate, &[dst, object, name]);
            }
            ChainElement::TSNonNullExpression(e) => self.fail(e.span.start, "This syntax is not supported"),
        }
        self.f.chain = saved;
        self.jump(Opcode::Jump, &[], end);
        self.bind(short);
        self.op(Opcode::LoadUndefined, &[dst]);
        self.bind(end);
        self.free(mark);
    }

    /// The `arguments` object is not needed: its cheap form is used.
    fn is_cheap_arguments(&mut self, e: &Expression<'a>) -> bool {
        let Expression::Identifier(id) = e else { return false };
        if id.name != "arguments" {
            return false;
        }
        let binding = id.reference_id.get().map_or(NONE, |r| self.an.resolution[r.index()]);
        let info = &self.an.funcs[self.f.func as usize];
        binding != NONE && info.arguments == binding && !info.arguments_escape
    }

    pub fn static_member(&mut self, m: &StaticMemberExpression<'a>, dst: Reg) {
        let mark = self.top();
        let name = m.property.name.as_str();
        if let Expression::Super(s) = &m.object {
            let key = self.temp();
            self.load_string(key, name.into());
            let this = self.this_register(s.span.start);
            self.at(m.property.span.start);
            self.op(Opcode::GetSuper, &[dst, key, this]);
            return self.free(mark);
        }
        if name == "length" && self.is_cheap_arguments(&m.object) {
            return self.op(Opcode::ArgumentsLength, &[dst]);
        }
        let object = self.expr(&m.object);
        self.optional_check(m.optional, object);
        self.get_named(dst, object, name, m.property.span.start);
        self.free(mark);
    }

    /// dst = object.name
    pub fn get_named(&mut self, dst: Reg, object: Reg, name: &str, offset: u32) {
        self.at(offset);
        let ic = self.f.asm.ic();
        if name == "length" {
            return self.op(Opcode::GetLength, &[dst, object, ic]);
        }
        let c = self.f.asm.name(name);
        self.op(Opcode::GetProperty, &[dst, object, c, ic]);
    }

    pub fn computed_member(&mut self, m: &ComputedMemberExpression<'a>, dst: Reg) {
        let mark = self.top();
        if let Expression::Super(s) = &m.object {
            let this = self.this_register(s.span.start);
            let key = self.expr(&m.expression);
            self.at(m.span.start);
            self.op(Opcode::GetSuper, &[dst, key, this]);
            return self.free(mark);
        }
        if self.is_cheap_arguments(&m.object) {
            let key = self.expr(&m.expression);
            self.at(m.span.start);
            self.op(Opcode::GetArgument, &[dst, key]);
            return self.free(mark);
        }
        let object = self.operand(&m.object, m.expression.span());
        self.optional_check(m.optional, object);
        if let Some(name) = named_element(&m.expression) {
            self.get_named(dst, object, name, m.expression.span().start);
            return self.free(mark);
        }
        let key = self.expr(&m.expression);
        self.at(m.expression.span().start);
        let ic = self.f.asm.ic();
        self.op(Opcode::GetElement, &[dst, object, key, ic]);
        self.free(mark);
    }

    /// The private name that `#x` means here.
    pub fn private_name_register(&mut self, id: &PrivateIdentifier<'a>) -> Reg {
        let name = format!("#{}", id.name);
        match self.find_binding(&name) {
            Some(binding) => {
                let mut var = self.var(binding, u32::MAX);
                var.dynamic.clear();
                self.fixed_var(&var)
            }
            None => {
                let temp = self.temp();
                let mut var = self.outer_private(&name);
                if var.place == Place::Global {
                    self.fail(id.span.start, format!("Private field '{name}' must be declared in an enclosing class"));
                    return temp;
                }
                var.dynamic.clear();
                self.load_var(&var, temp);
                temp
            }
        }
    }

    fn outer_private(&mut self, name: &str) -> crate::codegen::Var<'a> {
        // The name only serves messages here, so any static text will do.
        let found = self.outer_var_named(name);
        crate::codegen::Var { name: "#private", ..found }
    }

    fn binary(&mut self, b: &BinaryExpression<'a>, dst: Reg) {
        // Chains of the same kind lean to the left: walk down first, so that depth costs no stack.
        let mut chain = vec![b];
        while let Some(last) = chain.last().copied() {
            match &last.left {
                Expression::BinaryExpression(inner) if chain.len() < 100_000 => chain.push(inner),
                _ => break,
            }
        }
        let mark = self.top();
        let mut left: Option<Reg> = None;
        while let Some(b) = chain.pop() {
            let target = if chain.is_empty() {
                dst
            } else if self.is_local(dst) {
                match left {
                    Some(reg) if reg >= mark && !self.is_local(reg) => reg,
                    _ => self.temp(),
                }
            } else {
                dst
            };
            self.binary_step(b, left, target);
            left = Some(target);
        }
        self.free(mark);
    }

    /// One operation of a chain whose left operand may already be in a register.
    fn binary_step(&mut self, b: &BinaryExpression<'a>, left: Option<Reg>, dst: Reg) {
        let mark = self.top();
        if let Some(op) = int_form(b.operator)
            && let Some(value) = int_literal(&b.right)
        {
            let a = left.unwrap_or_else(|| self.operand_hint(&b.left, b.right.span(), dst));
            self.at(b.span.start);
            self.op_int(op, &[dst, a], value);
            return self.free(mark);
        }
        let a = left.unwrap_or_else(|| self.operand_hint(&b.left, b.right.span(), dst));
        let c = self.expr(&b.right);
        self.at(b.span.start);
        self.op(binary_op(b.operator), &[dst, a, c]);
        self.free(mark);
    }

    fn logical(&mut self, l: &LogicalExpression<'a>, dst: Reg) {
        let mark = self.top();
        let end = self.label();
        let op = match l.operator {
            LogicalOperator::And => Opcode::JumpIfFalse,
            LogicalOperator::Or => Opcode::JumpIfTrue,
            LogicalOperator::Coalesce => Opcode::JumpIfNotNullish,
        };
        if self.is_local(dst) {
            let value = self.expr(&l.left);
            if value == dst {
                self.jump(op, &[value], end);
                self.expr_into(&l.right, dst);
            } else {
                let right = self.label();
                let inverse = match l.operator {
                    LogicalOperator::And => Opcode::JumpIfTrue,
                    LogicalOperator::Or => Opcode::JumpIfFalse,
                    LogicalOperator::Coalesce => Opcode::JumpIfNullish,
                };
                self.jump(inverse, &[value], right);
                self.mov(dst, value);
                self.jump(Opcode::Jump, &[], end);
                self.bind(right);
                self.expr_into(&l.right, dst);
            }
        } else {
            self.expr_into(&l.left, dst);
            self.jump(op, &[dst], end);
            self.expr_into(&l.right, dst);
        }
        self.bind(end);
        self.free(mark);
    }

    fn unary(&mut self, u: &UnaryExpression<'a>, dst: Reg) {
        let mark = self.top();
        let op = match u.operator {
            UnaryOperator::UnaryNegation => {
                match &u.argument {
                    Expression::NumericLiteral(n) => return self.load_number(dst, -n.value),
                    Expression::BigIntLiteral(b) => return self.bigint(b, dst, true),
                    _ => {}
                }
                Opcode::Negate
            }
            UnaryOperator::UnaryPlus => Opcode::ToNumber,
            UnaryOperator::LogicalNot => Opcode::Not,
            UnaryOperator::BitwiseNot => Opcode::BitNot,
            UnaryOperator::Typeof => {
                if let Expression::Identifier(id) = &u.argument {
                    let var = self.lookup(id);
                    self.at(id.span.start);
                    if !var.dynamic.is_empty() {
                        return self.typeof_dynamic(&var, dst);
                    }
                    if var.place == Place::Global {
                        let name = self.f.asm.name(var.name);
                        let ic = self.f.asm.ic();
                        let temp = self.temp();
                        self.op(Opcode::GetGlobalOrUndefined, &[temp, name, ic]);
                        self.op(Opcode::TypeOf, &[dst, temp]);
                        return self.free(mark);
                    }
                }
                Opcode::TypeOf
            }
            UnaryOperator::Void => {
                self.discard(&u.argument);
                return self.op(Opcode::LoadUndefined, &[dst]);
            }
            UnaryOperator::Delete => return self.delete(&u.argument, dst),
        };
        let value = self.expr(&u.argument);
        self.at(u.span.start);
        self.op(op, &[dst, value]);
        self.free(mark);
    }

    fn delete(&mut self, e: &Expression<'a>, dst: Reg) {
        let mark = self.top();
        match e {
            Expression::StaticMemberExpression(m) => self.delete_static(m, dst),
            Expression::ComputedMemberExpression(m) => self.delete_computed(m, dst),
            Expression::ParenthesizedExpression(p) => self.delete(&p.expression, dst),
            Expression::ChainExpression(c) => {
                let short = self.label();
                let end = self.label();
                let saved = self.f.chain.replace(short);
                match &c.expression {
                    ChainElement::StaticMemberExpression(m) => self.delete_static(m, dst),
                    ChainElement::ComputedMemberExpression(m) => self.delete_computed(m, dst),
                    ChainElement::CallExpression(call) => {
                        self.call(call, dst);
                        self.op(Opcode::LoadTrue, &[dst]);
                    }
                    _ => self.fail(c.span.start, "Private fields can not be deleted"),
                }
                self.f.chain = saved;
                self.jump(Opcode::Jump, &[], end);
                self.bind(short);
                self.op(Opcode::LoadTrue, &[dst]);
                self.bind(end);
            }
            Expression::Identifier(id) => {
                let var = self.lookup(id);
                if !var.dynamic.is_empty() {
                    self.delete_dynamic(&var, dst);
                } else if var.place == Place::Global {
                    let name = self.f.asm.name(var.name);
                    self.op(Opcode::DeleteGlobal, &[dst, name]);
                } else {
                    self.op(Opcode::LoadFalse, &[dst]);
                }
            }
            other => {
                self.discard(other);
                self.op(Opcode::LoadTrue, &[dst]);
            }
        }
        self.free(mark);
    }

    fn delete_static(&mut self, m: &StaticMemberExpression<'a>, dst: Reg) {
        if let Expression::Super(s) = &m.object {
            self.this_register(s.span.start);
            return self.throw_error(1, "Unsupported reference to 'super'");
        }
        let object = self.expr(&m.object);
        self.optional_check(m.optional, object);
        let c = self.f.asm.name(m.property.name.as_str());
        self.at(m.span.start);
        self.op(Opcode::DeleteProperty, &[dst, object, c]);
    }

    fn delete_computed(&mut self, m: &ComputedMemberExpression<'a>, dst: Reg) {
        if let Expression::Super(s) = &m.object {
            self.this_register(s.span.start);
            self.expr(&m.expression);
            return self.throw_error(1, "Unsupported reference to 'super'");
        }
        let object = self.operand(&m.object, m.expression.span());
        self.optional_check(m.optional, object);
        let key = self.expr(&m.expression);
        self.at(m.span.start);
        self.op(Opcode::DeleteElement, &[dst, object, key]);
    }

    pub fn throw_error(&mut self, kind: u16, message: &str) {
        let c = self.f.asm.name(message);
        self.op(Opcode::ThrowError, &[kind, c]);
    }

    /// Jumps to `label` if the truth value of `e` is `sense`; otherwise goes on behind.
    pub fn jump_if(&mut self, e: &Expression<'a>, label: Label, sense: bool) {
        crate::stack::ensure(|| self.jump_if_inner(e, label, sense));
    }

    fn jump_if_inner(&mut self, e: &Expression<'a>, label: Label, sense: bool) {
        let mark = self.top();
        match e {
            Expression::ParenthesizedExpression(p) => return self.jump_if(&p.expression, label, sense),
            Expression::BooleanLiteral(b) => {
                if b.value == sense {
                    self.jump(Opcode::Jump, &[], label);
                }
                return;
            }
            Expression::UnaryExpression(u) if u.operator == UnaryOperator::LogicalNot => {
                return self.jump_if(&u.argument, label, !sense);
            }
            Expression::LogicalExpression(l) if l.operator != LogicalOperator::Coalesce => {
                // Whether the left side alone decides for `sense`.
                if (l.operator == LogicalOperator::Or) == sense {
                    self.jump_if(&l.left, label, sense);
                    self.jump_if(&l.right, label, sense);
                } else {
                    let skip = self.label();
                    self.jump_if(&l.left, skip, !sense);
                    self.jump_if(&l.right, label, sense);
                    self.bind(skip);
                }
                return;
            }
            Expression::SequenceExpression(s) => {
                if let Some((last, init)) = s.expressions.split_last() {
                    for e in init {
                        self.discard(e);
                    }
                    self.jump_if(last, label, sense);
                }
                return;
            }
            Expression::BinaryExpression(b) if self.compare_jump(b, label, sense) => return self.free(mark),
            _ => {}
        }
        let value = self.expr(e);
        self.at(e.span().start);
        self.jump(if sense { Opcode::JumpIfTrue } else { Opcode::JumpIfFalse }, &[value], label);
        self.free(mark);
    }

    fn compare_jump(&mut self, b: &BinaryExpression<'a>, label: Label, sense: bool) -> bool {
        use BinaryOperator as B;
        let (when, unless) = match b.operator {
            B::Equality => (Opcode::JumpIfEqual, Opcode::JumpIfNotEqual),
            B::Inequality => (Opcode::JumpIfNotEqual, Opcode::JumpIfEqual),
            B::StrictEquality => (Opcode::JumpIfStrictEqual, Opcode::JumpIfStrictNotEqual),
            B::StrictInequality => (Opcode::JumpIfStrictNotEqual, Opcode::JumpIfStrictEqual),
            B::LessThan => (Opcode::JumpIfLess, Opcode::JumpIfNotLess),
            B::LessEqualThan => (Opcode::JumpIfLessEqual, Opcode::JumpIfNotLessEqual),
            B::GreaterThan => (Opcode::JumpIfGreater, Opcode::JumpIfNotGreater),
            B::GreaterEqualThan => (Opcode::JumpIfGreaterEqual, Opcode::JumpIfNotGreaterEqual),
            _ => return false,
        };
        let positive = matches!(b.operator, B::Equality | B::StrictEquality);
        if b.operator.is_equality() {
            let strict = matches!(b.operator, B::StrictEquality | B::StrictInequality);
            let right_undefined = self.is_undefined(&b.right);
            let right_null = matches!(b.right, Expression::NullLiteral(_));
            if right_undefined || right_null && !strict {
                let value = self.expr(&b.left);
                self.at(b.span.start);
                let op = match (strict, positive == sense) {
                    (false, true) => Opcode::JumpIfNullish,
                    (false, false) => Opcode::JumpIfNotNullish,
                    (true, true) => Opcode::JumpIfUndefined,
                    (true, false) => Opcode::JumpIfNotUndefined,
                };
                self.jump(op, &[value], label);
                return true;
            }
        }
        let left = self.operand(&b.left, b.right.span());
        let right = self.expr(&b.right);
        self.at(b.span.start);
        self.jump(if sense { when } else { unless }, &[left, right], label);
        true
    }
}

/// The name in `object["name"]`, where it is no array index.
pub fn named_element<'x>(key: &'x Expression<'_>) -> Option<&'x str> {
    match key {
        Expression::StringLiteral(s) if !s.lone_surrogates && array_index(s.value.as_str()).is_none() => {
            Some(s.value.as_str())
        }
        _ => None,
    }
}

/// The opcode with an immediate right operand.
pub fn int_form(operator: BinaryOperator) -> Option<Opcode> {
    use BinaryOperator as B;
    Some(match operator {
        B::Addition => Opcode::AddInt,
        B::Subtraction => Opcode::SubInt,
        B::Multiplication => Opcode::MulInt,
        B::Division => Opcode::DivInt,
        B::Remainder => Opcode::ModInt,
        B::BitwiseAnd => Opcode::BitAndInt,
        B::BitwiseOR => Opcode::BitOrInt,
        B::BitwiseXOR => Opcode::BitXorInt,
        B::ShiftLeft => Opcode::ShlInt,
        B::ShiftRight => Opcode::ShrInt,
        B::ShiftRightZeroFill => Opcode::UShrInt,
        _ => return None,
    })
}

/// The opcode of a binary operator.
pub fn binary_op(operator: BinaryOperator) -> Opcode {
    use BinaryOperator as B;
    match operator {
        B::Equality => Opcode::Equal,
        B::Inequality => Opcode::NotEqual,
        B::StrictEquality => Opcode::StrictEqual,
        B::StrictInequality => Opcode::StrictNotEqual,
        B::LessThan => Opcode::Less,
        B::LessEqualThan => Opcode::LessEqual,
        B::GreaterThan => Opcode::Greater,
        B::GreaterEqualThan => Opcode::GreaterEqual,
        B::Addition => Opcode::Add,
        B::Subtraction => Opcode::Sub,
        B::Multiplication => Opcode::Mul,
        B::Division => Opcode::Div,
        B::Remainder => Opcode::Mod,
        B::Exponential => Opcode::Exp,
        B::ShiftLeft => Opcode::Shl,
        B::ShiftRight => Opcode::Shr,
        B::ShiftRightZeroFill => Opcode::UShr,
        B::BitwiseOR => Opcode::BitOr,
        B::BitwiseXOR => Opcode::BitXor,
        B::BitwiseAnd => Opcode::BitAnd,
        B::In => Opcode::HasProperty,
        B::Instanceof => Opcode::InstanceOf,
    }
}
