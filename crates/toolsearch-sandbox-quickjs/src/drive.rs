//! Runs one program: start, jobs, answers, drain, result. One thing at a time, no thread, no clock.

use rquickjs::{
    Ctx, Function, Object, Persistent, Promise, Value, context::EvalOptions, promise::PromiseState,
};
use toolsearch_sandbox::{
    Bridge, ErrorCode, GuestOutcome, GuestProgram, Limits, RunError, StopFlag,
    javascript::{self, Normalized, Thrown, Why},
};

use crate::vm::{Link, Vm};

/// Memory on top of the limit for telling why a program failed, so that running out of it can be told.
const REPORT_BYTES: usize = 8 << 20;

pub(crate) fn run(
    vm: &Vm,
    program: &GuestProgram,
    limits: &Limits,
    stop: &StopFlag,
    bridge: Box<dyn Bridge>,
) -> GuestOutcome {
    vm.link.connect(bridge, stop);
    let source = javascript::normalize(&program.source);
    let end = match vm.limit(limits) {
        Ok(()) => vm
            .context
            .with(|ctx| match vm.control.clone().restore(&ctx) {
                Ok(control) => Run::new(vm, ctx, control, &source, limits).run(program),
                Err(_) => End::Error(unreadable()),
            }),
        Err(_) => End::Error(unreadable()),
    };
    let outcome = tell(vm, end, &source, limits);
    vm.link.disconnect();
    outcome
}

/// How the program ended, before its error was read.
enum End {
    Outcome(GuestOutcome),
    Error(RunError),
    /// Stopped where nothing was thrown.
    Stopped,
    Threw(Persistent<Value<'static>>, Why),
}

/// Reads the error of a failed program. Apart from the run, because it may need memory and steps that
/// the program has used up.
fn tell(vm: &Vm, end: End, source: &Normalized, limits: &Limits) -> GuestOutcome {
    let (reason, why) = match end {
        End::Outcome(outcome) => return outcome,
        End::Error(error) => return GuestOutcome::Failed(error),
        End::Stopped => return GuestOutcome::Failed(last_call(vm, source)),
        End::Threw(reason, why) => (reason, why),
    };
    vm.runtime
        .set_memory_limit(limits.memory_bytes.saturating_add(REPORT_BYTES));
    vm.link.grant_report();
    let thrown = vm.context.with(|ctx| {
        let control = vm.control.clone().restore(&ctx).ok()?;
        let reason = reason.restore(&ctx).ok()?;
        explain(&ctx, &control, reason)
    });
    let shift = vm.link.shift() + source.shift;
    let thrown = match (thrown, why) {
        (Some(thrown), _) => thrown,
        (None, Why::Stopped) => Thrown::default(),
        (None, _) => return GuestOutcome::Failed(unreadable()),
    };
    GuestOutcome::Failed(javascript::read(&Thrown { why, ..thrown }, source, shift))
}

/// The place of the last call, for a program that was stopped somewhere after it.
fn last_call(vm: &Vm, source: &Normalized) -> RunError {
    vm.link.grant_report();
    let site = vm.context.with(|ctx| {
        let control = vm.control.clone().restore(&ctx).ok()?;
        let last: Function<'_> = control.get("lastSite").ok()?;
        last.call::<_, String>(()).ok()
    });
    let thrown = Thrown {
        stack: site.unwrap_or_default(),
        why: Why::Stopped,
        ..Thrown::default()
    };
    javascript::read(&thrown, source, vm.link.shift() + source.shift)
}

fn explain<'js>(ctx: &Ctx<'js>, control: &Object<'js>, reason: Value<'js>) -> Option<Thrown> {
    let explain: Function<'_> = control.get("explain").ok()?;
    match explain.call::<_, String>((reason,)) {
        Ok(json) => serde_json::from_str(&json).ok(),
        Err(_) => {
            ctx.catch();
            None
        }
    }
}

struct Run<'a, 'js> {
    vm: &'a Vm,
    ctx: Ctx<'js>,
    control: Object<'js>,
    source: &'a Normalized,
    limits: &'a Limits,
    /// The next value is a script's, in a box.
    boxed: bool,
    /// The program has no `return`; its value is that of its last expression.
    script: bool,
    /// A lone function was called already.
    called: bool,
}

/// What the program has come to so far.
enum Main<'js> {
    Waiting(Promise<'js>),
    Done(Value<'js>),
    Threw(Value<'js>),
}

impl<'a, 'js> Run<'a, 'js> {
    fn new(
        vm: &'a Vm,
        ctx: Ctx<'js>,
        control: Object<'js>,
        source: &'a Normalized,
        limits: &'a Limits,
    ) -> Self {
        Self {
            vm,
            ctx,
            control,
            source,
            limits,
            boxed: false,
            script: false,
            called: false,
        }
    }

    fn run(mut self, program: &GuestProgram) -> End {
        let started = match self.begin(program) {
            Ok(()) => self.start(),
            Err(_) => return End::Error(unreadable()),
        };
        let mut main = match started {
            Ok(promise) => Main::Waiting(promise),
            Err((reason, _)) if self.link().is_over() => return self.give_up(Main::Threw(reason)),
            Err((reason, why)) => return self.threw(reason, why),
        };
        loop {
            self.run_jobs();
            if self.link().is_over() {
                return self.give_up(main);
            }
            main = self.follow(main);
            if self.ctx.execute_pending_job() || self.link().is_over() {
                continue;
            }
            let calls = self.count("callsOpen");
            if calls == 0 {
                match main {
                    Main::Done(value) => return self.conclude(value),
                    Main::Threw(reason) => return self.threw(reason, Why::Uncaught),
                    Main::Waiting(_) if self.count("timersLive") == 0 => {
                        return End::Error(never_settles());
                    }
                    Main::Waiting(_) => {}
                }
            }
            if self.take_answer().is_err() {
                return self.give_up(main);
            }
        }
    }

    fn link(&self) -> &Link {
        &self.vm.link
    }

    fn begin(&self, program: &GuestProgram) -> rquickjs::Result<()> {
        let begin: Function<'_> = self.control.get("begin")?;
        // Two halves, because numbers of the language hold 53 bits.
        let (high, low) = ((program.seed >> 32) as u32, program.seed as u32);
        begin.call((program.epoch_ms as f64, f64::from(high), f64::from(low)))
    }

    /// Evaluates the program, first as a script, whose last expression is its value, then as the body
    /// of an async function, where `return` is allowed. A text that does not parse starts nothing; it may have
    /// types.
    fn start(&mut self) -> Result<Promise<'js>, (Value<'js>, Why)> {
        let source = self.source;
        let started = self.start_text(&source.text);
        #[cfg(feature = "typescript")]
        if let Err((_, Why::Parsing)) = started
            && let Some(text) = crate::typescript::strip(&source.text)
        {
            return self.start_text(&text);
        }
        started
    }

    fn start_text(&mut self, text: &str) -> Result<Promise<'js>, (Value<'js>, Why)> {
        let as_script = match self.eval(text.to_owned(), true) {
            Ok(promise) => {
                self.boxed = true;
                self.script = true;
                return Ok(promise);
            }
            Err(reason) => reason,
        };
        let script = explain(&self.ctx, &self.control, as_script.clone());
        if script
            .as_ref()
            .is_none_or(|thrown| thrown.name != "SyntaxError")
        {
            return Err((as_script, Why::Uncaught));
        }
        let body = format!("{}{}{}", javascript::BODY_START, text, javascript::BODY_END);
        let as_body = match self.eval(body, false) {
            Ok(promise) => {
                self.link().set_shift(javascript::BODY_START.len());
                return Ok(promise);
            }
            Err(reason) => reason,
        };
        // The script's parser stops at the first `return`; what it says about the text before that
        // knows nothing of a wrapper and is the better answer.
        if script.as_ref().is_some_and(javascript::is_about_return) {
            self.link().set_shift(javascript::BODY_START.len());
            return Err((as_body, Why::Parsing));
        }
        Err((as_script, Why::Parsing))
    }

    fn eval(&self, text: String, script: bool) -> Result<Promise<'js>, Value<'js>> {
        let mut options = EvalOptions::default();
        options.strict = false;
        options.promise = script;
        options.filename = Some(javascript::FILE.to_owned());
        self.ctx
            .eval_with_options(text, options)
            .map_err(|_| self.ctx.catch())
    }

    fn run_jobs(&self) {
        while !self.link().is_over() && self.ctx.execute_pending_job() {}
    }

    /// Goes on from a settled promise: a script's box, a promise in a promise, a lone function.
    fn follow(&mut self, main: Main<'js>) -> Main<'js> {
        let Main::Waiting(promise) = main else {
            return main;
        };
        let value = match (promise.state(), promise.result::<Value<'_>>()) {
            (PromiseState::Pending, _) => return Main::Waiting(promise),
            (PromiseState::Resolved, Some(Ok(value))) => self.unbox(value),
            _ => {
                let reason = self.ctx.catch();
                self.tell_control("claim", promise.into_value());
                return Main::Threw(reason);
            }
        };
        let callable = !self.called;
        self.called |= value.is_function();
        let next = self.control.get("follow").and_then(|follow: Function<'_>| {
            follow.call::<_, Option<Promise<'_>>>((value.clone(), callable))
        });
        match next {
            Ok(Some(next)) => Main::Waiting(next),
            Ok(None) => Main::Done(value),
            Err(_) => Main::Threw(self.ctx.catch()),
        }
    }

    fn unbox(&mut self, value: Value<'js>) -> Value<'js> {
        if !std::mem::take(&mut self.boxed) {
            return value;
        }
        let inner = value
            .as_object()
            .and_then(|object| object.get("value").ok());
        inner.unwrap_or(value)
    }

    fn take_answer(&self) -> Result<(), ()> {
        let answer = self.link().receive().map_err(|_| ())?;
        let (ok, text) = match answer.answer {
            Ok(text) => (true, text),
            Err(error) => (false, serde_json::to_string(&error).map_err(|_| ())?),
        };
        self.tell_control("advance", answer.at_ms as f64);
        let settled = self
            .control
            .get("settle")
            .and_then(|settle: Function<'_>| settle.call::<_, ()>((answer.id, ok, text)));
        if settled.is_err() {
            // The answer did not fit into memory, or the run was stopped: the loop sees which.
            self.ctx.catch();
        }
        Ok(())
    }

    fn conclude(&self, value: Value<'js>) -> End {
        let mut hints = Vec::new();
        match self.first_lost() {
            Some((true, reason)) => return self.threw(reason, Why::NotAwaited),
            Some((false, reason)) => {
                let text = explain(&self.ctx, &self.control, reason);
                let text = text.map_or_else(|| "an error".to_owned(), |thrown| thrown.to_string());
                hints.push(format!(
                    "a promise was rejected and nothing handled it: {text}"
                ));
            }
            None => {}
        }
        let room = u32::try_from(self.limits.output_bytes).unwrap_or(u32::MAX);
        let rendered = self.control.get("render").and_then(|render: Function<'_>| {
            render.call::<_, Option<Vec<Value<'_>>>>((value, room))
        });
        let parts = match rendered {
            Ok(Some(parts)) => parts,
            Ok(None) => {
                hints.push("no value returned; end the program with `return <value>`".into());
                return End::Outcome(GuestOutcome::Nothing { hints });
            }
            Err(_) => {
                let reason = self.ctx.catch();
                if self.link().is_over() {
                    return self.give_up(Main::Threw(reason));
                }
                return self.threw(reason, Why::Uncaught);
            }
        };
        let text = parts
            .first()
            .and_then(|text| text.as_string()?.to_string().ok());
        let cut = parts.get(1).and_then(Value::as_bool).unwrap_or(false);
        if self.script && !self.called {
            hints.push("no `return`: the value of the last expression was taken".into());
        }
        match text {
            Some(head) if cut || head.len() > self.limits.output_bytes => {
                End::Outcome(GuestOutcome::Cut { head, hints })
            }
            Some(json) => End::Outcome(GuestOutcome::Value { json, hints }),
            None => End::Error(unreadable()),
        }
    }

    fn first_lost(&self) -> Option<(bool, Value<'js>)> {
        let first: Function<'_> = self.control.get("firstLost").ok()?;
        let found: Option<Object<'_>> = first.call(()).ok()?;
        let found = found?;
        Some((found.get("host").ok()?, found.get("reason").ok()?))
    }

    /// The program must not run on. What it has started is waited for, unless the host ended the run.
    fn give_up(&self, main: Main<'js>) -> End {
        if self.link().made_too_many_calls() && !self.link().is_stopped() {
            while self.link().has_open_calls() && self.link().receive().is_ok() {}
            return End::Error(too_many_calls(self.limits.calls));
        }
        let reason = match main {
            Main::Threw(reason) => Some(reason),
            Main::Waiting(promise) if promise.state() == PromiseState::Rejected => {
                let _ = promise.result::<Value<'_>>();
                Some(self.ctx.catch())
            }
            _ => None,
        };
        match reason {
            Some(reason) => self.threw(reason, Why::Stopped),
            None => End::Stopped,
        }
    }

    fn threw(&self, reason: Value<'js>, why: Why) -> End {
        End::Threw(Persistent::save(&self.ctx, reason), why)
    }

    fn count(&self, name: &str) -> u32 {
        let count = self
            .control
            .get(name)
            .and_then(|count: Function<'_>| count.call::<_, u32>(()));
        // Only being stopped makes this fail; then the loop ends for that reason.
        count.unwrap_or(1)
    }

    fn tell_control(&self, name: &str, argument: impl rquickjs::IntoJs<'js>) {
        let told = self
            .control
            .get(name)
            .and_then(|function: Function<'_>| function.call::<_, ()>((argument,)));
        if told.is_err() {
            self.ctx.catch();
        }
    }
}

fn too_many_calls(most: u32) -> RunError {
    RunError::new(
        ErrorCode::TooManyCalls,
        format!("the program made more than {most} calls"),
    )
    .with_hint("make fewer calls, or split the work into several programs")
}

fn never_settles() -> RunError {
    RunError::new(
        ErrorCode::GuestError,
        "the program waits for a promise that can never settle: no call and no timer is open",
    )
}

fn unreadable() -> RunError {
    RunError::new(ErrorCode::OutOfMemory, "the program ran out of memory")
}
