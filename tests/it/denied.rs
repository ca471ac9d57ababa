//! A tool that policy denies is not there. Over generated catalogs and rules, a session says through
//! every door exactly what it would say if the denied tools did not exist: surface, counts, hits,
//! scores, suggestions, errors, events. And whatever it says holds no name of a denied tool.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use async_trait::async_trait;
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use serde_json::{Value, json};
use toolsearch::catalog::{CatalogMode, Outcome, Source, ToolDescriptor, Trust};
use toolsearch::mode::{Direct, Mode};
use toolsearch::mode_code::CodeMode;
use toolsearch::mode_directory::DirectoryMode;
use toolsearch::mode_tools::ToolsMode;
use toolsearch::policy::{
    Decision, Glob, Layer, LayerRules, Policy, Rules, Subject, with_built_in_groups,
};
use toolsearch::runtime::{
    Clock, Components, ModelCall, OpenRequest, Options, Reply, Runtime, Session,
};
use toolsearch::sandbox::{Engine, Host, HostReply, Program, RunReport, RunStatus, RunValue};
use toolsearch::search::ExactFirst;
use toolsearch::search_bm25::Bm25;
use toolsearch::telemetry::{Event, MemoryRecorder};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing};
use toolsearch_testing::engine::EngineFn;
use toolsearch_testing::policy::policy_fn;

const VERBS: [&str; 4] = ["get", "create", "delete", "list"];
const NOUNS: [&str; 4] = ["issue", "invoice", "message", "file"];
const OWNERS: [(Source, &str); 5] = [
    (Source::Mcp, "github"),
    (Source::Mcp, "vault"),
    (Source::Native, "core"),
    (Source::Plugin, "office"),
    (Source::Client, "client"),
];
/// Whoever may use everything, on the same runtime.
const ADMIN: &str = "admin";

/// A tool before it is one.
#[derive(Debug, Clone)]
struct Draft {
    owner: usize,
    verb: &'static str,
    noun: &'static str,
    word: usize,
    trusted: bool,
    pinned: bool,
}

impl Draft {
    /// A word that stands in the name of this tool and nowhere else.
    fn word(&self) -> String {
        let letter = |number: usize| char::from(b'a' + u8::try_from(number % 26).unwrap());
        let (high, low) = (letter(self.word / 5 + 3), letter(self.word * 7 + 1));
        format!("q{high}k{low}xw")
    }

    fn name(&self) -> String {
        format!("{}_{}_{}", self.verb, self.word(), self.noun)
    }

    /// The name as somebody writes it who does not know it well.
    fn misspelt(&self) -> String {
        self.name().replace("xw_", "xv_")
    }

    fn id(&self) -> String {
        let (source, owner) = OWNERS[self.owner];
        format!("{source}:{owner}:{}", self.name())
    }

    fn tool(&self) -> ToolDescriptor {
        let (source, owner) = OWNERS[self.owner];
        let schema = json!({
            "type": "object",
            "properties": { "title": { "type": "string" } },
            "additionalProperties": false,
        });
        let mut tool = ToolDescriptor::new(source, owner, &self.name(), schema).unwrap();
        tool.description = format!("{} one {} and tell about it", self.verb, self.noun);
        if self.trusted {
            tool.trust = Trust::Trusted;
        }
        if self.pinned {
            tool.catalog_mode = CatalogMode::DirectOnly;
        }
        tool
    }
}

fn draft() -> impl Strategy<Value = Draft> {
    let parts = (
        0..OWNERS.len(),
        select(&VERBS[..]),
        select(&NOUNS[..]),
        0..12_usize,
        any::<bool>(),
        prop::bool::weighted(0.15),
    );
    parts.prop_map(|(owner, verb, noun, word, trusted, pinned)| Draft {
        owner,
        verb,
        noun,
        word,
        trusted,
        pinned,
    })
}

/// Tools with distinct ids; two owners may have a name in common.
fn drafts() -> impl Strategy<Value = Vec<Draft>> {
    prop::collection::vec(draft(), 2..18).prop_map(|drafts| {
        let distinct: BTreeMap<String, Draft> = drafts
            .into_iter()
            .map(|draft| (draft.id(), draft))
            .collect();
        distinct.into_values().collect()
    })
}

/// An entry of a list of rules: everything, a verb, a noun, an owner, a group, or one of the tools.
#[derive(Debug, Clone)]
enum Entry {
    Word(&'static str),
    Tool(usize),
}

impl Entry {
    fn written(&self, drafts: &[Draft]) -> String {
        match self {
            Self::Word(word) => (*word).to_owned(),
            Self::Tool(at) => drafts[at % drafts.len()].id(),
        }
    }
}

fn entries(most: usize) -> impl Strategy<Value = Vec<Entry>> {
    let word = select(vec![
        "get_*",
        "create_*",
        "delete_*",
        "*_issue",
        "*_file",
        "mcp:vault:*",
        "mcp:*",
        "core:*",
        "group:read",
        "group:own",
        "group:plugins",
    ]);
    let entry = prop_oneof![
        3 => word.prop_map(Entry::Word),
        2 => any::<usize>().prop_map(Entry::Tool),
    ];
    prop::collection::vec(entry, 0..=most)
}

/// Lists of one layer: allow, deny, ask.
type Lists = (Option<Vec<Entry>>, Vec<Entry>, Vec<Entry>);

fn lists() -> impl Strategy<Value = Lists> {
    let allow = prop::option::weighted(0.3, entries(5));
    (allow, entries(2), entries(1))
}

fn layers() -> Vec<Layer> {
    let id = || "worker".to_owned();
    let provider = || "openai".to_owned();
    vec![
        Layer::Profile {
            name: "p".to_owned(),
            agent: None,
        },
        Layer::Provider(provider()),
        Layer::Global,
        Layer::Agent(id()),
        Layer::AgentProvider {
            agent: Some(id()),
            provider: provider(),
        },
        Layer::Sandbox,
        Layer::Subagent,
        Layer::Agent("boss".to_owned()),
        Layer::Channel("mail".to_owned()),
    ]
}

fn rules(written: &[(usize, Lists)], drafts: &[Draft]) -> Rules {
    let own = BTreeMap::from([(
        "own".to_owned(),
        vec!["*_invoice".to_owned(), "delete_*".to_owned()],
    )]);
    let groups = with_built_in_groups(&own);
    let texts = |entries: &[Entry]| -> Vec<String> {
        let written = entries.iter().map(|entry| entry.written(drafts));
        written.collect()
    };
    written
        .iter()
        .fold(Rules::new(), |rules, (at, (allow, deny, ask))| {
            let lists = LayerRules {
                allow: allow.as_deref().map(texts),
                deny: texts(deny),
                ask: texts(ask),
            };
            let layer = layers()[at % layers().len()].clone();
            rules.layer(layer, &lists, &groups).unwrap()
        })
}

fn subject() -> impl Strategy<Value = Subject> {
    any::<(bool, bool, bool, bool)>().prop_map(|(provider, channel, sandboxed, below)| {
        let mut subject = Subject::agent("worker");
        subject.provider = provider.then(|| "openai/gpt-5".to_owned());
        subject.channel = channel.then(|| "mail".to_owned());
        subject.sandboxed = sandboxed;
        match below {
            true => subject.below(Subject::agent("boss")),
            false => subject,
        }
    })
}

#[derive(Debug)]
struct Echo;

#[async_trait]
impl Invoker for Echo {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let args = Value::Object(call.args);
        Ok(Outcome::structured(
            json!({ "ran": call.tool.id, "args": args }),
        ))
    }
}

#[derive(Debug)]
struct Noon;

impl Clock for Noon {
    fn now_ms(&self) -> u64 {
        1_700_000_000_000
    }
}

/// Makes the bridge calls that the text of a program lists, one after the other, and gives what came.
fn lister() -> Arc<dyn Engine> {
    Arc::new(EngineFn::new(
        |program: Program, host: Arc<dyn Host>, _| async move {
            let calls: Vec<(String, Value)> = serde_json::from_str(&program.source).unwrap();
            let mut came = Vec::new();
            for (method, args) in calls {
                came.push(match host.call(&method, args).await {
                    HostReply::Value(value) => value,
                    HostReply::Error(error) => {
                        json!({ "code": error.code.as_str(), "message": error.message })
                    }
                    _ => json!("suspended"),
                });
            }
            RunReport::new(
                "lister",
                RunStatus::Completed(RunValue::Json(Value::from(came))),
            )
        },
    ))
}

/// A runtime, and what it recorded.
struct World {
    runtime: Runtime,
    recorder: Arc<MemoryRecorder>,
}

impl World {
    fn new(policy: Arc<dyn Policy>, always_visible: &[Glob]) -> Self {
        let recorder = Arc::new(MemoryRecorder::default());
        let mut parts = Components::default();
        parts.policy = policy;
        parts.ranker = Arc::new(ExactFirst(Bm25::default()));
        parts.engine = lister();
        parts.recorder = Arc::clone(&recorder) as _;
        parts.clock = Arc::new(Noon);
        parts.invokers = OWNERS
            .iter()
            .filter(|(source, _)| *source != Source::Client)
            .fold(Invokers::new(), |invokers, (source, owner)| {
                invokers.bind(*source, owner, Arc::new(Echo) as _)
            });
        let mut options = Options::default();
        options.always_visible = always_visible.to_vec();
        let runtime = Runtime::new(parts, options).unwrap();
        Self { runtime, recorder }
    }

    async fn open(
        &self,
        subject: &Subject,
        tools: &[Arc<ToolDescriptor>],
        mode: Arc<dyn Mode>,
        first_message: &str,
    ) -> Result<Session, String> {
        let listings = OWNERS.iter().map(|(source, owner)| {
            let own =
                |tool: &&Arc<ToolDescriptor>| tool.source() == *source && tool.owner == **owner;
            Listing::new(*source, *owner, tools.iter().filter(own).cloned().collect())
        });
        let mut request = OpenRequest::new(subject.clone(), listings.collect());
        request.mode = Some(mode);
        request.session = Some("s".to_owned());
        request.first_message = Some(first_message.to_owned());
        let opened = self.runtime.open(request).await;
        opened.map_err(|error| error.to_string())
    }

    /// Everything that was recorded, without durations.
    fn events(&self) -> Vec<Value> {
        let told = |event: Event| {
            let mut event = match event {
                Event::Called(mut called) => {
                    called.millis = 0;
                    Event::Called(called)
                }
                Event::Ran(mut ran) => {
                    ran.millis = 0;
                    Event::Ran(ran)
                }
                other => other,
            };
            if let Event::Opened(opened) = &mut event {
                // Whether somebody else planned with the same tools is no secret of a tool.
                opened.reused = false;
            }
            serde_json::to_value(event).unwrap()
        };
        let events = self.recorder.events().into_iter();
        events.map(|stamped| told(stamped.event)).collect()
    }
}

/// What a model asks through every door: names of tools, names that are nearly theirs, and words.
fn questions(drafts: &[Draft]) -> Vec<(String, Value)> {
    let mut asked = Vec::new();
    let mut ask = |name: &str, arguments: Value| asked.push((name.to_owned(), arguments));
    let mut bridge = Vec::new();
    for draft in drafts {
        for name in [draft.id(), draft.name(), draft.misspelt(), draft.word()] {
            let search = json!({ "query": name, "limit": 20, "explain": true });
            let call = json!({ "id": name, "args": { "title": "a" } });
            for (method, arguments) in [
                ("search", search),
                ("describe", json!({ "id": name })),
                ("call", call),
            ] {
                ask(&format!("tool_{method}"), arguments.clone());
                bridge.push(json!([method, arguments]));
            }
        }
        ask(&draft.name(), json!({ "title": "a" }));
        ask(&draft.misspelt(), json!({}));
        let flat = draft.id().replace(':', "__");
        ask(&flat, json!({ "title": 7, "nope": 1 }));
    }
    for verb in VERBS {
        let queries: Vec<Value> = NOUNS
            .iter()
            .map(|noun| json!({ "query": format!("{verb} one {noun}"), "limit": 10 }))
            .collect();
        let search = json!({ "queries": queries, "explain": true });
        bridge.push(json!(["search", search]));
        ask("tool_search", search);
        ask("tool_describe", json!({ "id": verb }));
    }
    let reader = json!({ "id": "native:toolsearch:result_read", "args": { "handle": "r1" } });
    ask("tool_call", reader);
    let ids: Vec<String> = drafts.iter().take(5).map(Draft::id).collect();
    ask("tool_describe", json!({ "ids": ids }));
    let program = Value::from(bridge).to_string();
    ask("tool_search_code", json!({ "code": program }));
    asked
}

/// What a session says, the questions included.
async fn said(session: &Session, questions: &[(String, Value)]) -> Vec<String> {
    let surface = session.surface();
    let mut said = vec![
        format!("{} {}", surface.to_json(), surface.prompt),
        format!("{:?} {:?}", session.sizes(), session.rejected()),
        format!(
            "{} {:?}",
            session.catalog().fingerprint().as_str(),
            session.outages()
        ),
    ];
    for (name, arguments) in questions {
        let call = ModelCall::new(name.as_str(), arguments.clone());
        said.push(match session.handle(call).await {
            Reply::Done(answer) => {
                json!([answer.content, answer.structured, answer.meta]).to_string()
            }
            Reply::Pending(pending) => {
                let ids: Vec<_> = pending
                    .calls()
                    .into_iter()
                    .map(|call| call.tool.id.clone())
                    .collect();
                format!("the client runs {ids:?}")
            }
        });
    }
    said
}

/// Both sessions over the same questions.
async fn compare(
    drafts: &[Draft],
    rules: Rules,
    subject: &Subject,
    always_visible: &[Glob],
    mode: fn() -> Arc<dyn Mode>,
) -> Result<(), TestCaseError> {
    let tools: Vec<Arc<ToolDescriptor>> =
        drafts.iter().map(|draft| Arc::new(draft.tool())).collect();
    let (denied, allowed): (Vec<_>, Vec<_>) = tools
        .iter()
        .cloned()
        .partition(|tool| rules.decide(subject, tool).is_deny());
    let policy: Arc<dyn Policy> = Arc::new(policy_fn(move |subject, tool| {
        match subject.agent.as_deref() {
            Some(ADMIN) => Decision::Allow,
            _ => rules.decide(subject, tool),
        }
    }));
    let message = drafts[0].name();
    let full = World::new(Arc::clone(&policy), always_visible);
    let admin = Subject::agent(ADMIN);
    // What an earlier session may see is still in the memory of the runtime.
    let earlier = full
        .open(&admin, &tools, Arc::new(ToolsMode), &message)
        .await;
    let before = full.events().len();
    let bare = World::new(policy, always_visible);
    let (full_session, bare_session) = (
        full.open(subject, &tools, mode(), &message).await,
        bare.open(subject, &allowed, mode(), &message).await,
    );
    let (full_session, bare_session) = match (full_session, bare_session) {
        (Ok(full), Ok(bare)) => (full, bare),
        (full, bare) => {
            prop_assert_eq!(full.err(), bare.err());
            return Ok(());
        }
    };
    let questions = questions(drafts);
    let told = said(&full_session, &questions).await;
    let plain = said(&bare_session, &questions).await;
    let asked = ["surface", "sizes", "fingerprint"]
        .map(str::to_owned)
        .into_iter()
        .chain(
            questions
                .iter()
                .map(|(name, args)| format!("{name} {args}")),
        );
    for ((told, plain), asked) in told.iter().zip(&plain).zip(asked) {
        prop_assert_eq!(told, plain, "{}", asked);
    }
    prop_assert_eq!(&full.events()[before..], &bare.events()[..]);
    drop(earlier);

    let kept: BTreeSet<&str> = allowed.iter().map(|tool| tool.name.as_str()).collect();
    let hidden = denied.iter().map(|tool| tool.name.as_str());
    for name in hidden.filter(|name| !kept.contains(name)) {
        for (told, (asked, arguments)) in told.iter().skip(3).zip(&questions) {
            // Only whoever said it already may hear it.
            let said_it = asked.contains(name) || arguments.to_string().contains(name);
            prop_assert!(
                said_it || !told.contains(name),
                "{} {}: {}",
                asked,
                arguments,
                told
            );
        }
        prop_assert!(told.iter().take(3).all(|told| !told.contains(name)));
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20, ..ProptestConfig::default() })]

    #[test]
    fn what_is_denied_does_not_exist(
        drafts in drafts(),
        written in prop::collection::vec((any::<usize>(), lists()), 1..5),
        subject in subject(),
        visible in subsequence(vec!["get_*", "mcp:vault:*", "*"], 0..=1),
        mode in select(vec![0_usize, 1, 2, 3]),
    ) {
        let rules = rules(&written, &drafts);
        let visible: Vec<Glob> = visible.into_iter().map(Glob::new).collect();
        let modes: [fn() -> Arc<dyn Mode>; 4] = [
            || Arc::new(ToolsMode),
            || Arc::new(CodeMode),
            || Arc::new(DirectoryMode::default()),
            || Arc::new(Direct),
        ];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(compare(&drafts, rules, &subject, &visible, modes[mode]))?;
    }
}
