//! Iteration: for-in enumeration, iterator blocks, spreading (ECMA-262 7.4, 14.7.5).

use crate::cage::Ref;
use crate::kinds::{ELEMENTS, Kind, SHAPE};
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::Key;
use crate::realm::{Completion, Realm, Throw};
use crate::value::Value;

/// What an `Iterator` cell of the engine iterates (u32 at 36).
pub mod sort {
    /// Array iterators by what they give; the iterated object is at 16, the next index at 32.
    pub const ARRAY_VALUES: u32 = 0;
    pub const ARRAY_KEYS: u32 = 1;
    pub const ARRAY_ENTRIES: u32 = 2;
    pub const MAP_KEYS: u32 = 3;
    pub const MAP_VALUES: u32 = 4;
    pub const MAP_ENTRIES: u32 = 5;
    pub const SET_VALUES: u32 = 6;
    pub const SET_ENTRIES: u32 = 7;
    pub const STRING: u32 = 8;
    pub const REGEXP_STRING: u32 = 9;
    /// Async-from-sync wrapper: sync iterator at 16, its next method at 24.
    pub const ASYNC_FROM_SYNC: u32 = 10;
    /// Iterator helpers and wrappers: see `builtins::iterator`.
    pub const HELPER_FIRST: u32 = 16;
}

impl Realm {
    // --- for-in (14.7.5.9): the enumerator is a `Values` cell: object, position, then the names

    pub(crate) fn for_in_start(&mut self, value: Value) -> Completion {
        if value.is_nullish() {
            return Ok(Value::cell(self.new_values(2, Value::ZERO)?));
        }
        let object = self.to_object(value)?;
        // Names seen so far live in an ordered table, so that shadowed ones come once.
        let holder = self.new_object_of(Kind::Set, Ref::NULL)?;
        let seen = self.new_map_table(8)?;
        self.cage.set(holder, 16, seen.0);
        let mut names = self.new_array()?;
        let mut at = object;
        let mut single = true;
        while !at.is_null() {
            let keys = self.own_keys(at)?;
            let count = self.cage.u32(keys, 4);
            if at != object && count > 0 {
                single = false;
            }
            let parent = self.get_prototype_of(at)?;
            let simple = single && parent_chain_is_plain(self, parent);
            for i in 0..count {
                let key = Value(self.cage.get(keys, 8 + 8 * i));
                if !key.is_string() {
                    continue;
                }
                if simple {
                    let found = self.property_key_of(key)?;
                    if let Some(own) = self.get_own_property(at, found)?
                        && own.enumerable()
                    {
                        self.array_push(names, key)?;
                    }
                    continue;
                }
                names = self.for_in_collect(holder, names, at, key)?;
            }
            if simple {
                break;
            }
            at = parent;
        }
        let count = self.array_length(names);
        let list = self.new_values(2 + count, Value::UNDEFINED)?;
        self.cage.set(list, 8, Value::object(object).0);
        self.cage.set(list, 16, Value::ZERO.0);
        for i in 0..count {
            let value = self.stored_element(names, i).map_or(Value::UNDEFINED, |p| p.value);
            self.cage.set(list, 24 + 8 * i, value.0);
        }
        Ok(Value::cell(list))
    }

    fn property_key_of(&mut self, key: Value) -> Completion<Key> {
        if key.is_string() { self.key_of_string(key.as_ref()) } else { Ok(Key::Name(key.as_ref())) }
    }

    fn for_in_collect(&mut self, holder: Ref, names: Ref, at: Ref, key: Value) -> Completion<Ref> {
        let table = self.cage.r(holder, 16);
        if self.map_find(table, key)?.is_some() {
            return Ok(names);
        }
        let found = self.property_key_of(key)?;
        if let Some(own) = self.get_own_property(at, found)? {
            self.map_set(holder, key, Value::TRUE)?;
            if own.enumerable() {
                self.array_push(names, key)?;
            }
        }
        Ok(names)
    }

    pub(crate) fn for_in_next(&mut self, list: Ref) -> Completion<Option<Value>> {
        let Some(count) = self.cage.u32(list, 4).checked_sub(2) else { return Err(self.throw_damaged_code()) };
        let object = Value(self.cage.get(list, 8));
        loop {
            let position = Value(self.cage.get(list, 16)).as_int() as u32;
            if position >= count {
                return Ok(None);
            }
            self.cage.set(list, 16, Value::int(position as i32 + 1).0);
            let name = Value(self.cage.get(list, 24 + 8 * position));
            if !object.is_object() || !name.is_string() {
                return Err(self.throw_damaged_code());
            }
            // A name that was deleted meanwhile is skipped; a proxy is not asked again.
            if self.cage.is(object.as_ref(), Kind::Proxy) {
                return Ok(Some(name));
            }
            let key = self.property_key_of(name)?;
            if self.has_property(object.as_ref(), key)? {
                return Ok(Some(name));
            }
        }
    }

    // --- iterator blocks: iterator, next method, done flag

    /// Whether iterating `value` with the protocol would do just what walking its elements does.
    pub(crate) fn array_iteration_is_plain(&mut self, value: Value) -> bool {
        let Some(array) = value.to_object_ref() else { return false };
        if !self.cage.is(array, Kind::Array) {
            return false;
        }
        // The array itself has no Symbol.iterator, its prototype has the original one, and the iterator
        // prototype's next is the original.
        let prototype = self.intrinsic(Intrinsic::ArrayPrototype);
        if self.ordinary_prototype(array) != prototype {
            return false;
        }
        let iterator_key = self.symbol(Sym::Iterator);
        let shape = self.cage.r(array, SHAPE);
        let own = if shape == self.intrinsic(Intrinsic::ArrayShape) {
            Ok(None)
        } else {
            self.shape_lookup(shape, iterator_key)
        };
        matches!(own, Ok(None)) && self.array_iterator_is_intact()
    }

    /// Whether Array.prototype[Symbol.iterator] and %ArrayIteratorPrototype%.next are the originals.
    pub(crate) fn array_iterator_is_intact(&mut self) -> bool {
        let prototype = self.intrinsic(Intrinsic::ArrayPrototype);
        let iterator_key = self.symbol(Sym::Iterator);
        let values = self.intrinsic_value(Intrinsic::ArrayValues);
        let next_key = self.name(Name::next);
        let iterator_prototype = self.intrinsic(Intrinsic::ArrayIteratorPrototype);
        let next = self.intrinsic_value(Intrinsic::ArrayIteratorNext);
        self.data_slot_is(prototype, iterator_key, values) && self.data_slot_is(iterator_prototype, next_key, next)
    }

    pub(crate) fn data_slot_is(&mut self, object: Ref, key: Ref, expected: Value) -> bool {
        let shape = self.cage.r(object, SHAPE);
        if let Some(code) = self.megamorphic.find(shape, key) {
            return self.read_code(object, code) == expected;
        }
        match self.shape_lookup(shape, key) {
            Ok(Some(slot)) if slot.attributes & crate::shapes::ACCESSOR == 0 => {
                let code = self.slot_code(shape, slot.number);
                self.megamorphic.insert(shape, key, code);
                self.read_code(object, code) == expected
            }
            _ => false,
        }
    }

    pub(crate) fn get_iterator_block(&mut self, block: u32, iterable: Value) -> Completion<()> {
        self.cage.init(block + 16, Value::FALSE.0);
        if self.array_iteration_is_plain(iterable) {
            let iterator = self.new_iterator(iterable, sort::ARRAY_VALUES, Intrinsic::ArrayIteratorPrototype)?;
            self.cage.init(block, Value::object(iterator).0);
            self.cage.init(block + 8, self.intrinsic_value(Intrinsic::ArrayIteratorNext).0);
            return Ok(());
        }
        let (iterator, next) = self.get_iterator(iterable)?;
        self.cage.init(block, iterator.0);
        self.cage.init(block + 8, next.0);
        Ok(())
    }

    /// A new iterator cell of the engine.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_iterator(&mut self, what: Value, sort: u32, prototype: Intrinsic) -> Completion<Ref> {
        let prototype = self.intrinsic(prototype);
        let cell = self.new_object_of(Kind::Iterator, prototype)?;
        self.cage.init(cell.0 + 16, what.0);
        self.cage.init(cell.0 + 24, Value::UNDEFINED.0);
        self.cage.init(cell.0 + 32, 0u32);
        self.cage.init(cell.0 + 36, sort);
        Ok(cell)
    }

    /// GetIterator(value, sync) (7.4.3): (iterator, next method).
    ///
    /// # Errors
    /// TypeError where the value is not iterable.
    pub fn get_iterator(&mut self, iterable: Value) -> Completion<(Value, Value)> {
        let key = Key::Name(self.symbol(Sym::Iterator));
        let method = if iterable.is_nullish() { Value::UNDEFINED } else { self.get_value(iterable, key)? };
        if !self.is_callable(method) {
            let text = if iterable.is_object() { "object".into() } else { self.describe(iterable) };
            return Err(self.throw_type(&format!("{text} is not iterable")));
        }
        self.get_iterator_from_method(iterable, method)
    }

    /// GetIteratorFromMethod (7.4.2).
    ///
    /// # Errors
    /// TypeError where the result is no object.
    pub fn get_iterator_from_method(&mut self, iterable: Value, method: Value) -> Completion<(Value, Value)> {
        let iterator = self.call(method, iterable, &[])?;
        let Some(object) = iterator.to_object_ref() else {
            return Err(self.throw_type("Result of the Symbol.iterator method is not an object"));
        };
        let next = self.get_name(object, Name::next)?;
        Ok((iterator, next))
    }

    /// GetIterator(value, async).
    pub(crate) fn get_async_iterator_block(&mut self, block: u32, iterable: Value) -> Completion<()> {
        self.cage.init(block + 16, Value::FALSE.0);
        let key = Key::Name(self.symbol(Sym::AsyncIterator));
        let method = self.get_method(iterable, key)?;
        let (iterator, next) = if method.is_undefined() {
            let (sync_iterator, sync_next) = self.get_iterator(iterable)?;
            let wrapper =
                self.new_iterator(sync_iterator, sort::ASYNC_FROM_SYNC, Intrinsic::AsyncFromSyncIteratorPrototype)?;
            self.cage.set(wrapper, 24, sync_next.0);
            let next = self.get_name(wrapper, Name::next)?;
            (Value::object(wrapper), next)
        } else {
            self.get_iterator_from_method(iterable, method)?
        };
        self.cage.init(block, iterator.0);
        self.cage.init(block + 8, next.0);
        Ok(())
    }

    /// IteratorStepValue on a block: the next value, or `None` when done.
    #[inline]
    pub(crate) fn iterator_next_block(&mut self, block: u32) -> Completion<Option<Value>> {
        let cage = self.cage;
        if Value(cage.read(block + 16)).is_true() {
            return Ok(None);
        }
        let iterator = Value(cage.read(block));
        let next = Value(cage.read(block + 8));
        if next == self.intrinsic_value(Intrinsic::ArrayIteratorNext)
            && let Some(cell) = iterator.to_object_ref()
            && cage.is(cell, Kind::Iterator)
            && cage.u32(cell, 36) == sort::ARRAY_VALUES
        {
            let array = Value(cage.get(cell, 16));
            if let Some(object) = array.to_object_ref()
                && cage.is(object, Kind::Array)
            {
                let index = cage.u32(cell, 32);
                let elements = cage.r(object, ELEMENTS);
                if index < cage.u32(object, 16)
                    && !elements.is_null()
                    && index < cage.u32(elements, 8)
                    && !cage.is(elements, Kind::ElementsSparse)
                {
                    let value = self.dense_get(elements, index);
                    if !value.is_hole() {
                        cage.set(cell, 32, index + 1);
                        return Ok(Some(value));
                    }
                }
            }
        }
        self.iterator_next_general(block, iterator, next)
    }

    #[inline(never)]
    fn iterator_next_general(&mut self, block: u32, iterator: Value, next: Value) -> Completion<Option<Value>> {
        self.cage.init(block + 16, Value::TRUE.0);
        if let Some(cell) = iterator.to_object_ref()
            && self.cage.is(cell, Kind::Iterator)
            && self.is_original_next(cell, next)
        {
            // An iterator of the engine with its original next: no result object is needed.
            let step = self.engine_iterator_step(cell)?;
            if step.is_some() {
                self.cage.init(block + 16, Value::FALSE.0);
            }
            return Ok(step);
        }
        let result = self.call(next, iterator, &[])?;
        if !result.is_object() {
            let text = self.describe(result);
            return Err(self.throw_type(&format!("Iterator result {text} is not an object")));
        }
        let (value, done) = self.unpack_iterator_result_lazily(result)?;
        if done {
            return Ok(None);
        }
        let value = match value {
            Some(value) => value,
            None => self.get_name(result.as_ref(), Name::value)?,
        };
        self.cage.init(block + 16, Value::FALSE.0);
        Ok(Some(value))
    }

    /// IteratorStepValue (7.4.10) on (iterator, next): the next value, or `None` when done.
    ///
    /// # Errors
    /// Whatever `next` or the result's getters throw.
    pub(crate) fn iterator_step_value(&mut self, iterator: Value, next: Value) -> Completion<Option<Value>> {
        if let Some(cell) = iterator.to_object_ref()
            && self.cage.is(cell, Kind::Iterator)
            && self.is_original_next(cell, next)
        {
            return self.engine_iterator_step(cell);
        }
        let result = self.iterator_step(iterator, next)?;
        let Some((result, value)) = result else { return Ok(None) };
        match value {
            Some(value) => Ok(Some(value)),
            None => self.get_name(result, Name::value).map(Some),
        }
    }

    /// IteratorStep (7.4.9): the result object (and its value where reading that is not observable), or `None`
    /// when done.
    pub(crate) fn iterator_step(&mut self, iterator: Value, next: Value) -> Completion<Option<(Ref, Option<Value>)>> {
        let result = self.call(next, iterator, &[])?;
        if !result.is_object() {
            let text = self.describe(result);
            return Err(self.throw_type(&format!("Iterator result {text} is not an object")));
        }
        let (value, done) = self.unpack_iterator_result_lazily(result)?;
        Ok(if done { None } else { Some((result.as_ref(), value)) })
    }

    fn unpack_iterator_result_lazily(&mut self, result: Value) -> Completion<(Option<Value>, bool)> {
        let object = result.as_ref();
        let shape = self.intrinsic(Intrinsic::IteratorResultShape);
        if self.cage.r(object, SHAPE) == shape {
            let done = self.read_slot(object, shape, 1);
            return Ok((Some(self.read_slot(object, shape, 0)), self.to_boolean(done)));
        }
        let done = self.get_name(object, Name::done)?;
        Ok((None, self.to_boolean(done)))
    }

    /// IteratorComplete and IteratorValue of a result object: (value, done).
    pub(crate) fn unpack_iterator_result(&mut self, result: Value) -> Completion<(Value, bool)> {
        if !result.is_object() {
            let text = self.describe(result);
            return Err(self.throw_type(&format!("Iterator result {text} is not an object")));
        }
        let (value, done) = self.unpack_iterator_result_lazily(result)?;
        match value {
            Some(value) => Ok((value, done)),
            None => Ok((self.get_name(result.as_ref(), Name::value)?, done)),
        }
    }

    /// Whether `next` is the function that belongs to this kind of engine iterator.
    fn is_original_next(&self, cell: Ref, next: Value) -> bool {
        let Some(function) = next.to_object_ref() else { return false };
        self.cage.is(function, Kind::NativeFunction)
            && self.cage.u32(function, crate::objects::function::BUILTIN)
                == crate::builtins::iterators::next_builtin(self.cage.u32(cell, 36))
    }

    /// IteratorClose with a normal completion.
    pub(crate) fn iterator_close_block(&mut self, block: u32) -> Completion<()> {
        if Value(self.cage.read(block + 16)).is_true() {
            return Ok(());
        }
        self.cage.init(block + 16, Value::TRUE.0);
        let iterator = Value(self.cage.read(block));
        self.iterator_close(iterator)
    }

    /// IteratorClose (7.4.11) with a normal completion.
    ///
    /// # Errors
    /// What `return` throws; TypeError where its result is no object.
    pub fn iterator_close(&mut self, iterator: Value) -> Completion<()> {
        let key = self.key_for(Name::return_);
        let method = self.get_method(iterator, key)?;
        if method.is_undefined() {
            return Ok(());
        }
        let result = self.call(method, iterator, &[])?;
        if !result.is_object() {
            let text = self.describe(result);
            return Err(self.throw_type(&format!("{text} is not an object")));
        }
        Ok(())
    }

    pub(crate) fn iterator_close_silent(&mut self, block: u32) {
        if Value(self.cage.read(block + 16)).is_true() {
            return;
        }
        self.cage.init(block + 16, Value::TRUE.0);
        let iterator = Value(self.cage.read(block));
        self.iterator_close_throwing(iterator);
    }

    /// IteratorClose with a throw completion: what `return` does is dropped; the pending exception stays.
    pub fn iterator_close_throwing(&mut self, iterator: Value) {
        let pending = self.exception;
        let key = self.key_for(Name::return_);
        let closed = match self.get_method(iterator, key) {
            Ok(method) if !method.is_undefined() => self.call(method, iterator, &[]).map(|_| ()),
            Ok(_) => Ok(()),
            Err(throw) => Err(throw),
        };
        if let Err(Throw) = closed
            && self.termination.is_some()
        {
            return;
        }
        self.exception = pending;
    }

    // --- whole iterations

    /// Calls `each` with every value of `iterable`; closes the iterator when `each` throws.
    ///
    /// # Errors
    /// Whatever iterating or `each` throws.
    pub fn for_each_value(
        &mut self,
        iterable: Value,
        mut each: impl FnMut(&mut Realm, Value) -> Completion<()>,
    ) -> Completion<()> {
        // The block lives in a cell: it must survive collections while `each` runs.
        let block = self.new_values(3, Value::UNDEFINED)?;
        self.get_iterator_block(block.0 + 8, iterable)?;
        self.drive_iterator(block, &mut each)
    }

    /// The same with the iterator method known already.
    ///
    /// # Errors
    /// As `for_each_value`.
    pub fn for_each_value_with_method(
        &mut self,
        iterable: Value,
        method: Value,
        mut each: impl FnMut(&mut Realm, Value) -> Completion<()>,
    ) -> Completion<()> {
        let block = self.new_values(3, Value::UNDEFINED)?;
        let (iterator, next) = self.get_iterator_from_method(iterable, method)?;
        self.cage.set(block, 8, iterator.0);
        self.cage.set(block, 16, next.0);
        self.cage.set(block, 24, Value::FALSE.0);
        self.drive_iterator(block, &mut each)
    }

    fn drive_iterator(
        &mut self,
        block: Ref,
        each: &mut dyn FnMut(&mut Realm, Value) -> Completion<()>,
    ) -> Completion<()> {
        while let Some(value) = self.iterator_next_block(block.0 + 8)? {
            self.charge(1)?;
            if let Err(throw) = each(self, value) {
                if self.termination.is_none() {
                    self.iterator_close_silent(block.0 + 8);
                }
                return Err(throw);
            }
        }
        Ok(())
    }

    /// IteratorToList for a whole iterable: an array.
    ///
    /// # Errors
    /// As `for_each_value`.
    pub fn iterable_to_array(&mut self, iterable: Value) -> Completion<Ref> {
        let array = self.new_array()?;
        self.array_spread(array, iterable)?;
        Ok(array)
    }

    pub(crate) fn array_spread(&mut self, array: Ref, iterable: Value) -> Completion<()> {
        if self.array_iteration_is_plain(iterable)
            && let Some((elements, used)) = self.dense_array(iterable.as_ref())
        {
            for i in 0..used {
                let value = self.dense_get(elements, i);
                let value = if value.is_hole() { self.get(iterable.as_ref(), Key::Index(i))? } else { value };
                self.array_push(array, value)?;
            }
            return Ok(());
        }
        self.for_each_value(iterable, |realm, value| realm.array_push(array, value))
    }
}

/// Whether no prototype from `object` on has enumerable properties (the usual case for for-in).
fn parent_chain_is_plain(realm: &mut Realm, object: Ref) -> bool {
    let mut at = object;
    while !at.is_null() {
        if matches!(realm.cage.kind(at), Kind::Proxy | Kind::TypedArray | Kind::ModuleNamespace)
            || !realm.elements_of(at).is_null()
        {
            return false;
        }
        let shape = realm.shape_of(at);
        if realm.shape_properties(shape).iter().any(|&(_, info)| info as u8 & crate::shapes::ENUMERABLE != 0) {
            return false;
        }
        at = realm.ordinary_prototype(at);
    }
    true
}
