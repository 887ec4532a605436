//! Array (ECMA-262 23.1): constructor, iteration, searching. Mutating and copying methods: `array_edit`.

use super::*;
use crate::interp::iterate::sort;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;

#[path = "array_edit.rs"]
pub mod edit;

builtin_table! { 2;
    ARRAY("Array", 1, constructor) = array;
    FROM("from", 1) = from;
    IS_ARRAY("isArray", 1) = is_array;
    OF("of", 0) = of;
    AT("at", 1) = at;
    CONCAT("concat", 1) = edit::concat;
    COPY_WITHIN("copyWithin", 2) = edit::copy_within;
    ENTRIES("entries", 0) = entries;
    EVERY("every", 1) = every;
    FILL("fill", 1) = edit::fill;
    FILTER("filter", 1) = filter;
    FIND("find", 1) = find;
    FIND_INDEX("findIndex", 1) = find_index;
    FIND_LAST("findLast", 1) = find_last;
    FIND_LAST_INDEX("findLastIndex", 1) = find_last_index;
    FLAT("flat", 0) = edit::flat;
    FLAT_MAP("flatMap", 1) = edit::flat_map;
    FOR_EACH("forEach", 1) = for_each;
    INCLUDES("includes", 1) = includes;
    INDEX_OF("indexOf", 1) = index_of;
    JOIN("join", 1) = join;
    KEYS("keys", 0) = keys;
    LAST_INDEX_OF("lastIndexOf", 1) = last_index_of;
    MAP("map", 1) = map;
    POP("pop", 0) = edit::pop;
    PUSH("push", 1) = edit::push;
    REDUCE("reduce", 1) = reduce;
    REDUCE_RIGHT("reduceRight", 1) = reduce_right;
    REVERSE("reverse", 0) = edit::reverse;
    SHIFT("shift", 0) = edit::shift;
    SLICE("slice", 2) = edit::slice;
    SOME("some", 1) = some;
    SORT("sort", 1) = edit::sort;
    SPLICE("splice", 2) = edit::splice;
    TO_LOCALE_STRING("toLocaleString", 0) = to_locale_string;
    TO_REVERSED("toReversed", 0) = edit::to_reversed;
    TO_SORTED("toSorted", 1) = edit::to_sorted;
    TO_SPLICED("toSpliced", 2) = edit::to_spliced;
    TO_STRING("toString", 0) = to_string;
    UNSHIFT("unshift", 1) = edit::unshift;
    VALUES("values", 0) = values;
    WITH("with", 2) = edit::with;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.intrinsic(Intrinsic::ArrayPrototype);
    let constructor = realm.install_constructor(ARRAY, prototype, Intrinsic::Array, Intrinsic::ArrayPrototype)?;
    realm.install_methods(constructor, &[FROM, IS_ARRAY, OF])?;
    realm.install_species(constructor)?;
    realm.install_methods(
        prototype,
        &[
            AT,
            CONCAT,
            COPY_WITHIN,
            ENTRIES,
            EVERY,
            FILL,
            FILTER,
            FIND,
            FIND_INDEX,
            FIND_LAST,
            FIND_LAST_INDEX,
            FLAT,
            FLAT_MAP,
            FOR_EACH,
            INCLUDES,
            INDEX_OF,
            JOIN,
            KEYS,
            LAST_INDEX_OF,
            MAP,
            POP,
            PUSH,
            REDUCE,
            REDUCE_RIGHT,
            REVERSE,
            SHIFT,
            SLICE,
            SOME,
            SORT,
            SPLICE,
            TO_LOCALE_STRING,
            TO_REVERSED,
            TO_SORTED,
            TO_SPLICED,
            TO_STRING,
            UNSHIFT,
            VALUES,
            WITH,
        ],
    )?;
    let values = realm.get_name(prototype, Name::values)?;
    realm.set_intrinsic(Intrinsic::ArrayValues, values);
    let key = Key::Name(realm.symbol(Sym::Iterator));
    realm.define_data(prototype, key, values, crate::shapes::HIDDEN)?;
    // Array.prototype [ @@unscopables ] (23.1.3.41)
    let list = realm.new_object_with_prototype(Ref::NULL)?;
    for name in [
        "at",
        "copyWithin",
        "entries",
        "fill",
        "find",
        "findIndex",
        "findLast",
        "findLastIndex",
        "flat",
        "flatMap",
        "includes",
        "keys",
        "toReversed",
        "toSorted",
        "toSpliced",
        "values",
    ] {
        let key = realm.key(name)?;
        realm.create_data_property_or_throw(list, key, Value::TRUE)?;
    }
    let key = Key::Name(realm.symbol(Sym::Unscopables));
    realm.define_data(prototype, key, Value::object(list), crate::shapes::CONFIGURABLE)
}

/// Array ( ...values ) (23.1.1.1)
fn array(realm: &mut Realm, args: Args) -> Completion {
    let new_target = if args.is_construct() { args.new_target } else { Value::object(args.callee) };
    let prototype = realm.prototype_from_constructor(new_target, Intrinsic::ArrayPrototype)?;
    let array = realm.new_array_with_prototype(prototype)?;
    if args.len() == 1 {
        let length = args.get(realm, 0);
        if length.is_number() {
            let n = length.as_number();
            if n < 0.0 || n > f64::from(u32::MAX) || n.fract() != 0.0 {
                return Err(realm.throw_range("Invalid array length"));
            }
            realm.set_raw_array_length(array, n as u32);
            return Ok(Value::object(array));
        }
    }
    for i in 0..args.len() {
        let value = args.get(realm, i);
        realm.array_push(array, value)?;
    }
    Ok(Value::object(array))
}

/// Array.from (23.1.2.1)
fn from(realm: &mut Realm, args: Args) -> Completion {
    let (items, mapper, this_arg) = (args.get(realm, 0), args.get(realm, 1), args.get(realm, 2));
    let mapping = !mapper.is_undefined();
    if mapping && !realm.is_callable(mapper) {
        return Err(realm.throw_not_callable(mapper));
    }
    let key = Key::Name(realm.symbol(Sym::Iterator));
    let method = realm.get_method(items, key)?;
    let constructs = realm.is_constructor(args.this);
    if !method.is_undefined() {
        let target =
            if constructs { realm.construct(args.this, &[], args.this)?.as_ref() } else { realm.new_array()? };
        let mut index = 0u32;
        realm.for_each_value_with_method(items, method, |realm, value| {
            let value =
                if mapping { realm.call(mapper, this_arg, &[value, Value::number(f64::from(index))])? } else { value };
            realm.create_data_property_or_throw(target, Key::Index(index), value)?;
            index += 1;
            Ok(())
        })?;
        realm.set(target, realm.key_for(Name::length), Value::number(f64::from(index)))?;
        return Ok(Value::object(target));
    }
    let source = realm.to_object(items)?;
    let length = realm.length_of(source)?;
    let target = if constructs {
        realm.construct(args.this, &[Value::number(length)], args.this)?.as_ref()
    } else {
        realm.new_array_of_length(length)?
    };
    let mut k = 0.0;
    while k < length {
        realm.charge(1)?;
        let key = realm.index_key(k)?;
        let mut value = realm.get(source, key)?;
        if mapping {
            value = realm.call(mapper, this_arg, &[value, Value::number(k)])?;
        }
        realm.create_data_property_or_throw(target, key, value)?;
        k += 1.0;
    }
    realm.set(target, realm.key_for(Name::length), Value::number(length))?;
    Ok(Value::object(target))
}

/// Array.isArray (23.1.2.2)
fn is_array(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.is_array(value)?))
}

/// Array.of (23.1.2.3)
fn of(realm: &mut Realm, args: Args) -> Completion {
    let length = Value::int(args.len() as i32);
    let target = if realm.is_constructor(args.this) {
        realm.construct(args.this, &[length], args.this)?.as_ref()
    } else {
        realm.new_array()?
    };
    for i in 0..args.len() {
        let value = args.get(realm, i);
        realm.create_data_property_or_throw(target, Key::Index(i as u32), value)?;
    }
    realm.set(target, realm.key_for(Name::length), length)?;
    Ok(Value::object(target))
}

/// Array.prototype.at (23.1.3.1)
fn at(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let relative = realm.to_integer(args.get(realm, 0))?;
    let k = if relative >= 0.0 { relative } else { length + relative };
    if k < 0.0 || k >= length {
        return Ok(Value::UNDEFINED);
    }
    let key = realm.index_key(k)?;
    realm.get(object, key)
}

fn iterator(realm: &mut Realm, args: Args, kind: u32) -> Completion {
    let object = realm.to_object(args.this)?;
    Ok(Value::object(realm.new_iterator(Value::object(object), kind, Intrinsic::ArrayIteratorPrototype)?))
}

/// Array.prototype.entries (23.1.3.5)
fn entries(realm: &mut Realm, args: Args) -> Completion {
    iterator(realm, args, sort::ARRAY_ENTRIES)
}

/// Array.prototype.keys (23.1.3.19)
fn keys(realm: &mut Realm, args: Args) -> Completion {
    iterator(realm, args, sort::ARRAY_KEYS)
}

/// Array.prototype.values (23.1.3.38)
fn values(realm: &mut Realm, args: Args) -> Completion {
    iterator(realm, args, sort::ARRAY_VALUES)
}

/// The receiver, its length, the callback and its this: what the iterating methods start with.
struct Walk {
    object: Ref,
    length: f64,
    callback: Value,
    this_arg: Value,
}

fn walk(realm: &mut Realm, args: Args) -> Completion<Walk> {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let callback = args.get(realm, 0);
    if !realm.is_callable(callback) {
        let text = realm.describe(callback);
        return Err(realm.throw_type(&format!("{text} is not a function")));
    }
    Ok(Walk { object, length, callback, this_arg: args.get(realm, 1) })
}

impl Walk {
    /// Calls `each` for every index that is there, ascending, until it says stop.
    fn run(
        &self,
        realm: &mut Realm,
        mut each: impl FnMut(&mut Realm, f64, Value, Value) -> Completion<bool>,
    ) -> Completion<()> {
        let mut k = 0.0;
        while k < self.length {
            realm.charge(1)?;
            if let Some(value) = realm.get_if_present(self.object, k)? {
                let result =
                    realm.call(self.callback, self.this_arg, &[value, Value::number(k), Value::object(self.object)])?;
                if each(realm, k, value, result)? {
                    break;
                }
            }
            k += 1.0;
        }
        Ok(())
    }

    /// Like `run`, holes read as undefined; `backwards` from the end.
    fn search(&self, realm: &mut Realm, backwards: bool) -> Completion<Option<(f64, Value)>> {
        let mut n = 0.0;
        while n < self.length {
            realm.charge(1)?;
            let k = if backwards { self.length - 1.0 - n } else { n };
            let key = realm.index_key(k)?;
            let value = realm.get(self.object, key)?;
            let result =
                realm.call(self.callback, self.this_arg, &[value, Value::number(k), Value::object(self.object)])?;
            if realm.to_boolean(result) {
                return Ok(Some((k, value)));
            }
            n += 1.0;
        }
        Ok(None)
    }
}

/// Array.prototype.every (23.1.3.6)
fn every(realm: &mut Realm, args: Args) -> Completion {
    let mut all = true;
    walk(realm, args)?.run(realm, |realm, _, _, result| {
        all = realm.to_boolean(result);
        Ok(!all)
    })?;
    Ok(Value::boolean(all))
}

/// Array.prototype.some (23.1.3.29)
fn some(realm: &mut Realm, args: Args) -> Completion {
    let mut any = false;
    walk(realm, args)?.run(realm, |realm, _, _, result| {
        any = realm.to_boolean(result);
        Ok(any)
    })?;
    Ok(Value::boolean(any))
}

/// Array.prototype.filter (23.1.3.8)
fn filter(realm: &mut Realm, args: Args) -> Completion {
    let walk = walk(realm, args)?;
    let target = realm.array_species_create(walk.object, 0.0)?;
    let mut to = 0.0;
    walk.run(realm, |realm, _, value, result| {
        if realm.to_boolean(result) {
            let key = realm.index_key(to)?;
            realm.create_data_property_or_throw(target, key, value)?;
            to += 1.0;
        }
        Ok(false)
    })?;
    Ok(Value::object(target))
}

/// Array.prototype.forEach (23.1.3.15)
fn for_each(realm: &mut Realm, args: Args) -> Completion {
    walk(realm, args)?.run(realm, |_, _, _, _| Ok(false))?;
    Ok(Value::UNDEFINED)
}

/// Array.prototype.map (23.1.3.21)
fn map(realm: &mut Realm, args: Args) -> Completion {
    let walk = walk(realm, args)?;
    let target = realm.array_species_create(walk.object, walk.length)?;
    walk.run(realm, |realm, k, _, result| {
        let key = realm.index_key(k)?;
        realm.create_data_property_or_throw(target, key, result)?;
        Ok(false)
    })?;
    Ok(Value::object(target))
}

/// Array.prototype.find (23.1.3.9)
fn find(realm: &mut Realm, args: Args) -> Completion {
    Ok(walk(realm, args)?.search(realm, false)?.map_or(Value::UNDEFINED, |(_, value)| value))
}

/// Array.prototype.findIndex (23.1.3.10)
fn find_index(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(walk(realm, args)?.search(realm, false)?.map_or(-1.0, |(k, _)| k)))
}

/// Array.prototype.findLast (23.1.3.11)
fn find_last(realm: &mut Realm, args: Args) -> Completion {
    Ok(walk(realm, args)?.search(realm, true)?.map_or(Value::UNDEFINED, |(_, value)| value))
}

/// Array.prototype.findLastIndex (23.1.3.12)
fn find_last_index(realm: &mut Realm, args: Args) -> Completion {
    Ok(Value::number(walk(realm, args)?.search(realm, true)?.map_or(-1.0, |(k, _)| k)))
}

/// Where a search that starts at `from` begins (relative to the end if negative).
fn start_index(realm: &mut Realm, from: Value, length: f64) -> Completion<f64> {
    let n = realm.to_integer(from)?;
    Ok(if n >= 0.0 { n } else { (length + n).max(0.0) })
}

/// Array.prototype.includes (23.1.3.16)
fn includes(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    if length == 0.0 {
        return Ok(Value::FALSE);
    }
    let wanted = args.get(realm, 0);
    let mut k = start_index(realm, args.get(realm, 1), length)?;
    while k < length {
        realm.charge(1)?;
        let key = realm.index_key(k)?;
        let value = realm.get(object, key)?;
        if realm.same_value_zero(value, wanted)? {
            return Ok(Value::TRUE);
        }
        k += 1.0;
    }
    Ok(Value::FALSE)
}

/// Array.prototype.indexOf (23.1.3.17)
fn index_of(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    if length == 0.0 {
        return Ok(Value::int(-1));
    }
    let wanted = args.get(realm, 0);
    let mut k = start_index(realm, args.get(realm, 1), length)?;
    while k < length {
        realm.charge(1)?;
        if let Some(value) = realm.get_if_present(object, k)?
            && realm.is_strictly_equal(value, wanted)?
        {
            return Ok(Value::number(k));
        }
        k += 1.0;
    }
    Ok(Value::int(-1))
}

/// Array.prototype.lastIndexOf (23.1.3.20)
fn last_index_of(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    if length == 0.0 {
        return Ok(Value::int(-1));
    }
    let wanted = args.get(realm, 0);
    let n = if args.len() > 1 { realm.to_integer(args.get(realm, 1))? } else { length - 1.0 };
    let mut k = if n >= 0.0 { n.min(length - 1.0) } else { length + n };
    while k >= 0.0 {
        realm.charge(1)?;
        if let Some(value) = realm.get_if_present(object, k)?
            && realm.is_strictly_equal(value, wanted)?
        {
            return Ok(Value::number(k));
        }
        k -= 1.0;
    }
    Ok(Value::int(-1))
}

/// Array.prototype.join (23.1.3.18)
fn join(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let separator = args.get(realm, 0);
    let separator = if separator.is_undefined() { realm.single_unit(b',') } else { realm.to_string(separator)? };
    realm.join_elements(object, length, separator, false)
}

/// Array.prototype.toLocaleString (23.1.3.32)
fn to_locale_string(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let length = realm.length_of(object)?;
    let separator = realm.single_unit(b',');
    realm.join_elements(object, length, separator, true)
}

/// Array.prototype.toString (23.1.3.36)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    let object = realm.to_object(args.this)?;
    let join = realm.get_name(object, Name::join)?;
    if realm.is_callable(join) {
        return realm.call(join, Value::object(object), &[]);
    }
    let to_string = realm.get_name(realm.intrinsic(Intrinsic::ObjectPrototype), Name::to_string)?;
    realm.call(to_string, Value::object(object), &[])
}

fn fold(realm: &mut Realm, args: Args, backwards: bool) -> Completion {
    let walk = walk(realm, args)?;
    let mut accumulator = if args.len() > 1 { Some(args.get(realm, 1)) } else { None };
    let mut n = 0.0;
    while n < walk.length {
        realm.charge(1)?;
        let k = if backwards { walk.length - 1.0 - n } else { n };
        n += 1.0;
        let Some(value) = realm.get_if_present(walk.object, k)? else { continue };
        accumulator = Some(match accumulator {
            None => value,
            Some(sofar) => realm.call(
                walk.callback,
                Value::UNDEFINED,
                &[sofar, value, Value::number(k), Value::object(walk.object)],
            )?,
        });
    }
    match accumulator {
        Some(value) => Ok(value),
        None => Err(realm.throw_type("Reduce of empty array with no initial value")),
    }
}

/// Array.prototype.reduce (23.1.3.24)
fn reduce(realm: &mut Realm, args: Args) -> Completion {
    fold(realm, args, false)
}

/// Array.prototype.reduceRight (23.1.3.25)
fn reduce_right(realm: &mut Realm, args: Args) -> Completion {
    fold(realm, args, true)
}

impl Realm {
    /// The key of an integer that may exceed array indices.
    ///
    /// # Errors
    /// Out of memory.
    #[inline]
    pub fn index_key(&mut self, k: f64) -> Completion<Key> {
        if k < f64::from(u32::MAX) {
            return Ok(Key::Index(k as u32));
        }
        let string = self.to_string(Value::number(k))?;
        self.key_of_string(string)
    }

    /// HasProperty and Get in one: `None` where the index is missing.
    ///
    /// # Errors
    /// Whatever a getter or proxy trap throws.
    #[inline]
    pub fn get_if_present(&mut self, object: Ref, k: f64) -> Completion<Option<Value>> {
        if let Some((elements, used)) = self.dense_array(object)
            && k < f64::from(used)
        {
            let value = self.dense_get(elements, k as u32);
            if !value.is_hole() {
                return Ok(Some(value));
            }
        }
        let key = self.index_key(k)?;
        if self.has_property(object, key)? { Ok(Some(self.get(object, key)?)) } else { Ok(None) }
    }

    /// ArrayCreate (10.4.2.2) with a prototype.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_array_with_prototype(&mut self, prototype: Ref) -> Completion<Ref> {
        self.new_object_of(Kind::Array, prototype)
    }

    /// ArrayCreate (10.4.2.2) with a length.
    ///
    /// # Errors
    /// RangeError above 2^32 - 1.
    pub fn new_array_of_length(&mut self, length: f64) -> Completion<Ref> {
        if length > f64::from(u32::MAX) {
            return Err(self.throw_range("Invalid array length"));
        }
        let array = self.new_array()?;
        self.set_raw_array_length(array, length as u32);
        Ok(array)
    }

    /// ArraySpeciesCreate (23.1.3.2.1).
    ///
    /// # Errors
    /// TypeError where the species is no constructor.
    pub fn array_species_create(&mut self, original: Ref, length: f64) -> Completion<Ref> {
        if !self.is_array(Value::object(original))? {
            return self.new_array_of_length(length);
        }
        let mut constructor = self.get_name(original, Name::constructor)?;
        if constructor == self.intrinsic_value(Intrinsic::Array) && self.species_is_intact() {
            return self.new_array_of_length(length);
        }
        if let Some(object) = constructor.to_object_ref() {
            let key = Key::Name(self.symbol(Sym::Species));
            constructor = self.get(object, key)?;
            if constructor.is_null() {
                constructor = Value::UNDEFINED;
            }
        }
        if constructor.is_undefined() {
            return self.new_array_of_length(length);
        }
        if !self.is_constructor(constructor) {
            return Err(self.throw_type("object.constructor[Symbol.species] is not a constructor"));
        }
        let made = self.construct(constructor, &[Value::number(length)], constructor)?;
        Ok(made.as_ref())
    }

    /// Whether Array[Symbol.species] is the original getter.
    fn species_is_intact(&mut self) -> bool {
        let key = Key::Name(self.symbol(Sym::Species));
        let array = self.intrinsic(Intrinsic::Array);
        match self.get_own_quiet(array, key) {
            Some(own) if own.is_accessor() => {
                let getter = self.cage.r(own.value.as_ref(), 4);
                !getter.is_null()
                    && self.cage.is(getter, Kind::NativeFunction)
                    && self.cage.u32(getter, crate::objects::function::BUILTIN) == function::SPECIES
            }
            _ => false,
        }
    }

    /// The string of `length` elements joined by `separator`; cycles give empty strings, as in every engine.
    pub(crate) fn join_elements(&mut self, object: Ref, length: f64, separator: Ref, locale: bool) -> Completion {
        self.check_native_stack()?;
        if self.joining.contains(&object.0) {
            return Ok(self.name_value(Name::empty));
        }
        self.joining.push(object.0);
        let result = self.join_inner(object, length, separator, locale);
        self.joining.pop();
        result
    }

    fn join_inner(&mut self, object: Ref, length: f64, separator: Ref, locale: bool) -> Completion {
        let separator_units = self.view(separator)?.to_units();
        let mut out = crate::strings::builder::StringBuilder::new();
        let mut k = 0.0;
        while k < length {
            self.charge(1)?;
            if k > 0.0 {
                out.push_units(&separator_units);
            }
            let key = self.index_key(k)?;
            let value = self.get(object, key)?;
            if !value.is_nullish() {
                let string = if locale {
                    let key = self.key("toLocaleString")?;
                    let method = self.get_value(value, key)?;
                    let text = self.call(method, value, &[])?;
                    self.to_string(text)?
                } else {
                    self.to_string(value)?
                };
                let view = self.view(string)?;
                out.push_view(view);
            }
            out.check(self)?;
            k += 1.0;
        }
        Ok(Value::string(out.finish(self)?))
    }
}
