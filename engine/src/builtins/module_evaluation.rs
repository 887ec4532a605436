//! Evaluation of linked modules (ECMA-262 16.2.1.6.1.3), with top-level await, and what running code asks of
//! modules: import() and import.meta (13.3.10, 13.3.12). Records, loading and linking are in `modules`.

use super::*;
use crate::objects::function::DATA;
use crate::shapes::DEFAULT;

impl Realm {
    /// Evaluate (16.2.1.6.1.3): the promise of the module's cycle root.
    pub(super) fn evaluate_linked(&mut self, module: Ref) -> Completion<Ref> {
        let mut module = module;
        if self.module_state(module) >= EVALUATING_ASYNC {
            let root = self.field(module, ROOT);
            if root.is_cell() {
                module = root.as_ref();
            }
        }
        if let Some(promise) = self.field(module, CAPABILITY).to_object_ref() {
            return Ok(promise);
        }
        let promise = self.new_promise(Intrinsic::PromisePrototype)?;
        self.set_field(module, CAPABILITY, Value::object(promise));
        let mut stack = Vec::new();
        let mut index = 0;
        match self.inner_evaluate(module, &mut stack, &mut index) {
            Ok(()) => {
                if self.field(module, ORDER).is_undefined() {
                    self.resolve_promise(promise, Value::UNDEFINED)?;
                }
            }
            Err(Throw) => {
                let reason = self.take_exception()?;
                for &number in &stack {
                    self.set_module_state(Ref(number), EVALUATED);
                    self.set_field(Ref(number), ERROR, reason);
                }
                self.reject_promise(promise, reason)?;
            }
        }
        Ok(promise)
    }

    /// InnerModuleEvaluation (16.2.1.6.1.3.1)
    fn inner_evaluate(&mut self, module: Ref, stack: &mut Vec<u32>, index: &mut i32) -> Completion<()> {
        self.check_native_stack()?;
        match self.module_state(module) {
            EVALUATING_ASYNC | EVALUATED => return self.evaluation_result(module),
            EVALUATING => return Ok(()),
            _ => {}
        }
        self.enter_walk(module, EVALUATING, stack, index);
        let mut pending = 0;
        for i in 0..self.rows(module, REQUESTS, 3) {
            let Some(mut required) = self.requested(module, i) else { continue };
            self.inner_evaluate(required, stack, index)?;
            if self.module_state(required) == EVALUATING {
                self.lower_ancestor(module, required);
            } else {
                let root = self.field(required, ROOT);
                if root.is_cell() {
                    required = root.as_ref();
                }
                self.evaluation_result(required)?;
            }
            if self.field(required, ORDER).is_int() {
                pending += 1;
                self.add_async_parent(required, module)?;
            }
        }
        self.set_field(module, PENDING, Value::int(pending));
        if pending > 0 || self.field(module, AWAITS).is_true() {
            let order = self.next_module_order();
            self.set_field(module, ORDER, order);
            if pending == 0 {
                self.execute_async_module(module)?;
            }
        } else {
            self.execute_module(module)?;
        }
        if self.field(module, DFS_INDEX) == self.field(module, DFS_ANCESTOR) {
            while let Some(number) = stack.pop() {
                let popped = Ref(number);
                let is_sync = self.field(popped, ORDER).is_undefined();
                self.set_module_state(popped, if is_sync { EVALUATED } else { EVALUATING_ASYNC });
                self.set_field(popped, ROOT, Value::cell(module));
                if popped == module {
                    break;
                }
            }
        }
        Ok(())
    }

    /// Throws the module's [[EvaluationError]], if it has one.
    fn evaluation_result(&mut self, module: Ref) -> Completion<()> {
        let error = self.field(module, ERROR);
        if error.is_hole() { Ok(()) } else { Err(self.throw(error)) }
    }

    fn add_async_parent(&mut self, module: Ref, parent: Ref) -> Completion<()> {
        let parents = match self.field(module, PARENTS).to_object_ref() {
            Some(parents) => parents,
            None => {
                let parents = self.new_array()?;
                self.set_field(module, PARENTS, Value::object(parents));
                parents
            }
        };
        self.array_push(parents, Value::cell(parent))
    }

    fn async_parents(&self, module: Ref) -> Vec<u32> {
        let Some(parents) = self.field(module, PARENTS).to_object_ref() else { return Vec::new() };
        (0..self.array_length(parents))
            .filter_map(|i| self.stored_element(parents, i))
            .map(|own| own.value.as_ref().0)
            .collect()
    }

    /// IncrementModuleAsyncEvaluationCount (9.6.3)
    fn next_module_order(&mut self) -> Value {
        let last = self.intrinsic_value(Intrinsic::ModuleOrder);
        let order = Value::int(if last.is_int() { last.as_int().wrapping_add(1) } else { 0 });
        self.set_intrinsic(Intrinsic::ModuleOrder, order);
        order
    }

    /// ExecuteModule (16.2.1.7.3.2): what the top-level code returns, a promise if it awaits.
    fn execute_module(&mut self, module: Ref) -> Completion {
        let templates = self.field(module, TEMPLATES);
        if !templates.is_cell() {
            return Ok(Value::UNDEFINED);
        }
        let top = Value(self.cage.get(templates.as_ref(), 8)).as_ref();
        let function = self.new_closure(top, self.field(module, ENVIRONMENT), 0)?;
        self.call(function, Value::UNDEFINED, &[])
    }

    /// ExecuteAsyncModule (16.2.1.6.1.3.2)
    fn execute_async_module(&mut self, module: Ref) -> Completion<()> {
        let promise = self.execute_module(module)?;
        let promise = self.promise_resolve_intrinsic(promise)?;
        let (done, failed) = self.function_pair(MODULE_FULFILLED, MODULE_REJECTED, Value::cell(module))?;
        self.perform_then(promise, done, failed, Value::UNDEFINED)
    }

    /// Two native functions over the same data.
    fn function_pair(&mut self, done: u32, failed: u32, data: Value) -> Completion<(Value, Value)> {
        let empty = self.name_value(Name::empty);
        let done = self.new_native_function_named(done, data, empty, 0)?;
        let failed = self.new_native_function_named(failed, data, empty, 1)?;
        Ok((Value::object(done), Value::object(failed)))
    }

    /// GatherAvailableAncestors (16.2.1.6.1.3.3)
    fn gather_ancestors(&mut self, module: Ref, list: &mut Vec<u32>) -> Completion<()> {
        self.check_native_stack()?;
        for number in self.async_parents(module) {
            let parent = Ref(number);
            let root = self.field(parent, ROOT);
            let failed = root.is_cell() && !self.field(root.as_ref(), ERROR).is_hole();
            if list.contains(&number) || failed {
                continue;
            }
            let pending = self.field(parent, PENDING).as_int() - 1;
            self.set_field(parent, PENDING, Value::int(pending));
            if pending == 0 {
                list.push(number);
                if !self.field(parent, AWAITS).is_true() {
                    self.gather_ancestors(parent, list)?;
                }
            }
        }
        Ok(())
    }

    /// Marks a module that ran asynchronously as done and settles its promise.
    fn finish_async_module(&mut self, module: Ref) -> Completion<()> {
        self.set_field(module, ORDER, Value::TRUE);
        self.set_module_state(module, EVALUATED);
        match self.field(module, CAPABILITY).to_object_ref() {
            Some(promise) => self.resolve_promise(promise, Value::UNDEFINED),
            None => Ok(()),
        }
    }

    /// AsyncModuleExecutionFulfilled (16.2.1.6.1.3.4)
    fn async_module_fulfilled(&mut self, module: Ref) -> Completion<()> {
        if self.module_state(module) == EVALUATED {
            return Ok(());
        }
        self.finish_async_module(module)?;
        let mut list = Vec::new();
        self.gather_ancestors(module, &mut list)?;
        list.sort_by_key(|&number| {
            let order = self.field(Ref(number), ORDER);
            if order.is_int() { order.as_int() } else { -1 }
        });
        for number in list {
            let ancestor = Ref(number);
            if self.module_state(ancestor) == EVALUATED {
                continue;
            }
            let awaits = self.field(ancestor, AWAITS).is_true();
            let result =
                if awaits { self.execute_async_module(ancestor) } else { self.execute_module(ancestor).map(|_| ()) };
            match result {
                Ok(()) if awaits => {}
                Ok(()) => self.finish_async_module(ancestor)?,
                Err(Throw) => {
                    let reason = self.take_exception()?;
                    self.async_module_rejected(ancestor, reason)?;
                }
            }
        }
        Ok(())
    }

    /// AsyncModuleExecutionRejected (16.2.1.6.1.3.5)
    fn async_module_rejected(&mut self, module: Ref, reason: Value) -> Completion<()> {
        self.check_native_stack()?;
        if self.module_state(module) == EVALUATED {
            return Ok(());
        }
        self.set_field(module, ERROR, reason);
        self.set_module_state(module, EVALUATED);
        self.set_field(module, ORDER, Value::TRUE);
        if let Some(promise) = self.field(module, CAPABILITY).to_object_ref() {
            self.reject_promise(promise, reason)?;
        }
        for number in self.async_parents(module) {
            self.async_module_rejected(Ref(number), reason)?;
        }
        Ok(())
    }

    // --- import() and import.meta

    /// The script of the code that runs in frame `fp`.
    fn frame_script(&self, fp: u32) -> Ref {
        self.cage.r(self.frame_template(fp), SCRIPT)
    }

    /// EvaluateImportCall (13.3.10.2): a promise of the namespace.
    #[inline(never)]
    pub(crate) fn import_call(&mut self, fp: u32, specifier: Value, options: Value) -> Completion {
        let promise = self.new_promise(Intrinsic::PromisePrototype)?;
        let referrer = self.cage.r(self.frame_script(fp), 8);
        if let Err(Throw) = self.start_import(referrer, specifier, options, promise) {
            let reason = self.take_exception()?;
            self.reject_promise(promise, reason)?;
        }
        Ok(Value::object(promise))
    }

    fn start_import(&mut self, referrer: Ref, specifier: Value, options: Value, promise: Ref) -> Completion<()> {
        let specifier = self.to_string(specifier)?;
        let kind = self.import_type(options)?;
        let (referrer, specifier) = (self.string_text(referrer)?, self.string_text(specifier)?);
        let module = self.load_module(&referrer, &specifier, &kind)?;
        self.load_graph(module)?;
        // ContinueDynamicImport (13.3.10.4): linking and evaluation are a job of their own.
        let data = self.new_values(2, Value::cell(module))?;
        self.cage.set(data, 16, Value::object(promise).0);
        let loaded = self.new_promise(Intrinsic::PromisePrototype)?;
        self.resolve_promise(loaded, Value::UNDEFINED)?;
        let empty = self.name_value(Name::empty);
        let go_on = self.new_native_function_named(IMPORT_LOADED, Value::cell(data), empty, 0)?;
        self.perform_then(loaded, Value::object(go_on), Value::UNDEFINED, Value::UNDEFINED)
    }

    /// The `type` attribute of the options of import().
    fn import_type(&mut self, options: Value) -> Completion<String> {
        let mut kind = String::new();
        if options.is_undefined() {
            return Ok(kind);
        }
        let Some(options) = options.to_object_ref() else {
            return Err(self.throw_type("The second argument of import() must be an object"));
        };
        let attributes = self.get_name(options, Name::with)?;
        if attributes.is_undefined() {
            return Ok(kind);
        }
        let Some(attributes) = attributes.to_object_ref() else {
            return Err(self.throw_type("The 'with' option of import() must be an object"));
        };
        let keys = self.own_keys(attributes)?;
        let mut unknown = None;
        for i in 0..self.cage.u32(keys, 4) {
            let key_value = Value(self.cage.get(keys, 8 + 8 * i));
            if !key_value.is_string() {
                continue;
            }
            let key = self.to_property_key(key_value)?;
            if !self.get_own_property(attributes, key)?.is_some_and(|own| own.enumerable()) {
                continue;
            }
            let value = self.get(attributes, key)?;
            if !value.is_string() {
                return Err(self.throw_type("Import attribute value must be a string"));
            }
            if key == self.key_for(Name::type_) {
                kind = self.string_text(value.as_ref())?;
            } else {
                unknown = Some(key);
            }
        }
        match unknown {
            Some(key) => {
                let text = self.key_text(key);
                Err(self.throw_type(&format!("Import attribute '{text}' is not supported")))
            }
            None => Ok(kind),
        }
    }

    /// import.meta (13.3.12.1): an object without prototype whose `url` is the module's name.
    #[inline(never)]
    pub(crate) fn import_meta(&mut self, fp: u32) -> Completion {
        let script = Value::cell(self.frame_script(fp));
        let Some(module) = self.find_module(script)? else {
            return Err(self.throw_type("import.meta outside of a module"));
        };
        if self.field(module, META).is_object() {
            return Ok(self.field(module, META));
        }
        let meta = self.new_object_with_prototype(Ref::NULL)?;
        self.define_data(meta, self.key_for(Name::url), self.field(module, NAME), DEFAULT)?;
        self.set_field(module, META, Value::object(meta));
        Ok(Value::object(meta))
    }
}

fn data(realm: &Realm, args: Args) -> Ref {
    Value(realm.cage.get(args.callee, DATA)).as_ref()
}

pub(super) fn module_fulfilled(realm: &mut Realm, args: Args) -> Completion {
    realm.async_module_fulfilled(data(realm, args))?;
    Ok(Value::UNDEFINED)
}

pub(super) fn module_rejected(realm: &mut Realm, args: Args) -> Completion {
    let reason = args.get(realm, 0);
    realm.async_module_rejected(data(realm, args), reason)?;
    Ok(Value::UNDEFINED)
}

/// The linkAndEvaluate closure of ContinueDynamicImport (13.3.10.4); data: module, promise.
pub(super) fn import_loaded(realm: &mut Realm, args: Args) -> Completion {
    let data = data(realm, args);
    let (module, promise) = (Value(realm.cage.get(data, 8)).as_ref(), Value(realm.cage.get(data, 16)).as_ref());
    let evaluation = match realm.link_module(module) {
        Ok(()) => realm.evaluate_linked(module)?,
        Err(Throw) => {
            let reason = realm.take_exception()?;
            realm.reject_promise(promise, reason)?;
            return Ok(Value::UNDEFINED);
        }
    };
    let (done, failed) = realm.function_pair(IMPORT_DONE, IMPORT_FAILED, Value::cell(data))?;
    realm.perform_then(evaluation, done, failed, Value::UNDEFINED)?;
    Ok(Value::UNDEFINED)
}

pub(super) fn import_done(realm: &mut Realm, args: Args) -> Completion {
    let data = data(realm, args);
    let (module, promise) = (Value(realm.cage.get(data, 8)).as_ref(), Value(realm.cage.get(data, 16)).as_ref());
    let namespace = realm.module_namespace(module)?;
    realm.resolve_promise(promise, Value::object(namespace))?;
    Ok(Value::UNDEFINED)
}

pub(super) fn import_failed(realm: &mut Realm, args: Args) -> Completion {
    let reason = args.get(realm, 0);
    let promise = Value(realm.cage.get(data(realm, args), 16)).as_ref();
    realm.reject_promise(promise, reason)?;
    Ok(Value::UNDEFINED)
}
