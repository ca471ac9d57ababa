//! The fake plugin: a large catalog of tools with long descriptions. Its command is this very
//! binary, so that a call is a real process whose effect is a line in a file.

use std::fs::{self, OpenOptions};
use std::io::{Read, Write};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use serde_json::{Value, json};

/// The argument that makes this binary act as the plugin's command. The file for effects may follow.
pub(crate) const ACT: &str = "act-as-plugin-tool";
/// The variable with the file that effects are written to.
pub(crate) const EFFECTS: &str = "QA_EFFECTS";
/// The plugin's name.
pub(crate) const NAME: &str = "workshop";
/// The tool that every lane has to call.
pub(crate) const TARGET: &str = "seal_lantern";
/// The tool that stays visible in every mode.
pub(crate) const VISIBLE: &str = "bench_status";
/// Words that stand in the schema of every tool and nowhere else.
pub(crate) const SCHEMA_MARK: &str = "engraved on the brass tag";

/// What the tools are about; one tool each.
const THINGS: [&str; 40] = [
    "anchor",
    "barrel",
    "bellows",
    "cabinet",
    "candle",
    "carriage",
    "clock",
    "compass",
    "cradle",
    "drawer",
    "easel",
    "fiddle",
    "flute",
    "gate",
    "globe",
    "hammock",
    "harness",
    "helmet",
    "hourglass",
    "kettle",
    "ladder",
    "lantern",
    "loom",
    "mirror",
    "oar",
    "organ",
    "paddle",
    "pendulum",
    "quilt",
    "raft",
    "saddle",
    "sextant",
    "shutter",
    "spindle",
    "telescope",
    "trellis",
    "trunk",
    "violin",
    "wagon",
    "windmill",
];

/// How many tools the plugin has.
pub(crate) const TOOLS: usize = THINGS.len() + 1;

/// The names of the tools that may be hidden.
pub(crate) fn hidden_names() -> Vec<String> {
    THINGS.iter().map(|thing| format!("seal_{thing}")).collect()
}

/// Writes the plugin into `<root>/plugins/workshop`.
pub(crate) fn write(root: &Path) -> Result<()> {
    let folder = root.join("plugins").join(NAME);
    fs::create_dir_all(&folder)?;
    let own = std::env::current_exe().context("cannot tell where this binary is")?;
    let mut tools: Vec<Value> = THINGS.iter().map(|thing| sealing(thing)).collect();
    tools.push(json!({
        "name": VISIBLE,
        "description": "Tells which bench of the workshop is free.",
        "inputSchema": {"type": "object", "properties": {}, "additionalProperties": false},
        "catalogMode": "direct-only",
    }));
    let manifest = json!({
        "name": NAME,
        "description": "A workshop that seals things.",
        "command": [own, ACT],
        "env": [EFFECTS],
        "tools": tools,
    });
    let text = format!("// Written by the scenario.\n{manifest:#}\n");
    fs::write(folder.join("toolsearch.plugin.json5"), text)?;
    Ok(())
}

fn sealing(thing: &str) -> Value {
    let description = format!(
        "Seals one {thing} of the workshop with wax and enters it into the book. The {thing} is \
         looked up by the marker that was given out when it came in, checked for cracks and loose \
         parts, cleaned, sealed at the two places that the guild asks for, and put on the shelf \
         from which it is fetched. Use it once for every {thing}, after all repairs are done, \
         because a seal that was set cannot be taken off again without leaving a mark. The answer \
         holds a receipt with the number under which the {thing} stands in the book."
    );
    json!({
        "name": format!("seal_{thing}"),
        "description": description,
        "inputSchema": {
            "type": "object",
            "properties": {
                "marker": {
                    "type": "string",
                    "description": format!("The marker of the {thing}, as {SCHEMA_MARK}."),
                },
            },
            "required": ["marker"],
            "additionalProperties": false,
        },
        "outputSchema": {
            "type": "object",
            "properties": {"receipt": {"type": "string"}},
            "required": ["receipt"],
        },
    })
}

/// Runs one tool: a call on standard input, its effect in the file, its result on standard output.
/// The receipt is made up here, so whoever knows it has been here.
pub(crate) fn act(effects: Option<&str>) -> Result<()> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    let mut call: Value = serde_json::from_str(&text).context("the call is no JSON")?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
    let receipt = format!("receipt-{:x}-{now:x}", std::process::id());
    call["receipt"] = json!(receipt);
    let path = effects
        .map(Into::into)
        .or_else(|| std::env::var_os(EFFECTS))
        .context("the file for effects is not named")?;
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    file.write_all(format!("{call}\n").as_bytes())?;
    let result = json!({ "receipt": receipt });
    std::io::stdout().write_all(result.to_string().as_bytes())?;
    Ok(())
}

/// The effects so far, one a call.
pub(crate) fn effects(path: &Path) -> Result<Vec<Value>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let lines = text.lines().map(serde_json::from_str);
    lines
        .collect::<Result<_, _>>()
        .context("a line of the effects is no JSON")
}
