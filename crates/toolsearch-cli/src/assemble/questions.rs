//! Questions of servers, put to the clients whose calls they belong to.

use async_trait::async_trait;
use toolsearch::invoke::Caller;
use toolsearch_gateway::{ClientCapability, ClientName, Clients, NotAnswered, ServerQuestion};
use toolsearch_mcp::{Ask, AskKind, AskReply, ClientPeer};

/// Reaches the clients of the gateway.
#[derive(Debug)]
pub(super) struct Questions(pub(super) Clients);

#[async_trait]
impl ClientPeer for Questions {
    /// A connection serves all clients. Most have no model to lend, and none has its folders where
    /// the servers are, so only people are offered to be asked.
    fn offers(&self) -> Vec<AskKind> {
        vec![AskKind::Elicitation]
    }

    /// With one call, whatever its own client declared.
    fn offers_for(&self, caller: &Caller) -> Vec<AskKind> {
        let declared = self.0.declared(&client(caller));
        declared.into_iter().filter_map(kind).collect()
    }

    async fn ask(&self, ask: Ask) -> AskReply {
        let Some(kind) = capability(ask.kind) else {
            return AskReply::Declined;
        };
        let mut question = ServerQuestion::new(ask.server, kind, ask.params);
        question.name = ask.name;
        match self.0.ask(&client(&ask.caller), question).await {
            Ok(answer) => AskReply::Result(answer),
            Err(NotAnswered::NotDeclared) => AskReply::NotDeclared,
            Err(_) => AskReply::Declined,
        }
    }

    fn lacks(&self, caller: &Caller, kind: AskKind) {
        if let Some(capability) = capability(kind) {
            self.0.lacks(&client(caller), capability);
        }
    }
}

fn client(caller: &Caller) -> ClientName {
    ClientName::new(caller.session.as_str(), caller.request.clone())
}

fn capability(kind: AskKind) -> Option<ClientCapability> {
    match kind {
        AskKind::Elicitation => Some(ClientCapability::Elicitation),
        AskKind::Sampling => Some(ClientCapability::Sampling),
        AskKind::Roots => Some(ClientCapability::Roots),
        _ => None,
    }
}

fn kind(capability: ClientCapability) -> Option<AskKind> {
    match capability {
        ClientCapability::Elicitation => Some(AskKind::Elicitation),
        ClientCapability::Sampling => Some(AskKind::Sampling),
        ClientCapability::Roots => Some(AskKind::Roots),
        _ => None,
    }
}
