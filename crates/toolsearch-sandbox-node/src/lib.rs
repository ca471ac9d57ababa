//! The Node of this machine as an engine: an [`External`] guest.
//!
//! Here is which Node is used, how it is started, and the program that it runs (`runner.js`). Not here: the
//! process and its walls, the host's side of the conversation, the wall clock.

mod probe;

use std::path::PathBuf;

use toolsearch_sandbox::{
    External, Launch, RunError, Unsupported,
    javascript::{self, PRELUDE, Thrown},
};

/// The name this engine goes by.
pub const NAME: &str = "node";

const RUNNER: &str = include_str!("runner.js");

/// Megabytes of heap. Everything else that Node allocates is bounded by the address space.
const HEAP_MIB: u32 = 64;

/// Below this Node does not start.
const ADDRESS_SPACE: u64 = 1 << 30;

/// The Node of this machine.
#[derive(Debug, Clone, Default)]
pub struct Node {
    program: Option<PathBuf>,
}

impl Node {
    /// The `node` that the `PATH` finds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// This binary.
    #[must_use]
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self {
            program: Some(program.into()),
        }
    }
}

impl External for Node {
    fn name(&self) -> &str {
        NAME
    }

    fn required(&self) -> &[&str] {
        &[
            "no_new_privs",
            "landlock",
            "rlimits",
            "seccomp",
            "permission",
        ]
    }

    fn launch(&self) -> Result<Launch, Unsupported> {
        let named = self.program.clone();
        let found = probe::probe(&named.unwrap_or_else(|| PathBuf::from("node")))?;
        let mut arguments: Vec<String> = [
            found.permission,
            "--disallow-code-generation-from-strings",
            "--no-addons",
            "--no-warnings",
            "--unhandled-rejections=none",
            "--max-semi-space-size=2",
            // Helping threads would each reserve a part of the address space.
            "--v8-pool-size=0",
            "--stack-size=500",
            "--disable-wasm-trap-handler",
            // It may not read that of the machine, and would complain.
            "--openssl-config=/nonexistent",
        ]
        .map(str::to_owned)
        .into();
        arguments.push(format!("--max-old-space-size={HEAP_MIB}"));
        arguments.extend(["-e".to_owned(), runner(), "--".to_owned()]);
        let mut launch = Launch::new(found.program, arguments);
        launch.files.extend(found.libraries);
        launch.address_space = ADDRESS_SPACE;
        Ok(launch)
    }

    fn source(&self, source: &str) -> String {
        javascript::normalize(source).text
    }

    fn explain(&self, source: &str, thrown: &Thrown) -> RunError {
        let normalized = javascript::normalize(source);
        javascript::read(thrown, &normalized, normalized.shift)
    }
}

/// The runner with everything that it cannot read from a file.
fn runner() -> String {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    format!(
        "({RUNNER})({}, {}, {})",
        text(PRELUDE),
        text(javascript::FILE),
        toolsearch_sandbox::PROTOCOL
    )
}

#[cfg(test)]
mod tests;
