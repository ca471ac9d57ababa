//! The embedder: whether the model is there and works, whether it is quick enough, whether tools have
//! vectors. Searches never depend on it, so what is slow or not made yet is a warning.

use toolsearch::catalog::Catalog;
use toolsearch::invoke::Listing;
use toolsearch::search::{LeftOut, LeftOutReason};
use toolsearch_config::EmbedderChoice;
use toolsearch_search_hybrid::Hybrid;

use crate::assemble::meaning::hybrid;
use crate::assemble::{Assembled, Purpose};
use crate::fault::Exit;

use super::{Check, Status};

const NAME: &str = "search by meaning";
const ADDRESS: &str =
    "see that the server runs and that `tools.toolSearch.search.baseUrl` is its address";
const SETTINGS: &str = "put `model`, `baseUrl` and `apiKey` of `tools.toolSearch.search` right";
const MODEL: &str = "see `toolsearch model list`, get one with `toolsearch model get NAME`, and set \
                     `tools.toolSearch.search.model` to its name or to a folder";

/// One check, whatever is set.
pub(super) async fn embedder(assembled: &Assembled, listings: &[Listing]) -> Check {
    let search = &assembled.configuration.effective.search.value;
    let choice = search.embedder.unwrap_or_default();
    let Some(hybrid) = hybrid(&assembled.configuration, &Purpose::Measuring) else {
        return Check::new(NAME, Status::Skip, "off: words alone are searched for");
    };
    let tried = match hybrid.try_out().await {
        Ok(tried) => tried,
        Err(left_out) => return useless(&left_out, choice),
    };
    let time = tried.query_time.as_millis();
    let languages = if tried.is_multilingual {
        "many languages"
    } else {
        "one language"
    };
    let detail = format!(
        "{}, {} dimensions, {languages}, a query in {time} ms",
        tried.name, tried.dimensions
    );
    let most = search.timeout();
    if tried.query_time > most {
        let detail = format!(
            "{detail}: over the {} ms that a search waits",
            most.as_millis()
        );
        return Check::new(NAME, Status::Warn, detail)
            .fix("set `tools.toolSearch.search.timeoutMs` higher, or take a smaller model");
    }
    vectors(&hybrid, listings, detail).await
}

/// Words alone are searched for, and why.
fn useless(left_out: &LeftOut, choice: EmbedderChoice) -> Check {
    let fix = match (choice, left_out.reason) {
        (EmbedderChoice::Http, LeftOutReason::Misconfigured) => SETTINGS,
        (EmbedderChoice::Http, _) => ADDRESS,
        _ => MODEL,
    };
    let exit = match left_out.reason {
        LeftOutReason::Misconfigured => Exit::Failed,
        _ => Exit::Unavailable,
    };
    let detail = format!("words alone are searched for: {}", left_out.detail);
    Check::new(NAME, Status::Fail, detail).fix(fix).exit(exit)
}

async fn vectors(hybrid: &Hybrid, listings: &[Listing], detail: String) -> Check {
    let tools = listings
        .iter()
        .flat_map(|listing| listing.tools.iter().cloned());
    let catalog: Catalog = tools.collect();
    let (kept, all) = (hybrid.kept(&catalog).await, catalog.len());
    let detail = format!("{detail}; {kept} of {all} tools have vectors");
    if kept < all {
        return Check::new(NAME, Status::Warn, detail).fix(
            "make the others now with `toolsearch model index`; without it the next searches do",
        );
    }
    Check::new(NAME, Status::Ok, detail)
}
