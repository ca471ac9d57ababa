//! The rule evaluator: layers of allow, deny and ask lists, each of which only narrows.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use toolsearch_catalog::ToolDescriptor;
use toolsearch_schema::names::nearest;

use crate::decision::{Decision, Policy, Reason};
use crate::fault::RuleFault;
use crate::groups::{Entry, expand};
use crate::layer::{Layer, Stage};
use crate::subject::{MAX_PARENTS, Subject};

/// Most near misses that an error names.
const MAX_NEAR: usize = 5;
/// Most entries of an allow list for which near misses are looked up.
const MAX_MISSED: usize = 20;

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

#[derive(Debug, Clone)]
struct Compiled {
    layer: Layer,
    label: String,
    allow: Option<Vec<Entry>>,
    deny: Vec<Entry>,
    ask: Vec<Entry>,
}

/// What one layer says about a tool.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Explained {
    /// Where the layer stands in the order.
    pub stage: Stage,
    /// The layer, such as `agent support`.
    pub layer: String,
    /// For a rule that holds because of a parent: whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// Whether it applies to the subject.
    pub applies: bool,
    /// What it says, or would say if it applied. `None`: no rules are set.
    #[serde(flatten)]
    pub decision: Option<Decision>,
    /// The deciding rule, such as `deny group:runtime (bash)`.
    pub rule: String,
}

/// Layers of rules. Every layer that applies to a subject is asked, and every one that applies to a
/// parent of it; the strictest answer stands.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// In the order of their stages.
    layers: Vec<Compiled>,
    /// Agents with a profile of their own.
    profiled: BTreeSet<String>,
}

impl Rules {
    /// No rules: everything is allowed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a layer at its place in the order. `groups` maps `group:NAME` to its entries, which may be
    /// groups again.
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
        let expand = |entries: &[String]| expand(&label, entries, groups);
        let allow = rules.allow.as_deref().map(expand).transpose()?;
        let deny = expand(&rules.deny)?;
        let ask = expand(&rules.ask)?;
        if let Layer::Profile {
            agent: Some(agent), ..
        } = &layer
        {
            self.profiled.insert(agent.clone());
        }
        let stage = layer.stage();
        let at = self
            .layers
            .partition_point(|earlier| earlier.layer.stage() <= stage);
        let compiled = Compiled {
            label,
            layer,
            allow,
            deny,
            ask,
        };
        self.layers.insert(at, compiled);
        Ok(self)
    }

    /// What every layer says, in order: whether it applies, and its deciding rule. A stage without
    /// rules stands there as such. The layers of parents follow, then what is too deep.
    #[must_use]
    pub fn explain(&self, subject: &Subject, tool: &ToolDescriptor) -> Vec<Explained> {
        let mut explained = Vec::new();
        for stage in Stage::ALL {
            let mut layers = self
                .layers
                .iter()
                .filter(|compiled| compiled.layer.stage() == stage)
                .peekable();
            if layers.peek().is_none() {
                explained.push(Explained {
                    stage,
                    layer: stage.to_string(),
                    parent: None,
                    applies: false,
                    decision: None,
                    rule: "no rules are set".to_owned(),
                });
            }
            explained.extend(layers.map(|compiled| {
                let applies =
                    compiled
                        .layer
                        .applies(subject, subject.is_subagent(), &self.profiled);
                compiled.explained(tool, applies, None)
            }));
        }
        for (at, parent) in subject.parents().iter().enumerate() {
            let subagent = at + 1 < subject.parents().len();
            let layers = self.applying(parent, subagent);
            explained.extend(layers.map(|layer| layer.explained(tool, true, Some(parent.label()))));
        }
        if let Some(reason) = too_deep(subject) {
            explained.push(Explained {
                stage: Stage::Subagent,
                layer: reason.layer.clone(),
                parent: None,
                applies: true,
                rule: reason.rule.clone(),
                decision: Some(Decision::Deny(reason)),
            });
        }
        explained
    }

    fn applying<'a>(
        &'a self,
        subject: &'a Subject,
        subagent: bool,
    ) -> impl Iterator<Item = &'a Compiled> {
        self.layers
            .iter()
            .filter(move |compiled| compiled.layer.applies(subject, subagent, &self.profiled))
    }

    /// The layers that apply to the subject and to all its parents.
    fn all<'a>(&'a self, subject: &'a Subject) -> impl Iterator<Item = &'a Compiled> {
        let parents = subject.parents();
        let of_parents = parents
            .iter()
            .enumerate()
            .flat_map(move |(at, parent)| self.applying(parent, at + 1 < parents.len()));
        self.applying(subject, subject.is_subagent())
            .chain(of_parents)
    }

    /// What may have been meant by the entries of an allow list that covers nothing. Tools that
    /// another layer holds back are never named.
    fn near(&self, subject: &Subject, missed: &[Entry], tools: &[&ToolDescriptor]) -> Vec<String> {
        let layers: Vec<&Compiled> = self.all(subject).collect();
        let meant = |layer: &&&Compiled| match &layer.allow {
            Some(allow) => allow.is_empty() || tools.iter().any(|tool| covered(allow, tool)),
            None => false,
        };
        let allowing: Vec<&[Entry]> = layers
            .iter()
            .filter(meant)
            .filter_map(|layer| layer.allow.as_deref())
            .collect();
        let denied = |tool: &ToolDescriptor| {
            layers.iter().any(|layer| covered(&layer.deny, tool))
                || allowing.iter().any(|allow| !covered(allow, tool))
        };
        let mut known: BTreeSet<String> = BTreeSet::new();
        for tool in tools.iter().filter(|tool| !denied(tool)) {
            let (source, owner) = (tool.source(), tool.id.owner());
            known.insert(tool.id.to_string());
            known.insert(tool.id.name().to_owned());
            known.insert(format!("{source}:{owner}"));
            known.insert(owner.to_owned());
        }
        let mut near: Vec<String> = Vec::new();
        for entry in missed.iter().take(MAX_MISSED) {
            let stem = entry.glob.as_str().replace(['*', '?'], "");
            let stem = stem.trim_matches(':');
            for found in nearest(stem, known.iter().map(String::as_str), MAX_NEAR) {
                if !near.iter().any(|one| one == found) {
                    near.push(found.to_owned());
                }
            }
        }
        near.truncate(MAX_NEAR);
        near
    }
}

impl Compiled {
    fn decide(&self, tool: &ToolDescriptor) -> Decision {
        self.deciding(tool).0
    }

    /// The decision and the rule behind it, also where it is a yes.
    fn deciding(&self, tool: &ToolDescriptor) -> (Decision, String) {
        let covering = |entries: &[Entry]| entries.iter().find(|entry| entry.covers(tool)).cloned();
        if let Some(entry) = covering(&self.deny) {
            let rule = format!("deny {entry}");
            return (Decision::Deny(Reason::new(&self.label, &rule)), rule);
        }
        let allowed = match &self.allow {
            None => "no rule covers it".to_owned(),
            Some(allow) => match covering(allow) {
                Some(entry) => format!("allow {entry}"),
                None => {
                    let rule = "not in the allow list".to_owned();
                    return (Decision::Deny(Reason::new(&self.label, &rule)), rule);
                }
            },
        };
        match covering(&self.ask) {
            Some(entry) => {
                let rule = format!("ask {entry}");
                (Decision::Ask(Reason::new(&self.label, &rule)), rule)
            }
            None => (Decision::Allow, allowed),
        }
    }

    fn explained(&self, tool: &ToolDescriptor, applies: bool, parent: Option<String>) -> Explained {
        let (decision, rule) = self.deciding(tool);
        Explained {
            stage: self.layer.stage(),
            layer: self.label.clone(),
            parent,
            applies,
            decision: Some(decision),
            rule,
        }
    }
}

impl Policy for Rules {
    fn check(&self, subject: &Subject, tools: &[&ToolDescriptor]) -> Result<(), RuleFault> {
        if tools.is_empty() {
            return Ok(());
        }
        for compiled in self.all(subject) {
            let Some(allow) = compiled.allow.as_ref().filter(|allow| !allow.is_empty()) else {
                continue;
            };
            if tools.iter().any(|tool| covered(allow, tool)) {
                continue;
            }
            let mut entries: Vec<&str> = allow.iter().map(|one| one.written.as_str()).collect();
            entries.dedup();
            return Err(RuleFault::NothingAllowed {
                layer: compiled.label.clone(),
                entries: entries.join(", "),
                near: self.near(subject, allow, tools),
            });
        }
        Ok(())
    }

    fn decide(&self, subject: &Subject, tool: &ToolDescriptor) -> Decision {
        let deep = too_deep(subject).map_or(Decision::Allow, Decision::Deny);
        self.all(subject)
            .map(|layer| layer.decide(tool))
            .fold(deep, Decision::and)
    }
}

fn covered(entries: &[Entry], tool: &ToolDescriptor) -> bool {
    entries.iter().any(|entry| entry.covers(tool))
}

fn too_deep(subject: &Subject) -> Option<Reason> {
    let rule = format!("deeper than {MAX_PARENTS} subagents");
    subject
        .is_too_deep()
        .then(|| Reason::new("subagents", rule))
}
