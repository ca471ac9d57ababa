//! From the raw pages of a tool list to descriptors: tool by tool, so that one that cannot be read
//! is set aside by name and the others stay.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use rmcp::model::ServerPeerInfo;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{
    Annotations, Fingerprint, Rejected, RejectedReason, Source, ToolDescriptor, json_bytes,
};
use toolsearch_schema::headers::marked_arguments;

use crate::spec::{Endpoint, ServerSpec};
use crate::text::Redactor;

/// Pages of one list.
pub(crate) const MAX_PAGES: usize = 200;
/// Tools of one list, those that are left out included.
const MAX_TOOLS: usize = 20_000;
/// Bytes of one tool as JSON.
const MAX_TOOL_BYTES: usize = 1024 * 1024;
/// Bytes of all tools as JSON.
const MAX_LIST_BYTES: usize = 128 * 1024 * 1024;
const MAX_NAME_BYTES: usize = 1024;
const MAX_WARNINGS: usize = 20;
const MAX_NAME_CHARS: usize = 120;
/// Characters of what a server says about itself that help to find its tools.
const MAX_ABOUT_CHARS: usize = 400;

/// Everything that one complete list held.
#[derive(Debug, Clone)]
pub(crate) struct ToolList {
    pub(crate) tools: Vec<Arc<ToolDescriptor>>,
    pub(crate) rejected: Vec<Rejected>,
    pub(crate) warnings: Vec<String>,
    fingerprint: OnceLock<Fingerprint>,
    stale: OnceLock<Vec<Arc<ToolDescriptor>>>,
}

impl ToolList {
    /// The same tools, marked as coming from an earlier time: made once, so that all sessions share
    /// them.
    pub(crate) fn stale_tools(&self) -> &[Arc<ToolDescriptor>] {
        let stale = |tool: &Arc<ToolDescriptor>| match tool.stale {
            true => Arc::clone(tool),
            false => {
                let mut tool = ToolDescriptor::clone(tool);
                tool.stale = true;
                Arc::new(tool)
            }
        };
        self.stale
            .get_or_init(|| self.tools.iter().map(stale).collect())
    }

    /// Equal for lists with the same tools in the same order.
    pub(crate) fn fingerprint(&self) -> &Fingerprint {
        self.fingerprint.get_or_init(|| {
            let hashes: Vec<Fingerprint> =
                self.tools.iter().map(|tool| tool.fingerprint()).collect();
            Fingerprint::over(hashes.iter().map(|hash| hash.as_str().as_bytes()))
        })
    }
}

/// Reads pages until the list is over or too long.
#[derive(Debug)]
pub(crate) struct Collector<'a> {
    spec: &'a ServerSpec,
    redactor: &'a Redactor,
    about: Option<Arc<str>>,
    /// Arguments are repeated in headers: the server is at an address, and requests stand for
    /// themselves.
    repeats: bool,
    /// The list was given to an earlier process.
    stale: bool,
    /// The place of every name so far.
    seen: BTreeMap<String, usize>,
    cursors: Vec<String>,
    count: usize,
    bytes: usize,
    tools: Vec<Arc<ToolDescriptor>>,
    rejected: Vec<Rejected>,
    warnings: Vec<String>,
}

impl<'a> Collector<'a> {
    pub(crate) const fn new(spec: &'a ServerSpec, redactor: &'a Redactor) -> Self {
        Self {
            spec,
            redactor,
            about: None,
            repeats: false,
            stale: false,
            seen: BTreeMap::new(),
            cursors: Vec::new(),
            count: 0,
            bytes: 0,
            tools: Vec::new(),
            rejected: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Marks all tools as coming from an earlier time.
    pub(crate) const fn stale(mut self) -> Self {
        self.stale = true;
        self
    }

    /// Remembers what the server says about itself: its title, its description, and the first sentence
    /// of its instructions. It stands with every tool for the search and is shown to no one.
    pub(crate) fn about(&mut self, info: &ServerPeerInfo) {
        let stateless = !info.protocol_version.has_initialize();
        self.repeats = stateless && matches!(self.spec.endpoint, Endpoint::Http(_));
        let software = info.server_info.as_ref();
        let title = software.and_then(|software| software.title.as_deref());
        let description = software.and_then(|software| software.description.as_deref());
        let instructions = info.instructions.as_deref().map(first_sentence);
        let parts: Vec<&str> = [title, description, instructions]
            .into_iter()
            .flatten()
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect();
        let about = self.redactor.line(&parts.join(". "), MAX_ABOUT_CHARS);
        self.about = (!about.is_empty()).then(|| about.into());
    }

    /// Reads one page; gives the cursor of the next one to ask for.
    pub(crate) fn page(&mut self, mut page: Value) -> Option<String> {
        match page.get_mut("tools").map(Value::take) {
            Some(Value::Array(tools)) => {
                for tool in tools {
                    if !self.tool(tool) {
                        return None;
                    }
                }
            }
            _ => self.warn("a page of the tool list has no `tools` array".to_owned()),
        }
        let next = match page.get("nextCursor") {
            None | Some(Value::Null) => return None,
            Some(Value::String(next)) if next.is_empty() => return None,
            Some(Value::String(next)) => next.clone(),
            Some(_) => {
                self.warn("the cursor of the next page is no text; the list ends here".to_owned());
                return None;
            }
        };
        if self.cursors.contains(&next) {
            self.warn("the same cursor came twice; the list ends here".to_owned());
            return None;
        }
        if self.cursors.len() + 1 == MAX_PAGES {
            self.warn(format!(
                "more than {MAX_PAGES} pages of tools; the list ends here"
            ));
            return None;
        }
        self.cursors.push(next.clone());
        Some(next)
    }

    pub(crate) fn warn(&mut self, warning: String) {
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(warning);
        }
    }

    pub(crate) fn has_pages(&self) -> bool {
        !self.cursors.is_empty()
    }

    pub(crate) fn finish(self) -> ToolList {
        let Self {
            tools,
            rejected,
            warnings,
            ..
        } = self;
        ToolList {
            tools,
            rejected,
            warnings,
            fingerprint: OnceLock::new(),
            stale: OnceLock::new(),
        }
    }

    /// Takes one tool; false when the list has become too long.
    fn tool(&mut self, tool: Value) -> bool {
        self.count += 1;
        let bytes = json_bytes(&tool);
        self.bytes += bytes;
        if self.count > MAX_TOOLS || self.bytes > MAX_LIST_BYTES {
            self.warn(format!(
                "the list ends after {} tools: it is too long",
                self.count - 1
            ));
            return false;
        }
        let name = tool
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !name.is_empty() && (!self.spec.tools.accepts(&name) || is_for_apps_only(&tool)) {
            return true;
        }
        if bytes > MAX_TOOL_BYTES {
            self.reject(
                &name,
                format!("the definition is larger than {MAX_TOOL_BYTES} bytes"),
            );
            return true;
        }
        match descriptor(self.spec, tool).and_then(|tool| self.callable(tool)) {
            Ok(mut tool) => {
                tool.owner_description.clone_from(&self.about);
                tool.stale = self.stale;
                self.add(tool);
            }
            Err(reason) => self.reject(&name, reason),
        }
        true
    }

    /// A call that cannot be sent as the protocol asks is not made at all.
    fn callable(&self, tool: ToolDescriptor) -> Result<ToolDescriptor, String> {
        if self.repeats {
            marked_arguments(&tool.input_schema).map_err(|fault| fault.to_string())?;
        }
        Ok(tool)
    }

    fn add(&mut self, tool: ToolDescriptor) {
        if let Some(first) = self.seen.get(&tool.name) {
            let name = self.printable(&tool.name);
            if self.tools[*first].fingerprint() == tool.fingerprint() {
                self.warn(format!("the tool `{name}` came twice"));
            } else {
                let reason = RejectedReason::DuplicateId(tool.id);
                self.rejected
                    .push(Rejected::new(&self.spec.name, &name, reason));
            }
            return;
        }
        self.seen.insert(tool.name.clone(), self.tools.len());
        self.tools.push(Arc::new(tool));
    }

    fn reject(&mut self, name: &str, reason: String) {
        let name = match self.printable(name) {
            name if name.is_empty() => format!("tool number {}", self.count),
            name => name,
        };
        let reason = RejectedReason::Unreadable(reason);
        self.rejected
            .push(Rejected::new(&self.spec.name, &name, reason));
    }

    fn printable(&self, name: &str) -> String {
        self.redactor.line(name, MAX_NAME_CHARS)
    }
}

/// What stands before the first end of a sentence or of a line that says something.
fn first_sentence(text: &str) -> &str {
    let text = text.trim_start();
    let ends = [". ", "! ", "? ", "\n", "。"];
    let end = ends.iter().filter_map(|end| text.find(end)).min();
    &text[..end.unwrap_or(text.len())]
}

/// Reads one tool.
fn descriptor(spec: &ServerSpec, tool: Value) -> Result<ToolDescriptor, String> {
    let Value::Object(mut tool) = tool else {
        return Err("the definition is no object".to_owned());
    };
    let Some(Value::String(name)) = tool.shift_remove("name") else {
        return Err("the name is missing or no text".to_owned());
    };
    if name.len() > MAX_NAME_BYTES {
        return Err(format!("the name is longer than {MAX_NAME_BYTES} bytes"));
    }
    let schema = input_schema(tool.shift_remove("inputSchema"))?;
    let mut read = ToolDescriptor::new(Source::Mcp, &spec.name, &name, schema)
        .map_err(|error| error.to_string())?;
    let hints = match tool.shift_remove("annotations") {
        Some(Value::Object(hints)) => hints,
        _ => Map::new(),
    };
    read.title = text(tool.shift_remove("title")).or_else(|| text(hints.get("title").cloned()));
    read.description = text(tool.shift_remove("description")).unwrap_or_default();
    read.output_schema = match tool.shift_remove("outputSchema") {
        Some(schema @ Value::Object(_)) => Some(Arc::new(schema)),
        _ => None,
    };
    read.annotations = annotations(&hints);
    read.meta = tool;
    read.trust = spec.trust;
    read.catalog_mode = spec.catalog_mode;
    Ok(read)
}

/// A missing schema means no arguments; `true` means any.
fn input_schema(schema: Option<Value>) -> Result<Value, String> {
    match schema {
        None | Some(Value::Null) => Ok(json!({ "type": "object", "properties": {} })),
        Some(Value::Bool(true)) => Ok(json!({ "type": "object" })),
        Some(schema @ Value::Object(_)) => Ok(schema),
        Some(Value::Bool(false)) => {
            Err("inputSchema is `false`: no call could be right".to_owned())
        }
        Some(_) => Err("inputSchema is no JSON Schema: it must be an object".to_owned()),
    }
}

fn annotations(hints: &Map<String, Value>) -> Annotations {
    let hint = |key: &str| hints.get(key).and_then(Value::as_bool);
    let mut annotations = Annotations::default();
    annotations.read_only_hint = hint("readOnlyHint");
    annotations.destructive_hint = hint("destructiveHint");
    annotations.idempotent_hint = hint("idempotentHint");
    annotations.open_world_hint = hint("openWorldHint");
    annotations
}

/// Whether a tool is meant for the user interface of an MCP app and not for models.
pub(crate) fn is_for_apps_only(tool: &Value) -> bool {
    let visibility = tool
        .pointer("/_meta/ui/visibility")
        .and_then(Value::as_array);
    visibility.is_some_and(|who| {
        let has = |name: &str| who.iter().any(|one| one.as_str() == Some(name));
        has("app") && !has("model")
    })
}

fn text(value: Option<Value>) -> Option<String> {
    match value {
        Some(Value::String(text)) if !text.is_empty() => Some(text),
        _ => None,
    }
}
