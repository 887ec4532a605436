//! The list of cell kinds: the one definition from which tracing, sizes, freezing, verification,
//! inspection and the layout fingerprint are derived.
//!
//! Every cell starts with a header word: kind (byte 0), flags (byte 1), two bytes of the kind's own
//! (bytes 2 and 3; objects keep the number of inline slots in byte 2). Behind the fixed part comes at
//! most one tail of equal elements whose number is stored in the cell.

use crate::cage::{Cage, Ref};

/// What follows the fixed part of a cell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tail {
    None,
    /// Values; the number is the u32 at this offset.
    Values(u32),
    /// Inline property slots: as many values as header byte 2 says.
    Inline,
    /// Plain bytes, number at this offset.
    Bytes(u32),
    /// 16-bit units, number at this offset.
    Units16(u32),
    /// 32-bit words without references, number at this offset.
    Words32(u32),
    /// 64-bit words without references (doubles), number at this offset.
    Words64(u32),
    /// 32-bit references, number at this offset.
    Refs(u32),
    /// Inline caches of 16 bytes: two references, two words; number at this offset.
    Caches(u32),
    /// Sparse elements of 16 bytes: index, attributes, value; capacity at 4, used at 8.
    Sparse,
    /// `PropertyTable`: entries and hash index, see `shapes::table`.
    PropertyTable,
    /// `MapTable`: entries and hash index, see `objects::map_table`.
    MapTable,
}

/// Where a kind of cell goes when it is frozen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// Frozen part: never written again.
    Ro,
    /// Writable part: private to a realm from the first write on.
    Rw,
    /// Never frozen.
    Never,
}

/// What the table says of one kind.
#[derive(Debug)]
pub struct KindInfo {
    pub name: &'static str,
    /// Bytes of the fixed part, header included.
    pub fixed_bytes: u32,
    /// Offsets of 32-bit references in the fixed part (0 allowed in each).
    pub refs: &'static [u32],
    /// Offsets of values in the fixed part.
    pub values: &'static [u32],
    pub tail: Tail,
    pub place: Place,
    /// Whether the cell is a JavaScript object (shape, slots and elements at offsets 4, 8, 12).
    pub is_object: bool,
}

/// Calls `$callback!` with the list: `Name { fixed, [refs], [values], Tail, Place, is_object }`.
macro_rules! for_each_kind {
    ($callback:ident) => {
        $callback! {
            /// Not a live cell: offset 4 links to the next free cell of the size class.
            Free { 8, [], [], None, Never, false }
            // --- strings: u32 length at 4, u32 hash at 8 (0 = not computed)
            /// Latin-1; array index or u32::MAX at 12; bytes from 16.
            String8 { 16, [], [], Bytes(4), Ro, false }
            /// UTF-16; array index or u32::MAX at 12; units from 16.
            String16 { 16, [], [], Units16(4), Ro, false }
            /// left at 12, right at 16.
            Rope { 24, [12, 16], [], None, Ro, false }
            /// base at 12 (flat), start unit at 16.
            Slice { 24, [12], [], None, Ro, false }
            /// description string at 4 (0 = undefined), hash at 8.
            Symbol { 16, [4], [], None, Ro, false }
            /// magnitude digits, sign in the flags.
            BigInt { 8, [], [], Words32(4), Ro, false }
            // --- hidden classes
            /// parent 4, key 8, info 12, prototype 16, table 20, property count 24, next slot 28, root 32.
            Shape { 40, [4, 8, 16, 20, 32], [], None, Ro, false }
            PropertyTable { 24, [], [], PropertyTable, Ro, false }
            // --- storage
            /// Slots, argument lists, saved registers: values from 8.
            Values { 8, [], [], Values(4), Rw, false }
            /// Elements: capacity 4, used 8; values from 16, holes allowed.
            ElementsValues { 16, [], [], Values(4), Rw, false }
            ElementsInt { 16, [], [], Words32(4), Rw, false }
            ElementsDouble { 16, [], [], Words64(4), Rw, false }
            ElementsSparse { 16, [], [], Sparse, Rw, false }
            /// slot count 4, parent 8, scope info 12.
            Environment { 16, [8, 12], [], Values(4), Rw, false }
            /// name 4, value 8, attributes in header byte 2.
            PropertyCell { 16, [4], [8], None, Rw, false }
            /// getter 4, setter 8.
            Accessor { 16, [4, 8], [], None, Rw, false }
            MapTable { 32, [24], [], MapTable, Rw, false }
            // --- code
            /// See `bytecode::install` for the fields.
            Template { 72, [4, 8, 12, 16, 20, 24], [], None, Ro, false }
            Code { 8, [], [], Units16(4), Ro, false }
            /// Constants of a template: values from 8.
            Constants { 8, [], [], Values(4), Ro, false }
            /// Exception handlers and positions: words.
            Table { 8, [], [], Words32(4), Ro, false }
            /// source text 4, name 8, line starts (Table, or 0) 12.
            Script { 16, [4, 8, 12], [], None, Rw, false }
            FeedbackVector { 16, [], [], Caches(4), Never, false }
            // --- realm
            /// Intrinsics by number: values from 8.
            RealmRecord { 8, [], [], Values(4), Rw, false }
            /// Linked state of a module, see `modules`: values from 8.
            Module { 8, [], [], Values(4), Rw, false }
            /// Bytes of an array buffer: length 4, maximum 8, bytes from 16.
            BufferStore { 16, [], [], Bytes(8), Rw, false }
            // --- frozen tables of an image
            /// Open-addressed table of interned strings.
            InternTable { 8, [], [], Refs(4), Ro, false }
            /// Open-addressed (shape, key, attributes) -> child, four words each.
            TransitionTable { 8, [], [], Refs(4), Ro, false }
            /// Open-addressed (prototype, layout) -> root shape, four words each.
            RootTable { 8, [], [], Refs(4), Ro, false }
            // --- objects: shape 4, slots 8, elements 12
            Object { 16, [4, 8, 12], [], Inline, Rw, true }
            /// length 16.
            Array { 24, [4, 8, 12], [], Inline, Rw, true }
            /// template 16, environment 20, home object 24, field initializer 28, realm 32.
            Function { 40, [4, 8, 12, 16, 20, 24, 28, 32], [], Inline, Rw, true }
            /// built-in number 16, realm 20, data 24.
            NativeFunction { 32, [4, 8, 12, 20], [24], Inline, Rw, true }
            /// host function number 16, realm 20, name 24.
            HostFunction { 32, [4, 8, 12, 20, 24], [], Inline, Rw, true }
            /// target 16, arguments (Values) 20, this 24.
            BoundFunction { 32, [4, 8, 12, 16, 20], [24], Inline, Rw, true }
            Error { 16, [4, 8, 12], [], Inline, Rw, true }
            /// Boolean, Number, String, Symbol and BigInt objects: primitive 16.
            PrimitiveObject { 24, [4, 8, 12], [16], Inline, Rw, true }
            /// time value 16.
            Date { 24, [4, 8, 12], [16], Inline, Rw, true }
            /// source 16, flag bits 20, flags string 24; lastIndex is inline slot 0.
            RegExp { 32, [4, 8, 12, 16, 24], [], Inline, Rw, true }
            /// table 16.
            Map { 24, [4, 8, 12, 16], [], Inline, Rw, true }
            Set { 24, [4, 8, 12, 16], [], Inline, Rw, true }
            /// table 16, keys held weakly (ephemerons).
            WeakMap { 24, [4, 8, 12, 16], [], Inline, Rw, true }
            WeakSet { 24, [4, 8, 12, 16], [], Inline, Rw, true }
            /// target 16, held weakly.
            WeakRef { 24, [4, 8, 12], [], Inline, Rw, true }
            /// table of (target, [held, token]) 16, cleanup callback 24.
            FinalizationRegistry { 32, [4, 8, 12, 16], [24], Inline, Rw, true }
            /// Iterator of the engine: what 16 (iterated value), second value 24, index 32, sort of iterator 36.
            Iterator { 40, [4, 8, 12], [16, 24], Inline, Rw, true }
            /// saved frame 16, state 20, queue or promise 24, function 32.
            Generator { 40, [4, 8, 12, 16], [24, 32], Inline, Rw, true }
            /// state 16, reactions (Values list, or 0) 20, result 24, flags 32.
            Promise { 40, [4, 8, 12, 20], [24], Inline, Rw, true }
            /// target 16, handler 20.
            Proxy { 24, [4, 8, 12, 16, 20], [], Inline, Rw, true }
            /// store 16 (0 = detached), byte length 20, maximum byte length 24 (u32::MAX: fixed).
            ArrayBuffer { 32, [4, 8, 12, 16], [], Inline, Rw, true }
            /// buffer 16, byte offset 20, length 24 (u32::MAX: tracks the buffer), element type 28.
            TypedArray { 32, [4, 8, 12, 16], [], Inline, Rw, true }
            DataView { 32, [4, 8, 12, 16], [], Inline, Rw, true }
            /// mapped environment 16, map (Values of slot numbers) 20.
            Arguments { 24, [4, 8, 12, 16, 20], [], Inline, Rw, true }
            /// module 16.
            ModuleNamespace { 24, [4, 8, 12, 16], [], Inline, Rw, true }
            /// handle 16: an object that stands for something of the embedder's.
            HostObject { 24, [4, 8, 12], [], Inline, Rw, true }
        }
    };
}

macro_rules! define_kinds {
    ($($(#[$doc:meta])* $name:ident { $fixed:literal, [$($r:literal),*], [$($v:literal),*], $tail:ident $(($at:literal))?, $place:ident, $object:literal })*) => {
        /// What a cell is.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Kind { $($(#[$doc])* $name,)* }

        impl Kind {
            /// Every kind in numeric order.
            pub const ALL: &'static [Kind] = &[$(Kind::$name,)*];
        }

        /// The table, by kind number.
        pub static KINDS: &[KindInfo] = &[$(KindInfo {
            name: stringify!($name),
            fixed_bytes: $fixed,
            refs: &[$($r),*],
            values: &[$($v),*],
            tail: Tail::$tail $(($at))?,
            place: Place::$place,
            is_object: $object,
        },)*];

        /// Text that changes with any cell layout (layout fingerprint).
        pub const KIND_FINGERPRINT: &str = concat!($(stringify!($name), stringify!($fixed), stringify!([$($r),*][$($v),*]), stringify!($tail $(($at))?), stringify!($place), ";"),*);
    };
}

for_each_kind!(define_kinds);

/// Byte offset of an object's shape.
pub const SHAPE: u32 = 4;
/// Byte offset of an object's out-of-line slots (a `Values` cell, or 0).
pub const SLOTS: u32 = 8;
/// Byte offset of an object's elements (an `Elements*` cell, or 0).
pub const ELEMENTS: u32 = 12;

impl Kind {
    /// The kind with this number.
    #[inline]
    pub fn from_raw(raw: u8) -> Option<Kind> {
        Kind::ALL.get(raw as usize).copied()
    }

    /// The row of the table.
    #[inline(always)]
    pub fn info(self) -> &'static KindInfo {
        &KINDS[self as usize]
    }

    /// Whether cells of this kind are callable without asking further (proxies must be asked).
    #[inline(always)]
    pub fn is_function(self) -> bool {
        matches!(self, Kind::Function | Kind::NativeFunction | Kind::HostFunction | Kind::BoundFunction)
    }
}

impl Cage {
    /// Kind number of the cell at `cell`.
    #[inline(always)]
    pub fn kind_raw(self, cell: Ref) -> u8 {
        self.get::<u8>(cell, 0)
    }

    /// Kind of the cell at `cell`; a word that is no kind reads as `Free`.
    #[inline(always)]
    pub fn kind(self, cell: Ref) -> Kind {
        Kind::from_raw(self.kind_raw(cell)).unwrap_or(Kind::Free)
    }

    /// Whether the cell is of `kind`.
    #[inline(always)]
    pub fn is(self, cell: Ref, kind: Kind) -> bool {
        self.kind_raw(cell) == kind as u8
    }

    /// Flags byte of the header.
    #[inline(always)]
    pub fn flags(self, cell: Ref) -> u8 {
        self.get::<u8>(cell, 1)
    }

    /// Number of tail elements of a cell of `kind`.
    #[inline]
    pub fn tail_count(self, cell: Ref, tail: Tail) -> u32 {
        match tail {
            Tail::None => 0,
            Tail::Inline => u32::from(self.get::<u8>(cell, 2)),
            Tail::Values(at)
            | Tail::Bytes(at)
            | Tail::Units16(at)
            | Tail::Words32(at)
            | Tail::Words64(at)
            | Tail::Refs(at)
            | Tail::Caches(at) => self.get(cell, at),
            Tail::Sparse | Tail::PropertyTable | Tail::MapTable => self.get(cell, 4),
        }
    }

    /// Bytes of the cell, fixed part and tail (not rounded up to a size class).
    pub fn cell_bytes(self, cell: Ref) -> u64 {
        let info = self.kind(cell).info();
        let count = u64::from(self.tail_count(cell, info.tail));
        u64::from(info.fixed_bytes)
            + match info.tail {
                Tail::None => 0,
                Tail::Bytes(_) => count,
                Tail::Units16(_) => 2 * count,
                Tail::Words32(_) | Tail::Refs(_) => 4 * count,
                Tail::Values(_) | Tail::Inline | Tail::Words64(_) => 8 * count,
                Tail::Caches(_) | Tail::Sparse => 16 * count,
                Tail::PropertyTable => 8 * count + 4 * (u64::from(self.u32(cell, 16)) + 1),
                Tail::MapTable => 16 * count + 4 * (u64::from(self.u32(cell, 16)) + 1),
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_rows_are_aligned_and_inside_the_fixed_part() {
        for kind in Kind::ALL {
            let info = kind.info();
            assert_eq!(info.fixed_bytes % 8, 0, "{}", info.name);
            for &r in info.refs {
                assert!(r % 4 == 0 && r + 4 <= info.fixed_bytes, "{}", info.name);
            }
            for &v in info.values {
                assert!(v % 8 == 0 && v + 8 <= info.fixed_bytes, "{}", info.name);
            }
            if info.is_object {
                assert!(info.refs.starts_with(&[SHAPE, SLOTS, ELEMENTS]), "{}", info.name);
            }
        }
    }
}
