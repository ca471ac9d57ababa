//! A thread that starts processes which are to die with it.
//!
//! The kernel ties a process that asks for it to the thread that started it, not to the process of that
//! thread. Threads of a runtime come and go; this one lives as long as its engine.

use std::{
    io,
    sync::{
        OnceLock,
        mpsc::{SyncSender, sync_channel},
    },
    thread,
};

use crate::spawn::{Spawned, Worker};

type Order = (Worker, SyncSender<io::Result<Spawned>>);

/// Starts nothing, not even its thread, before the first order.
#[derive(Debug, Default)]
pub(crate) struct Spawner(OnceLock<SyncSender<Order>>);

impl Spawner {
    pub(crate) fn spawn(&self, worker: &Worker) -> io::Result<Spawned> {
        let (reply, answer) = sync_channel(1);
        let gone = |_| io::Error::other("the thread that starts workers is gone");
        self.orders()?
            .send((worker.clone(), reply))
            .map_err(|error| gone(error.to_string()))?;
        answer.recv().map_err(|error| gone(error.to_string()))?
    }

    fn orders(&self) -> io::Result<&SyncSender<Order>> {
        if let Some(orders) = self.0.get() {
            return Ok(orders);
        }
        let (orders, incoming) = sync_channel::<Order>(16);
        // Ends when the engine, and with it the only sender, is dropped. A second thread of a race ends
        // at once, because its sender is.
        thread::Builder::new()
            .name("sandbox-spawner".to_owned())
            .stack_size(256 << 10)
            .spawn(move || {
                while let Ok((worker, reply)) = incoming.recv() {
                    let _ = reply.send(worker.spawn());
                }
            })?;
        Ok(self.0.get_or_init(|| orders))
    }
}
