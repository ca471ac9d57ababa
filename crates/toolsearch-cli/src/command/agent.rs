//! `toolsearch agent -m TEXT`: a model of the configuration with the tools of the configuration.

use std::io::Read;
use std::sync::Arc;

use serde_json::json;
use toolsearch::runtime::Session;
use toolsearch_agent::{Agent, AgentReport, End, Limits, ModelError, Observer, OpenAiChat, Step};
use toolsearch_config::{Dialect, Provider};

use crate::assemble::Assembled;
use crate::cli::AgentArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

/// Longest message that is read from standard input, in bytes.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

/// A provider and one of its models.
struct Choice<'a> {
    name: &'a str,
    provider: &'a Provider,
    model: &'a str,
}

/// Lets a model answer one message.
pub(crate) async fn run(args: &AgentArgs, assembled: &Assembled, output: &Output) -> Done {
    let message = message(args)?;
    let choice = choose(args, assembled)?;
    let model = model(&choice)?;
    let session = open(&choice, &message, assembled).await?;
    if let Some(fallback) = session.fallback() {
        let (from, mode) = (&fallback.from, session.mode().name());
        let reason = &fallback.reason;
        output.warning(&format!("mode {mode} is used instead of {from}: {reason}"));
    }
    let mut limits = Limits::default();
    if let Some(turns) = args.max_turns {
        limits.turns = usize::try_from(turns).unwrap_or(usize::MAX);
    }
    let mut agent = Agent::new(session.clone(), Arc::new(model)).with_limits(limits);
    if let Some(system) = &args.system {
        agent = agent.with_instructions(system.as_str());
    }
    if !output.json {
        agent = agent.with_observer(Arc::new(Progress(output.clone())));
    }
    let report = agent.run(&message).await;
    tell(&report, &session, &choice, output)?;
    Ok(exit(&report.end))
}

fn message(args: &AgentArgs) -> Result<String, Fault> {
    if args.message != "-" {
        return Ok(args.message.clone());
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_MESSAGE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| Fault::usage(format!("cannot read standard input: {error}")))?;
    Ok(text)
}

/// The provider that is named, by `--provider` or before the model's name, else the first that
/// speaks Chat Completions.
fn choose<'a>(args: &'a AgentArgs, assembled: &'a Assembled) -> Result<Choice<'a>, Fault> {
    let providers = &assembled.configuration.settings.providers;
    let Some(written) = args.model.as_deref() else {
        return Err(Fault::usage("no model is named")
            .next("name one with --model MODEL or --model PROVIDER/MODEL"));
    };
    let prefixed = written
        .split_once('/')
        .filter(|(name, _)| args.provider.as_ref().is_none_or(|given| given == name))
        .and_then(|(name, model)| Some((providers.get_key_value(name)?, model)));
    let (found, model) = match (prefixed, &args.provider) {
        (Some((found, model)), _) => (Some(found), model),
        (None, Some(name)) => (providers.get_key_value(name), written),
        (None, None) => {
            let first = providers.iter().find(|(_, one)| speaks_chat(one));
            (first, written)
        }
    };
    let Some((name, provider)) = found else {
        let message = match &args.provider {
            Some(name) => format!("no provider is named `{name}`"),
            None => "no provider that speaks Chat Completions is configured".to_owned(),
        };
        return Err(Fault::configuration(message)
            .next("add it under `providers` in the configuration file"));
    };
    if !speaks_chat(provider) {
        let message = format!("provider `{name}` does not speak `openai-chat`");
        return Err(Fault::configuration(message)
            .next("add `openai-chat` to its `dialects`, or name another with --provider"));
    }
    Ok(Choice {
        name,
        provider,
        model,
    })
}

fn speaks_chat(provider: &Provider) -> bool {
    provider.dialects.contains(&Dialect::OpenaiChat)
}

fn model(choice: &Choice<'_>) -> Result<OpenAiChat, Fault> {
    let Choice { name, provider, .. } = choice;
    if let Some(needs) = &provider.needs {
        let message = format!("provider `{name}` needs configuration: {needs}");
        return Err(Fault::new(Exit::Unavailable, "unavailable", message));
    }
    let key = provider.api_key.as_ref().map(|key| key.expose());
    OpenAiChat::new(provider.base_url.expose(), key, choice.model)
        .map_err(|error| Fault::configuration(format!("provider `{name}`: {error}")))
}

async fn open(choice: &Choice<'_>, message: &str, assembled: &Assembled) -> Result<Session, Fault> {
    let mut request = assembled.request(assembled.sources.list().await);
    request.subject.provider = Some(format!("{}/{}", choice.name, choice.model));
    request.first_message = Some(message.to_owned());
    request.context_tokens = choice
        .provider
        .context_tokens
        .and_then(|tokens| usize::try_from(tokens).ok());
    assembled.open_with(request).await
}

/// The answer on standard output, what kept the model from one on standard error.
fn tell(
    report: &AgentReport,
    session: &Session,
    choice: &Choice<'_>,
    output: &Output,
) -> Result<(), Fault> {
    if output.json {
        let mut document = report.to_json();
        document["session"] = json!(session.id());
        document["mode"] = json!(session.mode().name());
        document["model"] = json!(format!("{}/{}", choice.name, choice.model));
        output.document(&document)?;
    } else if !report.answer.is_empty() {
        output.text(&report.answer)?;
    }
    if let Some(trouble) = report.end.trouble() {
        output.failure(&trouble);
    }
    Ok(())
}

fn exit(end: &End) -> Exit {
    match end {
        End::Answered => Exit::Fine,
        End::Failed(ModelError::Unauthorised { .. }) => Exit::Usage,
        End::Failed(
            ModelError::Unreachable(_) | ModelError::Timeout(_) | ModelError::Busy { .. },
        ) => Exit::Unavailable,
        _ => Exit::Failed,
    }
}

/// One line on standard error for every call.
#[derive(Debug)]
struct Progress(Output);

impl Observer for Progress {
    fn step(&self, step: &Step<'_>) {
        match step {
            Step::Said { text } => self.0.step(text),
            Step::Called {
                name,
                ok,
                answer_bytes,
            } => {
                let how = if *ok { "done" } else { "failed" };
                self.0.step(&format!("{name}: {how}, {answer_bytes} bytes"));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_tells_who_has_to_act() {
        let message = || "no".to_owned();
        for (end, expected) in [
            (End::Answered, Exit::Fine),
            (End::CutOff, Exit::Failed),
            (
                End::Failed(ModelError::Unreachable(message())),
                Exit::Unavailable,
            ),
            (End::Failed(ModelError::Unreadable(message())), Exit::Failed),
        ] {
            assert_eq!(exit(&end), expected, "{end:?}");
        }
    }
}
