"""An MCP server with the tools, resources and prompts that the conformance suite asks for.

It stands behind the gateway, so that the suite tests how they look from in front of it. As it is, it
speaks 2025-11-25 and asks its questions on the connection. With the argument `2026-07-28` it has other
tools, knows no handshake, and asks by its answers. Standard library only; one JSON message a line on
standard input and output.
"""

import hashlib
import hmac
import json
import secrets
import sys
import threading
import time

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA="

lock = threading.Lock()
answers = {}
asked = 0


def send(message):
    with lock:
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        sys.stdout.flush()


def notify(method, params=None):
    send({"method": method, **({"params": params} if params is not None else {})})


def ask(method, params):
    """The client's result of a question; None when it gives none."""
    global asked
    with lock:
        asked += 1
        number = f"q{asked}"
        waiting = answers[number] = {"event": threading.Event(), "answer": None}
    send({"id": number, "method": method, "params": params})
    waiting["event"].wait(20)
    return (waiting["answer"] or {}).get("result")


def text(value, **more):
    return {"content": [{"type": "text", "text": value}], **more}


def resource(uri, mime, value):
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, "text": value}}


def simple(_arguments, _meta):
    return text("This is a simple text response for testing.")


def image(_arguments, _meta):
    return {"content": [{"type": "image", "data": PIXEL, "mimeType": "image/png"}]}


def audio(_arguments, _meta):
    return {"content": [{"type": "audio", "data": SILENCE, "mimeType": "audio/wav"}]}


def embedded(_arguments, _meta):
    block = resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    return {"content": [block]}


def mixed(_arguments, _meta):
    return {
        "content": [
            {"type": "text", "text": "Multiple content types test:"},
            {"type": "image", "data": PIXEL, "mimeType": "image/png"},
            resource("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]
    }


def logging(_arguments, _meta):
    for said in ["Tool execution started", "Tool processing data", "Tool execution completed"]:
        notify("notifications/message", {"level": "info", "data": said})
        time.sleep(0.05)
    return text("Tool with logging executed")


def failing(_arguments, _meta):
    return text("This tool intentionally returns an error for testing", isError=True)


def progress(_arguments, meta):
    token = meta.get("progressToken")
    for done in [0, 50, 100]:
        if token is not None:
            params = {"progressToken": token, "progress": done, "total": 100}
            notify("notifications/progress", params)
        time.sleep(0.05)
    return text("Tool with progress executed")


def elicited(message, properties, required=()):
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return ask("elicitation/create", {"message": message, "requestedSchema": schema})


def elicitation(arguments, _meta):
    result = elicited(
        arguments.get("message", ""),
        {
            "username": {"type": "string", "description": "User's response"},
            "email": {"type": "string", "description": "User's email address"},
        },
        ["username", "email"],
    )
    if result is None:
        return text("the client cannot be asked", isError=True)
    return text(f"User response: {json.dumps(result)}")


def completed(result):
    if result is None:
        return text("the client cannot be asked", isError=True)
    content = json.dumps(result.get("content", {}))
    return text(f"Elicitation completed: action={result.get('action')}, content={content}")


def defaults(_arguments, _meta):
    properties = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": True},
    }
    return completed(elicited("Please check these values", properties))


def enums(_arguments, _meta):
    titled = [{"const": f"value{n}", "title": f"{word} Option"} for n, word in enumerate(["First", "Second", "Third"], 1)]
    chosen = [{"const": f"value{n}", "title": f"{word} Choice"} for n, word in enumerate(["First", "Second", "Third"], 1)]
    options = ["option1", "option2", "option3"]
    properties = {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": chosen}},
    }
    return completed(elicited("Please choose", properties))


def schema_2020(arguments, _meta):
    return text(f"JSON Schema 2020-12 tool called with: {json.dumps(arguments)}")


def streaming(_arguments, _meta):
    return completed(elicited("While the answer is on its way", {"name": {"type": "string"}}))


def listed_otherwise(listing, name, entry, method):
    """Adds an entry to a list, or takes it away again, and says so."""
    if listing.pop(name, None) is None:
        listing[name] = entry
    notify(method)
    return text("the list is another one now")


def tool_change(_arguments, _meta):
    return listed_otherwise(TOOLS, "test_comes_and_goes", (simple, NOTHING), "notifications/tools/list_changed")


def prompt_change(_arguments, _meta):
    entry = described("test_comes_and_goes")
    return listed_otherwise(PROMPTS, "test_comes_and_goes", entry, "notifications/prompts/list_changed")


NOTHING = {"type": "object", "properties": {}}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def one(name):
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


TOOLS = {
    "json_schema_2020_12_tool": (schema_2020, SCHEMA_2020),
    "test_audio_content": (audio, NOTHING),
    "test_elicitation": (elicitation, one("message")),
    "test_elicitation_sep1034_defaults": (defaults, NOTHING),
    "test_elicitation_sep1330_enums": (enums, NOTHING),
    "test_embedded_resource": (embedded, NOTHING),
    "test_error_handling": (failing, NOTHING),
    "test_image_content": (image, NOTHING),
    "test_logging_tool": (logging, NOTHING),
    "test_multiple_content_types": (mixed, NOTHING),
    "test_simple_text": (simple, NOTHING),
    "test_streaming_elicitation": (streaming, NOTHING),
    "test_tool_with_logging": (logging, NOTHING),
    "test_tool_with_progress": (progress, NOTHING),
    "test_trigger_prompt_change": (prompt_change, NOTHING),
    "test_trigger_tool_change": (tool_change, NOTHING),
}

RESOURCES = [
    {"uri": "test://static-binary", "name": "static-binary", "mimeType": "image/png"},
    {"uri": "test://static-text", "name": "static-text", "mimeType": "text/plain"},
    {"uri": "test://watched-resource", "name": "watched-resource", "mimeType": "text/plain"},
]
TEMPLATES = [
    {"uriTemplate": "test://template/{id}/data", "name": "template", "mimeType": "application/json"}
]


class Refused(Exception):
    def __init__(self, code, message, data=None):
        super().__init__(message)
        self.error = {"code": code, "message": message, **({"data": data} if data else {})}


def read(uri):
    if uri == "test://static-text":
        said = "This is the content of the static text resource."
        return {"uri": uri, "mimeType": "text/plain", "text": said}
    if uri == "test://static-binary":
        return {"uri": uri, "mimeType": "image/png", "blob": PIXEL}
    if uri == "test://watched-resource":
        return {"uri": uri, "mimeType": "text/plain", "text": "watched"}
    head, tail = "test://template/", "/data"
    if uri.startswith(head) and uri.endswith(tail):
        number = uri[len(head) : -len(tail)]
        said = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return {"uri": uri, "mimeType": "application/json", "text": json.dumps(said)}
    raise Refused(-32602, "Resource not found", {"uri": uri})


def argument(name):
    return {"name": name, "description": f"Argument {name}", "required": True}


def described(name, *arguments):
    entry = {"name": name, "description": f"Fixture {name}."}
    return {**entry, "arguments": [argument(one) for one in arguments]} if arguments else entry


def by_name(*entries):
    return {entry["name"]: entry for entry in entries}


PROMPTS = by_name(
    described("test_prompt_with_arguments", "arg1", "arg2"),
    described("test_prompt_with_embedded_resource", "resourceUri"),
    described("test_prompt_with_image"),
    described("test_simple_prompt"),
)


def prompt(name, arguments):
    def user(content):
        return {"role": "user", "content": content}

    def said(value):
        return user({"type": "text", "text": value})

    if name == "test_simple_prompt":
        return [said("This is a simple prompt for testing.")]
    if name == "test_prompt_with_arguments":
        one, two = arguments.get("arg1"), arguments.get("arg2")
        return [said(f"Prompt with arguments: arg1='{one}', arg2='{two}'")]
    if name == "test_prompt_with_embedded_resource":
        uri = arguments.get("resourceUri")
        block = resource(uri, "text/plain", "Embedded resource content for testing.")
        return [user(block), said("Please process the embedded resource above.")]
    if name == "test_prompt_with_image":
        block = {"type": "image", "data": PIXEL, "mimeType": "image/png"}
        return [user(block), said("Please analyze the image above.")]
    raise Refused(-32602, f"no prompt {name}")


def listing(tools):
    return [
        {"name": name, "description": f"Fixture {name}.", "inputSchema": schema}
        for name, (_, schema) in tools.items()
    ]


def handle(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {"listChanged": True},
                "resources": {"subscribe": True},
                "prompts": {"listChanged": True},
                "completions": {},
                "logging": {},
            },
            "serverInfo": {"name": "conformance-upstream", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": listing(TOOLS)}
    if method == "tools/call":
        tool, _ = TOOLS[params["name"]]
        return tool(params.get("arguments") or {}, params.get("_meta") or {})
    if method == "resources/list":
        return {"resources": RESOURCES}
    if method == "resources/templates/list":
        return {"resourceTemplates": TEMPLATES}
    if method == "resources/read":
        return {"contents": [read(params["uri"])]}
    if method == "prompts/list":
        return {"prompts": list(PROMPTS.values())}
    if method == "prompts/get":
        return {"messages": prompt(params["name"], params.get("arguments") or {})}
    if method == "completion/complete":
        return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}
    if method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        return {}
    raise Refused(-32601, f"no method {method}")


# Everything from here to the end of the section is of 2026-07-28: a request stands for itself, and what
# the server wants to know is in its answer. A tool gets the arguments and the whole parameters.

META = "io.modelcontextprotocol/"
KEY = secrets.token_bytes(32)


def signed(value):
    """A state that only this process can have made."""
    mark = hmac.new(KEY, value.encode(), hashlib.sha256).hexdigest()
    return f"{value}.{mark}"


def opened(state):
    value = str(state).partition(".")[0]
    if not hmac.compare_digest(signed(value), str(state)):
        raise Refused(-32602, "the state is not of this server")
    return value


def form(message, **properties):
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def completion(question, tokens):
    messages = [{"role": "user", "content": {"type": "text", "text": question}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS = {"method": "roots/list", "params": {}}
WORDS = {"type": "string"}
NAME = form("What is your name?", name=WORDS)


def needs(params, state=None, **questions):
    """What is still to be answered, as a result; None when everything is."""
    given = params.get("inputResponses") or {}
    if all(isinstance(given.get(name), dict) for name in questions):
        return None
    result = {"resultType": "input_required", "inputRequests": questions}
    return {**result, "requestState": signed(state)} if state else result


def said(params, name):
    return params["inputResponses"][name]


def content(params, name, key):
    return (said(params, name).get("content") or {}).get(key)


def asks_name(_arguments, params):
    return needs(params, user_name=NAME) or text(f"Hello, {content(params, 'user_name', 'name')}!")


def asks_model(_arguments, params):
    asked = needs(params, capital_question=completion("What is the capital of France?", 100))
    return asked or text(said(params, "capital_question")["content"]["text"])


def asks_folders(_arguments, params):
    folders = needs(params, client_roots=ROOTS)
    return folders or text(json.dumps(said(params, "client_roots")["roots"]))


def asks_with_state(_arguments, params):
    confirm = form("Please confirm", ok={"type": "boolean"})
    if asked := needs(params, "confirmed", confirm=confirm):
        return asked
    return text(f"state-ok: {opened(params.get('requestState'))}")


def asks_everything(_arguments, params):
    questions = {"user_name": NAME, "greeting": completion("Generate a greeting", 50), "client_roots": ROOTS}
    if asked := needs(params, "everything", **questions):
        return asked
    opened(params.get("requestState"))
    return text(f"{said(params, 'greeting')['content']['text']} {content(params, 'user_name', 'name')}")


def asks_twice(_arguments, params):
    first = form("Step 1: What is your name?", name=WORDS)
    second = form("Step 2: What is your favorite color?", color=WORDS)
    state = params.get("requestState")
    if state is None or opened(state) == "first":
        if asked := needs(params, "first", step1=first):
            return asked
        return needs({}, f"second {content(params, 'step1', 'name')}", step2=second)
    name = opened(state).removeprefix("second ")
    return needs(params, f"second {name}", step2=second) or text(f"{name}: {content(params, 'step2', 'color')}")


def declared(params):
    return params["_meta"].get(META + "clientCapabilities") or {}


def asks_what_is_declared(_arguments, params):
    questions = {"elicitation": NAME, "sampling": completion("Generate a greeting", 50), "roots": ROOTS}
    able = {key: question for key, question in questions.items() if key in declared(params)}
    return needs(params, **able) or text(f"answered: {', '.join(able)}")


def samples(arguments, params):
    if "sampling" not in declared(params):
        raise Refused(-32021, "this needs a model", {"requiredCapabilities": {"sampling": {}}})
    asked = needs(params, answer=completion(arguments.get("prompt", "Hello"), 100))
    return asked or text(f"LLM response: {said(params, 'answer')['content'].get('text', '')}")


def region(arguments, _params):
    return text(f"in {arguments.get('region')}")


REGION = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
MODERN_TOOLS = {
    "test_header_parameter": (region, REGION),
    "test_input_required_result_capabilities": (asks_what_is_declared, NOTHING),
    "test_input_required_result_elicitation": (asks_name, NOTHING),
    "test_input_required_result_list_roots": (asks_folders, NOTHING),
    "test_input_required_result_multi_round": (asks_twice, NOTHING),
    "test_input_required_result_multiple_inputs": (asks_everything, NOTHING),
    "test_input_required_result_request_state": (asks_with_state, NOTHING),
    "test_input_required_result_sampling": (asks_model, NOTHING),
    "test_input_required_result_tampered_state": (asks_with_state, NOTHING),
    "test_missing_capability": (samples, NOTHING),
    "test_sampling": (samples, one("prompt")),
}
MODERN_PROMPTS = by_name(described("test_input_required_result_prompt"))


def modern_prompt(params):
    asked = needs(params, user_context=form("What context should the prompt use?", context=WORDS))
    if asked:
        return asked
    used = {"type": "text", "text": f"Context: {content(params, 'user_context', 'context')}"}
    return {"messages": [{"role": "user", "content": used}]}


def handle_modern(method, params):
    if method == "server/discover":
        software = {"name": "conformance-upstream", "version": "1"}
        return {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}, "prompts": {}},
            "_meta": {META + "serverInfo": software},
        }
    if method == "tools/list":
        return {"tools": listing(MODERN_TOOLS)}
    if method == "tools/call":
        tool, _ = MODERN_TOOLS[params["name"]]
        return tool(params.get("arguments") or {}, params)
    if method == "prompts/list":
        return {"prompts": list(MODERN_PROMPTS.values())}
    if method == "prompts/get":
        return modern_prompt(params)
    raise Refused(-32601, f"no method {method}")


def answer_modern(method, params):
    result = {"resultType": "complete", **handle_modern(method, params)}
    lists = {"server/discover", "tools/list", "prompts/list"}
    return {**result, "ttlMs": 0, "cacheScope": "private"} if method in lists else result


answer = answer_modern if "2026-07-28" in sys.argv[1:] else handle


def work(message):
    try:
        send({"id": message["id"], "result": answer(message["method"], message.get("params") or {})})
    except Refused as refused:
        send({"id": message["id"], "error": refused.error})


for line in sys.stdin:
    received = json.loads(line)
    if "method" not in received:
        found = answers.pop(received.get("id"), None)
        if found:
            found["answer"] = received
            found["event"].set()
    elif "id" in received:
        threading.Thread(target=work, args=(received,), daemon=True).start()
