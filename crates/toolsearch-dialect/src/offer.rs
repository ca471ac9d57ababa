//! The tools that a request offers, and what becomes of each kind.

use serde_json::Value;
use toolsearch_catalog::{IdError, Source, ToolDescriptor};

use crate::call::CallForm;

/// Owner of client tools that stand in no namespace.
const CLIENT: &str = "client";

/// Whether a provider's own loading of deferred tools may be relied upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "it may or it may not")]
pub enum Native {
    /// Deferred tools and the provider's search go to it as they are.
    Passed,
    /// They are hidden, translated or left out here.
    Replaced,
}

/// Why a tool must stay declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stay {
    /// `tool_choice` names it.
    Chosen,
    /// The client marked it: `"defer_loading": false`.
    Marked,
    /// It takes free text, which the provider holds to a grammar only where it is declared.
    FreeText,
    /// The provider knows its schema, not the client.
    BuiltIn,
    /// The provider itself defers it, or it finds deferred tools.
    Deferred,
}

/// A tool that the client runs.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Offered {
    /// The client's own name.
    pub name: String,
    /// The namespace that it stands in (Responses).
    pub namespace: Option<String>,
    /// What it does.
    pub description: String,
    /// Schema of its arguments.
    pub input_schema: Value,
    /// Schema of its result, where the client says it.
    pub output_schema: Option<Value>,
    /// How it is called.
    pub form: CallForm,
    /// Set when it must not be hidden.
    pub stay: Option<Stay>,
    /// What declares it where it stays visible.
    pub declaration: Declaration,
}

/// What declares a tool that stays visible.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "every caller must handle all of them"
)]
pub enum Declaration {
    /// The surface's own entry for it, by [`Dialect::declaration`](crate::Dialect::declaration).
    Surface,
    /// The client's entry, every field of it.
    Own(Value),
    /// An entry of [`Offer::kept`], or one in the history.
    Elsewhere,
}

impl Offered {
    /// A function with nothing said about it.
    #[must_use]
    pub fn function(name: impl Into<String>, input_schema: Value) -> Self {
        Self {
            name: name.into(),
            namespace: None,
            description: String::new(),
            input_schema,
            output_schema: None,
            form: CallForm::Function,
            stay: None,
            declaration: Declaration::Surface,
        }
    }

    /// Who owns it in a catalog.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.namespace.as_deref().unwrap_or(CLIENT)
    }

    /// The tool as a client tool of a catalog, direct-only where it must stay visible.
    ///
    /// # Errors
    /// [`IdError`] when it has no name.
    pub fn descriptor(&self) -> Result<ToolDescriptor, IdError> {
        let schema = self.input_schema.clone();
        let mut tool = ToolDescriptor::new(Source::Client, self.owner(), &self.name, schema)?;
        tool.description.clone_from(&self.description);
        tool.output_schema = self.output_schema.clone().map(Into::into);
        if self.stay.is_some() {
            tool.catalog_mode = toolsearch_catalog::CatalogMode::DirectOnly;
        }
        Ok(tool)
    }
}

/// Something that was not passed on as it came.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Note {
    /// Which entry, like `tools[3]`.
    pub at: String,
    /// What was done with it and why.
    pub what: String,
}

impl Note {
    pub(crate) fn new(at: impl Into<String>, what: impl Into<String>) -> Self {
        Self {
            at: at.into(),
            what: what.into(),
        }
    }
}

/// Everything that a request offers.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Offer {
    /// Tools that the client runs, in their order.
    pub tools: Vec<Offered>,
    /// Entries that go to the provider as they are: it runs them, or nobody here knows them.
    pub kept: Vec<Value>,
    /// What was translated or left out.
    pub notes: Vec<Note>,
    /// The last cache mark among the entries; it belongs behind the last declared tool.
    pub cache_control: Option<Value>,
}
