//! Running: an invoker that remembers, and the rules that every invoker keeps.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{Outcome, ToolDescriptor};
use toolsearch_invoke::{CallId, Invocation, InvokeError, Invoker};

use crate::wait::{PATIENCE, eventually, in_time};

/// Calls that run at once.
const AT_ONCE: u64 = 8;

/// Runs tools by name and remembers every call. A tool answers with its arguments as a structured
/// value, until it is told otherwise; a tool that was never named is gone.
#[derive(Debug, Default)]
pub struct RecordingInvoker {
    answers: BTreeMap<String, Answer>,
    calls: Mutex<Vec<Invocation>>,
    running: AtomicUsize,
}

#[derive(Debug, Clone)]
enum Answer {
    Echo,
    Fixed(Box<Result<Outcome, InvokeError>>),
    Never,
}

impl RecordingInvoker {
    /// Knows these tools, which give their arguments back.
    #[must_use]
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>) -> Self {
        let echo = |name: &str| (name.to_owned(), Answer::Echo);
        Self {
            answers: names.into_iter().map(echo).collect(),
            ..Self::default()
        }
    }

    /// Also knows a tool that always answers this.
    #[must_use]
    pub fn answering(self, name: &str, answer: Result<Outcome, InvokeError>) -> Self {
        self.with(name, Answer::Fixed(Box::new(answer)))
    }

    /// Also knows a tool that never answers.
    #[must_use]
    pub fn hanging(self, name: &str) -> Self {
        self.with(name, Answer::Never)
    }

    /// Every call so far, in the order in which they began.
    #[must_use]
    pub fn calls(&self) -> Vec<Invocation> {
        self.lock().clone()
    }

    /// Calls that run now.
    #[must_use]
    pub fn running(&self) -> usize {
        self.running.load(Ordering::SeqCst)
    }

    fn with(mut self, name: &str, answer: Answer) -> Self {
        self.answers.insert(name.to_owned(), answer);
        self
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Invocation>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct Running<'a>(&'a AtomicUsize);

impl<'a> Running<'a> {
    fn start(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[async_trait]
impl Invoker for RecordingInvoker {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let _running = Running::start(&self.running);
        self.lock().push(call.clone());
        match self.answers.get(&call.tool.name) {
            Some(Answer::Echo) => Ok(Outcome::structured(Value::Object(call.args))),
            Some(Answer::Fixed(answer)) => Result::clone(answer),
            Some(Answer::Never) => std::future::pending().await,
            None => Err(InvokeError::Gone {
                owner: call.tool.owner.clone(),
            }),
        }
    }
}

/// What a suite may do with an invoker.
pub struct Probe {
    invoker: Arc<dyn Invoker>,
    tool: Arc<ToolDescriptor>,
    args: Map<String, Value>,
    echo: Option<(Arc<ToolDescriptor>, ReadBack)>,
    endless: Option<Endless>,
}

type ReadBack = Box<dyn Fn(&Outcome) -> Option<Value> + Send + Sync>;

struct Endless {
    tool: Arc<ToolDescriptor>,
    args: Map<String, Value>,
    runs: Box<dyn Fn() -> bool + Send + Sync>,
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe")
            .field("invoker", &self.invoker)
            .field("tool", &self.tool.id)
            .finish_non_exhaustive()
    }
}

impl Probe {
    /// An invoker, and a call that it can do any number of times without an error.
    ///
    /// # Panics
    /// When `args` is no object.
    #[must_use]
    pub fn new(invoker: Arc<dyn Invoker>, tool: Arc<ToolDescriptor>, args: &Value) -> Self {
        Self {
            invoker,
            tool,
            args: object(args),
            echo: None,
            endless: None,
        }
    }

    /// A tool that takes any arguments and gives them back; `read` takes them out of the outcome.
    #[must_use]
    pub fn echoing(
        mut self,
        tool: Arc<ToolDescriptor>,
        read: impl Fn(&Outcome) -> Option<Value> + Send + Sync + 'static,
    ) -> Self {
        self.echo = Some((tool, Box::new(read)));
        self
    }

    /// A call that does not end by itself; `runs` tells whether its work goes on.
    ///
    /// # Panics
    /// When `args` is no object.
    #[must_use]
    pub fn endless(
        mut self,
        tool: Arc<ToolDescriptor>,
        args: &Value,
        runs: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        let args = object(args);
        let runs = Box::new(runs);
        self.endless = Some(Endless { tool, args, runs });
        self
    }

    fn call(&self, number: u64) -> Invocation {
        invocation(&self.tool, self.args.clone(), number)
    }
}

/// A call of a tool on behalf of nobody in particular.
#[must_use]
pub fn invocation(tool: &Arc<ToolDescriptor>, args: Map<String, Value>, number: u64) -> Invocation {
    Invocation::new(Arc::clone(tool), args, CallId::outer(number), PATIENCE)
}

/// Holds an invoker to the rules of the contract, as far as the probe reaches.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(probe: Probe) {
    runs(&probe, 1).await;
    an_unknown_tool_is_an_error(&probe).await;
    calls_run_at_once(&probe).await;
    arguments_arrive_unchanged(&probe).await;
    dropping_cancels(&probe).await;
    runs(&probe, 99).await;
}

async fn invoke(probe: &Probe, call: Invocation) -> Result<Outcome, InvokeError> {
    let invoker = Arc::clone(&probe.invoker);
    let task = tokio::spawn(async move { invoker.invoke(call).await });
    in_time("a call is answered", task)
        .await
        .expect("because a call must not panic")
}

async fn runs(probe: &Probe, number: u64) {
    let id = &probe.tool.id;
    let answer = invoke(probe, probe.call(number)).await;
    let outcome = answer.unwrap_or_else(|error| panic!("{id} runs: {error}"));
    assert!(!outcome.is_error, "{id} runs: {}", outcome.joined_text());
    assert!(
        outcome.content.iter().all(Value::is_object),
        "{id}: content is a list of blocks: {:?}",
        outcome.content
    );
}

async fn an_unknown_tool_is_an_error(probe: &Probe) {
    for name in ["no_such_tool_here", "\u{0}\u{202e}\n", "🚀", "constructor"] {
        let tool = &probe.tool;
        let unknown = ToolDescriptor::new(tool.source(), &tool.owner, name, json!({}))
            .expect("because neither part is empty");
        let call = invocation(&Arc::new(unknown), probe.args.clone(), 2);
        match invoke(probe, call).await {
            Ok(outcome) => assert!(outcome.is_error, "{name:?} does not exist and ran"),
            Err(error) => assert!(!error.to_string().is_empty(), "{name:?}: {error:?}"),
        }
    }
}

async fn calls_run_at_once(probe: &Probe) {
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|number| {
            let invoker = Arc::clone(&probe.invoker);
            let call = probe.call(10 + number);
            tokio::spawn(async move { invoker.invoke(call).await })
        })
        .collect();
    for task in tasks {
        let answer = in_time("every call of several at once is answered", task).await;
        let answer = answer.expect("because a call must not panic");
        let outcome = answer.unwrap_or_else(|error| panic!("one of several calls: {error}"));
        assert!(!outcome.is_error, "{}", outcome.joined_text());
    }
}

async fn arguments_arrive_unchanged(probe: &Probe) {
    let Some((tool, read)) = &probe.echo else {
        return;
    };
    let tasks: Vec<_> = (0..AT_ONCE)
        .map(|number| {
            let invoker = Arc::clone(&probe.invoker);
            let sent = arguments(number);
            let call = invocation(tool, sent.clone(), 30 + number);
            tokio::spawn(async move { (sent, invoker.invoke(call).await) })
        })
        .collect();
    for task in tasks {
        let answered = in_time("an echo answers", task).await;
        let (sent, answer) = answered.expect("because a call must not panic");
        let outcome = answer.unwrap_or_else(|error| panic!("{} echoes: {error}", tool.id));
        let back = read(&outcome);
        assert_eq!(
            back,
            Some(Value::Object(sent)),
            "{}: arguments arrive unchanged, and every answer at its own call",
            tool.id
        );
    }
}

async fn dropping_cancels(probe: &Probe) {
    let Some(endless) = &probe.endless else {
        return;
    };
    for number in 50..52 {
        let invoker = Arc::clone(&probe.invoker);
        let call = invocation(&endless.tool, endless.args.clone(), number);
        let task = tokio::spawn(async move { invoker.invoke(call).await });
        eventually("an endless call has begun or ended", || {
            (endless.runs)() || task.is_finished()
        })
        .await;
        assert!(!task.is_finished(), "{} ended", endless.tool.id);
        task.abort();
        let ended = in_time("a dropped call ends", task).await;
        assert!(ended.is_err_and(|error| error.is_cancelled()));
        eventually("dropping a call ends its work", || !(endless.runs)()).await;
        runs(probe, number + 10).await;
    }
}

/// Arguments of every kind, different for every number.
#[must_use]
pub fn arguments(number: u64) -> Map<String, Value> {
    object(&json!({
        "number": number,
        "text": "ç\u{0}\u{1b}\"\\\u{202e}🚀\u{2028}\r\n",
        "": null,
        "zulu": true,
        "alpha": [[], {}, [null, false, -1, 1.5]],
        "large": u64::MAX,
        "small": i64::MIN,
        "nested": {"args": {"id": "mcp:git:log", "args": {}}},
        "long": "x".repeat(20_000),
    }))
}

fn object(args: &Value) -> Map<String, Value> {
    args.as_object()
        .unwrap_or_else(|| panic!("arguments are an object, not {args}"))
        .clone()
}
