//! zjs itself. A realm comes from a snapshot in which the program is frozen (`Pool`, `FreshMapping`,
//! `Interpreter`), or it is a bare realm in which the program's source is evaluated (`Source`).
//!
//! `load` is the embedder's build step and its opening of the file; both are outside every timed section
//! and reported beside.

use crate::peer::{Peer, PeerError, Program, Realm};

/// How realms come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// From the pool of slots, native code on.
    Pool,
    /// A fresh mapping for every realm, native code on.
    FreshMapping,
    /// From the pool of slots, native code off.
    Interpreter,
    /// Bare realms from the pool of slots; the program is evaluated in each.
    Source,
}

/// zjs with one setting.
pub struct Zjs {
    _setting: Setting,
}

impl Zjs {
    /// Not there yet: the loader is not on this branch.
    pub fn new(_setting: Setting) -> Result<Zjs, PeerError> {
        Err(PeerError::Unavailable {
            peer: "zjs".into(),
            reason: "the loader is not built yet".into(),
            remedy: "complete bench/src/peers/zjs.rs".into(),
        })
    }
}

impl Peer for Zjs {
    type Realm<'p> = ZjsRealm;

    fn version(&self) -> String {
        format!("zjs {}", env!("CARGO_PKG_VERSION"))
    }

    fn load(&mut self, _program: Program) -> Result<String, PeerError> {
        unreachable!("`new` fails")
    }

    fn realm(&self) -> Result<ZjsRealm, PeerError> {
        unreachable!("`new` fails")
    }
}

/// A realm of zjs.
pub struct ZjsRealm;

impl Realm for ZjsRealm {
    fn eval(&mut self, _source: &str) -> Result<f64, PeerError> {
        unreachable!("`new` fails")
    }

    fn call(&mut self, _function: &str, _jobs: u32, _lane: u32) -> Result<f64, PeerError> {
        unreachable!("`new` fails")
    }
}
