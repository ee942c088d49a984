"""The pipeline as LlamaIndex's parts: every adapter to its types."""
