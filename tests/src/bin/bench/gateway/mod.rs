//! What the gateway costs: time added to a call, calls in a second, time to the first list, memory of
//! a session. Always beside the same server without it, in one run; other gateways too, where their
//! programs are named.
//!
//! `bench gateway` reads `TOOLSEARCH_BIN` for the program, and `TOOLSEARCH_BENCH_PEERS` for a JSON list
//! of others: `[{"name": …, "stdio": [PROGRAM, ARG…], "http": [PROGRAM, ARG…], "tool": NAME}]`. In the
//! arguments `{config}` stands for a file that names the server, `{port}` for a port.

mod load;
mod server;
mod wire;

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use self::load::Numbers;
pub(crate) use self::server::serve;
use self::wire::{Http, HttpServer, Stdio as StdioClient};

/// Tools over all servers, and how many servers there are.
const TOOLS: usize = 2_800;
const SERVERS: usize = 21;
/// Goals: added median of a call.
const MAX_ADDED_STDIO: Duration = Duration::from_micros(250);
const MAX_ADDED_HTTP: Duration = Duration::from_micros(500);
/// Goal: first list of servers that were listed before.
const MAX_FIRST_LIST: Duration = Duration::from_millis(100);
/// Goal: memory of one more idle session.
const MAX_SESSION_KIB: f64 = 64.0;

/// Another gateway to stand beside.
#[derive(Debug, Deserialize)]
struct Peer {
    name: String,
    stdio: Option<Vec<String>>,
    http: Option<Vec<String>>,
    /// The tool `echo` of the server as it is called there, with `{}` arguments as JSON.
    tool: String,
    #[serde(default)]
    arguments: Option<Value>,
}

/// Measures one part, `calls`, `first-list` or `memory`, or all of them.
pub(crate) fn run(only: Option<&str>) -> anyhow::Result<()> {
    let parts: [(&str, Measure); 3] = [
        ("calls", Bench::calls),
        ("first-list", Bench::first_lists),
        ("memory", Bench::memory),
    ];
    let known = |name: &str| parts.iter().any(|(part, _)| *part == name);
    ensure!(
        only.is_none_or(known),
        "unknown part {only:?}; known: calls, first-list, memory"
    );
    let bench = Bench::new()?;
    let mut report = json!({ "benchmark": "gateway" });
    let mut missed = Vec::new();
    for (name, part) in parts {
        if only.is_none_or(|only| only == name) {
            let part = part(&bench)?;
            report[name] = part.report;
            missed.extend(part.missed);
        }
    }
    #[expect(clippy::print_stdout, reason = "a program that people run")]
    {
        println!("{}", serde_json::to_string_pretty(&report)?);
    }
    ensure!(missed.is_empty(), "not good enough: {}", missed.join("; "));
    Ok(())
}

type Measure = fn(&Bench) -> anyhow::Result<Part>;

/// What one part measured, and which of its goals it missed.
struct Part {
    report: Value,
    missed: Vec<String>,
}

impl Part {
    fn of(report: Value) -> Self {
        Self {
            report,
            missed: Vec::new(),
        }
    }

    fn goal(mut self, met: bool, otherwise: impl FnOnce() -> String) -> Self {
        if !met {
            self.missed.push(otherwise());
        }
        self
    }
}

struct Bench {
    program: PathBuf,
    own: PathBuf,
    folder: tempfile::TempDir,
    peers: Vec<Peer>,
}

impl Bench {
    fn new() -> anyhow::Result<Self> {
        let program = std::env::var_os("TOOLSEARCH_BIN").context("TOOLSEARCH_BIN is not set")?;
        let peers = match std::env::var("TOOLSEARCH_BENCH_PEERS") {
            Ok(text) => serde_json::from_str(&text).context("TOOLSEARCH_BENCH_PEERS")?,
            Err(_) => Vec::new(),
        };
        Ok(Self {
            program: program.into(),
            own: std::env::current_exe()?,
            folder: tempfile::tempdir()?,
            peers,
        })
    }

    /// The command of a server with so many tools.
    fn server(&self, tools: usize) -> Vec<String> {
        let own = self.own.display().to_string();
        vec![own, "echo-server".to_owned(), tools.to_string()]
    }

    /// A configuration over these servers; every tool is shown, or none is.
    fn configure(
        &self,
        name: &str,
        servers: usize,
        tools: usize,
        shown: bool,
    ) -> anyhow::Result<PathBuf> {
        let servers: serde_json::Map<String, Value> = (0..servers)
            .map(|number| {
                let command = self.server(tools);
                let entry = json!({ "command": command[0], "args": command[1..] });
                (format!("server-{number:02}"), entry)
            })
            .collect();
        let path = self.folder.path().join(format!("{name}.json5"));
        let cache = self.folder.path().join(format!("{name}-data"));
        let setting = if shown {
            json!(false)
        } else {
            json!({ "mode": "tools" })
        };
        let settings = json!({
            "tools": { "toolSearch": setting },
            "mcpServers": servers,
            "telemetry": { "dir": cache.join("logs") },
        });
        std::fs::write(&path, settings.to_string())?;
        Ok(path)
    }

    fn gateway(&self, config: &PathBuf, more: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["serve", "--config"]).arg(config).args(more);
        // Whatever is kept between starts is kept here.
        for variable in ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env(variable, self.folder.path());
        }
        command.stderr(Stdio::piped());
        command
    }

    /// Calls of one tool, directly, through the gateway, and through the others.
    fn calls(&self) -> anyhow::Result<Part> {
        let server = self.server(20);
        let direct = load::stdio(|| StdioClient::start(&mut command(&server)), "echo", None)?;
        let shown = self.configure("shown", 1, 20, true)?;
        let hidden = self.configure("hidden", 1, 20, false)?;
        let through = json!({ "id": "mcp:server-00:echo", "args": { "text": "hello" } });
        let own = |config: &PathBuf| StdioClient::start(&mut self.gateway(config, &[]));
        let stdio = load::stdio(|| own(&shown), "echo", None)?;
        let stdio_control = load::stdio(|| own(&hidden), "tool_call", Some(&through))?;
        let http = |config: &PathBuf| {
            HttpServer::start(&mut self.gateway(config, &["--http", "127.0.0.1:0"]))
        };
        let over_http = load::http(&http(&shown)?, "echo", None)?;
        let http_control = load::http(&http(&hidden)?, "tool_call", Some(&through))?;
        let added = |numbers: &Numbers| numbers.median.saturating_sub(direct.median);
        let mut report = json!({
            "direct_stdio": direct.report(None),
            "stdio": stdio.report(Some(&direct)),
            "stdio_tool_call": stdio_control.report(Some(&direct)),
            "http": over_http.report(Some(&direct)),
            "http_tool_call": http_control.report(Some(&direct)),
        });
        for peer in &self.peers {
            report[format!("peer {}", peer.name)] = self.peer(peer, &server, &direct)?;
        }
        let added_stdio = added(&stdio).max(added(&stdio_control));
        let added_http = added(&over_http).max(added(&http_control));
        let more = |way: &str, added: Duration| {
            let added = added.as_micros();
            format!("a call over {way} takes {added} µs more")
        };
        Ok(Part::of(report)
            .goal(added_stdio <= MAX_ADDED_STDIO, || {
                more("stdio", added_stdio)
            })
            .goal(added_http <= MAX_ADDED_HTTP, || more("HTTP", added_http)))
    }

    /// The same calls through another gateway. What does not work is said, not hidden.
    fn peer(&self, peer: &Peer, server: &[String], direct: &Numbers) -> anyhow::Result<Value> {
        let config = self.folder.path().join("peer.json");
        let entry = json!({ "command": server[0], "args": server[1..] });
        std::fs::write(
            &config,
            json!({ "mcpServers": { "echo": entry } }).to_string(),
        )?;
        let config = config.display().to_string();
        let filled = |template: &[String], port: u16| {
            let fill = |text: &String| {
                text.replace("{config}", &config)
                    .replace("{port}", &port.to_string())
            };
            command(&template.iter().map(fill).collect::<Vec<_>>())
        };
        let told = |result: anyhow::Result<Numbers>| match result {
            Ok(numbers) => numbers.report(Some(direct)),
            Err(error) => json!({ "failed": format!("{error:#}") }),
        };
        let arguments = peer.arguments.as_ref();
        let stdio = peer.stdio.as_ref().map(|template| {
            let start = || StdioClient::start(&mut filled(template, 0));
            told(load::stdio(start, &peer.tool, arguments))
        });
        let http = peer.http.as_ref().map(|template| {
            let run = || {
                let port = wire::free_port()?;
                let server = HttpServer::at(&mut filled(template, port), port)?;
                load::http(&server, &peer.tool, arguments)
            };
            told(run())
        });
        Ok(json!({ "stdio": stdio, "http": http }))
    }

    /// From the start of the program to the first list, over many servers.
    fn first_lists(&self) -> anyhow::Result<Part> {
        let config = self.configure("many", SERVERS, TOOLS / SERVERS, false)?;
        let once = || -> anyhow::Result<Duration> {
            let begun = Instant::now();
            let mut client = StdioClient::start(&mut self.gateway(&config, &[]))?;
            client.ask("tools/list", &json!({}))?;
            Ok(begun.elapsed())
        };
        let cold = once()?;
        let mut again = Vec::new();
        for _ in 0..5 {
            again.push(once()?);
        }
        again.sort_unstable();
        let cached = again[again.len() / 2];
        let ms = |time: Duration| (time.as_secs_f64() * 100_000.0).round() / 100.0;
        let report = json!({
            "servers": SERVERS, "tools": TOOLS, "cold_ms": ms(cold), "cached_ms": ms(cached),
        });
        Ok(Part::of(report).goal(cached <= MAX_FIRST_LIST, || {
            format!("the first list from the cache takes {} ms", ms(cached))
        }))
    }

    /// Resident memory with so many sessions.
    fn memory(&self) -> anyhow::Result<Part> {
        let config = self.configure("many", SERVERS, TOOLS / SERVERS, false)?;
        let mut command = self.gateway(&config, &["--http", "127.0.0.1:0"]);
        let server = HttpServer::start(&mut command)?;
        let mut clients: Vec<Http> = Vec::new();
        let mut sizes = Vec::new();
        for sessions in [1_u32, 100, 1_000] {
            while clients.len() < sessions as usize {
                let mut client = Http::connect(server.port)?;
                client.greet()?;
                client.ask("tools/list", &json!({}))?;
                // The connection is the client's own business; the session stays.
                client.hang_up();
                clients.push(client);
            }
            sizes.push((sessions, server.resident_kib()?));
        }
        let (few, many) = (sizes[1], sizes[2]);
        let session_kib = (many.1 - few.1) / f64::from(many.0 - few.0);
        let rounded = |size: f64| (size * 10.0).round() / 10.0;
        let report = json!({
            "tools": TOOLS,
            "kib": sizes.iter().map(|(n, size)| json!({ "sessions": n, "resident": size })).collect::<Vec<_>>(),
            "kib_for_one_more": rounded(session_kib),
        });
        Ok(Part::of(report).goal(session_kib <= MAX_SESSION_KIB, || {
            format!("one more session takes {session_kib:.1} KiB")
        }))
    }
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stderr(Stdio::null());
    command
}
