//! The six points, each comparing the direct lane with one mode.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::lane::{Lane, LaneKind};
use crate::plugin::{self, NAME, SCHEMA_MARK, TARGET, TOOLS, VISIBLE};
use crate::tally::Tally;

/// Likely schemas that mode `directory` may show.
const MOST_LIKELY: usize = 4;

type Seen = Result<String, String>;

/// Asserts all six.
pub(crate) fn check(direct: &Lane, lane: &Lane, tally: &mut Tally) {
    let name = lane.kind.name();
    tally.point(
        name,
        "1 direct mode calls the plugin's tool",
        called(direct),
    );
    tally.point(name, "2 tool search calls the same tool", called(lane));
    tally.point(
        name,
        "3 direct mode sends every schema",
        all_schemas(direct),
    );
    tally.point(
        name,
        "4 tool search sends controls and visible tools alone",
        compact(lane),
    );
    tally.point(name, "5 the payload is smaller", smaller(direct, lane));
    tally.point(
        name,
        "6 the session logs tell the calls",
        logs(direct, lane),
    );
}

/// The tool ran once, as a process, and its receipt came back to the model and into the answer.
fn called(lane: &Lane) -> Seen {
    let [effect] = lane.effects.as_slice() else {
        return Err(format!("{} effects on disk, not one", lane.effects.len()));
    };
    equal("the tool on disk", &effect["tool"], &json!(TARGET))?;
    equal(
        "its arguments on disk",
        &effect["args"],
        &json!({"marker": lane.marker}),
    )?;
    equal(
        "the session on disk",
        &effect["session"],
        &lane.report["session"],
    )?;
    equal(
        "the end of the run",
        &lane.report["end"],
        &json!("answered"),
    )?;
    let receipt = effect["receipt"].as_str().unwrap_or_default();
    let answer = lane.report["answer"].as_str().unwrap_or_default();
    if receipt.is_empty() || !answer.contains(receipt) {
        return Err(format!("the answer does not hold `{receipt}`: {answer}"));
    }
    Ok(format!("{TARGET} ran once, {receipt}"))
}

/// Every tool of the plugin is declared with its own description and schema.
fn all_schemas(direct: &Lane) -> Seen {
    let declared: BTreeSet<&str> = direct.first().declared().into_iter().collect();
    let mut wanted = plugin::hidden_names();
    wanted.push(VISIBLE.to_owned());
    if let Some(missing) = wanted.iter().find(|name| !declared.contains(name.as_str())) {
        return Err(format!("`{missing}` is not declared"));
    }
    let tools = direct.first().body["tools"].as_array();
    for tool in tools.into_iter().flatten() {
        let function = &tool["function"];
        let name = function["name"].as_str().unwrap_or_default();
        if !name.starts_with("seal_") {
            continue;
        }
        let parameters = &function["parameters"];
        equal(name, &parameters["required"], &json!(["marker"]))?;
        equal(name, &parameters["additionalProperties"], &json!(false))?;
        if !parameters.to_string().contains(SCHEMA_MARK) {
            return Err(format!("the schema of `{name}` is not whole: {parameters}"));
        }
    }
    Ok(format!(
        "{TOOLS} of {} declared tools are the plugin's",
        declared.len()
    ))
}

/// Controls, visible tools, and in mode `directory` at most four likely ones; no other schema stands
/// anywhere in the payload.
fn compact(lane: &Lane) -> Seen {
    let first = lane.first();
    let mut declared = first.declared();
    declared.sort_unstable();
    let mut wanted: Vec<&str> = lane.kind.controls().to_vec();
    wanted.push(VISIBLE);
    wanted.sort_unstable();
    let hidden = plugin::hidden_names();
    let extra: Vec<&&str> = declared
        .iter()
        .filter(|name| !wanted.contains(name))
        .collect();
    let likely = extra
        .iter()
        .filter(|name| hidden.iter().any(|one| one == **name))
        .count();
    let most = if lane.kind == LaneKind::Directory {
        MOST_LIKELY
    } else {
        0
    };
    if likely != extra.len() || likely > most || declared.len() != wanted.len() + likely {
        return Err(format!("declared are {declared:?}, wanted {wanted:?}"));
    }
    let schemas = first.body.to_string().matches(SCHEMA_MARK).count();
    if schemas != likely {
        return Err(format!(
            "{schemas} hidden schemas stand in the payload, not {likely}"
        ));
    }
    Ok(declared.join(", "))
}

/// The first request, and all requests of the run together.
fn smaller(direct: &Lane, lane: &Lane) -> Seen {
    let (big, small) = (direct.first().bytes, lane.first().bytes);
    let (all_big, all_small) = (direct.all_bytes(), lane.all_bytes());
    let said = format!("{small} of {big} bytes at first, {all_small} of {all_big} in all");
    if small >= big || all_small >= all_big {
        return Err(said);
    }
    Ok(said)
}

/// Counts, ids and sources of the calls, the call behind a program, and sizes that agree with what
/// the provider was sent.
fn logs(direct: &Lane, lane: &Lane) -> Seen {
    log_of_direct(direct)?;
    let log = &lane.session;
    equal("mode", &log["mode"], &json!(lane.kind.name()))?;
    equal(
        "schemasSeenAtFirst",
        &log["schemasSeenAtFirst"],
        &json!(lane.first().declared().len()),
    )?;
    let asked = usize::from(lane.kind != LaneKind::Directory);
    equal("searches", &log["searches"], &json!(asked))?;
    equal("describes", &log["describes"], &json!(asked))?;
    equal(
        "runs",
        &log["runs"],
        &json!(usize::from(lane.kind == LaneKind::Code)),
    )?;
    let call = one_call(log)?;
    let nested = call.get("parent").is_some();
    if nested != (lane.kind == LaneKind::Code) {
        return Err(format!(
            "a call behind the bridge has a parent, others have none: {call}"
        ));
    }
    let sent = direct.first().declared().len();
    equal(
        "bytes.directTools",
        &log["bytes"]["directTools"],
        &json!(sent),
    )?;
    equal(
        "bytes.directToolBytes",
        &log["bytes"]["directToolBytes"],
        &direct.session["bytes"]["toolBytes"],
    )?;
    let (seen, searches) = (&log["schemasSeenAtFirst"], &log["searches"]);
    Ok(format!(
        "{seen} schemas, {searches} searches, {} describes, {} from {}",
        log["describes"], call["id"], call["source"]
    ))
}

fn log_of_direct(direct: &Lane) -> Result<(), String> {
    let log = &direct.session;
    let declared = direct.first().declared().len();
    equal(
        "direct schemasSeenAtFirst",
        &log["schemasSeenAtFirst"],
        &json!(declared),
    )?;
    equal("direct searches", &log["searches"], &json!(0))?;
    equal("direct describes", &log["describes"], &json!(0))?;
    let call = one_call(log)?;
    match call.get("parent") {
        None => Ok(()),
        Some(parent) => Err(format!("a direct call has the parent {parent}")),
    }
}

/// The only call of a session: the target's, from the plugin, and well.
fn one_call(log: &Value) -> Result<&Value, String> {
    let calls = log["calls"]
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default();
    let [call] = calls else {
        return Err(format!("{} calls in the log, not one", calls.len()));
    };
    equal("id", &call["id"], &json!(format!("plugin:{NAME}:{TARGET}")))?;
    equal("source", &call["source"], &json!("plugin"))?;
    equal("ok", &call["ok"], &json!(true))?;
    Ok(call)
}

fn equal(what: &str, seen: &Value, wanted: &Value) -> Result<(), String> {
    if seen == wanted {
        return Ok(());
    }
    Err(format!("{what} is {seen}, not {wanted}"))
}
