//! Answering a query: sum, gate, the best few, evidence. Not here: what a query means.

use toolsearch_search::{EmptyReason, Evidence, Hit, SearchRequest, SearchResponse};

use crate::document::Field;
use crate::gate;
use crate::index::{Bm25Index, Term};
use crate::query::{Group, Query};
use crate::top::{Scored, Top};
use crate::vocabulary::as_u32;

/// Pieces of evidence that a hit carries at most.
const MAX_EVIDENCE: usize = 16;
/// An alternative of less weight says nothing about a name.
const SAID: f32 = 0.5;

/// What one tool has been paid so far. Numbers of groups begin with 1.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    score: f32,
    covered: f32,
    /// The last group that paid, what it paid, and the weight of the alternative that did.
    group: u16,
    paid: f32,
    weight: f32,
    /// How many groups are found in the name, and the last of them.
    named: u16,
    named_by: u16,
}

/// The work space of a query: a sum for each slot, and the slots that are in use.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sums: Vec<Sum>,
    touched: Vec<u32>,
}

impl Scratch {
    fn clear(&mut self) {
        for slot in self.touched.drain(..) {
            self.sums[slot as usize] = Sum::default();
        }
    }
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
        let mut scratch = self.scratch();
        scratch.sums.resize(self.slots_len(), Sum::default());
        for (number, group) in (1u16..).zip(&query.groups) {
            self.pay(number, group, &mut scratch);
        }
        let mut ranked = self.select(query, limit, &scratch);
        scratch.clear();
        self.keep(scratch);
        let floor = ranked
            .first()
            .map_or(0.0, |best| best.score * self.parts.options.cut);
        ranked.retain(|scored| scored.score >= floor);
        ranked
    }

    /// Adds what one group is worth to every tool that has one of its alternatives: what the best one
    /// pays.
    fn pay(&self, number: u16, group: &Group, scratch: &mut Scratch) {
        let Scratch { sums, touched } = scratch;
        for (at, (segment, begin)) in self.segments().into_iter().enumerate() {
            for one in &group.alternatives {
                let Some(term) = Self::number(one.term, at) else {
                    continue;
                };
                let worth = one.weight * self.rarity(one.term);
                let covered = group.mass * one.weight;
                let says_name = one.weight >= SAID && !group.is_pair;
                for posting in segment.postings(term) {
                    let slot = begin + posting.tool as usize;
                    let sum = &mut sums[slot];
                    let score = worth * posting.impact;
                    if sum.group == 0 {
                        touched.push(as_u32(slot));
                    }
                    if sum.group != number {
                        sum.group = number;
                        sum.score += score;
                        sum.covered += covered;
                        (sum.paid, sum.weight) = (score, one.weight);
                    } else if score > sum.paid {
                        sum.score += score - sum.paid;
                        sum.covered += covered - group.mass * sum.weight;
                        (sum.paid, sum.weight) = (score, one.weight);
                    }
                    if says_name && posting.in_name && sum.named_by != number {
                        sum.named_by = number;
                        sum.named += 1;
                    }
                }
            }
        }
    }

    /// The best tools. A tool is looked at closely only when its sum could still be among them.
    fn select(&self, query: &Query, limit: usize, scratch: &Scratch) -> Vec<Scored> {
        let options = &self.parts.options;
        let most = 1.0 + options.name_share;
        let mass = query.mass.max(f32::MIN_POSITIVE);
        let [(large, _), (small, size)] = self.segments();
        let mut top = Top::new(limit.min(self.catalog.len()));
        for slot in &scratch.touched {
            let sum = &scratch.sums[*slot as usize];
            if sum.score <= 0.0 || sum.score * most < top.floor() {
                continue;
            }
            let Some(place) = self.place(*slot) else {
                continue;
            };
            let slot = *slot as usize;
            let words = match slot.checked_sub(size) {
                None => large.name_words[slot],
                Some(at) => small.name_words[at],
            };
            // A tool that matches nothing that counts keeps a trace of its score.
            let share = (sum.covered / mass).clamp(1.0e-3, 1.0);
            let said = (f32::from(sum.named) / f32::from(words)).min(1.0);
            let score =
                sum.score * share.powf(options.coverage_power) * (1.0 + options.name_share * said);
            top.offer(Scored { score, place });
        }
        top.into_sorted()
    }

    fn hits(&self, query: &Query, ranked: &[Scored], explain: bool) -> Vec<Hit> {
        let hit = |scored: &Scored| {
            let position = scored.place as usize;
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
        let place = scored.place;
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
