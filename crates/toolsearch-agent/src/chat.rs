//! Chat Completions: a request as JSON, and what comes back as a turn.

use std::collections::BTreeSet;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch::schema::names::clip;

use crate::http::{BadAddress, Endpoint};
use crate::model::{
    Arguments, Message, Model, ModelError, ModelRequest, ModelTurn, Sent, ToolCall, ToolSpec,
};

/// Most calls of one turn that are read; what is beyond is cut off.
const MAX_CALLS: usize = 128;
const MAX_ID_CHARS: usize = 200;
const MAX_NAME_CHARS: usize = 400;
/// Longest excerpt of unreadable arguments, in characters.
const MAX_EXCERPT_CHARS: usize = 200;

/// A model behind Chat Completions, as OpenAI and many others serve them.
#[derive(Debug, Clone)]
pub struct OpenAiChat {
    endpoint: Endpoint,
    model: String,
}

impl OpenAiChat {
    /// A model at `<base_url>/chat/completions`. Without a key no `Authorization` is sent.
    ///
    /// # Errors
    /// [`BadAddress`] when no request can be sent there.
    pub fn new(
        base_url: &str,
        api_key: Option<&str>,
        model: impl Into<String>,
    ) -> Result<Self, BadAddress> {
        Ok(Self {
            endpoint: Endpoint::new(base_url, &["chat", "completions"], api_key)?,
            model: model.into(),
        })
    }
}

#[async_trait]
impl Model for OpenAiChat {
    fn name(&self) -> &str {
        &self.model
    }

    async fn complete(&self, request: &ModelRequest) -> Result<ModelTurn, ModelError> {
        let (body, tool_bytes) = body(&self.model, request);
        let sent = Sent::new(tool_bytes, body.len());
        let answer = self.endpoint.post(body).await?;
        let turn = turn(&answer)?;
        Ok(ModelTurn { sent, ..turn })
    }
}

/// The payload, and how many bytes of it are the declared tools.
pub(crate) fn body(model: &str, request: &ModelRequest) -> (Vec<u8>, usize) {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.is_empty() {
        messages.push(json!({ "role": "system", "content": request.system }));
    }
    messages.extend(request.messages.iter().map(message));
    let mut body = Map::new();
    body.insert("model".to_owned(), Value::from(model));
    body.insert("messages".to_owned(), Value::Array(messages));
    let mut tool_bytes = 0;
    if !request.tools.is_empty() {
        let tools = Value::Array(request.tools.iter().map(function).collect());
        tool_bytes = tools.to_string().len();
        body.insert("tools".to_owned(), tools);
    }
    (Value::Object(body).to_string().into_bytes(), tool_bytes)
}

fn function(tool: &ToolSpec) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        },
    })
}

fn message(message: &Message) -> Value {
    match message {
        Message::User(text) => json!({ "role": "user", "content": text }),
        Message::Tool { call, text } => {
            json!({ "role": "tool", "tool_call_id": call, "content": text })
        }
        Message::Assistant(turn) => {
            let content = match turn.text.as_str() {
                "" if !turn.calls.is_empty() => Value::Null,
                text => Value::from(text),
            };
            let mut message = json!({ "role": "assistant", "content": content });
            if !turn.calls.is_empty() {
                message["tool_calls"] = turn.calls.iter().map(call).collect();
            }
            message
        }
    }
}

fn call(call: &ToolCall) -> Value {
    // Some providers refuse a conversation that holds arguments which are no JSON.
    let arguments = match &call.arguments {
        Arguments::Object(object) => Value::Object(object.clone()).to_string(),
        Arguments::Unreadable { .. } => "{}".to_owned(),
    };
    json!({
        "id": call.id,
        "type": "function",
        "function": { "name": call.name, "arguments": arguments },
    })
}

/// Reads a completion.
pub(crate) fn turn(answer: &Value) -> Result<ModelTurn, ModelError> {
    let unreadable = |what: &str| ModelError::Unreadable(what.to_owned());
    let choice = answer
        .pointer("/choices/0")
        .ok_or_else(|| unreadable("it has no `choices`"))?;
    let message = choice
        .get("message")
        .filter(|message| message.is_object())
        .ok_or_else(|| unreadable("its first choice has no `message`"))?;
    let calls = match message.get("tool_calls") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Array(calls)) => read_calls(calls),
        Some(_) => return Err(unreadable("`tool_calls` is no list")),
    };
    let text = match (text(message.get("content")), message.get("refusal")) {
        (text, Some(Value::String(refusal))) if text.is_empty() => refusal.clone(),
        (text, _) => text,
    };
    let reason = choice.get("finish_reason").and_then(Value::as_str);
    Ok(ModelTurn {
        text,
        calls,
        cut: reason == Some("length"),
        sent: Sent::default(),
    })
}

/// Words come as one text or in parts.
fn text(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// Every call gets an id that no other call of the turn has.
fn read_calls(calls: &[Value]) -> Vec<ToolCall> {
    let mut taken = BTreeSet::new();
    let mut read = Vec::new();
    for (index, call) in calls.iter().take(MAX_CALLS).enumerate() {
        let own = call.get("id").and_then(Value::as_str).unwrap_or_default();
        let mut id: String = own.chars().take(MAX_ID_CHARS).collect();
        while id.is_empty() || taken.contains(&id) {
            id = format!("call_{index}_{}", taken.len() + id.len());
        }
        taken.insert(id.clone());
        let name = call.pointer("/function/name").and_then(Value::as_str);
        let name: String = name
            .unwrap_or_default()
            .chars()
            .take(MAX_NAME_CHARS)
            .collect();
        let arguments = arguments(call.pointer("/function/arguments"));
        read.push(ToolCall {
            id,
            name,
            arguments,
        });
    }
    read
}

/// Arguments are the text of an object. Some send the object itself; nothing stands for an empty one.
fn arguments(value: Option<&Value>) -> Arguments {
    let text = match value {
        None | Some(Value::Null) => return Arguments::Object(Map::new()),
        Some(Value::Object(object)) => return Arguments::Object(object.clone()),
        Some(Value::String(text)) => text.trim(),
        Some(other) => return unreadable(&other.to_string(), "it is no object"),
    };
    if text.is_empty() || text == "null" {
        return Arguments::Object(Map::new());
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Arguments::Object(object),
        Ok(_) => unreadable(text, "it is no object"),
        Err(error) => unreadable(text, &error.to_string()),
    }
}

fn unreadable(text: &str, problem: &str) -> Arguments {
    Arguments::Unreadable {
        excerpt: clip(text, MAX_EXCERPT_CHARS),
        problem: problem.to_owned(),
    }
}
