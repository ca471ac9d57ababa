//! What a server sends as a schema; see `laws::schema`.
#![no_main]

#[path = "../laws.rs"]
#[expect(dead_code, reason = "each target checks one of the laws")]
mod laws;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| laws::schema(bytes));
