//! One run, from the host's side: a loop over frames, answers, the clock and the pipe.
//!
//! Everything happens in one task: dropping its future drops the host's calls and kills the worker.
//! Reading and writing go on independently, so that neither side can block the other.

use std::{
    ops::ControlFlow::{self, Break, Continue},
    time::Duration,
};

use futures::{
    StreamExt,
    future::{BoxFuture, FutureExt, pending},
    stream::FuturesUnordered,
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, sleep, sleep_until},
};
use toolsearch_sandbox::{
    ErrorCode, External, Host, HostReply, Issue, Ledger, Limits, LogBuffer, LogLine, Pause,
    Program, RunError, RunReport,
};

use crate::{
    clock::Clock,
    spawn::Spawned,
    wire::{self, FromWorker, Outcome},
};

mod ending;
mod meeting;
mod pipe;

use ending::End;
pub(crate) use meeting::{Greeting, NotMet, Ready, meet, not_ready};
use pipe::{Pipe, read_some};

/// How long a worker that was told to stop may take to say where it was.
const GRACE: Duration = Duration::from_millis(40);

/// The methods a guest has.
const METHODS: [&str; 3] = ["search", "describe", "call"];

/// What is to be run, by whom.
#[derive(Debug)]
pub(crate) struct Task<'a> {
    pub(crate) engine: &'a str,
    /// The interpreter that the worker became, if it did.
    pub(crate) external: Option<&'a dyn External>,
    pub(crate) program: &'a Program,
    pub(crate) limits: &'a Limits,
}

/// Runs a program in a worker, which is to be ended afterwards.
pub(crate) async fn hold(
    mut ready: Ready,
    task: &Task<'_>,
    ledger: Ledger,
    host: &dyn Host,
) -> (RunReport, Spawned) {
    let (program, limits) = (task.program, task.limits);
    let source = match task.external {
        Some(external) => external.source(&program.source),
        None => program.source.clone(),
    };
    let mut talk = Conversation::new(ledger, host, limits);
    talk.send(&wire::run_line(source, program, limits));
    let end = talk.run(&mut ready.pipe, task).await;
    let report = ending::report(
        task.engine,
        talk,
        end,
        &mut ready.worker,
        &ready.pipe.complaint,
    )
    .await;
    (report, ready.worker)
}

/// What happened next.
enum Event {
    TimeUp,
    Read(std::io::Result<usize>),
    Wrote(std::io::Result<usize>),
    Answered(u32, HostReply),
    Slept(u32),
    Complained(usize, Box<[u8; 512]>),
    Paused,
}

pub(crate) struct Conversation<'a> {
    host: &'a dyn Host,
    limits: &'a Limits,
    ledger: Ledger,
    logs: LogBuffer,
    clock: Clock,
    pause: Option<Pause>,
    calls: FuturesUnordered<BoxFuture<'a, (u32, HostReply)>>,
    sleeps: FuturesUnordered<BoxFuture<'a, u32>>,
    outgoing: Vec<u8>,
    made: u32,
    timers: u32,
    open: u32,
    /// Where the guest's clock starts to follow this run's.
    base_ms: u64,
    /// Answers handed over.
    sent: u64,
    /// The guest has seen them all and waits.
    waiting: bool,
    /// When a worker that was told to stop is killed.
    stop_by: Option<Instant>,
}

impl<'a> Conversation<'a> {
    fn new(ledger: Ledger, host: &'a dyn Host, limits: &'a Limits) -> Self {
        Self {
            host,
            limits,
            base_ms: ledger.recorded_until_ms(),
            ledger,
            logs: LogBuffer::new(limits.output_bytes),
            clock: Clock::start(limits.wall),
            pause: host.pause(),
            calls: FuturesUnordered::new(),
            sleeps: FuturesUnordered::new(),
            outgoing: Vec::new(),
            made: 0,
            timers: 0,
            open: 0,
            sent: 0,
            waiting: false,
            stop_by: None,
        }
    }

    fn send(&mut self, line: &str) {
        self.outgoing.extend_from_slice(line.as_bytes());
    }

    async fn run(&mut self, pipe: &mut Pipe, task: &Task<'_>) -> End {
        loop {
            while let Some(line) = match pipe.lines.next() {
                Ok(line) => line,
                Err(too_long) => return End::protocol(too_long.to_string()),
            } {
                let step = match serde_json::from_slice(line) {
                    Ok(frame) => self.frame(frame, task),
                    Err(_) => Break(End::protocol("the worker sent what is no frame")),
                };
                if let Break(end) = step {
                    return end;
                }
            }
            if let Break(end) = self.hand_over() {
                return end;
            }
            // Made before the clock is asked, so that no change goes unseen in between.
            let changed = self.pause.as_ref().map(Pause::changed);
            let held = self.pause.as_ref().is_some_and(Pause::is_held);
            self.clock
                .set_paused(held && self.waiting && self.stop_by.is_none());
            let event = self.next(pipe, changed).await;
            if let Break(end) = self.event(event, pipe) {
                return end;
            }
        }
    }

    async fn next(
        &mut self,
        pipe: &mut Pipe,
        changed: Option<toolsearch_sandbox::PauseChanged>,
    ) -> Event {
        let deadline = self.stop_by.or_else(|| self.clock.deadline());
        let (writes, calls, sleeps) = (
            !self.outgoing.is_empty(),
            !self.calls.is_empty(),
            !self.sleeps.is_empty(),
        );
        let mut complaint = Box::new([0; 512]);
        tokio::select! {
            biased;
            () = until(deadline) => Event::TimeUp,
            read = pipe.stdout.read_buf(pipe.lines.room()) => Event::Read(read),
            wrote = pipe.stdin.write(&self.outgoing), if writes => Event::Wrote(wrote),
            Some((id, reply)) = self.calls.next(), if calls => Event::Answered(id, reply),
            Some(id) = self.sleeps.next(), if sleeps => Event::Slept(id),
            count = read_some(&mut pipe.stderr, &mut complaint) => Event::Complained(count, complaint),
            () = edge(changed) => Event::Paused,
        }
    }

    fn event(&mut self, event: Event, pipe: &mut Pipe) -> ControlFlow<End> {
        match event {
            Event::TimeUp if self.stop_by.is_some() => return Break(End::TimedOut(None)),
            Event::TimeUp => {
                self.stop_by = Some(Instant::now() + GRACE);
                // A guest that does not take its answers does not take this either, and is killed.
                self.send(wire::STOP_LINE);
            }
            Event::Read(Ok(0) | Err(_)) => return Break(End::Died),
            Event::Wrote(Ok(count)) if count > 0 => {
                self.outgoing.drain(..count);
            }
            // The end of the worker shows at its output.
            Event::Wrote(_) => self.outgoing.clear(),
            Event::Answered(id, reply) => self.answered(id, reply),
            Event::Slept(id) => self.ledger.answer(id, self.now_ms(), Ok(Value::Null)),
            Event::Complained(0, _) => pipe.stderr = None,
            Event::Complained(count, text) => pipe.complain(&text[..count]),
            Event::Read(Ok(_)) | Event::Paused => {}
        }
        Continue(())
    }

    fn frame(&mut self, frame: FromWorker, task: &Task<'_>) -> ControlFlow<End> {
        match frame {
            FromWorker::Call { id, method, args } => self.call(id, &method, args),
            FromWorker::Sleep { id, ms } => self.sleep(id, ms),
            FromWorker::Log(line) => {
                self.log(line);
                Continue(())
            }
            FromWorker::Skipped { lines } => {
                self.logs.skip(lines);
                Continue(())
            }
            FromWorker::Wait { seen } => self.wait(seen),
            FromWorker::Done(outcome) => Break(self.done(task.read(outcome))),
            FromWorker::Ready { .. } | FromWorker::Refused { .. } => {
                Break(End::protocol("the worker greeted twice"))
            }
        }
    }

    fn call(&mut self, id: u32, method: &str, args: Value) -> ControlFlow<End> {
        self.made += 1;
        self.open += 1;
        self.waiting = false;
        if self.made > self.limits.calls {
            let text = format!("the program made more than {} calls", self.limits.calls);
            return Break(End::Failed(RunError::new(ErrorCode::TooManyCalls, text)));
        }
        if self.open > self.limits.in_flight {
            return Break(End::protocol("more calls at once than allowed"));
        }
        if !METHODS.contains(&method) || !args.is_object() {
            return Break(End::protocol("a call that no program can make"));
        }
        match self.ledger.issue(id, method, args.clone()) {
            Ok(Issue::Ask) => {
                let (host, method) = (self.host, method.to_owned());
                self.calls
                    .push(async move { (id, host.call(&method, args).await) }.boxed());
            }
            Ok(Issue::Recorded | Issue::Waiting) => {}
            Err(mismatch) => return Break(End::Failed(mismatch.into())),
        }
        Continue(())
    }

    fn sleep(&mut self, id: u32, ms: u64) -> ControlFlow<End> {
        self.timers += 1;
        self.waiting = false;
        if self.timers > self.limits.timers {
            return Break(End::protocol("more timers than allowed"));
        }
        match self.ledger.issue(id, "sleep", json!({ "ms": ms })) {
            Ok(Issue::Ask) => {
                let timer = sleep(Duration::from_millis(ms));
                self.sleeps.push(timer.map(move |()| id).boxed());
                Continue(())
            }
            Ok(_) => Continue(()),
            Err(mismatch) => Break(End::Failed(mismatch.into())),
        }
    }

    fn log(&mut self, line: LogLine) {
        if self.logs.push(line.text.clone()) {
            self.host.log(&line);
        }
    }

    fn wait(&mut self, seen: u64) -> ControlFlow<End> {
        if seen > self.sent {
            return Break(End::protocol("the worker saw answers that were never sent"));
        }
        self.waiting = seen == self.sent;
        match self.ledger.check_waiting() {
            Err(mismatch) if self.waiting => Break(End::Failed(mismatch.into())),
            _ => Continue(()),
        }
    }

    fn answered(&mut self, id: u32, reply: HostReply) {
        match reply {
            HostReply::Value(value) => self.ledger.answer(id, self.now_ms(), Ok(value)),
            HostReply::Error(error) => self.ledger.answer(id, self.now_ms(), Err(error)),
            HostReply::Suspend { handle } => self.ledger.suspend(id, handle),
            other => {
                let text = format!("the host's reply cannot be passed on: {other:?}");
                let error = toolsearch_sandbox::HostError::new(ErrorCode::ToolError, text);
                self.ledger.answer(id, self.now_ms(), Err(error));
            }
        }
    }

    /// Gives the guest every answer that is due, and sees whether it can go on at all.
    fn hand_over(&mut self) -> ControlFlow<End> {
        while let Some(entry) = self.ledger.next_answer() {
            if entry.method != "sleep" {
                self.open = self.open.saturating_sub(1);
            }
            let answer = entry.answer.into();
            self.send(&wire::answer_line(
                entry.call,
                entry.at_ms,
                &answer,
                self.limits.frame_bytes,
            ));
            self.sent += 1;
            self.waiting = false;
        }
        if !self.waiting || self.stop_by.is_some() {
            return Continue(());
        }
        if self.ledger.is_stuck() {
            return Break(End::Suspended);
        }
        if self.calls.is_empty() && self.sleeps.is_empty() {
            return Break(End::protocol("the worker waits for nothing"));
        }
        Continue(())
    }

    fn done(&mut self, outcome: Outcome) -> End {
        let completed = !matches!(outcome, Outcome::Failed(_));
        if completed && !self.calls.is_empty() {
            return End::protocol("the worker ended with calls under way");
        }
        match (outcome, self.ledger.check_done()) {
            (Outcome::Failed(error), _) if self.stop_by.is_some() => End::TimedOut(Some(error)),
            (Outcome::Failed(error), _) => End::Failed(*error),
            (_, Err(mismatch)) => End::Failed(mismatch.into()),
            (outcome, Ok(())) => End::Completed(outcome),
        }
    }

    /// The guest's clock.
    fn now_ms(&self) -> u64 {
        let here = u64::try_from(self.clock.charged().as_millis()).unwrap_or(u64::MAX);
        self.base_ms.saturating_add(here)
    }
}

impl Task<'_> {
    /// Reads what an interpreter says was thrown.
    fn read(&self, outcome: Outcome) -> Outcome {
        match (outcome, self.external) {
            (Outcome::Threw(thrown), Some(external)) => {
                let error = external.explain(&self.program.source, &thrown);
                Outcome::Failed(Box::new(error))
            }
            (Outcome::Threw(thrown), None) => {
                let text = thrown.message;
                Outcome::Failed(Box::new(RunError::new(ErrorCode::ProtocolError, text)))
            }
            (outcome, _) => outcome,
        }
    }
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => pending().await,
    }
}

async fn edge(changed: Option<toolsearch_sandbox::PauseChanged>) {
    match changed {
        Some(changed) => changed.await,
        None => pending().await,
    }
}
