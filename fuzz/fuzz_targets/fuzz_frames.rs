//! What a worker sends: any bytes are read without a panic, within bounds, alike in whichever pieces they come.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolsearch_sandbox_process::read_frames;

fuzz_target!(|input: (u8, u16, Vec<u8>)| {
    let (chunk, max, bytes) = input;
    let (chunk, max) = (usize::from(chunk), usize::from(max));
    let whole = read_frames(&bytes, bytes.len(), max);
    assert_eq!(read_frames(&bytes, chunk, max), whole);
});
