//! What a client can be asked, and asking it: by a request of this side since there is a handshake, in
//! the answer to its own request where there is none ([`crate::rounds`]).

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use rmcp::model::{ClientCapabilities, ClientResult, CustomRequest, CustomResult, ServerRequest};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use serde_json::{Map, Value, json};

/// A kind of question that a client may declare that it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ClientCapability {
    /// `elicitation/create`, as a form: something that only a person knows or may decide.
    Elicitation,
    /// `sampling/createMessage`: a completion by the client's model.
    Sampling,
    /// `roots/list`: the folders that the client works in.
    Roots,
}

impl ClientCapability {
    /// The method of the protocol.
    #[must_use]
    pub const fn method(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation/create",
            Self::Sampling => "sampling/createMessage",
            Self::Roots => "roots/list",
        }
    }

    /// The key under which a client declares it.
    const fn name(self) -> &'static str {
        match self {
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
            Self::Roots => "roots",
        }
    }
}

/// What a client declared. One that can be sent addresses only cannot be shown a form.
pub(crate) fn declared(capabilities: Option<&ClientCapabilities>) -> BTreeSet<ClientCapability> {
    let Some(all) = capabilities else {
        return BTreeSet::new();
    };
    let forms = all
        .elicitation
        .as_ref()
        .is_some_and(|how| how.form.is_some() || how.url.is_none());
    let elicitation = forms.then_some(ClientCapability::Elicitation);
    let sampling = all.sampling.as_ref().map(|_| ClientCapability::Sampling);
    let roots = all.roots.as_ref().map(|_| ClientCapability::Roots);
    [elicitation, sampling, roots]
        .into_iter()
        .flatten()
        .collect()
}

/// Capabilities as a client declares them.
pub(crate) fn as_declared(capabilities: &BTreeSet<ClientCapability>) -> Value {
    let keys = capabilities
        .iter()
        .map(|one| (one.name().to_owned(), json!({})));
    Value::Object(keys.collect::<Map<String, Value>>())
}

/// One question.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) kind: ClientCapability,
    pub(crate) params: Value,
    /// What whoever asks calls it, where questions have names.
    pub(crate) name: Option<String>,
    /// Whether an answer counts that the client gave before it was asked.
    pub(crate) in_advance: bool,
    /// How long an answer is waited for.
    pub(crate) patience: Duration,
}

/// Asks one client and waits for its answer.
#[async_trait]
pub(crate) trait Ask: fmt::Debug + Send + Sync {
    async fn ask(&self, question: Question) -> Result<Value, Unasked>;

    /// A server could not do what it was asked because the client did not declare this.
    fn lacks(&self, _: ClientCapability) {}
}

/// Why there is no answer.
#[derive(Debug)]
pub(crate) enum Unasked {
    TimedOut,
    Failed(String),
}

#[async_trait]
impl Ask for Peer<RoleServer> {
    async fn ask(&self, question: Question) -> Result<Value, Unasked> {
        let request = CustomRequest::new(question.kind.method(), Some(question.params));
        let request = ServerRequest::CustomRequest(request);
        let options = PeerRequestOptions::with_timeout(question.patience);
        let asked = async {
            let handle = self.send_cancellable_request(request, options).await?;
            handle.await_response().await
        };
        match asked.await {
            Ok(ClientResult::CustomResult(CustomResult(answer))) => Ok(answer),
            Ok(other) => {
                serde_json::to_value(other).map_err(|error| Unasked::Failed(error.to_string()))
            }
            Err(ServiceError::Timeout { .. }) => Err(Unasked::TimedOut),
            Err(error) => Err(Unasked::Failed(error.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_asked_what_it_declared() {
        for (capabilities, expected) in [
            (json!({}), json!({})),
            (json!({ "elicitation": {} }), json!({ "elicitation": {} })),
            (
                json!({ "elicitation": { "form": {}, "url": {} }, "sampling": {} }),
                json!({ "elicitation": {}, "sampling": {} }),
            ),
            (json!({ "elicitation": { "url": {} } }), json!({})),
            (
                json!({ "roots": { "listChanged": true } }),
                json!({ "roots": {} }),
            ),
        ] {
            let read: ClientCapabilities = serde_json::from_value(capabilities).unwrap();
            assert_eq!(as_declared(&declared(Some(&read))), expected);
        }
        assert!(declared(None).is_empty());
    }
}
