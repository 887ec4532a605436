//! Values that cross between host and realm.

use std::fmt;

/// A JavaScript value on the host side. Strings are copied; objects stay in the realm and are named by a
/// handle that is valid until the realm is dropped or reset.
#[derive(Clone, Debug, PartialEq)]
pub enum HostValue {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    String(String),
    /// An object of the realm; see [`crate::Realm::get_property`].
    Object(ObjectHandle),
    /// A symbol or BigInt: shown as text, cannot be passed back.
    Other(String),
}

/// Names an object of one life of one realm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectHandle {
    pub(crate) index: u32,
    pub(crate) life: u64,
}

impl fmt::Display for HostValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostValue::Undefined => f.write_str("undefined"),
            HostValue::Null => f.write_str("null"),
            HostValue::Bool(b) => write!(f, "{b}"),
            HostValue::Number(n) => f.write_str(&zjs_engine::builtins::number_support::number_to_text(*n)),
            HostValue::String(s) => f.write_str(s),
            HostValue::Object(_) => f.write_str("[object]"),
            HostValue::Other(s) => f.write_str(s),
        }
    }
}

impl From<&str> for HostValue {
    fn from(s: &str) -> Self {
        HostValue::String(s.into())
    }
}

impl From<String> for HostValue {
    fn from(s: String) -> Self {
        HostValue::String(s)
    }
}

impl From<f64> for HostValue {
    fn from(n: f64) -> Self {
        HostValue::Number(n)
    }
}

impl From<i32> for HostValue {
    fn from(n: i32) -> Self {
        HostValue::Number(f64::from(n))
    }
}

impl From<bool> for HostValue {
    fn from(b: bool) -> Self {
        HostValue::Bool(b)
    }
}
