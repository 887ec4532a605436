//! Compiled regular expressions, kept outside the cage by the ref of their RegExp object or pattern.

use crate::cage::Ref;

/// Programs by RegExp cell; dropped with the cell.
#[derive(Default)]
pub struct RegExpCache {}

impl RegExpCache {
    pub(crate) fn clear(&mut self) {}

    pub(crate) fn retain(&mut self, _keep: impl FnMut(Ref) -> bool) {}
}
