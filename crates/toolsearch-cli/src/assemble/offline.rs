//! Offline catalogs: lists of tools in files, each tool read by itself from raw JSON, so that one
//! that cannot be read loses only itself.
//!
//! A file holds a `tools/list` result (or the JSON-RPC answer with one), a plain list of tools,
//! `{"servers": [{"name", "tools"}]}`, or JSON lines of tools with `server`. A folder holds one such
//! file a server.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use toolsearch::catalog::{Rejected, RejectedReason};
use toolsearch::invoke::Listing;
use toolsearch::schema::names::sanitise_label;
use toolsearch_mcp::read_tools;

use crate::fault::Fault;

/// Most bytes of one file.
const MAX_FILE_BYTES: u64 = 256 << 20;
/// Most files of one folder.
const MAX_FILES: usize = 10_000;
/// Endings that are no part of a server's name, longest first.
const ENDINGS: [&str; 4] = [".tools.jsonl", ".tools.json", ".jsonl", ".json"];

/// Reads files and folders; one listing a server, sorted by name.
pub(crate) fn read(paths: &[PathBuf]) -> Result<Vec<Listing>, Fault> {
    let mut servers = Servers::default();
    for path in paths {
        if path.is_dir() {
            for file in files(path)? {
                servers.file(&file)?;
            }
        } else {
            servers.file(path)?;
        }
    }
    Ok(servers.listings())
}

/// The lists in a folder, in the order of their names.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Fault> {
    let unreadable = |error| Fault::usage(format!("cannot read {}: {error}", folder.display()));
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_file() && server_name(&path).is_some() {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() {
        let message = format!("{} holds no tool list", folder.display());
        return Err(
            Fault::usage(message).next("put one file a server there, such as github.tools.json")
        );
    }
    if files.len() > MAX_FILES {
        let message = format!("{} holds more than {MAX_FILES} files", folder.display());
        return Err(Fault::usage(message).next("name a folder of fewer servers"));
    }
    Ok(files)
}

/// The server that a file is named after.
fn server_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let stem = ENDINGS
        .iter()
        .find_map(|ending| name.strip_suffix(ending))?;
    (!stem.is_empty()).then(|| stem.to_owned())
}

/// What a file may hold at its top.
#[derive(Deserialize)]
struct Whole<'a> {
    #[serde(borrow)]
    tools: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    servers: Option<Vec<&'a RawValue>>,
    #[serde(borrow)]
    result: Option<&'a RawValue>,
}

/// One server of a file of several.
#[derive(Deserialize)]
struct OneServer<'a> {
    name: String,
    #[serde(borrow, default)]
    tools: Vec<&'a RawValue>,
    description: Option<String>,
}

/// The parts of a tool that are needed even when the whole cannot be read.
#[derive(Default, Deserialize)]
struct Named {
    name: Option<String>,
    server: Option<String>,
}

#[derive(Debug, Default)]
struct Servers {
    by_name: BTreeMap<String, Gathered>,
}

#[derive(Debug, Default)]
struct Gathered {
    tools: Vec<Value>,
    rejected: Vec<Rejected>,
    description: String,
}

impl Servers {
    fn file(&mut self, path: &Path) -> Result<(), Fault> {
        let text = bounded(path)?;
        let owner = server_name(path)
            .or_else(|| Some(path.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| "tools".to_owned());
        self.text(text.trim_start_matches('\u{feff}'), &owner)
            .map_err(|reason| {
                Fault::usage(format!("{}: {reason}", path.display()))
                    .next("give a tools/list result, a list of tools, or JSON lines with `server`")
            })
    }

    fn text(&mut self, text: &str, owner: &str) -> Result<(), String> {
        if text.trim_start().starts_with('[') {
            let tools: Vec<&RawValue> =
                serde_json::from_str(text).map_err(|error| error.to_string())?;
            tools.into_iter().for_each(|tool| self.tool(tool, owner));
            return Ok(());
        }
        match serde_json::from_str::<Whole<'_>>(text) {
            Ok(Whole {
                tools: Some(tools), ..
            }) => tools.into_iter().for_each(|tool| self.tool(tool, owner)),
            Ok(Whole {
                servers: Some(servers),
                ..
            }) => servers.into_iter().try_for_each(|one| self.server(one))?,
            Ok(Whole {
                result: Some(result),
                ..
            }) => match serde_json::from_str::<Whole<'_>>(result.get()) {
                Ok(Whole {
                    tools: Some(tools), ..
                }) => tools.into_iter().for_each(|tool| self.tool(tool, owner)),
                _ => return Err("the result holds no list of tools".to_owned()),
            },
            Ok(_) => self.lines(text, owner)?,
            Err(error) => self.lines(text, owner).map_err(|_| error.to_string())?,
        }
        Ok(())
    }

    fn server(&mut self, raw: &RawValue) -> Result<(), String> {
        let server: OneServer<'_> = serde_json::from_str(raw.get())
            .map_err(|error| format!("a server cannot be read: {error}"))?;
        if let Some(description) = server.description {
            self.of(&server.name).description = description;
        }
        for tool in server.tools {
            self.tool(tool, &server.name);
        }
        Ok(())
    }

    /// JSON lines. An odd line loses only itself, as long as the first one is a tool.
    fn lines(&mut self, text: &str, owner: &str) -> Result<(), String> {
        let mut lines = text
            .lines()
            .filter(|line| !line.trim().is_empty())
            .peekable();
        let first = lines.peek().copied().unwrap_or_default();
        if named(first).name.is_none() {
            return Err("there is no list of tools in it".to_owned());
        }
        for line in lines {
            match serde_json::from_str::<&RawValue>(line) {
                Ok(tool) => self.tool(tool, owner),
                Err(error) => self.reject(owner, "", &error.to_string()),
            }
        }
        Ok(())
    }

    fn tool(&mut self, raw: &RawValue, owner: &str) {
        let parts = named(raw.get());
        let owner = parts
            .server
            .filter(|server| !server.is_empty())
            .unwrap_or_else(|| owner.to_owned());
        match serde_json::from_str::<Value>(raw.get()) {
            Ok(tool) => self.of(&owner).tools.push(tool),
            Err(error) => {
                let name = parts.name.unwrap_or_default();
                self.reject(&owner, &name, &error.to_string());
            }
        }
    }

    fn reject(&mut self, owner: &str, name: &str, reason: &str) {
        let reason = RejectedReason::Unreadable(sanitise_label(reason, 200));
        let rejected = Rejected::new(owner, &sanitise_label(name, 120), reason);
        self.of(owner).rejected.push(rejected);
    }

    fn of(&mut self, owner: &str) -> &mut Gathered {
        self.by_name.entry(owner.to_owned()).or_default()
    }

    fn listings(self) -> Vec<Listing> {
        let listing = |(owner, gathered): (String, Gathered)| {
            let mut listing = read_tools(&owner, gathered.tools);
            listing.description = gathered.description;
            listing.rejected.extend(gathered.rejected);
            listing
        };
        self.by_name.into_iter().map(listing).collect()
    }
}

fn named(text: &str) -> Named {
    serde_json::from_str(text).unwrap_or_default()
}

fn bounded(path: &Path) -> Result<String, Fault> {
    let unreadable = |error| Fault::usage(format!("cannot read {}: {error}", path.display()));
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        let message = format!("{} is larger than {MAX_FILE_BYTES} bytes", path.display());
        return Err(Fault::usage(message).next("is it the right file?"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, owner: &str, ids: &[&str], rejected: usize) {
        let mut servers = Servers::default();
        servers.text(text, owner).expect("a list of tools");
        let listings = servers.listings();
        let found: Vec<&str> = listings
            .iter()
            .flat_map(|listing| listing.tools.iter().map(|tool| tool.id.as_str()))
            .collect();
        assert_eq!(found, ids);
        let out: usize = listings.iter().map(|listing| listing.rejected.len()).sum();
        assert_eq!(out, rejected);
    }

    #[test]
    fn every_form_is_read() {
        check(
            r#"{"tools":[{"name":"a"},{"name":"b"}]}"#,
            "s",
            &["mcp:s:a", "mcp:s:b"],
            0,
        );
        check(
            r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"}]}}"#,
            "s",
            &["mcp:s:a"],
            0,
        );
        check(
            r#"[{"name":"a"},{"name":"b","server":"t"}]"#,
            "s",
            &["mcp:s:a", "mcp:t:b"],
            0,
        );
        check(
            r#"{"servers":[{"name":"x","tools":[{"name":"a"}]},{"name":"y","tools":[]}]}"#,
            "s",
            &["mcp:x:a"],
            0,
        );
        let lines = "{\"id\":\"t/a\",\"server\":\"t\",\"name\":\"a\"}\n\n{\"name\":\"b\"}\n";
        check(lines, "s", &["mcp:s:b", "mcp:t:a"], 0);
    }

    #[test]
    fn a_bad_tool_loses_only_itself() {
        let deep = format!("{}{}", "[".repeat(5000), "]".repeat(5000));
        let text = format!(
            r#"{{"tools":[{{"name":"a"}},{{"name":"deep","inputSchema":{{"x":{deep}}}}},7,{{"name":"z"}}]}}"#
        );
        check(&text, "s", &["mcp:s:a", "mcp:s:z"], 2);
        check(
            "{\"name\":\"a\"}\n{\"name\":\n{\"name\":\"z\"}",
            "s",
            &["mcp:s:a", "mcp:s:z"],
            1,
        );
    }

    #[test]
    fn what_is_no_list_says_so() {
        for text in ["", "{}", "{\"a\":1}", "nonsense", "{\"result\":{}}", "[1,"] {
            let mut servers = Servers::default();
            servers.text(text, "s").expect_err("no list");
        }
    }

    #[test]
    fn servers_are_named_after_their_files() {
        for (file, name) in [
            ("a/git.tools.json", Some("git")),
            ("git.json", Some("git")),
            ("x.y.jsonl", Some("x.y")),
            ("README.md", None),
            (".json", None),
        ] {
            assert_eq!(server_name(Path::new(file)).as_deref(), name, "{file}");
        }
    }
}
