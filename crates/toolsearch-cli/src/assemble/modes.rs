//! Modes and engines by their words in the configuration.

use std::sync::Arc;

use toolsearch::Engines;
use toolsearch::mode::{
    Control, ControlCall, Decoding, Failure, Mode, Rendered, Request, Response, Surface, View,
};
use toolsearch::mode_code::CodeMode;
use toolsearch::mode_directory::DirectoryMode;
use toolsearch::mode_tools::ToolsMode;
use toolsearch::sandbox::Engine;
use toolsearch_config::{Effective, EngineChoice, Sandbox, SearchMode};

use super::SharedMode;

/// The mode of the settings in force.
pub(crate) fn mode(effective: &Effective) -> SharedMode {
    match effective.mode.value {
        SearchMode::Tools => Arc::new(ToolsMode),
        SearchMode::Directory => directory(effective),
        _ => Arc::new(CodeMode),
    }
}

/// Mode `directory` with as many likely schemas as the settings say.
pub(crate) fn directory(effective: &Effective) -> SharedMode {
    let likely = usize::try_from(effective.likely_schemas.value).unwrap_or(usize::MAX);
    Arc::new(DirectoryMode::with_likely(likely))
}

/// Mode `code` for measuring: its surface, whether or not programs can be run here. Nothing is
/// called through it.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct CodeSurface;

impl Mode for CodeSurface {
    fn name(&self) -> &'static str {
        CodeMode.name()
    }

    fn controls(&self) -> &'static [Control] {
        CodeMode.controls()
    }

    fn needs_engine(&self) -> bool {
        false
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        CodeMode.surface(view)
    }

    fn decode(&self, call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure> {
        CodeMode.decode(call, decoding)
    }

    fn encode(&self, request: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        CodeMode.encode(request, response, decoding)
    }
}

/// What runs programs, behind the walls that the settings ask for. Nothing is started before the first check
/// or run.
pub(crate) fn engine(choice: EngineChoice, sandbox: &Sandbox) -> Arc<dyn Engine> {
    let mut engines = Engines::default();
    engines.require.clone_from(&sandbox.require);
    match choice {
        EngineChoice::Node => engines.node(),
        EngineChoice::Quickjs => engines.quickjs(),
        _ => engines.auto(),
    }
}
