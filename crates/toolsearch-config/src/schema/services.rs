//! The keys of servers, hooks, approvals, providers, gateway, telemetry and store: type, range,
//! meaning. Data only.

use super::table::{ALLOW, DENY, NOT_EMPTY};
use super::{Count, Field, Kind, Shape, Word};

pub(crate) static START_TIMEOUT_MS: Count = Count::new(30_000, 1, 600_000);
pub(crate) static CALL_TIMEOUT_MS: Count = Count::new(60_000, 1, 3_600_000);
pub(crate) static HOOK_TIMEOUT_MS: Count = Count::new(10_000, 1, 600_000);
pub(crate) static APPROVAL_TIMEOUT_MS: Count = Count::new(120_000, 1_000, 86_400_000);
pub(crate) static BODY_BYTES: Count = Count::new(16_777_216, 1_024, 1_073_741_824);
pub(crate) static SESSIONS: Count = Count::new(10_000, 1, 1_000_000);
pub(crate) static CONCURRENT_PER_TOKEN: Count = Count::new(64, 1, 10_000);
pub(crate) static REQUESTS_PER_SECOND: Count = Count::new(500, 1, 1_000_000);
pub(crate) static SESSION_IDLE_MS: Count = Count::new(1_800_000, 1_000, 604_800_000);
static CONTEXT_TOKENS: Count = Count {
    default: None,
    min: 1_000,
    max: 100_000_000,
};

/// Other programs' spellings are read as the transport they mean; all but `stdio` and `sse` are
/// streamable HTTP.
pub(crate) static TRANSPORTS: &[&str] = &[
    "stdio",
    "http",
    "sse",
    "streamable-http",
    "streamable_http",
    "streamableHttp",
];

static SHA256: Word = Word {
    what: "a SHA-256 as 64 hex digits",
    pattern: "^[0-9a-fA-F]{64}$",
    accepts: |text| text.len() == 64 && text.bytes().all(|byte| byte.is_ascii_hexdigit()),
};

static LISTEN: Word = Word {
    what: "an address and port such as \"127.0.0.1:7332\"",
    pattern: "^.+:[0-9]{1,5}$",
    accepts: |text| {
        text.rsplit_once(':')
            .is_some_and(|(host, port)| !host.is_empty() && port.parse::<u16>().is_ok())
    },
};

pub(crate) static SERVER: Shape = Shape {
    name: "mcpServer",
    help: "One MCP server: a command to start, or an address.",
    stands_alone: true,
    fields: &[
        Field::new(
            "command",
            Kind::Template,
            "Program to start; variables are filled in.",
        )
        .meant(&["cmd", "exec", "program"]),
        Field::new(
            "args",
            Kind::List(&Kind::Template),
            "Its arguments; variables are filled in.",
        )
        .meant(&["arguments", "argv"]),
        Field::new(
            "env",
            Kind::Map(&Kind::Template),
            "Variables added to those of this process; variables are filled in.",
        )
        .meant(&["environment", "envs", "envVars"]),
        Field::new(
            "cwd",
            Kind::Template,
            "Folder to start in; variables are filled in.",
        )
        .meant(&["workingDirectory", "dir", "directory"]),
        Field::new(
            "url",
            Kind::Template,
            "Address of the server; variables are filled in.",
        )
        .meant(&["serverUrl", "httpUrl", "endpoint", "uri", "baseUrl"]),
        Field::new(
            "headers",
            Kind::Map(&Kind::Template),
            "Sent along; variables are filled in.",
        )
        .meant(&["http_headers", "requestInit"]),
        Field::new(
            "transport",
            Kind::Choice(TRANSPORTS),
            "How to talk; guessed when not set.",
        ),
        Field::new("type", Kind::Choice(TRANSPORTS), "The same as transport."),
        Field::new(
            "trust",
            Kind::Choice(&["untrusted", "trusted"]),
            "Whether the words of its tools may stand in prompts.",
        )
        .default("\"untrusted\"")
        .meant(&["trusted"]),
        Field::new(
            "catalogMode",
            Kind::Choice(&["searchable", "direct-only"]),
            "direct-only keeps its tools visible and out of search.",
        )
        .default("\"searchable\""),
        Field::new(
            "disabled",
            Kind::Bool,
            "true keeps the entry without starting it.",
        )
        .default("false"),
        Field::new("enabled", Kind::Bool, "The opposite of disabled.").default("true"),
        Field::new(
            "startTimeoutMs",
            Kind::Count(&START_TIMEOUT_MS),
            "Time to start and list.",
        )
        .meant(&["startup_timeout_ms", "startupTimeoutMs", "connectTimeoutMs"]),
        Field::new(
            "callTimeoutMs",
            Kind::Count(&CALL_TIMEOUT_MS),
            "Time for one call.",
        )
        .meant(&["timeout", "timeoutMs", "tool_timeout_ms"]),
        Field::new(
            "tools",
            Kind::Either(&[Kind::List(&Kind::Text), Kind::Object(&TOOL_FILTER)]),
            "Globs over its tool names: those to list, or an object with allow and deny.",
        )
        .meant(&[
            "enabled_tools",
            "includeTools",
            "toolFilter",
            "allowedTools",
        ]),
    ],
};

static TOOL_FILTER: Shape = Shape {
    name: "toolFilter",
    help: "Which tools of a server are listed.",
    stands_alone: false,
    fields: &[ALLOW, DENY],
};

pub(super) static HOOKS: Shape = Shape {
    name: "hooks",
    help: "Commands that read a call as JSON and may change, block or redact it.",
    stands_alone: false,
    fields: &[
        Field::new(
            "before_tool_call",
            Kind::List(&Kind::Object(&HOOK)),
            "Run before a call.",
        )
        .meant(&["beforeToolCall", "PreToolUse", "before"]),
        Field::new(
            "after_tool_call",
            Kind::List(&Kind::Object(&HOOK)),
            "Run after a call.",
        )
        .meant(&["afterToolCall", "PostToolUse", "after"]),
    ],
};

static HOOK: Shape = Shape {
    name: "hook",
    help: "One command hook.",
    stands_alone: false,
    fields: &[
        Field::new("name", Kind::Text, "Shown where the hook is reported."),
        Field::new(
            "matcher",
            Kind::List(&Kind::Text),
            "Globs of tools it sees; not set: all.",
        )
        .meant(&["match", "matchers"]),
        Field::new("command", Kind::Word(&NOT_EMPTY), "Program to run.")
            .required()
            .meant(&["cmd"]),
        Field::new("args", Kind::List(&Kind::Text), "Its arguments.").meant(&["arguments"]),
        Field::new(
            "timeoutMs",
            Kind::Count(&HOOK_TIMEOUT_MS),
            "Time to answer.",
        )
        .meant(&["timeout"]),
        Field::new(
            "onFailure",
            Kind::Choice(&["closed", "open"]),
            "Whether a hook that fails blocks the call or lets it pass.",
        )
        .default("\"closed\"")
        .meant(&["failMode", "fail"]),
    ],
};

pub(super) static APPROVALS: Shape = Shape {
    name: "approvals",
    help: "Who is asked before a call that needs approval.",
    stands_alone: false,
    fields: &[
        Field::new(
            "mode",
            Kind::Choice(&["elicit", "queue", "deny"]),
            "Ask through the client, keep in a queue, or refuse.",
        )
        .default("\"elicit\""),
        Field::new(
            "otherwise",
            Kind::Choice(&["deny", "queue"]),
            "Where mode is elicit and the client cannot ask: refuse, or keep in a queue.",
        )
        .default("\"deny\"")
        .meant(&["fallback", "else"]),
        Field::new(
            "timeoutMs",
            Kind::Count(&APPROVAL_TIMEOUT_MS),
            "Time to answer; then denied.",
        )
        .meant(&["timeout"]),
    ],
};

pub(super) static PROVIDER: Shape = Shape {
    name: "provider",
    help: "One model provider.",
    stands_alone: false,
    fields: &[
        Field::new(
            "dialects",
            Kind::List(&Kind::Choice(&[
                "openai-chat",
                "openai-responses",
                "anthropic-messages",
            ])),
            "What it speaks.",
        )
        .required(),
        Field::new(
            "baseUrl",
            Kind::Template,
            "Address of its API; variables are filled in.",
        )
        .required()
        .meant(&["url", "baseURL", "base_url", "endpoint"]),
        Field::new(
            "apiKey",
            Kind::Template,
            "Key sent to it; variables are filled in.",
        )
        .meant(&["key", "token", "api_key"]),
        Field::new(
            "contextTokens",
            Kind::Count(&CONTEXT_TOKENS),
            "Size of its context window.",
        ),
        Field::new(
            "nativeToolSearch",
            Kind::Choice(&["auto", "on", "off"]),
            "Whether its own deferred tool loading is used.",
        )
        .default("\"auto\""),
    ],
};

pub(super) static GATEWAY: Shape = Shape {
    name: "gateway",
    help: "The HTTP gateway.",
    stands_alone: false,
    fields: &[
        Field::new("listen", Kind::Word(&LISTEN), "Address to listen on.")
            .default("\"127.0.0.1:7332\"")
            .meant(&["address", "addr", "bind", "port"]),
        Field::new(
            "hosts",
            Kind::List(&Kind::Text),
            "Host names that it answers to besides its address.",
        )
        .meant(&["host", "allowedHosts"]),
        Field::new(
            "origins",
            Kind::List(&Kind::Text),
            "Pages that may ask it, such as \"https://app.example\".",
        )
        .meant(&["origin", "allowedOrigins", "cors"]),
        Field::new("tls", Kind::Object(&TLS), "Its certificate."),
        Field::new(
            "auth",
            Kind::Object(&AUTH),
            "Who may use it; without tokens everybody on this machine, and nobody else.",
        ),
        Field::new(
            "limits",
            Kind::Object(&LIMITS),
            "What one gateway takes on.",
        ),
    ],
};

static TLS: Shape = Shape {
    name: "gatewayTls",
    help: "The certificate of the gateway, as PEM files.",
    stands_alone: false,
    fields: &[
        Field::new("cert", Kind::Word(&NOT_EMPTY), "File with the chain.")
            .required()
            .meant(&["certificate", "chain"]),
        Field::new("key", Kind::Word(&NOT_EMPTY), "File with the private key.")
            .required()
            .meant(&["privateKey"]),
    ],
};

static AUTH: Shape = Shape {
    name: "gatewayAuth",
    help: "Who may use the gateway.",
    stands_alone: false,
    fields: &[
        Field::new(
            "tokens",
            Kind::List(&Kind::Object(&TOKEN)),
            "Bearer tokens.",
        ),
        Field::new(
            "resource",
            Kind::Text,
            "Its address as callers see it, for clients that look for the way to a token.",
        ),
        Field::new(
            "authorizationServers",
            Kind::List(&Kind::Text),
            "Who gives out tokens, told to such clients.",
        ),
    ],
};

static TOKEN: Shape = Shape {
    name: "gatewayToken",
    help: "A bearer token, known by its hash alone.",
    stands_alone: false,
    fields: &[
        Field::new("name", Kind::Word(&NOT_EMPTY), "Shown in logs.").required(),
        Field::new("sha256", Kind::Word(&SHA256), "SHA-256 of the token.")
            .required()
            .meant(&["token", "hash"]),
        Field::new("agent", Kind::Text, "The agent it is bound to."),
    ],
};

static LIMITS: Shape = Shape {
    name: "gatewayLimits",
    help: "What one gateway takes on.",
    stands_alone: false,
    fields: &[
        Field::new(
            "bodyBytes",
            Kind::Count(&BODY_BYTES),
            "Largest request body.",
        ),
        Field::new(
            "sessions",
            Kind::Count(&SESSIONS),
            "Most sessions at a time.",
        ),
        Field::new(
            "concurrentPerToken",
            Kind::Count(&CONCURRENT_PER_TOKEN),
            "Most requests at a time.",
        ),
        Field::new(
            "requestsPerSecond",
            Kind::Count(&REQUESTS_PER_SECOND),
            "Most requests of one token in a second, on average.",
        )
        .meant(&["rate", "rateLimit"]),
        Field::new(
            "sessionIdleMs",
            Kind::Count(&SESSION_IDLE_MS),
            "How long a session may be idle, in milliseconds.",
        )
        .meant(&["idleMs", "idleTimeoutMs"]),
    ],
};

/// The names that engines give to their walls.
static WALLS: &[&str] = &[
    "process",
    "no_new_privs",
    "landlock",
    "rlimits",
    "seccomp",
    "permission",
];

pub(super) static SANDBOX: Shape = Shape {
    name: "sandbox",
    help: "How programs are held.",
    stands_alone: false,
    fields: &[Field::new(
        "require",
        Kind::List(&Kind::Choice(WALLS)),
        "Walls without which no program is run: mode code becomes tools where one is missing. Absent: \
         `no_new_privs` and `seccomp` on Linux; Node always asks for all of its own.",
    )
    .meant(&["required", "requires"])],
};

pub(super) static TELEMETRY: Shape = Shape {
    name: "telemetry",
    help: "Session logs.",
    stands_alone: false,
    fields: &[
        Field::new("dir", Kind::Text, "Folder of the session logs.").meant(&["path", "folder"]),
        Field::new(
            "capture",
            Kind::Choice(&["metadata", "redacted", "full"]),
            "How much of arguments and results is logged.",
        )
        .default("\"metadata\""),
    ],
};

pub(super) static STORE: Shape = Shape {
    name: "store",
    help: "Where approvals and remembered definitions are kept.",
    stands_alone: false,
    fields: &[Field::new(
        "dir",
        Kind::Text,
        "Folder for it; relative ones start at the folder of this file. Absent: the user's state folder.",
    )
    .meant(&["folder", "path"])],
};
