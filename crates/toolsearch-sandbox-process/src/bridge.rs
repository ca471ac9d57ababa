//! The worker's end of the pipe, as a guest sees it.
//!
//! One thread reads, writes and runs the program. What the guest says waits for company until it has nothing
//! else to do, or is asked to look around.

use std::{
    collections::VecDeque,
    io::{self, Write},
};

use toolsearch_sandbox::{
    Bridge, BridgeClosed, GuestAnswer, GuestCall, GuestOutcome, HostError, LogBuffer, LogLine,
    StopFlag,
};

use crate::{
    lines::Lines,
    stdin,
    wire::{self, FromWorker, Run, ToWorker},
};

/// What may wait for company before it is written.
const CHUNK: usize = 8 << 10;

/// The conversation of one run. Counts the answers that were taken, so that the host knows when a wait
/// is a real one.
#[derive(Debug)]
pub(crate) struct Pipe {
    lines: Lines,
    /// Answers that came while the guest was busy.
    incoming: VecDeque<GuestAnswer>,
    outgoing: String,
    logs: LogBuffer,
    seen: u64,
    stop: StopFlag,
}

impl Pipe {
    /// Waits for the program.
    pub(crate) fn open(stop: StopFlag) -> Result<(Self, Run), String> {
        // The host is trusted, and the address space is limited.
        let mut lines = Lines::new(usize::MAX);
        let run = loop {
            if let Some(line) = lines.next().map_err(|error| error.to_string())? {
                match serde_json::from_slice(line) {
                    Ok(ToWorker::Run(run)) => break run,
                    _ => return Err("the first frame must be a program".to_owned()),
                }
            }
            fill(&mut lines).map_err(|error| error.to_string())?;
        };
        let pipe = Self {
            lines,
            incoming: VecDeque::new(),
            outgoing: String::new(),
            logs: LogBuffer::new(run.limits.output_bytes),
            seen: 0,
            stop,
        };
        Ok((pipe, run))
    }

    fn say(&mut self, line: &str) -> Result<(), BridgeClosed> {
        self.outgoing.push_str(line);
        if self.outgoing.len() > CHUNK {
            self.flush()
        } else {
            Ok(())
        }
    }

    fn flush(&mut self) -> Result<(), BridgeClosed> {
        if self.outgoing.is_empty() {
            return Ok(());
        }
        let written = write_all(self.outgoing.as_bytes());
        self.outgoing.clear();
        written.map_err(|_| BridgeClosed)
    }

    /// Takes the whole lines that were read.
    fn sort(&mut self) -> Result<(), BridgeClosed> {
        while let Some(line) = self.lines.next().map_err(|_| BridgeClosed)? {
            match serde_json::from_slice(line).map_err(|_| BridgeClosed)? {
                ToWorker::Answer(frame) => {
                    let answer = answer_of(&frame).ok_or(BridgeClosed)?;
                    self.incoming.push_back(answer);
                }
                ToWorker::Stop => self.stop.raise(),
                ToWorker::Run(_) => return Err(BridgeClosed),
            }
        }
        Ok(())
    }
}

impl Bridge for Pipe {
    fn call(&mut self, call: &GuestCall<'_>) -> Result<(), BridgeClosed> {
        self.say(&wire::call_line(call.id, call.method, call.args))
    }

    fn sleep(&mut self, id: u32, ms: u64) -> Result<(), BridgeClosed> {
        self.say(&FromWorker::Sleep { id, ms }.to_line())
    }

    fn log(&mut self, line: LogLine) -> Result<(), BridgeClosed> {
        if self.logs.push(line.text.clone()) {
            self.say(&wire::log_line(line))
        } else {
            Ok(())
        }
    }

    fn receive(&mut self) -> Result<GuestAnswer, BridgeClosed> {
        let mut told = false;
        loop {
            self.sort()?;
            if self.stop.is_raised() {
                return Err(BridgeClosed);
            }
            if let Some(answer) = self.incoming.pop_front() {
                self.seen += 1;
                return Ok(answer);
            }
            if !told {
                told = true;
                let seen = self.seen;
                self.say(&FromWorker::Wait { seen }.to_line())?;
            }
            self.flush()?;
            fill(&mut self.lines).map_err(|_| BridgeClosed)?;
        }
    }

    fn tend(&mut self) -> Result<(), BridgeClosed> {
        self.flush()?;
        while stdin::is_ready() {
            fill(&mut self.lines).map_err(|_| BridgeClosed)?;
            self.sort()?;
        }
        Ok(())
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
        // A host that is gone is noticed by the thread that watches it.
        let _ = self.flush();
    }
}

/// Blocks until more came.
fn fill(lines: &mut Lines) -> io::Result<()> {
    match lines.fill(&mut stdin::Stdin)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
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
