//! What a tool says about itself, as far as a person agreed to it: hashing it, and telling what
//! became different. Where definitions are remembered stands elsewhere.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use toolsearch_catalog::ToolDescriptor;
use toolsearch_schema::{canonical_json, canonical_object};

use crate::digest::sha256;
use crate::picture::picture;

/// Most changes that are told of one definition.
pub const MAX_CHANGES: usize = 100;

/// How deep two definitions are compared; what differs below is told as a whole.
const MAX_DEPTH: usize = 24;

/// Most characters of a value in a change.
const MAX_SHOWN_CHARS: usize = 400;

/// Everything about a tool that steers how a model uses it: name, title, description, schemas and
/// hints. Icons, `_meta` and where the tool is placed are not part of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Definition(Value);

impl Definition {
    /// The definition of a tool.
    #[must_use]
    pub fn of(tool: &ToolDescriptor) -> Self {
        let texts = Texts::of(tool);
        let members = texts.members(tool).into_iter();
        let members = members.map(|(name, value)| (name.to_owned(), value.clone()));
        Self(Value::Object(members.collect()))
    }

    /// SHA-256 of the definition as canonical JSON, in 64 hexadecimal digits. The order of members
    /// does not count.
    #[must_use]
    pub fn hash(&self) -> String {
        sha256([canonical_json(&self.0).as_bytes()])
    }

    /// The [`Definition::hash`] of a tool's definition, which is not copied for it.
    #[must_use]
    pub fn hash_of(tool: &ToolDescriptor) -> String {
        let texts = Texts::of(tool);
        sha256([canonical_object(texts.members(tool)).as_bytes()])
    }

    /// What is different in `now`, by path and at most [`MAX_CHANGES`].
    #[must_use]
    pub fn changes(&self, now: &Self) -> Vec<Change> {
        let mut changes = Vec::new();
        compare(&self.0, &now.0, "", 0, &mut changes);
        changes
    }
}

/// What belongs to a definition and is not JSON yet.
struct Texts {
    name: Value,
    title: Option<Value>,
    description: Value,
    annotations: Option<Value>,
}

impl Texts {
    fn of(tool: &ToolDescriptor) -> Self {
        let hints = serde_json::to_value(&tool.annotations).ok();
        let said = |hints: &Value| hints.as_object().is_some_and(|hints| !hints.is_empty());
        Self {
            name: Value::from(tool.name.as_str()),
            title: tool.title.as_deref().map(Value::from),
            description: Value::from(tool.description.as_str()),
            annotations: hints.filter(said),
        }
    }

    /// All members of the definition.
    fn members<'a>(&'a self, tool: &'a ToolDescriptor) -> Vec<(&'static str, &'a Value)> {
        let title = self.title.as_ref();
        let output = tool.output_schema.as_deref();
        let mut members = vec![("name", &self.name)];
        members.extend(title.map(|title| ("title", title)));
        members.push(("description", &self.description));
        members.push(("inputSchema", &tool.input_schema));
        members.extend(output.map(|schema| ("outputSchema", schema)));
        members.extend(
            self.annotations
                .as_ref()
                .map(|hints| ("annotations", hints)),
        );
        members
    }
}

/// What kind of difference a [`Change`] is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[expect(
    clippy::exhaustive_enums,
    reason = "a value comes, goes or becomes another"
)]
pub enum ChangeKind {
    /// It was not there.
    Added,
    /// It is gone.
    Removed,
    /// It is another.
    Changed,
}

/// One difference between two definitions of a tool. Its texts are printable and cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Change {
    /// Where: `description`, `inputSchema.properties.path.type`, `inputSchema.required[0]`.
    pub path: String,
    /// What happened there.
    pub kind: ChangeKind,
    /// What was there, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// What is there now, as JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

impl fmt::Display for Change {
    /// One line a side, as in a patch: `- path: before` and `+ path: after`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(before) = &self.before {
            write!(f, "- {}: {before}", self.path)?;
        }
        if let Some(after) = &self.after {
            if self.before.is_some() {
                f.write_str("\n")?;
            }
            write!(f, "+ {}: {after}", self.path)?;
        }
        Ok(())
    }
}

fn compare(before: &Value, after: &Value, path: &str, depth: usize, changes: &mut Vec<Change>) {
    if before == after || changes.len() >= MAX_CHANGES {
        return;
    }
    match (before, after) {
        (Value::Object(old), Value::Object(new)) if depth < MAX_DEPTH => {
            let names: std::collections::BTreeSet<&String> = old.keys().chain(new.keys()).collect();
            for name in names {
                let shown = shown(&Value::from(name.as_str()));
                let plain = shown.trim_matches('"');
                let path = match path {
                    "" => plain.to_owned(),
                    path => format!("{path}.{plain}"),
                };
                pair(old.get(name), new.get(name), &path, depth, changes);
            }
        }
        (Value::Array(old), Value::Array(new)) if depth < MAX_DEPTH => {
            for at in 0..old.len().max(new.len()) {
                let path = format!("{path}[{at}]");
                pair(old.get(at), new.get(at), &path, depth, changes);
            }
        }
        _ => pair_up(Some(before), Some(after), path, changes),
    }
}

fn pair(
    before: Option<&Value>,
    after: Option<&Value>,
    path: &str,
    depth: usize,
    changes: &mut Vec<Change>,
) {
    match (before, after) {
        (Some(before), Some(after)) => compare(before, after, path, depth + 1, changes),
        _ => pair_up(before, after, path, changes),
    }
}

fn pair_up(before: Option<&Value>, after: Option<&Value>, path: &str, changes: &mut Vec<Change>) {
    if changes.len() >= MAX_CHANGES {
        return;
    }
    let kind = match (before, after) {
        (None, _) => ChangeKind::Added,
        (_, None) => ChangeKind::Removed,
        _ => ChangeKind::Changed,
    };
    changes.push(Change {
        path: toolsearch_schema::names::clip(path, MAX_SHOWN_CHARS),
        kind,
        before: before.map(shown),
        after: after.map(shown),
    });
}

fn shown(value: &Value) -> String {
    picture(value, MAX_SHOWN_CHARS)
}
