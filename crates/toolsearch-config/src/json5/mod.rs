//! A JSON5 reader that remembers where everything stood: each value and key keeps its byte range,
//! so that messages can name a line and edits can touch one value and nothing else.
//!
//! It knows the grammar only; which keys a file may have is the business of [`crate::schema`].

mod parse;
mod scan;
#[cfg(test)]
pub(crate) mod tests;

use std::fmt;
use std::ops::Range;

use serde_json::Value;

use crate::error::{ConfigError, Problem, ProblemKind};

pub(crate) use scan::{is_identifier, skip_trivia};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: usize = 4 * 1024 * 1024;
/// The deepest nesting of objects and arrays that is read.
pub const MAX_DEPTH: usize = 64;

/// A line and a column, both counted from one; the column counts characters, not bytes.
/// Open for matching: there will be no third coordinate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line, from one.
    pub line: usize,
    /// Character in the line, from one.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A number as written: integers that fit keep their exact value. Complete: JSON5 has
/// no other numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Number {
    /// A whole number without fraction or exponent.
    Integer(i64),
    /// Anything else, `Infinity` and `NaN` included.
    Float(f64),
}

/// One value with the bytes it stood in.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Node {
    /// Byte range in the document's text, quotes and brackets included.
    pub span: Range<usize>,
    /// What stood there.
    pub kind: NodeKind,
}

/// The content of a [`Node`]. Complete: JSON5 has no other values.
#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// Any number.
    Number(Number),
    /// A string, escapes resolved.
    String(String),
    /// An array.
    Array(Vec<Node>),
    /// An object; members in file order, keys distinct.
    Object(Vec<Member>),
}

/// One `key: value` of an object.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Member {
    /// The key, escapes resolved.
    pub key: String,
    /// Byte range of the key, quotes included.
    pub key_span: Range<usize>,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The member of that name, when this is an object that has it.
    pub fn member(&self, key: &str) -> Option<&Member> {
        match &self.kind {
            NodeKind::Object(members) => members.iter().find(|member| member.key == key),
            _ => None,
        }
    }

    /// The value of that key, when this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.value)
    }

    /// The element at that index, when this is an array that long.
    pub fn item(&self, index: usize) -> Option<&Node> {
        match &self.kind {
            NodeKind::Array(items) => items.get(index),
            _ => None,
        }
    }

    /// The value without positions. `Infinity` and `NaN`, which JSON lacks, become `null`.
    pub fn to_json(&self) -> Value {
        match &self.kind {
            NodeKind::Null => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(Number::Integer(value)) => Value::from(*value),
            NodeKind::Number(Number::Float(value)) => Value::from(*value),
            NodeKind::String(value) => Value::String(value.clone()),
            NodeKind::Array(items) => items.iter().map(Node::to_json).collect(),
            NodeKind::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|member| (member.key.clone(), member.value.to_json()))
                    .collect(),
            ),
        }
    }

    /// What this is, in words for a message.
    pub fn describe(&self) -> &'static str {
        match &self.kind {
            NodeKind::Null => "null",
            NodeKind::Bool(_) => "a boolean",
            NodeKind::Number(_) => "a number",
            NodeKind::String(_) => "a string",
            NodeKind::Array(_) => "an array",
            NodeKind::Object(_) => "an object",
        }
    }
}

/// A parsed file: its text, its name and the tree of its values.
#[derive(Clone)]
pub struct Document {
    text: String,
    file: String,
    line_starts: Vec<usize>,
    root: Node,
    blank: bool,
}

impl Document {
    /// Reads JSON5 (and so JSON and JSON with comments). A file that holds nothing but blanks and
    /// comments is an empty object.
    ///
    /// # Errors
    /// [`ConfigError::Invalid`] with the first grammar error, or with every duplicate key; each
    /// names the line. Files over [`MAX_FILE_BYTES`] or nested deeper than [`MAX_DEPTH`] are refused.
    pub fn parse(text: &str, file_name: &str) -> Result<Self, ConfigError> {
        if text.len() > MAX_FILE_BYTES {
            return Err(ConfigError::TooLarge {
                file: file_name.to_owned(),
                limit: MAX_FILE_BYTES,
            });
        }
        let mut document = Self {
            text: text.to_owned(),
            file: file_name.to_owned(),
            line_starts: line_starts(text),
            root: Node {
                span: text.len()..text.len(),
                kind: NodeKind::Object(Vec::new()),
            },
            blank: true,
        };
        let parsed = parse::parse(text)
            .map_err(|fault| document.invalid(vec![document.syntax_problem(&fault)]))?;
        if !parsed.duplicates.is_empty() {
            let problems = parsed
                .duplicates
                .iter()
                .map(|d| document.duplicate_problem(d))
                .collect();
            return Err(document.invalid(problems));
        }
        if let Some(root) = parsed.root {
            document.root = root;
            document.blank = false;
        }
        Ok(document)
    }

    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The name that messages use for this file.
    pub fn file_name(&self) -> &str {
        &self.file
    }

    /// The outermost value.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// Whether the file held no value at all.
    pub fn is_blank(&self) -> bool {
        self.blank
    }

    /// Line and column of a byte offset; offsets past the end count as the end.
    pub fn position(&self, offset: usize) -> Position {
        let offset = self.text.floor_char_boundary(offset);
        let line = self.line_starts.partition_point(|start| *start <= offset);
        let start = self.line_starts[line.saturating_sub(1)];
        let column = self.text[start..offset]
            .chars()
            .filter(|c| *c != '\u{feff}')
            .count()
            + 1;
        Position {
            line: line.max(1),
            column,
        }
    }

    fn syntax_problem(&self, fault: &parse::Fault) -> Problem {
        Problem::new(
            &self.file,
            self.position(fault.offset),
            String::new(),
            ProblemKind::Syntax,
            fault.message.clone(),
        )
    }

    fn duplicate_problem(&self, duplicate: &parse::Duplicate) -> Problem {
        let first = self.position(duplicate.first).line;
        let second = self.position(duplicate.second);
        let message = format!(
            "key stands twice, on line {first} and on line {}; keep one of them",
            second.line
        );
        let path = duplicate.path.to_string();
        Problem::new(
            &self.file,
            second,
            path,
            ProblemKind::DuplicateKey { first_line: first },
            message,
        )
    }

    fn invalid(&self, problems: Vec<Problem>) -> ConfigError {
        ConfigError::Invalid {
            file: self.file.clone(),
            problems,
        }
    }
}

/// The text stays out: it may hold secrets.
impl fmt::Debug for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("file", &self.file)
            .field("bytes", &self.text.len())
            .finish_non_exhaustive()
    }
}

fn line_starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (index, byte) in bytes.iter().enumerate() {
        let ends_line = match byte {
            b'\n' => true,
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends_line {
            starts.push(index + 1);
        }
    }
    starts
}
