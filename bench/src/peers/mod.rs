//! The engines that can be measured, each with its choices of settings.
//!
//! Invariant: a peer's name is its only setting; the same name means the same configuration in every run.

pub mod jsc;
mod jsc_ffi;
#[cfg(feature = "quickjs")]
pub mod quickjs;
pub mod zjs;

use crate::peer::{Peer, PeerError, Program, Realm};
use crate::worker;

/// A peer as the command line and the report name it.
#[derive(Debug)]
pub struct PeerInfo {
    pub name: &'static str,
    pub about: &'static str,
    /// Environment of the worker: engines that read options at first use need it before they start.
    pub environment: &'static [(&'static str, &'static str)],
    serve: fn(),
}

/// Every peer, in the order of the report's columns.
pub const PEERS: &[PeerInfo] = &[
    PeerInfo {
        name: "zjs",
        about: "zjs, program frozen in a snapshot, realms from the pool",
        environment: &[],
        serve: || worker::serve(zjs::Zjs::new(zjs::Setting::Pool)),
    },
    PeerInfo {
        name: "zjs-trained",
        about: "zjs, as zjs, the program's function called once before freezing",
        environment: &[],
        serve: || worker::serve(zjs::Zjs::new(zjs::Setting::Trained)),
    },
    PeerInfo {
        name: "zjs-map",
        about: "zjs, program frozen in a snapshot, every realm a fresh mapping",
        environment: &[],
        serve: || worker::serve(zjs::Zjs::new(zjs::Setting::FreshMapping)),
    },
    PeerInfo {
        name: "zjs-interp",
        about: "zjs, as zjs, without native code",
        environment: &[],
        serve: || worker::serve(zjs::Zjs::new(zjs::Setting::Interpreter)),
    },
    PeerInfo {
        name: "zjs-source",
        about: "zjs, bare realms from the pool, program evaluated from source",
        environment: &[],
        serve: || worker::serve(zjs::Zjs::new(zjs::Setting::Source)),
    },
    PeerInfo {
        name: "jsc",
        about: "JavaScriptCore, C API, default settings",
        environment: &[],
        serve: || worker::serve(jsc::Jsc::new()),
    },
    PeerInfo {
        name: "jsc-sync",
        about: "JavaScriptCore, C API, JSC_useConcurrentJIT=0",
        environment: &[("JSC_useConcurrentJIT", "0")],
        serve: || worker::serve(jsc::Jsc::new()),
    },
    PeerInfo {
        name: "quickjs",
        about: "QuickJS-ng, a runtime and a full context per realm",
        environment: &[],
        #[cfg(feature = "quickjs")]
        serve: || worker::serve(Ok(quickjs::QuickJs::new())),
        #[cfg(not(feature = "quickjs"))]
        serve: || worker::serve::<NotBuilt>(Err(NotBuilt::error())),
    },
];

impl PeerInfo {
    /// The peer of this name.
    pub fn find(name: &str) -> Option<&'static PeerInfo> {
        PEERS.iter().find(|peer| peer.name == name)
    }

    /// Runs this process as the peer's worker until the runner closes the pipe.
    pub fn serve(&self) {
        (self.serve)();
    }
}

/// Stands in for a peer that this binary was built without.
pub enum NotBuilt {}

impl NotBuilt {
    #[cfg(not(feature = "quickjs"))]
    fn error() -> PeerError {
        PeerError::Unavailable {
            peer: "quickjs".into(),
            reason: "this binary was built without it".into(),
            remedy: "cargo build --release -p zjs-bench --features quickjs".into(),
        }
    }
}

impl Peer for NotBuilt {
    type Realm<'p> = NotBuilt;
    fn version(&self) -> String {
        match *self {}
    }
    fn load(&mut self, _: Program) -> Result<String, PeerError> {
        match *self {}
    }
    fn realm(&self) -> Result<NotBuilt, PeerError> {
        match *self {}
    }
}

impl Realm for NotBuilt {
    fn eval(&mut self, _: &str) -> Result<f64, PeerError> {
        match *self {}
    }
    fn call(&mut self, _: &str, _: u32, _: u32) -> Result<f64, PeerError> {
        match *self {}
    }
}
