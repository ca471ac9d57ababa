//! What can go wrong between this client and a server over HTTP, sorted by what can be done about it.
//! Every text in here is bounded and free of configured secrets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Longest pause that a server may ask for.
const LONGEST_RETRY_AFTER: Duration = Duration::from_mins(5);
/// Scopes in a message, and how long one may be.
const MAX_SCOPES: usize = 16;
const MAX_SCOPE_BYTES: usize = 100;

/// Serialized, it rides through rmcp in the `data` of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
pub(crate) enum Trouble {
    /// 401: credentials are missing, wrong or expired.
    #[error("{}", needs_auth(.0))]
    NeedsAuth(Challenge),
    /// 403: the credentials are not good enough.
    #[error("the server forbids this (403){told}{}", needs_scopes(scope.as_deref()))]
    Forbidden {
        told: String,
        /// What they would have to allow, where the server says that this is the reason.
        scope: Option<String>,
    },
    /// 429 and 503: later.
    #[error("{reason}{}", wait(*.retry_after_ms))]
    Busy {
        reason: String,
        retry_after_ms: Option<u64>,
    },
    /// 5xx.
    #[error("{0}")]
    Failing(String),
    /// No connection, or one that broke.
    #[error("{0}")]
    Unreachable(String),
    /// The other side could not prove who it is, or speaks no TLS.
    #[error("no secure connection (TLS): {0}")]
    Tls(String),
    /// Anything else that is no answer.
    #[error("{0}")]
    Rejected(String),
}

/// What a 401 says about how to be let in.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Challenge {
    /// Where the server describes who can let a client in.
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scope: Option<String>,
    pub(crate) error: Option<String>,
}

impl Trouble {
    /// Whether the same could go better a little later.
    pub(crate) const fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::Busy { .. } | Self::Failing(_) | Self::Unreachable(_)
        )
    }

    /// How long the server wants to be left alone.
    pub(crate) fn pause(&self) -> Option<Duration> {
        let Self::Busy { retry_after_ms, .. } = self else {
            return None;
        };
        let asked = Duration::from_millis((*retry_after_ms)?);
        Some(asked.min(LONGEST_RETRY_AFTER))
    }

    pub(crate) const fn wants_auth(&self) -> bool {
        matches!(self, Self::NeedsAuth(_))
    }
}

fn needs_auth(challenge: &Challenge) -> String {
    let mut text = "needs authorization (401)".to_owned();
    if let Some(error) = &challenge.error {
        text += &format!(": {error}");
    }
    text += "; log in with `toolsearch mcp login`, or set an `Authorization` header";
    if let Some(address) = &challenge.resource_metadata {
        text += &format!("; resource metadata: {address}");
    }
    text
}

/// The scopes of a server are shown as far as they can stand in a command.
fn needs_scopes(scope: Option<&str>) -> String {
    let usable = |scope: &&str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b":._/-+".contains(&byte);
        scope.len() <= MAX_SCOPE_BYTES && !scope.starts_with('-') && scope.bytes().all(allowed)
    };
    let scopes = scope.unwrap_or_default().split_ascii_whitespace();
    let options: Vec<String> = scopes
        .filter(usable)
        .take(MAX_SCOPES)
        .map(|scope| format!(" --scope {scope}"))
        .collect();
    if options.is_empty() {
        return String::new();
    }
    let options = options.concat();
    format!("; log in for more with `toolsearch mcp login` and{options}")
}

fn wait(retry_after_ms: Option<u64>) -> String {
    retry_after_ms.map_or_else(String::new, |pause| {
        format!("; it asks to wait {} s", pause.div_ceil(1000))
    })
}
