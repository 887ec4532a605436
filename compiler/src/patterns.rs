//! Destructuring: binding patterns (declarations, parameters, catch) and assignment patterns.
//!
//! Array patterns protect everything between GetIterator and the end: an exception closes the iterator
//! silently, which does nothing when the iterator itself failed (its done flag is set then).

use oxc_ast::ast::*;
use oxc_span::{GetSpan, Span};
use zjs_engine::bytecode::opcode::Opcode;

use crate::assignment::Target;
use crate::codegen::Codegen;
use crate::control::{Control, Region};
use crate::emit::Reg;
use crate::functions::Name;
use crate::literals::static_key;

/// How the names of a binding pattern get their values.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BindMode {
    /// First value of a lexical binding or parameter.
    Init,
    /// `var`: an assignment to whatever the name means here.
    Var,
}

impl<'a> Codegen<'a> {
    /// Gives one declared name its value.
    pub fn bind_name(&mut self, id: &BindingIdentifier<'a>, value: Reg, mode: BindMode) {
        let name = id.name.as_str();
        self.at(id.span.start);
        match mode {
            BindMode::Var => {
                let var = self.lookup_name(name, id.span.start);
                self.store_var(&var, value);
            }
            BindMode::Init => {
                if let Some(binding) = self.find_binding(name) {
                    self.init_binding(binding, value);
                }
            }
        }
    }

    pub fn bind_pattern(&mut self, pattern: &BindingPattern<'a>, value: Reg, mode: BindMode) {
        match pattern {
            BindingPattern::BindingIdentifier(id) => self.bind_name(id, value, mode),
            BindingPattern::AssignmentPattern(a) => {
                let mark = self.top();
                let temp = self.temp();
                self.mov(temp, value);
                self.default_value(&a.right, temp, pattern_name(&a.left));
                self.bind_pattern(&a.left, temp, mode);
                self.free(mark);
            }
            BindingPattern::ObjectPattern(o) => self.bind_object(o, value, mode),
            BindingPattern::ArrayPattern(a) => self.bind_array(a, value, mode),
        }
    }

    /// Replaces undefined in `reg` by the default.
    pub fn default_value(&mut self, e: &Expression<'a>, reg: Reg, name: Name) {
        let given = self.label();
        self.jump(Opcode::JumpIfNotUndefined, &[reg], given);
        self.named_into(e, name, reg);
        self.bind(given);
    }

    fn bind_object(&mut self, o: &ObjectPattern<'a>, value: Reg, mode: BindMode) {
        let mark = self.top();
        self.at(o.span.start);
        let first_checks = o.properties.first().is_some_and(|p| !p.computed);
        if !first_checks {
            self.op(Opcode::ToObjectCheck, &[value]);
        }
        let keys = if o.rest.is_some() { Some(self.temps(o.properties.len())) } else { None };
        for (i, p) in o.properties.iter().enumerate() {
            let inner = self.top();
            let keep = keys.map(|k| k + i as Reg);
            if let (BindingPattern::BindingIdentifier(id), BindMode::Init) = (&p.value, mode)
                && let Some(binding) = self.find_binding(id.name.as_str())
                && let Some(reg) = self.init_register(binding)
                && reg != value
            {
                // Right into the variable's register.
                self.get_pattern_property(&p.key, p.computed, value, reg, keep);
                self.mark_local(reg);
            } else {
                let item = self.temp();
                self.get_pattern_property(&p.key, p.computed, value, item, keep);
                self.bind_pattern(&p.value, item, mode);
            }
            self.free(inner);
        }
        if let Some(rest) = &o.rest {
            let item = self.temp();
            self.op(Opcode::NewObject, &[item]);
            let base = keys.unwrap_or(item);
            self.at(rest.span.start);
            self.op(Opcode::CopyDataProperties, &[item, value, base, o.properties.len() as u16]);
            self.bind_pattern(&rest.argument, item, mode);
        }
        self.free(mark);
    }

    /// dst = value[key]; the key is also kept in `keep` for a rest element.
    fn get_pattern_property(&mut self, key: &PropertyKey<'a>, computed: bool, value: Reg, dst: Reg, keep: Option<Reg>) {
        let offset = key.span().start;
        let fixed = static_key(key, computed);
        match (&fixed, keep) {
            (Some(crate::literals::Key::Name(name)), None) => {
                let c = self.f.asm.string(name.clone());
                let ic = self.f.asm.ic();
                self.at(offset);
                self.op(Opcode::GetProperty, &[dst, value, c, ic]);
            }
            _ => {
                let mark = self.top();
                let reg = keep.unwrap_or_else(|| self.temp());
                match &fixed {
                    Some(key) => self.load_key(key, reg),
                    None => self.property_key_into(key, reg),
                }
                self.at(offset);
                let ic = self.f.asm.ic();
                self.op(Opcode::GetElement, &[dst, value, reg, ic]);
                self.free(mark);
            }
        }
    }

    /// Runs `body` with an open iterator over `value` that is closed afterwards in every case.
    fn with_iterator(&mut self, value: Reg, offset: u32, body: &mut dyn FnMut(&mut Self, Reg)) {
        let mark = self.top();
        let base = self.temps(3);
        let exception = self.temp();
        self.at(offset);
        self.op(Opcode::GetIterator, &[base, value]);
        self.f.control.push(Control::Iterator { region: Region::default(), base, is_async: false });
        self.open_region();
        body(self, base);
        self.close_region();
        let entry = self.f.control.pop();
        self.op(Opcode::IteratorClose, &[base]);
        let end = self.label();
        self.jump(Opcode::Jump, &[], end);
        let handler = self.f.asm.label_here();
        if let Some(Control::Iterator { region, .. }) = entry {
            self.finish_region(region, handler, exception);
        }
        self.op(Opcode::IteratorCloseSilent, &[base]);
        self.op(Opcode::Throw, &[exception]);
        self.bind(end);
        self.free(mark);
    }

    /// dst = next value, or undefined.
    fn next_value(&mut self, base: Reg, dst: Reg) {
        let done = self.label();
        let end = self.label();
        self.op_jump_next(dst, base, done);
        self.jump(Opcode::Jump, &[], end);
        self.bind(done);
        self.op(Opcode::LoadUndefined, &[dst]);
        self.bind(end);
    }

    fn op_jump_next(&mut self, dst: Reg, base: Reg, done: crate::emit::Label) {
        self.jump(Opcode::IteratorNext, &[dst, base], done);
    }

    /// dst = array of what is left.
    fn rest_values(&mut self, base: Reg, dst: Reg) {
        let mark = self.top();
        let item = self.temp();
        self.op(Opcode::NewArray, &[dst, 0]);
        let top = self.f.asm.label_here();
        let done = self.label();
        self.op_jump_next(item, base, done);
        self.op(Opcode::ArrayPush, &[dst, item]);
        self.jump(Opcode::Loop, &[], top);
        self.bind(done);
        self.free(mark);
    }

    fn bind_array(&mut self, a: &ArrayPattern<'a>, value: Reg, mode: BindMode) {
        self.with_iterator(value, a.span.start, &mut |me, base| {
            for element in &a.elements {
                let mark = me.top();
                let item = me.temp();
                match element {
                    None => me.next_value(base, item),
                    Some(BindingPattern::AssignmentPattern(p)) => {
                        me.next_value(base, item);
                        me.default_value(&p.right, item, pattern_name(&p.left));
                        me.bind_pattern(&p.left, item, mode);
                    }
                    Some(p) => {
                        me.next_value(base, item);
                        me.bind_pattern(p, item, mode);
                    }
                }
                me.free(mark);
            }
            if let Some(rest) = &a.rest {
                let mark = me.top();
                let item = me.temp();
                me.rest_values(base, item);
                me.bind_pattern(&rest.argument, item, mode);
                me.free(mark);
            }
        });
    }

    // --- assignment patterns

    pub fn assign_pattern(&mut self, target: &AssignmentTarget<'a>, value: Reg) {
        match target {
            AssignmentTarget::ArrayAssignmentTarget(a) => self.assign_array(a, value),
            AssignmentTarget::ObjectAssignmentTarget(o) => self.assign_object(o, value),
            other => {
                if let Some(simple) = other.as_simple_assignment_target() {
                    let mark = self.top();
                    let span = Span::new(target.span().end, target.span().end);
                    if let Some(t) = self.target(simple, span, false) {
                        self.at(target.span().start);
                        self.store_target(&t, value);
                    }
                    self.free(mark);
                }
            }
        }
    }

    /// The target of a pattern element, evaluated before the element's value if it has parts.
    fn early_target(&mut self, target: &AssignmentTarget<'a>, later: Span) -> Option<Target<'a>> {
        let simple = target.as_simple_assignment_target()?;
        self.target(simple, later, false)
    }

    fn finish_element(&mut self, target: &AssignmentTarget<'a>, early: Option<Target<'a>>, value: Reg) {
        match early {
            Some(t) => {
                self.at(target.span().start);
                self.store_target(&t, value);
            }
            None => self.assign_pattern(target, value),
        }
    }

    fn assign_array(&mut self, a: &ArrayAssignmentTarget<'a>, value: Reg) {
        self.with_iterator(value, a.span.start, &mut |me, base| {
            for element in &a.elements {
                let mark = me.top();
                match element {
                    None => {
                        let item = me.temp();
                        me.next_value(base, item);
                    }
                    Some(AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(d)) => {
                        let early = me.early_target(&d.binding, d.span);
                        let item = me.temp();
                        me.next_value(base, item);
                        me.default_value(&d.init, item, target_name(&d.binding));
                        me.finish_element(&d.binding, early, item);
                    }
                    Some(other) => {
                        if let Some(target) = other.as_assignment_target() {
                            let early = me.early_target(target, target.span());
                            let item = me.temp();
                            me.next_value(base, item);
                            me.finish_element(target, early, item);
                        }
                    }
                }
                me.free(mark);
            }
            if let Some(rest) = &a.rest {
                let mark = me.top();
                let early = me.early_target(&rest.target, rest.span);
                let item = me.temp();
                me.rest_values(base, item);
                me.finish_element(&rest.target, early, item);
                me.free(mark);
            }
        });
    }

    fn assign_object(&mut self, o: &ObjectAssignmentTarget<'a>, value: Reg) {
        let mark = self.top();
        self.at(o.span.start);
        self.op(Opcode::ToObjectCheck, &[value]);
        let keys = if o.rest.is_some() { Some(self.temps(o.properties.len())) } else { None };
        for (i, property) in o.properties.iter().enumerate() {
            let inner = self.top();
            let keep = keys.map(|k| k + i as Reg);
            match property {
                AssignmentTargetProperty::AssignmentTargetPropertyIdentifier(p) => {
                    let var = self.lookup(&p.binding);
                    let item = self.temp();
                    let name = p.binding.name.as_str();
                    match keep {
                        Some(keep) => {
                            self.load_string(keep, name.into());
                            let ic = self.f.asm.ic();
                            self.at(p.span.start);
                            self.op(Opcode::GetElement, &[item, value, keep, ic]);
                        }
                        None => self.get_named(item, value, name, p.span.start),
                    }
                    if let Some(init) = &p.init {
                        self.default_value(init, item, Name::Static(name.into()));
                    }
                    self.at(p.span.start);
                    self.store_var(&var, item);
                }
                AssignmentTargetProperty::AssignmentTargetPropertyProperty(p) => {
                    self.assign_property(p, value, keep);
                }
            }
            self.free(inner);
        }
        if let Some(rest) = &o.rest {
            let early = self.early_target(&rest.target, rest.span);
            let item = self.temp();
            self.op(Opcode::NewObject, &[item]);
            let base = keys.unwrap_or(item);
            self.at(rest.span.start);
            self.op(Opcode::CopyDataProperties, &[item, value, base, o.properties.len() as u16]);
            self.finish_element(&rest.target, early, item);
        }
        self.free(mark);
    }

    fn assign_property(&mut self, p: &AssignmentTargetPropertyProperty<'a>, value: Reg, keep: Option<Reg>) {
        let (target, default) = match &p.binding {
            AssignmentTargetMaybeDefault::AssignmentTargetWithDefault(d) => (Some(&d.binding), Some(&d.init)),
            other => (other.as_assignment_target(), None),
        };
        let Some(target) = target else { return };
        // Order: the property's name, then the target's parts, then the value.
        let mut key_register = keep;
        let fixed = static_key(&p.name, p.computed);
        if fixed.is_none() {
            let reg = keep.unwrap_or_else(|| self.temp());
            self.property_key_into(&p.name, reg);
            key_register = Some(reg);
        }
        let early = self.early_target(target, p.span);
        let item = self.temp();
        match (&fixed, key_register) {
            (None, Some(reg)) => {
                self.at(p.span.start);
                let ic = self.f.asm.ic();
                self.op(Opcode::GetElement, &[item, value, reg, ic]);
            }
            _ => self.get_pattern_property(&p.name, p.computed, value, item, keep),
        }
        if let Some(init) = default {
            self.default_value(init, item, target_name(target));
        }
        self.finish_element(target, early, item);
    }
}

/// The name that a default function gets from a binding.
pub fn pattern_name(pattern: &BindingPattern<'_>) -> Name {
    match pattern {
        BindingPattern::BindingIdentifier(id) => Name::Static(id.name.as_str().into()),
        _ => Name::none(),
    }
}

/// The name that a default function gets from an assignment target.
fn target_name(target: &AssignmentTarget<'_>) -> Name {
    match target {
        AssignmentTarget::AssignmentTargetIdentifier(id) => Name::Static(id.name.as_str().into()),
        _ => Name::none(),
    }
}
