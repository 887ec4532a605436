//! The collector: non-moving mark and sweep.
//!
//! Roots: the realm's own tables, the register stack, the native stack (conservative: any 4-byte-aligned
//! word that is a ref into a live cell, any 8-byte word that is a host address inside the cage), and the
//! dirty pages of the image. Image cells are immortal and never marked: marking stops at them, and
//! whatever they came to refer to after the image was made lies on a page that a store made dirty.
//!
//! Invariant: mark bits live in a side table; collecting writes no header of a live cell and no image byte.

use super::{BLOCK_BYTES, BLOCK_SHIFT, Block, BlockUse, CLASS_BYTES, GRANULE, MARK_WORDS_PER_BLOCK};
use crate::cage::{PAGE_BYTES, Ref, STACK_START};
use crate::kinds::{Kind, Tail};
use crate::realm::Realm;
use crate::value::Value;

impl Realm {
    /// Collects garbage now.
    #[inline(never)]
    pub fn collect(&mut self) {
        self.heap.settle();
        self.heap.collections += 1;
        self.heap.marks.fill(0);
        self.mark_native_stack();
        self.mark_registers();
        self.mark_dirty_image_pages();
        let mut roots = std::mem::take(&mut self.root_scratch);
        roots.clear();
        self.visit_roots(&mut |value| roots.push(value));
        for &value in &roots {
            self.mark_value(value);
        }
        self.root_scratch = roots;
        self.drain_mark_stack();
        self.mark_ephemerons();
        self.clear_weak();
        self.sweep();
    }

    /// Collects until nothing more dies, without scanning the native stack: only while no JavaScript
    /// runs and the caller holds no references (before a freeze).
    pub fn collect_at_rest(&mut self) {
        assert!(self.depth == 0, "JavaScript is running");
        let saved = std::mem::replace(&mut self.native_stack_top, 0);
        self.kept_alive = Ref::NULL;
        loop {
            let before = self.heap.allocated;
            self.collect();
            if self.heap.allocated == before {
                break;
            }
        }
        self.native_stack_top = saved;
    }

    /// Whether `cell` was marked in this collection; image cells count as marked.
    pub(crate) fn is_marked(&self, cell: Ref) -> bool {
        if cell.0 < self.heap.start {
            return true;
        }
        let bit = (cell.0 - self.heap.start) / GRANULE;
        self.heap.marks[(bit / 64) as usize] >> (bit % 64) & 1 != 0
    }

    #[inline]
    fn mark(&mut self, cell: Ref) {
        if cell.0 < self.heap.start {
            return;
        }
        let bit = (cell.0 - self.heap.start) / GRANULE;
        let word = &mut self.heap.marks[(bit / 64) as usize];
        let mask = 1u64 << (bit % 64);
        if *word & mask == 0 {
            *word |= mask;
            self.heap.mark_stack.push(cell);
        }
    }

    pub(crate) fn mark_value(&mut self, value: Value) {
        if value.is_ref() {
            self.mark(value.as_ref());
        }
    }

    /// Marks the cell that `address` points into, if there is one.
    fn mark_conservative(&mut self, address: u32) {
        if let Some(cell) = self.heap.find_cell(self.cage, address) {
            self.mark(cell);
        }
    }

    fn mark_registers(&mut self) {
        let mut at = STACK_START;
        let top = self.stack_scan_end();
        while at < top {
            // Registers above a frame's live ones hold stale values, so each is looked up first.
            let value = Value(self.cage.read(at));
            if value.is_ref() {
                self.mark_conservative(value.as_ref().0);
            }
            at += 8;
        }
    }

    #[inline(never)]
    fn mark_native_stack(&mut self) {
        if self.native_stack_top == 0 {
            return;
        }
        let registers = callee_saved_registers();
        for word in registers {
            self.mark_word(word);
        }
        let mut at = (&raw const registers) as usize & !7;
        while at < self.native_stack_top {
            // SAFETY: `at` runs from a local of this frame up to the frame that entered the realm: stack
            // memory of this thread that stays mapped while both frames live.
            let word = unsafe { (at as *const usize).read_volatile() };
            self.mark_word(word);
            at += 8;
        }
    }

    fn mark_word(&mut self, word: usize) {
        let base = self.cage.base_address();
        let offset = word.wrapping_sub(base);
        if offset < 1 << 32 {
            self.mark_conservative(offset as u32);
            if offset > 0 {
                // The address behind the last byte of a cell keeps that cell, too.
                self.mark_conservative(offset as u32 - 1);
            }
        }
        self.mark_conservative(word as u32);
        self.mark_conservative((word >> 32) as u32);
    }

    fn mark_dirty_image_pages(&mut self) {
        for page in 0..self.dirty.len() {
            if self.dirty[page] == 0 {
                continue;
            }
            let start = (page as u32 * PAGE_BYTES).max(crate::cage::IMAGE_START);
            let end = (page as u32 * PAGE_BYTES + PAGE_BYTES).min(self.cage.image_end());
            let mut at = start;
            while at + 4 <= end {
                let word: u32 = self.cage.read(at);
                if word >= self.heap.start {
                    self.mark_conservative(word);
                }
                at += 4;
            }
        }
    }

    fn drain_mark_stack(&mut self) {
        while let Some(cell) = self.heap.mark_stack.pop() {
            self.trace(cell);
        }
    }

    fn trace(&mut self, cell: Ref) {
        let cage = self.cage;
        let kind = cage.kind(cell);
        match kind {
            // Tables of weak collections are traced by `mark_ephemerons`, weak targets not at all.
            Kind::WeakMap | Kind::WeakSet | Kind::FinalizationRegistry => {
                let table = cage.r(cell, 16);
                if !table.is_null() {
                    self.mark_without_tracing(table);
                }
                for at in [4, 8, 12] {
                    self.mark_field(cell, at);
                }
                if kind == Kind::FinalizationRegistry {
                    self.mark_value(Value(cage.get(cell, 24)));
                }
                self.weak_tables.push(cell);
                return self.trace_tail(cell, Tail::Inline, kind.info().fixed_bytes);
            }
            Kind::WeakRef => self.weak_refs.push(cell),
            _ => {}
        }
        let info = kind.info();
        for &at in info.refs {
            self.mark_field(cell, at);
        }
        for &at in info.values {
            self.mark_value(Value(cage.get(cell, at)));
        }
        self.trace_tail(cell, info.tail, info.fixed_bytes);
    }

    fn mark_field(&mut self, cell: Ref, at: u32) {
        let r = self.cage.r(cell, at);
        if !r.is_null() {
            self.mark(r);
        }
    }

    fn mark_without_tracing(&mut self, cell: Ref) {
        if cell.0 < self.heap.start {
            return;
        }
        let bit = (cell.0 - self.heap.start) / GRANULE;
        self.heap.marks[(bit / 64) as usize] |= 1u64 << (bit % 64);
    }

    fn trace_tail(&mut self, cell: Ref, tail: Tail, fixed: u32) {
        let cage = self.cage;
        let count = cage.tail_count(cell, tail);
        match tail {
            Tail::None | Tail::Bytes(_) | Tail::Units16(_) | Tail::Words32(_) | Tail::Words64(_) => {}
            Tail::Values(_) | Tail::Inline => {
                for i in 0..count {
                    self.mark_value(Value(cage.get(cell, fixed + 8 * i)));
                }
            }
            Tail::Refs(_) => {
                for i in 0..count {
                    self.mark_field(cell, fixed + 4 * i);
                }
            }
            Tail::Caches(_) => {
                for i in 0..count {
                    self.mark_field(cell, fixed + 16 * i);
                    self.mark_field(cell, fixed + 16 * i + 4);
                }
            }
            Tail::Sparse => {
                for i in 0..cage.u32(cell, 8) {
                    self.mark_value(Value(cage.get(cell, fixed + 16 * i + 8)));
                }
            }
            Tail::PropertyTable => {
                for i in 0..cage.u32(cell, 8) {
                    self.mark_field(cell, fixed + 8 * i);
                }
            }
            Tail::MapTable => {
                for i in 0..cage.u32(cell, 8) {
                    self.mark_value(Value(cage.get(cell, fixed + 16 * i)));
                    self.mark_value(Value(cage.get(cell, fixed + 16 * i + 8)));
                }
            }
        }
    }

    /// Marks values of weak collections whose keys are alive, until nothing changes.
    fn mark_ephemerons(&mut self) {
        let cage = self.cage;
        loop {
            let mut progress = false;
            let mut i = 0;
            while i < self.weak_tables.len() {
                let owner = self.weak_tables[i];
                i += 1;
                let table = cage.r(owner, 16);
                if table.is_null() {
                    continue;
                }
                for entry in 0..cage.u32(table, 8) {
                    let key = Value(cage.get(table, 32 + 16 * entry));
                    let value = Value(cage.get(table, 32 + 16 * entry + 8));
                    if key.is_ref() && self.is_marked(key.as_ref()) && value.is_ref() && !self.is_marked(value.as_ref())
                    {
                        self.mark(value.as_ref());
                        progress = true;
                    }
                }
            }
            self.drain_mark_stack();
            if !progress {
                return;
            }
        }
    }

    fn clear_weak(&mut self) {
        let cage = self.cage;
        for owner in std::mem::take(&mut self.weak_tables) {
            let table = cage.r(owner, 16);
            if table.is_null() {
                continue;
            }
            let mut dead = 0;
            for entry in 0..cage.u32(table, 8) {
                let at = 32 + 16 * entry;
                let key = Value(cage.get(table, at));
                if key.is_ref() && !self.is_marked(key.as_ref()) {
                    let held = Value(cage.get(table, at + 8));
                    if cage.is(owner, Kind::FinalizationRegistry) {
                        self.finalized.push(Value::object(owner));
                        self.finalized.push(held);
                    }
                    cage.set(table, at, Value::HOLE.0);
                    cage.set(table, at + 8, Value::UNDEFINED.0);
                    dead += 1;
                }
            }
            if dead != 0 {
                cage.set(table, 12, cage.u32(table, 12) - dead);
            }
        }
        // What the cleanup callbacks will get must survive this collection.
        for i in 0..self.finalized.len() {
            self.mark_value(self.finalized[i]);
        }
        self.drain_mark_stack();
        for cell in std::mem::take(&mut self.weak_refs) {
            let target = Value(cage.get(cell, 16));
            if target.is_ref() && !self.is_marked(target.as_ref()) {
                cage.set(cell, 16, Value::UNDEFINED.0);
            }
        }
        self.sweep_host_tables();
    }

    fn sweep(&mut self) {
        let cage = self.cage;
        let heap = &mut self.heap;
        for class in 0..CLASS_BYTES.len() {
            heap.retire_bump(class);
            heap.free[class] = 0;
        }
        let mut live = 0u64;
        let mut index = 0;
        while index < heap.blocks.len() {
            let start = heap.block_start(index);
            match heap.blocks[index].usage {
                BlockUse::Free | BlockUse::LargeRest => index += 1,
                BlockUse::Large(count) => {
                    if is_marked_in(&heap.marks, heap.start, start) {
                        live += u64::from(count) * u64::from(BLOCK_BYTES);
                    } else {
                        for block in &mut heap.blocks[index..index + count as usize] {
                            *block = Block { usage: BlockUse::Free, limit: 0 };
                        }
                    }
                    index += count as usize;
                }
                BlockUse::Small(class) => {
                    let marks = &heap.marks[index * MARK_WORDS_PER_BLOCK..(index + 1) * MARK_WORDS_PER_BLOCK];
                    if marks.iter().all(|&w| w == 0) {
                        heap.blocks[index] = Block { usage: BlockUse::Free, limit: 0 };
                    } else {
                        let size = CLASS_BYTES[class as usize];
                        let limit = heap.blocks[index].limit;
                        let mut head = heap.free[class as usize];
                        let mut offset = 0;
                        while offset + size <= limit {
                            let cell = start + offset;
                            if is_marked_in(&heap.marks, heap.start, cell) {
                                live += u64::from(size);
                            } else {
                                cage.init(cell, Kind::Free as u32);
                                cage.init(cell + 4, head);
                                head = cell;
                            }
                            offset += size;
                        }
                        // What lies above the limit was never used: hand it out through the free list, too.
                        let mut rest = limit;
                        while rest + size <= BLOCK_BYTES {
                            cage.init(start + rest, Kind::Free as u32);
                            cage.init(start + rest + 4, head);
                            head = start + rest;
                            rest += size;
                        }
                        heap.blocks[index].limit = rest;
                        heap.free[class as usize] = head;
                    }
                    index += 1;
                }
            }
        }
        while heap.blocks.last().is_some_and(|b| b.usage == BlockUse::Free) {
            heap.blocks.pop();
        }
        heap.marks.truncate(heap.blocks.len() * MARK_WORDS_PER_BLOCK);
        debug_assert_eq!(BLOCK_BYTES, 1 << BLOCK_SHIFT);
        heap.allocated = live;
        heap.collect_at = (live * 2).max(super::FIRST_COLLECTION);
    }
}

fn is_marked_in(marks: &[u64], heap_start: u32, cell: u32) -> bool {
    let bit = (cell - heap_start) / GRANULE;
    marks[(bit / 64) as usize] >> (bit % 64) & 1 != 0
}

/// The registers that a call preserves, which may hold the only copy of a reference.
#[inline(never)]
fn callee_saved_registers() -> [usize; 6] {
    let mut saved = [0usize; 6];
    #[cfg(target_arch = "x86_64")]
    // SAFETY: writes six words into `saved`, which has room for them, and changes no register.
    unsafe {
        std::arch::asm!(
            "mov [{p}], rbx", "mov [{p} + 8], rbp", "mov [{p} + 16], r12",
            "mov [{p} + 24], r13", "mov [{p} + 32], r14", "mov [{p} + 40], r15",
            p = in(reg) saved.as_mut_ptr(),
            options(nostack, preserves_flags)
        );
    }
    saved
}
