//! Writing to the terminal or to a program: one JSON document, or text and tables; notes go to
//! standard error.

use std::io::{self, IsTerminal, Write};

use serde_json::Value;

use crate::cli::Common;
use crate::fault::Fault;
use crate::table::Table;

/// How wide text may get where nobody looks: nothing is cut for a file or a pipe.
const UNLIMITED: usize = usize::MAX;

/// Where and how to write.
#[derive(Debug, Clone)]
pub(crate) struct Output {
    /// One JSON document and nothing else on standard output.
    pub(crate) json: bool,
    quiet: bool,
    terminal: bool,
    colour: bool,
    width: usize,
}

impl Output {
    pub(crate) fn new(common: &Common) -> Self {
        let terminal = io::stdout().is_terminal();
        let width = terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        Self {
            json: common.json,
            quiet: common.quiet,
            terminal,
            colour: terminal && wants_colour(),
            width: width.filter(|_| terminal).unwrap_or(UNLIMITED).max(40),
        }
    }

    /// The one JSON document.
    pub(crate) fn document(&self, value: &Value) -> io::Result<()> {
        let mut text = if self.terminal {
            serde_json::to_string_pretty(value)?
        } else {
            value.to_string()
        };
        text.push('\n');
        write(&text)
    }

    /// Text for a person, a line break added.
    pub(crate) fn text(&self, text: &str) -> io::Result<()> {
        write(&format!("{}\n", self.shown(text)))
    }

    /// Lines that are finished already: JSON, one document a line.
    pub(crate) fn lines(&self, lines: &str) -> io::Result<()> {
        write(lines)
    }

    /// A piece of a text that goes on.
    pub(crate) fn piece(&self, piece: &str) -> io::Result<()> {
        write(&self.shown(piece))
    }

    /// A question for the next line of input, where somebody sees it.
    pub(crate) fn prompt(&self, text: &str) {
        if io::stdin().is_terminal() && !self.json {
            complain(text);
        }
    }

    /// A table, cut to the terminal.
    pub(crate) fn table(&self, table: &Table) -> io::Result<()> {
        write(&table.render(self.width, self.colour))
    }

    /// A heading.
    pub(crate) fn heading(&self, text: &str) -> io::Result<()> {
        if self.colour {
            return write(&format!("\x1b[1m{text}\x1b[0m\n"));
        }
        write(&format!("{text}\n"))
    }

    /// Something worth knowing, on standard error.
    pub(crate) fn note(&self, text: &str) {
        if !self.quiet {
            complain(&format!("note: {text}\n"));
        }
    }

    /// Something that should be put right, on standard error.
    pub(crate) fn warning(&self, text: &str) {
        if !self.quiet {
            complain(&format!("warning: {text}\n"));
        }
    }

    /// A line on standard error whatever is to be kept quiet: what a program wrote to its console, or what
    /// the person must read to go on.
    pub(crate) fn remark(&self, line: &str) {
        complain(&format!("{}\n", printable(line)));
    }

    /// A step of work that takes a while, on standard error.
    pub(crate) fn step(&self, line: &str) {
        if !self.quiet {
            complain(&format!("{}\n", printable(line)));
        }
    }

    /// What went wrong in work that was done, on standard error.
    pub(crate) fn failure(&self, text: &str) {
        complain(&format!("error: {}\n", printable(text)));
    }

    /// A failure: in words on standard error, and as a document where one was asked for.
    pub(crate) fn fault(&self, fault: &Fault) {
        let mut text = format!("error: {}\n", printable(&fault.message));
        for id in &fault.suggestions {
            text.push_str(&format!("  {id}\n"));
        }
        if let Some(next) = &fault.next {
            text.push_str(&format!("next: {next}\n"));
        }
        complain(&text);
        if self.json {
            // The exit code tells the same, should nobody read this.
            let _ = self.document(&fault.to_json());
        }
    }

    /// Text as a terminal may see it: what a tool wrote must not move the cursor or ring bells.
    fn shown(&self, text: &str) -> String {
        if self.terminal {
            printable(text)
        } else {
            text.to_owned()
        }
    }
}

/// Whether standard error may be coloured.
pub(crate) fn colours_stderr() -> bool {
    io::stderr().is_terminal() && wants_colour()
}

fn wants_colour() -> bool {
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !plain && !dumb
}

/// Text without control characters other than line breaks and tabs.
fn printable(text: &str) -> String {
    let keep = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
    text.chars().filter(keep).collect()
}

fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

fn complain(text: &str) {
    // There is nobody left to tell when standard error is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
