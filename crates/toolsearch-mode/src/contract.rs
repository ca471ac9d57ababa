//! The contract of a mode.

use std::fmt;
use std::sync::Arc;

use serde_json::{Map, Value};
use toolsearch_catalog::{Block, text_block};

use crate::control::{Control, ControlNames, SearchLimits};
use crate::failure::Failure;
use crate::request::Request;
use crate::response::Response;
use crate::surface::{Surface, View};

/// A call of a control as the model made it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ControlCall {
    /// Which control.
    pub control: Control,
    /// The arguments: an object, or whatever the model sent in its place.
    pub arguments: Value,
}

impl ControlCall {
    /// A call of a control.
    #[must_use]
    pub const fn new(control: Control, arguments: Value) -> Self {
        Self { control, arguments }
    }
}

/// What reading a control call needs to know.
#[derive(Clone, Copy)]
pub struct Decoding<'a> {
    /// What the controls are called, for messages.
    pub names: &'a ControlNames,
    /// How much a search may ask for.
    pub limits: &'a SearchLimits,
    /// Whether a text names a tool of this session.
    pub is_tool: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for Decoding<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decoding")
            .field("limits", self.limits)
            .finish_non_exhaustive()
    }
}

/// What a model, or its client, reads as the answer to a call.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Rendered {
    /// Content blocks in order.
    pub content: Vec<Block>,
    /// The structured value of a called tool, as the tool gave it.
    pub structured: Option<Arc<Value>>,
    /// Whether the call failed.
    pub is_error: bool,
    /// `_meta` of the answer.
    pub meta: Option<Map<String, Value>>,
}

impl Rendered {
    /// One text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            content: vec![text_block(text)],
            ..Self::default()
        }
    }

    /// One text block that says what failed.
    #[must_use]
    pub fn error(text: impl Into<String>) -> Self {
        Self {
            is_error: true,
            ..Self::text(text)
        }
    }

    /// All text blocks joined by newlines.
    #[must_use]
    pub fn joined_text(&self) -> String {
        let text = |block: &Block| block.get("text").and_then(Value::as_str).map(str::to_owned);
        self.content
            .iter()
            .filter_map(text)
            .collect::<Vec<_>>()
            .join("\n")
    }
}

/// A way to show a catalog to a model.
///
/// Every method is pure: equal inputs give equal bytes, in any process. A mode never sees who asks,
/// runs nothing, and must not put text of untrusted tools into [`Surface::prompt`] other than
/// sanitised names.
pub trait Mode: fmt::Debug + Send + Sync {
    /// The word of the configuration: `code`, `tools`, `directory`, `direct`.
    fn name(&self) -> &'static str;

    /// The controls that this mode declares. Without all of them the mode cannot be used, and the
    /// runtime shows tools directly instead.
    fn controls(&self) -> &'static [Control];

    /// Whether the mode runs programs and so needs a code engine.
    fn needs_engine(&self) -> bool {
        self.controls().contains(&Control::Code)
    }

    /// Whether client tools stay visible instead of going into the catalog.
    fn keeps_client_tools(&self) -> bool {
        false
    }

    /// How many likely schemas the mode can show.
    fn likely_schemas(&self) -> usize {
        0
    }

    /// What the model sees.
    fn surface(&self, view: &View<'_>) -> Surface;

    /// Reads a control call.
    ///
    /// # Errors
    /// [`Failure`] with code `invalid_input` that says which field is wrong and what is expected.
    fn decode(&self, call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure>;

    /// Puts an answer into what the model reads.
    fn encode(&self, request: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered;
}

impl<T: Mode + ?Sized> Mode for Arc<T> {
    fn name(&self) -> &'static str {
        T::name(self)
    }

    fn controls(&self) -> &'static [Control] {
        T::controls(self)
    }

    fn needs_engine(&self) -> bool {
        T::needs_engine(self)
    }

    fn keeps_client_tools(&self) -> bool {
        T::keeps_client_tools(self)
    }

    fn likely_schemas(&self) -> usize {
        T::likely_schemas(self)
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        T::surface(self, view)
    }

    fn decode(&self, call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure> {
        T::decode(self, call, decoding)
    }

    fn encode(&self, request: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        T::encode(self, request, response, decoding)
    }
}
