//! `Realm`: what an embedder runs JavaScript with.

use std::sync::atomic::{AtomicU64, Ordering};

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::cage::CageError;
use zjs_engine::objects::Key;
use zjs_engine::realm::{Completion, Realm as EngineRealm, Termination, Throw};
use zjs_engine::value::Value;

use crate::value::{HostValue, ObjectHandle};

/// Why an operation on a realm failed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RealmError {
    /// JavaScript threw: `message` is what an uncaught error shows, `stack` its stack trace or empty.
    #[error("{message}")]
    Exception { message: String, stack: String },
    /// The realm was ended by its budget and runs nothing any more.
    #[error("the realm was terminated: its {} budget was exceeded", match .0 { Termination::Memory => "memory", Termination::Fuel => "fuel" })]
    Terminated(Termination),
    /// A value cannot be used here.
    #[error("{0}")]
    Value(String),
    /// Memory for the realm could not be had.
    #[error("{0}")]
    Memory(String),
}

impl From<CageError> for RealmError {
    fn from(error: CageError) -> Self {
        RealmError::Memory(error.to_string())
    }
}

/// An independent JavaScript realm. It may move between threads; one thread uses it at a time.
pub struct Realm {
    pub(crate) engine: EngineRealm,
    /// Tells this life of this realm from every other of the process; 0 until it hands out a handle.
    pub(crate) life: u64,
}

impl Realm {
    pub(crate) fn from_engine(engine: EngineRealm) -> Realm {
        Realm { engine, life: 0 }
    }

    /// The number of this life, taken when it is first needed: making a realm touches no shared counter.
    fn life(&mut self) -> u64 {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        if self.life == 0 {
            self.life = NEXT.fetch_add(1, Ordering::Relaxed);
        }
        self.life
    }

    /// The engine's realm, for host functions and tools.
    pub fn engine(&mut self) -> &mut EngineRealm {
        &mut self.engine
    }

    /// Evaluates `source` as a script, then runs its jobs; `name` labels it in stack traces.
    ///
    /// # Errors
    /// What the script throws, early errors included, or termination.
    pub fn eval(&mut self, source: &str, name: &str) -> Result<HostValue, RealmError> {
        self.check_alive()?;
        let result = self.engine.evaluate(source, name, &SourceKind::Script);
        let value = self.unwrap(result)?;
        let handle = self.to_host(value);
        self.run_jobs()?;
        Ok(handle)
    }

    /// Calls the global function `name`, then runs the jobs that it left.
    ///
    /// # Errors
    /// What the function throws; [`RealmError::Value`] for a handle of another realm.
    pub fn call(&mut self, name: &str, arguments: &[HostValue]) -> Result<HostValue, RealmError> {
        self.check_alive()?;
        let result = self.call_unwrapped(name, arguments)?;
        let value = self.unwrap(result)?;
        let host = self.to_host(value);
        self.run_jobs()?;
        Ok(host)
    }

    fn call_unwrapped(&mut self, name: &str, arguments: &[HostValue]) -> Result<Completion, RealmError> {
        for argument in arguments {
            self.check_argument(argument)?;
        }
        Ok(self.engine.enter(|engine| {
            let name = engine.intern_str(name)?;
            let function = engine.global_value(name)?;
            let list = engine.new_values(arguments.len() as u32, Value::UNDEFINED)?;
            for (i, argument) in arguments.iter().enumerate() {
                let value = to_engine(engine, argument)?;
                engine.cage.set(list, 8 + 8 * i as u32, value.0);
            }
            engine.call_list(function, Value::UNDEFINED, list)
        }))
    }

    /// Reads a global variable or property of the global object.
    ///
    /// # Errors
    /// What a getter throws; a missing global is undefined.
    pub fn get_global(&mut self, name: &str) -> Result<HostValue, RealmError> {
        self.check_alive()?;
        let result = self.engine.enter(|engine| {
            let key = engine.key(name)?;
            let global = engine.global();
            engine.get(global, key)
        });
        let value = self.unwrap(result)?;
        Ok(self.to_host(value))
    }

    /// Sets a property of the global object.
    ///
    /// # Errors
    /// What a setter throws; [`RealmError::Value`] for a handle of another realm.
    pub fn set_global(&mut self, name: &str, value: &HostValue) -> Result<(), RealmError> {
        self.check_alive()?;
        self.check_argument(value)?;
        let result = self.engine.enter(|engine| {
            let key = engine.key(name)?;
            let value = to_engine(engine, value)?;
            let global = engine.global();
            engine.set(global, key, value)
        });
        self.unwrap(result)
    }

    /// Reads a property of an object.
    ///
    /// # Errors
    /// What a getter throws; [`RealmError::Value`] for a handle of another realm.
    pub fn get_property(&mut self, object: &HostValue, name: &str) -> Result<HostValue, RealmError> {
        self.check_alive()?;
        self.check_argument(object)?;
        let result = self.engine.enter(|engine| {
            let base = to_engine(engine, object)?;
            let key = engine.key(name)?;
            engine.get_value(base, key)
        });
        let value = self.unwrap(result)?;
        Ok(self.to_host(value))
    }

    /// Makes the registered host function `name` a global function of this realm.
    ///
    /// # Errors
    /// [`RealmError::Value`] where no such function is registered.
    pub fn define_host_function(&mut self, name: &str) -> Result<(), RealmError> {
        self.check_alive()?;
        let Some(number) = self.engine.host_functions.find(name) else {
            return Err(RealmError::Value(format!("no host function `{name}` is registered")));
        };
        let result = self.engine.enter(|engine| {
            let function = engine.new_host_function(number)?;
            let key: Key = engine.key(name)?;
            let global = engine.global();
            engine.define_data(global, key, Value::object(function), zjs_engine::shapes::HIDDEN)
        });
        self.unwrap(result)
    }

    /// Runs pending jobs (promise reactions) until none is left.
    ///
    /// # Errors
    /// What a job throws, or termination.
    pub fn run_jobs(&mut self) -> Result<(), RealmError> {
        self.check_alive()?;
        if self.engine.pending_jobs() == 0 {
            return Ok(());
        }
        let result = self.engine.run_jobs();
        self.unwrap(result)
    }

    /// Fuel that is left.
    pub fn fuel_left(&self) -> u64 {
        self.engine.fuel.max(0) as u64
    }

    /// Bytes in cells, garbage included.
    pub fn allocated_bytes(&self) -> u64 {
        self.engine.allocated_bytes()
    }

    /// A realm that its budget ended runs nothing any more.
    fn check_alive(&self) -> Result<(), RealmError> {
        self.engine.termination.map_or(Ok(()), |why| Err(RealmError::Terminated(why)))
    }

    fn check_argument(&self, value: &HostValue) -> Result<(), RealmError> {
        match value {
            HostValue::Object(handle) if handle.life != self.life || !self.engine.has_handle(handle.index) => {
                Err(RealmError::Value("the object belongs to another realm or an earlier life of this one".into()))
            }
            HostValue::Other(text) => Err(RealmError::Value(format!("{text} cannot be passed to a realm"))),
            _ => Ok(()),
        }
    }

    /// The result, or the pending exception as an error.
    pub(crate) fn unwrap<T>(&mut self, result: Completion<T>) -> Result<T, RealmError> {
        match result {
            Ok(value) => Ok(value),
            Err(Throw) => {
                if let Some(why) = self.engine.termination {
                    return Err(RealmError::Terminated(why));
                }
                let exception = std::mem::replace(&mut self.engine.exception, Value::UNDEFINED);
                let (message, stack) = self.engine.describe_exception(exception);
                Err(RealmError::Exception { message, stack })
            }
        }
    }

    fn to_host(&mut self, value: Value) -> HostValue {
        if value.is_number() {
            return HostValue::Number(value.as_number());
        }
        if value.is_string() {
            return HostValue::String(self.engine.string_text(value.as_ref()).unwrap_or_default());
        }
        if value.is_object() {
            let index = self.engine.new_handle(value);
            return HostValue::Object(ObjectHandle { index, life: self.life() });
        }
        match value {
            Value::NULL => HostValue::Null,
            Value::TRUE => HostValue::Bool(true),
            Value::FALSE => HostValue::Bool(false),
            _ if value.is_symbol() || value.is_bigint() => {
                HostValue::Other(self.engine.enter(|engine| engine.describe(value)))
            }
            _ => HostValue::Undefined,
        }
    }
}

fn to_engine(engine: &mut EngineRealm, value: &HostValue) -> Completion {
    Ok(match value {
        HostValue::Undefined | HostValue::Other(_) => Value::UNDEFINED,
        HostValue::Null => Value::NULL,
        HostValue::Bool(b) => Value::boolean(*b),
        HostValue::Number(n) => Value::number(*n),
        HostValue::String(s) => engine.string_value(s)?,
        HostValue::Object(handle) => engine.handle(handle.index),
    })
}
