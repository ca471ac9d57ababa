//! Arguments that come as text.

use serde_json::Value;

use super::Map;
use super::shape::{ShapeError, ShapeErrorKind};
use crate::fault::kind_with_article;

/// Longest text of arguments that is read.
pub const MAX_ARGUMENT_BYTES: usize = 4 * 1024 * 1024;

/// Reads arguments as a protocol hands them over: absent, null, an object, or text of one.
///
/// # Errors
///
/// A [`ShapeError`] for lists, other values, and text that [`parse_arguments_text`] refuses.
pub fn read_arguments(raw: Option<Value>) -> Result<Map, ShapeError> {
    match raw {
        None | Some(Value::Null) => Ok(Map::new()),
        Some(Value::Object(members)) => Ok(members),
        Some(Value::String(text)) => parse_arguments_text(&text),
        Some(other) => Err(not_an_object("arguments", &other)),
    }
}

/// Reads the text of an argument object. Blank text and `null` mean no arguments; a Markdown code fence
/// around the object is taken off.
///
/// # Errors
///
/// A [`ShapeError`] of kind `InvalidJson` that tells line and column, `NotAnObject` for any other JSON
/// value, and `TooLarge` beyond [`MAX_ARGUMENT_BYTES`].
pub fn parse_arguments_text(text: &str) -> Result<Map, ShapeError> {
    parse(text, "arguments")
}

pub(super) fn parse(text: &str, field: &str) -> Result<Map, ShapeError> {
    if text.len() > MAX_ARGUMENT_BYTES {
        return Err(ShapeError::new(
            ShapeErrorKind::TooLarge,
            field,
            format!("at most {MAX_ARGUMENT_BYTES} bytes"),
            "pass less at once".to_owned(),
        ));
    }
    let text = unfenced(text.trim());
    if text.is_empty() {
        return Ok(Map::new());
    }
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Object(members)) => Ok(members),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(other) => Err(not_an_object(field, &other)),
        Err(error) => Err(ShapeError::new(
            ShapeErrorKind::InvalidJson {
                line: error.line(),
                column: error.column(),
            },
            field,
            "a JSON object, such as {\"name\": \"value\"}".to_owned(),
            "write the arguments as a JSON object, not as text".to_owned(),
        )),
    }
}

pub(super) fn not_an_object(field: &str, found: &Value) -> ShapeError {
    ShapeError::new(
        ShapeErrorKind::NotAnObject {
            found: kind_with_article(found),
        },
        field,
        "a JSON object".to_owned(),
        "write the arguments as named fields of one object".to_owned(),
    )
}

/// Whether a text is meant as JSON of an object or list.
pub(super) fn looks_like_json(text: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(['{', '[']) || text.starts_with("```") || text.trim_end() == "null"
}

fn unfenced(text: &str) -> &str {
    let Some(inner) = text
        .strip_prefix("```")
        .and_then(|rest| rest.strip_suffix("```"))
    else {
        return text;
    };
    let language = inner
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(inner.len());
    inner[language..].trim()
}
