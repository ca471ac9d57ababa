//! Streams: one stream to the client out of the streams of several turns. Words pass as they come,
//! calls are held back, and at the end of a turn its answer is there as if it had come whole.

mod chat;
mod fragments;
mod messages;
mod responses;

use serde_json::{Map, Value};

use crate::call::Call;
use crate::dialect::Dialect;
use crate::refusal::Refusal;
use crate::sse::SseEvent;

/// Most bytes of one turn that are put together.
pub(crate) const MAX_TURN_BYTES: usize = 32 * 1024 * 1024;

/// Why a stream cannot go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StreamFault {
    /// More than is taken.
    #[error("the provider's stream holds too much in one piece")]
    TooLarge,
    /// An event that is not what the protocol says.
    #[error("the provider's stream cannot be read: {0}")]
    Unreadable(String),
    /// The provider says that it failed; the event is fit to be passed on.
    #[error("the provider failed: {message}")]
    Failed {
        /// What it says.
        message: String,
        /// Its own event.
        event: Box<SseEvent>,
    },
    /// The stream ended in the middle of a turn.
    #[error("the provider's stream ended early")]
    Incomplete,
}

/// One stream for a client.
#[derive(Debug)]
pub struct Relay {
    state: State,
}

#[derive(Debug)]
enum State {
    Chat(Box<chat::Stream>),
    Responses(Box<responses::Stream>),
    Messages(Box<messages::Stream>),
}

impl Relay {
    /// A stream that has not begun.
    #[must_use]
    pub fn new(dialect: Dialect) -> Self {
        let state = match dialect {
            Dialect::OpenAiChat => State::Chat(Box::default()),
            Dialect::OpenAiResponses => State::Responses(Box::default()),
            Dialect::AnthropicMessages => State::Messages(Box::default()),
        };
        Self { state }
    }

    /// Fields that every response object of the stream is given in place of the provider's own, such as
    /// its id and the tools that the client sent. Responses only; the others repeat nothing.
    #[must_use]
    pub fn with_echo(mut self, fields: Map<String, Value>) -> Self {
        if let State::Responses(stream) = &mut self.state {
            stream.echo = fields;
        }
        self
    }

    /// Begins the stream with an answer of [`Dialect::blank`], where no model was asked.
    pub fn begin(&mut self, blank: &Value) -> Vec<SseEvent> {
        match &mut self.state {
            State::Chat(stream) => stream.begin(blank),
            State::Responses(stream) => stream.begin(blank),
            State::Messages(stream) => stream.begin(blank),
        }
    }

    /// Takes an event of the provider; gives what the client is sent at once.
    ///
    /// # Errors
    /// [`StreamFault`]; nothing more can be read then.
    pub fn event(&mut self, event: &SseEvent) -> Result<Vec<SseEvent>, StreamFault> {
        match &mut self.state {
            State::Chat(stream) => stream.event(event),
            State::Responses(stream) => stream.event(event),
            State::Messages(stream) => stream.event(event),
        }
    }

    /// Whether the turn has come to its end.
    #[must_use]
    pub fn ended(&self) -> bool {
        match &self.state {
            State::Chat(stream) => stream.ended(),
            State::Responses(stream) => stream.ended(),
            State::Messages(stream) => stream.ended(),
        }
    }

    /// The answer of the turn that ended; the next one may begin.
    ///
    /// # Errors
    /// [`StreamFault::Incomplete`] when it has not ended.
    pub fn turn(&mut self) -> Result<Value, StreamFault> {
        match &mut self.state {
            State::Chat(stream) => stream.turn(),
            State::Responses(stream) => stream.turn(),
            State::Messages(stream) => stream.turn(),
        }
    }

    /// What is sent at the end: the calls of the composed answer, how it ended, what it used.
    pub fn finish(&mut self, composed: &Value, calls: &[Call]) -> Vec<SseEvent> {
        match &mut self.state {
            State::Chat(stream) => stream.finish(composed, calls),
            State::Responses(stream) => stream.finish(composed, calls),
            State::Messages(stream) => stream.finish(composed, calls),
        }
    }

    /// Ends the stream with a refusal in its dialect's shape.
    #[must_use]
    pub fn refuse(&self, refusal: &Refusal) -> Vec<SseEvent> {
        match &self.state {
            State::Chat(_) => {
                let body = refusal.to_json(Dialect::OpenAiChat);
                vec![SseEvent::data(body.to_string())]
            }
            State::Responses(stream) => stream.refuse(refusal),
            State::Messages(_) => {
                let body = refusal.to_json(Dialect::AnthropicMessages);
                vec![SseEvent::named("error", body.to_string())]
            }
        }
    }
}

fn parse(event: &SseEvent) -> Result<Value, StreamFault> {
    serde_json::from_str(&event.data).map_err(|error| StreamFault::Unreadable(error.to_string()))
}

/// The provider's own words about its failure.
fn failed(value: &Value, event: &SseEvent) -> StreamFault {
    let said = [
        "/error/message",
        "/response/error/message",
        "/message",
        "/error",
    ]
    .iter()
    .find_map(|place| value.pointer(place)?.as_str());
    StreamFault::Failed {
        message: said.unwrap_or("it does not say why").to_owned(),
        event: Box::new(event.clone()),
    }
}

/// Counts what a turn holds.
#[derive(Debug, Default)]
struct Budget(usize);

impl Budget {
    fn take(&mut self, event: &SseEvent) -> Result<(), StreamFault> {
        self.0 += event.data.len();
        if self.0 > MAX_TURN_BYTES {
            return Err(StreamFault::TooLarge);
        }
        Ok(())
    }
}
