//! The seam between the protocol and how its messages travel: JSON texts go out, JSON values come
//! in. A child process is one carrier, requests over HTTP are another.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::notes::Notes;
use crate::trouble::Trouble;

/// Messages that wait to be written.
pub(crate) const OUTGOING_MESSAGES: usize = 256;
/// Messages that were read and wait to be handled: few, as each may be large. A server that floods
/// is slowed down by this.
pub(crate) const INCOMING_MESSAGES: usize = 4;

/// Both directions of one connection.
#[derive(Debug)]
pub(crate) struct Carrier {
    /// Whole messages, each the text of one JSON value without line ends.
    pub(crate) outgoing: mpsc::Sender<Vec<u8>>,
    /// Whole messages; closed when the other side is gone.
    pub(crate) incoming: mpsc::Receiver<Incoming>,
    /// Whoever is on the other side.
    pub(crate) remote: Remote,
}

/// What comes in.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message, and the request that it came along with, where the carrier can tell.
    Message { message: Value, origin: Option<i64> },
    /// A request that got lost on the way: nothing else will come for it.
    Lost { id: i64, trouble: Trouble },
}

impl From<Value> for Incoming {
    fn from(message: Value) -> Self {
        let origin = None;
        Self::Message { message, origin }
    }
}

/// The other side of a connection, as far as it can be watched and stopped. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Remote {
    pub(crate) notes: Arc<Notes>,
    pub(crate) life: watch::Receiver<Life>,
    pub(crate) stop: watch::Sender<bool>,
}

/// How far the end of the other side has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Life {
    Running,
    /// It ended and everything it said was read.
    Gone,
    /// Nothing of it is left.
    Buried,
}

impl Remote {
    /// Asks the other side to end, now and for good.
    pub(crate) fn stop(&self) {
        self.stop.send_replace(true);
    }

    pub(crate) fn is_gone(&self) -> bool {
        *self.life.borrow() >= Life::Gone
    }

    /// Waits until the other side has come to this point; gives up after `patience`.
    pub(crate) async fn reaches(&self, point: Life, patience: Duration) -> bool {
        let mut life = self.life.clone();
        let reached = tokio::time::timeout(patience, life.wait_for(|life| *life >= point)).await;
        // An error inside means that nobody is left to report: it is over.
        reached.is_ok()
    }
}
