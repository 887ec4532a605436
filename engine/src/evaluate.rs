//! Evaluating scripts (ECMA-262 16.1): global declarations, then the top-level code.

use crate::bytecode::template::{CompiledScript, GlobalDeclarations, JsStr, SourceKind};
use crate::cage::Ref;
use crate::names::Intrinsic;
use crate::objects::{Descriptor, Key};
use crate::realm::{Completion, Realm};
use crate::shapes::{CONFIGURABLE, ENUMERABLE, GLOBAL_CELL, WRITABLE};
use crate::value::Value;

impl Realm {
    /// Compiles and runs `source` as `kind` says (script or indirect eval); the completion value.
    ///
    /// # Errors
    /// SyntaxError; whatever the code throws.
    pub fn evaluate(&mut self, source: &str, name: &str, kind: &SourceKind) -> Completion {
        self.enter(|realm| {
            let script = realm.compile_source(source, name, kind)?;
            let deletable = matches!(kind, SourceKind::IndirectEval);
            realm.run_script(&script, deletable)
        })
    }

    /// ScriptEvaluation (16.1.6) of compiled code.
    ///
    /// # Errors
    /// SyntaxError for clashing declarations; whatever the code throws.
    pub fn run_script(&mut self, script: &CompiledScript, deletable: bool) -> Completion {
        let templates = self.install(script)?;
        self.instantiate_globals(&script.globals, templates, deletable)?;
        let top = Value(self.cage.get(templates, 8)).as_ref();
        let closure = self.new_closure(top, Value::UNDEFINED, 0)?;
        let this = Value::object(self.global());
        self.call(closure, this, &[])
    }

    /// GlobalDeclarationInstantiation (16.1.7).
    pub(crate) fn instantiate_globals(
        &mut self,
        globals: &GlobalDeclarations,
        templates: Ref,
        deletable: bool,
    ) -> Completion<()> {
        let global = self.global();
        let lexicals = self.intrinsic(Intrinsic::GlobalLexicals);
        for (name, _) in &globals.lexicals {
            let key = self.global_key(name)?;
            let taken = self.has_own_property(lexicals, key)?
                || self.get_own_property(global, key)?.is_some_and(|own| !own.configurable());
            if taken {
                return Err(self.throw_redeclaration(key));
            }
        }
        for name in globals.vars.iter().chain(globals.functions.iter().map(|(name, _)| name)) {
            let key = self.global_key(name)?;
            if self.has_own_property(lexicals, key)? {
                return Err(self.throw_redeclaration(key));
            }
        }
        for (name, _) in &globals.functions {
            let key = self.global_key(name)?;
            if !self.can_declare_global_function(global, key)? {
                let text = self.key_text(key);
                return Err(self.throw_type(&format!("Cannot declare global function '{text}'")));
            }
        }
        for name in globals.vars.iter().chain(&globals.annex_b) {
            let key = self.global_key(name)?;
            if self.has_own_property(lexicals, key)? {
                continue;
            }
            if !self.has_own_property(global, key)? {
                if !self.is_extensible(global)? {
                    let text = self.key_text(key);
                    return Err(self.throw_type(&format!("Cannot declare global variable '{text}'")));
                }
                let attributes = WRITABLE | ENUMERABLE | if deletable { CONFIGURABLE } else { 0 };
                self.define_data(global, key, Value::UNDEFINED, attributes)?;
            }
        }
        for (name, is_const) in &globals.lexicals {
            let Key::Name(name) = self.global_key(name)? else { continue };
            let cell = self.new_property_cell(name, Value::HOLE)?;
            let attributes = if *is_const { ENUMERABLE } else { ENUMERABLE | WRITABLE };
            self.add_property(lexicals, name, Value::cell(cell), attributes | GLOBAL_CELL)?;
            // A cached cell of a global object's property of this name must not be used any more.
            self.shadow_global(name)?;
        }
        for (name, index) in &globals.functions {
            let key = self.global_key(name)?;
            let template = Value(self.cage.get(templates, 8 + 8 * index)).as_ref();
            let function = self.new_closure(template, Value::UNDEFINED, 0)?;
            let current = self.get_own_property(global, key)?;
            let d = if current.is_none_or(|own| own.configurable()) {
                let attributes = WRITABLE | ENUMERABLE | if deletable { CONFIGURABLE } else { 0 };
                Descriptor::data(function, attributes)
            } else {
                Descriptor { value: Some(function), ..Default::default() }
            };
            self.define_or_throw(global, key, &d)?;
        }
        Ok(())
    }

    fn global_key(&mut self, name: &JsStr) -> Completion<Key> {
        let name = self.intern_js_str(name)?;
        Ok(self.key_of_interned(name))
    }

    fn can_declare_global_function(&mut self, global: Ref, key: Key) -> Completion<bool> {
        match self.get_own_property(global, key)? {
            None => self.is_extensible(global),
            Some(own) => Ok(own.configurable()
                || !own.is_accessor() && own.attributes & (WRITABLE | ENUMERABLE) == WRITABLE | ENUMERABLE),
        }
    }

    /// Moves a global object's property of this name to a new cell, leaving a hole in the old one, so that
    /// caches filled before the lexical declaration miss.
    fn shadow_global(&mut self, name: Ref) -> Completion<()> {
        let global = self.global();
        let shape = self.shape_of(global);
        if let Some(slot) = self.shape_lookup(shape, name)?
            && slot.attributes & GLOBAL_CELL != 0
        {
            let old = self.read_slot(global, shape, slot.number).as_ref();
            let value = Value(self.cage.get(old, 8));
            let cell = self.new_property_cell(name, value)?;
            self.write_slot(global, shape, slot.number, Value::cell(cell));
            self.cage.set(old, 8, Value::HOLE.0);
        }
        Ok(())
    }

    #[cold]
    fn throw_redeclaration(&mut self, key: Key) -> crate::realm::Throw {
        let text = self.key_text(key);
        self.throw_syntax(&format!("Identifier '{text}' has already been declared"))
    }
}
