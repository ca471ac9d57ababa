//! Verbs that drive the built product: scenarios, measurements, evaluation.

use anyhow::{Result, bail};

use crate::context::Context;
use crate::shell;

/// `cargo xtask qa ARGS...`: builds the product and the scenario runner, then runs it.
pub(crate) fn qa(context: &Context, args: &[String]) -> Result<()> {
    let mut build = context.cargo();
    build
        .args([
            "build",
            "--package",
            "toolsearch-cli",
            "--package",
            "toolsearch-it",
            "--bins",
        ])
        .args(context.locked());
    shell::run(&mut build)?;
    qa_built(context, args)
}

/// Runs the scenario runner that an earlier step has built.
pub(crate) fn qa_built(context: &Context, args: &[String]) -> Result<()> {
    let mut command = context.command(context.built("debug", "qa"));
    context.announce(&mut command, "debug");
    shell::run(command.args(args))
}

/// `cargo xtask bench NAME`: measurements mean something only on a release build.
pub(crate) fn bench(context: &Context, args: &[String]) -> Result<()> {
    if args.is_empty() {
        bail!("`cargo xtask bench` needs the name of a benchmark, e.g. `cargo xtask bench plan`");
    }
    if args[0] == "search" {
        return bench_search(context, &args[1..]);
    }
    let mut build = context.cargo();
    build
        .args([
            "build",
            "--release",
            "--package",
            "toolsearch-cli",
            "--package",
            "toolsearch-it",
        ])
        .arg("--bins")
        .args(context.locked());
    shell::run(&mut build)?;
    let mut command = context.command(context.built("release", "bench"));
    context.announce(&mut command, "release");
    shell::run(command.args(args))
}

/// `cargo xtask bench search ARGS...`: beside other search engines, in a package that nothing else builds.
fn bench_search(context: &Context, args: &[String]) -> Result<()> {
    let mut run = context.cargo();
    run.args(["run", "--release", "--manifest-path"])
        .arg(context.root.join("bench-search/Cargo.toml"))
        .env("CARGO_TARGET_DIR", context.target.join("bench-search"))
        .args(context.locked())
        .arg("--")
        .args(args);
    shell::run(&mut run)
}

/// `cargo xtask eval ARGS...`: measures how well the product's ranker finds tools.
pub(crate) fn eval(context: &Context, args: &[String]) -> Result<()> {
    let mut run = context.cargo();
    run.args(["run", "--release", "--package", "toolsearch-eval"])
        .args(["--example", "retrieval"])
        .args(context.locked())
        .arg("--")
        .args(args);
    shell::run(&mut run)
}

/// Builds the release binary.
pub(crate) fn release_binary(context: &Context) -> Result<()> {
    let mut build = context.cargo();
    build
        .args(["build", "--release", "--package", "toolsearch-cli"])
        .args(context.locked());
    shell::run(&mut build)
}
