//! One request from its body to the turns of the model: which provider, which session, what the model is
//! sent.

use std::sync::Arc;

use axum::http::HeaderMap;
use serde_json::{Map, Value};
use toolsearch_catalog::Source;
use toolsearch_dialect::{
    Call, Dialect, Native, Refusal, RefusalKind, client_call_id, is_client_call_id,
};
use uuid::Uuid;

use super::Inner;
use super::planner::Wish;
use super::resume::{History, Ready, Whose};
use super::run::Run;
use super::talks::{Found, Ground, Talk};
use super::tools::{Shown, Tools};
use super::upstream::Upstream;
use crate::entrance::{Entrance, EntranceError};

/// Who asks, and what it says about its session.
#[derive(Debug, Clone)]
pub(crate) struct Caller {
    pub(crate) entrance: Entrance,
    /// The header `Authorization` opened this gateway and is nobody else's business.
    pub(crate) key_is_ours: bool,
    /// The name that the client gave its session.
    pub(crate) session: Option<String>,
}

impl Caller {
    /// Whose turns and sessions these are.
    pub(crate) fn owner(&self) -> String {
        let Entrance { token, agent, .. } = &self.entrance;
        let part = |text: &Option<String>| text.as_deref().unwrap_or("-").replace('|', "/");
        format!("{}|{}", part(token), part(agent))
    }
}

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) dialect: Dialect,
    pub(crate) caller: Caller,
    pub(crate) headers: HeaderMap,
    pub(crate) raw: Vec<u8>,
    pub(crate) body: Value,
}

/// What is to be done with a request.
#[derive(Debug)]
pub(crate) enum Plan {
    /// It goes to the provider as it is.
    Pass {
        upstream: Arc<Upstream>,
        headers: HeaderMap,
        body: Vec<u8>,
    },
    /// The model is asked over the compact surface.
    Run(Box<Planned>),
}

/// A request whose session is open.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) run: Run,
    pub(crate) history: History,
    pub(crate) whose_kept_elsewhere: bool,
    /// The session as the client knows it.
    pub(crate) session: String,
    /// Bytes of the tools as the client would have sent them on, and as they are sent.
    pub(crate) sizes: (usize, usize),
}

impl Planned {
    /// Goes on with what waits. Calls that come back go to the client before any model is asked.
    pub(crate) async fn settle(&mut self) -> Result<Vec<Call>, Refusal> {
        let run = &mut self.run;
        let whose = Whose {
            owner: &run.owner,
            dialect: run.dialect,
            kept_elsewhere: self.whose_kept_elsewhere,
        };
        let (session, tools) = (&run.talk.session, &run.talk.tools);
        let ready = self
            .history
            .settle(&run.proxy.records, whose, session, tools)
            .await?;
        match ready {
            Ready::Ask(calls) => Ok(calls),
            Ready::Go(edits) => {
                run.dialect.splice(&mut run.body, &edits);
                Ok(Vec::new())
            }
        }
    }
}

impl Inner {
    /// Decides what to do with a request.
    pub(crate) async fn plan(self: &Arc<Self>, mut request: Request) -> Result<Plan, Refusal> {
        let dialect = request.dialect;
        dialect.check(&request.body)?;
        let Some(model) = dialect.model(&request.body) else {
            return Err(Refusal::invalid("`model` must be a text").at("model"));
        };
        let (upstream, own) = self.choose(dialect, model)?;
        let (prefixed, own) = (own.len() != model.len(), own.to_owned());
        if prefixed && let Value::Object(fields) = &mut request.body {
            fields.insert("model".to_owned(), Value::from(own.as_str()));
        }
        let caller = &request.caller;
        let headers = upstream.headers(dialect, &request.headers, caller.key_is_ours);
        let searches = self
            .planner
            .searches(&caller.entrance)
            .map_err(|e| closed(&e))?;
        let planned = if searches && dialect.has_tools(&request.body) {
            self.open(&mut request, &upstream, own, headers.clone())
                .await?
        } else {
            self.rename_response(&mut request).await?;
            None
        };
        match planned {
            Some(planned) => Ok(Plan::Run(Box::new(planned))),
            None => Ok(Plan::Pass {
                upstream,
                headers,
                body: passed_body(&request, prefixed)?,
            }),
        }
    }

    /// Opens the session of a request; nothing when the tools are few and the client's own.
    async fn open(
        self: &Arc<Self>,
        request: &mut Request,
        upstream: &Arc<Upstream>,
        model: String,
        headers: HeaderMap,
    ) -> Result<Option<Planned>, Refusal> {
        let dialect = request.dialect;
        if request.body.get("background") == Some(&Value::Bool(true)) {
            let message = "`background` cannot be used where tools are searched for; leave the tools \
                           out, or switch tool search off for this request";
            return Err(Refusal::invalid(message).at("background"));
        }
        let native = upstream.provider.native(dialect);
        let tools = self.known.read(dialect, native, &request.body)?;
        let owner = request.caller.owner();
        let alias = self.rename_response(request).await?;
        let has = |name: &str| request.body.get(name).is_some_and(|value| !value.is_null());
        let (chained, conversation) = (has("previous_response_id"), has("conversation"));
        let responses = dialect == Dialect::OpenAiResponses;
        let kept_elsewhere = responses && (chained || conversation);
        let whose = Whose {
            owner: &owner,
            dialect,
            kept_elsewhere,
        };
        let history = History::read(&self.records, whose, &request.body).await?;
        let names = session_names(request);
        let session = history
            .session()
            .map(str::to_owned)
            .or(alias)
            .or_else(|| names.iter().find_map(|name| self.talks.named(&owner, name)));
        let ground = Ground {
            dialect,
            entrance: request.caller.entrance.clone(),
            provider: format!("{}/{model}", upstream.provider.name),
            tools: tools.key,
            generation: self.planner.generation(),
        };
        let talk = self
            .talk(request, &tools, ground, session, &owner, upstream)
            .await?;
        if is_plain(&talk, &tools) {
            return Ok(None);
        }
        for name in &names {
            self.talks.name(&owner, name, talk.session.id());
        }
        let echo = echo(request);
        let sizes = prepare(request, &talk, native);
        let session = request.caller.session.clone();
        let session = session.unwrap_or_else(|| talk.session.id().to_owned());
        let run = Run {
            proxy: Arc::clone(self),
            owner,
            dialect,
            upstream: Arc::clone(upstream),
            headers,
            talk,
            echo,
            body: std::mem::take(&mut request.body),
            kept_elsewhere: responses && conversation,
            model,
        };
        Ok(Some(Planned {
            run,
            history,
            whose_kept_elsewhere: kept_elsewhere,
            session,
            sizes,
        }))
    }

    /// The conversation of a request: as it was, planned anew, or a new one.
    async fn talk(
        &self,
        request: &Request,
        tools: &Arc<Tools>,
        ground: Ground,
        session: Option<String>,
        owner: &str,
        upstream: &Upstream,
    ) -> Result<Talk, Refusal> {
        let dialect = request.dialect;
        let found = match &session {
            Some(session) => self.talks.find(session, owner, &ground),
            None => Found::Nothing,
        };
        let (previous, shown) = match found {
            Found::Same(talk) => return Ok(talk),
            Found::Other { previous, shown } => (Some(previous), shown),
            Found::Nothing => (None, None),
        };
        let wish = Wish {
            entrance: ground.entrance.clone(),
            client: Some(tools.listing.clone()),
            provider: ground.provider.clone(),
            session,
            continues: previous,
            first_message: dialect.first_user_text(&request.body),
            context_tokens: upstream.provider.context_tokens,
        };
        let session = self
            .planner
            .plan(wish)
            .await
            .map_err(|error| closed(&error))?;
        let shown = shown.unwrap_or_else(|| Arc::new(Shown::of(dialect, &session, tools)));
        let talk = Talk {
            session,
            tools: Arc::clone(tools),
            shown,
        };
        self.talks.keep(&talk, owner, ground);
        Ok(talk)
    }

    /// Puts the provider's own name of a response in the place of the client's; gives its session.
    async fn rename_response(&self, request: &mut Request) -> Result<Option<String>, Refusal> {
        let field = "previous_response_id";
        let Some(shown) = request.body.get(field).and_then(Value::as_str) else {
            return Ok(None);
        };
        if request.dialect != Dialect::OpenAiResponses || !is_client_call_id(shown) {
            return Ok(None);
        }
        let owner = request.caller.owner();
        let Some(alias) = self.records.aliased(&owner, shown).await? else {
            let message = format!(
                "the response `{shown}` is not kept here any more, or never was; send the whole \
                 conversation instead"
            );
            return Err(Refusal::invalid(message)
                .at(field)
                .coded("previous_response_not_found"));
        };
        if let Value::Object(fields) = &mut request.body {
            fields.insert(field.to_owned(), Value::from(alias.response));
            request.raw.clear();
        }
        Ok(Some(alias.session))
    }
}

/// Puts the surface into the request; gives the bytes of tools as they were and as they are sent.
fn prepare(request: &mut Request, talk: &Talk, native: Native) -> (usize, usize) {
    let dialect = request.dialect;
    let sizes = talk.session.sizes();
    dialect.declare(&mut request.body, talk.shown.declared.clone());
    dialect.add_prompt(&mut request.body, &talk.shown.prompt);
    dialect.settle_history(&mut request.body, native);
    (sizes.direct_tool_bytes, sizes.sent())
}

/// Whether the model would be shown what the client sent and nothing else.
fn is_plain(talk: &Talk, tools: &Tools) -> bool {
    let session = &talk.session;
    let own = |tool: &Arc<toolsearch_catalog::ToolDescriptor>| tool.source() == Source::Client;
    session.mode().name() == "direct"
        && session.direct().len() == tools.offer.tools.len()
        && session.catalog().is_empty()
        && session.direct().iter().all(own)
        && tools.offer.notes.is_empty()
}

/// The names under which a client finds its session again.
fn session_names(request: &Request) -> Vec<String> {
    let conversation = request.body.get("conversation");
    let conversation = conversation.and_then(|value| {
        let id = value.get("id").unwrap_or(value);
        id.as_str().map(|id| format!("conversation:{id}"))
    });
    let own = request.caller.session.clone();
    own.into_iter().chain(conversation).collect()
}

/// The body as the provider gets it when nothing is searched.
fn passed_body(request: &Request, changed: bool) -> Result<Vec<u8>, Refusal> {
    if !changed && !request.raw.is_empty() {
        return Ok(request.raw.clone());
    }
    serde_json::to_vec(&request.body).map_err(|error| {
        Refusal::new(
            RefusalKind::Internal,
            format!("the request cannot be written: {error}"),
        )
    })
}

/// What a response repeats of its request.
fn echo(request: &Request) -> Map<String, Value> {
    let mut echo = Map::new();
    if request.dialect != Dialect::OpenAiResponses {
        return echo;
    }
    let (unique, _) = Uuid::new_v4().as_u64_pair();
    let id = client_call_id("resp", unique);
    echo.insert("id".to_owned(), Value::from(id));
    for (name, otherwise) in [
        ("tools", Value::Array(Vec::new())),
        ("instructions", Value::Null),
    ] {
        let given = request.body.get(name).cloned();
        echo.insert(name.to_owned(), given.unwrap_or(otherwise));
    }
    echo
}

pub(crate) fn closed(error: &EntranceError) -> Refusal {
    let kind = match error {
        EntranceError::UnknownAgent => RefusalKind::Forbidden,
        _ => RefusalKind::Invalid,
    };
    Refusal::new(kind, error.to_string())
}
