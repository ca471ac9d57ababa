//! `toolsearch search QUERY`.

use serde_json::{Map, Value, json};
use toolsearch::mode::{Group, Query, Request, Response, SearchReply, render};

use crate::assemble::Assembled;
use crate::cli::SearchArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;
use crate::table::Table;

use super::unexpected;

/// Finds tools.
pub(crate) async fn run(args: &SearchArgs, assembled: &Assembled, output: &Output) -> Done {
    let session = assembled.open().await?;
    let limits = assembled.runtime.options().search;
    let asked = args
        .limit
        .map(|limit| usize::try_from(limit).unwrap_or(usize::MAX));
    let limit = asked.unwrap_or(limits.default);
    if limit > limits.max {
        output.note(&format!("at most {} hits are given", limits.max));
    }
    let mut query = Query::new(args.query.join(" "), limit.min(limits.max));
    query.read_only = args.read_only;
    let request = Request::Search {
        queries: vec![query],
        batch: false,
        explain: args.explain,
    };
    let reply = match session.request(request).await {
        Ok(Response::Search(reply)) => reply,
        Ok(other) => return Err(unexpected(other)),
        Err(_) => return Err(Fault::failed("a search cannot wait for a client")),
    };
    let group = reply
        .groups
        .first()
        .ok_or_else(|| Fault::failed("the search gave no answer"))?;
    if let Some(note) = &group.left_out {
        output.note(&format!("words alone were searched for: {}", note.detail));
        if note.reason == "indexing" {
            output.note("`toolsearch model index` makes the rest at once");
        }
    }
    if group.unsaid > 0 {
        output.note(&unsaid(group.unsaid));
    }
    if output.json {
        output.document(&document(group, &reply))?;
    } else {
        show(group, &reply, args.explain, output)?;
    }
    let empty = group.hits.is_empty();
    Ok(if empty && args.fail_empty {
        Exit::Failed
    } else {
        Exit::Fine
    })
}

fn unsaid(count: usize) -> String {
    let tools = if count == 1 {
        "tool that fits does"
    } else {
        "tools that fit do"
    };
    format!(
        "{count} {tools} not say whether they only read and were left out; \
         tools.toolSearch.assumeReadOnly counts such tools as reading"
    )
}

/// `{candidates, reason?, note?, nearest?, unsaid?, leftOut?, unavailable?}`.
fn document(group: &Group, reply: &SearchReply) -> Value {
    let mut value = Map::new();
    value.insert("candidates".to_owned(), Value::Array(render::hits(group)));
    if let Some(reason) = group.reason {
        value.insert("reason".to_owned(), Value::from(reason));
    }
    if let Some(script) = group.foreign_script {
        value.insert("note".to_owned(), Value::from(render::foreign_note(script)));
    }
    if !group.nearest.is_empty() {
        value.insert("nearest".to_owned(), json!(group.nearest));
    }
    if group.unsaid > 0 {
        value.insert("unsaid".to_owned(), json!(group.unsaid));
    }
    if let Some(note) = &group.left_out {
        let left_out = json!({ "part": "semantic", "reason": note.reason, "detail": note.detail });
        value.insert("leftOut".to_owned(), left_out);
    }
    if !reply.outages.is_empty() {
        let outages = reply.outages.iter().map(
            |note| json!({ "server": note.server, "state": note.state, "reason": note.reason }),
        );
        value.insert("unavailable".to_owned(), outages.collect());
    }
    Value::Object(value)
}

fn show(group: &Group, reply: &SearchReply, explain: bool, output: &Output) -> Result<(), Fault> {
    if group.hits.is_empty() {
        match group
            .foreign_script
            .filter(|_| group.reason == Some("no_match"))
        {
            Some(script) => output.text(&render::foreign_note(script))?,
            None => output.text(nothing(group.reason))?,
        }
        for id in &group.nearest {
            output.text(&format!("  nearest: {id}"))?;
        }
        for note in &reply.outages {
            output.text(&format!(
                "  {} is {}: {}",
                note.server, note.state, note.reason
            ))?;
        }
        return Ok(());
    }
    let mut table = Table::new(["id", "description"]);
    for hit in &group.hits {
        let card = &hit.card;
        table.row([card.id.to_string(), card.description.clone()]);
    }
    output.table(&table)?;
    if explain {
        for hit in &group.hits {
            let Some(explain) = &hit.explain else {
                continue;
            };
            output.text(&format!("\n{}\n{}", hit.card.id, evidence(explain)))?;
        }
    }
    Ok(())
}

fn nothing(reason: Option<&str>) -> &'static str {
    match reason {
        Some("no_terms") => "The query holds no word to search for.",
        Some("still_connecting") => "Nothing fits so far: some servers are still starting.",
        Some("server_unavailable") => "Nothing fits; tools of unavailable servers are missing.",
        _ => "Nothing fits. Try other words: product, verb, object.",
    }
}

/// Score and evidence in lines.
fn evidence(explain: &Value) -> String {
    let mut text = match explain.get("score").and_then(Value::as_f64) {
        Some(score) => format!("  score {score:.3}"),
        None => String::new(),
    };
    if explain.get("exact").and_then(Value::as_bool) == Some(true) {
        text.push_str("  named exactly");
    }
    for item in explain
        .get("evidence")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
    {
        let part = |key: &str| item.get(key).and_then(Value::as_str).unwrap_or_default();
        let weight = item
            .get("weight")
            .and_then(Value::as_f64)
            .unwrap_or_default();
        text.push_str(&format!(
            "\n  {weight:>7.3}  {} in {}",
            part("term"),
            part("field")
        ));
    }
    text
}
