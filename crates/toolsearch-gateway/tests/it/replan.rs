//! Sessions that are planned anew while a client is connected.

use serde_json::{Value, json};

use crate::world::{INLINE, Step, Wired, tool};

fn is_list_changed(message: &Value) -> bool {
    message["method"] == "notifications/tools/list_changed"
}

#[tokio::test]
async fn a_changed_list_is_announced_and_served() {
    let mut wired = Wired::open("direct", vec![tool("echo")]).await;
    wired.world.now_lists(vec![tool("echo"), tool("later")]);
    assert!(is_list_changed(&wired.next().await));
    assert_eq!(wired.list().await.len(), 2);
    assert_eq!(
        wired.result("later", json!({ "a": 1 })).await["structuredContent"],
        json!({ "a": 1 })
    );
    wired.world.now_lists(vec![tool("later")]);
    assert!(is_list_changed(&wired.next().await));
    assert_eq!(
        wired.result("echo", json!({})).await["isError"],
        true,
        "it is gone"
    );
    wired.is_quiet().await;
}

/// Behind the controls nothing changes that a client could see, unless the number of tools does.
#[tokio::test]
async fn an_equal_list_is_swapped_in_silence() {
    let mut wired = Wired::open("tools", vec![tool("echo")]).await;
    wired.world.now_lists(vec![tool("other")]);
    // The new session is in use once its tool can be called.
    loop {
        let result = wired.result("tool_call", json!({ "id": "other" })).await;
        if result["isError"] == false {
            break;
        }
    }
    wired.is_quiet().await;
    wired.world.now_lists(vec![tool("other"), tool("third")]);
    assert!(is_list_changed(&wired.next().await));
    wired.is_quiet().await;
}

#[tokio::test(start_paused = true)]
async fn a_storm_of_changes_is_one_change() {
    let mut wired = Wired::open("direct", vec![tool("echo")]).await;
    for n in 0..50 {
        wired
            .world
            .now_lists(vec![tool("echo"), tool(&format!("later_{n}"))]);
    }
    assert!(is_list_changed(&wired.next().await));
    wired.world.says_changed();
    wired.world.now_lists(vec![tool("echo"), tool("last")]);
    assert!(is_list_changed(&wired.next().await));
    wired.is_quiet().await;
    let planned = wired.world.opened.lock().unwrap().len();
    assert!(planned <= 4, "planned {planned} times");
}

#[tokio::test]
async fn a_call_ends_in_the_session_that_it_began_in() {
    let mut wired = Wired::open("direct", vec![tool("slow")]).await;
    wired.call("old", "slow", json!({})).await;
    assert_eq!(wired.happened().await, Step::Started("slow".to_owned()));
    wired.world.now_lists(vec![tool("echo")]);
    assert!(is_list_changed(&wired.next().await));
    wired.world.tools.release.notify_one();
    let answer = wired.next().await;
    assert_eq!(
        (&answer["id"], &answer["result"]["content"][0]["text"]),
        (&json!("old"), &json!("released"))
    );
}

#[tokio::test]
async fn since_2026_only_subscribers_are_told() {
    let mut wired = Wired::raw("direct", vec![tool("echo")]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": INLINE,
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let wanted = json!({ "toolsListChanged": true, "promptsListChanged": true });
    let params = json!({ "notifications": wanted, "_meta": meta });
    let acknowledged = wired
        .ask("sub", "subscriptions/listen", params.clone())
        .await;
    assert_eq!(
        acknowledged["method"],
        "notifications/subscriptions/acknowledged"
    );
    assert_eq!(
        acknowledged["params"]["notifications"],
        json!({ "toolsListChanged": true })
    );
    wired.world.now_lists(vec![tool("echo"), tool("later")]);
    let told = wired.next().await;
    assert!(is_list_changed(&told));
    assert_eq!(
        told["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        "sub"
    );
    wired.cancel("sub").await;
    wired.world.now_lists(vec![tool("echo")]);
    let again = wired.ask("again", "subscriptions/listen", params).await;
    assert_eq!(again["method"], "notifications/subscriptions/acknowledged");
    wired.shut().await;
    let mut end = wired.next().await;
    // The second change may come after the second subscription.
    if is_list_changed(&end) {
        end = wired.next().await;
    }
    assert_eq!(
        (&end["id"], &end["result"]["resultType"]),
        (&json!("again"), &json!("complete"))
    );
    assert_eq!(wired.line().await, None);
    assert!(wired.serving.await.unwrap().is_ok());
}
