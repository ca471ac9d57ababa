//! Walks a file with the table: finds every fault, and gives the values that may be used.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::error::{Problem, ProblemKind};
use crate::json5::{Document, Node, NodeKind, Number};
use crate::path::{KeyPath, Step};

use super::{Count, Kind, Shape, elsewhere, kind_at, table};

/// What a walk found.
#[derive(Debug)]
pub(crate) struct Checked {
    /// The values that may be used: numbers in range, faulty entries left out.
    pub(crate) value: Value,
    /// Faults that cost the whole file.
    pub(crate) errors: Vec<Problem>,
    /// Numbers that were cut or replaced, and faulty entries.
    pub(crate) warnings: Vec<Problem>,
    /// Entries of `mcpServers` that cannot be used, and why.
    pub(crate) faulty: BTreeMap<String, String>,
}

/// How much a fault in an entry that stands alone costs. Unknown keys always cost the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strictness {
    /// Only that entry: for running.
    Entry,
    /// The whole file: for editing and validating.
    File,
}

pub(crate) fn check(document: &Document, strictness: Strictness) -> Checked {
    let mut walk = Walk::new(document, strictness, Vec::new());
    let value = walk.value(document.root(), &table::ROOT_KIND);
    let by_place = |problem: &Problem| problem.position;
    walk.errors.sort_by_key(by_place);
    walk.warnings.sort_by_key(by_place);
    Checked {
        value: value.unwrap_or_else(|| Value::Object(Map::new())),
        errors: walk.errors,
        warnings: walk.warnings,
        faulty: walk.faulty,
    }
}

/// What a walk over one value found.
#[derive(Debug)]
pub(crate) struct Part {
    pub(crate) value: Option<Value>,
    pub(crate) errors: Vec<Problem>,
    pub(crate) warnings: Vec<Problem>,
}

/// Checks the value at a path of the table, in a file that is otherwise someone else's. A faulty
/// value gives none.
pub(crate) fn check_part(document: &Document, node: &Node, path: &KeyPath) -> Part {
    let mut walk = Walk::new(document, Strictness::File, path.steps().to_vec());
    let value = kind_at(path).and_then(|kind| walk.value(node, kind));
    Part {
        value: value.filter(|_| walk.errors.is_empty()),
        errors: walk.errors,
        warnings: walk.warnings,
    }
}

struct Walk<'d> {
    document: &'d Document,
    strictness: Strictness,
    path: Vec<Step>,
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
    faulty: BTreeMap<String, String>,
}

impl<'d> Walk<'d> {
    fn new(document: &'d Document, strictness: Strictness, path: Vec<Step>) -> Self {
        Self {
            document,
            strictness,
            path,
            errors: Vec::new(),
            warnings: Vec::new(),
            faulty: BTreeMap::new(),
        }
    }

    /// The usable value of a node, absent where it has none.
    fn value(&mut self, node: &Node, kind: &'static Kind) -> Option<Value> {
        match (kind, &node.kind) {
            (Kind::Bool, NodeKind::Bool(value)) => Some(Value::Bool(*value)),
            (Kind::Text | Kind::Template, NodeKind::String(text)) => Some(text.as_str().into()),
            (Kind::Word(word), NodeKind::String(text)) if (word.accepts)(text) => {
                Some(text.as_str().into())
            }
            (Kind::Choice(values), NodeKind::String(text)) if values.contains(&text.as_str()) => {
                Some(text.as_str().into())
            }
            (Kind::Word(_) | Kind::Choice(_), NodeKind::String(text)) => {
                self.bad_value(node, kind, text);
                None
            }
            (Kind::Count(count), found) if !is_container(found) => {
                self.count(node, count).map(Value::from)
            }
            (Kind::List(inner), NodeKind::Array(items)) => Some(self.list(items, inner)),
            (Kind::Map(inner), NodeKind::Object(_)) => Some(self.map(node, inner)),
            (Kind::Object(shape), NodeKind::Object(_)) => Some(self.object(node, shape)),
            (Kind::Either(kinds), found) => match kinds.iter().find(|kind| fits(kind, found)) {
                Some(kind) => self.value(node, kind),
                None => self.wrong_type(node, kind),
            },
            _ => self.wrong_type(node, kind),
        }
    }

    fn list(&mut self, items: &[Node], inner: &'static Kind) -> Value {
        let mut values = Vec::new();
        for (index, item) in items.iter().enumerate() {
            self.path.push(Step::Index(index));
            values.extend(self.value(item, inner));
            self.path.pop();
        }
        Value::Array(values)
    }

    fn map(&mut self, node: &Node, inner: &'static Kind) -> Value {
        let mut values = Map::new();
        let NodeKind::Object(members) = &node.kind else {
            return Value::Null;
        };
        for member in members {
            self.path.push(Step::Key(member.key.clone()));
            let errors_before = self.errors.len();
            let value = self.value(&member.value, inner);
            let alone = inner.shape().is_some_and(|shape| shape.stands_alone);
            if alone {
                self.forgive(&member.key, errors_before);
            }
            let usable = !(alone && self.faulty.contains_key(&member.key));
            if let Some(value) = value.filter(|_| usable) {
                values.insert(member.key.clone(), value);
            }
            self.path.pop();
        }
        Value::Object(values)
    }

    /// Turns the faults of one entry into a warning that names it.
    fn forgive(&mut self, name: &str, errors_before: usize) {
        if self.strictness == Strictness::File {
            return;
        }
        let found = self.errors.split_off(errors_before);
        let (kept, forgiven): (Vec<_>, Vec<_>) = found
            .into_iter()
            .partition(|problem| matches!(problem.kind, ProblemKind::UnknownKey { .. }));
        self.errors.extend(kept);
        for mut problem in forgiven {
            let reason = format!("{}: {}", problem.path, problem.message);
            self.faulty.entry(name.to_owned()).or_insert(reason);
            problem.message = format!("{}; this server is left out", problem.message);
            problem.kind = ProblemKind::Server {
                name: name.to_owned(),
            };
            self.warnings.push(problem);
        }
    }

    fn object(&mut self, node: &Node, shape: &'static Shape) -> Value {
        let mut values = Map::new();
        let NodeKind::Object(members) = &node.kind else {
            return Value::Null;
        };
        for member in members {
            self.path.push(Step::Key(member.key.clone()));
            match shape.field(&member.key) {
                Some(field) => {
                    if let Some(value) = self.value(&member.value, &field.kind) {
                        values.insert(member.key.clone(), value);
                    }
                }
                None => self.unknown_key(member.key_span.start, &member.key, shape),
            }
            self.path.pop();
        }
        for field in shape.fields.iter().filter(|field| field.required) {
            if node.get(field.key).is_none() {
                let message = format!(
                    "`{}` is missing; it takes {}",
                    field.key,
                    field.kind.expected()
                );
                self.error(node.span.start, ProblemKind::MissingKey, message);
            }
        }
        Value::Object(values)
    }

    fn unknown_key(&mut self, offset: usize, key: &str, shape: &'static Shape) {
        let nearest = shape
            .nearest(key)
            .map(str::to_owned)
            .or_else(|| elsewhere(key));
        let message = match &nearest {
            Some(nearest) => format!("unknown key; did you mean `{nearest}`?"),
            None if shape.fields.is_empty() => "unknown key; nothing can be set here".to_owned(),
            None => {
                let known: Vec<&str> = shape.fields.iter().map(|field| field.key).collect();
                format!("unknown key; known here: {}", known.join(", "))
            }
        };
        self.error(offset, ProblemKind::UnknownKey { nearest }, message);
    }

    fn wrong_type(&mut self, node: &Node, kind: &Kind) -> Option<Value> {
        let expected = kind.expected();
        let message = format!("expected {expected}, found {}", node.describe());
        self.error(
            node.span.start,
            ProblemKind::WrongType { expected },
            message,
        );
        None
    }

    fn bad_value(&mut self, node: &Node, kind: &Kind, text: &str) {
        let shown: String = text.chars().take(60).collect();
        let nearest = match kind {
            Kind::Choice(values) => crate::nearest::nearest(text, values.iter().copied()),
            _ => None,
        };
        let mut message = format!("expected {}, found {shown:?}", kind.expected());
        if let Some(nearest) = nearest {
            message.push_str(&format!("; did you mean \"{nearest}\"?"));
        }
        self.error(node.span.start, ProblemKind::BadValue, message);
    }

    /// A whole number in range; what is out of range is cut, what is no such number is left to its
    /// default, and both are told.
    fn count(&mut self, node: &Node, count: &Count) -> Option<u64> {
        let least = i128::from(count.min.min(1));
        let Some(written) = whole(&node.kind).filter(|number| *number >= least) else {
            let wanted = if least == 0 {
                "a whole number"
            } else {
                "a positive whole number"
            };
            let instead = match count.default {
                Some(default) => format!("{default} is used"),
                None => "it is left unset".to_owned(),
            };
            self.warn(
                node.span.start,
                format!("expected {wanted}; {instead} instead"),
            );
            return None;
        };
        let used = count.clamp(u64::try_from(written).unwrap_or(u64::MAX));
        if i128::from(used) != written {
            let (min, max) = (count.min, count.max);
            self.warn(
                node.span.start,
                format!("must be {min} to {max}; {used} is used"),
            );
        }
        Some(used)
    }

    fn error(&mut self, offset: usize, kind: ProblemKind, message: String) {
        let problem = self.problem(offset, kind, message);
        self.errors.push(problem);
    }

    fn warn(&mut self, offset: usize, message: String) {
        let problem = self.problem(offset, ProblemKind::Number, message);
        self.warnings.push(problem);
    }

    fn problem(&self, offset: usize, kind: ProblemKind, message: String) -> Problem {
        let path = KeyPath::from(self.path.clone()).to_string();
        let position = self.document.position(offset);
        Problem::new(self.document.file_name(), position, path, kind, message)
    }
}

fn is_container(kind: &NodeKind) -> bool {
    matches!(kind, NodeKind::Array(_) | NodeKind::Object(_))
}

fn fits(kind: &Kind, found: &NodeKind) -> bool {
    matches!(
        (kind, found),
        (Kind::Bool, NodeKind::Bool(_))
            | (Kind::Object(_) | Kind::Map(_), NodeKind::Object(_))
            | (Kind::List(_), NodeKind::Array(_))
    )
}

/// The whole number that a node holds; `1e4` and `3.0` are whole.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a float this large only has to stay large"
)]
fn whole(kind: &NodeKind) -> Option<i128> {
    match kind {
        NodeKind::Number(Number::Integer(value)) => Some(i128::from(*value)),
        NodeKind::Number(Number::Float(value)) if value.fract() == 0.0 => Some(*value as i128),
        _ => None,
    }
}
