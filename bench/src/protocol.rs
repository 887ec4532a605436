//! The conversation between the runner and a worker: one JSON object per line, a request on the worker's
//! standard input, one response on its standard output.
//!
//! Invariant: a worker answers every request with exactly one response, and works only between the two.

use serde::{Deserialize, Serialize};

use crate::peer::Program;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Who are you? Answered with `Hello`.
    Hello,
    /// Prepare a program (untimed). Answered with `Loaded`.
    Load(Program),
    /// On each of `lanes` threads make and drop `repeats` realms; in each evaluate `script`, if any.
    Instantiate { script: Option<String>, lanes: u32, repeats: u32 },
    /// On each of `lanes` new threads make a realm, call `function` once, drop; join all.
    Cold { function: String, jobs: u32, lanes: u32 },
    /// Open one realm per lane and warm it. Answered with `Done`; only `SteadySample` and `SteadyClose`
    /// may follow.
    SteadyOpen { function: String, jobs: u32, lanes: u32, warm_ms: u32 },
    /// One sample of the opened realms.
    SteadySample,
    /// Drops the opened realms. Answered with `Done`.
    SteadyClose,
    /// In one new realm, on the worker's own thread, call `function` `calls` times, each timed.
    Direct { function: String, jobs: u32, calls: u32 },
    /// Keep `realms` idle realms, in each of which `script` was evaluated, if any. Answered with `Memory`.
    Memory { script: Option<String>, realms: u32 },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Response {
    Hello {
        version: String,
    },
    Loaded {
        setup_ns: u64,
        remark: String,
    },
    /// Times in nanoseconds of one realm or one call: one value, or for `Direct` one per call. One
    /// checksum per lane, where there is a function.
    Sample {
        ns: Vec<f64>,
        checksums: Vec<i64>,
    },
    /// Bytes per idle realm.
    Memory {
        private_bytes: f64,
        page_table_bytes: f64,
    },
    Done,
    Failed {
        message: String,
    },
}
