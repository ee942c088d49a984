"""Athena for MCP clients: tools and resources, over standard input and output or Streamable HTTP."""
