//! Calls of Chat Completions that come in pieces. Servers number them in more than one way: two calls
//! under one index, no index, no ids, a name that is repeated.

use serde_json::{Value, json};

use crate::answer::MAX_CALLS;
use crate::parts::{set, text_field};

#[derive(Debug)]
struct Piece {
    index: Option<u64>,
    id: String,
    entry: Value,
}

/// The calls of one turn so far.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    calls: Vec<Piece>,
}

impl Fragments {
    pub(crate) fn is_empty(&self) -> bool {
        self.calls.is_empty()
    }

    /// Takes the next piece.
    pub(crate) fn take(&mut self, piece: &Value) {
        let id = text_field(piece, "id").unwrap_or_default();
        let index = piece.get("index").and_then(Value::as_u64);
        let at = match self.place(piece, id, index) {
            Some(at) => at,
            None if self.calls.len() < MAX_CALLS => {
                self.calls.push(Piece {
                    index,
                    id: id.to_owned(),
                    entry: json!({}),
                });
                self.calls.len() - 1
            }
            None => return,
        };
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            id.clone_into(&mut call.id);
        }
        let Value::Object(fields) = piece else { return };
        for (key, value) in fields {
            match (key.as_str(), value) {
                ("index", _) | (_, Value::Null) => {}
                ("function" | "custom", Value::Object(inner)) => {
                    let mut own = call.entry.get(key).cloned().unwrap_or_else(|| json!({}));
                    for (name, value) in inner {
                        grow(&mut own, name, value);
                    }
                    set(&mut call.entry, key, own);
                }
                _ if call.entry.get(key).is_none() => set(&mut call.entry, key, value.clone()),
                _ => {}
            }
        }
    }

    /// Where a piece belongs; `None` for the beginning of a call.
    fn place(&self, piece: &Value, id: &str, index: Option<u64>) -> Option<usize> {
        if !id.is_empty()
            && let Some(at) = self.calls.iter().position(|call| call.id == id)
        {
            return Some(at);
        }
        let at = match index {
            Some(_) => self.calls.iter().rposition(|call| call.index == index)?,
            None => self.calls.len().checked_sub(1)?,
        };
        let call = &self.calls[at];
        let other = !id.is_empty() && !call.id.is_empty();
        let named = ["/function/name", "/custom/name"].iter().any(|place| {
            piece
                .pointer(place)
                .and_then(Value::as_str)
                .is_some_and(|n| !n.is_empty())
        });
        let begins = other || named && call.has_arguments();
        (!begins).then_some(at)
    }

    pub(crate) fn into_calls(self) -> Vec<Value> {
        let mut calls = self.calls;
        // Pieces may come in any order; a server that numbers its calls means that order.
        let numbers: std::collections::BTreeSet<Option<u64>> =
            calls.iter().map(|call| call.index).collect();
        if numbers.len() == calls.len() {
            calls.sort_by_key(|call| call.index);
        }
        calls.into_iter().map(|call| call.entry).collect()
    }
}

impl Piece {
    fn has_arguments(&self) -> bool {
        let of = |place: &str| self.entry.pointer(place);
        let given = of("/function/arguments").or_else(|| of("/custom/input"));
        given.is_some_and(|given| given.as_str().is_none_or(|text| !text.is_empty()))
    }
}

fn grow(own: &mut Value, name: &str, more: &Value) {
    match (own.get(name).and_then(Value::as_str), more) {
        (_, Value::Null) => {}
        // A name comes whole; some servers repeat it with every piece.
        (Some(have), Value::String(_)) if name == "name" && !have.is_empty() => {}
        (Some(have), Value::String(more)) => {
            let text = have.to_owned() + more;
            set(own, name, Value::from(text));
        }
        (None, more) if own.get(name).is_none() => set(own, name, more.clone()),
        _ => {}
    }
}
