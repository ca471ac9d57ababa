//! Arguments of a call from the command line: a JSON object, or `key=value` pairs that are read as
//! the tool's schema says.

use std::io::Read;
use std::path::Path;

use serde_json::{Map, Value};
use toolsearch::schema::arguments::MAX_ARGUMENT_BYTES;

use crate::fault::Fault;

/// How deep the schema of a value is looked into.
const MAX_DEPTH: usize = 8;

/// All arguments together: the object of `--args`, then the pairs over it.
pub(crate) fn read(
    object: Option<&str>,
    pairs: &[String],
    schema: &Value,
) -> Result<Map<String, Value>, Fault> {
    let mut args = match object {
        Some(written) => whole(written)?,
        None => Map::new(),
    };
    let mut seen: Vec<&str> = Vec::new();
    for pair in pairs {
        let (key, value) = split(pair)?;
        let repeated = seen.contains(&key);
        seen.push(key);
        let value = match value {
            Written::Json(text) => json(text, &format!("the value of `{key}`"))?,
            Written::Text(text) => typed(text, property(schema, key), schema, 0),
        };
        match (args.get_mut(key), repeated) {
            (Some(Value::Array(list)), true) => match value {
                Value::Array(more) => list.extend(more),
                one => list.push(one),
            },
            (Some(earlier), true) => *earlier = Value::Array(vec![earlier.take(), value]),
            _ => {
                args.insert(key.to_owned(), value);
            }
        }
    }
    Ok(args)
}

/// `--args`: JSON, `@FILE`, or `-` for standard input.
fn whole(written: &str) -> Result<Map<String, Value>, Fault> {
    let text = match (written, written.strip_prefix('@')) {
        ("-", _) => bounded(std::io::stdin().lock(), "standard input")?,
        (_, Some(file)) => {
            let open = std::fs::File::open(Path::new(file))
                .map_err(|error| Fault::usage(format!("cannot read {file}: {error}")))?;
            bounded(open, file)?
        }
        _ => written.to_owned(),
    };
    match json(&text, "--args")? {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        _ => Err(Fault::usage("--args must be a JSON object")
            .next("write it like --args '{\"title\": \"Crash\"}'")),
    }
}

fn bounded(source: impl Read, name: &str) -> Result<String, Fault> {
    let mut text = String::new();
    source
        .take(MAX_ARGUMENT_BYTES as u64 + 1)
        .read_to_string(&mut text)
        .map_err(|error| Fault::usage(format!("cannot read {name}: {error}")))?;
    if text.len() > MAX_ARGUMENT_BYTES {
        let message = format!("{name} is larger than {MAX_ARGUMENT_BYTES} bytes");
        return Err(Fault::usage(message));
    }
    Ok(text)
}

fn json(text: &str, what: &str) -> Result<Value, Fault> {
    serde_json::from_str(text).map_err(|error| {
        Fault::usage(format!("{what} is not JSON: {error}"))
            .next("quote it for the shell, as in '{\"title\": \"Crash\"}'")
    })
}

enum Written<'a> {
    Text(&'a str),
    Json(&'a str),
}

fn split(pair: &str) -> Result<(&str, Written<'_>), Fault> {
    let malformed = || {
        Fault::usage(format!("`{pair}` is no argument"))
            .next("write key=value, or key:=JSON for a value as it is")
    };
    let (key, value) = pair.split_once('=').ok_or_else(malformed)?;
    let (key, value) = match key.strip_suffix(':') {
        Some(key) => (key, Written::Json(value)),
        None => (key, Written::Text(value)),
    };
    if key.is_empty() {
        return Err(malformed());
    }
    Ok((key, value))
}

/// The schema of a property of the arguments.
fn property<'s>(schema: &'s Value, key: &str) -> Option<&'s Value> {
    let own = schema.get("properties").and_then(|all| all.get(key));
    own.or_else(|| {
        let parts = ["allOf", "anyOf", "oneOf"].into_iter();
        parts
            .filter_map(|word| schema.get(word)?.as_array())
            .flatten()
            .find_map(|part| part.get("properties")?.get(key))
    })
}

/// A text as its schema wants it: the text itself where a text is allowed, else the JSON value of an
/// allowed kind that it spells, else the text, for the check of the arguments to name.
fn typed(text: &str, schema: Option<&Value>, root: &Value, depth: usize) -> Value {
    let as_text = || Value::String(text.to_owned());
    let Some(schema) = schema.map(|schema| target(schema, root)) else {
        return as_text();
    };
    let kinds = kinds(schema, root, depth);
    if kinds.is_empty() || kinds.contains(&"string") {
        return as_text();
    }
    let value = serde_json::from_str::<Value>(text).ok();
    let fits = |value: &Value| kinds.iter().any(|kind| is_kind(value, kind));
    match value.filter(fits) {
        Some(value) => value,
        None if kinds.contains(&"array") && depth < MAX_DEPTH => {
            Value::Array(vec![typed(text, schema.get("items"), root, depth + 1)])
        }
        None => as_text(),
    }
}

/// What a local reference points at.
fn target<'s>(schema: &'s Value, root: &'s Value) -> &'s Value {
    let reference = schema.get("$ref").and_then(Value::as_str);
    reference
        .and_then(|reference| root.pointer(reference.strip_prefix('#')?))
        .unwrap_or(schema)
}

/// The JSON kinds that a schema allows; empty when it does not say.
fn kinds<'s>(schema: &'s Value, root: &'s Value, depth: usize) -> Vec<&'s str> {
    if let Some(kind) = schema.get("type") {
        return match kind {
            Value::String(kind) => vec![kind],
            Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
            _ => Vec::new(),
        };
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(kind_of).collect();
    }
    if depth >= MAX_DEPTH {
        return Vec::new();
    }
    let parts = ["anyOf", "oneOf", "allOf"].into_iter();
    parts
        .filter_map(|word| schema.get(word)?.as_array())
        .flatten()
        .flat_map(|part| kinds(target(part, root), root, depth + 1))
        .collect()
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn is_kind(value: &Value, kind: &str) -> bool {
    match (value, kind) {
        (Value::Number(number), "integer") => {
            number.is_i64()
                || number.is_u64()
                || number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        _ => kind_of(value) == kind,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(pairs: &[&str], expected: Value) {
        let schema = json!({
            "type": "object",
            "properties": {
                "title": { "type": "string" },
                "count": { "type": "integer" },
                "ratio": { "type": ["number", "null"] },
                "draft": { "type": "boolean" },
                "labels": { "type": "array", "items": { "type": "string" } },
                "ids": { "type": "array", "items": { "type": "integer" } },
                "filter": { "type": "object" },
                "either": { "anyOf": [{ "type": "integer" }, { "type": "boolean" }] },
                "level": { "$ref": "#/$defs/level" },
                "free": {},
            },
            "$defs": { "level": { "enum": [1, 2] } },
        });
        let pairs: Vec<String> = pairs.iter().map(|pair| (*pair).to_owned()).collect();
        let args = read(None, &pairs, &schema).expect("arguments");
        assert_eq!(Value::Object(args), expected);
    }

    #[test]
    fn values_are_read_as_the_schema_says() {
        check(
            &["title=12", "count=12"],
            json!({ "title": "12", "count": 12 }),
        );
        check(
            &["title=a=b", "title2="],
            json!({ "title": "a=b", "title2": "" }),
        );
        check(&["ratio=0.5"], json!({ "ratio": 0.5 }));
        check(
            &["ratio=null", "draft=true"],
            json!({ "ratio": null, "draft": true }),
        );
        check(&["either=7"], json!({ "either": 7 }));
        check(&["level=2"], json!({ "level": 2 }));
        check(&["free=7"], json!({ "free": "7" }));
        check(&["filter={\"a\":1}"], json!({ "filter": { "a": 1 } }));
    }

    #[test]
    fn lists_are_gathered() {
        check(&["labels=a", "labels=b"], json!({ "labels": ["a", "b"] }));
        check(&["labels=[\"a\",\"b\"]"], json!({ "labels": ["a", "b"] }));
        check(&["ids=1", "ids=2", "ids=3"], json!({ "ids": [1, 2, 3] }));
    }

    #[test]
    fn what_does_not_fit_stays_a_text_for_the_check_to_name() {
        check(&["count=many"], json!({ "count": "many" }));
        check(&["count=1.5"], json!({ "count": "1.5" }));
    }

    #[test]
    fn json_is_taken_as_it_is() {
        check(
            &["title:=12", "free:=[1,{}]"],
            json!({ "title": 12, "free": [1, {}] }),
        );
        for bad in ["novalue", "=x", ":=1", "a:={"] {
            read(None, &[bad.to_owned()], &json!({})).expect_err(bad);
        }
    }

    #[test]
    fn pairs_go_over_the_object() {
        let schema = json!({ "properties": { "b": { "type": "integer" } } });
        let args = read(Some("{\"a\":1,\"b\":2}"), &["b=3".to_owned()], &schema);
        assert_eq!(
            Value::Object(args.expect("arguments")),
            json!({ "a": 1, "b": 3 })
        );
        read(Some("[1]"), &[], &schema).expect_err("no object");
        read(Some("{"), &[], &schema).expect_err("no JSON");
    }
}
