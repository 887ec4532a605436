//! `zjs-bench`: the command line of the bench runner.
//!
//! Exit codes: 0 all rows measured and all checksums equal; 1 a row failed or a checksum differed (the
//! report is written all the same and lists it); 2 wrong usage or the report could not be written.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

use zjs_bench::peers::{PEERS, PeerInfo};
use zjs_bench::plan::{self, Choices, Mode};
use zjs_bench::runner;
use zjs_bench::{host, report};

/// Measures what realms cost, next to other engines. Times are medians: µs for instantiate, steady and
/// direct, ms for cold; memory is in KiB.
#[derive(Parser, Debug)]
#[command(name = "zjs-bench", version)]
struct Cli {
    #[command(subcommand)]
    command: Option<Hidden>,
    /// What to measure (default: all)
    #[arg(long, value_enum, value_delimiter = ',')]
    modes: Vec<Mode>,
    /// Engines, by name (default: all; --list shows them). The first one is compared with the others
    #[arg(long, value_delimiter = ',')]
    peers: Vec<String>,
    /// Only rows whose name contains one of these
    #[arg(long, value_delimiter = ',')]
    only: Vec<String>,
    /// Samples per peer and row (default: 31 instantiate and cold, 21 steady, 15 direct, 3 memory)
    #[arg(long)]
    samples: Option<u32>,
    /// Which quantile of the samples the tables show: 0.5 is the median; 0.1 says more on a busy machine
    #[arg(long, default_value_t = 0.5)]
    quantile: f64,
    /// Numbers of threads for instantiate, cold and steady
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8])]
    lanes: Vec<u32>,
    /// Jobs per call of a workload
    #[arg(long, default_value_t = 1)]
    jobs: u32,
    /// How long each realm of steady is warmed, in ms of wall time
    #[arg(long, default_value_t = 300)]
    warm_ms: u32,
    /// A script of your own (such as lodash.js) for instantiate and memory
    #[arg(long)]
    program: Option<PathBuf>,
    /// Folder for the report (Markdown) and the raw samples (TSV)
    #[arg(long, default_value = "bench/reports")]
    out: PathBuf,
    /// Lists the peers and ends
    #[arg(long)]
    list: bool,
}

/// The worker's side; the runner starts it, people do not.
#[derive(Subcommand, Debug)]
enum Hidden {
    #[command(hide = true)]
    Worker { peer: String },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    if let Some(Hidden::Worker { peer }) = &cli.command {
        return match PeerInfo::find(peer) {
            Some(peer) => {
                peer.serve();
                ExitCode::SUCCESS
            }
            None => usage(&format!("there is no peer `{peer}`")),
        };
    }
    if cli.list {
        for peer in PEERS {
            println!("{:<12}{}", peer.name, peer.about);
        }
        return ExitCode::SUCCESS;
    }
    match bench(&cli) {
        Ok(failures) => ExitCode::from(u8::from(failures > 0)),
        Err(message) => usage(&message),
    }
}

fn usage(message: &str) -> ExitCode {
    eprintln!("zjs-bench: {message}");
    ExitCode::from(2)
}

/// Runs the rows, writes the report and the samples, prints the report; returns the number of failures.
fn bench(cli: &Cli) -> Result<usize, String> {
    let peers: Vec<&'static PeerInfo> = if cli.peers.is_empty() {
        PEERS.iter().collect()
    } else {
        let find = |name: &String| PeerInfo::find(name).ok_or_else(|| format!("there is no peer `{name}`; see --list"));
        cli.peers.iter().map(find).collect::<Result<_, _>>()?
    };
    if cli.lanes.contains(&0) {
        return Err("--lanes takes numbers from 1".into());
    }
    if !(0.0..=1.0).contains(&cli.quantile) {
        return Err("--quantile takes a number from 0 to 1".into());
    }
    let choices = Choices {
        modes: if cli.modes.is_empty() { Mode::ALL.to_vec() } else { cli.modes.clone() },
        only: cli.only.clone(),
        lanes: cli.lanes.clone(),
        jobs: cli.jobs,
        warm_ms: cli.warm_ms,
        program: cli.program.as_deref().map(read_program).transpose()?,
    };
    let rows = plan::rows(&choices);
    if rows.is_empty() {
        return Err("no row is left; look at --modes and --only".into());
    }
    let stamp = host::timestamp();
    let outcome = runner::run(&peers, &rows, &choices, cli.samples, cli.quantile)
        .map_err(|error| format!("a worker cannot be started: {error}"))?;
    let text = report::render(&outcome, &rows, &choices, &stamp);
    print!("{text}");
    std::fs::create_dir_all(&cli.out).map_err(|error| cannot_write(&cli.out, &error))?;
    for (extension, content) in [("md", &text), ("tsv", &outcome.store.to_tsv())] {
        let path = cli.out.join(format!("{stamp}.{extension}"));
        std::fs::write(&path, content).map_err(|error| cannot_write(&path, &error))?;
        eprintln!("written: {}", path.display());
    }
    Ok(outcome.store.failures.len())
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("{} cannot be written: {error}", path.display())
}

fn read_program(path: &Path) -> Result<(String, String), String> {
    let source =
        std::fs::read_to_string(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))?;
    let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
    Ok((name, source))
}
