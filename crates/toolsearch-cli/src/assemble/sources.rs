//! Where tools come from: running MCP servers, plugins, offline lists, or the sample when nothing
//! else is said.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::future::join_all;
use toolsearch::catalog::{CatalogMode, Source, Trust};
use toolsearch::invoke::{Invokers, Listing, Outage, OutageKind, Provider};
use toolsearch_config::{
    Endpoint, Expanded, Server, ServerCatalogMode, ServerDefinition, ServerState, ServerTrust,
};
use toolsearch_mcp::oauth::TokenStore;
use toolsearch_mcp::{
    HttpAddress, HttpTransport, McpServer, Secret, ServerSpec, ServerState as UpstreamState,
    ServerStatus, StartLimit, StdioCommand, ToolFilter,
};
use toolsearch_sample::Sample;

use crate::fault::Fault;

use super::configuration::{Configuration, variable};
use super::{folders, offline, plugins};

/// How deep this program may stand behind servers that it started itself.
const MAX_NESTING: u32 = 4;
/// The variable that counts it.
const NESTING: &str = "TOOLSEARCH_NESTING";
/// Servers that may begin to start at the same time, unless a call waits for one.
const MAX_STARTS: usize = 8;
/// The folder of the last tool lists, in the state folder.
const LISTS: &str = "lists";
/// The folder of tokens, in the state folder.
const TOKENS: &str = "tokens";

/// What the tools are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The tools that come with the program.
    Sample,
    /// Lists in files; nothing can be called.
    Offline,
    /// What the configuration names.
    Configured,
}

/// The sources of one process: who lists and who runs. A copy shares them.
#[derive(Debug, Clone)]
pub(crate) struct Sources {
    pub(crate) kind: Kind,
    /// Listings that do not change while the process runs.
    fixed: Vec<Listing>,
    pub(crate) servers: Vec<Arc<McpServer>>,
    pub(crate) invokers: Invokers,
    starts: StartLimit,
}

/// A source as it is now.
#[derive(Debug)]
pub(crate) struct Probe {
    pub(crate) listing: Listing,
    /// What a server says of itself; nothing for other sources, and for servers that cannot be started.
    pub(crate) status: Option<ServerStatus>,
    /// How long its list took.
    pub(crate) took: Option<Duration>,
}

impl Sources {
    /// The tools that come with the program.
    pub(crate) fn sample() -> Self {
        let sample = Arc::new(Sample::new());
        Self {
            kind: Kind::Sample,
            fixed: sample.listings(),
            servers: Vec::new(),
            invokers: sample.invokers(),
            starts: StartLimit::new(MAX_STARTS),
        }
    }

    /// The sources of the command line and the file. Starts nothing.
    pub(crate) fn new(configuration: &Configuration, tools: &[PathBuf]) -> Result<Self, Fault> {
        if !tools.is_empty() {
            return Ok(Self {
                kind: Kind::Offline,
                fixed: offline::read(tools)?,
                servers: Vec::new(),
                invokers: Invokers::new(),
                starts: StartLimit::new(MAX_STARTS),
            });
        }
        let settings = &configuration.settings;
        if settings.mcp_servers.is_empty() && settings.plugins.is_empty() {
            return Ok(Self::sample());
        }
        let nesting = nesting()?;
        let mut sources = Self {
            kind: Kind::Configured,
            fixed: Vec::new(),
            servers: Vec::new(),
            invokers: Invokers::new(),
            starts: StartLimit::new(MAX_STARTS),
        };
        for (name, server) in &settings.mcp_servers {
            sources.server(name, server, nesting);
        }
        sources.plugins(configuration);
        Ok(sources)
    }

    fn server(&mut self, name: &str, server: &Server, nesting: u32) {
        let outage =
            |kind, reason: &str| Listing::outage(Source::Mcp, Outage::new(name, kind, reason));
        let spec = match &server.state {
            ServerState::Ready(endpoint) => spec(name, server, endpoint),
            ServerState::Disabled => {
                let reason = server.state.to_string();
                self.fixed.push(outage(OutageKind::Disabled, &reason));
                return;
            }
            ServerState::NeedsConfiguration(needs) => {
                let reason = needs.to_string();
                self.fixed
                    .push(outage(OutageKind::NeedsConfiguration, &reason));
                return;
            }
            other => {
                self.fixed
                    .push(outage(OutageKind::Failed, &other.to_string()));
                return;
            }
        };
        let Some(mut spec) = spec else {
            let reason = "servers of this kind cannot be reached by this version";
            self.fixed.push(outage(OutageKind::Failed, reason));
            return;
        };
        if let toolsearch_mcp::Endpoint::Stdio(stdio) = &mut spec.endpoint {
            let inner = Secret::from((nesting + 1).to_string());
            stdio.env.insert(NESTING.to_owned(), inner);
        }
        spec.cache = folders::state().map(|state| state.join(LISTS));
        spec.start_limit = Some(self.starts.clone());
        let server = McpServer::new(spec);
        let invokers = std::mem::take(&mut self.invokers);
        self.invokers = invokers.bind(Source::Mcp, name, Arc::clone(&server) as _);
        self.servers.push(server);
    }

    fn plugins(&mut self, configuration: &Configuration) {
        for loaded in plugins::load(configuration) {
            match loaded {
                Ok(plugin) => {
                    self.fixed.push(plugin.listing());
                    self.invokers = plugin.bind(std::mem::take(&mut self.invokers));
                }
                Err(outage) => self.fixed.push(Listing::outage(Source::Plugin, outage)),
            }
        }
    }

    /// All tools now. Servers are asked at the same time, each within its own limits.
    pub(crate) async fn list(&self) -> Vec<Listing> {
        self.with_servers(join_all(self.servers.iter().map(Provider::list)).await)
    }

    /// All tools as far as they are known after `wait`. Servers whose tools are known from an earlier
    /// process are not waited for, and not started for this.
    pub(crate) async fn list_within(&self, wait: Duration) -> Vec<Listing> {
        let lists = self.servers.iter().map(async |server| {
            let known = server.list_cached().await;
            let status = server.status();
            let known = known.filter(|_| status.stale);
            match known {
                Some(mut known) if status.state == UpstreamState::Stopped => {
                    let reason = "not started yet; its tools are those of an earlier start";
                    let name = &server.spec().name;
                    known.outage = Some(Outage::new(name, OutageKind::Starting, reason));
                    known
                }
                Some(_) => server.list_within(Duration::ZERO).await,
                None => server.list_within(wait).await,
            }
        });
        self.with_servers(join_all(lists).await)
    }

    /// Every source with what can be said of it. Servers are started and asked at the same time.
    pub(crate) async fn probe(&self) -> Vec<Probe> {
        let ask = |server: &Arc<McpServer>| {
            let server = Arc::clone(server);
            async move {
                let started = Instant::now();
                let listing = server.list().await;
                Probe {
                    listing,
                    status: Some(server.status()),
                    took: Some(started.elapsed()),
                }
            }
        };
        let fixed = self.fixed.iter().map(|listing| Probe {
            listing: listing.clone(),
            status: None,
            took: None,
        });
        let mut probes: Vec<Probe> = fixed.collect();
        probes.extend(join_all(self.servers.iter().map(ask)).await);
        let key = |probe: &Probe| (probe.listing.source, probe.listing.owner.clone());
        probes.sort_by_key(key);
        probes
    }

    fn with_servers(&self, listed: Vec<Listing>) -> Vec<Listing> {
        let mut listings = self.fixed.clone();
        listings.extend(listed);
        listings.sort_by(|a, b| (a.source, &a.owner).cmp(&(b.source, &b.owner)));
        listings
    }

    /// Ends all servers and waits until nothing is left of them.
    pub(crate) async fn shutdown(&self) {
        join_all(self.servers.iter().map(|server| server.shutdown())).await;
    }
}

/// How many copies of this program stand before this one. A configuration whose servers include
/// `toolsearch serve` with the same configuration would start copies without end.
fn nesting() -> Result<u32, Fault> {
    let nesting = variable(NESTING).and_then(|depth| depth.parse().ok());
    match nesting.unwrap_or(0) {
        depth if depth >= MAX_NESTING => {
            let message = "this configuration starts toolsearch as a server of itself";
            Err(Fault::configuration(message)
                .next("give the inner `toolsearch serve` a file of its own with --config"))
        }
        depth => Ok(depth),
    }
}

/// Where tokens of logins are kept.
pub(crate) fn token_store() -> Option<TokenStore> {
    folders::state().map(|state| TokenStore::new(state.join(TOKENS)))
}

/// How the client has to reach a server that stands ready.
fn spec(name: &str, server: &Server, endpoint: &Endpoint) -> Option<ServerSpec> {
    let (endpoint, filled) = match endpoint {
        Endpoint::Stdio {
            command,
            args,
            env,
            cwd,
        } => {
            let words = args.iter().map(|arg| arg.expose().to_owned());
            let mut stdio = StdioCommand::new(command.expose(), words);
            stdio.cwd = cwd.as_ref().map(|cwd| Path::new(cwd.expose()).to_owned());
            for (name, value) in env {
                stdio.env.insert(name.clone(), Secret::from(value.expose()));
            }
            let filled: Vec<&Expanded> = [command].into_iter().chain(args).chain(cwd).collect();
            (toolsearch_mcp::Endpoint::Stdio(stdio), filled)
        }
        Endpoint::Http { url, headers, sse } => {
            let mut address = HttpAddress::new(url.expose());
            for (name, value) in headers {
                let value = Secret::from(value.expose());
                address.headers.insert(name.clone(), value);
            }
            if *sse {
                address.transport = HttpTransport::Sse;
            }
            address.tokens = token_store();
            (toolsearch_mcp::Endpoint::Http(address), vec![url])
        }
        _ => return None,
    };
    let mut spec = ServerSpec::new(name, endpoint);
    spec.secrets = filled
        .into_iter()
        .filter(|value| value.expose() != value.written())
        .map(|value| Secret::from(value.expose()))
        .collect();
    options(&mut spec, &server.definition);
    Some(spec)
}

fn options(spec: &mut ServerSpec, definition: &ServerDefinition) {
    spec.trust = match definition.trust {
        ServerTrust::Trusted => Trust::Trusted,
        ServerTrust::Untrusted => Trust::Untrusted,
    };
    if definition.catalog_mode == ServerCatalogMode::DirectOnly {
        spec.catalog_mode = CatalogMode::DirectOnly;
    }
    spec.start_timeout = Duration::from_millis(definition.start_timeout_ms);
    spec.list_timeout = spec.start_timeout;
    spec.call_timeout = Some(Duration::from_millis(definition.call_timeout_ms));
    let filter = &definition.tools;
    spec.tools = match filter.allow.as_deref() {
        // An empty list allows nothing; the client takes an empty one for all.
        Some([]) => ToolFilter::new(Vec::new(), vec!["*".to_owned()]),
        Some(allow) => ToolFilter::new(allow.to_vec(), filter.deny.clone()),
        None => ToolFilter::new(Vec::new(), filter.deny.clone()),
    };
}
