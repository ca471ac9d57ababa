//! The routes: from HTTP to a request and back. Every refusal has the shape of its dialect.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::Response;
use axum::{Extension, extract};
use futures::StreamExt;
use futures::future::join_all;
use http_body_util::BodyExt;
use reqwest::Response as Answered;
use serde_json::{Value, json};
use toolsearch_dialect::{Dialect, Refusal, RefusalKind, Relay, StreamFault};
use toolsearch_schema::names::sanitise_label;

use super::Inner;
use super::request::{Caller, Plan, Planned, Request};
use super::run::{Outcome, Trouble};
use super::stream::{Answer, Writer};
use super::upstream::{Upstream, chunk, passed, whole};
use crate::entrance::Entrance;
use crate::http::Authenticated;

/// Most characters of the name that a client gives its session.
const MAX_SESSION_CHARS: usize = 200;
/// Bytes of a body that is too long which are read all the same.
const MAX_DISCARDED: usize = 64 * 1024 * 1024;
/// Longest time for the list of models of one provider.
const MODELS_PATIENCE: Duration = Duration::from_secs(15);
/// Bytes of text that make one token, about.
const BYTES_PER_TOKEN: usize = 4;

const SESSION: HeaderName = HeaderName::from_static("x-toolsearch-session");
const SAVED_BYTES: HeaderName = HeaderName::from_static("x-toolsearch-saved-bytes");
const SAVED_TOKENS: HeaderName = HeaderName::from_static("x-toolsearch-saved-tokens");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream; charset=utf-8");

pub(crate) async fn chat(
    State(proxy): State<Arc<Inner>>,
    Extension(caller): Extension<Authenticated>,
    request: extract::Request,
) -> Response {
    serve(proxy, Dialect::OpenAiChat, caller, request).await
}

pub(crate) async fn responses(
    State(proxy): State<Arc<Inner>>,
    Extension(caller): Extension<Authenticated>,
    request: extract::Request,
) -> Response {
    serve(proxy, Dialect::OpenAiResponses, caller, request).await
}

pub(crate) async fn messages(
    State(proxy): State<Arc<Inner>>,
    Extension(caller): Extension<Authenticated>,
    request: extract::Request,
) -> Response {
    serve(proxy, Dialect::AnthropicMessages, caller, request).await
}

async fn serve(
    proxy: Arc<Inner>,
    dialect: Dialect,
    caller: Authenticated,
    request: extract::Request,
) -> Response {
    let answered = match read(&proxy, dialect, &caller, request).await {
        Ok(request) => answer(&proxy, request).await,
        Err(refusal) => Err(refusal),
    };
    answered.unwrap_or_else(|refusal| refused(dialect, &refusal))
}

async fn read(
    proxy: &Inner,
    dialect: Dialect,
    caller: &Authenticated,
    request: extract::Request,
) -> Result<Request, Refusal> {
    let (parts, body) = request.into_parts();
    let caller = read_caller(caller, &parts.headers)?;
    let raw = collect(body, proxy.options.body_bytes).await?;
    let body: Value = serde_json::from_slice(&raw).map_err(|error| {
        Refusal::invalid(format!("the body is no JSON: {error}")).coded("invalid_json")
    })?;
    Ok(Request {
        dialect,
        caller,
        headers: parts.headers,
        raw,
        body,
    })
}

/// A whole body. One that is too long is read on for a while, so that the caller hears the refusal.
async fn collect(mut body: Body, most: usize) -> Result<Vec<u8>, Refusal> {
    let mut bytes = Vec::new();
    let mut beyond = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Refusal::invalid("the body did not arrive whole"))?;
        let Some(data) = frame.data_ref() else {
            continue;
        };
        if beyond == 0 && bytes.len() + data.len() <= most {
            bytes.extend_from_slice(data);
            continue;
        }
        bytes = Vec::new();
        beyond = beyond.saturating_add(data.len());
        if beyond > MAX_DISCARDED {
            break;
        }
    }
    if beyond == 0 {
        return Ok(bytes);
    }
    let message = format!("the body is longer than {most} bytes");
    Err(Refusal::new(RefusalKind::TooLarge, message).coded("body_too_large"))
}

/// What the token and the headers say, each header only as far as the token allows.
fn read_caller(caller: &Authenticated, headers: &HeaderMap) -> Result<Caller, Refusal> {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let agent = caller.act_as(header("x-toolsearch-agent"));
    let agent = agent.map_err(|foreign| {
        Refusal::new(RefusalKind::Forbidden, foreign.to_string()).coded("agent_not_allowed")
    })?;
    let token = caller.token.as_deref();
    let session =
        header("x-toolsearch-session").map(|name| sanitise_label(name, MAX_SESSION_CHARS));
    Ok(Caller {
        entrance: Entrance::new(agent, header("x-toolsearch-mode"), token),
        key_is_ours: token.is_some(),
        session: session.filter(|name| !name.is_empty()),
    })
}

async fn answer(proxy: &Arc<Inner>, request: Request) -> Result<Response, Refusal> {
    let dialect = request.dialect;
    let streams = dialect.streams(&request.body);
    match proxy.plan(request).await? {
        Plan::Pass {
            upstream,
            headers,
            body,
        } => {
            let answered = upstream.post(dialect, &headers, body).await?;
            Ok(pass(answered))
        }
        Plan::Run(planned) if streams => Ok(stream(*planned).await),
        Plan::Run(planned) => whole_answer(*planned).await,
    }
}

/// The provider's answer as it comes.
fn pass(answered: Answered) -> Response {
    let status = answered.status();
    let mut headers = passed(answered.headers());
    if let Some(kind) = answered.headers().get(CONTENT_TYPE) {
        headers.insert(CONTENT_TYPE, kind.clone());
    }
    let pieces = futures::stream::unfold(Some(answered), |state| async move {
        let mut answered = state?;
        match chunk(&mut answered).await {
            Ok(Some(bytes)) => Some((Ok(bytes), Some(answered))),
            Ok(None) => None,
            Err(refusal) => Some((Err(std::io::Error::other(refusal)), None)),
        }
    });
    respond(status, headers, Body::from_stream(pieces))
}

async fn whole_answer(mut planned: Planned) -> Result<Response, Refusal> {
    let dialect = planned.run.dialect;
    let calls = planned.settle().await?;
    let notes = notes(&planned);
    let run = planned.run;
    let outcome = if calls.is_empty() {
        run.answer(None).await
    } else {
        run.hand_out(calls, None).await
    };
    match outcome {
        Ok(Outcome::Answer(mut headers, answer)) => {
            headers.extend(notes);
            headers.insert(CONTENT_TYPE, JSON);
            Ok(respond(StatusCode::OK, headers, answer.to_string().into()))
        }
        Ok(Outcome::Streamed) | Err(Trouble::Left) => Err(Refusal::new(
            RefusalKind::Internal,
            "the answer was lost; try again",
        )),
        Err(Trouble::Passed(status, headers, bytes)) => Ok(respond(status, headers, bytes.into())),
        Err(Trouble::Refused(refusal)) => Ok(refused(dialect, &refusal)),
        Err(Trouble::Failed(fault)) => Err(Refusal::new(RefusalKind::Upstream, fault.to_string())),
    }
}

/// A stream begins with the first thing that there is to say; trouble before it is an answer with a
/// status of its own.
async fn stream(planned: Planned) -> Response {
    let dialect = planned.run.dialect;
    let mut headers = notes(&planned);
    let relay = Relay::new(dialect).with_echo(planned.run.echo.clone());
    let (writer, pieces) = Writer::new(relay);
    let (early, trouble) = futures::channel::oneshot::channel();
    let begun = writer.begun();
    let mut answer = Answer::new(write(planned, writer, early), pieces, begun);
    // The work writes its first piece, or says early that there will be none.
    let first = answer.next().await;
    if first.is_none()
        && let Ok(response) = trouble.await
    {
        return response;
    }
    headers.insert(CONTENT_TYPE, EVENTS);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    let all = futures::stream::iter(first).chain(answer);
    respond(StatusCode::OK, headers, Body::from_stream(all))
}

/// Writes the answer into a stream; what goes wrong before anything was written is told early.
async fn write(
    mut planned: Planned,
    mut writer: Writer,
    early: futures::channel::oneshot::Sender<Response>,
) {
    let dialect = planned.run.dialect;
    let outcome = match planned.settle().await {
        Ok(calls) if calls.is_empty() => planned.run.answer(Some(&mut writer)).await,
        Ok(calls) => planned.run.hand_out(calls, Some(&mut writer)).await,
        Err(refusal) => Err(Trouble::Refused(refusal)),
    };
    let (response, events) = match outcome {
        Ok(_) | Err(Trouble::Left) => return,
        Err(Trouble::Refused(refusal)) => {
            let events = writer.relay.refuse(&refusal);
            (refused(dialect, &refusal), events)
        }
        Err(Trouble::Passed(status, headers, bytes)) => {
            let said = String::from_utf8_lossy(&bytes).into_owned();
            let message = format!("the provider refused the request (HTTP {status}): {said}");
            let refusal = Refusal::new(RefusalKind::Upstream, message);
            let events = writer.relay.refuse(&refusal);
            (respond(status, headers, bytes.into()), events)
        }
        Err(Trouble::Failed(fault)) => {
            let refusal = Refusal::new(RefusalKind::Upstream, fault.to_string());
            let events = match *fault {
                StreamFault::Failed { event, .. } => vec![*event],
                _ => writer.relay.refuse(&refusal),
            };
            (refused(dialect, &refusal), events)
        }
    };
    if writer.has_begun() {
        let _ = writer.send(&events).await;
    } else {
        let _ = early.send(response);
    }
}

/// What the answer says about the session.
fn notes(planned: &Planned) -> HeaderMap {
    let mut headers = HeaderMap::new();
    if let Ok(session) = HeaderValue::from_str(&planned.session) {
        headers.insert(SESSION, session);
    }
    let (direct, sent) = planned.sizes;
    let saved = direct.saturating_sub(sent);
    headers.insert(SAVED_BYTES, HeaderValue::from(saved));
    headers.insert(SAVED_TOKENS, HeaderValue::from(saved / BYTES_PER_TOKEN));
    headers
}

fn refused(dialect: Dialect, refusal: &Refusal) -> Response {
    let status = StatusCode::from_u16(refusal.kind.status());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, JSON);
    respond(status, headers, refusal.to_json(dialect).to_string().into())
}

fn respond(status: StatusCode, headers: HeaderMap, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

/// The models of all providers. One provider's list passes as it is; of several, each model is named
/// with its provider.
pub(crate) async fn models(
    State(proxy): State<Arc<Inner>>,
    Extension(caller): Extension<Authenticated>,
    headers: HeaderMap,
) -> Response {
    let dialect = if headers.contains_key("anthropic-version") {
        Dialect::AnthropicMessages
    } else {
        Dialect::OpenAiChat
    };
    let caller = match read_caller(&caller, &headers) {
        Ok(caller) => caller,
        Err(refusal) => return refused(dialect, &refusal),
    };
    let upstreams = proxy.upstreams();
    let usable = upstreams.iter().filter(|up| up.provider.unusable.is_none());
    let usable: Vec<&Arc<Upstream>> = usable.collect();
    let ask = |upstream: &Arc<Upstream>| {
        let own = upstream
            .provider
            .dialects
            .first()
            .copied()
            .unwrap_or(dialect);
        let headers = upstream.headers(own, &headers, caller.key_is_ours);
        let upstream = Arc::clone(upstream);
        async move { upstream.models(&headers).await }
    };
    if let [only] = *usable.as_slice() {
        return match ask(only).await {
            Ok(answered) => pass(answered),
            Err(refusal) => refused(dialect, &refusal),
        };
    }
    let ask = &ask;
    let lists = join_all(usable.into_iter().map(|upstream| async move {
        let listed = tokio::time::timeout(MODELS_PATIENCE, async {
            let answered = ask(upstream).await.ok()?;
            let bytes = whole(answered).await.ok()?;
            serde_json::from_slice::<Value>(&bytes).ok()
        });
        let list = listed.await.ok().flatten().unwrap_or_default();
        named(&upstream.provider.name, list)
    }));
    let all: Vec<Value> = lists.await.into_iter().flatten().collect();
    let ends = [all.first(), all.last()].map(|model| model.and_then(|model| model.get("id")));
    let list = json!({
        "object": "list",
        "data": all,
        "has_more": false,
        "first_id": ends[0],
        "last_id": ends[1],
    });
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, JSON);
    respond(
        StatusCode::OK,
        headers,
        Body::from(Bytes::from(list.to_string())),
    )
}

fn named(provider: &str, mut list: Value) -> Vec<Value> {
    let models = match list.get_mut("data").map(Value::take) {
        Some(Value::Array(models)) => models,
        _ => Vec::new(),
    };
    let name = |mut model: Value| {
        let id = model.get("id").and_then(Value::as_str)?;
        let id = format!("{provider}/{id}");
        model
            .as_object_mut()?
            .insert("id".to_owned(), Value::from(id));
        Some(model)
    };
    models.into_iter().filter_map(name).collect()
}
