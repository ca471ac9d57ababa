//! Answering a query: sum, gate, the best few, evidence. Not here: what a query means.

use toolsearch_search::{EmptyReason, Evidence, Hit, SearchRequest, SearchResponse};

use crate::gate;
use crate::index::Bm25Index;
use crate::query::{Group, Query};
use crate::top::{Scored, Top};

/// Pieces of evidence that a hit carries at most.
const MAX_EVIDENCE: usize = 16;

/// What the tools have been paid so far, by their place.
struct Sums {
    scores: Vec<f32>,
    covered: Vec<f32>,
    /// Of one group with several alternatives: tool, score, weight.
    best: Vec<(u32, f32, f32)>,
}

impl Bm25Index {
    /// Answers one query. Any text is a valid query.
    #[must_use]
    pub fn answer(&self, request: &SearchRequest) -> SearchResponse {
        let query = Query::read(self, &request.query);
        if !query.has_words {
            return SearchResponse::empty(EmptyReason::NoTerms, Vec::new());
        }
        let ranked = self.rank(&query, request.limit);
        if ranked.is_empty() || gate::refuses(self, &query, &ranked) {
            return SearchResponse::empty(EmptyReason::NoMatch, Vec::new());
        }
        SearchResponse::of(self.hits(&query, &ranked, request.explain))
    }

    fn rank(&self, query: &Query, limit: usize) -> Vec<Scored> {
        let tools = self.catalog.len();
        let mut sums = Sums {
            scores: vec![0.0; tools],
            covered: vec![0.0; tools],
            best: Vec::new(),
        };
        for group in &query.groups {
            self.pay(group, &mut sums);
        }
        let power = self.parts.options.coverage_power;
        let mut top = Top::new(limit.min(tools));
        for (tool, score) in (0u32..).zip(&sums.scores) {
            if *score <= 0.0 {
                continue;
            }
            let share = sums.covered[tool as usize] / query.mass.max(f32::MIN_POSITIVE);
            // A tool that matches nothing that counts keeps a trace of its score.
            let score = score * share.clamp(1.0e-3, 1.0).powf(power);
            top.offer(Scored { score, tool });
        }
        let mut ranked = top.into_sorted();
        let floor = ranked
            .first()
            .map_or(0.0, |best| best.score * self.parts.options.cut);
        ranked.retain(|scored| scored.score >= floor);
        ranked
    }

    /// Adds what one group is worth to every tool that has one of its alternatives.
    fn pay(&self, group: &Group, sums: &mut Sums) {
        if let [only] = group.alternatives[..] {
            let worth = only.weight * self.rarity(only.term);
            for (tool, impact) in self.postings(only.term) {
                sums.scores[tool as usize] += worth * impact;
                sums.covered[tool as usize] += group.mass * only.weight;
            }
            return;
        }
        sums.best.clear();
        for one in &group.alternatives {
            let worth = one.weight * self.rarity(one.term);
            let paid = self.postings(one.term);
            sums.best
                .extend(paid.map(|(tool, impact)| (tool, worth * impact, one.weight)));
        }
        let by_tool = |a: &(u32, f32, f32), b: &(u32, f32, f32)| {
            a.0.cmp(&b.0)
                .then_with(|| b.1.total_cmp(&a.1))
                .then_with(|| b.2.total_cmp(&a.2))
        };
        sums.best.sort_unstable_by(by_tool);
        sums.best.dedup_by_key(|paid| paid.0);
        for (tool, score, weight) in &sums.best {
            sums.scores[*tool as usize] += score;
            sums.covered[*tool as usize] += group.mass * weight;
        }
    }

    fn hits(&self, query: &Query, ranked: &[Scored], explain: bool) -> Vec<Hit> {
        let hit = |scored: &Scored| {
            let position = scored.tool as usize;
            let id = self.catalog.entries()[position].id.clone();
            let mut hit = Hit::new(position, id, scored.score);
            if explain {
                hit.evidence = self.evidence(query, scored);
            }
            hit
        };
        ranked.iter().map(hit).collect()
    }

    /// Which words were found where. All pieces together weigh as much as the hit scores.
    fn evidence(&self, query: &Query, scored: &Scored) -> Vec<Evidence> {
        let impact = |term: u32| {
            let mut postings = self.postings(term);
            postings
                .find(|(tool, _)| *tool == scored.tool)
                .map(|(_, impact)| impact)
        };
        let mut evidence = Vec::new();
        for group in &query.groups {
            let worth = |term: u32, weight: f32| Some(weight * self.rarity(term) * impact(term)?);
            let paid = group
                .alternatives
                .iter()
                .filter_map(|one| Some((one.term, worth(one.term, one.weight)?)));
            let Some((term, worth)) = paid.max_by(|a, b| a.1.total_cmp(&b.1)) else {
                continue;
            };
            let word = self.vocabulary.term(term);
            let fields = self.fields(scored.tool as usize, term);
            evidence.extend(
                fields
                    .into_iter()
                    .map(|(field, share)| Evidence::new(field.label(), word, worth * share)),
            );
        }
        let sum: f32 = evidence.iter().map(|piece| piece.weight).sum();
        if sum > 0.0 {
            for piece in &mut evidence {
                piece.weight *= scored.score / sum;
            }
        }
        evidence.sort_by(|a, b| b.weight.total_cmp(&a.weight));
        evidence.truncate(MAX_EVIDENCE);
        evidence
    }
}
