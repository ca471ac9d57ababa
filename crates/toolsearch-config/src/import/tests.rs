//! Tests of `import`.

use super::*;
use crate::expand::Lookup;
use crate::server::{Endpoint, ServerState, ToolFilter, Transport};
use crate::tool_search::SearchMode;

fn import(text: &str, hint: Option<Client>) -> Imported {
    read(text, hint).expect("a readable file")
}

fn names(imported: &Imported) -> Vec<&str> {
    imported.servers.keys().map(String::as_str).collect()
}

/// The servers that a warning is about.
fn warned(imported: &Imported) -> Vec<&str> {
    imported
        .warnings
        .iter()
        .filter_map(|warning| warning.server.as_deref())
        .collect()
}

fn endpoint(server: &ServerDefinition, lookup: Lookup<'_>) -> Endpoint {
    match server.resolve(lookup) {
        ServerState::Ready(endpoint) => endpoint,
        other => panic!("not ready: {other}"),
    }
}

fn is_streamable(server: &ServerDefinition) -> bool {
    matches!(
        endpoint(server, &|_| None),
        Endpoint::Http { sse: false, .. }
    )
}

fn unset(_: &str) -> Option<String> {
    None
}

#[test]
fn cfg_01_vs_code_servers_with_inputs_and_comments() {
    let imported = import(
        r#"{
          // the editor asks and keeps the answers
          "inputs": [
            { "id": "wiki-key", "type": "promptString", "password": true, "description": "Key" },
          ],
          "servers": {
            "tickets": { "url": "https://tickets.example/mcp" }, /* no type */
            "wiki": {
              "type": "stdio", "command": "npx", "args": ["-y", "wiki-server"],
              "env": { "WIKI_KEY": "${input:wiki-key}", },
            },
          },
        }"#,
        None,
    );
    assert_eq!(names(&imported), ["tickets", "wiki"]);
    assert_eq!(imported.warnings, []);
    assert!(is_streamable(&imported.servers["tickets"]));
    assert_eq!(imported.needs_input["wiki"], ["wiki-key"]);
    match imported.servers["wiki"].resolve(&unset) {
        ServerState::NeedsConfiguration(needs) => {
            assert_eq!(
                (needs.variable.as_str(), needs.field.as_str()),
                ("input:wiki-key", "env.WIKI_KEY")
            );
        }
        other => panic!("{other}"),
    }
}

#[test]
fn cfg_04_env_holds_only_what_is_added() {
    let imported = import(
        r#"{"mcpServers": {"probe": {"command": "sh", "args": ["-c", "true"], "env": {"COLOUR": "red"}}}}"#,
        Some(Client::ClaudeDesktop),
    );
    let Endpoint::Stdio { env, .. } = endpoint(&imported.servers["probe"], &unset) else {
        panic!("a command")
    };
    let added: Vec<_> = env
        .iter()
        .map(|(name, value)| (name.as_str(), value.expose()))
        .collect();
    assert_eq!(added, [("COLOUR", "red")]);
}

#[test]
fn cfg_05_codex_toml() {
    let text = r#"
        model = "any"
        [mcp_servers.manual]
        command = "manual-server"
        args = ["--calm"]
        env = { LEVEL = "1" }
        startup_timeout_sec = 25
        tool_timeout_sec = 90.5
        enabled_tools = ["read_*"]
        disabled_tools = ["read_all"]
        [mcp_servers.far]
        url = "https://far.example/mcp"
        bearer_token_env_var = "FAR_TOKEN"
        http_headers = { "X-Room" = "7" }
        env_http_headers = { "X-Trail" = "TRAIL" }
        [mcp_servers.idle]
        command = "idle"
        enabled = false
        [mcp_servers.half]
        startup_timeout_sec = 60
    "#;
    for hint in [None, Some(Client::Codex)] {
        let imported = import(text, hint);
        assert_eq!(names(&imported), ["far", "idle", "manual"]);
        assert_eq!(warned(&imported), ["half"]);
        let manual = &imported.servers["manual"];
        assert_eq!(
            (manual.start_timeout_ms, manual.call_timeout_ms),
            (25_000, 90_500)
        );
        let expected = (Some(vec!["read_*".to_owned()]), vec!["read_all".to_owned()]);
        assert_eq!(
            (manual.tools.allow.clone(), manual.tools.deny.clone()),
            expected
        );
        assert_eq!(
            imported.servers["idle"].resolve(&unset),
            ServerState::Disabled
        );

        let far = &imported.servers["far"];
        assert!(matches!(
            far.resolve(&unset),
            ServerState::NeedsConfiguration(_)
        ));
        let environment = |name: &str| Some(format!("<{name}>"));
        let Endpoint::Http { headers, .. } = endpoint(far, &environment) else {
            panic!("an address")
        };
        let sent: Vec<_> = headers
            .iter()
            .map(|(name, value)| (name.as_str(), value.expose()))
            .collect();
        let expected = [
            ("Authorization", "Bearer <FAR_TOKEN>"),
            ("X-Room", "7"),
            ("X-Trail", "<TRAIL>"),
        ];
        assert_eq!(sent, expected);
        let shown = format!("{:?} {:?}", far, far.resolve(&environment));
        assert!(!shown.contains("<FAR_TOKEN>"), "{shown}");
    }
}

#[test]
fn cfg_07_nested_servers_and_tool_search_in_one_file() {
    let imported = import(
        "{
          // a host's own file
          mcp: { servers: {
            rain: { command: 'rain-mcp', args: ['--pipe'], env: { KEY: '${RAIN_KEY}' }, },
            shop: { transport: 'streamable-http', url: 'http://127.0.0.1:4801/mcp',
                    headers: { Authorization: 'Bearer ${SHOP}' } },
            bare: { url: 'http://127.0.0.1:4802/mcp', toolFilter: { include: ['get_*'] } },
          } },
          tools: { toolSearch: { mode: 'directory', maxSearchLimit: 30 } },
        }",
        None,
    );
    assert_eq!(names(&imported), ["bare", "rain", "shop"]);
    assert_eq!(imported.warnings, []);
    assert!(is_streamable(&imported.servers["bare"]));
    let filter = ToolFilter {
        allow: Some(vec!["get_*".to_owned()]),
        deny: Vec::new(),
    };
    assert_eq!(imported.servers["bare"].tools, filter);
    let options = imported.tool_search.expect("tool search").options();
    assert_eq!(
        (options.mode, options.max_search_limit),
        (Some(SearchMode::Directory), Some(30))
    );
}

#[test]
fn cfg_08_a_windows_file_with_mark_line_ends_and_backslashes() {
    let text = concat!(
        "\u{feff}{\r\n \"mcpServers\": {\r\n",
        "  \"disk\": {\"command\": \"C:\\\\Apps\\\\node.exe\", \"args\": [\"E:\\\\x y\\\\i.js\", \"E:\\\\\"],\r\n",
        "   \"env\": {\"LOCAL\": \"C:\\\\U\\\\Local\"}},\r\n",
        "  \"shell\": {\"command\": \"cmd\", \"args\": [\"/c\", \"npx\", \"demo\"]},\r\n",
        "  \"odd\": {\"command\": \"npx\", \"args\": [\"demo\", \"x&y\"]}\r\n }\r\n}\r\n",
    );
    let imported = import(text, Some(Client::ClaudeDesktop));
    assert_eq!(names(&imported), ["disk", "odd", "shell"]);
    assert_eq!(imported.warnings, []);
    let disk = &imported.servers["disk"];
    assert_eq!(disk.command.as_deref(), Some("C:\\Apps\\node.exe"));
    assert_eq!(disk.args, ["E:\\x y\\i.js", "E:\\"]);
    assert_eq!(disk.env["LOCAL"].expose(), "C:\\U\\Local");
    assert_eq!(imported.servers["odd"].args, ["demo", "x&y"]);
}

#[test]
fn cfg_09_every_spelling_of_a_transport() {
    let text = r#"{"mcpServers": {
        "a": {"type": "http", "url": "http://x/a"},
        "b": {"type": "streamable-http", "url": "http://x/b"},
        "c": {"type": "streamableHttp", "url": "http://x/c", "disabled": false, "autoApprove": ["q"]},
        "d": {"transport": "streamable_http", "url": "http://x/d"},
        "e": {"httpUrl": "http://x/e", "timeout": 7000},
        "f": {"serverUrl": "http://x/f"},
        "g": {"url": "http://x/g"},
        "h": {"type": "sse", "url": "http://x/h"},
        "i": {"type": "websocket", "url": "ws://x/i"}
    }}"#;
    let imported = import(text, None);
    assert_eq!(names(&imported), ["a", "b", "c", "d", "e", "f", "g", "h"]);
    for (name, server) in &imported.servers {
        assert_eq!(is_streamable(server), name != "h", "{name}");
    }
    assert_eq!(warned(&imported), ["i"]);
    assert!(
        imported.warnings[0]
            .to_string()
            .contains("unknown transport \"websocket\"")
    );
    assert_eq!(imported.servers["e"].call_timeout_ms, 7_000);

    let gemini = import(text, Some(Client::Gemini));
    assert!(
        !is_streamable(&gemini.servers["g"]),
        "an address under `url` is SSE there"
    );
    assert!(is_streamable(&gemini.servers["e"]));
}

#[test]
fn cfg_11_keys_of_other_programs_are_read_and_told() {
    let imported = import(
        r#"{"mcpServers": {"slow": {"transport": "stdio", "cmd": "slow",
            "environment": {"WAIT_MS": 9000}, "arguments": ["--y"], "colour": 1, "urll": "x"}}}"#,
        None,
    );
    let slow = &imported.servers["slow"];
    assert_eq!(slow.command.as_deref(), Some("slow"));
    assert_eq!(slow.env["WAIT_MS"].expose(), "9000");
    assert_eq!(slow.args, ["--y"]);
    let told: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    for words in [
        "server `slow`: key `environment` is read as `env`",
        "key `arguments` is read as `args`",
        "key `cmd` is read as `command`",
        "unknown key `colour` is ignored",
        "unknown key `urll` is ignored; did you mean `url`?",
    ] {
        assert_eq!(
            told.iter().filter(|line| line.contains(words)).count(),
            1,
            "{words}: {told:?}"
        );
    }
}

#[test]
fn cfg_12_a_disabled_server_is_kept() {
    let imported = import(
        r#"{"mcpServers": {"paint": {"command": "paint", "disabled": true}, "memo": {"command": "memo"}}}"#,
        None,
    );
    assert_eq!(names(&imported), ["memo", "paint"]);
    assert_eq!(
        imported.servers["paint"].resolve(&unset),
        ServerState::Disabled
    );
}

#[test]
fn one_bad_entry_costs_itself_and_one_warning() {
    let check = |entry: &str, words: &str| {
        let text = format!(r#"{{"mcpServers": {{"bad": {entry}, "good": {{"command": "g"}}}}}}"#);
        let imported = import(&text, None);
        assert_eq!(names(&imported), ["good"], "{entry}");
        assert_eq!(warned(&imported), ["bad"], "{entry}");
        let told = imported.warnings[0].to_string();
        assert!(told.contains(words), "{entry}: {told}");
    };
    check("1", "is no object");
    check("{}", "neither `command` nor `url`");
    check(r#"{"command": 1}"#, "`command` takes a string");
    check(r#"{"command": []}"#, "empty list");
    check(r#"{"command": "c", "args": "x"}"#, "`args` takes a list");
    check(
        r#"{"command": "c", "env": {"A": {}}}"#,
        "`env.A` takes strings",
    );
    check(
        r#"{"command": "c", "url": "http://h"}"#,
        "both `command` and `url`",
    );
    check(r#"{"command": "c", "type": "http"}"#, "`url` is missing");
    check(
        r#"{"url": "http://h", "type": "stdio"}"#,
        "`command` is missing",
    );
    check(r#"{"url": "ftp://h"}"#, "http://");
    check(
        r#"{"command": "c", "timeout": "soon"}"#,
        "`timeout` takes a positive number",
    );
    check(r#"{"command": "c", "disabled": "no"}"#, "true or false");
}

#[test]
fn other_shapes_are_read() {
    let check = |text: &str, hint, expected: &[&str]| {
        assert_eq!(names(&import(text, hint)), expected, "{text}");
    };
    check(
        r#"{"mcpServers": [{"name": "a", "command": "c"}]}"#,
        None,
        &["a"],
    );
    check(
        r#"{"a": {"command": "c"}, "b": {"url": "http://h"}}"#,
        None,
        &["a", "b"],
    );
    check(
        r#"{"mcp": {"servers": {"a": {"command": "c"}}}, "editor.x": 1}"#,
        None,
        &["a"],
    );
    let words = import(
        r#"{"mcpServers": {"a": {"command": ["npx", "-y"], "args": ["x"]}}}"#,
        None,
    );
    assert_eq!(words.servers["a"].args, ["-y", "x"]);
    let cline = r#"{"mcpServers": {"a": {"command": "c", "timeout": 1800}}}"#;
    assert_eq!(
        import(cline, Some(Client::Cline)).servers["a"].call_timeout_ms,
        1_800_000
    );
    assert_eq!(
        import(cline, Some(Client::Gemini)).servers["a"].call_timeout_ms,
        1_800
    );
    let none = import("{\"theme\": \"dark\"}", None);
    assert!(none.servers.is_empty() && none.warnings[0].message.contains("no servers found"));
    let lost = import(
        r#"{"mcpServers": {"a": {"command": "c", "envFile": ".env"}}}"#,
        None,
    );
    assert_eq!(warned(&lost), ["a"]);
}

#[test]
fn what_is_neither_json_nor_toml_says_where() {
    assert!(
        read("{\n  x", None)
            .expect_err("json")
            .to_string()
            .starts_with("import:2:")
    );
    let toml = read("[mcp_servers.a]\ncommand = \n", None)
        .expect_err("toml")
        .to_string();
    assert!(toml.starts_with("import:2:"), "{toml}");
    assert!(read(&"[".repeat(100_000), Some(Client::Codex)).is_err());
    assert!(read(&format!("a={}", "[".repeat(100_000)), Some(Client::Codex)).is_err());
}

#[test]
fn an_imported_server_can_be_written_to_our_file_and_read_back() {
    let imported = import(
        r#"{"mcpServers": {
            "a": {"command": "c", "args": ["x"], "env": {"T": "${T:-1}"}, "timeout": 5000,
                  "includeTools": ["r_*"], "excludeTools": ["r_x"], "disabled": true},
            "b": {"type": "sse", "url": "http://h", "headers": {"A": "b"}},
            "c": {"serverUrl": "http://h", "trust": "trusted"}
        }}"#,
        None,
    );
    let mut file = String::new();
    for (name, server) in &imported.servers {
        let path = format!("mcpServers.{name}");
        file = crate::edit::set(&file, &path, &server.to_file_json().to_string()).expect(name);
    }
    let loaded = crate::load_text(&file, "t".as_ref(), &unset).expect("valid");
    for (name, server) in &imported.servers {
        let mut expected = server.clone();
        if name != "b" {
            expected.transport = None;
        }
        assert_eq!(
            loaded.settings.mcp_servers[name].definition, expected,
            "{name}"
        );
    }
    assert_eq!(imported.servers["b"].transport, Some(Transport::Sse));
    assert!(!file.contains("\"type\""), "{file}");
}

#[test]
fn file_names_tell_the_program() {
    let check =
        |path: &str, expected| assert_eq!(Client::from_path(path.as_ref()), expected, "{path}");
    check("/h/.codex/config.toml", Some(Client::Codex));
    check("/h/.gemini/settings.json", Some(Client::Gemini));
    check("/p/.vscode/mcp.json", Some(Client::VsCode));
    check("/p/.cursor/mcp.json", Some(Client::Cursor));
    check("/p/.mcp.json", Some(Client::ClaudeCode));
    check("/p/settings.json", None);
}
