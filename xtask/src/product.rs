//! Verbs that drive the built product: scenarios, measurements, evaluation.

use anyhow::{Result, bail};

use crate::context::Context;
use crate::{packages, shell};

/// Other gateways and their versions.
const PEERS: [&str; 2] = ["fastmcp==4.2.3", "mcp-compressor==0.38.2"];

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
        .args(["build", "--release", "--package", "toolsearch-it", "--bins"])
        .args(context.locked());
    shell::run(&mut build)?;
    // By itself, as people build it: beside the tests its dependencies have features of theirs too.
    release_binary(context)?;
    let mut command = context.command(context.built("release", "bench"));
    context.announce(&mut command, "release");
    if args[0] == "gateway" {
        command.env("TOOLSEARCH_BENCH_PEERS", peers(context)?);
    }
    shell::run(command.args(args))
}

/// Other gateways to measure beside ours, from PyPI: how each is started in front of one server, and
/// how the tool `echo` is called there.
fn peers(context: &Context) -> Result<String> {
    let home = context.target.join("bench-peers");
    let bin = home.join("bin");
    let mut python = packages::interpreter(&home);
    if !python.exists() {
        python = packages::venv(context, &home)?;
    }
    let mut pip = packages::pip(context, &python);
    shell::run(pip.args(PEERS))?;
    let (fastmcp, compressor) = (bin.join("fastmcp"), bin.join("mcp-compressor"));
    let list = format!(
        r#"[{{"name": {:?}, "stdio": [{fastmcp:?}, "run", "{{config}}", "--no-banner"],
             "http": [{fastmcp:?}, "run", "{{config}}", "--no-banner",
                      "--transport", "http", "--port", "{{port}}"],
             "tool": "echo"}},
            {{"name": {:?}, "stdio": [{compressor:?}, "--config", "{{config}}"],
             "http": [{compressor:?}, "--config", "{{config}}",
                      "--transport", "streamable-http", "--port", "{{port}}"],
             "tool": "invoke_tool",
             "arguments": {{"tool_name": "echo", "tool_input": {{"text": "hello"}}}}}}]"#,
        PEERS[0], PEERS[1]
    );
    Ok(list)
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
