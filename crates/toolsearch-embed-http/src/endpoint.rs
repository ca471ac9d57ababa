//! One POST of JSON: bounded, never redirected, the key in no message.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use toolsearch_http::{ClientOptions, address, below, client, printable, read, said};
use toolsearch_search::EmbedError;

/// Largest answer that is read: a full batch of the largest vectors, written out.
const MAX_ANSWER_BYTES: usize = 16 << 20;
/// Largest answer to a refused request that is looked at.
const MAX_REFUSAL_BYTES: usize = 16 << 10;
/// Longest excerpt of what a server says about a failure, in characters.
const MAX_MESSAGE_CHARS: usize = 200;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// A safety net; whoever asks sets a shorter time.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(120);

/// Why no requests can be sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAddress {
    /// Not an address of the web.
    #[error("`{0}` is no address; write one like `https://api.example.com/v1`")]
    Address(String),
    /// A user or a password stands in it.
    #[error("the address holds a user name or a password; give the key apart from it")]
    Credentials,
    /// The key cannot stand in a header.
    #[error("the key holds characters that no key has, such as a line break")]
    Key,
    /// The name of the model is empty or too long.
    #[error("a model is named in 1 to 200 bytes")]
    Model,
    /// No vector has so many numbers.
    #[error("vectors have 1 to 8192 dimensions")]
    Dimensions,
    /// TLS cannot be set up here.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

impl From<toolsearch_http::BadAddress> for BadAddress {
    fn from(bad: toolsearch_http::BadAddress) -> Self {
        match bad {
            toolsearch_http::BadAddress::NoAddress(shown) => Self::Address(shown),
            _ => Self::Credentials,
        }
    }
}

/// Where requests go.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    key: Option<Key>,
}

#[derive(Clone)]
struct Key {
    header: HeaderValue,
    /// What must not come back in a message.
    text: Arc<str>,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("place", &self.place())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// `path` is added to the path of the base address; a query stays.
    pub(crate) fn new(base: &str, path: &[&str], key: Option<&str>) -> Result<Self, BadAddress> {
        let url = below(&address(base)?, path);
        let mut options = ClientOptions::default();
        options.connect_timeout = CONNECT_TIMEOUT;
        options.answer_timeout = Some(ANSWER_TIMEOUT);
        let key = key.map(|key| {
            let header = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut header = header.map_err(|_| BadAddress::Key)?;
            header.set_sensitive(true);
            Ok::<_, BadAddress>(Key {
                header,
                text: key.into(),
            })
        });
        Ok(Self {
            client: client(&url, &options).map_err(|error| BadAddress::Tls(error.0))?,
            key: key.transpose()?,
            url,
        })
    }

    /// Host, port and path: neither a key nor a query.
    pub(crate) fn place(&self) -> String {
        let host = self.url.host_str().unwrap_or_default();
        let port = self.url.port_or_known_default().unwrap_or_default();
        format!("{host}:{port}{}", self.url.path())
    }

    /// Sends a body and reads what comes back.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Vec<u8>, EmbedError> {
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(key) = &self.key {
            request = request.header(AUTHORIZATION, key.header.clone());
        }
        let answer = request.send().await.map_err(unsent)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(self.refused(status, answer).await);
        }
        read(answer, MAX_ANSWER_BYTES)
            .await
            .map_err(unsent)?
            .ok_or_else(|| {
                EmbedError::Unavailable(format!(
                    "its answer is longer than {MAX_ANSWER_BYTES} bytes"
                ))
            })
    }

    /// What may go away by itself is told from what a person must change.
    async fn refused(&self, status: StatusCode, answer: Response) -> EmbedError {
        let body = read(answer, MAX_REFUSAL_BYTES).await.ok().flatten();
        let said = body.map(|bytes| self.said_by(&bytes)).unwrap_or_default();
        let text = match said.as_str() {
            "" => format!("the server answered {}", status.as_u16()),
            said => format!("the server answered {}: {said}", status.as_u16()),
        };
        match status.as_u16() {
            300..=399 | 400..=407 | 410..=422 => EmbedError::Misconfigured(text),
            _ => EmbedError::Unavailable(text),
        }
    }

    /// Some servers quote the key.
    fn said_by(&self, bytes: &[u8]) -> String {
        let told = said(bytes);
        match &self.key {
            Some(key) if !key.text.is_empty() => excerpt(&told.replace(&*key.text, "[key]")),
            _ => excerpt(&told),
        }
    }
}

fn unsent(error: reqwest::Error) -> EmbedError {
    EmbedError::Unavailable(excerpt(&toolsearch_http::unsent(error).text))
}

/// A printable beginning of what came from outside.
fn excerpt(text: &str) -> String {
    printable(text.as_bytes(), MAX_MESSAGE_CHARS)
}
