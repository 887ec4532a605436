//! The part of JavaScriptCore's C API that the peer needs, opened at run time, behind safe types.
//!
//! All of this crate's `unsafe` is here. A `Context` owns one global context and is neither `Send` nor
//! `Sync` (it holds a raw pointer), so it is used and released on the thread that made it. JavaScript
//! values never outlive the call that made them, so none needs protecting from the collector: the
//! engine scans the native stack on which they lie.
//!
//! Invariant: every string handle made here is released here (`JsString`'s drop).

use std::ffi::{CString, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::ptr;

use libloading::Library;

type ContextRef = *mut c_void;
type ValueRef = *const c_void;
type ObjectRef = *mut c_void;
type StringRef = *mut c_void;
type Exception = *mut ValueRef;

/// Names to try, newest first.
const LIBRARIES: [&str; 3] =
    ["libjavascriptcoregtk-4.1.so.0", "libjavascriptcoregtk-6.0.so.1", "libjavascriptcoregtk-4.0.so.18"];

/// The functions, with the C API's own signatures (JSBase.h, JSContextRef.h, JSValueRef.h,
/// JSObjectRef.h, JSStringRef.h).
struct Functions {
    context_create: unsafe extern "C" fn(class: *mut c_void) -> ContextRef,
    context_release: unsafe extern "C" fn(ContextRef),
    global_object: unsafe extern "C" fn(ContextRef) -> ObjectRef,
    evaluate: unsafe extern "C" fn(
        ContextRef,
        script: StringRef,
        this: ObjectRef,
        url: StringRef,
        line: c_int,
        Exception,
    ) -> ValueRef,
    get_property: unsafe extern "C" fn(ContextRef, ObjectRef, StringRef, Exception) -> ValueRef,
    to_object: unsafe extern "C" fn(ContextRef, ValueRef, Exception) -> ObjectRef,
    call: unsafe extern "C" fn(
        ContextRef,
        function: ObjectRef,
        this: ObjectRef,
        count: usize,
        arguments: *const ValueRef,
        Exception,
    ) -> ValueRef,
    make_number: unsafe extern "C" fn(ContextRef, f64) -> ValueRef,
    to_number: unsafe extern "C" fn(ContextRef, ValueRef, Exception) -> f64,
    to_string: unsafe extern "C" fn(ContextRef, ValueRef, Exception) -> StringRef,
    string_create: unsafe extern "C" fn(*const c_char) -> StringRef,
    string_release: unsafe extern "C" fn(StringRef),
    string_max_size: unsafe extern "C" fn(StringRef) -> usize,
    string_get_utf8: unsafe extern "C" fn(StringRef, *mut c_char, usize) -> usize,
}

/// The opened library.
pub struct Api {
    functions: Functions,
    file: String,
    /// Keeps the code mapped; never closed before the process ends (the engine has threads of its own).
    _library: &'static Library,
}

impl Api {
    /// Opens the first library that there is and finds its functions.
    pub fn open() -> Result<Api, String> {
        let mut reasons = Vec::new();
        for name in LIBRARIES {
            // SAFETY: the library's initialisers are those of a system library that expects to be opened
            // by any program; this worker process runs no other engine.
            match unsafe { Library::new(name) } {
                Ok(library) => return Api::resolve(Box::leak(Box::new(library)), name),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(reasons.join("; "))
    }

    fn resolve(library: &'static Library, name: &str) -> Result<Api, String> {
        macro_rules! find {
            ($symbol:literal) => {{
                // SAFETY: each symbol is assigned to a field whose type is the signature that the C
                // API's headers give for it; the library is never unloaded.
                let symbol = unsafe { library.get($symbol) };
                *symbol.map_err(|error| error.to_string())?
            }};
        }
        let functions = Functions {
            context_create: find!("JSGlobalContextCreate"),
            context_release: find!("JSGlobalContextRelease"),
            global_object: find!("JSContextGetGlobalObject"),
            evaluate: find!("JSEvaluateScript"),
            get_property: find!("JSObjectGetProperty"),
            to_object: find!("JSValueToObject"),
            call: find!("JSObjectCallAsFunction"),
            make_number: find!("JSValueMakeNumber"),
            to_number: find!("JSValueToNumber"),
            to_string: find!("JSValueToStringCopy"),
            string_create: find!("JSStringCreateWithUTF8CString"),
            string_release: find!("JSStringRelease"),
            string_max_size: find!("JSStringGetMaximumUTF8CStringSize"),
            string_get_utf8: find!("JSStringGetUTF8CString"),
        };
        Ok(Api { functions, file: mapped_file(name), _library: library })
    }

    /// The file that was opened, with the version in its name.
    pub fn library_file(&self) -> &str {
        &self.file
    }

    /// A global context in a new context group: an independent virtual machine.
    pub fn new_context(&self) -> Result<Context<'_>, String> {
        // SAFETY: a null class asks for the default global object.
        let raw = unsafe { (self.functions.context_create)(ptr::null_mut()) };
        if raw.is_null() {
            return Err("JSGlobalContextCreate returned null".into());
        }
        Ok(Context { functions: &self.functions, raw, not_send: PhantomData })
    }

    /// A string handle for `text`, which must not contain a NUL.
    fn string<'a>(functions: &'a Functions, text: &str) -> Result<JsString<'a>, String> {
        let text = CString::new(text).map_err(|_| "source contains a NUL".to_string())?;
        // SAFETY: the pointer is a NUL-terminated string that lives through the call, which copies it.
        let raw = unsafe { (functions.string_create)(text.as_ptr()) };
        Ok(JsString { functions, raw })
    }
}

/// The real path of the mapped library, from the kernel's map table.
fn mapped_file(name: &str) -> String {
    let stem = name.split(".so").next().unwrap_or(name);
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    maps.lines()
        .filter_map(|line| line.split_whitespace().nth(5))
        .find(|path| path.contains(stem))
        .unwrap_or(name)
        .to_string()
}

/// A string handle, released on drop.
struct JsString<'a> {
    functions: &'a Functions,
    raw: StringRef,
}

impl Drop for JsString<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` came from a function that returns an owned handle, and is released only here.
        unsafe { (self.functions.string_release)(self.raw) }
    }
}

/// A global context and its virtual machine, released on drop.
pub struct Context<'a> {
    functions: &'a Functions,
    raw: ContextRef,
    not_send: PhantomData<*mut ()>,
}

impl Context<'_> {
    /// Evaluates a sloppy script.
    pub fn run(&mut self, source: &str) -> Result<(), String> {
        self.evaluate(source).map(|_| ())
    }

    /// Evaluates a sloppy script and converts its value to a number.
    pub fn eval_number(&mut self, source: &str) -> Result<f64, String> {
        let value = self.evaluate(source)?;
        self.number(value)
    }

    /// Looks up a global function and calls it with numbers.
    pub fn call_number(&mut self, function: &str, arguments: [f64; 2]) -> Result<f64, String> {
        let name = Api::string(self.functions, function)?;
        let mut thrown: ValueRef = ptr::null();
        // SAFETY: the context is alive and this is the thread that made it; the name is a live handle.
        let callee = unsafe {
            let global = (self.functions.global_object)(self.raw);
            (self.functions.get_property)(self.raw, global, name.raw, &mut thrown)
        };
        self.check(thrown)?;
        // SAFETY: as above; `callee` is a value of this context, on the native stack.
        let callee = unsafe { (self.functions.to_object)(self.raw, callee, &mut thrown) };
        self.check(thrown)?;
        // SAFETY: as above; numbers are made in this context.
        let values = arguments.map(|n| unsafe { (self.functions.make_number)(self.raw, n) });
        // SAFETY: as above; the array has as many values as the count says, and a null `this` means the
        // global object.
        let value = unsafe {
            (self.functions.call)(self.raw, callee, ptr::null_mut(), values.len(), values.as_ptr(), &mut thrown)
        };
        self.check(thrown)?;
        self.number(value)
    }

    fn evaluate(&mut self, source: &str) -> Result<ValueRef, String> {
        let script = Api::string(self.functions, source)?;
        let mut thrown: ValueRef = ptr::null();
        // SAFETY: the context is alive and this is the thread that made it; the script is a live handle;
        // null `this` and URL are allowed.
        let value = unsafe {
            (self.functions.evaluate)(self.raw, script.raw, ptr::null_mut(), ptr::null_mut(), 1, &mut thrown)
        };
        self.check(thrown)?;
        Ok(value)
    }

    fn number(&self, value: ValueRef) -> Result<f64, String> {
        let mut thrown: ValueRef = ptr::null();
        // SAFETY: `value` is a value of this live context, on the native stack.
        let number = unsafe { (self.functions.to_number)(self.raw, value, &mut thrown) };
        self.check(thrown)?;
        Ok(number)
    }

    /// An exception as an error with its text.
    fn check(&self, thrown: ValueRef) -> Result<(), String> {
        if thrown.is_null() { Ok(()) } else { Err(self.text(thrown)) }
    }

    fn text(&self, value: ValueRef) -> String {
        // SAFETY: `value` is a value of this live context; a null exception slot is allowed.
        let raw = unsafe { (self.functions.to_string)(self.raw, value, ptr::null_mut()) };
        if raw.is_null() {
            return "an exception that cannot be converted to a string".into();
        }
        let string = JsString { functions: self.functions, raw };
        // SAFETY: the handle is live.
        let room = unsafe { (self.functions.string_max_size)(string.raw) };
        let mut bytes = vec![0u8; room];
        // SAFETY: the buffer has the size that is passed; the function writes at most that much.
        let written = unsafe { (self.functions.string_get_utf8)(string.raw, bytes.as_mut_ptr().cast(), bytes.len()) };
        bytes.truncate(written.saturating_sub(1));
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: `raw` is the one reference that `new_context` was given, and is released only here, on
        // the thread that made it; no value of the context is used afterwards.
        unsafe { (self.functions.context_release)(self.raw) }
    }
}
