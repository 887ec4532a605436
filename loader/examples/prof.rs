use std::time::Instant;
use zjs_engine::bytecode::template::*;
use zjs_loader::{PoolOptions, RealmPool, Snapshot};
fn main() { std::thread::spawn(main2).join().unwrap() }
fn main2() {
    let args: Vec<String> = std::env::args().collect();
    let n: u32 = args[3].parse().unwrap();
    let src = std::fs::read_to_string(&args[2]).unwrap();
    let realm = { let mut realm = zjs_snapshotter::build::new_build_realm(Default::default()).unwrap(); if args[1] != "-" { zjs_snapshotter::build::evaluate_entry(&mut realm, std::path::Path::new(&args[1]), None).unwrap(); } realm };
    let bytes = zjs_snapshotter::build::finish(realm, vec![], true, |_| {}).unwrap_or_else(|e| panic!("{e}")).bytes;
    std::fs::write("/tmp/prof.zsnap", &bytes).unwrap();
    let snapshot = unsafe { Snapshot::open_trusted("/tmp/prof.zsnap", Default::default()) }.unwrap();
    let pool = RealmPool::new(&snapshot, PoolOptions::default()).unwrap();
    for _ in 0..20 { let mut r = pool.acquire().unwrap(); r.eval(&src, "x").unwrap(); }
    for _ in 0..3 {
    let t = Instant::now();
    for _ in 0..n { let mut r = pool.acquire().unwrap(); r.eval(&src, "x").unwrap(); }
    let all = t.elapsed();
    if args.len() > 4 { continue; }
    let c = zjs_compiler::Compiler;
    let t = Instant::now();
    for _ in 0..n { std::hint::black_box(c.compile(&src, "x", &SourceKind::Script).unwrap()); }
    let comp = t.elapsed();
    println!("eval {:.1} us, compile {:.1} us", all.as_secs_f64() * 1e6 / n as f64, comp.as_secs_f64() * 1e6 / n as f64);
    }
}
