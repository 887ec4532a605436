//! QuickJS-ng through rquickjs: a realm is a runtime of its own with one context that has every
//! intrinsic (`JS_NewContext`). The program's source is evaluated in each realm.
//!
//! Scripts are sloppy, as in every peer: rquickjs evaluates as strict code unless told otherwise.

use rquickjs::context::EvalOptions;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Runtime};

use crate::peer::{Peer, PeerError, Program, Realm};

/// The engine has no state outside its runtimes.
pub struct QuickJs {
    program: Program,
}

impl QuickJs {
    pub fn new() -> QuickJs {
        QuickJs { program: Program::Bare }
    }
}

impl Default for QuickJs {
    fn default() -> QuickJs {
        QuickJs::new()
    }
}

/// An error of rquickjs itself, before or without an exception.
fn engine_error(error: rquickjs::Error) -> PeerError {
    PeerError::Engine(error.to_string())
}

fn sloppy() -> EvalOptions {
    let mut options = EvalOptions::default();
    options.strict = false;
    options
}

impl Peer for QuickJs {
    type Realm<'p> = QuickJsRealm;

    fn version(&self) -> String {
        "QuickJS-ng as rquickjs 0.14 bundles it".into()
    }

    fn load(&mut self, program: Program) -> Result<String, PeerError> {
        self.program = program;
        drop(self.realm()?);
        Ok(String::new())
    }

    fn realm(&self) -> Result<QuickJsRealm, PeerError> {
        let runtime = Runtime::new().map_err(engine_error)?;
        let context = Context::full(&runtime).map_err(engine_error)?;
        let realm = QuickJsRealm { context, _runtime: runtime };
        if let Program::Script { source, .. } = &self.program {
            realm.with(|ctx| ctx.eval_with_options::<(), _>(source.as_str(), sloppy()))?;
        }
        Ok(realm)
    }
}

/// A runtime and its context; the fields' order drops the context first.
pub struct QuickJsRealm {
    context: Context,
    _runtime: Runtime,
}

impl QuickJsRealm {
    /// Runs `body` in the context; an exception becomes an error with its message and stack.
    fn with<T>(&self, body: impl for<'js> FnOnce(Ctx<'js>) -> rquickjs::Result<T>) -> Result<T, PeerError> {
        self.context.with(|ctx| body(ctx.clone()).catch(&ctx).map_err(|error| PeerError::Engine(error.to_string())))
    }
}

impl Realm for QuickJsRealm {
    fn eval(&mut self, source: &str) -> Result<f64, PeerError> {
        self.with(|ctx| ctx.eval_with_options(source, sloppy()))
    }

    fn call(&mut self, function: &str, jobs: u32, lane: u32) -> Result<f64, PeerError> {
        self.with(|ctx| {
            let callee: Function = ctx.globals().get(function)?;
            callee.call((jobs, lane))
        })
    }
}
