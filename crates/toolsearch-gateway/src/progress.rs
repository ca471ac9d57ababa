//! Progress of a request, told to its client under the token that came with it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rmcp::model::{
    ProgressNotification, ProgressNotificationParam, ProgressToken, ServerNotification,
};
use rmcp::service::{Peer, RoleServer};
use tokio::sync::mpsc;
use tokio::time::timeout;
use toolsearch_invoke::{Progress, ProgressSink};
use toolsearch_schema::names::sanitise_label;

/// Reports that wait to be sent; further ones are left out.
const QUEUED_REPORTS: usize = 64;
/// How long an answer waits for the reports before it to be written.
const REPORTS_PATIENCE: Duration = Duration::from_millis(500);
/// Most characters of the message of a report.
const MAX_MESSAGE_CHARS: usize = 500;

/// Where work reports to. Whoever waits for the work listens, one at a time.
#[derive(Debug, Default)]
pub(crate) struct Reports(Mutex<Option<mpsc::Sender<Progress>>>);

impl Reports {
    fn listener(&self) -> MutexGuard<'_, Option<mpsc::Sender<Progress>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ProgressSink for Reports {
    fn progress(&self, progress: Progress) {
        if let Some(listener) = &*self.listener() {
            // A report that finds no room is superseded by the next one anyway.
            let _ = listener.try_send(progress);
        }
    }
}

/// Waits for an answer; until then reports go to the client if it gave a token. They come before the
/// answer.
pub(crate) async fn reporting<T>(
    reports: &Arc<Reports>,
    peer: &Peer<RoleServer>,
    token: Option<ProgressToken>,
    answer: impl Future<Output = T>,
) -> T {
    let Some(token) = token else {
        return answer.await;
    };
    let (listener, arriving) = mpsc::channel(QUEUED_REPORTS);
    *reports.listener() = Some(listener);
    let mut sending = std::pin::pin!(report(peer, token, arriving));
    let mut answer = std::pin::pin!(answer);
    let answer = tokio::select! {
        answer = &mut answer => answer,
        () = &mut sending => return answer.await,
    };
    *reports.listener() = None;
    // A client that does not read gets its answer as late as it reads, but not later.
    let _ = timeout(REPORTS_PATIENCE, sending).await;
    answer
}

/// Sends reports until nobody can make one any more.
async fn report(
    peer: &Peer<RoleServer>,
    token: ProgressToken,
    mut reports: mpsc::Receiver<Progress>,
) {
    let mut last = f64::NEG_INFINITY;
    while let Some(Progress {
        done,
        total,
        message,
        ..
    }) = reports.recv().await
    {
        // The protocol wants growing numbers; JSON has no others than finite ones.
        if !done.is_finite() || done <= last {
            continue;
        }
        last = done;
        let mut params = ProgressNotificationParam::new(token.clone(), done);
        params.total = total.filter(|total| total.is_finite());
        params.message = message.map(|message| sanitise_label(&message, MAX_MESSAGE_CHARS));
        let notification = ProgressNotification::new(params);
        let notification = ServerNotification::ProgressNotification(notification);
        if peer.send_notification(notification).await.is_err() {
            return;
        }
    }
}
