//! The contract of a model: a conversation and declared tools go in, one turn comes out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::Value;
use toolsearch::catalog::json_bytes;
use toolsearch::mode::{Rendered, SurfaceTool};
use toolsearch_dialect::{Arguments, Call, Dialect};

/// How much was sent for one turn.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sent {
    /// Bytes of the declared tools in the model's wire form.
    pub tool_bytes: usize,
    /// Bytes of the whole payload.
    pub payload_bytes: usize,
}

impl Sent {
    /// Sizes of a request.
    #[must_use]
    pub const fn new(tool_bytes: usize, payload_bytes: usize) -> Self {
        Self {
            tool_bytes,
            payload_bytes,
        }
    }
}

/// Tokens of one or more turns, as the provider counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Used {
    /// Tokens that went in, those of a cache included.
    pub input: u64,
    /// Tokens that came out.
    pub output: u64,
}

impl Used {
    /// A count.
    #[must_use]
    pub const fn new(input: u64, output: u64) -> Self {
        Self { input, output }
    }

    /// Both together.
    #[must_use]
    pub const fn all(self) -> u64 {
        self.input.saturating_add(self.output)
    }

    pub(crate) const fn add(&mut self, more: Self) {
        self.input = self.input.saturating_add(more.input);
        self.output = self.output.saturating_add(more.output);
    }
}

/// A turn as its provider wants it back in the history: nothing of it is lost, such as reasoning that
/// must be returned signed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Wire {
    pub(crate) dialect: Dialect,
    pub(crate) entries: Vec<Value>,
}

/// What a model says in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelTurn {
    /// Its words; may be empty when it calls tools.
    pub text: String,
    /// The tools that it calls, in order.
    pub calls: Vec<Call>,
    /// The turn was cut off by a limit on the model's side.
    pub cut: bool,
    /// What was sent to get it.
    pub sent: Sent,
    /// What the provider counted.
    pub used: Used,
    pub(crate) wire: Option<Wire>,
}

impl ModelTurn {
    /// A turn of words alone.
    #[must_use]
    pub fn answer(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
        }
    }

    /// A turn of calls alone.
    #[must_use]
    pub fn calling(calls: Vec<Call>) -> Self {
        Self {
            calls,
            ..Self::default()
        }
    }
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Message {
    /// The user says something.
    User(String),
    /// The model said something or called tools.
    Assistant(ModelTurn),
    /// The answers to the calls of the turn before, each beside its call and in their order.
    Results(Vec<(Call, Rendered)>),
}

impl Message {
    /// How many bytes of a conversation it takes, roughly.
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::User(text) => text.len(),
            Self::Assistant(turn) => {
                let arguments = turn.calls.iter().map(|call| match &call.arguments {
                    Arguments::Object(object) => {
                        serde_json::to_string(object).map_or(0, |text| text.len())
                    }
                    Arguments::Unreadable { .. } => 2,
                });
                turn.text.len() + arguments.sum::<usize>()
            }
            Self::Results(results) => results.iter().map(|(_, answer)| size(answer)).sum(),
        }
    }
}

/// Bytes of what a model reads of an answer.
pub(crate) fn size(answer: &Rendered) -> usize {
    let block = |block: &Value| match block.get("text").and_then(Value::as_str) {
        Some(text) => text.len(),
        None => json_bytes(block),
    };
    let content: usize = answer.content.iter().map(block).sum();
    match (answer.structured.as_deref(), answer.content.is_empty()) {
        (Some(structured), true) => json_bytes(structured),
        _ => content,
    }
}

/// Everything that a model needs for one turn.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelRequest {
    /// The system prompt; may be empty.
    pub system: String,
    /// The conversation so far. Every call of an assistant message is answered right after it, in
    /// order.
    pub messages: Vec<Message>,
    /// The declared tools, the same in every turn of a conversation.
    pub tools: Vec<SurfaceTool>,
}

/// Why there is no turn. No variant carries a key or a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ModelError {
    /// Nobody answers at the address; trying again later may help.
    #[error("the provider cannot be reached: {0}")]
    Unreachable(String),
    /// The provider did not answer in time.
    #[error("the provider did not answer within {} s", .0.as_secs())]
    Timeout(Duration),
    /// The provider is busy or in trouble; trying again later may help.
    #[error("the provider is busy or in trouble (HTTP {status}): {message}")]
    Busy {
        /// The HTTP status.
        status: u16,
        /// What it says, bounded.
        message: String,
        /// When it wants to be asked again, where it says so.
        retry_after: Option<Duration>,
    },
    /// The key is missing, wrong, or does not allow this.
    #[error("the provider refused the key (HTTP {status}): {message}")]
    Unauthorised {
        /// The HTTP status.
        status: u16,
        /// What it says, bounded.
        message: String,
    },
    /// The provider refused the request; the same request will be refused again.
    #[error("the provider refused the request (HTTP {status}): {message}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// What it says, bounded.
        message: String,
    },
    /// The answer is not what the protocol says.
    #[error("the provider's answer cannot be read: {0}")]
    Unreadable(String),
}

impl ModelError {
    /// Whether the same request may go well a little later.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Unreachable(_) | Self::Timeout(_) | Self::Busy { .. }
        )
    }
}

/// Hears the words of a turn while they come. Must not block.
pub trait Words: Send + Sync {
    /// The next piece.
    fn words(&self, piece: &str);
}

/// Completes conversations.
///
/// Dropping the future cancels the request. A model keeps nothing between turns: the request holds
/// the whole conversation. It must bound what it reads and must give every call of a turn an id of
/// its own.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// The model's name, for people.
    fn name(&self) -> &str;

    /// The next turn. With `words`, its words are told while they come, if the model can; the turn holds
    /// all of them in either case.
    ///
    /// # Errors
    /// [`ModelError`] when there is none.
    async fn complete(
        &self,
        request: &ModelRequest,
        words: Option<&dyn Words>,
    ) -> Result<ModelTurn, ModelError>;
}

#[async_trait]
impl<T: Model + ?Sized> Model for Arc<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        words: Option<&dyn Words>,
    ) -> Result<ModelTurn, ModelError> {
        T::complete(self, request, words).await
    }
}

#[async_trait]
impl<T: Model + ?Sized> Model for Box<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        words: Option<&dyn Words>,
    ) -> Result<ModelTurn, ModelError> {
        T::complete(self, request, words).await
    }
}
