//! Compact TypeScript-like signatures of what a tool takes and gives.
//!
//! A signature is a hint of a few hundred characters: bounded, deterministic, and marked `lossy` where
//! it says less than the schema. It never shows descriptions, defaults or examples.

mod build;
mod print;
#[cfg(test)]
mod tests;

use serde_json::Value;

use crate::document::Document;
use build::{Builder, Type};

/// Characters of an input signature.
const INPUT_CHARS: usize = 300;

/// Characters of an output signature.
const OUTPUT_CHARS: usize = 850;

/// Which names and literals of a schema may be shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Names {
    /// All of them, cleaned and bounded: for schemas whose author is trusted.
    AsIs,
    /// Identifiers and single short words only, so that no sentence of a stranger gets through.
    #[default]
    IdentifierSafeOnly,
}

/// Limits of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SignatureOptions {
    /// Characters of the text. Names of required parameters are kept even beyond it.
    pub max_chars: usize,
    /// Properties shown of one object. Required ones are shown even beyond it.
    pub max_properties: usize,
    /// Objects and lists shown inside one another.
    pub max_depth: usize,
    /// Which names and literals may be shown.
    pub names: Names,
}

impl SignatureOptions {
    /// Limits for the input of a tool: 300 characters, 16 properties, depth 4.
    pub fn input(names: Names) -> Self {
        Self {
            max_chars: INPUT_CHARS,
            max_properties: 16,
            max_depth: 4,
            names,
        }
    }

    /// Limits for the output of a tool: 850 characters, 20 properties, depth 6.
    pub fn output(names: Names) -> Self {
        Self {
            max_chars: OUTPUT_CHARS,
            max_properties: 20,
            max_depth: 6,
            names,
        }
    }

    /// The same limits with another number of characters.
    #[must_use]
    pub fn with_max_chars(mut self, max_chars: usize) -> Self {
        self.max_chars = max_chars;
        self
    }
}

impl Default for SignatureOptions {
    fn default() -> Self {
        Self::input(Names::default())
    }
}

/// A compact signature.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Signature {
    /// For example `{ title: string; body?: string; labels?: string[] }`.
    pub text: String,
    /// Whether the text says less than the schema.
    pub lossy: bool,
}

/// The signature of a tool's arguments.
///
/// Required parameters come first, then optional ones, each in lexical order. The name of a required
/// parameter is dropped only when it may not be shown at all (see [`Names`]) or when thousands of
/// characters of names are required; their number then stands at the end.
pub fn input_signature(schema: &Value, options: &SignatureOptions) -> Signature {
    let document = Document::new(schema);
    let mut builder = Builder::new(document, options);
    if let Some(union) = builder.root_union(schema) {
        let text = print::full(&union);
        if text.chars().count() <= options.max_chars {
            return Signature {
                text,
                lossy: builder.lossy,
            };
        }
        builder = Builder::new(document, options);
    }
    let root = builder.root(schema);
    let (text, cut) = print::fitted(&root, options.max_chars);
    Signature {
        text,
        lossy: builder.lossy || cut,
    }
}

/// The signature of a tool's structured result, if the schema describes it completely within the
/// limits. An incomplete one would mislead a program that reads the result.
pub fn output_signature(schema: &Value, options: &SignatureOptions) -> Option<Signature> {
    let mut builder = Builder::new(Document::new(schema), options);
    let root = builder.value(schema);
    let text = print::full(&root);
    let complete = !builder.lossy && text.chars().count() <= options.max_chars;
    let telling = matches!(&root, Type::Object(object) if !object.is_empty())
        || matches!(&root, Type::Union(_) | Type::List(_) | Type::Record(_));
    (complete && telling).then_some(Signature { text, lossy: false })
}

/// One type in a few words, for messages: `integer`, `string | null`, `{ x: number }`.
pub(crate) fn type_text(document: Document<'_>, schema: &Value, max_chars: usize) -> String {
    let options = SignatureOptions::input(Names::IdentifierSafeOnly).with_max_chars(max_chars);
    let mut builder = Builder::new(document, &options);
    let shape = builder.value(schema);
    print::fitted(&shape, max_chars).0
}
