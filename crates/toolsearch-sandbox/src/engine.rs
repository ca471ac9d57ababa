//! The engine: what runs a program, and what it says about its own walls.

use std::{fmt::Debug, sync::Arc};

use async_trait::async_trait;
use serde::{Deserialize, Serialize};

use crate::{ErrorCode, Host, Limits, Program, RunError, RunReport};

/// Runs guest programs.
///
/// * **Order.** [`check`](Engine::check) once before the engine is offered to a model, then any number of
///   [`run`](Engine::run)s, also at once. An engine that fails its check must not be used: the caller
///   falls back before it shows a surface.
/// * **Isolation.** A run reaches nothing but its host. It leaves nothing behind: no process, no timer,
///   no state that a later run can see.
/// * **Limits.** The engine enforces every number of [`Limits`]; the wall clock holds whatever the guest
///   does.
/// * **Cancellation.** Dropping the future of [`run`](Engine::run) ends the guest at once, child
///   processes included, and drops the host's calls that are under way.
/// * **Failure.** A run never fails as a Rust error: everything, a broken engine included, is a
///   [`RunReport`].
#[async_trait]
pub trait Engine: Debug + Send + Sync {
    /// A short name for reports, e.g. `quickjs`.
    fn name(&self) -> &str;

    /// Whether programs can be run here, and within which walls.
    ///
    /// May start a process once and remember the answer; blocks for at most a few seconds.
    ///
    /// # Errors
    /// [`Unsupported`] with a reason for a person when programs cannot be isolated here.
    fn check(&self) -> Result<Layers, Unsupported>;

    /// What there is to say about this engine, for a person who wants to know how programs are held here:
    /// its walls, also when it must not be used. One entry for each engine behind this one, in the order of
    /// preference; each is looked at, so this may take some seconds.
    fn inspect(&self) -> Vec<Inspection> {
        let (layers, refused) = match self.check() {
            Ok(layers) => (layers, None),
            Err(why) => (Layers::default(), Some(why)),
        };
        vec![Inspection::new(self.name(), layers, refused)]
    }

    /// Runs one program to its end, its limits or its suspension.
    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport;
}

/// An engine and its walls, as they were found.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Inspection {
    /// The engine's name.
    pub engine: String,
    /// Its walls, those that do not stand included. Empty when it could not be started.
    pub layers: Layers,
    /// Why programs are not run in it; nothing when they are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub refused: Option<Unsupported>,
}

impl Inspection {
    /// What was found.
    #[must_use]
    pub fn new(engine: impl Into<String>, layers: Layers, refused: Option<Unsupported>) -> Self {
        Self {
            engine: engine.into(),
            layers,
            refused,
        }
    }
}

/// The walls around a guest, outermost last, each with its state.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Layers {
    /// In a fixed order that the engine chooses.
    pub list: Vec<Layer>,
}

impl Layers {
    /// Whether the layer of this name is fully in force.
    #[must_use]
    pub fn holds(&self, name: &str) -> bool {
        self.list
            .iter()
            .any(|layer| layer.name == name && layer.state == LayerState::Enforced)
    }

    /// The names of `required` that are not fully in force, in the given order.
    #[must_use]
    pub fn missing<'a>(&self, required: &'a [String]) -> Vec<&'a str> {
        required
            .iter()
            .map(String::as_str)
            .filter(|name| !self.holds(name))
            .collect()
    }
}

/// One wall.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layer {
    /// A fixed word, e.g. `seccomp`.
    pub name: String,
    /// Whether it stands.
    pub state: LayerState,
    /// What it covers, or why it is missing, for a person.
    pub detail: String,
}

impl Layer {
    /// A wall.
    #[must_use]
    pub fn new(name: impl Into<String>, state: LayerState, detail: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            state,
            detail: detail.into(),
        }
    }
}

/// Whether a wall stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LayerState {
    /// In force as designed.
    Enforced,
    /// In force in part.
    Partial,
    /// Not there.
    Missing,
}

/// An engine cannot be used here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("code cannot be run here: {reason}")]
pub struct Unsupported {
    /// What is missing and what would help.
    pub reason: String,
}

impl Unsupported {
    /// With a reason for a person.
    #[must_use]
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }
}

impl From<Unsupported> for RunError {
    fn from(unsupported: Unsupported) -> Self {
        Self::new(ErrorCode::EngineUnavailable, unsupported.to_string())
    }
}

/// The engine of a build without one: always unsupported, runs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEngine;

impl NoEngine {
    fn reason() -> Unsupported {
        Unsupported::new("no code engine is configured; use the search, describe and call tools")
    }
}

#[async_trait]
impl Engine for NoEngine {
    fn name(&self) -> &'static str {
        "none"
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        Err(Self::reason())
    }

    async fn run(&self, _: Program, _: Arc<dyn Host>, _: &Limits) -> RunReport {
        RunReport::failed(self.name(), Self::reason().into())
    }
}

macro_rules! forward {
    ($($pointer:ident),*) => {$(
        #[async_trait]
        impl<T: Engine + ?Sized> Engine for $pointer<T> {
            fn name(&self) -> &str {
                (**self).name()
            }

            fn check(&self) -> Result<Layers, Unsupported> {
                (**self).check()
            }

            fn inspect(&self) -> Vec<Inspection> {
                (**self).inspect()
            }

            async fn run(
                &self,
                program: Program,
                host: Arc<dyn Host>,
                limits: &Limits,
            ) -> RunReport {
                (**self).run(program, host, limits).await
            }
        }
    )*};
}

forward!(Arc, Box);
