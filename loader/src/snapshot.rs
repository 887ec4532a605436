//! Opening snapshots.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use memmap2::Mmap;
use xxhash_rust::xxh3::xxh3_128;
use zjs_engine::cage::{CageError, CageMemory, PAGE_BYTES};
use zjs_engine::host::HostFunctions;
use zjs_engine::image::{Header, HeaderError, SegmentKind, prototype_filter};
use zjs_engine::realm::{NativeCode, Realm as EngineRealm, RealmOptions};

use crate::map::{CodeMapping, MappingStrategy, map_image, sealed_copy};
use crate::metadata;
use crate::realm::{Realm, RealmError};

/// Why a snapshot cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path}: {source}")]
    Header { path: PathBuf, source: HeaderError },
    #[error("{path}: segment {segment} is damaged (checksum {found:032x}, expected {expected:032x})")]
    Checksum { path: PathBuf, segment: &'static str, found: u128, expected: u128 },
    #[error("{path}: {what}")]
    Invalid { path: PathBuf, what: String },
    #[error(
        "{path} needs the host function `{name}` with {expected} parameter(s), {}",
        .found.map_or("which is not registered".to_string(), |n| format!("registered is one with {n}"))
    )]
    HostFunction { path: PathBuf, name: String, expected: u32, found: Option<u32> },
    #[error("{path}: {source}")]
    Cage { path: PathBuf, source: CageError },
}

/// How to open a snapshot.
#[derive(Clone, Default)]
pub struct OpenOptions {
    /// What the image's host functions resolve to, by name.
    pub host_functions: HostFunctions,
    /// `None`: a sealed copy for `open`, the file itself for `open_trusted`. Only `open_trusted` maps the file.
    pub strategy: Option<MappingStrategy>,
}

pub(crate) struct Inner {
    pub(crate) header: Header,
    pub(crate) bytes: Mmap,
    file: File,
    strategy: MappingStrategy,
    pub(crate) filter: [u64; 64],
    host_functions: Arc<HostFunctions>,
    code: Option<Arc<CodeMapping>>,
    /// Compiled regular expressions whose patterns lie in the image.
    regexps: Arc<zjs_engine::builtins::regexp_cache::SharedPrograms>,
}

/// An open snapshot: cheap to clone, shared by threads.
#[derive(Clone)]
pub struct Snapshot {
    pub(crate) inner: Arc<Inner>,
}

impl std::fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Snapshot").field("strategy", &self.inner.strategy).finish_non_exhaustive()
    }
}

impl Snapshot {
    /// Opens a snapshot from anywhere: checks header and checksums, verifies the whole image, and drops its
    /// native code (which cannot be verified). The image is mapped from a sealed copy.
    ///
    /// # Errors
    /// See [`OpenError`]; no bytes whatsoever lead to a panic or undefined behaviour.
    pub fn open(path: impl AsRef<Path>) -> Result<Snapshot, OpenError> {
        Snapshot::open_with(path, OpenOptions::default())
    }

    /// [`Snapshot::open`] with options.
    ///
    /// # Errors
    /// As `open`; [`OpenError::HostFunction`] where the image needs one that is not there;
    /// [`OpenError::Invalid`] for the strategy `file`, under which the bytes could change after the check.
    pub fn open_with(path: impl AsRef<Path>, options: OpenOptions) -> Result<Snapshot, OpenError> {
        let path = path.as_ref();
        let strategy = options.strategy.unwrap_or(MappingStrategy::Memfd);
        if strategy == MappingStrategy::File {
            let what = "mapping the file itself needs `open_trusted`: it could change after it was verified".into();
            return Err(OpenError::Invalid { path: path.into(), what });
        }
        let io = |source| OpenError::Io { path: path.into(), source };
        let bytes = std::fs::read(path).map_err(io)?;
        let header = Header::read(&bytes, bytes.len() as u64)
            .map_err(|source| OpenError::Header { path: path.into(), source })?;
        check_segments(path, &header, &bytes)?;
        crate::verify::verify(&header, &bytes).map_err(|what| OpenError::Invalid { path: path.into(), what })?;
        // Verified is what was read, so what was read is what gets mapped.
        let file = sealed_copy(&bytes).map_err(io)?;
        Snapshot::finish(path, file, header, options.host_functions, strategy, false)
    }

    /// Opens a snapshot that the caller vouches for: only the header page is checked, native code is used.
    ///
    /// # Safety
    /// The file was written by `zjs-snapshot` of this build and is neither changed in place nor truncated
    /// while the snapshot or a realm of it lives (replacing it by renaming another file over it is fine).
    ///
    /// # Errors
    /// See [`OpenError`].
    pub unsafe fn open_trusted(path: impl AsRef<Path>, options: OpenOptions) -> Result<Snapshot, OpenError> {
        let path = path.as_ref();
        let strategy = options.strategy.unwrap_or(MappingStrategy::File);
        let io = |source| OpenError::Io { path: path.into(), source };
        let file = File::open(path).map_err(io)?;
        let file = match strategy {
            MappingStrategy::File => file,
            MappingStrategy::Memfd | MappingStrategy::Copy => {
                sealed_copy(&std::fs::read(path).map_err(io)?).map_err(io)?
            }
        };
        let bytes = file.metadata().map_err(io)?.len();
        let mut page = vec![0u8; PAGE_BYTES as usize];
        let got = std::os::unix::fs::FileExt::read_at(&file, &mut page, 0).map_err(io)?;
        let header =
            Header::read(&page[..got], bytes).map_err(|source| OpenError::Header { path: path.into(), source })?;
        Snapshot::finish(path, file, header, options.host_functions, strategy, true)
    }

    fn finish(
        path: &Path,
        file: File,
        header: Header,
        host: HostFunctions,
        strategy: MappingStrategy,
        with_code: bool,
    ) -> Result<Snapshot, OpenError> {
        // SAFETY: the file is a sealed memory file, or the caller vouched for it (strategy `File`).
        let bytes = unsafe { Mmap::map(&file) }.map_err(|source| OpenError::Io { path: path.into(), source })?;
        let host_functions = resolve_host_functions(path, &header, &bytes, host)?;
        let filter = prototype_filter(&root_rows(&header, &bytes));
        let code = match header.segment(SegmentKind::Code) {
            Some(segment) if with_code && segment.bytes > 0 => Some(Arc::new(
                CodeMapping::map(segment, &file).map_err(|source| OpenError::Cage { path: path.into(), source })?,
            )),
            _ => None,
        };
        let host_functions = Arc::new(host_functions);
        let regexps = Arc::default();
        let inner = Inner { header, bytes, file, strategy, filter, host_functions, code, regexps };
        Ok(Snapshot { inner: Arc::new(inner) })
    }

    /// A new realm in a mapping of its own, made on any thread.
    ///
    /// # Errors
    /// When the kernel refuses memory.
    pub fn new_realm(&self, options: &RealmOptions) -> Result<Realm, RealmError> {
        Ok(Realm::from_engine(self.new_engine_realm(options)?))
    }

    pub(crate) fn new_engine_realm(&self, options: &RealmOptions) -> Result<EngineRealm, CageError> {
        let inner = &*self.inner;
        let memory = CageMemory::reserve(inner.header.roots.image_end)?;
        map_image(&memory, &inner.header, &inner.file, &inner.bytes, inner.strategy)?;
        // SAFETY: the mapped image is the one that the header describes: verified by `open`, vouched for by
        // the caller of `open_trusted`.
        let mut realm = unsafe { EngineRealm::from_parts(memory, inner.header.roots, &inner.filter, options) };
        self.equip(&mut realm);
        Ok(realm)
    }

    /// What a realm gets from its snapshot beside the image.
    pub(crate) fn equip(&self, realm: &mut EngineRealm) {
        realm.host_functions = self.inner.host_functions.clone();
        realm.shared_programs = Some(self.inner.regexps.clone());
        realm.native = self.inner.code.clone().map(|code| code as Arc<dyn NativeCode>);
        #[cfg(feature = "compiler")]
        {
            realm.compiler = Some(compiler());
        }
    }

    /// The strategy in use.
    pub fn strategy(&self) -> MappingStrategy {
        self.inner.strategy
    }

    /// The header page.
    pub fn header(&self) -> &Header {
        &self.inner.header
    }

    /// The bytes of a segment.
    pub fn segment_bytes(&self, kind: SegmentKind) -> &[u8] {
        match self.inner.header.segment(kind) {
            Some(s) => &self.inner.bytes[s.file_offset as usize..(s.file_offset + s.bytes) as usize],
            None => &[],
        }
    }

    /// Original bytes of a page of the image (cage page number), for tests and reports.
    pub fn image_page(&self, number: u32) -> &[u8] {
        zjs_engine::realm::ImagePages::page(&*self.inner, number)
    }

    /// What the snapshot says about itself.
    ///
    /// # Errors
    /// When the metadata segment is damaged.
    pub fn metadata(&self) -> Result<&metadata::ArchivedMetadata, String> {
        metadata::access(self.segment_bytes(SegmentKind::Metadata))
    }
}

#[cfg(feature = "compiler")]
fn compiler() -> Arc<dyn zjs_engine::bytecode::template::SourceCompiler> {
    static COMPILER: std::sync::OnceLock<Arc<zjs_compiler::Compiler>> = std::sync::OnceLock::new();
    COMPILER.get_or_init(|| Arc::new(zjs_compiler::Compiler)).clone()
}

impl zjs_engine::realm::ImagePages for Inner {
    fn page(&self, number: u32) -> &[u8] {
        let address = number * PAGE_BYTES;
        for segment in &self.header.segments {
            if matches!(segment.kind, SegmentKind::Frozen | SegmentKind::Writable)
                && address >= segment.cage_offset
                && u64::from(address - segment.cage_offset) < segment.bytes
            {
                let at = (segment.file_offset + u64::from(address - segment.cage_offset)) as usize;
                return &self.bytes[at..at + PAGE_BYTES as usize];
            }
        }
        &[]
    }
}

fn check_segments(path: &Path, header: &Header, bytes: &[u8]) -> Result<(), OpenError> {
    for segment in &header.segments {
        let content = &bytes[segment.file_offset as usize..(segment.file_offset + segment.bytes) as usize];
        let found = xxh3_128(content);
        if found != segment.xxh3 {
            return Err(OpenError::Checksum {
                path: path.into(),
                segment: segment.kind.name(),
                found,
                expected: segment.xxh3,
            });
        }
    }
    Ok(())
}

/// The words of the frozen root table.
fn root_rows(header: &Header, bytes: &[u8]) -> Vec<u32> {
    let table = header.roots.root_table.0;
    let Some(segment) = header.segment(SegmentKind::Frozen) else { return Vec::new() };
    let read = |address: u32| -> u32 {
        let at = (u64::from(address.wrapping_sub(segment.cage_offset)) + segment.file_offset) as usize;
        bytes.get(at..at + 4).map_or(u32::MAX, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    };
    if table == 0 {
        return Vec::new();
    }
    let count = read(table + 4);
    if u64::from(count) * 4 > segment.bytes {
        return Vec::new();
    }
    (0..count).map(|i| read(table + 8 + 4 * i)).collect()
}

/// Host functions in the order of the image's numbers, then whatever else the embedder registered.
fn resolve_host_functions(
    path: &Path,
    header: &Header,
    bytes: &[u8],
    host: HostFunctions,
) -> Result<HostFunctions, OpenError> {
    let Some(segment) = header.segment(SegmentKind::Metadata) else { return Ok(host) };
    let content = &bytes[segment.file_offset as usize..(segment.file_offset + segment.bytes) as usize];
    let metadata = metadata::access(content)
        .map_err(|what| OpenError::Invalid { path: path.into(), what: format!("metadata: {what}") })?;
    let mut ordered = HostFunctions::default();
    for needed in metadata.host_functions.iter() {
        let (name, expected) = (needed.name.to_string(), needed.arity.to_native());
        let found = host.functions.iter().find(|f| f.name == name);
        match found {
            Some(function) if function.arity == expected => ordered.functions.push(function.clone()),
            other => {
                let found = other.map(|f| f.arity);
                return Err(OpenError::HostFunction { path: path.into(), name, expected, found });
            }
        }
    }
    for function in host.functions {
        if ordered.find(&function.name).is_none() {
            ordered.functions.push(function);
        }
    }
    Ok(ordered)
}
