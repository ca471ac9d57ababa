//! Tests of the loop over real sessions, of the wire form, and of HTTP over real sockets.

mod answers;
mod fixtures;
mod loops;
mod sockets;
mod wire;
