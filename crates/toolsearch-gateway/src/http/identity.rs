//! Who a caller is: bearer tokens known by their hashes, and what one of them is bound to.

use std::fmt;
use std::sync::Arc;

use axum::http::HeaderMap;
use axum::http::header::AUTHORIZATION;
use data_encoding::HEXLOWER;
use sha2::{Digest, Sha256};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use uuid::Uuid;

/// Longest token that is looked at, in bytes.
const MAX_TOKEN_BYTES: usize = 1024;

/// A token that opens the gateway. The token itself is nowhere in the process.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Token {
    /// What it is called in logs and records.
    pub name: String,
    /// SHA-256 of the token's bytes.
    pub sha256: [u8; 32],
    /// The one agent that it may act as; any when missing.
    pub agent: Option<String>,
}

impl Token {
    /// A token by its hash.
    #[must_use]
    pub fn new(name: impl Into<String>, sha256: [u8; 32], agent: Option<String>) -> Self {
        Self {
            name: name.into(),
            sha256,
            agent,
        }
    }
}

/// The hash stays out: it is no secret, but it has no use in a log either.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token")
            .field("name", &self.name)
            .field("agent", &self.agent)
            .finish_non_exhaustive()
    }
}

/// A token that was just made.
#[derive(Clone)]
#[non_exhaustive]
pub struct NewToken {
    /// What the client sends. Shown once, kept nowhere.
    pub token: String,
    /// Its SHA-256 in hexadecimal, for the configuration.
    pub sha256: String,
}

impl fmt::Debug for NewToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewToken").finish_non_exhaustive()
    }
}

/// Makes a token that nobody can guess: 244 random bits of the system.
#[must_use]
pub fn new_token() -> NewToken {
    let random = || Uuid::new_v4().simple().to_string();
    let token = format!("ts_{}{}", random(), random());
    let digest: [u8; 32] = Sha256::digest(token.as_bytes()).into();
    let sha256 = HEXLOWER.encode(&digest);
    NewToken { token, sha256 }
}

/// The caller of a request, as an extension of it. Present on every request that reaches a handler
/// behind the gateway's checks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Authenticated {
    /// The name of its token; `None` where no tokens are configured.
    pub token: Option<Arc<str>>,
    /// The agent that it must act as; `None` when it may act as any.
    pub agent: Option<Arc<str>>,
}

impl Authenticated {
    /// The agent that a request acts as when it asks for `wanted`.
    ///
    /// # Errors
    /// [`Foreign`] when the caller is bound to another one.
    pub fn act_as<'a>(&'a self, wanted: Option<&'a str>) -> Result<Option<&'a str>, Foreign> {
        match (self.agent.as_deref(), wanted) {
            (Some(bound), Some(wanted)) if bound != wanted => Err(Foreign),
            (Some(bound), _) => Ok(Some(bound)),
            (None, wanted) => Ok(wanted),
        }
    }
}

/// The caller asked for an agent that is not its own. Says the same whether that agent exists or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("this token may not act as that agent")]
pub struct Foreign;

/// The place of the token that a request carries. All tokens are compared whatever the outcome, each
/// in constant time, so that the time tells nothing.
pub(super) fn find(tokens: &[Token], headers: &HeaderMap) -> Option<usize> {
    let given = bearer(headers)?;
    let digest: [u8; 32] = Sha256::digest(given).into();
    let mut found = Choice::from(0);
    let mut place = 0_u64;
    for (index, token) in tokens.iter().enumerate() {
        let equal = digest[..].ct_eq(&token.sha256[..]);
        place.conditional_assign(&(index as u64), equal);
        found |= equal;
    }
    bool::from(found).then(|| usize::try_from(place).unwrap_or_default())
}

fn bearer(headers: &HeaderMap) -> Option<&[u8]> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let value = values.next()?;
    // Two of them could be read differently by whoever stands in front.
    if values.next().is_some() {
        return None;
    }
    let (scheme, token) = value.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty();
    (fits && token.len() <= MAX_TOKEN_BYTES).then_some(token.as_bytes())
}
