//! Results as servers give them: what the client of the gateway reads, and what a program gets.

use serde_json::{Value, json};

use super::{bare, tool};
use crate::support::{Gateway, Mode, Upstream, text};

const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAC0lEQVR4nGNgQAYAAA4AATtF0NkAAAAASUVORK5CYII=";

fn studio() -> Upstream {
    let promise = json!({
        "name": "promise",
        "description": "Declares a shape and gives text alone.",
        "inputSchema": { "type": "object" },
        "outputSchema": { "type": "object", "properties": { "title": { "type": "string" } }, "required": ["title"] },
    });
    let kept = json!({
        "name": "kept",
        "description": "Declares a shape and keeps to it.",
        "inputSchema": { "type": "object" },
        "outputSchema": {
            "type": "object",
            "properties": { "rows": { "type": "array", "items": { "type": "object" } } },
            "required": ["rows"],
        },
    });
    let plain = [
        "shoot",
        "only_value",
        "only_list",
        "both_same",
        "both_other",
        "later",
        "fails",
    ];
    let tools = plain.into_iter().map(bare).chain([promise, kept]).collect();
    let recording = json!({ "content": [
        { "type": "text", "text": "taken" },
        { "type": "image", "data": PNG, "mimeType": "image/png" },
        { "type": "audio", "data": "T2dnUwACAAAAAAAAAAA=", "mimeType": "audio/ogg" },
    ] });
    let answers = [
        ("shoot", recording),
        (
            "only_value",
            json!({ "content": [], "structuredContent": { "title": "x", "count": 4 } }),
        ),
        ("only_list", json!({ "structuredContent": ["a", "b"] })),
        ("both_same", said(r#"{"b":2}"#, Some(json!({ "b": 2 })))),
        (
            "both_other",
            said("There are three rows.", Some(json!({ "rows": 3 }))),
        ),
        ("promise", said(r#"{"title":"no structure"}"#, None)),
        (
            "kept",
            said("2 rows", Some(json!({ "rows": [{ "n": 1 }, { "n": 2 }] }))),
        ),
        (
            "later",
            json!({
                "resultType": "complete",
                "content": [
                    { "type": "text", "text": "fine", "since": 2027 },
                    { "type": "scene", "uri": "scene:7", "mimeType": "model/x" },
                ],
                "_meta": { "example.org/trace": "t" },
            }),
        ),
        (
            "fails",
            json!({ "content": [{ "type": "text", "text": "E17: no film" }], "isError": true }),
        ),
    ];
    let upstream = Upstream::new("studio", tools);
    answers
        .into_iter()
        .fold(upstream, |upstream, (name, result)| {
            upstream.answers(name, &result.to_string())
        })
}

fn said(text: &str, structured: Option<Value>) -> Value {
    let mut result = json!({ "content": [{ "type": "text", "text": text }] });
    if let Some(value) = structured {
        result["structuredContent"] = value;
    }
    result
}

/// The result of a tool, which is the same in every mode that calls tools one by one.
fn everywhere(name: &str) -> Value {
    let call = |mode| {
        let mut gateway = Gateway::open(mode, &[studio()]);
        match mode {
            Mode::Tools => gateway.call("tool_call", &json!({ "id": name, "args": {} })),
            _ => gateway.call(name, &json!({})),
        }
    };
    let result = call(Mode::Tools);
    assert_eq!(call(Mode::Directory), result, "{name}");
    assert_eq!(call(Mode::Direct), result, "{name}");
    assert_eq!(
        result["_meta"]["toolsearch/tool"]["id"],
        format!("mcp:studio:{name}")
    );
    result
}

/// What a program gets as the value of a call.
fn value_in_program(call: &str) -> Value {
    let mut gateway = Gateway::open(Mode::Code, &[studio()]);
    let mut report = gateway.run(&format!("return {call};"));
    assert_eq!(report["ok"], true, "{call}: {report}");
    report["value"].take()
}

#[test]
fn res_01_pictures_and_sound_stay_blocks() {
    let result = everywhere("shoot");
    let types: Vec<&str> = result["content"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(types, ["text", "image", "audio"]);
    assert_eq!(result["content"][1]["data"], PNG);
    assert_eq!(text(&result), "taken", "no picture is written out as text");
    let value = value_in_program("await tools.callValue('shoot')");
    let kinds: Vec<&str> = value
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["text", "image", "audio"]);
    assert_eq!(value[0]["text"], "taken");
    for block in &value.as_array().unwrap()[1..] {
        let data = block["data"].as_str().unwrap();
        assert!(
            data.starts_with("attachment:"),
            "a reference, no base64: {data}"
        );
    }
}

#[test]
fn res_03_a_value_without_text_is_read_once() {
    let result = everywhere("only_value");
    let value = json!({ "title": "x", "count": 4 });
    assert_eq!(result["structuredContent"], value);
    assert_eq!(result["content"].as_array().unwrap().len(), 1);
    assert_eq!(
        serde_json::from_str::<Value>(&text(&result)).unwrap(),
        value
    );
    assert_eq!(
        value_in_program("await tools.callValue('only_value')"),
        value
    );

    let result = everywhere("only_list");
    assert_eq!(text(&result), r#"["a","b"]"#);
    assert_eq!(
        value_in_program("await tools.callValue('only_list')"),
        json!(["a", "b"])
    );
}

#[test]
fn res_04_text_and_value_cross_side_by_side() {
    for (name, said, value) in [
        ("both_same", r#"{"b":2}"#, json!({ "b": 2 })),
        ("both_other", "There are three rows.", json!({ "rows": 3 })),
    ] {
        let result = everywhere(name);
        assert_eq!(text(&result), said);
        assert_eq!(result["structuredContent"], value);
        assert_eq!(
            value_in_program(&format!("await tools.callValue('{name}')")),
            value
        );
    }
}

#[test]
fn res_05_a_declared_shape_without_a_value() {
    let result = everywhere("promise");
    assert_eq!(result["isError"], false);
    assert_eq!(text(&result), r#"{"title":"no structure"}"#);
    // Trusted servers are held to their word, but text alone breaks none.
    let trusted = studio().with("trust", json!("trusted"));
    let mut gateway = Gateway::open(Mode::Direct, &[trusted]);
    assert_eq!(
        text(&gateway.call("promise", &json!({}))),
        r#"{"title":"no structure"}"#
    );
    for entry in gateway.list() {
        assert_eq!(
            entry.get("outputSchema"),
            None,
            "the gateway promises nothing: {entry}"
        );
    }
}

#[test]
fn res_07_a_value_survives_its_declared_shape() {
    let value = json!({ "rows": [{ "n": 1 }, { "n": 2 }] });
    let result = everywhere("kept");
    assert_eq!(result["structuredContent"], value);
    assert_eq!(result["isError"], false);
    let mut gateway = Gateway::open(Mode::Tools, &[studio().with("trust", json!("trusted"))]);
    assert_eq!(gateway.tool("kept", &json!({}))["structuredContent"], value);
    assert_eq!(
        gateway.describe("kept")["outputSchema"]["required"],
        json!(["rows"])
    );
}

#[test]
fn res_09_a_very_large_result_is_cut_once_and_read_on() {
    let line = |n: u32| format!("Zeile {n} — 雪 ☃ é\n");
    let whole: String = (0..18_000).map(line).collect();
    let upstream = Upstream::new("archive", vec![bare("dump"), bare("rows")])
        .answers("dump", &said(&whole, None).to_string())
        .answers(
            "rows",
            &json!({ "structuredContent": { "rows": vec!["x".repeat(100); 4000] } }).to_string(),
        );
    let mut gateway = Gateway::open(Mode::Tools, &[upstream]);
    let result = gateway.tool("dump", &json!({}));
    let blocks = result["content"].as_array().unwrap();
    let mut read = blocks[0]["text"].as_str().unwrap().to_owned();
    assert!(read.len() <= 64 * 1024 && whole.starts_with(&read));
    let notice = blocks[1]["text"].as_str().unwrap();
    assert!(notice.contains(&whole.len().to_string()), "{notice}");
    assert!(notice.contains("native:toolsearch:result_read"), "{notice}");
    let from = notice.find('{').unwrap();
    let to = notice.rfind('}').unwrap();
    let rest: Value = serde_json::from_str(&notice[from..=to]).unwrap();
    while read.len() < whole.len() {
        let args = json!({ "handle": rest["handle"], "offset": read.len(), "length": 40_000 });
        let part = text(&gateway.tool("native:toolsearch:result_read", &args));
        let (part, _) = part.rsplit_once("\n[").unwrap();
        assert!(!part.is_empty());
        read.push_str(part);
    }
    assert_eq!(read, whole);

    let result = gateway.tool("rows", &json!({}));
    assert!(
        result.to_string().len() < 80_000,
        "{}",
        result.to_string().len()
    );
    assert_eq!(
        result.get("structuredContent"),
        None,
        "never a part of a value"
    );
}

#[test]
fn res_11_blocks_and_fields_of_later_versions() {
    let result = everywhere("later");
    assert_eq!(
        result["content"][0],
        json!({ "type": "text", "text": "fine", "since": 2027 })
    );
    assert_eq!(
        result["content"][1],
        json!({ "type": "scene", "uri": "scene:7", "mimeType": "model/x" })
    );
    assert_eq!(result["_meta"]["example.org/trace"], "t");
    assert_eq!(result["isError"], false);
    assert_eq!(
        value_in_program("(await tools.call('later')).result.content[1].type"),
        "scene"
    );
}

#[test]
fn res_12_a_failure_of_the_tool_is_an_error_with_its_own_words() {
    let result = everywhere("fails");
    assert_eq!(result["isError"], true);
    assert_eq!(text(&result), "E17: no film");
    let caught = value_in_program(
        "await tools.callValue('fails').catch((error) => 'caught ' + error.message)",
    );
    assert!(
        caught.as_str().unwrap().starts_with("caught E17: no film"),
        "{caught}"
    );
}

#[test]
fn res_13_a_program_moves_a_large_value_whole() {
    let rows: Vec<Value> = (0..3500)
        .map(|n| json!({ "n": n, "text": format!("row {n} ").repeat(10) }))
        .collect();
    let page = json!({ "content": [], "structuredContent": { "sheet": { "rows": rows } } });
    assert!(page.to_string().len() > 300_000);
    let store = tool(
        "store_sheet",
        json!({ "type": "object", "properties": { "sheet": { "type": "object" } }, "required": ["sheet"] }),
    );
    let upstream = Upstream::new("sheets", vec![bare("load_sheet"), store])
        .answers("load_sheet", &page.to_string())
        .answers(
            "store_sheet",
            r#"{"content":[{"type":"text","text":"stored"}]}"#,
        );
    let mut gateway = Gateway::open(Mode::Code, &[upstream]);
    let report = gateway.run(
        "const { sheet } = await tools.callValue('load_sheet');
         sheet.rows.push({ n: sheet.rows.length, text: 'last' });
         await tools.call('store_sheet', { sheet });
         return { stored: sheet.rows.length };",
    );
    assert_eq!(report["value"], json!({ "stored": 3501 }), "{report}");
    assert!(
        report.to_string().len() < 2000,
        "only the summary is read: {report}"
    );
    let calls = gateway.received("sheets");
    let stored = calls[1].1["sheet"]["rows"].as_array().unwrap();
    assert_eq!(stored.len(), 3501);
    assert_eq!(stored[..3500], rows);
    assert_eq!(stored[3500], json!({ "n": 3500, "text": "last" }));
}
