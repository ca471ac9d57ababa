//! The gateway over HTTP, as callers see it on the wire.

mod access;
mod client;
mod forms;
mod life;
mod served;
mod tls;
