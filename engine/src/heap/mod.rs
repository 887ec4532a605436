//! Cell allocation: size-class slabs in 16 KiB blocks above the image.
//!
//! Invariants: a block holds cells of one size class, or belongs to one large cell; a free cell has kind
//! `Free` in its header (or lies at or above its block's limit), so any address can be tested for being
//! inside a live cell; every allocation initialises its whole cell, because blocks are not assumed zero.

mod collector;

use crate::cage::{Cage, HEAP_END, Ref, heap_start_for};
use crate::kinds::Kind;
use crate::realm::{Realm, Throw};

/// Bytes of a block.
pub const BLOCK_BYTES: u32 = 16 * 1024;
const BLOCK_SHIFT: u32 = 14;
/// Unit of cell sizes and of mark bits.
pub const GRANULE: u32 = 16;
const MARK_WORDS_PER_BLOCK: usize = (BLOCK_BYTES / GRANULE / 64) as usize;
/// Cell sizes, in bytes, of the size classes.
pub const CLASS_BYTES: [u32; 26] = [
    16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 640, 768, 1024, 1360, 2048, 2720, 3264,
    4096, 5456, 8176,
];
const CLASSES: usize = CLASS_BYTES.len();
const MAX_SMALL: u32 = CLASS_BYTES[CLASSES - 1];

/// Size class by number of granules.
static CLASS_OF: [u8; (MAX_SMALL / GRANULE) as usize + 1] = {
    let mut table = [0u8; (MAX_SMALL / GRANULE) as usize + 1];
    let mut granules = 0;
    let mut class = 0;
    while granules < table.len() {
        while CLASS_BYTES[class] < granules as u32 * GRANULE {
            class += 1;
        }
        table[granules] = class as u8;
        granules += 1;
    }
    table
};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum BlockUse {
    /// Not in use.
    Free,
    /// Cells of this class.
    Small(u8),
    /// First block of a large cell that takes this many blocks.
    Large(u32),
    /// A later block of a large cell.
    LargeRest,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    usage: BlockUse,
    /// First byte of the block that no cell has used yet (offset in the block). For the block a class
    /// bumps through, `Heap::bump` is the truth.
    limit: u32,
}

/// Allocation state of one realm.
pub struct Heap {
    start: u32,
    blocks: Vec<Block>,
    marks: Vec<u64>,
    free: [u32; CLASSES],
    bump: [u32; CLASSES],
    bump_end: [u32; CLASSES],
    /// Bytes that may still be allocated before the slow path looks at collection and budget. Negative
    /// means: go the slow way now.
    allowance: i64,
    /// What `allowance` was set to when it was last granted.
    granted: i64,
    /// Bytes in live cells after the last collection plus everything granted and used since.
    allocated: u64,
    /// Bytes allocated since start that trigger the next collection.
    collect_at: u64,
    /// Most bytes that cells may take.
    budget: u64,
    /// Collect at every allocation (torture mode of the tests).
    torture: bool,
    /// No collection while positive: set during start-up of a bare realm.
    pub(crate) hold: u32,
    mark_stack: Vec<Ref>,
    /// Number of collections so far.
    pub collections: u64,
}

const FIRST_COLLECTION: u64 = 8 << 20;
const GRANT: i64 = 256 << 10;

impl Heap {
    pub(crate) fn new(image_end: u32, budget: u64) -> Heap {
        Heap {
            start: heap_start_for(image_end),
            blocks: Vec::new(),
            marks: Vec::new(),
            free: [0; CLASSES],
            bump: [0; CLASSES],
            bump_end: [0; CLASSES],
            allowance: 0,
            granted: 0,
            allocated: 0,
            collect_at: FIRST_COLLECTION,
            budget,
            torture: false,
            hold: 0,
            mark_stack: Vec::new(),
            collections: 0,
        }
    }

    /// Forgets every cell. Returns the end of the heap part that was in use.
    pub(crate) fn reset(&mut self, budget: u64) -> u32 {
        let used_end = self.start + self.blocks.len() as u32 * BLOCK_BYTES;
        self.blocks.clear();
        self.marks.clear();
        self.free = [0; CLASSES];
        self.bump = [0; CLASSES];
        self.bump_end = [0; CLASSES];
        self.allowance = 0;
        self.granted = 0;
        self.allocated = 0;
        self.collect_at = FIRST_COLLECTION;
        self.budget = budget;
        self.torture = false;
        self.hold = 0;
        self.mark_stack.clear();
        used_end
    }

    /// Raises the budget for a moment, so that an out-of-memory error can be made.
    fn raise_budget(&mut self, bytes: u64) -> u64 {
        let saved = self.budget;
        self.settle();
        self.budget = self.allocated.saturating_add(bytes).max(saved);
        saved
    }

    /// First byte of the heap.
    pub fn start(&self) -> u32 {
        self.start
    }

    /// Bytes in cells that are live or not yet collected.
    pub fn allocated_bytes(&self) -> u64 {
        self.allocated + (self.granted - self.allowance.max(0)).max(0) as u64
    }

    pub(crate) fn set_torture(&mut self, on: bool) {
        self.torture = on;
        self.settle();
    }

    /// Moves what was used of the last grant to `allocated`.
    fn settle(&mut self) {
        self.allocated = self.allocated.saturating_add_signed(self.granted - self.allowance);
        self.granted = 0;
        self.allowance = 0;
    }

    /// A cell of `class`, or `None` where the class needs another block.
    #[inline(always)]
    fn take(&mut self, cage: Cage, class: usize) -> Option<Ref> {
        let head = self.free[class];
        if head != 0 {
            self.free[class] = cage.read(head + 4);
            return Some(Ref(head));
        }
        let at = self.bump[class];
        let next = at + CLASS_BYTES[class];
        if next <= self.bump_end[class] {
            self.bump[class] = next;
            return Some(Ref(at));
        }
        None
    }

    /// Gives `class` a new block to bump through. `None` when the cage is full.
    fn refill(&mut self, class: usize) -> Option<()> {
        self.retire_bump(class);
        let index = self.find_blocks(1)?;
        self.blocks[index] = Block { usage: BlockUse::Small(class as u8), limit: BLOCK_BYTES };
        let at = self.start + ((index as u32) << BLOCK_SHIFT);
        self.bump[class] = at;
        self.bump_end[class] = at + BLOCK_BYTES;
        Some(())
    }

    fn retire_bump(&mut self, class: usize) {
        if self.bump_end[class] != 0 {
            let index = ((self.bump_end[class] - 1 - self.start) >> BLOCK_SHIFT) as usize;
            let block_start = self.start + ((index as u32) << BLOCK_SHIFT);
            self.blocks[index].limit = self.bump[class] - block_start;
            self.bump[class] = 0;
            self.bump_end[class] = 0;
        }
    }

    /// Index of the first of `count` adjacent free blocks; grows the table when there is none.
    fn find_blocks(&mut self, count: u32) -> Option<usize> {
        let mut run = 0;
        for (index, block) in self.blocks.iter().enumerate() {
            run = if block.usage == BlockUse::Free { run + 1 } else { 0 };
            if run == count {
                return Some(index + 1 - count as usize);
            }
        }
        let first = self.blocks.len() - run as usize;
        let end = u64::from(self.start) + (first as u64 + u64::from(count)) * u64::from(BLOCK_BYTES);
        if end > u64::from(HEAP_END) {
            return None;
        }
        self.blocks.resize(first + count as usize, Block { usage: BlockUse::Free, limit: 0 });
        self.marks.resize(self.blocks.len() * MARK_WORDS_PER_BLOCK, 0);
        Some(first)
    }

    fn take_large(&mut self, bytes: u32) -> Option<Ref> {
        let count = bytes.div_ceil(BLOCK_BYTES);
        let index = self.find_blocks(count)?;
        self.blocks[index] = Block { usage: BlockUse::Large(count), limit: bytes };
        for rest in &mut self.blocks[index + 1..index + count as usize] {
            *rest = Block { usage: BlockUse::LargeRest, limit: 0 };
        }
        Some(Ref(self.start + ((index as u32) << BLOCK_SHIFT)))
    }

    fn block_start(&self, index: usize) -> u32 {
        self.start + ((index as u32) << BLOCK_SHIFT)
    }

    fn limit_of(&self, index: usize, class: usize) -> u32 {
        let start = self.block_start(index);
        if self.bump_end[class] == start + BLOCK_BYTES { self.bump[class] - start } else { self.blocks[index].limit }
    }

    /// The live cell that contains `address`, if any. Interior addresses count.
    pub(crate) fn find_cell(&self, cage: Cage, address: u32) -> Option<Ref> {
        if address < self.start {
            return None;
        }
        let mut index = ((address - self.start) >> BLOCK_SHIFT) as usize;
        if index >= self.blocks.len() {
            return None;
        }
        while self.blocks[index].usage == BlockUse::LargeRest {
            index -= 1;
        }
        let start = self.block_start(index);
        let cell = match self.blocks[index].usage {
            BlockUse::Free | BlockUse::LargeRest => return None,
            BlockUse::Large(_) => {
                if address - start >= self.blocks[index].limit {
                    return None;
                }
                Ref(start)
            }
            BlockUse::Small(class) => {
                let size = CLASS_BYTES[class as usize];
                let offset = (address - start) / size * size;
                if offset >= self.limit_of(index, class as usize) || offset + size > BLOCK_BYTES {
                    return None;
                }
                Ref(start + offset)
            }
        };
        if cage.kind_raw(cell) == Kind::Free as u8 { None } else { Some(cell) }
    }

    /// Calls `visit` for every live cell, in address order.
    pub(crate) fn for_each_cell(&self, cage: Cage, mut visit: impl FnMut(Ref)) {
        for index in 0..self.blocks.len() {
            let start = self.block_start(index);
            match self.blocks[index].usage {
                BlockUse::Free | BlockUse::LargeRest => {}
                BlockUse::Large(_) => visit(Ref(start)),
                BlockUse::Small(class) => {
                    let size = CLASS_BYTES[class as usize];
                    let limit = self.limit_of(index, class as usize);
                    let mut offset = 0;
                    while offset + size <= limit {
                        let cell = Ref(start + offset);
                        if cage.kind_raw(cell) != Kind::Free as u8 {
                            visit(cell);
                        }
                        offset += size;
                    }
                }
            }
        }
    }
}

impl Realm {
    /// Whether `bytes` more would exceed the budget.
    pub(crate) fn heap_is_short(&self, bytes: u64) -> bool {
        self.heap.allocated_bytes() + bytes > self.heap.budget
    }

    /// The live heap cell that contains `address`.
    pub(crate) fn heap_cell_at(&self, address: Ref) -> Option<Ref> {
        self.heap.find_cell(self.cage, address.0)
    }

    pub(crate) fn heap_reserve(&mut self, bytes: u64) -> u64 {
        self.heap.raise_budget(bytes)
    }

    pub(crate) fn heap_unreserve(&mut self, saved: u64) {
        self.heap.settle();
        self.heap.budget = saved;
    }

    /// Allocates `bytes` (rounded up to the size class) with the header word written and nothing else.
    /// The caller initialises the rest before the next allocation.
    ///
    /// # Errors
    /// When the realm's memory budget or the cage is exhausted: a RangeError is thrown first, later the
    /// realm is terminated.
    #[inline(always)]
    pub(crate) fn allocate(&mut self, kind: Kind, bytes: u32) -> Result<Ref, Throw> {
        if bytes <= MAX_SMALL {
            let class = CLASS_OF[bytes.div_ceil(GRANULE) as usize] as usize;
            self.heap.allowance -= i64::from(CLASS_BYTES[class]);
            if self.heap.allowance >= 0
                && let Some(cell) = self.heap.take(self.cage, class)
            {
                self.cage.init(cell.0, kind as u32);
                return Ok(cell);
            }
            self.heap.allowance += i64::from(CLASS_BYTES[class]);
        }
        self.allocate_slow(kind, u64::from(bytes))
    }

    /// [`Realm::allocate`] for sizes that may not fit into 32 bits.
    ///
    /// # Errors
    /// As `allocate`.
    #[cold]
    #[inline(never)]
    pub(crate) fn allocate_slow(&mut self, kind: Kind, bytes: u64) -> Result<Ref, Throw> {
        let rounded = if bytes <= u64::from(MAX_SMALL) {
            u64::from(CLASS_BYTES[CLASS_OF[(bytes as u32).div_ceil(GRANULE) as usize] as usize])
        } else {
            bytes.next_multiple_of(u64::from(BLOCK_BYTES))
        };
        self.heap.settle();
        if self.heap.hold == 0
            && (self.heap.torture || self.heap.allocated.saturating_add(rounded) > self.heap.collect_at)
        {
            self.collect();
        }
        let mut needed = self.heap.allocated.saturating_add(rounded);
        if needed > self.heap.budget && self.heap.hold == 0 {
            self.collect();
            needed = self.heap.allocated.saturating_add(rounded);
        }
        if needed > self.heap.budget {
            return Err(self.throw_out_of_memory());
        }
        let cell = if bytes <= u64::from(MAX_SMALL) {
            let class = CLASS_OF[(bytes as u32).div_ceil(GRANULE) as usize] as usize;
            match self.heap.take(self.cage, class) {
                Some(cell) => Some(cell),
                None => match self.heap.refill(class) {
                    Some(()) => self.heap.take(self.cage, class),
                    None => None,
                },
            }
        } else {
            u32::try_from(rounded).ok().and_then(|_| self.heap.take_large(bytes as u32))
        };
        let Some(cell) = cell else { return Err(self.throw_out_of_memory()) };
        self.heap.allocated += rounded;
        if !self.heap.torture {
            let room = self.heap.budget.min(self.heap.collect_at.max(needed)) - needed;
            self.heap.granted = GRANT.min(room as i64);
            self.heap.allowance = self.heap.granted;
        }
        self.cage.init(cell.0, kind as u32);
        Ok(cell)
    }
}
