//! Every door leads through the same dispatch: the control, a visible tool, a hidden name, a typed
//! request, a client tool.

use serde_json::json;
use toolsearch_catalog::Outcome;
use toolsearch_mode::{CallRequest, Request, Response};

use super::fixtures::{call, code, directory, object, office, request, tool_call};
use crate::{ClientAnswer, ModelCall, Reply, ResumeError};

#[tokio::test]
async fn a_hidden_name_is_run_where_that_is_allowed() {
    for (directory_mode, hidden_calls, runs) in [
        (false, true, true),
        (false, false, false),
        (true, false, true),
        (true, true, true),
    ] {
        let office = office(|parts, options| {
            if directory_mode {
                directory(parts);
            }
            options.hidden_calls = hidden_calls;
        });
        let session = office.open().await;
        let answer = call(&session, "create_issue", json!({"title": "t"})).await;
        assert_eq!(answer.is_error, !runs, "{directory_mode} {hidden_calls}");
        assert_eq!(office.bench.ran().len(), usize::from(runs));
        if !runs {
            assert_eq!(code(&answer).as_deref(), Some("hidden_tool"));
            assert!(
                answer.joined_text().contains("tool_call"),
                "{}",
                answer.joined_text()
            );
        }
    }
}

#[tokio::test]
async fn a_visible_tool_can_be_called_by_name_and_through_the_control() {
    let office = office(|_, _| {});
    let session = office.open().await;
    assert!(
        !call(&session, "ask_user", json!({"title": "t"}))
            .await
            .is_error
    );
    assert!(
        !tool_call(&session, "ask_user", json!({"title": "t"}))
            .await
            .is_error
    );
    assert!(
        !tool_call(&session, "native:core:ask_user", json!({"title": "t"}))
            .await
            .is_error
    );
    assert_eq!(office.bench.ran().len(), 3);
}

#[tokio::test]
async fn no_arguments_come_in_many_spellings() {
    let office = office(|_, _| {});
    let session = office.open().await;
    for arguments in [
        json!(""),
        json!(" "),
        json!("null"),
        json!("{}"),
        json!(null),
        json!({}),
    ] {
        assert!(!call(&session, "ask_user", arguments).await.is_error);
    }
    for arguments in [json!([]), json!(3), json!("[1]"), json!("{bad")] {
        assert!(call(&session, "ask_user", arguments).await.is_error);
    }
    assert_eq!(office.bench.ran().len(), 6);
}

#[tokio::test]
async fn a_typed_request_goes_the_same_way() {
    let office = office(|_, _| {});
    let session = office.open().await;
    let args = object(json!({"title": "t"}));
    let response = request(
        &session,
        Request::Call(CallRequest::new("create_issue", args)),
    )
    .await;
    assert!(matches!(response, Response::Call(_)));
    let missing = request(&session, Request::Describe(vec!["creat_issue".to_owned()])).await;
    let Response::Failed(failure) = missing else {
        panic!("{missing:?}")
    };
    assert_eq!(failure.suggestions[0].as_str(), "mcp:github:create_issue");
}

#[tokio::test]
async fn a_client_tool_is_handed_back_and_goes_on_with_its_result() {
    for (name, arguments) in [
        (
            "tool_call",
            json!({"id": "pick_colour", "args": {"title": "wall"}}),
        ),
        ("pick_colour", json!({"title": "wall"})),
    ] {
        let office = office(|_, _| {});
        let session = office.open().await;
        let Reply::Pending(pending) = session.handle(ModelCall::new(name, arguments)).await else {
            panic!("the client has to run it");
        };
        let calls = pending.calls();
        assert_eq!(calls[0].tool.name, "pick_colour");
        assert_eq!(
            serde_json::Value::Object(calls[0].args.clone()),
            json!({"title": "wall"})
        );

        let (error, pending) = session
            .resume(*pending, Vec::new())
            .await
            .expect_err("no answer was given");
        assert_eq!(error, ResumeError::Missing(calls[0].handle.clone()));
        let wrong = vec![ClientAnswer::new("nope", Outcome::text("x"))];
        let (error, pending) = session
            .resume(pending, wrong)
            .await
            .expect_err("unknown handle");
        assert_eq!(error, ResumeError::Unknown("nope".to_owned()));

        let answer = vec![ClientAnswer::new(
            calls[0].handle.as_str(),
            Outcome::text("blue"),
        )];
        let Ok(Reply::Done(rendered)) = session.resume(pending, answer).await else {
            panic!("answered");
        };
        assert_eq!(rendered.joined_text(), "blue");
        assert_eq!(
            rendered.meta.expect("meta")["toolsearch/tool"]["source"],
            "client"
        );
    }
}

#[tokio::test]
async fn a_client_call_with_wrong_arguments_never_reaches_the_client() {
    let office = office(|_, _| {});
    let session = office.open().await;
    let answer = tool_call(&session, "pick_colour", json!({"colour": "x"})).await;
    assert_eq!(code(&answer).as_deref(), Some("invalid_arguments"));
}

#[tokio::test]
async fn unknown_names_get_suggestions_and_the_way_on() {
    let office = office(|_, _| {});
    let session = office.open().await;
    for (name, arguments) in [
        ("creat_issue", json!({})),
        ("tool_call", json!({"id": "creat_issue"})),
        ("tool_describe", json!({"id": "creat_issue"})),
    ] {
        let text = call(&session, name, arguments).await.joined_text();
        assert!(
            text.contains("mcp:github:create_issue") && text.contains("`tool_search`"),
            "{text}"
        );
    }
}
