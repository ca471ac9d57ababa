//! The loop: ask, run what is called, answer, ask again.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::{sleep, timeout};
use toolsearch::mode::Rendered;
use toolsearch::runtime::Session;
use toolsearch_dialect::Call;

use crate::calls;
use crate::client::ClientTools;
use crate::conversation::Conversation;
use crate::model::{Message, Model, ModelError, ModelRequest, ModelTurn, Words, size};
use crate::report::{AgentReport, CallReport, End, Limit, Observer, RequestReport, Step};
use crate::retry;

/// What one run may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Turns of the model.
    pub turns: usize,
    /// Calls of tools over all turns.
    pub calls: usize,
    /// Time from the beginning to the end.
    pub time: Duration,
    /// Bytes of all messages together.
    pub conversation_bytes: usize,
    /// Tokens of all turns, as the provider counts them. It is looked at between turns, so the last one
    /// may go beyond it.
    pub tokens: u64,
    /// How often a provider in passing trouble is asked again, per turn.
    pub retries: usize,
}

impl Default for Limits {
    /// 50 turns, 200 calls, ten minutes, 4 MiB, any number of tokens, 4 repetitions.
    fn default() -> Self {
        Self {
            turns: 50,
            calls: 200,
            time: Duration::from_secs(600),
            conversation_bytes: 4 * 1024 * 1024,
            tokens: u64::MAX,
            retries: 4,
        }
    }
}

/// A model with a session's tools.
#[derive(Debug, Clone)]
pub struct Agent {
    session: Session,
    model: Arc<dyn Model>,
    client: Option<Arc<dyn ClientTools>>,
    observer: Option<Arc<dyn Observer>>,
    instructions: String,
    limits: Limits,
}

impl Agent {
    /// A model with the tools of a session.
    #[must_use]
    pub fn new(session: Session, model: Arc<dyn Model>) -> Self {
        Self {
            session,
            model,
            client: None,
            observer: None,
            instructions: String::new(),
            limits: Limits::default(),
        }
    }

    /// Who runs the client tools that the session was opened with. Without it, their calls fail.
    #[must_use]
    pub fn with_client_tools(mut self, client: Arc<dyn ClientTools>) -> Self {
        self.client = Some(client);
        self
    }

    /// Who is told what happens.
    #[must_use]
    pub fn with_observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// A system prompt of the caller's own; the session's text follows it.
    #[must_use]
    pub fn with_instructions(mut self, instructions: impl Into<String>) -> Self {
        self.instructions = instructions.into();
        self
    }

    /// Other limits than the defaults.
    #[must_use]
    pub const fn with_limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Answers one message of the user. The report tells how it ended in every case; dropping the
    /// future cancels what is running.
    pub async fn run(&self, user_message: &str) -> AgentReport {
        self.say(&mut Conversation::new(), user_message).await
    }

    /// Answers one more message of a conversation. When the run ends without an answer, the conversation
    /// keeps what was finished and can go on; a turn whose calls were not answered is taken back.
    pub async fn say(&self, conversation: &mut Conversation, user_message: &str) -> AgentReport {
        let mut report = AgentReport::default();
        conversation.push(Message::User(user_message.to_owned()));
        let turns = self.turns(conversation, &mut report);
        let end = timeout(self.limits.time, turns).await;
        report.end = end.unwrap_or(End::Limit(Limit::Time));
        let unanswered = |message: &Message| match message {
            Message::Assistant(turn) => !turn.calls.is_empty(),
            _ => false,
        };
        if conversation.messages().last().is_some_and(unanswered) {
            conversation.truncate(conversation.messages().len() - 1);
        }
        report
    }

    async fn turns(&self, conversation: &mut Conversation, report: &mut AgentReport) -> End {
        conversation.request.system = self.system();
        conversation
            .request
            .tools
            .clone_from(&self.session.surface().tools);
        for number in 1..=self.limits.turns {
            if conversation.request.system.len() + conversation.bytes
                > self.limits.conversation_bytes
            {
                return End::Limit(Limit::Conversation);
            }
            if report.used.all() >= self.limits.tokens {
                return End::Limit(Limit::Tokens);
            }
            self.tell(&Step::Asked { turn: number });
            let turn = match self.ask(&conversation.request, report).await {
                Ok(turn) => turn,
                Err(error) => return End::Failed(error),
            };
            report.turns = number;
            report.used.add(turn.used);
            report.requests.push(sizes(&conversation.request, &turn));
            report.answer.clone_from(&turn.text);
            let (calls, cut) = (turn.calls.clone(), turn.cut);
            if calls.is_empty() {
                conversation.push(Message::Assistant(turn));
                return if cut { End::CutOff } else { End::Answered };
            }
            if report.calls.len() + calls.len() > self.limits.calls {
                return End::Limit(Limit::Calls);
            }
            if !turn.text.is_empty() {
                self.tell(&Step::Said { text: &turn.text });
            }
            let answers = join_all(calls.iter().map(|call| calls::run(self, call))).await;
            conversation.push(Message::Assistant(turn));
            conversation.push(answered(calls, answers, number, report));
        }
        End::Limit(Limit::Turns)
    }

    /// One turn, asked for again while the trouble is one that passes.
    async fn ask(
        &self,
        request: &ModelRequest,
        report: &mut AgentReport,
    ) -> Result<ModelTurn, ModelError> {
        let listens = self.observer.as_ref().is_some_and(|one| one.wants_words());
        let words: Option<&dyn Words> = if listens { Some(self) } else { None };
        let mut repetition = 0;
        loop {
            let error = match self.model.complete(request, words).await {
                Ok(turn) => return Ok(turn),
                Err(error) => error,
            };
            repetition += 1;
            let Some(after) = retry::pause(&error, repetition, self.limits.retries) else {
                return Err(error);
            };
            let error = &error;
            self.tell(&Step::Retrying { after, error });
            report.retries += 1;
            sleep(after).await;
        }
    }

    fn system(&self) -> String {
        let prompt = &self.session.surface().prompt;
        match (self.instructions.as_str(), prompt.as_str()) {
            (own, "") => own.to_owned(),
            ("", prompt) => prompt.to_owned(),
            (own, prompt) => format!("{own}\n\n{prompt}"),
        }
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    pub(crate) const fn client(&self) -> Option<&Arc<dyn ClientTools>> {
        self.client.as_ref()
    }

    pub(crate) fn tell(&self, step: &Step<'_>) {
        if let Some(observer) = &self.observer {
            observer.step(step);
        }
    }
}

impl Words for Agent {
    fn words(&self, piece: &str) {
        self.tell(&Step::Words { piece });
    }
}

fn sizes(request: &ModelRequest, turn: &ModelTurn) -> RequestReport {
    RequestReport {
        tools: request.tools.len(),
        tool_bytes: turn.sent.tool_bytes,
        prompt_bytes: request.system.len(),
        payload_bytes: turn.sent.payload_bytes,
    }
}

/// The answers beside their calls, which are reported.
fn answered(
    calls: Vec<Call>,
    answers: Vec<Rendered>,
    turn: usize,
    report: &mut AgentReport,
) -> Message {
    for (call, answer) in calls.iter().zip(&answers) {
        report.calls.push(CallReport {
            turn,
            name: call.name.clone(),
            ok: !answer.is_error,
            answer_bytes: size(answer),
        });
    }
    Message::Results(calls.into_iter().zip(answers).collect())
}
