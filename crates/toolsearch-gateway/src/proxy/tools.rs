//! The tools that clients send, read once for as long as they stay the same; and what a model is shown
//! in their place.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;
use sha2::{Digest, Sha256};
use toolsearch_catalog::{Source, ToolDescriptor, ToolId};
use toolsearch_dialect::{Declaration, Dialect, Native, Offer, Offered, Refusal};
use toolsearch_invoke::Listing;
use toolsearch_mode::{Role, SurfaceTool};
use toolsearch_runtime::Session;

/// Most different lists of tools that are kept at hand.
const AT_HAND: usize = 256;

/// Tells lists of tools apart.
pub(crate) type ToolsKey = [u8; 32];

/// The tools of a client.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) key: ToolsKey,
    pub(crate) offer: Offer,
    pub(crate) listing: Listing,
    places: BTreeMap<ToolId, usize>,
}

impl Tools {
    fn new(key: ToolsKey, offer: Offer) -> Result<Self, Refusal> {
        let mut tools: Vec<Arc<ToolDescriptor>> = Vec::with_capacity(offer.tools.len());
        let mut places = BTreeMap::new();
        for (place, offered) in offer.tools.iter().enumerate() {
            let tool = offered.descriptor().map_err(|error| {
                let message = format!("`{}` cannot be taken: {error}", offered.name);
                Refusal::invalid(message).coded("invalid_tool_name")
            })?;
            if places.insert(tool.id.clone(), place).is_some() {
                let message = format!(
                    "two tools are named `{}` in `{}`; rename one of them",
                    offered.name,
                    offered.owner()
                );
                return Err(Refusal::invalid(message).coded("duplicate_tool"));
            }
            tools.push(Arc::new(tool));
        }
        for note in &offer.notes {
            tracing::info!(at = %note.at, what = %note.what, "a tool of the client was translated");
        }
        Ok(Self {
            key,
            offer,
            listing: Listing::new(Source::Client, "client", tools),
            places,
        })
    }

    /// The client's own tool behind an id.
    pub(crate) fn offered(&self, id: &ToolId) -> Option<&Offered> {
        self.places.get(id).map(|place| &self.offer.tools[*place])
    }

    /// Whether calls by names that nobody here knows may be the client's business: a set of the
    /// provider's tools is declared by one entry.
    pub(crate) fn has_sets(&self) -> bool {
        self.offer.kept.iter().any(|entry| {
            let kind = entry.get("type").and_then(Value::as_str);
            kind.is_some_and(|kind| kind.contains("toolset"))
        })
    }
}

/// Lists of tools that were read already.
#[derive(Debug, Default)]
pub(crate) struct KnownTools {
    known: Mutex<HashMap<ToolsKey, Arc<Tools>>>,
}

impl KnownTools {
    pub(crate) fn read(
        &self,
        dialect: Dialect,
        native: Native,
        body: &Value,
    ) -> Result<Arc<Tools>, Refusal> {
        let key = key(dialect, native, body);
        let lock = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(tools) = lock().get(&key) {
            return Ok(Arc::clone(tools));
        }
        let offer = dialect.offer(body, native)?;
        let tools = Arc::new(Tools::new(key, offer)?);
        let mut known = lock();
        if known.len() >= AT_HAND {
            known.clear();
        }
        known.insert(key, Arc::clone(&tools));
        Ok(tools)
    }
}

/// Everything that decides what an offer is: the entries, who is chosen, what the history brings.
fn key(dialect: Dialect, native: Native, body: &Value) -> ToolsKey {
    let mut hash = Hashing(Sha256::new());
    hash.0
        .update([dialect as u8, u8::from(native == Native::Passed)]);
    for part in ["tools", "tool_choice"] {
        // Hashing cannot fail, and the value has string keys.
        let _ = serde_json::to_writer(&mut hash, body.get(part).unwrap_or(&Value::Null));
        hash.0.update([0]);
    }
    if dialect == Dialect::OpenAiResponses {
        let items = body.get("input").and_then(Value::as_array);
        for item in items.into_iter().flatten() {
            let kind = item.get("type").and_then(Value::as_str);
            if matches!(kind, Some("additional_tools" | "tool_search_output")) {
                let _ = serde_json::to_writer(&mut hash, item);
                hash.0.update([0]);
            }
        }
    }
    hash.0.finalize().into()
}

struct Hashing(Sha256);

impl std::io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a model is shown: declarations and prompt text. Fixed for a conversation, so that the provider's
/// cache of its beginning holds.
#[derive(Debug)]
pub(crate) struct Shown {
    pub(crate) declared: Vec<Value>,
    pub(crate) prompt: String,
}

impl Shown {
    pub(crate) fn of(dialect: Dialect, session: &Session, tools: &Tools) -> Self {
        let surface = session.surface();
        let mut declared: Vec<Value> = Vec::new();
        for tool in &surface.tools {
            if let Some(entry) = declaration(dialect, tool, tools) {
                add(&mut declared, entry);
            }
        }
        for entry in &tools.offer.kept {
            add(&mut declared, entry.clone());
        }
        if let (Some(mark), Some(Value::Object(last))) =
            (&tools.offer.cache_control, declared.last_mut())
        {
            last.entry("cache_control").or_insert_with(|| mark.clone());
        }
        Self {
            declared,
            prompt: surface.prompt.clone(),
        }
    }
}

fn declaration(dialect: Dialect, tool: &SurfaceTool, tools: &Tools) -> Option<Value> {
    let offered = match &tool.role {
        Role::Direct(id) | Role::Likely(id) => tools.offered(id),
        _ => None,
    };
    match offered.map(|offered| (&offered.declaration, offered)) {
        None | Some((Declaration::Surface, _)) => Some(dialect.declaration(tool)),
        Some((Declaration::Elsewhere, _)) => None,
        Some((Declaration::Own(entry), offered)) if offered.name == tool.name => {
            Some(entry.clone())
        }
        Some((Declaration::Own(entry), offered)) if offered.namespace.is_none() => {
            Some(dialect.renamed(entry.clone(), &tool.name))
        }
        Some((Declaration::Own(entry), _)) => Some(entry.clone()),
    }
}

/// Members of one namespace stand in one entry.
fn add(declared: &mut Vec<Value>, entry: Value) {
    if is_namespace(&entry)
        && let Some(same) = declared
            .iter_mut()
            .find(|other| is_namespace(other) && other.get("name") == entry.get("name"))
        && let (Some(Value::Array(members)), Some(Value::Array(more))) =
            (same.get_mut("tools"), entry.get("tools"))
    {
        members.extend(more.iter().cloned());
        return;
    }
    declared.push(entry);
}

fn is_namespace(entry: &Value) -> bool {
    entry.get("type").and_then(Value::as_str) == Some("namespace")
}
