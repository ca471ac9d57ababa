//! The loop: ask, run what is called, answer, ask again.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use tokio::time::timeout;
use toolsearch::mode::SurfaceTool;
use toolsearch::runtime::Session;

use crate::calls::{self, Answered};
use crate::client::ClientTools;
use crate::model::{Message, Model, ModelRequest, ModelTurn, ToolSpec};
use crate::report::{AgentReport, CallReport, End, Limit, Observer, RequestReport, Step};

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
}

impl Default for Limits {
    /// 50 turns, 200 calls, ten minutes, 4 MiB.
    fn default() -> Self {
        Self {
            turns: 50,
            calls: 200,
            time: Duration::from_secs(600),
            conversation_bytes: 4 * 1024 * 1024,
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
        let mut report = AgentReport::default();
        let turns = self.turns(user_message, &mut report);
        let end = timeout(self.limits.time, turns).await;
        report.end = end.unwrap_or(End::Limit(Limit::Time));
        report
    }

    async fn turns(&self, user_message: &str, report: &mut AgentReport) -> End {
        let mut request = ModelRequest {
            system: self.system(),
            messages: vec![Message::User(user_message.to_owned())],
            tools: self.session.surface().tools.iter().map(declared).collect(),
        };
        let mut bytes = request.system.len() + user_message.len();
        for number in 1..=self.limits.turns {
            if bytes > self.limits.conversation_bytes {
                return End::Limit(Limit::Conversation);
            }
            self.tell(&Step::Asked { turn: number });
            let turn = match self.model.complete(&request).await {
                Ok(turn) => turn,
                Err(error) => return End::Failed(error),
            };
            report.turns = number;
            report.requests.push(sizes(&request, &turn));
            report.answer.clone_from(&turn.text);
            if turn.calls.is_empty() {
                return if turn.cut { End::CutOff } else { End::Answered };
            }
            if report.calls.len() + turn.calls.len() > self.limits.calls {
                return End::Limit(Limit::Calls);
            }
            if !turn.text.is_empty() {
                self.tell(&Step::Said { text: &turn.text });
            }
            let answers = join_all(turn.calls.iter().map(|call| calls::run(self, call))).await;
            bytes += record(turn, answers, number, &mut request.messages, report);
        }
        End::Limit(Limit::Turns)
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

fn declared(tool: &SurfaceTool) -> ToolSpec {
    ToolSpec::new(
        tool.name.as_str(),
        tool.description.as_str(),
        tool.input_schema.clone(),
    )
}

fn sizes(request: &ModelRequest, turn: &ModelTurn) -> RequestReport {
    RequestReport {
        tools: request.tools.len(),
        tool_bytes: turn.sent.tool_bytes,
        prompt_bytes: request.system.len(),
        payload_bytes: turn.sent.payload_bytes,
    }
}

/// Puts a turn and its answers into the conversation; tells by how many bytes it grew.
fn record(
    turn: ModelTurn,
    answers: Vec<Answered>,
    number: usize,
    messages: &mut Vec<Message>,
    report: &mut AgentReport,
) -> usize {
    let calls = turn.calls.clone();
    let mut bytes = turn.text.len();
    messages.push(Message::Assistant(turn));
    for (call, answered) in calls.into_iter().zip(answers) {
        report.calls.push(CallReport {
            turn: number,
            name: call.name.clone(),
            ok: answered.ok,
            answer_bytes: answered.text.len(),
        });
        bytes += answered.text.len() + arguments_bytes(&call.arguments);
        messages.push(Message::Tool {
            call: call.id,
            text: answered.text,
        });
    }
    bytes
}

fn arguments_bytes(arguments: &crate::model::Arguments) -> usize {
    match arguments {
        crate::model::Arguments::Object(object) => {
            serde_json::to_string(object).map_or(0, |text| text.len())
        }
        crate::model::Arguments::Unreadable { .. } => 2,
    }
}
