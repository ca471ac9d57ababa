//! What is a message and what is junk.

use serde_json::{Value, json};

use super::{cut_answer, parse};

fn check(line: &str, expected: Option<Value>) {
    let expected = expected.map(|messages| messages.as_array().expect("a list").clone());
    assert_eq!(parse(line.as_bytes()), expected, "{line}");
}

#[test]
fn lines_that_are_no_messages_are_told_apart() {
    for junk in [
        "",
        "   ",
        "Listening on 3000",
        "[1,2]",
        "[]",
        "{broken",
        "17",
        r#"{"level":"info","msg":"hello"}"#,
        r#"{"method":"GET","path":"/x"}"#,
        r#"{"error":"disk full"}"#,
        r#"{"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","method":7}"#,
    ] {
        check(junk, None);
    }
}

#[test]
fn messages_are_read_leniently() {
    let ping = json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" });
    let answer = json!({ "id": 1, "result": null });
    check(&format!("\u{feff} {ping} \r"), Some(json!([ping])));
    check(&answer.to_string(), Some(json!([answer])));
    check(
        &json!([ping, answer]).to_string(),
        Some(json!([ping, answer])),
    );
    let broken = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":\"a\xffb\"}";
    let read = parse(broken).expect("only a character is lost");
    assert_eq!(read[0]["result"], "a\u{fffd}b");
}

#[test]
fn too_deep_an_answer_becomes_an_error_for_its_caller() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let line = format!(r#"{{"jsonrpc":"2.0","id":9,"result":{{"content":{deep}}}}}"#);
    let read = parse(line.as_bytes()).expect("the id can be read");
    assert_eq!(read[0]["id"], 9);
    assert!(read[0]["error"]["message"].is_string());
}

#[test]
fn a_cut_answer_names_its_request_when_that_comes_first() {
    for (beginning, id) in [
        (r#"{"jsonrpc":"2.0","id":17,"result":{"con"#, Some(17)),
        (r#" { "jsonrpc" : "2.0" , "id" : 3 , "res"#, Some(3)),
        (r#"{"id":4,"jsonrpc":"2.0","result":"#, Some(4)),
        (r#"{"result":{"id":5,"#, None),
        (r#"{"jsonrpc":"2.0","method":"x","id":5,"#, None),
        (r#"{"jsonrpc":"2.0","id":"x","#, None),
        (r#"{"jsonrpc":"2.0","id":12"#, None),
        ("xxx", None),
    ] {
        assert_eq!(cut_answer(beginning.as_bytes()), id, "{beginning}");
    }
}
