//! Clients that can be asked something now, by the names of their sessions and requests. For questions
//! of servers; consent to calls is asked for in `elicit`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use toolsearch_catalog::json_bytes;
use toolsearch_schema::names::sanitise_label;

use crate::ask::{Ask, ClientCapability, Question};

/// How long a client may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Most characters of a question, and of the name of who asks.
const MAX_QUESTION_CHARS: usize = 2_000;
const MAX_NAME_CHARS: usize = 120;
/// Most bytes of a question, as JSON.
const MAX_QUESTION_BYTES: usize = 1024 * 1024;

/// Which client: by its session, and by its request where each request stands for itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct ClientName {
    /// The session.
    pub session: String,
    /// The request, where the session serves several clients.
    pub request: Option<String>,
}

impl ClientName {
    /// Names a client.
    #[must_use]
    pub fn new(session: impl Into<String>, request: Option<String>) -> Self {
        Self {
            session: session.into(),
            request,
        }
    }
}

/// A question of a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ServerQuestion {
    /// Which server asks.
    pub server: String,
    /// What it asks for.
    pub kind: ClientCapability,
    /// The parameters as it sent them.
    pub params: Value,
    /// What it calls the question, where it gave it a name.
    pub name: Option<String>,
}

impl ServerQuestion {
    /// A question without a name.
    #[must_use]
    pub fn new(server: impl Into<String>, kind: ClientCapability, params: Value) -> Self {
        Self {
            server: server.into(),
            kind,
            params,
            name: None,
        }
    }
}

/// Why a server's question brought no answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnswered {
    /// There is no such client, it does not answer, or the question cannot be put to anybody.
    #[error("nobody answers")]
    Nobody,
    /// The client's request does not declare that it answers such questions.
    #[error("the client does not answer such questions")]
    NotDeclared,
}

#[derive(Debug, Clone)]
struct Reached {
    client: Arc<dyn Ask>,
    declared: BTreeSet<ClientCapability>,
}

/// The clients of one process that can be asked now: those that came through the handshake, and those
/// that wait for the answer to a request which stands for itself. Cloning shares them.
#[derive(Clone, Default)]
pub struct Clients(Arc<Mutex<BTreeMap<ClientName, Reached>>>);

impl fmt::Debug for Clients {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Clients")
            .field("connected", &self.lock().len())
            .finish()
    }
}

impl Clients {
    /// Nobody yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<ClientName, Reached>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, client: &ClientName) -> Option<Reached> {
        self.lock().get(client).cloned()
    }

    /// What a client declared that it answers; nothing where there is no such client.
    #[must_use]
    pub fn declared(&self, client: &ClientName) -> BTreeSet<ClientCapability> {
        self.find(client)
            .map(|reached| reached.declared)
            .unwrap_or_default()
    }

    /// Puts a server's question to a client, at most ten minutes. Of elicitations only forms are put,
    /// and they say who asks. Questions of more than 1 MiB are not put.
    ///
    /// # Errors
    /// [`NotAnswered`].
    pub async fn ask(
        &self,
        client: &ClientName,
        question: ServerQuestion,
    ) -> Result<Value, NotAnswered> {
        let reached = self.find(client).ok_or(NotAnswered::Nobody)?;
        if !reached.declared.contains(&question.kind) {
            // Since there is no handshake, a client says with every request what it answers.
            if client.request.is_none() {
                return Err(NotAnswered::Nobody);
            }
            reached.client.lacks(question.kind);
            return Err(NotAnswered::NotDeclared);
        }
        let asked = reached.client.ask(Question {
            kind: question.kind,
            params: params(&question).ok_or(NotAnswered::Nobody)?,
            name: question.name,
            in_advance: true,
            patience: PATIENCE,
        });
        asked.await.map_err(|_| NotAnswered::Nobody)
    }

    /// A server refused a call because its client did not declare this.
    pub fn lacks(&self, client: &ClientName, capability: ClientCapability) {
        if let Some(reached) = self.find(client) {
            reached.client.lacks(capability);
        }
    }

    /// A client that can be asked for as long as the place is kept.
    pub(crate) fn enter(
        &self,
        name: ClientName,
        client: Arc<dyn Ask>,
        declared: BTreeSet<ClientCapability>,
    ) -> Place {
        let reached = Reached { client, declared };
        self.lock().insert(name.clone(), reached);
        Place {
            clients: self.clone(),
            name,
        }
    }
}

/// The parameters as a client gets them.
fn params(question: &ServerQuestion) -> Option<Value> {
    let mut params = question.params.clone();
    if json_bytes(&params) > MAX_QUESTION_BYTES {
        return None;
    }
    if question.kind == ClientCapability::Elicitation {
        params
            .get("mode")
            .is_none_or(|mode| mode == "form")
            .then_some(())?;
        let message = params.get("message").and_then(Value::as_str)?;
        let message = sanitise_label(message, MAX_QUESTION_CHARS);
        let server = sanitise_label(&question.server, MAX_NAME_CHARS);
        params["message"] = Value::from(format!("{server} asks: {message}"));
    }
    Some(params)
}

/// The place of one client.
#[derive(Debug)]
pub(crate) struct Place {
    clients: Clients,
    name: ClientName,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.lock().remove(&self.name);
    }
}
