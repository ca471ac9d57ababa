//! Reading a stream of server-sent events: whole events within a limit, however the network cuts it.

use std::time::Duration;

/// Largest event in bytes.
pub(super) const MAX_EVENT_BYTES: usize = 32 * 1024 * 1024;
/// Longest id or name of an event.
const MAX_FIELD_BYTES: usize = 8 * 1024;

/// One event.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(super) struct Event {
    /// `message` where nothing is said.
    pub(super) name: String,
    pub(super) data: Vec<u8>,
}

/// An event was longer than the limit.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct TooLong;

/// What was read of a stream so far.
#[derive(Debug)]
pub(super) struct Events {
    most: usize,
    line: Vec<u8>,
    after_cr: bool,
    first: bool,
    current: Event,
    has_data: bool,
    last_id: Option<String>,
    retry: Option<Duration>,
}

impl Events {
    pub(super) const fn new(most: usize) -> Self {
        Self {
            most,
            line: Vec::new(),
            after_cr: false,
            first: true,
            current: Event {
                name: String::new(),
                data: Vec::new(),
            },
            has_data: false,
            last_id: None,
            retry: None,
        }
    }

    /// The id of the last event that had one: from here a stream can be taken up again.
    pub(super) fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants a client to wait before it comes back.
    pub(super) const fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// Takes the next bytes and gives the events that they complete.
    pub(super) fn push(&mut self, mut bytes: &[u8]) -> Result<Vec<Event>, TooLong> {
        let mut events = Vec::new();
        while !bytes.is_empty() {
            if std::mem::take(&mut self.after_cr) && bytes[0] == b'\n' {
                bytes = &bytes[1..];
                continue;
            }
            let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &bytes[..end.unwrap_or(bytes.len())];
            if self.line.len() + part.len() + self.current.data.len() > self.most {
                return Err(TooLong);
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else {
                break;
            };
            self.after_cr = bytes[end] == b'\r';
            bytes = &bytes[end + 1..];
            let line = std::mem::take(&mut self.line);
            events.extend(self.take_line(&line));
        }
        Ok(events)
    }

    fn take_line(&mut self, line: &[u8]) -> Option<Event> {
        let line = match std::mem::take(&mut self.first) {
            true => line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line),
            false => line,
        };
        if line.is_empty() {
            let event = std::mem::take(&mut self.current);
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        let colon = line.iter().position(|&byte| byte == b':');
        let (field, value) = match colon {
            Some(colon) => (&line[..colon], &line[colon + 1..]),
            None => (line, &[][..]),
        };
        let value = value.strip_prefix(b" ").unwrap_or(value);
        match field {
            b"data" => {
                if self.has_data {
                    self.current.data.push(b'\n');
                }
                self.current.data.extend_from_slice(value);
                self.has_data = true;
            }
            b"event" if value.len() <= MAX_FIELD_BYTES => {
                self.current.name = String::from_utf8_lossy(value).into_owned();
            }
            b"id" if value.len() <= MAX_FIELD_BYTES && !value.contains(&0) => {
                self.last_id = Some(String::from_utf8_lossy(value).into_owned());
            }
            b"retry" => {
                let text = std::str::from_utf8(value).ok();
                let pause = text.and_then(|text| text.parse().ok());
                self.retry = pause.map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(name: &str, data: &str) -> Event {
        Event {
            name: name.to_owned(),
            data: data.as_bytes().to_vec(),
        }
    }

    #[test]
    fn events_do_not_depend_on_where_the_network_cuts() {
        let stream = "\u{feff}: hello\nid: 7\nretry: 250\ndata:\n\nevent: endpoint\r\ndata: /a\r\n\r\n\
                      data: {\"ä\":\rdata: 1}\r\rid\nnothing\n\ndata: lost";
        let expected = vec![
            event("", ""),
            event("endpoint", "/a"),
            event("", "{\"ä\":\n1}"),
        ];
        for size in 1..=stream.len() {
            let mut reader = Events::new(1000);
            let mut events = Vec::new();
            for chunk in stream.as_bytes().chunks(size) {
                events.extend(reader.push(chunk).expect("short"));
            }
            assert_eq!(events, expected, "in pieces of {size}");
            assert_eq!(reader.last_id(), Some(""));
            assert_eq!(reader.retry(), Some(Duration::from_millis(250)));
        }
    }

    #[test]
    fn an_event_over_the_limit_is_refused_as_soon_as_it_is() {
        let mut reader = Events::new(10);
        assert_eq!(reader.push(b"data: 12345678"), Err(TooLong));
        let mut reader = Events::new(20);
        assert!(reader.push(b"data: 1234567890\n").is_ok());
        assert_eq!(reader.push(b"data: 1234567890"), Err(TooLong));
    }
}
