//! Mode `directory`: the three structured controls, a bounded list of names, and a few likely
//! schemas.
//!
//! Only names and, for tools that the operator vouches for, short descriptions go into the list;
//! both are stripped of characters that hide or reorder text.

mod list;

pub use list::{DIRECTORY_CHARS, directory, directory_budget};

use toolsearch_mode::{
    Control, ControlCall, Decoding, Failure, Mode, Rendered, Request, Response, Surface, View,
    structured,
};

/// Most likely schemas that can be shown.
pub const MAX_LIKELY: usize = 12;

/// The three controls, a directory, and likely schemas.
#[derive(Debug, Clone, Copy)]
pub struct DirectoryMode {
    likely: usize,
}

impl Default for DirectoryMode {
    /// Shows up to four likely schemas.
    fn default() -> Self {
        Self::with_likely(4)
    }
}

impl DirectoryMode {
    /// Shows up to `likely` schemas, at most [`MAX_LIKELY`].
    #[must_use]
    pub const fn with_likely(likely: usize) -> Self {
        Self {
            likely: if likely > MAX_LIKELY {
                MAX_LIKELY
            } else {
                likely
            },
        }
    }
}

impl Mode for DirectoryMode {
    fn name(&self) -> &'static str {
        "directory"
    }

    fn controls(&self) -> &'static [Control] {
        &structured::CONTROLS
    }

    fn keeps_client_tools(&self) -> bool {
        true
    }

    fn likely_schemas(&self) -> usize {
        self.likely
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        let likely = &view.likely[..view.likely.len().min(self.likely)];
        let mut view = *view;
        view.likely = likely;
        Surface::assemble(structured::controls(&view, ""), &view, directory(&view))
    }

    fn decode(&self, call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure> {
        structured::decode(call, decoding)
    }

    fn encode(&self, _: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        structured::encode(response, decoding)
    }
}

#[cfg(test)]
mod tests;
