//! DisposableStack and AsyncDisposableStack (explicit resource management).

use super::*;

builtin_table! { 24;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}
