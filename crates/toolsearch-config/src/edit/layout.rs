//! How a file is written: its indentation, line ends, quotes and commas; and the small scans that
//! edits need.

use std::ops::Range;

use serde_json::Value;

use crate::json5::{Document, Node, NodeKind, is_identifier, skip_trivia};

/// What a file may hold beyond JSON. Complete: plain JSON and JSON with comments need the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Keys without quotes and trailing commas, where the file has them already or is new.
    Json5,
    /// Neither, ever.
    Json,
}

/// The habits of one file.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) newline: &'static str,
    /// One level of indentation.
    pub(super) unit: String,
    pub(super) quoted_keys: bool,
    /// Whether new containers end in a comma.
    pub(super) trailing_comma: bool,
}

impl Layout {
    pub(super) fn of(document: &Document, format: Format) -> Self {
        let text = document.text();
        let spans = children(document.root());
        let newline = match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => "\r\n",
            _ => "\n",
        };
        let unit = spans
            .first()
            .map(|span| indentation(text, span.start))
            .filter(|unit| !unit.is_empty() && unit.len() <= 8)
            .unwrap_or("  ");
        let json = format == Format::Json;
        let quoted_keys = match &document.root().kind {
            NodeKind::Object(members) => {
                let quoted = |start: usize| text[start..].starts_with('"');
                !members.is_empty() && members.iter().all(|m| quoted(m.key_span.start))
            }
            _ => false,
        };
        let ends_in_comma = spans
            .last()
            .is_none_or(|last| comma_after(text, last.end).is_some());
        Self {
            newline,
            unit: unit.to_owned(),
            quoted_keys: json || quoted_keys,
            trailing_comma: !json && ends_in_comma,
        }
    }

    pub(super) fn key(&self, key: &str) -> String {
        if !self.quoted_keys && is_identifier(key) {
            return key.to_owned();
        }
        Value::String(key.to_owned()).to_string()
    }
}

/// The byte ranges of the members or elements of a node, keys included.
pub(super) fn children(node: &Node) -> Vec<Range<usize>> {
    match &node.kind {
        NodeKind::Object(members) => members
            .iter()
            .map(|m| m.key_span.start..m.value.span.end)
            .collect(),
        NodeKind::Array(items) => items.iter().map(|item| item.span.clone()).collect(),
        _ => Vec::new(),
    }
}

/// Where the comma after a child stands, if there is one.
pub(super) fn comma_after(text: &str, end: usize) -> Option<usize> {
    let next = skip_trivia(text, end);
    text[next..].starts_with(',').then_some(next)
}

/// The start of the line that holds a byte.
pub(super) fn line_start(text: &str, offset: usize) -> usize {
    text[..offset].rfind(['\n', '\r']).map_or(0, |at| at + 1)
}

/// The blanks that begin the line that holds a byte.
pub(super) fn indentation(text: &str, offset: usize) -> &str {
    let line = &text[line_start(text, offset)..offset];
    let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
    &line[..blanks]
}

/// Whether nothing but blanks stands before a byte on its line.
pub(super) fn begins_line(text: &str, offset: usize) -> bool {
    text[line_start(text, offset)..offset]
        .trim_matches([' ', '\t', '\u{feff}'])
        .is_empty()
}

/// The end of the comments that follow on the same line; `offset` itself when there are none.
pub(super) fn after_line_comments(text: &str, offset: usize) -> usize {
    let mut end = offset;
    loop {
        let rest = &text[end..];
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let comment = &rest[blanks..];
        if comment.starts_with("//") {
            return end + blanks + comment.find(['\n', '\r']).unwrap_or(comment.len());
        }
        let inner = comment
            .strip_prefix("/*")
            .and_then(|inner| inner.split_once("*/"));
        match inner {
            Some((inner, _)) if !inner.contains(['\n', '\r']) => {
                end += blanks + inner.len() + 4;
            }
            _ => return end,
        }
    }
}
