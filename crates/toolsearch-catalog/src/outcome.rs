//! What a call brings back: content blocks as raw JSON, so that a block type which did not exist
//! when this was written still passes through.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::descriptor::Trust;
use crate::id::ToolId;
use crate::size::json_bytes;

/// One content block of a result as its owner sent it: an object with a `type`.
pub type Block = Value;

/// Which tool a result came from and how far its text can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provenance {
    /// The tool that was run.
    pub tool: ToolId,
    /// Whether the operator vouches for its text.
    pub trust: Trust,
}

impl Provenance {
    /// Names the tool behind a result.
    #[must_use]
    pub const fn new(tool: ToolId, trust: Trust) -> Self {
        Self { tool, trust }
    }
}

/// The result of one call.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Outcome {
    /// Content blocks in their order.
    pub content: Vec<Block>,
    /// The structured value, when the tool gave one.
    pub structured: Option<Arc<Value>>,
    /// The tool ran and says that it failed.
    pub is_error: bool,
    /// The owner's `_meta`.
    pub meta: Option<Map<String, Value>>,
    /// Set by the dispatch.
    pub provenance: Option<Provenance>,
}

impl Outcome {
    /// A result of one text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![text_block(text)],
            ..Self::default()
        }
    }

    /// A failed result of one text block.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// A structured result; its JSON also stands as text, as the MCP specification advises for
    /// clients that read only text.
    #[must_use]
    pub fn structured(value: Value) -> Self {
        let text = value.to_string();
        Self {
            structured: Some(Arc::new(value)),
            ..Self::text(text)
        }
    }

    /// Reads a `tools/call` result. Missing or odd parts are taken as absent; nothing is lost of
    /// the parts that are there.
    #[must_use]
    pub fn from_result_json(result: Value) -> Self {
        let Value::Object(mut result) = result else {
            return Self::structured(result);
        };
        let content = match result.remove("content") {
            Some(Value::Array(blocks)) => blocks,
            Some(Value::String(text)) => vec![text_block(text)],
            _ => Vec::new(),
        };
        let structured = result
            .remove("structuredContent")
            .filter(|value| !value.is_null());
        let meta = match result.remove("_meta") {
            Some(Value::Object(meta)) => Some(meta),
            _ => None,
        };
        Self {
            content,
            structured: structured.map(Arc::new),
            is_error: result
                .get("isError")
                .and_then(Value::as_bool)
                .unwrap_or(false),
            meta,
            provenance: None,
        }
    }

    /// The result in the form of an MCP `tools/call` answer:
    /// `{content, structuredContent?, isError, _meta?}`.
    #[must_use]
    pub fn to_result_json(&self) -> Value {
        let mut result = Map::new();
        result.insert("content".to_owned(), Value::Array(self.content.clone()));
        if let Some(structured) = &self.structured {
            result.insert("structuredContent".to_owned(), Value::clone(structured));
        }
        result.insert("isError".to_owned(), Value::Bool(self.is_error));
        if let Some(meta) = &self.meta {
            result.insert("_meta".to_owned(), Value::Object(meta.clone()));
        }
        Value::Object(result)
    }

    /// All text blocks, joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let mut texts = self.content.iter().filter_map(block_text);
        let mut joined = texts.next().unwrap_or_default().to_owned();
        for text in texts {
            joined.push('\n');
            joined.push_str(text);
        }
        joined
    }

    /// The value that a program wants: the structured value, else the JSON that the text holds,
    /// else the text.
    #[must_use]
    pub fn value(&self) -> Value {
        if let Some(structured) = &self.structured {
            return Value::clone(structured);
        }
        let text = self.joined_text();
        match text.trim_start().as_bytes().first() {
            Some(b'{' | b'[') => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            _ => Value::String(text),
        }
    }

    /// Bytes of everything in the result, as serialised.
    #[must_use]
    pub fn bytes(&self) -> usize {
        let content: usize = self.content.iter().map(json_bytes).sum();
        content + self.structured.as_deref().map_or(0, json_bytes)
    }
}

/// A text content block.
#[must_use]
pub fn text_block(text: impl Into<String>) -> Block {
    let mut block = Map::new();
    block.insert("type".to_owned(), Value::from("text"));
    block.insert("text".to_owned(), Value::String(text.into()));
    Value::Object(block)
}

fn block_text(block: &Block) -> Option<&str> {
    (block.get("type")?.as_str()? == "text")
        .then(|| block.get("text")?.as_str())
        .flatten()
}
