//! Listing tools, and saying honestly what could not be listed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use serde::Serialize;
use toolsearch_catalog::{Rejected, Source, ToolDescriptor};

/// What kind of trouble an owner is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum OutageKind {
    /// Not answered yet, but expected to.
    Starting,
    /// Could not be started or reached, or does not answer.
    Failed,
    /// Switched off by the operator.
    Disabled,
    /// Wants a setting or credential that is missing.
    NeedsConfiguration,
}

/// An owner whose tools are missing, or present only from a cached list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Outage {
    /// The owner.
    pub owner: String,
    /// The kind of trouble.
    pub kind: OutageKind,
    /// Why, for people and models: bounded, without secrets or control characters.
    pub reason: String,
}

impl Outage {
    /// Names an owner in trouble.
    #[must_use]
    pub fn new(owner: impl Into<String>, kind: OutageKind, reason: impl Into<String>) -> Self {
        Self {
            owner: owner.into(),
            kind,
            reason: reason.into(),
        }
    }
}

/// The tools of one owner at one time.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Listing {
    /// Where the tools come from.
    pub source: Source,
    /// The owner.
    pub owner: String,
    /// What the owner says about itself, in its own words; may be empty, long or hostile.
    pub description: String,
    /// The tools, in the owner's order.
    pub tools: Vec<Arc<ToolDescriptor>>,
    /// Tools that could not be read.
    pub rejected: Vec<Rejected>,
    /// Set when the owner did not answer, even if cached tools are listed.
    pub outage: Option<Outage>,
}

impl Listing {
    /// A complete listing.
    #[must_use]
    pub fn new(source: Source, owner: impl Into<String>, tools: Vec<Arc<ToolDescriptor>>) -> Self {
        let owner = owner.into();
        let description = String::new();
        Self {
            source,
            owner,
            description,
            tools,
            rejected: Vec::new(),
            outage: None,
        }
    }

    /// A listing of no tools with the reason why.
    #[must_use]
    pub fn outage(source: Source, outage: Outage) -> Self {
        let owner = outage.owner.clone();
        Self {
            outage: Some(outage),
            ..Self::new(source, owner, Vec::new())
        }
    }
}

/// Lists the tools of one owner.
///
/// A provider answers within its own limits and never fails as a whole: trouble is part of the
/// [`Listing`].
#[async_trait]
pub trait Provider: fmt::Debug + Send + Sync {
    /// Where the tools come from.
    fn source(&self) -> Source;

    /// The owner, as in the ids of its tools.
    fn owner(&self) -> &str;

    /// The tools now.
    async fn list(&self) -> Listing;
}

#[async_trait]
impl<T: Provider + ?Sized> Provider for Arc<T> {
    fn source(&self) -> Source {
        T::source(self)
    }

    fn owner(&self) -> &str {
        T::owner(self)
    }

    async fn list(&self) -> Listing {
        T::list(self).await
    }
}

#[async_trait]
impl<T: Provider + ?Sized> Provider for Box<T> {
    fn source(&self) -> Source {
        T::source(self)
    }

    fn owner(&self) -> &str {
        T::owner(self)
    }

    async fn list(&self) -> Listing {
        T::list(self).await
    }
}

/// Lists nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoProvider;

#[async_trait]
impl Provider for NoProvider {
    fn source(&self) -> Source {
        Source::Native
    }

    fn owner(&self) -> &str {
        "none"
    }

    async fn list(&self) -> Listing {
        Listing::new(Source::Native, "none", Vec::new())
    }
}
