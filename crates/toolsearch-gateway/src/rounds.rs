//! Requests that are answered in several rounds, as of 2026-07-28: what the work behind a request asks
//! is put into its answer, and the client makes the request again with what it found out. Consent and
//! questions of servers are asked in the same way. Meanwhile the work goes on in this process.
//!
//! A state is a random name for such work. It is known to one connection alone, counts once, for the
//! request that was asked about, and until its questions have expired.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use rmcp::ErrorData;
use rmcp::model::ErrorCode;
use serde_json::{Map, Value, json};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};
use uuid::Uuid;

use crate::ask::{Ask, ClientCapability, Question, Unasked, as_declared};
use crate::progress::Reports;

/// How long questions are gathered that are asked at about the same time.
const GATHER: Duration = Duration::from_millis(20);
/// Most requests of one connection that wait for their client; the oldest is given up.
const MAX_WAITING: usize = 64;
/// Most questions of one request that are open at a time.
const MAX_OPEN: usize = 64;
/// Longest name of a question that is kept, in bytes.
const MAX_NAME_BYTES: usize = 120;

/// What a client sends with a request that it makes again. Anything that is no answer is left out, so
/// that it is asked for once more.
#[derive(Debug, Default)]
pub(crate) struct Inputs {
    state: Option<String>,
    responses: Map<String, Value>,
}

impl Inputs {
    /// Takes them out of the parameters of a request.
    pub(crate) fn take(params: &mut Map<String, Value>) -> Result<Self, ErrorData> {
        let state = match params.remove("requestState") {
            None | Some(Value::Null) => None,
            Some(Value::String(state)) => Some(state),
            Some(_) => {
                let message = "`requestState` must be a string";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        let responses = match params.remove("inputResponses") {
            None | Some(Value::Null) => Map::new(),
            Some(Value::Object(responses)) => responses
                .into_iter()
                .filter(|(_, response)| response.is_object())
                .take(MAX_OPEN)
                .collect(),
            Some(_) => {
                let message = "`inputResponses` must be an object";
                return Err(ErrorData::invalid_params(message, None));
            }
        };
        Ok(Self { state, responses })
    }
}

/// A request, as far as a client tells this one from another.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) method: String,
    pub(crate) name: String,
    pub(crate) arguments: Value,
}

/// Where the work behind one request puts its questions.
#[derive(Debug)]
pub(crate) struct Mailbox {
    state: Mutex<State>,
    /// How many questions are open.
    open: watch::Sender<usize>,
}

#[derive(Debug, Default)]
struct State {
    open: BTreeMap<String, Open>,
    /// What the client said before it was asked.
    in_advance: Map<String, Value>,
    /// What the work needs and the client did not declare.
    lacking: BTreeSet<ClientCapability>,
    asked: u64,
}

#[derive(Debug)]
struct Open {
    question: Value,
    until: Instant,
    answer: oneshot::Sender<Value>,
}

impl Mailbox {
    fn new(in_advance: Map<String, Value>) -> Arc<Self> {
        let state = State {
            in_advance,
            ..State::default()
        };
        Arc::new(Self {
            state: Mutex::new(state),
            open: watch::Sender::new(0),
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn count(&self, state: &State) {
        self.open.send_replace(state.open.len());
    }

    /// Puts a question in; gives its name. `Err` when it is answered already.
    fn put(&self, question: Question, answer: oneshot::Sender<Value>) -> Result<String, Value> {
        let mut state = self.state();
        state.asked += 1;
        let given = question
            .name
            .filter(|name| !name.is_empty() && name.len() <= MAX_NAME_BYTES);
        if let Some(name) = given.as_ref().filter(|_| question.in_advance)
            && let Some(said) = state.in_advance.remove(name)
        {
            return Err(said);
        }
        let name = given
            .filter(|name| !state.open.contains_key(name))
            .unwrap_or_else(|| format!("question-{}", state.asked));
        let open = Open {
            question: json!({ "method": question.kind.method(), "params": question.params }),
            until: Instant::now() + question.patience,
            answer,
        };
        state.open.insert(name.clone(), open);
        self.count(&state);
        Ok(name)
    }

    fn withdraw(&self, name: &str) {
        let mut state = self.state();
        state.open.remove(name);
        self.count(&state);
    }

    /// Hands answers to those who wait for them; others mean nothing.
    fn answer(&self, responses: Map<String, Value>) {
        let mut state = self.state();
        for (name, response) in responses {
            if let Some(open) = state.open.remove(&name) {
                // Whoever asked may be gone.
                let _ = open.answer.send(response);
            }
        }
        self.count(&state);
    }

    /// Waits until something is asked.
    async fn asked(&self) {
        let mut open = self.open.subscribe();
        let _ = open.wait_for(|open| *open > 0).await;
    }

    /// What is open, and until when at the latest.
    fn questions(&self) -> Option<(Map<String, Value>, Instant)> {
        let state = self.state();
        let until = state.open.values().map(|open| open.until).max()?;
        let questions = state
            .open
            .iter()
            .map(|(name, open)| (name.clone(), open.question.clone()))
            .collect();
        Some((questions, until))
    }

    /// The error in place of a failure that the client's missing capabilities are the reason of.
    fn excuse(&self) -> Option<ErrorData> {
        let state = self.state();
        if state.lacking.is_empty() {
            return None;
        }
        let lacking = as_declared(&state.lacking);
        let names: Vec<&str> = state.lacking.iter().map(|one| one.method()).collect();
        let message = format!(
            "this needs a client that declares that it answers {}",
            names.join(", ")
        );
        Some(ErrorData::new(
            ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY,
            message,
            Some(json!({ "requiredCapabilities": lacking })),
        ))
    }
}

#[async_trait]
impl Ask for Mailbox {
    async fn ask(&self, question: Question) -> Result<Value, Unasked> {
        let patience = question.patience;
        let (answer, answered) = oneshot::channel();
        if self.state().open.len() >= MAX_OPEN {
            return Err(Unasked::Failed("too much is asked at a time".to_owned()));
        }
        let name = match self.put(question, answer) {
            Ok(name) => name,
            Err(said) => return Ok(said),
        };
        let _open = Withdraw {
            mailbox: self,
            name,
        };
        match timeout(patience, answered).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(_)) => Err(Unasked::Failed("nobody is left to ask".to_owned())),
            Err(_) => Err(Unasked::TimedOut),
        }
    }

    fn lacks(&self, capability: ClientCapability) {
        self.state().lacking.insert(capability);
    }
}

/// Takes a question back that nobody waits for any more.
struct Withdraw<'a> {
    mailbox: &'a Mailbox,
    name: String,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.mailbox.withdraw(&self.name);
    }
}

/// What the work behind a request is given.
#[derive(Debug)]
pub(crate) struct Errand {
    /// Names the request within its connection.
    pub(crate) request: String,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) reports: Arc<Reports>,
}

/// The result of a request.
pub(crate) type Answer = Result<Value, ErrorData>;

/// Work that has begun. Dropping it ends it.
#[derive(Debug)]
pub(crate) struct Work {
    mailbox: Arc<Mailbox>,
    pub(crate) reports: Arc<Reports>,
    task: JoinHandle<Answer>,
}

impl Drop for Work {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Work {
    /// Until the work is done, or asks something.
    async fn next(&mut self) -> Option<Answer> {
        tokio::select! {
            biased;
            done = &mut self.task => return Some(finished(done)),
            () = self.mailbox.asked() => {}
        }
        let done = timeout(GATHER, &mut self.task).await.ok()?;
        Some(finished(done))
    }

    /// The answer as the client gets it.
    fn answered(&self, answer: Answer) -> Answer {
        let failed = match &answer {
            Ok(result) => result.get("isError") == Some(&Value::Bool(true)),
            Err(_) => true,
        };
        match self.mailbox.excuse().filter(|_| failed) {
            Some(excuse) => Err(excuse),
            None => answer,
        }
    }
}

fn finished(done: Result<Answer, tokio::task::JoinError>) -> Answer {
    done.unwrap_or_else(|error| {
        tracing::error!(%error, "the work of a request ended unexpectedly");
        let message = "a fault in toolsearch itself; it may have had effects";
        Err(ErrorData::internal_error(message, None))
    })
}

/// Requests of one connection that wait for answers of its client.
#[derive(Debug, Default)]
pub(crate) struct Waiting {
    works: Mutex<Vec<WaitingWork>>,
    begun: AtomicU64,
}

#[derive(Debug)]
struct WaitingWork {
    state: String,
    told: Told,
    work: Work,
    until: Instant,
}

impl Waiting {
    /// Begins the work of a request, or goes on with the one that waits under its state.
    pub(crate) fn enter<F>(
        &self,
        told: &Told,
        inputs: Inputs,
        start: impl FnOnce(Errand) -> F,
    ) -> Result<Work, ErrorData>
    where
        F: Future<Output = Answer> + Send + 'static,
    {
        if let Some(state) = inputs.state {
            let work = self.take(&state, told).ok_or_else(unknown_state)?;
            work.mailbox.answer(inputs.responses);
            return Ok(work);
        }
        let mailbox = Mailbox::new(inputs.responses);
        let reports = Arc::new(Reports::default());
        let request = self.begun.fetch_add(1, Ordering::Relaxed);
        let work = start(Errand {
            request: format!("request-{request}"),
            mailbox: Arc::clone(&mailbox),
            reports: Arc::clone(&reports),
        });
        Ok(Work {
            mailbox,
            reports,
            task: tokio::spawn(work),
        })
    }

    /// The answer to the request: what the work gave, or what it asks.
    pub(crate) async fn round(&self, told: Told, mut work: Work) -> Answer {
        loop {
            if let Some(answer) = work.next().await {
                return work.answered(answer);
            }
            // What was asked may have been taken back meanwhile.
            if let Some((questions, until)) = work.mailbox.questions() {
                return Ok(self.put(told, work, &questions, until));
            }
        }
    }

    /// Puts work aside; gives the answer that says what is needed.
    fn put(&self, told: Told, work: Work, questions: &Map<String, Value>, until: Instant) -> Value {
        let state = Uuid::new_v4().simple().to_string();
        let mut works = self.works();
        works.retain(|waiting| waiting.until > Instant::now());
        if works.len() >= MAX_WAITING {
            works.remove(0);
        }
        works.push(WaitingWork {
            state: state.clone(),
            told,
            work,
            until,
        });
        json!({
            "resultType": "input_required",
            "inputRequests": questions,
            "requestState": state,
        })
    }

    /// The work that waits under a state, if it is of this request and not too late.
    fn take(&self, state: &str, told: &Told) -> Option<Work> {
        let mut works = self.works();
        works.retain(|waiting| waiting.until > Instant::now());
        let own = |waiting: &WaitingWork| waiting.state == state && waiting.told == *told;
        let at = works.iter().position(own)?;
        Some(works.remove(at).work)
    }

    fn works(&self) -> MutexGuard<'_, Vec<WaitingWork>> {
        self.works.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// For a state that was never given for this request, was used, or has expired.
fn unknown_state() -> ErrorData {
    let message = "`requestState` is not known for this request: it was used, has expired, or \
                   belongs to another request; nothing was done";
    ErrorData::invalid_params(message, None)
}

#[cfg(test)]
mod tests;
