//! The first moments with a worker: it says which one it is and which walls hold, and is taken or left.

use std::time::Duration;

use toolsearch_sandbox::{Layers, Limits, Unsupported};

use super::{ending, pipe::Pipe};
use crate::{
    spawn::Spawned,
    wire::{self, FromWorker},
};

/// What a worker must say first.
#[derive(Debug)]
pub(crate) struct Greeting<'a> {
    pub(crate) name: &'a str,
    pub(crate) required: &'a [String],
    pub(crate) within: Duration,
}

impl Greeting<'_> {
    /// The walls of a worker that is the right one and has the walls it must have.
    fn accept(&self, frame: Option<FromWorker>) -> Result<(), Unsupported> {
        let layers = self.read(frame)?;
        self.suffices(&layers)
    }

    /// The walls of a worker that is the right one, whichever they are.
    pub(crate) fn read(&self, frame: Option<FromWorker>) -> Result<Layers, Unsupported> {
        let (version, engine, layers) = match frame {
            Some(FromWorker::Ready {
                version,
                engine,
                layers,
            }) => (version, engine, layers),
            Some(FromWorker::Refused { reason }) => {
                return Err(Unsupported::new(format!("the worker refused: {reason}")));
            }
            _ => {
                return Err(Unsupported::new(
                    "the worker does not speak as one; `main` must ask `is_worker()` before anything else",
                ));
            }
        };
        if version != wire::VERSION || engine != self.name {
            return Err(Unsupported::new(format!(
                "the worker is `{}`, version {version}, and not `{}`, version {}",
                engine.chars().take(40).collect::<String>(),
                self.name,
                wire::VERSION
            )));
        }
        Ok(layers)
    }

    /// Whether these walls are all that are required.
    pub(crate) fn suffices(&self, layers: &Layers) -> Result<(), Unsupported> {
        match layers.missing(self.required).as_slice() {
            [] => Ok(()),
            missing => Err(Unsupported::new(format!(
                "these walls are required and do not hold here: {}",
                missing.join(", ")
            ))),
        }
    }
}

pub(crate) fn not_ready(within: Duration) -> Unsupported {
    Unsupported::new(format!(
        "the worker was not ready after {} ms",
        within.as_millis()
    ))
}

/// A worker that is ready for its program.
pub(crate) struct Ready {
    pub(super) worker: Spawned,
    pub(super) pipe: Pipe,
}

/// Why a worker cannot be used.
pub(crate) enum NotMet {
    /// Another one will not be better.
    Unsupported(Unsupported),
    /// Something ended its process before it was ready.
    Killed,
}

/// Waits until a worker is ready.
pub(crate) async fn meet(
    mut worker: Spawned,
    greeting: &Greeting<'_>,
    limits: &Limits,
) -> Result<Ready, NotMet> {
    let max = limits.frame_bytes.saturating_add(wire::ENVELOPE);
    let mut pipe = Pipe::open(&mut worker, max).map_err(|error| {
        let text = format!("the worker's pipe cannot be used: {error}");
        NotMet::Unsupported(Unsupported::new(text))
    })?;
    match greet(&mut pipe, greeting).await {
        Ok(()) => Ok(Ready { worker, pipe }),
        Err(_) if ending::was_killed(&mut worker).await => Err(NotMet::Killed),
        Err(why) => Err(NotMet::Unsupported(why)),
    }
}

async fn greet(pipe: &mut Pipe, greeting: &Greeting<'_>) -> Result<(), Unsupported> {
    let first = tokio::time::timeout(greeting.within, pipe.first()).await;
    let frame = first.map_err(|_| not_ready(greeting.within))?;
    greeting.accept(frame)
}
