//! Things that real servers change: a folder, a knowledge graph in a file, a git repository.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, Kind, real};
use crate::support::{Home, Mode, eventually};

/// A home with a configuration of real servers.
pub(super) struct World {
    pub(super) home: Home,
}

pub(super) const NODE: &str = "node/node_modules/.bin";

impl World {
    /// A folder, a knowledge graph and a repository behind three servers.
    pub(super) fn new(mode: Mode) -> Self {
        let home = Home::new();
        fs::create_dir(home.path("files")).unwrap();
        let world = Self { home };
        world.make_repository();
        let servers =
            json!({ "files": world.files(), "memory": world.memory(), "repo": world.git() });
        world.home.configure(&mode.setting(), &servers);
        world
    }

    /// A knowledge graph behind a server that starts quickly.
    pub(super) fn with_memory_alone(mode: Mode) -> Self {
        let world = Self { home: Home::new() };
        let servers = json!({ "memory": world.memory() });
        world.home.configure(&mode.setting(), &servers);
        world
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.home.path("files").join(name)
    }

    pub(super) fn repository(&self) -> PathBuf {
        self.home.path("repo")
    }

    fn files(&self) -> Value {
        json!({
            "command": real(&format!("{NODE}/mcp-server-filesystem")),
            "args": [self.home.path("files")],
        })
    }

    fn memory(&self) -> Value {
        json!({
            "command": real(&format!("{NODE}/mcp-server-memory")),
            "env": { "MEMORY_FILE_PATH": self.home.path("memory.jsonl") },
        })
    }

    fn git(&self) -> Value {
        json!({
            "command": real("venv/bin/mcp-server-git"),
            "args": ["--repository", self.repository()],
        })
    }

    fn make_repository(&self) {
        fs::create_dir(self.repository()).unwrap();
        for args in [
            &["init", "--quiet", "--initial-branch", "main"][..],
            &["config", "user.name", "Tester"],
            &["config", "user.email", "tester@localhost"],
            &["commit", "--quiet", "--allow-empty", "--message", "first"],
        ] {
            self.git_says(args);
        }
    }

    /// What git itself says about the repository.
    pub(super) fn git_says(&self, args: &[&str]) -> String {
        let mut git = Command::new("git");
        git.arg("-C").arg(self.repository()).args(args);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1");
        let output = git.output().unwrap();
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {args:?}: {complaint}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Entities in the knowledge graph's file.
    pub(super) fn entities(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.home.path("memory.jsonl")).unwrap_or_default();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// A client of the gateway in front of the servers.
    pub(super) fn connect(&self, kind: Kind) -> Client {
        let client = Client::connect(kind, &self.home.command(&["serve"]));
        assert_eq!(client.protocol, kind.protocol());
        assert_eq!(client.server, "toolsearch");
        client
    }
}

/// The first hit of this id; a server may still be starting when it is looked for.
pub(super) fn find(client: &mut Client, query: &str, id: &str) -> Value {
    eventually(&format!("`{query}` finds {id}"), || {
        let result = client.works("tool_search", json!({ "query": query }));
        let answer = crate::support::json_text(&result);
        let hits = answer["candidates"].as_array().unwrap();
        hits.iter().find(|hit| hit["id"] == id).cloned()
    })
}
