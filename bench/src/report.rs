//! The Markdown report: one table per mode and number of lanes, medians in the mode's unit.
//!
//! Two columns compare `zjs` (or the first peer, when `zjs` took no part) with the best of JavaScriptCore's
//! settings, row by row, and with QuickJS-ng: above 1 means that zjs needs less.
//!
//! Invariant: every figure is computed here from the store; none is typed by hand.

use std::fmt::Write as _;

use crate::host;
use crate::plan::{Choices, DIRECT_SHOWN, Mode, Row};
use crate::runner::{Outcome, Present};
use crate::samples::{CellKey, Store, geometric_mean, quantile};

/// What a mode's figures are, for the reader.
fn about(mode: Mode) -> &'static str {
    match mode {
        Mode::Instantiate => {
            "µs per realm: make it, evaluate nothing (`bare`), `1`, or a script that touches most \
             globals once, drop it. With several lanes: mean per realm on each of that many threads."
        }
        Mode::Cold => {
            "ms from before the first thread is spawned until all are joined; each thread makes a realm \
             with the workload in it, calls it once and drops the realm."
        }
        Mode::Steady => "µs per call in a warmed realm, one realm and thread per lane; the slowest lane counts.",
        Mode::Direct => {
            "µs of single calls in a new realm on the worker's own thread: `#1` is the first call, `#30` \
             the thirtieth. Making the realm is not in it."
        }
        Mode::Memory => {
            "KiB of private memory per idle realm (growth of the kernel's Private_Dirty over 64 realms), \
             page tables after the plus sign."
        }
    }
}

/// The whole report.
pub fn render(outcome: &Outcome, rows: &[Row], choices: &Choices, stamp: &str) -> String {
    let mut text = format!("# Bench report {stamp} (UTC)\n\n");
    for (label, value) in host::describe() {
        line(&mut text, format_args!("- {label}: {value}"));
    }
    line(&mut text, format_args!("- jobs per call: {}", choices.jobs));
    // The flags, not the path of the program: a report may be passed on.
    let flags: Vec<String> = std::env::args().skip(1).collect();
    line(&mut text, format_args!("- command: `zjs-bench {}`", flags.join(" ")));
    text.push_str("\n| peer | what | engine |\n| --- | --- | --- |\n");
    for Present { name, about, version } in &outcome.present {
        line(&mut text, format_args!("| {name} | {about} | {version} |"));
    }
    for missing in &outcome.missing {
        line(&mut text, format_args!("\nLeft out: {missing}"));
    }
    let shown = match outcome.store.quantile {
        0.5 => "Medians".to_string(),
        other => format!("Quantile {other} of the samples (0.5 would be the median)"),
    };
    text.push_str(&format!("\n{shown}."));
    text.push_str(
        " Peers run in worker processes of their own and alternate sample by sample; raw samples \
         are in the TSV file beside this one. `spread` is the largest ratio of 90th to 10th percentile in \
         the row.\n",
    );
    for &mode in &choices.modes {
        mode_section(&mut text, outcome, rows, mode);
    }
    setup_section(&mut text, &outcome.store);
    if !outcome.store.failures.is_empty() {
        text.push_str("\n## Failures\n\n");
        for failure in &outcome.store.failures {
            line(&mut text, format_args!("- {failure}"));
        }
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    writeln!(text, "{arguments}").expect("writing to a string does not fail");
}

fn mode_section(text: &mut String, outcome: &Outcome, rows: &[Row], mode: Mode) {
    let of_mode: Vec<&Row> = rows.iter().filter(|row| row.mode == mode).collect();
    if of_mode.is_empty() {
        return;
    }
    line(text, format_args!("\n## {}\n\n{}", mode.name(), about(mode)));
    let mut lanes: Vec<u32> = of_mode.iter().map(|row| row.lanes).collect();
    lanes.dedup();
    for lanes in lanes {
        let table: Vec<&Row> = of_mode.iter().copied().filter(|row| row.lanes == lanes).collect();
        if mode != Mode::Direct && mode != Mode::Memory {
            line(text, format_args!("\n{} lane{}:", lanes, if lanes == 1 { "" } else { "s" }));
        }
        table_of(text, outcome, &table);
    }
}

/// Peers that the ratio columns compare with: heading, and the names of which the best counts.
const RIVALS: [(&str, &[&str]); 2] = [("best jsc", &["jsc", "jsc-sync"]), ("quickjs", &["quickjs"])];

fn table_of(text: &mut String, outcome: &Outcome, rows: &[&Row]) {
    let present = &outcome.present;
    let Some(subject) = present.first().map(|peer| peer.name) else {
        return;
    };
    let rivals: Vec<_> = RIVALS
        .into_iter()
        .filter(|(_, names)| !names.contains(&subject) && present.iter().any(|peer| names.contains(&peer.name)))
        .collect();
    let mode = rows[0].mode;
    let mut head = format!("\n| {} |", mode.unit().0);
    let mut rule = String::from("\n| --- |");
    for peer in present {
        write!(head, " {} |", peer.name).expect("string");
        rule.push_str(" ---: |");
    }
    for (rival, _) in &rivals {
        write!(head, " {rival} / {subject} |").expect("string");
        rule.push_str(" ---: |");
    }
    line(text, format_args!("{head} spread |{rule} ---: |"));
    let calls: &[usize] = if mode == Mode::Direct { &DIRECT_SHOWN } else { &[1] };
    let mut ratios = vec![Vec::new(); rivals.len()];
    for row in rows {
        for &call in calls {
            let key = CellKey { mode, row: &row.name, lanes: row.lanes, call: call as u32, peer: "" };
            let suffix = if mode == Mode::Direct { format!(" #{call}") } else { String::new() };
            write!(text, "| {}{suffix} |", row.name).expect("string");
            table_row(text, &outcome.store, present, key, subject, &rivals, &mut ratios);
        }
    }
    if rows.len() > 1 && ratios.iter().any(|column| !column.is_empty()) {
        write!(text, "| geometric mean |{}", " |".repeat(present.len())).expect("string");
        for column in &ratios {
            let mean = geometric_mean(column).map_or("-".into(), |mean| format!("{mean:.2}"));
            write!(text, " {mean} |").expect("string");
        }
        text.push_str(" |\n");
    }
}

/// The cells of one printed row; `ratios` collects each rival's ratio for the geometric mean.
fn table_row(
    text: &mut String,
    store: &Store,
    present: &[Present],
    key: CellKey<'_>,
    subject: &str,
    rivals: &[(&str, &[&str])],
    ratios: &mut [Vec<f64>],
) {
    let scale = key.mode.unit().1;
    let mut spread: f64 = 1.0;
    for peer in present {
        let cell = CellKey { peer: peer.name, ..key };
        let sorted = store.sorted(cell);
        if let (Some(low), Some(high)) = (quantile(&sorted, 0.1), quantile(&sorted, 0.9)) {
            // Memory can be 0 or shrink; a ratio says something for positive values only.
            if low > 0.0 {
                spread = spread.max(high / low);
            }
        }
        let shown = match (store.figure(cell), store.figure_beside(cell)) {
            (None, _) => "-".to_string(),
            (Some(value), None) => figure(value * scale),
            (Some(value), Some(beside)) => {
                format!("{} + {}", figure(value * scale), figure(beside * scale))
            }
        };
        write!(text, " {shown} |").expect("string");
    }
    let own = store.figure(CellKey { peer: subject, ..key });
    for ((_, names), column) in rivals.iter().zip(ratios) {
        let best = names.iter().filter_map(|name| store.figure(CellKey { peer: name, ..key })).min_by(f64::total_cmp);
        match (own, best) {
            (Some(own), Some(best)) if own > 0.0 && best > 0.0 => {
                column.push(best / own);
                write!(text, " {:.2} |", best / own).expect("string");
            }
            _ => text.push_str(" - |"),
        }
    }
    line(text, format_args!(" {spread:.1} |"));
}

/// Three significant figures, without an exponent.
fn figure(value: f64) -> String {
    match value.abs() {
        v if v >= 100.0 => format!("{value:.0}"),
        v if v >= 10.0 => format!("{value:.1}"),
        v if v >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// What preparing the programs cost outside the timed sections, for peers that have something to say.
fn setup_section(text: &mut String, store: &Store) {
    let mut said = store.setups.iter().filter(|(_, _, _, remark)| !remark.is_empty()).peekable();
    if said.peek().is_none() {
        return;
    }
    text.push_str("\n## Set-up outside the timed sections\n\n| program | peer | ms | what |\n");
    text.push_str("| --- | --- | ---: | --- |\n");
    let mut seen = std::collections::HashSet::new();
    for (row, peer, ns, remark) in said {
        // Every mode loads the same programs, and zjs's settings differ little: the first is enough.
        let program = row.split_once(' ').map_or(row.as_str(), |(_, name)| name);
        if seen.insert(program) {
            line(text, format_args!("| {program} | {peer} | {} | {remark} |", figure(*ns as f64 * 1e-6)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::figure;

    #[test]
    fn figures() {
        let shown: Vec<String> = [1234.5, 56.78, 1.234, 0.28].map(figure).into();
        assert_eq!(shown, ["1234", "56.8", "1.23", "0.280"]);
    }
}
