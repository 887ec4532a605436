//! RegExp (ECMA-262 22.2).

use super::*;

builtin_table! { 10;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}

impl Realm {
    /// A RegExp literal's object.
    pub(crate) fn new_regexp_literal(&mut self, _source: Value, _flags: Value) -> Completion {
        Err(self.throw_type("regular expressions are not available"))
    }
}
