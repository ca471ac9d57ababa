//! A report held against an older one. Not here: where the older one is kept.

use crate::report::{Report, Row};

/// A drop of less is never called one.
const LEAST: f64 = 0.005;

/// One measure of one row that fell by more than noise.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Drop {
    /// Name and language of the row.
    pub row: String,
    /// The measure, as in JSON.
    pub measure: &'static str,
    /// In the older report.
    pub before: f64,
    /// In the newer one; 0 when the row is gone.
    pub after: f64,
    /// What would have been noise.
    pub noise: f64,
}

/// What became of an older report.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Comparison {
    /// Measures that fell by more than noise, in the order of the older report.
    pub drops: Vec<Drop>,
    /// Rows that were compared.
    pub rows: usize,
}

/// Compares the rows that the older report has. Measures of quality only: times depend on the machine.
///
/// A ranker is deterministic, so the same queries give the same numbers; what is uncertain is how far a
/// handful of queries speaks for others. Noise is half the standard error of a share over the row's
/// queries, and at least half a point.
#[must_use]
pub fn compare(before: &Report, after: &Report) -> Comparison {
    let mut comparison = Comparison::default();
    for old in &before.datasets {
        let is_same = |new: &&Row| new.name == old.name && new.language == old.language;
        let new = after.datasets.iter().find(is_same);
        comparison.rows += 1;
        for (measure, pick) in MEASURES {
            let Some(was) = pick(old) else {
                continue;
            };
            let is = new.and_then(pick).unwrap_or_default();
            let noise = noise(was, old.queries);
            if was - is > noise {
                comparison.drops.push(Drop {
                    row: format!("{} {}", old.name, old.language)
                        .trim_end()
                        .to_owned(),
                    measure,
                    before: was,
                    after: is,
                    noise,
                });
            }
        }
    }
    comparison
}

type Measure = (&'static str, fn(&Row) -> Option<f64>);

const MEASURES: [Measure; 4] = [
    ("recall@5", |row| row.recall_5),
    ("ndcg@10", |row| row.ndcg_10),
    ("no_match_recall", |row| row.no_match_recall),
    // What is answered is good where something fits.
    ("answered", |row| {
        (row.nothing_fits == 0).then_some(1.0 - row.no_match)
    }),
];

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn noise(share: f64, queries: usize) -> f64 {
    let variance = share.clamp(0.0, 1.0) * (1.0 - share.clamp(0.0, 1.0));
    LEAST.max((variance / queries.max(1) as f64).sqrt() / 2.0)
}
