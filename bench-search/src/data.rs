//! Tools and queries: real ones from a folder of retrieval sets, else made up from lists of words. Not
//! here: what is measured with them.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};
use serde_json::json;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor, ToolId};
use toolsearch_eval::read;

/// Sets whose tools are taken, in this order, until there are enough.
const SETS: [&str; 7] = [
    "toucan-mcp",
    "mcp-real",
    "seal-tools",
    "stabletoolbench",
    "acebench-en",
    "bfcl",
    "composio-mocks",
];
/// The set whose queries are asked, as an agent and as a person would phrase them.
const ASKED: &str = "mcp-real";
const STYLES: [&str; 2] = ["agent", "human"];

const VERBS: [&str; 16] = [
    "create", "list", "delete", "search", "update", "send", "merge", "export", "import", "archive",
    "share", "rename", "assign", "publish", "restore", "schedule",
];
const NOUNS: [&str; 20] = [
    "issue",
    "mail",
    "file",
    "branch",
    "event",
    "alarm",
    "invoice",
    "page",
    "table",
    "song",
    "pod",
    "ticket",
    "contact",
    "report",
    "channel",
    "image",
    "folder",
    "payment",
    "review",
    "deployment",
];
const PLACES: [&str; 12] = [
    "workspace",
    "project",
    "team",
    "calendar",
    "repository",
    "account",
    "cluster",
    "board",
    "library",
    "store",
    "inbox",
    "archive",
];

/// A catalog of `size` tools. Where there are not so many, the same ones come again under other owners.
pub(crate) fn catalog(folder: Option<&Path>, size: usize) -> Result<Catalog> {
    let mut tools = match folder {
        Some(folder) => real(folder, size)?,
        None => (0..size.min(6_000)).map(made_up).collect(),
    };
    // Spread over all owners rather than the first few.
    if tools.len() > size {
        let all = tools.len();
        tools = (0..size).map(|at| tools[at * all / size].clone()).collect();
    }
    // Sets share tools, so ids are counted rather than rows.
    let mut taken: BTreeSet<ToolId> = BTreeSet::new();
    tools.retain(|tool| taken.insert(tool.id.clone()));
    let base = tools.len();
    let mut at = base;
    while tools.len() < size {
        let tool = &tools[at % base];
        let owner = format!("{}-{}", tool.owner, at / base + 1);
        let mut copy =
            ToolDescriptor::new(Source::Mcp, &owner, &tool.name, tool.input_schema.clone())?;
        copy.description.clone_from(&tool.description);
        copy.owner_description.clone_from(&tool.owner_description);
        at += 1;
        if taken.insert(copy.id.clone()) {
            tools.push(copy);
        }
    }
    Ok(tools.into_iter().collect())
}

fn real(folder: &Path, size: usize) -> Result<Vec<ToolDescriptor>> {
    let mut tools: Vec<ToolDescriptor> = Vec::new();
    for set in SETS {
        let path = folder.join(set).join("catalog.jsonl");
        if tools.len() >= size.min(17_570) && tools.len() >= size {
            break;
        }
        if path.is_file() {
            let catalog = read::tools(&path)?.catalog;
            tools.extend(
                catalog
                    .entries()
                    .iter()
                    .map(|tool| ToolDescriptor::clone(tool)),
            );
        }
    }
    if tools.is_empty() {
        bail!(
            "{} holds none of the sets {}",
            folder.display(),
            SETS.join(", ")
        );
    }
    Ok(tools)
}

fn made_up(at: usize) -> ToolDescriptor {
    let (verb, noun, place) = (VERBS[at % 16], NOUNS[at / 16 % 20], PLACES[at / 320 % 12]);
    let owner = format!("{place} service {}", at / 40);
    let schema = json!({ "type": "object", "properties": {
        format!("{noun}_id"): { "type": "string", "description": format!("Which {noun} of the {place}") },
        "limit": { "type": "integer", "description": "How many at most" },
    } });
    let name = format!("{verb}_{noun}_{}", at / 320);
    let tool = ToolDescriptor::new(Source::Mcp, &owner, &name, schema);
    let mut tool = tool.expect("because the name and the owner are not empty");
    tool.description = format!(
        "{verb} one {noun} or several of a {place}, and answer with the {noun} as it is afterwards, \
         its owner and its last change (number {at})"
    );
    tool
}

/// What is asked.
pub(crate) fn queries(folder: Option<&Path>) -> Result<Vec<String>> {
    let Some(folder) = folder else {
        let pairs = (0..160).map(|at| {
            let (verb, noun, place) = (VERBS[at % 16], NOUNS[at % 20], PLACES[at % 12]);
            match at % 3 {
                0 => format!("{verb} {noun}"),
                1 => format!("{verb} the {noun} of my {place}"),
                _ => format!("how do I {verb} a {noun} in the {place} service please"),
            }
        });
        return Ok(pairs.collect());
    };
    let all = read::queries(&folder.join(ASKED).join("queries.jsonl"))?;
    let wanted = all.into_iter().filter(|query| {
        query
            .style
            .as_deref()
            .is_some_and(|style| STYLES.contains(&style))
    });
    let queries: Vec<String> = wanted.map(|query| query.text).collect();
    if queries.is_empty() {
        bail!("{} has no queries", folder.join(ASKED).display());
    }
    Ok(queries)
}

/// Queries of any bytes, the same in every run: random bytes read as text, words of random letters, words
/// of the catalog with letters changed, and long repetitions.
pub(crate) fn hostile(catalog: &Catalog, count: usize) -> Vec<String> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as usize % below.max(1)
    };
    let entries = catalog.entries();
    let mut query = |at: usize| match at % 5 {
        0 => {
            let bytes: Vec<u8> = (0..next(512)).map(|_| next(256) as u8).collect();
            String::from_utf8_lossy(&bytes).into_owned()
        }
        1 => {
            let letter = |_| char::from(b'a' + next(26) as u8);
            let letters: Vec<char> = (0..512).map(letter).collect();
            letters
                .chunks(3 + at % 7)
                .map(|word| word.iter().collect::<String>() + " ")
                .collect()
        }
        2 => {
            let mut text = String::new();
            while text.len() < 400 {
                text.push_str(&entries[next(entries.len())].name);
                text.push(' ');
            }
            let place = text.floor_char_boundary(next(text.len()));
            text.insert(place, 'q');
            text
        }
        3 => {
            let name = &entries[next(entries.len())].name;
            let mut letters: Vec<char> = name.chars().collect();
            let at = next(letters.len());
            letters[at] = char::from(b'a' + next(26) as u8);
            letters.into_iter().collect()
        }
        _ => {
            let c = char::from_u32(next(0x3_0000) as u32).unwrap_or('天');
            c.to_string().repeat(next(5_000))
        }
    };
    (0..count).map(&mut query).collect()
}
