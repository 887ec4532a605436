//! zjs snapshotter: builds, inspects, compares and verifies snapshots.

pub mod build;
pub mod cache;
pub mod diff;
pub mod freeze;
pub mod host;
pub mod inspect;
pub mod modules;
pub mod native;
pub mod write;
