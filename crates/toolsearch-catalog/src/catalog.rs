//! The immutable snapshot: entries sorted by id, looked up by id and by name, with a fingerprint.
//! Not here: policy (it decides what gets in) and ranking (it reads what is in).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use crate::descriptor::ToolDescriptor;
use crate::fingerprint::Fingerprint;
use crate::id::ToolId;
use crate::lookup::{LookupError, NameIndex};

/// Why a tool was set aside. Only that tool is; the others stay.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectedReason {
    /// Another tool has this id already; the first one stays.
    #[error("another tool already has the id {0}")]
    DuplicateId(ToolId),
    /// The owner's definition cannot be read.
    #[error("{0}")]
    Unreadable(String),
}

/// A tool that was set aside, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// The owner, for people.
    pub owner: String,
    /// The tool's name as far as it could be read, made safe to print.
    pub name: String,
    /// What was wrong.
    pub reason: RejectedReason,
}

impl Rejected {
    /// Names a tool that was set aside.
    #[must_use]
    pub fn new(owner: &str, name: &str, reason: RejectedReason) -> Self {
        Self {
            owner: owner.to_owned(),
            name: name.to_owned(),
            reason,
        }
    }
}

/// What changed between two snapshots.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Only in the newer one.
    Added(ToolId),
    /// Only in the older one.
    Removed(ToolId),
    /// In both, with another definition.
    Changed(ToolId),
}

/// All changes, sorted by id.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Diff {
    /// One entry a changed tool.
    pub changes: Vec<Change>,
}

impl Diff {
    /// Whether the snapshots hold the same tools.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

#[derive(Debug)]
struct Inner {
    entries: Vec<Arc<ToolDescriptor>>,
    hashes: Vec<Fingerprint>,
    /// Made at the first lookup: a snapshot that turns out to equal another is never asked.
    names: OnceLock<NameIndex>,
    fingerprint: Fingerprint,
}

/// An immutable set of tools, sorted by id. Cloning shares it.
#[derive(Debug, Clone)]
pub struct Catalog {
    inner: Arc<Inner>,
}

/// Collects descriptors in any order and makes one [`Catalog`] of them.
#[derive(Debug, Default)]
pub struct CatalogBuilder {
    entries: BTreeMap<ToolId, Arc<ToolDescriptor>>,
    rejected: Vec<Rejected>,
}

impl CatalogBuilder {
    /// An empty builder.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one tool. A second tool with an id that is taken is set aside and reported.
    pub fn add(&mut self, tool: impl Into<Arc<ToolDescriptor>>) -> &mut Self {
        let tool = tool.into();
        if self.entries.contains_key(&tool.id) {
            let reason = RejectedReason::DuplicateId(tool.id.clone());
            self.rejected
                .push(Rejected::new(&tool.owner, tool.id.name(), reason));
        } else {
            self.entries.insert(tool.id.clone(), tool);
        }
        self
    }

    /// Makes the snapshot, and tells what was set aside.
    #[must_use]
    pub fn build(self) -> (Catalog, Vec<Rejected>) {
        (
            Catalog::from_sorted(self.entries.into_values().collect()),
            self.rejected,
        )
    }
}

impl<T: Into<Arc<ToolDescriptor>>> FromIterator<T> for Catalog {
    /// Builds a snapshot; of tools with equal ids the first stays.
    fn from_iter<I: IntoIterator<Item = T>>(tools: I) -> Self {
        let mut builder = CatalogBuilder::new();
        for tool in tools {
            builder.add(tool);
        }
        builder.build().0
    }
}

impl Catalog {
    /// A snapshot of no tools.
    #[must_use]
    pub fn empty() -> Self {
        Self::from_sorted(Vec::new())
    }

    fn from_sorted(entries: Vec<Arc<ToolDescriptor>>) -> Self {
        let hashes = entries.iter().map(|tool| tool.fingerprint()).collect();
        Self::from_parts(entries, hashes)
    }

    fn from_parts(entries: Vec<Arc<ToolDescriptor>>, hashes: Vec<Fingerprint>) -> Self {
        let fingerprint = Fingerprint::over(hashes.iter().map(|hash| hash.as_str().as_bytes()));
        let names = OnceLock::new();
        Self {
            inner: Arc::new(Inner {
                entries,
                hashes,
                names,
                fingerprint,
            }),
        }
    }

    fn names(&self) -> &NameIndex {
        self.inner
            .names
            .get_or_init(|| NameIndex::new(&self.inner.entries))
    }

    /// All tools, sorted by id.
    #[must_use]
    pub fn entries(&self) -> &[Arc<ToolDescriptor>] {
        &self.inner.entries
    }

    /// Number of tools.
    #[must_use]
    pub fn len(&self) -> usize {
        self.inner.entries.len()
    }

    /// Whether there is no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.inner.entries.is_empty()
    }

    /// The tool with exactly this id.
    #[must_use]
    pub fn get(&self, id: &ToolId) -> Option<&Arc<ToolDescriptor>> {
        self.position(id).map(|at| &self.inner.entries[at])
    }

    /// The place of an id in [`Catalog::entries`].
    #[must_use]
    pub fn position(&self, id: &ToolId) -> Option<usize> {
        self.inner
            .entries
            .binary_search_by(|tool| tool.id.cmp(id))
            .ok()
    }

    /// Finds the one tool that a model means: exact id, then its written aliases
    /// (`mcp__owner__name`, `owner__name`, `owner:name`, `owner.name`, `owner/name`,
    /// `openclaw:owner:name`), then a name that one tool alone has, first as written and then
    /// without regard to case and separators.
    ///
    /// # Errors
    /// [`LookupError::Ambiguous`] lists the exact ids; [`LookupError::Unknown`] carries up to
    /// three near ids, never the text that was asked for.
    pub fn resolve(&self, text: &str) -> Result<&Arc<ToolDescriptor>, LookupError> {
        self.names()
            .resolve(&self.inner.entries, text)
            .map(|at| &self.inner.entries[at])
    }

    /// The ids whose name, owned name or alias is `text` when case and separators are ignored.
    #[must_use]
    pub fn named(&self, text: &str) -> Vec<usize> {
        self.names().folded(text)
    }

    /// The nearest ids to a text that names nothing, best first.
    #[must_use]
    pub fn nearest(&self, text: &str, at_most: usize) -> Vec<ToolId> {
        self.names().nearest(&self.inner.entries, text, at_most)
    }

    /// The hash over everything that a model could see.
    #[must_use]
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.inner.fingerprint
    }

    /// The hash of the tool at a place of [`Catalog::entries`]: equal hashes mean equal tools.
    #[must_use]
    pub fn hash(&self, position: usize) -> Option<&Fingerprint> {
        self.inner.hashes.get(position)
    }

    /// The tools that `keep` holds on to. Narrowing is the only way from one snapshot to another.
    #[must_use]
    pub fn restrict(&self, keep: impl Fn(&ToolDescriptor) -> bool) -> Self {
        let kept = |at: &usize| keep(&self.inner.entries[*at]);
        let places: Vec<usize> = (0..self.len()).filter(kept).collect();
        if places.len() == self.len() {
            return self.clone();
        }
        let pick = |at: &usize| Arc::clone(&self.inner.entries[*at]);
        let hashes = places.iter().map(|at| self.inner.hashes[*at]).collect();
        Self::from_parts(places.iter().map(pick).collect(), hashes)
    }

    /// What a newer snapshot changed.
    #[must_use]
    pub fn diff(&self, newer: &Self) -> Diff {
        let ids: BTreeSet<&ToolId> = self
            .entries()
            .iter()
            .chain(newer.entries())
            .map(|tool| &tool.id)
            .collect();
        let change = |id: &ToolId| match (self.position(id), newer.position(id)) {
            (None, Some(_)) => Some(Change::Added(id.clone())),
            (Some(_), None) => Some(Change::Removed(id.clone())),
            (Some(old), Some(new)) if self.inner.hashes[old] != newer.inner.hashes[new] => {
                Some(Change::Changed(id.clone()))
            }
            _ => None,
        };
        Diff {
            changes: ids.into_iter().filter_map(change).collect(),
        }
    }

    /// Number of tools of each source that has any, in source order.
    #[must_use]
    pub fn sources(&self) -> BTreeMap<crate::Source, usize> {
        let mut counts = BTreeMap::new();
        for tool in self.entries() {
            *counts.entry(tool.source()).or_insert(0) += 1;
        }
        counts
    }
}
