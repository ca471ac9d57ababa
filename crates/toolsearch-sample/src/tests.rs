//! The data is rich and sound, and a sample is bounded and answers alike. Its tools run in `flows`
//! (all of them) and `verbs` (what single ones do).

mod conformance;
mod flows;
mod verbs;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use futures::executor::block_on;
use serde_json::{Map, Value, json};
use toolsearch_catalog::{CatalogBuilder, Outcome, Source, ToolDescriptor, ToolId, Trust};
use toolsearch_invoke::{CallId, Invocation, InvokeError, Invoker, Listing};

use crate::Sample;
use crate::plan::{SERVICES, load};
use crate::sample::listings;
use crate::store::{MAX_ITEMS, MAX_RECORDS, MAX_STORE_BYTES, MAX_TEXT_BYTES};

/// Calls tools by owner and name, as the dispatch does.
struct Desk {
    sample: Arc<Sample>,
    listings: Vec<Listing>,
}

impl Desk {
    fn new() -> Self {
        let sample = Arc::new(Sample::new());
        let listings = sample.listings();
        Self { sample, listings }
    }

    fn tool(&self, owner: &str, name: &str) -> Arc<ToolDescriptor> {
        let listing = self
            .listings
            .iter()
            .find(|listing| listing.owner == owner)
            .unwrap();
        Arc::clone(listing.tools.iter().find(|tool| tool.name == name).unwrap())
    }

    fn outcome(&self, owner: &str, name: &str, args: Value) -> Outcome {
        let tool = self.tool(owner, name);
        let invokers = self.sample.invokers();
        let invoker = Arc::clone(invokers.of(&tool).unwrap());
        let Value::Object(args) = args else {
            panic!("arguments are an object")
        };
        let call = Invocation::new(tool, args, CallId::outer(1), Duration::from_secs(1));
        block_on(invoker.invoke(call)).unwrap()
    }

    fn ok(&self, owner: &str, name: &str, args: Value) -> Value {
        let outcome = self.outcome(owner, name, args.clone());
        assert!(
            !outcome.is_error,
            "{owner}/{name} {args}: {}",
            outcome.joined_text()
        );
        outcome.value()
    }

    fn err(&self, owner: &str, name: &str, args: Value) -> String {
        let outcome = self.outcome(owner, name, args);
        assert!(
            outcome.is_error,
            "{owner}/{name}: {}",
            outcome.joined_text()
        );
        outcome.joined_text()
    }
}

fn all_tools() -> Vec<Arc<ToolDescriptor>> {
    Sample::new()
        .listings()
        .into_iter()
        .flat_map(|listing| listing.tools)
        .collect()
}

#[test]
fn the_data_is_rich_and_sound() {
    let tools = all_tools();
    assert!(tools.len() >= 400, "{} tools", tools.len());
    assert!(SERVICES.len() >= 50, "{} services", SERVICES.len());
    let ids: BTreeSet<&ToolId> = tools.iter().map(|tool| &tool.id).collect();
    assert_eq!(ids.len(), tools.len());
    let mut descriptions = BTreeSet::new();
    for tool in &tools {
        let length = tool.description.chars().count();
        assert!(
            (40..=300).contains(&length),
            "{}: {length} characters",
            tool.id
        );
        assert!(
            descriptions.insert(&tool.description),
            "{}: same description",
            tool.id
        );
        assert_eq!(
            (tool.source(), tool.trust),
            (Source::Native, Trust::Trusted)
        );
        let properties = tool.input_schema["properties"].as_object().unwrap();
        for (name, property) in properties {
            let described = property["description"]
                .as_str()
                .is_some_and(|text| text.len() > 3);
            assert!(described, "{}: `{name}` has no description", tool.id);
        }
    }
    for service in SERVICES.iter() {
        assert!(!service.about.is_empty());
        for entity in &service.entities {
            let count = entity.seed.len();
            assert!(
                (1..=5).contains(&count),
                "{}/{}: {count}",
                service.name,
                entity.name
            );
        }
    }
    let says = format!(
        "{} working tools of {} services",
        tools.len(),
        SERVICES.len()
    );
    assert!(
        include_str!("../README.md").contains(&says),
        "README.md should say: {says}"
    );
    let with_output = tools
        .iter()
        .filter(|tool| tool.output_schema.is_some())
        .count();
    assert!(with_output > 50 && with_output < tools.len());
}

#[test]
fn a_catalog_takes_every_tool() {
    let mut builder = CatalogBuilder::new();
    all_tools().into_iter().for_each(|tool| {
        builder.add(tool);
    });
    let (catalog, rejected) = builder.build();
    assert_eq!(rejected, []);
    for (text, id) in [
        ("create_issue", "native:github:create_issue"),
        ("github.create_issue", "native:github:create_issue"),
        ("calendar/create_event", "native:calendar:create_event"),
        ("searchFlights", "native:flights:searchFlights"),
        ("turn-on", "native:smart-home:turn-on"),
    ] {
        assert_eq!(catalog.resolve(text).unwrap().id.as_str(), id);
    }
}

#[test]
fn the_data_can_be_read_twice_with_the_same_result() {
    let print = |listings: &[Listing]| {
        let tools = listings.iter().flat_map(|listing| &listing.tools);
        let fingerprints: Vec<String> = tools.map(|tool| tool.fingerprint().to_string()).collect();
        format!("{listings:?}\n{fingerprints:?}")
    };
    let fresh = || print(&listings(&load().unwrap()));
    let first = fresh();
    assert_eq!(first, fresh());
    assert_eq!(first, print(&Sample::new().listings()));
}

#[test]
fn every_schema_is_valid_and_every_seed_fits_its_entity() {
    for tool in all_tools() {
        for schema in std::iter::once(&tool.input_schema).chain(&tool.output_schema) {
            if let Err(error) = jsonschema::draft202012::meta::validate(schema) {
                panic!("{}: {error}", tool.id);
            }
        }
    }
    for service in SERVICES.iter() {
        for entity in &service.entities {
            let schema = crate::schema::record(entity);
            let validator = jsonschema::draft202012::new(&schema).unwrap();
            let known: BTreeSet<&str> = entity.fields.iter().map(|field| field.name).collect();
            let mut store = crate::store::Store::default();
            for record in store.records(entity) {
                for name in record.keys().filter(|name| *name != "id") {
                    let (owner, entity) = (service.name, entity.name);
                    assert!(known.contains(name.as_str()), "{owner}/{entity}: {name}");
                }
                let record = Value::Object(record.clone());
                if let Err(error) = validator.validate(&record) {
                    panic!("{}/{}: {error}\n{record}", service.name, entity.name);
                }
            }
        }
    }
}

#[test]
fn unknown_ids_and_taken_ids_are_explained() {
    let desk = Desk::new();
    let unknown = desk.err("github", "get_issue", json!({"issue_id": "ISS-1009\u{7}"}));
    assert!(
        unknown.starts_with("there is no issue `ISS-1009`; near: ISS-100"),
        "{unknown}"
    );
    let long = desk.err("github", "get_issue", json!({"issue_id": "x".repeat(5000)}));
    assert!(long.len() < 300, "{long}");
    let taken = json!({"key": "dark-mode"});
    let taken = desk.err("feature_flags", "create_flag", taken);
    assert!(
        taken.contains("there is a flag `dark-mode` already"),
        "{taken}"
    );
    let empty = desk.err("feature_flags", "create_flag", json!({"key": ""}));
    assert!(empty.contains("`key` must have"), "{empty}");
    let nothing = desk.err("notes", "edit_note", json!({"note_id": "NOTE-1001"}));
    assert!(
        nothing.starts_with("give at least one of title, text"),
        "{nothing}"
    );
}

#[test]
fn two_samples_share_nothing_and_answer_alike() {
    let (one, two) = (Desk::new(), Desk::new());
    let create = json!({"text": "only here"});
    let first = one.ok("notes", "create_note", create.clone());
    assert_eq!(two.ok("notes", "list_notes", json!({}))["total"], 3);
    assert_eq!(two.ok("notes", "create_note", create), first);
    let dump = |desk: &Desk| {
        desk.outcome("notes", "list_notes", json!({}))
            .to_result_json()
    };
    assert_eq!(dump(&one).to_string(), dump(&two).to_string());
}

#[test]
fn hostile_arguments_are_refused_within_bounds() {
    let desk = Desk::new();
    let mut deep = json!("x");
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let many: Map<String, Value> = (0..50).map(|n| (format!("k{n}"), json!(1))).collect();
    for args in [
        json!({"pipeline": "p", "variables": {"deep": deep}}),
        json!({"pipeline": "x".repeat(MAX_TEXT_BYTES + 1)}),
        json!({"pipeline": null}),
        json!({"pipeline": ["p"]}),
        json!({"pipeline": "p", "priority": "HIGH"}),
        json!({"pipeline": "p", "status": "passed"}),
        Value::Object(many),
    ] {
        let text = desk.err("pipelines", "trigger_pipeline", args);
        assert!(text.len() < 1000, "{text}");
    }
    let tags = vec!["t"; MAX_ITEMS + 1];
    desk.err("notes", "create_note", json!({"text": "x", "tags": tags}));
    desk.err(
        "invoices",
        "create_invoice",
        json!({"customer": "c", "amount": -1, "due": "2026-01-01"}),
    );
    desk.err(
        "invoices",
        "create_invoice",
        json!({"customer": "c", "amount": 1, "due": "2026-13-01"}),
    );
    desk.err("mail", "archive_emails", json!({"email_ids": []}));
    desk.err("github", "search_issues", json!({"query": " !? "}));
}

#[test]
fn the_store_is_bounded() {
    let desk = Desk::new();
    let big = "x".repeat(MAX_TEXT_BYTES);
    let mut made = 0;
    let full = loop {
        let outcome = desk.outcome("notes", "create_note", json!({"text": big}));
        if outcome.is_error {
            break outcome.joined_text();
        }
        made += 1;
    };
    assert!(
        made * MAX_TEXT_BYTES <= MAX_STORE_BYTES && made > 100,
        "{made}"
    );
    assert!(full.contains("store is full"), "{full}");
    let page = desk.outcome("notes", "list_notes", json!({"limit": 100}));
    assert_eq!(page.value()["has_more"], true);
    assert!(page.bytes() < 2_000_000, "{}", page.bytes());
    desk.ok("notes", "delete_note", json!({"note_id": "NOTE-1004"}));
    desk.ok("notes", "create_note", json!({"text": "fits again"}));

    let desk = Desk::new();
    for _ in 3..MAX_RECORDS {
        desk.ok("notes", "create_note", json!({"text": "small"}));
    }
    let text = desk.err("notes", "create_note", json!({"text": "one more"}));
    assert!(text.contains("already; delete one first"), "{text}");
}

#[test]
fn listings_are_built_once() {
    let (one, two) = (Sample::new().listings(), Sample::new().listings());
    for (one, two) in one.iter().zip(&two) {
        assert!(
            one.tools
                .iter()
                .zip(&two.tools)
                .all(|(one, two)| Arc::ptr_eq(one, two))
        );
    }
}

#[test]
fn providers_list_what_the_sample_lists() {
    let sample = Sample::new();
    let listed: Vec<Listing> = sample
        .providers()
        .iter()
        .map(|provider| block_on(provider.list()))
        .collect();
    assert_eq!(listed, sample.listings());
}

#[test]
fn a_tool_of_somebody_else_is_gone() {
    let sample = Sample::new();
    for (source, owner, name) in [
        (Source::Mcp, "github", "create_issue"),
        (Source::Native, "github", "drop_everything"),
        (Source::Native, "nobody", "create_issue"),
    ] {
        let tool = Arc::new(ToolDescriptor::new(source, owner, name, json!({})).unwrap());
        let (id, time) = (CallId::outer(1), Duration::from_secs(1));
        let result = block_on(sample.invoke(Invocation::new(tool, Map::new(), id, time)));
        assert_eq!(
            result,
            Err(InvokeError::Gone {
                owner: owner.to_owned()
            })
        );
    }
}
