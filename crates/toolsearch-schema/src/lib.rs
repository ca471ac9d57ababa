//! Bounded reading of JSON Schema: signatures, argument checks and repair, provider-safe names.
//!
//! The crate knows JSON Schema values, argument objects and names. It knows no tools, catalogs,
//! policies or transports, does no I/O and never follows a reference out of the document. Schemas
//! and arguments are taken as hostile: every walk has a node budget and a depth, cycles are cut, and
//! nothing here panics on what a server or a model may send.

pub mod names;
pub mod signature;

mod document;
mod number;
#[cfg(test)]
mod testing;
