"""A server of the MCP Python SDK over HTTP.

web.py TRANSPORT PORT [json] [stateless]
"""

import sys

from mcp.server.mcpserver import Context, MCPServer

server = MCPServer("web", instructions="Counts and adds.")


@server.tool()
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool()
async def count(to: int, ctx: Context) -> str:
    """Count, and tell how far."""
    for step in range(1, to + 1):
        await ctx.report_progress(step, to)
    return f"counted to {to}"


@server.resource("note://{name}")
def note(name: str) -> str:
    """A note."""
    return f"note about {name}"


@server.prompt()
def greet(who: str) -> str:
    """A greeting."""
    return f"Say hello to {who}."


if __name__ == "__main__":
    transport, port, *words = sys.argv[1:]
    options = {"host": "127.0.0.1", "port": int(port)}
    if transport == "streamable-http":
        options["json_response"] = "json" in words
        options["stateless_http"] = "stateless" in words
    server.run(transport, **options)
