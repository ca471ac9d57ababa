//! Servers that misbehave, one fault a line, beside one that does not: its calls go on, and the fault
//! is named where a user looks.
//!
//! That the other server is not held up is seen by the order of events: its calls are made after the
//! faulty one and answered while that has no answer.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::bare;
use crate::support::{Home, Lines, Mode, Upstream, eventually, json_text, text};

/// Where and how a fault shows.
#[derive(Debug, Clone, Copy)]
enum Shows {
    /// Nowhere: the call works.
    Nowhere,
    /// The call fails at once with these words.
    InTheCall(&'static str),
    /// The call has no answer until its time is up.
    AfterItsTime,
    /// There are no tools: the list of servers and a search that finds nothing say so.
    InTheLists(&'static str),
}

use Shows::{AfterItsTime, InTheCall, InTheLists, Nowhere};

/// A fault, whether it is one over HTTP, how it shows, and whether the next call works.
const FAULTS: &[(&str, bool, Shows, bool)] = &[
    ("junk-on-stdout", false, Nowhere, true),
    ("half-a-line", false, AfterItsTime, false),
    (
        "long-line",
        false,
        InTheCall("longer than 33554432 bytes"),
        true,
    ),
    ("never-answers", false, AfterItsTime, true),
    ("answers-twice", false, Nowhere, true),
    ("wrong-id", false, AfterItsTime, true),
    (
        "dies-mid-call",
        false,
        InTheCall("exited (3); stderr: out of paper"),
        true,
    ),
    ("list-changed-storm", false, Nowhere, true),
    ("ignores-cancel", false, AfterItsTime, true),
    ("huge-schema", false, Nowhere, true),
    ("changes-a-definition", false, Nowhere, true),
    (
        "http-401",
        true,
        InTheLists("needs authorization (401): invalid_token"),
        false,
    ),
    ("http-404-session", true, Nowhere, true),
    ("http-429", true, InTheCall("asks to wait 120 s"), false),
    ("http-500", true, InTheCall("answered 500"), true),
    ("http-never-answers", true, AfterItsTime, true),
    (
        "tls-failure",
        true,
        InTheLists("no secure connection (TLS)"),
        false,
    ),
];

#[test]
fn every_fault_costs_only_its_own_server() {
    // Each waits for its own time to be up; together they wait once.
    let running: Vec<_> = FAULTS
        .iter()
        .map(|&fault| (fault.0, std::thread::spawn(move || check(fault))))
        .collect();
    let failed: Vec<&str> = running
        .into_iter()
        .filter_map(|(name, running)| running.join().err().map(|_| name))
        .collect();
    assert!(failed.is_empty(), "these went wrong, see above: {failed:?}");
}

fn check((fault, http, shows, next_works): (&str, bool, Shows, bool)) {
    let mut world = World::new(fault, http);
    let mut client = world.serve();
    eventually(&format!("{fault}: the healthy server is known"), || {
        client.answers_ping().then_some(())
    });
    if let InTheLists(words) = shows {
        return world.is_named(&mut client, words);
    }
    eventually(&format!("{fault}: the faulty server is known"), || {
        let found = client.search(&format!("works {}", client.requests));
        let hits = found["candidates"].as_array().unwrap();
        hits.iter()
            .any(|hit| hit["id"] == "mcp:faulty:work")
            .then_some(())
    });
    let act = client.begin("mcp:faulty:act");
    let pings: Vec<u64> = (0..3).map(|_| client.begin("mcp:healthy:ping")).collect();
    let mut acted = None;
    let mut answered = 0;
    while answered < pings.len() {
        let (id, result) = client.next();
        if id == act {
            acted = Some(result);
        } else if pings.contains(&id) {
            assert_eq!(result["isError"], false, "{fault}: {result}");
            answered += 1;
        }
    }
    if let AfterItsTime = shows {
        assert!(
            acted.is_none(),
            "{fault}: the healthy server had to wait for {acted:?}"
        );
    }
    let acted = acted.unwrap_or_else(|| client.wait_for(act));
    let said = text(&acted);
    match shows {
        Nowhere => assert_eq!(acted["isError"], false, "{fault}: {said}"),
        InTheCall(words) => assert!(said.contains(words), "{fault}: {said}"),
        AfterItsTime => assert!(said.contains("no answer within"), "{fault}: {said}"),
        InTheLists(_) => unreachable!(),
    }
    let next = client.call("mcp:faulty:work");
    assert_eq!(next["isError"] == false, next_works, "{fault}: {next}");
    assert!(client.answers_ping(), "{fault}");
    world.ends_well(&mut client);
}

/// A home with a faulty and a healthy server.
struct World {
    fault: String,
    home: Home,
    /// The faulty server, where it is no child of the gateway.
    _server: Option<Lines>,
}

impl World {
    fn new(fault: &str, http: bool) -> Self {
        let home = Home::new();
        let program = env!("CARGO_BIN_EXE_faulty-server");
        let log = home.path("faulty.log");
        let (mut entry, server) = if http {
            let mut command = Command::new(program);
            command.arg("--http").arg(fault).arg(&log);
            let mut server = Lines::start(command);
            (json!({ "url": server.next() }), Some(server))
        } else {
            (json!({ "command": program, "args": [fault, log] }), None)
        };
        entry["callTimeoutMs"] = json!(20_000);
        let (name, healthy) = Upstream::new("healthy", vec![bare("ping")]).install(&home);
        let servers = json!({ "faulty": entry, name: healthy });
        home.configure(&Mode::Tools.setting(), &servers);
        Self {
            fault: fault.to_owned(),
            home,
            _server: server,
        }
    }

    fn serve(&self) -> Client {
        Client::connect(Lines::start(self.home.command(&["serve"])))
    }

    fn log(&self) -> PathBuf {
        self.home.path("faulty.log")
    }

    /// Messages of this method that reached the faulty server.
    fn received(&self, method: &str) -> Vec<Value> {
        let log = fs::read_to_string(self.log()).unwrap_or_default();
        let messages = log.lines().map(|line| serde_json::from_str(line).unwrap());
        messages
            .filter(|one: &Value| one["method"] == method)
            .collect()
    }

    fn is_named(&mut self, client: &mut Client, words: &str) {
        let fault = &self.fault;
        let listed = self.home.document(&["catalog", "list", "--json"]);
        let servers = listed["servers"].as_array().unwrap();
        let of = |name: &str| {
            servers
                .iter()
                .find(|server| server["name"] == name)
                .unwrap()
        };
        let error = of("faulty")["error"].as_str().unwrap_or_default();
        assert!(error.contains(words), "{fault}: {listed}");
        assert_eq!(of("healthy")["state"], "ready", "{fault}");
        let answer = eventually(&format!("{fault}: a search says why"), || {
            // The same words again and again would be told to stop.
            let answer = client.search(&format!("qzxv {}", client.requests));
            (answer["reason"] == "server_unavailable").then_some(answer)
        });
        assert!(answer.to_string().contains(words), "{fault}: {answer}");
        assert!(client.answers_ping(), "{fault}");
    }

    /// What a fault must have left behind besides.
    fn ends_well(&self, client: &mut Client) {
        let count = |method: &str| self.received(method).len();
        match self.fault.as_str() {
            "dies-mid-call" => assert_eq!(count("initialize"), 2, "it is started again"),
            "http-404-session" => assert_eq!(count("initialize"), 2, "one new session"),
            "list-changed-storm" => assert!(count("tools/list") <= 3, "{}", count("tools/list")),
            "ignores-cancel" => assert_eq!(count("notifications/cancelled"), 1),
            "changes-a-definition" => eventually("the new definition is described", || {
                let described = client.control("tool_describe", &json!({ "id": "mcp:faulty:act" }));
                let described = described.to_string();
                described.contains("Acts otherwise.").then_some(())
            }),
            "huge-schema" => {
                let listed = self
                    .home
                    .document(&["catalog", "list", "--json"])
                    .to_string();
                assert!(
                    listed.contains("huge") && listed.contains("1048576 bytes"),
                    "{listed}"
                );
                assert!(listed.contains("mcp:faulty:work"));
            }
            _ => assert!(count("tools/list") <= 2, "{}: the list is kept", self.fault),
        }
    }
}

/// A client of the gateway that reads answers in the order in which they come.
struct Client {
    lines: Lines,
    requests: u64,
}

impl Client {
    fn connect(lines: Lines) -> Self {
        let mut client = Self { lines, requests: 0 };
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {},
            "clientInfo": { "name": "bare", "version": "1" },
        });
        let id = client.send("initialize", &hello);
        client.wait_for(id);
        let ready = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        client.lines.send(&ready.to_string());
        client
    }

    fn send(&mut self, method: &str, params: &Value) -> u64 {
        self.requests += 1;
        let id = self.requests;
        let request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
        self.lines.send(&request.to_string());
        id
    }

    /// The next answer: which request it belongs to, and its result.
    fn next(&mut self) -> (u64, Value) {
        loop {
            let message: Value = serde_json::from_str(&self.lines.next()).unwrap();
            if message.get("method").is_none() {
                let id = message["id"].as_u64().expect("an answer to a request");
                assert!(message["result"].is_object(), "{message}");
                return (id, message["result"].clone());
            }
        }
    }

    fn wait_for(&mut self, wanted: u64) -> Value {
        loop {
            let (id, result) = self.next();
            if id == wanted {
                return result;
            }
        }
    }

    /// Calls a tool without waiting for it.
    fn begin(&mut self, id: &str) -> u64 {
        let arguments = json!({ "id": id, "args": {} });
        self.send(
            "tools/call",
            &json!({ "name": "tool_call", "arguments": arguments }),
        )
    }

    fn call(&mut self, id: &str) -> Value {
        let id = self.begin(id);
        self.wait_for(id)
    }

    fn control(&mut self, name: &str, arguments: &Value) -> Value {
        let id = self.send(
            "tools/call",
            &json!({ "name": name, "arguments": arguments }),
        );
        self.wait_for(id)
    }

    fn search(&mut self, query: &str) -> Value {
        json_text(&self.control("tool_search", &json!({ "query": query })))
    }

    fn answers_ping(&mut self) -> bool {
        self.call("mcp:healthy:ping")["isError"] == false
    }
}

/// A server that starts slowly joins when it is ready; until then a search says so and the others
/// work.
#[test]
fn a_slow_start_holds_nobody_up() {
    let world = World::new("slow-start", false);
    let mut client = world.serve();
    eventually("the healthy server is known", || {
        client.answers_ping().then_some(())
    });
    let answer = client.search("qzxv wqpk");
    assert_eq!(answer["reason"], "still_connecting", "{answer}");
    assert!(answer.to_string().contains("faulty"), "{answer}");
    // A call to the server waits for its start, and others go by.
    let work = client.begin("mcp:faulty:work");
    let ping = client.begin("mcp:healthy:ping");
    let (first, _) = client.next();
    if first == ping {
        fs::write(format!("{}.go", world.log().display()), "").unwrap();
        let result = client.wait_for(work);
        assert!(!text(&result).is_empty());
    } else {
        // Not yet known by that name: told at once.
        assert_eq!(client.wait_for(ping)["isError"], false);
        fs::write(format!("{}.go", world.log().display()), "").unwrap();
    }
    eventually("the slow server has joined", || {
        (client.call("mcp:faulty:work")["isError"] == false).then_some(())
    });
    assert_eq!(world.received("initialize").len(), 1);
}

/// A list that does not end is cut, and what was read of it can be used.
#[test]
fn endless_pages_end() {
    let world = World::new("endless-pages", false);
    let mut client = world.serve();
    eventually("tools of the first pages are known", || {
        let result = client.call("mcp:faulty:page_1_0");
        (result["isError"] == false).then_some(())
    });
    assert!(client.answers_ping());
    assert_eq!(world.received("tools/list").len(), 200);
}

/// Searching, describing and calling ask no server for its list again.
#[test]
fn nothing_that_a_model_does_lists_again() {
    let world = World::new("none", false);
    let mut client = world.serve();
    eventually("the server is known", || {
        (client.call("mcp:faulty:work")["isError"] == false).then_some(())
    });
    let before = world.received("tools/list").len();
    for round in 0..5 {
        client.search(&format!("works {round}"));
        client.control("tool_describe", &json!({ "id": "mcp:faulty:work" }));
        client.call("mcp:faulty:work");
        let id = client.send("tools/list", &json!({}));
        client.wait_for(id);
    }
    assert_eq!((before, world.received("tools/list").len()), (1, 1));
}

/// A server that an earlier process has listed is known before it is up, and its call waits for it.
#[test]
fn tools_of_an_earlier_process_are_known_at_once() {
    let world = World::new("slow-start", false);
    let go = format!("{}.go", world.log().display());
    fs::write(&go, "").unwrap();
    let mut client = world.serve();
    eventually("the server is known", || {
        (client.call("mcp:faulty:work")["isError"] == false).then_some(())
    });
    eventually("both lists are kept", || {
        let kept = fs::read_dir(world.home.path("state/toolsearch/lists")).ok()?;
        let whole = |path: PathBuf| path.extension().is_some_and(|end| end == "json");
        let kept = kept.flatten().filter(|file| whole(file.path())).count();
        (kept == 2).then_some(())
    });
    drop(client);
    fs::remove_file(&go).unwrap();

    let mut client = world.serve();
    let found = client.search("works");
    let hits = found["candidates"].as_array().unwrap();
    let known = hits.iter().any(|hit| hit["id"] == "mcp:faulty:work");
    assert!(known, "{found}");
    let work = client.begin("mcp:faulty:work");
    assert_eq!(
        client.call("mcp:healthy:ping")["isError"],
        false,
        "the healthy server is not held up by the call that waits"
    );
    fs::write(&go, "").unwrap();
    let result = client.wait_for(work);
    assert_eq!(result["isError"], false, "{result}");
}
