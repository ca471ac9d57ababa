//! The HTTP client and what its errors mean: no credentials to another origin, no address in a
//! message, certificates of the system.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use reqwest::redirect::{Attempt, Policy};
use reqwest::{Client, Response, StatusCode, Url};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::text::Redactor;
use crate::trouble::Trouble;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
/// Redirects within the same origin that are followed.
const MAX_REDIRECTS: usize = 4;
/// Longest excerpt of an answer or an error, in characters.
pub(crate) const MAX_EXCERPT_CHARS: usize = 300;
/// Largest answer to a refused request that is looked at.
pub(crate) const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// The certificates of the system take time to read, and do not change while a process runs.
static TLS: OnceLock<rustls::ClientConfig> = OnceLock::new();

/// Reads an address and says what is wrong with it.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    let shown = || text.split(['?', '#']).next().unwrap_or_default();
    let unusable = || format!("`{}` is no address of a server", shown());
    let url = Url::parse(text.trim()).map_err(|_| unusable())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("the address holds a user name or a password; use a header instead".to_owned());
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(unusable());
    }
    Ok(url)
}

/// A client for requests to this address.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let failed = |error: &dyn Display| format!("TLS cannot be set up: {error}");
    let config = if url.scheme() == "https" {
        system_certificates().map_err(|error| failed(&error))?
    } else {
        without_certificates().map_err(|error| failed(&error))?
    };
    let mut client = Client::builder()
        .tls_backend_preconfigured(config)
        .redirect(Policy::custom(within_the_origin))
        .connect_timeout(CONNECT_TIMEOUT)
        .tcp_nodelay(true)
        .referer(false);
    if is_loopback(url) {
        client = client.no_proxy();
    }
    client.build().map_err(|error| failed(&error))
}

fn system_certificates() -> Result<rustls::ClientConfig, rustls::Error> {
    if let Some(config) = TLS.get() {
        return Ok(config.clone());
    }
    let config = builder()?.with_platform_verifier()?.with_no_client_auth();
    Ok(TLS.get_or_init(|| config).clone())
}

fn without_certificates() -> Result<rustls::ClientConfig, rustls::Error> {
    let none = rustls::RootCertStore::empty();
    Ok(builder()?
        .with_root_certificates(none)
        .with_no_client_auth())
}

fn builder()
-> Result<rustls::ConfigBuilder<rustls::ClientConfig, rustls::WantsVerifier>, rustls::Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()
}

/// Headers may hold keys, and only a redirect that keeps the method can carry a message on.
fn within_the_origin(attempt: Attempt<'_>) -> reqwest::redirect::Action {
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

pub(crate) fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost"
            || address
                .parse::<IpAddr>()
                .is_ok_and(|address| address.is_loopback())
    })
}

/// Why a request brought no answer. The address stays out: a key may stand in its query.
pub(crate) fn unsent(error: reqwest::Error, redactor: &Redactor) -> Trouble {
    let error = error.without_url();
    let mut text = String::new();
    let mut tls = false;
    let mut source: Option<&dyn Error> = Some(&error);
    while let Some(error) = source {
        tls |= is_tls(error);
        let part = error.to_string();
        if !text.ends_with(&part) {
            let gap = if text.is_empty() { "" } else { ": " };
            text.push_str(gap);
            text.push_str(&part);
        }
        source = error.source();
    }
    let text = redactor.line(&text, MAX_EXCERPT_CHARS);
    if tls {
        Trouble::Tls(text)
    } else {
        Trouble::Unreachable(format!("cannot be reached: {text}"))
    }
}

/// Input and output errors hide what they hold from the chain of sources.
fn is_tls(error: &(dyn Error + 'static)) -> bool {
    if error.is::<rustls::Error>() {
        return true;
    }
    let inner = error
        .downcast_ref::<io::Error>()
        .and_then(io::Error::get_ref);
    inner.is_some_and(|inner| is_tls(inner))
}

/// The whole body, at most `most` bytes of it.
pub(crate) async fn body(
    mut answer: Response,
    most: usize,
    redactor: &Redactor,
) -> Result<Vec<u8>, Trouble> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer
        .chunk()
        .await
        .map_err(|error| unsent(error, redactor))?
    {
        if bytes.len() + chunk.len() > most {
            return Err(Trouble::Rejected(format!(
                "the answer is longer than {most} bytes"
            )));
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(bytes)
}

/// A printable beginning of what came from outside.
pub(crate) fn excerpt(bytes: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_REFUSAL_BYTES)]);
    redactor.line(&text, MAX_EXCERPT_CHARS)
}
