"""Benchmarks: Athena beside the pipeline that LlamaIndex's documentation teaches, on the same machine."""
