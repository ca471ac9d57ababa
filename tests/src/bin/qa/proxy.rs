//! Scenarios over the provider proxy: `toolsearch serve --http` between a bare client and a scripted
//! model, in each wire form and each mode.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use toolsearch_it::client::{Back, go_on, post, request, said, streamed_text, tool};
use toolsearch_it::model::{Asked, Said, ScriptedModel, Wire};

use crate::lane::LaneKind;
use crate::plugin::{self, EFFECTS, TARGET};
use crate::tally::Tally;

/// The client's own tool.
const OWN: &str = "choose_finish";
const CHOICE: &str = "linseed oil, two coats";
const COMPACT: [LaneKind; 3] = [LaneKind::Code, LaneKind::Tools, LaneKind::Directory];

/// A gateway in front of a scripted model.
struct Door {
    child: Child,
    address: String,
}

impl Drop for Door {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Where one run of a scenario lives.
struct Place<'a> {
    binary: &'a Path,
    root: &'a Path,
    folder: PathBuf,
    model: ScriptedModel,
}

impl<'a> Place<'a> {
    fn new(
        name: &str,
        (binary, root): (&'a Path, &'a Path),
        kind: LaneKind,
        rules: &Value,
        script: impl Fn(&Asked) -> Said + Send + Sync + 'static,
    ) -> Result<Self> {
        let folder = root.join(name);
        fs::create_dir_all(&folder)?;
        let model = ScriptedModel::start(script)?;
        let mut tools = rules.clone();
        tools["toolSearch"] = match kind {
            LaneKind::Direct => json!(false),
            mode => json!({"mode": mode.name()}),
        };
        let config = json!({
            "tools": tools,
            "plugins": ["../plugins/*"],
            "providers": {"mock": {
                "dialects": ["openai-chat", "openai-responses", "anthropic-messages"],
                "baseUrl": model.base_url(),
            }},
            "telemetry": {"dir": "./sessions"},
        });
        fs::write(folder.join("toolsearch.json5"), config.to_string())?;
        Ok(Self {
            binary,
            root,
            folder,
            model,
        })
    }

    fn open(&self) -> Result<Door> {
        let mut command = Command::new(self.binary);
        command
            .args(["serve", "--http", "127.0.0.1:0", "--config"])
            .arg(self.folder.join("toolsearch.json5"))
            .env_clear()
            .env(EFFECTS, self.folder.join("effects.jsonl"))
            .env("HOME", self.root)
            .current_dir(self.root)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped());
        if let Some(path) = std::env::var_os("PATH") {
            command.env("PATH", path);
        }
        let mut child = command.spawn().context("the gateway does not start")?;
        let stderr = child.stderr.take().context("no standard error")?;
        let mut lines = BufReader::new(stderr).lines();
        let said = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let (_, rest) = line.split_once("http://")?;
            Some(rest.split('/').next()?.to_owned())
        });
        std::thread::spawn(move || lines.for_each(drop));
        let door = Door {
            child,
            address: said.unwrap_or_default(),
        };
        ensure!(!door.address.is_empty(), "the gateway says no address");
        Ok(door)
    }

    fn effects(&self) -> Result<usize> {
        Ok(plugin::effects(&self.folder.join("effects.jsonl"))?.len())
    }
}

fn ask(door: &Door, wire: Wire, body: &Value) -> Back {
    post(
        &door.address,
        &format!("/v1{}", wire.path()),
        &[],
        body.to_string().as_bytes(),
    )
}

fn id() -> String {
    format!("plugin:{}:{TARGET}", plugin::NAME)
}

/// The client's tools of a lane: one that the customer answers, and many that nobody asks for.
fn tools(wire: Wire) -> Vec<Value> {
    let mut tools = toolsearch_it::client::many(wire, 60);
    tools.push(tool(
        wire,
        OWN,
        "Ask the customer which finish the wood gets",
    ));
    tools
}

/// Uses the plugin's tool, then the client's, in the way of the mode.
fn both(asked: &Asked) -> Said {
    let marker = json!({"marker": "qa"});
    let (done, own) = (asked.results(), json!({"q": "oak"}));
    if asked.declares("tool_search_code") {
        let code = format!(
            "const sealed = await tools.callValue({:?}, {{ marker: 'qa' }});\n\
             return await tools.callValue('client:client:{OWN}', {{ q: 'oak' }});",
            id()
        );
        return match done.as_slice() {
            [] => Said::call("tool_search_code", &json!({ "code": code })),
            [.., last] => Said::text(last.clone()),
        };
    }
    match done.as_slice() {
        [] => Said::call("tool_call", &json!({"id": id(), "args": marker})),
        [_] if asked.declares(OWN) => Said::call(OWN, &own),
        [_] => Said::call("tool_call", &json!({"id": OWN, "args": own})),
        [.., last] => Said::text(last.clone()),
    }
}

/// What the direct lane is sent: the client's tools alone, as they are.
fn directly(asked: &Asked) -> Said {
    match asked.results().as_slice() {
        [] => Said::call(OWN, &json!({"q": "oak"})),
        [.., last] => Said::text(last.clone()),
    }
}

/// A whole conversation; the words at its end and the largest request.
fn conversation(
    place: &Place<'_>,
    wire: Wire,
    stream: bool,
    restart: bool,
) -> Result<(String, usize)> {
    let mut door = place.open()?;
    let mut body = request(wire, tools(wire), "Please do what we agreed on yesterday.");
    for _ in 0..4 {
        body["stream"] = json!(false);
        let back = ask(&door, wire, &body);
        ensure!(
            back.status == 200,
            "{wire:?}: {} {}",
            back.status,
            back.body
        );
        let answer = back.json();
        let (text, calls) = said(wire, &answer);
        if calls.is_empty() {
            let asked = place.model.take();
            let most = asked.iter().map(|one| one.raw.len()).max().unwrap_or(0);
            if stream {
                body["stream"] = json!(true);
                let streamed = ask(&door, wire, &body);
                let words = streamed_text(wire, &streamed);
                ensure!(words.contains(CHOICE), "{wire:?}: {}", streamed.body);
            }
            return Ok((text, most));
        }
        ensure!(
            calls.len() == 1 && calls[0].1 == OWN && calls[0].2 == json!({"q": "oak"}),
            "{wire:?}: {calls:?}"
        );
        go_on(wire, &mut body, &answer, &[(&calls[0].0, CHOICE)]);
        if restart {
            drop(door);
            door = place.open()?;
        }
    }
    anyhow::bail!("{wire:?}: no end after four turns")
}

/// Each wire form and each mode against the direct lane.
pub(crate) fn end_to_end(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    for wire in Wire::ALL {
        let name = format!("proxy-{wire:?}-direct");
        let direct = Place::new(
            &name,
            (binary, root),
            LaneKind::Direct,
            &json!({}),
            directly,
        )?;
        let (expected, most) = conversation(&direct, wire, false, false)?;
        for kind in COMPACT {
            let name = format!("proxy-{wire:?}-{}", kind.name());
            let place = Place::new(&name, (binary, root), kind, &json!({}), both)?;
            let (text, bytes) = conversation(&place, wire, true, false)?;
            tally.point(
                &name,
                "the answer is that of the direct lane",
                agree(&text, &expected),
            );
            // The directory keeps the client's tools visible, and lists the others.
            if kind != LaneKind::Directory {
                tally.point(&name, "the provider is sent less", less(bytes, most));
            }
            tally.point(&name, "the plugin's tool ran once", ran_once(&place));
        }
    }
    Ok(())
}

/// The client's tools come back under their own names, in every mode.
pub(crate) fn client_tools(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    each(binary, root, tally, "client-tools", false, false)
}

/// The same, and the last answer once more as a stream.
pub(crate) fn streaming(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    each(binary, root, tally, "streaming", true, false)
}

/// The same with a new process after every answer.
pub(crate) fn resume_after_restart(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    each(binary, root, tally, "resume-after-restart", false, true)
}

fn each(
    binary: &Path,
    root: &Path,
    tally: &mut Tally,
    scenario: &str,
    stream: bool,
    restart: bool,
) -> Result<()> {
    for wire in Wire::ALL {
        for kind in COMPACT {
            let name = format!("{scenario}-{wire:?}-{}", kind.name());
            let place = Place::new(&name, (binary, root), kind, &json!({}), both)?;
            let (text, _) = conversation(&place, wire, stream, restart)?;
            tally.point(
                &name,
                "the client's choice reaches the answer",
                agree(&text, CHOICE),
            );
            tally.point(&name, "the plugin's tool ran once", ran_once(&place));
        }
    }
    Ok(())
}

/// A tool that needs consent does not run where nobody is asked, and the model is told.
pub(crate) fn approval(binary: &Path, root: &Path, tally: &mut Tally) -> Result<()> {
    for wire in Wire::ALL {
        for kind in COMPACT {
            let name = format!("approval-{wire:?}-{}", kind.name());
            let rules = json!({"ask": [id()]});
            let script = |asked: &Asked| match asked.results().as_slice() {
                [] => both(asked),
                [.., last] => Said::text(last.clone()),
            };
            let place = Place::new(&name, (binary, root), kind, &rules, script)?;
            let door = place.open()?;
            let body = request(wire, tools(wire), "Please do what we agreed on yesterday.");
            let back = ask(&door, wire, &body);
            ensure!(back.status == 200, "{}: {}", back.status, back.body);
            let text = said(wire, &back.json()).0;
            let told = match text.contains("approv") {
                true => Ok("the model is told".to_owned()),
                false => Err(text),
            };
            tally.point(&name, "consent is asked for", told);
            let effects = place.effects()?;
            let none = match effects {
                0 => Ok("nothing ran".to_owned()),
                more => Err(format!("{more} effects")),
            };
            tally.point(&name, "without consent nothing runs", none);
        }
    }
    Ok(())
}

fn agree(text: &str, expected: &str) -> Result<String, String> {
    match text.contains(expected) {
        true => Ok(format!("{expected:?}")),
        false => Err(format!("{text:?} instead of {expected:?}")),
    }
}

fn less(bytes: usize, direct: usize) -> Result<String, String> {
    let sizes = format!("{bytes} of {direct} bytes");
    match bytes <= direct / 4 {
        true => Ok(sizes),
        false => Err(sizes),
    }
}

fn ran_once(place: &Place<'_>) -> Result<String, String> {
    match place.effects() {
        Ok(1) => Ok("one effect on disk".to_owned()),
        Ok(other) => Err(format!("{other} effects on disk")),
        Err(error) => Err(format!("{error:#}")),
    }
}
