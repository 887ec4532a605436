//! What a compiler hands to the engine: function templates as plain Rust data, before they become cells.
//!
//! Nothing here refers to a cage, so a compiler needs no realm. `install` turns a [`CompiledScript`]
//! into cells of one realm.

use std::rc::Rc;

use smallvec::SmallVec;

/// Latin-1 units; most names are short enough to need no allocation.
pub type Latin1 = SmallVec<[u8; 24]>;

/// A JavaScript string as code units; Latin-1 whenever every unit is below 256.
#[derive(Clone, PartialEq, Eq, Debug, Hash, PartialOrd, Ord)]
pub enum JsStr {
    /// All code units are below 256.
    Latin1(Latin1),
    /// At least one code unit is 256 or more; lone surrogates are allowed.
    Utf16(Box<[u16]>),
}

impl JsStr {
    /// The string with these code units, in the narrowest form.
    pub fn from_units(units: &[u16]) -> JsStr {
        if units.iter().all(|&u| u < 256) {
            JsStr::Latin1(units.iter().map(|&u| u as u8).collect())
        } else {
            JsStr::Utf16(units.into())
        }
    }

    /// Length in code units.
    pub fn len(&self) -> usize {
        match self {
            JsStr::Latin1(s) => s.len(),
            JsStr::Utf16(s) => s.len(),
        }
    }

    /// Whether there is no code unit.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The code units.
    pub fn to_units(&self) -> Vec<u16> {
        match self {
            JsStr::Latin1(s) => s.iter().map(|&u| u as u16).collect(),
            JsStr::Utf16(s) => s.to_vec(),
        }
    }
}

impl From<&str> for JsStr {
    fn from(s: &str) -> JsStr {
        if s.is_ascii() {
            JsStr::Latin1(Latin1::from_slice(s.as_bytes()))
        } else {
            JsStr::from_units(&s.encode_utf16().collect::<Vec<_>>())
        }
    }
}

/// One entry of a template's constant table.
#[derive(Clone, PartialEq, Debug)]
pub enum Constant {
    /// A number; stored as int32 where it is one.
    Number(f64),
    /// A string or property name; always interned.
    String(JsStr),
    /// A BigInt: sign and magnitude, little-endian 32-bit digits without leading zeros.
    BigInt { negative: bool, digits: Box<[u32]> },
    /// A nested function: index into [`CompiledScript::functions`].
    Function(u32),
    /// The strings of a tagged template; `None` where a cooked string is undefined.
    TemplateObject { cooked: Box<[Option<JsStr>]>, raw: Box<[JsStr]> },
    /// Names of an environment's slots, for direct eval and debuggers.
    ScopeInfo(Rc<ScopeInfo>),
}

/// Names visible at a direct eval, innermost environment first.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScopeInfo {
    /// One entry per environment on the chain.
    pub environments: Vec<ScopeEnvironment>,
    /// Whether the calling code is strict.
    pub strict: bool,
    /// What the calling code may say: `new.target`, `super.x`, `super()`; class-field initialisers refuse `arguments`.
    pub in_function: bool,
    pub in_method: bool,
    pub in_derived_constructor: bool,
    pub in_class_field: bool,
}

/// One environment of a [`ScopeInfo`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScopeEnvironment {
    /// Name, slot, and how the binding behaves.
    pub names: Vec<(JsStr, u16, BindingMode)>,
    /// The environment is a `with` object: every name may be there.
    pub is_with: bool,
    /// The environment is where a sloppy direct eval declares its `var`s.
    pub is_var_scope: bool,
}

/// How a binding answers to reads before initialisation and to writes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindingMode {
    /// No dead zone, may be assigned.
    Var,
    /// Dead zone, may be assigned.
    Let,
    /// Dead zone, assignment throws.
    Const,
    /// The name of a function expression: assignment throws in strict code only.
    FunctionName,
    /// An import: the slot holds a reference that `GetImport` reads; assignment throws.
    Import,
}

/// What kind of function a template is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FunctionKind {
    /// `function`: callable and constructible, own `prototype`.
    Normal = 0,
    /// Arrow function. `this`, `new.target`, `super` and `arguments` come from captured variables.
    Arrow = 1,
    /// Method, getter or setter: no `prototype`, not constructible.
    Method = 2,
    /// Class constructor without heritage; TypeError when called.
    ClassConstructor = 3,
    /// Class constructor with heritage: `this` starts as the uninitialized marker.
    DerivedConstructor = 4,
    /// Code of a script, module or eval.
    Top = 5,
    /// Class field or static block initializer: called as a method.
    FieldInitializer = 6,
}

/// Whether and how a function suspends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Suspension {
    None = 0,
    Generator = 1,
    Async = 2,
    AsyncGenerator = 3,
}

/// A protected range: when an exception leaves an instruction that starts in `start..end`, the
/// exception goes into `register` and execution goes on at `target`. Inner ranges come first.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Handler {
    /// First unit of the range.
    pub start: u32,
    /// First unit behind the range.
    pub end: u32,
    /// Unit where the handler starts.
    pub target: u32,
    /// Register that receives the exception.
    pub register: u16,
}

/// One function as compiled.
#[derive(Clone, PartialEq, Debug)]
pub struct FunctionTemplate {
    /// The `name` property at creation.
    pub name: JsStr,
    pub kind: FunctionKind,
    pub suspension: Suspension,
    pub strict: bool,
    /// The function has a `this` use or a direct eval: a sloppy function coerces `this` at entry only then.
    pub uses_this: bool,
    /// Registers `0..param_count` receive the formal parameters (rest parameter not counted).
    pub param_count: u16,
    /// Registers `0..init_count` that received no argument start as undefined; those above are undefined
    /// in no defined state until written. At least `param_count`.
    pub init_count: u16,
    /// Number of registers, call blocks included.
    pub register_count: u16,
    /// The `length` property.
    pub length: u16,
    /// 16-bit units, see `opcode`.
    pub code: Vec<u16>,
    pub constants: Vec<Constant>,
    pub handlers: Vec<Handler>,
    /// (first unit of an instruction, byte offset in the source), ascending in units. A position holds
    /// for every following instruction up to the next entry.
    pub positions: Vec<(u32, u32)>,
    /// Number of inline caches.
    pub ic_count: u16,
    /// Byte range of the function's text in the source, for `toString`; for classes the class's text.
    pub source_start: u32,
    pub source_end: u32,
}

/// What evaluating a script declares before its first instruction (GlobalDeclarationInstantiation).
#[derive(Clone, PartialEq, Debug, Default)]
pub struct GlobalDeclarations {
    /// `var` names.
    pub vars: Vec<JsStr>,
    /// Function declarations: name and function index. Created with the global environment, in order.
    pub functions: Vec<(JsStr, u32)>,
    /// `let`, `const` and `class` names; `true` for `const`.
    pub lexicals: Vec<(JsStr, bool)>,
    /// Annex B names: sloppy block functions that become `var` where nothing forbids it.
    pub annex_b: Vec<JsStr>,
}

/// One import of a module.
#[derive(Clone, PartialEq, Debug)]
pub struct ImportEntry {
    /// Index into [`ModuleInfo::requests`].
    pub request: u32,
    pub name: ImportName,
    /// Slot of the module's environment that receives the import reference.
    pub slot: u16,
}

/// What an import names.
#[derive(Clone, PartialEq, Debug)]
pub enum ImportName {
    Named(JsStr),
    Namespace,
}

/// One export of a module.
#[derive(Clone, PartialEq, Debug)]
pub enum ExportEntry {
    /// `export_name` is the module's own variable in this slot of its environment.
    Local { export_name: JsStr, slot: u16 },
    /// `export { x as y } from "..."`, also for imported names that are exported again.
    Indirect { export_name: JsStr, request: u32, name: ImportName },
    /// `export * from "..."`.
    Star { request: u32 },
}

/// What linking a module needs.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ModuleInfo {
    /// Specifiers in source order without repetition, with their import attributes.
    pub requests: Vec<(JsStr, Vec<(JsStr, JsStr)>)>,
    pub imports: Vec<ImportEntry>,
    pub exports: Vec<ExportEntry>,
    /// Number of slots of the module's environment. The engine makes it; the module's top function gets
    /// it through `LoadFunctionEnv`.
    pub env_slots: u16,
    /// Slots that are `var`s: start as undefined instead of uninitialized.
    pub var_slots: Vec<u16>,
    /// Function declarations: slot and function index, instantiated at link time.
    pub functions: Vec<(u16, u32)>,
    pub has_top_level_await: bool,
}

/// A compiled script, module, eval or function body.
#[derive(Clone, PartialEq, Debug)]
pub struct CompiledScript {
    /// Function 0 is the top-level code.
    pub functions: Vec<FunctionTemplate>,
    /// The source text, kept for `toString` and positions.
    pub source: Rc<str>,
    /// Name for stack traces: a path or a label such as `<eval>`.
    pub name: String,
    /// For scripts.
    pub globals: GlobalDeclarations,
    /// For modules.
    pub module: Option<ModuleInfo>,
}

/// What the source is to be compiled as.
#[derive(Clone, Debug)]
pub enum SourceKind {
    /// Sloppy unless it has a directive. The top function's completion value is what it returns.
    Script,
    Module,
    /// The body and parameters of `new Function` and its siblings are joined to one function expression
    /// in parentheses; the script's completion value is that function.
    DynamicFunction,
    /// Indirect eval: like a script, but lexical declarations stay inside and vars are deletable.
    IndirectEval,
    /// Direct eval inside the scopes that the info describes.
    DirectEval(Rc<ScopeInfo>),
}

/// Why a source cannot be compiled: an early error.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CompileError {
    pub message: String,
    /// Byte offset in the source.
    pub offset: u32,
    /// Starts from 1.
    pub line: u32,
    /// Starts from 1, in code units... of the line.
    pub column: u32,
    /// The error is a limit of this compiler (nesting, number of registers), not of the language: RangeError.
    pub is_limit: bool,
}

impl std::fmt::Display for CompileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} ({}:{})", self.message, self.line, self.column)
    }
}

impl std::error::Error for CompileError {}

/// A compiler that a realm may call for `eval`, `new Function` and source given by an embedder.
pub trait SourceCompiler: Send + Sync {
    /// Compiles `source`; `name` labels it in stack traces.
    ///
    /// # Errors
    /// Every early error of the source; see [`CompileError`].
    fn compile(&self, source: &str, name: &str, kind: &SourceKind) -> Result<CompiledScript, CompileError>;
}
