//! A plugin as a source of tools: lists what its manifest says and runs its commands.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;
use toolsearch_catalog::{Outcome, Source};
use toolsearch_invoke::{Invocation, InvokeError, Invoker, Invokers, Listing, Provider};

use crate::manifest::{Manifest, ToolCommand};
use crate::outcome;
use crate::run::{Trouble, run};

/// One plugin. It starts nothing until a tool is called, and keeps nothing running after a call.
#[derive(Debug)]
pub struct Plugin {
    manifest: Manifest,
    listing: Listing,
    commands: BTreeMap<String, ToolCommand>,
}

impl Plugin {
    /// A plugin from its manifest.
    #[must_use]
    pub fn new(manifest: Manifest) -> Self {
        let tools = manifest
            .tools
            .iter()
            .map(|tool| Arc::clone(&tool.descriptor))
            .collect();
        let mut listing = Listing::new(Source::Plugin, manifest.name.as_str(), tools);
        listing.description.clone_from(&manifest.description);
        let commands = manifest
            .tools
            .iter()
            .map(|tool| (tool.descriptor.name.clone(), tool.command.clone()))
            .collect();
        Self {
            manifest,
            listing,
            commands,
        }
    }

    /// What the manifest says.
    #[must_use]
    pub const fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// All tools; the same descriptors every time.
    #[must_use]
    pub fn listing(&self) -> Listing {
        self.listing.clone()
    }

    /// Binds the plugin's tools to it.
    #[must_use]
    pub fn bind(self: &Arc<Self>, invokers: Invokers) -> Invokers {
        invokers.bind(Source::Plugin, &self.manifest.name, Arc::clone(self) as _)
    }
}

#[async_trait]
impl Provider for Plugin {
    fn source(&self) -> Source {
        Source::Plugin
    }

    fn owner(&self) -> &str {
        &self.manifest.name
    }

    async fn list(&self) -> Listing {
        self.listing()
    }
}

#[async_trait]
impl Invoker for Plugin {
    async fn invoke(&self, call: Invocation) -> Result<Outcome, InvokeError> {
        let owner = || self.manifest.name.clone();
        let Some(command) = self.commands.get(&call.tool.name) else {
            return Err(InvokeError::Gone { owner: owner() });
        };
        let mut input = json!({
            "tool": call.tool.name,
            "args": call.args,
            "callId": call.id,
            "session": call.caller.session,
        })
        .to_string()
        .into_bytes();
        input.push(b'\n');
        let limit = command
            .timeout
            .map_or(call.timeout, |own| own.min(call.timeout));
        match run(command, &self.manifest.folder, input, limit).await {
            Ok(ended) => Ok(outcome::read(&ended)),
            Err(Trouble::TimedOut) => Err(InvokeError::Timeout(limit)),
            Err(Trouble::Io(error)) => Err(InvokeError::Unavailable {
                owner: owner(),
                reason: format!("cannot run `{}`: {error}", command.program),
            }),
        }
    }
}
