//! Calls written as a program.

use serde_json::Value;

use super::door::{Answer, Call, Pace};

/// A program that makes calls, catches what they throw, and gives a list of `{code?, text, length}`.
pub(super) fn program(calls: &[Call], pace: Pace) -> String {
    let calls: Vec<Value> = calls.iter().map(Call::to_json).collect();
    let all = match pace {
        Pace::InTurn => {
            "const answers = [];\nfor (const call of calls) answers.push(await make(call));\n\
             return answers;"
        }
        Pace::AtOnce => "return await Promise.all(calls.map(make));",
    };
    format!(
        "const calls = {};\n\
         const told = (code, text) => ({{ code, length: text.length,\n\
           text: text.length > 4000 ? text.slice(0, 2000) + ' … ' + text.slice(-2000) : text }});\n\
         const make = async ({{ id, args }}) => {{\n\
           try {{\n\
             const {{ result }} = await tools.call(id, args);\n\
             return told(null, result.content.map((block) => block.text ?? '').join('\\n'));\n\
           }} catch (error) {{ return told(error.code ?? error.name, error.message); }}\n\
         }};\n\
         {all}",
        Value::from(calls)
    )
}

/// A program that searches.
pub(super) fn searching(query: &str) -> String {
    let query = Value::from(query);
    format!("return (await tools.search({query}, {{ limit: 20 }})).map((hit) => hit.id);")
}

/// What the value of a program says.
pub(super) fn answers(value: &Value) -> Vec<Answer> {
    let list = value.as_array().unwrap_or_else(|| panic!("{value}"));
    list.iter()
        .map(|one| Answer {
            code: one["code"].as_str().map(str::to_owned),
            text: one["text"].as_str().unwrap().to_owned(),
            length: usize::try_from(one["length"].as_u64().unwrap()).unwrap(),
        })
        .collect()
}

pub(super) fn ids(value: &Value) -> Vec<String> {
    let list = value.as_array().unwrap_or_else(|| panic!("{value}"));
    list.iter()
        .map(|id| id.as_str().unwrap().to_owned())
        .collect()
}
