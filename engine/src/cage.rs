//! The cage: one reservation of addresses that holds everything the JavaScript of one realm can reach,
//! and the only accessors to its memory.
//!
//! ```text
//! 0         4 KiB      image end        heap start                 0xE000_0000   0xF000_0000   4 GiB
//! | no access | image ro | image rw | pad | heap, grows up ->        | feedback    | registers   | guard
//! ```
//!
//! Invariant: every 32-bit address plus a small constant offset lies in the reservation or in the guard
//! behind it, so an accessor reads and writes memory of this cage or stops the process with a fault; it
//! never touches anything else. Every store below `image_end` marks its page in the dirty table.

use std::ptr::NonNull;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags};

/// Offset of a cell (or of a word inside one) from the base of its cage. 0 is null.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
#[repr(transparent)]
pub struct Ref(pub u32);

impl std::fmt::Debug for Ref {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "@{:x}", self.0)
    }
}

impl Ref {
    /// The null reference: no cell lies at offset 0.
    pub const NULL: Ref = Ref(0);

    /// Whether this is the null reference.
    #[inline(always)]
    pub fn is_null(self) -> bool {
        self.0 == 0
    }

    /// The reference, unless it is null.
    #[inline(always)]
    pub fn some(self) -> Option<Ref> {
        if self.0 == 0 { None } else { Some(self) }
    }
}

/// Bytes of one page. The image and the dirty table use this unit whatever the kernel uses.
pub const PAGE_BYTES: u32 = 4096;
/// Where an image starts in every cage.
pub const IMAGE_START: u32 = PAGE_BYTES;
/// First byte behind the heap.
pub const HEAP_END: u32 = 0xE000_0000;
/// Per-realm table: feedback vector (or call count) by template number, four bytes each.
pub const FEEDBACK_TABLE: u32 = 0xE000_0000;
/// Number of templates that the feedback table has room for.
pub const FEEDBACK_TABLE_ENTRIES: u32 = 0x0100_0000;
/// The register stack, grows up.
pub const STACK_START: u32 = 0xF000_0000;
/// First byte behind the register stack.
pub const STACK_END: u32 = 0xF800_0000;

const CAGE_BYTES: usize = 1 << 32;
const GUARD_BYTES: usize = 1 << 20;

mod sealed {
    pub trait Sealed {}
}

/// Types that may be read from and written to a cage: plain integers and floats.
pub trait Plain: Copy + sealed::Sealed {}
macro_rules! plain { ($($t:ty)*) => { $(impl sealed::Sealed for $t {} impl Plain for $t {})* } }
plain!(u8 u16 u32 u64 i8 i16 i32 i64 f32 f64);

/// Why memory for a cage could not be had.
#[derive(Debug, thiserror::Error)]
pub enum CageError {
    /// The kernel refused the reservation or a mapping inside it.
    #[error("cannot map memory for a cage: {what}: {source}")]
    Map { what: &'static str, source: rustix::io::Errno },
    /// The image does not leave room for a heap.
    #[error("image of {image_bytes} bytes does not fit into a cage")]
    ImageTooLarge { image_bytes: u64 },
}

/// An owned reservation. Dropping it unmaps everything in it.
#[derive(Debug)]
pub struct CageMemory {
    base: NonNull<u8>,
}

// SAFETY: the reservation belongs to this value alone; nothing in it is tied to a thread.
unsafe impl Send for CageMemory {}
// SAFETY: `CageMemory` itself offers no access to the memory; `Cage` does, and is handed out per realm.
unsafe impl Sync for CageMemory {}

impl CageMemory {
    /// Reserves a cage whose image part ends at `image_end` (still inaccessible; see [`CageMemory::base`])
    /// and makes heap, feedback table and register stack accessible, all zero.
    ///
    /// # Errors
    /// When the kernel refuses, or the image is too large.
    pub fn reserve(image_end: u32) -> Result<CageMemory, CageError> {
        let heap_start = heap_start_for(image_end);
        if heap_start >= HEAP_END {
            return Err(CageError::ImageTooLarge { image_bytes: u64::from(image_end) });
        }
        // SAFETY: a new anonymous mapping at an address of the kernel's choice aliases nothing.
        let base = unsafe {
            rustix::mm::mmap_anonymous(
                std::ptr::null_mut(),
                CAGE_BYTES + GUARD_BYTES,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }
        .map_err(|source| CageError::Map { what: "reservation", source })?;
        let Some(base) = NonNull::new(base.cast::<u8>()) else {
            return Err(CageError::Map { what: "reservation", source: rustix::io::Errno::NOMEM });
        };
        let memory = CageMemory { base };
        // SAFETY: the range lies inside the reservation that was just made and is not in use yet.
        unsafe {
            rustix::mm::mprotect(
                base.as_ptr().add(heap_start as usize).cast(),
                (STACK_END - heap_start) as usize,
                MprotectFlags::READ | MprotectFlags::WRITE,
            )
        }
        .map_err(|source| CageError::Map { what: "heap", source })?;
        Ok(memory)
    }

    /// Host address of offset 0. The loader maps image sections at `base + offset`.
    pub fn base(&self) -> NonNull<u8> {
        self.base
    }

    /// Makes `start..start + bytes` of the image part readable and writable anonymous memory.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn make_writable(&self, start: u32, bytes: u32) -> Result<(), CageError> {
        assert!(u64::from(start) + u64::from(bytes) <= u64::from(HEAP_END));
        // SAFETY: the range lies inside the reservation; callers do this before a realm uses the cage.
        unsafe {
            rustix::mm::mprotect(
                self.base.as_ptr().add(start as usize).cast(),
                bytes as usize,
                MprotectFlags::READ | MprotectFlags::WRITE,
            )
        }
        .map_err(|source| CageError::Map { what: "image", source })
    }

    /// Gives the pages of `start..end` back to the kernel; they read as zero afterwards.
    pub fn discard(&self, start: u32, end: u32) {
        if end <= start {
            return;
        }
        // SAFETY: anonymous private memory of this cage; the realm that used it is at rest, and every
        // allocation initialises its whole cell.
        let result = unsafe {
            rustix::mm::madvise(
                self.base.as_ptr().add(start as usize).cast(),
                (end - start) as usize,
                rustix::mm::Advice::LinuxDontNeed,
            )
        };
        debug_assert!(result.is_ok());
    }
}

impl Drop for CageMemory {
    fn drop(&mut self) {
        // SAFETY: this value owns the reservation, and whoever holds a `Cage` of it is gone (the realm
        // owns both).
        let result = unsafe { rustix::mm::munmap(self.base.as_ptr().cast(), CAGE_BYTES + GUARD_BYTES) };
        debug_assert!(result.is_ok());
    }
}

/// First heap byte of a cage whose image ends at `image_end`.
pub const fn heap_start_for(image_end: u32) -> u32 {
    let end = if image_end < 0x1_0000 { 0x1_0000 } else { image_end };
    (end + 0x3FFF) & !0x3FFF
}

/// Access to the memory of one cage: a copyable handle, valid while its [`CageMemory`] lives.
#[derive(Clone, Copy)]
pub struct Cage {
    base: *mut u8,
    dirty: *mut u8,
    image_end: u32,
}

// SAFETY: the handle moves with the realm that owns the memory.
unsafe impl Send for Cage {}

impl Cage {
    /// A handle for `memory` with an image that ends at `image_end`; stores into the image set a byte in
    /// `dirty`, one for each page from offset 0 on.
    ///
    /// # Safety
    /// `memory` and `dirty` must outlive the handle and all its copies, `dirty` must have
    /// `image_end / PAGE_BYTES + 1` bytes, and only one thread at a time may use the handles of one cage.
    pub unsafe fn new(memory: &CageMemory, dirty: *mut u8, image_end: u32) -> Cage {
        Cage { base: memory.base.as_ptr(), dirty, image_end }
    }

    /// First offset behind the image; cells below it are image cells.
    #[inline(always)]
    pub fn image_end(self) -> u32 {
        self.image_end
    }

    /// Host address of offset 0, for native code and for the conservative stack scan.
    #[inline(always)]
    pub fn base_address(self) -> usize {
        self.base as usize
    }

    /// Host address of the dirty table, for native code.
    #[inline(always)]
    pub(crate) fn dirty_table(self) -> *mut u8 {
        self.dirty
    }

    /// Reads at `address` (a cage offset).
    #[inline(always)]
    pub fn read<T: Plain>(self, address: u32) -> T {
        // SAFETY: any 32-bit offset lies inside reservation plus guard (module invariant). Cells are
        // 8-aligned and fields naturally aligned, but `read_unaligned` costs nothing here and asks less.
        unsafe { self.base.add(address as usize).cast::<T>().read_unaligned() }
    }

    /// Reads the field at `offset` of the cell at `cell`.
    #[inline(always)]
    pub fn get<T: Plain>(self, cell: Ref, offset: u32) -> T {
        debug_assert!(!cell.is_null());
        // SAFETY: as for `read`; callers keep `offset` inside the cell, whose end lies in the cage.
        unsafe { self.base.add(cell.0 as usize + offset as usize).cast::<T>().read_unaligned() }
    }

    /// Writes `value` at `address` and records the page if it belongs to the image.
    #[inline(always)]
    pub fn write<T: Plain>(self, address: u32, value: T) {
        self.note_store(address);
        self.init(address, value);
    }

    /// Writes the field at `offset` of `cell`, with the record of dirty pages.
    #[inline(always)]
    pub fn set<T: Plain>(self, cell: Ref, offset: u32, value: T) {
        debug_assert!(!cell.is_null());
        self.write(cell.0.wrapping_add(offset), value);
    }

    /// Writes into memory that is known to lie above the image: fresh cells, registers.
    #[inline(always)]
    pub fn init<T: Plain>(self, address: u32, value: T) {
        // SAFETY: as for `read`; frozen pages are mapped read-only, so a wrong store there faults.
        unsafe { self.base.add(address as usize).cast::<T>().write_unaligned(value) }
    }

    /// Records that the page of `address` is about to change, if it belongs to the image.
    #[inline(always)]
    pub fn note_store(self, address: u32) {
        if address < self.image_end {
            // SAFETY: the dirty table has a byte for every page below `image_end` (contract of `new`).
            unsafe { self.dirty.add((address / PAGE_BYTES) as usize).write(1) }
        }
    }

    /// Records a store to every page of `start..start + bytes`.
    pub fn note_store_range(self, start: u32, bytes: u32) {
        if bytes == 0 || start >= self.image_end {
            return;
        }
        let last = start.saturating_add(bytes - 1).min(self.image_end - 1);
        for page in start / PAGE_BYTES..=last / PAGE_BYTES {
            self.note_store(page * PAGE_BYTES);
        }
    }

    /// Copies `bytes` bytes inside the cage; the ranges may overlap.
    pub fn copy(self, from: u32, to: u32, bytes: u32) {
        self.note_store_range(to, bytes);
        assert!(u64::from(from) + u64::from(bytes) <= 1 << 32 && u64::from(to) + u64::from(bytes) <= 1 << 32);
        // SAFETY: both ranges lie inside the reservation (checked above).
        unsafe {
            std::ptr::copy(self.base.add(from as usize), self.base.add(to as usize), bytes as usize);
        }
    }

    /// Fills `bytes` bytes with `byte`.
    pub fn fill(self, to: u32, byte: u8, bytes: u32) {
        self.note_store_range(to, bytes);
        assert!(u64::from(to) + u64::from(bytes) <= 1 << 32);
        // SAFETY: the range lies inside the reservation (checked above).
        unsafe { std::ptr::write_bytes(self.base.add(to as usize), byte, bytes as usize) }
    }

    /// Copies host bytes into the cage.
    pub fn write_bytes(self, to: u32, bytes: &[u8]) {
        self.note_store_range(to, bytes.len() as u32);
        assert!(u64::from(to) + bytes.len() as u64 <= 1 << 32);
        // SAFETY: the range lies inside the reservation (checked above); a host slice never overlaps it,
        // except slices from `bytes`, whose borrow ends before anything is written.
        unsafe {
            std::ptr::copy(bytes.as_ptr(), self.base.add(to as usize), bytes.len());
        }
    }

    /// Copies host integers or floats into the cage.
    pub fn write_all<T: Plain>(self, to: u32, values: &[T]) {
        // SAFETY: `Plain` types are integers and floats: every byte of the slice is initialised.
        self.write_bytes(to, unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) });
    }

    /// The bytes at `address`, borrowed. No store to the cage may happen while the slice lives; callers
    /// use it for leaf work (comparing, hashing, copying out) only.
    #[inline(always)]
    pub fn bytes<'a>(self, address: u32, len: u32) -> &'a [u8] {
        assert!(u64::from(address) + u64::from(len) <= 1 << 32);
        // SAFETY: the range lies inside the reservation (checked above); leaf use is the contract.
        unsafe { std::slice::from_raw_parts(self.base.add(address as usize), len as usize) }
    }

    /// The 16-bit units at `address` (2-aligned), borrowed under the same rule as [`Cage::bytes`].
    #[inline(always)]
    pub fn units<'a>(self, address: u32, len: u32) -> &'a [u16] {
        assert!(address.is_multiple_of(2) && u64::from(address) + 2 * u64::from(len) <= 1 << 32);
        // SAFETY: in range and aligned (checked above); leaf use is the contract.
        unsafe { std::slice::from_raw_parts(self.base.add(address as usize).cast(), len as usize) }
    }

    // --- short forms

    /// 32-bit field.
    #[inline(always)]
    pub fn u32(self, cell: Ref, offset: u32) -> u32 {
        self.get(cell, offset)
    }

    /// Reference field.
    #[inline(always)]
    pub fn r(self, cell: Ref, offset: u32) -> Ref {
        Ref(self.get(cell, offset))
    }
}
