//! zjs engine: cage, cells, shapes, interpreter, built-ins and collector.
//!
//! The engine runs templates; it has no parser and no code generator (see `bytecode::template` for what a
//! compiler hands over). ARCHITECTURE.md at the top of the repository has the map.

#![allow(bindings_with_variant_name)]

pub mod builtins;
pub mod bytecode;
pub mod cage;
pub mod convert;
pub mod errors;
pub mod evaluate;
pub mod heap;
pub mod host;
pub mod image;
pub mod interp;
pub mod jobs;
pub mod kinds;
pub mod names;
pub mod objects;
pub mod pure;
pub mod realm;
pub mod shapes;
pub mod strings;
pub mod value;
