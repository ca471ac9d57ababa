//! rmcp's transport over a pair of byte streams. Two tasks move the bytes, so that a client that
//! does not read, or sends half a line, holds up nobody else.

mod lines;
pub(crate) mod read;
pub(crate) mod standard;

use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta, JsonRpcMessage,
    ProtocolVersion, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::RoleServer;
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use self::lines::Line;
use self::read::Read;
use crate::gateway::GatewayOptions;

/// Messages that wait to be handled.
const QUEUED_IN: usize = 64;
/// Messages that wait to be written.
const QUEUED_OUT: usize = 256;
/// How long the last messages may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why a message could not be sent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WireError {
    #[error("the client is gone")]
    Closed,
    #[error("the message cannot be written as JSON: {0}")]
    Encode(#[from] serde_json::Error),
}

/// A message to write. An answer holds the room of its request until it is written.
#[derive(Debug)]
struct Outgoing {
    text: Vec<u8>,
    _room: Option<OwnedSemaphorePermit>,
}

#[derive(Debug)]
pub(crate) struct Wire {
    incoming: mpsc::Receiver<Box<ClientJsonRpcMessage>>,
    outgoing: mpsc::Sender<Outgoing>,
    reader: JoinHandle<()>,
    /// Room for requests that are not answered yet. Without it nothing is read, so that a client
    /// that never reads its answers cannot make them pile up.
    room: Arc<Semaphore>,
    open: HashMap<RequestId, OwnedSemaphorePermit>,
    /// Told when the client has closed its side.
    ended: watch::Sender<bool>,
}

impl Wire {
    /// Starts to read and write. The writing ends when the wire is gone and all is written.
    pub(crate) fn start<R, W>(
        input: R,
        output: W,
        options: &GatewayOptions,
        ended: watch::Sender<bool>,
    ) -> (Self, Writer)
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (outgoing, to_write) = mpsc::channel(QUEUED_OUT);
        let (messages, incoming) = mpsc::channel(QUEUED_IN);
        let reader = Reader {
            messages,
            outgoing: outgoing.clone(),
            max: options.message_bytes,
            opened: false,
        };
        let open_requests = options.open_requests.clamp(1, Semaphore::MAX_PERMITS);
        let wire = Self {
            incoming,
            outgoing,
            reader: tokio::spawn(reader.run(input)),
            room: Arc::new(Semaphore::new(open_requests)),
            open: HashMap::new(),
            ended,
        };
        (wire, Writer(tokio::spawn(write(output, to_write))))
    }

    /// Gives the message back when it has to wait.
    fn queue(&self, message: Outgoing) -> Result<Option<Outgoing>, WireError> {
        match self.outgoing.try_send(message) {
            Ok(()) => Ok(None),
            Err(mpsc::error::TrySendError::Closed(_)) => Err(WireError::Closed),
            Err(mpsc::error::TrySendError::Full(message)) => Ok(Some(message)),
        }
    }

    async fn next(&mut self) -> Option<ClientJsonRpcMessage> {
        let room = Arc::clone(&self.room).acquire_owned().await.ok()?;
        let message = self.incoming.recv().await?;
        match &*message {
            JsonRpcMessage::Request(request) => {
                self.open.insert(request.id.clone(), room);
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request gets no answer.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.open.remove(id);
                }
            }
            _ => {}
        }
        Some(*message)
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// The task that writes. Dropping it gives up what is not written yet.
#[derive(Debug)]
pub(crate) struct Writer(JoinHandle<()>);

impl Writer {
    /// Waits until the last messages are written, but not for a client that does not take them.
    pub(crate) async fn finish(mut self) {
        if timeout(LAST_WORDS, &mut self.0).await.is_err() {
            tracing::debug!("the client did not take the last messages");
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Transport<RoleServer> for Wire {
    type Error = WireError;

    /// Queued before the future is polled, so that messages leave in the order of sending.
    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = Result<(), WireError>> + Send + 'static {
        let room = match &message {
            JsonRpcMessage::Response(answer) => self.open.remove(&answer.id),
            JsonRpcMessage::Error(error) => error.id.as_ref().and_then(|id| self.open.remove(id)),
            _ => None,
        };
        let queued = serde_json::to_vec(&message)
            .map_err(WireError::from)
            .and_then(|text| self.queue(Outgoing { text, _room: room }));
        let outgoing = self.outgoing.clone();
        async move {
            match queued? {
                None => Ok(()),
                Some(waiting) => outgoing.send(waiting).await.map_err(|_| WireError::Closed),
            }
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        let outgoing = self.outgoing.clone();
        let message = tokio::select! {
            message = self.next() => message,
            () = outgoing.closed() => None,
        };
        if message.is_none() {
            self.ended.send_replace(true);
        }
        message
    }

    async fn close(&mut self) -> Result<(), WireError> {
        self.reader.abort();
        Ok(())
    }
}

struct Reader {
    messages: mpsc::Sender<Box<ClientJsonRpcMessage>>,
    outgoing: mpsc::Sender<Outgoing>,
    max: usize,
    /// Whether a session has begun. Before that rmcp takes nothing but requests.
    opened: bool,
}

impl Reader {
    async fn run(mut self, input: impl AsyncRead + Send + Unpin) {
        let mut input = BufReader::with_capacity(64 * 1024, input);
        while let Some(line) = lines::next(&mut input, self.max).await {
            let messages = match line {
                Line::Whole(line) => read::read(&line),
                Line::TooLong => vec![too_long(self.max)],
            };
            for message in messages {
                if !self.hand_on(message).await {
                    return;
                }
            }
        }
    }

    /// Whether anybody still listens.
    async fn hand_on(&mut self, read: Read) -> bool {
        match read {
            Read::Refused(answer) => {
                let text = answer.to_string().into_bytes();
                self.outgoing
                    .send(Outgoing { text, _room: None })
                    .await
                    .is_ok()
            }
            Read::Message(message) => {
                self.opened = self.opened || opens(&message);
                if !self.opened && !matches!(&*message, JsonRpcMessage::Request(_)) {
                    return true;
                }
                self.messages.send(message).await.is_ok()
            }
        }
    }
}

fn too_long(max: usize) -> Read {
    let message = format!("the message is longer than {max} bytes");
    Read::Refused(read::refusal(
        Value::Null,
        ErrorData::invalid_request(message, None),
    ))
}

/// Whether a session begins with this message: the handshake, or a request that stands for itself.
fn opens(message: &ClientJsonRpcMessage) -> bool {
    let JsonRpcMessage::Request(request) = message else {
        return false;
    };
    match &request.request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        other => {
            let meta = other.get_meta();
            let version = meta.protocol_version();
            meta.missing_required_keys(&ProtocolVersion::V_2026_07_28)
                .is_empty()
                && version.is_some_and(|v| ProtocolVersion::KNOWN_VERSIONS.contains(&v))
        }
    }
}

/// Writes until nobody has anything to write, or the client takes no more.
async fn write(mut output: impl AsyncWrite + Unpin, mut queue: mpsc::Receiver<Outgoing>) {
    while let Some(mut message) = queue.recv().await {
        message.text.push(b'\n');
        let written = async {
            output.write_all(&message.text).await?;
            if queue.is_empty() {
                output.flush().await
            } else {
                Ok(())
            }
        };
        if let Err(error) = written.await {
            tracing::debug!(%error, "the client takes no more messages");
            return;
        }
    }
    let _ = output.flush().await;
    let _ = output.shutdown().await;
}
