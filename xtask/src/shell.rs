//! Running other programs: echo the line, inherit the terminal, turn a bad exit into an error.

use std::ffi::OsStr;
use std::path::Path;
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
    let program = Path::new(command.get_program());
    // The path of the toolchain's cargo tells nothing; that of any other program may.
    let is_cargo = program.file_stem() == Some(OsStr::new("cargo"));
    let shown = if is_cargo {
        OsStr::new("cargo")
    } else {
        program.as_os_str()
    };
    std::iter::once(shown)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_can_be_typed_again() {
        let mut command = Command::new("/toolchain/bin/cargo");
        command.args(["run", "two words", ""]);
        assert_eq!(line_of(&command), "cargo run 'two words' ''");
    }

    #[test]
    fn a_bad_exit_and_a_missing_program_are_errors() {
        let error = run(Command::new("cargo").arg("--no-such-flag")).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("`cargo --no-such-flag` failed")
        );
        let error = output(&mut Command::new("no-such-program")).unwrap_err();
        assert_eq!(error.to_string(), "could not start `no-such-program`");
    }
}
