//! Measures what a realm costs: making it, first work in it, warmed work in it, next to other engines.
//!
//! Every peer (an engine with one choice of settings) runs in a worker process of its own, a child of
//! the runner and the same binary, so that no engine's allocator, threads or signal handlers stand
//! beside another's. The runner asks the workers for one sample at a time, in an order that changes
//! with every sample, and only one worker works at any moment. Times are taken inside the worker, so
//! pipes are never part of them.
//!
//! | file | subject |
//! | --- | --- |
//! | `workload.rs` | the ten workloads and the other scripts |
//! | `peer.rs` | what an engine must offer to be measured |
//! | `peers/` | the engines |
//! | `measure.rs` | how each kind of sample is taken, generic over the peer |
//! | `protocol.rs`, `worker.rs` | the conversation between runner and worker |
//! | `plan.rs`, `runner.rs` | which rows there are, and taking their samples in alternating order |
//! | `samples.rs`, `report.rs`, `host.rs` | raw samples and medians, the Markdown report, the machine |
//!
//! Invariant: whatever one peer's timed section does, every peer's timed section for that row does.

pub mod host;
pub mod measure;
pub mod peer;
pub mod peers;
pub mod plan;
pub mod protocol;
pub mod report;
pub mod runner;
pub mod samples;
pub mod worker;
pub mod workload;
