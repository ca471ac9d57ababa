//! Indexes made beside whoever asks for them: a session is open as soon as its surface is known, and only its
//! first search waits for the index. Not here: what an index is.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::watch;
use toolsearch::catalog::Catalog;
use toolsearch::search::{Index, Ranker, SearchError, SearchRequest, SearchResponse};

use super::beside::beside;

/// Wraps a ranker: its indexes are made on a thread of their own. What keeps one from being made is told by
/// the searches that wait for it.
#[derive(Debug, Clone)]
pub(super) struct InBackground(pub(super) Arc<dyn Ranker>);

type Made = Option<Result<Arc<dyn Index>, SearchError>>;

/// An index that may still be in the making.
#[derive(Debug)]
struct Awaited(watch::Receiver<Made>);

async fn wait(mut made: watch::Receiver<Made>) -> Result<Arc<dyn Index>, SearchError> {
    let given_up = || SearchError::Unavailable("no index could be made".to_owned());
    let made = made.wait_for(Option::is_some).await;
    let made = made.map_err(|_| given_up())?;
    made.clone().unwrap_or_else(|| Err(given_up()))
}

#[async_trait]
impl Ranker for InBackground {
    fn name(&self) -> &str {
        self.0.name()
    }

    async fn index(
        &self,
        catalog: &Catalog,
        previous: Option<&Arc<dyn Index>>,
    ) -> Result<Arc<dyn Index>, SearchError> {
        let older = previous
            .and_then(|index| index.downcast::<Awaited>())
            .map(|index| index.0.clone());
        let (ranker, catalog) = (Arc::clone(&self.0), catalog.clone());
        let (sender, made) = watch::channel(None);
        beside(move || async move {
            let older = match older {
                Some(older) => wait(older).await.ok(),
                None => None,
            };
            let index = ranker.index(&catalog, older.as_ref()).await;
            sender.send_replace(Some(index));
        });
        Ok(Arc::new(Awaited(made)))
    }
}

#[async_trait]
impl Index for Awaited {
    async fn search(&self, request: &SearchRequest) -> Result<SearchResponse, SearchError> {
        wait(self.0.clone()).await?.search(request).await
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc::{Receiver, channel};

    use serde_json::json;
    use toolsearch::catalog::{Source, ToolDescriptor};
    use toolsearch::search_bm25::{Bm25, Bm25Index};

    use super::*;

    /// Makes an index when told to, and notes whether it had an older one to go by.
    #[derive(Debug)]
    struct Held {
        go: Mutex<Receiver<()>>,
        had_older: Mutex<Vec<bool>>,
    }

    #[async_trait]
    impl Ranker for Held {
        fn name(&self) -> &str {
            "held"
        }

        async fn index(
            &self,
            catalog: &Catalog,
            previous: Option<&Arc<dyn Index>>,
        ) -> Result<Arc<dyn Index>, SearchError> {
            let told = self.go.lock().unwrap().recv();
            told.map_err(|_| SearchError::Unavailable("nobody tells".to_owned()))?;
            let older = previous.and_then(|index| index.downcast::<Bm25Index>());
            self.had_older.lock().unwrap().push(older.is_some());
            Bm25::default().index(catalog, previous).await
        }
    }

    fn catalog(name: &str) -> Catalog {
        let tool = ToolDescriptor::new(Source::Mcp, "forge", name, json!({})).unwrap();
        [tool].into_iter().collect()
    }

    #[test]
    fn a_search_waits_for_the_index_and_nothing_else_does() {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(one_after_the_other());
    }

    async fn one_after_the_other() {
        let (tell, go) = channel();
        let held = Arc::new(Held {
            go: Mutex::new(go),
            had_older: Mutex::default(),
        });
        let ranker = InBackground(Arc::clone(&held) as _);
        let first = ranker.index(&catalog("merge_branch"), None).await.unwrap();
        let second = ranker.index(&catalog("merge_tag"), Some(&first)).await;
        let second = second.unwrap();
        assert!(
            held.had_older.lock().unwrap().is_empty(),
            "none is made yet"
        );
        tell.send(()).unwrap();
        tell.send(()).unwrap();
        let request = SearchRequest::new("merge", 3);
        let found = second.search(&request).await.unwrap();
        assert_eq!(found.hits[0].id.name(), "merge_tag");
        let found = first.search(&request).await.unwrap();
        assert_eq!(found.hits[0].id.name(), "merge_branch");
        assert_eq!(*held.had_older.lock().unwrap(), [false, true]);
        drop(tell);
        let third = ranker.index(&catalog("a"), None).await.unwrap();
        let failed = third.search(&request).await.unwrap_err();
        assert!(failed.to_string().contains("nobody tells"), "{failed}");
    }
}
