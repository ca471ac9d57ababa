//! Resources and prompts of several servers, through the gateway.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use toolsearch_gateway::{ClientName, News, Shelf, ShelfError, ShelfEvent, ShelfRequest};

use crate::world::{INLINE, NEWEST, Wired, World, options, tool};

/// A server with one resource, one template and some prompts.
#[derive(Debug)]
struct Books {
    owner: &'static str,
    prompts: &'static [&'static str],
    asked: Arc<Mutex<Vec<ShelfRequest>>>,
}

#[async_trait]
impl Shelf for Books {
    fn owner(&self) -> &str {
        self.owner
    }

    async fn ask(
        &self,
        request: ShelfRequest,
        client: Option<&ClientName>,
        _: Duration,
    ) -> Result<Value, ShelfError> {
        let owner = self.owner;
        let asks = matches!(
            request,
            ShelfRequest::Prompt { .. } | ShelfRequest::Read { .. }
        );
        assert!(client.is_some() || !asks, "{request:?} is for somebody");
        let answer = match request.clone() {
            ShelfRequest::Resources => json!([
                { "uri": "book://one", "name": "one", "x-further": 1.50 },
                { "uri": format!("book://of/{owner}"), "name": "own" },
            ]),
            ShelfRequest::Templates => json!([
                { "uriTemplate": format!("{owner}://page/{{n}}"), "name": "page" },
            ]),
            ShelfRequest::Read { uri } if uri.starts_with("book://of/") || uri.contains("page") => {
                let text = format!("{owner} reads");
                json!({ "contents": [{ "uri": uri, "text": text }], "further": true })
            }
            ShelfRequest::Read { .. } => return Err(ShelfError::refused("no such book")),
            ShelfRequest::Prompts => {
                let named = |name: &&str| json!({ "name": name, "title": "A prompt" });
                self.prompts.iter().map(named).collect()
            }
            ShelfRequest::Prompt { name, arguments } => json!({
                "messages": [{ "role": "user",
                    "content": { "type": "text", "text": format!("{owner} {name} {arguments:?}") } }],
            }),
            ShelfRequest::Complete { params } => json!({ "completion": { "values": [owner] },
                "asked": params }),
            _ => json!({}),
        };
        self.asked.lock().unwrap().push(request);
        Ok(answer)
    }
}

type Asked = Arc<Mutex<Vec<ShelfRequest>>>;

fn world() -> (
    World,
    tokio::sync::mpsc::UnboundedReceiver<crate::world::Step>,
    Asked,
) {
    let (mut world, steps) = World::new("tools", vec![tool("echo")]);
    let asked = Asked::default();
    let books = |owner, prompts| -> Arc<dyn Shelf> {
        let asked = Arc::clone(&asked);
        Arc::new(Books {
            owner,
            prompts,
            asked,
        })
    };
    world.shelves = vec![
        books("b", &["common", "a__b"]),
        books("a", &["common", "b__only"]),
        books("a__b", &["only"]),
    ];
    (world, steps, asked)
}

async fn open() -> (Wired, Asked) {
    let (world, steps, asked) = world();
    let mut wired = Wired::over((world, steps), options());
    let hello = wired.initialize(NEWEST).await;
    let capabilities = &hello["result"]["capabilities"];
    assert_eq!(
        capabilities["resources"],
        json!({ "subscribe": true, "listChanged": true })
    );
    assert_eq!(capabilities["prompts"], json!({ "listChanged": true }));
    (wired, asked)
}

#[tokio::test]
async fn lists_are_joined_under_names_that_say_whose_they_are() {
    let (mut wired, _) = open().await;
    let list = wired.ask(1, "resources/list", json!({})).await;
    let resources = list["result"]["resources"].as_array().unwrap();
    let uris: Vec<&str> = resources
        .iter()
        .map(|r| r["uri"].as_str().unwrap())
        .collect();
    assert_eq!(
        uris,
        [
            "toolsearch://a/book://one",
            "toolsearch://a/book://of/a",
            "toolsearch://a__b/book://one",
            "toolsearch://a__b/book://of/a__b",
            "toolsearch://b/book://one",
            "toolsearch://b/book://of/b",
        ]
    );
    assert_eq!(resources[0]["x-further"].to_string(), "1.5");
    let list = wired.ask(2, "resources/templates/list", json!({})).await;
    let template = &list["result"]["resourceTemplates"][2];
    assert_eq!(template["uriTemplate"], "toolsearch://b/b://page/{n}");
    let list = wired.ask(3, "prompts/list", json!({})).await;
    let prompts = list["result"]["prompts"].as_array().unwrap();
    let names: Vec<&str> = prompts
        .iter()
        .map(|p| p["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "a__common",
            "a__b__only",
            "a__b__only",
            "b__common",
            "b__a__b"
        ]
    );
    assert_eq!(prompts[0]["title"], "A prompt");
}

#[tokio::test]
async fn a_resource_is_read_by_either_name_and_its_contents_keep_the_one_asked_for() {
    let (mut wired, _) = open().await;
    for (uri, text) in [
        ("toolsearch://b/book://of/b", "b reads"),
        ("book://of/b", "b reads"),
        ("toolsearch://a/a://page/7", "a reads"),
        ("a://page/7", "a reads"),
    ] {
        let read = wired.ask(1, "resources/read", json!({ "uri": uri })).await;
        let content = &read["result"]["contents"][0];
        assert_eq!(content["uri"], uri);
        assert_eq!(content["text"], text);
        assert_eq!(read["result"]["further"], true);
        assert_eq!(read["result"].get("resultType"), None);
    }
    for uri in [
        "book://one",
        "book://nowhere",
        "toolsearch://nobody/x",
        "toolsearch://a/book://one",
    ] {
        let read = wired.ask(1, "resources/read", json!({ "uri": uri })).await;
        assert_eq!(read["error"]["code"], -32002, "{read}");
        assert_eq!(read["error"]["data"]["uri"], uri);
    }
    let read = wired.ask(1, "resources/read", json!({})).await;
    assert_eq!(read["error"]["code"], -32602);
}

#[tokio::test]
async fn prompts_go_to_whom_they_name_and_never_to_another() {
    let (mut wired, _) = open().await;
    let text = |answer: &Value| answer["result"]["messages"][0]["content"]["text"].clone();
    let ask = |name: &str| json!({ "name": name, "arguments": { "n": "1" } });
    let got = wired.ask(1, "prompts/get", ask("a__common")).await;
    assert!(
        text(&got).as_str().unwrap().starts_with("a common"),
        "{got}"
    );
    let got = wired.ask(1, "prompts/get", ask("only")).await;
    assert!(
        text(&got).as_str().unwrap().starts_with("a__b only"),
        "{got}"
    );
    for (name, words) in [
        ("common", "a__common, b__common"),
        ("a__b__only", "may be any of"),
        ("nothing", "no prompt"),
        ("nobody__common", "no prompt"),
    ] {
        let got = wired.ask(1, "prompts/get", ask(name)).await;
        assert_eq!(got["error"]["code"], -32602);
        let message = got["error"]["message"].as_str().unwrap();
        assert!(message.contains(words), "{message}");
    }
}

#[tokio::test]
async fn completion_is_asked_of_the_owner_under_its_own_names() {
    let (mut wired, _) = open().await;
    let argument = json!({ "name": "n", "value": "x" });
    let prompt = json!({ "ref": { "type": "ref/prompt", "name": "b__common" },
        "argument": argument, "context": { "arguments": {} } });
    let got = wired.ask(1, "completion/complete", prompt).await;
    assert_eq!(got["result"]["completion"]["values"], json!(["b"]));
    assert_eq!(got["result"]["asked"]["ref"]["name"], "common");
    assert_eq!(got["result"]["asked"]["argument"], argument);
    let resource = json!({ "argument": argument,
        "ref": { "type": "ref/resource", "uri": "toolsearch://a/a://page/{n}" } });
    let got = wired.ask(1, "completion/complete", resource).await;
    assert_eq!(got["result"]["asked"]["ref"]["uri"], "a://page/{n}");
    let got = wired
        .ask(1, "completion/complete", json!({ "argument": argument }))
        .await;
    assert_eq!(got["error"]["code"], -32602);
}

#[tokio::test]
async fn subscribers_hear_of_their_resources_and_of_lists_they_may_see() {
    let (mut wired, asked) = open().await;
    let uri = "toolsearch://b/book://of/b";
    let answer = wired
        .ask(1, "resources/subscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(answer["result"], json!({}));
    let subscribed = ShelfRequest::Subscribe {
        uri: "book://of/b".to_owned(),
    };
    assert!(asked.lock().unwrap().contains(&subscribed));
    let updated = |owner: &str, uri: &str| {
        News::new(
            owner,
            ShelfEvent::Resource {
                uri: uri.to_owned(),
            },
        )
    };
    wired.world.tells(updated("a", "book://of/b"));
    wired.world.tells(updated("b", "book://one"));
    wired
        .world
        .tells(News::new("stranger", ShelfEvent::Prompts));
    wired.world.tells(updated("b", "book://of/b"));
    let heard = wired.next().await;
    assert_eq!(heard["method"], "notifications/resources/updated");
    assert_eq!(heard["params"]["uri"], uri);
    wired.world.tells(News::new("a", ShelfEvent::Resources));
    assert_eq!(
        wired.next().await["method"],
        "notifications/resources/list_changed"
    );
    let answer = wired
        .ask(2, "resources/unsubscribe", json!({ "uri": uri }))
        .await;
    assert_eq!(answer["result"], json!({}));
    wired.world.tells(updated("b", "book://of/b"));
    wired.world.tells(News::new("a", ShelfEvent::Prompts));
    assert_eq!(
        wired.next().await["method"],
        "notifications/prompts/list_changed"
    );
}

#[tokio::test]
async fn since_2026_shelves_are_listened_to() {
    let (world, steps, _) = world();
    let mut wired = Wired::over((world, steps), options());
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": INLINE,
        "io.modelcontextprotocol/clientInfo": { "name": "inline", "version": "1" },
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let read = json!({ "uri": "book://nowhere", "_meta": meta });
    let read = wired.ask(1, "resources/read", read).await;
    assert_eq!(read["error"]["code"], -32602);
    let list = wired.ask(2, "prompts/list", json!({ "_meta": meta })).await;
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!(list["result"]["cacheScope"], "private");
    let subscribe = json!({ "uri": "book://of/b", "_meta": meta });
    let answer = wired.ask(3, "resources/subscribe", subscribe).await;
    assert_eq!(answer["error"]["code"], -32601);
    let filter = json!({ "promptsListChanged": true, "resourceSubscriptions":
        ["toolsearch://b/book://of/b", "book://nowhere"] });
    wired
        .send(
            4,
            "subscriptions/listen",
            json!({ "notifications": filter, "_meta": meta }),
        )
        .await;
    let heard = wired.next().await;
    let accepted = &heard["params"]["notifications"];
    assert_eq!(
        accepted["resourceSubscriptions"],
        json!(["toolsearch://b/book://of/b"]),
        "{heard}"
    );
    wired.world.tells(News::new("a", ShelfEvent::Resources));
    let uri = "book://of/b".to_owned();
    wired
        .world
        .tells(News::new("b", ShelfEvent::Resource { uri }));
    let heard = wired.next().await;
    assert_eq!(heard["params"]["uri"], "toolsearch://b/book://of/b");
    assert_eq!(
        heard["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"],
        4
    );
}

#[tokio::test]
async fn without_shelves_there_are_no_such_methods() {
    let mut wired = Wired::open("tools", vec![tool("echo")]).await;
    for method in ["resources/list", "prompts/list", "completion/complete"] {
        assert_eq!(
            wired.ask(1, method, json!({})).await["error"]["code"],
            -32601
        );
    }
}
