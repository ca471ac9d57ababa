//! A folder of its own for every test: the configuration, the session logs, whatever servers write.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use super::program;

/// Where one test lives. The folder goes with the last of its twins.
pub(crate) struct Home {
    folder: Arc<TempDir>,
}

impl Home {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("state")).unwrap();
        Self {
            folder: Arc::new(folder),
        }
    }

    /// The same home, for whoever keeps one of its own.
    pub(crate) fn twin(&self) -> Self {
        Self {
            folder: Arc::clone(&self.folder),
        }
    }

    /// A path in the folder.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes the configuration: servers, and the value of `tools.toolSearch`.
    pub(crate) fn configure(&self, tool_search: &Value, servers: &Value) {
        let text = json!({ "tools": { "toolSearch": tool_search }, "mcpServers": servers });
        self.configure_text(&text.to_string());
    }

    /// Writes the configuration as it stands.
    pub(crate) fn configure_text(&self, text: &str) {
        fs::write(self.config(), text).unwrap();
    }

    pub(crate) fn config(&self) -> PathBuf {
        self.path("toolsearch.json5")
    }

    /// The program with this configuration and these arguments.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(program());
        command
            .arg("--config")
            .arg(self.config())
            .args(args)
            .current_dir(self.folder.path())
            .env("XDG_STATE_HOME", self.path("state"))
            .env("NO_COLOR", "1")
            .env_remove("RUST_LOG");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().unwrap()
    }

    /// The JSON document that the program prints for these arguments.
    pub(crate) fn document(&self, args: &[&str]) -> Value {
        document(&self.run(args), args)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }
}

/// The document on standard output, and nothing else there.
pub(crate) fn document(output: &Output, args: &[&str]) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(&text).unwrap_or_else(|error| {
        let complaint = String::from_utf8_lossy(&output.stderr);
        panic!("{args:?}: {error}\n{text}\n{complaint}")
    })
}
