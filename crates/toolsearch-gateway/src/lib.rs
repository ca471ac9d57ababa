//! The MCP server in front of a session.
