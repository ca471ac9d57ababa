//! What is kept between the requests of a client: turns whose calls it runs, and names of responses
//! that stand for others. Bound to whoever made the request; gone after a while.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use toolsearch_dialect::{Call, CallForm, Refusal, RefusalKind, client_call_id};
use toolsearch_mode::Rendered;
use toolsearch_store::{Expected, NewRecord, Store, StoreError};
use uuid::Uuid;

const TURNS: &str = "proxy-turns";
const RESPONSES: &str = "proxy-responses";
/// Bits of a client call's number that count the calls of its turn.
const CALL_BITS: u32 = 12;
/// Most turns that are kept at hand besides the store.
const AT_HAND: usize = 1_024;

/// Names one turn of a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct TurnId(u64);

impl TurnId {
    pub(crate) fn new() -> Self {
        let (high, _) = Uuid::new_v4().as_u64_pair();
        Self(high >> CALL_BITS)
    }

    /// The turn that a client call belongs to, if its id was made here.
    pub(crate) fn of(call: &str) -> Option<Self> {
        if !toolsearch_dialect::is_client_call_id(call) {
            return None;
        }
        let digits = call.get(call.len().checked_sub(16)?..)?;
        let number = u64::from_str_radix(digits, 16).ok()?;
        Some(Self(number >> CALL_BITS))
    }

    fn call(self, own: &str, number: u64) -> String {
        let low = number & ((1 << CALL_BITS) - 1);
        client_call_id(own, (self.0 << CALL_BITS) | low)
    }

    fn key(self) -> String {
        format!("{:013x}", self.0)
    }
}

/// One call of a turn, and what became of it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedCall {
    /// The model's own id.
    pub(crate) id: String,
    pub(crate) form: String,
    /// What the model reads, when it is there.
    pub(crate) result: Option<SavedResult>,
    /// Work that was put aside.
    pub(crate) work: Option<Value>,
    /// Calls that the client was handed, answered or not.
    pub(crate) asked: Vec<Asked>,
    /// A program made the calls; their results are not the model's.
    pub(crate) program: bool,
}

/// A call that the client runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Asked {
    /// The id that the client knows.
    pub(crate) id: String,
    /// The work's name for it; none for a call that only the client understands.
    pub(crate) handle: Option<String>,
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    pub(crate) form: String,
    pub(crate) args: Map<String, Value>,
    /// Hash of what the client answered.
    pub(crate) answered: Option<String>,
}

impl Asked {
    /// Whether work here waits for its result.
    pub(crate) const fn waits(&self) -> bool {
        self.handle.is_some() && self.answered.is_none()
    }

    pub(crate) fn call(&self) -> Call {
        let args = toolsearch_dialect::Arguments::Object(self.args.clone());
        let mut call = Call::new(self.id.as_str(), self.name.as_str(), args);
        call.namespace.clone_from(&self.namespace);
        call.form = CallForm::from_word(&self.form);
        call
    }
}

/// An answer to the model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedResult {
    content: Vec<Value>,
    structured: Option<Value>,
    is_error: bool,
}

impl From<&Rendered> for SavedResult {
    fn from(rendered: &Rendered) -> Self {
        Self {
            content: rendered.content.clone(),
            structured: rendered.structured.as_deref().cloned(),
            is_error: rendered.is_error,
        }
    }
}

impl SavedResult {
    pub(crate) fn rendered(&self) -> Rendered {
        let mut rendered = Rendered::default();
        rendered.content.clone_from(&self.content);
        rendered.structured = self.structured.clone().map(Arc::new);
        rendered.is_error = self.is_error;
        rendered
    }
}

/// A turn whose calls, or some of them, went to the client.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Saved {
    v: u64,
    owner: String,
    dialect: String,
    /// The session that it belongs to.
    pub(crate) session: String,
    /// What the history is given in place of the client's own calls, but for the last results.
    pub(crate) entries: Vec<Value>,
    /// What the client was handed.
    pub(crate) visible: Vec<Value>,
    pub(crate) calls: Vec<SavedCall>,
    /// How many calls the client was handed so far.
    pub(crate) handed: u64,
}

impl Saved {
    pub(crate) fn new(owner: &str, dialect: &str, session: &str) -> Self {
        Self {
            v: 1,
            owner: owner.to_owned(),
            dialect: dialect.to_owned(),
            session: session.to_owned(),
            entries: Vec::new(),
            visible: Vec::new(),
            calls: Vec::new(),
            handed: 0,
        }
    }

    /// An id for the next call that the client is handed.
    pub(crate) fn next_id(&mut self, turn: TurnId, own: &str) -> String {
        self.handed += 1;
        turn.call(own, self.handed)
    }

    /// All calls that the client was ever handed.
    pub(crate) fn asked(&self) -> impl Iterator<Item = &Asked> {
        self.calls.iter().flat_map(|call| &call.asked)
    }

    /// Whether every call of the model has its result.
    pub(crate) fn is_complete(&self) -> bool {
        self.calls
            .iter()
            .all(|call| call.result.is_some() || call.is_foreign())
    }
}

impl SavedCall {
    /// Whether only the client understands the call.
    pub(crate) fn is_foreign(&self) -> bool {
        self.work.is_none() && self.asked.iter().any(|asked| asked.handle.is_none())
    }
}

/// A response of a provider under the name that the client knows.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Alias {
    v: u64,
    owner: String,
    /// The provider's own id.
    pub(crate) response: String,
    pub(crate) session: String,
}

/// Keeps and finds.
#[derive(Debug)]
pub(crate) struct Records {
    store: Arc<dyn Store>,
    lasts: Duration,
    at_hand: Mutex<HashMap<TurnId, Arc<Saved>>>,
    busy: Mutex<HashMap<TurnId, Arc<tokio::sync::Mutex<()>>>>,
}

impl Records {
    pub(crate) fn new(store: Arc<dyn Store>, lasts: Duration) -> Self {
        Self {
            store,
            lasts,
            at_hand: Mutex::default(),
            busy: Mutex::default(),
        }
    }

    /// The turn, if it is this owner's. Complete ones do not change and are kept at hand.
    pub(crate) async fn turn(
        &self,
        id: TurnId,
        owner: &str,
        dialect: &str,
    ) -> Result<Option<Arc<Saved>>, Refusal> {
        let at_hand = lock(&self.at_hand).get(&id).cloned();
        let found = match at_hand {
            Some(saved) => Some(saved),
            None => self.load::<Saved>(TURNS, &id.key()).await?.map(Arc::new),
        };
        let own = |saved: &Arc<Saved>| saved.owner == owner && saved.dialect == dialect;
        let found = found.filter(own);
        if let Some(saved) = found.as_ref().filter(|saved| saved.is_complete()) {
            self.keep(id, saved);
        }
        Ok(found)
    }

    /// Keeps a turn. A client that was handed calls must be able to come back, so trouble is told.
    pub(crate) async fn put(&self, id: TurnId, saved: &Arc<Saved>) -> Result<(), Refusal> {
        lock(&self.at_hand).remove(&id);
        self.write(TURNS, &id.key(), saved.as_ref()).await?;
        if saved.is_complete() {
            self.keep(id, saved);
        }
        Ok(())
    }

    fn keep(&self, id: TurnId, saved: &Arc<Saved>) {
        let mut at_hand = lock(&self.at_hand);
        if at_hand.len() >= AT_HAND {
            at_hand.clear();
        }
        at_hand.insert(id, Arc::clone(saved));
    }

    /// One request at a time goes on with a turn.
    pub(crate) async fn alone(&self, id: TurnId) -> Alone<'_> {
        let lane = Arc::clone(lock(&self.busy).entry(id).or_default());
        let held = lane.lock_owned().await;
        Alone {
            records: self,
            id,
            _held: held,
        }
    }

    /// A name for a response that stands for the provider's own.
    pub(crate) async fn alias(
        &self,
        owner: &str,
        shown: &str,
        response: &str,
        session: &str,
    ) -> Result<(), Refusal> {
        let alias = Alias {
            v: 1,
            owner: owner.to_owned(),
            response: response.to_owned(),
            session: session.to_owned(),
        };
        self.write(RESPONSES, shown, &alias).await
    }

    pub(crate) async fn aliased(&self, owner: &str, shown: &str) -> Result<Option<Alias>, Refusal> {
        let found = self.load::<Alias>(RESPONSES, shown).await?;
        Ok(found.filter(|alias| alias.owner == owner))
    }

    async fn load<T: for<'de> Deserialize<'de>>(
        &self,
        namespace: &str,
        key: &str,
    ) -> Result<Option<T>, Refusal> {
        match self.store.get(namespace, key).await {
            Ok(Some(record)) => match serde_json::from_slice(&record.bytes) {
                Ok(value) => Ok(Some(value)),
                Err(error) => {
                    tracing::warn!(%error, "a record of the proxy cannot be read; it counts as gone");
                    Ok(None)
                }
            },
            Ok(None) | Err(StoreError::Damaged { .. }) => Ok(None),
            Err(error) => Err(unkept(&error)),
        }
    }

    async fn write<T: Serialize>(
        &self,
        namespace: &str,
        key: &str,
        value: &T,
    ) -> Result<(), Refusal> {
        let bytes = serde_json::to_vec(value).map_err(|error| {
            let message = format!("the turn cannot be kept: {error}");
            Refusal::new(RefusalKind::Internal, message)
        })?;
        let record = NewRecord::new(bytes).until(now_ms() + millis(self.lasts));
        let mut put = self
            .store
            .put(namespace, key, record.clone(), Expected::Any)
            .await;
        if let Err(StoreError::Full { .. }) = put {
            // What has expired makes room.
            let _ = self.store.sweep().await;
            put = self.store.put(namespace, key, record, Expected::Any).await;
        }
        put.map(|_| ()).map_err(|error| unkept(&error))
    }
}

/// Holds a turn while one request goes on with it.
pub(crate) struct Alone<'a> {
    records: &'a Records,
    id: TurnId,
    _held: tokio::sync::OwnedMutexGuard<()>,
}

impl Drop for Alone<'_> {
    fn drop(&mut self) {
        let mut busy = lock(&self.records.busy);
        // Two are this one and the entry: nobody else waits.
        if busy
            .get(&self.id)
            .is_some_and(|lane| Arc::strong_count(lane) <= 2)
        {
            busy.remove(&self.id);
        }
    }
}

fn unkept(error: &StoreError) -> Refusal {
    tracing::error!(%error, "the store of the proxy does not work");
    let (kind, message) = match error {
        StoreError::TooLarge { bytes, most } => (
            RefusalKind::TooLarge,
            format!(
                "the turn has {bytes} bytes and cannot be put aside for the client; {most} are the most"
            ),
        ),
        StoreError::Full { .. } => (
            RefusalKind::Busy,
            "too many turns wait for their clients; try again later".to_owned(),
        ),
        _ => (
            RefusalKind::Internal,
            "the turn could not be kept or found; try again".to_owned(),
        ),
    };
    Refusal::new(kind, message).coded("store")
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    millis(since.unwrap_or_default())
}
