//! From frozen templates to the code segment.

use zjs_engine::realm::Realm;

use crate::freeze::FrozenImage;

/// Native code of an image.
#[derive(Default)]
pub struct NativeUnit {
    pub code: Vec<u8>,
    /// (template number, offset, bytes).
    pub functions: Vec<(u32, u32, u32)>,
    /// (template number, why it has none).
    pub reasons: Vec<(u32, String)>,
}

/// Compiles what can be compiled.
///
/// # Errors
/// When the code generator fails.
pub fn compile(_realm: &Realm, _image: &FrozenImage) -> Result<NativeUnit, String> {
    Ok(NativeUnit::default())
}
