//! The opcode list: the one definition from which the decoder, the disassembler, the verifier and the
//! layout fingerprint are derived.
//!
//! Code is a sequence of 16-bit units. The first unit of an instruction is its opcode, then come the
//! operands in the order of the list. Jump operands are signed distances in units, counted from the
//! first unit of the jump instruction itself.
//!
//! Operand kinds (letters used in the list):
//!
//! | kind | units | meaning |
//! | --- | --- | --- |
//! | `W`  | 1 | register that is written |
//! | `R`  | 1 | register that is read |
//! | `RW` | 1 | register that is read and written |
//! | `B`  | 1 | first register of a block whose length the instruction implies |
//! | `C`  | 1 | index into the template's constants |
//! | `Ic` | 1 | index of an inline cache; [`NO_IC`] means none |
//! | `U`  | 1 | unsigned immediate (count, slot, depth, flag) |
//! | `I32`| 2 | signed 32-bit immediate, low unit first |
//! | `J`  | 2 | signed 32-bit jump distance in units, low unit first |
//!
//! Register 0 is the first formal parameter. The callee, `this` and `new.target` lie in the frame
//! header below register 0 and are reached by `LoadCallee`, `LoadThis` and `LoadNewTarget`.

/// An inline-cache operand that means "this site has no cache".
pub const NO_IC: u16 = u16::MAX;

/// What an operand of an instruction is; see the module documentation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Operand {
    W,
    R,
    RW,
    B,
    C,
    Ic,
    U,
    I32,
    J,
}

impl Operand {
    /// Number of 16-bit units that the operand takes.
    pub const fn units(self) -> usize {
        match self {
            Operand::I32 | Operand::J => 2,
            _ => 1,
        }
    }
}

/// Calls `$callback!` with the whole list: `Name(Operand ...) "meaning";`.
#[macro_export]
macro_rules! for_each_opcode {
    ($callback:ident) => {
        $callback! {
            // --- loads and moves
            LoadUndefined(W) "dst = undefined";
            LoadNull(W) "dst = null";
            LoadTrue(W) "dst = true";
            LoadFalse(W) "dst = false";
            LoadHole(W) "dst = the uninitialized marker (temporal dead zone)";
            LoadInt(W I32) "dst = int32 immediate";
            LoadConst(W C) "dst = constants[c] (number, string or BigInt)";
            Move(W R) "dst = src";
            LoadThis(W) "dst = this value of the frame (already bound; sloppy functions coerce at entry)";
            LoadCallee(W) "dst = the running function";
            LoadNewTarget(W) "dst = new.target";
            LoadGlobalThis(W) "dst = the global object of the function's realm";
            LoadIntrinsic(W U) "dst = intrinsic number u of the function's realm";
            ThrowIfHole(R C) "ReferenceError naming constants[c] if src is the uninitialized marker";
            ThrowConstAssign(C) "TypeError: assignment to constant variable constants[c]";
            ThrowError(U C) "throw a new error: u = 0 TypeError, 1 ReferenceError, 2 SyntaxError, 3 RangeError; message constants[c]";
            // --- environments (captured variables)
            LoadFunctionEnv(W) "dst = environment that the running function closed over";
            NewEnv(W R U) "dst = new environment with parent src and u slots, all holding the uninitialized marker";
            CloneEnv(W R) "dst = copy of environment src (same parent): per-iteration bindings";
            GetEnv(W R U U) "dst = slot u2 of the environment u1 hops above src";
            GetEnvChecked(W R U U C) "GetEnv, then ReferenceError naming constants[c] if uninitialized";
            SetEnv(R U U R) "slot u2 of the environment u1 hops above src1 = src2 (initialisation, or a binding without dead zone)";
            SetEnvChecked(R U U R C) "SetEnv, but ReferenceError naming constants[c] if the slot is still uninitialized";
            // --- globals
            GetGlobal(W C Ic) "dst = global binding named constants[c]; ReferenceError if missing or uninitialized";
            GetGlobalOrUndefined(W C Ic) "GetGlobal for typeof: missing gives undefined (uninitialized still throws)";
            SetGlobal(C R Ic) "global binding = src; strict functions throw if it is missing";
            InitGlobalLexical(C R) "initialize the script-level let/const/class binding constants[c]";
            DeleteGlobal(W C) "dst = result of `delete name` in sloppy code";
            // --- properties
            GetProperty(W R C Ic) "dst = src.constants[c]";
            GetMethod(B R C Ic) "base+4 = src.constants[c]; base+5 = src (callee and this of a call block)";
            SetProperty(R C R Ic) "src1.constants[c] = src2 (throws on failure in strict functions)";
            GetElement(W R R Ic) "dst = src1[src2]";
            GetElementMethod(B R R Ic) "base+4 = src1[src2]; base+5 = src1";
            SetElement(R R R Ic) "src1[src2] = src3";
            GetLength(W R Ic) "dst = src.length";
            DefineProperty(R C R Ic) "CreateDataProperty(src1, constants[c], src2): object literals";
            DefineElement(R R R) "CreateDataProperty(src1, src2 (already a property key), src3), throws on failure";
            DefineField(R R R) "class field: like DefineElement, and defines a private name if src2 is one (TypeError if it is there)";
            DefineMethod(R R R U) "define non-enumerable (u bit0: enumerable) method src3 under key src2 on src1";
            DefineGetter(R R R U) "define getter src3 under key src2 on src1; u bit0: enumerable";
            DefineSetter(R R R U) "define setter src3 under key src2 on src1; u bit0: enumerable";
            SetFunctionName(R R U) "SetFunctionName(src1 function, src2 property key, prefix u: 0 none, 1 get, 2 set), only if it has no own name yet";
            SetHomeObject(R R) "src1.[[HomeObject]] = src2";
            SetPrototypeLiteral(R R) "`__proto__: value` of an object literal: set prototype if src2 is an object or null";
            DeleteProperty(W R C) "dst = delete src.constants[c]";
            DeleteElement(W R R) "dst = delete src1[src2]";
            HasProperty(W R R) "dst = src1 in src2";
            InstanceOf(W R R) "dst = src1 instanceof src2";
            GetSuper(W R R) "dst = HomeObject(callee).[[GetPrototypeOf]]().[[Get]](src1 key, receiver src2); arrows share the home object of the function that made them";
            SetSuper(R R R) "super[src1 key] = src2 with receiver src3";
            GetSuperConstructor(W R) "dst = src.[[GetPrototypeOf]]() for super() (src: the active constructor); TypeError if it is no constructor";
            CopyDataProperties(R R B U) "copy own enumerable properties of src2 to src1, except the u property keys in base.. (spread, rest)";
            // --- private names
            NewPrivateName(W C) "dst = fresh private name described by constants[c]";
            GetPrivate(W R R) "dst = src1.#src2; TypeError if absent";
            SetPrivate(R R R) "src1.#src2 = src3; TypeError if absent, a method, or without setter";
            DefinePrivateMethod(R R R U) "add private method (u=0), getter (1) or setter (2) src3 named src2 to src1";
            HasPrivate(W R R) "dst = (#src2 in src1); TypeError if src1 is no object";
            // --- literals
            NewObject(W) "dst = new ordinary object";
            NewArray(W U) "dst = new empty array with room for u elements";
            ArrayPush(R R) "append src2 to array literal src1";
            ArrayPushHole(R) "append a hole to array literal src1";
            ArraySpread(R R) "append all values of iterable src2 to array literal src1";
            NewRegExp(W C C) "dst = new RegExp(constants[c1] source, constants[c2] flags)";
            GetTemplateObject(W C) "dst = template object of this site (constants[c]), same identity each time";
            NewClosure(W C R) "dst = new function from template constants[c] with environment src";
            NewClass(B R C R) "base = constructor, base+1 = prototype; superclass src1 (the hole if no heritage), template constants[c], environment src2";
            SetClassFields(R R) "src1 class: function src2 initializes its instance fields";
            RunClassFields(R R) "run the field initializer of class src1 (if any) on object src2";
            CreateArguments(W U) "dst = arguments object; u = 0 unmapped (strict), 1 mapped onto the environment slots of MapArguments";
            MapArgument(R R U U) "arguments object src1: index u1 aliases slot u2 of environment src2";
            CreateRest(W U) "dst = array of arguments from index u on";
            ArgumentsLength(W) "dst = number of arguments (only where `arguments` does not escape)";
            GetArgument(W R) "dst = arguments[src] (only where `arguments` does not escape)";
            // --- calls. A call block at base: base..base+3 are kept free for the frame header,
            // base+4 callee, base+5 this, base+6.. arguments.
            Call(W B U) "dst = call block base with u arguments, this given in base+5";
            CallUndefined(W B U) "the same, with this = undefined (stored by the instruction)";
            CallSpread(W B) "call block base; base+6 holds one array of all arguments";
            CallEval(W B U R U) "direct eval if the callee is %eval%, else CallUndefined; src = current environment, u2 = scope info constant";
            New(W B U) "dst = construct base+4 with u arguments, new.target = base+4";
            NewSpread(W B) "construct base+4 with the array in base+6";
            SuperCall(W B U R) "dst = construct base+4 with u arguments and new.target src; binds nothing";
            SuperCallSpread(W B R) "SuperCall with the array of arguments in base+6 and new.target src";
            ImportCall(W R R) "dst = promise of the module src1 (specifier) with options src2 (undefined if none)";
            ImportMeta(W) "dst = import.meta";
            GetImport(W R U U C) "read an imported binding: slot u2, u1 hops above src holds the import reference; name constants[c]";
            Return(R) "return src";
            ReturnUndefined() "return undefined";
            CheckConstructorReturn(W R R) "derived constructor: dst = src1 if object; src2 (this) if src1 undefined (ReferenceError if the hole); else TypeError";
            Throw(R) "throw src";
            // --- arithmetic
            Add(W R R) "dst = src1 + src2";
            Sub(W R R) "dst = src1 - src2";
            Mul(W R R) "dst = src1 * src2";
            Div(W R R) "dst = src1 / src2";
            Mod(W R R) "dst = src1 % src2";
            Exp(W R R) "dst = src1 ** src2";
            BitAnd(W R R) "dst = src1 & src2";
            BitOr(W R R) "dst = src1 | src2";
            BitXor(W R R) "dst = src1 ^ src2";
            Shl(W R R) "dst = src1 << src2";
            Shr(W R R) "dst = src1 >> src2";
            UShr(W R R) "dst = src1 >>> src2";
            AddInt(W R I32) "dst = src + imm";
            SubInt(W R I32) "dst = src - imm";
            MulInt(W R I32) "dst = src * imm";
            DivInt(W R I32) "dst = src / imm";
            ModInt(W R I32) "dst = src % imm";
            BitAndInt(W R I32) "dst = src & imm";
            BitOrInt(W R I32) "dst = src | imm";
            BitXorInt(W R I32) "dst = src ^ imm";
            ShlInt(W R I32) "dst = src << imm";
            ShrInt(W R I32) "dst = src >> imm";
            UShrInt(W R I32) "dst = src >>> imm";
            Negate(W R) "dst = -src";
            BitNot(W R) "dst = ~src";
            Not(W R) "dst = !src";
            TypeOf(W R) "dst = typeof src";
            ToNumber(W R) "dst = +src";
            ToNumeric(W R) "dst = ToNumeric(src)";
            Increment(W R) "dst = ToNumeric(src) + 1 (of its type)";
            Decrement(W R) "dst = ToNumeric(src) - 1 (of its type)";
            ToStringOp(W R) "dst = ToString(src) (template literals)";
            ToPropertyKey(W R) "dst = ToPropertyKey(src)";
            ToObjectCheck(R) "RequireObjectCoercible(src): TypeError for undefined and null (destructuring)";
            // --- comparison
            Equal(W R R) "dst = src1 == src2";
            NotEqual(W R R) "dst = src1 != src2";
            StrictEqual(W R R) "dst = src1 === src2";
            StrictNotEqual(W R R) "dst = src1 !== src2";
            Less(W R R) "dst = src1 < src2";
            LessEqual(W R R) "dst = src1 <= src2";
            Greater(W R R) "dst = src1 > src2";
            GreaterEqual(W R R) "dst = src1 >= src2";
            // --- jumps
            Jump(J) "go on at target";
            Loop(J) "back edge: charge fuel, check interrupts, go on at target";
            JumpIfTrue(R J) "jump if ToBoolean(src)";
            JumpIfFalse(R J) "jump if not ToBoolean(src)";
            JumpIfNullish(R J) "jump if src is undefined or null";
            JumpIfNotNullish(R J) "jump if src is neither undefined nor null";
            JumpIfUndefined(R J) "jump if src is undefined";
            JumpIfNotUndefined(R J) "jump if src is not undefined";
            JumpIfHole(R J) "jump if src is the uninitialized marker";
            JumpIfEqual(R R J) "jump if src1 == src2";
            JumpIfNotEqual(R R J) "jump if src1 != src2";
            JumpIfStrictEqual(R R J) "jump if src1 === src2";
            JumpIfStrictNotEqual(R R J) "jump if src1 !== src2";
            JumpIfLess(R R J) "jump if src1 < src2";
            JumpIfNotLess(R R J) "jump if not (src1 < src2)";
            JumpIfLessEqual(R R J) "jump if src1 <= src2";
            JumpIfNotLessEqual(R R J) "jump if not (src1 <= src2)";
            JumpIfGreater(R R J) "jump if src1 > src2";
            JumpIfNotGreater(R R J) "jump if not (src1 > src2)";
            JumpIfGreaterEqual(R R J) "jump if src1 >= src2";
            JumpIfNotGreaterEqual(R R J) "jump if not (src1 >= src2)";
            // --- iteration. An iterator block at base: base = iterator object, base+1 = its next method,
            // base+2 = done flag, kept by the engine: set by GetIterator to false, to true when next()
            // reports done or throws. Closing a done iterator does nothing, IteratorNext on one jumps at once.
            ForInStart(W R) "dst = enumerator of the property names of src (undefined and null: empty)";
            ForInNext(W R J) "dst = next name of enumerator src that is still there, or jump when done";
            GetIterator(B R) "base.. = GetIterator(src, sync)";
            GetAsyncIterator(B R) "base.. = GetIterator(src, async)";
            IteratorNext(W B J) "dst = next value of the iterator block, or jump when done (sync)";
            IteratorCall(W B R) "dst = Call(next, iterator, src): raw result object, for yield* and for await";
            IteratorUnpack(W R J) "dst = src.value, or jump with dst = src.value if src.done; TypeError if src is no object";
            IteratorClose(B) "IteratorClose for a normal or break/return completion: call return(), throw if its result is no object";
            IteratorCloseSilent(B) "IteratorClose for a throw completion: call return(), drop every error";
            IteratorMethod(W B U) "dst = iterator.return (u=0) or iterator.throw (u=1), undefined if nullish (GetMethod)";
            CallIteratorMethod(W B R R) "dst = Call(src1 method, iterator of block, src2); for yield* and async close";
            CheckIteratorResult(R) "TypeError if src is no object";
            // --- generators and async. A resumption delivers a mode: 0 next, 1 throw, 2 return.
            StartGenerator() "create the generator (or async generator) object, save the registers, return it; the first next() goes on behind this";
            Yield(W W R) "suspend with src; on resumption dst1 = value, dst2 = mode (int). Sync: src is wrapped in an iterator result. Async generator: src has been awaited";
            YieldDelegate(W W R) "like Yield, but src is handed out as it is, being a result object already (sync yield*)";
            Await(W W R) "suspend on PromiseResolve(src); on resumption dst1 = value, dst2 = mode (0 or 1)";
            // --- with and dynamic scope
            DynamicGet(W R C) "dst = name constants[c] looked up through the `with` objects and variable objects of environment src, then global";
            DynamicSet(R C R) "assign src2 to name constants[c] likewise";
            DynamicTypeOf(W R C) "typeof name likewise";
            DynamicDelete(W R C) "delete name likewise";
            DynamicCallee(B R C) "base+4 = function named constants[c], base+5 = with object or undefined";
            DynamicHas(W R U C) "dst = whether the with or variable object environment u hops above src has a binding constants[c] (with objects honour @@unscopables)";
            NewWithEnv(W R R) "dst = object environment over ToObject(src2) with parent src1";
            Debugger() "debugger statement: no effect";
        }
    };
}

macro_rules! define_opcodes {
    ($($name:ident($($operand:ident)*) $doc:literal;)*) => {
        /// One instruction's operation.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        pub enum Opcode {
            $(#[doc = $doc] $name,)*
        }

        impl Opcode {
            /// Every opcode in numeric order.
            pub const ALL: &'static [Opcode] = &[$(Opcode::$name,)*];

            /// The opcode with number `raw`, if there is one.
            #[inline(always)]
            pub const fn from_raw(raw: u16) -> Option<Opcode> {
                // Written out so that it compiles to one range check: the dispatch loop runs this.
                $(if raw == Opcode::$name as u16 {
                    return Some(Opcode::$name);
                })*
                None
            }

            /// The operands in code order.
            pub const fn operands(self) -> &'static [Operand] {
                match self {
                    $(Opcode::$name => &[$(Operand::$operand),*],)*
                }
            }

            /// Name as in the list.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Opcode::$name => stringify!($name),)*
                }
            }

            /// Length of the instruction in units, opcode included.
            pub const fn length_units(self) -> usize {
                match self {
                    $(Opcode::$name => const { 1 $(+ Operand::$operand.units())* },)*
                }
            }
        }

        /// Text that changes whenever an opcode, its operands or its meaning changes (layout fingerprint).
        pub const OPCODE_FINGERPRINT: &str = concat!($(stringify!($name), "(", $(stringify!($operand), " ",)* ")", $doc, ";"),*);
    };
}

for_each_opcode!(define_opcodes);
