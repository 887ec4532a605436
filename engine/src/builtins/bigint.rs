//! BigInt (ECMA-262 6.1.6.2, 21.2).

use super::*;
use crate::interp::arith::Operator;

builtin_table! { 11;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}

impl Realm {
    pub(crate) fn bigint_operator(&mut self, _operator: Operator, _a: Ref, _b: Ref) -> Completion {
        Err(self.throw_type("BigInt is not available"))
    }

    pub(crate) fn bigint_not(&mut self, _a: Ref) -> Completion {
        Err(self.throw_type("BigInt is not available"))
    }

    pub(crate) fn bigint_less_than(&mut self, _a: Value, _b: Value) -> Completion<Option<bool>> {
        Err(self.throw_type("BigInt is not available"))
    }

    pub(crate) fn bigint_loosely_equal(&mut self, _a: Value, _b: Value) -> Completion<bool> {
        Err(self.throw_type("BigInt is not available"))
    }

    pub(crate) fn bigint_to_text(&mut self, _a: Ref, _radix: u32) -> Completion<String> {
        Err(self.throw_type("BigInt is not available"))
    }
}
