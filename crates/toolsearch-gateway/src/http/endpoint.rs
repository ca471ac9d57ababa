//! `/mcp` and `/mcp/<agent>`: messages in, answers and streams out, for both forms of the protocol.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Path, State};
use axum::http::header::{ACCEPT, ALLOW, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri};
use axum::response::Response;
use futures::future::join_all;
use futures::stream;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientRequest, ErrorCode, GetExtensions, GetMeta, JsonRpcMessage,
    JsonRpcRequest, RequestId, ServerJsonRpcMessage,
};
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::entrance::{Entrance, EntranceError};
use crate::stdio::read::{self, Read};

use super::front::{Front, Settings};
use super::identity::Authenticated;
use super::inline;
use super::lane::{Exchange, Lane, Outgoing};
use super::reply;
use super::sessions::{Caller, Full, Key, Sessions};

const SESSION: &str = "mcp-session-id";
/// What a caller writes to keep apart sessions that it has no id for.
const OWN_SESSION: &str = "x-toolsearch-session";
const OWN_MODE: &str = "x-toolsearch-mode";
const OWN_AGENT: &str = "x-toolsearch-agent";

/// How long an answer may take before the caller is shown that something happens.
const SILENCE: Duration = Duration::from_secs(5);
/// How long a caller may take to send a body.
const SENDING: Duration = Duration::from_secs(30);
/// Most messages in one batch.
const MAX_BATCH: usize = 64;
/// Most characters of the name that a caller gives its session.
const MAX_SESSION_CHARS: usize = 120;

/// The refusal of a request, as it is sent.
type Refusal = Box<Response>;

/// What every request here begins with.
struct Visit {
    front: Arc<Front>,
    settings: Arc<Settings>,
    entrance: Entrance,
    headers: HeaderMap,
}

impl Visit {
    fn new(
        front: Arc<Front>,
        caller: &Authenticated,
        agent: Option<String>,
        uri: &Uri,
        headers: HeaderMap,
    ) -> Result<Self, Refusal> {
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_owned());
        let wanted = agent.or_else(|| header(OWN_AGENT));
        let agent = caller.act_as(wanted.as_deref()).map_err(|foreign| {
            let message = ErrorData::invalid_request(foreign.to_string(), None);
            reply::refused(StatusCode::FORBIDDEN, Value::Null, message)
        })?;
        let mode = wish(uri).or_else(|| header(OWN_MODE));
        let entrance = Entrance::new(agent, mode.as_deref(), caller.token.as_deref());
        Ok(Self {
            settings: front.settings(),
            front,
            entrance,
            headers,
        })
    }

    /// The session that the caller named.
    fn session(&self) -> Result<Arc<Lane>, Refusal> {
        let Some(id) = self.headers.get(SESSION) else {
            let message = "the header Mcp-Session-Id is missing; begin with `initialize`";
            let error = ErrorData::invalid_request(message, None);
            return Err(reply::refused(StatusCode::BAD_REQUEST, Value::Null, error).into());
        };
        let found = id.to_str().ok();
        let found = found.and_then(|id| self.front.sessions.find(id, &self.entrance));
        found.ok_or_else(|| unknown_session().into())
    }

    fn open(&self, key: Key, shared: bool) -> Result<Arc<Lane>, Refusal> {
        let source = self.front.entrances.source(&self.entrance);
        let source = source.map_err(|error| refused_entrance(&error))?;
        let mut options = self.settings.gateway.clone();
        if shared {
            // Callers that share a session must not wait for each other; their token has its limit.
            options.calls = usize::MAX;
        }
        let entrance = self.entrance.clone();
        let (sessions, most) = (&self.front.sessions, self.settings.sessions);
        let opened = sessions.open(key, entrance, source, &options, most);
        opened.map_err(|full| crowded(full).into())
    }

    /// The session of a caller whose requests stand for themselves.
    fn shared(&self, request: &ClientRequest) -> Result<Arc<Lane>, Refusal> {
        let client = request.get_meta().client_info();
        let client = client.map_or_else(String::new, |c| format!("{} {}", c.name, c.version));
        let text = |text: &str| text.chars().take(MAX_SESSION_CHARS).collect::<String>();
        let session = self.headers.get(OWN_SESSION);
        let session = session.and_then(|session| session.to_str().ok());
        let caller = Caller {
            entrance: self.entrance.clone(),
            client: text(&client),
            session: text(session.unwrap_or_default()),
        };
        if let Some(lane) = self.front.sessions.of_caller(&caller) {
            return Ok(lane);
        }
        self.open(Key::Caller(caller), true)
    }

    /// Which forms of an answer the caller takes; both when it does not say.
    fn accepts(&self, kind: &HeaderValue) -> bool {
        let kind = kind.to_str().unwrap_or_default();
        let accepted = self.headers.get_all(ACCEPT).iter();
        let accepted: Vec<&str> = accepted.filter_map(|value| value.to_str().ok()).collect();
        let group = kind.split('/').next().unwrap_or_default();
        let fits = |entry: &str| {
            let entry = entry.split(';').next().unwrap_or_default().trim();
            entry.eq_ignore_ascii_case(kind)
                || entry == "*/*"
                || entry.strip_suffix("/*") == Some(group)
        };
        accepted.is_empty() || accepted.iter().any(|v| v.split(',').any(fits))
    }
}

/// `mode` of the query.
fn wish(uri: &Uri) -> Option<String> {
    let pairs = uri.query()?.split('&');
    let mut modes = pairs.filter_map(|pair| pair.strip_prefix("mode="));
    modes.next().map(str::to_owned)
}

pub(super) async fn post(
    State(front): State<Arc<Front>>,
    Extension(caller): Extension<Authenticated>,
    agent: Option<Path<String>>,
    uri: Uri,
    headers: HeaderMap,
    body: Body,
) -> Response {
    let agent = agent.map(|Path(agent)| agent);
    let answer = async {
        let visit = Visit::new(front, &caller, agent, &uri, headers)?;
        let body = receive(&visit, body).await?;
        let mut messages = read::read(&body);
        match (messages.len(), messages.pop()) {
            (1, Some(message)) => single(&visit, message).await,
            (_, None) => Ok(reply::empty(StatusCode::ACCEPTED)),
            (_, Some(last)) => {
                messages.push(last);
                batch(&visit, messages).await
            }
        }
    };
    answer.await.unwrap_or_else(|refusal: Refusal| *refusal)
}

/// The stream of what the server says unasked.
pub(super) async fn get(
    State(front): State<Arc<Front>>,
    Extension(caller): Extension<Authenticated>,
    agent: Option<Path<String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let agent = agent.map(|Path(agent)| agent);
    let opened = || {
        let visit = Visit::new(front, &caller, agent, &uri, headers)?;
        if !visit.accepts(&reply::EVENTS) {
            return Err(Box::new(reply::text(
                StatusCode::NOT_ACCEPTABLE,
                "this gives text/event-stream; the header Accept has to name it",
            )));
        }
        if !visit.headers.contains_key(SESSION) {
            return Err(Box::new(not_allowed()));
        }
        let listening = visit.session()?.listen();
        listening.map_err(|_| Refusal::from(unknown_session()))
    };
    match opened() {
        Ok(messages) => reply::events(stream::unfold(messages, async |mut messages| {
            Some((messages.recv().await?, messages))
        })),
        Err(refusal) => *refusal,
    }
}

/// Ends a session.
pub(super) async fn delete(
    State(front): State<Arc<Front>>,
    Extension(caller): Extension<Authenticated>,
    agent: Option<Path<String>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    let agent = agent.map(|Path(agent)| agent);
    let visit = match Visit::new(front, &caller, agent, &uri, headers) {
        Ok(visit) => visit,
        Err(refusal) => return *refusal,
    };
    match visit.headers.get(SESSION).map(HeaderValue::to_str) {
        None => not_allowed(),
        Some(Ok(id)) if visit.front.sessions.close(id, &visit.entrance) => {
            reply::empty(StatusCode::NO_CONTENT)
        }
        Some(_) => unknown_session(),
    }
}

fn not_allowed() -> Response {
    let mut response = reply::text(
        StatusCode::METHOD_NOT_ALLOWED,
        "only POST is possible without the header Mcp-Session-Id",
    );
    let allowed = HeaderValue::from_static("POST");
    response.headers_mut().insert(ALLOW, allowed);
    response
}

fn unknown_session() -> Response {
    let message = "there is no such session, or it has ended; begin anew with `initialize`";
    let error = ErrorData::new(ErrorCode(-32001), message, None);
    reply::refused(StatusCode::NOT_FOUND, Value::Null, error)
}

fn crowded(full: Full) -> Response {
    let message = format!(
        "{full}; close one, or allow more with gateway.limits.sessions ({} now)",
        full.0
    );
    let error = ErrorData::internal_error(message, None);
    let mut response = reply::refused(StatusCode::SERVICE_UNAVAILABLE, Value::Null, error);
    let seconds = HeaderValue::from(10_u64);
    response.headers_mut().insert("retry-after", seconds);
    response
}

fn refused_entrance(error: &EntranceError) -> Refusal {
    let status = match error {
        EntranceError::UnknownAgent => StatusCode::NOT_FOUND,
        EntranceError::UnknownMode => StatusCode::BAD_REQUEST,
        EntranceError::Refused(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    let message = ErrorData::invalid_request(error.to_string(), None);
    reply::refused(status, Value::Null, message).into()
}

/// The body of a request, within its limits.
async fn receive(visit: &Visit, body: Body) -> Result<Bytes, Refusal> {
    let kind = visit.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let essence = kind.split(';').next().unwrap_or_default().trim();
    if !essence.eq_ignore_ascii_case("application/json") {
        let message = "messages are application/json";
        return Err(reply::text(StatusCode::UNSUPPORTED_MEDIA_TYPE, message).into());
    }
    let most = visit.settings.gateway.message_bytes;
    match timeout(SENDING, Limited::new(body, most).collect()).await {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let message = format!("a message may have at most {most} bytes");
            let error = ErrorData::invalid_request(message, None);
            Err(reply::refused(StatusCode::PAYLOAD_TOO_LARGE, Value::Null, error).into())
        }
        Ok(Err(_)) => Err(reply::text(StatusCode::BAD_REQUEST, "the body broke off").into()),
        Err(_) => {
            let message = "the body did not arrive in time";
            Err(reply::text(StatusCode::REQUEST_TIMEOUT, message).into())
        }
    }
}

async fn single(visit: &Visit, message: Read) -> Result<Response, Refusal> {
    let message = match message {
        Read::Refused(answer) => return Ok(reply::json(StatusCode::BAD_REQUEST, &answer)),
        Read::Message(message) => message,
    };
    match *message {
        JsonRpcMessage::Request(request) => ask(visit, request).await,
        other => {
            tell(visit, Box::new(other)).await?;
            Ok(reply::empty(StatusCode::ACCEPTED))
        }
    }
}

/// Where requests stand for themselves, nothing needs to be told: a call ends with its connection.
async fn tell(visit: &Visit, message: Box<ClientJsonRpcMessage>) -> Result<(), Refusal> {
    if !visit.headers.contains_key(SESSION) {
        return Ok(());
    }
    let told = visit.session()?.tell(message).await;
    told.map_err(|_| Refusal::from(unknown_session()))
}

async fn ask(
    visit: &Visit,
    mut request: JsonRpcRequest<ClientRequest>,
) -> Result<Response, Refusal> {
    if inline::stands_alone(&request.request, &visit.headers) {
        inline::check(&request.request, &visit.headers).map_err(|error| {
            let id = request.id.clone().into_json_value();
            reply::refused(StatusCode::BAD_REQUEST, id, error)
        })?;
        let parameters = inline::parameters(&visit.headers);
        request.request.extensions_mut().insert(parameters);
        let exchange = begin(visit.shared(&request.request)?, request).await?;
        return Ok(answer(visit, exchange, true).await);
    }
    known_version(visit, &request.id)?;
    if !matches!(request.request, ClientRequest::InitializeRequest(_)) {
        let exchange = begin(visit.session()?, request).await?;
        return Ok(answer(visit, exchange, false).await);
    }
    let id = Sessions::new_id();
    let lane = visit.open(Key::Id(id.clone()), false)?;
    let exchange = begin(lane, request).await?;
    let mut response = answer(visit, exchange, false).await;
    if let Ok(id) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(SESSION, id);
    }
    Ok(response)
}

async fn begin(
    lane: Arc<Lane>,
    request: JsonRpcRequest<ClientRequest>,
) -> Result<Exchange, Refusal> {
    let begun = lane.request(request).await;
    begun.map_err(|_| Refusal::from(unknown_session()))
}

/// A header with a version that nobody knows is a mistake of the caller; none at all is not.
fn known_version(visit: &Visit, id: &RequestId) -> Result<(), Refusal> {
    use rmcp::model::ProtocolVersion;
    let known = |version: &str| {
        let mut versions = ProtocolVersion::KNOWN_VERSIONS.iter();
        versions.any(|known| known.as_str() == version)
    };
    match visit.headers.get(inline::VERSION).map(HeaderValue::to_str) {
        None => Ok(()),
        Some(Ok(version)) if known(version) => Ok(()),
        Some(_) => {
            let message = "the header MCP-Protocol-Version names a version that is not known here";
            let error = ErrorData::invalid_request(message, None);
            let id = id.clone().into_json_value();
            Err(reply::refused(StatusCode::BAD_REQUEST, id, error).into())
        }
    }
}

/// One document if the answer is the first that comes and comes soon; a stream otherwise.
async fn answer(visit: &Visit, mut exchange: Exchange, alone: bool) -> Response {
    let (documents, streams) = (visit.accepts(&reply::JSON), visit.accepts(&reply::EVENTS));
    let soon = Instant::now() + SILENCE;
    let mut first = None;
    loop {
        let message = tokio::select! {
            message = exchange.next() => message,
            () = sleep_until(soon), if streams => break,
        };
        match message {
            // Cancelled by its caller, who expects nothing.
            None => return reply::empty(StatusCode::ACCEPTED),
            Some(message) if is_answer(&message) => {
                let status = status(&message, alone);
                if documents || !streams || status != StatusCode::OK {
                    return reply::json(status, &message);
                }
                first = Some(message);
                break;
            }
            Some(message) if streams => {
                first = Some(message);
                break;
            }
            // A caller that takes no streams hears of nothing but the answer.
            Some(_) => {}
        }
    }
    reply::events(stream::unfold(
        (first, Some(exchange)),
        async |(first, exchange)| {
            let mut exchange = exchange?;
            let message = match first {
                Some(message) => message,
                None => exchange.next().await?,
            };
            let last = is_answer(&message);
            Some((message, (None, (!last).then_some(exchange))))
        },
    ))
}

fn is_answer(message: &ServerJsonRpcMessage) -> bool {
    matches!(
        message,
        JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_)
    )
}

fn status(message: &ServerJsonRpcMessage, alone: bool) -> StatusCode {
    match message {
        JsonRpcMessage::Error(error) if alone => inline::status(error.error.code),
        _ => StatusCode::OK,
    }
}

/// All answers of a batch in one document.
async fn batch(visit: &Visit, messages: Vec<Read>) -> Result<Response, Refusal> {
    if messages.len() > MAX_BATCH {
        let message = format!("a batch may have at most {MAX_BATCH} messages");
        let error = ErrorData::invalid_request(message, None);
        return Err(reply::refused(StatusCode::BAD_REQUEST, Value::Null, error).into());
    }
    let lane = visit.session()?;
    let answers = join_all(messages.into_iter().map(|message| one(&lane, message))).await;
    let answers: Vec<Value> = answers.into_iter().flatten().collect();
    if answers.is_empty() {
        return Ok(reply::empty(StatusCode::ACCEPTED));
    }
    Ok(reply::json(StatusCode::OK, &answers))
}

async fn one(lane: &Arc<Lane>, message: Read) -> Option<Value> {
    let message = match message {
        Read::Refused(answer) => return Some(answer),
        Read::Message(message) => message,
    };
    let JsonRpcMessage::Request(request) = *message else {
        let _ = lane.tell(message).await;
        return None;
    };
    let mut exchange = lane.request(request).await.ok()?;
    loop {
        let message: Outgoing = exchange.next().await?;
        if is_answer(&message) {
            return serde_json::to_value(&message).ok();
        }
    }
}
