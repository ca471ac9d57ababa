//! `toolsearch describe ID` and `toolsearch catalog show ID`.

use serde_json::Value;
use toolsearch::mode::{Request, Response, render};

use crate::assemble::Assembled;
use crate::cli::DescribeArgs;
use crate::fault::{Done, Exit, Fault};
use crate::output::Output;

use super::unexpected;

/// Shows one tool in full.
pub(crate) async fn run(args: &DescribeArgs, assembled: &Assembled, output: &Output) -> Done {
    let session = assembled.open().await?;
    let request = Request::Describe(vec![args.id.clone()]);
    let tools = match session.request(request).await {
        Ok(Response::Describe(tools)) => tools,
        Ok(other) => {
            let fault = unexpected(other);
            return Err(super::catalog::blame_server(fault, &args.id, &session));
        }
        Err(_) => return Err(Fault::failed("a description cannot wait for a client")),
    };
    let (tool, card) = tools
        .first()
        .ok_or_else(|| Fault::failed("the description is empty"))?;
    let described = render::description(tool, card);
    if output.json {
        output.document(&described)?;
    } else {
        output.heading(card.id.as_str())?;
        output.text(&text(&described))?;
    }
    Ok(Exit::Fine)
}

/// The parts of a description that a person reads.
fn text(described: &Value) -> String {
    let part = |key: &str| described.get(key).and_then(Value::as_str);
    let mut text = String::new();
    let named = [
        ("title", "title"),
        ("input", "arguments"),
        ("output", "result"),
    ];
    for (key, name) in named {
        if let Some(value) = part(key) {
            text.push_str(&format!("{name}: {value}\n"));
        }
    }
    if let Some(hints) = described.get("annotations") {
        text.push_str(&format!("hints: {hints}\n"));
    }
    if let Some(description) = part("description") {
        text.push_str(&format!("\n{description}\n"));
    }
    for key in ["inputSchema", "outputSchema"] {
        if let Some(schema) = described.get(key) {
            let schema = serde_json::to_string_pretty(schema).unwrap_or_default();
            text.push_str(&format!("\n{key}\n{schema}\n"));
        }
    }
    text.trim_end().to_owned()
}
