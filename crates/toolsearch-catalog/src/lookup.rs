//! From a model's spelling to one tool. Everything here reads the one snapshot, so a tool that
//! policy removed can be neither found nor suggested.

use std::collections::HashMap;
use std::sync::Arc;

use toolsearch_schema::names::{clip, fold, provider_name};

use crate::descriptor::ToolDescriptor;
use crate::id::{Source, ToolId};
use crate::near::{Asked, Forms};

/// How many near ids an error carries at most.
pub const MAX_SUGGESTIONS: usize = 3;

/// How many exact ids an ambiguity lists at most.
const MAX_CANDIDATES: usize = 8;

/// Longest text that is looked at; a longer one names nothing.
const MAX_LOOKUP_BYTES: usize = 512;

/// Why a text names no single tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LookupError {
    /// No tool has this name.
    #[error("no tool is named `{asked}`")]
    Unknown {
        /// What was asked for, cut to a printable length.
        asked: String,
        /// Near ids, best first, at most [`MAX_SUGGESTIONS`].
        suggestions: Vec<ToolId>,
    },
    /// Several tools share this name.
    #[error("`{asked}` names several tools")]
    Ambiguous {
        /// What was asked for, cut to a printable length.
        asked: String,
        /// The exact ids, sorted.
        candidates: Vec<ToolId>,
    },
}

/// Folded names of a snapshot. The map is only ever asked, never walked, so its order reaches
/// nothing.
#[derive(Debug)]
pub(crate) struct NameIndex {
    folded: HashMap<String, Vec<u32>>,
    forms: Forms,
}

impl NameIndex {
    pub(crate) fn new(entries: &[Arc<ToolDescriptor>]) -> Self {
        let mut index = Self {
            folded: HashMap::with_capacity(entries.len() * 4),
            forms: Forms::new(entries),
        };
        for (at, tool) in (0u32..).zip(entries) {
            for name in folded_names(tool) {
                index.push(name, at);
            }
        }
        index
    }

    fn push(&mut self, key: String, at: u32) {
        if key.is_empty() {
            return;
        }
        let places = self.folded.entry(key).or_default();
        if places.last() != Some(&at) {
            places.push(at);
        }
    }

    pub(crate) fn resolve(
        &self,
        entries: &[Arc<ToolDescriptor>],
        text: &str,
    ) -> Result<usize, LookupError> {
        let text = text.trim();
        if text.len() <= MAX_LOOKUP_BYTES {
            if let Ok(at) = entries.binary_search_by(|tool| tool.id.as_str().cmp(text)) {
                return Ok(at);
            }
            if let Some(places) = self.folded.get(&fold(text)) {
                return only(entries, text, places);
            }
        }
        let suggestions = self.nearest(entries, text, MAX_SUGGESTIONS);
        Err(LookupError::Unknown {
            asked: clip(text, 80),
            suggestions,
        })
    }

    pub(crate) fn folded(&self, text: &str) -> Vec<usize> {
        if text.len() > MAX_LOOKUP_BYTES {
            return Vec::new();
        }
        let places = self.folded.get(&fold(text));
        places
            .into_iter()
            .flatten()
            .map(|at| *at as usize)
            .collect()
    }

    pub(crate) fn nearest(
        &self,
        entries: &[Arc<ToolDescriptor>],
        text: &str,
        at_most: usize,
    ) -> Vec<ToolId> {
        let text = text
            .get(..text.floor_char_boundary(MAX_LOOKUP_BYTES))
            .unwrap_or(text);
        let mut asked = Asked::new(text);
        if asked.is_empty() {
            return Vec::new();
        }
        // Best first, and of equal ones the first id: the entries come in that order.
        let mut best: Vec<(u32, usize)> = Vec::new();
        for (at, tool) in entries.iter().enumerate() {
            let floor = match best.last() {
                Some((worst, _)) if best.len() >= at_most => *worst,
                _ => 0,
            };
            let score = asked.nearness(&self.forms, at, floor);
            if score > floor && tool.id.as_str() != text {
                let place = best.partition_point(|(other, _)| *other >= score);
                best.insert(place, (score, at));
                best.truncate(at_most);
            }
        }
        best.iter().map(|(_, at)| entries[*at].id.clone()).collect()
    }
}

/// The one of several tools that share a folded name which is written exactly as asked.
fn only(entries: &[Arc<ToolDescriptor>], text: &str, places: &[u32]) -> Result<usize, LookupError> {
    let written = |at: &&u32| written_names(&entries[**at as usize]).any(|name| name == text);
    let exact: Vec<u32> = places.iter().filter(written).copied().collect();
    match (&exact[..], places) {
        ([one], _) | ([], [one]) => Ok(*one as usize),
        ([], several) => Err(ambiguous(entries, text, several)),
        (several, _) => Err(ambiguous(entries, text, several)),
    }
}

/// Every spelling under which a tool may be asked for, besides its id.
fn written_names(tool: &ToolDescriptor) -> impl Iterator<Item = String> {
    let (owner, name, source) = (&tool.owner, &tool.name, tool.source());
    let openclaw = matches!(source, Source::Native | Source::Plugin);
    let owned = ["__", ":", ".", "/"]
        .into_iter()
        .map(move |mark| format!("{owner}{mark}{name}"));
    [
        name.clone(),
        tool.id.name().to_owned(),
        provider_name(owner, name),
    ]
    .into_iter()
    .chain(owned)
    .chain([format!("{source}__{owner}__{name}")])
    .chain(openclaw.then(|| format!("openclaw:{owner}:{name}")))
    .chain(tool.aliases.iter().cloned())
}

/// The same spellings folded, each once: separators are gone, so few are left.
fn folded_names(tool: &ToolDescriptor) -> Vec<String> {
    let (name, owner) = (fold(&tool.name), fold(&tool.owner));
    let owned = if name.is_ascii() && owner.is_ascii() {
        format!("{owner}{name}")
    } else {
        fold(&format!("{}__{}", tool.owner, tool.name))
    };
    let alias = provider_name(&tool.owner, &tool.name);
    let mut names = vec![format!("{}{owned}", tool.source())];
    if matches!(tool.source(), Source::Native | Source::Plugin) {
        names.push(format!("openclaw{owned}"));
    }
    if !is_joined(&alias, &tool.owner, &tool.name) {
        names.push(fold(&alias));
    }
    if tool.id.name() != tool.name {
        names.push(fold(tool.id.name()));
    }
    names.extend(tool.aliases.iter().map(|alias| fold(alias)));
    names.extend([name, owned]);
    names
}

/// Whether an alias is `owner__name` and so folds to what is there already.
fn is_joined(alias: &str, owner: &str, name: &str) -> bool {
    let rest = alias.strip_prefix(owner);
    rest.and_then(|rest| rest.strip_prefix("__")) == Some(name)
}

fn ambiguous(entries: &[Arc<ToolDescriptor>], text: &str, places: &[u32]) -> LookupError {
    let ids = places
        .iter()
        .take(MAX_CANDIDATES)
        .map(|at| entries[*at as usize].id.clone());
    LookupError::Ambiguous {
        asked: clip(text, 80),
        candidates: ids.collect(),
    }
}
