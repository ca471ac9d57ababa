//! Mode `code`: one control that runs a short program, which searches, describes and calls.
//!
//! Only how the control is declared and how its answers read is here. Programs are run by an engine
//! that this crate does not know.

use serde_json::json;
use toolsearch_mode::{
    Control, ControlCall, Decoding, Failure, Mode, Rendered, Request, Response, Surface,
    SurfaceTool, View, owner_hint, read, render,
};

/// The program that stands in the description of the control: what a model sees is what runs.
pub const EXAMPLE: &str = "const [hit] = await tools.search(\"create github issue\");\n\
                           return await tools.callValue(hit.id, {title: \"Crash\"});";

const OWNER_CHARS: usize = 200;

/// One tool that takes JavaScript.
#[derive(Debug, Clone, Copy, Default)]
pub struct CodeMode;

impl Mode for CodeMode {
    fn name(&self) -> &'static str {
        "code"
    }

    fn controls(&self) -> &'static [Control] {
        &[Control::Code]
    }

    fn surface(&self, view: &View<'_>) -> Surface {
        let schema = json!({
            "type": "object",
            "properties": { "code": { "type": "string" } },
            "required": ["code"],
        });
        let control = SurfaceTool::control(Control::Code, view.names, description(view), schema);
        Surface::assemble(vec![control], view, String::new())
    }

    fn decode(&self, call: &ControlCall, _: &Decoding<'_>) -> Result<Request, Failure> {
        read::code(&call.arguments)
    }

    fn encode(&self, _: &Request, response: &Response, decoding: &Decoding<'_>) -> Rendered {
        render::structured(response, &render::Speech::code(), decoding.limits)
    }
}

fn description(view: &View<'_>) -> String {
    let seconds = view.code_timeout.as_millis().div_ceil(1000);
    let mut text = format!(
        "Find and use the {} tools behind this one: runs the body of an async JavaScript function \
         and gives back what it returns.\n\
         tools.search(query, {{limit?, readOnly?}}) -> [{{id, name, description, input}}]; say what you need \
         in English: product, verb, object.\n\
         tools.describe(id) -> full schema, when `input` is not enough.\n\
         tools.call(id, args) -> {{tool, result}}; tools.callValue(id, args) -> the value itself. \
         Both throw when the tool fails. Use Promise.all for calls that do not depend on each other.\n\
         console.log is given back too. No modules, network or files; {seconds} s.\n\
         Example:\n{EXAMPLE}",
        view.announced(),
    );
    let owners = owner_hint(view.owners, OWNER_CHARS);
    if !owners.is_empty() {
        text.push_str("\nTools of: ");
        text.push_str(&owners);
    }
    text
}

#[cfg(test)]
mod tests;
