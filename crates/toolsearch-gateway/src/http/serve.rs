//! Connections: accepting them, TLS, the limits of their headers, and their end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{interval, sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::front::Front;
use super::lane::over;

/// How long a caller may take for its headers, and for the greeting of TLS.
const GREETING: Duration = Duration::from_secs(15);
/// Most headers of a request.
const MAX_HEADERS: usize = 100;
/// Most bytes of the headers of a request.
const HEADER_BYTES: usize = 64 * 1024;
/// Most connections at a time.
const MAX_CONNECTIONS: usize = 16_384;
/// How long after a failure to accept the next attempt is made.
const RETRY: Duration = Duration::from_millis(100);
/// How long connections may take to end after everything was answered.
const LAST_WORDS: Duration = Duration::from_secs(2);
/// How often idle sessions are looked for.
const SWEEP: Duration = Duration::from_secs(10);

/// Serves until `stop` ends; then running calls are answered, and everything is closed.
pub(super) async fn serve(
    front: Arc<Front>,
    router: axum::Router,
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    stop: impl Future<Output = ()> + Send,
) -> io::Result<()> {
    let (stopping, _) = watch::channel(false);
    let room = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    let mut sweep = interval(SWEEP);
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            _ = sweep.tick() => front.sessions.sweep(front.settings().options.idle),
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = accept(&listener, &room) => {
                let (stream, permit) = accepted;
                let connection = Connection {
                    router: router.clone(),
                    tls: tls.clone(),
                    stopping: stopping.subscribe(),
                    _room: permit,
                };
                connections.spawn(connection.run(stream));
            }
        }
    }
    drop(listener);
    front.stop();
    let patience = front.settings().options.drain;
    front.sessions.drain(patience).await;
    stopping.send_replace(true);
    let ended = async { while connections.join_next().await.is_some() {} };
    if timeout(LAST_WORDS, ended).await.is_err() {
        tracing::debug!("some connections were cut off");
    }
    Ok(())
}

/// The next connection, when there is room for one. Running out of files passes.
async fn accept(
    listener: &TcpListener,
    room: &Arc<Semaphore>,
) -> (TcpStream, OwnedSemaphorePermit) {
    loop {
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            std::future::pending::<()>().await;
            continue;
        };
        match listener.accept().await {
            Ok((stream, _)) => return (stream, permit),
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                sleep(RETRY).await;
            }
        }
    }
}

struct Connection {
    router: axum::Router,
    tls: Option<TlsAcceptor>,
    stopping: watch::Receiver<bool>,
    _room: OwnedSemaphorePermit,
}

impl Connection {
    async fn run(self, stream: TcpStream) {
        // Small messages leave at once.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "a connection may be slow");
        }
        match &self.tls {
            None => self.http(stream).await,
            Some(tls) => match timeout(GREETING, tls.accept(stream)).await {
                Ok(Ok(stream)) => self.http(stream).await,
                Ok(Err(error)) => tracing::debug!(%error, "no TLS came about"),
                Err(_) => tracing::debug!("a caller did not finish the greeting of TLS"),
            },
        }
    }

    async fn http(&self, stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) {
        let service = TowerToHyperService::new(self.router.clone());
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(GREETING)
            .max_headers(MAX_HEADERS)
            .max_buf_size(HEADER_BYTES)
            .pipeline_flush(true)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut stopping = self.stopping.clone();
        let served = tokio::select! {
            served = connection.as_mut() => served,
            () = over(&mut stopping) => {
                connection.as_mut().graceful_shutdown();
                connection.await
            }
        };
        if let Err(error) = served {
            tracing::debug!(%error, "a connection ended early");
        }
    }
}
