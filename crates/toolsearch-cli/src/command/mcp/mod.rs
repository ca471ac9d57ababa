//! `toolsearch mcp add|list|remove|test|import|login|logout`: the servers of the configuration file.

mod add;
mod import;
mod login;
mod look;

use serde_json::{Value, json};
use toolsearch_config::{KeyPath, edit};

use crate::cli::{Common, McpCommand};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::config::change;

/// Changes or looks at the servers.
pub(crate) async fn run(command: &McpCommand, common: &Common, output: &Output) -> Done {
    match command {
        McpCommand::Add(args) => add::run(args, common, output),
        McpCommand::Import(args) => import::run(args, common, output),
        McpCommand::Remove { name } => remove(name, common, output),
        McpCommand::List => look::list(common, output).await,
        McpCommand::Login(args) => login::run(args, common, output).await,
        McpCommand::Logout { name } => login::out(name, common, output),
        McpCommand::Test { name } => look::test(name, common, output).await,
    }
}

/// Where a server stands in the file.
fn path(name: &str) -> KeyPath {
    KeyPath::default().key("mcpServers").key(name)
}

/// An entry as people write it: keys without quotes where they need none, one line.
fn json5(value: &Value) -> String {
    let plain = |key: &str| {
        let mut chars = key.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic())
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    match value {
        Value::Object(members) => {
            let member = |(key, value): (&String, &Value)| match plain(key) {
                true => format!("{key}: {}", json5(value)),
                false => format!("{}: {}", Value::from(key.as_str()), json5(value)),
            };
            let members: Vec<String> = members.iter().map(member).collect();
            format!("{{ {} }}", members.join(", "))
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(json5).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

fn remove(name: &str, common: &Common, output: &Output) -> Done {
    let path = path(name).to_string();
    let file = change(common, |text| edit::unset(text, &path)).map_err(|fault| {
        Fault::usage(fault.message).next("see the servers with `toolsearch mcp list`")
    })?;
    if output.json {
        output.document(&json!({ "file": file, "removed": [name] }))?;
    } else {
        output.text(&format!("{name} is removed from {}", file.display()))?;
    }
    Ok(Exit::Fine)
}
