//! The thread that starts and buries workers, so that no run waits for either.
//!
//! It also is the parent of those that are to die with it: the kernel ties a process that asks for it to
//! the thread that started it, not to the process of that thread. Threads of a runtime come and go; this one lives
//! as long as its engine.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, sync_channel},
    },
    thread::{self, JoinHandle},
};

use crate::spawn::{Spawned, Worker};

/// Orders that may wait. More are done by whoever gives them.
const ORDERS: usize = 64;

enum Order {
    /// Start one and hand it over.
    Start(Worker, SyncSender<io::Result<Spawned>>),
    /// Start one for later, unless that many are waiting.
    Warm(Worker, usize),
    /// Wait for the end of one that was killed.
    Bury(Spawned),
}

/// Workers that wait for a program.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shelf(Arc<Mutex<Vec<Spawned>>>);

impl Shelf {
    pub(crate) fn with<T>(&self, act: impl FnOnce(&mut Vec<Spawned>) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Starts nothing, not even its thread, before the first order. Dropped, it waits until every process it was
/// given is gone.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    pub(crate) shelf: Shelf,
    thread: Mutex<Option<Thread>>,
}

#[derive(Debug)]
struct Thread {
    orders: Option<SyncSender<Order>>,
    handle: Option<JoinHandle<()>>,
}

impl Keeper {
    /// A new worker.
    pub(crate) fn start(&self, worker: &Worker) -> io::Result<Spawned> {
        let (reply, answer) = sync_channel(1);
        let gone = |error: String| io::Error::other(error);
        self.orders()?
            .send(Order::Start(worker.clone(), reply))
            .map_err(|error| gone(error.to_string()))?;
        answer.recv().map_err(|error| gone(error.to_string()))?
    }

    /// Has one more worker started soon, if fewer than `most` are waiting.
    pub(crate) fn warm(&self, worker: &Worker, most: usize) {
        if self.shelf.with(|shelf| shelf.len() >= most) {
            return;
        }
        if let Ok(orders) = self.orders() {
            // With so many orders waiting there is no time for this one.
            let _ = orders.try_send(Order::Warm(worker.clone(), most));
        }
    }

    /// Ends a worker now, and does the rest soon.
    pub(crate) fn bury(&self, mut worker: Spawned) {
        let _ = worker.child.kill();
        if let Ok(orders) = self.orders() {
            let _ = orders.try_send(Order::Bury(worker));
        }
    }

    fn orders(&self) -> io::Result<SyncSender<Order>> {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(orders) = thread.as_ref().and_then(|thread| thread.orders.as_ref()) {
            return Ok(orders.clone());
        }
        let (orders, incoming) = sync_channel(ORDERS);
        let shelf = self.shelf.clone();
        let handle = thread::Builder::new()
            .name("sandbox-keeper".to_owned())
            .stack_size(256 << 10)
            .spawn(move || keep(&incoming, &shelf))?;
        *thread = Some(Thread {
            orders: Some(orders.clone()),
            handle: Some(handle),
        });
        Ok(orders)
    }
}

fn keep(incoming: &Receiver<Order>, shelf: &Shelf) {
    while let Ok(order) = incoming.recv() {
        match order {
            Order::Start(worker, reply) => {
                // One that nobody waits for any more is ended by being dropped.
                let _ = reply.send(worker.spawn());
            }
            Order::Warm(worker, most) if shelf.with(|shelf| shelf.len() < most) => {
                match worker.spawn() {
                    Ok(worker) => shelf.with(|shelf| shelf.push(worker)),
                    Err(error) => tracing::debug!(%error, "no warm worker"),
                }
            }
            Order::Warm(..) => {}
            Order::Bury(worker) => drop(worker),
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        let thread = self
            .thread
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = thread {
            thread.orders = None;
            if let Some(handle) = thread.handle.take() {
                let _ = handle.join();
            }
        }
        self.shelf.with(Vec::clear);
    }
}
