//! Answers read within a bound, and words for those that did not come.

use std::error::Error;
use std::io;

use reqwest::Response;
use serde_json::Value;

/// Most bytes that are looked at for a printable beginning, for each of its characters.
const BYTES_PER_CHAR: usize = 4;

/// Why a request brought no answer, or only a part of one.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Unsent {
    /// The causes, outermost first, without the address: a key may stand in its query.
    pub text: String,
    /// Whether a limit on the waiting for an answer was reached.
    pub timed_out: bool,
    /// Whether the two sides could not agree on TLS.
    pub tls: bool,
}

/// Words for an error of a request.
#[must_use]
pub fn unsent(error: reqwest::Error) -> Unsent {
    let timed_out = error.is_timeout() && !error.is_connect();
    let error = error.without_url();
    let (mut text, mut tls) = (String::new(), false);
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
    Unsent {
        text,
        timed_out,
        tls,
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

/// The whole body, or `None` when it has more than `most` bytes.
///
/// # Errors
/// As the connection gives them; [`unsent`] has words for them.
pub async fn read(mut answer: Response, most: usize) -> Result<Option<Vec<u8>>, reqwest::Error> {
    let mut bytes = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if bytes.len() + chunk.len() > most {
            return Ok(None);
        }
        bytes.extend_from_slice(&chunk);
    }
    Ok(Some(bytes))
}

/// What a service says about a failure: `error.message`, `error`, `message` or `detail` of JSON, else the
/// text itself. Neither cut nor cleaned.
#[must_use]
pub fn said(bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap_or_default();
    let told = ["/error/message", "/error", "/message", "/detail"]
        .iter()
        .find_map(|place| value.pointer(place)?.as_str());
    match told {
        Some(text) => text.to_owned(),
        None => String::from_utf8_lossy(bytes).into_owned(),
    }
}

/// The beginning of a text that came from outside: at most `most` characters, none of them a control, no
/// blanks around it.
#[must_use]
pub fn printable(bytes: &[u8], most: usize) -> String {
    let looked_at = bytes.len().min(most.saturating_mul(BYTES_PER_CHAR));
    let text = String::from_utf8_lossy(&bytes[..looked_at]);
    let clean = text.chars().map(|c| if c.is_control() { ' ' } else { c });
    let text: String = clean.take(most).collect();
    text.trim().to_owned()
}
