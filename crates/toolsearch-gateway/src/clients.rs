//! Clients that are connected now and can be asked something, by the names of their sessions. For
//! questions of servers; consent to calls is asked for in `elicit`.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::service::{Peer, RoleServer};
use serde_json::Value;
use toolsearch_schema::names::sanitise_label;

use crate::elicit::Ask;

/// How long a person may take.
const PATIENCE: Duration = Duration::from_secs(10 * 60);
/// Most characters of a question, and of the name of who asks.
const MAX_QUESTION_CHARS: usize = 2_000;
const MAX_NAME_CHARS: usize = 120;

type Peers = BTreeMap<String, Peer<RoleServer>>;

/// The clients of one process that came through the handshake and declared that they can show a form.
/// Cloning shares them.
#[derive(Clone, Default)]
pub struct Clients(Arc<Mutex<Peers>>);

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

    fn lock(&self) -> MutexGuard<'_, Peers> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a server's form to the person behind the client of a session; says who asks. `None` when
    /// there is no such client, when it cannot be asked or does not answer, and for questions that are
    /// no forms.
    pub async fn elicit(&self, session: &str, server: &str, mut params: Value) -> Option<Value> {
        let form = params.get("mode").is_none_or(|mode| mode == "form");
        let message = params.get("message").and_then(Value::as_str)?;
        let message = sanitise_label(message, MAX_QUESTION_CHARS);
        let server = sanitise_label(server, MAX_NAME_CHARS);
        params["message"] = Value::from(format!("{server} asks: {message}"));
        let peer = self.lock().get(session).cloned().filter(|_| form)?;
        let asked = Ask::ask(&peer, "elicitation/create", params, PATIENCE).await;
        asked.ok()
    }

    /// A client that can be asked for as long as the place is kept.
    pub(crate) fn enter(&self, session: &str, peer: Peer<RoleServer>) -> Place {
        self.lock().insert(session.to_owned(), peer);
        Place {
            clients: self.clone(),
            session: session.to_owned(),
        }
    }
}

/// The place of one client.
#[derive(Debug)]
pub(crate) struct Place {
    clients: Clients,
    session: String,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.clients.lock().remove(&self.session);
    }
}
