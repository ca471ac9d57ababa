//! Questions of a server that a client is asked, and the way of its answers back.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use rmcp::model::RequestId;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::timeout;
use toolsearch_catalog::json_bytes;
use toolsearch_invoke::Caller;

use crate::peer::{Ask, AskKind, AskReply, ClientPeer};
use crate::shared::Shared;

/// Questions of one server that are open at the same time.
const MAX_OPEN: usize = 16;
/// How long a client may take to answer.
const PATIENCE: Duration = Duration::from_mins(10);
/// Largest question, as JSON.
const MAX_QUESTION_BYTES: usize = 1024 * 1024;

#[derive(Debug)]
pub(super) struct Asks {
    outgoing: Option<mpsc::Sender<Vec<u8>>>,
    shared: Arc<Shared>,
    /// By the server's own id, as JSON.
    open: BTreeMap<String, AbortHandle>,
    /// Dropping it ends them.
    tasks: JoinSet<()>,
}

impl Asks {
    pub(super) fn new(outgoing: mpsc::Sender<Vec<u8>>, shared: Arc<Shared>) -> Self {
        Self {
            outgoing: Some(outgoing),
            shared,
            open: BTreeMap::new(),
            tasks: JoinSet::new(),
        }
    }

    /// Puts a question to the client; false when there is nobody for it.
    pub(super) fn put(
        &mut self,
        id: &RequestId,
        kind: AskKind,
        caller: Caller,
        params: Value,
    ) -> bool {
        while self.tasks.try_join_next().is_some() {}
        self.open.retain(|_, task| !task.is_finished());
        let (Some(peer), Some(outgoing)) = (self.shared.peer(), self.outgoing.clone()) else {
            return false;
        };
        let too_large = || json_bytes(&params) > MAX_QUESTION_BYTES;
        if self.open.len() >= MAX_OPEN || !peer.offers().contains(&kind) || too_large() {
            return false;
        }
        let id = json!(id);
        let key = id.to_string();
        let server = self.shared.spec.name.clone();
        let ask = Ask {
            server,
            caller,
            kind,
            params,
            name: None,
        };
        let task = self.tasks.spawn(ask_client(peer, ask, id, outgoing));
        self.open.insert(key, task);
        true
    }

    /// The server takes a question back; false when it is none of these.
    pub(super) fn take_back(&mut self, id: &Value) -> bool {
        let task = self.open.remove(&id.to_string());
        task.is_some_and(|task| {
            task.abort();
            true
        })
    }

    pub(super) fn end(&mut self) {
        self.outgoing = None;
        self.tasks.abort_all();
    }
}

async fn ask_client(
    peer: Arc<dyn ClientPeer>,
    ask: Ask,
    id: Value,
    outgoing: mpsc::Sender<Vec<u8>>,
) {
    let kind = ask.kind;
    let reply = timeout(PATIENCE, peer.ask(ask)).await;
    let result = match reply.unwrap_or(AskReply::Declined) {
        AskReply::Result(result) => Ok(result),
        AskReply::Declined => kind.declined().ok_or((-1, "the user declined")),
        AskReply::NotDeclared => Err((-32601, "the client of this call cannot be asked this")),
    };
    let answer = match result {
        Ok(result) => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        Err((code, message)) => json!({
            "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message },
        }),
    };
    // A closed channel means that nobody waits for it any more.
    let _ = outgoing.send(answer.to_string().into_bytes()).await;
}
