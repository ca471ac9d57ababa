//! The gateway itself: its limits, and serving one connection from its first to its last message.

use std::sync::Arc;
use std::time::Duration;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::watch;

use crate::service::Connection;
use crate::source::SessionSource;
use crate::stdio::{Wire, standard};

/// Limits of a gateway.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct GatewayOptions {
    /// Most calls of one connection that are handled at once; further ones wait in order.
    pub calls: usize,
    /// Most requests of one connection that are read before earlier ones are answered.
    pub open_requests: usize,
    /// Most bytes of one message of a client.
    pub message_bytes: usize,
    /// How long changes are gathered before a session is planned anew, and so the shortest time
    /// between two announcements of a changed list.
    pub settle: Duration,
}

impl Default for GatewayOptions {
    fn default() -> Self {
        Self {
            calls: 64,
            open_requests: 512,
            message_bytes: 16 * 1024 * 1024,
            settle: Duration::from_millis(250),
        }
    }
}

/// Why serving ended otherwise than by the client closing the connection.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// No session came about. The client was told.
    #[error("no session could be opened for the client: {0}")]
    Refused(String),
    /// The connection broke before there was a session.
    #[error("the connection to the client broke: {0}")]
    Broken(String),
    /// The fault is on this side.
    #[error("serving stopped unexpectedly: {0}")]
    Internal(String),
}

/// Serves sessions of one source over MCP. Cloning shares the source.
#[derive(Debug, Clone)]
pub struct Gateway {
    source: Arc<dyn SessionSource>,
    options: GatewayOptions,
}

impl Gateway {
    /// A gateway with the usual limits.
    #[must_use]
    pub fn new(source: Arc<dyn SessionSource>) -> Self {
        Self {
            source,
            options: GatewayOptions::default(),
        }
    }

    /// The same gateway with other limits. Zero counts as one.
    #[must_use]
    pub fn with_options(mut self, options: GatewayOptions) -> Self {
        self.options = options;
        self
    }

    /// Serves the client on standard input and output. Nothing else in the process may write to
    /// standard output.
    ///
    /// A read of a terminal or a file cannot be interrupted: a process that ends for another reason
    /// than its end should not wait for the runtime's blocking threads.
    ///
    /// # Errors
    /// As [`Gateway::serve`].
    pub async fn serve_stdio(&self) -> Result<(), ServeError> {
        let (input, output) = standard::streams();
        self.serve(input, output).await
    }

    /// Serves one client over a pair of byte streams, one JSON message a line, until it closes its
    /// side. Calls that still run then have five seconds to be answered. Dropping the future ends
    /// everything that belongs to the connection.
    ///
    /// # Errors
    /// [`ServeError`] when no session came about or serving broke off.
    pub async fn serve<R, W>(&self, input: R, output: W) -> Result<(), ServeError>
    where
        R: AsyncRead + Send + Unpin + 'static,
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (ended, end) = watch::channel(false);
        let (wire, writer) = Wire::start(input, output, &self.options, ended);
        let connection =
            Connection::new(Arc::clone(&self.source), &self.options, end, Arc::default());
        let end = match serve_server(connection, wire).await {
            Ok(running) => match running.waiting().await {
                Ok(QuitReason::JoinError(error)) | Err(error) => {
                    Err(ServeError::Internal(error.to_string()))
                }
                Ok(_) => Ok(()),
            },
            Err(error) => unserved(error),
        };
        writer.finish().await;
        end
    }
}

/// A client that left before it asked for anything is no error.
fn unserved(error: ServerInitializeError) -> Result<(), ServeError> {
    match error {
        ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled => Ok(()),
        ServerInitializeError::InitializeFailed(error) => {
            Err(ServeError::Refused(error.message.into_owned()))
        }
        ServerInitializeError::TransportError { error, .. } => {
            Err(ServeError::Broken(error.error.to_string()))
        }
        other => Err(ServeError::Internal(other.to_string())),
    }
}
