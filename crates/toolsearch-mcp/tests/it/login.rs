//! Logging in: a server that wants a token and an authorization server that gives one, both real and
//! as strict as they should be.

use std::collections::BTreeMap;

use base64::Engine;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::web::{Reply, Request, Web, browse, query, result};
use super::*;
use toolsearch_invoke::{OutageKind, Provider};
use toolsearch_mcp::oauth::{Login, LoginError, LoginOptions, TokenStore, login};
use toolsearch_mcp::{Endpoint, HttpAddress, ServerState};

/// A secret that has to be encoded wherever it goes.
const SECRET: &str = "s & t";

/// What the authorization server remembers.
#[derive(Default)]
struct Granted {
    origin: String,
    clients: BTreeMap<String, String>,
    /// Code to challenge, client and redirect.
    codes: BTreeMap<String, (String, String, String)>,
    access: Vec<String>,
    refresh: Vec<String>,
    lives: Vec<u64>,
    /// How clients have to show who they are; without a secret where it is empty.
    proof: &'static str,
    /// Below the origin: what the server calls itself.
    resource: Option<&'static str>,
    /// A scope that tokens have to allow and do not.
    lacks: Option<&'static str>,
    /// Clients may be named by the address of a document.
    reads_documents: bool,
    number: usize,
}

impl Granted {
    /// What the server calls itself.
    fn resource(&self) -> String {
        format!("{}{}", self.origin, self.resource.unwrap_or("/mcp"))
    }

    fn next(&mut self, kind: &str) -> String {
        self.number += 1;
        format!("{kind}-{}-of-the-test", self.number)
    }

    fn tokens(&mut self) -> Reply {
        let (access, refresh) = (self.next("access"), self.next("refresh"));
        // Old ones are of no use any more.
        self.access = vec![access.clone()];
        self.refresh = vec![refresh.clone()];
        let life = self.lives.pop().unwrap_or(3600);
        Reply::json(&json!({
            "access_token": access, "token_type": "Bearer", "expires_in": life,
            "refresh_token": refresh, "scope": "tools",
        }))
    }

    /// Whether the secret came as it should.
    fn is_proven(&self, request: &Request) -> bool {
        let form = request.form();
        let header = request.header("authorization");
        match self.proof {
            "client_secret_post" => {
                form.get("client_secret")
                    .is_some_and(|secret| secret == SECRET)
                    && header.is_none()
            }
            "client_secret_basic" => {
                let pair = header.and_then(|header| header.strip_prefix("Basic "));
                let pair = pair.and_then(|pair| BASE64_STANDARD.decode(pair).ok());
                let expected = format!(":{}", SECRET.replace(' ', "+").replace('&', "%26"));
                let pair = String::from_utf8(pair.unwrap_or_default()).unwrap();
                pair.ends_with(&expected) && !form.contains_key("client_secret")
            }
            _ => form.contains_key("client_id") && header.is_none(),
        }
    }

    fn token(&mut self, request: &Request) -> Reply {
        let form = &request.form();
        let refusal = |error: &str| {
            let body = json!({ "error": error, "error_description": "not like this" });
            Reply::status(400).body(&body.to_string())
        };
        if !self.is_proven(request) {
            return refusal("invalid_client");
        }
        if form.get("resource") != Some(&self.resource()) {
            return refusal("invalid_target");
        }
        if form["grant_type"] == "refresh_token" {
            return match self.refresh.contains(&form["refresh_token"]) {
                true => self.tokens(),
                false => refusal("invalid_grant"),
            };
        }
        let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(&form["code_verifier"]));
        let client = form.get("client_id").cloned();
        let client = client.unwrap_or_else(|| self.clients.keys().next().unwrap().clone());
        let proof = (hash, client, form["redirect_uri"].clone());
        match self.codes.remove(&form["code"]) {
            Some(expected) if expected == proof => self.tokens(),
            _ => refusal("invalid_grant"),
        }
    }

    fn authorize(&mut self, path: &str) -> Reply {
        let asked = query(path);
        let redirect = &asked["redirect_uri"];
        let known = self.clients.get(&asked["client_id"]) == Some(redirect);
        if !known || asked["code_challenge_method"] != "S256" || asked["response_type"] != "code" {
            return Reply::status(400);
        }
        let code = self.next("code");
        let proof = (
            asked["code_challenge"].clone(),
            asked["client_id"].clone(),
            redirect.clone(),
        );
        self.codes.insert(code.clone(), proof);
        let to = format!(
            "{redirect}?code={code}&state={}&iss={}",
            asked["state"], self.origin
        );
        Reply::status(302).with("Location", &to)
    }

    fn answer(&mut self, request: &Request) -> Reply {
        let origin = self.origin.clone();
        match request.path.split('?').next().unwrap() {
            "/.well-known/oauth-protected-resource/mcp" => Reply::json(&json!({
                "resource": self.resource(), "authorization_servers": [origin],
                "scopes_supported": ["everything"],
            })),
            "/.well-known/oauth-authorization-server" => Reply::json(&json!({
                "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
                "token_endpoint": format!("{origin}/token"),
                "registration_endpoint": format!("{origin}/register"),
                "code_challenge_methods_supported": ["S256"],
                "token_endpoint_auth_methods_supported":
                    if self.proof.is_empty() { json!(["client_secret_basic", "none"]) }
                    else { json!([self.proof]) },
                "authorization_response_iss_parameter_supported": true,
                "client_id_metadata_document_supported": self.reads_documents,
            })),
            "/register" => {
                let redirect = request.json()["redirect_uris"][0]
                    .as_str()
                    .unwrap()
                    .to_owned();
                let client = self.next("client");
                self.clients.insert(client.clone(), redirect);
                let asked = request.json()["token_endpoint_auth_method"].clone();
                let mut registered =
                    json!({ "client_id": client, "token_endpoint_auth_method": asked });
                if !self.proof.is_empty() {
                    assert_eq!(asked, self.proof);
                    registered["client_secret"] = json!(SECRET);
                }
                Reply::json(&registered)
            }
            "/authorize" => self.authorize(&request.path),
            "/token" => self.token(request),
            "/mcp" => self.mcp(request),
            _ => Reply::status(404),
        }
    }

    fn mcp(&self, request: &Request) -> Reply {
        let token = request.header("authorization").unwrap_or_default();
        let token = token.strip_prefix("Bearer ").unwrap_or_default();
        let known = self.access.iter().any(|known| known == token);
        if let Some(scope) = self.lacks.filter(|_| known) {
            let challenge = format!("Bearer error=\"insufficient_scope\", scope=\"{scope}\"");
            return Reply::status(403).with("WWW-Authenticate", &challenge);
        }
        if known {
            return match request.method.as_str() {
                "POST" => result(request),
                _ => Reply::status(405),
            };
        }
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", self.origin);
        let challenge = format!("Bearer resource_metadata=\"{metadata}\", scope=\"tools more\"");
        Reply::status(401).with("WWW-Authenticate", &challenge)
    }
}

struct World {
    web: Web,
    granted: Arc<Mutex<Granted>>,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let granted = Arc::new(Mutex::new(Granted::default()));
        let state = Arc::clone(&granted);
        let web = Web::serve(move |request| state.lock().unwrap().answer(request)).await;
        granted.lock().unwrap().origin.clone_from(&web.origin);
        Self {
            web,
            granted,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    fn store(&self) -> TokenStore {
        TokenStore::new(self.folder.path().join("tokens"))
    }

    fn address(&self) -> HttpAddress {
        let mut address = HttpAddress::new(self.web.url());
        address.tokens = Some(self.store());
        address
    }

    fn server(&self) -> Arc<McpServer> {
        McpServer::new(ServerSpec::new("demo", Endpoint::Http(self.address())))
    }

    async fn begin(&self) -> Result<Login, LoginError> {
        login(&self.address(), &self.store(), LoginOptions::default()).await
    }

    /// A person who agrees to everything.
    async fn log_in(&self) {
        let login = self.begin().await.unwrap();
        let (status, back) = browse(login.url()).await;
        assert_eq!(status, 302);
        let back = back.unwrap();
        let (came, finished) = tokio::join!(browse(&back), login.finish(PATIENCE));
        assert_eq!(came.0, 200);
        let tokens = finished.unwrap();
        assert_eq!(tokens.issuer, self.web.origin);
        assert_eq!(tokens.resource, self.web.url());
    }
}

#[tokio::test]
async fn a_login_lets_the_next_call_in() {
    let world = World::new().await;
    let server = world.server();
    let outage = server.list().await.outage.expect("not logged in");
    assert_eq!(outage.kind, OutageKind::NeedsConfiguration);
    assert_eq!(server.status().state, ServerState::NeedsAuth);
    world.log_in().await;
    assert_eq!(names(&server.list().await), ["echo"]);
    assert_eq!(call_text(&server, "echo").await, "{}");
    assert_eq!(server.status().state, ServerState::Ready);
    let seen = world.web.seen();
    let asked = seen
        .iter()
        .find(|one| one.path.starts_with("/authorize"))
        .unwrap();
    assert_eq!(query(&asked.path)["scope"], "tools more");
    assert_eq!(query(&asked.path)["resource"], world.web.url());
    let secrets = format!("{server:?} {:?}", server.status());
    assert!(!secrets.contains("access-"), "{secrets}");
}

#[tokio::test]
async fn tokens_are_refreshed_in_time_and_when_they_are_refused() {
    let world = World::new().await;
    world.granted.lock().unwrap().lives = vec![0];
    world.log_in().await;
    let server = world.server();
    // The first token has ended before it is used.
    assert_eq!(names(&server.list().await), ["echo"]);
    let refreshed = |world: &World| {
        let seen = world.web.seen();
        let grants = seen.iter().filter(|one| one.path == "/token");
        grants
            .filter(|one| one.form()["grant_type"] == "refresh_token")
            .count()
    };
    assert_eq!(refreshed(&world), 1);
    // The server takes its token back.
    world.granted.lock().unwrap().access.clear();
    assert_eq!(call_text(&server, "echo").await, "{}");
    assert_eq!(refreshed(&world), 2);
    // Another process reads what this one has kept.
    assert_eq!(call_text(&world.server(), "echo").await, "{}");
    assert_eq!(refreshed(&world), 2);
    // Nothing helps any more.
    world.granted.lock().unwrap().access.clear();
    world.granted.lock().unwrap().refresh.clear();
    let error = call(&server, "echo", json!({}))
        .await
        .unwrap_err()
        .to_string();
    assert!(error.contains("needs authorization"), "{error}");
    world.log_in().await;
    assert_eq!(call_text(&server, "echo").await, "{}");
}

#[tokio::test]
async fn a_client_shows_who_it_is_in_the_way_that_is_wanted() {
    for proof in ["client_secret_basic", "client_secret_post"] {
        let world = World::new().await;
        world.granted.lock().unwrap().proof = proof;
        world.granted.lock().unwrap().lives = vec![0];
        world.log_in().await;
        // The next token is got with the same proof.
        assert_eq!(call_text(&world.server(), "echo").await, "{}", "{proof}");
    }
}

#[tokio::test]
async fn only_the_answer_to_this_login_counts() {
    let world = World::new().await;
    let login = world.begin().await.unwrap();
    let redirect = query(login.url())["redirect_uri"].clone();
    let state = query(login.url())["state"].clone();
    let waiting = tokio::spawn(login.finish(PATIENCE));
    for wrong in [
        "/favicon.ico".to_owned(),
        "/callback?code=c&state=wrong".to_owned(),
        "/callback?code=c".to_owned(),
        format!("/other?code=c&state={state}"),
    ] {
        let address = redirect.replace("/callback", &wrong);
        assert_eq!(browse(&address).await.0, 404, "{wrong}");
    }
    let refusal = format!("{redirect}?error=access_denied&error_description=no&state={state}");
    browse(&refusal).await;
    let error = waiting.await.unwrap().unwrap_err();
    assert_eq!(error, LoginError::Refused("access_denied: no".to_owned()));
    assert_eq!(world.store().get(&world.web.url()), None);
}

#[tokio::test]
async fn another_issuer_and_a_wrong_code_bring_no_token() {
    let world = World::new().await;
    for (answer, expected) in [
        (
            "code=c&iss=http://127.0.0.1:9",
            "another authorization server",
        ),
        ("code=c", "another authorization server"),
        ("code=c&iss=ISSUER", "invalid_grant: not like this"),
    ] {
        let login = world.begin().await.unwrap();
        let asked = query(login.url());
        let answer = answer.replace("ISSUER", &world.web.origin);
        let back = format!(
            "{}?state={}&{answer}",
            asked["redirect_uri"], asked["state"]
        );
        let (_, finished) = tokio::join!(browse(&back), login.finish(PATIENCE));
        let error = finished.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let login = world.begin().await.unwrap();
    let wait = Duration::from_millis(20);
    assert_eq!(
        login.finish(wait).await.unwrap_err(),
        LoginError::TimedOut(wait)
    );
}

#[tokio::test]
async fn metadata_that_does_not_fit_is_refused() {
    for (key, value, expected) in [
        (
            "resource",
            json!("http://127.0.0.1:9/mcp"),
            "about another address",
        ),
        ("issuer", json!("https://else.example"), "by another name"),
        ("code_challenge_methods_supported", json!(["plain"]), "PKCE"),
        (
            "token_endpoint",
            json!("http://else.example/token"),
            "without TLS",
        ),
        (
            "authorization_endpoint",
            json!("file:///etc/passwd"),
            "no usable address",
        ),
        ("registration_endpoint", Value::Null, "registers no client"),
    ] {
        let granted = Arc::new(Mutex::new(Granted::default()));
        let state = Arc::clone(&granted);
        let web = Web::serve(move |request| {
            let reply = state.lock().unwrap().answer(request);
            let Reply::Whole { body, .. } = &reply else {
                return reply;
            };
            match serde_json::from_str::<Value>(body) {
                Ok(mut metadata) if metadata.get(key).is_some() => {
                    metadata[key] = value.clone();
                    Reply::json(&metadata)
                }
                _ => reply,
            }
        })
        .await;
        granted.lock().unwrap().origin.clone_from(&web.origin);
        let folder = tempfile::tempdir().unwrap();
        let store = TokenStore::new(folder.path());
        let address = HttpAddress::new(web.url());
        let error = login(&address, &store, LoginOptions::default())
            .await
            .unwrap_err();
        assert!(error.to_string().contains(expected), "{key}: {error}");
    }
}

#[tokio::test]
async fn a_login_needs_a_secure_address() {
    let store = TokenStore::new("/nowhere");
    let address = HttpAddress::new("http://else.example/mcp");
    let error = login(&address, &store, LoginOptions::default())
        .await
        .unwrap_err();
    assert!(matches!(error, LoginError::Address(_)), "{error}");
}

#[tokio::test]
async fn a_server_that_needs_more_scopes_says_how_to_get_them() {
    let world = World::new().await;
    world.log_in().await;
    world.granted.lock().unwrap().lacks = Some("write $(x) --all");
    let outage = world.server().list().await.outage.expect("not enough");
    let reason = outage.reason;
    let advice = "log in for more with `toolsearch mcp login` and --scope write;";
    assert!(reason.contains(advice), "{reason}");
    let mut options = LoginOptions::default();
    options.scopes = Some(vec!["write".to_owned(), "tools".to_owned()]);
    let login = login(&world.address(), &world.store(), options)
        .await
        .unwrap();
    assert_eq!(query(login.url())["scope"], "tools write");
}

#[tokio::test]
async fn a_client_is_named_by_its_document_where_that_is_read() {
    let document = "https://client.example/about.json";
    for reads in [true, false] {
        let world = World::new().await;
        world.granted.lock().unwrap().reads_documents = reads;
        let mut options = LoginOptions::default();
        options.client_metadata = Some(document.to_owned());
        let login = login(&world.address(), &world.store(), options)
            .await
            .unwrap();
        assert_eq!(query(login.url())["client_id"] == document, reads);
        let registered = world.web.seen().iter().any(|one| one.path == "/register");
        assert_eq!(registered, !reads);
    }
}

#[tokio::test]
async fn tokens_are_for_what_the_server_calls_itself() {
    for resource in ["", "/"] {
        let world = World::new().await;
        world.granted.lock().unwrap().resource = Some(resource);
        world.granted.lock().unwrap().lives = vec![0];
        world.log_in().await;
        // Refreshed before it is used, for the same.
        assert_eq!(names(&world.server().list().await), ["echo"]);
        let seen = world.web.seen();
        let asked = seen.iter().find(|one| one.path.starts_with("/authorize"));
        let expected = format!("{}{resource}", world.web.origin);
        assert_eq!(query(&asked.unwrap().path)["resource"], expected);
    }
}
