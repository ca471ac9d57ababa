//! Where sessions come from. The gateway asks for one a connection, and for another when the source
//! says that something changed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use rmcp::model::Implementation;
use tokio::sync::{broadcast, watch};
use toolsearch_runtime::Session;
use toolsearch_schema::names::sanitise_label;

use crate::clients::Clients;
use crate::relay::{News, Shelf};

/// Most characters of what a client says about itself.
const MAX_NAME_CHARS: usize = 120;

/// What a client said about itself. Claims, not proofs: good for records, never for rights.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientInfo {
    /// The name of the client program.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version that it asked for.
    pub protocol: String,
}

impl ClientInfo {
    /// A client; its texts are cut and cleaned so that they can be printed.
    #[must_use]
    pub fn new(name: &str, version: &str, protocol: &str) -> Self {
        let clean = |text: &str| sanitise_label(text, MAX_NAME_CHARS);
        Self {
            name: clean(name),
            version: clean(version),
            protocol: clean(protocol),
        }
    }

    pub(crate) fn of(client: Option<&Implementation>, protocol: &str) -> Self {
        match client {
            Some(client) => Self::new(&client.name, &client.version, protocol),
            None => Self::new("unnamed", "", protocol),
        }
    }
}

/// No session can be opened. The client is told the text, so it must hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct SourceError(String);

impl SourceError {
    /// Says why, for the person in front of the client.
    #[must_use]
    pub fn new(reason: impl fmt::Display) -> Self {
        Self(reason.to_string())
    }
}

impl From<toolsearch_runtime::OpenError> for SourceError {
    fn from(error: toolsearch_runtime::OpenError) -> Self {
        Self::new(error)
    }
}

/// Opens the session behind a connection.
#[async_trait]
pub trait SessionSource: fmt::Debug + Send + Sync {
    /// Plans a session for a client that has just connected. The client waits for its first answer
    /// until this is done, so a source does not wait for slow servers: it plans with what is there
    /// and announces the rest through [`SessionSource::changes`].
    ///
    /// # Errors
    /// [`SourceError`] when there is nothing to serve; the client is refused with its text.
    async fn open(&self, client: &ClientInfo) -> Result<Session, SourceError>;

    /// Plans the session anew after a change. Calls that run end in the session that they began in.
    ///
    /// # Errors
    /// [`SourceError`] when that is not possible; the previous session stays in use.
    async fn reopen(
        &self,
        client: &ClientInfo,
        previous: &Session,
    ) -> Result<Session, SourceError> {
        let _ = previous;
        self.open(client).await
    }

    /// The resources and prompts that clients of these sessions may see; none unless said otherwise.
    /// Asked anew for every request.
    fn shelves(&self) -> Vec<Arc<dyn Shelf>> {
        Vec::new()
    }

    /// Whether there may be resources and prompts, as a client is told when it connects.
    fn has_shelves(&self) -> bool {
        !self.shelves().is_empty()
    }

    /// Where clients that can be asked are entered, so that servers find them. `None` when no server
    /// asks anything.
    fn clients(&self) -> Option<Clients> {
        None
    }

    /// Changes of the shelves, from now on, those of others included. `None` when there are none.
    fn news(&self) -> Option<broadcast::Receiver<News>> {
        None
    }

    /// Whether the user of a client is asked for consent where the client can do that. Otherwise, and
    /// for other clients, whoever the runtime asks is asked.
    fn asks_users(&self) -> bool {
        true
    }

    /// Counts the occasions on which a session planned now could differ from one planned before.
    /// `None` when that never happens. Changes that come close together lead to one new plan.
    fn changes(&self) -> Option<watch::Receiver<u64>> {
        None
    }
}

#[async_trait]
impl<T: SessionSource + ?Sized> SessionSource for Arc<T> {
    async fn open(&self, client: &ClientInfo) -> Result<Session, SourceError> {
        T::open(self, client).await
    }

    async fn reopen(
        &self,
        client: &ClientInfo,
        previous: &Session,
    ) -> Result<Session, SourceError> {
        T::reopen(self, client, previous).await
    }

    fn shelves(&self) -> Vec<Arc<dyn Shelf>> {
        T::shelves(self)
    }

    fn has_shelves(&self) -> bool {
        T::has_shelves(self)
    }

    fn clients(&self) -> Option<Clients> {
        T::clients(self)
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        T::news(self)
    }

    fn asks_users(&self) -> bool {
        T::asks_users(self)
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        T::changes(self)
    }
}
