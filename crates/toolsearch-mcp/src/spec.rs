//! What an operator says about one server: how to reach it, how far to trust it, how long to wait.
//! Not here: where these settings are written down.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use toolsearch_catalog::{CatalogMode, Trust};

use crate::oauth::TokenStore;

/// Shorter values in the query of an address are settings, not keys.
const MIN_QUERY_SECRET_BYTES: usize = 8;

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

/// An address that MCP is spoken at.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpAddress {
    /// `http://` or `https://`; no user name and no password in it.
    pub url: String,
    /// Sent along with every request. An `Authorization` here is used instead of stored tokens.
    pub headers: BTreeMap<String, Secret>,
    /// How messages travel.
    pub transport: HttpTransport,
    /// Where tokens of a login are kept. Unset: none are used.
    pub tokens: Option<TokenStore>,
}

/// How messages travel over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum HttpTransport {
    /// Streamable HTTP; where a server refuses that as only an older one would, [`Self::Sse`].
    #[default]
    Auto,
    /// Streamable HTTP and nothing else.
    Streamable,
    /// The transport of 2024-11-05: one event stream, and an address for messages.
    Sse,
}

impl HttpAddress {
    /// An address without headers.
    #[must_use]
    pub fn new(url: impl Into<String>) -> Self {
        Self {
            url: url.into(),
            headers: BTreeMap::new(),
            transport: HttpTransport::default(),
            tokens: None,
        }
    }
}

impl fmt::Debug for HttpAddress {
    /// Keys may stand in the query, so only what comes before it shows.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (address, _) = self.url.split_once(['?', '#']).unwrap_or((&self.url, ""));
        f.debug_struct("HttpAddress")
            .field("url", &address)
            .field("headers", &self.headers)
            .field("transport", &self.transport)
            .field("tokens", &self.tokens)
            .finish()
    }
}

/// How a server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A child process.
    Stdio(StdioCommand),
    /// Requests to an address.
    Http(HttpAddress),
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
    /// How long it may take from the start of its process, or the first request, to the end of the
    /// handshake. Default: 30 s.
    pub start_timeout: Duration,
    /// How long all pages of its tool list may take together. Default: 30 s.
    pub list_timeout: Duration,
    /// An upper limit for one call, beside the one that each call carries.
    pub call_timeout: Option<Duration>,
    /// A folder in which the tool list is kept for the next process. Unset: none.
    pub cache: Option<PathBuf>,
    /// Shared by the servers of a process: how many of them may begin to start at the same time
    /// because somebody lists. Unset: any number.
    pub start_limit: Option<StartLimit>,
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
            cache: None,
            start_limit: None,
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

    /// A server at an address, with default settings.
    #[must_use]
    pub fn http(name: impl Into<String>, url: impl Into<String>) -> Self {
        Self::new(name, Endpoint::Http(HttpAddress::new(url)))
    }

    /// The same server with one more environment variable. Only a child process has any.
    #[must_use]
    pub fn with_env(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        if let Endpoint::Stdio(command) = &mut self.endpoint {
            command.env.insert(name.into(), value.into());
        }
        self
    }

    /// The same server with one more header. Only an address has any.
    #[must_use]
    pub fn with_header(mut self, name: impl Into<String>, value: impl Into<Secret>) -> Self {
        if let Endpoint::Http(address) = &mut self.endpoint {
            address.headers.insert(name.into(), value.into());
        }
        self
    }

    /// Every value that must not show. Of `Bearer …` both the whole and the token.
    pub(crate) fn hidden_values(&self) -> impl Iterator<Item = &str> {
        let (values, query) = match &self.endpoint {
            Endpoint::Stdio(command) => (&command.env, None),
            Endpoint::Http(address) => (&address.headers, address.url.split_once('?')),
        };
        let queried = query.into_iter().flat_map(|(_, query)| query.split('&'));
        let queried = queried
            .filter_map(|pair| Some(pair.split_once('=')?.1))
            .filter(|value| value.len() >= MIN_QUERY_SECRET_BYTES);
        let exposed = values.values().chain(&self.secrets).map(Secret::expose);
        let halves = exposed.flat_map(|value| {
            let token = value.split_once(' ').map(|(_, token)| token);
            std::iter::once(value).chain(token)
        });
        halves.chain(queried)
    }
}

/// How many servers may begin to start at the same time. Clones share the limit.
#[derive(Debug, Clone)]
pub struct StartLimit(Arc<Semaphore>);

impl StartLimit {
    /// Any number from 1 up.
    #[must_use]
    pub fn new(at_once: usize) -> Self {
        Self(Arc::new(Semaphore::new(at_once.clamp(1, 1024))))
    }

    /// Waits for a turn.
    pub(crate) async fn turn(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).acquire_owned().await.ok()
    }
}

impl PartialEq for StartLimit {
    /// Whether it is the very same limit.
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for StartLimit {}

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
