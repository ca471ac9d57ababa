//! `toolsearch serve --http` on a port of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use super::{Home, PATIENCE};

/// A gateway that listens. Dropping it ends it at once.
pub(crate) struct HttpGateway {
    child: Child,
    /// Where it listens, up to `/mcp`.
    pub(crate) url: String,
    said: Receiver<String>,
}

impl HttpGateway {
    pub(crate) fn start(home: &Home, more: &[&str]) -> Self {
        let mut args = vec!["serve", "--http", "127.0.0.1:0"];
        args.extend(more);
        let mut command = home.command(&args);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (sender, said) = channel();
        thread::spawn(move || {
            for line in stderr.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        let mut gateway = Self {
            child,
            url: String::new(),
            said,
        };
        let line = gateway.says("serving MCP on ");
        let at = line.find("http").expect("an address");
        gateway.url = line[at..].trim().to_owned();
        gateway
    }

    /// The next line on standard error with these words.
    pub(crate) fn says(&self, words: &str) -> String {
        loop {
            let line = self.said.recv_timeout(PATIENCE);
            let line = line.unwrap_or_else(|_| panic!("nothing is said of `{words}`"));
            if line.contains(words) {
                return line;
            }
        }
    }

    /// `127.0.0.1:PORT`.
    pub(crate) fn address(&self) -> &str {
        let rest = self.url.split("://").nth(1).expect("an address");
        rest.split('/').next().expect("an address")
    }

    #[cfg(unix)]
    pub(crate) fn signal(&self, name: &str) {
        let sent = std::process::Command::new("kill")
            .args([&format!("-{name}"), &self.child.id().to_string()])
            .status();
        assert!(sent.unwrap().success(), "kill -{name}");
    }

    pub(crate) fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for HttpGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
