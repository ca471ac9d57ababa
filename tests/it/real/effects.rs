//! Find, describe, call, in every mode: what was asked for is on the disk afterwards, and nothing
//! but the compact surface was ever declared.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, Kind};
use super::world::{World, find};
use crate::support::{Mode, eventually, json_text, names};

fn tools_mode(kind: Kind) {
    let world = World::new(Mode::Tools);
    let mut client = world.connect(kind);
    assert_eq!(
        names(&client.list()),
        ["tool_search", "tool_describe", "tool_call"]
    );

    let hit = find(
        &mut client,
        "write text into a file",
        "mcp:files:write_file",
    );
    assert!(
        hit["input"].as_str().unwrap().contains("path: string"),
        "{hit}"
    );
    let described = client.works("tool_describe", json!({ "id": hit["id"] }));
    let described = json_text(&described);
    assert_eq!(
        described["inputSchema"]["required"],
        json!(["path", "content"])
    );
    let note = world.file("note.txt");
    let text = "first line\nzweite Zeile ✓\n";
    let args = json!({ "path": note, "content": text });
    client.works("tool_call", json!({ "id": hit["id"], "args": args }));
    assert_eq!(fs::read_to_string(&note).unwrap(), text);

    let hit = find(
        &mut client,
        "add entities to the knowledge graph",
        "mcp:memory:create_entities",
    );
    let args = json!({ "entities": [ada()] });
    client.works("tool_call", json!({ "id": hit["id"], "args": args }));
    check_entities(&world);

    let repository = world.repository();
    fs::write(repository.join("a.txt"), "a\n").unwrap();
    let add = find(&mut client, "git stage files", "mcp:repo:git_add");
    let args = json!({ "repo_path": repository, "files": ["a.txt"] });
    client.works("tool_call", json!({ "id": add["id"], "args": args }));
    let commit = find(
        &mut client,
        "git commit with a message",
        "mcp:repo:git_commit",
    );
    let args = json!({ "repo_path": repository, "message": "add a" });
    client.works("tool_call", json!({ "id": commit["id"], "args": args }));
    assert_eq!(world.git_says(&["log", "--format=%s"]), "add a\nfirst\n");
    assert_eq!(world.git_says(&["show", "HEAD:a.txt"]), "a\n");

    drop(client);
    check_log(&world, "tools");
}

fn ada() -> Value {
    json!({ "name": "Ada", "entityType": "person", "observations": ["wrote the first program"] })
}

fn check_entities(world: &World) {
    let entities = world.entities();
    let ada = entities.iter().find(|entity| entity["name"] == "Ada");
    let ada = ada.unwrap_or_else(|| panic!("{entities:?}"));
    assert_eq!(ada["entityType"], "person");
    assert_eq!(ada["observations"], json!(["wrote the first program"]));
}

/// The session's log names every call that had an effect.
fn check_log(world: &World, mode: &str) {
    let session = world.home.document(&["sessions", "show", "--json"]);
    assert_eq!(session["mode"], mode);
    let calls = session["calls"].as_array().unwrap();
    for id in ["mcp:files:write_file", "mcp:memory:create_entities"] {
        let call = calls.iter().find(|call| call["id"] == id);
        assert_eq!(call.unwrap_or_else(|| panic!("{session}"))["ok"], true);
    }
}

/// The value of a program that gives one; null means that a server was not there yet.
fn value(client: &mut Client, code: &str) -> Value {
    eventually(&format!("a value of {code}"), || {
        let result = client.works("tool_search_code", json!({ "code": code }));
        let mut report = json_text(&result);
        assert_eq!(report["ok"], true, "{report}");
        Some(report["value"].take()).filter(|value| !value.is_null())
    })
}

fn code_mode(kind: Kind) {
    let world = World::new(Mode::Code);
    let mut client = world.connect(kind);
    assert_eq!(names(&client.list()), ["tool_search_code"]);

    let note = world.file("from-a-program.txt");
    let program = format!(
        "const hits = await tools.search('write text into a file');
         const hit = hits.find((hit) => hit.id === 'mcp:files:write_file');
         if (!hit) return null;
         const tool = await tools.describe(hit.id);
         await tools.call(hit.id, {{ path: {path}, content: 'made by ' + hit.name }});
         return tool.inputSchema.required;",
        path = json!(note)
    );
    assert_eq!(value(&mut client, &program), json!(["path", "content"]));
    assert_eq!(fs::read_to_string(&note).unwrap(), "made by write_file");

    let program = format!(
        "const [found] = await tools.search('create new entities', {{ limit: 1 }});
         if (found?.id !== 'mcp:memory:create_entities') return null;
         const made = await tools.callValue(found.id, {{ entities: [{ada}] }});
         return made.entities.length;",
        ada = ada()
    );
    assert_eq!(value(&mut client, &program), json!(1));
    check_entities(&world);

    let program = format!(
        "const hits = await openclaw.tools.search('git create branch');
         if (!hits.some((hit) => hit.name === 'git_create_branch')) return null;
         await servers.repo.git_create_branch({{ repo_path: {path}, branch_name: 'from-code' }});
         return 'made';",
        path = json!(world.repository())
    );
    assert_eq!(value(&mut client, &program), "made");
    assert_eq!(
        world.git_says(&["branch", "--list", "from-code"]).trim(),
        "from-code"
    );

    drop(client);
    check_log(&world, "code");
}

fn directory_mode(kind: Kind) {
    let world = World::new(Mode::Directory);
    let mut client = world.connect(kind);
    assert_eq!(
        names(&client.list()),
        ["tool_search", "tool_describe", "tool_call"]
    );

    let note = world.file("by-name.txt");
    by_name(
        &mut client,
        "write_file",
        &json!({ "path": note, "content": "by its own name" }),
    );
    assert_eq!(fs::read_to_string(&note).unwrap(), "by its own name");
    by_name(
        &mut client,
        "create_entities",
        &json!({ "entities": [ada()] }),
    );
    check_entities(&world);
    let args = json!({ "repo_path": world.repository(), "branch_name": "by-name" });
    by_name(&mut client, "git_create_branch", &args);
    assert_eq!(
        world.git_says(&["branch", "--list", "by-name"]).trim(),
        "by-name"
    );

    drop(client);
    check_log(&world, "directory");
}

/// Calls a hidden tool by its own name; its server may still be starting.
fn by_name(client: &mut Client, name: &str, args: &Value) {
    eventually(&format!("{name} is run"), || {
        let result = client.call(name, args.clone());
        let unknown = result["_meta"]["toolsearch/error"] == "not_found";
        assert!(unknown || result["isError"] != true, "{name}: {result}");
        (!unknown).then_some(())
    });
}

/// What a client reads when it connects names the tools of servers that are up by then; on a busy
/// machine that may take more than one try.
fn directory_in_instructions(kind: Kind) {
    let world = World::with_memory_alone(Mode::Directory);
    let client = eventually("the instructions hold the directory", || {
        let client = world.connect(kind);
        client
            .instructions
            .contains("create_entities")
            .then_some(client)
    });
    for tool in ["add_observations", "read_graph", "search_nodes"] {
        let line = format!("- {tool} (memory)");
        assert!(
            client.instructions.contains(&line),
            "{}",
            client.instructions
        );
    }
}

#[test]
fn sdk_tools_mode() {
    tools_mode(Kind::SdkDiscover);
}

#[test]
fn sdk_code_mode() {
    code_mode(Kind::SdkHandshake);
}

#[test]
fn sdk_directory_mode() {
    directory_mode(Kind::SdkDiscover);
}

#[test]
fn rmcp_tools_mode() {
    tools_mode(Kind::RmcpHandshake);
}

#[test]
fn rmcp_code_mode() {
    code_mode(Kind::RmcpDiscover);
}

#[test]
fn rmcp_directory_mode() {
    directory_mode(Kind::RmcpHandshake);
}

#[test]
fn sdk_directory_in_instructions() {
    directory_in_instructions(Kind::SdkHandshake);
}

#[test]
fn rmcp_directory_in_instructions() {
    directory_in_instructions(Kind::RmcpDiscover);
}
