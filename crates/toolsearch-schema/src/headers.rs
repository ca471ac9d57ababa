//! Arguments that an HTTP request repeats in its headers, so that whoever stands in between can route
//! without reading the body: properties marked with `x-mcp-header` (MCP 2026-07-28, SEP-2243). Not
//! here: headers themselves and how a value is written in one.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::SchemaFault;
use crate::fault::kind_with_article;
use crate::names::sanitise_label;

/// The keyword.
const MARK: &str = "x-mcp-header";
/// How deep properties are looked into.
const MAX_DEPTH: usize = 16;
/// Properties of one schema that are looked at.
const MAX_PROPERTIES: usize = 10_000;
/// Marks of one schema.
const MAX_MARKS: usize = 64;
/// Longest name of a header, in bytes.
const MAX_NAME_BYTES: usize = 128;
/// Most characters of a place in a fault.
const MAX_PLACE_CHARS: usize = 120;

/// An argument whose value is repeated in a header.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MarkedArgument {
    /// Names of properties from the arguments to the value.
    pub path: Vec<String>,
    /// What comes after `Mcp-Param-` in the name of the header: a token of RFC 9110, as it is written
    /// in the schema.
    pub header: String,
}

impl MarkedArgument {
    /// The value in these arguments. `None` when it is absent, null, or of another kind than a header
    /// can repeat.
    #[must_use]
    pub fn value<'a>(&self, arguments: &'a Value) -> Option<&'a Value> {
        let value = self
            .path
            .iter()
            .try_fold(arguments, |value, key| value.get(key))?;
        matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)).then_some(value)
    }
}

/// The marked arguments of an input schema, in the order of its properties. Only properties of
/// properties are looked at: at most 10,000 of them, 16 deep, with 64 marks.
///
/// # Errors
/// [`SchemaFault::Malformed`] when a mark breaks a rule, which makes the tool unusable over HTTP: it has
/// to be a non-empty token, unlike any other of the schema whatever the case, on a string, an integer or
/// a boolean. [`SchemaFault::TooLarge`] beyond the limits.
pub fn marked_arguments(schema: &Value) -> Result<Vec<MarkedArgument>, SchemaFault> {
    let mut marks = Marks::default();
    marks.collect(schema, &mut Vec::new())?;
    Ok(marks.found)
}

#[derive(Default)]
struct Marks {
    found: Vec<MarkedArgument>,
    names: BTreeSet<String>,
    seen: usize,
}

impl Marks {
    fn collect(&mut self, schema: &Value, path: &mut Vec<String>) -> Result<(), SchemaFault> {
        let properties = schema.get("properties").and_then(Value::as_object);
        for (name, property) in properties.into_iter().flatten() {
            self.seen += 1;
            if self.seen > MAX_PROPERTIES {
                return Err(SchemaFault::TooLarge {
                    limit: "10,000 properties",
                });
            }
            path.push(name.clone());
            if let Some(mark) = property.get(MARK) {
                self.mark(mark, property, path)?;
            }
            // What lies deeper is no argument that anybody routes by.
            if path.len() < MAX_DEPTH {
                self.collect(property, path)?;
            }
            path.pop();
        }
        Ok(())
    }

    fn mark(&mut self, mark: &Value, property: &Value, path: &[String]) -> Result<(), SchemaFault> {
        let fault = |problem: String| {
            let at = format!("/properties/{}", path.join("/properties/"));
            let at = sanitise_label(&at, MAX_PLACE_CHARS);
            let problem = format!("{MARK} {problem}");
            Err(SchemaFault::Malformed { at, problem })
        };
        let Some(header) = mark.as_str() else {
            return fault(format!("is {}, not a string", kind_with_article(mark)));
        };
        if !is_token(header) {
            return fault("is no name of a header".to_owned());
        }
        let kind = property.get("type").and_then(Value::as_str);
        if !matches!(kind, Some("string" | "integer" | "boolean")) {
            return fault("is on something else than a string, an integer or a boolean".to_owned());
        }
        if !self.names.insert(header.to_ascii_lowercase()) {
            return fault("is there twice".to_owned());
        }
        if self.found.len() >= MAX_MARKS {
            return Err(SchemaFault::TooLarge { limit: "64 marks" });
        }
        self.found.push(MarkedArgument {
            path: path.to_vec(),
            header: header.to_owned(),
        });
        Ok(())
    }
}

/// A token of RFC 9110, section 5.6.2.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.len() <= MAX_NAME_BYTES && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn marks_are_found_with_their_values() {
        let schema = json!({ "type": "object", "properties": {
            "city": { "type": "string", "x-mcp-header": "City" },
            "plain": { "type": "string" },
            "at": { "type": "object", "properties": {
                "hour": { "type": "integer", "x-mcp-header": "Hour" } } },
            "list": { "type": "array", "items": { "properties": {
                "x": { "type": "number", "x-mcp-header": "no" } } } },
        } });
        let marks = marked_arguments(&schema).unwrap();
        let arguments = json!({ "city": "Köln", "at": { "hour": 7 } });
        let found: Vec<_> = marks
            .iter()
            .map(|mark| (mark.header.as_str(), mark.value(&arguments).cloned()))
            .collect();
        let mut expected = vec![("City", Some(json!("Köln"))), ("Hour", Some(json!(7)))];
        expected.sort_by_key(|(name, _)| marks.iter().position(|mark| mark.header == *name));
        assert_eq!(found, expected);
        for odd in [
            json!({ "city": null, "at": 3 }),
            json!({ "city": [] }),
            json!(7),
        ] {
            assert!(marks.iter().all(|mark| mark.value(&odd).is_none()), "{odd}");
        }
        assert_eq!(marked_arguments(&json!(true)).unwrap(), []);
    }

    #[test]
    fn a_mark_that_breaks_a_rule_is_a_fault() {
        let one = |kind: &str, mark: Value| json!({ "properties": { "a": { "type": kind, "x-mcp-header": mark } } });
        for bad in [
            one("string", json!("")),
            one("string", json!(7)),
            one("object", json!("A")),
            one("array", json!("A")),
            one("null", json!("A")),
            one("number", json!("A")),
            one("string", json!("My Region")),
            one("string", json!("Region:Primary")),
            one("string", json!("Région")),
            one("string", json!("Region\t1")),
            one("string", json!("x".repeat(MAX_NAME_BYTES + 1))),
            json!({ "properties": { "a": { "x-mcp-header": "A" } } }),
            json!({ "properties": { "a": { "type": "string", "x-mcp-header": "My" },
                "b": { "properties": { "c": { "type": "string", "x-mcp-header": "mY" } } } } }),
        ] {
            let fault = marked_arguments(&bad).unwrap_err();
            assert!(matches!(fault, SchemaFault::Malformed { .. }), "{bad}");
        }
    }

    #[test]
    fn hostile_schemas_are_read_within_limits() {
        let many: serde_json::Map<String, Value> = (0..=MAX_MARKS)
            .map(|n| {
                let name = format!("p{n}");
                let mark = json!({ "type": "string", "x-mcp-header": name });
                (name, mark)
            })
            .collect();
        let fault = marked_arguments(&json!({ "properties": many })).unwrap_err();
        assert!(matches!(fault, SchemaFault::TooLarge { .. }));
        let mut deep = json!({ "type": "string", "x-mcp-header": "Deep" });
        for _ in 0..100 {
            deep = json!({ "properties": { "a": deep } });
        }
        assert_eq!(marked_arguments(&deep).unwrap(), []);
    }
}
