//! What a client reads, as JSON: the list of tools, the instructions, the result of a call. Equal
//! sessions give equal bytes.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use toolsearch_catalog::{ToolDescriptor, ToolId};
use toolsearch_mode::{Control, OwnerNote, Rendered, Role, SurfaceTool};
use toolsearch_runtime::Session;
use toolsearch_schema::names::sanitise_label;

/// Most characters of the owners in the instructions. With the sentences around them they stay
/// within the 2,000 characters that every client shows.
const MAX_OWNERS_CHARS: usize = 1_500;
const MAX_TITLE_CHARS: usize = 120;

/// Which shape results have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Era {
    /// Up to 2025-11-25: a session begins with `initialize`.
    Handshake,
    /// Since 2026-07-28: every request stands for itself.
    Inline,
}

/// Entries of `tools/list`, in the order of the surface. No entry declares an output schema: errors
/// and cut results would break what it promises.
pub(crate) fn tools(session: &Session) -> Value {
    session
        .surface()
        .tools
        .iter()
        .map(|tool| entry(session, tool))
        .collect()
}

fn entry(session: &Session, tool: &SurfaceTool) -> Value {
    let mut entry = Map::new();
    let mut put = |key: &str, value: Value| {
        entry.insert(key.to_owned(), value);
    };
    let descriptor = match &tool.role {
        Role::Direct(id) | Role::Likely(id) => descriptor(session, id),
        _ => None,
    };
    put("name", Value::from(tool.name.as_str()));
    let title = descriptor.and_then(|tool| tool.title.as_deref());
    let title = title.map(|title| sanitise_label(title, MAX_TITLE_CHARS));
    if let Some(title) = title.filter(|title| !title.is_empty()) {
        put("title", Value::from(title));
    }
    put("description", Value::from(tool.description.as_str()));
    put("inputSchema", tool.input_schema.clone());
    if let Some(annotations) = annotations(tool) {
        put("annotations", annotations);
    }
    if let Some(meta) = meta(tool, descriptor) {
        put("_meta", meta);
    }
    Value::Object(entry)
}

fn descriptor<'a>(session: &'a Session, id: &ToolId) -> Option<&'a ToolDescriptor> {
    let visible = || session.direct().iter().find(|tool| tool.id == *id);
    session.catalog().get(id).or_else(visible).map(Arc::as_ref)
}

/// Finding and reading change nothing; clients that ask before every other call need not ask here.
fn annotations(tool: &SurfaceTool) -> Option<Value> {
    match tool.role {
        Role::Control(Control::Search | Control::Describe) => Some(json!({ "readOnlyHint": true })),
        _ => tool.annotations.clone(),
    }
}

/// Clients with a tool search of their own are told not to hide the controls behind it.
fn meta(tool: &SurfaceTool, descriptor: Option<&ToolDescriptor>) -> Option<Value> {
    match tool.role {
        Role::Control(_) => Some(json!({ "anthropic/alwaysLoad": true })),
        _ => descriptor?
            .meta
            .get("_meta")
            .filter(|meta| meta.is_object())
            .cloned(),
    }
}

/// The surface's own prompt text, or a few lines about what is behind the controls. Nothing when
/// every tool is declared anyway.
pub(crate) fn instructions(session: &Session) -> Option<String> {
    let surface = session.surface();
    if !surface.prompt.is_empty() {
        return Some(surface.prompt.clone());
    }
    let control = |tool: &&SurfaceTool| matches!(tool.role, Role::Control(_));
    let controls: Vec<&str> = surface
        .tools
        .iter()
        .filter(control)
        .map(|tool| tool.name.as_str())
        .collect();
    let owners = OwnerNote::of(session.catalog());
    let tools: usize = owners.iter().map(|owner| owner.tools).sum();
    if controls.is_empty() || tools == 0 {
        return None;
    }
    Some(format!(
        "{tools} more tools are available through {}. By owner: {}.\nSearch before saying that \
         something cannot be done.",
        controls.join(", "),
        summary(&owners)
    ))
}

/// `name (tools)` of every owner, most tools first, as far as there is room.
fn summary(owners: &[OwnerNote]) -> String {
    let mut by_size: Vec<&OwnerNote> = owners.iter().collect();
    by_size.sort_by(|a, b| b.tools.cmp(&a.tools).then_with(|| a.name.cmp(&b.name)));
    let mut parts: Vec<String> = Vec::new();
    let mut used = 0;
    for owner in by_size {
        let part = format!("{} ({})", owner.name, owner.tools);
        used += part.chars().count() + 2;
        if used > MAX_OWNERS_CHARS {
            break;
        }
        parts.push(part);
    }
    let left = owners.len() - parts.len();
    if left > 0 {
        parts.push(format!("and {left} more owners"));
    }
    parts.join(", ")
}

/// The result of `tools/list`.
pub(crate) fn list(tools: &Value, era: Era) -> Value {
    let mut result = Map::new();
    result.insert("tools".to_owned(), tools.clone());
    if era == Era::Inline {
        result.insert("ttlMs".to_owned(), Value::from(0));
        result.insert("cacheScope".to_owned(), Value::from("private"));
        result.insert("resultType".to_owned(), Value::from("complete"));
    }
    Value::Object(result)
}

/// The result of `tools/call`: blocks, structured value and `_meta` as they came.
pub(crate) fn result(mut answer: Rendered, era: Era) -> Value {
    if era == Era::Handshake {
        keep_to_objects(&mut answer);
    }
    let mut result = Map::new();
    result.insert("content".to_owned(), Value::Array(answer.content));
    if let Some(structured) = answer.structured {
        result.insert(
            "structuredContent".to_owned(),
            Arc::unwrap_or_clone(structured),
        );
    }
    result.insert("isError".to_owned(), Value::Bool(answer.is_error));
    if let Some(meta) = answer.meta {
        result.insert("_meta".to_owned(), Value::Object(meta));
    }
    if era == Era::Inline {
        result.insert("resultType".to_owned(), Value::from("complete"));
    }
    Value::Object(result)
}

/// Before 2026-07-28 a structured value had to be an object, and clients refuse the whole result
/// when it is not. It then stands as text, once.
fn keep_to_objects(answer: &mut Rendered) {
    let Some(value) = answer.structured.take_if(|value| !value.is_object()) else {
        return;
    };
    let says_it = |block: &Value| {
        let text = block.get("text").and_then(Value::as_str);
        text.and_then(|text| serde_json::from_str::<Value>(text).ok())
            .as_ref()
            == Some(&*value)
    };
    if !answer.content.iter().any(says_it) {
        answer
            .content
            .push(json!({ "type": "text", "text": value.to_string() }));
    }
}
