//! The reading of frames as a function of bytes, for fuzzing.

use std::io::Read;

use crate::{lines::Lines, wire::FromWorker};

/// Reads what a worker sent, `chunk` bytes at a time, as the host does: how many frames came before the first
/// thing that is none, and whether there was such a thing. Bytes after the last whole line wait.
///
/// Equal bytes are read alike, in whichever pieces they come, and memory stays within `max` and one piece.
///
/// # Panics
/// When more is held than that.
#[doc(hidden)]
#[must_use]
pub fn read_frames(mut bytes: &[u8], chunk: usize, max: usize) -> (usize, bool) {
    let chunk = chunk.max(1);
    let mut lines = Lines::new(max);
    let mut frames = 0;
    loop {
        loop {
            match lines.next() {
                Ok(Some(line)) => match serde_json::from_slice::<FromWorker>(line) {
                    Ok(_) => frames += 1,
                    Err(_) => return (frames, true),
                },
                Ok(None) => break,
                Err(_) => return (frames, true),
            }
        }
        let held = lines.room().len();
        assert!(held <= max + chunk, "{held} bytes are held");
        let mut piece = Read::take(&mut bytes, u64::try_from(chunk).unwrap_or(u64::MAX));
        match lines.fill(&mut piece) {
            Ok(count) if count > 0 => {}
            _ => return (frames, false),
        }
    }
}

#[cfg(test)]
mod tests;
