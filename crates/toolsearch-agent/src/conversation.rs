//! What was said so far.

use crate::model::{Message, ModelRequest};

/// A conversation that goes on: messages of the user, turns of the model, answers to its calls. It
/// belongs to the session that its calls were made in.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// The messages, and what else the latest turn was asked with.
    pub(crate) request: ModelRequest,
    pub(crate) bytes: usize,
}

impl Conversation {
    /// A conversation that has not begun.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Everything that was said, in its order.
    #[must_use]
    pub fn messages(&self) -> &[Message] {
        &self.request.messages
    }

    pub(crate) fn push(&mut self, message: Message) {
        self.bytes += message.bytes();
        self.request.messages.push(message);
    }

    /// Takes back what came after `length` messages: a turn that failed leaves no call unanswered.
    pub(crate) fn truncate(&mut self, length: usize) {
        self.request.messages.truncate(length);
        self.bytes = self.messages().iter().map(Message::bytes).sum();
    }
}
