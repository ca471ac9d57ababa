//! What goes back over HTTP: one JSON document, or a stream of events.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::Response;
use futures::Stream;
use http_body::{Frame, SizeHint};
use rmcp::ErrorData;
use serde::Serialize;
use serde_json::Value;

use crate::stdio::read;

use super::lane::Outgoing;

/// How often a silent stream shows that it is alive.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

pub(super) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(super) const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");

/// A JSON document.
pub(super) fn json(status: StatusCode, document: &impl Serialize) -> Response {
    match serde_json::to_vec(document) {
        Ok(text) => typed(status, JSON, Body::from(text)),
        Err(error) => {
            tracing::error!(%error, "an answer cannot be written as JSON");
            empty(StatusCode::INTERNAL_SERVER_ERROR)
        }
    }
}

/// A failure of the request itself, in the words of the protocol.
pub(super) fn refused(status: StatusCode, id: Value, error: ErrorData) -> Response {
    json(status, &read::refusal(id, error))
}

/// A failure that a later attempt may not have.
pub(super) fn later(status: StatusCode, seconds: u64, message: &str) -> Response {
    let mut response = text(status, message);
    let seconds = HeaderValue::from(seconds);
    response.headers_mut().insert(RETRY_AFTER, seconds);
    response
}

/// A line for people.
pub(super) fn text(status: StatusCode, message: &str) -> Response {
    let kind = HeaderValue::from_static("text/plain; charset=utf-8");
    typed(status, kind, Body::from(format!("{message}\n")))
}

pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

fn typed(status: StatusCode, kind: HeaderValue, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// A stream of events, kept alive while nothing happens.
pub(super) fn events(messages: impl Stream<Item = Outgoing> + Send + 'static) -> Response {
    let body = Body::from_stream(Events {
        messages: Box::pin(messages),
        silence: Box::pin(tokio::time::sleep(KEEP_ALIVE)),
    });
    let mut response = typed(StatusCode::OK, EVENTS, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Proxies that gather output would hold messages back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

struct Events<S> {
    messages: Pin<Box<S>>,
    silence: Pin<Box<tokio::time::Sleep>>,
}

impl<S: Stream<Item = Outgoing>> Stream for Events<S> {
    type Item = Result<Bytes, Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.messages.as_mut().poll_next(cx);
        let chunk = match polled {
            Poll::Ready(None) => return Poll::Ready(None),
            Poll::Ready(Some(message)) => event(&message),
            Poll::Pending => {
                std::task::ready!(self.silence.as_mut().poll(cx));
                Bytes::from_static(b": still here\n\n")
            }
        };
        let until = tokio::time::Instant::now() + KEEP_ALIVE;
        self.silence.as_mut().reset(until);
        Poll::Ready(Some(Ok(chunk)))
    }
}

fn event(message: &Outgoing) -> Bytes {
    let mut text = b"event: message\ndata: ".to_vec();
    if let Err(error) = serde_json::to_writer(&mut text, message) {
        tracing::error!(%error, "a message cannot be written as JSON");
        return Bytes::from_static(b": a message was lost\n\n");
    }
    text.extend_from_slice(b"\n\n");
    Bytes::from(text)
}

/// A body that keeps something alive until it is sent.
pub(super) struct Holding<T> {
    body: Body,
    _held: T,
}

impl<T> Holding<T> {
    pub(super) fn response(response: Response, held: T) -> Response
    where
        T: Send + Unpin + 'static,
    {
        response.map(|body| Body::new(Self { body, _held: held }))
    }
}

impl<T: Unpin> HttpBody for Holding<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
