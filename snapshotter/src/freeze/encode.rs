//! Writing one item of the image: the cell's bytes with relocated refs and canonical contents.

use zjs_engine::bytecode::install::{NATIVE_ENTRY, NUMBER};
use zjs_engine::bytecode::template::JsStr;
use zjs_engine::cage::Ref;
use zjs_engine::kinds::{Kind, Tail};
use zjs_engine::objects::map_table;
use zjs_engine::realm::Realm;
use zjs_engine::shapes::{DICTIONARY, table};
use zjs_engine::strings::{INTERNED, StrView, intern::content_hash};
use zjs_engine::value::Value;

use super::graph::{Graph, Source, has_table, keeps_ancestors, string_content};
use super::tables;

/// Bytes that item `id` takes in the image, before rounding.
pub(super) fn item_bytes(realm: &mut Realm, graph: &Graph, id: usize) -> usize {
    match graph.source(id) {
        Source::ShapeTable(shape) => table::geometry(realm.shape_properties(shape).len() as u32).0 as usize,
        Source::Intern => tables::intern_bytes(realm, graph),
        Source::Transitions => tables::rows_bytes(graph.transition_rows.len()),
        Source::Roots => tables::rows_bytes(graph.root_rows.len()),
        Source::Cell(cell) => cell_bytes(realm, cell),
    }
}

fn cell_bytes(realm: &mut Realm, cell: Ref) -> usize {
    let cage = realm.cage;
    match cage.kind(cell) {
        Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice => match string_content(realm, cell) {
            JsStr::Latin1(s) => 16 + s.len(),
            JsStr::Utf16(s) => 16 + 2 * s.len(),
        },
        Kind::PropertyTable => table::geometry(table::entries(cage, cell).len() as u32 + 2).0 as usize,
        Kind::ElementsInt => 16 + 4 * (cage.u32(cell, 8) as usize).next_multiple_of(2),
        Kind::ElementsDouble | Kind::ElementsValues => 16 + 8 * cage.u32(cell, 8) as usize,
        Kind::ElementsSparse => 16 + 16 * cage.u32(cell, 8) as usize,
        _ => cage.cell_bytes(cell) as usize,
    }
}

struct Out {
    bytes: Vec<u8>,
}

impl Out {
    fn put32(&mut self, at: u32, value: u32) {
        self.bytes[at as usize..at as usize + 4].copy_from_slice(&value.to_le_bytes());
    }
    fn put64(&mut self, at: u32, value: u64) {
        self.bytes[at as usize..at as usize + 8].copy_from_slice(&value.to_le_bytes());
    }
}

/// The bytes of item `id`.
pub(super) fn encode(realm: &mut Realm, graph: &Graph, id: usize) -> Vec<u8> {
    match graph.source(id) {
        Source::ShapeTable(shape) => {
            let entries = relocated(graph, realm.shape_properties(shape));
            property_table(&entries, entries.len() as u32)
        }
        Source::Intern => tables::intern_table(realm, graph),
        Source::Transitions => tables::transition_table(graph),
        Source::Roots => tables::root_table(graph),
        Source::Cell(cell) => encode_cell(realm, graph, id, cell),
    }
}

fn relocated(graph: &Graph, entries: Vec<(Ref, u32)>) -> Vec<(u32, u32)> {
    entries.into_iter().map(|(key, info)| (graph.address_of(key).unwrap_or_default().0, info)).collect()
}

fn value(graph: &Graph, value: Value) -> u64 {
    if !value.is_ref() {
        return value.0;
    }
    let address = graph.address_of(value.as_ref()).unwrap_or_default();
    value.0 & !0xFFFF_FFFF | u64::from(address.0)
}

fn encode_cell(realm: &mut Realm, graph: &Graph, id: usize, cell: Ref) -> Vec<u8> {
    let cage = realm.cage;
    let kind = cage.kind(cell);
    match kind {
        Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice => return encode_string(realm, cell),
        Kind::PropertyTable => {
            let entries = relocated(graph, table::entries(cage, cell));
            return property_table(&entries, entries.len() as u32 + 2);
        }
        _ => {}
    }
    let bytes = cell_bytes(realm, cell);
    let mut out = Out { bytes: cage.bytes(cell.0, bytes as u32).to_vec() };
    let info = kind.info();
    for &at in info.refs {
        out.put32(at, graph.address_of(cage.r(cell, at)).unwrap_or_default().0);
    }
    for &at in info.values {
        out.put64(at, value(graph, Value(cage.get(cell, at))));
    }
    let fixed = info.fixed_bytes;
    match info.tail {
        Tail::Values(_) | Tail::Inline => {
            let count = match kind {
                Kind::ElementsValues => {
                    out.put32(4, cage.u32(cell, 8));
                    cage.u32(cell, 8)
                }
                _ => cage.tail_count(cell, info.tail),
            };
            for i in 0..count {
                out.put64(fixed + 8 * i, value(graph, Value(cage.get(cell, fixed + 8 * i))));
            }
        }
        Tail::Words32(_) if kind == Kind::ElementsInt => {
            let used = cage.u32(cell, 8);
            out.put32(4, used.next_multiple_of(2));
            if !used.is_multiple_of(2) {
                out.put32(fixed + 4 * used, 0);
            }
        }
        Tail::Words64(_) => out.put32(4, cage.u32(cell, 8)),
        Tail::Sparse => {
            out.put32(4, cage.u32(cell, 8));
            for i in 0..cage.u32(cell, 8) {
                out.put64(fixed + 16 * i + 8, value(graph, Value(cage.get(cell, fixed + 16 * i + 8))));
            }
        }
        Tail::Refs(at) => {
            for i in 0..cage.u32(cell, at) {
                let r = cage.r(cell, fixed + 4 * i);
                out.put32(fixed + 4 * i, graph.address_of(r).unwrap_or_default().0);
            }
        }
        Tail::MapTable => encode_map_table(realm, graph, cell, &mut out),
        _ => {}
    }
    encode_special(realm, graph, id, cell, kind, &mut out);
    out.bytes
}

/// Fields that are not plain copies.
fn encode_special(realm: &Realm, graph: &Graph, id: usize, cell: Ref, kind: Kind, out: &mut Out) {
    let cage = realm.cage;
    match kind {
        Kind::Shape if cage.flags(cell) & DICTIONARY == 0 => {
            if !keeps_ancestors(realm, cell) {
                out.put32(4, 0);
                out.put32(8, 0);
            }
            let table =
                if has_table(realm, cell) { graph.special_address(Source::ShapeTable(cell)) } else { Ref::NULL };
            out.put32(20, table.0);
        }
        Kind::Template => {
            out.put32(NUMBER, graph.template_number(id));
            out.put32(NATIVE_ENTRY, 0);
        }
        Kind::WeakRef => {
            let target = Value(cage.get(cell, 16));
            let kept = target.is_ref() && graph.address_of(target.as_ref()).is_some();
            out.put64(16, if kept { value(graph, target) } else { Value::UNDEFINED.0 });
        }
        Kind::HostFunction => {
            let name = realm.view_flat(cage.r(cell, 24)).to_text();
            let number = graph.host_functions().iter().position(|(n, _)| *n == name).unwrap_or(0);
            out.put32(16, number as u32);
        }
        // Unused bytes between the fixed fields must not carry history.
        Kind::Symbol => out.put64(8, 0),
        _ => {}
    }
}

fn encode_string(realm: &mut Realm, cell: Ref) -> Vec<u8> {
    let content = string_content(realm, cell);
    let (kind, view) = match &content {
        JsStr::Latin1(s) => (Kind::String8, StrView::Latin1(s)),
        JsStr::Utf16(s) => (Kind::String16, StrView::Utf16(s)),
    };
    let mut bytes = Vec::with_capacity(16 + view.len());
    bytes.extend_from_slice(&[kind as u8, INTERNED, 0, 0]);
    bytes.extend_from_slice(&(view.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&content_hash(view).to_le_bytes());
    bytes.extend_from_slice(&view.array_index().unwrap_or(u32::MAX).to_le_bytes());
    match &content {
        JsStr::Latin1(s) => bytes.extend_from_slice(s),
        JsStr::Utf16(s) => s.iter().for_each(|u| bytes.extend_from_slice(&u.to_le_bytes())),
    }
    bytes
}

/// A `PropertyTable` cell with these (key address, info) entries.
fn property_table(entries: &[(u32, u32)], capacity: u32) -> Vec<u8> {
    let capacity = capacity.max(entries.len() as u32);
    let (bytes, mask) = table::geometry(capacity);
    let mut out = Out { bytes: vec![0; bytes as usize] };
    out.put32(0, Kind::PropertyTable as u32);
    out.put32(4, capacity);
    out.put32(8, entries.len() as u32);
    out.put32(12, entries.len() as u32);
    out.put32(16, mask);
    let index = 24 + 8 * capacity;
    let read = |out: &Out, at: u32| {
        let at = at as usize;
        u32::from_le_bytes([out.bytes[at], out.bytes[at + 1], out.bytes[at + 2], out.bytes[at + 3]])
    };
    for (i, &(key, info)) in entries.iter().enumerate() {
        out.put32(24 + 8 * i as u32, key);
        out.put32(24 + 8 * i as u32 + 4, info);
        let mut slot = table::hash(Ref(key)) & mask;
        while read(&out, index + 4 * slot) != 0 {
            slot = (slot + 1) & mask;
        }
        out.put32(index + 4 * slot, i as u32 + 1);
    }
    out.bytes
}

/// Entries stay where they are (iterators count them); the index is rebuilt for the new refs and the fixed seed.
fn encode_map_table(realm: &Realm, graph: &Graph, cell: Ref, out: &mut Out) {
    let cage = realm.cage;
    let (capacity, used, mask) = (cage.u32(cell, 4), cage.u32(cell, 8), cage.u32(cell, 16));
    let index = 32 + 16 * capacity;
    for i in index..out.bytes.len() as u32 {
        out.bytes[i as usize] = 0;
    }
    out.put32(20, cage.u32(cell, 20) | map_table::FIXED_SEED);
    for i in 0..used {
        let at = 32 + 16 * i;
        let key = Value(cage.get(cell, at));
        out.put64(at, value(graph, key));
        out.put64(at + 8, value(graph, Value(cage.get(cell, at + 8))));
        if key.is_hole() {
            continue;
        }
        let hash = if key.is_bigint() {
            map_table::bigint_hash(cage, key.as_ref())
        } else {
            map_table::key_hash(Value(value(graph, key)), 0)
        };
        let mut slot = hash & mask;
        loop {
            let place = (index + 4 * slot) as usize;
            if out.bytes[place..place + 4] == [0; 4] {
                out.put32(index + 4 * slot, i + 1);
                break;
            }
            slot = (slot + 1) & mask;
        }
    }
    for i in used..capacity {
        out.put64(32 + 16 * i, 0);
        out.put64(40 + 16 * i, 0);
    }
}
