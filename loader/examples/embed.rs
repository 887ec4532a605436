//! Opens a snapshot, registers a host function, and calls a global function in two realms of a pool.
//!
//! Build a snapshot first: `zjs-snapshot build app.js -o app.zsnap`, then
//! `cargo run --release -p zjs-loader --example embed -- app.zsnap functionName argument`.

use zjs_loader::{HostFunctions, HostValue, OpenOptions, PoolOptions, RealmPool, Snapshot};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let [file, function, argument] =
        std::env::args().skip(1).collect::<Vec<_>>().try_into().map_err(|_| "usage: embed FILE FUNCTION ARGUMENT")?;
    let mut host_functions = HostFunctions::default();
    host_functions.register("print", 0, print);
    let snapshot = Snapshot::open_with(file, OpenOptions { host_functions, ..Default::default() })?;
    let pool = RealmPool::new(&snapshot, PoolOptions::default())?;
    for _ in 0..2 {
        let mut realm = pool.acquire()?;
        println!("{}", realm.call(&function, &[HostValue::from(argument.as_str())])?);
    }
    Ok(())
}

/// `print` for scripts: the first argument and a newline.
fn print(realm: &mut zjs_engine::realm::Realm, args: zjs_engine::builtins::Args) -> zjs_engine::realm::Completion {
    let value = args.get(realm, 0);
    let string = realm.to_string(value)?;
    println!("{}", realm.string_text(string)?);
    Ok(zjs_engine::value::Value::UNDEFINED)
}
