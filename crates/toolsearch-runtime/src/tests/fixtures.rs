//! Tools, parts and shorthand that the tests share.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{CatalogMode, Execution, Outcome, Source, ToolDescriptor};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing};
use toolsearch_mode::{Rendered, Request, Response};
use toolsearch_mode_directory::DirectoryMode;
use toolsearch_mode_tools::ToolsMode;
use toolsearch_policy::{Layer, LayerRules, Rules, Subject};
use toolsearch_search::ExactFirst;
use toolsearch_search_bm25::Bm25;
use toolsearch_telemetry::MemoryRecorder;

use crate::{Components, ModelCall, OpenRequest, Options, Reply, Runtime, Session};

/// Nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// Runs a handful of tools and remembers what it ran.
#[derive(Debug, Default)]
pub(super) struct Bench {
    ran: Mutex<Vec<(String, Value)>>,
    running: AtomicUsize,
    most: AtomicUsize,
}

impl Bench {
    pub(super) fn ran(&self) -> Vec<(String, Value)> {
        self.ran
            .lock()
            .expect("no test panics while holding it")
            .clone()
    }

    pub(super) fn most_at_once(&self) -> usize {
        self.most.load(Ordering::SeqCst)
    }
}

#[async_trait]
impl Invoker for Bench {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let now = self.running.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        let args = Value::Object(call.args.clone());
        self.ran
            .lock()
            .expect("not poisoned")
            .push((call.tool.name.clone(), args.clone()));
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        self.running.fetch_sub(1, Ordering::SeqCst);
        Ok(match call.tool.name.as_str() {
            "fail" => Outcome::error("E42: it did not work"),
            "large" => Outcome::text("x".repeat(300_000)),
            "wrong_shape" => Outcome::structured(json!({"count": "many"})),
            "hang" => {
                std::future::pending::<()>().await;
                Outcome::default()
            }
            _ => Outcome::structured(json!({"tool": call.tool.name, "args": args})),
        })
    }
}

pub(super) fn tool(source: Source, owner: &str, name: &str, description: &str) -> ToolDescriptor {
    let schema = json!({
        "type": "object",
        "properties": {
            "title": {"type": "string"},
            "count": {"type": "integer"},
        },
        "additionalProperties": false,
    });
    let mut tool = ToolDescriptor::new(source, owner, name, schema).expect("legal");
    tool.description = description.to_owned();
    tool
}

/// A small office: two owners, a client tool, a visible tool, tools that fail, hang or overflow.
pub(super) fn listings() -> Vec<Listing> {
    let mut needs_title = tool(
        Source::Mcp,
        "github",
        "create_issue",
        "Create an issue in a repository",
    );
    needs_title.input_schema = Arc::new(json!({
        "type": "object",
        "properties": {"title": {"type": "string"}, "body": {"type": "string"}},
        "required": ["title"],
    }));
    let mut visible = tool(
        Source::Native,
        "core",
        "ask_user",
        "Ask the user a question",
    );
    visible.catalog_mode = CatalogMode::DirectOnly;
    let mut alone = tool(
        Source::Native,
        "core",
        "alone",
        "Runs alone, never beside another",
    );
    alone.execution = Execution::Sequential;
    let mut shape = tool(
        Source::Native,
        "core",
        "wrong_shape",
        "Breaks its own promise",
    );
    shape.output_schema = Some(Arc::new(json!({
        "type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"],
    })));
    let github = vec![
        needs_title,
        tool(
            Source::Mcp,
            "github",
            "delete_issue",
            "Delete an issue for good",
        ),
        tool(
            Source::Mcp,
            "github",
            "search",
            "Search code and issues on GitHub",
        ),
    ];
    let core = vec![
        visible,
        alone,
        shape,
        tool(Source::Native, "core", "search", "Search the notes"),
        tool(Source::Native, "core", "fail", "Always fails"),
        tool(Source::Native, "core", "hang", "Never answers"),
        tool(Source::Native, "core", "large", "Gives a very large answer"),
    ];
    let client = vec![tool(
        Source::Client,
        "client",
        "pick_colour",
        "Let the user pick a colour",
    )];
    [
        (Source::Mcp, "github", github),
        (Source::Native, "core", core),
        (Source::Client, "client", client),
    ]
    .into_iter()
    .map(|(source, owner, tools)| {
        Listing::new(source, owner, tools.into_iter().map(Arc::new).collect())
    })
    .collect()
}

pub(super) struct Office {
    pub(super) runtime: Runtime,
    pub(super) bench: Arc<Bench>,
    pub(super) recorder: Arc<MemoryRecorder>,
}

/// A runtime over the office; `change` adjusts its parts and options.
pub(super) fn office(change: impl FnOnce(&mut Components, &mut Options)) -> Office {
    let bench = Arc::new(Bench::default());
    let recorder = Arc::new(MemoryRecorder::default());
    let mut parts = Components::default();
    parts.ranker = Arc::new(ExactFirst(Bm25::default()));
    parts.mode = Arc::new(ToolsMode);
    parts.fallback = Arc::new(ToolsMode);
    parts.recorder = Arc::clone(&recorder) as _;
    parts.invokers = Invokers::new()
        .bind(Source::Mcp, "github", Arc::clone(&bench) as _)
        .bind(Source::Native, "core", Arc::clone(&bench) as _);
    let mut options = Options::default();
    options.call_timeout = PATIENCE;
    change(&mut parts, &mut options);
    let runtime = Runtime::new(parts, options).expect("a working set of parts");
    Office {
        runtime,
        bench,
        recorder,
    }
}

impl Office {
    pub(super) async fn open(&self) -> Session {
        self.open_for(Subject::anyone()).await
    }

    pub(super) async fn open_for(&self, subject: Subject) -> Session {
        self.runtime
            .open(OpenRequest::new(subject, listings()))
            .await
            .expect("a session")
    }
}

pub(super) fn directory(parts: &mut Components) {
    parts.mode = Arc::new(DirectoryMode::default());
}

/// Rules with one global layer.
pub(super) fn rules(allow: Option<&[&str]>, deny: &[&str], ask: &[&str]) -> Arc<Rules> {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    let lists = LayerRules {
        allow: allow.map(owned),
        deny: owned(deny),
        ask: owned(ask),
    };
    Arc::new(
        Rules::new()
            .layer(Layer::Global, &lists, &Default::default())
            .expect("no groups"),
    )
}

pub(super) fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        other => panic!("{other} is no object"),
    }
}

/// What the model reads when it calls a name.
pub(super) async fn call(session: &Session, name: &str, arguments: Value) -> Rendered {
    match session.handle(ModelCall::new(name, arguments)).await {
        Reply::Done(rendered) => rendered,
        Reply::Pending(pending) => panic!("waits for {:?}", pending.calls()),
    }
}

/// What the model reads when it calls a catalog tool through the control.
pub(super) async fn tool_call(session: &Session, id: &str, args: Value) -> Rendered {
    call(session, "tool_call", json!({"id": id, "args": args})).await
}

/// The response to a typed request.
pub(super) async fn request(session: &Session, request: Request) -> Response {
    session
        .request(request)
        .await
        .expect("no client tool is called")
}

/// The code of a failed answer.
pub(super) fn code(rendered: &Rendered) -> Option<String> {
    let code = rendered.meta.as_ref()?.get("toolsearch/error")?.as_str()?;
    Some(code.to_owned())
}
