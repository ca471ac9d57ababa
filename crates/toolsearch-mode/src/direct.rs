//! No mode at all: every tool is declared with its schema.

use crate::contract::{ControlCall, Decoding, Mode, Rendered};
use crate::control::Control;
use crate::failure::Failure;
use crate::render;
use crate::request::Request;
use crate::response::Response;
use crate::surface::{Surface, View};

/// Shows every tool directly and declares no control. The null object of [`Mode`], and what small
/// catalogs use.
#[derive(Debug, Clone, Copy, Default)]
pub struct Direct;

impl Mode for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn controls(&self) -> &'static [Control] {
        &[]
    }

    fn keeps_client_tools(&self) -> bool {
        true
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        let mut all: Vec<_> = view.direct.to_vec();
        all.extend(view.catalog.entries().iter().cloned());
        all.sort_by(|a, b| a.id.cmp(&b.id));
        all.dedup_by(|a, b| a.id == b.id);
        let view = View {
            direct: &all,
            likely: &[],
            ..*view
        };
        Surface::assemble(Vec::new(), &view, String::new())
    }

    fn decode(&self, _: &ControlCall, _: &Decoding<'_>) -> Result<Request, Failure> {
        Err(Failure::input(
            "There are no controls here; call the tools by their own names.",
        ))
    }

    fn encode(&self, _: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        render::structured(response, &render::Speech::direct(), decoding.limits)
    }
}
