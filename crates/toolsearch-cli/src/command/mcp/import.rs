//! `toolsearch mcp import`: the servers of another program's file into ours. Variables stay as they
//! are written; what has no counterpart here is told.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Map, Value, json};
use toolsearch_config::import::{self, Client, Imported};
use toolsearch_config::{
    Document, ServerCatalogMode, ServerDefinition, ServerTrust, Transport, edit, read_file,
};

use crate::assemble::configuration::locate_file;
use crate::cli::{Common, ImportArgs};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::super::config::{change, unreadable};
use super::add::usable;
use super::{json5, path};

/// What becomes of one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Added,
    Replaced,
    Kept,
    Refused,
}

impl Fate {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Replaced => "replaced",
            Self::Kept => "kept as it is here",
            Self::Refused => "left out",
        }
    }
}

/// Reads the other file and writes what it holds.
pub(super) fn run(args: &ImportArgs, common: &Common, output: &Output) -> Done {
    let text = read_file(&args.file).map_err(unreadable)?;
    let imported = import::read(&text, Client::from_path(&args.file)).map_err(unreadable)?;
    if imported.servers.is_empty() {
        let message = format!("there are no servers in {}", args.file.display());
        return Err(
            Fault::failed(message).next("give the file that holds `mcpServers` or `servers`")
        );
    }
    let present = present(common, &imported)?;
    let fates: BTreeMap<&str, Fate> = imported
        .servers
        .keys()
        .map(|name| {
            let fate = match (usable(name).is_ok(), present.contains(&name.as_str())) {
                (false, _) => Fate::Refused,
                (true, true) if args.replace => Fate::Replaced,
                (true, true) => Fate::Kept,
                (true, false) => Fate::Added,
            };
            (name.as_str(), fate)
        })
        .collect();
    let file = match args.dry_run {
        true => locate_file(common)?.write_to,
        false => write(&imported, &fates, common)?,
    };
    tell(&imported, &fates, &file, args.dry_run, output)
}

/// The imported servers whose names are taken in our file.
fn present<'a>(common: &Common, imported: &'a Imported) -> Result<Vec<&'a str>, Fault> {
    let file = locate_file(common)?.write_to;
    if !file.exists() {
        return Ok(Vec::new());
    }
    let text = read_file(&file).map_err(unreadable)?;
    let document = Document::parse(&text, &file.display().to_string()).map_err(unreadable)?;
    let taken = |name: &&str| edit::get(&document, &path(name)).is_some();
    Ok(imported
        .servers
        .keys()
        .map(String::as_str)
        .filter(taken)
        .collect())
}

fn write(
    imported: &Imported,
    fates: &BTreeMap<&str, Fate>,
    common: &Common,
) -> Result<std::path::PathBuf, Fault> {
    change(common, |text| {
        let mut text = text.to_owned();
        for (name, fate) in fates {
            if let (Fate::Added | Fate::Replaced, Some(server)) =
                (fate, imported.servers.get(*name))
            {
                text = edit::set(&text, &path(name).to_string(), &json5(&entry(server)))?;
            }
        }
        Ok(text)
    })
}

/// The entry as our file has it.
fn entry(server: &ServerDefinition) -> Value {
    let default = ServerDefinition::default();
    let mut entry = Map::new();
    let mut set = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    if let Some(command) = &server.command {
        set("command", json!(command));
    }
    if !server.args.is_empty() {
        set("args", json!(server.args));
    }
    if let Some(url) = &server.url {
        set("url", json!(url));
    }
    for (key, values) in [("env", &server.env), ("headers", &server.headers)] {
        if !values.is_empty() {
            let values = values
                .iter()
                .map(|(name, value)| (name.clone(), json!(value.expose())));
            set(key, Value::Object(values.collect()));
        }
    }
    if let Some(cwd) = &server.cwd {
        set("cwd", json!(cwd));
    }
    match server.transport {
        Some(Transport::Sse) => set("transport", json!("sse")),
        Some(Transport::Http) => set("transport", json!("http")),
        Some(Transport::Stdio) | None => {}
    }
    if server.trust == ServerTrust::Trusted {
        set("trust", json!("trusted"));
    }
    if server.catalog_mode == ServerCatalogMode::DirectOnly {
        set("catalogMode", json!("direct-only"));
    }
    if server.disabled {
        set("disabled", json!(true));
    }
    if server.start_timeout_ms != default.start_timeout_ms {
        set("startTimeoutMs", json!(server.start_timeout_ms));
    }
    if server.call_timeout_ms != default.call_timeout_ms {
        set("callTimeoutMs", json!(server.call_timeout_ms));
    }
    if server.tools != default.tools {
        let mut tools = Map::new();
        if let Some(allow) = &server.tools.allow {
            tools.insert("allow".to_owned(), json!(allow));
        }
        if !server.tools.deny.is_empty() {
            tools.insert("deny".to_owned(), json!(server.tools.deny));
        }
        set("tools", Value::Object(tools));
    }
    Value::Object(entry)
}

fn tell(
    imported: &Imported,
    fates: &BTreeMap<&str, Fate>,
    file: &Path,
    dry_run: bool,
    output: &Output,
) -> Done {
    let named = |wanted: Fate| -> Vec<&str> {
        let those = fates.iter().filter(|(_, fate)| **fate == wanted);
        those.map(|(name, _)| *name).collect()
    };
    if output.json {
        let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
        let notes: Vec<String> = imported.notes.iter().map(ToString::to_string).collect();
        output.document(&json!({
            "file": file, "dryRun": dry_run,
            "added": named(Fate::Added), "replaced": named(Fate::Replaced),
            "kept": named(Fate::Kept), "leftOut": named(Fate::Refused),
            "needsInput": imported.needs_input, "warnings": warnings, "notes": notes,
        }))?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["server", "what becomes of it", "needs"]);
    for (name, fate) in fates {
        let needs = imported.needs_input.get(*name);
        let needs = needs.map(|inputs| inputs.join(", ")).unwrap_or_default();
        table.row([(*name).to_owned(), fate.as_str().to_owned(), needs]);
    }
    output.table(&table)?;
    for warning in &imported.warnings {
        output.warning(&warning.to_string());
    }
    for note in &imported.notes {
        output.note(&note.to_string());
    }
    if !named(Fate::Kept).is_empty() {
        output.note("give --replace to write over servers that are here already");
    }
    let verb = if dry_run {
        "would be written to"
    } else {
        "written to"
    };
    output.text(&format!("\n{verb} {}", file.display()))?;
    Ok(Exit::Fine)
}
