//! Secrets that are planted wherever they can stand, and servers, plugins and hooks that spill whatever
//! they know when they fail. At the default capture level none of them is in a log, an event, an error
//! or a value of a program; what a call was given and gave back is in its own answer and nowhere else.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Output, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::support::{Gateway, Home, Lines, Upstream};

/// In the environment of a server.
const OF_SERVER: &str = "sk-server-41f7c0de99";
/// In a server's command line, by way of a variable.
const IN_ARGUMENT: &str = "sk-argument-8d03aa1176";
/// In the header of a server.
const IN_HEADER: &str = "sk-header-5ce2410b38";
/// In the address of a server.
const IN_ADDRESS: &str = "sk-address-c4419d7702";
/// The key of a model provider.
const OF_PROVIDER: &str = "sk-provider-77b1e65f20";
/// In a variable that a plugin may see.
const OF_PLUGIN: &str = "sk-plugin-0aa9d3c651";
/// What nobody but the owner of a call may see: given to a tool.
const GIVEN: &str = "sk-given-93e5b7f214";
/// Given back by a tool.
const GIVEN_BACK: &str = "sk-result-26cd80e95b";

/// What may not even be in an answer.
const OF_THE_OPERATOR: [&str; 6] = [
    OF_SERVER,
    IN_ARGUMENT,
    IN_HEADER,
    IN_ADDRESS,
    OF_PROVIDER,
    OF_PLUGIN,
];

const PLUGIN: &str = r#"cat > /dev/null
case "$1" in
  spill) env >&2; exit 1 ;;
  junk) env ;;
esac
"#;

/// Calls that fail in every way, and one that works.
const CALLS: [&str; 9] = [
    "mcp:post:echo",
    "mcp:post:complain",
    "mcp:post:exit",
    "mcp:post:gone",
    "plugin:kit:spill",
    "plugin:kit:junk",
    "mcp:broken:anything",
    "mcp:remote:anything",
    "mcp:post:guarded",
];

/// Answers every request with an error that quotes the request.
fn spilling() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let mut head = String::new();
            let mut reader = BufReader::new(stream);
            while reader.read_line(&mut head).is_ok_and(|read| read > 2) {}
            let answer = format!(
                "HTTP/1.1 500 Trouble\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{head}",
                head.len()
            );
            // Whoever does not want it has hung up.
            let _ = reader.get_mut().write_all(answer.as_bytes());
        }
    });
    port
}

/// Everything that spills, in one configuration.
fn planted() -> Home {
    let home = Home::new();
    let folder = home.path("kit");
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("kit.sh"), PLUGIN).unwrap();
    let tool = |name: &str| {
        json!({ "name": name, "description": format!("{name} things"),
                "inputSchema": { "type": "object" } })
    };
    let command = |mut tool: Value, how: &str| {
        tool["command"] = json!(["sh", "kit.sh", how]);
        tool
    };
    let manifest = json!({ "name": "kit", "env": ["KIT_TOKEN"], "tools": [
        command(tool("spill"), "spill"), command(tool("junk"), "junk"),
    ] });
    fs::write(folder.join("toolsearch.plugin.json5"), manifest.to_string()).unwrap();

    let names = ["echo", "back", "complain", "exit", "gone", "guarded"];
    let given_back = json!({ "content": [{ "type": "text", "text": GIVEN_BACK }] });
    let env = json!({ "TOKEN": "${SERVER_TOKEN}", "KEPT": OF_SERVER });
    let (post, server) = Upstream::new("post", names.map(tool).to_vec())
        .answers("back", &given_back.to_string())
        .answers("complain", r#""complain""#)
        .answers("exit", r#""exit""#)
        .answers("gone", r#""unknown""#)
        .with("env", env.clone())
        .with("args", json!(["--key", "${ARGUMENT_KEY}"]))
        .install(&home);
    let (broken, failing) = Upstream::new("broken", Vec::new())
        .with("env", env)
        .with("args", json!(["--key=${ARGUMENT_KEY}"]))
        .that_cannot_start()
        .install(&home);
    let remote = json!({
        "url": format!("http://127.0.0.1:{}/mcp?key=${{ADDRESS_KEY}}", spilling()),
        "headers": { "Authorization": "Bearer ${HEADER_KEY}" },
        "startTimeoutMs": 3000,
    });
    let guard = json!({ "name": "guard", "matcher": ["mcp:post:guarded"], "command": "sh",
                        "args": ["-c", "cat > /dev/null; env >&2; exit 2"] });
    let config = json!({
        "tools": { "toolSearch": { "mode": "tools" } },
        "plugins": ["kit"],
        "mcpServers": { post: server, broken: failing, "remote": remote },
        "hooks": { "before_tool_call": [guard] },
        "providers": { "house": { "dialects": ["openai-chat"], "apiKey": "${PROVIDER_KEY}",
                                  "baseUrl": format!("http://127.0.0.1:{}/v1", spilling()) } },
    });
    home.configure_text(&config.to_string());
    home
}

/// A command of the program with every secret in its environment, as talkative as it can be.
fn command(home: &Home, args: &[&str]) -> std::process::Command {
    let mut command = home.command(&["-vv"]);
    command
        .args(args)
        .env("SERVER_TOKEN", OF_SERVER)
        .env("ARGUMENT_KEY", IN_ARGUMENT)
        .env("HEADER_KEY", IN_HEADER)
        .env("ADDRESS_KEY", IN_ADDRESS)
        .env("PROVIDER_KEY", OF_PROVIDER)
        .env("KIT_TOKEN", OF_PLUGIN);
    command
}

fn output(home: &Home, args: &[&str]) -> Output {
    command(home, args).stdin(Stdio::null()).output().unwrap()
}

#[track_caller]
fn holds_none(what: &str, text: &str, secrets: &[&str]) {
    for secret in secrets {
        let at = text.find(secret).map(|at| {
            let from = text.floor_char_boundary(at.saturating_sub(300));
            &text[from..at + secret.len()]
        });
        assert!(at.is_none(), "{what} holds {secret}: …{}", at.unwrap());
    }
}

/// Standard error of a command, and what it printed.
#[track_caller]
fn looked_at(home: &Home, args: &[&str]) -> (String, String) {
    let output = output(home, args);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    let what = format!("{args:?}");
    holds_none(&what, &out, &OF_THE_OPERATOR);
    holds_none(&what, &err, &OF_THE_OPERATOR);
    (out, err)
}

#[track_caller]
fn logs_hold_none(home: &Home) {
    let folder = home.path("state");
    let mut bytes = 0;
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned();
            let what = path.display().to_string();
            holds_none(&what, &text, &OF_THE_OPERATOR);
            holds_none(&what, &text, &[GIVEN, GIVEN_BACK]);
            bytes += text.len();
        }
    }
    assert!(bytes > 0, "something was recorded");
}

#[test]
fn commands_tell_no_secret() {
    let home = planted();
    let args = json!({ "token": GIVEN }).to_string();
    for id in CALLS {
        let (out, err) = looked_at(&home, &["call", id, "--args", &args, "--json"]);
        // Only what echoes may say it, and only in its answer.
        assert_eq!(out.contains(GIVEN), id == "mcp:post:echo", "{id}: {out}");
        holds_none(id, &err, &[GIVEN]);
        assert!(!err.is_empty(), "{id}: it is as talkative as it can be");
    }
    let (out, err) = looked_at(&home, &["call", "mcp:post:back", "--json"]);
    assert!(out.contains(GIVEN_BACK), "{out}");
    holds_none("a result", &err, &[GIVEN_BACK]);
    logs_hold_none(&home);
}

#[test]
fn reports_tell_no_secret() {
    let home = planted();
    for args in [
        &["catalog", "list"][..],
        &["--json", "catalog", "list"],
        &["--json", "catalog", "estimate"],
        &["search", "things"],
        &["describe", "mcp:post:echo"],
        &["config", "get", "--effective"],
        &["config", "validate"],
        &["--json", "doctor"],
        &["mcp", "list"],
        &["mcp", "test", "broken"],
        &["agent", "-m", "hello", "--model", "house/m"],
    ] {
        looked_at(&home, args);
    }
    looked_at(&home, &["sessions", "show", "--json"]);
}

/// A program that makes every call and gives back whatever it is told.
fn program() -> String {
    format!(
        "const told = [];
         for (const id of {}) {{
           try {{ told.push(await tools.call(id, {{ token: 'given' }})); }}
           catch (error) {{ told.push([id, error.name, error.message, error.stack]); }}
         }}
         console.log(JSON.stringify(Object.getOwnPropertyNames(globalThis)));
         told.push(typeof process === 'undefined' ? 'nothing' : JSON.stringify(process));
         return told;",
        json!(CALLS)
    )
}

#[test]
fn programs_see_and_tell_no_secret() {
    let home = planted();
    fs::write(home.path("program.js"), program()).unwrap();
    let (out, _) = looked_at(
        &home,
        &[
            "run",
            "program.js",
            "--trace",
            "--json",
            "--timeout-ms",
            "60000",
        ],
    );
    let ran: Value = serde_json::from_str(&out).unwrap();
    let told = ran["value"].as_array().unwrap_or_else(|| panic!("{ran}"));
    assert_eq!(told.len(), CALLS.len() + 1, "{ran}");
    assert!(out.contains("[redacted]"), "something was spilled: {out}");

    let code = format!(
        "await tools.call('mcp:post:echo', {{ token: '{GIVEN}' }});
         const {{ result }} = await tools.call('mcp:post:back', {{}});
         return result.content[0].text.length;"
    );
    fs::write(home.path("quiet.js"), code).unwrap();
    let args = [
        "run",
        "quiet.js",
        "--trace",
        "--json",
        "--timeout-ms",
        "60000",
    ];
    let (out, err) = looked_at(&home, &args);
    let ran: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(ran["value"], GIVEN_BACK.len(), "{ran}");
    holds_none("what a program does", &out, &[GIVEN, GIVEN_BACK]);
    holds_none("what a program does", &err, &[GIVEN, GIVEN_BACK]);
    logs_hold_none(&home);
}

#[test]
fn the_gateway_tells_no_secret() {
    let home = planted();
    let log = home.path("stderr");
    let mut serve = command(&home, &["serve"]);
    serve.stderr(fs::File::create(&log).unwrap());
    let twin = home.twin();
    let mut gateway = Gateway::greet(Lines::start(serve), home);
    holds_none("hello", &gateway.hello.to_string(), &OF_THE_OPERATOR);
    let listed = Value::from(gateway.list()).to_string();
    holds_none("the list", &listed, &OF_THE_OPERATOR);
    let mut redacted = false;
    for id in CALLS {
        let asked = json!({ "id": id, "args": { "token": GIVEN } });
        let answer = gateway.call("tool_call", &asked).to_string();
        holds_none(id, &answer, &OF_THE_OPERATOR);
        assert_eq!(
            answer.contains(GIVEN),
            id == "mcp:post:echo",
            "{id}: {answer}"
        );
        redacted |= answer.contains("[redacted]");
    }
    assert!(redacted, "something was spilled");
    let back = gateway.call("tool_call", &json!({ "id": "mcp:post:back" }));
    assert!(back.to_string().contains(GIVEN_BACK), "{back}");
    let found = gateway.search("nothing that is there at all").to_string();
    holds_none("a search", &found, &OF_THE_OPERATOR);
    drop(gateway);
    let told = fs::read_to_string(log).unwrap();
    assert!(!told.is_empty(), "it is as talkative as it can be");
    holds_none("standard error", &told, &OF_THE_OPERATOR);
    holds_none("standard error", &told, &[GIVEN, GIVEN_BACK]);
    logs_hold_none(&twin);
}
