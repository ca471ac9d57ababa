//! Requests to an authorization server: bounded, and with nothing of a secret in an error.

use std::time::{Duration, SystemTime};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue};
use reqwest::{Client, Response, Url};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::Tokens;
use super::discovery::{Authority, Proof};
use crate::cache::unix_ms;
use crate::http;
use crate::spec::Secret;
use crate::text::Redactor;

/// How long one request may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// Largest answer that is read.
const MAX_ANSWER_BYTES: usize = 256 * 1024;
/// Longest token or id.
const MAX_TOKEN_BYTES: usize = 32 * 1024;
/// Longest life of a token that is believed.
const LONGEST_LIFE_SECONDS: u64 = 400 * 24 * 3600;

/// A client of an authorization server.
#[derive(Debug, Clone)]
pub(super) struct Registered {
    pub(super) id: String,
    pub(super) secret: Option<Secret>,
    pub(super) secret_in_body: bool,
}

#[derive(Deserialize)]
struct Registration {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct Granted {
    access_token: String,
    token_type: Option<String>,
    expires_in: Option<Value>,
    refresh_token: Option<String>,
    scope: Option<String>,
}

/// Runs a request within its time.
pub(super) async fn limited(
    request: impl Future<Output = reqwest::Result<Response>>,
) -> Result<Response, String> {
    match timeout(PATIENCE, request).await {
        Ok(answer) => answer.map_err(|error| http::unsent(error, &nothing()).to_string()),
        Err(_) => Err(format!("no answer within {} s", PATIENCE.as_secs())),
    }
}

/// A document, or `None` where there is none.
pub(super) async fn get_json(url: &Url) -> Result<Option<Value>, String> {
    let client = http::client(url)?;
    let request = client.get(url.clone()).header(ACCEPT, "application/json");
    let answer = limited(request.send()).await?;
    if !answer.status().is_success() {
        return Ok(None);
    }
    let bytes = read(answer).await?;
    // Pages that answer everything with their start page have no metadata.
    Ok(serde_json::from_slice(&bytes).ok())
}

/// Registers a client that comes back to `redirect`.
pub(super) async fn register(
    at: &Url,
    redirect: &str,
    scope: &str,
    proof: Proof,
) -> Result<Registered, String> {
    let mut wish = json!({
        "client_name": "toolsearch",
        "redirect_uris": [redirect],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": proof.name(),
        "application_type": "native",
    });
    if !scope.is_empty() {
        wish["scope"] = Value::from(scope);
    }
    let client = http::client(at)?;
    let request = client
        .post(at.clone())
        .header(ACCEPT, "application/json")
        .header(CONTENT_TYPE, "application/json")
        .body(wish.to_string());
    let registration: Registration = answer(limited(request.send()).await?).await?;
    let method = registration.token_endpoint_auth_method.as_deref();
    let proof = method.and_then(Proof::of).unwrap_or(proof);
    Ok(Registered {
        secret_in_body: proof == Proof::Post,
        secret: registration
            .client_secret
            .filter(|_| proof != Proof::None)
            .map(Secret::from),
        id: bounded(registration.client_id)?,
    })
}

/// A code for tokens.
pub(super) async fn exchange(
    authority: &Authority,
    client: &Registered,
    (resource, audience): (&str, &str),
    code: &str,
    redirect: &str,
    verifier: &str,
) -> Result<Tokens, String> {
    let form = [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", redirect),
        ("code_verifier", verifier),
        ("resource", audience),
    ];
    let http = http::client(&authority.token)?;
    let granted = token(&http, &authority.token, &form, client).await?;
    let nothing = Tokens {
        access: Secret::from(""),
        refresh: None,
        expires_at_ms: None,
        scope: None,
        issuer: authority.issuer.clone(),
        resource: resource.to_owned(),
        audience: Some(audience.to_owned()),
        token_endpoint: authority.token.to_string(),
        client_id: client.id.clone(),
        client_secret: client.secret.clone(),
        secret_in_body: client.secret_in_body,
    };
    Ok(renewed(nothing, granted))
}

/// The next tokens after these.
pub(super) async fn refresh(http: &Client, old: &Tokens) -> Result<Tokens, String> {
    let refresh = old.refresh.as_ref().ok_or("there is no refresh token")?;
    let form = [
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.expose()),
        ("resource", old.audience.as_ref().unwrap_or(&old.resource)),
    ];
    let at = http::address(&old.token_endpoint)?;
    let client = Registered {
        id: old.client_id.clone(),
        secret: old.client_secret.clone(),
        secret_in_body: old.secret_in_body,
    };
    // The server's own client knows no certificates where the server needs none.
    let own;
    let http = if at.scheme() == "https" {
        own = http::client(&at)?;
        &own
    } else {
        http
    };
    let granted = token(http, &at, &form, &client).await?;
    Ok(renewed(old.clone(), granted))
}

fn renewed(old: Tokens, granted: Granted) -> Tokens {
    let life = granted.expires_in.as_ref().and_then(seconds);
    let life = life.map(|seconds| Duration::from_secs(seconds.min(LONGEST_LIFE_SECONDS)));
    Tokens {
        access: Secret::from(granted.access_token),
        // Some servers keep the one that there is.
        refresh: granted.refresh_token.map(Secret::from).or(old.refresh),
        expires_at_ms: life.map(|life| unix_ms(SystemTime::now() + life)),
        scope: granted.scope.or(old.scope),
        ..old
    }
}

/// Some servers write the number as text.
fn seconds(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

async fn token(
    http: &Client,
    at: &Url,
    form: &[(&str, &str)],
    client: &Registered,
) -> Result<Granted, String> {
    let mut fields = at.clone();
    fields.set_query(None);
    let mut request = http.post(at.clone()).header(ACCEPT, "application/json");
    {
        let mut pairs = fields.query_pairs_mut();
        pairs.extend_pairs(form);
        match &client.secret {
            Some(secret) if !client.secret_in_body => {
                request = request.header(AUTHORIZATION, basic(&client.id, secret)?);
            }
            Some(secret) => {
                pairs.append_pair("client_id", &client.id);
                pairs.append_pair("client_secret", secret.expose());
            }
            None => {
                pairs.append_pair("client_id", &client.id);
            }
        }
    }
    let request = request
        .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(fields.query().unwrap_or_default().to_owned());
    let mut granted: Granted = answer(limited(request.send()).await?).await?;
    let kind = granted.token_type.as_deref().unwrap_or("bearer");
    if !kind.eq_ignore_ascii_case("bearer") {
        return Err("the token is of a kind that is not known here".to_owned());
    }
    granted.access_token = bounded(granted.access_token)?;
    granted.refresh_token = granted.refresh_token.map(bounded).transpose()?;
    Ok(granted)
}

/// Id and secret are form-encoded before they are joined.
fn basic(id: &str, secret: &Secret) -> Result<HeaderValue, String> {
    let encoded = |text: &str| {
        let mut url = Url::parse("http://localhost").map_err(|error| error.to_string())?;
        url.query_pairs_mut().append_pair("v", text);
        Ok::<_, String>(url.query().unwrap_or_default()[2..].to_owned())
    };
    let pair = format!("{}:{}", encoded(id)?, encoded(secret.expose())?);
    let text = format!("Basic {}", BASE64_STANDARD.encode(pair));
    let mut header = HeaderValue::from_str(&text).map_err(|error| error.to_string())?;
    header.set_sensitive(true);
    Ok(header)
}

/// Reads an answer, or what the server says instead.
async fn answer<T: for<'de> Deserialize<'de>>(answer: Response) -> Result<T, String> {
    let status = answer.status();
    let bytes = read(answer).await?;
    if status.is_success() {
        return serde_json::from_slice(&bytes)
            .map_err(|error| format!("the answer cannot be read: {error}"));
    }
    let value: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let text = |key: &str| value.get(key).and_then(Value::as_str);
    let told = match (text("error"), text("error_description")) {
        (Some(error), Some(more)) => format!("{error}: {more}"),
        (Some(error), None) => error.to_owned(),
        _ => http::excerpt(&bytes, &nothing()),
    };
    let told = nothing().line(&told, 300);
    Err(format!("it answered {}: {told}", status.as_u16()))
}

async fn read(answer: Response) -> Result<Vec<u8>, String> {
    let redactor = nothing();
    let body = http::body(answer, MAX_ANSWER_BYTES, &redactor);
    match timeout(PATIENCE, body).await {
        Ok(body) => body.map_err(|trouble| trouble.to_string()),
        Err(_) => Err("the answer does not end".to_owned()),
    }
}

fn bounded(text: String) -> Result<String, String> {
    let usable = !text.is_empty() && text.len() <= MAX_TOKEN_BYTES;
    usable
        .then_some(text)
        .ok_or_else(|| "a token or an id is empty or too long".to_owned())
}

/// Nothing that is secret comes back in these answers before it is known.
fn nothing() -> Redactor {
    Redactor::new(std::iter::empty())
}
