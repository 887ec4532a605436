//! Realms and pools: resets against the image and the kernel's own record, independence, host functions,
//! errors, budgets.

mod support;

use support::{changed_pages, open_bytes, open_trusted, private_pages, snapshot, snapshot_bytes};
use zjs_engine::host::HostFunctions;
use zjs_engine::image::SegmentKind;
use zjs_engine::realm::{RealmOptions, Termination};
use zjs_engine::value::Value;
use zjs_loader::{
    HostValue, MappingStrategy, OpenError, OpenOptions, PoolOptions, Realm, RealmError, RealmPool, Snapshot,
};

/// An application with something of every kind that a life could change.
const APPLICATION: &str = r#"
var numbers = [1, 2, 3], doubles = [0.5, 1.5], mixed = ["a", {}, null], sparse = []; sparse[100000] = 1;
var big = []; for (var i = 0; i < 4000; i++) big.push(i * 2);
var bytes = new Uint8Array(20000), floats = new Float64Array(bytes.buffer, 8, 100), view = new DataView(bytes.buffer);
var map = new Map([[1, "one"], ["k", {}]]), set = new Set([1, 2, 3]), weak = new WeakMap();
var record = { a: 1, b: { c: [1] } }, frozen = Object.freeze({ x: 1 }), key = {}; weak.set(key, 1);
class Account { #balance = 10; deposit(n) { this.#balance += n; return this.#balance; } static count = 0; }
var account = new Account();
function counter() { var n = 0; return function () { return ++n; }; }
var next = counter();
function* steps() { var n = 0; for (;;) n += (yield n) || 1; }
var generator = steps(); generator.next();
var date = new Date(0), pattern = /a(b)/g, symbol = Symbol("s"), promise = Promise.resolve(1);
function render(name) { return "<b>" + name + "</b>"; }
"#;

/// Changes all of it.
const LIFE: &str = r#"
numbers.push(4, 5, 6, 7, 8, 9, 10); numbers[0] = "text"; doubles[0] = 3; doubles.length = 1; mixed.reverse(); sparse[5] = 2;
for (var i = 0; i < big.length; i++) big[i] += 1; big.push(1);
bytes.fill(7); floats[3] = NaN; view.setInt16(9999, -2); bytes.copyWithin(5, 100, 900); bytes.sort();
map.set(1, "uno"); map.set("new", 1); map.delete("k"); set.clear(); weak.set({}, 2); weak.delete(key);
record.a = 2; record.z = 3; delete record.b; account.deposit(5); Account.count++; next(); next(); generator.next(5);
date.setTime(5); pattern.exec("xab"); pattern.lastIndex = 1; Object.defineProperty(record, "acc", { get() { return 1; } });
Array.prototype.map = null; Array.prototype[2] = "two"; delete String.prototype.at; Object.prototype.extra = 1;
Object.setPrototypeOf(Account.prototype, {}); Object.preventExtensions(account); Object.seal(Math);
globalThis.added = { lots: "of things" }; delete globalThis.isNaN; render = 1; var added2 = [symbol, frozen];
Function.prototype.toString = null; Math.PI2 = 6.28; JSON.stringify = 5; Symbol.extra = 1; [].concat(big).sort();
Promise.prototype.then = function () {}; RegExp.prototype.exec = null; Date.prototype.x = 1; Error.stackTraceLimit = 0;
for (var j = 0; j < 500; j++) globalThis["global" + j] = j;
"#;

fn strategies() -> [MappingStrategy; 3] {
    [MappingStrategy::File, MappingStrategy::Memfd, MappingStrategy::Copy]
}

fn text(realm: &mut Realm, source: &str) -> String {
    realm.eval(source, "test.js").unwrap_or_else(|e| panic!("{source}: {e:?}")).to_string()
}

/// Verified where that is possible: the file itself is mapped by `open_trusted` only.
fn opened(bytes: &[u8], strategy: MappingStrategy) -> Snapshot {
    let options = OpenOptions { strategy: Some(strategy), ..Default::default() };
    match strategy {
        MappingStrategy::File => open_trusted(bytes, options),
        _ => open_bytes(bytes, options).expect("opens"),
    }
}

fn with_options(source: &str, options: RealmOptions) -> Realm {
    snapshot(source).new_realm(&options).expect("a realm")
}

#[test]
fn reset_makes_every_byte_as_in_the_image() {
    let bytes = snapshot_bytes(APPLICATION, HostFunctions::default(), false);
    for strategy in strategies() {
        let snapshot = opened(&bytes, strategy);
        assert_eq!(snapshot.strategy(), strategy);
        for (keep_heap_bytes, wipe) in [(512 << 10, false), (0, false), (512 << 10, true)] {
            let pool =
                RealmPool::new(&snapshot, PoolOptions { keep_heap_bytes, wipe, ..Default::default() }).expect("a pool");
            let mut base = 0;
            for life in 0..3 {
                let mut realm = pool.acquire().expect("a slot");
                let here = realm.engine().cage.base_address();
                assert!(life == 0 || base == here, "the slot is used again");
                base = here;
                assert_eq!(changed_pages(&snapshot, &mut realm), Vec::<u32>::new(), "{} life {life}", strategy.name());
                assert_eq!(realm.engine().dirty_pages().count(), 0);
                realm.eval(LIFE, "life.js").expect("a life");
                assert!(!changed_pages(&snapshot, &mut realm).is_empty());
            }
            let mut realm = pool.acquire().expect("a slot");
            assert_eq!(changed_pages(&snapshot, &mut realm), Vec::<u32>::new());
            let summary = "[numbers, doubles, big.length, bytes[5], map.get('k') !== undefined, set.size, record.a, next(), \
                account.deposit(1), generator.next(1).value, typeof isNaN, typeof added, [1].map(x => x + 1), date.getTime(), render('x')].join(' ')";
            assert_eq!(
                text(&mut realm, summary),
                "1,2,3 0.5,1.5 4000 0 true 3 1 1 11 1 function undefined 2 0 <b>x</b>"
            );
        }
    }
}

#[test]
fn what_was_verified_is_what_gets_mapped() {
    let bytes = snapshot_bytes("", HostFunctions::default(), false);
    for strategy in strategies() {
        let opened = open_bytes(&bytes, OpenOptions { strategy: Some(strategy), ..Default::default() });
        match strategy {
            MappingStrategy::File => assert!(matches!(opened, Err(OpenError::Invalid { .. })), "{opened:?}"),
            _ => assert_eq!(opened.expect("opens").strategy(), strategy),
        }
    }
}

#[test]
fn recorded_dirty_pages_are_those_that_changed_and_those_of_the_kernel() {
    let bytes = snapshot_bytes(APPLICATION, HostFunctions::default(), false);
    for strategy in [MappingStrategy::File, MappingStrategy::Memfd] {
        let snapshot = opened(&bytes, strategy);
        for source in [
            "1 + 1",
            "numbers[0] = 9",
            "bytes[15000] = 1",
            "bytes.fill(1, 3000, 9000)",
            "next()",
            "generator.next()",
            LIFE,
        ] {
            let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
            let end = realm.engine().frozen.image_end;
            assert_eq!(
                private_pages(realm.engine(), 4096, end),
                Vec::<u32>::new(),
                "a new realm has no page of its own"
            );
            realm.eval(source, "life.js").expect("runs");
            let recorded: Vec<u32> = realm.engine().dirty_pages().collect();
            let changed = changed_pages(&snapshot, &mut realm);
            let missing: Vec<&u32> = changed.iter().filter(|page| !recorded.contains(page)).collect();
            assert!(missing.is_empty(), "{source}: pages {missing:?} changed without a record");
            assert_eq!(
                recorded,
                private_pages(realm.engine(), 4096, end),
                "{source}: record and kernel ({})",
                strategy.name()
            );
            let rw = snapshot.header().segment(SegmentKind::Writable).expect("rw").cage_offset;
            assert!(recorded.iter().all(|&page| page * 4096 >= rw), "only writable pages are written");
        }
    }
}

#[test]
fn a_wiped_slot_keeps_nothing_of_the_last_tenant() {
    let snapshot = snapshot("");
    let pool = RealmPool::new(&snapshot, PoolOptions { wipe: true, ..Default::default() }).expect("a pool");
    let secret = "var secret = 'tenant-' + 'one'.repeat(3); var copies = []; for (var i = 0; i < 2000; i++) copies.push(secret + i + 'x'); copies.join()";
    pool.acquire().expect("a slot").eval(secret, "a.js").expect("runs");
    let mut realm = pool.acquire().expect("a slot");
    let engine = realm.engine();
    let (start, stack) = (engine.heap_start(), zjs_engine::cage::STACK_START);
    for (from, to) in [(start, start + (8 << 20)), (stack, stack + (1 << 20))] {
        let memory = engine.cage.bytes(from, to - from);
        assert!(!memory.windows(10).any(|w| w == b"tenant-one"), "the secret is still in {from:#x}..{to:#x}");
    }
}

#[test]
fn realms_are_independent() {
    let snapshot = snapshot("var shared = { n: 0 }; function bump() { return ++shared.n; }");
    let mut a = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    let mut b = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    assert_eq!(a.call("bump", &[]).expect("a"), HostValue::Number(1.0));
    assert_eq!(a.call("bump", &[]).expect("a"), HostValue::Number(2.0));
    assert_eq!(b.call("bump", &[]).expect("b"), HostValue::Number(1.0));
    a.eval("globalThis.only = 1; Array.prototype.mine = 2; Object.prototype.zzz = 3; shared.extra = 1", "a.js")
        .expect("a");
    assert_eq!(text(&mut b, "[typeof only, [].mine, ({}).zzz, Object.keys(shared)].join()"), "undefined,,,n");
    assert_eq!(text(&mut a, "[typeof only, [].mine, ({}).zzz, Object.keys(shared)].join()"), "number,2,3,n,extra");
    assert_ne!(a.engine().cage.base_address(), b.engine().cage.base_address());
}

#[test]
fn realms_are_made_on_any_thread_and_move() {
    let snapshot = snapshot("function twice(n) { return 2 * n; }");
    let pool = RealmPool::new(&snapshot, PoolOptions { prepared: 2, ..Default::default() }).expect("a pool");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (snapshot, pool) = (&snapshot, &pool);
            scope.spawn(move || {
                for i in 0..50 {
                    let expected = HostValue::Number(f64::from(2 * (i + thread)));
                    let mut own = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
                    assert_eq!(own.call("twice", &[HostValue::from(i + thread)]).expect("call"), expected);
                    let mut pooled = pool.acquire().expect("a slot");
                    assert_eq!(pooled.call("twice", &[HostValue::from(i + thread)]).expect("call"), expected);
                    assert_eq!(text(&mut pooled, "var x = typeof leaked; leaked = 1; x"), "undefined");
                }
            });
        }
    });
    let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    realm.eval("var list = [1, 2, 3]", "a.js").expect("runs");
    let moved = std::thread::spawn(move || text(&mut realm, "list.push(4); list.join()")).join().expect("joins");
    assert_eq!(moved, "1,2,3,4");
}

fn host(arity: u32) -> HostFunctions {
    let mut functions = HostFunctions::default();
    functions.register("twice", arity, |realm, args| {
        let value = args.get(realm, 0);
        Ok(Value::number(2.0 * realm.to_number(value)?))
    });
    functions.register("boom", 0, |_, _| panic!("kaboom"));
    functions
}

#[test]
fn host_functions_are_found_by_name_and_arity() {
    let bytes = snapshot_bytes("function use(n) { return twice(n) + 1; }", host(1), false);
    // Another order, and one more.
    let mut other = HostFunctions::default();
    other.register("extra", 0, |_, _| Ok(Value::int(7)));
    for function in host(1).functions.into_iter().rev() {
        other.functions.push(function);
    }
    let snapshot = open_bytes(&bytes, OpenOptions { host_functions: other, ..Default::default() }).expect("opens");
    let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    assert_eq!(text(&mut realm, "use(4) + ' ' + twice.length + ' ' + twice.name"), "9 1 twice");
    realm.define_host_function("extra").expect("registered");
    assert_eq!(text(&mut realm, "extra()"), "7");
    assert!(matches!(realm.define_host_function("nothing"), Err(RealmError::Value(why)) if why.contains("nothing")));
    match open_bytes(&bytes, OpenOptions::default()) {
        Err(error @ OpenError::HostFunction { expected: 1, found: None, .. }) => {
            assert!(error.to_string().contains("`twice`"), "{error}")
        }
        other => panic!("{other:?}"),
    }
    match open_bytes(&bytes, OpenOptions { host_functions: host(3), ..Default::default() }) {
        Err(error @ OpenError::HostFunction { expected: 1, found: Some(3), .. }) => {
            assert!(error.to_string().contains("`twice`"), "{error}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_panic_in_a_host_function_is_an_exception() {
    let source = r#"
function plain() { try { boom(); } catch (e) { return "caught " + e.message; } }
function numeric(n) { var s = 0; for (var i = 0; i < n; i++) s += i; if (n > 5) boom(); return s; }
function outer(n) { try { return numeric(n); } catch (e) { return "outer " + (e instanceof Error); } }
function cleanup() { try { boom(); } finally { globalThis.cleaned = true; } }
for (var i = 0; i < 100; i++) numeric(5);
"#;
    let bytes = snapshot_bytes(source, host(1), true);
    let options = || OpenOptions { host_functions: host(1), ..Default::default() };
    for snapshot in [open_bytes(&bytes, options()).expect("opens"), open_trusted(&bytes, options())] {
        let mut realm = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
        for _ in 0..20 {
            assert_eq!(text(&mut realm, "plain()"), "caught host function panicked: kaboom");
            assert_eq!(text(&mut realm, "outer(9) + outer(4)"), "outer true6");
        }
        match realm.call("cleanup", &[]) {
            Err(RealmError::Exception { message, stack }) => {
                assert_eq!(message, "Error: host function panicked: kaboom");
                assert!(stack.contains("cleanup"), "{stack}");
            }
            other => panic!("{other:?}"),
        }
        assert_eq!(text(&mut realm, "cleaned + ' ' + outer(3)"), "true 3");
    }
}

/// Native `sum` calls native `term`, which leaves for the interpreter when `step` is no number, with the native
/// frame of `sum` still on the stack.
const NATIVE_FRAMES: &str = r#"
var step = 1;
function term(n) { return n * 2 + step; }
function sum(n) { var s = 0; for (var i = 0; i < n; i++) s += term(i); return s; }
function caught(n) { try { return sum(n); } catch (e) { return e.message; } }
for (var i = 0; i < 100; i++) sum(5);
"#;
/// From now on what native code takes for a number is an object: its `valueOf` runs under native frames.
const FAILING_STEP: &str = "step = { valueOf() { return fail(); } };";

fn native_frames() -> Snapshot {
    let bytes = snapshot_bytes(NATIVE_FRAMES, host(1), true);
    let snapshot = open_trusted(&bytes, OpenOptions { host_functions: host(1), ..Default::default() });
    for name in ["term", "sum"] {
        let metadata = snapshot.metadata().expect("metadata");
        let template = metadata.templates.iter().find(|t| t.name == *name).expect("a template");
        assert!(template.native_bytes.to_native() > 0, "{name} has no native code: {}", template.native_reason);
    }
    snapshot
}

#[test]
fn a_panic_in_a_host_function_under_native_frames_is_an_exception() {
    let mut realm = native_frames().new_realm(&RealmOptions::default()).expect("a realm");
    assert_eq!(text(&mut realm, "caught(4)"), "16");
    realm.eval(FAILING_STEP, "setup.js").expect("runs");
    realm.eval("function fail() { return boom(); }", "setup.js").expect("runs");
    for _ in 0..3 {
        assert_eq!(text(&mut realm, "caught(9)"), "host function panicked: kaboom");
    }
    assert_eq!(text(&mut realm, "step = 2; caught(4)"), "20");
}

/// Stands for an error in what the embedder plugs in behind the engine's own interface.
struct PanickingCompiler;

impl zjs_engine::bytecode::template::SourceCompiler for PanickingCompiler {
    fn compile(
        &self,
        _: &str,
        _: &str,
        _: &zjs_engine::bytecode::template::SourceKind,
    ) -> Result<zjs_engine::bytecode::template::CompiledScript, zjs_engine::bytecode::template::CompileError> {
        panic!("no compiler today")
    }
}

#[test]
fn a_panic_of_the_host_goes_through_native_frames() {
    let mut realm = native_frames().new_realm(&RealmOptions::default()).expect("a realm");
    realm.eval(FAILING_STEP, "setup.js").expect("runs");
    realm.eval("function fail() { return Function('return 1')(); }", "setup.js").expect("runs");
    assert_eq!(text(&mut realm, "caught(4)"), "16");
    realm.engine().compiler = Some(std::sync::Arc::new(PanickingCompiler));
    let panic =
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| realm.call("caught", &[HostValue::from(9.0)])));
    let payload = panic.expect_err("the panic reaches the embedder");
    assert_eq!(payload.downcast_ref::<&str>(), Some(&"no compiler today"));
}

#[test]
fn errors_carry_message_and_stack() {
    let mut realm =
        with_options("function inner() { null.x; }\nfunction outer() { inner(); }", RealmOptions::default());
    match realm.call("outer", &[]) {
        Err(RealmError::Exception { message, stack }) => {
            assert!(message.starts_with("TypeError: "), "{message}");
            let (inner, outer) = (stack.find("inner"), stack.find("outer"));
            assert!(stack.starts_with(&message) && inner < outer && stack.contains("app.js:1"), "{stack}");
        }
        other => panic!("{other:?}"),
    }
    match realm.eval("let x = ;", "broken.js") {
        Err(RealmError::Exception { message, .. }) => assert!(message.starts_with("SyntaxError: "), "{message}"),
        other => panic!("{other:?}"),
    }
    match realm.eval("throw { toString() { return 'own text'; } }", "odd.js") {
        Err(RealmError::Exception { .. }) => {}
        other => panic!("{other:?}"),
    }
    match realm.eval("throw undefined", "odd.js") {
        Err(RealmError::Exception { message, stack }) => {
            assert_eq!((message.as_str(), stack.as_str()), ("undefined", ""))
        }
        other => panic!("{other:?}"),
    }
    match realm.eval("Object.defineProperty(Error.prototype, 'message', { get() { throw 1; } }); throw Object.create(Error.prototype)", "odd.js") {
        Err(RealmError::Exception { .. }) => {}
        other => panic!("{other:?}"),
    }
    match realm.call("missing", &[]) {
        Err(RealmError::Exception { message, .. }) => assert!(message.contains("missing"), "{message}"),
        other => panic!("{other:?}"),
    }
    assert_eq!(text(&mut realm, "1 + 1"), "2");
}

#[test]
fn handles_of_another_life_or_realm_are_refused() {
    let snapshot = snapshot(
        "var object = { n: 1 }; function same(o) { return o === object; } function make() { return { n: 2 }; }",
    );
    let pool = RealmPool::new(&snapshot, PoolOptions::default()).expect("a pool");
    let old = {
        let mut realm = pool.acquire().expect("a slot");
        let handle = realm.get_global("object").expect("an object");
        assert_eq!(realm.call("same", std::slice::from_ref(&handle)).expect("same"), HostValue::Bool(true));
        assert_eq!(realm.get_property(&handle, "n").expect("n"), HostValue::Number(1.0));
        handle
    };
    let mut realm = pool.acquire().expect("a slot");
    let own = realm.call("make", &[]).expect("an object");
    let refused = |result: Result<HostValue, RealmError>| matches!(result, Err(RealmError::Value(_)));
    assert!(refused(realm.call("same", std::slice::from_ref(&old))), "an earlier life's handle");
    assert!(refused(realm.get_property(&old, "n")));
    assert!(matches!(realm.set_global("x", &old), Err(RealmError::Value(_))));
    let mut a = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    let mut b = snapshot.new_realm(&RealmOptions::default()).expect("a realm");
    let of_a = a.call("make", &[]).expect("an object");
    let of_b = b.call("make", &[]).expect("an object");
    assert!(refused(b.get_property(&of_a, "n")), "another realm's handle");
    assert!(refused(a.get_property(&of_b, "n")) && refused(a.get_property(&own, "n")));
    assert_eq!(a.get_property(&of_a, "n").expect("n"), HostValue::Number(2.0));
    let symbol = a.eval("Symbol('s')", "a.js").expect("a symbol");
    assert!(refused(a.call("same", &[symbol])), "a symbol cannot be passed");
}

#[test]
fn values_cross_in_both_directions() {
    let mut realm =
        with_options("function id(x) { return x; } function kind(x) { return typeof x; }", RealmOptions::default());
    for value in [
        HostValue::Undefined,
        HostValue::Null,
        HostValue::Bool(true),
        HostValue::Number(-0.5),
        HostValue::Number(f64::INFINITY),
        HostValue::String(String::new()),
        HostValue::from("latin \u{e9} and \u{1f600}"),
    ] {
        assert_eq!(realm.call("id", std::slice::from_ref(&value)).expect("id"), value);
    }
    // A NaN with a payload that looks like a reference must stay a number.
    for bits in [
        0x7ff8_0000_0000_1000,
        0xfff9_0000_0000_1000,
        0xfffc_0000_0000_2000,
        0xffff_ffff_ffff_fff8,
        0x7ff0_0000_0000_0001_u64,
    ] {
        let nan = HostValue::Number(f64::from_bits(bits));
        assert_eq!(realm.call("kind", &[nan]).expect("kind"), HostValue::from("number"), "{bits:#x}");
    }
    let payloads = r#"
        var buffer = new ArrayBuffer(8), words = new Uint32Array(buffer), doubles = new Float64Array(buffer), view = new DataView(buffer);
        var seen = [];
        for (var high of [0x7ff80000, 0xfff80000, 0xfff90000, 0xfffa0000, 0xfffb0000, 0xfffc0000, 0xfffd0000, 0xfffe0000, 0xffff0000, 0xffffffff])
            for (var low of [0, 8, 0x1000, 0x1008, 0x20000, 0xfffffff8]) {
                words[0] = low; words[1] = high;
                for (var x of [doubles[0], view.getFloat64(0, true), [...doubles][0], doubles.slice(0)[0], Array.from(doubles)[0]]) {
                    var list = [1.5, x]; list.push(x);
                    seen.push(typeof x, x !== x, typeof list[1], String(list[2]));
                }
            }
        [...new Set(seen)].join()"#;
    assert_eq!(text(&mut realm, payloads), "number,true,NaN");
}

#[test]
fn a_memory_budget_ends_a_runaway() {
    let options = RealmOptions { memory_bytes_max: 32 << 20, ..Default::default() };
    let mut realm = with_options("", options.clone());
    let caught = "var keep = [], kind; try { for (;;) keep.push(new Array(1000).fill(1)); } catch (e) { kind = e instanceof RangeError; keep = null; } kind";
    assert_eq!(text(&mut realm, caught), "true");
    assert_eq!(text(&mut realm, "1 + 1"), "2");
    for runaway in [
        "var keep = []; for (;;) { try { for (;;) keep.push(new Array(1000).fill(1)); } catch (e) {} }",
        "var s = 'x', keep = []; for (;;) { try { for (;;) { try { for (;;) s += s; } catch (e) {} keep.push(s.split('')); } } catch (e) {} }",
        "var m = new Map(); for (var i = 0;; i++) { try { for (;;) m.set({}, {}); } catch (e) {} }",
    ] {
        let mut realm = with_options("", RealmOptions { fuel: 1 << 31, ..options.clone() });
        match realm.eval(runaway, "runaway.js") {
            Err(RealmError::Terminated(Termination::Memory)) => {}
            other => panic!("{runaway}: {other:?}"),
        }
        assert!(matches!(realm.eval("1", "after.js"), Err(RealmError::Terminated(_))), "nothing runs in it any more");
    }
}

#[test]
fn a_fuel_budget_ends_a_runaway() {
    let options = RealmOptions { fuel: 500_000, ..Default::default() };
    let mut realm = with_options("", options.clone());
    let caught = "var kind; try { for (;;); } catch (e) { kind = e instanceof RangeError; } kind";
    assert_eq!(text(&mut realm, caught), "true");
    for runaway in [
        "for (;;) { try { for (;;); } catch (e) {} }",
        "while (true) { try { while (true) { continue; } } catch (e) {} }",
        "while (true) { try { outer: while (true) { for (;;) { try { continue outer; } finally { 1; } } } } catch (e) {} }",
        "for (;;) { try { for (var x of (function* () { while (true) yield 1; })()) continue; } catch (e) {} }",
        "function g() { for (;;) { try { throw 1; } catch (e) {} } } for (;;) { try { g(); } catch (e) {} }",
        "for (;;) { try { for (;;) new Error('costs a stack'); } catch (e) {} }",
        "function f() { try { f(); } finally { f(); } } for (;;) { try { f(); } catch (e) {} }",
        "var a = new Array(1e9); for (;;) { try { for (;;) a.indexOf(1); } catch (e) {} }",
        "for (;;) { try { for (;;) 'x'.repeat(1e6).split(''); } catch (e) {} }",
        "for (;;) { try { for (;;) JSON.parse('[' + '1,'.repeat(1e5) + '1]'); } catch (e) {} }",
        "for (;;) { try { for (;;) /(a+)+b/.test('a'.repeat(40)); } catch (e) {} }",
        "var it = { [Symbol.iterator]() { return this; }, next() { return { done: false }; } }; for (;;) { try { new Set(it); } catch (e) {} }",
        "for (;;) { try { for (;;) [3, 2, 1].sort(() => 1); } catch (e) {} }",
    ] {
        let mut realm = with_options("", options.clone());
        let start = std::time::Instant::now();
        match realm.eval(runaway, "runaway.js") {
            Err(RealmError::Terminated(Termination::Fuel)) => {}
            other => panic!("{runaway}: {other:?}"),
        }
        assert!(start.elapsed().as_secs() < 20, "{runaway}: {:?}", start.elapsed());
        assert_eq!(realm.fuel_left(), 0);
        assert!(matches!(realm.eval("1", "after.js"), Err(RealmError::Terminated(Termination::Fuel))));
    }
    // Between jobs the RangeError goes to the embedder; who goes on running jobs gets the termination.
    let mut realm = with_options("", options.clone());
    match realm.eval("(function loop() { Promise.resolve().then(loop); })()", "jobs.js") {
        Err(RealmError::Exception { message, .. }) => assert_eq!(message, "RangeError: Fuel budget exhausted"),
        other => panic!("{other:?}"),
    }
    assert!(matches!(realm.run_jobs(), Err(RealmError::Terminated(Termination::Fuel))));
    // A slot that was terminated is as good as new after its reset.
    let snapshot = snapshot("");
    let pool = RealmPool::new(&snapshot, PoolOptions { realm: options, ..Default::default() }).expect("a pool");
    let ended = pool.acquire().expect("a slot").eval("for (;;) { try { for (;;); } catch (e) {} }", "runaway.js");
    assert!(matches!(ended, Err(RealmError::Terminated(Termination::Fuel))));
    assert_eq!(text(&mut pool.acquire().expect("a slot"), "1 + 1"), "2");
}

#[test]
fn deep_recursion_is_a_catchable_range_error() {
    // The main thread of a test has a stack of 2 MiB; an embedder's may have more.
    for source in [
        "(function f() { return f() + 1; })()",
        "(function f(n) { return [n].map(f)[0]; })(1)",
        "var o = { toString() { return '' + o; } }; '' + o",
        "var p = new Proxy({}, { get(t, k, r) { return r[k]; } }); p.x",
        "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)",
        "JSON.parse('['.repeat(1e6))",
        "var f = function () { return f(); }; for (var i = 0; i < 1e5; i++) f = f.bind(null); f()",
        "class A { constructor() { new this.constructor(); } } new A()",
        "var g = { get x() { return this.x; } }; g.x",
        "function* y() { yield* y(); } [...y()]",
        "'a'.replace(/a/, function r() { return 'a'.replace(/a/, r); })",
        "eval('('.repeat(1e5) + '1' + ')'.repeat(1e5))",
        "eval('[' .repeat(1e5))",
        "new RegExp('('.repeat(1e5) + ')'.repeat(1e5))",
        "var s = 'x'; for (var i = 0; i < 1e5; i++) s = s + i; eval('1' + '+1'.repeat(1e5)); throw new RangeError('flat')",
        "var x = {}; for (var i = 0; i < 1e5; i++) x = Object.create(x); x.y; throw new RangeError('flat')",
        "var q = Promise.resolve(); (function f() { f.call.apply(f, [1]); })()",
        "var a = [1]; a[0] = a; a.flat(Infinity)",
    ] {
        let mut realm =
            with_options("", RealmOptions { fuel: 1 << 32, memory_bytes_max: 512 << 20, ..Default::default() });
        let wrapped = format!(
            "var kind = 'none'; try {{ {source} }} catch (e) {{ kind = e instanceof RangeError || e instanceof SyntaxError ? 'limit' : String(e); }} kind"
        );
        assert_eq!(text(&mut realm, &wrapped), "limit", "{source}");
        assert_eq!(
            text(&mut realm, "(function f(n) { return n === 0 ? 0 : 1 + f(n - 1); })(1000)"),
            "1000",
            "after {source}"
        );
    }
}

#[test]
fn array_prototype_patched_before_the_freeze_and_after() {
    let use_it = "function sum(list) { var s = ''; for (var x of list) s += x; return s + '|' + list[5] + '|' + [1, , 3].join() + '|' + list.map(String).length; }\
        for (var i = 0; i < 300; i++) sum([1, 2, 3]);";
    let patch = "Array.prototype[1] = 'hole'; Array.prototype[5] = 'five'; Array.prototype.map = function () { return { length: 'patched' }; };\
        Array.prototype[Symbol.iterator] = function* () { yield 'own'; };";
    let patched = "own|five|1,hole,3|patched";
    let plain = "123|undefined|1,,3|3";
    let before = snapshot(&format!("{use_it} {patch}"));
    let mut realm = before.new_realm(&RealmOptions::default()).expect("a realm");
    assert_eq!(text(&mut realm, "sum([1, 2, 3])"), patched);
    let undo = "delete Array.prototype[1]; delete Array.prototype[5]; Array.prototype[Symbol.iterator] = Array.prototype.values; Array.prototype.map = function () { return [1, 2, 3]; }; sum([1, 2, 3])";
    assert_eq!(text(&mut realm, undo), plain);
    let after = snapshot(use_it);
    let pool = RealmPool::new(&after, PoolOptions::default()).expect("a pool");
    for _ in 0..3 {
        let mut realm = pool.acquire().expect("a slot");
        assert_eq!(text(&mut realm, "sum([1, 2, 3])"), plain);
        assert_eq!(text(&mut realm, &format!("{patch} sum([1, 2, 3])")), patched);
        assert_eq!(text(&mut realm, "sum([4])"), patched);
    }
}
