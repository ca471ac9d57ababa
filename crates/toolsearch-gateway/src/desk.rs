//! What one connection serves at a time: the session, and its list of tools as sent. Planned when
//! the client connects and anew when the source says so.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;
use toolsearch_runtime::Session;

use crate::listing::{Listing, Listings};
use crate::source::{ClientInfo, SessionSource, SourceError};

/// A session and what a client reads of it. Immutable.
#[derive(Debug)]
pub(crate) struct Shown {
    /// Dropped before the session, as [`Listings::of`] asks.
    pub(crate) listing: Arc<Listing>,
    pub(crate) session: Session,
}

impl Shown {
    fn of(session: Session, listings: &Listings) -> Self {
        Self {
            listing: listings.of(&session),
            session,
        }
    }

    /// Whether a client that knows the other list must read this one.
    fn differs_from(&self, other: &Self) -> bool {
        !Arc::ptr_eq(&self.listing, &other.listing) && self.listing.tools != other.listing.tools
    }
}

/// Holds the current session of one connection.
#[derive(Debug)]
pub(crate) struct Desk {
    source: Arc<dyn SessionSource>,
    client: ClientInfo,
    listings: Arc<Listings>,
    /// Receivers are woken only when the list of tools became another.
    shown: watch::Sender<Arc<Shown>>,
}

impl Desk {
    pub(crate) async fn open(
        source: Arc<dyn SessionSource>,
        client: ClientInfo,
        listings: Arc<Listings>,
    ) -> Result<Self, SourceError> {
        let session = source.open(&client).await?;
        let (shown, _) = watch::channel(Arc::new(Shown::of(session, &listings)));
        Ok(Self {
            source,
            client,
            listings,
            shown,
        })
    }

    pub(crate) fn shown(&self) -> Arc<Shown> {
        Arc::clone(&self.shown.borrow())
    }

    /// Wakes whenever a client has to be told that the list changed.
    pub(crate) fn subscribe(&self) -> watch::Receiver<Arc<Shown>> {
        self.shown.subscribe()
    }

    /// Plans anew after every change, at most once per `settle`, until the source is gone.
    pub(crate) async fn follow(
        self: Arc<Self>,
        mut changes: watch::Receiver<u64>,
        settle: Duration,
    ) {
        while changes.changed().await.is_ok() {
            sleep(settle).await;
            changes.mark_unchanged();
            self.replan().await;
        }
    }

    async fn replan(&self) {
        let previous = self.shown();
        let session = match self.source.reopen(&self.client, &previous.session).await {
            Ok(session) => session,
            Err(error) => {
                tracing::warn!(%error, "the session could not be planned anew; the old one stays");
                return;
            }
        };
        let next = Arc::new(Shown::of(session, &self.listings));
        let changed = next.differs_from(&previous);
        self.shown.send_if_modified(|shown| {
            *shown = next;
            changed
        });
    }
}
