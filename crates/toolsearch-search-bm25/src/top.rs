//! The best few of many scores, in the order of an answer.

use std::cmp::{Ordering, Reverse};

/// Room that is made for tools before any is offered, at most.
const ROOM: usize = 32;
/// The sign bit of a score.
const SIGN: u32 = 1 << 31;

/// A tool by its place in the catalog, and its score; greater is better, and of equal scores the earlier
/// tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scored {
    /// Orders as the tool does: above, the score as [`f32::total_cmp`] orders it, below, the place from the end.
    rank: u64,
    /// The share of the query that it matches.
    pub(crate) share: f32,
}

impl Scored {
    pub(crate) fn new(score: f32, share: f32, place: u32) -> Self {
        let bits = score.to_bits();
        let score = if bits & SIGN == 0 { bits | SIGN } else { !bits };
        let rank = u64::from(score) << 32 | u64::from(!place);
        Self { rank, share }
    }

    pub(crate) fn score(self) -> f32 {
        let bits = (self.rank >> 32) as u32;
        f32::from_bits(if bits & SIGN == 0 { !bits } else { bits ^ SIGN })
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the place is the lower half"
    )]
    pub(crate) fn place(self) -> u32 {
        !(self.rank as u32)
    }
}

impl PartialEq for Scored {
    fn eq(&self, other: &Self) -> bool {
        self.rank == other.rank
    }
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.rank.cmp(&other.rank)
    }
}

impl PartialOrd for Scored {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best `limit` of what is offered.
#[derive(Debug)]
pub(crate) struct Top {
    limit: usize,
    /// The best so far and up to half as many more.
    kept: Vec<Scored>,
    floor: f32,
}

impl Top {
    /// `floor` is what a score must reach from the start.
    pub(crate) fn new(limit: usize, floor: f32) -> Self {
        Self {
            limit,
            kept: Vec::with_capacity((limit + limit / 2 + 1).min(ROOM)),
            floor,
        }
    }

    /// Takes a tool, which may be none of the best.
    pub(crate) fn offer(&mut self, scored: Scored) {
        self.kept.push(scored);
        if self.kept.len() == self.limit || self.kept.len() > self.limit + self.limit / 2 {
            self.thin();
        }
    }

    fn thin(&mut self) {
        let Some(last) = self.limit.checked_sub(1) else {
            self.kept.clear();
            return;
        };
        let best_first = |scored: &Scored| Reverse(*scored);
        let (_, worst, _) = self.kept.select_nth_unstable_by_key(last, best_first);
        self.floor = self.floor.max(worst.score());
        self.kept.truncate(self.limit);
    }

    /// What a score must reach to be kept.
    pub(crate) fn floor(&self) -> f32 {
        self.floor
    }

    /// Best first.
    pub(crate) fn into_sorted(mut self) -> Vec<Scored> {
        self.kept.sort_unstable_by_key(|scored| Reverse(*scored));
        self.kept.truncate(self.limit);
        self.kept
    }
}
