//! Modules (ECMA-262 16.2): linking, evaluation, namespaces, dynamic import.

use super::*;
use crate::objects::{Descriptor, Key, OwnProperty};

builtin_table! { 13;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}

impl Realm {
    pub(crate) fn namespace_own_property(&mut self, _n: Ref, _name: Ref) -> Completion<Option<OwnProperty>> {
        Ok(None)
    }
    pub(crate) fn namespace_has(&mut self, _n: Ref, _k: Key) -> Completion<bool> {
        Ok(false)
    }
    pub(crate) fn namespace_define_own_property(&mut self, _n: Ref, _k: Key, _d: &Descriptor) -> Completion<bool> {
        Ok(false)
    }
    pub(crate) fn namespace_delete(&mut self, _n: Ref, _k: Key) -> Completion<bool> {
        Ok(false)
    }
    pub(crate) fn namespace_own_keys(&mut self, _n: Ref) -> Completion<Ref> {
        self.new_values(0, Value::UNDEFINED)
    }
    pub(crate) fn import_call(&mut self, _fp: u32, _specifier: Value, _options: Value) -> Completion {
        Err(self.throw_type("import() is not available"))
    }
    pub(crate) fn import_meta(&mut self, _fp: u32) -> Completion {
        Err(self.throw_type("import.meta is not available"))
    }
}

impl Realm {
    /// Compiles, links and evaluates a module: the promise of its evaluation.
    ///
    /// # Errors
    /// SyntaxError; what linking throws.
    pub fn evaluate_module(&mut self, _source: &str, _name: &str) -> Completion {
        Err(self.throw_type("modules are not available"))
    }
}
