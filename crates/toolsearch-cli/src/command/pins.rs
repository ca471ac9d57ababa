//! `toolsearch pins list|diff|approve`: definitions of MCP tools that are remembered, and what became
//! of them. Nothing is asked of a server here: what was seen last counts.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolsearch::catalog::ToolId;
use toolsearch_config::Pins;
use toolsearch_store::StoreError;

use crate::assemble::configuration::Configuration;
use crate::assemble::pins::{Pin, Pinboard};
use crate::assemble::{logs, store};
use crate::cli::{Common, PinsCommand};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

/// Looks at what is remembered, or agrees to a change.
pub(crate) async fn run(command: &PinsCommand, common: &Common, output: &Output) -> Done {
    let configuration = Configuration::read(common, output)?;
    let mode = configuration.settings.tools.pins;
    let board = Pinboard::new(store::store(&configuration), mode);
    match command {
        PinsCommand::List => list(&board, mode, output).await,
        PinsCommand::Diff { ids } => diff(&board, ids, output).await,
        PinsCommand::Approve { ids, all } => approve(&board, ids, *all, output).await,
    }
}

async fn list(board: &Pinboard, mode: Pins, output: &Output) -> Done {
    let pins = board.list().await.map_err(faulty)?;
    let state = |pin: &Pin| match (&pin.next, mode) {
        (None, _) => "same",
        (Some(_), Pins::Enforce) => "held",
        (Some(_), _) => "changed",
    };
    if output.json {
        let pin = |(id, pin): (&ToolId, &Pin)| {
            json!({
                "id": id, "hash": pin.hash, "sinceMs": pin.since_ms, "approved": pin.approved,
                "state": state(pin),
            })
        };
        let pins: Vec<Value> = pins.iter().map(pin).collect();
        output.document(&json!({ "mode": word(mode), "pins": pins }))?;
        return Ok(Exit::Fine);
    }
    if pins.is_empty() {
        output.text("no definition is remembered yet")?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["tool", "state", "since (UTC)", "agreed to", "sha256"]);
    for (id, pin) in &pins {
        let agreed = if pin.approved { "yes" } else { "first sight" };
        table.row([
            id.to_string(),
            state(pin).to_owned(),
            logs::time(pin.since_ms),
            agreed.to_owned(),
            pin.hash.chars().take(16).collect(),
        ]);
    }
    output.table(&table)?;
    Ok(Exit::Fine)
}

async fn diff(board: &Pinboard, ids: &[String], output: &Output) -> Done {
    let changed = board.changed().await.map_err(faulty)?;
    let chosen = chosen(ids, &changed)?;
    if output.json {
        let one = |(id, pin): &(&ToolId, &Pin)| {
            let next = pin.next.as_ref();
            json!({
                "id": id,
                "before": pin.hash,
                "after": next.map(|next| next.hash.as_str()),
                "seenMs": next.map(|next| next.seen_ms),
                "changes": pin.changes(),
            })
        };
        let changed: Vec<Value> = chosen.iter().map(one).collect();
        output.document(&json!({ "changed": changed }))?;
        return Ok(Exit::Fine);
    }
    if chosen.is_empty() {
        output.text("no tool changed its definition")?;
        return Ok(Exit::Fine);
    }
    for (id, pin) in chosen {
        output.heading(id.as_str())?;
        match pin.changes() {
            Some(changes) => {
                for change in changes {
                    output.text(&change.to_string())?;
                }
            }
            None => output.text("what it was is not kept: the server lists too much")?,
        }
    }
    output.note("agree with `toolsearch pins approve ID`");
    Ok(Exit::Fine)
}

async fn approve(board: &Pinboard, ids: &[String], all: bool, output: &Output) -> Done {
    if ids.is_empty() && !all {
        let fault = Fault::usage("name the tools to agree to, or say --all");
        return Err(fault.next("see them with `toolsearch pins diff`"));
    }
    let changed = board.changed().await.map_err(faulty)?;
    let chosen: Vec<ToolId> = chosen(ids, &changed)?
        .into_iter()
        .map(|(id, _)| id.clone())
        .collect();
    let mut approved = Vec::new();
    for id in chosen {
        if board.approve(&id).await.map_err(faulty)? {
            approved.push(id);
        }
    }
    if output.json {
        output.document(&json!({ "approved": approved }))?;
        return Ok(Exit::Fine);
    }
    for id in &approved {
        output.text(&format!("{id} is agreed to as it is now"))?;
    }
    if approved.is_empty() {
        output.text("nothing had changed")?;
    }
    Ok(Exit::Fine)
}

/// The tools that are named, or all.
fn chosen<'a>(
    ids: &[String],
    changed: &'a BTreeMap<ToolId, Pin>,
) -> Result<Vec<(&'a ToolId, &'a Pin)>, Fault> {
    if ids.is_empty() {
        return Ok(changed.iter().collect());
    }
    let find = |text: &String| {
        let named = changed.iter().find(|(id, _)| id.as_str() == text);
        named.ok_or_else(|| {
            let message = format!("`{text}` is no tool that changed its definition");
            Fault::new(Exit::Usage, "not_found", message)
                .next("see those that did with `toolsearch pins diff`")
        })
    };
    ids.iter().map(find).collect()
}

fn word(mode: Pins) -> &'static str {
    match mode {
        Pins::Off => "off",
        Pins::Enforce => "enforce",
        _ => "report",
    }
}

fn faulty(error: StoreError) -> Fault {
    Fault::failed(format!("what is remembered cannot be read: {error}"))
        .next("remove the damaged file, or set `store.dir`")
}
