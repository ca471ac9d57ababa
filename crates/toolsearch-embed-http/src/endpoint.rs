//! One POST of JSON: bounded, never redirected, the key in no message.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, StatusCode, Url};
use rustls_platform_verifier::BuilderVerifierExt;
use serde_json::Value;
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
        let shown = || BadAddress::Address(shown(base));
        let (_, rest) = base.split_once("://").ok_or_else(shown)?;
        if rest.starts_with('/') {
            return Err(shown());
        }
        let mut url = Url::parse(base.trim()).map_err(|_| shown())?;
        if !url.username().is_empty() || url.password().is_some() {
            return Err(BadAddress::Credentials);
        }
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Err(shown());
        }
        url.path_segments_mut()
            .map_err(|()| shown())?
            .pop_if_empty()
            .extend(path);
        let key = key.map(|key| {
            let header = HeaderValue::from_str(&format!("Bearer {key}"));
            let mut header = header.map_err(|_| BadAddress::Key)?;
            header.set_sensitive(true);
            Ok(Key {
                header,
                text: key.into(),
            })
        });
        Ok(Self {
            client: client(&url)?,
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
        read(answer, MAX_ANSWER_BYTES).await?.ok_or_else(|| {
            EmbedError::Unavailable(format!(
                "its answer is longer than {MAX_ANSWER_BYTES} bytes"
            ))
        })
    }

    /// What may go away by itself is told from what a person must change.
    async fn refused(&self, status: StatusCode, answer: Response) -> EmbedError {
        let said = read(answer, MAX_REFUSAL_BYTES).await.ok().flatten();
        let said = said.map(|bytes| self.said_by(&bytes)).unwrap_or_default();
        let text = match said.as_str() {
            "" => format!("the server answered {}", status.as_u16()),
            said => format!("the server answered {}: {said}", status.as_u16()),
        };
        match status.as_u16() {
            300..=399 | 400..=407 | 410..=422 => EmbedError::Misconfigured(text),
            _ => EmbedError::Unavailable(text),
        }
    }

    /// Servers say what is wrong in `error.message`, `error` or `message`, or in plain text. Some quote
    /// the key.
    fn said_by(&self, bytes: &[u8]) -> String {
        let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
        let told = ["/error/message", "/error", "/message", "/detail"]
            .iter()
            .find_map(|place| value.pointer(place)?.as_str().map(str::to_owned));
        let told = told.unwrap_or_else(|| String::from_utf8_lossy(bytes).into_owned());
        match &self.key {
            Some(key) if !key.text.is_empty() => excerpt(&told.replace(&*key.text, "[key]")),
            _ => excerpt(&told),
        }
    }
}

/// An address without what may be a secret in it.
fn shown(base: &str) -> String {
    let plain = base.split(['?', '#']).next().unwrap_or_default();
    let plain = match plain.rsplit_once('@') {
        Some((_, host)) => host,
        None => plain,
    };
    plain.chars().take(120).collect()
}

fn client(url: &Url) -> Result<Client, BadAddress> {
    let tls = |error: &dyn fmt::Display| BadAddress::Tls(error.to_string());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| tls(&error))?;
    // The system's certificates take time to read and are of no use without TLS.
    let config = if url.scheme() == "https" {
        config
            .with_platform_verifier()
            .map_err(|error| tls(&error))?
    } else {
        config.with_root_certificates(rustls::RootCertStore::empty())
    };
    let mut client = Client::builder()
        .tls_backend_preconfigured(config.with_no_client_auth())
        // A redirect could carry the key to somebody else.
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .timeout(ANSWER_TIMEOUT);
    if is_loopback(url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| tls(&error))
}

fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || address
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// The address stays out of the message: some servers take a key in its query.
fn unsent(error: reqwest::Error) -> EmbedError {
    let error = error.without_url();
    let mut message = String::new();
    let mut source: Option<&dyn std::error::Error> = Some(&error);
    while let Some(error) = source {
        let text = error.to_string();
        if !message.ends_with(&text) {
            let gap = if message.is_empty() { "" } else { ": " };
            message.push_str(gap);
            message.push_str(&text);
        }
        source = error.source();
    }
    EmbedError::Unavailable(excerpt(&message))
}

/// `None` when there is more than `most`.
async fn read(mut answer: Response, most: usize) -> Result<Option<Vec<u8>>, EmbedError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await.map_err(unsent)? {
        if bytes.len() + chunk.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// A printable beginning of what came from outside.
fn excerpt(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let text: String = printable.take(MAX_MESSAGE_CHARS).collect();
    text.trim().to_owned()
}
