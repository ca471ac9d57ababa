//! The rules of stores. Every store runs them; a fault found in one becomes a rule for all.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Clock, Expected, NewRecord, Store, StoreError};

/// A clock that a rule moves by hand.
#[derive(Clone, Default)]
struct Hand(Arc<AtomicU64>);

impl Hand {
    fn clock(&self) -> Clock {
        let hand = self.0.clone();
        Clock::new(move || hand.load(Ordering::SeqCst))
    }

    fn set(&self, now_ms: u64) {
        self.0.store(now_ms, Ordering::SeqCst);
    }
}

/// Runs every rule over a store of its own.
pub(super) async fn conforms(make: impl Fn(Clock) -> Arc<dyn Store>) {
    let new = || make(Hand::default().clock());
    what_is_written_is_read(new()).await;
    only_the_expected_record_is_replaced(new()).await;
    only_the_expected_record_is_removed(new()).await;
    a_version_is_given_once(new()).await;
    lists_are_sorted_and_apart(new()).await;
    any_key_is_a_key_and_bad_names_are_refused(new()).await;
    limits_hold(new()).await;
    of_many_writers_one_wins(new()).await;
    let hand = Hand::default();
    expired_records_are_gone(make(hand.clock()), &hand).await;
    let hand = Hand::default();
    expired_records_make_room(make(hand.clock()), &hand).await;
}

async fn what_is_written_is_read(store: Arc<dyn Store>) {
    assert_eq!(store.get("n", "k").await, Ok(None));
    let bytes = vec![0, 10, 13, 255, b'{'];
    let written = NewRecord::new(bytes.clone()).until(5);
    let version = store
        .put("n", "k", written, Expected::Any)
        .await
        .expect("room");
    let read = store.get("n", "k").await.expect("readable").expect("there");
    assert_eq!(
        (read.bytes, read.version, read.expires_ms),
        (bytes, version, Some(5))
    );
    let empty = NewRecord::new("");
    store
        .put("n", "e", empty, Expected::Any)
        .await
        .expect("room");
    let read = store.get("n", "e").await.expect("readable").expect("there");
    assert!(read.bytes.is_empty());
}

async fn only_the_expected_record_is_replaced(store: Arc<dyn Store>) {
    let put = |text: &str, expected| {
        let (store, record) = (store.clone(), NewRecord::new(text));
        async move { store.put("n", "k", record, expected).await }
    };
    let nothing = Err(StoreError::Conflict { current: None });
    assert_eq!(put("x", Expected::Version(1)).await, nothing);
    let first = put("one", Expected::Absent).await.expect("room");
    let there = Err(StoreError::Conflict {
        current: Some(first),
    });
    assert_eq!(put("x", Expected::Absent).await, there);
    let second = put("two", Expected::Version(first)).await.expect("current");
    assert!(second > first);
    let newer = Err(StoreError::Conflict {
        current: Some(second),
    });
    assert_eq!(put("x", Expected::Version(first)).await, newer);
    let read = store.get("n", "k").await.expect("readable").expect("there");
    assert_eq!(read.bytes, b"two");
}

async fn only_the_expected_record_is_removed(store: Arc<dyn Store>) {
    assert_eq!(store.remove("n", "k", Expected::Any).await, Ok(false));
    let nothing = Err(StoreError::Conflict { current: None });
    assert_eq!(store.remove("n", "k", Expected::Version(9)).await, nothing);
    let put = store.put("n", "k", NewRecord::new("x"), Expected::Any);
    let version = put.await.expect("room");
    let there = Err(StoreError::Conflict {
        current: Some(version),
    });
    assert_eq!(
        store.remove("n", "k", Expected::Version(version + 1)).await,
        there
    );
    assert_eq!(store.remove("n", "k", Expected::Absent).await, there);
    assert_eq!(
        store.remove("n", "k", Expected::Version(version)).await,
        Ok(true)
    );
    assert_eq!(store.get("n", "k").await, Ok(None));
}

async fn a_version_is_given_once(store: Arc<dyn Store>) {
    let mut seen = Vec::new();
    for _ in 0..20 {
        let put = store.put("n", "k", NewRecord::new("x"), Expected::Absent);
        seen.push(put.await.expect("absent"));
        store.remove("n", "k", Expected::Any).await.expect("there");
    }
    let ordered = seen.windows(2).all(|pair| pair[0] < pair[1]);
    assert!(ordered, "{seen:?}");
}

async fn lists_are_sorted_and_apart(store: Arc<dyn Store>) {
    for key in ["b", "a", "c"] {
        let put = store.put("one", key, NewRecord::new(key), Expected::Any);
        put.await.expect("room");
    }
    let put = store.put("two", "z", NewRecord::new("z"), Expected::Any);
    put.await.expect("room");
    let keys = async |namespace: &str| {
        let listing = store.list(namespace).await.expect("readable");
        assert!(listing.damaged.is_empty());
        let keys = listing.entries.into_iter().map(|entry| entry.key);
        keys.collect::<Vec<_>>()
    };
    assert_eq!(keys("one").await, ["a", "b", "c"]);
    assert_eq!(keys("two").await, ["z"]);
    assert!(keys("three").await.is_empty());
    assert_eq!(store.get("two", "a").await, Ok(None));
}

async fn any_key_is_a_key_and_bad_names_are_refused(store: Arc<dyn Store>) {
    let long = "k".repeat(crate::MAX_KEY_BYTES);
    for key in [
        "../../x",
        "/etc/passwd",
        ".lock",
        "a\0b",
        "a\nb",
        "ü",
        &long,
    ] {
        let put = store.put("n", key, NewRecord::new(key), Expected::Absent);
        put.await.expect("a legal key");
        let read = store.get("n", key).await.expect("readable").expect("there");
        assert_eq!(read.bytes, key.as_bytes());
    }
    for key in ["", &format!("{long}k")] {
        assert!(matches!(
            store.get("n", key).await,
            Err(StoreError::Name(_))
        ));
    }
    for namespace in ["", "..", "a/b", "A", "a b", "a.b", &"n".repeat(33)] {
        let put = store.put(namespace, "k", NewRecord::new("x"), Expected::Any);
        assert!(matches!(put.await, Err(StoreError::Name(_))), "{namespace}");
        let list = store.list(namespace).await;
        assert!(matches!(list, Err(StoreError::Name(_))), "{namespace}");
    }
}

async fn limits_hold(store: Arc<dyn Store>) {
    let most = super::limits();
    let put = store.put(
        "n",
        "k",
        NewRecord::new(vec![0; most.record_bytes + 1]),
        Expected::Any,
    );
    assert!(matches!(put.await, Err(StoreError::TooLarge { .. })));
    for number in 0..most.records {
        let key = number.to_string();
        let put = store.put("n", &key, NewRecord::new("x"), Expected::Any);
        put.await.expect("room");
    }
    let put = store.put("n", "more", NewRecord::new("x"), Expected::Any);
    assert!(matches!(put.await, Err(StoreError::Full { .. })));
    let again = store.put("n", "0", NewRecord::new("y"), Expected::Any);
    again.await.expect("what is there may be replaced");
    let other = store.put("other", "more", NewRecord::new("x"), Expected::Any);
    other
        .await
        .expect("other namespaces have room of their own");
}

async fn of_many_writers_one_wins(store: Arc<dyn Store>) {
    let first = store.put("n", "k", NewRecord::new("0"), Expected::Absent);
    let first = first.await.expect("room");
    let writers: Vec<_> = (0..8)
        .map(|number: usize| {
            let store = store.clone();
            tokio::spawn(async move {
                let record = NewRecord::new(number.to_string());
                store.put("n", "k", record, Expected::Version(first)).await
            })
        })
        .collect();
    let mut won = Vec::new();
    for (number, writer) in writers.into_iter().enumerate() {
        match writer.await.expect("no panic") {
            Ok(_) => won.push(number.to_string()),
            Err(StoreError::Conflict { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    let read = store.get("n", "k").await.expect("readable").expect("there");
    assert_eq!(won, [String::from_utf8(read.bytes).expect("a digit")]);
}

async fn expired_records_are_gone(store: Arc<dyn Store>, hand: &Hand) {
    hand.set(10);
    let put = store.put("n", "k", NewRecord::new("x").until(20), Expected::Absent);
    let first = put.await.expect("room");
    let put = store.put("n", "ever", NewRecord::new("x"), Expected::Absent);
    put.await.expect("room");
    hand.set(19);
    assert_eq!(store.sweep().await, Ok(0));
    assert!(store.get("n", "k").await.expect("readable").is_some());
    hand.set(20);
    assert_eq!(store.get("n", "k").await, Ok(None));
    assert_eq!(store.list("n").await.expect("readable").entries.len(), 1);
    let late = store.put("n", "k", NewRecord::new("y"), Expected::Version(first));
    assert_eq!(late.await, Err(StoreError::Conflict { current: None }));
    assert_eq!(store.remove("n", "k", Expected::Any).await, Ok(false));
    let put = store.put("n", "k", NewRecord::new("y").until(30), Expected::Absent);
    put.await.expect("an expired record is not there");
    hand.set(40);
    assert_eq!(store.sweep().await, Ok(1));
    assert_eq!(store.sweep().await, Ok(0));
}

async fn expired_records_make_room(store: Arc<dyn Store>, hand: &Hand) {
    hand.set(10);
    for number in 0..super::limits().records {
        let record = NewRecord::new("x").until(20);
        let key = number.to_string();
        let put = store.put("n", &key, record, Expected::Any);
        put.await.expect("room");
    }
    hand.set(20);
    let put = store.put("n", "more", NewRecord::new("x"), Expected::Absent);
    put.await.expect("room again");
    assert_eq!(store.list("n").await.expect("readable").entries.len(), 1);
}
