//! `toolsearch mcp add`: one server from the command line into the file.

use std::path::Path;

use serde_json::{Map, Value, json};
use toolsearch::catalog::ToolDescriptor;
use toolsearch_config::{Document, ServerState, edit, load_text};

use crate::assemble::configuration::variable as variable_here;
use crate::cli::{AddArgs, Common, TransportArg};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::super::config::change;
use super::{json5, path};

/// Words in names of values that are better kept out of a file.
const SECRET_WORDS: [&str; 6] = ["token", "key", "secret", "password", "auth", "cookie"];

/// Writes the entry.
pub(super) fn run(args: &AddArgs, common: &Common, output: &Output) -> Done {
    usable(&args.name)?;
    let entry = entry(args)?;
    sound(&args.name, &entry)?;
    for name in kept_in_file(&entry) {
        output.note(&format!(
            "the value of {name} is kept in the file as it is; write ${{VARIABLE}} to keep it in the \
             environment"
        ));
    }
    let file = write(&args.name, &entry, args.replace, common)?;
    if output.json {
        output.document(&json!({ "file": file, "added": [args.name] }))?;
    } else {
        output.text(&format!("{} is added to {}", args.name, file.display()))?;
        output.note(&format!(
            "try it with `toolsearch mcp test {}`",
            shell_word(&args.name)
        ));
    }
    Ok(Exit::Fine)
}

/// Writes one entry, and refuses to write over another unless that is wanted.
pub(super) fn write(
    name: &str,
    entry: &Value,
    replace: bool,
    common: &Common,
) -> Result<std::path::PathBuf, Fault> {
    let at = path(name);
    let mut taken = false;
    let written = change(common, |text| {
        if !text.trim().is_empty() && !replace {
            let document = Document::parse(text, "the file")?;
            taken = edit::get(&document, &at).is_some();
        }
        if taken {
            return Ok(text.to_owned());
        }
        edit::set(text, &at.to_string(), &json5(entry))
    })?;
    if taken {
        let message = format!("there is a server `{name}` in {}", written.display());
        return Err(Fault::usage(message).next("give another name, or --replace"));
    }
    Ok(written)
}

/// Whether tools of a server of this name can have ids.
pub(super) fn usable(name: &str) -> Result<(), Fault> {
    let source = toolsearch::catalog::Source::Mcp;
    match ToolDescriptor::new(source, name, "any", Value::Bool(true)) {
        Ok(_) => Ok(()),
        Err(error) => Err(
            Fault::usage(format!("a server cannot be named `{name}`: {error}"))
                .next("use letters, digits, `-` and `_`"),
        ),
    }
}

/// A file may hold an entry that makes no sense, so that it costs only itself; none is written by this
/// command.
fn sound(name: &str, entry: &Value) -> Result<(), Fault> {
    let text = json!({ "mcpServers": { name: entry } }).to_string();
    let file = Path::new("the command line");
    let loaded =
        load_text(&text, file, &variable_here).map_err(|error| Fault::usage(error.to_string()))?;
    let server = loaded.settings.mcp_servers.get(name);
    match server.map(|server| &server.state) {
        Some(state @ ServerState::Invalid { .. }) => Err(Fault::usage(format!(
            "nothing was changed: the server {state}"
        ))),
        _ => Ok(()),
    }
}

fn entry(args: &AddArgs) -> Result<Value, Fault> {
    let mut entry = Map::new();
    match &args.url {
        Some(url) => {
            entry.insert("url".to_owned(), json!(url));
            if let Some(transport) = args.transport {
                let word = match transport {
                    TransportArg::Http => "http",
                    TransportArg::Sse => "sse",
                };
                entry.insert("transport".to_owned(), json!(word));
            }
        }
        None => {
            let [command, rest @ ..] = args.command.as_slice() else {
                return Err(Fault::usage("neither a command nor --url is given"));
            };
            entry.insert("command".to_owned(), json!(command));
            if !rest.is_empty() {
                entry.insert("args".to_owned(), json!(rest));
            }
        }
    }
    let variables = args.env.iter().map(|pair| variable(pair));
    pairs(&mut entry, "env", variables.collect::<Result<_, _>>()?);
    let headers = args.header.iter().map(|line| header(line));
    pairs(&mut entry, "headers", headers.collect::<Result<_, _>>()?);
    if let Some(cwd) = &args.cwd {
        entry.insert("cwd".to_owned(), json!(cwd));
    }
    if args.trusted {
        entry.insert("trust".to_owned(), json!("trusted"));
    }
    if args.direct_only {
        entry.insert("catalogMode".to_owned(), json!("direct-only"));
    }
    Ok(Value::Object(entry))
}

fn pairs(entry: &mut Map<String, Value>, key: &str, pairs: Vec<(String, String)>) {
    if !pairs.is_empty() {
        let pairs: Map<String, Value> = pairs
            .into_iter()
            .map(|(name, value)| (name, Value::String(value)))
            .collect();
        entry.insert(key.to_owned(), Value::Object(pairs));
    }
}

fn variable(pair: &str) -> Result<(String, String), Fault> {
    let (name, value) = match pair.split_once('=') {
        Some((name, value)) => (name, value.to_owned()),
        None => (pair, format!("${{{pair}}}")),
    };
    if name.is_empty() {
        return Err(Fault::usage(format!("`{pair}` names no variable"))
            .next("write --env NAME=VALUE, or --env NAME"));
    }
    Ok((name.to_owned(), value))
}

fn header(line: &str) -> Result<(String, String), Fault> {
    match line.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err(Fault::usage(format!("`{line}` is no header"))
            .next("write --header \"Authorization: Bearer ${TOKEN}\"")),
    }
}

/// The variables and headers that sound secret and whose value stands in the file.
fn kept_in_file(entry: &Value) -> Vec<&str> {
    let values = ["env", "headers"]
        .into_iter()
        .filter_map(|key| entry[key].as_object());
    let secret = |name: &str| {
        let name = name.to_lowercase();
        SECRET_WORDS.iter().any(|word| name.contains(word))
    };
    values
        .flatten()
        .filter(|(name, value)| secret(name) && !value.as_str().is_some_and(|v| v.contains("${")))
        .map(|(name, _)| name.as_str())
        .collect()
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}
