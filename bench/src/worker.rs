//! The worker's side of the conversation: reads requests, takes samples, answers.
//!
//! Invariant: between two requests a worker runs nothing of its own, except the threads of an opened
//! `steady` session, which wait on a channel.

use std::io::{Lines, StdinLock, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use crate::measure::{self, Sample, SteadyLane};
use crate::peer::{Peer, PeerError};
use crate::protocol::{Request, Response};

/// What `SteadyOpen` asks for.
struct Steady {
    function: String,
    jobs: u32,
    lanes: u32,
    warm: Duration,
}

/// Requests in, responses out, one line each.
struct Conversation {
    input: Lines<StdinLock<'static>>,
}

impl Conversation {
    /// The next request, or nothing when the runner has gone.
    fn next(&mut self) -> Option<Request> {
        let line = self.input.next()?.ok()?;
        Some(serde_json::from_str(&line).expect("the runner and the worker are the same binary"))
    }

    fn answer(&mut self, response: &Response) {
        let line = serde_json::to_string(response).expect("responses are plain data");
        let mut output = std::io::stdout().lock();
        // A closed pipe means that the runner has gone; the next read ends the worker.
        let _ = writeln!(output, "{line}").and_then(|()| output.flush());
    }

    fn answer_result(&mut self, result: Result<Response, PeerError>) {
        let response = result.unwrap_or_else(|error| Response::Failed { message: error.to_string() });
        self.answer(&response);
    }
}

impl From<Sample> for Response {
    fn from(sample: Sample) -> Response {
        Response::Sample { ns: sample.ns, checksums: sample.checksums }
    }
}

/// Serves one peer until the runner closes the pipe. A peer that could not be made answers every
/// request with the reason.
pub fn serve<P: Peer>(peer: Result<P, PeerError>) {
    let mut talk = Conversation { input: std::io::stdin().lines() };
    match peer {
        Ok(mut peer) => {
            while let Some(request) = talk.next() {
                handle(&mut peer, &mut talk, request);
            }
        }
        Err(error) => {
            let failed = Response::Failed { message: error.to_string() };
            while talk.next().is_some() {
                talk.answer(&failed);
            }
        }
    }
}

fn handle<P: Peer>(peer: &mut P, talk: &mut Conversation, request: Request) {
    let result = match request {
        Request::Hello => Ok(Response::Hello { version: peer.version() }),
        Request::Load(program) => {
            let begin = Instant::now();
            peer.load(program).map(|remark| Response::Loaded { setup_ns: begin.elapsed().as_nanos() as u64, remark })
        }
        Request::Instantiate { script, lanes, repeats } => {
            measure::instantiate(peer, script.as_deref(), lanes, repeats).map(Response::from)
        }
        Request::Cold { function, jobs, lanes } => measure::cold(peer, &function, jobs, lanes).map(Response::from),
        Request::Direct { function, jobs, calls } => measure::direct(peer, &function, jobs, calls).map(Response::from),
        Request::Memory { script, realms } => measure::memory(peer, script.as_deref(), realms).map(|memory| {
            Response::Memory { private_bytes: memory.private_bytes, page_table_bytes: memory.page_table_bytes }
        }),
        Request::SteadyOpen { function, jobs, lanes, warm_ms } => {
            let warm = Duration::from_millis(warm_ms.into());
            return steady(peer, talk, &Steady { function, jobs, lanes, warm });
        }
        Request::SteadySample | Request::SteadyClose => Err(PeerError::Engine("no steady session is open".into())),
    };
    talk.answer_result(result);
}

/// A lane's answers: first whether it is warm, then one per sample.
type LaneAnswer = Result<(f64, i64), PeerError>;

/// The lane's thread: makes and warms its realm, then one sample per signal until the channel closes.
fn steady_lane<P: Peer>(peer: &P, want: &Steady, lane: u32, go: &Receiver<()>, answers: &Sender<LaneAnswer>) {
    let warmed = peer.realm().and_then(|realm| SteadyLane::warm(realm, &want.function, want.jobs, lane, want.warm));
    // Sending fails only when the session has ended; then the lane ends too.
    match warmed {
        Ok(mut warmed) => {
            let _ = answers.send(Ok((0.0, 0)));
            while go.recv().is_ok() {
                if answers.send(warmed.sample()).is_err() {
                    break;
                }
            }
        }
        Err(error) => drop(answers.send(Err(error))),
    }
}

/// Collects one answer per lane: the slowest lane's time and every lane's checksum.
fn collect(lanes: &[(Sender<()>, Receiver<LaneAnswer>)]) -> Result<Sample, PeerError> {
    let mut slowest: f64 = 0.0;
    let mut checksums = Vec::with_capacity(lanes.len());
    let mut failure = None;
    for (_, answers) in lanes {
        match answers.recv() {
            Ok(Ok((ns, checksum))) => {
                slowest = slowest.max(ns);
                checksums.push(checksum);
            }
            Ok(Err(error)) => failure = Some(error),
            Err(_) => failure = Some(PeerError::Engine("a lane ended early".into())),
        }
    }
    match failure {
        Some(error) => Err(error),
        None => Ok(Sample { ns: vec![slowest], checksums }),
    }
}

/// One steady session, from `SteadyOpen` to `SteadyClose`.
fn steady<P: Peer>(peer: &P, talk: &mut Conversation, want: &Steady) {
    thread::scope(|scope| {
        let lanes: Vec<(Sender<()>, Receiver<LaneAnswer>)> = (0..want.lanes)
            .map(|lane| {
                let (go, gone) = channel();
                let (answers, answered) = channel();
                scope.spawn(move || steady_lane(peer, want, lane, &gone, &answers));
                (go, answered)
            })
            .collect();
        let opened = collect(&lanes).map(|_| Response::Done);
        let mut is_open = opened.is_ok();
        talk.answer_result(opened);
        while is_open {
            match talk.next() {
                Some(Request::SteadySample) => {
                    for (go, _) in &lanes {
                        // A lane that has ended is reported by `collect`.
                        let _ = go.send(());
                    }
                    talk.answer_result(collect(&lanes).map(Response::from));
                }
                Some(Request::SteadyClose) => {
                    talk.answer(&Response::Done);
                    is_open = false;
                }
                Some(_) => {
                    let message = "close the steady session first".to_string();
                    talk.answer(&Response::Failed { message });
                }
                None => is_open = false,
            }
        }
        // Dropping the channels ends the lanes; the scope joins them.
        drop(lanes);
    });
}
