//! The words of the house: what a tool is, how it is named, what a call brings back, and the
//! immutable [`Catalog`] that search, describe, call and every mode read.
//!
//! Nothing here does I/O, holds a clock or runs a tool. A catalog is built once from descriptors
//! that already passed policy; whoever holds it can only narrow it.

mod catalog;
mod descriptor;
mod fingerprint;
mod id;
mod lookup;
mod near;
mod outcome;
mod size;

pub use catalog::{Catalog, CatalogBuilder, Change, Diff, Rejected, RejectedReason};
pub use descriptor::{
    Annotations, CatalogMode, Execution, ToolDescriptor, ToolMeta, Trust, UnknownWord,
};
pub use fingerprint::Fingerprint;
pub use id::{IdError, MAX_ID_BYTES, Source, ToolId};
pub use lookup::{LookupError, MAX_SUGGESTIONS};
pub use outcome::{Block, Outcome, Provenance, text_block};
pub use size::json_bytes;

#[cfg(test)]
mod tests;
