//! A result is the same through the gateway as from the server itself: blocks, structured value,
//! error flag.

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, Kind, real};
use super::world::NODE;
use crate::support::{Home, Mode, eventually, json_text, text};

const CONTENT: [&str; 3] = ["content", "structuredContent", "isError"];

struct Pair {
    home: Home,
    files: Command,
    everything: Command,
    clock: Command,
}

impl Pair {
    fn new(mode: Mode) -> Self {
        let home = Home::new();
        let mut files = Command::new(real(&format!("{NODE}/mcp-server-filesystem")));
        files.arg(home.folder());
        let mut everything = Command::new(real(&format!("{NODE}/mcp-server-everything")));
        everything.arg("stdio");
        let clock = Command::new(real("venv/bin/mcp-server-time"));
        let entry = |command: &Command| {
            let args: Vec<&str> = command
                .get_args()
                .map(|arg| arg.to_str().unwrap())
                .collect();
            json!({ "command": command.get_program().to_str(), "args": args })
        };
        let servers = json!({ "files": entry(&files), "everything": entry(&everything), "clock": entry(&clock) });
        home.configure(&mode.setting(), &servers);
        Self {
            home,
            files,
            everything,
            clock,
        }
    }

    fn gateway(&self, kind: Kind) -> Client {
        Client::connect(kind, &self.home.command(&["serve"]))
    }
}

fn parts(result: &Value) -> Value {
    let part = |key: &&str| match (*key, result.get(*key)) {
        // Absent and false mean the same.
        ("isError", None) => json!(false),
        (_, value) => value.cloned().unwrap_or_default(),
    };
    CONTENT.iter().map(part).collect()
}

fn same_as_from_the_server(kind: Kind) {
    let pair = Pair::new(Mode::Tools);
    let mut everything = Client::connect(kind, &pair.everything);
    let mut files = Client::connect(kind, &pair.files);
    let mut clock = Client::connect(kind, &pair.clock);
    let mut gateway = pair.gateway(kind);
    let noon =
        json!({ "source_timezone": "UTC", "time": "12:00", "target_timezone": "Asia/Tokyo" });
    let missing = json!({ "path": pair.home.path("missing.txt") });
    for (owner, tool, args) in [
        ("everything", "get-tiny-image", json!({})),
        (
            "everything",
            "get-structured-content",
            json!({ "location": "New York" }),
        ),
        (
            "everything",
            "get-annotated-message",
            json!({ "messageType": "error", "includeImage": true }),
        ),
        ("everything", "get-resource-links", json!({ "count": 2 })),
        ("files", "read_text_file", missing),
        ("files", "list_allowed_directories", json!({})),
        ("clock", "convert_time", noon),
    ] {
        let server = match owner {
            "files" => &mut files,
            "clock" => &mut clock,
            _ => &mut everything,
        };
        let direct = server.call(tool, args.clone());
        let id = format!("mcp:{owner}:{tool}");
        let through = eventually(&format!("{id} can be called"), || {
            let result = gateway.call("tool_call", json!({ "id": id, "args": args }));
            // Its server is not listed yet, or still starts.
            let error = result["_meta"]["toolsearch/error"].as_str();
            let early = matches!(error, Some("not_found" | "unavailable"));
            (!early).then_some(result)
        });
        assert_eq!(parts(&through), parts(&direct), "{id}");
        assert_eq!(through["_meta"]["toolsearch/tool"]["id"], id);
        check_kind(tool, &through);
    }
}

/// The server really gave what the comparison is about.
fn check_kind(tool: &str, result: &Value) {
    let types: Vec<&str> = result["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    match tool {
        "get-tiny-image" => assert_eq!(types, ["text", "image", "text"]),
        "get-structured-content" => assert!(result["structuredContent"]["temperature"].is_number()),
        "get-annotated-message" => assert!(result["content"][0]["annotations"].is_object()),
        "get-resource-links" => assert_eq!(types, ["text", "resource_link", "resource_link"]),
        "convert_time" => assert!(text(result).contains("21:00"), "{result}"),
        "read_text_file" => assert_eq!(result["isError"], true),
        _ => assert!(text(result).contains('/')),
    }
}

#[test]
fn sdk_results_cross_unchanged() {
    same_as_from_the_server(Kind::SdkHandshake);
}

#[test]
fn rmcp_results_cross_unchanged() {
    same_as_from_the_server(Kind::RmcpHandshake);
}

/// A program gets values and catchable errors; pictures go beside its report and not into its text.
#[test]
fn a_program_gets_values_errors_and_pictures() {
    let pair = Pair::new(Mode::Code);
    let mut client = pair.gateway(Kind::RmcpHandshake);
    let program = format!(
        "const names = (await tools.search('get structured content')).map((hit) => hit.name);
         const files = (await tools.search('read a text file')).map((hit) => hit.name);
         if (!names.includes('get-structured-content') || !files.includes('read_text_file')) return null;
         const weather = await tools.callValue('mcp:everything:get-structured-content', {{ location: 'Chicago' }});
         const picture = await tools.call('mcp:everything:get-tiny-image', {{}});
         let caught = '';
         try {{ await tools.callValue('mcp:files:read_text_file', {{ path: {missing} }}); }}
         catch (error) {{ caught = error.message; }}
         return {{ weather, caught, blocks: picture.result.content.map((block) => block.type) }};",
        missing = json!(pair.home.path("missing.txt"))
    );
    let report = eventually("both servers are there", || {
        let result = client.works("tool_search_code", json!({ "code": program }));
        let report = json_text(&result);
        assert_eq!(report["ok"], true, "{report}");
        (!report["value"].is_null()).then_some(report)
    });
    let value = &report["value"];
    assert!(value["weather"]["temperature"].is_number(), "{value}");
    assert!(
        value["caught"].as_str().unwrap().contains("ENOENT"),
        "{value}"
    );
    assert_eq!(value["blocks"], json!(["text", "image", "text"]));
    let calls = report["calls"].as_array().unwrap();
    let ok: Vec<bool> = calls
        .iter()
        .map(|call| call["ok"].as_bool().unwrap())
        .collect();
    assert_eq!(ok, [true, true, false], "{report}");
}
