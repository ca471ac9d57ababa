//! Checks of arguments against a tool's parameters. Everything that a run relies on is checked here,
//! whether or not the dispatch has looked at the schema before. Not here: whether an id exists.

use serde_json::{Map, Value};

use crate::field::{Field, Kind, Range};
use crate::near::{clip, nearest};
use crate::plan::{Role, Tool};
use crate::store::{MAX_BATCH, MAX_ITEMS, MAX_TEXT_BYTES};

/// Levels of nesting that a value may have.
const MAX_DEPTH: usize = 12;

/// Problems that one answer lists.
const MAX_PROBLEMS: usize = 8;

/// What is wrong with the arguments, or nothing.
pub(crate) fn arguments(tool: &Tool, args: &Map<String, Value>) -> Vec<String> {
    let mut problems = Vec::new();
    for (name, value) in args {
        if problems.len() == MAX_PROBLEMS {
            return problems;
        }
        let Some(param) = tool.params.iter().find(|param| param.name == *name) else {
            let names = tool.params.iter().map(|param| &*param.name);
            let near = nearest(name, names, 1);
            let hint = near
                .first()
                .map_or_else(String::new, |near| format!("; near: `{near}`"));
            problems.push(format!("`{}` is no parameter{hint}", clip(name)));
            continue;
        };
        if let Err(problem) = check(&param.kind, value, &param.name, 0) {
            problems.push(problem);
        } else if param.role == Role::Ids && !batch_fits(value) {
            problems.push(format!("`{name}` takes 1 to {MAX_BATCH} ids"));
        }
    }
    for param in tool.params.iter().filter(|param| param.required) {
        if problems.len() < MAX_PROBLEMS && !args.contains_key(&*param.name) {
            problems.push(format!("`{}` is missing", param.name));
        }
    }
    problems
}

fn batch_fits(ids: &Value) -> bool {
    ids.as_array()
        .is_some_and(|ids| (1..=MAX_BATCH).contains(&ids.len()))
}

fn check(kind: &Kind, value: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("`{at}` is nested too deeply"));
    }
    match (kind, value) {
        (Kind::Text | Kind::Ref(_), Value::String(text)) => short(text, at),
        (Kind::Date, Value::String(text)) if is_date(text) && text.len() == 10 => Ok(()),
        (Kind::Date, _) => Err(format!("`{at}` must be a date such as 2026-05-09")),
        (Kind::Time, Value::String(text)) if is_time(text) => Ok(()),
        (Kind::Time, _) => Err(format!(
            "`{at}` must be a time such as 2026-05-09T14:00:00Z"
        )),
        (Kind::Email, Value::String(text)) if text.contains('@') => short(text, at),
        (Kind::Email, _) => Err(format!("`{at}` must be an e-mail address")),
        (Kind::Url, Value::String(text)) if text.contains(':') => short(text, at),
        (Kind::Url, _) => Err(format!("`{at}` must be an absolute URL")),
        (Kind::Choice(options), Value::String(text)) if options.contains(&text.as_str()) => Ok(()),
        (Kind::Choice(options), _) => Err(format!("`{at}` must be one of {}", options.join(", "))),
        (Kind::Bool, Value::Bool(_)) => Ok(()),
        (Kind::Int(range), Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            if number.fract() != 0.0 {
                return Err(format!("`{at}` must be a whole number"));
            }
            within(*range, number, at)
        }
        (Kind::Num(range), Value::Number(number)) => {
            within(*range, number.as_f64().unwrap_or(f64::NAN), at)
        }
        (Kind::Map, Value::Object(map)) => map
            .iter()
            .try_for_each(|(key, value)| short(key, at).and_then(|()| any(value, at, depth + 1))),
        (Kind::Object(fields), Value::Object(map)) => object(fields, map, at, depth),
        (Kind::List(element), Value::Array(items)) => {
            if items.len() > MAX_ITEMS {
                return Err(format!("`{at}` takes at most {MAX_ITEMS} elements"));
            }
            items.iter().enumerate().try_for_each(|(place, item)| {
                check(element, item, &format!("{at}[{place}]"), depth + 1)
            })
        }
        _ => Err(format!("`{at}` must be {}", expected(kind))),
    }
}

const fn expected(kind: &Kind) -> &'static str {
    match kind {
        Kind::Int(_) | Kind::Num(_) => "a number",
        Kind::Bool => "true or false",
        Kind::Map | Kind::Object(_) => "an object",
        Kind::List(_) => "an array",
        _ => "a string",
    }
}

fn object(
    fields: &[Field],
    map: &Map<String, Value>,
    at: &str,
    depth: usize,
) -> Result<(), String> {
    for (name, value) in map {
        let field = fields
            .iter()
            .find(|field| field.name == *name && !field.read_only);
        let field = field.ok_or_else(|| format!("`{at}` has no part `{}`", clip(name)))?;
        check(
            &field.kind,
            value,
            &format!("{at}.{}", field.name),
            depth + 1,
        )?;
    }
    let needed = |field: &&Field| field.required && !field.read_only;
    match fields
        .iter()
        .filter(needed)
        .find(|field| !map.contains_key(field.name))
    {
        Some(field) => Err(format!("`{at}.{}` is missing", field.name)),
        None => Ok(()),
    }
}

/// A value of no particular type, within bounds.
fn any(value: &Value, at: &str, depth: usize) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("`{at}` is nested too deeply"));
    }
    match value {
        Value::String(text) => short(text, at),
        Value::Array(items) => items.iter().try_for_each(|item| any(item, at, depth + 1)),
        Value::Object(map) => map
            .iter()
            .try_for_each(|(key, value)| short(key, at).and_then(|()| any(value, at, depth + 1))),
        _ => Ok(()),
    }
}

fn short(text: &str, at: &str) -> Result<(), String> {
    match text.len() <= MAX_TEXT_BYTES {
        true => Ok(()),
        false => Err(format!("`{at}` is longer than {MAX_TEXT_BYTES} bytes")),
    }
}

fn within(range: Range, number: f64, at: &str) -> Result<(), String> {
    if !number.is_finite() {
        return Err(format!("`{at}` must be a finite number"));
    }
    match (range.min, range.max) {
        (Some(min), _) if number < min => Err(format!("`{at}` must be at least {min}")),
        (_, Some(max)) if number > max => Err(format!("`{at}` must be at most {max}")),
        _ => Ok(()),
    }
}

fn is_date(text: &str) -> bool {
    let Some(date) = text.get(..10) else {
        return false;
    };
    let shape = date.bytes().enumerate().all(|(place, byte)| match place {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    shape
        && matches!(date[5..7].parse(), Ok(1..=12u8))
        && matches!(date[8..10].parse(), Ok(1..=31u8))
}

/// A date, alone or followed by a time of day.
fn is_time(text: &str) -> bool {
    const LONGEST: usize = 40;
    let rest = text.get(10..).unwrap_or_default();
    let day_time = |rest: &str| rest.len() >= 6 && rest.as_bytes()[1].is_ascii_digit();
    is_date(text)
        && text.len() <= LONGEST
        && (rest.is_empty() || (rest.starts_with(['T', 't', ' ']) && day_time(rest)))
}
