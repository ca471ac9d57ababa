//! Requests of Responses: items instead of messages, tools in namespaces, tools that the history
//! brings, and searches that the client runs.

use serde_json::{Map, Value, json};
use toolsearch_mode::Rendered;

use super::chat::{description, free_text_schema, function, stay};
use super::names::Names;
use super::{Edit, Past, PastResult, Places, entries};
use crate::call::{Call, CallForm};
use crate::dialect::Dialect;
use crate::offer::{Declaration, Native, Note, Offer, Offered, Stay};
use crate::parts::{Form, content, outcome, set, take, text_field};
use crate::refusal::Refusal;

/// What a client's own search is declared as where the provider knows no such thing.
const CLIENT_SEARCH: &str = "client_tool_search";
/// Ends of the types of items that hold a call, and a result.
const CALL: &str = "_call";
const OUTPUT: &str = "_output";

/// Whether the history brings tools.
pub(crate) fn brings_tools(body: &Value) -> bool {
    let brings = |item: &Value| {
        is_bringer(item)
            && item
                .get("tools")
                .and_then(Value::as_array)
                .is_some_and(|tools| !tools.is_empty())
    };
    entries(Dialect::OpenAiResponses, body).iter().any(brings)
}

fn is_bringer(item: &Value) -> bool {
    matches!(
        text_field(item, "type"),
        Some("additional_tools" | "tool_search_output")
    )
}

pub(crate) fn offer(body: &Value, native: Native) -> Result<Offer, Refusal> {
    let mut reader = Reader {
        names: Names::new(Dialect::OpenAiResponses, body),
        native,
        offer: Offer::default(),
    };
    let tools = body.get("tools").and_then(Value::as_array);
    for (index, tool) in tools.into_iter().flatten().enumerate() {
        reader.entry(tool, &format!("tools[{index}]"))?;
    }
    for (index, item) in entries(Dialect::OpenAiResponses, body).iter().enumerate() {
        if is_bringer(item) {
            reader.brought(item, &format!("input[{index}]"));
        }
    }
    Ok(reader.offer)
}

struct Reader<'a> {
    names: Names<'a>,
    native: Native,
    offer: Offer,
}

impl Reader<'_> {
    fn entry(&mut self, tool: &Value, at: &str) -> Result<(), Refusal> {
        if !tool.is_object() {
            let message = format!("`{at}` must be an object");
            return Err(Refusal::invalid(message).at(at));
        }
        match text_field(tool, "type").unwrap_or("function") {
            "function" | "custom" => {
                let mut offered = self.single(tool, None, at)?;
                if deferred(tool) && self.native == Native::Passed {
                    offered.stay = Some(Stay::Deferred);
                    offered.declaration = Declaration::Elsewhere;
                    self.offer.kept.push(tool.clone());
                }
                self.offer.tools.push(offered);
            }
            "namespace" => self.namespace(tool, at)?,
            "tool_search" => self.search(tool, at)?,
            _ => self.offer.kept.push(tool.clone()),
        }
        Ok(())
    }

    /// A function or a custom tool, in a namespace or not.
    fn single(
        &mut self,
        tool: &Value,
        namespace: Option<&str>,
        at: &str,
    ) -> Result<Offered, Refusal> {
        let name = self.names.take(tool.get("name"), namespace, at)?;
        if text_field(tool, "type") == Some("custom") {
            let mut offered = Offered::function(name, free_text_schema());
            offered.description = description(tool);
            offered.form = CallForm::Custom;
            offered.stay = Some(Stay::FreeText);
            offered.declaration = Declaration::Own(tool.clone());
            return Ok(offered);
        }
        let mut offered = function(name, tool, "parameters");
        offered.stay = stay(&self.names, &offered.name, tool, tool);
        let mut entry = tool.clone();
        if let Value::Object(fields) = &mut entry
            && deferred(tool)
        {
            take(fields, "defer_loading");
        }
        offered.declaration = Declaration::Own(entry);
        Ok(offered)
    }

    fn namespace(&mut self, tool: &Value, at: &str) -> Result<(), Refusal> {
        let Some(space) = text_field(tool, "name").filter(|name| !name.is_empty()) else {
            let message = format!("`{at}.name` must be a text");
            return Err(Refusal::invalid(message).at(format!("{at}.name")));
        };
        let members = tool.get("tools").and_then(Value::as_array);
        let whole = self.native == Native::Passed && members.into_iter().flatten().any(deferred);
        for (index, member) in members.into_iter().flatten().enumerate() {
            let at = format!("{at}.tools[{index}]");
            let mut offered = self.single(member, Some(space), &at)?;
            offered.namespace = Some(space.to_owned());
            if whole {
                offered.stay = Some(Stay::Deferred);
                offered.declaration = Declaration::Elsewhere;
            } else if self.native == Native::Passed {
                offered.declaration = Declaration::Own(only(tool, member));
            } else {
                offered.declaration = Declaration::Surface;
            }
            self.offer.tools.push(offered);
        }
        if whole {
            self.offer.kept.push(tool.clone());
        }
        Ok(())
    }

    fn search(&mut self, tool: &Value, at: &str) -> Result<(), Refusal> {
        if self.native == Native::Passed {
            self.offer.kept.push(tool.clone());
            return Ok(());
        }
        if text_field(tool, "execution") != Some("client") {
            let what = "the provider's search is left out; tools are searched for here";
            self.offer.notes.push(Note::new(at, what));
            return Ok(());
        }
        let name = self
            .names
            .take(Some(&Value::from(CLIENT_SEARCH)), None, at)?;
        let mut offered = function(name, tool, "parameters");
        offered.form = CallForm::ToolSearch;
        offered.stay = Some(Stay::Deferred);
        let what = format!("the client's search is declared as the function `{CLIENT_SEARCH}`");
        self.offer.notes.push(Note::new(at, what));
        self.offer.tools.push(offered);
        Ok(())
    }

    /// Tools that an item of the history brings. The client found them fit to send once; one that
    /// cannot be taken is passed over.
    fn brought(&mut self, item: &Value, at: &str) {
        let before = self.offer.tools.len();
        let kept = self.offer.kept.len();
        let tools = item.get("tools").and_then(Value::as_array);
        for (index, tool) in tools.into_iter().flatten().enumerate() {
            let at = format!("{at}.tools[{index}]");
            if let Err(refusal) = self.entry(tool, &at)
                && refusal.code != Some("duplicate_tool")
            {
                self.offer.notes.push(Note::new(at, refusal.message));
            }
        }
        if self.native == Native::Passed {
            // They stand in the history, where the provider finds them.
            self.offer.kept.truncate(kept);
            for offered in &mut self.offer.tools[before..] {
                offered.stay = Some(Stay::Deferred);
                offered.declaration = Declaration::Elsewhere;
            }
        }
    }
}

fn deferred(tool: &Value) -> bool {
    tool.get("defer_loading") == Some(&Value::Bool(true))
}

/// A namespace with one member.
fn only(namespace: &Value, member: &Value) -> Value {
    let mut entry = namespace.clone();
    set(&mut entry, "tools", Value::Array(vec![member.clone()]));
    entry
}

pub(crate) fn settle_history(body: &mut Value, native: Native) {
    let Some(Value::Array(items)) = body.get_mut("input") else {
        return;
    };
    if native == Native::Passed {
        return;
    }
    items.retain_mut(|item| match text_field(item, "type") {
        Some("additional_tools") => keeps_others(item),
        Some("tool_search_call") => {
            // A search that the provider ran left nothing that another provider could read.
            let ours = text_field(item, "call_id").is_some();
            if ours {
                as_function_call(item);
            }
            ours
        }
        Some("tool_search_output") => {
            let ours = text_field(item, "call_id").is_some();
            if ours {
                as_function_output(item);
            }
            ours
        }
        _ => true,
    });
}

/// Takes functions out of an item that brings tools; false when nothing is left of it.
fn keeps_others(item: &mut Value) -> bool {
    let Some(Value::Array(tools)) = item.get_mut("tools") else {
        return true;
    };
    tools.retain(|tool| {
        let kind = text_field(tool, "type").unwrap_or("function");
        !matches!(kind, "function" | "custom" | "namespace" | "tool_search")
    });
    !tools.is_empty()
}

fn as_function_call(item: &mut Value) {
    let arguments = item.get("arguments").map_or_else(
        || "{}".to_owned(),
        |arguments| match arguments {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        },
    );
    let call_id = item.get("call_id").cloned().unwrap_or_default();
    *item = json!({
        "type": "function_call",
        "call_id": call_id,
        "name": CLIENT_SEARCH,
        "arguments": arguments,
    });
}

fn as_function_output(item: &mut Value) {
    let mut found = Vec::new();
    let tools = item.get("tools").and_then(Value::as_array);
    for tool in tools.into_iter().flatten() {
        let own = text_field(tool, "name").unwrap_or_default();
        match tool.get("tools").and_then(Value::as_array) {
            Some(members) => found.extend(members.iter().map(|member| {
                let name = text_field(member, "name").unwrap_or_default();
                json!({"id": format!("client:{own}:{name}"), "description": description(member)})
            })),
            None => found.push(json!({"id": own, "description": description(tool)})),
        }
    }
    let call_id = item.get("call_id").cloned().unwrap_or_default();
    *item = json!({
        "type": "function_call_output",
        "call_id": call_id,
        "output": json!({"tools": found}).to_string(),
    });
}

/// The id of a call that an item holds.
pub(crate) fn call_id(item: &Value) -> Option<&str> {
    let kind = text_field(item, "type")?;
    kind.ends_with(CALL)
        .then(|| text_field(item, "call_id"))
        .flatten()
}

/// The id of the call whose result an item holds.
fn result_id(item: &Value) -> Option<&str> {
    let kind = text_field(item, "type")?;
    kind.ends_with(OUTPUT)
        .then(|| text_field(item, "call_id"))
        .flatten()
}

pub(crate) fn past(items: &[Value]) -> Past {
    let mut past = Past::default();
    for item in items {
        if let Some(id) = call_id(item) {
            past.calls.push(id.to_owned());
        } else if let Some(id) = result_id(item) {
            // What a client's search found stands under another key.
            let result = item.get("output").or_else(|| item.get("tools"));
            past.results.push(PastResult {
                id: id.to_owned(),
                outcome: outcome(result, false),
                raw: item.clone(),
            });
        }
    }
    past
}

pub(crate) fn splice(before: Vec<Value>, edits: &[Edit]) -> Vec<Value> {
    let mut places = Places::new(edits);
    let mut after: Vec<Value> = Vec::with_capacity(before.len());
    for item in before {
        let id = call_id(&item).or_else(|| result_id(&item));
        let Some((edit, first)) = id.and_then(|id| places.of(id)) else {
            after.push(item);
            continue;
        };
        if call_id(&item).is_some() {
            while after
                .last()
                .is_some_and(|last| edit.visible.iter().any(|shown| same(last, shown)))
            {
                after.pop();
            }
        }
        if first {
            after.extend(edit.instead.iter().cloned());
        }
    }
    after
}

/// Whether a client sends back what it was handed. Some drop ids, some drop what they do not know.
fn same(sent: &Value, shown: &Value) -> bool {
    let kind = |item: &Value| text_field(item, "type").unwrap_or("message").to_owned();
    if kind(sent) != kind(shown) || call_id(sent).is_some() {
        return false;
    }
    if let (Some(a), Some(b)) = (text_field(sent, "id"), text_field(shown, "id")) {
        return a == b;
    }
    let fields = ["encrypted_content", "content", "summary"];
    let value = |item: &Value| -> Map<String, Value> {
        fields
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), bare(item.get(*name)?))))
            .collect()
    };
    text_field(sent, "role").is_none_or(|role| role == "assistant") && value(sent) == value(shown)
}

/// Content reduced to its words, which every client keeps.
fn bare(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::from(crate::parts::words(Some(value))),
        other => other.clone(),
    }
}

pub(crate) fn results(results: &[(Call, Rendered)]) -> Vec<Value> {
    let result = |(call, rendered): &(Call, Rendered)| {
        let kind = match call.form {
            CallForm::Custom => "custom_tool_call_output",
            CallForm::Function | CallForm::ToolSearch => "function_call_output",
        };
        json!({
            "type": kind,
            "call_id": call.id,
            "output": content(rendered, Form::Responses),
        })
    };
    results.iter().map(result).collect()
}
