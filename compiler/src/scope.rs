//! Scope data: what the analysis finds out and the code generator asks.
//!
//! Invariant: after the analysis every binding knows whether a closure (or eval) can see it; if so it has
//! a slot in its scope's environment, otherwise it lives in a register of its function.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

pub type ScopeIdx = u32;
pub type BindIdx = u32;
pub type FuncIdx = u32;

/// "No scope", "no binding", "no function".
pub const NONE: u32 = u32::MAX;

/// A fast hasher for names and addresses; never iterated, so its order is of no consequence.
#[derive(Default, Clone, Copy)]
pub struct Fx(u64);

impl Hasher for Fx {
    /// The multiplication leaves the low bits weak, and tables take their bucket from these.
    fn finish(&self) -> u64 {
        self.0.rotate_left(26)
    }
    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.write_u64(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            self.write_u64(rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)));
        }
    }
    fn write_u8(&mut self, n: u8) {
        self.write_u64(u64::from(n));
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_usize(&mut self, n: usize) {
        self.write_u64(n as u64);
    }
    fn write_u64(&mut self, n: u64) {
        self.0 = (self.0.rotate_left(5) ^ n).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

pub type FxMap<K, V> = HashMap<K, V, BuildHasherDefault<Fx>>;

/// What a scope stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ScopeKind {
    /// Top level of a script, module or eval.
    Top,
    /// Parameters of a function, and its body unless that is separate.
    Function,
    /// The body of a function whose parameters have expressions.
    Body,
    Block,
    Catch,
    Class,
    With,
    Switch,
    /// The head of a for statement.
    Loop,
    StaticBlock,
}

/// How a binding came to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindKind {
    Var,
    Param,
    /// Function declaration at function level: like a var.
    Function,
    Let,
    Const,
    Class,
    /// Function declaration in a block: lexical, without dead zone.
    BlockFunction,
    Catch,
    /// The name of a function expression.
    FunctionName,
    /// The inner name of a class.
    ClassName,
    Import,
    /// `#x`.
    Private,
    /// Made by the compiler: computed field keys, private methods.
    Hidden,
    /// `this`, `new.target`, the active function.
    Pseudo,
    Arguments,
}

impl BindKind {
    /// The binding is lexical: it has a dead zone and forbids a `var` of its name beside it.
    pub fn is_lexical(self) -> bool {
        matches!(self, BindKind::Let | BindKind::Const | BindKind::Class | BindKind::ClassName)
    }

    /// Assignment throws.
    pub fn is_const(self) -> bool {
        matches!(self, BindKind::Const | BindKind::ClassName | BindKind::Import)
    }
}

/// One binding.
#[derive(Debug)]
pub struct Binding<'a> {
    pub name: &'a str,
    pub kind: BindKind,
    pub scope: ScopeIdx,
    /// Lives in the environment of its scope, in `slot`.
    pub captured: bool,
    pub slot: u16,
    /// A global of a script: reached by name.
    pub global: bool,
    /// Reads before `init_end` meet a dead zone.
    pub tdz: bool,
    /// Source offset behind which straight-line code of the same scope finds it initialised.
    pub init_end: u32,
    /// Some use is checked, so the register must start as the uninitialized marker.
    pub needs_hole: bool,
    /// Source offsets of assignments.
    pub writes: Vec<u32>,
}

/// One scope.
#[derive(Debug)]
pub struct Scope<'a> {
    pub parent: ScopeIdx,
    pub kind: ScopeKind,
    pub func: FuncIdx,
    pub strict: bool,
    pub names: FxMap<&'a str, BindIdx>,
    /// In order of declaration.
    pub bindings: Vec<BindIdx>,
    /// A direct eval can see this scope.
    pub has_eval: bool,
    /// A sloppy direct eval may declare `var`s here: an object environment lies inside the environment.
    pub var_object: bool,
    /// Slots of the environment; 0 means that there is none.
    pub env_slots: u16,
}

impl Scope<'_> {
    /// Environments that this scope adds to the chain.
    pub fn env_hops(&self) -> u16 {
        u16::from(self.env_slots > 0 || self.kind == ScopeKind::With) + u16::from(self.var_object)
    }
}

/// One function, as far as its scopes go.
#[derive(Debug)]
pub struct FuncInfo {
    pub parent: FuncIdx,
    /// Its outermost scope.
    pub scope: ScopeIdx,
    pub is_arrow: bool,
    pub is_derived: bool,
    /// The code of a class field or static block.
    pub is_field_init: bool,
    pub is_top: bool,
    pub strict: bool,
    pub uses_this: bool,
    pub has_eval: bool,
    /// Binding of `arguments`, if the object (or its cheap form) is needed.
    pub arguments: BindIdx,
    /// Uses of `arguments` that need the object.
    pub arguments_escape: bool,
    /// Some parameter is assigned.
    pub params_assigned: bool,
    pub simple_params: bool,
    /// Sloppy block functions that are also `var`s of the function: (block scope, name).
    pub annex_b: Vec<(ScopeIdx, BindIdx)>,
}

/// The result of the analysis.
#[derive(Default, Debug)]
pub struct Analysis<'a> {
    pub scopes: Vec<Scope<'a>>,
    pub bindings: Vec<Binding<'a>>,
    pub funcs: Vec<FuncInfo>,
    /// Scope of a node: by address and a tag that tells apart nodes at one address.
    pub node_scope: FxMap<(usize, u8), ScopeIdx>,
    /// Binding by oxc reference number; `NONE` is a global or comes from around an eval.
    pub resolution: Vec<BindIdx>,
    /// There is a `with` or a sloppy direct eval somewhere.
    pub has_dynamic: bool,
    /// Names of scripts and evals that become globals through Annex B.
    pub annex_b_globals: Vec<&'a str>,
    pub has_top_level_await: bool,
    /// `arguments` is used outside of functions of this source.
    pub free_arguments: bool,
}

/// Tags for `node_scope`.
pub mod tag {
    pub const FUNCTION: u8 = 0;
    pub const BODY: u8 = 1;
    pub const BLOCK: u8 = 2;
    pub const CLASS: u8 = 3;
    pub const FIELDS: u8 = 4;
    pub const STATICS: u8 = 5;
    pub const CATCH: u8 = 6;
    pub const TOP: u8 = 7;
    pub const WITH: u8 = 8;
}

/// Address of a node, the key of `node_scope`.
pub fn addr<T>(node: &T) -> usize {
    std::ptr::from_ref(node) as usize
}
