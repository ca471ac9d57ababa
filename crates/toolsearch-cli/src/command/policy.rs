//! `toolsearch policy explain|check`: the operator asks the rules. Nothing here is shown to a model,
//! so denied tools are named.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::catalog::{Catalog, LookupError, ToolDescriptor, ToolId};
use toolsearch::invoke::Listing;
use toolsearch::policy::{Decision, Explained, Policy, Subject};

use crate::assemble::Assembled;
use crate::cli::{PolicyCommand, Whom};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::expectations::{self, Expectation};

/// Asks the rules.
pub(crate) async fn run(command: &PolicyCommand, assembled: &Assembled, output: &Output) -> Done {
    match command {
        PolicyCommand::Explain { id, whom } => {
            let subject = subject(whom, assembled);
            let tools = Tools::listed(assembled).await;
            explain(&tools.find(id)?, &subject, assembled, output)
        }
        PolicyCommand::Check { file, whom } => {
            let expected = expectations::read(file)?;
            let subject = subject(whom, assembled);
            let tools = Tools::listed(assembled).await;
            check(&expected, &subject, &tools, assembled, output)
        }
    }
}

fn subject(whom: &Whom, assembled: &Assembled) -> Subject {
    let mut subject = assembled.subject.clone();
    subject.provider.clone_from(&whom.provider);
    subject
}

fn known_agent<'a>(id: &'a str, assembled: &Assembled) -> Result<&'a str, Fault> {
    let agents = &assembled.configuration.settings.agents;
    if agents.get(id).is_some() {
        return Ok(id);
    }
    let known: Vec<&str> = agents.list.iter().map(|agent| agent.id.as_str()).collect();
    let next = match known.is_empty() {
        true => "add it under `agents.list` in the configuration file".to_owned(),
        false => format!("agents are {}", known.join(", ")),
    };
    Err(Fault::usage(format!("no agent is named `{id}`")).next(next))
}

/// All tools of all sources, whatever the rules say.
pub(super) struct Tools(Catalog);

/// A tool that is asked about.
pub(super) struct Asked {
    pub(super) tool: Arc<ToolDescriptor>,
    /// Whether a source lists it now.
    pub(super) listed: bool,
}

impl Tools {
    async fn listed(assembled: &Assembled) -> Self {
        Self::of(&assembled.sources.list().await)
    }

    /// The tools of these listings.
    pub(super) fn of(listings: &[Listing]) -> Self {
        let tools = listings.iter().flat_map(|one| one.tools.iter().cloned());
        Self(tools.collect())
    }

    /// A tool that is listed, or the one that an exact id stands for: rules go by ids, so they can be
    /// asked about a server that does not run.
    pub(super) fn find(&self, text: &str) -> Result<Asked, Fault> {
        let error = match self.0.resolve(text) {
            Ok(tool) => {
                let tool = Arc::clone(tool);
                return Ok(Asked { tool, listed: true });
            }
            Err(error) => error,
        };
        let unlisted = ToolId::parse(text).ok().and_then(|id| {
            let schema = Value::Bool(true);
            ToolDescriptor::new(id.source(), id.owner(), id.name(), schema).ok()
        });
        if let Some(tool) = unlisted {
            let (tool, listed) = (Arc::new(tool), false);
            return Ok(Asked { tool, listed });
        }
        let mut fault = Fault::new(Exit::Usage, "not_found", error.to_string());
        match error {
            LookupError::Unknown { suggestions, .. } => {
                fault.suggestions = suggestions;
                Err(fault.next("give an exact id, such as mcp:github:create_issue"))
            }
            LookupError::Ambiguous { candidates, .. } => {
                fault.suggestions = candidates;
                Err(fault.next("use one of these exact ids"))
            }
            _ => Err(fault),
        }
    }
}

fn word(decision: &Decision) -> &'static str {
    match decision {
        Decision::Allow => "allow",
        Decision::Ask(_) => "ask",
        Decision::Deny(_) => "deny",
    }
}

fn explain(asked: &Asked, subject: &Subject, assembled: &Assembled, output: &Output) -> Done {
    let tool = &asked.tool;
    let decision = assembled.rules.decide(subject, tool);
    let layers = assembled.rules.explain(subject, tool);
    if output.json {
        let mut document = json!({
            "id": tool.id,
            "listed": asked.listed,
            "decision": word(&decision),
            "subject": subject,
            "layers": layers.iter().map(layer).collect::<Vec<_>>(),
        });
        if let Decision::Ask(reason) | Decision::Deny(reason) = &decision {
            document["reason"] = json!(reason);
        }
        output.document(&document)?;
        return Ok(Exit::Fine);
    }
    let why = match &decision {
        Decision::Allow => String::new(),
        Decision::Ask(reason) | Decision::Deny(reason) => format!(": {reason}"),
    };
    output.text(&format!("{} {}{why}\n", word(&decision), tool.id))?;
    let mut table = Table::new(["layer", "applies", "says", "rule"]);
    for layer in &layers {
        let name = match &layer.parent {
            Some(parent) => format!("{} (parent, {parent})", layer.layer),
            None => layer.layer.clone(),
        };
        let applies = if layer.applies { "yes" } else { "no" };
        let says = layer.decision.as_ref().map_or("-", word);
        let rule = layer.rule.clone();
        table.row([name, applies.to_owned(), says.to_owned(), rule]);
    }
    output.table(&table)?;
    if !asked.listed {
        output.note("no source lists this tool now; the rules were asked about its id");
    }
    Ok(Exit::Fine)
}

fn layer(layer: &Explained) -> Value {
    let mut document = json!({
        "stage": layer.stage,
        "layer": layer.layer,
        "applies": layer.applies,
        "rule": layer.rule,
    });
    if let Some(decision) = &layer.decision {
        document["decision"] = json!(word(decision));
    }
    if let Some(parent) = &layer.parent {
        document["parent"] = json!(parent);
    }
    document
}

/// What became of one expectation.
struct Differs<'a> {
    expected: &'a Expectation,
    found: &'static str,
    why: String,
}

fn check(
    expected: &[Expectation],
    subject: &Subject,
    tools: &Tools,
    assembled: &Assembled,
    output: &Output,
) -> Done {
    let mut differs = Vec::new();
    let mut unlisted = 0;
    for one in expected {
        let mut subject = subject.clone();
        if let Some(agent) = &one.agent {
            subject.agent = Some(known_agent(agent, assembled)?.to_owned());
        }
        if one.provider.is_some() {
            subject.provider.clone_from(&one.provider);
        }
        if one.channel.is_some() {
            subject.channel.clone_from(&one.channel);
        }
        let (found, why) = match tools.find(&one.id) {
            Err(fault) => ("unknown", fault.message),
            Ok(asked) => {
                unlisted += usize::from(!asked.listed);
                let decision = assembled.rules.decide(&subject, &asked.tool);
                let why = match &decision {
                    Decision::Allow => "no layer denies it or asks".to_owned(),
                    Decision::Ask(reason) | Decision::Deny(reason) => reason.to_string(),
                };
                (word(&decision), why)
            }
        };
        if found != one.expect.as_str() {
            differs.push(Differs {
                expected: one,
                found,
                why,
            });
        }
    }
    if unlisted > 0 {
        output.note(&format!(
            "{unlisted} of the ids are listed by no source now; the rules were asked about them all \
             the same"
        ));
    }
    tell(expected.len(), &differs, output)
}

fn tell(checked: usize, differs: &[Differs<'_>], output: &Output) -> Done {
    if output.json {
        let line = |one: &Differs<'_>| {
            let mut line = one.expected.to_json();
            line["found"] = json!(one.found);
            line["rule"] = json!(one.why);
            line
        };
        let differ: Vec<Value> = differs.iter().map(line).collect();
        output.document(&json!({ "checked": checked, "differ": differ }))?;
    } else {
        for one in differs {
            let expected = one.expected;
            output.text(&format!(
                "line {}: {}{}: expected {}, found {}: {}",
                expected.line,
                expected.id,
                expected.whom(),
                expected.expect.as_str(),
                one.found,
                one.why
            ))?;
        }
        output.text(&format!("{checked} checked, {} differ", differs.len()))?;
    }
    match differs.is_empty() {
        true => Ok(Exit::Fine),
        false => Ok(Exit::Failed),
    }
}
