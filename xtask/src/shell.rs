//! Running other programs: echo the line, inherit the terminal, turn a bad exit into an error.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

/// Runs a command with inherited output and fails unless it exits with 0.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let line = line_of(command);
    eprintln!("$ {line}");
    let status = command
        .stdin(Stdio::null())
        .status()
        .with_context(|| missing(command))?;
    if !status.success() {
        bail!("`{line}` failed with {status}");
    }
    Ok(())
}

/// Runs a command silently and returns its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let line = line_of(command);
    let output = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| missing(command))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("`{line}` failed with {}:\n{}", output.status, stderr.trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed bytes, not text"))
}

/// The command as a person would type it; arguments with blanks are quoted.
pub(crate) fn line_of(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(quoted)
        .collect::<Vec<_>>()
        .join(" ")
}

fn quoted(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("'{word}'")
    } else {
        word.into_owned()
    }
}

fn missing(command: &Command) -> String {
    format!(
        "could not start `{}`",
        command.get_program().to_string_lossy()
    )
}
