//! The embedded JavaScript engine: a [`Guest`] on QuickJS.
//!
//! Lives in a child process, on one thread. The program gets the language, the bridge objects of
//! the prelude and nothing of the machine: no module loader, no files, no network, no processes. What
//! does not live here: the process and its walls, the protocol, the journal, the wall clock.
//!
//! `vm` is the runtime with the prelude loaded; `drive` runs one program in it. What other engines of the
//! language share, such as the prelude and the reading of errors, is [`toolsearch_sandbox::javascript`].

mod drive;
#[cfg(feature = "typescript")]
mod typescript;
mod vm;

use std::fmt;

use toolsearch_sandbox::{
    Bridge, ErrorCode, Guest, GuestOutcome, GuestProgram, Limits, RunError, StopFlag,
};

/// The name this engine goes by.
pub const NAME: &str = "quickjs";

/// A QuickJS runtime for one program.
#[derive(Default)]
pub struct QuickJs {
    vm: Option<vm::Vm>,
    /// The runtime of the program that was run. Taking it down would make the report wait.
    spent: Option<vm::Vm>,
}

impl QuickJs {
    /// A runtime that is not loaded yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

impl fmt::Debug for QuickJs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QuickJs")
            .field("loaded", &self.vm.is_some())
            .finish()
    }
}

impl Guest for QuickJs {
    fn name(&self) -> &'static str {
        NAME
    }

    fn prepare(&mut self) -> Result<(), String> {
        self.vm = Some(vm::Vm::load().map_err(|error| format!("cannot load QuickJS: {error}"))?);
        Ok(())
    }

    fn run(
        &mut self,
        program: &GuestProgram,
        limits: &Limits,
        stop: &StopFlag,
        bridge: Box<dyn Bridge>,
    ) -> GuestOutcome {
        match self.vm.take() {
            Some(vm) => drive::run(self.spent.insert(vm), program, limits, stop, bridge),
            None => GuestOutcome::Failed(RunError::new(
                ErrorCode::EngineUnavailable,
                "the engine was not prepared, or has run its program",
            )),
        }
    }
}

#[cfg(test)]
mod tests;
