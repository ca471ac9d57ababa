//! A model behind the API of a provider: requests and answers in the provider's dialect.

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_dialect::{Call, Dialect, End, Relay, SseDecoder, SseEvent, StreamFault};

use crate::http::{Answer, BadAddress, Endpoint};
use crate::model::{Message, Model, ModelError, ModelRequest, ModelTurn, Sent, Used, Wire, Words};

/// Tokens of one answer where the dialect must be told a number.
const MAX_OUTPUT_TOKENS: u32 = 8192;

/// A model of a provider.
#[derive(Debug, Clone)]
pub struct Provider {
    dialect: Dialect,
    endpoint: Endpoint,
    model: String,
    max_output_tokens: Option<u32>,
}

impl Provider {
    /// A model at the dialect's path below `base_url`, such as `https://api.example.com/v1`. Without a key
    /// nothing is sent in its place.
    ///
    /// # Errors
    /// [`BadAddress`] when no request can be sent there.
    pub fn new(
        dialect: Dialect,
        base_url: &str,
        api_key: Option<&str>,
        model: impl Into<String>,
    ) -> Result<Self, BadAddress> {
        Ok(Self {
            dialect,
            endpoint: Endpoint::new(dialect, base_url, api_key)?,
            model: model.into(),
            max_output_tokens: None,
        })
    }

    /// Most tokens of one turn. Default: what the provider takes, and 8,192 in Messages, which must be
    /// told.
    #[must_use]
    pub const fn with_max_output_tokens(mut self, tokens: u32) -> Self {
        self.max_output_tokens = Some(tokens);
        self
    }

    /// The payload, and how many bytes of it are the declared tools.
    pub(crate) fn body(&self, request: &ModelRequest, stream: bool) -> (Vec<u8>, usize) {
        let dialect = self.dialect;
        let mut body = json!({ "model": self.model, dialect.history_field(): [] });
        let mut set = |field: &str, value: Value| body[field] = value;
        match (dialect, self.max_output_tokens) {
            (Dialect::AnthropicMessages, tokens) => {
                set("max_tokens", json!(tokens.unwrap_or(MAX_OUTPUT_TOKENS)));
            }
            (_, None) => {}
            (Dialect::OpenAiChat, Some(tokens)) => set("max_completion_tokens", json!(tokens)),
            (Dialect::OpenAiResponses, Some(tokens)) => set("max_output_tokens", json!(tokens)),
        }
        if dialect == Dialect::OpenAiResponses {
            // The whole conversation is sent every time, reasoning included, so nothing is kept there.
            set("store", json!(false));
            set("include", json!(["reasoning.encrypted_content"]));
        }
        if stream {
            set("stream", json!(true));
            if dialect == Dialect::OpenAiChat {
                set("stream_options", json!({ "include_usage": true }));
            }
        }
        dialect.add_prompt(&mut body, &request.system);
        let tools = request.tools.iter().map(|tool| dialect.declaration(tool));
        let tools: Vec<Value> = tools.collect();
        let tool_bytes = match tools.is_empty() {
            true => 0,
            false => serde_json::to_string(&tools).map_or(0, |text| text.len()),
        };
        if !tools.is_empty() {
            dialect.declare(&mut body, tools);
        }
        let entries = request
            .messages
            .iter()
            .flat_map(|message| self.entries(message));
        dialect.append(&mut body, entries.collect());
        (body.to_string().into_bytes(), tool_bytes)
    }

    fn entries(&self, message: &Message) -> Vec<Value> {
        match message {
            Message::User(text) => vec![json!({ "role": "user", "content": text })],
            Message::Results(results) => self.dialect.results(results),
            Message::Assistant(turn) => match &turn.wire {
                Some(wire) if wire.dialect == self.dialect => wire.entries.clone(),
                _ => said(self.dialect, turn),
            },
        }
    }

    fn turn(&self, mut answer: Value) -> Result<ModelTurn, ModelError> {
        let read = self.dialect.read(&mut answer);
        let read = read.map_err(|error| ModelError::Unreadable(error.0))?;
        if let Some(id) = read.foreign.first() {
            let what = format!("it calls something that only another client can run (`{id}`)");
            return Err(ModelError::Unreadable(what));
        }
        Ok(ModelTurn {
            text: read.text,
            calls: read.calls,
            cut: read.end == End::Cut,
            sent: Sent::default(),
            used: used(&self.dialect.usage(&answer)),
            wire: Some(Wire {
                dialect: self.dialect,
                entries: self.dialect.entries(&answer),
            }),
        })
    }

    /// Puts a stream together while its words are told.
    async fn listen(&self, mut answer: Answer, words: &dyn Words) -> Result<Value, ModelError> {
        let (mut decoder, mut relay) = (SseDecoder::default(), Relay::new(self.dialect));
        while let Some(bytes) = answer.chunk().await? {
            for event in decoder.push(&bytes).map_err(broken)? {
                relay.event(&event).map_err(broken)?;
                if let Some(piece) = spoken(self.dialect, &event) {
                    words.words(&piece);
                }
                if relay.ended() {
                    return relay.turn().map_err(broken);
                }
            }
        }
        relay.turn().map_err(broken)
    }
}

#[async_trait]
impl Model for Provider {
    fn name(&self) -> &str {
        &self.model
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        words: Option<&dyn Words>,
    ) -> Result<ModelTurn, ModelError> {
        let (body, tool_bytes) = self.body(request, words.is_some());
        let sent = Sent::new(tool_bytes, body.len());
        let answer = self.endpoint.post(body).await?;
        let turn = match words {
            Some(words) if answer.is_stream() => self.turn(self.listen(answer, words).await?)?,
            words => {
                let turn = self.turn(answer.json().await?)?;
                // Some providers answer whole whatever they are asked for.
                if let (Some(words), false) = (words, turn.text.is_empty()) {
                    words.words(&turn.text);
                }
                turn
            }
        };
        Ok(ModelTurn { sent, ..turn })
    }
}

fn broken(fault: StreamFault) -> ModelError {
    match fault {
        StreamFault::Failed { message, .. } => ModelError::Busy {
            status: 200,
            message,
            retry_after: None,
        },
        StreamFault::Incomplete => {
            ModelError::Unreachable("the connection ended in the middle of an answer".to_owned())
        }
        fault => ModelError::Unreadable(fault.to_string()),
    }
}

/// The words in one event of a stream.
fn spoken(dialect: Dialect, event: &SseEvent) -> Option<String> {
    let value: Value = serde_json::from_str(&event.data).ok()?;
    let place = match (dialect, value.get("type").and_then(Value::as_str)) {
        (Dialect::OpenAiChat, _) => "/choices/0/delta/content",
        (Dialect::OpenAiResponses, Some("response.output_text.delta")) => "/delta",
        (Dialect::AnthropicMessages, Some("content_block_delta")) => "/delta/text",
        _ => return None,
    };
    let piece = value.pointer(place)?.as_str()?;
    (!piece.is_empty()).then(|| piece.to_owned())
}

/// Providers count under two pairs of names; Messages counts its cache apart.
fn used(usage: &Value) -> Used {
    let count = |names: &[&str]| -> u64 {
        let values = names.iter().filter_map(|name| usage.get(name)?.as_u64());
        values.sum()
    };
    let input = count(&[
        "prompt_tokens",
        "input_tokens",
        "cache_creation_input_tokens",
        "cache_read_input_tokens",
    ]);
    Used::new(input, count(&["completion_tokens", "output_tokens"]))
}

/// A turn of another model as entries of this dialect.
fn said(dialect: Dialect, turn: &ModelTurn) -> Vec<Value> {
    let text = (!turn.text.is_empty()).then_some(turn.text.as_str());
    match dialect {
        Dialect::OpenAiChat => {
            let mut message = Map::new();
            message.insert("role".to_owned(), json!("assistant"));
            message.insert("content".to_owned(), json!(text));
            if !turn.calls.is_empty() {
                let call = |call: &Call| {
                    json!({
                        "id": call.id, "type": "function",
                        "function": { "name": call.name, "arguments": call.arguments_text() },
                    })
                };
                let calls = turn.calls.iter().map(call).collect();
                message.insert("tool_calls".to_owned(), calls);
            }
            vec![Value::Object(message)]
        }
        Dialect::OpenAiResponses => {
            let message = text.map(|text| json!({ "role": "assistant", "content": text }));
            let call = |call: &Call| {
                json!({
                    "type": "function_call", "call_id": call.id, "name": call.name,
                    "arguments": call.arguments_text(),
                })
            };
            message
                .into_iter()
                .chain(turn.calls.iter().map(call))
                .collect()
        }
        Dialect::AnthropicMessages => {
            let words = text.map(|text| json!({ "type": "text", "text": text }));
            let call = |call: &Call| {
                json!({
                    "type": "tool_use", "id": call.id, "name": call.name,
                    "input": call.arguments_object(),
                })
            };
            let blocks: Vec<Value> = words
                .into_iter()
                .chain(turn.calls.iter().map(call))
                .collect();
            match blocks.is_empty() {
                true => Vec::new(),
                false => vec![json!({ "role": "assistant", "content": blocks })],
            }
        }
    }
}
