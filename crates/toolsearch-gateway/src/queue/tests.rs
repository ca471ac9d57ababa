//! Questions in the queue, over both stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use toolsearch_catalog::{Source, ToolId};
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};
use toolsearch_store::{Expected, FileStore, MemoryStore, NewRecord, Store};

use super::{ApprovalQueue, NAMESPACE, QueueAnswer, QueueError};

fn request(args: Value, session: &str) -> ApprovalRequest {
    let Value::Object(args) = args else {
        panic!("arguments are an object");
    };
    let id = ToolId::new(Source::Mcp, "files", "delete").expect("legal");
    ApprovalRequest::new(id, args, session, "an ask rule", Duration::from_secs(600))
}

/// Waits until there is a question, and gives its name.
async fn asked(queue: &ApprovalQueue) -> String {
    loop {
        if let Some(call) = queue.list().await.expect("readable").calls.pop() {
            return call.id;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

async fn until_empty(queue: &ApprovalQueue) {
    while !queue.list().await.expect("readable").calls.is_empty() {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

#[tokio::test]
async fn a_call_waits_for_its_answer() {
    let root = tempfile::tempdir().expect("a folder");
    let folder = root.path().join("store");
    for (answer, expected) in [
        (QueueAnswer::Once, Verdict::Once),
        (QueueAnswer::Session, Verdict::ForSession),
        (QueueAnswer::Deny, Verdict::Denied("not today".to_owned())),
        (
            QueueAnswer::DenySession,
            Verdict::DeniedForSession("not today".to_owned()),
        ),
    ] {
        // Whoever answers is in another process: it shares nothing but the folder.
        let serving = ApprovalQueue::new(Arc::new(FileStore::new(&folder)));
        let answering = ApprovalQueue::new(Arc::new(FileStore::new(&folder)));
        let args = json!({"path": "/srv/\u{202e}x", "text": "y".repeat(50_000)});
        let asking = request(args, "s1");
        let hash = asking.args_hash();
        let call = tokio::spawn(async move { serving.review(asking).await });
        let id = asked(&answering).await;
        let shown = answering.show(&id).await.expect("it waits");
        assert_eq!(
            (shown.tool.as_str(), shown.session.as_str()),
            ("mcp:files:delete", "s1")
        );
        assert_eq!(
            (shown.reason.as_str(), &shown.args_hash),
            ("an ask rule", &hash)
        );
        assert!(shown.arguments.contains("\\u{202e}") && shown.arguments.len() < 20_000);
        assert!(shown.expires_ms > shown.asked_ms);
        answering
            .answer(&id, answer, Some("not\ntoday"))
            .await
            .expect("the first answer");
        assert_eq!(call.await.expect("no panic"), expected);
        assert_eq!(
            answering.show(&id).await,
            Err(QueueError::Unknown(id)),
            "an answer counts once"
        );
    }
}

#[tokio::test]
async fn the_first_answer_stands_and_unknown_names_are_told() {
    let queue = ApprovalQueue::new(Arc::new(MemoryStore::default())).without_waiting();
    let Verdict::Pending(id) = queue.review(request(json!({}), "s1")).await else {
        panic!("nobody has answered");
    };
    queue
        .answer(&id, QueueAnswer::Deny, None)
        .await
        .expect("the first answer");
    let second = queue.answer(&id, QueueAnswer::Once, None).await;
    assert_eq!(second, Err(QueueError::Answered(id)));
    for unknown in ["", "nothing", "../../x"] {
        let error = queue
            .answer(unknown, QueueAnswer::Once, None)
            .await
            .expect_err("unknown");
        assert!(matches!(error, QueueError::Unknown(_)), "{error}");
    }
}

#[tokio::test]
async fn consent_is_for_one_call_of_one_session() {
    let queue = ApprovalQueue::new(Arc::new(MemoryStore::default())).without_waiting();
    let this = || request(json!({"a": 1, "b": 2}), "s1");
    let Verdict::Pending(id) = queue.review(this()).await else {
        panic!("nobody has answered");
    };
    assert_eq!(
        queue.review(this()).await,
        Verdict::Pending(id.clone()),
        "asked once"
    );
    queue
        .answer(&id, QueueAnswer::Once, None)
        .await
        .expect("the first answer");
    for other in [
        request(json!({"a": 1, "b": 3}), "s1"),
        request(json!({"a": 1, "b": 2}), "s2"),
    ] {
        assert!(matches!(queue.review(other).await, Verdict::Pending(_)));
    }
    let reordered = request(json!({"b": 2, "a": 1}), "s1");
    assert_eq!(queue.review(reordered).await, Verdict::Once);
    assert!(
        matches!(queue.review(this()).await, Verdict::Pending(_)),
        "and only once"
    );
}

#[tokio::test]
async fn what_is_over_cannot_be_answered_and_does_not_count() {
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let queue = ApprovalQueue::new(Arc::clone(&store));
    let mut over = request(json!({}), "s1");
    over.expires_ms = Some(1);
    let Verdict::Denied(why) = queue.review(over).await else {
        panic!("it is over");
    };
    assert!(why.contains("timed out"), "{why}");
    assert!(queue.list().await.expect("readable").calls.is_empty());

    // A forged answer under the name of a question is bound to nothing.
    let tickets = queue.without_waiting();
    let Verdict::Pending(id) = tickets.review(request(json!({}), "s1")).await else {
        panic!("nobody has answered");
    };
    tickets
        .answer(&id, QueueAnswer::Once, None)
        .await
        .expect("the first answer");
    let record = store
        .get(NAMESPACE, &id)
        .await
        .expect("readable")
        .expect("there");
    let text = String::from_utf8(record.bytes).expect("text");
    let binding = request(json!({}), "s1").binding();
    let forged = NewRecord::new(text.replace(&binding, &"0".repeat(64)));
    let forged = forged.until(record.expires_ms.expect("a question expires"));
    store
        .put(NAMESPACE, &id, forged, Expected::Any)
        .await
        .expect("room");
    let verdict = tickets.review(request(json!({}), "s1")).await;
    assert!(matches!(verdict, Verdict::Denied(_)), "{verdict:?}");
}

#[tokio::test]
async fn a_damaged_question_is_named_and_means_no() {
    let root = tempfile::tempdir().expect("a folder");
    let store = Arc::new(FileStore::new(root.path().join("store")));
    let queue = ApprovalQueue::new(Arc::clone(&store) as _).without_waiting();
    let Verdict::Pending(id) = queue.review(request(json!({}), "s1")).await else {
        panic!("nobody has answered");
    };
    let noise = NewRecord::new("{").until(u64::MAX);
    store
        .put(NAMESPACE, &id, noise, Expected::Any)
        .await
        .expect("room");
    assert!(matches!(
        queue.review(request(json!({}), "s1")).await,
        Verdict::Denied(_)
    ));
    let listing = queue.list().await.expect("readable");
    assert_eq!((listing.calls.len(), listing.damaged), (0, vec![id]));
}

/// Every review in a session of its own: equal questions of one session are one question.
#[derive(Debug)]
struct Apart(ApprovalQueue, AtomicUsize);

#[async_trait::async_trait]
impl Approver for Apart {
    async fn review(&self, mut request: ApprovalRequest) -> Verdict {
        request.session = self.1.fetch_add(1, Ordering::SeqCst).to_string();
        request.timeout = Duration::from_secs(600);
        self.0.review(request).await
    }
}

#[tokio::test]
async fn it_keeps_the_rules_of_approvers() {
    let queue = ApprovalQueue::new(Arc::new(MemoryStore::default()));
    let open = Arc::new(AtomicUsize::new(0));
    let (watched, seen) = (queue.clone(), Arc::clone(&open));
    let watching = tokio::spawn(async move {
        loop {
            let calls = watched.list().await.expect("readable").calls.len();
            seen.store(calls, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    let count = move || open.load(Ordering::SeqCst);
    let apart = Apart(queue.clone(), AtomicUsize::new(0));
    toolsearch_testing::approver::conforms(Arc::new(apart), count).await;
    watching.abort();
    until_empty(&queue).await;
}
