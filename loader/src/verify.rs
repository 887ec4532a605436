//! Verification of an image that nobody vouches for: every cell, every ref, every table.
//!
//! The frozen and writable parts are read as one sequence of cells, each starting at a multiple of 8 behind
//! its predecessor, zero words between the last cell and the end of a part. What is checked here, the
//! interpreter relies on: kinds and sizes, refs to starts of cells of a fitting kind, tags of values that fit
//! their cells, and that an object is as large as its shape says.

use std::collections::{HashMap, HashSet};
use std::sync::OnceLock;

use zjs_engine::bytecode::opcode::{Opcode, Operand};
use zjs_engine::cage::IMAGE_START;
use zjs_engine::image::{Header, SegmentKind};
use zjs_engine::interp::generator::state;
use zjs_engine::interp::iterate::sort;
use zjs_engine::kinds::{KINDS, Kind, Place, Tail};
use zjs_engine::shapes::{ACCESSOR, DICTIONARY, GLOBAL_CELL, NON_EXTENSIBLE, OWN_TABLE};
use zjs_engine::value::{TAG_BIGINT, TAG_CELL, TAG_INT, TAG_OBJECT, TAG_SPECIAL, TAG_STRING, TAG_SYMBOL, Value};

/// Number of element types of typed arrays.
const ELEMENT_TYPES: usize = zjs_engine::builtins::element_types::ElementType::ALL.len();

struct Image<'a> {
    ro: &'a [u8],
    rw: &'a [u8],
    rw_start: u32,
    end: u32,
    /// A bit per 8 bytes: a cell starts here.
    starts: Vec<u64>,
    /// For each shape that has some: slots that hold accessors or property cells, with their attributes.
    special: HashMap<u32, Vec<(u32, u32)>>,
}

type Check = Result<(), String>;

impl Image<'_> {
    fn bytes(&self, address: u32, len: u64) -> Option<&[u8]> {
        let (part, start) = if address < self.rw_start { (self.ro, IMAGE_START) } else { (self.rw, self.rw_start) };
        let at = address.checked_sub(start)? as usize;
        part.get(at..at.checked_add(usize::try_from(len).ok()?)?)
    }

    fn u32(&self, address: u32) -> u32 {
        self.bytes(address, 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }

    fn u64(&self, address: u32) -> u64 {
        u64::from(self.u32(address)) | u64::from(self.u32(address.wrapping_add(4))) << 32
    }

    fn u8(&self, address: u32) -> u8 {
        self.bytes(address, 1).map_or(0, |b| b[0])
    }

    fn is_start(&self, address: u32) -> bool {
        address.is_multiple_of(8)
            && address < self.end
            && self.starts[(address / 512) as usize] >> (address / 8 % 64) & 1 != 0
    }

    fn kind(&self, address: u32) -> Kind {
        Kind::from_raw(self.u8(address)).unwrap_or(Kind::Free)
    }
}

/// Size of the cell at `address` or what is wrong with it.
fn cell_bytes(image: &Image, address: u32) -> Result<u64, String> {
    let raw = image.u8(address);
    let kind = Kind::from_raw(raw).ok_or_else(|| format!("cell at {address:#x} has unknown kind {raw}"))?;
    let info = kind.info();
    if info.place == Place::Never {
        return Err(format!("cell at {address:#x} is of kind {}, which no image holds", info.name));
    }
    let at = |offset: u32| u64::from(image.u32(address + offset));
    let tail = match info.tail {
        Tail::None => 0,
        Tail::Inline => 8 * u64::from(image.u8(address + 2)),
        Tail::Bytes(o) => at(o),
        Tail::Units16(o) => 2 * at(o),
        Tail::Words32(o) | Tail::Refs(o) => 4 * at(o),
        Tail::Values(o) | Tail::Words64(o) => 8 * at(o),
        Tail::Caches(o) => 16 * at(o),
        Tail::Sparse => 16 * at(4),
        Tail::PropertyTable => 8 * at(4) + 4 * (at(16) + 1),
        Tail::MapTable => 16 * at(4) + 4 * (at(16) + 1),
    };
    Ok(u64::from(info.fixed_bytes) + tail)
}

fn index_cells(image: &mut Image, start: u32, bytes: u32) -> Check {
    let end = start + bytes;
    let mut at = start;
    while at < end {
        if image.u64(at) == 0 {
            // Padding: nothing but zeros up to the end of the part.
            let rest = image.bytes(at, u64::from(end - at)).unwrap_or(&[]);
            if rest.iter().any(|&b| b != 0) {
                return Err(format!("padding at {at:#x} is not zero"));
            }
            return Ok(());
        }
        let bytes = cell_bytes(image, at)?.next_multiple_of(8);
        if u64::from(at) + bytes > u64::from(end) {
            return Err(format!("cell at {at:#x} of {bytes} bytes reaches beyond its part"));
        }
        image.starts[(at / 512) as usize] |= 1 << (at / 8 % 64);
        at += bytes as u32;
    }
    Ok(())
}

/// Which kinds a reference field may name.
fn field_allows(owner: Kind, at: u32, target: Kind) -> bool {
    let string = matches!(target, Kind::String8 | Kind::String16);
    let object = target.info().is_object;
    let name = string || target == Kind::Symbol;
    match (owner, at) {
        (Kind::Shape, 4 | 32) => target == Kind::Shape,
        (Kind::Shape, 8) => name,
        (Kind::Shape, 16) => object,
        (Kind::Shape, 20) => target == Kind::PropertyTable,
        (Kind::Symbol, 4) | (Kind::PropertyCell, 4) | (Kind::Script, 4 | 8) | (Kind::Template, 4) => string,
        (Kind::Environment, 8) => target == Kind::Environment,
        (Kind::Environment, 12) => target == Kind::Values,
        (Kind::Accessor, _) => object,
        (Kind::Template, 8) => target == Kind::Code,
        (Kind::Template, 12) => target == Kind::Constants,
        (Kind::Template, 16 | 20) | (Kind::Script, 12) => target == Kind::Table,
        (Kind::Template, 24) => target == Kind::Script,
        (Kind::MapTable, 24) => target == Kind::MapTable,
        (owner, 4) if owner.info().is_object => target == Kind::Shape,
        (owner, 8) if owner.info().is_object => target == Kind::Values,
        (owner, 12) if owner.info().is_object => {
            matches!(target, Kind::ElementsInt | Kind::ElementsDouble | Kind::ElementsValues | Kind::ElementsSparse)
        }
        (Kind::Function, 16) => target == Kind::Template,
        (Kind::Function, 20) => target == Kind::Environment,
        (Kind::Function, 24 | 28) => object,
        (Kind::Function, 32) | (Kind::NativeFunction, 20) | (Kind::HostFunction, 20) => target == Kind::RealmRecord,
        (Kind::HostFunction, 24) | (Kind::RegExp, 16 | 24) => string,
        (Kind::BoundFunction, 16) | (Kind::Proxy, _) => object,
        (Kind::BoundFunction, 20) | (Kind::Generator, 16) | (Kind::Promise, 20) | (Kind::Arguments, 20) => {
            target == Kind::Values
        }
        (Kind::Map | Kind::Set | Kind::WeakMap | Kind::WeakSet | Kind::FinalizationRegistry, 16) => {
            target == Kind::MapTable
        }
        (Kind::ArrayBuffer, 16) => target == Kind::BufferStore,
        (Kind::TypedArray | Kind::DataView, 16) => target == Kind::ArrayBuffer,
        (Kind::Arguments, 16) => target == Kind::Environment,
        (Kind::ModuleNamespace, 16) => target == Kind::Module,
        _ => true,
    }
}

/// Fields that the engine follows without asking for null.
fn requires(owner: Kind, at: u32) -> bool {
    match owner {
        Kind::Template => matches!(at, 4 | 8 | 12 | 24),
        Kind::Script => matches!(at, 4 | 8),
        Kind::PropertyCell => at == 4,
        Kind::Function => matches!(at, 4 | 16 | 32),
        Kind::HostFunction => matches!(at, 4 | 20 | 24),
        Kind::BoundFunction => matches!(at, 4 | 16 | 20),
        Kind::RegExp => matches!(at, 4 | 16 | 24),
        Kind::Map | Kind::Set | Kind::WeakMap | Kind::WeakSet | Kind::FinalizationRegistry => matches!(at, 4 | 16),
        Kind::TypedArray | Kind::DataView | Kind::ModuleNamespace => matches!(at, 4 | 16),
        owner => owner.info().is_object && at == 4,
    }
}

fn check_ref(image: &Image, owner: u32, at: u32) -> Check {
    let target = image.u32(owner + at);
    if target == 0 {
        let kind = image.kind(owner);
        let required = requires(kind, at);
        return if required { Err(format!("cell at {owner:#x} lacks the reference at {at}")) } else { Ok(()) };
    }
    if !image.is_start(target) {
        return Err(format!("reference at {:#x} names {target:#x}, where no cell starts", owner + at));
    }
    if !field_allows(image.kind(owner), at, image.kind(target)) {
        return Err(format!(
            "reference at {:#x} of a {} names a {}",
            owner + at,
            image.kind(owner).info().name,
            image.kind(target).info().name
        ));
    }
    Ok(())
}

fn check_value(image: &Image, address: u32) -> Check {
    let value = Value(image.u64(address));
    if !value.is_ref() {
        let specials = [Value::UNDEFINED, Value::NULL, Value::FALSE, Value::TRUE, Value::HOLE, Value::LAZY];
        let is_known = match value.tag() {
            TAG_SPECIAL => specials.contains(&value),
            TAG_INT => value.0 >> 32 & 0xFFFF == 0,
            _ => true,
        };
        return if is_known { Ok(()) } else { Err(format!("word at {address:#x} is no value")) };
    }
    if value.0 >> 32 & 0xFFFF != 0 {
        return Err(format!("value at {address:#x} has bits beside its reference"));
    }
    let target = value.as_ref().0;
    if !image.is_start(target) {
        return Err(format!("value at {address:#x} names {target:#x}, where no cell starts"));
    }
    let kind = image.kind(target);
    let fits = match value.tag() {
        TAG_OBJECT => kind.info().is_object,
        TAG_STRING => matches!(kind, Kind::String8 | Kind::String16),
        TAG_SYMBOL => kind == Kind::Symbol,
        TAG_BIGINT => kind == Kind::BigInt,
        TAG_CELL => !kind.info().is_object,
        _ => false,
    };
    if fits {
        Ok(())
    } else {
        Err(format!("value at {address:#x} is tagged for another kind than {}", kind.info().name))
    }
}

/// The value at `address` is what the attributes of its property say: an accessor, a property cell, or a value.
fn check_attributes(image: &Image, address: u32, attributes: u32) -> Check {
    let value = Value(image.u64(address));
    let is_cell_of = |kind| value.is_ref() && value.tag() == TAG_CELL && image.kind(value.as_ref().0) == kind;
    let fits = match attributes {
        a if a & u32::from(ACCESSOR) != 0 => is_cell_of(Kind::Accessor),
        a if a & u32::from(GLOBAL_CELL) != 0 => is_cell_of(Kind::PropertyCell),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("the value at {address:#x} is not what its property's attributes say")) }
}

fn check_cell(image: &Image, cell: u32) -> Check {
    let kind = image.kind(cell);
    let info = kind.info();
    for &at in info.refs {
        check_ref(image, cell, at)?;
    }
    for &at in info.values {
        check_value(image, cell + at)?;
    }
    let fixed = info.fixed_bytes;
    let used_within = |used: u32| -> Check {
        if used <= image.u32(cell + 4) {
            Ok(())
        } else {
            Err(format!("{} at {cell:#x} uses more than it has", info.name))
        }
    };
    match info.tail {
        Tail::Values(at) => {
            if kind == Kind::ElementsValues {
                used_within(image.u32(cell + 8))?;
            }
            for i in 0..image.u32(cell + at) {
                check_value(image, cell + fixed + 8 * i)?;
                if matches!(kind, Kind::ElementsValues | Kind::Environment) {
                    check_visible(image, kind, cell + fixed + 8 * i)?;
                }
            }
        }
        Tail::Inline => {
            for i in 0..u32::from(image.u8(cell + 2)) {
                check_value(image, cell + fixed + 8 * i)?;
            }
            check_object(image, cell, kind)?;
        }
        Tail::Sparse => {
            used_within(image.u32(cell + 8))?;
            for i in 0..image.u32(cell + 8) {
                check_value(image, cell + fixed + 16 * i + 8)?;
                check_attributes(image, cell + fixed + 16 * i + 8, image.u32(cell + fixed + 16 * i + 4))?;
            }
        }
        Tail::PropertyTable => check_hash_table(image, cell, 24, 8, |entry| {
            let key = image.u32(entry);
            if key != 0
                && !(image.is_start(key) && matches!(image.kind(key), Kind::String8 | Kind::String16 | Kind::Symbol))
            {
                return Err(format!("property table at {cell:#x} has a key that is no name"));
            }
            Ok(())
        })?,
        Tail::MapTable => check_hash_table(image, cell, 32, 16, |entry| {
            check_value(image, entry)?;
            check_value(image, entry + 8)
        })?,
        Tail::Refs(_) => check_ref_table(image, cell, kind)?,
        Tail::Words32(_) if kind == Kind::ElementsInt => used_within(image.u32(cell + 8))?,
        Tail::Words64(_) => {
            used_within(image.u32(cell + 8))?;
            for i in 0..image.u32(cell + 8) {
                let n = f64::from_bits(image.u64(cell + fixed + 8 * i));
                if n.is_nan() && n.to_bits() != zjs_engine::value::CANONICAL_NAN {
                    return Err(format!("double elements at {cell:#x} hold a NaN that is not canonical"));
                }
            }
        }
        _ => {}
    }
    match kind {
        Kind::Template => crate::verify::bytecode(image, cell),
        Kind::NativeFunction
            if zjs_engine::builtins::lookup(image.u32(cell + 16)).name.is_empty()
                && image.u32(cell + 16) >> 10 >= zjs_engine::builtins::MODULES.len() as u32 =>
        {
            Err(format!("native function at {cell:#x} has no such built-in"))
        }
        Kind::Proxy if (image.u32(cell + 16) == 0) != (image.u32(cell + 20) == 0) => {
            Err(format!("the proxy at {cell:#x} is half revoked"))
        }
        Kind::TypedArray if image.u32(cell + 28) as usize >= ELEMENT_TYPES => {
            Err(format!("the typed array at {cell:#x} has no such element type"))
        }
        Kind::Iterator => check_iterator(image, cell),
        Kind::Generator => check_generator(image, cell),
        // Calendar arithmetic on anything else need not end.
        Kind::Date => {
            let time = Value(image.u64(cell + 16));
            let is_clipped = |t: f64| t.is_nan() || zjs_engine::pure::date::time_clip(t) == t;
            if time.is_number() && is_clipped(time.as_number()) {
                Ok(())
            } else {
                Err(format!("the date at {cell:#x} holds no time value"))
            }
        }
        Kind::BufferStore if image.u32(cell + 4) > image.u32(cell + 8) => {
            Err(format!("buffer at {cell:#x} is longer than its store"))
        }
        Kind::String8 | Kind::String16 if image.u8(cell + 1) != 1 => {
            Err(format!("string at {cell:#x} is not interned"))
        }
        _ => Ok(()),
    }
}

fn check_hash_table(image: &Image, cell: u32, entries: u32, width: u32, each: impl Fn(u32) -> Check) -> Check {
    let (capacity, used, mask) = (image.u32(cell + 4), image.u32(cell + 8), image.u32(cell + 16));
    if used > capacity || !(u64::from(mask) + 1).is_power_of_two() || u64::from(mask) < u64::from(used) {
        return Err(format!("hash table at {cell:#x} has an impossible geometry"));
    }
    for i in 0..used {
        each(cell + entries + width * i)?;
    }
    let index = cell + entries + width * capacity;
    let mut free = 0;
    for slot in 0..=mask {
        let entry = image.u32(index + 4 * slot);
        if entry > used {
            return Err(format!("hash table at {cell:#x} has an index entry out of range"));
        }
        free += u32::from(entry == 0);
    }
    // Probing ends at a free slot.
    if free == 0 { Err(format!("hash table at {cell:#x} has no free slot")) } else { Ok(()) }
}

/// A hash table that was replaced leads to its successor, and these chains end.
fn check_table_chains(image: &Image, tables: impl Iterator<Item = u32>) -> Check {
    let mut ending = HashSet::new();
    for first in tables {
        let (mut at, mut path) = (first, Vec::new());
        while at != 0 && ending.insert(at) {
            path.push(at);
            at = image.u32(at + 24);
        }
        if path.contains(&at) {
            return Err(format!("the successors of the hash table at {first:#x} go round in a circle"));
        }
    }
    Ok(())
}

fn check_ref_table(image: &Image, cell: u32, kind: Kind) -> Check {
    let count = image.u32(cell + 4);
    let wrong = || Err(format!("{} at {cell:#x} is damaged", kind.info().name));
    if kind == Kind::InternTable {
        let mut free = 0;
        for i in 0..count {
            let r = image.u32(cell + 8 + 4 * i);
            if r == 0 {
                free += 1;
            } else if !image.is_start(r) || !matches!(image.kind(r), Kind::String8 | Kind::String16) {
                return wrong();
            }
        }
        return if count.is_power_of_two() && free > 0 { Ok(()) } else { wrong() };
    }
    let mut free = 0;
    for i in 0..count / 4 {
        let row = cell + 8 + 16 * i;
        let [a, b, _, child] = std::array::from_fn(|k| image.u32(row + 4 * k as u32));
        if a == u32::MAX {
            free += 1;
            continue;
        }
        let is = |r: u32, f: &dyn Fn(Kind) -> bool| r == 0 || image.is_start(r) && f(image.kind(r));
        let shape = |k: Kind| k == Kind::Shape;
        let fine = if kind == Kind::TransitionTable {
            a != 0
                && is(a, &shape)
                && is(b, &|k| matches!(k, Kind::String8 | Kind::String16 | Kind::Symbol))
                && child != 0
                && is(child, &shape)
        } else {
            is(a, &|k| k.info().is_object) && is(child, &shape)
        };
        if !fine {
            return wrong();
        }
    }
    if (count / 4).is_power_of_two() && count.is_multiple_of(4) && free > 0 { Ok(()) } else { wrong() }
}

/// What an iterator of the engine walks is of the kind that its sort says.
fn check_iterator(image: &Image, cell: u32) -> Check {
    let what = Value(image.u64(cell + 16));
    let is_table = what.is_ref() && what.tag() == TAG_CELL && image.kind(what.as_ref().0) == Kind::MapTable;
    let fits = match image.u32(cell + 36) {
        _ if what.is_undefined() => true,
        sort::ARRAY_VALUES..=sort::ARRAY_ENTRIES => what.is_object(),
        sort::MAP_KEYS..=sort::SET_ENTRIES => is_table,
        sort::STRING => what.is_string(),
        sort::REGEXP_STRING | sort::ASYNC_FROM_SYNC => what.is_object(),
        _ => true,
    };
    if fits { Ok(()) } else { Err(format!("the iterator at {cell:#x} walks something of another kind")) }
}

/// A suspended coroutine goes on at an instruction of its own function, with all registers of it: at the
/// instruction that suspended it, or at any when it has not started.
fn check_generator(image: &Image, cell: u32) -> Check {
    let bad = |what: &str| Err(format!("the generator at {cell:#x} {what}"));
    let function_of =
        |value: Value| value.is_object().then(|| value.as_ref().0).filter(|&r| image.kind(r) == Kind::Function);
    let Some(function) = function_of(Value(image.u64(cell + 32))) else { return bad("has no function") };
    let state = image.u32(cell + 20);
    match state {
        state::COMPLETED | state::AWAITING_RETURN => return Ok(()),
        state::SUSPENDED_START | state::SUSPENDED_YIELD | state::AWAITING => {}
        _ => return bad("is in a state that no image holds"),
    }
    let saved = image.u32(cell + 16);
    let value = |i: u32| Value(image.u64(saved + 8 + 8 * i));
    if saved == 0 || image.u32(saved + 4) < 4 || function_of(value(1)) != Some(function) {
        return bad("has no saved frame");
    }
    let template = image.u32(function + 16);
    let registers = image.u32(template + 40) & 0xFFFF;
    let argc = value(3);
    if !argc.is_int()
        || argc.as_int() < 0
        || u64::from(image.u32(saved + 4)) < 4 + u64::from(registers) + argc.as_int() as u64
    {
        return bad("has too few saved registers");
    }
    let code = image.u32(template + 8);
    let unit = |at: u32| image.u32(code + 8 + 2 * at) as u16;
    let mut at = 0;
    while value(0).is_int() && at < image.u32(code + 4) {
        let Some(opcode) = Opcode::from_raw(unit(at)) else { break };
        if at as i32 == value(0).as_int() {
            let suspends = matches!(opcode, Opcode::Yield | Opcode::YieldDelegate | Opcode::Await);
            return if suspends || state == state::SUSPENDED_START {
                Ok(())
            } else {
                bad("goes on where nothing suspends")
            };
        }
        at += opcode.length_units() as u32;
    }
    bad("goes on at no instruction")
}

/// Intrinsics are of the kinds that the engine gives them; those that are made late may be missing.
fn check_realm_record(image: &Image, record: u32) -> Check {
    static KINDS_OF_INTRINSICS: OnceLock<Vec<Option<Kind>>> = OnceLock::new();
    let expected = KINDS_OF_INTRINSICS.get_or_init(|| {
        let Ok(realm) = zjs_engine::realm::Realm::bare(&Default::default()) else { return Vec::new() };
        let values = (0..zjs_engine::names::INTRINSIC_NAMES.len() as u32)
            .map(|i| Value(realm.cage.get(realm.realm_record(), 8 + 8 * i)));
        values.map(|v| v.is_ref().then(|| realm.cage.kind(v.as_ref()))).collect()
    });
    for (i, kind) in expected.iter().enumerate() {
        let value = Value(image.u64(record + 8 + 8 * i as u32));
        let found = value.is_ref().then(|| image.kind(value.as_ref().0));
        let is_string = |k: Option<Kind>| matches!(k, Some(Kind::String8 | Kind::String16 | Kind::Rope | Kind::Slice));
        if kind.is_some() && found != *kind && !(is_string(*kind) && is_string(found)) {
            return Err(format!("intrinsic {} of the realm is of another kind", zjs_engine::names::INTRINSIC_NAMES[i]));
        }
    }
    Ok(())
}

/// Whether a value that scripts can see is one: internal cells are not. Environments also hold import
/// references, which are `Values` cells.
fn check_visible(image: &Image, owner: Kind, address: u32) -> Check {
    let value = Value(image.u64(address));
    let is_cell = value.is_ref() && value.tag() == TAG_CELL;
    if is_cell && !(owner == Kind::Environment && image.kind(value.as_ref().0) == Kind::Values) {
        return Err(format!("value at {address:#x} of a {} is an internal cell", owner.info().name));
    }
    Ok(())
}

/// An object is laid out as its shape says, and has all the slots that the shape names.
fn check_object(image: &Image, cell: u32, kind: Kind) -> Check {
    let shape = image.u32(cell + 4);
    let layout = image.u32(shape + 36);
    let (fixed, inline) = (layout >> 16, layout & 0xFFFF);
    if fixed != kind.info().fixed_bytes || inline != u32::from(image.u8(cell + 2)) {
        return Err(format!("object at {cell:#x} does not have the layout of its shape"));
    }
    let slots = image.u32(cell + 8);
    let out_of_line = if slots == 0 { 0 } else { image.u32(slots + 4) };
    if image.u32(shape + 28) > inline + out_of_line {
        return Err(format!("object at {cell:#x} lacks slots that its shape names"));
    }
    for &(slot, attributes) in image.special.get(&shape).map_or(&[][..], Vec::as_slice) {
        let at = if slot < inline { cell + fixed + 8 * slot } else { slots + 8 + 8 * (slot - inline) };
        check_attributes(image, at, attributes)?;
    }
    Ok(())
}

/// Slots of `shape` that hold accessors or property cells. A chain of shapes ends (see `check_shape`), and
/// every shape of an image has a table or hangs on one that has: the walk is short.
fn special_slots(image: &Image, shape: u32) -> Vec<(u32, u32)> {
    let mut special = Vec::new();
    let mut add = |info: u32| {
        if info & u32::from(ACCESSOR | GLOBAL_CELL) != 0 {
            special.push((info >> 8, info & 0xFF));
        }
    };
    let mut at = shape;
    for _ in 0..=image.u32(shape + 24) {
        let table = image.u32(at + 20);
        if table != 0 {
            (0..image.u32(table + 8))
                .map(|i| table + 24 + 8 * i)
                .filter(|&e| image.u32(e) != 0)
                .for_each(|e| add(image.u32(e + 4)));
            break;
        }
        if image.u32(at + 8) == 0 {
            break;
        }
        add(image.u32(at + 12));
        at = image.u32(at + 4);
    }
    special
}

/// Slots in a shape's table lie below its next slot; a chain ends.
fn check_shape(image: &Image, shape: u32) -> Check {
    let next = image.u32(shape + 28);
    let table = image.u32(shape + 20);
    let bad = || Err(format!("shape at {shape:#x} is damaged"));
    let flags = image.u8(shape + 1);
    let lacks_table = flags & (DICTIONARY | OWN_TABLE) != 0 && table == 0 && image.u32(shape + 24) != 0;
    if flags & !(DICTIONARY | NON_EXTENSIBLE | OWN_TABLE) != 0 || lacks_table {
        return bad();
    }
    if table != 0 {
        for i in 0..image.u32(table + 8) {
            if image.u32(table + 24 + 8 * i) != 0 && image.u32(table + 24 + 8 * i + 4) >> 8 >= next {
                return bad();
            }
        }
    } else if image.u32(shape + 8) != 0 {
        let parent = image.u32(shape + 4);
        // Each step of a chain has one property less, so walking it ends.
        if parent == 0
            || image.u32(shape + 24) != image.u32(parent + 24).wrapping_add(1)
            || image.u32(shape + 12) >> 8 >= next
        {
            return bad();
        }
    }
    Ok(())
}

/// Whether an instruction may take this constant; most take names.
fn constant_fits(image: &Image, opcode: Opcode, constant: Value) -> bool {
    let is_cell_of = |kind| constant.is_ref() && constant.tag() == TAG_CELL && image.kind(constant.as_ref().0) == kind;
    match opcode {
        Opcode::LoadConst => !constant.is_ref() || matches!(constant.tag(), TAG_STRING | TAG_BIGINT),
        Opcode::NewClosure | Opcode::NewClass => is_cell_of(Kind::Template),
        Opcode::GetTemplateObject => is_cell_of(Kind::Values),
        _ => constant.is_ref() && constant.tag() == TAG_STRING,
    }
}

/// Whether an instruction may take this number as its operand at unit `at`.
fn number_fits(image: &Image, opcode: Opcode, at: usize, number: u32, constants: u32) -> bool {
    match (opcode, at) {
        (Opcode::LoadIntrinsic, 2) => number < zjs_engine::names::INTRINSIC_NAMES.len() as u32,
        (Opcode::CallEval, 5) => {
            number < image.u32(constants + 4) && is_scope_info(image, Value(image.u64(constants + 8 + 8 * number)))
        }
        _ => true,
    }
}

/// Scope info for direct eval, as the engine's installer lays it out: flags, number of environments, and for
/// each its flags, number of names, and the names with their slots.
fn is_scope_info(image: &Image, value: Value) -> bool {
    if !(value.is_ref() && value.tag() == TAG_CELL && image.kind(value.as_ref().0) == Kind::Values) {
        return false;
    }
    let (list, mut at) = (value.as_ref().0, 2);
    let count = image.u32(list + 4);
    let item = |i: u32| (i < count).then(|| Value(image.u64(list + 8 + 8 * i)));
    let number = |i: u32| item(i).filter(|v| v.is_int() && v.as_int() >= 0).map(|v| v.as_int() as u32);
    let mut walk = || {
        number(0)?;
        for _ in 0..number(1)? {
            number(at)?;
            let names = number(at + 1)?;
            at += 2;
            for _ in 0..names {
                item(at).filter(|name| name.is_string())?;
                number(at + 1)?;
                at += 2;
            }
        }
        Some(())
    };
    walk().is_some()
}

/// Operands in range, constants of the right kind, jumps and handlers to instruction starts.
fn bytecode(image: &Image, template: u32) -> Check {
    let code = image.u32(template + 8);
    let units = image.u32(code + 4);
    let text = image.u32(image.u32(template + 24) + 4);
    let (start, end) = (image.u32(template + 48), image.u32(template + 52));
    if start > end || end > image.u32(text + 4) {
        return Err(format!("the template at {template:#x} names text that its script lacks"));
    }
    let constants = image.u32(template + 12);
    let registers = image.u32(template + 40) & 0xFFFF;
    let caches = image.u32(template + 44);
    let unit = |i: u32| image.u32(code + 8 + 2 * i) as u16;
    let wrong = |at: u32, what: &str| Err(format!("bytecode of the template at {template:#x}, unit {at}: {what}"));
    let mut starts = vec![false; units as usize + 1];
    let mut jumps = Vec::new();
    let mut at = 0;
    let mut last = None;
    while at < units {
        starts[at as usize] = true;
        let Some(opcode) = Opcode::from_raw(unit(at)) else { return wrong(at, "unknown opcode") };
        if at + opcode.length_units() as u32 > units {
            return wrong(at, "cut off");
        }
        let mut operand = at + 1;
        for kind in opcode.operands() {
            let value = u32::from(unit(operand));
            match kind {
                Operand::W | Operand::R | Operand::RW | Operand::B if value >= registers => {
                    return wrong(at, "register out of range");
                }
                Operand::C if value >= image.u32(constants + 4) => return wrong(at, "constant out of range"),
                Operand::C if !constant_fits(image, opcode, Value(image.u64(constants + 8 + 8 * value))) => {
                    return wrong(at, "constant of another kind than the instruction takes");
                }
                Operand::Ic if value != 0xFFFF && value >= caches => return wrong(at, "inline cache out of range"),
                Operand::U if !number_fits(image, opcode, (operand - at) as usize, value, constants) => {
                    return wrong(at, "number out of range");
                }
                Operand::J => {
                    let to = i64::from(at) + i64::from((value | u32::from(unit(operand + 1)) << 16) as i32);
                    // Only back edges are charged, so that code without fuel ends.
                    if to <= i64::from(at) && opcode != Opcode::Loop {
                        return wrong(at, "jump back that is no back edge");
                    }
                    jumps.push((at, to))
                }
                _ => {}
            }
            operand += kind.units() as u32;
        }
        last = Some(opcode);
        at += opcode.length_units() as u32;
    }
    if !matches!(last, Some(Opcode::Return | Opcode::ReturnUndefined | Opcode::Throw | Opcode::Jump | Opcode::Loop)) {
        return wrong(at, "execution runs off the end");
    }
    for (from, to) in jumps {
        if to < 0 || to >= i64::from(units) || !starts[to as usize] {
            return wrong(from, "jump target is no instruction");
        }
    }
    let handlers = image.u32(template + 16);
    if handlers != 0 {
        for i in 0..image.u32(handlers + 4) / 4 {
            let [start, end, target, register] =
                std::array::from_fn(|k| image.u32(handlers + 8 + 16 * i + 4 * k as u32));
            // A handler lies behind what it covers: a throw is no back edge.
            if start >= end || target < end || target >= units || !starts[target as usize] || register >= registers {
                return wrong(target, "handler is damaged");
            }
        }
    }
    Ok(())
}

/// The image is one frozen part and behind it one writable part: what is verified is what gets mapped.
fn check_parts(header: &Header) -> Check {
    let parts: Vec<_> =
        header.segments.iter().filter(|s| matches!(s.kind, SegmentKind::Frozen | SegmentKind::Writable)).collect();
    match parts.as_slice() {
        [ro, rw]
            if ro.kind == SegmentKind::Frozen
                && rw.kind == SegmentKind::Writable
                && ro.cage_offset == IMAGE_START
                && u64::from(rw.cage_offset) == u64::from(IMAGE_START) + ro.bytes =>
        {
            Ok(())
        }
        _ => Err("the image is not one frozen part followed by one writable part".into()),
    }
}

/// Templates are numbered 0, 1, 2, ...: each number is an index into tables, and two templates with one
/// number would share their inline caches.
fn check_template_numbers(image: &Image, count: u32) -> Check {
    let templates: Vec<u32> = (IMAGE_START..image.end)
        .step_by(8)
        .filter(|&a| image.is_start(a) && image.kind(a) == Kind::Template)
        .map(|a| image.u32(a + 28))
        .collect();
    if templates.len() != count as usize || count > zjs_engine::cage::FEEDBACK_TABLE_ENTRIES / 2 {
        return Err(format!("the header counts {count} templates, the image has {}", templates.len()));
    }
    let mut seen = vec![false; templates.len()];
    for number in templates {
        match seen.get_mut(number as usize) {
            Some(taken) if !*taken => *taken = true,
            _ => return Err(format!("template number {number} is out of range or taken twice")),
        }
    }
    Ok(())
}

/// Verifies the image that `header` describes; `bytes` is the whole file.
pub(crate) fn verify(header: &Header, bytes: &[u8]) -> Check {
    check_parts(header)?;
    let part = |kind| {
        header.segment(kind).map_or(&bytes[..0], |s| &bytes[s.file_offset as usize..(s.file_offset + s.bytes) as usize])
    };
    let (ro, rw) = (part(SegmentKind::Frozen), part(SegmentKind::Writable));
    let rw_start = IMAGE_START + ro.len() as u32;
    let end = header.roots.image_end;
    let mut image = Image { ro, rw, rw_start, end, starts: vec![0; (end / 512) as usize + 1], special: HashMap::new() };
    index_cells(&mut image, IMAGE_START, ro.len() as u32)?;
    index_cells(&mut image, rw_start, rw.len() as u32)?;
    let roots = &header.roots;
    for (address, kind) in [
        (roots.realm_record, Kind::RealmRecord),
        (roots.intern_table, Kind::InternTable),
        (roots.transition_table, Kind::TransitionTable),
        (roots.root_table, Kind::RootTable),
    ] {
        if !image.is_start(address.0) || image.kind(address.0) != kind {
            return Err(format!("the header's {} is none", kind.info().name));
        }
    }
    if image.u32(roots.realm_record.0 + 4) as usize != zjs_engine::names::INTRINSIC_NAMES.len() {
        return Err("the realm record has the wrong size".into());
    }
    check_realm_record(&image, roots.realm_record.0)?;
    debug_assert_eq!(KINDS.len(), Kind::ALL.len());
    check_template_numbers(&image, roots.template_count)?;
    let cells: Vec<u32> = (IMAGE_START..end).step_by(8).filter(|&address| image.is_start(address)).collect();
    let of_kind = |image: &Image, shape: bool| -> Vec<u32> {
        cells.iter().copied().filter(|&c| (image.kind(c) == Kind::Shape) == shape).collect()
    };
    // Tables before shapes, shapes before objects: each relies on what was checked before it.
    let (shapes, others) = (of_kind(&image, true), of_kind(&image, false));
    for &cell in others.iter().filter(|&&c| !image.kind(c).info().is_object).chain(&shapes) {
        check_cell(&image, cell)?;
    }
    check_table_chains(&image, others.iter().copied().filter(|&c| image.kind(c) == Kind::MapTable))?;
    for &shape in &shapes {
        check_shape(&image, shape)?;
    }
    for &shape in &shapes {
        let special = special_slots(&image, shape);
        if !special.is_empty() {
            image.special.insert(shape, special);
        }
    }
    let mut dictionaries = HashSet::new();
    for &cell in others.iter().filter(|&&c| image.kind(c).info().is_object) {
        check_cell(&image, cell)?;
        // A dictionary changes in place together with its one object.
        let shape = image.u32(cell + 4);
        if image.u8(shape + 1) & DICTIONARY != 0 && !dictionaries.insert(shape) {
            return Err(format!("the object at {cell:#x} shares the dictionary shape at {shape:#x} with another"));
        }
    }
    Ok(())
}
