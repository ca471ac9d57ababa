//! Where things are: the workspace root, the target folder, and whether this is a CI run.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context as _, Result};

/// Something that the harness needs and could not get; says how a person gets it.
#[derive(Debug)]
pub(crate) struct Missing(pub(crate) String);

impl Missing {
    /// From a fixed text.
    pub(crate) fn of(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Missing {}

/// The surroundings that every verb needs, found once at the start.
#[derive(Debug, Clone)]
pub(crate) struct Context {
    /// Folder of the root `Cargo.toml`.
    pub(crate) root: PathBuf,
    /// Cargo's target folder.
    pub(crate) target: PathBuf,
    /// `CI=true`: a missing tool is a failure instead of a note, and `Cargo.lock` must be current.
    pub(crate) ci: bool,
}

impl Context {
    /// Reads the surroundings from the environment that Cargo sets for `cargo xtask`.
    pub(crate) fn find() -> Result<Self> {
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = manifest_dir
            .parent()
            .context("the xtask package must sit one folder below the workspace root")?
            .to_path_buf();
        let target = env::var_os("CARGO_TARGET_DIR")
            .map_or_else(|| root.join("target"), |dir| root.join(PathBuf::from(dir)));
        let ci = env::var("CI").is_ok_and(|value| matches!(value.as_str(), "true" | "1"));
        Ok(Self { root, target, ci })
    }

    /// A cargo command in the workspace root.
    pub(crate) fn cargo(&self) -> Command {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        self.command(program)
    }

    /// Any command in the workspace root.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// `--locked` in CI, nothing on a developer's machine.
    pub(crate) fn locked(&self) -> &'static [&'static str] {
        if self.ci { &["--locked"] } else { &[] }
    }

    /// A binary that a `dev` or `release` build leaves in the target folder.
    pub(crate) fn built(&self, profile: &str, name: &str) -> PathBuf {
        let file = format!("{name}{}", env::consts::EXE_SUFFIX);
        self.target.join(profile).join(file)
    }

    /// Folder with the installed real MCP servers.
    pub(crate) fn real_servers(&self) -> PathBuf {
        self.target.join("real-servers")
    }

    /// Tells tests and scenarios where the built binary and the real servers are.
    pub(crate) fn announce(&self, command: &mut Command, profile: &str) {
        command.env("TOOLSEARCH_BIN", self.built(profile, "toolsearch"));
        let servers = self.real_servers();
        if servers.is_dir() {
            command.env("TOOLSEARCH_REAL_SERVERS", servers);
        }
    }
}
