"""Benchmarks: not shipped, run from a checkout."""
