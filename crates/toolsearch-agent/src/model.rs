//! The contract of a model: a conversation and declared tools go in, one turn comes out.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

/// A tool as it is declared to a model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolSpec {
    /// The name to call it by.
    pub name: String,
    /// What it does.
    pub description: String,
    /// JSON Schema of its arguments.
    pub parameters: Value,
}

impl ToolSpec {
    /// Declares a tool.
    #[must_use]
    pub fn new(name: impl Into<String>, description: impl Into<String>, parameters: Value) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters,
        }
    }
}

/// The arguments of a call as far as they can be read.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "arguments are an object or they are not"
)]
pub enum Arguments {
    /// An object; what was empty or null is an empty one.
    Object(Map<String, Value>),
    /// Something else: the call must not run.
    Unreadable {
        /// What was sent, cut to a readable length.
        excerpt: String,
        /// What is wrong with it.
        problem: String,
    },
}

/// A tool that the model calls.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolCall {
    /// Ties the answer to the call; unique within its turn.
    pub id: String,
    /// The name that the model used.
    pub name: String,
    /// The arguments.
    pub arguments: Arguments,
}

impl ToolCall {
    /// A call.
    #[must_use]
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: Arguments) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments,
        }
    }
}

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

/// What a model says in one turn.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelTurn {
    /// Its words; may be empty when it calls tools.
    pub text: String,
    /// The tools that it calls, in order.
    pub calls: Vec<ToolCall>,
    /// The turn was cut off by a limit on the model's side.
    pub cut: bool,
    /// What was sent to get it.
    pub sent: Sent,
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
    pub fn calling(calls: Vec<ToolCall>) -> Self {
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
    /// The answer to a call of the turn before.
    Tool {
        /// The call's id.
        call: String,
        /// What came back.
        text: String,
    },
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
    pub tools: Vec<ToolSpec>,
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

/// Completes conversations.
///
/// Dropping the future cancels the request. A model keeps nothing between turns: the request holds
/// the whole conversation. It must bound what it reads and must give every call of a turn an id of
/// its own.
#[async_trait]
pub trait Model: fmt::Debug + Send + Sync {
    /// The model's name, for people.
    fn name(&self) -> &str;

    /// The next turn.
    ///
    /// # Errors
    /// [`ModelError`] when there is none.
    async fn complete(&self, request: &ModelRequest) -> Result<ModelTurn, ModelError>;
}

#[async_trait]
impl<T: Model + ?Sized> Model for Arc<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelTurn, ModelError> {
        T::complete(self, request).await
    }
}

#[async_trait]
impl<T: Model + ?Sized> Model for Box<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelTurn, ModelError> {
        T::complete(self, request).await
    }
}
