//! The texts of a tool that are made into vectors.

use toolsearch_catalog::ToolDescriptor;
use toolsearch_search::MAX_TEXT_BYTES;

/// How much of a description counts, in characters.
const MAX_DESCRIPTION_CHARS: usize = 600;
/// How much of a name counts, in characters.
const MAX_NAME_CHARS: usize = 200;

/// How many texts a tool has.
pub(crate) const TEXTS: usize = 2;

/// `owner. words of the name: description`, and the same without the description: in the vector of a long text
/// the name drowns. Bounded. Vectors are kept under a hash of these texts.
#[must_use]
pub fn documents(tool: &ToolDescriptor) -> [String; TEXTS] {
    let mut name = String::new();
    words(&tool.owner, &mut name);
    name.push_str(". ");
    match &tool.title {
        Some(title) => name.extend(title.chars().take(MAX_NAME_CHARS).map(printable)),
        None => words(&tool.name, &mut name),
    }
    let mut text = format!("{name}: ");
    let description = tool.description.chars().take(MAX_DESCRIPTION_CHARS);
    text.extend(description.map(printable));
    [text, name].map(|mut text| {
        text.truncate(text.floor_char_boundary(MAX_TEXT_BYTES));
        text
    })
}

fn printable(c: char) -> char {
    if c.is_control() { ' ' } else { c }
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
        let [text, name] = documents(&tool);
        assert_eq!(text, expected);
        assert_eq!(
            Some((name.as_str(), description.replace('\n', " ").as_str())),
            text.split_once(": ")
        );
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
        tool.title = Some("界".repeat(50_000));
        assert!(
            documents(&tool)
                .iter()
                .all(|text| text.len() <= MAX_TEXT_BYTES)
        );
    }
}
