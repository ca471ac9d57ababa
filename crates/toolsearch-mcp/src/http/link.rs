//! One address: where messages go, what is sent along, the session that the server gave, and what
//! the answer to one request means.

use std::ops::RangeInclusive;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use reqwest::header::{
    ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, RETRY_AFTER,
    WWW_AUTHENTICATE,
};
use reqwest::{Client, Response, StatusCode, Url};
use serde_json::Value;
use tokio::sync::{mpsc, watch};

use super::client::{self, MAX_REFUSAL_BYTES, body, excerpt, unsent};
use super::message::{Head, LAST_EVENT, Marks, SESSION};
use crate::carrier::Incoming;
use crate::notes::Notes;
use crate::oauth::{self, Bearer};
use crate::spec::{HttpAddress, HttpTransport};
use crate::text::Redactor;
use crate::trouble::{Challenge, Trouble};
use crate::wire;

/// Largest answer in bytes.
const MAX_ANSWER_BYTES: usize = 32 * 1024 * 1024;
/// Codes with which a server of 2026-07-28 refuses what is said in the words of another version.
const MODERN_REFUSALS: RangeInclusive<i64> = -32_029..=-32_020;
/// Longest id of a session.
const MAX_SESSION_BYTES: usize = 1024;
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EITHER: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// What a connection over HTTP consists of. Shared by all requests that are under way.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) client: Client,
    pub(super) url: Url,
    pub(super) transport: HttpTransport,
    headers: HeaderMap,
    pub(super) bearer: Option<Bearer>,
    pub(super) redactor: Redactor,
    pub(super) notes: Arc<Notes>,
    pub(super) incoming: mpsc::Sender<Incoming>,
    pub(super) session: watch::Sender<Session>,
    /// The message that opened the session, for opening another one.
    pub(super) greeting: Mutex<Option<Bytes>>,
    /// Held while a lost session is replaced.
    pub(super) renewing: tokio::sync::Mutex<()>,
    /// Where messages go in the older transport.
    pub(super) old: OnceLock<Url>,
    pub(super) marks: Marks,
    /// The server has answered whether it has a stream of its own.
    pub(super) listening: watch::Sender<bool>,
    /// The connection is over, and why.
    pub(super) over: watch::Sender<Option<String>>,
}

/// What the server agreed to.
#[derive(Debug, Clone, Default)]
pub(super) struct Session {
    pub(super) id: Option<HeaderValue>,
    pub(super) version: Option<String>,
    /// Counts the sessions of the connection.
    pub(super) number: u64,
}

/// What became of one request.
#[derive(Debug)]
pub(super) enum Reply {
    /// Taken, with nothing to say.
    Taken,
    Messages(Vec<Value>),
    Stream(Response),
    /// The server no longer knows the session.
    SessionLost(Trouble),
    /// Refused as only a server of the older transport, or no MCP server, would.
    NotHere(Trouble),
    Trouble(Trouble),
}

impl Link {
    pub(super) fn new(
        address: &HttpAddress,
        notes: Arc<Notes>,
        incoming: mpsc::Sender<Incoming>,
    ) -> Result<Self, String> {
        let url = client::address(&address.url)?;
        let client = client::client(&url)?;
        let headers = own_headers(address)?;
        let tokens = address.tokens.as_ref();
        let bearer = tokens
            .filter(|_| !headers.contains_key(AUTHORIZATION))
            .map(|store| Bearer::new(store.clone(), url.clone(), client.clone()));
        Ok(Self {
            client,
            url,
            transport: address.transport,
            headers,
            bearer,
            redactor: notes.redactor().clone(),
            notes,
            incoming,
            session: watch::Sender::new(Session::default()),
            greeting: Mutex::new(None),
            renewing: tokio::sync::Mutex::new(()),
            old: OnceLock::new(),
            marks: Marks::default(),
            listening: watch::Sender::new(false),
            over: watch::Sender::new(None),
        })
    }

    pub(super) fn session(&self) -> Session {
        self.session.borrow().clone()
    }

    pub(super) fn greeting(&self) -> Option<Bytes> {
        self.greeting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    pub(super) fn keep_greeting(&self, text: Bytes) {
        *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Hands a message to whoever reads the connection; false when nobody does any more.
    pub(super) async fn deliver(&self, message: Value, origin: Option<i64>) -> bool {
        let incoming = Incoming::Message { message, origin };
        self.incoming.send(incoming).await.is_ok()
    }

    /// Says that nothing will come for a request.
    pub(super) async fn lose(&self, id: i64, trouble: Trouble) {
        // A closed channel means that nobody waits for it.
        let _ = self.incoming.send(Incoming::Lost { id, trouble }).await;
    }

    pub(super) fn end(&self, reason: String) {
        self.over.send_if_modified(|over| {
            let first = over.is_none();
            over.get_or_insert(reason);
            first
        });
    }

    /// Sends one message and says what became of it. `session` is left out of a greeting.
    pub(super) async fn post(&self, text: &Bytes, head: &Head, session: &Session) -> Reply {
        let target = self.old.get().unwrap_or(&self.url);
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, EITHER);
        headers.insert(CONTENT_TYPE, JSON);
        head.headers(text, session.version.as_deref(), &self.marks, &mut headers);
        let greets = head.is("initialize");
        let session_id = session.id.as_ref().filter(|_| !greets);
        if let Some(id) = session_id {
            headers.insert(SESSION, id.clone());
        }
        let token = self.authorize(&mut headers).await;
        let request = self.client.post(target.clone()).headers(headers);
        let answer = match request.body(text.clone()).send().await {
            Ok(answer) => answer,
            Err(error) => return Reply::Trouble(unsent(error, &self.redactor)),
        };
        if answer.status() == StatusCode::UNAUTHORIZED
            && let Some(bearer) = &self.bearer
        {
            bearer.refused(token.as_ref());
        }
        if answer.status().is_success() {
            if greets {
                self.begin_session(&answer);
            }
            return self.read(answer).await;
        }
        self.refused(answer, head, session_id.is_some()).await
    }

    /// Asks for a stream of events.
    pub(super) async fn get(&self, last_event: Option<&str>) -> Result<Response, Trouble> {
        let session = self.session();
        let mut headers = self.headers.clone();
        headers.insert(ACCEPT, EVENTS);
        if let Some(id) = &session.id {
            headers.insert(SESSION, id.clone());
        }
        if let Some(version) = session.version.as_deref()
            && let Ok(version) = HeaderValue::from_str(version)
        {
            headers.insert(super::message::VERSION, version);
        }
        if let Some(Ok(id)) = last_event.map(HeaderValue::from_str) {
            headers.insert(LAST_EVENT, id);
        }
        self.authorize(&mut headers).await;
        let request = self.client.get(self.url.clone()).headers(headers);
        let answer = request
            .send()
            .await
            .map_err(|error| unsent(error, &self.redactor))?;
        if answer.status().is_success() && is_stream(&answer) {
            return Ok(answer);
        }
        if answer.status().is_success() {
            return Err(Trouble::Rejected("GET gave no stream of events".to_owned()));
        }
        Err(self.trouble(answer.status(), answer.headers(), &[]))
    }

    /// Tells the server that the session is no longer needed.
    pub(super) async fn delete(&self) {
        let Some(id) = self.session().id else {
            return;
        };
        let mut headers = self.headers.clone();
        headers.insert(SESSION, id);
        self.authorize(&mut headers).await;
        let request = self.client.delete(self.url.clone()).headers(headers);
        if let Err(error) = request.send().await {
            let error = error.without_url();
            tracing::debug!(%error, "a session could not be ended");
        }
    }

    /// A token as a header, if there is one.
    async fn authorize(&self, headers: &mut HeaderMap) -> Option<HeaderValue> {
        let token = self.bearer.as_ref()?.header().await?;
        headers.insert(AUTHORIZATION, token.clone());
        Some(token)
    }

    fn begin_session(&self, answer: &Response) {
        let id = answer.headers().get(SESSION).cloned();
        let id = id.filter(|id| id.len() <= MAX_SESSION_BYTES && id.to_str().is_ok());
        self.session.send_modify(|session| {
            session.id = id.map(|mut id| {
                id.set_sensitive(true);
                id
            });
            session.number += 1;
        });
    }

    async fn read(&self, answer: Response) -> Reply {
        if is_stream(&answer) {
            return Reply::Stream(answer);
        }
        let kind = content_type(&answer);
        let bytes = match body(answer, MAX_ANSWER_BYTES, &self.redactor).await {
            Ok(bytes) => bytes,
            Err(trouble) => return Reply::Trouble(trouble),
        };
        if bytes.trim_ascii().is_empty() || self.old.get().is_some() {
            return Reply::Taken;
        }
        match wire::parse(&bytes) {
            Some(messages) => Reply::Messages(messages),
            None => {
                let start = excerpt(&bytes, &self.redactor);
                let kind = self.redactor.line(&kind, 80);
                Reply::Trouble(Trouble::Rejected(format!(
                    "the answer is no MCP message ({kind}); it starts with: {start}"
                )))
            }
        }
    }

    /// A status that is no success. The answer may still be one to the message.
    async fn refused(&self, answer: Response, head: &Head, in_session: bool) -> Reply {
        let status = answer.status();
        let headers = answer.headers().clone();
        let said = body(answer, MAX_REFUSAL_BYTES, &self.redactor).await;
        let said = said.unwrap_or_default();
        let trouble = self.trouble(status, &headers, &said);
        let about_session = status == StatusCode::NOT_FOUND
            || status == StatusCode::BAD_REQUEST && mentions_session(&said);
        if in_session && about_session {
            return Reply::SessionLost(trouble);
        }
        let closed = [
            StatusCode::UNAUTHORIZED,
            StatusCode::FORBIDDEN,
            StatusCode::TOO_MANY_REQUESTS,
        ];
        if !closed.contains(&status)
            && let Some(answer) = error_for(head, &said)
        {
            return Reply::Messages(vec![answer]);
        }
        let elsewhere = [
            StatusCode::BAD_REQUEST,
            StatusCode::NOT_FOUND,
            StatusCode::METHOD_NOT_ALLOWED,
        ];
        if elsewhere.contains(&status) {
            return Reply::NotHere(trouble);
        }
        Reply::Trouble(trouble)
    }

    fn trouble(&self, status: StatusCode, headers: &HeaderMap, said: &[u8]) -> Trouble {
        let reason = status.canonical_reason().unwrap_or_default();
        let mut told = match excerpt(said, &self.redactor) {
            said if said.is_empty() => String::new(),
            said => format!(": {said}"),
        };
        if status.is_redirection() {
            let to = headers
                .get(LOCATION)
                .and_then(|to| self.url.join(to.to_str().ok()?).ok())
                .map(|to| to.origin().ascii_serialization());
            told = format!(
                "; it points to {}, which is not followed: write the right address",
                to.unwrap_or_else(|| "nowhere".to_owned())
            );
        }
        let text = format!("answered {} {reason}{told}", status.as_u16());
        match status.as_u16() {
            401 => Trouble::NeedsAuth(self.challenge(headers)),
            403 => {
                let challenge = self.challenge(headers);
                let lacks = challenge.error.as_deref() == Some("insufficient_scope");
                let scope = challenge.scope.filter(|_| lacks);
                Trouble::Forbidden { told, scope }
            }
            429 | 503 => Trouble::Busy {
                reason: text,
                retry_after_ms: retry_after(headers),
            },
            408 | 500.. => Trouble::Failing(text),
            _ => Trouble::Rejected(text),
        }
    }

    fn challenge(&self, headers: &HeaderMap) -> Challenge {
        let mut challenge = Challenge::default();
        for header in headers.get_all(WWW_AUTHENTICATE) {
            let text = header.to_str().unwrap_or_default();
            let parameter = |key| {
                let value = oauth::challenge_parameter(text, key)?;
                Some(self.redactor.line(&value, 300))
            };
            challenge.resource_metadata = challenge
                .resource_metadata
                .or_else(|| parameter("resource_metadata"));
            challenge.scope = challenge.scope.or_else(|| parameter("scope"));
            challenge.error = challenge.error.or_else(|| parameter("error"));
        }
        challenge
    }
}

fn own_headers(address: &HttpAddress) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    for (name, value) in &address.headers {
        let unusable = |what| format!("the header `{name}` has {what} that no header can have");
        let name = HeaderName::from_bytes(name.as_bytes()).map_err(|_| unusable("a name"))?;
        let mut value =
            HeaderValue::from_str(value.expose().trim()).map_err(|_| unusable("a value"))?;
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

fn content_type(answer: &Response) -> String {
    let kind = answer.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok());
    kind.unwrap_or("no content type").to_owned()
}

fn is_stream(answer: &Response) -> bool {
    let kind = content_type(answer).to_ascii_lowercase();
    kind.split(';').next().map(str::trim) == Some("text/event-stream")
}

/// Servers that know no status for it say in words that a session is gone.
fn mentions_session(said: &[u8]) -> bool {
    String::from_utf8_lossy(said)
        .to_ascii_lowercase()
        .contains("session")
}

/// The error in the body of a refusal, as an answer to the request that was refused.
fn error_for(head: &Head, said: &[u8]) -> Option<Value> {
    let id = head.id.as_ref().filter(|_| head.method.is_some())?;
    let mut message = wire::parse(said)?.into_iter().next()?;
    let code = message.get("error")?.get("code")?;
    let about_version = MODERN_REFUSALS.contains(&code.as_i64()?);
    match message.get("id").filter(|id| !id.is_null()) {
        Some(theirs) if theirs != id => return None,
        // Web frameworks have errors of this form for addresses that they do not know.
        None if head.is("initialize") && !about_version => return None,
        _ => {}
    }
    message["id"] = id.clone();
    Some(message)
}

/// Seconds; the other form, a date, is rare and would need a clock that agrees.
fn retry_after(headers: &HeaderMap) -> Option<u64> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?;
    let pause = Duration::from_secs_f64(
        text.trim()
            .parse::<f64>()
            .ok()
            .filter(|pause| pause.is_finite() && (0.0..=1e6).contains(pause))?,
    );
    u64::try_from(pause.as_millis()).ok()
}
