//! The runtime with the prelude loaded, and the few functions through which the prelude leaves it.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeSet,
    rc::Rc,
};

use rquickjs::{
    Context, Ctx, Exception, Function, Module, Object, Persistent, Runtime, Value,
    loader::{ImportAttributes, Resolver, bundle::Bundle},
};
use toolsearch_sandbox::{
    Bridge, BridgeClosed, GuestAnswer, GuestCall, Limits, LogLevel, LogLine, StopFlag,
};

/// The prelude as a module, compiled by the build script.
static MODULES: &[(&str, &[u8])] = &[(
    PRELUDE,
    include_bytes!(concat!(env!("OUT_DIR"), "/prelude.bytecode")),
)];

const PRELUDE: &str = "prelude";

/// Most characters of one log line and of one error text.
const LINE_CHARACTERS: usize = 16 << 10;

/// Most characters of a module's name in an error.
const NAME_CHARACTERS: usize = 200;

/// How often the runtime may look whether it is over (once in 10,000 steps) while a failure is told.
const REPORT_LOOKS: u32 = 50;

/// A loaded runtime. The order of fields is the order in which they may go.
pub(crate) struct Vm {
    pub(crate) control: Persistent<Object<'static>>,
    native: Persistent<Object<'static>>,
    pub(crate) context: Context,
    pub(crate) runtime: Runtime,
    pub(crate) link: Rc<Link>,
}

/// What the driver and the functions of the prelude share.
#[derive(Debug, Default)]
pub(crate) struct Link {
    bridge: RefCell<Option<Box<dyn Bridge>>>,
    open: RefCell<BTreeSet<u32>>,
    stop: RefCell<StopFlag>,
    closed: Cell<bool>,
    too_many_calls: Cell<bool>,
    /// Looks that the runtime may still take while a failure is told, once the program is over.
    grace: Cell<u32>,
    /// Columns that were put before the program's first line.
    shift: Cell<usize>,
}

impl Vm {
    pub(crate) fn load() -> rquickjs::Result<Self> {
        let runtime = Runtime::new()?;
        let context = Context::full(&runtime)?;
        let link = Rc::new(Link::default());
        let watched = link.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || watched.must_break())));
        runtime.set_loader(OnlyThePrelude::default(), Bundle(MODULES));
        let (control, native) = context.with(|ctx| {
            let native = natives(&ctx, &link)?;
            let module: Object<'_> = Module::import(&ctx, PRELUDE)?.finish()?;
            let prelude: Function<'_> = module.get("default")?;
            let control: Object<'_> = prelude.call((native.clone(),))?;
            Ok::<_, rquickjs::Error>((
                Persistent::save(&ctx, control),
                Persistent::save(&ctx, native),
            ))
        })?;
        track_rejections(&runtime, control.clone());
        Ok(Self {
            control,
            native,
            context,
            runtime,
            link,
        })
    }

    /// Sets the numbers of this run, in the runtime and in the prelude.
    pub(crate) fn limit(&self, limits: &Limits) -> rquickjs::Result<()> {
        self.runtime.set_memory_limit(limits.memory_bytes);
        self.runtime.set_max_stack_size(limits.stack_bytes);
        self.context.with(|ctx| {
            let native = self.native.clone().restore(&ctx)?;
            native.set("callsMax", limits.calls)?;
            native.set("flyingMax", limits.in_flight.max(1))?;
            native.set("timersMax", limits.timers)?;
            // Room for the envelope around the arguments.
            let frame = limits.frame_bytes.saturating_sub(1024).min(1 << 30);
            native.set("frameMax", u32::try_from(frame).unwrap_or(u32::MAX))?;
            let line = LINE_CHARACTERS.min(limits.output_bytes.max(64));
            native.set("lineMax", u32::try_from(line).unwrap_or(u32::MAX))?;
            native.set(
                "textMax",
                u32::try_from(LINE_CHARACTERS).unwrap_or(u32::MAX),
            )
        })
    }
}

/// Lets one module be found, the first that is asked for: the prelude, before there is a program.
#[derive(Default)]
struct OnlyThePrelude {
    found: bool,
}

impl Resolver for OnlyThePrelude {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        _: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        if std::mem::replace(&mut self.found, true) {
            let name: String = name.chars().take(NAME_CHARACTERS).collect();
            let text = format!("could not load module '{name}'");
            return Err(Exception::throw_reference(ctx, &text));
        }
        Ok(name.to_owned())
    }
}

impl Link {
    pub(crate) fn connect(&self, bridge: Box<dyn Bridge>, stop: &StopFlag) {
        *self.bridge.borrow_mut() = Some(bridge);
        *self.stop.borrow_mut() = stop.clone();
    }

    pub(crate) fn disconnect(&self) {
        self.bridge.borrow_mut().take();
    }

    /// Lets the prelude tell why a program failed, for a bounded number of steps.
    pub(crate) fn grant_report(&self) {
        self.grace.set(REPORT_LOOKS);
    }

    fn must_break(&self) -> bool {
        // Not while the program talks to the host, which does the same.
        if let Ok(mut bridge) = self.bridge.try_borrow_mut()
            && let Some(bridge) = bridge.as_mut()
            && bridge.tend().is_err()
        {
            self.closed.set(true);
        }
        let left = self.grace.get();
        self.grace.set(left.saturating_sub(1));
        left == 0 && self.is_over()
    }

    /// Whether the program must not run on.
    pub(crate) fn is_over(&self) -> bool {
        self.is_stopped() || self.too_many_calls.get()
    }

    /// Whether the host ended the run.
    pub(crate) fn is_stopped(&self) -> bool {
        self.closed.get() || self.stop.borrow().is_raised()
    }

    pub(crate) fn shift(&self) -> usize {
        self.shift.get()
    }

    pub(crate) fn set_shift(&self, columns: usize) {
        self.shift.set(columns);
    }

    pub(crate) fn made_too_many_calls(&self) -> bool {
        self.too_many_calls.get()
    }

    /// Whether calls, not sleeps, are on their way.
    pub(crate) fn has_open_calls(&self) -> bool {
        !self.open.borrow().is_empty()
    }

    pub(crate) fn receive(&self) -> Result<GuestAnswer, BridgeClosed> {
        let answer = self.with_bridge(|bridge| bridge.receive())?;
        self.open.borrow_mut().remove(&answer.id);
        Ok(answer)
    }

    fn call(&self, id: u32, method: &str, args: &str) {
        self.open.borrow_mut().insert(id);
        let _ = self.with_bridge(|bridge| bridge.call(&GuestCall { id, method, args }));
    }

    fn log(&self, level: u32, text: String) {
        let level = match level {
            0 => LogLevel::Debug,
            2 => LogLevel::Warn,
            3 => LogLevel::Error,
            _ => LogLevel::Info,
        };
        let _ = self.with_bridge(|bridge| bridge.log(LogLine::new(level, text)));
    }

    fn with_bridge<T>(
        &self,
        act: impl FnOnce(&mut dyn Bridge) -> Result<T, BridgeClosed>,
    ) -> Result<T, BridgeClosed> {
        let result = match self.bridge.borrow_mut().as_deref_mut() {
            Some(bridge) => act(bridge),
            None => Err(BridgeClosed),
        };
        if result.is_err() {
            self.closed.set(true);
        }
        result
    }
}

fn natives<'js>(ctx: &Ctx<'js>, link: &Rc<Link>) -> rquickjs::Result<Object<'js>> {
    let native = Object::new(ctx.clone())?;
    let to = link.clone();
    let call = move |id: u32, method: String, args: String| to.call(id, &method, &args);
    native.set("call", Function::new(ctx.clone(), call)?)?;
    let to = link.clone();
    let sleep = move |id: u32, ms: f64| {
        // The prelude gives whole milliseconds between 0 and a day.
        let ms = if ms.is_finite() && ms > 0.0 {
            ms as u64
        } else {
            0
        };
        let _ = to.with_bridge(|bridge| bridge.sleep(id, ms));
    };
    native.set("sleep", Function::new(ctx.clone(), sleep)?)?;
    let to = link.clone();
    let log = move |level: u32, text: String| to.log(level, text);
    native.set("log", Function::new(ctx.clone(), log)?)?;
    let to = link.clone();
    let too_many = move || to.too_many_calls.set(true);
    native.set("tooManyCalls", Function::new(ctx.clone(), too_many)?)?;
    let bytes = |text: String| text.len() as f64;
    native.set("bytes", Function::new(ctx.clone(), bytes)?)?;
    Ok(native)
}

/// Tells the prelude of rejections that nobody handles, and of those handled later.
fn track_rejections(runtime: &Runtime, control: Persistent<Object<'static>>) {
    runtime.set_host_promise_rejection_tracker(Some(Box::new(
        move |ctx: Ctx<'_>, promise: Value<'_>, reason: Value<'_>, handled: bool| {
            let told = control.clone().restore(&ctx).and_then(|control| {
                let rejected: Function<'_> = control.get("rejected")?;
                rejected.call::<_, ()>((promise, reason, handled))
            });
            if told.is_err() {
                // Out of memory or stopped; the run ends with that, not with this rejection.
                ctx.catch();
            }
        },
    )));
}
