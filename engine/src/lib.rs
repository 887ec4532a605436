//! zjs engine: cage, cells, shapes, interpreter, built-ins and collector.

pub mod bytecode;
pub mod pure;
