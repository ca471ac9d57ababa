//! Running tools: every command here is a real process.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolsearch_catalog::{Outcome, Source, ToolDescriptor};
use toolsearch_invoke::{CallId, Caller, Invocation, InvokeError, Invoker};
use toolsearch_plugin::{MAX_OUTPUT_BYTES, Manifest, Plugin};

/// Longer than any command here takes on a busy machine.
const LONG: Duration = Duration::from_secs(60);

struct Bench {
    folder: TempDir,
    plugin: Arc<Plugin>,
}

/// A plugin with one tool `work` that runs a shell script.
fn bench(script: &str, more: Value) -> Bench {
    let folder = tempfile::tempdir().expect("a folder");
    let mut tool = json!({
        "name": "work",
        "inputSchema": {"type": "object"},
        "command": ["sh", "-c", script],
    });
    for (key, value) in more.as_object().expect("an object") {
        tool[key] = value.clone();
    }
    let manifest = json!({"name": "shop", "tools": [tool]});
    let manifest = Manifest::from_value(manifest, folder.path()).expect("a manifest");
    let plugin = Arc::new(Plugin::new(manifest));
    Bench { folder, plugin }
}

impl Bench {
    fn path(&self) -> &Path {
        self.folder.path()
    }

    async fn call(&self, args: Value, timeout: Duration) -> Result<Outcome, InvokeError> {
        let tool = Arc::clone(&self.plugin.manifest().tools[0].descriptor);
        self.plugin.invoke(invocation(tool, args, timeout)).await
    }

    async fn run(&self, args: Value) -> Outcome {
        self.call(args, LONG).await.expect("an outcome")
    }
}

fn invocation(tool: Arc<ToolDescriptor>, args: Value, timeout: Duration) -> Invocation {
    let args = match args {
        Value::Object(args) => args,
        _ => Map::new(),
    };
    let mut call = Invocation::new(tool, args, CallId::outer(7).nested(2), timeout);
    call.caller = Caller::new("s1", None);
    call
}

#[tokio::test]
async fn a_command_gets_the_call_as_json_and_answers_in_json() {
    let bench = bench("cat", json!({}));
    let outcome = bench
        .run(json!({"title": "Füße \u{1f600}", "n": [1, null]}))
        .await;
    assert!(!outcome.is_error);
    assert_eq!(
        outcome.value(),
        json!({
            "tool": "work",
            "args": {"title": "Füße \u{1f600}", "n": [1, null]},
            "callId": "c7.2",
            "session": "s1",
        })
    );
}

#[tokio::test]
async fn results_are_read_as_they_are_given() {
    let cases: [(&str, Outcome); 7] = [
        (
            r#"{"content": [{"type": "text", "text": "hi"}], "structuredContent": {"a": 1}}"#,
            {
                let mut outcome = Outcome::text("hi");
                outcome.structured = Some(Arc::new(json!({"a": 1})));
                outcome
            },
        ),
        (
            r#"{"content": [{"type": "text", "text": "no"}], "isError": true}"#,
            Outcome::error("no"),
        ),
        (r#"{"content": "a field of its own"}"#, {
            Outcome::structured(json!({"content": "a field of its own"}))
        }),
        (r#"{"content": ["odd"]}"#, Outcome::text("odd")),
        ("[1, 2]", Outcome::structured(json!([1, 2]))),
        (r#""words""#, {
            let mut outcome = Outcome::text("words");
            outcome.structured = Some(Arc::new(json!("words")));
            outcome
        }),
        ("", Outcome::default()),
    ];
    for (printed, expected) in cases {
        let bench = bench(
            "printf '%s' \"$0\"",
            json!({"command": ["printf", "%s", printed]}),
        );
        assert_eq!(bench.run(json!({})).await, expected, "{printed}");
    }
}

#[tokio::test]
async fn a_failing_command_is_a_failed_result_with_its_last_words() {
    let bench = bench(
        "echo first >&2; echo 'no such place' >&2; exit 3",
        json!({}),
    );
    let outcome = bench.run(json!({})).await;
    assert!(outcome.is_error);
    assert_eq!(
        outcome.joined_text(),
        "The command ended with exit code 3.\nIt wrote to standard error:\nfirst\nno such place"
    );
}

#[tokio::test]
async fn a_failing_command_may_say_itself_what_is_wrong() {
    let script = r#"echo '{"content": [{"type": "text", "text": "out of paper"}]}'; exit 1"#;
    let outcome = bench(script, json!({})).run(json!({})).await;
    assert!(outcome.is_error);
    assert_eq!(outcome.joined_text(), "out of paper");
}

#[tokio::test]
async fn output_that_is_no_json_is_an_error_that_quotes_it() {
    let outcome = bench("echo done!", json!({})).run(json!({})).await;
    assert!(outcome.is_error);
    let text = outcome.joined_text();
    assert!(
        text.contains("not JSON") && text.contains("done!"),
        "{text}"
    );
}

#[tokio::test]
async fn commands_run_in_their_folder_with_an_empty_environment() {
    let script = r#"printf '{"pwd": "%s", "names": "%s"}' "$(pwd -P)" "$(env | cut -d= -f1 | sort | tr '\n' ' ')""#;
    let bench = bench(
        script,
        json!({"env": ["CARGO_MANIFEST_DIR", "NOT_SET_ANYWHERE_4711"]}),
    );
    let value = bench.run(json!({})).await.value();
    let folder = bench.path().canonicalize().expect("a folder");
    assert_eq!(value["pwd"], json!(folder));
    let names: Vec<&str> = value["names"]
        .as_str()
        .expect("text")
        .split_whitespace()
        .collect();
    // The shell adds some of its own.
    let foreign: Vec<&&str> = names
        .iter()
        .filter(|name| {
            !matches!(
                **name,
                "CARGO_MANIFEST_DIR" | "PATH" | "PWD" | "SHLVL" | "_" | "OLDPWD"
            )
        })
        .collect();
    assert!(foreign.is_empty(), "{foreign:?}");
    assert!(
        names.contains(&"CARGO_MANIFEST_DIR") && names.contains(&"PATH"),
        "{names:?}"
    );
}

#[tokio::test]
async fn values_that_are_passed_on_do_not_show_in_errors() {
    let script = "echo \"at $CARGO_MANIFEST_DIR/x\" >&2; exit 1";
    let outcome = bench(script, json!({"env": ["CARGO_MANIFEST_DIR"]}))
        .run(json!({}))
        .await;
    let text = outcome.joined_text();
    assert!(text.ends_with("at [redacted]/x"), "{text}");
}

#[cfg(unix)]
#[tokio::test]
async fn a_relative_program_starts_at_the_folder() {
    use std::os::unix::fs::PermissionsExt;
    let bench = bench("", json!({"command": ["./bin/tool"]}));
    let path = bench.path().join("bin/tool");
    std::fs::create_dir(bench.path().join("bin")).expect("a folder");
    std::fs::write(&path, "#!/bin/sh\necho '{\"ok\": true}'\n").expect("a script");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("a mode");
    assert_eq!(bench.run(json!({})).await.value(), json!({"ok": true}));
}

#[tokio::test]
async fn what_cannot_be_started_is_unavailable() {
    let bench = bench("", json!({"command": ["no-such-program-4711"]}));
    let error = bench.call(json!({}), LONG).await.expect_err("not there");
    let InvokeError::Unavailable { owner, reason } = error else {
        panic!("{error:?}");
    };
    assert_eq!(owner, "shop");
    assert!(
        reason.starts_with("cannot run `no-such-program-4711`"),
        "{reason}"
    );
}

#[tokio::test]
async fn a_tool_of_another_manifest_is_gone() {
    let bench = bench("cat", json!({}));
    let tool = ToolDescriptor::new(Source::Plugin, "shop", "old", json!({})).expect("legal");
    let call = invocation(Arc::new(tool), json!({}), LONG);
    let error = bench.plugin.invoke(call).await.expect_err("not there");
    assert_eq!(
        error,
        InvokeError::Gone {
            owner: "shop".to_owned()
        }
    );
}

#[tokio::test]
async fn large_input_and_output_do_not_wait_for_each_other() {
    // The command writes before it reads, more than any pipe holds on both sides.
    let script = "import sys,json; sys.stdout.write('{\"pad\": \"' + 'x' * 300000); sys.stdout.flush(); \
                  n = len(json.load(sys.stdin)['args']['text']); sys.stdout.write('\", \"n\": %d}' % n)";
    let bench = bench("", json!({"command": ["python3", "-c", script]}));
    let value = bench
        .run(json!({"text": "y".repeat(400_000)}))
        .await
        .value();
    assert_eq!(value["n"], 400_000);
    assert_eq!(value["pad"].as_str().map(str::len), Some(300_000));
}

#[tokio::test]
async fn a_command_need_not_read_its_input() {
    let bench = bench("echo '{\"done\": 1}'", json!({}));
    let outcome = bench.run(json!({"text": "y".repeat(400_000)})).await;
    assert_eq!(outcome.value(), json!({"done": 1}));
}

#[tokio::test]
async fn endless_output_is_stopped() {
    let bench = bench("yes", json!({}));
    let outcome = bench.run(json!({})).await;
    assert!(outcome.is_error);
    let limit = format!("more than {} MiB", MAX_OUTPUT_BYTES >> 20);
    assert!(outcome.joined_text().contains(&limit));
}

#[tokio::test]
async fn of_standard_error_the_end_is_kept() {
    let bench = bench(
        "yes noise | head -c 300000 >&2; echo last >&2; exit 1",
        json!({}),
    );
    let text = bench.run(json!({})).await.joined_text();
    assert!(
        text.ends_with("noise\nlast"),
        "{}",
        &text[text.len() - 40..]
    );
    assert!(text.len() < 5000);
}

/// A named pipe that everything a command starts holds open for writing: it can be read to its end
/// only when all of that is gone.
#[cfg(unix)]
async fn held_by(bench: &Bench) -> tokio::fs::File {
    let pipe = bench.path().join("held");
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .expect("mkfifo")
            .success()
    );
    let mut file = tokio::fs::File::open(&pipe).await.expect("somebody writes");
    let mut first = [0; 1];
    tokio::io::AsyncReadExt::read_exact(&mut file, &mut first)
        .await
        .expect("a sign of life");
    file
}

#[cfg(unix)]
async fn all_gone(mut pipe: tokio::fs::File) {
    let mut rest = Vec::new();
    tokio::time::timeout(
        LONG,
        tokio::io::AsyncReadExt::read_to_end(&mut pipe, &mut rest),
    )
    .await
    .expect("the processes are gone")
    .expect("the pipe can be read");
}

/// Waits for the pipe, then leaves two processes behind that would sleep for long.
#[cfg(unix)]
const HOLDING: &str =
    "while [ ! -p held ]; do :; done; exec 9>held; printf x >&9; sleep 300 & sleep 300";

#[cfg(unix)]
#[tokio::test]
async fn what_takes_too_long_is_killed_with_its_children() {
    let bench = bench(HOLDING, json!({"timeoutMs": 3000}));
    let started = Instant::now();
    let (pipe, error) = tokio::join!(held_by(&bench), bench.call(json!({}), LONG));
    assert_eq!(error, Err(InvokeError::Timeout(Duration::from_secs(3))));
    assert!(started.elapsed() < Duration::from_secs(60));
    all_gone(pipe).await;
}

#[cfg(unix)]
#[tokio::test]
async fn a_dropped_call_is_killed_with_its_children() {
    let bench = bench(HOLDING, json!({}));
    let pipe = tokio::select! {
        pipe = held_by(&bench) => pipe,
        outcome = bench.call(json!({}), LONG) => panic!("it ended: {outcome:?}"),
    };
    all_gone(pipe).await;
}

#[cfg(unix)]
#[tokio::test]
async fn children_that_are_left_behind_do_not_hold_up_the_answer() {
    let script = "while [ ! -p held ]; do :; done; exec 9>held; printf x >&9; sleep 300 & echo '{\"ok\": 1}'";
    let bench = bench(script, json!({}));
    let (pipe, outcome) = tokio::join!(held_by(&bench), bench.run(json!({})));
    assert_eq!(outcome.value(), json!({"ok": 1}));
    all_gone(pipe).await;
}
