"""Tools over documents and memory, as MCP clients and the agent call them."""
