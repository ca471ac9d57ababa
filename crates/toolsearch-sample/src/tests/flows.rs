//! Every tool runs at least once, with arguments made from its schema alone.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use toolsearch_catalog::{Outcome, ToolDescriptor};

use super::Desk;
use crate::field::{Field, Kind};
use crate::plan::{Entity, Role, SERVICES};
use crate::spec::Op;

/// A value that a schema accepts; `full` fills optional parts too.
fn generate(schema: &Value, full: bool, salt: usize) -> Value {
    if let Some(example) = schema["examples"].get(0) {
        return example.clone();
    }
    if let Some(options) = schema["enum"].as_array() {
        return options[salt % options.len()].clone();
    }
    match schema["type"].as_str().unwrap() {
        "object" if schema.get("properties").is_none() => json!({"note": "any"}),
        "object" => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let wanted = |name: &String| full || required.contains(&json!(name));
            let properties = schema["properties"].as_object().unwrap().iter();
            let filled = properties.filter(|(name, _)| wanted(name));
            filled
                .map(|(name, part)| (name.clone(), generate(part, full, salt)))
                .collect()
        }
        "array" => json!([generate(&schema["items"], full, salt)]),
        "integer" | "number" => {
            let bound = |word: &str| schema[word].as_f64();
            let least = bound("minimum").unwrap_or(1.0);
            let value = (least + 1.0).min(bound("maximum").unwrap_or(f64::MAX));
            if value.fract() == 0.0 {
                json!(value as i64)
            } else {
                json!(value)
            }
        }
        "boolean" => json!(salt.is_multiple_of(2)),
        _ => match schema["format"].as_str() {
            Some("date") => json!("2026-03-04"),
            Some("date-time") => json!("2026-03-04T05:06:07Z"),
            Some("email") => json!(format!("person{salt}@example.org")),
            Some("uri") => json!("https://example.org/x"),
            _ => json!(format!("sample {salt}")),
        },
    }
}

/// Ids that a service holds now.
fn ids(desk: &Desk, owner: &str, entity: &Entity) -> Vec<String> {
    let Some(list) = entity
        .tools
        .iter()
        .find(|tool| tool.op == Op::List && tool.options.r#where.0.is_empty())
    else {
        return entity.first_id().into_iter().collect();
    };
    let page = desk.ok(owner, list.name, json!({"limit": 100}));
    let records = page[entity.plural].as_array().unwrap().iter();
    records
        .map(|record| record["id"].as_str().unwrap().to_owned())
        .collect()
}

/// Every way to call a tool: with what is required and with everything, on every record there is.
fn attempts(tool: &ToolDescriptor, param: Option<&str>, ids: &[String], salt: usize) -> Vec<Value> {
    let mut attempts = Vec::new();
    for full in [!salt.is_multiple_of(2), salt.is_multiple_of(2)] {
        let args = generate(&tool.input_schema, full, salt);
        match param {
            None => attempts.push(args),
            Some(param) => attempts.extend(ids.iter().map(|id| {
                let mut args = args.clone();
                args[param] = json!(id);
                args
            })),
        }
    }
    attempts
}

#[test]
fn every_tool_works() {
    let desk = Desk::new();
    let mut failures = Vec::new();
    for service in SERVICES.iter() {
        let mut open: BTreeSet<&str> = service.tools().map(|(_, tool)| tool.name).collect();
        let deletes = service
            .tools()
            .filter(|(_, tool)| tool.op == Op::Delete)
            .count();
        let mut last = BTreeMap::new();
        // A tool may need a state that another one brings about, so they take turns, each working on
        // one record, until nothing is left to try. Tools that remove records come last.
        for round in 0..12 {
            let mut turns: Vec<_> = service.tools().collect();
            let first = round % turns.len();
            turns.rotate_left(first);
            let left = |op: Op| op != Op::Delete || open.len() <= deletes || round > 8;
            turns.retain(|(_, tool)| left(tool.op));
            if open.is_empty() {
                break;
            }
            for (entity, tool) in turns {
                let descriptor = desk.tool(service.name, tool.name);
                let by_id = tool.params.iter().any(|param| param.role == Role::Id);
                let known = ids(&desk, service.name, entity);
                let param = by_id.then_some(entity.param);
                for args in attempts(&descriptor, param, &known, round) {
                    let outcome = desk.outcome(service.name, tool.name, args.clone());
                    if outcome.is_error {
                        last.insert(tool.name, format!("{args}: {}", outcome.joined_text()));
                    } else {
                        check_result(&descriptor, &outcome);
                        open.remove(tool.name);
                        break;
                    }
                }
            }
        }
        last.retain(|name, _| open.contains(name));
        if !open.is_empty() {
            failures.push(format!("{}: {last:#?}", service.name));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check_result(tool: &ToolDescriptor, outcome: &Outcome) {
    let structured = outcome.structured.as_deref().unwrap();
    assert!(structured.is_object(), "{}", tool.id);
    assert_eq!(
        serde_json::from_str::<Value>(&outcome.joined_text()).unwrap(),
        *structured
    );
    if let Some(schema) = &tool.output_schema {
        let validator = jsonschema::draft202012::new(schema).unwrap();
        if let Err(error) = validator.validate(structured) {
            panic!("{}: {error}\n{structured}", tool.id);
        }
    }
}

/// Per entity, as far as it has the tools: create → get → update → search → list → delete.
#[test]
fn records_live_their_lives() {
    let mut flows = 0;
    for service in SERVICES.iter() {
        for entity in &service.entities {
            let desk = Desk::new();
            let tool = |op| entity.tools.iter().find(|tool| tool.op == op);
            let Some(create) = tool(Op::Create) else {
                continue;
            };
            let descriptor = desk.tool(service.name, create.name);
            let made = desk.ok(
                service.name,
                create.name,
                generate(&descriptor.input_schema, true, 7),
            );
            let id = made["id"].as_str().unwrap().to_owned();
            let has = |page: &Value| {
                page[entity.plural]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|record| record["id"] == id[..])
            };
            if let Some(get) = tool(Op::Get) {
                assert_eq!(
                    desk.ok(service.name, get.name, json!({entity.param: id})),
                    made
                );
                flows += 1;
            }
            let mut now = made.clone();
            if let Some(update) = tool(Op::Update) {
                let schema = &desk.tool(service.name, update.name).input_schema;
                let mut args = generate(schema, true, 8);
                args[entity.param] = json!(id);
                let changed = desk.ok(service.name, update.name, args.clone());
                for (name, value) in args.as_object().unwrap().iter().skip(1) {
                    assert_eq!(&changed[name], value, "{}/{}", service.name, update.name);
                }
                assert_ne!(changed[entity.updated_at], made[entity.updated_at]);
                now = changed;
            }
            if let Some(search) = tool(Op::Search) {
                let named = |field: &&Field| matches!(field.kind, Kind::Text);
                let field = entity.fields.iter().find(named).unwrap().name;
                let args = json!({"query": now[field], "limit": 100});
                assert!(
                    has(&desk.ok(service.name, search.name, args)),
                    "{}",
                    search.name
                );
                let args = json!({"query": "zzzqqq"});
                assert_eq!(desk.ok(service.name, search.name, args)["total"], 0);
            }
            if let Some(list) = tool(Op::List).filter(|tool| tool.options.r#where.0.is_empty()) {
                assert!(has(&desk.ok(
                    service.name,
                    list.name,
                    json!({"limit": 100})
                )));
                if let Some(delete) = tool(Op::Delete) {
                    desk.ok(service.name, delete.name, json!({entity.param: id}));
                    assert!(!has(&desk.ok(
                        service.name,
                        list.name,
                        json!({"limit": 100})
                    )));
                    desk.err(service.name, delete.name, json!({entity.param: id}));
                }
            }
        }
    }
    assert!(flows >= 20, "{flows}");
}
