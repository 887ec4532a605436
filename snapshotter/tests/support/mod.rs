//! What the snapshotter's tests share: snapshots made in place, and the command.
#![allow(dead_code)] // each test binary uses its part

use std::path::Path;
use std::process::{Command, Output};

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::realm::Throw;
use zjs_engine::value::Value;
use zjs_loader::{OpenError, OpenOptions, Snapshot};
use zjs_snapshotter::build::{finish, new_build_realm};
use zjs_snapshotter::host::command_functions;

/// The bytes of a snapshot with `source` evaluated.
pub fn snapshot_bytes(source: &str, native: bool) -> Vec<u8> {
    let mut realm = new_build_realm(command_functions()).expect("a build realm");
    let result = realm.evaluate(source, "app.js", &SourceKind::Script).and_then(|_| realm.run_jobs());
    if let Err(Throw) = result {
        let exception = std::mem::replace(&mut realm.exception, Value::UNDEFINED);
        panic!("building: {:?}", realm.describe_exception(exception));
    }
    finish(realm, vec!["app.js".into()], native, |_| {}).unwrap_or_else(|e| panic!("building: {e}")).bytes
}

/// Opens a file with the command's host functions.
pub fn open(path: &Path) -> Result<Snapshot, OpenError> {
    Snapshot::open_with(path, OpenOptions { host_functions: command_functions(), ..Default::default() })
}

/// Opens bytes through a file that is gone afterwards.
pub fn open_bytes(bytes: &[u8]) -> Result<Snapshot, OpenError> {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), bytes).expect("written");
    open(file.path())
}

/// Runs `zjs-snapshot` in `folder`, with a cache folder of its own.
pub fn command(folder: &Path, args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_zjs-snapshot"))
        .args(args)
        .current_dir(folder)
        .env("ZJS_CACHE_DIR", folder.join("cache"))
        .output()
        .expect("the command starts")
}
