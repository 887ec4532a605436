//! Runs scripts and modules (`// goal: module`, `.mjs`) with a global `print`.
use std::sync::Arc;

use zjs_engine::bytecode::template::SourceKind;
use zjs_engine::host::HostFunctions;
use zjs_engine::realm::{Realm, RealmOptions};

fn main() {
    let mut status = 0;
    for path in std::env::args().skip(1) {
        let source = std::fs::read_to_string(&path).unwrap_or_default();
        let mut realm = Realm::bare(&RealmOptions {
            collect_always: std::env::var_os("ZJS_COLLECT_ALWAYS").is_some(),
            ..Default::default()
        })
        .expect("realm");
        realm.compiler = Some(Arc::new(zjs_compiler::Compiler));
        let mut host = HostFunctions::default();
        host.register("print", 1, |realm, args| {
            let mut line = String::new();
            for i in 0..args.len() {
                if i > 0 {
                    line.push(' ');
                }
                let value = args.get(realm, i);
                let text = realm.to_string(value)?;
                line.push_str(&realm.string_text(text)?);
            }
            println!("{line}");
            Ok(zjs_engine::value::Value::UNDEFINED)
        });
        realm.host_functions = Arc::new(host);
        // One entry around all of it: values in this frame are roots only inside of `enter`.
        let failed = realm.enter(|realm| run(realm, &source, &path));
        if failed {
            status = 1;
        }
    }
    std::process::exit(status);
}

/// Evaluates one file; whether it failed.
fn run(realm: &mut Realm, source: &str, path: &str) -> bool {
    let print = realm.new_host_function(0).expect("print");
    let global = realm.global();
    let key = realm.key("print").expect("key");
    let _ = realm.create_data_property_or_throw(global, key, zjs_engine::value::Value::object(print));
    realm.hooks.module_loader = Some(Arc::new(|referrer: &str, specifier: &str, _: Option<&str>| {
        let path = std::path::Path::new(referrer).parent().unwrap_or(std::path::Path::new("")).join(specifier);
        let path = path.canonicalize().map_err(|e| format!("Cannot find module '{specifier}': {e}"))?;
        let source = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
        Ok((path.display().to_string(), source))
    }));
    let is_module = path.ends_with(".mjs") || source.lines().take(5).any(|line| line == "// goal: module");
    let outcome = if is_module {
        let name = std::fs::canonicalize(path).map(|p| p.display().to_string()).unwrap_or(path.to_string());
        realm.evaluate_module(source, &name).and_then(|promise| {
            realm.run_jobs()?;
            let (state, result) = realm.promise_state(promise.as_ref());
            if state == zjs_engine::builtins::promise::REJECTED { Err(realm.throw(result)) } else { Ok(()) }
        })
    } else {
        realm.evaluate(source, path, &SourceKind::Script).map(|_| ()).and_then(|()| realm.run_jobs())
    };
    if outcome.is_err() {
        let value = realm.exception;
        let (head, stack) = realm.describe_exception(value);
        println!("Uncaught {head}\n{stack}");
        return true;
    }
    false
}
