//! The client: TLS by rustls, no redirect that could carry a key away, no proxy for this machine.

use std::time::Duration;

use once_cell::sync::OnceCell;
use reqwest::redirect::{Action, Attempt, Policy};
use reqwest::{Client, StatusCode, Url};
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::address::is_loopback;

/// Redirects within one origin that are followed.
const MAX_REDIRECTS: usize = 4;

/// The certificates of the system take time to read, and do not change while a process runs.
static SYSTEM: OnceCell<ClientConfig> = OnceCell::new();

/// Which redirects are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Redirects {
    /// None: an answer that redirects is an answer like any other.
    #[default]
    None,
    /// Up to four within the origin that keep method and body (307 and 308).
    WithinOrigin,
}

/// How long a client waits, and which redirects it follows.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientOptions {
    /// For a connection. Default: 20 s.
    pub connect_timeout: Duration,
    /// From the request to the end of the answer. Default: no limit.
    pub answer_timeout: Option<Duration>,
    /// Without a byte of the answer. Default: no limit.
    pub silence: Option<Duration>,
    /// Which redirects are followed. Default: none.
    pub redirects: Redirects,
}

impl Default for ClientOptions {
    fn default() -> Self {
        Self {
            connect_timeout: Duration::from_secs(20),
            answer_timeout: None,
            silence: None,
            redirects: Redirects::None,
        }
    }
}

/// TLS cannot be set up on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("TLS cannot be set up: {0}")]
pub struct TlsUnavailable(pub String);

/// A client for requests to this address. Addresses without TLS need no certificates.
///
/// # Errors
/// [`TlsUnavailable`] when the certificates of the system cannot be used.
pub fn client(url: &Url, options: &ClientOptions) -> Result<Client, TlsUnavailable> {
    let unavailable = |error: &dyn std::fmt::Display| TlsUnavailable(error.to_string());
    let tls = match url.scheme() {
        "https" => SYSTEM.get_or_try_init(with_system_certificates).cloned(),
        _ => without_certificates(),
    };
    let mut client = Client::builder()
        .tls_backend_preconfigured(tls.map_err(|error| unavailable(&error))?)
        .redirect(match options.redirects {
            Redirects::None => Policy::none(),
            Redirects::WithinOrigin => Policy::custom(within_the_origin),
        })
        .connect_timeout(options.connect_timeout)
        .tcp_nodelay(true)
        .referer(false);
    if let Some(time) = options.answer_timeout {
        client = client.timeout(time);
    }
    if let Some(time) = options.silence {
        client = client.read_timeout(time);
    }
    if is_loopback(url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| unavailable(&error))
}

fn with_system_certificates() -> Result<ClientConfig, rustls::Error> {
    Ok(builder()?.with_platform_verifier()?.with_no_client_auth())
}

fn without_certificates() -> Result<ClientConfig, rustls::Error> {
    let none = RootCertStore::empty();
    Ok(builder()?
        .with_root_certificates(none)
        .with_no_client_auth())
}

fn builder() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// Headers may hold keys, and only a redirect that keeps the method can carry a message on.
fn within_the_origin(attempt: Attempt<'_>) -> Action {
    let keeps = [
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let few = attempt.previous().len() <= MAX_REDIRECTS;
    let same = attempt
        .previous()
        .last()
        .is_some_and(|previous| previous.origin() == attempt.url().origin());
    if few && same && keeps.contains(&attempt.status()) {
        attempt.follow()
    } else {
        attempt.stop()
    }
}
