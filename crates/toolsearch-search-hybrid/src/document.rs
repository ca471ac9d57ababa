//! The text of a tool that is made into a vector.

use toolsearch_catalog::ToolDescriptor;
use toolsearch_search::MAX_TEXT_BYTES;

/// How much of a description counts, in characters.
const MAX_DESCRIPTION_CHARS: usize = 600;
/// How much of a name counts, in characters.
const MAX_NAME_CHARS: usize = 200;

/// `owner. words of the name: description`, bounded. Vectors are kept under a hash of this text.
#[must_use]
pub fn document(tool: &ToolDescriptor) -> String {
    let mut text = String::new();
    words(&tool.owner, &mut text);
    text.push_str(". ");
    match &tool.title {
        Some(title) => text.extend(title.chars().take(MAX_NAME_CHARS)),
        None => words(&tool.name, &mut text),
    }
    text.push_str(": ");
    let description = tool.description.chars().take(MAX_DESCRIPTION_CHARS);
    text.extend(description.map(|c| if c.is_control() { ' ' } else { c }));
    text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
    text
}

/// An identifier as words: at separators, and where a small letter is followed by a capital.
fn words(name: &str, text: &mut String) {
    let mut before = ' ';
    for c in name.chars().take(MAX_NAME_CHARS) {
        let separates = !c.is_alphanumeric();
        if (separates || (c.is_uppercase() && before.is_lowercase())) && !text.ends_with(' ') {
            text.push(' ');
        }
        if !separates {
            text.push(c);
        }
        before = c;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use toolsearch_catalog::Source;

    use super::*;

    fn check(owner: &str, name: &str, description: &str, expected: &str) {
        let schema = Arc::new(json!({}));
        let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, schema).expect("legal");
        tool.description = description.to_owned();
        assert_eq!(document(&tool), expected);
    }

    #[test]
    fn names_are_words() {
        check(
            "git-hub",
            "createIssue",
            "Opens one.",
            "git hub. create Issue: Opens one.",
        );
        check("a", "list__s3_buckets", "", "a. list s3 buckets: ");
        check("HTTP", "GETPage", "x\ny", "HTTP. GETPage: x y");
    }

    #[test]
    fn long_texts_are_cut() {
        let schema = Arc::new(json!({}));
        let mut tool = ToolDescriptor::new(Source::Mcp, "o", "n", schema).expect("legal");
        tool.description = "界".repeat(50_000);
        assert!(document(&tool).len() <= MAX_TEXT_BYTES);
    }
}
