//! Edges and overlapping holds.

use std::{
    future::Future,
    pin::pin,
    sync::atomic::{AtomicUsize, Ordering},
    task::{Context, Poll, Wake},
};

use super::*;

#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn overlapping_holds_are_one_and_wake_once_each_way() {
    let count = Arc::new(Count::default());
    let waker = count.clone().into();
    let mut context = Context::from_waker(&waker);
    let pause = Pause::new();

    let mut changed = pin!(pause.changed());
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Pending);
    let first = pause.hold();
    let second = pause.hold();
    assert!(pause.is_held());
    assert_eq!(count.0.load(Ordering::SeqCst), 1);
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Ready(()));

    let mut changed = pin!(pause.changed());
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Pending);
    drop(first);
    assert!(pause.is_held());
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Pending);
    drop(second);
    assert!(!pause.is_held());
    assert_eq!(changed.as_mut().poll(&mut context), Poll::Ready(()));
    assert_eq!(count.0.load(Ordering::SeqCst), 2);
}
