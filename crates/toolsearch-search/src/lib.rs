//! The contract of tool search. A [`Ranker`] makes an [`Index`] of a catalog once; the index
//! answers [`SearchRequest`]s with ordered, explained hits.
//!
//! Rules that hold for every implementation: the order is by score and then by id, so that equal
//! inputs give equal answers; a tool that does not match is never returned to fill up a list; an
//! index only knows the catalog that it was made of. [`ExactFirst`] puts tools that the query names
//! before everything that a ranker finds. An [`Embedder`] makes vectors of texts for rankers that weigh
//! meaning. Not here: reading a model's search input and rendering
//! hits (`toolsearch-mode`).

mod contract;
mod embedder;
mod exact;

pub use contract::{
    EmptyReason, Evidence, Hit, Index, NoRanker, Ranker, SearchError, SearchRequest, SearchResponse,
};
pub use embedder::{
    EmbedError, Embedder, LeftOut, LeftOutReason, MAX_BATCH, MAX_DIMENSIONS, MAX_TEXT_BYTES,
    NoEmbedder, TextRole,
};
pub use exact::ExactFirst;

#[cfg(test)]
mod tests;
