//! The same input gives the same bytes, from any folder and in any process; a failed build leaves nothing.

mod support;

use std::path::Path;

use support::command;

/// Everything that could carry an address, a clock or a hash order into the image.
const APPLICATION: &str = r#"
const { shout } = require("./lib/shout");
var map = new Map(), weak = new WeakMap(), set = new Set(), keys = [];
for (let i = 0; i < 300; i++) { const key = { i }; keys.push(key); map.set(key, i); weak.set(key, i); set.add("k" + (i * 7919 % 300)); }
var random = Math.random(), now = Date.now(), made = new Date(), symbol = Symbol("s"), registered = Symbol.for("r");
var cycle = { self: null }; cycle.self = cycle;
function* steps() { let n = 0; for (;;) yield n++; }
var generator = steps(); generator.next();
class Base { #secret = 1; get secret() { return this.#secret; } static { this.made = true; } }
class Derived extends Base { method() { return super.secret; } }
var derived = new Derived(), bound = derived.method.bind(derived), pattern = /(?<year>\d+)-x/gu; pattern.exec("2020-x");
var bytes = new Uint8Array(5000).map((_, i) => i), big = 123456789012345678901234567890n, proxy = new Proxy({}, {});
var promise = Promise.resolve(1), failed = Promise.reject(new Error("kept")); failed.catch(() => {});
var weakRef = new WeakRef(cycle), text = "a".repeat(1000) + "\u{1f600}", rope = text + text, math = [Math.sin(1), Math.pow(1.1, 7), Math.exp(1)];
for (let i = 0; i < 200; i++) globalThis["global" + i] = { ["p" + i]: i };
[3, 1, 2].sort(); JSON.parse('{"b":1,"a":[1,2]}'); "x-y".replace(/-/, "+");
function hot(n) { let s = 0; for (let i = 0; i < n; i++) s = (s * 31 + i) | 0; return s; }
for (let i = 0; i < 500; i++) hot(i);
module.exports = { render(name) { return shout("hello " + name) + hot(10); } };
"#;
const LIBRARY: &str = "exports.shout = function shout(text) { return text.toUpperCase() + '!'; };";

fn lay_out(folder: &Path) {
    std::fs::create_dir_all(folder.join("lib")).expect("a folder");
    std::fs::write(folder.join("app.js"), APPLICATION).expect("written");
    std::fs::write(folder.join("lib/shout.js"), LIBRARY).expect("written");
    std::fs::write(folder.join("train.js"), "for (var t = 0; t < 50; t++) render('n' + t);").expect("written");
}

fn build_there(folder: &Path, extra: &[&str]) -> Vec<u8> {
    lay_out(folder);
    let mut args = vec!["build", "app.js", "-o", "out.zsnap", "--quiet", "--train", "train.js"];
    args.extend(extra);
    let output = command(folder, &args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::fs::read(folder.join("out.zsnap")).expect("the snapshot")
}

#[test]
fn two_folders_and_two_processes_give_equal_bytes() {
    let top = tempfile::tempdir().expect("a folder");
    let (a, b) = (top.path().join("a"), top.path().join("somewhere else/deeper/b"));
    for extra in [&[][..], &["--no-native"]] {
        let (first, second) = (build_there(&a, extra), build_there(&b, extra));
        let at = first.iter().zip(&second).position(|(x, y)| x != y);
        assert!(first == second, "{} and {} bytes, first difference at {at:?}", first.len(), second.len());
        assert!(!first.windows(4).any(|w| w == b"deep"), "the folder's name is in the file");
    }
    // In this process, after other work, with another environment.
    let options = zjs_snapshotter::build::BuildOptions {
        entries: vec![b.join("app.js")],
        train: vec![b.join("train.js")],
        kind: None,
        native: true,
    };
    let host = zjs_snapshotter::host::command_functions;
    let here = zjs_snapshotter::build::build(&options, host(), |_| {}).expect("builds").bytes;
    let again =
        std::thread::spawn(move || zjs_snapshotter::build::build(&options, host(), |_| {}).expect("builds").bytes);
    assert!(here == again.join().expect("joins"), "two threads");
    assert!(here == build_there(&a, &[]), "library and command");
}

#[test]
fn a_build_that_fails_leaves_nothing_behind() {
    let folder = tempfile::tempdir().expect("a folder");
    let inputs = [
        ("throws.js", "var x = 1;\nthrow new Error('at build time');", 1, "at build time"),
        ("syntax.js", "let = = 1;", 1, "SyntaxError"),
        ("broken.mjs", "import './missing.mjs';", 1, ""),
        ("text.js", "\u{0}", 1, ""),
    ];
    for (name, source, _, _) in inputs {
        std::fs::write(folder.path().join(name), source).expect("written");
    }
    std::fs::write(folder.path().join("bytes.js"), [b'x', 0xff, 0xfe]).expect("written");
    let listing = || {
        let mut names: Vec<String> = std::fs::read_dir(folder.path())
            .expect("a folder")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .filter(|n| n != "cache")
            .collect();
        names.sort();
        names
    };
    let before = listing();
    let failing = inputs.iter().map(|&(name, _, code, message)| (name, code, message));
    for (name, code, message) in failing.chain([("missing.js", 2, "missing.js"), ("bytes.js", 2, "UTF-8")]) {
        let output = command(folder.path(), &["build", name, "-o", "out.zsnap", "--quiet"]);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{name}: {stderr}");
        assert!(stderr.contains(message), "{name}: {stderr}");
        assert_eq!(listing(), before, "{name} left files");
    }
    // An earlier snapshot stays as it was.
    std::fs::write(folder.path().join("good.js"), "var good = 1;").expect("written");
    assert!(command(folder.path(), &["build", "good.js", "-o", "out.zsnap", "--quiet"]).status.success());
    let (kept, before) = (std::fs::read(folder.path().join("out.zsnap")).expect("built"), listing());
    assert_eq!(command(folder.path(), &["build", "throws.js", "-o", "out.zsnap", "--quiet"]).status.code(), Some(1));
    assert_eq!((std::fs::read(folder.path().join("out.zsnap")).expect("kept"), listing()), (kept, before));
    // A folder that is not there, and one that cannot hold the file.
    assert_eq!(command(folder.path(), &["build", "good.js", "-o", "none/out.zsnap", "--quiet"]).status.code(), Some(2));
    std::fs::create_dir(folder.path().join("taken")).expect("a folder");
    assert_eq!(command(folder.path(), &["build", "good.js", "-o", "taken", "--quiet"]).status.code(), Some(2));
    assert!(listing().iter().all(|n| !n.starts_with(".tmp")), "{:?}", listing());
}

#[test]
fn the_command_runs_and_says_what_is_wrong() {
    let folder = tempfile::tempdir().expect("a folder");
    lay_out(folder.path());
    std::fs::write(folder.path().join("use.js"), "print(render(arguments[0]));").expect("written");
    assert!(command(folder.path(), &["build", "app.js", "-o", "app.zsnap", "--quiet"]).status.success());
    let ran = command(folder.path(), &["run", "app.zsnap", "use.js", "--", "you"]);
    let stdout = String::from_utf8_lossy(&ran.stdout);
    assert!(stdout.starts_with("HELLO YOU!"), "{stdout}{}", String::from_utf8_lossy(&ran.stderr));
    let verified = command(folder.path(), &["verify", "app.zsnap"]);
    assert!(verified.status.success() && String::from_utf8_lossy(&verified.stdout).contains("fine"));
    let mut bytes = std::fs::read(folder.path().join("app.zsnap")).expect("read");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(folder.path().join("bad.zsnap"), &bytes).expect("written");
    let refused = command(folder.path(), &["verify", "bad.zsnap"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("damaged"));
    assert_eq!(command(folder.path(), &["diff", "app.zsnap", "app.zsnap"]).status.code(), Some(0));
    assert_eq!(command(folder.path(), &["diff", "app.zsnap", "bad.zsnap"]).status.code(), Some(2));
    std::fs::write(folder.path().join("throws.js"), "null.x").expect("written");
    assert_eq!(command(folder.path(), &["run", "throws.js"]).status.code(), Some(1));
}
