//! The workloads: plain ES5 functions `(jobs, lane) -> exact integer checksum`, and the scripts beside
//! them. What one job is stands in the head of each file.
//!
//! Invariant: the function that a workload file defines is called like the file.

/// One workload: a script that defines the global function `name`.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    pub name: &'static str,
    pub source: &'static str,
}

macro_rules! workloads {
    ($($name:literal),* $(,)?) => {
        [$(Workload { name: $name, source: include_str!(concat!("../workloads/", $name, ".js")) }),*]
    };
}

/// The ten workloads, in the order of the reports.
pub const WORKLOADS: [Workload; 10] = workloads![
    "arithmetic",
    "properties",
    "polymorphic_properties",
    "object_churn",
    "arrays",
    "direct_calls",
    "method_calls",
    "closure_calls",
    "arguments_calls",
    "fibonacci",
];

/// A script that uses most globals once and returns how many it used.
pub const TOUCH_GLOBALS: &str = include_str!("../workloads/touch_globals.js");

/// The smallest script.
pub const EVAL_ONE: &str = "1";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_defines_its_function() {
        for workload in WORKLOADS {
            let head = format!("function {}(jobs, lane) {{", workload.name);
            assert!(workload.source.contains(&head), "{} lacks {head:?}", workload.name);
        }
    }
}
