//! Where answers go: a whole one at the end, or a stream that begins as soon as the provider says
//! something.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Bytes;
use futures::channel::mpsc;
use futures::{SinkExt, Stream};
use tokio::time::{Instant, Sleep};
use toolsearch_dialect::{Relay, SseEvent};

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// Pieces that wait for a slow client before the provider is read on.
const QUEUED: usize = 32;

/// The writing end of a client's stream.
#[derive(Debug)]
pub(crate) struct Writer {
    pub(crate) relay: Relay,
    sender: mpsc::Sender<Bytes>,
    begun: Arc<AtomicBool>,
}

/// The client is not there any more.
#[derive(Debug)]
pub(crate) struct Left;

impl Writer {
    pub(crate) fn new(relay: Relay) -> (Self, mpsc::Receiver<Bytes>) {
        let (sender, receiver) = mpsc::channel(QUEUED);
        let writer = Self {
            relay,
            sender,
            begun: Arc::default(),
        };
        (writer, receiver)
    }

    /// Whether the client's stream has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.begun.load(Ordering::Relaxed)
    }

    /// Set when the client's stream begins.
    pub(crate) fn begun(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.begun)
    }

    pub(crate) async fn send(&mut self, events: &[SseEvent]) -> Result<(), Left> {
        if events.is_empty() {
            return Ok(());
        }
        self.begun.store(true, Ordering::Relaxed);
        let text: String = events.iter().map(SseEvent::to_wire).collect();
        self.sender.send(Bytes::from(text)).await.map_err(|_| Left)
    }
}

/// The stream of a client together with the work that writes it: dropping the one drops the other.
pub(crate) struct Answer<F> {
    work: Option<Pin<Box<F>>>,
    pieces: mpsc::Receiver<Bytes>,
    silence: Pin<Box<Sleep>>,
    begun: Arc<AtomicBool>,
}

impl<F> Answer<F> {
    pub(crate) fn new(work: F, pieces: mpsc::Receiver<Bytes>, begun: Arc<AtomicBool>) -> Self {
        Self {
            work: Some(Box::pin(work)),
            pieces,
            silence: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
            begun,
        }
    }
}

impl<F: Future<Output = ()>> Stream for Answer<F> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if let Some(work) = &mut self.work
            && work.as_mut().poll(cx).is_ready()
        {
            self.work = None;
        }
        let polled = Pin::new(&mut self.pieces).poll_next(cx);
        let piece = match polled {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(piece)) => piece,
            Poll::Pending => {
                std::task::ready!(self.silence.as_mut().poll(cx));
                self.begun.store(true, Ordering::Relaxed);
                Bytes::from_static(b": still here\n\n")
            }
        };
        self.silence.as_mut().reset(Instant::now() + KEEP_ALIVE);
        Poll::Ready(Some(Ok(piece)))
    }
}
