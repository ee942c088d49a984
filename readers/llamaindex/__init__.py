"""Reading as LlamaIndex's parts: `BaseReader` and `NodeParser`."""
