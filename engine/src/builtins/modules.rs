//! Modules (ECMA-262 16.2): records, loading and linking. Evaluation and import() are in `module_evaluation`,
//! namespaces in `module_namespace`.
//!
//! A module is a `Module` cell of the values listed below. All modules of a realm hang on one Map, the intrinsic
//! ModuleMap, whose keys are `m␀type␀name` (the record), `r␀referrer␀specifier␀type` (what a referrer's
//! specifier means, so that a host is asked once), and the module's script cell (for import.meta). So a snapshot
//! keeps modules as it keeps every other cell.
//!
//! Import slots of a module's environment hold a `Values` cell (environment, slot) or a namespace object. Lists
//! of modules in Rust vectors hold numbers of cells that the graph itself keeps alive.

use super::*;
use crate::bytecode::install::SCRIPT;
use crate::bytecode::template::{ExportEntry, ImportName, ModuleInfo, SourceKind};
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::realm::Throw;

#[path = "module_evaluation.rs"]
mod module_evaluation;
#[path = "module_namespace.rs"]
mod module_namespace;

use module_evaluation::{import_done, import_failed, import_loaded, module_fulfilled, module_rejected};

builtin_table! { 13;
    MODULE_FULFILLED("", 0) = module_fulfilled;
    MODULE_REJECTED("", 1) = module_rejected;
    IMPORT_LOADED("", 0) = import_loaded;
    IMPORT_DONE("", 0) = import_done;
    IMPORT_FAILED("", 1) = import_failed;
}

// Fields of a Module cell, as value numbers.
const NAME: u32 = 0;
const STATE: u32 = 1;
/// Environment cell.
const ENVIRONMENT: u32 = 2;
/// List of (specifier, type or undefined, module or undefined).
const REQUESTS: u32 = 3;
/// List of (request number, name or undefined for the namespace, slot).
const IMPORTS: u32 = 4;
/// List of (sort of export, export name, slot or request number, name or undefined for the namespace).
const EXPORTS: u32 = 5;
/// List of templates; undefined for JSON modules.
const TEMPLATES: u32 = 6;
/// List of (slot, template number) of function declarations.
const FUNCTIONS: u32 = 7;
const NAMESPACE: u32 = 8;
/// Map from export name to its binding, in code-unit order, once there is a namespace.
const NAMES: u32 = 9;
/// [[EvaluationError]]; the hole while there is none.
const ERROR: u32 = 10;
const DFS_INDEX: u32 = 11;
const DFS_ANCESTOR: u32 = 12;
/// [[CycleRoot]]: a module cell.
const ROOT: u32 = 13;
/// [[HasTLA]]
const AWAITS: u32 = 14;
/// [[AsyncEvaluationOrder]]: undefined, a number, or true for done.
const ORDER: u32 = 15;
/// [[TopLevelCapability]]: a promise.
const CAPABILITY: u32 = 16;
/// [[AsyncParentModules]]: an array of module cells.
const PARENTS: u32 = 17;
const PENDING: u32 = 18;
/// The import.meta object.
const META: u32 = 19;
const FIELDS: u32 = 20;

const UNLINKED: i32 = 0;
const LINKING: i32 = 1;
const LINKED: i32 = 2;
const EVALUATING: i32 = 3;
const EVALUATING_ASYNC: i32 = 4;
const EVALUATED: i32 = 5;

// Sorts of exports.
const LOCAL: i32 = 0;
const INDIRECT: i32 = 1;
const STAR: i32 = 2;

/// A ResolvedBinding Record (16.2.1.5.1), or why there is none.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Resolution {
    Missing,
    Ambiguous,
    Binding { module: Ref, slot: i32 },
    Namespace(Ref),
}

pub(crate) fn install(realm: &mut Realm) -> Completion<()> {
    let map = realm.new_collection(Kind::Map, Ref::NULL)?;
    realm.set_intrinsic(Intrinsic::ModuleMap, Value::object(map));
    Ok(())
}

/// The absolute form of a relative specifier, for realms without a loader: names are paths.
fn join_paths(referrer: &str, specifier: &str) -> String {
    if !specifier.starts_with("./") && !specifier.starts_with("../") {
        return specifier.to_string();
    }
    let folder = referrer.rfind('/').map_or("", |at| &referrer[..at]);
    let mut parts: Vec<&str> = if folder.is_empty() { Vec::new() } else { folder.split('/').collect() };
    for part in specifier.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|&last| last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    parts.join("/")
}

impl Realm {
    // --- fields

    fn field(&self, module: Ref, field: u32) -> Value {
        Value(self.cage.get(module, 8 + 8 * field))
    }

    fn set_field(&mut self, module: Ref, field: u32, value: Value) {
        self.cage.set(module, 8 + 8 * field, value.0);
    }

    fn module_state(&self, module: Ref) -> i32 {
        self.field(module, STATE).as_int()
    }

    fn set_module_state(&mut self, module: Ref, state: i32) {
        self.set_field(module, STATE, Value::int(state));
    }

    /// Number of rows of a list field.
    fn rows(&self, module: Ref, field: u32, width: u32) -> u32 {
        let list = self.field(module, field);
        if list.is_cell() { self.cage.u32(list.as_ref(), 4) / width } else { 0 }
    }

    /// Item `at` of a list field.
    fn item(&self, module: Ref, field: u32, at: u32) -> Value {
        Value(self.cage.get(self.field(module, field).as_ref(), 8 + 8 * at))
    }

    /// The module that request `number` stands for, once it is loaded.
    fn requested(&self, module: Ref, number: u32) -> Option<Ref> {
        let found = self.item(module, REQUESTS, 3 * number + 2);
        if found.is_cell() { Some(found.as_ref()) } else { None }
    }

    fn module_name(&mut self, module: Ref) -> Completion<String> {
        self.string_text(self.field(module, NAME).as_ref())
    }

    // --- the module map

    fn module_key(&mut self, parts: &[&str]) -> Completion {
        Ok(Value::string(self.intern_str(&parts.join("\0"))?))
    }

    fn find_module(&mut self, key: Value) -> Completion<Option<Ref>> {
        let table = self.cage.r(self.intrinsic(Intrinsic::ModuleMap), 16);
        Ok(self.map_find(table, key)?.map(|entry| self.map_value(table, entry).as_ref()))
    }

    fn register_module(&mut self, key: Value, module: Ref) -> Completion<()> {
        let map = self.intrinsic(Intrinsic::ModuleMap);
        self.map_set(map, key, Value::cell(module))
    }

    // --- making records

    fn new_module(&mut self, name: &str) -> Completion<Ref> {
        let name = self.intern_str(name)?;
        let module = self.allocate_tail(Kind::Module, 8, 8 * u64::from(FIELDS))?;
        self.cage.init(module.0 + 4, FIELDS);
        for i in 0..FIELDS {
            self.cage.init(module.0 + 8 + 8 * i, Value::UNDEFINED.0);
        }
        self.set_field(module, NAME, Value::string(name));
        self.set_field(module, ERROR, Value::HOLE);
        self.set_field(module, AWAITS, Value::FALSE);
        self.set_module_state(module, UNLINKED);
        Ok(module)
    }

    /// ParseModule (16.2.1.7.1) and the host's registration under `name`.
    fn new_source_module(&mut self, source: &str, name: &str) -> Completion<Ref> {
        let script = self.compile_source(source, name, &SourceKind::Module)?;
        let templates = self.install(&script)?;
        let info = script.module.unwrap_or_default();
        let module = self.new_module(name)?;
        self.set_field(module, TEMPLATES, Value::cell(templates));
        self.set_field(module, AWAITS, Value::boolean(info.has_top_level_await));
        let environment = self.new_environment(Value::UNDEFINED, u32::from(info.env_slots))?;
        for &slot in &info.var_slots {
            self.cage.set(environment.as_ref(), 16 + 8 * u32::from(slot), Value::UNDEFINED.0);
        }
        self.set_field(module, ENVIRONMENT, environment);
        self.fill_requests(module, &info)?;
        self.fill_imports(module, &info)?;
        self.fill_exports(module, &info)?;
        let functions = self.new_values(2 * info.functions.len() as u32, Value::UNDEFINED)?;
        for (i, &(slot, template)) in info.functions.iter().enumerate() {
            self.cage.set(functions, 8 + 16 * i as u32, Value::int(i32::from(slot)).0);
            self.cage.set(functions, 16 + 16 * i as u32, Value::int(template as i32).0);
        }
        self.set_field(module, FUNCTIONS, Value::cell(functions));
        let top = Value(self.cage.get(templates, 8)).as_ref();
        let script = Value::cell(self.cage.r(top, SCRIPT));
        self.register_module(script, module)?;
        Ok(module)
    }

    fn fill_requests(&mut self, module: Ref, info: &ModuleInfo) -> Completion<()> {
        let list = self.new_values(3 * info.requests.len() as u32, Value::UNDEFINED)?;
        self.set_field(module, REQUESTS, Value::cell(list));
        for (i, (specifier, attributes)) in info.requests.iter().enumerate() {
            let specifier = self.intern_js_str(specifier)?;
            self.cage.set(list, 8 + 24 * i as u32, Value::string(specifier).0);
            for (key, value) in attributes {
                if *key != "type".into() {
                    return Err(self.throw_syntax("Import attribute is not supported"));
                }
                let value = self.intern_js_str(value)?;
                self.cage.set(list, 16 + 24 * i as u32, Value::string(value).0);
            }
        }
        Ok(())
    }

    /// A name, or undefined for a namespace.
    fn import_name(&mut self, name: &ImportName) -> Completion {
        Ok(match name {
            ImportName::Named(name) => Value::string(self.intern_js_str(name)?),
            ImportName::Namespace => Value::UNDEFINED,
        })
    }

    fn fill_imports(&mut self, module: Ref, info: &ModuleInfo) -> Completion<()> {
        let list = self.new_values(3 * info.imports.len() as u32, Value::UNDEFINED)?;
        self.set_field(module, IMPORTS, Value::cell(list));
        for (i, import) in info.imports.iter().enumerate() {
            let name = self.import_name(&import.name)?;
            let row = [Value::int(import.request as i32), name, Value::int(i32::from(import.slot))];
            for (j, value) in row.iter().enumerate() {
                self.cage.set(list, 8 + 24 * i as u32 + 8 * j as u32, value.0);
            }
        }
        Ok(())
    }

    fn fill_exports(&mut self, module: Ref, info: &ModuleInfo) -> Completion<()> {
        let list = self.new_values(4 * info.exports.len() as u32, Value::UNDEFINED)?;
        self.set_field(module, EXPORTS, Value::cell(list));
        for (i, export) in info.exports.iter().enumerate() {
            let row = match export {
                ExportEntry::Local { export_name, slot } => {
                    let name = Value::string(self.intern_js_str(export_name)?);
                    [Value::int(LOCAL), name, Value::int(i32::from(*slot)), Value::UNDEFINED]
                }
                ExportEntry::Indirect { export_name, request, name } => {
                    let export_name = Value::string(self.intern_js_str(export_name)?);
                    // The list keeps the first name alive while the second is made.
                    self.cage.set(list, 16 + 32 * i as u32, export_name.0);
                    let name = self.import_name(name)?;
                    [Value::int(INDIRECT), export_name, Value::int(*request as i32), name]
                }
                ExportEntry::Star { request } => {
                    [Value::int(STAR), Value::UNDEFINED, Value::int(*request as i32), Value::UNDEFINED]
                }
            };
            for (j, value) in row.iter().enumerate() {
                self.cage.set(list, 8 + 32 * i as u32 + 8 * j as u32, value.0);
            }
        }
        Ok(())
    }

    /// CreateDefaultExportSyntheticModule (16.2.1.8.1) of a JSON text.
    fn new_json_module(&mut self, source: &str, name: &str) -> Completion<Ref> {
        let json = self.intrinsic(Intrinsic::Json);
        let key = self.key("parse")?;
        let parse = self.get(json, key)?;
        let text = self.new_string(source)?;
        let value = self.call(parse, Value::object(json), &[Value::string(text)])?;
        let module = self.new_module(name)?;
        let environment = self.new_environment(Value::UNDEFINED, 1)?;
        self.cage.set(environment.as_ref(), 16, value.0);
        self.set_field(module, ENVIRONMENT, environment);
        let exports = self.new_values(4, Value::UNDEFINED)?;
        self.cage.set(exports, 8, Value::int(LOCAL).0);
        self.cage.set(exports, 16, self.name_value(Name::default).0);
        self.cage.set(exports, 24, Value::ZERO.0);
        self.set_field(module, EXPORTS, Value::cell(exports));
        Ok(module)
    }

    // --- loading

    /// HostLoadImportedModule (16.2.1.10): the record, not loaded any further.
    fn load_module(&mut self, referrer: &str, specifier: &str, kind: &str) -> Completion<Ref> {
        let meaning = self.module_key(&["r", referrer, specifier, kind])?;
        if let Some(module) = self.find_module(meaning)? {
            return Ok(module);
        }
        let (name, source) = match self.hooks.module_loader.clone() {
            Some(loader) => match loader(referrer, specifier, if kind.is_empty() { None } else { Some(kind) }) {
                Ok((name, source)) => (name, Some(source)),
                Err(message) => return Err(self.throw_type(&message)),
            },
            None => (join_paths(referrer, specifier), None),
        };
        let key = self.module_key(&["m", kind, &name])?;
        let module = match (self.find_module(key)?, source) {
            (Some(module), _) => module,
            (None, None) => {
                return Err(self.throw_type(&format!("Cannot find module '{specifier}' imported from '{referrer}'")));
            }
            (None, Some(source)) => {
                let module = match kind {
                    "" => self.new_source_module(&source, &name)?,
                    "json" => self.new_json_module(&source, &name)?,
                    _ => return Err(self.throw_type(&format!("Module type '{kind}' is not supported"))),
                };
                self.register_module(key, module)?;
                module
            }
        };
        self.register_module(meaning, module)?;
        Ok(module)
    }

    /// LoadRequestedModules (16.2.1.6.1.1): the whole graph.
    fn load_graph(&mut self, module: Ref) -> Completion<()> {
        let seen = self.new_collection(Kind::Set, Ref::NULL)?;
        self.map_set(seen, Value::cell(module), Value::UNDEFINED)?;
        let mut position = (self.cage.r(seen, 16), 0);
        while let Some((table, entry)) = self.map_next(position.0, position.1) {
            let at = self.map_key(table, entry).as_ref();
            let referrer = self.module_name(at)?;
            for i in 0..self.rows(at, REQUESTS, 3) {
                self.charge(1)?;
                let loaded = match self.requested(at, i) {
                    Some(loaded) => loaded,
                    None => {
                        let specifier = self.string_text(self.item(at, REQUESTS, 3 * i).as_ref())?;
                        let kind = self.item(at, REQUESTS, 3 * i + 1);
                        let kind = if kind.is_string() { self.string_text(kind.as_ref())? } else { String::new() };
                        self.load_module(&referrer, &specifier, &kind)?
                    }
                };
                let list = self.field(at, REQUESTS).as_ref();
                self.cage.set(list, 8 + 24 * i + 16, Value::cell(loaded).0);
                self.map_set(seen, Value::cell(loaded), Value::UNDEFINED)?;
            }
            position = (table, entry + 1);
        }
        Ok(())
    }

    // --- linking

    /// Link (16.2.1.6.1.2)
    fn link_module(&mut self, module: Ref) -> Completion<()> {
        let mut stack = Vec::new();
        let mut index = 0;
        let result = self.inner_link(module, &mut stack, &mut index);
        if result.is_err() {
            for &number in &stack {
                self.set_module_state(Ref(number), UNLINKED);
            }
        }
        result
    }

    /// InnerModuleLinking (16.2.1.6.1.2.1)
    fn inner_link(&mut self, module: Ref, stack: &mut Vec<u32>, index: &mut i32) -> Completion<()> {
        self.check_native_stack()?;
        if self.module_state(module) != UNLINKED {
            return Ok(());
        }
        self.enter_walk(module, LINKING, stack, index);
        for i in 0..self.rows(module, REQUESTS, 3) {
            let Some(required) = self.requested(module, i) else { return Err(self.throw_type("module is not loaded")) };
            self.inner_link(required, stack, index)?;
            if self.module_state(required) == LINKING {
                self.lower_ancestor(module, required);
            }
        }
        self.initialize_environment(module)?;
        if self.field(module, DFS_INDEX) == self.field(module, DFS_ANCESTOR) {
            while let Some(number) = stack.pop() {
                self.set_module_state(Ref(number), LINKED);
                if number == module.0 {
                    break;
                }
            }
        }
        Ok(())
    }

    fn enter_walk(&mut self, module: Ref, state: i32, stack: &mut Vec<u32>, index: &mut i32) {
        self.set_module_state(module, state);
        self.set_field(module, DFS_INDEX, Value::int(*index));
        self.set_field(module, DFS_ANCESTOR, Value::int(*index));
        *index += 1;
        stack.push(module.0);
    }

    fn lower_ancestor(&mut self, module: Ref, required: Ref) {
        let lowest = self.field(module, DFS_ANCESTOR).as_int().min(self.field(required, DFS_ANCESTOR).as_int());
        self.set_field(module, DFS_ANCESTOR, Value::int(lowest));
    }

    /// InitializeEnvironment (16.2.1.7.3.1)
    fn initialize_environment(&mut self, module: Ref) -> Completion<()> {
        for i in 0..self.rows(module, EXPORTS, 4) {
            if self.item(module, EXPORTS, 4 * i).as_int() == INDIRECT {
                let (name, request) = (self.item(module, EXPORTS, 4 * i + 1), self.item(module, EXPORTS, 4 * i + 2));
                let resolution = self.resolve_export(module, name, &mut Vec::new())?;
                let wanted = self.item(module, EXPORTS, 4 * i + 3);
                self.check_resolution(resolution, module, request.as_int() as u32, wanted)?;
            }
        }
        let environment = self.field(module, ENVIRONMENT).as_ref();
        for i in 0..self.rows(module, IMPORTS, 3) {
            self.charge(1)?;
            let request = self.item(module, IMPORTS, 3 * i).as_int() as u32;
            let (name, slot) = (self.item(module, IMPORTS, 3 * i + 1), self.item(module, IMPORTS, 3 * i + 2));
            let Some(imported) = self.requested(module, request) else { continue };
            let resolution = if name.is_undefined() {
                Resolution::Namespace(imported)
            } else {
                self.resolve_export(imported, name, &mut Vec::new())?
            };
            self.check_resolution(resolution, module, request, name)?;
            let reference = self.binding_reference(resolution)?;
            let reference = match resolution {
                Resolution::Namespace(of) => Value::object(self.module_namespace(of)?),
                _ => reference,
            };
            self.cage.set(environment, 16 + 8 * slot.as_int() as u32, reference.0);
        }
        for i in 0..self.rows(module, FUNCTIONS, 2) {
            let (slot, number) =
                (self.item(module, FUNCTIONS, 2 * i).as_int(), self.item(module, FUNCTIONS, 2 * i + 1).as_int());
            let template = self.item(module, TEMPLATES, number as u32).as_ref();
            let function = self.new_closure(template, Value::cell(environment), 0)?;
            self.cage.set(environment, 16 + 8 * slot as u32, function.0);
        }
        Ok(())
    }

    /// What stands for a resolved binding: a `Values` cell (environment, slot), or the module of a namespace.
    fn binding_reference(&mut self, resolution: Resolution) -> Completion {
        match resolution {
            Resolution::Binding { module, slot } => {
                let cell = self.new_values(2, self.field(module, ENVIRONMENT))?;
                self.cage.set(cell, 16, Value::int(slot).0);
                Ok(Value::cell(cell))
            }
            Resolution::Namespace(module) => Ok(Value::cell(module)),
            _ => Ok(Value::UNDEFINED),
        }
    }

    /// Throws the SyntaxError of a name that cannot be imported.
    fn check_resolution(&mut self, resolution: Resolution, module: Ref, request: u32, name: Value) -> Completion<()> {
        if !matches!(resolution, Resolution::Missing | Resolution::Ambiguous) {
            return Ok(());
        }
        let specifier = self.string_text(self.item(module, REQUESTS, 3 * request).as_ref())?;
        let name = if name.is_string() { self.string_text(name.as_ref())? } else { "*".into() };
        Err(self.throw_syntax(&match resolution {
            Resolution::Missing => {
                format!("The requested module '{specifier}' does not provide an export named '{name}'")
            }
            _ => format!("The requested module '{specifier}' contains conflicting star exports for name '{name}'"),
        }))
    }

    /// ResolveExport (16.2.1.7.2.2); `visited` holds (module, name) pairs by number.
    fn resolve_export(&mut self, module: Ref, name: Value, visited: &mut Vec<(u32, u32)>) -> Completion<Resolution> {
        self.check_native_stack()?;
        self.charge(1)?;
        let pair = (module.0, name.as_ref().0);
        if visited.contains(&pair) {
            return Ok(Resolution::Missing);
        }
        visited.push(pair);
        let count = self.rows(module, EXPORTS, 4);
        for i in 0..count {
            if self.item(module, EXPORTS, 4 * i + 1) != name {
                continue;
            }
            let number = self.item(module, EXPORTS, 4 * i + 2).as_int();
            if self.item(module, EXPORTS, 4 * i).as_int() == LOCAL {
                return Ok(Resolution::Binding { module, slot: number });
            }
            let Some(imported) = self.requested(module, number as u32) else { return Ok(Resolution::Missing) };
            let wanted = self.item(module, EXPORTS, 4 * i + 3);
            if wanted.is_undefined() {
                return Ok(Resolution::Namespace(imported));
            }
            return self.resolve_export(imported, wanted, visited);
        }
        if name == self.name_value(Name::default) {
            return Ok(Resolution::Missing);
        }
        let mut found = Resolution::Missing;
        for i in 0..count {
            if self.item(module, EXPORTS, 4 * i).as_int() != STAR {
                continue;
            }
            let number = self.item(module, EXPORTS, 4 * i + 2).as_int();
            let Some(imported) = self.requested(module, number as u32) else { continue };
            match self.resolve_export(imported, name, visited)? {
                Resolution::Missing => {}
                Resolution::Ambiguous => return Ok(Resolution::Ambiguous),
                other if found == Resolution::Missing => found = other,
                other if other != found => return Ok(Resolution::Ambiguous),
                _ => {}
            }
        }
        Ok(found)
    }

    /// Loads, links and evaluates: the promise.
    fn run_module(&mut self, module: Ref) -> Completion {
        self.load_graph(module)?;
        self.link_module(module)?;
        Ok(Value::object(self.evaluate_linked(module)?))
    }

    // --- what embedders call

    /// Compiles, links and evaluates a module: the promise of its evaluation. Later imports of `name` give it.
    ///
    /// # Errors
    /// SyntaxError; what loading and linking throw.
    pub fn evaluate_module(&mut self, source: &str, name: &str) -> Completion {
        self.enter(|realm| {
            let module = realm.new_source_module(source, name)?;
            let key = realm.module_key(&["m", "", name])?;
            realm.register_module(key, module)?;
            realm.run_module(module)
        })
    }

    /// Loads, links and evaluates the module that `specifier` means in `referrer`: the promise of its evaluation.
    ///
    /// # Errors
    /// What loading and linking throw.
    pub fn import_module(&mut self, specifier: &str, referrer: &str) -> Completion {
        self.enter(|realm| {
            let module = realm.load_module(referrer, specifier, "")?;
            realm.run_module(module)
        })
    }

    /// The namespace object of a module that was linked before.
    ///
    /// # Errors
    /// TypeError where there is no such module; SyntaxError where it does not link.
    pub fn namespace_of_module(&mut self, specifier: &str, referrer: &str) -> Completion {
        self.enter(|realm| {
            let module = realm.load_module(referrer, specifier, "")?;
            realm.load_graph(module)?;
            realm.link_module(module)?;
            Ok(Value::object(realm.module_namespace(module)?))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::join_paths;

    #[test]
    fn relative_specifiers_start_at_the_referrers_folder() {
        assert_eq!(join_paths("a/b/main.js", "./x.js"), "a/b/x.js");
        assert_eq!(join_paths("a/b/main.js", "../x.js"), "a/x.js");
        assert_eq!(join_paths("main.js", "../x.js"), "../x.js");
        assert_eq!(join_paths("main.js", "bare"), "bare");
    }
}
