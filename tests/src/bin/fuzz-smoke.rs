//! The laws of `fuzz/` over inputs of a generator, for a while: `fuzz-smoke SECONDS [TARGET…]`.
//!
//! What needs no nightly compiler. The generator puts together pieces that the readers know and spoils some; it
//! starts the same way every time, so that what was found is found again.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program that people run"
)]

#[path = "../../../fuzz/laws.rs"]
mod laws;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};

/// Most pieces of one input.
const PIECES: u64 = 40;

/// How long one input may take before it counts as endless.
const PATIENCE: Duration = Duration::from_secs(60);

/// What is fed with inputs.
#[derive(Debug, Clone, Copy)]
struct Target {
    name: &'static str,
    law: fn(&[u8], &mut Chance),
    pieces: &'static [&'static str],
}

const TARGETS: [Target; 4] = [
    Target {
        name: "frames",
        law: |bytes, chance| {
            let (chunk, max) = (chance.below(64) + 1, chance.below(600));
            laws::frames(bytes, small(chunk), small(max));
        },
        pieces: &[
            "{\"ready\":{\"version\":1,\"engine\":\"quickjs\",\"layers\":[]}}\n",
            "{\"refused\":{\"reason\":\"no\"}}\n",
            "{\"call\":{\"id\":0,\"method\":\"call\",\"args\":{\"id\":\"a\",\"args\":{}}}}\n",
            "{\"sleep\":{\"id\":1,\"ms\":5}}\n",
            "{\"log\":{\"level\":\"info\",\"text\":\"\\u00e9\\n\"}}\n",
            "{\"skipped\":{\"lines\":3}}\n",
            "{\"wait\":{\"seen\":1}}\n",
            "{\"done\":{\"value\":{\"value\":[1,2.5,null],\"hints\":[]}}}\n",
            "{\"done\":{\"failed\":{\"code\":\"timeout\",\"name\":\"T\",\"message\":\"m\"}}}\n",
            "{\"done\":{\"threw\":{\"name\":\"E\",\"message\":\"m\"}}}\n",
            "\n",
            "[[[[[[[[[[[[[[[[",
            "]]]]]]]]",
            "\"",
            "18446744073709551616",
            "-1",
            "1e999",
            "\\ud800",
        ],
    },
    Target {
        name: "source",
        law: |bytes, _| laws::source(&String::from_utf8_lossy(bytes)),
        pieces: &[
            "```",
            "```js\n",
            "```ts\r\n",
            "~~~",
            "\n",
            "\r\n",
            "\u{2028}",
            "export default ",
            "module.exports = ",
            "import x from 'y';",
            "async ",
            "function ",
            "name",
            "() => ",
            "{",
            "}",
            "(",
            ")",
            "[",
            "]",
            "`",
            "${",
            "'",
            "\"",
            "\\",
            "/",
            "/*",
            "*/",
            "//",
            "<!--",
            ";",
            "return 1",
            "await ",
            "const openclaw = ",
            "tools.call(",
            ": number",
            "<T>",
            "ls -la",
            "\u{0}",
            "é",
            "\u{feff}",
            "🚀",
            " ",
            "#!",
        ],
    },
    Target {
        name: "schema",
        law: |bytes, _| laws::schema(bytes),
        pieces: &[
            "{\"type\":\"object\",\"properties\":{",
            "\"a b\":",
            "\"name\":",
            "{\"type\":\"string\"}",
            "{\"type\":[\"integer\",\"null\"]}",
            "{\"enum\":[1,\"x\\n\",null]}",
            "{\"const\":\"\\u202e\"}",
            "{\"$ref\":\"#/$defs/a\"}",
            "\"$defs\":{\"a\":{\"$ref\":\"#\"}}",
            "{\"anyOf\":[",
            "{\"items\":",
            "\"required\":[\"name\"]",
            "\"description\":\"text */ \\n\"",
            ",",
            "}",
            "]",
            "true",
            "false",
            "1e308",
            "{\"type\":\"array\",\"items\":{}}",
            "\"additionalProperties\":false",
        ],
    },
    Target {
        name: "query",
        law: |bytes, chance| {
            let limit = chance.below(30);
            laws::query(&String::from_utf8_lossy(bytes), small(limit));
        },
        pieces: &[
            "create",
            "issue",
            "create_issue",
            "createIssue",
            "find symbol",
            "mcp:forge:",
            "forge__",
            "merge",
            "pull requests",
            "isseu",
            "高铁",
            "余票",
            "письма",
            "najti",
            "otopark",
            "İSTANBUL",
            "ışık",
            "turn on the light",
            "é",
            "e\u{301}",
            "\u{200d}",
            "\u{202e}",
            "\u{feff}",
            "🚀",
            "_",
            "-",
            ".",
            ":",
            "/",
            " ",
            "\n",
            "\t",
            "0",
            "2026",
            "\"",
            "AND",
            "NOT",
            "*",
            "(",
            ")",
        ],
    },
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("fuzz-smoke: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let seconds = words.next().context("say for how many seconds")?;
    let time = Duration::from_secs(seconds.parse().context("not a number of seconds")?);
    let names: Vec<String> = words.collect();
    let unknown = |name: &&String| TARGETS.iter().all(|target| target.name != **name);
    if let Some(name) = names.iter().find(unknown) {
        bail!("there is no target `{name}`; known: frames, source, schema, query");
    }
    for target in TARGETS {
        if names.is_empty() || names.iter().any(|name| name == target.name) {
            let count = feed(target, time)?;
            ensure!(count > 0, "{}: no input in that time", target.name);
            println!("{}: {count} inputs, the law holds", target.name);
        }
    }
    Ok(())
}

/// Feeds a target for so long and tells how many inputs it took.
fn feed(target: Target, time: Duration) -> Result<u64> {
    let current = Arc::new(Mutex::new(Vec::new()));
    let shared = Arc::clone(&current);
    let (sender, receiver) = sync_channel(1);
    thread::spawn(move || {
        let started = Instant::now();
        let mut chance = Chance::new(target.name);
        let mut count = 0;
        while started.elapsed() < time {
            let input = chance.input(target.pieces);
            shared
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone_from(&input);
            let law = AssertUnwindSafe(|| (target.law)(&input, &mut chance));
            if catch_unwind(law).is_err() {
                let _ = sender.send(None);
                return;
            }
            count += 1;
        }
        let _ = sender.send(Some(count));
    });
    let input = || {
        let input = current.lock().unwrap_or_else(PoisonError::into_inner);
        input.escape_ascii().to_string()
    };
    match receiver.recv_timeout(time + PATIENCE) {
        Ok(Some(count)) => Ok(count),
        Ok(None) | Err(RecvTimeoutError::Disconnected) => {
            bail!("{}: the law is broken by b\"{}\"", target.name, input())
        }
        Err(RecvTimeoutError::Timeout) => {
            bail!("{}: there is no end of b\"{}\"", target.name, input())
        }
    }
}

/// Chance that repeats.
#[derive(Debug)]
struct Chance(u64);

impl Chance {
    fn new(name: &str) -> Self {
        Self(name.bytes().fold(0x9e37_79b9_7f4a_7c15, |state, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, end: u64) -> u64 {
        self.next() % end.max(1)
    }

    fn one_of<T: Copy>(&mut self, things: &[T]) -> T {
        let place = self.below(things.len() as u64);
        things[small(place)]
    }

    /// Pieces in a row, then a few spoiled places.
    fn input(&mut self, pieces: &[&str]) -> Vec<u8> {
        let count = self.below(PIECES);
        let mut input: Vec<u8> = (0..count)
            .flat_map(|_| self.one_of(pieces).as_bytes().to_vec())
            .collect();
        for _ in 0..self.below(4) {
            let place = small(self.below(input.len() as u64 + 1));
            match self.below(4) {
                0 => input.insert(place, self.next() as u8),
                1 if place < input.len() => input[place] = self.next() as u8,
                2 => input.truncate(place),
                _ => {
                    let end = place + small(self.below((input.len() - place) as u64 + 1));
                    let again = input[place..end].to_vec();
                    input.splice(place..place, again);
                }
            }
        }
        input
    }
}

fn small(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
