//! Tools that really run, a source of sessions over them, and a client that writes lines.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::io::{
    AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf,
};
use tokio::sync::{Notify, broadcast, mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolsearch_catalog::{Outcome, Source, ToolDescriptor};
use toolsearch_gateway::{
    ClientInfo, Gateway, GatewayOptions, News, ServeError, SessionSource, Shelf, SourceError,
};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing, Progress};
use toolsearch_mode::{Direct, Mode};
use toolsearch_mode_directory::DirectoryMode;
use toolsearch_mode_tools::ToolsMode;
use toolsearch_runtime::{Components, OpenRequest, Options, Runtime, Session};
use toolsearch_search_bm25::Bm25;

/// Long enough for a busy machine; nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) const NEWEST: &str = "2025-11-25";
pub(crate) const INLINE: &str = "2026-07-28";

/// What happened to tools that take their time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    Started(String),
    /// Its future is gone, whether it ended or was cancelled.
    Gone(String),
}

/// Runs every tool of the tests.
#[derive(Debug)]
pub(crate) struct Tools {
    pub(crate) calls: Mutex<Vec<(String, Map<String, Value>)>>,
    pub(crate) release: Notify,
    steps: mpsc::UnboundedSender<Step>,
}

struct Watched(String, mpsc::UnboundedSender<Step>);

impl Drop for Watched {
    fn drop(&mut self) {
        let _ = self.1.send(Step::Gone(self.0.clone()));
    }
}

#[async_trait]
impl Invoker for Tools {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let name = call.tool.name.clone();
        self.calls
            .lock()
            .unwrap()
            .push((name.clone(), call.args.clone()));
        match name.as_str() {
            "slow" => {
                let _ = self.steps.send(Step::Started(name.clone()));
                let _watched = Watched(name, self.steps.clone());
                self.release.notified().await;
                Ok(Outcome::text("released"))
            }
            "steps" => {
                let listener = call.progress.expect("the client listens");
                for done in [1.0, 2.0, 2.0, 3.0] {
                    listener.progress(Progress::new(done, Some(3.0), Some(format!("step {done}"))));
                }
                Ok(Outcome::text("done"))
            }
            "fails" => Ok(Outcome::error("it did not work")),
            "unavailable" => Err(InvokeError::Unavailable {
                owner: "demo".to_owned(),
                reason: "switched off".to_owned(),
            }),
            "panics" => panic!("a fault in a tool"),
            _ => match call.tool.meta.get("answer") {
                Some(answer) => Ok(Outcome::from_result_json(answer.clone())),
                None => Ok(Outcome::structured(Value::Object(call.args))),
            },
        }
    }
}

pub(crate) fn tool(name: &str) -> ToolDescriptor {
    owned("demo", name)
}

pub(crate) fn owned(owner: &str, name: &str) -> ToolDescriptor {
    let mut tool =
        ToolDescriptor::new(Source::Native, owner, name, json!({ "type": "object" })).unwrap();
    tool.description = format!("Tool {name} of the tests.");
    tool
}

/// A tool that gives this result.
pub(crate) fn answering(name: &str, answer: &str) -> ToolDescriptor {
    let mut tool = tool(name);
    tool.meta
        .insert("answer".to_owned(), serde_json::from_str(answer).unwrap());
    tool
}

/// Plans sessions over a list of tools that can be replaced.
#[derive(Debug)]
pub(crate) struct World {
    runtime: Runtime,
    pub(crate) tools: Arc<Tools>,
    listed: Mutex<Vec<Arc<ToolDescriptor>>>,
    changes: watch::Sender<u64>,
    pub(crate) opened: Mutex<Vec<ClientInfo>>,
    refusal: Option<&'static str>,
    pub(crate) shelves: Vec<Arc<dyn Shelf>>,
    news: broadcast::Sender<News>,
}

pub(crate) fn mode(name: &str) -> Arc<dyn Mode> {
    match name {
        "direct" => Arc::new(Direct),
        "tools" => Arc::new(ToolsMode),
        "directory" => Arc::new(DirectoryMode::default()),
        other => panic!("no mode {other}"),
    }
}

impl World {
    pub(crate) fn new(
        mode_name: &str,
        listed: Vec<ToolDescriptor>,
    ) -> (Self, mpsc::UnboundedReceiver<Step>) {
        let (steps, happened) = mpsc::unbounded_channel();
        let tools = Arc::new(Tools {
            calls: Mutex::default(),
            release: Notify::new(),
            steps,
        });
        let mut invokers = Invokers::new();
        for owner in ["demo", "other"] {
            invokers = invokers.bind(Source::Native, owner, Arc::clone(&tools) as _);
            invokers = invokers.bind(Source::Mcp, owner, Arc::clone(&tools) as _);
        }
        let mut parts = Components::default();
        parts.mode = mode(mode_name);
        parts.ranker = Arc::new(Bm25::default());
        parts.invokers = invokers;
        let world = Self {
            runtime: Runtime::new(parts, Options::default()).unwrap(),
            tools,
            listed: Mutex::new(listed.into_iter().map(Arc::new).collect()),
            changes: watch::channel(0).0,
            opened: Mutex::default(),
            refusal: None,
            shelves: Vec::new(),
            news: broadcast::Sender::new(16),
        };
        (world, happened)
    }

    pub(crate) fn refusing(mut self, why: &'static str) -> Self {
        self.refusal = Some(why);
        self
    }

    pub(crate) fn now_lists(&self, listed: Vec<ToolDescriptor>) {
        *self.listed.lock().unwrap() = listed.into_iter().map(Arc::new).collect();
        self.changes.send_modify(|count| *count += 1);
    }

    pub(crate) fn tells(&self, news: News) {
        self.news.send(news).expect("somebody listens");
    }

    pub(crate) fn says_changed(&self) {
        self.changes.send_modify(|count| *count += 1);
    }
}

#[async_trait]
impl SessionSource for World {
    async fn open(&self, client: &ClientInfo) -> Result<Session, SourceError> {
        if let Some(why) = self.refusal {
            return Err(SourceError::new(why));
        }
        self.opened.lock().unwrap().push(client.clone());
        let tools = self.listed.lock().unwrap().clone();
        let listing = Listing::new(Source::Native, "demo", tools);
        Ok(self
            .runtime
            .open(OpenRequest::new(Default::default(), vec![listing]))
            .await?)
    }

    fn shelves(&self) -> Vec<Arc<dyn Shelf>> {
        self.shelves.clone()
    }

    fn news(&self) -> Option<broadcast::Receiver<News>> {
        Some(self.news.subscribe())
    }

    fn changes(&self) -> Option<watch::Receiver<u64>> {
        Some(self.changes.subscribe())
    }
}

/// A served connection, seen from the client's end of the wire.
pub(crate) struct Wired {
    pub(crate) world: Arc<World>,
    pub(crate) steps: mpsc::UnboundedReceiver<Step>,
    output: Option<WriteHalf<DuplexStream>>,
    input: Lines<BufReader<ReadHalf<DuplexStream>>>,
    pub(crate) serving: JoinHandle<Result<(), ServeError>>,
}

pub(crate) fn options() -> GatewayOptions {
    let mut options = GatewayOptions::default();
    options.settle = Duration::from_millis(1);
    options.message_bytes = 1024 * 1024;
    options
}

impl Wired {
    pub(crate) fn over(
        world: (World, mpsc::UnboundedReceiver<Step>),
        options: GatewayOptions,
    ) -> Self {
        let (world, steps) = (Arc::new(world.0), world.1);
        let (near, far) = tokio::io::duplex(256 * 1024);
        let gateway = Gateway::new(Arc::clone(&world) as _).with_options(options);
        let (input, output) = tokio::io::split(far);
        let serving = tokio::spawn(async move { gateway.serve(input, output).await });
        let (input, output) = tokio::io::split(near);
        let input = BufReader::new(input).lines();
        Self {
            world,
            steps,
            output: Some(output),
            input,
            serving,
        }
    }

    /// Not greeted yet.
    pub(crate) fn raw(mode: &str, tools: Vec<ToolDescriptor>) -> Self {
        Self::over(World::new(mode, tools), options())
    }

    /// Through the handshake.
    pub(crate) async fn open(mode: &str, tools: Vec<ToolDescriptor>) -> Self {
        let mut wired = Self::raw(mode, tools);
        let answer = wired.initialize(NEWEST).await;
        assert_eq!(answer["result"]["protocolVersion"], NEWEST);
        wired
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let params = json!({
            "protocolVersion": version,
            "capabilities": {},
            "clientInfo": { "name": "by hand", "version": "7" },
        });
        let answer = self.ask("hello", "initialize", params).await;
        if answer.get("result").is_some() {
            self.write(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#)
                .await;
        }
        answer
    }

    pub(crate) async fn write(&mut self, line: &str) {
        let output = self.output.as_mut().expect("still open");
        output.write_all(line.as_bytes()).await.unwrap();
        output.write_all(b"\n").await.unwrap();
    }

    pub(crate) async fn send(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message =
            json!({ "jsonrpc": "2.0", "id": id.into(), "method": method, "params": params });
        self.write(&message.to_string()).await;
    }

    pub(crate) async fn call(&mut self, id: impl Into<Value>, tool: &str, arguments: Value) {
        let params = json!({ "name": tool, "arguments": arguments });
        self.send(id, "tools/call", params).await;
    }

    pub(crate) async fn cancel(&mut self, id: impl Into<Value>) {
        let params = json!({ "requestId": id.into(), "reason": "no longer needed" });
        let message =
            json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.write(&message.to_string()).await;
    }

    /// The next line, as it is; `None` when the server closed its side.
    pub(crate) async fn line(&mut self) -> Option<String> {
        timeout(PATIENCE, self.input.next_line())
            .await
            .expect("an answer in time")
            .unwrap()
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.line().await.expect("the server still speaks");
        serde_json::from_str(&line).expect("every line is one JSON value")
    }

    pub(crate) async fn ask(&mut self, id: impl Into<Value>, method: &str, params: Value) -> Value {
        self.send(id, method, params).await;
        self.next().await
    }

    pub(crate) async fn result(&mut self, tool: &str, arguments: Value) -> Value {
        self.call(1, tool, arguments).await;
        let mut answer = self.next().await;
        assert_eq!(answer["id"], 1, "{answer}");
        answer["result"].take()
    }

    pub(crate) async fn list(&mut self) -> Vec<Value> {
        let mut answer = self.ask("list", "tools/list", json!({})).await;
        serde_json::from_value(answer["result"]["tools"].take()).unwrap()
    }

    /// Two pings prove that nothing was sent in between.
    pub(crate) async fn is_quiet(&mut self) {
        for id in ["quiet 1", "quiet 2"] {
            let answer = self.ask(id, "ping", json!({})).await;
            assert_eq!(answer, json!({ "jsonrpc": "2.0", "id": id, "result": {} }));
        }
    }

    pub(crate) async fn happened(&mut self) -> Step {
        timeout(PATIENCE, self.steps.recv())
            .await
            .expect("in time")
            .expect("tools are there")
    }

    /// Closes both directions at once.
    pub(crate) fn vanish(self) -> JoinHandle<Result<(), ServeError>> {
        self.serving
    }

    pub(crate) async fn shut(&mut self) {
        let mut output = self.output.take().expect("still open");
        output.shutdown().await.unwrap();
    }

    pub(crate) fn received(&self) -> Vec<(String, Map<String, Value>)> {
        self.world.tools.calls.lock().unwrap().clone()
    }
}
