//! The token of one connection: taken from the store, refreshed before it ends and when the server
//! no longer takes it.

use std::sync::{Mutex, PoisonError};

use reqwest::header::HeaderValue;
use reqwest::{Client, Url};

use super::store::TokenStore;
use super::{Tokens, request};

#[derive(Debug)]
pub(crate) struct Bearer {
    store: TokenStore,
    url: Url,
    client: Client,
    known: tokio::sync::Mutex<Option<Tokens>>,
    /// The token that the server refused last.
    refused: Mutex<Option<HeaderValue>>,
}

impl Bearer {
    pub(crate) fn new(store: TokenStore, url: Url, client: Client) -> Self {
        Self {
            store,
            url,
            client,
            known: tokio::sync::Mutex::new(None),
            refused: Mutex::new(None),
        }
    }

    /// The header to send, if there is a token.
    pub(crate) async fn header(&self) -> Option<HeaderValue> {
        let mut known = self.known.lock().await;
        if known.is_none() {
            *known = self.store.get(self.url.as_str());
        }
        if known.as_ref()?.is_expired() {
            self.renew(&mut known).await;
        }
        header(known.as_ref()?)
    }

    /// The server did not take this one.
    pub(crate) fn refused(&self, token: Option<&HeaderValue>) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        *refused = token.cloned();
    }

    /// Gets another token after one was refused; false when there is none to be had.
    pub(crate) async fn refresh(&self) -> bool {
        let refused = self
            .refused
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut known = self.known.lock().await;
        if known.as_ref().and_then(header) == refused {
            self.renew(&mut known).await;
        }
        let now = known.as_ref().and_then(header);
        now.is_some() && now != refused
    }

    /// Another process, or a login, may have been here before.
    async fn renew(&self, known: &mut Option<Tokens>) {
        let stored = self.store.get(self.url.as_str());
        if stored.is_some() && stored != *known {
            let usable = stored.as_ref().is_some_and(|tokens| !tokens.is_expired());
            *known = stored;
            if usable {
                return;
            }
        }
        let Some(old) = known.as_ref() else {
            return;
        };
        match request::refresh(&self.client, old).await {
            Ok(tokens) => {
                if let Err(error) = self.store.keep(&tokens) {
                    tracing::warn!(%error, "refreshed tokens cannot be kept");
                }
                *known = Some(tokens);
            }
            Err(error) => tracing::info!(%error, "the token could not be refreshed"),
        }
    }
}

fn header(tokens: &Tokens) -> Option<HeaderValue> {
    let text = format!("Bearer {}", tokens.access.expose());
    let mut header = HeaderValue::from_str(&text).ok()?;
    header.set_sensitive(true);
    Some(header)
}
