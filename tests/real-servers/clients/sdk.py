"""Drives an MCP server with the client of the MCP Python SDK.

The only argument is JSON: {"command", "args", "env", "mode"}, or {"url", "mode"} for a server that is
reached over HTTP; the mode is the SDK's ("legacy" or "auto"). The first line of output greets: {"protocol", "server", "instructions"}. Then every line of
input is a request, {"list": true} or {"call": NAME, "arguments": {…}}, and every line of output its
answer, {"result": …} or {"error": TEXT}. The end of input ends the connection.
"""

import json
import sys

import anyio
from mcp import Client, StdioServerParameters


def say(message):
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


async def all_tools(client):
    tools, cursor = [], None
    while True:
        page = await client.list_tools(cursor=cursor) if cursor else await client.list_tools()
        tools += [plain(tool) for tool in page.tools]
        cursor = page.next_cursor
        if not cursor:
            return tools


async def answer(client, request):
    if request.get("list"):
        return await all_tools(client)
    return plain(await client.call_tool(request["call"], request.get("arguments")))


async def main(setup):
    server = setup.get("url") or StdioServerParameters(
        command=setup["command"], args=setup["args"], env=setup.get("env") or {}
    )
    async with Client(server, mode=setup["mode"]) as client:
        say(
            {
                "protocol": client.protocol_version,
                "server": plain(client.server_info) if client.server_info else None,
                "instructions": client.instructions,
            }
        )
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            try:
                say({"result": await answer(client, json.loads(line))})
            except Exception as error:  # noqa: BLE001 - whatever fails is told, and the next request is read
                say({"error": f"{type(error).__name__}: {error}"})


anyio.run(main, json.loads(sys.argv[1]))
