//! What tool search comes to for one agent on one command line and one catalog, each value with
//! the place it came from.

use std::fmt;

use serde_json::{Value, json};

use crate::schema::{Count, table};
use crate::settings::Settings;
use crate::tool_search::{
    ControlNameOptions, EngineChoice, SearchMode, SearchOptions, ToolSearchOptions,
    ToolSearchSetting,
};

/// Automatic mode shows a catalog directly up to this many tools …
pub const DIRECT_TOOLS: usize = 10;
/// … as long as their schemas have at most this many bytes together.
pub const DIRECT_SCHEMA_BYTES: usize = 4_000;

/// What a command line may say over the file. `mode` switches on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Overrides {
    /// On or off.
    pub enabled: Option<bool>,
    /// What the model is given.
    pub mode: Option<SearchMode>,
    /// What runs the model's programs.
    pub engine: Option<EngineChoice>,
    /// Time for one program, in milliseconds.
    pub code_timeout_ms: Option<u64>,
    /// Results of a search that names no limit.
    pub search_default_limit: Option<u64>,
    /// Most results of one search.
    pub max_search_limit: Option<u64>,
}

/// Where a value came from, strongest first.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A flag.
    CommandLine,
    /// `agents.list` of that agent.
    Agent(String),
    /// `agents.defaults`.
    AgentDefaults,
    /// `tools.toolSearch`.
    File,
    /// Built in.
    Default,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CommandLine => f.write_str("command line"),
            Self::Agent(id) => write!(f, "agent {id}"),
            Self::AgentDefaults => f.write_str("agents.defaults"),
            Self::File => f.write_str("file"),
            Self::Default => f.write_str("default"),
        }
    }
}

/// A value and where it came from. Open for matching: it is just the two.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub from: Origin,
}

/// Whether tool search is on. Complete: it is on, off, or left to the size of the catalog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Switch {
    /// On unless the catalog is small.
    Automatic,
    /// Off.
    Off,
    /// On.
    On,
}

impl Switch {
    fn as_str(self) -> &'static str {
        match self {
            Self::Automatic => "automatic",
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// Names of the control tools.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ControlNames {
    /// Searches.
    pub search: String,
    /// Describes.
    pub describe: String,
    /// Calls.
    pub call: String,
    /// Runs a program.
    pub code: String,
}

impl Default for ControlNames {
    fn default() -> Self {
        Self {
            search: "tool_search".to_owned(),
            describe: "tool_describe".to_owned(),
            call: "tool_call".to_owned(),
            code: "tool_search_code".to_owned(),
        }
    }
}

impl ControlNames {
    /// The first name that stands for two controls.
    pub(crate) fn repeated(&self) -> Option<&str> {
        let names = [&self.search, &self.describe, &self.call, &self.code];
        (1..names.len())
            .find(|at| names[..*at].contains(&names[*at]))
            .map(|at| names[at].as_str())
    }

    fn with(mut self, options: &ControlNameOptions) -> Self {
        let fill = |name: &mut String, option: &Option<String>| {
            if let Some(option) = option {
                name.clone_from(option);
            }
        };
        fill(&mut self.search, &options.search);
        fill(&mut self.describe, &options.describe);
        fill(&mut self.call, &options.call);
        fill(&mut self.code, &options.code);
        self
    }
}

/// Every value of tool search for one agent and one command line, with its origin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effective {
    /// Whether it is on.
    pub switch: Sourced<Switch>,
    /// What the model is given.
    pub mode: Sourced<SearchMode>,
    /// What runs the model's programs.
    pub engine: Sourced<EngineChoice>,
    /// Time for one program, in milliseconds.
    pub code_timeout_ms: Sourced<u64>,
    /// Results of a search that names no limit; never above `max_search_limit`.
    pub search_default_limit: Sourced<u64>,
    /// Most results of one search.
    pub max_search_limit: Sourced<u64>,
    /// Globs of tools that stay visible as well as searchable.
    pub always_visible: Sourced<Vec<String>>,
    /// Schemas that directory mode shows by a guess.
    pub likely_schemas: Sourced<u64>,
    /// Whether a hidden tool that is called by its exact name is run.
    pub hidden_calls: Sourced<bool>,
    /// Whether tools that do not say whether they only read are found by a search for tools that do.
    pub assume_read_only: Sourced<bool>,
    /// Names of the control tools.
    pub control_names: Sourced<ControlNames>,
    /// Whether and how meaning counts, value by value; comes from the strongest place that sets one.
    pub search: Sourced<SearchOptions>,
}

/// What tool search does for a catalog of a certain size.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Resolved {
    /// Whether tools are searched (or all shown directly).
    pub enabled: bool,
    /// Why, in a sentence for a person.
    pub why: String,
    /// What the model is given, when enabled.
    pub mode: SearchMode,
    /// What runs the model's programs.
    pub engine: EngineChoice,
    /// Time for one program, in milliseconds.
    pub code_timeout_ms: u64,
    /// Results of a search that names no limit.
    pub search_default_limit: usize,
    /// Most results of one search.
    pub max_search_limit: usize,
    /// Globs of tools that stay visible as well as searchable.
    pub always_visible: Vec<String>,
    /// Schemas that directory mode shows by a guess.
    pub likely_schemas: usize,
    /// Whether a hidden tool that is called by its exact name is run.
    pub hidden_calls: bool,
    /// Whether tools that do not say whether they only read are found by a search for tools that do.
    pub assume_read_only: bool,
    /// Names of the control tools.
    pub control_names: ControlNames,
}

/// An agent that the file does not list.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("agent `{id}` is not in agents.list{}", hint(known))]
#[non_exhaustive]
pub struct UnknownAgent {
    /// The id that was asked for.
    pub id: String,
    /// The ids that exist, the nearest first when one is near.
    pub known: Vec<String>,
}

fn hint(known: &[String]) -> String {
    match known {
        [] => ", which is empty; add it or leave the agent out".to_owned(),
        known => format!("; known: {}", known.join(", ")),
    }
}

impl Settings {
    /// What holds for an agent and a command line: command line over agent over
    /// `agents.defaults` over `tools.toolSearch` over built-in defaults, value by value.
    ///
    /// # Errors
    /// [`UnknownAgent`] when the file does not list the agent.
    pub fn effective(
        &self,
        agent: Option<&str>,
        overrides: &Overrides,
    ) -> Result<Effective, UnknownAgent> {
        let mut layers = vec![Layer::of_overrides(overrides)];
        if let Some(id) = agent {
            let agent = self.agents.get(id).ok_or_else(|| self.unknown_agent(id))?;
            layers.push(Layer::of(
                Origin::Agent(agent.id.clone()),
                &agent.tool_search,
            ));
        }
        layers.push(Layer::of(
            Origin::AgentDefaults,
            &self.agents.defaults.tool_search,
        ));
        layers.push(Layer::of(Origin::File, &self.tools.tool_search));
        Ok(Effective::from_layers(&layers))
    }

    fn unknown_agent(&self, id: &str) -> UnknownAgent {
        let mut known: Vec<String> = self.agents.list.iter().map(|a| a.id.clone()).collect();
        let near = crate::nearest::nearest(id, known.iter().map(String::as_str)).map(str::to_owned);
        known.sort_by_key(|known| (Some(known) != near.as_ref(), known.clone()));
        known.truncate(20);
        UnknownAgent {
            id: id.chars().take(100).collect(),
            known,
        }
    }
}

impl ToolSearchSetting {
    /// What this setting comes to alone, for a catalog of that size.
    pub fn resolve(&self, tools: usize, schema_bytes: usize) -> Resolved {
        Effective::from_layers(&[Layer::of(Origin::File, self)]).resolve(tools, schema_bytes)
    }
}

/// One place that may set values.
struct Layer {
    origin: Origin,
    switch: Option<Switch>,
    options: ToolSearchOptions,
}

impl Layer {
    fn of(origin: Origin, setting: &ToolSearchSetting) -> Self {
        let switch = match setting {
            ToolSearchSetting::Automatic => None,
            ToolSearchSetting::Off(_) => Some(Switch::Off),
            ToolSearchSetting::On(_) => Some(Switch::On),
        };
        Self {
            origin,
            switch,
            options: setting.options(),
        }
    }

    fn of_overrides(overrides: &Overrides) -> Self {
        let on = |enabled| if enabled { Switch::On } else { Switch::Off };
        let options = ToolSearchOptions {
            mode: overrides.mode,
            engine: overrides.engine,
            code_timeout_ms: overrides.code_timeout_ms,
            search_default_limit: overrides.search_default_limit,
            max_search_limit: overrides.max_search_limit,
            ..ToolSearchOptions::default()
        };
        let switch = overrides
            .enabled
            .map(on)
            .or(overrides.mode.map(|_| Switch::On));
        Self {
            origin: Origin::CommandLine,
            switch,
            options,
        }
    }
}

/// The value of the first layer that sets it, or the default.
fn pick<T>(layers: &[Layer], read: impl Fn(&Layer) -> Option<T>, default: T) -> Sourced<T> {
    let set = layers.iter().find_map(|layer| {
        read(layer).map(|value| Sourced {
            value,
            from: layer.origin.clone(),
        })
    });
    set.unwrap_or(Sourced {
        value: default,
        from: Origin::Default,
    })
}

impl Effective {
    fn from_layers(layers: &[Layer]) -> Self {
        let count = |read: fn(&ToolSearchOptions) -> Option<u64>, count: &Count| {
            pick(
                layers,
                |layer| read(&layer.options).map(|n| count.clamp(n)),
                count.default(),
            )
        };
        let max_search_limit = count(|o| o.max_search_limit, &table::MAX_SEARCH_LIMIT);
        let mut search_default_limit =
            count(|o| o.search_default_limit, &table::SEARCH_DEFAULT_LIMIT);
        if search_default_limit.value > max_search_limit.value {
            search_default_limit = max_search_limit.clone();
        }
        Self {
            switch: pick(layers, |layer| layer.switch, Switch::Automatic),
            mode: pick(layers, |layer| layer.options.mode, SearchMode::default()),
            engine: pick(
                layers,
                |layer| layer.options.engine,
                EngineChoice::default(),
            ),
            code_timeout_ms: count(|o| o.code_timeout_ms, &table::CODE_TIMEOUT_MS),
            search_default_limit,
            max_search_limit,
            always_visible: pick(layers, |l| l.options.always_visible.clone(), Vec::new()),
            likely_schemas: count(|o| o.likely_schemas, &table::LIKELY_SCHEMAS),
            hidden_calls: pick(layers, |layer| layer.options.hidden_calls, true),
            assume_read_only: pick(layers, |layer| layer.options.assume_read_only, false),
            control_names: control_names(layers),
            search: search(layers),
        }
    }

    /// The decision for a catalog of that many tools whose schemas have that many bytes together.
    pub fn resolve(&self, tools: usize, schema_bytes: usize) -> Resolved {
        let small = tools <= DIRECT_TOOLS && schema_bytes <= DIRECT_SCHEMA_BYTES;
        let size = format!("{tools} tools with {schema_bytes} bytes of schemas");
        let limit = format!("at most {DIRECT_TOOLS} tools and {DIRECT_SCHEMA_BYTES} bytes");
        let from = &self.switch.from;
        let (enabled, why) = match self.switch.value {
            Switch::On => (true, format!("switched on by {from}")),
            Switch::Off => (false, format!("switched off by {from}")),
            Switch::Automatic if small => (
                false,
                format!("automatic: {size} are shown directly ({limit})"),
            ),
            Switch::Automatic => (
                true,
                format!("automatic: {size} are searched (over {limit})"),
            ),
        };
        Resolved {
            enabled,
            why,
            mode: self.mode.value,
            engine: self.engine.value,
            code_timeout_ms: self.code_timeout_ms.value,
            search_default_limit: small_count(self.search_default_limit.value),
            max_search_limit: small_count(self.max_search_limit.value),
            always_visible: self.always_visible.value.clone(),
            likely_schemas: small_count(self.likely_schemas.value),
            hidden_calls: self.hidden_calls.value,
            assume_read_only: self.assume_read_only.value,
            control_names: self.control_names.value.clone(),
        }
    }

    /// Every value as `{"value": …, "from": …}`, under the names of the file.
    pub fn to_json(&self) -> Value {
        fn entry<T>(sourced: &Sourced<T>, value: impl Into<Value>) -> Value {
            json!({ "value": value.into(), "from": sourced.from.to_string() })
        }
        let names = &self.control_names.value;
        let control_names = json!({
            "search": names.search, "describe": names.describe,
            "call": names.call, "code": names.code,
        });
        json!({
            "enabled": entry(&self.switch, self.switch.value.as_str()),
            "mode": entry(&self.mode, self.mode.value.as_str()),
            "engine": entry(&self.engine, self.engine.value.as_str()),
            "codeTimeoutMs": entry(&self.code_timeout_ms, self.code_timeout_ms.value),
            "searchDefaultLimit":
                entry(&self.search_default_limit, self.search_default_limit.value),
            "maxSearchLimit": entry(&self.max_search_limit, self.max_search_limit.value),
            "alwaysVisible": entry(&self.always_visible, self.always_visible.value.clone()),
            "likelySchemas": entry(&self.likely_schemas, self.likely_schemas.value),
            "hiddenCalls": entry(&self.hidden_calls, self.hidden_calls.value),
            "assumeReadOnly": entry(&self.assume_read_only, self.assume_read_only.value),
            "controlNames": entry(&self.control_names, control_names),
            "search": entry(&self.search, search_json(&self.search.value)),
        })
    }
}

/// The names of all layers together, weakest first, with the strongest layer that sets one.
fn control_names(layers: &[Layer]) -> Sourced<ControlNames> {
    let mut names = Sourced {
        value: ControlNames::default(),
        from: Origin::Default,
    };
    for layer in layers.iter().rev() {
        if let Some(options) = &layer.options.control_names {
            names = Sourced {
                value: names.value.with(options),
                from: layer.origin.clone(),
            };
        }
    }
    names
}

/// The values of all layers together, weakest first.
fn search(layers: &[Layer]) -> Sourced<SearchOptions> {
    let mut search = Sourced {
        value: SearchOptions::default(),
        from: Origin::Default,
    };
    for layer in layers.iter().rev() {
        if let Some(options) = &layer.options.search {
            search = Sourced {
                value: search.value.under(options),
                from: layer.origin.clone(),
            };
        }
    }
    let in_range = |time| table::SEARCH_TIMEOUT_MS.clamp(time);
    search.value.timeout_ms = search.value.timeout_ms.map(in_range);
    search
}

/// What holds, under the names of the file; never the key.
fn search_json(search: &SearchOptions) -> Value {
    let mut value = json!({
        "embedder": search.embedder.unwrap_or_default().as_str(),
        "timeoutMs": search.timeout_ms.unwrap_or(table::SEARCH_TIMEOUT_MS.default()),
    });
    let texts = [
        ("model", &search.model),
        ("baseUrl", &search.base_url),
        ("queryPrefix", &search.query_prefix),
        ("documentPrefix", &search.document_prefix),
    ];
    for (key, text) in texts {
        if let Some(text) = text {
            value[key] = Value::from(text.as_str());
        }
    }
    if let Some(dimensions) = search.dimensions {
        value["dimensions"] = Value::from(dimensions);
    }
    if let Some(multilingual) = search.multilingual {
        value["multilingual"] = Value::from(multilingual);
    }
    if let Some(key) = &search.api_key {
        value["apiKey"] = Value::from(key.to_string());
    }
    value
}

impl SearchOptions {
    /// How long a search waits for the vector of its query.
    #[must_use]
    pub fn timeout(&self) -> std::time::Duration {
        let time = self
            .timeout_ms
            .unwrap_or(table::SEARCH_TIMEOUT_MS.default());
        std::time::Duration::from_millis(time)
    }
}

/// The ranges of these counts end far below any `usize`.
fn small_count(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}
