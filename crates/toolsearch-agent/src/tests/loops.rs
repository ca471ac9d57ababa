//! The loop over real sessions.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::fixtures::{Diary, Office, Picker, Script, call, office};
use crate::{
    Agent, Arguments, Call, Conversation, End, Limit, Limits, Message, ModelError, ModelTurn, Used,
};

fn agent(office: &Office, script: &Arc<Script>) -> Agent {
    Agent::new(office.session.clone(), Arc::clone(script) as _)
}

fn limits(change: impl FnOnce(&mut Limits)) -> Limits {
    let mut limits = Limits::default();
    change(&mut limits);
    limits
}

#[tokio::test]
async fn a_call_through_a_control_reaches_the_tool_and_the_answer_ends_the_run() {
    let office = office("tools").await;
    let args = json!({"id": "native:office:note", "args": {"text": "milk"}});
    let script = Script::new([
        ModelTurn::calling(vec![call("a", "tool_call", args)]),
        ModelTurn::answer("Noted."),
    ]);
    let diary = Arc::new(Diary::default());
    let report = agent(&office, &script)
        .with_observer(Arc::clone(&diary) as _)
        .run("note milk")
        .await;
    assert_eq!(
        (report.answer.as_str(), &report.end),
        ("Noted.", &End::Answered)
    );
    assert_eq!((report.turns, report.requests.len()), (2, 2));
    assert_eq!(office.desk.ran(), ["note"]);
    assert!(script.told()[0].contains("milk"), "{:?}", script.told());
    let last = &script.asked()[1].messages;
    assert_eq!(last[0], Message::User("note milk".to_owned()));
    assert!(matches!(&last[2], Message::Results(results) if results[0].0.id == "a"));
    let names: Vec<&str> = report.calls.iter().map(|call| call.name.as_str()).collect();
    assert_eq!(names, ["tool_call"]);
    assert!(report.calls[0].ok && report.calls[0].turn == 1);
    let lines = diary.lines();
    assert_eq!(lines.len(), 4, "{lines:?}");
    assert!(
        lines[1].starts_with("Calling") && lines[2].starts_with("Called"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn the_model_is_sent_the_surface_in_every_turn() {
    let office = office("directory").await;
    let script = Script::new([
        ModelTurn::calling(vec![call("a", "note", json!({}))]),
        ModelTurn::answer("ok"),
    ]);
    let own = agent(&office, &script).with_instructions("Be brief.");
    own.run("go").await;
    let surface = office.session.surface();
    assert!(!surface.prompt.is_empty());
    let asked = script.asked();
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(request.system, format!("Be brief.\n\n{}", surface.prompt));
        let names: Vec<&str> = request
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        let declared: Vec<&str> = surface
            .tools
            .iter()
            .map(|tool| tool.name.as_str())
            .collect();
        assert_eq!(names, declared);
        assert_eq!(request.tools[0].input_schema, surface.tools[0].input_schema);
    }
    assert_eq!(
        office.desk.ran(),
        ["note"],
        "a hidden name is run in directory mode"
    );
}

#[tokio::test]
async fn calls_of_one_turn_run_together_and_are_answered_in_order() {
    let office = office("direct").await;
    let calls = vec![
        call("1", "meet_b", json!({"seat": 1})),
        call("2", "fail", json!({})),
        call("3", "meet_a", json!({"seat": 2})),
    ];
    let script = Script::new([ModelTurn::calling(calls), ModelTurn::answer("done")]);
    let report = agent(&office, &script).run("meet").await;
    assert_eq!(report.end, End::Answered);
    let told = script.told();
    assert_eq!(told.len(), 3);
    assert!(
        told[0].starts_with("meet_b") && told[2].starts_with("meet_a"),
        "{told:?}"
    );
    assert!(told[1].contains("the printer burns"));
    let ok: Vec<bool> = report.calls.iter().map(|call| call.ok).collect();
    assert_eq!(ok, [true, false, true]);
}

#[tokio::test]
async fn unreadable_arguments_run_nothing_and_tell_the_model_what_to_do() {
    let office = office("direct").await;
    let arguments = Arguments::Unreadable {
        excerpt: "{\"text\": \"mi".to_owned(),
        problem: "EOF".to_owned(),
    };
    let script = Script::new([
        ModelTurn::calling(vec![Call::new("a", "note", arguments)]),
        ModelTurn::answer("sorry"),
    ]);
    let report = agent(&office, &script).run("note milk").await;
    assert!(office.desk.ran().is_empty());
    assert!(!report.calls[0].ok);
    let told = &script.told()[0];
    assert!(
        told.contains("`note`") && told.contains("Nothing was run"),
        "{told}"
    );
}

#[tokio::test]
async fn client_tools_are_run_by_the_client_behind_a_control_and_by_name() {
    let args = json!({"from": ["blue", "red"]});
    let wrapped = json!({"id": "client:client:pick_colour", "args": args});
    for (mode, name, args) in [
        ("tools", "tool_call", wrapped),
        ("directory", "pick_colour", args.clone()),
        ("direct", "pick_colour", args),
    ] {
        let office = office(mode).await;
        let script = Script::new([
            ModelTurn::calling(vec![call("a", name, args)]),
            ModelTurn::answer("blue"),
        ]);
        let report = agent(&office, &script)
            .with_client_tools(Arc::new(Picker))
            .run("colour?")
            .await;
        assert!(report.calls[0].ok, "{mode}");
        let told = &script.told()[0];
        assert!(told.contains("pick_colour: blue"), "{mode}: {told}");
    }
}

#[tokio::test]
async fn without_a_client_its_tools_fail_their_call() {
    let office = office("direct").await;
    let script = Script::new([
        ModelTurn::calling(vec![call("a", "pick_colour", json!({}))]),
        ModelTurn::answer("none"),
    ]);
    let report = agent(&office, &script).run("colour?").await;
    assert!(!report.calls[0].ok);
    assert!(script.told()[0].contains("Nobody runs `pick_colour` here."));
}

#[tokio::test]
async fn names_that_nobody_has_are_told_and_the_run_goes_on() {
    let office = office("tools").await;
    let script = Script::new([
        ModelTurn::calling(vec![
            call("a", "launch_rocket", json!({})),
            call("b", "", json!({})),
        ]),
        ModelTurn::answer("no"),
    ]);
    let report = agent(&office, &script).run("fly").await;
    assert_eq!(report.end, End::Answered);
    assert!(report.calls.iter().all(|call| !call.ok));
    assert!(script.told()[0].contains("launch_rocket"));
}

#[tokio::test]
async fn a_model_in_trouble_ends_the_run_with_its_reason() {
    let office = office("tools").await;
    let error = ModelError::Unreadable("no choices".to_owned());
    let script = Script::failing(error.clone());
    let report = agent(&office, &script).run("hello").await;
    assert_eq!(report.end, End::Failed(error));
    assert_eq!((report.turns, report.answer.as_str()), (0, ""));
    assert_eq!(report.to_json()["end"], "failed");
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_marked() {
    let office = office("tools").await;
    let mut turn = ModelTurn::answer("The meaning of life is");
    turn.cut = true;
    let report = agent(&office, &Script::new([turn])).run("why?").await;
    assert_eq!(report.end, End::CutOff);
    assert_eq!(report.answer, "The meaning of life is");
}

#[tokio::test]
async fn every_limit_ends_the_run_by_its_name() {
    let turn = || ModelTurn::calling(vec![call("a", "note", json!({"text": "x".repeat(500)}))]);
    let cases = [
        (limits(|limits| limits.turns = 2), Limit::Turns, 2),
        (limits(|limits| limits.calls = 3), Limit::Calls, 3),
        (
            limits(|limits| limits.conversation_bytes = 1500),
            Limit::Conversation,
            2,
        ),
        (
            limits(|limits| limits.time = Duration::from_millis(50)),
            Limit::Time,
            4,
        ),
    ];
    for (limits, limit, ran) in cases {
        let office = office("direct").await;
        // After four turns the model never answers again.
        let script = Script::new((0..4).map(|_| turn()));
        let report = agent(&office, &script)
            .with_limits(limits)
            .run("note")
            .await;
        assert_eq!(report.end, End::Limit(limit));
        if limit != Limit::Time {
            assert_eq!(office.desk.ran().len(), ran, "{limit:?}");
        }
        assert!(report.end.trouble().is_some());
    }
}

#[tokio::test]
async fn tokens_are_added_up_and_end_the_run() {
    let office = office("direct").await;
    let turn = || {
        let mut turn = ModelTurn::calling(vec![call("a", "note", json!({}))]);
        turn.used = Used::new(90, 10);
        turn
    };
    let script = Script::new([turn(), turn(), turn()]);
    let report = agent(&office, &script)
        .with_limits(limits(|limits| limits.tokens = 150))
        .run("note")
        .await;
    assert_eq!(report.end, End::Limit(Limit::Tokens));
    assert_eq!((report.turns, report.used), (2, Used::new(180, 20)));
    assert_eq!(report.to_json()["usage"]["inputTokens"], 180);
}

fn busy(retry_after: Option<u64>) -> ModelError {
    ModelError::Busy {
        status: 429,
        message: "slow down".to_owned(),
        retry_after: retry_after.map(Duration::from_secs),
    }
}

#[tokio::test(start_paused = true)]
async fn a_busy_provider_is_asked_again_when_it_says() {
    let office = office("tools").await;
    let script = Script::new([]);
    script.plays([
        Err(busy(Some(7))),
        Err(ModelError::Unreachable("reset".to_owned())),
        Ok(ModelTurn::answer("there you are")),
    ]);
    let diary = Arc::new(Diary::default());
    let started = tokio::time::Instant::now();
    let report = agent(&office, &script)
        .with_observer(Arc::clone(&diary) as _)
        .run("hello")
        .await;
    assert_eq!(
        (report.answer.as_str(), report.retries),
        ("there you are", 2)
    );
    assert_eq!(
        started.elapsed(),
        Duration::from_secs(8),
        "seven and a second of our own"
    );
    let lines = diary.lines();
    assert!(lines[1].starts_with("Retrying { after: 7s"), "{lines:?}");
}

#[tokio::test(start_paused = true)]
async fn repetitions_end_and_some_trouble_is_not_repeated() {
    for (errors, asked) in [
        (vec![busy(None); 9], 5),
        // Whoever wants to be asked in an hour is not waited for.
        (vec![busy(Some(3600)); 9], 1),
        (vec![ModelError::Unreadable("odd".to_owned()); 9], 1),
    ] {
        let office = office("tools").await;
        let script = Script::new([]);
        script.plays(errors.into_iter().map(Err));
        let report = agent(&office, &script).run("hello").await;
        assert!(matches!(report.end, End::Failed(_)));
        assert_eq!(script.asked().len(), asked);
    }
}

#[tokio::test]
async fn a_conversation_goes_on() {
    let office = office("direct").await;
    let script = Script::new([
        ModelTurn::calling(vec![call("a", "note", json!({"text": "milk"}))]),
        ModelTurn::answer("Noted."),
        ModelTurn::answer("Milk."),
    ]);
    let agent = agent(&office, &script);
    let mut talk = Conversation::new();
    agent.say(&mut talk, "note milk").await;
    let report = agent.say(&mut talk, "what was it?").await;
    assert_eq!((report.answer.as_str(), report.turns), ("Milk.", 1));
    let last = &script.asked()[2].messages;
    assert_eq!(last.len(), 5);
    assert_eq!(last[0], Message::User("note milk".to_owned()));
    assert_eq!(last[4], Message::User("what was it?".to_owned()));
    assert_eq!(talk.messages().len(), 6);
}

#[tokio::test]
async fn a_conversation_outlives_its_limits() {
    let office = office("direct").await;
    let turn = || ModelTurn::calling(vec![call("a", "note", json!({}))]);
    let script = Script::new([turn(), turn()]);
    let agent = agent(&office, &script).with_limits(limits(|limits| {
        limits.calls = 1;
        limits.time = Duration::from_secs(60);
    }));
    let mut talk = Conversation::new();
    let report = agent.say(&mut talk, "note").await;
    assert_eq!(report.end, End::Limit(Limit::Calls));
    // The second turn's call was not made, so it is not part of what was said.
    assert_eq!(talk.messages().len(), 3);
    assert!(matches!(talk.messages()[2], Message::Results(_)));
}
