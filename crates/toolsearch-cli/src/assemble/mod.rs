//! From the command line to sessions: configuration → sources → rules → runtime → session.

pub(crate) mod approver;
mod beside;
pub(crate) mod configuration;
mod folders;
pub(crate) mod gateway;
mod hooks;
mod indexing;
pub(crate) mod logs;
pub(crate) mod meaning;
pub(crate) mod models;
pub(crate) mod modes;
mod offline;
pub(crate) mod pins;
mod plugins;
pub(crate) mod policy;
pub(crate) mod proxy;
mod questions;
mod shelves;
pub(crate) mod sources;
pub(crate) mod store;

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use toolsearch::catalog::{ToolDescriptor, ToolId};
use toolsearch::invoke::Listing;
use toolsearch::mode::{ControlNames, Mode, SearchLimits};
use toolsearch::mode_tools::ToolsMode;
use toolsearch::policy::{Glob, Policy, Rules, Subject};
use toolsearch::runtime::{
    Compaction, Components, OpenError, OpenRequest, Options, Runtime, Session,
};
use toolsearch::telemetry::Recorder;
use toolsearch_config::{DIRECT_SCHEMA_BYTES, DIRECT_TOOLS, Effective, Pins, Switch};

use crate::cli::Common;
use crate::fault::Fault;
use crate::output::Output;

use self::configuration::Configuration;
use self::logs::SessionLogs;
use self::pins::Pinboard;
use self::sources::{Kind, Sources};

/// What the sessions are for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// One command of a person: logged, results given whole.
    Command,
    /// A model: logged, results within its budget.
    Model,
    /// A model that the person at this terminal started: as for any model, and the person can be asked.
    Agent,
    /// A demonstration, recorded as it says.
    Shown(Arc<dyn Recorder>),
    /// Only to measure something: not logged.
    Measuring,
}

/// The channel of sessions that are served over MCP, where the command line names none.
const MCP_CHANNEL: &str = "mcp";

/// Most bytes of a result that a person is given.
const COMMAND_RESULT_BYTES: usize = 64 << 20;

/// Everything that a command on tools needs.
#[derive(Debug)]
pub(crate) struct Assembled {
    pub(crate) configuration: Configuration,
    pub(crate) rules: Rules,
    pub(crate) subject: Subject,
    pub(crate) sources: Sources,
    pub(crate) runtime: Runtime,
    pins: Pinboard,
    logs: Option<Arc<SessionLogs>>,
}

impl Assembled {
    /// Reads the configuration and puts the parts together. Starts no server and no engine.
    pub(crate) fn new(common: &Common, purpose: Purpose, output: &Output) -> Result<Self, Fault> {
        let configuration = Configuration::read(common, output)?;
        let sources = Sources::new(&configuration, &common.tools)?;
        if sources.kind == Kind::Sample {
            let note = match &configuration.located.path {
                None => "no configuration was found; these are the built-in sample tools",
                Some(_) => {
                    "no servers or plugins are configured; these are the built-in sample tools"
                }
            };
            output.note(note);
        }
        let mut assembled = Self::of(configuration, sources, common.agent.as_deref(), purpose)?;
        assembled.place(common)?;
        Ok(assembled)
    }

    /// Puts the parts together for sources that are already known.
    pub(crate) fn of(
        configuration: Configuration,
        sources: Sources,
        agent: Option<&str>,
        purpose: Purpose,
    ) -> Result<Self, Fault> {
        let rules = policy::rules(&configuration.settings)?;
        let logs = match purpose {
            Purpose::Command | Purpose::Model | Purpose::Agent => logs::folder(&configuration)
                .map(SessionLogs::new)
                .map(Arc::new),
            Purpose::Shown(_) | Purpose::Measuring => None,
        };
        let channel = matches!(purpose, Purpose::Model).then_some(MCP_CHANNEL);
        let mut parts = components(&configuration, &purpose);
        parts.policy = Arc::new(rules.clone());
        parts.invokers = sources.invokers.clone();
        parts.hooks = hooks::hooks(&configuration)?;
        if let Some(logs) = &logs {
            parts.recorder = Arc::clone(logs) as Arc<dyn Recorder>;
        }
        let mut options = options(&configuration.effective);
        match purpose {
            Purpose::Command => options.result_bytes = COMMAND_RESULT_BYTES,
            Purpose::Shown(recorder) => parts.recorder = recorder,
            Purpose::Model | Purpose::Agent | Purpose::Measuring => {}
        }
        options.approval_timeout =
            Duration::from_millis(configuration.settings.approvals.timeout_ms);
        let runtime = Runtime::new(parts, options)
            .map_err(|error| Fault::configuration(error.to_string()))?;
        let mut subject = match agent {
            Some(agent) => Subject::agent(agent),
            None => Subject::anyone(),
        };
        subject.channel = channel.map(str::to_owned);
        let pins = Pinboard::new(
            store::store(&configuration),
            configuration.settings.tools.pins,
        );
        Ok(Self {
            configuration,
            rules,
            subject,
            sources,
            runtime,
            pins,
            logs,
        })
    }

    /// For whom a command line says that it works.
    pub(crate) fn place(&mut self, common: &Common) -> Result<(), Fault> {
        if common.channel.is_some() {
            self.subject.channel.clone_from(&common.channel);
        }
        self.subject.sandboxed = common.sandbox;
        if let Some(parent) = &common.parent {
            let agents = &self.configuration.settings.agents;
            if agents.get(parent).is_none() {
                let known: Vec<&str> = agents.list.iter().map(|one| one.id.as_str()).collect();
                let next = match known.is_empty() {
                    true => "add it under `agents.list` in the configuration file".to_owned(),
                    false => format!("agents are {}", known.join(", ")),
                };
                return Err(Fault::usage(format!("no agent is named `{parent}`")).next(next));
            }
            self.subject = self.subject.clone().below(Subject::agent(parent.as_str()));
        }
        Ok(())
    }

    /// A session for search, describe and call: no model sees its surface, so no engine is started
    /// for it.
    pub(crate) async fn open(&self) -> Result<Session, Fault> {
        self.open_listed(self.sources.list().await).await
    }

    /// The same over listings that are there already.
    pub(crate) async fn open_listed(&self, listings: Vec<Listing>) -> Result<Session, Fault> {
        let mut request = self.request(listings);
        let wanted = modes::mode(&self.configuration.effective);
        if wanted.needs_engine() {
            request.mode = Some(Arc::new(ToolsMode));
        }
        self.open_with(request).await
    }

    /// A session as a request asks for it.
    pub(crate) async fn open_with(&self, mut request: OpenRequest) -> Result<Session, Fault> {
        // Files are looked at, not agreed to.
        if self.sources.kind != Kind::Offline {
            self.pins.review(&mut request.listings).await;
        }
        self.runtime
            .open(request)
            .await
            .map_err(|error| match error {
                OpenError::Policy(fault) => policy::faulty(&fault),
                other => Fault::configuration(other.to_string()),
            })
    }

    /// Tools that changed their definition since somebody agreed to it, as far as this agent may know of
    /// them, and whether they are held back.
    pub(crate) async fn changed(&self) -> Vec<(ToolId, bool)> {
        let configured = &self.configuration.settings.tools;
        if configured.pins == Pins::Off || self.sources.kind == Kind::Offline {
            return Vec::new();
        }
        let changed = match self.pins.changed().await {
            Ok(changed) => changed,
            Err(error) => {
                tracing::warn!(%error, "remembered definitions cannot be read");
                return Vec::new();
            }
        };
        let listed = |id: &ToolId| {
            let servers = &self.configuration.settings.mcp_servers;
            let tool = ToolDescriptor::new(id.source(), id.owner(), id.name(), Value::Bool(true));
            servers.contains_key(id.owner())
                && tool.is_ok_and(|tool| !self.rules.decide(&self.subject, &tool).is_deny())
        };
        let held = configured.pins == Pins::Enforce;
        let changed = changed.into_keys().filter(listed);
        changed.map(|id| (id, held)).collect()
    }

    /// What a session over these listings is planned from.
    pub(crate) fn request(&self, listings: Vec<Listing>) -> OpenRequest {
        let mut request = OpenRequest::new(self.subject.clone(), listings);
        request.session = Some(logs::new_name(now_ms()));
        request
    }

    /// Whether everything could be recorded that should be.
    pub(crate) fn recorded(&self) -> bool {
        !self.logs.as_ref().is_some_and(|logs| logs.failed())
    }

    /// Ends servers and says when nothing could be recorded.
    pub(crate) async fn close(&self, output: &Output) {
        self.sources.shutdown().await;
        if !self.recorded() {
            output.warning("this session was not recorded: its log cannot be written");
        }
    }
}

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(since.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

fn components(configuration: &Configuration, purpose: &Purpose) -> Components {
    let effective = &configuration.effective;
    let engine = modes::engine(effective.engine.value, &configuration.settings.sandbox);
    let mut parts = toolsearch::recommended_with(engine);
    parts.mode = modes::mode(effective);
    parts.ranker = meaning::ranker(configuration, purpose);
    parts.approver = approver::approver(configuration, purpose);
    parts
}

/// The numbers and switches of the runtime from the settings in force.
fn options(effective: &Effective) -> Options {
    let mut options = Options::default();
    options.compaction = match effective.switch.value {
        Switch::On => Compaction::Always,
        Switch::Off => Compaction::Never,
        Switch::Automatic => Compaction::Above {
            tools: DIRECT_TOOLS,
            bytes: DIRECT_SCHEMA_BYTES,
        },
    };
    let small = |value: u64| usize::try_from(value).unwrap_or(usize::MAX);
    options.search = SearchLimits::new(
        small(effective.search_default_limit.value),
        small(effective.max_search_limit.value),
    );
    options.search.assume_read_only = effective.assume_read_only.value;
    options.names = names(effective);
    options.always_visible = effective
        .always_visible
        .value
        .iter()
        .map(|glob| Glob::new(glob.as_str()))
        .collect();
    options.hidden_calls = effective.hidden_calls.value;
    options.code.wall = Duration::from_millis(effective.code_timeout_ms.value);
    options
}

fn names(effective: &Effective) -> ControlNames {
    let written = &effective.control_names.value;
    let mut names = ControlNames::default();
    names.search.clone_from(&written.search);
    names.describe.clone_from(&written.describe);
    names.call.clone_from(&written.call);
    names.code.clone_from(&written.code);
    names
}

/// A mode by its settings, for whoever needs it apart from a runtime.
pub(crate) type SharedMode = Arc<dyn Mode>;
