// Touches most globals once: makes one of each or calls one method of each, and returns how many. An
// engine that installs its intrinsics lazily pays for them here; one that has them frozen pays nothing.
(function () {
  var count = 0;
  function touched(condition) {
    if (!condition) {
      throw new Error("touch_globals: step " + count + " gave a wrong result");
    }
    count++;
  }
  touched(Object.keys({ a: 1 }).length === 1);
  touched(Function.prototype.call.call(function () { return 1; }) === 1);
  touched([3, 1, 2].sort()[0] === 1);
  touched(Array.from([1, 2]).length === 2);
  touched("abc".toUpperCase() === "ABC");
  touched(String.fromCharCode(65) === "A");
  touched((255).toString(16) === "ff");
  touched(Number("12") === 12);
  touched(new Boolean(true).valueOf() === true);
  touched(Symbol("s").toString() === "Symbol(s)");
  touched(typeof Symbol.iterator === "symbol");
  touched(Math.max(1, 2) === 2);
  touched(JSON.parse(JSON.stringify({ a: [1] })).a[0] === 1);
  touched(/a(b)c/.exec("abc")[1] === "b");
  touched(new Date(0).getTime() === 0);
  touched(new Map([[1, 2]]).get(1) === 2);
  touched(new Set([1, 1]).size === 1);
  touched(new WeakMap().has({}) === false);
  touched(new WeakSet().has({}) === false);
  touched(typeof Promise.resolve(1).then === "function");
  touched(new Proxy({ a: 1 }, {}).a === 1);
  touched(Reflect.has({ a: 1 }, "a"));
  touched(new ArrayBuffer(8).byteLength === 8);
  touched(new DataView(new ArrayBuffer(8)).getInt8(0) === 0);
  touched(new Int8Array(2).length === 2);
  touched(new Uint8Array(2).length === 2);
  touched(new Uint8ClampedArray(2).length === 2);
  touched(new Int16Array(2).length === 2);
  touched(new Uint16Array(2).length === 2);
  touched(new Int32Array(2).length === 2);
  touched(new Uint32Array(2).length === 2);
  touched(new Float32Array(2).length === 2);
  touched(new Float64Array(2).length === 2);
  touched(new BigInt64Array(2).length === 2);
  touched(new BigUint64Array(2).length === 2);
  touched(BigInt(5) === BigInt("5"));
  touched(new Error("e").message === "e");
  touched(new TypeError("e") instanceof Error);
  touched(new RangeError("e") instanceof Error);
  touched(new SyntaxError("e") instanceof Error);
  touched(new ReferenceError("e") instanceof Error);
  touched(new EvalError("e") instanceof Error);
  touched(new URIError("e") instanceof Error);
  touched(new AggregateError([]).errors.length === 0);
  touched((function* () { yield 1; })().next().value === 1);
  touched(typeof async function () {} === "function");
  touched(new WeakRef(touched).deref() === touched);
  touched(typeof new FinalizationRegistry(function () {}) === "object");
  touched(parseInt("12px", 10) === 12);
  touched(parseFloat("1.5") === 1.5);
  touched(isNaN(NaN));
  touched(isFinite(1));
  touched(encodeURIComponent("a b") === "a%20b");
  touched(decodeURIComponent("a%20b") === "a b");
  touched(encodeURI("a b") === "a%20b");
  touched(decodeURI("a%20b") === "a b");
  touched(typeof globalThis === "object");
  return count;
})();
