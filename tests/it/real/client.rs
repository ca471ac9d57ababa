//! Two clients that nobody here wrote, behind one face.

use std::path::Path;
use std::process::{Command, Stdio};

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::support::{Lines, file_of_package, real_servers};

/// Which client, and which generation of the protocol it begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The Python SDK; it says hello with `initialize`.
    SdkHandshake,
    /// The Python SDK; it asks with `server/discover` first.
    SdkDiscover,
    /// rmcp; it says hello with `initialize`.
    RmcpHandshake,
    /// rmcp; it asks with `server/discover`.
    RmcpDiscover,
}

impl Kind {
    /// The protocol version that this client and the gateway agree on.
    pub(super) const fn protocol(self) -> &'static str {
        match self {
            Self::SdkHandshake | Self::RmcpHandshake => "2025-11-25",
            Self::SdkDiscover | Self::RmcpDiscover => "2026-07-28",
        }
    }
}

/// A connected client.
pub(super) struct Client {
    wire: Wire,
    pub(super) protocol: String,
    /// The name that the server gives itself.
    pub(super) server: String,
    pub(super) instructions: String,
}

enum Wire {
    Sdk(Lines),
    Rmcp(Box<Rmcp>),
}

struct Rmcp {
    runtime: Runtime,
    service: Option<RunningService<RoleClient, ClientConfig>>,
    child: tokio::process::Child,
}

impl Client {
    /// Starts the server and connects to it. Of the command its program, its arguments and the
    /// variables that were set count.
    pub(super) fn connect(kind: Kind, server: &Command) -> Self {
        match kind {
            Kind::SdkHandshake => Self::sdk(server, "legacy"),
            Kind::SdkDiscover => Self::sdk(server, "auto"),
            Kind::RmcpHandshake => Self::rmcp(server, ClientLifecycleMode::Initialize),
            Kind::RmcpDiscover => Self::rmcp(
                server,
                ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::NO_INITIALIZE],
                },
            ),
        }
    }

    /// Connects over HTTP. Only the Python SDK does.
    pub(super) fn over_http(kind: Kind, url: &str) -> Self {
        let mode = match kind {
            Kind::SdkHandshake => "legacy",
            Kind::SdkDiscover => "auto",
            Kind::RmcpHandshake | Kind::RmcpDiscover => panic!("{kind:?} is not for HTTP"),
        };
        Self::driven(&json!({ "url": url, "mode": mode }))
    }

    fn sdk(server: &Command, mode: &str) -> Self {
        let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
        let env: Map<String, Value> = server
            .get_envs()
            .filter_map(|(name, value)| Some((text(name), Value::from(text(value?)))))
            .collect();
        let args: Vec<String> = server.get_args().map(text).collect();
        let setup = json!({
            "command": text(server.get_program()), "args": args, "env": env, "mode": mode,
        });
        Self::driven(&setup)
    }

    fn driven(setup: &Value) -> Self {
        let mut python = Command::new(real_servers().join("venv/bin/python"));
        python
            .arg(file_of_package("real-servers/clients/sdk.py"))
            .arg(setup.to_string());
        let mut lines = Lines::start(python);
        let hello: Value = serde_json::from_str(&lines.next()).unwrap();
        let field = |name: &Value| name.as_str().unwrap_or_default().to_owned();
        Self {
            protocol: field(&hello["protocol"]),
            server: field(&hello["server"]["name"]),
            instructions: field(&hello["instructions"]),
            wire: Wire::Sdk(lines),
        }
    }

    fn rmcp(server: &Command, lifecycle: ClientLifecycleMode) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let mut command = tokio::process::Command::new(server.get_program());
        command.args(server.get_args());
        for (name, value) in server.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        let (service, child) = runtime.block_on(async {
            let mut child = command.spawn().unwrap();
            let pipes = (child.stdout.take().unwrap(), child.stdin.take().unwrap());
            let service = serve_client_with_lifecycle(ClientConfig::default(), pipes, lifecycle)
                .await
                .unwrap();
            (service, child)
        });
        let info = service.peer_info().expect("the server says who it is");
        Self {
            protocol: info.protocol_version.to_string(),
            server: info
                .server_info
                .as_ref()
                .map(|info| info.name.clone())
                .unwrap_or_default(),
            instructions: info.instructions.clone().unwrap_or_default(),
            wire: Wire::Rmcp(Box::new(Rmcp {
                runtime,
                service: Some(service),
                child,
            })),
        }
    }

    /// Entries of `tools/list`.
    pub(super) fn list(&mut self) -> Vec<Value> {
        let tools = match &mut self.wire {
            Wire::Sdk(lines) => sdk_answer(lines, &json!({ "list": true })),
            Wire::Rmcp(rmcp) => rmcp.list(),
        };
        tools.as_array().expect("a list of tools").clone()
    }

    /// The result of a call.
    pub(super) fn call(&mut self, name: &str, arguments: Value) -> Value {
        match &mut self.wire {
            Wire::Sdk(lines) => sdk_answer(lines, &json!({ "call": name, "arguments": arguments })),
            Wire::Rmcp(rmcp) => rmcp.call(name, arguments),
        }
    }

    /// The result of a call that works.
    pub(super) fn works(&mut self, name: &str, arguments: Value) -> Value {
        let result = self.call(name, arguments);
        assert_ne!(result["isError"], true, "{name}: {result}");
        result
    }
}

fn sdk_answer(lines: &mut Lines, request: &Value) -> Value {
    lines.send(&request.to_string());
    let mut answer: Value = serde_json::from_str(&lines.next()).unwrap();
    assert!(answer["error"].is_null(), "{request}: {answer}");
    answer["result"].take()
}

impl Rmcp {
    fn list(&self) -> Value {
        let service = self.service.as_ref().unwrap();
        let tools = self.runtime.block_on(service.list_all_tools()).unwrap();
        serde_json::to_value(tools).unwrap()
    }

    fn call(&self, name: &str, arguments: Value) -> Value {
        let Value::Object(arguments) = arguments else {
            panic!("arguments are an object")
        };
        let params = CallToolRequestParams::new(name.to_owned()).with_arguments(arguments);
        let service = self.service.as_ref().unwrap();
        let result = self.runtime.block_on(service.call_tool(params)).unwrap();
        serde_json::to_value(result).unwrap()
    }
}

impl Drop for Rmcp {
    fn drop(&mut self) {
        let Some(service) = self.service.take() else {
            return;
        };
        self.runtime.block_on(async {
            let _ = service.cancel().await;
            let _ = tokio::time::timeout(crate::support::PATIENCE / 6, self.child.wait()).await;
        });
    }
}

/// A real server by its program below the folder of the servers.
pub(super) fn real(program: &str) -> String {
    let path = real_servers().join(program);
    assert!(Path::new(&path).exists(), "{} is not there", path.display());
    path.to_str().unwrap().to_owned()
}
