//! Who is asked about a call that needs consent: the person at the terminal, whoever looks at the
//! queue, or nobody. Users behind MCP clients are asked by the gateway.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use toolsearch::policy::{ApprovalRequest, Approver, NoApprover, Verdict};
use toolsearch::schema::names::sanitise_label;
use toolsearch_config::{ApprovalMode, Otherwise};
use toolsearch_gateway::ApprovalQueue;

use super::configuration::Configuration;
use super::{Purpose, store};

/// Most characters of the arguments that are shown.
const MAX_ARGS_CHARS: usize = 2000;

/// Whoever is asked, by `approvals` of the configuration. For `elicit` that is the person at the
/// terminal, where there is one who knows of the call; for others, what `otherwise` says.
pub(crate) fn approver(configuration: &Configuration, purpose: &Purpose) -> Arc<dyn Approver> {
    let written = &configuration.settings.approvals;
    // Whoever stands behind a model's client is not at this terminal.
    let own = match purpose {
        Purpose::Command | Purpose::Agent => io::stderr().is_terminal(),
        Purpose::Model => false,
        Purpose::Shown(_) | Purpose::Measuring => return Arc::new(NoApprover),
    };
    match (written.mode, written.otherwise) {
        (ApprovalMode::Elicit, _) if own => Arc::new(Terminal::default()),
        (ApprovalMode::Queue, _) | (ApprovalMode::Elicit, Otherwise::Queue) => {
            Arc::new(ApprovalQueue::new(store::store(configuration)))
        }
        _ => Arc::new(NoApprover),
    }
}

/// Asks on the controlling terminal, one question at a time, whatever stands on standard input.
#[derive(Debug, Default)]
struct Terminal {
    turn: Mutex<()>,
}

#[async_trait]
impl Approver for Terminal {
    async fn review(&self, request: ApprovalRequest) -> Verdict {
        let _turn = self.turn.lock().await;
        let question = question(&request);
        let answer = tokio::task::spawn_blocking(move || ask(&question)).await;
        match answer {
            Ok(Ok(answer)) => verdict(&answer),
            Ok(Err(error)) => Verdict::Denied(format!("the terminal cannot be asked: {error}")),
            Err(_) => Verdict::Denied("the question was given up".to_owned()),
        }
    }
}

fn question(request: &ApprovalRequest) -> String {
    format!(
        "{} wants your consent: {}\n  {}\nAllow it once (y), for this session (s), not (N), or never \
         in this session (x)? ",
        sanitise_label(request.tool.as_str(), 300),
        sanitise_label(&request.reason, 300),
        request.args_picture(MAX_ARGS_CHARS),
    )
}

fn ask(question: &str) -> io::Result<String> {
    let mut terminal = OpenOptions::new().read(true).write(true).open("/dev/tty")?;
    terminal.write_all(question.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(terminal).read_line(&mut answer)?;
    Ok(answer)
}

fn verdict(answer: &str) -> Verdict {
    match answer.trim().to_lowercase().as_str() {
        "y" | "yes" => Verdict::Once,
        "s" | "session" => Verdict::ForSession,
        "x" | "never" => Verdict::DeniedForSession(
            "the person at the terminal said no for this session".to_owned(),
        ),
        _ => Verdict::Denied("the person at the terminal said no".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        assert_eq!(verdict("y\n"), Verdict::Once);
        assert_eq!(verdict(" Session "), Verdict::ForSession);
        assert!(matches!(verdict("x\n"), Verdict::DeniedForSession(_)));
        for no in ["", "n", "yes please", "\n"] {
            assert!(matches!(verdict(no), Verdict::Denied(_)), "{no}");
        }
    }
}
