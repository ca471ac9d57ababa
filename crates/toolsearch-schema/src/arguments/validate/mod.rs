//! The check of a value against a schema, within bounds.
//!
//! Covers the assertions of drafts 4 to 2020-12 that tools use. Left to the tool's own server are
//! `format`, `unevaluatedItems`, `unevaluatedProperties`, `minContains`, patterns that need
//! backtracking, references out of the document, and whatever lies beyond the limits.

mod compile;
mod findings;
mod pattern;
mod run;
mod scalar;

use std::collections::BTreeMap;

use regex::Regex;
use serde_json::Value;

use super::{ArgumentErrors, Map};
use crate::document::{Document, Kind, Kinds};
use crate::fault::SchemaFault;
use crate::signature::{Names, SignatureOptions, input_signature};

/// A schema that was read through once and can check values.
///
/// Compiling costs time in proportion to the schema; keep the result beside the tool.
#[derive(Debug, Clone)]
pub struct Validator {
    schema: Value,
    /// Compiled patterns; `None` for one that is not checked.
    patterns: BTreeMap<String, Option<Regex>>,
    signature: String,
    /// In drafts 4 to 7 keywords beside a reference have no meaning.
    reference_stands_alone: bool,
}

impl Validator {
    /// Compiles the schema of a tool's arguments.
    ///
    /// # Errors
    ///
    /// A [`SchemaFault`] when the schema breaks the rules, is too large, or takes no object at all.
    /// Whether such a tool is refused or its server left to check is for the caller to decide.
    pub fn compile(schema: &Value) -> Result<Self, SchemaFault> {
        let validator = Self::compile_value(schema)?;
        if !Kinds::accepted(Document::new(schema), schema).has(Kind::Object) {
            return Err(SchemaFault::Malformed {
                at: "#".to_owned(),
                problem: "arguments are an object, which this schema does not take".to_owned(),
            });
        }
        Ok(validator)
    }

    /// Compiles a schema of any value, such as a tool's structured result.
    ///
    /// # Errors
    ///
    /// A [`SchemaFault`] when the schema breaks the rules or is too large.
    pub fn compile_value(schema: &Value) -> Result<Self, SchemaFault> {
        let patterns = compile::read_through(schema)?;
        let options = SignatureOptions::input(Names::IdentifierSafeOnly);
        Ok(Self {
            patterns,
            signature: input_signature(schema, &options).text,
            reference_stands_alone: compile::is_old_draft(schema),
            schema: schema.clone(),
        })
    }

    /// Checks any value.
    ///
    /// # Errors
    ///
    /// What is wrong with it.
    pub fn check(&self, value: &Value) -> Result<(), ArgumentErrors> {
        let mut errors = run::check(self, value);
        if errors.is_empty() {
            return Ok(());
        }
        errors.signature.clone_from(&self.signature);
        errors.sort_and_bound();
        Err(errors)
    }

    /// The compact signature of the arguments that fit.
    pub fn signature(&self) -> &str {
        &self.signature
    }
}

/// Checks the arguments of a call.
///
/// Unknown fields count where the schema closes its object, and where a required field is missing too,
/// since the one is then most likely the other misspelt.
///
/// # Errors
///
/// All that is wrong with them, with the signature that is expected.
pub fn validate(args: &Map, compiled: &Validator) -> Result<(), ArgumentErrors> {
    compiled.check(&Value::Object(args.clone()))
}
