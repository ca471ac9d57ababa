//! The rule evaluator: layers of allow, deny and ask lists, each of which only narrows.

use std::collections::BTreeMap;

use toolsearch_catalog::ToolDescriptor;

use crate::decision::{Decision, Policy, Reason, Subject};
use crate::glob::Glob;

/// How deep groups may name groups.
const MAX_GROUP_DEPTH: usize = 8;

/// The lists of one layer as written. Entries are globs or `group:NAME`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LayerRules {
    /// Only these; `None` allows everything, an empty list nothing.
    pub allow: Option<Vec<String>>,
    /// Never these.
    pub deny: Vec<String>,
    /// These only when a person agrees to the single call.
    pub ask: Vec<String>,
}

/// To whom a layer applies.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// Everyone.
    Global,
    /// One agent.
    Agent(String),
    /// One provider, or one provider and model.
    Provider(String),
    /// One channel.
    Channel(String),
}

impl Layer {
    fn applies(&self, subject: &Subject) -> bool {
        match self {
            Self::Global => true,
            Self::Agent(id) => subject.agent.as_ref() == Some(id),
            Self::Channel(id) => subject.channel.as_ref() == Some(id),
            Self::Provider(id) => subject.provider.as_ref().is_some_and(|provider| {
                provider == id || provider.split('/').next() == Some(id.as_str())
            }),
        }
    }

    fn label(&self) -> String {
        match self {
            Self::Global => "global".to_owned(),
            Self::Agent(id) => format!("agent {id}"),
            Self::Provider(id) => format!("provider {id}"),
            Self::Channel(id) => format!("channel {id}"),
        }
    }
}

/// A rule set that cannot do what it says.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RuleFault {
    /// An entry names a group that does not exist.
    #[error("{layer}: `{entry}` names no group; groups are {known}")]
    UnknownGroup {
        /// The layer.
        layer: String,
        /// The entry as written.
        entry: String,
        /// The groups that exist, comma-separated.
        known: String,
    },
    /// Groups name each other in a circle, or too deep.
    #[error("{layer}: `{entry}` nests groups in a circle or deeper than {MAX_GROUP_DEPTH}")]
    GroupDepth {
        /// The layer.
        layer: String,
        /// The entry as written.
        entry: String,
    },
    /// An allow list of which no entry covers any tool: the layer would hide everything.
    #[error("{layer}: the allow list covers no tool; entries: {entries}")]
    NothingAllowed {
        /// The layer.
        layer: String,
        /// The entries, comma-separated.
        entries: String,
    },
}

#[derive(Debug, Clone)]
struct Compiled {
    layer: Layer,
    label: String,
    allow: Option<Vec<Glob>>,
    deny: Vec<Glob>,
    ask: Vec<Glob>,
}

/// Layers of rules. Every layer that applies to a subject is asked; the strictest answer stands.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    layers: Vec<Compiled>,
}

impl Rules {
    /// No rules: everything is allowed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer. `groups` maps `group:NAME` to its entries, which may be groups again.
    ///
    /// # Errors
    /// [`RuleFault`] for a group that is unknown or nests in a circle.
    pub fn layer(
        mut self,
        layer: Layer,
        rules: &LayerRules,
        groups: &BTreeMap<String, Vec<String>>,
    ) -> Result<Self, RuleFault> {
        let label = layer.label();
        let expand = |entries: &[String]| expand(&label, entries, groups, 0);
        let allow = rules.allow.as_deref().map(expand).transpose()?;
        let deny = expand(&rules.deny)?;
        let ask = expand(&rules.ask)?;
        self.layers.push(Compiled {
            label,
            layer,
            allow,
            deny,
            ask,
        });
        Ok(self)
    }

    /// The answer of every layer that applies, in order.
    #[must_use]
    pub fn explain(&self, subject: &Subject, tool: &ToolDescriptor) -> Vec<(String, Decision)> {
        self.applying(subject)
            .map(|layer| (layer.label.clone(), layer.decide(tool)))
            .collect()
    }

    fn applying<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = &'a Compiled> {
        self.layers
            .iter()
            .filter(|compiled| compiled.layer.applies(subject))
    }
}

impl Compiled {
    fn decide(&self, tool: &ToolDescriptor) -> Decision {
        let covering = |globs: &[Glob]| globs.iter().find(|glob| glob.covers(tool)).cloned();
        if let Some(glob) = covering(&self.deny) {
            return Decision::Deny(Reason::new(&self.label, format!("deny {glob}")));
        }
        if self
            .allow
            .as_deref()
            .is_some_and(|allow| covering(allow).is_none())
        {
            return Decision::Deny(Reason::new(&self.label, "not in the allow list"));
        }
        match covering(&self.ask) {
            Some(glob) => Decision::Ask(Reason::new(&self.label, format!("ask {glob}"))),
            None => Decision::Allow,
        }
    }
}

impl Policy for Rules {
    fn check(&self, subject: &Subject, tools: &[&ToolDescriptor]) -> Result<(), RuleFault> {
        if tools.is_empty() {
            return Ok(());
        }
        for compiled in self.applying(subject) {
            let Some(allow) = compiled.allow.as_ref().filter(|allow| !allow.is_empty()) else {
                continue;
            };
            if !tools
                .iter()
                .any(|tool| allow.iter().any(|glob| glob.covers(tool)))
            {
                let entries: Vec<&str> = allow.iter().map(Glob::as_str).collect();
                let layer = compiled.label.clone();
                return Err(RuleFault::NothingAllowed {
                    layer,
                    entries: entries.join(", "),
                });
            }
        }
        Ok(())
    }

    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision {
        self.applying(subject)
            .map(|layer| layer.decide(tool))
            .fold(Decision::Allow, Decision::and)
    }
}

fn expand(
    layer: &str,
    entries: &[String],
    groups: &BTreeMap<String, Vec<String>>,
    depth: usize,
) -> Result<Vec<Glob>, RuleFault> {
    let mut globs = Vec::new();
    for entry in entries {
        if !entry.starts_with("group:") {
            globs.push(Glob::new(entry.as_str()));
            continue;
        }
        if depth >= MAX_GROUP_DEPTH {
            return Err(RuleFault::GroupDepth {
                layer: layer.to_owned(),
                entry: entry.clone(),
            });
        }
        let members = groups.get(entry).ok_or_else(|| RuleFault::UnknownGroup {
            layer: layer.to_owned(),
            entry: entry.clone(),
            known: groups
                .keys()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", "),
        })?;
        globs.extend(expand(layer, members, groups, depth + 1)?);
    }
    Ok(globs)
}
