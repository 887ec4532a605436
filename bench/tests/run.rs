//! The runner end to end on the smallest plan: report and samples are written, failures show in the exit
//! code, wrong usage is refused. No figure is checked.

use std::path::Path;
use std::process::{Command, Output};

fn bench(out: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zjs-bench"))
        .args(arguments)
        .arg("--out")
        .arg(out)
        .output()
        .expect("the runner starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn one_row_of_each_mode_with_zjs() {
    let out = tempfile::tempdir().expect("a temporary folder");
    let plan = ["--peers", "zjs,zjs-source", "--only", "direct_calls,bare", "--samples", "2", "--lanes", "2"];
    let run = bench(out.path(), &[&plan[..], &["--warm-ms", "1"]].concat());
    assert!(run.status.success(), "{}\n{}", text(&run.stdout), text(&run.stderr));
    let report = text(&run.stdout);
    for heading in ["## instantiate", "## cold", "## steady", "## direct", "## memory", "## Set-up"] {
        assert!(report.contains(heading), "no {heading:?} in\n{report}");
    }
    let files: Vec<_> = std::fs::read_dir(out.path()).expect("readable").flatten().map(|entry| entry.path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    let tsv = files.iter().find(|path| path.extension().is_some_and(|e| e == "tsv")).expect("a TSV file");
    let samples = std::fs::read_to_string(tsv).expect("readable");
    // Two samples of two peers: one value each, except 30 calls in `direct`.
    assert_eq!(samples.lines().filter(|line| line.starts_with("cold\t")).count(), 4, "{samples}");
    assert_eq!(samples.lines().filter(|line| line.starts_with("direct\t")).count(), 120, "{samples}");
}

#[test]
fn a_peer_that_fails_shows_in_exit_code_and_report() {
    let out = tempfile::tempdir().expect("a temporary folder");
    let program = out.path().join("throws.js");
    std::fs::write(&program, "throw new Error('on purpose');").expect("writable");
    let program = program.display().to_string();
    let plan = ["--peers", "zjs", "--modes", "instantiate", "--only", "throws", "--samples", "1", "--lanes", "1"];
    let run = bench(out.path(), &[&plan[..], &["--program", &program]].concat());
    assert_eq!(run.status.code(), Some(1), "{}", text(&run.stderr));
    let report = text(&run.stdout);
    assert!(report.contains("## Failures") && report.contains("on purpose"), "{report}");
}

#[test]
fn wrong_usage() {
    let out = tempfile::tempdir().expect("a temporary folder");
    for plan in [["--peers", "nobody"], ["--lanes", "0"], ["--only", "nothing-like-this"], ["--quantile", "2"]] {
        let run = bench(out.path(), &plan);
        assert_eq!(run.status.code(), Some(2), "{plan:?}: {}", text(&run.stderr));
    }
}
