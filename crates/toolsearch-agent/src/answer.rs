//! The answer to a call as text for a chat: content first, the structured value only where there is
//! no content, and a short note for what is no text.

use serde_json::Value;
use toolsearch::catalog::Block;
use toolsearch::mode::Rendered;
use toolsearch::schema::names::sanitise_label;

/// Most characters of one name or address in a note.
const MAX_LABEL_CHARS: usize = 200;

pub(crate) fn text(rendered: &Rendered) -> String {
    let mut text = rendered
        .content
        .iter()
        .map(block)
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

fn block(block: &Block) -> String {
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
