//! Mapping an image into cages: from the file, from a sealed memory file, or by copying.
//!
//! ```text
//! cage:  | guard | frozen (shared, read-only) | writable (copy-on-write) | heap ...
//! file:  | header | frozen | code | writable | metadata | elf
//! ```

use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};

use rustix::mm::{MapFlags, ProtFlags};
use zjs_engine::cage::{CageError, CageMemory};
use zjs_engine::image::{Header, Segment, SegmentKind};

/// How an image gets into a cage.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MappingStrategy {
    /// Map the file itself. The file must not be changed or truncated while realms live.
    File,
    /// Copy the file into a sealed memory file once and map that: safe against later changes.
    Memfd,
    /// Copy the image into each cage: no mapping of files at all.
    Copy,
}

impl MappingStrategy {
    /// Name for reports.
    pub fn name(self) -> &'static str {
        match self {
            MappingStrategy::File => "file",
            MappingStrategy::Memfd => "memfd",
            MappingStrategy::Copy => "copy",
        }
    }
}

/// A sealed memory file with the content of `bytes`.
pub(crate) fn sealed_copy(bytes: &[u8]) -> Result<File, std::io::Error> {
    use rustix::fs::{MemfdFlags, SealFlags};
    let fd: OwnedFd = rustix::fs::memfd_create("zjs-snapshot", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    let mut file = File::from(fd);
    std::io::Write::write_all(&mut file, bytes)?;
    rustix::fs::fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
    Ok(file)
}

/// Maps (or copies) the frozen and writable segments into `memory`.
pub(crate) fn map_image(
    memory: &CageMemory,
    header: &Header,
    file: &File,
    bytes: &[u8],
    strategy: MappingStrategy,
) -> Result<(), CageError> {
    for segment in &header.segments {
        let protection = match segment.kind {
            SegmentKind::Frozen => ProtFlags::READ,
            SegmentKind::Writable => ProtFlags::READ | ProtFlags::WRITE,
            _ => continue,
        };
        if segment.bytes == 0 {
            continue;
        }
        match strategy {
            MappingStrategy::Copy => copy_segment(memory, segment, bytes, protection)?,
            MappingStrategy::File | MappingStrategy::Memfd => map_segment(memory, segment, file, protection)?,
        }
    }
    Ok(())
}

fn target(memory: &CageMemory, segment: &Segment) -> *mut std::ffi::c_void {
    // SAFETY: the header check keeps every image segment below HEAP_END / 2, inside the reservation.
    unsafe { memory.base().as_ptr().add(segment.cage_offset as usize).cast() }
}

fn map_segment(memory: &CageMemory, segment: &Segment, file: &File, protection: ProtFlags) -> Result<(), CageError> {
    // SAFETY: the target range belongs to the reservation and is not in use: this cage is being set up.
    unsafe {
        rustix::mm::mmap(
            target(memory, segment),
            segment.bytes as usize,
            protection,
            MapFlags::PRIVATE | MapFlags::FIXED,
            file.as_fd(),
            segment.file_offset,
        )
    }
    .map(|_| ())
    .map_err(|source| CageError::Map { what: "image segment", source })
}

fn copy_segment(memory: &CageMemory, segment: &Segment, bytes: &[u8], protection: ProtFlags) -> Result<(), CageError> {
    memory.make_writable(segment.cage_offset, segment.bytes as u32)?;
    let source = &bytes[segment.file_offset as usize..(segment.file_offset + segment.bytes) as usize];
    // SAFETY: the target was just made writable, is large enough, and nothing else refers to it yet.
    unsafe {
        std::ptr::copy_nonoverlapping(source.as_ptr(), target(memory, segment).cast::<u8>(), source.len());
    }
    if protection == ProtFlags::READ {
        // SAFETY: same range; frozen pages are never written after this.
        unsafe {
            rustix::mm::mprotect(target(memory, segment), segment.bytes as usize, rustix::mm::MprotectFlags::READ)
        }
        .map_err(|source| CageError::Map { what: "frozen segment", source })?;
    }
    Ok(())
}

/// The code segment, mapped read-execute for the whole process.
#[derive(Debug)]
pub(crate) struct CodeMapping {
    base: usize,
    bytes: usize,
}

impl CodeMapping {
    /// Maps the code segment of `file` (a file or memory file with the snapshot's bytes).
    pub(crate) fn map(segment: &Segment, file: &File) -> Result<CodeMapping, CageError> {
        // SAFETY: a new private mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap(
                std::ptr::null_mut(),
                segment.bytes as usize,
                ProtFlags::READ | ProtFlags::EXEC,
                MapFlags::PRIVATE,
                file.as_fd(),
                segment.file_offset,
            )
        }
        .map_err(|source| CageError::Map { what: "code segment", source })?;
        Ok(CodeMapping { base: base as usize, bytes: segment.bytes as usize })
    }
}

impl zjs_engine::realm::NativeCode for CodeMapping {
    fn base(&self) -> usize {
        self.base
    }
}

impl Drop for CodeMapping {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map` and every realm that could run it holds an Arc of this.
        let _ = unsafe { rustix::mm::munmap(self.base as *mut _, self.bytes) };
    }
}
