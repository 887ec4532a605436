//! What a snapshot says about itself beside its image: an rkyv archive that is read in place.

use rkyv::{Archive, Deserialize, Serialize};

/// The metadata segment: its length in bytes (u64) comes first, the archive starts at byte 16.
pub const ARCHIVE_START: usize = 16;

/// See the module documentation.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    /// Names and arities of the host functions that the image refers to, in the order of their numbers.
    pub host_functions: Vec<HostFunctionInfo>,
    /// Every template, in the order of its number.
    pub templates: Vec<TemplateInfo>,
    /// How the snapshot was made.
    pub build: BuildInfo,
}

/// A host function of an image.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub struct HostFunctionInfo {
    pub name: String,
    pub arity: u32,
}

/// A function of an image.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub struct TemplateInfo {
    pub name: String,
    /// Name of the script that it comes from.
    pub script: String,
    /// Line of its text, from 1.
    pub line: u32,
    /// Bytes of bytecode.
    pub bytecode_bytes: u32,
    /// Offset and bytes of its native code in the code segment; (0, 0) where there is none.
    pub native_offset: u32,
    pub native_bytes: u32,
    /// Why there is no native code; empty where there is.
    pub native_reason: String,
}

/// How a snapshot was made: nothing here differs between two builds of the same input.
#[derive(Archive, Serialize, Deserialize, Debug, Clone, Default, PartialEq)]
pub struct BuildInfo {
    pub zjs_version: String,
    /// File names (without folders) of the inputs, in order.
    pub inputs: Vec<String>,
    /// The clock during the build, milliseconds since the epoch.
    pub clock_ms: f64,
    pub seed: u64,
}

/// The bytes of the metadata segment, before padding.
///
/// # Errors
/// When rkyv cannot serialize.
pub fn encode(metadata: &Metadata) -> Result<Vec<u8>, rkyv::rancor::Error> {
    let archive = rkyv::to_bytes::<rkyv::rancor::Error>(metadata)?;
    let mut bytes = vec![0; ARCHIVE_START];
    bytes[..8].copy_from_slice(&(archive.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&archive);
    Ok(bytes)
}

/// The archive in a metadata segment, checked.
///
/// # Errors
/// When the bytes are no archive of this type.
pub fn access(segment: &[u8]) -> Result<&ArchivedMetadata, String> {
    let length = segment.get(..8).and_then(|b| b.try_into().ok()).map(u64::from_le_bytes);
    let archive = length
        .and_then(|n| usize::try_from(n).ok())
        .and_then(|n| ARCHIVE_START.checked_add(n))
        .and_then(|end| segment.get(ARCHIVE_START..end))
        .ok_or("the metadata segment is too short")?;
    rkyv::access::<ArchivedMetadata, rkyv::rancor::Error>(archive).map_err(|e| e.to_string())
}
