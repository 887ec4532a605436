//! Compiles a pattern's tree to instructions, and finds out what every match must begin with.
//!
//! Invariant: instruction addresses, table indices and register numbers in a [`Code`] are all in range;
//! the matcher relies on bounds checks only for the subject. Code size is bounded by [`CODE_MAX`].

use super::RegExpFlags;
use super::ast::{Node, Pattern, UNBOUNDED};
use super::class::{Class, Folding};

/// Most instructions of a program; larger patterns are left to the general matcher.
const CODE_MAX: usize = 20_000;

/// What matches exactly one character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Atom {
    Char(u32),
    /// A character in canonical form; the subject's is made canonical first.
    Folded(u32),
    /// Anything but a line terminator.
    Any,
    /// Anything at all.
    AnyAtAll,
    Class(u32),
}

/// An instruction. Execution goes on with the next one unless said otherwise.
#[derive(Debug, Clone, Copy)]
pub enum Inst {
    /// One character, forwards or (in lookbehind) backwards.
    One {
        atom: Atom,
        back: bool,
    },
    /// Units of the literal table, forwards.
    Literal {
        start: u32,
        length: u32,
    },
    /// A repeated atom, by index into the table of loops.
    Loop(u32),
    /// Try `first`, later `second`.
    Split {
        first: u32,
        second: u32,
    },
    Jump(u32),
    /// Store the position in a capture slot.
    Save(u32),
    /// Clear the groups `first..end`.
    ResetGroups {
        first: u32,
        end: u32,
    },
    /// Store the position in a register.
    Mark(u32),
    /// Fail if the position is still that of the register.
    FailIfEmpty(u32),
    /// Set a register to zero.
    Zero(u32),
    /// A counted loop, by index into the table of counters: the head decides whether to go in, `CounterEnter`
    /// behind it counts, the tail goes back to the head.
    CounterHead(u32),
    CounterEnter(u32),
    CounterTail(u32),
    Start,
    StartOfLine,
    End,
    EndOfLine,
    WordBoundary {
        negated: bool,
    },
    /// Begin and end of a lookaround, by index into the table of looks.
    LookBegin(u32),
    LookEnd(u32),
    BackReference {
        group: u32,
        back: bool,
    },
    Match,
}

/// A repeated atom.
#[derive(Debug, Clone, Copy)]
pub struct AtomLoop {
    pub atom: Atom,
    pub min: u32,
    pub max: u32,
    pub greedy: bool,
    pub back: bool,
}

/// A counted loop: a counter register, and a register with the position where the iteration began.
#[derive(Debug, Clone, Copy)]
pub struct Counter {
    pub counter: u32,
    pub mark: u32,
    pub min: u32,
    pub max: u32,
    pub greedy: bool,
    /// The head, and the first instruction behind the loop.
    pub head: u32,
    pub exit: u32,
}

/// A lookaround: registers for stack height and position, and where to go on.
#[derive(Debug, Clone, Copy)]
pub struct Look {
    pub height: u32,
    pub position: u32,
    pub negated: bool,
    pub exit: u32,
}

/// What the first unit of a match can be.
#[derive(Debug, Clone)]
pub struct FirstUnits {
    pub low: [bool; 256],
    /// Whether it can be a unit above 0xFF.
    pub high: bool,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub struct Code {
    pub insts: Vec<Inst>,
    pub classes: Vec<Class>,
    pub literals: Vec<u16>,
    pub loops: Vec<AtomLoop>,
    pub counters: Vec<Counter>,
    pub looks: Vec<Look>,
    /// By instruction: what the next character must be for execution from there to go anywhere, as far as
    /// that is plain. Saves the frames of choices that fail at once.
    pub probes: Vec<Option<Atom>>,
    pub registers: u32,
    pub slots: u32,
    pub folding: Folding,
    pub unicode: bool,
    /// Every match begins at the start of the input.
    pub anchored: bool,
    /// `None` where a match may be empty or begin with anything.
    pub first: Option<Box<FirstUnits>>,
}

/// How a pattern with these flags ignores case.
pub fn folding(flags: RegExpFlags) -> Folding {
    match (flags.has(b'i'), flags.is_unicode()) {
        (false, _) => Folding::None,
        (true, false) => Folding::Upper,
        (true, true) => Folding::Unicode,
    }
}

/// Compiles; `None` when the program would be too large.
pub fn compile(pattern: &Pattern, flags: RegExpFlags) -> Option<Code> {
    let mut compiler = Compiler {
        code: Code {
            insts: Vec::new(),
            classes: Vec::new(),
            literals: Vec::new(),
            loops: Vec::new(),
            counters: Vec::new(),
            looks: Vec::new(),
            probes: Vec::new(),
            registers: 0,
            slots: 2 * (pattern.groups + 1),
            folding: folding(flags),
            unicode: flags.is_unicode(),
            anchored: !flags.has(b'm') && is_anchored(&pattern.root),
            first: None,
        },
        multiline: flags.has(b'm'),
        dot_all: flags.has(b's'),
    };
    compiler.node(&pattern.root, false)?;
    compiler.push(Inst::Match)?;
    compiler.code.probes = (0..compiler.code.insts.len()).map(|pc| probe(&compiler.code, pc)).collect();
    let mut first = FirstUnits { low: [false; 256], high: false };
    let may_be_empty = compiler.first_units(&pattern.root, &mut first);
    let tells_nothing = first.high && first.low.iter().all(|&b| b);
    if !may_be_empty && !tells_nothing {
        compiler.code.first = Some(Box::new(first));
    }
    Some(compiler.code)
}

/// The atom that must match first from `pc` on, see [`Code::probes`].
fn probe(code: &Code, pc: usize) -> Option<Atom> {
    let mut pc = pc;
    for _ in 0..8 {
        match *code.insts.get(pc)? {
            Inst::One { atom, back: false } => return Some(atom),
            Inst::Literal { start, .. } => {
                let unit = u32::from(*code.literals.get(start as usize)?);
                // Half of a pair is not the character that the matcher reads.
                let is_surrogate = (0xD800..0xE000).contains(&unit);
                return (!(code.unicode && is_surrogate)).then_some(Atom::Char(unit));
            }
            Inst::Loop(index) => {
                let one = code.loops.get(index as usize)?;
                return (one.min > 0 && !one.back).then_some(one.atom);
            }
            Inst::Save(_) | Inst::ResetGroups { .. } | Inst::Mark(_) | Inst::Zero(_) | Inst::CounterEnter(_) => pc += 1,
            Inst::Jump(target) => pc = target as usize,
            _ => return None,
        }
    }
    None
}

fn is_anchored(node: &Node) -> bool {
    match node {
        Node::Start => true,
        Node::Sequence(items) => items.first().is_some_and(is_anchored),
        Node::Alternatives(all) => all.iter().all(is_anchored),
        Node::Group { body, .. } => is_anchored(body),
        _ => false,
    }
}

struct Compiler {
    code: Code,
    multiline: bool,
    dot_all: bool,
}

impl Compiler {
    fn push(&mut self, inst: Inst) -> Option<u32> {
        if self.code.insts.len() >= CODE_MAX {
            return None;
        }
        self.code.insts.push(inst);
        Some(self.code.insts.len() as u32 - 1)
    }

    fn here(&self) -> u32 {
        self.code.insts.len() as u32
    }

    fn register(&mut self) -> u32 {
        self.code.registers += 1;
        self.code.registers - 1
    }

    /// The atom of a node that matches exactly one character.
    fn atom(&mut self, node: &Node) -> Option<Atom> {
        Some(match node {
            Node::Char(c) if self.has_case(*c) => Atom::Folded(self.code.folding.canonicalize(*c)),
            Node::Char(c) => Atom::Char(*c),
            Node::Any if self.dot_all => Atom::AnyAtAll,
            Node::Any => Atom::Any,
            Node::Class(parts) => {
                let class = Class::new(parts, self.code.folding);
                self.code.classes.push(class);
                Atom::Class(self.code.classes.len() as u32 - 1)
            }
            _ => return None,
        })
    }

    fn node(&mut self, node: &Node, back: bool) -> Option<()> {
        match node {
            Node::Empty => {}
            Node::Char(_) | Node::Any | Node::Class(_) => {
                let atom = self.atom(node)?;
                self.push(Inst::One { atom, back })?;
            }
            Node::Sequence(items) => self.sequence(items, back)?,
            Node::Alternatives(all) => self.alternatives(all, back)?,
            Node::Group { number, body } => {
                let (before, after) = if back { (1, 0) } else { (0, 1) };
                self.push(Inst::Save(2 * number + before))?;
                self.node(body, back)?;
                self.push(Inst::Save(2 * number + after))?;
            }
            Node::Repeat { body, min, max, greedy, groups } => {
                self.repeat(body, *min, *max, *greedy, *groups, back)?;
            }
            Node::Start => {
                self.push(if self.multiline { Inst::StartOfLine } else { Inst::Start })?;
            }
            Node::End => {
                self.push(if self.multiline { Inst::EndOfLine } else { Inst::End })?;
            }
            Node::WordBoundary { negated } => {
                self.push(Inst::WordBoundary { negated: *negated })?;
            }
            Node::Look { body, behind, negated } => {
                let index = self.code.looks.len() as u32;
                let (height, position) = (self.register(), self.register());
                self.code.looks.push(Look { height, position, negated: *negated, exit: 0 });
                self.push(Inst::LookBegin(index))?;
                self.node(body, *behind)?;
                self.push(Inst::LookEnd(index))?;
                self.code.looks[index as usize].exit = self.here();
            }
            Node::BackReference(group) => {
                self.push(Inst::BackReference { group: *group, back })?;
            }
        }
        Some(())
    }

    /// A sequence; runs of plain characters become literals.
    fn sequence(&mut self, items: &[Node], back: bool) -> Option<()> {
        if back {
            return items.iter().rev().try_for_each(|item| self.node(item, true));
        }
        let mut at = 0;
        while at < items.len() {
            let run = items[at..].iter().take_while(|item| self.is_literal(item)).count();
            if run < 2 {
                self.node(&items[at], false)?;
                at += 1;
                continue;
            }
            let start = self.code.literals.len() as u32;
            for item in &items[at..at + run] {
                if let Node::Char(c) = item {
                    super::super::push_code_point(&mut self.code.literals, *c);
                }
            }
            let length = self.code.literals.len() as u32 - start;
            self.push(Inst::Literal { start, length })?;
            at += run;
        }
        Some(())
    }

    /// Whether other characters may match where `c` stands. Errs on the side of yes above ASCII.
    fn has_case(&self, c: u32) -> bool {
        match c {
            _ if self.code.folding == Folding::None => false,
            0..0x80 => u8::try_from(c).is_ok_and(|b| b.is_ascii_alphabetic()),
            // Clearly caseless scripts.
            0x3000..=0x9FFF => false,
            _ => true,
        }
    }

    /// Whether a node may be compared unit by unit. A lone surrogate with `u` must not match half a pair.
    fn is_literal(&self, node: &Node) -> bool {
        match node {
            Node::Char(c) if self.code.unicode && (0xD800..0xE000).contains(c) => false,
            Node::Char(c) => !self.has_case(*c),
            _ => false,
        }
    }

    fn alternatives(&mut self, all: &[Node], back: bool) -> Option<()> {
        let mut jumps = Vec::new();
        for (i, alternative) in all.iter().enumerate() {
            if i + 1 == all.len() {
                self.node(alternative, back)?;
                break;
            }
            let split = self.push(Inst::Split { first: 0, second: 0 })?;
            self.node(alternative, back)?;
            jumps.push(self.push(Inst::Jump(0))?);
            self.code.insts[split as usize] = Inst::Split { first: split + 1, second: self.here() };
        }
        let end = self.here();
        for jump in jumps {
            self.code.insts[jump as usize] = Inst::Jump(end);
        }
        Some(())
    }

    fn repeat(&mut self, body: &Node, min: u32, max: u32, greedy: bool, groups: (u32, u32), back: bool) -> Option<()> {
        if max == 0 {
            return Some(());
        }
        if matches!(body, Node::Char(_) | Node::Any | Node::Class(_)) {
            let atom = self.atom(body)?;
            self.code.loops.push(AtomLoop { atom, min, max, greedy, back });
            self.push(Inst::Loop(self.code.loops.len() as u32 - 1))?;
            return Some(());
        }
        if min == 0 && (max == 1 || max == UNBOUNDED) {
            return self.simple_repeat(body, max, greedy, groups, back);
        }
        let (counter, mark) = (self.register(), self.register());
        self.push(Inst::Zero(counter))?;
        let index = self.code.counters.len();
        let head = self.push(Inst::CounterHead(index as u32))?;
        self.code.counters.push(Counter { counter, mark, min, max, greedy, head, exit: 0 });
        self.push(Inst::CounterEnter(index as u32))?;
        self.reset(groups)?;
        self.node(body, back)?;
        self.push(Inst::CounterTail(index as u32))?;
        self.code.counters[index].exit = self.here();
        Some(())
    }

    /// `?` and `*`: an iteration that matches nothing is refused (22.2.2.3.1 step 2.b).
    fn simple_repeat(&mut self, body: &Node, max: u32, greedy: bool, groups: (u32, u32), back: bool) -> Option<()> {
        let split = self.push(Inst::Split { first: 0, second: 0 })?;
        let needs_check = may_be_empty(body);
        let mark = if needs_check { self.register() } else { 0 };
        self.reset(groups)?;
        if needs_check {
            self.push(Inst::Mark(mark))?;
        }
        self.node(body, back)?;
        if needs_check {
            self.push(Inst::FailIfEmpty(mark))?;
        }
        if max == UNBOUNDED {
            self.push(Inst::Jump(split))?;
        }
        let exit = self.here();
        let (first, second) = if greedy { (split + 1, exit) } else { (exit, split + 1) };
        self.code.insts[split as usize] = Inst::Split { first, second };
        Some(())
    }

    fn reset(&mut self, (first, end): (u32, u32)) -> Option<()> {
        if first < end {
            self.push(Inst::ResetGroups { first, end })?;
        }
        Some(())
    }

    /// Adds what `node` can begin with; whether it may match nothing (then what follows counts too).
    fn first_units(&self, node: &Node, first: &mut FirstUnits) -> bool {
        match node {
            Node::Empty | Node::Start | Node::End | Node::WordBoundary { .. } | Node::Look { .. } => true,
            Node::Char(c) => {
                self.first_char(*c, first);
                false
            }
            Node::Any => {
                first.low = [true; 256];
                first.high = true;
                false
            }
            Node::Class(parts) => {
                let class = Class::new(parts, self.code.folding);
                for c in 0..256 {
                    first.low[c as usize] |= class.contains(c);
                }
                first.high |= class.may_contain_high();
                false
            }
            Node::Sequence(items) => items.iter().all(|item| self.first_units(item, first)),
            // Not `any`, which would stop at the first that may be empty.
            Node::Alternatives(all) => all.iter().fold(false, |empty, item| self.first_units(item, first) | empty),
            Node::Group { body, .. } => self.first_units(body, first),
            Node::Repeat { body, min, max, .. } => *max == 0 || self.first_units(body, first) || *min == 0,
            Node::BackReference(_) => {
                first.low = [true; 256];
                first.high = true;
                true
            }
        }
    }

    fn first_char(&self, c: u32, first: &mut FirstUnits) {
        if !self.has_case(c) {
            match first.low.get_mut(c as usize) {
                Some(slot) => *slot = true,
                None => first.high = true,
            }
            return;
        }
        let folding = self.code.folding;
        let canonical = folding.canonicalize(c);
        for unit in 0..256 {
            first.low[unit as usize] |= folding.canonicalize(unit) == canonical;
        }
        // With u even k and s have relatives above Latin-1.
        first.high |= c >= 0x80 || folding == Folding::Unicode;
    }
}

fn may_be_empty(node: &Node) -> bool {
    match node {
        Node::Char(_) | Node::Any | Node::Class(_) => false,
        Node::Sequence(items) => items.iter().all(may_be_empty),
        Node::Alternatives(all) => all.iter().any(may_be_empty),
        Node::Group { body, .. } => may_be_empty(body),
        Node::Repeat { body, min, .. } => *min == 0 || may_be_empty(body),
        _ => true,
    }
}
