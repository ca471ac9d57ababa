//! Calls as models write them: what reaches the server, or what the model is told instead.

use serde_json::{Value, json};

use super::{bare, tool};
use crate::support::{Gateway, Mode, Upstream, text};

const OWNER: &str = "desk";

fn office() -> Vec<Value> {
    let object = |properties: Value, required: Value| json!({ "type": "object", "properties": properties, "required": required });
    let mut open = object(
        json!({ "file": { "type": "string" }, "lines": { "type": "integer" } }),
        json!(["file"]),
    );
    open["additionalProperties"] = json!(false);
    let shell = json!({ "script": { "type": "string" }, "seconds": { "type": "integer" } });
    let relabel = json!({ "id": { "type": "string" }, "name": { "type": "string" } });
    let render = json!({
        "pages": { "type": "integer" },
        "colour": { "type": "boolean" },
        "scale": { "type": "number" },
        "label": { "type": "string" },
        "draft": { "anyOf": [{ "type": "boolean" }, { "type": "null" }] },
    });
    vec![
        tool("open", open),
        tool("shell", object(shell, json!(["script"]))),
        tool("relabel", object(relabel, json!(["id", "name"]))),
        tool("render", object(render, json!([]))),
        tool(
            "look_up",
            object(json!({ "id": { "type": "integer" } }), json!(["id"])),
        ),
        bare("list_zones"),
    ]
}

fn desk(mode: Mode) -> Gateway {
    Gateway::open(mode, &[Upstream::new(OWNER, office())])
}

/// What becomes of a call of `tool_call`.
#[derive(Debug)]
enum Becomes {
    /// The server receives this.
    Call(&'static str, Value),
    /// Nobody receives anything, and the answer mentions all of these.
    Refused(&'static [&'static str]),
}
use Becomes::{Call, Refused};

fn check(cases: &[(Value, Becomes)]) {
    let mut gateway = desk(Mode::Tools);
    let mut before = 0;
    for (arguments, expected) in cases {
        let result = gateway.call("tool_call", arguments);
        let received = gateway.received(OWNER).split_off(before);
        before += received.len();
        match expected {
            Call(name, args) => {
                assert_eq!(result["isError"], false, "{arguments}: {result}");
                assert_eq!(
                    received,
                    [((*name).to_owned(), args.clone())],
                    "{arguments}"
                );
            }
            Refused(mentions) => {
                assert_eq!(result["isError"], true, "{arguments}: {result}");
                assert_eq!(received, [], "{arguments}");
                let text = text(&result);
                for mention in *mentions {
                    assert!(text.contains(mention), "{arguments}: {mention} in {text}");
                }
            }
        }
    }
}

#[test]
fn arg_01_arguments_beside_the_id() {
    check(&[
        (
            json!({ "id": "shell", "script": "make", "seconds": 30 }),
            Call("shell", json!({ "script": "make", "seconds": 30 })),
        ),
        (json!({ "id": "list_zones" }), Call("list_zones", json!({}))),
        // What stands beside full arguments is not dropped without a word.
        (
            json!({ "id": "open", "args": { "file": "a" }, "lines": 3 }),
            Refused(&["lines"]),
        ),
    ]);
}

#[test]
fn arg_02_an_empty_wrapper_beside_arguments() {
    let opened = || Call("open", json!({ "file": "notes.md" }));
    check(&[
        (
            json!({ "id": "open", "args": {}, "file": "notes.md" }),
            opened(),
        ),
        (
            json!({ "id": "open", "input": {}, "file": "notes.md" }),
            opened(),
        ),
        (
            json!({ "id": "open", "arguments": {}, "file": "notes.md" }),
            opened(),
        ),
        (
            json!({ "id": "open", "args": null, "file": "notes.md" }),
            opened(),
        ),
        (
            json!({ "id": "list_zones", "args": {} }),
            Call("list_zones", json!({})),
        ),
    ]);
}

#[test]
fn arg_04_a_target_with_an_id_of_its_own() {
    let relabelled = || Call("relabel", json!({ "id": "b12", "name": "Blue" }));
    check(&[
        (
            json!({ "id": "relabel", "args": { "id": "b12", "name": "Blue" } }),
            relabelled(),
        ),
        (
            json!({ "toolId": "relabel", "id": "b12", "name": "Blue" }),
            relabelled(),
        ),
        // Which of the two is meant cannot be told; `shell` must not run.
        (
            json!({ "id": "relabel", "name": "shell" }),
            Refused(&["args"]),
        ),
    ]);
}

#[test]
fn arg_05_all_arguments_as_text() {
    check(&[
        (
            json!({ "id": "open", "args": r#"{"file": "x"}"# }),
            Call("open", json!({ "file": "x" })),
        ),
        (
            json!({ "id": "open", "args": "```json\n{\"file\": \"x\"}\n```" }),
            Call("open", json!({ "file": "x" })),
        ),
        (
            json!({ "id": "list_zones", "args": " " }),
            Call("list_zones", json!({})),
        ),
        (
            json!({ "id": "open", "args": r#"{"file": "x""# }),
            Refused(&["JSON", "args"]),
        ),
        (
            json!({ "id": "open", "args": "[1, 2]" }),
            Refused(&["object"]),
        ),
        // Text that is read once stays text inside.
        (
            json!({ "id": "open", "args": r#"{"file": "{\"file\": 1}"}"# }),
            Call("open", json!({ "file": r#"{"file": 1}"# })),
        ),
    ]);
}

#[test]
fn arg_07_no_arguments_in_many_spellings() {
    for mode in [Mode::Direct, Mode::Tools, Mode::Directory] {
        let mut gateway = desk(mode);
        let spellings = [r#""""#, r#"" ""#, r#""null""#, r#""{}""#, "null", "{}"];
        for spelling in spellings {
            let params = format!(r#"{{"name":"list_zones","arguments":{spelling}}}"#);
            let answer: Value =
                serde_json::from_str(&gateway.request_text("tools/call", &params)).unwrap();
            assert_eq!(
                answer["result"]["isError"], false,
                "{mode:?} {spelling}: {answer}"
            );
        }
        let nothing = ("list_zones".to_owned(), json!({}));
        assert_eq!(
            gateway.received(OWNER),
            vec![nothing; spellings.len()],
            "{mode:?}"
        );
    }
    // For a search, nothing is not a query; it is told so.
    let mut gateway = desk(Mode::Tools);
    let answer = gateway.request_text("tools/call", r#"{"name":"tool_search","arguments":""}"#);
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert!(text(&answer["result"]).contains("query"), "{answer}");
}

#[test]
fn arg_08_arguments_null_missing_or_a_list() {
    for mode in [Mode::Direct, Mode::Tools] {
        let mut gateway = desk(mode);
        for (id, params) in [
            (json!(901), r#"{"name":"list_zones","arguments":null}"#),
            (json!(902), r#"{"name":"list_zones"}"#),
            (json!("call-3"), r#"{"name":"list_zones","arguments":{}}"#),
        ] {
            let answer = gateway.exchange(&id, "tools/call", Some(params));
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["id"], id);
            assert_eq!(answer["result"]["isError"], false, "{answer}");
        }
        let id = json!("call-4");
        let list = r#"{"name":"list_zones","arguments":[]}"#;
        let answer = gateway.exchange(&id, "tools/call", Some(list));
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!(answer["error"]["code"], -32602, "{answer}");
        assert_eq!(answer["id"], id);
        let nothing = ("list_zones".to_owned(), json!({}));
        assert_eq!(gateway.received(OWNER), vec![nothing; 3], "{mode:?}");
    }
}

#[test]
fn arg_09_numbers_and_switches_as_text() {
    check(&[
        (
            json!({ "id": "render", "args": { "pages": "12", "colour": "true", "scale": "0.75", "label": "7", "draft": "false" } }),
            Call(
                "render",
                json!({ "pages": 12, "colour": true, "scale": 0.75, "label": "7", "draft": false }),
            ),
        ),
        (
            json!({ "id": "render", "args": { "pages": "2.5" } }),
            Refused(&["pages", "integer"]),
        ),
        (
            json!({ "id": "render", "args": { "pages": "many" } }),
            Refused(&["pages", "integer"]),
        ),
    ]);
}

#[test]
fn arg_12_misspelt_and_missing_parameters() {
    check(&[
        (
            json!({ "id": "open", "args": { "file_name": "a" } }),
            Refused(&[
                "missing file",
                "file_name",
                "{ file: string; lines?: integer }",
            ]),
        ),
        (
            json!({ "id": "open", "args": { "file": "a", "line": 3 } }),
            Refused(&["line", "lines"]),
        ),
        (json!({ "id": "shell", "args": {} }), Refused(&["script"])),
    ]);
    // The same mistake is answered in the same words.
    let mut gateway = desk(Mode::Tools);
    let wrong = json!({ "id": "open", "args": { "path": "a" } });
    let first = text(&gateway.call("tool_call", &wrong));
    assert_eq!(text(&gateway.call("tool_call", &wrong)), first);
    // And in every mode nothing happens.
    let mut gateway = desk(Mode::Directory);
    let result = gateway.call("open", &json!({ "file_name": "a" }));
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(gateway.received(OWNER), []);
}

#[test]
fn arg_13_an_id_that_misses_by_a_little() {
    check(&[
        (
            json!({ "id": "list_zone", "args": {} }),
            Refused(&["mcp:desk:list_zones"]),
        ),
        (
            json!({ "id": "lsit_zones", "args": {} }), // typos: keep
            Refused(&["mcp:desk:list_zones"]),
        ),
        (
            json!({ "id": "List_Zones", "args": {} }),
            Call("list_zones", json!({})),
        ),
        (
            json!({ "id": "mcp__desk__list_zones", "args": {} }),
            Call("list_zones", json!({})),
        ),
        (json!({ "id": "  ", "args": {} }), Refused(&["id"])),
        (json!({ "args": { "file": "a" } }), Refused(&["id"])),
        (
            json!({ "id": "paint_the_fence", "args": {} }),
            Refused(&["tool_search"]),
        ),
    ]);
    let mut gateway = desk(Mode::Tools);
    let unknown = gateway.call("tool_call", &json!({ "id": "look_down", "args": {} }));
    let said = text(&unknown);
    let suggested = said.split("Did you mean").nth(1).unwrap_or_default();
    assert!(!suggested.contains("look_down"), "{said}");
}

const DIGITS: &str = r#"{"id":9223372036854775806123,"small":1.0,"tiny":-0.0,"huge":1e+400,"in":[18014398509481985]}"#;

#[test]
fn arg_15_numbers_keep_their_digits() {
    let anything = tool("keep", json!({ "type": "object" }));
    let upstream = Upstream::new(OWNER, vec![anything, bare("answer")]).answers(
        "answer",
        &format!(r#"{{"content":[{{"type":"text","text":"ok"}}],"structuredContent":{DIGITS}}}"#),
    );
    for mode in [Mode::Direct, Mode::Tools, Mode::Directory] {
        let mut gateway = Gateway::open(mode, std::slice::from_ref(&upstream));
        let params = match mode {
            Mode::Direct => format!(r#"{{"name":"keep","arguments":{DIGITS}}}"#),
            _ => format!(r#"{{"name":"tool_call","arguments":{{"id":"keep","args":{DIGITS}}}}}"#),
        };
        gateway.request_text("tools/call", &params);
        let lines = gateway.received_lines(OWNER);
        assert!(
            lines.last().unwrap().contains(DIGITS),
            "{mode:?}: {lines:?}"
        );
        let answer = match mode {
            Mode::Direct => gateway.request_text("tools/call", r#"{"name":"answer"}"#),
            _ => gateway.request_text(
                "tools/call",
                r#"{"name":"tool_call","arguments":{"id":"answer"}}"#,
            ),
        };
        assert!(answer.contains(DIGITS), "{mode:?}: {answer}");
    }
}

#[test]
fn arg_15_a_repair_keeps_digits_too() {
    let mut gateway = desk(Mode::Tools);
    let long = "1152921504606846977";
    let args = format!(
        r#"{{"name":"tool_call","arguments":{{"id":"look_up","args":{{"id":"{long}"}}}}}}"#
    );
    gateway.request_text("tools/call", &args);
    let lines = gateway.received_lines(OWNER);
    assert!(
        lines[0].contains(&format!(r#""arguments":{{"id":{long}}}"#)),
        "{lines:?}"
    );
}

#[test]
fn arg_17_every_spelling_of_one_id() {
    let spellings = [
        "open",
        "desk:open",
        "desk__open",
        "desk.open",
        "desk/open",
        "mcp:desk:open",
        "mcp__desk__open",
        " open ",
        "OPEN",
    ];
    let mut gateway = desk(Mode::Tools);
    for spelling in spellings {
        let described = gateway.describe(spelling);
        assert_eq!(described["id"], "mcp:desk:open", "{spelling}");
        let result = gateway.tool(spelling, &json!({ "file": spelling }));
        assert_eq!(
            result["_meta"]["toolsearch/tool"]["id"], "mcp:desk:open",
            "{spelling}"
        );
    }
    assert_eq!(gateway.received(OWNER).len(), spellings.len());
}
