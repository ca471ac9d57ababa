//! Tests of the loop over real sessions, of requests in every dialect, and of HTTP over real sockets.

mod fixtures;
mod loops;
mod sockets;
mod wire;
