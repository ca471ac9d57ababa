//! The compact form of a tool that search hits carry. Made once a catalog entry, not once a hit.

use serde_json::{Map, Value};
use toolsearch_catalog::{ToolDescriptor, ToolId};
use toolsearch_schema::names::sanitise_label;
use toolsearch_schema::signature::{Names, SignatureOptions, input_signature, output_signature};

/// Most characters of a description in a card.
pub const MAX_DESCRIPTION_CHARS: usize = 180;

/// Most characters of a signature in a card; required parameters may take it beyond.
pub const MAX_SIGNATURE_CHARS: usize = 300;

/// A tool as search shows it: enough to call it in most cases, never the full schema. For a tool
/// that the operator does not vouch for, the signature holds types and identifier-like names only,
/// and every text is stripped of characters that hide or reorder.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Card {
    /// The exact id.
    pub id: ToolId,
    /// The owner, safe to print.
    pub source_name: String,
    /// The name, safe to print.
    pub name: String,
    /// The title, safe to print, when it says more than the name.
    pub title: Option<String>,
    /// The description in one line, cut with a visible mark.
    pub description: String,
    /// The arguments as a TypeScript type.
    pub input: String,
    /// Whether `input` leaves something out.
    pub lossy: bool,
    /// The structured result as a TypeScript type, when it is known completely.
    pub output: Option<String>,
    /// From a cached list of an owner that does not answer.
    pub stale: bool,
}

impl Card {
    /// Makes the card of a tool.
    #[must_use]
    pub fn of(tool: &ToolDescriptor) -> Self {
        let names = if tool.is_trusted() {
            Names::AsIs
        } else {
            Names::IdentifierSafeOnly
        };
        let options = SignatureOptions::input(names).with_max_chars(MAX_SIGNATURE_CHARS);
        let input = input_signature(&tool.input_schema, &options);
        let output = tool.output_schema.as_deref().filter(|_| tool.is_trusted());
        let title = tool.title.as_deref().map(|title| sanitise_label(title, 80));
        Self {
            id: tool.id.clone(),
            source_name: sanitise_label(&tool.owner, 64),
            name: sanitise_label(&tool.name, 128),
            title: title.filter(|title| !title.is_empty() && *title != tool.name),
            description: sanitise_label(&tool.description, MAX_DESCRIPTION_CHARS),
            input: input.text,
            lossy: input.lossy,
            output: output
                .and_then(|schema| output_signature(schema, &SignatureOptions::output(names)))
                .map(|signature| signature.text),
            stale: tool.stale,
        }
    }

    /// The card as JSON, fields that say nothing left out.
    #[must_use]
    pub fn to_json(&self) -> Map<String, Value> {
        let mut card = Map::new();
        let mut put = |key: &str, value: Value| {
            card.insert(key.to_owned(), value);
        };
        put("id", Value::from(self.id.as_str()));
        put("source", Value::from(self.id.source().as_str()));
        put("sourceName", Value::from(self.source_name.as_str()));
        put("name", Value::from(self.name.as_str()));
        if let Some(title) = &self.title {
            put("title", Value::from(title.as_str()));
        }
        if !self.description.is_empty() {
            put("description", Value::from(self.description.as_str()));
        }
        put("input", Value::from(self.input.as_str()));
        if self.lossy {
            put("lossy", Value::Bool(true));
        }
        if let Some(output) = &self.output {
            put("output", Value::from(output.as_str()));
        }
        if self.stale {
            put("stale", Value::Bool(true));
        }
        card
    }
}
