//! Lists that real servers gave, where a folder of them is at hand: `TOOLSEARCH_CAPTURED` names it.
//! One file a server, each a `tools/list` result.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Gateway, Home, Lines};

/// The folder, or nothing with a note.
#[expect(clippy::print_stderr, reason = "says why nothing was tested")]
fn folder() -> Option<PathBuf> {
    let folder = std::env::var_os("TOOLSEARCH_CAPTURED").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("note: TOOLSEARCH_CAPTURED names no folder of captured lists; nothing is tested");
    }
    folder
}

/// Pairs of a server and the name of a tool.
type Tools = BTreeSet<(String, String)>;

/// The tools, as the files hold them; those that their server keeps from models are apart.
fn captured(folder: &Path) -> (Tools, Tools) {
    let mut sets = (Tools::new(), Tools::new());
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap();
        let Some(server) = file.strip_suffix(".tools.json") else {
            continue;
        };
        let text = fs::read_to_string(&path).unwrap();
        let list: Value = serde_json::from_str(&text).unwrap();
        for tool in list["tools"].as_array().unwrap() {
            let pair = (server.to_owned(), tool["name"].as_str().unwrap().to_owned());
            match tool.pointer("/_meta/ui/visibility") {
                Some(who) if *who == json!(["app"]) => sets.1.insert(pair),
                _ => sets.0.insert(pair),
            };
        }
    }
    assert!(!sets.0.is_empty(), "{} holds no lists", folder.display());
    sets
}

fn home() -> Home {
    let home = Home::new();
    home.configure_text("{}");
    home
}

#[test]
fn no_tool_is_lost() {
    let Some(folder) = folder() else { return };
    let (tools, for_apps) = captured(&folder);
    let folder = folder.to_str().unwrap();
    let document = home().document(&["catalog", "list", "--json", "--tools", folder]);
    let pair = |entry: &Value, owner: &str| {
        let text = |key: &str| entry[key].as_str().unwrap().to_owned();
        (text(owner), text("name"))
    };
    let own = |tool: &&Value| tool["source"] != "native";
    let listed = document["tools"].as_array().unwrap().iter().filter(own);
    let listed: Tools = listed.map(|tool| pair(tool, "sourceName")).collect();
    let lost: Vec<_> = tools.difference(&listed).collect();
    assert!(lost.is_empty(), "{lost:?}");
    // What is not for models is not silently gone either.
    let rejected = document["rejected"].as_array().cloned().unwrap_or_default();
    let named: Tools = rejected.iter().map(|one| pair(one, "server")).collect();
    assert_eq!(named, for_apps);
}

#[test]
fn every_tool_is_found_by_its_exact_name() {
    let Some(folder) = folder() else { return };
    let (tools, _) = captured(&folder);
    let mut bearers: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, name) in &tools {
        *bearers.entry(name).or_default() += 1;
    }
    let home = home();
    let path = folder.to_str().unwrap().to_owned();
    let command = home.command(&["serve", "--mode", "tools", "--tools", &path]);
    let mut gateway = Gateway::greet(Lines::start(command), home);
    for (server, name) in &tools {
        let id = format!("mcp:{server}:{name}");
        let found = gateway.found(name);
        let first = &found[..bearers[name.as_str()].min(found.len())];
        assert!(first.contains(&id), "{id}: {found:?}");
        assert_eq!(gateway.describe(&id)["name"], **name);
    }
}

#[test]
fn compact_modes_are_small() {
    let Some(folder) = folder() else { return };
    let path = folder.to_str().unwrap();
    let sizes = home().document(&["catalog", "estimate", "--json", "--tools", path]);
    eprintln!("{sizes:#}");
    let tokens = |mode: &str| sizes[mode]["tokens"].as_u64().unwrap();
    assert!(tokens("code") <= 300, "{sizes}");
    assert!(tokens("tools") <= 600, "{sizes}");
    for mode in ["code", "tools"] {
        assert!(tokens("direct") >= 500 * tokens(mode), "{mode}: {sizes}");
        assert!(
            sizes["direct"]["bytes"].as_u64()
                >= sizes[mode]["bytes"].as_u64().map(|bytes| 500 * bytes),
            "{mode}: {sizes}"
        );
    }
    assert!(tokens("directory") < tokens("direct") / 20, "{sizes}");
}
