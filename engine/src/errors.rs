//! Making and throwing error objects, with stack traces.

use crate::cage::Ref;
use crate::kinds::Kind;
use crate::names::{Intrinsic, Name};
use crate::realm::{Completion, Realm, Throw};
use crate::shapes::{HIDDEN, layout_of};
use crate::value::Value;

/// Most frames in a stack trace, as in V8.
const STACK_FRAMES_MAX: usize = 10;
/// Fuel for a captured stack: what it costs in time, in calls, roughly.
const STACK_FUEL: u32 = 20;

impl Realm {
    /// Throws `value`.
    pub fn throw(&mut self, value: Value) -> Throw {
        self.exception = value;
        Throw
    }

    /// Throws a new TypeError.
    #[cold]
    pub fn throw_type(&mut self, message: &str) -> Throw {
        self.throw_new(Intrinsic::TypeErrorPrototype, message)
    }

    /// Throws a new RangeError.
    #[cold]
    pub fn throw_range(&mut self, message: &str) -> Throw {
        self.throw_new(Intrinsic::RangeErrorPrototype, message)
    }

    /// Throws a new ReferenceError.
    #[cold]
    pub fn throw_reference(&mut self, message: &str) -> Throw {
        self.throw_new(Intrinsic::ReferenceErrorPrototype, message)
    }

    /// Throws a new SyntaxError.
    #[cold]
    pub fn throw_syntax(&mut self, message: &str) -> Throw {
        self.throw_new(Intrinsic::SyntaxErrorPrototype, message)
    }

    /// Throws a new error with this prototype intrinsic.
    #[cold]
    pub fn throw_new(&mut self, prototype: Intrinsic, message: &str) -> Throw {
        match self.new_error(prototype, message) {
            Ok(error) => self.throw(Value::object(error)),
            Err(throw) => throw,
        }
    }

    /// A new error object with message and stack.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_error(&mut self, prototype: Intrinsic, message: &str) -> Completion<Ref> {
        let prototype = self.intrinsic(prototype);
        let message = self.new_string(message)?;
        self.new_error_object(prototype, Some(message))
    }

    /// An error object: `stack` first (as V8 orders it), then `message` if there is one.
    ///
    /// # Errors
    /// Out of memory.
    pub fn new_error_object(&mut self, prototype: Ref, message: Option<Ref>) -> Completion<Ref> {
        let shape = self.root_shape(prototype, layout_of(16, 3))?;
        let error = self.new_object_cell(Kind::Error, shape)?;
        self.add_property(error, self.name(Name::stack), Value::UNDEFINED, HIDDEN)?;
        if let Some(message) = message {
            self.add_property(error, self.name(Name::message), Value::string(message), HIDDEN)?;
        }
        self.capture_stack(error)?;
        Ok(error)
    }

    /// Writes the `stack` property: header line and one line per frame.
    ///
    /// # Errors
    /// Out of memory, out of fuel.
    pub fn capture_stack(&mut self, error: Ref) -> Completion<()> {
        self.charge(STACK_FUEL)?;
        let mut text = String::with_capacity(256);
        self.push_headline(error, &mut text);
        self.push_stack_frames(&mut text, STACK_FRAMES_MAX);
        let stack = self.new_string(&text)?;
        let key = self.name(Name::stack);
        let shape = self.shape_of(error);
        if let Some(slot) = self.shape_lookup(shape, key)? {
            self.write_slot(error, shape, slot.number, Value::string(stack));
        }
        Ok(())
    }

    /// `Name: message` of an error without running script.
    pub fn error_headline(&mut self, error: Ref) -> String {
        let mut text = String::new();
        self.push_headline(error, &mut text);
        text
    }

    fn push_headline(&mut self, error: Ref, text: &mut String) {
        let mut name = None;
        let mut at = error;
        let name_key = crate::objects::Key::Name(self.name(Name::name));
        while !at.is_null() {
            if let Some(found) = self.get_own_quiet(at, name_key) {
                name = found.value.is_string().then(|| found.value.as_ref());
                break;
            }
            if self.cage.is(at, Kind::Proxy) {
                break;
            }
            at = self.ordinary_prototype(at);
        }
        let message_key = crate::objects::Key::Name(self.name(Name::message));
        let message = self.get_own_quiet(error, message_key).filter(|found| found.value.is_string());
        match name.map(|name| self.view(name)) {
            Some(Ok(name)) => name.push_text(text),
            Some(Err(_)) => {}
            None => text.push_str("Error"),
        }
        let Some(Ok(message)) = message.map(|found| self.view(found.value.as_ref())) else { return };
        if !text.is_empty() && !message.is_empty() {
            text.push_str(": ");
        }
        message.push_text(text);
    }

    /// Line and column (from 1) of code unit `at` in a script's source.
    pub fn line_and_column(&mut self, script: Ref, at: u32) -> (u32, u32) {
        let source = self.cage.r(script, 4);
        if source.is_null() {
            return (0, 0);
        }
        let Ok(view) = self.view(source) else { return (0, 0) };
        let (mut line, mut start) = (1, 0);
        if let crate::strings::StrView::Latin1(text) = view {
            // The usual case, in a form that runs at memory speed: an error captures a position per frame.
            let before = &text[..(at as usize).min(text.len())];
            let line = 1 + memchr::memchr_iter(b'\n', before).count() as u32;
            let start = memchr::memrchr(b'\n', before).map_or(0, |i| i + 1);
            return (line, at - (start as u32).min(at) + 1);
        }
        let newline = |u: u16| matches!(u, 0x0A | 0x2028 | 0x2029);
        for i in 0..(at as usize).min(view.len()) {
            if newline(view.at(i)) {
                line += 1;
                start = i + 1;
            }
        }
        (line, at - (start as u32).min(at) + 1)
    }

    /// What a host shows of a thrown value: (message, stack or empty).
    pub fn describe_exception(&mut self, value: Value) -> (String, String) {
        if let Some(object) = value.to_object_ref() {
            if self.cage.is(object, Kind::Error) {
                let headline = self.error_headline(object);
                let key = crate::objects::Key::Name(self.name(Name::stack));
                let stack = match self.get_own_quiet(object, key) {
                    Some(found) if found.value.is_string() => {
                        self.string_text(found.value.as_ref()).unwrap_or_default()
                    }
                    _ => String::new(),
                };
                return (headline, stack);
            }
            let text = self.enter(|realm| match realm.to_string(value) {
                Ok(string) => realm.string_text(string).unwrap_or_default(),
                Err(Throw) => "object".to_string(),
            });
            return (text, String::new());
        }
        (
            if value.is_string() { self.string_text(value.as_ref()).unwrap_or_default() } else { self.describe(value) },
            String::new(),
        )
    }
}
