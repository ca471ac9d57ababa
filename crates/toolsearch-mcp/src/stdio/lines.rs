//! Splitting a stream of bytes into lines with a limit, however the pipe cuts it.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// One line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) bytes: Vec<u8>,
    /// False when the line was longer than the limit: then only its beginning is here.
    pub(super) whole: bool,
}

/// The next line, at most `max` bytes of it; the rest of a longer one is skipped. A last line
/// without an end counts. `None` at the end of the stream, and when it cannot be read.
pub(super) async fn next_line(input: &mut (impl AsyncBufRead + Unpin), max: usize) -> Option<Line> {
    let mut line = Line {
        bytes: Vec::new(),
        whole: true,
    };
    let mut any = false;
    loop {
        let Ok(chunk) = input.fill_buf().await else {
            return any.then_some(line);
        };
        if chunk.is_empty() {
            return any.then_some(line);
        }
        any = true;
        let end = chunk.iter().position(|&byte| byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        let room = max - line.bytes.len();
        line.whole &= part.len() <= room;
        line.bytes.extend_from_slice(&part[..part.len().min(room)]);
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            if line.bytes.last() == Some(&b'\r') {
                line.bytes.pop();
            }
            return Some(line);
        }
    }
}
