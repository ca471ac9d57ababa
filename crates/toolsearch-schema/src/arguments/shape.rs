//! Which tool a call means and what its arguments are, however the two were packed together.

use std::fmt;

use serde_json::Value;

use super::text::{looks_like_json, not_an_object, parse};
use super::{Map, Repair, RepairKind};
use crate::names::{fold, sanitise_label};

/// Fields that may name the tool, most explicit first.
const SELECTORS: [&str; 3] = ["toolId", "id", "name"];

/// Fields that may hold the arguments, most explicit first.
const WRAPPERS: [&str; 3] = ["args", "arguments", "input"];

/// Names that a message lists.
const MAX_NAMED: usize = 8;

/// A call taken apart.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallShape {
    /// The text that names the tool, trimmed. It may still name none.
    pub id: String,
    /// The arguments for the tool.
    pub args: Map,
    /// What had to be repaired to get there.
    pub repairs: Vec<Repair>,
}

/// Why a call could not be taken apart; nothing was run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub struct ShapeError {
    /// What is wrong.
    pub kind: ShapeErrorKind,
    /// The field it is wrong with.
    pub field: String,
    /// What is expected there.
    pub expected: String,
    /// What to do instead.
    pub recovery: String,
}

/// The ways in which a call can be unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ShapeErrorKind {
    /// No field names a tool.
    MissingId,
    /// Two fields name different tools.
    AmbiguousId {
        /// The two names.
        named: Vec<String>,
    },
    /// Text of arguments is not JSON.
    InvalidJson {
        /// Line of the first unreadable character, from 1.
        line: usize,
        /// Its column, from 1.
        column: usize,
    },
    /// The arguments are some other JSON value.
    NotAnObject {
        /// What they are, with an article.
        found: &'static str,
    },
    /// Fields stand beside the arguments.
    Misplaced {
        /// Their names.
        fields: Vec<String>,
    },
    /// A field is given twice with different values.
    GivenTwice,
    /// The text is too long to be read.
    TooLarge,
}

impl ShapeError {
    pub(super) fn new(
        kind: ShapeErrorKind,
        field: &str,
        expected: String,
        recovery: String,
    ) -> Self {
        Self {
            kind,
            field: sanitise_label(field, 80),
            expected,
            recovery,
        }
    }
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let field = &self.field;
        match &self.kind {
            ShapeErrorKind::MissingId => write!(f, "{field} is missing")?,
            ShapeErrorKind::AmbiguousId { named } => {
                write!(
                    f,
                    "ambiguous call: {} name different tools",
                    named.join(" and ")
                )?;
            }
            ShapeErrorKind::InvalidJson { line, column } => {
                write!(f, "{field}: invalid JSON at line {line} column {column}")?;
            }
            ShapeErrorKind::NotAnObject { found } => {
                write!(f, "{field}: object expected, found {found}")?;
            }
            ShapeErrorKind::Misplaced { fields } => {
                write!(f, "{} misplaced beside {field}", fields.join(", "))?;
            }
            ShapeErrorKind::GivenTwice => write!(f, "{field} is given twice")?,
            ShapeErrorKind::TooLarge => write!(f, "{field} is too long")?,
        }
        write!(f, "; expected {}; {}", self.expected, self.recovery)
    }
}

/// Takes the input of a call control apart into the tool's id and its arguments.
///
/// Understood are the nested form `{id, args: {…}}`, with `toolId` or `name` for `id` and `arguments` or
/// `input` for `args`; the wrapper as JSON text, null or empty; the flat form `{id, title, body}`; keys
/// like `args.title`; and an id that slipped into the arguments. Of `toolId`, `id` and `name` those that
/// name a tool select it, and the others stay arguments of a flat call. `is_tool` must answer for
/// visible tools only; it decides nothing but which field is the selector.
///
/// # Errors
///
/// A [`ShapeError`] where guessing could run the wrong tool or lose a field.
pub fn unwrap_call(
    mut input: Map,
    is_tool: &dyn Fn(&str) -> bool,
) -> Result<CallShape, ShapeError> {
    let mut repairs = Vec::new();
    let dotted = take_dotted(&mut input, &mut repairs);
    let (mut nested, empty_wrapper) = take_wrapper(&mut input, &mut repairs)?;
    for (field, value) in dotted {
        put_once(&mut nested, field, value)?;
    }
    let selected = select(&input, is_tool)?;
    let shape = if nested.is_empty() { flat } else { wrapped };
    let call = shape(input, nested, selected, is_tool, repairs)?;
    Ok(with_empty_wrapper(call, empty_wrapper))
}

/// The fields that select the tool, and the text that names it.
struct Selected {
    id: String,
    fields: Vec<&'static str>,
}

/// Everything beside the selector is an argument.
fn flat(
    mut input: Map,
    _nested: Map,
    selected: Option<Selected>,
    _is_tool: &dyn Fn(&str) -> bool,
    mut repairs: Vec<Repair>,
) -> Result<CallShape, ShapeError> {
    let Some(selected) = selected else {
        return Err(missing_id());
    };
    for field in &selected.fields {
        input.shift_remove(*field);
    }
    repairs.extend(
        input
            .keys()
            .map(|field| Repair::new(RepairKind::Flattened, field)),
    );
    Ok(CallShape {
        id: selected.id,
        args: input,
        repairs,
    })
}

/// The arguments are in a wrapper; nothing else may stand beside it.
fn wrapped(
    mut input: Map,
    mut nested: Map,
    selected: Option<Selected>,
    is_tool: &dyn Fn(&str) -> bool,
    mut repairs: Vec<Repair>,
) -> Result<CallShape, ShapeError> {
    let id = match selected {
        Some(selected) => {
            for field in &selected.fields {
                input.shift_remove(*field);
            }
            selected.id
        }
        None => {
            let inner = select(&nested, is_tool)?.filter(|inner| is_tool(&inner.id));
            let Some(inner) = inner else {
                return Err(missing_id());
            };
            for field in inner.fields {
                nested.shift_remove(field);
                repairs.push(Repair::new(RepairKind::SelectorLifted, field));
            }
            inner.id
        }
    };
    let stray: Vec<String> = input
        .iter()
        .filter(|(field, value)| !is_blank(value) && nested.get(*field) != Some(*value))
        .take(MAX_NAMED)
        .map(|(field, _)| sanitise_label(field, 80))
        .collect();
    if stray.is_empty() {
        return Ok(CallShape {
            id,
            args: nested,
            repairs,
        });
    }
    Err(ShapeError::new(
        ShapeErrorKind::Misplaced { fields: stray },
        "args",
        "nothing beside id and args".to_owned(),
        "put every argument of the tool inside args".to_owned(),
    ))
}

fn with_empty_wrapper(mut call: CallShape, wrapper: Option<&'static str>) -> CallShape {
    if let Some(wrapper) = wrapper
        && !call.args.is_empty()
    {
        call.repairs
            .push(Repair::new(RepairKind::EmptyWrapper, wrapper));
    }
    call.repairs.sort();
    call
}

/// Removes keys such as `args.path` and gives them without their prefix.
fn take_dotted(input: &mut Map, repairs: &mut Vec<Repair>) -> Vec<(String, Value)> {
    let inner_name = |key: &str| -> Option<String> {
        let (wrapper, field) = key.split_once('.')?;
        (WRAPPERS.contains(&wrapper) && !field.is_empty()).then(|| field.to_owned())
    };
    let keys: Vec<(String, String)> = input
        .keys()
        .filter_map(|key| Some((key.clone(), inner_name(key)?)))
        .collect();
    keys.into_iter()
        .filter_map(|(key, field)| {
            let value = input.shift_remove(&key)?;
            repairs.push(Repair::new(RepairKind::DottedKey, &key));
            Some((field, value))
        })
        .collect()
}

/// Removes the wrappers and gives the arguments of the one that is not empty, and the name of an empty
/// one.
fn take_wrapper(
    input: &mut Map,
    repairs: &mut Vec<Repair>,
) -> Result<(Map, Option<&'static str>), ShapeError> {
    let mut taken = Map::new();
    let mut empty = None;
    for wrapper in WRAPPERS {
        if !input
            .get(wrapper)
            .is_some_and(|value| is_wrapper(wrapper, value))
        {
            continue;
        }
        let inner = match input.shift_remove(wrapper) {
            Some(Value::Object(members)) => members,
            Some(Value::String(text)) => {
                let members = parse(&text, wrapper)?;
                if !members.is_empty() {
                    repairs.push(Repair::new(RepairKind::TextParsed, wrapper));
                }
                members
            }
            Some(Value::Null) | None => Map::new(),
            Some(other) => return Err(not_an_object(wrapper, &other)),
        };
        if inner.is_empty() {
            empty = Some(wrapper);
        } else if taken.is_empty() {
            taken = inner;
        } else if taken != inner {
            return Err(given_twice(wrapper));
        }
    }
    Ok((taken, empty))
}

/// `input` is also a common parameter, so only what can be nothing else counts as a wrapper there.
fn is_wrapper(wrapper: &str, value: &Value) -> bool {
    match value {
        Value::Object(_) | Value::Null => true,
        Value::String(text) => {
            wrapper != "input" || text.trim().is_empty() || looks_like_json(text)
        }
        _ => wrapper != "input",
    }
}

fn put_once(nested: &mut Map, field: String, value: Value) -> Result<(), ShapeError> {
    match nested.get(&field) {
        Some(known) if *known != value => Err(given_twice(&field)),
        Some(_) => Ok(()),
        None => {
            nested.insert(field, value);
            Ok(())
        }
    }
}

fn select(input: &Map, is_tool: &dyn Fn(&str) -> bool) -> Result<Option<Selected>, ShapeError> {
    let named: Vec<(&'static str, &str)> = SELECTORS
        .into_iter()
        .filter_map(|field| Some((field, input.get(field)?.as_str()?.trim())))
        .filter(|(_, text)| !text.is_empty())
        .collect();
    let tools: Vec<(&'static str, &str)> = named
        .iter()
        .copied()
        .filter(|(_, text)| is_tool(text))
        .collect();
    let Some((_, first)) = tools.first().or(named.first()).copied() else {
        return Ok(None);
    };
    if tools.is_empty() {
        return Ok(Some(Selected {
            id: first.to_owned(),
            fields: vec![named[0].0],
        }));
    }
    let mut id = first;
    for (_, other) in &tools[1..] {
        if !names_same_tool(id, other) {
            return Err(ambiguous(&tools));
        }
        // The longer form says more.
        if other.len() > id.len() {
            id = other;
        }
    }
    let fields = tools.iter().map(|(field, _)| *field).collect();
    Ok(Some(Selected {
        id: id.to_owned(),
        fields,
    }))
}

/// Whether two texts are spellings of one id, of which the shorter may lack source or owner.
fn names_same_tool(a: &str, b: &str) -> bool {
    let (short, long) = if a.len() <= b.len() { (a, b) } else { (b, a) };
    if fold(short) == fold(long) {
        return true;
    }
    long.strip_suffix(short)
        .is_some_and(|owner| owner.ends_with([':', '.', '/']) || owner.ends_with("__"))
}

fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.trim().is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}

fn missing_id() -> ShapeError {
    ShapeError::new(
        ShapeErrorKind::MissingId,
        "id",
        "the id or name of a tool".to_owned(),
        "write {\"id\": \"…\", \"args\": {…}}".to_owned(),
    )
}

fn ambiguous(tools: &[(&'static str, &str)]) -> ShapeError {
    let named: Vec<String> = tools
        .iter()
        .map(|(field, text)| format!("{field} \"{}\"", sanitise_label(text, 80)))
        .collect();
    let recovery = "write {\"id\": \"the one tool\", \"args\": {…}} with the tool's own id and name inside args";
    ShapeError::new(
        ShapeErrorKind::AmbiguousId { named },
        "id",
        "one tool".to_owned(),
        recovery.to_owned(),
    )
}

fn given_twice(field: &str) -> ShapeError {
    ShapeError::new(
        ShapeErrorKind::GivenTwice,
        field,
        "one value".to_owned(),
        "write every argument once, inside args".to_owned(),
    )
}
