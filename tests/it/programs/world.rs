//! A session over a few tools, and the answer to a program.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch::mode_code::CodeMode;
use toolsearch::sandbox_process::{ProcessEngine, Worker};
use toolsearch_catalog::{Outcome, Source, ToolDescriptor, text_block};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing};
use toolsearch_policy::{ApprovalRequest, Approver, Layer, LayerRules, Rules, Subject, Verdict};
use toolsearch_runtime::{Components, ModelCall, OpenRequest, Options, Reply, Runtime, Session};
use toolsearch_search::ExactFirst;
use toolsearch_search_bm25::Bm25;

use crate::support::program;

/// Wall clock of programs; none that ends by itself comes near it.
const WALL: Duration = Duration::from_secs(30);

/// The owner of the tools.
const OWNER: &str = "kit";

/// Does what the tools do.
#[derive(Debug, Default)]
struct Kit {
    kept: Mutex<Vec<Value>>,
    waiting: AtomicUsize,
    most_waiting: AtomicUsize,
}

#[async_trait]
impl Invoker for Kit {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let args = Value::Object(call.args);
        Ok(match call.tool.name.as_str() {
            "add_numbers" => {
                let number = |key: &str| args[key].as_i64().unwrap_or_default();
                Outcome::structured(json!({ "sum": number("a") + number("b") }))
            }
            "greeting" => Outcome::text("good morning"),
            "stock" => Outcome::text(r#"{"left":7,"sizes":[38,39]}"#),
            "break" => Outcome::error(args["why"].as_str().unwrap_or("broken")),
            "wait" => {
                let waiting = self.waiting.fetch_add(1, Ordering::SeqCst) + 1;
                self.most_waiting.fetch_max(waiting, Ordering::SeqCst);
                tokio::time::sleep(Duration::from_millis(args["ms"].as_u64().unwrap_or(0))).await;
                self.waiting.fetch_sub(1, Ordering::SeqCst);
                Outcome::structured(json!({ "label": args["label"] }))
            }
            "keep" => {
                self.kept.lock().unwrap().push(args["value"].clone());
                Outcome::structured(json!({ "kept": true }))
            }
            "photo" => {
                let mut outcome = Outcome::default();
                let data = "UE5H".repeat(5000);
                outcome.content = vec![
                    text_block("a photo"),
                    json!({ "type": "image", "mimeType": "image/png", "data": data }),
                ];
                outcome
            }
            "measure" => {
                let length = args["data"].as_str().map_or(0, str::len);
                Outcome::structured(json!({ "length": length }))
            }
            "sign" => Outcome::structured(json!({ "signed": true })),
            _ => Outcome::structured(args),
        })
    }
}

fn tool(name: &str, description: &str, properties: &Value) -> Arc<ToolDescriptor> {
    let schema = json!({ "type": "object", "properties": properties });
    let mut tool = ToolDescriptor::new(Source::Native, OWNER, name, Arc::new(schema)).unwrap();
    tool.description = description.to_owned();
    Arc::new(tool)
}

fn tools() -> Vec<Arc<ToolDescriptor>> {
    let text = json!({ "type": "string" });
    let number = json!({ "type": "integer" });
    vec![
        tool(
            "add_numbers",
            "Add two numbers.",
            &json!({ "a": number, "b": number }),
        ),
        tool("greeting", "Say a greeting.", &json!({})),
        tool("stock", "Tell the stock of shoes.", &json!({})),
        tool("break", "Fail on purpose.", &json!({ "why": text })),
        tool(
            "wait",
            "Wait a while.",
            &json!({ "ms": number, "label": text }),
        ),
        tool("keep", "Keep a value.", &json!({ "value": {} })),
        tool("photo", "Take a photo.", &json!({})),
        tool(
            "measure",
            "Measure the length of data.",
            &json!({ "data": text }),
        ),
        tool("sign", "Sign a contract.", &json!({})),
        tool(
            "read-report.v2/page",
            "Read a page of the report.",
            &json!({ "page": number }),
        ),
    ]
}

/// Answers after a while, or never.
#[derive(Debug)]
struct Person(Option<Duration>);

#[async_trait]
impl Approver for Person {
    async fn review(&self, _: ApprovalRequest) -> Verdict {
        match self.0 {
            Some(after) => {
                tokio::time::sleep(after).await;
                Verdict::Once
            }
            None => std::future::pending().await,
        }
    }
}

/// A session over the tools.
pub(super) struct World {
    runtime: tokio::runtime::Runtime,
    session: Session,
    kit: Arc<Kit>,
}

/// What came of a program.
#[derive(Debug)]
pub(super) struct Ran {
    /// The answer as JSON.
    pub(super) answer: Value,
    /// Blocks after the answer.
    pub(super) blocks: Vec<Value>,
    /// Bytes of the answer's text.
    pub(super) bytes: usize,
    pub(super) is_error: bool,
}

impl World {
    /// Nobody is asked for anything.
    pub(super) fn new() -> Self {
        Self::with(Person(None), &[], |_| {})
    }

    /// `sign` needs consent, which is given after a while or never.
    pub(super) fn asking(after: Option<Duration>, set: impl FnOnce(&mut Options)) -> Self {
        Self::with(Person(after), &["*:sign"], set)
    }

    /// With other options.
    pub(super) fn with_options(set: impl FnOnce(&mut Options)) -> Self {
        Self::with(Person(None), &[], set)
    }

    fn with(person: Person, ask: &[&str], set: impl FnOnce(&mut Options)) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let kit = Arc::new(Kit::default());
        let rules = LayerRules {
            allow: None,
            deny: Vec::new(),
            ask: ask.iter().map(|glob| (*glob).to_owned()).collect(),
        };
        let mut parts = Components::default();
        parts.policy = Arc::new(
            Rules::new()
                .layer(Layer::Global, &rules, &Default::default())
                .unwrap(),
        );
        parts.ranker = Arc::new(ExactFirst(Bm25::default()));
        parts.mode = Arc::new(CodeMode);
        parts.approver = Arc::new(person);
        parts.engine = Arc::new(ProcessEngine::new("quickjs", Worker::path(program())));
        let invoker: Arc<dyn Invoker> = Arc::clone(&kit) as Arc<dyn Invoker>;
        parts.invokers = Invokers::new().bind(Source::Native, OWNER, invoker);
        let mut options = Options::default();
        options.code.wall = WALL;
        set(&mut options);
        let listing = Listing::new(Source::Native, OWNER, tools());
        let composed = Runtime::new(parts, options).unwrap();
        let request = OpenRequest::new(Subject::anyone(), vec![listing]);
        let session = runtime.block_on(composed.open(request)).unwrap();
        assert_eq!(session.mode().name(), "code", "{:?}", session.fallback());
        Self {
            runtime,
            session,
            kit,
        }
    }

    /// What the control's description says.
    pub(super) fn description(&self) -> String {
        self.session.surface().tools[0].description.clone()
    }

    /// Values that `keep` was given.
    pub(super) fn kept(&self) -> Vec<Value> {
        self.kit.kept.lock().unwrap().clone()
    }

    /// Most calls of `wait` that were under way at once.
    pub(super) fn most_waiting(&self) -> usize {
        self.kit.most_waiting.load(Ordering::SeqCst)
    }

    /// Runs a program as a model sends it.
    pub(super) fn run(&self, code: &str) -> Ran {
        let call = ModelCall::new("tool_search_code", json!({ "code": code }));
        let reply = self.runtime.block_on(self.session.handle(call));
        let Reply::Done(rendered) = reply else {
            panic!("{code}: waits for a client");
        };
        let mut content = rendered.content.into_iter();
        let text = content.next().unwrap()["text"].as_str().unwrap().to_owned();
        Ran {
            answer: serde_json::from_str(&text).unwrap(),
            blocks: content.collect(),
            bytes: text.len(),
            is_error: rendered.is_error,
        }
    }

    /// The value of a program that must end well.
    #[track_caller]
    pub(super) fn value(&self, code: &str) -> Value {
        let ran = self.run(code);
        assert!(
            !ran.is_error && ran.answer["ok"] == true,
            "{code}\n{:#}",
            ran.answer
        );
        ran.answer["value"].clone()
    }

    /// The error of a program that must fail.
    #[track_caller]
    pub(super) fn error(&self, code: &str) -> Map<String, Value> {
        let ran = self.run(code);
        assert!(
            ran.is_error && ran.answer["ok"] == false,
            "{code}\n{:#}",
            ran.answer
        );
        ran.answer["error"].as_object().unwrap().clone()
    }

    /// The same, and every word must stand somewhere in it.
    #[track_caller]
    pub(super) fn error_mentions(&self, code: &str, words: &[&str]) -> Map<String, Value> {
        let error = self.error(code);
        let text = Value::Object(error.clone()).to_string();
        for word in words {
            assert!(text.contains(word), "{code}: no `{word}` in {text}");
        }
        error
    }
}
