//! Packages of npm and PyPI in folders below `target`, from lock files and pinned versions. Not here:
//! what they are for, and when they count as installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result};

use crate::context::{Context, Missing};
use crate::shell;

const MANIFESTS: [&str; 2] = ["package.json", "package-lock.json"];

/// Installs what the lock file in `locks` says into `home`.
pub(crate) fn npm(context: &Context, locks: &Path, home: &Path, why: &str) -> Result<()> {
    fs::create_dir_all(home)?;
    for file in MANIFESTS {
        let from = locks.join(file);
        fs::copy(&from, home.join(file))
            .with_context(|| format!("could not copy {}", from.display()))?;
    }
    let mut npm = context.command("npm");
    npm.args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"])
        .current_dir(home);
    shell::run(&mut npm).context(Missing::of(why))
}

/// The same, unless this very lock file was installed there before.
pub(crate) fn npm_once(context: &Context, locks: &Path, home: &Path, why: &str) -> Result<()> {
    let lock = fs::read_to_string(locks.join(MANIFESTS[1]))?;
    let stamp = home.join("installed.lock");
    if fs::read_to_string(&stamp).is_ok_and(|installed| installed == lock) {
        return Ok(());
    }
    npm(context, locks, home, why)?;
    fs::write(stamp, lock)?;
    Ok(())
}

/// The interpreter that makes virtual environments.
pub(crate) fn python() -> String {
    std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

/// Makes a virtual environment and gives its interpreter.
pub(crate) fn venv(context: &Context, folder: &Path) -> Result<PathBuf> {
    let mut venv = context.command(python());
    shell::run(venv.args(["-m", "venv"]).arg(folder)).context(Missing::of(
        "no virtual environment could be made; on Debian the package is python3-venv",
    ))?;
    Ok(interpreter(folder))
}

/// The interpreter of a virtual environment.
pub(crate) fn interpreter(folder: &Path) -> PathBuf {
    folder.join("bin").join("python")
}

/// `pip install` in the environment of an interpreter; what to install is added by the caller.
pub(crate) fn pip(context: &Context, python: &Path) -> Command {
    let mut pip = context.command(python);
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip
}
