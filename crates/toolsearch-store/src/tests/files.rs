//! What only files can get wrong: damage, links, permissions, several stores on one folder.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use proptest::prelude::*;

use crate::format;
use crate::{Clock, Expected, FileStore, NewRecord, Store, StoreError};

struct Bench {
    _root: tempfile::TempDir,
    store: FileStore,
}

impl Bench {
    fn new() -> Self {
        let root = tempfile::tempdir().expect("a folder");
        let store = FileStore::with(root.path().join("s"), super::limits(), Clock::system());
        Self { _root: root, store }
    }

    async fn put(&self, key: &str) {
        let put = self.store.put("n", key, NewRecord::new(key), Expected::Any);
        put.await.expect("room");
    }

    fn path(&self, key: &str) -> PathBuf {
        self.store.folder().join("n").join(format::name(key))
    }

    /// Whether `bad` is named as damaged and `good` is still served.
    async fn only_bad_is_damaged(&self, why: &str) {
        let read = self.store.get("n", "bad").await;
        assert!(
            matches!(read, Err(StoreError::Damaged { .. })),
            "{why}: {read:?}"
        );
        let good = self.store.get("n", "good").await.expect("readable");
        assert_eq!(good.expect("there").bytes, b"good", "{why}");
    }
}

#[tokio::test]
async fn damage_is_named_and_costs_nobody_else() {
    let bench = Bench::new();
    bench.put("good").await;
    bench.put("bad").await;
    let whole = fs::read(bench.path("bad")).expect("a file");
    let other = fs::read(bench.path("good")).expect("a file");
    let text = String::from_utf8(whole.clone()).expect("text");
    for (why, bytes) in [
        ("empty", Vec::new()),
        ("no line", whole[..whole.len() / 2].to_vec()),
        ("cut", whole[..whole.len() - 1].to_vec()),
        ("longer", [whole.as_slice(), b"x"].concat()),
        ("changed", text.replace("\nbad", "\nbat").into_bytes()),
        ("another's", other),
        (
            "later form",
            text.replace("\"toolsearch\":1", "\"toolsearch\":2")
                .into_bytes(),
        ),
        ("noise", vec![255; 10_000]),
    ] {
        fs::write(bench.path("bad"), bytes).expect("write");
        bench.only_bad_is_damaged(why).await;
    }
    let listing = bench.store.list("n").await.expect("readable");
    assert_eq!(listing.entries.len(), 1);
    assert_eq!(listing.damaged, [bench.path("bad").display().to_string()]);

    let put = |expected| bench.store.put("n", "bad", NewRecord::new("new"), expected);
    assert!(matches!(
        put(Expected::Absent).await,
        Err(StoreError::Damaged { .. })
    ));
    assert!(matches!(
        put(Expected::Version(1)).await,
        Err(StoreError::Damaged { .. })
    ));
    put(Expected::Any).await.expect("damage is replaced");
    fs::write(bench.path("bad"), "{").expect("write");
    assert_eq!(
        bench.store.remove("n", "bad", Expected::Any).await,
        Ok(true)
    );
    assert!(!bench.path("bad").exists());
}

#[cfg(unix)]
#[tokio::test]
async fn links_are_not_followed() {
    let bench = Bench::new();
    bench.put("good").await;
    let outside = bench.store.folder().join("outside");
    fs::write(&outside, "secret").expect("write");
    std::os::unix::fs::symlink(&outside, bench.path("bad")).expect("a link");
    bench.only_bad_is_damaged("link").await;
    bench.put("bad").await;
    let kept = fs::read_to_string(&outside).expect("still there");
    assert_eq!(
        kept, "secret",
        "writing replaces the link, not what it leads to"
    );
}

#[cfg(unix)]
#[tokio::test]
async fn folders_and_files_are_for_their_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.put("k").await;
    let mode = |path: &std::path::Path| {
        let found = fs::metadata(path).expect("there");
        found.permissions().mode() & 0o777
    };
    assert_eq!(mode(bench.store.folder()), 0o700);
    assert_eq!(mode(&bench.store.folder().join("n")), 0o700);
    assert_eq!(mode(&bench.path("k")), 0o600);
}

#[tokio::test]
async fn reading_makes_no_folder() {
    let bench = Bench::new();
    assert_eq!(bench.store.get("n", "k").await, Ok(None));
    assert!(
        bench
            .store
            .list("n")
            .await
            .expect("nothing")
            .entries
            .is_empty()
    );
    assert_eq!(bench.store.remove("n", "k", Expected::Any).await, Ok(false));
    assert_eq!(bench.store.sweep().await, Ok(0));
    assert!(!bench.store.folder().exists());
}

/// Two stores have nothing in common but the folder, as two processes have.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn counting_together_loses_no_step() {
    const STEPS: usize = 20;
    let bench = Bench::new();
    let folder = bench.store.folder().to_owned();
    let counters: Vec<_> = (0..4)
        .map(|_| {
            let store: Arc<dyn Store> = Arc::new(FileStore::new(folder.clone()));
            tokio::spawn(async move {
                for _ in 0..STEPS {
                    step(store.as_ref()).await;
                }
            })
        })
        .collect();
    for counter in counters {
        counter.await.expect("no panic");
    }
    assert_eq!(count(&bench.store).await.0, 4 * STEPS);
}

async fn count(store: &dyn Store) -> (usize, Expected) {
    match store.get("n", "count").await.expect("always whole") {
        None => (0, Expected::Absent),
        Some(record) => {
            let text = String::from_utf8(record.bytes).expect("text");
            (
                text.parse().expect("a number"),
                Expected::Version(record.version),
            )
        }
    }
}

async fn step(store: &dyn Store) {
    loop {
        let (count, seen) = count(store).await;
        let next = NewRecord::new((count + 1).to_string());
        match store.put("n", "count", next, seen).await {
            Ok(_) => return,
            Err(StoreError::Conflict { .. } | StoreError::Busy(_)) => {}
            Err(other) => panic!("{other}"),
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_a_reason(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let name = format::name("k");
        let _ = format::entry(&name, &bytes);
        let _ = format::record(&name, &bytes);
    }

    #[test]
    fn what_is_written_is_read(key in ".{1,60}", bytes in proptest::collection::vec(any::<u8>(), 0..200), expires in any::<Option<u64>>()) {
        let mut new = NewRecord::new(bytes);
        new.expires_ms = expires;
        let file = format::write(&key, &new, 7);
        let read = format::record(&format::name(&key), &file).expect("whole");
        prop_assert_eq!((read.bytes, read.expires_ms, read.version), (new.bytes, expires, 7));
        let entry = format::entry(&format::name(&key), &file).expect("whole");
        prop_assert_eq!(entry.key, key);
    }
}
