//! zjs itself. A realm comes from a snapshot in which the program is frozen, or (`Source`) it is a bare
//! realm in which the program's source is evaluated.
//!
//! `load` is the embedder's build step, its opening of the file and its making of the pool: outside every
//! timed section, and reported beside with the time of each.
//!
//! Invariant: a snapshot file is written once under a name of its own and not touched while it is mapped.

use std::path::PathBuf;
use std::time::Instant;

use tempfile::TempDir;
use zjs_loader::{HostFunctions, HostValue, OpenOptions, PoolOptions, PooledRealm, RealmOptions, RealmPool, Snapshot};
use zjs_snapshotter::build::{BuildOptions, EntryKind, build};

use crate::peer::{Peer, PeerError, Program, Realm};

/// How realms come to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// From the pool of slots, native code on.
    Pool,
    /// As `Pool`; the program's function was called once before freezing.
    Trained,
    /// A fresh mapping for every realm, native code on.
    FreshMapping,
    /// From the pool of slots, native code off.
    Interpreter,
    /// Bare realms from the pool of slots; the program is evaluated in each.
    Source,
}

/// Slots that a pool has before the first realm is asked for: one per lane of the widest row.
const PREPARED_SLOTS: usize = 8;

/// A snapshot that is open, and the pool over it.
struct Loaded {
    snapshot: Snapshot,
    pool: RealmPool,
}

/// zjs with one setting.
pub struct Zjs {
    setting: Setting,
    options: RealmOptions,
    folder: TempDir,
    files: u32,
    loaded: Option<Loaded>,
    /// Evaluated in every realm (`Source` only).
    script: Option<(String, String)>,
}

/// The engine's or the snapshotter's error as the peer's.
fn engine_error(error: impl std::fmt::Display) -> PeerError {
    PeerError::Engine(error.to_string())
}

impl Zjs {
    pub fn new(setting: Setting) -> Result<Zjs, PeerError> {
        let options = RealmOptions { native_code: setting != Setting::Interpreter, ..Default::default() };
        let folder = TempDir::with_prefix("zjs-bench-").map_err(engine_error)?;
        Ok(Zjs { setting, options, folder, files: 0, loaded: None, script: None })
    }

    /// Builds a snapshot of `entry` (nothing: the bare one) into a file with a name of its own.
    fn build(&mut self, entry: Option<(&str, &str)>) -> Result<PathBuf, PeerError> {
        let mut options = BuildOptions {
            kind: Some(EntryKind::Script),
            native: self.setting != Setting::Interpreter,
            ..Default::default()
        };
        if let Some((name, source)) = entry {
            let path = self.folder.path().join(name);
            std::fs::write(&path, source).map_err(engine_error)?;
            if let (Setting::Trained, Some(function)) = (self.setting, name.strip_suffix(".js")) {
                let train = self.folder.path().join("train.js");
                let call = format!("if (typeof {function} === 'function') {function}(1, 0);");
                std::fs::write(&train, call).map_err(engine_error)?;
                options.train.push(train);
            }
            options.entries.push(path);
        }
        let built = build(&options, HostFunctions::default(), |_| {}).map_err(engine_error)?;
        self.files += 1;
        let file = self.folder.path().join(format!("{}.zsnap", self.files));
        std::fs::write(&file, &built.bytes).map_err(engine_error)?;
        Ok(file)
    }
}

impl Peer for Zjs {
    type Realm<'p> = ZjsRealm<'p>;

    fn version(&self) -> String {
        format!("zjs {}", env!("CARGO_PKG_VERSION"))
    }

    fn load(&mut self, program: Program) -> Result<String, PeerError> {
        let begin = Instant::now();
        self.loaded = None;
        self.script = None;
        let file = match (program, self.setting) {
            (Program::Bare, _) => self.build(None)?,
            (Program::Script { name, source }, Setting::Source) => {
                self.script = Some((name, source));
                self.build(None)?
            }
            (Program::Script { name, source }, _) => self.build(Some((&name, &source)))?,
        };
        let built = begin.elapsed();
        let bytes = std::fs::metadata(&file).map_err(engine_error)?.len();
        let begin = Instant::now();
        // SAFETY: this process wrote the file just now with the snapshotter of this build, under a name
        // that is used once, in a folder of its own that lives as long as `self`.
        let snapshot = unsafe { Snapshot::open_trusted(&file, OpenOptions::default()) }.map_err(engine_error)?;
        let opened = begin.elapsed();
        let begin = Instant::now();
        let options = PoolOptions { realm: self.options.clone(), prepared: PREPARED_SLOTS, ..Default::default() };
        let pool = RealmPool::new(&snapshot, options).map_err(engine_error)?;
        let pooled = begin.elapsed();
        self.loaded = Some(Loaded { snapshot, pool });
        Ok(format!(
            "snapshot of {} KiB: build {:.1} ms, open {:.3} ms, pool of {PREPARED_SLOTS} slots {:.3} ms",
            bytes / 1024,
            built.as_secs_f64() * 1e3,
            opened.as_secs_f64() * 1e3,
            pooled.as_secs_f64() * 1e3,
        ))
    }

    fn realm(&self) -> Result<ZjsRealm<'_>, PeerError> {
        let Some(Loaded { snapshot, pool }) = &self.loaded else {
            return Err(PeerError::Engine("no program is loaded".into()));
        };
        let mut realm = match self.setting {
            Setting::FreshMapping => {
                ZjsRealm::Mapped(Box::new(snapshot.new_realm(&self.options).map_err(engine_error)?))
            }
            _ => ZjsRealm::Pooled(Box::new(pool.acquire().map_err(engine_error)?)),
        };
        if let Some((name, source)) = &self.script {
            realm.realm().eval(source, name).map_err(engine_error)?;
        }
        Ok(realm)
    }
}

/// A realm of zjs.
pub enum ZjsRealm<'p> {
    Pooled(Box<PooledRealm<'p>>),
    Mapped(Box<zjs_loader::Realm>),
}

impl ZjsRealm<'_> {
    fn realm(&mut self) -> &mut zjs_loader::Realm {
        match self {
            ZjsRealm::Pooled(realm) => realm,
            ZjsRealm::Mapped(realm) => realm,
        }
    }
}

fn number(what: &str, value: HostValue) -> Result<f64, PeerError> {
    match value {
        HostValue::Number(number) => Ok(number),
        other => Err(PeerError::NotAnInteger { what: what.to_string(), found: other.to_string() }),
    }
}

impl Realm for ZjsRealm<'_> {
    fn eval(&mut self, source: &str) -> Result<f64, PeerError> {
        let value = self.realm().eval(source, "eval.js").map_err(engine_error)?;
        number("eval", value)
    }

    fn call(&mut self, function: &str, jobs: u32, lane: u32) -> Result<f64, PeerError> {
        let arguments = [HostValue::Number(f64::from(jobs)), HostValue::Number(f64::from(lane))];
        let value = self.realm().call(function, &arguments).map_err(engine_error)?;
        number(function, value)
    }
}
