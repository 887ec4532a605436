//! `zjs-snapshot inspect`: what is in a snapshot.

use std::collections::{BTreeMap, HashMap, VecDeque};

use serde::Serialize;
use zjs_engine::cage::Ref;
use zjs_engine::image::SegmentKind;
use zjs_engine::kinds::{Kind, Tail};
use zjs_engine::names::Intrinsic;
use zjs_engine::objects::Key;
use zjs_engine::realm::{Realm, RealmOptions};
use zjs_engine::value::Value;
use zjs_loader::Snapshot;

/// One segment of the file.
#[derive(Serialize, Debug, PartialEq, Eq, Clone)]
pub struct SegmentReport {
    pub name: String,
    pub bytes: u64,
    pub cage_offset: u32,
    pub xxh3: String,
}

/// Cells of one kind.
#[derive(Serialize, Debug, PartialEq, Eq, Clone, Default)]
pub struct KindReport {
    pub count: u64,
    pub bytes: u64,
}

/// One function.
#[derive(Serialize, Debug, PartialEq, Eq, Clone)]
pub struct FunctionReport {
    pub name: String,
    pub script: String,
    pub line: u32,
    pub bytecode_bytes: u32,
    pub native_bytes: u32,
    pub native_reason: String,
}

/// Bytes that only one property of the global object keeps.
#[derive(Serialize, Debug, PartialEq, Eq, Clone)]
pub struct RetainedReport {
    pub path: String,
    pub bytes: u64,
}

/// Everything that `inspect` says.
#[derive(Serialize, Debug, PartialEq, Eq, Clone)]
pub struct Report {
    pub inputs: Vec<String>,
    pub file_bytes: u64,
    pub segments: Vec<SegmentReport>,
    pub kinds: BTreeMap<String, KindReport>,
    pub globals: Vec<String>,
    pub host_functions: Vec<String>,
    pub shapes: Vec<String>,
    pub strings: Vec<String>,
    pub functions: Vec<FunctionReport>,
    pub retained: Vec<RetainedReport>,
}

/// Longest list of retained paths in a report.
const RETAINED_MAX: usize = 20;

/// Looks into an open snapshot.
///
/// # Errors
/// When a realm cannot be made or the metadata is damaged.
pub fn inspect(snapshot: &Snapshot) -> Result<Report, String> {
    let metadata = snapshot.metadata()?;
    let mut realm = snapshot.new_realm(&RealmOptions::default()).map_err(|e| e.to_string())?;
    let realm = realm.engine();
    let cells = image_cells(realm, snapshot);
    let mut kinds: BTreeMap<String, KindReport> = BTreeMap::new();
    for &cell in &cells {
        let entry = kinds.entry(realm.cage.kind(cell).info().name.to_string()).or_default();
        entry.count += 1;
        entry.bytes += realm.cage.cell_bytes(cell);
    }
    let header = snapshot.header();
    Ok(Report {
        inputs: metadata.build.inputs.iter().map(|s| s.to_string()).collect(),
        file_bytes: header.segments.iter().map(|s| s.bytes).sum::<u64>() + u64::from(zjs_engine::cage::PAGE_BYTES),
        segments: header
            .segments
            .iter()
            .map(|s| SegmentReport {
                name: s.kind.name().into(),
                bytes: s.bytes,
                cage_offset: s.cage_offset,
                xxh3: format!("{:032x}", s.xxh3),
            })
            .collect(),
        kinds,
        globals: global_names(realm),
        host_functions: metadata.host_functions.iter().map(|f| format!("{}/{}", f.name, f.arity)).collect(),
        shapes: shape_texts(realm, &cells),
        strings: string_texts(realm, &cells),
        functions: metadata
            .templates
            .iter()
            .map(|t| FunctionReport {
                name: t.name.to_string(),
                script: t.script.to_string(),
                line: t.line.to_native(),
                bytecode_bytes: t.bytecode_bytes.to_native(),
                native_bytes: t.native_bytes.to_native(),
                native_reason: t.native_reason.to_string(),
            })
            .collect(),
        retained: retained(realm),
    })
}

/// Every cell of the image, in address order.
fn image_cells(realm: &Realm, snapshot: &Snapshot) -> Vec<Ref> {
    let mut cells = Vec::new();
    for kind in [SegmentKind::Frozen, SegmentKind::Writable] {
        let Some(segment) = snapshot.header().segment(kind) else { continue };
        let end = segment.cage_offset + segment.bytes as u32;
        let mut at = segment.cage_offset;
        while at < end && realm.cage.read::<u64>(at) != 0 {
            cells.push(Ref(at));
            at += realm.cage.cell_bytes(Ref(at)).next_multiple_of(8) as u32;
        }
    }
    cells
}

fn global_names(realm: &mut Realm) -> Vec<String> {
    let mut names = Vec::new();
    for holder in [realm.global(), realm.intrinsic(Intrinsic::GlobalLexicals)] {
        let shape = realm.shape_of(holder);
        for (key, _) in realm.shape_properties(shape) {
            names.push(realm.key_text(Key::Name(key)));
        }
    }
    names.sort();
    names
}

fn shape_texts(realm: &mut Realm, cells: &[Ref]) -> Vec<String> {
    let mut texts = Vec::new();
    for &cell in cells {
        if realm.cage.is(cell, Kind::Shape) && realm.cage.u32(cell, 24) > 0 {
            let keys: Vec<String> = realm
                .shape_properties(cell)
                .into_iter()
                .map(|(key, info)| format!("{}:{}", realm.key_text(Key::Name(key)), info as u8))
                .collect();
            texts.push(keys.join(" "));
        }
    }
    texts.sort();
    texts
}

fn string_texts(realm: &mut Realm, cells: &[Ref]) -> Vec<String> {
    let mut texts = Vec::new();
    for &cell in cells {
        if matches!(realm.cage.kind(cell), Kind::String8 | Kind::String16) {
            texts.push(realm.view_flat(cell).to_text());
        }
    }
    texts.sort();
    texts
}

/// Calls `each` with every cell that `cell` refers to.
fn edges(realm: &Realm, cell: Ref, mut each: impl FnMut(Ref)) {
    let cage = realm.cage;
    let info = cage.kind(cell).info();
    let mut reference = |r: Ref| {
        if !r.is_null() {
            each(r)
        }
    };
    info.refs.iter().for_each(|&at| reference(cage.r(cell, at)));
    let count = cage.tail_count(cell, info.tail);
    let fixed = info.fixed_bytes;
    let mut values: Vec<Value> = info.values.iter().map(|&at| Value(cage.get(cell, at))).collect();
    match info.tail {
        Tail::Values(_) | Tail::Inline => values.extend((0..count).map(|i| Value(cage.get(cell, fixed + 8 * i)))),
        Tail::Sparse => values.extend((0..cage.u32(cell, 8)).map(|i| Value(cage.get(cell, fixed + 16 * i + 8)))),
        Tail::MapTable => {
            values.extend((0..2 * cage.u32(cell, 8)).map(|i| Value(cage.get(cell, fixed + 8 * i))));
        }
        Tail::PropertyTable => (0..cage.u32(cell, 8)).for_each(|i| reference(cage.r(cell, fixed + 8 * i))),
        _ => {}
    }
    values.iter().filter(|v| v.is_ref()).for_each(|v| reference(v.as_ref()));
}

/// For each property of the global object: bytes that are reachable only through it.
fn retained(realm: &mut Realm) -> Vec<RetainedReport> {
    // A cell belongs to the only global that reaches it, or to nobody when several do or the realm itself does.
    const SHARED: u32 = u32::MAX;
    let mut owner: HashMap<Ref, u32> = HashMap::new();
    let global = realm.global();
    let shape = realm.shape_of(global);
    let properties = realm.shape_properties(shape);
    let record = realm.realm_record();
    let starts: Vec<(u32, Ref)> = std::iter::once((SHARED, record))
        .chain(properties.iter().enumerate().filter_map(|(i, &(_, info))| {
            let value = realm.read_slot(global, shape, info >> 8);
            value.is_ref().then(|| (i as u32, value.as_ref()))
        }))
        .collect();
    // The realm record reaches the global object; what is only behind that is what is asked for.
    let slots = realm.cage.r(global, 8);
    for (id, start) in starts {
        let mut queue = VecDeque::from([start]);
        while let Some(cell) = queue.pop_front() {
            match owner.get(&cell) {
                Some(&known) if known == id || known == SHARED => continue,
                Some(_) => owner.insert(cell, SHARED),
                None => owner.insert(cell, id),
            };
            if id == SHARED && (cell == global || cell == slots) {
                continue;
            }
            edges(realm, cell, |next| {
                if next != global && next != slots {
                    queue.push_back(next);
                }
            });
        }
    }
    let mut bytes = vec![0u64; properties.len()];
    for (&cell, &id) in &owner {
        if id != SHARED {
            bytes[id as usize] += realm.cage.cell_bytes(cell);
        }
    }
    let mut reports: Vec<RetainedReport> = properties
        .iter()
        .zip(bytes)
        .map(|(&(key, _), bytes)| RetainedReport {
            path: format!("globalThis.{}", realm.key_text(Key::Name(key))),
            bytes,
        })
        .filter(|r| r.bytes > 0)
        .collect();
    reports.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| a.path.cmp(&b.path)));
    reports.truncate(RETAINED_MAX);
    reports
}

/// The report as text.
pub fn text(report: &Report) -> String {
    let mut out = String::new();
    let mut line = |s: String| {
        out.push_str(&s);
        out.push('\n');
    };
    line(format!("inputs: {}", report.inputs.join(", ")));
    line(format!("file: {} bytes", report.file_bytes));
    line("segments:".into());
    for s in &report.segments {
        line(format!("  {:<10} {:>10} bytes  at {:#x}", s.name, s.bytes, s.cage_offset));
    }
    line("cells by kind:".into());
    for (name, k) in &report.kinds {
        line(format!("  {name:<16} {:>8}  {:>10} bytes", k.count, k.bytes));
    }
    line(format!(
        "host functions: {}",
        if report.host_functions.is_empty() { "none".into() } else { report.host_functions.join(", ") }
    ));
    line("retained by one global only:".into());
    for r in &report.retained {
        line(format!("  {:<40} {:>10} bytes", r.path, r.bytes));
    }
    let native = report.functions.iter().filter(|f| f.native_bytes > 0).count();
    line(format!("functions: {} ({native} with native code)", report.functions.len()));
    for f in &report.functions {
        let name = if f.name.is_empty() { "(anonymous)" } else { &f.name };
        let what =
            if f.native_bytes > 0 { format!("native, {} bytes", f.native_bytes) } else { f.native_reason.clone() };
        line(format!("  {name} {}:{}  {} bytes of bytecode  {what}", f.script, f.line, f.bytecode_bytes));
    }
    out
}
