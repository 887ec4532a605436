//! Which rows a run has: mode, script or workload, and number of lanes.
//!
//! Invariant: a row asks the same of every peer; nothing in it names a peer.

use clap::ValueEnum;

use crate::peer::Program;
use crate::protocol::Request;
use crate::workload::{EVAL_ONE, TOUCH_GLOBALS, WORKLOADS};

/// The kinds of measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Mode {
    /// Make a realm, evaluate nothing, `1` or a script that touches most globals, drop; µs per realm
    Instantiate,
    /// Spawn a thread, make a realm with the workload, one call, drop, join; ms for all lanes
    Cold,
    /// One warmed realm per lane; µs per call in the slowest lane
    Steady,
    /// The first calls in a new realm, one by one, no threads; µs per call
    Direct,
    /// Private memory and page tables of an idle realm; KiB per realm
    Memory,
}

impl Mode {
    pub const ALL: [Mode; 5] = [Mode::Instantiate, Mode::Cold, Mode::Steady, Mode::Direct, Mode::Memory];

    pub fn name(self) -> &'static str {
        match self {
            Mode::Instantiate => "instantiate",
            Mode::Cold => "cold",
            Mode::Steady => "steady",
            Mode::Direct => "direct",
            Mode::Memory => "memory",
        }
    }

    /// Unit of the report's figures, and what one raw unit (ns or bytes) is in it.
    pub fn unit(self) -> (&'static str, f64) {
        match self {
            Mode::Instantiate | Mode::Steady | Mode::Direct => ("µs", 1e-3),
            Mode::Cold => ("ms", 1e-6),
            Mode::Memory => ("KiB", 1.0 / 1024.0),
        }
    }

    /// Samples per peer and row when the command line does not say.
    pub fn default_samples(self) -> u32 {
        match self {
            Mode::Instantiate | Mode::Cold => 31,
            Mode::Steady => 21,
            Mode::Direct => 15,
            Mode::Memory => 3,
        }
    }
}

/// What a row measures.
#[derive(Clone, Debug)]
pub enum Task {
    Instantiate { script: Option<&'static str> },
    Cold { function: &'static str },
    Steady { function: &'static str },
    Direct { function: &'static str },
    Memory { script: Option<&'static str> },
}

/// One row of the report. A `Direct` row gives one printed row per recorded call.
#[derive(Clone, Debug)]
pub struct Row {
    pub mode: Mode,
    pub name: String,
    pub lanes: u32,
    pub program: Program,
    pub task: Task,
}

/// The choices of the command line.
#[derive(Clone, Debug)]
pub struct Choices {
    pub modes: Vec<Mode>,
    /// Parts of row names; empty means all rows.
    pub only: Vec<String>,
    pub lanes: Vec<u32>,
    pub jobs: u32,
    /// Wall time for which each realm of `steady` is warmed.
    pub warm_ms: u32,
    /// A program of the user's own: name and source, for `instantiate` and `memory`.
    pub program: Option<(String, String)>,
}

/// Calls made in one `direct` sample, and the ones that are printed (1 is the first).
pub const DIRECT_CALLS: u32 = 30;
pub const DIRECT_SHOWN: [usize; 4] = [1, 3, 10, 30];

/// Realms kept for one `memory` sample.
const MEMORY_REALMS: u32 = 64;

/// The rows, in the report's order.
pub fn rows(choices: &Choices) -> Vec<Row> {
    let mut rows = Vec::new();
    for &mode in &choices.modes {
        match mode {
            Mode::Instantiate => {
                for &lanes in &choices.lanes {
                    life_rows(choices, mode, lanes, &mut rows);
                }
            }
            Mode::Memory => life_rows(choices, mode, 1, &mut rows),
            Mode::Cold | Mode::Steady => {
                for &lanes in &choices.lanes {
                    workload_rows(mode, lanes, &mut rows);
                }
            }
            Mode::Direct => workload_rows(mode, 1, &mut rows),
        }
    }
    rows.retain(|row| choices.only.is_empty() || choices.only.iter().any(|part| row.name.contains(part.as_str())));
    rows
}

/// Rows about a realm's life: nothing evaluated, `1`, touched globals, and the user's own program.
fn life_rows(choices: &Choices, mode: Mode, lanes: u32, rows: &mut Vec<Row>) {
    let mut add = |name: &str, program: Program, script| {
        let task = match mode {
            Mode::Memory => Task::Memory { script },
            _ => Task::Instantiate { script },
        };
        rows.push(Row { mode, name: name.to_string(), lanes, program, task });
    };
    add("bare", Program::Bare, None);
    add("eval-1", Program::Bare, Some(EVAL_ONE));
    add("touch-globals", Program::Bare, Some(TOUCH_GLOBALS));
    if let Some((name, source)) = &choices.program {
        let program = Program::Script { name: name.clone(), source: source.clone() };
        add(name, program.clone(), None);
        add(&format!("{name}+touch-globals"), program, Some(TOUCH_GLOBALS));
    }
}

fn workload_rows(mode: Mode, lanes: u32, rows: &mut Vec<Row>) {
    for workload in WORKLOADS {
        let function = workload.name;
        let task = match mode {
            Mode::Steady => Task::Steady { function },
            Mode::Direct => Task::Direct { function },
            _ => Task::Cold { function },
        };
        let program = Program::Script { name: format!("{}.js", workload.name), source: workload.source.to_string() };
        rows.push(Row { mode, name: workload.name.to_string(), lanes, program, task });
    }
}

impl Row {
    /// The request for one sample. `repeats` counts for `Instantiate` only.
    pub fn request(&self, choices: &Choices, repeats: u32) -> Request {
        let jobs = choices.jobs;
        match self.task {
            Task::Instantiate { script } => {
                Request::Instantiate { script: script.map(str::to_string), lanes: self.lanes, repeats }
            }
            Task::Cold { function } => Request::Cold { function: function.to_string(), jobs, lanes: self.lanes },
            Task::Steady { .. } => Request::SteadySample,
            Task::Direct { function } => Request::Direct { function: function.to_string(), jobs, calls: DIRECT_CALLS },
            Task::Memory { script } => Request::Memory { script: script.map(str::to_string), realms: MEMORY_REALMS },
        }
    }

    /// What must be opened before the samples, if anything.
    pub fn opening(&self, choices: &Choices) -> Option<Request> {
        match self.task {
            Task::Steady { function } => Some(Request::SteadyOpen {
                function: function.to_string(),
                jobs: choices.jobs,
                lanes: self.lanes,
                warm_ms: choices.warm_ms,
            }),
            _ => None,
        }
    }
}
