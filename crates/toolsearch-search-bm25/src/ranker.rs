//! The ranker: options in, indexes out.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_catalog::Catalog;
use toolsearch_search::{Index, Ranker, SearchError, SearchRequest, SearchResponse};

use crate::index::{Bm25Index, Parts};
use crate::options::Options;

/// Ranks by fielded BM25. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Bm25 {
    parts: Arc<Parts>,
}

impl Bm25 {
    /// A ranker with its options.
    #[must_use]
    pub fn new(options: Options) -> Self {
        Self {
            parts: Arc::new(Parts::new(options)),
        }
    }

    /// The options.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.parts.options
    }

    /// Indexes a catalog. What `previous` knows of tools that did not change is taken over; the
    /// result is the same as without it.
    #[must_use]
    pub fn build(&self, catalog: &Catalog, previous: Option<&Bm25Index>) -> Bm25Index {
        Bm25Index::build(&self.parts, catalog, previous)
    }
}

impl Default for Bm25 {
    fn default() -> Self {
        Self::new(Options::default())
    }
}

#[async_trait]
impl Ranker for Bm25 {
    fn name(&self) -> &str {
        "bm25"
    }

    /// Gives back `previous` itself when it is of an equal catalog and equal options.
    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let older = previous.and_then(|index| index.downcast::<Bm25Index>());
        if let (Some(shared), Some(older)) = (previous, older)
            && older.parts.options == self.parts.options
            && older.catalog.fingerprint() == catalog.fingerprint()
        {
            return Ok(Arc::clone(shared));
        }
        Ok(Arc::new(self.build(catalog, older)))
    }
}

#[async_trait]
impl Index for Bm25Index {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        Ok(self.answer(request))
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
