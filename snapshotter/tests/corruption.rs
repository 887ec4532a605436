//! Damaged and forged files: `Snapshot::open` refuses with a typed error, or what it accepts cannot hurt.
//!
//! Forged files are tried in child processes (this binary again, with `ZJS_FORGE` set), since what is looked
//! for is a process that dies. `ZJS_FORGE_ROUNDS` widens the search; a failure names the round to repeat.

mod support;

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::FileExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sha2::{Digest, Sha256};
use support::{open, open_bytes, snapshot_bytes};
use xxhash_rust::xxh3::xxh3_128;
use zjs_engine::cage::Ref;
use zjs_engine::image::{Header, SegmentKind};
use zjs_engine::kinds::{Kind, Tail};
use zjs_engine::realm::RealmOptions;
use zjs_loader::{OpenError, Snapshot};

const PAGE: usize = 4096;

const APPLICATION: &str = r#"
var settings = { title: "t", list: [1, 2, { deep: [0.5, 1.5] }], map: new Map([["a", 1], [{}, 2]]), set: new Set([1, "x"]) };
class Base { #n = 1; get n() { return this.#n; } static s = 1; }
class Derived extends Base { m(...rest) { return super.n + rest.length; } }
var object = new Derived(), bound = object.m.bind(object, 1), date = new Date(0), pattern = /a(b)?/g, symbol = Symbol("d");
function* steps(a) { try { for (let i = 0; ; i++) yield a + i; } finally { settings.done = 1; } }
var generator = steps(1); generator.next();
function closure() { let n = 0, m = {}; return { up: () => ++n, get: () => [n, m] }; }
var pair = closure();
var bytes = new Uint8Array(64), doubles = new Float64Array(bytes.buffer), view = new DataView(bytes.buffer, 8, 16);
var big = 12345678901234567890n, proxy = new Proxy({ a: 1 }, { get: (t, k) => t[k] }), sparse = []; sparse[5000] = 1;
var promise = Promise.resolve(3), error = new RangeError("kept"), weak = new WeakMap([[settings, 1]]), boxed = Object(1);
function args() { return arguments; } var list = args(1, 2, 3), iterator = [1, 2, 3][Symbol.iterator](); iterator.next();
function numeric(n) { var s = 0.5; for (var i = 0; i < n; i++) s += i * 2; return s; }
function run() {
  var out = [];
  out.push(settings.title, settings.list.join(), [...settings.map], [...settings.set], settings.map.get("a"));
  out.push(object.m(1, 2), object.n, bound(2), date.getTime(), "xaby".replace(pattern, "-"), generator.next().value);
  out.push(pair.up(), pair.get(), bytes.fill(3)[5], doubles[1], view.getInt16(2), big * 2n, proxy.a, sparse[5000], sparse.length);
  out.push(error.message, weak.get(settings), boxed + 1, list[1], list.length, iterator.next().value, numeric(9), symbol.description);
  out.push(JSON.stringify(settings), Object.keys(object), pattern.source, new Derived().m(), [3, 1, 2].sort(), args(1)[0]);
  switch (out.length) { case 1: out = 0; break; default: out.push(`${out.length}`); }
  label: for (var k in settings) { for (var v of [1, 2]) { if (v > 1) continue label; } }
  try { null.x; } catch ({ message }) { out.push(message.length); } finally { out.push(1); }
  settings.fresh = out; delete settings.fresh; promise.then((x) => x);
  for (var name of Object.getOwnPropertyNames(globalThis)) { try { out.push(typeof globalThis[name], String(globalThis[name]).length); } catch {} }
  return out.length;
}
"#;

/// Splitmix64: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }
}

fn refusal(result: std::thread::Result<Result<Snapshot, OpenError>>, what: &str) -> OpenError {
    match result {
        Ok(Err(error)) => error,
        Ok(Ok(_)) => panic!("{what}: opened"),
        Err(_) => panic!("{what}: panicked"),
    }
}

#[test]
fn a_changed_byte_is_refused() {
    let bytes = snapshot_bytes(APPLICATION, true);
    let file = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(file.path(), &bytes).expect("written");
    open(file.path()).expect("the unchanged file opens");
    let mut random = Random(7);
    let mut places: Vec<usize> = (0..PAGE).collect();
    places.extend((PAGE..bytes.len()).step_by(bytes.len() / 800));
    places.extend((0..800).map(|_| random.below(bytes.len())));
    for at in places {
        let flipped = bytes[at] ^ 1 << random.below(8);
        file.as_file().write_all_at(&[flipped], at as u64).expect("written");
        let result = catch_unwind(|| open(file.path()));
        let error = refusal(result, &format!("byte {at:#x}"));
        let is_header = matches!(error, OpenError::Header { .. });
        assert!(
            is_header == (at < PAGE) && (is_header || matches!(error, OpenError::Checksum { .. })),
            "byte {at:#x}: {error}"
        );
        file.as_file().write_all_at(&[bytes[at]], at as u64).expect("written");
    }
    open(file.path()).expect("the file is as before");
}

#[test]
fn a_file_of_another_length_is_refused() {
    let bytes = snapshot_bytes(APPLICATION, true);
    let mut random = Random(8);
    let mut lengths: Vec<usize> = vec![
        0,
        1,
        7,
        63,
        64,
        255,
        256,
        263,
        264,
        300,
        0x800,
        PAGE - 1,
        PAGE,
        PAGE + 1,
        bytes.len() - PAGE,
        bytes.len() - 1,
    ];
    lengths.extend((0..200).map(|_| random.below(bytes.len())));
    lengths.extend((PAGE..bytes.len()).step_by(PAGE));
    for length in lengths {
        let error = refusal(catch_unwind(|| open_bytes(&bytes[..length])), &format!("{length} bytes"));
        assert!(matches!(error, OpenError::Header { .. }), "{length} bytes: {error}");
    }
    for extra in [1, 8, PAGE, 3 * PAGE + 5] {
        let longer = [bytes.as_slice(), &vec![0; extra]].concat();
        refusal(catch_unwind(|| open_bytes(&longer)), &format!("{extra} bytes more"));
    }
    refusal(catch_unwind(|| open_bytes(&[0; 3 * PAGE])), "zeros");
    refusal(catch_unwind(|| open_bytes(b"#!/bin/sh\n")), "a script");
    refusal(catch_unwind(|| open(std::path::Path::new("/nonexistent/x.zsnap"))), "no file");
    refusal(catch_unwind(|| open(&std::env::temp_dir())), "a folder");
}

#[test]
fn swapped_pages_and_sections_are_refused() {
    let bytes = snapshot_bytes(APPLICATION, true);
    let mut random = Random(9);
    let pages = bytes.len() / PAGE;
    for _ in 0..200 {
        let (a, b) = (random.below(pages), random.below(pages));
        let mut swapped = bytes.clone();
        swapped[a * PAGE..][..PAGE].copy_from_slice(&bytes[b * PAGE..][..PAGE]);
        swapped[b * PAGE..][..PAGE].copy_from_slice(&bytes[a * PAGE..][..PAGE]);
        if swapped != bytes {
            refusal(catch_unwind(|| open_bytes(&swapped)), &format!("pages {a} and {b}"));
        }
    }
    let other = snapshot_bytes("var other = 1;", true);
    let mixed = [&bytes[..PAGE], &other[PAGE..]].concat();
    refusal(catch_unwind(|| open_bytes(&mixed)), "the header of another file");
}

/// Makes checksums right again.
fn sign(bytes: &mut [u8], change: impl FnOnce(&mut Header)) {
    let mut header = Header::read(&bytes[..PAGE], bytes.len() as u64).expect("a header");
    for segment in &mut header.segments {
        let content = &bytes[segment.file_offset as usize..(segment.file_offset + segment.bytes) as usize];
        segment.xxh3 = xxh3_128(content);
        segment.sha256 = Sha256::digest(content).into();
    }
    change(&mut header);
    let page: &mut [u8; PAGE] = (&mut bytes[..PAGE]).try_into().expect("a page");
    header.write(page);
}

#[test]
fn a_resigned_file_with_another_segment_table_is_refused_or_harmless() {
    let bytes = snapshot_bytes(APPLICATION, true);
    let mut same = bytes.clone();
    sign(&mut same, |_| {});
    assert!(same == bytes, "signing an unchanged file changes nothing");
    let image_kinds = [SegmentKind::Frozen, SegmentKind::Writable];
    for order in 0..6 {
        let mut changed = bytes.clone();
        sign(&mut changed, |header| {
            let at: Vec<usize> =
                (0..header.segments.len()).filter(|&i| image_kinds.contains(&header.segments[i].kind)).collect();
            match order {
                // The parts trade places: writable first.
                0 => {
                    header.segments[at[0]].kind = SegmentKind::Writable;
                    header.segments[at[1]].kind = SegmentKind::Frozen;
                }
                // Two frozen parts, two writable parts, code that is mapped as cells.
                1 => header.segments[at[1]].kind = SegmentKind::Frozen,
                2 => header.segments[at[0]].kind = SegmentKind::Writable,
                3 => header.segments[at[1]].kind = SegmentKind::Metadata,
                4 => header.segments.iter_mut().for_each(|s| s.cage_offset = s.cage_offset.wrapping_add(4096)),
                _ => header.segments.iter_mut().for_each(|s| s.bytes = 0),
            }
        });
        refusal(catch_unwind(|| open_bytes(&changed)), &format!("segment table {order}"));
    }
    for roots in 0..8 {
        let mut changed = bytes.clone();
        sign(&mut changed, |header| {
            let r = &mut header.roots;
            match roots {
                0 => r.realm_record = Ref(0),
                1 => r.intern_table = r.realm_record,
                2 => r.transition_table = Ref(r.image_end),
                3 => r.root_table = Ref(0xffff_fff8),
                4 => r.image_end += 4096,
                5 => r.image_end = 0xffff_f000,
                6 => r.realm_record = Ref(r.realm_record.0 + 8),
                _ => r.template_count = u32::MAX,
            }
        });
        refusal(catch_unwind(|| open_bytes(&changed)), &format!("roots {roots}"));
    }
}

/// The cells of an image, and where they lie in the file.
struct Cells {
    all: Vec<(u32, Kind)>,
    by_kind: Vec<Vec<u32>>,
    header: Header,
    sizes: std::collections::HashMap<u32, u32>,
}

impl Cells {
    fn find(bytes: &[u8]) -> Cells {
        let snapshot = open_bytes(bytes).expect("opens");
        let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
        let cage = realm.engine().cage;
        let mut cells = Cells {
            all: Vec::new(),
            by_kind: vec![Vec::new(); Kind::ALL.len()],
            header: snapshot.header().clone(),
            sizes: Default::default(),
        };
        for kind in [SegmentKind::Frozen, SegmentKind::Writable] {
            let Some(segment) = snapshot.header().segment(kind) else { continue };
            let mut at = segment.cage_offset;
            while at < segment.cage_offset + segment.bytes as u32 && cage.read::<u64>(at) != 0 {
                let size = cage.cell_bytes(Ref(at)).next_multiple_of(8) as u32;
                cells.all.push((at, cage.kind(Ref(at))));
                cells.by_kind[cage.kind(Ref(at)) as usize].push(at);
                cells.sizes.insert(at, size);
                at += size;
            }
        }
        cells
    }

    fn file_offset(&self, address: u32) -> usize {
        let inside = |s: &&zjs_engine::image::Segment| {
            matches!(s.kind, SegmentKind::Frozen | SegmentKind::Writable)
                && address >= s.cage_offset
                && u64::from(address - s.cage_offset) < s.bytes
        };
        let segment = self.header.segments.iter().find(inside).expect("an image address");
        segment.file_offset as usize + (address - segment.cage_offset) as usize
    }
}

/// Cells that say what is executed: forged in a test of their own.
const CODE_KINDS: [Kind; 3] = [Kind::Code, Kind::Constants, Kind::Template];

/// One forged file: a few words of a few cells, chosen so that every kind of cell has its turn.
fn forge(base: &[u8], cells: &Cells, round: u64, with_code: bool) -> (Vec<u8>, String) {
    let mut random = Random(round.wrapping_mul(0x1234_5678_9ABC_DEF1) ^ 0x5EED);
    let mut bytes = base.to_vec();
    let is_code = |k: usize| CODE_KINDS.contains(&Kind::ALL[k]);
    let kinds: Vec<usize> =
        (0..cells.by_kind.len()).filter(|&k| !cells.by_kind[k].is_empty() && is_code(k) == with_code).collect();
    let mut what = String::new();
    for _ in 0..1 + random.below(2) {
        let kind = Kind::ALL[random.pick(&kinds)];
        // Late cells are the application's, which the script runs.
        let list = &cells.by_kind[kind as usize];
        let cell = if random.below(2) == 0 {
            list[list.len() - 1 - random.below(list.len().min(40))]
        } else {
            random.pick(list)
        };
        let size = cells.sizes[&cell];
        let info = kind.info();
        let any = random.pick(&cells.all).0;
        let (at, value, width): (u32, u64, usize) = match random.below(10) {
            0 | 1 if !info.refs.is_empty() => {
                let at = random.pick(info.refs);
                let other = random.pick(&kinds);
                let target = if random.below(2) == 0 { any } else { random.pick(&cells.by_kind[other]) };
                (at, u64::from(if random.below(8) == 0 { 0 } else { target }), 4)
            }
            // A small number or one from elsewhere in the code is often a register or opcode that fits.
            2..=6 if kind == Kind::Code && size > 10 => {
                let units = (size as usize - 8) / 2;
                let other = cells.file_offset(cell) + 8 + 2 * random.below(units);
                let value = match random.below(8) {
                    0 => random.next() & 0xFFFF,
                    1 => random.below(300) as u64,
                    2 | 3 => random.below(12) as u64,
                    _ => u64::from(u16::from_le_bytes([base[other], base[other + 1]])),
                };
                (8 + 2 * random.below(units) as u32, value, 2)
            }
            4..=6 if size >= 16 && !matches!(info.tail, Tail::Bytes(_) | Tail::Units16(_)) => {
                let tag = 0xFFF8 + random.below(8) as u64;
                (8 * (1 + random.below(size as usize / 8 - 1)) as u32, tag << 48 | u64::from(any), 8)
            }
            7 => (0, random.below(Kind::ALL.len()) as u64, 1),
            8 => (1 + random.below(3) as u32, random.next() & 0xFF, 1),
            _ => {
                let words = [
                    0,
                    1,
                    2,
                    7,
                    8,
                    0x40,
                    0xFFFF,
                    0x1_0000,
                    0x7FFF_FFFF,
                    0x8000_0000,
                    0xFFFF_FFF8,
                    0xFFFF_FFFF,
                    u64::from(any),
                    u64::from(any) + 8,
                    random.next() & 0xFFFF_FFFF,
                    random.next() & 0xFF,
                ];
                (4 * random.below((size as usize / 4).min(24)) as u32, random.pick(&words), 4)
            }
        };
        if at + width as u32 > size {
            continue;
        }
        let offset = cells.file_offset(cell) + at as usize;
        bytes[offset..offset + width].copy_from_slice(&value.to_le_bytes()[..width]);
        what.push_str(&format!("{} at {cell:#x}, offset {at}: {value:#x} ({width} bytes); ", info.name));
    }
    sign(&mut bytes, |_| {});
    (bytes, what)
}

/// Tries one forged file; a panic is a failure of its own.
fn try_forged(bytes: &[u8]) -> &'static str {
    let outcome = catch_unwind(AssertUnwindSafe(|| open_bytes(bytes)));
    let snapshot = match outcome {
        Ok(Ok(snapshot)) => snapshot,
        Ok(Err(_)) => return "refused",
        Err(_) => return "open-panicked",
    };
    let ran = catch_unwind(AssertUnwindSafe(|| {
        let options = RealmOptions { fuel: 2_000_000, memory_bytes_max: 64 << 20, seed: Some(1), ..Default::default() };
        let Ok(mut realm) = snapshot.new_realm(&options) else { return };
        for script in [
            "1 + 1",
            "run()",
            "run()",
            "var fresh = { a: 1 }; fresh.b = [1, 2].map(x => x + 1); class X extends Derived {} new X().m(); String(fresh)",
        ] {
            let _ = realm.eval(script, "use.js");
        }
        realm.engine().collect();
    }));
    if ran.is_ok() { "ran" } else { "run-panicked" }
}

/// The child's half: rounds from the variable until it is done or dead, each announced before it is tried.
fn child(range: &str, with_code: bool) {
    std::panic::set_hook(Box::new(|info| {
        println!("\npanic: {}", info.to_string().replace('\n', " "));
    }));
    let (from, to) = range.split_once("..").expect("a range");
    let (from, to): (u64, u64) = (from.parse().expect("a number"), to.parse().expect("a number"));
    let base = std::fs::read(std::env::var("ZJS_FORGE_BASE").expect("the base file")).expect("read");
    let cells = Cells::find(&base);
    static ROUND: AtomicU64 = AtomicU64::new(u64::MAX);
    std::thread::spawn(|| {
        let mut last = (u64::MAX, Instant::now());
        loop {
            std::thread::sleep(Duration::from_millis(500));
            let round = ROUND.load(Ordering::Relaxed);
            if round != last.0 {
                last = (round, Instant::now());
            } else if last.1.elapsed() > Duration::from_secs(10) {
                println!("\nhangs");
                std::process::abort();
            }
        }
    });
    for round in from..to {
        ROUND.store(round, Ordering::Relaxed);
        let (bytes, what) = forge(&base, &cells, round, with_code);
        println!("\nround {round} {what}");
        std::io::stdout().flush().expect("flushed");
        println!("\noutcome {}", try_forged(&bytes));
    }
}

#[test]
fn forged_files_are_refused_or_harmless() {
    forge_in_children("forged_files_are_refused_or_harmless", false, 1500);
}

/// Operands, constants and templates: what the verifier does not prove, the interpreter checks at use.
#[test]
fn forged_code_is_refused_or_harmless() {
    forge_in_children("forged_code_is_refused_or_harmless", true, 1500);
}

fn forge_in_children(test: &str, with_code: bool, rounds: u64) {
    if let Ok(range) = std::env::var("ZJS_FORGE") {
        child(&range, with_code);
        return;
    }
    let rounds: u64 = std::env::var("ZJS_FORGE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(rounds);
    let base = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(base.path(), snapshot_bytes(APPLICATION, false)).expect("written");
    let mut problems = Vec::new();
    let mut counts = std::collections::BTreeMap::<String, u32>::new();
    let mut from = std::env::var("ZJS_FORGE_FROM").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
    while from < rounds {
        let mut process = Command::new(std::env::current_exe().expect("this binary"))
            .args([test, "--exact", "--nocapture", "--include-ignored"])
            .env("ZJS_FORGE", format!("{from}..{rounds}"))
            .env("ZJS_FORGE_BASE", base.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("a child");
        let mut current = String::new();
        let mut notes = String::new();
        let start = from;
        for line in BufReader::new(process.stdout.take().expect("its output")).lines().map_while(Result::ok) {
            if let Some(rest) = line.strip_prefix("round ") {
                current = rest.to_string();
                notes.clear();
                from = rest.split(' ').next().and_then(|n| n.parse::<u64>().ok()).expect("a number") + 1;
            } else if let Some(outcome) = line.strip_prefix("outcome ") {
                *counts.entry(outcome.into()).or_default() += 1;
                if outcome.contains("panicked") {
                    problems.push(format!("round {current}: {outcome}: {notes}"));
                }
                current.clear();
            } else if line.starts_with("panic: ") || line == "hangs" {
                notes.push_str(&line);
            }
        }
        let status = process.wait().expect("waited");
        if !status.success() {
            *counts.entry("died".into()).or_default() += 1;
            problems.push(format!("round {current}: died ({status}) {notes}"));
        }
        assert!(from > start || status.success(), "the child does not start: {status}");
    }
    eprintln!("forged files: {counts:?}");
    assert!(problems.is_empty(), "{} of {rounds}:\n{}", problems.len(), problems.join("\n"));
}
