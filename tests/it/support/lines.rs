//! A child process that is spoken to in lines.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use super::PATIENCE;

/// A child with open pipes. Dropping it closes its input, waits for it to end, and kills it when it
/// does not.
pub(crate) struct Lines {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
}

impl Lines {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let input = child.stdin.take();
        let pipe = BufReader::new(child.stdout.take().unwrap());
        let (sender, output) = channel();
        thread::spawn(move || {
            for line in pipe.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self {
            child,
            input,
            output,
        }
    }

    pub(crate) fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        writeln!(input, "{line}").unwrap();
        input.flush().unwrap();
    }

    /// The next line of its output.
    pub(crate) fn next(&mut self) -> String {
        self.output
            .recv_timeout(PATIENCE)
            .unwrap_or_else(|_| panic!("process {} says no more", self.child.id()))
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.input.take());
        loop {
            match self.output.recv_timeout(PATIENCE / 6) {
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => {
                    let _ = self.child.kill();
                    break;
                }
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        let _ = self.child.wait();
    }
}
