//! Answering a query: rank, gate, hits, evidence. Not here: what a query means.

use toolsearch_search::{EmptyReason, Evidence, Hit, SearchRequest, SearchResponse};

use crate::document::Field;
use crate::gate;
use crate::index::{Bm25Index, Term};
use crate::query::Query;
use crate::script;
use crate::top::Scored;

/// Pieces of evidence that a hit carries at most.
const MAX_EVIDENCE: usize = 16;

impl Bm25Index {
    /// Answers one query. Any text is a valid query.
    #[must_use]
    pub fn answer(&self, request: &SearchRequest) -> SearchResponse {
        let query = Query::read(self, &request.query);
        if !query.has_words {
            return SearchResponse::empty(EmptyReason::NoTerms, Vec::new());
        }
        // The gate looks at the same tools however few are asked for.
        let mut ranked = self.rank(&query, request.limit.max(gate::ASKED));
        if ranked.is_empty() || gate::refuses(self, &query, &ranked) {
            let mut nothing = SearchResponse::empty(EmptyReason::NoMatch, Vec::new());
            nothing.foreign_script = script::foreign(self, &request.query);
            nothing.is_translated = query.is_foreign;
            return nothing;
        }
        ranked.truncate(request.limit);
        let mut answer = SearchResponse::of(self.hits(&query, &ranked, request.explain));
        answer.is_translated = query.is_foreign;
        answer
    }

    fn hits(&self, query: &Query, ranked: &[Scored], explain: bool) -> Vec<Hit> {
        let hit = |scored: &Scored| {
            let position = scored.place() as usize;
            let id = self.catalog.entries()[position].id.clone();
            let mut hit = Hit::new(position, id, scored.score());
            if explain {
                hit.evidence = self.evidence(query, scored);
            }
            hit
        };
        ranked.iter().map(hit).collect()
    }

    /// Which words were found where. All pieces together weigh as much as the hit scores.
    fn evidence(&self, query: &Query, scored: &Scored) -> Vec<Evidence> {
        let place = scored.place();
        let mut evidence = Vec::new();
        for group in &query.groups {
            let paid = group.alternatives.iter().filter_map(|one| {
                let impact = self.impact(place, one.term)?;
                Some((one.term, one.weight * self.rarity(one.term) * impact))
            });
            let Some((term, worth)) = paid.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                continue;
            };
            let word = self.text(term);
            let shares = self.shares(place, term);
            evidence.extend(
                shares
                    .into_iter()
                    .map(|(field, share)| Evidence::new(field.label(), word, worth * share)),
            );
        }
        merge(&mut evidence);
        let sum: f32 = evidence.iter().map(|piece| piece.weight).sum();
        if sum > 0.0 {
            for piece in &mut evidence {
                piece.weight *= scored.score() / sum;
            }
        }
        evidence.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        evidence.truncate(MAX_EVIDENCE);
        evidence
    }

    /// The fields of a tool that have a term, each with its share of the impact.
    fn shares(&self, place: u32, term: Term) -> Vec<(Field, f32)> {
        let weights = &self.parts.options.weights;
        let raw: Vec<(Field, f32)> = self
            .fields(place, term)
            .map(|(field, count)| (field, weights.of(field) * f32::from(count)))
            .collect();
        let sum: f32 = raw.iter().map(|(_, weight)| weight).sum();
        let share = |weight: f32| if sum > 0.0 { weight / sum } else { 0.0 };
        raw.into_iter()
            .map(|(field, weight)| (field, share(weight)))
            .collect()
    }
}

/// One piece for a term in a field, however many words of the query it stands for.
fn merge(evidence: &mut Vec<Evidence>) {
    let mut merged: Vec<Evidence> = Vec::with_capacity(evidence.len());
    for piece in evidence.drain(..) {
        let same = |other: &&mut Evidence| other.term == piece.term && other.field == piece.field;
        match merged.iter_mut().find(same) {
            Some(other) => other.weight += piece.weight,
            None => merged.push(piece),
        }
    }
    *evidence = merged;
}
