//! What the mock model does in each lane. It uses only what it was sent: declared names, the system
//! prompt, and the results of its own calls; where something is missing the script cannot go on.

use serde_json::{Map, Value, json};

use crate::plugin::TARGET;

/// What is looked for; no tool has these words as its name.
const QUERY: &str = "put the wax seal on a lantern";

/// The next thing that the mock model does.
#[derive(Debug)]
pub(crate) enum Move {
    /// Calls a declared or hidden tool.
    Call(String, Value),
    /// Answers, which ends the run.
    Say(String),
}

/// Which script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// Calls the declared tool.
    Direct,
    /// Runs a program that searches, describes and calls.
    Code,
    /// Searches, describes and calls through the controls.
    Tools,
    /// Calls the hidden tool by a name from the directory.
    Directory,
    /// Runs a program that calls a tool of the plugin, then one of the client.
    ClientCode,
    /// Calls the client's declared tool.
    ClientDirect,
}

/// A script with the marker of its lane.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    pub(crate) part: Part,
    pub(crate) marker: String,
}

impl Script {
    /// The next move after a request, or why there is none.
    pub(crate) fn next(&self, request: &Value) -> Result<Move, String> {
        let talk = Talk::read(request)?;
        let marker = json!({"marker": self.marker});
        match (self.part, talk.results.as_slice()) {
            (Part::Direct, []) => talk.call(TARGET, marker),
            (Part::Directory, []) => {
                if talk.declared.contains(&TARGET) {
                    return Err(format!("`{TARGET}` is declared, so it is not hidden"));
                }
                if !talk.system.contains(TARGET) {
                    return Err(format!("`{TARGET}` does not stand in the directory"));
                }
                Ok(Move::Call(TARGET.to_owned(), marker))
            }
            (Part::Code, []) => talk.call("tool_search_code", json!({"code": self.program()})),
            (Part::ClientCode, []) => {
                talk.call("tool_search_code", json!({"code": self.client_program()}))
            }
            (Part::ClientDirect, []) => talk.call(crate::client::TOOL, json!({"wood": "oak"})),
            (Part::Tools, []) => talk.call("tool_search", json!({"query": QUERY})),
            (Part::Tools, [found]) => {
                let id = first_candidate(found)?;
                talk.call("tool_describe", json!({"id": id}))
            }
            (Part::Tools, [_, described]) => {
                let tool = as_json(described)?;
                let id = tool["id"].as_str().ok_or("the description has no id")?;
                let args = self.fill(&tool["inputSchema"])?;
                talk.call("tool_call", json!({"id": id, "args": args}))
            }
            (_, [.., last]) => Ok(Move::Say(format!("The tool said: {last}"))),
        }
    }

    fn program(&self) -> String {
        format!(
            "const hits = await openclaw.tools.search({query});\n\
             const tool = await openclaw.tools.describe(hits[0].id);\n\
             return await openclaw.tools.call(tool.id, {{ marker: {marker} }});",
            query = json!(QUERY),
            marker = json!(self.marker),
        )
    }

    fn client_program(&self) -> String {
        format!(
            "const sealed = await openclaw.tools.callValue({target}, {{ marker: {marker} }});\n\
             const hits = await openclaw.tools.search(\"ask the customer for a finish\");\n\
             const finish = await openclaw.tools.call(hits[0].id, {{ wood: \"oak\" }});\n\
             return {{ sealed, finish }};",
            target = json!(format!("plugin:{}:{TARGET}", crate::plugin::NAME)),
            marker = json!(self.marker),
        )
    }

    /// Arguments as the described schema asks for them.
    fn fill(&self, schema: &Value) -> Result<Value, String> {
        let required = schema["required"]
            .as_array()
            .ok_or_else(|| format!("the described schema requires nothing: {schema}"))?;
        let mut args = Map::new();
        for name in required.iter().filter_map(Value::as_str) {
            args.insert(name.to_owned(), Value::from(self.marker.as_str()));
        }
        Ok(Value::Object(args))
    }
}

/// A request as the model understands it.
struct Talk<'a> {
    system: &'a str,
    declared: Vec<&'a str>,
    /// The results of the calls so far.
    results: Vec<&'a str>,
}

impl<'a> Talk<'a> {
    fn read(request: &'a Value) -> Result<Self, String> {
        let messages = request["messages"]
            .as_array()
            .ok_or("the request has no messages")?;
        let of = |role: &'static str| {
            messages
                .iter()
                .filter(move |message| message["role"] == role)
                .filter_map(|message| message["content"].as_str())
        };
        let declared = request["tools"].as_array().into_iter().flatten();
        Ok(Self {
            system: of("system").next().unwrap_or_default(),
            declared: declared
                .filter_map(|tool| tool.pointer("/function/name")?.as_str())
                .collect(),
            results: of("tool").collect(),
        })
    }

    /// Calls a tool that must be declared.
    fn call(&self, name: &str, args: Value) -> Result<Move, String> {
        if self.declared.contains(&name) {
            return Ok(Move::Call(name.to_owned(), args));
        }
        Err(format!("`{name}` is not among {:?}", self.declared))
    }
}

fn first_candidate(found: &str) -> Result<String, String> {
    let found = as_json(found)?;
    let id = found.pointer("/candidates/0/id").and_then(Value::as_str);
    id.map(str::to_owned)
        .ok_or_else(|| format!("the search found nothing: {found}"))
}

fn as_json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("a result is no JSON ({error}): {text}"))
}
