//! Stopping the clock of a run while a person is asked.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

/// A clock stop shared by a host, which holds it, and an engine, which watches it.
///
/// It keeps no time itself. Overlapping holds count as one.
#[derive(Debug, Clone, Default)]
pub struct Pause(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    holds: usize,
    edges: u64,
    wakers: Vec<Waker>,
}

impl Pause {
    /// A clock that runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Stops the clock until the guard is dropped.
    #[must_use]
    pub fn hold(&self) -> PauseGuard {
        self.with(|state| {
            state.holds += 1;
            if state.holds == 1 {
                state.edge()
            } else {
                Vec::new()
            }
        });
        PauseGuard(self.clone())
    }

    /// Whether anyone holds the clock now.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.lock().holds > 0
    }

    /// Waits until the clock is stopped or started again after this moment.
    #[must_use]
    pub fn changed(&self) -> PauseChanged {
        PauseChanged {
            pause: self.clone(),
            seen: self.lock().edges,
        }
    }

    fn release(&self) {
        self.with(|state| {
            state.holds -= 1;
            if state.holds == 0 {
                state.edge()
            } else {
                Vec::new()
            }
        });
    }

    fn with(&self, change: impl FnOnce(&mut State) -> Vec<Waker>) {
        let wakers = change(&mut self.lock());
        wakers.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn edge(&mut self) -> Vec<Waker> {
        self.edges += 1;
        std::mem::take(&mut self.wakers)
    }
}

/// Holds the clock of a run; dropping it lets the clock go on.
#[derive(Debug)]
pub struct PauseGuard(Pause);

impl Drop for PauseGuard {
    fn drop(&mut self) {
        self.0.release();
    }
}

/// Ready at the next change of a [`Pause`].
#[derive(Debug)]
pub struct PauseChanged {
    pause: Pause,
    seen: u64,
}

impl Future for PauseChanged {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut state = self.pause.lock();
        if state.edges != self.seen {
            return Poll::Ready(());
        }
        if !state
            .wakers
            .iter()
            .any(|waker| waker.will_wake(context.waker()))
        {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests;
