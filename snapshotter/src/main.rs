//! The command `zjs-snapshot`.
//!
//! Exit codes: 0 success (for `diff`: equal), 1 the script threw, the build failed or the snapshots differ,
//! 2 wrong usage or a file that cannot be used.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};
use zjs_engine::image::{HEADER_OFFSET, MAGIC};
use zjs_engine::realm::RealmOptions;
use zjs_loader::{OpenOptions, Snapshot};
use zjs_snapshotter::build::{
    BuildError, BuildOptions, EntryKind, build, evaluate_source, is_module_only, read_source, source_text,
};
use zjs_snapshotter::host::command_functions;
use zjs_snapshotter::{cache, diff, inspect, write};

#[derive(Parser)]
#[command(name = "zjs-snapshot", version, about = "Builds, runs, inspects and compares zjs snapshots")]
#[command(
    after_help = "Exit codes: 0 success (diff: equal); 1 a script threw, a build failed, or the snapshots differ; 2 wrong usage or unusable file."
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    Script,
    Commonjs,
    Module,
}

#[derive(Subcommand)]
enum Command {
    /// Evaluate files and freeze the result into a snapshot
    Build {
        /// Entry files, evaluated in order
        #[arg(required = true)]
        entries: Vec<PathBuf>,
        /// The snapshot to write
        #[arg(short, long)]
        output: PathBuf,
        /// Script to run before freezing, so that what it uses is warm
        #[arg(long)]
        train: Vec<PathBuf>,
        /// How to read the entries (default: by extension and content)
        #[arg(long)]
        kind: Option<Kind>,
        /// Leave out native code
        #[arg(long)]
        no_native: bool,
        /// No progress on standard error
        #[arg(short, long)]
        quiet: bool,
    },
    /// Run scripts in a realm from a snapshot (FILE.zsnap first) or from the bare snapshot
    Run {
        /// FILE.zsnap [SCRIPT...] or SCRIPT...
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Arguments for the scripts, in the global array `arguments`
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Show what is in a snapshot
    Inspect {
        file: PathBuf,
        /// As JSON
        #[arg(long)]
        json: bool,
    },
    /// Show what differs between two snapshots
    Diff { a: PathBuf, b: PathBuf },
    /// Check a snapshot completely
    Verify { file: PathBuf },
}

/// A failure with the exit code it leads to.
struct Failure {
    report: miette::Report,
    code: u8,
}

fn usage(message: String) -> Failure {
    Failure { report: miette::miette!("{message}"), code: 2 }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let outcome = match cli.command {
        Command::Build { entries, output, train, kind, no_native, quiet } => {
            let kind = kind.map(|k| match k {
                Kind::Script => EntryKind::Script,
                Kind::Commonjs => EntryKind::CommonJs,
                Kind::Module => EntryKind::Module,
            });
            run_build(&BuildOptions { entries, train, kind, native: !no_native }, &output, quiet)
        }
        Command::Run { files, args } => run(&files, &args),
        Command::Inspect { file, json } => run_inspect(&file, json),
        Command::Diff { a, b } => run_diff(&a, &b),
        Command::Verify { file } => run_verify(&file),
    };
    match outcome {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            eprintln!("{:?}", failure.report);
            ExitCode::from(failure.code)
        }
    }
}

fn build_failure(error: BuildError) -> Failure {
    let code = if matches!(error, BuildError::Io { .. } | BuildError::Encoding { .. }) { 2 } else { 1 };
    let report = match &error {
        BuildError::Script { stack, .. } if !stack.is_empty() => {
            miette::miette!(help = stack.clone(), "{error}")
        }
        BuildError::Freeze(_) => miette::miette!(
            help = "what the entry leaves behind must be complete: finish pending work before the end of the script",
            "{error}"
        ),
        _ => miette::miette!("{error}"),
    };
    Failure { report, code }
}

fn run_build(options: &BuildOptions, output: &Path, quiet: bool) -> Result<u8, Failure> {
    let bar = if quiet { indicatif::ProgressBar::hidden() } else { indicatif::ProgressBar::new_spinner() };
    bar.enable_steady_tick(std::time::Duration::from_millis(100));
    let built = build(options, command_functions(), |step| bar.set_message(step.to_string())).map_err(build_failure)?;
    write::write_file(output, &built.bytes).map_err(|e| usage(e.to_string()))?;
    bar.finish_and_clear();
    if !quiet {
        let native = built.metadata.templates.iter().filter(|t| t.native_bytes > 0).count();
        eprintln!(
            "{}: {} bytes, {} functions, {native} with native code",
            output.display(),
            built.bytes.len(),
            built.metadata.templates.len()
        );
    }
    Ok(0)
}

fn open(path: &Path) -> Result<Snapshot, Failure> {
    let options = OpenOptions { host_functions: command_functions(), ..Default::default() };
    Snapshot::open_with(path, options).map_err(|e| usage(e.to_string()))
}

/// Bytes from the start of a file that tell whether it is a snapshot.
const PROBE_BYTES: usize = HEADER_OFFSET + MAGIC.len();

/// Reads a script, or nothing more than its first bytes if it is a snapshot (`None`).
fn read_unless_snapshot(path: &Path) -> Result<Option<String>, Failure> {
    let read = || -> std::io::Result<Option<Vec<u8>>> {
        let mut file = std::fs::File::open(path)?;
        let mut bytes = Vec::with_capacity(PROBE_BYTES);
        file.by_ref().take(PROBE_BYTES as u64).read_to_end(&mut bytes)?;
        if bytes.get(HEADER_OFFSET..) == Some(&MAGIC[..]) {
            return Ok(None);
        }
        // A short first read was the whole file.
        if bytes.len() == PROBE_BYTES {
            file.read_to_end(&mut bytes)?;
        }
        Ok(Some(bytes))
    };
    let bytes = read().map_err(|source| build_failure(BuildError::Io { path: path.into(), source }))?;
    bytes.map(|bytes| source_text(path, bytes)).transpose().map_err(build_failure)
}

fn run(files: &[PathBuf], args: &[String]) -> Result<u8, Failure> {
    let is_named_snapshot = files[0].extension().is_some_and(|e| e == "zsnap");
    let mut first = if is_named_snapshot { None } else { read_unless_snapshot(&files[0])? };
    let (snapshot, scripts) = match &first {
        Some(_) => (bare_snapshot()?, files),
        None => (open_own(&files[0])?, &files[1..]),
    };
    let options = RealmOptions { native_stack_bytes: native_stack_bytes(), ..Default::default() };
    let mut realm = snapshot.new_realm(&options).map_err(|e| usage(e.to_string()))?;
    let realm = realm.engine();
    let list = serde_json::to_string(args).map_err(|e| usage(e.to_string()))?;
    if !args.is_empty() {
        let source = format!("globalThis.arguments = {list};");
        let done = realm.evaluate(&source, "zjs:arguments", &zjs_engine::bytecode::template::SourceKind::Script);
        done.map_err(|_| usage("cannot pass the arguments".into()))?;
    }
    for script in scripts {
        let source = match first.take() {
            Some(source) => source,
            None => read_source(script).map_err(build_failure)?,
        };
        match evaluate_source(realm, script, &source, script_kind(script, &source)) {
            Ok(_) => {}
            Err(BuildError::Script { message, stack, .. }) => {
                // What an uncaught error shows in every engine: the stack, which starts with the message.
                eprintln!("Uncaught {}", if stack.is_empty() { message } else { stack });
                return Ok(1);
            }
            Err(error) => return Err(build_failure(error)),
        }
    }
    Ok(0)
}

/// How `run` reads a file: by extension, and a file that is no script but a module as a module.
fn script_kind(path: &Path, source: &str) -> EntryKind {
    match path.extension().and_then(|e| e.to_str()) {
        Some("mjs") => EntryKind::Module,
        Some("cjs") => EntryKind::CommonJs,
        _ if is_module_only(source) => EntryKind::Module,
        _ => EntryKind::Script,
    }
}

/// What scripts may use of the main thread's stack: all but a reserve for the host below and above.
fn native_stack_bytes() -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Stack).current.unwrap_or(8 << 20);
    (limit.min(64 << 20) as usize).saturating_sub(1 << 20).max(1 << 20)
}

/// Opens a snapshot for `run`: the user vouches for a file given by name, so native code is used.
fn open_own(path: &Path) -> Result<Snapshot, Failure> {
    let options = OpenOptions { host_functions: command_functions(), ..Default::default() };
    // SAFETY: snapshots appear by renaming complete files and this process does not outlive the run; the
    // command's documentation says that `run` trusts its file like an executable.
    unsafe { Snapshot::open_trusted(path, options) }.map_err(|e| usage(e.to_string()))
}

/// The bare snapshot, built once per version of zjs and kept in the user's cache folder.
fn bare_snapshot() -> Result<Snapshot, Failure> {
    let fingerprint = zjs_engine::image::layout_fingerprint();
    let path = cache::folder().join(format!("bare-{fingerprint:032x}.zsnap"));
    if cache::is_valid(&path, fingerprint)
        && let Ok(snapshot) = open_own(&path)
    {
        return Ok(snapshot);
    }
    let built = build(&BuildOptions::default(), command_functions(), |_| {}).map_err(build_failure)?;
    if cache::store(&path, &built.bytes, fingerprint).is_ok() {
        return open_own(&path);
    }
    // No cache folder can be written: use a temporary file, which stays open while it is mapped.
    let temporary =
        tempfile::NamedTempFile::new().map_err(|e| usage(format!("no place for the bare snapshot: {e}")))?;
    write::write_file(temporary.path(), &built.bytes).map_err(|e| usage(e.to_string()))?;
    open_own(temporary.path())
}

fn report(path: &Path) -> Result<inspect::Report, Failure> {
    let snapshot = open(path)?;
    inspect::inspect(&snapshot).map_err(|e| usage(format!("{}: {e}", path.display())))
}

fn run_inspect(path: &Path, json: bool) -> Result<u8, Failure> {
    let report = report(path)?;
    let text = if json {
        serde_json::to_string_pretty(&report).map_err(|e| usage(e.to_string()))? + "\n"
    } else {
        inspect::text(&report)
    };
    use std::io::Write;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(0)
}

fn run_diff(a: &Path, b: &Path) -> Result<u8, Failure> {
    let text = diff::diff(&report(a)?, &report(b)?);
    use std::io::Write;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
    Ok(u8::from(!text.is_empty()))
}

fn run_verify(path: &Path) -> Result<u8, Failure> {
    let snapshot = open(path)?;
    println!(
        "{}: fine, {} segments, image of {} bytes",
        path.display(),
        snapshot.header().segments.len(),
        snapshot.header().roots.image_end - zjs_engine::cage::IMAGE_START
    );
    Ok(0)
}
