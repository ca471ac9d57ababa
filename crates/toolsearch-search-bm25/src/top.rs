//! The best few of many scores, in the order of an answer.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// A tool by its place in the catalog, and its score; greater is better, and of equal scores the earlier
/// tool.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scored {
    pub(crate) score: f32,
    /// The share of the query that it matches.
    pub(crate) share: f32,
    pub(crate) place: u32,
}

impl Eq for Scored {}

impl Ord for Scored {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score
            .total_cmp(&other.score)
            .then_with(|| other.place.cmp(&self.place))
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
    heap: BinaryHeap<Reverse<Scored>>,
}

impl Top {
    pub(crate) fn new(limit: usize) -> Self {
        Self {
            limit,
            heap: BinaryHeap::new(),
        }
    }

    pub(crate) fn offer(&mut self, scored: Scored) {
        if self.heap.len() < self.limit {
            self.heap.push(Reverse(scored));
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored > worst.0
        {
            worst.0 = scored;
        }
    }

    /// What a score must reach to be kept.
    pub(crate) fn floor(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.limit => worst.0.score,
            _ => 0.0,
        }
    }

    /// Best first.
    pub(crate) fn into_sorted(self) -> Vec<Scored> {
        let sorted = self.heap.into_sorted_vec();
        sorted.into_iter().map(|reversed| reversed.0).collect()
    }
}
