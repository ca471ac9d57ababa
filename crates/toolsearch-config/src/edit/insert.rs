//! Adding what was not there: into an object, a list, or an empty file.

use crate::json5::{Document, Node, NodeKind};
use crate::path::Step;

use super::layout::{Layout, after_line_comments, begins_line, children, comma_after, indentation};

/// A whole new file after whatever comments the text holds. Nothing when a list would have to
/// start past its first element.
pub(super) fn into_blank(
    text: &str,
    steps: &[Step],
    value: &str,
    layout: &Layout,
) -> Option<String> {
    let newline = layout.newline;
    let needs_break = !text.trim_start_matches('\u{feff}').is_empty() && !text.ends_with('\n');
    let gap = if needs_break { newline } else { "" };
    let file = nested(steps, value, Some(""), layout)?;
    Some(format!("{text}{gap}{file}{newline}"))
}

/// The object that stands for a switch, with one more value.
pub(super) fn switched(on: bool, steps: &[Step], value: &str, layout: &Layout) -> Option<String> {
    let (step, rest) = steps.split_first()?;
    let Step::Key(key) = step else { return None };
    let inner = nested(rest, value, None, layout)?;
    let entry = format!("{}: {inner}", layout.key(key));
    if key == "enabled" {
        return Some(format!("{{ {entry} }}"));
    }
    Some(format!("{{ {}: {on}, {entry} }}", layout.key("enabled")))
}

/// The text with a new member or element in `node`; `steps` begin inside it.
pub(super) fn into(
    document: &Document,
    node: &Node,
    steps: &[Step],
    value: &str,
    layout: &Layout,
) -> Option<String> {
    let text = document.text();
    let close = node.span.end - 1;
    let Some(last) = children(node).pop() else {
        return into_empty(document, node, steps, value, layout);
    };
    let comma = comma_after(text, last.end);
    if !text[last.end..close].contains(['\n', '\r']) {
        let entry = entry(steps, value, None, layout)?;
        return Some(match comma {
            Some(at) => format!("{} {entry},{}", &text[..=at], &text[at + 1..]),
            None => format!("{}, {entry}{}", &text[..last.end], &text[last.end..]),
        });
    }
    let indent = if begins_line(text, last.start) {
        indentation(text, last.start).to_owned()
    } else {
        format!("{}{}", indentation(text, node.span.start), layout.unit)
    };
    let entry = entry(steps, value, Some(&indent), layout)?;
    let line_end = after_line_comments(text, comma.map_or(last.end, |at| at + 1));
    let (missing_comma, ending) = if comma.is_some() {
        ("", ",")
    } else {
        (",", "")
    };
    Some(format!(
        "{}{missing_comma}{}{}{indent}{entry}{ending}{}",
        &text[..last.end],
        &text[last.end..line_end],
        layout.newline,
        &text[line_end..],
    ))
}

fn into_empty(
    document: &Document,
    node: &Node,
    steps: &[Step],
    value: &str,
    layout: &Layout,
) -> Option<String> {
    let text = document.text();
    let (open, close) = (node.span.start + 1, node.span.end - 1);
    let inner = &text[open..close];
    let outer = indentation(text, node.span.start);
    let is_root = node.span == document.root().span;
    if inner.trim().is_empty() && !is_root && !inner.contains(['\n', '\r']) {
        let entry = entry(steps, value, None, layout)?;
        let blank = if matches!(node.kind, NodeKind::Object(_)) {
            " "
        } else {
            ""
        };
        return Some(format!(
            "{}{blank}{entry}{blank}{}",
            &text[..open],
            &text[close..]
        ));
    }
    let indent = format!("{outer}{}", layout.unit);
    let entry = entry(steps, value, Some(&indent), layout)?;
    let kept = inner.trim_end();
    let comma = if layout.trailing_comma { "," } else { "" };
    let newline = layout.newline;
    Some(format!(
        "{}{kept}{newline}{indent}{entry}{comma}{newline}{outer}{}",
        &text[..open],
        &text[close..],
    ))
}

/// `key: value`, or just the value in a list; containers for the remaining steps around it.
fn entry(steps: &[Step], value: &str, indent: Option<&str>, layout: &Layout) -> Option<String> {
    let (step, rest) = steps.split_first()?;
    let inner = nested(rest, value, indent, layout)?;
    Some(match step {
        Step::Key(key) => format!("{}: {inner}", layout.key(key)),
        Step::Index(_) => inner,
    })
}

/// The value inside one container per step. With an indentation, each on lines of its own.
fn nested(steps: &[Step], value: &str, indent: Option<&str>, layout: &Layout) -> Option<String> {
    let (open, close, blank) = match steps.first() {
        None => return Some(value.to_owned()),
        Some(Step::Key(_)) => ('{', '}', " "),
        Some(Step::Index(0)) => ('[', ']', ""),
        Some(Step::Index(_)) => return None,
    };
    let Some(outer) = indent else {
        let entry = entry(steps, value, None, layout)?;
        return Some(format!("{open}{blank}{entry}{blank}{close}"));
    };
    let inner = format!("{outer}{}", layout.unit);
    let entry = entry(steps, value, Some(&inner), layout)?;
    let comma = if layout.trailing_comma { "," } else { "" };
    let newline = layout.newline;
    Some(format!(
        "{open}{newline}{inner}{entry}{comma}{newline}{outer}{close}"
    ))
}
