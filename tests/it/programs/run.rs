//! `toolsearch run`.

use std::fs;

use serde_json::json;

use crate::support::Home;

const PROGRAM: &str = "console.log('begun');
const [hit] = await tools.search('list contacts', { limit: 1 });
await tools.call(hit.id, {});
console.warn('ended');
return hit.name;";

fn home() -> Home {
    let home = Home::new();
    home.configure_text("{}");
    fs::write(home.path("program.js"), PROGRAM).unwrap();
    home
}

#[test]
fn logs_and_calls_are_told_as_they_come() {
    let home = home();
    let output = home.run(&["run", "program.js", "--trace"]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "list_contacts\n");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let places: Vec<usize> = [
        "begun",
        "search [\"list contacts\"]: 1 hit",
        "call native:contacts:list_contacts: done",
        "ended",
        "1 calls",
    ]
    .into_iter()
    .map(|text| {
        told.find(text)
            .unwrap_or_else(|| panic!("no `{text}` in {told}"))
    })
    .collect();
    assert!(places.is_sorted(), "{told}");
    assert_eq!(told.matches("begun").count(), 1, "{told}");
}

#[test]
fn engine_and_time_can_be_chosen() {
    let home = home();
    for engine in ["quickjs", "auto"] {
        let args = ["run", "program.js", "--engine", engine, "--json"];
        assert_eq!(home.document(&args)["telemetry"]["engine"], "quickjs");
    }
    let mut without = home.command(&["run", "program.js", "--engine", "node", "--json"]);
    let output = without.env("PATH", "/nonexistent").output().unwrap();
    assert_eq!(output.status.code(), Some(4), "{output:?}");
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("Node"),
        "{output:?}"
    );
    fs::write(home.path("endless.js"), "for (;;);").unwrap();
    let output = home.run(&["run", "endless.js", "--timeout-ms", "200", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["error"]["code"], json!("timeout"));
}
