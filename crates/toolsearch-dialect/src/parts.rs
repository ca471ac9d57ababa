//! Content of results: from each wire form to blocks of a catalog's outcome, and back.

use serde_json::{Map, Value, json};
use toolsearch_catalog::{Block, Outcome, text_block};
use toolsearch_mode::Rendered;
use toolsearch_schema::names::sanitise_label;

/// Most characters of one name or address in a note.
const MAX_LABEL_CHARS: usize = 200;

/// A result as its client wrote it: a text, or a list of parts.
pub(crate) fn outcome(content: Option<&Value>, is_error: bool) -> Outcome {
    let blocks = match content {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(text)) => vec![text_block(text.as_str())],
        Some(Value::Array(parts)) => parts.iter().map(block_of).collect(),
        Some(other) => vec![text_block(other.to_string())],
    };
    let mut outcome = Outcome::default();
    outcome.content = blocks;
    outcome.is_error = is_error;
    outcome
}

/// A part as a block; what has no counterpart stays as it is.
fn block_of(part: &Value) -> Block {
    let field = |name: &str| part.get(name).and_then(Value::as_str);
    match field("type") {
        Some("text" | "input_text" | "output_text") => {
            text_block(field("text").unwrap_or_default())
        }
        Some("image") => {
            let source = part.get("source");
            let of = |name: &str| source?.get(name)?.as_str();
            match (of("type"), of("media_type"), of("data")) {
                (Some("base64"), Some(mime), Some(data)) => {
                    json!({"type": "image", "data": data, "mimeType": mime})
                }
                _ => part.clone(),
            }
        }
        Some("input_image") => field("image_url").and_then(data_url).map_or_else(
            || part.clone(),
            |(mime, data)| json!({"type": "image", "data": data, "mimeType": mime}),
        ),
        _ => part.clone(),
    }
}

fn data_url(url: &str) -> Option<(&str, &str)> {
    url.strip_prefix("data:")?.split_once(";base64,")
}

/// The whole answer as one text.
pub(crate) fn text(rendered: &Rendered) -> String {
    let mut text = rendered
        .content
        .iter()
        .map(described)
        .collect::<Vec<_>>()
        .join("\n");
    if rendered.content.is_empty()
        && let Some(structured) = &rendered.structured
    {
        text = structured.to_string();
    }
    match (text.trim().is_empty(), rendered.is_error) {
        (true, true) => "Error: the call failed and says no more.".to_owned(),
        (true, false) => "(no output)".to_owned(),
        (false, true) if !text.starts_with("Error") => format!("Error: {text}"),
        (false, _) => text,
    }
}

fn described(block: &Block) -> String {
    let field = |name: &str| block.get(name).and_then(Value::as_str);
    let label = |name: &str| {
        field(name).map_or_else(String::new, |text| {
            format!(" {}", sanitise_label(text, MAX_LABEL_CHARS))
        })
    };
    match field("type") {
        Some("text") => field("text").unwrap_or_default().to_owned(),
        Some(kind @ ("image" | "audio")) => {
            let bytes = field("data").map_or(0, decoded_bytes);
            format!("[{kind}{}, {bytes} bytes]", label("mimeType"))
        }
        Some("resource_link") => format!("[resource{}{}]", label("name"), label("uri")),
        Some("resource") => embedded(block.get("resource")),
        Some(other) => format!("[{}]", sanitise_label(other, MAX_LABEL_CHARS)),
        None => "[unreadable content]".to_owned(),
    }
}

fn embedded(resource: Option<&Value>) -> String {
    let field = |name: &str| resource?.get(name)?.as_str();
    if let Some(text) = field("text") {
        return text.to_owned();
    }
    let uri = sanitise_label(field("uri").unwrap_or_default(), MAX_LABEL_CHARS);
    let bytes = field("blob").map_or(0, decoded_bytes);
    format!("[resource {uri}, {bytes} bytes]")
}

/// Bytes behind a Base64 text.
fn decoded_bytes(base64: &str) -> usize {
    let digits = base64.trim_end_matches('=').len();
    digits / 4 * 3 + (digits % 4).saturating_sub(1)
}

/// The words of another wire form for the parts of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Responses,
    Messages,
}

impl Form {
    fn part(self, block: &Block) -> Value {
        let field = |name: &str| block.get(name).and_then(Value::as_str);
        let kind = field("type");
        match (self, kind, field("data"), field("mimeType")) {
            (Self::Responses, Some("image"), Some(data), Some(mime)) => json!({
                "type": "input_image",
                "image_url": format!("data:{mime};base64,{data}"),
            }),
            (Self::Messages, Some("image"), Some(data), Some(mime)) => json!({
                "type": "image",
                "source": {"type": "base64", "media_type": mime, "data": data},
            }),
            _ if kind.is_some_and(|kind| self.knows(kind)) => block.clone(),
            (Self::Responses, ..) => json!({"type": "input_text", "text": described(block)}),
            (Self::Messages, ..) => json!({"type": "text", "text": described(block)}),
        }
    }

    /// Parts that a result may hold as the client sent them.
    fn knows(self, kind: &str) -> bool {
        match self {
            Self::Responses => matches!(kind, "input_image" | "input_file"),
            Self::Messages => matches!(
                kind,
                "image" | "document" | "search_result" | "tool_reference"
            ),
        }
    }
}

/// One text where there is nothing else, else parts.
pub(crate) fn content(rendered: &Rendered, form: Form) -> Value {
    let is_text = |block: &Block| block.get("type").and_then(Value::as_str) == Some("text");
    if rendered.content.iter().all(is_text) {
        return Value::from(text(rendered));
    }
    rendered
        .content
        .iter()
        .map(|block| form.part(block))
        .collect()
}

/// The words of a message's content: a text, or the text parts of a list.
pub(crate) fn words(content: Option<&Value>) -> String {
    match content {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts
            .iter()
            .filter_map(|part| part.get("text")?.as_str())
            .collect(),
        _ => String::new(),
    }
}

/// A field of an object as text.
pub(crate) fn text_field<'a>(value: &'a Value, name: &str) -> Option<&'a str> {
    value.get(name).and_then(Value::as_str)
}

/// Sets a field where it stands, or at the end.
pub(crate) fn set(value: &mut Value, name: &str, to: Value) {
    if let Value::Object(fields) = value {
        fields.insert(name.to_owned(), to);
    }
}

/// Takes a field out; the order of the others stays.
pub(crate) fn take(fields: &mut Map<String, Value>, name: &str) -> Option<Value> {
    fields.shift_remove(name)
}
