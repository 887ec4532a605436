//! Facts about emitted code that need no engine to run: shape of loops, dead zones, errors, limits.

use zjs_compiler::{Compiler, disassemble};
use zjs_engine::bytecode::template::{CompileError, SourceCompiler, SourceKind};

fn dump(source: &str) -> String {
    match Compiler.compile(source, "test.js", &SourceKind::Script) {
        Ok(script) => {
            assert_eq!(disassemble::check(&script), Ok(()));
            disassemble::dump(&script)
        }
        Err(error) => format!("error: {error}"),
    }
}

fn error(source: &str) -> Option<CompileError> {
    Compiler.compile(source, "test.js", &SourceKind::Script).err()
}

#[test]
fn a_counting_loop_has_one_conditional_jump_and_one_back_edge() {
    let code = dump("function f(n) { let s = 0; for (let i = 0; i < n; i++) s += i; return s }");
    assert_eq!(code.matches("JumpIf").count(), 1, "{code}");
    assert_eq!(code.matches(" Loop ").count(), 1, "{code}");
    assert!(!code.contains(" Move "), "{code}");
}

#[test]
fn every_way_back_costs_fuel() {
    for source in [
        "while (a) { continue; }",
        "while (a) { if (b) continue; c(); }",
        "outer: while (a) { for (;;) { try { continue outer; } finally { c(); } } }",
        "for (var x in a) { if (b) continue; c(); }",
        "for (var x of a) { if (b) continue; c(); }",
        "for (;;) { if (b) continue; c(); }",
        "do { if (b) continue; c(); } while (a);",
        "async function f() { for await (var x of a) { if (b) continue; c(); } }",
        "function* f() { while (a) { yield* b; continue; } }",
    ] {
        assert!(dump(source).contains(" Loop "), "{source}");
    }
}

#[test]
fn dead_zone_checks_stand_only_where_they_can_fail() {
    assert!(!dump("function f() { let x = 1; return x + x }").contains("Hole"));
    assert!(dump("function f() { g(x); let x = 1 }").contains("ThrowIfHole"));
    assert!(dump("function f() { g(() => x); let x = 1 }").contains("GetEnvChecked"));
    assert!(dump("function f(v) { switch (v) { case 0: let x = 1; case 1: return x } }").contains("ThrowIfHole"));
}

#[test]
fn only_captured_variables_make_environments() {
    assert!(!dump("function f() { let a = 1; { let b = a; g(b) } }").contains("NewEnv"));
    assert!(dump("function f() { for (let i = 0; i < 3; i++) g(() => i) }").contains("CloneEnv"));
}

#[test]
fn cheap_arguments_need_no_object() {
    let code = dump("function f() { return arguments[0] + arguments.length }");
    assert!(code.contains("GetArgument") && !code.contains("CreateArguments"), "{code}");
    assert!(dump("function f(a) { a = 1; return arguments[0] }").contains("MapArgument"));
}

#[test]
fn early_errors_have_a_place() {
    let found = error("let a;\n  let a;").map(|e| (e.line, e.is_limit));
    assert!(matches!(found, Some((1 | 2, false))), "{found:?}");
    for source in
        ["(", "break", "/(/", "function f() { 'use strict'; with (a) {} }", "class A { constructor() { super() } }"]
    {
        assert!(error(source).is_some_and(|e| !e.is_limit), "{source}");
    }
}

/// The stack is in proportion to the source: a pattern that needs more of it per byte ends this process.
#[test]
fn deep_nesting_has_stack() {
    const LEVELS: usize = 5_900;
    for (open, close) in [
        ("[", ""),
        ("(", ""),
        ("[", "]"),
        ("(", ")"),
        ("{a:", "}"),
        ("{", "}"),
        ("!", ""),
        ("a=>", ""),
        ("(a=", ")=>1"),
        ("`${", "}`"),
        ("1?", ":1"),
        ("if(1)", ""),
        ("if(1);else ", ""),
        ("a=", ""),
        ("1+", ""),
        ("new ", ""),
        ("a[", "]"),
        ("a(", ")"),
        ("a?.[", "]"),
        ("/(?:", ")/"),
        ("(function(){", "})"),
        ("class{[", "](){}}"),
    ] {
        // Whether it compiles does not matter here, and a thread of its own has no larger stack left over.
        let brackets = open.matches(['(', '[', '{']).count().max(1);
        let source = format!("x={}1{}", open.repeat(LEVELS / brackets), close.repeat(LEVELS / brackets));
        std::thread::spawn(move || drop(Compiler.compile(&source, "deep.js", &SourceKind::Script)))
            .join()
            .expect("an answer");
    }
}

#[test]
fn nesting_is_bounded() {
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(error(&deep).is_some_and(|e| e.is_limit));
    let chain = format!("a{}", "+a".repeat(20_000));
    assert!(error(&chain).is_none());
}

#[test]
fn output_is_deterministic() {
    let source = "class A { #x = 1; y = () => this.#x } function f({ a, b }, ...c) { return [a, b, c, () => a] }";
    assert_eq!(dump(source), dump(source));
}
