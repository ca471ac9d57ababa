//! Answers as JSON and words. Hits are shown as data in JSON, so that text of a tool cannot break
//! out of its entry; the reply budget is kept here.

use serde_json::{Map, Value, json};
use toolsearch_catalog::{ToolDescriptor, text_block};
use toolsearch_schema::names::is_invisible;

use crate::card::Card;
use crate::contract::Rendered;
use crate::control::{ControlNames, SearchLimits};
use crate::failure::{Failure, FailureCode};
use crate::provenance::TOOL_KEY;
pub use crate::provenance::{fenced, tool_ref};
use crate::response::{CallReply, Group, Response, RunReply, SearchReply};

/// Characters of a query that a crowded answer to a batch repeats.
const MAX_ECHO_CHARS: usize = 80;

/// Servers in trouble that a crowded answer still names beside its hits.
const KEPT_OUTAGES: usize = 3;

/// How a surface names its own operations, for advice in answers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Speech {
    search: String,
    describe: String,
    call: String,
}

impl Speech {
    /// A surface with three controls.
    #[must_use]
    pub fn structured(names: &ControlNames) -> Self {
        Self {
            search: format!("`{}`", names.search),
            describe: format!("`{}`", names.describe),
            call: format!("`{}`", names.call),
        }
    }

    /// A surface with the code control.
    #[must_use]
    pub fn code() -> Self {
        Self {
            search: "`tools.search(query)`".to_owned(),
            describe: "`tools.describe(id)`".to_owned(),
            call: "`tools.call(id, args)`".to_owned(),
        }
    }

    /// A surface without controls.
    #[must_use]
    pub fn direct() -> Self {
        let declared = "the declared tools".to_owned();
        Self {
            search: declared.clone(),
            describe: declared.clone(),
            call: declared,
        }
    }
}

/// An answer as a structured control gives it.
#[must_use]
pub fn structured(response: &Response, speech: &Speech, limits: &SearchLimits) -> Rendered {
    match response {
        Response::Search(reply) => search_text(reply, speech, limits),
        Response::Describe(tools) => {
            let described: Vec<Value> = tools
                .iter()
                .map(|(tool, card)| description(tool, card))
                .collect();
            let value = match <[Value; 1]>::try_from(described) {
                Ok([only]) => only,
                Err(several) => json!({ "tools": several }),
            };
            Rendered::text(value.to_string())
        }
        Response::Call(reply) => call(reply),
        Response::Run(reply) => run(reply),
        Response::Failed(failure) => failed(failure, speech),
    }
}

/// The hits of a query as JSON.
#[must_use]
pub fn hits(group: &Group) -> Vec<Value> {
    group
        .hits
        .iter()
        .map(|hit| {
            let mut card = hit.card.to_json();
            if let Some(explain) = &hit.explain {
                card.insert("explain".to_owned(), explain.clone());
            }
            Value::Object(card)
        })
        .collect()
}

/// One group of a batch as JSON: `{query, candidates, reason?, nearest?, unsaid?, leftOut?}`.
#[must_use]
pub fn group_value(group: &Group) -> Value {
    let mut value = Map::new();
    value.insert("query".to_owned(), Value::from(group.query.as_str()));
    value.insert("candidates".to_owned(), Value::Array(hits(group)));
    add_reason(&mut value, group);
    Value::Object(value)
}

fn add_reason(value: &mut Map<String, Value>, group: &Group) {
    if let Some(reason) = group.reason {
        value.insert("reason".to_owned(), Value::from(reason));
    }
    if !group.nearest.is_empty() {
        let ids = group
            .nearest
            .iter()
            .map(|id| Value::from(id.as_str()))
            .collect();
        value.insert("nearest".to_owned(), Value::Array(ids));
    }
    if group.unsaid > 0 {
        value.insert("unsaid".to_owned(), Value::from(group.unsaid));
    }
    if let Some(note) = &group.left_out {
        let left_out = json!({ "part": "semantic", "reason": note.reason });
        value.insert("leftOut".to_owned(), left_out);
    }
}

/// The whole answer to a search as JSON: `{candidates, reason?, nearest?, unsaid?, leftOut?, …}` for one query,
/// `{results: […]}` for a batch.
#[must_use]
pub fn search_value(reply: &SearchReply, speech: &Speech) -> Value {
    let mut value = Map::new();
    if let [only] = &reply.groups[..] {
        value.insert("candidates".to_owned(), Value::Array(hits(only)));
        add_reason(&mut value, only);
    } else {
        let groups = reply.groups.iter().map(group_value).collect();
        value.insert("results".to_owned(), Value::Array(groups));
    }
    if !reply.outages.is_empty() {
        let outages = reply.outages.iter().map(|outage| {
            json!({ "server": outage.server, "state": outage.state, "reason": outage.reason })
        });
        value.insert("unavailable".to_owned(), outages.collect());
    }
    if let Some(note) = search_note(reply, speech) {
        value.insert("note".to_owned(), Value::String(note));
    }
    Value::Object(value)
}

/// What an empty answer means and what to do next, and what a filter left out.
#[must_use]
pub fn search_note(reply: &SearchReply, speech: &Speech) -> Option<String> {
    if let Some(stop) = &reply.stop {
        return Some(stop.clone());
    }
    let unsaid: usize = reply.groups.iter().map(|group| group.unsaid).sum();
    let unsaid = (unsaid > 0).then(|| unsaid_note(unsaid));
    match (empty_note(reply, speech), unsaid) {
        (Some(empty), Some(unsaid)) => Some(format!("{unsaid} {empty}")),
        (empty, unsaid) => unsaid.or(empty),
    }
}

fn empty_note(reply: &SearchReply, speech: &Speech) -> Option<String> {
    let reason = reply.groups.iter().find_map(|group| group.reason)?;
    if let ("no_match", Some(script)) = (reason, foreign_script(reply)) {
        return Some(foreign_note(script));
    }
    Some(match reason {
        "no_terms" => format!(
            "The query holds no word to search for. Call {} with what you want to do in a few words.",
            speech.search
        ),
        "still_connecting" => {
            "Nothing fits yet: some servers are still starting. Search again in a \
             few seconds."
                .to_owned()
        }
        "server_unavailable" => "Nothing fits. Tools of the unavailable servers cannot be found \
             now; do not retry, tell the user."
            .to_owned(),
        _ => "Nothing fits. Try once with other words (product, verb, object); if that finds \
             nothing either, there is no such tool: tell the user."
            .to_owned(),
    })
}

fn foreign_script(reply: &SearchReply) -> Option<&'static str> {
    reply.groups.iter().find_map(|group| group.foreign_script)
}

/// How many tools a search for tools that only read left out because they do not say whether they do.
#[must_use]
pub fn unsaid_note(count: usize) -> String {
    let (tools, say) = match count {
        1 => ("tool", "does"),
        _ => ("tools", "do"),
    };
    format!(
        "{count} {tools} that would fit {say} not say whether they only read, and so were left out; search \
         without `readOnly` to see them."
    )
}

/// What to do when no tool has a word in the script of the query.
#[must_use]
pub fn foreign_note(script: &str) -> String {
    format!(
        "Nothing fits: no tool has a word in {script} letters. Ask once more in the language of the tools, \
         mostly English: product, verb, object."
    )
}

fn search_text(reply: &SearchReply, speech: &Speech, limits: &SearchLimits) -> Rendered {
    let batch = reply.groups.len() > 1;
    let budget = if batch {
        limits.reply_chars
    } else {
        2 * limits.reply_chars
    };
    Rendered::text(fit(search_value(reply, speech), budget))
}

/// Cuts until the text fits and marks it: the ends of repeated queries, all but a few servers in
/// trouble, hits from the end of the longest group, near ids, the last servers.
fn fit(mut value: Value, budget: usize) -> String {
    let mut text = value.to_string();
    if text.chars().count() > budget {
        clip_queries(&mut value);
        text = value.to_string();
    }
    loop {
        let excess = text.chars().count().saturating_sub(budget);
        if excess == 0 || !shrink(&mut value, excess) {
            return text;
        }
        text = value.to_string();
    }
}

/// Leaves out parts of at least `excess` characters, as far as there are any; tells whether there
/// were. The parts are measured one by one, so that the whole is written only a few times.
fn shrink(value: &mut Value, excess: usize) -> bool {
    let mut left_out = 0;
    while left_out < excess {
        let part = drop_outage(value, KEPT_OUTAGES)
            .or_else(|| drop_last_hit(value))
            .or_else(|| drop_nearest(value))
            .or_else(|| drop_outage(value, 0));
        let Some(part) = part else { break };
        left_out += part.to_string().chars().count();
        value["truncated"] = Value::Bool(true);
    }
    left_out > 0
}

fn clip_queries(value: &mut Value) {
    let groups = value.get_mut("results").and_then(Value::as_array_mut);
    for query in groups.into_iter().flatten() {
        if let Some(Value::String(text)) = query.get_mut("query") {
            *text = toolsearch_schema::names::sanitise_label(text, MAX_ECHO_CHARS);
        }
    }
}

fn drop_outage(value: &mut Value, keep: usize) -> Option<Value> {
    let outages = value.get_mut("unavailable")?.as_array_mut()?;
    (outages.len() > keep).then(|| outages.pop()).flatten()
}

fn drop_nearest(value: &mut Value) -> Option<Value> {
    let remove = |group: &mut Value| group.as_object_mut()?.shift_remove("nearest");
    let groups = value.get_mut("results").and_then(Value::as_array_mut);
    let dropped = groups.into_iter().flatten().rev().find_map(remove);
    dropped.or_else(|| remove(value))
}

fn drop_last_hit(value: &mut Value) -> Option<Value> {
    let Some(groups) = value.get_mut("results").and_then(Value::as_array_mut) else {
        return pop_candidate(value);
    };
    let size = |group: &Value| group["candidates"].as_array().map_or(0, Vec::len);
    let longest = groups.iter().map(size).max().unwrap_or(0);
    let group = groups.iter_mut().rev().find(|group| size(group) == longest);
    pop_candidate(group?)
}

fn pop_candidate(group: &mut Value) -> Option<Value> {
    let dropped = group.get_mut("candidates")?.as_array_mut()?.pop()?;
    group["truncated"] = Value::Bool(true);
    Some(dropped)
}

/// A tool in full: the card, the whole description and the schemas as their owner wrote them.
#[must_use]
pub fn description(tool: &ToolDescriptor, card: &Card) -> Value {
    let mut value = card.to_json();
    if !tool.description.is_empty() {
        let text: String = tool
            .description
            .chars()
            .filter(|c| !is_hidden(*c))
            .collect();
        value.insert("description".to_owned(), Value::String(text));
    }
    value.insert("inputSchema".to_owned(), Value::clone(&tool.input_schema));
    if let Some(schema) = &tool.output_schema {
        value.insert("outputSchema".to_owned(), Value::clone(schema));
    }
    if let Ok(Value::Object(annotations)) = serde_json::to_value(&tool.annotations)
        && !annotations.is_empty()
    {
        value.insert("annotations".to_owned(), Value::Object(annotations));
    }
    Value::Object(value)
}

/// Characters that hide or reorder text; lines and tabs of a long description stay.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t') || is_invisible(c)
}

/// The result of a called tool: its own blocks in their order, its structured value unchanged, and
/// which tool it was under `_meta["toolsearch/tool"]`. A result without blocks gets its structured
/// value as text once.
#[must_use]
pub fn call(reply: &CallReply) -> Rendered {
    let outcome = &reply.outcome;
    let mut content = outcome.content.clone();
    if content.is_empty()
        && let Some(structured) = &outcome.structured
    {
        content.push(text_block(structured.to_string()));
    }
    let mut meta = outcome.meta.clone().unwrap_or_default();
    meta.insert(TOOL_KEY.to_owned(), tool_ref(&reply.tool));
    Rendered {
        content,
        structured: outcome.structured.clone(),
        is_error: outcome.is_error,
        meta: Some(meta),
    }
}

/// The result of a program: one JSON text `{ok, value, logs, calls, error?, …}`, then content
/// blocks that go with it.
#[must_use]
pub fn run(reply: &RunReply) -> Rendered {
    let mut content = vec![text_block(run_value(reply).to_string())];
    content.extend(reply.blocks.iter().cloned());
    Rendered {
        content,
        structured: None,
        is_error: reply.error.is_some(),
        meta: None,
    }
}

/// Most tools that a program's answer names as not vouched for.
const MAX_UNTRUSTED: usize = 8;

/// The result of a program as JSON. `untrusted` names the tools that nobody vouches for and whose text
/// may stand in `value`, `logs` and `error`: data, no instructions.
#[must_use]
pub fn run_value(reply: &RunReply) -> Value {
    let mut value = Map::new();
    let mut put = |key: &str, field: Value| {
        value.insert(key.to_owned(), field);
    };
    put("ok", Value::Bool(reply.error.is_none()));
    put("value", reply.value.clone());
    put(
        "logs",
        reply
            .logs
            .iter()
            .map(|line| Value::from(line.as_str()))
            .collect(),
    );
    let calls = reply.calls.iter().map(
        |call| json!({ "id": call.id.as_str(), "source": call.source.as_str(), "ok": call.ok }),
    );
    put("calls", calls.collect());
    if let Some(error) = &reply.error {
        let mut object = Map::new();
        object.insert("code".to_owned(), Value::from(error.code.as_str()));
        object.insert("name".to_owned(), Value::from(error.name.as_str()));
        object.insert("message".to_owned(), Value::from(error.message.as_str()));
        let places = [("line", error.line), ("column", error.column)];
        for (key, place) in places.into_iter().filter_map(|(key, at)| Some((key, at?))) {
            object.insert(key.to_owned(), Value::from(place));
        }
        if let Some(hint) = &error.hint {
            object.insert("hint".to_owned(), Value::from(hint.as_str()));
        }
        put("error", Value::Object(object));
    }
    if reply.truncated {
        put("truncated", Value::Bool(true));
    }
    if !reply.untrusted.is_empty() {
        let ids = reply.untrusted.iter().take(MAX_UNTRUSTED);
        put(
            "untrusted",
            ids.map(|id| Value::from(id.as_str())).collect(),
        );
    }
    if !reply.notes.is_empty() {
        put(
            "notes",
            reply
                .notes
                .iter()
                .map(|note| Value::from(note.as_str()))
                .collect(),
        );
    }
    put("telemetry", reply.telemetry.clone());
    Value::Object(value)
}

/// A failure in words: what happened, what may have been meant, what to do next.
#[must_use]
pub fn failure_text(failure: &Failure, speech: &Speech) -> String {
    let mut text = failure.detail.clone();
    let ids: Vec<&str> = failure
        .suggestions
        .iter()
        .map(toolsearch_catalog::ToolId::as_str)
        .collect();
    match (failure.code, ids.is_empty()) {
        (_, true) => {}
        (FailureCode::Ambiguous, false) => {
            text.push_str(&format!(" Exact ids: {}.", ids.join(", ")))
        }
        (_, false) => text.push_str(&format!(" Did you mean {}?", ids.join(", "))),
    }
    if let Some(advice) = advice(failure, speech) {
        text.push(' ');
        text.push_str(&advice);
    }
    text
}

fn advice(failure: &Failure, speech: &Speech) -> Option<String> {
    Some(match failure.code {
        FailureCode::NotFound => {
            format!(
                "Find tools with {}, then use {} with the exact id.",
                speech.search, speech.call
            )
        }
        FailureCode::HiddenTool => format!("Call it with {}.", speech.call),
        FailureCode::Ambiguous => format!("Then use {}.", speech.call),
        FailureCode::InvalidArguments => {
            format!("See {} for the full schema.", speech.describe)
        }
        FailureCode::PolicyDenied => "Do not try to get around this; tell the user.".to_owned(),
        FailureCode::ApprovalDenied => "Do not repeat the call; tell the user.".to_owned(),
        FailureCode::Unavailable => "Do not retry at once; tell the user.".to_owned(),
        _ => return None,
    })
}

fn failed(failure: &Failure, speech: &Speech) -> Rendered {
    let mut rendered = Rendered::error(failure_text(failure, speech));
    let mut meta = Map::new();
    meta.insert(
        "toolsearch/error".to_owned(),
        Value::from(failure.code.as_str()),
    );
    if let Some(handle) = &failure.handle {
        meta.insert("toolsearch/handle".to_owned(), Value::from(handle.as_str()));
    }
    rendered.meta = Some(meta);
    rendered
}
