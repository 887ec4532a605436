//! ArrayBuffer and SharedArrayBuffer (ECMA-262 25.1, 25.2).
//!
//! A buffer cell: store at 16 (0 = detached), byte length at 20, maximum at 24 (u32::MAX: fixed length); header
//! flag [`SHARED`]. The bytes lie in a `BufferStore`: length 4, capacity 8, bytes from 16. Invariant: bytes of a
//! store at or above the buffer's length are zero. Growing may replace the store, so nobody keeps its ref.

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};

pub const STORE: u32 = 16;
pub const BYTE_LENGTH: u32 = 20;
pub const MAX_BYTE_LENGTH: u32 = 24;
/// The maximum of a buffer that cannot be resized.
pub const FIXED: u32 = u32::MAX;
/// Where the bytes start in a store.
pub const BYTES: u32 = 16;
/// Header flag of SharedArrayBuffers.
pub const SHARED: u8 = 1;
/// Most bytes of one buffer.
const BYTES_MAX: f64 = (1u64 << 31) as f64 - 64.0;

impl Realm {
    /// A zeroed store.
    ///
    /// # Errors
    /// RangeError where memory does not suffice; that does not count against the realm's memory error.
    pub(crate) fn new_buffer_store(&mut self, bytes: u32) -> Completion<Ref> {
        let needed = u64::from(bytes) + u64::from(BYTES);
        if self.heap_is_short(needed) {
            self.collect();
            if self.heap_is_short(needed) {
                return Err(self.throw_range("Array buffer allocation failed"));
            }
        }
        self.charge(bytes >> 10)?;
        let store = self.allocate_tail(Kind::BufferStore, BYTES, u64::from(bytes))?;
        self.cage.init(store.0 + 4, bytes);
        self.cage.init(store.0 + 8, bytes);
        self.cage.init(store.0 + 12, 0u32);
        self.cage.fill(store.0 + BYTES, 0, bytes);
        Ok(store)
    }

    /// AllocateArrayBuffer (25.1.3.1) with a known prototype.
    ///
    /// # Errors
    /// RangeError where memory does not suffice.
    pub(crate) fn new_array_buffer_with(&mut self, prototype: Ref, bytes: f64, max: Option<f64>) -> Completion<Ref> {
        if bytes > BYTES_MAX || max.is_some_and(|max| max > BYTES_MAX) {
            return Err(self.throw_range("Array buffer allocation failed"));
        }
        let store = self.new_buffer_store(bytes as u32)?;
        let cell = self.new_object_of(Kind::ArrayBuffer, prototype)?;
        self.cage.init(cell.0 + STORE, store.0);
        self.cage.init(cell.0 + BYTE_LENGTH, bytes as u32);
        self.cage.init(cell.0 + MAX_BYTE_LENGTH, max.map_or(FIXED, |max| max as u32));
        Ok(cell)
    }

    /// A new fixed-length ArrayBuffer of %ArrayBuffer%.
    ///
    /// # Errors
    /// RangeError where memory does not suffice.
    pub fn new_array_buffer(&mut self, bytes: f64) -> Completion<Ref> {
        let prototype = self.intrinsic(Intrinsic::ArrayBufferPrototype);
        self.new_array_buffer_with(prototype, bytes, None)
    }

    /// Current number of bytes; 0 when detached.
    #[inline(always)]
    pub(crate) fn buffer_length(&self, buffer: Ref) -> u32 {
        self.cage.u32(buffer, BYTE_LENGTH)
    }

    /// IsDetachedBuffer (25.1.3.3)
    #[inline(always)]
    pub(crate) fn is_detached(&self, buffer: Ref) -> bool {
        self.cage.u32(buffer, STORE) == 0
    }

    /// IsFixedLengthArrayBuffer (25.1.3.8)
    pub(crate) fn is_fixed_length(&self, buffer: Ref) -> bool {
        self.cage.u32(buffer, MAX_BYTE_LENGTH) == FIXED
    }

    pub(crate) fn is_shared_buffer(&self, buffer: Ref) -> bool {
        self.cage.flags(buffer) & SHARED != 0
    }

    /// DetachArrayBuffer (25.1.3.5), for hosts, too.
    pub fn detach_array_buffer(&mut self, buffer: Ref) {
        self.cage.set(buffer, STORE, 0u32);
        self.cage.set(buffer, BYTE_LENGTH, 0u32);
    }

    /// Cage address of the buffer's first byte.
    #[inline(always)]
    pub(crate) fn buffer_bytes(&self, buffer: Ref) -> u32 {
        self.cage.u32(buffer, STORE) + BYTES
    }

    /// Gives a resizable buffer a new length, within its maximum.
    fn resize_buffer(&mut self, buffer: Ref, bytes: u32) -> Completion<()> {
        let store = self.cage.r(buffer, STORE);
        let old = self.buffer_length(buffer);
        let capacity = self.cage.u32(store, 8);
        if bytes <= capacity {
            if bytes < old {
                self.cage.fill(store.0 + BYTES + bytes, 0, old - bytes);
            }
            self.cage.set(store, 4, bytes);
        } else {
            // Room for more of the same, so that growing step by step stays linear.
            let room = (u64::from(capacity) * 2)
                .clamp(u64::from(bytes), u64::from(self.cage.u32(buffer, MAX_BYTE_LENGTH)).max(u64::from(bytes)));
            let grown = self.new_buffer_store(room as u32)?;
            self.cage.copy(store.0 + BYTES, grown.0 + BYTES, old);
            self.cage.set(grown, 4, bytes);
            self.cage.set(buffer, STORE, grown.0);
        }
        self.cage.set(buffer, BYTE_LENGTH, bytes);
        Ok(())
    }
}

builtin_table! { 20;
    ARRAY_BUFFER("ArrayBuffer", 1, constructor) = array_buffer;
    IS_VIEW("isView", 1) = is_view;
    BYTE_LENGTH_GET("get byteLength", 0) = byte_length;
    DETACHED("get detached", 0) = detached;
    MAX_BYTE_LENGTH_GET("get maxByteLength", 0) = max_byte_length;
    RESIZABLE("get resizable", 0) = resizable;
    RESIZE("resize", 1) = resize;
    SLICE("slice", 2) = slice;
    TRANSFER("transfer", 0) = transfer;
    TRANSFER_TO_FIXED_LENGTH("transferToFixedLength", 0) = transfer_to_fixed_length;
    SHARED_ARRAY_BUFFER("SharedArrayBuffer", 1, constructor) = shared_array_buffer;
    SHARED_BYTE_LENGTH("get byteLength", 0) = shared_byte_length;
    GROW("grow", 1) = grow;
    GROWABLE("get growable", 0) = growable;
    SHARED_MAX_BYTE_LENGTH("get maxByteLength", 0) = shared_max_byte_length;
    SHARED_SLICE("slice", 2) = shared_slice;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    let (slot, prototype_slot) = (Intrinsic::ArrayBuffer, Intrinsic::ArrayBufferPrototype);
    let constructor = realm.install_constructor(ARRAY_BUFFER, prototype, slot, prototype_slot)?;
    realm.install_method(constructor, IS_VIEW)?;
    realm.install_species(constructor)?;
    realm.install_methods(prototype, &[RESIZE, SLICE, TRANSFER, TRANSFER_TO_FIXED_LENGTH])?;
    realm.install_getter(prototype, "byteLength", BYTE_LENGTH_GET)?;
    realm.install_getter(prototype, "detached", DETACHED)?;
    realm.install_getter(prototype, "maxByteLength", MAX_BYTE_LENGTH_GET)?;
    realm.install_getter(prototype, "resizable", RESIZABLE)?;
    realm.install_tag(prototype, "ArrayBuffer")?;
    let prototype = realm.new_plain_prototype()?;
    let (slot, prototype_slot) = (Intrinsic::SharedArrayBuffer, Intrinsic::SharedArrayBufferPrototype);
    let constructor = realm.install_constructor(SHARED_ARRAY_BUFFER, prototype, slot, prototype_slot)?;
    realm.install_species(constructor)?;
    realm.install_methods(prototype, &[GROW, SHARED_SLICE])?;
    realm.install_getter(prototype, "byteLength", SHARED_BYTE_LENGTH)?;
    realm.install_getter(prototype, "growable", GROWABLE)?;
    realm.install_getter(prototype, "maxByteLength", SHARED_MAX_BYTE_LENGTH)?;
    realm.install_tag(prototype, "SharedArrayBuffer")
}

/// The receiver as a buffer of the right sharing.
fn this_buffer(realm: &mut Realm, value: Value, shared: bool, method: &str) -> Completion<Ref> {
    let class = if shared { "SharedArrayBuffer" } else { "ArrayBuffer" };
    match value.to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::ArrayBuffer) && realm.is_shared_buffer(object) == shared => {
            Ok(object)
        }
        _ => {
            let text = realm.describe(value);
            Err(realm.throw_type(&format!("Method {class}.prototype.{method} called on incompatible receiver {text}")))
        }
    }
}

#[cold]
fn throw_detached(realm: &mut Realm, method: &str) -> crate::realm::Throw {
    realm.throw_type(&format!("Cannot perform ArrayBuffer.prototype.{method} on a detached ArrayBuffer"))
}

/// The common part of both constructors (25.1.4.1, 25.2.3.1).
fn construct(realm: &mut Realm, args: Args, fallback: Intrinsic) -> Completion<Ref> {
    realm.require_construct(args)?;
    let bytes = realm.to_index(args.get(realm, 0))?;
    // GetArrayBufferMaxByteLengthOption (25.1.3.7)
    let mut max = None;
    if let Some(options) = args.get(realm, 1).to_object_ref() {
        let option = realm.get_name(options, Name::max_byte_length)?;
        if !option.is_undefined() {
            max = Some(realm.to_index(option)?);
        }
    }
    if max.is_some_and(|max| bytes > max) {
        return Err(realm.throw_range("Invalid array buffer max length"));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, fallback)?;
    realm.new_array_buffer_with(prototype, bytes, max)
}

/// ArrayBuffer ( length [ , options ] ) (25.1.4.1)
fn array_buffer(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::object(construct(realm, args, Intrinsic::ArrayBufferPrototype)?))
}

/// ArrayBuffer.isView (25.1.5.1)
fn is_view(realm: &mut Realm, args: Args) -> Completion {
    let kind = realm.object_kind(args.get(realm, 0));
    Ok(Value::boolean(matches!(kind, Some(Kind::TypedArray | Kind::DataView))))
}

fn number(n: u32) -> Completion {
    Ok(Value::number(f64::from(n)))
}

/// get ArrayBuffer.prototype.byteLength (25.1.6.1)
fn byte_length(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, false, "byteLength")?;
    number(realm.buffer_length(buffer))
}

/// get ArrayBuffer.prototype.detached (25.1.6.3)
fn detached(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, false, "detached")?;
    Ok(Value::boolean(realm.is_detached(buffer)))
}

/// get ArrayBuffer.prototype.maxByteLength (25.1.6.4)
fn max_byte_length(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, false, "maxByteLength")?;
    if realm.is_detached(buffer) {
        return Ok(Value::ZERO);
    }
    number(if realm.is_fixed_length(buffer) {
        realm.buffer_length(buffer)
    } else {
        realm.cage.u32(buffer, MAX_BYTE_LENGTH)
    })
}

/// get ArrayBuffer.prototype.resizable (25.1.6.5)
fn resizable(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, false, "resizable")?;
    Ok(Value::boolean(!realm.is_fixed_length(buffer)))
}

/// ArrayBuffer.prototype.resize (25.1.6.6)
fn resize(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, false, "resize")?;
    if realm.is_fixed_length(buffer) {
        return Err(realm.throw_type("Method ArrayBuffer.prototype.resize called on a buffer that is not resizable"));
    }
    let bytes = realm.to_index(args.get(realm, 0))?;
    if realm.is_detached(buffer) {
        return Err(throw_detached(realm, "resize"));
    }
    if bytes > f64::from(realm.cage.u32(buffer, MAX_BYTE_LENGTH)) {
        return Err(realm.throw_range("ArrayBuffer.prototype.resize: Invalid length parameter"));
    }
    realm.resize_buffer(buffer, bytes as u32)?;
    Ok(Value::UNDEFINED)
}

/// First byte and number of bytes that `slice` asks for.
fn slice_range(realm: &mut Realm, args: Args, length: f64) -> Completion<(f64, f64)> {
    let first = realm.relative_index(args.get(realm, 0), length, 0.0)?;
    let end = realm.relative_index(args.get(realm, 1), length, length)?;
    Ok((first, (end - first).max(0.0)))
}

/// The common part of both slice methods; the buffers' sharing is checked by `shared`.
fn slice_of(realm: &mut Realm, args: Args, shared: bool) -> Completion {
    let buffer = this_buffer(realm, args.this, shared, "slice")?;
    if realm.is_detached(buffer) {
        return Err(throw_detached(realm, "slice"));
    }
    let length = f64::from(realm.buffer_length(buffer));
    let (first, count) = slice_range(realm, args, length)?;
    let default = if shared { Intrinsic::SharedArrayBuffer } else { Intrinsic::ArrayBuffer };
    let constructor = realm.species_constructor(buffer, default)?;
    let made = realm.construct(constructor, &[Value::number(count)], constructor)?;
    let made = this_buffer(realm, made, shared, "slice")?;
    if realm.is_detached(made) {
        return Err(throw_detached(realm, "slice"));
    }
    if made == buffer {
        return Err(realm.throw_type("ArrayBuffer subclass returned this from species constructor"));
    }
    if f64::from(realm.buffer_length(made)) < count {
        return Err(realm.throw_type("Species constructor returned a too small ArrayBuffer"));
    }
    if realm.is_detached(buffer) {
        return Err(throw_detached(realm, "slice"));
    }
    // The species constructor may have resized the buffer.
    let now = f64::from(realm.buffer_length(buffer));
    let count = count.min(now - first);
    if count > 0.0 {
        let (from, to) = (realm.buffer_bytes(buffer) + first as u32, realm.buffer_bytes(made));
        realm.cage.copy(from, to, count as u32);
    }
    Ok(Value::object(made))
}

/// ArrayBuffer.prototype.slice (25.1.6.7)
fn slice(realm: &mut Realm, args: Args) -> Completion {
    slice_of(realm, args, false)
}

/// ArrayBufferCopyAndDetach (25.1.3.4): the bytes move with their store where they can.
fn copy_and_detach(realm: &mut Realm, args: Args, method: &str, keep_resizable: bool) -> Completion {
    let buffer = this_buffer(realm, args.this, false, method)?;
    let length = args.get(realm, 0);
    let bytes = if length.is_undefined() { f64::from(realm.buffer_length(buffer)) } else { realm.to_index(length)? };
    if realm.is_detached(buffer) {
        return Err(throw_detached(realm, method));
    }
    let max = if keep_resizable && !realm.is_fixed_length(buffer) {
        Some(f64::from(realm.cage.u32(buffer, MAX_BYTE_LENGTH)))
    } else {
        None
    };
    if max.is_some_and(|max| bytes > max) {
        return Err(realm.throw_range("Invalid array buffer length"));
    }
    let store = realm.cage.r(buffer, STORE);
    let old = realm.buffer_length(buffer);
    if bytes <= f64::from(realm.cage.u32(store, 8)) {
        let prototype = realm.intrinsic(Intrinsic::ArrayBufferPrototype);
        let made = realm.new_array_buffer_with(prototype, 0.0, max)?;
        let bytes = bytes as u32;
        if bytes < old {
            realm.cage.fill(store.0 + BYTES + bytes, 0, old - bytes);
        }
        realm.cage.set(store, 4, bytes);
        realm.cage.set(made, STORE, store.0);
        realm.cage.set(made, BYTE_LENGTH, bytes);
        realm.detach_array_buffer(buffer);
        return Ok(Value::object(made));
    }
    let prototype = realm.intrinsic(Intrinsic::ArrayBufferPrototype);
    let made = realm.new_array_buffer_with(prototype, bytes, max)?;
    let (from, to) = (realm.buffer_bytes(buffer), realm.buffer_bytes(made));
    realm.cage.copy(from, to, old.min(bytes as u32));
    realm.detach_array_buffer(buffer);
    Ok(Value::object(made))
}

/// ArrayBuffer.prototype.transfer (25.1.6.8)
fn transfer(realm: &mut Realm, args: Args) -> Completion {
    copy_and_detach(realm, args, "transfer", true)
}

/// ArrayBuffer.prototype.transferToFixedLength (25.1.6.9)
fn transfer_to_fixed_length(realm: &mut Realm, args: Args) -> Completion {
    copy_and_detach(realm, args, "transferToFixedLength", false)
}

/// SharedArrayBuffer ( length [ , options ] ) (25.2.3.1)
fn shared_array_buffer(realm: &mut Realm, args: Args) -> Completion {
    let buffer = construct(realm, args, Intrinsic::SharedArrayBufferPrototype)?;
    realm.cage.set(buffer, 1, SHARED);
    Ok(Value::object(buffer))
}

/// get SharedArrayBuffer.prototype.byteLength (25.2.5.1)
fn shared_byte_length(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, true, "byteLength")?;
    number(realm.buffer_length(buffer))
}

/// SharedArrayBuffer.prototype.grow (25.2.5.3)
fn grow(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, true, "grow")?;
    if realm.is_fixed_length(buffer) {
        return Err(realm.throw_type("Method SharedArrayBuffer.prototype.grow called on a buffer that is not growable"));
    }
    let bytes = realm.to_index(args.get(realm, 0))?;
    let (now, max) = (realm.buffer_length(buffer), realm.cage.u32(buffer, MAX_BYTE_LENGTH));
    if bytes < f64::from(now) || bytes > f64::from(max) {
        return Err(realm.throw_range("SharedArrayBuffer.prototype.grow: Invalid length parameter"));
    }
    realm.resize_buffer(buffer, bytes as u32)?;
    Ok(Value::UNDEFINED)
}

/// get SharedArrayBuffer.prototype.growable (25.2.5.4)
fn growable(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, true, "growable")?;
    Ok(Value::boolean(!realm.is_fixed_length(buffer)))
}

/// get SharedArrayBuffer.prototype.maxByteLength (25.2.5.5)
fn shared_max_byte_length(realm: &mut Realm, args: Args) -> Completion {
    let buffer = this_buffer(realm, args.this, true, "maxByteLength")?;
    number(if realm.is_fixed_length(buffer) {
        realm.buffer_length(buffer)
    } else {
        realm.cage.u32(buffer, MAX_BYTE_LENGTH)
    })
}

/// SharedArrayBuffer.prototype.slice (25.2.5.6)
fn shared_slice(realm: &mut Realm, args: Args) -> Completion {
    slice_of(realm, args, true)
}
