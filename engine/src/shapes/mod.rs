//! Shapes (hidden classes): which property lies in which slot, with which attributes, and the prototype.
//!
//! A shape is a root (no properties), a child by one added property, or a shape with a table of its own:
//! the result of a reconfiguration or integrity change, or a dictionary that belongs to one object.
//! Invariants: an ordinary shape never changes; a dictionary's existing (key, slot, attributes) never
//! change either (deleting or reconfiguring gives the object a new dictionary shape), so a cached hit stays
//! right as long as the shape is the same; every shape change of an object that is used as a prototype
//! bumps `prototype_epoch`, which invalidates whatever was concluded from prototype chains.
//!
//! ```text
//! 0 header (flags: DICTIONARY, NON_EXTENSIBLE, OWN_TABLE)   4 parent   8 key   12 info (slot << 8 | attributes)
//! 16 prototype   20 table   24 property count   28 next slot   32 root   36 layout (inline start << 16 | capacity)
//! ```

pub mod table;

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::cage::Ref;
use crate::kinds::{Kind, SHAPE, SLOTS};
use crate::realm::{Realm, Throw};
use crate::value::Value;

/// The shape belongs to one object; properties are added in place.
pub const DICTIONARY: u8 = 1;
/// No property may be added.
pub const NON_EXTENSIBLE: u8 = 2;
/// The table is complete and is never handed on to a child.
pub const OWN_TABLE: u8 = 4;

/// Property attributes as stored in tables.
pub const WRITABLE: u8 = 1;
pub const ENUMERABLE: u8 = 2;
pub const CONFIGURABLE: u8 = 4;
/// The slot holds an `Accessor` cell.
pub const ACCESSOR: u8 = 8;
/// The slot holds a `PropertyCell` (properties of the global object).
pub const GLOBAL_CELL: u8 = 16;
/// Writable, enumerable and configurable: what assignment creates.
pub const DEFAULT: u8 = WRITABLE | ENUMERABLE | CONFIGURABLE;
/// Writable and configurable: what the library's own methods have.
pub const HIDDEN: u8 = WRITABLE | CONFIGURABLE;

/// Objects with more properties than this become dictionaries.
const SHAPE_PROPERTIES_MAX: u32 = 512;
const CHAIN_WALK_MAX: u32 = 8;
/// Mixed into transition attributes that do not add but reconfigure or restrict.
const RECONFIGURE: u32 = 0x100;
const INTEGRITY: u32 = 0x200;

/// Where a property lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Slot {
    pub number: u32,
    pub attributes: u8,
}

impl Slot {
    pub(crate) fn from_info(info: u32) -> Slot {
        Slot { number: info >> 8, attributes: info as u8 }
    }

    pub(crate) fn info(self) -> u32 {
        self.number << 8 | u32::from(self.attributes)
    }
}

/// A fast hasher for keys that are refs of the realm's own making.
#[derive(Default)]
pub struct RefHasher(u64);

impl Hasher for RefHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for &b in bytes {
            self.write_u32(u32::from(b));
        }
    }
    fn write_u32(&mut self, n: u32) {
        self.0 = (self.0.rotate_left(5) ^ u64::from(n)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}

type RefMap<K> = HashMap<K, u32, BuildHasherDefault<RefHasher>>;

/// Number of bits of the filter that answers "certainly no prototype".
const FILTER_BITS: u32 = 4096;

/// Shape facts that the image lacks: transitions, root shapes, objects used as prototypes.
pub struct ShapeOverlay {
    transitions: RefMap<(u32, u32, u32)>,
    roots: RefMap<(u32, u32)>,
    filter: [u64; (FILTER_BITS / 64) as usize],
}

impl Default for ShapeOverlay {
    fn default() -> Self {
        ShapeOverlay {
            transitions: RefMap::default(),
            roots: RefMap::default(),
            filter: [0; (FILTER_BITS / 64) as usize],
        }
    }
}

/// The layout pseudo-value under which "is used as a prototype" is recorded in the root tables.
const IS_PROTOTYPE: u32 = u32::MAX;

fn filter_bit(object: Ref) -> (usize, u64) {
    let bit = (object.0 >> 3).wrapping_mul(0x9E37_79B1) >> 20;
    ((bit / 64) as usize, 1 << (bit % 64))
}

/// Hash for the frozen tables, by refs that are the same in every cage.
pub fn frozen_hash(a: u32, b: u32, c: u32) -> u32 {
    let mut h = RefHasher::default();
    h.write_u32(a);
    h.write_u32(b);
    h.write_u32(c);
    (h.0 >> 32) as u32
}

impl ShapeOverlay {
    /// Records `object` in the prototype filter (also for frozen prototypes, when a realm starts).
    pub fn filter_insert(&mut self, object: Ref) {
        let (word, bit) = filter_bit(object);
        self.filter[word] |= bit;
    }

    /// The filter's words, to be kept with a loaded snapshot and copied into each realm.
    pub fn filter(&self) -> &[u64; (FILTER_BITS / 64) as usize] {
        &self.filter
    }

    pub(crate) fn reset(&mut self, filter: &[u64; (FILTER_BITS / 64) as usize]) {
        self.transitions.clear();
        self.roots.clear();
        self.filter = *filter;
    }

    /// Every overlay transition: (shape, key, attributes) and child.
    pub fn transitions(&self) -> impl Iterator<Item = ((u32, u32, u32), u32)> + '_ {
        self.transitions.iter().map(|(&k, &v)| (k, v))
    }

    /// Every overlay root: (prototype, layout) and shape (0 where only "is a prototype" is said).
    pub fn roots(&self) -> impl Iterator<Item = ((u32, u32), u32)> + '_ {
        self.roots.iter().map(|(&k, &v)| (k, v))
    }
}

impl Realm {
    fn frozen_lookup(&self, table: Ref, a: u32, b: u32, c: u32) -> Option<Ref> {
        if table.is_null() {
            return None;
        }
        let cage = self.cage;
        let mask = cage.u32(table, 4) / 4 - 1;
        let mut slot = frozen_hash(a, b, c) & mask;
        loop {
            let at = 8 + 16 * slot;
            let first = cage.u32(table, at);
            if first == u32::MAX {
                return None;
            }
            if first == a && cage.u32(table, at + 4) == b && cage.u32(table, at + 8) == c {
                return Some(cage.r(table, at + 12));
            }
            slot = (slot + 1) & mask;
        }
    }

    /// The root shape of objects of `layout` (see [`layout_of`]) with this prototype (0: null).
    ///
    /// # Errors
    /// Out of memory.
    pub fn root_shape(&mut self, prototype: Ref, layout: u32) -> Result<Ref, Throw> {
        if let Some(shape) = self.frozen_lookup(self.frozen.root_table, prototype.0, layout, 0) {
            return Ok(shape);
        }
        if let Some(&shape) = self.shapes.roots.get(&(prototype.0, layout)) {
            return Ok(Ref(shape));
        }
        let shape = self.new_shape(0, prototype, layout)?;
        self.cage.init(shape.0 + 32, shape.0);
        self.shapes.roots.insert((prototype.0, layout), shape.0);
        self.note_prototype(prototype);
        Ok(shape)
    }

    /// Records that `object` is used as a prototype.
    pub fn note_prototype(&mut self, object: Ref) {
        if object.is_null() || self.is_prototype(object) {
            return;
        }
        self.shapes.roots.insert((object.0, IS_PROTOTYPE), 0);
        self.shapes.filter_insert(object);
    }

    /// Whether `object` may be a prototype of another object: exact.
    #[inline]
    pub fn is_prototype(&self, object: Ref) -> bool {
        self.may_be_prototype(object)
            && (self.shapes.roots.contains_key(&(object.0, IS_PROTOTYPE))
                || self.frozen_lookup(self.frozen.root_table, object.0, IS_PROTOTYPE, 0).is_some())
    }

    /// Quick form of [`Realm::is_prototype`] that may err on the side of yes.
    #[inline(always)]
    pub fn may_be_prototype(&self, object: Ref) -> bool {
        let (word, bit) = filter_bit(object);
        self.shapes.filter[word] & bit != 0
    }

    /// To be called before the shape of `object` changes in place of an inline cache's knowledge.
    #[inline]
    pub fn shape_changes(&mut self, object: Ref) {
        if self.may_be_prototype(object) && self.is_prototype(object) {
            self.prototype_epoch = self.prototype_epoch.wrapping_add(1);
        }
    }

    fn new_shape(&mut self, flags: u8, prototype: Ref, layout: u32) -> Result<Ref, Throw> {
        let shape = self.allocate(Kind::Shape, 40)?;
        let cage = self.cage;
        cage.init(shape.0 + 1, flags);
        for at in [4, 8, 12, 20, 24, 28, 32] {
            cage.init(shape.0 + at, 0u32);
        }
        cage.init(shape.0 + 16, prototype.0);
        cage.init(shape.0 + 36, layout);
        Ok(shape)
    }

    /// Prototype that objects of `shape` have (0: null).
    #[inline(always)]
    pub fn shape_prototype(&self, shape: Ref) -> Ref {
        self.cage.r(shape, 16)
    }

    /// Where `shape` has the property `key`.
    #[inline]
    pub fn shape_lookup(&mut self, shape: Ref, key: Ref) -> Result<Option<Slot>, Throw> {
        let cage = self.cage;
        let table = cage.r(shape, 20);
        if !table.is_null() {
            return Ok(table::find(cage, table, key).map(|(_, info)| Slot::from_info(info)));
        }
        let count = cage.u32(shape, 24);
        if count <= CHAIN_WALK_MAX {
            return Ok(self.walk_chain(shape, key));
        }
        let table = self.build_table(shape)?;
        Ok(table::find(cage, table, key).map(|(_, info)| Slot::from_info(info)))
    }

    fn walk_chain(&self, shape: Ref, key: Ref) -> Option<Slot> {
        let cage = self.cage;
        let mut at = shape;
        loop {
            let table = cage.r(at, 20);
            if !table.is_null() {
                return table::find(cage, table, key).map(|(_, info)| Slot::from_info(info));
            }
            let own = cage.r(at, 8);
            if own.is_null() {
                return None;
            }
            if own == key {
                return Some(Slot::from_info(cage.u32(at, 12)));
            }
            at = cage.r(at, 4);
        }
    }

    /// Every (key, info) of `shape`, in insertion order.
    pub fn shape_properties(&self, shape: Ref) -> Vec<(Ref, u32)> {
        let cage = self.cage;
        let mut newest_first = Vec::new();
        let mut at = shape;
        loop {
            let table = cage.r(at, 20);
            if !table.is_null() {
                let mut all = table::entries(cage, table);
                newest_first.reverse();
                all.extend(newest_first);
                return all;
            }
            let key = cage.r(at, 8);
            if key.is_null() {
                newest_first.reverse();
                return newest_first;
            }
            newest_first.push((key, cage.u32(at, 12)));
            at = cage.r(at, 4);
        }
    }

    fn build_table(&mut self, shape: Ref) -> Result<Ref, Throw> {
        let all = self.shape_properties(shape);
        let table = self.new_property_table(all.len() as u32 + 2)?;
        for (key, info) in all {
            table::push(self.cage, table, key, info);
        }
        // A shape of the image always has its table, so this is a heap shape.
        self.cage.set(shape, 20, table.0);
        Ok(table)
    }

    /// The child of an ordinary `shape` by adding `key` with `attributes`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn add_transition(&mut self, shape: Ref, key: Ref, attributes: u8) -> Result<Ref, Throw> {
        let (a, b, c) = (shape.0, key.0, u32::from(attributes));
        if let Some(child) = self.frozen_lookup(self.frozen.transition_table, a, b, c) {
            return Ok(child);
        }
        if let Some(&child) = self.shapes.transitions.get(&(a, b, c)) {
            return Ok(Ref(child));
        }
        let cage = self.cage;
        let child = self.new_shape(0, cage.r(shape, 16), cage.u32(shape, 36))?;
        let slot = Slot { number: cage.u32(shape, 28), attributes };
        cage.init(child.0 + 4, shape.0);
        cage.init(child.0 + 8, key.0);
        cage.init(child.0 + 12, slot.info());
        cage.init(child.0 + 24, cage.u32(shape, 24) + 1);
        cage.init(child.0 + 28, slot.number + 1);
        cage.init(child.0 + 32, cage.u32(shape, 32));
        let table = cage.r(shape, 20);
        if !table.is_null() && shape.0 >= cage.image_end() && cage.flags(shape) & OWN_TABLE == 0 {
            // The newest shape of a chain keeps the table; an older one rebuilds its own if asked again.
            let table = self.table_with_room(table)?;
            table::push(self.cage, table, key, slot.info());
            self.cage.set(shape, 20, 0u32);
            self.cage.set(child, 20, table.0);
        }
        self.shapes.transitions.insert((a, b, c), child.0);
        Ok(child)
    }

    /// A copy of `shape` with a table of its own, `edit` applied to each (key, info).
    fn derive_shape(&mut self, shape: Ref, flags: u8, mut edit: impl FnMut(Ref, u32) -> u32) -> Result<Ref, Throw> {
        let cage = self.cage;
        let all = self.shape_properties(shape);
        let child = self.new_shape(flags, cage.r(shape, 16), cage.u32(shape, 36))?;
        cage.init(child.0 + 24, all.len() as u32);
        cage.init(child.0 + 28, cage.u32(shape, 28));
        cage.init(child.0 + 32, cage.u32(shape, 32));
        let table = self.new_property_table(all.len() as u32 + 4)?;
        for (key, info) in all {
            table::push(cage, table, key, edit(key, info));
        }
        cage.set(child, 20, table.0);
        Ok(child)
    }

    /// Makes `object` a dictionary (or gives it a fresh dictionary shape).
    ///
    /// # Errors
    /// Out of memory.
    pub fn make_dictionary(&mut self, object: Ref) -> Result<Ref, Throw> {
        let shape = self.cage.r(object, SHAPE);
        let flags = DICTIONARY | OWN_TABLE | (self.cage.flags(shape) & NON_EXTENSIBLE);
        let child = self.derive_shape(shape, flags, |_, info| info)?;
        self.shape_changes(object);
        self.cage.set(object, SHAPE, child.0);
        Ok(child)
    }

    /// Adds the property `key`, which the object lacks. Extensibility is the caller's business.
    ///
    /// # Errors
    /// Out of memory.
    pub fn add_property(&mut self, object: Ref, key: Ref, value: Value, attributes: u8) -> Result<(), Throw> {
        let mut shape = self.cage.r(object, SHAPE);
        if self.cage.flags(shape) & DICTIONARY == 0 && self.cage.u32(shape, 24) >= SHAPE_PROPERTIES_MAX {
            shape = self.make_dictionary(object)?;
        }
        let cage = self.cage;
        let number = cage.u32(shape, 28);
        if cage.flags(shape) & DICTIONARY != 0 {
            let table = self.table_with_room(cage.r(shape, 20))?;
            self.ensure_slot(object, shape, number)?;
            self.write_slot(object, shape, number, value);
            table::push(cage, table, key, Slot { number, attributes }.info());
            cage.set(shape, 20, table.0);
            cage.set(shape, 24, cage.u32(shape, 24) + 1);
            cage.set(shape, 28, number + 1);
            self.shape_changes(object);
            return Ok(());
        }
        let child = self.add_transition(shape, key, attributes)?;
        self.ensure_slot(object, child, number)?;
        self.write_slot(object, child, number, value);
        self.shape_changes(object);
        self.cage.set(object, SHAPE, child.0);
        Ok(())
    }

    /// Changes the attributes of an existing property.
    ///
    /// # Errors
    /// Out of memory.
    pub fn reconfigure_property(&mut self, object: Ref, key: Ref, attributes: u8) -> Result<(), Throw> {
        let shape = self.cage.r(object, SHAPE);
        let edit = |k: Ref, info: u32| if k == key { info & !0xFF | u32::from(attributes) } else { info };
        let flags = self.cage.flags(shape);
        let child = if flags & DICTIONARY != 0 {
            self.derive_shape(shape, flags, edit)?
        } else {
            let id = (shape.0, key.0, RECONFIGURE | u32::from(attributes));
            let known = self
                .frozen_lookup(self.frozen.transition_table, id.0, id.1, id.2)
                .or_else(|| self.shapes.transitions.get(&id).map(|&c| Ref(c)));
            match known {
                Some(child) => child,
                None => {
                    let child = self.derive_shape(shape, flags | OWN_TABLE, edit)?;
                    self.shapes.transitions.insert(id, child.0);
                    child
                }
            }
        };
        self.shape_changes(object);
        self.cage.set(object, SHAPE, child.0);
        Ok(())
    }

    /// Removes an existing property: the object becomes a dictionary.
    ///
    /// # Errors
    /// Out of memory.
    pub fn remove_property(&mut self, object: Ref, key: Ref) -> Result<(), Throw> {
        // Removing the newest property of an ordinary shape goes back to the parent.
        let shape = self.cage.r(object, SHAPE);
        if let Some(slot) = self.shape_lookup(shape, key)? {
            self.write_slot(object, shape, slot.number, Value::UNDEFINED);
        }
        let parent = self.cage.r(shape, 4);
        if self.cage.flags(shape) == 0 && self.cage.r(shape, 8) == key && !parent.is_null() {
            self.shape_changes(object);
            self.cage.set(object, SHAPE, parent.0);
            return Ok(());
        }
        let shape = self.make_dictionary(object)?;
        let cage = self.cage;
        table::remove(cage, cage.r(shape, 20), key);
        cage.set(shape, 24, cage.u32(shape, 24) - 1);
        Ok(())
    }

    /// Makes the object non-extensible; `mask_data` and `mask_accessor` are the attributes that data and
    /// accessor properties keep (freeze, seal, preventExtensions).
    ///
    /// # Errors
    /// Out of memory.
    pub fn restrict_shape(&mut self, object: Ref, mask_data: u8, mask_accessor: u8) -> Result<(), Throw> {
        let shape = self.cage.r(object, SHAPE);
        let flags = self.cage.flags(shape);
        let private = self.names.private_marker_kind;
        let cage = self.cage;
        let edit = |key: Ref, info: u32| {
            if cage.is(key, Kind::Symbol) && cage.flags(key) & private != 0 {
                return info;
            }
            let mask = if info as u8 & ACCESSOR != 0 { mask_accessor } else { mask_data };
            info & !0x7 | info & u32::from(mask)
        };
        let child = if flags & DICTIONARY != 0 {
            self.derive_shape(shape, flags | NON_EXTENSIBLE, edit)?
        } else {
            let id = (shape.0, 0, INTEGRITY | u32::from(mask_data) << 4 | u32::from(mask_accessor));
            let known = self
                .frozen_lookup(self.frozen.transition_table, id.0, id.1, id.2)
                .or_else(|| self.shapes.transitions.get(&id).map(|&c| Ref(c)));
            match known {
                Some(child) => child,
                None => {
                    let child = self.derive_shape(shape, flags | OWN_TABLE | NON_EXTENSIBLE, edit)?;
                    self.shapes.transitions.insert(id, child.0);
                    child
                }
            }
        };
        self.shape_changes(object);
        self.cage.set(object, SHAPE, child.0);
        Ok(())
    }

    /// Gives `object` another prototype (0: null). Checks are the caller's business.
    ///
    /// # Errors
    /// Out of memory.
    pub fn replace_prototype(&mut self, object: Ref, prototype: Ref) -> Result<(), Throw> {
        let shape = self.cage.r(object, SHAPE);
        let flags = self.cage.flags(shape);
        let layout = self.cage.u32(shape, 36);
        let child = if flags & (DICTIONARY | NON_EXTENSIBLE | OWN_TABLE) != 0 {
            let child = self.derive_shape(shape, flags, |_, info| info)?;
            self.cage.init(child.0 + 16, prototype.0);
            self.note_prototype(prototype);
            child
        } else {
            // Replay the properties from the root of the new prototype, so that equal objects share shapes.
            let mut child = self.root_shape(prototype, layout)?;
            let mut replayable = true;
            for (next, (key, info)) in self.shape_properties(shape).into_iter().enumerate() {
                let slot = Slot::from_info(info);
                replayable &= slot.number as usize == next;
                if replayable {
                    child = self.add_transition(child, key, slot.attributes)?;
                }
            }
            if replayable {
                child
            } else {
                let child = self.derive_shape(shape, flags | OWN_TABLE, |_, info| info)?;
                self.cage.init(child.0 + 16, prototype.0);
                child
            }
        };
        self.note_prototype(prototype);
        self.shape_changes(object);
        self.cage.set(object, SHAPE, child.0);
        Ok(())
    }

    /// Host-independent address of slot `number` of an object that has `shape`.
    #[inline(always)]
    pub fn slot_address(&self, object: Ref, shape: Ref, number: u32) -> u32 {
        let layout = self.cage.u32(shape, 36);
        let capacity = layout & 0xFFFF;
        if number < capacity {
            object.0 + (layout >> 16) + 8 * number
        } else {
            self.cage.u32(object, SLOTS) + 8 + 8 * (number - capacity)
        }
    }

    /// How inline caches name slot `number` of `shape`: byte offset in the object, or with the top bit
    /// set the byte offset in the object's slots cell.
    pub fn slot_code(&self, shape: Ref, number: u32) -> u32 {
        let layout = self.cage.u32(shape, 36);
        let capacity = layout & 0xFFFF;
        if number < capacity { (layout >> 16) + 8 * number } else { 0x8000_0000 | (8 + 8 * (number - capacity)) }
    }

    /// Value in slot `number`.
    #[inline(always)]
    pub fn read_slot(&self, object: Ref, shape: Ref, number: u32) -> Value {
        Value(self.cage.read(self.slot_address(object, shape, number)))
    }

    /// Stores into slot `number`, which exists.
    #[inline(always)]
    pub fn write_slot(&self, object: Ref, shape: Ref, number: u32, value: Value) {
        self.cage.write(self.slot_address(object, shape, number), value.0);
    }

    /// Makes room for slot `number` of `object`.
    pub(crate) fn ensure_slot(&mut self, object: Ref, shape: Ref, number: u32) -> Result<(), Throw> {
        let cage = self.cage;
        let capacity = cage.u32(shape, 36) & 0xFFFF;
        if number < capacity {
            return Ok(());
        }
        let needed = number - capacity + 1;
        let slots = cage.r(object, SLOTS);
        let have = if slots.is_null() { 0 } else { cage.u32(slots, 4) };
        if needed <= have {
            return Ok(());
        }
        let grown = self.new_values((have * 2).max(needed).max(4), Value::UNDEFINED)?;
        if have > 0 {
            cage.copy(slots.0 + 8, grown.0 + 8, 8 * have);
        }
        cage.set(object, SLOTS, grown.0);
        Ok(())
    }

    /// A `Values` cell of `count` values.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_values(&mut self, count: u32, fill: Value) -> Result<Ref, Throw> {
        let cell = self.allocate_tail(Kind::Values, 8, u64::from(count) * 8)?;
        self.cage.init(cell.0 + 4, count);
        for i in 0..count {
            self.cage.init(cell.0 + 8 + 8 * i, fill.0);
        }
        Ok(cell)
    }

    pub(crate) fn sweep_shapes(&mut self) {
        let mut shapes = std::mem::take(&mut self.shapes);
        shapes.transitions.retain(|&(shape, key, _), child| {
            self.is_marked(Ref(shape)) && (key == 0 || self.is_marked(Ref(key))) && self.is_marked(Ref(*child))
        });
        shapes.roots.retain(|&(prototype, layout), shape| {
            (prototype == 0 || self.is_marked(Ref(prototype)))
                && (layout == IS_PROTOTYPE || self.is_marked(Ref(*shape)))
        });
        self.shapes = shapes;
    }
}

/// Layout number of objects of `kind` with `inline` inline slots.
pub const fn layout_of(fixed_bytes: u32, inline: u32) -> u32 {
    fixed_bytes << 16 | inline
}
