//! The client of the MCP conformance suite (`cargo xtask conformance`): lists what the server at an
//! address has, uses all of it once, answers what it is asked, and logs in where it has to.
//!
//! The suite starts it with the address as its last argument, and says in the environment which revision
//! of the protocol is meant and what else the scenario needs. Logging in is done as a person would:
//! after an error that says so, by opening an address.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use toolsearch_catalog::ToolDescriptor;
use toolsearch_invoke::{CallId, Caller, Invocation, InvokeError, Invoker, OutageKind};
use toolsearch_mcp::oauth::{LoginOptions, TokenStore, login};
use toolsearch_mcp::{
    Ask, AskKind, AskReply, ClientPeer, Endpoint, HttpAddress, McpServer, Protocol, Secret,
    ServerSpec,
};

/// How long one step may take; the suite ends a scenario after 30 seconds.
const PATIENCE: Duration = Duration::from_secs(15);
/// How often somebody logs in before they give up.
const MAX_LOGINS: usize = 2;
/// Most redirects of the browser.
const MAX_REDIRECTS: usize = 5;
/// Where the suite says that this client describes itself.
const CLIENT_METADATA: &str = "https://conformance-test.local/client-metadata.json";

#[tokio::main]
async fn main() -> ExitCode {
    let Some(url) = std::env::args().next_back() else {
        return ExitCode::FAILURE;
    };
    match visit(&url).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            let _ = writeln!(io::stderr(), "{reason}");
            ExitCode::FAILURE
        }
    }
}

/// What the suite says besides.
fn context() -> Value {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").ok();
    context
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or_default()
}

async fn visit(url: &str) -> Result<(), String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let store = TokenStore::new(folder.path());
    let mut address = HttpAddress::new(url);
    address.tokens = Some(store.clone());
    let mut spec = ServerSpec::new("suite", Endpoint::Http(address.clone()));
    let revision = std::env::var("MCP_CONFORMANCE_PROTOCOL_VERSION").unwrap_or_default();
    if revision.as_str() >= "2026-07-28" {
        spec.protocol = Protocol::Modern;
    }
    let context = context();
    for attempt in 0.. {
        let server = McpServer::new(spec.clone());
        server.set_client(Arc::new(Person));
        let used = use_all(&server, &context).await;
        server.shutdown().await;
        let scopes = match used {
            Ok(()) => break,
            Err(Obstacle::Login(scopes)) if attempt < MAX_LOGINS => scopes,
            Err(Obstacle::Login(_)) => return Err("logging in does not help".to_owned()),
            Err(Obstacle::Other(reason)) => return Err(reason),
        };
        log_in(&address, &store, &context, scopes).await?;
    }
    Ok(())
}

/// Why something could not be used.
enum Obstacle {
    /// Somebody has to log in, for these scopes where they are named.
    Login(Option<Vec<String>>),
    Other(String),
}

impl Obstacle {
    /// Reads an error as a person does who acts on it.
    fn of(reason: &str) -> Self {
        if !reason.contains("toolsearch mcp login") {
            return Self::Other(reason.to_owned());
        }
        let words: Vec<&str> = reason.split([' ', '`', ';']).collect();
        let named = words.windows(2).filter(|pair| pair[0] == "--scope");
        let scopes: Vec<String> = named.map(|pair| pair[1].to_owned()).collect();
        Self::Login((!scopes.is_empty()).then_some(scopes))
    }
}

impl From<InvokeError> for Obstacle {
    fn from(error: InvokeError) -> Self {
        Self::of(&error.to_string())
    }
}

async fn use_all(server: &Arc<McpServer>, context: &Value) -> Result<(), Obstacle> {
    let listing = server.list_within(PATIENCE).await;
    if let Some(outage) = listing.outage {
        return Err(match outage.kind {
            OutageKind::NeedsConfiguration => Obstacle::Login(None),
            _ => Obstacle::Other(outage.reason),
        });
    }
    let caller = || Caller::new("suite", None);
    for resource in server.resources(PATIENCE).await? {
        if let Some(uri) = resource["uri"].as_str() {
            server.read_resource(uri, caller(), PATIENCE).await?;
        }
    }
    for prompt in server.prompts(PATIENCE).await? {
        if let Some(name) = prompt["name"].as_str() {
            let got = server.get_prompt(name, Map::new(), caller(), PATIENCE);
            got.await?;
        }
    }
    // One of the suite's servers wants to see the schema that it gave.
    let first = listing.tools.first().map(|tool| tool.input_schema.clone());
    for tool in &listing.tools {
        for mut args in arguments(tool, context) {
            if let (Some(asked), Some(first)) = (args.get_mut("schema"), &first) {
                asked.clone_from(first);
            }
            let id = CallId::outer(1);
            let mut call = Invocation::new(Arc::clone(tool), args, id, PATIENCE);
            call.caller = caller();
            server.invoke(call).await?;
        }
    }
    Ok(())
}

/// The arguments that the suite wants a tool called with, or some that fit its schema.
fn arguments(tool: &ToolDescriptor, context: &Value) -> Vec<Map<String, Value>> {
    if let Some(calls) = context["toolCalls"].as_array() {
        let own = calls
            .iter()
            .filter(|call| call["name"] == tool.name.as_str());
        return own
            .filter_map(|call| call["arguments"].as_object().cloned())
            .collect();
    }
    vec![sample(&tool.input_schema)]
}

/// A value for every required property.
fn sample(schema: &Value) -> Map<String, Value> {
    let required = schema["required"].as_array().cloned().unwrap_or_default();
    let required = required.iter().filter_map(Value::as_str);
    required
        .map(|name| (name.to_owned(), value(&schema["properties"][name])))
        .collect()
}

/// What a form holds that nobody has touched.
fn value(property: &Value) -> Value {
    if let Some(default) = property.get("default") {
        return default.clone();
    }
    if let Some(first) = property["enum"].get(0) {
        return first.clone();
    }
    match property["type"].as_str() {
        Some("number" | "integer") => json!(1),
        Some("boolean") => json!(true),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => json!("text"),
    }
}

/// Answers every form as it comes, with what is filled in already.
#[derive(Debug)]
struct Person;

#[async_trait]
impl ClientPeer for Person {
    fn offers(&self) -> Vec<AskKind> {
        vec![AskKind::Elicitation]
    }

    async fn ask(&self, ask: Ask) -> AskReply {
        let properties = ask.params["requestedSchema"]["properties"].as_object();
        let filled: Map<String, Value> = properties
            .into_iter()
            .flatten()
            .map(|(name, property)| (name.clone(), value(property)))
            .collect();
        AskReply::Result(json!({ "action": "accept", "content": filled }))
    }
}

async fn log_in(
    address: &HttpAddress,
    store: &TokenStore,
    context: &Value,
    scopes: Option<Vec<String>>,
) -> Result<(), String> {
    let mut options = LoginOptions::default();
    options.scopes = scopes;
    options.client_metadata = Some(CLIENT_METADATA.to_owned());
    options.client_id = context["client_id"].as_str().map(str::to_owned);
    options.client_secret = context["client_secret"].as_str().map(Secret::from);
    let login = login(address, store, options)
        .await
        .map_err(|error| error.to_string())?;
    let url = login.url().to_owned();
    let browser = tokio::task::spawn_blocking(move || browse(url));
    let tokens = login.finish(PATIENCE).await;
    drop(browser);
    tokens.map(drop).map_err(|error| error.to_string())
}

/// Opens an address and goes where it leads to.
fn browse(mut url: String) -> io::Result<()> {
    for _ in 0..MAX_REDIRECTS {
        let rest = url.strip_prefix("http://").unwrap_or_default();
        let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
        let mut stream = TcpStream::connect(host)?;
        let head = format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
        stream.write_all(head.as_bytes())?;
        let lines = BufReader::new(stream).lines().map_while(Result::ok);
        let header = lines.take_while(|line| !line.is_empty()).find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("location")
                .then(|| value.to_owned())
        });
        match header {
            Some(next) => url = next,
            None => return Ok(()),
        }
    }
    Ok(())
}
