//! `tools.toolSearch` as it is written. What it comes to is worked out in [`crate::effective`].

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::secret::Secret;

/// `toolSearch` as it was written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum ToolSearchSetting {
    /// Not set: on unless the catalog is small.
    #[default]
    Automatic,
    /// `false`, `{}`, or an object with `enabled: false`, whose other values are kept for a
    /// command line that switches on.
    Off(ToolSearchOptions),
    /// `true`, or an object with any key.
    On(ToolSearchOptions),
}

impl ToolSearchSetting {
    /// The values that were set, whether it is on or off.
    pub fn options(&self) -> ToolSearchOptions {
        match self {
            Self::Automatic => ToolSearchOptions::default(),
            Self::Off(options) | Self::On(options) => options.clone(),
        }
    }
}

impl<'de> Deserialize<'de> for ToolSearchSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let empty = value.as_object().is_some_and(serde_json::Map::is_empty);
        match value {
            Value::Bool(true) => Ok(Self::On(ToolSearchOptions::default())),
            Value::Bool(false) => Ok(Self::Off(ToolSearchOptions::default())),
            value => {
                let options =
                    ToolSearchOptions::deserialize(value).map_err(serde::de::Error::custom)?;
                let off = empty || options.enabled == Some(false);
                Ok(if off {
                    Self::Off(options)
                } else {
                    Self::On(options)
                })
            }
        }
    }
}

/// The values of a `toolSearch` object that were set; numbers are already in range.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ToolSearchOptions {
    /// Whether it is on.
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
    /// Globs of tools that stay visible as well as searchable.
    pub always_visible: Option<Vec<String>>,
    /// Schemas that directory mode shows by a guess.
    pub likely_schemas: Option<u64>,
    /// Whether a hidden tool that is called by its exact name is run.
    pub hidden_calls: Option<bool>,
    /// Whether tools that do not say whether they only read are found by a search for tools that do.
    pub assume_read_only: Option<bool>,
    /// Names of the control tools.
    pub control_names: Option<ControlNameOptions>,
    /// Whether and how meaning counts in a search.
    pub search: Option<SearchOptions>,
}

/// The values of `search` that were set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
#[non_exhaustive]
pub struct SearchOptions {
    /// What makes vectors of texts.
    pub embedder: Option<EmbedderChoice>,
    /// `local`: a model that was got by its name, or the path of a folder. `http`: what the server calls
    /// the model.
    pub model: Option<String>,
    /// `http`: the address before `/embeddings`, variables not yet filled in.
    pub base_url: Option<String>,
    /// `http`: the key, variables not yet filled in.
    pub api_key: Option<Secret>,
    /// `http`: the size of vectors to ask for.
    pub dimensions: Option<u64>,
    /// Put before every query.
    pub query_prefix: Option<String>,
    /// Put before the text of every tool.
    pub document_prefix: Option<String>,
    /// Whether the model understands many languages; not set: as a model in a folder says, for a server not.
    pub multilingual: Option<bool>,
    /// How long a search waits for the vector of its query, in milliseconds.
    pub timeout_ms: Option<u64>,
}

impl SearchOptions {
    /// The values of both; where both set one, those of `stronger`.
    pub(crate) fn under(self, stronger: &Self) -> Self {
        fn first<T: Clone>(stronger: &Option<T>, weaker: Option<T>) -> Option<T> {
            stronger.clone().or(weaker)
        }
        Self {
            embedder: first(&stronger.embedder, self.embedder),
            model: first(&stronger.model, self.model),
            base_url: first(&stronger.base_url, self.base_url),
            api_key: first(&stronger.api_key, self.api_key),
            dimensions: first(&stronger.dimensions, self.dimensions),
            query_prefix: first(&stronger.query_prefix, self.query_prefix),
            document_prefix: first(&stronger.document_prefix, self.document_prefix),
            multilingual: first(&stronger.multilingual, self.multilingual),
            timeout_ms: first(&stronger.timeout_ms, self.timeout_ms),
        }
    }
}

/// What makes vectors of texts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EmbedderChoice {
    /// Nothing: words alone count.
    #[default]
    Off,
    /// A model in a folder of this machine.
    Local,
    /// A server that speaks the embeddings API of OpenAI.
    Http,
}

/// The names of `controlNames` that were set.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[non_exhaustive]
pub struct ControlNameOptions {
    /// Instead of `tool_search`.
    pub search: Option<String>,
    /// Instead of `tool_describe`.
    pub describe: Option<String>,
    /// Instead of `tool_call`.
    pub call: Option<String>,
    /// Instead of `tool_search_code`.
    pub code: Option<String>,
}

/// What the model is given. Complete: a mode is a swap point of its own beyond these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchMode {
    /// One tool that runs programs.
    #[default]
    Code,
    /// Three structured tools.
    Tools,
    /// Three structured tools and a list of names.
    Directory,
}

/// What runs the model's programs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum EngineChoice {
    /// Whichever works here.
    #[default]
    Auto,
    /// The embedded one.
    Quickjs,
    /// A Node child.
    Node,
}

/// A word that names no mode, engine or embedder.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is none of {}", known.join(", "))]
#[non_exhaustive]
pub struct UnknownWord {
    /// What was given.
    pub given: String,
    /// What could have been given.
    pub known: &'static [&'static str],
}

macro_rules! words {
    ($type:ident, $($variant:ident = $word:literal),+) => {
        impl $type {
            /// The word as it is written in a file.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $type {
            type Err = UnknownWord;

            fn from_str(word: &str) -> Result<Self, UnknownWord> {
                match word {
                    $($word => Ok(Self::$variant),)+
                    _ => Err(UnknownWord {
                        given: word.chars().take(60).collect(),
                        known: &[$($word),+],
                    }),
                }
            }
        }
    };
}

words!(
    SearchMode,
    Code = "code",
    Tools = "tools",
    Directory = "directory"
);
words!(EmbedderChoice, Off = "off", Local = "local", Http = "http");
words!(
    EngineChoice,
    Auto = "auto",
    Quickjs = "quickjs",
    Node = "node"
);
