//! Listing: a scripted provider, and the rules that every provider keeps.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use toolsearch_catalog::{Source, ToolId};
use toolsearch_invoke::{Listing, Provider};

use crate::wait::in_time;

/// Most characters of the reason of an outage: it stands in search results.
const MAX_REASON_CHARS: usize = 2_000;

/// Gives listings from a list, one a question; the last one stays.
#[derive(Debug)]
pub struct ScriptedProvider {
    source: Source,
    owner: String,
    script: Mutex<VecDeque<Listing>>,
    asked: AtomicUsize,
}

impl ScriptedProvider {
    /// Lists this, of its source and owner.
    #[must_use]
    pub fn new(listing: Listing) -> Self {
        Self {
            source: listing.source,
            owner: listing.owner.clone(),
            script: Mutex::new(VecDeque::from([listing])),
            asked: AtomicUsize::new(0),
        }
    }

    /// Then lists that.
    #[must_use]
    pub fn then(self, listing: Listing) -> Self {
        self.lock().push_back(listing);
        self
    }

    /// How often it was asked.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<Listing>> {
        self.script.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[async_trait]
impl Provider for ScriptedProvider {
    fn source(&self) -> Source {
        self.source
    }

    fn owner(&self) -> &str {
        &self.owner
    }

    async fn list(&self) -> Listing {
        self.asked.fetch_add(1, Ordering::SeqCst);
        let mut script = self.lock();
        let next = if script.len() > 1 {
            script.pop_front()
        } else {
            script.front().cloned()
        };
        next.unwrap_or_else(|| Listing::new(self.source, self.owner.as_str(), Vec::new()))
    }
}

/// Holds a provider whose tools do not change meanwhile to the rules of the contract, and gives back
/// its listing.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(provider: Arc<dyn Provider>) -> Listing {
    let first = list(&provider).await;
    check(&*provider, &first);
    let dropped = {
        let provider = Arc::clone(&provider);
        tokio::spawn(async move { provider.list().await })
    };
    dropped.abort();
    // Whether it was quick enough to answer does not matter; that the next one answers does.
    let _ = in_time("a dropped listing ends", dropped).await;
    let at_once: Vec<_> = (0..4)
        .map(|_| {
            let provider = Arc::clone(&provider);
            tokio::spawn(async move { list(&provider).await })
        })
        .collect();
    for task in at_once {
        let other = task.await.expect("because listing must not panic");
        assert_eq!(first, other, "a listing is repeatable");
    }
    first
}

async fn list(provider: &Arc<dyn Provider>) -> Listing {
    let asked = Arc::clone(provider);
    let task = tokio::spawn(async move { asked.list().await });
    in_time("a provider answers within its own limits", task)
        .await
        .expect("because listing must not panic")
}

fn check(provider: &dyn Provider, listing: &Listing) {
    let owner = provider.owner();
    assert!(!owner.is_empty(), "a provider has an owner");
    assert_eq!(listing.source, provider.source(), "{owner}: the source");
    assert_eq!(listing.owner, owner, "the owner");
    for tool in &listing.tools {
        let id = ToolId::new(provider.source(), owner, &tool.name);
        assert_eq!(
            id.as_ref().ok(),
            Some(&tool.id),
            "an id is made of source, owner and the tool's own name"
        );
        assert_eq!(tool.owner, owner, "{}: the owner", tool.id);
        assert!(
            !tool.stale || listing.outage.is_some(),
            "{} is stale, and nothing says why",
            tool.id
        );
    }
    for rejected in &listing.rejected {
        assert_eq!(rejected.owner, owner, "the owner of a rejected tool");
        let safe = !rejected.name.chars().any(char::is_control);
        assert!(safe, "{:?} is not safe to print", rejected.name);
    }
    if let Some(outage) = &listing.outage {
        assert_eq!(outage.owner, owner, "the owner of an outage");
        let reason = &outage.reason;
        assert!(!reason.is_empty(), "{owner}: an outage has a reason");
        assert!(
            reason.chars().count() <= MAX_REASON_CHARS && !reason.chars().any(char::is_control),
            "{owner}: a reason is bounded and has no control characters: {reason:?}"
        );
    }
}
