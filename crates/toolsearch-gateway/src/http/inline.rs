//! Requests that stand for themselves, as of 2026-07-28: what their headers must say about what is in
//! them, so that whoever stands in between can route without reading the body.

use axum::http::{HeaderMap, HeaderValue, StatusCode};
use rmcp::ErrorData;
use rmcp::model::{ClientRequest, ErrorCode, GetMeta, ProtocolVersion};

use crate::headers::{PARAMETER, ParamHeaders, mismatch, unwrapped};

pub(super) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";

/// Whether a request carries its version itself, or says that it should.
pub(super) fn stands_alone(request: &ClientRequest, headers: &HeaderMap) -> bool {
    if matches!(request, ClientRequest::InitializeRequest(_)) {
        return false;
    }
    request.get_meta().protocol_version().is_some()
        || matches!(request, ClientRequest::DiscoverRequest(_))
        || version(headers).is_some_and(|version| version >= ProtocolVersion::V_2026_07_28.as_str())
}

pub(super) fn version(headers: &HeaderMap) -> Option<&str> {
    headers.get(VERSION)?.to_str().ok()
}

/// Checks what a request says of itself.
pub(super) fn check(request: &ClientRequest, headers: &HeaderMap) -> Result<(), ErrorData> {
    let meta = request.get_meta();
    let missing = meta.missing_required_keys(&ProtocolVersion::V_2026_07_28);
    if !missing.is_empty() {
        let missing = missing.join(", ");
        let message = format!("`_meta` lacks these keys, or their values are wrong: {missing}");
        return Err(ErrorData::invalid_params(message, None));
    }
    let said = meta.protocol_version();
    let said = said.as_ref().map_or("", ProtocolVersion::as_str);
    let header = version(headers);
    if header != Some(said) {
        return Err(mismatch(VERSION, header.unwrap_or("nothing"), said));
    }
    if !ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .any(|known| known.as_str() == said)
    {
        let asked = meta.protocol_version().unwrap_or_default();
        let known = ProtocolVersion::KNOWN_VERSIONS;
        return Err(ErrorData::unsupported_protocol_version(asked, known));
    }
    agrees(headers, METHOD, Some(request.method()))?;
    agrees(headers, NAME, name(request).as_deref())
}

/// The header must be there once and say the same; none is asked for where there is nothing to say.
fn agrees(headers: &HeaderMap, header: &str, said: Option<&str>) -> Result<(), ErrorData> {
    let mut values = headers.get_all(header).iter();
    let value = values.next().and_then(|value| value.to_str().ok());
    let Some(said) = said else {
        return Ok(());
    };
    let Some(value) = value.filter(|_| values.next().is_none()) else {
        return Err(mismatch(header, "nothing, or more than one value", said));
    };
    match unwrapped(value) {
        Some(value) if value == said => Ok(()),
        _ => Err(mismatch(header, value, said)),
    }
}

/// The headers that repeat arguments; checked where the tool is known.
pub(super) fn parameters(headers: &HeaderMap) -> ParamHeaders {
    let mut found = ParamHeaders::default();
    for name in headers.keys() {
        let Some(parameter) = name.as_str().strip_prefix(PARAMETER) else {
            continue;
        };
        let mut values = headers.get_all(name).iter().map(HeaderValue::to_str);
        let value = match (values.next(), values.next()) {
            (Some(Ok(value)), None) => Some(value.to_owned()),
            _ => None,
        };
        found.0.insert(parameter.to_owned(), value);
    }
    found
}

/// What a request is about, where its header has to say it.
fn name(request: &ClientRequest) -> Option<String> {
    let ClientRequest::CustomRequest(request) = request else {
        return None;
    };
    let key = match request.method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => "uri",
        _ => return None,
    };
    let name = request.params.as_ref()?.get(key)?;
    name.as_str().map(str::to_owned)
}

/// The status of an answer that is an error.
pub(super) fn status(code: ErrorCode) -> StatusCode {
    match code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}
