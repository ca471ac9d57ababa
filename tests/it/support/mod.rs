//! What the tests share: the built program, children that speak in lines, a home with a
//! configuration, scripted servers, and a client that writes bare JSON-RPC.

mod embeddings;
mod gateway;
mod home;
mod lines;
mod serving;
mod upstream;

pub(crate) use embeddings::{Embeddings, Manner};
pub(crate) use gateway::{Gateway, Mode};
pub(crate) use home::{Home, document};
pub(crate) use lines::Lines;
pub(crate) use serving::HttpGateway;
pub(crate) use upstream::{Upstream, received};

use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Long enough for a process on a busy machine; nothing waits for it to pass.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);
/// Between two looks at something that another process is about to do.
const PAUSE: Duration = Duration::from_millis(100);

/// The built program.
pub(crate) fn program() -> PathBuf {
    let beside = || target().join("debug/toolsearch");
    let program = std::env::var_os("TOOLSEARCH_BIN").map_or_else(beside, PathBuf::from);
    assert!(
        program.is_file(),
        "{} is not there: run `cargo build -p toolsearch-cli`, or the tests with `cargo xtask test`",
        program.display()
    );
    program
}

/// The folder of the real servers.
pub(crate) fn real_servers() -> PathBuf {
    let beside = || target().join("real-servers");
    let folder = std::env::var_os("TOOLSEARCH_REAL_SERVERS").map_or_else(beside, PathBuf::from);
    assert!(
        folder.is_dir(),
        "{} is not there: install the servers with `cargo xtask servers`",
        folder.display()
    );
    folder
}

/// Cargo's target folder: this program is in `debug/deps` of it.
fn target() -> PathBuf {
    let here = std::env::current_exe().unwrap();
    here.ancestors().nth(3).unwrap().to_owned()
}

/// A file of this package.
pub(crate) fn file_of_package(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Looks again and again until another process has done something.
pub(crate) fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "never happened: {what}");
        thread::sleep(PAUSE);
    }
}

/// The `name` fields of a list.
pub(crate) fn names(list: &[Value]) -> Vec<&str> {
    list.iter()
        .map(|entry| entry["name"].as_str().unwrap())
        .collect()
}

/// The text blocks of a result, joined by newlines.
pub(crate) fn text(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap();
    let texts: Vec<&str> = blocks
        .iter()
        .filter_map(|block| block["text"].as_str())
        .collect();
    texts.join("\n")
}

/// The JSON that stands in the first text block of a result.
pub(crate) fn json_text(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().unwrap();
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}
