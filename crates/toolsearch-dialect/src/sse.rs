//! Server-sent events: a bounded decoder over chunks of bytes, and the text of an event.

use std::fmt::Write as _;

use crate::stream::StreamFault;

/// Most bytes of one event, and of one line.
pub const MAX_EVENT_BYTES: usize = 8 * 1024 * 1024;

/// One event: its name, where it has one, and its data.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SseEvent {
    /// The `event` field.
    pub name: Option<String>,
    /// The `data` fields, joined by newlines.
    pub data: String,
}

impl SseEvent {
    /// An event without a name.
    #[must_use]
    pub fn data(data: impl Into<String>) -> Self {
        Self {
            name: None,
            data: data.into(),
        }
    }

    /// An event with a name.
    #[must_use]
    pub fn named(name: impl Into<String>, data: impl Into<String>) -> Self {
        Self {
            name: Some(name.into()),
            data: data.into(),
        }
    }

    /// The event as it stands on the wire, the empty line at its end included.
    #[must_use]
    pub fn to_wire(&self) -> String {
        let mut wire = String::with_capacity(self.data.len() + 32);
        if let Some(name) = &self.name {
            let _ = writeln!(wire, "event: {name}");
        }
        for line in self.data.split('\n') {
            let _ = writeln!(wire, "data: {line}");
        }
        wire.push('\n');
        wire
    }
}

/// Reads events out of bytes that come in any pieces.
#[derive(Debug, Default)]
pub struct SseDecoder {
    line: Vec<u8>,
    name: Option<String>,
    data: String,
    has_data: bool,
    after_return: bool,
    started: bool,
}

impl SseDecoder {
    /// Takes the next bytes and gives the events that they complete.
    ///
    /// # Errors
    /// [`StreamFault::TooLarge`] when a line or an event is longer than [`MAX_EVENT_BYTES`].
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<SseEvent>, StreamFault> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            let (text, end) = match piece.split_last() {
                Some((end @ (b'\n' | b'\r'), text)) => (text, Some(*end)),
                _ => (piece, None),
            };
            let second_half = self.after_return && text.is_empty() && end == Some(b'\n');
            self.after_return = end == Some(b'\r');
            if second_half {
                continue;
            }
            if self.line.len() + text.len() > MAX_EVENT_BYTES {
                return Err(StreamFault::TooLarge);
            }
            self.line.extend_from_slice(text);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                events.extend(self.take_line(&line)?);
            }
        }
        Ok(events)
    }

    /// What is complete at the end of the stream: some servers leave the last empty line out.
    ///
    /// # Errors
    /// As [`SseDecoder::push`].
    pub fn finish(&mut self) -> Result<Option<SseEvent>, StreamFault> {
        let line = std::mem::take(&mut self.line);
        self.take_line(&line)?;
        self.take_line(b"")
    }

    fn take_line(&mut self, line: &[u8]) -> Result<Option<SseEvent>, StreamFault> {
        let line = match line.strip_prefix(b"\xEF\xBB\xBF") {
            Some(rest) if !self.started => rest,
            _ => line,
        };
        self.started = true;
        if line.is_empty() {
            let name = self.name.take();
            if !std::mem::take(&mut self.has_data) {
                return Ok(None);
            }
            let data = std::mem::take(&mut self.data);
            return Ok(Some(SseEvent { name, data }));
        }
        let line = String::from_utf8_lossy(line);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => self.name = Some(value.to_owned()),
            "data" => {
                if self.data.len() + value.len() > MAX_EVENT_BYTES {
                    return Err(StreamFault::TooLarge);
                }
                if std::mem::replace(&mut self.has_data, true) {
                    self.data.push('\n');
                }
                self.data.push_str(value);
            }
            _ => {}
        }
        Ok(None)
    }
}
