//! The tools, the rules of the operator, and what reached the tools.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use crate::support::{Home, Upstream, received};

pub(super) const PLUGIN: &str = "desk";
pub(super) const SERVER: &str = "post";
/// A server that cannot be started.
pub(super) const ABSENT: &str = "absent";

pub(super) const DENY: [&str; 2] = ["plugin:desk:shred_*", "mcp:post:recall"];
pub(super) const ASK: [&str; 3] = ["sign_*", "burn_*", "mcp:post:seal"];

/// Tools of which a person approves whenever somebody asks.
pub(super) const APPROVED: [&str; 2] = ["plugin:desk:sign_note", "mcp:post:seal"];

/// Bytes of the long result.
pub(super) const LONG: usize = 200_000;

/// The plugin's program: it writes down what it was given before it does anything.
const SCRIPT: &str = r#"read -r line
printf '%s\n' "$line" >> ran
case "$1" in
  torn) echo 'torn apart' >&2; exit 1 ;;
  long) printf '"'; head -c 200000 /dev/zero | tr '\0' x; printf '"' ;;
  alone) mkdir busy || echo overlap >> overlaps; sleep 0.05; rmdir busy; echo '{}' ;;
  wrong) echo '{"pages": "many"}' ;;
  *) echo '{"done": true}' ;;
esac
"#;

/// A command hook.
pub(super) struct HookLine {
    pub(super) name: &'static str,
    pub(super) after: bool,
    pub(super) tool: &'static str,
    pub(super) script: &'static str,
}

pub(super) const HOOKS: [HookLine; 5] = [
    HookLine {
        name: "guard",
        after: false,
        tool: "plugin:desk:lock_note",
        script: "cat > /dev/null; echo 'not on Sundays' >&2; exit 2",
    },
    HookLine {
        name: "stamper",
        after: false,
        tool: "plugin:desk:stamp_note",
        script: r#"cat > /dev/null; echo '{"args": {"title": "stamped"}}'"#,
    },
    HookLine {
        name: "smudger",
        after: false,
        tool: "plugin:desk:smudge_note",
        script: r#"cat > /dev/null; echo '{"args": {"label": 7}}'"#,
    },
    HookLine {
        name: "asker",
        after: false,
        tool: "plugin:desk:doubt_note",
        script: r#"cat > /dev/null; echo '{"decision": "ask", "reason": "odd hour"}'"#,
    },
    HookLine {
        name: "redactor",
        after: true,
        tool: "plugin:desk:veil_note",
        script: r#"cat > /dev/null; echo '{"result": {"content": [{"type": "text", "text": "veiled"}]}}'"#,
    },
];

/// A folder with everything in it.
pub(super) struct Scene {
    pub(super) home: Home,
    server: Value,
}

impl Scene {
    pub(super) fn new() -> Self {
        let home = Home::new();
        let folder = home.path(PLUGIN);
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join("desk.sh"), SCRIPT).unwrap();
        let manifest = folder.join("toolsearch.plugin.json5");
        fs::write(manifest, manifest_value().to_string()).unwrap();
        let tool = |name: &str, what: &str| {
            let title = json!({ "type": "string" });
            json!({ "name": name, "description": what, "inputSchema": {
                "type": "object", "properties": { "title": title }, "required": ["title"],
            } })
        };
        let upstream = Upstream::new(
            SERVER,
            vec![
                tool("send", "Send a letter"),
                tool("recall", "Recall a letter"),
                tool("seal", "Seal a letter"),
                tool("vanish", "Make the post office vanish"),
                tool("return", "Return a letter to its sender"),
            ],
        );
        let upstream = upstream
            .answers("vanish", r#""exit""#)
            .answers("return", r#""unknown""#);
        let (_, server) = upstream.install(&home);
        let scene = Self { home, server };
        scene
            .home
            .configure_text(&scene.configuration().to_string());
        scene
    }

    fn configuration(&self) -> Value {
        let hook = |line: &HookLine| {
            json!({ "name": line.name, "matcher": [line.tool], "command": "sh",
                    "args": ["-c", line.script] })
        };
        let of = |after: bool| -> Vec<Value> {
            let hooks = HOOKS.iter().filter(|line| line.after == after);
            hooks.map(hook).collect()
        };
        json!({
            "tools": { "toolSearch": { "mode": "tools" }, "deny": DENY, "ask": ASK },
            "plugins": [PLUGIN],
            "mcpServers": {
                SERVER: self.server,
                ABSENT: { "command": self.home.path("no-such-program") },
            },
            "hooks": { "before_tool_call": of(false), "after_tool_call": of(true) },
        })
    }

    /// Program and arguments of the server.
    pub(super) fn server(&self) -> (String, Vec<String>) {
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let args = self.server["args"].as_array().unwrap();
        (
            text(&self.server["command"]),
            args.iter().map(text).collect(),
        )
    }

    pub(super) fn plugin(&self) -> PathBuf {
        self.home.path(PLUGIN)
    }

    /// Every call that reached a tool: the tool's own name and what it was given.
    pub(super) fn reached(&self) -> Vec<(String, Value)> {
        let plugin = fs::read_to_string(self.plugin().join("ran")).unwrap_or_default();
        let plugin = plugin.lines().map(|line| {
            let input: Value = serde_json::from_str(line).unwrap();
            (input["tool"].clone(), input["args"].clone())
        });
        let server = received(&self.home, SERVER).into_iter().map(|line| {
            let message: Value = serde_json::from_str(&line).unwrap();
            let params = &message["params"];
            (params["name"].clone(), params["arguments"].clone())
        });
        plugin
            .chain(server)
            .map(|(name, args)| (name.as_str().unwrap().to_owned(), args))
            .collect()
    }

    /// Whether two calls of the sequential tool ever ran at once.
    pub(super) fn overlapped(&self) -> bool {
        self.plugin().join("overlaps").exists()
    }
}

/// The plugin's manifest.
pub(super) fn manifest_value() -> Value {
    let tool = |name: &str, how: &str, what: &str, more: Value| {
        let mut tool = json!({
            "name": name,
            "description": what,
            "command": ["sh", "desk.sh", how],
            "inputSchema": {
                "type": "object",
                "properties": { "title": { "type": "string" }, "pages": { "type": "integer" } },
                "required": ["title"],
                "additionalProperties": false,
            },
        });
        for (key, value) in more.as_object().unwrap_or(&Map::new()) {
            tool[key] = value.clone();
        }
        tool
    };
    let plain = |name, what| tool(name, "plain", what, json!({}));
    let pages = json!({ "type": "object", "properties": { "pages": { "type": "integer" } } });
    json!({ "name": PLUGIN, "tools": [
        plain("open_note", "Open a note"),
        plain("shred_note", "Shred a note for good"),
        plain("sign_note", "Sign a note"),
        plain("burn_note", "Burn a note"),
        plain("lock_note", "Lock a note"),
        plain("stamp_note", "Stamp a note"),
        plain("smudge_note", "Smudge a note"),
        plain("doubt_note", "Doubt a note"),
        plain("veil_note", "Veil a note"),
        tool("tear_note", "torn", "Tear a note", json!({})),
        tool("copy_note", "long", "Copy a long note", json!({})),
        tool("carry_note", "alone", "Carry a note alone", json!({ "execution": "sequential" })),
        tool("count_note", "wrong", "Count pages", json!({ "outputSchema": pages })),
        tool("lost_note", "", "Find a lost note", json!({ "command": ["./no-such-program"] })),
        tool("pinned_note", "plain", "Read the pinned note", json!({ "catalogMode": "direct-only" })),
    ] })
}
