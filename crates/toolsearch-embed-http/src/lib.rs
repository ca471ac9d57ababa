//! Vectors of texts from a server that speaks the embeddings API of OpenAI: `POST …/embeddings`. Many
//! programs on this machine and services elsewhere do.
//!
//! One request for one call, without repeats: whoever asks decides when to try again. Requests and answers
//! are bounded, redirects are not followed, and the key stands in no message. Texts of tools and queries go
//! to that server; nothing else does. Not here: keeping vectors, reading settings.

mod answer;
mod endpoint;
mod remote;

pub use endpoint::BadAddress;
pub use remote::{Options, RemoteModel};

#[cfg(test)]
mod tests;
