//! What is asked, answered and kept between two rounds, without a connection.

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

fn told(arguments: Value) -> Told {
    Told {
        method: "tools/call".to_owned(),
        name: "ask".to_owned(),
        arguments,
    }
}

fn question(name: &str) -> Question {
    Question {
        kind: ClientCapability::Elicitation,
        params: json!({ "message": name }),
        name: Some(name.to_owned()),
        in_advance: true,
        patience: PATIENCE,
    }
}

fn inputs(params: Value) -> Inputs {
    let Value::Object(mut params) = params else {
        panic!("parameters are an object");
    };
    Inputs::take(&mut params).expect("well formed")
}

/// Work that asks all of these at once and gives what was said.
async fn asks(names: &'static [&'static str], errand: Errand) -> Answer {
    let said = names.iter().map(|name| errand.mailbox.ask(question(name)));
    let said = futures::future::join_all(said).await;
    let said: Vec<Value> = said
        .into_iter()
        .map(|said| said.unwrap_or_else(|why| json!(format!("{why:?}"))))
        .collect();
    Ok(json!({ "said": said }))
}

async fn round(
    waiting: &Waiting,
    names: &'static [&'static str],
    arguments: Value,
    params: Value,
) -> Answer {
    let told = told(arguments);
    let start = |errand| asks(names, errand);
    let work = waiting.enter(&told, inputs(params), start)?;
    waiting.round(told, work).await
}

#[tokio::test(start_paused = true)]
async fn what_is_not_answered_is_asked_again_under_another_state() {
    let waiting = Waiting::default();
    let first = round(&waiting, &["a", "b"], json!({}), json!({}))
        .await
        .unwrap();
    assert_eq!(first["resultType"], "input_required");
    assert_eq!(first["inputRequests"]["a"]["method"], "elicitation/create");
    let said = json!({ "a": { "x": 1 }, "b": 7, "other": {} });
    let more = json!({ "requestState": first["requestState"], "inputResponses": said });
    let second = round(&waiting, &[], json!({}), more).await.unwrap();
    let open = second["inputRequests"].as_object().unwrap();
    assert_eq!(open.keys().collect::<Vec<_>>(), ["b"]);
    assert_ne!(first["requestState"], second["requestState"]);
    let more = json!({ "requestState": second["requestState"], "inputResponses": { "b": {} } });
    let done = round(&waiting, &[], json!({}), more).await.unwrap();
    assert_eq!(done, json!({ "said": [{ "x": 1 }, {}] }));
}

#[tokio::test(start_paused = true)]
async fn a_state_counts_once_for_its_request_and_for_its_time() {
    let waiting = Waiting::default();
    let asked = round(&waiting, &["a"], json!({ "n": 1 }), json!({}))
        .await
        .unwrap();
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let again = |state: &str| json!({ "requestState": state, "inputResponses": { "a": {} } });
    for (arguments, state) in [
        (json!({ "n": 2 }), state.clone()),
        (json!({ "n": 1 }), format!("{state}x")),
        (json!({ "n": 1 }), String::new()),
    ] {
        let refused = round(&waiting, &[], arguments, again(&state)).await;
        assert_eq!(refused.unwrap_err().code, ErrorCode::INVALID_PARAMS);
    }
    let other = Waiting::default();
    let foreign = round(&other, &[], json!({ "n": 1 }), again(&state)).await;
    assert!(foreign.is_err(), "another connection does not know it");
    round(&waiting, &[], json!({ "n": 1 }), again(&state))
        .await
        .expect("the very same");
    let twice = round(&waiting, &[], json!({ "n": 1 }), again(&state)).await;
    assert!(twice.is_err(), "it was used");

    let asked = round(&waiting, &["a"], json!({}), json!({})).await.unwrap();
    let state = asked["requestState"].as_str().unwrap();
    tokio::time::advance(PATIENCE).await;
    let late = round(&waiting, &[], json!({}), again(state)).await;
    assert!(late.is_err(), "its time is over");
}

#[tokio::test(start_paused = true)]
async fn only_so_much_waits_and_what_is_given_up_ends() {
    let waiting = Waiting::default();
    let (living, mut ended) = tokio::sync::mpsc::channel::<()>(1);
    let told = told(json!({}));
    let start = |errand: Errand| async move {
        let _living = living;
        asks(&["a"], errand).await
    };
    let work = waiting.enter(&told, Inputs::default(), start).unwrap();
    let first = waiting.round(told, work).await.unwrap();
    for _ in 0..MAX_WAITING {
        round(&waiting, &["a"], json!({}), json!({})).await.unwrap();
    }
    let more = json!({ "requestState": first["requestState"], "inputResponses": { "a": {} } });
    assert!(round(&waiting, &[], json!({}), more).await.is_err());
    assert_eq!(ended.recv().await, None, "its work is gone");
    assert_eq!(waiting.works().len(), MAX_WAITING);
}

#[tokio::test(start_paused = true)]
async fn answers_in_advance_count_where_they_may() {
    let waiting = Waiting::default();
    let said = json!({ "inputResponses": { "a": { "x": 1 }, "b": 12 } });
    let asked = round(&waiting, &["a", "b"], json!({}), said).await.unwrap();
    let open = asked["inputRequests"].as_object().unwrap();
    assert_eq!(open.keys().collect::<Vec<_>>(), ["b"]);
    let consent = |errand: Errand| async move {
        let mut question = question("consent");
        question.in_advance = false;
        let _ = errand.mailbox.ask(question).await;
        Ok(json!({}))
    };
    let told = told(json!({}));
    let said = inputs(json!({ "inputResponses": { "consent": {} } }));
    let work = waiting.enter(&told, said, consent).unwrap();
    let asked = waiting.round(told, work).await.unwrap();
    assert_eq!(asked["resultType"], "input_required");
}

#[tokio::test(start_paused = true)]
async fn names_of_strangers_are_bounded_and_do_not_collide() {
    let waiting = Waiting::default();
    let ask_all = |errand: Errand| async move {
        let long = "x".repeat(MAX_NAME_BYTES + 1);
        let names = ["a", "a", "", &long];
        let all = names.map(|name| errand.mailbox.ask(question(name)));
        futures::future::join_all(all).await;
        Ok(json!({}))
    };
    let told = told(json!({}));
    let work = waiting.enter(&told, Inputs::default(), ask_all).unwrap();
    let asked = waiting.round(told, work).await.unwrap();
    let names: Vec<&String> = asked["inputRequests"].as_object().unwrap().keys().collect();
    assert_eq!(names, ["a", "question-2", "question-3", "question-4"]);
}

#[tokio::test(start_paused = true)]
async fn a_failure_for_want_of_a_capability_is_told_as_that() {
    let waiting = Waiting::default();
    for (failed, excused) in [(true, true), (false, false)] {
        let start = move |errand: Errand| async move {
            errand.mailbox.lacks(ClientCapability::Sampling);
            Ok(json!({ "isError": failed }))
        };
        let told = told(json!({}));
        let work = waiting.enter(&told, Inputs::default(), start).unwrap();
        let answer = waiting.round(told, work).await;
        assert_eq!(answer.is_err(), excused);
        if let Err(error) = answer {
            assert_eq!(error.code, ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY);
            let data = error.data.unwrap();
            assert_eq!(data, json!({ "requiredCapabilities": { "sampling": {} } }));
        }
    }
}

#[test]
fn inputs_of_another_form_are_refused() {
    for params in [
        json!({ "requestState": 7 }),
        json!({ "inputResponses": [] }),
        json!({ "inputResponses": "a" }),
    ] {
        let Value::Object(mut params) = params else {
            unreachable!()
        };
        let error = Inputs::take(&mut params).unwrap_err();
        assert_eq!(error.code, ErrorCode::INVALID_PARAMS);
    }
}
