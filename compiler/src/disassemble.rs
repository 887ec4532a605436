//! Text form of compiled code, and the self-check of debug builds.
//!
//! Both walk the code by the operand lists of the opcode table, so a new opcode needs nothing here.

use std::fmt::Write;

use zjs_engine::bytecode::opcode::{NO_IC, Opcode, Operand};
use zjs_engine::bytecode::template::*;

fn int_at(code: &[u16], at: usize) -> i32 {
    (u32::from(code[at]) | u32::from(code[at + 1]) << 16) as i32
}

fn text(s: &JsStr) -> String {
    format!("{:?}", String::from_utf16_lossy(&s.to_units()))
}

fn constant(c: &Constant) -> String {
    match c {
        Constant::Number(n) => n.to_string(),
        Constant::String(s) => text(s),
        Constant::BigInt { negative, digits } => format!("bigint {}{digits:?}", if *negative { "-" } else { "" }),
        Constant::Function(index) => format!("function {index}"),
        Constant::TemplateObject { raw, .. } => format!("template {:?}", raw.iter().map(text).collect::<Vec<_>>()),
        Constant::ScopeInfo(_) => "scope info".to_string(),
    }
}

/// One line per instruction of every function.
pub fn dump(script: &CompiledScript) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}: globals {:?}", script.name, script.globals);
    if let Some(module) = &script.module {
        let _ = writeln!(out, "module {module:?}");
    }
    for (i, function) in script.functions.iter().enumerate() {
        dump_function(&mut out, i, function);
    }
    out
}

fn dump_function(out: &mut String, index: usize, f: &FunctionTemplate) {
    let _ = writeln!(
        out,
        "\nfunction {index} {} {:?} {:?} strict={} params={} init={} registers={} length={} ics={} source={}..{}",
        text(&f.name),
        f.kind,
        f.suspension,
        f.strict,
        f.param_count,
        f.init_count,
        f.register_count,
        f.length,
        f.ic_count,
        f.source_start,
        f.source_end
    );
    let mut at = 0usize;
    while at < f.code.len() {
        let Some(op) = Opcode::from_raw(f.code[at]) else {
            let _ = writeln!(out, "{at:5} ??? {}", f.code[at]);
            return;
        };
        let _ = write!(out, "{at:5} {:<22}", op.name());
        let mut unit = at + 1;
        for operand in op.operands() {
            let Some(&raw) = f.code.get(unit) else { return };
            let _ = match operand {
                Operand::W | Operand::R | Operand::RW | Operand::B => write!(out, " r{raw}"),
                Operand::C => match f.constants.get(usize::from(raw)) {
                    Some(c) => write!(out, " {}", constant(c)),
                    None => write!(out, " c{raw}"),
                },
                Operand::Ic => write!(out, " ic{raw}"),
                Operand::U => write!(out, " {raw}"),
                Operand::I32 => write!(out, " {}", int_at(&f.code, unit)),
                Operand::J => write!(out, " -> {}", at as i64 + i64::from(int_at(&f.code, unit))),
            };
            unit += operand.units();
        }
        out.push('\n');
        at += op.length_units();
    }
    for h in &f.handlers {
        let _ = writeln!(out, "      handler {}..{} -> {} r{}", h.start, h.end, h.target, h.register);
    }
}

/// Checks operands, jump targets and handlers of every function.
///
/// # Errors
/// A description of the first problem.
pub fn check(script: &CompiledScript) -> Result<(), String> {
    for (i, f) in script.functions.iter().enumerate() {
        check_function(f, script.functions.len()).map_err(|e| format!("function {i}: {e}"))?;
    }
    Ok(())
}

fn check_function(f: &FunctionTemplate, functions: usize) -> Result<(), String> {
    let mut starts = vec![false; f.code.len() + 1];
    let mut targets = Vec::new();
    let mut at = 0usize;
    let mut last = None;
    while at < f.code.len() {
        let op = Opcode::from_raw(f.code[at]).ok_or_else(|| format!("unknown opcode at {at}"))?;
        if at + op.length_units() > f.code.len() {
            return Err(format!("instruction at {at} is cut off"));
        }
        starts[at] = true;
        let mut unit = at + 1;
        for operand in op.operands() {
            let raw = f.code[unit];
            let ok = match operand {
                Operand::W | Operand::R | Operand::RW | Operand::B => raw < f.register_count,
                Operand::C => usize::from(raw) < f.constants.len(),
                Operand::Ic => raw < f.ic_count || raw == NO_IC,
                Operand::U | Operand::I32 => true,
                Operand::J => {
                    targets.push((at, at as i64 + i64::from(int_at(&f.code, unit))));
                    true
                }
            };
            if !ok {
                return Err(format!("operand {raw} of {} at {at} is out of range", op.name()));
            }
            unit += operand.units();
        }
        last = Some(op);
        at += op.length_units();
    }
    for (from, target) in targets {
        if target <= from as i64 && Opcode::from_raw(f.code[from]) != Some(Opcode::Loop) {
            return Err(format!("jump back from {from} that is no back edge"));
        }
        if usize::try_from(target).ok().and_then(|t| starts.get(t)) != Some(&true) {
            return Err(format!("jump to {target} misses the instructions"));
        }
    }
    for h in &f.handlers {
        let good = h.start < h.end
            && h.end <= h.target
            && starts.get(h.target as usize) == Some(&true)
            && h.register < f.register_count;
        if !good {
            return Err(format!("bad handler {h:?}"));
        }
    }
    for c in &f.constants {
        if let Constant::Function(index) = c
            && *index as usize >= functions
        {
            return Err(format!("constant names function {index}"));
        }
    }
    match last {
        Some(Opcode::Return | Opcode::ReturnUndefined | Opcode::Jump | Opcode::Loop | Opcode::Throw) => Ok(()),
        other => Err(format!("code ends with {other:?}")),
    }
}
