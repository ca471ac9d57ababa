//! What all indexes of one ranker share: the embedder behind its clock, the vectors of recent queries, and
//! the memory of failures.

use std::collections::VecDeque;
use std::future::Future;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::{Instant, timeout};
use toolsearch_search::{
    EmbedError, Embedder, LeftOut, LeftOutReason, MAX_BATCH, MAX_TEXT_BYTES, TextRole,
};

use crate::options::Options;
use crate::parts::parts;
use crate::row::Row;
use crate::store::Store;

/// Queries whose vectors are remembered.
const MAX_QUERIES: usize = 64;
/// After so many failures in a row, queries are not tried for a while.
const FAILURES: u32 = 3;
const PAUSE: Duration = Duration::from_secs(30);
/// Longest text of a trouble, in characters.
const MAX_DETAIL_CHARS: usize = 300;

/// An embedder with what is known about it.
#[derive(Debug)]
pub(crate) struct Meaning {
    pub(crate) embedder: Arc<dyn Embedder>,
    pub(crate) options: Options,
    pub(crate) store: Store,
    recent: Mutex<VecDeque<(String, QueryRows)>>,
    failures: Mutex<Failures>,
}

/// The vectors of a query and of its sentences.
pub(crate) type QueryRows = Arc<[Row]>;

#[derive(Debug, Default)]
struct Failures {
    in_a_row: u32,
    /// No query is tried before.
    paused: Option<(Instant, LeftOut)>,
    /// Nothing is tried any more.
    ended: Option<LeftOut>,
}

impl Meaning {
    pub(crate) fn new(embedder: Arc<dyn Embedder>, options: Options) -> Self {
        let store = Store::new(options.folder.as_deref(), embedder.space());
        Self {
            embedder,
            options,
            store,
            recent: Mutex::default(),
            failures: Mutex::default(),
        }
    }

    pub(crate) fn batch(&self) -> usize {
        self.embedder.batch().clamp(1, MAX_BATCH)
    }

    /// The vectors of a query, in time: that of the whole, and those of its sentences where it has several.
    pub(crate) async fn query(&self, query: &str) -> Result<QueryRows, LeftOut> {
        let query = &query[..query.floor_char_boundary(MAX_TEXT_BYTES)];
        if let Some(rows) = self.remembered(query) {
            return Ok(rows);
        }
        self.is_tried()?;
        let mut texts = parts(query);
        texts.truncate(self.batch());
        let answer = self.embed(TextRole::Query, &texts, self.options.query_timeout);
        let rows = answer.await.and_then(|rows| {
            let rows: Option<QueryRows> = rows.into_iter().collect();
            rows.ok_or_else(|| failed(self, "gave a vector that cannot be used"))
        });
        match rows {
            Ok(rows) => {
                self.failures().in_a_row = 0;
                self.remember(query, &rows);
                Ok(rows)
            }
            Err(left_out) => {
                self.count(&left_out);
                Err(left_out)
            }
        }
    }

    /// Vectors of texts in their order; `None` for one that cannot be used. All have the dimensions of
    /// those that are known.
    pub(crate) async fn embed(
        &self,
        role: TextRole,
        texts: &[String],
        time: Duration,
    ) -> Result<Vec<Option<Row>>, LeftOut> {
        let vectors = self.in_time(self.embedder.embed(role, texts), time).await?;
        if vectors.len() != texts.len() {
            let what = format!("gave {} vectors for {} texts", vectors.len(), texts.len());
            return Err(failed(self, &what));
        }
        let rows: Vec<Option<Row>> = vectors.iter().map(|vector| Row::of(vector)).collect();
        for row in rows.iter().flatten() {
            self.store.fits(row).map_err(|other| {
                let (found, expected) = (other.found, other.expected);
                failed(self, &format!("gave {found} dimensions, not {expected}"))
            })?;
        }
        Ok(rows)
    }

    /// Lets the embedder get ready.
    pub(crate) async fn warm(&self) -> Result<(), LeftOut> {
        self.in_time(self.embedder.warm(), self.options.batch_timeout)
            .await
    }

    async fn in_time<T>(
        &self,
        work: impl Future<Output = Result<T, EmbedError>>,
        time: Duration,
    ) -> Result<T, LeftOut> {
        let name = self.embedder.name();
        match timeout(time, work).await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(EmbedError::Misconfigured(what))) => {
                Err(trouble(LeftOutReason::Misconfigured, name, &what))
            }
            Ok(Err(error)) => Err(trouble(LeftOutReason::Failed, name, &error.to_string())),
            Err(_) => {
                let what = format!("took longer than {} ms", time.as_millis());
                Err(trouble(LeftOutReason::Slow, name, &what))
            }
        }
    }

    /// Nothing will be tried again: a person has to change something.
    pub(crate) fn end(&self, left_out: &LeftOut) {
        self.failures().ended = Some(left_out.clone());
    }

    fn is_tried(&self) -> Result<(), LeftOut> {
        let mut failures = self.failures();
        if let Some(left_out) = &failures.ended {
            return Err(left_out.clone());
        }
        match &failures.paused {
            Some((until, left_out)) if Instant::now() < *until => Err(left_out.clone()),
            Some(_) => {
                failures.paused = None;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn count(&self, left_out: &LeftOut) {
        if left_out.reason == LeftOutReason::Misconfigured {
            return self.end(left_out);
        }
        let mut failures = self.failures();
        failures.in_a_row += 1;
        if failures.in_a_row >= FAILURES {
            failures.paused = Some((Instant::now() + PAUSE, left_out.clone()));
        }
    }

    fn failures(&self) -> MutexGuard<'_, Failures> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn remembered(&self, query: &str) -> Option<QueryRows> {
        let recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        let found = recent.iter().find(|(other, _)| other == query);
        found.map(|(_, rows)| Arc::clone(rows))
    }

    fn remember(&self, query: &str, rows: &QueryRows) {
        let mut recent = self.recent.lock().unwrap_or_else(PoisonError::into_inner);
        if recent.len() >= MAX_QUERIES {
            recent.pop_front();
        }
        recent.push_back((query.to_owned(), Arc::clone(rows)));
    }
}

/// An answer that cannot be used.
pub(crate) fn failed(meaning: &Meaning, what: &str) -> LeftOut {
    trouble(LeftOutReason::Failed, meaning.embedder.name(), what)
}

fn trouble(reason: LeftOutReason, name: &str, what: &str) -> LeftOut {
    let text = format!("`{name}`: {what}");
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    LeftOut::new(reason, printable.take(MAX_DETAIL_CHARS).collect::<String>())
}
