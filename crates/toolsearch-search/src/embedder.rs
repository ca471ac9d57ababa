//! The contract of embedders: texts in, vectors out. Not here: what vectors are good for, where they
//! are kept, and how long anybody waits.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;

/// Most bytes of one text. Whoever asks cuts longer ones at a character before.
pub const MAX_TEXT_BYTES: usize = 4096;
/// Most texts of one call, whatever [`Embedder::batch`] says.
pub const MAX_BATCH: usize = 64;
/// Most numbers of one vector.
pub const MAX_DIMENSIONS: usize = 8192;

/// What a text is. Some models treat the two differently. Complete: a third role would need another
/// contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextRole {
    /// What somebody looks for.
    Query,
    /// What can be found.
    Document,
}

/// Why there are no vectors. The texts never hold a key, a password, or an address with one in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EmbedError {
    /// It did not work now and may work later: a server is busy, a connection broke.
    #[error("{0}")]
    Unavailable(String),
    /// It will not work until a person changes something: a file is missing, a key is refused.
    #[error("{0}")]
    Misconfigured(String),
}

/// Makes vectors of texts, such that texts of like meaning have vectors of like direction.
///
/// An answer holds one vector for each text, in their order. All vectors of one embedder have the
/// same number of dimensions, at least 1 and at most [`MAX_DIMENSIONS`], all finite and not all zero;
/// their length says nothing. Equal texts of equal role give vectors of equal direction as far as
/// arithmetic allows. No texts give no vectors. Any text is valid, the empty one as well.
///
/// Whoever asks keeps to [`MAX_TEXT_BYTES`] and [`Embedder::batch`], sets the time limit, and checks
/// what comes back: an embedder may be a server of somebody else. Dropping the future ends the work as
/// soon as the embedder can. Calls may run at once; an embedder may make them wait for each other.
#[async_trait]
pub trait Embedder: fmt::Debug + Send + Sync {
    /// The name that stands in logs and evidence, safe to print.
    fn name(&self) -> &str;

    /// Names everything on which vectors depend: model, version, what is put before a text. Vectors
    /// from embedders of equal space may be mixed and kept; of different ones never. Holds no secret.
    fn space(&self) -> &str;

    /// How many texts one call takes best, at least 1.
    fn batch(&self) -> usize {
        16
    }

    /// Whether texts of like meaning have vectors of like direction also when their languages differ. Only
    /// then is a vector believed where no word of a query can be read.
    fn is_multilingual(&self) -> bool {
        false
    }

    /// Gets ready, so that the first text is not slower than the next.
    ///
    /// # Errors
    /// [`EmbedError`] when it is known already that there will be no vectors.
    async fn warm(&self) -> Result<(), EmbedError> {
        Ok(())
    }

    /// Makes vectors.
    ///
    /// # Errors
    /// [`EmbedError`] when there are none; there is never a part of an answer.
    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError>;
}

#[async_trait]
impl<T: Embedder + ?Sized> Embedder for Arc<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    fn space(&self) -> &str {
        T::space(self)
    }

    fn batch(&self) -> usize {
        T::batch(self)
    }

    fn is_multilingual(&self) -> bool {
        T::is_multilingual(self)
    }

    async fn warm(&self) -> Result<(), EmbedError> {
        T::warm(self).await
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        T::embed(self, role, texts).await
    }
}

#[async_trait]
impl<T: Embedder + ?Sized> Embedder for Box<T> {
    fn name(&self) -> &str {
        T::name(self)
    }

    fn space(&self) -> &str {
        T::space(self)
    }

    fn batch(&self) -> usize {
        T::batch(self)
    }

    fn is_multilingual(&self) -> bool {
        T::is_multilingual(self)
    }

    async fn warm(&self) -> Result<(), EmbedError> {
        T::warm(self).await
    }

    async fn embed(&self, role: TextRole, texts: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        T::embed(self, role, texts).await
    }
}

/// Has no vectors, and gives the reason that it was made with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoEmbedder(pub EmbedError);

#[async_trait]
impl Embedder for NoEmbedder {
    fn name(&self) -> &str {
        "none"
    }

    fn space(&self) -> &str {
        "none"
    }

    async fn embed(&self, _: TextRole, _: &[String]) -> Result<Vec<Vec<f32>>, EmbedError> {
        Err(self.0.clone())
    }
}

/// Why meaning did not count in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum LeftOutReason {
    /// The embedder failed, or what it gave cannot be used.
    Failed,
    /// The embedder took longer than it was given.
    Slow,
    /// The embedder cannot work as it is set up.
    Misconfigured,
    /// Too few tools have vectors so far.
    Indexing,
}

impl LeftOutReason {
    /// The word for programs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Slow => "slow",
            Self::Misconfigured => "misconfigured",
            Self::Indexing => "indexing",
        }
    }
}

/// Says that an answer was found by words alone although meaning was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The kind of trouble.
    pub reason: LeftOutReason,
    /// What happened, for a person: at most some hundred printable characters, without secrets.
    pub detail: String,
}

impl LeftOut {
    /// A reason with what happened.
    #[must_use]
    pub fn new(reason: LeftOutReason, detail: impl Into<String>) -> Self {
        Self {
            reason,
            detail: detail.into(),
        }
    }
}
