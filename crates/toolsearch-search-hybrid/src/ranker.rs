//! The ranker: a ranker by words and an embedder in, indexes out.

use std::any::Any;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_catalog::Catalog;
use toolsearch_search::{
    Embedder, Index, LeftOut, Ranker, SearchError, SearchRequest, SearchResponse,
};

use crate::fill::{Vectors, Worker, fill};
use crate::meaning::Meaning;
use crate::options::Options;

/// Puts a ranker by words and an embedder together. Cheap to clone; clones share vectors.
///
/// Its indexes must be made and asked inside a tokio runtime with time.
#[derive(Debug, Clone)]
pub struct Hybrid {
    words: Arc<dyn Ranker>,
    pub(crate) meaning: Arc<Meaning>,
}

impl Hybrid {
    /// A ranker of both.
    #[must_use]
    pub fn new(words: Arc<dyn Ranker>, embedder: Arc<dyn Embedder>, options: Options) -> Self {
        Self {
            words,
            meaning: Arc::new(Meaning::new(embedder, options)),
        }
    }

    /// Indexes a catalog; the same as through the trait, with the index as what it is.
    ///
    /// # Errors
    /// [`SearchError`] of the ranker by words; never one of the embedder.
    pub async fn build(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<HybridIndex>, SearchError> {
        let older = previous.and_then(|index| index.downcast::<HybridIndex>());
        let words = self
            .words
            .index(catalog, older.map(|older| &older.words))
            .await?;
        let (vectors, worker) = match older.filter(|older| older.serves(catalog, &self.meaning)) {
            Some(older) => (Arc::clone(&older.vectors), Arc::clone(&older.worker)),
            None => {
                let (vectors, worker) = fill(&self.meaning, catalog).await;
                (vectors, Arc::new(worker))
            }
        };
        Ok(Arc::new(HybridIndex {
            catalog: catalog.clone(),
            words,
            meaning: Arc::clone(&self.meaning),
            vectors,
            worker,
        }))
    }
}

#[async_trait]
impl Ranker for Hybrid {
    fn name(&self) -> &str {
        "hybrid"
    }

    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let index = self.build(catalog, previous).await?;
        Ok(index)
    }
}

/// How many tools of a catalog have vectors.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Coverage {
    /// All tools.
    pub tools: usize,
    /// Those with all their vectors.
    pub present: usize,
    /// Those for which the embedder gives something that cannot be used.
    pub unusable: usize,
    /// Nothing more is coming.
    pub is_done: bool,
    /// What keeps vectors from coming.
    pub trouble: Option<LeftOut>,
}

/// A catalog that is searched by words and by meaning. Vectors are made as long as it lives.
#[derive(Debug)]
pub struct HybridIndex {
    pub(crate) catalog: Catalog,
    pub(crate) words: Arc<dyn Index>,
    pub(crate) meaning: Arc<Meaning>,
    pub(crate) vectors: Arc<Vectors>,
    worker: Arc<Option<Worker>>,
}

impl HybridIndex {
    fn serves(&self, catalog: &Catalog, meaning: &Arc<Meaning>) -> bool {
        Arc::ptr_eq(&self.meaning, meaning) && self.catalog.fingerprint() == catalog.fingerprint()
    }

    /// How far the vectors are.
    #[must_use]
    pub fn coverage(&self) -> Coverage {
        let state = self.vectors.state();
        Coverage {
            tools: self.catalog.len(),
            present: state.present,
            unusable: state.unusable.len(),
            is_done: state.is_done,
            trouble: state.trouble,
        }
    }

    /// Waits until no more vectors are coming, something is wrong, or the time is over.
    pub async fn settle(&self, time: std::time::Duration) {
        self.vectors.settle(time).await;
    }
}

#[async_trait]
impl Index for HybridIndex {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        self.answer(request).await
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}
