//! Tool ids: `<source>:<owner>:<name>`, checked once. Not here: how a model's spelling of an id is
//! matched to a tool (see `lookup`).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use toolsearch_schema::names::is_invisible;

/// Longest id in bytes. A longer name is cut and ends in a hash of the whole, so that ids stay
/// distinct.
pub const MAX_ID_BYTES: usize = 320;

const MAX_OWNER_BYTES: usize = 96;
const MAX_NAME_BYTES: usize = 192;

/// Where a tool comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Source {
    /// The program that embeds toolsearch.
    Native,
    /// A plugin: tools that run as commands.
    Plugin,
    /// An MCP server.
    Mcp,
    /// Sent by the client with this run; the client runs it.
    Client,
}

impl Source {
    /// Every source, in id order.
    pub const ALL: [Self; 4] = [Self::Client, Self::Mcp, Self::Native, Self::Plugin];

    /// The word that stands in ids.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Plugin => "plugin",
            Self::Mcp => "mcp",
            Self::Client => "client",
        }
    }

    fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|source| source.as_str() == word)
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a text is no tool id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum IdError {
    /// Not of the form `source:owner:name`.
    #[error("`{0}` is not of the form source:owner:name")]
    Form(String),
    /// The first part is no known source.
    #[error("`{0}` is no source; sources are client, mcp, native, plugin")]
    Source(String),
    /// An owner or a name is empty.
    #[error("a tool id needs a non-empty owner and name")]
    Empty,
}

/// The exact name of one tool, `<source>:<owner>:<name>`. Cheap to clone, ordered by its text.
///
/// Owner and name are kept readable: letters of every script stay as they are. Control, format and
/// bidirectional characters, `%`, and in owners `:` and white space, are written as `%XX` of their
/// UTF-8 bytes, so an id is always one printable word per part and two different tools never share one.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    text: Arc<str>,
    source: Source,
    owner_end: u16,
}

impl ToolId {
    /// Builds an id from the parts as their owner spells them.
    ///
    /// # Errors
    /// [`IdError::Empty`] when the owner or the name is empty.
    pub fn new(source: Source, owner: &str, name: &str) -> Result<Self, IdError> {
        if owner.is_empty() || name.is_empty() {
            return Err(IdError::Empty);
        }
        let owner = escape(owner, MAX_OWNER_BYTES, |c| c == ':' || c.is_whitespace());
        let name = escape(name, MAX_NAME_BYTES, |_| false);
        Ok(Self::join(source, &owner, &name))
    }

    /// Reads an id in its own written form. Nothing is guessed: for a model's spelling use
    /// [`crate::Catalog::resolve`].
    ///
    /// # Errors
    /// [`IdError`] when the text has another form or an unknown source.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let clip = || text.chars().take(80).collect::<String>();
        let mut parts = text.splitn(3, ':');
        let (Some(source), Some(owner), Some(name)) = (parts.next(), parts.next(), parts.next())
        else {
            return Err(IdError::Form(clip()));
        };
        let source = Source::parse(source).ok_or_else(|| IdError::Source(clip()))?;
        if owner.is_empty() || name.is_empty() {
            return Err(IdError::Empty);
        }
        let safe = |part: &str| !part.chars().any(needs_escape);
        if text.len() > MAX_ID_BYTES || !safe(owner) || !safe(name) {
            return Err(IdError::Form(clip()));
        }
        Ok(Self::join(source, owner, name))
    }

    fn join(source: Source, owner: &str, name: &str) -> Self {
        let text: Arc<str> = format!("{source}:{owner}:{name}").into();
        let owner_end = source.as_str().len() + 1 + owner.len();
        Self {
            text,
            source,
            owner_end: u16::try_from(owner_end).unwrap_or(u16::MAX),
        }
    }

    /// The whole id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The source part.
    #[must_use]
    pub const fn source(&self) -> Source {
        self.source
    }

    /// The owner part as written in the id.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.text[self.source.as_str().len() + 1..usize::from(self.owner_end)]
    }

    /// The name part as written in the id.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.text[usize::from(self.owner_end) + 1..]
    }
}

/// Characters that could hide or break a line.
fn needs_escape(c: char) -> bool {
    c.is_control() || is_invisible(c)
}

fn escape(text: &str, max: usize, also: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '%' || needs_escape(c) || also(c) {
            let mut bytes = [0u8; 4];
            for byte in c.encode_utf8(&mut bytes).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        } else {
            out.push(c);
        }
    }
    if out.len() <= max {
        return out;
    }
    let hash = crate::fingerprint::short_hash(text);
    let cut = out.floor_char_boundary(max - hash.len() - 1);
    format!("{}~{hash}", &out[..cut])
}

impl fmt::Display for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl fmt::Debug for ToolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ToolId({})", self.text)
    }
}

impl Serialize for ToolId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text)
    }
}

impl<'de> Deserialize<'de> for ToolId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).map_err(serde::de::Error::custom)
    }
}
