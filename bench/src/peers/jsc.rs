//! JavaScriptCore through its C API: a realm is a global context in a context group of its own, so with
//! a virtual machine, a heap and intrinsics of its own. The program's source is evaluated in each realm:
//! the C API has no snapshots.
//!
//! Settings (`JSC_useConcurrentJIT`) come from the environment, which the engine reads at first use;
//! hence one worker process per setting.

use crate::peer::{Peer, PeerError, Program, Realm};
use crate::peers::jsc_ffi::{Api, Context};

/// The engine; the library stays loaded for the life of the process.
pub struct Jsc {
    api: Api,
    program: Program,
}

impl Jsc {
    /// Opens the library, or says how to install it.
    pub fn new() -> Result<Jsc, PeerError> {
        let api = Api::open().map_err(|reason| PeerError::Unavailable {
            peer: "JavaScriptCore".into(),
            reason,
            remedy: "apt-get install libjavascriptcoregtk-4.1-0 (Debian and Ubuntu), or leave out the \
                     peers jsc and jsc-sync with --peers"
                .into(),
        })?;
        Ok(Jsc { api, program: Program::Bare })
    }
}

impl Peer for Jsc {
    type Realm<'p> = JscRealm<'p>;

    fn version(&self) -> String {
        format!("JavaScriptCore ({})", self.api.library_file())
    }

    fn load(&mut self, program: Program) -> Result<String, PeerError> {
        self.program = program;
        // One life outside any timed section: the library sets itself up at the first context.
        drop(self.realm()?);
        Ok(String::new())
    }

    fn realm(&self) -> Result<JscRealm<'_>, PeerError> {
        let mut realm = JscRealm { context: self.api.new_context().map_err(PeerError::Engine)? };
        if let Program::Script { source, .. } = &self.program {
            realm.context.run(source).map_err(PeerError::Engine)?;
        }
        Ok(realm)
    }
}

/// A global context; dropping it releases the context and with it the virtual machine.
pub struct JscRealm<'p> {
    context: Context<'p>,
}

impl Realm for JscRealm<'_> {
    fn eval(&mut self, source: &str) -> Result<f64, PeerError> {
        self.context.eval_number(source).map_err(PeerError::Engine)
    }

    fn call(&mut self, function: &str, jobs: u32, lane: u32) -> Result<f64, PeerError> {
        self.context.call_number(function, [f64::from(jobs), f64::from(lane)]).map_err(PeerError::Engine)
    }
}
