"""Adapters between the pipeline and LlamaIndex's types."""
