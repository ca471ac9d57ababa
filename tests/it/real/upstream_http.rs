//! Servers that nobody here wrote, reached over HTTP: the reference server of npm in both of its
//! transports, and a server of the Python SDK in every form that it has.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};

use serde_json::{Value, json};

use super::client::real;
use super::world::NODE;
use crate::support::{Gateway, Home, Mode, eventually, file_of_package, json_text, text};

/// A server on a port of this machine, for as long as this is kept.
struct Served {
    command: Command,
    child: Child,
    port: u16,
}

impl Served {
    fn start(make: impl Fn(u16) -> Command) -> Self {
        // Free a moment ago; whoever takes it first would be noticed below.
        let port = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .port();
        let mut command = make(port);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut served = Self {
            command,
            child,
            port,
        };
        served.wait();
        served
    }

    fn everything(transport: &str) -> Self {
        Self::start(|port| {
            let mut command = Command::new(real(&format!("{NODE}/mcp-server-everything")));
            command.arg(transport).env("PORT", port.to_string());
            command
        })
    }

    fn python(transport: &str, words: &[&str]) -> Self {
        Self::start(|port| {
            let mut command = Command::new(real("venv/bin/python"));
            let script = file_of_package("real-servers/servers/web.py");
            command
                .arg(script)
                .arg(transport)
                .arg(port.to_string())
                .args(words);
            command
        })
    }

    /// The same server on the same port, with nothing remembered.
    fn restart(&mut self) {
        self.end();
        self.child = self.command.spawn().unwrap();
        self.wait();
    }

    fn wait(&mut self) {
        let port = self.port;
        eventually("the server listens", || {
            assert_eq!(self.child.try_wait().unwrap(), None, "it ended");
            TcpStream::connect(("127.0.0.1", port)).ok()
        });
    }

    fn end(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        self.child.wait().unwrap();
    }

    fn url(&self, path: &str) -> Value {
        json!({ "url": format!("http://127.0.0.1:{}{path}", self.port) })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.end();
    }
}

fn gateway(entry: &Value) -> Gateway {
    let home = Home::new();
    home.configure(&Mode::Tools.setting(), &json!({ "far": entry }));
    Gateway::serve(home)
}

/// The text of a call that works once the server is known.
fn called(gateway: &mut Gateway, tool: &str, args: &Value) -> String {
    let id = format!("mcp:far:{tool}");
    let result = eventually(&format!("{id} can be called"), || {
        let result = gateway.call("tool_call", &json!({ "id": id, "args": args }));
        (result["isError"] == false).then_some(result)
    });
    text(&result)
}

fn speaks(served: &Served, path: &str) {
    let mut gateway = gateway(&served.url(path));
    let sum = called(&mut gateway, "get-sum", &json!({ "a": 2, "b": 40 }));
    assert!(sum.contains("42"), "{sum}");
    let args = json!({ "location": "New York" });
    let id = json!({ "id": "mcp:far:get-structured-content", "args": args });
    let result = gateway.call("tool_call", &id);
    assert!(
        result["structuredContent"]["temperature"].is_number(),
        "{result}"
    );
    let hit = gateway.describe("mcp:far:get-tiny-image");
    assert_eq!(hit["name"], "get-tiny-image");
}

#[test]
fn the_reference_server_over_streamable_http() {
    speaks(&Served::everything("streamableHttp"), "/mcp");
}

#[test]
fn the_reference_server_over_the_older_transport() {
    speaks(&Served::everything("sse"), "/sse");
}

#[test]
fn a_server_that_was_restarted_is_found_again_by_the_next_call() {
    for (mut served, path) in [
        (Served::everything("streamableHttp"), "/mcp"),
        (Served::everything("sse"), "/sse"),
    ] {
        let mut gateway = gateway(&served.url(path));
        let args = json!({ "message": "before" });
        assert!(called(&mut gateway, "echo", &args).contains("before"));
        served.restart();
        let args = json!({ "message": "after" });
        assert!(
            called(&mut gateway, "echo", &args).contains("after"),
            "{path}"
        );
    }
}

#[test]
fn the_python_sdk_in_every_form() {
    for (transport, words, path) in [
        ("streamable-http", &[][..], "/mcp"),
        ("streamable-http", &["json"][..], "/mcp"),
        ("streamable-http", &["json", "stateless"][..], "/mcp"),
        ("sse", &[][..], "/sse"),
    ] {
        let served = Served::python(transport, words);
        let mut gateway = gateway(&served.url(path));
        assert_eq!(
            called(&mut gateway, "add", &json!({ "a": 2, "b": 40 })),
            "42"
        );
        let counted = called(&mut gateway, "count", &json!({ "to": 3 }));
        assert_eq!(counted, "counted to 3", "{transport} {words:?}");
    }
}

#[test]
fn a_server_that_listens_nowhere_is_named() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let entry = json!({ "url": format!("http://127.0.0.1:{port}/mcp") });
    let mut gateway = gateway(&entry);
    let mut asked = 0;
    let answer = eventually("the search says why", || {
        // The same words again and again would be told to stop.
        asked += 1;
        let answer = gateway.search(&format!("qzxv {asked}"));
        (answer["reason"] == "server_unavailable").then_some(answer)
    });
    assert!(answer.to_string().contains("cannot be reached"), "{answer}");
    let found = json_text(&gateway.call("tool_search", &json!({ "query": "add" })));
    assert_eq!(found["candidates"], json!([]));
}
