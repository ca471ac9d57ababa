//! The turns of one request: ask the model, answer what is ours, hand out what is the client's, until
//! there is an answer for the client.

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, StatusCode};
use futures::future::join_all;
use reqwest::Response;
use serde_json::{Map, Value};
use toolsearch_dialect::{
    Arguments, Call, Dialect, End, Refusal, RefusalKind, SseDecoder, StreamFault, Turn,
};
use toolsearch_mode::{Control, Rendered, Role};
use toolsearch_runtime::{ModelCall, Reply};

use super::Inner;
use super::records::{Asked, Saved, SavedCall, SavedResult, TurnId};
use super::resume::ask;
use super::stream::{Left, Writer};
use super::talks::Talk;
use super::upstream::{Upstream, chunk, passed, whole};

/// Longest time that one request may take over all its turns.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// What came of a request.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// An answer, with the headers of the provider's last one.
    Answer(HeaderMap, Value),
    /// Everything was written to the stream.
    Streamed,
}

/// Why a request has no answer.
#[derive(Debug)]
pub(crate) enum Trouble {
    Refused(Refusal),
    /// The provider's own refusal.
    Passed(StatusCode, HeaderMap, Vec<u8>),
    /// The provider failed within its stream, in its own words.
    Failed(Box<StreamFault>),
    Left,
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Left> for Trouble {
    fn from(_: Left) -> Self {
        Self::Left
    }
}

/// One request on its way.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) proxy: Arc<Inner>,
    pub(crate) owner: String,
    pub(crate) dialect: Dialect,
    pub(crate) upstream: Arc<Upstream>,
    pub(crate) headers: HeaderMap,
    pub(crate) talk: Talk,
    /// What the provider is sent.
    pub(crate) body: Value,
    /// Fields that a response repeats of the request, as the client knows them (Responses).
    pub(crate) echo: Map<String, Value>,
    /// The provider keeps the conversation and needs only what is new.
    pub(crate) kept_elsewhere: bool,
    pub(crate) model: String,
}

/// What is new in the conversation since the request.
#[derive(Debug, Default)]
struct News {
    turns: Vec<Value>,
    entries: Vec<Value>,
    headers: HeaderMap,
}

impl Run {
    /// Turns until there is an answer.
    pub(crate) async fn answer(mut self, writer: Option<&mut Writer>) -> Result<Outcome, Trouble> {
        let work = self.turns(writer);
        match tokio::time::timeout(PATIENCE, work).await {
            Ok(outcome) => outcome,
            Err(_) => {
                let message = format!("no answer within {} s", PATIENCE.as_secs());
                Err(Refusal::new(RefusalKind::Timeout, message).into())
            }
        }
    }

    async fn turns(&mut self, mut writer: Option<&mut Writer>) -> Result<Outcome, Trouble> {
        let mut news = News::default();
        for _ in 0..self.proxy.options.turns.max(1) {
            let (turn, answer) = self.ask(&mut news, writer.as_deref_mut()).await?;
            let broken = |call: &Call| matches!(call.arguments, Arguments::Unreadable { .. });
            // A call that was cut off in the middle is no call.
            let cut = turn.end != End::Done && turn.calls.iter().any(broken);
            let calls: &[Call] = if cut { &[] } else { &turn.calls };
            let entries = self.dialect.entries(&answer);
            news.turns.push(answer);
            if calls.is_empty() && (cut || turn.foreign.is_empty()) {
                return self.finish(&news, Vec::new(), writer).await;
            }
            let replies = join_all(calls.iter().map(|call| self.run(call))).await;
            if turn.foreign.is_empty() && replies.iter().all(is_done) {
                let results = calls
                    .iter()
                    .zip(&replies)
                    .filter_map(|(call, reply)| match reply {
                        Ran::Done(rendered) => Some((call.clone(), rendered.clone())),
                        _ => None,
                    });
                let results = self.dialect.results(&results.collect::<Vec<_>>());
                self.go_on(&mut news, entries, results);
                if calls.iter().any(|call| !self.only_looks(call)) {
                    self.dialect.relax_choice(&mut self.body);
                }
                continue;
            }
            news.entries.extend(entries);
            let handed = self.put_aside(&news, &turn, calls, replies).await?;
            return self.finish(&news, handed, writer).await;
        }
        let message = format!(
            "the model searched and called tools for {} turns without an answer and was stopped",
            self.proxy.options.turns
        );
        Err(Refusal::new(RefusalKind::Upstream, message)
            .coded("too_many_turns")
            .into())
    }

    /// Adds a turn and its results to the conversation.
    fn go_on(&mut self, news: &mut News, entries: Vec<Value>, results: Vec<Value>) {
        if self.kept_elsewhere {
            if let Value::Object(fields) = &mut self.body {
                let field = self.dialect.history_field().to_owned();
                fields.insert(field, Value::Array(results.clone()));
            }
        } else {
            let more = entries.iter().chain(&results).cloned().collect();
            self.dialect.append(&mut self.body, more);
        }
        news.entries.extend(entries);
        news.entries.extend(results);
    }

    /// One turn of the model.
    async fn ask(
        &self,
        news: &mut News,
        writer: Option<&mut Writer>,
    ) -> Result<(Turn, Value), Trouble> {
        let bytes = serde_json::to_vec(&self.body).map_err(|error| {
            Refusal::new(
                RefusalKind::Internal,
                format!("the request cannot be written: {error}"),
            )
        })?;
        let response = self
            .upstream
            .post(self.dialect, &self.headers, bytes)
            .await?;
        let status = response.status();
        let headers = passed(response.headers());
        if !status.is_success() {
            let kind = response.headers().get("content-type").cloned();
            let mut headers = headers;
            headers.extend(kind.map(|kind| (axum::http::header::CONTENT_TYPE, kind)));
            return Err(Trouble::Passed(status, headers, whole(response).await?));
        }
        news.headers = headers;
        let mut answer = match writer {
            Some(writer) => self.read_stream(response, writer).await?,
            None => parse(&whole(response).await?)?,
        };
        let turn = self.dialect.read(&mut answer).map_err(|error| {
            Refusal::new(RefusalKind::Upstream, error.to_string()).coded("provider_unreadable")
        })?;
        Ok((turn, answer))
    }

    async fn read_stream(
        &self,
        mut response: Response,
        writer: &mut Writer,
    ) -> Result<Value, Trouble> {
        let kind = response.headers().get("content-type");
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.starts_with("application/json") {
            let message = "the provider did not stream although it was asked to";
            let refusal = Refusal::new(RefusalKind::Upstream, message);
            return Err(refusal.coded("provider_unreadable").into());
        }
        let mut decoder = SseDecoder::default();
        while let Some(bytes) = chunk(&mut response).await? {
            for event in decoder.push(&bytes).map_err(faulty)? {
                if !writer.relay.ended() {
                    let shown = writer.relay.event(&event).map_err(faulty)?;
                    writer.send(&shown).await?;
                }
            }
        }
        if let Some(event) = decoder.finish().map_err(faulty)?
            && !writer.relay.ended()
        {
            let shown = writer.relay.event(&event).map_err(faulty)?;
            writer.send(&shown).await?;
        }
        writer.relay.turn().map_err(faulty)
    }

    /// Answers one call of the model.
    async fn run(&self, call: &Call) -> Ran {
        let args = match &call.arguments {
            Arguments::Object(args) => args.clone(),
            Arguments::Unreadable { excerpt, problem } => {
                return Ran::Done(Rendered::error(format!(
                    "Error: the arguments of `{}` must be one JSON object, but {problem}. Nothing \
                     was run. Call it again with valid JSON. You sent: {excerpt}",
                    call.name
                )));
            }
        };
        if self.is_foreign(call) {
            return Ran::Foreign;
        }
        let name = match &call.namespace {
            Some(space) => format!("client:{space}:{}", call.name),
            None => call.name.clone(),
        };
        let reply = self
            .talk
            .session
            .handle(ModelCall::new(name, Value::Object(args)))
            .await;
        match reply {
            Reply::Done(rendered) => Ran::Done(toolsearch_mode::render::fenced(&rendered)),
            Reply::Pending(pending) if pending.calls().is_empty() => Ran::Done(Rendered::error(
                "The call waits for consent that nobody can give here.",
            )),
            Reply::Pending(pending) => Ran::Waits(pending),
        }
    }

    /// Whether a call finds or reads tools and uses none.
    fn only_looks(&self, call: &Call) -> bool {
        let role = self.talk.session.surface().role(&call.name);
        matches!(
            role,
            Some(Role::Control(Control::Search | Control::Describe))
        )
    }

    fn is_program(&self, call: &Call) -> bool {
        let role = self.talk.session.surface().role(&call.name);
        matches!(role, Some(Role::Control(Control::Code)))
    }

    /// A name that nobody here knows, where the client declared a set of tools by one entry.
    fn is_foreign(&self, call: &Call) -> bool {
        let session = &self.talk.session;
        self.talk.tools.has_sets()
            && session.surface().role(&call.name).is_none()
            && session.catalog().resolve(&call.name).is_err()
    }

    /// Keeps a turn that needs the client, and says which calls it is handed.
    async fn put_aside(
        &self,
        news: &News,
        turn: &Turn,
        calls: &[Call],
        replies: Vec<Ran>,
    ) -> Result<Vec<Call>, Refusal> {
        let id = TurnId::new();
        let session = &self.talk.session;
        let mut saved = Saved::new(&self.owner, self.dialect.name(), session.id());
        saved.entries.clone_from(&news.entries);
        for (place, (call, ran)) in calls.iter().zip(replies).enumerate() {
            saved.calls.push(SavedCall {
                id: call.id.clone(),
                form: call.form.word().to_owned(),
                result: None,
                work: None,
                asked: Vec::new(),
                program: false,
            });
            match ran {
                Ran::Done(rendered) => {
                    saved.calls[place].result = Some(SavedResult::from(&rendered));
                }
                Ran::Waits(pending) => {
                    saved.calls[place].program = self.is_program(call);
                    ask(&mut saved, place, id, &pending, session, &self.talk.tools);
                }
                Ran::Foreign => {
                    let client = saved.next_id(id, &call.id);
                    saved.calls[place].asked.push(foreign(client, call));
                }
            }
        }
        let handed: Vec<Call> = saved.asked().map(Asked::call).collect();
        for own in &turn.foreign {
            // It stands in the answer under its own id.
            saved.calls.push(SavedCall {
                id: own.clone(),
                form: String::new(),
                result: None,
                work: None,
                asked: vec![foreign(
                    own.clone(),
                    &Call::new(own.as_str(), "", Arguments::read(None)),
                )],
                program: false,
            });
        }
        let composed = self.dialect.compose(&news.turns, &handed);
        let composed =
            composed.map_err(|error| Refusal::new(RefusalKind::Upstream, error.to_string()))?;
        saved.visible = self.dialect.visible(&composed);
        if !handed.is_empty() {
            self.proxy.records.put(id, &Arc::new(saved)).await?;
        }
        Ok(handed)
    }

    /// The answer for the client.
    async fn finish(
        &self,
        news: &News,
        calls: Vec<Call>,
        writer: Option<&mut Writer>,
    ) -> Result<Outcome, Trouble> {
        let composed = self.dialect.compose(&news.turns, &calls);
        let mut composed = composed.map_err(|error| {
            Refusal::new(RefusalKind::Upstream, error.to_string()).coded("provider_unreadable")
        })?;
        self.alias(&composed, news.turns.len()).await?;
        self.overlay(&mut composed);
        match writer {
            None => Ok(Outcome::Answer(news.headers.clone(), composed)),
            Some(writer) => {
                let events = writer.relay.finish(&composed, &calls);
                writer.send(&events).await?;
                Ok(Outcome::Streamed)
            }
        }
    }

    /// Hands out calls of a turn that goes on, although no model was asked.
    pub(crate) async fn hand_out(
        &self,
        calls: Vec<Call>,
        writer: Option<&mut Writer>,
    ) -> Result<Outcome, Trouble> {
        let upstream = self
            .body
            .get("previous_response_id")
            .and_then(Value::as_str);
        let id = upstream.map_or_else(
            || format!("ts-{}", uuid::Uuid::new_v4().simple()),
            str::to_owned,
        );
        let blank = self.dialect.blank(&id, &self.model, now_secs());
        let composed = self.dialect.compose(std::slice::from_ref(&blank), &calls);
        let mut composed =
            composed.map_err(|error| Refusal::new(RefusalKind::Internal, error.to_string()))?;
        self.alias(&composed, 0).await?;
        self.overlay(&mut composed);
        match writer {
            None => Ok(Outcome::Answer(HeaderMap::new(), composed)),
            Some(writer) => {
                let mut events = writer.relay.begin(&blank);
                events.extend(writer.relay.finish(&composed, &calls));
                writer.send(&events).await?;
                Ok(Outcome::Streamed)
            }
        }
    }

    /// Remembers which response of the provider the client's name stands for.
    async fn alias(&self, composed: &Value, turns: usize) -> Result<(), Refusal> {
        let stored = self.body.get("store") != Some(&Value::Bool(false));
        if turns == 0 && self.body.get("previous_response_id").is_none() {
            return Ok(());
        }
        let shown = self.echo.get("id").and_then(Value::as_str);
        let own = composed.get("id").and_then(Value::as_str);
        match (shown, own) {
            (Some(shown), Some(own)) if stored => {
                let session = self.talk.session.id();
                let records = &self.proxy.records;
                records.alias(&self.owner, shown, own, session).await
            }
            _ => Ok(()),
        }
    }

    fn overlay(&self, composed: &mut Value) {
        if let Value::Object(fields) = composed {
            for (name, value) in &self.echo {
                fields.insert(name.clone(), value.clone());
            }
        }
    }
}

/// What came of one call of the model.
enum Ran {
    Done(Rendered),
    Waits(Box<toolsearch_runtime::Pending>),
    Foreign,
}

fn is_done(ran: &Ran) -> bool {
    matches!(ran, Ran::Done(_))
}

fn foreign(id: String, call: &Call) -> Asked {
    Asked {
        id,
        handle: None,
        name: call.name.clone(),
        namespace: call.namespace.clone(),
        form: call.form.word().to_owned(),
        args: call
            .arguments_object()
            .as_object()
            .cloned()
            .unwrap_or_default(),
        answered: None,
    }
}

fn parse(bytes: &[u8]) -> Result<Value, Refusal> {
    serde_json::from_slice(bytes).map_err(|error| {
        let message = format!("the provider's answer is no JSON: {error}");
        Refusal::new(RefusalKind::Upstream, message).coded("provider_unreadable")
    })
}

fn faulty(fault: StreamFault) -> Trouble {
    match fault {
        fault @ StreamFault::Failed { .. } => Trouble::Failed(Box::new(fault)),
        other => Refusal::new(RefusalKind::Upstream, other.to_string())
            .coded("provider_unreadable")
            .into(),
    }
}

fn now_secs() -> u64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    since.unwrap_or_default().as_secs()
}
