//! `toolsearch agent -m TEXT`: a model of the configuration with the tools of the configuration.

mod talk;

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use toolsearch::runtime::Session;
use toolsearch_agent::{
    Agent, AgentReport, Conversation, Dialect, End, Limits, ModelError, Provider as Model,
};
use toolsearch_config::{Dialect as Word, Provider};

use crate::assemble::Assembled;
use crate::cli::AgentArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use self::talk::Told;

/// Longest message that is read from standard input, in bytes.
const MAX_MESSAGE_BYTES: u64 = 1 << 20;

/// A provider and one of its models.
struct Choice<'a> {
    name: &'a str,
    provider: &'a Provider,
    dialect: Dialect,
    model: &'a str,
}

/// Lets a model answer one message, or one after another.
pub(crate) async fn run(args: &AgentArgs, assembled: &Assembled, output: &Output) -> Done {
    let first = message(args)?;
    let choice = choose(args, assembled)?;
    let model = model(&choice)?;
    let session = open(&choice, first.as_deref(), assembled).await?;
    if let Some(fallback) = session.fallback() {
        let (from, mode) = (&fallback.from, session.mode().name());
        let reason = &fallback.reason;
        output.warning(&format!("mode {mode} is used instead of {from}: {reason}"));
    }
    let mut agent = Agent::new(session.clone(), Arc::new(model))
        .with_limits(limits(args))
        .with_observer(Arc::new(Told::new(output.clone(), args.interactive)));
    if let Some(system) = &args.system {
        agent = agent.with_instructions(system.as_str());
    }
    let mut conversation = Conversation::new();
    let mut exit = Exit::Fine;
    if let Some(first) = first {
        let report = agent.say(&mut conversation, &first).await;
        tell(&report, &session, &choice, args, output)?;
        exit = self::exit(&report.end);
    }
    if args.interactive {
        let mut lines = talk::Lines::new(output);
        while let Some(line) = lines.next().await? {
            let report = agent.say(&mut conversation, &line).await;
            tell(&report, &session, &choice, args, output)?;
            exit = self::exit(&report.end);
        }
    }
    Ok(exit)
}

fn limits(args: &AgentArgs) -> Limits {
    let mut limits = Limits::default();
    if let Some(turns) = args.max_turns {
        limits.turns = usize::try_from(turns).unwrap_or(usize::MAX);
    }
    if let Some(tokens) = args.max_tokens {
        limits.tokens = tokens;
    }
    if let Some(seconds) = args.timeout {
        limits.time = Duration::from_secs(seconds);
    }
    if let Some(retries) = args.retries {
        limits.retries = retries;
    }
    limits
}

fn message(args: &AgentArgs) -> Result<Option<String>, Fault> {
    match args.message.as_deref() {
        Some("-") if !args.interactive => {}
        Some("-") => {
            let message = "standard input cannot hold both the message and the further ones";
            return Err(Fault::usage(message).next("leave --interactive or `-m -` out"));
        }
        given => return Ok(given.map(str::to_owned)),
    }
    let mut text = String::new();
    std::io::stdin()
        .lock()
        .take(MAX_MESSAGE_BYTES)
        .read_to_string(&mut text)
        .map_err(|error| Fault::usage(format!("cannot read standard input: {error}")))?;
    Ok(Some(text))
}

/// The provider that is named, by `--provider` or before the model's name, else the first. It is spoken
/// to in the first of its dialects.
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
        (None, None) => (providers.iter().next(), written),
    };
    let Some((name, provider)) = found else {
        let message = match &args.provider {
            Some(name) => format!("no provider is named `{name}`"),
            None => "no provider is configured".to_owned(),
        };
        return Err(Fault::configuration(message)
            .next("add it under `providers` in the configuration file"));
    };
    let Some(dialect) = provider.dialects.iter().find_map(dialect) else {
        let message = format!("provider `{name}` has no dialect");
        return Err(Fault::configuration(message).next(
            "add `openai-chat`, `openai-responses` or `anthropic-messages` to its `dialects`",
        ));
    };
    Ok(Choice {
        name,
        provider,
        dialect,
        model,
    })
}

fn dialect(word: &Word) -> Option<Dialect> {
    match word {
        Word::OpenaiChat => Some(Dialect::OpenAiChat),
        Word::OpenaiResponses => Some(Dialect::OpenAiResponses),
        Word::AnthropicMessages => Some(Dialect::AnthropicMessages),
        _ => None,
    }
}

fn model(choice: &Choice<'_>) -> Result<Model, Fault> {
    let Choice { name, provider, .. } = choice;
    if let Some(needs) = &provider.needs {
        let message = format!("provider `{name}` needs configuration: {needs}");
        return Err(Fault::new(Exit::Unavailable, "unavailable", message));
    }
    let key = provider.api_key.as_ref().map(|key| key.expose());
    let base = provider.base_url.expose();
    Model::new(choice.dialect, base, key, choice.model)
        .map_err(|error| Fault::configuration(format!("provider `{name}`: {error}")))
}

async fn open(
    choice: &Choice<'_>,
    message: Option<&str>,
    assembled: &Assembled,
) -> Result<Session, Fault> {
    let mut request = assembled.request(assembled.sources.list().await);
    request.subject.provider = Some(format!("{}/{}", choice.name, choice.model));
    request.first_message = message.map(str::to_owned);
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
    args: &AgentArgs,
    output: &Output,
) -> Result<(), Fault> {
    if output.json {
        let mut document = json!({ "event": "done" });
        if let (Some(done), Some(report)) = (document.as_object_mut(), report.to_json().as_object())
        {
            done.extend(report.clone());
        }
        document["session"] = json!(session.id());
        document["mode"] = json!(session.mode().name());
        document["model"] = json!(format!("{}/{}", choice.name, choice.model));
        output.lines(&format!("{document}\n"))?;
    } else if args.interactive {
        // The words came one by one; their line is not ended yet.
        output.text("")?;
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
