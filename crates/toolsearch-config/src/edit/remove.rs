//! Taking a value out, with its key and its comma, and its line when it had one to itself.

use std::ops::Range;

use crate::json5::{Document, NodeKind};
use crate::path::{KeyPath, Step};

use super::get;
use super::layout::{after_line_comments, begins_line, children, comma_after, line_start};

/// The text without the value at the path; nothing when there is no such value.
pub(super) fn remove(document: &Document, path: &KeyPath) -> Option<String> {
    let (last, around) = path.steps().split_last()?;
    let parent = get(document, &KeyPath::from(around.to_vec()))?;
    let index = match (last, &parent.kind) {
        (Step::Key(key), NodeKind::Object(members)) => {
            members.iter().position(|m| m.key == *key)?
        }
        (Step::Index(index), NodeKind::Array(items)) if *index < items.len() => *index,
        _ => return None,
    };
    let text = document.text();
    let spans = children(parent);
    let child = &spans[index];
    let own_comma = comma_after(text, child.end);
    let end = own_comma.map_or(child.end, |at| at + 1);
    let mut cuts: Vec<Range<usize>> = Vec::new();
    if own_comma.is_none() && index > 0 {
        // The neighbour becomes the last one, and this container ends without a comma.
        cuts.extend(comma_after(text, spans[index - 1].end).map(|at| at..at + 1));
    }
    cuts.push(around_child(text, child.start, end, own_comma.is_none()));
    Some(without(text, &cuts))
}

/// What goes with a child: its whole lines if nothing else stands on them, else the blanks on one
/// side.
fn around_child(text: &str, start: usize, end: usize, is_last: bool) -> Range<usize> {
    let line_end = after_line_comments(text, end);
    let rest = &text[line_end..];
    let rest_of_line = rest.trim_start_matches([' ', '\t']);
    let newline = if rest_of_line.starts_with("\r\n") {
        2
    } else {
        1
    };
    if begins_line(text, start) && rest_of_line.starts_with(['\n', '\r']) {
        let line = line_start(text, start);
        let mark = if text[line..].starts_with('\u{feff}') {
            '\u{feff}'.len_utf8()
        } else {
            0
        };
        return line + mark..line_end + (rest.len() - rest_of_line.len()) + newline;
    }
    if is_last {
        let before = text[..start].trim_end_matches([' ', '\t']).len();
        return before..end;
    }
    let after = text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len();
    start..end + after
}

/// The text without these ranges, which are in order and apart.
fn without(text: &str, cuts: &[Range<usize>]) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for cut in cuts {
        kept.push_str(&text[from..cut.start.max(from)]);
        from = cut.end.max(from);
    }
    kept.push_str(&text[from..]);
    kept
}
