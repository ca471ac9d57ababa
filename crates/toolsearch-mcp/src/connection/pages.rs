//! Keeping the tool list of a connection up to date: all pages, once after the handshake and again
//! after the server said that something changed, however often it says so.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    ClientRequest, ErrorCode, ListToolsRequest, PaginatedRequestParams, ServerPeerInfo,
    SubscriptionFilter, SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use rmcp::service::{Peer, RoleClient, ServiceError};
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::{LAST_WORDS, Unanswered, raw, send};
use crate::breaker::backoff;
use crate::carrier::{Life, Remote};
use crate::listing::{Collector, ToolList};
use crate::shared::Shared;
use crate::text::{MAX_REASON_CHARS, clip};
use crate::trouble::Trouble;
use crate::wire::lost;

/// Changes that are announced within this time lead to one new list.
const COALESCE: Duration = Duration::from_millis(200);
/// Longest description of a server, in characters.
const MAX_DESCRIPTION_CHARS: usize = 16_000;
/// How often a subscription that the server ended is opened again.
const MAX_SUBSCRIPTIONS: u32 = 5;

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
            Ok(Ok(pages)) => Ok(keep(pages, &peer, &shared)),
            Ok(Err(error)) => Err(reason(error, &shared, &remote).await),
            Err(_) => {
                let waited = limit.as_millis();
                let evidence = remote.notes.evidence();
                let reason = format!("tools/list was not answered within {waited} ms{evidence}");
                Err((reason, None))
            }
        };
        match &result {
            Ok(_) => shared.note_answer(),
            Err((reason, trouble)) => {
                shared.note_incident(reason, trouble.as_ref());
                if let Some(trouble) = trouble {
                    shared.breaker.fail(reason, trouble.pause());
                }
            }
        }
        let result = result.map_err(|(reason, _)| reason);
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

/// All pages, and the tools in them as they came where they are to be kept on disk.
struct Pages {
    list: ToolList,
    raw: Vec<Value>,
}

/// Makes a complete list known.
fn keep(pages: Pages, peer: &Peer<RoleClient>, shared: &Arc<Shared>) -> Arc<ToolList> {
    let list = Arc::new(pages.list);
    let info = peer.peer_info();
    let description = info.as_ref().map(|info| describe(info)).unwrap_or_default();
    shared.publish(Arc::clone(&list), &description);
    if shared.cache.is_some() {
        let shared = Arc::clone(shared);
        tokio::task::spawn_blocking(move || {
            if let Some(cache) = &shared.cache {
                cache.write(pages.raw, &description, info.as_deref());
            }
        });
    }
    list
}

/// What a server says about itself: instructions first, then what it calls itself.
fn describe(info: &ServerPeerInfo) -> String {
    let instructions = info
        .instructions
        .clone()
        .filter(|text| !text.trim().is_empty());
    let text = instructions.or_else(|| {
        let software = info.server_info.as_ref()?;
        software
            .description
            .clone()
            .or_else(|| software.title.clone())
    });
    clip(text.unwrap_or_default().trim(), MAX_DESCRIPTION_CHARS)
}

async fn all_pages(peer: &Peer<RoleClient>, shared: &Shared) -> Result<Pages, ServiceError> {
    let mut collector = Collector::new(&shared.spec, &shared.redactor);
    if let Some(info) = peer.peer_info() {
        collector.about(&info);
    }
    let mut raw = Vec::new();
    let mut cursor = None;
    loop {
        let page = match page(peer, cursor).await {
            Ok(page) => page,
            Err(ServiceError::McpError(error))
                if collector.has_pages() && lost(&error).is_none() =>
            {
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
        if shared.cache.is_some()
            && let Some(tools) = page.get("tools").and_then(Value::as_array)
        {
            raw.extend(tools.iter().cloned());
        }
        cursor = collector.page(page);
        if cursor.is_none() {
            break;
        }
    }
    let list = collector.finish();
    Ok(Pages { list, raw })
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

async fn reason(
    error: ServiceError,
    shared: &Shared,
    remote: &Remote,
) -> (String, Option<Trouble>) {
    match error {
        ServiceError::McpError(error) => match lost(&error) {
            Some(trouble) => (
                format!("tools/list got no answer: {trouble}"),
                Some(trouble),
            ),
            None => {
                let error = shared.redactor.line(&error.to_string(), MAX_REASON_CHARS);
                (format!("tools/list was refused: {error}"), None)
            }
        },
        _ => {
            remote.reaches(Life::Gone, LAST_WORDS).await;
            (remote.notes.obituary(), None)
        }
    }
}

/// Since 2026-07-28, servers announce changes only to clients that subscribed.
pub(super) async fn follow_changes(peer: Peer<RoleClient>, list_changes: watch::Sender<u64>) {
    let Some(filter) = peer.peer_info().and_then(|info| announced(&info)) else {
        return;
    };
    for round in 0..MAX_SUBSCRIPTIONS {
        let params = SubscriptionsListenRequestParams::new(filter.clone());
        let request = SubscriptionsListenRequest::new(params);
        let request = ClientRequest::SubscriptionsListenRequest(request);
        let Ok(handle) = send(&peer, request).await else {
            return;
        };
        // The answer is the end of the subscription.
        match handle.await_response().await {
            Ok(_) => {}
            Err(ServiceError::McpError(error))
                if lost(&error).is_some_and(|trouble| trouble.is_passing()) =>
            {
                sleep(backoff(round + 1)).await;
            }
            Err(_) => return,
        }
        list_changes.send_modify(|count| *count += 1);
    }
}

/// What there is to subscribe to.
fn announced(info: &ServerPeerInfo) -> Option<SubscriptionFilter> {
    if info.protocol_version.has_initialize() {
        return None;
    }
    let all = &info.capabilities;
    let tools = all.tools.as_ref().and_then(|one| one.list_changed);
    let prompts = all.prompts.as_ref().and_then(|one| one.list_changed);
    let resources = all.resources.as_ref().and_then(|one| one.list_changed);
    let wanted = |announced: Option<bool>| announced.filter(|announced| *announced);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = wanted(tools);
    filter.prompts_list_changed = wanted(prompts);
    filter.resources_list_changed = wanted(resources);
    let any = [tools, prompts, resources].contains(&Some(true));
    any.then_some(filter)
}
