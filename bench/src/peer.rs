//! What an engine must offer to be measured.
//!
//! A peer is one engine with one choice of settings. It is given a program ahead of time (untimed: what
//! an embedder does at build time or once per process), and then makes independent realms in which that
//! program's globals are ready. An engine with snapshots freezes the program in `load`; the others
//! evaluate its source in `realm`.
//!
//! Invariant: two realms share no JavaScript-visible state, and dropping a realm gives back all that it
//! held before `drop` returns.

use thiserror::Error;

/// The state in which a realm takes up its work.
#[derive(Clone, Debug, serde::Serialize, serde::Deserialize)]
pub enum Program {
    /// The intrinsics and nothing else.
    Bare,
    /// A script has been evaluated.
    Script { name: String, source: String },
}

/// Why a peer could not do what was asked. The text is the engine's own, with JavaScript's message.
#[derive(Debug, Error)]
pub enum PeerError {
    #[error("{peer} is not available: {reason}\n  remedy: {remedy}")]
    Unavailable { peer: String, reason: String, remedy: String },
    #[error("{0}")]
    Engine(String),
    #[error("`{what}` gave {found}, expected an exact integer")]
    NotAnInteger { what: String, found: String },
}

/// An engine with one choice of settings. Realms are made on any thread.
pub trait Peer: Sync {
    type Realm<'p>: Realm
    where
        Self: 'p;

    /// Engine and version, for the report.
    fn version(&self) -> String;

    /// Prepares `program`. Returns a remark for the report (such as what was built), or nothing.
    fn load(&mut self, program: Program) -> Result<String, PeerError>;

    /// Makes an independent realm with the loaded program's globals ready.
    fn realm(&self) -> Result<Self::Realm<'_>, PeerError>;
}

/// An independent realm; dropping it is part of what is measured.
pub trait Realm {
    /// Evaluates a script; its value must be a number.
    fn eval(&mut self, source: &str) -> Result<f64, PeerError>;

    /// Looks up a global function and calls it with two numbers; its value must be a number.
    fn call(&mut self, function: &str, jobs: u32, lane: u32) -> Result<f64, PeerError>;
}

/// The checksum in a workload's result: an integer that a double holds exactly.
pub fn exact_integer(what: &str, value: f64) -> Result<i64, PeerError> {
    const LIMIT: f64 = 9_007_199_254_740_991.0;
    if value.fract() == 0.0 && value.abs() <= LIMIT {
        Ok(value as i64)
    } else {
        Err(PeerError::NotAnInteger { what: what.to_string(), found: value.to_string() })
    }
}
