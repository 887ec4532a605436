//! Performance facts as snapshots in git: a change of any of them shows as a diff.

mod support;

use support::{open_bytes, snapshot_bytes};
use zjs_engine::cage::{HEAP_END, PAGE_BYTES, STACK_END};
use zjs_engine::image::SegmentKind;
use zjs_engine::realm::RealmOptions;
use zjs_loader::{Realm, Snapshot};

fn bare() -> Snapshot {
    open_bytes(&snapshot_bytes("", false)).expect("opens")
}

/// Number of pages of `start..end` that are the process's own, by the kernel.
fn private_pages(realm: &mut Realm, start: u32, end: u32) -> usize {
    let file = std::fs::File::open("/proc/self/pagemap").expect("pagemap");
    let first = (realm.engine().cage.base_address() as u64 + u64::from(start)) / u64::from(PAGE_BYTES);
    let mut bytes = vec![0u8; 8 * ((end - start) / PAGE_BYTES) as usize];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 8 * first).expect("pagemap entries");
    let entries = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
    entries.filter(|entry| entry >> 62 != 0 && entry >> 61 & 1 == 0).count()
}

#[test]
fn bytes_of_the_bare_image() {
    let snapshot = bare();
    let rows: String =
        snapshot.header().segments.iter().map(|s| format!("{:<10} {:>8}\n", s.kind.name(), s.bytes)).collect();
    insta::assert_snapshot!(rows);
}

#[test]
fn pages_of_a_realm() {
    let snapshot = bare();
    let mut out = String::new();
    for (what, source) in [
        ("new realm", ""),
        ("1+1", "1+1"),
        ("one global", "var x = 1"),
        ("one function called", "function f(a) { return a + 1; } f(1)"),
        ("hello", "[1, 2, 3].map(function (x) { return x * 2; }).join()"),
    ] {
        let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
        if !source.is_empty() {
            realm.eval(source, "fact.js").expect("runs");
        }
        let image_end = realm.engine().frozen.image_end;
        let dirty: Vec<u32> = realm.engine().dirty_pages().collect();
        let (image, heap, rest) = (
            private_pages(&mut realm, PAGE_BYTES, image_end),
            private_pages(&mut realm, image_end, HEAP_END),
            private_pages(&mut realm, HEAP_END, STACK_END),
        );
        assert_eq!(image, dirty.len(), "{what}: the kernel's count and ours");
        out.push_str(&format!("{what:<20} image {image}, heap {heap}, stack and feedback {rest}\n"));
    }
    let rw = snapshot.header().segment(SegmentKind::Writable).map_or(0, |s| s.bytes / u64::from(PAGE_BYTES));
    out.push_str(&format!("writable image pages  {rw}\n"));
    insta::assert_snapshot!(out);
}
