//! Servers at an address: sessions, streams, both transports, and everything that a web server can
//! answer instead.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::web::{Reply, Request, Web, event, result, rpc};
use super::*;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::mpsc;
use toolsearch_invoke::{OutageKind, Provider};
use toolsearch_mcp::{Endpoint, HttpTransport, ServerState};

fn at(web: &Web) -> Arc<McpServer> {
    McpServer::new(ServerSpec::http("demo", web.url()))
}

async fn echoes(server: &McpServer) {
    let outcome = call(server, "echo", json!({ "n": 1 })).await;
    assert_eq!(outcome.unwrap().joined_text(), r#"{"n":1}"#);
}

async fn reason(server: &McpServer) -> String {
    server.list().await.outage.expect("an outage").reason
}

#[tokio::test]
async fn a_session_is_kept_and_ended() {
    let web = Web::serve(|request| match request.method.as_str() {
        "GET" => Reply::status(405),
        "DELETE" => Reply::status(204),
        _ if request.rpc() == "initialize" => result(request).with("Mcp-Session-Id", "s-1"),
        _ => result(request),
    })
    .await;
    let spec = ServerSpec::http("demo", web.url()).with_header("X-Key", "k3y-of-the-test");
    let server = McpServer::new(spec);
    assert_eq!(names(&server.list().await), ["echo"]);
    echoes(&server).await;
    server.shutdown().await;
    let seen = web.seen();
    let first = &seen[0];
    assert_eq!(first.line(), "POST initialize");
    assert_eq!(first.header("mcp-protocol-version"), None);
    assert_eq!(first.header("mcp-session-id"), None);
    for request in &seen[1..] {
        assert_eq!(request.header("mcp-session-id"), Some("s-1"), "{request:?}");
        assert_eq!(request.header("x-key"), Some("k3y-of-the-test"));
    }
    let list = seen.iter().find(|one| one.rpc() == "tools/list").unwrap();
    assert_eq!(list.header("mcp-protocol-version"), Some("2025-11-25"));
    assert_eq!(list.header("mcp-method"), None);
    assert_eq!(web.count("DELETE"), 1);
    assert_eq!(web.lines()[1], "POST notifications/initialized");
}

#[tokio::test]
async fn answers_may_come_as_streams_with_progress_before_them() {
    let web = Web::serve(|request| {
        let message = request.json();
        if request.rpc() != "tools/call" {
            return result(request);
        }
        let token = &message["params"]["_meta"]["progressToken"];
        let progress = json!({ "jsonrpc": "2.0", "method": "notifications/progress",
            "params": { "progressToken": token, "progress": 1, "total": 2, "message": "half" } });
        let answer = rpc(&message, &text("done"));
        Reply::events(&format!(
            ": hello\n\n{}data: no message\n\n{}",
            event(&progress),
            event(&answer)
        ))
    })
    .await;
    let server = at(&web);
    let heard = Arc::new(Heard::default());
    let mut call = invocation("echo", json!({}), PATIENCE);
    call.progress = Some(Arc::clone(&heard) as Arc<dyn ProgressSink>);
    assert_eq!(server.invoke(call).await.unwrap().joined_text(), "done");
    let heard = heard.0.lock().unwrap();
    assert_eq!(heard.len(), 1);
    assert_eq!((heard[0].done, heard[0].total), (1.0, Some(2.0)));
    assert_eq!(server.status().junk, ["no message"]);
}

#[tokio::test]
async fn a_stream_that_broke_is_taken_up_again() {
    let waiting = Arc::new(Mutex::new(Value::Null));
    let web = Web::serve(move |request| {
        if request.method == "GET" {
            let Some("e-7") = request.header("last-event-id") else {
                return Reply::status(405);
            };
            let answer = rpc(&waiting.lock().unwrap(), &text("late"));
            return Reply::events(&event(&answer));
        }
        if request.rpc() == "tools/call" {
            *waiting.lock().unwrap() = request.json();
            return Reply::events("id: e-7\nretry: 1\ndata:\n\n");
        }
        result(request)
    })
    .await;
    let server = at(&web);
    assert_eq!(call_text(&server, "echo").await, "late");
    assert_eq!(web.count("POST tools/call"), 1);
}

/// TRN-19
#[tokio::test]
async fn a_server_without_a_stream_of_its_own_is_not_asked_again() {
    for status in [400, 404, 405, 406, 501] {
        let (sent, mut asked) = mpsc::unbounded_channel();
        let web = Web::serve(move |request| match request.method.as_str() {
            "GET" => {
                sent.send(()).unwrap();
                Reply::status(status)
            }
            _ => result(request),
        })
        .await;
        let server = at(&web);
        assert_eq!(names(&server.list().await), ["echo"], "{status}");
        asked.recv().await.unwrap();
        for _ in 0..3 {
            echoes(&server).await;
        }
        assert_eq!(web.count("GET"), 1, "{status}");
        assert_eq!(web.count("POST initialize"), 1, "{status}");
        assert_eq!(web.count("POST tools/list"), 1, "{status}");
    }
}

/// A server that forgets its session once, at the second call.
async fn forgetful() -> Web {
    let session = Arc::new(Mutex::new(String::new()));
    let (calls, sessions) = (AtomicUsize::new(0), AtomicUsize::new(0));
    Web::serve(move |request| {
        if request.method != "POST" {
            return Reply::status(405);
        }
        let mut session = session.lock().unwrap();
        if request.rpc() == "initialize" {
            *session = format!("s-{}", sessions.fetch_add(1, Ordering::Relaxed));
            return result(request).with("Mcp-Session-Id", &session);
        }
        if request.rpc() == "tools/call" && calls.fetch_add(1, Ordering::Relaxed) == 1 {
            session.clear();
        }
        if request.header("mcp-session-id") != Some(session.as_str()) {
            return Reply::status(404).body("Session not found");
        }
        result(request)
    })
    .await
}

/// TRN-17
#[tokio::test]
async fn a_lost_session_is_opened_again_once_for_everyone() {
    let web = forgetful().await;
    let server = at(&web);
    let mut changed = server.changed();
    assert_eq!(names(&server.list().await), ["echo"]);
    changed.borrow_and_update();
    echoes(&server).await;
    tokio::join!(
        echoes(&server),
        echoes(&server),
        echoes(&server),
        echoes(&server)
    );
    let greetings: Vec<Request> = web
        .seen()
        .into_iter()
        .filter(|one| one.rpc() == "initialize")
        .collect();
    assert_eq!(greetings.len(), 2);
    assert_eq!(greetings[1].header("mcp-session-id"), None);
    // The tools are asked for again, as another process may have others.
    assert_eq!(names(&server.list().await), ["echo"]);
    assert_eq!(web.count("POST tools/list"), 2);
    assert_eq!(server.status().starts, 1);
}

#[tokio::test]
async fn a_session_that_is_lost_in_other_words_is_opened_again() {
    let first = AtomicUsize::new(0);
    let web = Web::serve(move |request| {
        if request.method != "POST" {
            return Reply::status(405);
        }
        let refusal = json!({ "jsonrpc": "2.0", "id": null,
            "error": { "code": -32000, "message": "Bad Request: No valid session ID provided" } });
        match request.rpc().as_str() {
            "initialize" => result(request).with("Mcp-Session-Id", "s"),
            "tools/call" if first.fetch_add(1, Ordering::Relaxed) == 0 => {
                Reply::status(400).body(&refusal.to_string())
            }
            _ => result(request),
        }
    })
    .await;
    let server = at(&web);
    echoes(&server).await;
    assert_eq!(web.count("POST initialize"), 2);
}

/// A server of 2024-11-05.
async fn old(refusal: u16) -> Web {
    let stream = Mutex::new(None::<mpsc::UnboundedSender<String>>);
    Web::serve(move |request| {
        if request.path == "/mcp" && request.method == "POST" {
            return Reply::status(refusal);
        }
        if request.method == "GET" {
            let (send, texts) = mpsc::unbounded_channel();
            send.send("event: endpoint\ndata: /messages?id=7\n\n".to_owned())
                .unwrap();
            *stream.lock().unwrap() = Some(send);
            return Reply::Stream(texts);
        }
        assert_eq!(request.path, "/messages?id=7");
        if let Reply::Whole { body, .. } = result(request)
            && !body.is_empty()
        {
            let answer: Value = serde_json::from_str(&body).unwrap();
            let stream = stream.lock().unwrap();
            stream.as_ref().unwrap().send(event(&answer)).unwrap();
        }
        Reply::status(202).body("Accepted")
    })
    .await
}

/// TRN-20
#[tokio::test]
async fn the_older_transport_is_found_by_its_refusal() {
    for refusal in [400, 404, 405] {
        let web = old(refusal).await;
        let server = at(&web);
        assert_eq!(names(&server.list().await), ["echo"], "{refusal}");
        echoes(&server).await;
        assert_eq!(
            web.lines()[..3],
            ["POST initialize", "GET", "POST initialize"]
        );
        assert_eq!(web.seen()[1].header("accept"), Some("text/event-stream"));
    }
    let web = old(500).await;
    let server = at(&web);
    assert!(reason(&server).await.contains("answered 500"));
    assert_eq!(web.count("GET"), 0);
}

#[tokio::test]
async fn the_older_transport_can_be_demanded() {
    let web = old(404).await;
    let mut spec = ServerSpec::http("demo", web.url());
    let Endpoint::Http(address) = &mut spec.endpoint else {
        unreachable!()
    };
    address.transport = HttpTransport::Sse;
    let server = McpServer::new(spec);
    echoes(&server).await;
    assert_eq!(web.lines()[..2], ["GET", "POST initialize"]);
}

#[tokio::test]
async fn messages_of_the_older_transport_stay_with_their_origin() {
    let web = Web::serve(|request| match request.method.as_str() {
        "GET" => Reply::events("event: endpoint\ndata: http://127.0.0.1:9/steal\n\n"),
        _ => Reply::status(405),
    })
    .await;
    let reason = reason(&at(&web)).await;
    assert!(reason.contains("another origin"), "{reason}");
    assert!(reason.contains("answered 405"), "{reason}");
}

/// TRN-21
#[tokio::test]
async fn a_server_that_wants_a_login_is_named_and_left_alone() {
    let challenge = "Bearer realm=\"mcp\", \
                     resource_metadata=\"http://127.0.0.1:9/.well-known/oauth-protected-resource\"";
    for header in [Some(challenge), None] {
        let web = Web::serve(move |_| match header {
            Some(header) => Reply::status(401).with("WWW-Authenticate", header),
            None => Reply::status(401),
        })
        .await;
        let server = at(&web);
        let outage = server.list().await.outage.expect("nobody is let in");
        assert_eq!(outage.kind, OutageKind::NeedsConfiguration);
        assert!(
            outage.reason.contains("needs authorization (401)"),
            "{}",
            outage.reason
        );
        let named = outage.reason.contains("http://127.0.0.1:9/.well-known/");
        assert_eq!(named, header.is_some(), "{}", outage.reason);
        assert_eq!(server.status().state, ServerState::NeedsAuth);
        let before = web.lines().len();
        for _ in 0..20 {
            server.list().await;
            call(&server, "echo", json!({})).await.unwrap_err();
        }
        // Pauses of 1, 2, 4 and 8 seconds would have to pass for more.
        assert!(web.lines().len() <= before + 4, "{:?}", web.lines());
        assert_eq!(
            web.count("GET"),
            0,
            "a login is no reason to try the older transport"
        );
    }
}

#[tokio::test]
async fn a_login_that_ends_is_noticed_at_the_next_call() {
    let end = Arc::new(AtomicUsize::new(0));
    let ended = Arc::clone(&end);
    let web = Web::serve(move |request| match request.method.as_str() {
        "POST" if ended.load(Ordering::Relaxed) == 0 => result(request),
        "POST" => Reply::status(401).with("WWW-Authenticate", "Bearer error=\"invalid_token\""),
        _ => Reply::status(405),
    })
    .await;
    let server = at(&web);
    echoes(&server).await;
    end.store(1, Ordering::Relaxed);
    let error = call(&server, "echo", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("needs authorization (401): invalid_token"),
        "{error}"
    );
    assert_eq!(server.status().state, ServerState::NeedsAuth);
    end.store(0, Ordering::Relaxed);
    echoes(&server).await;
    assert_eq!(server.status().state, ServerState::Ready);
}

#[tokio::test]
async fn a_busy_server_is_left_alone_for_as_long_as_it_asks() {
    let web = Web::serve(|request| match request.rpc().as_str() {
        "tools/call" => Reply::status(429)
            .with("Retry-After", "200")
            .body("slow down"),
        _ => result(request),
    })
    .await;
    let server = at(&web);
    server.list().await;
    let error = call(&server, "echo", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("answered 429") && error.contains("asks to wait 200 s"),
        "{error}"
    );
    let error = call(&server, "echo", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("next attempt in"), "{error}");
    assert_eq!(web.count("POST tools/call"), 1);
    let listing = server.list().await;
    assert_eq!(names(&listing), ["echo"]);
    assert!(
        listing
            .outage
            .expect("it is left alone")
            .reason
            .contains("429")
    );
    assert_eq!(server.status().state, ServerState::Failed);
}

#[tokio::test]
async fn a_failing_server_is_left_alone_after_some_calls() {
    let web = Web::serve(|request| match request.rpc().as_str() {
        "tools/call" => Reply::status(500).body("oh no\u{1b}[31m"),
        _ => result(request),
    })
    .await;
    let server = at(&web);
    for _ in 0..4 {
        let error = call(&server, "echo", json!({}))
            .await
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("answered 500") && error.contains("oh no"),
            "{error}"
        );
    }
    let sent = web.count("POST tools/call");
    assert_eq!(sent, 4);
    let error = call(&server, "echo", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("answered 500"), "{error}");
    assert!(error.contains("next attempt in"), "{error}");
}

#[tokio::test]
async fn errors_of_the_protocol_count_whatever_their_status() {
    let web = Web::serve(|request| match request.rpc().as_str() {
        "tools/call" => {
            let error = json!({ "code": -32602, "message": "Unknown tool: echo" });
            let id = request.json()["id"].clone();
            let body = json!({ "jsonrpc": "2.0", "id": id, "error": error });
            Reply::status(400).body(&body.to_string())
        }
        _ => result(request),
    })
    .await;
    let error = call(&at(&web), "echo", json!({})).await.unwrap_err();
    assert!(matches!(error, InvokeError::Gone { .. }), "{error}");
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart() {
    let deep = "x".repeat(300);
    let page = format!("<html>Welcome {deep}");
    for (reply, expected) in [
        ("page", "the answer is no MCP message"),
        ("other", "belongs to another request"),
        ("empty", "taken, but not answered"),
        ("cut", "ended without the answer"),
        ("hang", "cannot be reached"),
    ] {
        let page = page.clone();
        let web = Web::serve(move |request| {
            if request.rpc() != "tools/call" {
                return result(request);
            }
            match reply {
                "page" => Reply::status(200)
                    .with("Content-Type", "text/html")
                    .body(&page),
                "other" => Reply::json(&json!({ "jsonrpc": "2.0", "id": 777, "result": {} })),
                "empty" => Reply::status(202),
                "cut" => Reply::events("data: {\"jsonrpc\":"),
                _ => Reply::Hang,
            }
        })
        .await;
        let server = at(&web);
        let error = call(&server, "echo", json!({}))
            .await
            .unwrap_err()
            .to_string();
        assert!(error.contains(expected), "{reply}: {error}");
        assert!(error.len() < 700, "{error}");
    }
}

#[tokio::test]
async fn redirects_stay_within_the_origin() {
    let elsewhere = Web::serve(result).await;
    let to = elsewhere.url();
    let web = Web::serve(move |request| match request.path.as_str() {
        "/mcp" => Reply::status(307).with("Location", "/mcp/"),
        "/away" => Reply::status(307).with("Location", &to),
        "/see" => Reply::status(303).with("Location", "/mcp/"),
        _ => result(request),
    })
    .await;
    echoes(&at(&web)).await;
    for (path, named) in [("/away", elsewhere.origin.as_str()), ("/see", &web.origin)] {
        let spec = ServerSpec::http("demo", format!("{}{path}", web.origin));
        let reason = reason(&McpServer::new(spec)).await;
        assert!(
            reason.contains(named) && reason.contains("not followed"),
            "{reason}"
        );
    }
    assert!(
        elsewhere.seen().is_empty(),
        "nothing is sent to another origin"
    );
}

/// A port where somebody speaks before any handshake.
async fn without_tls() -> std::net::SocketAddr {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    address
}

#[tokio::test]
async fn addresses_and_connections_that_lead_nowhere_are_named() {
    let web = Web::serve(result).await;
    let secure = format!("https://{}/mcp", without_tls().await);
    for (url, expected) in [
        (secure.as_str(), "no secure connection (TLS)"),
        ("http://127.0.0.1:9/mcp", "cannot be reached"),
        ("ftp://example.com", "no address of a server"),
        (
            "http://user:pass-word@127.0.0.1/mcp",
            "user name or a password",
        ),
    ] {
        let server = McpServer::new(ServerSpec::http("demo", url));
        let reason = reason(&server).await;
        assert!(reason.contains(expected), "{url}: {reason}");
        assert!(!reason.contains("pass-word"), "{reason}");
    }
    let spec = ServerSpec::http("demo", web.url()).with_header("Bad Name", "x");
    assert!(reason(&McpServer::new(spec)).await.contains("`Bad Name`"));
}

#[tokio::test]
async fn a_server_of_the_new_era_is_asked_without_a_session() {
    let web = Web::serve(|request| {
        let message = request.json();
        let meta = &message["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
        let refuse = |code: i64| {
            let error = json!({ "code": code, "message": "no",
                "data": { "supported": ["2026-07-28"] } });
            let body = json!({ "jsonrpc": "2.0", "id": message["id"], "error": error });
            Reply::status(400).body(&body.to_string())
        };
        if request.method != "POST" {
            return Reply::status(405);
        }
        if meta.as_str() != Some("2026-07-28") || request.rpc() == "initialize" {
            return refuse(-32022);
        }
        if request.header("mcp-method") != Some(request.rpc().as_str()) {
            return refuse(-32020);
        }
        if request.rpc() != "server/discover" {
            return result(request);
        }
        Reply::json(&rpc(
            &message,
            &json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": { "tools": {} }, "ttlMs": 0, "cacheScope": "private",
            }),
        ))
    })
    .await;
    let server = at(&web);
    echoes(&server).await;
    assert_eq!(server.status().protocol.as_deref(), Some("2026-07-28"));
    let seen = web.seen();
    let call = seen.iter().find(|one| one.rpc() == "tools/call").unwrap();
    assert_eq!(call.header("mcp-name"), Some("echo"));
    assert_eq!(call.header("mcp-protocol-version"), Some("2026-07-28"));
    assert_eq!(web.count("GET") + web.count("DELETE"), 0);
}

#[tokio::test]
async fn a_call_that_nobody_waits_for_is_taken_back() {
    let (told, mut calls) = mpsc::unbounded_channel();
    let web = Web::serve(move |request| match request.rpc().as_str() {
        "tools/call" if request.json()["params"]["arguments"]["hang"] == true => {
            told.send(request.json()["id"].clone()).unwrap();
            Reply::Never
        }
        "notifications/cancelled" => {
            told.send(request.json()["params"]["requestId"].clone())
                .unwrap();
            Reply::status(202)
        }
        _ => result(request),
    })
    .await;
    let server = at(&web);
    server.list().await;
    let hanging = {
        let server = Arc::clone(&server);
        tokio::spawn(async move { call(&server, "echo", json!({ "hang": true })).await })
    };
    let id = calls.recv().await.unwrap();
    echoes(&server).await;
    hanging.abort();
    assert_eq!(calls.recv().await.unwrap(), id);
    echoes(&server).await;
}

#[tokio::test]
async fn secrets_of_an_address_do_not_show() {
    let web = Web::serve(|request| {
        let key = request
            .header("authorization")
            .unwrap_or_default()
            .to_owned();
        Reply::status(500).body(&format!("got {key} and {}", request.path))
    })
    .await;
    let url = format!("{}?key=q-s3cr3t-value", web.url());
    let spec = ServerSpec::http("demo", url).with_header("Authorization", "Bearer h-s3cr3t-value");
    assert!(!format!("{spec:?}").contains("s3cr3t"), "{spec:?}");
    let server = McpServer::new(spec);
    let reason = reason(&server).await;
    assert!(reason.contains("got [redacted]"), "{reason}");
    let seen = format!("{reason} {:?} {server:?}", server.status());
    assert!(!seen.contains("s3cr3t"), "{seen}");
}
