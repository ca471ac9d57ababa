//! A bare HTTP client of models: requests, answers and histories in the three wire forms.

use std::fmt::Write as _;
use std::io::{Read, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use serde_json::{Value, json};

use crate::model::Wire;

/// Long enough for a process on a busy machine; nothing waits for it to pass.
const PATIENCE: Duration = Duration::from_secs(60);

/// What came back over HTTP.
#[derive(Debug)]
pub struct Back {
    /// The HTTP status.
    pub status: u16,
    head: String,
    /// The body as text.
    pub body: String,
}

impl Back {
    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (own, value) = line.split_once(':')?;
            own.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }

    /// The body as JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        let read = serde_json::from_str(&self.body);
        read.unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.body))
    }
}

/// Sends one request over a connection of its own and reads to its end.
#[must_use]
pub fn post(address: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Back {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut head = format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n",
        body.len()
    );
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).unwrap();
    // A gateway that refuses a body may close before all of it is written.
    let _ = stream.write_all(body);
    let mut all = Vec::new();
    let _ = stream.read_to_end(&mut all);
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no answer: {}", String::from_utf8_lossy(&all)));
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let mut body = all.split_off(end + 4);
    if head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked")
    {
        body = unchunked(&body);
    }
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    let body = String::from_utf8(body).unwrap();
    Back { status, head, body }
}

fn unchunked(mut bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    while let Some(end) = bytes.windows(2).position(|two| two == b"\r\n") {
        let size = std::str::from_utf8(&bytes[..end]).unwrap();
        let size = usize::from_str_radix(size, 16).unwrap();
        all.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[(end + 4 + size).min(bytes.len())..];
    }
    all
}

/// A tool as a wire form offers it.
#[must_use]
pub fn tool(wire: Wire, name: &str, description: &str) -> Value {
    let schema = json!({"type": "object", "properties": {"q": {"type": "string"}}});
    match wire {
        Wire::Chat => json!({"type": "function", "function": {
            "name": name, "description": description, "parameters": schema}}),
        Wire::Responses => json!({"type": "function", "name": name, "description": description,
            "parameters": schema, "strict": false}),
        Wire::Messages => json!({"name": name, "description": description, "input_schema": schema}),
    }
}

/// So many tools of thirteen services.
#[must_use]
pub fn many(wire: Wire, count: usize) -> Vec<Value> {
    let verbs = [
        "list", "get", "create", "update", "delete", "archive", "export", "search",
    ];
    let things = ["invoice", "ticket", "contract", "shipment", "meeting"];
    (0..count)
        .map(|at| {
            let (service, verb) = (at / 40, verbs[at % 8]);
            let thing = things[(at / 8) % 5];
            let description = format!(
                "{verb} {thing} records of service {service}: takes the text that names them, \
                 follows the rules of the accounting year and tells what became of each record"
            );
            tool(
                wire,
                &format!("svc{service:02}_{verb}_{thing}"),
                &description,
            )
        })
        .collect()
}

/// A request with one message of the user.
#[must_use]
pub fn request(wire: Wire, tools: Vec<Value>, message: &str) -> Value {
    let mut body = json!({"model": "scripted", "tools": tools});
    let messages = json!([{"role": "user", "content": message}]);
    match wire {
        Wire::Chat => body["messages"] = messages,
        Wire::Responses => body["input"] = messages,
        Wire::Messages => {
            body["messages"] = messages;
            body["max_tokens"] = json!(100);
        }
    }
    body
}

/// The words and the calls of an answer: `(id, name, arguments)`.
#[must_use]
pub fn said(wire: Wire, answer: &Value) -> (String, Vec<(String, String, Value)>) {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let read = |value: &Value| serde_json::from_str(value.as_str().unwrap()).unwrap();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    match wire {
        Wire::Chat => {
            let message = &answer["choices"][0]["message"];
            let calls = list(&message["tool_calls"]);
            let call = |call: &Value| {
                let function = &call["function"];
                (
                    text(&call["id"]),
                    text(&function["name"]),
                    read(&function["arguments"]),
                )
            };
            (text(&message["content"]), calls.iter().map(call).collect())
        }
        Wire::Responses => {
            let items = list(&answer["output"]);
            let calls = items.iter().filter(|item| item["type"] == "function_call");
            let call = |item: &Value| {
                (
                    text(&item["call_id"]),
                    text(&item["name"]),
                    read(&item["arguments"]),
                )
            };
            let words = items.iter().map(|item| text(&item["content"][0]["text"]));
            (words.collect(), calls.map(call).collect())
        }
        Wire::Messages => {
            let blocks = list(&answer["content"]);
            let calls = blocks.iter().filter(|block| block["type"] == "tool_use");
            let call = |block: &Value| {
                (
                    text(&block["id"]),
                    text(&block["name"]),
                    block["input"].clone(),
                )
            };
            let words = blocks.iter().map(|block| text(&block["text"]));
            (words.collect(), calls.map(call).collect())
        }
    }
}

/// The history of a request, grown by an answer and the results of its calls.
pub fn go_on(wire: Wire, body: &mut Value, answer: &Value, results: &[(&str, &str)]) {
    let field = if wire == Wire::Responses {
        "input"
    } else {
        "messages"
    };
    let history = body[field].as_array_mut().unwrap();
    match wire {
        Wire::Chat => {
            history.push(answer["choices"][0]["message"].clone());
            history.extend(
                results
                    .iter()
                    .map(|(id, text)| json!({"role": "tool", "tool_call_id": id, "content": text})),
            );
        }
        Wire::Responses => {
            history.extend(answer["output"].as_array().unwrap().iter().cloned());
            history.extend(results.iter().map(
                |(id, text)| json!({"type": "function_call_output", "call_id": id, "output": text}),
            ));
        }
        Wire::Messages => {
            history.push(json!({"role": "assistant", "content": answer["content"]}));
            let blocks = results.iter().map(
                |(id, text)| json!({"type": "tool_result", "tool_use_id": id, "content": text}),
            );
            history.push(json!({"role": "user", "content": blocks.collect::<Vec<_>>()}));
        }
    }
}

/// The words that a stream carried.
#[must_use]
pub fn streamed_text(wire: Wire, back: &Back) -> String {
    let events = back
        .body
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let values = events.filter_map(|data| serde_json::from_str::<Value>(data).ok());
    let place = match wire {
        Wire::Chat => "/choices/0/delta/content",
        Wire::Responses => "/delta",
        Wire::Messages => "/delta/text",
    };
    let words = values
        .filter(|value| wire != Wire::Responses || value["type"] == "response.output_text.delta");
    words
        .filter_map(|value| value.pointer(place)?.as_str().map(str::to_owned))
        .collect()
}
