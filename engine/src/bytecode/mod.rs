//! Bytecode: the opcode list and the templates that compilers produce.

pub mod install;
pub mod opcode;
pub mod template;
