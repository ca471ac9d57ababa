//! Reading the arguments of controls. The same functions read what a model sends to a control and
//! what a program sends over the bridge, so both take the same spellings.

use serde_json::{Map, Value};
use toolsearch_schema::arguments::{read_arguments, unwrap_call};

use crate::contract::Decoding;
use crate::control::SearchLimits;
use crate::failure::Failure;
use crate::request::{CallRequest, MAX_DESCRIBE_IDS, Query, Request};

/// The arguments of a control as an object: an object, the JSON text of one, null or nothing.
///
/// # Errors
/// [`Failure`] when they are anything else.
pub fn object(arguments: &Value) -> Result<Map<String, Value>, Failure> {
    read_arguments(Some(arguments.clone())).map_err(|error| Failure::input(error.to_string()))
}

/// Reads a search: `query` with an optional `limit` and `readOnly`, and `queries` of the same. A single query
/// comes first. Blank and null placeholders beside a batch are ignored; a `readOnly` beside a batch holds for
/// all of it.
///
/// # Errors
/// [`Failure`] that names the field, and for a batch the item.
pub fn search(args: &Map<String, Value>, limits: &SearchLimits) -> Result<Request, Failure> {
    let explain = args
        .get("explain")
        .and_then(Value::as_bool)
        .unwrap_or(false);
    let batch = match args.get("queries") {
        None | Some(Value::Null) => &[][..],
        Some(Value::Array(items)) => items,
        Some(other) => {
            return Err(Failure::input(format!(
                "`queries` must be a list of {{query, limit?}}, not {}.",
                kind_of(other)
            )));
        }
    };
    let read_only = flag(args, "readOnly")?;
    let mut queries = Vec::new();
    if let Some(text) = single_query(args.get("query"), !batch.is_empty())? {
        let limit = limit(args.get("limit"), limits, "limit")?;
        queries.push(Query::new(text, limit));
    }
    for (at, item) in batch.iter().enumerate() {
        queries.push(batch_query(at, item, limits)?);
    }
    for query in &mut queries {
        query.read_only |= read_only;
    }
    check_total(&queries, limits)?;
    Ok(Request::Search {
        queries,
        batch: !batch.is_empty(),
        explain,
    })
}

fn single_query(query: Option<&Value>, has_batch: bool) -> Result<Option<String>, Failure> {
    match query {
        Some(Value::String(text)) if has_batch && text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        None | Some(Value::Null) if has_batch => Ok(None),
        None | Some(Value::Null) => Err(Failure::input(
            "`query` is missing. Give what you want to do in a few words, such as \
             {\"query\": \"create issue\"}.",
        )),
        Some(other) => Err(Failure::input(format!(
            "`query` must be a string, not {}.",
            kind_of(other)
        ))),
    }
}

fn batch_query(at: usize, item: &Value, limits: &SearchLimits) -> Result<Query, Failure> {
    let text = match item {
        Value::String(text) => text,
        Value::Object(map) => match map.get("query") {
            Some(Value::String(text)) => text,
            _ => {
                return Err(Failure::input(format!(
                    "`queries[{at}].query` must be a string."
                )));
            }
        },
        other => {
            return Err(Failure::input(format!(
                "`queries[{at}]` must be {{query, limit?}}, not {}.",
                kind_of(other)
            )));
        }
    };
    if text.len() > limits.query_bytes {
        return Err(Failure::input(format!(
            "`queries[{at}].query` has {} bytes; at most {} are taken.",
            text.len(),
            limits.query_bytes
        )));
    }
    let limit = limit(item.get("limit"), limits, &format!("queries[{at}].limit"))?;
    let mut query = Query::new(text.as_str(), limit);
    if let Value::Object(map) = item {
        query.read_only = flag(map, "readOnly")?;
    }
    Ok(query)
}

/// A switch, also as the word in a string; off when it is not there. One that cannot be read is an error, since
/// to take it for off would find more than was asked for.
fn flag(args: &Map<String, Value>, field: &str) -> Result<bool, Failure> {
    match args.get(field) {
        None | Some(Value::Null) => Ok(false),
        Some(Value::Bool(on)) => Ok(*on),
        Some(Value::String(text)) if text.trim() == "true" => Ok(true),
        Some(Value::String(text)) if matches!(text.trim(), "false" | "") => Ok(false),
        Some(other) => Err(Failure::input(format!(
            "`{field}` must be true or false, not {}.",
            kind_of(other)
        ))),
    }
}

fn check_total(queries: &[Query], limits: &SearchLimits) -> Result<(), Failure> {
    if queries.len() > limits.queries {
        return Err(Failure::input(format!(
            "{} queries were given; at most {} are taken at once.",
            queries.len(),
            limits.queries
        )));
    }
    let total: usize = queries.iter().map(|query| query.limit).sum();
    if total > limits.total {
        return Err(Failure::input(format!(
            "The limits add up to {total} results; at most {} are given at once. Lower `limit`.",
            limits.total
        )));
    }
    Ok(())
}

/// A number of hits: a positive whole number, also as digits in a string, cut to the maximum.
fn limit(value: Option<&Value>, limits: &SearchLimits, field: &str) -> Result<usize, Failure> {
    let wrong = |what: String| {
        Failure::input(format!(
            "`{field}` must be a whole number from 1 to {}, not {what}.",
            limits.max
        ))
    };
    let number = match value {
        None | Some(Value::Null) => return Ok(limits.default),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::String(text)) => text.trim().to_owned(),
        Some(other) => return Err(wrong(kind_of(other).to_owned())),
    };
    let digits = number.strip_suffix(".0").unwrap_or(&number);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return match number.parse::<f64>() {
            Ok(large) if large >= 1e6 && large.fract() == 0.0 => Ok(limits.max),
            _ => Err(wrong(toolsearch_schema::names::clip(&number, 40))),
        };
    }
    match digits.parse::<usize>().unwrap_or(usize::MAX) {
        0 => Err(wrong("0".to_owned())),
        count => Ok(count.min(limits.max)),
    }
}

/// Reads a description: `id` (also `name` or `toolId`), or `ids`.
///
/// # Errors
/// [`Failure`] when no id or more than [`MAX_DESCRIBE_IDS`] are given.
pub fn describe(args: &Map<String, Value>) -> Result<Request, Failure> {
    let mut ids: Vec<String> = Vec::new();
    let single = ["id", "toolId", "name"]
        .iter()
        .find_map(|key| args.get(*key)?.as_str());
    ids.extend(single.map(str::to_owned));
    match args.get("ids") {
        Some(Value::Array(items)) => {
            for (at, item) in items.iter().enumerate() {
                let id = item.as_str();
                let id =
                    id.ok_or_else(|| Failure::input(format!("`ids[{at}]` must be a string.")))?;
                ids.push(id.to_owned());
            }
        }
        Some(Value::String(id)) => ids.push(id.clone()),
        _ => {}
    }
    ids.retain(|id| !id.trim().is_empty());
    match ids.len() {
        0 => Err(Failure::input(
            "`id` is missing. Give the `id` of a search result.",
        )),
        1..=MAX_DESCRIBE_IDS => Ok(Request::Describe(ids)),
        many => Err(Failure::input(format!(
            "{many} ids were given; at most {MAX_DESCRIBE_IDS} are described at once."
        ))),
    }
}

/// Reads a call in any of the shapes that models send, see
/// [`unwrap_call`].
///
/// # Errors
/// [`Failure`] when no tool is named or the shape can be read in two ways.
pub fn call(args: Map<String, Value>, decoding: &Decoding<'_>) -> Result<Request, Failure> {
    let shape =
        unwrap_call(args, decoding.is_tool).map_err(|error| Failure::input(error.to_string()))?;
    let repairs = shape.repairs.iter().map(ToString::to_string).collect();
    Ok(Request::Call(CallRequest {
        id: shape.id,
        args: shape.args,
        repairs,
    }))
}

/// Reads a program: `code`, also as the whole argument text.
///
/// # Errors
/// [`Failure`] when there is no code.
pub fn code(arguments: &Value) -> Result<Request, Failure> {
    let missing = || {
        Failure::input(
            "`code` is missing. Give the body of an async JavaScript function, such as \
             {\"code\": \"return await tools.search('create issue')\"}.",
        )
    };
    let code = match arguments {
        Value::Object(map) => map.get("code").and_then(Value::as_str).map(str::to_owned),
        Value::String(text) => match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(map)) => map.get("code").and_then(Value::as_str).map(str::to_owned),
            _ => Some(text.clone()),
        },
        _ => None,
    };
    let code = code
        .filter(|code| !code.trim().is_empty())
        .ok_or_else(missing)?;
    Ok(Request::Run { code })
}

/// What a JSON value is, for messages.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
