//! What clients read at first, once for all sessions of one plan: hundreds of clients of one agent
//! hold one list.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use serde_json::Value;
use toolsearch_runtime::Session;

use crate::answer;

/// The list and the instructions of one plan. Immutable.
#[derive(Debug)]
pub(crate) struct Listing {
    /// Where the plan's surface is. Whoever holds a listing holds a session of that plan, and so keeps
    /// the address from being used again.
    surface: usize,
    /// Entries of `tools/list`.
    pub(crate) tools: Value,
    pub(crate) instructions: Option<String>,
}

impl Listing {
    /// The schema under which a tool is shown.
    pub(crate) fn input_schema(&self, name: &str) -> Option<&Value> {
        let mut tools = self.tools.as_array()?.iter();
        tools.find(|tool| tool["name"] == name)?.get("inputSchema")
    }
}

/// Listings that some session holds.
#[derive(Debug, Default)]
pub(crate) struct Listings(Mutex<Vec<Weak<Listing>>>);

impl Listings {
    /// The listing of a session; made when no other session of the same plan has it. To be dropped
    /// before the session is.
    pub(crate) fn of(&self, session: &Session) -> Arc<Listing> {
        let surface = std::ptr::from_ref(session.surface()).addr();
        if let Some(known) = self.known(surface) {
            return known;
        }
        let made = Arc::new(Listing {
            surface,
            tools: answer::tools(session),
            instructions: answer::instructions(session),
        });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|listing| listing.strong_count() > 0);
        all.push(Arc::downgrade(&made));
        made
    }

    fn known(&self, surface: usize) -> Option<Arc<Listing>> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut alive = all.iter().filter_map(Weak::upgrade);
        alive.find(|listing| listing.surface == surface)
    }
}
