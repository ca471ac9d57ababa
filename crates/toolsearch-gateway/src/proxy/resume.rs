//! The past of a conversation: turns whose calls the client ran go on with its results, and the model
//! is given the calls that it made itself in place of those that the client knows.

use std::collections::BTreeMap;
use std::sync::Arc;

use data_encoding::HEXLOWER;
use serde_json::Value;
use sha2::{Digest, Sha256};
use toolsearch_catalog::Outcome;
use toolsearch_dialect::{
    Arguments, Call, CallForm, Dialect, Edit, Past, PastResult, Refusal, is_client_call_id,
};
use toolsearch_mode::Rendered;
use toolsearch_runtime::{ClientAnswer, Pending, Reply, RestoreError, ResumeError, Session};

use super::records::{Asked, Records, Saved, SavedCall, SavedResult, TurnId};
use super::tools::Tools;

/// Most turns of one history that are given back to the model.
const MAX_TURNS: usize = 1_000;

/// A past that is ready for the model, or a turn that needs the client once more.
#[derive(Debug)]
pub(crate) enum Ready {
    Go(Vec<Edit>),
    /// Calls that the client has to run before anything else.
    Ask(Vec<Call>),
}

/// Everything that a history refers to.
#[derive(Debug)]
pub(crate) struct History {
    past: Past,
    turns: Vec<(TurnId, Option<Arc<Saved>>)>,
}

/// Whose history it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Whose<'a> {
    pub(crate) owner: &'a str,
    pub(crate) dialect: Dialect,
    /// The provider keeps the conversation: calls need not stand beside their results.
    pub(crate) kept_elsewhere: bool,
}

impl History {
    /// Reads a history and finds the turns that it refers to.
    pub(crate) async fn read(
        records: &Records,
        whose: Whose<'_>,
        body: &Value,
    ) -> Result<Self, Refusal> {
        let past = whose.dialect.past(body);
        check_results(&past, whose.kept_elsewhere)?;
        let mut turns: Vec<(TurnId, Option<Arc<Saved>>)> = Vec::new();
        let results = past.results.iter().map(|result| result.id.as_str());
        for id in past.calls.iter().map(String::as_str).chain(results) {
            let Some(turn) = TurnId::of(id) else { continue };
            if turns.iter().any(|(known, _)| *known == turn) || turns.len() == MAX_TURNS {
                continue;
            }
            let name = whose.dialect.name();
            turns.push((turn, records.turn(turn, whose.owner, name).await?));
        }
        Ok(Self { past, turns })
    }

    /// The session of the last turn that is known.
    pub(crate) fn session(&self) -> Option<&str> {
        let known = self.turns.iter().rev();
        known
            .filter_map(|(_, saved)| saved.as_ref())
            .map(|saved| saved.session.as_str())
            .next()
    }

    /// Goes on with what waits, and says what the model is to be given.
    pub(crate) async fn settle(
        &self,
        records: &Records,
        whose: Whose<'_>,
        session: &Session,
        tools: &Tools,
    ) -> Result<Ready, Refusal> {
        let results: BTreeMap<&str, &PastResult> = self
            .past
            .results
            .iter()
            .map(|result| (result.id.as_str(), result))
            .collect();
        let last = self
            .past
            .results
            .last()
            .and_then(|last| TurnId::of(&last.id));
        let mut edits = Vec::new();
        for (turn, saved) in &self.turns {
            let Some(saved) = saved else {
                if last == Some(*turn) {
                    return Err(gone());
                }
                // The client's own calls and results are a past that makes sense as well.
                continue;
            };
            let mut saved = Arc::clone(saved);
            if !saved.is_complete() {
                let _alone = records.alone(*turn).await;
                let going = Going {
                    turn: *turn,
                    calls: &self.past.calls,
                    results: &results,
                    session,
                    tools,
                };
                let fresh = records
                    .turn(*turn, whose.owner, whose.dialect.name())
                    .await?;
                saved = going.on(records, fresh.unwrap_or(saved)).await?;
            }
            if !saved.is_complete() {
                return Ok(Ready::Ask(unanswered(&saved)));
            }
            edits.push(self.edit(whose.dialect, &saved, &results));
        }
        Ok(Ready::Go(edits))
    }

    /// What comes in the place of a turn's calls.
    fn edit(&self, dialect: Dialect, saved: &Saved, results: &BTreeMap<&str, &PastResult>) -> Edit {
        let ids: Vec<String> = saved.asked().map(|asked| asked.id.clone()).collect();
        let beside = ids.iter().any(|id| self.past.calls.contains(id));
        let mut instead = if beside {
            saved.entries.clone()
        } else {
            Vec::new()
        };
        let mut own: Vec<(Call, Rendered)> = Vec::new();
        for call in &saved.calls {
            if call.is_foreign() {
                // As the client wrote it, under the model's own id.
                let result = call.asked.iter().find_map(|a| results.get(a.id.as_str()));
                if let Some(result) = result {
                    instead.extend(dialect.results(&std::mem::take(&mut own)));
                    instead.push(dialect.result_as_sent(&result.raw, &call.id));
                }
                continue;
            }
            own.push((call.call(), call.reads(results)));
        }
        instead.extend(dialect.results(&own));
        Edit::new(ids, saved.visible.clone(), instead)
    }
}

/// Results must belong to calls: what a provider would refuse is refused before anything runs.
fn check_results(past: &Past, kept_elsewhere: bool) -> Result<(), Refusal> {
    if kept_elsewhere {
        return Ok(());
    }
    let unknown = past
        .results
        .iter()
        .find(|result| !past.calls.contains(&result.id));
    match unknown {
        None => Ok(()),
        Some(result) if is_client_call_id(&result.id) => Err(gone()),
        Some(result) => {
            let id: String = result.id.chars().take(80).collect();
            let message =
                format!("a result names the call `{id}`, which no message before it makes");
            Err(Refusal::invalid(message).coded("unknown_call"))
        }
    }
}

fn gone() -> Refusal {
    let message = "these results belong to a turn that is not kept here any more, or never was: it \
                   has expired, or another caller began it; send the conversation again without its \
                   last calls and results";
    Refusal::invalid(message).coded("unknown_continuation")
}

fn unanswered(saved: &Saved) -> Vec<Call> {
    let asked = saved.asked().filter(|asked| asked.waits());
    asked.map(Asked::call).collect()
}

/// Going on with one turn.
struct Going<'a> {
    turn: TurnId,
    calls: &'a [String],
    results: &'a BTreeMap<&'a str, &'a PastResult>,
    session: &'a Session,
    tools: &'a Tools,
}

impl Going<'_> {
    async fn on(&self, records: &Records, saved: Arc<Saved>) -> Result<Arc<Saved>, Refusal> {
        if saved.is_complete() {
            return Ok(saved);
        }
        let answered = |asked: &Asked| self.results.contains_key(asked.id.as_str());
        let missing = saved
            .asked()
            .find(|asked| asked.waits() && !answered(asked));
        if let Some(asked) = missing {
            let known = self.calls.contains(&asked.id);
            let begun = saved.asked().any(|asked| asked.waits() && answered(asked));
            if !known && !begun {
                // The client asks once more what it asked before this call was made.
                return Ok(saved);
            }
            let message = format!("the call `{}` of `{}` has no result", asked.id, asked.name);
            return Err(Refusal::invalid(message).coded("missing_result"));
        }
        let mut next = Saved::clone(&saved);
        let mut works = Vec::new();
        for (place, call) in next.calls.iter_mut().enumerate() {
            let Some(work) = call.work.take().filter(|_| call.result.is_none()) else {
                continue;
            };
            works.push((
                place,
                self.session.restore(work).map_err(|error| lost(&error))?,
            ));
        }
        // Nothing has run until here, so nothing is lost when something does not fit.
        for (place, pending) in works {
            let answers = self.answers(&mut next.calls[place]);
            let reply = self.session.resume(pending, answers).await;
            let reply = reply.map_err(|(error, _)| unfit(&error))?;
            self.take(&mut next, place, reply);
        }
        let next = Arc::new(next);
        records.put(self.turn, &next).await?;
        Ok(next)
    }

    /// The client's answers to calls that wait, marked as answered.
    fn answers(&self, call: &mut SavedCall) -> Vec<ClientAnswer> {
        let mut answers = Vec::new();
        for asked in call.asked.iter_mut().filter(|asked| asked.waits()) {
            let result = self.results.get(asked.id.as_str());
            if let (Some(handle), Some(result)) = (&asked.handle, result) {
                asked.answered = Some(digest(&result.outcome));
                answers.push(ClientAnswer::new(handle.as_str(), result.outcome.clone()));
            }
        }
        answers
    }

    fn take(&self, saved: &mut Saved, place: usize, reply: Reply) {
        match reply {
            Reply::Done(rendered) => {
                let call = &mut saved.calls[place];
                let read = toolsearch_mode::render::fenced(&rendered);
                call.result = Some(SavedResult::from(&read));
                call.work = None;
            }
            Reply::Pending(pending) => {
                ask(saved, place, self.turn, &pending, self.session, self.tools);
            }
        }
    }
}

/// Puts work aside: the client is asked for every call that it waits for.
pub(crate) fn ask(
    saved: &mut Saved,
    place: usize,
    turn: TurnId,
    pending: &Pending,
    session: &Session,
    tools: &Tools,
) {
    for call in pending.calls() {
        let offered = tools.offered(&call.tool.id);
        let own = saved.calls[place].id.clone();
        let asked = Asked {
            id: saved.next_id(turn, &own),
            handle: Some(call.handle),
            name: call.tool.name.clone(),
            namespace: offered.and_then(|offered| offered.namespace.clone()),
            form: offered
                .map_or(CallForm::Function, |offered| offered.form)
                .word()
                .to_owned(),
            args: call.args,
            answered: None,
        };
        saved.calls[place].asked.push(asked);
    }
    saved.calls[place].work = Some(session.save(pending));
}

impl SavedCall {
    /// The call as far as its result needs it.
    fn call(&self) -> Call {
        let mut call = Call::new(self.id.as_str(), "", Arguments::read(None));
        call.form = CallForm::from_word(&self.form);
        call
    }

    /// What the model reads. A client that cut a result in its history, to make room, means that; what
    /// a program made of results stays.
    fn reads(&self, results: &BTreeMap<&str, &PastResult>) -> Rendered {
        if !self.program
            && let [asked] = self.asked.as_slice()
            && let Some(now) = results.get(asked.id.as_str())
            && asked.answered.as_ref() != Some(&digest(&now.outcome))
        {
            let mut rendered = Rendered::default();
            rendered.content.clone_from(&now.outcome.content);
            rendered.is_error = now.outcome.is_error;
            return rendered;
        }
        match &self.result {
            Some(result) => result.rendered(),
            None => Rendered::error("The call has no result."),
        }
    }
}

fn digest(outcome: &Outcome) -> String {
    let text = outcome.to_result_json().to_string();
    HEXLOWER.encode(&Sha256::digest(text.as_bytes())[..16])
}

fn lost(error: &RestoreError) -> Refusal {
    let message = match error {
        RestoreError::Gone(tool) => format!(
            "the turn cannot go on: `{tool}` is not among the tools any more, or no longer allowed; \
             send the same tools again"
        ),
        other => format!("the turn cannot go on: {other}"),
    };
    Refusal::invalid(message).coded("unknown_continuation")
}

fn unfit(error: &ResumeError) -> Refusal {
    Refusal::invalid(format!("the turn cannot go on: {error}")).coded("missing_result")
}
