//! Operations of the dispatch loop that are neither arithmetic nor property access: environments,
//! closures, classes, arguments, literals, errors.

use super::*;
use crate::cage::Ref;
use crate::kinds::{Kind, SHAPE};
use crate::names::{Intrinsic, Name};
use crate::objects::Key;
use crate::objects::function::{ENVIRONMENT, FIELDS, HOME_OBJECT, REALM, TEMPLATE};
use crate::realm::{Completion, Realm, Throw};
use crate::shapes::{HIDDEN, layout_of};
use crate::value::Value;

impl Realm {
    // --- environments

    pub(crate) fn new_environment(&mut self, parent: Value, slots: u32) -> Completion {
        let cell = self.allocate(Kind::Environment, 16 + 8 * slots)?;
        let cage = self.cage;
        cage.init(cell.0 + 4, slots);
        cage.init(cell.0 + 8, if parent.is_cell() { parent.as_ref().0 } else { 0 });
        cage.init(cell.0 + 12, 0u32);
        for i in 0..slots {
            cage.init(cell.0 + 16 + 8 * i, Value::HOLE.0);
        }
        Ok(Value::cell(cell))
    }

    pub(crate) fn clone_environment(&mut self, source: Ref) -> Completion {
        let slots = self.cage.u32(source, 4);
        let cell = self.allocate(Kind::Environment, 16 + 8 * slots)?;
        self.cage.copy(source.0 + 4, cell.0 + 4, 12 + 8 * slots);
        Ok(Value::cell(cell))
    }

    // --- closures

    /// InstantiateFunctionObject (10.2.4 and siblings): a closure of `template` over `environment`. The
    /// running function's home object is handed on to arrows.
    #[inline(never)]
    pub(crate) fn new_closure(&mut self, template: Ref, environment: Value, fp: u32) -> Completion {
        use crate::bytecode::template::{FunctionKind, Suspension};
        let kind = self.template_kind(template);
        let suspension = self.template_suspension(template);
        let shape = match (kind, suspension) {
            (FunctionKind::Normal, Suspension::None) => Intrinsic::FunctionShape,
            (_, Suspension::None) => Intrinsic::MethodShape,
            (_, Suspension::Async) => Intrinsic::ArrowShape,
            (_, _) => Intrinsic::GeneratorFunctionShape,
        };
        let mut shape = self.intrinsic(shape);
        if suspension == Suspension::AsyncGenerator {
            shape = self.async_generator_function_shape()?;
        }
        let home = if kind == FunctionKind::Arrow && fp != 0 {
            let callee = Value(self.cage.read(fp - CALLEE));
            match callee.to_object_ref() {
                Some(callee) if self.cage.is(callee, Kind::Function) => self.cage.r(callee, HOME_OBJECT),
                _ => Ref::NULL,
            }
        } else {
            Ref::NULL
        };
        let cell = self.new_function_cell(template, environment, shape)?;
        self.cage.init(cell.0 + HOME_OBJECT, home.0);
        Ok(Value::object(cell))
    }

    pub(crate) fn async_generator_function_shape(&mut self) -> Completion<Ref> {
        let prototype = self.intrinsic(Intrinsic::AsyncGeneratorFunctionPrototype);
        self.function_shape(prototype, Some(Self::FUNCTION_PROTOTYPE_ATTRIBUTES))
    }

    /// Shape of functions: `length`, `name`, and `prototype` with these attributes where there is one.
    pub(crate) fn function_shape(&mut self, prototype: Ref, own_prototype: Option<u8>) -> Completion<Ref> {
        let slots = if own_prototype.is_some() { 3 } else { 2 };
        let root = self.root_shape(prototype, layout_of(40, slots))?;
        let configurable = crate::shapes::CONFIGURABLE;
        let shape = self.add_transition(root, self.name(Name::length), configurable)?;
        let shape = self.add_transition(shape, self.name(Name::name), configurable)?;
        match own_prototype {
            Some(attributes) => self.add_transition(shape, self.name(Name::prototype), attributes),
            None => Ok(shape),
        }
    }

    fn new_function_cell(&mut self, template: Ref, environment: Value, shape: Ref) -> Completion<Ref> {
        let cage = self.cage;
        let inline = cage.u32(shape, 36) & 0xFFFF;
        let cell = self.allocate(Kind::Function, 40 + 8 * inline)?;
        cage.init(cell.0 + 2, inline as u8);
        cage.init(cell.0 + SHAPE, shape.0);
        cage.init(cell.0 + 8, 0u64);
        cage.init(cell.0 + TEMPLATE, template.0);
        cage.init(cell.0 + ENVIRONMENT, if environment.is_cell() { environment.as_ref().0 } else { 0 });
        cage.init(cell.0 + HOME_OBJECT, 0u32);
        cage.init(cell.0 + FIELDS, 0u32);
        cage.init(cell.0 + REALM, self.record.0);
        cage.init(cell.0 + REALM + 4, 0u32);
        for i in 0..inline {
            cage.init(cell.0 + 40 + 8 * i, Value::LAZY.0);
        }
        Ok(cell)
    }

    /// ClassDefinitionEvaluation (15.7.14) up to the constructor and prototype; the superclass is the hole
    /// where there is no heritage.
    pub(crate) fn new_class(
        &mut self,
        template: Ref,
        heritage: Value,
        environment: Value,
    ) -> Completion<(Value, Value)> {
        let (proto_parent, constructor_parent) = if heritage.is_hole() {
            (self.intrinsic(Intrinsic::ObjectPrototype), self.intrinsic(Intrinsic::FunctionPrototype))
        } else if heritage.is_null() {
            (Ref::NULL, self.intrinsic(Intrinsic::FunctionPrototype))
        } else {
            if !self.is_constructor(heritage) {
                let text = self.describe(heritage);
                return Err(self.throw_type(&format!("Class extends value {text} is not a constructor or null")));
            }
            let parent = self.get_name(heritage.as_ref(), Name::prototype)?;
            if !parent.is_object() && !parent.is_null() {
                return Err(self.throw_type("Class extends value does not have valid prototype property"));
            }
            (parent.to_object_ref().unwrap_or_default(), heritage.as_ref())
        };
        let prototype = self.new_object_with_prototype(proto_parent)?;
        let shape = self.function_shape(constructor_parent, Some(0))?;
        let class = self.new_function_cell(template, environment, shape)?;
        self.cage.set(class, HOME_OBJECT, prototype.0);
        self.write_slot(class, shape, 2, Value::object(prototype));
        self.add_property(prototype, self.name(Name::constructor), Value::object(class), HIDDEN)?;
        Ok((Value::object(class), Value::object(prototype)))
    }

    /// InitializeInstanceElements (7.3.34) through the class's initializer function.
    pub(crate) fn run_class_fields(&mut self, class: Value, object: Value) -> Completion<()> {
        let Some(class) = class.to_object_ref() else { return Ok(()) };
        if !self.cage.is(class, Kind::Function) {
            return Ok(());
        }
        let initializer = self.cage.r(class, FIELDS);
        if !initializer.is_null() {
            self.call(Value::object(initializer), object, &[])?;
        }
        Ok(())
    }

    pub(crate) fn check_constructor_return(&mut self, value: Value, this: Value) -> Completion {
        if value.is_object() {
            return Ok(value);
        }
        if !value.is_undefined() {
            return Err(self.throw_type("Derived constructors may only return object or undefined"));
        }
        if this.is_hole() {
            return Err(self.throw_reference(
                "Must call super constructor in derived class before accessing 'this' or returning from derived constructor",
            ));
        }
        Ok(this)
    }

    // --- arguments

    pub(crate) fn create_arguments(&mut self, fp: u32, mapped: bool) -> Completion {
        let argc = (self.cage.read::<u64>(fp - CALL_INFO) >> 32) as u32;
        let at = self.cage.read::<u64>(fp - ARGUMENTS) as u32;
        let callee = if mapped { Some(Value(self.cage.read(fp - CALLEE)).as_ref()) } else { None };
        Ok(Value::object(self.new_arguments(at, argc, callee)?))
    }

    pub(crate) fn create_rest(&mut self, fp: u32, from: u32) -> Completion {
        let argc = (self.cage.read::<u64>(fp - CALL_INFO) >> 32) as u32;
        let at = self.cage.read::<u64>(fp - ARGUMENTS) as u32;
        let array = self.new_array()?;
        for i in from..argc {
            let value = Value(self.cage.read(at + 8 * i));
            self.array_push(array, value)?;
        }
        Ok(Value::object(array))
    }

    /// `arguments[index]` without an object, where the index is not one of an argument.
    #[inline(never)]
    pub(crate) fn get_argument_slow(&mut self, fp: u32, index: Value) -> Completion {
        let strict = self.frame_is_strict(fp);
        let object = self.create_arguments(fp, !strict)?;
        let key = self.to_property_key(index)?;
        self.get(object.as_ref(), key)
    }

    // --- calls with spread

    /// The values of a dense array made by the compiler's literal instructions, as a `Values` cell.
    fn spread_list(&mut self, array: Value) -> Completion<Ref> {
        let Some(array) = self.ref_of_kind(array, Kind::Array) else { return Err(self.throw_damaged_code()) };
        let count = self.array_length(array);
        let list = self.new_values(count, Value::UNDEFINED)?;
        if let Some((elements, used)) = self.dense_array(array) {
            for i in 0..used {
                let value = self.dense_get(elements, i);
                self.cage.init(list.0 + 8 + 8 * i, if value.is_hole() { Value::UNDEFINED.0 } else { value.0 });
            }
        } else {
            for i in 0..count {
                let value = self.stored_element(array, i).map_or(Value::UNDEFINED, |p| p.value);
                self.cage.init(list.0 + 8 + 8 * i, value.0);
            }
        }
        Ok(list)
    }

    pub(crate) fn call_spread(&mut self, block: u32) -> Completion {
        let (callee, this) = (Value(self.cage.read(block + 32)), Value(self.cage.read(block + 40)));
        let list = self.spread_list(Value(self.cage.read(block + 48)))?;
        self.call_list(callee, this, list)
    }

    pub(crate) fn construct_spread(&mut self, block: u32, new_target: Value) -> Completion {
        let callee = Value(self.cage.read(block + 32));
        let list = self.spread_list(Value(self.cage.read(block + 48)))?;
        self.construct_list(callee, list, new_target)
    }

    // --- literals

    /// GetTemplateObject (13.2.8.4).
    pub(crate) fn template_object(&mut self, site: Ref) -> Completion {
        let known = Value(self.cage.get(site, 8));
        if known.is_object() {
            return Ok(known);
        }
        let count = (self.cage.u32(site, 4) - 1) / 2;
        let cooked = self.new_array()?;
        let raw = self.new_array()?;
        for i in 0..count {
            let value = Value(self.cage.get(site, 8 + 8 * (1 + i)));
            self.array_push(cooked, value)?;
            let value = Value(self.cage.get(site, 8 + 8 * (1 + count + i)));
            self.array_push(raw, value)?;
        }
        self.set_integrity_level(raw, true)?;
        self.add_property(cooked, self.name(Name::raw), Value::object(raw), 0)?;
        self.set_integrity_level(cooked, true)?;
        self.cage.set(site, 8, Value::object(cooked).0);
        Ok(Value::object(cooked))
    }

    // --- errors

    #[cold]
    pub(crate) fn throw_uninitialized(&mut self, name: Value) -> Throw {
        let text = self.string_text(name.as_ref()).unwrap_or_default();
        if text == "this" {
            return self.throw_reference(
                "Must call super constructor in derived class before accessing 'this' or returning from derived constructor",
            );
        }
        self.throw_reference(&format!("Cannot access '{text}' before initialization"))
    }

    #[cold]
    pub(crate) fn throw_const_assign(&mut self, _name: Value) -> Throw {
        self.throw_type("Assignment to constant variable.")
    }

    #[cold]
    pub(crate) fn throw_not_destructurable(&mut self, value: Value) -> Throw {
        let what = if value.is_null() { "null" } else { "undefined" };
        self.throw_type(&format!("Cannot destructure '{what}' as it is {what}."))
    }

    #[cold]
    pub(crate) fn throw_numbered_error(&mut self, number: u16, message: Value) -> Throw {
        let text = self.string_text(message.as_ref()).unwrap_or_default();
        match number {
            1 => self.throw_reference(&text),
            2 => self.throw_syntax(&text),
            3 => self.throw_range(&text),
            _ => self.throw_type(&text),
        }
    }

    /// Shapes of the function kinds, called once by the installer.
    pub(crate) fn install_function_shapes(&mut self) -> Completion<()> {
        let plain = self.intrinsic(Intrinsic::FunctionPrototype);
        let shape = self.function_shape(plain, Some(Self::FUNCTION_PROTOTYPE_ATTRIBUTES))?;
        self.set_intrinsic(Intrinsic::FunctionShape, Value::cell(shape));
        let shape = self.function_shape(plain, None)?;
        self.set_intrinsic(Intrinsic::MethodShape, Value::cell(shape));
        let root = self.root_shape(plain, layout_of(32, 2))?;
        let configurable = crate::shapes::CONFIGURABLE;
        let shape = self.add_transition(root, self.name(Name::length), configurable)?;
        let shape = self.add_transition(shape, self.name(Name::name), configurable)?;
        self.set_intrinsic(Intrinsic::NativeShape, Value::cell(shape));
        Ok(())
    }

    /// Key of a name for short code elsewhere.
    pub fn key_for(&self, name: Name) -> Key {
        Key::Name(self.name(name))
    }
}
