//! Tools and queries from files. Tools come as JSON lines `{id, server, name, description, inputSchema}`,
//! as a `tools/list` result, or as a folder of such results, one server a file. Queries come as JSON
//! lines `{query, relevant, dataset?, language?, style?}`. A row that is no tool is counted and left out.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Deserialize;
use serde_json::Value;
use toolsearch_catalog::{CatalogBuilder, Source, ToolDescriptor, ToolId};

use crate::data::{DataSet, Query, Tools};

/// The owner of tools that name none.
const NO_OWNER: &str = "tools";
/// Largest file that is read.
const MAX_FILE_BYTES: u64 = 512 * 1024 * 1024;
/// How many servers may share a name before their equal tools are left out.
const MAX_NAMESAKES: usize = 64;

/// Why a file gave no data.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The file or folder cannot be read.
    #[error("cannot read {path}")]
    File {
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A line or a file has another form.
    #[error("{path}, line {line}: {message}")]
    Form {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What was expected.
        message: String,
    },
}

/// A tool as files have it. Everything but the name may be missing.
#[derive(Debug, Deserialize)]
struct ToolRow {
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    server: Option<String>,
    name: String,
    #[serde(default)]
    server_description: Option<String>,
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    description: Option<String>,
    #[serde(default, rename = "inputSchema")]
    input_schema: Option<Value>,
}

#[derive(Debug, Deserialize)]
struct QueryRow {
    query: String,
    #[serde(default)]
    relevant: Vec<String>,
    #[serde(default)]
    dataset: Option<String>,
    #[serde(default, alias = "lang")]
    language: Option<String>,
    #[serde(default)]
    style: Option<String>,
}

/// Reads tools from a file or from a folder of files.
///
/// # Errors
/// [`ReadError`] names the file, and the line where one has another form.
pub fn tools(path: &Path) -> Result<Tools, ReadError> {
    tools_of(&[path])
}

/// Reads the tools of several files and folders as one catalog.
///
/// # Errors
/// [`ReadError`] names the file, and the line where one has another form.
pub fn tools_of(paths: &[impl AsRef<Path>]) -> Result<Tools, ReadError> {
    let mut gathered = Gathered::default();
    for path in paths.iter().map(AsRef::as_ref) {
        if path.is_dir() {
            for file in files(path)? {
                gathered.file(&file, owner_of(&file))?;
            }
        } else {
            gathered.file(path, owner_of(path))?;
        }
    }
    Ok(gathered.close())
}

/// The server that a file is named after: `github` for `github.tools.json`.
fn owner_of(file: &Path) -> &str {
    let name = file.file_name().and_then(|name| name.to_str());
    let stem = name.and_then(|name| {
        let endings = [".tools.jsonl", ".tools.json", ".jsonl", ".json"];
        endings.iter().find_map(|ending| name.strip_suffix(ending))
    });
    stem.filter(|stem| !stem.is_empty()).unwrap_or(NO_OWNER)
}

/// Reads queries from a file of JSON lines.
///
/// # Errors
/// [`ReadError`] names the file and the line.
pub fn queries(path: &Path) -> Result<Vec<Query>, ReadError> {
    parse_queries(&text(path)?, path)
}

/// Reads tools from the text of one file; `path` stands in errors.
///
/// # Errors
/// [`ReadError::Form`] names the line.
pub fn parse_tools(text: &str, path: &Path) -> Result<Tools, ReadError> {
    let mut gathered = Gathered::default();
    gathered.text(text, path, NO_OWNER)?;
    Ok(gathered.close())
}

/// Reads queries from JSON lines; `path` stands in errors.
///
/// # Errors
/// [`ReadError::Form`] names the line.
pub fn parse_queries(text: &str, path: &Path) -> Result<Vec<Query>, ReadError> {
    let rows = (1..).zip(text.lines());
    let rows = rows.filter(|(_, line)| !line.trim().is_empty());
    let query = |(at, line): (usize, &str)| {
        let row: QueryRow = serde_json::from_str(line).map_err(|error| ReadError::Form {
            path: path.to_owned(),
            line: at,
            message: format!("expected a query as a JSON object: {error}"),
        })?;
        Ok(Query {
            text: row.query,
            relevant: row.relevant,
            dataset: row.dataset,
            language: row.language,
            style: row.style,
        })
    };
    rows.map(query).collect()
}

/// Reads a folder that holds one folder a data set, each with `queries.jsonl` and `catalog.jsonl`. Sets
/// without a catalog of their own are asked of the catalog of `otherwise`, right after it.
///
/// # Errors
/// [`ReadError`] names the file.
pub fn folder(path: &Path, otherwise: &str) -> Result<Vec<DataSet>, ReadError> {
    let mut sets: Vec<DataSet> = Vec::new();
    let mut without = Vec::new();
    for folder in folders(path)? {
        let name = folder.file_name().and_then(|name| name.to_str());
        let (Some(name), true) = (name, folder.join("queries.jsonl").is_file()) else {
            continue;
        };
        let queries = queries(&folder.join("queries.jsonl"))?;
        let catalog = folder.join("catalog.jsonl");
        if catalog.is_file() {
            sets.push(DataSet::new(name, Arc::new(tools(&catalog)?), queries));
        } else {
            without.push((name.to_owned(), queries));
        }
    }
    let catalog = path.join(otherwise).join("catalog.jsonl");
    for (name, queries) in without {
        let (at, tools) = match sets.iter().rposition(|set| set.name == otherwise) {
            Some(at) => (at + 1, Arc::clone(&sets[at].tools)),
            None => (sets.len(), Arc::new(tools(&catalog)?)),
        };
        sets.insert(at, DataSet::new(name, tools, queries));
    }
    Ok(sets)
}

fn io(path: &Path) -> impl FnOnce(std::io::Error) -> ReadError {
    let path = path.to_owned();
    move |source| ReadError::File { path, source }
}

fn text(path: &Path) -> Result<String, ReadError> {
    let size = fs::metadata(path).map_err(io(path))?.len();
    if size > MAX_FILE_BYTES {
        let error = std::io::Error::other("the file is larger than 512 MiB");
        return Err(io(path)(error));
    }
    fs::read_to_string(path).map_err(io(path))
}

/// The entries of a folder, sorted by name.
fn entries(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let read = fs::read_dir(path).map_err(io(path))?;
    let paths: Result<Vec<PathBuf>, _> =
        read.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths.map_err(io(path))?;
    paths.sort();
    Ok(paths)
}

fn folders(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    Ok(entries(path)?
        .into_iter()
        .filter(|path| path.is_dir())
        .collect())
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let is_data = |path: &PathBuf| {
        let extension = path.extension().and_then(|extension| extension.to_str());
        path.is_file() && matches!(extension, Some("json" | "jsonl"))
    };
    Ok(entries(path)?.into_iter().filter(is_data).collect())
}

#[derive(Debug, Default)]
struct Gathered {
    builder: CatalogBuilder,
    taken: BTreeMap<ToolId, usize>,
    labels: Vec<(String, ToolId)>,
    skipped: usize,
}

impl Gathered {
    fn file(&mut self, path: &Path, owner: &str) -> Result<(), ReadError> {
        self.text(&text(path)?, path, owner)
    }

    /// A whole file may be one JSON value, a `tools/list` result; otherwise it is JSON lines.
    fn text(&mut self, text: &str, path: &Path, owner: &str) -> Result<(), ReadError> {
        if let Ok(value) = serde_json::from_str::<Value>(text)
            && let Some(list) = listed(&value)
        {
            for row in list {
                match serde_json::from_value::<ToolRow>(row.clone()) {
                    Ok(row) => self.row(row, owner),
                    Err(_) => self.skipped += 1,
                }
            }
            return Ok(());
        }
        for (line, row) in (1..).zip(text.lines()) {
            if row.trim().is_empty() {
                continue;
            }
            let value: Value = serde_json::from_str(row).map_err(|error| ReadError::Form {
                path: path.to_owned(),
                line,
                message: format!("expected a tool as a JSON object: {error}"),
            })?;
            match serde_json::from_value::<ToolRow>(value) {
                Ok(row) => self.row(row, owner),
                Err(_) => self.skipped += 1,
            }
        }
        Ok(())
    }

    /// Two servers may share a name; the tools of the second then get an owner with a number.
    fn row(&mut self, row: ToolRow, owner: &str) {
        let owner = row
            .server
            .as_deref()
            .filter(|server| !server.is_empty())
            .unwrap_or(owner);
        let schema: Arc<Value> = row.input_schema.unwrap_or_default().into();
        let mut number = 1;
        let tool = loop {
            let owner = match number {
                1 => owner.to_owned(),
                _ => format!("{owner}-{number}"),
            };
            match ToolDescriptor::new(Source::Mcp, &owner, &row.name, Arc::clone(&schema)) {
                Ok(tool) if !self.taken.contains_key(&tool.id) => break tool,
                Ok(_) if number < MAX_NAMESAKES && row.id.is_some() => number += 1,
                _ => {
                    self.skipped += 1;
                    return;
                }
            }
        };
        let mut tool = tool;
        tool.description = row.description.unwrap_or_default();
        tool.owner_description = row
            .server_description
            .filter(|text| !text.is_empty())
            .map(Arc::from);
        tool.title = row.title.filter(|title| !title.is_empty());
        self.taken.insert(tool.id.clone(), self.labels.len());
        self.labels
            .push((row.id.unwrap_or_default(), tool.id.clone()));
        self.labels
            .push((format!("{}/{}", tool.owner, tool.name), tool.id.clone()));
        self.builder.add(tool);
    }

    fn close(self) -> Tools {
        let (catalog, _) = self.builder.build();
        let mut names = BTreeMap::new();
        for (label, id) in &self.labels {
            if let Some(place) = catalog.position(id) {
                names.entry(label.clone()).or_insert(place);
            }
        }
        names.remove("");
        Tools::new(catalog, names, self.skipped)
    }
}

/// The tools of a `tools/list` result, bare, in its answer, or as a plain list.
fn listed(value: &Value) -> Option<&Vec<Value>> {
    value
        .as_array()
        .or_else(|| value.get("tools")?.as_array())
        .or_else(|| value.get("result")?.get("tools")?.as_array())
}
