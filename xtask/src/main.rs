//! The harness that people and CI drive: `cargo xtask VERB`.
//!
//! This file only reads the verb and hands the rest on. Nothing of the product lives in this
//! package, and the product never depends on it.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line harness talks to the terminal"
)]

mod alone;
mod args;
mod ci;
mod clients;
mod conformance;
mod context;
mod dist;
mod fuzz;
mod junit;
mod packages;
mod product;
mod servers;
mod shell;
mod test;
mod tidy;
mod tools;

use std::process::ExitCode;

use anyhow::{Result, bail};

use crate::context::Context;

const USAGE: &str = "\
cargo xtask VERB [ARGS]

checks
  ci [--keep-going] [--only STEP] [--skip STEP] [--list]
                     everything that must be green, in order, with a timed summary
  tidy [--root DIR]  layers, owners, call sites, module docs, file sizes, crate lists
  test [--real] [FILTER...]
                     build the binary and run the tests; --real adds those that need real servers
  check-alone [CRATE...]
                     every crate builds by itself, with each of its features

the product under load and under test
  qa ARGS...         scenarios against a mock provider, e.g.
                     qa suite --provider-mode mock-openai --scenario tool-search-gateway-e2e
  clients            Claude Code and Codex in front of the gateway, with a scripted model (large)
  conformance        the MCP conformance suite against both ends of a connection
  bench NAME         measurements on a release build; `bench search` beside other search engines
  fuzz [--seconds N] [TARGET...]
                     what must hold for any input, over many of them; each target for 10 s
  eval ARGS...       how well the ranker finds tools, e.g.
                     eval --baseline crates/toolsearch-eval/baseline.json

set-up and release
  tools              install the pinned command-line tools into target/tools
  servers            install the real MCP servers into target/real-servers from their lock files
  dist               release binary, licences, completions and checksums into target/dist
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn dispatch(args: &[String]) -> Result<()> {
    let Some((verb, rest)) = args.split_first() else {
        print!("{USAGE}");
        bail!("no verb given: pick one from the list above");
    };
    if matches!(verb.as_str(), "help" | "-h" | "--help") {
        print!("{USAGE}");
        return Ok(());
    }
    let context = Context::find()?;
    match verb.as_str() {
        "ci" => ci::run(&context, rest),
        "tidy" => tidy::run(&context, rest),
        "test" => test::run(&context, rest),
        "check-alone" => alone::run(&context, rest),
        "qa" => product::qa(&context, rest),
        "clients" => clients::run(&context, rest),
        "conformance" => conformance::run(&context, rest),
        "bench" => product::bench(&context, rest),
        "fuzz" => fuzz::run(&context, rest),
        "eval" => product::eval(&context, rest),
        "tools" => tools::run(&context, rest),
        "servers" => servers::run(&context, rest),
        "dist" => dist::run(&context, rest),
        other => {
            eprint!("{USAGE}");
            bail!("unknown verb `{other}`: pick one from the list above")
        }
    }
}
