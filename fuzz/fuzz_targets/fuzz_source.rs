//! What a model sends; see `laws::source`.
#![no_main]

#[path = "../laws.rs"]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| laws::source(text));
