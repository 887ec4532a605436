//! Base64 and hexadecimal methods of Uint8Array (ECMA-262 2026, 23.3).

use super::*;
use crate::builtins::element_types::ElementType;
use crate::kinds::Kind;
use crate::names::Intrinsic;
use crate::strings::StrView;

builtin_table! { 26;
    FROM_BASE64("fromBase64", 1) = from_base64;
    FROM_HEX("fromHex", 1) = from_hex;
    SET_FROM_BASE64("setFromBase64", 1) = set_from_base64;
    SET_FROM_HEX("setFromHex", 1) = set_from_hex;
    TO_BASE64("toBase64", 0) = to_base64;
    TO_HEX("toHex", 0) = to_hex;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let constructor = realm.intrinsic(Intrinsic::Uint8Array);
    realm.install_methods(constructor, &[FROM_BASE64, FROM_HEX])?;
    let prototype = realm.intrinsic(Intrinsic::Uint8ArrayPrototype);
    realm.install_methods(prototype, &[SET_FROM_BASE64, SET_FROM_HEX, TO_BASE64, TO_HEX])
}

const STANDARD: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const URL: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// What happens with a last chunk of fewer than four characters.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LastChunk {
    Loose,
    Strict,
    StopBeforePartial,
}

/// What decoding gives: bytes so far, units read, and whether the rest is an error.
#[derive(Default)]
struct Decoded {
    bytes: Vec<u8>,
    read: usize,
    failed: bool,
}

impl Decoded {
    fn fail(mut self) -> Decoded {
        self.failed = true;
        self
    }

    /// The rest was read, too.
    fn all(mut self, length: usize) -> Decoded {
        self.read = length;
        self
    }

    /// DecodeFinalBase64Chunk (23.3.3.6) of two or three digits; false where unused bits must be zero and are not.
    fn push_last(&mut self, chunk: &[u8], strict: bool) -> bool {
        let bits = chunk.iter().fold(0u32, |bits, &digit| bits << 6 | u32::from(digit)) << (6 * (4 - chunk.len()));
        let used = chunk.len() - 1;
        if strict && bits & ((1 << (24 - 8 * used)) - 1) != 0 {
            return false;
        }
        self.bytes.extend_from_slice(&bits.to_be_bytes()[1..1 + used]);
        true
    }
}

fn skip_white(text: StrView, mut index: usize) -> usize {
    while index < text.len() && matches!(text.at(index), 0x09 | 0x0A | 0x0C | 0x0D | 0x20) {
        index += 1;
    }
    index
}

/// Value of a base64 digit.
fn digit(unit: u16, url: bool) -> Option<u8> {
    let alphabet = if url { URL } else { STANDARD };
    let byte = u8::try_from(unit).ok()?;
    alphabet.iter().position(|&b| b == byte).map(|i| i as u8)
}

/// FromBase64 (23.3.3.10): at most `most` bytes.
fn decode_base64(text: StrView, url: bool, last: LastChunk, most: usize) -> Decoded {
    let mut out = Decoded::default();
    let length = text.len();
    if most == 0 {
        return out;
    }
    let mut chunk = Vec::with_capacity(4);
    let mut index = 0;
    loop {
        index = skip_white(text, index);
        if index == length {
            if chunk.is_empty() {
                return out.all(length);
            }
            return match last {
                LastChunk::StopBeforePartial => out,
                LastChunk::Loose if chunk.len() > 1 => {
                    out.push_last(&chunk, false);
                    out.all(length)
                }
                _ => out.fail(),
            };
        }
        let unit = text.at(index);
        index += 1;
        if unit == u16::from(b'=') {
            if chunk.len() < 2 {
                return out.fail();
            }
            index = skip_white(text, index);
            if chunk.len() == 2 {
                if index == length {
                    return if last == LastChunk::StopBeforePartial { out } else { out.fail() };
                }
                if text.at(index) == u16::from(b'=') {
                    index = skip_white(text, index + 1);
                }
            }
            if index < length || !out.push_last(&chunk, last == LastChunk::Strict) {
                return out.fail();
            }
            return out.all(length);
        }
        let Some(digit) = digit(unit, url) else { return out.fail() };
        let room = most - out.bytes.len();
        if room == 1 && chunk.len() == 2 || room == 2 && chunk.len() == 3 {
            return out;
        }
        chunk.push(digit);
        if chunk.len() == 4 {
            let bits = chunk.iter().fold(0u32, |bits, &digit| bits << 6 | u32::from(digit));
            out.bytes.extend_from_slice(&bits.to_be_bytes()[1..]);
            chunk.clear();
            out.read = index;
            if out.bytes.len() == most {
                return out;
            }
        }
    }
}

/// FromHex (23.3.3.11): at most `most` bytes.
fn decode_hex(text: StrView, most: usize) -> Decoded {
    let mut out = Decoded::default();
    if !text.len().is_multiple_of(2) {
        return out.fail();
    }
    let nibble = |at: usize| char::from_u32(u32::from(text.at(at))).and_then(|c| c.to_digit(16));
    while out.read < text.len() && out.bytes.len() < most {
        let (Some(high), Some(low)) = (nibble(out.read), nibble(out.read + 1)) else { return out.fail() };
        out.bytes.push((high * 16 + low) as u8);
        out.read += 2;
    }
    out
}

/// The string argument, flat.
fn text_argument<'a>(realm: &mut Realm, args: Args) -> Completion<StrView<'a>> {
    let value = args.get(realm, 0);
    if !value.is_string() {
        return Err(realm.throw_type("The argument must be a string"));
    }
    let view = realm.view(value.as_ref())?;
    realm.charge(view.len() as u32 / 16)?;
    Ok(view)
}

/// An option that must be one of these strings; the first where it is undefined.
fn option(realm: &mut Realm, options: Value, name: &str, choices: &[&str]) -> Completion<usize> {
    let Some(object) = options.to_object_ref() else {
        if options.is_undefined() {
            return Ok(0);
        }
        return Err(realm.throw_type("Options must be an object"));
    };
    let key = realm.key(name)?;
    let value = realm.get(object, key)?;
    if value.is_undefined() {
        return Ok(0);
    }
    let text = if value.is_string() { realm.string_text(value.as_ref())? } else { String::new() };
    match choices.iter().position(|&choice| choice == text) {
        Some(index) => Ok(index),
        None => Err(realm.throw_type(&format!("Invalid option '{name}'"))),
    }
}

/// Alphabet and last-chunk handling of the options argument.
fn decoding_options(realm: &mut Realm, args: Args) -> Completion<(bool, LastChunk)> {
    let options = args.get(realm, 1);
    let url = option(realm, options, "alphabet", &["base64", "base64url"])? == 1;
    let last = match option(realm, options, "lastChunkHandling", &["loose", "strict", "stop-before-partial"])? {
        0 => LastChunk::Loose,
        1 => LastChunk::Strict,
        _ => LastChunk::StopBeforePartial,
    };
    Ok((url, last))
}

/// A new Uint8Array of the decoded bytes.
fn new_bytes(realm: &mut Realm, decoded: &Decoded) -> Completion {
    if decoded.failed {
        return Err(realm.throw_syntax("The string is not correctly encoded"));
    }
    let array = realm.new_typed_array(ElementType::Uint8, decoded.bytes.len() as f64)?;
    let at = realm.typed_array_bytes(array);
    realm.cage.write_bytes(at, &decoded.bytes);
    Ok(Value::object(array))
}

/// Uint8Array.fromBase64 (23.3.1.1)
fn from_base64(realm: &mut Realm, args: Args) -> Completion {
    text_argument(realm, args)?;
    let (url, last) = decoding_options(realm, args)?;
    let decoded = decode_base64(text_argument(realm, args)?, url, last, usize::MAX);
    new_bytes(realm, &decoded)
}

/// Uint8Array.fromHex (23.3.1.2)
fn from_hex(realm: &mut Realm, args: Args) -> Completion {
    let decoded = decode_hex(text_argument(realm, args)?, usize::MAX);
    new_bytes(realm, &decoded)
}

/// ValidateUint8Array (23.3.3.1)
fn this_bytes(realm: &mut Realm, args: Args) -> Completion<Ref> {
    match args.this.to_object_ref() {
        Some(array) if realm.cage.is(array, Kind::TypedArray) && realm.element_type(array) == ElementType::Uint8 => {
            Ok(array)
        }
        _ => Err(realm.throw_type("this is not a Uint8Array")),
    }
}

/// Current length; a TypeError out of bounds.
fn length_of(realm: &mut Realm, array: Ref) -> Completion<u32> {
    match realm.typed_array_length(array) {
        Some(length) => Ok(length),
        None => Err(realm.throw_out_of_bounds("Uint8Array method")),
    }
}

/// Writes the decoded bytes, then reports the error or the numbers read and written.
fn store_bytes(realm: &mut Realm, array: Ref, decoded: &Decoded) -> Completion {
    let at = realm.typed_array_bytes(array);
    realm.cage.write_bytes(at, &decoded.bytes);
    if decoded.failed {
        return Err(realm.throw_syntax("The string is not correctly encoded"));
    }
    let result = realm.new_object()?;
    for (name, n) in [("read", decoded.read), ("written", decoded.bytes.len())] {
        let key = realm.key(name)?;
        realm.create_data_property_or_throw(result, key, Value::number(n as f64))?;
    }
    Ok(Value::object(result))
}

/// Uint8Array.prototype.setFromBase64 (23.3.2.1)
fn set_from_base64(realm: &mut Realm, args: Args) -> Completion {
    let array = this_bytes(realm, args)?;
    text_argument(realm, args)?;
    let (url, last) = decoding_options(realm, args)?;
    let room = length_of(realm, array)?;
    let decoded = decode_base64(text_argument(realm, args)?, url, last, room as usize);
    store_bytes(realm, array, &decoded)
}

/// Uint8Array.prototype.setFromHex (23.3.2.2)
fn set_from_hex(realm: &mut Realm, args: Args) -> Completion {
    let array = this_bytes(realm, args)?;
    let text = text_argument(realm, args)?;
    let room = length_of(realm, array)?;
    let decoded = decode_hex(text, room as usize);
    store_bytes(realm, array, &decoded)
}

/// Uint8Array.prototype.toBase64 (23.3.2.3)
fn to_base64(realm: &mut Realm, args: Args) -> Completion {
    let array = this_bytes(realm, args)?;
    let options = args.get(realm, 0);
    let url = option(realm, options, "alphabet", &["base64", "base64url"])? == 1;
    let mut padding = true;
    if let Some(object) = options.to_object_ref() {
        let key = realm.key("omitPadding")?;
        let omit = realm.get(object, key)?;
        padding = !realm.to_boolean(omit);
    }
    let length = length_of(realm, array)?;
    realm.charge(length / 16)?;
    let alphabet = if url { URL } else { STANDARD };
    let mut text = Vec::with_capacity(length as usize / 3 * 4 + 4);
    for group in realm.cage.bytes(realm.typed_array_bytes(array), length).chunks(3) {
        let bits = group.iter().fold(0u32, |bits, &byte| bits << 8 | u32::from(byte)) << (8 * (3 - group.len()));
        for i in 0..=group.len() {
            text.push(alphabet[(bits >> (18 - 6 * i) & 63) as usize]);
        }
        if padding {
            text.extend(std::iter::repeat_n(b'=', 3 - group.len()));
        }
    }
    Ok(Value::string(realm.new_latin1(&text)?))
}

/// Uint8Array.prototype.toHex (23.3.2.4)
fn to_hex(realm: &mut Realm, args: Args) -> Completion {
    let array = this_bytes(realm, args)?;
    let length = length_of(realm, array)?;
    realm.charge(length / 16)?;
    let mut text = Vec::with_capacity(2 * length as usize);
    for &byte in realm.cage.bytes(realm.typed_array_bytes(array), length) {
        text.push(b"0123456789abcdef"[usize::from(byte >> 4)]);
        text.push(b"0123456789abcdef"[usize::from(byte & 15)]);
    }
    Ok(Value::string(realm.new_latin1(&text)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(text: &str, last: LastChunk) -> Option<Vec<u8>> {
        let decoded = decode_base64(StrView::Latin1(text.as_bytes()), false, last, usize::MAX);
        if decoded.failed { None } else { Some(decoded.bytes) }
    }

    #[test]
    fn last_chunks() {
        assert_eq!(decode("Zm9v YmE=", LastChunk::Strict), Some(b"fooba".to_vec()));
        assert_eq!(decode("Zm9vYmE", LastChunk::Loose), Some(b"fooba".to_vec()));
        assert_eq!(decode("Zm9vYmE", LastChunk::Strict), None);
        assert_eq!(decode("Zm9vYmE", LastChunk::StopBeforePartial), Some(b"foo".to_vec()));
        assert_eq!(decode("Zm9vYmF=", LastChunk::Strict), None);
        assert_eq!(decode("Zm9vYmF=", LastChunk::Loose), Some(b"fooba".to_vec()));
        assert_eq!(decode("Zg=", LastChunk::Loose), None);
        assert_eq!(decode("Z", LastChunk::Loose), None);
        assert_eq!(decode("=", LastChunk::Loose), None);
    }
}
