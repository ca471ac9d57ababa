//! What has to fail: one part for each rule that is easily broken.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use async_trait::async_trait;
use serde_json::json;
use toolsearch_catalog::{Catalog, Outcome, Source};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Listing};
use toolsearch_mode::{
    Control, ControlCall, Decoding, Direct, Failure, Mode, Rendered, Request, Response, Surface,
    View,
};
use toolsearch_policy::{AllowAll, ApprovalRequest, Approver, Decision, Reason, Verdict};
use toolsearch_sandbox::{NoEngine, RunReport, RunStatus, RunValue};
use toolsearch_search::{
    EmbedError, Embedder, Index, Ranker, SearchError, SearchRequest, SearchResponse,
};
use toolsearch_telemetry::{MemoryRecorder, Recorder, Stamped};

use crate::catalog::tool;
use crate::embedder::HashedWords;
use crate::engine::{Bench, EngineFn};
use crate::invoker::{Probe, RecordingInvoker};
use crate::policy::policy_fn;
use crate::provider::ScriptedProvider;
use crate::ranker::WordOverlap;
use crate::{
    approver, block_on, embedder, engine, invoker, mode, policy, provider, ranker, recorder,
};

/// An embedder whose sound answers are spoilt.
fn check_embedder(spoil: fn(&mut Vec<Vec<f32>>)) {
    block_on(embedder::conforms(|| {
        embedder::embedder_fn(move |role, texts| {
            Box::pin(async move {
                let mut vectors = HashedWords::default().embed(role, &texts).await?;
                spoil(&mut vectors);
                Ok(vectors)
            })
        })
    }));
}

#[test]
#[should_panic(expected = "one vector for each text")]
fn an_embedder_that_leaves_one_out() {
    check_embedder(|vectors| drop(vectors.pop()));
}

#[test]
#[should_panic(expected = "a vector has a direction")]
fn an_embedder_with_numbers_that_are_none() {
    check_embedder(|vectors| vectors.iter_mut().for_each(|vector| vector[0] = f32::NAN));
}

#[test]
#[should_panic(expected = "all vectors are of one size")]
fn an_embedder_of_many_sizes() {
    check_embedder(|vectors| {
        for (at, vector) in vectors.iter_mut().enumerate() {
            vector.truncate(400 - at);
        }
    });
}

#[test]
#[should_panic(expected = "has two vectors")]
fn an_embedder_that_mixes_up_its_texts() {
    check_embedder(|vectors| vectors.sort_by(|a, b| b[1..].partial_cmp(&a[1..]).expect("numbers")));
}

#[test]
#[should_panic(expected = "to itself")]
fn an_embedder_for_which_all_is_one() {
    check_embedder(|vectors| vectors.iter_mut().for_each(|vector| vector.fill(1.0)));
}

#[test]
#[should_panic(expected = "any text is valid")]
fn an_embedder_that_refuses_texts() {
    block_on(embedder::conforms(|| {
        embedder::embedder_fn(|role, texts| {
            Box::pin(async move {
                if texts.iter().any(String::is_empty) {
                    return Err(EmbedError::Unavailable("an empty text".to_owned()));
                }
                HashedWords::default().embed(role, &texts).await
            })
        })
    }));
}

type Spoil = fn(&mut SearchResponse, &SearchRequest);

/// A sound ranker whose answers are spoilt.
#[derive(Debug, Clone)]
struct Spoilt(Spoil);

#[derive(Debug)]
struct SpoiltIndex(Arc<dyn Index>, Spoil);

#[async_trait]
impl Ranker for Spoilt {
    fn name(&self) -> &str {
        "spoilt"
    }

    async fn index(
        &self,
        catalog: &Catalog,
        _: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let sound = WordOverlap.index(catalog, None).await?;
        Ok(Arc::new(SpoiltIndex(sound, self.0)))
    }
}

#[async_trait]
impl Index for SpoiltIndex {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        let mut wide = request.clone();
        wide.limit = usize::MAX;
        let mut response = self.0.search(&wide).await?;
        (self.1)(&mut response, request);
        Ok(response)
    }
}

fn check_spoilt(spoil: Spoil) {
    block_on(ranker::conforms(|| Arc::new(Spoilt(spoil))));
}

fn cut(response: &mut SearchResponse, request: &SearchRequest) {
    response.hits.truncate(request.limit);
}

#[test]
#[should_panic(expected = "hits for a limit of")]
fn a_ranker_over_its_limit() {
    check_spoilt(|_, _| {});
}

#[test]
#[should_panic(expected = "has the score 0")]
fn a_ranker_that_fills_up_with_zeroes() {
    check_spoilt(|response, request| {
        cut(response, request);
        response.hits.iter_mut().for_each(|hit| hit.score = 0.0);
    });
}

#[test]
#[should_panic(expected = "by score, then by id")]
fn a_ranker_without_order() {
    check_spoilt(|response, request| {
        cut(response, request);
        response.hits.reverse();
    });
}

#[test]
#[should_panic(expected = "a reason is given exactly when")]
fn a_ranker_without_reasons() {
    check_spoilt(|response, request| {
        cut(response, request);
        response.reason = None;
    });
}

#[test]
#[should_panic(expected = "asked twice")]
fn a_ranker_that_changes_its_mind() {
    static ODD: AtomicBool = AtomicBool::new(false);
    check_spoilt(|response, request| {
        cut(response, request);
        if ODD.fetch_xor(true, Ordering::SeqCst) && response.hits.len() > 1 {
            response.hits.pop();
        }
    });
}

#[test]
#[should_panic(expected = "asked twice")]
fn a_policy_that_counts() {
    let count = Arc::new(AtomicUsize::new(0));
    policy::conforms(|| {
        let count = Arc::clone(&count);
        Arc::new(policy_fn(move |_, _| {
            let reason = Reason::new("test", "often enough");
            match count.fetch_add(1, Ordering::SeqCst) % 7 {
                0 => Decision::Deny(reason),
                _ => Decision::Allow,
            }
        }))
    });
}

#[test]
#[should_panic(expected = "became Allow")]
fn a_policy_that_widens() {
    let reason = Reason::new("test", "never");
    let none = policy_fn(move |_, _| Decision::Deny(reason.clone()));
    policy::narrows(&none, &AllowAll);
}

/// Leaves its question open when the review is dropped.
#[derive(Debug, Default)]
struct Forgetful(AtomicUsize);

#[async_trait]
impl Approver for Forgetful {
    async fn review(&self, _: ApprovalRequest) -> Verdict {
        self.0.fetch_add(1, Ordering::SeqCst);
        std::future::pending().await
    }
}

#[test]
#[should_panic(expected = "withdraws its question")]
fn an_approver_that_forgets_to_withdraw() {
    // A paused clock makes the wait for what never happens short.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build();
    let approver = Arc::new(Forgetful::default());
    let asked = Arc::clone(&approver) as Arc<dyn Approver>;
    runtime
        .expect("because one thread can be used")
        .block_on(approver::conforms(asked, || {
            approver.0.load(Ordering::SeqCst)
        }));
}

#[test]
#[should_panic(expected = "an id is made of source, owner")]
fn a_provider_that_lists_tools_of_others() {
    let tools = vec![Arc::new(tool("mcp:other:log"))];
    let listing = Listing::new(Source::Mcp, "git", tools);
    block_on(async { provider::conforms(Arc::new(ScriptedProvider::new(listing))).await });
}

#[test]
#[should_panic(expected = "a listing is repeatable")]
fn a_provider_that_lists_differently_each_time() {
    let listing = |name: &str| {
        let tools = vec![Arc::new(tool(&format!("mcp:git:{name}")))];
        Listing::new(Source::Mcp, "git", tools)
    };
    let script = ScriptedProvider::new(listing("a")).then(listing("b"));
    block_on(async { provider::conforms(Arc::new(script)).await });
}

#[derive(Debug)]
struct Meddling(RecordingInvoker);

#[async_trait]
impl Invoker for Meddling {
    async fn invoke(&self, mut call: Invocation) -> Result<Outcome, InvokeError> {
        call.args.remove("");
        self.0.invoke(call).await
    }
}

#[test]
#[should_panic(expected = "arguments arrive unchanged")]
fn an_invoker_that_tidies_arguments() {
    let log = Arc::new(tool("mcp:git:log"));
    let run = Arc::new(Meddling(RecordingInvoker::new(["log"])));
    let probe = Probe::new(run, Arc::clone(&log), &json!({}))
        .echoing(log, |outcome| outcome.structured.as_deref().cloned());
    block_on(invoker::conforms(probe));
}

#[derive(Debug)]
struct Guessing(RecordingInvoker);

#[async_trait]
impl Invoker for Guessing {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let known = self.0.invoke(call).await;
        Ok(known.unwrap_or_else(|_| Outcome::text("done")))
    }
}

#[test]
#[should_panic(expected = "does not exist and ran")]
fn an_invoker_that_runs_what_does_not_exist() {
    let run = Arc::new(Guessing(RecordingInvoker::new(["log"])));
    let probe = Probe::new(run, Arc::new(tool("mcp:git:log")), &json!({}));
    block_on(invoker::conforms(probe));
}

#[derive(Debug, Default)]
struct Stutter(MemoryRecorder, AtomicUsize);

impl Recorder for Stutter {
    fn record(&self, event: &Stamped) {
        if self.1.fetch_add(1, Ordering::SeqCst) == 20 {
            self.0.record(event);
        }
        self.0.record(event);
    }
}

#[test]
#[should_panic(expected = "what it has room for")]
fn a_recorder_that_records_twice() {
    recorder::conforms(&Stutter::default(), usize::MAX, |stutter| {
        stutter.0.events()
    });
}

/// A sound mode that is spoilt in one place.
#[derive(Debug, Clone, Copy)]
enum Spoiled {
    Prompt,
    Names,
    Failures,
}

impl Mode for Spoiled {
    fn name(&self) -> &'static str {
        "spoiled"
    }

    fn controls(&self) -> &'static [Control] {
        &[]
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        let mut surface = Direct.surface(view);
        match self {
            Self::Prompt => {
                let lines = view.catalog.entries().iter();
                surface.prompt = lines.map(|tool| tool.description.as_str()).collect();
            }
            Self::Names => {
                for tool in &mut surface.tools {
                    tool.name.truncate(3);
                }
            }
            Self::Failures => {}
        }
        surface
    }

    fn decode(&self, call: &ControlCall, decoding: &Decoding<'_>) -> Result<Request, Failure> {
        Direct.decode(call, decoding)
    }

    fn encode(&self, request: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        let mut rendered = Direct.encode(request, response, decoding);
        if let (Self::Failures, Response::Failed(_)) = (self, response) {
            rendered.is_error = false;
        }
        rendered
    }
}

#[test]
#[should_panic(expected = "holds text of an untrusted tool")]
fn a_mode_that_shows_what_servers_say() {
    mode::conforms(|| Arc::new(Spoiled::Prompt));
}

#[test]
#[should_panic(expected = "is declared twice")]
fn a_mode_with_clashing_names() {
    mode::conforms(|| Arc::new(Spoiled::Names));
}

#[test]
#[should_panic(expected = "a failure is an error")]
fn a_mode_that_hides_failures() {
    mode::conforms(|| Arc::new(Spoiled::Failures));
}

#[test]
#[should_panic(expected = "code cannot be run here")]
fn an_engine_that_is_none() {
    block_on(async { engine::conforms(&Bench::new(Arc::new(NoEngine))).await });
}

#[test]
#[should_panic(expected = "logs in order")]
fn an_engine_that_answers_without_running() {
    let same = EngineFn::new(|_, _, _| async {
        let value = json!({"sum": 3, "text": "ç🚀"});
        RunReport::new("closure", RunStatus::Completed(RunValue::Json(value)))
    });
    block_on(async { engine::conforms(&Bench::new(Arc::new(same))).await });
}
