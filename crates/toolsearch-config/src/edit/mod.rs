//! Changing one value of a file and leaving every other byte, comments and layout included.
//!
//! Texts go in, texts come out; reading and writing files is the module `file`.

mod insert;
mod layout;
mod remove;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::error::{ConfigError, Problem};
use crate::json5::{Document, Node, NodeKind};
use crate::load::validate;
use crate::path::{BadPath, KeyPath, Step};
use crate::schema::{Kind, kind_at};

pub use layout::Format;

use layout::Layout;

/// Why a file was not changed. The old text stands in every case.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// The path cannot be read.
    #[error(transparent)]
    Path(#[from] BadPath),
    /// The new value is not JSON5.
    #[error("the value is not JSON5: {reason}")]
    Value {
        /// What is wrong with it.
        reason: String,
    },
    /// The file itself cannot be read.
    #[error(transparent)]
    File(#[from] ConfigError),
    /// The path leads through a value that holds nothing.
    #[error("`{path}` is {found}; it holds no keys or elements, set it as a whole")]
    NotContainer {
        /// Where the path ends.
        path: String,
        /// What stands there.
        found: &'static str,
    },
    /// An element beyond the end of a list.
    #[error(
        "`{path}` is beyond the end of the list, which has {length} elements; next is [{length}]"
    )]
    NoSuchElement {
        /// The element asked for.
        path: String,
        /// The length of the list.
        length: usize,
    },
    /// There is nothing to remove.
    #[error("`{path}` is not set")]
    NotSet {
        /// The path asked for.
        path: String,
    },
    /// The file would not be valid afterwards.
    #[error("nothing was changed: {}", refusals(problems))]
    Refused {
        /// Every fault that the file would have.
        problems: Vec<Problem>,
    },
}

fn refusals(problems: &[Problem]) -> String {
    let shown = |problem: &Problem| match problem.path.as_str() {
        "" => problem.message.clone(),
        path => format!("{path}: {}", problem.message),
    };
    problems
        .iter()
        .take(20)
        .map(shown)
        .collect::<Vec<_>>()
        .join("; ")
}

/// The name of the text in problems that are found after a change.
const AFTER: &str = "after the change";

/// The value at a path.
pub fn get<'d>(document: &'d Document, path: &KeyPath) -> Option<&'d Node> {
    path.steps()
        .iter()
        .try_fold(document.root(), |node, step| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.item(*index),
        })
}

/// Sets the value at a path of a `toolsearch.json5`; `value` is JSON5. Missing parents are made, an
/// empty text becomes a file, and the index after the last adds an element.
///
/// # Errors
/// [`EditError`] says why; the result always is a valid file.
pub fn set(text: &str, path: &str, value: &str) -> Result<String, EditError> {
    let edited = set_unchecked(text, path, value, Format::Json5)?;
    match validate(&edited, AFTER) {
        Ok(()) => Ok(edited),
        Err(error) => Err(refused(error)),
    }
}

/// As [`set`], for any JSON or JSON5 file: keys and types are not checked.
///
/// # Errors
/// [`EditError`], never `Refused`.
pub fn set_unchecked(
    text: &str,
    path: &str,
    value: &str,
    format: Format,
) -> Result<String, EditError> {
    let path: KeyPath = path.parse()?;
    let value = Document::parse(value, "value").map_err(|error| EditError::Value {
        reason: error
            .problems()
            .first()
            .map_or_else(|| error.to_string(), |p| p.message.clone()),
    })?;
    if value.is_blank() {
        return Err(EditError::Value {
            reason: "it is empty".to_owned(),
        });
    }
    // Comments around the value stay out: a line comment would swallow what follows.
    let value = &value.text()[value.root().span.clone()];
    let document = Document::parse(text, AFTER)?;
    let edited = put(&document, &path, value, format)?;
    Document::parse(&edited, AFTER)?;
    Ok(edited)
}

/// Removes the value at a path, with its key, its comma and a comment that follows on its line.
///
/// # Errors
/// [`EditError::NotSet`] when it is not there; [`EditError::Refused`] when the file was valid and
/// would not be any more.
pub fn unset(text: &str, path: &str) -> Result<String, EditError> {
    let edited = unset_unchecked(text, path)?;
    match (validate(text, AFTER), validate(&edited, AFTER)) {
        (_, Ok(())) => Ok(edited),
        (Err(before), Err(after)) if after.problems().len() <= before.problems().len() => {
            Ok(edited)
        }
        (_, Err(error)) => Err(refused(error)),
    }
}

/// As [`unset`], for any JSON or JSON5 file.
///
/// # Errors
/// [`EditError`], never `Refused`.
pub fn unset_unchecked(text: &str, path: &str) -> Result<String, EditError> {
    let path: KeyPath = path.parse()?;
    let document = Document::parse(text, AFTER)?;
    let edited = remove::remove(&document, &path).ok_or_else(|| EditError::NotSet {
        path: path.to_string(),
    })?;
    Document::parse(&edited, AFTER)?;
    Ok(edited)
}

/// A word from a command line as JSON5, fit for the path: what a key of type string is given is
/// quoted, what is JSON5 already stays, everything else is quoted.
pub fn literal(path: &str, word: &str) -> String {
    let quoted = || Value::String(word.to_owned()).to_string();
    let kind = path.parse().ok().and_then(|path| kind_at(&path));
    let textual = matches!(
        kind,
        Some(Kind::Text | Kind::Template | Kind::Word(_) | Kind::Choice(_))
    );
    match Document::parse(word, "value") {
        Ok(value) if value.is_blank() => quoted(),
        Ok(value) if textual && !matches!(value.root().kind, NodeKind::String(_)) => quoted(),
        Ok(_) => word.to_owned(),
        Err(_) => quoted(),
    }
}

fn refused(error: ConfigError) -> EditError {
    match error {
        ConfigError::Invalid { problems, .. } => EditError::Refused { problems },
        other => EditError::File(other),
    }
}

/// The text with the value at the path, wherever the path ends in what is there.
fn put(
    document: &Document,
    path: &KeyPath,
    value: &str,
    format: Format,
) -> Result<String, EditError> {
    let layout = Layout::of(document, format);
    let steps = path.steps();
    if document.is_blank() {
        return insert::into_blank(document.text(), steps, value, &layout)
            .ok_or_else(|| beyond(steps, 0));
    }
    let mut node = document.root();
    for (at, step) in steps.iter().enumerate() {
        let here = KeyPath::from(steps[..at].to_vec());
        let next = match (step, &node.kind) {
            (Step::Key(key), NodeKind::Object(_)) => node.get(key),
            (Step::Index(index), NodeKind::Array(items)) if *index > items.len() => {
                return Err(beyond(&steps[..=at], items.len()));
            }
            (Step::Index(index), NodeKind::Array(_)) => node.item(*index),
            (Step::Key(_), NodeKind::Bool(on)) if can_be_switched(&here) => {
                let object = insert::switched(*on, &steps[at..], value, &layout);
                let object = object.ok_or_else(|| beyond(steps, 0))?;
                return Ok(replaced(document.text(), node, &object));
            }
            _ => {
                let path = here.to_string();
                return Err(EditError::NotContainer {
                    path,
                    found: node.describe(),
                });
            }
        };
        match next {
            Some(next) => node = next,
            None => {
                return insert::into(document, node, &steps[at..], value, &layout)
                    .ok_or_else(|| beyond(steps, 0));
            }
        }
    }
    Ok(replaced(document.text(), node, value))
}

fn replaced(text: &str, node: &Node, value: &str) -> String {
    format!(
        "{}{value}{}",
        &text[..node.span.start],
        &text[node.span.end..]
    )
}

fn beyond(steps: &[Step], length: usize) -> EditError {
    EditError::NoSuchElement {
        path: KeyPath::from(steps.to_vec()).to_string(),
        length,
    }
}

/// Whether `true` and `false` at this path are short for an object with `enabled`.
fn can_be_switched(path: &KeyPath) -> bool {
    match kind_at(path) {
        Some(kind @ Kind::Either(_)) => kind
            .shape()
            .is_some_and(|shape| shape.field("enabled").is_some()),
        _ => false,
    }
}
