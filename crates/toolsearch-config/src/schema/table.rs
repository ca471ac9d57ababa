//! The keys of `toolsearch.json5` at the top and those of `tools` and `agents`: type, range, meaning.
//! Data only; the other sections are in [`super::services`].

use super::services::{APPROVALS, GATEWAY, HOOKS, PROVIDER, SANDBOX, SERVER, STORE, TELEMETRY};
use super::{Count, Field, Kind, Shape, Word};

pub(crate) static CODE_TIMEOUT_MS: Count = Count::new(10_000, 1_000, 60_000);
pub(crate) static SEARCH_TIMEOUT_MS: Count = Count::new(1_000, 50, 10_000);
static DIMENSIONS: Count = Count {
    default: None,
    min: 1,
    max: 8_192,
};
pub(crate) static MAX_SEARCH_LIMIT: Count = Count::new(20, 1, 50);
pub(crate) static SEARCH_DEFAULT_LIMIT: Count = Count::new(8, 1, 50);
pub(crate) static LIKELY_SCHEMAS: Count = Count::new(4, 0, 12);

static CONTROL_NAME: Word = Word {
    what: "a name of 1 to 64 letters, digits, `_` or `-`",
    pattern: "^[A-Za-z0-9_-]{1,64}$",
    accepts: |text| {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        (1..=64).contains(&text.len()) && text.bytes().all(plain)
    },
};

pub(super) static NOT_EMPTY: Word = Word {
    what: "a string that is not empty",
    pattern: "\\S",
    accepts: |text| !text.trim().is_empty(),
};

static TEXTS: Kind = Kind::List(&Kind::Text);
static RULES_KIND: Kind = Kind::Object(&RULES);

pub(crate) static ROOT_KIND: Kind = Kind::Object(&ROOT);

pub(crate) static ROOT: Shape = Shape {
    name: "toolsearch",
    help: "Configuration of toolsearch.",
    stands_alone: false,
    fields: &[
        Field::new(
            "$schema",
            Kind::Text,
            "Address of this schema, for editors.",
        ),
        Field::new(
            "tools",
            Kind::Object(&TOOLS),
            "Tool search and the rules for all agents.",
        ),
        Field::new(
            "agents",
            Kind::Object(&AGENTS),
            "Agents with rules of their own.",
        ),
        Field::new(
            "mcpServers",
            Kind::Map(&Kind::Object(&SERVER)),
            "MCP servers by name.",
        )
        .meant(&["servers", "mcp_servers", "mcp", "context_servers"]),
        Field::new(
            "plugins",
            Kind::List(&Kind::Text),
            "Plugin folders; globs are allowed.",
        ),
        Field::new(
            "hooks",
            Kind::Object(&HOOKS),
            "Commands that see every tool call.",
        ),
        Field::new(
            "approvals",
            Kind::Object(&APPROVALS),
            "Who is asked before a call.",
        ),
        Field::new(
            "providers",
            Kind::Map(&Kind::Object(&PROVIDER)),
            "Model providers by name.",
        ),
        Field::new("gateway", Kind::Object(&GATEWAY), "The HTTP gateway."),
        Field::new("sandbox", Kind::Object(&SANDBOX), "How programs are held."),
        Field::new("telemetry", Kind::Object(&TELEMETRY), "Session logs."),
        Field::new(
            "store",
            Kind::Object(&STORE),
            "Where approvals and remembered definitions are kept.",
        ),
    ],
};

static TOOLS: Shape = Shape {
    name: "tools",
    help: "Tool search and the rules for all agents.",
    stands_alone: false,
    fields: &[
        TOOL_SEARCH_FIELD,
        Field::new("profile", Kind::Text, "Name of the profile to start from.").default("\"full\""),
        ALLOW,
        DENY,
        ASK,
        BY_PROVIDER,
        Field::new(
            "byChannel",
            Kind::Map(&RULES_KIND),
            "Further rules for the sessions of one channel.",
        )
        .meant(&["channels"]),
        Field::new(
            "sandbox",
            Kind::Object(&RULES),
            "Further rules for work in a sandbox.",
        ),
        Field::new(
            "subagents",
            Kind::Object(&RULES),
            "Further rules for subagents, which never get more than their parents.",
        )
        .meant(&["subagent"]),
        Field::new(
            "groups",
            Kind::Map(&TEXTS),
            "Named groups of tools, such as `group:tickets`.",
        ),
        Field::new(
            "profiles",
            Kind::Map(&RULES_KIND),
            "Profiles of your own by name.",
        ),
        Field::new(
            "pins",
            Kind::Choice(&["off", "report", "warn", "enforce"]),
            "What happens when an MCP tool changes its definition: nothing, a report (`warn` means the \
             same), or it is held back until `toolsearch pins approve`.",
        )
        .default("\"report\""),
    ],
};

static SWITCH_OR_OPTIONS: &[Kind] = &[Kind::Bool, Kind::Object(&TOOL_SEARCH)];
const TOOL_SEARCH_FIELD: Field = Field::new(
    "toolSearch",
    Kind::Either(SWITCH_OR_OPTIONS),
    "true, false, or an object, which switches on unless it is empty or says `enabled: false`. \
     Not set: on unless the catalog is small.",
)
.meant(&["tool_search", "search"]);

pub(super) const ALLOW: Field = Field::new(
    "allow",
    Kind::List(&Kind::Text),
    "Globs of tools that may be used.",
)
.meant(&["allowed", "include", "allowlist"]);
pub(super) const DENY: Field = Field::new(
    "deny",
    Kind::List(&Kind::Text),
    "Globs of tools that may not be used.",
)
.meant(&["denied", "exclude", "denylist", "block"]);
const ASK: Field = Field::new(
    "ask",
    Kind::List(&Kind::Text),
    "Globs of tools that need an approval per call.",
)
.meant(&["confirm", "approve"]);
const PROFILE: Field = Field::new("profile", Kind::Text, "Name of the profile to start from.");
const BY_PROVIDER: Field = Field::new(
    "byProvider",
    Kind::Map(&RULES_KIND),
    "Further rules for one provider or `provider/model`.",
);

static RULES: Shape = Shape {
    name: "rules",
    help: "Rules for tools; deny wins over allow.",
    stands_alone: false,
    fields: &[PROFILE, ALLOW, DENY, ASK],
};

static TOOL_SEARCH: Shape = Shape {
    name: "toolSearch",
    help: "How tools are searched instead of listed.",
    stands_alone: false,
    fields: &[
        Field::new(
            "enabled",
            Kind::Bool,
            "false switches off and keeps the other values.",
        ),
        Field::new(
            "mode",
            Kind::Choice(&["code", "tools", "directory"]),
            "What the model is given.",
        )
        .default("\"code\""),
        Field::new(
            "engine",
            Kind::Choice(&["auto", "quickjs", "node"]),
            "What runs the model's programs in code mode.",
        )
        .default("\"auto\""),
        Field::new(
            "codeTimeoutMs",
            Kind::Count(&CODE_TIMEOUT_MS),
            "Time for one program.",
        )
        .meant(&["timeout", "timeoutMs"]),
        Field::new(
            "searchDefaultLimit",
            Kind::Count(&SEARCH_DEFAULT_LIMIT),
            "Results of a search that names no limit; never above maxSearchLimit.",
        )
        .meant(&["defaultLimit", "limit"]),
        Field::new(
            "maxSearchLimit",
            Kind::Count(&MAX_SEARCH_LIMIT),
            "Most results of one search.",
        )
        .meant(&["maxLimit"]),
        Field::new(
            "alwaysVisible",
            Kind::List(&Kind::Text),
            "Globs of tools that stay visible as well as searchable; grants no access.",
        ),
        Field::new(
            "likelySchemas",
            Kind::Count(&LIKELY_SCHEMAS),
            "Schemas that directory mode shows by a guess from the first message.",
        ),
        Field::new(
            "hiddenCalls",
            Kind::Bool,
            "Whether a hidden tool that is called by its exact name is run.",
        )
        .default("true"),
        Field::new(
            "assumeReadOnly",
            Kind::Bool,
            "Whether a search for tools that only read also finds those that do not say whether they do.",
        )
        .default("false"),
        Field::new(
            "controlNames",
            Kind::Object(&CONTROL_NAMES),
            "Names of the control tools.",
        ),
        Field::new(
            "search",
            Kind::Object(&SEARCH),
            "Whether and how meaning counts in a search; words always do.",
        )
        .meant(&["semantic", "ranking", "embeddings"]),
    ],
};

static SEARCH: Shape = Shape {
    name: "search",
    help: "Whether and how meaning counts in a search.",
    stands_alone: false,
    fields: &[
        Field::new(
            "embedder",
            Kind::Choice(&["off", "local", "http"]),
            "What makes vectors: nothing, a model in a folder of this machine, or a server.",
        )
        .default("\"off\"")
        .meant(&["provider", "engine"]),
        Field::new(
            "model",
            Kind::Word(&NOT_EMPTY),
            "local: a name of `toolsearch model list`, or a folder. http: what the server calls it.",
        ),
        Field::new(
            "baseUrl",
            Kind::Template,
            "http: address before /embeddings; variables are filled in.",
        )
        .meant(&["url", "baseURL", "base_url", "endpoint"]),
        Field::new(
            "apiKey",
            Kind::Template,
            "http: key sent to it; variables are filled in.",
        )
        .meant(&["key", "token", "api_key"]),
        Field::new(
            "dimensions",
            Kind::Count(&DIMENSIONS),
            "http: size of vectors to ask for; not set: as the model gives them.",
        ),
        Field::new(
            "queryPrefix",
            Kind::Text,
            "Put before every query; not set: as the model says.",
        ),
        Field::new(
            "documentPrefix",
            Kind::Text,
            "Put before the text of every tool; not set: as the model says.",
        ),
        Field::new(
            "multilingual",
            Kind::Bool,
            "Whether the model understands many languages; not set: as a local model says, else no.",
        )
        .meant(&["languages"]),
        Field::new(
            "timeoutMs",
            Kind::Count(&SEARCH_TIMEOUT_MS),
            "How long a search waits for the vector of its query; then words alone count.",
        )
        .meant(&["timeout"]),
    ],
};

static CONTROL_NAMES: Shape = Shape {
    name: "controlNames",
    help: "Names of the control tools, for models that trip over the usual ones.",
    stands_alone: false,
    fields: &[
        Field::new("search", Kind::Word(&CONTROL_NAME), "Searches.").default("\"tool_search\""),
        Field::new("describe", Kind::Word(&CONTROL_NAME), "Describes.")
            .default("\"tool_describe\""),
        Field::new("call", Kind::Word(&CONTROL_NAME), "Calls.").default("\"tool_call\""),
        Field::new("code", Kind::Word(&CONTROL_NAME), "Runs a program.")
            .default("\"tool_search_code\""),
    ],
};

static AGENTS: Shape = Shape {
    name: "agents",
    help: "Agents with rules of their own.",
    stands_alone: false,
    fields: &[
        Field::new(
            "defaults",
            Kind::Object(&AGENT_DEFAULTS),
            "What holds for every agent.",
        ),
        Field::new("list", Kind::List(&Kind::Object(&AGENT)), "The agents."),
    ],
};

const AGENT_RULES: Field = Field::new("tools", Kind::Object(&AGENT_TOOLS), "Rules of this agent.");

static AGENT_DEFAULTS: Shape = Shape {
    name: "agentDefaults",
    help: "What holds for every agent.",
    stands_alone: false,
    fields: &[AGENT_RULES, TOOL_SEARCH_FIELD],
};

static AGENT: Shape = Shape {
    name: "agent",
    help: "One agent.",
    stands_alone: false,
    fields: &[
        Field::new(
            "id",
            Kind::Word(&NOT_EMPTY),
            "Name for `--agent` and `/mcp/<agent>`.",
        )
        .required()
        .meant(&["name"]),
        AGENT_RULES,
        TOOL_SEARCH_FIELD,
    ],
};

static AGENT_TOOLS: Shape = Shape {
    name: "agentTools",
    help: "Rules of an agent; they narrow those for all agents.",
    stands_alone: false,
    fields: &[PROFILE, ALLOW, DENY, ASK, BY_PROVIDER],
};
