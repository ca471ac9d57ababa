//! How long a value is as JSON.

use std::io;

use serde::Serialize;

/// Bytes of a value as JSON, counted without making its text. The value needs keys that are text; of
/// any other the part before the fault is counted.
#[must_use]
pub fn json_bytes(value: &impl Serialize) -> usize {
    let mut counted = Count(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut counted, value);
    counted.0
}

struct Count(usize);

impl io::Write for Count {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
