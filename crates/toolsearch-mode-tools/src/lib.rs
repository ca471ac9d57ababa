//! Mode `tools`: search, describe and call as three structured controls, for models that should not
//! write code.

use toolsearch_mode::{
    Control, ControlCall, Decoding, Failure, Mode, Rendered, Request, Response, Surface, View,
    owner_hint, structured,
};

const OWNER_CHARS: usize = 200;

/// Three structured controls.
#[derive(Debug, Clone, Copy, Default)]
pub struct ToolsMode;

impl Mode for ToolsMode {
    fn name(&self) -> &'static str {
        "tools"
    }

    fn controls(&self) -> &'static [Control] {
        &structured::CONTROLS
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        let hint = owner_hint(view.owners, OWNER_CHARS);
        Surface::assemble(structured::controls(view, &hint), view, String::new())
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
