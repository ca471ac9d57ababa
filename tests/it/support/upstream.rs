//! Scripted MCP servers: what they list, what they answer, and what reached them.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::Home;

/// A server that lists some tools.
pub(crate) struct Upstream {
    owner: String,
    tools: Vec<Value>,
    results: Value,
    /// Further keys of its entry in the configuration.
    entry: Value,
    starts: bool,
}

impl Upstream {
    pub(crate) fn new(owner: &str, tools: Vec<Value>) -> Self {
        Self {
            owner: owner.to_owned(),
            tools,
            results: json!({}),
            entry: json!({}),
            starts: true,
        }
    }

    /// The same server, which tells its surroundings and ends instead of starting.
    pub(crate) fn that_cannot_start(mut self) -> Self {
        self.starts = false;
        self
    }

    /// What it answers to calls of a tool; the text is sent as it stands.
    pub(crate) fn answers(mut self, tool: &str, result: &str) -> Self {
        self.results[tool] = serde_json::from_str(result).unwrap();
        self
    }

    /// One more key of its entry in the configuration.
    pub(crate) fn with(mut self, key: &str, value: Value) -> Self {
        self.entry[key] = value;
        self
    }

    /// Its entry in the configuration; the files that it needs are written.
    pub(crate) fn install(&self, home: &Home) -> (String, Value) {
        let scenario = home.path(&format!("{}.scenario", file_name(&self.owner)));
        let mut text = json!({ "tools": self.tools, "results": self.results });
        if !self.starts {
            text["start"] = json!("exit");
        }
        fs::write(&scenario, text.to_string()).unwrap();
        let mut entry = self.entry.clone();
        let mut args = vec![json!(scenario), json!(log(home, &self.owner))];
        args.extend(entry["args"].as_array().into_iter().flatten().cloned());
        entry["command"] = json!(env!("CARGO_BIN_EXE_scripted-server"));
        entry["args"] = Value::Array(args);
        (self.owner.clone(), entry)
    }
}

/// Every call that reached the server, as the line that came.
pub(crate) fn received(home: &Home, owner: &str) -> Vec<String> {
    let text = fs::read_to_string(log(home, owner)).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

fn log(home: &Home, owner: &str) -> PathBuf {
    home.path(&format!("{}.received", file_name(owner)))
}

fn file_name(owner: &str) -> String {
    let escaped = |c: char| match c.is_ascii_alphanumeric() {
        true => c.to_string(),
        false => format!("-{:x}", u32::from(c)),
    };
    owner.chars().map(escaped).collect()
}
