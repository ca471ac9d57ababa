//! The settings as plain data: what the file says, with defaults for what it does not.
//!
//! Nothing here acts on a setting. Servers and providers have their variables filled in; globs,
//! groups and profiles are only carried.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::schema::services;
use crate::secret::{Expanded, Secret};
use crate::server::{NeedsConfiguration, Server, ServerState};
use crate::tool_search::ToolSearchSetting;

/// Everything a configuration file can say.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct Settings {
    /// Tool search and the rules for all agents.
    pub tools: Tools,
    /// Agents with rules of their own.
    pub agents: Agents,
    /// MCP servers by name, those that cannot be used included.
    pub mcp_servers: BTreeMap<String, Server>,
    /// Plugin folders as written; relative ones start at the folder of the file.
    pub plugins: Vec<String>,
    /// Command hooks.
    pub hooks: Hooks,
    /// Who is asked before a call.
    pub approvals: Approvals,
    /// Model providers by name.
    pub providers: BTreeMap<String, Provider>,
    /// The HTTP gateway.
    pub gateway: Gateway,
    /// How programs are held.
    pub sandbox: Sandbox,
    /// Session logs.
    pub telemetry: Telemetry,
    /// Where approvals and remembered definitions are kept.
    pub store: Store,
}

impl Settings {
    /// The servers that are not started, each with a short reason fit for a user or a model.
    pub fn unavailable_servers(&self) -> Vec<(&str, String)> {
        let reason = |state: &ServerState| match state {
            ServerState::Ready(_) => None,
            other => Some(other.to_string()),
        };
        self.mcp_servers
            .iter()
            .filter_map(|(name, server)| Some((name.as_str(), reason(&server.state)?)))
            .collect()
    }
}

/// Rules for tools. Which of them wins is the business of the policy.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Rules {
    /// Name of the profile to start from.
    pub profile: Option<String>,
    /// Globs of tools that may be used. Absent: no limit; empty: none.
    pub allow: Option<Vec<String>>,
    /// Globs of tools that may not be used.
    pub deny: Vec<String>,
    /// Globs of tools that need an approval for each call.
    pub ask: Vec<String>,
}

/// `tools`: tool search and the rules for all agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Tools {
    /// How tools are searched instead of listed.
    pub tool_search: ToolSearchSetting,
    /// Name of the profile to start from.
    pub profile: Option<String>,
    /// Globs of tools that may be used. Absent: no limit; empty: none.
    pub allow: Option<Vec<String>>,
    /// Globs of tools that may not be used.
    pub deny: Vec<String>,
    /// Globs of tools that need an approval for each call.
    pub ask: Vec<String>,
    /// Further rules for `provider` or `provider/model`.
    pub by_provider: BTreeMap<String, Rules>,
    /// Further rules for the sessions of a channel.
    pub by_channel: BTreeMap<String, Rules>,
    /// Further rules for work in a sandbox.
    pub sandbox: Rules,
    /// Further rules for subagents.
    pub subagents: Rules,
    /// Named groups of tools.
    pub groups: BTreeMap<String, Vec<String>>,
    /// Profiles of the user's own.
    pub profiles: BTreeMap<String, Rules>,
    /// What happens when an MCP tool changes its definition.
    pub pins: Pins,
}

/// `agents`: who may differ from the rest.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Agents {
    /// What holds for every agent.
    pub defaults: AgentDefaults,
    /// The agents, ids distinct.
    pub list: Vec<Agent>,
}

impl Agents {
    /// The agent of that id.
    pub fn get(&self, id: &str) -> Option<&Agent> {
        self.list.iter().find(|agent| agent.id == id)
    }
}

/// What holds for every agent unless it says otherwise.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentDefaults {
    /// Rules that narrow those for all.
    pub tools: AgentTools,
    /// Tool search, where it differs.
    pub tool_search: ToolSearchSetting,
}

/// One agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Agent {
    /// Its name, never empty.
    pub id: String,
    /// Rules that narrow those for all.
    pub tools: AgentTools,
    /// Tool search, where it differs.
    pub tool_search: ToolSearchSetting,
}

/// Rules of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct AgentTools {
    /// Name of the profile to start from.
    pub profile: Option<String>,
    /// Globs of tools that may be used. Absent: no limit; empty: none.
    pub allow: Option<Vec<String>>,
    /// Globs of tools that may not be used.
    pub deny: Vec<String>,
    /// Globs of tools that need an approval for each call.
    pub ask: Vec<String>,
    /// Further rules for `provider` or `provider/model`.
    pub by_provider: BTreeMap<String, Rules>,
}

/// What happens when an MCP tool changes its definition.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Pins {
    /// Nothing.
    Off,
    /// The change is told; `warn` in a file means the same.
    #[default]
    #[serde(alias = "warn")]
    Report,
    /// The tool is held back until it is approved again.
    Enforce,
}

/// `hooks`: commands that see every call.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Hooks {
    /// Run in order before a call; may change, block or ask.
    pub before_tool_call: Vec<Hook>,
    /// Run in order after a call; may redact or replace.
    pub after_tool_call: Vec<Hook>,
}

/// One command hook.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Hook {
    /// Shown where the hook is reported.
    pub name: Option<String>,
    /// Globs of tools it sees; empty: all.
    pub matcher: Vec<String>,
    /// Program to run.
    pub command: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// Time to answer, in milliseconds.
    pub timeout_ms: u64,
    /// What a failing hook means for the call.
    pub on_failure: OnFailure,
}

impl Default for Hook {
    fn default() -> Self {
        Self {
            name: None,
            matcher: Vec::new(),
            command: String::new(),
            args: Vec::new(),
            timeout_ms: services::HOOK_TIMEOUT_MS.default(),
            on_failure: OnFailure::default(),
        }
    }
}

/// What a failing hook means for the call. Complete: a call goes on or it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The call is blocked.
    #[default]
    Closed,
    /// The call goes on.
    Open,
}

/// `approvals`: who is asked.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Approvals {
    /// Who is asked where nothing else is said.
    pub mode: ApprovalMode,
    /// What is done where the mode is [`ApprovalMode::Elicit`] and the client cannot ask anybody.
    pub otherwise: Otherwise,
    /// Time to answer, in milliseconds; then the call is denied.
    pub timeout_ms: u64,
}

impl Default for Approvals {
    fn default() -> Self {
        Self {
            mode: ApprovalMode::default(),
            otherwise: Otherwise::default(),
            timeout_ms: services::APPROVAL_TIMEOUT_MS.default(),
        }
    }
}

/// Who is asked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ApprovalMode {
    /// The person behind the client.
    #[default]
    Elicit,
    /// Whoever looks at the queue.
    Queue,
    /// Nobody: what needs an approval is denied.
    Deny,
}

/// What is done where nobody can be asked through the client. Complete: a call waits or it does not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Otherwise {
    /// The call is denied.
    #[default]
    Deny,
    /// The call waits in the queue.
    Queue,
}

/// One model provider.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Provider {
    /// What it speaks.
    pub dialects: Vec<Dialect>,
    /// Address of its API.
    pub base_url: Expanded,
    /// Key sent to it. Absent: the client's own is passed on.
    pub api_key: Option<Secret>,
    /// Size of its context window, in tokens.
    pub context_tokens: Option<u64>,
    /// Whether its own deferred tool loading is used.
    pub native_tool_search: NativeToolSearch,
    /// A variable it lacks; such a provider must not be used.
    pub needs: Option<NeedsConfiguration>,
}

/// A provider's wire form.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Dialect {
    /// Chat Completions.
    OpenaiChat,
    /// Responses.
    OpenaiResponses,
    /// Messages.
    AnthropicMessages,
}

/// Whether a provider's own deferred tool loading is used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum NativeToolSearch {
    /// Where it is known to work.
    #[default]
    Auto,
    /// Always.
    On,
    /// Never.
    Off,
}

/// `gateway`: the HTTP door.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Gateway {
    /// Address and port to listen on.
    pub listen: String,
    /// Host names that it answers to besides its address.
    pub hosts: Vec<String>,
    /// Pages that may ask it.
    pub origins: Vec<String>,
    /// Its certificate; plain HTTP without one.
    pub tls: Option<GatewayTls>,
    /// Who may use it.
    pub auth: GatewayAuth,
    /// What one gateway takes on.
    pub limits: GatewayLimits,
}

impl Default for Gateway {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7332".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            tls: None,
            auth: GatewayAuth::default(),
            limits: GatewayLimits::default(),
        }
    }
}

/// The certificate of the gateway. Paths are as written; relative ones start at the folder of the file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayTls {
    /// PEM file with the chain of certificates.
    pub cert: String,
    /// PEM file with the private key.
    pub key: String,
}

/// Who may use the gateway.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayAuth {
    /// Bearer tokens, known by their hashes.
    pub tokens: Vec<GatewayToken>,
    /// The address of the gateway as callers see it, for clients that look for the way to a token.
    pub resource: Option<String>,
    /// Who gives out tokens, told to such clients.
    pub authorization_servers: Vec<String>,
}

/// A bearer token.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayToken {
    /// Shown in logs.
    pub name: String,
    /// SHA-256 of the token, 64 hex digits.
    pub sha256: String,
    /// The agent it is bound to.
    pub agent: Option<String>,
}

/// What one gateway takes on.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// Largest request body.
    pub body_bytes: u64,
    /// Most sessions at a time.
    pub sessions: u64,
    /// Most requests of one token at a time.
    pub concurrent_per_token: u64,
    /// Most requests of one token in a second, on average.
    pub requests_per_second: u64,
    /// How long a session may be idle, in milliseconds.
    pub session_idle_ms: u64,
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            body_bytes: services::BODY_BYTES.default(),
            sessions: services::SESSIONS.default(),
            concurrent_per_token: services::CONCURRENT_PER_TOKEN.default(),
            requests_per_second: services::REQUESTS_PER_SECOND.default(),
            session_idle_ms: services::SESSION_IDLE_MS.default(),
        }
    }
}

/// `telemetry`: session logs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Telemetry {
    /// Folder of the session logs as written; relative ones start at the folder of the file.
    pub dir: Option<String>,
    /// How much of arguments and results is logged.
    pub capture: Capture,
}

/// How much of arguments and results is logged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Capture {
    /// Nothing of them.
    #[default]
    Metadata,
    /// With secrets taken out.
    Redacted,
    /// As they were.
    Full,
}

/// `sandbox`: how programs are held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Sandbox {
    /// Walls without which no program is run. Absent: those that each engine asks for by itself.
    pub require: Option<Vec<String>>,
}

/// `store`: where approvals and remembered definitions are kept.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct Store {
    /// Folder as written; relative ones start at the folder of the file. Absent: the user's state folder.
    pub dir: Option<String>,
}
