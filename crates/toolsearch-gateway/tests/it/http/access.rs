//! Who may ask, and what those are told that may not.

use hyper::{Method, StatusCode};
use serde_json::json;
use sha2::{Digest, Sha256};
use toolsearch_gateway::http::{BindError, HttpGateway, HttpOptions, ProtectedResource, Token};

use super::served::{Served, http_options, initialize, request};
use crate::world::{Step, tool};

fn token(name: &str, agent: Option<&str>) -> Token {
    let hash = Sha256::digest(format!("secret of {name}"));
    Token::new(name, hash.into(), agent.map(str::to_owned))
}

fn bearer(name: &str) -> String {
    format!("Bearer secret of {name}")
}

fn guarded() -> HttpOptions {
    let mut http = http_options();
    http.tokens = vec![token("any", None), token("help", Some("support"))];
    http
}

#[tokio::test]
async fn a_wrong_token_learns_nothing() {
    let mut http = guarded();
    let servers = vec!["https://login.example".to_owned()];
    http.resource = Some(ProtectedResource::new("https://gate.example/mcp", servers));
    let served = Served::with(vec![tool("echo")], http).await;
    let good = bearer("any");
    let mut told = Vec::new();
    for (path, credentials) in [
        ("/mcp", None),
        ("/mcp", Some("Bearer wrong")),
        ("/mcp", Some("Bearer ")),
        ("/mcp", Some("Basic c2VjcmV0")),
        ("/mcp/support", Some("Bearer wrong")),
        ("/mcp/nobody", Some("Bearer wrong")),
        ("/mcp", Some(&good[..good.len() - 1])),
    ] {
        let headers: Vec<(&str, &str)> = credentials
            .map(|c| ("authorization", c))
            .into_iter()
            .collect();
        let mut answer = served.post(path, &headers, &initialize()).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        let challenge = answer.header("www-authenticate").unwrap();
        assert!(challenge.starts_with("Bearer"), "{challenge}");
        assert!(challenge.contains("https://gate.example/.well-known/oauth-protected-resource"));
        told.push((challenge, answer.whole().await));
    }
    assert!(told.windows(2).all(|pair| pair[0] == pair[1]), "{told:?}");
    assert_eq!(served.house.entered.lock().unwrap().len(), 0);
    let two = [
        ("authorization", good.as_str()),
        ("authorization", "Bearer x"),
    ];
    let answer = served.post("/mcp", &two, &initialize()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    served.session("/mcp", &[("authorization", &good)]).await;
    let document = request(
        Method::GET,
        "/.well-known/oauth-protected-resource/mcp",
        &[],
        "",
    );
    let document = served.ask(document).await.json().await;
    assert_eq!(document["resource"], "https://gate.example/mcp");
    assert_eq!(
        document["authorization_servers"],
        json!(["https://login.example"])
    );
}

#[tokio::test]
async fn a_token_acts_as_its_own_agent_and_uses_its_own_sessions() {
    let served = Served::with(vec![tool("echo")], guarded()).await;
    let (help, any) = (bearer("help"), bearer("any"));
    let as_help = ("authorization", help.as_str());
    let own = served.session("/mcp", &[as_help]).await;
    let entered = served.house.entered.lock().unwrap()[0].clone();
    assert_eq!(entered.agent.as_deref(), Some("support"));
    assert_eq!(entered.token.as_deref(), Some("help"));
    let mut told = Vec::new();
    for path in ["/mcp/sales", "/mcp/nobody"] {
        let mut answer = served.post(path, &[as_help], &initialize()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN);
        told.push(answer.whole().await);
    }
    assert_eq!(told[0], told[1]);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    let session = ("mcp-session-id", own.as_str());
    let stolen = [("authorization", any.as_str()), session];
    for path in ["/mcp", "/mcp/support"] {
        let answer = served.post(path, &stolen, list).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}");
    }
    let answer = served.post("/mcp", &[as_help, session], list).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn strangers_names_and_pages_are_refused_before_anything_is_read() {
    let served = Served::new(vec![tool("echo")]).await;
    for headers in [
        [("host", "evil.example"), ("accept", "*/*")],
        [("host", "localhost"), ("origin", "http://evil.example")],
    ] {
        let answer = served.post("/mcp", &headers, &initialize()).await;
        assert_eq!(answer.status, StatusCode::FORBIDDEN, "{headers:?}");
    }
    let page = [("origin", "http://localhost:5000")];
    served.session("/mcp", &page).await;
    assert_eq!(served.control.sessions(), 1);
}

#[tokio::test]
async fn other_machines_are_let_in_only_with_tokens() {
    let served = Served::new(vec![]).await;
    let house = || served.house.clone() as _;
    let anywhere = "0.0.0.0:0".parse().unwrap();
    let open = HttpGateway::bind(anywhere, house(), http_options()).await;
    assert!(matches!(open, Err(BindError::Open(_))), "{open:?}");
    assert!(
        HttpGateway::bind(anywhere, house(), guarded())
            .await
            .is_ok()
    );
    let taken = HttpGateway::bind(served.address, house(), http_options()).await;
    assert!(matches!(taken, Err(BindError::Taken(..))));
}

#[tokio::test]
async fn a_token_beyond_its_limits_comes_back_later_and_others_do_not_wait() {
    let mut http = guarded();
    http.requests_per_second = 1;
    let served = Served::with(vec![tool("echo")], http).await;
    let (help, any) = (bearer("help"), bearer("any"));
    let mut refused = None;
    for _ in 0..50 {
        let headers = [("authorization", help.as_str())];
        let answer = served.post("/mcp", &headers, &initialize()).await;
        if answer.status == StatusCode::TOO_MANY_REQUESTS {
            refused = Some(answer);
            break;
        }
        assert_eq!(answer.status, StatusCode::OK);
    }
    let refused = refused.expect("refused at last");
    assert!(
        refused
            .header("retry-after")
            .unwrap()
            .parse::<u64>()
            .unwrap()
            >= 1
    );
    served.session("/mcp", &[("authorization", &any)]).await;
}

#[tokio::test]
async fn calls_of_one_token_wait_for_each_other_beyond_its_limit() {
    let mut http = guarded();
    http.concurrent_per_token = 1;
    let mut served = Served::with(vec![tool("slow"), tool("echo")], http).await;
    let help = bearer("help");
    let headers = [("authorization", help.as_str())];
    let id = served.session("/mcp", &headers).await;
    let body = |tool: &str| {
        let arguments = json!({ "id": format!("native:demo:{tool}"), "args": {} });
        let params = json!({ "name": "tool_call", "arguments": arguments });
        json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params }).to_string()
    };
    let headers = [headers[0], ("mcp-session-id", id.as_str())];
    let slow = request(Method::POST, "/mcp", &headers, &body("slow"));
    let slow = tokio::spawn(super::served::ask(served.address, slow));
    assert_eq!(served.happened().await, Step::Started("slow".to_owned()));
    let second = request(Method::POST, "/mcp", &headers, &body("echo"));
    let second = tokio::spawn(super::served::ask(served.address, second));
    let any = bearer("any");
    served.session("/mcp", &[("authorization", &any)]).await;
    assert!(!second.is_finished());
    served.house.world.tools.release.notify_one();
    assert_eq!(slow.await.unwrap().json().await["result"]["isError"], false);
    // Its turn, or told to come back: never run beside the first.
    assert!(second.await.unwrap().status != StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_token_that_is_taken_away_ends_its_sessions() {
    let served = Served::with(vec![tool("echo")], guarded()).await;
    let (help, any) = (bearer("help"), bearer("any"));
    served.session("/mcp", &[("authorization", &help)]).await;
    served.session("/mcp", &[("authorization", &any)]).await;
    assert_eq!(served.control.sessions(), 2);
    let mut fewer = guarded();
    fewer.tokens.retain(|token| token.name == "any");
    served.control.apply(fewer);
    assert_eq!(served.control.sessions(), 1);
    let headers = [("authorization", help.as_str())];
    let answer = served.post("/mcp", &headers, &initialize()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    // None at all must not open it to everybody.
    served.control.apply(http_options());
    let answer = served.post("/mcp", &[], &initialize()).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
}
