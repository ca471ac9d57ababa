//! From a line to the messages in it. What cannot be understood is answered here, so that nobody
//! waits for it.
//!
//! Text is read into a [`Value`] first and from there into types: straight from text, the untagged
//! types of rmcp would see the numbers of `arbitrary_precision` as maps. Calls and lists stay raw.

use rmcp::ErrorData;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientNotification, ClientRequest, ClientResult,
    CustomRequest, CustomResult, GetMeta, Implementation, InitializeRequest,
    InitializeRequestParams, JsonRpcMessage, ProtocolVersion, RequestId, RequestMetaObject,
    SubscriptionsListenRequest, SubscriptionsListenRequestParams,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// A message, or what is answered in its place.
#[derive(Debug)]
pub(crate) enum Read {
    Message(Box<ClientJsonRpcMessage>),
    Refused(Value),
}

/// The messages of one line: several in a batch.
pub(crate) fn read(line: &[u8]) -> Vec<Read> {
    let line = line
        .strip_prefix(b"\xef\xbb\xbf")
        .unwrap_or(line)
        .trim_ascii();
    if line.is_empty() {
        return Vec::new();
    }
    match serde_json::from_slice(line) {
        Ok(Value::Array(batch)) if !batch.is_empty() => {
            batch.into_iter().filter_map(message).collect()
        }
        Ok(value) => message(value).into_iter().collect(),
        Err(_) => vec![unreadable(line)],
    }
}

/// The answer to a request that could not be read.
pub(crate) fn refusal(id: Value, error: ErrorData) -> Value {
    let mut object = Map::new();
    object.insert("code".to_owned(), Value::from(error.code.0));
    object.insert("message".to_owned(), Value::from(error.message));
    if let Some(data) = error.data {
        object.insert("data".to_owned(), data);
    }
    json!({ "jsonrpc": "2.0", "id": id, "error": object })
}

/// What is left of a message that nests deeper than can be read.
#[derive(Deserialize)]
struct Envelope {
    id: Value,
    #[serde(rename = "method")]
    _method: String,
}

fn unreadable(line: &[u8]) -> Read {
    Read::Refused(match serde_json::from_slice::<Envelope>(line) {
        Ok(envelope) => {
            let message = "the message is nested too deeply to be read";
            refusal(envelope.id, ErrorData::invalid_params(message, None))
        }
        Err(error) => {
            let message = format!("the message is not JSON: {error}");
            refusal(Value::Null, ErrorData::parse_error(message, None))
        }
    })
}

/// `None` for what needs no answer and means nothing here: notifications but cancellation, and answers
/// under names that were never given.
fn message(value: Value) -> Option<Read> {
    let Value::Object(mut message) = value else {
        let error = ErrorData::invalid_request("a message must be an object", None);
        return Some(Read::Refused(refusal(Value::Null, error)));
    };
    let Some(method) = message.remove("method") else {
        let id = message.remove("id").unwrap_or_default();
        if message.contains_key("result") || message.contains_key("error") {
            return answer(&id, message).map(|answer| Read::Message(Box::new(answer)));
        }
        let error = ErrorData::invalid_request("the message has no `method`", None);
        return Some(Read::Refused(refusal(id, error)));
    };
    let params = message.remove("params").filter(|params| !params.is_null());
    let Some(raw) = message.remove("id") else {
        return notification(&method, params).map(|message| Read::Message(Box::new(message)));
    };
    let Some(id) = decode::<RequestId>(&raw) else {
        let error = ErrorData::invalid_request("`id` must be a whole number or a string", None);
        return Some(Read::Refused(refusal(raw, error)));
    };
    Some(match request(method, params) {
        Ok(request) => Read::Message(Box::new(JsonRpcMessage::request(request, id))),
        Err(error) => Read::Refused(refusal(raw, error)),
    })
}

/// What the client says to a question of this side. The result stays raw.
fn answer(id: &Value, mut message: Map<String, Value>) -> Option<ClientJsonRpcMessage> {
    let id = decode::<RequestId>(id)?;
    Some(match (message.remove("result"), message.remove("error")) {
        (Some(result), None) => {
            JsonRpcMessage::response(ClientResult::CustomResult(CustomResult(result)), id)
        }
        (_, error) => {
            let error = error.as_ref().and_then(decode::<ErrorData>);
            let unclear = || ErrorData::internal_error("the answer of the client is unclear", None);
            JsonRpcMessage::error(error.unwrap_or_else(unclear), Some(id))
        }
    })
}

fn notification(method: &Value, params: Option<Value>) -> Option<ClientJsonRpcMessage> {
    if method.as_str() != Some("notifications/cancelled") {
        return None;
    }
    let message = json!({ "method": method, "params": params? });
    let notification: ClientNotification = serde_json::from_value(message).ok()?;
    Some(JsonRpcMessage::notification(notification))
}

fn request(method: Value, params: Option<Value>) -> Result<ClientRequest, ErrorData> {
    let Value::String(method) = method else {
        return Err(ErrorData::invalid_request(
            "`method` must be a string",
            None,
        ));
    };
    let mut params = match params {
        None => Map::new(),
        Some(Value::Object(params)) => params,
        Some(_) => {
            return Err(ErrorData::invalid_params(
                "`params` must be an object",
                None,
            ));
        }
    };
    let meta = match params.remove("_meta") {
        Some(Value::Object(meta)) => Some(RequestMetaObject(meta.into())),
        _ => None,
    };
    let version = meta.as_ref().and_then(RequestMetaObject::protocol_version);
    let stands_alone = version.is_some_and(|version| !version.has_initialize());
    let mut request = match method.as_str() {
        // Words of the handshake mean nothing where there is none.
        "initialize" | "ping" if stands_alone => {
            ClientRequest::CustomRequest(CustomRequest::new(method, Some(Value::Object(params))))
        }
        "initialize" => initialize(&params)?,
        "subscriptions/listen" => listen(&params)?,
        "ping" => ClientRequest::PingRequest(Default::default()),
        "server/discover" => {
            ClientRequest::DiscoverRequest(rmcp::model::Request::new(Default::default()))
        }
        _ => ClientRequest::CustomRequest(CustomRequest::new(method, Some(Value::Object(params)))),
    };
    if let Some(meta) = meta {
        *request.get_meta_mut() = meta;
    }
    Ok(request)
}

/// Only the version must be right; odd capabilities and a missing name keep nobody out.
fn initialize(params: &Map<String, Value>) -> Result<ClientRequest, ErrorData> {
    let version = params
        .get("protocolVersion")
        .filter(|version| version.is_string());
    let Some(version) = version.and_then(decode::<ProtocolVersion>) else {
        return Err(ErrorData::invalid_params(
            "`protocolVersion` must be a string",
            None,
        ));
    };
    let capabilities = params
        .get("capabilities")
        .and_then(decode::<ClientCapabilities>);
    let said = |key: &str| {
        let info = params.get("clientInfo")?;
        info.get(key)?.as_str().map(str::to_owned)
    };
    let name = said("name").unwrap_or_else(|| "unnamed".to_owned());
    let client = Implementation::new(name, said("version").unwrap_or_default());
    let params = InitializeRequestParams::new(capabilities.unwrap_or_default(), client)
        .with_protocol_version(version);
    Ok(ClientRequest::InitializeRequest(InitializeRequest::new(
        params,
    )))
}

fn listen(params: &Map<String, Value>) -> Result<ClientRequest, ErrorData> {
    let Some(filter) = params.get("notifications").and_then(decode) else {
        let message = "`notifications` must say what to listen to";
        return Err(ErrorData::invalid_params(message, None));
    };
    let params = SubscriptionsListenRequestParams::new(filter);
    Ok(ClientRequest::SubscriptionsListenRequest(
        SubscriptionsListenRequest::new(params),
    ))
}

fn decode<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
