//! From a file to settings: parse, check, fill in variables, and the few rules that concern more
//! than one key.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::edit::get;
use crate::effective::Overrides;
use crate::error::{ConfigError, Problem, ProblemKind};
use crate::expand::Lookup;
use crate::json5::Document;
use crate::path::KeyPath;
use crate::schema::check::{Strictness, check};
use crate::secret::Secret;
use crate::server::{
    NeedsConfiguration, Server, ServerDefinition, ServerState, WrittenServer, filled,
};
use crate::settings::{
    Agents, Approvals, Dialect, Gateway, Hooks, NativeToolSearch, Provider, Sandbox, Settings,
    Store, Telemetry, Tools,
};

/// Settings and what there is to say about them.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// Numbers that were cut or replaced, servers and providers that cannot be used; in file order.
    pub warnings: Vec<Problem>,
    /// The file they came from; absent for built-in defaults.
    pub origin: Option<PathBuf>,
}

impl Loaded {
    /// What holds without any file.
    pub fn defaults() -> Self {
        Self::default()
    }

    /// Where relative paths of the file start.
    pub fn folder(&self) -> Option<&Path> {
        self.origin.as_deref().and_then(Path::parent)
    }
}

/// Reads a file from disk.
///
/// # Errors
/// As [`load_text`], and [`ConfigError::File`] when it cannot be read.
pub fn load(path: &Path, lookup: Lookup<'_>) -> Result<Loaded, ConfigError> {
    let text = crate::file::read(path)?;
    load_text(&text, path, lookup)
}

/// Reads the text of a file. `path` names it in messages and in [`Loaded::origin`]; it is not
/// opened.
///
/// # Errors
/// [`ConfigError::Invalid`] lists every fault that costs the whole file: grammar, duplicate and
/// unknown keys, wrong types. A faulty or unfinished server costs only itself and is a warning.
pub fn load_text(text: &str, path: &Path, lookup: Lookup<'_>) -> Result<Loaded, ConfigError> {
    let document = Document::parse(text, &path.display().to_string())?;
    let checked = check(&document, Strictness::Entry);
    let mut reader = Reader {
        document: &document,
        lookup,
        warnings: checked.warnings,
    };
    let mut errors = checked.errors;
    let settings = reader.settings(checked.value, checked.faulty, &mut errors);
    if !errors.is_empty() {
        errors.sort_by_key(|problem| problem.position);
        return Err(ConfigError::Invalid {
            file: document.file_name().to_owned(),
            problems: errors,
        });
    }
    reader.warnings.sort_by_key(|problem| problem.position);
    Ok(Loaded {
        settings,
        warnings: reader.warnings,
        origin: Some(path.to_owned()),
    })
}

/// Checks the text of a file more strictly than [`load_text`]: a faulty server is an error too.
/// Variables are not looked up.
///
/// # Errors
/// [`ConfigError::Invalid`] lists every fault.
pub fn validate(text: &str, file_name: &str) -> Result<(), ConfigError> {
    let document = Document::parse(text, file_name)?;
    let checked = check(&document, Strictness::File);
    let mut errors = checked.errors;
    let no_variables = |_: &str| None;
    let mut reader = Reader {
        document: &document,
        lookup: &no_variables,
        warnings: Vec::new(),
    };
    reader.settings(checked.value, BTreeMap::new(), &mut errors);
    if errors.is_empty() {
        return Ok(());
    }
    errors.sort_by_key(|problem| problem.position);
    Err(ConfigError::Invalid {
        file: file_name.to_owned(),
        problems: errors,
    })
}

/// The file after the check: types are right and numbers in range.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct WrittenSettings {
    tools: Tools,
    agents: Agents,
    mcp_servers: BTreeMap<String, Value>,
    plugins: Vec<String>,
    hooks: Hooks,
    approvals: Approvals,
    providers: BTreeMap<String, WrittenProvider>,
    gateway: Gateway,
    sandbox: Sandbox,
    telemetry: Telemetry,
    store: Store,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub(crate) struct WrittenProvider {
    dialects: Vec<Dialect>,
    base_url: String,
    api_key: Option<Secret>,
    context_tokens: Option<u64>,
    native_tool_search: NativeToolSearch,
}

struct Reader<'a> {
    document: &'a Document,
    lookup: Lookup<'a>,
    warnings: Vec<Problem>,
}

impl Reader<'_> {
    fn settings(
        &mut self,
        value: Value,
        faulty: BTreeMap<String, String>,
        errors: &mut Vec<Problem>,
    ) -> Settings {
        let written = match WrittenSettings::deserialize(value) {
            Ok(written) => written,
            Err(fault) if errors.is_empty() => {
                let root = KeyPath::default();
                errors.push(self.problem(&root, ProblemKind::BadValue, fault.to_string()));
                return Settings::default();
            }
            Err(_) => return Settings::default(),
        };
        let settings = Settings {
            tools: written.tools,
            agents: written.agents,
            mcp_servers: self.servers(written.mcp_servers, faulty),
            plugins: written.plugins,
            hooks: written.hooks,
            approvals: written.approvals,
            providers: self.providers(written.providers),
            gateway: written.gateway,
            sandbox: written.sandbox,
            telemetry: written.telemetry,
            store: written.store,
        };
        self.check_agents(&settings, errors);
        self.check_control_names(&settings, errors);
        settings
    }

    fn servers(
        &mut self,
        written: BTreeMap<String, Value>,
        faulty: BTreeMap<String, String>,
    ) -> BTreeMap<String, Server> {
        let mut servers = BTreeMap::new();
        for (name, value) in written {
            let server = match WrittenServer::deserialize(value) {
                Ok(written) => {
                    let definition = ServerDefinition::from(written);
                    let state = definition.resolve(self.lookup);
                    Server { definition, state }
                }
                Err(fault) => invalid_server(fault.to_string()),
            };
            self.warn_of_server(&name, &server.state);
            servers.insert(name, server);
        }
        servers.extend(
            faulty
                .into_iter()
                .map(|(name, reason)| (name, invalid_server(reason))),
        );
        servers
    }

    fn warn_of_server(&mut self, name: &str, state: &ServerState) {
        let entry = KeyPath::default().key("mcpServers").key(name);
        let (path, message) = match state {
            ServerState::Ready(_) | ServerState::Disabled => return,
            ServerState::Invalid { reason } => {
                (entry, format!("{reason}; this server is left out"))
            }
            ServerState::NeedsConfiguration(needs) => {
                (inside(&entry, needs), advice(needs, "server"))
            }
        };
        let kind = ProblemKind::Server {
            name: name.to_owned(),
        };
        let problem = self.problem(&path, kind, message);
        self.warnings.push(problem);
    }

    fn providers(
        &mut self,
        written: BTreeMap<String, WrittenProvider>,
    ) -> BTreeMap<String, Provider> {
        let mut providers = BTreeMap::new();
        for (name, written) in written {
            let provider = provider(written, self.lookup);
            if let Some(needs) = &provider.needs {
                let entry = KeyPath::default().key("providers").key(&name);
                let message = advice(needs, "provider");
                let problem = self.problem(&inside(&entry, needs), ProblemKind::BadValue, message);
                self.warnings.push(problem);
            }
            providers.insert(name, provider);
        }
        providers
    }

    fn check_agents(&self, settings: &Settings, errors: &mut Vec<Problem>) {
        let list = KeyPath::default().key("agents").key("list");
        for (index, agent) in settings.agents.list.iter().enumerate() {
            if settings.agents.list[..index]
                .iter()
                .any(|other| other.id == agent.id)
            {
                let path = list.index(index).key("id");
                let message = format!("agent `{}` stands twice; ids must differ", agent.id);
                errors.push(self.problem(&path, ProblemKind::BadValue, message));
            }
        }
    }

    /// Names may come together from the file and an agent, so the outcome is checked.
    fn check_control_names(&self, settings: &Settings, errors: &mut Vec<Problem>) {
        let agents = KeyPath::default().key("agents");
        let everywhere = (None, KeyPath::default().key("tools"));
        let listed = settings.agents.list.iter().enumerate();
        let each = listed.map(|(i, agent)| (Some(agent.id.as_str()), agents.key("list").index(i)));
        for (agent, path) in std::iter::once(everywhere).chain(each) {
            let Ok(effective) = settings.effective(agent, &Overrides::default()) else {
                continue;
            };
            if let Some(name) = effective.control_names.value.repeated() {
                let message = format!("`{name}` stands for two control tools; names must differ");
                let path = path.key("toolSearch").key("controlNames");
                errors.push(self.problem(&path, ProblemKind::BadValue, message));
                return;
            }
        }
    }

    /// A problem at the value of a path, or at the nearest value around it.
    fn problem(&self, path: &KeyPath, kind: ProblemKind, message: String) -> Problem {
        let steps = path.steps();
        let around = (0..=steps.len())
            .rev()
            .map(|n| KeyPath::from(steps[..n].to_vec()));
        let node = around.filter_map(|path| get(self.document, &path)).next();
        let offset = node.map_or(0, |node| node.span.start);
        let position = self.document.position(offset);
        Problem::new(
            self.document.file_name(),
            position,
            path.to_string(),
            kind,
            message,
        )
    }
}

fn invalid_server(reason: String) -> Server {
    Server {
        definition: ServerDefinition::default(),
        state: ServerState::Invalid { reason },
    }
}

fn provider(written: WrittenProvider, lookup: Lookup<'_>) -> Provider {
    let field = |name: &str| KeyPath::default().key(name);
    let base_url = filled(&written.base_url, &field("baseUrl"), lookup);
    let api_key = match &written.api_key {
        Some(key) => filled(key.expose(), &field("apiKey"), lookup).map(Some),
        None => Ok(None),
    };
    let needs = base_url.as_ref().err().or(api_key.as_ref().err()).cloned();
    let unfilled = crate::secret::Expanded::new("", written.base_url);
    Provider {
        dialects: written.dialects,
        base_url: base_url.unwrap_or(unfilled),
        api_key: api_key.ok().flatten().map(|key| Secret::new(key.expose())),
        context_tokens: written.context_tokens,
        native_tool_search: written.native_tool_search,
        needs,
    }
}

/// The path of a field inside an entry.
fn inside(entry: &KeyPath, needs: &NeedsConfiguration) -> KeyPath {
    let field: Option<KeyPath> = needs.field.parse().ok();
    let mut steps = entry.steps().to_vec();
    steps.extend(field.iter().flat_map(|field| field.steps().iter().cloned()));
    KeyPath::from(steps)
}

fn advice(needs: &NeedsConfiguration, what: &str) -> String {
    let variable = &needs.variable;
    if variable.contains(':') {
        return format!(
            "`{variable}` is known to an editor only; write `${{VARIABLE}}` and set that variable. \
             Until then this {what} is left out"
        );
    }
    format!(
        "variable `{variable}` is not set, so this {what} is left out; set it, or write \
         `${{{variable}:-default}}`"
    )
}
