//! Which sessions a caller may have: by the agent, the mode and the token that it came in with.

use std::fmt;
use std::sync::Arc;

use toolsearch_schema::names::sanitise_label;

use crate::source::SessionSource;

/// Most characters of a name that a caller gave.
const MAX_NAME_CHARS: usize = 120;

/// How a caller came in. The agent and the token are proven where tokens are configured; the mode is a
/// wish.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Entrance {
    /// The agent that it acts as; `None` for whoever the configuration means by nobody in particular.
    pub agent: Option<String>,
    /// The mode that it asked for, as it wrote it.
    pub mode: Option<String>,
    /// The name of its token; `None` where nobody is asked for one.
    pub token: Option<String>,
}

impl Entrance {
    /// An entrance; texts are cut and cleaned so that they can be printed.
    #[must_use]
    pub fn new(agent: Option<&str>, mode: Option<&str>, token: Option<&str>) -> Self {
        let clean = |text: Option<&str>| text.map(|text| sanitise_label(text, MAX_NAME_CHARS));
        Self {
            agent: clean(agent),
            mode: clean(mode),
            token: clean(token),
        }
    }
}

/// Why there are no sessions behind an entrance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EntranceError {
    /// No agent of that name is configured.
    #[error("there is no such agent; leave it out, or name one of the configuration")]
    UnknownAgent,
    /// The mode has no meaning.
    #[error("there is no such mode; use code, tools, directory or direct")]
    UnknownMode,
    /// Nothing can be served there now. The caller is told the text, so it must hold no secrets.
    #[error("{0}")]
    Refused(String),
}

/// Gives the source of sessions behind every entrance. Asked once per connection, so an
/// implementation that is told of a new configuration answers with it from then on; sessions that
/// are open learn of it through [`SessionSource::changes`].
pub trait Entrances: fmt::Debug + Send + Sync {
    /// The source for callers of this entrance.
    ///
    /// # Errors
    /// [`EntranceError`] when there is none; the caller is told its text.
    fn source(&self, entrance: &Entrance) -> Result<Arc<dyn SessionSource>, EntranceError>;

    /// Whether callers find what they will find later, too. False while servers start.
    fn ready(&self) -> bool {
        true
    }
}

impl<T: Entrances + ?Sized> Entrances for Arc<T> {
    fn source(&self, entrance: &Entrance) -> Result<Arc<dyn SessionSource>, EntranceError> {
        T::source(self, entrance)
    }

    fn ready(&self) -> bool {
        T::ready(self)
    }
}
