//! Literals: numbers, strings, templates, regular expressions, arrays and objects.

use num_bigint::BigUint;
use num_traits::Num;
use oxc_ast::ast::*;
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::codegen::Codegen;
use crate::emit::Reg;
use crate::functions::Name;
use crate::strings::{array_index, as_int32, decode};

/// A property key that is known at compile time.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    Name(JsStr),
    Index(u32),
}

/// The static form of a property name, if it has one.
pub fn static_key(key: &PropertyKey<'_>, computed: bool) -> Option<Key> {
    let from_str = |s: &str| match array_index(s) {
        Some(index) => Key::Index(index),
        None => Key::Name(JsStr::from(s)),
    };
    match key {
        PropertyKey::StaticIdentifier(id) => Some(from_str(id.name.as_str())),
        PropertyKey::StringLiteral(s) if s.lone_surrogates => Some(Key::Name(decode(s.value.as_str(), true))),
        PropertyKey::StringLiteral(s) => Some(from_str(s.value.as_str())),
        PropertyKey::NumericLiteral(n) if n.value >= 0.0 && n.value < 4_294_967_295.0 && n.value.fract() == 0.0 => {
            Some(Key::Index(n.value as u32))
        }
        PropertyKey::TemplateLiteral(t) if computed && t.expressions.is_empty() && t.quasis.len() == 1 => {
            let cooked = t.quasis[0].value.cooked.as_ref()?;
            if t.quasis[0].lone_surrogates { None } else { Some(from_str(cooked.as_str())) }
        }
        _ => None,
    }
}

impl Key {
    /// The name that a function under this key gets.
    pub fn function_name(&self) -> JsStr {
        match self {
            Key::Name(name) => name.clone(),
            Key::Index(index) => JsStr::from(index.to_string().as_str()),
        }
    }
}

/// Magnitude digits of a BigInt literal's text (decimal or with prefix, without `n`).
fn bigint_digits(text: &str) -> Box<[u32]> {
    let text = text.replace('_', "");
    let text = text.trim_end_matches('n');
    let (digits, radix) = match text.get(..2) {
        Some("0x" | "0X") => (&text[2..], 16),
        Some("0o" | "0O") => (&text[2..], 8),
        Some("0b" | "0B") => (&text[2..], 2),
        _ => (text, 10),
    };
    let value = BigUint::from_str_radix(digits, radix).unwrap_or_default();
    let mut out = value.to_u32_digits();
    while out.last() == Some(&0) {
        out.pop();
    }
    out.into_boxed_slice()
}

impl<'a> Codegen<'a> {
    pub fn bigint(&mut self, it: &BigIntLiteral<'a>, dst: Reg, negative: bool) {
        let digits = bigint_digits(it.value.as_str());
        let negative = negative && !digits.is_empty();
        let c = self.f.asm.constant(Constant::BigInt { negative, digits });
        self.op(Opcode::LoadConst, &[dst, c]);
    }

    pub fn regexp(&mut self, it: &RegExpLiteral<'a>, dst: Reg) {
        let source = self.f.asm.name(it.regex.pattern.text.as_str());
        let flags = it.regex.flags.to_string();
        let flags = self.f.asm.name(&flags);
        self.at(it.span.start);
        self.op(Opcode::NewRegExp, &[dst, source, flags]);
    }

    pub fn template(&mut self, it: &TemplateLiteral<'a>, dst: Reg) {
        let mark = self.top();
        let text =
            |q: &TemplateElement<'a>| decode(q.value.cooked.as_ref().map_or("", |c| c.as_str()), q.lone_surrogates);
        if it.expressions.is_empty() {
            let s = it.quasis.first().map_or_else(|| JsStr::from(""), text);
            return self.load_string(dst, s);
        }
        // The pieces are joined from the left: each expression is converted when it is evaluated.
        let acc = if self.is_local(dst) { self.temp() } else { dst };
        let piece = self.temp();
        let mut started = false;
        for (i, quasi) in it.quasis.iter().enumerate() {
            let s = text(quasi);
            if !s.is_empty() {
                if started {
                    self.load_string(piece, s);
                    self.op(Opcode::Add, &[acc, acc, piece]);
                } else {
                    self.load_string(acc, s);
                    started = true;
                }
            }
            if let Some(e) = it.expressions.get(i) {
                let target = if started { piece } else { acc };
                self.expr_into(e, target);
                self.at(it.span.start);
                self.op(Opcode::ToStringOp, &[target, target]);
                if started {
                    self.op(Opcode::Add, &[acc, acc, piece]);
                }
                started = true;
            }
        }
        self.mov(dst, acc);
        self.free(mark);
    }

    /// Loads the template object of a tagged template.
    pub fn template_object(&mut self, it: &TemplateLiteral<'a>, dst: Reg) {
        let cooked =
            it.quasis.iter().map(|q| q.value.cooked.as_ref().map(|c| decode(c.as_str(), q.lone_surrogates))).collect();
        let raw = it.quasis.iter().map(|q| JsStr::from(q.value.raw.as_str())).collect();
        let c = self.f.asm.constant(Constant::TemplateObject { cooked, raw });
        self.op(Opcode::GetTemplateObject, &[dst, c]);
    }

    pub fn array(&mut self, it: &ArrayExpression<'a>, dst: Reg) {
        let mark = self.top();
        let array = if self.is_local(dst) { self.temp() } else { dst };
        self.op(Opcode::NewArray, &[array, it.elements.len().min(65_535) as u16]);
        for element in &it.elements {
            let inner = self.top();
            match element {
                ArrayExpressionElement::SpreadElement(spread) => {
                    let value = self.expr(&spread.argument);
                    self.at(spread.span.start);
                    self.op(Opcode::ArraySpread, &[array, value]);
                }
                ArrayExpressionElement::Elision(_) => self.op(Opcode::ArrayPushHole, &[array]),
                other => {
                    if let Some(e) = other.as_expression() {
                        let value = self.expr(e);
                        self.op(Opcode::ArrayPush, &[array, value]);
                    }
                }
            }
            self.free(inner);
        }
        self.mov(dst, array);
        self.free(mark);
    }

    pub fn object(&mut self, it: &ObjectExpression<'a>, dst: Reg) {
        let mark = self.top();
        let object = if self.is_local(dst) { self.temp() } else { dst };
        self.op(Opcode::NewObject, &[object]);
        for property in &it.properties {
            let inner = self.top();
            match property {
                ObjectPropertyKind::SpreadProperty(spread) => {
                    let value = self.expr(&spread.argument);
                    self.at(spread.span.start);
                    self.op(Opcode::CopyDataProperties, &[object, value, value, 0]);
                }
                ObjectPropertyKind::ObjectProperty(p) => self.object_property(p, object),
            }
            self.free(inner);
        }
        self.mov(dst, object);
        self.free(mark);
    }

    fn object_property(&mut self, p: &ObjectProperty<'a>, object: Reg) {
        let key = static_key(&p.key, p.computed);
        let is_method = p.method || p.kind != PropertyKind::Init;
        if !is_method
            && !p.computed
            && !p.shorthand
            && let Some(Key::Name(name)) = &key
            && *name == JsStr::from("__proto__")
        {
            let value = self.expr(&p.value);
            self.at(p.span.start);
            return self.op(Opcode::SetPrototypeLiteral, &[object, value]);
        }
        if !is_method && let Some(Key::Name(name)) = &key {
            let value = self.named_expr(&p.value, Name::Static(name.clone()));
            let c = self.f.asm.string(name.clone());
            let ic = self.f.asm.ic();
            self.at(p.span.start);
            return self.op(Opcode::DefineProperty, &[object, c, value, ic]);
        }
        let key_reg = self.temp();
        let name = match &key {
            Some(key) => {
                self.load_key(key, key_reg);
                Name::Static(key.function_name())
            }
            None => {
                self.property_key_into(&p.key, key_reg);
                Name::Dynamic(key_reg, 0)
            }
        };
        if !is_method {
            let value = self.named_expr(&p.value, name);
            self.at(p.span.start);
            return self.op(Opcode::DefineElement, &[object, key_reg, value]);
        }
        let Expression::FunctionExpression(function) = &p.value else { return };
        let (name, op, prefix) = match p.kind {
            PropertyKind::Init => (name, Opcode::DefineMethod, 0),
            PropertyKind::Get => (name.prefixed("get"), Opcode::DefineGetter, 1),
            PropertyKind::Set => (name.prefixed("set"), Opcode::DefineSetter, 2),
        };
        let closure = self.temp();
        self.method_closure(function, &name, closure, p.span);
        self.op(Opcode::SetHomeObject, &[closure, object]);
        if let Name::Dynamic(key, _) = name {
            self.op(Opcode::SetFunctionName, &[closure, key, prefix]);
        }
        self.at(p.span.start);
        self.op(op, &[object, key_reg, closure, 1]);
    }

    /// Loads a static key as a property key.
    pub fn load_key(&mut self, key: &Key, dst: Reg) {
        match key {
            Key::Name(name) => self.load_string(dst, name.clone()),
            Key::Index(index) => match i32::try_from(*index) {
                Ok(int) => self.load_int(dst, int),
                Err(_) => self.load_string(dst, JsStr::from(index.to_string().as_str())),
            },
        }
    }

    /// Evaluates a computed or odd property name to a property key.
    pub fn property_key_into(&mut self, key: &PropertyKey<'a>, dst: Reg) {
        if let Some(e) = key.as_expression() {
            self.expr_into(e, dst);
            self.at(oxc_span::GetSpan::span(key).start);
            if !matches!(e, Expression::StringLiteral(_)) {
                self.op(Opcode::ToPropertyKey, &[dst, dst]);
            }
        }
    }
}

/// The int32 that a literal stands for, if it does (also `-literal`).
pub fn int_literal(e: &Expression<'_>) -> Option<i32> {
    match e {
        Expression::NumericLiteral(n) => as_int32(n.value),
        Expression::UnaryExpression(u) if u.operator == UnaryOperator::UnaryNegation => match &u.argument {
            Expression::NumericLiteral(n) => as_int32(-n.value),
            _ => None,
        },
        _ => None,
    }
}
