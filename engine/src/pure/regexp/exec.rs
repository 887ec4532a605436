//! The backtracking matcher (ECMA-262 22.2.2).
//!
//! A stack of frames holds what to try next and what to undo on the way back: capture slots and registers
//! are changed in place and their old contents pushed. Invariants: the native stack does not grow with the
//! subject or the pattern; every backtracking step is counted against a limit; the frame stack is bounded.

use super::class::Folding;
use super::code::{Atom, AtomLoop, Code, Inst};
use super::{Captures, NO_POSITION};

/// Most frames; a match that needs more is given up like one that takes too many steps.
const FRAMES_MAX: usize = 2 << 20;

/// The match took more steps than it was given, or too much memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exhausted;

/// A subject, by unit.
pub trait Subject: Copy {
    fn len(self) -> usize;
    fn unit(self, at: usize) -> u32;
    /// Whether two surrogates may stand for one character.
    const PAIRS: bool;
}

impl Subject for &[u8] {
    #[inline(always)]
    fn len(self) -> usize {
        <[u8]>::len(self)
    }
    #[inline(always)]
    fn unit(self, at: usize) -> u32 {
        u32::from(self[at])
    }
    const PAIRS: bool = false;
}

/// Code units matched one by one.
#[derive(Clone, Copy)]
pub struct CodeUnits<'a>(pub &'a [u16]);

impl Subject for CodeUnits<'_> {
    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn unit(self, at: usize) -> u32 {
        u32::from(self.0[at])
    }
    const PAIRS: bool = false;
}

/// Code units matched by code points.
#[derive(Clone, Copy)]
pub struct CodePoints<'a>(pub &'a [u16]);

impl Subject for CodePoints<'_> {
    #[inline(always)]
    fn len(self) -> usize {
        self.0.len()
    }
    #[inline(always)]
    fn unit(self, at: usize) -> u32 {
        u32::from(self.0[at])
    }
    const PAIRS: bool = true;
}

/// What to try or undo.
#[derive(Debug, Clone, Copy)]
enum Frame {
    Choice {
        pc: u32,
        at: u32,
    },
    Slot {
        slot: u32,
        old: u32,
    },
    Register {
        register: u32,
        old: u32,
    },
    /// A greedy loop that may give back characters until it is at `least`.
    Shrink {
        index: u32,
        pc: u32,
        least: u32,
        at: u32,
    },
    /// A lazy loop that may take up to `more` characters more.
    Extend {
        index: u32,
        pc: u32,
        more: u32,
        at: u32,
    },
}

/// Memory of a matcher, kept between matches.
#[derive(Debug, Default)]
pub struct Scratch {
    frames: Vec<Frame>,
    registers: Vec<u32>,
}

struct Matcher<'c, S> {
    code: &'c Code,
    subject: S,
    slots: &'c mut Vec<u32>,
    scratch: &'c mut Scratch,
    steps: u64,
    steps_max: u64,
}

/// Searches from `start` on, or only there. Fills `captures`; gives whether there is a match, and the steps.
pub fn search<S: Subject>(
    code: &Code,
    subject: S,
    start: usize,
    only_there: bool,
    captures: &mut Captures,
    scratch: &mut Scratch,
    steps_max: u64,
) -> (Result<bool, Exhausted>, u64) {
    let slots = &mut captures.slots;
    let mut matcher = Matcher { code, subject, slots, scratch, steps: 0, steps_max };
    let result = matcher.search(start, only_there);
    (result, matcher.steps)
}

impl<S: Subject> Matcher<'_, S> {
    fn search(&mut self, start: usize, only_there: bool) -> Result<bool, Exhausted> {
        let mut at = start;
        if S::PAIRS && at > 0 && at < self.subject.len() && self.is_pair(at - 1) {
            // Inside a pair: the specification's list of characters has no such place (22.2.7.2 step 12).
            at -= 1;
        }
        if only_there || self.code.anchored {
            return if self.code.anchored && start > 0 { Ok(false) } else { self.match_at(at) };
        }
        loop {
            if let Some(first) = &self.code.first {
                let length = self.subject.len();
                let from = at;
                while at < length {
                    let unit = self.subject.unit(at);
                    if if unit < 256 { first.low[unit as usize] } else { first.high } {
                        break;
                    }
                    at += 1;
                }
                self.steps += (at - from) as u64 / 16;
                if at >= length {
                    return Ok(false);
                }
                if S::PAIRS && at > from && self.is_pair(at - 1) {
                    // The second half of a pair is no start.
                    at += 1;
                    continue;
                }
            }
            if self.match_at(at)? {
                return Ok(true);
            }
            if at >= self.subject.len() {
                return Ok(false);
            }
            at += if S::PAIRS && self.is_pair(at) { 2 } else { 1 };
        }
    }

    #[inline(always)]
    fn is_pair(&self, at: usize) -> bool {
        S::PAIRS
            && at + 1 < self.subject.len()
            && self.subject.unit(at) & 0xFC00 == 0xD800
            && self.subject.unit(at + 1) & 0xFC00 == 0xDC00
    }

    /// The character at `at` and the position behind it.
    #[inline(always)]
    fn next(&self, at: usize) -> Option<(u32, usize)> {
        if at >= self.subject.len() {
            return None;
        }
        let unit = self.subject.unit(at);
        if S::PAIRS && unit & 0xFC00 == 0xD800 && self.is_pair(at) {
            let pair = super::super::combine_surrogates(unit as u16, self.subject.unit(at + 1) as u16);
            return Some((pair, at + 2));
        }
        Some((unit, at + 1))
    }

    /// The character before `at` and its position.
    #[inline(always)]
    fn previous(&self, at: usize) -> Option<(u32, usize)> {
        if at == 0 {
            return None;
        }
        if S::PAIRS && at >= 2 && self.is_pair(at - 2) {
            return self.next(at - 2).map(|(c, _)| (c, at - 2));
        }
        Some((self.subject.unit(at - 1), at - 1))
    }

    #[inline(always)]
    fn atom_matches(&self, atom: Atom, c: u32) -> bool {
        match atom {
            Atom::Char(expected) => c == expected,
            Atom::Folded(expected) => self.code.folding.canonicalize(c) == expected,
            Atom::Any => !is_line_terminator(c),
            Atom::AnyAtAll => true,
            Atom::Class(index) => self.code.classes[index as usize].contains(c),
        }
    }

    /// One character of `atom` in the given direction: the new position.
    #[inline(always)]
    fn step(&self, atom: Atom, back: bool, at: usize) -> Option<usize> {
        let (c, next) = if back { self.previous(at) } else { self.next(at) }?;
        self.atom_matches(atom, c).then_some(next)
    }

    /// Whether execution from `pc` on fails with the very next character.
    #[inline(always)]
    fn fails_at_once(&self, pc: u32, at: usize) -> bool {
        match self.code.probes[pc as usize] {
            Some(atom) => self.step(atom, false, at).is_none(),
            None => false,
        }
    }

    fn push(&mut self, frame: Frame) -> Result<(), Exhausted> {
        if self.scratch.frames.len() >= FRAMES_MAX {
            return Err(Exhausted);
        }
        self.scratch.frames.push(frame);
        Ok(())
    }

    fn set_slot(&mut self, slot: u32, value: u32) -> Result<(), Exhausted> {
        let old = std::mem::replace(&mut self.slots[slot as usize], value);
        self.push(Frame::Slot { slot, old })
    }

    fn set_register(&mut self, register: u32, value: u32) -> Result<(), Exhausted> {
        let old = std::mem::replace(&mut self.scratch.registers[register as usize], value);
        self.push(Frame::Register { register, old })
    }

    /// Tries to match at one position.
    fn match_at(&mut self, start: usize) -> Result<bool, Exhausted> {
        self.slots.clear();
        self.slots.resize(self.code.slots as usize, NO_POSITION);
        self.scratch.registers.clear();
        self.scratch.registers.resize(self.code.registers as usize, 0);
        self.scratch.frames.clear();
        let (mut pc, mut at) = (0u32, start);
        loop {
            match self.run(pc, at)? {
                Some(end) => {
                    self.slots[0] = start as u32;
                    self.slots[1] = end as u32;
                    return Ok(true);
                }
                None => match self.backtrack()? {
                    Some((next_pc, next_at)) => (pc, at) = (next_pc, next_at),
                    None => return Ok(false),
                },
            }
        }
    }

    /// Undoes frames until there is something to try.
    fn backtrack(&mut self) -> Result<Option<(u32, usize)>, Exhausted> {
        self.steps += 1;
        if self.steps > self.steps_max {
            return Err(Exhausted);
        }
        while let Some(frame) = self.scratch.frames.pop() {
            match frame {
                Frame::Choice { pc, at } => return Ok(Some((pc, at as usize))),
                Frame::Slot { slot, old } => self.slots[slot as usize] = old,
                Frame::Register { register, old } => self.scratch.registers[register as usize] = old,
                Frame::Shrink { index, pc, least, at } => {
                    let back = self.code.loops[index as usize].back;
                    let shorter = if back { self.next(at as usize) } else { self.previous(at as usize) };
                    let Some((_, at)) = shorter else { continue };
                    if let Some(at) = self.shrink(index, pc, least, at)? {
                        return Ok(Some((pc, at)));
                    }
                }
                Frame::Extend { index, pc, more, at } => {
                    let one = self.code.loops[index as usize];
                    let Some(at) = self.step(one.atom, one.back, at as usize) else { continue };
                    if let Some(at) = self.extend(index, pc, more - 1, at)? {
                        return Ok(Some((pc, at)));
                    }
                }
            }
        }
        Ok(None)
    }

    /// From `at` down to `least`, the first end of a greedy loop from which the rest may match; what is below
    /// it is pushed for later.
    #[inline]
    fn shrink(&mut self, index: u32, pc: u32, least: u32, at: usize) -> Result<Option<usize>, Exhausted> {
        let back = self.code.loops[index as usize].back;
        let mut at = at;
        while self.fails_at_once(pc, at) {
            self.steps += 1;
            if at as u32 == least {
                return Ok(None);
            }
            let shorter = if back { self.next(at) } else { self.previous(at) };
            let Some((_, next)) = shorter else { return Ok(None) };
            at = next;
        }
        if at as u32 != least {
            self.push(Frame::Shrink { index, pc, least, at: at as u32 })?;
        }
        Ok(Some(at))
    }

    /// From `at` on, the first end of a lazy loop from which the rest may match, at most `more` characters
    /// away.
    #[inline]
    fn extend(&mut self, index: u32, pc: u32, more: u32, at: usize) -> Result<Option<usize>, Exhausted> {
        let one = self.code.loops[index as usize];
        let (mut at, mut more) = (at, more);
        while self.fails_at_once(pc, at) {
            self.steps += 1;
            if more == 0 {
                return Ok(None);
            }
            let Some(next) = self.step(one.atom, one.back, at) else { return Ok(None) };
            at = next;
            more -= 1;
        }
        if more > 0 {
            self.push(Frame::Extend { index, pc, more, at: at as u32 })?;
        }
        Ok(Some(at))
    }

    /// Runs until the match is complete (its end) or fails.
    fn run(&mut self, pc: u32, at: usize) -> Result<Option<usize>, Exhausted> {
        let (mut pc, mut at) = (pc, at);
        let code = self.code;
        loop {
            match code.insts[pc as usize] {
                Inst::One { atom, back } => match self.step(atom, back, at) {
                    Some(next) => at = next,
                    None => return Ok(None),
                },
                Inst::Literal { start, length } => {
                    let end = at + length as usize;
                    if end > self.subject.len() {
                        return Ok(None);
                    }
                    let literal = &code.literals[start as usize..(start + length) as usize];
                    if !literal.iter().enumerate().all(|(i, &unit)| self.subject.unit(at + i) == u32::from(unit)) {
                        return Ok(None);
                    }
                    at = end;
                }
                Inst::Loop(index) => match self.atom_loop(index, pc + 1, at)? {
                    Some(next) => at = next,
                    None => return Ok(None),
                },
                Inst::Split { first, second } => {
                    if self.fails_at_once(first, at) {
                        pc = second;
                        continue;
                    }
                    if !self.fails_at_once(second, at) {
                        self.push(Frame::Choice { pc: second, at: at as u32 })?;
                    }
                    pc = first;
                    continue;
                }
                Inst::Jump(target) => {
                    pc = target;
                    continue;
                }
                Inst::Save(slot) => self.set_slot(slot, at as u32)?,
                Inst::ResetGroups { first, end } => {
                    for slot in 2 * first..2 * end {
                        if self.slots[slot as usize] != NO_POSITION {
                            self.set_slot(slot, NO_POSITION)?;
                        }
                    }
                }
                Inst::Mark(register) => self.set_register(register, at as u32)?,
                Inst::FailIfEmpty(register) => {
                    if self.scratch.registers[register as usize] == at as u32 {
                        return Ok(None);
                    }
                }
                Inst::Zero(register) => self.set_register(register, 0)?,
                Inst::CounterHead(index) => {
                    let counter = code.counters[index as usize];
                    let count = self.scratch.registers[counter.counter as usize];
                    if count >= counter.max {
                        pc = counter.exit;
                        continue;
                    }
                    if count >= counter.min {
                        if !counter.greedy {
                            // Leaving comes first; `CounterEnter` stands behind the head.
                            self.push(Frame::Choice { pc: counter.head + 1, at: at as u32 })?;
                            pc = counter.exit;
                            continue;
                        }
                        self.push(Frame::Choice { pc: counter.exit, at: at as u32 })?;
                    }
                }
                Inst::CounterEnter(index) => self.enter_counter(index, at)?,
                Inst::CounterTail(index) => {
                    let counter = code.counters[index as usize];
                    let count = self.scratch.registers[counter.counter as usize];
                    // An iteration beyond the minimum must not be empty (22.2.2.3.1 step 2.b).
                    if count > counter.min && self.scratch.registers[counter.mark as usize] == at as u32 {
                        return Ok(None);
                    }
                    pc = counter.head;
                    continue;
                }
                Inst::Start => {
                    if at != 0 {
                        return Ok(None);
                    }
                }
                Inst::StartOfLine => {
                    if at != 0 && !is_line_terminator(self.subject.unit(at - 1)) {
                        return Ok(None);
                    }
                }
                Inst::End => {
                    if at != self.subject.len() {
                        return Ok(None);
                    }
                }
                Inst::EndOfLine => {
                    if at != self.subject.len() && !is_line_terminator(self.subject.unit(at)) {
                        return Ok(None);
                    }
                }
                Inst::WordBoundary { negated } => {
                    let before = at > 0 && self.is_word(self.subject.unit(at - 1));
                    let after = at < self.subject.len() && self.is_word(self.subject.unit(at));
                    if (before != after) == negated {
                        return Ok(None);
                    }
                }
                Inst::LookBegin(index) => {
                    let look = code.looks[index as usize];
                    let height = self.scratch.frames.len() as u32;
                    self.set_register(look.height, height)?;
                    self.set_register(look.position, at as u32)?;
                    if look.negated {
                        // Where to go on when the body fails.
                        self.push(Frame::Choice { pc: look.exit, at: at as u32 })?;
                    }
                }
                Inst::LookEnd(index) => {
                    let look = code.looks[index as usize];
                    let height = self.scratch.registers[look.height as usize] as usize;
                    if look.negated {
                        self.unwind_to(height);
                        return Ok(None);
                    }
                    at = self.scratch.registers[look.position as usize] as usize;
                    self.drop_choices(height);
                }
                Inst::BackReference { group, back } => match self.back_reference(group, back, at) {
                    Some(next) => at = next,
                    None => return Ok(None),
                },
                Inst::Match => return Ok(Some(at)),
            }
            pc += 1;
        }
    }

    /// Counts an iteration and notes where it begins.
    fn enter_counter(&mut self, index: u32, at: usize) -> Result<(), Exhausted> {
        let counter = self.code.counters[index as usize];
        let count = self.scratch.registers[counter.counter as usize];
        self.set_register(counter.counter, count + 1)?;
        self.set_register(counter.mark, at as u32)
    }

    /// A repeated atom: its new position; what can be tried later is pushed.
    #[inline]
    fn atom_loop(&mut self, index: u32, pc: u32, at: usize) -> Result<Option<usize>, Exhausted> {
        let one: AtomLoop = self.code.loops[index as usize];
        let mut at = at;
        for _ in 0..one.min {
            match self.step(one.atom, one.back, at) {
                Some(next) => at = next,
                None => return Ok(None),
            }
        }
        let more = one.max - one.min;
        if more == 0 {
            return Ok(Some(at));
        }
        if !one.greedy {
            return self.extend(index, pc, more, at);
        }
        let least = at;
        at = self.run_atom(one, at, more);
        self.steps += (at.abs_diff(least) / 16) as u64;
        self.shrink(index, pc, least as u32, at)
    }

    /// As many characters of the atom as there are, at most `most`: a loop per sort of atom.
    #[inline]
    fn run_atom(&self, one: AtomLoop, at: usize, most: u32) -> usize {
        if S::PAIRS || one.back {
            let mut at = at;
            for _ in 0..most {
                match self.step(one.atom, one.back, at) {
                    Some(next) => at = next,
                    None => break,
                }
            }
            return at;
        }
        let end = at.saturating_add(most as usize).min(self.subject.len());
        match one.atom {
            Atom::AnyAtAll => end,
            Atom::Class(index) => {
                let class = &self.code.classes[index as usize];
                self.run_while(at, end, |c| class.contains(c))
            }
            Atom::Any => self.run_while(at, end, |c| !is_line_terminator(c)),
            Atom::Char(expected) => self.run_while(at, end, |c| c == expected),
            Atom::Folded(expected) => {
                let folding = self.code.folding;
                self.run_while(at, end, |c| folding.canonicalize(c) == expected)
            }
        }
    }

    #[inline(always)]
    fn run_while(&self, at: usize, end: usize, test: impl Fn(u32) -> bool) -> usize {
        let mut at = at;
        while at < end && test(self.subject.unit(at)) {
            at += 1;
        }
        at
    }

    /// Undoes everything above `height`, choices unused.
    fn unwind_to(&mut self, height: usize) {
        while self.scratch.frames.len() > height {
            match self.scratch.frames.pop() {
                Some(Frame::Slot { slot, old }) => self.slots[slot as usize] = old,
                Some(Frame::Register { register, old }) => self.scratch.registers[register as usize] = old,
                _ => {}
            }
        }
    }

    /// Forgets the choices above `height` but keeps what must be undone later: a lookahead is not re-entered.
    fn drop_choices(&mut self, height: usize) {
        let mut kept = height;
        for i in height..self.scratch.frames.len() {
            let frame = self.scratch.frames[i];
            if matches!(frame, Frame::Slot { .. } | Frame::Register { .. }) {
                self.scratch.frames[kept] = frame;
                kept += 1;
            }
        }
        self.scratch.frames.truncate(kept);
    }

    /// IsWordChar (22.2.2.4.3)
    fn is_word(&self, c: u32) -> bool {
        match c {
            0x30..=0x39 | 0x41..=0x5A | 0x5F | 0x61..=0x7A => true,
            0x17F | 0x212A => self.code.folding == Folding::Unicode,
            _ => false,
        }
    }

    /// BackreferenceMatcher (22.2.2.7.2)
    fn back_reference(&self, group: u32, back: bool, at: usize) -> Option<usize> {
        let (start, end) = (self.slots[2 * group as usize], self.slots[2 * group as usize + 1]);
        if start == NO_POSITION || end == NO_POSITION {
            return Some(at);
        }
        let length = (end - start) as usize;
        let from = if back { at.checked_sub(length)? } else { at };
        if from + length > self.subject.len() {
            return None;
        }
        let folding = self.code.folding;
        let mut i = 0;
        let mut same = true;
        while same && i < length {
            // Folding keeps the number of units of a character.
            let (a, next) = self.next(start as usize + i)?;
            let (b, _) = self.next(from + i)?;
            same = a == b || folding.canonicalize(a) == folding.canonicalize(b);
            i = next - start as usize;
        }
        same.then_some(if back { from } else { from + length })
    }
}

fn is_line_terminator(c: u32) -> bool {
    matches!(c, 0x0A | 0x0D | 0x2028 | 0x2029)
}
