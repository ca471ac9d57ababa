//! Resources and prompts of MCP servers for the gateway, as far as the rules allow.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::sync::broadcast::error::RecvError;
use toolsearch::catalog::{Source, ToolDescriptor};
use toolsearch::invoke::{Caller, InvokeError};
use toolsearch::policy::{Decision, Policy, Rules, Subject};
use toolsearch_gateway::{ClientName, News, Shelf, ShelfError, ShelfEvent, ShelfRequest};
use toolsearch_mcp::{McpServer, ServerEvent};

/// The names by which rules speak of what a server has besides tools.
const RESOURCES: &str = "resources";
const PROMPTS: &str = "prompts";

/// One server, as far as one subject may see it.
#[derive(Debug)]
struct ServerShelf {
    server: Arc<McpServer>,
    resources: bool,
    prompts: bool,
}

/// The shelves that a subject may see: `mcp:SERVER:resources` and `mcp:SERVER:prompts` are allowed by
/// the rules as if they were tools. What would have to be asked about is not shown.
pub(crate) fn shelves(
    servers: &[Arc<McpServer>],
    rules: &Rules,
    subject: &Subject,
) -> Vec<Arc<dyn Shelf>> {
    let allowed = |server: &McpServer, name: &str| {
        let owner = &server.spec().name;
        let tool = ToolDescriptor::new(Source::Mcp, owner, name, json!({ "type": "object" }));
        tool.is_ok_and(|tool| rules.decide(subject, &tool) == Decision::Allow)
    };
    servers
        .iter()
        .map(|server| ServerShelf {
            resources: allowed(server, RESOURCES),
            prompts: allowed(server, PROMPTS),
            server: Arc::clone(server),
        })
        .filter(|shelf| shelf.resources || shelf.prompts)
        .map(|shelf| Arc::new(shelf) as Arc<dyn Shelf>)
        .collect()
}

#[async_trait]
impl Shelf for ServerShelf {
    fn owner(&self) -> &str {
        &self.server.spec().name
    }

    async fn ask(
        &self,
        request: ShelfRequest,
        client: Option<&ClientName>,
        wait: Duration,
    ) -> Result<Value, ShelfError> {
        let server = &self.server;
        let caller = || match client {
            Some(client) => {
                Caller::new(client.session.as_str(), None).in_request(client.request.clone())
            }
            None => Caller::default(),
        };
        let answer = match request {
            ShelfRequest::Resources | ShelfRequest::Templates if !self.resources => {
                return Ok(json!([]));
            }
            ShelfRequest::Prompts if !self.prompts => return Ok(json!([])),
            ShelfRequest::Read { .. } | ShelfRequest::Subscribe { .. } if !self.resources => {
                return Err(hidden());
            }
            ShelfRequest::Prompt { .. } if !self.prompts => return Err(hidden()),
            ShelfRequest::Resources => server.resources(wait).await.map(Value::Array),
            ShelfRequest::Templates => server.resource_templates(wait).await.map(Value::Array),
            ShelfRequest::Read { uri } => server.read_resource(&uri, caller(), wait).await,
            ShelfRequest::Subscribe { uri } => {
                let subscribed = server.subscribe_resource(&uri, wait).await;
                subscribed.map(|()| json!({}))
            }
            ShelfRequest::Prompts => server.prompts(wait).await.map(Value::Array),
            ShelfRequest::Prompt { name, arguments } => {
                server.get_prompt(&name, arguments, caller(), wait).await
            }
            ShelfRequest::Complete { params } => server.complete(params, wait).await,
            _ => return Err(hidden()),
        };
        answer.map_err(told)
    }
}

/// The same as for what does not exist.
fn hidden() -> ShelfError {
    ShelfError::refused("there is no such thing on this server")
}

fn told(error: InvokeError) -> ShelfError {
    match error {
        InvokeError::Refused { reason, .. } => ShelfError::refused(reason),
        other => ShelfError::Unavailable(other.to_string()),
    }
}

/// Passes on what a server tells of its shelf.
pub(crate) async fn pass_on(server: Arc<McpServer>, news: broadcast::Sender<News>) {
    let mut events = server.events();
    let owner = server.spec().name.clone();
    drop(server);
    loop {
        let event = match events.recv().await {
            Ok(ServerEvent::ResourcesChanged) => ShelfEvent::Resources,
            Ok(ServerEvent::PromptsChanged) => ShelfEvent::Prompts,
            Ok(ServerEvent::ResourceUpdated { uri }) => ShelfEvent::Resource { uri },
            Ok(_) | Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        // Without listeners there is nobody to tell.
        let _ = news.send(News::new(owner.as_str(), event));
    }
}
