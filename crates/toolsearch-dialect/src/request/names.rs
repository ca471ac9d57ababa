//! Names of offered tools: what providers accept, who is named by `tool_choice`, doubled names.

use std::collections::BTreeSet;

use serde_json::Value;
use toolsearch_schema::names::sanitise_label;

use crate::dialect::Dialect;
use crate::refusal::Refusal;

/// How deep `tool_choice` is searched for names.
const MAX_DEPTH: usize = 6;
/// Most characters of a name in a message.
const SHOWN_CHARS: usize = 80;

/// What is known of the names of a request while its tools are read.
pub(crate) struct Names<'a> {
    dialect: Dialect,
    chosen: BTreeSet<&'a str>,
    seen: BTreeSet<(Option<String>, String)>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(dialect: Dialect, body: &'a Value) -> Self {
        let mut chosen = BTreeSet::new();
        if let Some(choice) = body.get("tool_choice") {
            collect(choice, MAX_DEPTH, &mut chosen);
        }
        Self {
            dialect,
            chosen,
            seen: BTreeSet::new(),
        }
    }

    pub(crate) fn chosen(&self, name: &str) -> bool {
        self.chosen.contains(name)
    }

    /// Takes a name in.
    pub(crate) fn take(
        &mut self,
        name: Option<&Value>,
        namespace: Option<&str>,
        at: &str,
    ) -> Result<String, Refusal> {
        let param = format!("{at}.name");
        let most = self.dialect.name_chars();
        let Some(name) = name.and_then(Value::as_str) else {
            let message = format!("`{param}` must be a text");
            return Err(Refusal::invalid(message).at(param));
        };
        let legal = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
        if name.is_empty() || name.len() > most || !name.bytes().all(legal) {
            let message = format!(
                "`{}` is no name for a tool: 1 to {most} of A-Z a-z 0-9 _ -",
                sanitise_label(name, SHOWN_CHARS)
            );
            return Err(Refusal::invalid(message)
                .at(param)
                .coded("invalid_tool_name"));
        }
        if !self
            .seen
            .insert((namespace.map(str::to_owned), name.to_owned()))
        {
            let message = format!("two tools are named `{name}`; rename or leave out one of them");
            return Err(Refusal::invalid(message).at(param).coded("duplicate_tool"));
        }
        Ok(name.to_owned())
    }
}

fn collect<'a>(value: &'a Value, depth: usize, names: &mut BTreeSet<&'a str>) {
    if depth == 0 {
        return;
    }
    match value {
        Value::Object(fields) => {
            if let Some(name) = fields.get("name").and_then(Value::as_str) {
                names.insert(name);
            }
            fields
                .values()
                .for_each(|value| collect(value, depth - 1, names));
        }
        Value::Array(items) => items
            .iter()
            .for_each(|value| collect(value, depth - 1, names)),
        _ => {}
    }
}
