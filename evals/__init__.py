"""Measuring: data sets, metrics, experiments and benchmarks."""
