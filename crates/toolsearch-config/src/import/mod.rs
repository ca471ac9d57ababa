//! MCP servers from the files of other programs: Claude Desktop and Code, Cursor, VS Code,
//! Windsurf, Gemini, Cline, OpenClaw, and Codex's TOML.
//!
//! Entries are read one by one; a bad one costs itself and is one warning. Variables are kept as
//! written. Nothing is silently lost: what has no counterpart here is a warning where it matters
//! for starting the server, a note where it does not.

mod entry;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use crate::error::{ConfigError, Problem, ProblemKind};
use crate::expand::inputs;
use crate::json5::{Document, MAX_FILE_BYTES, Position};
use crate::path::KeyPath;
use crate::schema::check::check_part;
use crate::secret::Secret;
use crate::server::ServerDefinition;
use crate::tool_search::ToolSearchSetting;

/// The program a file belongs to. It settles what the content leaves open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Client {
    /// `claude_desktop_config.json`
    ClaudeDesktop,
    /// `.mcp.json`, `.claude.json`
    ClaudeCode,
    /// `.cursor/mcp.json`
    Cursor,
    /// `.vscode/mcp.json`
    VsCode,
    /// `mcp_config.json`
    Windsurf,
    /// `.gemini/settings.json`: an address under `url` speaks SSE.
    Gemini,
    /// `cline_mcp_settings.json`: `timeout` is in seconds.
    Cline,
    /// `openclaw.json`
    OpenClaw,
    /// `.codex/config.toml`
    Codex,
}

impl Client {
    /// The program that keeps its servers in a file of that name, if the name says so.
    pub fn from_path(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        let folder = path
            .parent()
            .and_then(Path::file_name)
            .and_then(|name| name.to_str());
        match (name, folder) {
            ("claude_desktop_config.json", _) => Some(Self::ClaudeDesktop),
            (".mcp.json" | ".claude.json", _) => Some(Self::ClaudeCode),
            ("mcp.json", Some(".cursor")) => Some(Self::Cursor),
            ("mcp.json", Some(".vscode")) => Some(Self::VsCode),
            ("mcp_config.json", _) => Some(Self::Windsurf),
            ("settings.json", Some(".gemini")) => Some(Self::Gemini),
            ("cline_mcp_settings.json", _) => Some(Self::Cline),
            ("openclaw.json" | "openclaw.json5", _) => Some(Self::OpenClaw),
            (name, _) if name.ends_with(".toml") => Some(Self::Codex),
            _ => None,
        }
    }
}

/// What a file of another program held.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Imported {
    /// The servers by name, disabled ones included; variables as written.
    pub servers: BTreeMap<String, ServerDefinition>,
    /// What was lost or changed in a way that matters.
    pub warnings: Vec<ImportWarning>,
    /// What has no counterpart here and does not matter for running the server.
    pub notes: Vec<ImportWarning>,
    /// Per server the editor inputs (`${input:…}`) that its values ask for. They need to be
    /// replaced by variables before it can start.
    pub needs_input: BTreeMap<String, Vec<String>>,
    /// `tools.toolSearch`, where the file has it.
    pub tool_search: Option<ToolSearchSetting>,
}

/// Something to tell about an import.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ImportWarning {
    /// The server it is about; absent for the file as a whole.
    pub server: Option<String>,
    /// What happened.
    pub message: String,
}

impl fmt::Display for ImportWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.server {
            Some(server) => write!(f, "server `{server}`: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

/// Reads a file of another program. Without a hint, what parses as JSON5 is taken for that, and
/// anything else for TOML if it looks like it.
///
/// # Errors
/// [`ConfigError`] when the text is neither.
pub fn read(text: &str, hint: Option<Client>) -> Result<Imported, ConfigError> {
    let looks_like_toml = || {
        text.lines()
            .any(|line| line.trim_start().starts_with("[mcp_servers"))
    };
    if hint == Some(Client::Codex) {
        return read_toml(text);
    }
    match Document::parse(text, "import") {
        Ok(document) => Ok(read_document(&document, hint)),
        Err(_) if hint.is_none() && looks_like_toml() => read_toml(text),
        Err(error) => Err(error),
    }
}

fn read_toml(text: &str) -> Result<Imported, ConfigError> {
    let file = "import".to_owned();
    if text.len() > MAX_FILE_BYTES {
        return Err(ConfigError::TooLarge {
            file,
            limit: MAX_FILE_BYTES,
        });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = toml::from_str(text).map_err(|error| {
        let offset = error.span().map_or(0, |span| span.start).min(text.len());
        let before = &text[..text.floor_char_boundary(offset)];
        let line = before.matches('\n').count() + 1;
        let column = before
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .chars()
            .count()
            + 1;
        let position = Position { line, column };
        let message = error.message().to_owned();
        let problem = Problem::new(&file, position, String::new(), ProblemKind::Syntax, message);
        ConfigError::Invalid {
            file: file.clone(),
            problems: vec![problem],
        }
    })?;
    let mut imported = Imported::default();
    imported.take_servers(&value, Some(Client::Codex));
    Ok(imported)
}

fn read_document(document: &Document, hint: Option<Client>) -> Imported {
    let mut imported = Imported::default();
    imported.take_servers(&document.root().to_json(), hint);
    let path = KeyPath::default().key("tools").key("toolSearch");
    if let Some(node) = crate::edit::get(document, &path) {
        let part = check_part(document, node, &path);
        imported.tool_search = part
            .value
            .and_then(|value| ToolSearchSetting::deserialize(value).ok());
        let told = part.errors.iter().chain(&part.warnings);
        imported.warnings.extend(told.map(|problem| ImportWarning {
            server: None,
            message: format!("{}: {}", problem.path, problem.message),
        }));
    }
    imported
}

impl Imported {
    fn take_servers(&mut self, root: &Value, client: Option<Client>) {
        let containers = containers(root);
        if containers.is_empty() {
            self.warnings.push(ImportWarning {
                server: None,
                message: "no servers found; looked for mcpServers, servers, mcp.servers and \
                          mcp_servers"
                    .to_owned(),
            });
        }
        for (name, value) in containers.into_iter().flat_map(named_entries) {
            self.take(&name, value, client);
        }
        self.note_inputs();
    }

    fn take(&mut self, name: &str, value: &Value, client: Option<Client>) {
        let mut told = entry::Told::default();
        let read = if name.trim().is_empty() {
            Err("has no name".to_owned())
        } else if self.servers.contains_key(name) {
            Err("stands twice; the first one is kept".to_owned())
        } else {
            entry::read(value, client, &mut told)
        };
        let warning = |message| ImportWarning {
            server: Some(name.to_owned()),
            message,
        };
        match read {
            Ok(definition) => {
                self.servers.insert(name.to_owned(), definition);
                self.warnings.extend(told.warnings.into_iter().map(warning));
                self.notes.extend(told.notes.into_iter().map(warning));
            }
            Err(reason) => self.warnings.push(warning(format!("left out: {reason}"))),
        }
    }

    fn note_inputs(&mut self) {
        for (name, server) in &self.servers {
            let plain = [&server.command, &server.cwd, &server.url];
            let texts = plain
                .into_iter()
                .flatten()
                .chain(&server.args)
                .map(String::as_str);
            let secret = server
                .env
                .values()
                .chain(server.headers.values())
                .map(Secret::expose);
            let mut wanted: Vec<String> = texts
                .chain(secret)
                .flat_map(inputs)
                .map(str::to_owned)
                .collect();
            wanted.sort();
            wanted.dedup();
            if !wanted.is_empty() {
                self.needs_input.insert(name.clone(), wanted);
            }
        }
    }
}

/// Every place where a file keeps servers.
fn containers(root: &Value) -> Vec<&Value> {
    let places = [
        "/mcpServers",
        "/servers",
        "/mcp/servers",
        "/mcp_servers",
        "/mcp/mcpServers",
    ];
    let found: Vec<&Value> = places
        .iter()
        .filter_map(|place| root.pointer(place))
        .filter(|value| value.is_object() || value.is_array())
        .collect();
    if found.is_empty() && is_bare_map(root) {
        vec![root]
    } else {
        found
    }
}

/// Whether this is a map of servers without anything around it, as READMEs show it.
fn is_bare_map(root: &Value) -> bool {
    let is_entry = |value: &Value| {
        ["command", "url", "serverUrl", "httpUrl"]
            .iter()
            .any(|key| value.get(key).is_some())
    };
    root.as_object()
        .is_some_and(|map| !map.is_empty() && map.values().all(is_entry))
}

fn named_entries(container: &Value) -> Vec<(String, &Value)> {
    match container {
        Value::Object(map) => map
            .iter()
            .map(|(name, value)| (name.clone(), value))
            .collect(),
        Value::Array(items) => {
            let name = |item: &Value| item.get("name").and_then(Value::as_str).map(str::to_owned);
            items
                .iter()
                .map(|item| (name(item).unwrap_or_default(), item))
                .collect()
        }
        _ => Vec::new(),
    }
}
