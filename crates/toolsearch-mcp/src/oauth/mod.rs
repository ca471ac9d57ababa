//! Being let in by servers over HTTP: OAuth 2.1 with PKCE, as MCP wants it.
//!
//! [`login`] finds out who can let a client in, registers, and gives an address that a person opens
//! in a browser; [`Login::finish`] waits for the browser to come back and keeps the [`Tokens`] in a
//! [`TokenStore`], from which connections take and refresh them. Not here: opening a browser.

mod bearer;
mod discovery;
mod login;
mod redirect;
mod request;
mod store;

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use crate::cache::unix_ms;
use crate::spec::Secret;

pub use self::login::{Login, LoginOptions, login};
pub use self::store::TokenStore;

pub(crate) use self::bearer::Bearer;
pub(crate) use self::discovery::challenge_parameter;

/// Tokens that are about to expire are refreshed this long before.
const EARLY: Duration = Duration::from_secs(30);

/// Why a login did not work. The texts are bounded and hold no secrets.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LoginError {
    /// The address of the server is none, or not one that can be logged in to.
    #[error("{0}")]
    Address(String),
    /// The server does not say who could let a client in, or says it wrongly.
    #[error("cannot find out how to log in: {0}")]
    Discovery(String),
    /// No client could be registered; one that was registered by hand can be given.
    #[error(
        "the authorization server registers no client: {0}; register one there and give its id"
    )]
    Registration(String),
    /// The person, or the authorization server, said no.
    #[error("the login was refused: {0}")]
    Refused(String),
    /// Nobody came back from the browser in time.
    #[error("nobody logged in within {} s; start again", .0.as_secs())]
    TimedOut(Duration),
    /// There is no code for a token, or it is no token.
    #[error("the authorization server gives no token: {0}")]
    Token(String),
    /// The tokens cannot be written.
    #[error("the tokens cannot be kept: {0}")]
    Store(String),
}

/// What a login brought. `Debug` shows no secret.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Tokens {
    /// Sent to the server with every request.
    #[serde(with = "exposed")]
    pub access: Secret,
    /// Gets the next access token.
    #[serde(with = "exposed_option", default)]
    pub refresh: Option<Secret>,
    /// When the access token ends, in milliseconds since 1970; unset where nobody said.
    #[serde(default)]
    pub expires_at_ms: Option<u64>,
    /// What the tokens allow, as the authorization server wrote it.
    #[serde(default)]
    pub scope: Option<String>,
    /// Who gave them.
    pub issuer: String,
    /// What they are for: the address of the MCP server.
    pub resource: String,
    /// What the server calls itself to its authorization server.
    #[serde(default)]
    pub(crate) audience: Option<String>,
    /// Where they are refreshed.
    pub(crate) token_endpoint: String,
    pub(crate) client_id: String,
    #[serde(with = "exposed_option", default)]
    pub(crate) client_secret: Option<Secret>,
    /// Whether the secret travels in the body instead of a header.
    #[serde(default)]
    pub(crate) secret_in_body: bool,
}

impl Tokens {
    /// Whether the access token has ended or is about to.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        let soon = unix_ms(SystemTime::now() + EARLY);
        self.expires_at_ms.is_some_and(|end| end <= soon)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tokens")
            .field("issuer", &self.issuer)
            .field("resource", &self.resource)
            .field("scope", &self.scope)
            .field("expires_at_ms", &self.expires_at_ms)
            .field("refresh", &self.refresh.is_some())
            .finish_non_exhaustive()
    }
}

/// The one way in which a secret is written: into the file that is for this user only.
mod exposed {
    use serde::{Deserialize, Deserializer, Serializer};

    use crate::spec::Secret;

    pub(super) fn serialize<S: Serializer>(secret: &Secret, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(secret.expose())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Secret, D::Error> {
        String::deserialize(from).map(Secret::from)
    }
}

mod exposed_option {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    use crate::spec::Secret;

    #[expect(
        clippy::ref_option,
        reason = "serde hands over a reference to the field"
    )]
    pub(super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::expose).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(from)?.map(Secret::from))
    }
}

#[cfg(test)]
mod tests;
