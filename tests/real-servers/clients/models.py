"""Talks to a model through the OpenAI and Anthropic Python SDKs, and runs the tools that it calls.

Standard input is JSON: {"base", "dialect", "model", "stream", "tools", "message", "headers", "chain"}. The base
is an address without the version; tools are {"name", "description", "schema"}; "chain" makes Responses go
on by previous_response_id instead of sending the whole conversation. Every call is answered with
"NAME says ARGUMENTS". The only line of output is {"calls": [[NAME, ARGUMENTS]…], "text", "turns",
"usage"}, or {"error", "status", "body"}.
"""

import json
import sys

import anthropic
import openai

MOST_TURNS = 8


def result(name, arguments):
    return f"{name} says {json.dumps(arguments, sort_keys=True)}"


def chat(setup, done):
    client = openai.OpenAI(base_url=setup["base"] + "/v1", api_key="sk-own", max_retries=0)
    tools = [
        {"type": "function", "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]}}
        for t in setup["tools"]
    ]
    messages = [{"role": "user", "content": setup["message"]}]
    for _ in range(MOST_TURNS):
        asked = {"model": setup["model"], "messages": messages, "tools": tools, "extra_headers": setup["headers"]}
        if setup["stream"]:
            options = {"stream_options": {"include_usage": True}}
            with client.chat.completions.stream(**asked, **options) as stream:
                for _ in stream:
                    pass
                completion = stream.get_final_completion()
        else:
            completion = client.chat.completions.create(**asked)
        message = completion.choices[0].message
        done["turns"] += 1
        done["usage"] = completion.usage.total_tokens if completion.usage else None
        if not message.tool_calls:
            done["text"] = message.content
            return
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in message.tool_calls:
            arguments = json.loads(call.function.arguments)
            done["calls"].append([call.function.name, arguments])
            answer = result(call.function.name, arguments)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": answer})


def responses(setup, done):
    client = openai.OpenAI(base_url=setup["base"] + "/v1", api_key="sk-own", max_retries=0)
    tools = [
        {"type": "function", "name": t["name"], "description": t["description"], "parameters": t["schema"], "strict": False}
        for t in setup["tools"]
    ]
    items, previous = [{"role": "user", "content": setup["message"]}], None
    for _ in range(MOST_TURNS):
        asked = {"model": setup["model"], "input": items, "tools": tools, "extra_headers": setup["headers"]}
        if previous:
            asked["previous_response_id"] = previous
        if setup["stream"]:
            with client.responses.stream(**asked) as stream:
                for _ in stream:
                    pass
                response = stream.get_final_response()
        else:
            response = client.responses.create(**asked)
        done["turns"] += 1
        done["usage"] = response.usage.total_tokens if response.usage else None
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            done["text"] = response.output_text
            return
        if setup["chain"]:
            items, previous = [], response.id
        else:
            items += [item.model_dump(exclude_none=True, exclude={"parsed_arguments"}) for item in response.output]
        for call in calls:
            arguments = json.loads(call.arguments)
            done["calls"].append([call.name, arguments])
            answer = result(call.name, arguments)
            items.append({"type": "function_call_output", "call_id": call.call_id, "output": answer})


def messages(setup, done):
    client = anthropic.Anthropic(base_url=setup["base"], api_key="sk-own", max_retries=0)
    tools = [{"name": t["name"], "description": t["description"], "input_schema": t["schema"]} for t in setup["tools"]]
    history = [{"role": "user", "content": setup["message"]}]
    for _ in range(MOST_TURNS):
        asked = {"model": setup["model"], "max_tokens": 500, "messages": history, "tools": tools,
                 "extra_headers": setup["headers"]}
        if setup["stream"]:
            with client.messages.stream(**asked) as stream:
                for _ in stream:
                    pass
                message = stream.get_final_message()
        else:
            message = client.messages.create(**asked)
        done["turns"] += 1
        done["usage"] = message.usage.input_tokens + message.usage.output_tokens
        calls = [block for block in message.content if block.type == "tool_use"]
        if not calls:
            done["text"] = "".join(block.text for block in message.content if block.type == "text")
            return
        history.append({"role": "assistant", "content": [b.model_dump(exclude_none=True) for b in message.content]})
        results = []
        for call in calls:
            done["calls"].append([call.name, call.input])
            answer = result(call.name, call.input)
            results.append({"type": "tool_result", "tool_use_id": call.id, "content": answer})
        history.append({"role": "user", "content": results})


def main():
    setup = json.loads(sys.stdin.read())
    done = {"calls": [], "text": None, "turns": 0, "usage": None}
    speak = {"openai-chat": chat, "openai-responses": responses, "anthropic-messages": messages}
    try:
        speak[setup["dialect"]](setup, done)
    except (openai.APIStatusError, anthropic.APIStatusError) as error:
        done = {"error": type(error).__name__, "status": error.status_code, "body": error.body}
    print(json.dumps(done))


main()
