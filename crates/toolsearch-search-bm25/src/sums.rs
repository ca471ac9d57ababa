//! What tools are paid for a query: lists of postings are added up, the heaviest first, until no further
//! tool can come among the best; from there on only those that still can are looked at. Exact. Not here:
//! what a query means, and evidence.

use crate::index::{Bm25Index, Term};
use crate::query::Query;
use crate::segment::Posting;
use crate::top::{Scored, Top};
use crate::verbs::Deed;
use crate::vocabulary::as_u32;

/// An alternative of less weight says nothing about a name.
const SAID: f32 = 0.5;
/// Groups with several lists that are told apart.
const MAX_SHARED: u32 = 30;
/// Set in the marks of a tool that is in use.
const USED: u32 = 1 << 30;
/// Set in the marks of a tool that can still come among the best.
const CANDIDATE: u32 = 1 << 31;
/// Share of a query below which a tool counts as matching nothing when bounds are estimated.
const LEAST_SHARE: f32 = 0.1;
/// Postings fewer than this are added up without asking whether that is needed.
const CHEAP: usize = 2_048;
/// Whether the sums settle is asked when the rest pays this share of all, and again each time when it has
/// fallen to the second share.
const ASK_AT: f32 = 0.4;
const ASK_AGAIN: f32 = 0.7;
/// Tools beyond the limit that are looked at first when copies are put behind.
const MORE: usize = 8;
/// More than can be lost by rounding, as a share.
const ROUNDING: f32 = 1.0e-4;
/// A list is searched for each candidate when it is so many times longer than there are candidates.
const SEARCH_FACTOR: usize = 12;

/// What one tool has been paid so far.
#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    score: f32,
    covered: f32,
    /// One bit for each group with several lists that has paid, and the two above.
    marks: u32,
    /// How many groups are found in the name.
    named: u32,
}

/// The work space of a query: a sum for each slot, and the slots that are in use in the order in which
/// lists brought them.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    sums: Vec<Sum>,
    touched: Vec<u32>,
    runs: Vec<Run>,
    bounds: Vec<f32>,
}

/// Touched slots that one list brought.
#[derive(Debug)]
struct Run {
    /// Where the next one begins.
    end: usize,
    /// The most that they are paid.
    most: f32,
}

/// The tools of one term of one group.
#[derive(Debug, Clone, Copy)]
struct List {
    term: Term,
    /// What it would pay a tool that is about nothing else.
    worth: f32,
    /// The most that it pays any tool, and how many tools it pays.
    most: f32,
    length: usize,
    /// The most that this list and those after it pay a tool together, or a little more.
    rest: f32,
    covered: f32,
    /// The bit of its group when the group has more lists: a group pays once.
    mark: u32,
    /// 1 when a tool with the term in its name is named by it, else 0.
    names: u32,
}

/// How far lists were added.
struct Settled {
    added: usize,
    /// What the score of a tool must reach to be among the best, as far as it is known.
    floor: f32,
}

impl Sum {
    /// Pays a tool that its group has not paid.
    fn pay(&mut self, list: &List, posting: Posting) {
        self.marks |= list.mark | USED;
        self.score += list.worth * posting.impact;
        self.covered += list.covered;
        self.named += u32::from(posting.in_name) & list.names;
    }
}

impl Bm25Index {
    /// The best tools, best first, with copies of a better one put behind.
    pub(crate) fn rank(&self, query: &Query, limit: usize) -> Vec<Scored> {
        let lists = self.lists(query);
        let mut ranked = self.ranked(query, &lists, limit);
        let floor = ranked.first().map_or(0.0, |best| {
            let options = &self.parts.options;
            let weak = best.share < options.weak_share;
            best.score() * if weak { options.weak_cut } else { options.cut }
        });
        ranked.retain(|scored| scored.score() >= floor);
        ranked
    }

    /// The best tools. Putting copies behind lets others come up, so more are looked at until none that was
    /// not looked at can be among the best.
    fn ranked(&self, query: &Query, lists: &[List], limit: usize) -> Vec<Scored> {
        let kept = self.parts.options.copies;
        if !(0.0..1.0).contains(&kept) {
            return self.best(query, lists, limit);
        }
        let mut pool = limit.saturating_add(MORE);
        loop {
            let mut ranked = self.best(query, lists, pool);
            let next = ranked.last().filter(|_| ranked.len() == pool);
            let next = next.map_or(0.0, |last| last.score());
            self.put_copies_behind(&mut ranked, kept);
            let last = ranked.get(limit.saturating_sub(1));
            if next == 0.0 || last.is_some_and(|last| last.score() > next) {
                ranked.truncate(limit);
                return ranked;
            }
            pool = pool.saturating_mul(4);
        }
    }

    /// Each copy of a better tool keeps less of its score.
    fn put_copies_behind(&self, ranked: &mut [Scored], kept: f32) {
        // The number that copies share, above the place in the list.
        let copies = (0u64..).zip(&*ranked);
        let mut copies: Vec<u64> = copies
            .map(|(at, scored)| u64::from(self.copy_of(scored.place())) << 32 | at)
            .collect();
        copies.sort_unstable();
        let mut moved = false;
        for same in copies.chunk_by(|a, b| a >> 32 == b >> 32) {
            let mut left = 1.0;
            for at in &same[1..] {
                left *= kept;
                let copy = &mut ranked[*at as u32 as usize];
                *copy = Scored::new(copy.score() * left, copy.share, copy.place());
                moved = true;
            }
        }
        if moved {
            ranked.sort_unstable_by(|a, b| b.cmp(a));
        }
    }

    /// The best tools by their own score alone.
    fn best(&self, query: &Query, lists: &[List], limit: usize) -> Vec<Scored> {
        let mut scratch = self.scratch();
        scratch.sums.resize(self.slots_len(), Sum::default());
        let settled = self.add_until_settled(query, limit, lists, &mut scratch);
        self.add_to_candidates(&lists[settled.added..], &mut scratch);
        let ranked = self.select(query, limit, settled.floor, &scratch);
        scratch.clean();
        self.keep(scratch);
        ranked
    }

    /// All lists of a query, those that pay most first. The order depends on nothing but the catalog, so
    /// that sums are equal to the last bit in every index of it.
    fn lists(&self, query: &Query) -> Vec<List> {
        let mut lists = Vec::with_capacity(query.groups.len() * 2);
        let mut shared = 0;
        for group in &query.groups {
            let mut mark = 0;
            let mut alternatives = &group.alternatives[..];
            if alternatives.len() > 1 && shared < MAX_SHARED {
                mark = 1 << shared;
                shared += 1;
            } else {
                alternatives = &alternatives[..alternatives.len().min(1)];
            }
            lists.extend(alternatives.iter().map(|one| {
                let frequency = self.frequency(one.term);
                let worth = one.weight * self.rarity_of(frequency);
                List {
                    term: one.term,
                    worth,
                    most: worth.max(0.0) * self.peak(one.term),
                    length: frequency as usize,
                    rest: 0.0,
                    covered: group.mass * one.weight,
                    mark,
                    names: u32::from(one.weight >= SAID && !group.is_pair),
                }
            }));
        }
        lists.sort_by(|a, b| {
            let by_worth = b.worth.total_cmp(&a.worth);
            by_worth
                .then_with(|| self.compare(a.term, b.term))
                .then_with(|| a.mark.cmp(&b.mark))
        });
        let mut rest = 0.0;
        for list in lists.iter_mut().rev() {
            rest += list.most;
            list.rest = rest * (1.0 + ROUNDING);
        }
        lists
    }

    /// Adds lists until the rest cannot bring a new tool among the best. When not all were added, the tools
    /// that can still be among the best are marked and kept as the touched ones.
    fn add_until_settled(
        &self,
        query: &Query,
        limit: usize,
        lists: &[List],
        scratch: &mut Scratch,
    ) -> Settled {
        let all = lists.first().map_or(0.0, |list| list.rest);
        let mut left: usize = lists.iter().map(|list| list.length).sum();
        let mut asked_at = all * ASK_AT;
        scratch.runs.clear();
        for (added, list) in lists.iter().enumerate() {
            let is_worth_it = left > CHEAP.max(scratch.touched.len() * 2) && list.rest < asked_at;
            if is_worth_it && scratch.touched.len() >= limit {
                asked_at = list.rest * ASK_AGAIN;
                if let Some(floor) = self.settles(query, limit, list.rest, scratch) {
                    return Settled { added, floor };
                }
            }
            self.add(list, scratch);
            scratch.runs.push(Run {
                end: scratch.touched.len(),
                most: list.rest,
            });
            left -= list.length;
        }
        Settled {
            added: lists.len(),
            floor: 0.0,
        }
    }

    /// Adds a list.
    fn add(&self, list: &List, scratch: &mut Scratch) {
        let Scratch { sums, touched, .. } = scratch;
        for (at, (segment, begin)) in self.segments().into_iter().enumerate() {
            let Some(term) = Self::number(list.term, at) else {
                continue;
            };
            let sums = &mut sums[begin..];
            let begin = as_u32(begin);
            let before = touched.len();
            touched.resize(before + segment.frequency(term) as usize, 0);
            let fresh = &mut touched[before..];
            let mut count = 0;
            for posting in segment.postings(term) {
                let sum = &mut sums[posting.tool as usize];
                if sum.marks & list.mark == 0 {
                    // Every tool is noted; the next one takes the place of one that was there before.
                    fresh[count] = begin + posting.tool;
                    count += usize::from(sum.marks == 0);
                    sum.pay(list, posting);
                }
            }
            touched.truncate(before + count);
        }
    }

    /// Whether tools that have nothing so far cannot come among the best by lists that pay at most `rest`
    /// together. If so, only tools that still can stay touched, and what a score must reach is given.
    fn settles(
        &self,
        query: &Query,
        limit: usize,
        rest: f32,
        scratch: &mut Scratch,
    ) -> Option<f32> {
        let Scratch {
            sums,
            touched,
            runs,
            bounds,
        } = scratch;
        let options = &self.parts.options;
        let mass = query.mass.max(f32::MIN_POSITIVE);
        // A power up to 1 of a share lies above the line between two points of it.
        let power = options.coverage_power;
        if !self.parts.is_bounded {
            return None;
        }
        let low = LEAST_SHARE.powf(power);
        let slope = (1.0 - low) / (1.0 - LEAST_SHARE);
        let at_least = |sum: &Sum| {
            let share = (sum.covered / mass).clamp(0.0, 1.0);
            if share < LEAST_SHARE {
                return 0.0;
            }
            sum.score * (low + (share - LEAST_SHARE) * slope)
        };
        let most = (1.0 + options.name_share) * (1.0 + options.short_owner);
        let needed = rest * most;
        bounds.clear();
        for slot in &*touched {
            let sum = &sums[*slot as usize];
            // Few tools are so far ahead, so that most are passed over here.
            if sum.score > needed && self.place(*slot).is_some() {
                let kept = self.kept_for_its_verb(query, self.deed_of(*slot));
                bounds.push(at_least(sum) * kept);
            }
        }
        if bounds.len() < limit {
            return None;
        }
        let (_, kept, _) = bounds.select_nth_unstable_by(limit - 1, |a, b| b.total_cmp(a));
        let floor = *kept * (1.0 - ROUNDING);
        if needed >= floor {
            return None;
        }
        let mut gone = 0;
        for at in 0..touched.len() {
            let slot = touched[at];
            let sum = &mut sums[slot as usize];
            if (sum.score + rest) * most >= floor {
                sum.marks |= CANDIDATE;
                touched.swap(gone, at);
                gone += 1;
            }
        }
        for slot in touched.drain(gone..) {
            sums[slot as usize] = Sum::default();
        }
        runs.clear();
        runs.push(Run {
            end: gone,
            most: f32::INFINITY,
        });
        Some(floor)
    }

    /// Adds lists to marked tools alone.
    fn add_to_candidates(&self, lists: &[List], scratch: &mut Scratch) {
        let Scratch { sums, touched, .. } = scratch;
        let [(large, _), (small, size)] = self.segments();
        for list in lists {
            if list.length > touched.len() * SEARCH_FACTOR {
                let terms = [0, 1].map(|at| Self::number(list.term, at));
                for slot in &*touched {
                    let at = *slot as usize;
                    let posting = match at.checked_sub(size) {
                        None => terms[0].and_then(|term| large.posting(*slot, term)),
                        Some(at) => terms[1].and_then(|term| small.posting(as_u32(at), term)),
                    };
                    if let Some(posting) = posting
                        && sums[at].marks & list.mark == 0
                    {
                        sums[at].pay(list, posting);
                    }
                }
                continue;
            }
            for (at, (segment, begin)) in self.segments().into_iter().enumerate() {
                let Some(term) = Self::number(list.term, at) else {
                    continue;
                };
                for posting in segment.postings(term) {
                    let sum = &mut sums[begin + posting.tool as usize];
                    if sum.marks & (CANDIDATE | list.mark) == CANDIDATE {
                        sum.pay(list, posting);
                    }
                }
            }
        }
    }

    /// What a tool keeps of its score by what its name says it does.
    fn kept_for_its_verb(&self, query: &Query, deed: Deed) -> f32 {
        if deed.is_other_than(query.deed) {
            self.parts.options.other_verb
        } else {
            1.0
        }
    }

    /// The best of the touched tools, with a score that reaches `floor`. One is looked at closely only when
    /// its sum could be among them.
    fn select(&self, query: &Query, limit: usize, floor: f32, scratch: &Scratch) -> Vec<Scored> {
        let options = &self.parts.options;
        // The most by which a sum grows.
        let most = (1.0 + options.name_share.max(0.0))
            * (1.0 + options.short_owner.max(0.0))
            * options.other_verb.max(1.0)
            * (1.0 + ROUNDING);
        let floor = floor.max(f32::MIN_POSITIVE);
        let mut top = Top::new(limit.min(self.catalog.len()), floor);
        let mut begin = 0;
        for run in &scratch.runs {
            // Later runs are paid still less.
            if run.most * most < top.floor() {
                break;
            }
            for slot in &scratch.touched[begin..run.end] {
                let sum = &scratch.sums[*slot as usize];
                if sum.score * most >= top.floor() {
                    self.offer(query, *slot, sum, &mut top);
                }
            }
            begin = run.end;
        }
        top.into_sorted()
    }

    /// Looks at a tool closely. Out of line, because few tools come so far.
    #[inline(never)]
    fn offer(&self, query: &Query, slot: u32, sum: &Sum, top: &mut Top) {
        let Some(place) = self.place(slot) else {
            return;
        };
        let options = &self.parts.options;
        let (segment, at) = self.locate(slot);
        let segment = self.segments()[segment].0;
        // A tool that matches nothing that counts keeps a trace of its score.
        let mass = query.mass.max(f32::MIN_POSITIVE);
        let share = (sum.covered / mass).clamp(1.0e-3, 1.0);
        let said = (sum.named as f32 / f32::from(segment.name_words[at])).min(1.0);
        let brief = 1.0 / f32::from(segment.owner_words[at]);
        let left = sum.score * self.kept_for_its_verb(query, segment.deeds[at]);
        let named = 1.0 + options.name_share * said;
        let owned = 1.0 + options.short_owner * brief;
        // A power up to 1 lies below the line that touches it at 1, and is dear.
        let line = 1.0 + options.coverage_power * (share - 1.0);
        let ceiling = left * line * named * owned * (1.0 + ROUNDING);
        if self.parts.is_bounded && ceiling < top.floor() {
            return;
        }
        let score = left * share.powf(options.coverage_power) * named * owned;
        top.offer(Scored::new(score, share, place));
    }
}

impl Scratch {
    /// Makes the work space as it was.
    fn clean(&mut self) {
        for slot in self.touched.drain(..) {
            self.sums[slot as usize] = Sum::default();
        }
    }
}
