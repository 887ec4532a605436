//! zjs compiler: JavaScript source to function templates.
//!
//! Path: oxc parses and reports early errors; `analysis` builds scopes and decides which variables
//! closures see; `codegen` and its neighbours emit bytecode; `disassemble` prints and checks it.
//! Invariant: the same source gives the same templates; nothing iterates over a hash map.

mod analysis;
mod assignment;
mod calls;
mod classes;
mod codegen;
mod control;
pub mod disassemble;
mod dynamic;
mod emit;
mod expressions;
mod functions;
mod generators;
mod literals;
mod loops;
mod modules;
#[cfg(feature = "native")]
pub mod native;
mod patterns;
mod scope;
mod stack;
mod statements;
mod strings;
mod try_finally;

use std::cell::Cell;
use std::rc::Rc;

use oxc_allocator::Allocator;
use oxc_parser::{ParseOptions, Parser};
use oxc_semantic::{SemanticBuilder, Stats};
use oxc_span::SourceType;
use zjs_engine::bytecode::template::*;

use crate::analysis::{TopKind, analyze};

use crate::codegen::{Codegen, FunctionState};
use crate::emit::Reg;

/// The compiler; it has no state.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compiler;

/// Brackets may nest this deep; the parser recurses several frames for each.
const NESTING_MAX: u32 = 6_000;
/// Stack for each byte of source: more than twice what the greediest pattern was seen to need in a release build;
/// tests/shape.rs tries many. A debug build needs several times as much.
const STACK_PER_BYTE: usize = if cfg!(debug_assertions) { 24 * 1024 } else { 4 * 1024 };
const STACK_MIN: usize = 512 * 1024;
/// Address space only: pages are touched as deep as the source really nests.
const STACK_MAX: usize = 4 * 1024 * 1024 * 1024;

/// Deepest nesting of brackets and longest run of prefix operators, strings and comments left out roughly.
fn nesting(source: &str) -> u32 {
    let bytes = source.as_bytes();
    let (mut depth, mut max, mut run, mut i) = (0u32, 0u32, 0u32, 0usize);
    while i < bytes.len() {
        match bytes[i] {
            b'(' | b'[' | b'{' => {
                depth += 1;
                max = max.max(depth);
                run = 0;
            }
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                run = 0;
            }
            b'!' | b'~' | b'+' | b'-' => {
                run += 1;
                max = max.max(run / 2);
            }
            quote @ (b'"' | b'\'') => {
                i += 1;
                while i < bytes.len() && bytes[i] != quote && bytes[i] != b'\n' {
                    i += if bytes[i] == b'\\' { 2 } else { 1 };
                }
                run = 0;
            }
            b'/' if bytes.get(i + 1) == Some(&b'/') => {
                while i < bytes.len() && bytes[i] != b'\n' {
                    i += 1;
                }
            }
            b'/' if bytes.get(i + 1) == Some(&b'*') => {
                i += 2;
                while i + 1 < bytes.len() && !(bytes[i] == b'*' && bytes[i + 1] == b'/') {
                    i += 1;
                }
                i += 1;
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ => run = 0,
        }
        i += 1;
    }
    max
}

fn error_at(source: &str, message: String, offset: u32, is_limit: bool) -> CompileError {
    let end = (offset as usize).min(source.len());
    let before: &[u8] = &source.as_bytes()[..end];
    let line = before.iter().filter(|&&b| b == b'\n').count() as u32 + 1;
    let start = before.iter().rposition(|&b| b == b'\n').map_or(0, |p| p + 1);
    let column = source.get(start..end).map_or(0, |s| s.encode_utf16().count()) as u32 + 1;
    CompileError { message, offset, line, column, is_limit }
}

impl SourceCompiler for Compiler {
    fn compile(&self, source: &str, name: &str, kind: &SourceKind) -> Result<CompiledScript, CompileError> {
        if source.len() > (u32::MAX / 2) as usize {
            return Err(error_at(source, "Source is too long".to_string(), 0, true));
        }
        if source.len() > NESTING_MAX as usize && nesting(source) > NESTING_MAX {
            return Err(error_at(source, "Source is nested too deeply".to_string(), 0, true));
        }
        let bytes = (source.len() * STACK_PER_BYTE).clamp(STACK_MIN, STACK_MAX);
        let compiled = stack::with_stack(bytes, || match kind {
            SourceKind::DirectEval(info) if info.strict => {
                let prefixed = format!("{STRICT_PREFIX}{source}");
                let compiled = compile_source(&prefixed, name, kind);
                compiled.map_err(|e| {
                    let offset = e.offset.saturating_sub(STRICT_PREFIX.len() as u32);
                    error_at(source, e.message, offset, e.is_limit)
                })
            }
            _ => compile_source(source, name, kind),
        });
        compiled
            .unwrap_or_else(|_| Err(error_at(source, "Out of memory for the compiler's stack".to_string(), 0, true)))
    }
}

/// Whether an error that oxc reports for a script is none, because of what surrounds a direct eval.
fn allowed_in_eval(message: &str, outer: &ScopeInfo) -> bool {
    if message.starts_with("Unexpected new.target") {
        return outer.in_function;
    }
    if message.starts_with("'super' can only be referenced") {
        return outer.in_method;
    }
    if message.starts_with("Super calls are not permitted") {
        return outer.in_derived_constructor;
    }
    if message.starts_with("Private identifier '#") || message.starts_with("Private field '#") {
        let name = message.split('\'').nth(1).unwrap_or_default();
        let name = JsStr::from(name);
        return outer.environments.iter().any(|e| e.names.iter().any(|(n, _, _)| *n == name));
    }
    false
}

/// Returns the first error of a list of diagnostics.
macro_rules! check_diagnostics {
    ($source:expr, $diagnostics:expr, $outer:expr) => {
        let mut errors = $diagnostics.errors();
        if let Some(error) = errors.find(|e| !$outer.as_ref().is_some_and(|o| allowed_in_eval(&e.message, o))) {
            let offset = error.labels.first().map_or(0, |l| l.offset());
            return Err(error_at($source, error.message.to_string(), offset as u32, false));
        }
    };
}

/// Put in front of a direct eval's source when the caller is strict: there is no other way to tell oxc.
const STRICT_PREFIX: &str = "\"use strict\";";

/// Tables for sources up to this many bytes are sized by a guess; for larger ones counting the nodes pays.
const COUNTED_FROM: usize = 16 * 1024;
/// An arena that grew no larger than this is kept for the thread's next compilation.
const ARENA_KEPT_MAX: usize = 256 * 1024;

thread_local! {
    static ARENA: Cell<Option<Allocator>> = const { Cell::new(None) };
}

fn compile_source(source: &str, name: &str, kind: &SourceKind) -> Result<CompiledScript, CompileError> {
    let mut allocator = ARENA.take().unwrap_or_default();
    let compiled = compile_in(&allocator, source, name, kind);
    if allocator.capacity() <= ARENA_KEPT_MAX {
        allocator.reset();
        ARENA.set(Some(allocator));
    }
    compiled
}

fn compile_in(
    allocator: &Allocator,
    source: &str,
    name: &str,
    kind: &SourceKind,
) -> Result<CompiledScript, CompileError> {
    let is_module = matches!(kind, SourceKind::Module);
    let source_type = if is_module { SourceType::mjs() } else { SourceType::script() };
    let outer = match kind {
        SourceKind::DirectEval(info) => Some(info.clone()),
        _ => None,
    };
    let options = ParseOptions { parse_regular_expression: true, preserve_parens: false, ..ParseOptions::default() };
    let parsed = Parser::new(allocator, source, source_type).with_options(options).parse();
    check_diagnostics!(source, parsed.diagnostics, outer);
    if parsed.panicked {
        return Err(error_at(source, "Unexpected end of input".to_string(), source.len() as u32, false));
    }
    let program = parsed.program;
    let mut builder = SemanticBuilder::new_compiler();
    if source.len() <= COUNTED_FROM {
        let len = source.len() as u32;
        builder = builder.with_stats(Stats::new(len / 4, len / 64 + 4, len / 32 + 8, len / 12 + 8));
    }
    let semantic = builder.build(&program);
    check_diagnostics!(source, semantic.diagnostics, outer);
    let references = semantic.semantic.scoping().references_len();
    let outer_strict = outer.as_ref().is_some_and(|o| o.strict);
    let strict = is_module || outer_strict || program.directives.iter().any(|d| d.directive == "use strict");
    let top = match kind {
        SourceKind::Script | SourceKind::DynamicFunction => TopKind::Script,
        SourceKind::Module => TopKind::Module,
        SourceKind::IndirectEval | SourceKind::DirectEval(_) => TopKind::Eval { strict_vars: strict },
    };
    let mut an = analyze(&program, allocator, top, strict, references);
    if outer.as_ref().is_some_and(|o| o.environments.iter().any(|e| e.is_with)) {
        an.has_dynamic = true;
    }
    if an.free_arguments && outer.as_ref().is_some_and(|o| o.in_class_field) {
        return Err(error_at(source, "'arguments' is not allowed in class field initializer".to_string(), 0, false));
    }
    let suspension = if an.has_top_level_await { Suspension::Async } else { Suspension::None };
    let regs = vec![Reg::MAX; an.bindings.len()];
    let mut codegen = Codegen {
        an,
        f: FunctionState::new(0, FunctionKind::Top, suspension, strict),
        functions: Vec::new(),
        regs,
        error: None,
        outer,
        kind: kind.clone(),
        module: ModuleInfo::default(),
        globals: GlobalDeclarations::default(),
    };
    codegen.program(&program);
    codegen.finish_top(&program);
    if let Some((message, offset, is_limit)) = codegen.error {
        return Err(error_at(source, message, offset, is_limit));
    }
    let script = CompiledScript {
        functions: codegen.functions.into_iter().flatten().collect(),
        source: Rc::from(source),
        name: name.to_string(),
        globals: codegen.globals,
        module: is_module.then_some(codegen.module),
    };
    if cfg!(debug_assertions)
        && let Err(problem) = disassemble::check(&script)
    {
        return Err(error_at(source, format!("internal compiler error: {problem}"), 0, true));
    }
    Ok(script)
}
