//! Modes: answers of every kind, and the rules that every mode keeps.

mod fixtures;

use std::collections::BTreeSet;
use std::sync::Arc;

use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_mode::{
    Control, ControlCall, ControlNames, Decoding, FailureCode, Mode, OwnerNote, Request, Response,
    Role, SearchLimits, Surface, View,
};

use crate::catalog::{
    BROKEN_LINE, MARKER, catalog, hostile_catalog, hostile_tools, office, orders, tool_with,
};

pub use fixtures::{FAILURES, arguments, requests, responses};

/// All four controls.
const CONTROLS: [Control; 4] = [
    Control::Search,
    Control::Describe,
    Control::Call,
    Control::Code,
];

/// Holds a mode to the rules of the contract.
///
/// # Panics
/// At the first broken rule.
pub fn conforms(make: impl Fn() -> Arc<dyn Mode>) {
    let mode = make();
    assert!(!mode.name().is_empty(), "a mode has a name");
    let needs_engine = mode.controls().contains(&Control::Code);
    assert_eq!(mode.needs_engine(), needs_engine, "programs need an engine");
    let mut mixed = hostile_catalog().entries().to_vec();
    mixed.extend(office().entries().iter().cloned());
    let mixed: Catalog = mixed.into_iter().collect();
    for catalog in [Catalog::empty(), office(), hostile_catalog(), mixed] {
        for names in control_names() {
            surfaces_are_equal(&make, &catalog, &names);
            let stage = Stage::new(&*mode, &catalog, &names);
            let surface = mode.surface(&stage.view());
            declared_tools_are_legal(&*mode, &surface, &stage);
            untrusted_text_stays_out(&surface);
        }
    }
    calls_are_read(&*mode);
    answers_are_rendered(&*mode);
}

/// Everything that a view borrows.
struct Stage<'a> {
    catalog: &'a Catalog,
    names: &'a ControlNames,
    limits: SearchLimits,
    owners: Vec<OwnerNote>,
    direct: Vec<Arc<ToolDescriptor>>,
    likely: Vec<Arc<ToolDescriptor>>,
}

impl<'a> Stage<'a> {
    fn new(mode: &dyn Mode, catalog: &'a Catalog, names: &'a ControlNames) -> Self {
        let mut direct: Vec<Arc<ToolDescriptor>> = hostile_tools()
            .into_iter()
            .filter(|tool| tool.owner == "names" || tool.source() == Source::Client)
            .map(Arc::new)
            .collect();
        let visible = tool_with(
            "native:core:ask_user",
            "Ask the user.",
            serde_json::json!({}),
        );
        direct.push(Arc::new(visible));
        let direct: Catalog = direct.into_iter().collect();
        let entries = catalog.entries().iter();
        Self {
            catalog,
            names,
            limits: SearchLimits::default(),
            owners: OwnerNote::of(catalog),
            direct: direct.entries().to_vec(),
            likely: entries.rev().take(mode.likely_schemas()).cloned().collect(),
        }
    }

    fn view(&self) -> View<'_> {
        let mut view = View::new(self.catalog, self.names, &self.limits);
        view.owners = &self.owners;
        view.direct = &self.direct;
        view.likely = &self.likely;
        view
    }
}

fn control_names() -> [ControlNames; 2] {
    let mut own = ControlNames::default();
    own.search = "find-tools".to_owned();
    own.call = "x".repeat(64);
    [ControlNames::default(), own]
}

fn surfaces_are_equal(make: &impl Fn() -> Arc<dyn Mode>, catalog: &Catalog, names: &ControlNames) {
    let mut expected: Option<Surface> = None;
    for order in orders(catalog) {
        let other: Catalog = order.into_iter().collect();
        let mode = make();
        let surface = mode.surface(&Stage::new(&*mode, &other, names).view());
        match &expected {
            None => expected = Some(surface),
            Some(expected) => {
                assert_eq!(expected.prompt, surface.prompt, "equal catalogs: prompt");
                let bytes = |surface: &Surface| surface.to_json().to_string();
                assert_eq!(bytes(expected), bytes(&surface), "equal catalogs: tools");
                assert_eq!(expected, &surface, "equal catalogs: surface");
            }
        }
    }
}

fn declared_tools_are_legal(mode: &dyn Mode, surface: &Surface, stage: &Stage<'_>) {
    let mut names = BTreeSet::new();
    let mut controls = Vec::new();
    let mut likely = 0;
    let mut direct = BTreeSet::new();
    for tool in &surface.tools {
        let name = &tool.name;
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        assert!(
            (1..=64).contains(&name.len()) && name.chars().all(legal),
            "a declared name is 1 to 64 of A-Z a-z 0-9 _ -: {name:?}"
        );
        assert!(names.insert(name.as_str()), "{name:?} is declared twice");
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object", "{name}: {schema}");
        assert!(schema["properties"].is_object(), "{name}: {schema}");
        match &tool.role {
            Role::Control(control) => {
                assert_eq!(stage.names.of(*control), name, "a control has its name");
                assert!(!tool.description.is_empty(), "{name} says what it does");
                controls.push(*control);
            }
            Role::Direct(id) => {
                direct.insert(id.clone());
            }
            Role::Likely(id) => {
                assert!(
                    stage.catalog.get(id).is_some(),
                    "{id} is not in the catalog"
                );
                likely += 1;
            }
            other => panic!("a new role needs a rule here: {other:?}"),
        }
    }
    assert_eq!(
        controls,
        mode.controls(),
        "exactly the controls of the mode"
    );
    assert!(likely <= mode.likely_schemas(), "{likely} likely schemas");
    for tool in &stage.direct {
        assert!(direct.contains(&tool.id), "{} is visible", tool.id);
    }
    let visible = |id| stage.direct.iter().any(|tool| tool.id == id);
    let all = controls.is_empty();
    for id in direct {
        let own = all && stage.catalog.get(&id).is_some();
        assert!(own || visible(id.clone()), "{id} is not to be shown");
    }
    for (id, name) in &surface.renamed {
        let role = surface.role(name);
        assert!(
            matches!(role, Some(Role::Direct(own) | Role::Likely(own)) if own == id),
            "{id} is said to be declared as {name}"
        );
    }
}

fn untrusted_text_stays_out(surface: &Surface) {
    let controls = surface
        .tools
        .iter()
        .filter(|tool| matches!(tool.role, Role::Control(_)));
    let mut stable = vec![("the prompt".to_owned(), surface.prompt.clone())];
    for tool in controls {
        stable.push((tool.name.clone(), tool.description.clone()));
        let schema = serde_json::to_string_pretty(&tool.input_schema);
        stable.push((tool.name.clone(), schema.expect("because it is JSON")));
    }
    for (place, text) in stable {
        assert!(
            !text.contains(MARKER),
            "{place} holds text of an untrusted tool: {text}"
        );
        let hidden = text.chars().find(|c| is_hidden(*c));
        assert_eq!(hidden, None, "{place} holds a hidden character");
        let broken = text
            .lines()
            .find(|line| line.trim_start().starts_with(BROKEN_LINE));
        assert_eq!(broken, None, "{place}: a name starts a line of its own");
    }
}

fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n')
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

fn with_decoding<T>(names: &ControlNames, act: impl FnOnce(&Decoding<'_>) -> T) -> T {
    let office = office();
    let limits = SearchLimits::default();
    let is_tool = |text: &str| office.resolve(text).is_ok();
    act(&Decoding {
        names,
        limits: &limits,
        is_tool: &is_tool,
    })
}

fn calls_are_read(mode: &dyn Mode) {
    let names = ControlNames::default();
    let responses = responses(&catalog(["mcp:github:create_issue"]));
    with_decoding(&names, |decoding| {
        let mut read: BTreeSet<Control> = BTreeSet::new();
        for control in CONTROLS {
            for arguments in arguments() {
                let call = ControlCall::new(control, arguments);
                let request = mode.decode(&call, decoding);
                let again = mode.decode(&call, decoding);
                assert_eq!(request, again, "{control:?}: read twice");
                match request {
                    Err(failure) => {
                        let invalid = failure.code == FailureCode::InvalidInput;
                        assert!(invalid && !failure.detail.is_empty(), "{failure:?}");
                    }
                    Ok(request) => {
                        check_request(&request, decoding.limits);
                        read.insert(control);
                        for response in &responses {
                            check_rendered(mode, &request, response, decoding);
                        }
                    }
                }
            }
        }
        for control in mode.controls() {
            assert!(
                read.contains(control),
                "nothing well written is read by {control:?}"
            );
        }
    });
}

fn check_request(request: &Request, limits: &SearchLimits) {
    match request {
        Request::Search { queries, .. } => {
            let total: usize = queries.iter().map(|query| query.limit).sum();
            let each = queries
                .iter()
                .all(|query| (1..=limits.max).contains(&query.limit));
            assert!(
                each && total <= limits.total && (1..=limits.queries).contains(&queries.len()),
                "a search stays within its limits: {queries:?}"
            );
        }
        Request::Describe(ids) => {
            let within = (1..=toolsearch_mode::MAX_DESCRIBE_IDS).contains(&ids.len());
            assert!(within, "a description is of one to five ids: {ids:?}");
        }
        Request::Call(call) => assert!(!call.id.is_empty(), "a call names its tool"),
        Request::Run { code } => assert!(!code.trim().is_empty(), "a program has code"),
        other => panic!("a new request needs a rule here: {other:?}"),
    }
}

fn answers_are_rendered(mode: &dyn Mode) {
    for names in control_names() {
        with_decoding(&names, |decoding| {
            for catalog in [office(), hostile_catalog()] {
                for response in responses(&catalog) {
                    for request in requests() {
                        check_rendered(mode, &request, &response, decoding);
                    }
                }
            }
        });
    }
}

fn check_rendered(
    mode: &dyn Mode,
    request: &Request,
    response: &Response,
    decoding: &Decoding<'_>,
) {
    let rendered = mode.encode(request, response, decoding);
    let again = mode.encode(request, response, decoding);
    assert_eq!(rendered, again, "an answer is rendered twice");
    match response {
        Response::Search(reply) => {
            let batch = reply.groups.len() > 1;
            let most = decoding.limits.reply_chars * if batch { 1 } else { 2 };
            let chars = rendered.joined_text().chars().count();
            assert!(chars > 0 && chars <= most, "{chars} characters of hits");
            assert!(!rendered.is_error, "hits, or none, are no error");
        }
        Response::Describe(_) => assert!(!rendered.is_error, "a description is no error"),
        Response::Call(reply) => {
            let outcome = &reply.outcome;
            assert_eq!(rendered.is_error, outcome.is_error, "a tool's own word");
            assert_eq!(
                rendered.structured, outcome.structured,
                "a tool's own value"
            );
            let blocks = outcome.content.is_empty() || rendered.content == outcome.content;
            assert!(blocks, "a tool's own blocks: {:?}", rendered.content);
        }
        Response::Run(reply) => {
            assert_eq!(rendered.is_error, reply.error.is_some(), "a failed program");
            assert!(!rendered.joined_text().is_empty(), "a program's result");
        }
        Response::Failed(failure) => {
            assert!(rendered.is_error, "{}: a failure is an error", failure.code);
            let text = rendered.joined_text();
            assert!(
                !text.trim().is_empty(),
                "{}: a failure has words",
                failure.code
            );
        }
        other => panic!("a new response needs a rule here: {other:?}"),
    }
}
