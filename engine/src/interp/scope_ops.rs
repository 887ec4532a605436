//! `with` environments, names looked up at run time, direct eval, imports.
//!
//! A `with` environment is an `Environment` cell with one slot, the object, and header byte 2 set.

use super::*;
use crate::bytecode::template::SourceKind;
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Sym};
use crate::objects::Key;
use crate::realm::{Completion, Realm};
use crate::value::Value;

impl Realm {
    pub(crate) fn new_with_environment(&mut self, parent: Value, object: Value) -> Completion {
        let object = self.to_object(object)?;
        let environment = self.new_environment(parent, 1)?;
        let cell = environment.as_ref();
        self.cage.init(cell.0 + 2, 1u8);
        self.cage.init(cell.0 + 16, Value::object(object).0);
        Ok(environment)
    }

    /// The binding object of an object environment.
    fn binding_object(&self, environment: Ref) -> Option<Ref> {
        let has_object = self.cage.get::<u8>(environment, 2) == 1 && self.cage.u32(environment, 4) > 0;
        if has_object { Value(self.cage.get(environment, 16)).to_object_ref() } else { None }
    }

    /// The innermost `with` object on the chain that has `name` and does not hide it (9.1.1.2.1).
    fn with_object(&mut self, environment: Value, name: Value) -> Completion<Option<Ref>> {
        let key = self.key_of_interned(name.as_ref());
        let mut at = if environment.is_cell() { environment.as_ref() } else { Ref::NULL };
        while !at.is_null() {
            if let Some(object) = self.binding_object(at)
                && self.with_has(object, key)?
            {
                return Ok(Some(object));
            }
            at = self.cage.r(at, 8);
        }
        Ok(None)
    }

    /// HasBinding of an object environment (9.1.1.2.1).
    fn with_has(&mut self, object: Ref, key: Key) -> Completion<bool> {
        if !self.has_property(object, key)? {
            return Ok(false);
        }
        let unscopables = Key::Name(self.symbol(Sym::Unscopables));
        let list = self.get(object, unscopables)?;
        let Some(list) = list.to_object_ref() else { return Ok(true) };
        let hidden = self.get(list, key)?;
        Ok(!self.to_boolean(hidden))
    }

    /// Whether the object environment `hops` above `environment` has `name`.
    pub(crate) fn dynamic_has(&mut self, environment: Value, hops: u32, name: Value) -> Completion {
        let key = self.key_of_interned(name.as_ref());
        let mut at = if environment.is_cell() { environment.as_ref() } else { Ref::NULL };
        for _ in 0..hops {
            if at.is_null() {
                break;
            }
            at = self.cage.r(at, 8);
        }
        let object = at.some().and_then(|at| self.binding_object(at));
        Ok(Value::boolean(object.map_or(Ok(false), |object| self.with_has(object, key))?))
    }

    pub(crate) fn dynamic_get(&mut self, environment: Value, name: Value, type_of: bool) -> Completion {
        let value = match self.with_object(environment, name)? {
            Some(object) => {
                let key = self.key_of_interned(name.as_ref());
                self.get(object, key)?
            }
            None => self.get_global(name.as_ref(), 0, type_of)?,
        };
        Ok(if type_of { self.name_value(self.type_of(value)) } else { value })
    }

    pub(crate) fn dynamic_set(&mut self, environment: Value, name: Value, value: Value, fp: u32) -> Completion<()> {
        match self.with_object(environment, name)? {
            Some(object) => {
                let key = self.key_of_interned(name.as_ref());
                if !self.set_with_receiver(object, key, value, Value::object(object))? && self.frame_is_strict(fp) {
                    return Err(self.throw_read_only(Value::object(object), key));
                }
                Ok(())
            }
            None => self.set_global(name.as_ref(), value, 0, fp),
        }
    }

    pub(crate) fn dynamic_delete(&mut self, environment: Value, name: Value) -> Completion {
        match self.with_object(environment, name)? {
            Some(object) => {
                let key = self.key_of_interned(name.as_ref());
                Ok(Value::boolean(self.delete_property(object, key)?))
            }
            None => self.delete_global(name.as_ref()),
        }
    }

    pub(crate) fn dynamic_callee(&mut self, environment: Value, name: Value) -> Completion<(Value, Value)> {
        match self.with_object(environment, name)? {
            Some(object) => {
                let key = self.key_of_interned(name.as_ref());
                Ok((self.get(object, key)?, Value::object(object)))
            }
            None => Ok((self.get_global(name.as_ref(), 0, false)?, Value::UNDEFINED)),
        }
    }

    /// PerformEval (19.2.1.1) for a direct eval in the frame at `fp`.
    pub(crate) fn direct_eval(
        &mut self,
        fp: u32,
        block: u32,
        argc: u32,
        environment: Value,
        scope: Value,
    ) -> Completion {
        let source = if argc == 0 { Value::UNDEFINED } else { Value(self.cage.read(block + HEADER_BYTES)) };
        if !source.is_string() {
            return Ok(source);
        }
        let info = self.read_scope_info(scope);
        let text = self.string_text(source.as_ref())?;
        let script = self.compile_source(&text, "<eval>", &SourceKind::DirectEval(std::rc::Rc::new(info)))?;
        let templates = self.install(&script)?;
        // Vars of an eval outside of functions are globals.
        self.instantiate_globals(&script.globals, templates, true)?;
        let template = Value(self.cage.get(templates, 8)).as_ref();
        let closure = self.new_closure(template, environment, fp)?;
        // Eval code shares the caller's this and home object.
        let callee = Value(self.cage.read(fp - CALLEE)).as_ref();
        let home = self.cage.r(callee, crate::objects::function::HOME_OBJECT);
        self.cage.set(closure.as_ref(), crate::objects::function::HOME_OBJECT, home.0);
        let this = Value(self.cage.read(fp - THIS));
        self.call(closure, this, &[])
    }

    fn read_scope_info(&mut self, scope: Value) -> crate::bytecode::template::ScopeInfo {
        use crate::bytecode::template::{BindingMode, JsStr, ScopeEnvironment, ScopeInfo};
        let list = scope.as_ref();
        let at = |i: u32| Value(self.cage.get(list, 8 + 8 * i));
        let bits = at(0).as_int();
        let mut info = ScopeInfo {
            environments: Vec::new(),
            strict: bits & 1 != 0,
            in_function: bits & 2 != 0,
            in_method: bits & 4 != 0,
            in_derived_constructor: bits & 8 != 0,
            in_class_field: bits & 16 != 0,
        };
        let mut i = 2;
        for _ in 0..at(1).as_int() {
            let (flags, count) = (at(i).as_int(), at(i + 1).as_int());
            i += 2;
            let mut environment =
                ScopeEnvironment { names: Vec::new(), is_with: flags & 1 != 0, is_var_scope: flags & 2 != 0 };
            for _ in 0..count {
                let name = JsStr::from_units(&self.view_flat(at(i).as_ref()).to_units());
                let packed = at(i + 1).as_int();
                let mode = match packed >> 16 {
                    0 => BindingMode::Var,
                    1 => BindingMode::Let,
                    2 => BindingMode::Const,
                    3 => BindingMode::FunctionName,
                    _ => BindingMode::Import,
                };
                environment.names.push((name, packed as u16, mode));
                i += 2;
            }
            info.environments.push(environment);
        }
        info
    }

    /// Value of an imported binding: the reference is a `Values` cell (environment, slot), or a namespace object.
    pub(crate) fn read_import(&mut self, reference: Value, name: Value) -> Completion {
        if !reference.is_cell() {
            if reference.is_hole() {
                return Err(self.throw_uninitialized(name));
            }
            return Ok(reference);
        }
        let reference = self.ref_of_kind(reference, Kind::Values).filter(|&r| self.cage.u32(r, 4) >= 2);
        let slot = reference.and_then(|reference| {
            let slot = Value(self.cage.get(reference, 16)).as_int() as u16;
            self.environment_slot(Value(self.cage.get(reference, 8)), 0, slot)
        });
        let Some(slot) = slot else { return Err(self.throw_damaged_code()) };
        let value = Value(self.cage.read(slot));
        if value.is_hole() {
            return Err(self.throw_uninitialized(name));
        }
        Ok(value)
    }

    /// Compiles with the realm's compiler and makes the cells: the list of templates.
    ///
    /// # Errors
    /// SyntaxError, RangeError for limits; EvalError-like TypeError where the realm has no compiler.
    pub fn compile_and_install(&mut self, source: &str, name: &str, kind: &SourceKind) -> Completion<Ref> {
        let script = self.compile_source(source, name, kind)?;
        self.install(&script)
    }

    pub(crate) fn compile_source(
        &mut self,
        source: &str,
        name: &str,
        kind: &SourceKind,
    ) -> Completion<crate::bytecode::template::CompiledScript> {
        let Some(compiler) = self.compiler.clone() else {
            return Err(self.throw_new(
                Intrinsic::EvalErrorPrototype,
                "this realm has no compiler: only code from its snapshot can run",
            ));
        };
        match compiler.compile(source, name, kind) {
            Ok(script) => Ok(script),
            Err(error) => {
                let prototype =
                    if error.is_limit { Intrinsic::RangeErrorPrototype } else { Intrinsic::SyntaxErrorPrototype };
                let text = format!("{} ({name}:{}:{})", error.message, error.line, error.column);
                Err(self.throw_new(prototype, &text))
            }
        }
    }

    /// Whether `object` is a closure (for callers outside this module).
    pub fn is_closure(&self, object: Ref) -> bool {
        self.cage.is(object, Kind::Function)
    }
}
