"""The doors: how other programs get at the manuals and the memory, over HTTP and MCP."""
