//! `toolsearch demo`: what a model is sent in every mode, a program in the sandbox, a denied tool,
//! and the answers of the session log. Everything is worked out on the sample tools as it is shown.

use std::sync::Arc;

use serde_json::{Value, json};
use toolsearch::mode::{CallRequest, Failure, Query, Request, Response, RunReply, render};
use toolsearch::mode_tools::ToolsMode;
use toolsearch::runtime::Session;
use toolsearch::telemetry::{MemoryRecorder, Recorder, Stamped, Summary};

use crate::assemble::configuration::Configuration;
use crate::assemble::logs::{self, SessionLogs};
use crate::assemble::sources::Sources;
use crate::assemble::{Assembled, Purpose};
use crate::cli::Common;
use crate::fault::{Done, Exit, Fault, program_exit};
use crate::measure::{self, Measured, grouped};
use crate::output::Output;
use crate::table::Table;

use super::{sessions, unexpected};

/// The program that is run.
const PROGRAM: &str = r#"const hits = await openclaw.tools.search("create a GitHub issue");
const tool = await openclaw.tools.describe(hits[0].id);
return await openclaw.tools.call(tool.id, { title: "Crash on startup", body: "Steps to reproduce..." });"#;

const QUERY: &str = "create a GitHub issue";
const AGENT: &str = "intern";

/// The tool that the agent may not use, and rules that say so.
const DENIED: &str = "native:github:create_issue";
const RULES: &str =
    r#"{ agents: { list: [{ id: "intern", tools: { deny: ["native:github:create_issue"] } }] } }"#;

/// A name that no tool has: what a denied tool must look like.
const NOBODY: &str = "native:github:create_issues";

/// Most characters of the program's result.
const MAX_RESULT_CHARS: usize = 400;

/// Shows everything.
pub(crate) async fn run(common: &Common, output: &Output) -> Done {
    let shown = Shown::work_out(common).await?;
    if output.json {
        output.document(&shown.document()?)?;
    } else {
        shown.print(output)?;
    }
    if let Some(door) = shown.doors.iter().find(|door| door.reveals) {
        let message = format!("`{}` reveals a tool that is denied", door.door);
        return Err(Fault::failed(message));
    }
    Ok(match &shown.program.error {
        Some(error) => program_exit(&error.code),
        None => Exit::Fine,
    })
}

/// Everything that is shown.
struct Shown {
    tools: usize,
    services: usize,
    measured: Vec<Measured>,
    program: Box<RunReply>,
    log: Summary,
    doors: Vec<Door>,
}

/// What one door says to the agent about the denied tool.
struct Door {
    door: &'static str,
    asked: String,
    answer: String,
    /// Whether the answer says anything that it would not say about a tool that does not exist.
    reveals: bool,
}

impl Shown {
    async fn work_out(common: &Common) -> Result<Self, Fault> {
        let plain = Configuration::of_text(common, "")?;
        let sources = Sources::sample();
        let listings = sources.list().await;
        let quiet = Assembled::of(plain, sources, None, Purpose::Measuring)?;
        let measured = measure::all(&quiet, &listings).await?;
        let tools = listings.iter().map(|listing| listing.tools.len()).sum();
        let (program, log) = program(common).await?;
        Ok(Self {
            tools,
            services: listings.len(),
            measured,
            program,
            log,
            doors: doors(common).await?,
        })
    }

    fn document(&self) -> Result<Value, Fault> {
        let doors = self.doors.iter().map(|door| {
            json!({ "door": door.door, "asked": door.asked, "answer": door.answer,
                    "reveals": door.reveals })
        });
        Ok(json!({
            "catalog": { "tools": self.tools, "services": self.services },
            "modes": measure::document(&self.measured),
            "program": render::run_value(&self.program),
            "denied": { "id": DENIED, "agent": AGENT, "doors": doors.collect::<Vec<_>>() },
            "session": sessions::document(&self.log)?,
        }))
    }

    fn print(&self, output: &Output) -> Result<(), Fault> {
        let tools = grouped(self.tools);
        output.heading(&format!(
            "{tools} sample tools of {} services",
            self.services
        ))?;
        output.text(
            "What a model is sent at first: declared tools and prompt text, tokens of o200k\n",
        )?;
        output.table(&measure::table(&self.measured))?;
        output.text("")?;
        output.heading("A program, run in the sandbox")?;
        output.text(&indented(PROGRAM))?;
        output.text(&self.result())?;
        output.heading(&format!(
            "A denied tool stays invisible: {DENIED} for agent {AGENT}"
        ))?;
        let mut table = Table::new(["door", "asked for", "answer"]);
        for door in &self.doors {
            table.row([
                door.door.to_owned(),
                door.asked.clone(),
                door.answer.clone(),
            ]);
        }
        output.table(&table)?;
        output.text("Describe and call answer as they do for a tool that does not exist.\n")?;
        output.heading(&format!(
            "What the session log answers ({})",
            self.log.session
        ))?;
        output.table(&sessions::answers(&self.log))?;
        output.text("\nNext: `toolsearch search`, `toolsearch run`, or `toolsearch serve` in an MCP client.")?;
        Ok(())
    }

    fn result(&self) -> String {
        let run = &self.program;
        let millis = run
            .telemetry
            .get("ms")
            .and_then(Value::as_u64)
            .unwrap_or_default();
        let engine = run
            .telemetry
            .get("engine")
            .and_then(Value::as_str)
            .unwrap_or("none");
        let result = match &run.error {
            Some(error) => format!("{}: {}", error.name, error.message),
            None => {
                let value = run
                    .value
                    .pointer("/result/structuredContent")
                    .unwrap_or(&run.value);
                value.to_string()
            }
        };
        let called: Vec<&str> = run.calls.iter().map(|call| call.id.as_str()).collect();
        let result = toolsearch::schema::names::clip(&result, MAX_RESULT_CHARS);
        format!(
            "\n  called  {}\n  result  {result}\n  engine  {engine}, {millis} ms\n",
            called.join(", ")
        )
    }
}

/// Runs the program in a session of its own and reads back what its log says.
async fn program(common: &Common) -> Result<(Box<RunReply>, Summary), Fault> {
    let configuration = Configuration::of_text(common, "")?;
    let folder = logs::folder(&configuration);
    let recorder = Arc::new(Twice {
        memory: MemoryRecorder::default(),
        logs: folder.clone().map(SessionLogs::new),
    });
    let purpose = Purpose::Shown(Arc::clone(&recorder) as _);
    let assembled = Assembled::of(configuration, Sources::sample(), None, purpose)?;
    let session = super::run::open(&assembled).await?;
    let name = session.id().to_owned();
    let run = Request::Run {
        code: PROGRAM.to_owned(),
    };
    let reply = match session.request(run).await {
        Ok(Response::Run(reply)) => reply,
        Ok(other) => return Err(unexpected(other)),
        Err(_) => {
            return Err(Fault::failed(
                "the program waits for a client that is not there",
            ));
        }
    };
    drop(session);
    let written = folder.and_then(|folder| logs::read(&folder, &name).ok());
    let log = written
        .or_else(|| Summary::of(&name, &recorder.memory.events()))
        .ok_or_else(|| Fault::failed("the session was not recorded"))?;
    Ok((reply, log))
}

/// Records into the session log, and in memory for where no log can be written.
#[derive(Debug)]
struct Twice {
    memory: MemoryRecorder,
    logs: Option<SessionLogs>,
}

impl Recorder for Twice {
    fn record(&self, event: &Stamped) {
        self.memory.record(event);
        if let Some(logs) = &self.logs {
            logs.record(event);
        }
    }
}

/// Asks every door for the denied tool, as the agent that may not use it.
async fn doors(common: &Common) -> Result<Vec<Door>, Fault> {
    let configuration = Configuration::of_text(common, RULES)?;
    let assembled = Assembled::of(
        configuration,
        Sources::sample(),
        Some(AGENT),
        Purpose::Measuring,
    )?;
    let mut request = assembled.request(assembled.sources.list().await);
    request.mode = Some(Arc::new(ToolsMode));
    let session = assembled.open_with(request).await?;
    Ok(vec![
        search(&session).await?,
        refused(&session, "describe", |id| {
            Request::Describe(vec![id.to_owned()])
        })
        .await?,
        refused(&session, "call", |id| {
            Request::Call(CallRequest::new(id, serde_json::Map::new()))
        })
        .await?,
        suggestions(&session).await?,
    ])
}

async fn search(session: &Session) -> Result<Door, Fault> {
    let request = Request::Search {
        queries: vec![Query::new(QUERY, 20)],
        batch: false,
        explain: false,
    };
    let Ok(Response::Search(reply)) = session.request(request).await else {
        return Err(Fault::failed("the search gave no answer"));
    };
    let hits: Vec<&str> = reply
        .groups
        .iter()
        .flat_map(|group| group.hits.iter().map(|hit| hit.card.id.as_str()))
        .collect();
    let reveals = hits.contains(&DENIED);
    let first = hits.first().copied().unwrap_or("nothing");
    Ok(Door {
        door: "search",
        asked: QUERY.to_owned(),
        answer: match reveals {
            true => "the denied tool is found".to_owned(),
            false => format!("{} others, first {first}", hits.len()),
        },
        reveals,
    })
}

/// A door that must say of the denied tool what it says of a tool that does not exist.
async fn refused(
    session: &Session,
    door: &'static str,
    request: impl Fn(&str) -> Request,
) -> Result<Door, Fault> {
    let denied = failure(session, request(DENIED)).await?;
    let nobody = failure(session, request(NOBODY)).await?;
    let same = denied.code == nobody.code
        && denied.detail.replace(DENIED, "") == nobody.detail.replace(NOBODY, "");
    Ok(Door {
        door,
        asked: DENIED.to_owned(),
        answer: denied.detail,
        reveals: !same,
    })
}

async fn suggestions(session: &Session) -> Result<Door, Fault> {
    let failure = failure(session, Request::Describe(vec![NOBODY.to_owned()])).await?;
    let names: Vec<&str> = failure.suggestions.iter().map(|id| id.as_str()).collect();
    Ok(Door {
        door: "suggestions",
        asked: NOBODY.to_owned(),
        answer: match names.is_empty() {
            true => "none".to_owned(),
            false => names.join(", "),
        },
        reveals: names.contains(&DENIED),
    })
}

async fn failure(session: &Session, request: Request) -> Result<Failure, Fault> {
    match session.request(request).await {
        Ok(Response::Failed(failure)) => Ok(*failure),
        _ => Err(Fault::failed("a tool that is denied was answered")),
    }
}

fn indented(text: &str) -> String {
    let lines: Vec<String> = text.lines().map(|line| format!("  {line}")).collect();
    lines.join("\n")
}
