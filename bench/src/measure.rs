//! How each kind of sample is taken, the same code for every peer.
//!
//! | sample | timed section |
//! | --- | --- |
//! | instantiate | per realm: make, evaluate the script if there is one, drop; threads exist already |
//! | cold | spawn the lanes' threads; each: make a realm with the program, one call, drop; join all |
//! | steady | per call of a warmed realm; the slowest lane counts |
//! | direct | each of the first calls in a new realm, alone on the worker's thread |
//! | memory | not a time: growth of private memory and page tables over a number of idle realms |
//!
//! Invariant: threads and barriers are outside the timed section, except in `cold`, which is about them.

use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::host;
use crate::peer::{Peer, PeerError, Realm, exact_integer};

/// What one sample gives: times in nanoseconds and, where a function was called, one checksum per lane.
#[derive(Debug, Default)]
pub struct Sample {
    pub ns: Vec<f64>,
    pub checksums: Vec<i64>,
}

/// Joins a lane; a panic in it is an error of the peer.
fn join<T>(handle: thread::ScopedJoinHandle<'_, Result<T, PeerError>>) -> Result<T, PeerError> {
    handle.join().unwrap_or_else(|_| Err(PeerError::Engine("a lane panicked".into())))
}

/// Makes a realm, evaluates the script and drops the realm. The script's value is returned so that
/// nothing is optimised away.
fn one_life<P: Peer>(peer: &P, script: Option<&str>) -> Result<f64, PeerError> {
    let mut realm = peer.realm()?;
    match script {
        Some(source) => realm.eval(source),
        None => Ok(0.0),
    }
}

/// Nanoseconds per realm: the mean of `repeats` lives on each lane, then the mean of the lanes.
pub fn instantiate<P: Peer>(peer: &P, script: Option<&str>, lanes: u32, repeats: u32) -> Result<Sample, PeerError> {
    assert!(lanes > 0 && repeats > 0);
    let start = Barrier::new(lanes as usize);
    let lane = || -> Result<f64, PeerError> {
        // The thread's own first-use costs (pool shard, allocator arena, stack bounds) are not the
        // realm's; an error here is kept until after the barrier, so that the others are not left waiting.
        let first = one_life(peer, script);
        start.wait();
        first?;
        let begin = Instant::now();
        for _ in 0..repeats {
            std::hint::black_box(one_life(peer, script)?);
        }
        Ok(begin.elapsed().as_nanos() as f64 / f64::from(repeats))
    };
    let per_lane = thread::scope(|scope| {
        let handles: Vec<_> = (0..lanes).map(|_| scope.spawn(lane)).collect();
        handles.into_iter().map(join).collect::<Result<Vec<f64>, _>>()
    })?;
    let mean = per_lane.iter().sum::<f64>() / per_lane.len() as f64;
    Ok(Sample { ns: vec![mean], checksums: Vec::new() })
}

/// Nanoseconds from before the first spawn until all lanes are joined.
pub fn cold<P: Peer>(peer: &P, function: &str, jobs: u32, lanes: u32) -> Result<Sample, PeerError> {
    assert!(lanes > 0);
    let begin = Instant::now();
    let values = thread::scope(|scope| {
        let handles: Vec<_> = (0..lanes)
            .map(|lane| {
                scope.spawn(move || {
                    let mut realm = peer.realm()?;
                    realm.call(function, jobs, lane)
                })
            })
            .collect();
        handles.into_iter().map(join).collect::<Vec<Result<f64, _>>>()
    });
    let elapsed = begin.elapsed().as_nanos() as f64;
    let mut checksums = Vec::with_capacity(values.len());
    for value in values {
        checksums.push(exact_integer(function, value?)?);
    }
    Ok(Sample { ns: vec![elapsed], checksums })
}

/// One lane of `steady`: a warmed realm, and how many calls make a sample long enough to time.
pub struct SteadyLane<R> {
    realm: R,
    function: String,
    jobs: u32,
    lane: u32,
    calls: u32,
}

/// A sample lasts at least this long, so that the clock's own cost and grain do not matter.
const STEADY_SAMPLE: Duration = Duration::from_millis(1);

impl<R: Realm> SteadyLane<R> {
    /// Warms `realm` for `warm` of wall time, at least three calls, and picks the calls per sample.
    pub fn warm(mut realm: R, function: &str, jobs: u32, lane: u32, warm: Duration) -> Result<Self, PeerError> {
        let begin = Instant::now();
        let mut warm_calls = 0;
        let mut last = Duration::ZERO;
        while warm_calls < 3 || begin.elapsed() < warm {
            let call = Instant::now();
            realm.call(function, jobs, lane)?;
            last = call.elapsed();
            warm_calls += 1;
        }
        let wanted = STEADY_SAMPLE.as_nanos() / last.as_nanos().max(1) + 1;
        let calls = u32::try_from(wanted.min(10_000)).expect("at most 10,000");
        Ok(SteadyLane { realm, function: function.to_string(), jobs, lane, calls })
    }

    /// Nanoseconds per call, and the checksum of a call.
    pub fn sample(&mut self) -> Result<(f64, i64), PeerError> {
        let mut value = 0.0;
        let begin = Instant::now();
        for _ in 0..self.calls {
            value = self.realm.call(&self.function, self.jobs, self.lane)?;
        }
        let ns = begin.elapsed().as_nanos() as f64 / f64::from(self.calls);
        Ok((ns, exact_integer(&self.function, value)?))
    }
}

/// Nanoseconds of each of the first `calls` calls in a new realm.
pub fn direct<P: Peer>(peer: &P, function: &str, jobs: u32, calls: u32) -> Result<Sample, PeerError> {
    let mut realm = peer.realm()?;
    let mut ns = Vec::with_capacity(calls as usize);
    let mut value = 0.0;
    for _ in 0..calls {
        let begin = Instant::now();
        value = realm.call(function, jobs, 0)?;
        ns.push(begin.elapsed().as_nanos() as f64);
    }
    Ok(Sample { ns, checksums: vec![exact_integer(function, value)?] })
}

/// Bytes of private memory and of page tables per idle realm.
pub fn memory<P: Peer>(peer: &P, script: Option<&str>, realms: u32) -> Result<host::ProcessMemory, PeerError> {
    assert!(realms > 0);
    // One life before counting: what the engine allocates once per process is not the realm's.
    one_life(peer, script)?;
    let mut kept = Vec::with_capacity(realms as usize);
    let before = host::process_memory();
    for _ in 0..realms {
        let mut realm = peer.realm()?;
        if let Some(source) = script {
            realm.eval(source)?;
        }
        kept.push(realm);
    }
    let after = host::process_memory();
    drop(kept);
    Ok(host::ProcessMemory {
        private_bytes: (after.private_bytes - before.private_bytes) / f64::from(realms),
        page_table_bytes: (after.page_table_bytes - before.page_table_bytes) / f64::from(realms),
    })
}
