//! Requests, answers and the two traits.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use toolsearch_catalog::{Catalog, ToolId};

use crate::embedder::LeftOut;

/// One query.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SearchRequest {
    /// What is looked for, in anybody's words. Any text is valid.
    pub query: String,
    /// How many hits at most, at least 1.
    pub limit: usize,
    /// Whether hits carry their evidence.
    pub explain: bool,
}

impl SearchRequest {
    /// A query without evidence.
    #[must_use]
    pub fn new(query: impl Into<String>, limit: usize) -> Self {
        Self {
            query: query.into(),
            limit: limit.max(1),
            explain: false,
        }
    }
}

/// Why a hit ranks where it does.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Evidence {
    /// The field: `name`, `owner`, `title`, `description`, `parameter`, …
    pub field: String,
    /// The matched term, as indexed.
    pub term: String,
    /// Its share of the score.
    pub weight: f32,
}

impl Evidence {
    /// One matched term.
    #[must_use]
    pub fn new(field: impl Into<String>, term: impl Into<String>, weight: f32) -> Self {
        Self {
            field: field.into(),
            term: term.into(),
            weight,
        }
    }
}

/// One tool that matches.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Hit {
    /// The place of the tool in [`Catalog::entries`].
    pub position: usize,
    /// Its id.
    pub id: ToolId,
    /// Comparable within one answer only; larger is better; always above zero.
    pub score: f32,
    /// Whether the query names the tool.
    pub exact: bool,
    /// Filled when the request asks for it.
    pub evidence: Vec<Evidence>,
}

impl Hit {
    /// A ranked hit without evidence.
    #[must_use]
    pub const fn new(position: usize, id: ToolId, score: f32) -> Self {
        Self {
            position,
            id,
            score,
            exact: false,
            evidence: Vec::new(),
        }
    }
}

/// Why nothing was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EmptyReason {
    /// The query holds no word that can be searched for.
    NoTerms,
    /// No tool matches well enough.
    NoMatch,
    /// No tool matches, and some owners are not available.
    ServerUnavailable,
    /// No tool matches, and some owners are still starting.
    StillConnecting,
}

/// The answer to one query.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SearchResponse {
    /// Hits, best first.
    pub hits: Vec<Hit>,
    /// Set exactly when there are no hits.
    pub reason: Option<EmptyReason>,
    /// When there are no hits: up to three ids that are near in writing.
    pub nearest: Vec<ToolId>,
    /// Set when meaning should have counted and did not.
    pub left_out: Option<LeftOut>,
    /// When there are no hits: the script that the query is written in, when no tool has a word in it. The
    /// same question in the language of the tools may find something.
    pub foreign_script: Option<&'static str>,
    /// Whether the query is in another language than the tools and was read with a table of its words.
    pub is_translated: bool,
}

impl SearchResponse {
    /// An answer with hits; none of them means [`EmptyReason::NoMatch`].
    #[must_use]
    pub fn of(hits: Vec<Hit>) -> Self {
        let reason = hits.is_empty().then_some(EmptyReason::NoMatch);
        Self {
            hits,
            reason,
            nearest: Vec::new(),
            left_out: None,
            foreign_script: None,
            is_translated: false,
        }
    }

    /// An answer without hits.
    #[must_use]
    pub fn empty(reason: EmptyReason, nearest: Vec<ToolId>) -> Self {
        Self {
            hits: Vec::new(),
            reason: Some(reason),
            nearest,
            left_out: None,
            foreign_script: None,
            is_translated: false,
        }
    }
}

/// Why a search did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SearchError {
    /// The index could not be made or asked; the text says why.
    #[error("search is not available: {0}")]
    Unavailable(String),
}

/// Makes an index of a catalog. Done once a catalog, never a call.
#[async_trait]
pub trait Ranker: fmt::Debug + Send + Sync {
    /// The name that stands in logs.
    fn name(&self) -> &str;

    /// Indexes a whole catalog. `previous` is an index that this ranker made of an older snapshot;
    /// what did not change may be taken from it.
    ///
    /// # Errors
    /// [`SearchError::Unavailable`] when no index can be made.
    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError>;
}

/// Answers queries about one catalog.
#[async_trait]
pub trait Index: fmt::Debug + Send + Sync {
    /// Answers one query.
    ///
    /// # Errors
    /// [`SearchError::Unavailable`] when the index cannot be asked.
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError>;

    /// For implementations that take parts of an older index of their own kind.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }
}

impl dyn Index {
    /// The index as the kind that a ranker makes itself; `None` for any other.
    #[must_use]
    pub fn downcast<T: std::any::Any>(&self) -> Option<&T> {
        self.as_any()?.downcast_ref()
    }
}

#[async_trait]
impl<T: Ranker + ?Sized> Ranker for Arc<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        T::index(self, catalog, previous).await
    }
}

#[async_trait]
impl<T: Ranker + ?Sized> Ranker for Box<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        T::index(self, catalog, previous).await
    }
}

/// Finds nothing by ranking; exact names still work when it is wrapped in
/// [`crate::ExactFirst`].
#[derive(Debug, Clone, Copy, Default)]
pub struct NoRanker;

#[async_trait]
impl Ranker for NoRanker {
    fn name(&self) -> &str {
        "none"
    }

    async fn index(
        &self,
        _: &Catalog,
        _: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        Ok(Arc::new(Self))
    }
}

#[async_trait]
impl Index for NoRanker {
    async fn search(&self, _: &SearchRequest) -> Result<SearchResponse, SearchError> {
        Ok(SearchResponse::empty(EmptyReason::NoMatch, Vec::new()))
    }
}
