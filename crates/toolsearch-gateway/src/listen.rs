//! Telling clients that lists or resources changed: unasked since the handshake, or to the requests
//! that subscribed, since there is none.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    GetMeta, NotificationMetaObject, RequestId, ResourceUpdatedNotification,
    ResourceUpdatedNotificationParam, ServerNotification, ServerResult, SubscriptionFilter,
    SubscriptionsAcknowledgedNotification, SubscriptionsAcknowledgedNotificationParams,
    SubscriptionsListenResult, ToolListChangedNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;

use crate::answer::Era;
use crate::desk::{Desk, Shown};
use crate::relay::{News, ShelfEvent, Shelves, Watched};
use crate::service::software;
use crate::source::SessionSource;

/// Most resources of one subscription.
const MAX_RESOURCES: usize = 100;

type Changes = watch::Receiver<Arc<Shown>>;

/// Announces every change to a client that came through the handshake.
pub(crate) async fn announce(mut changes: Changes, peer: Peer<RoleServer>) {
    while changes.changed().await.is_ok() {
        if notify(&peer, None).await.is_err() {
            return;
        }
    }
}

/// Passes on what changed on the shelves of a client that came through the handshake.
pub(crate) async fn pass_on(
    mut news: broadcast::Receiver<News>,
    source: Arc<dyn SessionSource>,
    watched: Arc<Watched>,
    peer: Peer<RoleServer>,
) {
    loop {
        let news = match news.recv().await {
            Ok(news) => news,
            // What was missed is said again when it changes again.
            Err(RecvError::Lagged(_)) => continue,
            Err(RecvError::Closed) => return,
        };
        let uri = match &news.event {
            ShelfEvent::Resource { uri } => match watched.name(&news.owner, uri) {
                Some(uri) => Some(uri),
                None => continue,
            },
            _ => None,
        };
        if !Shelves::new(source.shelves()).has(&news.owner) {
            continue;
        }
        if tell(&peer, notification(&news.event, uri), None)
            .await
            .is_err()
        {
            return;
        }
    }
}

/// What a subscriber wants to hear of the shelves: lists that changed, and resources by the name that
/// it used.
struct Wanted {
    accepted: SubscriptionFilter,
    resources: Watched,
}

impl Wanted {
    async fn of(wanted: &SubscriptionFilter, source: &Arc<dyn SessionSource>) -> Self {
        let mut offered = SubscriptionFilter::builder().tools_list_changed();
        let mut resources = Vec::new();
        let subscribed = Watched::default();
        if source.has_shelves() {
            offered = offered.prompts_list_changed().resources_list_changed();
            let shelves = Shelves::new(source.shelves());
            for uri in wanted
                .resource_subscriptions
                .iter()
                .flatten()
                .take(MAX_RESOURCES)
            {
                let Ok((owner, own)) = shelves.subscribe(uri, Era::Inline).await else {
                    continue;
                };
                if subscribed.add(owner, own, uri.clone()).is_ok() {
                    resources.push(uri.clone());
                }
            }
        }
        let mut offered = offered.build();
        if !resources.is_empty() {
            offered.resource_subscriptions = Some(resources);
        }
        Self {
            accepted: wanted.intersection(&offered),
            resources: subscribed,
        }
    }

    /// What is told of an event, if anything.
    fn told(&self, news: &News) -> Option<ServerNotification> {
        let uri = match &news.event {
            ShelfEvent::Resource { uri } => Some(self.resources.name(&news.owner, uri)?),
            ShelfEvent::Resources if self.accepted.resources_list_changed == Some(true) => None,
            ShelfEvent::Prompts if self.accepted.prompts_list_changed == Some(true) => None,
            _ => return None,
        };
        Some(notification(&news.event, uri))
    }
}

fn notification(event: &ShelfEvent, uri: Option<String>) -> ServerNotification {
    match event {
        ShelfEvent::Resources => {
            ServerNotification::ResourceListChangedNotification(Default::default())
        }
        ShelfEvent::Prompts => {
            ServerNotification::PromptListChangedNotification(Default::default())
        }
        ShelfEvent::Resource { uri: own } => {
            let uri = uri.unwrap_or_else(|| own.clone());
            let params = ResourceUpdatedNotificationParam::new(uri);
            let updated = ResourceUpdatedNotification::new(params);
            ServerNotification::ResourceUpdatedNotification(updated)
        }
    }
}

/// Answers `subscriptions/listen`: acknowledges, then announces changes until the client cancels or
/// closes the connection.
pub(crate) async fn listen(
    wanted: &SubscriptionFilter,
    desk: &Desk,
    source: &Arc<dyn SessionSource>,
    context: &RequestContext<RoleServer>,
    mut end: watch::Receiver<bool>,
) -> Result<ServerResult, ErrorData> {
    let mut changes = desk.subscribe();
    let mut news = source.news();
    let wanted = Wanted::of(wanted, source).await;
    let announces = wanted.accepted.tools_list_changed == Some(true);
    let (peer, id) = (&context.peer, &context.id);
    acknowledge(peer, id, wanted.accepted.clone())
        .await
        .map_err(unreachable_client)?;
    loop {
        tokio::select! {
            () = context.ct.cancelled() => break,
            () = ended(&mut end) => break,
            changed = changes.changed(), if announces => {
                if changed.is_err() {
                    break;
                }
                match until_the_end(notify(peer, Some(id)), &mut end).await {
                    Some(sent) => sent.map_err(unreachable_client)?,
                    None => break,
                }
            }
            heard = next(&mut news) => {
                let told = heard.as_ref().and_then(|news| wanted.told(news));
                let may = heard.is_some_and(|news| Shelves::new(source.shelves()).has(&news.owner));
                if let Some(told) = told.filter(|_| may) {
                    match until_the_end(tell(peer, told, Some(id)), &mut end).await {
                        Some(sent) => sent.map_err(unreachable_client)?,
                        None => break,
                    }
                }
            }
        }
    }
    let mut result = SubscriptionsListenResult::complete(id.clone());
    result.meta.set_server_info(software());
    Ok(ServerResult::SubscriptionsListenResult(result))
}

/// The next piece of news; never, when there is none any more. `None` when some were missed.
async fn next(news: &mut Option<broadcast::Receiver<News>>) -> Option<News> {
    if let Some(receiver) = news {
        match receiver.recv().await {
            Ok(heard) => return Some(heard),
            Err(RecvError::Lagged(_)) => return None,
            Err(RecvError::Closed) => *news = None,
        }
    }
    std::future::pending().await
}

async fn ended(end: &mut watch::Receiver<bool>) {
    // Nobody left to tell means the same.
    let _ = end.wait_for(|ended| *ended).await;
}

/// Sends something while the client may still be told anything: once it has closed its side, answers alone are
/// sent, and nothing else ever leaves. `None` when that comes first.
async fn until_the_end<T>(
    sending: impl Future<Output = T>,
    end: &mut watch::Receiver<bool>,
) -> Option<T> {
    tokio::select! {
        sent = sending => Some(sent),
        () = ended(end) => None,
    }
}

async fn acknowledge(
    peer: &Peer<RoleServer>,
    id: &RequestId,
    accepted: SubscriptionFilter,
) -> Result<(), ServiceError> {
    let params = SubscriptionsAcknowledgedNotificationParams::new(accepted);
    let mut acknowledged = SubscriptionsAcknowledgedNotification::new(params);
    let mut meta = NotificationMetaObject::new();
    meta.set_subscription_id(id.clone());
    acknowledged.extensions.insert(meta);
    let acknowledged = ServerNotification::SubscriptionsAcknowledgedNotification(acknowledged);
    peer.send_notification(acknowledged).await
}

async fn notify(peer: &Peer<RoleServer>, id: Option<&RequestId>) -> Result<(), ServiceError> {
    let changed = ToolListChangedNotification::default();
    let changed = ServerNotification::ToolListChangedNotification(changed);
    tell(peer, changed, id).await
}

async fn tell(
    peer: &Peer<RoleServer>,
    mut notification: ServerNotification,
    id: Option<&RequestId>,
) -> Result<(), ServiceError> {
    if let Some(id) = id {
        notification.get_meta_mut().set_subscription_id(id.clone());
    }
    peer.send_notification(notification).await
}

fn unreachable_client(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client cannot be reached: {error}"), None)
}
