//! A schema document as the rest of the crate reads it: local references, type words, merged objects.
//!
//! Nothing here renders or judges. References are followed inside the document only.

mod kinds;
mod object;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use kinds::{Kind, Kinds};
pub(crate) use object::{ObjectView, Rest};

/// References followed one after another before a chain counts as a cycle.
const MAX_HOPS: usize = 16;

/// Longest reference text that is read.
const MAX_REFERENCE: usize = 1024;

/// Nodes searched for an anchor.
const MAX_ANCHOR_NODES: usize = 2_000;

/// Depth to which an anchor is searched.
const MAX_ANCHOR_DEPTH: usize = 32;

/// A schema document with its root, against which references resolve.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Document<'a> {
    root: &'a Value,
}

impl<'a> Document<'a> {
    pub(crate) fn new(root: &'a Value) -> Self {
        Self { root }
    }

    pub(crate) fn root(&self) -> &'a Value {
        self.root
    }

    /// The value a reference points at; `None` when it is dangling, remote or too long.
    pub(crate) fn resolve(&self, reference: &str) -> Option<&'a Value> {
        if reference.len() > MAX_REFERENCE {
            return None;
        }
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if !base.is_empty() && !self.is_own_address(base) {
            return None;
        }
        let fragment = percent_decoded(fragment)?;
        if fragment.is_empty() || fragment.starts_with('/') {
            return self.root.pointer(&fragment);
        }
        let mut nodes = MAX_ANCHOR_NODES;
        find_anchor(self.root, &fragment, MAX_ANCHOR_DEPTH, &mut nodes)
    }

    /// `schema`, or what its chain of references ends at; `None` for a chain that dangles or turns in
    /// a circle.
    pub(crate) fn follow(&self, schema: &'a Value) -> Option<&'a Value> {
        let mut current = schema;
        for _ in 0..MAX_HOPS {
            match reference_of(current) {
                Some(reference) => current = self.resolve(reference)?,
                None => return Some(current),
            }
        }
        None
    }

    fn is_own_address(&self, base: &str) -> bool {
        let id = self.root.get("$id").or_else(|| self.root.get("id"));
        id.and_then(Value::as_str)
            .is_some_and(|id| id.trim_end_matches('#') == base)
    }
}

/// The text of the schema's `$ref` (or of the dynamic and recursive kinds, read as plain ones).
pub(crate) fn reference_of(schema: &Value) -> Option<&str> {
    ["$ref", "$dynamicRef", "$recursiveRef"]
        .into_iter()
        .find_map(|keyword| schema.get(keyword)?.as_str())
}

/// The last part of a reference, which usually is the name of a type.
pub(crate) fn reference_name(reference: &str) -> Option<&str> {
    reference
        .rsplit(['/', '#'])
        .next()
        .filter(|name| !name.is_empty())
}

/// The sub-schemas of a keyword that holds a list of them.
pub(crate) fn list<'a>(schema: &'a Value, keyword: &str) -> &'a [Value] {
    schema
        .get(keyword)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

fn percent_decoded(text: &str) -> Option<String> {
    if !text.contains('%') {
        return Some(text.to_owned());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let escaped = match (first, tail) {
            (b'%', [high, low, ..]) => hex(*high).zip(hex(*low)),
            _ => None,
        };
        match escaped {
            Some((high, low)) => {
                bytes.push(high << 4 | low);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

fn hex(byte: u8) -> Option<u8> {
    char::from(byte)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

fn find_anchor<'a>(
    value: &'a Value,
    anchor: &str,
    depth: usize,
    nodes: &mut usize,
) -> Option<&'a Value> {
    *nodes = nodes.checked_sub(1)?;
    let depth = depth.checked_sub(1)?;
    match value {
        Value::Object(members) => {
            let text = |keyword: &str| members.get(keyword).and_then(Value::as_str);
            let named = text("$anchor") == Some(anchor)
                || text("$dynamicAnchor") == Some(anchor)
                || text("$id").and_then(|id| id.strip_prefix('#')) == Some(anchor)
                || text("id").and_then(|id| id.strip_prefix('#')) == Some(anchor);
            if named {
                return Some(value);
            }
            members
                .values()
                .find_map(|member| find_anchor(member, anchor, depth, nodes))
        }
        Value::Array(items) => items
            .iter()
            .find_map(|item| find_anchor(item, anchor, depth, nodes)),
        _ => None,
    }
}
