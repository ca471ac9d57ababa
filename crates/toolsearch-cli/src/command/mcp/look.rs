//! `toolsearch mcp list|test`: servers are started and asked, and what they say is shown. Nothing here
//! is shown to a model.

use std::time::Duration;

use serde_json::{Map, Value, json};
use toolsearch::catalog::Source;

use crate::assemble::sources::{Kind, Probe};
use crate::assemble::{Assembled, Purpose};
use crate::cli::Common;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::super::catalog::{state, trouble};

/// Shows every server.
pub(super) async fn list(common: &Common, output: &Output) -> Done {
    let assembled = Assembled::new(common, Purpose::Measuring, output)?;
    let mut probes = assembled.sources.probe().await;
    assembled.close(output).await;
    probes.retain(|probe| is_server(probe, &assembled));
    let kind = assembled.sources.kind;
    if output.json {
        let servers: Vec<Value> = probes.iter().map(|probe| line(probe, kind)).collect();
        output.document(&json!({ "servers": servers }))?;
        return Ok(Exit::Fine);
    }
    if probes.is_empty() {
        output.text("No servers are configured.")?;
        output.note("add one with `toolsearch mcp add NAME -- COMMAND`");
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["server", "state", ">tools", ">time", "last error"]);
    for probe in &probes {
        table.row([
            probe.listing.owner.clone(),
            state(&probe.listing, kind).to_owned(),
            probe.listing.tools.len().to_string(),
            probe.took.map(seconds).unwrap_or_default(),
            trouble(&probe.listing).unwrap_or_default(),
        ]);
    }
    output.table(&table)?;
    Ok(Exit::Fine)
}

/// Starts one server and shows it with its tools.
pub(super) async fn test(name: &str, common: &Common, output: &Output) -> Done {
    let mut assembled = Assembled::new(common, Purpose::Measuring, output)?;
    let known = assembled.sources.servers.len();
    assembled
        .sources
        .servers
        .retain(|server| server.spec().name == name);
    tracing::debug!(known, "other servers are left alone");
    let mut probes = assembled.sources.probe().await;
    assembled.close(output).await;
    probes.retain(|probe| is_server(probe, &assembled) && probe.listing.owner == name);
    let Some(probe) = probes.pop() else {
        return Err(unknown(name, &assembled));
    };
    let kind = assembled.sources.kind;
    if output.json {
        let mut document = line(&probe, kind);
        document["toolNames"] = probe
            .listing
            .tools
            .iter()
            .map(|tool| json!(tool.name))
            .collect();
        output.document(&document)?;
    } else {
        show(&probe, kind, output)?;
    }
    match probe.listing.outage {
        None => Ok(Exit::Fine),
        Some(_) => Ok(Exit::Unavailable),
    }
}

fn is_server(probe: &Probe, assembled: &Assembled) -> bool {
    let named = &assembled.configuration.settings.mcp_servers;
    probe.listing.source == Source::Mcp && named.contains_key(&probe.listing.owner)
}

pub(super) fn unknown(name: &str, assembled: &Assembled) -> Fault {
    let names: Vec<&str> = assembled
        .configuration
        .settings
        .mcp_servers
        .keys()
        .map(String::as_str)
        .collect();
    let next = match names.is_empty() {
        true => format!("add it with `toolsearch mcp add {name} -- COMMAND`"),
        false => format!("servers are {}", names.join(", ")),
    };
    Fault::usage(format!("no server is named `{name}`")).next(next)
}

/// A server for a program that reads the output.
fn line(probe: &Probe, kind: Kind) -> Value {
    let listing = &probe.listing;
    let mut line = Map::new();
    line.insert("name".to_owned(), json!(listing.owner));
    line.insert("state".to_owned(), json!(state(listing, kind)));
    line.insert("tools".to_owned(), json!(listing.tools.len()));
    line.insert("setAside".to_owned(), json!(listing.rejected.len()));
    if let Some(took) = probe.took {
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        line.insert("listMs".to_owned(), json!(millis));
    }
    if let Some(status) = &probe.status {
        line.insert("protocol".to_owned(), json!(status.protocol));
        line.insert("software".to_owned(), json!(status.software));
        line.insert("warnings".to_owned(), json!(status.warnings));
        line.insert("junkLines".to_owned(), json!(status.junk_lines));
        line.insert("stderr".to_owned(), json!(status.stderr));
    }
    if let Some(error) = trouble(listing) {
        line.insert("error".to_owned(), json!(error));
    }
    Value::Object(line)
}

fn show(probe: &Probe, kind: Kind, output: &Output) -> std::io::Result<()> {
    let listing = &probe.listing;
    let mut table = Table::new(["about", "what"]);
    let mut row = |about: &str, what: String| {
        if !what.is_empty() {
            table.row([about.to_owned(), what]);
        }
    };
    row("server", listing.owner.clone());
    row("state", state(listing, kind).to_owned());
    row("error", trouble(listing).unwrap_or_default());
    row("time to list", probe.took.map(seconds).unwrap_or_default());
    if let Some(status) = &probe.status {
        row("protocol", status.protocol.clone().unwrap_or_default());
        row("software", status.software.clone().unwrap_or_default());
        row("warnings", status.warnings.join("; "));
        if status.junk_lines > 0 {
            let junk = format!("{}, such as {:?}", status.junk_lines, status.junk.first());
            row("lines that are no messages", junk);
        }
    }
    for rejected in &listing.rejected {
        row(
            "set aside",
            format!("{}: {}", rejected.name, rejected.reason),
        );
    }
    output.table(&table)?;
    for said in probe.status.iter().flat_map(|status| &status.stderr) {
        output.remark(&format!("stderr: {said}"));
    }
    if !listing.tools.is_empty() {
        output.text("")?;
        let mut tools = Table::new(["tool", "description"]);
        for tool in &listing.tools {
            tools.row([tool.name.clone(), tool.description.to_string()]);
        }
        output.table(&tools)?;
    }
    Ok(())
}

/// A time as people read it.
fn seconds(took: Duration) -> String {
    match took.as_millis() {
        millis @ ..1000 => format!("{millis} ms"),
        _ => format!("{:.1} s", took.as_secs_f64()),
    }
}
