//! The first of several engines that can be used here.

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;

use crate::{Engine, Host, Inspection, Layers, Limits, Program, RunReport, Unsupported};

/// Uses the first of its engines whose check succeeds, and none of the others. It goes by that
/// engine's name.
#[derive(Debug)]
pub struct FirstOf {
    engines: Vec<Arc<dyn Engine>>,
    chosen: OnceLock<Result<usize, Unsupported>>,
}

impl FirstOf {
    /// In the order of preference.
    #[must_use]
    pub fn new(engines: Vec<Arc<dyn Engine>>) -> Self {
        Self {
            engines,
            chosen: OnceLock::new(),
        }
    }

    fn chosen(&self) -> Result<&Arc<dyn Engine>, Unsupported> {
        let chosen = self.chosen.get_or_init(|| {
            let mut reasons = Vec::new();
            for (place, engine) in self.engines.iter().enumerate() {
                match engine.check() {
                    Ok(_) => return Ok(place),
                    Err(why) => reasons.push(format!("{}: {}", engine.name(), why.reason)),
                }
            }
            Err(Unsupported::new(reasons.join("; ")))
        });
        chosen.clone().map(|place| &self.engines[place])
    }
}

#[async_trait]
impl Engine for FirstOf {
    fn name(&self) -> &str {
        let chosen = match self.chosen.get() {
            Some(Ok(place)) => self.engines.get(*place),
            _ => self.engines.first(),
        };
        chosen.map_or("none", |engine| engine.name())
    }

    fn check(&self) -> Result<Layers, Unsupported> {
        self.chosen()?.check()
    }

    fn inspect(&self) -> Vec<Inspection> {
        let inspected = self.engines.iter().map(|engine| engine.inspect());
        inspected.flatten().collect()
    }

    async fn run(&self, program: Program, host: Arc<dyn Host>, limits: &Limits) -> RunReport {
        match self.chosen() {
            Ok(engine) => engine.run(program, host, limits).await,
            Err(why) => RunReport::failed(self.name(), why.into()),
        }
    }
}
