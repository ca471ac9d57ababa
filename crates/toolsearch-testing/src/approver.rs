//! Approval: scripted and waiting approvers, and the rules that every approver keeps.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, json};
use tokio::sync::oneshot;
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};

use crate::catalog::{MARKER, hostile_tools, tool};
use crate::wait::{PATIENCE, eventually, in_time};

/// Gives verdicts from a list, one a request, and remembers the requests. After the last one it
/// denies.
#[derive(Debug, Default)]
pub struct ScriptedApprover {
    verdicts: Mutex<VecDeque<Verdict>>,
    requests: Mutex<Vec<ApprovalRequest>>,
}

impl ScriptedApprover {
    /// Answers with these, in this order.
    #[must_use]
    pub fn new(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        Self {
            verdicts: Mutex::new(verdicts.into_iter().collect()),
            requests: Mutex::default(),
        }
    }

    /// What was asked so far.
    #[must_use]
    pub fn requests(&self) -> Vec<ApprovalRequest> {
        lock(&self.requests).clone()
    }
}

#[async_trait]
impl Approver for ScriptedApprover {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        lock(&self.requests).push(request);
        let next = lock(&self.verdicts).pop_front();
        next.unwrap_or_else(|| Verdict::Denied("the script has no further verdict".to_owned()))
    }
}

/// Holds every question open until the test answers it. A review that is dropped withdraws its
/// question.
#[derive(Debug, Default)]
pub struct HeldApprover {
    open: Mutex<Questions>,
}

#[derive(Debug, Default)]
struct Questions {
    asked: u64,
    open: BTreeMap<u64, (ApprovalRequest, oneshot::Sender<Verdict>)>,
}

impl HeldApprover {
    /// Without questions.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The open questions, oldest first.
    #[must_use]
    pub fn open(&self) -> Vec<ApprovalRequest> {
        let questions = lock(&self.open);
        let open = questions.open.values();
        open.map(|(request, _)| request.clone()).collect()
    }

    /// Answers the oldest open question; tells whether there was one.
    pub fn answer(&self, verdict: Verdict) -> bool {
        let oldest = lock(&self.open).open.pop_first();
        oldest.is_some_and(|(_, (_, sender))| sender.send(verdict).is_ok())
    }
}

struct Withdraw<'a>(&'a HeldApprover, u64);

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        lock(&self.0.open).open.remove(&self.1);
    }
}

#[async_trait]
impl Approver for HeldApprover {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        let (sender, receiver) = oneshot::channel();
        let number = {
            let mut questions = lock(&self.open);
            questions.asked += 1;
            let number = questions.asked;
            questions.open.insert(number, (request, sender));
            number
        };
        let _withdraw = Withdraw(self, number);
        let answered = receiver.await;
        answered.unwrap_or_else(|_| Verdict::Denied("the question was lost".to_owned()))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Requests in ordinary and in hostile words.
#[must_use]
pub fn requests() -> Vec<ApprovalRequest> {
    let mut ids = vec![tool("mcp:git:log").id];
    ids.extend(hostile_tools().into_iter().map(|tool| tool.id));
    let mut args = Map::new();
    args.insert("text".to_owned(), json!(MARKER.repeat(3_000)));
    args.insert("\u{202e}\n".to_owned(), json!([null, {"deep": [1, [2]]}]));
    let request = |id| {
        let mut request = ApprovalRequest::new(id, args.clone(), "s1", "an ask rule", PATIENCE);
        request.agent = Some("\u{1b}[2Jsupport".to_owned());
        request
    };
    ids.into_iter().map(request).collect()
}

/// Holds an approver to the rules of the contract. `open` tells how many questions wait for somebody
/// now; an approver that answers at once leaves it at 0.
///
/// # Panics
/// At the first broken rule.
pub async fn conforms(approver: Arc<dyn Approver>, open: impl Fn() -> usize) {
    let mut held = Vec::new();
    for request in requests() {
        let approver = Arc::clone(&approver);
        let before = open();
        let task = tokio::spawn(async move { approver.review(request).await });
        eventually("a review answers or its question is open", || {
            task.is_finished() || open() > before
        })
        .await;
        if task.is_finished() {
            let verdict = task.await.expect("because a review must not panic");
            check(&verdict);
            assert_eq!(
                open(),
                before,
                "an answered question is not open: {verdict:?}"
            );
        } else {
            held.push(task);
        }
    }
    for task in held {
        let before = open();
        task.abort();
        let ended = in_time("a dropped review ends", task).await;
        assert!(
            ended.is_err_and(|error| error.is_cancelled()),
            "nobody answered, and yet there is a verdict"
        );
        eventually("a dropped review withdraws its question", || {
            open() < before
        })
        .await;
    }
    assert_eq!(open(), 0, "no question is left behind");
}

fn check(verdict: &Verdict) {
    if let Verdict::Denied(text) | Verdict::Pending(text) = verdict {
        assert!(
            !text.is_empty(),
            "a refusal has a reason, a wait has a handle: {verdict:?}"
        );
    }
}
