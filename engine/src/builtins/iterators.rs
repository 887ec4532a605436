//! Iterators of the engine and generator objects (ECMA-262 27.1, 23.1.5, 27.5).

use super::*;
use crate::interp::generator::ResumeMode;
use crate::interp::iterate::sort;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Sym};
use crate::objects::Key;

builtin_table! { 5;
    RETURN_THIS("[Symbol.iterator]", 0) = return_this;
    RETURN_THIS_ASYNC("[Symbol.asyncIterator]", 0) = return_this;
    ARRAY_NEXT("next", 0) = array_next;
    MAP_NEXT("next", 0) = map_next;
    SET_NEXT("next", 0) = set_next;
    STRING_NEXT("next", 0) = string_next;
    GENERATOR_NEXT("next", 1) = generator_next;
    GENERATOR_RETURN("return", 1) = generator_return;
    GENERATOR_THROW("throw", 1) = generator_throw;
}

/// The `next` function that belongs to a sort of engine iterator; u32::MAX where none is.
pub(crate) fn next_builtin(kind: u32) -> u32 {
    match kind {
        sort::ARRAY_VALUES..=sort::ARRAY_ENTRIES => ARRAY_NEXT,
        sort::MAP_KEYS..=sort::MAP_ENTRIES => MAP_NEXT,
        sort::SET_VALUES | sort::SET_ENTRIES => SET_NEXT,
        sort::STRING => STRING_NEXT,
        _ => u32::MAX,
    }
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let iterator = realm.new_plain_prototype()?;
    realm.set_intrinsic(Intrinsic::IteratorPrototype, Value::object(iterator));
    realm.install_symbol_method(iterator, Sym::Iterator, RETURN_THIS)?;
    let asynchronous = realm.new_plain_prototype()?;
    realm.set_intrinsic(Intrinsic::AsyncIteratorPrototype, Value::object(asynchronous));
    realm.install_symbol_method(asynchronous, Sym::AsyncIterator, RETURN_THIS_ASYNC)?;
    for (slot, next, tag) in [
        (Intrinsic::ArrayIteratorPrototype, ARRAY_NEXT, "Array Iterator"),
        (Intrinsic::MapIteratorPrototype, MAP_NEXT, "Map Iterator"),
        (Intrinsic::SetIteratorPrototype, SET_NEXT, "Set Iterator"),
        (Intrinsic::StringIteratorPrototype, STRING_NEXT, "String Iterator"),
    ] {
        let prototype = realm.new_object_with_prototype(iterator)?;
        realm.install_method(prototype, next)?;
        realm.install_tag(prototype, tag)?;
        realm.set_intrinsic(slot, Value::object(prototype));
    }
    let array_iterator = realm.intrinsic(Intrinsic::ArrayIteratorPrototype);
    let next = realm.get_name(array_iterator, crate::names::Name::next)?;
    realm.set_intrinsic(Intrinsic::ArrayIteratorNext, next);
    // Generator objects: %GeneratorFunction.prototype.prototype%
    let generator = realm.new_object_with_prototype(iterator)?;
    realm.install_methods(generator, &[GENERATOR_NEXT, GENERATOR_RETURN, GENERATOR_THROW])?;
    realm.install_tag(generator, "Generator")?;
    realm.set_intrinsic(Intrinsic::GeneratorPrototype, Value::object(generator));
    let functions = realm.intrinsic(Intrinsic::GeneratorFunctionPrototype);
    let configurable = crate::shapes::CONFIGURABLE;
    let key = realm.key_for(crate::names::Name::prototype);
    realm.define_data(functions, key, Value::object(generator), configurable)?;
    let key = realm.key_for(crate::names::Name::constructor);
    realm.define_data(generator, key, Value::object(functions), configurable)
}

fn return_this(_: &mut Realm, args: Args) -> Completion {
    Ok(args.this)
}

impl Realm {
    /// One step of an engine iterator: the next value, or `None` at the end (and ever after).
    ///
    /// # Errors
    /// Whatever reading the iterated object throws.
    pub(crate) fn engine_iterator_step(&mut self, cell: Ref) -> Completion<Option<Value>> {
        let cage = self.cage;
        let what = Value(cage.get(cell, 16));
        let kind = cage.u32(cell, 36);
        if what.is_undefined() {
            return Ok(None);
        }
        let index = cage.u32(cell, 32);
        match kind {
            sort::ARRAY_VALUES..=sort::ARRAY_ENTRIES => {
                let object = what.as_ref();
                let length = if cage.is(object, Kind::TypedArray) {
                    match self.typed_array_length(object) {
                        Some(length) => f64::from(length),
                        None => {
                            return Err(self
                                .throw_type("Cannot perform %ArrayIteratorPrototype%.next on a detached ArrayBuffer"));
                        }
                    }
                } else {
                    self.length_of(object)?
                };
                if f64::from(index) >= length {
                    cage.set(cell, 16, Value::UNDEFINED.0);
                    return Ok(None);
                }
                cage.set(cell, 32, index + 1);
                let number = Value::number(f64::from(index));
                if kind == sort::ARRAY_KEYS {
                    return Ok(Some(number));
                }
                let value = self.get(object, Key::Index(index))?;
                if kind == sort::ARRAY_VALUES {
                    return Ok(Some(value));
                }
                Ok(Some(Value::object(self.new_array_from(&[number, value])?)))
            }
            sort::MAP_KEYS..=sort::SET_ENTRIES => {
                // `what` is the table the iterator stands in.
                let Some((table, entry)) = self.map_next(what.as_ref(), index) else {
                    cage.set(cell, 16, Value::UNDEFINED.0);
                    return Ok(None);
                };
                cage.set(cell, 16, Value::cell(table).0);
                cage.set(cell, 32, entry + 1);
                let (key, value) = (self.map_key(table, entry), self.map_value(table, entry));
                Ok(Some(match kind {
                    sort::MAP_KEYS | sort::SET_VALUES => key,
                    sort::MAP_VALUES => value,
                    sort::SET_ENTRIES => Value::object(self.new_array_from(&[key, key])?),
                    _ => Value::object(self.new_array_from(&[key, value])?),
                }))
            }
            sort::STRING => {
                let string = what.as_ref();
                let length = self.string_len(string);
                if index >= length {
                    cage.set(cell, 16, Value::UNDEFINED.0);
                    return Ok(None);
                }
                let view = self.view(string)?;
                let first = view.at(index as usize);
                let mut end = index + 1;
                if (0xD800..0xDC00).contains(&first)
                    && end < length
                    && (0xDC00..0xE000).contains(&view.at(end as usize))
                {
                    end += 1;
                }
                cage.set(cell, 32, end);
                Ok(Some(Value::string(self.substring(string, index, end)?)))
            }
            _ => Ok(None),
        }
    }
}

fn next_of(realm: &mut Realm, args: Args, own: u32, name: &str) -> Completion {
    let cell = match args.this.to_object_ref() {
        Some(cell) if realm.cage.is(cell, Kind::Iterator) && next_builtin(realm.cage.u32(cell, 36)) == own => cell,
        _ => {
            let text = realm.describe(args.this);
            return Err(realm.throw_type(&format!("{name}.prototype.next called on incompatible receiver {text}")));
        }
    };
    match realm.engine_iterator_step(cell)? {
        Some(value) => realm.new_iterator_result(value, false),
        None => realm.new_iterator_result(Value::UNDEFINED, true),
    }
}

/// %ArrayIteratorPrototype%.next (23.1.5.2.1)
fn array_next(realm: &mut Realm, args: Args) -> Completion {
    next_of(realm, args, ARRAY_NEXT, "Array Iterator")
}

/// %MapIteratorPrototype%.next (24.1.5.2.1)
fn map_next(realm: &mut Realm, args: Args) -> Completion {
    next_of(realm, args, MAP_NEXT, "Map Iterator")
}

/// %SetIteratorPrototype%.next (24.2.6.2.1)
fn set_next(realm: &mut Realm, args: Args) -> Completion {
    next_of(realm, args, SET_NEXT, "Set Iterator")
}

/// %StringIteratorPrototype%.next (22.1.5.1.1)
fn string_next(realm: &mut Realm, args: Args) -> Completion {
    next_of(realm, args, STRING_NEXT, "String Iterator")
}

/// Generator.prototype.next (27.5.1.2)
fn generator_next(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.generator_resume(args.this, ResumeMode::Next, value, "next")
}

/// Generator.prototype.return (27.5.1.3)
fn generator_return(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.generator_resume(args.this, ResumeMode::Return, value, "return")
}

/// Generator.prototype.throw (27.5.1.4)
fn generator_throw(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    realm.generator_resume(args.this, ResumeMode::Throw, value, "throw")
}
