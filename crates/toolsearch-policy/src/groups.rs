//! Groups: names for lists of globs. Those that exist without being configured, and how an entry of
//! a list becomes globs.

use std::collections::BTreeMap;
use std::fmt;

use toolsearch_catalog::ToolDescriptor;

use crate::fault::RuleFault;
use crate::glob::Glob;

/// How deep groups may name groups.
pub(crate) const MAX_GROUP_DEPTH: usize = 8;
/// Most patterns that one list may stand for.
const MAX_PATTERNS: usize = 10_000;

/// Groups that exist without being configured. They go by names and owners, as nothing else is known
/// of most tools: a group says what a tool is called, not what it does.
pub const BUILT_IN_GROUPS: [(&str, &[&str]); 12] = [
    ("group:native", &["native:*"]),
    ("group:plugins", &["plugin:*"]),
    ("group:mcp", &["mcp:*"]),
    ("group:client", &["client:*"]),
    (
        "group:read",
        &[
            "get_*",
            "list_*",
            "search_*",
            "find_*",
            "read_*",
            "describe_*",
            "show_*",
            "count_*",
            "get",
            "list",
            "search",
            "find",
            "read",
        ],
    ),
    (
        "group:fs",
        &[
            "filesystem:*",
            "fs:*",
            "files:*",
            "read",
            "write",
            "edit",
            "apply_patch",
            "glob",
            "grep",
            "ls",
            "*_file",
            "*_files",
            "*_directory",
            "*_directories",
            "*_folder",
        ],
    ),
    (
        "group:runtime",
        &[
            "exec",
            "bash",
            "shell",
            "sh",
            "process",
            "terminal",
            "exec_*",
            "execute_command",
            "run_command",
            "run_shell*",
            "run_code*",
            "run_tests",
            "shell:*",
            "terminal:*",
        ],
    ),
    (
        "group:vcs",
        &[
            "git:*",
            "github:*",
            "gitlab:*",
            "bitbucket:*",
            "gitea:*",
            "git_*",
        ],
    ),
    (
        "group:web",
        &[
            "web:*",
            "fetch:*",
            "browser:*",
            "playwright:*",
            "puppeteer:*",
            "web_*",
            "fetch",
            "fetch_*",
            "browse_*",
            "browser_*",
        ],
    ),
    (
        "group:memory",
        &["memory:*", "memory_*", "remember", "recall"],
    ),
    (
        "group:messaging",
        &[
            "slack:*",
            "discord:*",
            "telegram:*",
            "whatsapp:*",
            "signal:*",
            "teams:*",
            "matrix:*",
            "mattermost:*",
            "gmail:*",
            "email:*",
            "mail:*",
            "sms:*",
            "message",
            "message_*",
            "send_message",
            "send_email",
            "send_mail",
            "post_message",
            "reply_*",
        ],
    ),
    (
        "group:tickets",
        &[
            "jira:*",
            "linear:*",
            "asana:*",
            "trello:*",
            "zendesk:*",
            "*_issue",
            "*_issues",
            "*_ticket",
            "*_tickets",
        ],
    ),
];

/// Profiles that exist without being configured: a name, what it is for, and the groups that it
/// allows. `full` allows everything.
pub const BUILT_IN_PROFILES: [(&str, &str, Option<&[&str]>); 4] = [
    (
        "minimal",
        "what reads, going by its name",
        Some(&["group:read"]),
    ),
    (
        "coding",
        "files, commands, repositories, tickets, the web and memory",
        Some(&[
            "group:fs",
            "group:runtime",
            "group:vcs",
            "group:tickets",
            "group:web",
            "group:memory",
        ]),
    ),
    (
        "messaging",
        "messages and memory",
        Some(&["group:messaging", "group:memory"]),
    ),
    ("full", "everything", None),
];

/// Groups by their full names: the built-in ones, and over them those that are given, with or
/// without `group:` before their names.
#[must_use]
pub fn with_built_in_groups(own: &BTreeMap<String, Vec<String>>) -> BTreeMap<String, Vec<String>> {
    let built_in = BUILT_IN_GROUPS.iter().map(|(name, entries)| {
        let entries = entries.iter().map(|entry| (*entry).to_owned()).collect();
        ((*name).to_owned(), entries)
    });
    let mut groups: BTreeMap<String, Vec<String>> = built_in.collect();
    for (name, entries) in own {
        let name = match name.strip_prefix("group:") {
            Some(_) => name.clone(),
            None => format!("group:{name}"),
        };
        groups.insert(name, entries.clone());
    }
    groups
}

/// One pattern of a list, and the entry that brought it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) written: String,
    pub(crate) glob: Glob,
}

impl Entry {
    pub(crate) fn covers(&self, tool: &ToolDescriptor) -> bool {
        self.glob.covers(tool)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)?;
        if self.written != self.glob.as_str() {
            write!(f, " ({})", self.glob)?;
        }
        Ok(())
    }
}

/// The globs that a list of globs and groups stands for. `place` names the list in an error.
///
/// # Errors
/// [`RuleFault`] for a group that is unknown, nests in a circle or stands for too much.
pub fn expand_globs(
    place: &str,
    entries: &[String],
    groups: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<Glob>, RuleFault> {
    let entries = expand(place, entries, groups)?;
    Ok(entries.into_iter().map(|entry| entry.glob).collect())
}

pub(crate) fn expand(
    layer: &str,
    entries: &[String],
    groups: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<Entry>, RuleFault> {
    let mut expanded = Vec::new();
    for written in entries {
        let mut walk = Walk {
            layer,
            written,
            groups,
            into: &mut expanded,
            steps: 0,
        };
        walk.entry(written, 0)?;
    }
    Ok(expanded)
}

struct Walk<'a> {
    layer: &'a str,
    /// The entry of the list that is being expanded.
    written: &'a str,
    groups: &'a BTreeMap<String, Vec<String>>,
    into: &'a mut Vec<Entry>,
    /// How many entries were looked at: groups of nothing cost time as well.
    steps: usize,
}

impl Walk<'_> {
    fn entry(&mut self, entry: &str, depth: usize) -> Result<(), RuleFault> {
        self.steps += 1;
        let layer = || self.layer.to_owned();
        if self.into.len() >= MAX_PATTERNS || self.steps > MAX_PATTERNS {
            return Err(RuleFault::TooMany {
                layer: layer(),
                entry: self.written.to_owned(),
                most: MAX_PATTERNS,
            });
        }
        if !entry.starts_with("group:") {
            self.into.push(Entry {
                written: self.written.to_owned(),
                glob: Glob::new(entry),
            });
            return Ok(());
        }
        if depth >= MAX_GROUP_DEPTH {
            return Err(RuleFault::GroupDepth {
                layer: layer(),
                entry: entry.to_owned(),
            });
        }
        let members = self.groups.get(entry).ok_or_else(|| {
            let known: Vec<&str> = self.groups.keys().map(String::as_str).collect();
            RuleFault::UnknownGroup {
                layer: layer(),
                entry: entry.to_owned(),
                known: known.join(", "),
            }
        })?;
        members
            .iter()
            .try_for_each(|one| self.entry(one, depth + 1))
    }
}
