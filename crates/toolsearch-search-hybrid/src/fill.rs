//! Vectors for the tools of one catalog: those that are known at once, the others one batch after the other
//! on a task that ends with its index.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::{AbortHandle, spawn_blocking};
use tokio::time::{Instant, sleep};
use toolsearch_catalog::Catalog;
use toolsearch_search::{LeftOut, LeftOutReason, TextRole};

use crate::document::{TEXTS, documents};
use crate::meaning::Meaning;
use crate::row::Row;
use crate::store::{Key, key};

/// Meaning counts as soon as this share of all tools has vectors.
const ENOUGH: f64 = 0.9;
/// Waits between attempts grow from the first to the longest.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// The file is written when this much time has passed and something is new.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// The vectors of one catalog, as far as they are there.
#[derive(Debug)]
pub(crate) struct Vectors {
    rows: RwLock<Vec<Rows>>,
    state: watch::Sender<State>,
}

/// The vectors of one tool, one for each of its texts.
type Rows = [Option<Arc<Row>>; TEXTS];

/// A tool by its place in the catalog, and one of its texts.
type Slot = (usize, usize);

/// A text without a vector, and whose it is: copies of a tool share it.
struct Missing {
    key: Key,
    text: String,
    slots: Vec<Slot>,
}

fn is_whole(rows: &Rows) -> bool {
    rows.iter().all(Option::is_some)
}

/// How far the vectors are.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct State {
    /// Tools with all their vectors.
    pub(crate) present: usize,
    /// Tools for which the embedder gives something that cannot be used.
    pub(crate) unusable: BTreeSet<usize>,
    /// Nothing more is coming.
    pub(crate) is_done: bool,
    /// What keeps vectors from coming.
    pub(crate) trouble: Option<LeftOut>,
}

/// Ends the task of an index that is gone.
#[derive(Debug)]
pub(crate) struct Worker(AbortHandle);

impl Drop for Worker {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Takes what is known and starts a task for the rest. Waits as long as the options say.
pub(crate) async fn fill(
    meaning: &Arc<Meaning>,
    catalog: &Catalog,
) -> (Arc<Vectors>, Option<Worker>) {
    let source = Arc::clone(meaning);
    // The file may be large. A lost task leaves an empty store, which is a slow start and no fault.
    let _ = spawn_blocking(move || source.store.read()).await;
    let mut rows = vec![Rows::default(); catalog.len()];
    let mut missing: BTreeMap<Key, Missing> = BTreeMap::new();
    for (place, tool) in catalog.entries().iter().enumerate() {
        for (at, text) in documents(tool).into_iter().enumerate() {
            let key = key(&text);
            match meaning.store.find(&key) {
                Some(row) => rows[place][at] = Some(row),
                None => {
                    let slots = Vec::new();
                    let missing = missing.entry(key).or_insert(Missing { key, text, slots });
                    missing.slots.push((place, at));
                }
            }
        }
    }
    let mut missing: Vec<Missing> = missing.into_values().collect();
    // Texts of like length share a batch: a model works as long on a short text as on the longest beside it.
    missing.sort_by_key(|one| (one.text.len(), one.key));
    let state = State {
        present: rows.iter().filter(|rows| is_whole(rows)).count(),
        ..State::default()
    };
    let vectors = Arc::new(Vectors {
        rows: RwLock::new(rows),
        state: watch::Sender::new(state),
    });
    let work = make(Arc::clone(meaning), Arc::clone(&vectors), missing);
    let worker = Worker(tokio::spawn(work).abort_handle());
    vectors.settle(meaning.options.index_wait).await;
    (vectors, Some(worker))
}

/// Makes what is missing, however long it takes, until it is done or a person has to act.
async fn make(meaning: Arc<Meaning>, vectors: Arc<Vectors>, missing: Vec<Missing>) {
    let mut saved = Instant::now();
    let mut wait = FIRST_WAIT;
    let mut batches = missing.chunks(meaning.batch());
    let mut batch = batches.next();
    let mut is_ready = false;
    while batch.is_some() || !is_ready {
        let done = match batch {
            Some(some) if is_ready => one(&meaning, &vectors, some).await,
            _ => meaning.warm().await,
        };
        match done {
            Ok(()) => {
                vectors.state.send_modify(|state| state.trouble = None);
                wait = FIRST_WAIT;
                if is_ready {
                    batch = batches.next();
                }
                is_ready = true;
            }
            Err(left_out) => {
                let is_final = left_out.reason == LeftOutReason::Misconfigured;
                if is_final {
                    meaning.end(&left_out);
                }
                tracing::warn!(detail = left_out.detail, "tools get no vectors");
                vectors.state.send_modify(|state| {
                    state.trouble = Some(left_out);
                    state.is_done = is_final;
                });
                if is_final {
                    return;
                }
                sleep(wait).await;
                wait = (wait * 2).min(LONGEST_WAIT);
            }
        }
        if saved.elapsed() >= SAVE_EVERY {
            save(&meaning).await;
            saved = Instant::now();
        }
    }
    save(&meaning).await;
    vectors.state.send_modify(|state| state.is_done = true);
}

async fn one(meaning: &Meaning, vectors: &Vectors, some: &[Missing]) -> Result<(), LeftOut> {
    let texts: Vec<String> = some.iter().map(|one| one.text.clone()).collect();
    let time = meaning.options.batch_timeout;
    let made = meaning.embed(TextRole::Document, &texts, time).await?;
    for (one, row) in some.iter().zip(made) {
        // Dimensions were compared before; what lost a race is left out like any other odd vector.
        let row = row.and_then(|row| meaning.store.keep(one.key, row).ok());
        vectors.put(&one.slots, row.as_ref());
    }
    Ok(())
}

async fn save(meaning: &Arc<Meaning>) {
    if meaning.store.unsaved() == 0 {
        return;
    }
    let meaning = Arc::clone(meaning);
    let saved = spawn_blocking(move || meaning.store.save()).await;
    if let Ok(Err(error)) = saved {
        tracing::warn!(%error, "vectors cannot be kept for the next start");
    }
}

impl Vectors {
    fn put(&self, slots: &[Slot], row: Option<&Arc<Row>>) {
        let Some(row) = row else {
            let tools = slots.iter().map(|(place, _)| *place);
            return self.state.send_modify(|state| state.unusable.extend(tools));
        };
        let mut rows = self.rows.write().unwrap_or_else(PoisonError::into_inner);
        let mut whole = 0;
        for (place, at) in slots {
            rows[*place][*at] = Some(Arc::clone(row));
            whole += usize::from(is_whole(&rows[*place]));
        }
        drop(rows);
        self.state.send_modify(|state| state.present += whole);
    }

    /// Waits until nothing more is coming, or something is wrong, or the time is over.
    pub(crate) async fn settle(&self, time: Duration) {
        let mut state = self.state.subscribe();
        let settled = state.wait_for(|state| state.is_done || state.trouble.is_some());
        // Whether it is done or the time is over, searches work with what there is.
        let _ = tokio::time::timeout(time, settled).await;
    }

    pub(crate) fn state(&self) -> State {
        self.state.borrow().clone()
    }

    /// Whether meaning can count, and if not why.
    #[expect(clippy::cast_precision_loss, reason = "counts of tools")]
    pub(crate) fn are_enough(&self) -> Result<(), LeftOut> {
        let all = self
            .rows
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .len();
        let state = self.state.borrow();
        let answered = state.present + state.unusable.len();
        let is_enough = state.is_done || answered as f64 >= ENOUGH * all as f64;
        if is_enough && state.present > 0 {
            return Ok(());
        }
        if let Some(trouble) = &state.trouble {
            return Err(trouble.clone());
        }
        let (reason, what) = match state.is_done {
            true => (
                LeftOutReason::Failed,
                "no tool has vectors that can be used".to_owned(),
            ),
            false => (
                LeftOutReason::Indexing,
                format!("{} of {all} tools have vectors so far", state.present),
            ),
        };
        Err(LeftOut::new(reason, what))
    }

    /// How near each text of each tool is to a query.
    pub(crate) fn cosines(&self, query: &Row) -> Vec<[Option<f32>; TEXTS]> {
        let rows = self.rows.read().unwrap_or_else(PoisonError::into_inner);
        let cosine = |row: &Option<Arc<Row>>| {
            let row = row.as_ref()?;
            (row.dimensions() == query.dimensions()).then(|| row.cosine(query))
        };
        rows.iter()
            .map(|rows| rows.each_ref().map(cosine))
            .collect()
    }
}
