//! The pinned command-line tools that the checks need, installed into `target/tools`.
//!
//! A tool that is already on `PATH` in the right version is used as it is. Installing is the only
//! part of the harness, besides Cargo itself and the real servers, that talks to a registry.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::args::Args;
use crate::context::{Context, Missing};
use crate::shell;

/// A command-line tool from crates.io.
#[derive(Debug)]
pub(crate) struct Tool {
    package: &'static str,
    binary: &'static str,
    version: &'static str,
    /// Whether another version on `PATH` will do as well.
    any_version: bool,
    /// Optimised builds take several times longer; only a tool that runs for long is worth it.
    optimised: bool,
}

/// Runs the tests.
pub(crate) const NEXTEST: Tool = Tool {
    package: "cargo-nextest",
    binary: "cargo-nextest",
    version: "0.9.143",
    any_version: true,
    optimised: true,
};

/// Checks licences, forbidden edges and sources of dependencies.
pub(crate) const DENY: Tool = Tool {
    package: "cargo-deny",
    binary: "cargo-deny",
    version: "0.20.2",
    any_version: false,
    optimised: false,
};

/// Finds spelling mistakes.
pub(crate) const TYPOS: Tool = Tool {
    package: "typos-cli",
    binary: "typos",
    version: "1.52.0",
    any_version: false,
    optimised: false,
};

const ALL: [&Tool; 3] = [&NEXTEST, &DENY, &TYPOS];

/// `cargo xtask tools`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    Args::new("tools", args).finish()?;
    for tool in ALL {
        let path = tool.ensure(context)?;
        println!("{} {}", tool.package, path.display());
    }
    Ok(())
}

impl Tool {
    /// Path of the tool, installed first where it is missing.
    pub(crate) fn ensure(&self, context: &Context) -> Result<PathBuf> {
        let home = context.target.join("tools");
        let installed =
            home.join("bin")
                .join(format!("{}{}", self.binary, std::env::consts::EXE_SUFFIX));
        if self.fits(&installed) {
            return Ok(installed);
        }
        let on_path = PathBuf::from(self.binary);
        if self.fits(&on_path) {
            return Ok(on_path);
        }
        self.install(context, &home).with_context(|| {
            Missing(format!(
                "{package} {version} is missing and could not be installed; to get it, run \
                 `cargo install --locked {package} --version {version}` where crates.io can be \
                 reached and put it on PATH",
                package = self.package,
                version = self.version,
            ))
        })?;
        Ok(installed)
    }

    /// Whether this program starts and says that it is the wanted version.
    fn fits(&self, program: &Path) -> bool {
        let output = Command::new(program)
            .arg("--version")
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output();
        output.is_ok_and(|output| {
            let text = String::from_utf8_lossy(&output.stdout);
            output.status.success() && (self.any_version || names_version(&text, self.version))
        })
    }

    fn install(&self, context: &Context, home: &Path) -> Result<()> {
        let build = context.target.join("tools-build");
        let mut command = context.cargo();
        command
            .args(["install", "--locked", "--force", "--root"])
            .arg(home)
            .args(["--version", self.version])
            .env("CARGO_TARGET_DIR", &build)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("CARGO_INCREMENTAL", "0");
        if !self.optimised {
            command.arg("--debug");
        }
        shell::run(command.arg(self.package))?;
        fs::remove_dir_all(&build).with_context(|| format!("could not remove {}", build.display()))
    }
}

/// Whether a `--version` line names exactly this version.
fn names_version(line: &str, version: &str) -> bool {
    line.split_whitespace().any(|word| word == version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_matched_as_a_whole_word() {
        assert!(names_version("typos-cli 1.52.0\n", "1.52.0"));
        assert!(!names_version("typos-cli 1.52.01\n", "1.52.0"));
        assert!(!names_version("", "1.52.0"));
    }

    #[test]
    fn a_program_that_does_not_exist_does_not_fit() {
        assert!(!TYPOS.fits(Path::new("/nonexistent/typos")));
    }
}
