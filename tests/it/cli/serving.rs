//! `toolsearch serve`: a client over standard input and output.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use serde_json::{Value, json};

use super::World;
use crate::support::PATIENCE;

pub(super) struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    number: u64,
}

impl Client {
    /// Connects to the program and shakes hands.
    pub(super) fn connect(world: &World, args: &[&str]) -> (Self, Value) {
        let mut all = vec!["serve", "--stdio"];
        all.extend(args);
        let mut command = world.command(&all);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut client = Self {
            child,
            input,
            output,
            number: 0,
        };
        let hello = client.ask(
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {},
                    "clientInfo": { "name": "test", "version": "1" } }),
        );
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }));
        (client, hello)
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").expect("the program reads");
    }

    /// The result of a request; everything else that comes before it is a message of the protocol.
    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.number += 1;
        let id = self.number;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        loop {
            let mut line = String::new();
            assert!(
                self.output.read_line(&mut line).expect("a line") > 0,
                "the program ended"
            );
            let message: Value = serde_json::from_str(&line).expect("only messages on stdout");
            if message["id"] == id {
                assert!(message.get("error").is_none(), "{message}");
                return message["result"].clone();
            }
        }
    }

    pub(super) fn call(&mut self, name: &str, arguments: Value) -> Value {
        self.ask(
            "tools/call",
            json!({ "name": name, "arguments": arguments }),
        )
    }

    /// Closes the client's side; the exit code and what stood on standard error.
    pub(super) fn close(self) -> (Option<i32>, String) {
        let Self {
            child,
            input,
            output,
            ..
        } = self;
        drop((input, output));
        let ended = child.wait_with_output().expect("it ends");
        (
            ended.status.code(),
            String::from_utf8_lossy(&ended.stderr).into_owned(),
        )
    }
}

fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["tools"].as_array().expect("tools");
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

#[test]
fn a_client_sees_only_the_compact_surface_and_uses_it() {
    let world = World::new();
    let (mut client, hello) = Client::connect(&world, &["--mode", "tools"]);
    assert!(hello["capabilities"]["tools"].is_object(), "{hello}");
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(
        names(&listed),
        ["tool_search", "tool_describe", "tool_call"]
    );
    let found = client.call("tool_search", json!({ "query": "create a GitHub issue" }));
    let text = found["content"][0]["text"].as_str().expect("text");
    let found: Value = serde_json::from_str(text).expect("json");
    let id = found["candidates"][0]["id"].clone();
    let called = client.call("tool_call", json!({ "id": id, "args": { "title": "x" } }));
    assert_eq!(called["structuredContent"]["title"], "x", "{called}");
    let (code, stderr) = client.close();
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("sample tools"), "{stderr}");
    let shown = world.json(&["sessions", "show"], 0);
    assert_eq!(shown["schemasSeenAtFirst"], 3);
    assert_eq!(shown["lastCall"], id);
}

#[test]
fn programs_run_behind_the_gateway() {
    let world = World::new();
    let (mut client, _) = Client::connect(&world, &[]);
    assert_eq!(
        names(&client.ask("tools/list", json!({}))),
        ["tool_search_code"]
    );
    let code = "const [hit] = await tools.search('create github issue');\n\
                return await tools.callValue(hit.id, {title: 'Crash'});";
    let ran = client.call("tool_search_code", json!({ "code": code }));
    let text = ran["content"][0]["text"].as_str().expect("text");
    let ran: Value = serde_json::from_str(text).expect("json");
    assert_eq!(ran["value"]["title"], "Crash", "{ran}");
    assert_eq!(client.close().0, Some(0));
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_it_with_the_code_of_one() {
    let world = World::new();
    let (client, _) = Client::connect(&world, &["--mode", "tools"]);
    let pid = client.child.id().to_string();
    let sent = std::process::Command::new("kill")
        .args(["-INT", &pid])
        .status();
    assert!(sent.expect("a signal").success());
    let Client { child, input, .. } = client;
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!(ended.status.code(), Some(130));
    drop(input);
}

#[test]
fn a_broken_configuration_is_told_before_anything_is_served() {
    let world = World::with_config("{ tols: {} }");
    let ran = world.run(&["serve"]);
    ran.fails(2, &["toolsearch.json5:1:", "tools"]);
    assert_eq!(ran.out, "");
}

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#;

/// Whether a line among others answers the handshake.
fn greets(line: &str) -> bool {
    serde_json::from_str(line).is_ok_and(|said: Value| said["result"]["serverInfo"].is_object())
}

/// As Node starts its servers, and as a shell does with `2>&1`.
#[cfg(unix)]
#[test]
fn sockets_serve_as_pipes_do() {
    use std::net::Shutdown;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    let world = World::new();
    for everything in [false, true] {
        let (mut client, server) = UnixStream::pair().expect("sockets");
        let one = || Stdio::from(OwnedFd::from(server.try_clone().expect("a socket")));
        let mut command = world.command(&["serve", "--stdio", "--mode", "tools"]);
        command.stdin(one()).stdout(one());
        command.stderr(if everything { one() } else { Stdio::null() });
        let mut child = command.spawn().expect("the program starts");
        drop((command, server));
        client.set_read_timeout(Some(PATIENCE)).expect("a limit");
        writeln!(client, "{HELLO}").expect("the program reads");
        let mut lines = BufReader::new(client.try_clone().expect("a socket")).lines();
        assert!(
            lines.any(|line| greets(&line.expect("an answer in time"))),
            "everything on one socket: {everything}"
        );
        client.shutdown(Shutdown::Write).expect("open");
        assert!(child.wait().expect("it ends").success());
    }
}

#[test]
fn files_serve_as_pipes_do() {
    let world = World::new();
    let asked = world.write("asked", &format!("{HELLO}\n"));
    let answered = world.path("answered");
    let mut command = world.command(&["serve", "--stdio", "--mode", "tools"]);
    command
        .stdin(std::fs::File::open(asked).expect("a file"))
        .stdout(std::fs::File::create(&answered).expect("a file"))
        .stderr(Stdio::null());
    assert!(command.status().expect("the program starts").success());
    let answered = std::fs::read_to_string(answered).expect("a file");
    assert!(answered.lines().any(greets), "{answered}");
}
