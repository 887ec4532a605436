//! What the embedder brings: host functions by name, and hooks.

use std::sync::Arc;

use crate::builtins::Args;
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// A host function: gets the realm and its arguments.
pub type HostCallback = dyn Fn(&mut Realm, Args) -> Completion + Send + Sync;

/// One registered host function.
#[derive(Clone)]
pub struct HostFunction {
    pub name: String,
    /// Number of parameters: the `length` property, part of the identity of the function.
    pub arity: u32,
    pub callback: Arc<HostCallback>,
}

/// The host functions of a realm, in the order of their numbers.
#[derive(Clone, Default)]
pub struct HostFunctions {
    pub functions: Vec<HostFunction>,
}

impl HostFunctions {
    /// Adds a function; a later one of the same name replaces the earlier.
    pub fn register(
        &mut self,
        name: &str,
        arity: u32,
        callback: impl Fn(&mut Realm, Args) -> Completion + Send + Sync + 'static,
    ) {
        let function = HostFunction { name: name.to_string(), arity, callback: Arc::new(callback) };
        match self.functions.iter_mut().find(|f| f.name == name) {
            Some(slot) => *slot = function,
            None => self.functions.push(function),
        }
    }

    /// Number of the function called `name`.
    pub fn find(&self, name: &str) -> Option<u32> {
        self.functions.iter().position(|f| f.name == name).map(|i| i as u32)
    }
}

/// Loads the source of a module: (referrer name, specifier, attributes type) to (resolved name, source).
pub type ModuleLoader = dyn Fn(&str, &str, Option<&str>) -> Result<(String, String), String> + Send + Sync;

/// Hooks of one realm.
#[derive(Clone, Default)]
pub struct HostHooks {
    /// How `import` finds sources; without it only modules of the snapshot can be imported.
    pub module_loader: Option<Arc<ModuleLoader>>,
}

/// A panic inside a host function, turned into an exception.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "unknown panic".into())
}

impl Realm {
    /// A function object for the registered host function number `number`.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_host_function(&mut self, number: u32) -> Completion<Ref> {
        let (name, arity) = match self.host_functions.functions.get(number as usize) {
            Some(f) => (f.name.clone(), f.arity),
            None => return Err(self.throw_type("no such host function")),
        };
        let prototype = self.intrinsic(crate::names::Intrinsic::FunctionPrototype);
        let cell = self.new_object_of(Kind::HostFunction, prototype)?;
        let name = self.intern_str(&name)?;
        self.cage.set(cell, 16, number);
        self.cage.set(cell, 20, self.record.0);
        self.cage.set(cell, 24, name.0);
        let configurable = crate::shapes::CONFIGURABLE;
        self.add_property(cell, self.name(crate::names::Name::length), Value::int(arity as i32), configurable)?;
        self.add_property(cell, self.name(crate::names::Name::name), Value::string(name), configurable)?;
        Ok(cell)
    }

    /// Calls a host function; a panic in it becomes an Error.
    pub(crate) fn call_host(&mut self, function: Ref, args: Args) -> Completion {
        let number = self.cage.u32(function, 16) as usize;
        let Some(callback) = self.host_functions.functions.get(number).map(|f| f.callback.clone()) else {
            return Err(self.throw_type("host function is not registered in this realm"));
        };
        self.check_native_stack()?;
        let state = (self.fp, self.pc, self.depth, self.stack_top);
        // The realm stays consistent across a panic: the frame state is put back, cells are always whole.
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| callback(self, args)));
        match outcome {
            Ok(result) => result,
            Err(panic) => {
                (self.fp, self.pc, self.depth, self.stack_top) = state;
                let text = panic_text(panic.as_ref());
                Err(self.throw_new(crate::names::Intrinsic::ErrorPrototype, &format!("host function panicked: {text}")))
            }
        }
    }
}
