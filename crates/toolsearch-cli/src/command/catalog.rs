//! `toolsearch catalog list`: every tool with its placement, and the servers with their state.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolsearch::catalog::{Rejected, Source, ToolDescriptor, ToolId};
use toolsearch::invoke::{Listing, OutageKind};
use toolsearch::mode::Role;
use toolsearch::policy::Policy;
use toolsearch::runtime::Session;
use toolsearch::schema::names::sanitise_label;

use crate::assemble::Assembled;
use crate::assemble::sources::Kind;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

/// Most characters of a server's trouble.
const MAX_REASON_CHARS: usize = 300;

/// The state of one server.
struct ServerLine {
    name: String,
    state: &'static str,
    error: Option<String>,
}

/// Lists everything that this agent may know of.
pub(crate) async fn list(assembled: &Assembled, output: &Output) -> Done {
    let listings = assembled.sources.list().await;
    let servers = servers(&listings, assembled);
    let mut apart = set_aside(&listings, assembled);
    let session = assembled.open_listed(listings).await?;
    apart.extend(session.rejected().iter().cloned());
    let tools = placed(&session);
    let changed = assembled.changed().await;
    if output.json {
        let mut document = document(&tools, &servers, &apart, &session);
        if !changed.is_empty() {
            let line = |(id, held): &(ToolId, bool)| json!({ "id": id, "held": held });
            document["changed"] = changed.iter().map(line).collect();
        }
        output.document(&document)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["id", "placement"]);
    for (id, (_, placement)) in &tools {
        table.row([id.to_string(), (*placement).to_owned()]);
    }
    output.table(&table)?;
    if !servers.is_empty() {
        output.text("")?;
        let mut table = Table::new(["server", "state", "error"]);
        for server in &servers {
            let error = server.error.clone().unwrap_or_default();
            table.row([server.name.clone(), server.state.to_owned(), error]);
        }
        output.table(&table)?;
    }
    for rejected in &apart {
        let owner = sanitise_label(&rejected.owner, 64);
        let name = sanitise_label(&rejected.name, 120);
        output.warning(&format!(
            "{owner}: {name} was set aside: {}",
            rejected.reason
        ));
    }
    for (id, held) in &changed {
        let held = if *held { " and is held back" } else { "" };
        output.warning(&format!(
            "{id} changed its definition{held}; see `toolsearch pins diff`"
        ));
    }
    output.text(&format!(
        "\n{} tools, fingerprint {}",
        tools.len(),
        session.catalog().fingerprint()
    ))?;
    Ok(Exit::Fine)
}

/// Every tool by its id, with where it is placed.
fn placed(session: &Session) -> BTreeMap<ToolId, (Arc<ToolDescriptor>, &'static str)> {
    let shown = session.mode().name() == "direct";
    let searchable = if shown { "direct" } else { "searchable" };
    let mut tools = BTreeMap::new();
    for tool in session.catalog().entries() {
        tools.insert(tool.id.clone(), (Arc::clone(tool), searchable));
    }
    for tool in session.direct() {
        let placement = match session.catalog().get(&tool.id) {
            Some(_) if !shown => "always-visible",
            _ => "direct",
        };
        tools.insert(tool.id.clone(), (Arc::clone(tool), placement));
    }
    tools
}

fn document(
    tools: &BTreeMap<ToolId, (Arc<ToolDescriptor>, &'static str)>,
    servers: &[ServerLine],
    apart: &[Rejected],
    session: &Session,
) -> Value {
    let declared: BTreeMap<&ToolId, &str> = session
        .surface()
        .tools
        .iter()
        .filter_map(|tool| match &tool.role {
            Role::Direct(id) | Role::Likely(id) => Some((id, tool.name.as_str())),
            _ => None,
        })
        .collect();
    let mended = session.surface().mended.iter();
    let mended: BTreeMap<&ToolId, &Vec<String>> =
        mended.map(|(id, changes)| (id, changes)).collect();
    let tool = |(id, (tool, placement)): (&ToolId, &(Arc<ToolDescriptor>, &str))| {
        let mut line = json!({
            "id": id, "source": tool.source(), "sourceName": tool.owner,
            "name": tool.name, "placement": placement,
        });
        if let Some(name) = declared.get(id).filter(|name| **name != tool.name) {
            line["declaredName"] = json!(name);
        }
        if let Some(changes) = mended.get(id) {
            line["schemaChanges"] = json!(changes);
        }
        line
    };
    let server = |line: &ServerLine| {
        let mut value = Map::new();
        value.insert("name".to_owned(), json!(line.name));
        value.insert("state".to_owned(), json!(line.state));
        if let Some(error) = &line.error {
            value.insert("error".to_owned(), json!(error));
        }
        Value::Object(value)
    };
    let rejected = apart.iter().map(|rejected| {
        json!({ "server": rejected.owner, "name": rejected.name,
                "reason": rejected.reason.to_string() })
    });
    let mut document = json!({
        "tools": tools.iter().map(tool).collect::<Vec<_>>(),
        "servers": servers.iter().map(server).collect::<Vec<_>>(),
        "fingerprint": session.catalog().fingerprint(),
    });
    let rejected: Vec<Value> = rejected.collect();
    if !rejected.is_empty() {
        document["rejected"] = Value::Array(rejected);
    }
    document
}

/// The servers that this agent may know of: those with a tool that policy allows, and those in
/// trouble whose tools are not denied as a whole.
fn servers(listings: &[Listing], assembled: &Assembled) -> Vec<ServerLine> {
    let allowed =
        |tool: &ToolDescriptor| !assembled.rules.decide(&assembled.subject, tool).is_deny();
    let may_know = |listing: &&Listing| {
        let source = listing.source;
        let probe = || ToolDescriptor::new(source, &listing.owner, "any", Value::Bool(true));
        match listing.tools.is_empty() {
            true => probe().is_ok_and(|probe| allowed(&probe)),
            false => listing.tools.iter().any(|tool| allowed(tool)),
        }
    };
    let line = |listing: &Listing| ServerLine {
        name: sanitise_label(&listing.owner, 64),
        state: state(listing, assembled.sources.kind),
        error: trouble(listing),
    };
    let servers = listings
        .iter()
        .filter(|listing| listing.source == Source::Mcp || listing.outage.is_some());
    servers.filter(may_know).map(line).collect()
}

/// Tools that could not be read, as far as policy would allow tools of their names.
fn set_aside(listings: &[Listing], assembled: &Assembled) -> Vec<Rejected> {
    let allowed = |source: Source, rejected: &Rejected| {
        ToolDescriptor::new(source, &rejected.owner, &rejected.name, Value::Bool(true))
            .is_ok_and(|probe| !assembled.rules.decide(&assembled.subject, &probe).is_deny())
    };
    let of = |listing: &Listing| {
        let kept = listing
            .rejected
            .iter()
            .filter(|one| allowed(listing.source, one));
        kept.cloned().collect::<Vec<_>>()
    };
    listings.iter().flat_map(of).collect()
}

pub(super) fn state(listing: &Listing, kind: Kind) -> &'static str {
    let Some(outage) = &listing.outage else {
        return if kind == Kind::Offline {
            "offline"
        } else {
            "ready"
        };
    };
    match outage.kind {
        OutageKind::Starting => "starting",
        OutageKind::Disabled => "disabled",
        OutageKind::NeedsConfiguration => "needs-configuration",
        _ => "failed",
    }
}

pub(super) fn trouble(listing: &Listing) -> Option<String> {
    let reason = &listing.outage.as_ref()?.reason;
    Some(sanitise_label(reason, MAX_REASON_CHARS))
}

/// A tool that is not found because its server is in trouble: the server is named instead, as far
/// as this agent may know of it.
pub(crate) fn blame_server(fault: Fault, asked: &str, session: &Session) -> Fault {
    if fault.code != "not_found" || !fault.suggestions.is_empty() {
        return fault;
    }
    let outages = session.outages().iter();
    let mut named = outages.filter(|note| {
        asked
            .split([':', '.', '/'])
            .chain(asked.split("__"))
            .any(|part| part == note.server)
    });
    match named.next() {
        Some(note) => {
            let message = format!(
                "server `{}` is {}: {}",
                note.server, note.state, note.reason
            );
            Fault::new(Exit::Unavailable, "unavailable", message)
                .next("see all servers with `toolsearch catalog list`")
        }
        None => fault,
    }
}
