"""A model that follows a script, for clients that speak Anthropic Messages or OpenAI Responses.

Arguments: a port, and JSON: {"server": NAME, "steps": [{"tool": NAME, "arguments": {…}}]}. Each step is
a call of one tool of the MCP server that the client has under that name; after the last one the model
says "done". What the client gave for each call is printed, a line of JSON each.
"""

import json
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

PORT, SCRIPT = int(sys.argv[1]), json.loads(sys.argv[2])
PREFIX = f"mcp__{SCRIPT['server']}"
told = set()


def tell(step, output):
    if step in told:
        return
    told.add(step)
    print(json.dumps({"step": step, "output": output}), flush=True)


def text_of(content):
    if isinstance(content, str):
        return content
    return "".join(block.get("text", "") for block in content or [] if isinstance(block, dict))


def number(call_id):
    head, _, tail = (call_id or "").rpartition("_")
    return int(tail) if head.endswith("step") and tail.isdigit() else None


def anthropic(request):
    """Events of the answer to a Messages request."""
    done = 0
    for message in request.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            step = number(block.get("tool_use_id")) if block.get("type") == "tool_result" else None
            if step is not None:
                tell(step, text_of(block.get("content")))
                done = max(done, step + 1)
    names = [tool.get("name", "") for tool in request.get("tools", [])]
    steps = SCRIPT["steps"]
    mine = any(name.startswith(PREFIX + "__") for name in names)
    call = steps[done] if mine and done < len(steps) else None
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {
        "id": f"msg_{done}",
        "type": "message",
        "role": "assistant",
        "model": request.get("model", "scripted"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": usage,
    }
    if call:
        block = {"type": "tool_use", "id": f"toolu_step_{done}", "name": f"{PREFIX}__{call['tool']}"}
        said = json.dumps(call["arguments"])
        start = {**block, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": said}
        whole, reason = {**block, "input": call["arguments"]}, "tool_use"
    else:
        start, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": "done"}
        whole, reason = {"type": "text", "text": "done"}, "end_turn"
    events = [
        {"type": "message_start", "message": message},
        {"type": "content_block_start", "index": 0, "content_block": start},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return events, {**message, "content": [whole], "stop_reason": reason}


def responses(request):
    """Events of the answer to a Responses request."""
    done = 0
    for item in request.get("input", []) if isinstance(request.get("input"), list) else []:
        if item.get("type") == "function_call_output":
            step = number(item.get("call_id"))
            if step is not None:
                tell(step, text_of(item.get("output")))
                done = max(done, step + 1)
    steps = SCRIPT["steps"]
    if done < len(steps):
        call = steps[done]
        item = {
            "type": "function_call",
            "id": f"fc_{done}",
            "call_id": f"call_step_{done}",
            "namespace": PREFIX,
            "name": call["tool"],
            "arguments": json.dumps(call["arguments"]),
            "status": "completed",
        }
    else:
        content = [{"type": "output_text", "text": "done", "annotations": []}]
        item = {
            "type": "message",
            "id": "msg_last",
            "role": "assistant",
            "status": "completed",
            "content": content,
        }
    usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
    response = {"id": f"resp_{done}", "object": "response", "status": "completed", "usage": usage}
    events = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**response, "output": [item]}},
    ]
    return events, {**response, "output": [item]}


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, kind, body):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(200, "application/json", b'{"object":"list","data":[],"models":[]}')

    def do_HEAD(self):
        self.answer(200, "application/json", b"")

    def do_POST(self):
        length = int(self.headers.get("Content-Length") or 0)
        request = json.loads(self.rfile.read(length) or b"{}")
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self.answer(200, "application/json", b'{"input_tokens":1}')
        if path.endswith("/messages"):
            events, whole = anthropic(request)
        elif path.endswith("/responses"):
            events, whole = responses(request)
        else:
            return self.answer(404, "application/json", b"{}")
        if not request.get("stream"):
            return self.answer(200, "application/json", json.dumps(whole).encode())
        lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
        self.answer(200, "text/event-stream", "".join(lines).encode())


ThreadingHTTPServer(("127.0.0.1", PORT), Model).serve_forever()
