//! What must hold for any input, as functions of that input which panic when it does not. The fuzz targets run
//! them, and `cargo xtask fuzz` runs them on the stable compiler as well.

use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

use serde_json::Value;
use toolsearch_catalog::{Catalog, Source, ToolDescriptor};
use toolsearch_sandbox::javascript::{Thrown, Why, nesting, normalize, read};
use toolsearch_sandbox_process::read_frames;
use toolsearch_schema::signature::{Names, SignatureOptions, input_signature, output_signature};
use toolsearch_search::{ExactFirst, Index, Ranker, SearchRequest};
use toolsearch_search_bm25::Bm25;

/// What a worker sends: any bytes are read within bounds, alike in whichever pieces they come.
pub(crate) fn frames(bytes: &[u8], chunk: usize, max: usize) {
    let whole = read_frames(bytes, bytes.len(), max);
    assert_eq!(read_frames(bytes, chunk, max), whole);
}

/// What a model sends: any text is read, its lines stay where they are, and any error in it can be told.
pub(crate) fn source(text: &str) {
    let normalized = normalize(text);
    assert_eq!(normalized.original, text);
    let lines = |text: &str| text.matches('\n').count();
    let (before, after) = (lines(text), lines(&normalized.text));
    assert!(after <= before + 1 && after + 2 >= before);
    assert!(nesting(text) as usize <= text.len());
    for line in [0, 1, before + 1, before + 9] {
        let thrown = Thrown {
            name: "SyntaxError".to_owned(),
            message: text.chars().take(40).collect(),
            stack: format!("at program.js:{line}:3"),
            why: Why::Parsing,
            ..Thrown::default()
        };
        let _ = read(&thrown, &normalized, normalized.shift);
    }
}

/// What a server sends as a schema: signatures end, stay within their limits, say the same twice, and show no
/// sentence of a stranger.
pub(crate) fn schema(bytes: &[u8]) {
    let Ok(schema) = serde_json::from_slice::<Value>(bytes) else {
        return;
    };
    for names in [Names::AsIs, Names::IdentifierSafeOnly] {
        let options = SignatureOptions::input(names);
        let signature = input_signature(&schema, &options);
        assert_eq!(signature, input_signature(&schema, &options));
        assert!(!signature.text.contains('\n'), "a signature is one line");
        assert!(signature.text.chars().all(|c| !c.is_control()));

        let options = SignatureOptions::output(names);
        if let Some(signature) = output_signature(&schema, &options) {
            assert!(signature.text.chars().count() <= options.max_chars);
            assert!(!signature.lossy, "an incomplete output signature misleads");
        }
    }
}

const TOOLS: [(&str, &str, &str); 6] = [
    ("forge", "create_issue", "Open a new issue in a project"),
    ("forge", "mergePullRequest", "Merge a pull request"),
    ("rail", "query_tickets", "查询两个城市之间的高铁余票"),
    ("desk", "найти_письмо", "Поиск писем по теме"),
    ("home", "TurnLightOn", ""),
    (
        "belediye",
        "otopark_bul",
        "Yakındaki boş otoparkları gösterir",
    ),
];

static CATALOG: LazyLock<Catalog> = LazyLock::new(|| {
    let tool = |(owner, name, text): (&str, &str, &str)| {
        let schema = serde_json::json!({ "properties": { name: { "description": text } } });
        let mut tool = ToolDescriptor::new(Source::Mcp, owner, name, schema).expect("a legal name");
        tool.description = text.to_owned();
        tool
    };
    TOOLS.map(tool).into_iter().collect()
});

static INDEX: LazyLock<Arc<dyn Index>> =
    LazyLock::new(|| at_once(ExactFirst(Bm25::default()).index(&CATALOG, None)).expect("an index"));

/// What a model asks: any text is answered, twice alike, with hits or a reason, and near names exist.
pub(crate) fn query(text: &str, limit: usize) {
    let mut request = SearchRequest::new(text, limit);
    request.explain = true;
    let answer = at_once(INDEX.search(&request)).expect("an answer");
    assert_eq!(answer.hits.is_empty(), answer.reason.is_some());
    for hit in &answer.hits {
        assert!(hit.score > 0.0 && hit.score.is_finite());
        assert!(!hit.evidence.is_empty());
        assert_eq!(CATALOG.entries()[hit.position].id, hit.id);
    }
    let near = &answer.nearest;
    assert!(near.iter().all(|id| CATALOG.position(id).is_some()));
    assert_eq!(at_once(INDEX.search(&request)).expect("an answer"), answer);
}

/// The result of work in memory, which waits for nothing.
fn at_once<T>(work: impl Future<Output = T>) -> T {
    match pin!(work).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(result) => result,
        Poll::Pending => panic!("the index waits for something"),
    }
}
