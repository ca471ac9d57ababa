//! Exact names first: a query that names a tool gets that tool before any ranking.

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_catalog::{Catalog, MAX_SUGGESTIONS, ToolId};

use crate::contract::{Evidence, Hit, Index, Ranker, SearchError, SearchRequest, SearchResponse};

/// How many words of a query are tried as names.
const MAX_NAMED_WORDS: usize = 16;

/// Exact hits rank above every score that a ranker gives; what it gives them comes on top.
const EXACT_SCORE: f32 = 1.0e4;
/// How many hits of the ranker are looked at to put tools of one name in order.
const ORDERED: usize = 64;

/// Wraps a ranker: tools that the whole query, or a word of it that is written like an identifier,
/// names come first, in the order of the ranker and then by id; the ranker's other hits follow. Also fills
/// in the nearest names of an empty answer. Every name that the query spells out is returned, even beyond
/// the limit, up to sixteen.
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
            .and_then(|index| index.downcast::<ExactIndex>())
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
        let mut wider = request.clone();
        if named.len() > 1 {
            wider.limit = request.limit.max(ORDERED);
        }
        let mut ranked = self.inner.search(&wider).await?;
        if named.is_empty() {
            if ranked.hits.is_empty() && ranked.nearest.is_empty() {
                ranked.nearest = self.catalog.nearest(&request.query, MAX_SUGGESTIONS);
            }
            return Ok(ranked);
        }
        let mut hits = self.exact_hits(&named, &ranked.hits);
        if request.explain {
            hits.iter_mut().for_each(explain);
        }
        let room = request.limit.saturating_sub(hits.len());
        ranked.hits.retain(|hit| !named.contains(&hit.position));
        hits.extend(ranked.hits.into_iter().take(room));
        let mut response = SearchResponse::of(hits);
        response.left_out = ranked.left_out;
        response.is_translated = ranked.is_translated;
        Ok(response)
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

impl ExactIndex {
    /// The named tools, each with what the ranker says about it.
    fn exact_hits(&self, named: &BTreeSet<usize>, ranked: &[Hit]) -> Vec<Hit> {
        let hit = |at: &usize| {
            let found = ranked.iter().find(|hit| hit.position == *at);
            let mut hit = found.cloned().unwrap_or_else(|| {
                let id = self.catalog.entries()[*at].id.clone();
                Hit::new(*at, id, 0.0)
            });
            hit.score += EXACT_SCORE;
            hit.exact = true;
            hit
        };
        let mut hits: Vec<Hit> = named.iter().map(hit).collect();
        hits.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
        hits
    }
}

/// Puts the name before all other evidence.
fn explain(hit: &mut Hit) {
    let name = Evidence::new("exact", hit.id.name(), EXACT_SCORE);
    hit.evidence.insert(0, name);
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
