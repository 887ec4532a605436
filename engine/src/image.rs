//! The snapshot file's header page: what writer and loader agree on.
//!
//! ```text
//! page 0   ELF header (64 bytes) ... at 0x100 the header below, rest zero
//! page 1.. sections, each at a page boundary: frozen, code, rw, and at the tail what is rarely read
//! ```
//!
//! All numbers are little-endian. The magic is written last, so a partial file never loads. Compatibility is
//! decided by [`Header::check`], which destructures without `..`: a new field does not compile until somebody
//! says what it means for old files.

use xxhash_rust::xxh3::xxh3_128;

use crate::cage::PAGE_BYTES;
use crate::realm::FrozenRoots;

/// Where the header starts in page 0.
pub const HEADER_OFFSET: usize = 0x100;
/// First bytes of the header.
pub const MAGIC: [u8; 8] = *b"zjs\x7fsnap";
/// Version of the file format.
pub const FORMAT_VERSION: u32 = 1;
/// Most segments of a file.
pub const SEGMENTS_MAX: usize = 12;

/// What a segment holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum SegmentKind {
    /// Frozen cells: mapped read-only into every cage.
    Frozen = 1,
    /// Native code: mapped read-execute once per process.
    Code = 2,
    /// Writable cells: mapped copy-on-write into every cage.
    Writable = 3,
    /// rkyv archive of names, host functions and the build record.
    Metadata = 4,
    /// ELF section headers and symbols, for tools.
    Elf = 5,
}

impl SegmentKind {
    pub fn from_raw(raw: u32) -> Option<SegmentKind> {
        [Self::Frozen, Self::Code, Self::Writable, Self::Metadata, Self::Elf].into_iter().find(|&k| k as u32 == raw)
    }

    /// Name for reports and ELF sections.
    pub fn name(self) -> &'static str {
        match self {
            SegmentKind::Frozen => ".zjs.ro",
            SegmentKind::Code => ".text",
            SegmentKind::Writable => ".zjs.rw",
            SegmentKind::Metadata => ".zjs.meta",
            SegmentKind::Elf => ".zjs.elf",
        }
    }
}

/// One row of the segment table. Every byte of the file outside page 0 belongs to exactly one segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    pub kind: SegmentKind,
    /// Byte offset in the file, a multiple of the page size.
    pub file_offset: u64,
    /// Bytes, padding to the next page included.
    pub bytes: u64,
    /// Cage offset of the first byte; 0 where the segment is not mapped into cages.
    pub cage_offset: u32,
    /// XXH3-128 of the bytes.
    pub xxh3: u128,
    /// SHA-256 of the bytes, for signatures.
    pub sha256: [u8; 32],
}

/// The header page's content.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Header {
    pub fingerprint: u128,
    pub page_bytes: u32,
    /// 1 = x86-64 System V.
    pub target: u32,
    /// CPU features that the native code needs, as bits (none so far: baseline x86-64).
    pub cpu_features: u64,
    pub roots: FrozenRoots,
    /// Hash over the names and arities of the host functions that the image refers to.
    pub host_functions_hash: u128,
    pub segments: Vec<Segment>,
}

/// Why a file is not a snapshot that this build of zjs can use.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error("not a zjs snapshot (no magic number at offset {HEADER_OFFSET:#x})")]
    Magic,
    #[error("the file is shorter than its header page ({bytes} bytes)")]
    TooShort { bytes: u64 },
    #[error("snapshot format version {found}, this zjs reads version {expected}; build the snapshot again")]
    Version { found: u32, expected: u32 },
    #[error("the header page is damaged (checksum {found:032x}, expected {expected:032x})")]
    Checksum { found: u128, expected: u128 },
    #[error(
        "made by another build of zjs (layout {found:032x}, this build has {expected:032x}); build the snapshot again"
    )]
    Fingerprint { found: u128, expected: u128 },
    #[error("made for another kind of machine ({what} {found}, this machine has {expected})")]
    Machine { what: &'static str, found: u64, expected: u64 },
    #[error("segment table: {0}")]
    Segments(String),
}

/// Hash over everything that gives an image its meaning.
pub const fn layout_fingerprint() -> u128 {
    // A constant of the build: computing it at run time took longer than mapping a snapshot.
    const FINGERPRINT: u128 = compute_fingerprint().0;
    FINGERPRINT
}

/// FNV-1a with 128 bits; simple enough to run in the compiler.
#[derive(Clone, Copy)]
pub(crate) struct Fingerprint(u128);

impl Fingerprint {
    const fn new() -> Fingerprint {
        Fingerprint(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    const fn byte(self, byte: u8) -> Fingerprint {
        Fingerprint((self.0 ^ byte as u128).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b))
    }

    /// Adds a text and its end.
    pub(crate) const fn text(mut self, text: &str) -> Fingerprint {
        let (bytes, mut i) = (text.as_bytes(), 0);
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self.byte(0xFF)
    }

    const fn texts(mut self, texts: &[&str]) -> Fingerprint {
        let mut i = 0;
        while i < texts.len() {
            self = self.text(texts[i]);
            i += 1;
        }
        self.byte(0xFE)
    }

    /// Adds a number.
    pub(crate) const fn number(mut self, number: u64) -> Fingerprint {
        let (bytes, mut i) = (number.to_le_bytes(), 0);
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self
    }
}

const fn compute_fingerprint() -> Fingerprint {
    let mut hash = Fingerprint::new()
        .text(env!("CARGO_PKG_VERSION"))
        .text(crate::kinds::KIND_FINGERPRINT)
        .text(crate::bytecode::opcode::OPCODE_FINGERPRINT)
        .texts(crate::names::NAME_TEXTS)
        .texts(crate::names::SYMBOL_TEXTS)
        .texts(crate::names::INTRINSIC_NAMES);
    let (modules, mut i) = (crate::builtins::MODULES, 0);
    while i < modules.len() {
        let (rows, mut row) = (modules[i], 0);
        while row < rows.len() {
            hash = hash.text(rows[row].name).byte(rows[row].length).byte(rows[row].constructor as u8);
            row += 1;
        }
        hash = hash.byte(0xFE);
        i += 1;
    }
    crate::interp::native::add_layout(hash)
}

const SEGMENT_BYTES: usize = 80;
const FIXED_BYTES: usize = 8 + 4 + 4 + 16 + 4 + 4 + 8 + 24 + 16 + 8;
const CHECKSUM_OFFSET: usize = HEADER_OFFSET + FIXED_BYTES + SEGMENTS_MAX * SEGMENT_BYTES;

struct Writer<'a> {
    page: &'a mut [u8],
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8]) {
        self.page[self.at..self.at + bytes.len()].copy_from_slice(bytes);
        self.at += bytes.len();
    }
}

struct Reader<'a> {
    page: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        out.copy_from_slice(&self.page[self.at..self.at + N]);
        self.at += N;
        out
    }
    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }
    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
    fn u128(&mut self) -> u128 {
        u128::from_le_bytes(self.take())
    }
}

impl Header {
    /// Writes the header into page 0, whose other bytes are final already.
    ///
    /// # Panics
    /// If there are more than [`SEGMENTS_MAX`] segments.
    pub fn write(&self, page: &mut [u8; PAGE_BYTES as usize]) {
        assert!(self.segments.len() <= SEGMENTS_MAX);
        let mut w = Writer { page, at: HEADER_OFFSET };
        w.put(&MAGIC);
        w.put(&FORMAT_VERSION.to_le_bytes());
        w.put(&(self.segments.len() as u32).to_le_bytes());
        w.put(&self.fingerprint.to_le_bytes());
        w.put(&self.page_bytes.to_le_bytes());
        w.put(&self.target.to_le_bytes());
        w.put(&self.cpu_features.to_le_bytes());
        let FrozenRoots { image_end, realm_record, intern_table, transition_table, root_table, template_count } =
            self.roots;
        for word in [image_end, realm_record.0, intern_table.0, transition_table.0, root_table.0, template_count] {
            w.put(&word.to_le_bytes());
        }
        w.put(&self.host_functions_hash.to_le_bytes());
        w.put(&0u64.to_le_bytes());
        debug_assert_eq!(w.at, HEADER_OFFSET + FIXED_BYTES);
        for segment in &self.segments {
            let Segment { kind, file_offset, bytes, cage_offset, xxh3, sha256 } = segment;
            w.put(&(*kind as u32).to_le_bytes());
            w.put(&cage_offset.to_le_bytes());
            w.put(&file_offset.to_le_bytes());
            w.put(&bytes.to_le_bytes());
            w.put(&xxh3.to_le_bytes());
            w.put(sha256);
            w.at += SEGMENT_BYTES - 72;
        }
        page[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 16].fill(0);
        let checksum = xxh3_128(page);
        page[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 16].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Reads and checks page 0 of a file of `file_bytes` bytes.
    ///
    /// # Errors
    /// See [`HeaderError`]: the first thing that is wrong, from the outside in.
    pub fn read(page: &[u8], file_bytes: u64) -> Result<Header, HeaderError> {
        if page.len() < PAGE_BYTES as usize {
            return Err(HeaderError::TooShort { bytes: file_bytes });
        }
        let page = &page[..PAGE_BYTES as usize];
        let mut r = Reader { page, at: HEADER_OFFSET };
        if r.take::<8>() != MAGIC {
            return Err(HeaderError::Magic);
        }
        let version = r.u32();
        if version != FORMAT_VERSION {
            return Err(HeaderError::Version { found: version, expected: FORMAT_VERSION });
        }
        let mut copy = page.to_vec();
        copy[CHECKSUM_OFFSET..CHECKSUM_OFFSET + 16].fill(0);
        let found = xxh3_128(&copy);
        let expected = Reader { page, at: CHECKSUM_OFFSET }.u128();
        if found != expected {
            return Err(HeaderError::Checksum { found, expected });
        }
        let count = r.u32() as usize;
        if count > SEGMENTS_MAX {
            return Err(HeaderError::Segments(format!("{count} segments, at most {SEGMENTS_MAX} are possible")));
        }
        let fingerprint = r.u128();
        let page_bytes = r.u32();
        let target = r.u32();
        let cpu_features = r.u64();
        let roots = FrozenRoots {
            image_end: r.u32(),
            realm_record: crate::cage::Ref(r.u32()),
            intern_table: crate::cage::Ref(r.u32()),
            transition_table: crate::cage::Ref(r.u32()),
            root_table: crate::cage::Ref(r.u32()),
            template_count: r.u32(),
        };
        let host_functions_hash = r.u128();
        r.u64();
        let mut segments = Vec::with_capacity(count);
        for i in 0..count {
            let kind = r.u32();
            let kind = SegmentKind::from_raw(kind)
                .ok_or_else(|| HeaderError::Segments(format!("segment {i} has unknown kind {kind}")))?;
            let cage_offset = r.u32();
            let file_offset = r.u64();
            let bytes = r.u64();
            let xxh3 = r.u128();
            let sha256 = r.take::<32>();
            r.at += SEGMENT_BYTES - 72;
            segments.push(Segment { kind, file_offset, bytes, cage_offset, xxh3, sha256 });
        }
        let header = Header { fingerprint, page_bytes, target, cpu_features, roots, host_functions_hash, segments };
        header.check(file_bytes)?;
        Ok(header)
    }

    /// Whether this build on this machine can use the file.
    fn check(&self, file_bytes: u64) -> Result<(), HeaderError> {
        let Header { fingerprint, page_bytes, target, cpu_features, roots, host_functions_hash: _, segments } = self;
        let expected = layout_fingerprint();
        if *fingerprint != expected {
            return Err(HeaderError::Fingerprint { found: *fingerprint, expected });
        }
        let machine = |what, found: u64, expected: u64| {
            if found == expected { Ok(()) } else { Err(HeaderError::Machine { what, found, expected }) }
        };
        machine("page size", u64::from(*page_bytes), u64::from(PAGE_BYTES))?;
        machine("target", u64::from(*target), 1)?;
        machine("CPU features", *cpu_features, 0)?;
        let mut end = u64::from(PAGE_BYTES);
        let mut cage_end = u64::from(crate::cage::IMAGE_START);
        for (i, segment) in segments.iter().enumerate() {
            let Segment { kind, file_offset, bytes, cage_offset, xxh3: _, sha256: _ } = segment;
            if *file_offset != end || bytes % u64::from(PAGE_BYTES) != 0 {
                return Err(HeaderError::Segments(format!("segment {i} does not follow its predecessor")));
            }
            end = end.checked_add(*bytes).ok_or_else(|| HeaderError::Segments("overflow".into()))?;
            if matches!(kind, SegmentKind::Frozen | SegmentKind::Writable) {
                if u64::from(*cage_offset) != cage_end {
                    return Err(HeaderError::Segments(format!("segment {i} leaves a gap in the cage")));
                }
                cage_end += bytes;
            }
        }
        if end != file_bytes {
            return Err(HeaderError::Segments(format!(
                "segments end at {end}, the file has {file_bytes} bytes: truncated?"
            )));
        }
        if cage_end != u64::from(roots.image_end) || cage_end > u64::from(crate::cage::HEAP_END / 2) {
            return Err(HeaderError::Segments("the image's end does not fit its segments".into()));
        }
        Ok(())
    }

    /// The first segment of a kind.
    pub fn segment(&self, kind: SegmentKind) -> Option<&Segment> {
        self.segments.iter().find(|s| s.kind == kind)
    }
}

const _: () = assert!(CHECKSUM_OFFSET + 16 <= PAGE_BYTES as usize);

/// The prototype filter of an image: a bit for every object in its root table.
pub fn prototype_filter(root_table: &[u32]) -> [u64; 64] {
    let mut overlay = crate::shapes::ShapeOverlay::default();
    for row in root_table.chunks_exact(4) {
        if row[0] != u32::MAX && row[0] != 0 {
            overlay.filter_insert(crate::cage::Ref(row[0]));
        }
    }
    *overlay.filter()
}
