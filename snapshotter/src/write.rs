//! Assembling the snapshot file: header page, image, code, metadata, ELF tail.
//!
//! The file appears under its name only when it is complete: it is written to a temporary file in the same
//! folder, header page last, and renamed.

use std::io::Write;
use std::path::Path;

use object::elf;
use object::endian::{LittleEndian as LE, U16, U32, U64};
use object::pod::bytes_of;
use sha2::{Digest, Sha256};
use xxhash_rust::xxh3::xxh3_128;
use zjs_engine::cage::{IMAGE_START, PAGE_BYTES};
use zjs_engine::image::{Header, Segment, SegmentKind, layout_fingerprint};
use zjs_loader::metadata::Metadata;

use crate::freeze::FrozenImage;

/// A native function in the code segment, for the symbol table.
pub struct NativeSymbol {
    pub name: String,
    pub offset: u32,
    pub bytes: u32,
}

/// What goes into the file.
pub struct Contents<'a> {
    pub image: &'a FrozenImage,
    pub code: &'a [u8],
    pub symbols: &'a [NativeSymbol],
    pub metadata: &'a Metadata,
}

/// Why a snapshot could not be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("cannot write {path}: {source}")]
    Io { path: std::path::PathBuf, source: std::io::Error },
    #[error("cannot encode the metadata: {0}")]
    Metadata(String),
}

fn padded(bytes: &[u8]) -> Vec<u8> {
    let mut padded = bytes.to_vec();
    padded.resize(bytes.len().next_multiple_of(PAGE_BYTES as usize), 0);
    padded
}

/// The bytes of the whole file: the same for the same contents.
///
/// # Errors
/// When the metadata cannot be encoded.
pub fn assemble(contents: &Contents) -> Result<Vec<u8>, WriteError> {
    let Contents { image, code, symbols, metadata } = contents;
    let meta = zjs_loader::metadata::encode(metadata).map_err(|e| WriteError::Metadata(e.to_string()))?;
    let rw_start = IMAGE_START + image.ro.len() as u32;
    let mut file = vec![0u8; PAGE_BYTES as usize];
    let mut segments = Vec::new();
    let mut sections = Vec::new();
    for (kind, bytes, cage_offset) in [
        (SegmentKind::Frozen, image.ro.as_slice(), IMAGE_START),
        (SegmentKind::Code, *code, 0),
        (SegmentKind::Writable, image.rw.as_slice(), rw_start),
        (SegmentKind::Metadata, meta.as_slice(), 0),
    ] {
        sections.push((kind, file.len() as u64, bytes.len() as u64));
        push_segment(&mut file, &mut segments, kind, padded(bytes), cage_offset);
    }
    let elf_start = file.len() as u64;
    let (tail, elf_header) = elf_tail(&sections, symbols, elf_start);
    push_segment(&mut file, &mut segments, SegmentKind::Elf, padded(&tail), 0);
    let mut page = [0u8; PAGE_BYTES as usize];
    page[..elf_header.len()].copy_from_slice(&elf_header);
    let header = Header {
        fingerprint: layout_fingerprint(),
        page_bytes: PAGE_BYTES,
        target: 1,
        cpu_features: 0,
        roots: image.roots,
        host_functions_hash: host_functions_hash(&image.host_functions),
        segments,
    };
    header.write(&mut page);
    file[..PAGE_BYTES as usize].copy_from_slice(&page);
    Ok(file)
}

fn push_segment(file: &mut Vec<u8>, segments: &mut Vec<Segment>, kind: SegmentKind, bytes: Vec<u8>, cage_offset: u32) {
    segments.push(Segment {
        kind,
        file_offset: file.len() as u64,
        bytes: bytes.len() as u64,
        cage_offset,
        xxh3: xxh3_128(&bytes),
        sha256: Sha256::digest(&bytes).into(),
    });
    file.extend_from_slice(&bytes);
}

fn host_functions_hash(functions: &[(String, u32)]) -> u128 {
    let text: String = functions.iter().map(|(name, arity)| format!("{name}/{arity};")).collect();
    xxh3_128(text.as_bytes())
}

/// Strings of an ELF string table.
struct StringTable(Vec<u8>);

impl StringTable {
    fn add(&mut self, s: &str) -> u32 {
        let at = self.0.len() as u32;
        self.0.extend_from_slice(s.as_bytes());
        self.0.push(0);
        at
    }
}

struct SectionSpec {
    name: u32,
    kind: u32,
    flags: u64,
    offset: u64,
    bytes: u64,
    link: u32,
    info: u32,
    entry_bytes: u64,
}

/// Symbol table, string tables and section headers; and the 64-byte ELF header of page 0.
fn elf_tail(sections: &[(SegmentKind, u64, u64)], symbols: &[NativeSymbol], start: u64) -> (Vec<u8>, Vec<u8>) {
    let mut names = StringTable(vec![0]);
    let mut strings = StringTable(vec![0]);
    let text_index = 1 + sections.iter().position(|(k, _, _)| *k == SegmentKind::Code).unwrap_or(0) as u16;
    let mut tail = Vec::new();
    tail.extend_from_slice(bytes_of(&symbol(0, 0, 0, 0, 0)));
    for s in symbols {
        let name = strings.add(&s.name);
        let info = elf::STB_GLOBAL << 4 | elf::STT_FUNC;
        tail.extend_from_slice(bytes_of(&symbol(name, info, text_index, u64::from(s.offset), u64::from(s.bytes))));
    }
    let symtab_bytes = tail.len() as u64;
    let strtab_at = tail.len() as u64;
    tail.extend_from_slice(&strings.0);
    let mut specs: Vec<SectionSpec> = sections
        .iter()
        .map(|&(kind, offset, bytes)| SectionSpec {
            name: names.add(kind.name()),
            kind: elf::SHT_PROGBITS,
            flags: u64::from(match kind {
                SegmentKind::Frozen => elf::SHF_ALLOC,
                SegmentKind::Code => elf::SHF_ALLOC | elf::SHF_EXECINSTR,
                SegmentKind::Writable => elf::SHF_ALLOC | elf::SHF_WRITE,
                _ => 0,
            }),
            offset,
            bytes,
            link: 0,
            info: 0,
            entry_bytes: 0,
        })
        .collect();
    let strtab_index = specs.len() as u32 + 2;
    specs.push(SectionSpec {
        name: names.add(".symtab"),
        kind: elf::SHT_SYMTAB,
        flags: 0,
        offset: start,
        bytes: symtab_bytes,
        link: strtab_index,
        info: 1,
        entry_bytes: 24,
    });
    specs.push(SectionSpec {
        name: names.add(".strtab"),
        kind: elf::SHT_STRTAB,
        flags: 0,
        offset: start + strtab_at,
        bytes: strings.0.len() as u64,
        link: 0,
        info: 0,
        entry_bytes: 0,
    });
    let shstrtab_name = names.add(".shstrtab");
    let shstrtab_at = tail.len() as u64;
    tail.extend_from_slice(&names.0);
    specs.push(SectionSpec {
        name: shstrtab_name,
        kind: elf::SHT_STRTAB,
        flags: 0,
        offset: start + shstrtab_at,
        bytes: names.0.len() as u64,
        link: 0,
        info: 0,
        entry_bytes: 0,
    });
    tail.resize(tail.len().next_multiple_of(8), 0);
    let headers_at = start + tail.len() as u64;
    tail.extend_from_slice(bytes_of(&section_header(&SectionSpec {
        name: 0,
        kind: elf::SHT_NULL,
        flags: 0,
        offset: 0,
        bytes: 0,
        link: 0,
        info: 0,
        entry_bytes: 0,
    })));
    for spec in &specs {
        tail.extend_from_slice(bytes_of(&section_header(spec)));
    }
    let header = elf::FileHeader64::<LE> {
        e_ident: elf::Ident {
            magic: elf::ELFMAG,
            class: elf::ELFCLASS64,
            data: elf::ELFDATA2LSB,
            version: elf::EV_CURRENT,
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            padding: [0; 7],
        },
        e_type: U16::new(LE, elf::ET_REL),
        e_machine: U16::new(LE, elf::EM_X86_64),
        e_version: U32::new(LE, u32::from(elf::EV_CURRENT)),
        e_entry: U64::new(LE, 0),
        e_phoff: U64::new(LE, 0),
        e_shoff: U64::new(LE, headers_at),
        e_flags: U32::new(LE, 0),
        e_ehsize: U16::new(LE, 64),
        e_phentsize: U16::new(LE, 0),
        e_phnum: U16::new(LE, 0),
        e_shentsize: U16::new(LE, 64),
        e_shnum: U16::new(LE, specs.len() as u16 + 1),
        e_shstrndx: U16::new(LE, specs.len() as u16),
    };
    (tail, bytes_of(&header).to_vec())
}

fn symbol(name: u32, info: u8, section: u16, value: u64, bytes: u64) -> elf::Sym64<LE> {
    elf::Sym64 {
        st_name: U32::new(LE, name),
        st_info: info,
        st_other: 0,
        st_shndx: U16::new(LE, section),
        st_value: U64::new(LE, value),
        st_size: U64::new(LE, bytes),
    }
}

fn section_header(spec: &SectionSpec) -> elf::SectionHeader64<LE> {
    elf::SectionHeader64 {
        sh_name: U32::new(LE, spec.name),
        sh_type: U32::new(LE, spec.kind),
        sh_flags: U64::new(LE, spec.flags),
        sh_addr: U64::new(LE, 0),
        sh_offset: U64::new(LE, spec.offset),
        sh_size: U64::new(LE, spec.bytes),
        sh_link: U32::new(LE, spec.link),
        sh_info: U32::new(LE, spec.info),
        sh_addralign: U64::new(LE, 8),
        sh_entsize: U64::new(LE, spec.entry_bytes),
    }
}

/// Writes `bytes` to `path` so that either the whole file is there or nothing changed.
///
/// # Errors
/// When the folder or file cannot be written.
pub fn write_file(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let io = |source| WriteError::Io { path: path.into(), source };
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    // The header page comes last: a partial file has no magic number.
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(u64::from(PAGE_BYTES))).map_err(io)?;
    file.write_all(&bytes[PAGE_BYTES as usize..]).map_err(io)?;
    std::io::Seek::seek(&mut file, std::io::SeekFrom::Start(0)).map_err(io)?;
    file.write_all(&bytes[..PAGE_BYTES as usize]).map_err(io)?;
    use std::os::unix::fs::PermissionsExt;
    file.as_file().set_permissions(std::fs::Permissions::from_mode(0o644)).map_err(io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}

/// Writes a small file whole or not at all.
///
/// # Errors
/// When the folder or file cannot be written.
pub fn write_whole(path: &Path, bytes: &[u8]) -> Result<(), WriteError> {
    let io = |source| WriteError::Io { path: path.into(), source };
    let folder = path.parent().filter(|f| !f.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(io)?;
    file.write_all(bytes).map_err(io)?;
    file.persist(path).map_err(|e| io(e.error))?;
    Ok(())
}
