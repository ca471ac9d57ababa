//! `cargo xtask test`: builds the binary, then runs the tests with nextest.
//!
//! Which tests belong to the real-server group stands in `.config/nextest.toml`: the default
//! profile leaves them out, the profile `real` runs nothing else.

use std::env;
use std::path::PathBuf;
use std::process::Command;

use anyhow::Result;

use crate::args::Args;
use crate::context::Context;
use crate::{servers, shell, tools};

/// Names a folder of captured tool lists to the tests.
const CAPTURED: &str = "TOOLSEARCH_CAPTURED";

/// `cargo xtask test [--real] [FILTER...]`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let mut args = Args::new("test", args);
    let real = args.switch("--real");
    let filters = args.positional()?;
    build_binary(context)?;
    let mut command = nextest(context, "default")?;
    shell::run(command.args(&filters))?;
    if real {
        servers::ensure(context)?;
        let mut command = nextest(context, "real")?;
        shell::run(command.args(&filters))?;
    }
    Ok(())
}

/// Builds the binary `toolsearch` that integration tests start.
pub(crate) fn build_binary(context: &Context) -> Result<()> {
    let mut command = context.cargo();
    shell::run(
        command
            .args(["build", "--package", "toolsearch-cli"])
            .args(context.locked()),
    )
}

/// A nextest run over the workspace with one of the profiles of `.config/nextest.toml`.
pub(crate) fn nextest(context: &Context, profile: &str) -> Result<Command> {
    let program = tools::NEXTEST.ensure(context)?;
    let mut command = context.command(program);
    command
        .args(["nextest", "run", "--workspace", "--profile", profile])
        .args(context.locked());
    context.announce(&mut command, "debug");
    if let Some(folder) = captured_lists(context) {
        command.env(CAPTURED, folder);
    }
    Ok(command)
}

/// Captured tool lists of real servers beside the project, where present. They are not ours to
/// publish; without them the tests over them say so and pass.
fn captured_lists(context: &Context) -> Option<PathBuf> {
    if env::var_os(CAPTURED).is_some() {
        return None;
    }
    let folder = context.root.parent()?.join("shared/data/captured");
    folder.is_dir().then_some(folder)
}
