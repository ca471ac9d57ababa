//! MCP servers: an entry as written, and whether it can be started.
//!
//! Starting one is the business of others; they are given an [`Endpoint`] in which every variable
//! is filled in. `env` is meant as an addition to the environment of this process.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use crate::expand::{Lookup, expand};
use crate::path::{KeyPath, Step};
use crate::schema::services;
use crate::secret::{Expanded, Secret};

/// One entry of `mcpServers`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Server {
    /// The entry as written.
    pub definition: ServerDefinition,
    /// Whether it can be started.
    pub state: ServerState,
}

/// Whether a server can be started, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ServerState {
    /// Here is how.
    Ready(Endpoint),
    /// The user switched it off.
    Disabled,
    /// A variable is not set.
    NeedsConfiguration(NeedsConfiguration),
    /// The entry makes no sense.
    Invalid {
        /// What is wrong with it.
        reason: String,
    },
}

/// A variable without value and default, and the field that wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct NeedsConfiguration {
    /// The variable, such as `GITHUB_TOKEN`.
    pub variable: String,
    /// The field inside the entry, such as `env.TOKEN` or `args[1]`.
    pub field: String,
}

impl fmt::Display for NeedsConfiguration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "variable `{}` for `{}` is not set",
            self.variable, self.field
        )
    }
}

impl fmt::Display for ServerState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready(_) => f.write_str("ready"),
            Self::Disabled => f.write_str("disabled in the configuration"),
            Self::NeedsConfiguration(needs) => write!(f, "needs configuration: {needs}"),
            Self::Invalid { reason } => write!(f, "cannot be used: {reason}"),
        }
    }
}

/// How to reach a server, variables filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Endpoint {
    /// A program to start.
    Stdio {
        /// The program.
        command: Expanded,
        /// Its arguments.
        args: Vec<Expanded>,
        /// Variables to add to those of this process; these win.
        env: BTreeMap<String, Secret>,
        /// Folder to start in.
        cwd: Option<Expanded>,
    },
    /// An address.
    Http {
        /// The address, `http://` or `https://`.
        url: Expanded,
        /// Headers to send along.
        headers: BTreeMap<String, Secret>,
        /// Whether the server was said to speak the older SSE transport. Otherwise it is
        /// streamable HTTP, with SSE only where the server refuses that.
        sse: bool,
    },
}

/// How to talk to a server. Complete: other spellings are aliases of these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// Over the pipes of a child process.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events.
    Sse,
}

impl Transport {
    /// The transport that a spelling means: case, `-` and `_` count for nothing.
    pub fn from_spelling(spelling: &str) -> Option<Self> {
        let plain = |c: &char| !matches!(c, '-' | '_' | ' ');
        let lower: String = spelling
            .to_lowercase()
            .chars()
            .filter(plain)
            .take(40)
            .collect();
        match lower.as_str() {
            "stdio" | "local" => Some(Self::Stdio),
            "http" | "https" | "streamablehttp" | "remote" => Some(Self::Http),
            "sse" => Some(Self::Sse),
            _ => None,
        }
    }

    fn as_str(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

impl<'de> Deserialize<'de> for Transport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spelling = String::deserialize(deserializer)?;
        Self::from_spelling(&spelling).ok_or_else(|| serde::de::Error::custom("unknown transport"))
    }
}

/// Whether the words of a server's tools may stand in prompts. Complete.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServerTrust {
    /// They may not.
    #[default]
    Untrusted,
    /// They may.
    Trusted,
}

/// Where a server's tools are placed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ServerCatalogMode {
    /// In the catalog.
    #[default]
    Searchable,
    /// Visible with full schemas and never in the catalog.
    DirectOnly,
}

/// Which tools of a server are listed: globs over its own names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolFilter {
    /// Those to list; absent: all.
    pub allow: Option<Vec<String>>,
    /// Those to leave out.
    pub deny: Vec<String>,
}

impl<'de> Deserialize<'de> for ToolFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Allow(Vec<String>),
            Both {
                allow: Option<Vec<String>>,
                #[serde(default)]
                deny: Vec<String>,
            },
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Allow(allow) => Self {
                allow: Some(allow),
                deny: Vec::new(),
            },
            Written::Both { allow, deny } => Self { allow, deny },
        })
    }
}

/// A server entry as written, variables not filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerDefinition {
    /// Program to start.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables added to those of this process.
    pub env: BTreeMap<String, Secret>,
    /// Folder to start in.
    pub cwd: Option<String>,
    /// Address.
    pub url: Option<String>,
    /// Headers sent along.
    pub headers: BTreeMap<String, Secret>,
    /// How to talk; guessed from the rest when absent.
    pub transport: Option<Transport>,
    /// Whether the words of its tools may stand in prompts.
    pub trust: ServerTrust,
    /// Where its tools are placed.
    pub catalog_mode: ServerCatalogMode,
    /// Whether the user switched it off.
    pub disabled: bool,
    /// Time to start and list its tools, in milliseconds.
    pub start_timeout_ms: u64,
    /// Time for one call, in milliseconds.
    pub call_timeout_ms: u64,
    /// Which of its tools are listed.
    pub tools: ToolFilter,
}

impl Default for ServerDefinition {
    fn default() -> Self {
        Self {
            command: None,
            args: Vec::new(),
            env: BTreeMap::new(),
            cwd: None,
            url: None,
            headers: BTreeMap::new(),
            transport: None,
            trust: ServerTrust::default(),
            catalog_mode: ServerCatalogMode::default(),
            disabled: false,
            start_timeout_ms: services::START_TIMEOUT_MS.default(),
            call_timeout_ms: services::CALL_TIMEOUT_MS.default(),
            tools: ToolFilter::default(),
        }
    }
}

/// The keys of an entry; two of them say the same twice.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct WrittenServer {
    command: Option<String>,
    args: Vec<String>,
    env: BTreeMap<String, Secret>,
    cwd: Option<String>,
    url: Option<String>,
    headers: BTreeMap<String, Secret>,
    transport: Option<Transport>,
    r#type: Option<Transport>,
    trust: ServerTrust,
    catalog_mode: ServerCatalogMode,
    disabled: Option<bool>,
    enabled: Option<bool>,
    start_timeout_ms: Option<u64>,
    call_timeout_ms: Option<u64>,
    tools: ToolFilter,
}

impl From<WrittenServer> for ServerDefinition {
    fn from(written: WrittenServer) -> Self {
        let defaults = Self::default();
        Self {
            command: written.command,
            args: written.args,
            env: written.env,
            cwd: written.cwd,
            url: written.url,
            headers: written.headers,
            transport: written.transport.or(written.r#type),
            trust: written.trust,
            catalog_mode: written.catalog_mode,
            disabled: written.disabled == Some(true) || written.enabled == Some(false),
            start_timeout_ms: written
                .start_timeout_ms
                .unwrap_or(defaults.start_timeout_ms),
            call_timeout_ms: written.call_timeout_ms.unwrap_or(defaults.call_timeout_ms),
            tools: written.tools,
        }
    }
}

impl ServerDefinition {
    /// Whether it can be started, with variables from `lookup`.
    pub fn resolve(&self, lookup: Lookup<'_>) -> ServerState {
        if self.disabled {
            return ServerState::Disabled;
        }
        let endpoint = match self.chosen_transport() {
            Ok(Transport::Stdio) => self.stdio(lookup),
            Ok(transport) => self.http(lookup, transport == Transport::Sse),
            Err(reason) => return ServerState::Invalid { reason },
        };
        match endpoint {
            Ok(endpoint) => match endpoint.fault() {
                Some(reason) => ServerState::Invalid { reason },
                None => ServerState::Ready(endpoint),
            },
            Err(needs) => ServerState::NeedsConfiguration(needs),
        }
    }

    /// The transport that was said, or the one that fits what is there.
    pub(crate) fn chosen_transport(&self) -> Result<Transport, String> {
        let fault = |text: &str| Err(text.to_owned());
        match (self.transport, &self.command, &self.url) {
            (Some(Transport::Stdio), None, _) => {
                fault("transport is stdio, but `command` is missing")
            }
            (Some(Transport::Http | Transport::Sse), _, None) => {
                fault("transport is HTTP, but `url` is missing")
            }
            (Some(transport), _, _) => Ok(transport),
            (None, Some(_), Some(_)) => {
                fault("has both `command` and `url`; remove one or set `transport`")
            }
            (None, Some(_), None) => Ok(Transport::Stdio),
            (None, None, Some(_)) => Ok(Transport::Http),
            (None, None, None) => fault("has neither `command` nor `url`; it needs one of them"),
        }
    }

    fn stdio(&self, lookup: Lookup<'_>) -> Result<Endpoint, NeedsConfiguration> {
        let args = self.args.iter().enumerate().map(|(index, arg)| {
            let field = KeyPath::default().key("args").index(index);
            filled(arg, &field, lookup)
        });
        let optional = |value: &Option<String>, name: &str| match value {
            Some(value) => filled(value, &KeyPath::default().key(name), lookup).map(Some),
            None => Ok(None),
        };
        Ok(Endpoint::Stdio {
            command: optional(&self.command, "command")?.unwrap_or_else(|| Expanded::new("", "")),
            args: args.collect::<Result<_, _>>()?,
            env: filled_secrets(&self.env, "env", lookup)?,
            cwd: optional(&self.cwd, "cwd")?,
        })
    }

    fn http(&self, lookup: Lookup<'_>, sse: bool) -> Result<Endpoint, NeedsConfiguration> {
        let url = self.url.as_deref().unwrap_or_default();
        Ok(Endpoint::Http {
            url: filled(url, &KeyPath::default().key("url"), lookup)?,
            headers: filled_secrets(&self.headers, "headers", lookup)?,
            sse,
        })
    }

    /// The entry as the file would hold it, keys that say the default left out.
    ///
    /// This shows `env` and `headers`: write it to the user's own file and print it nowhere.
    pub fn to_file_json(&self) -> Value {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| {
            let empty = match &value {
                Value::Null => true,
                Value::Array(items) => items.is_empty() && key != "tools",
                Value::Object(members) => members.is_empty(),
                _ => false,
            };
            if !empty {
                entry.insert(key.to_owned(), value);
            }
        };
        let defaults = Self::default();
        let changed = |value: u64, default: u64| (value != default).then_some(value);
        let guessed = Self {
            transport: None,
            ..self.clone()
        }
        .chosen_transport()
        .ok();
        let transport = self
            .transport
            .filter(|transport| Some(*transport) != guessed);
        put("command", json!(self.command));
        put("args", json!(self.args));
        put("env", exposed(&self.env));
        put("cwd", json!(self.cwd));
        put("url", json!(self.url));
        put("headers", exposed(&self.headers));
        put("transport", json!(transport.map(Transport::as_str)));
        put(
            "trust",
            json!((self.trust == ServerTrust::Trusted).then_some("trusted")),
        );
        let direct = self.catalog_mode == ServerCatalogMode::DirectOnly;
        put("catalogMode", json!(direct.then_some("direct-only")));
        put("disabled", json!(self.disabled.then_some(true)));
        put(
            "startTimeoutMs",
            json!(changed(self.start_timeout_ms, defaults.start_timeout_ms)),
        );
        put(
            "callTimeoutMs",
            json!(changed(self.call_timeout_ms, defaults.call_timeout_ms)),
        );
        put("tools", self.tools.to_file_json());
        Value::Object(entry)
    }
}

impl ToolFilter {
    fn to_file_json(&self) -> Value {
        match (&self.allow, self.deny.as_slice()) {
            (None, []) => Value::Null,
            (Some(allow), []) => json!(allow),
            (None, deny) => json!({ "deny": deny }),
            (Some(allow), deny) => json!({ "allow": allow, "deny": deny }),
        }
    }
}

impl Endpoint {
    /// Why no process or request could be made of this, if so.
    fn fault(&self) -> Option<String> {
        let fault = |text: &str| Some(text.to_owned());
        match self {
            Self::Stdio { command, .. } if command.expose().trim().is_empty() => {
                fault("`command` is empty")
            }
            Self::Stdio {
                command,
                args,
                env,
                cwd,
            } => {
                let texts = [command]
                    .into_iter()
                    .chain(args)
                    .chain(cwd)
                    .map(Expanded::expose);
                let bad_name = |name: &String| name.is_empty() || name.contains(['=', '\0']);
                if env.keys().any(bad_name) {
                    return fault("`env` has a name that is empty or holds `=`");
                }
                let zero = texts
                    .chain(env.values().map(Secret::expose))
                    .any(|t| t.contains('\0'));
                zero.then(|| "a value holds a zero byte".to_owned())
            }
            Self::Http { url, .. } => {
                let lower = url.expose().to_ascii_lowercase();
                let http = lower.starts_with("http://") || lower.starts_with("https://");
                (!http).then(|| format!("`url` must start with http:// or https://, not {url}"))
            }
        }
    }
}

pub(crate) fn filled(
    template: &str,
    field: &KeyPath,
    lookup: Lookup<'_>,
) -> Result<Expanded, NeedsConfiguration> {
    match expand(template, lookup) {
        Ok(value) => Ok(Expanded::new(value, template)),
        Err(unset) => Err(NeedsConfiguration {
            variable: unset.variable,
            field: field.to_string(),
        }),
    }
}

fn filled_secrets(
    templates: &BTreeMap<String, Secret>,
    field: &str,
    lookup: Lookup<'_>,
) -> Result<BTreeMap<String, Secret>, NeedsConfiguration> {
    let fill = |(name, template): (&String, &Secret)| {
        let field = KeyPath::from(vec![Step::Key(field.to_owned()), Step::Key(name.clone())]);
        let value = filled(template.expose(), &field, lookup)?;
        Ok((name.clone(), Secret::new(value.expose())))
    };
    templates.iter().map(fill).collect()
}

fn exposed(secrets: &BTreeMap<String, Secret>) -> Value {
    secrets
        .iter()
        .map(|(name, secret)| (name.clone(), Value::from(secret.expose())))
        .collect()
}
