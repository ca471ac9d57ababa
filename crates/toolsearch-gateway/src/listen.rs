//! Telling clients that the list of tools changed: unasked since the handshake, or to the requests
//! that subscribed, since there is none.

use std::sync::Arc;

use rmcp::ErrorData;
use rmcp::model::{
    GetMeta, NotificationMetaObject, RequestId, ServerNotification, ServerResult,
    SubscriptionFilter, SubscriptionsAcknowledgedNotification,
    SubscriptionsAcknowledgedNotificationParams, SubscriptionsListenResult,
    ToolListChangedNotification,
};
use rmcp::service::{Peer, RequestContext, RoleServer, ServiceError};
use tokio::sync::watch;

use crate::desk::{Desk, Shown};
use crate::service::software;

type Changes = watch::Receiver<Arc<Shown>>;

/// Announces every change to a client that came through the handshake.
pub(crate) async fn announce(mut changes: Changes, peer: Peer<RoleServer>) {
    while changes.changed().await.is_ok() {
        if notify(&peer, None).await.is_err() {
            return;
        }
    }
}

/// Answers `subscriptions/listen`: acknowledges, then announces changes until the client cancels or
/// closes the connection.
pub(crate) async fn listen(
    wanted: &SubscriptionFilter,
    desk: &Desk,
    context: &RequestContext<RoleServer>,
    mut end: watch::Receiver<bool>,
) -> Result<ServerResult, ErrorData> {
    let mut changes = desk.subscribe();
    let offered = SubscriptionFilter::builder().tools_list_changed().build();
    let accepted = wanted.intersection(&offered);
    let announces = accepted.tools_list_changed == Some(true);
    let (peer, id) = (&context.peer, &context.id);
    acknowledge(peer, id, accepted)
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
                notify(peer, Some(id)).await.map_err(unreachable_client)?;
            }
        }
    }
    let mut result = SubscriptionsListenResult::complete(id.clone());
    result.meta.set_server_info(software());
    Ok(ServerResult::SubscriptionsListenResult(result))
}

async fn ended(end: &mut watch::Receiver<bool>) {
    // Nobody left to tell means the same.
    let _ = end.wait_for(|ended| *ended).await;
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
    let mut changed = ServerNotification::ToolListChangedNotification(changed);
    if let Some(id) = id {
        changed.get_meta_mut().set_subscription_id(id.clone());
    }
    peer.send_notification(changed).await
}

fn unreachable_client(error: ServiceError) -> ErrorData {
    ErrorData::internal_error(format!("the client cannot be reached: {error}"), None)
}
