//! Frames are lines: bytes up to a newline, at most so many. JSON text never holds a raw newline.

use std::{io, ops::Range};

/// Collects bytes and gives out whole lines, in memory bounded by the longest allowed line and one read.
#[derive(Debug)]
pub(crate) struct Lines {
    bytes: Vec<u8>,
    start: usize,
    /// Bytes after `start` that are known to hold no newline.
    scanned: usize,
    max: usize,
}

/// A line is longer than allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a frame is longer than {max} bytes")]
pub(crate) struct TooLong {
    max: usize,
}

impl Lines {
    pub(crate) fn new(max: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            scanned: 0,
            max,
        }
    }

    /// The next whole line, without its newline.
    pub(crate) fn next(&mut self) -> Result<Option<&[u8]>, TooLong> {
        let range = self.next_range()?;
        Ok(range.map(|range| &self.bytes[range]))
    }

    fn next_range(&mut self) -> Result<Option<Range<usize>>, TooLong> {
        let from = self.start + self.scanned;
        match self.bytes[from..].iter().position(|byte| *byte == b'\n') {
            Some(at) if self.scanned + at > self.max => Err(TooLong { max: self.max }),
            Some(at) => {
                let range = self.start..from + at;
                self.start = range.end + 1;
                self.scanned = 0;
                Ok(Some(range))
            }
            None => {
                self.scanned = self.bytes.len() - self.start;
                if self.scanned > self.max {
                    Err(TooLong { max: self.max })
                } else {
                    Ok(None)
                }
            }
        }
    }

    /// Where more bytes are appended. Lines that were given out are forgotten.
    pub(crate) fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.drain(..self.start);
        self.start = 0;
        &mut self.bytes
    }

    /// Appends one read of a blocking source; tells how much came, 0 at its end.
    pub(crate) fn fill(&mut self, source: &mut impl io::Read) -> io::Result<usize> {
        let mut chunk = [0; 16 << 10];
        let count = source.read(&mut chunk)?;
        self.room().extend_from_slice(&chunk[..count]);
        Ok(count)
    }
}

#[cfg(test)]
mod tests;
