//! `toolsearch connect`: an entry for this gateway in the configuration of an MCP client. What stood in
//! the file before is kept beside it.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use toolsearch_config::edit::{self, EditError, Format};
use toolsearch_config::{Document, KeyPath, LocatedBy, read_file, write_atomic};

use crate::assemble::configuration::locate_file;
use crate::cli::{ClientArg, Common, ConnectArgs, ModeArg};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::config::unreadable;

/// How a client writes its servers down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    /// JSON or JSON with comments, servers under this key.
    Json(&'static str),
    /// Codex: tables `mcp_servers.NAME`.
    Toml,
}

/// Writes the entry, or takes it out.
pub(super) fn run(args: &ConnectArgs, common: &Common, output: &Output) -> Done {
    let file = match &args.file {
        Some(file) => file.clone(),
        None => usual_file(args.client)?,
    };
    let before = if file.exists() {
        read_file(&file).map_err(unreadable)?
    } else {
        String::new()
    };
    let entry = entry(common)?;
    let after = match (shape(args.client), args.remove) {
        (Shape::Json(key), false) => put(&before, key, &args.name, &entry)?,
        (Shape::Json(key), true) => take(&before, key, &args.name, &file)?,
        (Shape::Toml, false) => put_toml(&before, &args.name, &entry)?,
        (Shape::Toml, true) => take_toml(&before, &args.name, &file)?,
    };
    if !args.dry_run && after != before {
        write(&file, &before, &after)?;
    }
    tell(args, &file, &entry, after != before, output)
}

fn tell(args: &ConnectArgs, file: &Path, entry: &Value, changed: bool, output: &Output) -> Done {
    if output.json {
        output.document(&json!({
            "file": file, "name": args.name, "entry": entry, "changed": changed && !args.dry_run,
            "removed": args.remove, "dryRun": args.dry_run,
        }))?;
        return Ok(Exit::Fine);
    }
    let file = file.display();
    let name = &args.name;
    output.text(&match (args.dry_run, changed, args.remove) {
        (_, false, _) => format!("{file} has this entry already; nothing to do"),
        (true, _, true) => format!("{name} would be removed from {file}"),
        (true, _, false) => format!("{name} would be written to {file}: {entry}"),
        (false, _, true) => format!("{name} is removed from {file}"),
        (false, _, false) => format!("{name} is written to {file}; start the client again"),
    })?;
    if !args.remove {
        output.note(&format!(
            "servers that the client has itself stay there; take them over with `toolsearch mcp import \
             {file}` and remove them from the client"
        ));
    }
    Ok(Exit::Fine)
}

const fn shape(client: ClientArg) -> Shape {
    match client {
        ClientArg::Vscode => Shape::Json("servers"),
        ClientArg::Codex => Shape::Toml,
        _ => Shape::Json("mcpServers"),
    }
}

/// The file that the client reads.
fn usual_file(client: ClientArg) -> Result<PathBuf, Fault> {
    let home = || {
        std::env::home_dir().ok_or_else(|| {
            Fault::failed("the home folder is not known").next("name the file with --file")
        })
    };
    Ok(match client {
        ClientArg::ClaudeCode => PathBuf::from(".mcp.json"),
        ClientArg::Vscode => PathBuf::from(".vscode/mcp.json"),
        ClientArg::Cursor => home()?.join(".cursor/mcp.json"),
        ClientArg::Windsurf => home()?.join(".codeium/windsurf/mcp_config.json"),
        ClientArg::Gemini => home()?.join(".gemini/settings.json"),
        ClientArg::Codex => home()?.join(".codex/config.toml"),
        ClientArg::ClaudeDesktop => {
            let folder = match std::env::consts::OS {
                "macos" => "Library/Application Support/Claude",
                "windows" => "AppData/Roaming/Claude",
                _ => ".config/Claude",
            };
            home()?.join(folder).join("claude_desktop_config.json")
        }
    })
}

/// How the client starts this gateway: this very program, with the file and the flags of this command.
fn entry(common: &Common) -> Result<Value, Fault> {
    let program = std::env::current_exe().map_err(|error| {
        Fault::failed(format!("the path of this program is not known: {error}"))
    })?;
    let mut args = vec![json!("serve")];
    let located = locate_file(common)?;
    if let (Some(path), false) = (&located.path, located.by == LocatedBy::UserFolder) {
        let path = std::path::absolute(path)
            .map_err(|error| Fault::failed(format!("{}: {error}", path.display())))?;
        args.extend([json!("--config"), json!(path)]);
    }
    if let Some(agent) = &common.agent {
        args.extend([json!("--agent"), json!(agent)]);
    }
    if let Some(mode) = common.mode {
        let word = match mode {
            ModeArg::Code => "code",
            ModeArg::Tools => "tools",
            ModeArg::Directory => "directory",
            ModeArg::Direct => "direct",
        };
        args.extend([json!("--mode"), json!(word)]);
    }
    Ok(json!({ "command": program, "args": args }))
}

fn put(before: &str, key: &str, name: &str, entry: &Value) -> Result<String, Fault> {
    let path = KeyPath::default().key(key).key(name);
    if !before.trim().is_empty() {
        let document = Document::parse(before, "the client's file").map_err(unreadable)?;
        if edit::get(&document, &path).is_some_and(|node| node.to_json() == *entry) {
            return Ok(before.to_owned());
        }
    }
    edit::set_unchecked(before, &path.to_string(), &entry.to_string(), Format::Json)
        .map_err(|error| Fault::failed(error.to_string()))
}

fn take(before: &str, key: &str, name: &str, file: &Path) -> Result<String, Fault> {
    let path = KeyPath::default().key(key).key(name);
    edit::unset_unchecked(before, &path.to_string()).map_err(|error| match error {
        EditError::NotSet { .. } => absent(name, file),
        error => Fault::failed(error.to_string()),
    })
}

fn absent(name: &str, file: &Path) -> Fault {
    Fault::usage(format!("there is no entry `{name}` in {}", file.display()))
        .next("name the entry with --name, or the file with --file")
}

/// The first line of the block that this command writes into a TOML file, so that it can take it out
/// again without touching anything else.
fn toml_header(name: &str) -> String {
    format!("[mcp_servers.{}]", Value::from(name))
}

fn put_toml(before: &str, name: &str, entry: &Value) -> Result<String, Fault> {
    // JSON texts and lists of them are TOML as well.
    let block = format!(
        "{}\ncommand = {}\nargs = {}\n",
        toml_header(name),
        entry["command"],
        entry["args"]
    );
    let file: toml::Table = toml::from_str(before)
        .map_err(|error| Fault::failed(format!("the client's file cannot be read: {error}")))?;
    let servers = file.get("mcp_servers").and_then(toml::Value::as_table);
    if !servers.is_some_and(|servers| servers.contains_key(name)) {
        let gap = if before.is_empty() || before.ends_with("\n\n") {
            ""
        } else {
            "\n"
        };
        return Ok(format!("{before}{gap}{block}"));
    }
    match before.contains(&block) {
        true => Ok(before.to_owned()),
        false => {
            let message = format!("there is another entry `{name}` in the client's file");
            Err(Fault::usage(message).next("remove it there, or give another --name"))
        }
    }
}

fn take_toml(before: &str, name: &str, file: &Path) -> Result<String, Fault> {
    let header = toml_header(name);
    let Some(start) = before.find(&header) else {
        return Err(absent(name, file));
    };
    let rest = &before[start + header.len()..];
    let length = rest.find("\n[").map_or(rest.len(), |at| at + 1);
    let after = format!(
        "{}{}",
        before[..start].trim_end_matches('\n'),
        &rest[length..]
    );
    Ok(match after.is_empty() || after.ends_with('\n') {
        true => after,
        false => after + "\n",
    })
}

/// Writes the file, and what it held before beside it.
fn write(file: &Path, before: &str, after: &str) -> Result<(), Fault> {
    let fault = |path: &Path, error: &dyn std::fmt::Display| {
        Fault::failed(format!("{} cannot be written: {error}", path.display()))
    };
    if let Some(folder) = file
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder).map_err(|error| fault(folder, &error))?;
    }
    if !before.is_empty() {
        let mut kept = file.as_os_str().to_owned();
        kept.push(".before-toolsearch");
        let kept = PathBuf::from(kept);
        write_atomic(&kept, before).map_err(|error| fault(&kept, &error))?;
    }
    write_atomic(file, after).map_err(|error| fault(file, &error))
}
