//! Typed arrays (ECMA-262 10.4.5, 23.2): cells, element access, constructors. The prototype's methods are in
//! `typed_array_methods`, bytes and values in `element_types`, buffers in `array_buffer`.
//!
//! A typed array cell: buffer 16, byte offset 20, length 24 (u32::MAX: tracks the buffer), element type 28.

use super::*;
use crate::builtins::element_types::ElementType;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::{Descriptor, Key};

#[path = "typed_array_methods.rs"]
pub mod methods;

pub const BUFFER: u32 = 16;
pub const OFFSET: u32 = 20;
pub const LENGTH: u32 = 24;
pub const ELEMENT_TYPE: u32 = 28;
/// The length of an array that tracks its buffer.
pub const TRACKS: u32 = u32::MAX;

builtin_table! { 9;
    INT8_ARRAY("Int8Array", 3, constructor) = construct;
    UINT8_ARRAY("Uint8Array", 3, constructor) = construct;
    UINT8_CLAMPED_ARRAY("Uint8ClampedArray", 3, constructor) = construct;
    INT16_ARRAY("Int16Array", 3, constructor) = construct;
    UINT16_ARRAY("Uint16Array", 3, constructor) = construct;
    INT32_ARRAY("Int32Array", 3, constructor) = construct;
    UINT32_ARRAY("Uint32Array", 3, constructor) = construct;
    BIG_INT64_ARRAY("BigInt64Array", 3, constructor) = construct;
    BIG_UINT64_ARRAY("BigUint64Array", 3, constructor) = construct;
    FLOAT16_ARRAY("Float16Array", 3, constructor) = construct;
    FLOAT32_ARRAY("Float32Array", 3, constructor) = construct;
    FLOAT64_ARRAY("Float64Array", 3, constructor) = construct;
    TYPED_ARRAY("TypedArray", 0, constructor) = typed_array;
    FROM("from", 1) = from;
    OF("of", 0) = of;
    BUFFER_GET("get buffer", 0) = methods::buffer;
    BYTE_LENGTH("get byteLength", 0) = methods::byte_length;
    BYTE_OFFSET("get byteOffset", 0) = methods::byte_offset;
    LENGTH_GET("get length", 0) = methods::length;
    TAG("get [Symbol.toStringTag]", 0) = methods::tag;
    AT("at", 1) = methods::at;
    COPY_WITHIN("copyWithin", 2) = methods::copy_within;
    ENTRIES("entries", 0) = methods::entries;
    EVERY("every", 1) = methods::every;
    FILL("fill", 1) = methods::fill;
    FILTER("filter", 1) = methods::filter;
    FIND("find", 1) = methods::find;
    FIND_INDEX("findIndex", 1) = methods::find_index;
    FIND_LAST("findLast", 1) = methods::find_last;
    FIND_LAST_INDEX("findLastIndex", 1) = methods::find_last_index;
    FOR_EACH("forEach", 1) = methods::for_each;
    INCLUDES("includes", 1) = methods::includes;
    INDEX_OF("indexOf", 1) = methods::index_of;
    JOIN("join", 1) = methods::join;
    KEYS("keys", 0) = methods::keys;
    LAST_INDEX_OF("lastIndexOf", 1) = methods::last_index_of;
    MAP("map", 1) = methods::map;
    REDUCE("reduce", 1) = methods::reduce;
    REDUCE_RIGHT("reduceRight", 1) = methods::reduce_right;
    REVERSE("reverse", 0) = methods::reverse;
    SET("set", 1) = methods::set;
    SLICE("slice", 2) = methods::slice;
    SOME("some", 1) = methods::some;
    SORT("sort", 1) = methods::sort;
    SUBARRAY("subarray", 2) = methods::subarray;
    TO_LOCALE_STRING("toLocaleString", 0) = methods::to_locale_string;
    TO_REVERSED("toReversed", 0) = methods::to_reversed;
    TO_SORTED("toSorted", 1) = methods::to_sorted;
    VALUES("values", 0) = methods::values;
    WITH("with", 2) = methods::with;
}

/// Prototype and constructor intrinsics by element type.
const CLASSES: [(Intrinsic, Intrinsic); 12] = [
    (Intrinsic::Int8ArrayPrototype, Intrinsic::Int8Array),
    (Intrinsic::Uint8ArrayPrototype, Intrinsic::Uint8Array),
    (Intrinsic::Uint8ClampedArrayPrototype, Intrinsic::Uint8ClampedArray),
    (Intrinsic::Int16ArrayPrototype, Intrinsic::Int16Array),
    (Intrinsic::Uint16ArrayPrototype, Intrinsic::Uint16Array),
    (Intrinsic::Int32ArrayPrototype, Intrinsic::Int32Array),
    (Intrinsic::Uint32ArrayPrototype, Intrinsic::Uint32Array),
    (Intrinsic::BigInt64ArrayPrototype, Intrinsic::BigInt64Array),
    (Intrinsic::BigUint64ArrayPrototype, Intrinsic::BigUint64Array),
    (Intrinsic::Float16ArrayPrototype, Intrinsic::Float16Array),
    (Intrinsic::Float32ArrayPrototype, Intrinsic::Float32Array),
    (Intrinsic::Float64ArrayPrototype, Intrinsic::Float64Array),
];

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    array_buffer::install(realm)?;
    let prototype = realm.new_plain_prototype()?;
    let constructor = realm.new_native_function(TYPED_ARRAY, Value::UNDEFINED)?;
    realm.define_data(constructor, realm.key_for(Name::prototype), Value::object(prototype), 0)?;
    realm.define_data(
        prototype,
        realm.key_for(Name::constructor),
        Value::object(constructor),
        crate::shapes::HIDDEN,
    )?;
    realm.set_intrinsic(Intrinsic::TypedArray, Value::object(constructor));
    realm.set_intrinsic(Intrinsic::TypedArrayPrototype, Value::object(prototype));
    realm.install_methods(constructor, &[FROM, OF])?;
    realm.install_species(constructor)?;
    for (name, getter) in
        [("buffer", BUFFER_GET), ("byteLength", BYTE_LENGTH), ("byteOffset", BYTE_OFFSET), ("length", LENGTH_GET)]
    {
        realm.install_getter(prototype, name, getter)?;
    }
    for number in AT..=WITH {
        realm.install_method(prototype, number)?;
    }
    // 23.2.3.32: the same function as Array.prototype.toString.
    let array_prototype = realm.intrinsic(Intrinsic::ArrayPrototype);
    let to_string = realm.get_name(array_prototype, Name::to_string)?;
    realm.define_data(prototype, realm.key_for(Name::to_string), to_string, crate::shapes::HIDDEN)?;
    let values = realm.get_name(prototype, Name::values)?;
    let key = Key::Name(realm.symbol(Sym::Iterator));
    realm.define_data(prototype, key, values, crate::shapes::HIDDEN)?;
    let key = Key::Name(realm.symbol(Sym::ToStringTag));
    realm.install_accessor(prototype, key, TAG, None)?;
    for element_type in ElementType::ALL {
        let number = INT8_ARRAY + element_type as u32;
        let (prototype_slot, slot) = CLASSES[element_type as usize];
        let own = realm.new_object_with_prototype(prototype)?;
        let function = realm.install_constructor(number, own, slot, prototype_slot)?;
        realm.set_prototype_of(function, constructor)?;
        for object in [function, own] {
            realm.install_constant(object, "BYTES_PER_ELEMENT", Value::int(element_type.bytes() as i32))?;
        }
    }
    data_view::install(realm)
}

impl Realm {
    /// Element type of a typed array.
    #[inline(always)]
    pub(crate) fn element_type(&self, array: Ref) -> ElementType {
        ElementType::from_raw(self.cage.u32(array, ELEMENT_TYPE))
    }

    /// Current length in elements; `None` when detached or out of bounds (10.4.5.13 and 10.4.5.14).
    #[inline]
    pub(crate) fn typed_array_length(&self, array: Ref) -> Option<u32> {
        let cage = self.cage;
        let buffer = cage.r(array, BUFFER);
        if self.is_detached(buffer) {
            return None;
        }
        let bytes = self.buffer_length(buffer);
        let (offset, length) = (cage.u32(array, OFFSET), cage.u32(array, LENGTH));
        let size = self.element_type(array).bytes();
        if length == TRACKS {
            return Some(bytes.checked_sub(offset)? / size);
        }
        if u64::from(offset) + u64::from(length) * u64::from(size) <= u64::from(bytes) { Some(length) } else { None }
    }

    /// Cage address of element 0; only while the array is in bounds.
    #[inline(always)]
    pub(crate) fn typed_array_bytes(&self, array: Ref) -> u32 {
        self.buffer_bytes(self.cage.r(array, BUFFER)) + self.cage.u32(array, OFFSET)
    }

    /// Address of element `index`, if it is a valid one.
    #[inline(always)]
    fn element_at(&self, array: Ref, index: u32) -> Option<u32> {
        if index >= self.typed_array_length(array)? {
            return None;
        }
        Some(self.typed_array_bytes(array) + index * self.element_type(array).bytes())
    }

    /// Element `index`, if it is a valid one. A BigInt that finds no memory reads as absent.
    #[inline]
    pub(crate) fn typed_array_element(&mut self, array: Ref, index: u32) -> Option<Value> {
        self.read_element(array, index).ok().flatten()
    }

    /// TypedArrayGetElement (10.4.5.16)
    ///
    /// # Errors
    /// Out of memory (BigInt).
    #[inline]
    pub(crate) fn read_element(&mut self, array: Ref, index: u32) -> Completion<Option<Value>> {
        let Some(at) = self.element_at(array, index) else { return Ok(None) };
        let element_type = self.element_type(array);
        let raw = self.read_raw(element_type, at);
        self.raw_to_value(element_type, raw).map(Some)
    }

    /// TypedArraySetElement (10.4.5.17): converts, then stores if the index is valid.
    #[inline]
    pub(crate) fn typed_array_store(&mut self, array: Ref, index: u32, value: Value) -> Completion<()> {
        let element_type = self.element_type(array);
        let raw = self.value_to_raw(element_type, value)?;
        self.store_raw_element(array, index, raw);
        Ok(())
    }

    /// Stores converted content if the index is valid.
    #[inline]
    pub(crate) fn store_raw_element(&mut self, array: Ref, index: u32, raw: u64) {
        if let Some(at) = self.element_at(array, index) {
            self.write_raw(self.element_type(array), at, raw);
        }
    }

    /// Whether a name is a CanonicalNumericIndexString (7.1.21). None is a valid index: those are `Key::Index`.
    fn is_canonical_numeric(&self, name: Ref) -> bool {
        if self.cage.is(name, Kind::Symbol) {
            return false;
        }
        let view = self.view_flat(name);
        if view.is_empty() || !matches!(view.at(0), 0x30..=0x39 | 0x2D | 0x49 | 0x4E) || view.len() > 32 {
            return false;
        }
        let text = view.to_text();
        text == "-0" || number_support::number_to_text(number_support::string_to_number(view)) == text
    }

    /// [[HasProperty]] (10.4.5.2) for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_has(&mut self, array: Ref, key: Key) -> Completion<Option<bool>> {
        Ok(match key {
            Key::Index(index) => Some(self.element_at(array, index).is_some()),
            Key::Name(name) if self.is_canonical_numeric(name) => Some(false),
            Key::Name(_) => None,
        })
    }

    /// [[Get]] (10.4.5.5) for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_get(&mut self, array: Ref, key: Key) -> Completion<Option<Value>> {
        Ok(match key {
            Key::Index(index) => Some(self.read_element(array, index)?.unwrap_or(Value::UNDEFINED)),
            Key::Name(name) if self.is_canonical_numeric(name) => Some(Value::UNDEFINED),
            Key::Name(_) => None,
        })
    }

    /// [[Set]] (10.4.5.6) for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_set(
        &mut self,
        array: Ref,
        key: Key,
        value: Value,
        receiver: Value,
    ) -> Completion<Option<bool>> {
        let index = match key {
            Key::Index(index) => index,
            // No such index is valid: the value is converted and dropped.
            Key::Name(name) if self.is_canonical_numeric(name) => u32::MAX,
            Key::Name(_) => return Ok(None),
        };
        if receiver == Value::object(array) {
            self.typed_array_store(array, index, value)?;
            return Ok(Some(true));
        }
        Ok(if self.element_at(array, index).is_some() { None } else { Some(true) })
    }

    /// [[DefineOwnProperty]] (10.4.5.3) for canonical numeric keys; `None`: go on as for an ordinary object.
    pub(crate) fn typed_array_define(&mut self, array: Ref, key: Key, d: &Descriptor) -> Completion<Option<bool>> {
        let index = match key {
            Key::Index(index) => index,
            Key::Name(name) if self.is_canonical_numeric(name) => return Ok(Some(false)),
            Key::Name(_) => return Ok(None),
        };
        let refused = self.element_at(array, index).is_none()
            || d.configurable == Some(false)
            || d.enumerable == Some(false)
            || d.is_accessor()
            || d.writable == Some(false);
        if refused {
            return Ok(Some(false));
        }
        if let Some(value) = d.value {
            self.typed_array_store(array, index, value)?;
        }
        Ok(Some(true))
    }

    /// IsTypedArrayFixedLength (10.4.5.15).
    pub(crate) fn typed_array_has_fixed_length(&self, array: Ref) -> bool {
        let buffer = self.cage.r(array, BUFFER);
        self.cage.u32(array, LENGTH) != TRACKS && (self.is_fixed_length(buffer) || self.is_shared_buffer(buffer))
    }

    /// A typed array cell over part of a buffer.
    fn new_typed_array_cell(
        &mut self,
        element_type: ElementType,
        prototype: Ref,
        buffer: Ref,
        offset: u32,
        length: u32,
    ) -> Completion<Ref> {
        let cell = self.new_object_of(Kind::TypedArray, prototype)?;
        self.cage.init(cell.0 + BUFFER, buffer.0);
        self.cage.init(cell.0 + OFFSET, offset);
        self.cage.init(cell.0 + LENGTH, length);
        self.cage.init(cell.0 + ELEMENT_TYPE, element_type as u32);
        Ok(cell)
    }

    /// AllocateTypedArray (23.2.5.1.1) with a length and a known prototype.
    fn allocate_typed_array(&mut self, element_type: ElementType, prototype: Ref, length: f64) -> Completion<Ref> {
        if length * f64::from(element_type.bytes()) > f64::from(i32::MAX) {
            return Err(self.throw_range(&format!("Invalid typed array length: {length}")));
        }
        let buffer = self.new_array_buffer(length * f64::from(element_type.bytes()))?;
        self.new_typed_array_cell(element_type, prototype, buffer, 0, length as u32)
    }

    /// A new typed array of the intrinsic class of its type.
    ///
    /// # Errors
    /// RangeError where memory does not suffice.
    pub fn new_typed_array(&mut self, element_type: ElementType, length: f64) -> Completion<Ref> {
        let prototype = self.intrinsic(CLASSES[element_type as usize].0);
        self.allocate_typed_array(element_type, prototype, length)
    }

    /// ValidateTypedArray (23.2.4.4): the array and its length.
    pub(crate) fn validate_typed_array(&mut self, value: Value, method: &str) -> Completion<(Ref, u32)> {
        let array = match value.to_object_ref() {
            Some(object) if self.cage.is(object, Kind::TypedArray) => object,
            _ => return Err(self.throw_type("this is not a typed array.")),
        };
        match self.typed_array_length(array) {
            Some(length) => Ok((array, length)),
            None => Err(self.throw_out_of_bounds(method)),
        }
    }

    #[cold]
    pub(crate) fn throw_out_of_bounds(&mut self, method: &str) -> crate::realm::Throw {
        self.throw_type(&format!("Cannot perform {method} on a detached or out-of-bounds ArrayBuffer"))
    }

    /// TypedArrayCreateFromConstructor (23.2.4.2); `length` is given where the only argument is a length.
    pub(crate) fn typed_array_create(
        &mut self,
        constructor: Value,
        args: &[Value],
        length: Option<f64>,
    ) -> Completion<Ref> {
        let made = self.construct(constructor, args, constructor)?;
        let (array, have) = self.validate_typed_array(made, "%TypedArray%")?;
        if length.is_some_and(|length| f64::from(have) < length) {
            return Err(self.throw_type("Derived TypedArray constructor created an array which was too small"));
        }
        Ok(array)
    }

    /// TypedArraySpeciesCreate (23.2.4.1)
    pub(crate) fn typed_array_species_create(
        &mut self,
        exemplar: Ref,
        args: &[Value],
        length: Option<f64>,
    ) -> Completion<Ref> {
        let element_type = self.element_type(exemplar);
        let constructor = self.species_constructor(exemplar, CLASSES[element_type as usize].1)?;
        let made = self.typed_array_create(constructor, args, length)?;
        if self.element_type(made).is_bigint() != element_type.is_bigint() {
            return Err(self.throw_type("Content type of source and derived typed arrays differ"));
        }
        Ok(made)
    }

    /// Absolute form of a relative index argument.
    pub(crate) fn relative_index(&mut self, value: Value, length: f64, default: f64) -> Completion<f64> {
        if value.is_undefined() {
            return Ok(default);
        }
        let n = self.to_integer(value)?;
        Ok(if n < 0.0 { (length + n).max(0.0) } else { n.min(length) })
    }

    /// Copies `count` elements with conversion; the ranges must not overlap and both arrays must be in bounds.
    pub(crate) fn copy_converted(
        &mut self,
        from: (ElementType, u32),
        to: (ElementType, u32),
        count: u32,
    ) -> Completion<()> {
        let (from_size, to_size) = (from.0.bytes(), to.0.bytes());
        for i in 0..count {
            self.charge(1)?;
            let raw = self.read_raw(from.0, from.1 + i * from_size);
            // Both BigInt types have the same bytes.
            let raw = if from.0.is_bigint() {
                raw
            } else {
                element_types::number_to_raw(to.0, element_types::raw_to_number(from.0, raw).as_number())
            };
            self.write_raw(to.0, to.1 + i * to_size, raw);
        }
        Ok(())
    }
}

/// %TypedArray% ( ) (23.2.1.1)
fn typed_array(realm: &mut Realm, _: Args) -> Completion {
    Err(realm.throw_type("Abstract class TypedArray not directly constructable"))
}

/// TypedArray ( ...args ) (23.2.5.1) of all twelve classes.
fn construct(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let element_type = ElementType::from_raw(realm.cage.u32(args.callee, BUILTIN) - INT8_ARRAY);
    let fallback = CLASSES[element_type as usize].0;
    let first = args.get(realm, 0);
    let Some(object) = first.to_object_ref() else {
        let length = realm.to_index(first)?;
        let prototype = realm.prototype_from_constructor(args.new_target, fallback)?;
        return Ok(Value::object(realm.allocate_typed_array(element_type, prototype, length)?));
    };
    let prototype = realm.prototype_from_constructor(args.new_target, fallback)?;
    let made = match realm.cage.kind(object) {
        Kind::TypedArray => from_typed_array(realm, element_type, prototype, object)?,
        Kind::ArrayBuffer => from_buffer(realm, element_type, prototype, object, args)?,
        _ => from_object(realm, element_type, prototype, object)?,
    };
    Ok(Value::object(made))
}

/// InitializeTypedArrayFromTypedArray (23.2.5.1.2)
fn from_typed_array(realm: &mut Realm, element_type: ElementType, prototype: Ref, source: Ref) -> Completion<Ref> {
    let Some(length) = realm.typed_array_length(source) else { return Err(realm.throw_out_of_bounds("Construct")) };
    let from = realm.element_type(source);
    let made = realm.allocate_typed_array(element_type, prototype, f64::from(length))?;
    if from.is_bigint() != element_type.is_bigint() {
        return Err(realm.throw_type("Cannot mix BigInt and other types, use explicit conversions"));
    }
    let (start, target) = (realm.typed_array_bytes(source), realm.typed_array_bytes(made));
    if from == element_type {
        realm.cage.copy(start, target, length * from.bytes());
    } else {
        realm.copy_converted((from, start), (element_type, target), length)?;
    }
    Ok(made)
}

/// InitializeTypedArrayFromArrayBuffer (23.2.5.1.3)
fn from_buffer(
    realm: &mut Realm,
    element_type: ElementType,
    prototype: Ref,
    buffer: Ref,
    args: Args,
) -> Completion<Ref> {
    let size = f64::from(element_type.bytes());
    let name = lookup(INT8_ARRAY + element_type as u32).name;
    let offset = realm.to_index(args.get(realm, 1))?;
    if offset % size != 0.0 {
        return Err(realm.throw_range(&format!("start offset of {name} should be a multiple of {size}")));
    }
    let length = args.get(realm, 2);
    let wanted = if length.is_undefined() { None } else { Some(realm.to_index(length)?) };
    if realm.is_detached(buffer) {
        return Err(realm.throw_type("Cannot perform Construct on a detached ArrayBuffer"));
    }
    let bytes = f64::from(realm.buffer_length(buffer));
    let length = match wanted {
        Some(wanted) => {
            if offset + wanted * size > bytes {
                return Err(realm.throw_range(&format!("Invalid typed array length: {wanted}")));
            }
            wanted as u32
        }
        None => {
            let fixed = realm.is_fixed_length(buffer);
            if fixed && bytes % size != 0.0 {
                return Err(realm.throw_range(&format!("byte length of {name} should be a multiple of {size}")));
            }
            if offset > bytes {
                return Err(realm.throw_range(&format!("Start offset {offset} is outside the bounds of the buffer")));
            }
            if fixed { ((bytes - offset) / size) as u32 } else { TRACKS }
        }
    };
    realm.new_typed_array_cell(element_type, prototype, buffer, offset as u32, length)
}

/// The last branch of the constructor: iterables (23.2.5.1.4) and array-likes (23.2.5.1.5).
fn from_object(realm: &mut Realm, element_type: ElementType, prototype: Ref, object: Ref) -> Completion<Ref> {
    let value = Value::object(object);
    if realm.array_iteration_is_plain(value)
        && let Some((elements, used)) = realm.dense_array(object)
        && (0..used).all(|i| realm.dense_get(elements, i).is_number())
        && !element_type.is_bigint()
    {
        // Numbers only: no script can run between reading and storing.
        let made = realm.allocate_typed_array(element_type, prototype, f64::from(used))?;
        realm.charge(used / 8)?;
        for i in 0..used {
            let n = realm.dense_get(elements, i).as_number();
            realm.store_raw_element(made, i, element_types::number_to_raw(element_type, n));
        }
        return Ok(made);
    }
    let key = Key::Name(realm.symbol(Sym::Iterator));
    let method = realm.get_method(value, key)?;
    let source = if method.is_undefined() { object } else { list_of(realm, value, method)? };
    let length = realm.length_of(source)?;
    let made = realm.allocate_typed_array(element_type, prototype, length)?;
    for i in 0..length as u32 {
        realm.charge(1)?;
        let value = realm.get(source, Key::Index(i))?;
        realm.typed_array_store(made, i, value)?;
    }
    Ok(made)
}

/// IteratorToList: an array.
fn list_of(realm: &mut Realm, iterable: Value, method: Value) -> Completion<Ref> {
    let list = realm.new_array()?;
    realm.for_each_value_with_method(iterable, method, |realm, value| realm.array_push(list, value))?;
    Ok(list)
}

/// %TypedArray%.from (23.2.2.1)
fn from(realm: &mut Realm, args: Args) -> Completion {
    let constructor = args.this;
    if !realm.is_constructor(constructor) {
        let text = realm.describe(constructor);
        return Err(realm.throw_type(&format!("{text} is not a constructor")));
    }
    let (source, mapper, this) = (args.get(realm, 0), args.get(realm, 1), args.get(realm, 2));
    if !mapper.is_undefined() && !realm.is_callable(mapper) {
        let text = realm.describe(mapper);
        return Err(realm.throw_type(&format!("{text} is not a function")));
    }
    let key = Key::Name(realm.symbol(Sym::Iterator));
    let method = realm.get_method(source, key)?;
    let list = if method.is_undefined() { realm.to_object(source)? } else { list_of(realm, source, method)? };
    let length = realm.length_of(list)?;
    let target = realm.typed_array_create(constructor, &[Value::number(length)], Some(length))?;
    for i in 0..length as u32 {
        realm.charge(1)?;
        let mut value = realm.get(list, Key::Index(i))?;
        if !mapper.is_undefined() {
            value = realm.call(mapper, this, &[value, Value::number(f64::from(i))])?;
        }
        realm.typed_array_store(target, i, value)?;
    }
    Ok(Value::object(target))
}

/// %TypedArray%.of (23.2.2.2)
fn of(realm: &mut Realm, args: Args) -> Completion {
    if !realm.is_constructor(args.this) {
        let text = realm.describe(args.this);
        return Err(realm.throw_type(&format!("{text} is not a constructor")));
    }
    let length = args.len() as f64;
    let target = realm.typed_array_create(args.this, &[Value::number(length)], Some(length))?;
    for i in 0..args.len() {
        let value = args.get(realm, i);
        realm.typed_array_store(target, i as u32, value)?;
    }
    Ok(Value::object(target))
}
