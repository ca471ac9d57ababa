//! Ranks by words and by meaning. [`Hybrid`] puts any ranker and any embedder together: the ranker's hits
//! and the tools whose vectors are nearest to the query's become one list.
//!
//! Words are the floor. While vectors are being made, and when the embedder fails, is slow or is not set
//! up, the answer is that of the ranker to the last bit, with a note of what was left out; the first hits
//! by words stay among the first whatever meaning says. Not here: a ranker, an embedder, exact names.

mod document;
mod fill;
mod fuse;
mod index;
mod meaning;
mod options;
mod parts;
mod ranker;
mod row;
mod store;
mod tried;

pub use document::documents;
pub use options::{Fusion, Options};
pub use ranker::{Coverage, Hybrid, HybridIndex};
pub use tried::Tried;

#[cfg(test)]
mod tests;
