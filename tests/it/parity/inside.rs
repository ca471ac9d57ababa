//! Doors of a session in this process: the control, a program's bridge, a visible tool, a hidden name.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tokio::task::JoinHandle;
use toolsearch::mode::{Mode, Role};
use toolsearch::mode_code::CodeMode;
use toolsearch::mode_directory::DirectoryMode;
use toolsearch::mode_tools::ToolsMode;
use toolsearch::policy::{
    ApprovalRequest, Approver, Glob, Layer, LayerRules, Rules, Subject, Verdict,
};
use toolsearch::runtime::{ModelCall, OpenRequest, Options, Reply, Runtime, Session};
use toolsearch::sandbox_process::{ProcessEngine, Worker};
use toolsearch::telemetry::{Event, MemoryRecorder};
use toolsearch_invoke::{Hook, Invokers, Provider};
use toolsearch_mcp::{McpServer, ServerSpec};
use toolsearch_plugin::{CommandHook, HookMoment, Manifest, Plugin};

use crate::support::{PATIENCE, json_text, program};

use super::door::{Answer, Call, Door, Kind, Pace};
use super::outside::found;
use super::programs;
use super::scene::{ABSENT, APPROVED, ASK, DENY, HOOKS, SERVER, Scene, manifest_value};

/// How a call is worded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Control,
    Bridge,
    Visible,
    Hidden,
}

pub(super) fn control(scene: &Scene) -> Inside {
    Inside::open(scene, Way::Control)
}

pub(super) fn bridge(scene: &Scene) -> Inside {
    Inside::open(scene, Way::Bridge)
}

pub(super) fn visible(scene: &Scene) -> Inside {
    Inside::open(scene, Way::Visible)
}

pub(super) fn hidden(scene: &Scene) -> Inside {
    Inside::open(scene, Way::Hidden)
}

/// Approves of some tools, one call at a time, and remembers what it was asked.
#[derive(Debug, Default)]
struct Clerk {
    asked: Mutex<Vec<String>>,
}

#[async_trait]
impl Approver for Clerk {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        let id = request.tool.as_str().to_owned();
        let approved = APPROVED.contains(&id.as_str());
        self.asked.lock().unwrap().push(id);
        match approved {
            true => Verdict::Once,
            false => Verdict::Denied("the clerk said no".to_owned()),
        }
    }
}

/// A session over the scene.
pub(super) struct Inside {
    way: Way,
    runtime: tokio::runtime::Runtime,
    session: Session,
    servers: Vec<Arc<McpServer>>,
    recorder: Arc<MemoryRecorder>,
    clerk: Arc<Clerk>,
}

impl Inside {
    fn open(scene: &Scene, way: Way) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap();
        let (recorder, clerk) = (
            Arc::new(MemoryRecorder::default()),
            Arc::new(Clerk::default()),
        );
        let engine = ProcessEngine::new("quickjs", Worker::path(program()));
        let mut parts = toolsearch::recommended_with(Arc::new(engine));
        parts.mode = match way {
            Way::Control | Way::Visible => Arc::new(ToolsMode) as Arc<dyn Mode>,
            Way::Bridge => Arc::new(CodeMode),
            Way::Hidden => Arc::new(DirectoryMode::default()),
        };
        parts.policy = Arc::new(rules());
        parts.approver = Arc::clone(&clerk) as Arc<dyn Approver>;
        parts.recorder = Arc::clone(&recorder) as _;
        parts.hooks = hooks(scene);
        let mut options = Options::default();
        options.code.wall = PATIENCE;
        if way == Way::Visible {
            options.always_visible = vec![Glob::new("*")];
        }
        let (command, args) = scene.server();
        let servers = vec![
            McpServer::new(ServerSpec::stdio(SERVER, command, args)),
            McpServer::new(ServerSpec::stdio(ABSENT, "./no-such-program", [""; 0])),
        ];
        let manifest = Manifest::from_value(manifest_value(), scene.plugin()).unwrap();
        let plugin = Arc::new(Plugin::new(manifest));
        parts.invokers = plugin.bind(Invokers::new());
        let mut listings = vec![plugin.listing()];
        for server in &servers {
            let (source, owner) = (server.source(), server.owner().to_owned());
            parts.invokers = parts.invokers.bind(source, &owner, Arc::clone(server) as _);
            listings.push(runtime.block_on(server.list()));
        }
        let composed = Runtime::new(parts, options).unwrap();
        let request = OpenRequest::new(Subject::anyone(), listings);
        let session = runtime.block_on(composed.open(request)).unwrap();
        assert!(session.fallback().is_none(), "{:?}", session.fallback());
        Self {
            way,
            runtime,
            session,
            servers,
            recorder,
            clerk,
        }
    }

    /// The call as a model words it.
    fn worded(&self, call: &Call) -> ModelCall {
        let (name, arguments) = match self.way {
            Way::Control => ("tool_call".to_owned(), call.to_json()),
            Way::Visible => (self.declared(call), call.args.clone()),
            Way::Bridge | Way::Hidden => (spelled(call), call.args.clone()),
        };
        ModelCall::new(name, arguments)
    }

    /// The name under which a tool is declared, or the one that a model would guess.
    fn declared(&self, call: &Call) -> String {
        let tools = &self.session.surface().tools;
        let of = |role: &Role| matches!(role, Role::Direct(id) if id.as_str() == call.id);
        let found = tools.iter().find(|tool| of(&tool.role));
        found.map_or_else(|| spelled(call), |tool| tool.name.clone())
    }

    async fn ask(session: Session, call: ModelCall) -> Value {
        let Reply::Done(rendered) = session.handle(call).await else {
            panic!("nothing here is run by a client");
        };
        let meta = rendered.meta.unwrap_or_default();
        json!({ "content": rendered.content, "isError": rendered.is_error, "_meta": meta })
    }

    fn run(&self, code: &str) -> Value {
        let call = ModelCall::new("tool_search_code", json!({ "code": code }));
        let result = self.runtime.block_on(Self::ask(self.session.clone(), call));
        let text = result["content"][0]["text"].as_str().unwrap();
        let ran: Value = serde_json::from_str(text).unwrap();
        assert_eq!(ran["ok"], true, "{ran}");
        ran["value"].clone()
    }
}

/// A tool's own name; where there is no such tool, its id tells whose it would be.
fn spelled(call: &Call) -> String {
    match call.id.contains(ABSENT) {
        true => call.id.clone(),
        false => call.name().to_owned(),
    }
}

impl Door for Inside {
    fn kind(&self) -> Kind {
        let program = self.way == Way::Bridge;
        Kind {
            nested: program,
            lasting: true,
            whole: program,
            asks: true,
        }
    }

    fn calls(&mut self, calls: &[Call], pace: Pace) -> Vec<Answer> {
        if self.way == Way::Bridge {
            return programs::answers(&self.run(&programs::program(calls, pace)));
        }
        let worded = calls.iter().map(|call| self.worded(call));
        let ask = |call| {
            let asked = Self::ask(self.session.clone(), call);
            self.runtime.spawn(asked)
        };
        let wait = |task: JoinHandle<Value>| self.runtime.block_on(task).unwrap();
        let results: Vec<Value> = match pace {
            Pace::InTurn => worded.map(|call| wait(ask(call))).collect(),
            Pace::AtOnce => {
                let tasks: Vec<_> = worded.map(ask).collect();
                tasks.into_iter().map(wait).collect()
            }
        };
        results.iter().map(Answer::of_result).collect()
    }

    fn search(&mut self, query: &str) -> Vec<String> {
        if self.way == Way::Bridge {
            return programs::ids(&self.run(&programs::searching(query)));
        }
        let call = ModelCall::new("tool_search", json!({ "query": query, "limit": 20 }));
        let result = self.runtime.block_on(Self::ask(self.session.clone(), call));
        found(&json_text(&result))
    }

    fn records(&self) -> Vec<Value> {
        let events = self.recorder.events().into_iter();
        events
            .filter(|stamped| matches!(stamped.event, Event::Called(_)))
            .map(|stamped| serde_json::to_value(stamped).unwrap())
            .collect()
    }

    fn questions(&self) -> Vec<String> {
        self.clerk.asked.lock().unwrap().clone()
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        for server in &self.servers {
            self.runtime.block_on(server.shutdown());
        }
    }
}

fn rules() -> Rules {
    let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
    let lists = LayerRules {
        allow: None,
        deny: owned(&DENY),
        ask: owned(&ASK),
    };
    let rules = Rules::new().layer(Layer::Global, &lists, &Default::default());
    rules.unwrap()
}

fn hooks(scene: &Scene) -> Vec<Arc<dyn Hook>> {
    let hook = |line: &super::scene::HookLine| {
        let moment = match line.after {
            true => HookMoment::After,
            false => HookMoment::Before,
        };
        let args = vec!["-c".to_owned(), line.script.to_owned()];
        let folder = scene.home.folder();
        let hook = CommandHook::new(line.name, moment, "sh", args, folder, HOOK_PATIENCE);
        let glob = Glob::new(line.tool);
        Arc::new(hook.matching(move |tool| glob.covers(tool))) as Arc<dyn Hook>
    };
    HOOKS.iter().map(hook).collect()
}

/// Nothing waits for it to pass.
const HOOK_PATIENCE: Duration = PATIENCE;
