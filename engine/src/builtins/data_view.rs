//! DataView (ECMA-262 25.3). Cell: buffer 16, byte offset 20, byte length 24 (u32::MAX: tracks the buffer).

use super::*;
use crate::builtins::element_types::ElementType;
use crate::kinds::Kind;
use crate::names::Intrinsic;

const BUFFER: u32 = 16;
const OFFSET: u32 = 20;
const LENGTH: u32 = 24;
const TRACKS: u32 = u32::MAX;

macro_rules! accessors {
    ($($get:ident $set:ident $type:ident $get_name:literal $set_name:literal;)*) => {
        $(fn $get(realm: &mut Realm, args: Args) -> Completion {
            get_view_value(realm, args, ElementType::$type, $get_name)
        }
        fn $set(realm: &mut Realm, args: Args) -> Completion {
            set_view_value(realm, args, ElementType::$type, $set_name)
        })*
    };
}

accessors! {
    get_big_int64 set_big_int64 BigInt64 "getBigInt64" "setBigInt64";
    get_big_uint64 set_big_uint64 BigUint64 "getBigUint64" "setBigUint64";
    get_float16 set_float16 Float16 "getFloat16" "setFloat16";
    get_float32 set_float32 Float32 "getFloat32" "setFloat32";
    get_float64 set_float64 Float64 "getFloat64" "setFloat64";
    get_int8 set_int8 Int8 "getInt8" "setInt8";
    get_int16 set_int16 Int16 "getInt16" "setInt16";
    get_int32 set_int32 Int32 "getInt32" "setInt32";
    get_uint8 set_uint8 Uint8 "getUint8" "setUint8";
    get_uint16 set_uint16 Uint16 "getUint16" "setUint16";
    get_uint32 set_uint32 Uint32 "getUint32" "setUint32";
}

builtin_table! { 21;
    DATA_VIEW("DataView", 1, constructor) = data_view;
    BUFFER_GET("get buffer", 0) = buffer;
    BYTE_LENGTH("get byteLength", 0) = byte_length;
    BYTE_OFFSET("get byteOffset", 0) = byte_offset;
    GET_BIG_INT64("getBigInt64", 1) = get_big_int64;
    GET_BIG_UINT64("getBigUint64", 1) = get_big_uint64;
    GET_FLOAT16("getFloat16", 1) = get_float16;
    GET_FLOAT32("getFloat32", 1) = get_float32;
    GET_FLOAT64("getFloat64", 1) = get_float64;
    GET_INT8("getInt8", 1) = get_int8;
    GET_INT16("getInt16", 1) = get_int16;
    GET_INT32("getInt32", 1) = get_int32;
    GET_UINT8("getUint8", 1) = get_uint8;
    GET_UINT16("getUint16", 1) = get_uint16;
    GET_UINT32("getUint32", 1) = get_uint32;
    SET_BIG_INT64("setBigInt64", 2) = set_big_int64;
    SET_BIG_UINT64("setBigUint64", 2) = set_big_uint64;
    SET_FLOAT16("setFloat16", 2) = set_float16;
    SET_FLOAT32("setFloat32", 2) = set_float32;
    SET_FLOAT64("setFloat64", 2) = set_float64;
    SET_INT8("setInt8", 2) = set_int8;
    SET_INT16("setInt16", 2) = set_int16;
    SET_INT32("setInt32", 2) = set_int32;
    SET_UINT8("setUint8", 2) = set_uint8;
    SET_UINT16("setUint16", 2) = set_uint16;
    SET_UINT32("setUint32", 2) = set_uint32;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.new_plain_prototype()?;
    realm.install_constructor(DATA_VIEW, prototype, Intrinsic::DataView, Intrinsic::DataViewPrototype)?;
    realm.install_getter(prototype, "buffer", BUFFER_GET)?;
    realm.install_getter(prototype, "byteLength", BYTE_LENGTH)?;
    realm.install_getter(prototype, "byteOffset", BYTE_OFFSET)?;
    for number in GET_BIG_INT64..=SET_UINT32 {
        realm.install_method(prototype, number)?;
    }
    realm.install_tag(prototype, "DataView")
}

fn this_view(realm: &mut Realm, args: Args, method: &str) -> Completion<Ref> {
    realm.this_of_kind(args.this, Kind::DataView, &format!("DataView.prototype.{method}"))
}

/// GetViewByteLength (25.3.1.3); `None` when IsViewOutOfBounds (25.3.1.4).
fn view_length(realm: &Realm, view: Ref) -> Option<u32> {
    let buffer = realm.cage.r(view, BUFFER);
    if realm.is_detached(buffer) {
        return None;
    }
    let bytes = realm.buffer_length(buffer);
    let (offset, length) = (realm.cage.u32(view, OFFSET), realm.cage.u32(view, LENGTH));
    if length == TRACKS {
        return bytes.checked_sub(offset);
    }
    if u64::from(offset) + u64::from(length) <= u64::from(bytes) { Some(length) } else { None }
}

#[cold]
fn throw_out_of_bounds(realm: &mut Realm, method: &str) -> crate::realm::Throw {
    realm.throw_type(&format!("Cannot perform DataView.prototype.{method} on a detached or out-of-bounds ArrayBuffer"))
}

/// DataView ( buffer [ , byteOffset [ , byteLength ] ] ) (25.3.2.1)
fn data_view(realm: &mut Realm, args: Args) -> Completion {
    realm.require_construct(args)?;
    let buffer = match args.get(realm, 0).to_object_ref() {
        Some(object) if realm.cage.is(object, Kind::ArrayBuffer) => object,
        _ => return Err(realm.throw_type("First argument to DataView constructor must be an ArrayBuffer")),
    };
    let offset = realm.to_index(args.get(realm, 1))?;
    let detached = "Cannot perform DataView on a detached ArrayBuffer";
    if realm.is_detached(buffer) {
        return Err(realm.throw_type(detached));
    }
    let bytes = f64::from(realm.buffer_length(buffer));
    if offset > bytes {
        return Err(realm.throw_range(&format!("Start offset {offset} is outside the bounds of the buffer")));
    }
    let length = args.get(realm, 2);
    let wanted = if length.is_undefined() { None } else { Some(realm.to_index(length)?) };
    if let Some(wanted) = wanted
        && offset + wanted > bytes
    {
        return Err(realm.throw_range(&format!("Invalid DataView length {wanted}")));
    }
    let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::DataViewPrototype)?;
    // Reading the prototype may have run script.
    if realm.is_detached(buffer) {
        return Err(realm.throw_type(detached));
    }
    let now = f64::from(realm.buffer_length(buffer));
    if offset > now || wanted.is_some_and(|wanted| offset + wanted > now) {
        return Err(realm.throw_range("Invalid DataView offset or length"));
    }
    let length = match wanted {
        Some(wanted) => wanted as u32,
        None if realm.is_fixed_length(buffer) => (now - offset) as u32,
        None => TRACKS,
    };
    let view = realm.new_object_of(Kind::DataView, prototype)?;
    realm.cage.init(view.0 + BUFFER, buffer.0);
    realm.cage.init(view.0 + OFFSET, offset as u32);
    realm.cage.init(view.0 + LENGTH, length);
    Ok(Value::object(view))
}

/// get DataView.prototype.buffer (25.3.4.1)
fn buffer(realm: &mut Realm, args: Args) -> Completion {
    let view = this_view(realm, args, "buffer")?;
    Ok(Value::object(realm.cage.r(view, BUFFER)))
}

/// get DataView.prototype.byteLength (25.3.4.2)
fn byte_length(realm: &mut Realm, args: Args) -> Completion {
    let view = this_view(realm, args, "byteLength")?;
    match view_length(realm, view) {
        Some(length) => Ok(Value::number(f64::from(length))),
        None => Err(throw_out_of_bounds(realm, "byteLength")),
    }
}

/// get DataView.prototype.byteOffset (25.3.4.3)
fn byte_offset(realm: &mut Realm, args: Args) -> Completion {
    let view = this_view(realm, args, "byteOffset")?;
    if view_length(realm, view).is_none() {
        return Err(throw_out_of_bounds(realm, "byteOffset"));
    }
    Ok(Value::number(f64::from(realm.cage.u32(view, OFFSET))))
}

/// Address of the element at `index`, checked against the current length.
fn element_address(
    realm: &mut Realm,
    view: Ref,
    index: f64,
    element_type: ElementType,
    method: &str,
) -> Completion<u32> {
    let Some(length) = view_length(realm, view) else { return Err(throw_out_of_bounds(realm, method)) };
    if index + f64::from(element_type.bytes()) > f64::from(length) {
        return Err(realm.throw_range("Offset is outside the bounds of the DataView"));
    }
    let buffer = realm.cage.r(view, BUFFER);
    Ok(realm.buffer_bytes(buffer) + realm.cage.u32(view, OFFSET) + index as u32)
}

/// Turns big-endian content of the low bytes into little-endian content, and back.
fn swap(raw: u64, element_type: ElementType) -> u64 {
    raw.swap_bytes() >> (64 - 8 * element_type.bytes())
}

/// GetViewValue (25.3.1.5)
fn get_view_value(realm: &mut Realm, args: Args, element_type: ElementType, method: &str) -> Completion {
    let view = this_view(realm, args, method)?;
    let index = realm.to_index(args.get(realm, 0))?;
    let little_endian = realm.to_boolean(args.get(realm, 1));
    let at = element_address(realm, view, index, element_type, method)?;
    let raw = realm.read_raw(element_type, at);
    realm.raw_to_value(element_type, if little_endian { raw } else { swap(raw, element_type) })
}

/// SetViewValue (25.3.1.6)
fn set_view_value(realm: &mut Realm, args: Args, element_type: ElementType, method: &str) -> Completion {
    let view = this_view(realm, args, method)?;
    let index = realm.to_index(args.get(realm, 0))?;
    let raw = realm.value_to_raw(element_type, args.get(realm, 1))?;
    let little_endian = realm.to_boolean(args.get(realm, 2));
    let at = element_address(realm, view, index, element_type, method)?;
    realm.write_raw(element_type, at, if little_endian { raw } else { swap(raw, element_type) });
    Ok(Value::UNDEFINED)
}
