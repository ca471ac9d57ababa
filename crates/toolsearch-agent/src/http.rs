//! One POST of JSON to a provider: bounded, never redirected, the key in no message.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{
    AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER,
};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use toolsearch_dialect::Dialect;
use toolsearch_http::{ClientOptions, address, below, client, printable, read, said};

use crate::model::ModelError;
use crate::retry::retry_after;

/// Largest answer that is read.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Largest answer to a refused request that is looked at.
const MAX_REFUSAL_BYTES: usize = 64 * 1024;
/// Longest excerpt of what a provider says about a failure, in characters.
const MAX_MESSAGE_CHARS: usize = 500;
const ANSWER_TIMEOUT: Duration = Duration::from_secs(300);

/// Why no requests can be sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAddress {
    /// Not an address of the web.
    #[error("`{0}` is no address; write one like `https://api.example.com/v1`")]
    Address(String),
    /// A user or a password stands in it.
    #[error("the address holds a user name or a password; give the key as `apiKey` instead")]
    Credentials,
    /// The key cannot stand in a header.
    #[error("the key holds characters that no key has, such as a line break")]
    Key,
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

/// A provider's endpoint.
#[derive(Clone)]
pub(crate) struct Endpoint {
    client: Client,
    url: Url,
    headers: HeaderMap,
    key: Key,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint")
            .field("host", &self.url.host_str())
            .field("path", &self.url.path())
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The dialect's path is added to that of the base address; a query stays.
    pub(crate) fn new(dialect: Dialect, base: &str, key: Option<&str>) -> Result<Self, BadAddress> {
        let url = below(&address(base)?, dialect.path());
        let mut options = ClientOptions::default();
        options.answer_timeout = Some(ANSWER_TIMEOUT);
        Ok(Self {
            client: client(&url, &options).map_err(|error| BadAddress::Tls(error.0))?,
            headers: headers(dialect, key)?,
            key: Key(key.map(Arc::from)),
            url,
        })
    }

    /// Sends a body; a refusal is an error.
    pub(crate) async fn post(&self, body: Vec<u8>) -> Result<Answer, ModelError> {
        let request = self.client.post(self.url.clone());
        let request = request.headers(self.headers.clone()).body(body);
        let answer = request.send().await.map_err(unsent)?;
        let status = answer.status();
        if !status.is_success() {
            return Err(refused(status, answer, &self.key).await);
        }
        Ok(Answer {
            response: answer,
            read: 0,
            key: self.key.clone(),
        })
    }
}

/// The key of a provider, which quotes it in an answer when it is unlucky.
#[derive(Clone)]
struct Key(Option<Arc<str>>);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

impl Key {
    /// What came from outside, without the key.
    fn taken_out_of(&self, bytes: &[u8]) -> Vec<u8> {
        match &self.0 {
            Some(key) if !key.is_empty() => {
                let text = String::from_utf8_lossy(bytes);
                text.replace(&**key, "[redacted]").into_bytes()
            }
            _ => bytes.to_vec(),
        }
    }
}

fn headers(dialect: Dialect, key: Option<&str>) -> Result<HeaderMap, BadAddress> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let (name, prefix) = match dialect {
        Dialect::AnthropicMessages => {
            let version = HeaderName::from_static("anthropic-version");
            headers.insert(version, HeaderValue::from_static("2023-06-01"));
            (HeaderName::from_static("x-api-key"), "")
        }
        _ => (AUTHORIZATION, "Bearer "),
    };
    if let Some(key) = key {
        let value = HeaderValue::from_str(&format!("{prefix}{key}"));
        let mut value = value.map_err(|_| BadAddress::Key)?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// An answer that was not refused.
#[derive(Debug)]
pub(crate) struct Answer {
    response: Response,
    read: usize,
    key: Key,
}

impl Answer {
    /// Whether it comes as server-sent events.
    pub(crate) fn is_stream(&self) -> bool {
        let kind = self.response.headers().get(CONTENT_TYPE);
        kind.and_then(|kind| kind.to_str().ok())
            .is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    /// The next bytes, until there are more than an answer may have.
    pub(crate) async fn chunk(&mut self) -> Result<Option<Vec<u8>>, ModelError> {
        let Some(chunk) = self.response.chunk().await.map_err(unsent)? else {
            return Ok(None);
        };
        self.read += chunk.len();
        if self.read > MAX_ANSWER_BYTES {
            return Err(too_long());
        }
        Ok(Some(chunk.to_vec()))
    }

    /// The whole answer as JSON.
    pub(crate) async fn json(self) -> Result<Value, ModelError> {
        let bytes = read(self.response, MAX_ANSWER_BYTES)
            .await
            .map_err(unsent)?;
        let bytes = bytes.ok_or_else(too_long)?;
        serde_json::from_slice(&bytes).map_err(|error| {
            let start = excerpt(&self.key.taken_out_of(&bytes));
            ModelError::Unreadable(format!("it is no JSON ({error}); it starts with: {start}"))
        })
    }
}

fn too_long() -> ModelError {
    ModelError::Unreadable(format!("it is longer than {MAX_ANSWER_BYTES} bytes"))
}

fn unsent(error: reqwest::Error) -> ModelError {
    let unsent = toolsearch_http::unsent(error);
    match unsent.timed_out {
        true => ModelError::Timeout(ANSWER_TIMEOUT),
        false => ModelError::Unreachable(excerpt(unsent.text.as_bytes())),
    }
}

async fn refused(status: StatusCode, answer: Response, key: &Key) -> ModelError {
    let wish = answer.headers().get(RETRY_AFTER);
    let wish = wish.and_then(|wish| retry_after(wish.to_str().ok()?));
    let body = read(answer, MAX_REFUSAL_BYTES).await.ok().flatten();
    let message = body.map(|bytes| excerpt(said(&key.taken_out_of(&bytes)).as_bytes()));
    let message = message.unwrap_or_default();
    let status = status.as_u16();
    match status {
        401 | 403 => ModelError::Unauthorised { status, message },
        408 | 409 | 429 | 500..=599 => ModelError::Busy {
            status,
            message,
            retry_after: wish,
        },
        _ => ModelError::Refused { status, message },
    }
}

/// A printable beginning of what came from outside.
fn excerpt(bytes: &[u8]) -> String {
    printable(bytes, MAX_MESSAGE_CHARS)
}
