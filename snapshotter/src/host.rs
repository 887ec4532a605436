//! Host functions of the command: what scripts find as `print`.

use std::io::Write;

use zjs_engine::builtins::Args;
use zjs_engine::host::HostFunctions;
use zjs_engine::realm::{Completion, Realm};
use zjs_engine::value::Value;

/// `print(...args)`: `String()` of each argument, joined by a space, and a newline.
pub fn print(realm: &mut Realm, args: Args) -> Completion {
    let line = print_line(realm, args)?;
    let mut out = std::io::stdout().lock();
    // A closed pipe is the reader's choice, not the script's error.
    let _ = out.write_all(line.as_bytes());
    Ok(Value::UNDEFINED)
}

/// The text that `print` writes for these arguments.
///
/// # Errors
/// Whatever converting an argument throws.
pub fn print_line(realm: &mut Realm, args: Args) -> Completion<String> {
    let mut line = String::new();
    for i in 0..args.len() {
        if i > 0 {
            line.push(' ');
        }
        let value = args.get(realm, i);
        if value.is_symbol() {
            line.push_str(&realm.describe(value));
        } else {
            let string = realm.to_string(value)?;
            line.push_str(&realm.string_text(string)?);
        }
    }
    line.push('\n');
    Ok(line)
}

/// The host functions that every realm of the command has.
pub fn command_functions() -> HostFunctions {
    let mut functions = HostFunctions::default();
    functions.register("print", 0, print);
    functions
}
