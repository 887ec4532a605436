//! What the loader's tests share: snapshots made in place, and the kernel's record of private pages.
#![allow(dead_code)] // each test binary uses its part

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::cage::PAGE_BYTES;
use zjs_engine::host::HostFunctions;
use zjs_engine::realm::{Realm as EngineRealm, Throw};
use zjs_engine::value::Value;
use zjs_loader::{OpenError, OpenOptions, Realm, Snapshot};
use zjs_snapshotter::build::{finish, new_build_realm};

/// The bytes of a snapshot with `source` evaluated.
pub fn snapshot_bytes(source: &str, host: HostFunctions, native: bool) -> Vec<u8> {
    let mut realm = new_build_realm(host).expect("a build realm");
    let result = realm.evaluate(source, "app.js", &SourceKind::Script).and_then(|_| realm.run_jobs());
    if let Err(Throw) = result {
        let exception = std::mem::replace(&mut realm.exception, Value::UNDEFINED);
        panic!("building: {:?}", realm.describe_exception(exception));
    }
    finish(realm, vec!["app.js".into()], native, |_| {}).unwrap_or_else(|e| panic!("building: {e}")).bytes
}

/// Opens bytes through a file that is gone afterwards.
pub fn open_bytes(bytes: &[u8], options: OpenOptions) -> Result<Snapshot, OpenError> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("written");
    Snapshot::open_with(file.path(), options)
}

/// Opens bytes with their native code.
pub fn open_trusted(bytes: &[u8], options: OpenOptions) -> Snapshot {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("written");
    // SAFETY: the bytes come from this build's snapshotter, and nobody else knows the file.
    unsafe { Snapshot::open_trusted(file.path(), options) }.expect("opens")
}

/// A snapshot with `source` evaluated and no host functions.
pub fn snapshot(source: &str) -> Snapshot {
    open_bytes(&snapshot_bytes(source, HostFunctions::default(), false), OpenOptions::default()).expect("opens")
}

/// Pages of `start..end` (cage offsets) that the kernel says are private copies (or anonymous) of this realm:
/// present (bit 63) or swapped (62), and neither a file's page nor shared (61).
pub fn private_pages(engine: &EngineRealm, start: u32, end: u32) -> Vec<u32> {
    let file = std::fs::File::open("/proc/self/pagemap").expect("pagemap");
    let first = (engine.cage.base_address() as u64 + u64::from(start)) / u64::from(PAGE_BYTES);
    let count = ((end - start) / PAGE_BYTES) as usize;
    let mut bytes = vec![0u8; 8 * count];
    std::os::unix::fs::FileExt::read_exact_at(&file, &mut bytes, 8 * first).expect("pagemap entries");
    let entries = bytes.chunks_exact(8).map(|b| u64::from_le_bytes(b.try_into().expect("eight bytes")));
    entries
        .enumerate()
        .filter(|(_, entry)| entry >> 62 != 0 && entry >> 61 & 1 == 0)
        .map(|(i, _)| start / PAGE_BYTES + i as u32)
        .collect()
}

/// Pages of the image whose bytes differ from the snapshot's.
pub fn changed_pages(snapshot: &Snapshot, realm: &mut Realm) -> Vec<u32> {
    let engine = realm.engine();
    let pages = 1..engine.frozen.image_end / PAGE_BYTES;
    pages.filter(|&page| engine.cage.bytes(page * PAGE_BYTES, PAGE_BYTES) != snapshot.image_page(page)).collect()
}
