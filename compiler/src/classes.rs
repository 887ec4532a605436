//! Classes.
//!
//! Order: private names, heritage, constructor and prototype, elements (keys are evaluated, methods
//! defined), the inner name, the instance initializer, then the static elements in one function that is
//! called with the class as `this`. Computed field keys and private methods wait in hidden variables of
//! the class scope until an initializer needs them.

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};
use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::codegen::Codegen;
use crate::emit::Reg;
use crate::functions::{Body, Name, Spec};
use crate::literals::{Key, static_key};
use crate::scope::*;

/// What the initializer functions need to know about the elements.
pub struct ClassPlan {
    /// Per element: the hidden variable with its key or its private method.
    hidden: Vec<Option<BindIdx>>,
}

fn needs_hidden(element: &ClassElement<'_>) -> bool {
    match element {
        ClassElement::MethodDefinition(m) => m.key.is_private_identifier() && !m.r#static,
        ClassElement::PropertyDefinition(p) => p.computed,
        _ => false,
    }
}

impl<'a> Codegen<'a> {
    fn class_plan(&self, c: &Class<'a>, scope: ScopeIdx) -> ClassPlan {
        let mut slots = self.an.scopes[scope as usize]
            .bindings
            .iter()
            .copied()
            .filter(|&b| self.an.bindings[b as usize].kind == BindKind::Hidden);
        let hidden = c.body.body.iter().map(|e| if needs_hidden(e) { slots.next() } else { None }).collect();
        ClassPlan { hidden }
    }

    pub fn class(&mut self, c: &Class<'a>, name: Name, dst: Reg) {
        if !c.decorators.is_empty() {
            return self.fail(c.span.start, "Decorators are not supported");
        }
        let mark = self.top();
        let scope = self.scope_of(addr(c), tag::CLASS);
        let base = self.temps(2);
        self.enter_scope(scope);
        let plan = self.class_plan(c, scope);
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            if self.an.bindings[binding as usize].kind == BindKind::Private {
                let inner = self.top();
                let text = self.an.bindings[binding as usize].name;
                let c = self.f.asm.name(text);
                let temp = self.temp();
                self.op(Opcode::NewPrivateName, &[temp, c]);
                self.init_binding(binding, temp);
                self.free(inner);
            }
        }
        let has_instance = c.body.body.iter().any(|e| match e {
            ClassElement::PropertyDefinition(p) => !p.r#static,
            other => needs_hidden(other),
        });
        let has_static = c.body.body.iter().any(|e| match e {
            ClassElement::PropertyDefinition(p) => p.r#static,
            ClassElement::StaticBlock(_) => true,
            _ => false,
        });
        self.constructor(c, &name, base, has_instance);
        for (i, element) in c.body.body.iter().enumerate() {
            let inner = self.top();
            self.element(element, plan.hidden[i], base);
            self.free(inner);
        }
        if let Name::Dynamic(key, prefix) = name
            && c.id.is_none()
        {
            self.op(Opcode::SetFunctionName, &[base, key, prefix]);
        }
        if let Some(id) = &c.id
            && let Some(&binding) = self.an.scopes[scope as usize].names.get(id.name.as_str())
        {
            self.init_binding(binding, base);
        }
        if has_instance {
            let closure = self.temp();
            self.initializer(c, &plan, false, closure);
            self.op(Opcode::SetHomeObject, &[closure, base + 1]);
            self.op(Opcode::SetClassFields, &[base, closure]);
        }
        if has_static {
            let block = self.temps(6);
            self.initializer(c, &plan, true, block + 4);
            self.op(Opcode::SetHomeObject, &[block + 4, base]);
            self.mov(block + 5, base);
            self.at(c.span.start);
            self.op(Opcode::Call, &[block, block, 0]);
        }
        self.leave_scope(scope);
        self.mov(dst, base);
        self.free(mark);
    }

    fn constructor(&mut self, c: &Class<'a>, name: &Name, base: Reg, has_instance: bool) {
        let inner = self.top();
        let heritage = self.temp();
        match &c.heritage {
            Some(h) => self.expr_into(&h.expression, heritage),
            None => self.op(Opcode::LoadHole, &[heritage]),
        }
        let kind = if c.heritage.is_some() { FunctionKind::DerivedConstructor } else { FunctionKind::ClassConstructor };
        let written = c.body.body.iter().find_map(|e| match e {
            ClassElement::MethodDefinition(m) if m.kind == MethodDefinitionKind::Constructor => Some(m),
            _ => None,
        });
        let index = match written {
            Some(m) => self.function_template(&m.value, name, kind, c.span, has_instance),
            None => self.compile_function(&Spec {
                scope: NONE,
                body_scope: NONE,
                params: None,
                body: Body::DefaultConstructor,
                name: name.text(),
                kind,
                suspension: Suspension::None,
                strict: true,
                span: c.span,
                run_fields: has_instance,
            }),
        };
        let constant = self.f.asm.constant(Constant::Function(index));
        let env = self.current_env();
        self.at(c.heritage.as_ref().map_or(c.span.start, |h| h.expression.span().start));
        // The engine makes the prototype the constructor's home object.
        self.op(Opcode::NewClass, &[base, heritage, constant, env]);
        self.free(inner);
    }

    fn element(&mut self, element: &ClassElement<'a>, hidden: Option<BindIdx>, base: Reg) {
        match element {
            ClassElement::MethodDefinition(m) if m.kind != MethodDefinitionKind::Constructor => {
                self.method(m, hidden, base);
            }
            ClassElement::PropertyDefinition(p) => {
                if !p.decorators.is_empty() {
                    return self.fail(p.span.start, "Decorators are not supported");
                }
                if let Some(binding) = hidden {
                    let key = self.temp();
                    match static_key(&p.key, true) {
                        Some(fixed) => self.load_key(&fixed, key),
                        None => self.property_key_into(&p.key, key),
                    }
                    self.init_binding(binding, key);
                }
            }
            ClassElement::AccessorProperty(a) => self.fail(a.span.start, "'accessor' fields are not supported"),
            _ => {}
        }
    }

    fn method(&mut self, m: &MethodDefinition<'a>, hidden: Option<BindIdx>, base: Reg) {
        if !m.decorators.is_empty() {
            return self.fail(m.span.start, "Decorators are not supported");
        }
        let target = if m.r#static { base } else { base + 1 };
        let (prefix_text, op, prefix) = match m.kind {
            MethodDefinitionKind::Get => ("get", Opcode::DefineGetter, 1),
            MethodDefinitionKind::Set => ("set", Opcode::DefineSetter, 2),
            _ => ("", Opcode::DefineMethod, 0),
        };
        if let PropertyKey::PrivateIdentifier(id) = &m.key {
            let mut name = Name::Static(JsStr::from(format!("#{}", id.name).as_str()));
            if prefix != 0 {
                name = name.prefixed(prefix_text);
            }
            let closure = self.temp();
            self.method_closure(&m.value, &name, closure, m.span);
            self.op(Opcode::SetHomeObject, &[closure, target]);
            match hidden {
                Some(binding) => self.init_binding(binding, closure),
                None => {
                    let key = self.private_name_register(id);
                    self.op(Opcode::DefinePrivateMethod, &[base, key, closure, prefix]);
                }
            }
            return;
        }
        let key = self.temp();
        let mut name = match static_key(&m.key, m.computed) {
            Some(fixed) => {
                self.load_key(&fixed, key);
                Name::Static(fixed.function_name())
            }
            None => {
                self.property_key_into(&m.key, key);
                Name::Dynamic(key, prefix)
            }
        };
        if prefix != 0 {
            name = name.prefixed(prefix_text);
        }
        let closure = self.temp();
        self.at(m.span.start);
        self.method_closure(&m.value, &name, closure, m.span);
        self.op(Opcode::SetHomeObject, &[closure, target]);
        if matches!(name, Name::Dynamic(..)) {
            self.op(Opcode::SetFunctionName, &[closure, key, prefix]);
        }
        self.at(m.span.start);
        self.op(op, &[target, key, closure, 0]);
    }

    /// Makes the function that initialises instance fields or runs static elements.
    fn initializer(&mut self, c: &Class<'a>, plan: &ClassPlan, is_static: bool, dst: Reg) {
        let which = if is_static { tag::STATICS } else { tag::FIELDS };
        let body = if is_static { Body::Statics(c, plan) } else { Body::Fields(c, plan) };
        let index = self.compile_function(&Spec {
            scope: self.scope_of(addr(c), which),
            body_scope: NONE,
            params: None,
            body,
            name: JsStr::from(if is_static { "<static_initializer>" } else { "<instance_members_initializer>" }),
            kind: FunctionKind::FieldInitializer,
            suspension: Suspension::None,
            strict: true,
            span: Span::new(c.span.start, c.span.end),
            run_fields: false,
        });
        let constant = self.f.asm.constant(Constant::Function(index));
        let env = self.current_env();
        self.op(Opcode::NewClosure, &[dst, constant, env]);
    }

    /// The code of an initializer function.
    pub fn field_code(&mut self, c: &Class<'a>, plan: &ClassPlan, is_static: bool) {
        if !is_static {
            for (i, element) in c.body.body.iter().enumerate() {
                if let (ClassElement::MethodDefinition(m), Some(binding)) = (element, plan.hidden[i])
                    && let PropertyKey::PrivateIdentifier(id) = &m.key
                {
                    let mark = self.top();
                    let kind = match m.kind {
                        MethodDefinitionKind::Get => 1,
                        MethodDefinitionKind::Set => 2,
                        _ => 0,
                    };
                    let this = self.this_register(m.span.start);
                    let name = self.private_name_register(id);
                    let method = self.temp();
                    let var = self.var(binding, u32::MAX);
                    self.load_var(&var, method);
                    self.op(Opcode::DefinePrivateMethod, &[this, name, method, kind]);
                    self.free(mark);
                }
            }
        }
        for (i, element) in c.body.body.iter().enumerate() {
            let mark = self.top();
            match element {
                ClassElement::PropertyDefinition(p) if p.r#static == is_static => self.field(p, plan.hidden[i]),
                ClassElement::StaticBlock(b) if is_static => {
                    let scope = self.scope_of(addr(&**b), tag::BLOCK);
                    self.static_block(scope, &b.body);
                }
                _ => {}
            }
            self.free(mark);
        }
        self.op(Opcode::ReturnUndefined, &[]);
    }

    fn static_block(&mut self, scope: ScopeIdx, statements: &[Statement<'a>]) {
        let mark = self.top();
        self.enter_scope(scope);
        let undefined = self.temp();
        self.op(Opcode::LoadUndefined, &[undefined]);
        for i in 0..self.an.scopes[scope as usize].bindings.len() {
            let binding = self.an.scopes[scope as usize].bindings[i];
            let b = &self.an.bindings[binding as usize];
            if b.captured && matches!(b.kind, BindKind::Var | BindKind::Function) {
                self.init_binding(binding, undefined);
            }
        }
        self.hoist_functions(statements);
        for statement in statements {
            self.statement(statement);
        }
        self.leave_scope(scope);
        self.free(mark);
    }

    fn field(&mut self, p: &PropertyDefinition<'a>, hidden: Option<BindIdx>) {
        let this = self.this_register(p.span.start);
        let (key, name) = match (&p.key, hidden) {
            (PropertyKey::PrivateIdentifier(id), _) => {
                let key = self.private_name_register(id);
                (key, Name::Static(JsStr::from(format!("#{}", id.name).as_str())))
            }
            (_, Some(binding)) => {
                let key = self.temp();
                let var = self.var(binding, u32::MAX);
                self.load_var(&var, key);
                (key, Name::Dynamic(key, 0))
            }
            (other, None) => {
                let key = self.temp();
                match static_key(other, false) {
                    Some(fixed) => {
                        self.load_key(&fixed, key);
                        (key, Name::Static(Key::function_name(&fixed)))
                    }
                    None => {
                        self.property_key_into(other, key);
                        (key, Name::Dynamic(key, 0))
                    }
                }
            }
        };
        let value = match &p.value {
            Some(e) => self.named_expr(e, name),
            None => {
                let temp = self.temp();
                self.op(Opcode::LoadUndefined, &[temp]);
                temp
            }
        };
        self.at(p.span.start);
        self.op(Opcode::DefineField, &[this, key, value]);
    }
}
