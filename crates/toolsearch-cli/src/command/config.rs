//! `toolsearch config get|set|unset|validate|path|schema`.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use toolsearch_config::edit::{self, EditError};
use toolsearch_config::{
    ConfigError, Document, KeyPath, LocatedBy, Problem, read_file, schema_json, validate,
    write_atomic,
};

use crate::assemble::configuration::{Configuration, locate_file};
use crate::cli::{Common, ConfigCommand};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

/// Keys whose values may be secrets: they are shown only when they are asked for by their own path.
const SECRET_KEYS: [&str; 3] = ["env", "headers", "apiKey"];

/// Reads or changes the file.
pub(crate) fn run(command: &ConfigCommand, common: &Common, output: &Output) -> Done {
    match command {
        ConfigCommand::Get {
            effective: true, ..
        } => effective(common, output),
        ConfigCommand::Get { path, .. } => get(path.as_deref(), common, output),
        ConfigCommand::Set { path, value } => set(path, value, common, output),
        ConfigCommand::Unset { path } => unset(path, common, output),
        ConfigCommand::Validate { file } => check(file.as_deref(), common, output),
        ConfigCommand::Path => path(common, output),
        ConfigCommand::Schema => {
            let text = serde_json::to_string_pretty(&schema_json()).unwrap_or_default();
            output.text(&text)?;
            Ok(Exit::Fine)
        }
    }
}

fn effective(common: &Common, output: &Output) -> Done {
    let configuration = Configuration::read(common, output)?;
    let values = configuration.effective.to_json();
    let file = configuration.located.path.as_deref();
    if output.json {
        output.document(&json!({
            "file": file, "agent": common.agent, "toolSearch": values,
        }))?;
        return Ok(Exit::Fine);
    }
    output.text(&match file {
        Some(file) => format!("file: {}\n", file.display()),
        None => "file: none\n".to_owned(),
    })?;
    let mut table = Table::new(["setting", "value", "from"]);
    for (name, entry) in values.as_object().into_iter().flatten() {
        let value = plain(&entry["value"]);
        table.row([name.clone(), value, plain(&entry["from"])]);
    }
    output.table(&table)?;
    Ok(Exit::Fine)
}

fn get(path: Option<&str>, common: &Common, output: &Output) -> Done {
    let file = existing(common)?;
    let text = read_file(&file).map_err(unreadable)?;
    let document = Document::parse(&text, &file.display().to_string()).map_err(unreadable)?;
    let at: KeyPath = match path {
        Some(path) => path
            .parse()
            .map_err(|error: toolsearch_config::BadPath| Fault::usage(error.to_string()))?,
        None => KeyPath::default(),
    };
    let Some(node) = edit::get(&document, &at) else {
        let message = format!("`{at}` is not set in {}", file.display());
        return Err(Fault::new(Exit::Failed, "not_set", message)
            .next("see what is in force with `toolsearch config get --effective`"));
    };
    let value = match node.to_json() {
        leaf @ (Value::String(_) | Value::Number(_) | Value::Bool(_) | Value::Null) => leaf,
        container => hidden(container, in_secrets(&at)),
    };
    if output.json {
        output.document(&value)?;
    } else {
        output.text(&match &value {
            Value::String(text) => text.clone(),
            value => serde_json::to_string_pretty(value).unwrap_or_default(),
        })?;
    }
    Ok(Exit::Fine)
}

fn set(path: &str, word: &str, common: &Common, output: &Output) -> Done {
    let value = edit::literal(path, word);
    let file = change(common, |text| edit::set(text, path, &value))?;
    if output.json {
        output.document(&json!({ "file": file, "path": path, "changed": true }))?;
    } else {
        output.text(&format!("{path} is set in {}", file.display()))?;
    }
    Ok(Exit::Fine)
}

fn unset(path: &str, common: &Common, output: &Output) -> Done {
    let file = change(common, |text| edit::unset(text, path))?;
    if output.json {
        output.document(&json!({ "file": file, "path": path, "changed": true }))?;
    } else {
        output.text(&format!("{path} is removed from {}", file.display()))?;
    }
    Ok(Exit::Fine)
}

/// Changes the text of the file, which is made when it is not there.
pub(super) fn change(
    common: &Common,
    edit: impl FnOnce(&str) -> Result<String, EditError>,
) -> Result<PathBuf, Fault> {
    let file = locate_file(common)?.write_to;
    let text = if file.exists() {
        read_file(&file).map_err(unreadable)?
    } else {
        String::new()
    };
    let edited = edit(&text).map_err(|error| {
        Fault::configuration(error.to_string())
            .next("see the keys and their values with `toolsearch config schema`")
    })?;
    write_atomic(&file, &edited).map_err(|error| Fault {
        exit: Exit::Failed,
        ..unreadable(error)
    })?;
    Ok(file)
}

fn check(file: Option<&Path>, common: &Common, output: &Output) -> Done {
    let file = match file {
        Some(file) => file.to_owned(),
        None => existing(common)?,
    };
    let text = read_file(&file).map_err(unreadable)?;
    let found = validate(&text, &file.display().to_string());
    let problems = match &found {
        Ok(()) => &[],
        Err(error) => error.problems(),
    };
    if output.json {
        let lines: Vec<Value> = problems.iter().map(problem).collect();
        output.document(&json!({ "file": file, "ok": found.is_ok(), "problems": lines }))?;
    }
    match found {
        Ok(()) if output.json => Ok(Exit::Fine),
        Ok(()) => {
            output.text(&format!("{} is fine", file.display()))?;
            Ok(Exit::Fine)
        }
        Err(error) => {
            output.failure(&error.to_string());
            Ok(Exit::Usage)
        }
    }
}

fn problem(problem: &Problem) -> Value {
    json!({
        "line": problem.position.line, "column": problem.position.column,
        "path": problem.path, "message": problem.message,
    })
}

fn path(common: &Common, output: &Output) -> Done {
    let located = locate_file(common)?;
    let file = located.path.as_ref().unwrap_or(&located.write_to);
    let exists = file.is_file();
    if output.json {
        output.document(&json!({
            "path": file, "exists": exists, "lookedAt": located.looked_at,
        }))?;
        return Ok(Exit::Fine);
    }
    output.text(&file.display().to_string())?;
    if !exists {
        output.note("this file is not there yet; `toolsearch config set` makes it");
    }
    Ok(Exit::Fine)
}

/// The file in use.
fn existing(common: &Common) -> Result<PathBuf, Fault> {
    let located = locate_file(common)?;
    match located.path {
        Some(path) => Ok(path),
        None => {
            debug_assert_eq!(located.by, LocatedBy::Nothing);
            let looked: Vec<String> = located
                .looked_at
                .iter()
                .map(|path| path.display().to_string())
                .collect();
            let message = format!(
                "there is no configuration file; looked at {}",
                looked.join(", ")
            );
            Err(Fault::configuration(message)
                .next("make one with `toolsearch config set tools.toolSearch true`"))
        }
    }
}

pub(super) fn unreadable(error: ConfigError) -> Fault {
    let source = std::error::Error::source(&error).map(|source| format!(": {source}"));
    Fault::configuration(format!("{error}{}", source.unwrap_or_default()))
}

fn in_secrets(path: &KeyPath) -> bool {
    let secret = |step: &toolsearch_config::Step| match step {
        toolsearch_config::Step::Key(key) => SECRET_KEYS.contains(&key.as_str()),
        toolsearch_config::Step::Index(_) => false,
    };
    path.steps().iter().any(secret)
}

/// The value with secrets taken out. A text that only names a variable is none.
fn hidden(value: Value, secret: bool) -> Value {
    match value {
        Value::Object(members) => {
            let member = |(key, value): (String, Value)| {
                let secret = secret || SECRET_KEYS.contains(&key.as_str());
                (key, hidden(value, secret))
            };
            Value::Object(members.into_iter().map(member).collect::<Map<_, _>>())
        }
        Value::Array(items) => items.into_iter().map(|item| hidden(item, secret)).collect(),
        Value::String(text) if secret && !is_variable(&text) => Value::from("[redacted]"),
        other => other,
    }
}

fn is_variable(text: &str) -> bool {
    text.starts_with("${")
        && text.ends_with('}')
        && text.matches('}').count() == 1
        && !text.contains(":-")
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay_out_of_what_is_printed() {
        let file = json!({
            "mcpServers": { "a": { "command": "x", "env": { "T": "s3cret", "U": "${U}" } } },
            "providers": { "p": { "apiKey": "sk-1", "baseUrl": "https://x" } },
        });
        let shown = hidden(file, false).to_string();
        assert!(
            !shown.contains("s3cret") && !shown.contains("sk-1"),
            "{shown}"
        );
        assert!(shown.contains("${U}") && shown.contains("https://x"));
        assert!(!is_variable("${U:-s3cret}") && !is_variable("${A}s3cret${B}"));
    }
}
