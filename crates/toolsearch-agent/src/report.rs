//! What a run came to, and what is told while it goes on.

use std::fmt;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::{ModelError, Used};

/// A number that ended a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// Turns of the model.
    Turns,
    /// Calls of tools.
    Calls,
    /// Time.
    Time,
    /// Bytes of the conversation.
    Conversation,
    /// Tokens as the provider counts them.
    Tokens,
}

impl Limit {
    /// A stable word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Turns => "turns",
            Self::Calls => "calls",
            Self::Time => "time",
            Self::Conversation => "conversation",
            Self::Tokens => "tokens",
        }
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// The model answered.
    Answered,
    /// The model's answer was cut off on its side.
    CutOff,
    /// A limit of the run was reached first.
    Limit(Limit),
    /// The model could not be asked.
    Failed(ModelError),
}

impl End {
    /// A stable word: `answered`, `cut_off`, `limit`, `failed`.
    #[must_use]
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::CutOff => "cut_off",
            Self::Limit(_) => "limit",
            Self::Failed(_) => "failed",
        }
    }

    /// What kept the model from answering, in words.
    #[must_use]
    pub fn trouble(&self) -> Option<String> {
        match self {
            Self::Answered => None,
            Self::CutOff => Some("the model's answer was cut off by its own limit".to_owned()),
            Self::Limit(limit) => Some(match limit {
                Limit::Turns => "the model took as many turns as it may".to_owned(),
                Limit::Calls => "the model called as many tools as it may".to_owned(),
                Limit::Time => "the time for the run is over".to_owned(),
                Limit::Conversation => "the conversation became too long".to_owned(),
                Limit::Tokens => "the model used as many tokens as it may".to_owned(),
            }),
            Self::Failed(error) => Some(error.to_string()),
        }
    }
}

/// How much one request sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestReport {
    /// Declared tools.
    pub tools: usize,
    /// Bytes of those in the wire form.
    pub tool_bytes: usize,
    /// Bytes of the system prompt.
    pub prompt_bytes: usize,
    /// Bytes of the whole payload.
    pub payload_bytes: usize,
}

/// One call that the model made.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallReport {
    /// The turn that made it, from 1.
    pub turn: usize,
    /// The name that the model called.
    pub name: String,
    /// Whether it went well.
    pub ok: bool,
    /// Bytes of text that the model got back.
    pub answer_bytes: usize,
}

/// What a run came to.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AgentReport {
    /// The model's last words.
    pub answer: String,
    /// Why there are no more.
    pub end: End,
    /// Turns of the model.
    pub turns: usize,
    /// One entry a turn.
    pub requests: Vec<RequestReport>,
    /// Every call in order.
    pub calls: Vec<CallReport>,
    /// Tokens of all turns, as the provider counts them.
    pub used: Used,
    /// How often a request was sent again.
    pub retries: usize,
}

impl Default for AgentReport {
    fn default() -> Self {
        Self {
            answer: String::new(),
            end: End::Answered,
            turns: 0,
            requests: Vec::new(),
            calls: Vec::new(),
            used: Used::default(),
            retries: 0,
        }
    }
}

impl AgentReport {
    /// The report as JSON, as `toolsearch agent --json` prints it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let request = |one: &RequestReport| {
            json!({
                "tools": one.tools,
                "toolBytes": one.tool_bytes,
                "promptBytes": one.prompt_bytes,
                "payloadBytes": one.payload_bytes,
            })
        };
        let call = |one: &CallReport| {
            json!({
                "turn": one.turn,
                "name": one.name,
                "ok": one.ok,
                "answerBytes": one.answer_bytes,
            })
        };
        let mut report = json!({
            "answer": self.answer,
            "end": self.end.as_str(),
            "turns": self.turns,
            "requests": self.requests.iter().map(request).collect::<Value>(),
            "calls": self.calls.iter().map(call).collect::<Value>(),
            "usage": { "inputTokens": self.used.input, "outputTokens": self.used.output },
            "retries": self.retries,
        });
        if let End::Limit(limit) = self.end {
            report["limit"] = json!(limit.as_str());
        }
        if let Some(trouble) = self.end.trouble() {
            report["error"] = json!({ "message": trouble });
        }
        report
    }
}

/// One thing that happens in a run.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Step<'a> {
    /// The model is asked; `turn` counts from 1.
    Asked {
        /// The turn.
        turn: usize,
    },
    /// The model is asked again after a while.
    Retrying {
        /// How long that is.
        after: Duration,
        /// Why.
        error: &'a ModelError,
    },
    /// A piece of what the model says, while it comes.
    Words {
        /// The piece.
        piece: &'a str,
    },
    /// The model says something beside its calls.
    Said {
        /// Its words.
        text: &'a str,
    },
    /// A call begins.
    Calling {
        /// The name that the model called.
        name: &'a str,
    },
    /// A call ended.
    Called {
        /// The name that the model called.
        name: &'a str,
        /// Whether it went well.
        ok: bool,
        /// Bytes of text that the model gets back.
        answer_bytes: usize,
    },
    /// The client runs a tool of its own.
    Client {
        /// The client's name for it.
        name: &'a str,
    },
}

impl Step<'_> {
    /// The step as an event, as `toolsearch agent --json` prints it.
    #[must_use]
    pub fn to_json(&self) -> Value {
        match self {
            Self::Asked { turn } => json!({ "event": "asked", "turn": turn }),
            Self::Retrying { after, error } => json!({
                "event": "retrying", "error": error.to_string(),
                "afterMs": u64::try_from(after.as_millis()).unwrap_or(u64::MAX),
            }),
            Self::Words { piece } => json!({ "event": "words", "text": piece }),
            Self::Said { text } => json!({ "event": "said", "text": text }),
            Self::Calling { name } => json!({ "event": "calling", "name": name }),
            Self::Called {
                name,
                ok,
                answer_bytes,
            } => json!({
                "event": "called", "name": name, "ok": ok, "answerBytes": answer_bytes,
            }),
            Self::Client { name } => json!({ "event": "client", "name": name }),
        }
    }
}

/// Sees what happens in a run. Must not block.
pub trait Observer: fmt::Debug + Send + Sync {
    /// One step.
    fn step(&self, step: &Step<'_>);

    /// Whether [`Step::Words`] are wanted: answers are asked for as streams then.
    fn wants_words(&self) -> bool {
        false
    }
}
