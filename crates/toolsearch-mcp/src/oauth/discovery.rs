//! Who can let a client in: the metadata of the server, then that of its authorization server. All
//! of it is hostile until checked: only secure addresses are asked, and names have to agree.

use reqwest::header::{ACCEPT, CONTENT_TYPE, WWW_AUTHENTICATE};
use reqwest::{StatusCode, Url};
use serde::Deserialize;
use serde_json::json;

use super::LoginError;
use super::request::{get_json, limited};
use super::store::resource;
use crate::http;
use crate::spec::HttpAddress;

/// Longest header that is looked into.
const MAX_HEADER_BYTES: usize = 8 * 1024;
/// Scopes that are asked for.
const MAX_SCOPES: usize = 64;

/// What a login has to know.
#[derive(Debug)]
pub(super) struct Authority {
    pub(super) issuer: String,
    pub(super) authorize: Url,
    pub(super) token: Url,
    pub(super) register: Option<Url>,
    pub(super) scopes: Vec<String>,
    /// What the server calls itself, where it says so.
    pub(super) resource: Option<String>,
    /// Whether a client may be named by the address of a document about it.
    pub(super) reads_documents: bool,
    /// Whether answers to the browser name the issuer.
    pub(super) names_issuer: bool,
    pub(super) proof: Proof,
}

/// How a client shows at the token endpoint who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// By its id alone.
    None,
    /// With a secret in a header.
    Basic,
    /// With a secret in the body.
    Post,
}

impl Proof {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Basic => "client_secret_basic",
            Self::Post => "client_secret_post",
        }
    }

    pub(super) fn of(name: &str) -> Option<Self> {
        let all = [Self::None, Self::Basic, Self::Post];
        all.into_iter().find(|proof| proof.name() == name)
    }
}

#[derive(Debug, Deserialize)]
struct ResourceMetadata {
    resource: Option<String>,
    #[serde(default)]
    authorization_servers: Vec<String>,
    #[serde(default)]
    scopes_supported: Vec<String>,
}

#[derive(Debug, Deserialize)]
struct ServerMetadata {
    issuer: String,
    authorization_endpoint: String,
    token_endpoint: String,
    registration_endpoint: Option<String>,
    #[serde(default)]
    code_challenge_methods_supported: Vec<String>,
    #[serde(default)]
    token_endpoint_auth_methods_supported: Vec<String>,
    #[serde(default)]
    authorization_response_iss_parameter_supported: bool,
    #[serde(default)]
    client_id_metadata_document_supported: bool,
}

/// Finds out by asking the server without credentials.
pub(super) async fn discover(address: &HttpAddress) -> Result<Authority, LoginError> {
    let url = http::address(&address.url).map_err(LoginError::Address)?;
    if !is_secure(&url, &url) {
        let reason = "a login needs an https:// address, or one of this machine";
        return Err(LoginError::Address(reason.to_owned()));
    }
    let challenge = challenge(&url).await?;
    let metadata = resource_metadata(&url, challenge.metadata.as_deref()).await?;
    let issuer = match &metadata {
        Some(metadata) => metadata.authorization_servers.first().cloned(),
        None => None,
    };
    let mut authority = match &issuer {
        Some(issuer) => named_authority(&url, issuer).await?,
        None => own_authority(&url).await?,
    };
    let (resource, supported) = metadata
        .map(|metadata| (metadata.resource, metadata.scopes_supported))
        .unzip();
    authority.resource = resource.flatten();
    let scopes = match challenge.scope {
        Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
        None => supported.unwrap_or_default(),
    };
    authority.scopes = scopes.into_iter().take(MAX_SCOPES).collect();
    Ok(authority)
}

#[derive(Debug, Default)]
struct Challenged {
    metadata: Option<String>,
    scope: Option<String>,
}

/// What the server says to somebody without credentials.
async fn challenge(url: &Url) -> Result<Challenged, LoginError> {
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "ping" });
    let client = http::client(url).map_err(LoginError::Discovery)?;
    let request = client
        .post(url.clone())
        .header(ACCEPT, "application/json, text/event-stream")
        .header(CONTENT_TYPE, "application/json")
        .body(hello.to_string());
    let answer = limited(request.send())
        .await
        .map_err(LoginError::Discovery)?;
    let mut challenged = Challenged::default();
    if answer.status() == StatusCode::UNAUTHORIZED {
        for header in answer.headers().get_all(WWW_AUTHENTICATE) {
            let text = header.to_str().unwrap_or_default();
            let parameter = |key| challenge_parameter(text, key);
            challenged.metadata = challenged
                .metadata
                .or_else(|| parameter("resource_metadata"));
            challenged.scope = challenged.scope.or_else(|| parameter("scope"));
        }
    }
    Ok(challenged)
}

/// The server's own metadata, where it is said to be or where it usually is.
async fn resource_metadata(
    url: &Url,
    named: Option<&str>,
) -> Result<Option<ResourceMetadata>, LoginError> {
    let mut places = Vec::new();
    if let Some(named) = named {
        places.push(checked(named, url, "the resource metadata")?);
    } else {
        for path in [url.path().trim_end_matches('/'), ""] {
            places.push(well_known(url, "oauth-protected-resource", path));
        }
        places.dedup();
    }
    for place in places {
        let Some(value) = get_json(&place).await.map_err(LoginError::Discovery)? else {
            continue;
        };
        let metadata: ResourceMetadata = serde_json::from_value(value)
            .map_err(|error| LoginError::Discovery(format!("resource metadata: {error}")))?;
        check_resource(url, metadata.resource.as_deref())?;
        return Ok(Some(metadata));
    }
    Ok(None)
}

/// Metadata of another resource would have a token sent to where it does not belong.
fn check_resource(url: &Url, named: Option<&str>) -> Result<(), LoginError> {
    let Some(named) = named else {
        return Ok(());
    };
    let (own, named) = (resource(url.as_str()), resource(named));
    let covers = own == named
        || own
            .strip_prefix(&named)
            .is_some_and(|rest| named.ends_with('/') || rest.starts_with('/'));
    let same_origin = Url::parse(&named).is_ok_and(|named| named.origin() == url.origin());
    if covers && same_origin {
        return Ok(());
    }
    Err(LoginError::Discovery(
        "the resource metadata is about another address than the server's".to_owned(),
    ))
}

async fn named_authority(url: &Url, issuer: &str) -> Result<Authority, LoginError> {
    let base = checked(issuer, url, "the authorization server")?;
    let path = base.path().trim_end_matches('/').to_owned();
    let mut places = vec![
        well_known(&base, "oauth-authorization-server", &path),
        well_known(&base, "openid-configuration", &path),
    ];
    let mut appended = base.clone();
    appended.set_path(&format!("{path}/.well-known/openid-configuration"));
    places.push(appended);
    places.dedup();
    for place in places {
        if let Some(value) = get_json(&place).await.map_err(LoginError::Discovery)? {
            return authority(url, value, Some(issuer));
        }
    }
    Err(LoginError::Discovery(
        "the authorization server has no metadata".to_owned(),
    ))
}

/// Servers of 2025-03-26 let clients in themselves, at usual places where they say nothing else.
async fn own_authority(url: &Url) -> Result<Authority, LoginError> {
    let place = well_known(url, "oauth-authorization-server", "");
    if let Some(value) = get_json(&place).await.map_err(LoginError::Discovery)? {
        return authority(url, value, None);
    }
    let at = |path: &str| {
        let mut at = well_known(url, "", "");
        at.set_path(path);
        at
    };
    Ok(Authority {
        issuer: url.origin().ascii_serialization(),
        authorize: at("/authorize"),
        token: at("/token"),
        register: Some(at("/register")),
        scopes: Vec::new(),
        resource: None,
        reads_documents: false,
        names_issuer: false,
        proof: Proof::None,
    })
}

fn authority(
    url: &Url,
    value: serde_json::Value,
    issuer: Option<&str>,
) -> Result<Authority, LoginError> {
    let metadata: ServerMetadata = serde_json::from_value(value)
        .map_err(|error| LoginError::Discovery(format!("authorization server: {error}")))?;
    let plain = |issuer: &str| issuer.trim_end_matches('/').to_owned();
    if issuer.is_some_and(|issuer| plain(issuer) != plain(&metadata.issuer)) {
        let reason = "the authorization server calls itself by another name";
        return Err(LoginError::Discovery(reason.to_owned()));
    }
    let methods = &metadata.code_challenge_methods_supported;
    if !methods.iter().any(|method| method == "S256") {
        let reason = "the authorization server does not say that it knows PKCE with S256";
        return Err(LoginError::Discovery(reason.to_owned()));
    }
    let register = metadata.registration_endpoint.as_deref();
    let register = register.map(|at| checked(at, url, "the registration"));
    Ok(Authority {
        authorize: checked(&metadata.authorization_endpoint, url, "the login page")?,
        token: checked(&metadata.token_endpoint, url, "the token endpoint")?,
        register: register.transpose()?,
        issuer: metadata.issuer,
        scopes: Vec::new(),
        resource: None,
        reads_documents: metadata.client_id_metadata_document_supported,
        names_issuer: metadata.authorization_response_iss_parameter_supported,
        proof: proof(&metadata.token_endpoint_auth_methods_supported),
    })
}

/// A program on somebody's machine keeps no secret well, so none is asked for where that can be.
fn proof(supported: &[String]) -> Proof {
    let known = supported.iter().filter_map(|name| Proof::of(name));
    let known: Vec<Proof> = known.collect();
    match known.first() {
        Some(first) if !known.contains(&Proof::None) => *first,
        _ => Proof::None,
    }
}

fn well_known(base: &Url, name: &str, path: &str) -> Url {
    let mut place = base.clone();
    place.set_query(None);
    place.set_fragment(None);
    place.set_path(&format!("/.well-known/{name}{path}"));
    place
}

/// An address that the server `own` named.
fn checked(text: &str, own: &Url, what: &str) -> Result<Url, LoginError> {
    let url = http::address(text)
        .map_err(|_| LoginError::Discovery(format!("{what} has no usable address")))?;
    if is_secure(&url, own) {
        return Ok(url);
    }
    let reason = format!("{what} is at an address without TLS");
    Err(LoginError::Discovery(reason))
}

/// Codes and tokens travel over TLS. On one machine they need not, and only a server of this machine
/// may send a client to others of it.
fn is_secure(url: &Url, own: &Url) -> bool {
    url.scheme() == "https" || http::is_loopback(url) && http::is_loopback(own)
}

/// The value of a parameter in a `WWW-Authenticate` header.
pub(crate) fn challenge_parameter(header: &str, key: &str) -> Option<String> {
    let header = header.get(..header.len().min(MAX_HEADER_BYTES))?;
    let mut rest = header;
    loop {
        let equals = rest.find('=')?;
        let before = rest[..equals].trim_end();
        let start = before.rfind([' ', ',', '\t']).map_or(0, |at| at + 1);
        let (value, after) = parameter_value(&rest[equals + 1..]);
        if before[start..].eq_ignore_ascii_case(key) {
            return Some(value);
        }
        rest = after;
    }
}

/// A quoted or bare value, and what comes after it.
fn parameter_value(text: &str) -> (String, &str) {
    let text = text.trim_start();
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[at + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}
