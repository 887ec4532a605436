//! ArrayBuffer, typed arrays, DataView (ECMA-262 23.2, 25.1, 25.3).

use super::*;
use crate::objects::{Descriptor, Key};

builtin_table! { 9;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}

impl Realm {
    /// Current length in elements; `None` when detached or out of bounds.
    pub(crate) fn typed_array_length(&self, _a: Ref) -> Option<u32> {
        None
    }
    /// Element `index`, if it is a valid one.
    pub(crate) fn typed_array_element(&mut self, _a: Ref, _index: u32) -> Option<Value> {
        None
    }
    /// `a[index] = value` for an integer index: converts, then stores if the index is valid.
    pub(crate) fn typed_array_store(&mut self, _a: Ref, _index: u32, _value: Value) -> Completion<()> {
        Ok(())
    }
    /// [[HasProperty]] for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_has(&mut self, _a: Ref, _k: Key) -> Completion<Option<bool>> {
        Ok(None)
    }
    /// [[Get]] for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_get(&mut self, _a: Ref, _k: Key) -> Completion<Option<Value>> {
        Ok(None)
    }
    /// [[Set]] for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_set(&mut self, _a: Ref, _k: Key, _v: Value, _r: Value) -> Completion<Option<bool>> {
        Ok(None)
    }
    /// [[DefineOwnProperty]] for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_define(&mut self, _a: Ref, _k: Key, _d: &Descriptor) -> Completion<Option<bool>> {
        Ok(None)
    }
    /// IsTypedArrayFixedLength (10.4.5.15).
    pub(crate) fn typed_array_has_fixed_length(&self, _a: Ref) -> bool {
        true
    }
}
