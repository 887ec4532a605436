//! The frozen tables of an image: interned strings, shape transitions, root shapes.
//!
//! All are open-addressed with linear probing and at most half full, filled in image order, hashed by content
//! (strings) or by image refs (shapes), so every realm of the image finds the same entries at the same place.

use zjs_engine::bytecode::template::JsStr;
use zjs_engine::kinds::Kind;
use zjs_engine::realm::Realm;
use zjs_engine::shapes::frozen_hash;
use zjs_engine::strings::{StrView, intern::content_hash};

use super::graph::{Graph, Source, string_content};

fn slots_for(count: usize) -> usize {
    (count * 2).next_power_of_two().max(8)
}

pub(super) fn intern_bytes(realm: &Realm, graph: &Graph) -> usize {
    8 + 4 * slots_for(graph.string_ids(realm).len())
}

pub(super) fn rows_bytes(rows: usize) -> usize {
    8 + 16 * slots_for(rows)
}

fn put32(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn get32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

pub(super) fn intern_table(realm: &mut Realm, graph: &Graph) -> Vec<u8> {
    let ids = graph.string_ids(realm);
    let slots = slots_for(ids.len());
    let mut bytes = vec![0u8; 8 + 4 * slots];
    put32(&mut bytes, 0, Kind::InternTable as u32);
    put32(&mut bytes, 4, slots as u32);
    for id in ids {
        let Source::Cell(cell) = graph.source(id) else { continue };
        let hash = match &string_content(realm, cell) {
            JsStr::Latin1(s) => content_hash(StrView::Latin1(s)),
            JsStr::Utf16(s) => content_hash(StrView::Utf16(s)),
        };
        let mut slot = hash as usize & (slots - 1);
        while get32(&bytes, 8 + 4 * slot) != 0 {
            slot = (slot + 1) & (slots - 1);
        }
        put32(&mut bytes, 8 + 4 * slot, graph.address(id).0);
    }
    bytes
}

fn rows_table(kind: Kind, rows: impl ExactSizeIterator<Item = [u32; 4]>) -> Vec<u8> {
    let slots = slots_for(rows.len());
    let mut bytes = vec![0xFFu8; 8 + 16 * slots];
    put32(&mut bytes, 0, kind as u32);
    put32(&mut bytes, 4, 4 * slots as u32);
    for row in rows {
        let mut slot = frozen_hash(row[0], row[1], row[2]) as usize & (slots - 1);
        while get32(&bytes, 8 + 16 * slot) != u32::MAX {
            slot = (slot + 1) & (slots - 1);
        }
        for (k, word) in row.into_iter().enumerate() {
            put32(&mut bytes, 8 + 16 * slot + 4 * k, word);
        }
    }
    bytes
}

/// Address of an item, 0 for the "none" marker.
fn address(graph: &Graph, id: u32) -> u32 {
    if id == u32::MAX { 0 } else { graph.address(id as usize).0 }
}

pub(super) fn transition_table(graph: &Graph) -> Vec<u8> {
    rows_table(
        Kind::TransitionTable,
        graph.transition_rows.iter().map(|r| [address(graph, r[0]), address(graph, r[1]), r[2], address(graph, r[3])]),
    )
}

pub(super) fn root_table(graph: &Graph) -> Vec<u8> {
    rows_table(Kind::RootTable, graph.root_rows.iter().map(|r| [address(graph, r[0]), r[1], 0, address(graph, r[3])]))
}
