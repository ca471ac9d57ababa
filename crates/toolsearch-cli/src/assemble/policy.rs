//! From the lists of the configuration to the rules that the runtime asks.

use std::collections::BTreeMap;

use toolsearch::policy::{Layer, LayerRules, RuleFault, Rules};
use toolsearch_config::Settings;

use crate::fault::Fault;

/// Profiles that exist without being configured.
const FULL: &str = "full";

/// Groups that exist without being configured.
const SOURCE_GROUPS: [(&str, &str); 4] = [
    ("group:native", "native:*"),
    ("group:plugins", "plugin:*"),
    ("group:mcp", "mcp:*"),
    ("group:client", "client:*"),
];

/// The rules of all layers, for any agent of the file. `agent` is the one that acts: its profile and
/// its provider rules count.
pub(crate) fn rules(settings: &Settings, agent: Option<&str>) -> Result<Rules, Fault> {
    let groups = groups(&settings.tools.groups);
    let mut builder = Builder {
        settings,
        groups: &groups,
        rules: Rules::new(),
    };
    let tools = &settings.tools;
    let own = agent.and_then(|id| settings.agents.get(id));
    let defaults = &settings.agents.defaults.tools;
    let profile = own
        .and_then(|agent| agent.tools.profile.as_ref())
        .or(defaults.profile.as_ref())
        .or(tools.profile.as_ref());
    if let Some(name) = profile {
        builder.profile(name, Layer::Global)?;
    }
    builder.add(Layer::Global, lists(&tools.allow, &tools.deny, &tools.ask))?;
    builder.providers(&tools.by_provider)?;
    builder.add(
        Layer::Global,
        lists(&defaults.allow, &defaults.deny, &defaults.ask),
    )?;
    builder.providers(&defaults.by_provider)?;
    for agent in &settings.agents.list {
        let own = &agent.tools;
        builder.add(
            Layer::Agent(agent.id.clone()),
            lists(&own.allow, &own.deny, &own.ask),
        )?;
    }
    if let Some(agent) = own {
        builder.providers(&agent.tools.by_provider)?;
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
        let before = std::mem::take(&mut self.rules);
        self.rules = before
            .layer(layer, &rules, self.groups)
            .map_err(|fault| faulty(&fault))?;
        Ok(())
    }

    fn providers(
        &mut self,
        by_provider: &BTreeMap<String, toolsearch_config::Rules>,
    ) -> Result<(), Fault> {
        for (id, rules) in by_provider {
            let layer = || Layer::Provider(id.clone());
            if let Some(profile) = &rules.profile {
                self.profile(profile, layer())?;
            }
            self.add(layer(), lists(&rules.allow, &rules.deny, &rules.ask))?;
        }
        Ok(())
    }

    fn profile(&mut self, name: &str, layer: Layer) -> Result<(), Fault> {
        match self.settings.tools.profiles.get(name) {
            Some(rules) => self.add(layer, lists(&rules.allow, &rules.deny, &rules.ask)),
            None if name == FULL => Ok(()),
            None => {
                let own = self.settings.tools.profiles.keys().map(String::as_str);
                let known: Vec<&str> = [FULL].into_iter().chain(own).collect();
                let message = format!(
                    "no profile is named `{name}`; profiles are {}",
                    known.join(", ")
                );
                Err(Fault::configuration(message).next("add it under `tools.profiles`"))
            }
        }
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

/// Groups under their full names; those of the file win over those of every source.
fn groups(written: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let built_in = SOURCE_GROUPS.map(|(name, glob)| (name.to_owned(), vec![glob.to_owned()]));
    let mut groups = BTreeMap::from(built_in);
    for (name, entries) in written {
        let name = match name.strip_prefix("group:") {
            Some(_) => name.clone(),
            None => format!("group:{name}"),
        };
        groups.insert(name, entries.clone());
    }
    groups
}
