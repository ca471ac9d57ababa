//! Vectors of texts from a model in a folder: [`LocalModel`] reads the files of a BERT-like sentence
//! encoder, cuts texts into tokens and runs the encoder on the processor.
//!
//! Two layouts are read: `config.json`, `tokenizer.json` and `model.safetensors`, as sentence
//! transformers are published; and one packed file of 4-bit weights (`*.bin` that begins with `E5S1`).
//! Not here: getting models, keeping vectors, time limits. Nothing is ever downloaded.

mod encoder;
mod error;
mod folder;
mod local;
mod packed;
mod tokens;
mod unigram;
mod weights;

pub use error::OpenError;
pub use local::{LocalModel, Options};

#[cfg(test)]
mod tests;
