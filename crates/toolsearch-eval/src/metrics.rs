//! The measures of one answer and of many times. Not here: what is asked.

/// Where the relevant tools of one query stand in its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ranks {
    /// Places of relevant tools in the answer, from 0, ascending.
    pub places: Vec<usize>,
    /// How many tools are relevant.
    pub relevant: usize,
}

#[expect(clippy::cast_precision_loss, reason = "ranks and counts are small")]
impl Ranks {
    /// Finds the relevant tools in an answer.
    #[must_use]
    pub fn of<T: PartialEq>(answer: &[T], relevant: &[T]) -> Self {
        let is_relevant = |at: &usize| relevant.contains(&answer[*at]);
        Self {
            places: (0..answer.len()).filter(is_relevant).collect(),
            relevant: relevant.len(),
        }
    }

    /// The share of the relevant tools among the first `k`.
    #[must_use]
    pub fn recall(&self, k: usize) -> f64 {
        let found = self.places.iter().filter(|place| **place < k).count();
        found as f64 / self.relevant.max(1) as f64
    }

    /// One divided by the rank of the first relevant tool, 0 when it is not among the first `k`.
    #[must_use]
    pub fn reciprocal_rank(&self, k: usize) -> f64 {
        match self.places.first() {
            Some(place) if *place < k => 1.0 / (*place + 1) as f64,
            _ => 0.0,
        }
    }

    /// The discounted gain of the first `k`, as a share of the best possible one.
    #[must_use]
    pub fn ndcg(&self, k: usize) -> f64 {
        let gain = |place: usize| 1.0 / ((place + 2) as f64).log2();
        let found = self.places.iter().copied().filter(|place| *place < k);
        let best: f64 = (0..self.relevant.min(k)).map(gain).sum();
        if best > 0.0 {
            // The sum of nothing is -0.
            found.map(gain).fold(0.0, |sum, gain| sum + gain) / best
        } else {
            0.0
        }
    }
}

/// The value below which the share `p` of sorted values lies: the nearest rank. 0 without values.
#[must_use]
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a share of a length is an index"
)]
pub fn percentile(sorted: &[f64], p: f64) -> f64 {
    let rank = (p.clamp(0.0, 1.0) * sorted.len() as f64).ceil() as usize;
    sorted
        .get(rank.saturating_sub(1))
        .copied()
        .unwrap_or_default()
}
