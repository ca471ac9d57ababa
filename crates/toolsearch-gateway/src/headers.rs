//! Headers of a request over HTTP that repeat what is in its body, as of 2026-07-28. A value that a
//! header cannot carry is written in Base64.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use rmcp::ErrorData;
use serde_json::Value;
use toolsearch_schema::headers::{MarkedArgument, marked_arguments};
use toolsearch_schema::names::sanitise_label;

/// Before the name that a schema gives.
pub(crate) const PARAMETER: &str = "mcp-param-";
/// Around the Base64 of a value that a header cannot carry.
const WRAPPED: (&str, &str) = ("=?base64?", "?=");
/// Most characters of a value in a message.
const MAX_VALUE_CHARS: usize = 120;

/// The `Mcp-Param-` headers of a request, by what comes after that in lower case. `None` for one that is
/// there twice or is no text. Rides in the extensions of a request.
#[derive(Debug, Clone, Default)]
pub(crate) struct ParamHeaders(pub(crate) BTreeMap<String, Option<String>>);

impl ParamHeaders {
    /// Checks them against the arguments of a tool with this schema. A header that the schema does not
    /// ask for means nothing.
    pub(crate) fn check(&self, schema: &Value, arguments: &Value) -> Result<(), ErrorData> {
        // Where the marks break a rule, clients do not call the tool or know nothing of marks.
        for mark in marked_arguments(schema).unwrap_or_default() {
            self.agrees(&mark, mark.value(arguments))?;
        }
        Ok(())
    }

    fn agrees(&self, mark: &MarkedArgument, said: Option<&Value>) -> Result<(), ErrorData> {
        let name = mark.header.to_ascii_lowercase();
        let agrees = match (self.0.get(&name), said) {
            (None, None) => true,
            (Some(Some(header)), Some(said)) => {
                unwrapped(header).is_some_and(|header| says(&header, said))
            }
            _ => false,
        };
        if agrees {
            return Ok(());
        }
        let header = match self.0.get(&name) {
            None => "nothing",
            Some(None) => "more than one value, or no text",
            Some(Some(header)) => header,
        };
        let said = said.map_or_else(|| "nothing".to_owned(), Value::to_string);
        Err(mismatch(&format!("{PARAMETER}{name}"), header, &said))
    }
}

fn says(header: &str, said: &Value) -> bool {
    match said {
        Value::String(text) => header == text,
        // `7` and `7.0` are one number.
        Value::Number(number) => {
            let same = || Some(header.parse::<f64>().ok()? == number.as_f64()?);
            header == number.to_string() || same() == Some(true)
        }
        Value::Bool(true) => header == "true",
        Value::Bool(false) => header == "false",
        _ => false,
    }
}

/// The value of a header; `None` when its Base64 is none.
pub(crate) fn unwrapped(value: &str) -> Option<String> {
    let value = value.trim();
    let Some(inner) = value
        .strip_prefix(WRAPPED.0)
        .and_then(|rest| rest.strip_suffix(WRAPPED.1))
    else {
        return Some(value.to_owned());
    };
    String::from_utf8(BASE64_STANDARD.decode(inner).ok()?).ok()
}

pub(crate) fn mismatch(header: &str, value: &str, said: &str) -> ErrorData {
    let cut = |text: &str| sanitise_label(text, MAX_VALUE_CHARS);
    let message = format!(
        "the header {header} says {:?}, the request says {:?}",
        cut(value),
        cut(said)
    );
    ErrorData::header_mismatch(message, None)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn headers_say_what_the_arguments_say() {
        let schema = json!({ "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "count": { "type": "integer", "x-mcp-header": "Count" },
        } });
        let check = |headers: &[(&str, Option<&str>)], arguments: Value| {
            let owned = headers
                .iter()
                .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)));
            ParamHeaders(owned.collect())
                .check(&schema, &arguments)
                .is_ok()
        };
        let region = |value: &'static str| [("region", Some(value))];
        assert!(check(&[], json!({})));
        assert!(check(&[], json!({ "region": null })));
        assert!(check(&region("eu"), json!({ "region": "eu" })));
        assert!(check(
            &region(" =?base64?S8O2bG4=?= "),
            json!({ "region": "Köln" })
        ));
        assert!(check(&region("S8O2bG4="), json!({ "region": "S8O2bG4=" })));
        assert!(check(
            &region("=?base64?S8O2"),
            json!({ "region": "=?base64?S8O2" })
        ));
        assert!(check(&[("count", Some("7.0"))], json!({ "count": 7 })));
        assert!(check(&[("other", None)], json!({})));
        assert!(!check(&region("EU"), json!({ "region": "eu" })));
        assert!(!check(&region("eu"), json!({})));
        assert!(!check(&[], json!({ "region": "eu" })));
        assert!(!check(&[("region", None)], json!({ "region": "eu" })));
        assert!(!check(
            &region("=?base64?S8O2bG4?="),
            json!({ "region": "Köln" })
        ));
        assert!(!check(
            &region("=?base64?S8O2!G4=?="),
            json!({ "region": "Köln" })
        ));
        assert!(!check(&[("count", Some("8"))], json!({ "count": 7 })));
    }
}
