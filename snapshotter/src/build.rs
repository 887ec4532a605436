//! Building snapshots: evaluate the entry, run the training script, freeze, compile natively, assemble.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zjs_compiler::Compiler;
use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::host::HostFunctions;
use zjs_engine::realm::{Realm, RealmOptions, Throw};
use zjs_engine::value::Value;
use zjs_loader::metadata::{BuildInfo, HostFunctionInfo, Metadata, TemplateInfo};

use crate::freeze::{FreezeError, FrozenImage, freeze};
use crate::modules::Resolver;
use crate::write::{Contents, NativeSymbol, WriteError, assemble};

/// The clock that builds see: 2020-01-01T00:00:00Z, so that builds do not differ.
const BUILD_CLOCK_MS: f64 = 1_577_836_800_000.0;
const BUILD_SEED: u64 = 0x7a6a_7300;

/// How to read an entry file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryKind {
    /// A classic script: its globals are the interface.
    Script,
    /// A CommonJS module: `require` of relative files works, `module.exports` becomes globals.
    CommonJs,
    /// The root of an ES module graph.
    Module,
}

/// What to build.
#[derive(Clone, Debug, Default)]
pub struct BuildOptions {
    /// Entries, evaluated in this order.
    pub entries: Vec<PathBuf>,
    /// Scripts that run after the entries, to warm what the application will use.
    pub train: Vec<PathBuf>,
    /// Forces how entries are read; `None`: by extension and content.
    pub kind: Option<EntryKind>,
    /// Generate native code.
    pub native: bool,
}

/// Why a build failed.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    #[error("cannot read {path}: {source}")]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{path} is not UTF-8 text")]
    Encoding { path: PathBuf },
    #[error("{path}: {message}")]
    Script { path: PathBuf, message: String, stack: String },
    #[error(transparent)]
    Freeze(#[from] FreezeError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error("cannot make a realm: {0}")]
    Realm(String),
    #[error("native code: {0}")]
    Native(String),
}

/// A finished build.
pub struct Built {
    /// The file's bytes.
    pub bytes: Vec<u8>,
    pub metadata: Metadata,
}

/// Reads a source file.
///
/// # Errors
/// [`BuildError::Io`], [`BuildError::Encoding`].
pub fn read_source(path: &Path) -> Result<String, BuildError> {
    source_text(path, std::fs::read(path).map_err(|source| BuildError::Io { path: path.into(), source })?)
}

/// The text of a source file's bytes, without a byte order mark.
///
/// # Errors
/// [`BuildError::Encoding`].
pub fn source_text(path: &Path, bytes: Vec<u8>) -> Result<String, BuildError> {
    let text = String::from_utf8(bytes).map_err(|_| BuildError::Encoding { path: path.into() })?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_string).unwrap_or(text))
}

/// Builds a snapshot in memory; `progress` is told what is being done.
///
/// # Errors
/// See [`BuildError`].
pub fn build(options: &BuildOptions, host: HostFunctions, mut progress: impl FnMut(&str)) -> Result<Built, BuildError> {
    let mut realm = new_build_realm(host)?;
    for entry in &options.entries {
        progress(&format!("evaluating {}", entry.display()));
        evaluate_entry(&mut realm, entry, options.kind)?;
    }
    for script in &options.train {
        progress(&format!("training with {}", script.display()));
        evaluate_entry(&mut realm, script, Some(EntryKind::Script))?;
    }
    progress("freezing");
    let names = options.entries.iter().map(|p| file_name(p)).collect();
    finish(realm, names, options.native, progress)
}

/// Freezes a realm and assembles the file.
///
/// # Errors
/// See [`BuildError`].
pub fn finish(
    mut realm: Realm,
    inputs: Vec<String>,
    native: bool,
    mut progress: impl FnMut(&str),
) -> Result<Built, BuildError> {
    let mut image = freeze(&mut realm)?;
    let mut metadata = describe(&mut realm, &image, inputs);
    let (mut code, mut symbols) = (Vec::new(), Vec::new());
    if native {
        progress("compiling native code");
        let unit = crate::native::compile(&mut realm, &image).map_err(BuildError::Native)?;
        for (number, offset, bytes) in unit.functions {
            let template = image.templates[number as usize].image;
            image.patch_ro(template, zjs_engine::bytecode::install::NATIVE_ENTRY, offset + 1);
            let info = &mut metadata.templates[number as usize];
            (info.native_offset, info.native_bytes) = (offset, bytes);
            info.native_reason.clear();
            symbols.push(NativeSymbol { name: format!("{}:{}:{}", info.name, info.script, info.line), offset, bytes });
        }
        for (number, what, offset, bytes) in unit.variants {
            let info = &metadata.templates[number as usize];
            symbols.push(NativeSymbol {
                name: format!("{}:{}:{} [{what}]", info.name, info.script, info.line),
                offset,
                bytes,
            });
        }
        for (number, reason) in unit.reasons {
            metadata.templates[number as usize].native_reason = reason;
        }
        code = unit.code;
    }
    progress("writing");
    let bytes = assemble(&Contents { image: &image, code: &code, symbols: &symbols, metadata: &metadata })?;
    Ok(Built { bytes, metadata })
}

fn file_name(path: &Path) -> String {
    path.file_name().map_or_else(|| path.display().to_string(), |n| n.to_string_lossy().into_owned())
}

/// A bare realm with a compiler, a fixed clock and seed, and the host functions defined as globals.
///
/// # Errors
/// When memory cannot be had.
pub fn new_build_realm(host: HostFunctions) -> Result<Realm, BuildError> {
    let options = RealmOptions { seed: Some(BUILD_SEED), clock_ms: Some(BUILD_CLOCK_MS), ..Default::default() };
    let mut realm = Realm::bare(&options).map_err(|e| BuildError::Realm(e.to_string()))?;
    realm.compiler = Some(Arc::new(Compiler));
    realm.host_functions = Arc::new(host);
    let count = realm.host_functions.functions.len() as u32;
    let defined = realm.enter(|realm| -> Result<(), Throw> {
        for number in 0..count {
            let name = realm.host_functions.functions[number as usize].name.clone();
            let function = realm.new_host_function(number)?;
            let key = realm.key(&name)?;
            let global = realm.global();
            realm.define_data(global, key, Value::object(function), zjs_engine::shapes::HIDDEN)?;
        }
        Ok(())
    });
    defined.map_err(|_| BuildError::Realm("cannot define the host functions".into()))?;
    Ok(realm)
}

fn guess_kind(path: &Path, source: &str) -> EntryKind {
    match path.extension().and_then(|e| e.to_str()) {
        Some("mjs") => EntryKind::Module,
        Some("cjs") => EntryKind::CommonJs,
        _ if is_module_only(source) => EntryKind::Module,
        _ if source.contains("module.exports") || source.contains("exports.") || source.contains("require(") => {
            EntryKind::CommonJs
        }
        _ => EntryKind::Script,
    }
}

/// Whether the source is no script but is a module.
pub fn is_module_only(source: &str) -> bool {
    use zjs_engine::bytecode::template::SourceCompiler;
    let mentions = source.contains("import") || source.contains("export");
    let compiler = Compiler;
    mentions
        && compiler.compile(source, "", &SourceKind::Script).is_err()
        && compiler.compile(source, "", &SourceKind::Module).is_ok()
}

/// Evaluates one file in a realm and runs its jobs.
///
/// # Errors
/// [`BuildError::Script`] with JavaScript's message and stack.
pub fn evaluate_entry(realm: &mut Realm, path: &Path, kind: Option<EntryKind>) -> Result<Value, BuildError> {
    let source = read_source(path)?;
    let kind = kind.unwrap_or_else(|| guess_kind(path, &source));
    evaluate_source(realm, path, &source, kind)
}

/// [`evaluate_entry`] of a file that was read already.
///
/// # Errors
/// [`BuildError::Script`] with JavaScript's message and stack.
pub fn evaluate_source(realm: &mut Realm, path: &Path, source: &str, kind: EntryKind) -> Result<Value, BuildError> {
    let name = file_name(path);
    let resolver = Resolver::new(path);
    // One entry from the host: the evaluation promise of a module stays a root until it was looked at.
    let outcome = realm.enter(|realm| {
        let value = match kind {
            EntryKind::Script => realm.evaluate(source, &name, &SourceKind::Script),
            EntryKind::Module => resolver.evaluate_module(realm, source, &name),
            EntryKind::CommonJs => resolver.evaluate_commonjs(realm, source, &name),
        }?;
        realm.run_jobs()?;
        if kind == EntryKind::Module { resolver.check_module(realm, value) } else { Ok(value) }
    });
    outcome.map_err(|Throw| script_error(realm, path))
}

fn script_error(realm: &mut Realm, path: &Path) -> BuildError {
    if let Some(why) = realm.termination {
        return BuildError::Script {
            path: path.into(),
            message: format!("terminated: {why:?} budget exceeded"),
            stack: String::new(),
        };
    }
    let exception = std::mem::replace(&mut realm.exception, Value::UNDEFINED);
    let (message, stack) = realm.describe_exception(exception);
    BuildError::Script { path: path.into(), message, stack }
}

fn describe(realm: &mut Realm, image: &FrozenImage, inputs: Vec<String>) -> Metadata {
    use zjs_engine::bytecode::install::{CODE, SCRIPT, SOURCE_START};
    let mut templates = Vec::with_capacity(image.templates.len());
    let mut sorted = image.templates.clone();
    sorted.sort_by_key(|t| t.number);
    for template in sorted {
        let cell = template.source;
        let script = realm.cage.r(cell, SCRIPT);
        let (line, _) = realm.line_and_column(script, realm.cage.u32(cell, SOURCE_START));
        templates.push(TemplateInfo {
            name: realm.view_flat(realm.template_name(cell)).to_text(),
            script: realm.view_flat(realm.cage.r(script, 8)).to_text(),
            line,
            bytecode_bytes: 2 * realm.cage.u32(realm.cage.r(cell, CODE), 4),
            native_reason: "native code was not asked for".into(),
            ..Default::default()
        });
    }
    Metadata {
        host_functions: image
            .host_functions
            .iter()
            .map(|(name, arity)| HostFunctionInfo { name: name.clone(), arity: *arity })
            .collect(),
        templates,
        build: BuildInfo {
            zjs_version: env!("CARGO_PKG_VERSION").into(),
            inputs,
            clock_ms: BUILD_CLOCK_MS,
            seed: BUILD_SEED,
        },
    }
}
