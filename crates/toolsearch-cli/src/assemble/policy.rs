//! From the lists of the configuration to the rules that the runtime asks.

use std::collections::BTreeMap;

use toolsearch::policy::{
    BUILT_IN_PROFILES, Layer, LayerRules, RuleFault, Rules, with_built_in_groups,
};
use toolsearch_config::Settings;

use crate::fault::Fault;

/// How deep profiles may start from one another.
const MAX_PROFILE_DEPTH: usize = 8;

/// The rules of all layers, for every agent of the file and for whoever is none of them.
pub(crate) fn rules(settings: &Settings) -> Result<Rules, Fault> {
    let groups = with_built_in_groups(&settings.tools.groups);
    let mut builder = Builder {
        settings,
        groups: &groups,
        rules: Rules::new(),
    };
    let tools = &settings.tools;
    let defaults = &settings.agents.defaults.tools;
    builder.profiles()?;
    builder.providers(&tools.by_provider, Layer::Provider)?;
    builder.add(Layer::Global, lists(&tools.allow, &tools.deny, &tools.ask))?;
    builder.add(
        Layer::AgentDefaults,
        lists(&defaults.allow, &defaults.deny, &defaults.ask),
    )?;
    builder.providers(&defaults.by_provider, |provider| Layer::AgentProvider {
        agent: None,
        provider,
    })?;
    for agent in &settings.agents.list {
        let own = &agent.tools;
        builder.add(
            Layer::Agent(agent.id.clone()),
            lists(&own.allow, &own.deny, &own.ask),
        )?;
        builder.providers(&own.by_provider, |provider| Layer::AgentProvider {
            agent: Some(agent.id.clone()),
            provider,
        })?;
    }
    builder.rules(&tools.sandbox, Layer::Sandbox)?;
    builder.rules(&tools.subagents, Layer::Subagent)?;
    for (channel, rules) in &tools.by_channel {
        builder.rules(rules, Layer::Channel(channel.clone()))?;
    }
    Ok(builder.rules)
}

struct Builder<'a> {
    settings: &'a Settings,
    groups: &'a BTreeMap<String, Vec<String>>,
    rules: Rules,
}

impl Builder<'_> {
    fn add(&mut self, layer: Layer, rules: LayerRules) -> Result<(), Fault> {
        if rules == LayerRules::default() {
            return Ok(());
        }
        self.add_always(layer, &rules)
    }

    fn add_always(&mut self, layer: Layer, rules: &LayerRules) -> Result<(), Fault> {
        let before = std::mem::take(&mut self.rules);
        self.rules = before
            .layer(layer, rules, self.groups)
            .map_err(|fault| faulty(&fault))?;
        Ok(())
    }

    /// Rules with all that they may hold, the profile first.
    fn rules(&mut self, rules: &toolsearch_config::Rules, layer: Layer) -> Result<(), Fault> {
        if let Some(profile) = &rules.profile {
            self.profile(profile, &|_| layer.clone())?;
        }
        self.add(layer, lists(&rules.allow, &rules.deny, &rules.ask))
    }

    /// The profile of all agents, and of those that have another. The most particular one stands in
    /// for the others.
    fn profiles(&mut self) -> Result<(), Fault> {
        let settings = self.settings;
        let common = &settings.agents.defaults.tools.profile;
        if let Some(name) = common.as_ref().or(settings.tools.profile.as_ref()) {
            self.profile(name, &|name| Layer::Profile { name, agent: None })?;
        }
        for agent in &settings.agents.list {
            let Some(name) = &agent.tools.profile else {
                continue;
            };
            self.profile(name, &|name| Layer::Profile {
                name,
                agent: Some(agent.id.clone()),
            })?;
        }
        Ok(())
    }

    fn providers(
        &mut self,
        by_provider: &BTreeMap<String, toolsearch_config::Rules>,
        layer: impl Fn(String) -> Layer,
    ) -> Result<(), Fault> {
        for (id, rules) in by_provider {
            let layer = layer(id.clone());
            let profile = rules.profile.as_ref();
            match (&layer, profile) {
                (Layer::Provider(provider), Some(profile)) => {
                    self.profile(profile, &|name| Layer::ProviderProfile {
                        name,
                        provider: provider.clone(),
                    })?;
                    self.add(layer, lists(&rules.allow, &rules.deny, &rules.ask))?;
                }
                _ => self.rules(rules, layer)?,
            }
        }
        Ok(())
    }

    /// A profile and those that it starts from, each as a layer: all of them have to allow a tool.
    fn profile(&mut self, name: &str, layer: &dyn Fn(String) -> Layer) -> Result<(), Fault> {
        let settings = self.settings;
        let mut next = Some(name);
        for _ in 0..MAX_PROFILE_DEPTH {
            let Some(name) = next else { return Ok(()) };
            let layer = layer(name.to_owned());
            match settings.tools.profiles.get(name) {
                Some(rules) => {
                    self.add_always(layer, &lists(&rules.allow, &rules.deny, &rules.ask))?;
                    next = rules.profile.as_deref();
                }
                None => {
                    self.add_always(layer, &self.built_in(name)?)?;
                    next = None;
                }
            }
        }
        match next {
            None => Ok(()),
            Some(_) => {
                let message = format!("profile `{name}` starts from profiles in a circle");
                Err(Fault::configuration(message).next("mend `tools.profiles`"))
            }
        }
    }

    fn built_in(&self, name: &str) -> Result<LayerRules, Fault> {
        let found = BUILT_IN_PROFILES.iter().find(|(known, ..)| *known == name);
        if let Some((_, _, allow)) = found {
            let owned = |list: &&[&str]| list.iter().map(|one| (*one).to_owned()).collect();
            let mut rules = LayerRules::default();
            rules.allow = allow.as_ref().map(owned);
            return Ok(rules);
        }
        let own = self.settings.tools.profiles.keys().map(String::as_str);
        let built_in = BUILT_IN_PROFILES.iter().map(|(known, ..)| *known);
        let known: Vec<&str> = built_in.chain(own).collect();
        let message = format!(
            "no profile is named `{name}`; profiles are {}",
            known.join(", ")
        );
        Err(Fault::configuration(message).next("add it under `tools.profiles`"))
    }
}

/// Rules that cannot be meant, told to the person who wrote them.
pub(crate) fn faulty(fault: &RuleFault) -> Fault {
    let next = match fault {
        RuleFault::NothingAllowed { .. } => {
            "see the ids with `toolsearch catalog list` under other rules, or mend the allow list"
        }
        _ => "mend `tools.groups` or the entry in the configuration file",
    };
    Fault::configuration(fault.to_string()).next(next)
}

fn lists(allow: &Option<Vec<String>>, deny: &[String], ask: &[String]) -> LayerRules {
    LayerRules {
        allow: allow.clone(),
        deny: deny.to_vec(),
        ask: ask.to_vec(),
    }
}
