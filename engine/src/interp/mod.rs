//! The interpreter: frames, the dispatch loop, and the operations behind its slow paths.
//!
//! ```text
//! call block / frame (cage addresses, 8 bytes a slot)
//! fp-48  return fp << 32 | return pc      fp-40  argc << 32 | flags << 16 | destination register
//! fp-32  address of the first argument    fp-24  new.target, or the coroutine as an internal cell
//! fp-16  callee                           fp-8   this
//! fp     register 0 = first parameter ...
//! ```
//!
//! A call block at register `b` of the caller becomes the callee's frame in place: fp = address(b) + 48.
//! No header word looks like a tagged value except the values themselves, so the stack scans as values.
//! Calls between closures do not recurse on the native stack; calls through built-ins do.

pub mod arith;
pub mod call;
pub mod feedback;
pub mod frame;
pub mod generator;
mod guards;
pub mod iterate;
pub mod megamorphic;
pub mod native;
pub mod property_ops;
pub mod run;
pub mod scope_ops;
pub mod slow;

/// Bytes of the frame header.
pub const HEADER_BYTES: u32 = 48;
pub const RETURN: u32 = 48;
pub const CALL_INFO: u32 = 40;
pub const ARGUMENTS: u32 = 32;
pub const NEW_TARGET: u32 = 24;
pub const CALLEE: u32 = 16;
pub const THIS: u32 = 8;

/// Call-info flag: the call is a construction (a non-object result is replaced by `this`).
pub const FLAG_CONSTRUCT: u32 = 1;
/// Call-info flag: returning leaves the dispatch loop.
pub const FLAG_ENTRY: u32 = 2;
