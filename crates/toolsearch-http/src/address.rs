//! Addresses: which are taken, and paths below them.

use std::net::IpAddr;

use reqwest::Url;

/// Most characters of an address in an error.
const MAX_SHOWN_CHARS: usize = 120;

/// Why nothing can be sent to an address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BadAddress {
    /// Not an address of the web. Holds what was given, without what may be a secret in it.
    #[error("`{0}` is no address; write one like `https://api.example.com/v1`")]
    NoAddress(String),
    /// A user or a password stands in it.
    #[error("the address holds a user name or a password; give it apart from the address")]
    Credentials,
}

/// Reads an address of http or https, blanks around it left out.
///
/// # Errors
/// [`BadAddress`] for any other scheme, without a host, and with a user or a password.
pub fn address(text: &str) -> Result<Url, BadAddress> {
    let no_address = || BadAddress::NoAddress(shown(text));
    // A host is made out of the path where none stands; better to ask than to guess.
    let (_, rest) = text.split_once("://").ok_or_else(no_address)?;
    if rest.starts_with('/') {
        return Err(no_address());
    }
    let url = Url::parse(text.trim()).map_err(|_| no_address())?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err(BadAddress::Credentials);
    }
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(no_address());
    }
    Ok(url)
}

/// The address with segments added to its path; a query stays, a slash at the end counts for nothing.
#[must_use]
pub fn below(base: &Url, segments: &[&str]) -> Url {
    let mut url = base.clone();
    // Addresses with a host always have a path.
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(segments);
    }
    url
}

/// Whether an address stands for this machine.
#[must_use]
pub fn is_loopback(url: &Url) -> bool {
    url.host_str().is_some_and(|host| {
        let address = host.trim_start_matches('[').trim_end_matches(']');
        let parsed = address.parse::<IpAddr>();
        host == "localhost" || parsed.is_ok_and(|address| address.is_loopback())
    })
}

/// Neither a query nor what stands before a host.
fn shown(text: &str) -> String {
    let plain = text.split(['?', '#']).next().unwrap_or_default();
    let plain = plain.rsplit_once('@').map_or(plain, |(_, host)| host);
    plain.chars().take(MAX_SHOWN_CHARS).collect()
}
