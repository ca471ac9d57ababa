//! `cargo xtask fuzz`: what must hold for any input, over many of them.
//!
//! With a nightly compiler and `cargo-fuzz` the fuzz targets run, which are led by coverage. Everywhere else, CI
//! included, the program `fuzz-smoke` runs the same laws over inputs of a generator.

use std::process::{Command, Stdio};

use anyhow::Result;

use crate::args::Args;
use crate::context::Context;
use crate::shell;

/// Targets by the names that both ways know.
const TARGETS: [&str; 4] = ["frames", "source", "schema", "query"];

/// How long each target runs unless told otherwise.
const SECONDS: &str = "10";

/// `cargo xtask fuzz [--seconds N] [TARGET...]`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let mut args = Args::new("fuzz", args);
    let seconds = args.values("--seconds")?.pop();
    let seconds = seconds.unwrap_or_else(|| SECONDS.to_owned());
    let wanted = args.positional()?;
    if led_by_coverage(context) {
        for target in TARGETS {
            if wanted.is_empty() || wanted.iter().any(|name| name == target) {
                let mut command = context.command("cargo");
                command.args(["+nightly", "fuzz", "run", &format!("fuzz_{target}"), "--"]);
                shell::run(command.arg(format!("-max_total_time={seconds}")))?;
            }
        }
        return Ok(());
    }
    println!(
        "no nightly compiler with cargo-fuzz here: inputs of a generator, not led by coverage"
    );
    let mut build = context.cargo();
    build
        .args(["build", "--package", "toolsearch-it", "--bin", "fuzz-smoke"])
        .args(context.locked());
    shell::run(&mut build)?;
    smoke(context, &seconds, &wanted)
}

/// The step of `cargo xtask ci`, on what an earlier step has built.
pub(crate) fn smoke_built(context: &Context) -> Result<()> {
    smoke(context, SECONDS, &[])
}

fn smoke(context: &Context, seconds: &str, targets: &[String]) -> Result<()> {
    let mut command = context.command(context.built("debug", "fuzz-smoke"));
    shell::run(command.arg(seconds).args(targets))
}

fn led_by_coverage(context: &Context) -> bool {
    let mut command: Command = context.command("cargo");
    let output = command
        .args(["+nightly", "fuzz", "--version"])
        .stdin(Stdio::null())
        .output();
    output.is_ok_and(|output| output.status.success())
}
