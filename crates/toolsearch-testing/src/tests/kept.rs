//! What has to pass: null objects, fakes, and the implementations that live in contract crates.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_catalog::{Outcome, Source};
use toolsearch_invoke::{
    HookDecision, HookError, InvokeError, Invoker, Listing, NoHook, NoInvoker, NoProvider, Outage,
    OutageKind, Provider,
};
use toolsearch_mode::Direct;
use toolsearch_policy::{
    AllowAll, Approver, Decision, Layer, LayerRules, NoApprover, Policy, Reason, Rules, Verdict,
};
use toolsearch_sandbox::{
    Engine, HostReply, Limits, NoEngine, Program, RunReport, RunStatus, RunValue,
};
use toolsearch_search::{ExactFirst, NoRanker};
use toolsearch_telemetry::{JsonlRecorder, MemoryRecorder, NoRecorder, Stamped};

use crate::approver::{HeldApprover, ScriptedApprover};
use crate::catalog::{hostile_catalog, hostile_tools, office, tool};
use crate::embedder::HashedWords;
use crate::engine::{EngineFn, RecordingHost};
use crate::hook::RecordingHook;
use crate::invoker::{Probe, RecordingInvoker, invocation};
use crate::policy::{allow_only, ask_about, policy_fn};
use crate::provider::ScriptedProvider;
use crate::ranker::WordOverlap;
use crate::{
    approver, block_on, embedder, engine, hook, invoker, mode, policy, provider, ranker, recorder,
};

#[test]
fn rankers() {
    block_on(async {
        ranker::conforms(|| Arc::new(NoRanker)).await;
        ranker::conforms(|| Arc::new(WordOverlap)).await;
        ranker::conforms(|| Arc::new(ExactFirst(WordOverlap))).await;
        ranker::conforms(|| Arc::new(ExactFirst(NoRanker))).await;
        ranker::finds(|| Arc::new(WordOverlap)).await;
    });
}

#[test]
fn embedders() {
    block_on(async {
        embedder::conforms(|| Arc::new(HashedWords::default())).await;
        embedder::conforms(|| Arc::new(HashedWords::with([("ticket", "issue")]))).await;
    });
}

fn rules() -> Rules {
    let lists = |allow: Option<&[&str]>, deny: &[&str], ask: &[&str]| {
        let owned = |list: &[&str]| list.iter().map(|entry| (*entry).to_owned()).collect();
        let mut lists = LayerRules::default();
        lists.allow = allow.map(owned);
        lists.deny = owned(deny);
        lists.ask = owned(ask);
        lists
    };
    let layers = [
        (
            Layer::Global,
            lists(None, &["mcp:*:delete_*"], &["mcp:github:*"]),
        ),
        (
            Layer::Agent("support".to_owned()),
            lists(Some(&["mcp:*", "read_file", "获取*"]), &[], &["*file"]),
        ),
        (
            Layer::Provider("openai".to_owned()),
            lists(None, &["mcp:postgres:*"], &[]),
        ),
    ];
    layers
        .into_iter()
        .fold(Rules::new(), |rules, (layer, lists)| {
            rules
                .layer(layer, &lists, &BTreeMap::new())
                .expect("because no group is named")
        })
}

#[test]
fn policies() {
    policy::conforms(|| Arc::new(AllowAll));
    policy::conforms(|| Arc::new(rules()));
    policy::conforms(|| Arc::new(allow_only(|tool| tool.owner == "github")));
    policy::conforms(|| Arc::new(ask_about(|tool| tool.source() == Source::Mcp)));
    policy::narrows(&AllowAll, &rules());
    let reason = || Reason::new("test", "everything");
    let both = policy_fn(move |subject, tool| {
        let asked = ask_about(|tool| tool.owner == "files").decide(subject, tool);
        asked.and(rules().decide(subject, tool))
    });
    policy::narrows(&rules(), &both);
    policy::narrows(&both, &policy_fn(move |_, _| Decision::Deny(reason())));
}

#[test]
fn approvers() {
    block_on(async {
        approver::conforms(Arc::new(NoApprover), || 0).await;
        let verdicts = [
            Verdict::Once,
            Verdict::ForSession,
            Verdict::Pending("h".to_owned()),
        ];
        let scripted = Arc::new(ScriptedApprover::new(verdicts));
        approver::conforms(Arc::clone(&scripted) as _, || 0).await;
        assert_eq!(scripted.requests().len(), approver::requests().len());

        let held = Arc::new(HeldApprover::new());
        approver::conforms(Arc::clone(&held) as _, || held.open().len()).await;
        assert!(!held.answer(Verdict::Once), "nothing is open");
        let asked = Arc::clone(&held);
        let request = approver::requests().remove(0);
        let review = tokio::spawn(async move { asked.review(request).await });
        crate::eventually("the question is open", || held.open().len() == 1).await;
        assert!(held.answer(Verdict::ForSession));
        assert_eq!(review.await.expect("no panic"), Verdict::ForSession);
    });
}

#[test]
fn providers() {
    block_on(async {
        provider::conforms(Arc::new(NoProvider)).await;
        let tools = hostile_tools()
            .into_iter()
            .filter(|tool| tool.owner == "names");
        let mut listing = Listing::new(Source::Mcp, "names", tools.map(Arc::new).collect());
        listing.outage = Some(Outage::new("names", OutageKind::Starting, "soon"));
        let scripted = Arc::new(ScriptedProvider::new(listing.clone()));
        assert_eq!(
            provider::conforms(Arc::clone(&scripted) as _).await,
            listing
        );
        assert!(scripted.asked() >= 5);

        let later = Listing::new(Source::Mcp, "names", Vec::new());
        let changing = ScriptedProvider::new(listing.clone()).then(later.clone());
        for expected in [&listing, &later, &later] {
            assert_eq!(&changing.list().await, expected);
        }
    });
}

#[test]
fn invokers() {
    block_on(async {
        let run = Arc::new(
            RecordingInvoker::new(["log"])
                .answering("refuses", Err(InvokeError::Timeout(Duration::from_secs(1))))
                .hanging("hang"),
        );
        let watched = Arc::clone(&run);
        let log = Arc::new(tool("mcp:git:log"));
        let probe = Probe::new(Arc::clone(&run) as _, Arc::clone(&log), &json!({"n": 1}))
            .echoing(Arc::clone(&log), |outcome| {
                outcome.structured.as_deref().cloned()
            })
            .endless(Arc::new(tool("mcp:git:hang")), &json!({}), move || {
                watched.running() > 0
            });
        invoker::conforms(probe).await;
        assert_eq!(run.calls()[0].args["n"], 1);
        let refused = invocation(&Arc::new(tool("mcp:git:refuses")), Default::default(), 1);
        assert!(matches!(
            run.invoke(refused).await,
            Err(InvokeError::Timeout(_))
        ));
        let call = invocation(&log, Default::default(), 1);
        let nobody = NoInvoker.invoke(call).await;
        assert!(matches!(nobody, Err(InvokeError::Unavailable { .. })));
    });
}

#[test]
fn hooks() {
    block_on(async {
        hook::conforms(Arc::new(NoHook)).await;
        let strict = RecordingHook::new("strict")
            .before_with(|call| match call.tool.owner.as_str() {
                "github" => Ok(HookDecision::Block("not today".to_owned())),
                "calendar" => Ok(HookDecision::Ask("is that right?".to_owned())),
                "files" => Err(HookError("the disk is away".to_owned())),
                _ => Ok(HookDecision::Rewrite(call.args.clone())),
            })
            .after_with(|_, outcome| match outcome.is_error {
                true => Err(HookError("withheld".to_owned())),
                false => Ok(Outcome::text("redacted")),
            });
        let strict = Arc::new(strict);
        hook::conforms(Arc::clone(&strict) as _).await;
        let seen = office().len() + hostile_tools().len() + 1;
        assert!(strict.befores().len() >= seen);
        assert_eq!(strict.afters().len(), 3 * seen);
    });
}

#[test]
fn modes() {
    mode::conforms(|| Arc::new(Direct));
}

#[test]
fn recorders() {
    recorder::conforms(&NoRecorder, 0, |_| Vec::new());
    recorder::conforms(
        &MemoryRecorder::default(),
        usize::MAX,
        MemoryRecorder::events,
    );
    recorder::conforms(&MemoryRecorder::new(30), 30, MemoryRecorder::events);
    let lines = Shared::default();
    let jsonl = JsonlRecorder::new(lines.clone(), u64::MAX);
    recorder::conforms(&jsonl, usize::MAX, |_| {
        let bytes = lines.0.lock().expect("not poisoned").clone();
        let text = String::from_utf8(bytes).expect("JSON is UTF-8");
        let read = |line| serde_json::from_str::<Stamped>(line).expect("a line is an event");
        text.lines().map(read).collect()
    });
    assert_eq!(jsonl.dropped(), 0);
}

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().expect("not poisoned").write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn engines() {
    block_on(async {
        engine::is_unavailable(Arc::new(NoEngine)).await;
        let host = Arc::new(RecordingHost::new(|method, args| {
            HostReply::Value(json!([method, args]))
        }));
        let double = EngineFn::new(|program, host, _| async move {
            let args = json!({ "id": program.source });
            let reply = host.call("call", args).await;
            let value = match reply {
                HostReply::Value(value) => value,
                _ => Value::Null,
            };
            RunReport::new("closure", RunStatus::Completed(RunValue::Json(value)))
        });
        let (program, limits) = (Program::new("step", 0, 0), Limits::default());
        let report = double.run(program, Arc::clone(&host) as _, &limits).await;
        assert_eq!(report.value(), Some(&json!(["call", {"id": "step"}])));
        assert_eq!(host.calls(), [("call".to_owned(), json!({"id": "step"}))]);
    });
}

#[test]
fn hostile_tools_are_many_and_two_are_duplicates() {
    let tools = hostile_tools();
    assert!(tools.len() > 60);
    assert_eq!(hostile_catalog().len(), tools.len() - 2);
}
