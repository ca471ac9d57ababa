//! What every command does, one module each.

mod agent;
mod approvals;
mod arguments;
mod call;
mod catalog;
mod completions;
mod config;
mod connect;
mod demo;
mod describe;
mod doctor;
mod estimate;
mod eval;
mod expectations;
mod lint;
mod mcp;
mod missing;
mod model;
mod pins;
mod policy;
mod preflight;
mod run;
mod search;
mod serve;
mod sessions;

use toolsearch::catalog::{Outcome, json_bytes};
use toolsearch::mode::Response;

use crate::assemble::{Assembled, Purpose};
use crate::cli::{CatalogCommand, Cli, Command};
use crate::fault::{Done, Fault};
use crate::output::Output;

/// Runs a command to its end.
pub(crate) async fn execute(cli: &Cli, output: &Output) -> Done {
    let common = &cli.common;
    match &cli.command {
        Command::Demo => demo::run(common, output).await,
        Command::Eval(args) => eval::run(args, common, output).await,
        Command::Serve(args) => serve::run(args, common, output).await,
        Command::Approvals(command) => approvals::run(command, common, output).await,
        Command::Pins(command) => pins::run(command, common, output).await,
        Command::Config(command) => config::run(command, common, output),
        Command::Sessions(command) => sessions::run(command, common, output).await,
        Command::Mcp(command) => mcp::run(command, common, output).await,
        Command::Model(command) => model::run(command, common, output).await,
        Command::Connect(args) => connect::run(args, common, output),
        Command::Doctor => doctor::run(common, output).await,
        Command::Completions(args) => completions::run(args.shell),
        Command::Catalog(CatalogCommand::Estimate) => estimate::run(common, output).await,
        on_tools => {
            let purpose = match on_tools {
                Command::Agent(_) => Purpose::Agent,
                Command::Policy(_) | Command::Preflight(_) => Purpose::Measuring,
                _ => Purpose::Command,
            };
            let assembled = Assembled::new(common, purpose, output)?;
            let done = on_catalog(on_tools, &assembled, output).await;
            assembled.close(output).await;
            done
        }
    }
}

/// The commands that work on one session.
async fn on_catalog(command: &Command, assembled: &Assembled, output: &Output) -> Done {
    match command {
        Command::Search(args) => search::run(args, assembled, output).await,
        Command::Describe(args) | Command::Catalog(CatalogCommand::Show(args)) => {
            describe::run(args, assembled, output).await
        }
        Command::Call(args) => call::run(args, assembled, output).await,
        Command::Run(args) => run::run(args, assembled, output).await,
        Command::Agent(args) => agent::run(args, assembled, output).await,
        Command::Policy(command) => policy::run(command, assembled, output).await,
        Command::Preflight(args) => preflight::run(args, assembled, output).await,
        Command::Catalog(CatalogCommand::Lint { strict }) => {
            lint::run(*strict, assembled, output).await
        }
        Command::Catalog(_) => catalog::list(assembled, output).await,
        _ => Err(Fault::failed("this command does not work on tools")),
    }
}

/// The failure of a response that is not what was asked for.
fn unexpected(response: Response) -> Fault {
    match response {
        Response::Failed(failure) => Fault::from(*failure),
        _ => Fault::failed("the answer does not fit the question"),
    }
}

/// A result for a person: its structured value, else its text, and a line for every other block.
fn outcome_text(outcome: &Outcome) -> String {
    let structured = outcome.structured.as_deref();
    let mut parts: Vec<String> = structured
        .and_then(|value| serde_json::to_string_pretty(value).ok())
        .into_iter()
        .collect();
    for block in &outcome.content {
        let kind = block.get("type").and_then(serde_json::Value::as_str);
        match (kind, block.get("text").and_then(serde_json::Value::as_str)) {
            (Some("text"), Some(_)) if structured.is_some() => {}
            (Some("text"), Some(text)) => parts.push(text.to_owned()),
            (kind, _) => parts.push(format!(
                "[{}, {} bytes]",
                kind.unwrap_or("unknown content"),
                json_bytes(block)
            )),
        }
    }
    parts.join("\n")
}
