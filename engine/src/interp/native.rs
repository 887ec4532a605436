//! Calling ahead-of-time code from the interpreter. See the compiler's `native` module for the code itself.

use crate::cage::{Cage, CageMemory, Ref};
use crate::realm::Realm;
use crate::value::Value;

/// How native code ended.
pub(crate) enum Outcome {
    /// The function returned this value; its frame is still pushed.
    Returned(Value),
    /// It threw; `pc` is set.
    Threw,
    /// It left at this instruction address; all registers are in the frame.
    Exit(u32),
}

/// Run-time state of native code.
#[derive(Default)]
pub(crate) struct NativeState {}

impl NativeState {
    pub(crate) fn visit(&self, _visit: &mut dyn FnMut(Value)) {}

    pub(crate) fn reset_stack_mark(&mut self, _memory: &CageMemory, _cage: Cage, _wipe: bool) {}
}

impl Realm {
    /// Runs the frame at `fp` natively if its function has code that may be used now.
    #[inline(never)]
    pub(crate) fn try_native(&mut self, _fp: u32, _template: Ref) -> Option<Outcome> {
        None
    }
}

/// Text over everything in the run-time context that native code depends on (layout fingerprint).
pub fn layout_text() -> String {
    "native-0".to_string()
}
