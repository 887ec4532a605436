//! `zjs-snapshot diff`: what differs between two snapshots, as stable text.

use std::collections::BTreeMap;

use crate::inspect::Report;

/// The differences as text, one a line; empty when the snapshots say the same.
pub fn diff(a: &Report, b: &Report) -> String {
    let mut out = String::new();
    let mut section = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            out.push_str(&format!("{title}:\n"));
            lines.iter().for_each(|l| out.push_str(&format!("  {l}\n")));
        }
    };
    section("inputs", lists(&a.inputs, &b.inputs));
    section("globals", lists(&a.globals, &b.globals));
    section("host functions", lists(&a.host_functions, &b.host_functions));
    section("functions", lists(&functions(a), &functions(b)));
    section("shapes", lists(&a.shapes, &b.shapes));
    section("strings", lists(&shortened(&a.strings), &shortened(&b.strings)));
    section("cells", kinds(a, b));
    section("sizes", sizes(a, b));
    out
}

fn functions(report: &Report) -> Vec<String> {
    report
        .functions
        .iter()
        .map(|f| {
            let native = if f.native_bytes > 0 { format!(", {} native", f.native_bytes) } else { String::new() };
            format!("{} {}:{} ({} bytecode{native})", f.name, f.script, f.line, f.bytecode_bytes)
        })
        .collect()
}

fn shortened(strings: &[String]) -> Vec<String> {
    strings
        .iter()
        .map(|s| {
            let short: String = s.chars().take(60).collect();
            if short.len() < s.len() {
                format!("{short:?}... ({} bytes, hash {:016x})", s.len(), xxhash_rust::xxh3::xxh3_64(s.as_bytes()))
            } else {
                format!("{short:?}")
            }
        })
        .collect()
}

/// Multiset difference: `-` lines of `a`, `+` lines of `b`, sorted.
fn lists(a: &[String], b: &[String]) -> Vec<String> {
    let mut counts: BTreeMap<&String, i64> = BTreeMap::new();
    a.iter().for_each(|s| *counts.entry(s).or_default() -= 1);
    b.iter().for_each(|s| *counts.entry(s).or_default() += 1);
    counts
        .into_iter()
        .filter(|(_, n)| *n != 0)
        .map(|(s, n)| {
            let times = if n.abs() > 1 { format!(" (x{})", n.abs()) } else { String::new() };
            format!("{} {s}{times}", if n < 0 { '-' } else { '+' })
        })
        .collect()
}

fn kinds(a: &Report, b: &Report) -> Vec<String> {
    let mut names: Vec<&String> = a.kinds.keys().chain(b.kinds.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter_map(|name| {
            let (x, y) =
                (a.kinds.get(name).cloned().unwrap_or_default(), b.kinds.get(name).cloned().unwrap_or_default());
            (x != y).then(|| format!("{name}: {} -> {} cells, {} -> {} bytes", x.count, y.count, x.bytes, y.bytes))
        })
        .collect()
}

fn sizes(a: &Report, b: &Report) -> Vec<String> {
    let mut lines = Vec::new();
    for (x, y) in a.segments.iter().zip(&b.segments) {
        if x.bytes != y.bytes {
            lines.push(format!("{}: {} -> {} bytes", x.name, x.bytes, y.bytes));
        } else if x.xxh3 != y.xxh3 {
            lines.push(format!("{}: same size, other content", x.name));
        }
    }
    lines
}
