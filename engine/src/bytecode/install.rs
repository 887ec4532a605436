//! Turning a [`CompiledScript`] into cells.
//!
//! ```text
//! Template: 4 name  8 code  12 constants  16 handlers  20 positions  24 script  28 number
//! 32 kind, suspension, strict, uses_this (one byte each)   36 parameters, 38 initialized registers
//! 40 registers, 42 length   44 inline caches   48 source start   52 source end   56 native entry + 1
//! 60 reserved; header byte 1: entry flags below
//! ```
//!
//! Templates, code, constants and tables are never written after installation, so they freeze as they are.

use super::template::{CompiledScript, Constant, FunctionKind, FunctionTemplate, Suspension};
use crate::cage::Ref;
use crate::kinds::Kind;
use crate::realm::{Completion, Realm};
use crate::value::Value;

pub const NAME: u32 = 4;
pub const CODE: u32 = 8;
pub const CONSTANTS: u32 = 12;
pub const HANDLERS: u32 = 16;
pub const POSITIONS: u32 = 20;
pub const SCRIPT: u32 = 24;
pub const NUMBER: u32 = 28;
pub const FUNCTION_KIND: u32 = 32;
pub const PARAM_COUNT: u32 = 36;
pub const INIT_COUNT: u32 = 38;
pub const REGISTER_COUNT: u32 = 40;
pub const LENGTH: u32 = 42;
pub const IC_COUNT: u32 = 44;
pub const SOURCE_START: u32 = 48;
pub const SOURCE_END: u32 = 52;
/// Offset in the code section plus one; 0 where there is no native code.
pub const NATIVE_ENTRY: u32 = 56;

/// Entry flag: coerce `this` to an object at entry.
pub const COERCE_THIS: u8 = 1;
/// Entry flag: TypeError when called without `new`.
pub const CLASS_CONSTRUCTOR: u8 = 2;
/// Entry flag: async function (the frame becomes a coroutine at entry).
pub const ASYNC: u8 = 4;
/// Entry flag: may be constructed.
pub const CONSTRUCTOR: u8 = 8;
/// Entry flag: `this` starts uninitialized.
pub const DERIVED: u8 = 16;
/// Entry flag: strict code.
pub const STRICT: u8 = 32;
/// Entry flag: top-level code, runs once: gets feedback only from its loops.
pub const RUNS_ONCE: u8 = 64;

fn entry_flags(f: &FunctionTemplate) -> u8 {
    let mut flags = 0;
    let coerces = matches!(f.kind, FunctionKind::Normal | FunctionKind::Method);
    if !f.strict && f.uses_this && coerces {
        flags |= COERCE_THIS;
    }
    if matches!(f.kind, FunctionKind::ClassConstructor | FunctionKind::DerivedConstructor) {
        flags |= CLASS_CONSTRUCTOR | CONSTRUCTOR;
    }
    if f.kind == FunctionKind::DerivedConstructor {
        flags |= DERIVED;
    }
    if f.kind == FunctionKind::Normal && f.suspension == Suspension::None {
        flags |= CONSTRUCTOR;
    }
    if f.suspension == Suspension::Async {
        flags |= ASYNC;
    }
    if f.strict {
        flags |= STRICT;
    }
    if f.kind == FunctionKind::Top {
        flags |= RUNS_ONCE;
    }
    flags
}

impl Realm {
    /// Makes the cells of a compiled script; the result is the list of its templates, a `Values` cell.
    ///
    /// # Errors
    /// Out of memory.
    pub fn install(&mut self, script: &CompiledScript) -> Completion<Ref> {
        let source = self.new_string(&script.source)?;
        let source = self.view(source).map(|_| source)?;
        let name = self.new_string(&script.name)?;
        let cell = self.allocate(Kind::Script, 16)?;
        self.cage.init(cell.0 + 4, source.0);
        self.cage.init(cell.0 + 8, name.0);
        self.cage.init(cell.0 + 12, 0u32);
        let offsets = SourceOffsets::new(&script.source);
        let templates = self.new_values(script.functions.len() as u32, Value::UNDEFINED)?;
        // Constants refer to templates, and inner functions come in any order: shells first.
        for i in 0..script.functions.len() {
            let template = self.allocate(Kind::Template, 72)?;
            for at in (4..72).step_by(4) {
                self.cage.init(template.0 + at, 0u32);
            }
            self.cage.set(templates, 8 + 8 * i as u32, Value::cell(template).0);
        }
        for (i, function) in script.functions.iter().enumerate() {
            let template = Value(self.cage.get(templates, 8 + 8 * i as u32)).as_ref();
            self.fill_template(template, function, templates, cell, &offsets)?;
        }
        Ok(templates)
    }

    fn fill_template(
        &mut self,
        template: Ref,
        f: &FunctionTemplate,
        templates: Ref,
        script: Ref,
        offsets: &SourceOffsets,
    ) -> Completion<()> {
        let name = self.intern_js_str(&f.name)?;
        self.cage.set(template, NAME, name.0);
        self.cage.set(template, SCRIPT, script.0);
        let code = self.allocate_tail(Kind::Code, 8, 2 * f.code.len() as u64)?;
        self.cage.init(code.0 + 4, f.code.len() as u32);
        self.cage.write_all(code.0 + 8, &f.code);
        self.cage.set(template, CODE, code.0);
        let constants = self.allocate_tail(Kind::Constants, 8, 8 * f.constants.len() as u64)?;
        self.cage.init(constants.0 + 4, f.constants.len() as u32);
        for i in 0..f.constants.len() {
            self.cage.init(constants.0 + 8 + 8 * i as u32, Value::UNDEFINED.0);
        }
        self.cage.set(template, CONSTANTS, constants.0);
        for (i, constant) in f.constants.iter().enumerate() {
            let value = self.constant_value(constant, templates)?;
            self.cage.set(constants, 8 + 8 * i as u32, value.0);
        }
        let handlers: Vec<u32> =
            f.handlers.iter().flat_map(|h| [h.start, h.end, h.target, u32::from(h.register)]).collect();
        let handlers = self.new_table(&handlers)?;
        self.cage.set(template, HANDLERS, handlers.0);
        let positions: Vec<u32> = f.positions.iter().flat_map(|&(unit, at)| [unit, offsets.unit(at)]).collect();
        let positions = self.new_table(&positions)?;
        self.cage.set(template, POSITIONS, positions.0);
        let number = self.next_template;
        self.next_template += 1;
        let cage = self.cage;
        cage.set(template, 1, entry_flags(f));
        cage.set(template, NUMBER, number);
        cage.set(template, FUNCTION_KIND, f.kind as u8);
        cage.set(template, FUNCTION_KIND + 1, f.suspension as u8);
        cage.set(template, FUNCTION_KIND + 2, u8::from(f.strict));
        cage.set(template, FUNCTION_KIND + 3, u8::from(f.uses_this));
        cage.set(template, PARAM_COUNT, f.param_count);
        cage.set(template, INIT_COUNT, f.init_count.max(f.param_count));
        cage.set(template, REGISTER_COUNT, f.register_count);
        cage.set(template, LENGTH, f.length);
        cage.set(template, IC_COUNT, u32::from(f.ic_count));
        cage.set(template, SOURCE_START, offsets.unit(f.source_start));
        cage.set(template, SOURCE_END, offsets.unit(f.source_end));
        Ok(())
    }

    fn new_table(&mut self, words: &[u32]) -> Completion<Ref> {
        if words.is_empty() {
            return Ok(Ref::NULL);
        }
        let cell = self.allocate_tail(Kind::Table, 8, 4 * words.len() as u64)?;
        self.cage.init(cell.0 + 4, words.len() as u32);
        self.cage.write_all(cell.0 + 8, words);
        Ok(cell)
    }

    fn constant_value(&mut self, constant: &Constant, templates: Ref) -> Completion {
        Ok(match constant {
            Constant::Number(n) => Value::number(*n),
            Constant::String(s) => Value::string(self.intern_js_str(s)?),
            Constant::BigInt { negative, digits } => Value::bigint(self.new_bigint_cell(*negative, digits)?),
            Constant::Function(index) => Value(self.cage.get(templates, 8 + 8 * index)),
            Constant::TemplateObject { cooked, raw } => {
                // 0: the template object once made; then all cooked strings, then all raw strings.
                let site = self.new_values(1 + 2 * raw.len() as u32, Value::UNDEFINED)?;
                for (i, s) in cooked.iter().enumerate() {
                    if let Some(s) = s {
                        let s = self.intern_js_str(s)?;
                        self.cage.set(site, 8 + 8 * (1 + i as u32), Value::string(s).0);
                    }
                }
                for (i, s) in raw.iter().enumerate() {
                    let s = self.intern_js_str(s)?;
                    self.cage.set(site, 8 + 8 * (1 + (raw.len() + i) as u32), Value::string(s).0);
                }
                Value::cell(site)
            }
            Constant::ScopeInfo(info) => Value::cell(self.new_scope_info(info)?),
        })
    }

    /// A BigInt cell; `digits` has no leading zeros (zero has none at all).
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_bigint_cell(&mut self, negative: bool, digits: &[u32]) -> Completion<Ref> {
        let cell = self.allocate_tail(Kind::BigInt, 8, 4 * digits.len() as u64)?;
        self.cage.init(cell.0 + 1, u8::from(negative && !digits.is_empty()));
        self.cage.init(cell.0 + 4, digits.len() as u32);
        self.cage.write_all(cell.0 + 8, digits);
        Ok(cell)
    }

    /// Sign and digits of a BigInt cell.
    pub fn bigint_parts(&self, cell: Ref) -> (bool, Vec<u32>) {
        let count = self.cage.u32(cell, 4);
        let digits = (0..count).map(|i| self.cage.u32(cell, 8 + 4 * i)).collect();
        (self.cage.flags(cell) != 0, digits)
    }

    /// Scope info as a `Values` cell: see `eval` for the reader.
    fn new_scope_info(&mut self, info: &super::template::ScopeInfo) -> Completion<Ref> {
        let bits = u32::from(info.strict)
            | u32::from(info.in_function) << 1
            | u32::from(info.in_method) << 2
            | u32::from(info.in_derived_constructor) << 3
            | u32::from(info.in_class_field) << 4;
        let mut flat = vec![Value::int(bits as i32), Value::int(info.environments.len() as i32)];
        let list = self.new_values(
            2 + info.environments.iter().map(|e| 2 + 2 * e.names.len() as u32).sum::<u32>(),
            Value::UNDEFINED,
        )?;
        for environment in &info.environments {
            flat.push(Value::int(i32::from(environment.is_with) | i32::from(environment.is_var_scope) << 1));
            flat.push(Value::int(environment.names.len() as i32));
            for (name, slot, mode) in &environment.names {
                // The name is interned for good: the template's constants hold this list.
                flat.push(Value::string(self.intern_js_str(name)?));
                flat.push(Value::int(i32::from(*slot) | (*mode as i32) << 16));
                let at = flat.len() as u32 - 2;
                self.cage.set(list, 8 + 8 * at, flat[at as usize].0);
            }
        }
        for (i, value) in flat.iter().enumerate() {
            self.cage.set(list, 8 + 8 * i as u32, value.0);
        }
        Ok(list)
    }

    // --- reading templates

    pub fn template_name(&self, template: Ref) -> Ref {
        self.cage.r(template, NAME)
    }

    pub fn template_length(&self, template: Ref) -> u16 {
        self.cage.get(template, LENGTH)
    }

    pub fn template_suspension(&self, template: Ref) -> Suspension {
        match self.cage.get::<u8>(template, FUNCTION_KIND + 1) {
            1 => Suspension::Generator,
            2 => Suspension::Async,
            3 => Suspension::AsyncGenerator,
            _ => Suspension::None,
        }
    }

    pub fn template_kind(&self, template: Ref) -> FunctionKind {
        match self.cage.get::<u8>(template, FUNCTION_KIND) {
            1 => FunctionKind::Arrow,
            2 => FunctionKind::Method,
            3 => FunctionKind::ClassConstructor,
            4 => FunctionKind::DerivedConstructor,
            5 => FunctionKind::Top,
            6 => FunctionKind::FieldInitializer,
            _ => FunctionKind::Normal,
        }
    }

    pub fn template_is_constructor(&self, template: Ref) -> bool {
        self.cage.flags(template) & CONSTRUCTOR != 0
    }

    pub fn template_is_strict(&self, template: Ref) -> bool {
        self.cage.flags(template) & STRICT != 0
    }

    /// Source position (in code units of the source) that instruction `unit` belongs to.
    pub fn template_position(&self, template: Ref, unit: u32) -> u32 {
        let table = self.cage.r(template, POSITIONS);
        if table.is_null() {
            return self.cage.u32(template, SOURCE_START);
        }
        let (mut low, mut high) = (0, self.cage.u32(table, 4) / 2);
        while low < high {
            let middle = (low + high) / 2;
            if self.cage.u32(table, 8 + 8 * middle) <= unit {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == 0 { self.cage.u32(template, SOURCE_START) } else { self.cage.u32(table, 8 + 8 * (low - 1) + 4) }
    }
}

/// Byte offsets of Rust text to code-unit offsets of the same text as a JavaScript string.
struct SourceOffsets {
    /// (byte offset behind a multi-byte character, bytes minus units so far), ascending; empty for ASCII.
    steps: Vec<(u32, u32)>,
}

impl SourceOffsets {
    fn new(source: &str) -> SourceOffsets {
        let mut steps = Vec::new();
        if !source.is_ascii() {
            let mut excess = 0;
            for (at, c) in source.char_indices() {
                if c.len_utf8() > 1 {
                    excess += (c.len_utf8() - c.len_utf16()) as u32;
                    steps.push(((at + c.len_utf8()) as u32, excess));
                }
            }
        }
        SourceOffsets { steps }
    }

    fn unit(&self, byte: u32) -> u32 {
        let index = self.steps.partition_point(|&(at, _)| at <= byte);
        if index == 0 { byte } else { byte - self.steps[index - 1].1 }
    }
}
