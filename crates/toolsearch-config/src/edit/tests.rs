//! Tests of `edit`.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json5::tests::any_value;

const FILE: &str = "\
// my tools
{
  tools: {
    toolSearch: {
      mode: 'code', // programs
    },
    /* nobody deletes */
    deny: [\"mcp:*:delete_*\"],
  },
  mcpServers: {
    // issues
    github: { command: \"npx\", args: [\"-y\", \"gh\"] },
  },
}
";

fn check_set(text: &str, path: &str, value: &str, expected: &str) {
    match set(text, path, value) {
        Ok(found) => assert_eq!(found, expected, "{path} = {value}"),
        Err(error) => panic!("{path} = {value}: {error}"),
    }
}

/// What stands in `FILE` after one replacement.
fn with(from: &str, to: &str) -> String {
    assert_eq!(FILE.matches(from).count(), 1, "{from}");
    FILE.replace(from, to)
}

#[test]
fn a_value_is_replaced_and_comments_stay() {
    check_set(
        FILE,
        "tools.toolSearch.mode",
        "'tools'",
        &with("'code'", "'tools'"),
    );
    check_set(
        FILE,
        "tools.deny[0]",
        "\"x\"",
        &with("\"mcp:*:delete_*\"", "\"x\""),
    );
    let whole = with("{\n      mode: 'code', // programs\n    }", "true");
    check_set(FILE, "tools.toolSearch", "true", &whole);
    check_set(FILE, "tools.toolSearch", " true // on\n", &whole);
    check_set(
        FILE,
        "mcpServers.github.args[1]",
        "'other'",
        &with("\"gh\"", "'other'"),
    );
}

#[test]
fn new_keys_follow_the_layout_around_them() {
    let after_mode = with("// programs\n", "// programs\n      codeTimeoutMs: 5000,\n");
    check_set(FILE, "tools.toolSearch.codeTimeoutMs", "5000", &after_mode);
    let env = with("\"gh\"] }", "\"gh\"], env: { TOKEN: \"t\" } }");
    check_set(FILE, "mcpServers.github.env.TOKEN", "\"t\"", &env);
    check_set(
        FILE,
        "tools.deny[1]",
        "'y'",
        &with("delete_*\"]", "delete_*\", 'y']"),
    );
    let server = with(
        "\"gh\"] },\n",
        "\"gh\"] },\n    docs: {\n      url: \"https://d/mcp\",\n    },\n",
    );
    check_set(FILE, "mcpServers.docs.url", "\"https://d/mcp\"", &server);
    let agents = format!(
        "{}  agents: {{\n    list: [\n      {{ id: 'a' }},\n    ],\n  }},\n}}\n",
        &FILE[..FILE.len() - 2]
    );
    check_set(FILE, "agents.list[0]", "{ id: 'a' }", &agents);
    let group = with(
        "],\n  },\n",
        "],\n    groups: {\n      \"group:x\": [],\n    },\n  },\n",
    );
    check_set(FILE, "tools.groups.group:x", "[]", &group);
}

#[test]
fn an_empty_file_becomes_one() {
    let file = "{\n  tools: {\n    toolSearch: true,\n  },\n}\n";
    check_set("", "tools.toolSearch", "true", file);
    check_set("{}", "tools.toolSearch", "true", file.trim_end());
    check_set("{}\n", "tools.toolSearch", "true", file);
    check_set(
        "// later",
        "tools.toolSearch",
        "true",
        &format!("// later\n{file}"),
    );
    let commented = "{\n  // later\n  store: {},\n}\n";
    check_set("{\n  // later\n}\n", "store", "{}", commented);
}

#[test]
fn other_layouts_are_kept() {
    check_set("{plugins: []}", "plugins[0]", "'p'", "{plugins: ['p']}");
    check_set(
        "{ plugins: [], }",
        "store",
        "{}",
        "{ plugins: [], store: {}, }",
    );
    check_set(
        "{\"plugins\": []}",
        "store",
        "{}",
        "{\"plugins\": [], \"store\": {}}",
    );
    check_set(
        "{\r\n\t\"plugins\": [] // none\r\n}\r\n",
        "tools.toolSearch",
        "false",
        "{\r\n\t\"plugins\": [], // none\r\n\t\"tools\": {\r\n\t\t\"toolSearch\": false\r\n\t}\r\n}\r\n",
    );
    check_set(
        "\u{feff}{plugins: []}",
        "plugins",
        "['p']",
        "\u{feff}{plugins: ['p']}",
    );
    check_set(
        "{ tools: {} }",
        "tools.toolSearch",
        "true",
        "{ tools: { toolSearch: true } }",
    );
}

#[test]
fn a_switch_becomes_an_object_that_keeps_it() {
    let mode = "{ tools: { toolSearch: { enabled: false, mode: 'tools' } } }";
    check_set(
        "{ tools: { toolSearch: false } }",
        "tools.toolSearch.mode",
        "'tools'",
        mode,
    );
    let on = "{ tools: { toolSearch: { enabled: true } } }";
    check_set(
        "{ tools: { toolSearch: false } }",
        "tools.toolSearch.enabled",
        "true",
        on,
    );
}

#[test]
fn what_would_be_wrong_changes_nothing() {
    let check = |text: &str, path: &str, value: &str, words: &str| {
        let error = set(text, path, value).expect_err(path).to_string();
        assert!(error.contains(words), "{path} = {value}: {error}");
    };
    check(
        FILE,
        "tools.toolSeach",
        "true",
        "tools.toolSeach: unknown key; did you mean `toolSearch`?",
    );
    check(
        FILE,
        "tools.toolSearch.mode",
        "'x'",
        "nothing was changed: tools.toolSearch.mode: expected one of",
    );
    check(
        FILE,
        "tools.toolSearch",
        "12",
        "expected true or false, or an object",
    );
    check(FILE, "mcpServers.github.args", "'x'", "expected an array");
    check(
        FILE,
        "tools.toolSearch.mode.x",
        "1",
        "`tools.toolSearch.mode` is a string",
    );
    check(FILE, "tools.deny[5]", "'x'", "has 1 elements; next is [1]");
    check(FILE, "agents.list[1].id", "'x'", "beyond the end");
    check(FILE, "tools.toolSearch", "", "it is empty");
    check(FILE, "tools.toolSearch", "tools", "a string needs quotes");
    check(FILE, "tools.toolSearch", "true, x: 1", "expected the end");
    check(FILE, "tools..x", "1", "is no path");
    check("{", "tools.toolSearch", "true", "expected a key");
    check(
        "{agents: {list: [{id: 'a'}]}}",
        "agents.list[1]",
        "{id: 'a'}",
        "stands twice",
    );
}

#[test]
fn a_value_goes_with_its_line() {
    let check = |text: &str, path: &str, expected: &str| match unset(text, path) {
        Ok(found) => assert_eq!(found, expected, "{path}"),
        Err(error) => panic!("{path}: {error}"),
    };
    check(
        FILE,
        "tools.toolSearch.mode",
        &with("      mode: 'code', // programs\n", ""),
    );
    let search = with(
        "    toolSearch: {\n      mode: 'code', // programs\n    },\n",
        "",
    );
    check(FILE, "tools.toolSearch", &search);
    check(
        FILE,
        "mcpServers.github.args",
        &with(", args: [\"-y\", \"gh\"]", ""),
    );
    check(
        FILE,
        "mcpServers.github.command",
        &with("command: \"npx\", ", ""),
    );
    check(FILE, "mcpServers.github.args[0]", &with("\"-y\", ", ""));
    check("{ plugins: ['p'] }", "plugins", "{ }");
    check(
        "{\n  plugins: [],\n  store: {}\n}\n",
        "store",
        "{\n  plugins: []\n}\n",
    );
    check(
        "{\r\n  plugins: [],\r\n  store: {}\r\n}\r\n",
        "plugins",
        "{\r\n  store: {}\r\n}\r\n",
    );
    check("{tols: 1, store: {}}", "tols", "{store: {}}");
    check("{tols: 1, strore: {}}", "tols", "{strore: {}}");
    let missing = unset(FILE, "tools.allow").expect_err("missing");
    assert_eq!(missing.to_string(), "`tools.allow` is not set");
    let needed = unset("{agents: {list: [{id: 'a'}]}}", "agents.list[0].id").expect_err("needed");
    assert!(needed.to_string().contains("`id` is missing"), "{needed}");
}

#[test]
fn words_become_literals_that_fit() {
    let check = |path: &str, word: &str, expected: &str| {
        assert_eq!(literal(path, word), expected, "{path} {word}");
    };
    check("tools.toolSearch", "true", "true");
    check("tools.toolSearch", "{mode: 'tools'}", "{mode: 'tools'}");
    check("tools.toolSearch.mode", "tools", "\"tools\"");
    check("tools.toolSearch.codeTimeoutMs", "5000", "5000");
    check("mcpServers.x.env.PORT", "8080", "\"8080\"");
    check("mcpServers.x.env.PORT", "'8080'", "'8080'");
    check("mcpServers.x.command", "my \"tool\"", "\"my \\\"tool\\\"\"");
    check("mcpServers.x.args", "[\"-y\"]", "[\"-y\"]");
    check("tools.profile", "", "\"\"");
    check("no.such.key", "3", "3");
}

#[test]
fn values_are_found_by_path() {
    let document = Document::parse(FILE, "t").expect("valid");
    let found = |path: &str| get(&document, &path.parse().expect(path)).map(Node::to_json);
    assert_eq!(found("mcpServers.github.args[1]"), Some(json!("gh")));
    assert_eq!(found("mcpServers.github.args[2]"), None);
    assert_eq!(found("tools.toolSearch.mode"), Some(json!("code")));
}

#[test]
fn plain_json_stays_plain_json() {
    let set_json = |text: &str, path: &str, value: &str| {
        set_unchecked(text, path, value, Format::Json).expect(path)
    };
    let new = set_json("", "mcpServers.toolsearch", "{\"command\": \"toolsearch\"}");
    let more = set_json(&new, "other.key", "1");
    let value: Value = serde_json::from_str(&more).expect("plain JSON");
    assert_eq!(value["mcpServers"]["toolsearch"]["command"], "toolsearch");
    assert_eq!(value["other"]["key"], 1);
    let less = unset_unchecked(&more, "other").expect("unset");
    assert_eq!(less, new);
}

/// A value written with comments, odd blanks and any quotes; `plan` decides where.
fn written(value: &Value, plan: &mut impl Iterator<Item = u8>) -> String {
    let mut gap = || match plan.next().unwrap_or(0) % 7 {
        0 => "",
        1 => " ",
        2 => "\n  ",
        3 => "/* ,}] */",
        4 => "// ]}, 'x\n",
        5 => "\r\n\t",
        _ => " /* \n */ ",
    };
    let (a, b, c) = (gap(), gap(), gap());
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| written(item, plan)).collect();
            let comma = if items.is_empty() || c.is_empty() {
                ""
            } else {
                ","
            };
            format!("[{a}{}{b}{comma}{c}]", items.join(&format!("{b},{a}")))
        }
        Value::Object(map) => {
            let members: Vec<String> = map
                .iter()
                .map(|(key, value)| format!("{}{b}:{a}{}", json!(key), written(value, plan)))
                .collect();
            let comma = if members.is_empty() || c.is_empty() {
                ""
            } else {
                ","
            };
            format!("{{{a}{}{b}{comma}{c}}}", members.join(&format!("{c},{a}")))
        }
        leaf => leaf.to_string(),
    }
}

/// Every path of a value, the value itself left out.
fn paths(value: &Value, at: &KeyPath, into: &mut Vec<KeyPath>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                into.push(at.index(index));
                paths(item, &at.index(index), into);
            }
        }
        Value::Object(map) => {
            // A path shows very long keys shortened; such keys cannot be addressed.
            for (key, item) in map.iter().filter(|(key, _)| key.chars().count() < 200) {
                into.push(at.key(key));
                paths(item, &at.key(key), into);
            }
        }
        _ => {}
    }
}

fn object() -> impl Strategy<Value = Value> {
    any_value().prop_map(|inner| json!({ "a": inner, "b": [1, { "c": "d" }] }))
}

/// The value with another one in place; `None` removes.
fn changed(value: &Value, steps: &[Step], new: Option<&Value>) -> Value {
    let mut value = value.clone();
    let (last, around) = steps.split_last().expect("a step");
    let parent = around.iter().fold(&mut value, |value, step| match step {
        Step::Key(key) => &mut value[key.as_str()],
        Step::Index(index) => &mut value[*index],
    });
    match (last, parent, new) {
        (Step::Key(key), Value::Object(map), Some(new)) => {
            drop(map.insert(key.clone(), new.clone()))
        }
        (Step::Key(key), Value::Object(map), None) => drop(map.shift_remove(key)),
        (Step::Index(index), Value::Array(items), Some(new)) if *index == items.len() => {
            items.push(new.clone());
        }
        (Step::Index(index), Value::Array(items), Some(new)) => items[*index] = new.clone(),
        (Step::Index(index), Value::Array(items), None) => drop(items.remove(*index)),
        _ => panic!("no such place"),
    }
    value
}

proptest! {
    #[test]
    fn a_set_value_is_read_back_and_the_rest_is_untouched(
        before in object(), new in any_value(),
        plan in proptest::collection::vec(any::<u8>(), 1..30), pick in any::<prop::sample::Index>(),
    ) {
        let text = written(&before, &mut plan.iter().copied().cycle());
        let mut all = Vec::new();
        paths(&before, &KeyPath::default(), &mut all);
        let path = pick.get(&all);
        let value = written(&new, &mut plan.iter().rev().copied().cycle());
        let edited = set_unchecked(&text, &path.to_string(), &value, Format::Json5).expect("set");
        let document = Document::parse(&text, "t").expect("before");
        let span = get(&document, path).expect("value").span.clone();
        prop_assert!(edited.starts_with(&text[..span.start]));
        prop_assert!(edited.ends_with(&text[span.end..]));
        let after = Document::parse(&edited, "t").expect("after").root().to_json();
        prop_assert_eq!(after, changed(&before, path.steps(), Some(&new)));
    }

    #[test]
    fn a_new_value_joins_what_was_there(
        before in object(), new in any_value(),
        plan in proptest::collection::vec(any::<u8>(), 1..30), pick in any::<prop::sample::Index>(),
    ) {
        let text = written(&before, &mut plan.iter().copied().cycle());
        let mut places = vec![KeyPath::default()];
        paths(&before, &KeyPath::default(), &mut places);
        places.retain(|path| {
            let step = |value: &Value, step: &Step| match step {
                Step::Key(key) => value[key.as_str()].clone(),
                Step::Index(index) => value[*index].clone(),
            };
            let at = path.steps().iter().fold(before.clone(), |value, s| step(&value, s));
            at.is_object() || at.is_array()
        });
        let place = pick.get(&places);
        let document = Document::parse(&text, "t").expect("before");
        let path = match &get(&document, place).expect("place").kind {
            NodeKind::Array(items) => place.index(items.len()),
            _ => place.key("new key!"),
        };
        let edited =
            set_unchecked(&text, &path.to_string(), &new.to_string(), Format::Json5).expect("set");
        let after = Document::parse(&edited, "t").expect("after").root().to_json();
        prop_assert_eq!(&after, &changed(&before, path.steps(), Some(&new)));
        // Nothing is lost: the old text is the new one with the insertion left out.
        let mut rest = edited.chars();
        prop_assert!(text.chars().filter(|c| !c.is_whitespace()).all(|c| rest.any(|d| d == c)));
        let removed = unset_unchecked(&edited, &path.to_string()).expect("unset");
        prop_assert_eq!(Document::parse(&removed, "t").expect("removed").root().to_json(), before);
    }

    #[test]
    fn a_removed_value_leaves_the_others(
        before in object(), plan in proptest::collection::vec(any::<u8>(), 1..30),
        pick in any::<prop::sample::Index>(),
    ) {
        let text = written(&before, &mut plan.iter().copied().cycle());
        let mut all = Vec::new();
        paths(&before, &KeyPath::default(), &mut all);
        let path = pick.get(&all);
        let edited = unset_unchecked(&text, &path.to_string()).expect("unset");
        let after = Document::parse(&edited, "t").expect("after").root().to_json();
        prop_assert_eq!(after, changed(&before, path.steps(), None));
    }

    #[test]
    fn a_valid_file_stays_valid(limit in 1u64..100, mode in "(code|tools|directory)", on: bool) {
        let mut text = FILE.to_owned();
        for (path, value) in [
            ("tools.toolSearch.maxSearchLimit", limit.to_string()),
            ("tools.toolSearch.mode", json!(mode).to_string()),
            ("tools.toolSearch.enabled", on.to_string()),
        ] {
            text = set(&text, path, &value).expect(path);
            let document = Document::parse(&text, "t").expect("valid");
            let node = get(&document, &path.parse().expect(path)).expect(path);
            prop_assert_eq!(node.to_json().to_string(), value);
        }
        for comment in ["// my tools", "// programs", "/* nobody deletes */", "// issues"] {
            prop_assert_eq!(text.matches(comment).count(), 1);
        }
    }
}
