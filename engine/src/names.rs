//! Names, symbols and intrinsics that the engine itself refers to, each list in one place.
//!
//! The strings and symbols lie in one `Values` cell, the intrinsics in the realm record; both are indexed
//! by these enums, whose order is part of the layout fingerprint.

macro_rules! define_names {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A property name that the engine uses.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        #[allow(non_camel_case_types)]
        pub enum Name { $($name,)* }
        /// Texts by number.
        pub const NAME_TEXTS: &[&str] = &[$($text,)*];
    };
}

define_names! {
    empty = "", length = "length", name = "name", prototype = "prototype", constructor = "constructor",
    message = "message", stack = "stack", cause = "cause", errors = "errors", error = "error", suppressed = "suppressed",
    value = "value", done = "done", next = "next", return_ = "return", throw = "throw",
    get = "get", set = "set", writable = "writable", enumerable = "enumerable", configurable = "configurable",
    undefined = "undefined", null = "null", true_ = "true", false_ = "false", nan = "NaN", infinity = "Infinity",
    minus_infinity = "-Infinity",
    object = "object", function = "function", string = "string", number = "number", boolean = "boolean", symbol = "symbol",
    bigint = "bigint", default = "default", proto = "__proto__", callee = "callee", caller = "caller", arguments = "arguments",
    to_string = "toString", value_of = "valueOf", to_json = "toJSON", join = "join", last_index = "lastIndex",
    index = "index", input = "input", groups = "groups", indices = "indices", raw = "raw", exec = "exec",
    flags = "flags", source = "source", global = "global", ignore_case = "ignoreCase", multiline = "multiline",
    dot_all = "dotAll", unicode = "unicode", unicode_sets = "unicodeSets", sticky = "sticky", has_indices = "hasIndices",
    then = "then", resolve = "resolve", reject = "reject", promise = "promise", status = "status", reason = "reason",
    fulfilled = "fulfilled", rejected = "rejected", add = "add", has = "has", keys = "keys", size = "size",
    global_this = "globalThis", anonymous = "anonymous", eval = "eval", async_ = "async", proxy = "proxy", revoke = "revoke",
    construct = "construct", apply = "apply", delete_property = "deleteProperty", define_property = "defineProperty",
    get_own_property_descriptor = "getOwnPropertyDescriptor", get_prototype_of = "getPrototypeOf", set_prototype_of = "setPrototypeOf",
    is_extensible = "isExtensible", prevent_extensions = "preventExtensions", own_keys = "ownKeys", native_function = "native function",
    star_default = "*default*", use_ = "use", of = "of", from = "from", buffer = "buffer", byte_length = "byteLength",
    max_byte_length = "maxByteLength", to_iso_string = "toISOString", entries = "entries", values = "values", for_each = "forEach",
    map = "map", push = "push", zero = "0", with = "with", type_ = "type", url = "url",
}

macro_rules! define_symbols {
    ($($name:ident = $text:literal),* $(,)?) => {
        /// A well-known symbol, or a private one of the engine.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Sym { $($name,)* }
        /// Descriptions by number.
        pub const SYMBOL_TEXTS: &[&str] = &[$($text,)*];
    };
}

define_symbols! {
    Iterator = "Symbol.iterator", AsyncIterator = "Symbol.asyncIterator", HasInstance = "Symbol.hasInstance",
    ToPrimitive = "Symbol.toPrimitive", ToStringTag = "Symbol.toStringTag", Species = "Symbol.species",
    IsConcatSpreadable = "Symbol.isConcatSpreadable", Unscopables = "Symbol.unscopables", Match = "Symbol.match",
    MatchAll = "Symbol.matchAll", Replace = "Symbol.replace", Search = "Symbol.search", Split = "Symbol.split",
    Dispose = "Symbol.dispose", AsyncDispose = "Symbol.asyncDispose",
}

/// Symbols from this number on are well-known; all of the list is, so far.
pub const FIRST_SYMBOL: u32 = NAME_TEXTS.len() as u32;

macro_rules! define_intrinsics {
    ($($name:ident),* $(,)?) => {
        /// A slot of the realm record.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u32)]
        pub enum Intrinsic { $($name,)* }
        /// Names by number.
        pub const INTRINSIC_NAMES: &[&str] = &[$(stringify!($name),)*];
    };
}

define_intrinsics! {
    // bookkeeping of the realm
    Names, SingleUnits, GlobalObject, GlobalLexicals, SymbolRegistry, ModuleMap, TemplateCount,
    // fundamental
    ObjectPrototype, FunctionPrototype, Object, Function, ArrayPrototype, Array, StringPrototype, String,
    NumberPrototype, Number, BooleanPrototype, Boolean, SymbolPrototype, Symbol, BigIntPrototype, BigInt,
    ErrorPrototype, Error, TypeErrorPrototype, TypeError, RangeErrorPrototype, RangeError, SyntaxErrorPrototype, SyntaxError,
    ReferenceErrorPrototype, ReferenceError, EvalErrorPrototype, EvalError, UriErrorPrototype, UriError,
    AggregateErrorPrototype, AggregateError, SuppressedErrorPrototype, SuppressedError,
    ThrowTypeError, Eval,
    // iteration
    IteratorPrototype, Iterator, AsyncIteratorPrototype, ArrayIteratorPrototype, ArrayIteratorNext, ArrayValues,
    StringIteratorPrototype, MapIteratorPrototype, SetIteratorPrototype, RegExpStringIteratorPrototype, IteratorHelperPrototype,
    WrapForValidIteratorPrototype, AsyncFromSyncIteratorPrototype,
    GeneratorFunctionPrototype, GeneratorFunction, GeneratorPrototype, GeneratorNext,
    AsyncGeneratorFunctionPrototype, AsyncGeneratorFunction, AsyncGeneratorPrototype,
    AsyncFunctionPrototype, AsyncFunction,
    // collections and the rest of the library
    MapPrototype, Map, SetPrototype, Set, WeakMapPrototype, WeakMap, WeakSetPrototype, WeakSet, WeakRefPrototype, WeakRef,
    FinalizationRegistryPrototype, FinalizationRegistry,
    PromisePrototype, Promise, PromiseThen, PromiseResolve, RegExpPrototype, RegExp, RegExpExec, DatePrototype, Date,
    ArrayBufferPrototype, ArrayBuffer, SharedArrayBufferPrototype, SharedArrayBuffer, DataViewPrototype, DataView,
    TypedArrayPrototype, TypedArray,
    Int8ArrayPrototype, Int8Array, Uint8ArrayPrototype, Uint8Array, Uint8ClampedArrayPrototype, Uint8ClampedArray,
    Int16ArrayPrototype, Int16Array, Uint16ArrayPrototype, Uint16Array, Int32ArrayPrototype, Int32Array,
    Uint32ArrayPrototype, Uint32Array, BigInt64ArrayPrototype, BigInt64Array, BigUint64ArrayPrototype, BigUint64Array,
    Float16ArrayPrototype, Float16Array, Float32ArrayPrototype, Float32Array, Float64ArrayPrototype, Float64Array,
    Proxy, Reflect, Math, Json, Atomics, Console,
    DisposableStackPrototype, DisposableStack, AsyncDisposableStackPrototype, AsyncDisposableStack,
    // shapes and functions that native code and the interpreter name
    ObjectShape, ArrayShape, FunctionShape, MethodShape, ArrowShape, GeneratorFunctionShape, NativeShape, IteratorResultShape, RegExpShape,
    ClassShape, ErrorShape, ArgumentsShape, EnvironmentRecord, MatchShape, RegExpPristine, ModuleOrder, Spare3, Spare4, Spare5, Spare6, Spare7,
}
