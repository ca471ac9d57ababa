//! A hook that is a command: the call as JSON on standard input, its verdict on standard output.
//!
//! Whatever a command does that is not understood is a failure, and a failure blocks the call or
//! withholds the result unless the operator said that this hook may fail.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{Outcome, ToolDescriptor};
use toolsearch_invoke::{Hook, HookCall, HookDecision, HookError};

use crate::MAX_OUTPUT_BYTES;
use crate::manifest::{PluginHook, ToolCommand};
use crate::outcome::{is_result, printable, read_result};
use crate::run::{Ended, Trouble, run};

/// The exit code that means: do not let this pass.
const BLOCK: i32 = 2;
/// Most characters of a failure or a reason.
const MAX_REASON_CHARS: usize = 500;

/// When a command hook is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::exhaustive_enums,
    reason = "a hook stands before a call or after it"
)]
pub enum HookMoment {
    /// Before the call: may change the arguments, block it, or have a person asked.
    Before,
    /// After the call: may replace or withhold the result.
    After,
}

impl HookMoment {
    pub(crate) const fn event(self) -> &'static str {
        match self {
            Self::Before => "before_tool_call",
            Self::After => "after_tool_call",
        }
    }
}

/// Tells which tools a hook sees.
type Matcher = Arc<dyn Fn(&ToolDescriptor) -> bool + Send + Sync>;

/// A hook that is a command of the operator.
#[derive(Clone)]
pub struct CommandHook {
    name: String,
    moment: HookMoment,
    command: ToolCommand,
    folder: PathBuf,
    timeout: Duration,
    may_fail: bool,
    matcher: Option<Matcher>,
}

impl fmt::Debug for CommandHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CommandHook")
            .field("name", &self.name)
            .field("moment", &self.moment)
            .field("timeout", &self.timeout)
            .field("may_fail", &self.may_fail)
            .finish_non_exhaustive()
    }
}

impl CommandHook {
    /// A hook that sees every tool and fails closed. The command runs in `folder`, where a relative
    /// path of a program starts too.
    pub fn new(
        name: impl Into<String>,
        moment: HookMoment,
        program: impl Into<String>,
        args: Vec<String>,
        folder: impl Into<PathBuf>,
        timeout: Duration,
    ) -> Self {
        Self {
            name: name.into(),
            moment,
            command: ToolCommand {
                program: program.into(),
                args,
                timeout: None,
                env: BTreeSet::new(),
            },
            folder: folder.into(),
            timeout,
            may_fail: false,
            matcher: None,
        }
    }

    /// A hook of a plugin's manifest, run in the plugin's folder. It sees every tool until
    /// [`CommandHook::matching`] says otherwise.
    #[must_use]
    pub fn of_plugin(hook: &PluginHook, folder: impl Into<PathBuf>) -> Self {
        Self {
            name: hook.name.clone(),
            moment: hook.moment,
            command: hook.command.clone(),
            folder: folder.into(),
            timeout: hook.timeout,
            may_fail: hook.may_fail,
            matcher: None,
        }
    }

    /// The same hook for some tools only.
    #[must_use]
    pub fn matching(
        mut self,
        matcher: impl Fn(&ToolDescriptor) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.matcher = Some(Arc::new(matcher));
        self
    }

    /// The same hook, but when it fails the call goes on as if it were not there. What it blocks stays
    /// blocked.
    #[must_use]
    pub const fn may_fail(mut self) -> Self {
        self.may_fail = true;
        self
    }

    fn sees(&self, moment: HookMoment, tool: &ToolDescriptor) -> bool {
        self.moment == moment && self.matcher.as_ref().is_none_or(|matches| matches(tool))
    }

    /// Runs the command and reads what it says.
    async fn ask(&self, call: &HookCall, outcome: Option<&Outcome>) -> Result<Said, Failed> {
        let mut input = json!({
            "event": self.moment.event(),
            "tool": {
                "id": call.tool.id,
                "name": call.tool.name,
                "source": call.tool.source().as_str(),
                "owner": call.tool.id.owner(),
            },
            "args": call.args,
            "callId": call.id.as_str(),
            "parent": call.parent.as_ref().map(toolsearch_invoke::CallId::as_str),
            "session": call.caller.session,
            "agent": call.caller.agent,
        });
        if let Some(outcome) = outcome {
            input["result"] = outcome.to_result_json();
        }
        let mut bytes = input.to_string().into_bytes();
        bytes.push(b'\n');
        let ended = run(&self.command, &self.folder, bytes, self.timeout)
            .await
            .map_err(|trouble| match trouble {
                Trouble::TimedOut => {
                    Failed(format!("no answer after {} ms", self.timeout.as_millis()))
                }
                Trouble::Io(error) => Failed(format!("it cannot be run: {error}")),
            })?;
        said(&ended)
    }

    /// What a failure means: an error, or nothing where the hook may fail.
    fn failed<T>(&self, failed: Failed, otherwise: T) -> Result<T, HookError> {
        if self.may_fail {
            tracing::warn!(hook = %self.name, failure = %failed.0, "hook failed and was passed over");
            return Ok(otherwise);
        }
        Err(HookError(failed.0))
    }
}

#[async_trait]
impl Hook for CommandHook {
    fn name(&self) -> &str {
        &self.name
    }

    async fn before(&self, call: &HookCall) -> Result<HookDecision, HookError> {
        if !self.sees(HookMoment::Before, &call.tool) {
            return Ok(HookDecision::Continue);
        }
        let said = self.ask(call, None).await.and_then(Said::before);
        said.or_else(|failed| self.failed(failed, HookDecision::Continue))
    }

    async fn after(&self, call: &HookCall, outcome: Outcome) -> Result<Outcome, HookError> {
        if !self.sees(HookMoment::After, &call.tool) {
            return Ok(outcome);
        }
        let said = self.ask(call, Some(&outcome)).await.and_then(Said::after);
        match said {
            Ok(After::Keep) => Ok(outcome),
            Ok(After::Replace(mut new)) => {
                new.provenance = outcome.provenance;
                Ok(*new)
            }
            Ok(After::Withhold(reason)) => Err(HookError(reason)),
            Err(failed) => self.failed(failed, outcome),
        }
    }
}

/// Why a command gave no verdict.
#[derive(Debug)]
struct Failed(String);

/// What a command said, before it is known to fit its moment.
#[derive(Debug)]
enum Said {
    Nothing,
    Block(String),
    Ask(String),
    Args(Map<String, Value>),
    Result(Value),
}

/// A verdict on a result.
enum After {
    Keep,
    Replace(Box<Outcome>),
    Withhold(String),
}

impl Said {
    fn before(self) -> Result<HookDecision, Failed> {
        match self {
            Self::Nothing => Ok(HookDecision::Continue),
            Self::Block(reason) => Ok(HookDecision::Block(reason)),
            Self::Ask(reason) => Ok(HookDecision::Ask(reason)),
            Self::Args(args) => Ok(HookDecision::Rewrite(args)),
            Self::Result(_) => Err(nonsense("`result` before the call")),
        }
    }

    fn after(self) -> Result<After, Failed> {
        match self {
            Self::Nothing => Ok(After::Keep),
            Self::Block(reason) => Ok(After::Withhold(reason)),
            Self::Result(result) if is_result(&result) => {
                Ok(After::Replace(Box::new(read_result(result))))
            }
            Self::Result(_) => Err(nonsense("a `result` that is none")),
            Self::Ask(_) | Self::Args(_) => Err(nonsense("`ask` or `args` after the call")),
        }
    }
}

fn said(ended: &Ended) -> Result<Said, Failed> {
    let words = || {
        let text = printable(&ended.stderr, &ended.secrets);
        text.chars().take(MAX_REASON_CHARS).collect::<String>()
    };
    let Some(status) = ended.status else {
        let most = MAX_OUTPUT_BYTES >> 20;
        return Err(Failed(format!("it wrote more than {most} MiB")));
    };
    match status.code() {
        Some(0) => verdict(&ended.stdout),
        Some(BLOCK) => {
            let words = words();
            Ok(Said::Block(match words.is_empty() {
                true => "no reason was given".to_owned(),
                false => words,
            }))
        }
        Some(code) => Err(Failed(with_words(&format!("exit code {code}"), &words()))),
        None => Err(Failed(with_words(&status.to_string(), &words()))),
    }
}

fn with_words(how: &str, words: &str) -> String {
    match words.is_empty() {
        true => how.to_owned(),
        false => format!("{how}: {words}"),
    }
}

/// Reads a verdict strictly: a misspelt one must not pass for a yes.
fn verdict(stdout: &[u8]) -> Result<Said, Failed> {
    if stdout.trim_ascii().is_empty() {
        return Ok(Said::Nothing);
    }
    let value: Value = serde_json::from_slice(stdout)
        .map_err(|error| Failed(format!("its output is not JSON ({error})")))?;
    let Value::Object(mut object) = value else {
        return Err(nonsense("no object"));
    };
    let decision = match object.remove("decision") {
        None => None,
        Some(Value::String(word)) => Some(word),
        Some(_) => return Err(nonsense("a `decision` that is no text")),
    };
    let reason = match object.remove("reason") {
        None => None,
        Some(Value::String(reason)) => {
            let plain = printable(reason.as_bytes(), &[]);
            Some(plain.chars().take(MAX_REASON_CHARS).collect::<String>())
        }
        Some(_) => return Err(nonsense("a `reason` that is no text")),
    };
    let args = object.remove("args");
    let result = object.remove("result");
    if let Some(key) = object.keys().next() {
        let key: String = key.chars().take(40).collect();
        return Err(nonsense(&format!("an unknown key {key:?}")));
    }
    let given = || reason.unwrap_or_else(|| "no reason was given".to_owned());
    match (decision.as_deref(), args, result) {
        (Some("block"), None, None) => Ok(Said::Block(given())),
        (Some("ask"), None, None) => Ok(Said::Ask(given())),
        (Some("continue"), None, None) => Ok(Said::Nothing),
        (None | Some("continue"), Some(Value::Object(args)), None) => Ok(Said::Args(args)),
        (None | Some("continue"), None, Some(result)) => Ok(Said::Result(result)),
        (_, Some(_), Some(_)) => Err(nonsense("both `args` and `result`")),
        (Some("block" | "ask"), ..) => Err(nonsense("a change beside `block` or `ask`")),
        (_, Some(_), None) => Err(nonsense("`args` that are no object")),
        (None, None, None) => Err(nonsense("no `decision`")),
        (Some(_), ..) => Err(nonsense("a `decision` that is not known")),
    }
}

fn nonsense(what: &str) -> Failed {
    Failed(format!(
        "its output says {what}; it has to be empty or an object with `decision` (\"continue\", \
         \"block\", \"ask\"), `reason`, `args` or `result`"
    ))
}
