//! What the HTTP client of servers does, and what its errors mean to the rest of this crate.

use reqwest::{Client, Response, Url};
use toolsearch_http::{BadAddress, ClientOptions, Redirects};

use crate::text::Redactor;
use crate::trouble::Trouble;

pub(crate) use toolsearch_http::is_loopback;

/// Longest excerpt of an answer or an error, in characters.
pub(crate) const MAX_EXCERPT_CHARS: usize = 300;
/// Largest answer to a refused request that is looked at.
pub(crate) const MAX_REFUSAL_BYTES: usize = 64 * 1024;

/// Reads an address and says what is wrong with it.
pub(crate) fn address(text: &str) -> Result<Url, String> {
    toolsearch_http::address(text).map_err(|error| match error {
        BadAddress::NoAddress(shown) => format!("`{shown}` is no address of a server"),
        _ => "the address holds a user name or a password; use a header instead".to_owned(),
    })
}

/// A client for requests to this address.
pub(crate) fn client(url: &Url) -> Result<Client, String> {
    let mut options = ClientOptions::default();
    options.redirects = Redirects::WithinOrigin;
    toolsearch_http::client(url, &options).map_err(|error| error.to_string())
}

/// Why a request brought no answer.
pub(crate) fn unsent(error: reqwest::Error, redactor: &Redactor) -> Trouble {
    let unsent = toolsearch_http::unsent(error);
    let text = redactor.line(&unsent.text, MAX_EXCERPT_CHARS);
    match unsent.tls {
        true => Trouble::Tls(text),
        false => Trouble::Unreachable(format!("cannot be reached: {text}")),
    }
}

/// The whole body, at most `most` bytes of it.
pub(crate) async fn body(
    answer: Response,
    most: usize,
    redactor: &Redactor,
) -> Result<Vec<u8>, Trouble> {
    let body = toolsearch_http::read(answer, most).await;
    let body = body.map_err(|error| unsent(error, redactor))?;
    body.ok_or_else(|| Trouble::Rejected(format!("the answer is longer than {most} bytes")))
}

/// A printable beginning of what came from outside.
pub(crate) fn excerpt(bytes: &[u8], redactor: &Redactor) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_REFUSAL_BYTES)]);
    redactor.line(&text, MAX_EXCERPT_CHARS)
}
