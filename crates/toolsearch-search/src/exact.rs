//! Exact names first: a query that names a tool gets that tool before any ranking.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_catalog::{Catalog, MAX_SUGGESTIONS, ToolId};

use crate::contract::{Evidence, Hit, Index, Ranker, SearchError, SearchRequest, SearchResponse};

/// How many words of a query are tried as names.
const MAX_NAMED_WORDS: usize = 16;

/// Exact hits rank above every score that a ranker gives.
const EXACT_SCORE: f32 = 1.0e6;

/// Wraps a ranker: tools that the whole query, or a word of it that is written like an identifier,
/// names come first, sorted by id; the ranker's hits follow. Also fills in the nearest names of an
/// empty answer. Every name that the query spells out is returned, even beyond the limit, up to
/// sixteen.
#[derive(Debug, Clone)]
pub struct ExactFirst<R>(pub R);

#[derive(Debug)]
struct ExactIndex {
    catalog: Catalog,
    inner: Arc<dyn Index>,
}

#[async_trait]
impl<R: Ranker> Ranker for ExactFirst<R> {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let older = previous
            .and_then(|index| index.as_any())
            .and_then(|index| index.downcast_ref::<ExactIndex>())
            .map(|index| &index.inner);
        let inner = self.0.index(catalog, older).await?;
        Ok(Arc::new(ExactIndex {
            catalog: catalog.clone(),
            inner,
        }))
    }
}

#[async_trait]
impl Index for ExactIndex {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let named = named(&self.catalog, &request.query);
        if request.limit == 1 && named.len() == 1 {
            return Ok(SearchResponse::of(self.exact_hits(&named, request.explain)));
        }
        let mut ranked = self.inner.search(request).await?;
        if named.is_empty() {
            if ranked.hits.is_empty() && ranked.nearest.is_empty() {
                ranked.nearest = self.catalog.nearest(&request.query, MAX_SUGGESTIONS);
            }
            return Ok(ranked);
        }
        let mut hits = self.exact_hits(&named, request.explain);
        let room = request.limit.saturating_sub(hits.len());
        ranked.hits.retain(|hit| !named.contains(&hit.position));
        hits.extend(ranked.hits.into_iter().take(room));
        let mut response = SearchResponse::of(hits);
        response.left_out = ranked.left_out;
        Ok(response)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl ExactIndex {
    fn exact_hits(&self, named: &BTreeSet<usize>, explain: bool) -> Vec<Hit> {
        let hit = |at: &usize| {
            let tool = &self.catalog.entries()[*at];
            let mut hit = Hit::new(*at, tool.id.clone(), EXACT_SCORE);
            hit.exact = true;
            if explain {
                hit.evidence
                    .push(Evidence::new("exact", tool.name.as_str(), EXACT_SCORE));
            }
            hit
        };
        named.iter().map(hit).collect()
    }
}

/// Places of the tools that a query names, as a whole or by identifier-like words.
fn named(catalog: &Catalog, query: &str) -> BTreeSet<usize> {
    let mut places: BTreeSet<usize> = catalog.named(query).into_iter().collect();
    if places.is_empty()
        && let Ok(id) = ToolId::parse(query.trim())
    {
        places.extend(catalog.position(&id));
    }
    let separators = |c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')' | '"' | '`');
    let words = query
        .split(separators)
        .map(|word| word.trim_matches(['.', '?', '!', '\'']));
    for word in words
        .filter(|word| looks_like_identifier(word))
        .take(MAX_NAMED_WORDS)
    {
        places.extend(catalog.named(word));
    }
    places
}

/// Whether a word is written as a name in code and not as prose: it holds an inner separator or
/// changes from lower to upper case.
fn looks_like_identifier(word: &str) -> bool {
    let chars: Vec<char> = word.chars().collect();
    chars
        .windows(3)
        .any(|three| matches!(three[1], '_' | '-' | ':' | '.' | '/'))
        || chars
            .windows(2)
            .any(|two| two[0].is_lowercase() && two[1].is_uppercase())
}
