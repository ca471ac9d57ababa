//! One login, from the first question to the server to tokens in the store.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use reqwest::Url;
use sha2::{Digest, Sha256};
use tokio::time::timeout;

use super::discovery::{Authority, Proof, discover};
use super::redirect::{Answer, Redirect};
use super::request::{Registered, exchange, register};
use super::store::{TokenStore, resource};
use super::{LoginError, Tokens};
use crate::spec::{HttpAddress, Secret};
use crate::text::Redactor;

/// Bytes of randomness in a verifier and in a state.
const RANDOM_BYTES: usize = 32;

/// What an operator may know better than the server says. `Default` leaves everything to it.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LoginOptions {
    /// A client that was registered by hand, where the authorization server registers none.
    pub client_id: Option<String>,
    /// Its secret, if it has one.
    pub client_secret: Option<Secret>,
    /// What to ask for instead of what the server names, and besides what it has granted before.
    pub scopes: Option<Vec<String>>,
    /// The `https` address of a document that describes this client: its name where the authorization
    /// server reads such documents. Others register the client.
    pub client_metadata: Option<String>,
}

/// A login that waits for a person. Dropping it gives up.
#[derive(Debug)]
pub struct Login {
    authority: Authority,
    client: Registered,
    redirect: Redirect,
    url: Url,
    resource: String,
    audience: String,
    store: TokenStore,
    state: String,
    verifier: Secret,
}

/// Begins a login at the server of this address; its tokens will be kept in `store`. Every request
/// has a limit of 20 seconds.
///
/// # Errors
/// [`LoginError`] when the server needs no login, or does not say properly how one goes.
pub async fn login(
    address: &HttpAddress,
    store: &TokenStore,
    options: LoginOptions,
) -> Result<Login, LoginError> {
    let authority = discover(address).await?;
    let redirect = Redirect::listen()
        .await
        .map_err(|error| LoginError::Discovery(format!("no way back from a browser: {error}")))?;
    let scopes = scopes(&options, &authority, store.get(&address.url));
    let document = options
        .client_metadata
        .filter(|_| authority.reads_documents);
    let client = match (options.client_id, document, &authority.register) {
        (Some(id), _, _) => Registered {
            id,
            secret: options.client_secret,
            secret_in_body: authority.proof == Proof::Post,
        },
        (None, Some(id), _) => Registered {
            id,
            secret: None,
            secret_in_body: false,
        },
        (None, None, Some(at)) => register(at, redirect.url(), &scopes, authority.proof)
            .await
            .map_err(LoginError::Registration)?,
        (None, None, None) => {
            let reason = "it has no address for that";
            return Err(LoginError::Registration(reason.to_owned()));
        }
    };
    let (state, verifier) = (random()?, random()?);
    let own = resource(&address.url);
    // Exactly as the server wrote it, as the authorization server compares texts.
    let audience = authority.resource.clone().unwrap_or_else(|| own.clone());
    let challenge = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()));
    let mut url = authority.authorize.clone();
    url.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect.url())
        .append_pair("state", &state)
        .append_pair("code_challenge", &challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &audience);
    if !scopes.is_empty() {
        url.query_pairs_mut().append_pair("scope", &scopes);
    }
    Ok(Login {
        authority,
        client,
        redirect,
        url,
        resource: own,
        audience,
        store: store.clone(),
        state,
        verifier: Secret::from(verifier),
    })
}

impl Login {
    /// What a person has to open in a browser on this machine.
    #[must_use]
    pub fn url(&self) -> &str {
        self.url.as_str()
    }

    /// Who will be asked.
    #[must_use]
    pub fn issuer(&self) -> &str {
        &self.authority.issuer
    }

    /// Waits until the browser comes back, at most `wait`, gets the tokens and keeps them.
    ///
    /// # Errors
    /// [`LoginError`] when nobody comes, the login is refused, or there are no tokens for it.
    pub async fn finish(self, wait: Duration) -> Result<Tokens, LoginError> {
        let answer = timeout(wait, self.redirect.answer(&self.state)).await;
        let answer = answer.map_err(|_| LoginError::TimedOut(wait))?;
        let answer = answer.map_err(|error| LoginError::Refused(error.to_string()))?;
        let (code, issuer) = match answer {
            Answer::Code { code, issuer } => (code, issuer),
            Answer::Refused(reason) => {
                let redactor = Redactor::new(std::iter::empty());
                return Err(LoginError::Refused(redactor.line(&reason, 300)));
            }
        };
        let expected = &self.authority.issuer;
        let named = issuer
            .as_ref()
            .map_or(!self.authority.names_issuer, |issuer| issuer == expected);
        if !named {
            let reason = "the answer comes from another authorization server";
            return Err(LoginError::Refused(reason.to_owned()));
        }
        let tokens = exchange(
            &self.authority,
            &self.client,
            (&self.resource, &self.audience),
            &code,
            self.redirect.url(),
            self.verifier.expose(),
        )
        .await
        .map_err(LoginError::Token)?;
        self.store
            .keep(&tokens)
            .map_err(|error| LoginError::Store(error.to_string()))?;
        Ok(tokens)
    }
}

/// What is asked for. Scopes that somebody names come to those that they have: servers ask for the one
/// that is missing.
fn scopes(options: &LoginOptions, authority: &Authority, before: Option<Tokens>) -> String {
    let Some(named) = &options.scopes else {
        return authority.scopes.join(" ");
    };
    let granted = before
        .filter(|tokens| tokens.issuer == authority.issuer)
        .and_then(|tokens| tokens.scope)
        .unwrap_or_default();
    let mut scopes: Vec<&str> = granted.split_ascii_whitespace().collect();
    for scope in named {
        if !scopes.contains(&scope.as_str()) {
            scopes.push(scope);
        }
    }
    scopes.join(" ")
}

fn random() -> Result<String, LoginError> {
    let mut bytes = [0; RANDOM_BYTES];
    rustls::crypto::ring::default_provider()
        .secure_random
        .fill(&mut bytes)
        .map_err(|_| LoginError::Discovery("there is no randomness to be had".to_owned()))?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}
