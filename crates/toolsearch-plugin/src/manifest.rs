//! What a manifest says. Reading is strict: a typo costs this plugin and is told, rather than being
//! skipped in silence.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use toolsearch_catalog::{Annotations, CatalogMode, Execution, Source, ToolDescriptor};

use crate::MAX_TOOLS;
use crate::error::PluginError;
use crate::hook::HookMoment;
use crate::read::{Fields, invalid};

const MAX_WORDS: usize = 256;
const MAX_WORD_BYTES: usize = 16 * 1024;
const MAX_VARIABLES: usize = 100;
const MAX_TIMEOUT_MS: u64 = 3_600_000;

const NAME: &str = "1 to 64 letters, digits, `_`, `-` or `.`, starting with a letter or digit";
const COMMAND: &str = "a list of texts: the program and its arguments";
const SCHEMA: &str = "a JSON Schema: an object, or true or false";
const VARIABLES: &str = "a list of names of environment variables";
const TIMEOUT: &str = "a whole number of milliseconds from 1 to 3600000";
const FLAG: &str = "true or false";
const GLOBS: &str = "a list of globs of tools";
const ON_FAILURE: &str = "`closed` or `open`";

/// Most hooks of one plugin before calls, and as many after them.
const MAX_HOOKS: usize = 100;
/// How long a hook may take that says nothing.
const HOOK_TIMEOUT: Duration = Duration::from_secs(10);

/// A manifest that has been read and found whole.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Manifest {
    /// The plugin's name: the owner part of its tools' ids.
    pub name: String,
    /// What the plugin says about itself; may be empty.
    pub description: String,
    /// The plugin's folder: commands run there.
    pub folder: PathBuf,
    /// The tools in the order of the manifest, names distinct.
    pub tools: Vec<PluginTool>,
    /// The hooks: those before calls first, each group in the order of the manifest.
    pub hooks: Vec<PluginHook>,
}

/// One hook of a plugin. Whoever puts the parts together decides which tools its globs stand for.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PluginHook {
    /// Shown where the hook is reported: `plugin NAME: HOOK`.
    pub name: String,
    /// When it is run.
    pub moment: HookMoment,
    /// Globs of the tools that it sees, as written; empty: all.
    pub matcher: Vec<String>,
    /// What runs it.
    pub command: ToolCommand,
    /// How long it may take.
    pub timeout: Duration,
    /// Whether a failing hook lets the call go on.
    pub may_fail: bool,
}

/// One tool of a plugin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PluginTool {
    /// What is known about it.
    pub descriptor: Arc<ToolDescriptor>,
    /// What runs it.
    pub command: ToolCommand,
}

/// What runs a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolCommand {
    /// The program: a name that is looked up in `PATH`, or a path; a relative one starts at the
    /// plugin's folder.
    pub program: String,
    /// Its arguments.
    pub args: Vec<String>,
    /// How long it may take, when less than the caller allows.
    pub timeout: Option<Duration>,
    /// Environment variables that are passed on, besides `PATH`.
    pub env: BTreeSet<String>,
}

/// What holds for every tool that says nothing else.
#[derive(Debug, Default)]
struct Defaults {
    command: Option<Vec<String>>,
    timeout: Option<Duration>,
    env: BTreeSet<String>,
}

impl Manifest {
    /// Reads a manifest that was parsed already; `folder` is where it was found.
    ///
    /// `command`, `timeoutMs` and `env` beside `tools` hold for every tool and hook; `env` of one adds to
    /// them, the others replace them.
    ///
    /// # Errors
    /// [`PluginError`] with the first fault.
    pub fn from_value(value: Value, folder: impl Into<PathBuf>) -> Result<Self, PluginError> {
        let mut fields = Fields::new(value, "")?;
        let name = name(&mut fields)?;
        let description = fields.text("description")?;
        let defaults = Defaults {
            command: fields.optional("command", COMMAND, command)?,
            timeout: fields.optional("timeoutMs", TIMEOUT, timeout)?,
            env: fields
                .optional("env", VARIABLES, variables)?
                .unwrap_or_default(),
        };
        let expected = "a list of tools";
        // A plugin may be hooks alone.
        let hooks = match fields.take("hooks") {
            Some(hooks) => read_hooks(Fields::new(hooks, "hooks")?, &name, &defaults)?,
            None => Vec::new(),
        };
        let tools = match fields.take("tools") {
            Some(Value::Array(tools)) => tools,
            None if !hooks.is_empty() => Vec::new(),
            Some(other) => return Err(invalid("tools".to_owned(), expected, &other)),
            None => {
                let key = "tools".to_owned();
                return Err(PluginError::Missing { key, expected });
            }
        };
        fields.finish()?;
        if tools.len() > MAX_TOOLS {
            return Err(PluginError::TooMany {
                found: tools.len(),
                most: MAX_TOOLS,
            });
        }
        Ok(Self {
            tools: read_tools(tools, &name, &defaults)?,
            name,
            description: description.unwrap_or_default(),
            folder: folder.into(),
            hooks,
        })
    }
}

fn read_hooks(
    mut fields: Fields,
    plugin: &str,
    defaults: &Defaults,
) -> Result<Vec<PluginHook>, PluginError> {
    let mut hooks = Vec::new();
    for (key, moment) in [
        ("before_tool_call", HookMoment::Before),
        ("after_tool_call", HookMoment::After),
    ] {
        let expected = "a list of at most 100 hooks";
        let list = match fields.take(key) {
            None => continue,
            Some(Value::Array(list)) if list.len() <= MAX_HOOKS => list,
            Some(other) => return Err(invalid(fields.key(key), expected, &other)),
        };
        for (index, value) in list.into_iter().enumerate() {
            let place = format!("hooks.{key}[{index}]");
            let hook = hook(Fields::new(value, &place)?, plugin, moment, index, defaults)?;
            hooks.push(hook);
        }
    }
    fields.finish()?;
    Ok(hooks)
}

fn hook(
    mut fields: Fields,
    plugin: &str,
    moment: HookMoment,
    index: usize,
    defaults: &Defaults,
) -> Result<PluginHook, PluginError> {
    let own = match fields.take("name") {
        None => format!("{} {}", moment.event(), index + 1),
        Some(value) => match value.as_str().filter(|name| is_name(name)) {
            Some(name) => name.to_owned(),
            None => return Err(invalid(fields.key("name"), NAME, &value)),
        },
    };
    let matcher = fields.optional("matcher", GLOBS, |value| texts(value, MAX_WORDS))?;
    let may_fail = fields.optional("onFailure", ON_FAILURE, |value| match value.as_str()? {
        "closed" => Some(false),
        "open" => Some(true),
        _ => None,
    })?;
    let mut command = command_of(&mut fields, defaults)?;
    fields.finish()?;
    Ok(PluginHook {
        name: format!("plugin {plugin}: {own}"),
        moment,
        matcher: matcher.unwrap_or_default(),
        timeout: command.timeout.take().unwrap_or(HOOK_TIMEOUT),
        command,
        may_fail: may_fail.unwrap_or(false),
    })
}

fn read_tools(
    tools: Vec<Value>,
    owner: &str,
    defaults: &Defaults,
) -> Result<Vec<PluginTool>, PluginError> {
    let mut seen = BTreeSet::new();
    let mut read = Vec::with_capacity(tools.len());
    for (index, value) in tools.into_iter().enumerate() {
        let place = format!("tools[{index}]");
        let tool = tool(Fields::new(value, &place)?, owner, defaults)?;
        let name = tool.descriptor.name.clone();
        if !seen.insert(name.clone()) {
            let key = format!("{place}.name");
            return Err(PluginError::Duplicate { key, name });
        }
        read.push(tool);
    }
    Ok(read)
}

fn tool(mut fields: Fields, owner: &str, defaults: &Defaults) -> Result<PluginTool, PluginError> {
    let name = name(&mut fields)?;
    let title = fields.text("title")?;
    let description = fields.text("description")?;
    let input = fields.required("inputSchema", SCHEMA)?;
    let input = schema(&input).ok_or_else(|| invalid(fields.key("inputSchema"), SCHEMA, &input))?;
    let output = fields.optional("outputSchema", SCHEMA, schema)?;
    let annotations = match fields.take("annotations") {
        Some(value) => annotations(Fields::new(value, &fields.key("annotations"))?)?,
        None => Annotations::default(),
    };
    let catalog_mode = fields.optional("catalogMode", "`searchable` or `direct-only`", word)?;
    let execution = fields.optional("execution", "`parallel` or `sequential`", execution)?;
    let command = command_of(&mut fields, defaults)?;
    let key = fields.key("name");
    fields.finish()?;
    let descriptor = ToolDescriptor::new(Source::Plugin, owner, &name, input);
    let mut descriptor =
        descriptor.map_err(|_| invalid(key, NAME, &Value::String(name.clone())))?;
    descriptor.title = title;
    descriptor.description = description.unwrap_or_default();
    descriptor.output_schema = output.map(Arc::new);
    descriptor.annotations = annotations;
    descriptor.catalog_mode = catalog_mode.unwrap_or_default();
    descriptor.execution = execution.unwrap_or_default();
    Ok(PluginTool {
        descriptor: Arc::new(descriptor),
        command,
    })
}

fn command_of(fields: &mut Fields, defaults: &Defaults) -> Result<ToolCommand, PluginError> {
    let own = fields.optional("command", COMMAND, command)?;
    let words = own
        .or_else(|| defaults.command.clone())
        .ok_or_else(|| PluginError::Missing {
            key: fields.key("command"),
            expected: COMMAND,
        })?;
    let timeout = fields.optional("timeoutMs", TIMEOUT, timeout)?;
    let mut env = defaults.env.clone();
    env.extend(
        fields
            .optional("env", VARIABLES, variables)?
            .unwrap_or_default(),
    );
    let mut words = words.into_iter();
    Ok(ToolCommand {
        program: words.next().unwrap_or_default(),
        args: words.collect(),
        timeout: timeout.or(defaults.timeout),
        env,
    })
}

fn name(fields: &mut Fields) -> Result<String, PluginError> {
    let value = fields.required("name", NAME)?;
    match value.as_str().filter(|name| is_name(name)) {
        Some(name) => Ok(name.to_owned()),
        None => Err(invalid(fields.key("name"), NAME, &value)),
    }
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len())
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
}

fn annotations(mut fields: Fields) -> Result<Annotations, PluginError> {
    let mut annotations = Annotations::default();
    annotations.read_only_hint = fields.optional("readOnlyHint", FLAG, Value::as_bool)?;
    annotations.destructive_hint = fields.optional("destructiveHint", FLAG, Value::as_bool)?;
    annotations.idempotent_hint = fields.optional("idempotentHint", FLAG, Value::as_bool)?;
    annotations.open_world_hint = fields.optional("openWorldHint", FLAG, Value::as_bool)?;
    fields.finish()?;
    Ok(annotations)
}

fn schema(value: &Value) -> Option<Value> {
    matches!(value, Value::Object(_) | Value::Bool(_)).then(|| value.clone())
}

fn word(value: &Value) -> Option<CatalogMode> {
    value.as_str()?.parse().ok()
}

fn execution(value: &Value) -> Option<Execution> {
    match value.as_str()? {
        "parallel" => Some(Execution::Parallel),
        "sequential" => Some(Execution::Sequential),
        _ => None,
    }
}

fn command(value: &Value) -> Option<Vec<String>> {
    let words = texts(value, MAX_WORDS)?;
    words
        .first()
        .is_some_and(|program| !program.is_empty())
        .then_some(words)
}

fn timeout(value: &Value) -> Option<Duration> {
    let ms = value.as_u64()?;
    (1..=MAX_TIMEOUT_MS)
        .contains(&ms)
        .then(|| Duration::from_millis(ms))
}

fn variables(value: &Value) -> Option<BTreeSet<String>> {
    let names = texts(value, MAX_VARIABLES)?;
    let legal = |name: &String| {
        !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    names.iter().all(legal).then(|| names.into_iter().collect())
}

/// A list of texts that can be handed to a process.
fn texts(value: &Value, most: usize) -> Option<Vec<String>> {
    let list = value.as_array().filter(|list| list.len() <= most)?;
    let text = |value: &Value| {
        let text = value.as_str()?;
        let fits = text.len() <= MAX_WORD_BYTES && !text.contains('\0');
        fits.then(|| text.to_owned())
    };
    list.iter().map(text).collect()
}
