//! Names that are decided at run time: `with`, direct eval, and code compiled inside an eval.
//!
//! A name that resolves statically behind a `with` object or a variable object is looked for in these
//! objects first (`DynamicHas`), innermost first; a name that resolves nowhere goes through `DynamicGet`
//! and its siblings, which end at the global object.

use std::rc::Rc;

use zjs_engine::bytecode::opcode::Opcode;
use zjs_engine::bytecode::template::*;

use crate::codegen::{Codegen, Dynamic, Place, Var};
use crate::emit::Reg;
use crate::scope::*;

impl<'a> Codegen<'a> {
    /// The object environments between the current place and `target` (`NONE`: all of them).
    pub fn dynamic_between(&mut self, target: ScopeIdx) -> Vec<Dynamic> {
        if !self.an.has_dynamic {
            return Vec::new();
        }
        let mut found = Vec::new();
        let mut at = self.scope();
        let mut hops = 0u16;
        let mut outside = false;
        while at != NONE {
            let scope = &self.an.scopes[at as usize];
            if !outside && scope.func != self.f.func {
                outside = true;
                hops = 0;
            }
            let (kind, var_object, own_hops, parent) = (scope.kind, scope.var_object, scope.env_hops(), scope.parent);
            if at == target {
                // Names of the scope itself win over what an eval added to its variable object.
                return found;
            }
            if kind == ScopeKind::With || var_object {
                if outside {
                    let env = self.fenv();
                    found.push(Dynamic { env, hops, is_vars: var_object });
                } else if let Some(&(_, env)) = self.f.envs.iter().rfind(|&&(s, _)| s == at) {
                    found.push(Dynamic { env, hops: 0, is_vars: var_object });
                }
            }
            if outside {
                hops += own_hops;
            }
            at = parent;
        }
        found
    }

    /// A name that the source itself does not declare.
    pub fn outer_var(&mut self, name: &'a str) -> Var<'a> {
        Var { name, ..self.outer_var_named(name) }
    }

    /// `outer_var` for a name that does not live long; the result's name is empty.
    pub fn outer_var_named(&mut self, wanted: &str) -> Var<'a> {
        let name = "";
        let mut dynamic = self.dynamic_between(NONE);
        if let Some(info) = self.outer.clone() {
            // Hops from this function's environment to the one around the eval.
            let mut base = 0u16;
            let mut at = self.an.funcs[self.f.func as usize].scope;
            at = if at == NONE { NONE } else { self.an.scopes[at as usize].parent };
            while at != NONE {
                base += self.an.scopes[at as usize].env_hops();
                at = self.an.scopes[at as usize].parent;
            }
            for (i, environment) in info.environments.iter().enumerate() {
                let hops = base + i as u16;
                if environment.is_with {
                    let env = self.fenv();
                    dynamic.push(Dynamic { env, hops, is_vars: environment.is_var_scope });
                    continue;
                }
                let units = JsStr::from(wanted);
                if let Some((_, slot, mode)) = environment.names.iter().find(|(n, _, _)| *n == units) {
                    let env = self.fenv();
                    let place = Place::Env { env, hops, slot: *slot };
                    let (kind, check) = match mode {
                        BindingMode::Var => (BindKind::Var, false),
                        BindingMode::Let => (BindKind::Let, true),
                        BindingMode::Const => (BindKind::Const, true),
                        BindingMode::FunctionName => (BindKind::FunctionName, false),
                        BindingMode::Import => (BindKind::Import, false),
                    };
                    return Var { name, place, kind, check, dynamic };
                }
            }
        }
        Var { name, place: Place::Global, kind: BindKind::Var, check: false, dynamic }
    }

    fn without_dynamic(var: &Var<'a>) -> Var<'a> {
        Var { dynamic: Vec::new(), ..var.clone() }
    }

    /// Emits the search of the object environments: `found` runs with the one that has the name,
    /// `otherwise` when none has it.
    fn search(
        &mut self,
        var: &Var<'a>,
        found: &mut dyn FnMut(&mut Self, Reg, bool),
        otherwise: &mut dyn FnMut(&mut Self, &Var<'a>),
    ) {
        let name = self.f.asm.name(var.name);
        let done = self.label();
        for &Dynamic { env, hops, is_vars } in &var.dynamic {
            let next = self.label();
            let mark = self.top();
            let has = self.temp();
            self.op(Opcode::DynamicHas, &[has, env, hops, name]);
            self.jump(Opcode::JumpIfFalse, &[has], next);
            self.free(mark);
            found(self, env, is_vars);
            self.jump(Opcode::Jump, &[], done);
            self.bind(next);
        }
        let plain = Self::without_dynamic(var);
        otherwise(self, &plain);
        self.bind(done);
    }

    pub fn load_dynamic(&mut self, var: &Var<'a>, dst: Reg) {
        let name = self.f.asm.name(var.name);
        if var.place == Place::Global {
            let env = self.current_env();
            return self.op(Opcode::DynamicGet, &[dst, env, name]);
        }
        self.search(var, &mut |me, env, _| me.op(Opcode::DynamicGet, &[dst, env, name]), &mut |me, plain| {
            me.load_var(plain, dst)
        });
    }

    pub fn store_dynamic(&mut self, var: &Var<'a>, src: Reg) {
        let name = self.f.asm.name(var.name);
        if var.place == Place::Global {
            let env = self.current_env();
            return self.op(Opcode::DynamicSet, &[env, name, src]);
        }
        self.search(var, &mut |me, env, _| me.op(Opcode::DynamicSet, &[env, name, src]), &mut |me, plain| {
            me.store_var(plain, src)
        });
    }

    /// `typeof name`.
    pub fn typeof_dynamic(&mut self, var: &Var<'a>, dst: Reg) {
        let name = self.f.asm.name(var.name);
        if var.place == Place::Global {
            let env = self.current_env();
            return self.op(Opcode::DynamicTypeOf, &[dst, env, name]);
        }
        self.load_dynamic(var, dst);
        self.op(Opcode::TypeOf, &[dst, dst]);
    }

    /// `delete name`.
    pub fn delete_dynamic(&mut self, var: &Var<'a>, dst: Reg) {
        let name = self.f.asm.name(var.name);
        if var.place == Place::Global {
            let env = self.current_env();
            return self.op(Opcode::DynamicDelete, &[dst, env, name]);
        }
        self.search(var, &mut |me, env, _| me.op(Opcode::DynamicDelete, &[dst, env, name]), &mut |me, _| {
            me.op(Opcode::LoadFalse, &[dst])
        });
    }

    /// Callee and this of a call of `name` into the block at `base`.
    pub fn callee_dynamic(&mut self, var: &Var<'a>, base: Reg) {
        let name = self.f.asm.name(var.name);
        // A variable object is not passed as `this`.
        if var.place == Place::Global && !var.dynamic.iter().any(|d| d.is_vars) {
            let env = self.current_env();
            return self.op(Opcode::DynamicCallee, &[base, env, name]);
        }
        self.search(
            var,
            &mut |me, env, is_vars| {
                me.op(Opcode::DynamicCallee, &[base, env, name]);
                if is_vars {
                    me.op(Opcode::LoadUndefined, &[base + 5]);
                }
            },
            &mut |me, plain| {
                me.load_var(plain, base + 4);
                me.op(Opcode::LoadUndefined, &[base + 5]);
            },
        );
    }

    /// What a direct eval at the current place can see.
    pub fn scope_info(&mut self) -> Rc<ScopeInfo> {
        let mut info = ScopeInfo { strict: self.strict(), ..ScopeInfo::default() };
        let mut at = self.scope();
        while at != NONE {
            let scope = &self.an.scopes[at as usize];
            if scope.var_object {
                info.environments.push(ScopeEnvironment { is_with: true, is_var_scope: true, ..Default::default() });
            }
            if scope.kind == ScopeKind::With {
                info.environments.push(ScopeEnvironment { is_with: true, ..Default::default() });
            } else if scope.env_slots > 0 {
                let mut names = Vec::new();
                for &binding in &scope.bindings {
                    let b = &self.an.bindings[binding as usize];
                    if !b.captured || b.global {
                        continue;
                    }
                    let mode = match b.kind {
                        BindKind::Import => BindingMode::Import,
                        _ if b.kind.is_const() => BindingMode::Const,
                        BindKind::FunctionName => BindingMode::FunctionName,
                        _ if b.tdz => BindingMode::Let,
                        _ => BindingMode::Var,
                    };
                    names.push((JsStr::from(b.name), b.slot, mode));
                }
                info.environments.push(ScopeEnvironment { names, is_with: false, is_var_scope: false });
            }
            at = scope.parent;
        }
        // What the caller may say, from the nearest function that is no arrow.
        let mut func = self.f.func;
        while self.an.funcs[func as usize].is_arrow && self.an.funcs[func as usize].parent != NONE {
            func = self.an.funcs[func as usize].parent;
        }
        let f = &self.an.funcs[func as usize];
        info.in_function = !f.is_top;
        info.in_derived_constructor = f.is_derived;
        info.in_class_field = f.is_field_init;
        info.in_method = f.is_derived
            || f.is_field_init
            || matches!(self.f.kind, FunctionKind::Method | FunctionKind::ClassConstructor);
        if let Some(outer) = &self.outer {
            if f.is_top {
                info.in_function = outer.in_function;
                info.in_method = outer.in_method;
                info.in_derived_constructor = outer.in_derived_constructor;
                info.in_class_field = outer.in_class_field;
            }
            info.environments.extend(outer.environments.iter().cloned());
        }
        Rc::new(info)
    }
}
