//! Real MCP servers for the tests, installed from the lock files in `tests/real-servers`.
//!
//! Node servers go to `target/real-servers/node`, Python servers and the Python SDK to
//! `target/real-servers/venv`. Each half keeps a stamp (the lock file and the interpreter's
//! version); while it matches, nothing is installed again.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use crate::args::Args;
use crate::context::{Context, Missing};
use crate::{packages, shell};

/// Programs that must exist after the installation, relative to `target/real-servers`.
const NODE_PROGRAMS: [&str; 4] = [
    "node/node_modules/.bin/mcp-server-everything",
    "node/node_modules/.bin/mcp-server-filesystem",
    "node/node_modules/.bin/mcp-server-memory",
    "node/node_modules/.bin/mcp-server-sequential-thinking",
];
const PYTHON_PROGRAMS: [&str; 3] = [
    "venv/bin/mcp-server-git",
    "venv/bin/mcp-server-time",
    "venv/bin/python",
];

/// `cargo xtask servers`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    Args::new("servers", args).finish()?;
    let home = ensure(context)?;
    println!("TOOLSEARCH_REAL_SERVERS={}", home.display());
    Ok(())
}

/// Folder with all servers, installed first where a lock file or an interpreter has changed.
pub(crate) fn ensure(context: &Context) -> Result<PathBuf> {
    let home = context.real_servers();
    let locks = context.root.join("tests").join("real-servers");
    node(context, &locks, &home)?;
    python(context, &locks, &home)?;
    // mcp-server-git works on repositories through the `git` command.
    require(
        context,
        "git",
        "install git with the system's package manager",
    )?;
    Ok(home)
}

fn node(context: &Context, locks: &Path, home: &Path) -> Result<()> {
    let hint = "install Node.js 20 or later, which brings npm";
    let node = require(context, "node", hint)?;
    require(context, "npm", hint)?;
    let lock = locks.join("package-lock.json");
    let half = Half {
        home,
        folder: home.join("node"),
        stamp: stamp(&lock, &node)?,
    };
    if half.is_current(&NODE_PROGRAMS) {
        return Ok(());
    }
    half.clear()?;
    packages::npm(
        context,
        locks,
        &half.folder,
        "the Node MCP servers could not be installed from the npm registry",
    )?;
    half.finish(&NODE_PROGRAMS)
}

fn python(context: &Context, locks: &Path, home: &Path) -> Result<()> {
    let python = require(
        context,
        &packages::python(),
        "install Python 3.11 or later with venv, or set PYTHON",
    )?;
    let lock = locks.join("requirements.lock");
    let half = Half {
        home,
        folder: home.join("venv"),
        stamp: stamp(&lock, &python)?,
    };
    if half.is_current(&PYTHON_PROGRAMS) {
        return Ok(());
    }
    half.clear()?;
    let python = packages::venv(context, &half.folder)?;
    let mut pip = packages::pip(context, &python);
    pip.args([
        "--no-deps",
        "--require-hashes",
        "--only-binary",
        ":all:",
        "--requirement",
    ])
    .arg(&lock);
    shell::run(&mut pip).context(Missing::of(
        "the Python MCP servers could not be installed from PyPI; they need Python 3.11 or later",
    ))?;
    half.finish(&PYTHON_PROGRAMS)
}

/// One of the two installations and the text that identifies its state.
#[derive(Debug)]
struct Half<'a> {
    home: &'a Path,
    folder: PathBuf,
    stamp: String,
}

impl Half<'_> {
    fn stamp_file(&self) -> PathBuf {
        self.folder.with_extension("stamp")
    }

    fn is_current(&self, programs: &[&str]) -> bool {
        fs::read_to_string(self.stamp_file()).is_ok_and(|found| found == self.stamp)
            && self.missing(programs).is_none()
    }

    fn missing<'p>(&self, programs: &[&'p str]) -> Option<&'p str> {
        programs
            .iter()
            .copied()
            .find(|program| !self.home.join(program).exists())
    }

    fn clear(&self) -> Result<()> {
        if self.stamp_file().exists() {
            fs::remove_file(self.stamp_file())?;
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder)?;
        }
        Ok(())
    }

    fn finish(&self, programs: &[&str]) -> Result<()> {
        if let Some(program) = self.missing(programs) {
            bail!("the installation succeeded but left no {program}: check the lock file");
        }
        fs::write(self.stamp_file(), &self.stamp)?;
        Ok(())
    }
}

/// The whole lock file and the interpreter's version: nothing else decides what gets installed.
fn stamp(lock: &Path, interpreter: &str) -> Result<String> {
    let text = fs::read_to_string(lock)
        .with_context(|| format!("could not read the lock file {}", lock.display()))?;
    Ok(format!("{}\n{text}", interpreter.trim()))
}

/// `PROGRAM --version`, or an error that says how to get the program.
fn require(context: &Context, program: &str, hint: &str) -> Result<String> {
    shell::output(context.command(program).arg("--version"))
        .with_context(|| Missing(format!("the real MCP servers need `{program}`: {hint}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_lock_or_a_missing_program_makes_a_half_stale() {
        let home = std::env::temp_dir().join(format!("xtask-servers-{}", std::process::id()));
        fs::create_dir_all(home.join("node")).unwrap();
        let half = |stamp: &str| Half {
            home: &home,
            folder: home.join("node"),
            stamp: stamp.to_owned(),
        };
        assert!(!half("one").is_current(&["node/program"]));
        assert!(half("one").finish(&["node/program"]).is_err());
        fs::write(home.join("node/program"), "").unwrap();
        half("one").finish(&["node/program"]).unwrap();
        assert!(half("one").is_current(&["node/program"]));
        assert!(!half("two").is_current(&["node/program"]));
        half("one").clear().unwrap();
        assert!(!half("one").is_current(&["node/program"]));
        fs::remove_dir_all(&home).unwrap();
    }
}
