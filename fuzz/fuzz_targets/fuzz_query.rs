//! What a model asks; see `laws::query`.
#![no_main]

#[path = "../laws.rs"]
#[expect(dead_code, reason = "each target checks one of the laws")]
mod laws;

libfuzzer_sys::fuzz_target!(|input: (u8, &str)| laws::query(input.1, usize::from(input.0)));
