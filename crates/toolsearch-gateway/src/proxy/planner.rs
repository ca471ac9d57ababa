//! Who plans the sessions behind the proxy, and which providers there are. Whoever composes the product
//! implements the one and fills in the other.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use toolsearch_dialect::{Dialect, Native};
use toolsearch_invoke::Listing;
use toolsearch_runtime::Session;

use crate::entrance::{Entrance, EntranceError};

/// What a session behind a request is planned from.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Wish {
    /// How the caller came in.
    pub entrance: Entrance,
    /// The tools that the client sent.
    pub client: Option<Listing>,
    /// `provider/model`, for rules that depend on it.
    pub provider: String,
    /// The name of the session to go on with; a new one is made otherwise. Only names that were given
    /// by a planner come back.
    pub session: Option<String>,
    /// The session itself, where this process still has it.
    pub continues: Option<Session>,
    /// The user's first words, for choosing likely schemas.
    pub first_message: Option<String>,
    /// The model's context in tokens.
    pub context_tokens: Option<usize>,
}

/// Plans sessions over the gateway's own sources and the tools of a client, under the rules that hold
/// for the caller.
#[async_trait]
pub trait Planner: fmt::Debug + Send + Sync {
    /// Whether tool search is on for an entrance. Off, requests pass as they are.
    ///
    /// # Errors
    /// [`EntranceError`] when nothing is behind the entrance.
    fn searches(&self, entrance: &Entrance) -> Result<bool, EntranceError>;

    /// Plans a session.
    ///
    /// # Errors
    /// [`EntranceError`]; the client is told its text.
    async fn plan(&self, wish: Wish) -> Result<Session, EntranceError>;

    /// Another number whenever a session planned now could differ from one planned before.
    fn generation(&self) -> u64 {
        0
    }
}

#[async_trait]
impl<T: Planner + ?Sized> Planner for Arc<T> {
    fn searches(&self, entrance: &Entrance) -> Result<bool, EntranceError> {
        T::searches(self, entrance)
    }

    async fn plan(&self, wish: Wish) -> Result<Session, EntranceError> {
        T::plan(self, wish).await
    }

    fn generation(&self) -> u64 {
        T::generation(self)
    }
}

/// Whether a provider's own loading of deferred tools is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum NativeSearch {
    /// Where it is known to work: at the provider that invented it.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// One provider of models.
#[derive(Clone)]
#[non_exhaustive]
pub struct ModelProvider {
    /// Its name, which may stand before a model's.
    pub name: String,
    /// What it speaks.
    pub dialects: Vec<Dialect>,
    /// Address of its API, as far as the version.
    pub base_url: String,
    /// Key sent to it; without one the client's own is passed on.
    pub api_key: Option<String>,
    /// Size of its context window, in tokens.
    pub context_tokens: Option<usize>,
    /// Whether its own loading of deferred tools is used.
    pub native: NativeSearch,
    /// Why it cannot be used, if so.
    pub unusable: Option<String>,
}

impl ModelProvider {
    /// A provider that is sent the client's own key.
    #[must_use]
    pub fn new(
        name: impl Into<String>,
        dialects: Vec<Dialect>,
        base_url: impl Into<String>,
    ) -> Self {
        Self {
            name: name.into(),
            dialects,
            base_url: base_url.into(),
            api_key: None,
            context_tokens: None,
            native: NativeSearch::Auto,
            unusable: None,
        }
    }

    /// What becomes of tools that are to be deferred, in a dialect.
    pub(crate) fn native(&self, dialect: Dialect) -> Native {
        let home = match dialect {
            Dialect::OpenAiChat => None,
            Dialect::OpenAiResponses => Some("https://api.openai.com/"),
            Dialect::AnthropicMessages => Some("https://api.anthropic.com/"),
        };
        let known = home.is_some_and(|home| self.base_url.starts_with(home));
        match self.native {
            NativeSearch::On => Native::Passed,
            NativeSearch::Auto if known => Native::Passed,
            _ => Native::Replaced,
        }
    }
}

impl fmt::Debug for ModelProvider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ModelProvider")
            .field("name", &self.name)
            .field("dialects", &self.dialects)
            .field("native", &self.native)
            .finish_non_exhaustive()
    }
}
