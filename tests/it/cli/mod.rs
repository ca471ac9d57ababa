//! The program `toolsearch` as a person or a script meets it: the built binary, its output, its exit
//! codes. Every test has a home of its own.

mod agent;
mod calls;
mod config;
mod connect;
mod denied;
mod eval;
mod hooks;
mod lint;
mod login;
mod meaning;
mod operator;
mod policy;
mod queries;
mod serving;
mod sessions;
mod sources;

use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The built binary: `TOOLSEARCH_BIN`, else the one beside this test's own folder.
fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("TOOLSEARCH_BIN") {
        return path.into();
    }
    let own = std::env::current_exe().expect("the test has a path");
    let name = format!("toolsearch{}", std::env::consts::EXE_SUFFIX);
    let beside = own.ancestors().nth(2).map(|folder| folder.join(name));
    beside
        .filter(|path| path.is_file())
        .expect("the binary is built first: cargo xtask test, or cargo build -p toolsearch-cli")
}

/// A home, a working folder, and nothing in them.
struct World {
    folder: TempDir,
}

/// What a run of the program left.
#[derive(Debug)]
struct Ran {
    code: i32,
    out: String,
    err: String,
}

impl World {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        fs::create_dir_all(folder.path().join("work")).expect("a folder");
        fs::create_dir_all(folder.path().join("home")).expect("a folder");
        Self { folder }
    }

    /// A world with a configuration file in its working folder.
    fn with_config(text: &str) -> Self {
        let world = Self::new();
        world.write("toolsearch.json5", text);
        world
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("work").join(name)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(&path, text).expect("a file");
        path
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).expect("a file")
    }

    fn logs(&self) -> PathBuf {
        self.folder
            .path()
            .join("home/.local/state/toolsearch/sessions")
    }

    fn command<I: AsRef<OsStr>>(&self, args: &[I]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .current_dir(self.folder.path().join("work"))
            .env("HOME", self.folder.path().join("home"))
            .env_remove("TOOLSEARCH_CONFIG")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_STATE_HOME")
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_CACHE_HOME")
            .env_remove("RUST_LOG")
            .stdin(Stdio::null());
        command
    }

    fn run<I: AsRef<OsStr>>(&self, args: &[I]) -> Ran {
        let output = self.command(args).output().expect("the program starts");
        Ran::of(&output)
    }

    /// A run that is given a text on standard input.
    fn feed(&self, args: &[&str], input: &str) -> Ran {
        let mut command = self.command(args);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let mut stdin = child.stdin.take().expect("a pipe");
        stdin.write_all(input.as_bytes()).expect("it reads");
        drop(stdin);
        Ran::of(&child.wait_with_output().expect("it ends"))
    }

    /// A run with `--json` that has to end with this code; its one document.
    fn json(&self, args: &[&str], code: i32) -> Value {
        let mut all = vec!["--json"];
        all.extend(args);
        let ran = self.run(&all);
        assert_eq!(ran.code, code, "{ran:?}");
        ran.document()
    }
}

impl Ran {
    fn of(output: &std::process::Output) -> Self {
        Self {
            code: output.status.code().expect("it ends by itself"),
            out: String::from_utf8(output.stdout.clone()).expect("text"),
            err: String::from_utf8(output.stderr.clone()).expect("text"),
        }
    }

    /// Standard output is one JSON document and nothing else.
    fn document(&self) -> Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    fn fails(&self, code: i32, words: &[&str]) {
        assert_eq!(self.code, code, "{self:?}");
        for word in words {
            assert!(self.err.contains(word), "`{word}` is missing: {self:?}");
        }
    }
}

/// All ids of a list of hits or tools.
fn ids(list: &Value) -> Vec<&str> {
    let list = list.as_array().expect("a list");
    list.iter()
        .map(|one| one["id"].as_str().expect("an id"))
        .collect()
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}
