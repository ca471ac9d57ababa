//! Asking the person at the terminal about one call.

use std::fs::OpenOptions;
use std::io::{self, BufRead, BufReader, IsTerminal, Write};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Mutex;
use toolsearch::policy::{ApprovalRequest, Approver, NoApprover, Verdict};
use toolsearch::schema::names::sanitise_label;
use toolsearch_config::ApprovalMode;

/// Most characters of the arguments that are shown.
const MAX_ARGS_CHARS: usize = 2000;

/// Whoever can be asked: the person at the terminal, or nobody.
pub(crate) fn approver(mode: ApprovalMode) -> Arc<dyn Approver> {
    if mode == ApprovalMode::Elicit && io::stderr().is_terminal() {
        return Arc::new(Terminal::default());
    }
    Arc::new(NoApprover)
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
    let args = serde_json::Value::Object(request.args.clone()).to_string();
    format!(
        "{} wants your consent: {}\n  {}\nAllow it once (y), for this session (s), or not (N)? ",
        request.tool,
        sanitise_label(&request.reason, 300),
        sanitise_label(&args, MAX_ARGS_CHARS),
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
        for no in ["", "n", "yes please", "\n"] {
            assert!(matches!(verdict(no), Verdict::Denied(_)), "{no}");
        }
    }
}
