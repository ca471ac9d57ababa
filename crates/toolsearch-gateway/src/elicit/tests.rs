//! What is asked, and what counts as a yes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_catalog::{Source, ToolId};
use toolsearch_policy::{ApprovalRequest, Approver, Verdict};

use crate::ask::{Ask, ClientCapability, Question, Unasked};

use super::{Elicit, form, verdict};

fn request(args: Value) -> ApprovalRequest {
    let Value::Object(args) = args else {
        panic!("arguments are an object");
    };
    let id = ToolId::new(Source::Mcp, "files", "delete").expect("legal");
    let patience = Duration::from_secs(40);
    ApprovalRequest::new(id, args, "s1", "ask mcp:*:delete* (global)", patience)
}

#[test]
fn only_a_clear_yes_is_one() {
    let accept = |choice: Value| json!({"action": "accept", "content": {"choice": choice}});
    assert_eq!(verdict(&accept(json!("once"))), Verdict::Once);
    assert_eq!(verdict(&accept(json!("session"))), Verdict::ForSession);
    assert!(matches!(
        verdict(&accept(json!("never"))),
        Verdict::DeniedForSession(_)
    ));
    for no in [
        accept(json!("deny")),
        accept(json!("yes")),
        accept(json!(true)),
        accept(json!(["once"])),
        json!({"action": "accept"}),
        json!({"action": "accept", "content": {}}),
        json!({"action": "accept", "content": {"other": "once"}}),
        json!({"action": "decline", "content": {"choice": "once"}}),
        json!({"action": "cancel"}),
        json!({"action": "ACCEPT", "content": {"choice": "once"}}),
        json!({"content": {"choice": "once"}}),
        json!({}),
        json!("accept"),
        Value::Null,
    ] {
        assert!(matches!(verdict(&no), Verdict::Denied(_)), "{no}");
    }
}

#[test]
fn the_question_shows_the_target_and_is_bounded_and_printable() {
    let args = json!({"path": "/etc\u{202e}\n\u{1b}[2J", "text": "x".repeat(10_000)});
    let asked = form(&request(args));
    let message = asked["message"].as_str().expect("a text");
    assert!(
        message.contains("mcp:files:delete") && message.contains("`files`"),
        "{message}"
    );
    assert!(message.contains("ask mcp:*:delete* (global)"));
    assert!(
        message.contains("\\u{202e}") && message.contains("more characters"),
        "{message}"
    );
    assert!(message.chars().count() < 2_500);
    assert!(!message.contains(|c: char| c.is_control() && c != '\n'));
    assert_eq!(
        message.lines().count(),
        3,
        "arguments open no line of their own"
    );
    let schema = &asked["requestedSchema"];
    assert_eq!(schema["required"], json!(["choice"]));
    assert_eq!(
        schema["properties"]["choice"].get("default"),
        None,
        "nothing is chosen beforehand"
    );
}

/// A client that answers the same to everything.
#[derive(Debug)]
struct Client(Mutex<Option<Result<Value, Unasked>>>);

#[async_trait]
impl Ask for Client {
    async fn ask(&self, question: Question) -> Result<Value, Unasked> {
        assert_eq!(question.kind, ClientCapability::Elicitation);
        assert!(
            !question.in_advance,
            "nothing is allowed before it is asked"
        );
        assert_eq!(
            question.patience,
            Duration::from_secs(38),
            "the question ends before the call does"
        );
        self.0
            .lock()
            .expect("not poisoned")
            .take()
            .expect("asked once")
    }
}

#[tokio::test]
async fn silence_and_trouble_are_no() {
    for (answer, part) in [
        (Err(Unasked::TimedOut), "timed out after 40000 ms"),
        (
            Err(Unasked::Failed("no\u{1b} method".to_owned())),
            "no method",
        ),
        (Ok(json!({"action": "decline"})), "declined"),
    ] {
        let client = Elicit(Arc::new(Client(Mutex::new(Some(answer)))));
        let Verdict::Denied(why) = client.review(request(json!({}))).await else {
            panic!("no is no");
        };
        assert!(why.contains(part) && !why.contains('\u{1b}'), "{why}");
    }
}
