//! Values as a person may look at them before deciding.

use serde_json::Value;
use toolsearch_schema::names::is_invisible;

/// A value as JSON in one printable line of at most `most` characters and a mark where it was cut.
/// Signs that hide or reorder text stand as escapes, so that they are seen.
pub(crate) fn picture(value: &Value, most: usize) -> String {
    let whole = value.to_string();
    let mut text = String::new();
    for (at, c) in whole.chars().enumerate() {
        if at >= most {
            let left = whole.chars().count() - at;
            text.push_str(&format!("… ({left} more characters)"));
            break;
        }
        if c.is_control() || is_invisible(c) {
            text.extend(c.escape_unicode());
        } else {
            text.push(c);
        }
    }
    text
}
