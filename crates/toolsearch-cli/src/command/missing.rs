//! Why a tool can or cannot be used: placed and allowed, denied by a rule, left out by a filter, set
//! aside for its definition, behind a server that is down, or nowhere. For an operator: denied tools
//! are named.

use serde_json::{Value, json};
use toolsearch::catalog::{Source, ToolDescriptor, ToolId};
use toolsearch::invoke::Listing;
use toolsearch::policy::{Decision, Policy};
use toolsearch::runtime::Session;

use crate::assemble::Assembled;
use crate::assemble::sources::Kind;
use crate::fault::Exit;

use super::catalog::{state, trouble};
use super::policy::Tools;

/// What can be said about one tool.
#[derive(Debug)]
pub(super) struct Finding {
    /// As it was asked for, or its id once that is known.
    pub(super) id: String,
    /// `ready`, `denied`, `left-out`, `set-aside`, `unknown`, or the state of its server.
    pub(super) state: &'static str,
    /// In words.
    pub(super) detail: String,
    /// What to do.
    pub(super) fix: Option<String>,
}

impl Finding {
    fn new(id: impl ToString, state: &'static str, detail: impl Into<String>) -> Self {
        Self {
            id: id.to_string(),
            state,
            detail: detail.into(),
            fix: None,
        }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = Some(fix.into());
        self
    }

    /// Whether the tool can be used.
    pub(super) fn is_ready(&self) -> bool {
        self.state == "ready"
    }

    /// The exit code that this is.
    pub(super) fn exit(&self) -> Exit {
        match self.state {
            "ready" => Exit::Fine,
            "denied" => Exit::Denied,
            _ => Exit::Unavailable,
        }
    }

    pub(super) fn to_json(&self) -> Value {
        let mut line = json!({ "id": self.id, "state": self.state, "detail": self.detail });
        if let Some(fix) = &self.fix {
            line["fix"] = json!(fix);
        }
        line
    }
}

/// Says why `asked` can or cannot be used by the session's agent.
pub(super) fn explain(
    asked: &str,
    assembled: &Assembled,
    listings: &[Listing],
    session: &Session,
) -> Finding {
    let direct = || {
        session
            .direct()
            .iter()
            .find(|tool| tool.id.as_str() == asked)
    };
    if let Some(tool) = session.catalog().resolve(asked).ok().or_else(direct) {
        return usable(tool, assembled);
    }
    let known = match Tools::of(listings).find(asked) {
        Ok(known) => known,
        Err(fault) => {
            let finding = Finding::new(asked, "unknown", fault.message);
            let near: Vec<String> = fault.suggestions.iter().map(ToString::to_string).collect();
            return match near.is_empty() {
                true => finding.fix("see all tools with `toolsearch catalog list`"),
                false => finding.fix(format!("meant may be {}", near.join(", "))),
            };
        }
    };
    if known.listed {
        return usable(&known.tool, assembled);
    }
    unlisted(&known.tool, assembled, listings)
}

/// A tool that a source lists: rules decide.
fn usable(tool: &ToolDescriptor, assembled: &Assembled) -> Finding {
    let id = &tool.id;
    match assembled.rules.decide(&assembled.subject, tool) {
        Decision::Allow => Finding::new(id, "ready", "listed and allowed"),
        Decision::Ask(reason) => Finding::new(id, "ready", format!("asks before a call: {reason}")),
        Decision::Deny(reason) => Finding::new(id, "denied", reason.to_string()).fix(format!(
            "see all rules with `toolsearch policy explain {id}`"
        )),
    }
}

/// A tool with an id that no source lists now.
fn unlisted(tool: &ToolDescriptor, assembled: &Assembled, listings: &[Listing]) -> Finding {
    let id: &ToolId = &tool.id;
    if let Decision::Deny(reason) = assembled.rules.decide(&assembled.subject, tool) {
        let detail = format!("{reason}; and no source lists it now");
        return Finding::new(id, "denied", detail);
    }
    let of_owner =
        |listing: &&Listing| listing.source == tool.source() && listing.owner == tool.owner;
    let Some(listing) = listings.iter().find(of_owner) else {
        let detail = format!("no {} is named `{}`", kind_of(tool.source()), tool.owner);
        return Finding::new(id, "unknown", detail).fix(match tool.source() {
            Source::Mcp => "see the servers with `toolsearch mcp list`",
            _ => "see all tools with `toolsearch catalog list`",
        });
    };
    if let Some(reason) = trouble(listing) {
        let detail = format!(
            "its server is {}: {reason}",
            state(listing, Kind::Configured)
        );
        return Finding::new(id, state(listing, Kind::Configured), detail).fix(format!(
            "look closer with `toolsearch mcp test {}`",
            tool.owner
        ));
    }
    let same = |name: &str| name == tool.name;
    if let Some(rejected) = listing.rejected.iter().find(|one| same(&one.name)) {
        return Finding::new(id, "set-aside", rejected.reason.to_string());
    }
    let mut servers = assembled.sources.servers.iter();
    let filter = servers.find(|server| server.spec().name == tool.owner);
    if filter.is_some_and(|server| !server.spec().tools.accepts(&tool.name)) {
        let detail = format!("`mcpServers.{}.tools` leaves it out", tool.owner);
        return Finding::new(id, "left-out", detail)
            .fix("change that list, or leave this tool out of what is required");
    }
    let detail = format!("`{}` is up and lists no such tool", tool.owner);
    Finding::new(id, "unknown", detail).fix(format!(
        "see its tools with `toolsearch mcp test {}`",
        tool.owner
    ))
}

fn kind_of(source: Source) -> &'static str {
    match source {
        Source::Mcp => "server",
        Source::Plugin => "plugin",
        _ => "source",
    }
}
