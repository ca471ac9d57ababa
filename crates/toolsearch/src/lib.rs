//! The facade: every library crate of the workspace under a short name, and [`recommended`], the
//! parts that the program `toolsearch` itself is built from.
//!
//! Nothing is decided here that cannot be decided otherwise: [`recommended`] fills in the same
//! public fields of [`runtime::Components`] that a caller may fill in by hand. Not here: reading
//! files, starting servers, talking to models.

use std::sync::Arc;

pub use toolsearch_catalog as catalog;
pub use toolsearch_invoke as invoke;
pub use toolsearch_mode as mode;
pub use toolsearch_mode_code as mode_code;
pub use toolsearch_mode_directory as mode_directory;
pub use toolsearch_mode_tools as mode_tools;
pub use toolsearch_policy as policy;
pub use toolsearch_runtime as runtime;
pub use toolsearch_sandbox as sandbox;
pub use toolsearch_sandbox_node as sandbox_node;
pub use toolsearch_sandbox_process as sandbox_process;
pub use toolsearch_sandbox_quickjs as sandbox_quickjs;
pub use toolsearch_schema as schema;
pub use toolsearch_search as search;
pub use toolsearch_search_bm25 as search_bm25;
pub use toolsearch_telemetry as telemetry;

use toolsearch_mode_code::CodeMode;
use toolsearch_mode_tools::ToolsMode;
use toolsearch_runtime::Components;
use toolsearch_sandbox::{Engine, FirstOf, NoEngine};
use toolsearch_sandbox_node::Node;
use toolsearch_sandbox_process::{Options, ProcessEngine, Worker, is_worker, worker_main};
use toolsearch_sandbox_quickjs::{NAME, QuickJs};
use toolsearch_search::ExactFirst;
use toolsearch_search_bm25::Bm25;

/// The parts that suit most programs: exact names before ranked words, mode `code` with the three
/// structured controls to fall back on, and programs run by [`auto_engine`]. Policy allows
/// everything, nobody is asked and nothing is recorded until the caller sets those fields.
///
/// ```
/// use toolsearch::runtime::{Options, Runtime};
///
/// toolsearch::work_if_asked();
/// let runtime = Runtime::new(toolsearch::recommended(), Options::default())?;
/// # Ok::<(), toolsearch::runtime::Misconfigured>(())
/// ```
#[must_use]
pub fn recommended() -> Components {
    recommended_with(auto_engine())
}

/// The same with another engine, such as [`sandbox::NoEngine`] where no program may ever run.
#[must_use]
pub fn recommended_with(engine: Arc<dyn Engine>) -> Components {
    let mut parts = Components::default();
    parts.ranker = Arc::new(ExactFirst(Bm25::default()));
    parts.mode = Arc::new(CodeMode);
    parts.fallback = Arc::new(ToolsMode);
    parts.engine = engine;
    parts
}

/// QuickJS in locked-down processes of this very binary, whose `main` must call [`work_if_asked`]
/// before anything else. Starts nothing yet. Where the path of the binary is unknown there is no
/// engine, and mode `code` falls back.
#[must_use]
pub fn process_engine() -> Arc<dyn Engine> {
    Engines::default().quickjs()
}

/// The Node of this machine in locked-down processes, started by this very binary, whose `main` must call
/// [`work_if_asked`] before anything else. Starts nothing yet and keeps nothing warm: a waiting Node is
/// large. Its check tells when there is no Node, or not every wall that it needs.
#[must_use]
pub fn node_engine() -> Arc<dyn Engine> {
    Engines::default().node()
}

/// [`process_engine`] where it can be used, else [`node_engine`].
#[must_use]
pub fn auto_engine() -> Arc<dyn Engine> {
    Engines::default().auto()
}

/// The engines of this binary, with a say in how strong their walls must be. What a wall covers, and which
/// stand on this machine, [`Engine::inspect`] tells.
///
/// ```
/// let mut engines = toolsearch::Engines::default();
/// engines.require = Some(vec!["seccomp".to_owned(), "landlock".to_owned()]);
/// let parts = toolsearch::recommended_with(engines.auto());
/// ```
#[non_exhaustive]
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Engines {
    /// Names of walls without which no program is run, such as `landlock`. Absent: `no_new_privs` and
    /// `seccomp` on Linux, none elsewhere. Node asks for all of its walls in any case.
    pub require: Option<Vec<String>>,
}

impl Engines {
    /// See [`process_engine`].
    #[must_use]
    pub fn quickjs(&self) -> Arc<dyn Engine> {
        self.in_worker(|worker, options| ProcessEngine::with_options(NAME, worker, options))
    }

    /// See [`node_engine`].
    #[must_use]
    pub fn node(&self) -> Arc<dyn Engine> {
        self.in_worker(|worker, mut options| {
            options.warm = 0;
            ProcessEngine::external(Arc::new(Node::new()), worker, options)
        })
    }

    /// See [`auto_engine`].
    #[must_use]
    pub fn auto(&self) -> Arc<dyn Engine> {
        Arc::new(FirstOf::new(vec![self.quickjs(), self.node()]))
    }

    fn in_worker(&self, make: impl FnOnce(Worker, Options) -> ProcessEngine) -> Arc<dyn Engine> {
        let mut options = Options::default();
        if let Some(require) = &self.require {
            options.required.clone_from(require);
        }
        match Worker::current_exe() {
            Ok(worker) => Arc::new(make(worker, options)),
            Err(_) => Arc::new(NoEngine),
        }
    }
}

/// Makes this process the worker of [`process_engine`] or [`node_engine`] when it was started as one, and then never
/// returns. Belongs first in `main`: before threads, logging and configuration.
pub fn work_if_asked() {
    if is_worker() {
        worker_main(QuickJs::new());
    }
}
