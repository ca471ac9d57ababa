//! Answering a query: words first, then meaning if it is there in time.

use std::collections::BTreeMap;

use toolsearch_search::{
    EmptyReason, Evidence, Hit, LeftOut, SearchError, SearchRequest, SearchResponse,
};

use crate::fuse::{ByWords, DEPTH, Fused, Nearest, fuse};
use crate::meaning::QueryRows;
use crate::ranker::HybridIndex;

impl HybridIndex {
    pub(crate) async fn answer(
        &self,
        request: &SearchRequest,
    ) -> Result<SearchResponse, SearchError> {
        let mut deep = request.clone();
        deep.limit = request.limit.max(DEPTH);
        let mut words = self.words.search(&deep).await?;
        if words.reason == Some(EmptyReason::NoTerms) || self.catalog.is_empty() {
            return Ok(words);
        }
        // What a model of one language makes of another one is not asked for.
        let is_foreign = words.is_translated || words.foreign_script.is_some();
        if is_foreign && !self.meaning.embedder.is_multilingual() {
            words.hits.truncate(request.limit);
            return Ok(words);
        }
        match self.query(&request.query).await {
            Ok(query) => Ok(self.fused(request, words, &query)),
            Err(left_out) => Ok(by_words_alone(request, words, left_out)),
        }
    }

    async fn query(&self, query: &str) -> Result<QueryRows, LeftOut> {
        self.vectors.are_enough()?;
        self.meaning.query(query).await
    }

    fn fused(
        &self,
        request: &SearchRequest,
        words: SearchResponse,
        query: &QueryRows,
    ) -> SearchResponse {
        let cosines: Vec<_> = query.iter().map(|row| self.vectors.cosines(row)).collect();
        let nearest = Nearest::of(&cosines);
        let weighed: Vec<ByWords> = words
            .hits
            .iter()
            .take(DEPTH)
            .map(|hit| ByWords {
                position: hit.position,
                score: hit.score,
            })
            .collect();
        let unread = words.foreign_script.is_some();
        let fused = fuse(&weighed, &nearest, &self.meaning.options.fusion, unread);
        if fused.is_empty() {
            return words;
        }
        let last = fused.last().map_or(1.0, |hit| hit.score);
        let mut known: BTreeMap<usize, Hit> = words
            .hits
            .into_iter()
            .map(|hit| (hit.position, hit))
            .collect();
        let mut hits: Vec<Hit> = Vec::with_capacity(request.limit.min(fused.len()));
        for one in fused.iter().take(request.limit) {
            let hit = known.remove(&one.position);
            hits.push(self.hit(one, hit, request.explain));
        }
        // Hits by words beyond the depth follow as they are, below everything that was weighed.
        if request.limit > fused.len() {
            let mut rest: Vec<Hit> = known.into_values().collect();
            rest.sort_by(|a, b| b.score.total_cmp(&a.score).then_with(|| a.id.cmp(&b.id)));
            rest.truncate(request.limit - fused.len());
            let top = rest.first().map_or(1.0, |hit| hit.score);
            for hit in &mut rest {
                hit.score = (hit.score / top * last)
                    .max(f32::MIN_POSITIVE)
                    .min(last.next_down());
            }
            hits.extend(rest);
        }
        let mut response = SearchResponse::of(hits);
        response.is_translated = words.is_translated;
        response
    }

    fn hit(&self, fused: &Fused, by_words: Option<Hit>, explain: bool) -> Hit {
        let mut hit = by_words.unwrap_or_else(|| {
            let id = self.catalog.entries()[fused.position].id.clone();
            Hit::new(fused.position, id, 0.0)
        });
        let scale = fused.words / hit.score.max(f32::MIN_POSITIVE);
        hit.score = fused.score;
        if explain {
            for piece in &mut hit.evidence {
                piece.weight *= scale;
            }
            if fused.meaning > 0.0 {
                let name = self.meaning.embedder.name();
                hit.evidence
                    .push(Evidence::new("meaning", name, fused.meaning));
            }
            hit.evidence.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        }
        hit
    }
}

/// The answer of the ranker by words to the last bit, with a note.
fn by_words_alone(
    request: &SearchRequest,
    mut words: SearchResponse,
    left_out: LeftOut,
) -> SearchResponse {
    words.hits.truncate(request.limit);
    words.left_out = Some(left_out);
    words
}
