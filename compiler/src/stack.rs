//! The stack that the compiler runs on: one mapping per thread, kept from one compilation to the next.
//!
//! The parser recurses as deep as its source nests and has no limit of its own, so it needs a stack in
//! proportion to the source. Mapping one for each compilation costs a small script more than its parsing,
//! and asking for the bounds of a thread's own stack reads the whole map table on the main thread; hence
//! this module in place of `stacker`. Code on such a stack never touches a cage (the collector scans the
//! thread's own stack only).
//!
//! Invariant: while a closure runs on a [`Stack`], `LIMIT` is the lowest address that it may use.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap_anonymous, mprotect, munmap};

/// Below the lowest usable byte: an overflow meets no other mapping.
const GUARD: usize = 64 * 1024;
/// Stacks up to this size are kept by their thread; untouched, they are but addresses.
const KEPT_MAX: usize = 64 * 1024 * 1024;
/// Memory at the top of a kept stack that stays resident between compilations.
const RESIDENT: usize = 256 * 1024;
/// A page of known words tells, without a system call, whether frames came below the resident part.
const TRIPWIRE_WORDS: usize = 512;
const TRIPWIRE: u64 = 0x7a6a_735f_7374_6163;
/// What one call of [`ensure`] and everything up to the next one may use.
const RED_ZONE: usize = 256 * 1024;
/// Size of the stack that `ensure` goes on with.
const STEP: usize = 4 * 1024 * 1024;

thread_local! {
    static KEPT: RefCell<Option<Stack>> = const { RefCell::new(None) };
    static LIMIT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// The system has no memory for a stack.
#[derive(Debug)]
pub struct NoStack;

/// A mapping with a guard at its lower end; unmapped when dropped.
struct Stack {
    base: *mut u8,
    bytes: usize,
}

impl Stack {
    fn new(bytes: usize) -> Result<Stack, NoStack> {
        let bytes = bytes.next_multiple_of(GUARD) + GUARD;
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE | MapFlags::STACK;
        // SAFETY: a new anonymous mapping at an address of the kernel's choice disturbs nothing.
        let base = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, ProtFlags::empty(), flags) };
        let stack = Stack { base: base.map_err(|_| NoStack)?.cast(), bytes };
        // SAFETY: the range lies in the mapping just made, which nobody else knows.
        let opened = unsafe {
            mprotect(stack.base.add(GUARD).cast(), bytes - GUARD, MprotectFlags::READ | MprotectFlags::WRITE)
        };
        opened.map_err(|_| NoStack)?;
        stack.set_tripwire();
        Ok(stack)
    }

    /// Runs `f` on this stack; what it unwinds with is the error.
    fn run<R>(&self, f: impl FnOnce() -> R) -> Result<R, Box<dyn Any + Send>> {
        let outer = LIMIT.replace(self.base as usize + GUARD);
        // SAFETY: base and size are multiples of the page size and describe memory that is readable and
        // writable above the guard, lives as long as `self` and is used by this call alone (whoever runs on
        // a stack has taken it out of `KEPT`). The closure does not unwind: it catches.
        let result = unsafe { psm::on_stack(self.base, self.bytes, || catch_unwind(AssertUnwindSafe(f))) };
        LIMIT.set(outer);
        result
    }

    /// The words right below the part that stays resident; `None` for a stack that is not larger.
    fn tripwire(&self) -> Option<*mut u64> {
        let below = self.bytes.checked_sub(RESIDENT + TRIPWIRE_WORDS * 8).filter(|&below| below > GUARD)?;
        // SAFETY: the offset lies in the mapping.
        Some(unsafe { self.base.add(below) }.cast())
    }

    fn set_tripwire(&self) {
        let Some(words) = self.tripwire() else { return };
        // SAFETY: the words lie in this mapping, above the guard, and no frame is on the stack now.
        unsafe { std::slice::from_raw_parts_mut(words, TRIPWIRE_WORDS) }.fill(TRIPWIRE);
    }

    /// Gives the memory below the part that stays resident back to the system, if frames came down there.
    fn trim(&self) {
        let Some(words) = self.tripwire() else { return };
        // SAFETY: as in `set_tripwire`.
        if unsafe { std::slice::from_raw_parts(words, TRIPWIRE_WORDS) }.iter().all(|&word| word == TRIPWIRE) {
            return;
        }
        let bytes = self.bytes - GUARD - RESIDENT;
        // SAFETY: the range lies in this mapping, above the guard, and no frame is on the stack now.
        let _ = unsafe { madvise(self.base.add(GUARD).cast(), bytes, Advice::LinuxDontNeed) };
        self.set_tripwire();
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the mapping is this value's own, and nothing runs on it any more.
        let _ = unsafe { munmap(self.base.cast(), self.bytes) };
    }
}

/// Runs `f` with `bytes` of stack.
///
/// # Errors
/// [`NoStack`] when the system has no memory for it, here or in a nested [`ensure`].
///
/// # Panics
/// Goes on with a panic of `f`.
pub fn with_stack<R>(bytes: usize, f: impl FnOnce() -> R) -> Result<R, NoStack> {
    // A larger one is mapped for this use alone, and the kept one stays for the next small source.
    let kept = if bytes <= KEPT_MAX { KEPT.take().filter(|stack| stack.bytes >= bytes + GUARD) } else { None };
    let stack = match kept {
        Some(stack) => stack,
        // Where address space is short, the check of the source's nesting is what protects a smaller stack.
        None => Stack::new(bytes).or_else(|_| Stack::new(bytes.min(KEPT_MAX)))?,
    };
    let result = stack.run(f);
    if bytes <= KEPT_MAX {
        stack.trim();
        KEPT.replace(Some(stack));
    }
    result.map_err(|payload| match payload.downcast::<NoStack>() {
        Ok(no_stack) => *no_stack,
        Err(payload) => resume_unwind(payload),
    })
}

/// Runs `f`, on a new stack if this one is nearly used up. Only inside [`with_stack`].
#[inline]
pub fn ensure<R>(f: impl FnOnce() -> R) -> R {
    if (psm::stack_pointer() as usize).saturating_sub(LIMIT.get()) >= RED_ZONE { f() } else { on_more_stack(f) }
}

#[cold]
#[inline(never)]
fn on_more_stack<R>(f: impl FnOnce() -> R) -> R {
    let result = match Stack::new(STEP) {
        Ok(stack) => stack.run(f),
        Err(no_stack) => Err(Box::new(no_stack) as Box<dyn Any + Send>),
    };
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depth(n: u32, frame: &mut [u8; 1024]) -> u32 {
        frame[n as usize % 1024] = n as u8;
        let mut next = std::hint::black_box([0u8; 1024]);
        if n == 0 { u32::from(next[0]) } else { ensure(|| depth(n - 1, &mut next)) + 1 }
    }

    #[test]
    fn recursion_goes_on_in_new_stacks() {
        assert_eq!(with_stack(512 * 1024, || depth(20_000, &mut [0; 1024])).expect("a stack"), 20_000);
        assert_eq!(LIMIT.get(), usize::MAX);
    }

    #[test]
    fn a_thread_keeps_its_stack_and_a_nested_use_gets_another() {
        let address = || with_stack(1024 * 1024, || psm::stack_pointer() as usize / GUARD).expect("a stack");
        let first = address();
        assert_eq!(first, address());
        let (outer, inner) =
            with_stack(1024 * 1024, || (psm::stack_pointer() as usize / GUARD, address())).expect("two");
        assert_eq!(first, outer);
        assert_ne!(outer, inner);
    }

    #[test]
    fn a_kept_stack_gives_back_what_deep_recursion_touched() {
        let deep = |n| with_stack(32 * 1024 * 1024, || depth(n, &mut [0; 1024])).expect("a stack");
        deep(10_000);
        let start = KEPT.with_borrow(|kept| kept.as_ref().map(|stack| stack.base as usize + GUARD)).expect("kept");
        let maps = std::fs::read_to_string("/proc/self/smaps").expect("smaps");
        let own = maps.split_once(&format!("\n{start:x}-")).expect("a mapping of its own").1;
        let line = own.lines().find(|line| line.starts_with("Rss:")).expect("its resident memory");
        let kib: usize = line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number");
        assert!(kib > 0 && kib <= (RESIDENT + TRIPWIRE_WORDS * 8) / 1024, "{kib} KiB");
    }

    #[test]
    fn no_memory_is_an_error_and_panics_go_through() {
        assert!(Stack::new(1 << 60).is_err());
        assert!(with_stack(1024 * 1024, || resume_unwind(Box::new(NoStack))).is_err());
        let panic = catch_unwind(|| with_stack(1024 * 1024, || resume_unwind(Box::new("passes"))));
        assert_eq!(*panic.expect_err("a panic").downcast::<&str>().expect("a text"), "passes");
        assert_eq!(LIMIT.get(), usize::MAX);
    }
}
