//! From a model's spelling to one tool. Everything here reads the one snapshot, so a tool that
//! policy removed can be neither found nor suggested.

use std::collections::HashMap;
use std::sync::Arc;

use toolsearch_schema::names::{clip, edit_distance, fold, words};

use crate::descriptor::ToolDescriptor;
use crate::id::{Source, ToolId};

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

/// Names of a snapshot. The maps are only ever asked, never walked, so their order reaches nothing.
#[derive(Debug)]
pub(crate) struct NameIndex {
    exact: HashMap<String, Vec<u32>>,
    folded: HashMap<String, Vec<u32>>,
}

impl NameIndex {
    pub(crate) fn new(entries: &[Arc<ToolDescriptor>]) -> Self {
        let mut index = Self {
            exact: HashMap::new(),
            folded: HashMap::new(),
        };
        for (at, tool) in (0u32..).zip(entries) {
            for name in written_names(tool) {
                push(&mut index.folded, fold(&name), at);
                push(&mut index.exact, name, at);
            }
        }
        index
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
            let places = self
                .exact
                .get(text)
                .or_else(|| self.folded.get(&fold(text)));
            match places.map(Vec::as_slice) {
                Some([only]) => return Ok(*only as usize),
                Some(several) => return Err(ambiguous(entries, text, several)),
                None => {}
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
        let asked = text.rsplit([':', '/']).next().unwrap_or(text);
        let asked_words = words(text);
        let folded = fold(asked);
        if folded.is_empty() {
            return Vec::new();
        }
        let mut scored: Vec<(u32, &ToolId)> = entries
            .iter()
            .map(|tool| (nearness(tool, &folded, &asked_words), &tool.id))
            .filter(|(score, id)| *score > 0 && id.as_str() != text)
            .collect();
        scored.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        scored
            .into_iter()
            .take(at_most)
            .map(|(_, id)| id.clone())
            .collect()
    }
}

/// Every spelling under which a tool may be asked for, besides its id.
fn written_names(tool: &ToolDescriptor) -> Vec<String> {
    let (owner, name) = (tool.owner.as_str(), tool.name.as_str());
    let mut names = vec![
        name.to_owned(),
        format!("{owner}__{name}"),
        format!("{owner}:{name}"),
        format!("{owner}.{name}"),
        format!("{owner}/{name}"),
        format!("{}__{owner}__{name}", tool.source()),
        toolsearch_schema::names::provider_name(owner, name),
    ];
    if matches!(tool.source(), Source::Native | Source::Plugin) {
        names.push(format!("openclaw:{owner}:{name}"));
    }
    if tool.id.name() != name {
        names.push(tool.id.name().to_owned());
    }
    names.extend(tool.aliases.iter().cloned());
    names.sort_unstable();
    names.dedup();
    names
}

fn push(map: &mut HashMap<String, Vec<u32>>, key: String, at: u32) {
    if key.is_empty() {
        return;
    }
    let places = map.entry(key).or_default();
    if places.last() != Some(&at) {
        places.push(at);
    }
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

/// How near a tool is to a text that names nothing: whole-name containment, then small typing
/// errors, then shared words.
fn nearness(tool: &ToolDescriptor, folded: &str, asked: &[String]) -> u32 {
    let name = fold(&tool.name);
    let mut score = 0;
    let longer = folded.chars().count().max(name.chars().count());
    let budget = longer.div_ceil(4).clamp(1, 3);
    if let Some(distance) = edit_distance(folded, &name, budget) {
        score += 60 - 10 * u32::try_from(distance).unwrap_or(5).min(5);
    }
    if name.chars().count() >= 3 && (folded.contains(&name) || name.contains(folded)) {
        score += 40;
    }
    let own = words(&tool.name);
    let shared = asked.iter().filter(|word| own.contains(word)).count();
    if shared > 0 {
        score += 12 * u32::try_from(shared).unwrap_or(1);
        score += 4 * u32::from(asked.contains(&fold(&tool.owner)));
    }
    score
}
