//! Native code against the interpreter: same results, same fuel, same errors.

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::host::HostFunctions;
use zjs_engine::realm::RealmOptions;
use zjs_loader::{OpenOptions, Realm, Snapshot};
use zjs_snapshotter::build::{Built, finish, new_build_realm};

struct Built2 {
    snapshot: Snapshot,
    built: Built,
    _file: tempfile::TempPath,
}

fn snapshot(source: &str) -> Built2 {
    let mut realm = new_build_realm(HostFunctions::default()).unwrap();
    if realm.evaluate(source, "app.js", &SourceKind::Script).is_err() {
        let exception = realm.exception;
        panic!("{:?}", realm.describe_exception(exception));
    }
    let built = finish(realm, vec!["app.js".into()], true, |_| {}).unwrap();
    let file = tempfile::NamedTempFile::new().unwrap().into_temp_path();
    std::fs::write(&file, &built.bytes).unwrap();
    // SAFETY: the file was just written by this build and nobody changes it.
    let snapshot = unsafe { Snapshot::open_trusted(&file, OpenOptions::default()).unwrap() };
    Built2 { snapshot, built, _file: file }
}

/// Whether the function named `name` has native code, else why not.
fn native(built: &Built2, name: &str) -> Result<u32, String> {
    let t = built.built.metadata.templates.iter().find(|t| t.name == name).expect("no such function");
    if t.native_bytes > 0 { Ok(t.native_bytes) } else { Err(t.native_reason.clone()) }
}

fn realm(built: &Built2, native_code: bool, options: &RealmOptions) -> Realm {
    built.snapshot.new_realm(&RealmOptions { native_code, ..options.clone() }).unwrap()
}

/// Result (or error with its stack) and fuel spent.
fn run(built: &Built2, native_code: bool, script: &str, options: &RealmOptions) -> (String, u64) {
    let mut realm = realm(built, native_code, options);
    let before = realm.fuel_left();
    let text = match realm.eval(script, "test.js") {
        Ok(value) => format!("{value:?}"),
        Err(zjs_loader::RealmError::Exception { message, stack }) => format!("{message}\n{stack}"),
        Err(other) => other.to_string(),
    };
    (text, before - realm.fuel_left())
}

/// Runs `script` on both routes; both must agree. Returns what it gave.
fn same_with(built: &Built2, script: &str, options: &RealmOptions) -> String {
    let native = run(built, true, script, options);
    let interpreted = run(built, false, script, options);
    assert_eq!(native, interpreted, "{script}");
    native.0
}

fn same(built: &Built2, script: &str) -> String {
    same_with(built, script, &RealmOptions::default())
}

const SHOW: &str = "function show(v) { return Object.is(v, -0) ? '-0' : typeof v + ' ' + String(v); }\n";

/// Calls `f` with all pairs of odd values on both routes.
fn all_pairs(source: &str, names: &[&str]) {
    let built = snapshot(&format!("{SHOW}{source}"));
    for name in names {
        native(&built, name).unwrap_or_else(|why| panic!("{name}: {why}"));
        let script = format!(
            "var vs = [0, 1, -1, 2, 3, -3, 5, 7.5, -7.5, -0, NaN, Infinity, -Infinity, 31, 32, 33, 65535, 65536, 1000003,
               2147483647, -2147483648, 2147483648, 4294967295, 4294967296, 9007199254740991, -9007199254740992, 1e300, 1e-300,
               undefined, null, true, false, '12', 'x', {{ valueOf() {{ return 42; }} }}];
             var out = [];
             for (var i = 0; i < vs.length; i++) for (var j = 0; j < vs.length; j++) out.push(show({name}(vs[i], vs[j])));
             out.join('|')"
        );
        same(&built, &script);
    }
}

#[test]
fn arithmetic_and_bits_agree_on_all_pairs_of_odd_values() {
    let mut source = String::new();
    let mut names = Vec::new();
    for (i, op) in ["+", "-", "*", "/", "%", "**", "&", "|", "^", "<<", ">>", ">>>"].iter().enumerate() {
        source.push_str(&format!("function op{i}(a, b) {{ return a {op} b; }}\n"));
        names.push(format!("op{i}"));
    }
    for (i, op) in ["<", "<=", ">", ">=", "==", "!=", "===", "!=="].iter().enumerate() {
        source.push_str(&format!("function cmp{i}(a, b) {{ return a {op} b; }}\n"));
        source.push_str(&format!("function jmp{i}(a, b) {{ if (a {op} b) return 1; return 2; }}\n"));
        names.push(format!("cmp{i}"));
        names.push(format!("jmp{i}"));
    }
    all_pairs(&source, &names.iter().map(String::as_str).collect::<Vec<_>>());
}

#[test]
fn unary_and_immediate_operators_agree() {
    let source = "
        function neg(a, b) { return -a; }
        function not(a, b) { return ~a - ~b; }
        function bang(a, b) { return !(a - b); }
        function plus(a, b) { return +a; }
        function inc(a, b) { a++; --b; return a * b; }
        function mod1(a, b) { return (a % 1000003) + (b % -7); }
        function mod2(a, b) { return a % 4294967296; }
        function mod3(a, b) { return (a * b) % 16; }
        function div(a, b) { return a / 3 - b / 0; }
        function mix(a, b) { return (a * 31 + b) | 0; }
        function mix2(a, b) { return ((a << 5) - a + b) >>> 0; }
        function mix3(a, b) { return (a >>> 1) + (b >>> 0) - (a >> 3) * (b & 255) + (a | 7) - (b ^ 9); }
        function loopy(a, b) { let s = 0; for (let i = 0; i < 20; i++) { s += a * i; if (s > b) s -= b; } return s; }
        function cond(a, b) { let r; if (a > b) r = a; else r = 1.5; return r; }
        function undef(a, b) { let r; if (a > b) r = a; return r; }
        function and(a, b) { return (a > 0 && b > 0) ? a + b : a - b; }
        function truth(a, b) { if (a - 1) { if (b - 1) return 3; return 2; } return 1; }
        function half(a, b) { return 0.5 * a + b * 0.25; }
        function zero1(a, b) { return (a * b) + 1; }
        function zero2(a, b) { return a * b + b * a; }
        function zero3(a, b) { return (a | 0) + (a | 0) * (b | 0); }
        function zero4(a, b) { return (a | 0) * (b | 0) - (a | 0); }
        function zero5(a, b) { return (a | 0) - (a | 0) * (b | 0); }
        function zero6(a, b) { let p = (a | 0) * (b | 0); let q = p + 1; return 1 / p + q; }
        function zero10(a, b) { a |= 0; b |= 0; return a * b + -a; }
        function zero11(a, b) { a |= 0; b |= 0; let s = a; s += a * b; s -= b * a; s += (a * b) % 7; return s; }
        function zero7(a, b) { return -(a | 0) + (-(b | 0)); }
        function zero8(a, b) { return ((a | 0) % 3) - 0; }
        function zero9(a, b) { if ((a | 0) * (b | 0) === 0) return 1 / ((a | 0) * 0 + 0); return 2; }";
    all_pairs(
        source,
        &[
            "neg", "not", "bang", "plus", "inc", "mod1", "mod2", "mod3", "div", "mix", "mix2", "mix3", "loopy", "cond",
            "undef", "and", "truth", "half", "zero1", "zero2", "zero3", "zero4", "zero5", "zero6", "zero7", "zero8",
            "zero9", "zero10", "zero11",
        ],
    );
}

#[test]
fn calls_recursion_and_changed_callees() {
    let built = snapshot(&format!(
        "{SHOW}
        function fib(n) {{ return n < 2 ? n : fib(n - 1) + fib(n - 2); }}
        function even(n) {{ return n === 0 ? true : odd(n - 1); }}
        function odd(n) {{ return n === 0 ? false : even(n - 1); }}
        function step(value, i) {{ return (value + i) % 1000003; }}
        function drive(n) {{ let v = 1; for (let i = 0; i < n; i++) v = step(v, i); return v; }}
        function deep(n) {{ return n === 0 ? 0 : 1 + deep(n - 1); }}
        function over(a, b) {{ return a * b + 0.5; }}
        function caller(a, b) {{ return over(a, b) + over(b, a); }}
        function grow(a, n) {{ let s = a; for (let i = 0; i < n; i++) s = s * 3; return s; }}
        function outer(a, n) {{ return grow(a, n) + 1; }}
        function nothing(a) {{ if (a > 3) return a - 1; }}
        function useNothing(a) {{ return nothing(a) === undefined ? 1 : 2; }}
        function thrower(a) {{ if (a > 5) throw new RangeError('too big: ' + a); return a; }}
        function callThrower(a) {{ return thrower(a) + thrower(a + 1) * 2; }}
        let lexical = (a) => a * 2 + 1;
        function useLexical(a) {{ return lexical(a) + lexical(a); }}"
    ));
    for name in [
        "fib",
        "even",
        "odd",
        "step",
        "drive",
        "deep",
        "over",
        "caller",
        "grow",
        "outer",
        "nothing",
        "useNothing",
        "thrower",
        "callThrower",
        "lexical",
        "useLexical",
    ] {
        native(&built, name).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    assert_eq!(same(&built, "fib(20)"), "Number(6765.0)");
    same(&built, "fib(10.5)");
    same(&built, "fib('9')");
    same(&built, "[even(10), odd(7), even(11), even(2.5 - 0.5)].join()");
    assert_eq!(same(&built, "drive(1000)"), same(&built, "drive(1000.0)"));
    same(&built, "[caller(3, 4), caller(1.5, -2), caller(NaN, 1), caller('3', 4)].join()");
    same(&built, "[outer(1, 10), outer(3, 40), outer(0, 5), outer(-0, 3), outer(1.5, 900)].map(show).join()");
    same(&built, "[useNothing(1), useNothing(5), useLexical(4), useLexical(1e300)].join()");
    // The callee changes before and during a loop of calls.
    same(&built, "step = (a, b) => a + ' ' + b; drive(3)");
    same(&built, "let keep = fib; fib = (n) => 100; [keep(5), keep(1)].join()");
    same(&built, "let a = useLexical(3); lexical = (x) => x; a + useLexical(3)");
    same(&built, "Object.defineProperty(globalThis, 'step', { get() { return () => 7; } , configurable: true });");
    // Errors with complete stacks, from inner frames too.
    let error = same(&built, "callThrower(5)");
    assert!(
        error.contains("too big: 6") && error.contains("at thrower") && error.contains("at callThrower"),
        "{error}"
    );
    same(&built, "try { callThrower(9) } catch (e) { e.stack + '!' }");
    same(&built, "try { callThrower(9) } catch (e) { } callThrower(2)");
}

#[test]
fn exits_inside_nested_calls_go_on_natively() {
    let built = snapshot(&format!(
        "{SHOW}
        function leaf(a, b) {{ return a * b; }}
        function mid(a, b) {{ return leaf(a, b) + leaf(b, 2); }}
        function top(a, b, n) {{ let s = 0; for (let i = 0; i < n; i++) s = (s + mid(a, b) + i) % 1000; return s; }}
        function fact(n) {{ return n <= 1 ? 1 : n * fact(n - 1); }}
        function sum(n) {{ let s = 2147483000; for (let i = 0; i < n; i++) s += i; return s; }}
        function big(n) {{ let s = 9007199254740000; for (let i = 0; i < n; i++) s += 4; return s; }}"
    ));
    for name in ["leaf", "mid", "top", "fact", "sum", "big"] {
        native(&built, name).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    for script in [
        "top(3, 4, 50)",
        "top(0, -4, 50)",
        "top(-0, 4, 20)",
        "top(1 << 30, 1 << 30, 20)",
        "top(1e200, 1e200, 9)",
        "top('3', 4, 50)",
        "top({ valueOf() { return 3; } }, 4, 50)",
        "fact(5)",
        "fact(12)",
        "fact(15)",
        "fact(18)",
        "fact(20)",
        "fact(25)",
        "fact(200)",
        "sum(10)",
        "sum(2000)",
        "big(10)",
        "big(500)",
    ] {
        same(&built, &format!("show({script})"));
    }
    assert_eq!(same(&built, "fact(20)"), "Number(2.43290200817664e18)");
}

#[test]
fn depth_fuel_and_stack_limits_are_the_same_on_both_routes() {
    let built = snapshot(
        "function deep(n) { return n === 0 ? 0 : 1 + deep(n - 1); }
         function spin(n) { let s = 0; for (let i = 0; i < n; i++) s = (s + i) % 17; return s; }
         function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
         function find(f) { let lo = 0, hi = 20000; while (lo < hi) { let m = (lo + hi + 1) >> 1; try { f(m); lo = m; } catch (e) { hi = m - 1; } } return lo; }",
    );
    for depth_max in [10, 100, 5_000, 10_000, 100_000] {
        let options = RealmOptions { depth_max, ..Default::default() };
        println!("depth {depth_max}: deepest {}", same_with(&built, "find(deep)", &options));
        same_with(&built, "deep(15000)", &options);
    }
    for fuel in [1, 2, 5, 50, 100, 1000, 5000] {
        let options = RealmOptions { fuel, ..Default::default() };
        same_with(&built, "spin(1000)", &options);
        same_with(&built, "fib(12)", &options);
        same_with(&built, "try { fib(30) } catch (e) { spin(5) + ' ' + e.stack }", &options);
    }
    let small = RealmOptions { native_stack_bytes: 64 << 10, ..Default::default() };
    same_with(&built, "deep(9000)", &small);
}

#[test]
fn captured_functions_call_each_other() {
    let built = snapshot(&format!(
        "{SHOW}
        var api = (function () {{
            const scale = 3;
            let shared = 5;
            function inner(a) {{ return a * scale + shared; }}
            function outer(a, n) {{ let s = 0; for (let i = 0; i < n; i++) s += inner(a + i); return s; }}
            return {{ outer, set(v) {{ shared = v; }} }};
        }})();
        function make(k) {{ return (a) => a * k; }}
        var twice = make(2), thrice = make(3);"
    ));
    native(&built, "outer").unwrap();
    same(&built, "show(api.outer(3, 10))");
    same(&built, "api.set(1.5); show(api.outer(3, 10))");
    same(&built, "api.set('x'); show(api.outer(3, 10))");
    same(&built, "[twice(4), thrice(4), make(7)(6)].join()");
    println!("many closures: {:?}", native(&built, "make"));
}

#[test]
fn assignments_to_globals_and_captured_variables() {
    let built = snapshot(&format!(
        "{SHOW}
        var seed = 1; let lexical = 0.5; const fixed = 3;
        function random() {{ seed = (seed * 1664525 + 1013904223) % 4294967296; return seed; }}
        function add(a) {{ lexical = lexical + a; return lexical; }}
        function later(a) {{ tail = tail + a; return tail; }}
        let tail = 4;
        function bad(a) {{ fixed = a; return a + 1; }}
        var up = function self(n) {{ return n <= 0 ? 0 : 2 + self(n - 1); }};
        var counter = (function () {{ let n = 0; return function counter(by) {{ n = n + by; return n; }}; }})();
        function many(n) {{ let s = 0; for (let i = 0; i < n; i++) s = s + random(); return s; }}"
    ));
    for name in ["random", "add", "later", "counter", "many", "self"] {
        native(&built, name).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    for script in [
        "[random(), random(), seed].join()",
        "seed = 'x'; show(random())",
        "many(100) + ' ' + seed",
        "Object.defineProperty(globalThis, 'seed', { writable: false }); random() + ' ' + seed",
        "try { fixed = 1 } catch (e) { } [add(1), add(-0), add('s'), lexical].join()",
        "[counter(1), counter(2.5), counter('!'), counter(1)].join()",
        "later(3) + tail",
        "[up(10), up(0.5), up('3'), new up(3) instanceof up].join()",
        "try { bad(1) } catch (e) { String(e) }",
    ] {
        same(&built, script);
    }
    let pages = [true, false].map(|native_code| {
        let mut realm = realm(&built, native_code, &RealmOptions::default());
        let _ = realm.eval("random(); counter(3); add(4)", "test.js").unwrap();
        realm.engine().dirty_pages().collect::<Vec<_>>()
    });
    assert_eq!(pages[0], pages[1]);
}

#[test]
fn exits_at_every_level_of_a_deep_recursion_and_collections_inside() {
    let built = snapshot(
        "var end = 0;
         function weird(n) { return n === 0 ? end : 1 + weird(n - 1); }
         function leafy(a, b) { return a - b; }
         function mid(a, b, n) { let s = 0; for (let i = 0; i < n; i++) s = s + leafy(a, b); return s; }",
    );
    for name in ["weird", "leafy", "mid"] {
        native(&built, name).unwrap_or_else(|why| panic!("{name}: {why}"));
    }
    let collecting = RealmOptions { collect_always: true, ..Default::default() };
    for options in [RealmOptions::default(), collecting] {
        same_with(&built, "weird(100)", &options);
        same_with(&built, "end = 'x'; weird(300).length", &options);
        same_with(&built, "end = 2 ** 53 - 10; weird(300)", &options);
        same_with(
            &built,
            "end = { valueOf() { return [1, 2, 3].map((x) => 'a' + x).join('').length; } }; weird(30)",
            &options,
        );
        same_with(&built, "mid({ valueOf() { return ('a' + mid(3, 4, 2) + [].concat(1)).length; } }, 7, 20)", &options);
    }
    same(&built, "end = 'x'; weird(9000).length");
}

/// Makes numeric functions out of a seed.
struct Generator(u64);

impl Generator {
    fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % below
    }

    fn pick(&mut self, list: &[&str]) -> String {
        let i = self.next(list.len() as u64) as usize;
        list[i].to_string()
    }

    fn expression(&mut self, depth: u32, functions: u64) -> String {
        if depth == 0 || self.next(5) == 0 {
            return self.pick(&[
                "a",
                "b",
                "s",
                "t",
                "i",
                "0",
                "1",
                "2",
                "-3",
                "7",
                "0.5",
                "255",
                "65537",
                "2147483647",
                "4294967296",
                "1e15",
            ]);
        }
        let a = self.expression(depth - 1, functions);
        let b = self.expression(depth - 1, functions);
        match self.next(12) {
            0..=6 => {
                let op = self.pick(&["+", "-", "*", "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", ">>>"]);
                format!("({a} {op} {b})")
            }
            7 => format!("({a} {} {b} ? {a} : {b})", self.pick(&["<", "<=", ">", ">=", "===", "!=="])),
            8 => format!("(-({a}))"),
            9 => format!("(~({a}))"),
            10 => format!("({a} % {})", self.pick(&["7", "16", "1000003", "-5", "4294967296"])),
            _ if functions > 0 => format!("f{}({a}, {b})", self.next(functions)),
            _ => format!("(({a}) | 0)"),
        }
    }

    fn function(&mut self, number: u64) -> String {
        let mut body = String::from("let s = 0, t = 1, i = 0;\n");
        for _ in 0..1 + self.next(3) {
            let target = self.pick(&["s", "t", "a"]);
            let e = self.expression(3, number);
            body.push_str(&match self.next(4) {
                0 => format!("for (i = 0; i < {}; i++) {{ {target} = {e}; }}\n", 1 + self.next(9)),
                1 => format!(
                    "if ({} < {e}) {target} = {}; else {target}++;\n",
                    self.expression(2, number),
                    self.expression(2, number)
                ),
                2 => format!("while (i < {}) {{ {target} += {e}; i += 2; }}\n", 2 + self.next(9)),
                _ => format!("{target} = {e};\n"),
            });
        }
        format!("function f{number}(a, b) {{ {body} return s + t - a; }}\n")
    }
}

#[test]
fn generated_functions_agree() {
    let rounds = std::env::var("ZJS_NATIVE_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let mut compiled = 0;
    for round in 0..rounds {
        let mut generator = Generator(0x9E37_79B9_7F4A_7C15 ^ ((round + 1) * 0x1234_5677));
        let source: String = (0..8).map(|n| generator.function(n)).collect();
        let built = snapshot(&format!("{SHOW}{source}"));
        compiled += (0..8).filter(|n| native(&built, &format!("f{n}")).is_ok()).count();
        for n in 0..8 {
            let script = format!(
                "var vs = [0, 1, -1, 5, -7, 2.5, -0, NaN, 65536, 2147483647, -2147483648, 4294967295, 1e17, '3', undefined], out = [];
                 for (var p of vs) for (var q of vs) out.push(show(f{n}(p, q)));
                 out.join('|')"
            );
            let (native, interpreted) = (
                run(&built, true, &script, &RealmOptions::default()),
                run(&built, false, &script, &RealmOptions::default()),
            );
            assert!(native == interpreted, "round {round}, f{n}:\n{source}\n{native:?}\n{interpreted:?}");
        }
    }
    println!("{compiled} of {} functions have native code", rounds * 8);
}

#[test]
fn same_input_same_code() {
    let source = "function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); } function twice(a) { return fib(a) * 2.5 % 3; }";
    assert!(snapshot(source).built.bytes == snapshot(source).built.bytes);
}

/// Processor time of this thread so far, so that other work on the machine counts less.
fn cpu_nanoseconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the result.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

#[test]
fn timings() {
    let built = snapshot(
        "function work(value, lane, n) { for (let i = 0; i < n; i++) value = (value + i + lane) % 1000003; return value; }
         function step(value, i) { return (value + i) % 1000003; }
         function drive(n) { let v = 1; for (let i = 0; i < n; i++) v = step(v, i); return v; }
         function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
         function hash(n) { let h = 7; for (let i = 0; i < n; i++) h = (h * 31 + i) | 0; return h; }
         function lcg(n) { let s = 1; for (let i = 0; i < n; i++) s = (s * 1664525 + 1013904223) % 4294967296; return s; }
         function mandel(n) { let c = 0; for (let y = 0; y < n; y++) for (let x = 0; x < n; x++) {
             let cr = x * 3 / n - 2, ci = y * 2 / n - 1, a = 0, b = 0, k = 0;
             while (k < 50 && a * a + b * b < 4) { const t = a * a - b * b + cr; b = 2 * a * b + ci; a = t; k++; } c += k; } return c; }
         function one(a) { return a + 1; }
         function isPrime(n) { for (let d = 2; d * d <= n; d++) if (n % d === 0) return false; return n > 1; }
         function primes(n) { let c = 0; for (let i = 0; i < n; i++) if (isPrime(i)) c++; return c; }",
    );
    for (script, count) in [
        ("work(1, 2, 3000000)", 3e6),
        ("drive(3000000)", 3e6),
        ("fib(27)", 635_621.0),
        ("hash(3000000)", 3e6),
        ("lcg(3000000)", 3e6),
        ("mandel(150)", 450_000.0),
        ("primes(30000)", 30_000.0),
        ("for (var i = 0, s = 0; i < 300000; i++) s = one(s)", 300_000.0),
    ] {
        let mut times = [0.0; 2];
        for (k, native_code) in [true, false].into_iter().enumerate() {
            let mut realm = realm(&built, native_code, &RealmOptions::default());
            let _ = realm.eval("work(1, 2, 10)", "warm.js");
            let start = cpu_nanoseconds();
            realm.eval(script, "test.js").unwrap();
            times[k] = (cpu_nanoseconds() - start) / count;
        }
        println!(
            "{script:55} native {:7.2} ns  interpreter {:7.2} ns  ({:.1} times)",
            times[0],
            times[1],
            times[1] / times[0]
        );
    }
    for t in &built.built.metadata.templates {
        println!(
            "{:10} {:5} bytes of bytecode, {:5} native {}",
            t.name, t.bytecode_bytes, t.native_bytes, t.native_reason
        );
    }
}
