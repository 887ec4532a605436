//! `Realm`: a cage plus its run-time state (heap, register stack, jobs, feedback, limits).
//!
//! Everything that can throw returns `Result<_, Throw>`; the thrown value waits in `Realm::exception`.
//! Values live in cells, in registers and on the native stack (which is scanned conservatively); host
//! tables that hold references are fields here and are visited by `visit_roots` or swept as weak.

use std::sync::Arc;

use crate::bytecode::template::SourceCompiler;
use crate::cage::{Cage, CageError, CageMemory, FEEDBACK_TABLE, Ref, STACK_END, STACK_START};
use crate::heap::Heap;
use crate::host::{HostFunctions, HostHooks};
use crate::jobs::JobQueue;
use crate::kinds::Kind;
use crate::names::{FIRST_SYMBOL, Intrinsic, Name, Sym};
use crate::shapes::ShapeOverlay;
use crate::strings::intern::InternOverlay;
use crate::value::Value;

/// A JavaScript exception is on its way: the value is in [`Realm::exception`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Throw;

/// What most operations return.
pub type Completion<T = Value> = Result<T, Throw>;

/// Why a realm was ended; nothing runs in it any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Termination {
    /// The memory budget was exceeded again after its RangeError.
    Memory,
    /// The fuel budget was exceeded again after its RangeError.
    Fuel,
}

/// Limits and choices of a realm.
#[derive(Clone, Debug)]
pub struct RealmOptions {
    /// Most bytes that cells may take.
    pub memory_bytes_max: u64,
    /// Fuel units (calls, back edges, steps of built-ins) that the realm may spend.
    pub fuel: u64,
    /// Most JavaScript frames on the stack.
    pub depth_max: u32,
    /// Most bytes of native stack below the entry into the realm.
    pub native_stack_bytes: usize,
    /// Seed of hash tables and `Math.random`; `None` asks the system.
    pub seed: Option<u64>,
    /// Collect garbage at every allocation (tests).
    pub collect_always: bool,
    /// Run ahead-of-time code where there is some.
    pub native_code: bool,
    /// Milliseconds since the epoch that `Date` sees; `None` asks the system.
    pub clock_ms: Option<f64>,
    /// Time zone that `Date` sees, by IANA name or POSIX rule; `None` asks the system.
    pub time_zone: Option<String>,
}

impl Default for RealmOptions {
    fn default() -> Self {
        RealmOptions {
            memory_bytes_max: 2 << 30,
            fuel: i64::MAX as u64,
            depth_max: 10_000,
            // Threads of Rust's standard library have 2 MiB.
            native_stack_bytes: 1400 << 10,
            seed: None,
            collect_always: false,
            native_code: true,
            clock_ms: None,
            time_zone: None,
        }
    }
}

/// Refs of an image that every realm of it needs, the same in every cage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FrozenRoots {
    pub image_end: u32,
    pub realm_record: Ref,
    pub intern_table: Ref,
    pub transition_table: Ref,
    pub root_table: Ref,
    pub template_count: u32,
}

/// Refs that the hot paths need without a detour.
#[derive(Clone, Copy, Debug, Default)]
pub struct WellKnown {
    pub(crate) table: Ref,
    pub(crate) empty: Ref,
    pub(crate) single_units: Ref,
    /// Header flag of private-name symbols.
    pub(crate) private_marker_kind: u8,
}

/// Entry point of native code and what it needs, one for all realms of a loaded snapshot.
pub trait NativeCode: Send + Sync {
    /// Host address of the code section.
    fn base(&self) -> usize;
}

/// The original bytes of an image, by cage page number.
pub trait ImagePages {
    /// The 4 KiB of page `number`; the page belongs to the writable part.
    fn page(&self, number: u32) -> &[u8];
}

/// An independent JavaScript heap with its own global object and intrinsics.
pub struct Realm {
    pub cage: Cage,
    pub(crate) heap: Heap,
    pub frozen: FrozenRoots,
    pub(crate) names: WellKnown,
    /// The realm record: intrinsics by number.
    pub(crate) record: Ref,
    /// First free register (cage offset).
    pub(crate) stack_top: u32,
    /// Current frame (0: none) and the instruction it stands at.
    pub(crate) fp: u32,
    pub(crate) pc: u32,
    /// Objects whose `join` is running (cycles give empty strings).
    pub(crate) joining: Vec<u32>,
    pub exception: Value,
    pub termination: Option<Termination>,
    /// Fuel that is left; negative once it ran out.
    pub fuel: i64,
    pub(crate) fuel_exhausted_once: bool,
    pub(crate) memory_exhausted_once: bool,
    pub depth: u32,
    pub(crate) depth_max: u32,
    /// Lowest native stack address that may be used.
    pub(crate) native_stack_limit: usize,
    /// Address of the frame that entered the realm; 0 outside.
    pub(crate) native_stack_top: usize,
    pub(crate) native_stack_bytes: usize,
    pub(crate) prototype_epoch: u32,
    pub(crate) interned: InternOverlay,
    pub(crate) shapes: ShapeOverlay,
    pub(crate) jobs: JobQueue,
    /// Feedback-table entries (template numbers) that were used.
    pub(crate) feedback_used: Vec<u32>,
    pub(crate) next_template: u32,
    pub(crate) megamorphic: crate::interp::megamorphic::MegamorphicCache,
    pub(crate) root_scratch: Vec<Value>,
    pub(crate) weak_tables: Vec<Ref>,
    pub(crate) weak_refs: Vec<Ref>,
    pub(crate) finalized: Vec<Value>,
    /// KeptAlive list (9.11) as a Set: what WeakRefs gave out in the running job; null if nothing.
    pub(crate) kept_alive: Ref,
    /// Values that the embedder holds; index is the handle.
    pub(crate) handles: Vec<Value>,
    pub(crate) free_handles: Vec<u32>,
    /// Bumped at each reset, so that handles of an earlier life are told apart.
    pub generation: u32,
    pub(crate) regexps: crate::builtins::regexp_cache::RegExpCache,
    /// Compiled patterns of the image, if the snapshot shares them among its realms.
    pub shared_programs: Option<Arc<crate::builtins::regexp_cache::SharedPrograms>>,
    /// The time zone, once `Date` has asked for it.
    pub(crate) zone: Option<Arc<crate::pure::tzif::TimeZone>>,
    pub(crate) random_state: u64,
    pub(crate) options: RealmOptions,
    pub compiler: Option<Arc<dyn SourceCompiler>>,
    pub host_functions: Arc<HostFunctions>,
    pub hooks: HostHooks,
    pub native: Option<Arc<dyn NativeCode>>,
    pub(crate) native_state: crate::interp::native::NativeState,
    /// One byte per image page: 1 after the first store to it.
    pub(crate) dirty: Box<[u8]>,
    pub(crate) memory: CageMemory,
}

// SAFETY: a realm owns its cage; nothing in it is tied to the thread that made it, and it is not `Sync`.
unsafe impl Send for Realm {}

impl Realm {
    /// A realm over `memory`, whose image part (if any) is mapped and described by `frozen`.
    ///
    /// # Safety
    /// What `frozen` says must be true of the mapped image.
    pub unsafe fn from_parts(
        memory: CageMemory,
        frozen: FrozenRoots,
        filter: &[u64; 64],
        options: &RealmOptions,
    ) -> Realm {
        let mut dirty = vec![0u8; (frozen.image_end / crate::cage::PAGE_BYTES) as usize + 1].into_boxed_slice();
        // SAFETY: memory and dirty table are owned by the realm that gets the handle, and dropped with it.
        let cage = unsafe { Cage::new(&memory, dirty.as_mut_ptr(), frozen.image_end) };
        let mut realm = Realm {
            cage,
            heap: Heap::new(frozen.image_end, options.memory_bytes_max),
            frozen,
            names: WellKnown::default(),
            record: frozen.realm_record,
            stack_top: STACK_START,
            fp: 0,
            pc: 0,
            joining: Vec::new(),
            exception: Value::UNDEFINED,
            termination: None,
            fuel: 0,
            fuel_exhausted_once: false,
            memory_exhausted_once: false,
            depth: 0,
            depth_max: 0,
            native_stack_limit: 0,
            native_stack_top: 0,
            native_stack_bytes: 0,
            prototype_epoch: 1,
            interned: InternOverlay::default(),
            shapes: ShapeOverlay::default(),
            jobs: JobQueue::default(),
            feedback_used: Vec::new(),
            next_template: frozen.template_count,
            megamorphic: Default::default(),
            root_scratch: Vec::new(),
            weak_tables: Vec::new(),
            weak_refs: Vec::new(),
            finalized: Vec::new(),
            kept_alive: Ref::NULL,
            handles: Vec::new(),
            free_handles: Vec::new(),
            generation: 0,
            regexps: Default::default(),
            shared_programs: None,
            zone: None,
            random_state: 0,
            options: options.clone(),
            compiler: None,
            host_functions: Arc::default(),
            hooks: HostHooks::default(),
            native: None,
            native_state: Default::default(),
            dirty,
            memory,
        };
        realm.start(filter, options);
        realm
    }

    /// A realm without an image, its intrinsics made by the installer: what a bare snapshot is built from.
    ///
    /// # Errors
    /// When memory cannot be had.
    pub fn bare(options: &RealmOptions) -> Result<Realm, CageError> {
        let memory = CageMemory::reserve(0)?;
        // SAFETY: without an image there is nothing that could be described wrongly.
        let mut realm = unsafe { Realm::from_parts(memory, FrozenRoots::default(), &[0; 64], options) };
        realm.heap.hold = 1;
        let installed = realm.install_intrinsics();
        realm.heap.hold = 0;
        match installed {
            Ok(()) => Ok(realm),
            Err(Throw) => Err(CageError::ImageTooLarge { image_bytes: realm.heap.allocated_bytes() }),
        }
    }

    /// Sets run-time state for a life of the realm; the image part is as in the snapshot.
    fn start(&mut self, filter: &[u64; 64], options: &RealmOptions) {
        let seed = options.seed.unwrap_or_else(random_seed);
        self.shapes.reset(filter);
        self.reset_interned(seed);
        self.random_state = seed ^ 0x9E37_79B9_7F4A_7C15;
        self.fuel = options.fuel.min(i64::MAX as u64) as i64;
        self.depth_max = options.depth_max;
        self.native_stack_bytes = options.native_stack_bytes;
        self.load_well_known();
        if options.collect_always {
            self.heap.set_torture(true);
        }
    }

    /// Reads the refs of the hot paths from the realm record.
    pub(crate) fn load_well_known(&mut self) {
        self.names.private_marker_kind = crate::objects::PRIVATE_SYMBOL;
        if self.record.is_null() {
            return;
        }
        self.names.table = self.intrinsic(Intrinsic::Names);
        self.names.single_units = self.intrinsic(Intrinsic::SingleUnits);
        self.names.empty = self.name(Name::empty);
    }

    /// Makes the realm new again, as if just made from its image. `image_page` gives the original bytes of
    /// each dirty page. Heap pages above `keep_bytes` go back to the kernel; `wipe` zeroes the kept ones
    /// that were used.
    pub fn reset(
        &mut self,
        options: &RealmOptions,
        filter: &[u64; 64],
        keep_bytes: u32,
        wipe: bool,
        image_page: &dyn ImagePages,
    ) {
        for page in 0..self.dirty.len() {
            if self.dirty[page] != 0 {
                let bytes = image_page.page(page as u32);
                assert!(bytes.len() == crate::cage::PAGE_BYTES as usize);
                self.cage.write_bytes(page as u32 * crate::cage::PAGE_BYTES, bytes);
                self.dirty[page] = 0;
            }
        }
        let used_end = self.heap.reset(options.memory_bytes_max);
        let heap_start = self.heap.start();
        let keep_end = heap_start.saturating_add(keep_bytes);
        self.memory.discard(keep_end.min(used_end), used_end);
        if wipe {
            self.cage.fill(heap_start, 0, used_end.min(keep_end) - heap_start);
        }
        for &number in &self.feedback_used {
            self.cage.init(FEEDBACK_TABLE + 4 * number, 0u32);
        }
        self.feedback_used.clear();
        self.native_state.reset_stack_mark(&self.memory, self.cage, wipe);
        self.stack_top = STACK_START;
        self.fp = 0;
        self.pc = 0;
        self.joining.clear();
        self.exception = Value::UNDEFINED;
        self.termination = None;
        self.fuel_exhausted_once = false;
        self.memory_exhausted_once = false;
        self.depth = 0;
        self.native_stack_top = 0;
        self.prototype_epoch = 1;
        self.jobs.clear();
        self.next_template = self.frozen.template_count;
        self.megamorphic.clear();
        self.weak_tables.clear();
        self.weak_refs.clear();
        self.finalized.clear();
        self.kept_alive = Ref::NULL;
        self.handles.clear();
        self.free_handles.clear();
        self.generation = self.generation.wrapping_add(1);
        self.regexps.clear();
        self.zone = None;
        self.hooks = HostHooks::default();
        self.native_state = Default::default();
        self.options.clone_from(options);
        self.start(filter, options);
    }

    /// Pages of the image that were stored to, by number.
    pub fn dirty_pages(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.dirty.len() as u32).filter(|&p| self.dirty[p as usize] != 0)
    }

    /// The reservation that the realm lives in.
    pub fn memory(&self) -> &CageMemory {
        &self.memory
    }

    /// The options that the realm was made with.
    pub fn options(&self) -> &RealmOptions {
        &self.options
    }

    /// Bytes in cells, garbage included.
    pub fn allocated_bytes(&self) -> u64 {
        self.heap.allocated_bytes()
    }

    /// First byte of the heap and the end of what it uses.
    pub fn heap_start(&self) -> u32 {
        self.heap.start()
    }

    /// Number of collections so far.
    pub fn collections(&self) -> u64 {
        self.heap.collections
    }

    /// Calls `visit` for every live heap cell in address order (after `collect_at_rest`: the reachable ones).
    pub fn for_each_heap_cell(&self, visit: impl FnMut(Ref)) {
        self.heap.for_each_cell(self.cage, visit);
    }

    /// Overlay facts that a writer merges into the frozen tables.
    pub fn shape_overlay(&self) -> &ShapeOverlay {
        &self.shapes
    }

    /// The realm record.
    pub fn realm_record(&self) -> Ref {
        self.record
    }

    /// Number of template numbers in use.
    pub fn template_count(&self) -> u32 {
        self.next_template
    }

    // --- intrinsics, names

    /// The intrinsic object (or bookkeeping cell); null while it is not made.
    #[inline(always)]
    pub fn intrinsic(&self, intrinsic: Intrinsic) -> Ref {
        self.cage.r(self.record, 8 + 8 * intrinsic as u32)
    }

    /// The intrinsic as a value.
    #[inline(always)]
    pub fn intrinsic_value(&self, intrinsic: Intrinsic) -> Value {
        Value(self.cage.get(self.record, 8 + 8 * intrinsic as u32))
    }

    pub(crate) fn set_intrinsic(&mut self, intrinsic: Intrinsic, value: Value) {
        self.cage.set(self.record, 8 + 8 * intrinsic as u32, value.0);
    }

    /// The interned string of an engine name.
    #[inline(always)]
    pub fn name(&self, name: Name) -> Ref {
        self.cage.r(self.names.table, 8 + 8 * name as u32)
    }

    /// The engine name as a string value.
    #[inline(always)]
    pub fn name_value(&self, name: Name) -> Value {
        Value::string(self.name(name))
    }

    /// A well-known symbol's cell.
    #[inline(always)]
    pub fn symbol(&self, symbol: Sym) -> Ref {
        self.cage.r(self.names.table, 8 + 8 * (FIRST_SYMBOL + symbol as u32))
    }

    /// The global object.
    pub fn global(&self) -> Ref {
        self.intrinsic(Intrinsic::GlobalObject)
    }

    // --- roots

    /// Calls `visit` for every value in host tables.
    pub(crate) fn visit_roots(&self, visit: &mut dyn FnMut(Value)) {
        if !self.record.is_null() {
            visit(Value::cell(self.record));
        }
        if !self.names.table.is_null() {
            visit(Value::cell(self.names.table));
        }
        if !self.names.single_units.is_null() {
            visit(Value::cell(self.names.single_units));
        }
        if !self.kept_alive.is_null() {
            visit(Value::object(self.kept_alive));
        }
        visit(self.exception);
        for &value in self.handles.iter().chain(&self.finalized) {
            visit(value);
        }
        self.jobs.visit(visit);
        for &number in &self.feedback_used {
            let entry: u32 = self.cage.read(FEEDBACK_TABLE + 4 * number);
            if entry >= crate::interp::feedback::FIRST_VECTOR {
                visit(Value::cell(Ref(entry)));
            }
        }
        self.native_state.visit(visit);
    }

    /// Lets host tables drop what the collector did not mark.
    pub(crate) fn sweep_host_tables(&mut self) {
        self.sweep_interned();
        self.sweep_shapes();
        self.megamorphic.clear();
        let mut regexps = std::mem::take(&mut self.regexps);
        regexps.retain(|cell| self.is_marked(cell));
        self.regexps = regexps;
    }

    /// End of the registers that a collection must look at.
    pub(crate) fn stack_scan_end(&self) -> u32 {
        self.stack_top.min(STACK_END)
    }

    // --- handles of the embedder

    /// Keeps `value` alive for the embedder; the number names it.
    pub fn new_handle(&mut self, value: Value) -> u32 {
        if let Some(index) = self.free_handles.pop() {
            self.handles[index as usize] = value;
            return index;
        }
        self.handles.push(value);
        self.handles.len() as u32 - 1
    }

    /// Whether a handle of this number exists.
    pub fn has_handle(&self, index: u32) -> bool {
        (index as usize) < self.handles.len()
    }

    /// The value of a handle; undefined for a number that is none.
    pub fn handle(&self, index: u32) -> Value {
        self.handles.get(index as usize).copied().unwrap_or(Value::UNDEFINED)
    }

    /// Lets go of a handle.
    pub fn drop_handle(&mut self, index: u32) {
        if let Some(slot) = self.handles.get_mut(index as usize) {
            *slot = Value::UNDEFINED;
            self.free_handles.push(index);
        }
    }

    /// Touches the pages that every life of a slot uses, so that a pool takes their faults early.
    pub fn touch_pages(&mut self) {
        let heap = self.heap.start();
        for i in 0..8 {
            self.cage.init(heap + i * crate::heap::BLOCK_BYTES, 0u8);
        }
        self.cage.init(STACK_START, 0u64);
    }

    // --- limits

    /// Charges `units` of fuel.
    ///
    /// # Errors
    /// RangeError when the budget is used up; the second time the realm is terminated.
    #[inline(always)]
    pub fn charge(&mut self, units: u32) -> Completion<()> {
        self.fuel -= i64::from(units);
        if self.fuel < 0 {
            return Err(self.out_of_fuel());
        }
        Ok(())
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn out_of_fuel(&mut self) -> Throw {
        if self.fuel_exhausted_once {
            return self.terminate(Termination::Fuel);
        }
        self.fuel_exhausted_once = true;
        // Enough to handle the error and to clean up, at most a sixteenth more.
        self.fuel = (self.options.fuel.min(i64::MAX as u64) as i64 / 16).clamp(1_000, 1_000_000);
        self.throw_range("Fuel budget exhausted")
    }

    #[cold]
    #[inline(never)]
    pub(crate) fn throw_out_of_memory(&mut self) -> Throw {
        if self.memory_exhausted_once {
            return self.terminate(Termination::Memory);
        }
        self.memory_exhausted_once = true;
        self.heap.hold += 1;
        let reserve = self.heap_reserve(64 << 10);
        let thrown = self.throw_range("Memory budget exhausted");
        self.heap_unreserve(reserve);
        self.heap.hold -= 1;
        thrown
    }

    /// Ends the realm: the exception cannot be caught.
    pub(crate) fn terminate(&mut self, why: Termination) -> Throw {
        self.termination = Some(why);
        self.exception = Value::UNDEFINED;
        Throw
    }

    /// Throws when less native stack is left than a built-in may need.
    ///
    /// # Errors
    /// RangeError.
    #[inline(always)]
    pub fn check_native_stack(&mut self) -> Completion<()> {
        let marker = 0u8;
        if ((&raw const marker) as usize) < self.native_stack_limit {
            return Err(self.throw_stack_overflow());
        }
        Ok(())
    }

    #[cold]
    pub(crate) fn throw_stack_overflow(&mut self) -> Throw {
        self.throw_range("Maximum call stack size exceeded")
    }

    /// Runs `body` as an entry from the host: the native stack from here on belongs to the realm.
    #[inline(never)]
    pub fn enter<R>(&mut self, body: impl FnOnce(&mut Realm) -> R) -> R {
        let marker = [0usize; 2];
        let here = (&raw const marker) as usize;
        let outermost = self.native_stack_top == 0;
        let saved = (self.native_stack_top, self.native_stack_limit);
        if outermost {
            self.native_stack_top = here + 16;
            self.native_stack_limit = here.saturating_sub(self.native_stack_bytes);
        }
        let result = body(self);
        if outermost {
            (self.native_stack_top, self.native_stack_limit) = saved;
        }
        std::hint::black_box(marker);
        result
    }

    /// Allocates a cell with a tail whose size may exceed 32 bits.
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub(crate) fn allocate_tail(&mut self, kind: Kind, fixed: u32, tail_bytes: u64) -> Completion<Ref> {
        let bytes = u64::from(fixed) + tail_bytes;
        if bytes > 1 << 31 {
            return Err(self.throw_range("Invalid array or buffer length"));
        }
        self.allocate(kind, bytes as u32)
    }

    /// Next number of the realm's generator (xorshift64*), for `Math.random`.
    pub fn next_random(&mut self) -> f64 {
        let mut x = self.random_state | 1;
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random_state = x;
        (x.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Milliseconds since the epoch, by the realm's clock.
    pub fn now_ms(&self) -> f64 {
        self.options.clock_ms.unwrap_or_else(|| {
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .map_or(0.0, |d| (d.as_micros() as f64 / 1000.0).floor())
        })
    }
}

fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // The standard library seeds this once per thread from the system and counts on from there.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
