//! The whole way from text to settings, through the public functions.

use proptest::prelude::*;

use super::*;

fn environment(name: &str) -> Option<String> {
    let known = [
        ("TOKEN", "t0ps3cret"),
        ("BASE", "/opt/base"),
        ("BLANK", ""),
        ("LOOP", "${TOKEN}"),
    ];
    known
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, value)| (*value).to_owned())
}

fn loaded(text: &str) -> Loaded {
    match load_text(text, "toolsearch.json5".as_ref(), &environment) {
        Ok(loaded) => loaded,
        Err(error) => panic!("{text}: {error}"),
    }
}

fn settings(text: &str) -> Settings {
    loaded(text).settings
}

fn warnings(text: &str) -> Vec<String> {
    loaded(text)
        .warnings
        .iter()
        .map(ToString::to_string)
        .collect()
}

fn resolved(tool_search: &str) -> Resolved {
    let settings = settings(&format!("{{tools: {{toolSearch: {tool_search}}}}}"));
    settings.tools.tool_search.resolve(1_000, 1_000_000)
}

#[test]
fn the_documented_file_is_read() {
    let loaded = loaded(
        r#"{
          tools: {
            toolSearch: {
              mode: "tools", engine: "quickjs", codeTimeoutMs: 2000, searchDefaultLimit: 5,
              maxSearchLimit: 10, alwaysVisible: ["native:core:*"],
              controlNames: { call: "run_tool" },
            },
            profile: "full", allow: ["*"], deny: [], ask: ["mcp:*:delete_*"],
            byProvider: { "openai/gpt-5": { deny: ["group:runtime"] } },
            groups: { "group:tickets": ["mcp:github:*issue*"] },
          },
          agents: { defaults: {}, list: [
            { id: "support", tools: { allow: ["group:tickets"] }, toolSearch: { mode: "directory" } },
          ] },
          mcpServers: {
            github: { command: "npx", args: ["-y", "gh"], env: { TOKEN: "${TOKEN}" } },
            docs: { url: "https://d.example/mcp", headers: {}, trust: "trusted", catalogMode: "direct-only" },
          },
          plugins: ["./plugins/*"], hooks: {}, approvals: {}, telemetry: {}, store: {},
          providers: {
            openai: { dialects: ["openai-chat", "openai-responses"], baseUrl: "https://o.example/v1",
                      apiKey: "${TOKEN}", contextTokens: 200000 },
          },
          gateway: {
            listen: "127.0.0.1:7000",
            auth: { tokens: [{ name: "ci", agent: "support",
              sha256: "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }] },
            limits: { sessions: 5 },
          },
        }"#,
    );
    assert_eq!(loaded.warnings, []);
    assert_eq!(loaded.origin.as_deref(), Some("toolsearch.json5".as_ref()));
    let settings = loaded.settings;
    assert_eq!(
        settings.tools.by_provider["openai/gpt-5"].deny,
        ["group:runtime"]
    );
    assert_eq!(settings.tools.by_provider["openai/gpt-5"].allow, None);
    assert_eq!(
        settings.tools.groups["group:tickets"],
        ["mcp:github:*issue*"]
    );
    assert_eq!(
        settings.mcp_servers["docs"].definition.trust,
        ServerTrust::Trusted
    );
    assert_eq!(
        settings.mcp_servers["docs"].definition.catalog_mode,
        ServerCatalogMode::DirectOnly
    );
    assert_eq!(
        settings.providers["openai"].dialects,
        [Dialect::OpenaiChat, Dialect::OpenaiResponses]
    );
    assert_eq!(
        settings.gateway.auth.tokens[0].agent.as_deref(),
        Some("support")
    );
    assert_eq!(
        (
            settings.gateway.limits.sessions,
            settings.gateway.limits.body_bytes
        ),
        (5, 16_777_216)
    );
    assert_eq!(settings.approvals.timeout_ms, 120_000);
    let effective = settings
        .effective(Some("support"), &Overrides::default())
        .expect("support");
    assert_eq!(effective.control_names.value.call, "run_tool");
    assert_eq!(effective.control_names.value.search, "tool_search");
}

#[test]
fn an_empty_file_is_the_defaults() {
    for text in ["", "// nothing", "{}"] {
        assert_eq!(settings(text), Settings::default(), "{text}");
    }
    assert_eq!(Loaded::defaults().settings, Settings::default());
}

#[test]
fn switching_on_and_off() {
    let check = |text: &str, enabled: bool| assert_eq!(resolved(text).enabled, enabled, "{text}");
    check("true", true);
    check("false", false);
    check("{}", false);
    check("{mode: 'tools'}", true);
    check("{maxSearchLimit: 3}", true);
    check("{enabled: true}", true);
    check("{enabled: false, mode: 'tools'}", false);
    // A value that had to be replaced was still given.
    check("{enabled: true, codeTimeoutMs: -1}", true);
}

#[test]
fn ctx_04_small_catalogs_are_shown_unless_a_mode_was_asked_for() {
    let automatic = ToolSearchSetting::default();
    let check = |tools, bytes, enabled| {
        let resolved = automatic.resolve(tools, bytes);
        assert_eq!(resolved.enabled, enabled, "{tools} tools, {bytes} bytes");
        assert!(
            resolved
                .why
                .contains(&format!("{tools} tools with {bytes} bytes")),
            "{}",
            resolved.why
        );
    };
    check(3, 180, false);
    check(0, 0, false);
    check(10, 4_000, false);
    check(11, 4_000, true);
    check(10, 4_001, true);
    let explicit = settings("{tools: {toolSearch: {mode: 'tools'}}}")
        .tools
        .tool_search
        .resolve(3, 180);
    assert!(explicit.enabled);
    assert_eq!(
        (explicit.mode, explicit.why.as_str()),
        (SearchMode::Tools, "switched on by file")
    );
    let forced = Overrides {
        mode: Some(SearchMode::Code),
        ..Overrides::default()
    };
    let effective = Settings::default()
        .effective(None, &forced)
        .expect("no agent");
    assert_eq!(effective.resolve(3, 180).why, "switched on by command line");
}

#[test]
fn numbers_are_cut_or_replaced_and_told() {
    let check = |text: &str, expected: [u64; 3], told: &[&str]| {
        let found = resolved(text);
        let numbers = [
            found.code_timeout_ms,
            found.max_search_limit as u64,
            found.search_default_limit as u64,
        ];
        assert_eq!(numbers, expected, "{text}");
        let warnings = warnings(&format!("{{tools: {{toolSearch: {text}}}}}"));
        assert_eq!(warnings.len(), told.len(), "{text}: {warnings:?}");
        for (warning, told) in warnings.iter().zip(told) {
            assert!(warning.contains(told), "{text}: {warning}");
        }
    };
    check("true", [10_000, 20, 8], &[]);
    check(
        "{codeTimeoutMs: 999}",
        [1_000, 20, 8],
        &["codeTimeoutMs: must be 1000 to 60000; 1000 is used"],
    );
    check(
        "{codeTimeoutMs: 60001}",
        [60_000, 20, 8],
        &["60000 is used"],
    );
    check(
        "{codeTimeoutMs: 1e300}",
        [60_000, 20, 8],
        &["60000 is used"],
    );
    check("{codeTimeoutMs: 2e3}", [2_000, 20, 8], &[]);
    check(
        "{maxSearchLimit: 51}",
        [10_000, 50, 8],
        &["must be 1 to 50"],
    );
    check("{maxSearchLimit: 5}", [10_000, 5, 5], &[]);
    check(
        "{maxSearchLimit: 5, searchDefaultLimit: 7}",
        [10_000, 5, 5],
        &[],
    );
    check("{searchDefaultLimit: 30}", [10_000, 20, 20], &[]);
    for bad in [
        "0",
        "-5",
        "1.5",
        "'fast'",
        "null",
        "true",
        "NaN",
        "Infinity",
        "-Infinity",
    ] {
        let text = format!("{{mode: 'code', codeTimeoutMs: {bad}}}");
        check(
            &text,
            [10_000, 20, 8],
            &["expected a positive whole number; 10000 is used instead"],
        );
    }
    assert_eq!(resolved("{likelySchemas: 0}").likely_schemas, 0);
    assert_eq!(resolved("{likelySchemas: 13}").likely_schemas, 12);
    assert_eq!(resolved("{likelySchemas: -1}").likely_schemas, 4);
}

const LAYERS: &str = "{
  tools: { toolSearch: {
    mode: 'code', codeTimeoutMs: 3000, maxSearchLimit: 40, alwaysVisible: ['a'],
  } },
  agents: {
    defaults: { toolSearch: { codeTimeoutMs: 4000, searchDefaultLimit: 30 } },
    list: [
      { id: 'narrow', toolSearch: { mode: 'tools', maxSearchLimit: 10 } },
      { id: 'off', toolSearch: false },
      { id: 'plain' },
    ],
  },
}";

#[test]
fn the_nearest_place_wins_value_by_value() {
    let flags = Overrides {
        mode: Some(SearchMode::Directory),
        ..Overrides::default()
    };
    let narrow = settings(LAYERS)
        .effective(Some("narrow"), &flags)
        .expect("narrow")
        .to_json();
    let check = |key: &str, value: serde_json::Value, from: &str| {
        assert_eq!(
            narrow[key],
            serde_json::json!({ "value": value, "from": from }),
            "{key}"
        );
    };
    check("enabled", "on".into(), "command line");
    check("mode", "directory".into(), "command line");
    check("maxSearchLimit", 10.into(), "agent narrow");
    check("codeTimeoutMs", 4_000.into(), "agents.defaults");
    check("alwaysVisible", vec!["a"].into(), "file");
    check("hiddenCalls", true.into(), "default");
    // 30 was set in agents.defaults, and cut by what the agent says about the maximum.
    check("searchDefaultLimit", 10.into(), "agent narrow");
}

#[test]
fn an_agent_may_be_off_and_a_flag_may_switch_it_on() {
    let settings = settings(LAYERS);
    let none = Overrides::default();
    let off = settings
        .effective(Some("off"), &none)
        .expect("off")
        .resolve(1_000, 1_000_000);
    assert!(!off.enabled);
    assert_eq!(off.why, "switched off by agent off");
    let flags = Overrides {
        mode: Some(SearchMode::Directory),
        ..Overrides::default()
    };
    assert!(
        settings
            .effective(Some("off"), &flags)
            .expect("off")
            .resolve(1, 1)
            .enabled
    );
    let plain = settings.effective(Some("plain"), &none).expect("plain");
    assert_eq!(plain.switch.from, Origin::AgentDefaults);
    let unknown = settings
        .effective(Some("narow"), &none)
        .expect_err("unknown")
        .to_string();
    assert_eq!(
        unknown,
        "agent `narow` is not in agents.list; known: narrow, off, plain"
    );
}

#[test]
fn the_command_line_is_cut_to_range_too() {
    let flags = Overrides {
        code_timeout_ms: Some(5),
        max_search_limit: Some(900),
        ..Overrides::default()
    };
    let effective = Settings::default()
        .effective(None, &flags)
        .expect("no agent");
    assert_eq!(
        (
            effective.code_timeout_ms.value,
            effective.max_search_limit.value
        ),
        (1_000, 50)
    );
    assert_eq!(
        effective.switch.value,
        Switch::Automatic,
        "a limit switches nothing"
    );
}

#[test]
fn cfg_02_variables_are_filled_in_everywhere_and_once() {
    let settings = settings(
        r#"{mcpServers: {
          far: { type: "http", url: "http://127.0.0.1:${PORT:-9021}/mcp",
                 headers: { Authorization: "Bearer ${TOKEN}", "X-Other": "${env:TOKEN}" } },
          near: { command: "${BASE}/bin/near", cwd: "${env:BASE}",
                  args: ["--in", "${env:BASE}/in", "--cost", "$7", "--form", "$${TOKEN}", "${}"],
                  env: { ONE: "${BLANK:-second}", TWO: "${LOOP}" } },
        }}"#,
    );
    let ServerState::Ready(Endpoint::Http { url, headers, sse }) =
        &settings.mcp_servers["far"].state
    else {
        panic!("{:?}", settings.mcp_servers["far"])
    };
    assert_eq!((url.expose(), sse), ("http://127.0.0.1:9021/mcp", &false));
    assert_eq!(headers["Authorization"].expose(), "Bearer t0ps3cret");
    assert_eq!(headers["X-Other"].expose(), "t0ps3cret");
    let ServerState::Ready(Endpoint::Stdio {
        command,
        args,
        env,
        cwd,
    }) = &settings.mcp_servers["near"].state
    else {
        panic!("{:?}", settings.mcp_servers["near"])
    };
    assert_eq!(command.expose(), "/opt/base/bin/near");
    assert_eq!(cwd.as_ref().map(Expanded::expose), Some("/opt/base"));
    let args: Vec<&str> = args.iter().map(Expanded::expose).collect();
    assert_eq!(
        args,
        [
            "--in",
            "/opt/base/in",
            "--cost",
            "$7",
            "--form",
            "$${TOKEN}",
            "${}"
        ]
    );
    assert_eq!(
        (env["ONE"].expose(), env["TWO"].expose()),
        ("second", "${TOKEN}")
    );
}

#[test]
fn an_unset_variable_costs_its_server_alone() {
    let text = "{mcpServers: {\n a: { command: 'a', env: { 'KEY.1': '${MISSING}' } },\n b: { url: '${NOWHERE}/mcp' },\n c: { command: 'c', args: ['x', '${MISSING}'] },\n d: { command: 'd' } },\n providers: { p: { dialects: ['openai-chat'], baseUrl: 'http://h', apiKey: '${MISSING}' } } }";
    let loaded = loaded(text);
    let state = |name: &str| loaded.settings.mcp_servers[name].state.clone();
    let needs = |name: &str| match state(name) {
        ServerState::NeedsConfiguration(needs) => (needs.variable, needs.field),
        other => panic!("{name}: {other}"),
    };
    assert_eq!(
        needs("a"),
        ("MISSING".to_owned(), "env[\"KEY.1\"]".to_owned())
    );
    assert_eq!(needs("b"), ("NOWHERE".to_owned(), "url".to_owned()));
    assert_eq!(needs("c"), ("MISSING".to_owned(), "args[1]".to_owned()));
    assert!(matches!(state("d"), ServerState::Ready(_)));
    let provider = &loaded.settings.providers["p"];
    assert_eq!(
        provider.needs.as_ref().map(|needs| needs.variable.as_str()),
        Some("MISSING")
    );
    assert_eq!(provider.api_key, None);
    let told: Vec<String> = loaded.warnings.iter().map(ToString::to_string).collect();
    assert!(
        told[0].starts_with(
            "toolsearch.json5:2:37: mcpServers.a.env[\"KEY.1\"]: variable `MISSING` is not set"
        ),
        "{told:?}"
    );
    assert!(told[2].contains("4:33: mcpServers.c.args[1]"), "{told:?}");
    assert!(told[3].contains("providers.p.apiKey"), "{told:?}");
    assert_eq!(
        loaded.settings.unavailable_servers()[1],
        (
            "b",
            "needs configuration: variable `NOWHERE` for `url` is not set".to_owned()
        )
    );
}

#[test]
fn cfg_11_a_wrong_key_names_the_right_one() {
    let text = "{mcpServers: {s: {transport: 'stdio', command: 'c',\n environment: {A: '1'},\n arguments: ['x'],\n cmd: 'y'}}}";
    let error = load_text(text, "my.json5".as_ref(), &environment).expect_err("unknown keys");
    assert_eq!(
        error.to_string(),
        "my.json5:2:2: mcpServers.s.environment: unknown key; did you mean `env`?\n\
         my.json5:3:2: mcpServers.s.arguments: unknown key; did you mean `args`?\n\
         my.json5:4:2: mcpServers.s.cmd: unknown key; did you mean `command`?"
    );
    assert_eq!(error.problems().len(), 3);
}

#[test]
fn cfg_12_a_disabled_server_stays_and_says_so() {
    let text = "{mcpServers: {paint: {command: '${MISSING}', disabled: true}, ink: {url: 'http://i', enabled: false}, memo: {command: 'm'}}}";
    let settings = settings(text);
    assert!(warnings(text).is_empty());
    let disabled = "disabled in the configuration".to_owned();
    assert_eq!(
        settings.unavailable_servers(),
        [("ink", disabled.clone()), ("paint", disabled)]
    );
}

#[test]
fn one_bad_server_is_one_warning() {
    let check = |entry: &str, words: &str| {
        let text = format!("{{mcpServers: {{bad: {entry}, good: {{command: 'g'}}}}}}");
        let loaded = loaded(&text);
        let servers = &loaded.settings.mcp_servers;
        assert!(
            matches!(servers["good"].state, ServerState::Ready(_)),
            "{entry}"
        );
        assert!(
            matches!(servers["bad"].state, ServerState::Invalid { .. }),
            "{entry}"
        );
        assert_eq!(loaded.warnings.len(), 1, "{entry}");
        let warning = &loaded.warnings[0];
        assert_eq!(
            warning.kind,
            ProblemKind::Server {
                name: "bad".to_owned()
            }
        );
        assert!(warning.message.contains(words), "{entry}: {warning}");
    };
    check(
        "1",
        "expected an object, found a number; this server is left out",
    );
    check("{}", "neither `command` nor `url`");
    check("{command: 5}", "expected a string");
    check("{command: ' '}", "`command` is empty");
    check(
        "{command: 'c', url: 'http://h'}",
        "both `command` and `url`",
    );
    check(
        "{command: 'c', type: 'websocket'}",
        "expected one of \"stdio\"",
    );
    check("{type: 'http', command: 'c'}", "`url` is missing");
    check("{url: 'ws://h'}", "must start with http://");
    check("{command: 'c', env: {'A=B': 'x'}}", "`env` has a name");
    check("{command: 'c', args: ['\\0']}", "zero byte");
    // The same entries are refused where a person edits or validates.
    assert!(validate("{mcpServers: {bad: {command: 5}}}", "f").is_err());
}

#[test]
fn spellings_of_transports_are_read() {
    let check = |entry: &str, sse: bool| {
        let settings = settings(&format!(
            "{{mcpServers: {{s: {{url: 'http://h', {entry}}}}}}}"
        ));
        let state = &settings.mcp_servers["s"].state;
        let ServerState::Ready(Endpoint::Http { sse: found, .. }) = state else {
            panic!("{state}")
        };
        assert_eq!(*found, sse, "{entry}");
    };
    check("", false);
    check("type: 'http'", false);
    check("transport: 'streamable-http'", false);
    check("type: 'streamableHttp'", false);
    check("type: 'streamable_http'", false);
    check("type: 'sse'", true);
}

#[test]
fn no_secret_is_printed() {
    let loaded = loaded(
        r#"{
          mcpServers: {
            a: { command: "c", args: ["--token=${TOKEN}"], env: { A: "${TOKEN}", B: "pl4nted" } },
            b: { url: "https://u:${TOKEN}@h/mcp", headers: { Authorization: "Bearer pl4nted" } },
            c: { url: "nohttp://${TOKEN}/mcp" },
            d: { command: "c", env: { A: "pl4nted", B: "${MISSING}" } },
          },
          providers: { p: { dialects: ["openai-chat"], baseUrl: "http://${TOKEN}", apiKey: "pl4nted" } },
        }"#,
    );
    let shown = format!("{loaded:#?} {:?}", loaded.settings.unavailable_servers());
    for secret in ["t0ps3cret", "pl4nted"] {
        assert!(!shown.contains(secret), "{shown}");
    }
    assert!(
        shown.contains("--token=${TOKEN}"),
        "what was written may be shown"
    );
}

#[test]
fn rules_across_keys() {
    let fault = |text: &str| {
        load_text(text, "f".as_ref(), &environment)
            .expect_err(text)
            .to_string()
    };
    assert_eq!(
        fault("{agents: {list: [{id: 'a'},\n {id: 'a'}]}}"),
        "f:2:7: agents.list[1].id: agent `a` stands twice; ids must differ"
    );
    let names = fault("{tools: {toolSearch: {controlNames: {search: 'x', call: 'x'}}}}");
    assert!(
        names.contains("`x` stands for two control tools"),
        "{names}"
    );
    let across = fault(
        "{tools: {toolSearch: {controlNames: {search: 'x'}}},\n agents: {list: [{id: 'a', toolSearch: {controlNames: {code: 'x'}}}]}}",
    );
    assert!(
        across.starts_with("f:2:55: agents.list[0].toolSearch.controlNames"),
        "{across}"
    );
    assert!(
        fault("{tools: {toolSearch: {controlNames: {call: 'a b'}}}}").contains("letters, digits")
    );
}

#[test]
fn a_file_on_disk_is_read_and_missed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("toolsearch.json5");
    let missing = load(&path, &environment).expect_err("missing");
    assert!(matches!(missing, ConfigError::File { .. }));
    write_atomic(&path, "{plugins: ['./p']}").expect("write");
    let loaded = load(&path, &environment).expect("valid");
    assert_eq!(loaded.settings.plugins, ["./p"]);
    assert_eq!(loaded.folder(), Some(folder.path()));
}

proptest! {
    #[test]
    fn no_object_panics(value in crate::json5::tests::any_value(), key in "(tools|agents|mcpServers|hooks|providers|gateway)") {
        let text = serde_json::json!({ key: value }).to_string();
        let _ = load_text(&text, "t".as_ref(), &environment);
        let _ = validate(&text, "t");
        let _ = import::read(&text, None);
    }

    #[test]
    fn parts_of_a_template_are_filled_in_apart(parts in proptest::collection::vec(
        prop_oneof![
            "[a-z {}:-]{1,6}".prop_map(|text| (text.clone(), text)),
            Just(("${TOKEN}".to_owned(), "t0ps3cret".to_owned())),
            Just(("${env:LOOP}".to_owned(), "${TOKEN}".to_owned())),
            "[a-z:$-]{0,6}".prop_map(|text| (format!("${{MISSING:-{text}}}"), text)),
        ],
        0..8,
    )) {
        let template: String = parts.iter().map(|(written, _)| written.as_str()).collect();
        let expected: String = parts.iter().map(|(_, value)| value.as_str()).collect();
        prop_assert_eq!(expand(&template, &environment), Ok(expected));
    }

    #[test]
    fn no_template_panics(template in any::<String>(), likely in "[${}:a-zA-Z_ -]{0,30}") {
        for template in [template, likely] {
            let kept = template.replace('$', "");
            prop_assert_eq!(expand(&kept, &environment), Ok(kept.clone()));
            let _ = expand(&template, &environment);
        }
    }
}
