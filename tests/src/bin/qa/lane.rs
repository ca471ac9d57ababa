//! One run of the product with one configuration: what the provider was sent, what the plugin did,
//! what the session log says.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::plugin::{self, EFFECTS};
use crate::provider::{KEY, MockProvider, Payload};
use crate::script::{Part, Script};

/// What the user says. It names no tool, so that no schema is shown because of it.
const MESSAGE: &str = "Please do what we agreed on yesterday.";

/// How the tools are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LaneKind {
    Direct,
    Code,
    Tools,
    Directory,
}

impl LaneKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Code => "code",
            Self::Tools => "tools",
            Self::Directory => "directory",
        }
    }

    const fn part(self) -> Part {
        match self {
            Self::Direct => Part::Direct,
            Self::Code => Part::Code,
            Self::Tools => Part::Tools,
            Self::Directory => Part::Directory,
        }
    }

    /// The controls that a model is shown.
    pub(crate) const fn controls(self) -> &'static [&'static str] {
        match self {
            Self::Direct => &[],
            Self::Code => &["tool_search_code"],
            Self::Tools | Self::Directory => &["tool_search", "tool_describe", "tool_call"],
        }
    }

    fn setting(self) -> Value {
        match self {
            Self::Direct => json!(false),
            mode => json!({"mode": mode.name()}),
        }
    }
}

/// A run and everything that it left behind.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) kind: LaneKind,
    pub(crate) marker: String,
    /// What `toolsearch agent --json` printed.
    pub(crate) report: Value,
    /// What `toolsearch sessions show --json` printed.
    pub(crate) session: Value,
    pub(crate) payloads: Vec<Payload>,
    pub(crate) effects: Vec<Value>,
}

impl Lane {
    pub(crate) fn run(
        kind: LaneKind,
        binary: &Path,
        root: &Path,
        provider: &MockProvider,
    ) -> Result<Self> {
        let folder = root.join(kind.name());
        fs::create_dir_all(&folder)?;
        let config = folder.join("toolsearch.json5");
        fs::write(&config, configuration(kind, provider).to_string())?;
        let marker = format!("marker-{}-{}", kind.name(), std::process::id());
        provider.play(Script {
            part: kind.part(),
            marker: marker.clone(),
        });
        let effects = folder.join("effects.jsonl");
        let toolsearch = |args: &[&str]| {
            let mut command = Command::new(binary);
            command
                .args(args)
                .arg("--config")
                .arg(&config)
                .arg("--json");
            command.env_clear().env(EFFECTS, &effects).env("HOME", root);
            command.current_dir(root);
            if let Some(path) = std::env::var_os("PATH") {
                command.env("PATH", path);
            }
            output(command).with_context(|| format!("lane {}", kind.name()))
        };
        let report = toolsearch(&["agent", "--message", MESSAGE, "--model", "mock/scripted"]);
        let payloads = provider.payloads()?;
        let report = report?;
        let session = report["session"]
            .as_str()
            .context("the report names no session")?;
        let session = toolsearch(&["sessions", "show", session])?;
        Ok(Self {
            kind,
            marker,
            session,
            report,
            payloads,
            effects: plugin::effects(&effects)?,
        })
    }

    /// The first request.
    pub(crate) fn first(&self) -> &Payload {
        &self.payloads[0]
    }

    /// Bytes of all requests together.
    pub(crate) fn all_bytes(&self) -> usize {
        self.payloads.iter().map(|payload| payload.bytes).sum()
    }
}

fn configuration(kind: LaneKind, provider: &MockProvider) -> Value {
    json!({
        "tools": {"toolSearch": kind.setting()},
        "plugins": ["../plugins/*"],
        "providers": {
            "mock": {
                "dialects": ["openai-chat"],
                "baseUrl": provider.base_url(),
                "apiKey": KEY,
            },
        },
        "telemetry": {"dir": "./sessions"},
    })
}

/// The one JSON document that a command prints, or the last of several, one a line.
fn output(mut command: Command) -> Result<Value> {
    let done = command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start {command:?}"))?;
    let (out, err) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    if !done.status.success() {
        bail!("{command:?} ended with {}: {err}{out}", done.status);
    }
    let last = out.lines().rfind(|line| !line.trim().is_empty());
    serde_json::from_str(&out)
        .or_else(|_| serde_json::from_str(last.unwrap_or_default()))
        .with_context(|| format!("no JSON on standard output: {out}{err}"))
}
