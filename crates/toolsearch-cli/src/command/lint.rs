//! `toolsearch catalog lint`: definitions that make a tool hard to find or to call. The advice is for
//! whoever writes the tool; nothing is changed.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use toolsearch::catalog::{ToolDescriptor, ToolId, json_bytes};
use toolsearch::mode::is_own;
use toolsearch::runtime::Session;

use crate::assemble::Assembled;
use crate::fault::{Done, Exit};
use crate::output::Output;
use crate::table::Table;

/// Longest description that still reads as one, in characters.
const LONG_DESCRIPTION: usize = 2_000;
/// Shortest description that says anything, in characters.
const SHORT_DESCRIPTION: usize = 12;
/// Largest schema that is no burden where it is shown, in bytes.
const LARGE_SCHEMA: usize = 8_192;

/// Something that can be better.
struct Finding<'a> {
    id: &'a ToolId,
    rule: &'static str,
    detail: String,
}

/// Points out what can be better.
pub(super) async fn run(strict: bool, assembled: &Assembled, output: &Output) -> Done {
    let session = assembled.open().await?;
    let mut findings = Vec::new();
    let tools = || tools(&session);
    for tool in tools() {
        one(tool, &mut findings);
    }
    copies(tools(), &mut findings);
    for (id, changes) in &session.surface().mended {
        findings.push(Finding {
            id,
            rule: "schema-mended",
            detail: format!("declared to models with changes: {}", changes.join("; ")),
        });
    }
    findings.sort_by(|a, b| (a.id, a.rule).cmp(&(b.id, b.rule)));
    let exit = match strict && !findings.is_empty() {
        true => Exit::Failed,
        false => Exit::Fine,
    };
    if output.json {
        let line =
            |one: &Finding<'_>| json!({ "id": one.id, "rule": one.rule, "detail": one.detail });
        let lines: Vec<Value> = findings.iter().map(line).collect();
        output.document(&json!({ "tools": tools().count(), "findings": lines }))?;
        return Ok(exit);
    }
    if !findings.is_empty() {
        let mut table = Table::new(["id", "rule", "detail"]);
        for one in &findings {
            table.row([one.id.to_string(), one.rule.to_owned(), one.detail.clone()]);
        }
        output.table(&table)?;
        output.text("")?;
    }
    output.text(&format!(
        "{} tools, {} findings",
        tools().count(),
        findings.len()
    ))?;
    Ok(exit)
}

/// Every tool of the session but those of the product itself.
fn tools(session: &Session) -> impl Iterator<Item = &ToolDescriptor> {
    let listed = session.catalog().entries().iter();
    let direct = session.direct().iter();
    let hidden = direct.filter(|tool| session.catalog().get(&tool.id).is_none());
    listed
        .chain(hidden)
        .map(AsRef::as_ref)
        .filter(|tool| !is_own(tool))
}

fn one<'a>(tool: &'a ToolDescriptor, findings: &mut Vec<Finding<'a>>) {
    let mut find = |rule, detail: String| {
        findings.push(Finding {
            id: &tool.id,
            rule,
            detail,
        });
    };
    let written = tool.description.trim().chars().count();
    match written {
        0 => find(
            "no-description",
            "say in a sentence what it does and on what".to_owned(),
        ),
        length if length < SHORT_DESCRIPTION => find(
            "short-description",
            format!("{length} characters; name the product, the verb and the object"),
        ),
        length if length > LONG_DESCRIPTION => find(
            "long-description",
            format!("{length} characters; a hit shows the first 180"),
        ),
        _ => {}
    }
    let bytes = json_bytes(&*tool.input_schema);
    if bytes > LARGE_SCHEMA {
        find(
            "large-schema",
            format!("{bytes} bytes; every description of it costs as much"),
        );
    }
    let Some(parameters) = tool.input_schema["properties"].as_object() else {
        return;
    };
    let bare = |(name, schema): (&String, &Value)| {
        let silent = |key: &str| schema[key].as_str().is_none_or(str::is_empty);
        (silent("description") && silent("title") && schema.get("enum").is_none())
            .then(|| name.clone())
    };
    let bare: Vec<String> = parameters.iter().filter_map(bare).collect();
    if bare.len() > parameters.len() / 2 {
        let shown = bare.iter().take(6).cloned().collect::<Vec<_>>().join(", ");
        find("parameters-without-description", shown);
    }
}

/// Tools that say the same about themselves: a model has nothing to choose by.
fn copies<'a>(tools: impl Iterator<Item = &'a ToolDescriptor>, findings: &mut Vec<Finding<'a>>) {
    let mut same: BTreeMap<(&str, &str), Vec<&ToolDescriptor>> = BTreeMap::new();
    for tool in tools {
        same.entry((&tool.name, &tool.description))
            .or_default()
            .push(tool);
    }
    for tools in same.into_values().filter(|tools| tools.len() > 1) {
        let [first, others @ ..] = tools.as_slice() else {
            continue;
        };
        for other in others {
            findings.push(Finding {
                id: &other.id,
                rule: "same-as-another",
                detail: format!("has name and description of {}", first.id),
            });
        }
    }
}
