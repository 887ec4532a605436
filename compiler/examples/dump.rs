//! Compiles the files named on the command line: prints their bytecode (`-q`: only errors).
use zjs_compiler::{Compiler, disassemble};
use zjs_engine::bytecode::template::{SourceCompiler, SourceKind};

fn main() {
    let quiet = std::env::args().any(|a| a == "-q");
    let mut failed = false;
    for path in std::env::args().skip(1).filter(|a| a != "-q") {
        let source = match std::fs::read_to_string(&path) {
            Ok(source) => source,
            Err(error) => {
                eprintln!("{path}: {error}");
                continue;
            }
        };
        let is_module = path.ends_with(".mjs") || source.lines().any(|l| l.starts_with("// goal: module"));
        let kind = if is_module { SourceKind::Module } else { SourceKind::Script };
        match Compiler.compile(&source, &path, &kind) {
            Ok(script) if quiet => {
                if let Err(problem) = disassemble::check(&script) {
                    println!("{path}: {problem}");
                    failed = true;
                }
            }
            Ok(script) => print!("{}", disassemble::dump(&script)),
            Err(error) => {
                println!("{path}: {error}");
                failed = true;
            }
        }
    }
    std::process::exit(i32::from(failed));
}
