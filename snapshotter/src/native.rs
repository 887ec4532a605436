//! From frozen templates to the code segment: picks candidates, gathers what the heap knows about them,
//! and calls the compiler.

use std::collections::BTreeMap;

use zjs_compiler::native::{self, Const, Function, Slot};
use zjs_engine::bytecode::install::*;
use zjs_engine::bytecode::template::{FunctionKind, Suspension};
use zjs_engine::cage::Ref;
use zjs_engine::kinds::Kind;
use zjs_engine::objects::function::{ENVIRONMENT, REALM, TEMPLATE};
use zjs_engine::realm::Realm;
use zjs_engine::value::Value;

use crate::freeze::{FrozenImage, FrozenTemplate};

/// Native code of an image.
#[derive(Default)]
pub struct NativeUnit {
    pub code: Vec<u8>,
    /// (template number, offset, bytes).
    pub functions: Vec<(u32, u32, u32)>,
    /// (template number, why it has none).
    pub reasons: Vec<(u32, String)>,
    /// Symbols beside the entries: (template number, what, offset, bytes).
    pub variants: Vec<(u32, &'static str, u32, u32)>,
}

/// Compiles what can be compiled.
///
/// # Errors
/// When the code generator fails.
pub fn compile(realm: &mut Realm, image: &FrozenImage) -> Result<NativeUnit, String> {
    let mut unit = NativeUnit::default();
    let mut templates = image.templates.clone();
    templates.sort_by_key(|t| t.number);
    let mut closures_of: BTreeMap<Ref, Vec<Ref>> = BTreeMap::new();
    let mut found = Vec::new();
    let cage = realm.cage;
    realm.for_each_heap_cell(|cell| {
        if cage.is(cell, Kind::Function) {
            found.push(cell);
        }
    });
    // Globals and intrinsics are those of the first realm: templates of others are left alone.
    let one_realm = !found.iter().any(|&closure| foreign_realm(realm, closure));
    for &closure in &found {
        if image.relocate(closure).is_some() {
            closures_of.entry(cage.r(closure, TEMPLATE)).or_default().push(closure);
        }
    }
    let (mut functions, mut candidates, mut closures) = (Vec::new(), Vec::new(), BTreeMap::new());
    for template in templates {
        if let Some(reason) = refuse(realm, template) {
            unit.reasons.push((template.number, reason));
            continue;
        }
        let known = closures_of.get(&template.source).map_or(&[][..], |list| list);
        if !one_realm && (known.is_empty() || known.iter().any(|&closure| foreign_realm(realm, closure))) {
            unit.reasons.push((template.number, "belongs to another realm".into()));
            continue;
        }
        let Some(function) = gather(realm, image, template, known) else {
            unit.reasons.push((template.number, "its code is not in the image".into()));
            continue;
        };
        for &closure in known {
            if let Some(closure) = image.relocate(closure) {
                closures.insert(Value::object(closure).0, functions.len());
            }
        }
        functions.push(function);
        candidates.push(template.number);
    }
    let compiled = native::compile(&functions, &closures)?;
    for (function, variant, offset, bytes) in compiled.variants {
        unit.variants.push((candidates[function], ["int", "double"][variant], offset, bytes));
    }
    for (number, outcome) in candidates.into_iter().zip(compiled.functions) {
        match outcome {
            Ok((offset, bytes)) => unit.functions.push((number, offset, bytes)),
            Err(reason) => unit.reasons.push((number, reason)),
        }
    }
    if !unit.functions.is_empty() {
        unit.code = compiled.section;
    }
    Ok(unit)
}

fn foreign_realm(realm: &Realm, closure: Ref) -> bool {
    realm.cage.r(closure, REALM) != realm.realm_record()
}

fn code_of(realm: &Realm, template: Ref) -> Vec<u16> {
    let code = realm.cage.r(template, CODE);
    (0..realm.cage.u32(code, 4)).map(|i| realm.cage.get(code, 8 + 2 * i)).collect()
}

fn registers_of(realm: &Realm, template: Ref) -> usize {
    realm.cage.get::<u16>(template, REGISTER_COUNT).into()
}

/// Why a template cannot have native code, by what is seen at once.
fn refuse(realm: &Realm, template: FrozenTemplate) -> Option<String> {
    let cell = template.source;
    match realm.template_kind(cell) {
        FunctionKind::Normal | FunctionKind::Arrow | FunctionKind::Method => {}
        FunctionKind::Top => return Some("runs once".into()),
        FunctionKind::FieldInitializer => return Some("is a field initializer".into()),
        FunctionKind::ClassConstructor | FunctionKind::DerivedConstructor => {
            return Some("is a class constructor".into());
        }
    }
    if realm.template_suspension(cell) != Suspension::None {
        return Some("suspends (generator or async)".into());
    }
    if realm.cage.flags(cell) & (COERCE_THIS | CLASS_CONSTRUCTOR | ASYNC | DERIVED) != 0 {
        return Some("uses this".into());
    }
    if !realm.cage.r(cell, HANDLERS).is_null() {
        return Some("has exception handlers".into());
    }
    native::refuse_by_opcodes(&code_of(realm, cell), registers_of(realm, cell))
}

fn gather(realm: &mut Realm, image: &FrozenImage, template: FrozenTemplate, closures: &[Ref]) -> Option<Function> {
    let cage = realm.cage;
    let cell = template.source;
    let code = code_of(realm, cell);
    let registers = registers_of(realm, cell);
    let table = cage.r(cell, CONSTANTS);
    let raw: Vec<Value> = (0..cage.u32(table, 4)).map(|i| Value(cage.get(table, 8 + 8 * i))).collect();
    let constants =
        raw.iter().map(|v| if v.is_number() { Const::Number(v.as_number()) } else { Const::Other }).collect();
    let mut function = Function {
        constants,
        parameters: cage.get::<u16>(cell, PARAM_COUNT).into(),
        initialized: cage.get::<u16>(cell, INIT_COUNT).into(),
        registers,
        code_address: image.relocate(cage.r(cell, CODE))?.0 + 8,
        ..Default::default()
    };
    let (globals, captured) = native::references(&code, registers);
    function.code = code;
    for index in globals {
        let Some(name) = raw.get(usize::from(index)).filter(|v| v.is_string()) else { continue };
        if let Some((cell, writable)) = realm.global_data_cell(name.as_ref())
            && let Some(address) = image.relocate(cell)
            && let Some(value) = relocated(image, Value(cage.get(cell, 8)))
        {
            function.globals.insert(index, Slot { address: address.0 + 8, value: value.0, writable });
        }
    }
    // What a closure captured is known only if there is no other closure of this template.
    if let [closure] = closures {
        let environment = cage.r(*closure, ENVIRONMENT);
        function.closure = image.relocate(*closure).map(|own| Value::object(own).0);
        if let Some(address) = image.relocate(environment) {
            function.environment = Some(Value::cell(address).0);
            for (hops, slot) in captured {
                let mut at = environment;
                for _ in 0..hops {
                    at = if at.is_null() { at } else { cage.r(at, 8) };
                }
                if at.is_null() || u32::from(slot) >= cage.u32(at, 4) {
                    continue;
                }
                let offset = 16 + 8 * u32::from(slot);
                if let (Some(address), Some(value)) =
                    (image.relocate(at), relocated(image, Value(cage.get(at, offset))))
                {
                    function
                        .captured
                        .insert((hops, slot), Slot { address: address.0 + offset, value: value.0, writable: true });
                }
            }
        }
    }
    Some(function)
}

/// The value as the image holds it.
fn relocated(image: &FrozenImage, value: Value) -> Option<Value> {
    if value.is_ref() {
        let at = image.relocate(value.as_ref())?;
        return Some(Value(value.0 & !0xFFFF_FFFF | u64::from(at.0)));
    }
    Some(value)
}
