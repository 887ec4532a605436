//! The machine and the process: what a report says about where it was made, and the kernel's figures for
//! a process's private memory. Linux; every figure comes from /proc.
//!
//! Invariant: a figure that the kernel does not give is reported as unknown or as not a number, never as 0.

use std::fs;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Private memory and page tables of this process, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory {
    pub private_bytes: f64,
    pub page_table_bytes: f64,
}

/// Reads the kernel's own record: pages that only this process maps, and its page tables.
pub fn process_memory() -> ProcessMemory {
    let rollup = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    ProcessMemory {
        private_bytes: kib_field(&rollup, "Private_Dirty:") * 1024.0,
        page_table_bytes: kib_field(&status, "VmPTE:") * 1024.0,
    }
}

/// The number of KiB in the line that starts with `label`.
fn kib_field(text: &str, label: &str) -> f64 {
    text.lines()
        .find_map(|line| line.strip_prefix(label))
        .and_then(|rest| rest.trim().trim_end_matches(" kB").trim().parse().ok())
        .unwrap_or(f64::NAN)
}

/// Lines that describe the machine.
pub fn describe() -> Vec<(&'static str, String)> {
    let cpuinfo = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name"))
        .map_or("unknown", |rest| rest.trim_start_matches([' ', '\t', ':']));
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    vec![
        ("processor", format!("{model}, {cores} cores")),
        ("kernel", format!("Linux {}", kernel.trim())),
        ("load before the run", load.split(' ').take(3).collect::<Vec<_>>().join(" ")),
        ("commit", commit()),
        ("build", if cfg!(debug_assertions) { "debug (figures mean nothing)" } else { "release" }.into()),
    ]
}

/// The commit of the working folder, marked when there are changes.
fn commit() -> String {
    let git = |arguments: &[&str]| -> Option<String> {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    match git(&["rev-parse", "--short", "HEAD"]) {
        Some(hash) => match git(&["status", "--porcelain"]) {
            Some(changes) if changes.is_empty() => hash,
            _ => format!("{hash} with changes"),
        },
        None => "unknown".into(),
    }
}

/// Now in UTC as `2026-12-01-0245`, which also sorts.
pub fn timestamp() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs());
    let (year, month, day) = civil_date(seconds / 86_400);
    let minutes = seconds % 86_400 / 60;
    format!("{year:04}-{month:02}-{day:02}-{:02}{:02}", minutes / 60, minutes % 60)
}

/// Days since 1970-01-01 as year, month, day (Gregorian), counting month by month: simple, and fast
/// enough for one call per run.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let mut left = days;
    let mut year = 1970;
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let february = 28 + u64::from(leap(year));
    let mut month = 1;
    for length in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < length {
            break;
        }
        left -= length;
        month += 1;
    }
    (year, month, left + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(58), (1970, 2, 28));
        assert_eq!(civil_date(59), (1970, 3, 1));
        assert_eq!(civil_date(11_016), (2000, 2, 29));
        assert_eq!(civil_date(20_788), (2026, 12, 1));
    }

    #[test]
    fn fields() {
        assert_eq!(kib_field("A: 1 kB\nVmPTE:\t     132 kB\n", "VmPTE:"), 132.0);
        assert!(kib_field("", "VmPTE:").is_nan());
    }
}
