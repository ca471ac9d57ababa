//! The result budget: what does not fit into a model's context is cut once, kept for the session,
//! and read on with the catalog tool `native:toolsearch:result_read`.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{Block, Outcome, Source, ToolDescriptor, ToolId, json_bytes, text_block};
use toolsearch_invoke::{Invocation, InvokeError, Invoker};
use toolsearch_mode::OWN_TOOLS;

const READER_NAME: &str = "result_read";

/// How many cut results a session keeps; the oldest go first.
const MAX_RESULTS: usize = 16;

/// How many bytes of cut results a session keeps.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// Bytes that one read gives when it names no length.
const READ_BYTES: usize = 16 * 1024;

/// Bytes that one read gives at most.
const MAX_READ_BYTES: usize = 48 * 1024;

/// The reader as a catalog tool.
pub(crate) fn reader_tool() -> Arc<ToolDescriptor> {
    static TOOL: OnceLock<Arc<ToolDescriptor>> = OnceLock::new();
    Arc::clone(TOOL.get_or_init(|| {
        let schema = json!({
            "type": "object",
            "properties": {
                "handle": { "type": "string", "description": "Handle that the cut result named." },
                "offset": { "type": "integer", "minimum": 0, "description": "First byte to read." },
                "length": {
                    "type": "integer", "minimum": 1, "maximum": MAX_READ_BYTES,
                    "description": "How many bytes to read."
                },
                "pointer": {
                    "type": "string",
                    "description": "JSON pointer into a structured result, such as /items/0."
                },
            },
            "required": ["handle"],
            "additionalProperties": false,
        });
        let mut tool = ToolDescriptor::new(Source::Native, OWN_TOOLS, READER_NAME, schema)
            .expect("because owner and name are not empty");
        tool.description =
            "Read on in a tool result that was cut because it was too large. Results \
                            are kept for this session only."
                .to_owned();
        tool.annotations.read_only_hint = Some(true);
        Arc::new(tool)
    }))
}

/// The reader's id.
pub(crate) fn reader_id() -> &'static ToolId {
    static ID: OnceLock<ToolId> = OnceLock::new();
    ID.get_or_init(|| reader_tool().id.clone())
}

#[derive(Debug)]
struct Kept {
    handle: String,
    text: String,
    value: Option<Arc<Value>>,
}

#[derive(Debug, Default)]
struct State {
    kept: VecDeque<Kept>,
    made: u64,
}

/// Cut results of one session.
#[derive(Debug, Default)]
pub(crate) struct Results {
    state: Mutex<State>,
}

impl Results {
    /// Cuts a result to `budget` bytes of text and as many of structured value. Images and audio are
    /// not text and pass whole.
    pub(crate) fn budgeted(&self, outcome: Outcome, budget: usize) -> Outcome {
        let text: usize = outcome.content.iter().map(text_bytes).sum();
        let structured = outcome.structured.as_deref().map_or(0, json_bytes);
        if text <= budget && structured <= budget {
            return outcome;
        }
        self.cut(outcome, budget, structured)
    }

    fn cut(&self, mut outcome: Outcome, budget: usize, structured: usize) -> Outcome {
        let mut full = outcome.joined_text();
        if full.is_empty()
            && let Some(value) = &outcome.structured
        {
            full = value.to_string();
            outcome.content.push(text_block(full.as_str()));
        }
        let total = full.len();
        let handle = self.keep(full, outcome.structured.clone());
        if structured > budget {
            outcome.structured = None;
        }
        let (content, shown) = cut_blocks(std::mem::take(&mut outcome.content), budget);
        outcome.content = content;
        let rest = json!({ "handle": handle, "offset": shown });
        let notice = format!(
            "[cut: {shown} of {total} bytes are shown; read on with {} {rest}]",
            reader_id()
        );
        outcome.content.push(text_block(notice));
        outcome
    }

    fn keep(&self, text: String, value: Option<Arc<Value>>) -> String {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.made += 1;
        let handle = format!("r{}", state.made);
        state.kept.push_back(Kept {
            handle: handle.clone(),
            text,
            value,
        });
        let bytes = |state: &State| state.kept.iter().map(|kept| kept.text.len()).sum::<usize>();
        while state.kept.len() > 1 && (state.kept.len() > MAX_RESULTS || bytes(&state) > MAX_BYTES)
        {
            state.kept.pop_front();
        }
        handle
    }

    fn read(&self, args: &Map<String, Value>) -> Outcome {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let handle = args
            .get("handle")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let Some(kept) = state.kept.iter().find(|kept| kept.handle == handle) else {
            let known: Vec<&str> = state.kept.iter().map(|kept| kept.handle.as_str()).collect();
            return Outcome::error(format!(
                "No kept result has this handle; it may have expired. Kept now: {}. Call the tool \
                 again to get its result again.",
                if known.is_empty() {
                    "none".to_owned()
                } else {
                    known.join(", ")
                }
            ));
        };
        let number = |key: &str| args.get(key).and_then(Value::as_u64);
        let offset = number("offset").map_or(0, |at| usize::try_from(at).unwrap_or(usize::MAX));
        let length = number("length").map_or(READ_BYTES, |many| {
            usize::try_from(many)
                .unwrap_or(usize::MAX)
                .clamp(1, MAX_READ_BYTES)
        });
        let Some(pointer) = args.get("pointer").and_then(Value::as_str) else {
            return slice(&kept.text, offset, length);
        };
        match kept.value.as_ref().and_then(|value| value.pointer(pointer)) {
            Some(part) => slice(&part.to_string(), offset, length),
            None => Outcome::error(
                "The result has no value at this pointer. Read it by `offset` instead.",
            ),
        }
    }
}

fn slice(text: &str, offset: usize, length: usize) -> Outcome {
    let from = text.floor_char_boundary(offset.min(text.len()));
    let to = text.ceil_char_boundary((from.saturating_add(length)).min(text.len()));
    let part = &text[from..to];
    let more = if to < text.len() {
        format!(
            "\n[bytes {from} to {to} of {}; go on at offset {to}]",
            text.len()
        )
    } else {
        format!(
            "\n[bytes {from} to {to} of {}; this is the end]",
            text.len()
        )
    };
    Outcome::text(format!("{part}{more}"))
}

/// Bytes of a block that a model reads as text.
fn text_bytes(block: &Block) -> usize {
    match block.get("type").and_then(Value::as_str) {
        Some("image" | "audio") => 0,
        Some("text") => block
            .get("text")
            .and_then(Value::as_str)
            .map_or(0, str::len),
        _ => json_bytes(block),
    }
}

/// Keeps blocks until the budget is used up; cuts the text block that does not fit.
fn cut_blocks(blocks: Vec<Block>, budget: usize) -> (Vec<Block>, usize) {
    let mut left = budget;
    let mut shown = 0;
    let mut kept = Vec::with_capacity(blocks.len());
    for mut block in blocks {
        let bytes = text_bytes(&block);
        if bytes <= left {
            left -= bytes;
            shown += if is_text(&block) { bytes } else { 0 };
            kept.push(block);
            continue;
        }
        if let Some(Value::String(text)) = block.get_mut("text").filter(|_| left > 0) {
            text.truncate(text.floor_char_boundary(left));
            shown += text.len();
            kept.push(block);
        }
        left = 0;
    }
    (kept, shown)
}

fn is_text(block: &Block) -> bool {
    block.get("type").and_then(Value::as_str) == Some("text")
}

/// Runs the reader over the results of one session.
#[derive(Debug)]
pub(crate) struct ResultReader(pub(crate) Arc<Results>);

#[async_trait]
impl Invoker for ResultReader {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        Ok(self.0.read(&call.args))
    }
}
