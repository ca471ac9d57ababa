//! Bounded reading of JSON Schema: signatures, argument checks and repair, provider-safe names.
//!
//! The crate knows JSON Schema values, argument objects and names. It knows no tools, catalogs,
//! policies or transports, does no I/O and never follows a reference out of the document. Schemas
//! and arguments are taken as hostile: every walk has a node budget and a depth, cycles are cut, and
//! nothing here panics on what a server or a model may send.

pub mod arguments;
pub mod headers;
pub mod names;
pub mod provider;
pub mod signature;
pub mod walk;

mod canonical;
mod document;
mod fault;
mod number;
#[cfg(test)]
mod testing;

pub use canonical::{canonical_json, canonical_object};
pub use fault::SchemaFault;

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
