//! A gateway between a bare HTTP client and a scripted model.

use serde_json::{Map, Value, json};
pub(crate) use toolsearch_it::client::{Back, go_on, many, post, request, said, tool};
use toolsearch_it::model::{Asked, Said, ScriptedModel, Wire};

use crate::support::{Home, HttpGateway, Mode, Upstream};

/// A gateway with a scripted model behind it.
pub(crate) struct Lane {
    pub(crate) model: ScriptedModel,
    pub(crate) home: Home,
    pub(crate) gateway: HttpGateway,
    setup: Setup,
}

/// The configuration of a lane.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) tool_search: Value,
    pub(crate) servers: Value,
    pub(crate) rules: Value,
}

impl Setup {
    pub(crate) fn new(mode: Mode) -> Self {
        Self {
            tool_search: mode.setting(),
            servers: json!({}),
            rules: json!({}),
        }
    }
}

impl Lane {
    /// A lane without servers of the gateway's own.
    pub(crate) fn open(
        mode: Mode,
        script: impl Fn(&Asked) -> Said + Send + Sync + 'static,
    ) -> Self {
        Self::over(Setup::new(mode), &[], script)
    }

    pub(crate) fn over(
        mut setup: Setup,
        upstreams: &[Upstream],
        script: impl Fn(&Asked) -> Said + Send + Sync + 'static,
    ) -> Self {
        let home = Home::new();
        let model = ScriptedModel::start(script).unwrap();
        let servers: Map<String, Value> = upstreams.iter().map(|one| one.install(&home)).collect();
        setup.servers = Value::Object(servers);
        if upstreams.is_empty() {
            // Without any the sample's tools would be there.
            let none = Upstream::new("none", Vec::new());
            let (name, entry) = none.install(&home);
            setup.servers = json!({ name: entry });
        }
        configure(&home, &setup, &model);
        let gateway = HttpGateway::start(&home, &[]);
        Self {
            model,
            home,
            gateway,
            setup,
        }
    }

    /// Writes another configuration, which the running gateway takes over.
    pub(crate) fn change(&mut self, change: impl FnOnce(&mut Setup)) {
        change(&mut self.setup);
        configure(&self.home, &self.setup, &self.model);
        self.gateway.says("the changed configuration is in force");
    }

    /// The gateway ends without warning and another one takes its place.
    pub(crate) fn restart(self) -> Self {
        let Self {
            model,
            home,
            gateway,
            setup,
        } = self;
        drop(gateway);
        let gateway = HttpGateway::start(&home, &[]);
        Self {
            model,
            home,
            gateway,
            setup,
        }
    }

    pub(crate) fn post(&self, wire: Wire, body: &Value) -> Back {
        self.post_with(wire, &[], body)
    }

    pub(crate) fn post_with(&self, wire: Wire, headers: &[(&str, &str)], body: &Value) -> Back {
        self.post_raw(wire, headers, body.to_string().as_bytes())
    }

    pub(crate) fn post_raw(&self, wire: Wire, headers: &[(&str, &str)], body: &[u8]) -> Back {
        let path = format!("/v1{}", wire.path());
        post(self.gateway.address(), &path, headers, body)
    }

    /// The answer to a request that is expected to work.
    pub(crate) fn ask(&self, wire: Wire, body: &Value) -> Value {
        let back = self.post(wire, body);
        assert_eq!(back.status, 200, "{}", back.body);
        back.json()
    }
}

fn configure(home: &Home, setup: &Setup, model: &ScriptedModel) {
    let mut tools = setup.rules.clone();
    if !tools.is_object() {
        tools = json!({});
    }
    if !setup.tool_search.is_null() {
        tools["toolSearch"] = setup.tool_search.clone();
    }
    let text = json!({
        "tools": tools,
        "mcpServers": setup.servers,
        "providers": {
            "scripted": {
                "dialects": ["openai-chat", "openai-responses", "anthropic-messages"],
                "baseUrl": model.base_url(),
            },
        },
    });
    home.configure_text(&text.to_string());
}
