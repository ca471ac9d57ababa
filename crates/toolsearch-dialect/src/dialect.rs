//! The three dialects and what can be asked of them. Each operation is a `match` over modules of the
//! same shape.

use serde_json::{Value, json};
use toolsearch_mode::{Rendered, SurfaceTool};

use crate::answer;
use crate::call::Call;
use crate::offer::{Native, Offer};
use crate::refusal::Refusal;
use crate::request::{self, Edit, Past};
use crate::turn::{Turn, Unreadable};

/// The wire form of a provider.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(
    clippy::exhaustive_enums,
    reason = "whoever speaks them must speak all of them"
)]
pub enum Dialect {
    /// OpenAI Chat Completions, as many others serve it.
    OpenAiChat,
    /// OpenAI Responses.
    OpenAiResponses,
    /// Anthropic Messages.
    AnthropicMessages,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [
        Self::OpenAiChat,
        Self::OpenAiResponses,
        Self::AnthropicMessages,
    ];

    /// The word of the configuration.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OpenAiChat => "openai-chat",
            Self::OpenAiResponses => "openai-responses",
            Self::AnthropicMessages => "anthropic-messages",
        }
    }

    /// The path below the base address of an API.
    #[must_use]
    pub const fn path(self) -> &'static [&'static str] {
        match self {
            Self::OpenAiChat => &["chat", "completions"],
            Self::OpenAiResponses => &["responses"],
            Self::AnthropicMessages => &["messages"],
        }
    }

    /// The field that holds the conversation.
    #[must_use]
    pub const fn history_field(self) -> &'static str {
        match self {
            Self::OpenAiChat | Self::AnthropicMessages => "messages",
            Self::OpenAiResponses => "input",
        }
    }

    /// Longest name of a declared tool, in characters of `A-Z a-z 0-9 _ -`.
    #[must_use]
    pub const fn name_chars(self) -> usize {
        match self {
            Self::OpenAiChat | Self::OpenAiResponses => 64,
            Self::AnthropicMessages => 128,
        }
    }

    /// Checks what every further step relies on: an object with a conversation in it.
    ///
    /// # Errors
    /// [`Refusal`] that names the field.
    pub fn check(self, body: &Value) -> Result<(), Refusal> {
        request::check(self, body)
    }

    /// Whether a request brings tools, in its list or in its history.
    #[must_use]
    pub fn has_tools(self, body: &Value) -> bool {
        let listed = |list: Option<&Value>| {
            list.and_then(Value::as_array)
                .is_some_and(|list| !list.is_empty())
        };
        listed(body.get("tools"))
            || self == Self::OpenAiResponses && request::responses::brings_tools(body)
    }

    /// The model that a request names.
    #[must_use]
    pub fn model(self, body: &Value) -> Option<&str> {
        body.get("model").and_then(Value::as_str)
    }

    /// Whether the answer is to be a stream.
    #[must_use]
    pub fn streams(self, body: &Value) -> bool {
        body.get("stream").and_then(Value::as_bool) == Some(true)
    }

    /// The first words of the user.
    #[must_use]
    pub fn first_user_text(self, body: &Value) -> Option<String> {
        request::first_user_text(self, body)
    }

    /// The tools that a request offers. The request stays as it is.
    ///
    /// # Errors
    /// [`Refusal`] for entries without a name, names that the provider would refuse, and two tools of
    /// one name.
    pub fn offer(self, body: &Value, native: Native) -> Result<Offer, Refusal> {
        match self {
            Self::OpenAiChat => request::chat::offer(body),
            Self::OpenAiResponses => request::responses::offer(body, native),
            Self::AnthropicMessages => request::messages::offer(body, native),
        }
    }

    /// A tool of a surface as this dialect declares it.
    #[must_use]
    pub fn declaration(self, tool: &SurfaceTool) -> Value {
        let SurfaceTool {
            name,
            description,
            input_schema,
            ..
        } = tool;
        match self {
            Self::OpenAiChat => json!({
                "type": "function",
                "function": {
                    "name": name,
                    "description": description,
                    "parameters": input_schema,
                },
            }),
            // Without `strict` the provider would try to make the schema strict, and so another one.
            Self::OpenAiResponses => json!({
                "type": "function",
                "name": name,
                "description": description,
                "parameters": input_schema,
                "strict": false,
            }),
            Self::AnthropicMessages => json!({
                "name": name,
                "description": description,
                "input_schema": input_schema,
            }),
        }
    }

    /// A declaration under another name.
    #[must_use]
    pub fn renamed(self, mut declaration: Value, name: &str) -> Value {
        let inner = ["function", "custom"]
            .into_iter()
            .find(|kind| self == Self::OpenAiChat && declaration.get(kind).is_some());
        let place = match inner {
            Some(kind) => declaration.get_mut(kind),
            None => Some(&mut declaration),
        };
        if let Some(place) = place {
            crate::parts::set(place, "name", Value::from(name));
        }
        declaration
    }

    /// An answer that says nothing and used nothing, for handing out calls when no model was asked.
    #[must_use]
    pub fn blank(self, id: &str, model: &str, created: u64) -> Value {
        answer::blank(self, id, model, created)
    }

    /// Puts declarations in the place of a request's tools; none takes the field out.
    pub fn declare(self, body: &mut Value, tools: Vec<Value>) {
        request::declare(body, tools);
    }

    /// Lets the model answer in words where the request demands a call of any tool: once one was made, the
    /// demand is met.
    pub fn relax_choice(self, body: &mut Value) {
        request::relax_choice(self, body);
    }

    /// Adds text to the system prompt, behind what is there.
    pub fn add_prompt(self, body: &mut Value, text: &str) {
        request::add_prompt(self, body, text);
    }

    /// Translates what only a provider's own deferred loading understands, in the history of a request
    /// whose tools were taken out with [`Native::Replaced`]; and takes tools out that were offered by
    /// the history.
    pub fn settle_history(self, body: &mut Value, native: Native) {
        match self {
            Self::OpenAiChat => {}
            Self::OpenAiResponses => request::responses::settle_history(body, native),
            Self::AnthropicMessages => request::messages::settle_history(body, native),
        }
    }

    /// The calls and results that stand in the history.
    #[must_use]
    pub fn past(self, body: &Value) -> Past {
        request::past(self, body)
    }

    /// Puts other entries in the place of calls and their results.
    pub fn splice(self, body: &mut Value, edits: &[Edit]) {
        request::splice(self, body, edits);
    }

    /// Adds entries to the end of the history. A text in its place becomes the entry that it stands for.
    pub fn append(self, body: &mut Value, entries: Vec<Value>) {
        request::append(self, body, entries);
    }

    /// The entries of the history that hold the results of calls, in their order.
    #[must_use]
    pub fn results(self, results: &[(Call, Rendered)]) -> Vec<Value> {
        match self {
            Self::OpenAiChat => request::chat::results(results),
            Self::OpenAiResponses => request::responses::results(results),
            Self::AnthropicMessages => request::messages::results(results),
        }
    }

    /// The entry for a result as its client wrote it ([`PastResult::raw`](crate::PastResult::raw)), under
    /// another id.
    #[must_use]
    pub fn result_as_sent(self, raw: &Value, id: &str) -> Value {
        let mut entry = raw.clone();
        let name = match self {
            Self::OpenAiChat => "tool_call_id",
            Self::OpenAiResponses => "call_id",
            Self::AnthropicMessages => "tool_use_id",
        };
        crate::parts::set(&mut entry, name, Value::from(id));
        match self {
            Self::AnthropicMessages => json!({"role": "user", "content": [entry]}),
            _ => entry,
        }
    }

    /// Reads an answer. Missing or doubled ids of calls are filled in, and arguments that are no JSON
    /// are emptied, in the answer itself, so that it can stand in a history.
    ///
    /// # Errors
    /// [`Unreadable`] when it is not what the protocol says.
    pub fn read(self, answer: &mut Value) -> Result<Turn, Unreadable> {
        match self {
            Self::OpenAiChat => answer::chat::read(answer),
            Self::OpenAiResponses => answer::responses::read(answer),
            Self::AnthropicMessages => answer::messages::read(answer),
        }
    }

    /// The entries that an answer adds to the history.
    #[must_use]
    pub fn entries(self, answer: &Value) -> Vec<Value> {
        match self {
            Self::OpenAiChat => answer::chat::entries(answer),
            Self::OpenAiResponses => answer::responses::entries(answer),
            Self::AnthropicMessages => answer::messages::entries(answer),
        }
    }

    /// One answer out of the turns of a request, oldest first: the last one, with the words of all,
    /// the sum of what they used, and only these calls.
    ///
    /// # Errors
    /// [`Unreadable`] when there is no turn.
    pub fn compose(self, turns: &[Value], calls: &[Call]) -> Result<Value, Unreadable> {
        answer::compose(self, turns, calls)
    }

    /// What the client is handed of an answer as entries of its history: for telling them later.
    #[must_use]
    pub fn visible(self, composed: &Value) -> Vec<Value> {
        self.entries(composed)
    }

    /// The usage of an answer.
    #[must_use]
    pub fn usage(self, answer: &Value) -> Value {
        answer.get("usage").cloned().unwrap_or_default()
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl std::str::FromStr for Dialect {
    type Err = UnknownDialect;

    fn from_str(word: &str) -> Result<Self, UnknownDialect> {
        let found = Self::ALL.into_iter().find(|dialect| dialect.name() == word);
        found.ok_or_else(|| UnknownDialect(word.to_owned()))
    }
}

/// A word that names no dialect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no dialect; known are openai-chat, openai-responses and anthropic-messages")]
pub struct UnknownDialect(pub String);
