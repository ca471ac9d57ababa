//! The lane with a client tool: the turn loop inside this process, a session with the plugin and a
//! tool that only the client can run.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch::catalog::{Outcome, Source, ToolDescriptor};
use toolsearch::invoke::{Invokers, Listing};
use toolsearch::mode_code::CodeMode;
use toolsearch::mode_directory::DirectoryMode;
use toolsearch::policy::Subject;
use toolsearch::runtime::{OpenRequest, Options, Runtime};
use toolsearch::telemetry::{MemoryRecorder, Summary};
use toolsearch_agent::{Agent, AgentReport, ClientTools, Dialect, End, Provider};
use toolsearch_plugin::{MANIFEST_FILE, Manifest, Plugin};

use crate::plugin;
use crate::provider::{KEY, MockProvider, Payload};
use crate::script::{Part, Script};
use crate::tally::Tally;

/// The client's tool.
pub(crate) const TOOL: &str = "choose_finish";
/// What the client's customer wants; nothing but the client knows it.
const CHOICE: &str = "linseed oil, two coats";

/// How the client's tool is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClientMode {
    /// By a program, hidden behind search.
    Code,
    /// By its name: the directory keeps client tools visible.
    Directory,
}

/// The client: a customer who is asked.
#[derive(Debug, Default)]
struct Customer {
    asked: Mutex<Vec<(String, Map<String, Value>)>>,
}

#[async_trait]
impl ClientTools for Customer {
    async fn call(&self, name: &str, args: Map<String, Value>) -> Outcome {
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        asked.push((name.to_owned(), args));
        Outcome::text(CHOICE)
    }
}

/// What the lane left behind.
struct Left {
    report: AgentReport,
    asked: Vec<(String, Map<String, Value>)>,
    payloads: Vec<Payload>,
    summary: Summary,
    effects: Vec<Value>,
}

/// Runs the lane and asserts.
pub(crate) fn check(
    mode: ClientMode,
    root: &Path,
    provider: &MockProvider,
    tally: &mut Tally,
) -> Result<()> {
    let (name, part) = match mode {
        ClientMode::Code => ("client", Part::ClientCode),
        ClientMode::Directory => ("client-dir", Part::ClientDirect),
    };
    let marker = format!("marker-{name}-{}", std::process::id());
    provider.play(Script { part, marker });
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let left = runtime.block_on(run(mode, root, provider))?;
    tally.point(name, "the client runs its own tool once", client_ran(&left));
    tally.point(
        name,
        "the model is shown what the mode says",
        shown(mode, &left),
    );
    tally.point(
        name,
        "the session tells where results came from",
        told(mode, &left),
    );
    Ok(())
}

async fn run(mode: ClientMode, root: &Path, provider: &MockProvider) -> Result<Left> {
    let recorder = Arc::new(MemoryRecorder::default());
    let effects = root.join(format!("effects-client-{mode:?}.jsonl"));
    let plugin = Arc::new(read_plugin(root, &effects)?);
    let mut parts = toolsearch::recommended();
    parts.recorder = Arc::clone(&recorder) as _;
    parts.invokers = plugin.bind(Invokers::new());
    parts.mode = match mode {
        ClientMode::Code => Arc::new(CodeMode),
        ClientMode::Directory => Arc::new(DirectoryMode::default()),
    };
    let runtime = Runtime::new(parts, Options::default())?;
    let listings = vec![plugin.listing(), client_listing()?];
    let session = runtime
        .open(OpenRequest::new(Subject::anyone(), listings))
        .await?;
    let name = session.id().to_owned();
    let customer = Arc::new(Customer::default());
    let model = Provider::new(
        Dialect::OpenAiChat,
        &provider.base_url(),
        Some(KEY),
        "scripted",
    )?;
    let report = Agent::new(session, Arc::new(model))
        .with_client_tools(Arc::clone(&customer) as _)
        .run("Please ask the customer.")
        .await;
    let payloads = provider.payloads()?;
    let summary = Summary::of(&name, &recorder.events()).context("nothing was recorded")?;
    let asked = customer
        .asked
        .lock()
        .unwrap_or_else(PoisonError::into_inner);
    Ok(Left {
        asked: asked.clone(),
        effects: plugin::effects(&effects)?,
        report,
        payloads,
        summary,
    })
}

/// The plugin of the other lanes with a file of its own: the environment of this process is theirs.
fn read_plugin(root: &Path, effects: &Path) -> Result<Plugin> {
    let folder = root.join("plugins").join(plugin::NAME);
    let text = std::fs::read_to_string(folder.join(MANIFEST_FILE))?;
    let json: String = text.lines().skip(1).collect();
    let mut manifest: Value = serde_json::from_str(&json)?;
    let command = manifest["command"].as_array_mut();
    command.context("no command")?.push(json!(effects));
    let manifest = Manifest::from_value(manifest, folder)?;
    Ok(Plugin::new(manifest))
}

fn client_listing() -> Result<Listing> {
    let schema = json!({
        "type": "object",
        "properties": {"wood": {"type": "string"}},
        "required": ["wood"],
    });
    let mut tool = ToolDescriptor::new(Source::Client, "client", TOOL, schema)?;
    tool.description = "Ask the customer which finish the wood gets.".to_owned();
    Ok(Listing::new(Source::Client, "client", vec![Arc::new(tool)]))
}

fn client_ran(left: &Left) -> Result<String, String> {
    let wood = Map::from_iter([("wood".to_owned(), json!("oak"))]);
    if left.asked != [(TOOL.to_owned(), wood)] {
        return Err(format!("the client was asked {:?}", left.asked));
    }
    if left.report.end != End::Answered || !left.report.answer.contains(CHOICE) {
        return Err(format!("{:?}: {}", left.report.end, left.report.answer));
    }
    Ok(format!("{TOOL} answered {CHOICE:?}"))
}

fn shown(mode: ClientMode, left: &Left) -> Result<String, String> {
    let declared = left.payloads[0].declared();
    match (mode, declared.contains(&TOOL)) {
        (ClientMode::Code, false) => Ok(format!("{TOOL} is hidden behind {}", declared.join(", "))),
        (ClientMode::Directory, true) => Ok(format!("{TOOL} is among {}", declared.join(", "))),
        _ => Err(format!("declared are {declared:?}")),
    }
}

/// A program that waited for the client goes on without running again what it had run.
fn told(mode: ClientMode, left: &Left) -> Result<String, String> {
    let mut wanted = vec![format!("client:client:{TOOL}")];
    if mode == ClientMode::Code {
        wanted.insert(0, format!("plugin:{}:{}", plugin::NAME, plugin::TARGET));
    }
    let calls = &left.summary.calls;
    let ran: Vec<&str> = calls.iter().map(|call| call.id.as_str()).collect();
    if ran != wanted || !calls.iter().all(|call| call.ok) {
        return Err(format!("the calls were {calls:?}"));
    }
    let on_disk = wanted.len() - 1;
    if left.effects.len() != on_disk {
        let seen = left.effects.len();
        return Err(format!("{seen} effects on disk, not {on_disk}"));
    }
    Ok(wanted.join(", then "))
}
