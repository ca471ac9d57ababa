//! What a worker sends; see `laws::frames`.
#![no_main]

#[path = "../laws.rs"]
#[expect(dead_code, reason = "each target checks one of the laws")]
mod laws;

libfuzzer_sys::fuzz_target!(|input: (u8, u16, Vec<u8>)| {
    let (chunk, max, bytes) = input;
    laws::frames(&bytes, usize::from(chunk), usize::from(max));
});
