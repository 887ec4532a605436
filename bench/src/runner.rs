//! The runner: starts one worker per peer and takes every row's samples in alternating order.
//!
//! The order of peers rotates by one with every sample and is reversed in every other one, so that no
//! peer always runs after the same neighbour. A checksum that differs between peers is a failure of the
//! run; so is a peer that cannot do a row.
//!
//! Invariant: at most one request is outstanding, so at most one worker works.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use thiserror::Error;

use crate::peers::PeerInfo;
use crate::plan::{Choices, Mode, Row};
use crate::protocol::{Request, Response};
use crate::samples::{Record, Store};

/// Why a request had no useful answer.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("{0}")]
    Peer(String),
    #[error("the worker of {peer} ended: {reason}")]
    WorkerEnded { peer: &'static str, reason: String },
    #[error("the worker of {peer} gave an answer that does not fit the question")]
    Unexpected { peer: &'static str },
}

/// A worker process and the pipes to it.
struct Worker {
    peer: &'static PeerInfo,
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Worker {
    /// Starts this very binary as the peer's worker.
    fn start(peer: &'static PeerInfo) -> std::io::Result<Worker> {
        let mut child = Command::new(std::env::current_exe()?)
            .arg("worker")
            .arg(peer.name)
            .envs(peer.environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Worker { peer, child, input, output })
    }

    fn request(&mut self, request: &Request) -> Result<Response, RunError> {
        let peer = self.peer.name;
        let ended = |reason: String| RunError::WorkerEnded { peer, reason };
        let line = serde_json::to_string(request).expect("requests are plain data");
        writeln!(self.input, "{line}").map_err(|error| ended(error.to_string()))?;
        let mut answer = String::new();
        match self.output.read_line(&mut answer) {
            Ok(0) => {
                let status = self.child.wait().map_or_else(|e| e.to_string(), |s| s.to_string());
                Err(ended(status))
            }
            Ok(_) => match serde_json::from_str(&answer) {
                Ok(Response::Failed { message }) => Err(RunError::Peer(message)),
                Ok(response) => Ok(response),
                Err(error) => Err(ended(format!("{error} in {answer:?}"))),
            },
            Err(error) => Err(ended(error.to_string())),
        }
    }

    fn expect_done(&mut self, request: &Request) -> Result<(), RunError> {
        match self.request(request)? {
            Response::Done => Ok(()),
            _ => Err(RunError::Unexpected { peer: self.peer.name }),
        }
    }

    /// A new process for the same peer, after the old one ended or lost step.
    fn restart(&mut self) -> std::io::Result<()> {
        let fresh = Worker::start(self.peer)?;
        drop(std::mem::replace(self, fresh));
        Ok(())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // Ends by itself when its input closes, but a worker stuck in JavaScript would not.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A peer that is there: its name, what it is, and its engine's version.
#[derive(Clone, Debug)]
pub struct Present {
    pub name: &'static str,
    pub about: &'static str,
    pub version: String,
}

/// What a run gives: samples, and who took part.
pub struct Outcome {
    pub store: Store,
    pub present: Vec<Present>,
    /// Peers that were asked for and are missing, with the remedy.
    pub missing: Vec<String>,
}

/// Runs all rows with all peers that are there.
pub fn run(
    peers: &[&'static PeerInfo],
    rows: &[Row],
    choices: &Choices,
    samples: Option<u32>,
    quantile: f64,
) -> std::io::Result<Outcome> {
    let mut outcome = Outcome { store: Store::new(quantile), present: Vec::new(), missing: Vec::new() };
    let mut workers = Vec::new();
    for peer in peers {
        let mut worker = Worker::start(peer)?;
        match worker.request(&Request::Hello) {
            Ok(Response::Hello { version }) => {
                outcome.present.push(Present { name: peer.name, about: peer.about, version });
                workers.push(worker);
            }
            Ok(_) => outcome.missing.push(format!("{}: unexpected answer", peer.name)),
            Err(error) => outcome.missing.push(format!("{}: {error}", peer.name)),
        }
    }
    for missing in &outcome.missing {
        eprintln!("left out: {missing}");
    }
    for (index, row) in rows.iter().enumerate() {
        eprintln!("[{}/{}] {} {} lanes={}", index + 1, rows.len(), row.mode.name(), row.name, row.lanes);
        let count = samples.unwrap_or_else(|| row.mode.default_samples());
        RowRun { row, choices, store: &mut outcome.store, expected: HashMap::new() }.run(&mut workers, count)?;
    }
    Ok(outcome)
}

/// One row being measured.
struct RowRun<'a> {
    row: &'a Row,
    choices: &'a Choices,
    store: &'a mut Store,
    /// Checksums by lane, from the first peer that gave them.
    expected: HashMap<usize, (i64, &'static str)>,
}

/// A sample of `instantiate` takes about this long: short realms are made many times over.
const INSTANTIATE_SAMPLE_NS: f64 = 2e6;

impl RowRun<'_> {
    fn run(mut self, workers: &mut [Worker], count: u32) -> std::io::Result<()> {
        if self.row.mode == Mode::Memory {
            return self.run_memory(workers, count);
        }
        // Which workers can do this row, and with how many repeats.
        let mut ready: Vec<(usize, u32)> = Vec::new();
        for (index, worker) in workers.iter_mut().enumerate() {
            match self.prepare(worker) {
                Ok(repeats) => ready.push((index, repeats)),
                Err(error) => self.fail(worker, &error)?,
            }
        }
        for sample in 0..count {
            let order = alternate(ready.len(), sample);
            let mut broken = Vec::new();
            for (place, &slot) in order.iter().enumerate() {
                let (index, repeats) = ready[slot];
                let worker = &mut workers[index];
                if let Err(error) = self.sample(worker, repeats, sample, place as u32) {
                    self.fail(worker, &error)?;
                    broken.push(index);
                }
            }
            ready.retain(|(index, _)| !broken.contains(index));
        }
        if self.row.opening(self.choices).is_some() {
            for (index, _) in ready {
                if workers[index].expect_done(&Request::SteadyClose).is_err() {
                    workers[index].restart()?;
                }
            }
        }
        Ok(())
    }

    /// Memory that earlier realms gave back to the allocator would hide what new ones take: each sample
    /// has a worker of its own, and there is no sample before the first.
    fn run_memory(&mut self, workers: &mut [Worker], count: u32) -> std::io::Result<()> {
        let mut ready: Vec<usize> = (0..workers.len()).collect();
        for sample in 0..count {
            let order = alternate(ready.len(), sample).into_iter().map(|slot| ready[slot]);
            let mut broken = Vec::new();
            for (place, index) in order.enumerate() {
                let worker = &mut workers[index];
                worker.restart()?;
                let taken = self.load(worker).and_then(|()| self.sample(worker, 1, sample, place as u32));
                if let Err(error) = taken {
                    self.fail(worker, &error)?;
                    broken.push(index);
                }
            }
            ready.retain(|index| !broken.contains(index));
        }
        Ok(())
    }

    /// Loads the program, opens what must be open, takes one sample that is not kept.
    fn prepare(&mut self, worker: &mut Worker) -> Result<u32, RunError> {
        self.load(worker)?;
        if let Some(opening) = self.row.opening(self.choices) {
            worker.expect_done(&opening)?;
        }
        match worker.request(&self.row.request(self.choices, 1))? {
            Response::Sample { ns, .. } if self.row.mode == Mode::Instantiate => {
                Ok((INSTANTIATE_SAMPLE_NS / ns[0].max(1.0)).clamp(1.0, 10_000.0) as u32)
            }
            Response::Sample { .. } | Response::Memory { .. } => Ok(1),
            _ => Err(RunError::Unexpected { peer: worker.peer.name }),
        }
    }

    /// Loads the row's program and notes what that took.
    fn load(&mut self, worker: &mut Worker) -> Result<(), RunError> {
        let peer = worker.peer.name;
        match worker.request(&Request::Load(self.row.program.clone()))? {
            Response::Loaded { setup_ns, remark } => {
                let row = format!("{} {}", self.row.mode.name(), self.row.name);
                self.store.setups.push((row, peer, setup_ns, remark));
                Ok(())
            }
            _ => Err(RunError::Unexpected { peer }),
        }
    }

    fn sample(&mut self, worker: &mut Worker, repeats: u32, sample: u32, place: u32) -> Result<(), RunError> {
        let peer = worker.peer.name;
        let response = worker.request(&self.row.request(self.choices, repeats))?;
        let (values, beside, checksums) = match response {
            Response::Sample { ns, checksums } => (ns, None, checksums),
            Response::Memory { private_bytes, page_table_bytes } => {
                (vec![private_bytes], Some(page_table_bytes), Vec::new())
            }
            _ => return Err(RunError::Unexpected { peer }),
        };
        self.compare(peer, &checksums)?;
        let joined = checksums.iter().map(i64::to_string).collect::<Vec<_>>().join(",");
        for (position, value) in values.into_iter().enumerate() {
            self.store.records.push(Record {
                mode: self.row.mode,
                row: self.row.name.clone(),
                lanes: self.row.lanes,
                jobs: self.choices.jobs,
                peer,
                sample,
                place,
                repeats,
                call: position as u32 + 1,
                value,
                beside,
                checksums: joined.clone(),
            });
        }
        Ok(())
    }

    /// Every lane's checksum must be what the first peer gave for that lane.
    fn compare(&mut self, peer: &'static str, checksums: &[i64]) -> Result<(), RunError> {
        for (lane, &checksum) in checksums.iter().enumerate() {
            let (expected, reference) = *self.expected.entry(lane).or_insert((checksum, peer));
            if checksum != expected {
                return Err(RunError::Peer(format!(
                    "checksum mismatch in lane {lane}: {checksum}, but {reference} gave {expected}"
                )));
            }
        }
        Ok(())
    }

    /// Notes the failure and gives the peer a new worker, since the old one's state is unknown.
    fn fail(&mut self, worker: &mut Worker, error: &RunError) -> std::io::Result<()> {
        let text = format!(
            "{} {} lanes={} {}: {error}",
            self.row.mode.name(),
            self.row.name,
            self.row.lanes,
            worker.peer.name
        );
        eprintln!("failed: {text}");
        self.store.failures.push(text);
        worker.restart()
    }
}

/// The order of `count` peers in a sample: rotated by the sample's number, every other one reversed.
fn alternate(count: usize, sample: u32) -> Vec<usize> {
    let shift = sample as usize / 2;
    let mut order: Vec<usize> = (0..count).map(|place| (place + shift) % count).collect();
    if sample % 2 == 1 {
        order.reverse();
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_peer_takes_every_place() {
        for count in 1..6 {
            let mut seen = vec![vec![false; count]; count];
            for sample in 0..2 * count as u32 {
                for (place, peer) in alternate(count, sample).into_iter().enumerate() {
                    seen[peer][place] = true;
                }
            }
            assert!(seen.iter().flatten().all(|&was| was), "{count} peers");
        }
    }
}
