"""Athena for MCP clients: tools, resources and prompts, over stdio and Streamable HTTP."""
