//! Fielded BM25 over a catalog: a [`Ranker`](toolsearch_search::Ranker) that needs no model, no
//! network and no state.
//!
//! [`Bm25`] holds [`Options`] and makes a [`Bm25Index`] of a catalog snapshot. Text is cut into words
//! by small named parts that can be switched one by one; every tool becomes a bag of words per field;
//! the bags become one sorted postings list per word. A query sums what its words weigh in each tool
//! and keeps the best few. An answer may be empty: a query whose telling words no tool knows is
//! refused instead of answered with whatever shares a common word.
//!
//! Not here: exact names first (`toolsearch_search::ExactFirst`), what a model sees of a hit, and
//! meaning beyond words.

mod answer;
mod document;
mod foreign;
mod gate;
mod index;
mod lexicon;
mod options;
mod phrases;
mod query;
mod ranker;
mod repair;
mod script;
mod segment;
mod sums;
mod synonyms;
mod top;
mod verbs;
mod vocabulary;
mod words;

pub use index::Bm25Index;
pub use lexicon::{Lexicon, LexiconError};
pub use options::{Gate, Options, Repair, Weights, WordOptions};
pub use ranker::Bm25;

#[cfg(test)]
mod tests;

/// Keeps the example of the README true.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
