//! Results cross as they are.

use serde_json::{Value, json};
use toolsearch_catalog::{Source, ToolDescriptor};

use crate::world::{INLINE, Wired, answering, tool};

/// Calls the tool in every mode that reaches it, and gives the result if all are equal.
async fn everywhere(tool: &ToolDescriptor) -> Value {
    let mut results = Vec::new();
    for mode in ["direct", "tools", "directory"] {
        let mut wired = Wired::open(mode, vec![tool.clone()]).await;
        results.push(match mode {
            "direct" => wired.result(&tool.name, json!({})).await,
            _ => wired.result("tool_call", json!({ "id": tool.name })).await,
        });
    }
    assert_eq!(results[0], results[1]);
    assert_eq!(results[0], results[2]);
    results.remove(0)
}

async fn check(answer: &str, expected: Value) {
    let mut result = everywhere(&answering("target", answer)).await;
    let meta = result["_meta"]
        .as_object_mut()
        .expect("says which tool it was");
    let tool = meta
        .remove("toolsearch/tool")
        .expect("says which tool it was");
    assert_eq!(tool["id"], "native:demo:target");
    if meta.is_empty() {
        result.as_object_mut().unwrap().remove("_meta");
    }
    assert_eq!(result, expected, "{answer}");
}

#[tokio::test]
async fn images_and_audio_stay_blocks_in_their_order() {
    let content = json!([
        { "type": "text", "text": "a picture" },
        { "type": "image", "data": "R0lGODlhAQABAAAAACw=", "mimeType": "image/gif" },
        { "type": "audio", "data": "T2dnUwACAAAAAA==", "mimeType": "audio/ogg" },
        { "type": "text", "text": "after it" },
    ]);
    let expected = json!({ "content": content, "isError": false });
    check(&json!({ "content": content }).to_string(), expected).await;
}

#[tokio::test]
async fn unknown_blocks_further_fields_and_meta_are_kept() {
    let content = json!([
        { "type": "text", "text": "fine", "x-later": [1, { "a": null }] },
        { "type": "hologram", "uri": "x:1", "depth": 3 },
        { "type": "resource_link", "uri": "file:///a", "name": "a", "icons": [] },
    ]);
    let meta = json!({ "example.org/trace": { "n": 1 } });
    let answer = json!({ "resultType": "complete", "content": content, "_meta": meta });
    let expected = json!({ "content": content, "isError": false, "_meta": meta });
    check(&answer.to_string(), expected).await;
}

#[tokio::test]
async fn a_structured_value_alone_is_also_text_once() {
    let result = everywhere(&answering(
        "target",
        r#"{"content":[],"structuredContent":{"n":5}}"#,
    ))
    .await;
    assert_eq!(result["structuredContent"], json!({ "n": 5 }));
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": r#"{"n":5}"# }])
    );
}

#[tokio::test]
async fn both_kinds_of_result_cross_unchanged() {
    for text in [r#"{"a":1}"#, "There is one a."] {
        let answer = json!({
            "content": [{ "type": "text", "text": text }],
            "structuredContent": { "a": 1 },
            "isError": false,
        });
        check(&answer.to_string(), answer.clone()).await;
    }
    let failed = json!({ "content": [{ "type": "text", "text": "no" }], "isError": true });
    check(&failed.to_string(), failed.clone()).await;
}

#[tokio::test]
async fn a_declared_output_schema_is_no_promise_of_the_gateway() {
    let mut tool = answering(
        "target",
        r#"{"content":[{"type":"text","text":"{\"name\":\"x\"}"}]}"#,
    );
    let schema = json!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    tool.output_schema = Some(schema.into());
    for mode in ["direct", "tools", "directory"] {
        let mut wired = Wired::open(mode, vec![tool.clone()]).await;
        for entry in wired.list().await {
            assert_eq!(entry.get("outputSchema"), None, "{entry}");
        }
    }
    let result = everywhere(&tool).await;
    assert_eq!(result["isError"], false);
    assert_eq!(result["content"][0]["text"], r#"{"name":"x"}"#);
}

/// Clients of the handshake era refuse a whole result when its structured value is no object.
#[tokio::test]
async fn a_list_as_structured_value_is_text_where_clients_would_refuse_it() {
    let tool = answering("target", r#"{"structuredContent":["a",2]}"#);
    let other = answering(
        "spoken",
        r#"{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2]}"#,
    );
    let mut wired = Wired::open("direct", vec![tool.clone(), other]).await;
    let result = wired.result("target", json!({})).await;
    assert_eq!(result.get("structuredContent"), None);
    assert_eq!(
        result["content"],
        json!([{ "type": "text", "text": r#"["a",2]"# }])
    );
    let result = wired.result("spoken", json!({})).await;
    assert_eq!(result["content"][0]["text"], "two");
    assert_eq!(result["content"][1]["text"], "[1,2]");

    let mut wired = Wired::raw("direct", vec![tool]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": INLINE,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let answer = wired
        .ask(1, "tools/call", json!({ "name": "target", "_meta": meta }))
        .await;
    assert_eq!(answer["result"]["structuredContent"], json!(["a", 2]));
}

#[tokio::test]
async fn numbers_keep_their_digits_both_ways() {
    let digits = r#"{"id":9007199254740993123,"big":123456789012345678901234567890,"f":1.0,"e":1e+400,"neg":-0.0}"#;
    let answer = format!(
        r#"{{"content":[{{"type":"text","text":"numbers","n":{digits}}}],"structuredContent":{digits},"_meta":{{"n":{digits}}}}}"#
    );
    for mode in ["direct", "tools", "directory"] {
        let mut wired = Wired::open(mode, vec![tool("echo"), answering("target", &answer)]).await;
        let (echo, target) = match mode {
            "direct" => (
                format!(r#"{{"name":"echo","arguments":{digits}}}"#),
                r#"{"name":"target"}"#.to_owned(),
            ),
            _ => (
                format!(r#"{{"name":"tool_call","arguments":{{"id":"echo","args":{digits}}}}}"#),
                r#"{"name":"tool_call","arguments":{"id":"target"}}"#.to_owned(),
            ),
        };
        for (id, params, times) in [(1, echo, 1), (2, target, 3)] {
            wired
                .write(&format!(
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{params}}}"#
                ))
                .await;
            let line = wired.line().await.unwrap();
            assert_eq!(line.matches(digits).count(), times, "{mode}: {line}");
        }
        let (_, arguments) = &wired.received()[0];
        assert_eq!(Value::Object(arguments.clone()).to_string(), digits);
    }
}

#[tokio::test]
async fn a_tool_of_the_client_is_left_to_the_client() {
    let client = ToolDescriptor::new(
        Source::Client,
        "client",
        "pick_colour",
        json!({ "type": "object" }),
    );
    let mut wired = Wired::open("tools", vec![client.unwrap(), tool("echo")]).await;
    let result = wired
        .result("tool_call", json!({ "id": "pick_colour", "args": {} }))
        .await;
    assert_eq!(result["isError"], true);
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("client:client:pick_colour"), "{text}");
}
