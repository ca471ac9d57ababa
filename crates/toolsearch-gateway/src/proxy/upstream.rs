//! Requests to providers: one client with limits, which headers pass, and whose key is sent.

use std::time::Duration;

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName};
use axum::http::{HeaderMap, HeaderValue};
use reqwest::{Client, Response, Url};
use toolsearch_dialect::{Dialect, Refusal, RefusalKind};
use toolsearch_http::{BadAddress, ClientOptions, address, below, client, printable};

use super::ProxyError;
use super::planner::ModelProvider;

/// Longest silence of a provider, before its answer and within a stream.
const SILENCE: Duration = Duration::from_secs(600);
/// Longest whole answer, in bytes.
const MAX_ANSWER_BYTES: usize = 64 * 1024 * 1024;
/// Longest cause of a request without an answer, in characters.
const MAX_CAUSE_CHARS: usize = 300;
/// Longest answer of a list of models, and of a refusal.
const MAX_SMALL_BYTES: usize = 4 * 1024 * 1024;

const API_KEY: HeaderName = HeaderName::from_static("x-api-key");
const ANTHROPIC_VERSION: HeaderName = HeaderName::from_static("anthropic-version");
/// Headers of one connection, or of this gateway, which nobody behind it is sent.
const OWN: [&str; 20] = [
    "accept-encoding",
    "authorization",
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "origin",
    "proxy-authorization",
    "referer",
    "set-cookie",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "x-api-key",
];

/// A provider with its client.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) provider: ModelProvider,
    base: Url,
    client: Client,
}

impl Upstream {
    pub(crate) fn new(provider: ModelProvider) -> Result<Self, ProxyError> {
        let bad = |why: &str| ProxyError::Provider {
            name: provider.name.clone(),
            why: why.to_owned(),
        };
        let base = address(&provider.base_url).map_err(|error| match error {
            BadAddress::Credentials => {
                bad("`baseUrl` holds a user name or a password; give the key as `apiKey`")
            }
            _ => bad("`baseUrl` is no address like https://api.example.com/v1"),
        })?;
        let key = provider.api_key.as_deref();
        if key.is_some_and(|key| HeaderValue::from_str(&format!("Bearer {key}")).is_err()) {
            return Err(bad("`apiKey` holds characters that no key has"));
        }
        let mut options = ClientOptions::default();
        options.silence = Some(SILENCE);
        let client = client(&base, &options).map_err(|error| bad(&error.to_string()))?;
        Ok(Self {
            base,
            client,
            provider,
        })
    }

    pub(crate) fn speaks(&self, dialect: Dialect) -> bool {
        self.provider.dialects.contains(&dialect)
    }

    /// Sends a request. The answer may be a refusal of the provider.
    pub(crate) async fn post(
        &self,
        dialect: Dialect,
        headers: &HeaderMap,
        body: Vec<u8>,
    ) -> Result<Response, Refusal> {
        let request = self
            .client
            .post(below(&self.base, dialect.path()))
            .headers(headers.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        request.send().await.map_err(unsent)
    }

    /// Lists the models.
    pub(crate) async fn models(&self, headers: &HeaderMap) -> Result<Response, Refusal> {
        let request = self.client.get(below(&self.base, &["models"]));
        let sent = request.headers(headers.clone()).send().await;
        sent.map_err(unsent)
    }

    /// The headers of a request to this provider: the client's own, and whoever's key.
    pub(crate) fn headers(
        &self,
        dialect: Dialect,
        client: &HeaderMap,
        key_is_ours: bool,
    ) -> HeaderMap {
        let mut headers = passed(client);
        let mut put = |name: HeaderName, value: HeaderValue| {
            let mut value = value;
            value.set_sensitive(true);
            headers.insert(name, value);
        };
        match self.provider.api_key.as_deref() {
            Some(key) if dialect == Dialect::AnthropicMessages => {
                if let Ok(key) = HeaderValue::from_str(key) {
                    put(API_KEY, key);
                }
            }
            Some(key) => {
                if let Ok(key) = HeaderValue::from_str(&format!("Bearer {key}")) {
                    put(AUTHORIZATION, key);
                }
            }
            None => {
                // What opened this gateway opens nothing behind it.
                if let Some(key) = client.get(AUTHORIZATION).filter(|_| !key_is_ours) {
                    put(AUTHORIZATION, key.clone());
                }
                if let Some(key) = client.get(API_KEY) {
                    put(API_KEY, key.clone());
                }
            }
        }
        if dialect == Dialect::AnthropicMessages {
            headers
                .entry(ANTHROPIC_VERSION)
                .or_insert(HeaderValue::from_static("2023-06-01"));
        }
        headers
    }
}

/// Headers that mean something to the other end.
pub(crate) fn passed(headers: &HeaderMap) -> HeaderMap {
    let mut passed = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let text = name.as_str();
        let own = OWN.contains(&text) || text.starts_with("x-toolsearch-");
        if !own && !text.starts_with("x-forwarded-") && !text.starts_with("sec-") {
            passed.append(name.clone(), value.clone());
        }
    }
    passed
}

/// A whole answer.
pub(crate) async fn whole(mut answer: Response) -> Result<Vec<u8>, Refusal> {
    let most = if answer.status().is_success() {
        MAX_ANSWER_BYTES
    } else {
        MAX_SMALL_BYTES
    };
    let mut bytes = Vec::new();
    while let Some(chunk) = chunk(&mut answer).await? {
        if bytes.len() + chunk.len() > most {
            let message = format!("the provider's answer is longer than {most} bytes");
            return Err(Refusal::new(RefusalKind::Upstream, message));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// The next bytes of an answer.
pub(crate) async fn chunk(answer: &mut Response) -> Result<Option<axum::body::Bytes>, Refusal> {
    answer.chunk().await.map_err(unsent)
}

fn unsent(error: reqwest::Error) -> Refusal {
    let unsent = toolsearch_http::unsent(error);
    if unsent.timed_out {
        let message = format!("the provider was silent for {} s", SILENCE.as_secs());
        return Refusal::new(RefusalKind::Timeout, message).coded("provider_timeout");
    }
    let why = printable(unsent.text.as_bytes(), MAX_CAUSE_CHARS);
    let message = format!("the provider cannot be reached: {why}");
    Refusal::new(RefusalKind::Upstream, message).coded("provider_unreachable")
}
