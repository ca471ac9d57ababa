//! One message a line, with a limit, however the bytes arrive.

use tokio::io::{AsyncBufRead, AsyncBufReadExt};

/// A line without its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line {
    Whole(Vec<u8>),
    /// Longer than the limit; its bytes are gone.
    TooLong,
}

/// The next line; a last one without an end counts. `None` when there are no more, or none can be
/// read.
pub(super) async fn next(input: &mut (impl AsyncBufRead + Unpin), max: usize) -> Option<Line> {
    let mut bytes = Vec::new();
    let mut too_long = false;
    let mut any = false;
    loop {
        let chunk = input.fill_buf().await.unwrap_or_default();
        if chunk.is_empty() {
            return any.then_some(line(bytes, too_long));
        }
        any = true;
        let end = chunk.iter().position(|byte| *byte == b'\n');
        let part = &chunk[..end.unwrap_or(chunk.len())];
        too_long |= bytes.len() + part.len() > max;
        if too_long {
            bytes = Vec::new();
        } else {
            bytes.extend_from_slice(part);
        }
        let used = end.map_or(chunk.len(), |end| end + 1);
        input.consume(used);
        if end.is_some() {
            return Some(line(bytes, too_long));
        }
    }
}

fn line(bytes: Vec<u8>, too_long: bool) -> Line {
    if too_long {
        Line::TooLong
    } else {
        Line::Whole(bytes)
    }
}
