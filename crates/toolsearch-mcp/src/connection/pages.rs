//! Keeping the tool list of a connection up to date: all pages, once after the handshake and again
//! after the server said that something changed, however often it says so.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, SubscriptionFilter,
    SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{LAST_WORDS, Unanswered, raw, send};
use crate::carrier::{Life, Remote};
use crate::listing::{Collector, ToolList};
use crate::shared::Shared;
use crate::text::MAX_REASON_CHARS;

/// Changes that are announced within this time lead to one new list.
const COALESCE: Duration = Duration::from_millis(200);
/// How often a subscription that the server ended is opened again.
const MAX_SUBSCRIPTIONS: usize = 5;

/// The last attempt to read the list.
#[derive(Debug, Clone, Default)]
pub(super) struct ListState {
    /// The count of changes that the attempt took into account.
    pub(super) asked: u64,
    pub(super) result: Option<Result<Arc<ToolList>, String>>,
}

/// Lists now and after every change, until the connection is dropped.
pub(super) async fn keep_listing(
    peer: Peer<RoleClient>,
    shared: Arc<Shared>,
    mut changes: watch::Receiver<u64>,
    state: watch::Sender<ListState>,
    remote: Remote,
) {
    loop {
        let asked = *changes.borrow_and_update();
        let limit = shared.spec.list_timeout;
        let result = match timeout(limit, all_pages(&peer, &shared)).await {
            Ok(Ok(list)) => Ok(Arc::new(list)),
            Ok(Err(error)) => Err(reason(error, &shared, &remote).await),
            Err(_) => Err(format!(
                "tools/list was not answered within {} ms{}",
                limit.as_millis(),
                remote.notes.evidence()
            )),
        };
        if let Ok(list) = &result {
            shared.publish(Arc::clone(list));
        }
        state.send_replace(ListState {
            asked,
            result: Some(result),
        });
        if changes.changed().await.is_err() {
            return;
        }
        sleep(COALESCE).await;
    }
}

async fn all_pages(peer: &Peer<RoleClient>, shared: &Shared) -> Result<ToolList, ServiceError> {
    let mut collector = Collector::new(&shared.spec, &shared.redactor);
    if let Some(info) = peer.peer_info() {
        collector.about(&info);
    }
    let mut cursor = None;
    loop {
        let page = match page(peer, cursor).await {
            Ok(page) => page,
            Err(ServiceError::McpError(error)) if collector.has_pages() => {
                let error = shared.redactor.line(&error.to_string(), MAX_REASON_CHARS);
                collector.warn(format!(
                    "a later page was refused, its tools are missing: {error}"
                ));
                break;
            }
            Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => {
                collector.warn("the server has no tools/list".to_owned());
                break;
            }
            Err(error) => return Err(error),
        };
        cursor = collector.page(page);
        if cursor.is_none() {
            break;
        }
    }
    Ok(collector.finish())
}

async fn page(peer: &Peer<RoleClient>, cursor: Option<String>) -> Result<Value, ServiceError> {
    let request = match cursor {
        None => ListToolsRequest::default(),
        Some(cursor) => ListToolsRequest::with_param(
            PaginatedRequestParams::default().with_cursor(Some(cursor)),
        ),
    };
    let handle = send(peer, ClientRequest::ListToolsRequest(request)).await?;
    let mut unanswered = Unanswered::new(&handle);
    let answer = handle.await_response().await;
    unanswered.disarm();
    answer.map(raw)
}

async fn reason(error: ServiceError, shared: &Shared, remote: &Remote) -> String {
    match error {
        ServiceError::McpError(error) => {
            let error = shared.redactor.line(&error.to_string(), MAX_REASON_CHARS);
            format!("tools/list was refused: {error}")
        }
        _ => {
            remote.reaches(Life::Gone, LAST_WORDS).await;
            remote.notes.obituary()
        }
    }
}

/// Since 2026-07-28, servers announce changes only to clients that subscribed.
pub(super) async fn follow_changes(peer: Peer<RoleClient>, list_changes: watch::Sender<u64>) {
    let announces = peer.peer_info().is_some_and(|info| {
        let tools = info.capabilities.tools.as_ref();
        !info.protocol_version.has_initialize()
            && tools.is_some_and(|tools| tools.list_changed == Some(true))
    });
    if !announces {
        return;
    }
    for _ in 0..MAX_SUBSCRIPTIONS {
        let filter = SubscriptionFilter::builder().tools_list_changed().build();
        let params = SubscriptionsListenRequestParams::new(filter);
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        let Ok(handle) = send(&peer, request).await else {
            return;
        };
        // The answer is the end of the subscription.
        if handle.await_response().await.is_err() {
            return;
        }
        list_changes.send_modify(|count| *count += 1);
    }
}
