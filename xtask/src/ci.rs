//! `cargo xtask ci`: everything that must be green, in order, with a timed summary.
//!
//! All steps share one target folder, one profile and one set of compiler flags, so that nothing
//! is compiled twice only because two steps disagree. Warnings become errors through the lint
//! level of the clippy and rustdoc runs, never through `RUSTFLAGS`, which would rebuild
//! every dependency.

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use crate::args::Args;
use crate::context::{Context, Missing};
use crate::junit::Totals;
use crate::{fuzz, product, servers, shell, test, tidy, tools};

/// The whole run from a clean clone on two cores must fit in here; the summary says when not.
const BUDGET: Duration = Duration::from_secs(45 * 60);

/// The scenarios that every change must leave green.
const QA: [&str; 5] = [
    "tool-search-gateway-e2e",
    "client-tools",
    "approval",
    "streaming",
    "resume-after-restart",
];

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn(&Context) -> Result<()>,
}

const STEPS: [Step; 12] = [
    Step {
        name: "fmt",
        what: "formatting",
        run: fmt,
    },
    Step {
        name: "tidy",
        what: "rules of this workspace",
        run: tidy::check_root,
    },
    Step {
        name: "typos",
        what: "spelling",
        run: typos,
    },
    Step {
        name: "clippy",
        what: "lints, warnings are errors",
        run: clippy,
    },
    Step {
        name: "deny",
        what: "licences, forbidden edges, sources",
        run: deny,
    },
    Step {
        name: "build",
        what: "every target once",
        run: build,
    },
    Step {
        name: "test",
        what: "unit and integration tests",
        run: test_all,
    },
    Step {
        name: "fuzz",
        what: "any input, ten seconds a target",
        run: fuzz::smoke_built,
    },
    Step {
        name: "doctest",
        what: "examples in the documentation",
        run: doctests,
    },
    Step {
        name: "doc",
        what: "documentation, warnings are errors",
        run: docs,
    },
    Step {
        name: "real",
        what: "tests against real MCP servers",
        run: real,
    },
    Step {
        name: "qa",
        what: "end-to-end scenario",
        run: qa,
    },
];

enum Outcome {
    Passed,
    Failed(Error),
    /// Not in CI: a tool could not be had, and the step says which.
    Missing(Error),
    Skipped,
}

/// `cargo xtask ci [--keep-going] [--only STEP] [--skip STEP] [--list]`
pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let mut args = Args::new("ci", args);
    let keep_going = args.switch("--keep-going");
    let list = args.switch("--list");
    let only = args.values("--only")?;
    let skip = args.values("--skip")?;
    args.finish()?;
    if list {
        STEPS
            .iter()
            .for_each(|step| println!("{:8} {}", step.name, step.what));
        return Ok(());
    }
    if let Some(unknown) = only.iter().chain(&skip).find(|name| !is_step(name)) {
        bail!("there is no step `{unknown}`: `cargo xtask ci --list` names them");
    }
    clear_reports(context)?;
    let started = Instant::now();
    let mut results = Vec::new();
    let mut stopped = false;
    for step in &STEPS {
        let wanted = (only.is_empty() || only.iter().any(|name| name == step.name))
            && !skip.iter().any(|name| name == step.name);
        let clock = Instant::now();
        let outcome = if wanted && !stopped {
            attempt(context, step)
        } else {
            Outcome::Skipped
        };
        stopped |= matches!(outcome, Outcome::Failed(_)) && !keep_going;
        results.push((step.name, outcome, clock.elapsed()));
    }
    summarise(context, &results, started.elapsed())
}

fn is_step(name: &str) -> bool {
    STEPS.iter().any(|step| step.name == name)
}

fn attempt(context: &Context, step: &Step) -> Outcome {
    println!("\n==== {}: {}", step.name, step.what);
    match (step.run)(context) {
        Ok(()) => Outcome::Passed,
        Err(error) => {
            eprintln!("error: {error:#}");
            if error.downcast_ref::<Missing>().is_some() && !context.ci {
                Outcome::Missing(error)
            } else {
                Outcome::Failed(error)
            }
        }
    }
}

fn summarise(
    context: &Context,
    results: &[(&str, Outcome, Duration)],
    total: Duration,
) -> Result<()> {
    println!("\n==== summary");
    for (name, outcome, time) in results {
        let (word, note) = match outcome {
            Outcome::Passed => ("ok", String::new()),
            Outcome::Failed(error) => ("FAILED", first_line(error)),
            Outcome::Missing(error) => ("missing", first_line(error)),
            Outcome::Skipped => continue,
        };
        println!("{name:8} {word:8} {:>8}  {note}", clock(*time));
    }
    println!("{:8} {:8} {:>8}", "total", "", clock(total));
    let skipped = names(results, |outcome| matches!(outcome, Outcome::Skipped));
    if !skipped.is_empty() {
        println!("not run: {}", skipped.join(", "));
    }
    if total > BUDGET {
        println!(
            "over the budget of {}: look for a second build of the same crates",
            clock(BUDGET)
        );
    }
    if results
        .iter()
        .any(|(_, outcome, _)| matches!(outcome, Outcome::Missing(_)))
    {
        println!("incomplete: a step marked `missing` did not run; CI=true makes that a failure");
    }
    let totals = totals(context);
    if totals != Totals::default() {
        println!("{} passed, {} failed", totals.passed, totals.failed);
    }
    let failed = names(results, |outcome| matches!(outcome, Outcome::Failed(_)));
    if failed.is_empty() {
        return Ok(());
    }
    bail!(
        "failed: {}; repeat one with `cargo xtask ci --only {}`",
        failed.join(", "),
        failed[0]
    )
}

fn names<'a>(
    results: &[(&'a str, Outcome, Duration)],
    wanted: impl Fn(&Outcome) -> bool,
) -> Vec<&'a str> {
    results
        .iter()
        .filter(|(_, outcome, _)| wanted(outcome))
        .map(|(name, _, _)| *name)
        .collect()
}

fn first_line(error: &Error) -> String {
    error
        .to_string()
        .lines()
        .next()
        .unwrap_or_default()
        .to_owned()
}

fn clock(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 60 {
        format!("{:.1}s", time.as_secs_f64())
    } else {
        format!("{}m {:02}s", seconds / 60, seconds % 60)
    }
}

/// Test profiles of this run whose totals close the output.
const PROFILES: [&str; 2] = ["ci", "real"];

fn report(context: &Context, profile: &str) -> std::path::PathBuf {
    context
        .target
        .join("nextest")
        .join(profile)
        .join("junit.xml")
}

/// Reports of an earlier run must not be counted.
fn clear_reports(context: &Context) -> Result<()> {
    for profile in PROFILES {
        let file = report(context, profile);
        if file.exists() {
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

fn totals(context: &Context) -> Totals {
    let mut totals = Totals::default();
    for profile in PROFILES {
        totals.add_report(&report(context, profile));
    }
    totals
}

fn fmt(context: &Context) -> Result<()> {
    shell::run(context.cargo().args(["fmt", "--all", "--check"]))
}

fn typos(context: &Context) -> Result<()> {
    shell::run(&mut context.command(tools::TYPOS.ensure(context)?))
}

fn clippy(context: &Context) -> Result<()> {
    let mut command = context.cargo();
    command
        .args(["clippy", "--workspace", "--all-targets"])
        .args(context.locked());
    shell::run(command.args(["--", "-D", "warnings"]))
}

fn deny(context: &Context) -> Result<()> {
    let program = tools::DENY.ensure(context)?;
    let mut command = context.command(program);
    command.arg("--workspace").args(context.locked());
    command.args([
        "check",
        "--hide-inclusion-graph",
        "--allow",
        "unused-wrapper",
    ]);
    shell::run(command.args(["bans", "licenses", "sources"]))
}

fn build(context: &Context) -> Result<()> {
    let mut command = context.cargo();
    shell::run(
        command
            .args(["build", "--workspace", "--all-targets"])
            .args(context.locked()),
    )
}

fn test_all(context: &Context) -> Result<()> {
    shell::run(&mut test::nextest(context, "ci")?)
}

fn doctests(context: &Context) -> Result<()> {
    let mut command = context.cargo();
    shell::run(
        command
            .args(["test", "--doc", "--workspace", "--quiet"])
            .args(context.locked()),
    )
}

fn docs(context: &Context) -> Result<()> {
    let mut command = context.cargo();
    // Only libraries: the binary and the facade share the name `toolsearch`, and so one page.
    command
        .args(["doc", "--workspace", "--lib", "--no-deps"])
        .args(context.locked());
    shell::run(command.env("RUSTDOCFLAGS", "-D warnings"))
}

fn real(context: &Context) -> Result<()> {
    servers::ensure(context)?;
    shell::run(&mut test::nextest(context, "real")?)
}

fn qa(context: &Context) -> Result<()> {
    for scenario in QA {
        let args = [
            "suite",
            "--provider-mode",
            "mock-openai",
            "--scenario",
            scenario,
        ];
        product::qa_built(context, &args.map(str::to_owned))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(clock(Duration::from_millis(1234)), "1.2s");
        assert_eq!(clock(Duration::from_secs(61)), "1m 01s");
        assert_eq!(clock(BUDGET), "45m 00s");
    }

    #[test]
    fn a_missing_tool_is_told_apart_through_its_context() {
        let error = Error::msg("no network").context(Missing::of("get it there"));
        assert!(error.downcast_ref::<Missing>().is_some());
        assert_eq!(first_line(&error), "get it there");
    }
}
