//! zjs snapshotter: builds, inspects, compares and verifies snapshots.

pub mod freeze;
