//! One server of another program: every spelling of every key that is in use.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::schema::services;
use crate::secret::Secret;
use crate::server::{ServerCatalogMode, ServerDefinition, ServerTrust, Transport};

use super::Client;

/// What there is to tell about an entry that was read.
#[derive(Debug, Default)]
pub(super) struct Told {
    pub(super) warnings: Vec<String>,
    pub(super) notes: Vec<String>,
}

/// Keys that say nothing about how to run a server.
const WITHOUT_COUNTERPART: &[&str] = &[
    "name",
    "id",
    "description",
    "title",
    "icon",
    "iconUrl",
    "version",
    "gallery",
    "homepage",
    "note",
    "tags",
    "dev",
    "alwaysLoad",
    "autoApprove",
    "alwaysAllow",
    "autoStart",
    "required",
    "env_vars",
];

/// Reads one entry.
///
/// An error is the reason why it cannot be used at all.
pub(super) fn read(
    value: &Value,
    client: Option<Client>,
    told: &mut Told,
) -> Result<ServerDefinition, String> {
    let Value::Object(entry) = value else {
        return Err("is no object".to_owned());
    };
    let mut reader = Reader {
        entry,
        client,
        told,
        server: ServerDefinition::default(),
    };
    reader.address()?;
    for (key, value) in entry {
        reader.key(key, value)?;
    }
    let server = reader.server;
    server.chosen_transport()?;
    let literal = server.url.as_deref().filter(|url| !url.contains("${"));
    let is_http = |url: &str| {
        let lower = url.to_ascii_lowercase();
        lower.starts_with("http://") || lower.starts_with("https://")
    };
    match literal {
        Some(url) if !is_http(url) => {
            Err("its address does not start with http:// or https://".to_owned())
        }
        _ => Ok(server),
    }
}

struct Reader<'a> {
    entry: &'a Map<String, Value>,
    client: Option<Client>,
    told: &'a mut Told,
    server: ServerDefinition,
}

impl Reader<'_> {
    /// The address under whichever name; the more telling name wins.
    fn address(&mut self) -> Result<(), String> {
        for key in ["httpUrl", "serverUrl", "url"] {
            let Some(value) = self.entry.get(key) else {
                continue;
            };
            self.server.url = Some(text(key, value)?);
            if key == "url" && self.client == Some(Client::Gemini) {
                self.server.transport = Some(Transport::Sse);
            }
            return Ok(());
        }
        Ok(())
    }

    fn key(&mut self, key: &str, value: &Value) -> Result<(), String> {
        match key {
            "httpUrl" | "serverUrl" | "url" => {}
            "command" | "cmd" => self.command(key, value)?,
            "args" | "arguments" => self.server.args.extend(texts(key, value)?),
            "env" | "environment" => self.server.env.extend(secrets(key, value)?),
            "cwd" | "workingDirectory" => self.server.cwd = Some(text(key, value)?),
            "headers" | "http_headers" => self.server.headers.extend(secrets(key, value)?),
            "env_http_headers" => {
                for (header, variable) in secrets(key, value)? {
                    let template = format!("${{{}}}", variable.expose());
                    self.server.headers.insert(header, Secret::new(template));
                }
            }
            "bearer_token_env_var" => {
                let template = format!("Bearer ${{{}}}", text(key, value)?);
                self.server
                    .headers
                    .insert("Authorization".to_owned(), Secret::new(template));
            }
            "type" | "transport" => self.transport(key, value)?,
            "disabled" => self.server.disabled |= switch(key, value)?,
            "enabled" => self.server.disabled |= !switch(key, value)?,
            "trust" => self.trust(value),
            "catalogMode" => self.catalog_mode(value)?,
            _ if self.timeout(key, value)? || self.filter(key, value)? => {}
            _ => self.unknown(key),
        }
        if matches!(
            key,
            "cmd" | "arguments" | "environment" | "workingDirectory"
        ) {
            let meant = services::SERVER.nearest(key).unwrap_or(key);
            self.told
                .warnings
                .push(format!("key `{key}` is read as `{meant}`"));
        }
        Ok(())
    }

    /// A program, or a list of the program and its first arguments.
    fn command(&mut self, key: &str, value: &Value) -> Result<(), String> {
        if value.is_array() {
            let mut words = texts(key, value)?;
            if words.is_empty() {
                return Err(format!("`{key}` is an empty list"));
            }
            self.server.command = Some(words.remove(0));
            self.server.args.splice(0..0, words);
        } else {
            self.server.command = Some(text(key, value)?);
        }
        Ok(())
    }

    fn transport(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let spelling = text(key, value)?;
        let Some(transport) = Transport::from_spelling(&spelling) else {
            let shown: String = spelling.chars().take(40).collect();
            return Err(format!(
                "unknown transport {shown:?}; known: stdio, http, sse"
            ));
        };
        self.server.transport = Some(transport);
        Ok(())
    }

    fn trust(&mut self, value: &Value) {
        if value == "trusted" {
            self.server.trust = ServerTrust::Trusted;
        } else if value != "untrusted" {
            // Elsewhere this skips confirmations, which is for `ask` and `allow` to say here.
            self.told
                .notes
                .push("`trust` is not carried over".to_owned());
        }
    }

    fn catalog_mode(&mut self, value: &Value) -> Result<(), String> {
        match value.as_str() {
            Some("direct-only") => self.server.catalog_mode = ServerCatalogMode::DirectOnly,
            Some("searchable") => {}
            _ => return Err("`catalogMode` takes \"searchable\" or \"direct-only\"".to_owned()),
        }
        Ok(())
    }

    /// Times in the unit that the key or the program uses.
    fn timeout(&mut self, key: &str, value: &Value) -> Result<bool, String> {
        let (per_unit, starts) = match key {
            "startup_timeout_sec" => (1_000.0, true),
            "startup_timeout_ms" | "startTimeoutMs" => (1.0, true),
            "tool_timeout_sec" => (1_000.0, false),
            "tool_timeout_ms" | "callTimeoutMs" | "timeoutMs" => (1.0, false),
            "timeout" => (self.unit_of_timeout(value), false),
            _ => return Ok(false),
        };
        let Some(number) = value
            .as_f64()
            .filter(|number| number.is_finite() && *number > 0.0)
        else {
            return Err(format!("`{key}` takes a positive number"));
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "positive and finite; what is too large is cut to the range anyway"
        )]
        let milliseconds = (number * per_unit).round() as u64;
        if starts {
            self.server.start_timeout_ms = services::START_TIMEOUT_MS.clamp(milliseconds);
        } else {
            self.server.call_timeout_ms = services::CALL_TIMEOUT_MS.clamp(milliseconds);
        }
        Ok(true)
    }

    /// Cline counts `timeout` in seconds, the others in milliseconds. Without a hint a number under
    /// a thousand can only be meant as seconds.
    fn unit_of_timeout(&self, value: &Value) -> f64 {
        let small = value.as_f64().is_some_and(|number| number < 1_000.0);
        match self.client {
            Some(Client::Cline) => 1_000.0,
            None if small => 1_000.0,
            _ => 1.0,
        }
    }

    /// Which tools are listed.
    fn filter(&mut self, key: &str, value: &Value) -> Result<bool, String> {
        let filter = &mut self.server.tools;
        match (key, value) {
            ("enabled_tools" | "includeTools" | "enabledTools", _) | ("tools", Value::Array(_)) => {
                filter
                    .allow
                    .get_or_insert_default()
                    .extend(texts(key, value)?);
            }
            ("disabled_tools" | "excludeTools" | "disabledTools", _) => {
                filter.deny.extend(texts(key, value)?);
            }
            ("toolFilter" | "tools", Value::Object(map)) => {
                for (inner, value) in map {
                    match inner.as_str() {
                        "include" | "allow" => {
                            filter
                                .allow
                                .get_or_insert_default()
                                .extend(texts(inner, value)?);
                        }
                        "exclude" | "deny" => filter.deny.extend(texts(inner, value)?),
                        _ => self
                            .told
                            .warnings
                            .push(format!("unknown key `{key}.{inner}`")),
                    }
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn unknown(&mut self, key: &str) {
        let shown: String = key.chars().take(60).collect();
        if WITHOUT_COUNTERPART.contains(&key) {
            self.told
                .notes
                .push(format!("`{shown}` is not carried over"));
            return;
        }
        let message = match services::SERVER.nearest(key) {
            Some(meant) => format!("unknown key `{shown}` is ignored; did you mean `{meant}`?"),
            None => format!("unknown key `{shown}` is ignored"),
        };
        self.told.warnings.push(message);
    }
}

fn text(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        _ => Err(format!("`{key}` takes a string")),
    }
}

fn switch(key: &str, value: &Value) -> Result<bool, String> {
    value
        .as_bool()
        .ok_or_else(|| format!("`{key}` takes true or false"))
}

/// Strings; numbers and booleans are taken as they are written.
fn scalar(key: &str, value: &Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(_) | Value::Bool(_) => Ok(value.to_string()),
        _ => Err(format!("`{key}` takes strings")),
    }
}

fn texts(key: &str, value: &Value) -> Result<Vec<String>, String> {
    let Value::Array(items) = value else {
        return Err(format!("`{key}` takes a list"));
    };
    items.iter().map(|item| scalar(key, item)).collect()
}

fn secrets(key: &str, value: &Value) -> Result<BTreeMap<String, Secret>, String> {
    let Value::Object(map) = value else {
        return Err(format!("`{key}` takes an object"));
    };
    let one = |(name, value): (&String, &Value)| {
        Ok((
            name.clone(),
            Secret::new(scalar(&format!("{key}.{name}"), value)?),
        ))
    };
    map.iter().map(one).collect()
}
