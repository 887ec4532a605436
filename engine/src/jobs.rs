//! The job queue (ECMA-262 9.5): promise reactions and what hosts enqueue.

use std::collections::VecDeque;

use crate::cage::Ref;
use crate::realm::{Completion, Realm};
use crate::value::Value;

/// What a job does with its values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum JobKind {
    /// NewPromiseReactionJob: reaction cell, argument, whether it was rejected.
    Reaction,
    /// NewPromiseResolveThenableJob: promise, thenable, then.
    ResolveThenable,
    /// Calls a function without arguments (queueMicrotask).
    Call,
    /// CleanupFinalizationRegistry: registry, list of (held value, token).
    Cleanup,
}

/// A job in the queue.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    pub kind: JobKind,
    pub values: [Value; 3],
}

/// Jobs in order. The values are roots.
#[derive(Default)]
pub struct JobQueue {
    jobs: VecDeque<Job>,
}

impl JobQueue {
    pub(crate) fn visit(&self, visit: &mut dyn FnMut(Value)) {
        for job in &self.jobs {
            job.values.iter().for_each(|&v| visit(v));
        }
    }

    pub(crate) fn clear(&mut self) {
        self.jobs.clear();
    }

    pub(crate) fn push(&mut self, job: Job) {
        self.jobs.push_back(job);
    }

    /// Number of jobs that wait.
    pub fn len(&self) -> usize {
        self.jobs.len()
    }

    /// Whether no job waits.
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }
}

impl Realm {
    /// Number of jobs that wait.
    pub fn pending_jobs(&self) -> usize {
        self.jobs.len()
    }

    /// Runs jobs until none is left.
    ///
    /// # Errors
    /// What a `Call` job throws (other jobs settle promises instead), or termination; the rest of the
    /// queue stays.
    pub fn run_jobs(&mut self) -> Completion<()> {
        self.enter(|realm| {
            loop {
                // ClearKeptObjects (9.10): no job runs now.
                realm.kept_alive = Ref::NULL;
                if realm.jobs.is_empty() && !realm.queue_cleanups() {
                    return Ok(());
                }
                // Charged before the job is taken: a job that cannot run now stays in the queue.
                realm.charge(1)?;
                let Some(job) = realm.jobs.jobs.pop_front() else { continue };
                realm.run_job(job)?;
            }
        })
    }

    /// Makes jobs of what the collector found dead since the last time; false if there was nothing.
    fn queue_cleanups(&mut self) -> bool {
        for pair in std::mem::take(&mut self.finalized).chunks_exact(2) {
            self.jobs.push(Job { kind: JobKind::Cleanup, values: [pair[0], pair[1], Value::UNDEFINED] });
        }
        !self.jobs.is_empty()
    }

    fn run_job(&mut self, job: Job) -> Completion<()> {
        let [a, b, c] = job.values;
        match job.kind {
            JobKind::Reaction => self.run_reaction(a, b, c.is_true()),
            JobKind::ResolveThenable => self.run_resolve_thenable(a, b, c),
            JobKind::Cleanup => self.run_cleanup(a, b),
            JobKind::Call => self.call(a, Value::UNDEFINED, &[]).map(|_| ()),
        }
    }
}
