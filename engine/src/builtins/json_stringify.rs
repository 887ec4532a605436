//! JSON.stringify (ECMA-262 25.5.2).
//!
//! Recursion checks the native stack at every level. The text grows outside the cage; the stack of open
//! objects that finds cycles holds plain offsets, since each of them is also a local of its level.

use super::text::TextBuilder;
use super::*;
use crate::kinds::Kind;
use crate::names::Name;
use crate::objects::Key;

/// State of one call (25.5.2 step 12).
struct Writer {
    out: TextBuilder,
    /// Replacer function or undefined.
    replacer: Value,
    /// Array of property names (null: all).
    property_list: Ref,
    gap: Vec<u16>,
    indent: Vec<u16>,
    open: Vec<OpenObject>,
}

/// An object that is being written: its offset, and the key under which it stands in the one before.
struct OpenObject {
    cell: u32,
    key: Key,
}

/// JSON.stringify (25.5.2)
pub(super) fn stringify(realm: &mut Realm, args: Args) -> Completion {
    let (value, replacer, space) = (args.get(realm, 0), args.get(realm, 1), args.get(realm, 2));
    let mut writer = Writer {
        out: TextBuilder::new(),
        replacer: Value::UNDEFINED,
        property_list: Ref::NULL,
        gap: Vec::new(),
        indent: Vec::new(),
        open: Vec::new(),
    };
    if realm.is_callable(replacer) {
        writer.replacer = replacer;
    } else if replacer.is_object() && realm.is_array(replacer)? {
        writer.property_list = property_list(realm, replacer.as_ref())?;
    }
    writer.gap = gap(realm, space)?;
    let key = Key::Name(realm.names.empty);
    // The wrapper is only observable through a replacer or toJSON's receiver; it is cheap enough.
    let wrapper = realm.new_object()?;
    realm.create_data_property_or_throw(wrapper, key, value)?;
    if !writer.property(realm, wrapper, key, value)? {
        return Ok(Value::UNDEFINED);
    }
    realm.charge(1 + writer.out.len() as u32 / 32)?;
    Ok(Value::string(writer.out.finish(realm)?))
}

/// Step 5.b: the names of an array replacer, each once: an array of strings.
fn property_list(realm: &mut Realm, array: Ref) -> Completion<Ref> {
    let list = realm.new_array()?;
    let seen = realm.new_object_with_prototype(Ref::NULL)?;
    let length = realm.length_of(array)?;
    let mut i = 0.0;
    while i < length {
        realm.charge(1)?;
        let key = realm.to_property_key(Value::number(i))?;
        let item = realm.get(array, key)?;
        let is_name = item.is_string()
            || item.is_number()
            || matches!(wrapped_primitive(realm, item), Some(v) if v.is_string() || v.is_number());
        if is_name {
            let name = realm.to_string(item)?;
            let key = realm.key_of_string(name)?;
            if !realm.has_own_property(seen, key)? {
                realm.create_data_property(seen, key, Value::TRUE)?;
                realm.array_push(list, Value::string(name))?;
            }
        }
        i += 1.0;
    }
    Ok(list)
}

/// The value of a Number, String, Boolean or BigInt object.
fn wrapped_primitive(realm: &Realm, value: Value) -> Option<Value> {
    let object = value.to_object_ref()?;
    realm.cage.is(object, Kind::PrimitiveObject).then(|| Value(realm.cage.get(object, 16)))
}

/// Steps 6 to 8: the unit of indentation, ten units at most.
fn gap(realm: &mut Realm, space: Value) -> Completion<Vec<u16>> {
    let mut space = space;
    match wrapped_primitive(realm, space) {
        Some(v) if v.is_number() => space = Value::number(realm.to_number(space)?),
        Some(v) if v.is_string() => space = Value::string(realm.to_string(space)?),
        _ => {}
    }
    if space.is_number() {
        let count = realm.to_integer(space)?.clamp(0.0, 10.0) as usize;
        return Ok(vec![0x20; count]);
    }
    if space.is_string() {
        let view = realm.view(space.as_ref())?;
        return Ok(view.slice(0, view.len().min(10)).to_units());
    }
    Ok(Vec::new())
}

impl Writer {
    /// SerializeJSONProperty (25.5.2.2) with the property's value read already: false for undefined.
    fn property(&mut self, realm: &mut Realm, holder: Ref, key: Key, value: Value) -> Completion<bool> {
        let mut value = value;
        if value.is_object() || value.is_bigint() {
            let method = realm.get_value(value, realm.key_for(Name::to_json))?;
            if realm.is_callable(method) {
                let name = realm.key_value(key)?;
                value = realm.call(method, value, &[name])?;
            }
        }
        if !self.replacer.is_undefined() {
            let name = realm.key_value(key)?;
            value = realm.call(self.replacer, Value::object(holder), &[name, value])?;
        }
        if let Some(primitive) = wrapped_primitive(realm, value) {
            if primitive.is_number() {
                value = Value::number(realm.to_number(value)?);
            } else if primitive.is_string() {
                value = Value::string(realm.to_string(value)?);
            } else if primitive.is_boolean() || primitive.is_bigint() {
                value = primitive;
            }
        }
        self.value(realm, key, value)
    }

    fn value(&mut self, realm: &mut Realm, key: Key, value: Value) -> Completion<bool> {
        if value.is_string() {
            let view = realm.view(value.as_ref())?;
            self.out.push_json_quoted(view);
        } else if value.is_int() {
            push_int(&mut self.out, value.as_int());
        } else if value.is_number() {
            let n = value.as_number();
            if n.is_finite() {
                self.out.push_ascii(&crate::pure::number_format::to_string(n));
            } else {
                self.out.push_ascii("null");
            }
        } else if value.is_null() {
            self.out.push_ascii("null");
        } else if value.is_boolean() {
            self.out.push_ascii(if value.is_true() { "true" } else { "false" });
        } else if value.is_bigint() {
            return Err(realm.throw_type("Do not know how to serialize a BigInt"));
        } else if let Some(object) = value.to_object_ref() {
            if realm.is_callable(value) {
                return Ok(false);
            }
            self.container(realm, key, object)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    fn container(&mut self, realm: &mut Realm, key: Key, object: Ref) -> Completion<()> {
        realm.check_native_stack()?;
        realm.charge(1)?;
        if self.out.is_too_long() {
            return Err(realm.throw_range("Invalid string length"));
        }
        if self.open.iter().any(|open| open.cell == object.0) {
            return Err(self.throw_circular(realm, key, object));
        }
        self.open.push(OpenObject { cell: object.0, key });
        let outer_indent = self.indent.len();
        self.indent.extend_from_slice(&self.gap);
        if realm.is_array(Value::object(object))? {
            self.array(realm, object, outer_indent)?;
        } else {
            self.object(realm, object, outer_indent)?;
        }
        self.indent.truncate(outer_indent);
        self.open.pop();
        // Keeps both on the native stack, where they are roots, while `open` has their offsets.
        std::hint::black_box((object, key));
        Ok(())
    }

    /// A comma where it is needed, and a new line where there is a gap.
    fn separate(&mut self, first: bool) {
        if !first {
            self.out.push_ascii(",");
        }
        if !self.gap.is_empty() {
            self.out.push_ascii("\n");
            self.out.push_units(&self.indent);
        }
    }

    fn finish_container(&mut self, empty: bool, outer_indent: usize, bracket: &str) {
        if !empty && !self.gap.is_empty() {
            self.out.push_ascii("\n");
            self.out.push_units(&self.indent[..outer_indent]);
        }
        self.out.push_ascii(bracket);
    }

    /// SerializeJSONObject (25.5.2.5)
    fn object(&mut self, realm: &mut Realm, object: Ref, outer_indent: usize) -> Completion<()> {
        self.out.push_ascii("{");
        let mut first = true;
        if !self.property_list.is_null() {
            for i in 0..realm.array_length(self.property_list) {
                let Some(own) = realm.stored_element(self.property_list, i) else { continue };
                let key = realm.key_of_string(own.value.as_ref())?;
                let value = realm.get(object, key)?;
                first &= !self.member(realm, object, key, value, first)?;
            }
        } else {
            let keys = realm.own_keys(object)?;
            let is_proxy = realm.cage.is(object, Kind::Proxy);
            if is_proxy {
                enumerable_strings(realm, object, keys)?;
            }
            for i in 0..realm.cage.u32(keys, 4) {
                let name = Value(realm.cage.get(keys, 8 + 8 * i));
                if !name.is_string() {
                    continue;
                }
                let key = realm.key_of_string(name.as_ref())?;
                if is_proxy {
                    // EnumerableOwnProperties was asked above, for all names at once.
                    let value = realm.get(object, key)?;
                    first &= !self.member(realm, object, key, value, first)?;
                    continue;
                }
                let own = realm.get_own_property(object, key)?;
                let Some(own) = own.filter(|own| own.enumerable()) else {
                    // A property deleted meanwhile by a getter reads as undefined, which is left out too.
                    continue;
                };
                let value = if own.is_accessor() { realm.get(object, key)? } else { own.value };
                first &= !self.member(realm, object, key, value, first)?;
            }
        }
        self.finish_container(first, outer_indent, "}");
        Ok(())
    }

    /// One member: nothing is written for a value that has no JSON form.
    fn member(&mut self, realm: &mut Realm, object: Ref, key: Key, value: Value, first: bool) -> Completion<bool> {
        // Undefined, functions and symbols are known to vanish unless somebody replaces them.
        let may_change = value.is_object() || !self.replacer.is_undefined();
        if !may_change && (value.is_undefined() || value.is_symbol()) {
            return Ok(false);
        }
        let before = self.out.mark();
        self.separate(first);
        self.push_key(realm, key);
        self.out.push_ascii(if self.gap.is_empty() { ":" } else { ": " });
        if self.property(realm, object, key, value)? {
            return Ok(true);
        }
        self.out.truncate(before);
        Ok(false)
    }

    fn push_key(&mut self, realm: &Realm, key: Key) {
        match key {
            Key::Index(index) => self.out.push_ascii(&format!("\"{index}\"")),
            Key::Name(name) => self.out.push_json_quoted(realm.view_flat(name)),
        }
    }

    /// SerializeJSONArray (25.5.2.6)
    fn array(&mut self, realm: &mut Realm, array: Ref, outer_indent: usize) -> Completion<()> {
        self.out.push_ascii("[");
        let length = realm.length_of(array)?;
        let mut i = 0.0;
        while i < length {
            realm.charge(1)?;
            self.separate(i == 0.0);
            let key = realm.to_property_key(Value::number(i))?;
            let value = realm.get(array, key)?;
            if !self.property(realm, array, key, value)? {
                self.out.push_ascii("null");
            }
            if self.out.is_too_long() {
                return Err(realm.throw_range("Invalid string length"));
            }
            i += 1.0;
        }
        self.finish_container(length == 0.0, outer_indent, "]");
        Ok(())
    }

    /// The TypeError that shows the cycle, in V8's words.
    #[cold]
    fn throw_circular(&mut self, realm: &mut Realm, key: Key, object: Ref) -> crate::realm::Throw {
        let start = self.open.iter().position(|open| open.cell == object.0).unwrap_or(0);
        let path: Vec<(u32, Key)> = self.open[start..].iter().map(|open| (open.cell, open.key)).collect();
        let mut message =
            String::from("Converting circular structure to JSON\n    --> starting at object with constructor ");
        message.push_str(&constructor_text(realm, object));
        let shown = path.len() - 1;
        for (i, &(cell, key)) in path.iter().enumerate().skip(1) {
            // Long cycles are shown by their first and last steps.
            if shown > 3 && i > 1 && i < shown {
                if i == 2 {
                    message.push_str("\n    |     ...");
                }
                continue;
            }
            let step = key_phrase(realm, key);
            let name = constructor_text(realm, Ref(cell));
            message.push_str(&format!("\n    |     {step} -> object with constructor {name}"));
        }
        let step = key_phrase(realm, key);
        message.push_str(&format!("\n    --- {step} closes the circle"));
        realm.throw_type(&message)
    }
}

fn key_phrase(realm: &mut Realm, key: Key) -> String {
    match key {
        Key::Index(index) => format!("index {index}"),
        Key::Name(_) => format!("property '{}'", realm.key_text(key)),
    }
}

/// Name of an object's constructor without running script.
fn constructor_text(realm: &mut Realm, object: Ref) -> String {
    let key = realm.key_for(Name::constructor);
    let mut at = object;
    while !at.is_null() && !realm.cage.is(at, Kind::Proxy) {
        if let Some(own) = realm.get_own_quiet(at, key) {
            if let Some(function) = own.value.to_object_ref().filter(|_| !own.is_accessor()) {
                return format!("'{}'", realm.function_name_text(function));
            }
            break;
        }
        at = realm.ordinary_prototype(at);
    }
    "'Object'".to_owned()
}

fn push_int(out: &mut TextBuilder, n: i32) {
    if (0..10).contains(&n) {
        out.push(0x30 + n as u16);
    } else {
        out.push_ascii(&n.to_string());
    }
}

/// Keeps the enumerable string keys of `keys`, in place: EnumerableOwnProperties (7.3.23) of a proxy, which can
/// tell when it is asked.
fn enumerable_strings(realm: &mut Realm, object: Ref, keys: Ref) -> Completion<()> {
    let mut kept = 0;
    for i in 0..realm.cage.u32(keys, 4) {
        let name = Value(realm.cage.get(keys, 8 + 8 * i));
        if !name.is_string() {
            continue;
        }
        let key = realm.key_of_string(name.as_ref())?;
        if realm.get_own_property(object, key)?.is_some_and(|own| own.enumerable()) {
            realm.cage.set(keys, 8 + 8 * kept, name.0);
            kept += 1;
        }
    }
    realm.cage.set(keys, 4, kept);
    Ok(())
}
