//! Resources, prompts, log entries, and questions that servers put to clients.

use std::collections::{BTreeMap, BTreeSet};

use async_trait::async_trait;
use tokio::sync::mpsc;
use toolsearch_invoke::{Caller, Provider};
use toolsearch_mcp::{Ask, AskKind, AskReply, ClientPeer, Protocol, ServerEvent};

use super::web::{Reply, Web, event, result, rpc};
use super::*;

fn greeting(capabilities: &Value) -> Value {
    json!([{ "reply": { "protocolVersion": "2025-11-25", "capabilities": capabilities,
                        "serverInfo": { "name": "besides", "version": "1" } } }])
}

#[tokio::test]
async fn resources_and_prompts_are_listed_and_read() {
    let log = Log::new();
    let page = |key: &str, entries: Value, next: Value| json!([{ "reply": { key: entries, "nextCursor": next } }]);
    let big = 12_345_678_901_234_567_890_u64;
    let server = server(&json!({
        "log": log.path(), "tools": [],
        "on": {
            "initialize": greeting(&json!({ "tools": {}, "prompts": {}, "logging": {},
                "resources": { "subscribe": true }, "completions": {} })),
            "resources/list": page("resources", json!([{ "uri": "a:2", "size": big }, 7]), json!("p2")),
            "resources/templates/list": page("resourceTemplates", json!([{ "uriTemplate": "a:{x}" }]), json!("")),
            "prompts/list": page("prompts", json!([{ "name": "greet" }]), Value::Null),
            "prompts/get": [{ "reply": { "messages": [{ "role": "user" }] } }],
            "resources/read": [{ "reply": { "contents": [{ "uri": "a:1", "text": "x" }] } }],
            "resources/subscribe": [{ "reply": {} },
                { "send": { "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "a:1" } } }],
            "completion/complete": [{ "reply": { "completion": { "values": ["ab"] } } }],
            "logging/setLevel": [{ "reply": {} },
                { "send": { "jsonrpc": "2.0", "method": "notifications/message",
                            "params": { "level": "warning", "logger": "db", "data": { "rows": 3 } } } },
                { "send": { "jsonrpc": "2.0", "method": "notifications/prompts/list_changed" } },
                { "send": { "jsonrpc": "2.0", "method": "notifications/resources/list_changed" } }],
        },
        "once": { "resources/list": page("resources", json!([{ "uri": "a:1" }]), json!("p2")) },
    }));
    let features = server.features(PATIENCE).await.unwrap();
    assert!(features.resources && features.subscriptions && features.prompts);
    assert!(features.completions && features.logging);
    // The second page names itself as the next one, which ends the list.
    let resources = server.resources(PATIENCE).await.unwrap();
    assert_eq!(
        resources,
        [
            json!({ "uri": "a:1" }),
            json!({ "uri": "a:2", "size": big })
        ]
    );
    assert_eq!(
        log.with_method("resources/list")[1]["params"]["cursor"],
        "p2"
    );
    assert_eq!(server.resource_templates(PATIENCE).await.unwrap().len(), 1);
    assert_eq!(
        server.prompts(PATIENCE).await.unwrap(),
        [json!({ "name": "greet" })]
    );
    let who = Caller::default;
    let read = server.read_resource("a:1", who(), PATIENCE).await;
    let read = read.unwrap();
    assert_eq!(read["contents"][0]["text"], "x");
    let arguments = Map::from_iter([("who".to_owned(), json!("you"))]);
    let got = server.get_prompt("greet", arguments, who(), PATIENCE).await;
    got.unwrap();
    assert_eq!(
        log.with_method("prompts/get")[0]["params"]["arguments"]["who"],
        "you"
    );
    let complete = server
        .complete(json!({ "ref": {} }), PATIENCE)
        .await
        .unwrap();
    assert_eq!(complete["completion"]["values"][0], "ab");

    let mut events = server.events();
    server.subscribe_resource("a:1", PATIENCE).await.unwrap();
    server.set_log_level("info", PATIENCE).await.unwrap();
    let expected = [
        ServerEvent::ResourceUpdated {
            uri: "a:1".to_owned(),
        },
        ServerEvent::Log {
            level: "warning".to_owned(),
            logger: Some("db".to_owned()),
            message: r#"{"rows":3}"#.to_owned(),
        },
        ServerEvent::PromptsChanged,
        ServerEvent::ResourcesChanged,
    ];
    for expected in expected {
        assert_eq!(events.recv().await.unwrap(), expected);
    }
}

#[tokio::test]
async fn a_server_without_them_is_not_asked() {
    let log = Log::new();
    let server = server(&json!({ "log": log.path(), "tools": [] }));
    assert!(server.resources(PATIENCE).await.unwrap().is_empty());
    assert!(server.prompts(PATIENCE).await.unwrap().is_empty());
    assert!(log.with_method("resources/list").is_empty());
    let error = server
        .read_resource("a:1", Caller::default(), PATIENCE)
        .await
        .unwrap_err();
    assert!(matches!(error, InvokeError::Refused { .. }), "{error}");
}

/// Answers with the caller's session, and counts.
#[derive(Debug)]
struct Client {
    offers: Vec<AskKind>,
    asked: mpsc::UnboundedSender<Ask>,
    lacking: Mutex<Vec<(String, AskKind)>>,
}

impl Client {
    fn new(offers: &[AskKind]) -> (Arc<Self>, mpsc::UnboundedReceiver<Ask>) {
        let (asked, asks) = mpsc::unbounded_channel();
        let offers = offers.to_vec();
        let lacking = Mutex::default();
        let client = Self {
            offers,
            asked,
            lacking,
        };
        (Arc::new(client), asks)
    }
}

#[async_trait]
impl ClientPeer for Client {
    fn offers(&self) -> Vec<AskKind> {
        self.offers.clone()
    }

    /// Whoever is called `able` has a model.
    fn offers_for(&self, caller: &Caller) -> Vec<AskKind> {
        match caller.session.as_str() {
            "able" => vec![AskKind::Elicitation, AskKind::Sampling],
            _ => self.offers(),
        }
    }

    async fn ask(&self, ask: Ask) -> AskReply {
        let session = ask.caller.session.clone();
        self.asked.send(ask).unwrap();
        match session.as_str() {
            "silent" => AskReply::Declined,
            "unable" => AskReply::NotDeclared,
            _ => AskReply::Result(json!({ "action": "accept", "content": { "session": session } })),
        }
    }

    fn lacks(&self, caller: &Caller, kind: AskKind) {
        self.lacking
            .lock()
            .unwrap()
            .push((caller.session.clone(), kind));
    }
}

async fn call_as(server: &McpServer, session: &str, name: &str) -> String {
    let mut call = invocation(name, json!({}), PATIENCE);
    call.caller = Caller::new(session, None);
    server.invoke(call).await.unwrap().joined_text()
}

fn question(id: &str, method: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "method": method,
            "params": { "message": "Sure?", "requestedSchema": { "type": "object", "properties": {} } } })
}

/// TRN-24
#[tokio::test]
async fn a_question_goes_to_the_client_whose_call_it_is() {
    let log = Log::new();
    let steps = json!([
        { "send": question("e1", "elicitation/create") }, { "wait": "e1" },
        { "send": { "jsonrpc": "2.0", "id": 2, "method": "ping" } }, { "wait": 2 },
        { "send": question("s1", "sampling/createMessage") }, { "wait": "s1" },
        { "reply": text("done") },
    ]);
    let server = server(&with_echo(
        json!({ "log": log.path(), "call": { "ask": steps } }),
        &["ask"],
    ));
    let (client, mut asks) = Client::new(&[AskKind::Elicitation]);
    assert!(server.set_client(client.clone()));
    assert!(!server.set_client(client));
    assert_eq!(call_as(&server, "anna", "ask").await, "done");
    let ask = asks.recv().await.unwrap();
    assert_eq!(
        (ask.server.as_str(), ask.kind),
        ("demo", AskKind::Elicitation)
    );
    assert_eq!(ask.params["message"], "Sure?");
    let offered = &log.with_method("initialize")[0]["params"]["capabilities"];
    assert!(offered["elicitation"].is_object() && offered.get("sampling").is_none());
    let answer = |id: Value| {
        let messages = log.messages();
        let of = |one: &&Value| one["id"] == id && one.get("method").is_none();
        messages.iter().find(of).unwrap().clone()
    };
    assert_eq!(answer(json!("e1"))["result"]["content"]["session"], "anna");
    assert_eq!(answer(json!(2))["result"], json!({}));
    assert!(answer(json!("s1"))["error"]["code"].is_number());

    assert_eq!(call_as(&server, "silent", "ask").await, "done");
    let declined = log
        .messages()
        .into_iter()
        .rfind(|one| one["id"] == "e1" && one.get("method").is_none());
    assert_eq!(declined.unwrap()["result"]["action"], "decline");

    assert_eq!(call_as(&server, "unable", "ask").await, "done");
    let refused = log
        .messages()
        .into_iter()
        .rfind(|one| one["id"] == "e1" && one.get("method").is_none());
    assert_eq!(refused.unwrap()["error"]["code"], -32601);
}

#[tokio::test]
async fn a_question_that_could_be_anybodys_is_declined() {
    let log = Log::new();
    let steps = json!([
        { "wait": "tools/call" },
        { "send": question("e1", "elicitation/create") }, { "wait": "e1" },
        { "reply": text("asked") },
    ]);
    let server = server(&with_echo(
        json!({ "log": log.path(), "call": { "ask": steps } }),
        &["ask"],
    ));
    let (client, mut asks) = Client::new(&[AskKind::Elicitation]);
    server.set_client(client);
    server.list().await;
    // The second call is swallowed while the first one waits for it.
    let mut other = invocation("echo", json!({}), PATIENCE);
    other.caller = Caller::new("berta", None);
    tokio::select! {
        biased;
        asked = call_as(&server, "anna", "ask") => assert_eq!(asked, "asked"),
        other = server.invoke(other) => panic!("nobody answers this: {other:?}"),
    }
    let answer = log
        .messages()
        .into_iter()
        .find(|one| one["id"] == "e1")
        .unwrap();
    assert_eq!(answer["result"]["action"], "decline");
    assert!(asks.try_recv().is_err());
}

#[tokio::test]
async fn over_http_questions_go_by_the_stream_they_came_on() {
    let answered = Arc::new(Mutex::new(Vec::new()));
    let (heard, streams) = (Arc::clone(&answered), Mutex::new(BTreeMap::new()));
    let web = Web::serve(move |request| {
        let message = request.json();
        if request.rpc() == "tools/call" {
            // The question names the call in its id, so that its answer finds the stream.
            let (send, texts) = mpsc::unbounded_channel();
            let id = format!("q{}", message["id"]);
            send.send(event(&question(&id, "elicitation/create")))
                .unwrap();
            streams.lock().unwrap().insert(id, (send, message));
            return Reply::Stream(texts);
        }
        if message.get("method").is_none() {
            let id = message["id"].as_str().unwrap();
            let (stream, call) = streams.lock().unwrap().remove(id).unwrap();
            let session = &message["result"]["content"]["session"];
            heard.lock().unwrap().push(session.clone());
            stream
                .send(event(&rpc(&call, &text(session.as_str().unwrap()))))
                .unwrap();
        }
        result(request)
    })
    .await;
    let server = McpServer::new(ServerSpec::http("demo", web.url()));
    let (client, _asks) = Client::new(&[AskKind::Elicitation]);
    server.set_client(client);
    let (anna, berta) = tokio::join!(
        call_as(&server, "anna", "echo"),
        call_as(&server, "berta", "echo")
    );
    assert_eq!((anna.as_str(), berta.as_str()), ("anna", "berta"));
    let sessions: BTreeSet<String> = answered
        .lock()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    assert_eq!(sessions.len(), 2);
}

/// What a server has open towards its client.
#[derive(Default)]
struct Streams {
    own: Option<mpsc::UnboundedSender<String>>,
    call: Option<(mpsc::UnboundedSender<String>, Value)>,
}

#[tokio::test]
async fn no_call_is_made_before_questions_beside_it_can_be_heard() {
    for _ in 0..20 {
        let streams = Mutex::new(Streams::default());
        let web = Web::serve(move |request| {
            let mut streams = streams.lock().unwrap();
            let message = request.json();
            match (request.method.as_str(), request.rpc().as_str()) {
                ("GET", _) => {
                    let (send, texts) = mpsc::unbounded_channel();
                    streams.own = Some(send);
                    Reply::Stream(texts)
                }
                (_, "tools/call") => {
                    let Some(own) = &streams.own else {
                        return Reply::json(&rpc(&message, &text("nobody hears a question")));
                    };
                    own.send(event(&question("q", "elicitation/create")))
                        .unwrap();
                    let (send, texts) = mpsc::unbounded_channel();
                    streams.call = Some((send, message));
                    Reply::Stream(texts)
                }
                ("POST", "") => {
                    let (call, asked) = streams.call.take().unwrap();
                    let session = &message["result"]["content"]["session"];
                    let answer = text(session.as_str().unwrap());
                    call.send(event(&rpc(&asked, &answer))).unwrap();
                    Reply::status(202)
                }
                _ => result(request),
            }
        })
        .await;
        let server = McpServer::new(ServerSpec::http("demo", web.url()));
        let (client, _asks) = Client::new(&[AskKind::Elicitation]);
        server.set_client(client);
        assert_eq!(call_as(&server, "anna", "echo").await, "anna");
    }
}

#[tokio::test]
async fn input_that_a_modern_server_wants_is_asked_for() {
    let log = Log::new();
    let first = json!([{ "reply": { "resultType": "input_required", "requestState": "st",
        "inputRequests": { "sure": { "method": "elicitation/create", "params": { "message": "?" } } } } }]);
    let mut modern = spec(&json!({
        "modern": true, "log": log.path(), "tools": [tool("ask")],
        "once": { "tools/call": first }, "call": { "ask": [{ "reply": text("done") }] },
    }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern.clone());
    let (client, mut asks) = Client::new(&[AskKind::Elicitation]);
    server.set_client(client);
    assert_eq!(call_as(&server, "anna", "ask").await, "done");
    assert_eq!(asks.recv().await.unwrap().params["message"], "?");
    let again = &log.with_method("tools/call")[1]["params"];
    assert_eq!(again["requestState"], "st");
    assert_eq!(
        again["inputResponses"]["sure"]["content"]["session"],
        "anna"
    );
    assert_eq!(again["name"], "ask");
    // Without anybody to ask, the answer is no.
    let server = McpServer::new(modern);
    assert_eq!(call_as(&server, "anna", "ask").await, "done");
    let last = log.with_method("tools/call").pop().unwrap();
    assert_eq!(
        last["params"]["inputResponses"]["sure"]["action"],
        "decline"
    );
}

const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

fn wants(state: Option<&str>, methods: &[&str]) -> Value {
    let questions: Map<String, Value> = methods
        .iter()
        .map(|method| {
            (
                (*method).to_owned(),
                json!({ "method": method, "params": { "message": "?" } }),
            )
        })
        .collect();
    let mut reply = json!({ "resultType": "input_required", "inputRequests": questions });
    if let Some(state) = state {
        reply["requestState"] = json!(state);
    }
    json!([{ "reply": reply }])
}

#[tokio::test]
async fn a_modern_server_hears_with_each_call_what_its_client_answers() {
    let log = Log::new();
    let (elicit, sample) = ("elicitation/create", "sampling/createMessage");
    let mut modern = spec(&json!({
        "modern": true, "log": log.path(), "tools": [tool("ask")],
        "once": { "tools/call": wants(Some("one"), &[elicit, sample]),
                  "prompts/get": wants(None, &[elicit]) },
        "call": { "ask": [{ "reply": text("done") }] },
        "on": { "prompts/get": [{ "reply": { "messages": [] } }] },
    }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern);
    let (client, mut asks) = Client::new(&[AskKind::Elicitation]);
    server.set_client(client);
    assert_eq!(call_as(&server, "able", "ask").await, "done");
    let asked = [asks.recv().await.unwrap(), asks.recv().await.unwrap()];
    let names: BTreeSet<_> = asked.iter().map(|ask| ask.name.clone().unwrap()).collect();
    assert_eq!(
        names,
        BTreeSet::from([elicit.to_owned(), sample.to_owned()])
    );
    let calls = log.with_method("tools/call");
    for call in &calls {
        let declared = &call["params"]["_meta"][CAPABILITIES];
        assert!(declared["elicitation"].is_object() && declared["sampling"].is_object());
        assert!(declared.get("roots").is_none(), "{declared}");
    }
    assert_eq!(calls[1]["params"]["requestState"], "one");
    assert_eq!(
        calls[1]["params"]["inputResponses"][sample]["action"],
        "accept"
    );
    assert_eq!(call_as(&server, "anna", "ask").await, "done");
    let declared = &log.with_method("tools/call")[2]["params"]["_meta"][CAPABILITIES];
    assert!(declared["elicitation"].is_object() && declared.get("sampling").is_none());

    let anna = Caller::new("anna", None);
    let got = server.get_prompt("greet", Map::new(), anna, PATIENCE).await;
    assert_eq!(got.unwrap()["messages"], json!([]));
    let again = &log.with_method("prompts/get")[1]["params"];
    assert_eq!(
        again["inputResponses"][elicit]["content"]["session"],
        "anna"
    );
    assert!(again.get("requestState").is_none());
}

#[tokio::test]
async fn a_server_that_needs_more_of_the_client_is_heard() {
    let refusal = json!({ "code": -32021, "message": "needs a model",
        "data": { "requiredCapabilities": { "sampling": {}, "elicitation": {}, "other": {} } } });
    let mut modern = spec(&json!({
        "modern": true, "tools": [tool("ask")], "call": { "ask": [{ "error": refusal }] },
    }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern);
    let (client, _asks) = Client::new(&[]);
    server.set_client(Arc::clone(&client) as _);
    let mut call = invocation("ask", json!({}), PATIENCE);
    call.caller = Caller::new("anna", None);
    let error = server.invoke(call).await.unwrap_err();
    assert!(matches!(error, InvokeError::Refused { .. }), "{error}");
    let expected = [AskKind::Elicitation, AskKind::Sampling].map(|kind| ("anna".to_owned(), kind));
    assert_eq!(*client.lacking.lock().unwrap(), expected);
}

#[tokio::test]
async fn a_state_belongs_to_its_round() {
    let log = Log::new();
    let mut modern = spec(&json!({
        "modern": true, "log": log.path(), "tools": [tool("ask")],
        "once": { "tools/call": wants(Some("one"), &["elicitation/create"]) },
        "call": { "ask": wants(None, &["elicitation/create"]) },
    }));
    modern.protocol = Protocol::Modern;
    let server = McpServer::new(modern);
    let (client, _asks) = Client::new(&[AskKind::Elicitation]);
    server.set_client(client);
    let endless = server.invoke(invocation("ask", json!({}), PATIENCE)).await;
    assert!(
        matches!(endless, Err(InvokeError::Refused { .. })),
        "{endless:?}"
    );
    let calls = log.with_method("tools/call");
    assert_eq!(calls[1]["params"]["requestState"], "one");
    assert!(calls[2]["params"].get("requestState").is_none());
}
