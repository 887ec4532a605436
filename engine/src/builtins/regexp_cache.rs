//! Compiled regular expressions, kept outside the cage by the ref of their source and their flags.
//!
//! A RegExp cell holds source and flags only. Sources of RegExp cells are interned, so that one ref stands
//! for one pattern; a program goes when its source is collected, or when too many have gathered.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::sync::{Arc, Mutex};

use crate::cage::Ref;
use crate::pure::regexp::{Captures, Program, Scratch};
use crate::shapes::RefHasher;

/// Most programs that a realm keeps; then it starts anew.
const PROGRAMS_MAX: usize = 2048;

/// Source and flag bits.
type ProgramKey = (u32, u32);

/// Programs by source and flags.
#[derive(Default)]
pub struct RegExpCache {
    programs: HashMap<ProgramKey, Arc<Program>, BuildHasherDefault<RefHasher>>,
    /// The program used last: loops mostly run one.
    last: Option<(ProgramKey, Arc<Program>)>,
    /// Positions of the last match, to save allocations. Numbers only.
    spare: Vec<Captures>,
    /// The matcher's stack. Numbers only.
    pub(crate) scratch: Scratch,
}

impl RegExpCache {
    pub(crate) fn clear(&mut self) {
        self.programs.clear();
        self.last = None;
    }

    /// Drops the programs whose source `keep` refuses.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(Ref) -> bool) {
        self.programs.retain(|key, _| keep(Ref(key.0)));
        self.last = None;
    }

    pub(crate) fn find(&mut self, source: Ref, flags: u32) -> Option<Arc<Program>> {
        let key = (source.0, flags);
        if let Some((last, program)) = &self.last
            && *last == key
        {
            return Some(program.clone());
        }
        let program = self.programs.get(&key)?.clone();
        self.last = Some((key, program.clone()));
        Some(program)
    }

    pub(crate) fn insert(&mut self, source: Ref, flags: u32, program: Arc<Program>) {
        if self.programs.len() >= PROGRAMS_MAX {
            self.programs.clear();
        }
        self.programs.insert((source.0, flags), program);
    }

    /// Room for a match's positions; give it back with `give_back`.
    pub(crate) fn take_captures(&mut self) -> Captures {
        self.spare.pop().unwrap_or_default()
    }

    pub(crate) fn give_back(&mut self, captures: Captures) {
        if self.spare.len() < 8 {
            self.spare.push(captures);
        }
    }
}

/// Programs of patterns whose source lies in an image, shared by all realms of a loaded snapshot: an image
/// ref means the same in each of them.
#[derive(Default, Debug)]
pub struct SharedPrograms {
    programs: Mutex<HashMap<ProgramKey, Arc<Program>>>,
}

impl SharedPrograms {
    pub(crate) fn find(&self, source: Ref, flags: u32) -> Option<Arc<Program>> {
        self.programs.lock().ok()?.get(&(source.0, flags)).cloned()
    }

    pub(crate) fn insert(&self, source: Ref, flags: u32, program: &Arc<Program>) {
        if let Ok(mut programs) = self.programs.lock()
            && programs.len() < PROGRAMS_MAX
        {
            programs.insert((source.0, flags), program.clone());
        }
    }
}
