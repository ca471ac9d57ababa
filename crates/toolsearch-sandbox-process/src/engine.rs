//! The engine: starts workers, keeps one warm, and asks once which walls hold.

use std::{
    io::BufRead,
    sync::{Arc, OnceLock, mpsc},
    thread,
    time::{Duration, Instant},
};

use async_trait::async_trait;
use tokio::sync::Semaphore;
use toolsearch_sandbox::{
    Engine, ErrorCode, External, Host, Inspection, Layers, Ledger, Limits, Program, RunError,
    RunReport, Unsupported,
};

use crate::{
    conversation::{self, Greeting, NotMet, Ready, Task},
    keeper::Keeper,
    spawn::{Spawned, Worker},
    wire::{self, FromWorker},
    worker::is_worker,
};

/// A warm worker older than this is not used; it is about to go by itself.
const WARM_LIFE: Duration = Duration::from_secs(540);

/// Workers that are started for a run as long as something ends them before they are ready.
const STARTS: usize = 3;

/// Runs programs in worker processes, one process per run. Needs a tokio runtime with time and I/O while
/// a run is under way, and none in between.
#[derive(Debug)]
pub struct ProcessEngine {
    name: String,
    worker: Worker,
    external: Option<Interpreter>,
    options: Options,
    keeper: Keeper,
    /// The walls of a worker, required or not.
    seen: OnceLock<Result<Layers, Unsupported>>,
    places: Semaphore,
}

/// An interpreter that workers become.
#[derive(Debug)]
struct Interpreter {
    guest: Arc<dyn External>,
    launcher: OnceLock<Result<Worker, Unsupported>>,
}

impl Interpreter {
    fn launcher(&self, worker: &Worker) -> Result<&Worker, Unsupported> {
        let launcher = self.launcher.get_or_init(|| {
            let launch = self.guest.launch()?;
            let becoming = worker.becoming(&launch);
            becoming.map_err(|error| Unsupported::new(error.to_string()))
        });
        launcher.as_ref().map_err(Clone::clone)
    }
}

/// How workers are kept.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Workers that wait for a program, started after the first check or run. 1.
    pub warm: usize,
    /// Runs at once; more wait. 32.
    pub concurrent: usize,
    /// How long a worker may take to be ready. 5 s.
    pub start: Duration,
    /// Names of layers without which nothing is run. `no_new_privs` and `seccomp` on Linux, where they
    /// are always to be had; none elsewhere, where the embedded engine's own lack of I/O is the wall.
    pub required: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        let required: &[&str] = if cfg!(target_os = "linux") {
            &["no_new_privs", "seccomp"]
        } else {
            &[]
        };
        Self {
            warm: 1,
            concurrent: 32,
            start: Duration::from_secs(5),
            required: required.iter().map(|name| (*name).to_owned()).collect(),
        }
    }
}

impl ProcessEngine {
    /// An engine of this name, as its guest calls itself, in this worker. Starts nothing yet.
    #[must_use]
    pub fn new(name: impl Into<String>, worker: Worker) -> Self {
        Self::with_options(name, worker, Options::default())
    }

    /// The same with other options.
    #[must_use]
    pub fn with_options(name: impl Into<String>, worker: Worker, options: Options) -> Self {
        Self {
            name: name.into(),
            worker,
            external: None,
            places: Semaphore::new(options.concurrent.max(1)),
            options,
            keeper: Keeper::default(),
            seen: OnceLock::new(),
        }
    }

    /// An engine whose workers become this interpreter. The walls that it asks for are required as well.
    #[must_use]
    pub fn external(guest: Arc<dyn External>, worker: Worker, mut options: Options) -> Self {
        for name in guest.required() {
            if !options.required.iter().any(|other| other == name) {
                options.required.push((*name).to_owned());
            }
        }
        let mut engine = Self::with_options(guest.name(), worker, options);
        engine.external = Some(Interpreter {
            guest,
            launcher: OnceLock::new(),
        });
        engine
    }

    /// Has workers started until as many are warm as the options say. Does not wait for them, and leaves failures
    /// to the next run.
    pub fn warm_up(&self) {
        if self.options.warm > 0
            && let Ok(worker) = self.launcher()
        {
            self.keeper.warm(worker, self.options.warm);
        }
    }

    /// A warm worker that is still there, or a new one.
    async fn ready_worker(&self, limits: &Limits) -> Result<Ready, Unsupported> {
        while let Some(worker) = self.take_warm() {
            // It may have gone in the moment since; then another one is as good.
            if let Ok(ready) = conversation::meet(worker, &self.greeting(), limits).await {
                return Ok(ready);
            }
        }
        // One that was killed before it knew of a program has done nothing.
        for _ in 0..STARTS {
            match conversation::meet(self.spawn()?, &self.greeting(), limits).await {
                Ok(ready) => return Ok(ready),
                Err(NotMet::Unsupported(why)) => return Err(why),
                Err(NotMet::Killed) => {}
            }
        }
        Err(Unsupported::new(
            "something ends every worker before it is ready",
        ))
    }

    fn take_warm(&self) -> Option<Spawned> {
        while let Some(mut worker) = self.keeper.shelf.with(Vec::pop) {
            if worker.age() < WARM_LIFE && worker.status().is_none() {
                return Some(worker);
            }
        }
        None
    }

    fn spawn(&self) -> Result<Spawned, Unsupported> {
        let worker = self.launcher()?;
        // An interpreter dies with the thread that started it.
        let spawned = match &self.external {
            Some(_) => self.keeper.start(worker),
            None => worker.spawn(),
        };
        spawned.map_err(|error| Unsupported::new(format!("the worker cannot be started: {error}")))
    }

    /// What is started for a run.
    fn launcher(&self) -> Result<&Worker, Unsupported> {
        if is_worker() {
            return Err(Unsupported::new(
                "a worker cannot start workers; `main` must ask `is_worker()` before anything else",
            ));
        }
        match &self.external {
            Some(external) => external.launcher(&self.worker),
            None => Ok(&self.worker),
        }
    }

    fn probe(&self) -> Result<Layers, Unsupported> {
        let mut worker = self.spawn()?;
        let stdout = worker.child.stdout.take();
        let stdout = stdout.ok_or_else(|| Unsupported::new("the worker has no output"))?;
        let (sender, receiver) = mpsc::sync_channel(1);
        // Ends with the worker's pipe, at the latest when the worker is killed below.
        thread::spawn(move || {
            let mut line = Vec::new();
            let mut reader =
                std::io::BufReader::new(std::io::Read::take(stdout, wire::ENVELOPE as u64));
            let _ = sender.send(reader.read_until(b'\n', &mut line).map(|_| line));
        });
        let line = receiver.recv_timeout(self.options.start);
        drop(worker);
        let line = line.map_err(|_| conversation::not_ready(self.options.start))?;
        let line =
            line.map_err(|error| Unsupported::new(format!("the worker is gone: {error}")))?;
        self.greeting()
            .read(serde_json::from_slice::<FromWorker>(&line).ok())
    }

    /// Starts a worker once and remembers what it said.
    fn seen(&self) -> Result<&Layers, Unsupported> {
        let seen = self.seen.get_or_init(|| self.probe());
        seen.as_ref().map_err(Clone::clone)
    }

    fn greeting(&self) -> Greeting<'_> {
        Greeting {
            name: &self.name,
            required: &self.options.required,
            within: self.options.start,
        }
    }

    async fn run_in_worker(
        &self,
        program: Program,
        host: &Arc<dyn Host>,
        limits: &Limits,
    ) -> RunReport {
        let fail = |error: RunError| RunReport::failed(&self.name, error);
        if let Some(error) = program.oversize(limits) {
            return fail(error);
        }
        let (journal, program) = (program.journal.clone(), program.resumed(Default::default()));
        let ledger = match Ledger::new(journal, limits) {
            Ok(ledger) => ledger,
            Err(mismatch) => return fail(mismatch.into()),
        };
        let Ok(_place) = self.places.acquire().await else {
            return fail(RunError::new(
                ErrorCode::EngineUnavailable,
                "the engine is closed",
            ));
        };
        match self.ready_worker(limits).await {
            Ok(ready) => {
                let task = Task {
                    engine: &self.name,
                    external: self
                        .external
                        .as_ref()
                        .map(|external| external.guest.as_ref()),
                    program: &program,
                    limits,
                };
                let (report, worker) =
                    conversation::hold(ready, &task, ledger, host.as_ref()).await;
                self.keeper.bury(worker);
                report
            }
            Err(unsupported) => fail(unsupported.into()),
        }
    }
}

#[async_trait]
impl Engine for ProcessEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        let layers = self.seen()?;
        self.greeting().suffices(layers)?;
        self.warm_up();
        Ok(layers.clone())
    }

    fn inspect(&self) -> Vec<Inspection> {
        let refused = |layers, why| Inspection::new(&self.name, layers, Some(why));
        vec![match self.seen() {
            Ok(layers) => match self.greeting().suffices(layers) {
                Ok(()) => Inspection::new(&self.name, layers.clone(), None),
                Err(why) => refused(layers.clone(), why),
            },
            Err(why) => refused(Layers::default(), why),
        }]
    }

    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport {
        let started = Instant::now();
        let mut report = self.run_in_worker(program, &host, limits).await;
        report.duration = started.elapsed();
        if report
            .error()
            .is_none_or(|error| error.code != ErrorCode::EngineUnavailable)
        {
            self.warm_up();
        }
        report
    }
}
