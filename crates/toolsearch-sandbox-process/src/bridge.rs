//! The worker's end of the pipe, as a guest sees it.

use std::{
    io::{self, Write},
    sync::mpsc::{Receiver, TryRecvError},
};

use toolsearch_sandbox::{
    Bridge, BridgeClosed, GuestAnswer, GuestCall, GuestOutcome, HostError, LogBuffer, LogLine,
};

use crate::wire::{self, FromWorker};

/// Log text that may wait for company before it is written.
const LOG_CHUNK: usize = 8 << 10;

/// What the reading thread hands over.
#[derive(Debug)]
pub(crate) enum Incoming {
    Run(Box<crate::wire::Run>),
    Answer(GuestAnswer),
    Stop,
}

/// The conversation of one run. Counts the answers that were taken, so that the host knows when a wait
/// is a real one.
#[derive(Debug)]
pub(crate) struct Pipe {
    incoming: Receiver<Incoming>,
    outgoing: String,
    logs: LogBuffer,
    seen: u64,
}

impl Pipe {
    pub(crate) fn new(incoming: Receiver<Incoming>, output_bytes: usize) -> Self {
        Self {
            incoming,
            outgoing: String::new(),
            logs: LogBuffer::new(output_bytes),
            seen: 0,
        }
    }

    fn send(&mut self, line: &str) -> Result<(), BridgeClosed> {
        self.outgoing.push_str(line);
        self.flush()
    }

    fn flush(&mut self) -> Result<(), BridgeClosed> {
        let written = write_all(self.outgoing.as_bytes());
        self.outgoing.clear();
        written.map_err(|_| BridgeClosed)
    }

    fn accept(&mut self, incoming: Incoming) -> Result<GuestAnswer, BridgeClosed> {
        match incoming {
            Incoming::Answer(answer) => {
                self.seen += 1;
                Ok(answer)
            }
            Incoming::Run(_) | Incoming::Stop => Err(BridgeClosed),
        }
    }
}

impl Bridge for Pipe {
    fn call(&mut self, call: &GuestCall<'_>) -> Result<(), BridgeClosed> {
        self.send(&wire::call_line(call.id, call.method, call.args))
    }

    fn sleep(&mut self, id: u32, ms: u64) -> Result<(), BridgeClosed> {
        self.send(&FromWorker::Sleep { id, ms }.to_line())
    }

    fn log(&mut self, line: LogLine) -> Result<(), BridgeClosed> {
        if self.logs.push(line.text.clone()) {
            self.outgoing.push_str(&wire::log_line(line));
        }
        if self.outgoing.len() > LOG_CHUNK {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed> {
        let incoming = match self.incoming.try_recv() {
            Ok(incoming) => incoming,
            Err(TryRecvError::Disconnected) => return Err(BridgeClosed),
            Err(TryRecvError::Empty) => {
                let seen = self.seen;
                self.send(&FromWorker::Wait { seen }.to_line())?;
                self.incoming.recv().map_err(|_| BridgeClosed)?
            }
        };
        self.accept(incoming)
    }
}

/// What is still to be told when the guest is gone: kept log lines, then the outcome.
impl Drop for Pipe {
    fn drop(&mut self) {
        let (skipped, lines) = self.logs.take_tail();
        if skipped > 0 {
            self.outgoing
                .push_str(&FromWorker::Skipped { lines: skipped }.to_line());
        }
        for line in lines {
            self.outgoing.push_str(&wire::late_log_line(line));
        }
        // A host that is gone is noticed by the reading thread.
        let _ = self.flush();
    }
}

/// Reports the outcome.
pub(crate) fn finish(outcome: GuestOutcome) {
    let _ = write_all(wire::done_line(outcome).as_bytes());
}

pub(crate) fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// The answer of a frame, or nothing if the frame says both a value and an error. The value `null` reads
/// as neither.
pub(crate) fn answer_of(frame: &wire::Answer<'_>) -> Option<GuestAnswer> {
    let answer: Result<String, HostError> = match (frame.value, &frame.error) {
        (Some(value), None) => Ok(value.get().to_owned()),
        (None, Some(error)) => Err(error.clone()),
        (None, None) => Ok("null".to_owned()),
        (Some(_), Some(_)) => return None,
    };
    Some(GuestAnswer::new(frame.id, frame.at_ms, answer))
}
