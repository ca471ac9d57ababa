//! What is known about one tool. Schemas stay as their owner wrote them; reading them is
//! `toolsearch-schema`'s work.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::fingerprint::{Fingerprint, Hasher};
use crate::id::{IdError, Source, ToolId};
use crate::size::json_bytes;

/// Whether text of a tool may stand in prompt text that the operator vouches for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    /// The operator vouches for names, descriptions and schemas.
    Trusted,
    /// Text counts for ranking and may be shown as data, never as prompt text.
    Untrusted,
}

/// Whether a tool may be hidden behind search.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum CatalogMode {
    /// Hidden behind search like any other tool.
    #[default]
    Searchable,
    /// Always visible with its full schema, never in the catalog.
    DirectOnly,
}

/// Whether calls of a tool may overlap with other such calls of its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Execution {
    /// May run beside others.
    #[default]
    Parallel,
    /// Never beside another sequential call of its session; first come, first served.
    Sequential,
}

/// A configuration word that names nothing known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not known here")]
pub struct UnknownWord(pub String);

impl std::str::FromStr for CatalogMode {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "searchable" => Ok(Self::Searchable),
            "direct-only" => Ok(Self::DirectOnly),
            other => Err(UnknownWord(other.to_owned())),
        }
    }
}

impl std::str::FromStr for Trust {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, UnknownWord> {
        match word {
            "trusted" => Ok(Self::Trusted),
            "untrusted" => Ok(Self::Untrusted),
            other => Err(UnknownWord(other.to_owned())),
        }
    }
}

/// Hints that a tool's owner gives about its effects, as in the MCP specification. A hint may make
/// policy stricter, never looser.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Annotations {
    /// Changes nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub read_only_hint: Option<bool>,
    /// May destroy something.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destructive_hint: Option<bool>,
    /// Calling twice is like calling once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotent_hint: Option<bool>,
    /// Reaches things outside its server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub open_world_hint: Option<bool>,
}

/// Further fields of a tool that are carried through untouched.
pub type ToolMeta = Map<String, Value>;

/// Everything known about one tool. Build with [`ToolDescriptor::new`], then set public fields.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct ToolDescriptor {
    /// The exact id.
    pub id: ToolId,
    /// The name on the wire, exactly as the owner wrote it.
    pub name: String,
    /// The owner for people: server name, plugin name, `core`.
    pub owner: String,
    /// What the owner says about itself as a whole. It helps to find its tools and is shown to no one.
    pub owner_description: Option<Arc<str>>,
    /// A short title for people.
    pub title: Option<String>,
    /// What the tool does, in its owner's words. May be empty, long or hostile.
    pub description: String,
    /// The owner's JSON Schema of the arguments.
    pub input_schema: Arc<Value>,
    /// The owner's JSON Schema of the structured result.
    pub output_schema: Option<Arc<Value>>,
    /// Hints about effects.
    pub annotations: Annotations,
    /// Icons, `_meta` and whatever else the owner sent.
    pub meta: ToolMeta,
    /// Further names that resolve to this tool when nothing else has them.
    pub aliases: Vec<String>,
    /// Hidden or always visible.
    pub catalog_mode: CatalogMode,
    /// Whether the operator vouches for the text.
    pub trust: Trust,
    /// Overlapping or alone.
    pub execution: Execution,
    /// From a cached list of an owner that did not answer this time.
    pub stale: bool,
}

impl ToolDescriptor {
    /// A tool with no description that takes what `input_schema` says. Native and plugin tools are
    /// trusted, MCP and client tools are not; set `trust` to say otherwise.
    ///
    /// # Errors
    /// [`IdError::Empty`] when the owner or the name is empty.
    pub fn new(
        source: Source,
        owner: &str,
        name: &str,
        input_schema: impl Into<Arc<Value>>,
    ) -> Result<Self, IdError> {
        let trust = match source {
            Source::Native | Source::Plugin => Trust::Trusted,
            Source::Mcp | Source::Client => Trust::Untrusted,
        };
        Ok(Self {
            id: ToolId::new(source, owner, name)?,
            name: name.to_owned(),
            owner: owner.to_owned(),
            owner_description: None,
            title: None,
            description: String::new(),
            input_schema: input_schema.into(),
            output_schema: None,
            annotations: Annotations::default(),
            meta: ToolMeta::new(),
            aliases: Vec::new(),
            catalog_mode: CatalogMode::default(),
            trust,
            execution: Execution::default(),
            stale: false,
        })
    }

    /// The source part of the id.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.id.source()
    }

    /// Whether text of this tool may stand in prompt text.
    #[must_use]
    pub fn is_trusted(&self) -> bool {
        self.trust == Trust::Trusted
    }

    /// A hash of everything that a model, a ranker or the dispatch could see of this tool.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hash = Hasher::default();
        hash.text(self.id.as_str());
        hash.text(&self.name);
        hash.text(&self.owner);
        hash.text(self.owner_description.as_deref().unwrap_or("\0"));
        hash.text(self.title.as_deref().unwrap_or("\0"));
        hash.text(&self.description);
        hash.json(&*self.input_schema);
        hash.json(&self.output_schema.as_deref());
        hash.json(&self.annotations);
        hash.json(&self.meta);
        hash.json(&(self.catalog_mode, self.trust, self.execution, self.stale));
        hash.json(&self.aliases);
        hash.finish()
    }

    /// The tool in the form of an MCP `tools/list` entry, as a model sees it when it is shown
    /// directly: name, title, description, input schema.
    #[must_use]
    pub fn to_direct_json(&self) -> Value {
        serde_json::to_value(self.direct()).unwrap_or_default()
    }

    /// Bytes of [`ToolDescriptor::to_direct_json`] as serialised, without making it.
    #[must_use]
    pub fn direct_bytes(&self) -> usize {
        json_bytes(&self.direct())
    }

    fn direct(&self) -> Direct<'_> {
        Direct {
            name: &self.name,
            title: self.title.as_deref(),
            description: Some(self.description.as_str()).filter(|text| !text.is_empty()),
            input_schema: &self.input_schema,
        }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Direct<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<&'a str>,
    input_schema: &'a Value,
}
