//! What a server may ask of the client that a call belongs to, and what it tells without being asked.
//! Not here: how such a client is reached; whoever serves it implements [`ClientPeer`].

use std::fmt;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_invoke::Caller;

/// A kind of question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum AskKind {
    /// `elicitation/create`: something that only a person knows or may decide.
    Elicitation,
    /// `sampling/createMessage`: a completion by the client's model.
    Sampling,
    /// `roots/list`: the folders that the client works in.
    Roots,
}

impl AskKind {
    /// The method of the protocol.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The key under which a client declares it.
    pub(crate) const fn capability(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }

    pub(crate) const ALL: [Self; 3] = [Self::Elicitation, Self::Sampling, Self::Roots];

    pub(crate) fn of(method: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The answer to a question of the newer protocol that nobody takes. Only an elicitation can be
    /// declined, and roots can be none.
    pub(crate) fn declined(self) -> Option<Value> {
        match self {
            Self::Elicitation => Some(json!({ "action": "decline" })),
            Self::Roots => Some(json!({ "roots": [] })),
            Self::Sampling => None,
        }
    }
}

/// A question of a server.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Ask {
    /// Which server asks.
    pub server: String,
    /// On whose behalf the call runs that the question belongs to.
    pub caller: Caller,
    /// The kind.
    pub kind: AskKind,
    /// The parameters as the server sent them: hostile until shown as data.
    pub params: Value,
    /// What the server calls the question: it came along with others as the answer to a call, under
    /// this name. Hostile as well.
    pub name: Option<String>,
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum AskReply {
    /// The result that the client gave, as the protocol has it, such as
    /// `{"action": "accept", "content": {…}}`.
    Result(Value),
    /// Nobody takes it. The server is told that the user declined, where the protocol has such an
    /// answer.
    Declined,
    /// The client of the call does not answer such questions. The server gets an error.
    NotDeclared,
}

/// Reaches the clients that calls come from.
///
/// A question is put only when it is certain which caller it belongs to: it came along with the
/// answer to a call, or all calls in flight have the same caller. All other questions are declined.
#[async_trait]
pub trait ClientPeer: fmt::Debug + Send + Sync {
    /// What is offered to servers when they are greeted, for all callers. A question that a server puts
    /// on its connection is of one of these kinds, or is not put.
    fn offers(&self) -> Vec<AskKind>;

    /// What is offered to a server along with a call of this caller, where requests stand for
    /// themselves. A question in the answer to the call is of one of these kinds, or is not put.
    fn offers_for(&self, caller: &Caller) -> Vec<AskKind> {
        let _ = caller;
        self.offers()
    }

    /// Asks the client. Dropped when the server takes its question back, when the connection ends,
    /// when the call ends, and after ten minutes.
    async fn ask(&self, ask: Ask) -> AskReply;

    /// A server refused a call because its client does not answer this kind of question.
    fn lacks(&self, caller: &Caller, kind: AskKind) {
        let _ = (caller, kind);
    }
}

/// Something that a server told.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ServerEvent {
    /// `notifications/message`: a log entry. At most 8 KiB, without configured secrets.
    Log {
        /// `debug` to `emergency`, as the server wrote it.
        level: String,
        /// Which part of the server speaks.
        logger: Option<String>,
        /// What it says: text, or JSON as text.
        message: String,
    },
    /// The list of resources or of their templates is another.
    ResourcesChanged,
    /// The list of prompts is another.
    PromptsChanged,
    /// A resource that was subscribed to has changed.
    ResourceUpdated {
        /// Which.
        uri: String,
    },
}
