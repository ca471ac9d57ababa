//! Layers: to whom a list of rules applies, and in which order lists are told.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::subject::Subject;

/// The kinds of layers in their order. The order decides what is told first, never who wins: every
/// layer only narrows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Stage {
    /// The profile to start from.
    Profile,
    /// The model provider.
    Provider,
    /// Everyone.
    Global,
    /// The agent.
    Agent,
    /// The agent with a provider.
    AgentProvider,
    /// Work that is confined to a sandbox.
    Sandbox,
    /// Subagents.
    Subagent,
    /// The channel.
    Channel,
    /// The session.
    Session,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 9] = [
        Self::Profile,
        Self::Provider,
        Self::Global,
        Self::Agent,
        Self::AgentProvider,
        Self::Sandbox,
        Self::Subagent,
        Self::Channel,
        Self::Session,
    ];

    /// The word for it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Profile => "profile",
            Self::Provider => "provider",
            Self::Global => "global",
            Self::Agent => "agent",
            Self::AgentProvider => "agent-provider",
            Self::Sandbox => "sandbox",
            Self::Subagent => "subagent",
            Self::Channel => "channel",
            Self::Session => "session",
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// To whom a layer applies. A provider is named alone, `openai`, or with its model, `openai/gpt-5`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Layer {
    /// The profile of one agent, or of all agents for which no other profile is given.
    Profile {
        /// The profile's name.
        name: String,
        /// The agent.
        agent: Option<String>,
    },
    /// The profile of a provider.
    ProviderProfile {
        /// The profile's name.
        name: String,
        /// The provider.
        provider: String,
    },
    /// One provider, or one provider and model.
    Provider(String),
    /// Everyone.
    Global,
    /// Everyone, after what is global: the defaults of agents.
    AgentDefaults,
    /// One agent.
    Agent(String),
    /// One agent, or every one, with one provider.
    AgentProvider {
        /// The agent.
        agent: Option<String>,
        /// The provider.
        provider: String,
    },
    /// Whoever works in a sandbox.
    Sandbox,
    /// Every subagent.
    Subagent,
    /// One channel.
    Channel(String),
    /// One session.
    Session(String),
}

impl Layer {
    /// Where the layer stands in the order.
    #[must_use]
    pub const fn stage(&self) -> Stage {
        match self {
            Self::Profile { .. } | Self::ProviderProfile { .. } => Stage::Profile,
            Self::Provider(_) => Stage::Provider,
            Self::Global => Stage::Global,
            Self::AgentDefaults | Self::Agent(_) => Stage::Agent,
            Self::AgentProvider { .. } => Stage::AgentProvider,
            Self::Sandbox => Stage::Sandbox,
            Self::Subagent => Stage::Subagent,
            Self::Channel(_) => Stage::Channel,
            Self::Session(_) => Stage::Session,
        }
    }

    /// Whether the layer applies. `profiled` are the agents that have a profile of their own;
    /// `subagent` is told apart, as a parent in a chain does not know its own parents.
    pub(crate) fn applies(
        &self,
        subject: &Subject,
        subagent: bool,
        profiled: &BTreeSet<String>,
    ) -> bool {
        let is = |part: &Option<String>, id: &String| part.as_ref() == Some(id);
        match self {
            Self::Global | Self::AgentDefaults => true,
            Self::Profile { agent: None, .. } => subject
                .agent
                .as_ref()
                .is_none_or(|agent| !profiled.contains(agent)),
            Self::Profile {
                agent: Some(id), ..
            }
            | Self::Agent(id) => is(&subject.agent, id),
            Self::ProviderProfile { provider, .. } | Self::Provider(provider) => {
                provided(subject, provider)
            }
            Self::AgentProvider { agent, provider } => {
                agent.as_ref().is_none_or(|id| is(&subject.agent, id))
                    && provided(subject, provider)
            }
            Self::Sandbox => subject.sandboxed,
            Self::Subagent => subagent,
            Self::Channel(id) => is(&subject.channel, id),
            Self::Session(id) => is(&subject.session, id),
        }
    }

    pub(crate) fn label(&self) -> String {
        match self {
            Self::Profile { name, agent: None } => format!("profile {name}"),
            Self::Profile {
                name,
                agent: Some(id),
            } => format!("profile {name} of agent {id}"),
            Self::ProviderProfile { name, provider } => {
                format!("profile {name} of provider {provider}")
            }
            Self::Provider(id) => format!("provider {id}"),
            Self::Global => "global".to_owned(),
            Self::AgentDefaults => "agent defaults".to_owned(),
            Self::Agent(id) => format!("agent {id}"),
            Self::AgentProvider {
                agent: None,
                provider,
            } => format!("agent defaults with provider {provider}"),
            Self::AgentProvider {
                agent: Some(id),
                provider,
            } => format!("agent {id} with provider {provider}"),
            Self::Sandbox => "sandbox".to_owned(),
            Self::Subagent => "subagents".to_owned(),
            Self::Channel(id) => format!("channel {id}"),
            Self::Session(id) => format!("session {id}"),
        }
    }
}

fn provided(subject: &Subject, id: &str) -> bool {
    subject
        .provider
        .as_ref()
        .is_some_and(|provider| provider == id || provider.split('/').next() == Some(id))
}
