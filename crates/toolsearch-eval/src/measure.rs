//! Asking a ranker every query of data sets. Not here: what the numbers mean.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use toolsearch_search::{Index, Ranker, SearchError, SearchRequest};

use crate::data::{DataSet, Query, Tools};
use crate::metrics::{Ranks, percentile};
use crate::report::{Latency, Report, Row, Summary, mean};

/// How many hits are asked for: the deepest measure looks at ten.
const DEPTH: usize = 10;
/// Every search is timed so often, and the median counts, so that an interruption does not.
const REPEATS: usize = 3;

/// Why a measurement ended.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MeasureError {
    /// The ranker does not work.
    #[error("the ranker failed on {set}")]
    Ranker {
        /// The data set.
        set: String,
        /// What the ranker said.
        source: SearchError,
    },
}

/// Indexes every catalog once, asks every query, and reports.
///
/// # Errors
/// [`MeasureError::Ranker`] names the first set for which the ranker does not answer.
pub fn measure(ranker: &dyn Ranker, sets: &[DataSet]) -> Result<Report, MeasureError> {
    let mut report = Report::default();
    let mut rows: BTreeMap<(String, String), Tally> = BTreeMap::new();
    let mut kept: Option<(Arc<Tools>, Arc<dyn Index>)> = None;
    for set in sets {
        let failed = |source| MeasureError::Ranker {
            set: set.name.clone(),
            source,
        };
        let index = match kept.take() {
            Some((tools, index)) if Arc::ptr_eq(&tools, &set.tools) => index,
            _ => {
                let (index, cost) = index(ranker, set).map_err(failed)?;
                report.indexes.push(cost);
                index
            }
        };
        for query in &set.queries {
            let tally = rows.entry(set.row_of(query)).or_default();
            ask(&*index, &set.tools, query, tally).map_err(failed)?;
        }
        kept = Some((Arc::clone(&set.tools), index));
    }
    report.summary = summary(&rows);
    report.datasets = rows
        .into_iter()
        .map(|(key, tally)| tally.row(key))
        .collect();
    let of = |pick: fn(&Row) -> Option<f64>| {
        let values: Vec<f64> = report.datasets.iter().filter_map(pick).collect();
        mean(&values)
    };
    report.summary.recall_5 = of(|row| row.recall_5);
    report.summary.ndcg_10 = of(|row| row.ndcg_10);
    Ok(report)
}

fn index(
    ranker: &dyn Ranker,
    set: &DataSet,
) -> Result<(Arc<dyn Index>, crate::report::Index), SearchError> {
    let before = resident_bytes();
    let started = Instant::now();
    let index = block_on(ranker.index(&set.tools.catalog, None))?;
    let build_ms = started.elapsed().as_secs_f64() * 1e3;
    let grown = resident_bytes().zip(before);
    let cost = crate::report::Index {
        name: set.name.clone(),
        tools: set.tools.catalog.len(),
        build_ms,
        resident_bytes: grown.map(|(after, before)| after.saturating_sub(before)),
    };
    Ok((index, cost))
}

/// What the queries of one row have given so far.
#[derive(Debug, Default)]
struct Tally {
    ranks: Vec<Ranks>,
    nothing_fits: usize,
    rightly_empty: usize,
    wrongly_empty: usize,
    unknown_labels: usize,
    times: Vec<f64>,
}

fn ask(
    index: &dyn Index,
    tools: &Tools,
    query: &Query,
    tally: &mut Tally,
) -> Result<(), SearchError> {
    let request = SearchRequest::new(query.text.as_str(), DEPTH);
    let mut times = [0.0; REPEATS];
    let mut answer = None;
    for time in &mut times {
        let started = Instant::now();
        answer = Some(block_on(index.search(&request))?);
        *time = started.elapsed().as_secs_f64() * 1e6;
    }
    times.sort_unstable_by(f64::total_cmp);
    tally.times.push(times[REPEATS / 2]);
    let hits = answer.map(|answer| answer.hits).unwrap_or_default();
    if query.relevant.is_empty() {
        tally.nothing_fits += 1;
        tally.rightly_empty += usize::from(hits.is_empty());
        return Ok(());
    }
    tally.wrongly_empty += usize::from(hits.is_empty());
    let places: Vec<usize> = hits.iter().map(|hit| hit.position).collect();
    let mut relevant: Vec<usize> = Vec::new();
    let mut unknown = 0;
    for label in &query.relevant {
        match tools.place(label) {
            Some(place) if relevant.contains(&place) => {}
            Some(place) => relevant.push(place),
            None => unknown += 1,
        }
    }
    let mut ranks = Ranks::of(&places, &relevant);
    ranks.relevant += unknown;
    tally.unknown_labels += unknown;
    tally.ranks.push(ranks);
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are small")]
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}

impl Tally {
    fn row(mut self, (name, language): (String, String)) -> Row {
        self.times.sort_unstable_by(f64::total_cmp);
        let over = |measure: &dyn Fn(&Ranks) -> f64| {
            let values: Vec<f64> = self.ranks.iter().map(measure).collect();
            mean(&values)
        };
        let queries = self.ranks.len() + self.nothing_fits;
        let empty = self.rightly_empty + self.wrongly_empty;
        Row {
            name,
            language,
            queries,
            nothing_fits: self.nothing_fits,
            recall_1: over(&|ranks| ranks.recall(1)),
            recall_5: over(&|ranks| ranks.recall(5)),
            recall_8: over(&|ranks| ranks.recall(8)),
            mrr_10: over(&|ranks| ranks.reciprocal_rank(10)),
            ndcg_10: over(&|ranks| ranks.ndcg(10)),
            no_match: share(empty, queries).unwrap_or_default(),
            no_match_precision: share(self.rightly_empty, empty),
            no_match_recall: share(self.rightly_empty, self.nothing_fits),
            unknown_labels: self.unknown_labels,
            latency_us: Latency {
                p50: percentile(&self.times, 0.5),
                p99: percentile(&self.times, 0.99),
            },
        }
    }
}

fn summary(rows: &BTreeMap<(String, String), Tally>) -> Summary {
    let sum = |pick: fn(&Tally) -> usize| rows.values().map(pick).sum::<usize>();
    let right = sum(|tally| tally.rightly_empty);
    Summary {
        queries: sum(|tally| tally.ranks.len() + tally.nothing_fits),
        no_match_precision: share(right, right + sum(|tally| tally.wrongly_empty)),
        no_match_recall: share(right, sum(|tally| tally.nothing_fits)),
        ..Summary::default()
    }
}

/// Memory of this process that is in RAM, where the system tells it in `/proc`.
#[must_use]
pub fn resident_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

/// Wakes the thread that waits for a future.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for a future on this thread. Rankers that need a runtime are called inside one.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
