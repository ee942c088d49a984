"""Evaluations: index a collection, ask everything, report."""
