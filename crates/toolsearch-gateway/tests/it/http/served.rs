//! A gateway that listens on a port of its own, and a caller that writes its requests itself.

use std::net::SocketAddr;
use std::sync::Arc;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio::time::timeout;
use toolsearch_catalog::ToolDescriptor;
use toolsearch_gateway::http::{HttpControl, HttpGateway, HttpOptions, Tls};
use toolsearch_gateway::{Entrance, EntranceError, Entrances, SessionSource};

use crate::world::{INLINE, NEWEST, PATIENCE, Step, World, options};

/// The same sessions for everybody, and two agents.
#[derive(Debug)]
pub(crate) struct House {
    pub(crate) world: Arc<World>,
    pub(crate) entered: std::sync::Mutex<Vec<Entrance>>,
}

impl Entrances for House {
    fn source(&self, entrance: &Entrance) -> Result<Arc<dyn SessionSource>, EntranceError> {
        self.entered.lock().unwrap().push(entrance.clone());
        match (entrance.agent.as_deref(), entrance.mode.as_deref()) {
            (None | Some("support" | "sales"), None | Some("tools")) => {
                Ok(Arc::clone(&self.world) as _)
            }
            (_, None) => Err(EntranceError::UnknownAgent),
            _ => Err(EntranceError::UnknownMode),
        }
    }
}

pub(crate) fn http_options() -> HttpOptions {
    let mut http = HttpOptions::default();
    http.gateway = options();
    http.body_bytes = 256 * 1024;
    http
}

/// A gateway that serves.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) house: Arc<House>,
    pub(crate) steps: mpsc::UnboundedReceiver<Step>,
    pub(crate) control: HttpControl,
    pub(crate) stop: Option<oneshot::Sender<()>>,
    pub(crate) serving: JoinHandle<std::io::Result<()>>,
}

/// What came back, with a body that is still to be read.
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) response: Response<Incoming>,
    text: String,
}

impl Served {
    pub(crate) async fn new(tools: Vec<ToolDescriptor>) -> Self {
        Self::with(tools, http_options()).await
    }

    pub(crate) async fn with(tools: Vec<ToolDescriptor>, http: HttpOptions) -> Self {
        Self::over(tools, http, None).await
    }

    pub(crate) async fn over(
        tools: Vec<ToolDescriptor>,
        http: HttpOptions,
        tls: Option<Tls>,
    ) -> Self {
        let (world, steps) = World::new("tools", tools);
        let house = Arc::new(House {
            world: Arc::new(world),
            entered: std::sync::Mutex::default(),
        });
        let address = "127.0.0.1:0".parse().unwrap();
        let mut gateway = HttpGateway::bind(address, Arc::clone(&house) as _, http)
            .await
            .unwrap();
        if let Some(tls) = tls {
            gateway = gateway.with_tls(tls);
        }
        let address = gateway.address().unwrap();
        let control = gateway.control();
        let (stop, stopped) = oneshot::channel();
        let serving = tokio::spawn(gateway.serve(async move {
            let _ = stopped.await;
        }));
        Self {
            address,
            house,
            steps,
            control,
            stop: Some(stop),
            serving,
        }
    }

    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().expect("not stopped yet").send(());
    }

    pub(crate) async fn ask(&self, request: Request<Full<Bytes>>) -> Answer {
        ask(self.address, request).await
    }

    pub(crate) async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        self.ask(request(Method::POST, path, headers, body)).await
    }

    /// Through the handshake; gives the id of the session.
    pub(crate) async fn session(&self, path: &str, headers: &[(&str, &str)]) -> String {
        let mut answer = self.post(path, headers, &initialize()).await;
        assert_eq!(answer.status, StatusCode::OK);
        let id = answer.header("mcp-session-id").expect("a session");
        assert_eq!(
            answer.json().await["result"]["protocolVersion"],
            NEWEST,
            "greeted"
        );
        id
    }

    pub(crate) async fn in_session(&self, id: &str, method: &str, params: Value) -> Answer {
        let message = json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": params });
        let headers = [("mcp-session-id", id)];
        self.post("/mcp", &headers, &message.to_string()).await
    }

    pub(crate) async fn call(&self, id: &str, tool: &str, arguments: Value) -> Answer {
        let params = json!({ "name": "tool_call", "arguments": {
            "id": format!("native:demo:{tool}"), "args": arguments,
        }});
        self.in_session(id, "tools/call", params).await
    }

    /// A request that stands for itself, with all that it has to say.
    pub(crate) async fn alone(&self, method: &str, params: Value) -> Answer {
        let name = params
            .get("name")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let message =
            json!({ "jsonrpc": "2.0", "id": 7, "method": method, "params": inline(params) });
        let mut headers = vec![("mcp-protocol-version", INLINE), ("mcp-method", method)];
        if let Some(name) = &name {
            headers.push(("mcp-name", name));
        }
        self.post("/mcp", &headers, &message.to_string()).await
    }

    pub(crate) async fn happened(&mut self) -> Step {
        timeout(PATIENCE, self.steps.recv())
            .await
            .expect("in time")
            .expect("tools are there")
    }
}

pub(crate) async fn ask(address: SocketAddr, request: Request<Full<Bytes>>) -> Answer {
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    let response = timeout(PATIENCE, sender.send_request(request))
        .await
        .expect("an answer in time")
        .unwrap();
    Answer {
        status: response.status(),
        response,
        text: String::new(),
    }
}

pub(crate) fn request(
    method: Method,
    path: &str,
    headers: &[(&str, &str)],
    body: &str,
) -> Request<Full<Bytes>> {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in [
        ("host", "localhost"),
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
    ] {
        if !headers.iter().any(|(given, _)| *given == name) {
            request = request.header(name, value);
        }
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(Full::from(body.to_owned())).unwrap()
}

pub(crate) fn initialize() -> String {
    let params = json!({
        "protocolVersion": NEWEST,
        "capabilities": {},
        "clientInfo": { "name": "by hand", "version": "7" },
    });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params }).to_string()
}

pub(crate) fn inline(mut params: Value) -> Value {
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!(INLINE);
    params["_meta"]["io.modelcontextprotocol/clientInfo"] =
        json!({ "name": "inline", "version": "1" });
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    params
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<String> {
        let value = self.response.headers().get(name)?;
        Some(value.to_str().unwrap().to_owned())
    }

    async fn more(&mut self) -> bool {
        let frame = timeout(PATIENCE, self.response.body_mut().frame());
        match frame.await.expect("a part of the body in time") {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                self.text.push_str(std::str::from_utf8(&data).unwrap());
                true
            }
            _ => false,
        }
    }

    /// The whole body.
    pub(crate) async fn whole(&mut self) -> String {
        while self.more().await {}
        std::mem::take(&mut self.text)
    }

    pub(crate) async fn json(&mut self) -> Value {
        let text = self.whole().await;
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text:?}"))
    }

    /// The next message of a stream; `None` at its end.
    pub(crate) async fn event(&mut self) -> Option<Value> {
        loop {
            if let Some(end) = self.text.find("\n\n") {
                let event: String = self.text.drain(..end + 2).collect();
                let data: Vec<&str> = event
                    .lines()
                    .filter_map(|line| line.strip_prefix("data: "))
                    .collect();
                if !data.is_empty() {
                    return Some(serde_json::from_str(&data.concat()).unwrap());
                }
            } else if !self.more().await {
                return None;
            }
        }
    }
}
