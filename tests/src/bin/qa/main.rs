//! Scenarios against a mock provider: `qa suite --provider-mode mock-openai --scenario NAME`.
//!
//! One line on standard output for everything that is asserted; the process ends with 1 when
//! something differs. The same binary is the command of the scenario's plugin, see `plugin`.

mod client;
mod lane;
mod plugin;
mod points;
mod provider;
mod proxy;
mod script;
mod tally;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::lane::{Lane, LaneKind};
use crate::provider::MockProvider;
use crate::tally::Tally;

/// The scenario that runs the product as an agent, and the proxy in each wire form and mode.
const SCENARIO: &str = "tool-search-gateway-e2e";
const SCENARIOS: [&str; 5] = [
    SCENARIO,
    "client-tools",
    "approval",
    "streaming",
    "resume-after-restart",
];
const PROVIDER_MODE: &str = "mock-openai";
const USAGE: &str = "\
usage: qa suite --provider-mode mock-openai --scenario NAME
scenarios: tool-search-gateway-e2e, client-tools, approval, streaming, resume-after-restart";

fn main() -> ExitCode {
    // The client lane runs programs in workers of this very binary.
    toolsearch::work_if_asked();
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [plugin::ACT, effects @ ..] => plugin::act(effects.first().copied()).map(|()| true),
        ["suite", options @ ..] => match check_options(options) {
            Ok(name) => scenario(name),
            Err(error) => {
                complain(&format!("{error}\n{USAGE}"));
                return ExitCode::from(2);
            }
        },
        _ => {
            complain(USAGE);
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            complain(&format!("error: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The scenario that is asked for.
fn check_options(options: &[&str]) -> Result<&'static str> {
    let mut scenario = SCENARIO;
    let mut rest = options.iter();
    while let Some(option) = rest.next() {
        let value = *rest
            .next()
            .with_context(|| format!("{option} needs a value"))?;
        match (*option, value) {
            ("--provider-mode", PROVIDER_MODE) => {}
            ("--provider-mode", other) => bail!("no provider mode is named `{other}`"),
            ("--scenario", name) => {
                let known = SCENARIOS.into_iter().find(|known| *known == name);
                scenario = known.with_context(|| format!("no scenario is named `{name}`"))?;
            }
            (other, _) => bail!("`{other}` is not known here"),
        }
    }
    Ok(scenario)
}

/// Runs a scenario and asserts.
fn scenario(name: &str) -> Result<bool> {
    let binary = binary()?;
    let folder = tempfile::tempdir().context("cannot make a temporary folder")?;
    plugin::write(folder.path())?;
    let mut tally = Tally::default();
    let root = folder.path();
    match name {
        "client-tools" => proxy::client_tools(&binary, root, &mut tally)?,
        "approval" => proxy::approval(&binary, root, &mut tally)?,
        "streaming" => proxy::streaming(&binary, root, &mut tally)?,
        "resume-after-restart" => proxy::resume_after_restart(&binary, root, &mut tally)?,
        _ => {
            as_agent(&binary, root, &mut tally)?;
            proxy::end_to_end(&binary, root, &mut tally)?;
        }
    }
    let fine = tally.finish();
    if !fine {
        let kept = folder.keep();
        complain(&format!(
            "configuration and logs are kept in {}",
            kept.display()
        ));
    }
    Ok(fine)
}

/// Runs the product once direct and once in each mode, and the client lane; compares.
fn as_agent(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    let provider = MockProvider::start()?;
    let direct = Lane::run(LaneKind::Direct, binary, root, &provider)?;
    for kind in [LaneKind::Code, LaneKind::Tools, LaneKind::Directory] {
        let lane = Lane::run(kind, binary, root, &provider)?;
        points::check(&direct, &lane, tally);
    }
    for mode in [client::ClientMode::Code, client::ClientMode::Directory] {
        client::check(mode, root, &provider, tally)?;
    }
    Ok(())
}

/// The binary under test: `$TOOLSEARCH_BIN`, else the one that was built beside this one.
fn binary() -> Result<PathBuf> {
    let beside = || {
        let own = std::env::current_exe()?;
        anyhow::Ok(own.with_file_name("toolsearch"))
    };
    let path = match std::env::var_os("TOOLSEARCH_BIN") {
        Some(path) => PathBuf::from(path),
        None => beside()?,
    };
    if !path.is_file() {
        bail!(
            "{} is not there; build it with `cargo build -p toolsearch-cli`, or run `cargo xtask qa`",
            path.display()
        );
    }
    Ok(path)
}

#[expect(clippy::print_stderr, reason = "a program speaks to its caller")]
fn complain(text: &str) {
    eprintln!("{text}");
}
