//! What an operator says about one server: how to reach it, how far to trust it, how long to wait.
//! Not here: where these settings are written down.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use toolsearch_catalog::{CatalogMode, Trust};

/// A text that never shows in a log, an error or a status: its `Debug` is `[redacted]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: impl Into<Arc<str>>) -> Self {
        Self(value.into())
    }

    /// The value itself, for handing it to the server that needs it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[redacted]")
    }
}

impl From<&str> for Secret {
    fn from(value: &str) -> Self {
        Self::new(value)
    }
}

impl From<String> for Secret {
    fn from(value: String) -> Self {
        Self::new(value)
    }
}

/// A program that speaks MCP on its standard streams.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StdioCommand {
    /// The program, found like a shell finds it.
    pub command: String,
    /// Its arguments, passed as they are.
    pub args: Vec<String>,
    /// Variables added to the inherited environment; a name that is there already is replaced.
    pub env: BTreeMap<String, Secret>,
    /// Where it runs; unset means where this process runs.
    pub cwd: Option<PathBuf>,
}

impl StdioCommand {
    /// A program with its arguments.
    #[must_use]
    pub fn new<A: Into<String>>(
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            command: command.into(),
            args: args.into_iter().map(Into::into).collect(),
            env: BTreeMap::new(),
            cwd: None,
        }
    }
}

impl fmt::Debug for StdioCommand {
    /// Names the program and the variables; arguments and values may be secret and stay out.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StdioCommand")
            .field("command", &self.command)
            .field("args", &format_args!("[{} arguments]", self.args.len()))
            .field("env", &self.env)
            .field("cwd", &self.cwd)
            .finish()
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A child process.
    Stdio(StdioCommand),
}

/// Which generation of the protocol is spoken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Protocol {
    /// `initialize` first. A server that answers it with an error is started afresh and asked with
    /// `server/discover`.
    #[default]
    Auto,
    /// Only `initialize`: 2024-11-05 to 2025-11-25.
    Legacy,
    /// Only `server/discover`: 2026-07-28.
    Modern,
}

/// Which tools of a server are taken, by name. `*` stands for any text, `?` for one character.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Only these; empty means all.
    pub include: Vec<String>,
    /// Never these, even if included.
    pub exclude: Vec<String>,
}

impl ToolFilter {
    /// A filter of the two lists.
    #[must_use]
    pub const fn new(include: Vec<String>, exclude: Vec<String>) -> Self {
        Self { include, exclude }
    }

    /// Whether a tool of this name is taken.
    #[must_use]
    pub fn accepts(&self, name: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| matches(pattern, name));
        (self.include.is_empty() || any(&self.include)) && !any(&self.exclude)
    }
}

/// One server. Build with [`ServerSpec::stdio`] or [`ServerSpec::new`], then set public fields.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSpec {
    /// The owner of the server's tools in ids and messages.
    pub name: String,
    /// How it is reached.
    pub endpoint: Endpoint,
    /// Whether the operator vouches for its text. Default: untrusted.
    pub trust: Trust,
    /// Whether its tools are hidden behind search. Default: they are.
    pub catalog_mode: CatalogMode,
    /// Which generation of the protocol is spoken.
    pub protocol: Protocol,
    /// Which of its tools are taken.
    pub tools: ToolFilter,
    /// How long it may take from the start of its process to the end of the handshake. Default: 30 s.
    pub start_timeout: Duration,
    /// How long all pages of its tool list may take together. Default: 30 s.
    pub list_timeout: Duration,
    /// An upper limit for one call, beside the one that each call carries.
    pub call_timeout: Option<Duration>,
    /// Further values that must not show in anything that this crate reports, such as those that
    /// were put into arguments. The values of environment variables are covered anyway.
    pub secrets: Vec<Secret>,
}

impl ServerSpec {
    /// A server with default settings.
    #[must_use]
    pub fn new(name: impl Into<String>, endpoint: Endpoint) -> Self {
        Self {
            name: name.into(),
            endpoint,
            trust: Trust::Untrusted,
            catalog_mode: CatalogMode::default(),
            protocol: Protocol::default(),
            tools: ToolFilter::default(),
            start_timeout: Duration::from_secs(30),
            list_timeout: Duration::from_secs(30),
            call_timeout: None,
            secrets: Vec::new(),
        }
    }

    /// A program that speaks MCP on its standard streams, with default settings.
    #[must_use]
    pub fn stdio<A: Into<String>>(
        name: impl Into<String>,
        command: impl Into<String>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self::new(name, Endpoint::Stdio(StdioCommand::new(command, args)))
    }

    /// The same server with one more environment variable. Only a child process has any.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        let Endpoint::Stdio(command) = &mut self.endpoint;
        command.env.insert(name.into(), value.into());
        self
    }

    /// Every value that must not show.
    pub(crate) fn hidden_values(&self) -> impl Iterator<Item = &str> {
        let Endpoint::Stdio(command) = &self.endpoint;
        command
            .env
            .values()
            .chain(&self.secrets)
            .map(Secret::expose)
    }
}

/// Matches with one level of backtracking, so the work is bounded by the product of the lengths.
fn matches(pattern: &str, text: &str) -> bool {
    let pattern: Vec<char> = pattern.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p + 1, t));
                p += 1;
            }
            Some(&c) if c == '?' || c == text[t] => {
                p += 1;
                t += 1;
            }
            _ => {
                let Some((after, from)) = star else {
                    return false;
                };
                star = Some((after, from + 1));
                p = after;
                t = from + 1;
            }
        }
    }
    pattern[p..].iter().all(|&c| c == '*')
}
