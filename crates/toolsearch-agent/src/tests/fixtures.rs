//! A scripted model, a small office of tools, and sessions over it.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio::sync::Barrier;
use toolsearch::catalog::{Outcome, Source, ToolDescriptor};
use toolsearch::invoke::{Invocation, InvokeError, Invoker, Invokers, Listing};
use toolsearch::mode_directory::DirectoryMode;
use toolsearch::mode_tools::ToolsMode;
use toolsearch::policy::Subject;
use toolsearch::runtime::{Compaction, OpenRequest, Options, Runtime, Session};
use toolsearch::sandbox::NoEngine;

use crate::{
    Arguments, Call, ClientTools, Message, Model, ModelError, ModelRequest, ModelTurn, Observer,
    Step, Words,
};

/// Plays turns and remembers what it was asked.
#[derive(Debug, Default)]
pub(super) struct Script {
    turns: Mutex<VecDeque<Result<ModelTurn, ModelError>>>,
    asked: Mutex<Vec<ModelRequest>>,
}

impl Script {
    pub(super) fn new(turns: impl IntoIterator<Item = ModelTurn>) -> Arc<Self> {
        Arc::new(Self {
            turns: Mutex::new(turns.into_iter().map(Ok).collect()),
            asked: Mutex::default(),
        })
    }

    pub(super) fn failing(error: ModelError) -> Arc<Self> {
        let script = Self::default();
        script.turns.lock().expect("whole").push_back(Err(error));
        Arc::new(script)
    }

    /// What comes next.
    pub(super) fn plays(&self, turns: impl IntoIterator<Item = Result<ModelTurn, ModelError>>) {
        self.turns.lock().expect("whole").extend(turns);
    }

    pub(super) fn asked(&self) -> Vec<ModelRequest> {
        self.asked.lock().expect("whole").clone()
    }

    /// What the model was told about its calls, in order.
    pub(super) fn told(&self) -> Vec<String> {
        let asked = self.asked();
        let messages = asked.last().map(|request| request.messages.clone());
        let results = |message: Message| match message {
            Message::Results(results) => results,
            _ => Vec::new(),
        };
        let messages = messages.unwrap_or_default().into_iter();
        messages
            .flat_map(results)
            .map(|(_, answer)| answer.joined_text())
            .collect()
    }
}

#[async_trait]
impl Model for Script {
    fn name(&self) -> &str {
        "script"
    }

    async fn complete(
        &self,
        request: &ModelRequest,
        _: Option<&dyn Words>,
    ) -> Result<ModelTurn, ModelError> {
        self.asked.lock().expect("whole").push(request.clone());
        let next = self.turns.lock().expect("whole").pop_front();
        match next {
            Some(turn) => turn,
            None => std::future::pending().await,
        }
    }
}

pub(super) fn call(id: &str, name: &str, args: Value) -> Call {
    let Value::Object(args) = args else {
        panic!("{args} is no object");
    };
    Call::new(id, name, Arguments::Object(args))
}

/// Runs the office's tools and remembers what it ran.
#[derive(Debug)]
pub(super) struct Desk {
    ran: Mutex<Vec<(String, Map<String, Value>)>>,
    meeting: Barrier,
}

impl Desk {
    pub(super) fn ran(&self) -> Vec<String> {
        let ran = self.ran.lock().expect("whole");
        ran.iter().map(|(name, _)| name.clone()).collect()
    }
}

#[async_trait]
impl Invoker for Desk {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let name = call.tool.name.clone();
        self.ran
            .lock()
            .expect("whole")
            .push((name.clone(), call.args.clone()));
        if name.starts_with("meet") {
            // Goes on only when two calls are here at the same time.
            self.meeting.wait().await;
        }
        Ok(match name.as_str() {
            "fail" => Outcome::error("the printer burns"),
            _ => Outcome::text(format!("{name} {}", Value::Object(call.args))),
        })
    }
}

#[derive(Debug, Default)]
pub(super) struct Picker;

#[async_trait]
impl ClientTools for Picker {
    async fn call(&self, name: &str, args: Map<String, Value>) -> Outcome {
        Outcome::text(format!(
            "{name}: {}",
            args["from"][0].as_str().unwrap_or("none")
        ))
    }
}

fn listing(source: Source, owner: &str, names: &[&str]) -> Listing {
    let tool = |name: &&str| {
        let schema = json!({"type": "object"});
        let mut tool = ToolDescriptor::new(source, owner, name, schema).expect("legal");
        tool.description = format!("The {name} of the office.");
        Arc::new(tool)
    };
    Listing::new(source, owner, names.iter().map(tool).collect())
}

pub(super) struct Office {
    pub(super) session: Session,
    pub(super) desk: Arc<Desk>,
}

pub(super) async fn office(mode: &str) -> Office {
    let desk = Arc::new(Desk {
        ran: Mutex::default(),
        meeting: Barrier::new(2),
    });
    let mut parts = toolsearch::recommended_with(Arc::new(NoEngine));
    parts.mode = match mode {
        "directory" => Arc::new(DirectoryMode::default()),
        _ => Arc::new(ToolsMode),
    };
    parts.invokers = Invokers::new().bind(Source::Native, "office", Arc::clone(&desk) as _);
    let mut options = Options::default();
    if mode == "direct" {
        options.compaction = Compaction::Never;
    }
    let runtime = Runtime::new(parts, options).expect("parts that fit");
    let listings = vec![
        listing(
            Source::Native,
            "office",
            &["note", "fail", "meet_a", "meet_b"],
        ),
        listing(Source::Client, "client", &["pick_colour"]),
    ];
    let request = OpenRequest::new(Subject::anyone(), listings);
    let session = runtime.open(request).await.expect("a session");
    Office { session, desk }
}

/// Keeps every step as one line.
#[derive(Debug, Default)]
pub(super) struct Diary(Mutex<Vec<String>>);

impl Diary {
    pub(super) fn lines(&self) -> Vec<String> {
        self.0.lock().expect("whole").clone()
    }
}

impl Observer for Diary {
    fn step(&self, step: &Step<'_>) {
        self.0.lock().expect("whole").push(format!("{step:?}"));
    }
}
