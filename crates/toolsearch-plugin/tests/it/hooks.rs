//! Command hooks: every command here is a real process.

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use tempfile::TempDir;
use toolsearch_catalog::{Outcome, Provenance, Source, ToolDescriptor, Trust};
use toolsearch_invoke::{CallId, Caller, Hook, HookCall, HookDecision};
use toolsearch_plugin::{CommandHook, HookMoment};

const LONG: Duration = Duration::from_secs(60);
const SHORT: Duration = Duration::from_millis(200);

struct Bench {
    folder: TempDir,
    hook: CommandHook,
}

fn bench(moment: HookMoment, script: &str) -> Bench {
    timed(moment, script, LONG)
}

fn timed(moment: HookMoment, script: &str, timeout: Duration) -> Bench {
    let folder = tempfile::tempdir().expect("a folder");
    let args = vec!["-c".to_owned(), script.to_owned()];
    let hook = CommandHook::new("guard", moment, "sh", args, folder.path(), timeout);
    Bench { folder, hook }
}

impl Bench {
    /// The same folder with another form of the hook.
    fn with(self, change: impl FnOnce(CommandHook) -> CommandHook) -> Self {
        Self {
            hook: change(self.hook),
            folder: self.folder,
        }
    }
}

fn call() -> HookCall {
    let tool = ToolDescriptor::new(Source::Mcp, "forge", "create_issue", json!({}));
    let args: Map<String, Value> = [("title".to_owned(), json!("Füße"))].into_iter().collect();
    HookCall::new(
        Arc::new(tool.expect("a legal tool")),
        args,
        CallId::outer(7).nested(2),
        Some(CallId::outer(7)),
        Caller::new("s1", Some("support".to_owned())),
    )
}

/// What every script is worth before a call, or the words of its failure.
async fn before(script: &str) -> Result<HookDecision, String> {
    let bench = bench(HookMoment::Before, script);
    let said = bench.hook.before(&call()).await;
    said.map_err(|error| error.to_string())
}

async fn after(script: &str) -> Result<Outcome, String> {
    let bench = bench(HookMoment::After, script);
    let said = bench
        .hook
        .after(&call(), Outcome::text("the card is 1234"))
        .await;
    said.map_err(|error| error.to_string())
}

#[tokio::test]
async fn a_hook_gets_the_call_as_json() {
    let bench = bench(HookMoment::Before, "cat > seen.json");
    let said = bench.hook.before(&call()).await;
    assert_eq!(said, Ok(HookDecision::Continue));
    let seen = std::fs::read(bench.folder.path().join("seen.json")).expect("it was written");
    let seen: Value = serde_json::from_slice(&seen).expect("JSON");
    assert_eq!(
        seen,
        json!({
            "event": "before_tool_call",
            "tool": {"id": "mcp:forge:create_issue", "name": "create_issue", "source": "mcp", "owner": "forge"},
            "args": {"title": "Füße"},
            "callId": "c7.2",
            "parent": "c7",
            "session": "s1",
            "agent": "support",
        })
    );
}

#[tokio::test]
async fn a_hook_may_go_on_change_ask_and_block() {
    let blocked = |reason: &str| Ok(HookDecision::Block(reason.to_owned()));
    let title = [("title".to_owned(), json!("x"))].into_iter().collect();
    for (script, expected) in [
        ("true", Ok(HookDecision::Continue)),
        (
            r#"echo '{"decision": "continue"}'"#,
            Ok(HookDecision::Continue),
        ),
        (
            r#"echo '{"args": {"title": "x"}}'"#,
            Ok(HookDecision::Rewrite(title)),
        ),
        (
            r#"echo '{"decision": "ask", "reason": "odd hour"}'"#,
            Ok(HookDecision::Ask("odd hour".to_owned())),
        ),
        (
            r#"echo '{"decision": "block", "reason": "no"}'"#,
            blocked("no"),
        ),
        (
            r#"echo '{"decision": "block"}'"#,
            blocked("no reason was given"),
        ),
        (
            "echo 'not on Sundays' >&2; exit 2",
            blocked("not on Sundays"),
        ),
        ("exit 2", blocked("no reason was given")),
        (
            r#"echo '{"decision": "continue"}'; exit 2"#,
            blocked("no reason was given"),
        ),
    ] {
        assert_eq!(before(script).await, expected, "{script}");
    }
}

/// Scripts that give no verdict, and a word of the failure each.
const FAILURES: [(&str, &str); 11] = [
    (
        "echo 'out of memory' >&2; exit 1",
        "exit code 1: out of memory",
    ),
    ("exit 3", "exit code 3"),
    ("kill -9 $$", "signal"),
    ("echo yes", "not JSON"),
    ("echo 7", "no object"),
    (r#"echo '{"decision": "contineu"}'"#, "not known"),
    (r#"echo '{"decison": "block"}'"#, "unknown key"),
    (r#"echo '{"decision": 1}'"#, "no text"),
    (r#"echo '{}'"#, "no `decision`"),
    (r#"echo '{"decision": "block", "args": {}}'"#, "beside"),
    ("head -c 9000000 /dev/zero", "MiB"),
];

#[tokio::test]
async fn whatever_is_not_understood_fails_closed_unless_it_may_fail() {
    let only_before = [
        (r#"echo '{"args": [1]}'"#, "no object"),
        (r#"echo '{"result": {"content": []}}'"#, "before"),
    ];
    for (script, word) in FAILURES.into_iter().chain(only_before) {
        let failure = before(script).await.expect_err(script);
        assert!(failure.contains(word), "{script}: {failure}");
        let open = bench(HookMoment::Before, script).with(CommandHook::may_fail);
        assert_eq!(open.hook.before(&call()).await, Ok(HookDecision::Continue));
    }
    let only_after = [
        (r#"echo '{"result": "x"}'"#, "`result`"),
        (r#"echo '{"args": {}}'"#, "after"),
        (r#"echo '{"decision": "ask"}'"#, "after"),
    ];
    for (script, word) in FAILURES.into_iter().chain(only_after) {
        let failure = after(script).await.expect_err(script);
        assert!(failure.contains(word), "{script}: {failure}");
        let open = bench(HookMoment::After, script).with(CommandHook::may_fail);
        let outcome = open.hook.after(&call(), Outcome::text("kept")).await;
        assert_eq!(outcome, Ok(Outcome::text("kept")));
    }
}

#[tokio::test]
async fn a_block_holds_although_the_hook_may_fail() {
    let bench = bench(HookMoment::Before, "exit 2").with(CommandHook::may_fail);
    let said = bench.hook.before(&call()).await;
    assert!(matches!(said, Ok(HookDecision::Block(_))), "{said:?}");
}

#[tokio::test]
async fn a_hook_that_hangs_is_ended_with_all_that_it_started() {
    let script = "sleep 600 & echo $! > child; wait";
    let bench = timed(HookMoment::Before, script, Duration::from_secs(2));
    let failure = bench.hook.before(&call()).await.expect_err("no answer");
    assert!(failure.to_string().contains("2000 ms"), "{failure}");
    let child = std::fs::read_to_string(bench.folder.path().join("child")).expect("it started");
    let child = format!("/proc/{}/stat", child.trim());
    let alive = || {
        let stat = std::fs::read_to_string(&child).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default();
        !state.is_empty() && !state.trim_start().starts_with('Z')
    };
    let ended = async {
        while alive() {
            tokio::task::yield_now().await;
        }
    };
    let ended = tokio::time::timeout(LONG, ended).await;
    assert!(ended.is_ok(), "the child lives on");
}

#[tokio::test]
async fn a_command_that_cannot_be_started_fails_closed() {
    let folder = tempfile::tempdir().expect("a folder");
    let hook = |program: &str| {
        let path = folder.path();
        CommandHook::new("guard", HookMoment::Before, program, vec![], path, SHORT)
    };
    let failure = hook("./absent").before(&call()).await.expect_err("absent");
    assert!(failure.to_string().contains("cannot be run"), "{failure}");
    let open = hook("./absent").may_fail();
    assert_eq!(open.before(&call()).await, Ok(HookDecision::Continue));
}

#[tokio::test]
async fn a_result_is_kept_replaced_or_withheld() {
    let kept = after("true").await.expect("kept");
    assert_eq!(kept.joined_text(), "the card is 1234");
    let redacted = after(r"sed 's/.*\(.result.:.*\)/{\1/; s/1234/****/'").await;
    let redacted = redacted.expect("replaced");
    assert_eq!(redacted.joined_text(), "the card is ****");
    for (script, word) in [
        ("echo 'holds a card' >&2; exit 2", "holds a card"),
        (
            r#"echo '{"decision": "block", "reason": "secret"}'"#,
            "secret",
        ),
    ] {
        let withheld = after(script).await.expect_err(script);
        assert!(withheld.contains(word), "{withheld}");
    }
    let bench = bench(
        HookMoment::After,
        r#"echo '{"result": {"content": ["bare"], "isError": true}}'"#,
    );
    let mut outcome = Outcome::text("x");
    outcome.provenance = Some(Provenance::new(call().tool.id.clone(), Trust::Untrusted));
    let new = bench.hook.after(&call(), outcome.clone()).await;
    let new = new.expect("replaced");
    assert_eq!(new.provenance, outcome.provenance);
    assert!(new.is_error);
    assert_eq!(new.content[0]["type"], "text");
}

#[tokio::test]
async fn a_hook_is_run_for_its_tools_at_its_moment_only() {
    let only = |moment, name: &'static str| {
        bench(moment, "exit 2").with(|hook| hook.matching(move |tool| tool.name == name))
    };
    let bench = only(HookMoment::Before, "other");
    assert_eq!(bench.hook.before(&call()).await, Ok(HookDecision::Continue));
    let bench = only(HookMoment::Before, "create_issue");
    assert!(matches!(
        bench.hook.before(&call()).await,
        Ok(HookDecision::Block(_))
    ));
    let kept = bench.hook.after(&call(), Outcome::text("x")).await;
    assert_eq!(kept, Ok(Outcome::text("x")));
    let bench = only(HookMoment::After, "create_issue");
    assert_eq!(bench.hook.before(&call()).await, Ok(HookDecision::Continue));
    assert!(bench.hook.after(&call(), Outcome::text("x")).await.is_err());
}

#[tokio::test]
async fn a_hook_of_a_plugin_runs_in_its_folder_with_its_variables() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("why.txt"), "the folder says no").expect("a file");
    let manifest = toolsearch_plugin::Manifest::from_value(
        json!({
            "name": "guard",
            "hooks": {"before_tool_call": [{
                "name": "gate",
                "command": ["sh", "-c", "cat why.txt >&2; exit 2"],
            }]},
        }),
        folder.path(),
    )
    .expect("a manifest");
    let hook = CommandHook::of_plugin(&manifest.hooks[0], &manifest.folder);
    assert_eq!(hook.name(), "plugin guard: gate");
    let said = hook.before(&call()).await.expect("a verdict");
    assert_eq!(said, HookDecision::Block("the folder says no".to_owned()));
    let other = hook.matching(|tool| tool.name == "other");
    assert_eq!(other.before(&call()).await, Ok(HookDecision::Continue));
}
