//! Proxy (ECMA-262 10.5, 28.2) and Reflect (28.1).

use super::*;
use crate::objects::{Descriptor, Key, OwnProperty};

/// Header flag: the target is callable.
pub const CALLABLE: u8 = 1;
/// Header flag: the target is a constructor.
pub const CONSTRUCTOR: u8 = 2;

builtin_table! { 8;
}

pub(crate) fn install(_realm: &mut Realm) -> Completion<()> {
    Ok(())
}

impl Realm {
    fn no_proxy<T>(&mut self) -> Completion<T> {
        Err(self.throw_type("Proxy is not available"))
    }
    pub(crate) fn proxy_get_own_property(&mut self, _p: Ref, _k: Key) -> Completion<Option<OwnProperty>> {
        self.no_proxy()
    }
    pub(crate) fn proxy_get_prototype_of(&mut self, _p: Ref) -> Completion<Ref> {
        self.no_proxy()
    }
    pub(crate) fn proxy_set_prototype_of(&mut self, _p: Ref, _v: Ref) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_is_extensible(&mut self, _p: Ref) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_prevent_extensions(&mut self, _p: Ref) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_has(&mut self, _p: Ref, _k: Key) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_get(&mut self, _p: Ref, _k: Key, _r: Value) -> Completion {
        self.no_proxy()
    }
    pub(crate) fn proxy_set(&mut self, _p: Ref, _k: Key, _v: Value, _r: Value) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_define_own_property(&mut self, _p: Ref, _k: Key, _d: &Descriptor) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_delete(&mut self, _p: Ref, _k: Key) -> Completion<bool> {
        self.no_proxy()
    }
    pub(crate) fn proxy_own_keys(&mut self, _p: Ref) -> Completion<Ref> {
        self.no_proxy()
    }
    pub(crate) fn proxy_call(&mut self, _p: Ref, _this: Value, _args: Args) -> Completion {
        self.no_proxy()
    }
    pub(crate) fn proxy_construct(&mut self, _p: Ref, _args: Args) -> Completion {
        self.no_proxy()
    }
}
