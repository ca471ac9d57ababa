//! An embedder tried out: whether it works, how long a query takes, and how many tools have kept vectors. For
//! whoever sets one up; a search needs none of it.

use std::sync::Arc;
use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::Instant;
use toolsearch_catalog::Catalog;
use toolsearch_search::{LeftOut, TextRole};

use crate::document::documents;
use crate::meaning::failed;
use crate::ranker::Hybrid;
use crate::store::key;

/// Two texts that no model takes for the same.
const TEXTS: [&str; 2] = ["weather forecast of a city", "delete a file from a folder"];
/// Above it two vectors are one: models give different texts 0.9 at most.
const SAME: f32 = 0.9999;

/// What an embedder gave when it was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// Its name.
    pub name: String,
    /// Numbers of a vector.
    pub dimensions: usize,
    /// How long a query took, once the embedder was ready.
    pub query_time: Duration,
    /// Whether it says that it understands many languages.
    pub is_multilingual: bool,
}

impl Hybrid {
    /// Has vectors made of two texts and a query, with the time of a batch for each, and looks at them. What
    /// was kept under the same name must be of the same size.
    ///
    /// # Errors
    /// [`LeftOut`] as a search would give it, or when different texts get the same vector.
    pub async fn try_out(&self) -> Result<Tried, LeftOut> {
        let meaning = &self.meaning;
        self.read_kept().await;
        meaning.warm().await?;
        let texts = TEXTS.map(str::to_owned);
        let time = meaning.options.batch_timeout;
        let mut rows = Vec::new();
        for row in meaning.embed(TextRole::Document, &texts, time).await? {
            rows.push(row.ok_or_else(|| failed(meaning, "gave a vector that cannot be used"))?);
        }
        let started = Instant::now();
        let query = meaning.embed(TextRole::Query, &texts[..1], time).await?;
        let query_time = started.elapsed();
        let query = query.into_iter().flatten().next();
        let query = query.ok_or_else(|| failed(meaning, "gave a vector that cannot be used"))?;
        let sizes = [&rows[0], &rows[1], &query].map(|row| row.dimensions());
        if sizes != [sizes[0]; 3] {
            return Err(failed(meaning, "gives vectors of different sizes"));
        }
        if rows[0].cosine(&rows[1]) > SAME {
            return Err(failed(meaning, "gives different texts the same vector"));
        }
        Ok(Tried {
            name: meaning.embedder.name().to_owned(),
            dimensions: query.dimensions(),
            query_time,
            is_multilingual: meaning.embedder.is_multilingual(),
        })
    }

    /// How many tools of a catalog have all their vectors kept. Makes none.
    pub async fn kept(&self, catalog: &Catalog) -> usize {
        self.read_kept().await;
        let is_known = |text: &String| self.meaning.store.find(&key(text)).is_some();
        let tools = catalog.entries().iter();
        tools
            .filter(|tool| documents(tool).iter().all(is_known))
            .count()
    }

    /// A lost task leaves an empty store, which is no fault.
    async fn read_kept(&self) {
        let meaning = Arc::clone(&self.meaning);
        let _ = spawn_blocking(move || meaning.store.read()).await;
    }
}
