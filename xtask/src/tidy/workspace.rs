//! The workspace as its manifests tell it: members, layers, dependencies. Reads no source files.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use toml::{Table, Value};

/// All manifests, read once.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Text of the root manifest, for line numbers.
    pub(crate) text: String,
    pub(crate) members: Vec<Member>,
    /// `workspace.metadata.layers`.
    pub(crate) layers: BTreeMap<String, Layer>,
}

/// A crate's place in the house.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layer {
    pub(crate) layer: u8,
    /// The one contract crate that an L2 part may build on.
    pub(crate) contract: Option<String>,
    /// A part that serves other parts: it knows no crate of the workspace, and any part may build on it.
    pub(crate) shared: bool,
}

/// One package.
#[derive(Debug)]
pub(crate) struct Member {
    pub(crate) name: String,
    /// Folder relative to the root.
    pub(crate) folder: PathBuf,
    pub(crate) text: String,
    pub(crate) manifest: Table,
}

/// When a dependency counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// One line of a dependency table.
#[derive(Debug)]
pub(crate) struct Dependency<'a> {
    /// Package name, also where the manifest gives it another one.
    pub(crate) package: &'a str,
    /// Key in the manifest.
    pub(crate) key: &'a str,
    pub(crate) kind: Kind,
    pub(crate) inherited: bool,
}

impl Workspace {
    /// Reads the root manifest and those of all members.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let (text, manifest) = read_manifest(&root.join("Cargo.toml"))?;
        let workspace = manifest
            .get("workspace")
            .and_then(Value::as_table)
            .with_context(|| format!("{} has no [workspace] table", root.display()))?;
        let mut members = Vec::new();
        for folder in member_folders(root, workspace)? {
            members.push(Member::read(root, folder)?);
        }
        members.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            root: root.to_path_buf(),
            text,
            members,
            layers: layers(workspace)?,
        })
    }

    /// The member of this name.
    pub(crate) fn member(&self, name: &str) -> Option<&Member> {
        self.members.iter().find(|member| member.name == name)
    }

    /// The layer of a member; `None` where the table forgets it.
    pub(crate) fn layer(&self, name: &str) -> Option<&Layer> {
        self.layers.get(name)
    }

    /// Whether a crate is there for development only.
    pub(crate) fn is_dev(&self, name: &str) -> bool {
        self.layer(name).is_some_and(|layer| layer.layer >= 5)
    }
}

impl Member {
    fn read(root: &Path, folder: PathBuf) -> Result<Self> {
        let path = root.join(&folder).join("Cargo.toml");
        let (text, manifest) = read_manifest(&path)?;
        let name = manifest
            .get("package")
            .and_then(|package| package.get("name"))
            .and_then(Value::as_str)
            .with_context(|| format!("{} has no package name", path.display()))?
            .to_owned();
        Ok(Self {
            name,
            folder,
            text,
            manifest,
        })
    }

    /// Manifest path relative to the root.
    pub(crate) fn manifest_path(&self) -> PathBuf {
        self.folder.join("Cargo.toml")
    }

    /// Whether the package lies under `crates/`.
    pub(crate) fn is_product_folder(&self) -> bool {
        self.folder.starts_with("crates")
    }

    /// Names of its cargo features.
    pub(crate) fn features(&self) -> Vec<String> {
        let features = self.manifest.get("features").and_then(Value::as_table);
        features
            .map(|table| table.keys().cloned().collect())
            .unwrap_or_default()
    }

    /// All dependencies, those of `[target.…]` tables included.
    pub(crate) fn dependencies(&self) -> Vec<Dependency<'_>> {
        let mut found = Vec::new();
        collect(&self.manifest, &mut found);
        let targets = self.manifest.get("target").and_then(Value::as_table);
        for target in targets
            .into_iter()
            .flat_map(Table::values)
            .filter_map(Value::as_table)
        {
            collect(target, &mut found);
        }
        found
    }

    /// Line of the manifest on which a key stands, or 1.
    pub(crate) fn line_of(&self, key: &str) -> usize {
        line_of(&self.text, key)
    }
}

/// First line that sets `key`, counted from 1; 1 where there is none.
pub(crate) fn line_of(text: &str, key: &str) -> usize {
    let sets = |line: &str| {
        line.trim_start()
            .trim_start_matches('"')
            .strip_prefix(key)
            .is_some_and(|rest| rest.starts_with(['.', ' ', '=', '"']))
    };
    text.lines().position(sets).map_or(1, |index| index + 1)
}

fn collect<'a>(table: &'a Table, found: &mut Vec<Dependency<'a>>) {
    let kinds = [
        ("dependencies", Kind::Normal),
        ("build-dependencies", Kind::Build),
        ("dev-dependencies", Kind::Dev),
    ];
    for (name, kind) in kinds {
        let entries = table.get(name).and_then(Value::as_table);
        for (key, value) in entries.into_iter().flatten() {
            found.push(Dependency {
                package: value.get("package").and_then(Value::as_str).unwrap_or(key),
                key,
                kind,
                inherited: value
                    .get("workspace")
                    .and_then(Value::as_bool)
                    .unwrap_or(false),
            });
        }
    }
}

fn read_manifest(path: &Path) -> Result<(String, Table)> {
    let text =
        fs::read_to_string(path).with_context(|| format!("could not read {}", path.display()))?;
    let table = text
        .parse()
        .with_context(|| format!("{} is not valid TOML", path.display()))?;
    Ok((text, table))
}

/// Member folders relative to the root; a pattern may end in `/*`, as this workspace's do.
fn member_folders(root: &Path, workspace: &Table) -> Result<Vec<PathBuf>> {
    let patterns = workspace
        .get("members")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    let mut folders = Vec::new();
    for pattern in patterns.iter().filter_map(Value::as_str) {
        let Some(parent) = pattern.strip_suffix("/*") else {
            folders.push(PathBuf::from(pattern));
            continue;
        };
        let listing = fs::read_dir(root.join(parent))
            .with_context(|| format!("could not list the members `{pattern}`"))?;
        for entry in listing {
            let folder = Path::new(parent).join(entry?.file_name());
            if root.join(&folder).join("Cargo.toml").is_file() {
                folders.push(folder);
            }
        }
    }
    folders.sort();
    Ok(folders)
}

fn layers(workspace: &Table) -> Result<BTreeMap<String, Layer>> {
    let table = workspace
        .get("metadata")
        .and_then(|metadata| metadata.get("layers"))
        .and_then(Value::as_table)
        .context("the root Cargo.toml has no [workspace.metadata.layers] table")?;
    let mut layers = BTreeMap::new();
    for (name, value) in table {
        let layer = value
            .get("layer")
            .and_then(Value::as_integer)
            .and_then(|layer| u8::try_from(layer).ok())
            .filter(|layer| *layer <= 5)
            .with_context(|| format!("layers.{name} needs `layer = N` with N from 0 to 5"))?;
        let contract = value
            .get("contract")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let shared = value.get("shared").and_then(Value::as_bool);
        let shared = shared.unwrap_or_default();
        let layer = Layer {
            layer,
            contract,
            shared,
        };
        layers.insert(name.clone(), layer);
    }
    Ok(layers)
}
