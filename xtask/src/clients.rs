//! `cargo xtask clients`: agents that nobody here wrote, in front of the gateway, against a scripted
//! model on this machine. Each has to find a tool and run it, over standard input and output and over
//! HTTP.
//!
//! The agents are installed into `target/clients` from the lock file in `tests/clients`; they are
//! large, so no other verb needs them. Where the system allows it, they run in a network of their own
//! that reaches nothing but this machine.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

use crate::args::Args;
use crate::context::Context;
use crate::{packages, shell, test};

/// How long one agent may take.
const PATIENCE: Duration = Duration::from_secs(120);
/// The calls that the model asks for. They use the tools that come with the program.
const SCRIPT: &str = r#"{"server": "toolsearch", "steps": [
    {"tool": "tool_search", "arguments": {"query": "weather in a city"}},
    {"tool": "tool_call", "arguments":
        {"id": "native:weather:get_current_weather", "args": {"city": "Oslo"}}}]}"#;
/// What the answers to them must hold.
const ANSWERS: [&str; 2] = ["native:weather:get_current_weather", "temperature_c"];

const AGENTS: [Agent; 2] = [Agent::ClaudeCode, Agent::Codex];

#[derive(Debug, Clone, Copy)]
enum Agent {
    ClaudeCode,
    Codex,
}

/// How an agent reaches the gateway.
#[derive(Debug)]
enum Way {
    Stdio { program: PathBuf, config: PathBuf },
    Http { url: String },
}

pub(crate) fn run(context: &Context, args: &[String]) -> Result<()> {
    let mut args = Args::new("clients", args);
    let inside = args.switch("--inside");
    args.finish()?;
    if inside {
        return drive(context);
    }
    install(context)?;
    test::build_binary(context)?;
    let this = std::env::current_exe()?;
    let apart = context
        .command("unshare")
        .args(["--net", "true"])
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !apart {
        eprintln!("note: no network of their own is possible here; the agents could reach others");
        return drive(context);
    }
    let mut command = context.command("unshare");
    command
        .args([
            "--net",
            "sh",
            "-c",
            "ip link set lo up && exec \"$0\" clients --inside",
        ])
        .arg(this);
    shell::run(&mut command)
}

fn install(context: &Context) -> Result<()> {
    let locks = context.root.join("tests").join("clients");
    packages::npm_once(
        context,
        &locks,
        &home(context),
        "the agents could not be installed from the npm registry",
    )
}

fn home(context: &Context) -> PathBuf {
    context.target.join("clients")
}

fn drive(context: &Context) -> Result<()> {
    let program = context.built("debug", "toolsearch");
    let config = home(context).join("toolsearch.json5");
    fs::write(&config, "{ tools: { toolSearch: { mode: 'tools' } } }\n")?;
    let mut failed = Vec::new();
    for agent in AGENTS {
        let gateway = Gateway::start(&program, &config)?;
        let ways = [
            Way::Stdio {
                program: program.clone(),
                config: config.clone(),
            },
            Way::Http {
                url: gateway.url.clone(),
            },
        ];
        for way in ways {
            let over = match &way {
                Way::Stdio { .. } => "standard input and output",
                Way::Http { .. } => "HTTP",
            };
            match try_out(context, agent, &way) {
                Ok(()) => println!("{agent:?} over {over}: found and ran a tool"),
                Err(error) => failed.push(format!("{agent:?} over {over}: {error:#}")),
            }
        }
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn try_out(context: &Context, agent: Agent, way: &Way) -> Result<()> {
    let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut model = context.command(python);
    model
        .arg(context.root.join("tests/clients/model.py"))
        .args([&port.to_string(), SCRIPT])
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let mut model = Killed(model.spawn().context("the model cannot be started")?);
    let output = model.0.stdout.take().context("no output")?;
    let heard = std::thread::spawn(move || {
        let lines = BufReader::new(output).lines().map_while(Result::ok);
        lines.collect::<Vec<String>>()
    });
    let begun = Instant::now();
    while std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
        ensure!(begun.elapsed() < PATIENCE, "the model does not listen");
        std::thread::sleep(Duration::from_millis(50));
    }
    // A home of its own: nothing of the person's is read or written.
    let folder = home(context).join(format!("home-{}", std::process::id()));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let said = agent.ask(context, way, port, &folder)?;
    drop(model);
    let heard = heard.join().unwrap_or_default();
    fs::remove_dir_all(&folder)?;
    for (step, answer) in ANSWERS.iter().enumerate() {
        let told = heard.get(step).is_some_and(|line| line.contains(answer));
        ensure!(told, "step {step} gave no `{answer}`: {heard:?}\n{said}");
    }
    Ok(())
}

impl Agent {
    /// Asks it something and waits for its end; gives what it said.
    fn ask(self, context: &Context, way: &Way, model: u16, folder: &Path) -> Result<String> {
        let modules = home(context).join("node_modules");
        let mut command = match self {
            Self::ClaudeCode => claude_code(&modules, way, model, folder)?,
            Self::Codex => codex(&modules, way, model, folder)?,
        };
        command
            .current_dir(folder)
            .env("HOME", folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().context("the agent cannot be started")?;
        let begun = Instant::now();
        while child.try_wait()?.is_none() {
            if begun.elapsed() > PATIENCE {
                child.kill()?;
                bail!("it did not end");
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let output = child.wait_with_output()?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(text(&output.stdout) + &text(&output.stderr))
    }
}

fn claude_code(modules: &Path, way: &Way, model: u16, folder: &Path) -> Result<Command> {
    let server = match way {
        Way::Stdio { program, config } => format!(
            r#"{{"command": {:?}, "args": ["serve", "--config", {:?}]}}"#,
            text(program),
            text(config)
        ),
        Way::Http { url } => format!(r#"{{"type": "http", "url": {url:?}}}"#),
    };
    let config = folder.join("mcp.json");
    fs::write(
        &config,
        format!(r#"{{"mcpServers": {{"toolsearch": {server}}}}}"#),
    )?;
    let package = modules.join("@anthropic-ai");
    let names = ["claude-code-linux-x64", "claude-code-linux-arm64"];
    let mut programs = names
        .map(|name| package.join(name).join("claude"))
        .into_iter();
    let program = programs.find(|program| program.exists());
    let mut command = Command::new(program.context("claude is not installed")?);
    command
        .args(["-p", "What is the weather?", "--strict-mcp-config"])
        .arg(format!("--mcp-config={}", config.display()))
        .arg("--allowedTools=mcp__toolsearch__tool_search,mcp__toolsearch__tool_call")
        .env("ANTHROPIC_BASE_URL", format!("http://127.0.0.1:{model}"))
        .env("ANTHROPIC_API_KEY", "none")
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env("DISABLE_AUTOUPDATER", "1");
    Ok(command)
}

fn codex(modules: &Path, way: &Way, model: u16, folder: &Path) -> Result<Command> {
    let server = match way {
        Way::Stdio { program, config } => format!(
            "command = {:?}\nargs = [\"serve\", \"--config\", {:?}]\n",
            text(program),
            text(config)
        ),
        Way::Http { url } => format!("url = {url:?}\n"),
    };
    let settings = format!(
        "model = \"scripted\"\nmodel_provider = \"mock\"\napproval_policy = \"never\"\n\
         sandbox_mode = \"danger-full-access\"\n\
         [model_providers.mock]\nname = \"mock\"\nbase_url = \"http://127.0.0.1:{model}/v1\"\n\
         wire_api = \"responses\"\nrequires_openai_auth = false\n\
         [mcp_servers.toolsearch]\n{server}"
    );
    let home = folder.join(".codex");
    fs::create_dir_all(&home)?;
    fs::write(home.join("config.toml"), settings)?;
    let mut command = Command::new("node");
    command
        .arg(modules.join("@openai/codex/bin/codex.js"))
        .args(["exec", "--skip-git-repo-check", "What is the weather?"])
        .env("CODEX_HOME", home);
    Ok(command)
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// A child that ends with its owner.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

struct Gateway {
    _child: Killed,
    url: String,
}

impl Gateway {
    fn start(program: &Path, config: &Path) -> Result<Self> {
        let mut command = Command::new(program);
        command
            .args(["serve", "--http", "127.0.0.1:0", "--config"])
            .arg(config)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = Killed(command.spawn().context("the gateway cannot be started")?);
        let stderr = child.0.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let url = loop {
            let line = lines
                .next()
                .context("the gateway ended before it listened")??;
            if let Some(at) = line.find("http://") {
                break line[at..].trim().to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Ok(Self { _child: child, url })
    }
}
