//! One message on its way: the request, the stream of its answer, a session that was lost meanwhile.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use reqwest::Response;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::client::unsent;
use super::events::{Events, MAX_EVENT_BYTES};
use super::link::{Link, Reply, Session};
use super::message::Head;
use super::old;
use crate::spec::HttpTransport;
use crate::trouble::Trouble;
use crate::wire;

/// How often the stream of an answer is taken up again.
const MAX_RESUMES: usize = 20;
/// How long to wait before that where the server does not say.
const RESUME_PAUSE: Duration = Duration::from_secs(1);
/// The same where it does.
const LONGEST_RESUME_PAUSE: Duration = Duration::from_secs(30);
/// How long a stream may take to end after its answer, so that its connection can be used again.
const TAIL: Duration = Duration::from_millis(500);
/// How long a new session may take.
const RENEWAL: Duration = Duration::from_secs(30);

/// Sends a message. A request either gets its answer or is said to be lost.
pub(super) async fn exchange(link: Arc<Link>, text: Bytes, head: Head) {
    let request = head.request();
    let Err(trouble) = carry(&link, &text, &head).await else {
        return;
    };
    tracing::debug!(%trouble, method = head.method, "a message was not answered");
    if let Some(id) = request {
        link.lose(id, trouble).await;
    }
}

async fn carry(link: &Arc<Link>, text: &Bytes, head: &Head) -> Result<(), Trouble> {
    let (mut renewed, mut refreshed) = (false, false);
    loop {
        let session = link.session();
        match link.post(text, head, &session).await {
            Reply::Taken => return taken(link, head),
            Reply::Messages(messages) => {
                let answered = deliver_all(link, messages, head.request()).await;
                return expect(answered, head, "the answer belongs to another request");
            }
            Reply::Stream(answer) => return read_stream(link, answer, head).await,
            // The message was not looked at, so nothing is done twice.
            Reply::SessionLost(trouble) if !renewed => {
                renewed = true;
                renew(link, &session, trouble).await?;
            }
            Reply::Trouble(trouble) if trouble.wants_auth() && !refreshed => {
                refreshed = true;
                let Some(bearer) = &link.bearer else {
                    return Err(trouble);
                };
                if !bearer.refresh().await {
                    return Err(trouble);
                }
            }
            Reply::NotHere(trouble) if may_be_old(link, head) => {
                old::open(link, &trouble).await?;
            }
            Reply::SessionLost(trouble) | Reply::NotHere(trouble) | Reply::Trouble(trouble) => {
                return Err(trouble);
            }
        }
    }
}

fn may_be_old(link: &Link, head: &Head) -> bool {
    head.is("initialize") && link.transport == HttpTransport::Auto && link.old.get().is_none()
}

fn taken(link: &Link, head: &Head) -> Result<(), Trouble> {
    // The older transport answers on its stream.
    let answered = link.old.get().is_some();
    expect(answered, head, "the request was taken, but not answered")
}

fn expect(answered: bool, head: &Head, otherwise: &str) -> Result<(), Trouble> {
    if answered || head.request().is_none() {
        return Ok(());
    }
    Err(Trouble::Rejected(otherwise.to_owned()))
}

/// Hands messages on; whether the answer to `request` was among them.
async fn deliver_all(link: &Link, messages: Vec<Value>, request: Option<i64>) -> bool {
    let mut answered = false;
    for message in messages {
        answered |= is_answer(&message, request);
        note(link, &message, request);
        if !link.deliver(message, request).await {
            return true;
        }
    }
    answered
}

fn is_answer(message: &Value, request: Option<i64>) -> bool {
    let id = message
        .get("id")
        .filter(|_| message.get("method").is_none());
    let id = id.and_then(|id| id.as_i64().or_else(|| id.as_str()?.parse().ok()));
    id.is_some() && id == request
}

/// What the connection itself has to know of an answer.
fn note(link: &Link, message: &Value, request: Option<i64>) {
    link.marks.learn(message);
    let version = message.pointer("/result/protocolVersion");
    if let Some(version) = version.and_then(Value::as_str)
        && is_answer(message, request)
    {
        let version = Some(version.to_owned());
        link.session
            .send_modify(|session| session.version = version);
    }
}

/// Reads the stream of an answer, and takes it up again where the server allows that.
async fn read_stream(link: &Arc<Link>, first: Response, head: &Head) -> Result<(), Trouble> {
    let request = head.request();
    let mut events = Events::new(MAX_EVENT_BYTES);
    let mut answer = first;
    for _ in 0..=MAX_RESUMES {
        let end = read_events(link, &mut answer, &mut events, request).await;
        match end {
            Ok(true) => {
                finish(answer).await;
                return Ok(());
            }
            Ok(false) if request.is_none() => return Ok(()),
            Ok(false) => {}
            Err(trouble) if events.last_id().is_none() => return Err(trouble),
            Err(trouble) => tracing::debug!(%trouble, "a stream broke"),
        }
        let Some(last) = events.last_id().map(str::to_owned) else {
            let reason = "the stream ended without the answer";
            return Err(Trouble::Unreachable(reason.to_owned()));
        };
        let pause = events.retry().unwrap_or(RESUME_PAUSE);
        sleep(pause.min(LONGEST_RESUME_PAUSE)).await;
        answer = link.get(Some(&last)).await?;
    }
    Err(Trouble::Unreachable(
        "the stream ended again and again without the answer".to_owned(),
    ))
}

/// Reads until the answer to `request` was there, or the stream ended.
pub(super) async fn read_events(
    link: &Link,
    answer: &mut Response,
    events: &mut Events,
    request: Option<i64>,
) -> Result<bool, Trouble> {
    loop {
        let chunk = answer.chunk().await;
        let Some(chunk) = chunk.map_err(|error| unsent(error, &link.redactor))? else {
            return Ok(false);
        };
        let complete = events.push(&chunk).map_err(|_| {
            Trouble::Rejected(format!("an event is longer than {MAX_EVENT_BYTES} bytes"))
        })?;
        let mut answered = false;
        for event in complete {
            if event.data.is_empty() {
                continue;
            }
            match wire::parse(&event.data) {
                Some(messages) => answered |= deliver_all(link, messages, request).await,
                None => link.notes.junk(&String::from_utf8_lossy(&event.data), true),
            }
        }
        if answered {
            return Ok(true);
        }
    }
}

async fn finish(mut answer: Response) {
    let rest = async { while let Ok(Some(_)) = answer.chunk().await {} };
    let _ = timeout(TAIL, rest).await;
}

/// Opens another session after the server forgot `lost`. Whoever comes while that goes on shares it.
async fn renew(link: &Arc<Link>, lost: &Session, trouble: Trouble) -> Result<(), Trouble> {
    let _turn = link.renewing.lock().await;
    if link.session().number != lost.number {
        return Ok(());
    }
    let Some(greeting) = link.greeting() else {
        return Err(trouble);
    };
    tracing::info!("the server forgot the session; another one is opened");
    let opened = timeout(RENEWAL, greet_again(link, &greeting)).await;
    opened.unwrap_or_else(|_| {
        let reason = "the server forgot the session and gives no other";
        Err(Trouble::Unreachable(reason.to_owned()))
    })?;
    // Another process may have other tools.
    let changed = json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" });
    link.deliver(changed, None).await;
    Ok(())
}

async fn greet_again(link: &Arc<Link>, greeting: &Bytes) -> Result<(), Trouble> {
    let head = Head::read(greeting);
    let request = head.request();
    let messages = match link.post(greeting, &head, &Session::default()).await {
        Reply::Messages(messages) => messages,
        Reply::Stream(mut answer) => first_answer(link, &mut answer, request).await?,
        Reply::Trouble(trouble) | Reply::NotHere(trouble) | Reply::SessionLost(trouble) => {
            return Err(trouble);
        }
        Reply::Taken => Vec::new(),
    };
    let answer = messages.iter().find(|one| is_answer(one, request));
    if answer.and_then(|answer| answer.get("result")).is_none() {
        let reason = "the server forgot the session and refuses another";
        return Err(Trouble::Rejected(reason.to_owned()));
    }
    for message in &messages {
        note(link, message, request);
    }
    let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
    let ready = Bytes::from(ready.to_string());
    let head = Head::read(&ready);
    match link.post(&ready, &head, &link.session()).await {
        Reply::Trouble(trouble) => Err(trouble),
        _ => Ok(()),
    }
}

/// The messages of a stream up to the answer, kept back.
async fn first_answer(
    link: &Link,
    answer: &mut Response,
    request: Option<i64>,
) -> Result<Vec<Value>, Trouble> {
    let mut events = Events::new(MAX_EVENT_BYTES);
    let mut messages = Vec::new();
    loop {
        let chunk = answer.chunk().await;
        let Some(chunk) = chunk.map_err(|error| unsent(error, &link.redactor))? else {
            return Ok(messages);
        };
        let too_long = |_| Trouble::Rejected("the answer to initialize is too long".to_owned());
        for event in events.push(&chunk).map_err(too_long)? {
            messages.extend(wire::parse(&event.data).unwrap_or_default());
            if messages.iter().any(|one| is_answer(one, request)) {
                return Ok(messages);
            }
        }
    }
}
