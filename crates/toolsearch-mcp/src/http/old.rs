//! The transport of 2024-11-05: one stream of events brings everything, and its first event says
//! where messages are sent to.

use std::sync::Arc;

use reqwest::{Response, Url};
use tokio::task::JoinHandle;

use super::client::unsent;
use super::events::{Events, MAX_EVENT_BYTES};
use super::exchange::read_events;
use super::link::Link;
use crate::trouble::Trouble;

/// Longest address for messages.
const MAX_ADDRESS_BYTES: usize = 8 * 1024;

/// Opens the stream after streamable HTTP was refused with `refusal`; returns once messages can be
/// sent.
pub(super) async fn open(link: &Arc<Link>, refusal: &Trouble) -> Result<(), Trouble> {
    connect(link).await.map_err(|trouble| match trouble {
        // This is what has to be done, whichever transport it is.
        auth @ (Trouble::NeedsAuth(_) | Trouble::Forbidden { .. }) => auth,
        other => Trouble::Rejected(format!(
            "{refusal}; the older transport is not there either: {other}"
        )),
    })
}

/// The same as the only transport.
pub(super) async fn connect(link: &Arc<Link>) -> Result<(), Trouble> {
    let mut stream = link.get(None).await?;
    let mut events = Events::new(MAX_EVENT_BYTES);
    let target = endpoint(link, &mut stream, &mut events).await?;
    // Set once: there is one stream for one connection.
    let _ = link.old.set(target);
    drop(follow(Arc::clone(link), stream, events));
    Ok(())
}

/// Waits for the address. It has to be of the same origin, as headers with keys are sent to it.
async fn endpoint(link: &Link, stream: &mut Response, events: &mut Events) -> Result<Url, Trouble> {
    loop {
        let chunk = stream.chunk().await;
        let Some(chunk) = chunk.map_err(|error| unsent(error, &link.redactor))? else {
            return Err(Trouble::Rejected(
                "the stream ended without an address for messages".to_owned(),
            ));
        };
        let too_long = |_| Trouble::Rejected("the first event is too long".to_owned());
        let Some(event) = events.push(&chunk).map_err(too_long)?.into_iter().next() else {
            continue;
        };
        if event.name != "endpoint" || event.data.len() > MAX_ADDRESS_BYTES {
            return Err(Trouble::Rejected(
                "the first event of the stream is no address for messages".to_owned(),
            ));
        }
        let text = String::from_utf8_lossy(&event.data);
        let target = link.url.join(text.trim()).ok();
        return target
            .filter(|target| target.origin() == link.url.origin())
            .ok_or_else(|| {
                Trouble::Rejected("messages would have to go to another origin".to_owned())
            });
    }
}

/// Hands on what comes until the stream ends, which ends the connection.
fn follow(link: Arc<Link>, mut stream: Response, mut events: Events) -> JoinHandle<()> {
    tokio::spawn(async move {
        let mut over = link.over.subscribe();
        let read = read_all(&link, &mut stream, &mut events);
        let reason = tokio::select! {
            reason = read => reason,
            _ = over.wait_for(Option::is_some) => return,
        };
        link.end(reason);
    })
}

async fn read_all(link: &Link, stream: &mut Response, events: &mut Events) -> String {
    loop {
        match read_events(link, stream, events, None).await {
            Ok(true) => {}
            Ok(false) => return "closed its stream of events".to_owned(),
            Err(trouble) => return trouble.to_string(),
        }
    }
}
