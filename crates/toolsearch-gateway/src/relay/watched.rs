//! Resources that one client subscribed to, by the names that it used.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use rmcp::ErrorData;

/// Most subscriptions of one client.
const MAX_WATCHED: usize = 1_000;

/// From the server and its own name to the client's.
type Names = BTreeMap<(String, String), String>;

/// The subscriptions of one client. The servers are not told when one ends, as others may still want
/// to know.
#[derive(Debug, Default)]
pub(crate) struct Watched(Mutex<Names>);

impl Watched {
    fn lock(&self) -> MutexGuard<'_, Names> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn add(&self, owner: String, own: String, uri: String) -> Result<(), ErrorData> {
        let mut watched = self.lock();
        if watched.len() >= MAX_WATCHED {
            let message = format!("there are {MAX_WATCHED} subscriptions already; end some");
            return Err(ErrorData::invalid_request(message, None));
        }
        watched.insert((owner, own), uri);
        Ok(())
    }

    pub(crate) fn remove(&self, uri: &str) {
        self.lock().retain(|_, asked| asked != uri);
    }

    /// The client's name of a resource that it subscribed to.
    pub(crate) fn name(&self, owner: &str, own: &str) -> Option<String> {
        let key = (owner.to_owned(), own.to_owned());
        self.lock().get(&key).cloned()
    }
}
