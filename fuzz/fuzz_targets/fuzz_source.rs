//! What a model sends; see `laws::source`.
#![no_main]

#[path = "../laws.rs"]
#[expect(dead_code, reason = "each target checks one of the laws")]
mod laws;

libfuzzer_sys::fuzz_target!(|text: &str| laws::source(text));
