//! Definitions of MCP tools as they were when they were first seen or agreed to. A tool that became
//! another is told, or held back until somebody agrees to it again.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::future::join_all;
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;
use toolsearch::catalog::{Source, ToolDescriptor, ToolId};
use toolsearch::invoke::Listing;
use toolsearch::policy::{Change, Definition};
use toolsearch_config::Pins;
use toolsearch_store::{Expected, NewRecord, Record, Store, StoreError};

use super::beside::beside;
use super::now_ms;

/// Where they lie: one record a server.
const NAMESPACE: &str = "pins";
/// How often a record is written again that somebody else was faster with.
const TRIES: usize = 4;
/// Servers whose definitions are compared at the same time.
const AT_ONCE: usize = 4;
/// Most names in one line of the log.
const MAX_NAMED: usize = 10;

/// What is remembered of one tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Pin {
    /// SHA-256 of the definition.
    pub(crate) hash: String,
    /// The definition; missing where there was no room for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<Definition>,
    /// When it was first seen or agreed to, in milliseconds since the Unix epoch.
    pub(crate) since_ms: u64,
    /// Whether somebody agreed to it, and not only saw it first.
    #[serde(default)]
    pub(crate) approved: bool,
    /// What the tool has become since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) next: Option<Box<Next>>,
}

/// A definition that nobody has agreed to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Next {
    pub(crate) hash: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) definition: Option<Definition>,
    pub(crate) seen_ms: u64,
}

impl Pin {
    /// What is different now; `None` where it was not kept.
    pub(crate) fn changes(&self) -> Option<Vec<Change>> {
        let now = self.next.as_ref()?.definition.as_ref()?;
        Some(self.definition.as_ref()?.changes(now))
    }
}

type Server = BTreeMap<String, Pin>;

/// What is remembered, and what a change means.
#[derive(Debug, Clone)]
pub(crate) struct Pinboard {
    store: Arc<dyn Store>,
    mode: Pins,
    /// The turns of comparisons.
    turns: Arc<Semaphore>,
}

impl Pinboard {
    pub(crate) fn new(store: Arc<dyn Store>, mode: Pins) -> Self {
        let turns = Arc::new(Semaphore::new(AT_ONCE));
        Self { store, mode, turns }
    }

    /// Compares what servers list now with what is remembered, remembers what is new, and takes out
    /// what is held back.
    pub(crate) async fn review(&self, listings: &mut [Listing]) {
        if self.mode == Pins::Off {
            return;
        }
        let servers = listings
            .iter_mut()
            .filter(|listing| listing.source == Source::Mcp && !listing.tools.is_empty());
        let compared = servers.map(async |listing| {
            let changed = self.compare_beside(listing).await;
            (listing, changed)
        });
        for (listing, changed) in join_all(compared).await {
            let changed = match changed {
                Ok(changed) => changed,
                Err(error) => {
                    tracing::warn!(server = %listing.owner, %error, "definitions cannot be compared");
                    // Whoever wants changes held back does not want them let through unseen.
                    listing.tools.iter().map(|tool| tool.name.clone()).collect()
                }
            };
            if changed.is_empty() {
                continue;
            }
            let held = self.mode == Pins::Enforce;
            let named: Vec<&str> = changed.iter().take(MAX_NAMED).map(String::as_str).collect();
            tracing::warn!(
                server = %listing.owner,
                tools = changed.len(),
                named = ?named,
                held_back = held,
                "tools changed their definition; see `toolsearch pins diff`"
            );
            if held {
                listing.tools.retain(|tool| !changed.contains(&tool.name));
            }
        }
    }

    /// As [`Pinboard::compare`], on a thread of its own: there are as many servers as there are.
    async fn compare_beside(&self, listing: &Listing) -> Result<Vec<String>, StoreError> {
        let board = self.clone();
        let (owner, tools) = (listing.owner.clone(), listing.tools.clone());
        // Never closed.
        let _turn = self.turns.acquire().await;
        beside(move || async move { board.compare(&owner, &tools).await })
            .await
            .unwrap_or_else(|error| Err(StoreError::Unavailable(error.to_string())))
    }

    /// The names of the tools that became others.
    async fn compare(
        &self,
        owner: &str,
        tools: &[Arc<ToolDescriptor>],
    ) -> Result<Vec<String>, StoreError> {
        let mut tries = TRIES;
        loop {
            let (mut server, seen) = self.server(owner).await?;
            let Noted { changed, news } = note(&mut server, tools, now_ms());
            if !news {
                return Ok(changed);
            }
            match self.put(owner, &server, seen).await {
                Err(StoreError::Conflict { .. }) if tries > 1 => tries -= 1,
                Err(error) => return Err(error),
                Ok(()) => return Ok(changed),
            }
        }
    }

    async fn server(&self, owner: &str) -> Result<(Server, Expected), StoreError> {
        match self.store.get(NAMESPACE, owner).await? {
            None => Ok((Server::new(), Expected::Absent)),
            Some(record) => Ok((read(owner, &record)?, Expected::Version(record.version))),
        }
    }

    async fn put(&self, owner: &str, server: &Server, seen: Expected) -> Result<(), StoreError> {
        let written = self
            .store
            .put(NAMESPACE, owner, record(server)?, seen)
            .await;
        let written = match written {
            Err(StoreError::TooLarge { .. }) => {
                // Hashes alone still tell that something changed, though not what.
                let mut bare = server.clone();
                for pin in bare.values_mut() {
                    pin.definition = None;
                    if let Some(next) = &mut pin.next {
                        next.definition = None;
                    }
                }
                self.store.put(NAMESPACE, owner, record(&bare)?, seen).await
            }
            other => other,
        };
        written.map(|_| ())
    }

    /// Everything that is remembered, by id.
    pub(crate) async fn list(&self) -> Result<BTreeMap<ToolId, Pin>, StoreError> {
        let mut all = BTreeMap::new();
        for entry in self.store.list(NAMESPACE).await?.entries {
            let (server, _) = self.server(&entry.key).await?;
            for (name, pin) in server {
                if let Ok(id) = ToolId::new(Source::Mcp, &entry.key, &name) {
                    all.insert(id, pin);
                }
            }
        }
        Ok(all)
    }

    /// The tools whose definition nobody has agreed to, by id.
    pub(crate) async fn changed(&self) -> Result<BTreeMap<ToolId, Pin>, StoreError> {
        let mut all = self.list().await?;
        all.retain(|_, pin| pin.next.is_some());
        Ok(all)
    }

    /// Agrees to what a tool is now. Whether there was anything to agree to.
    pub(crate) async fn approve(&self, id: &ToolId) -> Result<bool, StoreError> {
        let mut tries = TRIES;
        loop {
            let (mut server, seen) = self.server(id.owner()).await?;
            // Ids carry names as they are written there.
            let found = server.iter_mut().find(|(name, _)| {
                ToolId::new(Source::Mcp, id.owner(), name).is_ok_and(|own| own == *id)
            });
            let Some((_, pin)) = found else {
                return Ok(false);
            };
            let Some(next) = pin.next.take() else {
                return Ok(false);
            };
            *pin = Pin {
                hash: next.hash,
                definition: next.definition,
                since_ms: now_ms(),
                approved: true,
                next: None,
            };
            match self.put(id.owner(), &server, seen).await {
                Err(StoreError::Conflict { .. }) if tries > 1 => tries -= 1,
                Err(error) => return Err(error),
                Ok(()) => return Ok(true),
            }
        }
    }
}

/// What a list brought.
#[derive(Debug, Default)]
struct Noted {
    /// The names of the tools that became others.
    changed: Vec<String>,
    /// Whether there is anything to remember.
    news: bool,
}

/// Remembers new tools and notes which became others.
fn note(server: &mut Server, tools: &[Arc<ToolDescriptor>], now: u64) -> Noted {
    let mut noted = Noted::default();
    for tool in tools {
        let hash = Definition::hash_of(tool);
        match server.get_mut(&tool.name) {
            None => {
                noted.news = true;
                let pin = Pin {
                    hash,
                    definition: Some(Definition::of(tool)),
                    since_ms: now,
                    approved: false,
                    next: None,
                };
                server.insert(tool.name.clone(), pin);
            }
            Some(pin) if pin.hash == hash => noted.news |= pin.next.take().is_some(),
            Some(pin) => {
                if pin.next.as_ref().is_none_or(|next| next.hash != hash) {
                    noted.news = true;
                    pin.next = Some(Box::new(Next {
                        hash,
                        definition: Some(Definition::of(tool)),
                        seen_ms: now,
                    }));
                }
                noted.changed.push(tool.name.clone());
            }
        }
    }
    noted
}

fn record(server: &Server) -> Result<NewRecord, StoreError> {
    let bytes = serde_json::to_vec(server)
        .map_err(|error| StoreError::Unavailable(format!("cannot write it: {error}")))?;
    Ok(NewRecord::new(bytes))
}

fn read(owner: &str, record: &Record) -> Result<Server, StoreError> {
    serde_json::from_slice(&record.bytes).map_err(|error| StoreError::Damaged {
        name: format!("what is remembered of `{owner}`"),
        reason: error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use toolsearch_store::MemoryStore;

    use super::*;

    fn tool(name: &str, description: &str) -> Arc<ToolDescriptor> {
        let mut tool = ToolDescriptor::new(Source::Mcp, "files", name, json!({})).expect("legal");
        tool.description = description.to_owned();
        Arc::new(tool)
    }

    async fn listed(board: &Pinboard, tools: &[Arc<ToolDescriptor>]) -> Vec<String> {
        let mut listings = [Listing::new(Source::Mcp, "files", tools.to_vec())];
        board.review(&mut listings).await;
        let left = listings[0].tools.iter().map(|tool| tool.name.clone());
        left.collect()
    }

    #[tokio::test]
    async fn a_changed_tool_is_held_back_until_somebody_agrees() {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let board = Pinboard::new(Arc::clone(&store), Pins::Enforce);
        let (read, other) = (tool("read.me", "Reads."), tool("list", "Lists."));
        let before = [read.clone(), other.clone()];
        assert_eq!(
            listed(&board, &before).await,
            ["read.me", "list"],
            "first sight"
        );
        assert_eq!(listed(&board, &before).await, ["read.me", "list"]);
        let after = [tool("read.me", "Reads and sends."), other];
        assert_eq!(listed(&board, &after).await, ["list"]);
        let changed = board.changed().await.expect("readable");
        let (id, pin) = changed.first_key_value().expect("one");
        assert_eq!(changed.len(), 1);
        assert!(!pin.approved);
        let lines: Vec<String> = pin
            .changes()
            .expect("kept")
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(
            lines,
            ["- description: \"Reads.\"\n+ description: \"Reads and sends.\""]
        );

        let reporting = Pinboard::new(Arc::clone(&store), Pins::Report);
        assert_eq!(
            listed(&reporting, &after).await.len(),
            2,
            "a report holds nothing back"
        );
        assert_eq!(board.approve(id).await, Ok(true));
        assert_eq!(board.approve(id).await, Ok(false));
        assert_eq!(listed(&board, &after).await.len(), 2);
        assert_eq!(
            listed(&board, &before).await,
            ["list"],
            "the old one is a change now"
        );
        assert_eq!(
            listed(&board, &after).await.len(),
            2,
            "and back again is none"
        );
        assert!(board.changed().await.expect("readable").is_empty());
        assert!(board.list().await.expect("readable")[id].approved);
    }

    #[tokio::test]
    async fn what_cannot_be_compared_is_held_back_where_changes_are() {
        let store = Arc::new(MemoryStore::default());
        let noise = NewRecord::new("{");
        store
            .put(NAMESPACE, "files", noise, Expected::Any)
            .await
            .expect("room");
        let tools = [tool("read", "Reads.")];
        let enforcing = Pinboard::new(Arc::clone(&store) as _, Pins::Enforce);
        assert!(listed(&enforcing, &tools).await.is_empty());
        let reporting = Pinboard::new(Arc::clone(&store) as _, Pins::Report);
        assert_eq!(listed(&reporting, &tools).await.len(), 1);
        let off = Pinboard::new(store as _, Pins::Off);
        assert_eq!(listed(&off, &tools).await.len(), 1);
    }
}
