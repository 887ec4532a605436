//! What `inspect` and `diff` say about small snapshots, as snapshots in git.
//!
//! Sizes of the engine's own parts are facts of their own (`facts.rs`); here they are `N`, so that a change
//! of a built-in does not touch these files.

mod support;

use support::{open_bytes, snapshot_bytes};
use zjs_snapshotter::{diff, inspect};

const FIRST: &str = r#"
var settings = { title: "first", depth: 3 };
var list = [1, 2, 3];
const limit = 10;
class Point { constructor(x, y) { this.x = x; this.y = y; } length() { return Math.sqrt(this.x * this.x + this.y * this.y); } }
var origin = new Point(0, 0);
function render(name) { return "<b>" + name + "</b>"; }
function sum(n) { var s = 0; for (var i = 0; i < n; i++) s += i; return s; }
print.name;
"#;

/// `FIRST` with one function more, one global less, another string and another shape.
const SECOND: &str = r#"
var settings = { title: "second", depth: 3, extra: true };
const limit = 10;
class Point { constructor(x, y) { this.x = x; this.y = y; } length() { return Math.sqrt(this.x * this.x + this.y * this.y); } }
var origin = new Point(0, 0);
function render(name) { return "<i>" + name + "</i>"; }
function sum(n) { var s = 0; for (var i = 0; i < n; i++) s += i; return s; }
var double = (n) => 2 * n;
print.name;
"#;

fn report(source: &str) -> inspect::Report {
    inspect::inspect(&open_bytes(&snapshot_bytes(source, false)).expect("opens")).expect("a report")
}

/// Every number becomes `N`, and spaces before it one space.
fn without_numbers(line: &str) -> String {
    let mut out = String::new();
    for word in line.split_whitespace() {
        let is_number = word.trim_start_matches("0x").chars().all(|c| c.is_ascii_hexdigit())
            && word.starts_with(|c: char| c.is_ascii_digit());
        out.push(' ');
        out.push_str(if is_number { "N" } else { word });
    }
    out.trim_start().to_string()
}

/// The text with the numbers of the engine's own parts taken out.
fn redacted(text: &str) -> String {
    let mut section = "";
    let mut out = String::new();
    for line in text.lines() {
        if !line.starts_with(' ') {
            section = line.split(':').next().unwrap_or("");
        }
        let is_ours = matches!(section, "inputs" | "host functions" | "functions" | "globals" | "shapes" | "strings");
        // The global object's shape starts with all names of the library.
        let line = match line.split_once(':') {
            Some((start, _)) if line.len() > 300 && line.contains(" print:") => {
                format!("{}...{}", &start[..4], &line[line.find(" print:").unwrap_or(0)..])
            }
            _ => line.to_string(),
        };
        let line = line.as_str();
        out.push_str(&if is_ours {
            line.to_string()
        } else {
            format!("{}{}", if line.starts_with(' ') { "  " } else { "" }, without_numbers(line))
        });
        out.push('\n');
    }
    out
}

#[test]
fn inspect_text() {
    insta::assert_snapshot!(redacted(&inspect::text(&report(FIRST))));
}

#[test]
fn inspect_json_has_the_same_facts() {
    let report = report(FIRST);
    let json: serde_json::Value = serde_json::from_str(&serde_json::to_string(&report).expect("JSON")).expect("JSON");
    let names: Vec<&str> = json["globals"].as_array().expect("globals").iter().filter_map(|g| g.as_str()).collect();
    for name in ["settings", "list", "limit", "Point", "origin", "render", "sum", "print"] {
        assert!(names.contains(&name), "{name} is not in {names:?}");
    }
    assert_eq!(json["functions"].as_array().expect("functions").len(), report.functions.len());
    let total: u64 = json["segments"].as_array().expect("segments").iter().filter_map(|s| s["bytes"].as_u64()).sum();
    assert_eq!(total + 4096, report.file_bytes);
}

#[test]
fn diff_text() {
    let (a, b) = (report(FIRST), report(SECOND));
    assert_eq!(diff::diff(&a, &report(FIRST)), "");
    insta::assert_snapshot!(redacted(&diff::diff(&a, &b)));
}
