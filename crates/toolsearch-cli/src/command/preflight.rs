//! `toolsearch preflight`: whether what must be there can be used, before anything depends on it.
//!
//! Exit codes: 0 all of it can be used; 2 the configuration cannot be used; 3 a rule denies a tool, and
//! nothing is missing besides; 4 a tool or a server is not there.

use serde_json::{Value, json};
use toolsearch::invoke::{Listing, OutageKind};

use crate::assemble::Assembled;
use crate::assemble::sources::{Kind, Probe};
use crate::cli::PreflightArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::catalog::{state, trouble};
use super::missing::{self, Finding};

/// Checks what is required.
pub(super) async fn run(args: &PreflightArgs, assembled: &Assembled, output: &Output) -> Done {
    let probes = assembled.sources.probe().await;
    let required = required(args, assembled, &probes)?;
    let listings: Vec<Listing> = probes.iter().map(|probe| probe.listing.clone()).collect();
    let session = assembled.open_listed(listings.clone()).await?;
    let tools: Vec<Finding> = args
        .required
        .iter()
        .map(|asked| missing::explain(asked, assembled, &listings, &session))
        .collect();
    let kind = assembled.sources.kind;
    let down = required.iter().any(|probe| probe.listing.outage.is_some());
    let exits = || tools.iter().map(Finding::exit);
    let exit = match () {
        () if down || exits().any(|exit| exit == Exit::Unavailable) => Exit::Unavailable,
        () if exits().any(|exit| exit == Exit::Denied) => Exit::Denied,
        () => Exit::Fine,
    };
    if output.json {
        let servers = required.iter().map(|probe| {
            let mut line = json!({
                "name": probe.listing.owner, "state": state(&probe.listing, kind),
                "tools": probe.listing.tools.len(),
            });
            if let Some(error) = trouble(&probe.listing) {
                line["error"] = json!(error);
            }
            line
        });
        output.document(&json!({
            "ready": exit == Exit::Fine,
            "tools": tools.iter().map(Finding::to_json).collect::<Vec<Value>>(),
            "servers": servers.collect::<Vec<Value>>(),
        }))?;
        return Ok(exit);
    }
    let mut table = Table::new(["what", "state", "why", "next"]);
    for tool in &tools {
        let next = tool.fix.clone().unwrap_or_default();
        table.row([
            tool.id.clone(),
            tool.state.to_owned(),
            tool.detail.clone(),
            next,
        ]);
    }
    for probe in &required {
        let why = trouble(&probe.listing)
            .unwrap_or_else(|| format!("{} tools", probe.listing.tools.len()));
        let next = match probe.listing.outage {
            Some(_) => format!("toolsearch mcp test {}", probe.listing.owner),
            None => String::new(),
        };
        let state = state(&probe.listing, kind).to_owned();
        table.row([format!("server {}", probe.listing.owner), state, why, next]);
    }
    output.table(&table)?;
    let missing = tools.iter().filter(|tool| !tool.is_ready()).count();
    let down = required
        .iter()
        .filter(|probe| probe.listing.outage.is_some());
    output.text(&match (missing, down.count()) {
        (0, 0) => "\nready".to_owned(),
        (tools, servers) => format!("\nnot ready: {tools} tools, {servers} servers"),
    })?;
    Ok(exit)
}

/// The servers that must be up: those that were named, or all that are not switched off when nothing
/// else was asked for.
fn required<'a>(
    args: &PreflightArgs,
    assembled: &Assembled,
    probes: &'a [Probe],
) -> Result<Vec<&'a Probe>, Fault> {
    let servers = &assembled.configuration.settings.mcp_servers;
    if let Some(unknown) = args.server.iter().find(|name| !servers.contains_key(*name)) {
        let known: Vec<&str> = servers.keys().map(String::as_str).collect();
        let message = format!("no server is named `{unknown}`");
        return Err(Fault::usage(message).next(match known.is_empty() {
            true => "add one with `toolsearch mcp add`".to_owned(),
            false => format!("servers are {}", known.join(", ")),
        }));
    }
    let wanted = |probe: &&Probe| match args.server.is_empty() {
        false => args.server.contains(&probe.listing.owner),
        true => {
            args.required.is_empty()
                && assembled.sources.kind == Kind::Configured
                && !is_disabled(probe)
        }
    };
    Ok(probes.iter().filter(wanted).collect())
}

fn is_disabled(probe: &Probe) -> bool {
    let outage = probe.listing.outage.as_ref();
    outage.is_some_and(|outage| outage.kind == OutageKind::Disabled)
}
