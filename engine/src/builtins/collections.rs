//! Map, Set, WeakMap, WeakSet, WeakRef, FinalizationRegistry (ECMA-262 24, 26).

use super::*;

builtin_table! { 7;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}
