//! What servers have besides tools: resources, prompts and completion. A client of the gateway sees
//! those of all servers, under names that say whose they are; entries and answers are handed on as
//! the servers gave them.
//!
//! Not here: how a server is asked. Whoever composes the product implements [`Shelf`].

mod names;
mod shelves;
mod watched;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value};

use crate::clients::ClientName;

pub(crate) use self::shelves::{METHODS, ROUNDS, Shelves, text};
pub(crate) use self::watched::Watched;

/// What a shelf can be asked for. Names are the server's own.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum ShelfRequest {
    /// The list of resources, as a JSON array.
    Resources,
    /// The list of templates of resources, as a JSON array.
    Templates,
    /// The whole result of reading a resource.
    Read {
        /// Which.
        uri: String,
    },
    /// To be told when a resource changes. The answer means nothing.
    Subscribe {
        /// Which.
        uri: String,
    },
    /// The list of prompts, as a JSON array.
    Prompts,
    /// The whole result of getting a prompt.
    Prompt {
        /// Which.
        name: String,
        /// Its arguments.
        arguments: Map<String, Value>,
    },
    /// The whole result of completing an argument.
    Complete {
        /// The parameters, with the server's own names.
        params: Value,
    },
}

/// Why a shelf gave nothing.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ShelfError {
    /// The server cannot be reached now. The client is told the text, so it must hold no secrets.
    #[error("{0}")]
    Unavailable(String),
    /// The server said no.
    #[error("{message}")]
    Refused {
        /// Its code, where it gave one.
        code: Option<i32>,
        /// Its words.
        message: String,
    },
}

impl ShelfError {
    /// The server said no, in these words and without a code.
    #[must_use]
    pub fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            code: None,
            message: message.into(),
        }
    }
}

/// The resources and prompts of one server.
#[async_trait]
pub trait Shelf: fmt::Debug + Send + Sync {
    /// The server's name in the configuration.
    fn owner(&self) -> &str;

    /// Asks the server. A list of what it does not have is empty. What the server has to ask before
    /// it can read a resource or give a prompt, it asks `client`, where one is named.
    ///
    /// # Errors
    /// [`ShelfError`], at the latest after `wait`.
    async fn ask(
        &self,
        request: ShelfRequest,
        client: Option<&ClientName>,
        wait: Duration,
    ) -> Result<Value, ShelfError>;
}

/// What changed on a shelf.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShelfEvent {
    /// The list of resources or templates.
    Resources,
    /// The list of prompts.
    Prompts,
    /// A resource that somebody subscribed to.
    Resource {
        /// Which, by the server's own name.
        uri: String,
    },
}

/// Something changed on the shelf of one server.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct News {
    /// Whose.
    pub owner: String,
    /// What.
    pub event: ShelfEvent,
}

impl News {
    /// News of one server.
    #[must_use]
    pub fn new(owner: impl Into<String>, event: ShelfEvent) -> Self {
        Self {
            owner: owner.into(),
            event,
        }
    }
}
