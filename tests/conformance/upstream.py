"""An MCP server with the tools, resources and prompts that the conformance suite asks for.

It stands behind the gateway, so that the suite tests how they look from in front of it. Standard
library only; one JSON message a line on standard input and output.
"""

import json
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


def sampling(arguments, _meta):
    content = {"type": "text", "text": arguments.get("prompt", "")}
    messages = [{"role": "user", "content": content}]
    result = ask("sampling/createMessage", {"messages": messages, "maxTokens": 100})
    if result is None:
        return text("the client does not sample", isError=True)
    return text(f"LLM response: {result['content'].get('text', '')}")


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
    "test_multiple_content_types": (mixed, NOTHING),
    "test_sampling": (sampling, one("prompt")),
    "test_simple_text": (simple, NOTHING),
    "test_tool_with_logging": (logging, NOTHING),
    "test_tool_with_progress": (progress, NOTHING),
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


PROMPTS = [
    described("test_prompt_with_arguments", "arg1", "arg2"),
    described("test_prompt_with_embedded_resource", "resourceUri"),
    described("test_prompt_with_image"),
    described("test_simple_prompt"),
]


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


def handle(method, params):
    if method == "initialize":
        return {
            "protocolVersion": "2025-11-25",
            "capabilities": {
                "tools": {},
                "resources": {"subscribe": True},
                "prompts": {},
                "completions": {},
                "logging": {},
            },
            "serverInfo": {"name": "conformance-upstream", "version": "1"},
        }
    if method == "tools/list":
        tools = [
            {"name": name, "description": f"Fixture {name}.", "inputSchema": schema}
            for name, (_, schema) in TOOLS.items()
        ]
        return {"tools": tools}
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
        return {"prompts": PROMPTS}
    if method == "prompts/get":
        return {"messages": prompt(params["name"], params.get("arguments") or {})}
    if method == "completion/complete":
        return {"completion": {"values": ["paris", "park", "party"], "total": 3, "hasMore": False}}
    if method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"):
        return {}
    raise Refused(-32601, f"no method {method}")


def work(message):
    try:
        send({"id": message["id"], "result": handle(message["method"], message.get("params") or {})})
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
