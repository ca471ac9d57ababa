//! The contract as a whole: object safety, the null object, codes and errors as text.

use std::{
    future::Future,
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use serde_json::{Value, json};

use crate::*;

#[derive(Debug)]
struct Echo;

#[async_trait::async_trait]
impl Host for Echo {
    async fn call(&self, method: &str, args: Value) -> HostReply {
        HostReply::Value(json!([method, args]))
    }
}

fn ready<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("not ready"),
    }
}

#[test]
fn the_traits_are_objects_and_pointers_forward() {
    let host: Arc<dyn Host> = Arc::new(Box::new(Echo));
    assert_eq!(
        ready(host.call("search", json!({}))),
        HostReply::Value(json!(["search", {}]))
    );
    let engine: Box<dyn Engine> = Box::new(Arc::new(NoEngine));
    assert_eq!(engine.name(), "none");
    assert!(engine.check().is_err());
    let report = ready(engine.run(Program::new("return 1", 0, 0), host, &Limits::default()));
    assert_eq!(
        report.error().map(|e| e.code.as_str()),
        Some("engine_unavailable")
    );
    fn bridge(_: Box<dyn Bridge>, _: &mut dyn Guest) {}
    let _ = bridge;
}

/// An engine that works and says who it is.
#[derive(Debug)]
struct Named(&'static str);

#[async_trait::async_trait]
impl Engine for Named {
    fn name(&self) -> &str {
        self.0
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        Ok(Layers::default())
    }

    async fn run(&self, _: Program, _: Arc<dyn Host>, _: &Limits) -> RunReport {
        RunReport::new(self.0, RunStatus::Completed(RunValue::Nothing))
    }
}

#[test]
fn the_first_engine_that_works_is_used() {
    let several = FirstOf::new(vec![
        Arc::new(NoEngine),
        Arc::new(Named("second")),
        Arc::new(Named("third")),
    ]);
    assert_eq!(several.name(), "none", "nothing is checked yet");
    assert!(several.check().is_ok());
    assert_eq!(several.name(), "second");
    let limits = Limits::default();
    let run = several.run(Program::new("", 0, 0), Arc::new(Echo), &limits);
    assert_eq!(ready(run).engine, "second");

    let none = FirstOf::new(vec![Arc::new(NoEngine), Arc::new(NoEngine)]);
    let why = none.check().unwrap_err();
    assert_eq!(why.reason.matches("none: ").count(), 2, "{why}");
    let report = ready(none.run(Program::new("", 0, 0), Arc::new(Echo), &Limits::default()));
    assert_eq!(
        report.error().map(|e| &e.code),
        Some(&ErrorCode::EngineUnavailable)
    );
}

#[test]
fn codes_survive_the_wire() {
    for word in [
        "timeout",
        "out_of_memory",
        "too_many_calls",
        "output_truncated",
        "syntax_error",
        "guest_error",
        "tool_error",
        "policy_denied",
        "approval_denied",
        "cancelled",
        "engine_unavailable",
        "replay_mismatch",
        "protocol_error",
        "source_too_large",
    ] {
        let code = ErrorCode::parse(word);
        assert!(!matches!(code, ErrorCode::Other(_)), "{word}");
        assert_eq!(code.as_str(), word);
        assert_eq!(serde_json::to_value(&code).unwrap(), json!(word));
    }
    let own = ErrorCode::parse("not_found");
    assert_eq!(
        serde_json::from_value::<ErrorCode>(json!("not_found")).unwrap(),
        own
    );
    assert_eq!(ErrorCode::parse("Bad code\n").as_str(), "bad_code_");
    assert_eq!(ErrorCode::parse(&"x".repeat(500)).as_str().len(), 64);
    assert_eq!(ErrorCode::parse("").as_str(), "unknown");
}

#[test]
fn errors_read_well() {
    let mut error: RunError = HostError::new(ErrorCode::PolicyDenied, "`x` is not allowed").into();
    assert_eq!(error.to_string(), "PolicyDeniedError: `x` is not allowed");
    assert_eq!(HostError::new(ErrorCode::ToolError, "").name, "ToolError");
    error.line = Some(3);
    error.column = Some(7);
    error.excerpt = Some("await x()".into());
    let error = error.with_hint("do y");
    assert_eq!(
        error.to_string(),
        "PolicyDeniedError: `x` is not allowed (line 3, column 7: `await x()`). do y"
    );
}

#[test]
fn a_long_source_is_refused_before_anything_runs() {
    let limits = Limits::default();
    assert_eq!(
        Program::new("x".repeat(65_536), 0, 0).oversize(&limits),
        None
    );
    let error = Program::new("x".repeat(65_537), 0, 0)
        .oversize(&limits)
        .unwrap();
    assert_eq!(error.code, ErrorCode::SourceTooLarge);
    assert!(error.message.contains("65537") && error.message.contains("65536"));
}

#[test]
fn layers_answer_what_is_missing() {
    let layers = Layers {
        list: vec![
            Layer::new("seccomp", LayerState::Enforced, ""),
            Layer::new("landlock", LayerState::Partial, "old kernel"),
        ],
    };
    let required = [
        "seccomp".to_owned(),
        "landlock".to_owned(),
        "other".to_owned(),
    ];
    assert_eq!(layers.missing(&required), ["landlock", "other"]);
}
