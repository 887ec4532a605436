//! The cache of the bare snapshot: where it lies, and the record beside it.
//!
//! The record is a small bincode file, written after the snapshot; a snapshot without a record that fits is
//! built again. This module is the only user of bincode (see deny.toml).

use std::path::{Path, PathBuf};

use bincode::config::standard;

use crate::write::{WriteError, write_whole};

/// What is known of a cached snapshot.
#[derive(bincode::Encode, bincode::Decode, Debug, Clone, PartialEq, Eq)]
pub struct CacheRecord {
    /// Layout fingerprint of the zjs that made it.
    pub fingerprint: u128,
    /// Bytes of the snapshot file.
    pub file_bytes: u64,
}

/// The folder for cached snapshots: `ZJS_CACHE_DIR`, else the user's cache folder, else a temporary one.
pub fn folder() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("ZJS_CACHE_DIR")
        .or_else(|| variable("XDG_CACHE_HOME").map(|p| p.join("zjs")))
        .or_else(|| variable("HOME").map(|p| p.join(".cache/zjs")))
        .unwrap_or_else(|| std::env::temp_dir().join("zjs-cache"))
}

fn record_path(snapshot: &Path) -> PathBuf {
    snapshot.with_extension("record")
}

/// Whether the snapshot at `path` is there, whole, and has the record that was written with it.
pub fn is_valid(path: &Path, fingerprint: u128) -> bool {
    let Ok(bytes) = std::fs::read(record_path(path)) else { return false };
    let Ok((record, _)) = bincode::decode_from_slice::<CacheRecord, _>(&bytes, standard()) else { return false };
    let file_bytes = std::fs::metadata(path).map_or(0, |m| m.len());
    record == CacheRecord { fingerprint, file_bytes }
}

/// Writes the snapshot and then its record.
///
/// # Errors
/// When the folder cannot be made or written.
pub fn store(path: &Path, bytes: &[u8], fingerprint: u128) -> Result<(), WriteError> {
    let io = |source| WriteError::Io { path: path.into(), source };
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(io)?;
    }
    crate::write::write_file(path, bytes)?;
    let record = CacheRecord { fingerprint, file_bytes: bytes.len() as u64 };
    let encoded = bincode::encode_to_vec(&record, standard()).map_err(|e| WriteError::Metadata(e.to_string()))?;
    write_whole(&record_path(path), &encoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_truncated_or_foreign_file_is_not_valid() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("sub/bare.zsnap");
        let bytes = vec![7u8; 8192];
        store(&path, &bytes, 42).expect("stored");
        assert!(is_valid(&path, 42));
        assert!(!is_valid(&path, 43));
        std::fs::write(&path, &bytes[..5000]).expect("truncated");
        assert!(!is_valid(&path, 42));
        std::fs::write(record_path(&path), [0xFF; 3]).expect("damaged");
        assert!(!is_valid(&path, 42));
    }
}
