//! Function (ECMA-262 20.2).

use super::*;
use crate::bytecode::template::SourceKind;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name, Sym};
use crate::objects::function::TEMPLATE;
use crate::shapes::CONFIGURABLE;

builtin_table! { 1;
    PROTOTYPE("", 0) = prototype_function;
    FUNCTION("Function", 1, constructor) = function;
    APPLY("apply", 2) = apply;
    BIND("bind", 1) = bind;
    CALL("call", 1) = call;
    TO_STRING("toString", 0) = to_string;
    HAS_INSTANCE("[Symbol.hasInstance]", 1) = has_instance;
    SPECIES("get [Symbol.species]", 0) = species;
    THROWER("", 0) = thrower;
    GENERATOR_FUNCTION("GeneratorFunction", 1, constructor) = generator_function;
    ASYNC_FUNCTION("AsyncFunction", 1, constructor) = async_function;
    ASYNC_GENERATOR_FUNCTION("AsyncGeneratorFunction", 1, constructor) = async_generator_function;
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let prototype = realm.intrinsic(Intrinsic::FunctionPrototype);
    realm.install_constructor(FUNCTION, prototype, Intrinsic::Function, Intrinsic::FunctionPrototype)?;
    realm.install_methods(prototype, &[APPLY, BIND, CALL, TO_STRING])?;
    let has_instance = realm.new_native_function(HAS_INSTANCE, Value::UNDEFINED)?;
    let key = crate::objects::Key::Name(realm.symbol(Sym::HasInstance));
    realm.define_data(prototype, key, Value::object(has_instance), 0)?;
    let thrower = realm.new_native_function(THROWER, Value::UNDEFINED)?;
    for name in [Name::length, Name::name] {
        let value = if name == Name::length { Value::ZERO } else { realm.name_value(Name::empty) };
        realm.define_data(thrower, realm.key_for(name), value, 0)?;
    }
    realm.prevent_extensions(thrower)?;
    realm.set_intrinsic(Intrinsic::ThrowTypeError, Value::object(thrower));
    for name in [Name::caller, Name::arguments] {
        let d = crate::objects::Descriptor {
            get: Some(Value::object(thrower)),
            set: Some(Value::object(thrower)),
            enumerable: Some(false),
            configurable: Some(true),
            ..Default::default()
        };
        realm.define_or_throw(prototype, realm.key_for(name), &d)?;
    }
    // The function kinds that have constructors without global names.
    for (number, constructor, slot, tag) in [
        (GENERATOR_FUNCTION, Intrinsic::GeneratorFunction, Intrinsic::GeneratorFunctionPrototype, "GeneratorFunction"),
        (ASYNC_FUNCTION, Intrinsic::AsyncFunction, Intrinsic::AsyncFunctionPrototype, "AsyncFunction"),
        (
            ASYNC_GENERATOR_FUNCTION,
            Intrinsic::AsyncGeneratorFunction,
            Intrinsic::AsyncGeneratorFunctionPrototype,
            "AsyncGeneratorFunction",
        ),
    ] {
        let own = realm.new_object_with_prototype(prototype)?;
        let function = realm.new_native_function(number, Value::UNDEFINED)?;
        let parent = realm.intrinsic(Intrinsic::Function);
        realm.set_prototype_of(function, parent)?;
        realm.define_data(function, realm.key_for(Name::prototype), Value::object(own), 0)?;
        realm.define_data(own, realm.key_for(Name::constructor), Value::object(function), CONFIGURABLE)?;
        realm.install_tag(own, tag)?;
        realm.set_intrinsic(constructor, Value::object(function));
        realm.set_intrinsic(slot, Value::object(own));
    }
    let generator = realm.intrinsic(Intrinsic::GeneratorFunctionPrototype);
    let shape = realm.function_shape(generator, Some(Realm::FUNCTION_PROTOTYPE_ATTRIBUTES))?;
    realm.set_intrinsic(Intrinsic::GeneratorFunctionShape, Value::cell(shape));
    let async_prototype = realm.intrinsic(Intrinsic::AsyncFunctionPrototype);
    let shape = realm.function_shape(async_prototype, None)?;
    realm.set_intrinsic(Intrinsic::ArrowShape, Value::cell(shape));
    Ok(())
}

/// Function.prototype itself (20.2.3)
fn prototype_function(_: &mut Realm, _: Args) -> Completion {
    Ok(Value::UNDEFINED)
}

/// get C [ @@species ]
fn species(_: &mut Realm, args: Args) -> Completion {
    Ok(args.this)
}

/// %ThrowTypeError% (10.2.4.1)
fn thrower(realm: &mut Realm, _: Args) -> Completion {
    Err(realm.throw_type(
        "'caller', 'callee', and 'arguments' properties may not be accessed on strict mode functions or the arguments objects for calls to them",
    ))
}

/// CreateDynamicFunction (20.2.1.1.1)
fn dynamic_function(realm: &mut Realm, args: Args, prefix: &str, fallback: Intrinsic) -> Completion {
    let mut parameters = String::new();
    for i in 0..args.len().saturating_sub(1) {
        let text = realm.to_string(args.get(realm, i))?;
        if i > 0 {
            parameters.push(',');
        }
        parameters.push_str(&realm.string_text(text)?);
    }
    let body = match args.len() {
        0 => String::new(),
        n => {
            let text = realm.to_string(args.get(realm, n - 1))?;
            realm.string_text(text)?
        }
    };
    // Parameters and body must be complete each on their own: neither may close the other's bracket.
    let checks =
        [format!("({prefix} anonymous(\n) {{\n{body}\n}})"), format!("({prefix} anonymous({parameters}\n) {{\n}})")];
    for check in checks {
        realm.compile_source(&check, "<anonymous>", &SourceKind::DynamicFunction)?;
    }
    let source = format!("({prefix} anonymous({parameters}\n) {{\n{body}\n}})");
    let templates = realm.compile_and_install(&source, "<anonymous>", &SourceKind::DynamicFunction)?;
    let template = Value(realm.cage.get(templates, 8)).as_ref();
    let top = realm.new_closure(template, Value::UNDEFINED, 0)?;
    let function = realm.call(top, Value::UNDEFINED, &[])?;
    if args.is_construct() && args.new_target != Value::object(args.callee) {
        let prototype = realm.prototype_from_constructor(args.new_target, fallback)?;
        realm.set_prototype_of(function.as_ref(), prototype)?;
    }
    Ok(function)
}

/// Function ( ...parameterArgs, bodyArg ) (20.2.1.1)
fn function(realm: &mut Realm, args: Args) -> Completion {
    dynamic_function(realm, args, "function", Intrinsic::FunctionPrototype)
}

/// GeneratorFunction (27.3.1.1)
fn generator_function(realm: &mut Realm, args: Args) -> Completion {
    dynamic_function(realm, args, "function*", Intrinsic::GeneratorFunctionPrototype)
}

/// AsyncFunction (27.7.1.1)
fn async_function(realm: &mut Realm, args: Args) -> Completion {
    dynamic_function(realm, args, "async function", Intrinsic::AsyncFunctionPrototype)
}

/// AsyncGeneratorFunction (27.4.1.1)
fn async_generator_function(realm: &mut Realm, args: Args) -> Completion {
    dynamic_function(realm, args, "async function*", Intrinsic::AsyncGeneratorFunctionPrototype)
}

/// Function.prototype.apply (20.2.3.1)
fn apply(realm: &mut Realm, args: Args) -> Completion {
    if !realm.is_callable(args.this) {
        return Err(realm.throw_type("Function.prototype.apply was called on something that is not a function"));
    }
    let list = args.get(realm, 1);
    if list.is_nullish() {
        return realm.call(args.this, args.get(realm, 0), &[]);
    }
    let list = realm.list_from_array_like(list)?;
    realm.call_list(args.this, args.get(realm, 0), list)
}

/// Function.prototype.bind (20.2.3.2)
fn bind(realm: &mut Realm, args: Args) -> Completion {
    let Some(target) = args.this.to_object_ref().filter(|_| realm.is_callable(args.this)) else {
        return Err(realm.throw_type("Bind must be called on a function"));
    };
    // BoundFunctionCreate (10.4.1.3)
    let prototype = realm.get_prototype_of(target)?;
    let bound = realm.new_object_of(Kind::BoundFunction, prototype)?;
    let count = args.len().saturating_sub(1) as u32;
    let list = realm.new_values(count, Value::UNDEFINED)?;
    for i in 0..count {
        realm.cage.set(list, 8 + 8 * i, args.get(realm, 1 + i as usize).0);
    }
    realm.cage.set(bound, 16, target.0);
    realm.cage.set(bound, 20, list.0);
    realm.cage.set(bound, 24, args.get(realm, 0).0);
    let mut length = 0.0;
    let length_key = realm.key_for(Name::length);
    if realm.has_own_property(target, length_key)? {
        let own = realm.get(target, length_key)?;
        if own.is_number() {
            let n = realm.to_integer(own)?;
            length = (n - f64::from(count)).max(0.0);
        }
    }
    let name = realm.get_name(target, Name::name)?;
    let name = if name.is_string() { name.as_ref() } else { realm.name(Name::empty) };
    let prefix = realm.new_string("bound ")?;
    let name = realm.concat(prefix, name)?;
    realm.add_property(bound, realm.name(Name::length), Value::number(length), CONFIGURABLE)?;
    realm.add_property(bound, realm.name(Name::name), Value::string(name), CONFIGURABLE)?;
    Ok(Value::object(bound))
}

/// Function.prototype.call (20.2.3.3)
fn call(realm: &mut Realm, args: Args) -> Completion {
    if !realm.is_callable(args.this) {
        return Err(realm.throw_type("Function.prototype.call was called on something that is not a function"));
    }
    let rest = args.rest(realm, 1);
    realm.call(args.this, args.get(realm, 0), &rest)
}

/// Function.prototype.toString (20.2.3.5)
fn to_string(realm: &mut Realm, args: Args) -> Completion {
    if let Some(function) = args.this.to_object_ref() {
        if realm.cage.is(function, Kind::Function) {
            use crate::bytecode::install::{SCRIPT, SOURCE_END, SOURCE_START};
            let template = realm.cage.r(function, TEMPLATE);
            let source = realm.cage.r(realm.cage.r(template, SCRIPT), 4);
            let (start, end) = (realm.cage.u32(template, SOURCE_START), realm.cage.u32(template, SOURCE_END));
            return Ok(Value::string(realm.substring(source, start, end)?));
        }
        if realm.cage.is(function, Kind::NativeFunction) {
            let name = realm.function_name_text(function);
            return realm.string_value(&format!("function {name}() {{ [native code] }}"));
        }
        if realm.is_callable(args.this) {
            return realm.string_value("function () { [native code] }");
        }
    }
    Err(realm.throw_type("Function.prototype.toString requires that 'this' be a Function"))
}

/// Function.prototype [ @@hasInstance ] (20.2.3.6)
fn has_instance(realm: &mut Realm, args: Args) -> Completion {
    let value = args.get(realm, 0);
    Ok(Value::boolean(realm.ordinary_has_instance(args.this, value)?))
}

impl Realm {
    /// CreateListFromArrayLike (7.3.19): a `Values` cell.
    ///
    /// # Errors
    /// TypeError for a non-object; RangeError for a list that no call can take.
    pub fn list_from_array_like(&mut self, value: Value) -> Completion<Ref> {
        let Some(object) = value.to_object_ref() else {
            return Err(self.throw_type("CreateListFromArrayLike called on non-object"));
        };
        let length = self.length_of(object)?;
        if length > 4_000_000.0 {
            return Err(self.throw_range("Invalid array length"));
        }
        let length = length as u32;
        let list = self.new_values(length, Value::UNDEFINED)?;
        let dense = self.dense_array(object);
        for i in 0..length {
            let value = match dense {
                Some((elements, _)) if !self.dense_get(elements, i).is_hole() => self.dense_get(elements, i),
                _ => self.get(object, crate::objects::Key::Index(i))?,
            };
            self.cage.set(list, 8 + 8 * i, value.0);
        }
        Ok(list)
    }
}
