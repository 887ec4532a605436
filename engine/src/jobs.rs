//! The job queue (ECMA-262 9.5): promise reactions and what hosts enqueue.

use std::collections::VecDeque;

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
            while let Some(job) = realm.jobs.jobs.pop_front() {
                realm.charge(1)?;
                realm.run_job(job)?;
            }
            Ok(())
        })
    }

    fn run_job(&mut self, job: Job) -> Completion<()> {
        let [a, b, c] = job.values;
        match job.kind {
            JobKind::Reaction => self.run_reaction(a, b, c.is_true()),
            JobKind::ResolveThenable => self.run_resolve_thenable(a, b, c),
            JobKind::Call => self.call(a, Value::UNDEFINED, &[]).map(|_| ()),
        }
    }
}
