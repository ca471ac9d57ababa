//! What is taken out, and where it comes back.

use serde_json::json;

use super::*;

fn picture(data: &str) -> Value {
    json!({ "type": "image", "mimeType": "image/png", "data": data })
}

#[test]
fn data_is_named_given_on_and_attached() {
    let mut attachments = Attachments::default();
    let file = json!({ "type": "resource", "resource": { "uri": "x:y", "blob": "RklMRQ==" } });
    let mut result =
        json!({ "content": [{ "type": "text", "text": "hi" }, picture("UE5H"), file] });
    attachments.take(&mut result);
    let shown = result.to_string();
    assert!(
        !shown.contains("UE5H") && !shown.contains("RklMRQ=="),
        "{shown}"
    );
    assert_eq!(result["content"][0]["text"], "hi");

    let name = result["content"][1]["data"].clone();
    let mut arguments = json!({ "files": [{ "base64": name }], "note": format!("see {name}") });
    attachments.restore(&mut arguments);
    assert_eq!(arguments["files"][0]["base64"], "UE5H");
    assert!(
        arguments["note"]
            .as_str()
            .is_some_and(|note| note.contains("attachment:"))
    );

    let value = json!([result["content"][2], { "shot": result["content"][1] }, name]);
    assert_eq!(attachments.named_in(&value), [file, picture("UE5H")]);
    assert_eq!(
        attachments.named_in(&json!("attachment:1:0")),
        [] as [Block; 0]
    );
}

#[test]
fn too_much_is_left_out() {
    let mut attachments = Attachments::default();
    let large = "A".repeat(MAX_BYTES / 2 + 1);
    let mut result = json!({ "content": [picture(&large), picture(&large), picture("QQ==")] });
    attachments.take(&mut result);
    assert_eq!(result["content"][1]["data"], LEFT_OUT);
    assert_eq!(attachments.named_in(&result).len(), 2);

    let mut many = json!({ "content": vec![picture("QQ=="); 2 * MAX_BLOCKS] });
    attachments.take(&mut many);
    assert_eq!(attachments.kept.len(), MAX_BLOCKS);
    assert_eq!(attachments.named_in(&many).len(), MAX_ATTACHED);
}
