//! Object (ECMA-262 20.1).

use super::*;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::{Descriptor, Key, OwnProperty};
use crate::shapes::{ACCESSOR, WRITABLE};

builtin_table! { 0;
    OBJECT("Object", 1, constructor) = object;
    ASSIGN("assign", 2) = assign;
    CREATE("create", 2) = create;
    DEFINE_PROPERTIES("defineProperties", 2) = define_properties;
    DEFINE_PROPERTY("defineProperty", 3) = define_property;
    ENTRIES("entries", 1) = entries;
    FREEZE("freeze", 1) = freeze;
    FROM_ENTRIES("fromEntries", 1) = from_entries;
    GET_OWN_PROPERTY_DESCRIPTOR("getOwnPropertyDescriptor", 2) = get_own_property_descriptor;
    GET_OWN_PROPERTY_DESCRIPTORS("getOwnPropertyDescriptors", 1) = get_own_property_descriptors;
    GET_OWN_PROPERTY_NAMES("getOwnPropertyNames", 1) = get_own_property_names;
    GET_OWN_PROPERTY_SYMBOLS("getOwnPropertySymbols", 1) = get_own_property_symbols;
    GET_PROTOTYPE_OF("getPrototypeOf", 1) = get_prototype_of;
    GROUP_BY("groupBy", 2) = group_by;
    HAS_OWN("hasOwn", 2) = has_own;
    IS("is", 2) = is;
    IS_EXTENSIBLE("isExtensible", 1) = is_extensible;
    IS_FROZEN("isFrozen", 1) = is_frozen;
    IS_SEALED("isSealed", 1) = is_sealed;
    KEYS("keys", 1) = keys;
    PREVENT_EXTENSIONS("preventExtensions", 1) = prevent_extensions;
    SEAL("seal", 1) = seal;
    SET_PROTOTYPE_OF("setPrototypeOf", 2) = set_prototype_of;
    VALUES("values", 1) = values;
    HAS_OWN_PROPERTY("hasOwnProperty", 1) = has_own_property;
    IS_PROTOTYPE_OF("isPrototypeOf", 1) = is_prototype_of;
    PROPERTY_IS_ENUMERABLE("propertyIsEnumerable", 1) = property_is_enumerable;
    TO_LOCALE_STRING("toLocaleString", 0) = to_locale_string;
    TO_STRING("toString", 0) = to_string;
    VALUE_OF("valueOf", 0) = value_of;
    PROTO_GET("get __proto__", 0) = proto_get;
    PROTO_SET("set __proto__", 1) = proto_set;
    DEFINE_GETTER("__defineGetter__", 2) = define_getter;
    DEFINE_SETTER("__defineSetter__", 2) = define_setter;
    LOOKUP_GETTER("__lookupGetter__", 1) = lookup_getter;
    LOOKUP_SETTER("__lookupSetter__", 1) = lookup_setter;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.intrinsic(Intrinsic::ObjectPrototype);
    let constructor = realm.install_constructor(OBJECT, prototype, Intrinsic::Object, Intrinsic::ObjectPrototype)?;
    realm.install_methods(
        constructor,
        &[
            ASSIGN,
            CREATE,
            DEFINE_PROPERTIES,
            DEFINE_PROPERTY,
            ENTRIES,
            FREEZE,
            FROM_ENTRIES,
            GET_OWN_PROPERTY_DESCRIPTOR,
            GET_OWN_PROPERTY_DESCRIPTORS,
            GET_OWN_PROPERTY_NAMES,
            GET_OWN_PROPERTY_SYMBOLS,
            GET_PROTOTYPE_OF,
            GROUP_BY,
            HAS_OWN,
            IS,
            IS_EXTENSIBLE,
            IS_FROZEN,
            IS_SEALED,
            KEYS,
            PREVENT_EXTENSIONS,
            SEAL,
            SET_PROTOTYPE_OF,
            VALUES,
        ],
    )?;
    realm.install_methods(
        prototype,
        &[
            HAS_OWN_PROPERTY,
            IS_PROTOTYPE_OF,
            PROPERTY_IS_ENUMERABLE,
            TO_LOCALE_STRING,
            TO_STRING,
            VALUE_OF,
            DEFINE_GETTER,
            DEFINE_SETTER,
            LOOKUP_GETTER,
            LOOKUP_SETTER,
        ],
    )?;
    realm.install_accessor(prototype, realm.key_for(Name::proto), PROTO_GET, Some(PROTO_SET))
}

/// Object ( [ value ] ) (20.1.1.1)
fn object(realm: &mut Realm, args: Args) -> Completion {
    if args.is_construct() && args.new_target != Value::object(args.callee) {
        let prototype = realm.prototype_from_constructor(args.new_target, Intrinsic::ObjectPrototype)?;
        return Ok(Value::object(realm.new_object_with_prototype(prototype)?));
    }
    let value = args.get(realm, 0);
    if value.is_nullish() {
        return Ok(Value::object(realm.new_object()?));
    }
    Ok(Value::object(realm.to_object(value)?))
}

/// Object.assign (20.1.2.1)
fn assign(realm: &mut Realm, args: Args) -> Completion {
    let target = realm.to_object(args.get(realm, 0))?;
    for i in 1..args.len() {
        let source = args.get(realm, i);
        if source.is_nullish() {
            continue;
        }
        let from = realm.to_object(source)?;
        let keys = realm.own_keys(from)?;
        for i in 0..realm.cage.u32(keys, 4) {
            let key = realm.to_property_key(Value(realm.cage.get(keys, 8 + 8 * i)))?;
            if let Some(own) = realm.get_own_property(from, key)?
                && own.enumerable()
            {
                let value = realm.get(from, key)?;
                realm.set(target, key, value)?;
            }
        }
    }
    Ok(Value::object(target))
}

/// Object.create (20.1.2.2)
fn create(realm: &mut Realm, args: Args) -> Completion {
    let prototype = args.get(realm, 0);
    if !prototype.is_object() && !prototype.is_null() {
        let text = realm.describe(prototype);
        return Err(realm.throw_type(&format!("Object prototype may only be an Object or null: {text}")));
    }
    let object = realm.new_object_with_prototype(prototype.to_object_ref().unwrap_or_default())?;
    let properties = args.get(realm, 1);
    if !properties.is_undefined() {
        realm.object_define_properties(object, properties)?;
    }
    Ok(Value::object(object))
}

/// Object.defineProperties (20.1.2.3)
fn define_properties(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.get(realm, 0).to_object_ref() else {
        return Err(realm.throw_type("Object.defineProperties called on non-object"));
    };
    realm.object_define_properties(object, args.get(realm, 1))?;
    Ok(Value::object(object))
}

/// Object.defineProperty (20.1.2.4)
fn define_property(realm: &mut Realm, args: Args) -> Completion {
    let Some(object) = args.get(realm, 0).to_object_ref() else {
        return Err(realm.throw_type("Object.defineProperty called on non-object"));
    };
    let key = realm.to_property_key(args.get(realm, 1))?;
    let descriptor = realm.to_property_descriptor(args.get(realm, 2))?;
    realm.define_or_throw(object, key, &descriptor)?;
    Ok(Value::object(object))
}

/// What EnumerableOwnProperties collects.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Collect {
    Keys,
    Values,
    Entries,
}

/// EnumerableOwnProperties (7.3.23)
fn enumerable_own(realm: &mut Realm, args: Args, what: Collect) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    let keys = realm.own_keys(object)?;
    let result = realm.new_array()?;
    for i in 0..realm.cage.u32(keys, 4) {
        let key_value = Value(realm.cage.get(keys, 8 + 8 * i));
        if !key_value.is_string() {
            continue;
        }
        let key = realm.to_property_key(key_value)?;
        let Some(own) = realm.get_own_property(object, key)? else { continue };
        if !own.enumerable() {
            continue;
        }
        if what == Collect::Keys {
            realm.array_push(result, key_value)?;
            continue;
        }
        let value = realm.get(object, key)?;
        if what == Collect::Values {
            realm.array_push(result, value)?;
        } else {
            let pair = realm.new_array_from(&[key_value, value])?;
            realm.array_push(result, Value::object(pair))?;
        }
    }
    Ok(Value::object(result))
}

/// Object.entries (20.1.2.5)
fn entries(realm: &mut Realm, args: Args) -> Completion {
    enumerable_own(realm, args, Collect::Entries)
}

/// Object.keys (20.1.2.19)
fn keys(realm: &mut Realm, args: Args) -> Completion {
    enumerable_own(realm, args, Collect::Keys)
}

/// Object.values (20.1.2.24)
fn values(realm: &mut Realm, args: Args) -> Completion {
    enumerable_own(realm, args, Collect::Values)
}

fn integrity(realm: &mut Realm, args: Args, frozen: bool, name: &str) -> Completion {
    let value = args.get(realm, 0);
    let Some(object) = value.to_object_ref() else { return Ok(value) };
    if !realm.set_integrity_level(object, frozen)? {
        return Err(realm.throw_type(&format!("Object.{name} failed")));
    }
    Ok(value)
}

/// Object.freeze (20.1.2.6)
fn freeze(realm: &mut Realm, args: Args) -> Completion {
    integrity(realm, args, true, "freeze")
}

/// Object.seal (20.1.2.22)
fn seal(realm: &mut Realm, args: Args) -> Completion {
    integrity(realm, args, false, "seal")
}

/// Object.preventExtensions (20.1.2.20)
fn prevent_extensions(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    let Some(object) = value.to_object_ref() else { return Ok(value) };
    if !realm.prevent_extensions(object)? {
        return Err(realm.throw_type("Object.preventExtensions failed"));
    }
    Ok(value)
}

/// Object.fromEntries (20.1.2.7)
fn from_entries(realm: &mut Realm, args: Args) -> Completion {
    let iterable = args.get(realm, 0);
    realm.require_object_coercible(iterable, "Object.fromEntries")?;
    let object = realm.new_object()?;
    realm.for_each_value(iterable, |realm, item| {
        let Some(pair) = item.to_object_ref() else {
            let text = realm.describe(item);
            return Err(realm.throw_type(&format!("Iterator value {text} is not an entry object")));
        };
        let key = realm.get(pair, Key::Index(0))?;
        let value = realm.get(pair, Key::Index(1))?;
        let key = realm.to_property_key(key)?;
        realm.create_data_property_or_throw(object, key, value)
    })?;
    Ok(Value::object(object))
}

/// Object.getOwnPropertyDescriptor (20.1.2.8)
fn get_own_property_descriptor(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    let key = realm.to_property_key(args.get(realm, 1))?;
    match realm.get_own_property(object, key)? {
        Some(own) => realm.from_property_descriptor(own),
        None => Ok(Value::UNDEFINED),
    }
}

/// Object.getOwnPropertyDescriptors (20.1.2.9)
fn get_own_property_descriptors(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    let keys = realm.own_keys(object)?;
    let result = realm.new_object()?;
    for i in 0..realm.cage.u32(keys, 4) {
        let key = realm.to_property_key(Value(realm.cage.get(keys, 8 + 8 * i)))?;
        if let Some(own) = realm.get_own_property(object, key)? {
            let descriptor = realm.from_property_descriptor(own)?;
            realm.create_data_property_or_throw(result, key, descriptor)?;
        }
    }
    Ok(Value::object(result))
}

fn own_keys_of(realm: &mut Realm, args: Args, symbols: bool) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    let keys = realm.own_keys(object)?;
    let result = realm.new_array()?;
    for i in 0..realm.cage.u32(keys, 4) {
        let key = Value(realm.cage.get(keys, 8 + 8 * i));
        if key.is_symbol() == symbols {
            realm.array_push(result, key)?;
        }
    }
    Ok(Value::object(result))
}

/// Object.getOwnPropertyNames (20.1.2.10)
fn get_own_property_names(realm: &mut Realm, args: Args) -> Completion {
    own_keys_of(realm, args, false)
}

/// Object.getOwnPropertySymbols (20.1.2.11)
fn get_own_property_symbols(realm: &mut Realm, args: Args) -> Completion {
    own_keys_of(realm, args, true)
}

/// Object.getPrototypeOf (20.1.2.12)
fn get_prototype_of(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    Ok(Value::object_or_null(realm.get_prototype_of(object)?))
}

/// Object.groupBy (20.1.2.13)
fn group_by(realm: &mut Realm, args: Args) -> Completion {
    let callback = args.get(realm, 1);
    realm.require_object_coercible(args.get(realm, 0), "Object.groupBy")?;
    if !realm.is_callable(callback) {
        return Err(realm.throw_not_callable(callback));
    }
    let groups = realm.new_object_with_prototype(Ref::NULL)?;
    let mut index = 0.0;
    realm.for_each_value(args.get(realm, 0), |realm, item| {
        let key = realm.call(callback, Value::UNDEFINED, &[item, Value::number(index)])?;
        index += 1.0;
        let key = realm.to_property_key(key)?;
        let group = realm.get(groups, key)?;
        match group.to_object_ref() {
            Some(group) => realm.array_push(group, item),
            None => {
                let group = realm.new_array_from(&[item])?;
                realm.create_data_property_or_throw(groups, key, Value::object(group))
            }
        }
    })?;
    Ok(Value::object(groups))
}

/// Object.hasOwn (20.1.2.14)
fn has_own(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.get(realm, 0))?;
    let key = realm.to_property_key(args.get(realm, 1))?;
    Ok(Value::boolean(realm.has_own_property(object, key)?))
}

/// Object.is (20.1.2.15)
fn is(realm: &mut Realm, args: Args) -> Completion {
    let (a, b) = (args.get(realm, 0), args.get(realm, 1));
    Ok(Value::boolean(realm.same_value(a, b)?))
}

/// Object.isExtensible (20.1.2.16)
fn is_extensible(realm: &mut Realm, args: Args) -> Completion {
    match args.get(realm, 0).to_object_ref() {
        Some(object) => Ok(Value::boolean(realm.is_extensible(object)?)),
        None => Ok(Value::FALSE),
    }
}

/// TestIntegrityLevel (7.3.16)
fn test_integrity(realm: &mut Realm, args: Args, frozen: bool) -> Completion {
    let Some(object) = args.get(realm, 0).to_object_ref() else { return Ok(Value::TRUE) };
    if realm.is_extensible(object)? {
        return Ok(Value::FALSE);
    }
    let keys = realm.own_keys(object)?;
    for i in 0..realm.cage.u32(keys, 4) {
        let key = realm.to_property_key(Value(realm.cage.get(keys, 8 + 8 * i)))?;
        if let Some(own) = realm.get_own_property(object, key)?
            && (own.configurable() || frozen && !own.is_accessor() && own.writable())
        {
            return Ok(Value::FALSE);
        }
    }
    Ok(Value::TRUE)
}

/// Object.isFrozen (20.1.2.17)
fn is_frozen(realm: &mut Realm, args: Args) -> Completion {
    test_integrity(realm, args, true)
}

/// Object.isSealed (20.1.2.18)
fn is_sealed(realm: &mut Realm, args: Args) -> Completion {
    test_integrity(realm, args, false)
}

/// Object.setPrototypeOf (20.1.2.23)
fn set_prototype_of(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.require_object_coercible(value, "Object.setPrototypeOf")?;
    let prototype = args.get(realm, 1);
    if !prototype.is_object() && !prototype.is_null() {
        let text = realm.describe(prototype);
        return Err(realm.throw_type(&format!("Object prototype may only be an Object or null: {text}")));
    }
    if let Some(object) = value.to_object_ref() {
        set_prototype_or_throw(realm, object, prototype)?;
    }
    Ok(value)
}

fn set_prototype_or_throw(realm: &mut Realm, object: Ref, prototype: Value) -> Completion<()> {
    if realm.set_prototype_of(object, prototype.to_object_ref().unwrap_or_default())? {
        return Ok(());
    }
    if !realm.is_extensible(object)? {
        return Err(realm.throw_type("#<Object> is not extensible"));
    }
    Err(realm.throw_type("Immutable prototype object or cyclic __proto__ value"))
}

/// Object.prototype.hasOwnProperty (20.1.3.2)
fn has_own_property(realm: &mut Realm, args: Args) -> Completion {
    let key = realm.to_property_key(args.get(realm, 0))?;
    let object = realm.to_object(args.this)?;
    Ok(Value::boolean(realm.has_own_property(object, key)?))
}

/// Object.prototype.isPrototypeOf (20.1.3.3)
fn is_prototype_of(realm: &mut Realm, args: Args) -> Completion {
    let Some(mut object) = args.get(realm, 0).to_object_ref() else { return Ok(Value::FALSE) };
    let this = realm.to_object(args.this)?;
    loop {
        object = realm.get_prototype_of(object)?;
        if object.is_null() {
            return Ok(Value::FALSE);
        }
        if object == this {
            return Ok(Value::TRUE);
        }
    }
}

/// Object.prototype.propertyIsEnumerable (20.1.3.4)
fn property_is_enumerable(realm: &mut Realm, args: Args) -> Completion {
    let key = realm.to_property_key(args.get(realm, 0))?;
    let object = realm.to_object(args.this)?;
    Ok(Value::boolean(realm.get_own_property(object, key)?.is_some_and(OwnProperty::enumerable)))
}

/// Object.prototype.toLocaleString (20.1.3.5)
fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    let method = realm.get_value(args.this, realm.key_for(Name::to_string))?;
    realm.call(method, args.this, &[])
}

/// Object.prototype.toString (20.1.3.6)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let this = args.this;
    if this.is_undefined() {
        return realm.string_value("[object Undefined]");
    }
    if this.is_null() {
        return realm.string_value("[object Null]");
    }
    let object = realm.to_object(this)?;
    let builtin = if realm.is_array(Value::object(object))? {
        "Array"
    } else if realm.is_callable(Value::object(object)) {
        "Function"
    } else {
        match realm.cage.kind(object) {
            Kind::Error => "Error",
            Kind::Arguments => "Arguments",
            Kind::Date => "Date",
            Kind::RegExp => "RegExp",
            Kind::PrimitiveObject => {
                let value = Value(realm.cage.get(object, 16));
                match realm.type_of(value) {
                    Name::boolean => "Boolean",
                    Name::number => "Number",
                    Name::string => "String",
                    _ => "Object",
                }
            }
            _ => "Object",
        }
    };
    let key = Key::Name(realm.symbol(Sym::ToStringTag));
    let tag = realm.get(object, key)?;
    if tag.is_string() {
        let mut units: Vec<u16> = "[object ".encode_utf16().collect();
        units.extend(realm.view(tag.as_ref())?.units());
        units.push(u16::from(b']'));
        return Ok(Value::string(realm.new_utf16(&units)?));
    }
    realm.string_value(&format!("[object {builtin}]"))
}

/// Object.prototype.valueOf (20.1.3.7)
fn value_of(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::object(realm.to_object(args.this)?))
}

/// get Object.prototype.__proto__ (20.1.3.8.1)
fn proto_get(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    Ok(Value::object_or_null(realm.get_prototype_of(object)?))
}

/// set Object.prototype.__proto__ (20.1.3.8.2)
fn proto_set(realm: &mut Realm, args: Args) -> Completion {
    realm.require_object_coercible(args.this, "Object.prototype.__proto__")?;
    let prototype = args.get(realm, 0);
    if !prototype.is_object() && !prototype.is_null() {
        return Ok(Value::UNDEFINED);
    }
    if let Some(object) = args.this.to_object_ref() {
        set_prototype_or_throw(realm, object, prototype)?;
    }
    Ok(Value::UNDEFINED)
}

fn define_half(realm: &mut Realm, args: Args, getter: bool) -> Completion {
    let object = realm.to_object(args.this)?;
    let function = args.get(realm, 1);
    if !realm.is_callable(function) {
        return Err(realm.throw_type("Object.prototype.__defineGetter__: Expecting function"));
    }
    let mut d = Descriptor { enumerable: Some(true), configurable: Some(true), ..Default::default() };
    if getter {
        d.get = Some(function);
    } else {
        d.set = Some(function);
    }
    let key = realm.to_property_key(args.get(realm, 0))?;
    realm.define_or_throw(object, key, &d)?;
    Ok(Value::UNDEFINED)
}

/// Object.prototype.__defineGetter__ (20.1.3.9.1)
fn define_getter(realm: &mut Realm, args: Args) -> Completion {
    define_half(realm, args, true)
}

/// Object.prototype.__defineSetter__ (20.1.3.9.2)
fn define_setter(realm: &mut Realm, args: Args) -> Completion {
    define_half(realm, args, false)
}

fn lookup_half(realm: &mut Realm, args: Args, at: u32) -> Completion {
    let mut object = realm.to_object(args.this)?;
    let key = realm.to_property_key(args.get(realm, 0))?;
    loop {
        if let Some(own) = realm.get_own_property(object, key)? {
            if !own.is_accessor() {
                return Ok(Value::UNDEFINED);
            }
            let half = realm.cage.r(own.value.as_ref(), at);
            return Ok(if half.is_null() { Value::UNDEFINED } else { Value::object(half) });
        }
        object = realm.get_prototype_of(object)?;
        if object.is_null() {
            return Ok(Value::UNDEFINED);
        }
    }
}

/// Object.prototype.__lookupGetter__ (20.1.3.9.3)
fn lookup_getter(realm: &mut Realm, args: Args) -> Completion {
    lookup_half(realm, args, 4)
}

/// Object.prototype.__lookupSetter__ (20.1.3.9.4)
fn lookup_setter(realm: &mut Realm, args: Args) -> Completion {
    lookup_half(realm, args, 8)
}

impl Realm {
    /// ObjectDefineProperties (20.1.2.3.1)
    pub(crate) fn object_define_properties(&mut self, object: Ref, properties: Value) -> Completion<()> {
        let properties = self.to_object(properties)?;
        let keys = self.own_keys(properties)?;
        let count = self.cage.u32(keys, 4);
        // All descriptors are read before the first is applied; their objects wait in a list.
        let list = self.new_values(2 * count, Value::UNDEFINED)?;
        let mut used = 0;
        for i in 0..count {
            let key_value = Value(self.cage.get(keys, 8 + 8 * i));
            let key = self.to_property_key(key_value)?;
            if let Some(own) = self.get_own_property(properties, key)?
                && own.enumerable()
            {
                let value = self.get(properties, key)?;
                let descriptor = self.to_property_descriptor(value)?;
                let full = self.descriptor_object(&descriptor)?;
                self.cage.set(list, 8 + 16 * used, key_value.0);
                self.cage.set(list, 16 + 16 * used, full.0);
                used += 1;
            }
        }
        for i in 0..used {
            let key = self.to_property_key(Value(self.cage.get(list, 8 + 16 * i)))?;
            let descriptor = self.to_property_descriptor(Value(self.cage.get(list, 16 + 16 * i)))?;
            self.define_or_throw(object, key, &descriptor)?;
        }
        Ok(())
    }

    /// ToPropertyDescriptor (6.2.6.5)
    ///
    /// # Errors
    /// TypeError; whatever the fields' getters throw.
    pub fn to_property_descriptor(&mut self, value: Value) -> Completion<Descriptor> {
        let Some(object) = value.to_object_ref() else {
            let text = self.describe(value);
            return Err(self.throw_type(&format!("Property description must be an object: {text}")));
        };
        let mut d = Descriptor::default();
        for name in [Name::enumerable, Name::configurable, Name::value, Name::writable, Name::get, Name::set] {
            let key = self.key_for(name);
            if !self.has_property(object, key)? {
                continue;
            }
            let field = self.get(object, key)?;
            match name {
                Name::enumerable => d.enumerable = Some(self.to_boolean(field)),
                Name::configurable => d.configurable = Some(self.to_boolean(field)),
                Name::value => d.value = Some(field),
                Name::writable => d.writable = Some(self.to_boolean(field)),
                _ => {
                    if !field.is_undefined() && !self.is_callable(field) {
                        let what = if name == Name::get { "Getter" } else { "Setter" };
                        let text = self.describe(field);
                        return Err(self.throw_type(&format!("{what} must be a function: {text}")));
                    }
                    if name == Name::get {
                        d.get = Some(field);
                    } else {
                        d.set = Some(field);
                    }
                }
            }
        }
        if d.is_accessor() && d.is_data() {
            return Err(self.throw_type(
                "Invalid property descriptor. Cannot both specify accessors and a value or writable attribute",
            ));
        }
        Ok(d)
    }

    /// FromPropertyDescriptor (6.2.6.4) for any descriptor.
    ///
    /// # Errors
    /// Out of memory.
    pub fn descriptor_object(&mut self, d: &Descriptor) -> Completion {
        let object = self.new_object()?;
        let flag = |b: Option<bool>| b.map(Value::boolean);
        for (name, field) in [
            (Name::value, d.value),
            (Name::writable, flag(d.writable)),
            (Name::get, d.get),
            (Name::set, d.set),
            (Name::enumerable, flag(d.enumerable)),
            (Name::configurable, flag(d.configurable)),
        ] {
            if let Some(field) = field {
                let key = self.key_for(name);
                self.create_data_property_or_throw(object, key, field)?;
            }
        }
        Ok(Value::object(object))
    }

    /// FromPropertyDescriptor (6.2.6.4) of an own property.
    ///
    /// # Errors
    /// Out of memory.
    pub fn from_property_descriptor(&mut self, own: OwnProperty) -> Completion {
        let d = self.complete_descriptor(own);
        self.descriptor_object(&d)
    }

    /// The full descriptor of an own property.
    pub fn complete_descriptor(&self, own: OwnProperty) -> Descriptor {
        let mut d = Descriptor {
            enumerable: Some(own.enumerable()),
            configurable: Some(own.configurable()),
            ..Default::default()
        };
        if own.attributes & ACCESSOR != 0 {
            let half = |r: Ref| if r.is_null() { Value::UNDEFINED } else { Value::object(r) };
            d.get = Some(half(self.cage.r(own.value.as_ref(), 4)));
            d.set = Some(half(self.cage.r(own.value.as_ref(), 8)));
        } else {
            d.value = Some(own.value);
            d.writable = Some(own.attributes & WRITABLE != 0);
        }
        d
    }
}
