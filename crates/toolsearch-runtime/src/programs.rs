//! How the programs of one session are run, and who watches them.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use toolsearch_catalog::ToolId;
use toolsearch_sandbox::{Engine, LogLine};

/// Sees what a program does while it runs. Called from the task that runs it; must not block.
pub trait Watcher: fmt::Debug + Send + Sync {
    /// A line that is certain to be among the logs of the answer.
    fn logged(&self, line: &LogLine) {
        let _ = line;
    }

    /// A search ended, with so many hits.
    fn searched(&self, queries: &[String], hits: usize) {
        let _ = (queries, hits);
    }

    /// A call of a tool ended.
    fn called(&self, tool: &ToolId, ok: bool) {
        let _ = (tool, ok);
    }
}

/// What is other for the programs of one session than the runtime says.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Programs {
    /// What runs them.
    pub engine: Option<Arc<dyn Engine>>,
    /// Their wall clock.
    pub wall: Option<Duration>,
    /// Who watches them.
    pub watcher: Option<Arc<dyn Watcher>>,
}

impl Programs {
    pub(crate) fn watch(&self, tell: impl FnOnce(&dyn Watcher)) {
        if let Some(watcher) = &self.watcher {
            tell(watcher.as_ref());
        }
    }
}
